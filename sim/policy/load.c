/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads files with policies in expressions. */
#include <string.h>

#include "sim/engine/util.h"
#include "sim/policy/policy.h"

bool recipe_is_text(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && !strcmp(dot, ".policy");
}

const struct recipe *recipe_load(const char *option, const char *path)
{
	char *text = allocate(RECIPE_TEXT + 2, 1);
	FILE *file = fopen(path, "r");
	struct recipe *recipe;

	if (!file)
		usage_error("%s %s: cannot be read", option, path);
	text[fread(text, 1, RECIPE_TEXT + 1, file)] = '\0';
	fclose(file);
	recipe = recipe_parse(text);
	if (recipe->error_line)
		usage_error("%s %s: line %u: %s", option, path, recipe->error_line, recipe->error);
	return recipe;
}
