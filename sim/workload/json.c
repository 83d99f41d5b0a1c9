/* SPDX-License-Identifier: GPL-2.0-only */
/* JSON with line numbers; see json.h. */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>

#define JSMN_STATIC
#define JSMN_STRICT
#define JSMN_PARENT_LINKS
#include <jsmn.h>

#include "sim/workload/json.h"
#include "sim/engine/util.h"

#define MAX_BYTES (64u << 20)

static jsmntok_t *tok(const struct json *json, json_value at)
{
	return (jsmntok_t *)json->tokens + at;
}

/* --- errors ----------------------------------------------------------------------------------- */

static u32 line_of(const struct json *json, u32 offset)
{
	u32 line = 1;

	for (u32 i = 0; i < offset; i++)
		line += json->text[i] == '\n';
	return line;
}

static __noreturn void error_at(const struct json *json, u32 offset, const char *what)
{
	usage_error("%s:%u: %s", json->path, line_of(json, offset), what);
}

void json_error(const struct json *json, json_value at, const char *format, ...)
{
	char what[300];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	error_at(json, (u32)tok(json, at)->start, what);
}

void json_note(const struct json *json, json_value at, const char *format, ...)
{
	u32 line = line_of(json, (u32)tok(json, at)->start);
	char what[300];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	usage_note("%s:%u: %s", json->path, line, what);
}

/* --- loading ---------------------------------------------------------------------------------- */

static char *read_file(const char *path, u32 *size)
{
	FILE *file = fopen(path, "r");
	char *text = NULL;
	u32 room = 0, used = 0;
	size_t got;

	if (!file)
		usage_error("%s: %s", path, strerror(errno));
	do {
		room = room ? 2 * room : 1u << 16;
		if (room > MAX_BYTES)
			usage_error("%s: larger than %u MiB", path, MAX_BYTES >> 20);
		text = realloc(text, room);
		if (!text)
			out_of_memory();
		got = fread(text + used, 1, room - used - 1, file);
		used += (u32)got;
	} while (used == room - 1);
	if (ferror(file))
		usage_error("%s: %s", path, strerror(errno));
	fclose(file);
	text[used] = '\0';
	*size = used;
	return text;
}

/* The end of the comment or string that starts at @at; @at if none starts there. */
static u32 skip_quoted(const struct json *json, u32 at)
{
	const char *text = json->text, *end;

	if (text[at] == '"') {
		u32 i = at + 1;

		while (text[i] && text[i] != '"')
			i += text[i] == '\\' && text[i + 1] ? 2 : 1;
		return text[i] ? i + 1 : i;
	}
	if (text[at] != '/')
		return at;
	if (text[at + 1] == '/')
		return at + (u32)strcspn(text + at, "\n");
	if (text[at + 1] != '*')
		return at;
	end = strstr(text + at + 2, "*/");
	if (!end)
		error_at(json, at, "this comment does not end");
	return (u32)(end + 2 - text);
}

/* Replaces comments and trailing commas by blanks, so that positions stay. */
static void blank_out(struct json *json)
{
	char *text = json->text, *comma = NULL;
	u32 at = 0;

	while (text[at]) {
		u32 end = skip_quoted(json, at);

		if (end > at && text[at] == '/') {
			for (; at < end; at++)
				text[at] = text[at] == '\n' ? '\n' : ' ';
			continue;
		}
		if (text[at] == ',')
			comma = &text[at];
		else if ((text[at] == '}' || text[at] == ']') && comma)
			*comma = ' ', comma = NULL;
		else if (!isspace((unsigned char)text[at]))
			comma = NULL;
		at = max(at + 1, end);
	}
}

/* --- what jsmn does not check ----------------------------------------------------------------- */

static u32 after(const struct json *json, json_value at)
{
	return (u32)tok(json, at)->end + (tok(json, at)->type == JSMN_STRING);
}

