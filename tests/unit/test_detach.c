/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A balancing pass: what it takes, what it leaves, and what it notes afterwards, as tables of the
 * rules (docs/sources.md, Linux 6.1). See also test_busiest.c: from where, and how much.
 */
#include "group.h"
#include "smp.h"
#include "sched/balance/pass.h"
#include "sched/fair/core/pelt.h"

static const enum idle_type all_types[] = { CPU_IDLE, CPU_BUSY, CPU_NEWLY_IDLE };

/* The averages of @cpu, as of now. */
static void set_averages(struct machine *m, unsigned cpu, u64 load, u64 util)
{
	struct pelt *avg = &rq_of(m, cpu)->fair.avg;

	avg->load_avg = load;
	avg->util_avg = avg->runnable_avg = util;
	avg->last_update = m->now;
}

static struct machine *recorded(struct machine *m)
{
	sched_trace_set(m->s, DECISION_EVENTS & ~FAIR_DECISION_EVENTS);
	m->nr_trace = 0;
	return m;
}

static int pass(struct machine *m, unsigned level, enum idle_type idle)
{
	return balance_domain(rq_of(m, 0), domain_of(m, 0, level), idle);
}

/* The last record of a pass. */
static const struct event_sched_decision_balance *result(struct machine *m)
{
	return last_record(m, EVENT_ID_sched_decision_balance);
}

/* --- which tasks move -------------------------------------------------------------------- */

/*
 * A task that ran a moment ago stays, because of its cache; not if the CPU idles for long already,
 * and not after more failures than the level has patience for. It is counted, if anything is.
 */
static void who_is_hot_moves_by_table(void **state)
{
	(void)state;
	for (unsigned type = 0; type < ARRAY_SIZE(all_types); type++)
		for (unsigned failed = 0; failed < 3; failed++)
			for (unsigned how = 0; how < 4; how++) {
				bool hot = how & 1, counted = how & 2;
				enum idle_type idle = all_types[type];
				struct machine *m = cold_machine(1, 1, 2, 1);
				struct domain *sd = domain_of(m, 0, 0);
				bool stays = hot && idle != CPU_IDLE && failed < 2;
				struct task *t;

				crowd(m, 1, 5, 3);
				crowd(m, 0, idle == CPU_BUSY, 1);
				set_averages(m, 1, 5120, 1024);
				set_tunable(m, "migration_cost_ns", "1000000");
				set_tunable(m, "sched_schedstats", counted ? "1" : "0");
				list_for_each(t, &rq_of(m, 1)->fair_tasks, link)
					t->fair.exec_start = m->now - (hot ? 1000 : MS);
				rq_of(m, 1)->clock = m->now;
				assert_int_equal(sd->cache_nice_tries, 1);
				sd->nr_balance_failed = failed;
				assert_int_equal(pass(m, 0, idle) == 0, stays);
				assert_int_equal(!!sd->stat[idle].hot_gained,
						 counted && hot && !stays && idle != CPU_IDLE);
				/* A newly idle pass is a part of a switch. */
				if (idle == CPU_NEWLY_IDLE)
					switch_cpu(m, 0, true);
				settle(m);
				sched_check(m->s);
				machine_free(m);
			}
}

/* CPUs 0 and 1, behind a cache of their own, have room for 148 of what 2 and 3 do. */
static void want_utilisation(struct machine *m)
{
	set_averages(m, 0, 0, 900);
	set_averages(m, 1, 0, 1000);
	set_averages(m, 2, 8192, 1024);
	set_averages(m, 3, 1024, 1024);
	recorded(m);
}

/*
 * Room for utilisation is what one cache offers another: a task moves if its own fits into what is
 * left of it, whatever its load. What was recorded is compared with that, task by task.
 */
