/* SPDX-License-Identifier: GPL-2.0-only */
/* The user half of scx_nest. */
#include "half.h"

static void user_half(enum half_phase phase)
{
	if (phase != HALF_CONSTANTS)
		return;
	HALF_SET(nr_cpus, scx_bpf_nr_cpu_ids());
	HALF_SET(slice_ns, SCX_SLICE_DFL);
}
