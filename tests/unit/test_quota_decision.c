/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of decisions about quotas (sched/observe/decision.def): each movement of runtime between
 * pool and queues, in its order, with the rule and the numbers afterwards; and only while the
 * events are on.
 */
#include "group.h"

#define queue_record event_sched_decision_quota
#define pool_record  event_sched_decision_pool

static int limit(struct machine *m, struct task_group *tg, u64 quota_ms, u64 period_ms,
		 u64 burst_ms)
{
	return task_group_set_bandwidth(m->s, tg, quota_ms * MS, period_ms * MS, burst_ms * MS,
					true);
}

/* At the beginning of a period, with the records of @tg on and none made yet. */
static void begin(struct machine *m, struct task_group *tg, u64 period_ms)
{
	while (m->now % (period_ms * MS))
		run_ticks(m, 1);
	task_group_set_name(tg, "web");
	sched_trace_set(m->s, QUOTA_DECISION_EVENTS);
	m->nr_trace = 0;
}

static unsigned read_from; /* the record that next() returns */

static const void *next(struct machine *m, unsigned type)
{
	assert_true(read_from < m->nr_trace);
	assert_int_equal(m->trace[read_from].common.type, type);
	return m->trace[read_from++].bytes;
}

/* The next record is about the queue of @cpu. Amounts in ms. */
static const struct queue_record *expect(struct machine *m, enum quota_act act,
					 enum quota_rule rule, unsigned cpu, u64 asked, u64 got,
					 u64 pool)
{
	const struct queue_record *d = next(m, EVENT_ID_sched_decision_quota);

	assert_int_equal(d->act, act);
	assert_int_equal(d->rule, rule);
	assert_int_equal(d->cpu, cpu);
	assert_int_equal(d->asked / MS, asked);
	assert_int_equal(d->got / MS, got);
	assert_int_equal(d->pool / MS, pool);
	assert_int_equal(d->group, 1);
	assert_string_equal(d->comm, "web");
	assert_int_equal(d->slice, 5 * MS);
	assert_int_equal(d->owed, 0);
	return d;
}

static const struct pool_record *expect_pool(struct machine *m, enum quota_act act,
					     enum quota_rule rule, u64 before, u64 kept)
{
	const struct pool_record *d = next(m, EVENT_ID_sched_decision_pool);

	assert_int_equal(d->act, act);
	assert_int_equal(d->rule, rule);
	assert_int_equal(d->before / MS, before);
	assert_int_equal(d->kept / MS, kept);
	return d;
}

static void expect_limit(struct machine *m, u64 before, u64 kept)
{
	const struct pool_record *d =
		expect_pool(m, QUOTA_limit, GRANT_limits_change, before, kept);

	assert_int_equal(d->periods, 1);
	for (unsigned cpu = 0; cpu < m->nr_cpus; cpu++) {
		const struct queue_record *r = next(m, EVENT_ID_sched_decision_quota);

		assert_int_equal(r->act, QUOTA_restart);
		assert_int_equal(r->cpu, cpu);
		assert_int_equal(r->remaining, 0);
	}
}

