/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BORE 2.2.8 on CFS against the golden numbers of docs/sources.md: scores, history, and the effect
 * of a score on virtual time and wakeups.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/errno.h"

#define BORE "bore-cfs"
#include "bore.h"
#include "group.h"

/* The score of a task that has run for @ns without a break. */
static unsigned score_after(struct machine *m, struct task *t, u64 ns)
{
	*burst_entity(&t->fair) = (struct burst){ .time = ns };
	policy(m)->hooks.charge(queue(m), &t->fair, 0);
	return burst_entity(&t->fair)->score;
}

/* --- scores --------------------------------------------------------------- */

static void scores_of_bursts_are_golden(void **state)
{
	static const struct {
		u64 ns, greed, penalty;
		unsigned score;
		u64 vruntime; /* virtual time of a nice-0 task for 1 ms */
	} golden[] = {
		{ 0, 0, 0, 0, 11536 },
		{ 1000, 11216, 0, 0, 11536 },
		{ 4095, 13311, 1290, 1, 0 },
		{ 4096, 13312, 1292, 1, 0 },
		{ 10000, 14562, 2869, 2, 18129 },
		{ 50000, 0, 0, 5, 0 },
		{ 100000, 17946, 7138, 6, 44035 },
		{ 500000, 0, 0, 9, 0 },
		{ 1000000, 21409, 11508, 11, 134383 },
		{ 2000000, 0, 0, 12, 0 },
		{ 4000000, 0, 0, 13, 0 },
		{ 5000000, 0, 0, 14, 0 },
		{ 8000000, 0, 0, 15, 0 },
		{ 10000000, 24772, 15751, 15, 328099 },
		{ 1 << 24, 0, 0, 16, 0 },
		{ 50000000, 0, 0, 18, 0 },
		{ 100000000, 28149, 20012, 19, 801879 },
		{ 200000000, 0, 0, 20, 1000000 },
		{ 500000000, 0, 0, 22, 0 },
		{ 1000000000, 31603, 24370, 23, 1946768 },
		{ 10000000000, 34984, 28635, 27, 4762790 },
		{ 100000000000, 0, 0, 32, 0 },
	};
	const struct burst_params params = { .offset = 12, .scale = 1292 };
	struct machine *m = bore_machine(1000);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		assert_int_equal(score_after(m, t, golden[i].ns), golden[i].score);
		if (golden[i].greed || !golden[i].ns) {
			assert_int_equal(burst_greed(golden[i].ns, 10), golden[i].greed);
			assert_int_equal(burst_penalty(&params, golden[i].ns, 10, 10),
					 golden[i].penalty);
		}
		if (golden[i].vruntime)
			assert_int_equal(burst_stretch(MS, burst_entity(&t->fair)->score),
					 golden[i].vruntime);
	}
	assert_int_equal(burst_stretch(MS, 39), 68266666);
	assert_int_equal(burst_greed(~0ull, 10), (64 << 10) + 1023);
	machine_free(m);
}

static void scores_begin_where_they_should(void **state)
{
	static const struct {
		unsigned score;
		u64 ns;
	} golden[] = {
		{ 1, 3672 },	    { 2, 6496 },	 { 5, 32160 },
		{ 10, 504832 },	    { 15, 7921664 },	 { 20, 124256256 },
		{ 25, 1948254208 }, { 30, 30534533120 }, { 39, 4202625499136 },
	};
	struct machine *m = bore_machine(1000);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		assert_int_equal(score_after(m, t, golden[i].ns), golden[i].score);
		assert_int_equal(score_after(m, t, golden[i].ns - 1), golden[i].score - 1);
	}
	assert_int_equal(score_after(m, t, ~0ull >> 1), 39);
	machine_free(m);
}

/* --- history --------------------------------------------------------------- */

static void the_past_is_smoothed_as_golden(void **state)
{
	static const struct {
		u64 burst_ms, past;
		unsigned score;
	} golden[] = {
		{ 1, 500000, 9 },    { 1, 750000, 10 },	  { 1, 875000, 10 },  { 100, 50437500, 18 },
		{ 1, 25718750, 17 }, { 1, 13359375, 15 }, { 1, 7179687, 14 },
	};
	struct machine *m = bore_machine(1000);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		/*
		 * The last piece of a burst belongs to it, although the task was not charged
		 * before.
		 */
		advance(m, golden[i].burst_ms * MS);
		block(m, 0, TASK_INTERRUPTIBLE);
		assert_int_equal(burst_entity(&t->fair)->past, golden[i].past);
		assert_int_equal(burst_entity(&t->fair)->score, golden[i].score);
		assert_int_equal(burst_entity(&t->fair)->time, 0);
		wake(m, t, 0);
		sched_check(m->s);
	}
	machine_free(m);
}

