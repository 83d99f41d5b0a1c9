/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The right decisions of CFS, by its definition (docs/oracles.md): the least virtual time runs,
 * unless a buddy is nearly as far left; a woken task takes over if it is further left by more than
 * the wakeup granularity; min_vruntime is the least virtual time ever present, and never goes back.
 *
 * Times near a limit by less than the policy's rounding may be decided either way.
 */
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

/* Is @x > @ns of CPU time, in the virtual time of an entity of @weight? */
static enum answer exceeds(s64 x, u64 ns, s64 weight)
{
	if (is_virtual(x, ns, weight) || is_virtual((s128)x - 1, ns, weight))
		return EITHER;
	return (s128)x * weight > (s128)ns * 1024 ? YES : NO;
}

/* Is @e at most a granularity to the right of @left? */
static enum answer is_close(const struct view *v, const struct row *e, const struct row *left)
{
	s64 lead = ahead(e->v, left->v);
	enum answer beyond = exceeds(lead, v->s->tunable.wakeup_granularity_ns, left->weight);

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

static bool cfs_picks(const struct view *v, const struct entity *picked)
{
	for (u32 i = 0; i < v->nr; i++)
		if (is_leftmost(v, &v->row[i], NULL) && may_pick(v, &v->row[i], picked))
			return true;
	return !v->nr;
}

static bool cfs_preempts_right(const struct view *v, const struct entity *curr,
			       const struct entity *woken, unsigned flags, bool yes)
{
	s64 lead = ahead(v->subject.v, woken->vruntime);
	const struct row *row = row_of(v, woken);
	enum answer right =
		lead <= 0 ? NO : exceeds(lead, v->s->tunable.wakeup_granularity_ns, row->weight);

	(void)curr;
	(void)flags;
	if (yes && cfs_queue(v->q)->next != woken)
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

static bool cfs_tick_right(const struct view *v, const struct entity *e, bool yes)
{
	u64 ran = v->subject.sum_exec - v->subject.prev_sum_exec;
	double slack, slice = slice_of(v, &slack);
	s64 lead = 0;

	for (u32 i = 0; i < v->nr; i++)
		if (v->row[i].e != e)
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

/* min_vruntime is the least of what is there, but never less than it was. @gone: it has left. */
static bool min_is_right(const struct view *v, const struct entity *gone)
{
	u64 old = before(v)->min_vruntime, least = 0;
	bool any = false;

	for (u32 i = 0; i < v->nr; i++) {
		if (v->row[i].e == gone)
			continue;
		if (!any || ahead(v->row[i].e->vruntime, least) < 0)
			least = v->row[i].e->vruntime;
		any = true;
	}
	return cfs_queue(v->q)->min_vruntime == (any && ahead(least, old) > 0 ? least : old);
}

static bool cfs_charges(const struct view *v, const struct entity *e, u64 delta)
{
	return is_virtual(ahead(e->vruntime, v->subject.v), delta, v->subject.weight) &&
	       min_is_right(v, NULL);
}

static bool bore_cfs_charges(const struct view *v, const struct entity *e, u64 delta)
{
	(void)delta;
	return ahead(e->vruntime, v->subject.v) >= 0 && min_is_right(v, NULL);
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
	/* After a sleep of months its own time means nothing: it may have wrapped. */
	return e->vruntime == (ahead(own, earliest) > 0 ? own : earliest) ||
	       (e->vruntime == earliest &&
		(s64)(v->q->rq->clock - e->exec_start) > (1ll << 62) / (512 * 128));
}

static bool cfs_places(const struct view *v, const struct entity *e, unsigned flags)
{
	u64 now = before(v)->min_vruntime, own = v->subject.v;

	if (flags & PLACE_NEW)
		return true;
	if (flags & PLACE_SLEEPER)
		return wakes_at(v, e, own);
	if (!(flags & ENQUEUE_WAKEUP) || (flags & ENQUEUE_MIGRATED))
		own += now;
	return flags & ENQUEUE_WAKEUP ? wakes_at(v, e, own) : e->vruntime == own;
}

/* A new task waits one virtual slice, and never comes before its parent. */
static bool is_new_at(const struct view *v, const struct entity *e)
{
	double stretch = 1024 / (double)v->subject.weight, slack;
	double debit = slice_of(v, &slack) * stretch;
	double from_min = (double)(s64)e->vruntime, of_parent = 0;

	if (!has(v, FEATURE_START_DEBIT))
		debit = 0;
	if (v->q->curr)
		of_parent = (double)ahead(v->q->curr->vruntime, before(v)->min_vruntime);
	slack = slack * stretch + debit * (double)v->subject.weight * INVERSE_UNIT + 2;
	debit = debit < of_parent ? of_parent : debit;
	return from_min >= debit - slack && from_min <= debit + slack;
}

static bool cfs_places_also_new(const struct view *v, const struct entity *e, unsigned flags)
{
	if ((flags & PLACE_NEW) && !v->s->tunable.child_runs_first)
		return is_new_at(v, e);
	return cfs_places(v, e, flags);
}

static bool cfs_leaves(const struct view *v, const struct entity *e, unsigned flags, bool stays)
{
	const struct cfs_queue *now = cfs_queue(v->q);
	u64 own = v->subject.v;

	if (stays || now->next == e || now->last == e || now->skip == e)
		return false;
	if (!(flags & DEQUEUE_SLEEP))
		own -= before(v)->min_vruntime;
	if (e->vruntime != own)
		return false;
	if (!v->subject.queued || (flags & QUEUE_SAVE))
		return now->min_vruntime == before(v)->min_vruntime;
	return min_is_right(v, e);
}

const struct oracle cfs_oracle = {
	.of = &cfs_policy.hooks,
	.pick = cfs_picks,
	.preempts = cfs_preempts_right,
	.tick_expired = cfs_tick_right,
	.place = cfs_places_also_new,
	.charge = cfs_charges,
	.leave = cfs_leaves,
};

/* Its granularity, its debit and its rate follow scores, which test_bore_cfs.c judges. */
const struct oracle bore_cfs_oracle = {
	.of = &bore_cfs_policy.hooks,
	.place = cfs_places,
	.charge = bore_cfs_charges,
	.leave = cfs_leaves,
};
