/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BORE 5.9.6: the Burst-Oriented Response Enhancer on EEVDF (Linux 6.12).
 *
 * A task's score, 0..39, is added to its nice value: the longer its bursts of CPU time between
 * sleeps or yields, the less it weighs, up to 68 times less at nice 0. All that follows from weight
 * follows from that: share, deadlines, balancing. (greed and fractions: burst.h)
 *
 *	penalty = (log2(burst) + 1 - penalty_offset) * penalty_scale / 256, in quarters of a
 *	          score, 0..156
 *	worst   = the larger of the past penalty and that of the current burst
 *	score   = worst / 4; 0 for kernel threads if exclude_kthreads
 *	weight  = that of nice value + score, at most that of nice 19
 *
 *	charge: EEVDF's; then the burst is longer, and a new score reweights, V standing still
 *	sleep, yield: the burst ends. past += (burst's - past) / 2^smoothness_long if that
 *	        is an increase, past -= (past - burst's) / 2^smoothness_short if not
 *	yield:  what is left of the request is stretched to the new weight; then EEVDF's
 *	place:  new and woken tasks (deadline_boost_mask) ask for half a slice first
 *	pick:   the running task is protected only while parity_threshold, if not 0, or fewer
 *	        are queued
 *	leave:  half of the lag that EEVDF keeps, at most
 *	slice:  whole ticks, the first number of them that reaches min_base_slice_ns
 *	fork:   the past is the creator's, as if its burst ended now, or what is usual
 *	        in the family if that is more: for a thread the average of its process;
 *	        else of the creator's children (fork_atavistic 0), or of the descendants,
 *	        fork_atavistic branchings deep, of the nearest ancestor that has more than one
 *	        child. An average holds for cache_lifetime, over cache_stop_count tasks at most
 *
 * With sched_bore 0 scores are kept but do nothing; setting it reweights what is queued at once and
 * a sleeper when it wakes. What leaves the fair class has no past when it returns.
 *
 * Differences: EEVDF is eevdf.c's, with its corrections. Time is charged under the weight it was
 * run with, not that of the score it leads to. SCHED_IDLE tasks keep theirs, as from 6.5 on. A
 * process's children count as its first task's (family.c). Surveys end after BURST_LOOKS tasks.
 * Source: BORE 5.9.6 (docs/sources.md).
 */
#include "sched/fair/bore/burst.h"
#include "sched/fair/eevdf/eevdf.h"

#define FRACTION_BITS 8
#define SCALE_SHIFT   16
#define PENALTY_MAX   (BURST_SCORE_MAX << 2)

struct bore_queue {
	struct burst_params params; /* of the root's queue: of the runqueue */
};
POLICY_QUEUE_STATE(bore)

static struct burst_params *bore_params(const struct rq *rq)
{
	return &bore_queue(&rq->fair)->params;
}

static bool is_on(const struct fair_queue *q)
{
	return bore_params(q->rq)->mode;
}

/* --- scores ----------------------------------------------------------------- */

static u64 penalty_of(const struct burst_params *params, u64 ns)
{
	return min(burst_penalty(params, ns, FRACTION_BITS, SCALE_SHIFT), PENALTY_MAX);
}

static unsigned score_of(const struct burst_params *params, const struct task *t, u64 penalty)
{
	return t->kthread && params->spare_kthreads ? 0 : (unsigned)penalty >> 2;
}

/* The part of the score that the weight is to contain. */
static unsigned share_of_score(const struct burst_params *params, const struct task *t)
{
	return params->mode && t->policy != SCHED_IDLE ? burst_entity(&t->fair)->score : 0;
}

static struct load_weight bore_weight(const struct task *t)
{
	int nice = PRIO_TO_NICE(t->static_prio) + burst_entity(&t->fair)->applied;

	return t->policy == SCHED_IDLE ? weight_of_idle() : weight_of_nice(min(nice, 19));
}

/* The score follows the bursts and the tunables, the weight the score. */
static void update_score(const struct burst_params *params, struct entity *e)
{
	struct task *t = task_of(e);
	struct burst *b = burst_entity(e);
	unsigned applied;

	debug_assert_locked(e->queue->rq);
	b->worst = max(b->past, penalty_of(params, b->time));
	b->score = (u8)score_of(params, t, b->worst);
	applied = share_of_score(params, t);
	if (likely(applied == b->applied))
		return;
	b->applied = (u8)applied;
	fair_reweight(e, bore_weight(t));
}

static u64 smooth(const struct tunables *tn, u64 past, u64 present)
{
	if (present >= past)
		return past + ((present - past) >> tn->bore_smoothness_long);
	return past - ((past - present) >> tn->bore_smoothness_short);
}

static void end_burst(struct fair_queue *q, struct entity *e)
{
	struct burst *b = burst_entity(e);

	b->past = smooth(tunables_of(q), b->past, penalty_of(bore_params(q->rq), b->time));
	b->time = 0;
	update_score(bore_params(q->rq), e);
}

/* --- inheritance ------------------------------------------------------------ */

/*
 * Where the family branches: up from @t as long as there are no more than @nr_new children, then no
 * more than the one from which the way led up.
 */
static struct task *hub_above(struct task *t, unsigned nr_new)
{
	unsigned looks = BURST_LOOKS;

	while (t->family.parent && t->family.nr_children <= nr_new && looks--) {
		t = t->family.parent;
		nr_new = 1;
	}
	return t;
}

static u64 usual_penalty(struct sched *s, struct task *parent, unsigned flags)
{
	const struct tunables *tn = &s->tunable;
	struct task *leader = parent->family.leader, *ancestor = leader;
	struct burst_survey survey = {
		.policy = &bore_policy,
		.now = host_clock(parent->cpu),
		.lifetime_ns = tn->bore_cache_lifetime,
		.stop_count = tn->bore_cache_stop_count,
		.nr_looks = BURST_LOOKS,
	};

	if (flags & FORK_THREAD)
		return burst_of_threads(&survey, leader);
	if ((flags & FORK_SIBLING) && leader->family.parent)
		ancestor = leader->family.parent;
	if (!tn->bore_fork_atavistic)
		return burst_of_children(&survey, ancestor);
	ancestor = hub_above(ancestor, ancestor != leader);
	return burst_of_descendants(&survey, ancestor, tn->bore_fork_atavistic - 1);
}

static void bore_fork(struct sched *s, struct task *parent, struct task *child, unsigned flags)
{
	const struct burst_params *params = bore_params(cpu_rq(s, parent->cpu));
	struct burst *b = burst_entity(&child->fair);

	child->fair.policy = &bore_policy;
	if (parent->fair.policy == &bore_policy && task_is_fair(parent))
		b->past = smooth(&s->tunable, READ_ONCE(burst_entity(&parent->fair)->past),
				 penalty_of(params, READ_ONCE(burst_entity(&parent->fair)->time)));
	b->past = max(b->past, usual_penalty(s, parent, flags));
	b->worst = b->past;
}

/* --- where EEVDF differs ------------------------------------------------------ */

static void bore_reset(struct entity *e)
{
	*burst_entity(e) = (struct burst){ 0 };
	eevdf_reset(e);
}

static void bore_tuned(struct rq *rq)
{
	const struct tunables *tn = &rq->s->tunable;
	struct task *t;

	*bore_params(rq) = (struct burst_params){
		.mode = tn->bore,
		.offset = tn->bore_offset,
		.scale = tn->bore_scale,
		.spare_kthreads = tn->bore_exclude_kthreads,
	};
	list_for_each(t, &rq->fair_tasks, link)
		if (t->fair.policy == &bore_policy)
			update_score(bore_params(rq), &t->fair);
}

static void bore_charge(struct fair_queue *q, struct entity *e, u64 delta)
{
	eevdf_charge(q, e, delta);
	if (!entity_is_task(e) || !e->queued)
		return;
	burst_entity(e)->time += delta;
	update_score(bore_params(q->rq), e);
}

static void bore_place(struct fair_queue *q, struct entity *e, unsigned flags)
{
	if (entity_is_task(e))
		update_score(bore_params(q->rq), e);
	eevdf_place(q, e, flags);
}

static u64 base_slice(const struct fair_queue *q)
{
	return tunables_of(q)->bore_base_slice_ns;
}

static bool begins_with_half(const struct fair_queue *q, unsigned flags)
{
	if (is_on(q))
		return flags & tunables_of(q)->bore_deadline_boost_mask;
	return eevdf_begins_with_half(q, flags);
}

static bool runs_to_parity(const struct fair_queue *q)
{
	u32 most = tunables_of(q)->bore_parity_threshold;

	if (is_on(q) && most && q->nr_running > most)
		return false;
	return eevdf_runs_to_parity(q);
}

static unsigned lag_halvings(const struct fair_queue *q)
{
	return is_on(q);
}

static const struct eevdf_rules bore_rules = {
	.base_slice = base_slice,
	.begins_with_half = begins_with_half,
	.runs_to_parity = runs_to_parity,
	.lag_halvings = lag_halvings,
};

/* @rest of a request under the weight of row @from of the nice table, under that of @to. */
static s64 stretch_rest(s64 rest, unsigned from, unsigned to)
{
	u64 ns = (u64)(rest < 0 ? -rest : rest);

	ns = ns * weight_down(weight_of_nice((int)from - 20).weight) >> 10;
	ns = burst_stretch(ns, to);
	return rest < 0 ? -(s64)ns : (s64)ns;
}

static unsigned row_of(const struct task *t)
{
	return min((unsigned)(t->static_prio - MAX_RT_PRIO) + burst_entity(&t->fair)->applied, 39u);
}

static void bore_yield(struct fair_queue *q, struct entity *e)
{
	s64 rest = (s64)(eevdf_entity(e)->deadline - e->vruntime);
	unsigned before = row_of(task_of(e)), after;

	end_burst(q, e);
	after = row_of(task_of(e));
	if (after < before)
		eevdf_entity(e)->deadline = e->vruntime + (u64)stretch_rest(rest, before, after);
	eevdf_yield(q, e);
}

static bool bore_leave(struct fair_queue *q, struct entity *e, unsigned flags)
{
	if ((flags & (DEQUEUE_SLEEP | DEQUEUE_DELAYED)) == DEQUEUE_SLEEP && entity_is_task(e))
		end_burst(q, e);
	return eevdf_leave(q, e, flags);
}

/* --- looking at it ------------------------------------------------------------ */

static void check_burst(const struct burst_params *params, struct entity *e)
{
	const struct burst *b = burst_entity(e);
	struct task *t = task_of(e);

	SCHED_CHECK(T6, b->worst == max(b->past, penalty_of(params, b->time)));
	SCHED_CHECK(T6, b->score == score_of(params, t, b->worst));
	SCHED_CHECK(T6, b->applied == share_of_score(params, t));
}

static void bore_check(struct fair_queue *q)
{
	eevdf_check(q);
	for (struct entity *e = queue_any(q); e; e = queue_another(q, e))
		if (entity_is_task(e))
			check_burst(bore_params(q->rq), e);
}

BURST_CANDIDATES(bore, eevdf)

static void bore_dump(struct entity *e, struct text *out)
{
	const struct burst *b = burst_entity(e);

	eevdf_dump(e, out);
	dump_task_number(out, "se.burst_time", b->time);
	dump_task_number(out, "se.prev_burst_penalty", b->past);
	dump_task_number(out, "se.curr_burst_penalty",
			 penalty_of(bore_params(e->queue->rq), b->time));
	dump_task_number(out, "se.burst_penalty", b->worst);
	dump_task_number(out, "se.burst_score", b->score);
}

const struct fair_policy bore_policy = {
	FAIR_DEFAULTS,
	.name = "bore",
	.traits = TRAITS_OF_VIRTUAL_TIME | BIT(TRAIT_REQUESTS) | BIT(TRAIT_ELIGIBLE) |
		  BIT(TRAIT_SCORES) | BIT(TRAIT_YIELDS_ALONE) | BIT(TRAIT_FAIR_SERVER),
	.features_mask = EEVDF_FEATURES,
	.features_on = EEVDF_FEATURES_ON,
	.moved_by_weight = true,
	.groups_first = true, .guess_in_load_units = true, .load_pause_ns = NS_PER_MS,
	.moves_new_budgets = true,
	.key = TIMELINE_KEY_IN(struct eevdf_entity, deadline),
	.rules = &bore_rules,
	.augment = eevdf_augment,
	.hooks.place = bore_place,
	.hooks.charge = bore_charge,
	.hooks.pick = eevdf_pick,
	.hooks.tick_expired = eevdf_tick_expired,
	.hooks.preempts = eevdf_preempts,
	.hooks.leave = bore_leave,
	.hooks.yield = bore_yield,
	.hooks.reweight = eevdf_reweight,
	EEVDF_RULES,
	.nominate = eevdf_nominate,
	.nominated = eevdf_nominated,
	.weight = bore_weight,
	.slice = eevdf_slice,
	.pass = eevdf_pass,
	.reset = bore_reset,
	.fork = bore_fork,
	.tuned = bore_tuned,
	.numbers = bore_numbers,
	.candidates = bore_candidates,
	.queue_numbers = eevdf_queue_numbers,
	.dump = bore_dump,
	.dump_queue = eevdf_dump_queue,
	.key_columns = EEVDF_KEY_COLUMNS,
	.dump_key = eevdf_dump_key,
	.check = bore_check,
};
