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

/* Is it BORE, and do scores count? */
static bool is_on(const struct view *v)
{
	return is_bore(v) && bore_params_of(v->q)->mode;
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

	if (is_on(v) && tn->bore_parity_threshold && v->nr > tn->bore_parity_threshold)
		return false;
	return has(v, FEATURE_RUN_TO_PARITY);
}

/*
 * By how much @row is due later than @other, or if they are due at once, whether it comes after it:
 * the running entity @curr does. 0: either may be first.
 */
static s64 comes_after(const struct row *row, const struct row *other, const struct row *curr)
{
	s64 later = ahead(of(row)->deadline, of(other)->deadline);

	return later ? later : (row == curr) - (other == curr);
}

/*
 * Is @e a right choice if nobody is nominated? @protected: the running entity may go on until its
 * request is used up. *@alone: no other choice is right.
 */
static bool is_right(const struct view *v, const struct entity *e, bool protected, bool *alone)
{
	const struct row *curr = v->curr ? row_of(v, v->curr) : NULL;
	const struct row *best = NULL, *chosen = row_of(v, e);
	unsigned nr_best = 0;

	*alone = true;
	if (v->nr == 1)
		return e == v->row[0].e;
	if (curr && protected && runs_to_parity(v) && is_eligible(v, curr))
		return e == curr->e;
	for (u32 i = 0; i < v->nr; i++) {
		const struct row *row = &v->row[i];
		s64 later;

		if (!is_eligible(v, row))
			continue;
		later = best ? comes_after(row, best, curr) : -1;
		nr_best = later < 0 ? 1 : nr_best + !later;
		best = later < 0 ? row : best;
	}
	*alone = nr_best == 1;
	/* Of equals that wait the first to come is picked, which only the tree knows. */
	return best && chosen && is_eligible(v, chosen) && !comes_after(chosen, best, curr);
}

/* The nominated entity that goes first, or NULL. */
static const struct entity *eligible_buddy(const struct view *v)
{
	const struct entity *next = before(v)->next;

	return next && v->nr > 1 && has(v, FEATURE_PICK_BUDDY) && is_eligible(v, row_of(v, next))
		       ? next
		       : NULL;
}

static bool eevdf_picks(const struct view *v, const struct entity *picked)
{
	const struct entity *buddy;
	const struct eevdf_entity *now;
	bool alone, protected;

	if (!v->nr)
		return true;
	buddy = eligible_buddy(v);
	now = eevdf_entity(picked);
	/* Protection begins when it comes to run; one that runs has what is left of it. */
	protected = v->curr && of(row_of(v, v->curr))->protected;
	return (buddy ? picked == buddy : is_right(v, picked, protected, &alone)) &&
	       now->protected == (picked != v->curr || protected) && !now->turn_over &&
	       (picked == v->curr || eevdf_queue(v->q)->next != picked);
}

/* A shorter request that is due earlier, of an entity that has had no more than its share. */
static bool is_urgent(const struct view *v, const struct row *curr, const struct row *woken)
{
	return has(v, FEATURE_PREEMPT_SHORT) && of(woken)->slice < of(curr)->slice &&
	       is_eligible(v, woken) &&
	       (ahead(of(woken)->deadline, of(curr)->deadline) < 0 || !is_eligible(v, curr));
}

/* A nomination goes up from a task and ends at an idle group. May one have ended below @woken? */
static bool may_end_below(const struct entity *woken)
{
	const struct fair_queue *q;

	list_for_each(q, &woken->queue->rq->queues, link)
		for (const struct entity *up = q->owner; q->idle && up; up = up->queue->owner)
			if (up == woken)
				return true;
	return false;
}

static bool eevdf_preempts_right(const struct view *v, const struct entity *curr,
				 const struct entity *woken, unsigned flags, bool yes)
{
	const struct row *running = &v->subject, *row = row_of(v, woken);
	bool protected = of(running)->protected, alone, right;

	(void)curr;
	if (has(v, FEATURE_NEXT_BUDDY) && !(flags & SELECT_FORK) && !row_of(v, woken)->idle &&
	    before(v)->next != woken && !may_end_below(woken))
		return false;
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
	(void)e;
	return !!of(&v->subject)->turn_over == yes; /* judged when it was charged */
}

/* --- running ---------------------------------------------------------------------------------- */

static u64 shortest_of_subtree(const struct rb_node *node)
{
	const struct entity *e = container_of(node, struct entity, node);
	u64 shortest;

	if (!node)
		return UINT64_MAX;
	shortest = min(shortest_of_subtree(node->left), shortest_of_subtree(node->right));
	return min(shortest, eevdf_entity(e)->slice);
}

