/* SPDX-License-Identifier: GPL-2.0-only */
/* Settings of the watchdogs, and what their two files offer each other and lock.c. */
#pragma once

#include "lib/types.h"

/* Numbers of /proc/sys/kernel, under Linux's names, and of the command line (settings.c). */
extern struct watchdog_settings {
	u64 enabled;		/* watchdog: do CPUs take samples? Without them nothing is found */
	u64 thresh_s;		/* watchdog_thresh */
	u64 soft_panic;		/* softlockup_panic */
	u64 hard_panic;		/* hardlockup_panic */
	u64 hung_task_s;	/* hung_task_timeout_secs; 0: never */
	u64 hung_task_panic;	/* hung_task_panic */
	u64 hung_task_warnings; /* hung_task_warnings: how many more may be printed */
	u64 starving_s;		/* watchdog=S; 0: never */
	u64 starving_panic;	/* watchdog=panic */
} watchdog;

/* Settings of the command line. Before the first CPU goes online. */
void watchdog_init(void);
/* The thresholds have changed: all CPUs take samples at the new pace. Interrupts on. */
void watchdog_restart(void);
/* From each sample: wake the thread that looks after tasks, if it is time. */
void hung_task_tick(u64 now_ns);
/* A lockup was found: the same thread shows all runqueues at the next sample. Any context. */
void hung_task_show_queues(void);
/* The limits have changed: look at the next sample. */
void hung_task_restart(void);
/* A CPU has been spinning for a lock since then. Any context. */
void watchdog_spins(u64 since_ns);
