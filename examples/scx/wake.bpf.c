/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tasks that wake up come first, for sched_ext: they go to the head of the one queue, and their CPU
 * looks at it at once. Chapter 17 of the book writes this scheduler and tries it.
 *
 *	make scx SRC=examples/scx/wake.bpf.c
 *	build/schedsim --scx build/scx/wake.so hogs:n=3 bursts:run=2ms,sleep=10ms
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

#define QUEUE 0

const volatile u64 slice_ns = SCX_SLICE_DFL;

/* A task is runnable: it woke up, its turn is over, or it was preempted. */
void BPF_STRUCT_OPS(wake_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 head = enq_flags & SCX_ENQ_WAKEUP ? SCX_ENQ_HEAD : 0;

	scx_bpf_dsq_insert(p, QUEUE, slice_ns, enq_flags | head);
	if (head)
		scx_bpf_kick_cpu(scx_bpf_task_cpu(p), SCX_KICK_PREEMPT);
}

/* The CPU has nothing to run, or the turn of @prev is over. */
void BPF_STRUCT_OPS(wake_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(QUEUE, 0);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(wake_init)
{
	return scx_bpf_create_dsq(QUEUE, -1);
}

SCX_OPS_DEFINE(wake_ops, .enqueue = (void *)wake_enqueue, .dispatch = (void *)wake_dispatch,
	       .init = (void *)wake_init, .name = "wake");
