/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory, errors, and numbers as people write them. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "sim/engine/process.h"
#include "sim/engine/util.h"

void make_printable(char *text)
{
	for (u8 *c = (u8 *)text; *c; c++) {
		if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) /* U+0080 to U+009F in UTF-8 */
			c[0] = c[1] = '?';
		else if (iscntrl(*c))
			*c = '?';
	}
}

/* "schedsim: TEXT" on stderr, after all that stdout has so far. */
static void tell(const char *format, va_list args)
{
	char text[1024];

	fflush(stdout);
	vsnprintf(text, sizeof(text), format, args);
	make_printable(text);
	fprintf(stderr, "schedsim: %s\n", text);
}

void usage_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	tell(format, args);
	va_end(args);
}

void usage_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	tell(format, args);
	va_end(args);
	exit(EXIT_USAGE);
}

void out_of_memory(void)
{
	usage_error("out of memory");
}

void *grow(void *array, u32 used, u32 *size, size_t bytes)
{
	if (used < *size)
		return array;
	*size = *size ? 2 * *size : 8;
	array = realloc(array, *size * bytes);
	if (!array)
		out_of_memory();
	return array;
}

void *allocate(size_t nr, size_t bytes)
{
	void *memory = calloc(nr ? nr : 1, bytes);

	if (!memory)
		out_of_memory();
	return memory;
}

void *allocate_lines(size_t bytes)
{
	const size_t huge = 2ul << 20, align = bytes < huge ? 64 : huge;
	void *memory;

	bytes = ALIGN_UP(bytes, align);
	memory = aligned_alloc(align, bytes);
	if (!memory)
		return NULL;
	if (align == huge)
		process_use_huge_pages(memory, bytes);
	return memset(memory, 0, bytes);
}

bool parse_number(const char *text, u64 max, u64 *value)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return !*end && !errno && *value <= max;
}

static u64 unit_ns(const char *unit)
{
	static const struct {
		const char *name;
		u64 ns;
	} units[] = { { "", 1 },
		      { "ns", 1 },
		      { "us", NS_PER_US },
		      { "ms", NS_PER_MS },
		      { "s", NS_PER_SEC } };

	for (u32 i = 0; i < ARRAY_SIZE(units); i++)
		if (!strcmp(unit, units[i].name))
			return units[i].ns;
	return 0;
}

bool parse_time(const char *text, u64 *ns)
{
	const u64 max = 1000000ull;
	u64 whole, unit, scale;
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	whole = strtoull(text, &end, 10);
	text = end;
	if (*text == '.')
		text++, text += strspn(text, "0123456789");
	unit = unit_ns(text);
	if (errno || !unit || whole > max * NS_PER_SEC / unit)
		return false;
	*ns = whole * unit;
	scale = unit;
	for (end += *end == '.'; end < text; end++) {
		scale /= 10;
		*ns += (u64)(*end - '0') * scale;
	}
	return true;
}

bool parse_time_in_unit(const char *text, u64 *ns)
{
	return parse_time(text, ns) && (!*ns || strchr(text, 's'));
}
