/* SPDX-License-Identifier: GPL-2.0-only */
/* Small helpers that the simulator's files share. */
#pragma once

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/types.h"

/* Statuses of the program. */
enum { EXIT_OK, EXIT_BUG, EXIT_USAGE };

/* One line on stderr, then exit status 2: the user asked for something that cannot be. */
__noreturn void usage_error(const char *format, ...) __printf(1, 2);
__noreturn void out_of_memory(void);

/* Room for one more element of @bytes after @used in @array, whose capacity is *@size. */
void *grow(void *array, u32 used, u32 *size, size_t bytes);
/* Zeroed; never NULL. */
void *allocate(size_t nr, size_t bytes);
/*
 * Zeroed, aligned to a cache line; NULL if there is no more. Much of it is on huge pages: a big
 * machine is used all over all the time, and small pages would be looked up as often.
 */
void *allocate_lines(size_t bytes);

/* "250", "1.5" with a unit of ns, us, ms, s or none (ns) as ns. False: not a time. */
bool parse_time(const char *text, u64 *ns);
/* A decimal number of at most @max. */
bool parse_number(const char *text, u64 max, u64 *value);
/* "0-3,8": false unless every CPU is below @nr_cpus and there is one. */
struct cpumask;
bool parse_cpus(const char *text, unsigned nr_cpus, struct cpumask *mask);
