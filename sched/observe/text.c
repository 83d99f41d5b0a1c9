/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lines of dumps, for dump.c and for the classes' and policies' dump operations.
 */
#include "sched/class.h"
#include "lib/fmt.h"

/* ns as ms with six decimals, as Linux prints times here. */
#define MS_FMT	    "%llu.%06llu"
#define MS_ARGS(ns) (unsigned long long)((ns) / NS_PER_MS), (unsigned long long)((ns) % NS_PER_MS)

/* A virtual time may be below 0. */
static void add_ms(struct text *out, s64 ns)
{
	u64 abs = ns < 0 ? 0 - (u64)ns : (u64)ns;

	text_add(out, "%s" MS_FMT, ns < 0 ? "-" : "", MS_ARGS(abs));
}

void dump_ms(struct text *out, const char *name, u64 ns)
{
	text_add(out, "  .%-30s: ", name);
	add_ms(out, (s64)ns);
	text_add(out, "\n");
}

void dump_number(struct text *out, const char *name, u64 value)
{
	text_add(out, "  .%-30s: %lu\n", name, value);
}

void dump_task_number(struct text *out, const char *name, u64 value)
{
	text_add(out, "%-45s:%21ld\n", name, (s64)value);
}

void dump_task_ms(struct text *out, const char *name, s64 ns)
{
	char number[32];
	struct text digits = text_of(number, sizeof(number));

	add_ms(&digits, ns);
	text_add(out, "%-45s:%21s\n", name, number);
}

void dump_vtime(struct text *out, u64 v)
{
	char number[32];
	struct text digits = text_of(number, sizeof(number));

	add_ms(&digits, (s64)v);
	text_add(out, "  %15s", number);
}
