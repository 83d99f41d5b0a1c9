/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The governor `ondemand`: it knows nothing of tasks. At the first news of one of the domain's CPUs
 * 10 ms after it last looked, it looks which part of the time the busiest CPU was busy. Over 95 %:
 * the fastest point. Else the slowest at which it would have been busy for 95 % at most. While all
 * of a domain's CPUs idle nobody looks, and nothing depends on its point.
 * Source: Linux 6.1, cpufreq_governor.c, cpufreq_ondemand.c.
 */
#include "sched/freq/governor.h"
#include "sched/freq/meter.h"

#define SAMPLE_NS    (10 * NS_PER_MS)
#define UP_THRESHOLD 95 /* % */

static u64 busy_ns(const struct freq_cpu *f)
{
	u64 sum = 0;

	for (u32 i = 0; i < f->domain->type->nr_opps; i++)
		sum += f->meter.busy_ns[i];
	return sum;
}

/* A sample begins. */
static void begin(struct freq_domain *d, u64 now)
{
	debug_assert_locked(d);
	d->sampled_at = now;
	for (struct freq_cpu *f = d->cpus; f; f = f->next)
		f->sampled_busy_ns = busy_ns(f);
}

/* The busiest CPU's part of the time since the sample began, in %. */
static u64 load_of(const struct freq_domain *d, u64 now)
{
	u64 most = 0;

	SCHED_DEBUG_ASSERT(time_before(d->sampled_at, now));
	for (const struct freq_cpu *f = d->cpus; f; f = f->next)
		most = max(most, busy_ns(f) - f->sampled_busy_ns);
	return min(100 * most / (now - d->sampled_at), 100ull);
}

static u32 choose(const struct freq_domain *d, u64 load)
{
	u32 opp = 0;

	if (load > UP_THRESHOLD)
		return d->type->nr_opps - 1;
	while (d->type->opp[opp].mhz * UP_THRESHOLD < load * freq_opp(d)->mhz)
		opp++;
	return opp;
}

static void ondemand_update(struct rq *rq, struct freq_domain *d, enum freq_reason reason)
{
	u64 now = rq->clock;

	(void)reason;
	if (time_before(now, d->sampled_at + SAMPLE_NS))
		return;
	meter_all(d, now);
	freq_switch(rq->s, d, choose(d, load_of(d, now)), rq->cpu, now);
	begin(d, now);
}

static void ondemand_start(struct sched *s, struct freq_domain *d, unsigned cpu, u64 now)
{
	(void)s, (void)cpu;
	meter_all(d, now);
	begin(d, now);
}

const struct governor ondemand_governor = { "ondemand", ondemand_start, ondemand_update };
