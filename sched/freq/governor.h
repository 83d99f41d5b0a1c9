/* SPDX-License-Identifier: GPL-2.0-only */
/* For governors: choosing a point of a table, requests, utilisation, boosts. */
#pragma once

#include "sched/freq/freq.h"

static inline const struct opp *opp_fastest(const struct opp_type *type)
{
	return &type->opp[type->nr_opps - 1];
}

/* The slowest point of at least @khz, or the fastest. */
static inline u32 opp_for_khz(const struct opp_type *type, u64 khz)
{
	u32 opp = 0;

	SCHED_DEBUG_ASSERT(type->nr_opps);
	while (opp < type->nr_opps - 1 && type->opp[opp].mhz * 1000ull < khz)
		opp++;
	return opp;
}

/* The same for @capacity, as if capacity were proportional to frequency. */
static inline u32 opp_for_capacity(const struct opp_type *type, u64 capacity)
{
	const struct opp *fastest = opp_fastest(type);

	return opp_for_khz(type, capacity * fastest->mhz * 1000 / fastest->capacity);
}

/* The point at which `schedutil` runs a CPU of @type that uses @util. */
static inline u32 schedutil_opp(const struct opp_type *type, u64 util)
{
	u64 fastest = opp_fastest(type)->mhz * 1000ull;

	return opp_for_khz(type, (fastest + (fastest >> 2)) * util / opp_fastest(type)->capacity);
}

/* The most that a CPU of @d, locked, asks for. */
static inline u32 domain_request(const struct freq_domain *d)
{
	u32 most = 0;

	debug_assert_locked(d);
	for (const struct freq_cpu *f = d->cpus; f; f = f->next)
		most = max(most, f->request);
	return most;
}

/* --- SchedTune (tune.c) ----------------------------------------------------------------------- */

/* Runnable task @t comes to @rq, locked; it goes. */
void tune_enter(struct rq *rq, struct task *t);
void tune_leave(struct rq *rq, struct task *t);
/* The margin that a boost of @boost % adds to @signal. */
u64 tune_margin(u64 signal, u32 boost);
/* freq_usage() and what the boost of @rq, locked, adds. */
u64 freq_boosted_usage(const struct rq *rq);
/* E4, E5 of invariant.def. */
void tune_check(struct rq *rq);

/* --- clamps (clamp.c) ------------------------------------------------------------------------- */

/* Runnable task @t comes to @rq, locked; it goes. */
void clamp_enter(struct rq *rq, struct task *t);
void clamp_leave(struct rq *rq, struct task *t);
/* @util of the CPU of @rq, which need not be locked, within its clamps. */
u64 clamp_util(const struct rq *rq, u64 util);
/* Is @util of that CPU at least its maximum, which is less than everything? */
bool clamp_caps(const struct rq *rq, u64 util);
/* E7, E8 of invariant.def. */
void clamp_check(struct rq *rq);

/* Capacity that the tasks of @rq, locked, use: those that run, wait, and sleep there. */
static inline u64 freq_usage(const struct rq *rq)
{
	debug_assert_locked(rq);
	return min(rq->fair.avg.util_avg + rq->urgent.util_avg, rq->capacity_orig);
}
