/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bandwidth of task groups: quota, period, burst, throttling and slack. The accountant of
 * tests/oracle/ keeps books of every machine here.
 */
#include "sched/fair/core/pelt.h"
#include "lib/errno.h"
#include "judged.h"
#include "lib/prng.h"

static struct task_group_stat stat_of(struct machine *m, struct task_group *tg)
{
	struct task_group_stat stat;

	task_group_stat(m->s, tg, &stat);
	return stat;
}

static int limit(struct machine *m, struct task_group *tg, u64 quota_ms, u64 period_ms,
		 u64 burst_ms)
{
	int status = task_group_set_bandwidth(m->s, tg, quota_ms * MS, period_ms * MS,
					      burst_ms * MS, true);

	if (!status)
		judge_limits(m->s, tg, quota_ms * MS, period_ms * MS, burst_ms * MS);
	return status;
}

/* One hog with 20 of 50 ms runs for 10 s: it is throttled in each of 200 periods, for 30 ms. */
static void a_hog_gets_its_quota_of_each_period(void **state)
{
	struct machine *m = judged_machine(1, 1000);
	struct task_group *tg = judged_group(m, NULL);
	struct task_group_stat stat;

	(void)state;
	spawn_in(m, tg, 0);
	assert_int_equal(limit(m, tg, 20, 50, 0), 0);
	settle(m);
	judged_ticks(m, 10000);
	stat = stat_of(m, tg);
	assert_in_range(stat.nr_periods, 199, 200);
	assert_in_range(stat.nr_throttled, 198, 200);
	assert_in_range(stat.throttled_ns, 5930 * MS, 6030 * MS);
	assert_in_range(stat.usage_ns, 3980 * MS, 4030 * MS);
	assert_int_equal(stat.nr_bursts, 0);
	machine_free(m);
}

/*
 * Four hogs on four CPUs share 20 ms in each 50 ms: each runs for 5 ms and is throttled for 45.
 */
static void the_quota_is_for_all_cpus_together(void **state)
{
	struct machine *m = judged_machine(4, 1000);
	struct task_group *tg = judged_group(m, NULL);
	struct task_group_stat stat;

	(void)state;
	for (unsigned cpu = 0; cpu < 4; cpu++) {
		struct cpumask mask = cpumask_of(cpu);

		sched_set_affinity(m->s, spawn_in(m, tg, 0), &mask);
	}
	settle(m);
	assert_int_equal(limit(m, tg, 20, 50, 0), 0);
	settle(m);
	judged_ticks(m, 10000);
	stat = stat_of(m, tg);
	assert_in_range(stat.usage_ns, 3950 * MS, 4100 * MS);
	assert_in_range(stat.throttled_ns, 35500 * MS, 36500 * MS);
	machine_free(m);
}

/* Lets the running task of CPU 0 run for @ms and sleep to the end of the period of 1 s. */
static void consume(struct machine *m, struct task *t, unsigned ms)
{
	if (!ms) {
		judged_ticks(m, 1000);
		return;
	}
	wake(m, t, 0);
	judged_ticks(m, ms);
	block(m, 0, TASK_INTERRUPTIBLE);
	judged_ticks(m, 1000 - ms);
}

/* Quota 100, burst 100: saved time may be used later, and is counted when it is used. */
static void what_is_saved_up_to_the_burst_may_be_used_later(void **state)
{
	struct machine *m = judged_machine(1, 1000);
	struct task_group *tg = judged_group(m, NULL);
	struct task *t = spawn_in(m, tg, 0);
	struct task_group_stat stat;

	(void)state;
	assert_int_equal(limit(m, tg, 100, 1000, 100), 0);
	settle(m);
	block(m, 0, TASK_INTERRUPTIBLE);
	consume(m, t, 40);
	consume(m, t, 30);
	assert_int_equal(stat_of(m, tg).nr_bursts, 0);
	consume(m, t, 180);
	stat = stat_of(m, tg);
	assert_int_equal(stat.nr_throttled, 0);
	assert_int_equal(stat.nr_bursts, 1);
	assert_in_range(stat.burst_ns, 79 * MS, 81 * MS);
	consume(m, t, 120);
	stat = stat_of(m, tg);
	assert_int_equal(stat.nr_throttled, 0);
	assert_int_equal(stat.nr_bursts, 2);
	assert_in_range(stat.burst_ns, 99 * MS, 101 * MS);
	machine_free(m);
}

