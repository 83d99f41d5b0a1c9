/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of FDL share: one CPU whose events come when they are due, to the ns, and tasks
 * that run and sleep on their own. The CFS that it is built on is as in the tables of the tests:
 * latency 24 ms, granularities 3 and 4 ms.
 */
#pragma once

#include "group.h"

#define US	   NS_PER_US
#define MAX_ACTORS 64u

/* A task: a hog, or one that runs for @run_ns at a time. */
struct actor {
	struct task *t;
	struct task_group *tg; /* its own, or NULL: it is in the root */
	u64 run_ns;	       /* 0: for ever */
	u64 period_ns; /* from one wakeup to the next; 0: it sleeps for sleep_ns after each run */
	u64 sleep_ns;
	/* what comes of it */
	u64 left_ns, wake_at;
	u64 woken_at, max_latency_ns;
	u64 start_ns;	 /* CPU time before the measurement */
	u64 waits_since; /* 0: it runs or sleeps */
	u64 max_gap_ns;
};

struct lab {
	struct machine *m;
	struct actor actor[MAX_ACTORS];
	unsigned nr;
	u64 tick_ns, next_tick, next_control, start, nr_switches;
	bool controls; /* the controller runs every 10 ms */
	bool checks;   /* all invariants after each event */
	bool tickless;
};

struct lab *lab_new(const char *policy);
void lab_free(struct lab *lab);
/* A hog in the root. */
struct actor *lab_hog(struct lab *lab);
/* A hog that is alone in a new group of @shares below the root, with these deadlines. */
struct actor *lab_group(struct lab *lab, u64 shares, u64 rr_ns, u64 wakeup_ns);
/* From now on @a runs @run_ns in every @period_ns, the first time in @offset_ns. */
void lab_periodic(struct lab *lab, struct actor *a, u64 run_ns, u64 period_ns, u64 offset_ns);
/* From now on @a runs @run_ns, sleeps @sleep_ns, and so on. */
void lab_farmer(struct actor *a, u64 run_ns, u64 sleep_ns);
/* Begin the measurement anew. */
void lab_mark(struct lab *lab);
void lab_run(struct lab *lab, u64 ns);
/* The next event. */
void lab_step(struct lab *lab);
/* Since lab_mark(): CPU time of @a in hundredths of a percent; switches per second. */
u64 lab_share(const struct lab *lab, const struct actor *a);
u64 lab_switches(const struct lab *lab);
