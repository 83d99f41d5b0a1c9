/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a task of the classes before fair goes, if several CPUs are as good: rt/rt_smp.c and
 * dl/dl_smp.c say which are.
 *
 * Lock: the runqueue's. Source: Linux 6.1; which CPU it takes was read from its events
 * (docs/balancing.md).
 */
#include "sched/balance/domain.h"

/* The CPU of @good after the one that @cpu took the last time. */
static unsigned next_in_turn(struct sched *s, unsigned cpu, const struct cpumask *good)
{
	struct rq *rq = cpu_rq(s, cpu);

	rq->taken_last = cpumask_next_wrap(good, rq->taken_last);
	return rq->taken_last;
}

int urgent_target(struct rq *rq, const struct cpumask *good, unsigned cpu)
{
	struct cpumask near = *good;
	struct domain *sd;

	debug_assert_locked(rq);
	if (cpumask_empty(good))
		return -1;
	if (cpumask_test(good, rq->cpu))
		return (int)rq->cpu;
	for_each_domain(sd, rq) {
		near = cpumask_and(good, &sd->span->cpus);
		if (!cpumask_empty(&near))
			break;
	}
	if (!sd)
		near = *good;
	return (int)(cpumask_test(&near, cpu) ? cpu : next_in_turn(rq->s, cpu, &near));
}
