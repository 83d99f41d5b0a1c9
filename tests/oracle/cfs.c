/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The right decisions of CFS, by its definition (docs/oracles.md): the least virtual time runs,
 * unless a buddy is nearly as far left; a woken task takes over if it is further left by more than
 * the wakeup granularity; min_vruntime is the least virtual time ever present, and never goes back.
 *
 * Times near a limit by less than the policy's rounding may be decided either way.
 */
#include "sched/fair/bore/burst.h"
#include "sched/fair/cfs/cfs.h"
#include "tests/oracle/oracle.h"

static struct cfs_queue *before(const struct view *v)
{
	return (struct cfs_queue *)v->state.cfs;
}

static bool has(const struct view *v, enum feature feature)
{
	return v->s->features & BIT(feature);
}

/* --- comparing -------------------------------------------------------------------------------- */

enum answer { NO, YES, EITHER };

/* Is @x > a number of @range? */
static enum answer exceeds(s128 x, struct range range)
{
	return x > range.high ? YES : x <= range.low ? NO : EITHER;
}

static bool is_bore(const struct view *v)
{
	return v->q->policy == &bore_cfs_policy;
}

static unsigned score_of(const struct row *row)
{
	return ((const struct bore_entity *)row->state)->burst.score;
}

/*
 * How much further left than @curr may @left be and @curr goes on? A granularity, in the virtual
 * time of @left. Under BORE it is longer if the score of @left is higher, as if it had so many nice
 * levels as half of the difference.
 */
static struct range granularity(const struct view *v, const struct row *curr,
				const struct row *left)
{
	struct range range = virtual_range(v->s->tunable.wakeup_granularity_ns, left->weight);
	unsigned row = ROW_OF_NICE_0;

	if (!is_bore(v) || !(bore_params_of(v->q)->mode & 2))
		return range;
	if (score_of(left) > score_of(curr))
		row += (score_of(left) - score_of(curr)) / 2;
	return stretched_range(range, min(row, 39u));
}

/* Is @e at most a granularity to the right of @left? */
static enum answer is_close(const struct view *v, const struct row *e, const struct row *left)
{
	s64 lead = ahead(e->v, left->v);
	enum answer beyond = exceeds(lead, granularity(v, e, left));

	if (lead <= 0)
		return YES;
	return beyond == EITHER ? EITHER : beyond == NO ? YES : NO;
}

/* --- picking ---------------------------------------------------------------------------------- */

/* No entity but @but is further left than @e. */
static bool is_leftmost(const struct view *v, const struct row *e, const struct entity *but)
{
	for (u32 i = 0; i < v->nr; i++)
		if (v->row[i].e != but && ahead(v->row[i].v, e->v) < 0)
			return false;
	return true;
}

/* May @picked be chosen if @left counts as the leftmost? Equals are ordered by their arrival. */
static bool may_pick(const struct view *v, const struct row *left, const struct entity *picked)
{
	const struct cfs_queue *cfs = before(v);
	const struct entity *buddy[] = { cfs->next, cfs->last };
	enum answer close;

	for (unsigned i = 0; i < ARRAY_SIZE(buddy); i++) {
		if (!buddy[i])
			continue;
		close = is_close(v, row_of(v, buddy[i]), left);
		if (close != NO && picked == buddy[i])
			return true;
		if (close == YES)
			return false;
	}
	if (left->e != cfs->skip)
		return picked == left->e;
	for (u32 i = 0; i < v->nr; i++) {
		const struct row *second = &v->row[i];

		if (second->e == left->e || !is_leftmost(v, second, left->e))
			continue;
		close = is_close(v, second, left);
		if ((close != NO && picked == second->e) || (close != YES && picked == left->e))
			return true;
	}
	return v->nr == 1 && picked == left->e;
}

bool cfs_picks(const struct view *v, const struct entity *picked)
{
	for (u32 i = 0; i < v->nr; i++)
		if (is_leftmost(v, &v->row[i], NULL) && may_pick(v, &v->row[i], picked))
			return true;
	return !v->nr;
}

bool cfs_preempts_right(const struct view *v, const struct entity *curr, const struct entity *woken,
			unsigned flags, bool yes)
{
	s64 lead = ahead(v->subject.v, woken->vruntime);
	const struct row *row = row_of(v, woken);
	enum answer right = lead <= 0 ? NO : exceeds(lead, granularity(v, &v->subject, row));

	(void)curr;
	(void)flags;
	if (yes && !row->idle && cfs_queue(v->q)->next != woken)
		return false;
	return right == EITHER || (right == YES) == yes;
}

/* --- slices ----------------------------------------------------------------------------------- */

/* The weight of all that is queued beside @e, and of @e, in units of the nice table. */
static double weight_beside(const struct view *v, const struct entity *e)
{
	u64 sum = e->queued ? 0 : e->load.weight;

	if (e->queue == v->q)
		for (u32 i = 0; i < v->nr; i++)
			sum += v->row[i].e->load.weight;
	else
		sum += e->queue->load.weight;
	return (double)max(sum >> 10, 2ull);
}

