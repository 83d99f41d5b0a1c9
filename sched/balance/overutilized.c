/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tipping point between placement by energy and spreading the load; see energy.h. The flag is
 * set by the tick of a fair task, by a wakeup, and by any balancing pass that sees an over-utilised
 * CPU; only a pass that sees all CPUs of the machine clears it. Linux lets a pass clear it that
 * left out CPUs whose tasks are pinned; here such a pass only sets it.
 */
#include "sched/balance/energy.h"
#include "sched/balance/fit.h"
#include "sched/fair/core/pelt.h"
#include "sched/observe/trace.h"

bool cpu_is_overutilized(const struct rq *rq)
{
	const struct clamp_count *c = rq->freq->clamp;

	SCHED_DEBUG_ASSERT(rq->freq);
	return !util_fits(rq, cpu_util(rq), READ_ONCE(c[SCHED_CLAMP_MIN].value),
			  READ_ONCE(c[SCHED_CLAMP_MAX].value));
}

void overutilized_set(struct sched *s, unsigned cpu, bool yes)
{
	if (READ_ONCE(s->freq->overutilized) == yes)
		return;
	WRITE_ONCE(s->freq->overutilized, yes);
	TRACE(sched_overutilized, s, cpu, yes);
}

void overutilized_note(struct rq *rq, const struct task *t)
{
	SCHED_ASSERT(host_lock_held(&rq->lock) && rq->uneven);
	if (t->class->rank == CLASS_fair && !READ_ONCE(rq->s->freq->overutilized) &&
	    cpu_is_overutilized(rq) && !cpu_is_isolated(rq->s, rq->cpu))
		overutilized_set(rq->s, rq->cpu, true);
}

static bool one_is_overutilized(struct sched *s, const struct cpumask *cpus)
{
	unsigned cpu;

	for_each_cpu(cpu, cpus)
		if (cpu_is_overutilized(cpu_rq(s, cpu)))
			return true;
	return false;
}

bool overutilized_survey(struct sched *s, unsigned cpu, const struct cpumask *cpus)
{
	struct cpumask all = cpumask_and(&s->online, &s->home);

	SCHED_DEBUG_ASSERT(cpu_rq(s, cpu)->uneven);
	if (one_is_overutilized(s, cpus))
		overutilized_set(s, cpu, true);
	else if (cpumask_subset(&all, cpus))
		overutilized_set(s, cpu, false);
	return !energy_is_aware(s) || READ_ONCE(s->freq->overutilized);
}
