/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CFS against the golden numbers of docs/sources.md: slices, placement, shares, and whole traces.
 * test_choice.c tests which task is picked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cfs.h"

static u64 slice_of(struct machine *m, struct task *t)
{
	return m->s->fair_policy->slice(queue(m), &t->fair);
}

static void assert_near(double value, double expected, double tolerance)
{
	if (value < expected - tolerance || value > expected + tolerance)
		fail_msg("%f is not %f +- %f", value, expected, tolerance);
}

/* --- traces --------------------------------------------------------------- */

struct step {
	unsigned at; /* ms */
	char ran;
	s64 v[3], min;
	char next;
};

static void check_step(struct machine *m, struct task **tasks, const struct step *step)
{
	s64 min_v = (s64)cfs_queue(queue(m))->min_vruntime - QUEUE_START;

	if (running(m, 0)->comm[0] != step->next)
		fail_msg("after %u ms %s runs, where %c should", step->at, running(m, 0)->comm,
			 step->next);
	for (unsigned i = 0; i < 3; i++)
		if (v_of(tasks[i]) != step->v[i])
			fail_msg("after %u ms the vruntime of %s is %ld, where %ld is right",
				 step->at, tasks[i]->comm, v_of(tasks[i]), step->v[i]);
	if (min_v != step->min)
		fail_msg("after %u ms min_vruntime is %ld, where %ld is right", step->at, min_v,
			 step->min);
}

static void three_hogs_at_1000_hz_follow_the_golden_trace(void **state)
{
	static const struct step golden[] = {
		{ 1, 'A', { 1000000, 0, 0 }, 0, 'A' },
		{ 2, 'A', { 2000000, 0, 0 }, 0, 'A' },
		{ 3, 'A', { 3000000, 0, 0 }, 0, 'B' },
		{ 4, 'B', { 3000000, 1000000, 0 }, 0, 'B' },
		{ 5, 'B', { 3000000, 2000000, 0 }, 0, 'B' },
		{ 6, 'B', { 3000000, 3000000, 0 }, 0, 'C' },
		{ 7, 'C', { 3000000, 3000000, 3056716 }, 3000000, 'A' },
		{ 8, 'A', { 4000000, 3000000, 3056716 }, 3000000, 'A' },
		{ 9, 'A', { 5000000, 3000000, 3056716 }, 3000000, 'A' },
		{ 10, 'A', { 6000000, 3000000, 3056716 }, 3000000, 'B' },
		{ 11, 'B', { 6000000, 4000000, 3056716 }, 3056716, 'B' },
		{ 13, 'B', { 6000000, 6000000, 3056716 }, 3056716, 'C' },
		{ 14, 'C', { 6000000, 6000000, 6113432 }, 6000000, 'A' },
		{ 17, 'A', { 9000000, 6000000, 6113432 }, 6000000, 'B' },
	};
	struct machine *m = flat_machine(1000);
	struct task *t[3] = { spawn_nice(m, "A", 0), spawn_nice(m, "B", 0), spawn_nice(m, "C", 5) };
	unsigned ms = 0;

	(void)state;
	assert_int_equal(slice_of(m, t[0]), 2578262);
	assert_int_equal(slice_of(m, t[2]), 843474);
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		for (; ms < golden[i].at; ms++)
			tick(m);
		check_step(m, t, &golden[i]);
	}
	sched_check(m->s);
	machine_free(m);
}

static void three_hogs_at_250_hz_follow_the_golden_picks(void **state)
{
	struct machine *m = flat_machine(250);
	const char *golden = "ABCABABABCAB";

	(void)state;
	spawn_nice(m, "A", 0);
	spawn_nice(m, "B", 0);
	struct task *c = spawn_nice(m, "C", 5);

	for (const char *pick = golden; *pick; pick++) {
		if (running(m, 0)->comm[0] != *pick)
			fail_msg("after %td ticks %s runs, where %c should", pick - golden,
				 running(m, 0)->comm, *pick);
		tick(m);
	}
	assert_int_equal(v_of(c), 2 * 12226865);
	machine_free(m);
}

static double share_after(unsigned hz, unsigned seconds, const int nice[3], unsigned which)
{
	struct machine *m = machine_new(1, hz);
	struct task *t[3];
	double total = 0, part;

	for (unsigned i = 0; i < 3; i++)
		t[i] = spawn_nice(m, "hog", nice[i]);
	for (unsigned i = 0; i < seconds * hz; i++)
		tick(m);
	for (unsigned i = 0; i < 3; i++)
		total += (double)sched_task_runtime(m->s, t[i]);
	part = (double)sched_task_runtime(m->s, t[which]);
	machine_free(m);
	return 100 * part / total;
}