/* Half as much again as a unit of an inverse, for the second rounding of a product. */
#define INVERSE_UNIT (1.5 / (1ull << 32))

/*
 * The slice of the entity that the hook is about: the part of the period that is its by weight, at
 * each level of the tree. In doubles: at each level the policy may round by a ns and by a unit of
 * the inverse of the queue's weight, which *@slack adds up.
 */
static double slice_of(const struct view *v, double *slack)
{
	const struct tunables *tn = &v->s->tunable;
	u32 nr = v->q->rq->fair.tasks.nr + !v->subject.queued;
	double slice = nr > v->s->nr_latency ? (double)nr * (double)tn->min_granularity_ns
					     : (double)tn->latency_ns;
	u64 least = tn->min_granularity_ns;

	*slack = 2;
	for (const struct entity *e = v->subject.e; e; e = e->queue->owner) {
		double all = weight_beside(v, e);

		slice *= (double)weight_of(e) / all;
		*slack += 1 + slice * all * INVERSE_UNIT;
	}
	if (v->subject.idle)
		for (u32 i = 0; i < v->nr; i++)
			if (!v->row[i].idle)
				least = tn->idle_min_granularity_ns;
	if (!has(v, FEATURE_BASE_SLICE) || slice > (double)least)
		return slice;
	return (double)least;
}

bool cfs_tick_right(const struct view *v, const struct entity *e, bool yes)
{
	u64 ran = v->subject.sum_exec - v->subject.prev_sum_exec;
	double slack, slice = slice_of(v, &slack);
	s64 lead = 0;

	for (u32 i = 0; i < v->nr; i++)
		if (v->row[i].e != e && !v->row[i].due)
			lead = max(lead, ahead(v->subject.v, v->row[i].v));
	if ((double)ran > slice + slack)
		return yes;
	if ((double)ran > slice - slack)
		return true;
	if (ran < v->s->tunable.min_granularity_ns)
		return !yes;
	if ((double)lead > slice + slack)
		return yes;
	return (double)lead > slice - slack || !yes;
}

/* --- virtual time ----------------------------------------------------------------------------- */

/*
 * min_vruntime is the least of what is there, but never less than it was. An entity with a deadline
 * that waits is not there, because it does not wait for its virtual time. @gone: it has left.
 */
static bool min_is_right(const struct view *v, const struct entity *gone)
{
	u64 old = before(v)->min_vruntime, least = 0;
	bool any = false;

	for (u32 i = 0; i < v->nr; i++) {
		if (v->row[i].e == gone || (v->row[i].due && v->row[i].e != v->curr))
			continue;
		if (!any || ahead(v->row[i].e->vruntime, least) < 0)
			least = v->row[i].e->vruntime;
		any = true;
	}
	return cfs_queue(v->q)->min_vruntime == (any && ahead(least, old) > 0 ? least : old);
}

bool cfs_charges(const struct view *v, const struct entity *e, u64 delta)
{
	return is_virtual(ahead(e->vruntime, v->subject.v), delta, v->subject.weight) &&
	       min_is_right(v, NULL);
}

/* Under BORE virtual time passes as if the score were nice levels from -20 on; first it grows. */
static unsigned rate_of(const struct view *v, unsigned score)
{
	return is_bore(v) && bore_params_of(v->q)->mode & 1 ? score : ROW_OF_NICE_0;
}

static bool bore_cfs_charges(const struct view *v, const struct entity *e, u64 delta)
{
	unsigned score = burst_entity(e)->score;
	struct range range = virtual_range(delta, v->subject.weight);

	return bursts_2(v, &v->subject, e, delta, false) && min_is_right(v, NULL) &&
	       is_in(ahead(e->vruntime, v->subject.v), stretched_range(range, rate_of(v, score)));
}

/* After so long a sleep a virtual time of its own means nothing: it may have wrapped. */
static u64 longest_sleep(const struct view *v)
{
	return (1ull << 62) / (is_bore(v) ? 512 * 128 : 512);
}

/* A sleeper may come back with up to half a latency of credit, never with more than it had. */
static bool wakes_at(const struct view *v, const struct entity *e, u64 own)
{
	const struct tunables *tn = &v->s->tunable;
	u64 credit = v->subject.idle ? tn->min_granularity_ns : tn->latency_ns;
	u64 earliest;

	if (has(v, FEATURE_GENTLE_FAIR_SLEEPERS))
		credit /= 2;
	earliest = before(v)->min_vruntime - credit;
	if (e->exec_start && ahead(v->q->rq->clock, e->exec_start + longest_sleep(v)) > 0)
		own = earliest;
	return e->vruntime == (ahead(own, earliest) > 0 ? own : earliest);
}