static u64 shortest_below(const struct fair_queue *q)
{
	u64 shortest = shortest_of_subtree(q->timeline.root);

	return q->curr && q->curr->queued ? min(shortest, eevdf_entity(q->curr)->slice) : shortest;
}

/* The request of @e: what the task asks for, or the most urgent member of a group, or the usual. */
static u64 request(const struct view *v, const struct entity *e)
{
	const struct tunables *tn = &v->s->tunable;

	if (e->own_queue && e->own_queue->nr_running && e->own_queue->policy == v->q->policy)
		return shortest_below(e->own_queue);
	if (!e->own_queue && task_of((struct entity *)e)->slice_ns)
		return task_of((struct entity *)e)->slice_ns;
	return is_bore(v) ? tn->bore_base_slice_ns : tn->base_slice_ns;
}

/* The subject, charged, is ahead of the virtual time of the queue, which its own progress moves. */
static bool is_ahead_now(const struct view *v)
{
	s128 others =
		sum_ahead(v, v->now.v) - (s128)v->subject.weight * ahead(v->subject.v, v->now.v);

	return others < 0;
}

/* While others wait its turn ends, by @used_up or as unprotected, and a switch is asked for. */
static bool turn_is_right(const struct view *v, bool used_up)
{
	const struct eevdf_entity *now = of(&v->now), *was = of(&v->subject);
	bool broken = !was->protected && has(v, FEATURE_PREEMPT_SHORT) && is_ahead_now(v);
	bool ends = v->nr > 1 && (used_up || broken);

	return !!now->turn_over == (was->turn_over || ends) && (!ends || v->q->rq->need_resched);
}

/* A new score may give it another weight after that, which eevdf_reweighs() judges. */
static bool eevdf_charges(const struct view *v, const struct entity *e, u64 delta)
{
	const struct eevdf_entity *now = of(&v->now), *was = of(&v->subject);
	bool used_up = ahead(v->now.v, was->deadline) >= 0;

	if (!v->subject.queued)
		return v->now.v == v->subject.v && now->deadline == was->deadline;
	if (!is_virtual(ahead(v->now.v, v->subject.v), delta, v->subject.weight) ||
	    !turn_is_right(v, used_up))
		return false;
	if (!used_up)
		return now->deadline == was->deadline && now->protected == was->protected;
	return !now->protected && now->slice == request(v, e) &&
	       is_virtual(ahead(now->deadline, v->now.v), now->slice, v->subject.weight);
}

/* --- lag -------------------------------------------------------------------------------------- */

/* The lag of @row as it is kept: at most two of the longest requests of the queue, or a tick. */
static struct range lag_to_keep(const struct view *v, const struct row *row)
{
	s64 lag = now_from(v, row->v);
	u64 slice = of(row)->slice;
	struct range size;

	for (u32 i = 0; i < v->nr; i++)
		slice = max(slice, of(&v->row[i])->slice);
	size = virtual_range(max(2 * slice, v->s->tick_ns), row->weight);
	if (is_on(v))
		size = (struct range){ size.low / 2, size.high / 2 };
	if (lag < 0)
		return (struct range){ max((s128)lag, -size.high), max((s128)lag, -size.low) };
	return (struct range){ min((s128)lag, size.low), min((s128)lag, size.high) };
}

/* A sleeper that stayed queued: its debt did not grow since, nor did it become a claim. */
static struct range lag_after_delay(const struct view *v, const struct row *row)
{
	struct range lag = lag_to_keep(v, row);

	lag.low = max(lag.low, (s128)of(row)->vlag);
	lag.high = max(lag.high, (s128)of(row)->vlag);
	if (has(v, FEATURE_DELAY_ZERO)) {
		lag.low = min(lag.low, (s128)0);
		lag.high = min(lag.high, (s128)0);
	}
	return lag;
}

/* --- a new weight ----------------------------------------------------------------------------- */

/* Is @now the duration @was in virtual time, at weight @new instead of @old, rounded to a unit? */
static bool is_scaled(s64 now, s64 was, s64 old, s64 new)
{
	s128 error = (s128)now * new - (s128)was *old;

	return error > -new &&error < new;
}

/* It sleeps, and is queued until its debt is paid. */
static bool is_delayed(const struct entity *e)
{
	if (e->own_queue)
		return e->queued && !e->own_queue->nr_running;
	return task_of((struct entity *)e)->on_rq == TASK_DELAYED;
}

