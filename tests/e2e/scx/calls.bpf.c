/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which operations hear of a change, with which arguments, and in which order? A scheduler that
 * prints a line for each: of groups but the root, and of tasks that are called `sleep`. Here and on
 * Linux.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

static __always_inline bool is_followed(const struct task_struct *p)
{
	return p->comm[0] == 's' && p->comm[1] == 'l' && p->comm[2] == 'e';
}

s32 BPF_STRUCT_OPS_SLEEPABLE(calls_cgroup_init, struct cgroup *cgrp,
			     struct scx_cgroup_init_args *args)
{
	if (cgrp->level)
		bpf_printk("calls> cgroup_init %u %llu %llu %llu", args->weight, args->bw_period_us,
			   args->bw_quota_us, args->bw_burst_us);
	return 0;
}

void BPF_STRUCT_OPS_SLEEPABLE(calls_cgroup_exit, struct cgroup *cgrp)
{
	if (cgrp->level)
		bpf_printk("calls> cgroup_exit");
}

void BPF_STRUCT_OPS(calls_cgroup_set_weight, struct cgroup *cgrp, u32 weight)
{
	bpf_printk("calls> cgroup_set_weight %u", weight);
}

void BPF_STRUCT_OPS(calls_cgroup_set_bandwidth, struct cgroup *cgrp, u64 period, u64 quota,
		    u64 burst)
{
	bpf_printk("calls> cgroup_set_bandwidth %llu %llu %llu", period, quota, burst);
}

void BPF_STRUCT_OPS(calls_cgroup_set_idle, struct cgroup *cgrp, bool idle)
{
	bpf_printk("calls> cgroup_set_idle %d", idle);
}

void BPF_STRUCT_OPS(calls_enable, struct task_struct *p)
{
	if (is_followed(p))
		bpf_printk("calls> enable");
}

void BPF_STRUCT_OPS(calls_disable, struct task_struct *p)
{
	if (is_followed(p))
		bpf_printk("calls> disable");
}

void BPF_STRUCT_OPS(calls_set_weight, struct task_struct *p, u32 weight)
{
	if (is_followed(p))
		bpf_printk("calls> set_weight %u %u", weight, p->scx.weight);
}

void BPF_STRUCT_OPS(calls_set_cpumask, struct task_struct *p, const struct cpumask *mask)
{
	if (is_followed(p))
		bpf_printk("calls> set_cpumask %d %d", bpf_cpumask_test_cpu(0, mask),
			   bpf_cpumask_test_cpu(1, mask));
}

void BPF_STRUCT_OPS(calls_dump, struct scx_dump_ctx *dctx)
{
	scx_bpf_dump("calls> dump %d ", dctx->kind);
	scx_bpf_dump("%d", dctx->exit_code == 0);
}

void BPF_STRUCT_OPS(calls_dump_cpu, struct scx_dump_ctx *dctx, s32 cpu, bool idle)
{
	if (cpu == 1)
		scx_bpf_dump("calls> dump_cpu\ncalls> second line");
}

void BPF_STRUCT_OPS(calls_dump_task, struct scx_dump_ctx *dctx, struct task_struct *p)
{
	if (p->comm[0] == 'h' && p->comm[1] == 'o')
		scx_bpf_dump("calls> dump_task %s\n", p->comm);
}

/* A hog with a nice value of 19 asks for the end. */
void BPF_STRUCT_OPS(calls_tick, struct task_struct *p)
{
	if (p->comm[0] == 'h' && p->comm[1] == 'o' && p->scx.weight == 1)
		scx_bpf_error("a hog that is nice");
}

/* A part of the dump is there. */
void BPF_STRUCT_OPS(calls_exit, struct scx_exit_info *ei)
{
	char dump[8] = {};

	bpf_probe_read_kernel_str(dump, sizeof(dump), ei->dump);
	bpf_printk("calls> exit %d %d", ei->kind, dump[0] != 0);
}

SCX_OPS_DEFINE(calls_ops, .cgroup_init = (void *)calls_cgroup_init,
	       .cgroup_exit = (void *)calls_cgroup_exit,
	       .cgroup_set_weight = (void *)calls_cgroup_set_weight,
	       .cgroup_set_bandwidth = (void *)calls_cgroup_set_bandwidth,
	       .cgroup_set_idle = (void *)calls_cgroup_set_idle, .enable = (void *)calls_enable,
	       .disable = (void *)calls_disable, .set_weight = (void *)calls_set_weight,
	       .set_cpumask = (void *)calls_set_cpumask, .dump = (void *)calls_dump,
	       .dump_cpu = (void *)calls_dump_cpu, .dump_task = (void *)calls_dump_task,
	       .tick = (void *)calls_tick, .exit = (void *)calls_exit, .name = "calls");
