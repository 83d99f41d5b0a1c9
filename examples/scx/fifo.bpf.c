/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * First come, first served, for sched_ext: the shortest useful scheduler. All tasks wait in one
 * queue; a CPU that has nothing to run takes the first one that may run there. Turns are 20 ms,
 * unless another length is asked for:
 *
 *	make scx SRC=examples/scx/fifo.bpf.c
 *	build/schedsim --scx build/scx/fifo.so,slice_ns=5000000 --cpus 2 hogs:n=3
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

#define QUEUE 0

const volatile u64 slice_ns = SCX_SLICE_DFL;

/* A task is runnable: it woke up, its turn is over, or it was preempted. */
void BPF_STRUCT_OPS(fifo_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, QUEUE, slice_ns, enq_flags);
}

/* The CPU has nothing to run, or the turn of @prev is over. */
void BPF_STRUCT_OPS(fifo_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(QUEUE, 0);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(fifo_init)
{
	return scx_bpf_create_dsq(QUEUE, -1);
}

SCX_OPS_DEFINE(fifo_ops, .enqueue = (void *)fifo_enqueue, .dispatch = (void *)fifo_dispatch,
	       .init = (void *)fifo_init, .name = "fifo");
