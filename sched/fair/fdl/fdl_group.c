/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * FDL's parameters of a task group, and what is told about it.
 *
 * Each CPU has its own copy of a group's deadlines, changed under its lock with the
 * group's entity out of the queue: so nobody who looks finds a queued entity whose
 * deadline does not fit its parameters.
 *
 * Locks: as group.h says, parameters by the host; a group's part on a CPU by that
 * runqueue's lock. Source: Fair Deadline RFC (docs/sources.md).
 */
#include "sched/fair/cfs/cfs.h"
#include "sched/fair/fdl/fdl.h"
#include "lib/errno.h"

#define RR_MIN_NS (50 * NS_PER_US)
#define RR_MAX_NS NS_PER_SEC
/* Shares that may be guaranteed to a group for each CPU there is. */
#define GUARANTEE_MAX (1024ull * 256)

/* --- deadlines ------------------------------------------------------------------ */

/* One more, or one less, of the groups below @q has deadlines there. */
static void count_group(struct fair_queue *q, bool more)
{
	debug_assert_locked(q->rq);
	SCHED_DEBUG_ASSERT(more || fdl_queue(q)->nr_groups);
	fdl_queue(q)->nr_groups += more ? 1 : 0u - 1;
	if (!fdl_queue(q)->nr_groups)
		fdl_queue(q)->container = 0;
	queue_choose_hooks(q);
}

static void set_on_cpu(struct rq *rq, struct entity *e, u64 rr_ns, u64 wakeup_ns)
{
	struct fair_queue *q = e->queue;
	bool had = fdl_of(e)->rr_ns, moves;

	rq_lock(rq);
	if (rq->online)
		charge_current(rq);
	moves = e->queued && policy_has(q->policy, TRAIT_DEADLINES);
	if (moves)
		queue_leave(q, e, QUEUE_SAVE);
	fdl_of(e)->rr_ns = rr_ns;
	fdl_of(e)->wakeup_ns = wakeup_ns;
	if (had != !!rr_ns)
		count_group(q, rr_ns);
	/* CFS neither charges nor credits the group for the time it ran with a deadline. */
	if (e->due && !rr_ns) {
		e->due = 0;
		e->vruntime = moves ? 0 : cfs_queue(q)->min_vruntime;
	}
	if (moves) {
		queue_enter(q, e, QUEUE_RESTORE);
		resched(rq);
	}
	rq_unlock(rq);
}

int task_group_set_deadline(struct sched *s, struct task_group *tg, u64 rr_ns, u64 wakeup_ns)
{
	if (!tg || wakeup_ns > rr_ns || (rr_ns && (rr_ns < RR_MIN_NS || rr_ns > RR_MAX_NS)))
		return -EINVAL;
	WRITE_ONCE(fdl_group(tg)->rr_ns, rr_ns);
	WRITE_ONCE(fdl_group(tg)->wakeup_ns, wakeup_ns);
	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++)
		set_on_cpu(cpu_rq(s, cpu), &tg->cpu[cpu].entity, rr_ns, wakeup_ns);
	return 0;
}

/* --- guarantees ------------------------------------------------------------------ */

static void guarantee(struct sched *s, struct task_group *tg, u64 shares)
{
	u64 *sum = tg->parent ? &fdl_group(tg->parent)->children_guaranteed
			      : &fdl_root(s)->children_guaranteed;

	SCHED_DEBUG_ASSERT(*sum >= fdl_group(tg)->guaranteed);
	*sum += shares - fdl_group(tg)->guaranteed;
	fdl_root(s)->nr_guaranteed += !!shares - !!fdl_group(tg)->guaranteed;
	fdl_group(tg)->guaranteed = shares;
}

u64 fdl_shares(const struct task_group *tg)
{
	u64 dynamic = READ_ONCE(fdl_group(tg)->shares);

	return dynamic ? group_weight_of_shares(dynamic) : fair_shares(tg);
}