static void smoothness_is_how_slowly_a_burst_counts(void **state)
{
	static const u64 golden[] = { 8000000, 4000000, 2000000, 1000000 };

	(void)state;
	for (unsigned k = 0; k < ARRAY_SIZE(golden); k++) {
		struct machine *m = bore_machine(1000);
		struct task *t = spawn_nice(m, "t", 0);
		char text[2] = { (char)('0' + k), 0 };

		set_tunable(m, "sched_burst_smoothness", text);
		advance(m, 8 * MS);
		block(m, 0, TASK_INTERRUPTIBLE);
		assert_int_equal(burst_entity(&t->fair)->past, golden[k]);
		machine_free(m);
	}
}

static void the_score_is_that_of_the_longer_of_past_and_present(void **state)
{
	struct machine *m = bore_machine(1000);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	advance(m, 20 * MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	wake(m, t, 0);
	assert_int_equal(burst_entity(&t->fair)->worst, 10 * MS);
	for (unsigned ms = 1; ms <= 12; ms++) {
		tick(m);
		assert_int_equal(burst_entity(&t->fair)->time, ms * MS);
		assert_int_equal(burst_entity(&t->fair)->worst, max(10u, ms) * MS);
	}
	machine_free(m);
}

static void a_yield_ends_a_burst_even_alone(void **state)
{
	struct machine *m = bore_machine(1000);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	advance(m, 10 * MS);
	sched_yield(m->s, 0);
	switch_cpu(m, 0, false);
	assert_int_equal(burst_entity(&t->fair)->past, 5 * MS);
	assert_int_equal(burst_entity(&t->fair)->time, 0);
	sched_check(m->s);
	machine_free(m);
}

/* --- what a score does ------------------------------------------------------- */

static void virtual_time_runs_at_the_scores_rate_while_bit_0_is_set(void **state)
{
	struct machine *m = bore_machine(1000);
	struct task *t = spawn_nice(m, "t", 0);
	u64 before = t->fair.vruntime;

	(void)state;
	advance(m, MS);
	switch_cpu(m, 0, true);
	assert_int_equal(t->fair.vruntime - before, 134383);
	set_tunable(m, "sched_bore", "2");
	before = t->fair.vruntime;
	advance(m, MS);
	switch_cpu(m, 0, true);
	assert_int_equal(t->fair.vruntime - before, MS);
	assert_int_equal(burst_entity(&t->fair)->score, 12);
	set_tunable(m, "sched_bore", "1");
	before = t->fair.vruntime;
	advance(m, 10 * MS);
	switch_cpu(m, 0, true);
	assert_int_equal(t->fair.vruntime - before, burst_stretch(10 * MS, 15));
	machine_free(m);
}

/* How far a new task starts to the right of its parent, which ran for 1 ms. */
static s64 debit_with(const char *sched_bore)
{
	struct machine *m = bore_machine(1000);
	struct task *child;
	s64 debit;

	set_tunable(m, "sched_bore", sched_bore);
	spawn_nice(m, "t", 0);
	advance(m, MS);
	child = spawn_nice(m, "child", 0);
	debit = (s64)(child->fair.vruntime - cfs_queue(queue(m))->min_vruntime);
	machine_free(m);
	return debit;
}

/* Otherwise it waits for 87 times its debit beside tasks that yield all the time. */
static void a_new_tasks_debit_is_scaled_as_its_virtual_time_is(void **state)
{
	(void)state;
	assert_int_equal(debit_with("1"), burst_stretch(2999998, 0));
	assert_int_equal(debit_with("2"), 2999998);
}

/* Does a wakee @lead ns to the left preempt? */
static bool takes_over(struct machine *m, struct task *curr, struct task *woken, unsigned scores[2],
		       u64 lead)
{
	burst_entity(&curr->fair)->score = (u8)scores[0];
	burst_entity(&woken->fair)->score = (u8)scores[1];
	woken->fair.vruntime = curr->fair.vruntime - lead;
	return policy(m)->hooks.preempts(queue(m), &curr->fair, &woken->fair, 0);
}

static void the_granularity_grows_with_half_the_difference_while_bit_1_is_set(void **state)
{
	static const struct {
		unsigned scores[2];
		u64 granularity;
	} golden[] = {
		{ { 0, 0 }, 1000000 },	 { { 0, 1 }, 1000000 },	  { { 20, 0 }, 1000000 },
		{ { 0, 2 }, 1248780 },	 { { 5, 7 }, 1248780 },	  { { 0, 4 }, 1563358 },
		{ { 0, 8 }, 2420803 },	 { { 0, 12 }, 3764705 },  { { 0, 20 }, 9309090 },
		{ { 0, 38 }, 68266666 }, { { 0, 39 }, 68266666 },
	};
	struct machine *m = bore_machine(1000);
	struct task *curr = spawn_nice(m, "curr", 0), *woken = spawn_nice(m, "woken", 0);

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		unsigned scores[2] = { golden[i].scores[0], golden[i].scores[1] };

		set_tunable(m, "sched_bore", "2");
		assert_false(takes_over(m, curr, woken, scores, golden[i].granularity));
		assert_true(takes_over(m, curr, woken, scores, golden[i].granularity + 1));
		set_tunable(m, "sched_bore", "1");
		assert_false(takes_over(m, curr, woken, scores, MS));
		assert_true(takes_over(m, curr, woken, scores, MS + 1));
	}
	machine_free(m);
}

