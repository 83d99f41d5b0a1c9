/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fair class as the core sees it: its table, and those operations that need no walk along the
 * tree of queues. The others are fair.c's.
 */
#include "sched/balance/sharedq.h"
#include "sched/fair/core/class.h"

/* --- membership ----------------------------------------------------------- */

static void fair_init(struct rq *rq)
{
	list_init(&rq->queues);
	list_init(&rq->fair_tasks);
	list_init(&rq->delayed);
	list_init(&rq->bandwidth.timers);
	list_init(&rq->bandwidth.throttled);
	prng_seed(&rq->prng, rq->s->prng.state + rq->cpu);
	rq->s->fair_policy->tuned(rq);
	fair_queue_init(&rq->fair, rq);
}

/* Tasks below a throttled queue are not counted. */
static u32 fair_nr_queued(const struct rq *rq)
{
	return READ_ONCE(rq->fair.tasks.nr);
}

static bool fair_pickable(struct rq *rq, struct task *t)
{
	(void)rq;
	return !queue_is_hidden(t->fair.queue);
}

static struct task *fair_queued(struct rq *rq, struct task *after)
{
	struct list *next = after ? after->link.next : rq->fair_tasks.next;

	SCHED_DEBUG_ASSERT(!after || after->fair.queued);
	return next == &rq->fair_tasks ? NULL : list_entry(next, struct task, link);
}

/* --- timers ---------------------------------------------------------------- */

static u64 fair_next_timer(struct rq *rq)
{
	debug_assert_locked(rq);
	return earlier(rq->hrtick_at, rq->bandwidth.at);
}

static void fair_timer(struct rq *rq)
{
	if (rq->hrtick_at && !time_before(rq->clock, rq->hrtick_at)) {
		rq->hrtick_at = 0;
		resched(rq); /* which charges */
	}
	bandwidth_timer(rq);
}

/* --- what happens to a CPU -------------------------------------------------- */

static void fair_offline(struct rq *rq)
{
	struct fair_queue *q;

	SCHED_DEBUG_ASSERT(!rq->online);
	finish_all_delayed(rq);
	bandwidth_offline(rq);
	list_for_each(q, &rq->queues, link)
		group_offline(q);
}

static void fair_notice(struct rq *rq, enum class_notice notice)
{
	switch (notice) {
	case NOTICE_NEW:
		fair_init(rq);
		break;
	case NOTICE_TIMER:
		fair_timer(rq);
		break;
	case NOTICE_POKE:
		bandwidth_unthrottle(rq);
		break;
	case NOTICE_ONLINE:
		bandwidth_online(rq);
		break;
	case NOTICE_OFFLINE:
		fair_offline(rq);
		break;
	case NOTICE_TIMERS_LEAVE:
		bandwidth_move_timers(rq, cpu_rq(rq->s, cpumask_first(&rq->s->online)));
		break;
	case NOTICE_EMPTY:
		rq->hrtick_at = 0;
		break;
	}
}

/* --- parameters ------------------------------------------------------------ */

static int fair_prio(const struct sched_attr_req *req)
{
	bool valid = !req->rt_priority && nice_is_valid(req->nice);

	return valid ? NICE_TO_PRIO(req->nice) : PRIO_INVALID;
}

static void fair_set_attr(struct task *t, const struct sched_attr_req *req)
{
	(void)req;
	fair_reweight(&t->fair, t->fair.queue->policy->weight(t));
}

static void fair_fork(struct sched *s, struct task *parent, struct task *child, unsigned flags)
{
	const struct fair_policy *policy = READ_ONCE(s->fair_policy);

	SCHED_DEBUG_ASSERT(host_lock_held(&s->family_lock));
	policy->fork(s, parent, child, flags);
}

static void fair_regroup(struct rq *rq, struct task *t, struct task_group *tg, bool runnable)
{
	debug_assert_locked(rq);
	fair_quit(rq, t, runnable);
	task_set_group(rq->s, t, tg);
	if (t->state != TASK_NEW)
		fair_arrive(t, runnable);
}

static u64 fair_request(struct rq *rq, struct task *t)
{
	struct fair_queue *q = t->fair.queue;

	(void)rq;
	return policy_has(q->policy, TRAIT_REQUESTS) ? q->policy->slice(q, &t->fair) : 0;
}

const struct sched_class fair_class = {
	.name = "fair",
	.rank = CLASS_fair,
	.policies = BIT(SCHED_NORMAL) | BIT(SCHED_BATCH) | BIT(SCHED_IDLE) | BIT(SCHED_EXT),
	.nice = true,
	.patient = true,
	.enqueue = fair_enqueue,
	.dequeue = fair_dequeue,
	.nr_queued = fair_nr_queued,
	.queued = fair_queued,
	.pick = fair_pick,
	.set_next = fair_set_next,
	.charge = fair_charge,
	.tick = fair_tick,
	.charge_task = fair_charge_task,
	.put_prev = fair_put_prev,
	.exchange = fair_exchange,
	.pickable = fair_pickable,
	.yield = fair_yield,
	.preempts = fair_preempts,
	.next_timer = fair_next_timer,
	.notice = fair_notice,
	.smp = { .select_cpu = fair_select_cpu, .migrate = fair_migrate },
	.params = { .prio = fair_prio,
		    .set_attr = fair_set_attr,
		    .fork = fair_fork,
		    .join = fair_join,
		    .quit = fair_quit,
		    .regroup = fair_regroup,
		    .retune = fair_retune,
		    .slice = fair_slice,
		    .request = fair_request },
	.debug = { .check = fair_check, .dump = fair_dump },
};
