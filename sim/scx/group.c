/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control groups as programs see them: the scheduler's groups (sched/group.h), and their root.
 *
 * Each group has a number for as long as a program with operations for groups is loaded. A view is
 * found by it, and ends when the group does: the host frees it once no call of the program can
 * still use it.
 *
 * Locks: the host serialises all that changes groups, loading and unloading included.
 */
#include "lib/errno.h"
#include "sched/group.h"
#include "sim/scx/binding.h"
#include "sim/scx/include/scx/functions.h"

#define OPS (scx.program->ops)

/* The number of a group that programs do not see; its tasks are the root's for them. */
#define HIDDEN SCX_GROUPS_MAX

struct seen_group {
	struct cgroup cgroup;
	struct kernfs_node kn;
	struct task_group *tg;
	struct seen_group *parent;
	struct scx_cgroup_init_args told; /* its parameters, as the program knows them */
	bool idle;
};

/* By number, of which the root has 0; a free or hidden one is NULL. None without a program. */
static struct seen_group **seen;
static u32 nr_numbers; /* all that are in use are less */
static u64 nr_begun;   /* groups but the root */

/* The view of @tg itself; NULL: programs do not see it. Another CPU may end any at any time. */
static struct seen_group *own_view(const struct task_group *tg)
{
	struct seen_group *g = seen ? READ_ONCE(seen[tg ? task_group_number(tg) : 0]) : NULL;

	return g && g->tg == tg ? g : NULL;
}

static struct seen_group *view_of(const struct task_group *tg)
{
	return own_view(tg) ?: own_view(NULL);
}

/* NULL: @cgrp is no group, or one that has ended. */
static struct seen_group *group_of(const struct cgroup *cgrp)
{
	struct seen_group *g;
	u32 number;

	scx_need(cgrp, sizeof(*cgrp), false);
	number = READ_ONCE(cgrp->number);
	g = seen && number < SCX_GROUPS_MAX ? READ_ONCE(seen[number]) : NULL;
	return g && &g->cgroup == cgrp ? g : NULL;
}

void scx_group_hide(struct task_group *tg)
{
	task_group_set_number(tg, HIDDEN);
}

struct cgroup *scx_see_group(const struct task *t)
{
	return seen ? &view_of(task_group_of(t))->cgroup : NULL;
}

/*
 * A weight of 1..10000, where 100 is the default, and microseconds; no quota is ~0. *@idle: is it
 * an idle group?
 */
static struct scx_cgroup_init_args args_of(const struct task_group *tg, bool *idle)
{
	struct task_group_params p = { .shares = SCHED_SHARES_DEFAULT,
				       .quota_ns = SCHED_QUOTA_NONE,
				       .period_ns = SCHED_PERIOD_DEFAULT_NS };

	if (tg)
		task_group_params(tg, &p);
	*idle = p.idle;
	return (struct scx_cgroup_init_args){
		.weight = (u32)min(max((p.shares * 100 + 512) / 1024, (u64)1), (u64)10000),
		.bw_period_us = p.period_ns / NS_PER_US,
		.bw_quota_us = p.quota_ns == SCHED_QUOTA_NONE ? ~0ull : p.quota_ns / NS_PER_US,
		.bw_burst_us = p.burst_ns / NS_PER_US,
	};
}

/* --- groups come and go --------------------------------------------------- */

/* The least number that no group has, or SCX_GROUPS_MAX. */
static u32 free_number(void)
{
	u32 number = 0;

	while (number < SCX_GROUPS_MAX && seen[number])
		number++;
	return number;
}

static struct seen_group *new_view(struct task_group *tg, struct seen_group *parent)
{
	u32 number = free_number();
	struct seen_group *g = number < SCX_GROUPS_MAX ? scx_alloc(sizeof(*g)) : NULL;

	if (!g)
		return NULL;
	g->tg = tg;
	g->parent = parent;
	g->told = args_of(tg, &g->idle);
	/* No two groups have one, and the number is found by it. */
	g->kn.id = 1 + number + SCX_GROUPS_MAX * (tg ? ++nr_begun : 0);
	g->cgroup.number = number;
	g->cgroup.level = parent ? parent->cgroup.level + 1 : 0;
	g->cgroup.kn = &g->kn;
	if (tg)
		task_group_set_number(tg, number);
	nr_numbers = max(nr_numbers, number + 1);
	WRITE_ONCE(seen[number], g);
	return g;
}

static void forget(struct seen_group *g)
{
	WRITE_ONCE(seen[g->cgroup.number], NULL);
	scx_forget_group(&g->cgroup);
}

/* Tells the program of @tg. 0, or an error: then it has not begun. */
static s32 begin(struct ext_call *c, struct task_group *tg)
{
	struct seen_group *g = new_view(tg, tg ? view_of(task_group_parent(tg)) : NULL);
	struct scx_cgroup_init_args args;
	s32 err = 0;

	if (!g)
		return -ENOMEM;
	args = g->told;
	if (OPS->cgroup_init)
		err = (s32)scx_call(c, "cgroup_init", (void *)OPS->cgroup_init, (u64)&g->cgroup,
				    (u64)&args);
	if (!err)
		return 0;
	forget(g);
	scx_free(g);
	return err;
}

static void end(struct ext_call *c, struct seen_group *g)
{
	if (OPS->cgroup_exit)
		scx_call(c, "cgroup_exit", (void *)OPS->cgroup_exit, (u64)&g->cgroup);
}

bool scx_groups_prepare(void)
{
	seen = scx_alloc_large((HIDDEN + 1) * sizeof(struct seen_group *));
	nr_begun = nr_numbers = 0;
	return seen;
}

