/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the tests of EEVDF: one CPU under it, and its queue. */
#pragma once

#include <stdlib.h>

#include "host.h"

/* It may be a student's, whose comparisons are no test's. */
static inline UNRECORDED bool eevdf_is_past(const struct fair_queue *q, u64 vruntime);

#include "sched/fair/eevdf/eevdf.h"

/* A machine with a base slice of 3 ms, as Linux has on eight CPUs; the golden numbers assume it. */
static inline struct machine *eevdf_machine(unsigned hz)
{
	struct sched_cpu_desc desc = { 0 };
	struct machine *m = machine_new_on(1, hz, &desc, "eevdf");

	set_tunable(m, "base_slice_ns", "3000000");
	return m;
}

static inline struct fair_queue *queue(struct machine *m)
{
	return &m->s->rq[0].fair;
}

/* Deadline and V, relative to the start of all queues, as v_of(). */
static inline s64 d_of(const struct task *t)
{
	return (s64)eevdf_entity(&t->fair)->deadline - QUEUE_START;
}

static inline s64 v_now(struct machine *m)
{
	return (s64)eevdf_now(queue(m)) - QUEUE_START;
}

/* V - v of a queued task, not clamped. */
static inline s64 lag_of(struct machine *m, const struct task *t)
{
	return v_now(m) - v_of(t);
}

/* A task that is started but not picked yet. @slice_ns 0: the policy's slice. */
static inline struct task *spawn_slice(struct machine *m, const char *comm, int nice, u64 slice_ns)
{
	struct task *t = calloc(1, sizeof(*t));
	struct sched_attr_req req = { .nice = nice, .slice_ns = slice_ns };

	sched_task_init(m->s, t, m->next_pid++, comm);
	assert_int_equal(sched_set_attr(m->s, t, &req), 0);
	sched_task_start(m->s, t, 0);
	settle(m);
	return t;
}

struct hog {
	const char *comm;
	int nice;
	u64 slice_ns;
};

/* Starts hogs behind an urgent task, so that none runs before all are queued. */
static inline void start_hogs(struct machine *m, struct task **tasks, const struct hog *hogs,
			      unsigned nr)
{
	struct task *rt = spawn(m, "rt", SCHED_FIFO, 1);

	for (unsigned i = 0; i < nr; i++)
		tasks[i] = spawn_slice(m, hogs[i].comm, hogs[i].nice, hogs[i].slice_ns);
	assert_ptr_equal(running(m, 0), rt);
	block(m, 0, TASK_UNINTERRUPTIBLE);
	sched_check(m->s);
}

/* @nr equal tasks A, B, C... of nice 0, all at virtual time 0. The first one runs. */
static inline struct machine *equal_hogs(struct task **tasks, unsigned nr)
{
	static const struct hog hogs[] = {
		{ "A", 0, 0 }, { "B", 0, 0 }, { "C", 0, 0 }, { "D", 0, 0 }, { "E", 0, 0 }
	};
	struct machine *m = eevdf_machine(1000);

	assert_true(nr <= ARRAY_SIZE(hogs));
	start_hogs(m, tasks, hogs, nr);
	assert_ptr_equal(running(m, 0), tasks[0]);
	return m;
}

/* Lets time pass and charges the running task for it, without a tick. */
static inline void run_on(struct machine *m, u64 ns)
{
	struct rq *rq = &m->s->rq[0];

	advance(m, ns);
	rq_lock(rq);
	rq->curr->class->charge(rq);
	rq_unlock(rq);
	sched_check(m->s);
}

/* The running task gives way to the one picked now, which is returned. */
static inline struct task *switch_now(struct machine *m)
{
	return switch_cpu(m, 0, true);
}

static inline bool is_delayed(const struct task *t)
{
	return t->on_rq == TASK_DELAYED;
}
