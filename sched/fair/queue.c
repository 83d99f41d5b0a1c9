/*
 * A fair queue: the timeline tree, the sums over what is queued, and the
 * queue's own virtual time. Lock: the runqueue's.
 *
 * The running entity is counted in the sums but is not in the tree: its key
 * changes while it runs. min_vruntime follows the smallest vruntime present
 * and never goes back, so that a newcomer placed by it neither jumps the queue
 * nor waits for what others gained long ago.
 */
#include "sched/fair/fair.h"

/* Start near the wrap, so that a comparison without care for it fails at boot and not in a year. */
#define FIRST_VRUNTIME ((u64) - (1ll << 20))

/* @q, empty, is @policy's from now on. */
void fair_queue_adopt(struct fair_queue *q, const struct fair_policy *policy)
{
	q->policy = policy;
	q->timeline.augment = policy->augment;
	q->next = q->last = q->skip = NULL;
}

void fair_queue_init(struct fair_queue *q, struct rq *rq)
{
	q->rq = rq;
	fair_queue_adopt(q, rq->s->fair_policy);
	q->min_vruntime = q->checked_min_vruntime = FIRST_VRUNTIME;
	list_init(&q->tasks);
}
