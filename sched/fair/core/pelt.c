/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PELT: load averages that decay by half in 32 periods of 1024 * 1024 ns.
 *
 * Three signals for each entity and queue - load (weight while runnable),
 * runnable, and utilisation (running) - are sums of 1024-ns units, each period's
 * contribution multiplied by y = 2^(-1/32) for each period of age. An average is
 * the sum divided by the largest value it can have now, so a task that always
 * runs has utilisation 1024. A queue also averages over entities that sleep on
 * it: they may come back.
 *
 * Everything here is integer arithmetic, to the bit as in Linux 6.1's pelt.c
 * (docs/sources.md). Lock: the runqueue's.
 */
#include "sched/fair/core/fair.h"
#include "sched/fair/core/pelt.h"
#include "sched/freq/freq.h"
#include "sched/observe/trace.h"

#define HALF_LIFE 32	/* periods */
#define SUM_MAX	  47742 /* fixed point of s = 1024 + decay(s, 1) */
#define CAPACITY  1024	/* of a CPU */

/* floor((2^32 - 1) * y^i) */
static const u32 decay_table[HALF_LIFE] = {
	0xffffffff, 0xfa83b2da, 0xf5257d14, 0xefe4b99a, 0xeac0c6e6, 0xe5b906e6, 0xe0ccdeeb,
	0xdbfbb796, 0xd744fcc9, 0xd2a81d91, 0xce248c14, 0xc9b9bd85, 0xc5672a10, 0xc12c4cc9,
	0xbd08a39e, 0xb8fbaf46, 0xb504f333, 0xb123f581, 0xad583ee9, 0xa9a15ab4, 0xa5fed6a9,
	0xa2704302, 0x9ef5325f, 0x9b8d39b9, 0x9837f050, 0x94f4efa8, 0x91c3d373, 0x8ea4398a,
	0x8b95c1e3, 0x88980e80, 0x85aac367, 0x82cd8698,
};

/* Lab 6, decay: @v after so many periods; half of it after 32. */
static u64 decay(u64 v, u64 periods)
{
	if (unlikely(periods > HALF_LIFE * 63))
		return 0;
	if (unlikely(periods >= HALF_LIFE)) {
		v >>= periods / HALF_LIFE;
		periods %= HALF_LIFE;
	}
	return mul_shr(v, decay_table[periods], 32);
}

/* The largest sum possible now, the current period being partly over. */
static inline u64 divider_of(const struct pelt *p)
{
	return SUM_MAX - PELT_PERIOD + p->period_contrib;
}

static void compute_averages(struct pelt *p, u64 weight)
{
	u64 divider = divider_of(p);

	p->load_avg = weight * p->load_sum / divider;
	p->runnable_avg = p->runnable_sum / divider;
	p->util_avg = p->util_sum / divider;
}

/*
 * Lab 6, cross: at least one period ended. Decay what was there, add the rest of the old period,
 * whole periods, and the beginning of the current one:
 *	|<- period_contrib ->|<- d1 ->|<- PERIOD ->| ... |<- PERIOD ->|<- rest ->|
 */
void pelt_cross_periods(struct pelt *p, u64 units, u64 weight, u64 load, u64 runnable, bool running)
{
	u64 total = units + p->period_contrib;
	u64 periods = total / PELT_PERIOD, rest = total % PELT_PERIOD;
	u64 contrib = decay(PELT_PERIOD - p->period_contrib, periods) +
		      (SUM_MAX - decay(SUM_MAX, periods) - PELT_PERIOD) + rest;

	SCHED_DEBUG_ASSERT(total >= PELT_PERIOD);
	p->period_contrib = (u32)rest;
	p->load_sum = decay(p->load_sum, periods) + load * contrib;
	p->runnable_sum = decay(p->runnable_sum, periods) + (runnable * contrib << 10);
	p->util_sum = (u32)decay(p->util_sum, periods) + (running ? (u32)contrib << 10 : 0);
	compute_averages(p, weight);
}

/*
 * The averages of @e or, without one, of @q were computed. Where a policy does that as part of a
 * decision that is recorded, this goes untold.
 */
static void tell_averages(const struct fair_queue *q, const struct entity *e)
{
	SCHED_DEBUG_ASSERT(!e || e->queue == q);
	if (!traced_any(q->rq->s, AVERAGE_EVENTS) || q->rq->deciding)
		return;
	if (e)
		TRACE(sched_pelt_se, q->rq->s, q->rq->cpu, e,
		      entity_is_task(e) ? task_of((struct entity *)e) : NULL);
	else
		TRACE(sched_pelt_cfs, q->rq->s, q->rq->cpu, q);
}

