/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One balancing pass, rule by rule: what is compared, how much moves, and what affinity changes
 * (docs/sources.md). See also test_smp.c.
 */
#include <stdlib.h>
#include "group.h"
#include "smp.h"

/* Balances CPU 0 at its @level-th domain. */
static int pass(struct machine *m, unsigned level, enum idle_type idle)
{
	int moved = balance_domain(rq_of(m, 0), domain_of(m, 0, level), idle);

	/* A newly idle pass is part of a switch. */
	if (idle == CPU_NEWLY_IDLE)
		switch_cpu(m, 0, true);
	settle(m);
	sched_check(m->s);
	return moved;
}

/* --- how much ------------------------------------------------------------- */

/* Loads of 12288 and 5120 on four CPUs each: 3.5 tasks of nice 0 should move. */
static void the_imbalance_of_two_overloaded_groups_is_golden(void **state)
{
	struct machine *m = cold_machine(1, 2, 4, 1);
	u64 since = domain_of(m, 0, 1)->stat[CPU_BUSY].imbalance;

	(void)state;
	for (unsigned cpu = 0; cpu < 8; cpu++) {
		crowd(m, cpu, cpu < 4 ? 1 + !cpu : 3, cpumask_first_n(8).bits[0]);
		rq_of(m, cpu)->fair.avg.load_avg = cpu < 4 ? 1024 * (1 + !cpu) : 3072;
		rq_of(m, cpu)->fair.avg.util_avg = 1024;
	}
	assert_in_range(pass(m, 1, CPU_BUSY), 1, 3);
	assert_int_equal(domain_of(m, 0, 1)->stat[CPU_BUSY].imbalance - since, 3584);
	machine_free(m);
}

static void half_of_the_difference_moves(void **state)
{
	static const struct {
		unsigned here, there;
		int moved;
	} cases[] = { { 0, 1, 0 }, { 0, 2, 1 }, { 0, 3, 1 }, { 0, 5, 2 }, { 1, 2, 0 } };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct machine *m = cold_machine(1, 1, 2, 1);

		crowd(m, 0, cases[i].here, 3);
		crowd(m, 1, cases[i].there, 3);
		assert_int_equal(pass(m, 0, cases[i].here ? CPU_BUSY : CPU_IDLE), cases[i].moved);
		machine_free(m);
	}
}

static void a_newly_idle_cpu_takes_one(void **state)
{
	struct machine *m = cold_machine(1, 1, 2, 1);

	(void)state;
	crowd(m, 1, 7, 3);
	assert_int_equal(pass(m, 0, CPU_NEWLY_IDLE), 1);
	machine_free(m);
}

static void the_first_idle_cpu_of_a_group_balances_for_it(void **state)
{
	struct machine *m = cold_machine(1, 2, 2, 1);

	(void)state;
	crowd(m, 0, 1, 1);
	crowd(m, 2, 4, 0xf);
	assert_int_equal(pass(m, 1, CPU_BUSY), -1);
	assert_true(balance_domain(rq_of(m, 1), domain_of(m, 1, 1), CPU_IDLE) > 0);
	machine_free(m);
}

/* --- affinity ------------------------------------------------------------- */

/* CPU 0 balances for its group, but the tasks waiting on CPU 2 may run on 1 and 2 only. */
static void what_may_not_come_here_goes_to_another_cpu_of_the_group(void **state)
{
	static const enum idle_type types[] = { CPU_IDLE, CPU_NEWLY_IDLE };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(types); i++) {
		struct machine *m = cold_machine(1, 2, 2, 1);

		crowd(m, 2, 2, BIT(1) | BIT(2));
		/* A CPU in the middle of a switch takes tasks only for itself. */
		assert_int_equal(pass(m, 1, types[i]), types[i] == CPU_IDLE);
		assert_int_equal(rq_of(m, 1)->nr_running, types[i] == CPU_IDLE);
		assert_int_equal(rq_of(m, 0)->nr_running, 0);
		machine_free(m);
	}
}

static void when_one_cpu_is_all_pinned_the_next_is_robbed(void **state)
{
	struct machine *m = cold_machine(1, 1, 4, 1);

	(void)state;
	crowd(m, 1, 5, BIT(1));
	crowd(m, 2, 3, 0xf);
	crowd(m, 3, 1, BIT(3));
	assert_int_equal(pass(m, 0, CPU_IDLE), 1);
	assert_int_equal(rq_of(m, 2)->nr_running, 2);
	machine_free(m);
}