/* Quota 12 of 50, a hog on CPU 0, a task of 1 ms on CPU 1: the hog is throttled at 10 ms. */
static void a_period_is_told_from_limit_to_refill(void **state)
{
	struct machine *m = machine_new(2, 1000);
	struct task_group *tg = new_group(m, NULL);
	struct task *hog = member_asleep_on(m, tg, 0), *brief = member_asleep_on(m, tg, 1);
	const struct queue_record *d;
	const struct pool_record *p;

	(void)state;
	read_from = 0;
	begin(m, tg, 50);
	assert_int_equal(limit(m, tg, 12, 50, 0), 0);
	expect_limit(m, 0, 12);
	wake(m, hog, 0);
	wake(m, brief, 1);
	expect(m, QUOTA_fetch, GRANT_covered, 0, 5, 5, 7);
	expect(m, QUOTA_fetch, GRANT_covered, 1, 5, 5, 2);
	run_ticks(m, 1);
	block(m, 1, TASK_INTERRUPTIBLE);
	d = expect(m, QUOTA_give_back, GRANT_emptied, 1, 3, 3, 5);
	assert_int_equal(d->remaining, MS);
	assert_int_equal(d->slack_at, 0);
	run_ticks(m, 9);
	expect(m, QUOTA_fetch, GRANT_covered, 0, 5, 5, 0);
	expect(m, QUOTA_fetch, GRANT_pool_empty, 0, 5, 0, 0);
	d = expect(m, QUOTA_fetch, GRANT_pool_empty, 0, 0, 0, 0);
	assert_int_equal(d->asked, 1);
	d = expect(m, QUOTA_throttle, GRANT_pool_empty, 0, 0, 0, 0);
	assert_int_equal(d->debt, 1);
	assert_int_equal(d->nr_waiting, 1);
	run_ticks(m, 40);
	p = expect_pool(m, QUOTA_refill, GRANT_period_over, 0, 12);
	assert_int_equal(p->nr_waiting, 1);
	assert_int_equal(p->nr_periods, 1);
	assert_int_equal(p->nr_throttled, 1);
	assert_int_equal(p->quota, 12 * MS);
	assert_int_equal(p->period, 50 * MS);
	d = expect(m, QUOTA_pay, GRANT_covered, 0, 0, 0, 11);
	assert_int_equal(d->got, 1);
	assert_int_equal(d->debt, 0);
	d = expect(m, QUOTA_unthrottle, GRANT_paid, 0, 0, 40, 11);
	assert_int_equal(d->remaining, 1);
	assert_int_equal(read_from, m->nr_trace);
	machine_free(m);
}

/* Quota 12, burst 3: what is kept, what is used of it, and what a full pool does not take. */
static void bursts_and_full_pools_are_told(void **state)
{
	struct machine *m = machine_new(2, 1000);
	struct task_group *tg = new_group(m, NULL);
	struct task *brief = member_asleep_on(m, tg, 1), *hog = member_asleep_on(m, tg, 0);
	const struct pool_record *p;

	(void)state;
	read_from = 0;
	begin(m, tg, 50);
	assert_int_equal(limit(m, tg, 12, 50, 3), 0);
	expect_limit(m, 0, 12);
	run_ticks(m, 49);
	wake(m, brief, 1);
	expect(m, QUOTA_fetch, GRANT_covered, 1, 5, 5, 7);
	run_ticks(m, 1);
	p = expect_pool(m, QUOTA_refill, GRANT_period_over, 7, 15);
	assert_int_equal(p->nr_bursts, 0);
	block(m, 1, TASK_INTERRUPTIBLE);
	expect(m, QUOTA_give_back, GRANT_pool_full, 1, 3, 0, 15);
	wake(m, hog, 0);
	run_ticks(m, 14);
	expect(m, QUOTA_fetch, GRANT_covered, 0, 5, 5, 10);
	expect(m, QUOTA_fetch, GRANT_covered, 0, 5, 5, 5);
	expect(m, QUOTA_fetch, GRANT_covered, 0, 5, 5, 0);
	block(m, 0, TASK_INTERRUPTIBLE);
	run_ticks(m, 36);
	p = expect_pool(m, QUOTA_refill, GRANT_period_over, 0, 12);
	assert_int_equal(p->nr_bursts, 1);
	assert_int_equal(p->burst_time, 3 * MS);
	assert_int_equal(p->burst, 3 * MS);
	run_ticks(m, 50);
	p = expect_pool(m, QUOTA_refill, GRANT_nothing_used, 12, 15);
	assert_int_equal(p->nr_periods, 3);
	run_ticks(m, 100);
	assert_int_equal(read_from, m->nr_trace);
	machine_free(m);
}

#define OTHERS 4 /* members of the group that have a CPU each beside the hog's */

/* The hog of @tg is throttled at 10 ms; the others have begun to run on a slice each. */
static void throttle_hog(struct machine *m, struct task_group *tg)
{
	struct task *hog = member_asleep_on(m, tg, 0), *others[OTHERS];

	for (unsigned i = 0; i < OTHERS; i++)
		others[i] = member_asleep_on(m, tg, 1 + i);
	begin(m, tg, 100);
	assert_int_equal(limit(m, tg, 30, 100, 0), 0);
	wake(m, hog, 0);
	run_ticks(m, 9);
	for (unsigned i = 0; i < OTHERS; i++)
		wake(m, others[i], 1 + i);
	run_ticks(m, 1);
}

