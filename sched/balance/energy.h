/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Energy-aware scheduling (EAS): where CPUs have several capacities, a task that wakes up goes to
 * the CPU where, by the table, it takes the least energy. It works while every CPU has some room:
 * the machine is *over-utilised* as soon as one CPU has less than a fifth to spare, and then
 * wakeups look for idle CPUs and balancing spreads the load, as everywhere else. While it is not,
 * balancing moves nothing, because that would undo what wakeups chose.
 *
 * EAS is on where the tunable sched_energy_aware is 1, CPUs in service have several capacities and
 * no second threads, all of them are under the governor `schedutil`, whose choices the estimate
 * foresees, and the estimate is not too long. Source: Linux 6.1, fair.c and topology.c
 * (docs/sources.md).
 */
#pragma once

#include "sched/balance/placement.h"
#include "sched/freq/freq.h"

/* Is EAS on? Read racily; @s has frequencies. */
static inline bool energy_is_aware(const struct sched *s)
{
	SCHED_DEBUG_ASSERT(s->freq);
	return READ_ONCE(s->freq->energy_aware);
}

/* A condition of EAS may have changed: @s, with frequencies, looks anew. No lock needed. */
void energy_refresh(struct sched *s);
/* The same after the domains were built anew; nothing is known of over-utilisation then. */
void energy_rebuilt(struct sched *s);
/* E10 of invariant.def. @rq has frequencies; locked. */
void energy_check(const struct rq *rq);

/* --- placement (energy.c) ------------------------------------------------------------------ */

/* True if energy decides where @t, woken by a CPU numbered @cpu, goes. @s is uneven. */
bool energy_places(struct sched *s, unsigned cpu, const struct task *t);
/*
 * The CPU for @t, which slept on @rq, locked; energy_places() was true for it. Returns the last CPU
 * of @t, allowed or not, or another one that takes less energy. @recorded: with records of all that
 * the choice goes by.
 */
struct choice energy_select(struct rq *rq, struct task *t, unsigned waker, bool recorded);
