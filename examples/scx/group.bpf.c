/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A tree of control groups: a queue for each group, and at each level the CPU goes to the child
 * that has had least for its weight. A group's own tasks are one more child, of weight 100.
 *
 *	schedsim --scx build/scx/group.so group:name=a,shares=2048 hogs:n=3,group=a hogs:n=3
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

#define MAX_GROUPS 64
#define MAX_LEVELS 8

const volatile u64 slice_ns = 5000000;

/* Times are ns of CPU time for a weight of 100. */
static struct child {
	u64 vtime, own; /* had by the group, and by its own tasks */
	u64 now;	/* the time of its child that was served last */
	u32 weight, parent;
	bool there, waits; /* waits: a task is queued here or below */
} nodes[MAX_GROUPS];	   /* [0] is the root */

/* The number of a group in nodes[], and of its queue. */
struct {
	__uint(type, BPF_MAP_TYPE_CGRP_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u32);
} numbers SEC(".maps");

static u32 number_of(struct cgroup *cgrp)
{
	u32 *number = cgrp ? bpf_cgrp_storage_get(&numbers, cgrp, 0, 0) : NULL;

	return number ? *number % MAX_GROUPS : 0;
}

static u32 group_of(struct task_struct *p)
{
	struct cgroup *cgrp = scx_bpf_task_cgroup(p);
	u32 n = number_of(cgrp);

	bpf_cgroup_release(cgrp);
	return n;
}

/* Group @n waits: it has no claim to the time that it was away. */
static void begin_to_wait(u32 n)
{
	struct child *node = &nodes[n], *up = &nodes[node->parent % MAX_GROUPS];

	if (time_before(node->vtime, up->now))
		node->vtime = up->now;
	node->waits = true;
}

void BPF_STRUCT_OPS(group_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 at = group_of(p), level;

	if (!scx_bpf_dsq_nr_queued(at) && time_before(nodes[at].own, nodes[at].now))
		nodes[at].own = nodes[at].now;
	scx_bpf_dsq_insert(p, at, slice_ns, enq_flags);
	bpf_for(level, 0, MAX_LEVELS)
	{
		if (!at)
			break;
		if (!nodes[at].waits)
			begin_to_wait(at);
		at = nodes[at].parent % MAX_GROUPS;
	}
}

/* The child of @at to be served, or @at for its own tasks; a group without any waits no longer. */
static u32 choose(u32 at)
{
	bool found = scx_bpf_dsq_nr_queued(at) > 0;
	u64 least = nodes[at].own;
	u32 best = at, n;

	bpf_for(n, 1, MAX_GROUPS)
	{
		if (!nodes[n].waits || nodes[n].parent != at)
			continue;
		if (found && !time_before(nodes[n].vtime, least))
			continue;
		found = true;
		best = n;
		least = nodes[n].vtime;
	}
	if (!found)
		nodes[at].waits = false;
	else if (time_before(nodes[at].now, least))
		nodes[at].now = least;
	return best;
}

void BPF_STRUCT_OPS(group_dispatch, s32 cpu, struct task_struct *prev)
{
	int tries;

	bpf_for(tries, 0, MAX_GROUPS)
	{
		u32 at = 0, next, level;

		bpf_for(level, 0, MAX_LEVELS)
		{
			next = choose(at) % MAX_GROUPS;
			if (next == at)
				break;
			at = next;
		}
		if (scx_bpf_dsq_move_to_local(at, 0) || !at)
			return;
	}
}

void BPF_STRUCT_OPS(group_stopping, struct task_struct *p, bool runnable)
{
	u64 used = slice_ns - p->scx.slice;
	u32 at = group_of(p), level;

	nodes[at].own += used;
	bpf_for(level, 0, MAX_LEVELS)
	{
		if (!at)
			break;
		nodes[at].vtime += used * 100 / nodes[at].weight;
		at = nodes[at].parent % MAX_GROUPS;
	}
}

s32 BPF_STRUCT_OPS_SLEEPABLE(group_cgroup_init, struct cgroup *cgrp,
			     struct scx_cgroup_init_args *args)
{
	u32 *number = bpf_cgrp_storage_get(&numbers, cgrp, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	struct cgroup *up;
	u32 n = MAX_GROUPS, i;

	bpf_for(i, 0, MAX_GROUPS) if (n == MAX_GROUPS && !nodes[i].there) n = i;
	if (!number || n >= MAX_GROUPS)
		return -ENOMEM;
	up = cgrp->level ? bpf_cgroup_ancestor(cgrp, cgrp->level - 1) : NULL;
	*number = n;
	nodes[n] = (struct child){ .weight = args->weight, .parent = number_of(up), .there = true };
	if (up)
		bpf_cgroup_release(up);
	return scx_bpf_create_dsq(n, -1);
}

/* Nobody waits there any more. */
void BPF_STRUCT_OPS_SLEEPABLE(group_cgroup_exit, struct cgroup *cgrp)
{
	u32 n = number_of(cgrp);

	nodes[n].there = nodes[n].waits = false;
	scx_bpf_destroy_dsq(n);
}

void BPF_STRUCT_OPS(group_cgroup_set_weight, struct cgroup *cgrp, u32 weight)
{
	nodes[number_of(cgrp)].weight = weight;
}

SCX_OPS_DEFINE(group_ops, .enqueue = (void *)group_enqueue, .dispatch = (void *)group_dispatch,
	       .stopping = (void *)group_stopping, .cgroup_init = (void *)group_cgroup_init,
	       .cgroup_exit = (void *)group_cgroup_exit,
	       .cgroup_set_weight = (void *)group_cgroup_set_weight, .name = "group");
