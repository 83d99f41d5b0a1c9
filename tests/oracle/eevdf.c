/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The right decisions of EEVDF, by its definition (docs/oracles.md). An entity is eligible if it
 * has had no more than its share: the sum of weight * (v_i - v) over all i is not negative. Of the
 * eligible, the one with the earliest deadline runs.
 *
 * The policy keeps sums and a tree with the least vruntime of each subtree; the oracle adds up and
 * searches all.
 */
#include "sched/fair/bore/burst.h"
#include "sched/fair/eevdf/eevdf.h"
#include "tests/oracle/oracle.h"

static const struct eevdf_entity *of(const struct row *row)
{
	return (const struct eevdf_entity *)row->state;
}

static const struct eevdf_queue *before(const struct view *v)
{
	return (const struct eevdf_queue *)v->state.eevdf;
}

static bool has(const struct view *v, enum feature feature)
{
	return v->s->features & BIT(feature);
}

static bool is_bore(const struct view *v)
{
	return v->q->policy == &bore_policy;
}

/* --- virtual time ----------------------------------------------------------------------------- */

static s128 total_weight(const struct view *v)
{
	s128 sum = 0;

	for (u32 i = 0; i < v->nr; i++)
		sum += v->row[i].weight;
	return sum;
}

/* The sum of weight * (v_i - @at): how far the queue as a whole is ahead of @at. */
static s128 sum_ahead(const struct view *v, u64 at)
{
	s128 sum = 0;

	for (u32 i = 0; i < v->nr; i++)
		sum += (s128)v->row[i].weight * ahead(v->row[i].v, at);
	return sum;
}

static bool is_eligible(const struct view *v, const struct row *row)
{
	return sum_ahead(v, row->v) >= 0;
}

/* The virtual time less @at, rounded down; 0 for an empty queue. */
static s64 now_from(const struct view *v, u64 at)
{
	s128 sum = sum_ahead(v, at), weight = total_weight(v);
	s128 quotient = weight ? sum / weight : 0;

	return (s64)(quotient * weight > sum ? quotient - 1 : quotient);
}

/* --- picking ---------------------------------------------------------------------------------- */

static bool runs_to_parity(const struct view *v)
{
	const struct tunables *tn = &v->s->tunable;

	if (is_bore(v) && tn->bore && tn->bore_parity_threshold &&
	    v->nr > tn->bore_parity_threshold)
		return false;
	return has(v, FEATURE_RUN_TO_PARITY);
}

/*
 * Is @e a right choice? @protected: the running entity may go on until its request is used up.
 * *@alone: no other choice is right.
 */
static bool is_right(const struct view *v, const struct entity *e, bool protected, bool *alone)
{
	const struct entity *next = before(v)->next;
	const struct row *curr = v->curr ? row_of(v, v->curr) : NULL;
	const struct row *best = NULL;
	unsigned nr_best = 0;

	*alone = true;
	if (v->nr == 1)
		return e == v->row[0].e;
	if (next && next != v->curr && has(v, FEATURE_PICK_BUDDY) &&
	    is_eligible(v, row_of(v, next)))
		return e == next;
	if (curr && protected && runs_to_parity(v) && is_eligible(v, curr))
		return e == curr->e;
	for (u32 i = 0; i < v->nr; i++) {
		const struct row *row = &v->row[i];
		s64 later;

		if (!is_eligible(v, row))
			continue;
		later = best ? ahead(of(row)->deadline, of(best)->deadline) : -1;
		nr_best = later < 0 ? 1 : nr_best + !later;
		best = later < 0 ? row : best;
	}
	*alone = nr_best == 1;
	/* Of equals the first to come is picked, which only the tree knows. */
	return best && row_of(v, e) && is_eligible(v, row_of(v, e)) &&
	       of(row_of(v, e))->deadline == of(best)->deadline;
}

static bool eevdf_picks(const struct view *v, const struct entity *picked)
{
	const struct eevdf_entity *now;
	bool alone;

	if (!v->nr)
		return true;
	now = eevdf_entity(picked);
	return is_right(v, picked, v->curr && of(row_of(v, v->curr))->protected, &alone) &&
	       now->protected && !now->turn_over && eevdf_queue(v->q)->next != picked;
}

