/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Several CPUs: domains, placement, balancing; golden numbers: docs/sources.md.
 */
#include <string.h>

#include "smp.h"

/* --- topology ------------------------------------------------------------- */

static void domains_follow_the_topology_bottom_up(void **state)
{
	static const char *const names[] = { "SMT", "MC", "DIE", "NUMA" };
	static const u32 spans[] = { 2, 4, 8, 16 }, pct[] = { 110, 117, 117, 117 };
	static const u32 tries[] = { 0, 1, 1, 2 };
	struct machine *m = machine_of(2, 2, 2, 2, "cfs");
	unsigned level = 0;
	struct domain *sd;

	(void)state;
	for_each_domain(sd, &m->s->rq[5]) {
		assert_string_equal(sd->name, names[level]);
		assert_int_equal(sd->span->weight, spans[level]);
		assert_int_equal(sd->imbalance_pct, pct[level]);
		assert_int_equal(sd->cache_nice_tries, tries[level]);
		assert_int_equal(sd->min_interval_ms, spans[level]);
		assert_int_equal(sd->max_interval_ms, 2 * spans[level]);
		assert_true(cpumask_test(&sd->span->cpus, 5));
		assert_true(cpumask_test(&sd->parts->cpus, 5));
		level++;
	}
	assert_int_equal(level, 4);
	assert_int_equal(m->s->rq[5].llc_id, 4);
	assert_int_equal(m->s->rq[5].llc_size, 4);
	machine_free(m);
}

static void levels_with_nothing_to_balance_are_left_out(void **state)
{
	struct machine *m = machine_of(1, 1, 4, 1, "cfs");
	struct domain *sd = m->s->rq[0].domains;

	(void)state;
	assert_string_equal(sd->name, "MC");
	assert_null(sd->parent);
	assert_ptr_equal(m->s->rq[0].llc, sd);
	machine_free(m);
	m = machine_of(1, 1, 1, 1, "cfs");
	assert_null(m->s->rq[0].domains);
	machine_free(m);
}

static void a_cache_that_spans_nodes_is_cut_at_them(void **state)
{
	struct sched_cpu_desc desc[4] = {
		{ 0, 0, 0, 0 }, { 1, 0, 0, 0 }, { 2, 0, 0, 1 }, { 3, 0, 0, 1 }
	};
	struct machine *m = machine_new_on(4, 1000, desc, NULL);

	(void)state;
	assert_int_equal(m->s->rq[3].llc_size, 2);
	assert_string_equal(domain_of(m, 3, 1)->name, "NUMA");
	machine_free(m);
}

static void the_parts_of_a_domain_are_a_circle_with_its_cpu_first(void **state)
{
	struct machine *m = machine_of(1, 4, 2, 1, "cfs");
	struct domain *sd = domain_of(m, 5, 1);
	struct cpumask seen = cpumask_none();
	struct group *g = sd->parts;
	unsigned n = 0;

	(void)state;
	assert_int_equal(g->first, 4);
	do {
		assert_false(cpumask_intersects(&seen, &g->cpus));
		seen = cpumask_or(&seen, &g->cpus);
		n++;
	} while ((g = g->next) != sd->parts);
	assert_int_equal(n, 4);
	assert_true(cpumask_equal(&seen, &sd->span->cpus));
	machine_free(m);
}

static void numa_imbalance_allows_a_task_per_llc_or_an_eighth(void **state)
{
	struct machine *m = machine_of(2, 1, 16, 1, "cfs");

	(void)state;
	assert_int_equal(domain_of(m, 0, 1)->imb_numa_nr, 2); /* two LLCs, one per node */
	machine_free(m);
	m = machine_of(2, 4, 4, 1, "cfs");
	assert_int_equal(domain_of(m, 0, 1)->imb_numa_nr, 4);
	assert_int_equal(domain_of(m, 0, 2)->imb_numa_nr, 4);
	machine_free(m);
}

/* --- intervals ------------------------------------------------------------ */

