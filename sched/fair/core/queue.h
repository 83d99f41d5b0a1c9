/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The work on a queue at every switch, inline: charging what runs, and the
 * running entity's way between the timeline and the CPU. See queue.c.
 */
#pragma once

#include "sched/fair/core/fair.h"
#include "sched/fair/core/pelt.h"
#include "sched/observe/trace.h"

/* Charge @e, which runs, for the time since the last charge. */
static inline void queue_charge(struct fair_queue *q, struct entity *e)
{
	struct rq *rq = q->rq;
	u64 delta = charge_time(rq, e);

	SCHED_DEBUG_ASSERT(q->curr == e);
	if (!delta)
		return;
	q->hooks->charge(q, e, delta);
	if (unlikely(q->limited))
		fair_charge_limit(q, delta);
	if (entity_is_task(e)) {
		rq->run_ns += delta;
		TRACE(sched_stat_runtime, rq->s, rq->cpu, task_of(e), delta);
	}
}

/* @e leaves the timeline to run. */
static inline void queue_take(struct fair_queue *q, struct entity *e)
{
	SCHED_DEBUG_ASSERT(e->queued && e != q->curr);
	queue_erase(q, e);
	pelt_update_queued(q, e, false);
}

static inline void queue_run(struct fair_queue *q, struct entity *e)
{
	SCHED_DEBUG_ASSERT(!q->curr);
	q->curr = e;
	e->exec_start = q->rq->clock;
	e->prev_sum_exec = e->sum_exec;
}

/* @e, queued or blocked already, runs. */
static inline void queue_start(struct fair_queue *q, struct entity *e)
{
	if (e->queued)
		queue_take(q, e);
	queue_run(q, e);
}

/* @e ran and waits, unless it left the queue before. */
static inline void queue_stop(struct fair_queue *q, struct entity *e)
{
	SCHED_ASSERT(q->curr == e);
	if (e->queued) {
		pelt_update_queued(q, e, true);
		queue_insert(q, e);
	}
	q->curr = NULL;
}
