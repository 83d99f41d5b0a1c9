/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The terminal that is drawn on a screen (kernel/tty/vt.c): what each control sequence does, and
 * random bytes, which must neither leave the screen nor leave it undrawn.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "kernel/tty/font.c"
#include "kernel/tty/vt.c"

enum { COLS = 10, ROWS = 4 };

void *calloc(size_t n, size_t size); /* of stdlib.h, whose EXIT_FAILURE is another */
void free(void *p);

static u16 seen[64 * 64]; /* what is drawn: the low byte of the code, colours */
static unsigned drawn;

void arch_screen_draw(unsigned x, unsigned y, const struct glyph *glyph, u8 colours)
{
	assert_true(x < vt.cols && y < vt.rows);
	assert_true(glyph >= font && glyph < font + font_size);
	seen[y * vt.cols + x] = (glyph->code & 0xff) | colours << 8;
	drawn++;
}

/* Memory of exactly that size, so that the sanitizer sees an access beyond. */
static u16 *begin(unsigned cols, unsigned rows)
{
	u16 *cells = calloc(2 * cols * rows, sizeof(u16));

	memset(&vt, 0, sizeof(vt));
	vt_start(cells, cols, rows);
	return cells;
}

static const char *line(unsigned y)
{
	static char text[COLS + 1];
	unsigned len = COLS;

	for (unsigned x = 0; x < COLS; x++)
		text[x] = (char)seen[y * COLS + x];
	while (len && text[len - 1] == ' ')
		len--;
	text[len] = 0;
	return text;
}

/* Bytes, the four lines that show then, and where the cursor is. */
static const struct {
	const char *bytes, *lines[ROWS];
	unsigned x, y;
} cases[] = {
	{ "one\r\ntwo", { "one", "two" }, 3, 1 },
	{ "one\ntwo", { "one", "   two" }, 6, 1 },
	{ "0123456789", { "0123456789" }, 9, 0 },
	{ "0123456789a", { "0123456789", "a" }, 1, 1 },
	{ "0123456789\ra", { "a123456789" }, 1, 0 },
	{ "1\r\n2\r\n3\r\n4\r\n5", { "2", "3", "4", "5" }, 1, 3 },
	{ "ab\bc\td", { "ac      d" }, 9, 0 },
	{ "\033[3;4Hx", { "", "", "   x" }, 4, 2 },
	{ "\033[99;99Hx", { "", "", "", "         x" }, 9, 3 },
	{ "\033[Hx\033[2Cy\033[3D\033[Bz", { "x  y", " z" }, 2, 1 },
	{ "\033[4;9H\033[99A\033[99Dx", { "x" }, 1, 0 },
	{ "abcd\033[2D\033[K", { "ab" }, 2, 0 },
	{ "abcd\033[2D\033[1K", { "   d" }, 2, 0 },
	{ "ab\r\ncd\r\nef\033[2;2H\033[J", { "ab", "c" }, 1, 1 },
	{ "ab\r\ncd\r\nef\033[2;1H\033[1J", { "", " d", "ef" }, 0, 1 },
	{ "ab\r\ncd\033[2J", { "" }, 2, 1 },
	{ "abcd\033[1G\033[2P", { "cd" }, 0, 0 },
	{ "abcd\033[1G\033[2@x", { "x abcd" }, 1, 0 },
	{ "abcd\033[1G\033[2X", { "  cd" }, 0, 0 },
	{ "1\r\n2\r\n3\033[2H\033[Lx", { "1", "x", "2", "3" }, 1, 1 },
	{ "1\r\n2\r\n3\033[2H\033[M", { "1", "3" }, 0, 1 },
	{ "1\r\n2\r\n3\r\n4\033[2;3r\033[3;1H\n", { "1", "3", "", "4" }, 0, 2 },
	{ "1\r\n2\033[H\033M", { "", "1", "2" }, 0, 0 },
	{ "1\r\n2\033[S", { "2" }, 1, 1 },
	{ "1\r\n2\033[T", { "", "1", "2" }, 1, 1 },
	{ "\0337ab\0338c", { "cb" }, 1, 0 },
	{ "\033]0;a title\007x\033(By", { "xy" }, 2, 0 },
	{ "\033[?1049h\033[6nx\033[>cy\033[ qz", { "xyz" }, 3, 0 },
	{ "\033[1;2;3;4;5;6;7;8;9;10;11mx", { "x" }, 1, 0 },
	{ "a\033cb", { "b" }, 1, 0 },
	{ "\303\251x", { "\351x" }, 2, 0 },
	{ "\303x\377", { "\375x" }, 2, 0 },
};

static void sequences(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		u16 *cells = begin(COLS, ROWS);

		for (const char *c = cases[i].bytes; *c; c++)
			vt_write(c, 1, false);
		for (unsigned y = 0; y < ROWS; y++)
			assert_string_equal(line(y), cases[i].lines[y] ?: "");
		assert_int_equal(vt.x, cases[i].x);
		assert_int_equal(vt.y, cases[i].y);
		free(cells);
	}
}

static void colours_are_drawn(void **state)
{
	u16 *cells = begin(COLS, ROWS);
	const char text[] = "a\033[31mb\033[1mc\033[44;7md\033[0;97;100me\033[38;5;196mf\033[mg";
	static const u8 wanted[] = { 0x07, 0x01, 0x09, 0x94, 0x8f, 0x89, 0x07 };

	(void)state;
	vt_write(text, sizeof(text) - 1, false);
	for (unsigned x = 0; x < ARRAY_SIZE(wanted); x++)
		assert_int_equal(seen[x] >> 8, wanted[x]);
	assert_int_equal(seen[ARRAY_SIZE(wanted)] >> 8, 0x70); /* the cursor */
	free(cells);
}

/* A line that scrolls away costs no more than the cells that differ. */
static void only_changes_are_drawn(void **state)
{
	u16 *cells = begin(COLS, ROWS);

	(void)state;
	vt_write("a\na\na\na", 7, true);
	drawn = 0;
	vt_write("\na", 2, true);
	assert_int_equal(drawn, 0);
	vt_write("b", 1, true);
	assert_int_equal(drawn, 2);
	free(cells);
}

static void random_bytes(void **state)
{
	static const char likely[] =
		"\033\033\033[[[[;;0123456789?HJKLMPXrmABCDGdSTsu@78DM\n\r\b\t\303";
	unsigned seed = 1;

	(void)state;
	for (unsigned round = 0; round < 300; round++) {
		unsigned cols = 1 + round % 12, rows = 1 + round % 7;
		u16 *cells = begin(cols, rows);

		for (unsigned i = 0; i < 3000; i++) {
			unsigned r = (seed = seed * 1103515245 + 12345) >> 8;
			char c = r % 4 ? likely[r / 4 % (sizeof(likely) - 1)] : (char)(r >> 8);

			vt_write(&c, 1, r & 1);
		}
		assert_true(vt.x < cols && vt.y < rows && vt.top < vt.end && vt.end <= rows);
		for (unsigned i = 0; i < cols * rows; i++)
			if (i != vt.y * cols + vt.x)
				assert_int_equal(cells[i], cells[cols * rows + i]);
		free(cells);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sequences),
		cmocka_unit_test(colours_are_drawn),
		cmocka_unit_test(only_changes_are_drawn),
		cmocka_unit_test(random_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
