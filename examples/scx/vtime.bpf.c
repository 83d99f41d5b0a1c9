/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shares by weight, for sched_ext. A task's vtime grows by the time that it ran, divided by its
 * weight; the one with the least runs next. Try it with nice values:
 *
 *	make scx SRC=examples/scx/vtime.bpf.c
 *	build/schedsim --scx build/scx/vtime.so hogs:n=2 hogs:n=1,nice=5 hogs:n=1,nice=10
 *
 * With three hogs on one CPU the first gets half of it, whatever its weight: dispatch runs before
 * the task whose turn is over is enqueued again, so that no task can follow itself.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

#define QUEUE 0

/* The vtime up to which everybody has been served. */
static u64 now;

static bool before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

void BPF_STRUCT_OPS(vtime_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 vtime = p->scx.dsq_vtime, floor = now - SCX_SLICE_DFL;

	/* A sleeper saves up one turn, not more. */
	scx_bpf_dsq_insert_vtime(p, QUEUE, SCX_SLICE_DFL, before(vtime, floor) ? floor : vtime,
				 enq_flags);
}

void BPF_STRUCT_OPS(vtime_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(QUEUE, 0);
}

void BPF_STRUCT_OPS(vtime_running, struct task_struct *p)
{
	if (before(now, p->scx.dsq_vtime))
		now = p->scx.dsq_vtime;
}

/* The rest of the slice was not used. Weight 100 is that of nice 0. */
void BPF_STRUCT_OPS(vtime_stopping, struct task_struct *p, bool runnable)
{
	p->scx.dsq_vtime += (SCX_SLICE_DFL - p->scx.slice) * 100 / p->scx.weight;
}

void BPF_STRUCT_OPS(vtime_enable, struct task_struct *p)
{
	p->scx.dsq_vtime = now;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(vtime_init)
{
	return scx_bpf_create_dsq(QUEUE, -1);
}

SCX_OPS_DEFINE(vtime_ops, .enqueue = (void *)vtime_enqueue, .dispatch = (void *)vtime_dispatch,
	       .running = (void *)vtime_running, .stopping = (void *)vtime_stopping,
	       .enable = (void *)vtime_enable, .init = (void *)vtime_init, .name = "vtime");
