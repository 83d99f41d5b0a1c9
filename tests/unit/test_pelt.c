/* SPDX-License-Identifier: GPL-2.0-only */
/* Load averages against the golden numbers (docs/sources.md). */
#include <math.h>
#include <string.h>

#include "sched/fair/core/pelt.h"
#include "group.h"

#define PERIOD_NS (1024 * 1024)

/* A nice-0 entity that runs alone, with averages of zero. */
static struct machine *one_runner(struct task **t)
{
	struct machine *m = machine_new(1, 1000);

	*t = spawn_nice(m, "runner", 0);
	memset(&(*t)->fair.avg, 0, sizeof((*t)->fair.avg));
	m->now = ALIGN_UP(m->now, 1024ull);
	m->s->rq[0].clock = m->now;
	(*t)->fair.avg.last_update = m->now;
	return m;
}

static void age(struct machine *m, struct task *t, u64 ns)
{
	m->now += ns;
	m->s->rq[0].clock = m->now;
	pelt_update_entity(&m->s->rq[0].fair, &t->fair);
}

static void a_runner_updated_each_period_rises_as_golden(void **state)
{
	static const struct {
		unsigned periods;
		u64 util, load_sum;
	} golden[] = {
		{ 1, 21, 1002 },      { 2, 43, 1982 },	    { 4, 85, 3879 },
		{ 8, 163, 7436 },     { 16, 300, 13689 },   { 32, 512, 23369 },
		{ 64, 768, 35053 },   { 96, 896, 40897 },   { 128, 960, 43817 },
		{ 256, 1020, 46555 }, { 345, 1024, 46714 }, { 400, 1024, 46715 },
	};
	struct task *t;
	struct machine *m = one_runner(&t);
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		for (; n < golden[i].periods; n++)
			age(m, t, PERIOD_NS);
		assert_int_equal(t->fair.avg.util_avg, golden[i].util);
		assert_int_equal(t->fair.avg.load_sum, golden[i].load_sum);
	}
	machine_free(m);
}

