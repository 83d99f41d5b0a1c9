/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BORE 5.9.6 on EEVDF against the golden numbers of docs/sources.md: scores and weights, history,
 * deadlines, slices and protection. test_family.c tests what a new task inherits.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/errno.h"
#include "sched/fair/eevdf/eevdf.h"

#define BORE "bore"
#include "bore.h"

static u64 weight_of(const struct task *t)
{
	return t->fair.load.weight >> WEIGHT_SHIFT;
}

static void charge(struct machine *m, struct task *t, u64 ns)
{
	host_lock(&m->s->rq[0].lock);
	policy(m)->hooks.charge(queue(m), &t->fair, ns);
	host_unlock(&m->s->rq[0].lock);
}

/* Sets the time that the running @t has run without a break. */
static void run_for(struct machine *m, struct task *t, u64 ns)
{
	assert_ptr_equal(running(m, 0), t);
	burst_entity(&t->fair)->time = ns;
	charge(m, t, 0);
}

/* --- scores and weights ---------------------------------------------------------- */

static void scores_and_weights_of_bursts_are_golden(void **state)
{
	static const struct {
		u64 ns, penalty;
		unsigned score, weight;
	} golden[] = {
		{ 0, 0, 0, 1024 },	     { 1000, 0, 0, 1024 },
		{ 10000, 0, 0, 1024 },	     { 100000, 0, 0, 1024 },
		{ 1000000, 0, 0, 1024 },     { 10000000, 0, 0, 1024 },
		{ 100000000, 17, 4, 423 },   { 1000000000, 34, 8, 172 },
		{ 10000000000, 50, 12, 70 }, { ~0ull >> 1, 156, 39, 15 },
	};
	struct machine *m = bore_machine(1000);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		run_for(m, t, golden[i].ns);
		assert_int_equal(burst_entity(&t->fair)->worst, golden[i].penalty);
		assert_int_equal(burst_entity(&t->fair)->score, golden[i].score);
		assert_int_equal(weight_of(t), golden[i].weight);
		assert_int_equal(queue(m)->load.weight, t->fair.load.weight);
		sched_check(m->s);
	}
	machine_free(m);
}

static void scores_begin_where_they_should(void **state)
{
	static const struct {
		unsigned score;
		u64 ns;
	} golden[] = {
		{ 1, 15106048 },
		{ 5, 4ull * 33554432 },
		{ 10, 2147483648 },
		{ 19, 4ull * 82678120448 },
	};
	struct machine *m = bore_machine(1000);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		run_for(m, t, golden[i].ns);
		assert_int_equal(burst_entity(&t->fair)->score, golden[i].score);
		run_for(m, t, golden[i].ns - 1);
		assert_int_equal(burst_entity(&t->fair)->score, golden[i].score - 1);
	}
	machine_free(m);
}

static void scores_add_to_nice_values_up_to_19(void **state)
{
	struct machine *m = bore_machine(1000);
	struct task *t = spawn_nice(m, "t", -20);
	struct sched_attr_req req = { .policy = SCHED_NORMAL, .nice = 5 };

	(void)state;
	run_for(m, t, NS_PER_SEC);
	assert_int_equal(weight_of(t), 14949);
	assert_int_equal(sched_set_attr(m->s, t, &req), 0);
	assert_int_equal(weight_of(t), 56);
	req.nice = 15;
	assert_int_equal(sched_set_attr(m->s, t, &req), 0);
	assert_int_equal(weight_of(t), 15);
	req = (struct sched_attr_req){ .policy = SCHED_IDLE };
	assert_int_equal(sched_set_attr(m->s, t, &req), 0);
	run_for(m, t, 10 * NS_PER_SEC);
	assert_int_equal(burst_entity(&t->fair)->score, 12);
	assert_int_equal(burst_entity(&t->fair)->applied, 0);
	assert_int_equal(weight_of(t), 3);
	sched_check(m->s);
	machine_free(m);
}

static void kernel_threads_have_no_score_unless_asked(void **state)
{
	struct machine *m = bore_machine(1000);
	struct task *t = calloc(1, sizeof(*t));

	(void)state;
	sched_task_init_kthread(m->s, t, m->next_pid++, "kthread");
	sched_task_start(m->s, t, 0);
	settle(m);
	run_for(m, t, NS_PER_SEC);
	assert_int_equal(burst_entity(&t->fair)->worst, 34);
	assert_int_equal(burst_entity(&t->fair)->score, 0);
	set_tunable(m, "sched_burst_exclude_kthreads", "0");
	assert_int_equal(burst_entity(&t->fair)->score, 8);
	assert_int_equal(weight_of(t), 172);
	sched_check(m->s);
	machine_free(m);
}

