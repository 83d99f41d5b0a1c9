/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Periodic sleepers: threads that wake at fixed times and record how late they run. The measure of
 * a scheduler's latency, as cyclictest takes it.
 */
#pragma once

#include <stdint.h>

#include "lib/hist.h"
#include "lib/sched.h"

struct sleeper {
	int nice;
	struct policy policy;
	struct cpu_set cpus;
	uint64_t period_ns; /* from one wakeup to the next */
	uint64_t run_ns;    /* on-CPU time used after each wakeup */
	int loops;
	uint64_t first_ns; /* first wakeup, after the common start: spreads the sleepers over a
			      period */
};

/*
 * Sleep and run as @s says, beginning at @start_ns, in the calling thread, whose attributes the
 * caller has set. Each lateness (ns after the planned wakeup) goes into @late.
 */
void sleep_loop(const struct sleeper *s, uint64_t start_ns, struct hist *late);