/*
 * A hog of score 20 beside a task held at score 9: their virtual times have rates 1 and 0.085934.
 */
static void scores_become_shares(void **state)
{
	struct machine *m = bore_machine(1000);
	struct task *hog = spawn_nice(m, "hog", 0), *quick = spawn_nice(m, "quick", 0);

	(void)state;
	assert_int_equal(burst_stretch(MS, 9), 85934);
	for (unsigned n = 0; n < 20000; n++) {
		*burst_entity(&hog->fair) = (struct burst){ .time = 150 * MS };
		*burst_entity(&quick->fair) = (struct burst){ .time = (u64)-500000 };
		tick(m);
	}
	assert_in_range(1000 * quick->fair.sum_exec / hog->fair.sum_exec, 11500, 11780);
	machine_free(m);
}

/* A tick with its switch a moment later, as on a real machine. */
static void late_tick(struct machine *m)
{
	const u64 late_ns = 2000;

	m->now += m->s->tick_ns - late_ns;
	sched_tick(m->s, 0);
	m->now += late_ns;
	settle(m);
}

static u64 slices_of_two_hogs_in_10_s(const char *name, u64 age_a, u64 age_b)
{
	const struct sched_cpu_desc one = { 0 };
	struct machine *m = machine_new_on(1, 250, &one, name);
	struct task *a = spawn_nice(m, "a", 0), *b = spawn_nice(m, "b", 0);
	u64 before;

	burst_entity(&a->fair)->time = age_a * NS_PER_SEC;
	burst_entity(&b->fair)->time = age_b * NS_PER_SEC;
	/* the value for twelve CPUs */
	set_tunable(m, "latency_ns", "24000000");
	set_tunable(m, "min_granularity_ns", "3000000");
	set_tunable(m, "wakeup_granularity_ns", "4000000");
	for (unsigned n = 0; n < 250; n++)
		late_tick(m);
	before = a->nr_slices + b->nr_slices;
	for (unsigned n = 0; n < 2500; n++)
		late_tick(m);
	before = a->nr_slices + b->nr_slices - before;
	machine_free(m);
	return before;
}

/*
 * Published for 10 s of two hogs on each of two CPUs at 250 Hz: 1255 switches under CFS and 3308
 * under BORE, which are turns of 16 ms and of 6 ms on average. BORE's turns depend on how long the
 * hogs have run: a turn ends when its virtual time is 12 ms ahead. Two hogs of the same score make
 * turns of two ticks. Two hogs whose scores differ by one after half a minute make turns of one or
 * two ticks, as was published.
 */
static void hogs_switch_as_often_as_published(void **state)
{
	(void)state;
	assert_in_range(slices_of_two_hogs_in_10_s("cfs", 0, 0), 596, 659);
	assert_int_equal(slices_of_two_hogs_in_10_s("bore-cfs", 40, 40), 1250);
	assert_in_range(slices_of_two_hogs_in_10_s("bore-cfs", 40, 60), 1571, 1737);
}

/* --- the rest ----------------------------------------------------------------- */

