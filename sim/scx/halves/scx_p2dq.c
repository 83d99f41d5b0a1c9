/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The user half of scx_p2dq: slices, caches, and the tree of the machine for its library. The
 * machine is one node.
 */
#include <lib/arena.h>

#include "half.h"

#define HALF_FLAGS SCX_OPS_KEEP_BUILTIN_IDLE

/* Pages at once for memory that is never given back. */
#define STATIC_PAGES 8

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

/* The part of the machine that has those CPUs for which @of says @id. */
static void add_node(u32 (*of)(s32 cpu), u32 id)
{
	struct arena_alloc_mask_args mask = { 0 };
	struct arena_topology_node_init_args node = { .id = id };
	u64 *words;

	if (arena_alloc_mask(&mask))
		scx_bpf_error("no memory for the machine's tree");
	words = (u64 *)mask.bitmap;
	half_for_each_cpu(cpu)
	{
		if (of(cpu) == id)
			words[cpu / 64] |= 1ull << (cpu % 64);
	}
	node.bitmap = mask.bitmap;
	if (arena_topology_node_init(&node))
		scx_bpf_error("the library refuses the machine's tree");
}

/* The machine, and its one node. */
static u32 whole_of(s32 cpu)
{
	(void)cpu;
	return 0;
}

static u32 llc_of(s32 cpu)
{
	return half_llc(cpu);
}

static u32 core_of(s32 cpu)
{
	return half_core(cpu);
}

static u32 cpu_of(s32 cpu)
{
	return (u32)cpu;
}

/* A level of the tree: a part for each number that @of gives. */
static void add_level(u32 (*of)(s32 cpu))
{
	u32 next = 0;

	half_for_each_cpu(cpu)
	{
		if (of(cpu) == next)
			add_node(of, next++);
	}
}

static void add_tree(void)
{
	struct arena_init_args library = { STATIC_PAGES, sizeof(struct task_p2dq) };
	struct arena_topology_init_args most = { { 1, nr_llcs, 0, 1, 0 } };

	half_for_each_cpu(cpu)
	{
		u32 threads = 1;

		half_for_each_sibling(other, cpu) threads++;
		most.max_children[TOPO_LLC] = max(most.max_children[TOPO_LLC], cpu_llc_size(cpu));
		most.max_children[TOPO_CORE] = max(most.max_children[TOPO_CORE], threads);
	}
	if (arena_init(&library) || arena_topology_init(&most))
		scx_bpf_error("no memory for the library");
	add_level(whole_of);
	add_level(whole_of);
	add_level(llc_of);
	add_level(core_of);
	add_level(cpu_of);
}

static void user_half(enum half_phase phase)
{
	if (phase == HALF_CONSTANTS) {
		set_machine();
		set_options();
	} else if (phase == HALF_LOADED) {
		add_tree();
	}
}