/*
 * A weight changes how much virtual time a ns is, and nothing else: lag and the rest of the request
 * are the same in real time, and virtual time stands still. The rest is made of two quotients, each
 * rounded by less than a unit. A sleeper that is still queued leaves before its weight changes,
 * because the debt that it fell asleep with is in terms of the old one.
 */
static bool eevdf_reweighs(const struct view *v, const struct entity *e, s64 new)
{
	const struct eevdf_entity *now = eevdf_entity(e), *was = of(&v->subject);
	s64 old = v->subject.weight, left, rest, rest_was;
	struct range lag;

	if (old == new)
		return e->vruntime == v->subject.v && now->deadline == was->deadline &&
		       now->vlag == was->vlag;
	if (!v->subject.queued)
		return e->vruntime == v->subject.v && is_scaled(now->vlag, was->vlag, old, new) &&
		       (was->relative ? is_scaled((s64)now->deadline, (s64)was->deadline, old, new)
				      : now->deadline == was->deadline);
	/* With another deadline, but one at V, it is not the request that it was picked for. */
	if (now->protected && (!was->protected || now_from(v, now->deadline)))
		return false;
	lag = lag_to_keep(v, &v->subject);
	left = now_from(v, e->vruntime);
	rest = ahead(now->deadline, e->vruntime);
	rest_was = ahead(was->deadline, v->subject.v);
	return left * (s128) new > lag.low *old - new &&left *(s128) new <
		       lag.high *old + new &&rest *(s128) new >
		       rest_was *(s128)old - 2 * new &&rest *(s128) new <
		       rest_was *(s128)old + 2 * new &&
	       !is_delayed(e);
}

/* --- entering and leaving --------------------------------------------------------------------- */

static bool eevdf_leaves(const struct view *v, const struct entity *e, unsigned flags, bool stays)
{
	const struct row *was = &v->subject;
	const struct eevdf_entity *now = eevdf_entity(e);
	bool asleep = flags & DEQUEUE_SLEEP;
	bool may_stay = asleep && !(flags & (DEQUEUE_SPECIAL | DEQUEUE_DELAYED));
	struct range lag;

	if (eevdf_queue(v->q)->next == e)
		return false;
	if (!was->queued)
		return !stays && now->vlag == of(was)->vlag;
	lag = flags & DEQUEUE_DELAYED ? lag_after_delay(v, was) : lag_to_keep(v, was);
	if (!is_in(now->vlag, lag))
		return false;
	if (stays != (may_stay && now->vlag < 0 && has(v, FEATURE_DELAY_DEQUEUE)))
		return false;
	if (stays || asleep || !has(v, FEATURE_PLACE_REL_DEADLINE))
		return true;
	return now->relative && ahead(now->deadline, 0) == ahead(of(was)->deadline, was->v);
}

/*
 * Among the others, is the lag of @e, of @weight, what it brought? V is rounded down and so is the
 * distance, the lag times (W + w) / W: its place is less than 2 ns of virtual time off, and the lag
 * that is left when its arrival has moved V, W / (W + w) of that, too.
 */
static bool has_its_lag(const struct view *v, const struct entity *e, s64 weight, struct range lag)
{
	s128 others = 0, left = 0, all;

	for (u32 i = 0; i < v->nr; i++) {
		const struct row *row = &v->row[i];

		if (row->e == e)
			continue;
		others += row->weight;
		left += (s128)row->weight * ahead(row->v, e->vruntime);
	}
	if (!others)
		return true;
	if (!has(v, FEATURE_PLACE_LAG))
		lag = (struct range){ 0, 0 };
	all = others + weight;
	return left > (lag.low - 2) * all && left < (lag.high + 2) * all;
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
	if (is_on(v))
		half = flags & v->s->tunable.bore_deadline_boost_mask;
	if (half && !(flags & ENQUEUE_DELAYED))
		return is_virtual(2 * (s128)rest, now->slice, weight) ||
		       is_virtual(2 * (s128)rest + 1, now->slice, weight);
	return is_virtual(rest, now->slice, weight);
}

/* A sleeper that stayed queued wakes up where it is, unless its lag has to change. */
static bool is_awake_at(const struct view *v, const struct entity *e)
{
	const struct row *was = &v->subject;
	struct range kept = lag_to_keep(v, was), lag = lag_after_delay(v, was);

	if (e->vruntime == was->v && kept.low <= lag.high && lag.low <= kept.high)
		return eevdf_entity(e)->deadline == of(was)->deadline;
	return has_its_lag(v, e, was->weight, lag) && is_due(v, e, ENQUEUE_DELAYED);
}

