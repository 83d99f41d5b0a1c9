/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * FDL, the fair deadline policy: CFS, in which a group of tasks may have a
 * deadline. It is due within that time, however many others there are, and gets
 * no more CPU time for it than its weight is worth.
 *
 * A bucket that fills while time passes, and that running drains, is the model: a
 * deadline D is how long an empty one takes to be full. Deadlines are in the virtual
 * time v of the queue, which is the clock less a lag:
 *
 *	charge:    running takes the deadline d forward by time / share of the machine,
 *	           a little less than that earns (dl_slack), but not beyond v + D: what is
 *	           not used is not saved
 *	wakeup:    d stays within [v + D_wakeup, v + D]: sleep earns nothing, and a debt
 *	           outlives it
 *	container: all entities without a deadline have one together, d_c, of 5 ms while
 *	           others have deadlines; so they do not starve
 *	pick:      the earliest d; if d_c is earlier, CFS picks an entity of the container
 *	miss:      an entity that has run and is still overdue shows that there is too much to do.
 *	           v goes back until the most urgent d is D/4 ahead: time passes more slowly
 *	           for all, and nobody's share or place changes
 *	timer:     a turn ends after 94.7 % of the time to the next d of those that wait
 *
 * Only groups have deadlines; in each queue, that is within each group, anew. Timer
 * and placement look at the root's queue only. While no deadline waits or runs in a
 * queue every decision there is CFS's; while no group in it has one, fdl_choose_hooks()
 * lends it CFS's hooks, so FDL costs nothing.
 *
 * Source: Fair Deadline RFC (docs/sources.md); docs/adr/010-fdl.md says where and why
 * this differs.
 */
#include "sched/fair/cfs/cfs.h"
#include "sched/fair/fdl/fdl.h"

static u32 nr_normal(const struct fair_queue *q)
{
	SCHED_DEBUG_ASSERT(q->nr_running >= fdl_queue(q)->nr);
	return q->nr_running - fdl_queue(q)->nr;
}

static void start_container(struct fair_queue *q)
{
	SCHED_DEBUG_ASSERT(!fdl_queue(q)->container);
	fdl_queue(q)->container = fdl_some(fdl_now(q) + tunables_of(q)->default_fair_dl);
}

/* --- the timer -------------------------------------------------------------- */

/* ns after which a turn should end if an entity with @deadline waits. */
static s64 time_until(const struct fair_queue *q, u64 deadline)
{
	s64 left = (s64)(deadline - fdl_now(q));

	return left > 0 ? (s64)((u64)left * tunables_of(q)->tick_margin >> 10) : left;
}

static u64 earliest_on_clock(const struct fair_queue *q)
{
	const struct entity *first = queue_earliest(q);

	return first ? first->due + fdl_queue(q)->lag : 0;
}

static u64 fdl_turn(struct rq *rq, struct entity *e)
{
	struct fair_queue *q = &rq->fair;
	struct entity *curr = q->curr, *first = queue_earliest(q);
	u64 next = first ? first->due : 0;
	s64 left, until;

	if (!fdl_queue(q)->nr)
		return fair_turn_of_slice(rq, e);
	WRITE_ONCE(fdl_queue(&rq->fair)->curr_hint, fdl_period(curr));
	WRITE_ONCE(fdl_queue(&rq->fair)->next_hint, earliest_on_clock(q));
	if (q->tasks.nr == 1)
		return 0;
	left = fair_slice_left(e);
	/* An entity without a deadline runs for the container. */
	if (curr->due && fdl_queue(q)->container &&
	    (!next || time_before(fdl_queue(q)->container, next)))
		next = fdl_queue(q)->container;
	until = next ? time_until(q, next) : left;
	if (until > 0 && left > 0)
		until = min(until, left);
	if (until <= 0)
		until = tunables_of(q)->tick_skip;
	return min((u64)until, (u64)tunables_of(q)->max_tick_interval);
}

/* An entity with @deadline begins to wait on the root's queue: the timer may be too late for it. */
static void shorten_turn(struct fair_queue *q, u64 deadline)
{
	struct rq *rq = q->rq;
	s64 until;

	debug_assert_locked(q->rq);
	if (q->owner || !q->curr)
		return;
	until = time_until(q, deadline);
	if (!rq->hrtick_at || time_before(rq->clock + (u64)max(until, 0ll), rq->hrtick_at))
		resched(rq);
}

/* --- where an entity enters, and when it leaves ------------------------------ */