static void features_are_those_of_the_patch(void **state)
{
	struct machine *m = bore_machine(1000);

	(void)state;
	assert_false(feature(m->s, FEATURE_GENTLE_FAIR_SLEEPERS));
	assert_true(feature(m->s, FEATURE_NEXT_BUDDY));
	assert_int_equal(sched_fair_swap(m->s, "cfs", 0), 0);
	assert_true(feature(m->s, FEATURE_GENTLE_FAIR_SLEEPERS));
	assert_false(feature(m->s, FEATURE_NEXT_BUDDY));
	machine_free(m);
}

static void sysctls_have_the_ranges_of_the_patch(void **state)
{
	static const struct {
		const char *name, *text;
		int result;
	} golden[] = {
		{ "sched_bore", "4", -EINVAL },
		{ "sched_bore", "-1", -EINVAL },
		{ "sched_bore", "0", 0 },
		{ "sched_bore", "3", 0 },
		{ "sched_burst_penalty_offset", "65", -EINVAL },
		{ "sched_burst_penalty_offset", "64", 0 },
		{ "sched_burst_penalty_scale", "4096", -EINVAL },
		{ "sched_burst_penalty_scale", "4095", 0 },
		{ "sched_burst_smoothness", "4", -EINVAL },
		{ "sched_burst_smoothness", "3", 0 },
		{ "sched_burst_cache_lifetime", "-1", -EINVAL },
		{ "sched_burst_cache_lifetime", "4294967296", -EINVAL },
		{ "sched_burst_cache_lifetime", "4294967295", 0 },
		{ "sched_burst_cache_lifetime", "0", 0 },
		{ "sched_burst_cache_lifetime", "soon", -EINVAL },
	};
	struct machine *m = bore_machine(1000);

	(void)state;
	assert_int_equal(m->s->tunable.bore_cfs, 3);
	assert_int_equal(m->s->tunable.bore_cfs_offset, 12);
	assert_int_equal(m->s->tunable.bore_cfs_scale, 1292);
	assert_int_equal(m->s->tunable.bore_cfs_smoothness, 1);
	assert_int_equal(m->s->tunable.bore_cfs_cache_lifetime, 15000000);
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		const char *text = golden[i].text;

		assert_int_equal(sched_tunable_write(m->s, golden[i].name, text, strlen(text)),
				 golden[i].result);
	}
	machine_free(m);
}

static void a_change_of_the_scale_shows_at_once(void **state)
{
	struct machine *m = bore_machine(1000);
	struct task *a = spawn_nice(m, "a", 0), *b = spawn_nice(m, "b", 0);

	(void)state;
	for (unsigned n = 0; n < 20; n++)
		tick(m);
	assert_in_range(burst_entity(&a->fair)->score, 14, 16);
	set_tunable(m, "sched_burst_penalty_scale", "0");
	assert_int_equal(burst_entity(&a->fair)->score, 0);
	assert_int_equal(burst_entity(&b->fair)->score, 0);
	sched_check(m->s);
	machine_free(m);
}

static void time_as_a_real_time_task_is_no_burst(void **state)
{
	struct sched_attr_req req = { .policy = SCHED_FIFO, .rt_priority = 1 };
	struct machine *m = bore_machine(1000);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	advance(m, 10 * MS);
	assert_int_equal(sched_set_attr(m->s, t, &req), 0);
	assert_int_equal(burst_entity(&t->fair)->time, 10 * MS);
	advance(m, 10 * MS);
	req = (struct sched_attr_req){ .policy = SCHED_NORMAL };
	assert_int_equal(sched_set_attr(m->s, t, &req), 0);
	assert_int_equal(burst_entity(&t->fair)->worst, 0);
	assert_int_equal(burst_entity(&t->fair)->score, 0);
	sched_check(m->s);
	machine_free(m);
}

/*
 * A group of hogs with 20 of 50 ms, and the group around it: throttled or idle they do not sleep.
 * The outer one sleeps when its last task does.
 */
static void a_throttled_group_goes_on_with_its_burst(void **state)
{
	struct machine *m = bore_machine(1000);
	struct task_group *outer = new_group(m, NULL), *inner = new_group(m, outer);
	const struct burst *above = burst_entity(&outer->cpu[0].entity);
	const struct burst *below = burst_entity(&inner->cpu[0].entity);

	(void)state;
	spawn_in(m, inner, 0);
	assert_int_equal(task_group_set_bandwidth(m->s, inner, 20 * MS, 50 * MS, 0, true), 0);
	settle(m);
	run_ticks(m, 200);
	assert_in_range(below->time, 80 * MS, 100 * MS);
	assert_int_equal(above->time, below->time);
	assert_int_equal(task_group_set_idle(m->s, inner, true), 0);
	settle(m);
	assert_in_range(above->time, 80 * MS, 100 * MS);
	while (!running(m, 0)->fair.queue->owner)
		run_ticks(m, 1);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_int_equal(above->time, 0);
	assert_int_equal(below->time, 0);
	machine_free(m);
}

