/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a task wakes up or starts, rule by rule (docs/sources.md); see also test_smp.c.
 */
#include "smp.h"
#include "sched/fair/core/class.h"

/* Makes @cpu run a task that stays there. */
static struct task *occupy(struct machine *m, unsigned cpu)
{
	struct task *t = put(m, cpu);

	allow(m, t, cpumask_of(cpu));
	return t;
}

static void occupy_all_but(struct machine *m, u64 free)
{
	for (unsigned cpu = 0; cpu < m->nr_cpus; cpu++)
		if (!(free & BIT(cpu)))
			occupy(m, cpu);
}

/* --- the waker's CPU or its own ------------------------------------------- */

/* CPU 1 shares the waker's cache and is busy; CPU 2, which is the wakee's, does not. */
static void a_waker_about_to_sleep_leaves_its_cpu_to_the_wakee(void **state)
{
	(void)state;
	for (unsigned sync = 0; sync < 2; sync++)
		for (unsigned crowd = 0; crowd < 2; crowd++) {
			struct machine *m = machine_of(1, 2, 2, 1, NULL);
			struct task *t = sleeper_on(m, 2);

			occupy_all_but(m, BIT(2) | BIT(3));
			if (crowd)
				occupy(m, 0);
			sched_wake(m->s, t, TASK_NORMAL, 0, sync ? SELECT_SYNC : 0);
			assert_int_equal(t->cpu, sync && !crowd ? 0 : 2);
			machine_free(m);
		}
}

/*
 * Linux's rule, for LLCs of two CPUs: the one that flips less does so twice, the other one twice
 * as often.
 */
static void a_dispatcher_is_known_by_its_flips(void **state)
{
	static const struct {
		u32 waker, wakee;
		bool draws;
	} golden[] = {
		{ 4, 2, false }, { 2, 4, false }, { 3, 2, true }, { 5, 3, true },
		{ 6, 3, false }, { 9, 1, true },  { 1, 9, true }, { 0, 0, true },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		struct machine *m = machine_of(1, 2, 2, 1, "cfs");
		struct task *waker = spawn_nice(m, "waker", 0), *t = spawn_nice(m, "t", 0);
		struct cpumask far = { { 0xc } }, all = cpumask_first_n(4);

		assert_int_equal(waker->cpu, 0);
		sched_set_affinity(m->s, t, &far);
		settle(m);
		block(m, t->cpu, TASK_INTERRUPTIBLE);
		sched_set_affinity(m->s, t, &all);
		waker->last_wakee = t;
		waker->wakee_flips = golden[i].waker;
		t->wakee_flips = golden[i].wakee;
		/* Its own CPU is taken. */
		sched_set_affinity(m->s, spawn_nice(m, "other", 0), &far);
		settle(m);
		sched_wake(m->s, t, TASK_NORMAL, 0, WAKE_SYNC);
		settle(m);
		if ((t->cpu < 2) != golden[i].draws)
			fail_msg("flips %u and %u: on CPU %u", golden[i].waker, golden[i].wakee,
				 t->cpu);
		machine_free(m);
	}
}

static void its_own_cpu_goes_before_the_search(void **state)
{
	struct machine *m = machine_of(1, 1, 8, 1, NULL);
	struct task *t = sleeper_on(m, 5);

	(void)state;
	occupy(m, 0);
	occupy(m, 0);
	wake(m, t, 0);
	assert_int_equal(t->cpu, 5);
	machine_free(m);
}

