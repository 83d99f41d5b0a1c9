/* SPDX-License-Identifier: GPL-2.0-only */
/* The user half of scx_p2dq: slices and caches. The machine is one node. */
#include "library.h"

#define HALF_FLAGS SCX_OPS_KEEP_BUILTIN_IDLE

static u32 nr_llcs;

static void set_machine(void)
{
	u32 largest = 0;

	half_for_each_cpu(cpu)
	{
		if (cpu >= MAX_CPUS || half_llc(cpu) >= MAX_LLCS)
			continue;
		cpu_core_ids[cpu] = half_core(cpu);
		cpu_llc_ids[cpu] = half_llc(cpu);
		cpu_capacity[cpu] = half_capacity(cpu);
		llc_ids[half_llc(cpu)] = half_llc(cpu);
		nr_llcs = max(nr_llcs, half_llc(cpu) + 1);
		largest = max(largest, cpu_llc_size(cpu));
		if (half_capacity(cpu) < 1024)
			HALF_SET(topo_config.has_little_cores, true);
	}
	HALF_SET(nr_cpu_ids, scx_bpf_nr_cpu_ids());
	HALF_SET(topo_config.nr_cpus, scx_bpf_nr_cpu_ids());
	HALF_SET(topo_config.nr_llcs, nr_llcs);
	HALF_SET(topo_config.nr_nodes, 1);
	HALF_SET(topo_config.smt_enabled, half_has_smt());
	HALF_SET(p2dq_config.llc_shards, largest > 4 ? largest / 4 : 1);
}

static void set_options(void)
{
	dsq_time_slices[0] = 500000;
	dsq_time_slices[1] = 2500000;
	dsq_time_slices[2] = 5000000;
	HALF_SET(timeline_config.max_exec_ns, 2 * dsq_time_slices[2]);
	HALF_SET(timeline_config.autoslice, false);
	HALF_SET(timeline_config.deadline, false);
	HALF_SET(lb_config.slack_factor, 5);
	HALF_SET(lb_config.min_nr_queued_pick2, 0);
	HALF_SET(lb_config.min_llc_runs_pick2, log2_u32(nr_llcs));
	HALF_SET(lb_config.dispatch_lb_interactive, true);
	HALF_SET(lb_config.wakeup_lb_busy, 0);
	HALF_SET(lb_config.dispatch_pick2_disable, nr_llcs == 1);
	HALF_SET(lb_config.single_llc_mode, nr_llcs == 1);
	HALF_SET(p2dq_config.dsq_shift, 4);
	HALF_SET(p2dq_config.task_slice, false);
	HALF_SET(p2dq_config.keep_running_enabled, false);
	HALF_SET(debug, 0);
}

static void user_half(enum half_phase phase)
{
	if (phase == HALF_CONSTANTS) {
		set_machine();
		set_options();
	} else if (phase == HALF_LOADED) {
		library_open(sizeof(struct task_p2dq));
	}
}
