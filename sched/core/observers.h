/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * On and off a runqueue, and the parts of the scheduler that hear of it. They listen to the core
 * and decide nothing in it: frequency selection, the shared wake queue, placement's note of idle
 * cores, statistics, traces. The core reports what happened; which part wants to know it stands
 * here. Inline, because most reports are part of every wakeup or switch; a part that is off costs
 * one test. Wakeups, migrations and charges are traced where they happen (observe/trace.h).
 *
 * Lock: that of @rq, held.
 */
#pragma once

#include "sched/balance/balance.h"
#include "sched/balance/sharedq.h"
#include "sched/freq/freq.h"
#include "sched/observe/trace.h"

/* @t was made runnable on @rq, or came back to its queue. @flags: queue_flags. */
static inline void observe_enter(struct rq *rq, struct task *t, unsigned flags)
{
	/* A task waits behind one that was alone, be it that a throttled group hid it before. */
	if (rq->nr_running == 2 && unlikely(rq->shared.shard))
		sharedq_add_all(rq);
	if (unlikely(rq->freq) && !(flags & QUEUE_RESTORE))
		freq_task_enters(rq, t, flags);
}

/* @t left @rq. */
static inline void observe_leave(struct rq *rq, struct task *t, unsigned flags)
{
	if (unlikely(rq->freq))
		freq_task_leaves(rq, t, flags);
}

/* Makes @t runnable on @rq, locked: the one way into a queue. @flags: queue_flags. */
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

/* Makes @t not runnable there: asleep with DEQUEUE_SLEEP, else on its way. */
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

/* A parameter or the group of @t, which may be queued, is another now. */
static inline void observe_change(struct rq *rq, struct task *t)
{
	freq_task_changes(rq, t);
}

/* @next runs in place of @prev. @preempt: sched_switch_begin's. */
static inline void observe_switch(struct rq *rq, struct task *prev, struct task *next, bool preempt)
{
	debug_assert_locked(rq);
	if (unlikely(rq->shared.shard))
		sharedq_switched(rq, prev, next);
	if (next != rq->idle)
		stat_arrive(rq, next);
	/* Nobody is preempted when the idle task gives way. */
	TRACE(sched_switch, rq->s, rq->cpu, prev, next, preempt && prev != rq->idle);
}

/* The CPU of @rq begins to idle; observe_busy(): it ends that. */
static inline void observe_idle(struct rq *rq)
{
	debug_assert_locked(rq);
	if (unlikely(rq->freq))
		freq_cpu_idles(rq);
	placement_cpu_idles(rq);
}

static inline void observe_busy(struct rq *rq)
{
	debug_assert_locked(rq);
	if (unlikely(rq->freq))
		freq_cpu_works(rq);
}

/* A tick was charged; the timer fired. */
static inline void observe_tick(struct rq *rq)
{
	if (unlikely(rq->freq))
		freq_cpu_ticks(rq);
}

static inline void observe_timer(struct rq *rq)
{
	sharedq_timer(rq);
}