static void a_swap_forgets_bursts(void **state)
{
	struct machine *m = bore_machine(1000);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	advance(m, 10 * MS);
	assert_int_equal(sched_fair_swap(m->s, "cfs", 0), 0);
	advance(m, 10 * MS);
	assert_int_equal(sched_fair_swap(m->s, "bore-cfs", 0), 0);
	assert_int_equal(burst_entity(&t->fair)->worst, 0);
	sched_check(m->s);
	machine_free(m);
}

static void a_wrong_score_is_noticed(void **state)
{
	struct machine *m = bore_machine(1000);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	advance(m, 10 * MS);
	switch_cpu(m, 0, true);
	burst_entity(&t->fair)->score++;
	assert_non_null(strstr(CATCH_BUG(m, sched_check(m->s)), "T6"));
	burst_entity(&t->fair)->score--;
	burst_entity(&t->fair)->worst--;
	assert_non_null(strstr(CATCH_BUG(m, sched_check(m->s)), "T6"));
	burst_entity(&t->fair)->worst++;
	sched_check(m->s);
	machine_free(m);
}

static void proc_pid_sched_shows_bursts(void **state)
{
	struct machine *m = bore_machine(1000);
	struct task *t = spawn_nice(m, "t", 0);
	char text[4096];

	(void)state;
	advance(m, 10 * MS);
	sched_task_runtime(m->s, t); /* charges it; the dump does not */
	sched_dump_task(m->s, t, text, sizeof(text));
	assert_non_null(strstr(text, "se.burst_time                                :"
				     "             10000000\n"));
	assert_non_null(strstr(text, "se.penalty_score                             :"
				     "                   15\n"));
	assert_int_equal(sched_fair_swap(m->s, "cfs", 0), 0);
	sched_dump_task(m->s, t, text, sizeof(text));
	assert_null(strstr(text, "burst"));
	machine_free(m);
}

/* Beside the scores it is CFS's: in the virtual time of the woken task, not of the running one. */
static void the_granularity_is_in_the_wakees_virtual_time(void **state)
{
	struct machine *m = bore_machine(1000);
	struct task *curr = spawn_nice(m, "curr", 0), *woken = spawn_nice(m, "woken", 5);
	unsigned scores[2] = { 0, 0 };

	(void)state;
	assert_false(takes_over(m, curr, woken, scores, 3056716));
	assert_true(takes_over(m, curr, woken, scores, 3056717));
	assert_false(takes_over(m, woken, curr, scores, MS));
	assert_true(takes_over(m, woken, curr, scores, MS + 1));
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scores_of_bursts_are_golden),
		cmocka_unit_test(scores_begin_where_they_should),
		cmocka_unit_test(the_past_is_smoothed_as_golden),
		cmocka_unit_test(smoothness_is_how_slowly_a_burst_counts),
		cmocka_unit_test(the_score_is_that_of_the_longer_of_past_and_present),
		cmocka_unit_test(a_yield_ends_a_burst_even_alone),
		cmocka_unit_test(being_preempted_does_not_end_a_burst),
		cmocka_unit_test(virtual_time_runs_at_the_scores_rate_while_bit_0_is_set),
		cmocka_unit_test(a_new_tasks_debit_is_scaled_as_its_virtual_time_is),
		cmocka_unit_test(the_granularity_grows_with_half_the_difference_while_bit_1_is_set),
		cmocka_unit_test(scores_become_shares),
		cmocka_unit_test(hogs_switch_as_often_as_published),
		cmocka_unit_test(features_are_those_of_the_patch),
		cmocka_unit_test(sysctls_have_the_ranges_of_the_patch),
		cmocka_unit_test(a_change_of_the_scale_shows_at_once),
		cmocka_unit_test(time_as_a_real_time_task_is_no_burst),
		cmocka_unit_test(a_throttled_group_goes_on_with_its_burst),
		cmocka_unit_test(a_swap_forgets_bursts),
		cmocka_unit_test(a_wrong_score_is_noticed),
		cmocka_unit_test(proc_pid_sched_shows_bursts),
		cmocka_unit_test(the_granularity_is_in_the_wakees_virtual_time),
	};

	return cmocka_run_group_tests_name("bore_cfs", tests, NULL, NULL);
}
