/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPU bandwidth of task groups: at most quota of CPU time in each period, plus
 * what earlier periods left over, up to burst.
 *
 *	pool       the group's runtime, for all CPUs; refilled each period:
 *	           pool = min(pool + quota, quota + burst)
 *	remaining  of each of its queues: runtime fetched from the pool a slice (5 ms)
 *	           at a time and used up by running; may go below 0 by up to a tick
 *	throttle   a queue that finds the pool empty leaves the queues above, with all
 *	           below it, until a refill covers its debt and 1 ns more. The debt is
 *	           apart: `remaining` is what the queue will have when that is paid
 *	slack      a queue that empties returns all but 1 ms, as far as the pool is not full;
 *	           if that suffices for a throttled one, a timer shares it out 5 ms later
 *
 * The period's timer belongs to the CPU that started it, so does the slack's. It
 * stops after a period in which nothing was used.
 *
 * Differences to the source: a late timer is one refill for each period that passed
 * instead of a loop. What was fetched before a refill and is returned after it does not
 * fill the pool beyond quota and burst: unused, it is lost as it would be in the pool. A
 * CPU that leaves hands its runtime and its debt to the pool, where the source forgives both.
 *
 * Locks: a queue's fields by its runqueue's lock, the pool's by pool.lock, which is
 * taken inside one. Source: Linux 6.1, fair.c; Documentation/scheduler/sched-bwc.rst.
 */
#include "sched/balance/sharedq.h"
#include "sched/fair_server.h"
#include "sched/fair/core/class.h"
#include "sched/fair/core/pelt.h"
#include "sched/record/quota.h"
#include "lib/errno.h"

#define KEEP_NS		NS_PER_MS	/* what an empty queue does not return */
#define SLACK_DELAY_NS	(5 * NS_PER_MS) /* others may return some more in the meantime */
#define SLACK_MARGIN_NS (2 * NS_PER_MS) /* a refill this soon makes slack not worth it */

void bandwidth_init(struct bandwidth *pool)
{
	pool->lock.rank = HOST_RANK_GROUP;
	pool->quota_ns = SCHED_QUOTA_NONE;
	pool->period_ns = SCHED_PERIOD_DEFAULT_NS;
	list_init(&pool->throttled);
	pool->period.pool = pool->slack.pool = pool;
}

static struct bandwidth *pool_of(const struct fair_queue *q)
{
	return &q->group->bandwidth;
}

/* The most that the pool can hold, ns. */
static u64 most_ns(const struct bandwidth *pool)
{
	return pool->quota_ns + pool->burst_ns;
}

static u64 slice_ns(const struct rq *rq)
{
	return (u64)rq->s->tunable.cfs_bandwidth_slice_us * NS_PER_US;
}

/* --- timers: each hangs on the runqueue of the CPU that is to serve it -------------------- */

static void find_next_timer(struct rq *rq)
{
	struct bandwidth_timer *timer;

	rq->bandwidth.at = 0;
	list_for_each(timer, &rq->bandwidth.timers, link)
		if (!rq->bandwidth.at || time_before(timer->at, rq->bandwidth.at))
			rq->bandwidth.at = timer->at;
	rq->timer_stale = true;
}

static void start_timer(struct rq *rq, struct bandwidth_timer *timer, u64 at)
{
	debug_assert_locked(timer->pool);
	SCHED_DEBUG_ASSERT(!timer->rq);
	timer->at = at;
	timer->rq = rq;
	list_add_tail(&rq->bandwidth.timers, &timer->link);
	find_next_timer(rq);
}

static void stop_timer(struct bandwidth_timer *timer)
{
	struct rq *rq = timer->rq;

	debug_assert_locked(timer->pool);
	debug_assert_locked(rq);
	list_del(&timer->link);
	timer->rq = NULL;
	find_next_timer(rq);
}

/* Periods begin at multiples of their length, so that a timer that was stopped resumes in step. */
static u64 next_period(const struct bandwidth *pool, u64 now)
{
	return (now / pool->period_ns + 1) * pool->period_ns;
}

/* --- using up runtime ------------------------------------------------------ */

/*
 * Lab 7, fetch: fetch from the pool, locked, what @q lacks to @target, or what there is. Returns
 * whether it has runtime now. The period's timer runs from now on.
 */
