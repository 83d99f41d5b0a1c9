/* What the tests of the shared wake queue share. */
#pragma once

#include "group.h"
#include "lib/errno.h"
#include "sched/domain.h"

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

/* A task that is on @cpu and may run anywhere. */
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

static inline bool is_linked(const struct task *t)
{
	return t->shared.state == SHARED_LINKED;
}

static inline bool is_free(const struct task *t)
{
	return t->shared.state == SHARED_NOT;
}

/* --- the scene: CPU 0 runs one task while others wait, CPU 1 is about to idle -------------- */

/* By scene(). */
static struct task *waiter, *runner;

static inline struct machine *scene(const char *policy, const char *feature, unsigned nr_cpus)
{
	struct machine *m = machine_of(1, 1, nr_cpus, 1, policy);

	set_feature(m, feature);
	runner = put(m, 0);
	waiter = put(m, 0);
	for (unsigned cpu = 1; cpu < nr_cpus; cpu++)
		put(m, cpu);
	if (running(m, 0) == waiter) {
		waiter = runner;
		runner = running(m, 0);
	}
	sched_check(m->s);
	return m;
}

/* For each policy by itself. */
#define EACH_POLICY(name, check)                                                                   \
	static void name(void **state)                                                             \
	{                                                                                          \
		(void)state;                                                                       \
		for (unsigned i = 0; sched_fair_name(i); i++)                                      \
			check(sched_fair_name(i));                                                 \
	}
