/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The page of the kernel's that the vDSO reads: mapped read-only right below the vDSO in every
 * program. The kernel writes it with clock changes one at a time (arch/x86/vdso.c).
 */
#pragma once

#include "lib/types.h"

#define VVAR_SIZE 4096

#define VVAR_CLOCKS   12    /* ids of clock_gettime(2) below this one may be readable */
#define VVAR_NO_CLOCK ~0ull /* as an offset: ask the kernel */

struct vvar {
	u32 sequence;	 /* odd while the rest is being written */
	u64 tsc_base;	 /* the TSC at boot */
	u64 ns_per_tick; /* of the TSC, 32.32 fixed point */
	/*
	 * The time since boot becomes each clock by adding its offset. With a table, a reader
	 * treats all clocks alike.
	 */
	u64 offset_ns[VVAR_CLOCKS];
};

/* LSL of this selector gives the running CPU in bits 0..11 and its node above. Linux's number. */
#define VDSO_CPU_SELECTOR 0x7b
#define VDSO_CPU_BITS	  12
