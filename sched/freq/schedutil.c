/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The governor `schedutil`: what became of sched-DVFS in Linux 4.7. Whenever the utilisation of a
 * CPU may have changed, its domain takes the slowest frequency of at least 1.25 * fastest *
 * utilisation / capacity, for the CPU of the domain with the most; but not within rate_limit_us of
 * the last change. A real-time task that can run counts as all of the capacity. A domain of one CPU
 * is not slowed down while that CPU has not idled since it was last asked: its utilisation may be
 * low only because it has just moved tasks; unless a clamp is what limits it. Once anybody asked
 * for a clamp, real-time tasks count with theirs.
 *
 * Not there: the boost for tasks that wait for input and output. Real-time and deadline tasks
 * count with what they used, deadline tasks on Linux with what they were promised.
 * Source: Linux 6.1, cpufreq_schedutil.c (docs/sources.md).
 */
#include "sched/freq/governor.h"
#include "sched/core/core.h"
#include "sched/fair/core/pelt.h"

/* Of a CPU, perhaps another one's: read without its lock. */
static u64 unclamped_util(const struct rq *rq)
{
	return cpu_util(rq) + READ_ONCE(rq->urgent.util_avg);
}

static u64 util_of(const struct rq *rq)
{
	if (!rq->s->freq->clamped && READ_ONCE(rq->active) & BIT(CLASS_rt))
		return rq->capacity_orig;
	return min(clamp_util(rq, unclamped_util(rq)), rq->capacity_orig);
}

static u64 most_util(struct sched *s, const struct freq_domain *d)
{
	u64 most = 0;

	for (const struct freq_cpu *f = d->cpus; f; f = f->next)
		most = max(most, util_of(cpu_rq(s, f->cpu)));
	return most;
}

/* Has the only CPU of its domain been busy since the last question? */
static bool stayed_busy(struct freq_cpu *f)
{
	bool busy = !f->next && f->domain->cpus == f && f->nr_idles == f->seen_idles;

	f->seen_idles = f->nr_idles;
	return busy;
}

static void schedutil_update(struct rq *rq, struct freq_domain *d, enum freq_reason reason)
{
	u32 opp;

	(void)reason;
	if (time_before(rq->clock, d->throttled_until))
		return;
	opp = freq_within(d, schedutil_opp(d->type, most_util(rq->s, d)));
	if (stayed_busy(rq->freq) && opp < d->opp && !clamp_caps(rq, unclamped_util(rq)))
		return;
	if (opp == d->opp)
		return;
	freq_switch(rq->s, d, opp, rq->cpu, rq->clock);
	d->throttled_until = rq->clock + rq->s->tunable.rate_limit_us * NS_PER_US;
}

static void schedutil_start(struct sched *s, struct freq_domain *d, unsigned cpu, u64 now)
{
	debug_assert_locked(d);
	(void)s, (void)cpu;
	d->throttled_until = now;
}

const struct governor schedutil_governor = { "schedutil", schedutil_start, schedutil_update };
