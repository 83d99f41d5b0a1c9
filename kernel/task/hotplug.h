/* SPDX-License-Identifier: GPL-2.0-only */
/* CPUs out of service and back; see hotplug.c. */
#pragma once

#include "lib/types.h"

/*
 * Take @cpu out of service, or bring it back; nothing if it is there already. Sleeps. -EPERM: CPU 0
 * stays. -ENOMEM.
 */
int cpu_set_online(unsigned cpu, bool online);
/* A task's affinity was lost: say so soon. Any context. */
void hotplug_tick(void);
