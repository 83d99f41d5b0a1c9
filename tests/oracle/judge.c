/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The judge: stands between the fair class and a policy's hooks. Before each call it copies what
 * the hook sees, after it asks the oracle of the policy whether what happened is right.
 *
 * A queue asks its policy through queue->hooks and in no other way (policy.h), so a table of hooks
 * of the judge's own, put there, sees every decision. The queue's policy stays what it is.
 */
#include "sim/explore/judge.h"
#include "tests/oracle/oracle.h"
#include "tests/oracle/quota.h"
#include "tests/oracle/urgent.h"

static const struct oracle *const oracles[] = { &cfs_oracle, &bore_cfs_oracle, &eevdf_oracle,
						&bore_oracle, &fdl_oracle };

struct judge {
	struct fair_hooks hooks;
	const struct oracle *oracle;
};

static struct judge judges[ARRAY_SIZE(oracles)];

static struct view *innermost; /* of the hooks that are being called; NULL: none is */

static const struct oracle *oracle_of(const struct fair_queue *q)
{
	return container_of(q->hooks, struct judge, hooks)->oracle;
}

#define JUDGE(is_right, what)                                                                      \
	do {                                                                                       \
		if (unlikely(!(is_right)))                                                         \
			host_bug(__FILE__, __LINE__, "the oracle disagrees: " what);               \
	} while (0)

/* --- looking ---------------------------------------------------------------------------------- */

static void see(struct row *row, struct entity *e)
{
	*row = (struct row){
		.e = e,
		.v = e->vruntime,
		.weight = weight_of(e),
		.due = e->due,
		.sum_exec = e->sum_exec,
		.prev_sum_exec = e->prev_sum_exec,
		.queued = e->queued,
		.idle = e->own_queue ? e->own_queue->idle : task_of(e)->policy == SCHED_IDLE,
	};
	__builtin_memcpy(row->state, e->policy_state, sizeof(row->state));
}

static void see_subtree(struct view *v, struct rb_node *node)
{
	if (!node)
		return;
	see_subtree(v, node->left);
	JUDGE(v->nr < VIEW_ROWS, "a tree is larger than the number of entities");
	see(&v->row[v->nr++], container_of(node, struct entity, node));
	see_subtree(v, node->right);
}

const struct row *row_of(const struct view *v, const struct entity *e)
{
	for (u32 i = 0; i < v->nr; i++)
		if (v->row[i].e == e)
			return &v->row[i];
	return NULL;
}

static void look(struct view *v, struct fair_queue *q, struct entity *e)
{
	v->q = q;
	v->s = q->rq->s;
	v->nr = 0;
	v->curr = q->curr && q->curr->queued ? q->curr : NULL;
	v->curr_v = q->curr ? q->curr->vruntime : 0;
	v->state = q->policy_state;
	see_subtree(v, q->timeline.root);
	see_subtree(v, q->due.root);
	if (v->curr)
		see(&v->row[v->nr++], v->curr);
	v->subject.e = NULL;
	if (!e)
		return;
	see(&v->subject, e);
	/* About to leave it is out of the tree, but still one of the queue's. */
	if (e->queued && !row_of(v, e))
		v->row[v->nr++] = v->subject;
}

/* One hook may call another: the views are on the stacks of the callers. */
static void begin(struct view *v, struct fair_queue *q, struct entity *e)
{
	look(v, q, e);
	v->first = v->subject;
	v->reweighed = v->charges = false;
	v->outer = innermost;
	innermost = v;
}

static void end(struct view *v)
{
	innermost = v->outer;
	if (v->subject.e && !(v->charges && v->reweighed))
		see(&v->now, v->subject.e);
}

/*
 * The exact value is ns * 1024 / weight. The policy multiplies by an inverse of 32 bits, which is
 * less than a unit too small, or half a unit too large if it is from the table: a relative error of
 * weight / 2^32. More low bits may be lost, below 2^-31.
 */