static void a_domain_of_pinned_tasks_is_looked_at_ever_less_often(void **state)
{
	struct machine *m = cold_machine(1, 2, 2, 1);
	struct domain *sd = domain_of(m, 0, 1);

	(void)state;
	crowd(m, 2, 4, BIT(2));
	for (u64 interval = 4; interval < 512; interval *= 2) {
		assert_int_equal(sd->balance_interval_ms, interval);
		assert_int_equal(pass(m, 1, CPU_IDLE), 0);
	}
	assert_int_equal(sd->balance_interval_ms, 512);
	assert_int_equal(pass(m, 1, CPU_IDLE), 0);
	assert_int_equal(sd->balance_interval_ms, 512);
	/* Without idle CPUs the pass takes at most 2 ms for each CPU. */
	sd->balance_interval_ms = 4;
	for (unsigned i = 0; i < 4; i++)
		block(m, 2, TASK_INTERRUPTIBLE);
	for (unsigned i = 0; i < 3; i++)
		pass(m, 1, CPU_IDLE);
	assert_int_equal(sd->balance_interval_ms, 8);
	machine_free(m);
}

static void leave_one(struct machine *m)
{
	block(m, 1, TASK_INTERRUPTIBLE);
	block(m, 1, TASK_INTERRUPTIBLE);
	assert_int_equal(rq_of(m, 1)->nr_running, 1);
}

/* Between the choice of a runqueue and its lock all but one of its tasks fall asleep. */
static void a_runqueue_emptied_meanwhile_is_not_taken_for_pinned(void **state)
{
	struct machine *m = cold_machine(1, 1, 2, 1);
	struct domain *sd = domain_of(m, 0, 0);

	(void)state;
	crowd(m, 1, 3, 3);
	m->on_locking = leave_one;
	assert_int_equal(pass(m, 0, CPU_IDLE), 0);
	assert_null(m->on_locking);
	assert_int_equal(sd->nr_balance_failed, 1);
	assert_int_equal(sd->balance_interval_ms, sd->min_interval_ms);
	assert_int_equal(sd->stat[CPU_IDLE].failed, 1);
	machine_free(m);
}

static void the_level_above_learns_that_affinity_left_a_group_uneven(void **state)
{
	struct machine *m = cold_machine(1, 2, 2, 1);
	const struct group *part = domain_of(m, 0, 1)->parts;

	(void)state;
	crowd(m, 1, 3, BIT(1));
	pass(m, 0, CPU_IDLE);
	assert_true(part->imbalance);
	/* The next pass finds the same: the verdict stays. */
	pass(m, 0, CPU_IDLE);
	assert_true(part->imbalance);
	block(m, 1, TASK_INTERRUPTIBLE);
	block(m, 1, TASK_INTERRUPTIBLE);
	pass(m, 0, CPU_IDLE);
	assert_false(part->imbalance);
	machine_free(m);
}

/* --- the running task ----------------------------------------------------- */

/* Both hogs of the core run, so none waits that could be moved. */
static void a_running_task_is_pushed_to_an_idle_core(void **state)
{
	struct machine *m = cold_machine(1, 1, 2, 2);

	(void)state;
	crowd(m, 2, 1, 0xf);
	crowd(m, 3, 1, 0xf);
	for (unsigned failed = 1; failed <= 4; failed++) {
		assert_int_equal(domain_of(m, 0, 1)->nr_balance_failed, failed - 1);
		assert_int_equal(pass(m, 1, CPU_IDLE), 0);
		assert_int_equal(rq_of(m, 0)->nr_running, failed == 4);
	}
	assert_int_equal(domain_of(m, 0, 1)->alb_count, 1);
	assert_int_equal(rq_of(m, 2)->nr_running + rq_of(m, 3)->nr_running, 1);
	machine_free(m);
}

/* --- capacity ------------------------------------------------------------- */

/*
 * Two tasks on each CPU. For each unit of CPU 1's half of a capacity there is 4096, here 2048, on
 * average 2730: CPU 0 lacks 682 of that, CPU 1 has (4096 - 2730) / 2 = 683 too many.
 */
