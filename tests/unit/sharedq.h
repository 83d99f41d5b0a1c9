/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the tests of the shared wake queue. */
#pragma once

#include "group.h"
#include "lib/errno.h"
#include "smp.h"

static inline bool is_linked(const struct task *t)
{
	return t->shared.state == SHARED_LINKED;
}

static inline bool is_free(const struct task *t)
{
	return t->shared.state == SHARED_NOT;
}

/* --- the scene: CPU 0 runs one task while others wait, CPU 1 is about to idle -------------- */

/* Set by scene(). */
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

/* --- the scene of several caches ---------------------------------------------------------- */

/* Per node @llcs LLCs of two CPUs, with one task each and @nr more on CPU 2. */
static inline struct machine *caches(unsigned nodes, unsigned llcs, unsigned nr)
{
	struct machine *m = machine_of(nodes, llcs, 2, 1, NULL);

	set_feature(m, "SHARED_RUNQ");
	set_feature(m, "SHARED_RUNQ_STEAL");
	for (unsigned cpu = 0; cpu < m->nr_cpus; cpu++)
		put(m, cpu);
	while (nr--)
		put(m, 2);
	/* There is no other way to get work. */
	for (unsigned cpu = 0; cpu < m->nr_cpus; cpu++)
		rq_of(m, cpu)->avg_idle = 0;
	for (unsigned cpu = 0; cpu < m->nr_cpus; cpu++)
		for (struct domain *sd = rq_of(m, cpu)->domains; sd; sd = sd->parent)
			sd->max_newidle_lb_cost = MS;
	return m;
}

/* The task of @cpu sleeps. True if another one was found for it. */
static inline bool takes_work(struct machine *m, unsigned cpu)
{
	block(m, cpu, TASK_INTERRUPTIBLE);
	sched_check(m->s);
	return running(m, cpu) != &m->idle[cpu];
}

/* Runs the check under each policy by itself. */
#define EACH_POLICY(name, check)                                                                   \
	static void name(void **state)                                                             \
	{                                                                                          \
		(void)state;                                                                       \
		for (unsigned i = 0; sched_fair_name(i); i++)                                      \
			check(sched_fair_name(i));                                                 \
	}