static void balance_intervals_are_golden(void **state)
{
	static const struct {
		unsigned hz, span;
		u64 idle, busy;
	} golden[] = {
		{ 1000, 2, 2, 31 }, { 1000, 4, 4, 63 }, { 1000, 8, 8, 127 },
		{ 250, 2, 1, 7 },   { 250, 4, 1, 15 },	{ 250, 8, 2, 31 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		struct machine *m = machine_new(8, golden[i].hz);
		struct domain sd = *m->s->rq[0].domains;

		sd.balance_interval_ms = golden[i].span;
		assert_int_equal(balance_interval(m->s, &sd, false), golden[i].idle);
		assert_int_equal(balance_interval(m->s, &sd, true), golden[i].busy);
		machine_free(m);
	}
}

/* --- placement ------------------------------------------------------------ */

static void forks_spread_over_nodes_caches_and_cores(void **state)
{
	struct machine *m = machine_of(2, 2, 2, 2, "cfs");
	unsigned per_node[2] = { 0 }, per_llc[4] = { 0 }, per_core[8] = { 0 };

	(void)state;
	for (unsigned n = 0; n < 8; n++) {
		struct task *t = spawn_nice(m, "t", 0);

		per_node[t->cpu / 8]++;
		per_llc[t->cpu / 4]++;
		per_core[t->cpu / 2]++;
		tick(m);
	}
	assert_int_equal(per_node[0], 4);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(per_llc[i], 2);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(per_core[i], 1);
	machine_free(m);
}

static void a_wakee_finds_an_idle_cpu_that_shares_its_cache(void **state)
{
	struct machine *m = machine_of(1, 2, 4, 1, "cfs");
	struct cpumask first_llc = cpumask_first_n(4);
	struct task *sleeper = spawn_nice(m, "sleeper", 0), *t;

	(void)state;
	sched_set_affinity(m->s, sleeper, &first_llc);
	settle(m);
	advance(m, MS);
	block(m, sleeper->cpu, TASK_INTERRUPTIBLE);
	/* Another task took its CPU. */
	t = spawn_nice(m, "t", 0);
	sched_set_affinity(m->s, t, &(struct cpumask){ { BIT(sleeper->cpu) } });
	settle(m);
	tick(m);
	wake(m, sleeper, t->cpu);
	assert_int_not_equal(sleeper->cpu, t->cpu);
	assert_int_equal(sleeper->cpu / 4, t->cpu / 4);
	assert_ptr_equal(running(m, sleeper->cpu), sleeper);
	sched_check(m->s);
	machine_free(m);
}

static void a_wakee_prefers_a_wholly_idle_core(void **state)
{
	struct machine *m = machine_of(1, 1, 2, 2, "cfs");
	struct cpumask zero = cpumask_of(0), all = cpumask_first_n(4);
	struct task *sleeper = spawn_nice(m, "sleeper", 0), *hog;

	(void)state;
	sched_set_affinity(m->s, sleeper, &zero);
	settle(m);
	advance(m, MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	hog = spawn_nice(m, "hog", 0);
	sched_set_affinity(m->s, hog, &zero);
	settle(m);
	sched_set_affinity(m->s, sleeper, &all);
	wake(m, sleeper, 0);
	assert_in_range(sleeper->cpu, 2, 3);
	machine_free(m);
}

static void wake_affine_compares_loads_as_golden(void **state)
{
	static const struct {
		u64 here, prev, task, capacity_here, capacity_prev;
		bool moves;
	} golden[] = {
		{ 1024, 2048, 1024, 1024, 1024, false },
		{ 1024, 3072, 1024, 1024, 1024, true },
		{ 0, 2048, 1024, 1024, 1024, true },
		{ 512, 2048, 512, 1024, 1024, true },
		{ 1024, 2048, 512, 1024, 1024, true },
		/* Real-time tasks take half of one of the CPUs. */
		{ 1024, 2048, 1024, 1024, 512, true },
		{ 1024, 3072, 1024, 512, 1024, false },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		struct machine *m = machine_of(1, 1, 2, 1, "cfs");
		struct cpumask zero = cpumask_of(0), one = cpumask_of(1), all = cpumask_first_n(2);
		struct task *t = spawn_nice(m, "t", 0), *waker, *other;

		sched_set_affinity(m->s, t, &one);
		settle(m);
		block(m, 1, TASK_INTERRUPTIBLE);
		other = spawn_nice(m, "other", 0);
		sched_set_affinity(m->s, other, &one);
		waker = spawn_nice(m, "waker", 0);
		sched_set_affinity(m->s, waker, &zero);
		settle(m);
		sched_set_affinity(m->s, t, &all);
		m->s->rq[0].fair.avg.load_avg = golden[i].here;
		m->s->rq[1].fair.avg.load_avg = golden[i].prev;
		t->fair.avg.load_avg = golden[i].task;
		m->s->rq[0].capacity = golden[i].capacity_here;
		m->s->rq[1].capacity = golden[i].capacity_prev;
		wake(m, t, 0);
		assert_int_equal(t->cpu, golden[i].moves ? 0 : 1);
		machine_free(m);
	}
}

static void a_dispatcher_does_not_draw_its_wakees(void **state)
{
	struct machine *m = machine_of(1, 2, 2, 1, "cfs");
	struct task *waker = spawn_nice(m, "waker", 0);
	struct cpumask far = { { 0xc } };
	struct task *t;

	(void)state;
	assert_int_equal(waker->cpu, 0);
	t = spawn_nice(m, "t", 0);
	sched_set_affinity(m->s, t, &far);
	settle(m);
	block(m, t->cpu, TASK_INTERRUPTIBLE);
	far = cpumask_first_n(4);
	sched_set_affinity(m->s, t, &far);
	waker->wakee_flips = 100;
	t->wakee_flips = 10;
	wake(m, t, 0);
	assert_in_range(t->cpu, 2, 3);
	machine_free(m);
}

static void an_exec_leaves_a_crowded_cpu(void **state)
{
	struct machine *m = machine_of(1, 1, 4, 1, "cfs");
	struct cpumask zero = cpumask_of(0), all = cpumask_first_n(4);
	struct task *a = spawn_nice(m, "A", 0), *b = spawn_nice(m, "B", 0);

	(void)state;
	sched_set_affinity(m->s, a, &zero);
	sched_set_affinity(m->s, b, &zero);
	settle(m);
	a = running(m, 0);
	sched_set_affinity(m->s, a, &all);
	assert_true(sched_task_exec(m->s, 0));
	settle(m);
	assert_int_not_equal(a->cpu, 0);
	assert_ptr_equal(running(m, a->cpu), a);
	sched_check(m->s);
	machine_free(m);
}

static void searches_get_shorter_as_the_cache_domain_fills(void **state)
{
	static const u64 util[] = { 0, 256, 512, 700, 768, 800, 876 };
	static const struct {
		unsigned llc;
		u32 scan[7];
	} golden[] = {
		{ 4, { 4, 3, 2, 1, 0, 0, 0 } },
		{ 8, { 8, 7, 5, 2, 1, 1, 0 } },
		{ 16, { 16, 14, 10, 5, 3, 2, 0 } },
		{ 32, { 32, 29, 21, 11, 7, 5, 0 } },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++)
		for (unsigned k = 0; k < ARRAY_SIZE(util); k++) {
			struct machine *m = machine_of(1, 1, golden[i].llc, 1, "cfs");

			for (unsigned cpu = 0; cpu < golden[i].llc; cpu++) {
				m->s->rq[cpu].fair.avg.util_avg = util[k];
				m->s->rq[cpu].fair.avg.last_update = m->now + MS;
			}
			/* A tick of CPU 0 that is due measures its domain. */
			m->now += MS;
			sched_tick(m->s, 0);
			assert_int_equal(m->s->rq[0].llc->span->nr_idle_scan, golden[i].scan[k]);
			machine_free(m);
		}
}

/* --- balancing ------------------------------------------------------------ */

/* Starts @nr hogs on CPU 0, then allows them to run anywhere. */
static void crowd_cpu_0(struct machine *m, unsigned nr)
{
	struct cpumask zero = cpumask_of(0), all = cpumask_first_n(m->nr_cpus);
	struct task *t[32];

	for (unsigned i = 0; i < nr; i++) {
		t[i] = spawn_nice(m, "hog", 0);
		sched_set_affinity(m->s, t[i], &zero);
		settle(m);
	}
	assert_int_equal(m->s->rq[0].nr_running, nr);
	for (unsigned i = 0; i < nr; i++)
		sched_set_affinity(m->s, t[i], &all);
}

static void a_crowd_spreads_over_the_machine(void **state)
{
	static const unsigned shapes[][4] = { { 1, 1, 8, 1 }, { 1, 2, 2, 2 }, { 2, 2, 2, 1 } };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(shapes); i++) {
		struct machine *m =
			machine_of(shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3], "cfs");

		crowd_cpu_0(m, 16);
		for (unsigned n = 0; n < 500; n++) {
			tick(m);
			sched_check(m->s);
		}
		for (unsigned cpu = 0; cpu < 8; cpu++)
			assert_in_range(m->s->rq[cpu].nr_running, 1, 3);
		machine_free(m);
	}
}

