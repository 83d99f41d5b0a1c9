/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CFS, the Completely Fair Scheduler, as in Linux 6.1.
 *
 * Every task has a virtual runtime that advances at 1/weight of real time; the
 * one with the least runs. Fairness is that all vruntimes stay close together.
 *
 *	pick:    the leftmost vruntime, unless a nominated "buddy" is nearly as far left
 *	slice:   share of a period by weight; the period is latency, or longer with
 *	         many tasks so that no slice is below min_granularity
 *	tick:    resched when the slice is used up, or when the leftmost is a slice behind
 *	wakeup:  placed at min_vruntime - credit (a short sleep keeps its own vruntime);
 *	         preempts if further left than the running task by more than a granularity
 *	fork:    placed one virtual slice to the right
 *	yield:   passed over once, if the second is not far behind
 *
 * Source: Linux 6.1, fair.c (docs/sources.md).
 */
#include "sched/fair/cfs/cfs.h"

/* --- slices --------------------------------------------------------------- */

static u64 cfs_period(const struct fair_queue *q, unsigned nr)
{
	const struct tunables *tn = tunables_of(q);

	return nr > q->rq->s->nr_latency ? (u64)nr * tn->min_granularity_ns : tn->latency_ns;
}

/* The part of @slice that @e gets, by its share of its queue's weight. */
static u64 cfs_part(u64 slice, struct entity *e)
{
	struct fair_queue *q = e->queue;
	struct load_weight with_e;

	if (likely(e->queued))
		return calc_delta(slice, e->load.weight, &q->load);
	with_e = q->load;
	load_add(&with_e, e->load.weight);
	return calc_delta(slice, e->load.weight, &with_e);
}

u64 cfs_slice(struct fair_queue *q, struct entity *e)
{
	const struct tunables *tn = tunables_of(q);
	u64 slice = cfs_period(q, q->rq->fair.tasks.nr + !e->queued);
	u64 shortest = tn->min_granularity_ns;

	for (struct entity *level = e; level; level = parent_of(level))
		slice = cfs_part(slice, level);
	if (!feature(q->rq->s, FEATURE_BASE_SLICE))
		return slice;
	if (entity_is_idle(e) && q->nr_idle != q->nr_running)
		shortest = tn->idle_min_granularity_ns;
	return max(slice, shortest);
}

/* --- where an entity enters ----------------------------------------------- */

/* Lab 4, place_woken: a sleeper claims half a latency that it did not use, or what it missed. */
static void place_woken(struct fair_queue *q, struct entity *e, s64 longest_sleep_ns)
{
	const struct tunables *tn = tunables_of(q);
	u64 credit = entity_is_idle(e) ? tn->min_granularity_ns : tn->latency_ns;
	u64 v;

	if (feature(q->rq->s, FEATURE_GENTLE_FAIR_SLEEPERS))
		credit /= 2;
	v = cfs_queue(q)->min_vruntime - credit;
	/* Below 0 if this CPU's clock is behind the one it slept on. */
	if (e->exec_start && (s64)(q->rq->clock - e->exec_start) > longest_sleep_ns)
		e->vruntime = v;
	else
		e->vruntime = time_max(e->vruntime, v);
}

/* Lab 4, place_new: a new task waits one virtual slice, or a program could get CPU by forking. */
__noinline void cfs_place_new(struct fair_queue *q, struct entity *e, u64 debit)
{
	struct sched *s = q->rq->s;
	struct entity *curr = q->curr;
	u64 v = cfs_queue(q)->min_vruntime;

	if (feature(s, FEATURE_START_DEBIT))
		v += debit;
	e->vruntime = curr ? time_max(curr->vruntime, v) : v;
	if (s->tunable.child_runs_first && curr && time_before(curr->vruntime, e->vruntime)) {
		u64 parent = curr->vruntime;

		curr->vruntime = e->vruntime;
		e->vruntime = parent;
		resched(q->rq);
	}
	e->vruntime -= cfs_queue(q)->min_vruntime;
}

