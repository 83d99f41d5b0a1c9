/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The stop class: one task per CPU that preempts everything and is preempted by
 * nothing, for work that must happen on a CPU now (a watchdog, a machine-wide
 * stop). It has no queue, no slice and no policy: the shortest complete class,
 * and the one to read first.
 *
 * A host makes its stopper with sched_task_init_stop(); it sleeps and wakes as
 * any other task, but never leaves its CPU.
 */
#include "sched/core/task.h"

struct stop_rq {
	struct task *task; /* queued, or NULL */
};

_Static_assert(sizeof(struct stop_rq) <= sizeof(((struct rq *)0)->class_state.stop),
	       "its line in class.def promises less");

static struct stop_rq *stop_of(struct rq *rq)
{
	return (struct stop_rq *)rq->class_state.stop;
}

static void set_queued(struct rq *rq, struct task *t)
{
	stop_of(rq)->task = t;
	class_set_active(rq, CLASS_stop, t);
	count_running(rq, t ? 1 : -1);
}

static void stop_enqueue(struct rq *rq, struct task *t, unsigned flags)
{
	(void)flags;
	SCHED_ASSERT(!stop_of(rq)->task);
	set_queued(rq, t);
}

static bool stop_dequeue(struct rq *rq, struct task *t, unsigned flags)
{
	(void)flags;
	SCHED_ASSERT(stop_of(rq)->task == t);
	set_queued(rq, NULL);
	return true;
}

static u32 stop_nr_queued(const struct rq *rq)
{
	return READ_ONCE(rq->active) & BIT(CLASS_stop);
}

static struct task *stop_queued(struct rq *rq, struct task *after)
{
	return after ? NULL : stop_of(rq)->task;
}

static struct task *stop_pick(struct rq *rq)
{
	return stop_of(rq)->task;
}

static void stop_set_next(struct rq *rq, struct task *t)
{
	SCHED_DEBUG_ASSERT(t == stop_of(rq)->task);
	t->fair.exec_start = rq->clock;
}

static void stop_charge(struct rq *rq)
{
	/* It may be what halts a CPU that has left. */
	if (likely(rq->online))
		rq->run_ns += charge_time(rq, &rq->curr->fair);
}

static void stop_tick(struct rq *rq, struct task *t)
{
	SCHED_DEBUG_ASSERT(t == rq->curr);
	stop_charge(rq);
}

void sched_task_init_stop(struct sched *s, struct task *t, unsigned cpu, int pid, const char *comm)
{
	task_init_pinned(s, t, cpu, pid, comm);
	t->class = &stop_class;
	t->policy = SCHED_FIFO;
	t->rt_priority = MAX_RT_PRIO - 1;
	t->prio = 0;
}

const struct sched_class stop_class = {
	.name = "stop",
	.rank = CLASS_stop,
	.fixture = true,
	.enqueue = stop_enqueue,
	.dequeue = stop_dequeue,
	.nr_queued = stop_nr_queued,
	.queued = stop_queued,
	.pick = stop_pick,
	.set_next = stop_set_next,
	.charge = stop_charge,
	.tick = stop_tick,
};
