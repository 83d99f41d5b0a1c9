/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The user half of scx_rusty: a domain for each last-level cache, in one node. All CPUs are as on a
 * machine that is hardly used. There is no load balancer between the domains.
 */
#include "half.h"

static void add_cpu(s32 cpu)
{
	u32 domain = half_llc(cpu), word = (u32)cpu / 64;
	u64 bit = 1ull << (cpu % 64);

	HALF_SET(nr_doms, domain + 1);
	HALF_SET(cpu_dom_id_map[cpu], domain);
	HALF_SET(dom_cpumasks[domain][word], dom_cpumasks[domain][word] | bit);
	HALF_SET(numa_cpumasks[0][word], numa_cpumasks[0][word] | bit);
	tune_input.direct_greedy_cpumask[word] |= bit;
	tune_input.kick_greedy_cpumask[word] |= bit;
}

static void user_half(enum half_phase phase)
{
	if (phase != HALF_CONSTANTS)
		return;
	HALF_SET(nr_nodes, 1);
	HALF_SET(nr_cpu_ids, scx_bpf_nr_cpu_ids());
	HALF_SET(greedy_threshold, 1);
	half_for_each_cpu(cpu) if (cpu < MAX_CPUS && half_llc(cpu) < MAX_DOMS) add_cpu(cpu);
	slice_ns = tune_input.slice_ns = SCX_SLICE_DFL;
	tune_input.genn = 1;
}
