/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A scheduling class: one policy family behind 19 operations. The core (core.c)
 * ranks the classes - stop, rt, fair, idle - and runs the pick of the most urgent
 * class that has one; it knows nothing of how a class orders its tasks.
 *
 * Rules for every operation, unless its contract says otherwise:
 *   called with   the lock of @rq held and its clock updated
 *   must not      take another lock, call the host other than through the
 *                 helpers of internal.h, or touch tasks of other classes
 * Every operation is non-NULL: class_* below are the defaults. stop.c is the
 * shortest complete class; read it first.
 */
#pragma once

#include "lib/types.h"

struct rq;
struct task;
struct text;

/* Why a task enters or leaves a queue. Values are Linux's. */
enum queue_flags {
	DEQUEUE_SLEEP = 0x1,  /* it blocks; otherwise it stays runnable and comes back */
	ENQUEUE_WAKEUP = 0x1, /* it was blocked */
	QUEUE_SAVE = 0x2,     /* only to change its parameters: pairs with a RESTORE at once */
	QUEUE_RESTORE = 0x2,
	QUEUE_MOVE = 0x4,	 /* with these: its priority changes; else it keeps its place */
	ENQUEUE_HEAD = 0x10,	 /* rt: in front of its equals */
	DEQUEUE_SPECIAL = 0x10,	 /* with SLEEP: it must be off the queue at once (stopped, dead) */
	ENQUEUE_MIGRATED = 0x40, /* with WAKEUP: it slept on another CPU */
	ENQUEUE_INITIAL = 0x80,	 /* it is new */
	QUEUE_MIGRATING = 0x100, /* it changes CPU while runnable */
	DEQUEUE_DELAYED = 0x200, /* with SLEEP: the second part of a delayed dequeue */
	ENQUEUE_DELAYED = 0x200, /* with WAKEUP: it slept but was still queued */
	ENQUEUE_UNTHROTTLE = 0x400, /* with WAKEUP, of a group: it may run again */
};

/* Which event asks for a CPU. */
enum select_reason {
	SELECT_EXEC = 0x2,
	SELECT_FORK = 0x4,
	SELECT_WAKE = 0x8,
	SELECT_SYNC = 0x10, /* with WAKE: the waker is about to sleep (= WAKE_SYNC) */
};

struct sched_class {
	const char *name;
	unsigned rank; /* 0 is the most urgent */

	/*
	 * @t becomes runnable on @rq. Adds it to the class's structures and to rq->nr_running.
	 * Pairs with dequeue. t->on_rq is the core's business.
	 */
	void (*enqueue)(struct rq *rq, struct task *t, unsigned flags);

	/*
	 * @t stops being runnable on @rq; it may be the running task. Removes it and its part of
	 * rq->nr_running. Returns false if it stays queued although it sleeps (delayed dequeue): it
	 * is TASK_DELAYED then, counts as asleep, and is dequeued again with DEQUEUE_DELAYED or
	 * enqueued with ENQUEUE_DELAYED.
	 */
	bool (*dequeue)(struct rq *rq, struct task *t, unsigned flags);

	/* The running task gives way; a switch follows in the same lock section. */
	void (*yield)(struct rq *rq);

	/*
	 * The task that should run, or NULL. The running task, if queued, was charged before.
	 * Changes no membership but that of sleepers it finds (TASK_DELAYED): the core calls
	 * put_prev and set_next if the answer is not the running task.
	 */
	struct task *(*pick)(struct rq *rq);

	/*
	 * The running task @t is not going to run on, or is about to change its parameters. It may
	 * have been dequeued before; if not, it waits now.
	 */
	void (*put_prev)(struct rq *rq, struct task *t);

	/* @t is going to run: picked, or with its new parameters. Pairs with put_prev. */
	void (*set_next)(struct rq *rq, struct task *t);

	/* put_prev of @prev and set_next of @next in one: both are of this class. */
	void (*exchange)(struct rq *rq, struct task *prev, struct task *next);

	/* Account the time since the last charge to the running task. */
	void (*charge)(struct rq *rq);

	/* 1/HZ s passed while @t runs. After its own charge; asks for a switch with resched(). */
	void (*tick)(struct rq *rq, struct task *t);

	/*
	 * Should @woken, just queued, take over from the running task, which is of this class too?
	 * It may be moved in its queue so that it will be picked.
	 */
	bool (*preempts)(struct rq *rq, struct task *woken, unsigned flags);

	/*
	 * The CPU where @t should run next, allowed and online; @cpu is the caller's, @reason from
	 * select_reason. @t is not queued, except for SELECT_EXEC; the lock of rq[t->cpu] is held
	 * and the other runqueues are read racily: the answer is a hint that is good enough.
	 */
	unsigned (*select_cpu)(struct rq *rq, struct task *t, unsigned cpu, unsigned reason);

	/* The sleeping @t is about to leave @rq, its old one, to wake up on another. */
	void (*migrate)(struct rq *rq, struct task *t);

	/*
	 * @rq is about to run something less urgent than before: bring work from other CPUs. May
	 * drop and retake the lock. Returns true if the class now has something to pick. @prev runs
	 * still.
	 */
	bool (*pull)(struct rq *rq, struct task *prev);

	/*
	 * @t, not queued now, enters or leaves the class. @runnable: it was queued and will be
	 * again. A new task (TASK_NEW) joins on the runqueue of its creator, before its CPU is
	 * chosen.
	 */
	void (*join)(struct rq *rq, struct task *t, bool runnable);
	void (*leave)(struct rq *rq, struct task *t, bool runnable);

	/*
	 * A parameter of the queued @t changed (its old kernel priority was @old_prio): preempt or
	 * be preempted.
	 */
	void (*retune)(struct rq *rq, struct task *t, int old_prio);

	/* The round-robin interval of @t in ns; 0: it has none. */
	u64 (*slice)(struct rq *rq, struct task *t);

	/*
	 * host_bug() if an invariant of the class does not hold on @rq. Slow; never on a hot path.
	 */
	void (*check)(struct rq *rq);

	/* The class's lines of debugfs `debug` for @rq. */
	void (*dump)(struct rq *rq, struct text *out);
};

extern const struct sched_class stop_class, rt_class, fair_class, idle_class;

/* Defaults for operations that do not concern a class. */
void class_ignore(struct rq *rq);
void class_ignore_task(struct rq *rq, struct task *t);
void class_ignore_change(struct rq *rq, struct task *t, bool runnable);
void class_no_exchange(struct rq *rq, struct task *prev, struct task *next);
bool class_never_preempts(struct rq *rq, struct task *woken, unsigned flags);
void class_ignore_retune(struct rq *rq, struct task *t, int old_prio);
u64 class_no_slice(struct rq *rq, struct task *t);
void class_dump_nothing(struct rq *rq, struct text *out);
bool class_no_pull(struct rq *rq, struct task *prev);
unsigned class_stay(struct rq *rq, struct task *t, unsigned cpu, unsigned reason);

/* --- for dump operations (dump.c) ------------------------------------------ */

/* "  .name : 12.345678", a line of a dump: @ns in ms. */
void dump_ms(struct text *out, const char *name, u64 ns);
/* "name :  123", a line of /proc/PID/sched. */
void dump_task_number(struct text *out, const char *name, u64 value);
void dump_task_ms(struct text *out, const char *name, s64 ns);
/* A column of the table of tasks. */
void dump_vtime(struct text *out, u64 v);
