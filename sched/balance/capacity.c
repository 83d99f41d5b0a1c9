/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The capacity that real-time and deadline tasks leave of a CPU: its own at full speed less the
 * average of the time they run, which decays as all load averages do. They are charged after they
 * ran, so the average first ages without them up to where the charged time began.
 */
#include "sched/balance/capacity.h"
#include "sched/fair/core/pelt.h"
#include "sched/freq/freq.h"

static void age(struct rq *rq, u64 now, bool running)
{
	debug_assert_locked(rq);
	if (pelt_is_due(&rq->urgent, now))
		pelt_age(&rq->urgent, now, false, NULL, 0, 0, running);
}

void capacity_used(struct rq *rq, u64 delta)
{
	assert_locked(rq);
	age(rq, rq_time_before(rq, delta), false);
	age(rq, rq_time(rq), true);
}

void capacity_refresh(struct rq *rq)
{
	assert_locked(rq);
	if (rq->curr->class->rank < CLASS_fair)
		charge_current(rq);
	if (likely(!rq->urgent.util_sum && rq->capacity == rq->capacity_orig))
		return;
	age(rq, rq_time(rq), false);
	WRITE_ONCE(rq->capacity, max(1ull, sub_floor0(rq->capacity_orig, rq->urgent.util_avg)));
}