/* A shorter request that is due earlier, of an entity that has had no more than its share. */
static bool is_urgent(const struct view *v, const struct row *curr, const struct row *woken)
{
	return has(v, FEATURE_PREEMPT_SHORT) && of(woken)->slice < of(curr)->slice &&
	       is_eligible(v, woken) &&
	       (ahead(of(woken)->deadline, of(curr)->deadline) < 0 || !is_eligible(v, curr));
}

static bool eevdf_preempts_right(const struct view *v, const struct entity *curr,
				 const struct entity *woken, unsigned flags, bool yes)
{
	const struct row *running = &v->subject, *row = row_of(v, woken);
	bool protected = of(running)->protected, alone, right;

	(void)curr;
	if (has(v, FEATURE_NEXT_BUDDY) && !(flags & SELECT_FORK))
		return eevdf_queue(v->q)->next == woken; /* and is picked if eligible */
	if (of(running)->turn_over)
		return yes;
	if (!row)
		return false;
	protected &= !is_urgent(v, running, row);
	right = is_right(v, woken, protected, &alone);
	return right == yes || (right && !alone);
}

static bool eevdf_tick_right(const struct view *v, const struct entity *e, bool yes)
{
	const struct row *row = &v->subject;
	bool right = of(row)->turn_over ||
		     (has(v, FEATURE_PREEMPT_SHORT) && !of(row)->protected && !is_eligible(v, row));

	(void)e;
	return right == yes;
}

/* --- running ---------------------------------------------------------------------------------- */

/* The request of @e: what the task asks for, or the most urgent member of a group, or the usual. */
static u64 request(const struct view *v, const struct entity *e)
{
	const struct tunables *tn = &v->s->tunable;

	if (e->own_queue)
		return eevdf_entity(e)->slice; /* judged at the level below */
	if (task_of((struct entity *)e)->slice_ns)
		return task_of((struct entity *)e)->slice_ns;
	return is_bore(v) ? tn->bore_base_slice_ns : tn->base_slice_ns;
}

static bool eevdf_charges(const struct view *v, const struct entity *e, u64 delta)
{
	const struct eevdf_entity *now = eevdf_entity(e), *was = of(&v->subject);

	if (!v->subject.queued)
		return e->vruntime == v->subject.v && now->deadline == was->deadline;
	if (!is_virtual(ahead(e->vruntime, v->subject.v), delta, v->subject.weight))
		return false;
	if (ahead(e->vruntime, was->deadline) < 0)
		return now->deadline == was->deadline && now->protected == was->protected &&
		       now->turn_over == was->turn_over;
	return !now->protected && now->slice == request(v, e) &&
	       is_virtual(ahead(now->deadline, e->vruntime), now->slice, v->subject.weight) &&
	       now->turn_over == (was->turn_over || v->nr > 1);
}

/* A new score may renice it, V standing still: charged or not, its lag is what it was, scaled. */
static bool bore_charges(const struct view *v, const struct entity *e, u64 delta)
{
	if (weight_of(e) != v->subject.weight)
		return true;
	return eevdf_charges(v, e, delta);
}

/* --- entering and leaving --------------------------------------------------------------------- */

/* The policy may keep a lag of two of the longest requests of the queue, or of a tick. */
static bool is_clamped(const struct view *v, const struct row *row, s64 lag, s64 kept)
{
	u64 slice = of(row)->slice;
	s64 size = kept < 0 ? -kept : kept;

	if (kept == lag)
		return true;
	for (u32 i = 0; i < v->nr; i++)
		slice = max(slice, of(&v->row[i])->slice);
	slice = max(2 * slice, v->s->tick_ns);
	if ((lag < 0) != (kept < 0) || (lag < 0 ? kept < lag : kept > lag))
		return false;
	/* Halved, it is rounded down by one at most. */
	if (is_bore(v) && v->s->tunable.bore)
		return is_virtual(2 * (s128)size, slice, row->weight) ||
		       is_virtual(2 * (s128)size + 1, slice, row->weight);
	return is_virtual(size, slice, row->weight);
}