/* The hog is throttled at 10 ms; then four others return nearly all of a slice. */
static void slack_is_told(void **state)
{
	struct machine *m = machine_new(1 + OTHERS, 1000);
	struct task_group *tg = new_group(m, NULL);
	const struct queue_record *d;

	(void)state;
	throttle_hog(m, tg);
	m->nr_trace = read_from = 0;
	for (unsigned i = 0; i < OTHERS; i++)
		block(m, 1 + i, TASK_INTERRUPTIBLE);
	for (unsigned i = 0; i < OTHERS; i++) {
		d = expect(m, QUOTA_give_back, GRANT_emptied, 1 + i, 3, 3, 3 * (i + 1));
		assert_int_equal(d->slack_at, i < 1 ? 0 : m->now + 5 * MS);
	}
	run_ticks(m, 6);
	expect_pool(m, QUOTA_slack, GRANT_shared_out, 12, 12);
	expect(m, QUOTA_pay, GRANT_covered, 0, 0, 0, 11);
	expect(m, QUOTA_unthrottle, GRANT_paid, 0, 0, 5, 11);
	machine_free(m);
}

/* When slack is shared out is said by who gives it, and by nobody who takes some meanwhile. */
static void only_a_giver_says_when_slack_is_shared_out(void **state)
{
	struct machine *m = machine_new(1 + OTHERS, 1000);
	struct task_group *tg = new_group(m, NULL);
	struct task *back;
	const struct queue_record *d;

	(void)state;
	throttle_hog(m, tg);
	back = running(m, 1);
	for (unsigned i = 0; i < OTHERS; i++)
		block(m, 1 + i, TASK_INTERRUPTIBLE);
	assert_non_null(tg->bandwidth.slack.rq);
	wake(m, back, 1);
	m->nr_trace = read_from = 0;
	run_ticks(m, 2);
	assert_non_null(tg->bandwidth.slack.rq);
	d = expect(m, QUOTA_fetch, GRANT_covered, 1, 5, 5, 7);
	assert_int_equal(d->slack_at, 0);
	machine_free(m);
}

/* One slice in the pool is too little to be shared out, and of an empty pool nobody is paid. */
static void slack_of_one_slice_is_not_shared_out(void **state)
{
	struct machine *m = machine_new(1 + OTHERS, 1000);
	struct task_group *tg = new_group(m, NULL);

	(void)state;
	throttle_hog(m, tg);
	for (unsigned i = 0; i < OTHERS; i++)
		block(m, 1 + i, TASK_INTERRUPTIBLE);
	tg->bandwidth.runtime_ns = 5 * MS;
	m->nr_trace = read_from = 0;
	run_ticks(m, 6);
	expect_pool(m, QUOTA_slack, GRANT_too_little, 5, 5);
	assert_int_equal(m->nr_trace, 1);
	machine_free(m);
}

/* A refill that goes to debts of CPUs that left leaves none for queues: no payment is told. */
static void an_empty_pool_pays_nobody(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task_group *tg = new_group(m, NULL);

	(void)state;
	spawn_in(m, tg, 0);
	begin(m, tg, 50);
	assert_int_equal(limit(m, tg, 5, 50, 0), 0);
	settle(m);
	run_ticks(m, 10);
	assert_true(group_queue(m->s, tg, 0)->throttled);
	tg->bandwidth.owed_ns = 5 * MS;
	m->nr_trace = 0;
	run_ticks(m, 41);
	assert_int_equal(tg->bandwidth.owed_ns, 0);
	assert_int_equal(tg->bandwidth.runtime_ns, 0);
	for (unsigned i = 0; i < m->nr_trace; i++)
		if (m->trace[i].common.type == EVENT_ID_sched_decision_quota)
			assert_int_not_equal(((const struct queue_record *)m->trace[i].bytes)->act,
					     QUOTA_pay);
	machine_free(m);
}

