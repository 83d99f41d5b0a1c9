/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Has a CPU enough for its tasks? See fit.h.
 *
 * A maximum clamp makes a task fit wherever the CPU can give as much: it will not get more
 * elsewhere. Only at the fastest CPU a maximum of 1024, which is none, says nothing. A minimum
 * clamp above what the task uses asks for a CPU that can be so fast.
 *
 * The machine becomes over-utilised by the tick of a fair task, by a wakeup, and by any balancing
 * pass that sees an over-utilised CPU; only a pass that sees all CPUs ends that. Linux lets a pass
 * end it that left out CPUs whose tasks are pinned; here such a pass only begins it.
 */
#include "sched/balance/fit.h"
#include "sched/balance/energy.h"
#include "sched/fair/core/pelt.h"
#include "sched/observe/trace.h"

/* --- a task on a CPU ----------------------------------------------------------------------- */

bool util_fits(const struct rq *rq, u64 util, u64 least, u64 most)
{
	u64 full = rq->capacity_orig;
	bool fits = util * 1280 < cpu_capacity(rq) * 1024;

	SCHED_DEBUG_ASSERT(least <= CPU_CAPACITY && most <= CPU_CAPACITY);
	if (!READ_ONCE(rq->s->freq->clamped))
		return fits;
	if (most <= full && (full != CPU_CAPACITY || most != CPU_CAPACITY))
		fits = true;
	least = min(least, most);
	if (util < least && full != CPU_CAPACITY)
		fits = fits && least <= full;
	return fits;
}

u64 task_util(const struct task *t)
{
	return max(t->fair.avg.util_avg, (u64)task_util_est(&t->fair));
}

bool task_fits(const struct rq *rq, const struct task *t)
{
	const struct sched *s = rq->s;

	return util_fits(rq, task_util(t), clamp_effective(s, t, SCHED_CLAMP_MIN),
			 clamp_effective(s, t, SCHED_CLAMP_MAX));
}

int fit_idle_cpu(struct sched *s, const struct domain *sd, const struct task *t, unsigned target,
		 bool *fits)
{
	unsigned cpu = (target ? target : s->nr_cpus) - 1;
	u64 most = 0;
	int best = -1;

	SCHED_DEBUG_ASSERT(target < s->nr_cpus);
	for (unsigned n = sd->span->weight; n; n--) {
		const struct rq *rq;

		cpu = cpumask_next_wrap(&sd->span->cpus, cpu);
		rq = cpu_rq(s, cpu);
		if (!rq->online || !task_allowed(t, cpu) || !cpu_is_free(s, cpu))
			continue;
		*fits = task_fits(rq, t);
		if (*fits)
			return (int)cpu;
		if (cpu_capacity(rq) > most) {
			most = cpu_capacity(rq);
			best = (int)cpu;
		}
	}
	return best;
}

void fit_note(struct rq *rq)
{
	const struct task *t = rq->curr;
	bool misfit = t->class->rank == CLASS_fair && t->nr_allowed > 1 && !task_fits(rq, t);

	assert_locked(rq);
	WRITE_ONCE(rq->misfit_load, misfit ? max(1ull, task_load(t)) : 0);
}

/* --- all fair tasks of a CPU, and the machine ---------------------------------------------- */

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
	assert_locked(rq);
	SCHED_ASSERT(rq->uneven);
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
