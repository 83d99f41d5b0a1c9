/* SPDX-License-Identifier: GPL-2.0-only */
/* When passes are made, at which levels, and for whom (docs/sources.md); see test_balance.c. */
#include "smp.h"

/* It is the sum of what the levels cost lately, and limits what is expected of an idle time. */
static void the_longest_searches_of_all_levels_add_up(void **state)
{
	struct machine *m = cold_machine(1, 2, 2, 1);

	(void)state;
	set_tunable(m, "migration_cost_ns", "500000");
	crowd(m, 0, 1, BIT(0));
	for (unsigned big = 0; big < 2; big++) {
		domain_of(m, 0, 0)->max_newidle_lb_cost = big ? 400000 : 100000;
		domain_of(m, 0, 1)->max_newidle_lb_cost = 300000;
		domain_of(m, 0, 0)->last_decay = jiffies(m->s, m->now) + 10;
		domain_of(m, 0, 1)->last_decay = jiffies(m->s, m->now) + 10;
		rq_of(m, 0)->next_balance = 0;
		tick(m);
		assert_int_equal(rq_of(m, 0)->max_idle_balance_cost, big ? 700000 : 500000);
	}
	machine_free(m);
}

/* Any average that is left is refreshed; a CPU without one is left alone. */
static void a_busy_cpu_refreshes_what_an_idle_one_has_left(void **state)
{
	(void)state;
	for (unsigned which = 0; which < 4; which++) {
		struct machine *m = machine_of(1, 1, 2, 1, NULL);
		struct rq *idle = rq_of(m, 1);
		u64 before;

		allow(m, spawn_nice(m, "busy", 0), cpumask_of(0));
		tick(m);
		assert_true(cpumask_test(&m->s->nohz_idle, 1));
		idle->fair.avg.load_avg = which == 0 ? 100 : 0;
		idle->fair.avg.util_avg = which == 1 ? 100 : 0;
		idle->urgent.util_sum = which == 2 ? 47742 : 0;
		idle->next_balance = m->s->nohz_next_balance = ~0ull >> 1;
		before = idle->clock;
		for (unsigned n = 0; n < 40; n++)
			tick(m);
		assert_int_equal(idle->clock > before, which < 3);
		machine_free(m);
	}
}

/* A tick balances at every level that is due. */
static void all_levels_that_are_due_are_balanced(void **state)
{
	struct machine *m = cold_machine(1, 2, 2, 1);

	(void)state;
	for (unsigned cpu = 0; cpu < 4; cpu++)
		crowd(m, cpu, 1, BIT(cpu));
	advance(m, 5 * NS_PER_SEC);
	for (unsigned due = 0; due < 3; due++) {
		u64 before[2], now = jiffies(m->s, m->now) + 1;

		for (unsigned level = 0; level < 2; level++) {
			before[level] = domain_of(m, 0, level)->stat[CPU_BUSY].count;
			domain_of(m, 0, level)->last_balance = due > level ? now - 1000 : now;
		}
		rq_of(m, 0)->next_balance = 0;
		tick(m);
		for (unsigned level = 0; level < 2; level++)
			assert_int_equal(domain_of(m, 0, level)->stat[CPU_BUSY].count -
						 before[level],
					 due > level);
	}
	machine_free(m);
}

/* CPU 3 had been busy for long, so it balanced rarely. Now it idles, and CPU 1 balances for it. */
static void a_cpu_that_went_idle_is_balanced_for_as_often_as_others(void **state)
{
	struct machine *m = cold_machine(1, 1, 4, 1);
	unsigned ticks = 0;

	(void)state;
	crowd(m, 3, 1, BIT(3));
	for (unsigned n = 0; n < 200 || rq_of(m, 3)->next_balance < jiffies(m->s, m->now) + 50; n++)
		tick(m);
	crowd(m, 0, 2, BIT(0) | BIT(3));
	block(m, 3, TASK_INTERRUPTIBLE);
	while (!rq_of(m, 3)->nr_running) {
		tick(m);
		ticks++;
	}
	assert_in_range(ticks, 1, 8);
	machine_free(m);
}

