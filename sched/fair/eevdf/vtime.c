/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Virtual time of a queue under EEVDF: what a node of the timeline knows of its subtree, the sums
 * that stand for the queue, lag, and what a change of weight does to both. Terms and reasons:
 * eevdf.h.
 *
 *	arrival at v = V - l:   V moves by -l * w / (W + w), so the lag that remains is
 *	                        l * W / (W + w); hence l = lag * (W + w) / W
 *	renice at constant lag: v' = V - lag * w / w', so that w * (V - v) = w' * (V - v')
 *	                        and the sum over the queue, which is 0, does not change: nor
 *	                        does V. The same for the deadline keeps the rest of the request.
 *
 * Source: Linux 6.12, fair.c (docs/sources.md).
 */
#include "sched/fair/eevdf/eevdf.h"

/* --- what nodes of the timeline know ---------------------------------------- */

bool eevdf_augment(struct rb_node *node)
{
	struct eevdf_entity *ee = eevdf_entity(entity_of(node));
	u64 least = entity_of(node)->vruntime, shortest = ee->slice, longest = ee->slice;
	bool changed;

	for (unsigned side = 0; side < 2; side++) {
		const struct eevdf_entity *below;

		if (!node->child[side])
			continue;
		below = eevdf_entity(entity_of(node->child[side]));
		least = time_min(least, below->min_vruntime);
		shortest = min(shortest, below->min_slice);
		longest = max(longest, below->max_slice);
	}
	changed = least != ee->min_vruntime || shortest != ee->min_slice ||
		  longest != ee->max_slice;
	ee->min_vruntime = least;
	ee->min_slice = shortest;
	ee->max_slice = longest;
	return changed;
}

/* --- the sums --------------------------------------------------------------- */

static u64 weight(const struct entity *e)
{
	return weight_down(e->load.weight);
}

static void sums_add(struct fair_queue *q, u64 vruntime, u64 w)
{
	SCHED_DEBUG_ASSERT(w);
	eevdf_queue(q)->sum_key += (s128)(s64)(vruntime - eevdf_queue(q)->v0) * (s64)w;
	eevdf_queue(q)->sum_weight += w;
}

static void sums_sub(struct fair_queue *q, u64 vruntime, u64 w)
{
	SCHED_DEBUG_ASSERT(eevdf_queue(q)->sum_weight >= w);
	eevdf_queue(q)->sum_key -= (s128)(s64)(vruntime - eevdf_queue(q)->v0) * (s64)w;
	eevdf_queue(q)->sum_weight -= w;
}

void eevdf_sums_add(struct fair_queue *q, const struct entity *e)
{
	SCHED_DEBUG_ASSERT(e->queue == q);
	sums_add(q, e->vruntime, weight(e));
}

void eevdf_sums_sub(struct fair_queue *q, const struct entity *e)
{
	sums_sub(q, e->vruntime, weight(e));
}

u64 eevdf_now(struct fair_queue *q)
{
	struct eevdf_queue *eq = eevdf_queue(q);
	s64 mean;

	if (!eq->sum_weight)
		return eq->v0;
	/* The weighted mean of s64 keys fits an s64. */
	mean = div_floor(eq->sum_key, eq->sum_weight);
	eq->v0 += (u64)mean;
	eq->sum_key -= (s128)mean * (s64)eq->sum_weight;
	SCHED_DEBUG_ASSERT(eq->sum_key >= 0 && (u64)eq->sum_key < eq->sum_weight);
	return eq->v0;
}

/* A record leaves v0 where it is: those whom a swap brings measure from it, one after the other. */
void eevdf_queue_numbers(struct fair_queue *q, struct queue_numbers *n)
{
	const struct eevdf_queue *eq = eevdf_queue(q);

	n->v = eq->v0 + (eq->sum_weight ? (u64)div_floor(eq->sum_key, eq->sum_weight) : 0);
}

/* --- lag -------------------------------------------------------------------- */

s64 eevdf_lag_limit(const struct fair_queue *q, struct entity *e)
{
	const struct rb_node *root = q->timeline.root;
	u64 slice = eevdf_entity(e)->slice;

	/* Beside long slices a short one waits longer than twice its own. */
	if (root)
		slice = max(slice, eevdf_entity(entity_of(root))->max_slice);
	if (q->curr && q->curr->queued)
		slice = max(slice, eevdf_entity(q->curr)->slice);
	return (s64)calc_delta_fair(max(2 * slice, q->rq->s->tick_ns), e) >>
	       eevdf_rules(q)->lag_halvings(q);
}

s64 eevdf_lag(struct fair_queue *q, struct entity *e)
{
	s64 limit = eevdf_lag_limit(q, e), lag = (s64)(eevdf_now(q) - e->vruntime);

	SCHED_DEBUG_ASSERT(e->queued);
	return max(-limit, min(limit, lag));
}

s64 eevdf_inflated_lag(const struct fair_queue *q, const struct entity *e)
{
	u64 others = eevdf_queue(q)->sum_weight;

	if (!others || !eevdf_entity(e)->vlag || !feature(q->rq->s, FEATURE_PLACE_LAG))
		return 0;
	return mul_div_signed(eevdf_entity(e)->vlag, others + weight(e), others);
}

/* --- weights ---------------------------------------------------------------- */

/* Off the queue, lag and the rest of a request are just durations in virtual time. */
static void rescale(struct eevdf_entity *ee, u64 old, u64 new)
{
	SCHED_DEBUG_ASSERT(new);
	ee->vlag = mul_div_signed(ee->vlag, old, new);
	if (ee->relative)
		ee->deadline = (u64)mul_div_signed((s64)ee->deadline, old, new);
}

void eevdf_reweight(struct fair_queue *q, struct entity *e, u64 stored_weight)
{
	u64 old = weight(e), new = weight_down(stored_weight);
	s64 lag, rest;

	if (old == new)
		return;
	if (!e->queued) {
		rescale(eevdf_entity(e), old, new);
		return;
	}
	lag = eevdf_lag(q, e);
	rest = (s64)(eevdf_entity(e)->deadline - e->vruntime) - lag;
	sums_sub(q, e->vruntime, old);
	e->vruntime = eevdf_queue(q)->v0 - (u64)mul_div_signed(lag, old, new);
	eevdf_entity(e)->deadline = eevdf_queue(q)->v0 + (u64)mul_div_signed(rest, old, new);
	sums_add(q, e->vruntime, new);
	/* With another deadline it is not the request that it was picked for. */
	eevdf_entity(e)->protected = eevdf_entity(e)->protected && !rest;
}
