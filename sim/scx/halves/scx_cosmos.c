/* SPDX-License-Identifier: GPL-2.0-only */
/* The user half of scx_cosmos: no counters of events, no GPU. */
#include "half.h"

#define HALF_FLAGS HALF_USUAL_FLAGS

static void user_half(enum half_phase phase)
{
	if (phase == HALF_CONSTANTS) {
		HALF_SET(slice_ns, 1000000);
		HALF_SET(slice_lag, 20000000);
		HALF_SET(smt_enabled, half_has_smt());
		HALF_SET(numa_enabled, false);
		HALF_SET(nr_node_ids, 1);
		HALF_SET(gpu_enabled, false);
		HALF_SET(overload_thresh_ns, 1000000);
		HALF_SET(all_cpus_same_capacity, true);
		half_for_each_cpu(cpu) if (half_capacity(cpu) != half_capacity(0))
			HALF_SET(all_cpus_same_capacity, false);
		HALF_SET_CAPACITIES(cpu_capacity);
		HALF_SET_PREFERRED(preferred_cpus);
	} else if (phase == HALF_LOADED && half_has_smt()) {
		half_for_each_cpu(cpu) HALF_ENABLE_SIBLINGS(cpu);
	}
}
