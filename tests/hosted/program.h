/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs of up to four threads on one object: drawn, run, judged, printed and read. */
#pragma once

#include <stdio.h>

#include "object.h"

#define MAX_CALLS 64 /* of one thread */

struct program {
	const struct object *object;
	unsigned nr_threads;
	unsigned nr_calls[NR_FIBERS];
	struct call calls[NR_FIBERS][MAX_CALLS + 1]; /* one more: the object's last */
	struct schedule schedule;
	unsigned failing; /* as in struct world */
};

/* A call of a run. */
struct event {
	u32 begun, ended; /* points of the run */
	bool done, slept; /* it answered; only when it had got a signal */
	struct answer answer;
};

struct history {
	struct world world;
	struct event events[NR_FIBERS][MAX_CALLS + 1];
};

/* Runs the program. True: all was right. What was not is in @h->world.fault. */
bool program_run(const struct program *p, struct history *h);
/* No order of the calls explains @h: says so in @h->world.fault. */
bool judge_history(const struct program *p, struct history *h);
/* A program without a schedule. @alone: one thread, of @length calls; otherwise two to four. */
void program_draw(struct program *p, struct prng *random, bool alone, unsigned length);
/*
 * A program of one thread whose calls are of the operations @ops. False: one of them is not drawn
 * for a thread alone.
 */
bool program_draw_ops(struct program *p, struct prng *random, const u8 *ops, unsigned nr);
/* Writes the text that `--replay` takes. */
void program_print(const struct program *p, FILE *out);
/* False: it is none; a sentence was printed. */
bool program_parse(struct program *p, const char *text);
/*
 * Reads the decimal digits with which @text begins. False: there are none, or @number is not from
 * @least to @most. @end: the text behind.
 */
bool parse_number(const char *text, u64 least, u64 most, u64 *number, const char **end);
