/* SPDX-License-Identifier: GPL-2.0-only */
/* Results of simulations, and how they are printed: to people, to programs. */
#pragma once

#include <stdio.h>

#include "sim/report/measure.h"
#include "sim/options.h"

/* One run under one policy. */
struct result {
	const char *sched;
	u64 duration;
	u32 nr_tasks_max;
	u64 idle_ns, overhead_ns; /* over all CPUs */
	u64 waste_llc_ns;	  /* of that, tasks that waited behind the CPU's own cache */
	u64 waste_ns;		  /* sched_waste(): of idle_ns, what waiting tasks could have had */
	struct sim_counts count;
	struct measure *measure;
	struct task_group_stat *groups; /* of the workload's groups, if it has any */
	struct task_group_fdl_stat *fdl;
};

/* What every result says about how it was made. */
struct report {
	FILE *out;
	const struct options *options;
	const struct machine_desc *machine;
	const struct workload *workload;
	u64 duration;
	const struct result *results;
	u32 nr_results;
};

void report_header(const struct report *r);
/* A row for each kind of task; of several policies, side by side. */
void report_text(const struct report *r);
void report_json(const struct report *r);
