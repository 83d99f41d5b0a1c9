/* SPDX-License-Identifier: GPL-2.0-only */
/* Control groups as programs see them: the simulator's groups, their weights, and moves. */
#include <stdlib.h>

#include "sim/engine/util.h"
#include "sim/scx/binding.h"
#include "sim/scx/scx.h"
#include "sim/scx/include/scx/functions.h"
#include "sim/scx/include/scx/simulator.h"

#define OPS (scx.program->ops)

struct seen_group {
	struct cgroup cgroup;
	struct kernfs_node kn;
};
static struct seen_group **groups; /* by the simulator's numbers */
static u32 nr_groups;

static struct cgroup *see_group(u32 number)
{
	struct seen_group *g;

	while (nr_groups <= number) {
		groups = realloc(groups, (nr_groups + 1) * sizeof(struct seen_group *));
		if (!groups)
			out_of_memory();
		g = groups[nr_groups] = allocate(1, sizeof(*g));
		g->kn.id = nr_groups + 1;
		g->cgroup.kn = &g->kn;
		g->cgroup.number = nr_groups;
		for (u32 up = nr_groups; up; up = scx_sim()->groups[up].parent)
			g->cgroup.level++;
		nr_groups++;
	}
	return &groups[number]->cgroup;
}

static struct cgroup *group_of(struct task *t)
{
	return see_group(container_of(t, struct sim_task, task)->group);
}

/* 1..10000, where 100 is the default. */
static u32 weight_of(u32 number)
{
	u64 shares = number ? scx_sim()->groups[number].params.shares : 1024;

	return (u32)min(max((shares * 100 + 512) / 1024, (u64)1), (u64)10000);
}

/* --- what happens to groups ----------------------------------------------- */

static void begin(struct ext_call *c, void *argument)
{
	u32 number = *(u32 *)argument;
	struct scx_cgroup_init_args args = { .weight = weight_of(number) };
	s32 err = (s32)scx_call(c, "cgroup_init", (void *)OPS->cgroup_init, (u64)see_group(number),
				(u64)&args, 0);

	if (err)
		ext_report(c, EXT_EXIT_ERROR, err, "cgroup_init() failed");
}

static void begin_group(struct sim *sim, u32 number)
{
	if (OPS->cgroup_init)
		sched_ext_outside(sim->s, begin, &number);
}

struct move {
	struct task *t;
	u32 to;
};

static void move(struct ext_call *c, void *argument)
{
	struct move *m = argument;
	struct cgroup *from = group_of(m->t), *to = see_group(m->to);
	struct task_struct *p = scx_see(m->t);
	s32 err = 0;

	if (OPS->cgroup_prep_move)
		err = (s32)scx_call(c, "cgroup_prep_move", (void *)OPS->cgroup_prep_move, (u64)p,
				    (u64)from, (u64)to);
	if (err)
		ext_report(c, EXT_EXIT_ERROR, err, "cgroup_prep_move() failed");
	else if (OPS->cgroup_move)
		scx_call(c, "cgroup_move", (void *)OPS->cgroup_move, (u64)p, (u64)from, (u64)to);
}

static void move_task(struct sim *sim, struct sim_task *t, u32 to)
{
	struct move m = { &t->task, to };

	if (t->group != to && scx_see(&t->task) != &scx.idle &&
	    (OPS->cgroup_prep_move || OPS->cgroup_move))
		sched_ext_outside(sim->s, move, &m);
}

/* A new task's group is told, too. */
static s32 init_task(struct ext_call *c, struct task *t, bool fork)
{
	struct scx_init_task_args args = { .fork = fork, .cgroup = group_of(t) };

	return (s32)scx_call(c, "init_task", (void *)OPS->init_task, (u64)scx_see(t), (u64)&args,
			     0);
}

void scx_groups_open(struct ext_ops *ops)
{
	if (ops->init_task)
		ops->init_task = init_task;
}

void scx_groups_begin(void)
{
	scx_sim()->group_begins = begin_group;
	scx_sim()->group_changes = move_task;
	for (u32 number = 0; number < scx_sim()->nr_groups; number++)
		begin_group(scx_sim(), number);
}

/* --- what programs call --------------------------------------------------- */

struct cgroup *scx_bpf_task_cgroup(struct task_struct *p)
{
	struct task *t = scx_task(p);

	return t ? group_of(t) : see_group(0);
}

struct cgroup *bpf_cgroup_from_id(u64 id)
{
	return id && id <= scx_sim()->nr_groups ? see_group((u32)id - 1) : NULL;
}

struct cgroup *bpf_cgroup_ancestor(struct cgroup *cgrp, int level)
{
	u32 number = cgrp->number;

	if (level < 0 || (u32)level > cgrp->level)
		return NULL;
	for (u32 at = cgrp->level; at > (u32)level; at--)
		number = scx_sim()->groups[number].parent;
	return see_group(number);
}