static bool fetch_locked(struct bandwidth *pool, struct fair_queue *q, s64 target)
{
	u64 asked = (u64)(target - q->remaining), amount = min(pool->runtime_ns, asked);

	SCHED_DEBUG_ASSERT(target > q->remaining);
	if (!pool->period.rq)
		start_timer(q->rq, &pool->period, next_period(pool, q->rq->clock));
	pool->runtime_ns -= amount;
	pool->idle &= !amount;
	q->remaining += (s64)amount;
	trace_quota(q, QUOTA_fetch, rule_of_payment(asked, amount), asked, amount);
	return q->remaining > 0;
}

static bool fetch(struct fair_queue *q, s64 target)
{
	struct bandwidth *pool = pool_of(q);
	bool fetched;

	host_lock(&pool->lock);
	fetched = fetch_locked(pool, q, target);
	host_unlock(&pool->lock);
	return fetched;
}

void bandwidth_charge(struct fair_queue *q, u64 delta)
{
	SCHED_DEBUG_ASSERT(q->limited && q->owner);
	q->remaining -= (s64)delta;
	if (likely(q->remaining > 0) || q->throttled)
		return;
	/* An empty queue is charged for a task that is about to leave the CPU: it needs no more. */
	if (!fetch(q, q->nr_running ? (s64)slice_ns(q->rq) : 1))
		resched(q->rq);
}

/* The pool, locked, takes back @amount as far as it is not full. Returns how much that is. */
static u64 take_back(struct bandwidth *pool, u64 amount)
{
	u64 taken = min(amount, most_ns(pool) - pool->runtime_ns);

	SCHED_DEBUG_ASSERT(pool->runtime_ns <= most_ns(pool));
	pool->runtime_ns += taken;
	return taken;
}

/*
 * Lab 7, give_back: the pool takes back what an empty @q has beyond KEEP_NS. If that suffices for
 * others that were throttled, and no refill is near, the slack's timer shares it out.
 */
void bandwidth_return(struct fair_queue *q)
{
	struct bandwidth *pool = pool_of(q);
	s64 spare = q->remaining - (s64)KEEP_NS;
	u64 taken;

	if (spare <= 0)
		return;
	q->remaining -= spare;
	host_lock(&pool->lock);
	taken = take_back(pool, (u64)spare);
	if (!list_empty(&pool->throttled) && pool->runtime_ns > slice_ns(q->rq) &&
	    !pool->slack.rq &&
	    time_before(q->rq->clock + SLACK_DELAY_NS + SLACK_MARGIN_NS, pool->period.at))
		start_timer(q->rq, &pool->slack, q->rq->clock + SLACK_DELAY_NS);
	trace_quota(q, QUOTA_give_back, taken == (u64)spare ? GRANT_emptied : GRANT_pool_full,
		    (u64)spare, taken);
	host_unlock(&pool->lock);
}

/* --- throttling ------------------------------------------------------------ */

bool queue_search_throttled(const struct fair_queue *q)
{
	for (; q->owner; q = q->owner->queue)
		if (q->throttled)
			return true;
	return false;
}

/*
 * Lab 7, owe: @q has used up its runtime. Fetch what gives it 1 ns, if the pool has that now. If
 * not, return true: that 1 ns and what it overdrew become its debt, and it waits behind the other
 * debtors. In one section of the pool's lock: what is returned in between would find nobody to pay.
 */
static bool must_wait(struct fair_queue *q)
{
	struct bandwidth *pool = pool_of(q);
	bool fetched;

	host_lock(&pool->lock);
	fetched = fetch_locked(pool, q, 1);
	if (!fetched) {
		q->debt = (u64)(1 - q->remaining);
		q->remaining = 1;
		list_add_tail(&pool->throttled, &q->debtor_link);
		trace_quota(q, QUOTA_throttle, GRANT_pool_empty, 0, 0);
	}
	host_unlock(&pool->lock);
	return !fetched;
}

/* @q has nothing left, unless something came into the pool in the meantime. */
static void throttle(struct fair_queue *q)
{
	struct rq *rq = q->rq;
	struct entity *e = q->owner;
	struct tally n = fair_seen_from_above(q, q->tasks);

	SCHED_DEBUG_ASSERT(q->limited && !q->throttled && q->remaining <= 0);
	if (!must_wait(q))
		return;
	q->pelt_stopped = pelt_now(q);
	q->throttled = rq->throttles = rq->own_time = true;
	group_note_demand(e);
	q->throttled_at = rq->clock;
	list_add_tail(&rq->bandwidth.throttled, &q->throttled_link);
	finish_delayed_group(e);
	if (!e->queued)
		return;
	queue_leave(e->queue, e, DEQUEUE_SLEEP | DEQUEUE_SPECIAL | DEQUEUE_AWAKE);
	if (fair_climb_out(e, n, DEQUEUE_SPECIAL | DEQUEUE_AWAKE))
		count_running(rq, -(int)n.nr);
}

