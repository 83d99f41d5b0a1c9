/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The host's reports about a CPU: ticks, timers, yields, and whether it may idle without a tick.
 */
#include "sched/core/observers.h"
#include "sched/fair/core/policy.h"

bool sched_yield(struct sched *s, unsigned cpu)
{
	struct rq *rq = cpu_rq(s, cpu);

	rq->yield_count += schedstats(s);
	/* Without the lock: who is being queued now asks for a switch himself if he is to run. */
	if (READ_ONCE(rq->nr_running) < rq->yield_below && !READ_ONCE(rq->need_resched) &&
	    !policy_has(READ_ONCE(s->fair_policy), TRAIT_YIELDS_ALONE)) {
		rq->sched_count += schedstats(s); /* as if we had switched, to ourselves */
		return false;
	}
	rq->yield = true;
	return true;
}

void sched_tick(struct sched *s, unsigned cpu)
{
	struct rq *rq = cpu_rq(s, cpu);

	rq_lock(rq);
	if (unlikely(rq->need_resched == RESCHED_PATIENT))
		resched(rq);
	rq->curr->class->tick(rq, rq->curr);
	observe_tick(rq);
	if (unlikely(rq->timer_stale))
		rq_update_timer(rq);
	rq_unlock(rq);
	balance_tick(rq);
}

void sched_timer(struct sched *s, unsigned cpu)
{
	struct rq *rq = cpu_rq(s, cpu);

	rq_lock(rq);
	rq->timer_armed = 0;
	observe_timer(rq);
	classes_notify(rq, NOTICE_TIMER);
	rq_update_timer(rq);
	if (unlikely(!list_empty(&rq->handover)))
		deliver(rq);
	else
		rq_unlock(rq);
}

bool sched_tick_can_stop(struct sched *s, unsigned cpu)
{
	struct rq *rq = cpu_rq(s, cpu);

	/* May be old: a task queued beside idle comes with a kick, whose switch starts the tick. */
	if (rq->curr != rq->idle || READ_ONCE(rq->nr_running))
		return false;
	if (!rq->tick_stopped && rq->online) {
		rq_stop_tick(rq);
		WRITE_ONCE(rq->next_balance, 0); /* that of a busy CPU is far away */
	}
	return true;
}
