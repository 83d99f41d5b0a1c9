/* SPDX-License-Identifier: GPL-2.0-only */
/* The user half of scx_flash: all CPUs are primary ones. */
#include "half.h"

#define HALF_FLAGS HALF_USUAL_FLAGS

static void user_half(enum half_phase phase)
{
	if (phase == HALF_CONSTANTS) {
		HALF_SET(slice_max, 700000);
		HALF_SET(slice_lag, 20000000);
		HALF_SET(smt_enabled, half_has_smt());
		HALF_SET(numa_disabled, true);
	} else if (phase == HALF_LOADED) {
		enable_primary_cpu(&(struct cpu_arg){ -1 });
		half_for_each_cpu(cpu)
		{
			enable_primary_cpu(&(struct cpu_arg){ cpu });
			HALF_ENABLE_SIBLINGS(cpu);
		}
	}
}