static void utilisation_moves_as_far_as_it_fits(void **state)
{
	static const u64 utils[] = { 90, 40, 149, 100, 8, 60, 3 };
	struct machine *m = cold_machine(1, 2, 2, 1);
	unsigned nr_moved = 0, nr_left = 0, n = 0;
	s64 left = 148;
	struct task *t;

	(void)state;
	crowd(m, 2, 8, 0xf);
	crowd(m, 3, 1, BIT(3));
	list_for_each(t, &rq_of(m, 2)->fair_tasks, link) {
		t->fair.avg.load_avg = n % 2 ? 1 : 1024;
		if (t != running(m, 2))
			t->fair.avg.util_avg = utils[n++];
	}
	want_utilisation(m);
	pass(m, 1, CPU_IDLE);
	assert_int_equal(result(m)->amount, MIGRATE_UTIL);
	assert_int_equal(result(m)->imbalance, left);
	for (unsigned i = 0; i < m->nr_trace; i++) {
		const struct event_sched_decision_movable *row = (const void *)m->trace[i].bytes;

		if (m->trace[i].common.type != EVENT_ID_sched_decision_movable ||
		    (row->flags & DECISION_MOVABLE_RUNS))
			continue;
		assert_int_equal(row->left, left);
		assert_int_equal(row->fate, (s64)row->util > left ? FATE_too_big : FATE_moved);
		left -= row->fate == FATE_moved ? (s64)row->util : 0;
		nr_moved += row->fate == FATE_moved;
		nr_left += row->fate == FATE_too_big;
	}
	assert_true(nr_moved > 1 && nr_left > 1);
	settle(m);
	machine_free(m);
}

/*
 * A task that slept is as big as its estimate. Each failure halves what counts of it, but all of it
 * is what has moved.
 */
static void what_slept_counts_by_its_estimate_and_fits_after_failures(void **state)
{
	(void)state;
	for (unsigned failed = 0; failed < 3; failed++) {
		struct machine *m = cold_machine(1, 2, 2, 1);
		struct task *t;

		crowd(m, 2, 8, 0xf);
		crowd(m, 3, 1, BIT(3));
		list_for_each(t, &rq_of(m, 2)->fair_tasks, link) {
			t->fair.avg.util_avg = 10;
			rq_of(m, 2)->fair.avg.util_est_enqueued += 500 - task_util_est(&t->fair);
			t->fair.avg.util_est_ewma = 500;
		}
		want_utilisation(m);
		domain_of(m, 0, 1)->nr_balance_failed = failed;
		/* 500, 250 and 125, where there is room for 148. */
		assert_int_equal(pass(m, 1, CPU_IDLE), failed == 2);
		assert_int_equal(result(m)->left, failed == 2 ? 148 - 500 : 148);
		settle(m);
		machine_free(m);
	}
}

/* A busy CPU takes what is too much until there is nothing: it looks at the last one as well. */
static void a_busy_cpu_looks_at_the_last_one_too(void **state)
{
	struct machine *m = cold_machine(1, 1, 2, 1);
	struct task *first;

	(void)state;
	crowd(m, 0, 2, 1);
	crowd(m, 1, 3, 3);
	first = running(m, 1);
	list_del(&first->link);
	list_add_head(&rq_of(m, 1)->fair_tasks, &first->link);
	set_averages(m, 0, 2000, 1024);
	set_averages(m, 1, 9000, 1024);
	recorded(m);
	assert_int_equal(pass(m, 0, CPU_BUSY), 2);
	assert_true(result(m)->left > 0);
	assert_int_equal(result(m)->nr_tasks, 3);
	settle(m);
	machine_free(m);
}

/*
 * A throttled group hides its tasks, and those of groups within it: on the CPU where they wait, or
 * on the one to which they would come. They stay, and the record has the reason. Nothing failed:
 * the pass leaves the domain as it is, as if affinity held all.
 */