static bool eevdf_leaves(const struct view *v, const struct entity *e, unsigned flags, bool stays)
{
	const struct row *was = &v->subject;
	const struct eevdf_entity *now = eevdf_entity(e);
	bool asleep = flags & DEQUEUE_SLEEP;
	bool may_stay = asleep && !(flags & (DEQUEUE_SPECIAL | DEQUEUE_DELAYED));

	if (eevdf_queue(v->q)->next == e)
		return false;
	if (!was->queued)
		return !stays && now->vlag == of(was)->vlag;
	if (flags & DEQUEUE_DELAYED) {
		if (has(v, FEATURE_DELAY_ZERO) && now->vlag > 0)
			return false;
	} else if (!is_clamped(v, was, now_from(v, was->v), now->vlag)) {
		return false;
	}
	if (stays != (may_stay && now->vlag < 0 && has(v, FEATURE_DELAY_DEQUEUE)))
		return false;
	if (stays || asleep || !has(v, FEATURE_PLACE_REL_DEADLINE))
		return true;
	return now->relative && ahead(now->deadline, 0) == ahead(of(was)->deadline, was->v);
}

/* Among the others, @e has the lag it brought; it is less than 2 ns of virtual time off. */
static bool has_its_lag(const struct view *v, const struct entity *e, s64 weight, s64 lag)
{
	s128 others = total_weight(v), error;

	if (!others || !has(v, FEATURE_PLACE_LAG))
		lag = 0;
	error = sum_ahead(v, e->vruntime) - (s128)lag * (others + weight);
	return !others || (error > -2 * (others + weight) && error < 2 * (others + weight));
}

static bool is_due(const struct view *v, const struct entity *e, unsigned flags)
{
	const struct eevdf_entity *now = eevdf_entity(e), *was = of(&v->subject);
	s64 rest = ahead(now->deadline, e->vruntime), weight = weight_of(e);
	bool half = (flags & ENQUEUE_INITIAL) && has(v, FEATURE_PLACE_DEADLINE_INITIAL);

	if (now->relative || now->slice != request(v, e))
		return false;
	if (was->relative)
		return rest == (s64)was->deadline;
	if (is_bore(v) && v->s->tunable.bore)
		half = flags & v->s->tunable.bore_deadline_boost_mask;
	if (half && !(flags & ENQUEUE_DELAYED))
		return is_virtual(2 * (s128)rest, now->slice, weight) ||
		       is_virtual(2 * (s128)rest + 1, now->slice, weight);
	return is_virtual(rest, now->slice, weight);
}

static bool eevdf_places(const struct view *v, const struct entity *e, unsigned flags)
{
	const struct row *was = &v->subject;

	if (flags & (PLACE_NEW | PLACE_SLEEPER | PLACE_ASLEEP))
		return e->vruntime == was->v;
	/* A swap gives all a common point; a sleeper that was kept may stay where it is. */
	if (flags & (PLACE_SWAPPED | ENQUEUE_DELAYED))
		return true;
	return has_its_lag(v, e, was->weight, of(was)->vlag) && is_due(v, e, flags);
}

/* Its score may have changed its weight before it was placed, and its lag with that. */
static bool bore_places(const struct view *v, const struct entity *e, unsigned flags)
{
	if (weight_of(e) != v->subject.weight)
		return true;
	return eevdf_places(v, e, flags);
}

/* Its sleep ends a burst, and with a new score comes a new weight before it leaves. */
static bool bore_leaves(const struct view *v, const struct entity *e, unsigned flags, bool stays)
{
	if (weight_of(e) != v->subject.weight)
		return true;
	return eevdf_leaves(v, e, flags, stays);
}

const struct oracle eevdf_oracle = {
	.of = &eevdf_policy.hooks,
	.pick = eevdf_picks,
	.preempts = eevdf_preempts_right,
	.tick_expired = eevdf_tick_right,
	.place = eevdf_places,
	.charge = eevdf_charges,
	.leave = eevdf_leaves,
};

const struct oracle bore_oracle = {
	.of = &bore_policy.hooks,
	.pick = eevdf_picks,
	.preempts = eevdf_preempts_right,
	.tick_expired = eevdf_tick_right,
	.place = bore_places,
	.charge = bore_charges,
	.leave = bore_leaves,
};
