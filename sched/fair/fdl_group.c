/*
 * FDL's parameters of a task group, and what is told about it.
 *
 * Locks: as group.h says, parameters by the host; a group's part on a CPU by that
 * runqueue's lock. Source: Fair Deadline RFC (docs/sources.md).
 */
#include "sched/fair/fair.h"
#include "lib/errno.h"

#define RR_MIN_NS (50 * NS_PER_US)
#define RR_MAX_NS NS_PER_SEC
/* Shares that may be guaranteed to a group for each CPU there is. */
#define GUARANTEE_MAX (1024ull * 256)

int sched_group_set_deadline(struct sched *s, struct task_group *tg, u64 rr_ns, u64 wakeup_ns)
{
	(void)s;
	if (!tg || wakeup_ns > rr_ns || (rr_ns && (rr_ns < RR_MIN_NS || rr_ns > RR_MAX_NS)))
		return -EINVAL;
	tg->fdl.rr_ns = rr_ns;
	tg->fdl.wakeup_ns = wakeup_ns;
	return 0;
}

int sched_group_set_guaranteed(struct sched *s, struct task_group *tg, u64 shares)
{
	if (!tg || tg->idle || shares > GUARANTEE_MAX * s->nr_cpus)
		return -EINVAL;
	if (!tg->parent)
		s->guaranteed += shares - tg->fdl.guaranteed;
	tg->fdl.guaranteed = shares;
	return 0;
}

void sched_group_fdl_stat(struct sched *s, struct task_group *tg, struct sched_group_fdl_stat *out)
{
	*out = (struct sched_group_fdl_stat){ .overcommit = s->guaranteed / s->nr_cpus };
	if (!tg)
		return;
	out->dynamic_shares = out->legacy_shares = tg->shares >> WEIGHT_SHIFT;
}

u64 sched_fdl_interval_ns(const struct sched *s)
{
	return READ_ONCE(s->tunable.control_loop_interval);
}

void sched_fdl_control(struct sched *s)
{
	(void)s;
}
