/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The controller `schedtune`: boosts of groups. Its hierarchy is there if CPUs have several speeds.
 * It is one level deep, and each group below the root is one of the scheduler's few boost groups
 * (sched/freq/tune.c). The root's boost is that of all tasks, the sysctl sched_cfs_boost.
 *
 * Reference: P. Bellasi, RFC of 2015 (docs/sources.md), whose errors these are.
 */
#include "kernel/cgroup/internal.h"

#include "kernel/kernel.h"
#include "lib/errno.h"

int cgroup_attach_tune(struct cgroup *cg)
{
	int group;

	debug_assert(!cg->tune);
	assert(mutex_is_held(&cgroup_mutex));
	if (!cgroup_is_root(cg->parent))
		return -ENOMEM;
	group = sched_tune_new(machine);
	if (group < 0)
		return group;
	cg->tune = (unsigned)group;
	return 0;
}

void cgroup_detach_tune(struct cgroup *cg)
{
	assert(mutex_is_held(&cgroup_mutex));
	if (cg->tune)
		sched_tune_free(machine, cg->tune);
	cg->tune = 0;
}

static u64 get_boost(struct cgroup *cg)
{
	return sched_tune_boost_of(machine, cg->tune);
}

static int set_boost(struct cgroup *cg, u64 boost)
{
	int err;

	debug_assert(mutex_is_held(&cgroup_mutex));
	with_irqs_off(err = sched_tune_boost(machine, cg->tune, boost));
	return err;
}

const struct cgroup_file cgroup_tune_files[] = {
	{ "schedtune.boost", CGF_V1 | CGF_ROOT | CGF_CHILD | CGF_TUNE, .get = get_boost,
	  .set = set_boost },
};
const unsigned nr_cgroup_tune_files = ARRAY_SIZE(cgroup_tune_files);
