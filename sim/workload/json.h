/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * JSON files with line numbers: a thin layer over jsmn, which cuts a text into tokens. As in
 * rt-app's files, comments and commas before a closing bracket are accepted, and keys without a
 * value if they begin as the reader says. Everything else must be strict JSON. An error prints the
 * file and the line and ends the program.
 */
#pragma once

#include "lib/types.h"

struct json {
	const char *path;
	char *text;
	void *tokens; /* jsmntok_t */
	u32 nr_tokens;
	const char *bare; /* the beginning of keys that need no value, or NULL */
};

/* The number of a value's token. */
typedef u32 json_value;

struct json json_load(const char *path, const char *bare);
void json_free(struct json *json);

/* Prints "path:line: ..." for @at and exits. */
__noreturn void json_error(const struct json *json, json_value at, const char *format, ...)
	__printf(3, 4);

/* Prints "path:line: ..." for @at and goes on. */
void json_note(const struct json *json, json_value at, const char *format, ...) __printf(3, 4);

/* The top value, which is an object. */
#define JSON_TOP 0u
/*
 * Walks an object or array: start with @previous 0; 0 is returned after the last. In an object the
 * values are the keys.
 */
json_value json_next(const struct json *json, json_value parent, json_value previous);
/* The value of @key. */
json_value json_member(json_value key);
/* The value of @name in @object; 0 if there is none. */
json_value json_find(const struct json *json, json_value object, const char *name);

/* Has @key no value? */
bool json_is_bare(const struct json *json, json_value key);
bool json_is_object(const struct json *json, json_value at);
bool json_is_string(const struct json *json, json_value at);
bool json_is_array(const struct json *json, json_value at);
bool json_is_bool(const struct json *json, json_value at);

/* The characters of a string, a key or a literal. The caller frees them. */
char *json_text(const struct json *json, json_value at);
bool json_equals(const struct json *json, json_value at, const char *text);
bool json_starts(const struct json *json, json_value at, const char *prefix);

/* These end with an error that names @key if the value has another type or is out of range. */
json_value json_object_of(const struct json *json, json_value key);
char *json_string_of(const struct json *json, json_value key);
/* The same for a value without a key, as in an array. */
s64 json_int_at(const struct json *json, json_value at, const char *name, s64 least, s64 most);
s64 json_int_of(const struct json *json, json_value key, s64 least, s64 most);
bool json_bool_of(const struct json *json, json_value key);
