/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The unit host: the seam (sched/host.h) for tests. One thread plays every CPU, time is a variable,
 * locks assert their order, and kicks set a bit that settle() serves. A test drives the machine in
 * small steps and looks inside it (white box).
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "checked.h"

#include "sched/fair/core/fair.h"
#include "sched/observe/event.h"
#include "sched/fair/cfs/cfs.h"

#define MS	  NS_PER_MS
#define MAX_TRACE 4096

/* One recorded event: the record's bytes as the scheduler passed them. */
struct recorded {
	struct sched_event common;
	u8 bytes[112];
};

struct machine {
	struct sched *s;
	void *freq; /* memory of its frequencies, or NULL */
	unsigned nr_cpus;
	u64 now; /* the time of every CPU; skew is added */
	s64 skew[CPU_MAX];
	bool kicked[CPU_MAX];
	bool patient[CPU_MAX]; /* the last kick was not urgent */
	unsigned nr_kicks;
	u32 speed[CPU_MAX]; /* as the scheduler set it */
	u64 timer[CPU_MAX]; /* the armed one-shot; 0: none */
	struct task idle[CPU_MAX];
	struct recorded trace[MAX_TRACE];
	unsigned nr_trace;
	/* If set, host_bug() leaves its text in bug and jumps there. */
	jmp_buf *bug_target;
	const char *bug;
	/* called before the test fails, to print how to replay it */
	void (*on_bug)(const char *what);
	/* Called for each event. */
	void (*on_trace)(struct machine *m, const struct sched_event *event);
	/* Called once, when a CPU that looks for work to pull reads its clock without a lock. */
	void (*on_search)(struct machine *m);
	/*
	 * Called once, when the scheduler has released its last lock in the middle of an operation.
	 */
	void (*on_unlocked)(struct machine *m);
	/* Called whenever the scheduler is about to take @lock, and has released it. */
	void (*on_lock)(struct machine *m, const struct host_lock *lock);
	void (*on_unlock)(struct machine *m, const struct host_lock *lock);
	/* Called for each kick. */
	void (*on_kick)(struct machine *m, unsigned cpu);
	/* Called once, when the scheduler is about to take a lock and holds none. */
	void (*on_locking)(struct machine *m);
	int next_pid;
};

/* The machine that the host functions act on. */
extern struct machine *host;
/* The time at which the next machine begins: NS_PER_SEC, unless a test says another one. */
extern u64 host_starts_at;
/* The CPUs that the next machine isolates: none, unless a test says some. */
extern struct cpumask host_isolates;

struct machine *machine_new(unsigned nr_cpus, unsigned hz);
/* The same with a topology and a fair policy. */
struct machine *machine_new_on(unsigned nr_cpus, unsigned hz, const struct sched_cpu_desc *topology,
			       const char *fair_policy);
/* A machine of this shape with operating points, both as text: lib/cputree.h, lib/opp.h. */
struct machine *machine_new_opp(const char *machine, const char *table, const char *policy);
/* machine_new() with budgets of deadline tasks that end by a timer, to the ns (HRTICK_DL). */
struct machine *machine_timed(unsigned nr_cpus, unsigned hz);
void machine_free(struct machine *m);

/*
 * The seed of what a test draws: @otherwise, or another for each UNIT_SEED. The grader of labs sets
 * that, so nobody can know what will be asked.
 */
u64 host_seed(u64 otherwise);

/* A started task. The caller may free it with task_free() after it has exited. */
struct task *spawn(struct machine *m, const char *comm, int policy, int nice_or_prio);
struct task *spawn_nice(struct machine *m, const char *comm, int nice);
/* The same under SCHED_DEADLINE; all in ns. @period: 0 is @deadline. */
struct task *spawn_dl(struct machine *m, const char *comm, u64 runtime, u64 deadline, u64 period);

/* Switches on @cpu as the kernel does. Returns the task that runs then. */
struct task *switch_cpu(struct machine *m, unsigned cpu, bool preempt);
/* Serves kicks until there are none. */
void settle(struct machine *m);
/* Calls @fn as another CPU, which holds no lock yet, whatever is held by who runs now. */
void host_elsewhere(void (*fn)(void));
/* Lets time pass without a tick. */
void advance(struct machine *m, u64 ns);
/*
 * Lets a tick period pass, then runs the tick of every busy CPU, due timers and the switches they
 * ask for.
 */
void tick(struct machine *m);
/* Puts the running task of @cpu to sleep. */
void block(struct machine *m, unsigned cpu, u32 state);
/* Wakes @t on @cpu and serves kicks. */
bool wake(struct machine *m, struct task *t, unsigned cpu);
struct task *running(struct machine *m, unsigned cpu);
void set_feature(struct machine *m, const char *name);
void set_tunable(struct machine *m, const char *name, const char *value);
/* The @index-th record of @type, from the first that the trace has. */
const void *record_of(struct machine *m, u16 type, unsigned index);
const void *last_record(struct machine *m, u16 type);
/* The vruntime of @t relative to the start of all queues. */
s64 v_of(const struct task *t);

/* Fails with the names of both unless @got is the task @right. */
#define assert_task(got, right)                                                                    \
	do {                                                                                       \
		const struct task *got_ = (got), *right_ = (right);                                \
		if (got_ != right_)                                                                \
			fail_msg("%s-%d runs, where %s-%d should", got_->comm, got_->pid,          \
				 right_->comm, right_->pid);                                       \
	} while (0)

#define QUEUE_START (-(1ll << 20)) /* the first min_vruntime */

/* Runs the statement. Returns host_bug()'s text, or NULL if it was not called. */
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