static void loads_are_compared_per_capacity(void **state)
{
	struct machine *m = cold_machine(1, 1, 2, 1);
	const u64 *imbalance = &domain_of(m, 0, 0)->stat[CPU_BUSY].imbalance;

	(void)state;
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		crowd(m, cpu, 2, 3);
		rq_of(m, cpu)->fair.avg.load_avg = 2048;
		rq_of(m, cpu)->fair.avg.util_avg = 1024;
	}
	pass(m, 0, CPU_BUSY);
	assert_int_equal(*imbalance, 0);
	leave_capacity(m, 1, 512);
	pass(m, 0, CPU_BUSY);
	assert_int_equal(*imbalance, 682);
	machine_free(m);
}

/* Behind the other cache CPU 2 has more load, CPU 3 more for what is left of it. */
static void the_runqueue_with_the_most_load_per_capacity_is_robbed(void **state)
{
	(void)state;
	for (unsigned half = 0; half < 2; half++) {
		struct machine *m = cold_machine(1, 2, 2, 1);

		for (unsigned cpu = 0; cpu < 4; cpu++) {
			crowd(m, cpu, cpu < 2 ? 1 : 10 - cpu, 0xf);
			rq_of(m, cpu)->fair.avg.load_avg = cpu < 2 ? 1024 : 1024 * (10 - cpu);
			rq_of(m, cpu)->fair.avg.util_avg = 1024;
		}
		leave_capacity(m, 3, half ? 512 : 1024);
		assert_true(balance_domain(rq_of(m, 0), domain_of(m, 0, 1), CPU_BUSY) > 0);
		settle(m);
		assert_in_range(rq_of(m, half ? 3 : 2)->nr_running, 1, half ? 6 : 7);
		assert_int_equal(rq_of(m, half ? 2 : 3)->nr_running, half ? 8 : 7);
		machine_free(m);
	}
}

/* One task runs on CPU 1, where now and then a real-time task comes first. */
static void a_task_leaves_a_cpu_that_is_mostly_taken(void **state)
{
	static const struct {
		u64 here, there;
		enum idle_type idle;
		bool leaves;
	} cases[] = {
		{ 1024, 500, CPU_IDLE, true },
		{ 1024, 1024, CPU_IDLE, false },
		{ 500, 500, CPU_IDLE, false },
		{ 1024, 500, CPU_BUSY, false },
		{ 1024, 950, CPU_IDLE, false },
		/* By more than 17 %, of the whole and of what is left here. */
		{ 1024, 875, CPU_IDLE, true },
		{ 1024, 876, CPU_IDLE, false },
		{ 600, 512, CPU_IDLE, true },
		{ 599, 512, CPU_IDLE, false },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct machine *m = cold_machine(1, 1, 2, 1);

		crowd(m, 1, 1, 3);
		leave_capacity(m, 0, cases[i].here);
		leave_capacity(m, 1, cases[i].there);
		assert_int_equal(pass(m, 0, cases[i].idle), 0);
		assert_int_equal(rq_of(m, 0)->nr_running, cases[i].leaves);
		machine_free(m);
	}
}

/* A FIFO task runs on CPU 1, and a fair one waits there. */
static void a_task_that_waits_for_a_real_time_task_is_taken(void **state)
{
	(void)state;
	for (unsigned taken = 0; taken < 2; taken++) {
		struct machine *m = cold_machine(1, 1, 2, 1);
		struct task *fifo = spawn(m, "fifo", SCHED_FIFO, 10);

		allow(m, fifo, cpumask_of(1));
		crowd(m, 1, 1, 3);
		leave_capacity(m, 1, taken ? 400 : 1024);
		assert_int_equal(pass(m, 0, CPU_IDLE), taken);
		machine_free(m);
	}
}

/* --- when ----------------------------------------------------------------- */

static void who_idles_shortly_does_not_search(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		const bool shortly = i == 1;
		struct machine *m = cold_machine(1, 1, 2, 1);

		crowd(m, 0, 1, 1);
		crowd(m, 1, 3, 3);
		rq_of(m, 0)->domains->flags |= SD_BALANCE_NEWIDLE;
		rq_of(m, 0)->domains->max_newidle_lb_cost = MS;
		rq_of(m, 0)->avg_idle = shortly ? MS - 1 : MS + i * MS;
		advance(m, MS);
		block(m, 0, TASK_INTERRUPTIBLE);
		assert_int_equal(rq_of(m, 0)->nr_running, !shortly);
		machine_free(m);
	}
}