static u32 before(const struct json *json, json_value at)
{
	return (u32)tok(json, at)->start - (tok(json, at)->type == JSMN_STRING);
}

/* Checks that there are only blanks between two tokens, and @separator once unless it is '\0'. */
static void check_gap(const struct json *json, u32 from, u32 to, char separator)
{
	for (u32 i = from; i < to; i++) {
		if (isspace((unsigned char)json->text[i]))
			continue;
		if (!separator || json->text[i] != separator)
			error_at(json, i, "not JSON: unexpected character");
		separator = '\0';
	}
	if (separator == ',')
		error_at(json, to, "not JSON: a comma is missing before this");
	if (separator)
		error_at(json, to, "not JSON: ':' is missing before this");
}

static void check_literal(const struct json *json, json_value at)
{
	const jsmntok_t *t = tok(json, at);
	char *text = json_text(json, at), *end;
	bool good = !strcmp(text, "true") || !strcmp(text, "false") || !strcmp(text, "null");

	if (!good && (*text == '-' || isdigit((unsigned char)*text))) {
		strtod(text, &end);
		good = !*end && !strpbrk(text, "xX");
	}
	free(text);
	if (!good)
		error_at(json, (u32)t->start, "not JSON: neither a number nor true, false or null");
}

/* Returns the last token of the key @key and its value. */
static json_value check_key(const struct json *json, json_value key)
{
	if (json->bare && json_is_bare(json, key) && json_starts(json, key, json->bare))
		return key;
	if (tok(json, key)->size != 1)
		json_error(json, key, "not JSON: a key must have one value; is a comma missing?");
	check_gap(json, after(json, key), before(json, json_member(key)), ':');
	return json_member(key);
}

static void check_token(const struct json *json, json_value at)
{
	const jsmntok_t *t = tok(json, at);
	u32 from = (u32)t->start + 1;
	json_value child = 0;
	char separator = '\0';

	if (t->type == JSMN_PRIMITIVE)
		check_literal(json, at);
	if (t->type != JSMN_OBJECT && t->type != JSMN_ARRAY)
		return;
	while ((child = json_next(json, at, child))) {
		json_value last = child;

		check_gap(json, from, before(json, child), separator);
		if (t->type == JSMN_OBJECT) {
			if (tok(json, child)->type != JSMN_STRING)
				json_error(json, child, "not JSON: a key must be a string");
			last = check_key(json, child);
		}
		from = after(json, last);
		separator = ',';
	}
	check_gap(json, from, (u32)t->end - 1, '\0');
}

static void tokenize(struct json *json, u32 size)
{
	jsmn_parser parser;
	int nr;

	jsmn_init(&parser);
	nr = jsmn_parse(&parser, json->text, size, NULL, 0);
	if (nr > 0) {
		json->tokens = allocate((size_t)nr, sizeof(jsmntok_t));
		jsmn_init(&parser);
		nr = jsmn_parse(&parser, json->text, size, json->tokens, (u32)nr);
	}
	if (nr == JSMN_ERROR_PART)
		error_at(json, size, "not JSON: it ends too early");
	if (nr < 0)
		error_at(json, parser.pos, "not JSON: unexpected character");
	if (!nr || tok(json, 0)->type != JSMN_OBJECT)
		error_at(json, 0, "must be a JSON object");
	json->nr_tokens = (u32)nr;
}

struct json json_load(const char *path, const char *bare)
{
	struct json json = { .path = path, .bare = bare };
	u32 size;

	json.text = read_file(path, &size);
	if (strlen(json.text) != size)
		usage_error("%s: not a text", path);
	blank_out(&json);
	tokenize(&json, size);
	check_gap(&json, 0, (u32)tok(&json, 0)->start, '\0');
	check_gap(&json, (u32)tok(&json, 0)->end, size, '\0');
	for (json_value at = 0; at < json.nr_tokens; at++)
		check_token(&json, at);
	return json;
}

