/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The unit host: the seam (sched/host.h) for tests. One thread plays every CPU, time is a variable,
 * locks assert their order, kicks set a bit that settle() serves. A test drives the machine in
 * small steps and looks inside it (white box).
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sched/fair/core/fair.h"
#include "sched/observe/event.h"

#define MS	  NS_PER_MS
#define MAX_TRACE 4096

/* One recorded event: the record's bytes as the scheduler passed them. */
struct recorded {
	struct sched_event common;
	u8 bytes[64];
};

struct machine {
	struct sched *s;
	unsigned nr_cpus;
	u64 now; /* of every CPU, plus skew */
	s64 skew[CPU_MAX];
	bool kicked[CPU_MAX];
	unsigned nr_kicks;
	u64 timer[CPU_MAX]; /* armed one-shot, 0: none */
	struct task idle[CPU_MAX];
	struct recorded trace[MAX_TRACE];
	unsigned nr_trace;
	/* When set, host_bug() jumps there and leaves its text in bug. */
	jmp_buf *bug_target;
	const char *bug;
	void (*on_bug)(const char *what); /* before the test fails: print how to replay */
	/* Called once, when a CPU reads its clock without a lock: it looks for work to pull. */
	void (*on_search)(struct machine *m);
	/* Called once, when the scheduler has given up its last lock in the middle of something. */
	void (*on_unlocked)(struct machine *m);
	int next_pid;
};

/* The one machine that the host functions act on. */
extern struct machine *host;

struct machine *machine_new(unsigned nr_cpus, unsigned hz);
/* As above with a topology and a fair class. */
struct machine *machine_new_on(unsigned nr_cpus, unsigned hz, const struct sched_cpu_desc *topology,
			       const char *fair_policy);
void machine_free(struct machine *m);

/* A started task; the caller frees it with task_free() after it exited, or never. */
struct task *spawn(struct machine *m, const char *comm, int policy, int nice_or_prio);
struct task *spawn_nice(struct machine *m, const char *comm, int nice);

/* Switch on @cpu as the kernel does. Returns who runs then. */
struct task *switch_cpu(struct machine *m, unsigned cpu, bool preempt);
/* Serve kicks until there are none. */
void settle(struct machine *m);
/* Let time pass without a tick. */
void advance(struct machine *m, u64 ns);
/* One tick period passes, then the tick of every busy CPU, due timers and what they ask for. */
void tick(struct machine *m);
/* The running task of @cpu sleeps. */
void block(struct machine *m, unsigned cpu, u32 state);
/* @cpu wakes @t; kicks are served. */
bool wake(struct machine *m, struct task *t, unsigned cpu);
struct task *running(struct machine *m, unsigned cpu);
void set_feature(struct machine *m, const char *name);
void set_tunable(struct machine *m, const char *name, const char *value);
/* vruntime relative to the start of all queues. */
s64 v_of(const struct task *t);

#define QUEUE_START (-(1ll << 20)) /* first min_vruntime */

/* Run the statement and return host_bug()'s text, NULL if it was not called. */
#define CATCH_BUG(m, statement)                                                                    \
	({                                                                                         \
		jmp_buf catch_;                                                                    \
		(m)->bug = NULL;                                                                   \
		(m)->bug_target = &catch_;                                                         \
		if (!setjmp(catch_))                                                               \
			statement;                                                                 \
		(m)->bug_target = NULL;                                                            \
		(m)->bug;                                                                          \
	})
