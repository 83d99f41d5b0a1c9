/* SPDX-License-Identifier: GPL-2.0-only */
/* Machines of a given shape, with tasks where a test wants them, or with a loaded scheduler. */
#pragma once

#include <stdlib.h>

#include "host.h"
#include "sched/balance/domain.h"
#include "sched/ext/ext.h"

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

/* A sleeping task whose last CPU is @cpu. */
static inline struct task *sleeper_on(struct machine *m, unsigned cpu)
{
	struct task *t = spawn_nice(m, "sleeper", 0);

	allow(m, t, cpumask_of(cpu));
	assert_task(running(m, cpu), t);
	block(m, cpu, TASK_INTERRUPTIBLE);
	allow(m, t, cpumask_first_n(m->nr_cpus));
	return t;
}

/* Loads @ops with room for @queues queues. The caller frees the result after the machine. */
static inline struct ext *load_scheduler(struct machine *m, unsigned queues,
					 const struct ext_ops *ops)
{
	size_t bytes = ALIGN_UP(sched_ext_size(m->nr_cpus, queues), 64ul);
	struct ext *x = aligned_alloc(64, bytes);

	assert_non_null(x);
	__builtin_memset(x, 0, bytes);
	assert_int_equal(sched_ext_load(m->s, x, queues, ops), 0);
	settle(m);
	return x;
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

/* Adds @nr tasks to @cpu that may run on @mask. They stay until a CPU balances. */
static inline void crowd(struct machine *m, unsigned cpu, unsigned nr, u64 mask)
{
	while (nr--) {
		struct task *t = put(m, cpu);

		allow(m, t, (struct cpumask){ { mask } });
		assert_int_equal(t->cpu, cpu);
	}
}

/* No task is cache-hot, and only the test balances. */
static inline struct machine *cold_machine(unsigned nodes, unsigned llcs, unsigned cores,
					   unsigned smt)
{
	struct machine *m = machine_of(nodes, llcs, cores, smt, NULL);
	struct domain *sd;

	for (unsigned cpu = 0; cpu < m->nr_cpus; cpu++)
		for_each_domain(sd, rq_of(m, cpu))
			sd->flags &= ~(u32)SD_BALANCE_NEWIDLE;
	set_tunable(m, "migration_cost_ns", "0");
	set_tunable(m, "sched_schedstats", "1");
	return m;
}

/* Real-time tasks have taken so much of @cpu that @capacity is left. */
static inline void leave_capacity(struct machine *m, unsigned cpu, u64 capacity)
{
	const u64 util = 1024 - capacity, divider = 47742 - 1024;

	rq_of(m, cpu)->capacity = capacity;
	rq_of(m, cpu)->urgent = (struct pelt){
		.last_update = m->now,
		.util_avg = util,
		.util_sum = (u32)(util * divider),
	};
}
