/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One fair queue: entities enter and leave it. fair.c does so at each level of
 * the tree of queues; here is one. How they start and stop running is in queue.h.
 *
 * Life of an entity on a queue:  place -> [timeline <-> running] -> leave.
 * The running entity is counted in the sums but is not in the timeline: its key
 * changes while it runs.
 *
 * Lock: the runqueue's. Source: Linux 6.1, fair.c (docs/sources.md).
 */
#include "sched/fair/core/queue.h"
#include "lib/string.h"

void fair_queue_adopt(struct fair_queue *q, const struct fair_policy *policy)
{
	SCHED_DEBUG_ASSERT(!q->nr_running);
	q->policy = policy;
	if (q == &q->rq->fair)
		q->limited = policy_has(policy, TRAIT_FAIR_SERVER);
	queue_choose_hooks(q);
	q->timeline.augment = policy->augment;
}

void fair_queue_init(struct fair_queue *q, struct rq *rq)
{
	const struct fair_policy *policy;

	q->rq = rq;
	for_each_policy(policy, rq->s) policy->init_queue(q);
	list_init(&q->link);
	fair_queue_adopt(q, rq->s->fair_policy);
}

/* --- membership ----------------------------------------------------------- */

void queue_begin_anew(struct fair_queue *q, struct entity *e)
{
	SCHED_DEBUG_ASSERT(!e->queued);
	memset(e->policy_state, 0, sizeof(e->policy_state));
	q->policy->reset(e);
}

void queue_adopt_entity(struct fair_queue *q, struct entity *e, bool asleep)
{
	queue_begin_anew(q, e);
	if (entity_is_task(e))
		fair_reweight(e, q->policy->weight(task_of(e)));
	e->policy = q->policy;
	e->vruntime = e->due = 0;
	if (asleep)
		q->hooks->place(q, e, PLACE_ASLEEP);
}

void queue_pass(struct entity *e)
{
	struct fair_queue *q = e->queue;

	SCHED_DEBUG_ASSERT(e->queued);
	update_averages(e);
	group_update(e);
	q->policy->pass(q, e);
}

void queue_enter(struct fair_queue *q, struct entity *e, unsigned flags)
{
	debug_assert_locked(q->rq);
	SCHED_DEBUG_ASSERT(!e->queued);
	adopt(q, e, (flags & ENQUEUE_WAKEUP) && !(flags & ENQUEUE_MIGRATED));
	group_update(e);
	q->hooks->place(q, e, flags);
	/* Cold here; not before place(), which wants to know how long it slept. */
	if (flags & (ENQUEUE_MIGRATED | QUEUE_MIGRATING))
		e->exec_start = 0;
	pelt_update_away(q, e);
	pelt_update_queue(q);
	if (flags & ENQUEUE_INITIAL)
		pelt_init_util(q, e);
	if (!e->avg.last_update)
		pelt_attach(q, e);
	load_add(&q->load, e->load.weight);
	if (!q->nr_running++ && !q->owner)
		fair_set_active(q, true);
	q->nr_idle += entity_is_idle(e);
	timeline_insert(q, e);
	e->queued = true;
	begin_to_wait(e);
}

bool queue_leave(struct fair_queue *q, struct entity *e, unsigned flags)
{
	debug_assert_locked(q->rq);
	SCHED_DEBUG_ASSERT(e->queued);
	update_averages(e);
	if (!(flags & DEQUEUE_DELAYED))
		wait_no_more(e);
	timeline_erase(q, e);
	if (q->hooks->leave(q, e, flags)) {
		timeline_insert(q, e);
		return false;
	}
	e->queued = false;
	load_sub(&q->load, e->load.weight);
	if (!--q->nr_running && !q->owner)
		fair_set_active(q, false);
	q->nr_idle -= entity_is_idle(e);
	if (flags & QUEUE_MIGRATING)
		pelt_detach(q, e);
	return true;
}

void queue_requeue(struct fair_queue *q, struct entity *e, unsigned flags)
{
	SCHED_DEBUG_ASSERT(e->queued);
	update_averages(e);
	begin_to_wait(e);
	timeline_erase(q, e);
	q->hooks->place(q, e, flags);
	timeline_insert(q, e);
}