static void shares_of_hogs_follow_their_weights(void **state)
{
	const int nice_005[3] = { 0, 0, 5 }, nice_0510[3] = { 0, 5, 10 };

	(void)state;
	assert_near(share_after(1000, 20, nice_005, 2), 14.06, 0.05);
	assert_near(share_after(250, 20, nice_005, 2), 14.06, 0.05);
	assert_near(share_after(250, 20, nice_0510, 0), 69.71, 0.5);
	assert_near(share_after(250, 20, nice_0510, 1), 22.80, 0.5);
	assert_near(share_after(250, 20, nice_0510, 2), 7.49, 0.5);
}

/* --- slices --------------------------------------------------------------- */

/* Slices of tasks that are all queued, after the floor, on a machine with the factor @factor. */
static void check_slices(unsigned nr, const int *nice, const u64 *golden, const char *latency,
			 const char *granularity)
{
	struct machine *m = flat_machine(1000);
	struct task *t[16];

	set_tunable(m, "latency_ns", latency);
	set_tunable(m, "min_granularity_ns", granularity);
	for (unsigned i = 0; i < nr; i++)
		t[i] = spawn_nice(m, "t", nice[i]);
	for (unsigned i = 0; i < nr; i++)
		assert_int_equal(slice_of(m, t[i]), golden[i]);
	machine_free(m);
}

#define CHECK_SLICES(latency, granularity, nices, goldens)                                         \
	check_slices(ARRAY_SIZE(((int[])nices)), (int[])nices, (u64[])goldens, latency, granularity)
#define LIST(...)                                                                                  \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

static void slices_on_one_cpu_are_golden(void **state)
{
	(void)state;
	CHECK_SLICES("6000000", "750000", LIST(0), LIST(5999998));
	CHECK_SLICES("6000000", "750000", LIST(0, 0), LIST(2999998, 2999998));
	CHECK_SLICES("6000000", "750000", LIST(0, 5), LIST(4520971, 1479028));
	CHECK_SLICES("6000000", "750000", LIST(0, 0, 0), LIST(1999999, 1999999, 1999999));
	CHECK_SLICES("6000000", "750000", LIST(0, 19), LIST(5913378, 750000));
	CHECK_SLICES("6000000", "750000", LIST(-5, 0, 5), LIST(4179910, 1371428, 750000));
}

static void slices_of_bigger_machines_are_golden(void **state)
{
	(void)state;
	CHECK_SLICES("18000000", "2250000", LIST(0, 5), LIST(13562913, 4437086));
	CHECK_SLICES("24000000", "3000000", LIST(0, 5), LIST(18083885, 5916114));
	CHECK_SLICES("24000000", "3000000", LIST(-5, 0, 5), LIST(16719641, 5485713, 3000000));
}

static void the_period_stretches_beyond_eight_tasks(void **state)
{
	struct machine *m = flat_machine(1000);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	set_feature(m, "NO_BASE_SLICE");
	for (unsigned n = 1; n < 8; n++)
		spawn_nice(m, "t", 0);
	assert_int_equal(slice_of(m, t), 749998);
	spawn_nice(m, "t", 0);
	assert_int_equal(slice_of(m, t), 749998);
	set_feature(m, "BASE_SLICE");
	assert_int_equal(slice_of(m, t), 750000);
	machine_free(m);
}

static void an_idle_policy_task_has_its_own_floor_beside_normal_ones(void **state)
{
	struct machine *m = flat_machine(1000);
	struct task *idle = spawn(m, "idle", SCHED_IDLE, 0);

	(void)state;
	set_tunable(m, "idle_min_granularity_ns", "100000");
	set_tunable(m, "min_granularity_ns", "6000000");
	spawn(m, "idle", SCHED_IDLE, 0);
	assert_int_equal(slice_of(m, idle), 6000000);
	spawn_nice(m, "normal", 0);
	assert_int_equal(slice_of(m, idle), 100000);
	machine_free(m);
}

static void the_interval_told_to_programs_is_in_whole_ticks(void **state)
{
	static const unsigned hz[] = { 250, 1000 };
	static const u64 golden[] = { 0, 2 * MS };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(hz); i++) {
		struct machine *m = flat_machine(hz[i]);
		struct task *t = spawn_nice(m, "A", 0);

		spawn_nice(m, "B", 0);
		assert_int_equal(sched_rr_interval(m->s, t), golden[i]);
		machine_free(m);
	}
}