/*
 * A CPU left with a debt of a billion quotas, all but 3 ms, and the timer comes a billion periods
 * late: the debt is paid, and 3 ms are left; one period before, all goes to the debt. A loop over
 * the periods would not end within the test's time.
 */
static void a_debt_of_years_is_paid_in_one_step(void **state)
{
	const u64 billion = 1000000000;

	(void)state;
	for (u64 late = billion - 1; late <= billion + 2; late++) {
		struct machine *m = machine_new(1, 1000);
		struct task_group *tg = new_group(m, NULL);
		u64 left = late < billion ? 0 : min(3 + 5 * (late - billion), 7ull);

		spawn_in(m, tg, 0);
		begin(m, tg, 50);
		assert_int_equal(limit(m, tg, 5, 50, 2), 0);
		advance(m, 1); /* it needs runtime: periods begin */
		block(m, 0, TASK_INTERRUPTIBLE);
		tg->bandwidth.owed_ns = billion * 5 * MS - 3 * MS;
		tg->bandwidth.runtime_ns = tg->bandwidth.snapshot_ns = 0;
		tg->bandwidth.idle = false;
		m->now = tg->bandwidth.period.at + (late - 1) * 50 * MS;
		tick(m);
		assert_int_equal(tg->bandwidth.runtime_ns, left * MS);
		assert_int_equal(tg->bandwidth.snapshot_ns, left * MS);
		assert_int_equal(tg->bandwidth.owed_ns, late < billion ? 2 * MS : 0);
		assert_int_equal(tg->bandwidth.nr_bursts, 0);
		machine_free(m);
	}
}

/*
 * A pool of 7 ms is full after two refills of 5, so a timer that comes 2^36 periods late has no
 * more to do: a loop over the periods would not end within the test's time. A debt of 3 ms is paid
 * after the cut, from a pool that holds no more than quota and burst.
 */
static void a_full_pool_stays_full_for_years(void **state)
{
	static const u64 late[] = { 1, 2, 1ull << 36 };

	(void)state;
	for (unsigned i = 0; i < 2 * ARRAY_SIZE(late); i++) {
		struct machine *m = machine_new(1, 1000);
		struct task_group *tg = new_group(m, NULL);
		u64 nr = late[i / 2], owed = i % 2 * 3;

		spawn_in(m, tg, 0);
		begin(m, tg, 50);
		assert_int_equal(limit(m, tg, 5, 50, 2), 0);
		advance(m, 1); /* it needs runtime: periods begin */
		block(m, 0, TASK_INTERRUPTIBLE);
		tg->bandwidth.owed_ns = owed * MS;
		tg->bandwidth.runtime_ns = tg->bandwidth.snapshot_ns = 7 * MS;
		tg->bandwidth.idle = false;
		m->now = tg->bandwidth.period.at + (nr - 1) * 50 * MS;
		tick(m);
		assert_int_equal(tg->bandwidth.runtime_ns, (nr > 1 ? 7 : 7 - owed) * MS);
		assert_int_equal(tg->bandwidth.owed_ns, 0);
		machine_free(m);
	}
}

static void nothing_is_told_while_the_events_are_off(void **state)
{
	struct machine *m = machine_new(2, 1000);
	struct task_group *tg = new_group(m, NULL);

	(void)state;
	spawn_in(m, tg, 0);
	sched_trace_set(m->s, 0);
	m->nr_trace = 0;
	assert_int_equal(limit(m, tg, 5, 50, 5), 0);
	run_ticks(m, 300);
	assert_int_equal(m->nr_trace, 0);
	machine_free(m);
}

/* As on Linux, what ran since the last charge is charged to a limit that comes: 4 ms of its 5. */
static void a_new_limit_pays_for_what_is_not_charged_yet(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task_group *tg = new_group(m, NULL);
	struct fair_queue *q = group_queue(m->s, tg, 0);

	(void)state;
	spawn_in(m, tg, 0);
	for (unsigned n = 0; n < 3; n++) {
		m->now += 3 * MS;
		assert_int_equal(limit(m, tg, 5, 1000, 0), 0);
		settle(m);
		m->now += MS;
		switch_cpu(m, 0, true);
		assert_int_equal((s64)tg->bandwidth.runtime_ns + q->remaining, 1 * MS);
	}
	machine_free(m);
}