void bandwidth_check_running(struct rq *rq)
{
	struct fair_queue *q = &rq->fair;

	while (q->curr && q->curr->own_queue) {
		q = q->curr->own_queue;
		if (q->limited && !q->throttled && q->remaining <= 0)
			throttle(q);
	}
}

void bandwidth_check_waiting(struct fair_queue *q)
{
	/* Above a throttled queue there may be empty ones. */
	for (; q->owner; q = q->owner->queue)
		if (q->limited && !q->throttled && !q->curr && q->nr_running && q->remaining <= 0 &&
		    !fetch(q, (s64)slice_ns(q->rq)))
			throttle(q);
}

static void unthrottle(struct fair_queue *q, enum quota_rule rule)
{
	struct bandwidth *pool = pool_of(q);
	struct rq *rq = q->rq;
	struct tally n = fair_seen_from_above(q, q->tasks);
	u64 throttled_ns = sub_floor0(rq->clock, q->throttled_at);

	SCHED_DEBUG_ASSERT(q->throttled);
	list_del(&q->throttled_link);
	q->throttled = false;
	q->pelt_skipped = pelt_now(q->owner->queue) - q->pelt_stopped;
	host_lock(&pool->lock);
	pool->throttled_ns += throttled_ns;
	trace_quota(q, QUOTA_unthrottle, rule, 0, throttled_ns);
	host_unlock(&pool->lock);
	if (!q->nr_running)
		return;
	/* A task that runs there goes on until a tick finds that it has run for long enough. */
	if (rq->curr->class->rank > CLASS_fair)
		resched(rq);
	fair_charge(rq);
	if (fair_climb_in(q->owner, n, ENQUEUE_WAKEUP | ENQUEUE_UNTHROTTLE))
		count_running(rq, (int)n.nr);
	bandwidth_check_waiting(q->owner->queue);
	sharedq_crowded(rq);
}

static bool is_paid_for(struct fair_queue *q)
{
	struct bandwidth *pool = pool_of(q);
	bool paid;

	host_lock(&pool->lock);
	paid = !q->debt;
	host_unlock(&pool->lock);
	return paid;
}

void bandwidth_unthrottle(struct rq *rq)
{
	struct fair_queue *q, *next;

	list_for_each_safe(q, next, &rq->bandwidth.throttled, throttled_link)
		if (is_paid_for(q))
			unthrottle(q, GRANT_paid);
}

/* The debt of @q is no longer apart from its runtime. pool.lock held. */
static void merge_debt(struct fair_queue *q)
{
	debug_assert_locked(&q->group->bandwidth);
	if (q->debt)
		list_del(&q->debtor_link);
	q->remaining -= (s64)q->debt;
	q->debt = 0;
}

/*
 * Lab 7, pay: pay the debts of throttled queues in turn while the pool lasts, and have their CPUs
 * take them back: their locks cannot be taken here. pool.lock held.
 */
static void distribute(struct bandwidth *pool)
{
	debug_assert_locked(pool);
	while (!list_empty(&pool->throttled) && pool->runtime_ns) {
		struct fair_queue *q = list_first(&pool->throttled, struct fair_queue, debtor_link);
		u64 debt = q->debt, paid = min(pool->runtime_ns, debt);

		pool->runtime_ns -= paid;
		q->debt -= paid;
		if (!q->debt)
			list_del(&q->debtor_link);
		trace_quota(q, QUOTA_pay, rule_of_payment(debt, paid), debt, paid);
		if (q->debt)
			return;
		poke(q->rq);
	}
}

/* --- periods --------------------------------------------------------------- */

/* The debts of CPUs that left are paid before all else. pool.lock held. */
static void pay_owed(struct bandwidth *pool)
{
	u64 paid = min(pool->owed_ns, pool->runtime_ns);

	debug_assert_locked(pool);
	pool->owed_ns -= paid;
	pool->runtime_ns -= paid;
}

/*
 * Lab 7, refill: a quota for each of @periods, until the pool holds quota and burst. The debts of
 * CPUs that left are paid first; the periods that pay nothing else are one step, for there may be
 * billions. Time used in a period beyond the quota was saved before: count it as a burst.
 */
