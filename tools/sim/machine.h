/* The simulated machine's topology, from what the user says. */
#pragma once

#include "sched/sched.h"

struct machine_desc {
	unsigned nr_cpus;
	struct sched_cpu_desc *cpus; /* [nr_cpus] */
	char text[200];		     /* for the header of reports */
};

/*
 * @cpus: "--cpus", 0 if not given. @topology: "--topology", NULL if not given:
 * PACKAGESxLLCSxCORESxTHREADS with as many of the last factors as wanted ("2x4x2": LLCs, cores,
 * threads), or levels by name: "nodes=2,llcs=2,cores=4+2,threads=2", where a list gives the parts
 * of one parent after another, over and over. Exits with a message if it does not add up.
 */
struct machine_desc machine_describe(unsigned cpus, const char *topology);
void machine_desc_free(struct machine_desc *desc);
