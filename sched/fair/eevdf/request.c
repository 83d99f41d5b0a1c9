/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests of EEVDF's entities: the size of a slice, and when the next request is due. Terms:
 * eevdf.h.
 *
 * Lock: the runqueue's. Source: Linux 6.12, fair.c (docs/sources.md).
 */
#include "sched/fair/eevdf/eevdf.h"

/* A group is as urgent as the most urgent of its members. */
static u64 shortest_slice(const struct fair_queue *q)
{
	const struct rb_node *root = q->timeline.root;
	u64 shortest = root ? entity_of(root)->eevdf.min_slice : UINT64_MAX;

	if (q->curr && q->curr->queued)
		shortest = min(shortest, q->curr->eevdf.slice);
	return shortest;
}

u64 eevdf_slice(struct fair_queue *q, struct entity *e)
{
	const struct fair_queue *below = e->own_queue;

	if (entity_is_task(e) && task_of(e)->slice_ns)
		return task_of(e)->slice_ns;
	/* In the middle of a swap its members may still be in another policy's terms. */
	if (below && below->nr_running && below->policy == q->policy)
		return shortest_slice(below);
	return q->policy->eevdf->base_slice(q);
}

void eevdf_pass(struct fair_queue *q, struct entity *e)
{
	u64 slice = q->policy->slice(q, e);

	if (slice == e->eevdf.slice)
		return;
	e->eevdf.slice = slice;
	if (e != q->curr)
		rb_augment(&q->timeline, &e->node);
}

void eevdf_renew(struct fair_queue *q, struct entity *e)
{
	e->eevdf.slice = q->policy->slice(q, e);
	e->eevdf.deadline = e->vruntime + calc_delta_fair(e->eevdf.slice, e);
}