static void refill(struct bandwidth *pool, u64 periods)
{
	do {
		u64 over, skipped = 0;

		pool->runtime_ns += pool->quota_ns;
		over = sub_floor0(pool->snapshot_ns, pool->runtime_ns);
		pool->nr_bursts += !!over;
		pool->burst_used_ns += over;
		pool->runtime_ns = min(pool->runtime_ns, most_ns(pool));
		pay_owed(pool);
		pool->snapshot_ns = pool->runtime_ns;
		if (!pool->runtime_ns)
			skipped = min(periods - 1, pool->owed_ns / pool->quota_ns);
		pool->owed_ns -= skipped * pool->quota_ns;
		periods -= 1 + skipped;
	} while (periods && pool->runtime_ns < most_ns(pool));
}

static void period_ends(struct bandwidth *pool, struct rq *rq)
{
	u64 periods = (rq->clock - pool->period.at) / pool->period_ns + 1;
	u64 before = pool->runtime_ns;
	bool waiting = !list_empty(&pool->throttled);

	debug_assert_locked(pool);
	SCHED_DEBUG_ASSERT(pool->period.rq == rq);
	if (pool->quota_ns == SCHED_QUOTA_NONE) {
		stop_timer(&pool->period);
		trace_pool(pool, rq, QUOTA_refill, GRANT_unlimited, before, 0);
		return;
	}
	pool->nr_periods += periods;
	pool->nr_throttled += waiting ? periods : 0;
	refill(pool, periods);
	if (pool->idle && !waiting && !pool->owed_ns) {
		stop_timer(&pool->period);
		trace_pool(pool, rq, QUOTA_refill, GRANT_nothing_used, before, periods);
		return;
	}
	pool->idle = !waiting;
	pool->period.at += periods * pool->period_ns;
	trace_pool(pool, rq, QUOTA_refill, GRANT_period_over, before, periods);
	distribute(pool);
}

static void slack_ends(struct bandwidth *pool, struct rq *rq)
{
	bool refill_is_near = !time_before(rq->clock + SLACK_MARGIN_NS, pool->period.at);
	enum quota_rule rule = refill_is_near			  ? GRANT_refill_near
			       : pool->runtime_ns <= slice_ns(rq) ? GRANT_too_little
								  : GRANT_shared_out;

	stop_timer(&pool->slack);
	trace_pool(pool, rq, QUOTA_slack, rule, pool->runtime_ns, 0);
	if (rule == GRANT_shared_out)
		distribute(pool);
}

void bandwidth_timer(struct rq *rq)
{
	struct bandwidth_timer *timer, *next;

	if (!rq->bandwidth.at || time_before(rq->clock, rq->bandwidth.at))
		return;
	list_for_each_safe(timer, next, &rq->bandwidth.timers, link) {
		struct bandwidth *pool = timer->pool;

		if (time_before(rq->clock, timer->at))
			continue;
		host_lock(&pool->lock);
		if (timer == &pool->period)
			period_ends(pool, rq);
		else
			slack_ends(pool, rq);
		host_unlock(&pool->lock);
	}
	find_next_timer(rq);
	bandwidth_unthrottle(rq); /* not by a switch: a tick may come first */
}

/* --- configuration --------------------------------------------------------- */

/*
 * The new limits hold for @q from now on, with nothing owed. What it has goes back, because some of
 * it may be fetched from the new quota already. What runs is not charged first: the next tick
 * charges to the new quota all that ran since the last.
 */
static void restart(struct fair_queue *q)
{
	struct bandwidth *pool = pool_of(q);
	struct rq *rq = q->rq;
	u64 had, taken;

	rq_lock(rq);
	host_lock(&pool->lock);
	merge_debt(q);
	had = q->limited ? (u64)max(q->remaining, 0ll) : 0;
	q->limited = pool->quota_ns != SCHED_QUOTA_NONE && rq->online;
	taken = q->limited ? take_back(pool, had) : 0;
	q->remaining = 0;
	if (pool->period.rq == rq) {
		pool->period.at = next_period(pool, rq->clock);
		find_next_timer(rq);
		poke(rq); /* it sets its timer */
	}
	trace_quota(q, QUOTA_restart, GRANT_limits_change, had, taken);
	host_unlock(&pool->lock);
	if (q->throttled)
		unthrottle(q, GRANT_limits_change);
	rq_unlock(rq);
}

