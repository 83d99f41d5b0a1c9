/* SPDX-License-Identifier: GPL-2.0-only */
/* The simulated machine's topology, as the user describes it. */
#pragma once

#include "sched/sched.h"

struct machine_desc {
	unsigned nr_cpus;
	struct sched_cpu_desc *cpus; /* [nr_cpus] */
	char text[200];		     /* for the header of reports */
};

/*
 * @cpus is the value of --cpus, 0 if not given; @topology that of --topology (lib/cputree.h), NULL
 * if not given. Exits with a message if they contradict each other.
 */
struct machine_desc machine_describe(unsigned cpus, const char *topology);
void machine_desc_free(struct machine_desc *desc);