struct range virtual_range(u64 ns, s64 weight)
{
	s128 exact = (s128)ns * 1024;
	s128 slack =
		(exact >> 30) + (s128)(((unsigned __int128)exact * (u64)weight) >> 32) + 2 * weight;
	s128 low = exact - slack, high = exact + slack;

	return (struct range){
		.low = low < 0 ? -(-low / weight) : (low + weight - 1) / weight,
		.high = high / weight,
	};
}

bool is_virtual(s128 virtual, u64 ns, s64 weight)
{
	return is_in(virtual, virtual_range(ns, weight));
}

/* --- the hooks -------------------------------------------------------------------------------- */

static struct entity *judge_pick(struct fair_queue *q)
{
	const struct oracle *oracle = oracle_of(q);
	struct entity *e;
	struct view v;

	begin(&v, q, NULL);
	JUDGE(v.nr == q->nr_running, "an entity is counted but in no tree, or in one uncounted");
	e = oracle->of->pick(q);
	end(&v);
	JUDGE(e || !v.nr, "pick: nobody");
	JUDGE(!e || row_of(&v, e), "pick: not queued");
	JUDGE(!e || !oracle->pick || oracle->pick(&v, e), "pick");
	return e;
}

static bool judge_preempts(struct fair_queue *q, struct entity *curr, struct entity *woken,
			   unsigned flags)
{
	const struct oracle *oracle = oracle_of(q);
	struct view v;
	bool yes;

	begin(&v, q, curr);
	yes = oracle->of->preempts(q, curr, woken, flags);
	end(&v);
	JUDGE(!oracle->preempts || oracle->preempts(&v, curr, woken, flags, yes), "preempts");
	return yes;
}

static bool judge_tick_expired(struct fair_queue *q, struct entity *e)
{
	const struct oracle *oracle = oracle_of(q);
	struct view v;
	bool yes;

	begin(&v, q, e);
	yes = oracle->of->tick_expired(q, e);
	end(&v);
	JUDGE(!oracle->tick_expired || oracle->tick_expired(&v, e, yes), "tick_expired");
	return yes;
}

/* An entity that enters for a group was weighed just before; while that is empty it is not. */
static bool has_fresh_weight(const struct entity *e, unsigned flags)
{
	const unsigned moments = PLACE_NEW | PLACE_SLEEPER | PLACE_ASLEEP | PLACE_SWAPPED;

	return e->own_queue && e->own_queue->nr_running && !e->queued && !(flags & moments);
}

static void judge_place(struct fair_queue *q, struct entity *e, unsigned flags)
{
	const struct oracle *oracle = oracle_of(q);
	struct view v;

	if (has_fresh_weight(e, flags))
		JUDGE(e->load.weight == weight_of_group(e), "the weight of a group");
	begin(&v, q, e);
	oracle->of->place(q, e, flags);
	end(&v);
	JUDGE(!oracle->place || oracle->place(&v, e, flags), "place");
}

static void judge_charge(struct fair_queue *q, struct entity *e, u64 delta)
{
	const struct oracle *oracle = oracle_of(q);
	struct view v;

	begin(&v, q, e);
	v.charges = true;
	oracle->of->charge(q, e, delta);
	end(&v);
	JUDGE(!oracle->charge || oracle->charge(&v, e, delta), "charge");
	quota_charge(q, delta);
}

static bool judge_leave(struct fair_queue *q, struct entity *e, unsigned flags)
{
	const struct oracle *oracle = oracle_of(q);
	struct view v;
	bool stays;

	begin(&v, q, e);
	stays = oracle->of->leave(q, e, flags);
	end(&v);
	JUDGE(!oracle->leave || oracle->leave(&v, e, flags, stays), "leave");
	return stays;
}

static void judge_yield(struct fair_queue *q, struct entity *e)
{
	const struct oracle *oracle = oracle_of(q);
	struct view v;

	begin(&v, q, e);
	oracle->of->yield(q, e);
	end(&v);
	JUDGE(!oracle->yield || oracle->yield(&v, e), "yield");
}