/*
 * A new task waits one virtual slice, and never comes before its parent; but with child_runs_first
 * the two change places if it comes after. It is put on a queue later: so far it has only its
 * distance from min_vruntime.
 */
static bool is_new_at(const struct view *v, const struct entity *e)
{
	unsigned score = is_bore(v) ? burst_entity(e)->score : 0;
	double rate = 1024 / (double)weight_of_row(rate_of(v, score));
	double stretch = 1024 / (double)v->subject.weight * rate;
	double slack, debit = slice_of(v, &slack) * stretch;
	u64 now = before(v)->min_vruntime;
	double at = (double)(s64)e->vruntime, parent = (double)ahead(v->curr_v, now), after;

	if (!has(v, FEATURE_START_DEBIT))
		debit = 0;
	slack = slack * stretch +
		debit * (double)(v->subject.weight + weight_of_row(rate_of(v, score))) *
			INVERSE_UNIT +
		stretch + rate + 2; /* virtual time is whole before a score stretches it */
	if (v->q->curr && debit < parent)
		debit = parent;
	if (v->q->curr && v->s->tunable.child_runs_first && debit > parent + slack) {
		after = (double)ahead(v->q->curr->vruntime, now);
		return at == parent && after >= debit - slack && after <= debit + slack;
	}
	return at >= debit - slack && at <= debit + slack;
}

bool cfs_places(const struct view *v, const struct entity *e, unsigned flags)
{
	u64 now = before(v)->min_vruntime, own = v->subject.v;

	if (flags & PLACE_NEW)
		return is_new_at(v, e);
	if (flags & PLACE_SLEEPER)
		return wakes_at(v, e, own);
	if (!(flags & ENQUEUE_WAKEUP) || (flags & ENQUEUE_MIGRATED))
		own += now;
	return flags & ENQUEUE_WAKEUP ? wakes_at(v, e, own) : e->vruntime == own;
}

bool cfs_leaves(const struct view *v, const struct entity *e, unsigned flags, bool stays)
{
	const struct cfs_queue *now = cfs_queue(v->q);
	u64 own = v->subject.v;

	if (stays || now->next == e || now->last == e || now->skip == e)
		return false;
	if (!(flags & DEQUEUE_SLEEP))
		own -= before(v)->min_vruntime;
	if (e->vruntime != own)
		return false;
	if (!v->subject.queued || (flags & (QUEUE_SAVE | QUEUE_MOVE)) == QUEUE_SAVE)
		return now->min_vruntime == before(v)->min_vruntime;
	return min_is_right(v, e);
}

/*
 * A yielding entity is passed over at the next pick, at each level where it is queued, and no buddy
 * any more. Alone on its CPU it has nobody to yield to.
 */
bool cfs_yields(const struct view *v, const struct entity *e)
{
	const struct cfs_queue *was = before(v), *now = cfs_queue(v->q);

	if (e->vruntime != v->subject.v || now->min_vruntime != was->min_vruntime)
		return false;
	if (v->q->rq->nr_running == 1)
		return now->next == was->next && now->last == was->last && now->skip == was->skip;
	if (now->next != (was->next == e ? NULL : was->next) ||
	    now->last != (was->last == e ? NULL : was->last))
		return false;
	for (; e && e->queued; e = e->queue->owner)
		if (cfs_queue(e->queue)->skip != e)
			return false;
	return true;
}

const struct oracle cfs_oracle = {
	.of = &cfs_policy.hooks,
	.pick = cfs_picks,
	.preempts = cfs_preempts_right,
	.tick_expired = cfs_tick_right,
	.place = cfs_places,
	.charge = cfs_charges,
	.leave = cfs_leaves,
	.yield = cfs_yields,
};

/* --- BORE on CFS ------------------------------------------------------------------------------ */

static bool bore_cfs_places(const struct view *v, const struct entity *e, unsigned flags)
{
	return cfs_places(v, e, flags) && bursts_2(v, &v->first, e, 0, false);
}

static bool bore_cfs_leaves(const struct view *v, const struct entity *e, unsigned flags,
			    bool stays)
{
	bool ended = (flags & (DEQUEUE_SLEEP | QUEUE_SAVE | DEQUEUE_AWAKE)) == DEQUEUE_SLEEP;

	return cfs_leaves(v, e, flags, stays) &&
	       (ended ? bursts_2(v, &v->first, e, 0, true) : bursts_stay(&v->first, e));
}

/* A yield ends a burst, also of one that is alone. */
static bool bore_cfs_yields(const struct view *v, const struct entity *e)
{
	return cfs_yields(v, e) && bursts_2(v, &v->first, e, 0, true);
}

const struct oracle bore_cfs_oracle = {
	.of = &bore_cfs_policy.hooks,
	.pick = cfs_picks,
	.preempts = cfs_preempts_right,
	.tick_expired = cfs_tick_right,
	.place = bore_cfs_places,
	.charge = bore_cfs_charges,
	.leave = bore_cfs_leaves,
	.yield = bore_cfs_yields,
};