/* --- history ------------------------------------------------------------------------ */

static void the_past_is_smoothed_as_golden(void **state)
{
	static const struct {
		u64 burst_ms;
		unsigned past, score;
	} golden[] = {
		{ 1, 0, 0 },	{ 100, 8, 2 }, { 100, 12, 3 },
		{ 100, 14, 3 }, { 1, 0, 0 },   { 100, 8, 2 },
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

static void smoothness_slows_rise_and_fall(void **state)
{
	struct machine *m = bore_machine(1000);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	set_tunable(m, "sched_burst_smoothness_long", "0");
	set_tunable(m, "sched_burst_smoothness_short", "1");
	advance(m, 100 * MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_int_equal(burst_entity(&t->fair)->past, 17);
	wake(m, t, 0);
	advance(m, MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_int_equal(burst_entity(&t->fair)->past, 17 - 17 / 2);
	machine_free(m);
}

/* --- what follows from weight ----------------------------------------------------------- */

static void a_new_score_leaves_virtual_time_where_it_is(void **state)
{
	struct machine *m = bore_machine(1000);
	struct task *t[3];
	u64 before;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		t[i] = spawn_nice(m, "t", (int)i);
	for (unsigned n = 0; n < 7; n++)
		tick(m);
	switch_cpu(m, 0, true);
	before = eevdf_now(queue(m));
	run_for(m, running(m, 0), 100 * NS_PER_SEC);
	assert_in_range(eevdf_now(queue(m)) - before + 1, 0, 2);
	sched_check(m->s);
	(void)t;
	machine_free(m);
}

/* The hog gets more than a share by its score: the rest of the queue leaves some. */
static void a_hog_gives_way_to_who_sleeps(void **state)
{
	struct machine *m = bore_machine(1000);
	struct task *hog = spawn_nice(m, "hog", 0), *quick = spawn_nice(m, "quick", 0);
	u64 before = 0;

	(void)state;
	for (unsigned n = 0; n < 20000; n++) {
		burst_entity(&hog->fair)->time = 10 * NS_PER_SEC;
		burst_entity(&quick->fair)->time = 0;
		tick(m);
		if (n == 1000)
			before = hog->fair.sum_exec;
	}
	/* weights 70 and 1024 */
	assert_in_range(hog->fair.sum_exec - before, 19000 * MS * 70 / 1094 * 97 / 100,
			19000 * MS * 70 / 1094 * 103 / 100);
	machine_free(m);
}

static void a_yield_stretches_the_rest_of_the_request(void **state)
{
	static const struct {
		u64 burst_ns;
		unsigned row;
		s64 rest, stretched;
	} golden[] = {
		{ 4ull * 33554432, 25, 1000000, 327148 },
		{ 2147483648, 30, 1000000, 107421 },
		{ 2147483648, 30, -1000000, -107421 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		struct machine *m = bore_machine(1000);
		struct task *t = spawn_nice(m, "t", 0);
		struct entity *e = &t->fair;

		/* History falls at once, so the yield restores nice 0. */
		run_for(m, t, golden[i].burst_ns);
		assert_int_equal(20 + burst_entity(e)->applied, golden[i].row);
		burst_entity(e)->time = 0;
		eevdf_entity(e)->deadline = e->vruntime + (u64)golden[i].rest;
		host_lock(&m->s->rq[0].lock);
		policy(m)->hooks.yield(queue(m), e);
		host_unlock(&m->s->rq[0].lock);
		assert_int_equal(burst_entity(e)->score, 0);
		assert_int_equal((s64)(eevdf_entity(e)->deadline - e->vruntime),
				 golden[i].stretched);
		machine_free(m);
	}
}

static void woken_and_new_tasks_ask_for_half_a_slice(void **state)
{
	struct machine *m = bore_machine(1000);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	spawn_nice(m, "other", 0);
	assert_int_equal(eevdf_entity(&t->fair)->deadline - t->fair.vruntime, MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	wake(m, t, 0);
	assert_int_equal(eevdf_entity(&t->fair)->deadline - t->fair.vruntime, MS);
	while (running(m, 0) != t)
		tick(m);
	set_tunable(m, "sched_deadline_boost_mask", "128");
	block(m, 0, TASK_INTERRUPTIBLE);
	wake(m, t, 0);
	assert_int_equal(eevdf_entity(&t->fair)->deadline - t->fair.vruntime, 2 * MS);
	machine_free(m);
}

/* This wakeup is not an entrance: the task was queued all along (halving came with 6.x). */
static void one_that_stayed_queued_asks_for_a_whole_slice(void **state)
{
	struct machine *m = bore_machine(1000);
	struct task *t = spawn_nice(m, "t", 0), *other = spawn_nice(m, "other", 0);

	(void)state;
	advance(m, MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_int_equal(t->on_rq, TASK_DELAYED);
	advance(m, 3 * MS / 2);
	sched_task_runtime(m->s, other); /* which is charged, and V with it */
	wake(m, t, 0);
	assert_int_equal(eevdf_lag(queue(m), &t->fair), 0);
	assert_int_equal(eevdf_entity(&t->fair)->deadline - t->fair.vruntime, 2 * MS);
	sched_check(m->s);
	machine_free(m);
}

static void slices_are_whole_ticks(void **state)
{
	static const struct {
		unsigned hz;
		const char *least;
		u64 slice;
	} golden[] = {
		{ 100, "2000000", 10000000 },
		{ 250, "2000000", 4000000 },
		{ 1000, "2000000", 2000000 },
		{ 1000, "2000001", 3000000 },
		{ 1000, "0", 1000000 },
		{ 250, "4000000", 4000000 },
		{ 250, "1000000000", 1000000000 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		struct machine *m = bore_machine(golden[i].hz);
		struct task *t = spawn_nice(m, "t", 0);
		char text[32];

		set_tunable(m, "min_base_slice_ns", golden[i].least);
		assert_int_equal(policy(m)->slice(queue(m), &t->fair), golden[i].slice);
		sched_tunable_read(m->s, "base_slice_ns", text, sizeof(text));
		assert_int_equal(strtoull(text, NULL, 10), golden[i].slice);
		assert_int_equal(sched_tunable_write(m->s, "base_slice_ns", "1", 1), -EINVAL);
		assert_int_equal(sched_tunable_write(m->s, "min_base_slice_ns", "1000000001", 10),
				 -EINVAL);
		machine_free(m);
	}
}

/* From the moment it leaves until the switch a task is in no burst. */
static void who_has_left_is_in_no_burst(void **state)
{
	struct machine *m = bore_machine(1000);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	t->fair.queued = false;
	charge(m, t, MS);
	assert_int_equal(burst_entity(&t->fair)->time, 0);
	t->fair.queued = true;
	charge(m, t, MS);
	assert_int_equal(burst_entity(&t->fair)->time, MS);
	machine_free(m);
}

static void half_of_the_lag_is_kept(void **state)
{
	struct machine *m = bore_machine(1000);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	assert_int_equal(eevdf_lag_limit(queue(m), &t->fair), 2 * MS);
	set_tunable(m, "sched_bore", "0");
	assert_int_equal(eevdf_lag_limit(queue(m), &t->fair), 4 * MS);
	machine_free(m);
}

static void protection_ends_in_a_crowd(void **state)
{
	struct machine *m = bore_machine(1000);

	(void)state;
	spawn_nice(m, "a", 0);
	spawn_nice(m, "b", 0);
	assert_true(eevdf_rules(queue(m))->runs_to_parity(queue(m)));
	spawn_nice(m, "c", 0);
	assert_false(eevdf_rules(queue(m))->runs_to_parity(queue(m)));
	set_tunable(m, "sched_burst_parity_threshold", "3");
	assert_true(eevdf_rules(queue(m))->runs_to_parity(queue(m)));
	set_tunable(m, "sched_burst_parity_threshold", "0");
	assert_true(eevdf_rules(queue(m))->runs_to_parity(queue(m)));
	set_tunable(m, "sched_burst_parity_threshold", "2");
	set_tunable(m, "sched_bore", "0");
	assert_true(eevdf_rules(queue(m))->runs_to_parity(queue(m)));
	set_feature(m, "NO_RUN_TO_PARITY");
	assert_false(eevdf_rules(queue(m))->runs_to_parity(queue(m)));
	machine_free(m);
}

/* Sets a past penalty of @past and everything else to match. */
static void remember(struct machine *m, struct task *t, u64 past)
{
	burst_entity(&t->fair)->past = past;
	burst_entity(&t->fair)->time = 0;
	set_tunable(m, "sched_burst_penalty_offset", "24");
}

/* --- switches -------------------------------------------------------------------------- */

static void sched_bore_reweights_all(void **state)
{
	struct machine *m = bore_machine(1000);
	struct task *sleeper = spawn_nice(m, "sleeper", 0), *runs, *waits;

	(void)state;
	remember(m, sleeper, 40);
	block(m, 0, TASK_INTERRUPTIBLE);
	remember(m, sleeper, 40);
	runs = spawn_nice(m, "runs", 0);
	waits = spawn_nice(m, "waits", 5);
	remember(m, runs, 17);
	remember(m, waits, 34);
	assert_int_equal(weight_of(runs), 423);
	assert_int_equal(weight_of(waits), 56);
	set_tunable(m, "sched_bore", "0");
	assert_int_equal(weight_of(runs), 1024);
	assert_int_equal(weight_of(waits), 335);
	assert_int_equal(burst_entity(&waits->fair)->score, 8);
	sched_check(m->s);
	wake(m, sleeper, 0);
	assert_int_equal(weight_of(sleeper), 1024);
	assert_int_equal(burst_entity(&sleeper->fair)->score, 10);
	set_tunable(m, "sched_bore", "1");
	assert_int_equal(weight_of(runs), 423);
	assert_int_equal(weight_of(waits), 56);
	assert_int_equal(weight_of(sleeper), 110);
	sched_check(m->s);
	machine_free(m);
}

static void time_as_a_real_time_task_is_no_burst(void **state)
{
	struct sched_attr_req req = { .policy = SCHED_FIFO, .rt_priority = 1 };
	struct machine *m = bore_machine(1000);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	run_for(m, t, NS_PER_SEC);
	assert_int_equal(sched_set_attr(m->s, t, &req), 0);
	advance(m, 10 * MS);
	req = (struct sched_attr_req){ .policy = SCHED_NORMAL };
	assert_int_equal(sched_set_attr(m->s, t, &req), 0);
	assert_int_equal(burst_entity(&t->fair)->worst, 0);
	assert_int_equal(weight_of(t), 1024);
	sched_check(m->s);
	machine_free(m);
}

static void a_swap_forgets_bursts(void **state)
{
	static const char *const others[] = { "cfs", "eevdf", "bore-cfs" };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(others); i++) {
		struct machine *m = bore_machine(1000);
		struct task *t = spawn_nice(m, "t", 0);

		run_for(m, t, NS_PER_SEC);
		assert_int_equal(sched_fair_swap(m->s, others[i], 0), 0);
		assert_int_equal(weight_of(t), 1024);
		sched_check(m->s);
		assert_int_equal(sched_fair_swap(m->s, "bore", 0), 0);
		assert_int_equal(burst_entity(&t->fair)->worst, 0);
		assert_int_equal(weight_of(t), 1024);
		sched_check(m->s);
		machine_free(m);
	}
}

static void sysctls_have_the_ranges_of_5_9_6(void **state)
{
	static const struct {
		const char *name, *otherwise, *most, *too_much;
	} golden[] = {
		{ "sched_bore", "1\n", "1", "2" },
		{ "sched_burst_exclude_kthreads", "1\n", "1", "2" },
		{ "sched_burst_smoothness_long", "1\n", "1", "2" },
		{ "sched_burst_smoothness_short", "0\n", "1", "2" },
		{ "sched_burst_fork_atavistic", "2\n", "3", "4" },
		{ "sched_burst_parity_threshold", "2\n", "255", "256" },
		{ "sched_burst_penalty_offset", "24\n", "64", "65" },
		{ "sched_burst_penalty_scale", "1280\n", "4095", "4096" },
		{ "sched_burst_cache_stop_count", "64\n", "4294967295", "4294967296" },
		{ "sched_burst_cache_lifetime", "75000000\n", "4294967295", "-1" },
		{ "sched_deadline_boost_mask", "129\n", "4294967295", "-1" },
	};
	struct machine *m = bore_machine(1000);
	char text[32];

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		const char *name = golden[i].name;

		sched_tunable_read(m->s, name, text, sizeof(text));
		assert_string_equal(text, golden[i].otherwise);
		assert_int_equal(sched_tunable_write(m->s, name, golden[i].too_much,
						     strlen(golden[i].too_much)),
				 -EINVAL);
		assert_int_equal(sched_tunable_write(m->s, name, "-1", 2), -EINVAL);
		sched_tunable_read(m->s, name, text, sizeof(text));
		assert_string_equal(text, golden[i].otherwise);
		set_tunable(m, name, golden[i].most);
		set_tunable(m, name, "0");
	}
	sched_check(m->s);
	machine_free(m);
}

/* The feature has the same name, and the value of the policy in use. */
static void each_bore_has_its_own_sysctls(void **state)
{
	struct machine *m = bore_machine(1000);
	char text[32];

	(void)state;
	set_tunable(m, "sched_burst_penalty_offset", "30");
	assert_int_equal(sched_fair_swap(m->s, "bore-cfs", 0), 0);
	sched_tunable_read(m->s, "sched_burst_penalty_offset", text, sizeof(text));
	assert_string_equal(text, "12\n");
	set_tunable(m, "sched_bore", "3");
	assert_int_equal(sched_fair_swap(m->s, "bore", 0), 0);
	sched_tunable_read(m->s, "sched_burst_penalty_offset", text, sizeof(text));
	assert_string_equal(text, "30\n");
	assert_int_equal(sched_tunable_write(m->s, "sched_bore", "3", 1), -EINVAL);
	machine_free(m);
}

static void a_wrong_score_or_weight_is_noticed(void **state)
{
	struct machine *m = bore_machine(1000);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	run_for(m, t, NS_PER_SEC);
	burst_entity(&t->fair)->score++;
	assert_non_null(strstr(CATCH_BUG(m, sched_check(m->s)), "T6"));
	burst_entity(&t->fair)->score--;
	burst_entity(&t->fair)->applied++;
	assert_non_null(CATCH_BUG(m, sched_check(m->s)));
	burst_entity(&t->fair)->applied--;
	burst_entity(&t->fair)->past = 100;
	assert_non_null(strstr(CATCH_BUG(m, sched_check(m->s)), "T6"));
	burst_entity(&t->fair)->past = 0;
	sched_check(m->s);
	machine_free(m);
}

static void proc_pid_sched_shows_bursts(void **state)
{
	struct machine *m = bore_machine(1000);
	struct task *t = spawn_nice(m, "t", 0);
	char text[4096];

	(void)state;
	run_for(m, t, NS_PER_SEC);
	sched_dump_task(m->s, t, text, sizeof(text));
	assert_non_null(strstr(text, "se.burst_penalty                             :"
				     "                   34\n"));
	assert_non_null(strstr(text, "se.burst_score                               :"
				     "                    8\n"));
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scores_and_weights_of_bursts_are_golden),
		cmocka_unit_test(scores_begin_where_they_should),
		cmocka_unit_test(scores_add_to_nice_values_up_to_19),
		cmocka_unit_test(kernel_threads_have_no_score_unless_asked),
		cmocka_unit_test(the_past_is_smoothed_as_golden),
		cmocka_unit_test(smoothness_slows_rise_and_fall),
		cmocka_unit_test(being_preempted_does_not_end_a_burst),
		cmocka_unit_test(a_new_score_leaves_virtual_time_where_it_is),
		cmocka_unit_test(a_hog_gives_way_to_who_sleeps),
		cmocka_unit_test(a_yield_stretches_the_rest_of_the_request),
		cmocka_unit_test(woken_and_new_tasks_ask_for_half_a_slice),
		cmocka_unit_test(one_that_stayed_queued_asks_for_a_whole_slice),
		cmocka_unit_test(slices_are_whole_ticks),
		cmocka_unit_test(half_of_the_lag_is_kept),
		cmocka_unit_test(who_has_left_is_in_no_burst),
		cmocka_unit_test(protection_ends_in_a_crowd),
		cmocka_unit_test(sched_bore_reweights_all),
		cmocka_unit_test(time_as_a_real_time_task_is_no_burst),
		cmocka_unit_test(a_swap_forgets_bursts),
		cmocka_unit_test(sysctls_have_the_ranges_of_5_9_6),
		cmocka_unit_test(each_bore_has_its_own_sysctls),
		cmocka_unit_test(a_wrong_score_or_weight_is_noticed),
		cmocka_unit_test(proc_pid_sched_shows_bursts),
	};

	return cmocka_run_group_tests_name("bore", tests, NULL, NULL);
}
