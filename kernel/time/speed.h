/* SPDX-License-Identifier: GPL-2.0-only */
/* CPUs of several speeds (speed.c). */
#pragma once

#include "kernel/arch.h"
#include "kernel/kernel.h"
#include "sched/sched.h"

/*
 * Reads the table of speeds that the boot parameter opp= names, for a machine of @nr_cpus. Returns
 * whether there is one; if the name was wrong, the console says why. @scratch is memory for
 * @nr_cpus struct cpu_place.
 */
bool speed_read(unsigned nr_cpus, void *scratch);
/* The table, or NULL: all CPUs have one speed. */
const struct opp_table *speed_table(void);

extern bool speeds_on;
void speed_recheck_slow(void);
/* After a reschedule IPI: another CPU may have changed this CPU's speed. Interrupts off. */
static inline void speed_recheck(void)
{
	debug_assert(!arch_irq_enabled());
	if (unlikely(speeds_on))
		speed_recheck_slow();
}
