/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A terminal drawn on the machine's screen, beside the serial line. Only a kernel to which its
 * loader hands a screen runs this file and the driver below it (arch/x86/screen.c): they lie in a
 * segment of the image that other machines do not even map (linker.ld).
 *
 * Text and control sequences change `cell`, what the screen is to show. show() then draws each cell
 * that differs from `shown`. So video memory, which is slow, is never read, and a screen that
 * scrolls is drawn once for each write.
 *
 * A cell is the number of its glyph, with the colours above it: eight bits each, the colour of the
 * dots in the low half of the latter.
 *
 * The lock is the console's, which kernel messages hold. A panic takes it away, and may come from
 * within, so whatever is in `vt` an index stays inside of the screen: see at().
 *
 * Reference: ECMA-48; the DEC VT100 user guide, chapter 3.
 */
#include "kernel/tty/vt.h"

#include "kernel/arch.h"
#include "lib/string.h"

#define NR_ARGS 8u
#define ARG_MAX 9999u
#define GREY	7u /* on black */
#define BRIGHT	8u

enum state { TEXT, ESCAPE, SEQUENCE, STRING, IGNORE_ONE };

static struct {
	u16 *cell, *shown;
	unsigned cols, rows, x, y;
	unsigned top, end; /* the lines that scroll: [top, end) */
	unsigned saved_x, saved_y;
	unsigned first, last; /* the lines that may have changed since show() */
	u8 front, back;
	bool bold, reverse, no_cursor;
	bool wraps; /* the last column is written: the next character goes to the next line */
	enum state state;
	unsigned arg[NR_ARGS], nr_args;
	char mark;     /* the byte after ESC [, if it is one of <=>? */
	u32 code;      /* of the character whose bytes arrive */
	unsigned more; /* bytes of it to come */
} vt;

/* --- cells ---------------------------------------------------------------------------- */

static u16 *at(unsigned x, unsigned y)
{
	return vt.cell + min(y, vt.rows - 1) * vt.cols + min(x, vt.cols - 1);
}

static void changed(unsigned from, unsigned to)
{
	vt.first = min(vt.first, from);
	vt.last = max(vt.last, to);
}

static u16 colours(void)
{
	u8 front = vt.front | (vt.bold ? BRIGHT : 0);

	return vt.reverse ? vt.back | front << 4 : front | vt.back << 4;
}

/* [@from, @to) of line @y becomes blank, in the colour of the background. */
static void blank(unsigned y, unsigned from, unsigned to)
{
	for (unsigned x = from; x < min(to, vt.cols); x++)
		*at(x, y) = vt.front << 8 | vt.back << 12;
	changed(y, y);
}

static void blank_lines(unsigned from, unsigned to)
{
	for (unsigned y = from; y < min(to, vt.rows); y++)
		blank(y, 0, vt.cols);
}

/* The lines [@from, @to) move up by @n; blank ones follow. */
static void scroll_up(unsigned from, unsigned to, unsigned n)
{
	n = min(n, to - from);
	memmove(at(0, from), at(0, from) + n * vt.cols, (to - from - n) * vt.cols * sizeof(u16));
	blank_lines(to - n, to);
	changed(from, to - 1);
}

static void scroll_down(unsigned from, unsigned to, unsigned n)
{
	n = min(n, to - from);
	memmove(at(0, from) + n * vt.cols, at(0, from), (to - from - n) * vt.cols * sizeof(u16));
	blank_lines(from, from + n);
	changed(from, to - 1);
}

static const struct glyph *glyph_of(u8 number)
{
	return &font[min((unsigned)number, font_size - 1)];
}

/* The number of the glyph of @code, found by halving; that of the sign for all others. */
static u8 find_glyph(u32 code)
{
	unsigned low = 0, high = font_size - 1;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (font[middle].code < code)
			low = middle + 1;
		else
			high = middle;
	}
	return font[low].code == code ? low : font_size - 1;
}

