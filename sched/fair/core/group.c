/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Task groups: a group gets CPU time as one and divides it among its members.
 *
 * On each CPU a group has a queue of its members there and an entity that stands
 * for it one level up. What its shares are worth is divided among its entities in
 * proportion to the load of its queues:
 *
 *	weight on a CPU = shares * load of the queue there / load of all its queues
 *
 * and the sum is kept approximately: each queue adds what changed of its average
 * to group->load_avg, but only changes worth the contention.
 *
 * Averages of an entity follow its queue's: what comes to or goes from a queue
 * other than by time is passed up at the next update of each level.
 *
 * Locks: a queue's fields by the runqueue's; the tree of groups and their
 * parameters by the host (group.h); load_avg is atomic.
 * Source: Linux 6.1, fair.c and core.c (docs/sources.md).
 */
#include "sched/fair/core/class.h"
#include "sched/fair/core/pelt.h"
#include "sched/freq/freq.h"
#include "lib/errno.h"
#include "lib/string.h"

#define SHARES_TO_WEIGHT(shares) ((u64)(shares) << WEIGHT_SHIFT)
/* The least weight, unlike the least shares, is not scaled: it must only not be nothing. */
#define WEIGHT_MIN 2ull

struct fair_queue *group_queue(struct sched *s, struct task_group *tg, unsigned cpu)
{
	SCHED_DEBUG_ASSERT(cpu < s->nr_cpus);
	return tg ? &tg->cpu[cpu].queue : &cpu_rq(s, cpu)->fair;
}

/* --- weight --------------------------------------------------------------- */

/*
 * Add what changed of @q's load to the sum of its group. All CPUs write that sum, so a change of
 * less than a 64th is left for later. In Linux 6.12 a queue adds once in a millisecond at most.
 */
static void contribute(struct fair_queue *q)
{
	s64 delta = (s64)(q->avg.load_avg - q->load_contrib);
	u64 change = delta < 0 ? 0 - (u64)delta : (u64)delta;

	debug_assert_locked(q->rq);
	if (change <= q->load_contrib / 64 || time_before(q->rq->clock, q->load_due) ||
	    unlikely(!q->rq->online))
		return;
	__atomic_fetch_add(&q->group->load_avg, (u64)delta, __ATOMIC_RELAXED);
	q->load_contrib = q->avg.load_avg;
	q->load_due = q->rq->clock + q->policy->load_pause_ns;
}

void group_offline(struct fair_queue *q)
{
	debug_assert_locked(q->rq);
	__atomic_fetch_sub(&q->group->load_avg, q->load_contrib, __ATOMIC_RELAXED);
	q->load_contrib = 0;
}

u64 group_weight_of_shares(u64 shares)
{
	return SHARES_TO_WEIGHT(max(min(shares, (u64)SCHED_SHARES_MAX), (u64)SCHED_SHARES_MIN));
}

static u64 weight_on_cpu(const struct fair_queue *q)
{
	const struct task_group *tg = q->group;
	u64 shares = q->policy->shares(tg);
	u64 load = max(weight_down(q->load.weight), q->avg.load_avg);
	u64 all = READ_ONCE(tg->load_avg) - q->load_contrib + load;
	u64 weight = shares * load;

	SCHED_DEBUG_ASSERT(q->nr_running);
	if ((s64)all > 0)
		weight /= all;
	return min(max(weight, WEIGHT_MIN), shares);
}

void group_update_entity(struct entity *e)
{
	struct fair_queue *q = e->own_queue;
	u64 weight;

	SCHED_DEBUG_ASSERT(q->owner == e);
	group_note_demand(e);
	pelt_update_queue(q);
	contribute(q);
	if (q->up.pending)
		pelt_follow(e);
	/* Empty, it keeps the weight that its lag, or credit, was earned with. */
	if (!q->nr_running)
		return;
	weight = weight_on_cpu(q);
	if (weight != e->load.weight)
		fair_reweight(e, (struct load_weight){ .weight = weight });
}

void group_update_above(struct fair_queue *q)
{
	for (struct entity *e = q->owner; e; e = parent_of(e)) {
		update_averages(e);
		group_update_entity(e);
	}
}

/* --- life ----------------------------------------------------------------- */

size_t task_group_size(const struct sched *s)
{
	return sizeof(struct task_group) + s->nr_cpus * sizeof(struct group_cpu);
}