/* --- placement ------------------------------------------------------------ */

static s64 min_v(struct machine *m)
{
	return (s64)cfs_queue(queue(m))->min_vruntime - QUEUE_START;
}

static void a_child_starts_one_virtual_slice_to_the_right(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *second, *light;

	(void)state;
	spawn_nice(m, "A", 0);
	advance(m, MS);
	second = spawn_nice(m, "B", 0);
	assert_int_equal(min_v(m), 5999998 + MS);
	assert_int_equal(v_of(second) - min_v(m), 2999998);
	machine_free(m);

	m = flat_machine(1000);
	spawn_nice(m, "A", 0);
	set_feature(m, "START_DEBIT");
	light = spawn_nice(m, "C", 5);
	/* vslice of a nice-5 child in {0,5} */
	assert_int_equal(v_of(light), 4520969);
	machine_free(m);
}

static void a_child_may_run_first(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *parent = spawn_nice(m, "parent", 0), *child;
	s64 parent_v;

	(void)state;
	advance(m, MS);
	sched_task_runtime(m->s, parent); /* charges the parent */
	parent_v = v_of(parent);
	set_tunable(m, "sched_child_runs_first", "1");
	child = spawn_nice(m, "child", 0);
	assert_task(running(m, 0), child);
	assert_int_equal(v_of(child), parent_v);
	if (v_of(parent) <= parent_v)
		fail_msg("the parent was not moved to the child's place");
	machine_free(m);
}