static void show(void)
{
	static unsigned cursor_y; /* when last drawn */

	changed(min(vt.y, cursor_y), max(vt.y, cursor_y));
	cursor_y = vt.y;
	for (unsigned y = vt.first; y <= vt.last && y < vt.rows; y++) {
		for (unsigned x = 0; x < vt.cols; x++) {
			u16 cell = *at(x, y), *shown = vt.shown + y * vt.cols + x;

			if (y == vt.y && x == vt.x && !vt.no_cursor)
				cell = (cell & 0xff) | (cell & 0xf00) << 4 | (cell & 0xf000) >> 4;
			if (cell == *shown)
				continue;
			*shown = cell;
			arch_screen_draw(x, y, glyph_of(cell & 0xff), cell >> 8);
		}
	}
	vt.first = vt.rows;
	vt.last = 0;
}

/* --- text ----------------------------------------------------------------------------- */

static void go(unsigned x, unsigned y)
{
	vt.x = min(x, vt.cols - 1);
	vt.y = min(y, vt.rows - 1);
	vt.wraps = false;
}

static void line_feed(void)
{
	if (vt.y + 1 == vt.end)
		scroll_up(vt.top, vt.end, 1);
	else
		go(vt.x, vt.y + 1);
}

static void reverse_line_feed(void)
{
	if (vt.y == vt.top)
		scroll_down(vt.top, vt.end, 1);
	else if (vt.y)
		go(vt.x, vt.y - 1);
}

static void put(u32 code)
{
	if (vt.wraps) {
		go(0, vt.y);
		line_feed();
	}
	*at(vt.x, vt.y) = find_glyph(code) | colours() << 8;
	changed(vt.y, vt.y);
	vt.wraps = vt.x + 1 == vt.cols;
	vt.x += !vt.wraps;
}

/* The next byte of a character in UTF-8. A sequence that is cut short shows as the sign for it. */
static void text(u8 byte)
{
	bool continues = (byte & 0xc0) == 0x80;

	if (vt.more && continues) {
		vt.code = vt.code << 6 | (byte & 0x3f);
		if (!--vt.more)
			put(vt.code);
		return;
	}
	if (vt.more || continues)
		put(0xfffd);
	vt.more = 0;
	if (byte < 0x80) {
		put(byte);
	} else if (byte >= 0xc0) {
		vt.more = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
		vt.code = byte & (0x3f >> vt.more);
	}
}

static void reset(void)
{
	vt.front = GREY;
	vt.back = vt.top = vt.saved_x = vt.saved_y = 0;
	vt.end = vt.rows;
	vt.bold = vt.reverse = vt.no_cursor = false;
	blank_lines(0, vt.rows);
	go(0, 0);
}

/* --- control sequences ---------------------------------------------------------------- */

/* Argument @i, or @otherwise if it is missing or 0. */
static unsigned arg(unsigned i, unsigned otherwise)
{
	return i < vt.nr_args && vt.arg[i] ? vt.arg[i] : otherwise;
}

/* 0: from the cursor on; 1: up to it; others: all. */
static void erase(bool lines)
{
	unsigned which = arg(0, 0);

	if (lines)
		blank_lines(which ? 0 : vt.y + 1, which == 1 ? vt.y : vt.rows);
	blank(vt.y, which ? 0 : vt.x, which == 1 ? vt.x + 1 : vt.cols);
}

/* @n cells at the cursor come (@in) or go; the rest of the line moves. */
static void shift_cells(unsigned n, bool in)
{
	unsigned rest;

	n = min(n, vt.cols - vt.x);
	rest = vt.cols - vt.x - n;
	if (in)
		memmove(at(vt.x, vt.y) + n, at(vt.x, vt.y), rest * sizeof(u16));
	else
		memmove(at(vt.x, vt.y), at(vt.x, vt.y) + n, rest * sizeof(u16));
	blank(vt.y, in ? vt.x : vt.x + rest, in ? vt.x + n : vt.cols);
}