/* Tasks wait behind three other caches, but only those behind the last one may come. */
static void a_newly_idle_cpu_looks_behind_one_other_cache_each_time(void **state)
{
	struct machine *m = cold_machine(1, 4, 2, 1);

	(void)state;
	crowd(m, 2, 5, BIT(2));
	crowd(m, 4, 4, BIT(4));
	crowd(m, 6, 3, 0xff);
	for (unsigned round = 0; round < 2; round++) {
		assert_int_equal(pass(m, 1, CPU_NEWLY_IDLE), 0);
		assert_int_equal(pass(m, 1, CPU_NEWLY_IDLE), 0);
		assert_int_equal(pass(m, 1, CPU_NEWLY_IDLE), 1);
		assert_int_equal(rq_of(m, 6)->nr_running, 2 - round);
		block(m, 0, TASK_INTERRUPTIBLE);
	}
	/* Now one task is left there, and it does not wait. */
	assert_int_equal(pass(m, 1, CPU_NEWLY_IDLE), 0);
	assert_int_equal(pass(m, 1, CPU_NEWLY_IDLE), 0);
	assert_int_equal(domain_of(m, 0, 1)->newidle_from, 4);
	machine_free(m);
}

static void a_newly_idle_cpu_reads_no_queue_where_nobody_waits(void **state)
{
	struct machine *m = cold_machine(1, 2, 2, 1);

	(void)state;
	crowd(m, 1, 1, 0xf);
	crowd(m, 2, 1, 0xf);
	for (unsigned level = 0; level < 2; level++) {
		const u64 *count = &domain_of(m, 0, level)->stat[CPU_NEWLY_IDLE].count;

		assert_int_equal(pass(m, level, CPU_NEWLY_IDLE), 0);
		assert_int_equal(*count, 0);
		crowd(m, 1 + level, 1 + level, 0xf);
		assert_int_equal(pass(m, level, CPU_NEWLY_IDLE), 1);
		assert_int_equal(*count, 1);
		block(m, 0, TASK_INTERRUPTIBLE);
	}
	machine_free(m);
}

/* Two tasks hidden by a quota wait again: CPUs about to idle must hear of that. */
static void what_a_throttled_group_releases_is_found(void **state)
{
	struct machine *m = cold_machine(1, 1, 2, 1);
	struct task_group *tg = new_group(m, NULL);

	(void)state;
	assert_int_equal(task_group_set_bandwidth(m->s, tg, MS, 100 * MS, 0, true), 0);
	for (unsigned i = 0; i < 3; i++)
		task_group_move(m->s, put(m, 1), tg);
	settle(m);
	while (!group_queue(m->s, tg, 1)->throttled) {
		advance(m, MS / 2);
		switch_cpu(m, 1, true);
	}
	assert_int_equal(pass(m, 0, CPU_NEWLY_IDLE), 0);
	assert_true(cpumask_empty(&m->s->crowded));
	task_group_set_bandwidth(m->s, tg, SCHED_QUOTA_NONE, 100 * MS, 0, true);
	settle(m);
	assert_int_equal(pass(m, 0, CPU_NEWLY_IDLE), 1);
	machine_free(m);
	free(tg);
}

/* Two light tasks on CPU 1 hardly compete, but one of them waits, and CPU 0 has nothing to do. */
static void an_idle_cpu_takes_a_light_task_that_waits(void **state)
{
	(void)state;
	for (unsigned busy = 0; busy < 2; busy++) {
		struct machine *m = cold_machine(1, 1, 2, 1);

		crowd(m, 1, 2, 3);
		rq_of(m, 1)->fair.avg.util_avg = rq_of(m, 1)->fair.avg.runnable_avg = 100;
		assert_int_equal(pass(m, 0, busy ? CPU_BUSY : CPU_IDLE), !busy);
		machine_free(m);
	}
}

