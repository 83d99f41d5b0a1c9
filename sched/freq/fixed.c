/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Governors that look at nothing: `performance` keeps the fastest point, `powersave` the slowest,
 * `userspace` the one that it is told (sched_freq_set), at first the present one.
 */
#include "sched/freq/freq.h"
#include "lib/errno.h"

static void performance_start(struct sched *s, struct freq_domain *d, unsigned cpu, u64 now)
{
	freq_switch(s, d, d->type->nr_opps - 1, cpu, now);
}

static void powersave_start(struct sched *s, struct freq_domain *d, unsigned cpu, u64 now)
{
	freq_switch(s, d, 0, cpu, now);
}

static void userspace_start(struct sched *s, struct freq_domain *d, unsigned cpu, u64 now)
{
	(void)s, (void)d, (void)cpu, (void)now;
}

static void ignore(struct rq *rq, struct freq_domain *d, enum freq_reason reason)
{
	(void)rq, (void)d, (void)reason;
}

const struct governor performance_governor = { "performance", performance_start, ignore };
const struct governor powersave_governor = { "powersave", powersave_start, ignore };
const struct governor userspace_governor = { "userspace", userspace_start, ignore };

int sched_freq_set(struct sched *s, unsigned cpu, u32 mhz)
{
	struct freq_domain *d = cpu_rq(s, cpu)->freq->domain;
	u32 opp = 0;

	while (opp < d->type->nr_opps && d->type->opp[opp].mhz != mhz)
		opp++;
	if (opp == d->type->nr_opps)
		return -EINVAL;
	host_lock(&d->lock);
	if (d->governor != &userspace_governor) {
		host_unlock(&d->lock);
		return -EINVAL;
	}
	freq_switch(s, d, opp, cpu, host_clock(cpu));
	host_unlock(&d->lock);
	return 0;
}