void json_free(struct json *json)
{
	free(json->text);
	free(json->tokens);
}

/* --- walking ---------------------------------------------------------------------------------- */

json_value json_next(const struct json *json, json_value parent, json_value previous)
{
	json_value at = previous + 1;
	int end = tok(json, parent)->end;

	assert(json_is_object(json, parent) || json_is_array(json, parent));
	if (!previous)
		at = parent + 1;
	else
		while (at < json->nr_tokens && tok(json, at)->parent != (int)parent)
			at++;
	return at < json->nr_tokens && tok(json, at)->start < end ? at : 0;
}

json_value json_member(json_value key)
{
	return key + 1;
}

json_value json_find(const struct json *json, json_value object, const char *name)
{
	json_value key = 0;

	assert(json_is_object(json, object));
	while ((key = json_next(json, object, key)))
		if (json_equals(json, key, name))
			return json_member(key);
	return 0;
}

bool json_is_bare(const struct json *json, json_value key)
{
	return !tok(json, key)->size;
}

bool json_is_object(const struct json *json, json_value at)
{
	return tok(json, at)->type == JSMN_OBJECT;
}

bool json_is_string(const struct json *json, json_value at)
{
	return tok(json, at)->type == JSMN_STRING;
}

bool json_is_array(const struct json *json, json_value at)
{
	return tok(json, at)->type == JSMN_ARRAY;
}

bool json_is_bool(const struct json *json, json_value at)
{
	return tok(json, at)->type == JSMN_PRIMITIVE &&
	       (json_equals(json, at, "true") || json_equals(json, at, "false"));
}

/* --- values ----------------------------------------------------------------------------------- */

char *json_text(const struct json *json, json_value at)
{
	const jsmntok_t *t = tok(json, at);
	char *text = strndup(json->text + t->start, (size_t)(t->end - t->start));

	if (!text)
		out_of_memory();
	return text;
}

bool json_starts(const struct json *json, json_value at, const char *prefix)
{
	const jsmntok_t *t = tok(json, at);
	size_t len = strlen(prefix);

	return (size_t)(t->end - t->start) >= len && !strncmp(json->text + t->start, prefix, len);
}

bool json_equals(const struct json *json, json_value at, const char *text)
{
	const jsmntok_t *t = tok(json, at);

	return (size_t)(t->end - t->start) == strlen(text) && json_starts(json, at, text);
}

static __noreturn void wrong_type(const struct json *json, json_value key, const char *wanted)
{
	char *name = json_text(json, key);

	json_error(json, key, "\"%s\" must be %s", name, wanted);
}

json_value json_object_of(const struct json *json, json_value key)
{
	if (!json_is_object(json, json_member(key)))
		wrong_type(json, key, "an object");
	return json_member(key);
}

char *json_string_of(const struct json *json, json_value key)
{
	if (!json_is_string(json, json_member(key)))
		wrong_type(json, key, "a string");
	return json_text(json, json_member(key));
}

bool json_bool_of(const struct json *json, json_value key)
{
	if (!json_is_bool(json, json_member(key)))
		wrong_type(json, key, "true or false");
	return json_equals(json, json_member(key), "true");
}

s64 json_int_at(const struct json *json, json_value at, const char *name, s64 least, s64 most)
{
	char *text = json_text(json, at), *end;
	s64 value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (tok(json, at)->type != JSMN_PRIMITIVE || end == text || *end)
		json_error(json, at, "\"%s\" must be an integer", name);
	if (errno || value < least || value > most)
		json_error(json, at, "\"%s\" is %s; it must be from %lld to %lld", name, text,
			   (long long)least, (long long)most);
	free(text);
	return value;
}

s64 json_int_of(const struct json *json, json_value key, s64 least, s64 most)
{
	char *name = json_text(json, key);
	s64 value = json_int_at(json, json_member(key), name, least, most);

	free(name);
	return value;
}