/* --- timelines, to the millisecond -------------------------------------------------------- */

/* Advances to the beginning of a period. */
static void begin_period(struct machine *m, u64 period_ms)
{
	while (m->now % (period_ms * MS))
		judged_ticks(m, 1);
}

static s64 local_ms(struct task_group *tg, unsigned cpu)
{
	return tg->cpu[cpu].queue.remaining / (s64)MS;
}

static u64 pool_ms(struct task_group *tg)
{
	return tg->bandwidth.runtime_ns / MS;
}

/*
 * Quota 12 of 50: two CPUs fetch slices of 5 ms; one returns all but 1 ms, the other uses the rest.
 */
static void slices_come_from_the_pool_and_go_back(void **state)
{
	struct machine *m = judged_machine(2, 1000);
	struct task_group *tg = judged_group(m, NULL);
	struct task *hog = member_asleep_on(m, tg, 0), *brief = member_asleep_on(m, tg, 1);

	(void)state;
	begin_period(m, 50);
	assert_int_equal(limit(m, tg, 12, 50, 0), 0);
	wake(m, hog, 0);
	wake(m, brief, 1);
	assert_int_equal(pool_ms(tg), 2);
	assert_int_equal(local_ms(tg, 0), 5);
	assert_int_equal(local_ms(tg, 1), 5);
	judged_ticks(m, 1);
	block(m, 1, TASK_INTERRUPTIBLE);
	assert_int_equal(pool_ms(tg), 5);
	assert_int_equal(local_ms(tg, 0), 4);
	assert_int_equal(local_ms(tg, 1), 1);
	judged_ticks(m, 4);
	assert_int_equal(pool_ms(tg), 0);
	assert_int_equal(local_ms(tg, 0), 5);
	judged_ticks(m, 5);
	assert_ptr_not_equal(running(m, 0), hog);
	assert_in_range(local_ms(tg, 0) + 1, 0, 1);
	judged_ticks(m, 39);
	assert_ptr_not_equal(running(m, 0), hog);
	judged_ticks(m, 1);
	assert_task(running(m, 0), hog);
	judged_ticks(m, 1);
	assert_in_range(pool_ms(tg), 5, 7);
	/*
	 * The time that CPU 1 kept is still valid: it does not ask the pool for its next
	 * millisecond.
	 */
	assert_int_equal(local_ms(tg, 1), 1);
	machine_free(m);
}

/*
 * Time fetched by CPU 1 just before a refill and returned after it must not exceed the full pool.
 */
static void a_full_pool_takes_nothing_back(void **state)
{
	struct machine *m = judged_machine(2, 1000);
	struct task_group *tg = judged_group(m, NULL);
	struct task *brief = member_asleep_on(m, tg, 1);

	(void)state;
	begin_period(m, 50);
	assert_int_equal(limit(m, tg, 12, 50, 3), 0);
	judged_ticks(m, 49);
	wake(m, brief, 1);
	assert_int_equal(pool_ms(tg), 7);
	judged_ticks(m, 1);
	assert_int_equal(pool_ms(tg), 15);
	block(m, 1, TASK_INTERRUPTIBLE);
	assert_int_equal(pool_ms(tg), 15);
	assert_int_equal(local_ms(tg, 1), 1);
	/* If the pool has room, it takes the time back. */
	wake(m, brief, 1);
	judged_ticks(m, 2);
	assert_int_equal(pool_ms(tg), 10);
	block(m, 1, TASK_INTERRUPTIBLE);
	assert_int_equal(pool_ms(tg), 13);
	machine_free(m);
}

/*
 * With a tick of 4 ms, a task that has 1 ms left runs 3 ms too long and gets 3 ms less next time.
 */