static void enter_with_deadline(struct fair_queue *q, struct entity *e, unsigned flags)
{
	struct fdl_cpu *fdl = fdl_of(e);
	u64 v = fdl_now(q), latest = v + fdl->rr_ns, soonest = v + (fdl->wakeup_ns ?: fdl->rr_ns);

	SCHED_DEBUG_ASSERT(fdl_period(e));
	if (!e->due || (flags & ENQUEUE_UNTHROTTLE))
		e->due = fdl_some(soonest);
	else
		e->due = fdl_some(time_min(time_max(e->due, soonest), latest));
	fdl->waiting_since = q->rq->clock;
	fdl_queue(q)->nr++;
	fdl_queue(q)->weight += e->load.weight;
	q->timed_turns = true;
	if (q->owner)
		return;
	if (!rb_first(&q->due) || time_before(e->due, queue_earliest(q)->due))
		WRITE_ONCE(fdl_queue(&q->rq->fair)->next_hint, e->due + fdl_queue(q)->lag);
	shorten_turn(q, e->due);
}

static void enter_without(struct fair_queue *q)
{
	if (!fdl_queue(q)->nr || nr_normal(q))
		return;
	start_container(q);
	shorten_turn(q, fdl_queue(q)->container);
}

static __noinline void place(struct fair_queue *q, struct entity *e, unsigned flags)
{
	cfs_place(q, e, flags);
	if (flags & (PLACE_NEW | PLACE_SLEEPER | PLACE_ASLEEP))
		return;
	if (fdl_period(e))
		enter_with_deadline(q, e, flags);
	else
		enter_without(q);
}

static void fdl_place(struct fair_queue *q, struct entity *e, unsigned flags)
{
	if (likely(!e->own_queue && !fdl_queue(q)->nr))
		cfs_place(q, e, flags);
	else
		place(q, e, flags);
}

/* Its deadline stays with it: what it owes. */
static __noinline void leave_deadlines(struct fair_queue *q, struct entity *e)
{
	SCHED_DEBUG_ASSERT(!e->due || fdl_queue(q)->nr);
	if (!e->queued)
		return;
	if (!e->due) {
		if (nr_normal(q) == 1)
			fdl_queue(q)->container = 0;
		return;
	}
	fdl_queue(q)->nr--;
	fdl_queue(q)->weight -= e->load.weight;
	q->timed_turns = fdl_queue(q)->nr != 0;
	if (!q->owner)
		WRITE_ONCE(fdl_queue(&q->rq->fair)->next_hint, earliest_on_clock(q));
}

static bool fdl_leave(struct fair_queue *q, struct entity *e, unsigned flags)
{
	if (unlikely(fdl_queue(q)->nr | fdl_queue(q)->container))
		leave_deadlines(q, e);
	return cfs_leave(q, e, flags);
}

/* The deadlines' part of the total weight follows; a place among deadlines is kept. */
static void fdl_reweight(struct fair_queue *q, struct entity *e, u64 weight)
{
	SCHED_DEBUG_ASSERT(!e->queued || !e->due || fdl_queue(q)->weight >= e->load.weight);
	if (e->queued && e->due)
		fdl_queue(q)->weight += weight - e->load.weight;
}

/* --- running ----------------------------------------------------------------- */

static void fdl_charge(struct fair_queue *q, struct entity *e, u64 delta)
{
	if (unlikely(e->due | fdl_queue(q)->container))
		fdl_charge_deadline(q, e, delta);
	cfs_charge(q, e, delta);
}

/* --- comparing ---------------------------------------------------------------- */

static struct entity *first_by_deadline(const struct fair_queue *q)
{
	struct entity *first = queue_earliest(q), *curr = q->curr;

	if (!curr || !curr->queued || !curr->due)
		return first;
	return first && time_before(first->due, curr->due) ? first : curr;
}

/* Is the container's turn before that of @first? */
static bool container_is_first(const struct fair_queue *q, const struct entity *first)
{
	SCHED_DEBUG_ASSERT(first);
	return fdl_queue(q)->container && time_before(fdl_queue(q)->container, first->due);
}

/* Buddies that have deadlines by now are none for CFS. */
static struct entity *pick_normal(struct fair_queue *q)
{
	if (cfs_queue(q)->next && cfs_queue(q)->next->due)
		cfs_queue(q)->next = NULL;
	if (cfs_queue(q)->last && cfs_queue(q)->last->due)
		cfs_queue(q)->last = NULL;
	if (cfs_queue(q)->skip && cfs_queue(q)->skip->due)
		cfs_queue(q)->skip = NULL;
	return cfs_pick_by(q, q->curr && q->curr->due ? NULL : q->curr, cfs_granularity);
}