/* The pool is full by the new quota; before the queue of CPU 1 begins anew, a tick comes there. */
static void tick_of_cpu_1(struct machine *m)
{
	m->now += MS;
	sched_tick(m->s, 1);
}

/* A slice that a CPU fetched of a new quota before its queue begins anew is in the pool again. */
static void a_slice_fetched_in_between_is_not_lost(void **state)
{
	struct machine *m = machine_new(2, 1000);
	struct task_group *tg = new_group(m, NULL);
	struct task *hog = member_asleep_on(m, tg, 1);

	(void)state;
	begin(m, tg, 50);
	assert_int_equal(limit(m, tg, 5, 50, 0), 0);
	wake(m, hog, 1);
	run_ticks(m, 4);
	assert_int_equal(tg->bandwidth.runtime_ns, 0);
	m->on_unlocked = tick_of_cpu_1;
	assert_int_equal(limit(m, tg, 12, 50, 0), 0);
	assert_null(m->on_unlocked);
	assert_int_equal(tg->bandwidth.runtime_ns, 12 * MS);
	machine_free(m);
}

/* Its last member leaves a throttled group, which ends: its CPU has forgotten it, and can leave. */
static void a_group_that_ends_throttled_leaves_nothing(void **state)
{
	struct machine *m = machine_new(2, 1000);
	struct rq *rq = &m->s->rq[0];

	(void)state;
	for (unsigned n = 0; n < 3; n++) {
		struct task_group *tg = new_group(m, NULL);
		struct task *t = member_asleep_on(m, tg, 0);

		assert_int_equal(limit(m, tg, 5, 50, 0), 0);
		wake(m, t, 0);
		while (!group_queue(m->s, tg, 0)->throttled)
			run_ticks(m, 1);
		assert_false(list_empty(&rq->bandwidth.throttled));
		task_group_move(m->s, t, NULL);
		settle(m);
		assert_true(group_queue(m->s, tg, 0)->throttled);
		end_group(m, tg);
		assert_true(list_empty(&rq->bandwidth.throttled));
		assert_true(list_empty(&rq->bandwidth.timers));
		run_ticks(m, 60);
	}
	assert_int_equal(sched_cpu_offline(m->s, 0), 0);
	settle(m);
	sched_check(m->s);
	machine_free(m);
}

/* --- at the border, and with another CPU in between --------------------------------------- */

/* Runtime that another CPU returned in this moment would pay nobody. */
static void nobody_was_refused(struct machine *m, const struct host_lock *lock)
{
	const struct recorded *last = &m->trace[(m->nr_trace - 1) % MAX_TRACE];
	const struct queue_record *r = (const void *)last->bytes;

	(void)lock;
	if (m->nr_trace && last->common.type == EVENT_ID_sched_decision_quota &&
	    r->act == QUOTA_fetch && !r->got && r->remaining + (s64)r->asked == 1)
		fail_msg("a queue that asked for 1 ns and got nothing is not on pool->throttled "
			 "when the pool's lock is released");
}

static void who_is_refused_is_on_the_list_before_the_lock_is_free(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task_group *tg = new_group(m, NULL);

	(void)state;
	spawn_in(m, tg, 0);
	sched_trace_set(m->s, QUOTA_DECISION_EVENTS);
	assert_int_equal(task_group_set_bandwidth(m->s, tg, 20 * MS, 50 * MS, 0, true), 0);
	settle(m);
	m->on_unlock = nobody_was_refused;
	run_ticks(m, 120);
	assert_true(tg->cpu[0].queue.throttled);
	machine_free(m);
}

/*
 * Returns whether slack is shared out of a pool of @pool_ns while another queue is throttled, and
 * the refill is @refill_ns away.
 */