static void init_on_cpu(struct sched *s, struct task_group *tg, unsigned cpu)
{
	struct rq *rq = cpu_rq(s, cpu);
	struct fair_queue *q = &tg->cpu[cpu].queue, *above = group_queue(s, tg->parent, cpu);
	struct entity *e = &tg->cpu[cpu].entity;

	SCHED_DEBUG_ASSERT(!q->rq && above->rq == rq);
	rq_lock(rq);
	fair_queue_init(q, rq);
	q->owner = e;
	q->group = tg;
	q->depth = above->depth + 1;
	e->queue = above;
	e->own_queue = q;
	e->load.weight = tg->shares;
	list_add_head(&rq->queues, &q->link);
	rq_unlock(rq);
}

void task_group_init(struct sched *s, struct task_group *tg, struct task_group *parent)
{
	tg->parent = parent;
	tg->id = ++s->nr_groups_made;
	list_init(&tg->children);
	list_init(&tg->sibling);
	list_add_tail(group_children(s, parent), &tg->sibling);
	bandwidth_init(&tg->bandwidth);
	tg->shares = SHARES_TO_WEIGHT(SCHED_SHARES_DEFAULT);
	clamp_group_init(s, tg);
	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++)
		init_on_cpu(s, tg, cpu);
}

void task_group_set_name(struct task_group *tg, const char *name)
{
	str_copy(tg->name, name, sizeof(tg->name));
}

void task_group_exit(struct sched *s, struct task_group *tg)
{
	const struct fair_policy *policy;

	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++) {
		struct fair_queue *q = &tg->cpu[cpu].queue;
		struct entity *e = q->owner;

		rq_lock(q->rq);
		SCHED_ASSERT(!q->nr_running && !q->curr);
		fair_charge(q->rq);
		finish_delayed_group(e);
		SCHED_ASSERT(!e->queued);
		if (e->avg.last_update) {
			update_averages(e);
			pelt_detach(e->queue, e);
			group_update_above(e->queue);
		}
		bandwidth_exit(q);
		list_del(&q->link);
		rq_unlock(q->rq);
	}
	list_del(&tg->sibling);
	for_each_policy(policy, s) policy->forget_group(s, tg);
}

struct task_group *task_group_of(const struct task *t)
{
	return READ_ONCE(t->group);
}

struct task_group *task_group_parent(const struct task_group *tg)
{
	return tg->parent;
}

struct task_group *task_group_next(struct sched *s, struct task_group *tg)
{
	return group_next(s, NULL, tg);
}

void task_group_set_number(struct task_group *tg, u32 number)
{
	WRITE_ONCE(tg->number, number);
}

u32 task_group_number(const struct task_group *tg)
{
	return READ_ONCE(tg->number);
}

/* --- parameters ----------------------------------------------------------- */

void task_group_params(const struct task_group *tg, struct task_group_params *out)
{
	const struct fair_policy *policy;

	*out = (struct task_group_params){
		.shares = tg->shares >> WEIGHT_SHIFT,
		.idle = tg->idle,
		.quota_ns = tg->bandwidth.quota_ns,
		.period_ns = tg->bandwidth.period_ns,
		.burst_ns = tg->bandwidth.burst_ns,
	};
	for_each_policy(policy, tg->cpu[0].queue.rq->s) policy->params(tg, out);
}

void group_reweigh(struct sched *s, struct task_group *tg)
{
	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++) {
		struct rq *rq = cpu_rq(s, cpu);

		rq_lock(rq);
		fair_charge(rq);
		group_update_above(&tg->cpu[cpu].queue);
		rq_unlock(rq);
	}
}

int task_group_set_shares(struct sched *s, struct task_group *tg, u64 shares)
{
	u64 weight = group_weight_of_shares(shares);

	if (!tg || tg->idle)
		return -EINVAL;
	if (tg->shares == weight)
		return 0;
	WRITE_ONCE(tg->shares, weight);
	group_reweigh(s, tg);
	return 0;
}

/* Have all below @q count above as idle, or no longer. */
static void set_queue_idle(struct fair_queue *q, bool idle)
{
	struct entity *e = q->owner;
	bool queued;

	SCHED_DEBUG_ASSERT(q->idle != idle);
	finish_delayed_group(e);
	queued = e->queued;
	if (queued) {
		queue_leave(e->queue, e, DEQUEUE_SLEEP | DEQUEUE_SPECIAL | DEQUEUE_AWAKE);
		fair_climb_out(e, fair_seen_from_above(q, q->tasks),
			       DEQUEUE_SPECIAL | DEQUEUE_AWAKE);
	}
	q->idle = idle;
	if (queued)
		fair_climb_in(e, fair_seen_from_above(q, q->tasks), ENQUEUE_WAKEUP);
}

