/* SPDX-License-Identifier: GPL-2.0-only */
/* The user half of scx_beerland: all CPUs are primary ones. */
#include "half.h"

#define HALF_FLAGS HALF_USUAL_FLAGS

static void user_half(enum half_phase phase)
{
	if (phase == HALF_CONSTANTS) {
		HALF_SET(slice_ns, 1000000);
		HALF_SET(slice_lag, 20000000);
		HALF_SET(smt_enabled, half_has_smt());
		HALF_SET(numa_enabled, false);
		HALF_SET(primary_all, true);
		HALF_SET_CAPACITIES(cpu_capacity);
	} else if (phase == HALF_LOADED && half_has_smt()) {
		half_for_each_cpu(cpu) HALF_ENABLE_SIBLINGS(cpu);
	}
}
