/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A seeded bug, for sched_ext: a scheduler that loses a task now and then. enqueue() gives the
 * number of each task to a map, dispatch() takes the numbers out; every hundredth is dropped. The
 * watch over runnable tasks finds out after two seconds, throws the scheduler out and says which
 * task it was; from then on all tasks are scheduled by the fair class.
 *
 *	make scx SRC=examples/scx/stall.bpf.c
 *	build/schedsim --scx build/scx/stall.so --time 10s hogs:n=3
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 4096);
	__type(value, s32);
} waiting SEC(".maps");

static u32 nr;

void BPF_STRUCT_OPS(stall_enqueue, struct task_struct *p, u64 enq_flags)
{
	s32 pid = p->pid;

	if (++nr % 100 == 0)
		return; /* the bug */
	if (bpf_map_push_elem(&waiting, &pid, 0))
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(stall_dispatch, s32 cpu, struct task_struct *prev)
{
	struct task_struct *p;
	s32 pid;

	bpf_repeat(BPF_MAX_LOOPS)
	{
		if (bpf_map_pop_elem(&waiting, &pid))
			return;
		p = bpf_task_from_pid(pid);
		if (!p)
			continue;
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, 0);
		bpf_task_release(p);
		return;
	}
}

SCX_OPS_DEFINE(stall_ops, .enqueue = (void *)stall_enqueue, .dispatch = (void *)stall_dispatch,
	       .timeout_ms = 2000, .name = "stall");