static void what_a_late_tick_overran_is_repaid(void **state)
{
	enum { PERIODS = 40 };
	struct machine *m = judged_machine(1, 250);
	struct task_group *tg = judged_group(m, NULL);
	struct task *hog = member_asleep_on(m, tg, 0);

	(void)state;
	begin_period(m, 100);
	assert_int_equal(limit(m, tg, 5, 100, 0), 0);
	wake(m, hog, 0);
	judged_ticks(m, 25);
	assert_int_equal(stat_of(m, tg).usage_ns, 8 * MS);
	for (unsigned period = 2; period <= PERIODS; period++) {
		judged_ticks(m, 25);
		assert_true(stat_of(m, tg).usage_ns < (5 * period + 4) * MS);
	}
	assert_true(stat_of(m, tg).usage_ns >= 5 * PERIODS * MS);
	machine_free(m);
}

/*
 * The hog of CPU 0 is throttled at 10 ms; then four others take a slice each and return nearly all
 * of it. Returns the time in ms after which the hog runs again.
 */
static unsigned throttled_for(u64 period_ms)
{
	enum { OTHERS = 4 };
	struct machine *m = judged_machine(1 + OTHERS, 1000);
	struct task_group *tg = judged_group(m, NULL);
	struct task *hog = member_asleep_on(m, tg, 0), *others[OTHERS];
	unsigned ms = 0;

	for (unsigned i = 0; i < OTHERS; i++)
		others[i] = member_asleep_on(m, tg, 1 + i);
	begin_period(m, period_ms);
	assert_int_equal(limit(m, tg, 30, period_ms, 0), 0);
	wake(m, hog, 0);
	judged_ticks(m, 9);
	for (unsigned i = 0; i < OTHERS; i++)
		wake(m, others[i], 1 + i);
	judged_ticks(m, 1);
	assert_ptr_not_equal(running(m, 0), hog);
	for (unsigned i = 0; i < OTHERS; i++)
		block(m, 1 + i, TASK_INTERRUPTIBLE);
	while (running(m, 0) != hog) {
		judged_ticks(m, 1);
		ms++;
	}
	machine_free(m);
	return ms;
}

static void returned_slack_is_given_out_unless_a_refill_is_near(void **state)
{
	(void)state;
	assert_in_range(throttled_for(100), 5, 7);
	/* by the refill: slack would come only 1 ms earlier */
	assert_int_equal(throttled_for(16), 6);
}

/* After throttling a hidden task has the weight it had before, even below two limits. */
static void averages_stand_still_while_throttled(void **state)
{
	struct machine *m = judged_machine(1, 1000);
	struct task_group *outer = judged_group(m, NULL), *inner = judged_group(m, outer);
	struct fair_queue *q = group_queue(m->s, inner, 0);
	struct task *t = member_asleep_on(m, inner, 0);
	struct task_group_stat stat;
	struct pelt before, of_task;

	(void)state;
	wake(m, t, 0);
	judged_ticks(m, 345);
	begin_period(m, 1000);
	assert_int_equal(limit(m, outer, 100, 1000, 0), 0);
	assert_int_equal(limit(m, inner, 50, 1000, 0), 0);
	settle(m);
	/* From 50 ms on only the inner limit holds; after that only the outer one. */
	for (unsigned round = 0; round < 2; round++) {
		judged_ticks(m, 110);
		assert_ptr_not_equal(running(m, 0), t);
		rq_lock(q->rq);
		pelt_update_queue(q);
		rq_unlock(q->rq);
		before = q->avg;
		of_task = t->fair.avg;
		assert_in_range(before.util_avg, 1015, 1024);
		assert_in_range(before.load_avg, 1015, 1024);
		judged_ticks(m, 880);
		task_group_stat(m->s, inner, &stat); /* for the runqueue's clock */
		assert_int_equal(m->s->rq[0].clock, m->now);
		rq_lock(q->rq);
		pelt_update_queue(q);
		pelt_update_queue(&q->rq->fair);
		rq_unlock(q->rq);
		assert_memory_equal(&before, &q->avg, sizeof(before));
		assert_memory_equal(&of_task, &t->fair.avg, sizeof(of_task));
		assert_true(m->s->rq[0].fair.avg.util_avg < 10);
		begin_period(m, 1000);
		assert_int_equal(
			task_group_set_bandwidth(m->s, inner, SCHED_QUOTA_NONE, 1000 * MS, 0, true),
			0);
		settle(m);
	}
	judged_ticks(m, 50);
	assert_task(running(m, 0), t);
	assert_in_range(q->avg.util_avg, 1015, 1024);
	machine_free(m);
}

