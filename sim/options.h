/* SPDX-License-Identifier: GPL-2.0-only */
/* The contents of the command line. */
#pragma once

#include "sim/engine/machine.h"
#include "sim/workload/workload.h"

#define MAX_SETTINGS 64

struct options {
	const char *command;	 /* as typed, for the header of reports */
	const char *run_command; /* without the files that it writes: the same for the same run */
	const char *sched;	 /* a name or "all"; NULL: the default */
	const char *swap;	 /* the policy from swap_at on; NULL: always the same */
	const char *topology;
	const char *opp;      /* NULL: what the workload says, or else none */
	const char *isolcpus; /* a list of CPUs; NULL: none */
	const char *governor; /* "NAME" or "userspace:MHZ"; NULL: performance */
	unsigned cpus, hz;
	u64 seed, duration; /* ns; 0: the workload's own, or else DEFAULT_DURATION */
	u32 hang_ms;	    /* CPU time in which something must happen; 0: the default */
	struct sim_disturbance disturbance;
	bool lazy; /* preemption model: lazy, else full */
	struct sim_costs costs;
	struct sim_caches caches;
	const char *caches_text; /* NULL: none are modelled */
	/* "name=value" for tunables, and lines for the features file, in the order given. */
	const char *set[MAX_SETTINGS], *features[MAX_SETTINGS];
	u32 nr_set, nr_features;
	const char *json, *trace, *schedstat, *decisions;
	bool check, bench, averages, strict, narrow;
	bool explain;
	u64 explain_at, swap_at;
	s64 explain_cpu; /* -1: any */
	const char *const *workloads;
	u32 nr_workloads;
};

#define DEFAULT_DURATION (10 * NS_PER_SEC)
#define MAX_DURATION	 (24 * 3600 * NS_PER_SEC)

/* Exits after --help, and with status 2 if the command line is wrong. */
struct options parse_options(int argc, char **argv);