/* The same with lines at the cursor. */
static void shift_lines(unsigned n, bool in)
{
	if (vt.y < vt.top || vt.y >= vt.end)
		return;
	if (in)
		scroll_down(vt.y, vt.end, n);
	else
		scroll_up(vt.y, vt.end, n);
	go(0, vt.y);
}

/* One of 256 colours as one of the 16: of the others, a grey or the nearest by eye. */
static u8 nearest(unsigned colour)
{
	unsigned r = (colour - 16) / 36, g = (colour - 16) / 6 % 6, b = (colour - 16) % 6;

	if (colour < 16)
		return colour;
	if (colour >= 232)
		return colour < 238 ? 0 : colour < 244 ? BRIGHT : colour < 250 ? GREY : 15;
	return (r > 2) | (g > 2) << 1 | (b > 2) << 2 | (r > 3 || g > 3 || b > 3 ? BRIGHT : 0);
}

/* Argument @i is 38 or 48; `5;N` or `2;R;G;B` follows. Returns the last argument that it took. */
static unsigned set_wide_colour(unsigned i, u8 *colour)
{
	if (arg(i + 1, 0) == 5) {
		*colour = nearest(arg(i + 2, 0) & 0xff);
		return i + 2;
	}
	return i + 4;
}

static void set_attribute(unsigned a)
{
	switch (a) {
	case 0:
		vt.front = GREY;
		vt.back = 0;
		vt.bold = vt.reverse = false;
		break;
	case 1:
	case 22:
		vt.bold = a == 1;
		break;
	case 7:
	case 27:
		vt.reverse = a == 7;
		break;
	case 30 ... 37:
		vt.front = a - 30;
		break;
	case 39:
		vt.front = GREY;
		break;
	case 40 ... 47:
		vt.back = a - 40;
		break;
	case 49:
		vt.back = 0;
		break;
	case 90 ... 97:
		vt.front = a - 90 + BRIGHT;
		break;
	case 100 ... 107:
		vt.back = a - 100 + BRIGHT;
	}
}

static void set_attributes(void)
{
	for (unsigned i = 0; i < max(vt.nr_args, 1u); i++) {
		unsigned a = arg(i, 0);

		if (a == 38 || a == 48)
			i = set_wide_colour(i, a == 38 ? &vt.front : &vt.back);
		else
			set_attribute(a);
	}
}

static void set_scrolling(void)
{
	unsigned top = arg(0, 1), end = min(arg(1, vt.rows), vt.rows);

	if (top >= end)
		return;
	vt.top = top - 1;
	vt.end = end;
	go(0, 0);
}

static void restore_cursor(void)
{
	go(vt.saved_x, vt.saved_y);
}

static void save_cursor(void)
{
	vt.saved_x = vt.x;
	vt.saved_y = vt.y;
}

/* Moves of the cursor. False: @final says something else. */
static bool move(char final)
{
	unsigned n = arg(0, 1);

	switch (final) {
	case 'A':
		go(vt.x, vt.y - min(n, vt.y));
		return true;
	case 'B':
	case 'e':
		go(vt.x, vt.y + n);
		return true;
	case 'C':
	case 'a':
		go(vt.x + n, vt.y);
		return true;
	case 'D':
		go(vt.x - min(n, vt.x), vt.y);
		return true;
	case 'E':
		go(0, vt.y + n);
		return true;
	case 'F':
		go(0, vt.y - min(n, vt.y));
		return true;
	case 'G':
	case '`':
		go(n - 1, vt.y);
		return true;
	case 'd':
		go(vt.x, n - 1);
		return true;
	case 'H':
	case 'f':
		go(arg(1, 1) - 1, n - 1);
		return true;
	default:
		return false;
	}
}

/* Changes of cells. */
static void change(char final)
{
	unsigned n = arg(0, 1);

	switch (final) {
	case 'J':
	case 'K':
		erase(final == 'J');
		break;
	case 'X':
		blank(vt.y, vt.x, vt.x + n);
		break;
	case '@':
	case 'P':
		shift_cells(n, final == '@');
		break;
	case 'L':
	case 'M':
		shift_lines(n, final == 'L');
		break;
	case 'S':
		scroll_up(vt.top, vt.end, n);
		break;
	case 'T':
		scroll_down(vt.top, vt.end, n);
	}
}