void pelt_end_period(struct pelt *p, u64 units, const struct entity *e, u64 load, u64 runnable,
		     bool running)
{
	pelt_cross_periods(p, units, e ? weight_down(e->load.weight) : 1, load, runnable, running);
	tell_averages(e ? e->queue : container_of(p, struct fair_queue, avg), e);
}

/*
 * A throttled queue, and all below it, cannot show what it wants: its averages are kept. So each
 * queue's clock is that of the queue above less the time that it stood still, and a clock that
 * stands stops those below it. The root's is the CPU's scaled time (freq.h).
 */
u64 pelt_clock(const struct fair_queue *q)
{
	u64 skipped = 0;

	for (; q->owner; q = q->owner->queue) {
		if (q->throttled)
			return q->pelt_stopped - skipped;
		skipped += q->pelt_skipped;
	}
	return rq_time(q->rq) - skipped;
}

/* --- entities come and go ------------------------------------------------- */

void pelt_init(struct entity *e)
{
	SCHED_DEBUG_ASSERT(!e->avg.last_update);
	e->avg = (struct pelt){
		.load_avg = weight_down(e->load.weight),
		.load_sum = SUM_MAX - PELT_PERIOD,
	};
}

void pelt_init_util(struct fair_queue *q, struct entity *e)
{
	s64 spare = (s64)(q->rq->capacity_orig - q->avg.util_avg) / 2;
	/* 6.1 takes the weight as it is stored, with ten bits more than the queue's load has. */
	u64 weight = q->policy->guess_in_load_units ? weight_down(e->load.weight) : e->load.weight;

	SCHED_DEBUG_ASSERT(!e->avg.last_update);
	if (spare > 0) {
		u64 share = q->avg.util_avg * weight / (q->avg.load_avg + 1);

		e->avg.util_avg = q->avg.util_avg ? min(share, (u64)spare) : (u64)spare;
	}
	e->avg.runnable_avg = e->avg.util_avg;
}

/* To be passed to the entity that stands for @q. */
static void propagate(struct fair_queue *q, s64 runnable)
{
	q->up.pending = true;
	q->up.runnable += runnable;
}

/* Lab 6, attach: @e joins the sum of @q, which is up to date, in step with its periods. */
void pelt_attach(struct fair_queue *q, struct entity *e)
{
	u64 divider = divider_of(&q->avg), weight = weight_down(e->load.weight);
	struct pelt *p = &e->avg;

	debug_assert_locked(q->rq);
	SCHED_DEBUG_ASSERT(!p->last_update);
	SCHED_DEBUG_ASSERT(!pelt_is_due(&q->avg, pelt_now(q)));
	p->last_update = q->avg.last_update;
	p->period_contrib = q->avg.period_contrib;
	p->util_sum = (u32)(p->util_avg * divider);
	p->runnable_sum = p->runnable_avg * divider;
	p->load_sum = max(1ull, p->load_avg * divider / weight);
	q->avg.load_avg += p->load_avg;
	q->avg.load_sum += p->load_sum * weight;
	q->avg.util_avg += p->util_avg;
	q->avg.util_sum += p->util_sum;
	q->avg.runnable_avg += p->runnable_avg;
	q->avg.runnable_sum += p->runnable_sum;
	propagate(q, (s64)p->load_sum);
}

/*
 * Takes the parts off an average and its sum. Rounding may have left less in them than the parts;
 * then 0 is left. A sum is at least what its average stands for.
 */
static void subtract(u64 *avg, u64 avg_part, u64 *sum, u64 sum_part)
{
	*avg = sub_floor0(*avg, avg_part);
	*sum = max(sub_floor0(*sum, sum_part), *avg * (SUM_MAX - PELT_PERIOD));
}

/* Lab 6, detach: @e, which is up to date, leaves the sum of @q. */
void pelt_detach(struct fair_queue *q, struct entity *e)
{
	struct pelt *p = &e->avg, *sum = &q->avg;
	u64 util_sum = sum->util_sum;

	debug_assert_locked(q->rq);
	SCHED_DEBUG_ASSERT(p->last_update && !pelt_is_due(p, pelt_now(q)));
	subtract(&sum->load_avg, p->load_avg, &sum->load_sum,
		 p->load_sum * weight_down(e->load.weight));
	subtract(&sum->runnable_avg, p->runnable_avg, &sum->runnable_sum, p->runnable_sum);
	subtract(&sum->util_avg, p->util_avg, &util_sum, p->util_sum);
	sum->util_sum = (u32)util_sum;
	propagate(q, -(s64)p->load_sum);
	p->last_update = 0;
}

