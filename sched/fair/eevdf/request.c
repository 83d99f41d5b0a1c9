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
	u64 shortest = root ? eevdf_entity(entity_of(root))->min_slice : UINT64_MAX;

	if (q->curr && q->curr->queued)
		shortest = min(shortest, eevdf_entity(q->curr)->slice);
	return shortest;
}

u64 eevdf_slice(struct fair_queue *q, struct entity *e)
{
	const struct fair_queue *below = e->own_queue;

	if (entity_is_task(e) && task_of(e)->slice_ns)
		return task_of(e)->slice_ns;
	/* In the middle of a swap the queue's members may still have another policy's numbers. */
	if (below && below->nr_running && below->policy == q->policy)
		return shortest_slice(below);
	return eevdf_rules(q)->base_slice(q);
}

void eevdf_pass(struct fair_queue *q, struct entity *e)
{
	u64 slice = q->policy->slice(q, e);

	if (slice == eevdf_entity(e)->slice)
		return;
	eevdf_entity(e)->slice = slice;
	if (e != q->curr)
		rb_augment(&q->timeline, &e->node);
}

void eevdf_renew(struct fair_queue *q, struct entity *e)
{
	eevdf_entity(e)->slice = q->policy->slice(q, e);
	eevdf_entity(e)->deadline = e->vruntime + calc_delta_fair(eevdf_entity(e)->slice, e);
}
