/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUs of several capacities: has a task enough of the CPU where it runs? One that has not is a
 * *misfit*; balancing brings it to a faster CPU that has room. And has a CPU enough for all of its
 * fair tasks? If one has not, the machine is *over-utilised*, and energy places nothing. All of it
 * is behind rq->uneven: a machine of equal CPUs has no misfits, and EAS is off. Source: Linux 6.1,
 * fair.c (docs/sources.md).
 */
#pragma once

#include "sched/balance/capacity.h"
#include "sched/balance/domain.h"

/* True if the capacity @a is greater than @b by more than 5 %: less is no reason to move. */
static inline bool capacity_exceeds(u64 a, u64 b)
{
	return a * 1024 > b * 1078;
}

/*
 * True if a utilisation @util, clamped to [@least, @most], leaves a fifth of what fair tasks can
 * have of @rq's CPU. Read racily.
 */
bool util_fits(const struct rq *rq, u64 util, u64 least, u64 most);
/* The utilisation that @t is expected to have. Read racily. */
u64 task_util(const struct task *t);
/* True if @t, with its clamps, does. */
bool task_fits(const struct rq *rq, const struct task *t);
/*
 * A free CPU for @t in @sd, from @target on, or -1: the first that has enough for @t, and *@fits
 * becomes true; else of all the one with the most capacity, and of equals the first. The search has
 * no limit, and threads of a core do not count. Source: Linux 6.1, select_idle_capacity.
 */
int fit_idle_cpu(struct sched *s, const struct domain *sd, const struct task *t, unsigned target,
		 bool *fits);
/*
 * Notes the load of the task that runs on @rq if it is a misfit. A tick does so, and an end of
 * work; Linux does at each switch, too. Locked: @rq, which is uneven.
 */
void fit_note(struct rq *rq);

/* --- over-utilised (energy.h) ---------------------------------------------------------------- */

/* True if less than a fifth is left of @rq's CPU, its clamps counted. Read racily. */
bool cpu_is_overutilized(const struct rq *rq);
/*
 * Notes that the machine is over-utilised if the CPU of @rq is and @t is a fair task. @t woke up on
 * @rq, which is locked and uneven, or a tick found it running there.
 */
void overutilized_note(struct rq *rq, const struct task *t);
/*
 * A balancing pass for @cpu, of an uneven machine, has compared @cpus. If one is over-utilised the
 * machine is, and if none is and @cpus are all CPUs in service, it is not. Returns whether the pass
 * may go on: EAS is off, or the machine is over-utilised.
 */
bool overutilized_survey(struct sched *s, unsigned cpu, const struct cpumask *cpus);
/* The flag is @yes from now on, says @cpu. */
void overutilized_set(struct sched *s, unsigned cpu, bool yes);
