/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shape of a machine as text, as the boot parameter topology= and the simulator's --topology
 * take it:
 *
 *	[[PACKAGESx]LLCSx]CORESxTHREADS   "2x4x2": 2 caches of 4 cores of 2 threads
 *	LEVEL=N,...			   nodes, packages, llcs, cores, threads; others are 1
 *	LEVEL=N+N+...			   the number in the first part above, in the second, over
 *
 * A package is a memory node unless nodes are given.
 */
#pragma once

#include "lib/cpumask.h"

enum tree_level { TREE_NODES, TREE_PACKAGES, TREE_LLCS, TREE_CORES, TREE_THREADS, NR_TREE_LEVELS };
extern const char *const tree_level_name[NR_TREE_LEVELS]; /* "nodes" */

#define TREE_PARTS_MAX 256

struct cpu_tree {
	/* How many parts the groups of the level above have, one after another, over and over. */
	u32 parts[NR_TREE_LEVELS][TREE_PARTS_MAX];
	u32 nr_parts[NR_TREE_LEVELS];
	u32 total[NR_TREE_LEVELS]; /* groups of a level in the machine; those of threads are CPUs */
	char error[160];
};

/* Where a CPU is: numbers of the groups around it, dense over the machine. */
struct cpu_place {
	u32 core, llc, package, node;
};

/* A machine of @nr_cores cores. */
void cpu_tree_flat(struct cpu_tree *tree, u32 nr_cores);
/*
 * Reads @text. False if it is not a shape of at most CPU_MAX CPUs; tree->error then says why, in
 * one line.
 */
bool cpu_tree_read(struct cpu_tree *tree, const char *text);
/* The places of all CPUs, in order: tree->total[TREE_THREADS] of them. */
void cpu_tree_places(const struct cpu_tree *tree, struct cpu_place *places);
