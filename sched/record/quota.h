/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of decisions about quotas (decision.def): bandwidth.c tells of each while it holds the
 * pool's lock, so the records of a pool have one order.
 */
#pragma once

#include "sched/fair/core/fair.h"
#include "sched/observe/trace.h"

void emit_quota(struct fair_queue *q, enum quota_act act, enum quota_rule rule, u64 asked, u64 got);
void emit_pool(const struct bandwidth *pool, const struct rq *rq, enum quota_act act,
	       enum quota_rule rule, u64 before, u64 periods);

/* Why @got ns were paid of those that were @asked for. */
static inline enum quota_rule rule_of_payment(u64 asked, u64 got)
{
	return got == asked ? GRANT_covered : got ? GRANT_rest_of_pool : GRANT_pool_empty;
}

/* @q asked for @asked ns, or returns them, and @got ns went over. Lock: the pool's. */
static inline void trace_quota(struct fair_queue *q, enum quota_act act, enum quota_rule rule,
			       u64 asked, u64 got)
{
	assert_locked(&q->group->bandwidth);
	if (traced(q->rq->s, EVENT_sched_decision_quota))
		emit_quota(q, act, rule, asked, got);
}

/* @pool held @before ns; @periods have ended. Locks: the pool's; of a timer also @rq's. */
static inline void trace_pool(const struct bandwidth *pool, const struct rq *rq, enum quota_act act,
			      enum quota_rule rule, u64 before, u64 periods)
{
	assert_locked(pool);
	if (traced(rq->s, EVENT_sched_decision_pool))
		emit_pool(pool, rq, act, rule, before, periods);
}
