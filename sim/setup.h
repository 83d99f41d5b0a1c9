/* SPDX-License-Identifier: GPL-2.0-only */
/* From the command line to machines. Bad input ends the program with a message (usage_error()). */
#pragma once

#include "sim/options.h"

/* The tasks of all workloads that @o names. The caller frees them: workload_free(). */
struct workload setup_workload(const struct options *o, unsigned nr_cpus);
/* The machine, whose operating points one of the workloads' files may ask for. */
struct machine_desc setup_machine(const struct options *o);
/* How long the run of @w is to be, in ns. */
u64 setup_duration(const struct options *o, const struct workload *w);
/* The name of @policy in results: that of the program of --scx, if there is one. */
const char *setup_label(const char *policy);
/* The names of the fair policies to run, with NULL after the last. The caller frees the list. */
const char **setup_policies(const struct options *o);
/* A machine under the fair policy @policy, or the default if NULL. Never NULL. */
struct sim *setup_sim(const struct options *o, const struct machine_desc *machine,
		      const char *policy);
/* Sets the governor, and tunables and features as if they had been written to their files. */
void setup_apply(struct sim *sim, const struct options *o, const struct machine_desc *machine);
/* Starts the tasks. */
void setup_start(struct sim *sim, struct workload *w);
/* Computes what every task of @w gets from a fluid server in @duration ns: row_ideal_ns. */
void setup_ideal(const struct options *o, const struct machine_desc *machine, struct workload *w,
		 u64 duration);
/* From now on the fair policy @policy decides, and no program. 0 or -errno. */
int setup_swap(struct sim *sim, const char *policy);
/* Runs @sim for @duration ns, from swap_at of @o on under another policy. */
void setup_run(struct sim *sim, const struct options *o, u64 duration);
/* Ends the program if the run of @sim failed. */
void setup_check(const struct sim *sim);
