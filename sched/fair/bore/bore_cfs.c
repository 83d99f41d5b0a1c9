/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BORE 2.2.8 on CFS: the Burst-Oriented Response Enhancer for Linux 6.1.
 *
 * Tasks that use the CPU in long bursts pay more for it. A burst ends when the task sleeps or
 * yields; the score of the longer of its current burst and its smoothed past is 0..39:
 *
 *	penalty = (log2(burst) + 1 - penalty_offset) * penalty_scale / 1024, not below 0
 *	score   = whole part of penalty, at most 39
 *	past    = (burst + past * (2^smoothness - 1)) / 2^smoothness, when a burst ends
 *
 *	charge:  vruntime advances as if the nice value were higher by score - 20 (sched_bore,
 *	         bit 0): at 1/87 of its rate with score 0, at 68 times with 39
 *	wakeup:  to preempt, and to be picked as a buddy, a burstier task needs a longer
 *	         granularity, by half the difference of the scores in nice levels (bit 1)
 *	fork:    the child's past is its creator's, or the average of its creator's siblings
 *	         if that is longer, taken every cache_lifetime
 *
 * A group's entity has bursts as a task has. All else is CFS's. Credit, latency and granularities
 * are not scaled, so that a sleeper of score 0 can use half a second of CPU before its credit is
 * gone.
 *
 * Differences: a new task's debit is scaled by its score, as from 3.1.0 on: before that 1 ms of it
 * was 87 ms of waiting for one that yields all the time. The last piece of a burst belongs to it,
 * while 2.2.8 counted it in the next one; the family's average is taken over at most BURST_LOOKS
 * tasks, and not over those of other classes; the guard against overflow of vruntime distances
 * fits the higher rate.
 * Source: BORE 2.2.8 (docs/sources.md).
 */
#include "sched/fair/bore/burst.h"
#include "sched/fair/cfs/cfs.h"

enum mode { SCALE_VRUNTIME = 1, SCALE_GRANULARITY = 2 };

#define FRACTION_BITS 10
#define AVERAGE_SHIFT 9 /* averages of times in units of 512 ns */

/* --- bursts --------------------------------------------------------------- */

struct bore_cfs_queue {
	struct burst_params params; /* of the root's queue: of the runqueue */
};
POLICY_QUEUE_STATE(bore_cfs)

static struct burst_params *bore_cfs_params(const struct rq *rq)
{
	return &bore_cfs_queue(&rq->fair)->params;
}

static unsigned score_of(const struct rq *rq, u64 ns)
{
	u32 penalty = burst_penalty(bore_cfs_params(rq), ns, FRACTION_BITS, 10);

	return min(penalty >> FRACTION_BITS, BURST_SCORE_MAX);
}

static void update_score(struct rq *rq, struct entity *e)
{
	burst_entity(e)->score = (u8)score_of(rq, burst_entity(e)->worst);
}

static void end_burst(struct rq *rq, struct entity *e)
{
	unsigned shift = rq->s->tunable.bore_cfs_smoothness;
	struct burst *b = burst_entity(e);

	b->past = (b->time + b->past * ((1u << shift) - 1)) >> shift;
	b->worst = b->past;
	b->time = 0;
	update_score(rq, e);
}

/*
 * Linux calls its hook before the copy of a task has got a parent of its own: what counts as the
 * parent is the creator's.
 */
static void bore_cfs_fork(struct sched *s, struct task *parent, struct task *child, unsigned flags)
{
	struct task *grandparent = parent->family.leader->family.parent;
	struct burst *b = burst_entity(&child->fair);
	struct burst_survey survey = {
		.policy = &bore_cfs_policy,
		.now = host_clock(parent->cpu),
		.lifetime_ns = s->tunable.bore_cfs_cache_lifetime,
		.stop_count = BURST_LOOKS,
		.unit_shift = AVERAGE_SHIFT,
		.nr_looks = BURST_LOOKS,
	};

	SCHED_DEBUG_ASSERT(host_lock_held(&s->family_lock));
	(void)flags;
	child->fair.policy = &bore_cfs_policy;
	if (parent->fair.policy == &bore_cfs_policy)
		b->past = READ_ONCE(burst_entity(&parent->fair)->past);
	if (grandparent)
		b->past = max(b->past, burst_of_children(&survey, grandparent));
	b->worst = b->past;
}

static void bore_cfs_reset(struct entity *e)
{
	*burst_entity(e) = (struct burst){ 0 };
}

static void bore_cfs_tuned(struct rq *rq)
{
	const struct tunables *tn = &rq->s->tunable;
	struct fair_queue *q;
	struct task *t;

	*bore_cfs_params(rq) = (struct burst_params){
		.mode = tn->bore_cfs,
		.offset = tn->bore_cfs_offset,
		.scale = tn->bore_cfs_scale,
	};
	/* Before a swap others' numbers lie there still. */
	list_for_each(t, &rq->fair_tasks, link)
		if (t->fair.policy == &bore_cfs_policy)
			update_score(rq, &t->fair);
	list_for_each(q, &rq->queues, link)
		if (q->owner->policy == &bore_cfs_policy)
			update_score(rq, q->owner);
}

/* --- where CFS differs ----------------------------------------------------- */

