/* SPDX-License-Identifier: GPL-2.0-only */
/* CPUs out of service and back; see hotplug.c. */
#pragma once

#include "lib/types.h"

/*
 * Take @cpu out of service or bring it back. Returns 0 (also if nothing changes); -EPERM for CPU 0,
 * which stays; -EBUSY if the others have no room for the bandwidth that is admitted; -ENOMEM.
 * Sleeps.
 */
int cpu_set_online(unsigned cpu, bool online);
/* How many times a CPU has come or gone since boot. */
u64 cpu_nr_changes(void);
/* A task has lost its affinity: have it reported soon. Any context. */
void hotplug_tick(void);
