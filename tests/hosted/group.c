/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scheduler's side of control groups: a group keeps its parameters and counts who is in it. A
 * group that ends has neither members nor children. A loaded scheduler hears of all of that, too: a
 * task that is asked about goes to that group, or its move is cancelled.
 */
#include "kernel/cgroup/internal.h"
#include "kernel/kernel.h"
#include "kernel/scx/group.h"
#include "kernel/time/speed.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "cgroup.h"

struct task_group {
	struct task_group *parent;
	unsigned nr_children, nr_tasks;
	bool known; /* by a loaded scheduler */
	struct task_group_params params;
	char name[16];
};

/* A task of which a loaded scheduler was asked, and its group soon. */
static struct {
	struct task *t;
	struct task_group *to;
} asked[8];

struct sched *machine;
bool autogroup_was_on;
bool speeds_on;

struct task_group *autogroup_tg(const struct proc *p)
{
	(void)p;
	return NULL;
}

size_t task_group_size(const struct sched *s)
{
	(void)s;
	return sizeof(struct task_group);
}

void task_group_init(struct sched *s, struct task_group *tg, struct task_group *parent)
{
	(void)s;
	tg->parent = parent;
	tg->params = (struct task_group_params){ .shares = SCHED_SHARES_DEFAULT,
						 .quota_ns = SCHED_QUOTA_NONE,
						 .period_ns = 100000000 };
	if (parent)
		parent->nr_children++;
}

void task_group_exit(struct sched *s, struct task_group *tg)
{
	(void)s;
	if (tg->known)
		panic("a group ends, and the scheduler does not hear of it");
	if (tg->nr_tasks || tg->nr_children)
		panic("a group of the scheduler ends with %u tasks and %u groups", tg->nr_tasks,
		      tg->nr_children);
	if (tg->parent)
		tg->parent->nr_children--;
}

void task_group_set_name(struct task_group *tg, const char *name)
{
	str_copy(tg->name, name, sizeof(tg->name));
}

const char *hosted_group_name(const struct task_group *tg)
{
	return tg->name;
}

struct task_group *task_group_of(const struct task *t)
{
	return t->group;
}

/* @t, which does not end, goes to @to: it was asked about. */
static void forget_asked(struct task *t, const struct task_group *to)
{
	bool ends = !container_of(t, struct thread, task)->member[HIERARCHY_V1].group;
	unsigned i = 0;

	while (i < ARRAY_SIZE(asked) && asked[i].t != t)
		i++;
	if (i == ARRAY_SIZE(asked) && !ends)
		panic("a task moves, and the scheduler was not asked");
	if (i == ARRAY_SIZE(asked))
		return;
	if (asked[i].to != to)
		panic("a task goes to another group than the scheduler was asked about");
	asked[i].t = NULL;
}

void hosted_group_inherit(struct task *t, struct task_group *tg)
{
	t->group = tg;
	if (tg)
		tg->nr_tasks++;
}

void task_group_move(struct sched *s, struct task *t, struct task_group *tg)
{
	(void)s;
	forget_asked(t, tg);
	if (t->group)
		t->group->nr_tasks--;
	hosted_group_inherit(t, tg);
}

void task_group_params(const struct task_group *tg, struct task_group_params *out)
{
	*out = tg->params;
}

int task_group_set_shares(struct sched *s, struct task_group *tg, u64 shares)
{
	(void)s;
	tg->params.shares = min(max(shares, (u64)SCHED_SHARES_MIN), (u64)SCHED_SHARES_MAX);
	return 0;
}

int task_group_set_idle(struct sched *s, struct task_group *tg, bool idle)
{
	(void)s;
	tg->params.idle = idle;
	return 0;
}

int task_group_set_bandwidth(struct sched *s, struct task_group *tg, u64 quota_ns, u64 period_ns,
			     u64 burst_ns, bool nested)
{
	(void)s;
	(void)burst_ns;
	(void)nested;
	if (quota_ns < 1000000 || period_ns < 1000000 || period_ns > 1000000000)
		return -EINVAL;
	tg->params.quota_ns = quota_ns;
	tg->params.period_ns = period_ns;
	return 0;
}

void task_group_stat(struct sched *s, struct task_group *tg, struct task_group_stat *out)
{
	(void)s;
	(void)tg;
	memset(out, 0, sizeof(*out));
}

/* --- a loaded scheduler --------------------------------------------------------------------- */

static void nobody_is_asked(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(asked); i++)
		if (asked[i].t)
			panic("a task that the scheduler was asked about has not gone");
}

int scx_group_new(struct task_group *tg)
{
	nobody_is_asked();
	if (tg->nr_tasks)
		panic("the scheduler hears of a group when it has tasks");
	tg->known = true;
	return 0;
}

void scx_group_changed(struct task_group *tg, enum ext_group_news news)
{
	(void)news;
	nobody_is_asked();
	if (!tg->known)
		panic("the scheduler has not heard of a group");
}

void scx_group_gone(struct task_group *tg)
{
	scx_group_changed(tg, EXT_GROUP_WEIGHT);
	if (tg->nr_tasks || tg->nr_children)
		panic("the scheduler hears of the end of a group that has somebody");
	tg->known = false;
}

int scx_prepare_move(struct task *t, struct task_group *to)
{
	unsigned i = 0;

	if (to && !to->known)
		panic("the scheduler has not heard of a group");
	if (t->group == to)
		return 0;
	while (asked[i].t)
		i++;
	asked[i].t = t;
	asked[i].to = to;
	return 0;
}

void scx_cancel_move(struct task *t, struct task_group *to)
{
	forget_asked(t, to);
}

void cgroup_reset_clamps(struct cgroup *cg)
{
	(void)cg;
}

/* --- of one speed, and without deadlines --------------------------------------------------- */

const struct cgroup_file cgroup_fdl_files[1], cgroup_clamp_files[1], cgroup_tune_files[1];
const unsigned nr_cgroup_fdl_files, nr_cgroup_clamp_files, nr_cgroup_tune_files;

int cgroup_attach_tune(struct cgroup *cg)
{
	(void)cg;
	return 0;
}

void cgroup_detach_tune(struct cgroup *cg)
{
	(void)cg;
}

unsigned sched_tune_of(const struct task *t)
{
	(void)t;
	return 0;
}

int sched_tune_move(struct sched *s, struct task *t, unsigned group)
{
	(void)s;
	(void)t;
	(void)group;
	return 0;
}

u32 sched_nice_weight(int nice)
{
	(void)nice;
	return SCHED_SHARES_DEFAULT;
}

struct cpu_usage machine_usage(void)
{
	return (struct cpu_usage){ 0 };
}