/* The virtual time of @e that @ns of CPU time are. */
static u64 virtual_time(const struct rq *rq, struct entity *e, u64 ns)
{
	u64 v = calc_delta_fair(ns, e);

	return bore_cfs_params(rq)->mode & SCALE_VRUNTIME ? burst_stretch(v, burst_entity(e)->score)
							  : v;
}

static void bore_cfs_charge(struct fair_queue *q, struct entity *e, u64 delta)
{
	SCHED_DEBUG_ASSERT(e == q->curr);
	burst_entity(e)->time += delta;
	burst_entity(e)->worst = max(burst_entity(e)->worst, burst_entity(e)->time);
	update_score(q->rq, e);
	cfs_charge_virtual(q, e, virtual_time(q->rq, e, delta));
}

static u64 bore_cfs_granularity(struct fair_queue *q, struct entity *curr, struct entity *woken)
{
	const struct burst *running = burst_entity(curr), *waiting = burst_entity(woken);
	unsigned more = (unsigned)sub_floor0(waiting->score, running->score) / 2;
	u64 granularity = cfs_granularity(q, curr, woken);

	if (!(bore_cfs_params(q->rq)->mode & SCALE_GRANULARITY))
		return granularity;
	return burst_stretch(granularity, min(20 + more, BURST_SCORE_MAX));
}

static void bore_cfs_place(struct fair_queue *q, struct entity *e, unsigned flags)
{
	/* Virtual time runs at most at 1024 * 128 times the real one's rate. */
	const s64 longest_sleep_ns = (1ll << 62) / (512 * 128);

	update_score(q->rq, e);
	if (flags & PLACE_NEW)
		cfs_place_new(q, e, virtual_time(q->rq, e, q->policy->slice(q, e)));
	else
		cfs_place_by(q, e, flags, longest_sleep_ns);
}

static struct entity *bore_cfs_pick(struct fair_queue *q)
{
	return cfs_pick_by(q, q->curr, bore_cfs_granularity);
}

static bool bore_cfs_preempts(struct fair_queue *q, struct entity *curr, struct entity *woken,
			      unsigned flags)
{
	(void)flags;
	return cfs_preempts_by(q, curr, woken, bore_cfs_granularity);
}

static void bore_cfs_yield(struct fair_queue *q, struct entity *e)
{
	end_burst(q->rq, e);
	cfs_yield(q, e);
}

static bool bore_cfs_leave(struct fair_queue *q, struct entity *e, unsigned flags)
{
	if ((flags & (DEQUEUE_SLEEP | QUEUE_SAVE | DEQUEUE_AWAKE)) == DEQUEUE_SLEEP)
		end_burst(q->rq, e);
	return cfs_leave(q, e, flags);
}

/* --- looking at it ---------------------------------------------------------- */

static void check_burst(struct fair_queue *q, const struct entity *e)
{
	const struct burst *b = burst_entity(e);

	SCHED_CHECK(T6, b->worst == max(b->past, b->time));
	SCHED_CHECK(T6, b->score == score_of(q->rq, b->worst));
}

static void bore_cfs_check(struct fair_queue *q)
{
	cfs_check(q);
	for (struct entity *e = queue_any(q); e; e = queue_another(q, e))
		check_burst(q, e);
}

BURST_CANDIDATES(bore_cfs, cfs)

static void bore_cfs_dump(struct entity *e, struct text *out)
{
	dump_task_number(out, "se.burst_time", burst_entity(e)->time);
	dump_task_number(out, "se.prev_burst_time", burst_entity(e)->past);
	dump_task_number(out, "se.max_burst_time", burst_entity(e)->worst);
	dump_task_number(out, "se.penalty_score", burst_entity(e)->score);
}

const struct fair_policy bore_cfs_policy = {
	FAIR_DEFAULTS,
	.name = "bore-cfs",
	.traits = TRAITS_OF_VIRTUAL_TIME | BIT(TRAIT_YIELDS_ALONE) | BIT(TRAIT_FAST_VTIME) |
		  BIT(TRAIT_SCORES),
	.features_mask = BIT(FEATURE_GENTLE_FAIR_SLEEPERS) | BIT(FEATURE_NEXT_BUDDY),
	.features_on = BIT(FEATURE_NEXT_BUDDY),
	.key = TIMELINE_KEY(vruntime),
	.hooks.place = bore_cfs_place,
	.hooks.charge = bore_cfs_charge,
	.hooks.pick = bore_cfs_pick,
	.hooks.tick_expired = cfs_tick_expired,
	.hooks.preempts = bore_cfs_preempts,
	.hooks.leave = bore_cfs_leave,
	.hooks.yield = bore_cfs_yield,
	CFS_RULES,
	.nominate = cfs_nominate,
	.nominated = cfs_nominated,
	.nominates_woken = cfs_is_crowded,
	.slice = cfs_slice,
	.reset = bore_cfs_reset,
	.fork = bore_cfs_fork,
	.tuned = bore_cfs_tuned,
	.numbers = bore_cfs_numbers,
	.candidates = bore_cfs_candidates,
	.queue_numbers = cfs_queue_numbers,
	.dump = bore_cfs_dump,
	.dump_queue = cfs_dump_queue,
	.check = bore_cfs_check,
};