s32 scx_groups_open(struct ext_call *c)
{
	struct task_group *tg = NULL;
	s32 err = begin(c, NULL);

	while (!err && (tg = task_group_next(ext_machine(c), tg)))
		err = task_group_number(tg) == HIDDEN ? 0 : begin(c, tg);
	if (!err)
		return 0;
	ext_report(c, EXT_EXIT_ERROR, err, "cgroup_init() failed");
	scx_groups_close(c);
	return err;
}

void scx_groups_close(struct ext_call *c)
{
	u32 depth = 0;

	for (u32 i = 0; i < nr_numbers; i++)
		depth = seen[i] ? max(depth, seen[i]->cgroup.level + 1) : depth;
	while (depth--)
		for (u32 i = 0; i < nr_numbers; i++)
			if (seen[i] && seen[i]->cgroup.level == depth)
				end(c, seen[i]);
}

void scx_groups_free(void)
{
	for (u32 i = 0; i < nr_numbers; i++)
		scx_free(seen[i]);
	scx_free_large(seen);
	seen = NULL;
	nr_numbers = 0;
}

/* --- one group ------------------------------------------------------------ */

struct beginning {
	struct task_group *tg;
	s32 err;
};

static void begin_outside(struct ext_call *c, void *argument)
{
	struct beginning *b = argument;

	b->err = begin(c, b->tg);
}

s32 scx_group_begins(struct sched *s, struct task_group *tg)
{
	struct beginning b = { .tg = tg };

	if (seen)
		sched_ext_outside(s, begin_outside, &b);
	return b.err;
}

static void end_outside(struct ext_call *c, void *argument)
{
	end(c, argument);
}

void *scx_group_ends(struct sched *s, struct task_group *tg)
{
	struct seen_group *g = own_view(tg);

	if (!g)
		return NULL;
	sched_ext_outside(s, end_outside, g);
	forget(g);
	return g;
}

struct change {
	struct seen_group *g;
	enum ext_group_news news;
};

static void change_outside(struct ext_call *c, void *argument)
{
	const struct change *change = argument;
	const struct scx_cgroup_init_args *now = &change->g->told;
	u64 cgrp = (u64)&change->g->cgroup;

	if (change->news == EXT_GROUP_WEIGHT && OPS->cgroup_set_weight)
		scx_call(c, "cgroup_set_weight", (void *)OPS->cgroup_set_weight, cgrp, now->weight);
	if (change->news == EXT_GROUP_BANDWIDTH && OPS->cgroup_set_bandwidth)
		scx_call(c, "cgroup_set_bandwidth", (void *)OPS->cgroup_set_bandwidth, cgrp,
			 now->bw_period_us, now->bw_quota_us, now->bw_burst_us);
	if (change->news == EXT_GROUP_IDLE && OPS->cgroup_set_idle)
		scx_call(c, "cgroup_set_idle", (void *)OPS->cgroup_set_idle, cgrp, change->g->idle);
}

/*
 * Is that news for the program? Each write of cpu.idle is, as on Linux; and the weight that comes
 * with it is not.
 */
static bool note(struct seen_group *g, enum ext_group_news news)
{
	struct scx_cgroup_init_args was = g->told, now = args_of(g->tg, &g->idle);

	switch (news) {
	case EXT_GROUP_WEIGHT:
		g->told.weight = now.weight;
		return now.weight != was.weight;
	case EXT_GROUP_BANDWIDTH:
		now.weight = was.weight;
		g->told = now;
		return now.bw_period_us != was.bw_period_us || now.bw_quota_us != was.bw_quota_us ||
		       now.bw_burst_us != was.bw_burst_us;
	default:
		return true;
	}
}

void scx_group_changes(struct sched *s, struct task_group *tg, enum ext_group_news news)
{
	struct change change = { own_view(tg), news };

	if (change.g && note(change.g, news))
		sched_ext_outside(s, change_outside, &change);
}

/* --- moves ---------------------------------------------------------------- */

s32 scx_group_move(struct ext_call *c, struct task *t, struct task_group *from,
		   struct task_group *to, enum ext_regroup_step step)
{
	const struct {
		const char *name;
		void *fn;
	} op[] = {
		[EXT_REGROUP_PREPARE] = { "cgroup_prep_move", (void *)OPS->cgroup_prep_move },
		[EXT_REGROUP_DONE] = { "cgroup_move", (void *)OPS->cgroup_move },
		[EXT_REGROUP_CANCEL] = { "cgroup_cancel_move", (void *)OPS->cgroup_cancel_move },
	};
	u64 err = 0;

	if (op[step].fn)
		err = scx_call(c, op[step].name, op[step].fn, (u64)scx_see(t),
			       (u64)&view_of(from)->cgroup, (u64)&view_of(to)->cgroup);
	return step == EXT_REGROUP_PREPARE ? (s32)err : 0;
}

/* --- what programs call --------------------------------------------------- */

struct cgroup *scx_bpf_task_cgroup(struct task_struct *p)
{
	struct task *t = scx_task(p);

	if (!seen)
		return NULL;
	return t ? scx_see_group(t) : &view_of(NULL)->cgroup;
}

struct cgroup *bpf_cgroup_from_id(u64 id)
{
	struct seen_group *g = seen ? READ_ONCE(seen[(id - 1) % SCX_GROUPS_MAX]) : NULL;

	return g && g->kn.id == id ? &g->cgroup : NULL;
}

struct cgroup *bpf_cgroup_ancestor(struct cgroup *cgrp, int level)
{
	struct seen_group *g = group_of(cgrp);

	if (!g || level < 0 || (u32)level > g->cgroup.level)
		return NULL;
	while (g->cgroup.level > (u32)level)
		g = g->parent;
	return &g->cgroup;
}