int task_group_set_idle(struct sched *s, struct task_group *tg, bool idle)
{
	struct task_group_params params;

	if (!tg)
		return -EINVAL;
	task_group_params(tg, &params);
	if (idle && params.guaranteed_shares)
		return -EINVAL;
	if (tg->idle == idle)
		return 0;
	tg->idle = idle;
	WRITE_ONCE(tg->shares,
		   idle ? weight_of_idle().weight : SHARES_TO_WEIGHT(SCHED_SHARES_DEFAULT));
	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++) {
		struct rq *rq = cpu_rq(s, cpu);

		rq_lock(rq);
		fair_charge(rq);
		set_queue_idle(&tg->cpu[cpu].queue, idle);
		rq_unlock(rq);
	}
	group_reweigh(s, tg);
	return 0;
}

/* --- statistics ----------------------------------------------------------- */

/* Returns the time for which @part was queued without running. */
static u64 waited_on(const struct group_cpu *part)
{
	const struct entity *e = &part->entity;
	u64 queued = part->queued_ns;

	debug_assert_locked(e->queue->rq);
	if (e->queued && !group_is_delayed(e))
		queued += e->queue->rq->clock - part->queued_at;
	return sub_floor0(queued, e->sum_exec);
}

void task_group_stat(struct sched *s, struct task_group *tg, struct task_group_stat *out)
{
	*out = (struct task_group_stat){ .schedstats = schedstats(s) };
	if (tg)
		bandwidth_stat(&tg->bandwidth, out);
	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++) {
		struct rq *rq = cpu_rq(s, cpu);

		rq_lock(rq);
		if (rq->curr)
			charge_current(rq);
		out->usage_ns += tg ? tg->cpu[cpu].entity.sum_exec : rq->run_ns;
		out->wait_sum_ns += tg ? waited_on(&tg->cpu[cpu]) : 0;
		rq_unlock(rq);
	}
}

/* --- what limits a group may have (bandwidth.c) -------------------------------------------- */

#define PERIOD_MIN_NS NS_PER_MS
#define PERIOD_MAX_NS NS_PER_SEC
#define QUOTA_MIN_NS  NS_PER_MS
#define QUOTA_MAX_NS  (((1ull << 44) - 1) * NS_PER_US)

/* Share of a CPU, as a fraction of 2^20; none is more than any. */
static u64 ratio(u64 quota_ns, u64 period_ns)
{
	SCHED_DEBUG_ASSERT(period_ns >= NS_PER_US);
	return quota_ns == SCHED_QUOTA_NONE
		       ? SCHED_QUOTA_NONE
		       : (quota_ns / NS_PER_US << 20) / (period_ns / NS_PER_US);
}

static u64 group_ratio(const struct task_group *tg)
{
	return ratio(tg->bandwidth.quota_ns, tg->bandwidth.period_ns);
}

/* Would @share of @tg be more than that of a limited ancestor, or less than a descendant's? */
static bool fits(struct sched *s, struct task_group *tg, u64 share)
{
	struct task_group *other;

	for (other = tg->parent; other; other = other->parent)
		if (group_ratio(other) != SCHED_QUOTA_NONE && share != SCHED_QUOTA_NONE &&
		    share > group_ratio(other))
			return false;
	for_each_group_below(other, s, tg)
		if (group_ratio(other) != SCHED_QUOTA_NONE && group_ratio(other) > share)
			return false;
	return true;
}

static bool valid(u64 quota_ns, u64 period_ns, u64 burst_ns)
{
	if (period_ns < PERIOD_MIN_NS || period_ns > PERIOD_MAX_NS)
		return false;
	if (quota_ns == SCHED_QUOTA_NONE)
		return true;
	return quota_ns >= QUOTA_MIN_NS && quota_ns <= QUOTA_MAX_NS && burst_ns <= quota_ns &&
	       burst_ns + quota_ns <= QUOTA_MAX_NS;
}

bool bandwidth_may_be(struct sched *s, struct task_group *tg, u64 quota_ns, u64 period_ns,
		      u64 burst_ns, bool nested)
{
	return valid(quota_ns, period_ns, burst_ns) &&
	       (!nested || fits(s, tg, ratio(quota_ns, period_ns)));
}
