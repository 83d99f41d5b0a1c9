/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * FDL's controller: what is guaranteed to a group is CPU time, what it has are shares,
 * and what these are worth depends on the others. So the shares follow from what the
 * group gets, every 10 ms:
 *
 *	less than is guaranteed, and its tasks wait:	up, by at most 9.8 % of the way to
 *							10 times the guarantee
 *	less, and they do not:				down, by 1 % of what exceeds it
 *	more:						down, by 2 %
 *
 * unless that of the group above went the same way in this pass already. Usage and wait
 * are averages over about a second; wait counts from the moment a task waits, not when
 * it ends. Guarantees below the first level are parts of the parent's. A group that is
 * guaranteed something and gets nothing of what it is a part of, has nothing to control.
 *
 * Locks: the groups and what is kept of them here by the host (group.h); each CPU's
 * sums by its runqueue's lock. Source: Fair Deadline RFC (docs/sources.md).
 */
#include "sched/fair/fdl/fdl.h"

u64 sched_fdl_interval_ns(const struct sched *s)
{
	return READ_ONCE(s->tunable.control_loop_interval);
}

/* --- what groups used and wanted ---------------------------------------------- */

/* Of the groups' parts on @rq, since the last time. */
static void add_cpu(struct rq *rq)
{
	struct fair_queue *q;

	rq_lock(rq);
	if (rq->online)
		charge_current(rq);
	list_for_each(q, &rq->queues, link) {
		struct fdl_cpu *part = fdl_of(q->owner);
		struct fdl_group *all = fdl_group(q->group);

		group_note_demand(q->owner);
		all->usage_ns += q->owner->sum_exec - part->usage_seen;
		all->demand_ns += part->demand_ns - part->demand_seen;
		part->usage_seen = q->owner->sum_exec;
		part->demand_seen = part->demand_ns;
	}
	rq_unlock(rq);
}

static u64 average(u64 old, u64 sample, u32 alpha)
{
	return (old * (1024 - alpha) >> 10) + (sample * alpha >> 10);
}

static void update_averages_of(const struct tunables *tn, struct fdl_group *fdl, u64 elapsed)
{
	u64 usage = mul_div(fdl->usage_ns, tn->control_loop_interval, elapsed);
	u64 demand = mul_div(fdl->demand_ns, tn->control_loop_interval, elapsed);

	SCHED_DEBUG_ASSERT(elapsed);
	fdl->avg_usage = average(fdl->avg_usage, usage, tn->avg_usage_alpha);
	fdl->avg_wait = average(fdl->avg_wait, sub_floor0(demand, usage), tn->avg_wait_alpha);
}

u64 fdl_cpu_time(const struct sched *s, u64 ns)
{
	return (ns << 10) / s->tunable.control_loop_interval;
}

/* --- shares --------------------------------------------------------------------- */

/* Of the CPU time that the group above is guaranteed, in proportion to its siblings. */
static u64 absolute(const struct task_group *tg)
{
	const struct task_group *parent = tg->parent;

	if (!parent || !fdl_group(tg)->guaranteed)
		return fdl_group(tg)->guaranteed;
	SCHED_DEBUG_ASSERT(fdl_group(parent)->children_guaranteed >= fdl_group(tg)->guaranteed);
	return fdl_group(parent)->abs_guaranteed * fdl_group(tg)->guaranteed /
	       fdl_group(parent)->children_guaranteed;
}

u64 fdl_next_shares(const struct tunables *tn, const struct fdl_input *in)
{
	u64 most = in->guaranteed * tn->max_share_boost, shares = in->shares;
	u64 above = sub_floor0(shares, in->guaranteed);
	u64 part = in->usage * 1024 / in->target;
	bool waits = in->usage && in->wait > in->usage * tn->target_wait_fraction >> 10;

	SCHED_DEBUG_ASSERT(in->target);
	if (!in->parent_increased && part < 1024) {
		if (waits && shares < most)
			shares += (most - shares) * (1024 - part) * 100 >> 20;
		else
			shares -= above * 10 >> 10;
	} else if (!in->parent_decreased) {
		shares -= above * 20 >> 10;
	}
	return max(in->guaranteed, min(shares, most));
}

static void control(struct sched *s, struct task_group *tg)
{
	const struct fdl_group *above = tg->parent ? fdl_group(tg->parent) : NULL;
	struct fdl_group *fdl = fdl_group(tg);
	struct fdl_input in;
	u64 shares;

	fdl->abs_guaranteed = absolute(tg);
	fdl->increased = fdl->decreased = false;
	if (!fdl->abs_guaranteed)
		return;
	in = (struct fdl_input){
		.guaranteed = fdl->guaranteed,
		.target = fdl->abs_guaranteed,
		.shares = fdl->shares,
		.usage = fdl_cpu_time(s, fdl->avg_usage),
		.wait = fdl_cpu_time(s, fdl->avg_wait),
		.parent_increased = above && above->increased,
		.parent_decreased = above && above->decreased,
	};
	shares = fdl_next_shares(&s->tunable, &in);
	fdl->increased = shares > fdl->shares;
	fdl->decreased = shares < fdl->shares;
	if (shares == fdl->shares)
		return;
	WRITE_ONCE(fdl->shares, shares);
	/*
	 * The RFC leaves the rest to the group's next tick on each CPU. A group whose turns
	 * always end before the tick never has one.
	 */
	group_reweigh(s, tg);
}

/* --- the pass ---------------------------------------------------------------------- */

/* ns since the last pass; 0: there was none, and averages begin now. */
static u64 time_since_last(struct sched *s)
{
	struct rq *rq = cpu_rq(s, cpumask_first(&s->online));
	u64 before = fdl_root(s)->controlled;

	rq_lock(rq);
	fdl_root(s)->controlled = rq->clock;
	rq_unlock(rq);
	return before ? sub_floor0(fdl_root(s)->controlled, before) : 0;
}

bool sched_fdl_control(struct sched *s)
{
	struct task_group *tg;
	u64 elapsed;

	if (!policy_has(READ_ONCE(s->fair_policy), TRAIT_DEADLINES) ||
	    !fdl_root(s)->nr_guaranteed) {
		fdl_root(s)->controlled = 0;
		return fdl_root(s)->nr_guaranteed;
	}
	elapsed = time_since_last(s);
	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++)
		add_cpu(cpu_rq(s, cpu));
	for_each_group(tg, s) {
		if (elapsed) {
			update_averages_of(&s->tunable, fdl_group(tg), elapsed);
			control(s, tg);
		} else {
			fdl_group(tg)->avg_usage = fdl_group(tg)->avg_wait = 0;
		}
		fdl_group(tg)->usage_ns = fdl_group(tg)->demand_ns = 0;
	}
	return true;
}