/* A charge that is going on is judged by what was before, any other hook by what is now. */
static void tell_outer(struct view *outer, const struct view *before, struct fair_queue *q,
		       struct entity *e, s64 weight)
{
	if (!outer || outer->subject.e != e || outer->reweighed)
		return;
	outer->reweighed = true;
	outer->now = before->subject;
	if (outer->charges)
		return;
	look(outer, q, e);
	outer->subject.weight = weight;
	for (u32 i = 0; i < outer->nr; i++)
		if (outer->row[i].e == e)
			outer->row[i].weight = weight;
}

static void judge_reweight(struct fair_queue *q, struct entity *e, u64 weight)
{
	const struct oracle *oracle = oracle_of(q);
	s64 scaled = max((s64)(weight >> 10), 2ll);
	struct view v;

	JUDGE(!e->own_queue || weight == weight_of_group(e), "the weight of a group");
	begin(&v, q, e);
	oracle->of->reweight(q, e, weight);
	end(&v);
	JUDGE(!oracle->reweight || oracle->reweight(&v, e, scaled), "reweight");
	tell_outer(v.outer, &v, q, e, scaled);
}

/* --- attaching -------------------------------------------------------------------------------- */

static void open_court(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(oracles); i++)
		judges[i] = (struct judge){
			.hooks = {
				.place = judge_place,
				.charge = judge_charge,
				.pick = judge_pick,
				.tick_expired = judge_tick_expired,
				.preempts = judge_preempts,
				.leave = judge_leave,
				.yield = judge_yield,
				.reweight = judge_reweight,
			},
			.oracle = oracles[i],
		};
}

/* A policy without an oracle, such as one of --plugin: only the accountant hears of its charges. */
static struct fair_hooks guest;
static const struct fair_hooks *guest_own;

static void judge_guest_charge(struct fair_queue *q, struct entity *e, u64 delta)
{
	guest_own->charge(q, e, delta);
	quota_charge(q, delta);
}

static void attach_queue(struct fair_queue *q)
{
	for (unsigned i = 0; i < ARRAY_SIZE(oracles); i++) {
		if (q->hooks == oracles[i]->of)
			q->hooks = &judges[i].hooks;
		if (q->hooks == &judges[i].hooks)
			return;
	}
	if (q->hooks == &guest)
		return;
	guest_own = q->hooks;
	guest = *guest_own;
	guest.charge = judge_guest_charge;
	q->hooks = &guest;
}

static bool dismissed;

void judge_dismiss(void)
{
	dismissed = true;
}

void judge_event(struct sched *s, const struct sched_event *event)
{
	if (!dismissed)
		quota_event(s, event);
}

void judge_limits(struct sched *s, const struct task_group *tg, u64 quota_ns, u64 period_ns,
		  u64 burst_ns)
{
	if (!dismissed)
		quota_limits(s, tg, quota_ns, period_ns, burst_ns);
}

const struct ext_ops *judge_scheduler(const struct ext_ops *ops, bool tells)
{
	return dismissed ? ops : stand_before(ops, tells);
}

void judge_queues(struct sched *s)
{
	struct fair_queue *q;

	if (dismissed)
		return;
	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++)
		for_each_fair_queue(q, cpu_rq(s, cpu))
			attach_queue(q);
}

void judge_attach(struct sched *s)
{
	if (dismissed)
		return;
	/* No judge has seen this machine yet. */
	if (s->class_copy[CLASS_rt].pick == s->class_own[CLASS_rt]->pick)
		quota_open(s);
	judge_urgent(s);
	judge_dispatch(s);
	quota_compare(s);
	if (!judges[0].oracle)
		open_court();
	innermost = NULL; /* a hook that failed did not return */
	JUDGE(bore_is_tuned(s), "a runqueue has old tunables");
	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++)
		JUDGE(!cpu_rq(s, cpu)->pulling, "a CPU pulls, though no operation goes on");
	judge_queues(s);
}
