/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Buddies of CFS: the entities that the next picks prefer (next, last) or pass over (skip).
 *
 * A nomination goes up: with a task its groups are nominated, each on the queue above it. So does
 * the end of a nomination, as far as the groups are nominated. An idle entity is no buddy that is
 * preferred, and ends the way up.
 *
 * Lock: the runqueue's. Source: Linux 6.1, fair.c (docs/sources.md).
 */
#include "sched/fair/cfs/cfs.h"

void cfs_forget_buddy(struct entity *e)
{
	SCHED_DEBUG_ASSERT(cfs_nominated(e->queue, e) || cfs_queue(e->queue)->skip == e);
	for (struct entity *up = e; up && cfs_queue(up->queue)->next == up; up = parent_of(up))
		cfs_queue(up->queue)->next = NULL;
	for (struct entity *up = e; up && cfs_queue(up->queue)->last == up; up = parent_of(up))
		cfs_queue(up->queue)->last = NULL;
	for (struct entity *up = e; up && cfs_queue(up->queue)->skip == up; up = parent_of(up))
		cfs_queue(up->queue)->skip = NULL;
}

bool cfs_is_crowded(const struct fair_queue *q)
{
	return q->nr_running >= q->rq->s->nr_latency;
}

void cfs_nominate(struct fair_queue *q, struct entity *e)
{
	SCHED_DEBUG_ASSERT(e->queued);
	cfs_queue(q)->next = e;
}

void cfs_remember_last(struct entity *e)
{
	for (; e && e->queued && !entity_is_idle(e); e = parent_of(e))
		cfs_queue(e->queue)->last = e;
}

bool cfs_nominated(const struct fair_queue *q, const struct entity *e)
{
	return cfs_queue(q)->next == e || cfs_queue(q)->last == e;
}

void cfs_yield(struct fair_queue *q, struct entity *e)
{
	SCHED_DEBUG_ASSERT(e == q->curr);
	if (q->rq->nr_running == 1)
		return;
	forget_buddy(q, e);
	/* A throttled group is not queued, though its task goes on until it is switched. */
	for (; e && e->queued; e = parent_of(e))
		cfs_queue(e->queue)->skip = e;
}
