/* SPDX-License-Identifier: GPL-2.0-only */
/* Small helpers that the simulator's files share. */
#pragma once

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/types.h"

/* Exit statuses. */
enum { EXIT_OK, EXIT_BUG, EXIT_USAGE };

/* Prints one line on stderr and exits with status 2: the user asked for something impossible. */
__noreturn void usage_error(const char *format, ...) __printf(1, 2);
/* Prints the same and goes on. */
void usage_note(const char *format, ...) __printf(1, 2);
__noreturn void out_of_memory(void);

/* Makes each character of @text that moves a terminal's cursor a question mark. */
void make_printable(char *text);

/*
 * Makes room for one more element of @bytes in @array, of which @used of *@size are used. Returns
 * the array, which may have moved.
 */
void *grow(void *array, u32 used, u32 *size, size_t bytes);
/* Zeroed memory; never NULL. */
void *allocate(size_t nr, size_t bytes);
/*
 * Zeroed memory aligned to a cache line; NULL if there is none. Large blocks are on huge pages: a
 * big machine touches all of its memory all the time, and would miss the TLB as often with small
 * ones.
 */
void *allocate_lines(size_t bytes);

/* Reads "250" or "1.5" with a unit of ns, us, ms, s or none (ns). False: @text is not a time. */
bool parse_time(const char *text, u64 *ns);

/* The same, but only 0 may be without a unit: somebody who writes 2 means ms, or s. */
bool parse_time_in_unit(const char *text, u64 *ns);
/* Reads a decimal number of at most @max. */
bool parse_number(const char *text, u64 max, u64 *value);