void cfs_place_by(struct fair_queue *q, struct entity *e, unsigned flags, s64 longest_sleep_ns)
{
	if (flags & PLACE_NEW) {
		cfs_place_new(q, e, calc_delta_fair(q->policy->slice(q, e), e));
		return;
	}
	if (flags & PLACE_SLEEPER) {
		place_woken(q, e, longest_sleep_ns);
		return;
	}
	/* Asleep, its vruntime stays what it was on its queue; travelling, it is relative. */
	if (!(flags & ENQUEUE_WAKEUP) || (flags & ENQUEUE_MIGRATED))
		e->vruntime += cfs_queue(q)->min_vruntime;
	if (flags & ENQUEUE_WAKEUP)
		place_woken(q, e, longest_sleep_ns);
}

/* Virtual time runs at most at 1024 times the real one's rate: weight 3 of 1024, with room. */
__attribute__((flatten)) void cfs_place(struct fair_queue *q, struct entity *e, unsigned flags)
{
	cfs_place_by(q, e, flags, (1ll << 62) / 512);
}

/* --- running -------------------------------------------------------------- */

/* Lab 4, min_vruntime: advance it to the smallest vruntime present; it never goes back. */
static inline void update_min_vruntime(struct fair_queue *q, const struct entity *leaving)
{
	struct entity *first = queue_first(q), *curr = q->curr;
	u64 v;

	if (curr && curr->queued && curr != leaving) {
		v = curr->vruntime;
		if (first && time_before(first->vruntime, v))
			v = first->vruntime;
	} else if (first) {
		v = first->vruntime;
	} else {
		return;
	}
	if (time_before(cfs_queue(q)->min_vruntime, v))
		cfs_queue(q)->min_vruntime = v;
}

void cfs_charge_virtual(struct fair_queue *q, struct entity *e, u64 vdelta)
{
	SCHED_DEBUG_ASSERT(e == q->curr);
	e->vruntime += vdelta;
	update_min_vruntime(q, NULL);
}

/* Not inlined: cfs_charge(), whose common case is the other one, then need not save registers. */
static __noinline void charge_weighted(struct fair_queue *q, struct entity *e, u64 delta)
{
	cfs_charge_virtual(q, e, calc_delta_fair(delta, e));
}

void cfs_charge(struct fair_queue *q, struct entity *e, u64 delta)
{
	if (likely(e->load.weight == NICE_0_LOAD))
		cfs_charge_virtual(q, e, delta);
	else
		charge_weighted(q, e, delta);
}

/* Lab 4, tick: the turn ends with the slice, or a slice ahead of the first that waits. */
bool cfs_tick_expired(struct fair_queue *q, struct entity *e)
{
	u64 slice = q->policy->slice(q, e);
	u64 ran = e->sum_exec - e->prev_sum_exec;

	SCHED_DEBUG_ASSERT(e == q->curr && queue_first(q));
	if (ran > slice) {
		forget_buddy(q, e);
		return true;
	}
	because(q, RULE_ran_too_little);
	if (ran < tunables_of(q)->min_granularity_ns)
		return false;
	because(q, RULE_slice_ahead);
	/* Virtual against real time, on purpose: a wakeup may have put someone far to the left. */
	return (s64)(e->vruntime - queue_first(q)->vruntime) > (s64)slice;
}

bool cfs_leave(struct fair_queue *q, struct entity *e, unsigned flags)
{
	forget_buddy(q, e);
	if (!(flags & DEQUEUE_SLEEP))
		e->vruntime -= cfs_queue(q)->min_vruntime;
	/* An entity that comes back to its place must find the queue's time where it was. */
	if (e->queued && (flags & (QUEUE_SAVE | QUEUE_MOVE)) != QUEUE_SAVE)
		update_min_vruntime(q, e);
	return false;
}

/* --- comparing ------------------------------------------------------------ */

/* In the virtual time of the woken entity, so that the light must wait longer. */
u64 cfs_granularity(struct fair_queue *q, struct entity *curr, struct entity *woken)
{
	(void)curr;
	return calc_delta_fair(tunables_of(q)->wakeup_granularity_ns, woken);
}

/* Lab 4, leads: is @woken further left than @curr by more than the granularity? */
static bool leads(struct fair_queue *q, struct entity *curr, struct entity *woken,
		  cfs_granularity_fn *granularity)
{
	s64 lead = (s64)(curr->vruntime - woken->vruntime);

	return lead > 0 && lead > (s64)granularity(q, curr, woken);
}

