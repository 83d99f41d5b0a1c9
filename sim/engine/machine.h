/* SPDX-License-Identifier: GPL-2.0-only */
/* The simulated machine's topology, as the user describes it. */
#pragma once

#include "sched/sched.h"

struct machine_desc {
	unsigned nr_cpus;
	struct sched_cpu_desc *cpus; /* [nr_cpus] */
	struct opp_table *opp;	     /* what --opp says; NULL: they have one speed */
	const char *opp_name;
	struct cpumask isolated;
	char text[200]; /* for the header of reports */
};

/*
 * @cpus is the value of --cpus, 0 if not given; @topology that of --topology (lib/cputree.h), NULL
 * if not given; @opp that of --opp, NULL or "none" for CPUs of one speed. Without the first two a
 * built-in table of OPPs brings its own shape. Exits with a message if they contradict each other,
 * or the table is none for this machine.
 */
struct machine_desc machine_describe(unsigned cpus, const char *topology, const char *opp);
/* Isolates the CPUs of @list, the value of --isolcpus. Ends with a message if @list is invalid. */
void machine_isolate(struct machine_desc *desc, const char *list);
void machine_desc_free(struct machine_desc *desc);
