/* SPDX-License-Identifier: GPL-2.0-only */
/* Load averages that decay: the parts of pelt.c that are inline. Needs the walks of fair.h. */
#pragma once

#include "sched/fair/core/fair.h"

#define PELT_PERIOD 1024 /* units of 1024 ns */

/* The rare rest of pelt_age(): a period ended. Decay, and compute the averages. See pelt.c. */
void pelt_cross_periods(struct pelt *p, u64 units, u64 weight, u64 load, u64 runnable,
			bool running);
/* The same, and trace them. */
void pelt_end_period(struct pelt *p, u64 units, const struct entity *e, u64 load, u64 runnable,
		     bool running);

/* Did 1,024 ns pass since the last update? True, too, if that clock was ahead of @now. */
static inline bool pelt_is_due(const struct pelt *p, u64 now)
{
	return now - p->last_update >= 1024;
}

/*
 * Bring @p, which is due, of entity @e or (NULL) of a queue, up to @now: before what it averages
 * changes. @told: the averages are traced. The rest: what held since the last update. Time counts
 * in steps of 1024 ns; within a period they only add up.
 */
static inline void pelt_age(struct pelt *p, u64 now, bool told, const struct entity *e, u64 load,
			    u64 runnable, bool running)
{
	s64 delta = (s64)(now - p->last_update);
	u64 units = (u64)delta >> 10;

	SCHED_DEBUG_ASSERT(p->period_contrib < PELT_PERIOD);
	if (unlikely(delta < 0)) {
		/* This CPU's clock is behind the one it was updated with last. */
		p->last_update = now;
		return;
	}
	p->last_update += units << 10;
	if (unlikely(units + p->period_contrib >= PELT_PERIOD)) {
		if (told)
			pelt_end_period(p, units, e, load, runnable, running);
		else
			pelt_cross_periods(p, units, e ? weight_down(e->load.weight) : 1, load,
					   runnable, running);
		return;
	}
	p->period_contrib += (u32)units;
	p->load_sum += load * units;
	p->runnable_sum += runnable * units << 10;
	if (running)
		p->util_sum += (u32)units << 10;
}

/* pelt_now() where queues were throttled, or the CPU's speed changes. */
u64 pelt_clock(const struct fair_queue *q);

/*
 * The time for averages on @q: it stands still while @q, or one above it, is throttled. Never
 * ahead of the runqueue's clock, so what is not due by that is not due.
 */
static inline u64 pelt_now(const struct fair_queue *q)
{
	return likely(!q->rq->own_time) ? q->rq->clock : pelt_clock(q);
}

/* An entity that runs or waits on @q, attached therefore. */
static inline void pelt_update_queued(struct fair_queue *q, struct entity *e, bool running)
{
	SCHED_DEBUG_ASSERT(e->queued);
	if (pelt_is_due(&e->avg, q->rq->clock))
		pelt_age(&e->avg, pelt_now(q), true, e, 1,
			 entity_is_task(e) ? 1 : e->own_queue->tasks.nr, running);
}

/* The same for an entity that is not; without effect if it is attached to no queue. */
static inline void pelt_update_away(struct fair_queue *q, struct entity *e)
{
	SCHED_DEBUG_ASSERT(!e->queued);
	if (e->avg.last_update && pelt_is_due(&e->avg, q->rq->clock))
		pelt_age(&e->avg, pelt_now(q), true, e, 0, 0, false);
}

/* The averages of a task that sleeps become as old as those of its queue, which contain them. */
static inline void pelt_catch_up(struct entity *e)
{
	u64 upto = e->queue->avg.last_update;

	SCHED_DEBUG_ASSERT(!e->queued);
	if (e->avg.last_update && (s64)(upto - e->avg.last_update) >= 1024)
		pelt_age(&e->avg, upto, false, e, 0, 0, false);
}

/* Any; a sleeper that is kept in its queue counts there with its weight only. */
static inline void pelt_update_entity(struct fair_queue *q, struct entity *e)
{
	if (!e->queued)
		pelt_update_away(q, e);
	else if (pelt_is_due(&e->avg, q->rq->clock))
		pelt_age(&e->avg, pelt_now(q), true, e, 1,
			 entity_is_task(e) ? task_of(e)->on_rq != TASK_DELAYED
					   : e->own_queue->tasks.nr,
			 q->curr == e);
}

/* Before the load, nr_running or whether it runs changes. */
static inline void pelt_update_queue(struct fair_queue *q)
{
	debug_assert_locked(q->rq);
	if (pelt_is_due(&q->avg, q->rq->clock))
		pelt_age(&q->avg, pelt_now(q), true, NULL, weight_down(q->load.weight), q->tasks.nr,
			 q->tasks.nr && q->curr);
}

static __inlined void update_averages(struct entity *e)
{
	pelt_update_entity(e->queue, e);
	pelt_update_queue(e->queue);
}

/* A new task: as if it had always been runnable, until there is evidence. */
void pelt_init(struct entity *e);
/* First enqueue: guess its utilisation from what the tasks there use and what is left. */
void pelt_init_util(struct fair_queue *q, struct entity *e);
/* Add to, or take from, what @q averages over. */
void pelt_attach(struct fair_queue *q, struct entity *e);
void pelt_detach(struct fair_queue *q, struct entity *e);
/* The averages of a group's @e, up to date, take over what came and went on its queue. */
void pelt_follow(struct entity *e);
/* The weight of @e changes to @weight: its load average with it. @e is up to date. */
void pelt_reweight(struct fair_queue *q, struct entity *e, u64 weight);
/*
 * Estimated utilisation. util_avg of a task that slept has decayed and says little about what it
 * will use now, so each task remembers its utilisation at its last sleep, and a slower average of
 * those. The sum over the queue is kept even while the feature is off, to be right when it is
 * switched on.
 */
static inline u32 task_util_est(const struct entity *e)
{
	return max(e->avg.util_est_ewma, e->avg.util_est_enqueued);
}

/* A task with the averages @p goes to sleep on @rq: remember. Source: Linux 6.1. */
void util_est_remember(const struct rq *rq, struct pelt *p);
/* How much of @rq's capacity (1024) its fair tasks use. */
u64 cpu_util(const struct rq *rq);
