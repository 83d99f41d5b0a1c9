/* SPDX-License-Identifier: GPL-2.0-only */
/* Machines of a given shape for tests of several CPUs, and tasks where a test wants them. */
#pragma once

#include "host.h"
#include "sched/balance/domain.h"

/*
 * A machine of @nodes nodes with @llcs caches each, @cores cores a cache and @smt threads a core.
 */
static inline struct machine *machine_of(unsigned nodes, unsigned llcs, unsigned cores,
					 unsigned smt, const char *policy)
{
	struct sched_cpu_desc desc[CPU_MAX];
	unsigned nr = nodes * llcs * cores * smt;

	for (unsigned cpu = 0; cpu < nr; cpu++)
		desc[cpu] = (struct sched_cpu_desc){
			.core = cpu / smt,
			.llc = cpu / (smt * cores),
			.package = cpu / (smt * cores * llcs),
			.node = cpu / (smt * cores * llcs),
		};
	return machine_new_on(nr, 1000, desc, policy);
}

static inline void allow(struct machine *m, struct task *t, struct cpumask mask)
{
	assert_int_equal(sched_set_affinity(m->s, t, &mask), 0);
	settle(m);
}

/* A new task on @cpu that may run anywhere. */
static inline struct task *put(struct machine *m, unsigned cpu)
{
	struct task *t = spawn_nice(m, "t", 0);

	allow(m, t, cpumask_of(cpu));
	allow(m, t, cpumask_first_n(m->nr_cpus));
	assert_int_equal(t->cpu, cpu);
	return t;
}

static inline struct rq *rq_of(struct machine *m, unsigned cpu)
{
	return cpu_rq(m->s, cpu);
}

/* The @level-th domain of @cpu, counted from below. */
static inline struct domain *domain_of(struct machine *m, unsigned cpu, unsigned level)
{
	struct domain *sd = m->s->rq[cpu].domains;

	while (level--)
		sd = sd->parent;
	return sd;
}
