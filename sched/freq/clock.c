/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The two clocks that make averages independent of the speed: a domain's work clock and a CPU's
 * scaled time; see freq.h. Clocks of CPUs may disagree a little, and a domain's times are those of
 * whoever changed it last.
 */
#include "sched/freq/freq.h"
#include "sched/core/core.h"

u64 freq_work(const struct freq_domain *d, u64 now)
{
	debug_assert_locked(d);
	return d->work + (now - d->since) * freq_opp(d)->capacity;
}

/* Scaled time passes with the work done, and never faster than the clock. */
static void advance(struct rq *rq, struct freq_cpu *f)
{
	u64 passed = rq->clock - f->at, work, done;

	debug_assert_locked(rq);
	f->at = rq->clock;
	if (!f->busy)
		return;
	host_lock(&f->domain->lock);
	work = freq_work(f->domain, rq->clock);
	host_unlock(&f->domain->lock);
	done = f->rest + (time_before(work, f->work) ? 0 : work - f->work);
	f->work = work;
	f->rest = done % OPP_CAPACITY;
	f->behind += sub_floor0(passed, done / OPP_CAPACITY);
}

u64 freq_time(struct rq *rq)
{
	struct freq_cpu *f = rq->freq;

	assert_locked(rq);
	if (f->at != rq->clock)
		advance(rq, f);
	return rq->clock - f->behind;
}

/*
 * At the present speed, though it may have changed meanwhile: what the average of @rq->urgent has
 * seen already limits the error.
 */
u64 freq_time_before(struct rq *rq, u64 delta)
{
	u64 now = freq_time(rq), work = delta * freq_opp(rq->freq->domain)->capacity;

	return time_max(now - work / OPP_CAPACITY, time_min(rq->urgent.last_update, now));
}
