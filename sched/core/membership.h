/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * On and off a runqueue: what is common to all classes. Inline, because it is part of every wakeup
 * and of every sleep.
 */
#pragma once

#include "sched/core/observers.h"

/* Make @t runnable on @rq, locked. @flags: queue_flags. */
static inline void activate(struct rq *rq, struct task *t, unsigned flags)
{
	SCHED_DEBUG_ASSERT(t->on_rq != TASK_QUEUED && t->cpu == rq->cpu);
	debug_assert_locked(rq);
	t->class->enqueue(rq, t, flags);
	t->on_rq = TASK_QUEUED;
	rq->nr_restricted += t->nr_allowed < rq->s->nr_cpus;
	if (!(flags & QUEUE_MIGRATING))
		t->wait_start = rq->clock;
	observe_enter(rq, t, flags);
}

/* Make @t not runnable there: asleep with DEQUEUE_SLEEP, else on its way. */
static inline void deactivate(struct rq *rq, struct task *t, unsigned flags)
{
	bool left = t->class->dequeue(rq, t, flags);

	debug_assert_locked(rq);
	SCHED_DEBUG_ASSERT(t->on_rq == TASK_QUEUED || t->on_rq == TASK_DELAYED);
	rq->nr_restricted -= t->on_rq == TASK_QUEUED && t->nr_allowed < rq->s->nr_cpus;
	if (!(flags & DEQUEUE_SLEEP))
		t->on_rq = TASK_MIGRATING;
	else
		t->on_rq = likely(left) ? TASK_OFF_RQ : TASK_DELAYED;
	observe_leave(rq, t, flags);
}