static void one_long_update_differs_from_many_by_rounding_only(void **state)
{
	static const struct {
		unsigned periods;
		u64 util, load_sum;
	} golden[] = {
		{ 8, 162, 7433 },   { 16, 299, 13684 },	  { 32, 512, 23359 },
		{ 64, 768, 35039 }, { 345, 1023, 46692 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		struct task *t;
		struct machine *m = one_runner(&t);

		age(m, t, golden[i].periods * (u64)PERIOD_NS);
		assert_int_equal(t->fair.avg.util_avg, golden[i].util);
		assert_int_equal(t->fair.avg.load_sum, golden[i].load_sum);
		machine_free(m);
	}
}

static void millisecond_ticks_keep_the_rest_of_a_period(void **state)
{
	struct task *t;
	struct machine *m = one_runner(&t);

	(void)state;
	age(m, t, 1000000);
	assert_int_equal(t->fair.avg.load_sum, 976);
	assert_int_equal(t->fair.avg.period_contrib, 976);
	assert_int_equal(t->fair.avg.util_avg, 0);
	age(m, t, 1000000);
	assert_int_equal(t->fair.avg.load_sum, 1930);
	assert_int_equal(t->fair.avg.period_contrib, 929);
	assert_int_equal(t->fair.avg.util_avg, 41);
	for (unsigned n = 2; n < 32; n++)
		age(m, t, 1000000);
	assert_int_equal(t->fair.avg.load_sum, 22851);
	assert_int_equal(t->fair.avg.period_contrib, 530);
	assert_int_equal(t->fair.avg.util_avg, 495);
	for (unsigned n = 32; n < 100; n++)
		age(m, t, 1000000);
	assert_int_equal(t->fair.avg.load_sum, 41128);
	assert_int_equal(t->fair.avg.util_avg, 894);
	machine_free(m);
}

static void a_sleeper_decays_by_half_in_32_periods(void **state)
{
	static const struct {
		unsigned periods;
		u64 util;
	} golden[] = {
		{ 1, 1002 }, { 8, 861 },  { 16, 724 }, { 32, 512 }, { 64, 256 },
		{ 96, 128 }, { 128, 64 }, { 256, 4 },  { 320, 1 },  { 352, 0 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		struct task *t;
		struct machine *m = one_runner(&t);
		struct fair_queue *q = &m->s->rq[0].fair;

		for (unsigned n = 0; n < 500; n++)
			age(m, t, PERIOD_NS);
		assert_int_equal(t->fair.avg.util_avg, 1024);
		/* Asleep: neither queued nor running. */
		t->fair.queued = false;
		q->curr = NULL;
		age(m, t, golden[i].periods * (u64)PERIOD_NS);
		assert_int_equal(t->fair.avg.util_avg, golden[i].util);
		machine_free(m);
	}
}

/* Y[i] = floor((2^32 - 1) * 2^(-i/32)), visible in the decay of a large sum. */
static void the_decay_table_is_exact(void **state)
{
	(void)state;
	for (unsigned i = 1; i < 32; i++) {
		struct pelt p = { .load_sum = 1ull << 32 };

		pelt_cross_periods(&p, i * 1024, 1, 0, 0, false);
		assert_int_equal(p.load_sum,
				 (u64)floorl(4294967295.0L * powl(2.0L, -(long double)i / 32)));
	}
}

static void first_tasks_are_guessed_to_use_half_of_what_is_left(void **state)
{
	static const u64 golden[] = { 512, 256, 128 };
	struct machine *m = machine_new(1, 1000);

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		struct task *t = spawn_nice(m, "new", 0);

		assert_int_equal(t->fair.avg.util_avg, golden[i]);
		assert_int_equal(t->fair.avg.load_avg, 1024);
	}
	machine_free(m);
}

/*
 * By its weight, beside tasks of load 1023 that use 100: Linux 6.12 says 100 for the nice value 0,
 * while 6.1 says half of what is left, here at every nice value.
 */
static void a_new_task_is_guessed_by_its_weight_as_its_kernel_does(void **state)
{
	static const struct {
		const char *policy;
		int nice;
		u64 util;
	} golden[] = {
		{ "cfs", 0, 462 },	{ "cfs", 19, 462 },    { "fdl", 0, 462 },
		{ "bore-cfs", 0, 462 }, { "eevdf", 0, 100 },   { "eevdf", 5, 32 },
		{ "eevdf", 19, 1 },	{ "eevdf", -10, 462 }, { "bore", 0, 100 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		struct sched_cpu_desc desc = { 0 };
		struct machine *m = machine_new_on(1, 1000, &desc, golden[i].policy);
		struct fair_queue *q = &m->s->rq[0].fair;
		struct entity e = { .load = weight_of_nice(golden[i].nice), .queue = q };

		q->avg.util_avg = 100;
		q->avg.load_avg = 1023;
		pelt_init_util(q, &e);
		assert_int_equal(e.avg.util_avg, golden[i].util);
		assert_int_equal(e.avg.runnable_avg, golden[i].util);
		machine_free(m);
	}
}

static void a_saturated_queue_has_the_load_of_its_tasks(void **state)
{
	struct machine *m = machine_new(1, 1000);
	const struct pelt *avg = &m->s->rq[0].fair.avg;

	(void)state;
	spawn_nice(m, "A", 0);
	spawn_nice(m, "B", 0);
	for (unsigned n = 0; n < 1000; n++)
		tick(m);
	assert_in_range(avg->load_avg, 2047, 2049);
	assert_in_range(avg->runnable_avg, 2047, 2049);
	assert_in_range(avg->util_avg, 1023, 1025);
	machine_free(m);
}

static void a_saturated_nice_5_task_has_load_334_to_rounding(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *t = spawn_nice(m, "C", 5);

	(void)state;
	for (unsigned n = 0; n < 1000; n++)
		tick(m);
	assert_in_range(t->fair.avg.load_avg, 334, 335);
	machine_free(m);
}

static void what_is_detached_leaves_the_queue_to_rounding(void **state)
{
	struct machine *m = machine_new(2, 1000);
	struct task *t = spawn_nice(m, "mover", 0);
	struct cpumask other;
	unsigned from = t->cpu;
	const struct pelt *to = &m->s->rq[1 - from].fair.avg;

	(void)state;
	for (unsigned n = 0; n < 100; n++)
		tick(m);
	other = cpumask_of(1 - from);
	assert_int_equal(sched_set_affinity(m->s, t, &other), 0);
	settle(m);
	assert_int_equal(t->cpu, 1 - from);
	assert_in_range(m->s->rq[from].fair.avg.load_avg, 0, 1);
	assert_in_range(m->s->rq[from].fair.avg.util_avg, 0, 1);
	assert_int_equal(to->load_avg, t->fair.avg.load_avg);
	assert_int_equal(to->util_avg, t->fair.avg.util_avg);
	assert_int_equal(to->runnable_avg, t->fair.avg.runnable_avg);
	/* Its sums come along, too: what the queue has soon is what the task has. */
	advance(m, 2 * MS);
	tick(m);
	assert_true(t->fair.avg.util_avg > 100);
	assert_in_range(to->load_avg, t->fair.avg.load_avg - 1, t->fair.avg.load_avg + 1);
	assert_in_range(to->util_avg, t->fair.avg.util_avg - 1, t->fair.avg.util_avg + 1);
	assert_in_range(to->runnable_avg, t->fair.avg.runnable_avg - 1,
			t->fair.avg.runnable_avg + 1);
	machine_free(m);
}

/*
 * The queue above learns of each move by the sum of load that came or went, which is at least 1.
 * Nothing falls below 0.
 */
static void what_joins_and_leaves_is_told_upwards(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct entity *e = &spawn_nice(m, "mover", 0)->fair;
	struct fair_queue *q = &m->s->rq[0].fair;
	s64 told;

	(void)state;
	rq_lock(&m->s->rq[0]);
	q->up.runnable = 0;
	told = -(s64)e->avg.load_sum;
	/* Rounding has left less in the queue than the entity has. */
	q->avg.load_avg = e->avg.load_avg / 2;
	q->avg.util_avg = e->avg.util_avg / 2;
	q->avg.runnable_avg = e->avg.runnable_avg / 2;
	pelt_detach(q, e);
	if (q->avg.load_avg || q->avg.util_avg || q->avg.runnable_avg)
		fail_msg("load_avg, util_avg and runnable_avg are %lu, %lu and %lu after "
			 "pelt_detach() of more than there was, where 0 is right: subtract()",
			 q->avg.load_avg, q->avg.util_avg, q->avg.runnable_avg);
	if (q->up.runnable != told)
		fail_msg("up.runnable is %ld after pelt_detach(), where %ld is right: propagate()",
			 q->up.runnable, told);
	e->avg.load_avg = 0;
	pelt_attach(q, e);
	if (e->avg.load_sum != 1)
		fail_msg("load_sum is %lu for an average of 0, where 1 is right: at least 1",
			 e->avg.load_sum);
	if (q->up.runnable != told + 1)
		fail_msg("up.runnable is %ld after pelt_attach(), where %ld is right: propagate()",
			 q->up.runnable, told + 1);
	rq_unlock(&m->s->rq[0]);
	machine_free(m);
}

/* A sum of 2^62 loses one bit with each halving, and a little more with the last multiplication. */
static void a_sum_is_gone_after_63_halvings_and_not_before(void **state)
{
	(void)state;
	for (unsigned halvings = 31; halvings < 70; halvings++) {
		struct pelt p = { .load_sum = 1ull << 62 };
		u64 right = halvings < 62 ? (1ull << (62 - halvings)) - 1 : 0;

		pelt_cross_periods(&p, 32ull * halvings << 10, 1, 0, 0, false);
		if (p.load_sum != right)
			fail_msg("a load_sum of 2^62 is %lu after %u halvings, where %lu is right",
				 p.load_sum, halvings, right);
	}
}

static void the_slow_estimate_falls_by_a_quarter_of_a_clear_difference(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct pelt p = { .util_est_ewma = 800, .util_avg = 400 };

	(void)state;
	rq_lock(&m->s->rq[0]);
	util_est_remember(&m->s->rq[0], &p);
	assert_int_equal(p.util_est_ewma, 700);
	assert_int_equal(p.util_est_enqueued, 400);
	p.util_avg = 691; /* closer than 1 % of a CPU: unchanged */
	util_est_remember(&m->s->rq[0], &p);
	assert_int_equal(p.util_est_ewma, 700);
	p.util_avg = 900; /* up at once */
	util_est_remember(&m->s->rq[0], &p);
	assert_int_equal(p.util_est_ewma, 900);
	m->s->rq[0].capacity_orig = 446;
	p.util_avg = 447; /* more than this CPU can show: it came from a faster one */
	util_est_remember(&m->s->rq[0], &p);
	assert_int_equal(p.util_est_ewma, 900);
	assert_int_equal(p.util_est_enqueued, 900);
	p.util_avg = 446;
	util_est_remember(&m->s->rq[0], &p);
	assert_int_equal(p.util_est_ewma, 786);
	rq_unlock(&m->s->rq[0]);
	machine_free(m);
}

static void the_estimate_of_a_sleeper_survives_its_sleep(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *t = spawn_nice(m, "bursty", 0);
	u32 before;

	(void)state;
	for (unsigned n = 0; n < 100; n++)
		tick(m);
	before = (u32)t->fair.avg.util_avg;
	block(m, 0, TASK_INTERRUPTIBLE);
	advance(m, 500 * MS);
	wake(m, t, 0);
	assert_true(t->fair.avg.util_avg < 10);
	assert_in_range(t->fair.avg.util_est_ewma, before, before + 30);
	assert_int_equal(m->s->rq[0].fair.avg.util_est_enqueued, t->fair.avg.util_est_ewma);
	machine_free(m);
}

/* --- by definition ------------------------------------------------------------- */

/* Averages in real numbers: in 32 periods they go half of the way to what the task does. */
struct ideal {
	double util, runnable, load;
};

/* It did the same thing for @ns. */
static void pass_time(struct ideal *ideal, const struct task *t, u64 ns)
{
	double kept = exp2(-(double)ns / (32 << 20)), gained = 1 - kept;
	bool runs = t->fair.queue->rq->curr == t, queued = t->on_rq == TASK_QUEUED;

	ideal->util = ideal->util * kept + 1024 * gained * runs;
	ideal->runnable = ideal->runnable * kept + 1024 * gained * queued;
	ideal->load = ideal->load * kept + (double)(t->fair.load.weight >> 10) * gained * queued;
}

/* An average is computed when a period ends, and each period moves it by 2.2 % of the whole way. */
static void expect_near(u64 actual, double ideal, double whole)
{
	assert_true(fabs((double)actual - ideal) <= 2 + whole * 0.035);
}

/* Four tasks of different weights run, wait and sleep at random on one CPU. */
static void averages_are_what_tasks_did(void **state)
{
	static const int nice[4] = { 0, 5, -3, 0 };
	struct machine *m = machine_new(1, 1000);
	const struct pelt *all = &m->s->rq[0].fair.avg;
	struct ideal ideal[4];
	struct task *t[4];
	u64 seed = host_seed(1);

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		t[i] = spawn_nice(m, "t", nice[i]);
		ideal[i] = (struct ideal){ (double)t[i]->fair.avg.util_avg,
					   (double)t[i]->fair.avg.runnable_avg,
					   (double)t[i]->fair.avg.load_avg };
	}
	for (unsigned n = 0; n < 4000; n++) {
		unsigned what = (unsigned)((seed = seed * 6364136223846793005ull + 1) >> 33);
		u64 ns = what % 3 ? (what >> 8) % (3 * MS) : 0;
		struct ideal sum = { 0 };
		struct task *x = t[what / 64 % 4];

		for (unsigned i = 0; i < 4; i++)
			pass_time(&ideal[i], t[i], ns);
		advance(m, ns);
		if (what % 3 == 1)
			switch_cpu(m, 0, true);
		else if (what % 3 == 2 && x->on_rq != TASK_QUEUED)
			wake(m, x, 0);
		else if (what % 7 == 0 && running(m, 0) != &m->idle[0])
			block(m, 0, TASK_INTERRUPTIBLE);
		else
			sched_tick(m->s, 0);
		settle(m);
		for (unsigned i = 0; i < 4; i++) {
			const struct pelt *avg = &t[i]->fair.avg;

			sum.util += ideal[i].util;
			sum.runnable += ideal[i].runnable;
			sum.load += ideal[i].load;
			if (m->now - avg->last_update >= 2048)
				continue;
			expect_near(avg->util_avg, ideal[i].util, 1024);
			expect_near(avg->runnable_avg, ideal[i].runnable, 1024);
			expect_near(avg->load_avg, ideal[i].load,
				    (double)(t[i]->fair.load.weight >> 10));
		}
		if (m->now - all->last_update >= 2048)
			continue;
		expect_near(all->util_avg, sum.util, 2 * 1024);
		expect_near(all->runnable_avg, sum.runnable, 4 * 1024);
		expect_near(all->load_avg, sum.load, 4 * 1024);
	}
	machine_free(m);
}

/* By definition, for all pairs: up at once, within 1 % the same, else a quarter of the way. */
static void the_slow_estimate_is_as_defined(void **state)
{
	struct machine *m = machine_new(1, 1000);

	(void)state;
	for (s64 fast = 0; fast < 2; fast++) {
		set_feature(m, fast ? "UTIL_EST_FASTUP" : "NO_UTIL_EST_FASTUP");
		rq_lock(&m->s->rq[0]);
		for (s64 slow = 0; slow <= 1024; slow += 7)
			for (s64 now = 0; now <= 1024; now++) {
				struct pelt p = { .util_est_ewma = (u32)slow,
						  .util_avg = (u64)now };
				s64 diff = now - slow, expected = slow;

				if (fast && now > slow)
					expected = now;
				else if (diff >= 10 || diff <= -10)
					expected = (s64)floor((double)slow + (double)diff / 4);
				util_est_remember(&m->s->rq[0], &p);
				assert_int_equal(p.util_est_ewma, expected);
			}
		rq_unlock(&m->s->rq[0]);
	}
	machine_free(m);
}

/* A CPU whose clock is behind begins where it is, and counts from there. */
static void a_clock_that_is_behind_counts_from_where_it_is(void **state)
{
	struct pelt p = { .last_update = 5 * MS, .period_contrib = 10 };

	(void)state;
	pelt_age(&p, 3 * MS, false, NULL, 1, 1, true);
	assert_int_equal(p.last_update, 3 * MS);
	assert_int_equal(p.util_sum, 0);
	pelt_age(&p, 3 * MS + 100 * 1024, false, NULL, 1, 1, true);
	assert_int_equal(p.last_update, 3 * MS + 100 * 1024);
	assert_int_equal(p.util_sum, 100 << 10);
	assert_int_equal(p.runnable_sum, 100 << 10);
	assert_int_equal(p.load_sum, 100);
}

/* A group is on its queue what its members are on theirs: the root knows three that can run. */
static void averages_of_groups_reach_the_root(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task_group *tg = new_group(m, NULL), *below = new_group(m, tg);
	const struct pelt *root = &m->s->rq[0].fair.avg;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		spawn_in(m, i ? below : tg, 0);
	for (unsigned n = 0; n < 600; n++) {
		const struct pelt *top = &tg->cpu[0].queue.avg;

		tick(m);
		if (n < 300)
			continue;
		expect_near(top->runnable_avg, 3 * 1024, 3 * 1024);
		expect_near(root->runnable_avg, 3 * 1024, 3 * 1024);
		expect_near(root->util_avg, 1024, 1024);
	}
	for (unsigned i = 0; i < 3; i++)
		block(m, 0, TASK_INTERRUPTIBLE);
	advance(m, 2 * NS_PER_SEC);
	spawn_nice(m, "t", 0);
	tick(m);
	assert_true(root->runnable_avg < 1200);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_runner_updated_each_period_rises_as_golden),
		cmocka_unit_test(one_long_update_differs_from_many_by_rounding_only),
		cmocka_unit_test(millisecond_ticks_keep_the_rest_of_a_period),
		cmocka_unit_test(a_sleeper_decays_by_half_in_32_periods),
		cmocka_unit_test(the_decay_table_is_exact),
		cmocka_unit_test(first_tasks_are_guessed_to_use_half_of_what_is_left),
		cmocka_unit_test(a_new_task_is_guessed_by_its_weight_as_its_kernel_does),
		cmocka_unit_test(a_saturated_queue_has_the_load_of_its_tasks),
		cmocka_unit_test(a_saturated_nice_5_task_has_load_334_to_rounding),
		cmocka_unit_test(what_is_detached_leaves_the_queue_to_rounding),
		cmocka_unit_test(what_joins_and_leaves_is_told_upwards),
		cmocka_unit_test(a_sum_is_gone_after_63_halvings_and_not_before),
		cmocka_unit_test(the_slow_estimate_falls_by_a_quarter_of_a_clear_difference),
		cmocka_unit_test(the_estimate_of_a_sleeper_survives_its_sleep),
		cmocka_unit_test(averages_are_what_tasks_did),
		cmocka_unit_test(the_slow_estimate_is_as_defined),
		cmocka_unit_test(a_clock_that_is_behind_counts_from_where_it_is),
		cmocka_unit_test(averages_of_groups_reach_the_root),
	};

	return cmocka_run_group_tests_name("pelt", tests, NULL, NULL);
}
