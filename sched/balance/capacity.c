/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The capacity that real-time and deadline tasks leave of a CPU: that of a whole CPU less the
 * average of the time they run, which decays as all load averages do. They are charged after they
 * ran, so the average first ages without them up to where the charged time began.
 */
#include "sched/balance/capacity.h"
#include "sched/fair/core/pelt.h"

static void age(struct rq *rq, u64 now, bool running)
{
	if (pelt_is_due(&rq->urgent, now))
		pelt_age(&rq->urgent, now, NULL, 0, 0, running);
}

void capacity_used(struct rq *rq, u64 delta)
{
	SCHED_ASSERT(host_lock_held(&rq->lock));
	age(rq, rq->clock - delta, false);
	age(rq, rq->clock, true);
}

void capacity_refresh(struct rq *rq)
{
	SCHED_ASSERT(host_lock_held(&rq->lock));
	if (rq->curr->class->rank < CLASS_fair)
		rq->curr->class->charge(rq);
	if (likely(!rq->urgent.util_sum && rq->capacity == CPU_CAPACITY))
		return;
	age(rq, rq->clock, false);
	WRITE_ONCE(rq->capacity, max(1ull, sub_floor0(CPU_CAPACITY, rq->urgent.util_avg)));
}
