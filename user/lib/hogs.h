/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPU hogs: processes that always want the CPU, and what each of them got against what it should
 * have got.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/sched.h"

struct hog {
	int nice;
	struct policy policy;
	struct cpu_set cpus; /* where it may run */
	uint64_t work_ns;    /* stop after this much on-CPU time; 0: no such limit */
	uint64_t wall_ns;    /* stop this long after the common start; 0: no such limit */
	bool silent;	     /* with wall_ns: no system calls; longest_wait_ns is not known */
};

struct hog_result {
	int pid;
	uint64_t wall_ns; /* from the common start to the hog's end */
	uint64_t cpu_ns;
	uint64_t longest_wait_ns; /* longest time in which it ran nothing */
	uint64_t stalled_ns;	  /* it had the CPU but did not run: the host's doing */
	uint64_t yields, losses;  /* voluntary and involuntary context switches */
};

/* Start all hogs at the same instant and wait for them. 0, or -1 if one could not run. */
int run_hogs(const struct hog *hogs, int nr, struct hog_result *results);

/*
 * Ideal shares of @nr_cpus CPUs in proportion to weight, as fractions of what all hogs get
 * together. One hog cannot use more than one CPU; what it leaves is divided among the others. NaN
 * with real-time hogs, for which proportional shares say nothing.
 */
void ideal_shares(const struct hog *hogs, int nr, int nr_cpus, double *share);
/* The same fractions as measured. */
void measured_shares(const struct hog_result *results, int nr, double *share);
