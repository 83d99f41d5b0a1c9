/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A queue for each last-level cache, for sched_ext: tasks stay where their data is, and a cache
 * without work takes a task of another. The user says how many CPUs share a cache:
 *
 *	make scx SRC=examples/scx/llc.bpf.c
 *	build/schedsim --scx build/scx/llc.so,cpus_per_llc=2 --topology 1x1x2x2x1 hogs:n=6
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

const volatile u32 cpus_per_llc = 4;
const volatile bool steals = true;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} stolen SEC(".maps");

static u64 queue_of(s32 cpu)
{
	return (u64)cpu / cpus_per_llc;
}

/* An idle CPU is used at once, and the task waits for nobody. */
s32 BPF_STRUCT_OPS(llc_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool idle = false;
	s32 cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &idle);

	if (idle)
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, 0);
	return cpu;
}

void BPF_STRUCT_OPS(llc_enqueue, struct task_struct *p, u64 enq_flags)
{
	s32 cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);

	scx_bpf_dsq_insert(p, queue_of(scx_bpf_task_cpu(p)), SCX_SLICE_DFL, enq_flags);
	if (cpu >= 0)
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

void BPF_STRUCT_OPS(llc_dispatch, s32 cpu, struct task_struct *prev)
{
	u32 nr = (scx_bpf_nr_cpu_ids() + cpus_per_llc - 1) / cpus_per_llc, i, zero = 0;
	u64 own = queue_of(cpu), *count;

	if (scx_bpf_dsq_move_to_local(own, 0) || !steals)
		return;
	bpf_for(i, 1, nr) if (scx_bpf_dsq_move_to_local((own + i) % nr, 0))
	{
		count = bpf_map_lookup_elem(&stolen, &zero);
		if (count)
			(*count)++;
		return;
	}
}

s32 BPF_STRUCT_OPS_SLEEPABLE(llc_init)
{
	s32 cpu, err = 0;

	bpf_for(cpu, 0, scx_bpf_nr_cpu_ids()) if (cpu % cpus_per_llc == 0 && !err) err =
		scx_bpf_create_dsq(queue_of(cpu), -1);
	return err;
}

SCX_OPS_DEFINE(llc_ops, .select_cpu = (void *)llc_select_cpu, .enqueue = (void *)llc_enqueue,
	       .dispatch = (void *)llc_dispatch, .init = (void *)llc_init, .name = "llc");