static void of_equally_loaded_runqueues_the_first_is_robbed(void **state)
{
	struct machine *m = cold_machine(1, 2, 2, 1);

	(void)state;
	for (unsigned cpu = 0; cpu < 4; cpu++) {
		crowd(m, cpu, cpu < 2 ? 1 : 7, 0xf);
		rq_of(m, cpu)->fair.avg.load_avg = cpu < 2 ? 1024 : 1024 * 7;
		rq_of(m, cpu)->fair.avg.util_avg = 1024;
	}
	assert_true(balance_domain(rq_of(m, 0), domain_of(m, 0, 1), CPU_BUSY) > 0);
	settle(m);
	assert_int_equal(rq_of(m, 3)->nr_running, 7);
	machine_free(m);
}

/* Nobody ran for less than the migration cost; with a cost of 0, nobody is hot. */
static void a_task_cools_down_when_the_cost_of_a_move_is_over(void **state)
{
	(void)state;
	for (unsigned hot = 0; hot < 2; hot++) {
		struct machine *m = cold_machine(1, 1, 2, 1);
		struct task *t;

		crowd(m, 1, 3, 3);
		set_tunable(m, "migration_cost_ns", hot ? "1001" : "1000");
		advance(m, MS);
		switch_cpu(m, 1, true);
		list_for_each(t, &rq_of(m, 1)->fair_tasks, link)
			t->fair.exec_start = m->now - 1000;
		rq_of(m, 1)->clock = m->now;
		assert_int_equal(pass(m, 0, CPU_NEWLY_IDLE), !hot);
		machine_free(m);
	}
}

/* CPUs 1 and 2 have lost more than half of their capacity; the heavier task is helped first. */
static void the_greater_of_two_misfits_is_helped(void **state)
{
	(void)state;
	for (unsigned heavy = 1; heavy < 3; heavy++) {
		struct machine *m = cold_machine(1, 3, 1, 1);

		for (unsigned cpu = 1; cpu < 3; cpu++) {
			crowd(m, cpu, 1, 7);
			leave_capacity(m, cpu, 400);
			rq_of(m, cpu)->fair.avg.load_avg = cpu == heavy ? 900 : 500;
		}
		pass(m, 0, CPU_IDLE);
		assert_int_equal(rq_of(m, 0)->nr_running, 1);
		assert_int_equal(rq_of(m, heavy)->nr_running, 0);
		machine_free(m);
	}
}

/* An idle CPU leaves the last one where it is, a busy one need not. */
static void an_idle_cpu_leaves_one(void **state)
{
	struct machine *m = cold_machine(1, 1, 2, 1);

	(void)state;
	crowd(m, 1, 2, 3);
	rq_of(m, 1)->fair.avg.util_avg = rq_of(m, 1)->fair.avg.load_avg = 4096;
	rq_of(m, 1)->fair.avg.runnable_avg = 4096;
	pass(m, 0, CPU_IDLE);
	assert_int_equal(rq_of(m, 0)->nr_running, 1);
	assert_int_equal(rq_of(m, 1)->nr_running, 1);
	machine_free(m);
}

/* Balancing is for fair tasks: a real-time task that runs is not pushed aside by it. */
static void a_real_time_task_that_runs_is_not_pushed(void **state)
{
	struct machine *m = cold_machine(1, 1, 2, 1);
	struct task *fifo = spawn(m, "fifo", SCHED_FIFO, 10);

	(void)state;
	allow(m, fifo, cpumask_of(1));
	allow(m, fifo, cpumask_first_n(2));
	crowd(m, 1, 2, 2);
	domain_of(m, 0, 0)->nr_balance_failed = 10;
	pass(m, 0, CPU_IDLE);
	assert_task(running(m, 1), fifo);
	assert_int_equal(fifo->push_cpu, PUSH_NONE);
	machine_free(m);
}

/* A task that has run lately stays where its data is, unless it is nobody's or the core is one. */
static void where_a_cache_is_hot_does_not_always_matter(void **state)
{
	static const struct {
		bool idle_policy, same_core;
		int moved;
	} cases[] = {
		{ false, false, 0 }, { true, false, 1 }, { false, true, 1 }, { true, true, 1 }
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct machine *m = cold_machine(1, 1, 2, cases[i].same_core ? 2 : 1);
		struct task *t;

		set_tunable(m, "migration_cost_ns", "1000000000");
		for (unsigned n = 0; n < 3; n++) {
			t = spawn(m, "t", cases[i].idle_policy ? SCHED_IDLE : SCHED_NORMAL, 0);
			allow(m, t, cpumask_of(1));
			allow(m, t, cpumask_first_n(2));
		}
		assert_int_equal(rq_of(m, 1)->nr_running, 3);
		list_for_each(t, &rq_of(m, 1)->fair_tasks, link)
			t->fair.exec_start = m->now - 1000;
		rq_of(m, 1)->clock = m->now;
		assert_int_equal(pass(m, 0, CPU_NEWLY_IDLE), cases[i].moved);
		machine_free(m);
	}
}

