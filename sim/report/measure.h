/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A simulation measures CPU time, waits, switches and migrations of each program's tasks, and
 * their lag, which is how far they are behind a fluid server.
 *
 * A listener observes everything from outside: when a task becomes runnable, gets the CPU, loses it
 * and sleeps. The scheduler's own counters are not used, so they can be compared.
 *
 * A task's lag is what a fluid server (fluid.h) would have given it since it last woke, less what
 * it got. A positive lag is owed to the task.
 */
#pragma once

#include "sim/report/fluid.h"

#define HISTOGRAM_BITS 5

struct histogram {
	u64 n, sum, max;
	struct {
		u64 n, sum;
	} bucket[(65 - HISTOGRAM_BITS) << HISTOGRAM_BITS];
};

/* Tasks of one kind, which are a row of the report. */
struct row {
	u64 nr_tasks, nr_ended;
	u64 got_ns, runs, preempted, migrations, wakeups;
	s64 lag_min, lag_max;
	u64 energy;		 /* of CPUs while they ran there; power times ns */
	struct histogram wait;	 /* every wait for a CPU */
	struct histogram wakeup; /* the waits that began with a wakeup */
};

struct measure {
	struct sim_listener listener;
	struct fluid *fluid;
	u32 nr_rows;
	struct row *rows;
	u64 *group_energy; /* [number of groups], of members while they were; NULL: no groups */
};

/* Measure the tasks of @w on @sim from now on. */
struct measure *measure_new(struct sim *sim, const struct workload *w);
void measure_free(struct measure *m);
/* Brings everything up to the end of the run. Waits that have not ended count in the maxima. */
void measure_finish(struct measure *m, struct sim *sim);
/* The smallest value that at least @per_mille of the values do not exceed; 0 if there are none. */
u64 histogram_quantile(const struct histogram *h, u32 per_mille);
