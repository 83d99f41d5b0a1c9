/* SPDX-License-Identifier: GPL-2.0-only */
/* CPUs of several speeds (speed.c). */
#pragma once

#include "sched/sched.h"

/*
 * Takes the table that the boot parameter opp= names, for a machine of @nr_cpus. False: none, and
 * if the parameter was wrong, the console says why. @scratch has room for @nr_cpus places.
 */
bool speed_read(unsigned nr_cpus, void *scratch);
/* The table, or NULL: all CPUs have one speed. */
const struct opp_table *speed_table(void);

extern bool speeds_on;
void speed_recheck_slow(void);
/* After a reschedule IPI: another CPU may have changed this CPU's speed. Interrupts off. */
static inline void speed_recheck(void)
{
	if (unlikely(speeds_on))
		speed_recheck_slow();
}