/* The sequence ESC [ ... @final is complete. Those that are not known do nothing. */
static void obey(char final)
{
	if (vt.mark) {
		if (vt.mark == '?' && arg(0, 0) == 25 && (final == 'h' || final == 'l'))
			vt.no_cursor = final == 'l';
		return;
	}
	if (move(final))
		return;
	if (final == 'm')
		set_attributes();
	else if (final == 'r')
		set_scrolling();
	else if (final == 's')
		save_cursor();
	else if (final == 'u')
		restore_cursor();
	else
		change(final);
}

/* --- bytes ---------------------------------------------------------------------------- */

static void sequence(char c)
{
	unsigned *last = &vt.arg[min(vt.nr_args, NR_ARGS) - 1];

	if (c >= '0' && c <= '9') {
		if (vt.nr_args <= NR_ARGS)
			*last = min(*last * 10 + (unsigned)(c - '0'), ARG_MAX);
	} else if (c == ';' || c == ':') {
		if (vt.nr_args++ < NR_ARGS)
			vt.arg[vt.nr_args - 1] = 0;
	} else if (c >= '<' && c <= '?') {
		vt.mark = c;
	} else if (c >= '@') {
		vt.state = TEXT;
		vt.nr_args = min(vt.nr_args, NR_ARGS);
		obey(c);
	} else { /* a blank and the like before the final byte: another meaning */
		vt.mark = c;
	}
}

/* The byte after ESC. */
static void escape(char c)
{
	vt.state = TEXT;
	switch (c) {
	case '[':
		vt.nr_args = 1;
		vt.arg[0] = 0;
		vt.mark = 0;
		vt.state = SEQUENCE;
		break;
	case ']': /* a title, for example: up to BEL, or ESC \ */
	case 'P':
	case '^':
	case '_':
		vt.state = STRING;
		break;
	case '#':
	case '%':
	case '(':
	case ')':
		vt.state = IGNORE_ONE;
		break;
	case '7':
		save_cursor();
		break;
	case '8':
		restore_cursor();
		break;
	case 'E':
		go(0, vt.y);
		line_feed();
		break;
	case 'D':
		line_feed();
		break;
	case 'M':
		reverse_line_feed();
		break;
	case 'c':
		reset();
	}
}

/* A control character, which takes effect also within a sequence. */
static void control(char c, bool returns)
{
	switch (c) {
	case '\033':
		vt.state = ESCAPE;
		break;
	case '\r':
		go(0, vt.y);
		break;
	case '\n':
	case '\v':
	case '\f':
		if (returns)
			go(0, vt.y);
		line_feed();
		break;
	case '\b':
		go(vt.x - (vt.x > 0), vt.y);
		break;
	case '\t':
		go((vt.x | 7) + 1, vt.y);
	}
}

static void take(char c, bool returns)
{
	if (vt.state == STRING && c != '\033')
		vt.state = c == '\a' ? TEXT : STRING;
	else if ((u8)c < ' ')
		control(c, returns);
	else if (c == 127)
		return;
	else if (vt.state == TEXT)
		text((u8)c);
	else if (vt.state == ESCAPE)
		escape(c);
	else if (vt.state == SEQUENCE)
		sequence(c);
	else
		vt.state = TEXT;
}

void vt_write(const char *s, size_t n, bool returns)
{
	for (size_t i = 0; i < n; i++)
		take(s[i], returns);
	show();
}

void vt_start(u16 *cells, unsigned cols, unsigned rows)
{
	vt.cell = cells;
	vt.shown = cells + (size_t)cols * rows;
	vt.cols = cols;
	vt.rows = rows;
	for (size_t i = 0; i < (size_t)cols * rows; i++)
		vt.shown[i] = 0xff; /* no glyph */
	reset();
	show();
}