/* The other thread of its own core is crowded: it looks there too, and reads what waits. */
static void a_newly_idle_cpu_looks_within_its_own_cache_whoever_waits(void **state)
{
	struct machine *m = cold_machine(1, 1, 2, 2);
	const u64 *count = &domain_of(m, 0, 1)->stat[CPU_NEWLY_IDLE].count;

	(void)state;
	crowd(m, 1, 2, BIT(1));
	assert_int_equal(pass(m, 1, CPU_NEWLY_IDLE), 0);
	assert_int_equal(*count, 1);
	assert_int_equal(domain_of(m, 0, 1)->newidle_from, 0);
	machine_free(m);
}

/* Two of three pinned tasks fell asleep meanwhile: affinity has hindered nothing. */
static void a_runqueue_emptied_meanwhile_hinders_nobody(void **state)
{
	struct machine *m = cold_machine(1, 2, 2, 1);

	(void)state;
	crowd(m, 0, 1, 1);
	crowd(m, 1, 3, BIT(1));
	rq_of(m, 1)->fair.avg.load_avg = 4096;
	rq_of(m, 1)->fair.avg.util_avg = rq_of(m, 1)->fair.avg.runnable_avg = 4096;
	m->on_locking = leave_one;
	assert_int_equal(pass(m, 0, CPU_BUSY), 0);
	assert_null(m->on_locking);
	assert_false(domain_of(m, 0, 1)->parts->imbalance);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_imbalance_of_two_overloaded_groups_is_golden),
		cmocka_unit_test(half_of_the_difference_moves),
		cmocka_unit_test(a_newly_idle_cpu_takes_one),
		cmocka_unit_test(the_first_idle_cpu_of_a_group_balances_for_it),
		cmocka_unit_test(what_may_not_come_here_goes_to_another_cpu_of_the_group),
		cmocka_unit_test(when_one_cpu_is_all_pinned_the_next_is_robbed),
		cmocka_unit_test(a_domain_of_pinned_tasks_is_looked_at_ever_less_often),
		cmocka_unit_test(a_runqueue_emptied_meanwhile_is_not_taken_for_pinned),
		cmocka_unit_test(the_level_above_learns_that_affinity_left_a_group_uneven),
		cmocka_unit_test(a_running_task_is_pushed_to_an_idle_core),
		cmocka_unit_test(loads_are_compared_per_capacity),
		cmocka_unit_test(the_runqueue_with_the_most_load_per_capacity_is_robbed),
		cmocka_unit_test(a_task_leaves_a_cpu_that_is_mostly_taken),
		cmocka_unit_test(a_task_that_waits_for_a_real_time_task_is_taken),
		cmocka_unit_test(who_idles_shortly_does_not_search),
		cmocka_unit_test(a_newly_idle_cpu_looks_behind_one_other_cache_each_time),
		cmocka_unit_test(a_newly_idle_cpu_reads_no_queue_where_nobody_waits),
		cmocka_unit_test(what_a_throttled_group_releases_is_found),
		cmocka_unit_test(an_idle_cpu_takes_a_light_task_that_waits),
		cmocka_unit_test(of_equally_loaded_runqueues_the_first_is_robbed),
		cmocka_unit_test(a_task_cools_down_when_the_cost_of_a_move_is_over),
		cmocka_unit_test(the_greater_of_two_misfits_is_helped),
		cmocka_unit_test(an_idle_cpu_leaves_one),
		cmocka_unit_test(a_real_time_task_that_runs_is_not_pushed),
		cmocka_unit_test(where_a_cache_is_hot_does_not_always_matter),
		cmocka_unit_test(a_newly_idle_cpu_looks_within_its_own_cache_whoever_waits),
		cmocka_unit_test(a_runqueue_emptied_meanwhile_hinders_nobody),
	};

	return cmocka_run_group_tests_name("balance", tests, NULL, NULL);
}
