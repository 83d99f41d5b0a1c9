/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a simulation measures: CPU time, waits, switches and migrations of each program's tasks, and
 * their lag: how far they are behind a fluid server.
 *
 * Everything is observed from outside, from what the host tells: when a task becomes runnable, gets
 * the CPU, loses it, sleeps. The scheduler's own counters are not asked, so they can be compared.
 *
 * Lag is what a fluid server (fluid.h) would have given a task since it last woke, less what it
 * got; positive: it is owed.
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

/* Tasks of one kind: a row of the report. */
struct row {
	u64 nr_tasks, nr_ended;
	u64 got_ns, runs, preempted, migrations, wakeups;
	s64 lag_min, lag_max;
	struct histogram wait;	 /* every wait for a CPU */
	struct histogram wakeup; /* of them, those that began with a wakeup */
};

struct measure {
	struct sim_listener listener;
	struct fluid *fluid;
	u32 nr_rows;
	struct row *rows;
};

/* Measure the tasks of @w on @sim from now on. */
struct measure *measure_new(struct sim *sim, const struct workload *w);
void measure_free(struct measure *m);
/* Bring everything up to the end of the run; waits that did not end count in the maxima. */
void measure_finish(struct measure *m, struct sim *sim);
/* The value that @per_mille of the values do not exceed; 0 if there are none. */
u64 histogram_quantile(const struct histogram *h, u32 per_mille);