static struct entity *second_choice(struct fair_queue *q, struct entity *curr,
				    const struct entity *first)
{
	struct entity *second = first == curr ? NULL : queue_after(first);

	if (first == curr)
		return queue_first(q);
	if (!second || (curr && time_before(curr->vruntime, second->vruntime)))
		return curr;
	return second;
}

/* @first by vruntime, unless it yielded or a buddy is hardly worse. */
static __noinline struct entity *prefer_buddies(struct fair_queue *q, struct entity *curr,
						struct entity *first,
						cfs_granularity_fn *granularity)
{
	struct entity *e = first;

	SCHED_DEBUG_ASSERT(first);
	if (first == cfs_queue(q)->skip) {
		struct entity *second = second_choice(q, curr, first);

		if (second && !leads(q, second, first, granularity))
			e = picked_by(q, second, RULE_passed_over);
	}
	if (cfs_queue(q)->next && !leads(q, cfs_queue(q)->next, first, granularity))
		e = picked_by(q, cfs_queue(q)->next, RULE_next_buddy);
	else if (cfs_queue(q)->last && !leads(q, cfs_queue(q)->last, first, granularity))
		e = picked_by(q, cfs_queue(q)->last, RULE_last_buddy);
	if (e != curr)
		forget_buddy(q, e);
	return e;
}

struct entity *cfs_pick_by(struct fair_queue *q, struct entity *curr,
			   cfs_granularity_fn *granularity)
{
	struct entity *first = queue_first(q);

	SCHED_DEBUG_ASSERT(!curr || curr == q->curr);
	if (curr && !curr->queued)
		curr = NULL;
	if (curr && (!first || time_before(curr->vruntime, first->vruntime)))
		first = curr;
	if (first && (first == cfs_queue(q)->skip || cfs_queue(q)->next || cfs_queue(q)->last))
		return prefer_buddies(q, curr, first, granularity);
	return first;
}

struct entity *cfs_pick(struct fair_queue *q)
{
	return cfs_pick_by(q, q->curr, cfs_granularity);
}

/* Buddies: the woken task goes next, and in a crowd the preempted one is to follow it. */
bool cfs_preempts_by(struct fair_queue *q, struct entity *curr, struct entity *woken,
		     cfs_granularity_fn *granularity)
{
	SCHED_DEBUG_ASSERT(woken->queued);
	if (!leads(q, curr, woken, granularity))
		return false;
	fair_nominate(woken);
	if (feature(q->rq->s, FEATURE_LAST_BUDDY) && cfs_is_crowded(q) && entity_is_task(curr))
		cfs_remember_last(curr);
	return true;
}

__attribute__((flatten)) bool cfs_preempts(struct fair_queue *q, struct entity *curr,
					   struct entity *woken, unsigned flags)
{
	(void)flags;
	return cfs_preempts_by(q, curr, woken, cfs_granularity);
}

void cfs_init_queue(struct fair_queue *q)
{
	cfs_queue(q)->min_vruntime = cfs_queue(q)->checked_min_vruntime = FIRST_VRUNTIME;
}

const struct fair_policy cfs_policy = {
	FAIR_DEFAULTS,
	.name = "cfs",
	.traits = TRAITS_OF_VIRTUAL_TIME | BIT(TRAIT_PROPORTIONAL) | BIT(TRAIT_BOUNDED_LAG),
	.features_mask = BIT(FEATURE_GENTLE_FAIR_SLEEPERS) | BIT(FEATURE_NEXT_BUDDY),
	.features_on = BIT(FEATURE_GENTLE_FAIR_SLEEPERS),
	.key = TIMELINE_KEY(vruntime),
	.hooks.place = cfs_place,
	.hooks.charge = cfs_charge,
	.hooks.pick = cfs_pick,
	.hooks.tick_expired = cfs_tick_expired,
	.hooks.preempts = cfs_preempts,
	.hooks.leave = cfs_leave,
	.hooks.yield = cfs_yield,
	CFS_RULES,
	.init_queue = cfs_init_queue,
	.nominate = cfs_nominate,
	.nominated = cfs_nominated,
	.nominates_woken = cfs_is_crowded,
	.slice = cfs_slice,
	.numbers = cfs_numbers,
	.candidates = cfs_candidates,
	.queue_numbers = cfs_queue_numbers,
	.dump_queue = cfs_dump_queue,
	.check = cfs_check,
};