static void three_hogs_on_two_cpus_share_fairly_in_the_long_run(void **state)
{
	struct machine *m = machine_of(1, 1, 2, 1, "cfs");
	struct task *t[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		t[i] = spawn_nice(m, "hog", 0);
	for (unsigned n = 0; n < 60000; n++)
		tick(m);
	for (unsigned i = 0; i < 3; i++) {
		double share = (double)sched_task_runtime(m->s, t[i]) / (60 * NS_PER_SEC);

		if (share < 0.60 || share > 0.74)
			fail_msg("hog %u got %f", i, share);
	}
	machine_free(m);
}

static void an_idle_cpu_takes_half_and_not_more(void **state)
{
	struct machine *m = machine_of(1, 1, 2, 1, "cfs");

	(void)state;
	crowd_cpu_0(m, 6);
	for (unsigned n = 0; n < 500; n++) {
		tick(m);
		assert_in_range(m->s->rq[1].nr_running, 0, 3);
	}
	assert_int_equal(m->s->rq[1].nr_running, 3);
	machine_free(m);
}

static void cache_hot_tasks_move_after_enough_failures(void **state)
{
	struct machine *m = machine_of(1, 1, 2, 1, "cfs");

	(void)state;
	set_tunable(m, "migration_cost_ns", "4000000000");
	crowd_cpu_0(m, 4);
	for (unsigned n = 0; n < 1000; n++)
		tick(m);
	assert_in_range(m->s->rq[1].nr_running, 1, 3);
	machine_free(m);
}

static void an_idle_cpu_pulls_before_it_idles(void **state)
{
	struct machine *m = machine_of(1, 1, 2, 1, "cfs");
	struct task *on_0, *waiting;

	(void)state;
	crowd_cpu_0(m, 2);
	on_0 = running(m, 0);
	waiting = spawn_nice(m, "short", 0);
	assert_int_equal(waiting->cpu, 1);
	advance(m, 2 * MS);
	block(m, 1, TASK_INTERRUPTIBLE);
	assert_ptr_not_equal(running(m, 1), &m->idle[1]);
	assert_task(running(m, 0), on_0);
	assert_true(m->s->rq[1].idle_stamp == 0);
	machine_free(m);
}

static void cache_hot_tasks_stay(void **state)
{
	struct machine *m = machine_of(1, 1, 2, 1, "cfs");
	struct task *waiting;

	(void)state;
	set_tunable(m, "migration_cost_ns", "4000000000");
	crowd_cpu_0(m, 2);
	waiting = spawn_nice(m, "short", 0);
	advance(m, 2 * MS);
	block(m, waiting->cpu, TASK_INTERRUPTIBLE);
	assert_task(running(m, 1), &m->idle[1]);
	machine_free(m);
}

static void pinned_tasks_stay_and_do_not_stop_the_others(void **state)
{
	struct machine *m = machine_of(1, 1, 4, 1, "cfs");
	struct cpumask zero = cpumask_of(0);
	struct task *pinned[4];
	u64 moves = 0;

	(void)state;
	crowd_cpu_0(m, 4);
	for (unsigned i = 0; i < 4; i++) {
		pinned[i] = spawn_nice(m, "pinned", 0);
		sched_set_affinity(m->s, pinned[i], &zero);
		settle(m);
		moves += pinned[i]->fair.nr_migrations;
	}
	for (unsigned n = 0; n < 1000; n++)
		tick(m);
	/* They do not move away and come back, either. */
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(pinned[i]->cpu, 0);
		moves -= pinned[i]->fair.nr_migrations;
	}
	assert_int_equal(moves, 0);
	for (unsigned cpu = 1; cpu < 4; cpu++)
		assert_in_range(m->s->rq[cpu].nr_running, 1, 2);
	machine_free(m);
}

