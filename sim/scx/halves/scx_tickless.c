/* SPDX-License-Identifier: GPL-2.0-only */
/* The user half of scx_tickless: CPU 0 routes events, as -m 0x1 asks for. */
#include "half.h"

#define HALF_FLAGS SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_MIGRATION_DISABLED | SCX_OPS_ALLOW_QUEUED_WAKEUP

static void user_half(enum half_phase phase)
{
	if (phase == HALF_CONSTANTS) {
		HALF_SET(nr_cpu_ids, scx_bpf_nr_cpu_ids());
		HALF_SET(smt_enabled, half_has_smt());
		HALF_SET(slice_ns, 20000000);
		HALF_SET_PREFERRED(preferred_cpus);
	} else if (phase == HALF_LOADED) {
		enable_primary_cpu(&(struct cpu_arg){ -1 });
		enable_primary_cpu(&(struct cpu_arg){ 0 });
	} else {
		half_pin(0);
		start_timer(&(struct cpu_arg){ 0 });
	}
}
