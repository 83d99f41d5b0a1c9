/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * JSON files with line numbers: a thin layer over jsmn, which cuts a text into tokens. Comments
 * and commas before a closing bracket are accepted, as rt-app's files have them; otherwise the text
 * must be JSON to the letter. Every error names the file and the line and ends the program.
 */
#pragma once

#include "lib/types.h"

struct json {
	const char *path;
	char *text;
	void *tokens; /* jsmn's */
	u32 nr_tokens;
};

/* A value, by the number of its token. */
typedef u32 json_value;

struct json json_load(const char *path);
void json_free(struct json *json);

/* "path:line: ..." for @at, then exit. */
__noreturn void json_error(const struct json *json, json_value at, const char *format, ...)
	__printf(3, 4);

/* The top value. It must be an object, as must all that the next two take. */
#define JSON_TOP 0u
/*
 * Walk an object or array: 0 when there is no more. Start with @previous 0. In an object the
 * values are the keys.
 */
json_value json_next(const struct json *json, json_value parent, json_value previous);
/* What @key of an object stands for. */
json_value json_member(json_value key);
/* The value of @name in @object, 0 if there is none. */
json_value json_find(const struct json *json, json_value object, const char *name);

bool json_is_object(const struct json *json, json_value at);
bool json_is_string(const struct json *json, json_value at);
bool json_is_array(const struct json *json, json_value at);
bool json_is_bool(const struct json *json, json_value at);

/* The characters of a string, a key or a literal, to be freed. */
char *json_text(const struct json *json, json_value at);
bool json_equals(const struct json *json, json_value at, const char *text);
bool json_starts(const struct json *json, json_value at, const char *prefix);

/* With an error that names @key if the value is of another type or out of range. */
json_value json_object_of(const struct json *json, json_value key);
char *json_string_of(const struct json *json, json_value key);
/* The same of a value that has no key of its own, as in an array. */
s64 json_int_at(const struct json *json, json_value at, const char *name, s64 least, s64 most);
s64 json_int_of(const struct json *json, json_value key, s64 least, s64 most);
bool json_bool_of(const struct json *json, json_value key);