/* CPU 1 is a second ahead in virtual time; a short sleeper's lag does not change. */
static void a_sleeper_that_changes_cpu_keeps_its_place_in_virtual_time(void **state)
{
	struct machine *m = machine_of(1, 1, 2, 1, "cfs");
	struct cpumask zero = cpumask_of(0), one = cpumask_of(1);
	struct task *hog = spawn_nice(m, "hog", 0), *sleeper;
	s64 lag;

	(void)state;
	sched_set_affinity(m->s, hog, &one);
	settle(m);
	for (unsigned n = 0; n < 1000; n++)
		tick(m);
	sleeper = spawn_nice(m, "sleeper", 0);
	sched_set_affinity(m->s, sleeper, &zero);
	settle(m);
	sched_set_affinity(m->s, spawn_nice(m, "beside", 0), &zero);
	settle(m);
	while (running(m, 0) != sleeper)
		tick(m);
	advance(m, MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	lag = (s64)(sleeper->fair.vruntime - cfs_queue(&m->s->rq[0].fair)->min_vruntime);
	assert_true(lag > 0);
	sched_set_affinity(m->s, sleeper, &one);
	wake(m, sleeper, 0);
	assert_int_equal(sleeper->cpu, 1);
	assert_int_equal((s64)(sleeper->fair.vruntime - cfs_queue(&m->s->rq[1].fair)->min_vruntime),
			 lag);
	machine_free(m);
}

static void the_averages_of_idle_cpus_decay(void **state)
{
	struct machine *m = machine_of(1, 1, 2, 1, "cfs");
	struct task *t = spawn_nice(m, "busy", 0), *other = spawn_nice(m, "short", 0);

	(void)state;
	for (unsigned n = 0; n < 100; n++)
		tick(m);
	assert_int_not_equal(t->cpu, other->cpu);
	block(m, other->cpu, TASK_INTERRUPTIBLE);
	for (unsigned n = 0; n < 1000; n++)
		tick(m);
	assert_int_equal(m->s->rq[other->cpu].fair.avg.util_avg, 0);
	machine_free(m);
}

static void a_task_that_sleeps_before_it_is_pushed_is_not_pushed_later(void **state)
{
	struct machine *m = machine_of(1, 1, 2, 1, "cfs");
	struct cpumask zero = cpumask_of(0), one = cpumask_of(1);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	sched_set_affinity(m->s, t, &zero);
	settle(m);
	assert_task(running(m, 0), t);
	sched_set_affinity(m->s, t, &one); /* at its next switch */
	assert_int_equal(t->push_cpu, 1);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_int_equal(t->push_cpu, PUSH_NONE);
	wake(m, t, 0);
	assert_task(running(m, 1), t);
	machine_free(m);
}

static void a_change_of_affinity_moves_a_running_task_at_once(void **state)
{
	struct machine *m = machine_of(1, 1, 4, 1, "cfs");
	struct task *t = spawn_nice(m, "t", 0);
	struct cpumask none = cpumask_none(), mask;

	(void)state;
	for (unsigned cpu = 0; cpu < 4; cpu++) {
		mask = cpumask_of(cpu);
		assert_int_equal(sched_set_affinity(m->s, t, &mask), 0);
		settle(m);
		assert_task(running(m, cpu), t);
		sched_check(m->s);
	}
	assert_int_equal(sched_set_affinity(m->s, t, &none), -22);
	sched_get_affinity(m->s, t, &mask);
	assert_int_equal(mask.bits[0], 8);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(domains_follow_the_topology_bottom_up),
		cmocka_unit_test(levels_with_nothing_to_balance_are_left_out),
		cmocka_unit_test(a_cache_that_spans_nodes_is_cut_at_them),
		cmocka_unit_test(the_parts_of_a_domain_are_a_circle_with_its_cpu_first),
		cmocka_unit_test(numa_imbalance_allows_a_task_per_llc_or_an_eighth),
		cmocka_unit_test(balance_intervals_are_golden),
		cmocka_unit_test(forks_spread_over_nodes_caches_and_cores),
		cmocka_unit_test(a_wakee_finds_an_idle_cpu_that_shares_its_cache),
		cmocka_unit_test(a_wakee_prefers_a_wholly_idle_core),
		cmocka_unit_test(wake_affine_compares_loads_as_golden),
		cmocka_unit_test(a_dispatcher_does_not_draw_its_wakees),
		cmocka_unit_test(an_exec_leaves_a_crowded_cpu),
		cmocka_unit_test(searches_get_shorter_as_the_cache_domain_fills),
		cmocka_unit_test(a_crowd_spreads_over_the_machine),
		cmocka_unit_test(three_hogs_on_two_cpus_share_fairly_in_the_long_run),
		cmocka_unit_test(an_idle_cpu_takes_half_and_not_more),
		cmocka_unit_test(cache_hot_tasks_move_after_enough_failures),
		cmocka_unit_test(an_idle_cpu_pulls_before_it_idles),
		cmocka_unit_test(cache_hot_tasks_stay),
		cmocka_unit_test(pinned_tasks_stay_and_do_not_stop_the_others),
		cmocka_unit_test(a_sleeper_that_changes_cpu_keeps_its_place_in_virtual_time),
		cmocka_unit_test(the_averages_of_idle_cpus_decay),
		cmocka_unit_test(a_task_that_sleeps_before_it_is_pushed_is_not_pushed_later),
		cmocka_unit_test(a_change_of_affinity_moves_a_running_task_at_once),
	};

	return cmocka_run_group_tests_name("smp", tests, NULL, NULL);
}