int task_group_set_bandwidth(struct sched *s, struct task_group *tg, u64 quota_ns, u64 period_ns,
			     u64 burst_ns, bool nested)
{
	struct bandwidth *pool = tg ? &tg->bandwidth : NULL;
	u64 before;

	if (!tg || !bandwidth_may_be(s, tg, quota_ns, period_ns, burst_ns, nested))
		return -EINVAL;
	/* A burst that outlives its quota would make a later, smaller quota invalid. */
	if (quota_ns == SCHED_QUOTA_NONE && pool->quota_ns != SCHED_QUOTA_NONE)
		burst_ns = 0;
	host_lock(&pool->lock);
	before = pool->runtime_ns;
	pool->quota_ns = quota_ns;
	pool->period_ns = period_ns;
	pool->burst_ns = burst_ns;
	pool->snapshot_ns = pool->owed_ns = 0;
	if (quota_ns == SCHED_QUOTA_NONE)
		pool->runtime_ns = 0;
	else
		refill(pool, 1);
	trace_pool(pool, cpu_rq(s, 0), QUOTA_limit, GRANT_limits_change, before,
		   quota_ns != SCHED_QUOTA_NONE);
	host_unlock(&pool->lock);
	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++)
		restart(&tg->cpu[cpu].queue);
	return 0;
}

/* --- CPUs that come and go ------------------------------------------------- */

/* The pool gets what @q has left, or takes over what it owes. */
static void settle_with_pool(struct fair_queue *q)
{
	struct bandwidth *pool = pool_of(q);
	u64 had, taken;

	host_lock(&pool->lock);
	merge_debt(q);
	had = (u64)max(q->remaining, 0ll);
	taken = take_back(pool, had);
	pool->owed_ns += had ? 0 : (u64)-q->remaining;
	pay_owed(pool);
	q->remaining = 1;
	q->limited = false;
	trace_quota(q, QUOTA_settle, GRANT_cpu_leaves, had, taken);
	host_unlock(&pool->lock);
}

void bandwidth_offline(struct rq *rq)
{
	struct fair_queue *q, *next;

	debug_assert_locked(rq);
	list_for_each(q, &rq->queues, link)
		if (q->limited)
			settle_with_pool(q);
	list_for_each_safe(q, next, &rq->bandwidth.throttled, throttled_link)
		unthrottle(q, GRANT_cpu_leaves);
}

void bandwidth_online(struct rq *rq)
{
	struct fair_queue *q;

	list_for_each(q, &rq->queues, link) {
		struct bandwidth *pool = pool_of(q);

		host_lock(&pool->lock);
		q->limited = pool->quota_ns != SCHED_QUOTA_NONE;
		q->remaining = 0;
		trace_quota(q, QUOTA_restart, GRANT_cpu_returns, 0, 0);
		host_unlock(&pool->lock);
	}
}

void bandwidth_move_timers(struct rq *from, struct rq *to)
{
	SCHED_DEBUG_ASSERT(!host_lock_held(&from->lock));
	while (!list_empty(&from->bandwidth.timers)) {
		struct bandwidth_timer *timer =
			list_first(&from->bandwidth.timers, struct bandwidth_timer, link);

		rq_lock(from);
		host_lock(&timer->pool->lock);
		stop_timer(timer);
		host_unlock(&timer->pool->lock);
		rq_unlock(from);
		rq_lock(to);
		host_lock(&timer->pool->lock);
		start_timer(to, timer, timer->at);
		host_unlock(&timer->pool->lock);
		poke(to); /* it sets its timer */
		rq_unlock(to);
	}
}

void bandwidth_exit(struct fair_queue *q)
{
	struct bandwidth *pool = pool_of(q);

	host_lock(&pool->lock);
	merge_debt(q);
	if (pool->period.rq == q->rq)
		stop_timer(&pool->period);
	if (pool->slack.rq == q->rq)
		stop_timer(&pool->slack);
	host_unlock(&pool->lock);
	if (q->throttled)
		list_del(&q->throttled_link);
}

static void copy_stat(const struct bandwidth *pool, struct task_group_stat *out)
{
	assert_locked(pool);
	out->nr_periods = pool->nr_periods;
	out->nr_throttled = pool->nr_throttled;
	out->throttled_ns = pool->throttled_ns;
	out->nr_bursts = pool->nr_bursts;
	out->burst_ns = pool->burst_used_ns;
}

void bandwidth_stat(struct bandwidth *pool, struct task_group_stat *out)
{
	host_lock(&pool->lock);
	copy_stat(pool, out);
	host_unlock(&pool->lock);
}

void bandwidth_check(struct fair_queue *q)
{
	struct bandwidth *pool = pool_of(q);

	host_lock(&pool->lock);
	SCHED_CHECK(B1, pool->quota_ns == SCHED_QUOTA_NONE || pool->runtime_ns <= most_ns(pool));
	host_unlock(&pool->lock);
}