/* The tick of a CPU with one task calls an idle CPU if most of it is taken. */
static void a_cpu_that_is_mostly_taken_calls_for_help(void **state)
{
	(void)state;
	for (unsigned taken = 0; taken < 2; taken++) {
		struct machine *m = cold_machine(1, 1, 2, 1);

		crowd(m, 1, 1, 3);
		sched_tick_can_stop(m->s, 0);
		leave_capacity(m, 1, taken ? 400 : 1024);
		m->s->nohz_next_balance = 0;
		m->now += MS;
		sched_tick(m->s, 1);
		assert_int_equal(rq_of(m, 1)->nohz_kick_count, taken);
		/* Until it has come, nobody else need call. */
		assert_int_equal(m->s->nohz_next_balance, taken ? jiffies(m->s, m->now) + 1 : 0);
		machine_free(m);
	}
}

static struct task *of_three[3];

/* The task that has left one CPU and not come to the other yet may not run on CPU 0 any more. */
static void forbid_cpu_0(struct machine *m)
{
	struct cpumask others = cpumask_first_n(m->nr_cpus);

	cpumask_clear(&others, 0);
	for (unsigned i = 0; i < 3; i++)
		if (of_three[i]->on_rq == TASK_MIGRATING)
			assert_int_equal(sched_set_affinity(m->s, of_three[i], &others), 0);
}

static void who_may_not_stay_where_it_comes_goes_on(void **state)
{
	struct machine *m = cold_machine(1, 1, 2, 1);

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		of_three[i] = put(m, 1);
	m->on_unlocked = forbid_cpu_0;
	assert_int_equal(balance_domain(rq_of(m, 0), domain_of(m, 0, 0), CPU_IDLE), 1);
	assert_null(m->on_unlocked);
	settle(m);
	assert_int_equal(rq_of(m, 0)->nr_running, 0);
	assert_int_equal(rq_of(m, 1)->nr_running, 3);
	sched_check(m->s);
	machine_free(m);
}

/*
 * On each node or package as many tasks as it has caches of the size of this CPU's may stay; an
 * eighth of its CPUs if that is one; at least one.
 */
static void what_may_stay_follows_from_the_caches(void **state)
{
	static const struct {
		unsigned here, there, expected;
	} caches[] = { { 4, 4, 2 }, { 2, 6, 4 }, { 6, 2, 1 }, { 12, 4, 2 }, { 20, 4, 3 } };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(caches); i++) {
		struct sched_cpu_desc desc[CPU_MAX] = { 0 };
		unsigned nr = caches[i].here + caches[i].there;
		struct machine *m;

		for (unsigned cpu = 0; cpu < nr; cpu++) {
			desc[cpu].core = cpu;
			desc[cpu].llc = cpu >= caches[i].here;
		}
		m = machine_new_on(nr, 1000, desc, NULL);
		assert_int_equal(domain_of(m, 0, 0)->span->weight, caches[i].here);
		assert_int_equal(domain_of(m, 0, 1)->imb_numa_nr, caches[i].expected);
		machine_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_longest_searches_of_all_levels_add_up),
		cmocka_unit_test(a_busy_cpu_refreshes_what_an_idle_one_has_left),
		cmocka_unit_test(all_levels_that_are_due_are_balanced),
		cmocka_unit_test(a_cpu_that_went_idle_is_balanced_for_as_often_as_others),
		cmocka_unit_test(a_cpu_that_is_mostly_taken_calls_for_help),
		cmocka_unit_test(who_may_not_stay_where_it_comes_goes_on),
		cmocka_unit_test(what_may_stay_follows_from_the_caches),
	};

	return cmocka_run_group_tests_name("rebalance", tests, NULL, NULL);
}