static bool eevdf_places(const struct view *v, const struct entity *e, unsigned flags)
{
	const struct row *was = &v->subject;
	s64 lag = of(was)->vlag;

	if (flags & (PLACE_NEW | PLACE_SLEEPER | PLACE_ASLEEP))
		return e->vruntime == was->v;
	/* A swap gives all a common point. */
	if (flags & PLACE_SWAPPED)
		return true;
	if (flags & ENQUEUE_DELAYED)
		return is_awake_at(v, e);
	return has_its_lag(v, e, was->weight, (struct range){ lag, lag }) && is_due(v, e, flags);
}

/* --- yielding --------------------------------------------------------------------------------- */

/*
 * A yielding entity forgoes the rest of its request if it is eligible, and asks for the next one;
 * if not, it loses only the protection of its turn. Alone on its CPU it has nobody to yield to.
 * @rest: of the request, in virtual time.
 */
static bool yields_with(const struct view *v, const struct entity *e, struct range rest)
{
	const struct eevdf_entity *now = eevdf_entity(e);
	s64 moved = ahead(e->vruntime, v->subject.v), left = ahead(now->deadline, e->vruntime);

	if (v->q->rq->nr_running == 1)
		return !moved && is_in(left, rest);
	if (now->protected || eevdf_queue(v->q)->next == e)
		return false;
	if (is_eligible(v, &v->subject))
		return is_in(moved, rest) && is_virtual(left, now->slice, v->subject.weight);
	return !moved && is_in(left, rest);
}

static bool eevdf_yields(const struct view *v, const struct entity *e)
{
	s64 rest = ahead(of(&v->subject)->deadline, v->subject.v);

	return yields_with(v, e, (struct range){ rest, rest });
}

const struct oracle eevdf_oracle = {
	.of = &eevdf_policy.hooks,
	.pick = eevdf_picks,
	.preempts = eevdf_preempts_right,
	.tick_expired = eevdf_tick_right,
	.place = eevdf_places,
	.charge = eevdf_charges,
	.leave = eevdf_leaves,
	.yield = eevdf_yields,
	.reweight = eevdf_reweighs,
};

/* --- BORE on EEVDF ---------------------------------------------------------------------------- */

/* Only tasks have bursts. */
static bool has_bursts(const struct view *v, const struct entity *e, u64 delta, bool ended)
{
	return e->own_queue || bursts_5(v, &v->first, e, delta, ended);
}

static bool bore_charges(const struct view *v, const struct entity *e, u64 delta)
{
	return eevdf_charges(v, e, delta) && has_bursts(v, e, v->subject.queued ? delta : 0, false);
}

static bool bore_places(const struct view *v, const struct entity *e, unsigned flags)
{
	return eevdf_places(v, e, flags) && has_bursts(v, e, 0, false);
}

static bool bore_leaves(const struct view *v, const struct entity *e, unsigned flags, bool stays)
{
	bool ended = (flags & (DEQUEUE_SLEEP | DEQUEUE_DELAYED)) == DEQUEUE_SLEEP;

	return eevdf_leaves(v, e, flags, stays) &&
	       (ended ? has_bursts(v, e, 0, true) : bursts_stay(&v->first, e));
}

/*
 * A yield ends the burst of @e. If its weight grows thereby, the rest of its request keeps its
 * length in real time, rounded down to a ns.
 */
static bool bore_yields(const struct view *v, const struct entity *e)
{
	const struct row *was = &v->first, *row = &v->subject;
	s64 rest = ahead(of(row)->deadline, row->v);
	struct range range = { rest, rest };
	s128 ns;

	if (!bursts_5(v, was, e, 0, true))
		return false;
	if (row->weight > was->weight) {
		rest = ahead(of(was)->deadline, was->v);
		ns = (s128)(rest < 0 ? -rest : rest) * was->weight / 1024;
		range = stretched_range((struct range){ ns, ns }, row_of_weight(row->weight));
		if (rest < 0)
			range = (struct range){ -range.high, -range.low };
	}
	return yields_with(v, e, range);
}

const struct oracle bore_oracle = {
	.of = &bore_policy.hooks,
	.pick = eevdf_picks,
	.preempts = eevdf_preempts_right,
	.tick_expired = eevdf_tick_right,
	.place = bore_places,
	.charge = bore_charges,
	.leave = bore_leaves,
	.yield = bore_yields,
	.reweight = eevdf_reweighs,
};
