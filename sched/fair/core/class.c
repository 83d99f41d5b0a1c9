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

static struct task *task_at(struct rq *rq, struct list *link)
{
	return link == &rq->fair_tasks ? NULL : list_entry(link, struct task, link);
}

static struct task *fair_first_queued(struct rq *rq)
{
	return task_at(rq, rq->fair_tasks.next);
}

static struct task *fair_next_queued(struct rq *rq, struct task *t)
{
	return task_at(rq, t->link.next);
}

/* --- timers ---------------------------------------------------------------- */

static u64 fair_next_timer(struct rq *rq)
{
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

/* --- CPUs that come and go ------------------------------------------------- */

static void fair_offline(struct rq *rq)
{
	struct fair_queue *q;

	finish_all_delayed(rq);
	bandwidth_offline(rq);
	list_for_each(q, &rq->queues, link)
		group_offline(q);
}

static void fair_cancel_timers(struct rq *rq)
{
	rq->hrtick_at = 0;
}

/* --- parameters ------------------------------------------------------------ */

static bool fair_valid(const struct sched_attr_req *req)
{
	return !req->rt_priority && nice_is_valid(req->nice);
}

static int fair_prio(const struct sched_attr_req *req)
{
	return NICE_TO_PRIO(req->nice);
}

static void fair_set_attr(struct task *t, const struct sched_attr_req *req)
{
	(void)req;
	fair_reweight(&t->fair, t->fair.queue->policy->weight(t));
}

static void fair_fork(struct sched *s, struct task *parent, struct task *child, unsigned flags)
{
	const struct fair_policy *policy = READ_ONCE(s->fair_policy);

	policy->fork(s, parent, child, flags);
}

static void fair_regroup(struct rq *rq, struct task *t, struct task_group *tg, bool runnable)
{
	bool member = t->state != TASK_NEW;

	if (member)
		fair_quit(rq, t, runnable);
	class_regroup(rq, t, tg, runnable);
	if (member)
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
	.nice = true,
	.patient = true,
	.init = fair_init,
	.enqueue = fair_enqueue,
	.dequeue = fair_dequeue,
	.nr_queued = fair_nr_queued,
	.nr_pickable = fair_nr_queued,
	.pickable = fair_pickable,
	.first_queued = fair_first_queued,
	.next_queued = fair_next_queued,
	.yield = fair_yield,
	.pick = fair_pick,
	.put_prev = fair_put_prev,
	.set_next = fair_set_next,
	.exchange = fair_exchange,
	.picked_again = fair_start_turn,
	.charge = fair_charge,
	.charge_task = fair_charge_task,
	.tick = fair_tick,
	.preempts = fair_preempts,
	.notice = bandwidth_unthrottle,
	.next_timer = fair_next_timer,
	.timer = fair_timer,
	.select_cpu = fair_select_cpu,
	.migrate = fair_migrate,
	.pull = class_ignore_task,
	.push = class_ignore,
	.online = bandwidth_online,
	.offline = fair_offline,
	.move_timers = bandwidth_move_timers,
	.cancel_timers = fair_cancel_timers,
	.owns = task_is_fair_policy,
	.valid = fair_valid,
	.prio = fair_prio,
	.admit = class_admit,
	.admit_affinity = class_admit_affinity,
	.admit_offline = class_admit_offline,
	.admit_tunables = class_admit_tunables,
	.init_task = class_ignore_new,
	.end_task = class_ignore_new,
	.set_attr = fair_set_attr,
	.get_attr = class_no_attr,
	.fork = fair_fork,
	.join = fair_join,
	.quit = fair_quit,
	.retune = fair_retune,
	.regroup = fair_regroup,
	.slice = fair_slice,
	.request = fair_request,
	.numbers = class_no_numbers,
	.check = fair_check,
	.check_offline = fair_check_offline,
	.dump = fair_dump,
	.dump_key = fair_dump_key,
	.dump_task = fair_dump_task,
};
