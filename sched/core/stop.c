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
#include "sched/internal.h"

static void stop_enqueue(struct rq *rq, struct task *t, unsigned flags)
{
	(void)flags;
	SCHED_ASSERT(!rq->stop);
	rq->stop = t;
	count_running(rq, 1);
}

static bool stop_dequeue(struct rq *rq, struct task *t, unsigned flags)
{
	(void)flags;
	SCHED_ASSERT(rq->stop == t);
	rq->stop = NULL;
	count_running(rq, -1);
	return true;
}

static struct task *stop_pick(struct rq *rq)
{
	return rq->stop;
}

static void stop_set_next(struct rq *rq, struct task *t)
{
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
	(void)t;
	stop_charge(rq);
}

const struct sched_class stop_class = {
	.name = "stop",
	.rank = 0,
	.enqueue = stop_enqueue,
	.dequeue = stop_dequeue,
	.yield = class_ignore,
	.pick = stop_pick,
	.put_prev = class_ignore_task,
	.set_next = stop_set_next,
	.exchange = class_no_exchange,
	.charge = stop_charge,
	.tick = stop_tick,
	.preempts = class_never_preempts,
	.select_cpu = class_stay,
	.migrate = class_ignore_task,
	.pull = class_no_pull,
	.join = class_ignore_change,
	.leave = class_ignore_change,
	.retune = class_ignore_retune,
	.slice = class_no_slice,
	.check = class_ignore,
	.dump = class_dump_nothing,
};