static void every_bad_limit_is_refused(void **state)
{
	struct machine *m = judged_machine(1, 1000);
	struct task_group *parent = judged_group(m, NULL), *child = judged_group(m, parent);
	struct task_group_params p;
	const u64 none = SCHED_QUOTA_NONE;

	(void)state;
	assert_int_equal(limit(m, NULL, 20, 50, 0), -EINVAL);
	assert_int_equal(limit(m, parent, 0, 50, 0), -EINVAL);
	assert_int_equal(limit(m, parent, 20, 0, 0), -EINVAL);
	assert_int_equal(limit(m, parent, 20, 1001, 0), -EINVAL);
	assert_int_equal(limit(m, parent, 20, 50, 21), -EINVAL);
	assert_int_equal(
		task_group_set_bandwidth(m->s, parent, (1ull << 44) * 1000, 50 * MS, 0, true),
		-EINVAL);
	task_group_params(parent, &p);
	assert_int_equal(p.quota_ns, none);
	/* v1: a child's ratio is at most its parent's, in either order of the writes. */
	assert_int_equal(limit(m, parent, 50, 100, 0), 0);
	assert_int_equal(limit(m, child, 60, 100, 0), -EINVAL);
	assert_int_equal(limit(m, child, 40, 100, 0), 0);
	assert_int_equal(limit(m, parent, 30, 100, 0), -EINVAL);
	/* v2: a higher ratio may be set, and the parent limits it nevertheless. */
	assert_int_equal(task_group_set_bandwidth(m->s, parent, 30 * MS, 100 * MS, 0, false), 0);
	/* A group without a quota has no burst either. */
	assert_int_equal(limit(m, child, 30, 100, 30), 0);
	assert_int_equal(task_group_set_bandwidth(m->s, child, none, 100 * MS, 30 * MS, true), 0);
	task_group_params(child, &p);
	assert_int_equal(p.quota_ns, none);
	assert_int_equal(p.burst_ns, 0);
	end_group(m, child);
	end_group(m, parent);
	machine_free(m);
}

/* The parent's limit holds for everything below, and a throttled parent hides its children. */
static void a_limit_holds_for_all_below(void **state)
{
	struct machine *m = judged_machine(1, 1000);
	struct task_group *parent = judged_group(m, NULL);
	struct task_group *a = judged_group(m, parent), *b = judged_group(m, parent);
	struct task *outside;

	(void)state;
	spawn_in(m, a, 0);
	spawn_in(m, b, 0);
	outside = spawn_nice(m, "outside", 0);
	assert_int_equal(limit(m, parent, 20, 100, 0), 0);
	assert_int_equal(limit(m, a, 5, 100, 0), 0);
	settle(m);
	judged_ticks(m, 10000);
	assert_in_range(stat_of(m, parent).usage_ns, 1980 * MS, 2040 * MS);
	assert_in_range(stat_of(m, a).usage_ns, 490 * MS, 530 * MS);
	assert_in_range(sched_task_runtime(m->s, outside), 7940 * MS, 8030 * MS);
	machine_free(m);
}

static void a_removed_limit_frees_at_once(void **state)
{
	struct machine *m = judged_machine(1, 1000);
	struct task_group *tg = judged_group(m, NULL);
	struct task *t = spawn_in(m, tg, 0);
	u64 before;

	(void)state;
	assert_int_equal(limit(m, tg, 5, 1000, 0), 0);
	settle(m);
	judged_ticks(m, 100);
	assert_ptr_not_equal(running(m, 0), t);
	before = sched_task_runtime(m->s, t);
	assert_int_equal(task_group_set_bandwidth(m->s, tg, SCHED_QUOTA_NONE, 1000 * MS, 0, true),
			 0);
	settle(m);
	judged_ticks(m, 100);
	assert_int_equal(sched_task_runtime(m->s, t), before + 100 * MS);
	machine_free(m);
}

