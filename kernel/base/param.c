/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel command line: words separated by blanks, `name=value` or a bare `name`. The last of
 * several wins. Values are copied out once, at the first question, so that callers may keep the
 * pointers. Words that are not in param.def are the first program's, as on Linux.
 */
#include "kernel/kernel.h"
#include "kernel/arch.h"
#include "lib/string.h"

#define MAX_PARAMS 64
#define NAME_MAX   32

static const char *const known[] = {
#define PARAM(name, ...) #name,
#include "kernel/base/param.def"
#undef PARAM
};

static char text[2048];
static struct {
	char *name, *value;
	bool for_init; /* the name is the whole word again */
} params[MAX_PARAMS];
static unsigned nr_params;
static bool parsed;

static void add_word(char *word)
{
	char *value = strchr(word, '=');

	if (nr_params == MAX_PARAMS)
		return;
	if (value)
		*value++ = '\0';
	params[nr_params].name = word;
	params[nr_params++].value = value;
}

static void parse(void)
{
	char *p = text;

	parsed = true;
	str_copy(text, boot_info.cmdline, sizeof(text));
	while (*p) {
		char *word = p;

		while (*p && *p != ' ')
			p++;
		if (*p)
			*p++ = '\0';
		if (*word)
			add_word(word);
	}
}

const char *cmdline_get(const char *name)
{
	if (!parsed)
		parse();
	for (unsigned i = nr_params; i-- > 0;)
		if (strcmp(params[i].name, name) == 0)
			return params[i].value ?: "";
	return NULL;
}

u64 cmdline_get_u64(const char *name, u64 otherwise)
{
	const char *value = cmdline_get(name);
	u64 number;

	if (!value)
		return otherwise;
	if (parse_u64(value, strlen(value), &number)) {
		kprintf("%s=%s: not a number, using %lu\n", name, value, otherwise);
		return otherwise;
	}
	return number;
}

/* --- words that are not ours ---------------------------------------------------- */

/* How many letters to insert, delete or change until @a is @b; NAME_MAX: long words. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[NAME_MAX + 1], len = strlen(b), above, diagonal;

	if (len > NAME_MAX || strlen(a) > NAME_MAX)
		return NAME_MAX;
	for (unsigned i = 0; i <= len; i++)
		row[i] = i;
	for (unsigned n = 1; *a; a++, n++) {
		diagonal = row[0];
		row[0] = n;
		for (unsigned i = 1; i <= len; i++) {
			above = row[i];
			diagonal += *a != b[i - 1];
			row[i] = min(above, row[i - 1]) + 1;
			row[i] = min(row[i], diagonal);
			diagonal = above;
		}
	}
	return row[len];
}

/* The known name that is nearest to @name, and how near it is. */
static const char *nearest(const char *name, unsigned *off)
{
	const char *best = known[0];

	*off = NAME_MAX;
	for (unsigned i = 0; i < ARRAY_SIZE(known); i++) {
		unsigned d = distance(name, known[i]);

		if (d < *off) {
			*off = d;
			best = known[i];
		}
	}
	return best;
}

/* A typing error changes a letter or two, not half of the word. */
static bool is_likely(unsigned off, const char *name)
{
	return off <= 2 && 2 * off <= strlen(name);
}

void cmdline_check(void)
{
	cmdline_get(""); /* parse */
	for (unsigned i = 0; i < nr_params; i++) {
		const char *best;
		unsigned off;

		best = nearest(params[i].name, &off);
		if (!off)
			continue;
		kprintf("unknown boot parameter \"%s\" is passed to init%s%s%s\n", params[i].name,
			is_likely(off, params[i].name) ? "; is \"" : "",
			is_likely(off, params[i].name) ? best : "",
			is_likely(off, params[i].name) ? "\" meant?" : "");
		params[i].for_init = true;
		if (params[i].value)
			params[i].value[-1] = '=';
	}
}

unsigned cmdline_for_init(bool variables, char **list, unsigned max)
{
	unsigned nr = 0;

	debug_assert(parsed);
	for (unsigned i = 0; i < nr_params && nr < max; i++)
		if (params[i].for_init && !params[i].value == !variables)
			list[nr++] = params[i].name;
	return nr;
}