void fdl_forget_group(struct sched *s, struct task_group *tg)
{
	guarantee(s, tg, 0);
	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++) {
		struct entity *e = &tg->cpu[cpu].entity;
		struct rq *rq = cpu_rq(s, cpu);

		if (!fdl_of(e)->rr_ns)
			continue;
		rq_lock(rq);
		/* The hooks change: what ran until now is charged by the old ones. */
		if (rq->online)
			charge_current(rq);
		count_group(e->queue, false);
		rq_unlock(rq);
	}
}

int task_group_set_guaranteed(struct sched *s, struct task_group *tg, u64 shares)
{
	bool changes;

	if (!tg || tg->idle || shares > GUARANTEE_MAX * s->nr_cpus)
		return -EINVAL;
	changes = !shares != !fdl_group(tg)->guaranteed;
	guarantee(s, tg, shares);
	if (!changes)
		return 0;
	WRITE_ONCE(fdl_group(tg)->shares, shares);
	fdl_group(tg)->abs_guaranteed = 0;
	fdl_group(tg)->increased = fdl_group(tg)->decreased = false;
	group_reweigh(s, tg);
	return 0;
}

/* --- what is told of it ----------------------------------------------------------- */

void fdl_params(const struct task_group *tg, struct task_group_params *out)
{
	out->deadline_rr_ns = fdl_group(tg)->rr_ns;
	out->deadline_wakeup_ns = fdl_group(tg)->wakeup_ns;
	out->guaranteed_shares = fdl_group(tg)->guaranteed;
}

void fdl_demand(struct entity *e)
{
	const struct fair_queue *q = e->own_queue;
	struct fdl_cpu *fdl = fdl_of(e);

	debug_assert_locked(q->rq);
	if (likely(!READ_ONCE(fdl_root(q->rq->s)->controlled)))
		return;
	fdl->demand_ns += fdl->demand_nr * sub_floor0(q->rq->clock, fdl->demand_at);
	fdl->demand_at = q->rq->clock;
	fdl->demand_nr = q->throttled ? 0 : q->tasks.nr;
}

/* --- statistics ------------------------------------------------------------------- */

static void add_cpu(struct rq *rq, struct entity *e, struct task_group_fdl_stat *out)
{
	const struct fdl_cpu *fdl = fdl_of(e);
	u64 gap;

	rq_lock(rq);
	if (rq->online)
		charge_current(rq);
	gap = fdl->max_gap_ns;
	/* The present wait may be the longest ever. */
	if (e->queued && e->due && e->queue->curr != e)
		gap = max(gap, sub_floor0(rq->clock, time_max(fdl->waiting_since, e->exec_start)));
	out->max_gap_ns = max(out->max_gap_ns, gap);
	out->nr_dl_picks += fdl->nr_picks;
	out->nr_container_picks += fdl->nr_container_picks;
	out->nr_misses += fdl->nr_misses;
	out->lag_pushed_ns += fdl->lag_pushed_ns;
	rq_unlock(rq);
}

void task_group_fdl_stat(struct sched *s, struct task_group *tg, struct task_group_fdl_stat *out)
{
	*out = (struct task_group_fdl_stat){ .overcommit = fdl_root(s)->children_guaranteed /
							   s->nr_cpus };
	if (!tg)
		return;
	out->legacy_shares = tg->shares >> WEIGHT_SHIFT;
	out->dynamic_shares = fdl_group(tg)->shares ?: out->legacy_shares;
	out->abs_guaranteed = fdl_group(tg)->abs_guaranteed;
	out->avg_usage = fdl_cpu_time(s, fdl_group(tg)->avg_usage);
	out->avg_wait = fdl_cpu_time(s, fdl_group(tg)->avg_wait);
	out->increased = fdl_group(tg)->increased;
	out->decreased = fdl_group(tg)->decreased;
	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++)
		add_cpu(cpu_rq(s, cpu), &tg->cpu[cpu].entity, out);
}