/* Tasks may leave a throttled group, change, end and join: nothing counts hidden tasks. */
static void tasks_come_and_go_while_it_is_throttled(void **state)
{
	struct machine *m = judged_machine(2, 1000);
	struct task_group *tg = judged_group(m, NULL), *below = judged_group(m, tg);
	struct task *t[4];
	struct sched_attr_req nice = { .nice = 5 };
	struct cpumask one = cpumask_of(1);

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(t); i++)
		t[i] = spawn_in(m, i % 2 ? tg : below, 0);
	assert_int_equal(limit(m, tg, 5, 1000, 0), 0);
	settle(m);
	judged_ticks(m, 50);
	assert_int_equal(m->s->rq[0].nr_running + m->s->rq[1].nr_running, 0);
	assert_int_equal(sched_set_attr(m->s, t[0], &nice), 0);
	sched_check(m->s);
	assert_int_equal(sched_set_affinity(m->s, t[1], &one), 0);
	sched_check(m->s);
	task_group_move(m->s, t[2], NULL);
	settle(m);
	sched_check(m->s);
	assert_int_equal(m->s->rq[0].nr_running + m->s->rq[1].nr_running, 1);
	task_group_move(m->s, t[2], below);
	settle(m);
	judged_ticks(m, 20);
	assert_int_equal(m->s->rq[0].nr_running + m->s->rq[1].nr_running, 0);
	judged_ticks(m, 1000);
	machine_free(m);
}

/*
 * The pool's timer ends after a period in which nothing was used, and restarts with the next use.
 */
static void an_idle_pool_needs_no_timer(void **state)
{
	struct machine *m = judged_machine(1, 1000);
	struct task_group *tg = judged_group(m, NULL);
	struct task *t = spawn_in(m, tg, 0);

	(void)state;
	assert_int_equal(limit(m, tg, 20, 50, 0), 0);
	settle(m);
	judged_ticks(m, 10);
	assert_non_null(tg->bandwidth.period.rq);
	block(m, 0, TASK_INTERRUPTIBLE);
	begin_period(m, 50);
	assert_non_null(tg->bandwidth.period.rq);
	judged_ticks(m, 49);
	assert_non_null(tg->bandwidth.period.rq);
	judged_ticks(m, 1);
	assert_null(tg->bandwidth.period.rq);
	assert_int_equal(m->timer[0], 0);
	wake(m, t, 0);
	judged_ticks(m, 10);
	assert_non_null(tg->bandwidth.period.rq);
	block(m, 0, TASK_INTERRUPTIBLE);
	task_group_move(m->s, t, NULL);
	end_group(m, tg);
	sched_check(m->s);
	machine_free(m);
}

/*
 * In any n periods the members use at most n quotas and a burst, plus 1 ms for
 * each CPU that kept it, plus a tick for each CPU that overran.
 */
static void no_window_exceeds_quota_and_burst(void **state)
{
	enum { CPUS = 4, TASKS = 6, PERIODS = 80 };
	struct machine *m = judged_machine(CPUS, 1000);
	struct task_group *tg = judged_group(m, NULL);
	struct task *t[TASKS];
	struct prng rng;
	u64 usage[PERIODS];

	(void)state;
	prng_seed(&rng, 7);
	for (unsigned i = 0; i < TASKS; i++)
		t[i] = spawn_in(m, tg, 0);
	assert_int_equal(limit(m, tg, 30, 50, 20), 0);
	settle(m);
	begin_period(m, 50);
	for (unsigned i = 0; i < PERIODS * 50; i++) {
		unsigned cpu = prng_below(&rng, CPUS);
		struct task *r = running(m, cpu);

		if (prng_below(&rng, 3) == 0 && r != &m->idle[cpu])
			block(m, cpu, TASK_INTERRUPTIBLE);
		else
			wake(m, t[prng_below(&rng, TASKS)], cpu);
		if (i % 50 == 0)
			usage[i / 50] = stat_of(m, tg).usage_ns;
		judged_ticks(m, 1);
		assert_true(tg->bandwidth.runtime_ns <= 50 * MS);
	}
	for (unsigned from = 0; from < PERIODS; from++)
		for (unsigned to = from + 1; to < PERIODS; to++)
			assert_true(usage[to] - usage[from] <=
				    (to - from) * 30 * MS + 20 * MS + CPUS * 2 * MS);
	machine_free(m);
}

