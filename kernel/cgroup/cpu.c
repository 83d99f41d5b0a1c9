/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The controller `cpu`: the share of its parent's time that a group gets, and the CPU time that it
 * has used.
 *
 * v1 and v2 show the same parameter in different units: v2's weight is the share in units of
 * 1024/100, and its weight.nice is the nearest nice value. SCHED_IDLE for groups is the same in
 * both. The scheduler decides which values are valid; this file only converts between text and
 * numbers.
 *
 * Reference: Linux 6.1, Documentation/admin-guide/cgroup-v2.rst, "CPU".
 */
#include "kernel/cgroup/internal.h"

#include "kernel/kernel.h"
#include "kernel/scx/group.h"
#include "kernel/time/time.h"
#include "lib/errno.h"
#include "lib/fmt.h"

/* The weight of a group with cpu.idle. */
#define IDLE_SHARES 3

/* The root has no parameters; it shows what a new group has. */
static struct task_group_params params_of(const struct cgroup *cg)
{
	struct task_group_params p = { .shares = SCHED_SHARES_DEFAULT };

	debug_assert(mutex_is_held(&cgroup_mutex));
	if (cg->tg)
		task_group_params(cg->tg, &p);
	if (p.idle)
		p.shares = IDLE_SHARES;
	return p;
}

/* --- shares --------------------------------------------------------------------------- */

static u64 get_shares(struct cgroup *cg)
{
	return params_of(cg).shares;
}

static int set_shares(struct cgroup *cg, u64 shares)
{
	int err;

	debug_assert(mutex_is_held(&cgroup_mutex));
	with_irqs_off(err = task_group_set_shares(machine, cg->tg, shares));
	if (!err)
		scx_group_changed(cg->tg, EXT_GROUP_WEIGHT);
	return err;
}

static u64 get_idle(struct cgroup *cg)
{
	return params_of(cg).idle;
}

static int set_idle(struct cgroup *cg, u64 value)
{
	int err;

	debug_assert(mutex_is_held(&cgroup_mutex));
	if (value > 1)
		return -EINVAL;
	with_irqs_off(err = task_group_set_idle(machine, cg->tg, value));
	if (!err)
		scx_group_changed(cg->tg, EXT_GROUP_IDLE);
	return err;
}

#define WEIGHT_DEFAULT 100
#define WEIGHT_MAX     10000

static u64 divide_rounded(u64 a, u64 b)
{
	return (a + b / 2) / b;
}

static u64 get_weight(struct cgroup *cg)
{
	return divide_rounded(get_shares(cg) * WEIGHT_DEFAULT, SCHED_SHARES_DEFAULT);
}

static int set_weight(struct cgroup *cg, u64 weight)
{
	if (weight < 1 || weight > WEIGHT_MAX)
		return -ERANGE;
	return set_shares(cg, divide_rounded(weight * SCHED_SHARES_DEFAULT, WEIGHT_DEFAULT));
}

/* The nice value with the nearest weight; of two equally near, the more urgent one. */
static u64 get_nice(struct cgroup *cg)
{
	s64 shares = (s64)get_shares(cg), best = INT64_MAX;
	int nice;

	for (nice = NICE_MIN; nice <= NICE_MAX; nice++) {
		s64 off = shares - (s64)sched_nice_weight(nice);

		off = off < 0 ? -off : off;
		if (off >= best)
			break;
		best = off;
	}
	return (u64)(nice - 1);
}

static int set_nice(struct cgroup *cg, u64 value)
{
	if (!nice_is_valid((s64)value))
		return -ERANGE;
	return set_shares(cg, sched_nice_weight((int)value));
}

/* --- what it has used ----------------------------------------------------------------- */

/* Sums the time of the threads, so that usage = user + system, with or without the controller. */
static size_t show_stat(struct cgroup *cg, char *buf, size_t size)
{
	struct cgroup_usage u = cgroup_usage(cg);
	u64 user_us = u.user_ns / 1000, system_us = u.system_ns / 1000;
	struct text t = text_of(buf, size);

	debug_assert(mutex_is_held(&cgroup_mutex));
	text_add(&t, "usage_usec %lu\nuser_usec %lu\nsystem_usec %lu\n", user_us + system_us,
		 user_us, system_us);
	if (cg->tg || (cgroup_is_root(cg) && cgroup_has_cpu_to_give(cg)))
		cgroup_add_bandwidth_stat(cg, &t);
	return t.len;
}

/* --- the table ------------------------------------------------------------------------ */

#define V1	 (CGF_V1 | CGF_ROOT | CGF_CHILD | CGF_CPU)
#define V2_CHILD (CGF_V2 | CGF_CHILD | CGF_CPU)

const struct cgroup_file cgroup_cpu_files[] = {
	{ "cpu.shares", V1, .get = get_shares, .set = set_shares },
	{ "cpu.idle", V1 | CGF_SIGNED, .get = get_idle, .set = set_idle },
	{ "cpu.weight", V2_CHILD, .get = get_weight, .set = set_weight },
	{ "cpu.weight.nice", V2_CHILD | CGF_SIGNED, .get = get_nice, .set = set_nice },
	{ "cpu.idle", V2_CHILD | CGF_SIGNED, .get = get_idle, .set = set_idle },
	{ "cpu.stat", CGF_V2 | CGF_ROOT | CGF_CHILD, .show = show_stat },
};
const unsigned nr_cgroup_cpu_files = ARRAY_SIZE(cgroup_cpu_files);