/* Lets A sleep @sleep_ns while B runs. Returns A's vruntime minus min_vruntime when it wakes. */
static s64 credit_after_sleep(const char *feature_name, int policy, u64 sleep_ns)
{
	struct machine *m = flat_machine(1000);
	struct task *a = spawn(m, "A", policy, 0);
	s64 credit;

	set_feature(m, feature_name);
	set_feature(m, "NO_WAKEUP_PREEMPTION");
	set_tunable(m, "idle_min_granularity_ns", "100000");
	advance(m, MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	spawn_nice(m, "B", 0);
	for (u64 slept = 0; slept < sleep_ns; slept += MS)
		tick(m);
	wake(m, a, 0);
	credit = v_of(a) - min_v(m);
	machine_free(m);
	return credit;
}

static void a_long_sleeper_is_placed_half_a_latency_to_the_left(void **state)
{
	(void)state;
	assert_int_equal(credit_after_sleep("GENTLE_FAIR_SLEEPERS", SCHED_NORMAL, 100 * MS),
			 -3000000);
	assert_int_equal(credit_after_sleep("NO_GENTLE_FAIR_SLEEPERS", SCHED_NORMAL, 100 * MS),
			 -6000000);
	/* A sleeper of SCHED_IDLE gets half of min_granularity. */
	assert_int_equal(credit_after_sleep("GENTLE_FAIR_SLEEPERS", SCHED_IDLE, 2000 * MS),
			 -375000);
}

static void a_short_sleeper_keeps_its_own_vruntime(void **state)
{
	struct machine *m = flat_machine(1000);
	struct task *a = spawn_nice(m, "A", 0);
	s64 before;

	(void)state;
	advance(m, 5 * MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	before = v_of(a);
	spawn_nice(m, "B", 0);
	advance(m, MS);
	wake(m, a, 0);
	assert_int_equal(v_of(a), before);
	machine_free(m);
}

/*
 * After more than 2^63/1024 ns the distance may have wrapped, so the sleeper's vruntime is ignored.
 */
static void a_sleep_of_months_does_not_freeze_the_sleeper(void **state)
{
	struct machine *m = flat_machine(1000);
	struct task *a = spawn_nice(m, "A", 0), *idle;

	(void)state;
	advance(m, MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	idle = spawn(m, "light", SCHED_IDLE, 0);
	for (unsigned week = 0; week < 52; week++) {
		m->now += 7ull * 86400 * NS_PER_SEC;
		tick(m);
	}
	assert_true(v_of(idle) < 0); /* it has run more than 2^63 virtual ns */
	wake(m, a, 0);
	assert_task(running(m, 0), a);
	assert_int_equal(v_of(a) - min_v(m), -3000000);
	machine_free(m);
}

/*
 * On a CPU whose clock is behind, the task seems to sleep until later. It must not wait for ages.
 */
static void a_clock_that_is_behind_makes_no_long_sleeper(void **state)
{
	struct machine *m = flat_machine(1000);
	struct task *a = spawn_nice(m, "A", 0);
	struct fair_queue *q = &m->s->rq[0].fair;

	(void)state;
	advance(m, 5 * MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	a->fair.vruntime = cfs_queue(q)->min_vruntime + 20 * MS;
	a->fair.exec_start = q->rq->clock + MS;
	q->hooks->place(q, &a->fair, ENQUEUE_WAKEUP);
	assert_int_equal(a->fair.vruntime - cfs_queue(q)->min_vruntime, 20 * MS);
	machine_free(m);
}

/* As if it had woken: a while as a real-time task neither costs nor gains anything. */
static void a_sleeper_that_was_real_time_meanwhile_has_a_sleepers_credit(void **state)
{
	struct machine *m = flat_machine(1000);
	struct sched_attr_req fifo = { .policy = SCHED_FIFO, .rt_priority = 1 };
	struct sched_attr_req normal = { .policy = SCHED_NORMAL };
	struct task *a = spawn_nice(m, "A", 0);

	(void)state;
	set_feature(m, "NO_WAKEUP_PREEMPTION");
	advance(m, 5 * MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	spawn_nice(m, "B", 0);
	for (unsigned n = 0; n < 100; n++)
		tick(m);
	assert_int_equal(sched_set_attr(m->s, a, &fifo), 0);
	assert_int_equal(sched_set_attr(m->s, a, &normal), 0);
	wake(m, a, 0);
	assert_int_equal(v_of(a) - min_v(m), -3000000);
	machine_free(m);
}

static void virtual_time_moves_on_when_the_leftmost_leaves(void **state)
{
	struct machine *m = flat_machine(1000);
	struct task *b;

	(void)state;
	spawn_nice(m, "A", 0);
	b = spawn_nice(m, "B", 0);
	b->fair.vruntime += 5 * MS;
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_int_equal(min_v(m), v_of(b));
	machine_free(m);
}

/* --- queue ---------------------------------------------------------------- */

static void equal_vruntimes_run_first_come_first_served(void **state)
{
	struct machine *m = flat_machine(1000);
	struct task *t[4];

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		t[i] = spawn_nice(m, "t", 0);
	for (unsigned i = 0; i < 4; i++) {
		assert_task(running(m, 0), t[i]);
		block(m, 0, TASK_INTERRUPTIBLE);
	}
	machine_free(m);
}

static void vruntimes_wrap_without_harm(void **state)
{
	const int nice_005[3] = { 0, 0, 5 };
	struct machine *m = machine_new(1, 1000);
	struct task *t[3];
	u64 wrap_in_ns = 100 * MS, start[3], ran[3];

	(void)state;
	cfs_queue(queue(m))->min_vruntime = cfs_queue(queue(m))->checked_min_vruntime =
		0 - wrap_in_ns;
	for (unsigned i = 0; i < 3; i++)
		t[i] = spawn_nice(m, "t", nice_005[i]);
	for (unsigned i = 0; i < 3; i++)
		start[i] = sched_task_runtime(m->s, t[i]);
	for (unsigned n = 0; n < 7000; n++) {
		tick(m);
		sched_check(m->s);
	}
	if (cfs_queue(queue(m))->min_vruntime >> 63)
		fail_msg(
			"min_vruntime began shortly before the wrap, and is still there after 7 s");
	for (unsigned i = 0; i < 3; i++)
		ran[i] = sched_task_runtime(m->s, t[i]) - start[i];
	assert_near(100.0 * (double)ran[2] / (double)(ran[0] + ran[1] + ran[2]), 14.06, 0.1);
	machine_free(m);
}

static void nice_changes_take_effect_while_running_and_waiting(void **state)
{
	struct machine *m = flat_machine(1000);
	struct task *a = spawn_nice(m, "A", 0), *b = spawn_nice(m, "B", 0);
	struct sched_attr_req req = { .policy = SCHED_NORMAL, .nice = 5 };
	u64 start[2];

	(void)state;
	assert_int_equal(sched_set_attr(m->s, a, &req), 0);
	assert_int_equal(sched_set_attr(m->s, b, &req), 0);
	req.nice = -5;
	assert_int_equal(sched_set_attr(m->s, b, &req), 0);
	settle(m);
	sched_check(m->s);
	start[0] = sched_task_runtime(m->s, a);
	start[1] = sched_task_runtime(m->s, b);
	for (unsigned n = 0; n < 20000; n++)
		tick(m);
	/* 3121 : 335 */
	assert_near((double)(sched_task_runtime(m->s, b) - start[1]) /
			    (double)(sched_task_runtime(m->s, a) - start[0]),
		    9.316, 0.1);
	machine_free(m);
}

static void an_end_of_slice_timer_ends_a_slice_between_ticks(void **state)
{
	struct machine *m = flat_machine(100);
	struct task *a, *b;

	(void)state;
	set_feature(m, "HRTICK");
	a = spawn_nice(m, "A", 0);
	b = spawn_nice(m, "B", 0);
	/* The timer is armed when a task is picked beside another one. */
	tick(m);
	assert_task(running(m, 0), b);
	assert_int_equal(m->timer[0] - m->now, 2999998);
	/* A was charged for one slice only, not for a whole tick. */
	a->fair.vruntime = b->fair.vruntime + 2 * MS;
	advance(m, 2999998);
	assert_task(running(m, 0), a);
	machine_free(m);
}

static void a_task_that_is_picked_again_has_another_slice(void **state)
{
	struct machine *m = flat_machine(100);
	struct task *b;

	(void)state;
	set_feature(m, "HRTICK");
	spawn_nice(m, "A", 0);
	b = spawn_nice(m, "B", 0);
	tick(m);
	/* B is 10 ms behind A and runs three slices in a row; the tick comes after 10 ms. */
	for (unsigned turn = 0; turn < 3; turn++) {
		assert_task(running(m, 0), b);
		assert_int_equal(m->timer[0] - m->now, 2999998);
		advance(m, 2999998);
	}
	/* A task picked in the middle of its slice keeps the rest of it. */
	assert_task(running(m, 0), b);
	advance(m, 400000);
	switch_cpu(m, 0, true);
	assert_task(running(m, 0), b);
	assert_int_equal(m->timer[0] - m->now, 2999998 - 400000);
	machine_free(m);
}

/* It ends one slice. Until another task was picked there is nothing to wait for. */
static void an_end_of_slice_timer_comes_once(void **state)
{
	struct machine *m = flat_machine(100);

	(void)state;
	set_feature(m, "HRTICK");
	spawn_nice(m, "A", 0);
	spawn_nice(m, "B", 0);
	tick(m);
	m->now = m->timer[0];
	m->timer[0] = 0;
	sched_timer(m->s, 0);
	assert_int_equal(m->s->rq[0].hrtick_at, 0);
	assert_int_equal(m->timer[0], 0);
	assert_int_equal(m->s->rq[0].need_resched, RESCHED_NOW);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_hogs_at_1000_hz_follow_the_golden_trace),
		cmocka_unit_test(three_hogs_at_250_hz_follow_the_golden_picks),
		cmocka_unit_test(shares_of_hogs_follow_their_weights),
		cmocka_unit_test(slices_on_one_cpu_are_golden),
		cmocka_unit_test(slices_of_bigger_machines_are_golden),
		cmocka_unit_test(the_period_stretches_beyond_eight_tasks),
		cmocka_unit_test(an_idle_policy_task_has_its_own_floor_beside_normal_ones),
		cmocka_unit_test(the_interval_told_to_programs_is_in_whole_ticks),
		cmocka_unit_test(a_child_starts_one_virtual_slice_to_the_right),
		cmocka_unit_test(a_child_may_run_first),
		cmocka_unit_test(a_clock_that_is_behind_makes_no_long_sleeper),
		cmocka_unit_test(a_long_sleeper_is_placed_half_a_latency_to_the_left),
		cmocka_unit_test(a_short_sleeper_keeps_its_own_vruntime),
		cmocka_unit_test(a_sleep_of_months_does_not_freeze_the_sleeper),
		cmocka_unit_test(a_sleeper_that_was_real_time_meanwhile_has_a_sleepers_credit),
		cmocka_unit_test(virtual_time_moves_on_when_the_leftmost_leaves),
		cmocka_unit_test(equal_vruntimes_run_first_come_first_served),
		cmocka_unit_test(vruntimes_wrap_without_harm),
		cmocka_unit_test(nice_changes_take_effect_while_running_and_waiting),
		cmocka_unit_test(an_end_of_slice_timer_ends_a_slice_between_ticks),
		cmocka_unit_test(a_task_that_is_picked_again_has_another_slice),
		cmocka_unit_test(an_end_of_slice_timer_comes_once),
	};

	return cmocka_run_group_tests_name("cfs", tests, NULL, NULL);
}