/* A quota that is set again while a member runs loses nothing. */
static void a_new_quota_is_there_at_once_and_whole(void **state)
{
	struct machine *m = judged_machine(1, 1000);
	struct task_group *tg = judged_group(m, NULL);
	u64 before;

	(void)state;
	spawn_in(m, tg, 0);
	settle(m);
	judged_ticks(m, 3);
	before = stat_of(m, tg).usage_ns;
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(limit(m, tg, 5, 1000, 0), 0);
		m->now += MS / 2;
	}
	settle(m);
	judged_ticks(m, 100);
	assert_in_range(stat_of(m, tg).usage_ns - before, 5 * MS, 7 * MS);
	machine_free(m);
}

/*
 * CPU 1 leaves and returns three times in each period, in which ticks of 4 ms overrun the slices. A
 * debt that left with it would be a gift, and time that left with it a loss.
 */
static void the_quota_holds_while_a_cpu_comes_and_goes(void **state)
{
	enum { PERIODS = 60, QUOTA_MS = 30 };
	bool pinned = *state != NULL;
	struct machine *m = judged_machine(2, 250);
	struct task_group *tg = judged_group(m, NULL);
	struct task *t[2] = { spawn_in(m, tg, 0), spawn_in(m, tg, 0) };
	struct cpumask second = cpumask_of(1);
	struct prng rng;
	u64 before;

	prng_seed(&rng, 7);
	assert_int_equal(limit(m, tg, QUOTA_MS, 100, 0), 0);
	settle(m);
	begin_period(m, 100);
	judged_ticks(m, 25);
	before = stat_of(m, tg).usage_ns;
	for (unsigned i = 0; i < PERIODS * 3; i++) {
		unsigned away = 1 + prng_below(&rng, 7);

		if (pinned)
			assert_int_equal(sched_set_affinity(m->s, t[1], &second), 0);
		settle(m);
		judged_ticks(m, 8 - away);
		assert_int_equal(sched_cpu_offline(m->s, 1), 0);
		settle(m);
		judged_ticks(m, away);
		sched_cpu_online(m->s, 1, &m->idle[1]);
		settle(m);
		judged_ticks(m, i % 3 == 2);
	}
	assert_in_range(stat_of(m, tg).usage_ns - before, (PERIODS * QUOTA_MS - 10) * MS,
			(PERIODS * QUOTA_MS + 10) * MS);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hog_gets_its_quota_of_each_period),
		cmocka_unit_test(the_quota_is_for_all_cpus_together),
		cmocka_unit_test(what_is_saved_up_to_the_burst_may_be_used_later),
		cmocka_unit_test(slices_come_from_the_pool_and_go_back),
		cmocka_unit_test(a_full_pool_takes_nothing_back),
		cmocka_unit_test(what_a_late_tick_overran_is_repaid),
		cmocka_unit_test(returned_slack_is_given_out_unless_a_refill_is_near),
		cmocka_unit_test(averages_stand_still_while_throttled),
		cmocka_unit_test(every_bad_limit_is_refused),
		cmocka_unit_test(a_limit_holds_for_all_below),
		cmocka_unit_test(a_removed_limit_frees_at_once),
		cmocka_unit_test(tasks_come_and_go_while_it_is_throttled),
		cmocka_unit_test(an_idle_pool_needs_no_timer),
		cmocka_unit_test(a_new_quota_is_there_at_once_and_whole),
		cmocka_unit_test(no_window_exceeds_quota_and_burst),
		cmocka_unit_test(the_quota_holds_while_a_cpu_comes_and_goes),
		{ "the_quota_holds_while_a_pinned_task's_cpu_comes_and_goes",
		  the_quota_holds_while_a_cpu_comes_and_goes, NULL, NULL, (void *)"pinned" },
	};

	return cmocka_run_group_tests_name("bandwidth", tests, NULL, NULL);
}
