/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which policy the fair class has, and swapping it for another under load.
 *
 * Locks: one runqueue's after the other.
 */
#include "sched/fair_server.h"
#include "sched/fair/core/queue.h"
#include "lib/errno.h"

const char *sched_fair_current(const struct sched *s)
{
	return READ_ONCE(s->fair_policy)->name;
}

/* @e is not queued, and still in the terms of the policy it was queued under. */
static u64 progress_of(const struct entity *e)
{
	SCHED_DEBUG_ASSERT(e->policy && !e->queued);
	return e->policy->progress(e->queue, e);
}

/*
 * How far, in its virtual time, @e is ahead of the one that is furthest behind. More than two ticks
 * are forgotten: the policies' virtual times are not the same, and a turn or two is what a swap may
 * cost.
 */
static u64 lead_over(u64 least, struct entity *e, u64 tick_ns)
{
	SCHED_DEBUG_ASSERT(!time_before(progress_of(e), least));
	return min(progress_of(e) - least, calc_delta_fair(2 * tick_ns, e));
}

static void enter_swapped(struct fair_queue *q, struct entity *e, u64 least)
{
	u64 lead = lead_over(least, e, q->rq->s->tick_ns);

	SCHED_DEBUG_ASSERT(!e->queued);
	adopt(q, e, false);
	e->vruntime = lead;
	queue_enter(q, e, QUEUE_RESTORE | PLACE_SWAPPED);
}

/*
 * Each entity queued on @q leaves in the old policy's terms and enters in those of @policy, in the
 * same order and about as far ahead of each other: else swaps that come faster than turns would
 * always begin with the same ones. Averages, and what is above and below, stay as they are.
 */
static void swap_queue(struct fair_queue *q, const struct fair_policy *policy)
{
	struct entity *e, *curr = q->curr;
	bool curr_queued = curr && curr->queued;
	struct rb_node *chain = NULL, **tail = &chain;
	u64 least = 0;

	/* Out of the tree, their nodes are free to chain them. */
	while ((e = queue_waiting(q))) {
		queue_leave(q, e, QUEUE_SAVE);
		least = chain ? time_min(least, progress_of(e)) : progress_of(e);
		e->node.right = NULL;
		*tail = &e->node;
		tail = &e->node.right;
	}
	if (curr_queued) {
		queue_leave(q, curr, QUEUE_SAVE);
		least = chain ? time_min(least, progress_of(curr)) : progress_of(curr);
	}
	q->curr = NULL;
	fair_queue_adopt(q, policy);
	if (curr_queued)
		enter_swapped(q, curr, least);
	if (curr)
		queue_start(q, curr);
	while (chain) {
		e = entity_of(chain);
		chain = chain->right;
		enter_swapped(q, e, least);
	}
}

/* Returns how many tasks are queued. */
static unsigned swap_runqueue(struct rq *rq, const struct fair_policy *policy)
{
	struct fair_queue *q;

	finish_all_delayed(rq);
	policy->tuned(rq);
	for_each_fair_queue(q, rq)
		swap_queue(q, policy);
	if (rq->fair.nr_running)
		resched(rq);
	return rq->fair.tasks.nr;
}

void fair_tuned(struct sched *s)
{
	for (unsigned i = 0; i < s->nr_cpus; i++) {
		struct rq *rq = cpu_rq(s, i);

		rq_lock(rq);
		/* Only a policy that derives something sees its sleepers off for it. */
		if (rq->fair.policy->tuned != fair_no_tuned) {
			finish_all_delayed(rq);
			rq->fair.policy->tuned(rq);
		}
		rq_unlock(rq);
	}
}

/*
 * One runqueue after the other: meanwhile the machine runs under two policies, and a task that
 * moves between queues of different ones is foreign where it arrives. So is every sleeper when it
 * wakes: the price of a swap is what is queued, not all there is.
 */
int sched_fair_swap(struct sched *s, const char *name, unsigned cpu)
{
	const struct fair_policy *policy = name ? fair_policy_find(s, name) : NULL;
	const struct fair_policy *old = s->fair_policy;
	unsigned nr_queued = 0;

	if (!policy)
		return -EINVAL;
	if (policy == old)
		return 0;
	if (s->server->publish(s, policy))
		return -EBUSY;
	/* Others may be switched at the same time. */
	__atomic_fetch_or(&s->features, policy->features_on, __ATOMIC_RELAXED);
	__atomic_fetch_and(&s->features, policy->features_on | ~policy->features_mask,
			   __ATOMIC_RELAXED);
	for (unsigned i = 0; i < s->nr_cpus; i++) {
		struct rq *rq = cpu_rq(s, i);

		rq_lock(rq);
		nr_queued += swap_runqueue(rq, policy);
		rq_unlock(rq);
	}
	TRACE(sched_fair_swap, s, cpu, old->name, policy->name, nr_queued);
	return 0;
}
