/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For user halves of programs with the library of the crates: its memory, and its tree of the
 * machine, which is one node.
 */
#pragma once

#include <lib/arena.h>

#include "half.h"

/* Pages at once for memory that is never given back. */
#define STATIC_PAGES 8

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

/* @task_size: bytes that the program keeps of a task. */
static void library_open(u32 task_size)
{
	struct arena_init_args library = { STATIC_PAGES, task_size };
	struct arena_topology_init_args most = { { 1, 0, 0, 1, 0 } };

	half_for_each_cpu(cpu)
	{
		u32 threads = 1;

		half_for_each_sibling(other, cpu) threads++;
		most.max_children[TOPO_NODE] = max(most.max_children[TOPO_NODE], half_llc(cpu) + 1);
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
