/* SPDX-License-Identifier: GPL-2.0-only */
/* Results of simulations, printed for people and for programs. */
#pragma once

#include <stdio.h>

#include "sim/report/measure.h"
#include "sim/options.h"

#define KIND_WIDTH 24 /* of the column of task names */

/* One run under one policy. */
struct result {
	const char *sched;
	const struct ext_exit *end; /* of the program for sched_ext, if it ended before the run */
	u64 duration;
	u32 nr_tasks_max;
	u64 idle_ns, overhead_ns; /* over all CPUs */
	u64 waste_llc_ns;	  /* the part for tasks that waited behind the CPU's own cache */
	/* sched_waste(): the part of idle_ns that waiting tasks could have used */
	u64 waste_ns;
	struct sim_counts count;
	struct measure *measure;
	struct task_group_stat *groups; /* of the workload's groups; NULL if it has none */
	struct task_group_fdl_stat *fdl;
	struct sched_freq_stat *freq; /* of each CPU; NULL: they have one speed */
};

/* A report and what it says about how it was made. */
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
/* Two lines for the head of a file: what run under @policy it is of. The caller frees them. */
char *report_about(const struct report *r, const char *policy);
/* A row for each kind of task. The results of several policies stand side by side. */
void report_text(const struct report *r);
void report_json(const struct report *r);
/*
 * Members of a JSON object that say how the results were made, from "commit" to "seed"; @space
 * stands between the texts.
 */
void report_provenance_json(const struct report *r, FILE *out, const char *space);
/*
 * Names tasks of @p's kind: "hog nice 5" or "periodic fifo 10", then the slice if it asks for one,
 * "3000us", and its group, "/a/b".
 */
void report_kind(char *buf, size_t size, const struct workload *w, const struct program *p);
/* @text as a JSON string, quotes included. */
void json_string(FILE *out, const char *text);