static void hidden_tasks_stay_wherever_they_are_hidden(void **state)
{
	(void)state;
	for (unsigned where = 0; where < 4; where++)
		for (unsigned above = 0; above < 2; above++) {
			struct machine *m = cold_machine(1, 1, 2, 1);
			struct task_group *parent = new_group(m, NULL), *tg = new_group(m, parent);
			unsigned nr = 0;

			for (unsigned n = 0; n < 4; n++) {
				struct task *t = spawn_in(m, tg, 0);

				allow(m, t, cpumask_of(1));
				allow(m, t, cpumask_first_n(2));
			}
			set_averages(m, 1, 4096, 1024);
			for (unsigned cpu = 0; cpu < 2; cpu++) {
				rq_of(m, cpu)->throttles = where & BIT(cpu);
				group_queue(m->s, above ? parent : tg, cpu)->throttled =
					where & BIT(cpu);
			}
			recorded(m);
			assert_int_equal(pass(m, 0, CPU_IDLE), where ? 0 : 2);
			for (; nr < result(m)->nr_tasks; nr++) {
				const struct event_sched_decision_movable *row =
					record_of(m, EVENT_ID_sched_decision_movable, nr);

				assert_int_equal(row->fate == FATE_throttled, where != 0);
				assert_int_equal(!!(row->flags & DECISION_MOVABLE_THROTTLED),
						 where != 0);
			}
			assert_true(nr > 1);
			if (where && result(m)->outcome != OUTCOME_pinned)
				fail_msg("all_pinned is 0 after %u hidden tasks, where 1 is right: "
					 "none came beyond queue and affinity",
					 nr);
			for (unsigned cpu = 0; cpu < 2; cpu++)
				group_queue(m->s, above ? parent : tg, cpu)->throttled = false;
			settle(m);
			sched_check(m->s);
			machine_free(m);
		}
}

/* --- tasks that stay ---------------------------------------------------------------------- */

/* The fates of the tasks that the last pass looked at, as a mask. */
static u32 fates(struct machine *m)
{
	u32 found = 0;

	for (unsigned nr = 0; nr < result(m)->nr_tasks; nr++) {
		const struct event_sched_decision_movable *row =
			record_of(m, EVENT_ID_sched_decision_movable, nr);

		found |= BIT(row->fate);
	}
	return found;
}

/* A task that runs could come, so affinity does not hold all: though those that wait are pinned. */
static void a_task_that_runs_is_not_pinned(void **state)
{
	struct machine *m = cold_machine(1, 1, 2, 1);

	(void)state;
	crowd(m, 1, 3, BIT(1));
	allow(m, running(m, 1), cpumask_first_n(2));
	recorded(m);
	assert_int_equal(pass(m, 0, CPU_IDLE), 0);
	assert_int_equal(fates(m), BIT(FATE_pinned) | BIT(FATE_running));
	if (result(m)->outcome != OUTCOME_failed)
		fail_msg("all_pinned is 1 after two pinned tasks and one that runs and may come, "
			 "where "
			 "0 is right");
	machine_free(m);
}

/* A task both hidden and pinned stays for its queue: nobody looks for another CPU for it. */
static void a_queue_is_looked_at_before_affinity(void **state)
{
	struct machine *m = cold_machine(1, 1, 2, 1);
	struct task_group *tg = new_group(m, NULL);

	(void)state;
	for (unsigned n = 0; n < 3; n++)
		allow(m, spawn_in(m, tg, 0), cpumask_of(1));
	set_averages(m, 1, 4096, 1024);
	rq_of(m, 1)->throttles = true;
	group_queue(m->s, tg, 1)->throttled = true;
	recorded(m);
	assert_int_equal(pass(m, 0, CPU_IDLE), 0);
	if (fates(m) != BIT(FATE_throttled))
		fail_msg("tasks of a throttled group that are pinned, too, have the fates %#x, "
			 "where "
			 "%#lx is right: the queue comes first",
			 fates(m), BIT(FATE_throttled));
	group_queue(m->s, tg, 1)->throttled = false;
	settle(m);
	machine_free(m);
}

static const char *name_of(u8 fate)
{
	return fate == FATE_moved	? "moved"
	       : fate == FATE_too_big	? "too big"
	       : fate == FATE_too_small ? "too small"
					: "another";
}

