/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of decisions about quotas (quota.h), with the numbers after the decision.
 */
#include "sched/record/quota.h"

static u32 nr_waiting(const struct bandwidth *pool)
{
	const struct list *link;
	u32 nr = 0;

	debug_assert_locked(pool);
	for (link = pool->throttled.next; link != &pool->throttled; link = link->next)
		nr++;
	return nr;
}

void emit_quota(struct fair_queue *q, enum quota_act act, enum quota_rule rule, u64 asked, u64 got)
{
	const struct bandwidth *pool = &q->group->bandwidth;
	struct event_sched_decision_quota d = {
		.common = { EVENT_ID_sched_decision_quota, sizeof(d), q->rq->cpu },
		.act = (u8)act,
		.rule = (u8)rule,
		.cpu = (u16)q->rq->cpu,
		.group = q->group->id,
		.nr_waiting = nr_waiting(pool),
		.clock = READ_ONCE(q->rq->clock),
		.asked = asked,
		.got = got,
		.pool = pool->runtime_ns,
		.remaining = READ_ONCE(q->remaining),
		.debt = q->debt,
		.owed = pool->owed_ns,
		.slice = (u64)q->rq->s->tunable.cfs_bandwidth_slice_us * NS_PER_US,
		.slack_at = act == QUOTA_give_back && pool->slack.rq ? pool->slack.at : 0,
	};

	__builtin_memcpy(d.comm, q->group->name, TASK_COMM_LEN);
	host_trace(&d.common);
}

void emit_pool(const struct bandwidth *pool, const struct rq *rq, enum quota_act act,
	       enum quota_rule rule, u64 before, u64 periods)
{
	const struct task_group *tg = container_of(pool, struct task_group, bandwidth);
	struct event_sched_decision_pool d = {
		.common = { EVENT_ID_sched_decision_pool, sizeof(d), rq->cpu },
		.act = (u8)act,
		.rule = (u8)rule,
		.cpu = (u16)rq->cpu,
		.group = tg->id,
		.nr_waiting = nr_waiting(pool),
		.clock = act == QUOTA_limit ? 0 : rq->clock,
		.quota = pool->quota_ns,
		.burst = pool->burst_ns,
		.before = before,
		.kept = pool->runtime_ns,
		.owed = pool->owed_ns,
		.burst_time = pool->burst_used_ns,
		.period = (u32)pool->period_ns,
		.periods = (u32)min(periods, (u64)UINT32_MAX),
		.nr_periods = (u32)pool->nr_periods,
		.nr_throttled = (u32)pool->nr_throttled,
		.nr_bursts = (u32)pool->nr_bursts,
	};

	__builtin_memcpy(d.comm, tg->name, TASK_COMM_LEN);
	host_trace(&d.common);
}