static bool shares(u64 pool_ns, u64 refill_ns)
{
	struct machine *m = machine_new(2, 1000);
	struct task_group *tg = new_group(m, NULL);
	struct fair_queue *q = &tg->cpu[0].queue, *debtor = &tg->cpu[1].queue;
	struct bandwidth *pool = &tg->bandwidth;
	bool shared;

	assert_int_equal(task_group_set_bandwidth(m->s, tg, 100 * MS, 1000 * MS, 0, true), 0);
	rq_lock(q->rq);
	list_add_tail(&pool->throttled, &debtor->debtor_link);
	debtor->debt = 1;
	pool->runtime_ns = 0;
	pool->period.at = q->rq->clock + refill_ns;
	q->remaining = (s64)(MS + pool_ns);
	bandwidth_return(q);
	rq_unlock(q->rq);
	assert_int_equal(pool->runtime_ns, pool_ns);
	shared = pool->slack.rq != NULL;
	machine_free(m);
	return shared;
}

static void a_pool_of_one_slice_is_not_shared_out(void **state)
{
	(void)state;
	if (shares(5 * MS, 1000 * MS))
		fail_msg("the slack's timer runs for a pool of 5 ms, which is not more than a "
			 "slice");
	if (!shares(5 * MS + 1, 1000 * MS))
		fail_msg("the slack's timer does not run for a pool of 1 ns more than a slice");
	if (shares(11 * MS, 7 * MS))
		fail_msg("the slack's timer runs 7 ms before the refill, which is not further away "
			 "than SLACK_DELAY_NS + SLACK_MARGIN_NS");
	if (!shares(11 * MS, 7 * MS + 1))
		fail_msg("the slack's timer does not run 7 ms and 1 ns before the refill");
}

static bool idles_after_a_charge(u64 pool_ns)
{
	struct machine *m = machine_new(1, 1000);
	struct task_group *tg = new_group(m, NULL);
	struct fair_queue *q = &tg->cpu[0].queue;
	bool idle;

	assert_int_equal(task_group_set_bandwidth(m->s, tg, 100 * MS, 1000 * MS, 0, true), 0);
	rq_lock(q->rq);
	tg->bandwidth.runtime_ns = pool_ns;
	tg->bandwidth.idle = true;
	q->remaining = 0;
	bandwidth_charge(q, MS);
	rq_unlock(q->rq);
	idle = tg->bandwidth.idle;
	if (!tg->bandwidth.period.rq)
		fail_msg("pool->period.rq is NULL after a fetch from a pool of %lu ns: nobody "
			 "serves the "
			 "period's timer, which every fetch starts",
			 pool_ns);
	machine_free(m);
	return idle;
}

static void a_fetch_that_moves_nothing_leaves_the_pool_idle(void **state)
{
	(void)state;
	if (!idles_after_a_charge(0))
		fail_msg("pool->idle is false after a fetch from an empty pool, which moved "
			 "nothing");
	if (idles_after_a_charge(1))
		fail_msg("pool->idle is true after a fetch that moved 1 ns");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_refused_is_on_the_list_before_the_lock_is_free),
		cmocka_unit_test(a_pool_of_one_slice_is_not_shared_out),
		cmocka_unit_test(a_fetch_that_moves_nothing_leaves_the_pool_idle),
		cmocka_unit_test(a_period_is_told_from_limit_to_refill),
		cmocka_unit_test(bursts_and_full_pools_are_told),
		cmocka_unit_test(slack_is_told),
		cmocka_unit_test(slack_of_one_slice_is_not_shared_out),
		cmocka_unit_test(an_empty_pool_pays_nobody),
		cmocka_unit_test(a_debt_of_years_is_paid_in_one_step),
		cmocka_unit_test(a_full_pool_stays_full_for_years),
		cmocka_unit_test(nothing_is_told_while_the_events_are_off),
		cmocka_unit_test(a_new_limit_pays_for_what_is_not_charged_yet),
		cmocka_unit_test(a_slice_fetched_in_between_is_not_lost),
		cmocka_unit_test(only_a_giver_says_when_slack_is_shared_out),
		cmocka_unit_test(a_group_that_ends_throttled_leaves_nothing),
	};

	return cmocka_run_group_tests_name("quota decisions", tests, NULL, NULL);
}
