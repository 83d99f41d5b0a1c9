/* SPDX-License-Identifier: GPL-2.0-only */
/* Cuts a policy's text into words: names, numbers with units of time, operators, ends of lines. */
#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "sim/engine/util.h"
#include "sim/policy/token.h"

const char op_two[NR_TWO][3] = { "<=", ">=", "==", "!=", "&&", "||" };

void token_error(struct tokens *t, const char *format, ...)
{
	struct recipe *p = t->recipe;
	va_list args;

	if (!p->error_line) {
		va_start(args, format);
		vsnprintf(p->error, sizeof(p->error), format, args);
		va_end(args);
		p->error_line = t->line;
	}
	t->is_next = TOKEN_end;
	t->at = "";
}

void token_print(const struct tokens *t, char text[static 48])
{
	if (t->is_next == TOKEN_name)
		snprintf(text, 48, "\"%s\"", t->name);
	else if (t->is_next == TOKEN_number)
		snprintf(text, 48, "%lld", (long long)t->value);
	else if (t->is_next == TOKEN_end || t->is_next == TOKEN_line)
		snprintf(text, 48, "the end of the %s", t->is_next ? "line" : "text");
	else if (t->is_next >= OP_le)
		snprintf(text, 48, "\"%s\"", op_two[t->is_next - OP_le]);
	else
		snprintf(text, 48, "\"%c\"", (char)t->is_next);
}

static void read_number(struct tokens *t)
{
	char text[40];
	u32 length = 0;
	u64 value;

	while (isalnum((unsigned char)t->at[length]) || t->at[length] == '.')
		length++;
	snprintf(text, sizeof(text), "%.*s", (int)min(length, 39u), t->at);
	t->at += length;
	t->is_next = TOKEN_number;
	if (!parse_number(text, INT64_MAX, &value) &&
	    (!parse_time(text, &value) || value > INT64_MAX))
		token_error(t,
			    "\"%s\" is not a number: 250, 3ms, 1.5us and 2s are (a time is in ns).",
			    text);
	t->value = value;
}

static void read_name(struct tokens *t)
{
	u32 length = 0;

	while (isalnum((unsigned char)t->at[length]) || t->at[length] == '_')
		length++;
	if (length > RECIPE_NAME)
		return token_error(t, "The name \"%.*s...\" is longer than %u characters.",
				   (int)RECIPE_NAME, t->at, RECIPE_NAME);
	snprintf(t->name, sizeof(t->name), "%.*s", (int)length, t->at);
	for (const char *c = t->name; *c; c++)
		if (isupper((unsigned char)*c))
			return token_error(t, "Names have small letters: \"%s\".", t->name);
	t->at += length;
	t->is_next = TOKEN_name;
}

static void read_operator(struct tokens *t)
{
	for (u32 i = 0; i < NR_TWO; i++)
		if (!strncmp(t->at, op_two[i], 2)) {
			t->is_next = OP_le + i;
			t->at += 2;
			return;
		}
	if (!strchr("+-*/%<>!?:=(){},.", *t->at)) {
		if (*t->at >= ' ' && *t->at < 127)
			return token_error(t, "The character \"%c\" means nothing here.", *t->at);
		return token_error(t, "A character here is not one of ASCII.");
	}
	t->is_next = (u8)*t->at++;
	if (t->is_next == '(')
		t->open++;
	else if (t->is_next == ')' && t->open)
		t->open--;
}

static void skip_blanks(struct tokens *t)
{
	while (*t->at == ' ' || *t->at == '\t' || *t->at == '\r' || (t->open && *t->at == '\n')) {
		t->line += *t->at == '\n';
		t->at++;
	}
	if (*t->at == '#')
		t->at += strcspn(t->at, "\n");
}

void token_next(struct tokens *t)
{
	if (t->recipe->error_line)
		return;
	if (t->is_next == TOKEN_line)
		t->line++;
	do
		skip_blanks(t);
	while (t->open && *t->at == '\n');
	if (!*t->at) {
		t->is_next = TOKEN_end;
	} else if (*t->at == '\n') {
		t->is_next = TOKEN_line;
		t->at++;
	} else if (isdigit((unsigned char)*t->at)) {
		read_number(t);
	} else if (isalpha((unsigned char)*t->at) || *t->at == '_') {
		read_name(t);
	} else {
		read_operator(t);
	}
}

bool token_accept(struct tokens *t, u32 token)
{
	if (t->is_next != token || t->recipe->error_line)
		return false;
	token_next(t);
	return true;
}

void token_expect(struct tokens *t, u32 token, const char *what)
{
	char found[48];

	if (token_accept(t, token))
		return;
	token_print(t, found);
	token_error(t, "%s is expected, not %s.", what, found);
}

bool token_is_name(const struct tokens *t, const char *name)
{
	return t->is_next == TOKEN_name && !strcmp(t->name, name);
}