/* @e, which waited, has been chosen. */
static void count_pick(struct fair_queue *q, struct entity *e)
{
	struct fdl_cpu *fdl = fdl_of(e);
	u64 since = time_max(fdl->waiting_since, e->exec_start);

	SCHED_DEBUG_ASSERT(e->due && e != q->curr);
	fdl->nr_picks++;
	fdl->max_gap_ns = max(fdl->max_gap_ns, sub_floor0(q->rq->clock, since));
}

static __noinline struct entity *pick_by_deadline(struct fair_queue *q)
{
	struct entity *e;

	if (!fdl_queue(q)->container && nr_normal(q))
		start_container(q);
	e = first_by_deadline(q);
	because(q, RULE_group_deadline);
	if (container_is_first(q, e)) {
		fdl_of(e)->nr_container_picks++;
		e = pick_normal(q);
		because(q, RULE_container_turn);
	} else if (e != q->curr) {
		count_pick(q, e);
	}
	/* It runs on, and the timer has been used. */
	if (e == q->curr && !q->owner)
		fair_start_turn(q->rq, q->rq->curr);
	return e;
}

static struct entity *fdl_pick(struct fair_queue *q)
{
	return likely(!fdl_queue(q)->nr) ? cfs_pick(q) : pick_by_deadline(q);
}

static bool fdl_preempts(struct fair_queue *q, struct entity *curr, struct entity *woken,
			 unsigned flags)
{
	u64 container = fdl_queue(q)->container;

	if (likely(!curr->due && !woken->due))
		return cfs_preempts(q, curr, woken, flags);
	because(q, RULE_deadlines_compared);
	if (curr->due && woken->due)
		return time_before(woken->due, curr->due);
	because(q, RULE_container_order);
	if (woken->due)
		return !container || time_before(woken->due, container);
	return container && time_before(container, curr->due);
}

/* The timer ends turns of the root's queue; below it a tick is as good as it gets. */
static bool fdl_tick_expired(struct fair_queue *q, struct entity *e)
{
	struct entity *first;

	if (likely(!fdl_queue(q)->nr))
		return cfs_tick_expired(q, e);
	first = first_by_deadline(q);
	because(q, RULE_container_order);
	if (q->owner && container_is_first(q, first) == !!e->due)
		return true;
	because(q, RULE_deadlines_compared);
	if (e->due)
		return q->owner && first != e;
	because(q, RULE_slice);
	return queue_first(q) && cfs_tick_expired(q, e);
}

static const struct fair_hooks *fdl_choose_hooks(const struct fair_queue *q)
{
	return fdl_queue(q)->nr_groups ? &fdl_policy.hooks : &cfs_policy.hooks;
}

const struct fair_policy fdl_policy = {
	FAIR_DEFAULTS,
	.name = "fdl",
	.traits = TRAITS_OF_VIRTUAL_TIME | BIT(TRAIT_PROPORTIONAL) | BIT(TRAIT_BOUNDED_LAG) |
		  BIT(TRAIT_DEADLINES),
	.features_mask = BIT(FEATURE_GENTLE_FAIR_SLEEPERS) | BIT(FEATURE_NEXT_BUDDY),
	.features_on = BIT(FEATURE_GENTLE_FAIR_SLEEPERS),
	.key = TIMELINE_KEY(vruntime),
	.hooks.place = fdl_place,
	.hooks.charge = fdl_charge,
	.hooks.pick = fdl_pick,
	.hooks.tick_expired = fdl_tick_expired,
	.hooks.preempts = fdl_preempts,
	.hooks.leave = fdl_leave,
	.hooks.yield = cfs_yield,
	.hooks.reweight = fdl_reweight,
	CFS_RULES,
	.choose_hooks = fdl_choose_hooks,
	.demand = fdl_demand,
	.params = fdl_params,
	.nominate = cfs_nominate,
	.nominated = cfs_nominated,
	.nominates_woken = cfs_is_crowded,
	.slice = cfs_slice,
	.shares = fdl_shares,
	.turn = fdl_turn,
	.select_cpu = fdl_select_cpu,
	.forget_group = fdl_forget_group,
	.numbers = fdl_numbers,
	.candidates = fdl_candidates,
	.queue_numbers = fdl_queue_numbers,
	.dump = fdl_dump,
	.dump_queue = fdl_dump_queue,
	.check = fdl_check,
};
