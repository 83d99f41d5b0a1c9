/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the tests of FDL: one CPU whose events come when they are due, to the ns, and tasks
 * that run and sleep by themselves. The CFS beneath has the settings of the tests' tables: latency
 * 24 ms, granularities 3 and 4 ms.
 */
#pragma once

#include "group.h"

#define US	   NS_PER_US
#define MAX_ACTORS 64u

/* A task: a hog, or one that runs for @run_ns at a time. */
struct actor {
	struct task *t;
	struct task_group *tg; /* the group of this task alone, or NULL: the root */
	u64 run_ns;	       /* 0: endless */
	/* from one wakeup to the next; 0: the task sleeps for sleep_ns after each run */
	u64 period_ns;
	u64 sleep_ns;
	/* Set while it runs: */
	u64 left_ns, wake_at;
	u64 woken_at, max_latency_ns;
	u64 start_ns;	 /* CPU time before the measurement began */
	u64 waits_since; /* start of its wait; 0: it runs or sleeps */
	u64 max_gap_ns;
};

struct lab {
	struct machine *m;
	struct actor actor[MAX_ACTORS];
	unsigned nr;
	u64 tick_ns, next_tick, next_control, start, nr_switches;
	bool controls; /* run the controller every 10 ms */
	bool checks;   /* check all invariants after each event */
	bool tickless;
};

struct lab *lab_new(const char *policy);
void lab_free(struct lab *lab);
/* Adds a hog to the root. */
struct actor *lab_hog(struct lab *lab);
/* Adds a hog alone in a new group below the root, with @shares and these deadlines. */
struct actor *lab_group(struct lab *lab, u64 shares, u64 rr_ns, u64 wakeup_ns);
/* From now on @a runs @run_ns in every @period_ns, for the first time at @offset_ns. */
void lab_periodic(struct lab *lab, struct actor *a, u64 run_ns, u64 period_ns, u64 offset_ns);
/* From now on @a runs @run_ns and sleeps @sleep_ns in turn. */
void lab_farmer(struct actor *a, u64 run_ns, u64 sleep_ns);
/* Begins the measurement anew. */
void lab_mark(struct lab *lab);
void lab_run(struct lab *lab, u64 ns);
/* Lets the next event happen. */
void lab_step(struct lab *lab);
/* CPU time of @a since lab_mark(), in hundredths of a percent; switches per second. */
u64 lab_share(const struct lab *lab, const struct actor *a);
u64 lab_switches(const struct lab *lab);