/* Of an imbalance of 3500 in load: does a task of @load move, with or without LB_MIN? */
static void check_size(u64 load, bool lb_min, enum task_fate right)
{
	struct machine *m = cold_machine(1, 1, 2, 1);
	const struct event_sched_decision_movable *row;
	struct task *t;

	crowd(m, 0, 2, 1);
	crowd(m, 1, 3, 3);
	list_del(&running(m, 1)->link);
	list_add_head(&rq_of(m, 1)->fair_tasks, &running(m, 1)->link);
	set_feature(m, lb_min ? "LB_MIN" : "NO_LB_MIN");
	list_for_each(t, &rq_of(m, 1)->fair_tasks, link)
		t->fair.avg.load_avg = load;
	set_averages(m, 0, 2000, 1024);
	set_averages(m, 1, 9000, 1024);
	recorded(m);
	pass(m, 0, CPU_BUSY);
	assert_int_equal(result(m)->imbalance, 3500);
	row = record_of(m, EVENT_ID_sched_decision_movable, 0);
	if (row->fate != right)
		fail_msg("with %s a load of %lu, of an imbalance of 3500, is %s, where %s is right",
			 lb_min ? "LB_MIN" : "NO_LB_MIN", load, name_of(row->fate), name_of(right));
	settle(m);
	machine_free(m);
}

static void a_load_is_too_big_or_too_small_beyond_its_border(void **state)
{
	(void)state;
	check_size(3500, false, FATE_moved);
	check_size(3501, false, FATE_too_big);
	check_size(15, true, FATE_too_small);
	check_size(16, true, FATE_moved);
	check_size(15, false, FATE_moved);
}

/* --- pushing the running task ------------------------------------------------------------ */

/*
 * The only task of CPU 1, which has lost most of its capacity, is asked to come. Every attempt is
 * counted, and that it failed: because of its affinity, or because it was asked already.
 */
static void attempts_to_push_and_failures_are_counted(void **state)
{
	enum { COMES, PINNED, ASKED, CASES };

	(void)state;
	for (unsigned what = 0; what < CASES; what++)
		for (unsigned counted = 0; counted < 2; counted++) {
			struct machine *m = cold_machine(1, 2, 1, 1);
			struct domain *sd = domain_of(m, 0, 0);

			crowd(m, 1, 1, what == PINNED ? BIT(1) : 3);
			leave_capacity(m, 1, 400);
			set_averages(m, 1, 900, 400);
			if (what == ASKED)
				running(m, 1)->push_cpu = 1;
			set_tunable(m, "sched_schedstats", counted ? "1" : "0");
			recorded(m);
			assert_int_equal(pass(m, 0, CPU_IDLE), 0);
			assert_int_equal(result(m)->outcome,
					 what == COMES ? OUTCOME_pushed : OUTCOME_failed);
			assert_int_equal(sd->alb_count, counted);
			assert_int_equal(sd->alb_failed, counted && what != COMES);
			machine_free(m);
		}
}

/* --- what is noted afterwards ------------------------------------------------------------ */

/* Nothing to do, or nothing that affinity lets go: the pass ends failures, and is counted. */
static void a_balanced_pass_ends_the_failures(void **state)
{
	(void)state;
	for (unsigned pinned = 0; pinned < 2; pinned++)
		for (unsigned counted = 0; counted < 2; counted++) {
			struct machine *m = cold_machine(1, 1, 2, 1);
			struct domain *sd = domain_of(m, 0, 0);
			struct balance_stat before;

			crowd(m, 1, pinned ? 3 : 1, BIT(1));
			set_tunable(m, "sched_schedstats", counted ? "1" : "0");
			before = sd->stat[CPU_IDLE];
			sd->nr_balance_failed = 5;
			assert_int_equal(pass(m, 0, CPU_IDLE), 0);
			assert_int_equal(sd->nr_balance_failed, 0);
			assert_int_equal(sd->stat[CPU_IDLE].balanced - before.balanced, counted);
			assert_int_equal(sd->stat[CPU_IDLE].failed, before.failed);
			machine_free(m);
		}
}

/*
 * The level above has heard that affinity hindered this one. Only a pass that finds nothing to do
 * takes that back; one that moves tasks, or fails to, leaves it.
 */
