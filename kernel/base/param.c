/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel command line: words separated by blanks, `name=value` or a bare `name`. The last of
 * several wins. Values are copied out once, at the first question, so that callers may keep the
 * pointers.
 */
#include "kernel/kernel.h"
#include "kernel/arch.h"
#include "lib/string.h"

#define MAX_PARAMS 64

static char text[2048];
static struct {
	const char *name, *value;
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
	params[nr_params++].value = value ? value : "";
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
			return params[i].value;
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
