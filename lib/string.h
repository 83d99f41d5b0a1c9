/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory and strings. The mem* and str* functions are the C standard's (a
 * compiler may call the mem* on its own account); the parse_* functions read
 * numbers the way Linux's control files do.
 */
#pragma once

#include "lib/types.h"

void *memcpy(void *dst, const void *src, size_t n);
void *memmove(void *dst, const void *src, size_t n);
void *memset(void *dst, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);
void *memchr(const void *s, int c, size_t n);

#if !__STDC_HOSTED__
/* Under these names a freestanding compiler too expands calls of a small constant size in place. */
#define memcpy(...) __builtin_memcpy(__VA_ARGS__)
#define memset(...) __builtin_memset(__VA_ARGS__)
#endif

size_t strlen(const char *s);
size_t strnlen(const char *s, size_t max);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);
char *strchr(const char *s, int c);
char *strrchr(const char *s, int c);
char *strstr(const char *s, const char *needle);

/* Copy with truncation; @dst is always terminated when @size > 0. Returns the length of @src. */
size_t str_copy(char *dst, const char *src, size_t size);
/* Does @name match the shell pattern @pattern (only '*' and '?')? */
bool str_glob(const char *pattern, const char *name);

/*
 * Reads @text[0..len) as one number, ignoring one trailing newline: decimal, 0x hexadecimal or 0
 * octal, with a leading '+', or '-' for the signed kind. 0, -EINVAL (not a number) or -ERANGE.
 */
int parse_u64(const char *text, size_t len, u64 *out);
int parse_s64(const char *text, size_t len, s64 *out);
/*
 * Reads the decimal digits at *@at, before @end, and steps behind them. False: there are none, or
 * their number is above @most, which is at most INT64_MAX / 10.
 */
bool read_decimal(const char **at, const char *end, u64 most, u64 *out);
/* Reads a number as parse_u64() does that must be 0 or 1: 0 or -EINVAL. */
int parse_bool(const char *text, size_t len, bool *out);