void pelt_reweight(struct fair_queue *q, struct entity *e, u64 weight)
{
	struct pelt *p = &e->avg;
	u64 old_sum = p->load_sum * weight_down(e->load.weight), old_avg = p->load_avg;

	p->load_avg = weight_down(weight) * p->load_sum / divider_of(p);
	if (!p->last_update) /* detached */
		return;
	SCHED_DEBUG_ASSERT(!pelt_is_due(p, pelt_now(q)));
	subtract(&q->avg.load_avg, old_avg, &q->avg.load_sum, old_sum);
	q->avg.load_avg += p->load_avg;
	q->avg.load_sum += p->load_sum * weight_down(weight);
}

/* --- groups ---------------------------------------------------------------- */

/*
 * The part of the time in which something is runnable on @gq, as a sum, after it changed by
 * @runnable for @p, its entity's. Who comes adds what it was; who goes leaves what the others have
 * in common on average. It was runnable at least while it ran.
 */
static u64 runnable_fraction(const struct fair_queue *gq, const struct pelt *p, s64 runnable)
{
	u64 sum = p->load_sum;

	if (runnable >= 0)
		sum = min(sum + (u64)runnable, divider_of(p));
	else if (gq->load.weight)
		sum = min(sum, gq->avg.load_sum / weight_down(gq->load.weight));
	else
		sum = 0;
	return max(sum, (u64)p->util_sum >> 10);
}

static void replace(u64 *avg, u64 *sum, u64 old_avg, u64 old_sum, u64 new_avg, u64 new_sum)
{
	*avg = sub_floor0(*avg + new_avg, old_avg);
	*sum = max(sub_floor0(*sum + new_sum, old_sum), *avg * (SUM_MAX - PELT_PERIOD));
}

void pelt_follow(struct entity *e)
{
	struct fair_queue *q = e->queue, *gq = e->own_queue;
	struct pelt old = e->avg, *p = &e->avg, *sum = &q->avg;
	u64 divider = divider_of(p), weight = weight_down(e->load.weight);
	u64 util_sum = sum->util_sum;

	SCHED_DEBUG_ASSERT(gq);
	p->util_avg = gq->avg.util_avg;
	p->util_sum = (u32)(p->util_avg * divider);
	p->runnable_avg = gq->avg.runnable_avg;
	p->runnable_sum = p->runnable_avg * divider;
	p->load_sum = runnable_fraction(gq, p, gq->up.runnable);
	p->load_avg = weight * p->load_sum / divider;
	if (p->last_update) {
		propagate(q, gq->up.runnable);
		replace(&sum->util_avg, &util_sum, old.util_avg, old.util_sum, p->util_avg,
			p->util_sum);
		sum->util_sum = (u32)util_sum;
		replace(&sum->runnable_avg, &sum->runnable_sum, old.runnable_avg, old.runnable_sum,
			p->runnable_avg, p->runnable_sum);
		replace(&sum->load_avg, &sum->load_sum, old.load_avg, old.load_sum * weight,
			p->load_avg, p->load_sum * weight);
	}
	gq->up = (struct propagation){ 0 };
}

/* --- estimated utilisation ------------------------------------------------ */

void util_est_remember(const struct rq *rq, struct pelt *p)
{
	s32 diff = (s32)((u32)p->util_avg - p->util_est_ewma);

	debug_assert_locked(rq);
	if (!feature(rq->s, FEATURE_UTIL_EST))
		return;
	if (diff > 0 && feature(rq->s, FEATURE_UTIL_EST_FASTUP)) {
		p->util_est_ewma = (u32)p->util_avg;
	} else if (diff <= -(CAPACITY / 100) || diff >= CAPACITY / 100) { /* less is the same */
		/* It comes from a faster CPU; how much it needs cannot be seen on this one. */
		if (unlikely(p->util_avg > rq->capacity_orig))
			return;
		p->util_est_ewma = (u32)((s32)p->util_est_ewma + (diff >> 2));
	}
	p->util_est_enqueued = (u32)p->util_avg;
}

/* The runqueue may be another CPU's, which goes on. */
u64 cpu_util(const struct rq *rq)
{
	u64 util = READ_ONCE(rq->fair.avg.util_avg);

	if (feature(rq->s, FEATURE_UTIL_EST))
		util = max(util, (u64)READ_ONCE(rq->fair.avg.util_est_enqueued));
	return min(util, rq->capacity_orig);
}