static void the_cpu_before_its_own_is_tried_next(void **state)
{
	static const struct {
		u64 free;
		bool allowed;
		unsigned expected;
	} cases[] = {
		{ BIT(2) | BIT(6), true, 6 },
		{ BIT(2) | BIT(6), false, 2 },
		{ BIT(2), true, 2 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct machine *m = machine_of(1, 1, 8, 1, NULL);
		struct task *t = sleeper_on(m, 6);
		struct cpumask mask = cpumask_first_n(8);

		occupy(m, 6);
		allow(m, t, cpumask_of(1));
		wake(m, t, 1);
		assert_int_equal(t->cpu, 1);
		block(m, 1, TASK_INTERRUPTIBLE);
		t->recent_used_cpu = 6;
		if (!cases[i].allowed)
			cpumask_clear(&mask, 6);
		allow(m, t, mask);
		occupy_all_but(m, cases[i].free | BIT(6));
		/* CPU 6's own task sleeps where the CPU should be free. */
		if (cases[i].free & BIT(6))
			block(m, 6, TASK_INTERRUPTIBLE);
		wake(m, t, 1);
		assert_int_equal(t->cpu, cases[i].expected);
		assert_int_equal(t->recent_used_cpu, 1);
		machine_free(m);
	}
}

/* --- the search ----------------------------------------------------------- */

static void the_search_ends_after_so_many_cpus(void **state)
{
	static const struct {
		u32 limit;
		const char *feature;
		unsigned expected;
	} cases[] = {
		{ 0, "SIS_UTIL", 0 }, { 2, "SIS_UTIL", 0 },    { 3, "SIS_UTIL", 3 },
		{ 8, "SIS_UTIL", 3 }, { 0, "NO_SIS_UTIL", 3 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct machine *m = machine_of(1, 1, 8, 1, NULL);
		struct task *t = sleeper_on(m, 0);

		occupy_all_but(m, BIT(3) | BIT(7));
		set_feature(m, cases[i].feature);
		rq_of(m, 0)->llc->span->nr_idle_scan = cases[i].limit;
		wake(m, t, 0);
		assert_int_equal(t->cpu, cases[i].expected);
		machine_free(m);
	}
}

/* Cores of CPUs 0-1, 2-3, 4-5, 6-7. */
static void without_an_idle_core_the_other_thread_of_its_own_is_taken(void **state)
{
	static const struct {
		u64 free;
		unsigned expected;
		bool idle_cores; /* expected afterwards */
	} cases[] = {
		{ BIT(1) | BIT(3) | BIT(6) | BIT(7), 6, true },
		{ BIT(1) | BIT(3) | BIT(7), 3, false }, /* the first free thread from CPU 2 on */
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct machine *m = machine_of(1, 1, 4, 2, NULL);
		struct task *t = sleeper_on(m, 2);
		struct group *llc = rq_of(m, 0)->llc->span;

		occupy_all_but(m, cases[i].free);
		llc->has_idle_cores = true;
		wake(m, t, 2);
		assert_int_equal(t->cpu, cases[i].expected);
		assert_int_equal(llc->has_idle_cores, cases[i].idle_cores);
		machine_free(m);
	}
	/* The same without that knowledge: CPU 3 is chosen although the core of 6 and 7 idles. */
	{
		struct machine *m = machine_of(1, 1, 4, 2, NULL);
		struct task *t = sleeper_on(m, 2);

		occupy_all_but(m, cases[0].free);
		rq_of(m, 0)->llc->span->has_idle_cores = false;
		wake(m, t, 2);
		assert_int_equal(t->cpu, 3);
		machine_free(m);
	}
}

static void a_core_that_idles_is_made_known(void **state)
{
	struct machine *m = machine_of(1, 1, 2, 2, NULL);
	struct group *llc = rq_of(m, 0)->llc->span;

	(void)state;
	occupy_all_but(m, 0);
	llc->has_idle_cores = false;
	block(m, 2, TASK_INTERRUPTIBLE);
	assert_false(llc->has_idle_cores);
	block(m, 3, TASK_INTERRUPTIBLE);
	assert_true(llc->has_idle_cores);
	machine_free(m);
}

static void a_cpu_with_idle_policy_tasks_counts_as_idle(void **state)
{
	struct machine *m = machine_of(1, 1, 4, 1, NULL);
	struct task *t = sleeper_on(m, 0), *idle = spawn(m, "idle", SCHED_IDLE, 0);

	(void)state;
	allow(m, idle, cpumask_of(2));
	occupy_all_but(m, BIT(2));
	wake(m, t, 0);
	assert_int_equal(t->cpu, 2);
	assert_task(running(m, 2), t);
	machine_free(m);
}

static void the_search_respects_affinity(void **state)
{
	struct machine *m = machine_of(1, 1, 8, 1, NULL);
	struct task *t = sleeper_on(m, 0);

	(void)state;
	occupy(m, 0);
	allow(m, t, (struct cpumask){ { BIT(0) | BIT(5) } });
	wake(m, t, 0);
	assert_int_equal(t->cpu, 5);
	machine_free(m);
}

/* Two nodes of two caches of two CPUs; only CPU 7 idles, or 3 and 7. */
static void sis_machine_finds_the_nearest_idle_cpu_of_all(void **state)
{
	static const struct {
		const char *feature;
		u64 free;
		unsigned expected;
	} cases[] = {
		{ "NO_SIS_MACHINE", BIT(7), 0 }, { "SIS_NODE", BIT(7), 0 },
		{ "SIS_MACHINE", BIT(7), 7 },	 { "SIS_MACHINE", BIT(3) | BIT(7), 3 },
		{ "SIS_MACHINE", 0, 0 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct machine *m = machine_of(2, 2, 2, 1, NULL);
		struct task *t = sleeper_on(m, 0);

		occupy_all_but(m, cases[i].free);
		set_feature(m, cases[i].feature);
		wake(m, t, 0);
		assert_int_equal(t->cpu, cases[i].expected);
		machine_free(m);
	}
}

/* CPU 0 is behind the wakee's cache: though its number is the least, it is found, and is enough. */
static void a_search_that_found_cpu_0_ends(void **state)
{
	static const char *const wider[] = { "SIS_NODE", "SIS_MACHINE" };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(wider); i++) {
		struct machine *m = machine_of(1, 2, 2, 1, NULL);
		struct task *t = sleeper_on(m, 1);

		occupy_all_but(m, BIT(0) | BIT(2) | BIT(3));
		set_feature(m, wider[i]);
		wake(m, t, 1);
		assert_int_equal(t->cpu, 0);
		machine_free(m);
	}
}

/* --- fork ----------------------------------------------------------------- */

/*
 * Two nodes of 16 CPUs: a pair may stay together (imb_numa_nr is 2), a third task goes to the other
 * node.
 */
static void a_node_keeps_a_few_before_forks_spread(void **state)
{
	static const unsigned node[] = { 0, 0, 1, 1, 0 };
	struct machine *m = machine_of(2, 1, 16, 1, NULL);

	(void)state;
	assert_int_equal(domain_of(m, 0, 1)->imb_numa_nr, 2);
	for (unsigned i = 0; i < ARRAY_SIZE(node); i++)
		assert_int_equal(spawn_nice(m, "t", 0)->cpu / 16, node[i]);
	machine_free(m);
}

/* It goes to the cache with more idle CPUs; test_smp.c tests which cache and core that is. */
static void of_idle_cpus_a_fork_takes_the_one_that_idles_since_the_shortest_time(void **state)
{
	static const unsigned order[] = { 5, 7, 6 };
	struct machine *m = machine_of(1, 2, 4, 1, NULL);

	(void)state;
	occupy_all_but(m, 0);
	for (unsigned i = 0; i < ARRAY_SIZE(order); i++) {
		advance(m, MS);
		block(m, order[i], TASK_INTERRUPTIBLE);
	}
	assert_int_equal(spawn_nice(m, "t", 0)->cpu, 6);
	machine_free(m);
}

/*
 * Every CPU runs one task without a pause. A new task leaves the half of the machine where it was
 * made if that is more loaded by more than 17 %; if that is a node, by more than 17 % of a CPU too.
 */
static void a_fork_leaves_a_half_that_is_clearly_more_loaded(void **state)
{
	static const struct {
		bool nodes;
		u64 here, there;
		bool leaves;
	} cases[] = {
		{ false, 599, 512, false },   { false, 600, 512, true },
		{ false, 1198, 1024, false }, { false, 1199, 1024, true },
		{ false, 2397, 2048, true },  { true, 686, 512, false },
		{ true, 687, 512, true },     { true, 1198, 1024, false },
		{ true, 1199, 1024, true },   { true, 2396, 2048, false },
		{ true, 2397, 2048, true },   { true, 512, 1024, false },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned nodes = cases[i].nodes ? 2 : 1, llcs = cases[i].nodes ? 1 : 2;
		struct machine *m = machine_of(nodes, llcs, 2, 1, NULL);

		occupy_all_but(m, 0);
		assert_int_equal(domain_of(m, 0, 1)->imbalance_pct, 117);
		for (unsigned cpu = 0; cpu < 4; cpu++) {
			rq_of(m, cpu)->fair.avg.util_avg = 1024;
			rq_of(m, cpu)->fair.avg.load_avg = cpu < 2 ? cases[i].here : cases[i].there;
		}
		assert_int_equal(spawn_nice(m, "new", 0)->cpu / 2, cases[i].leaves);
		machine_free(m);
	}
}

/*
 * The wakee's CPU 2 and the waker's CPU 0 are loaded alike, and 2 has the wakee's load besides. A
 * waker about to sleep takes its own load along.
 */
static void a_waker_about_to_sleep_takes_its_load_along(void **state)
{
	(void)state;
	for (unsigned sync = 0; sync < 2; sync++) {
		struct machine *m = machine_of(1, 2, 2, 1, NULL);
		struct task *t = sleeper_on(m, 2), *waker;

		occupy_all_but(m, 0);
		occupy(m, 0);
		waker = running(m, 0);
		t->fair.avg.load_avg = waker->fair.avg.load_avg = 600;
		rq_of(m, 0)->fair.avg.load_avg = 2000;
		rq_of(m, 2)->fair.avg.load_avg = 2500;
		/* 2600 here, 1900 and 8 % there; without the waker's part, 2000 here. */
		sched_wake(m->s, t, TASK_NORMAL, 0, sync ? SELECT_SYNC : 0);
		assert_int_equal(t->cpu, sync ? 0 : 2);
		machine_free(m);
	}
}

/* Of three caches the middle one has one idle CPU, the last one two. */
static void a_fork_goes_to_the_idlest_of_all_caches(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct machine *m = machine_of(1, 3, 2, 1, NULL);

		occupy_all_but(m, i ? BIT(2) | BIT(3) | BIT(5) : BIT(3) | BIT(4) | BIT(5));
		assert_int_equal(spawn_nice(m, "t", 0)->cpu / 2, i ? 1 : 2);
		machine_free(m);
	}
}

/* Each second half of the flips is forgotten. */
static void flips_are_forgotten(void **state)
{
	(void)state;
	for (unsigned late = 0; late < 2; late++) {
		struct machine *m = machine_of(1, 1, 2, 1, NULL);
		struct task *t = sleeper_on(m, 1), *waker = put(m, 0);

		waker->last_wakee = t;
		waker->wakee_flips = 9;
		waker->wakee_flips_stamp = m->now - NS_PER_SEC - late;
		wake(m, t, 0);
		assert_int_equal(waker->wakee_flips, late ? 4 : 9);
		block(m, 1, TASK_INTERRUPTIBLE);
		waker->last_wakee = NULL;
		wake(m, t, 0);
		assert_int_equal(waker->wakee_flips, late ? 5 : 10);
		machine_free(m);
	}
}

/* The other thread of its core idles, but is not for this task; CPU 2 is. */
static void a_thread_it_may_not_use_is_passed_over(void **state)
{
	struct machine *m = machine_of(1, 1, 2, 2, NULL);
	struct task *t = sleeper_on(m, 0);

	(void)state;
	occupy_all_but(m, BIT(1) | BIT(2));
	rq_of(m, 0)->llc->span->has_idle_cores = false;
	allow(m, t, (struct cpumask){ { BIT(0) | BIT(2) | BIT(3) } });
	wake(m, t, 0);
	assert_int_equal(t->cpu, 2);
	machine_free(m);
}

/* CPU 2 lost capacity, which concerns who runs there; CPU 3 beside it idles and is whole. */
static void a_fork_does_not_mind_who_lacks_capacity(void **state)
{
	struct machine *m = machine_of(1, 3, 2, 1, NULL);

	(void)state;
	occupy_all_but(m, BIT(3));
	leave_capacity(m, 2, 400);
	assert_int_equal(spawn_nice(m, "t", 0)->cpu, 3);
	machine_free(m);
}

/* The waker is about to sleep, so its CPU is the aim; but the wakee's own is free, and is taken. */
static void its_own_free_cpu_goes_before_a_search_from_the_wakers(void **state)
{
	struct machine *m = machine_of(1, 1, 8, 1, NULL);
	struct task *t = sleeper_on(m, 5);
	unsigned recent = t->recent_used_cpu;

	(void)state;
	occupy(m, 0);
	/* Not wholly idle, or it would be the aim: a task of SCHED_IDLE is there. */
	allow(m, spawn(m, "idle", SCHED_IDLE, 0), cpumask_of(5));
	sched_wake(m->s, t, TASK_NORMAL, 0, SELECT_SYNC);
	assert_int_equal(t->cpu, 5);
	assert_int_equal(t->recent_used_cpu, recent);
	machine_free(m);
}

/* Four caches of two CPUs; the aim is the waker's, in the first, the wakee ran in the third. */
static void the_search_of_a_node_starts_behind_the_aim(void **state)
{
	struct machine *m = machine_of(1, 4, 2, 1, NULL);
	struct task *t = sleeper_on(m, 4);

	(void)state;
	occupy_all_but(m, BIT(2) | BIT(6));
	set_feature(m, "SIS_NODE");
	sched_wake(m->s, t, TASK_NORMAL, 0, SELECT_SYNC);
	assert_int_equal(t->cpu, 2);
	machine_free(m);
}

/* A waker flips each time that it wakes another one than the last time. */
static void a_flip_is_another_wakee_than_the_last(void **state)
{
	static const unsigned order[] = { 0, 0, 1, 1, 1, 0, 1, 0, 0 };
	struct machine *m = machine_of(1, 1, 4, 1, NULL);
	struct task *waker = occupy(m, 0), *t[2] = { sleeper_on(m, 1), sleeper_on(m, 2) };
	u32 flips;

	(void)state;
	/* One of them was the last. */
	wake(m, t[0], 0);
	block(m, t[0]->cpu, TASK_INTERRUPTIBLE);
	waker->wakee_flips_stamp = rq_of(m, 0)->clock;
	flips = waker->wakee_flips;
	for (unsigned i = 0; i < ARRAY_SIZE(order); i++) {
		flips += order[i] != order[i ? i - 1 : 0];
		wake(m, t[order[i]], 0);
		assert_task(running(m, 0), waker);
		assert_int_equal(waker->wakee_flips, flips);
		block(m, t[order[i]]->cpu, TASK_INTERRUPTIBLE);
	}
	machine_free(m);
}

/* CPU 0 is the waker's, CPU 2 behind the other cache the wakee's; both are busy. */
static void the_wakers_cpu_is_taken_if_it_would_be_less_loaded(void **state)
{
	struct machine *m = machine_of(1, 2, 2, 1, NULL);
	struct task *t = sleeper_on(m, 2), *waker;
	u64 dice = 1;

	(void)state;
	occupy_all_but(m, 0);
	waker = running(m, 0);
	occupy(m, 0);
	for (unsigned n = 0; n < 4000; n++) {
		const struct domain *sd = domain_of(m, 0, 1);
		u64 load[3], own, left, here, there;
		bool sync = n & 1, bias = n & 2, taken;
		u64 bias_pct = bias ? (sd->imbalance_pct - 100) / 2 : 0;
		unsigned reason, to;

		for (unsigned i = 0; i < 3; i++) {
			dice = dice * 6364136223846793005ull + 1442695040888963407ull;
			load[i] = (dice >> 33) % (n & 4 ? 12 : 300);
		}
		own = t->fair.avg.load_avg = load[2] / 2;
		rq_of(m, 0)->fair.avg.load_avg = load[0];
		rq_of(m, 2)->fair.avg.load_avg = load[1];
		left = waker->fair.avg.load_avg = load[2] / 3;
		set_feature(m, bias ? "WA_BIAS" : "NO_WA_BIAS");
		here = load[0] + own;
		there = load[1] > own ? load[1] - own : 0;
		if (sync && left > load[0])
			taken = true;
		else
			/* About to sleep, the waker wins where both are equal. */
			taken = (here - (sync ? left : 0)) * 100 < there * (100 + bias_pct) + sync;
		waker->last_wakee = t;
		waker->wakee_flips = t->wakee_flips = 0;
		t->recent_used_cpu = 2;
		/* Every CPU is taken, so the search chooses what is aimed at. */
		reason = SELECT_WAKE | (sync ? SELECT_SYNC : 0);
		host_lock(&rq_of(m, 2)->lock);
		to = fair_select_cpu(rq_of(m, 2), t, 0, reason);
		host_unlock(&rq_of(m, 2)->lock);
		assert_int_equal(to < 2, taken);
	}
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_waker_about_to_sleep_leaves_its_cpu_to_the_wakee),
		cmocka_unit_test(a_dispatcher_is_known_by_its_flips),
		cmocka_unit_test(its_own_cpu_goes_before_the_search),
		cmocka_unit_test(the_cpu_before_its_own_is_tried_next),
		cmocka_unit_test(the_search_ends_after_so_many_cpus),
		cmocka_unit_test(without_an_idle_core_the_other_thread_of_its_own_is_taken),
		cmocka_unit_test(a_core_that_idles_is_made_known),
		cmocka_unit_test(a_cpu_with_idle_policy_tasks_counts_as_idle),
		cmocka_unit_test(the_search_respects_affinity),
		cmocka_unit_test(sis_machine_finds_the_nearest_idle_cpu_of_all),
		cmocka_unit_test(a_search_that_found_cpu_0_ends),
		cmocka_unit_test(a_node_keeps_a_few_before_forks_spread),
		cmocka_unit_test(
			of_idle_cpus_a_fork_takes_the_one_that_idles_since_the_shortest_time),
		cmocka_unit_test(a_fork_leaves_a_half_that_is_clearly_more_loaded),
		cmocka_unit_test(a_waker_about_to_sleep_takes_its_load_along),
		cmocka_unit_test(a_fork_goes_to_the_idlest_of_all_caches),
		cmocka_unit_test(flips_are_forgotten),
		cmocka_unit_test(a_thread_it_may_not_use_is_passed_over),
		cmocka_unit_test(a_fork_does_not_mind_who_lacks_capacity),
		cmocka_unit_test(its_own_free_cpu_goes_before_a_search_from_the_wakers),
		cmocka_unit_test(the_search_of_a_node_starts_behind_the_aim),
		cmocka_unit_test(a_flip_is_another_wakee_than_the_last),
		cmocka_unit_test(the_wakers_cpu_is_taken_if_it_would_be_less_loaded),
	};

	return cmocka_run_group_tests_name("placement", tests, NULL, NULL);
}
