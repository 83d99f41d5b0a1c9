/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The governor `sched`: scheduler-driven frequencies (sched-DVFS). A CPU asks for the capacity that
 * its tasks use and a quarter more, when that may have changed: a task wakes up, is new, sleeps, or
 * was moved here by balancing. The domain runs at the slowest point that gives the most that one of
 * its CPUs asks for. A CPU that falls idle takes its request back without a word (freq.c); the
 * domain slows down at the next request of another.
 *
 * A tick that finds a CPU with less than a quarter to spare asks for all of it at once, because its
 * utilisation cannot show more than what it has; or for as much as its maximum clamp allows.
 *
 * After a change the next one must wait: for the table's latency, or else 50 ms (throttle_ns). A
 * request that comes meanwhile is dropped, as in the RFC, or served by the first tick after that
 * (throttle_defer). Source: J. Lelli, P. Bellasi and others, RFC of 2015 (docs/sources.md).
 */
#include "sched/freq/governor.h"
#include "sched/core/core.h"

/* With what is spare: 1280 / 1024. */
static u64 with_margin(u64 capacity)
{
	return capacity * 1280 >> 10;
}

static u64 throttle_ns(const struct sched *s, const struct freq_domain *d)
{
	return d->type->latency_us ? d->type->latency_us * NS_PER_US : s->tunable.throttle_ns;
}

/* The domain follows its CPUs' requests, if it may. */
static void follow(struct rq *rq, struct freq_domain *d)
{
	u32 opp = freq_within(d, opp_for_capacity(d->type, domain_request(d)));

	debug_assert_locked(d);
	d->unserved = opp != d->opp;
	if (!d->unserved || time_before(rq->clock, d->throttled_until))
		return;
	d->unserved = false;
	freq_switch(rq->s, d, opp, rq->cpu, rq->clock);
	d->throttled_until = rq->clock + throttle_ns(rq->s, d);
}

static void ask(struct rq *rq, struct freq_domain *d, u64 capacity)
{
	debug_assert_locked(rq);
	rq->freq->request = (u32)min(capacity, rq->capacity_orig);
	follow(rq, d);
}

static void look_for_room(struct rq *rq, struct freq_domain *d)
{
	u64 now = freq_opp(d)->capacity, clamp = clamp_util(rq, rq->capacity_orig),
	    most = min(with_margin(clamp), rq->capacity_orig);

	if (rq->nr_running && now < most && now * 1024 < min(freq_usage(rq), clamp) * 1280)
		ask(rq, d, most);
	else if (d->unserved && rq->s->tunable.throttle_defer)
		follow(rq, d);
}

static void dvfs_update(struct rq *rq, struct freq_domain *d, enum freq_reason reason)
{
	if (reason == FREQ_TICK)
		look_for_room(rq, d);
	else if (rq->nr_running)
		ask(rq, d, with_margin(clamp_util(rq, freq_boosted_usage(rq))));
}

static void dvfs_start(struct sched *s, struct freq_domain *d, unsigned cpu, u64 now)
{
	debug_assert_locked(d);
	(void)s, (void)cpu;
	for (struct freq_cpu *f = d->cpus; f; f = f->next)
		f->request = 0;
	d->throttled_until = now;
	d->unserved = false;
}

const struct governor sched_governor = { "sched", dvfs_start, dvfs_update };