static void only_a_pass_that_finds_nothing_takes_a_hint_back(void **state)
{
	enum { NOTHING, MOVES, FAILS, CASES };

	(void)state;
	for (unsigned what = 0; what < CASES; what++) {
		struct machine *m = cold_machine(1, 2, 2, 1);
		bool *hint = &domain_of(m, 0, 1)->parts->imbalance;
		struct task *t;

		crowd(m, 0, 1, 1);
		crowd(m, 1, what == NOTHING ? 1 : 4, 3);
		set_averages(m, 1, 4096, 1024);
		set_tunable(m, "migration_cost_ns", what == FAILS ? "1000000000" : "0");
		list_for_each(t, &rq_of(m, 1)->fair_tasks, link)
			t->fair.exec_start = m->now;
		*hint = true;
		assert_int_equal(pass(m, 0, CPU_BUSY) > 0, what == MOVES);
		assert_int_equal(domain_of(m, 0, 0)->stat[CPU_BUSY].failed > 0, what == FAILS);
		assert_int_equal(*hint, what != NOTHING);
		settle(m);
		machine_free(m);
	}
}

/* Nobody else has a task: that is the reason, whatever the CPU itself does. */
static void where_no_other_has_a_task_that_is_the_reason(void **state)
{
	(void)state;
	for (unsigned own = 0; own < 4; own++) {
		struct machine *m = cold_machine(1, 1, 2, 1);

		crowd(m, 0, own, 1);
		set_averages(m, 0, own * 1024, own ? 1024 : 0);
		recorded(m);
		assert_int_equal(pass(m, 0, own ? CPU_BUSY : CPU_IDLE), 0);
		assert_int_equal(result(m)->rule, BALANCE_no_other_tasks);
		assert_int_equal(result(m)->outcome, OUTCOME_balanced);
		machine_free(m);
	}
}

/*
 * Two caches of four CPUs, where @here tasks run behind the one and @there behind the other, each
 * on a CPU of its own: why does an idle CPU take one, or none?
 */
static enum balance_rule reason(bool spreads, unsigned here, unsigned there)
{
	if (!there)
		return BALANCE_no_other_tasks;
	if (spreads && there > here + 1)
		return BALANCE_spreads;
	return there > here + 1 ? BALANCE_idler_here : BALANCE_hardly_idler;
}

static void each_comparison_of_idle_cpus_has_its_reason(void **state)
{
	(void)state;
	for (unsigned spreads = 0; spreads < 2; spreads++)
		for (unsigned n = 0; n < 4 * 5; n++) {
			struct machine *m = cold_machine(1, 2, 4, 1);
			unsigned here = n / 5, there = n % 5;
			enum balance_rule right = reason(spreads, here, there);
			bool moves = right == BALANCE_spreads || right == BALANCE_idler_here;

			if (!spreads)
				domain_of(m, 0, 0)->flags &= ~(u32)SD_PREFER_SIBLING;
			for (unsigned i = 0; i < here; i++)
				crowd(m, 1 + i, 1, 0xff);
			for (unsigned i = 0; i < there; i++)
				crowd(m, 4 + i, 1, 0xff);
			for (unsigned cpu = 0; cpu < 8; cpu++)
				set_averages(m, cpu, 100, 100);
			recorded(m);
			assert_int_equal(pass(m, 1, CPU_IDLE), 0); /* all of them run */
			assert_int_equal(result(m)->rule, right);
			assert_int_equal(result(m)->busiest, moves ? 4 : -1);
			assert_int_equal(result(m)->imbalance, moves ? (there - here) / 2 : 0);
			machine_free(m);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_hot_moves_by_table),
		cmocka_unit_test(utilisation_moves_as_far_as_it_fits),
		cmocka_unit_test(what_slept_counts_by_its_estimate_and_fits_after_failures),
		cmocka_unit_test(a_busy_cpu_looks_at_the_last_one_too),
		cmocka_unit_test(hidden_tasks_stay_wherever_they_are_hidden),
		cmocka_unit_test(a_task_that_runs_is_not_pinned),
		cmocka_unit_test(a_queue_is_looked_at_before_affinity),
		cmocka_unit_test(a_load_is_too_big_or_too_small_beyond_its_border),
		cmocka_unit_test(attempts_to_push_and_failures_are_counted),
		cmocka_unit_test(a_balanced_pass_ends_the_failures),
		cmocka_unit_test(only_a_pass_that_finds_nothing_takes_a_hint_back),
		cmocka_unit_test(where_no_other_has_a_task_that_is_the_reason),
		cmocka_unit_test(each_comparison_of_idle_cpus_has_its_reason),
	};

	return cmocka_run_group_tests_name("detach", tests, NULL, NULL);
}
