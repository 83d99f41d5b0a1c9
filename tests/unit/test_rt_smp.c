/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Real-time tasks on several CPUs: which tasks are pushed and pulled, when, and where to
 * (docs/sources.md).
 */
#include "smp.h"
#include "sched/rt/rt.h"

/* A FIFO task on @cpu that may run anywhere, and does not move before the next switch there. */
static struct task *fifo(struct machine *m, unsigned cpu, int prio)
{
	struct task *t = spawn(m, "fifo", SCHED_FIFO, prio);

	allow(m, t, cpumask_of(cpu));
	allow(m, t, cpumask_first_n(m->nr_cpus));
	return t;
}

static struct task *pinned_fifo(struct machine *m, unsigned cpu, int prio)
{
	struct task *t = fifo(m, cpu, prio);

	allow(m, t, cpumask_of(cpu));
	return t;
}

/* A sleeping task whose last CPU is @cpu. */
static struct task *sleeping_fifo(struct machine *m, unsigned cpu, int prio)
{
	struct task *t = pinned_fifo(m, cpu, prio);

	assert_ptr_equal(running(m, cpu), t);
	block(m, cpu, TASK_INTERRUPTIBLE);
	allow(m, t, cpumask_first_n(m->nr_cpus));
	return t;
}

static void set_policy(struct machine *m, struct task *t, int policy, int prio)
{
	struct sched_attr_req req = { .policy = policy, .rt_priority = prio };

	assert_int_equal(sched_set_attr(m->s, t, &req), 0);
	settle(m);
	sched_check(m->s);
}

/* --- who ------------------------------------------------------------------ */

static void a_cpu_with_two_of_which_one_can_move_is_overloaded(void **state)
{
	struct machine *m = machine_of(1, 1, 2, 1, NULL);
	struct task *waits;

	(void)state;
	pinned_fifo(m, 0, 20);
	assert_true(cpumask_empty(&m->s->rt_overload));
	waits = pinned_fifo(m, 0, 10);
	assert_true(cpumask_empty(&m->s->rt_overload));
	allow(m, waits, cpumask_first_n(2));
	assert_true(cpumask_test(&m->s->rt_overload, 0));
	switch_cpu(m, 0, true);
	settle(m);
	assert_ptr_equal(running(m, 1), waits);
	assert_true(cpumask_empty(&m->s->rt_overload));
	machine_free(m);
}

static void the_most_urgent_that_waits_is_pushed_and_no_more_than_there_is_room_for(void **state)
{
	struct machine *m = machine_of(1, 1, 3, 1, NULL);
	struct task *t[4];

	(void)state;
	pinned_fifo(m, 0, 50);
	pinned_fifo(m, 2, 40);
	t[0] = pinned_fifo(m, 0, 20);
	t[1] = pinned_fifo(m, 0, 30);
	t[2] = pinned_fifo(m, 0, 25);
	t[3] = pinned_fifo(m, 0, 45);
	for (unsigned i = 0; i < 3; i++)
		allow(m, t[i], cpumask_first_n(3));
	switch_cpu(m, 0, true);
	settle(m);
	assert_ptr_equal(running(m, 1), t[1]);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(t[i]->cpu, i == 1);
	sched_check(m->s);
	machine_free(m);
}

static void a_cpu_pulls_what_is_more_urgent_than_all_it_has(void **state)
{
	struct machine *m = machine_of(1, 1, 3, 1, NULL);
	struct task *low, *high;

	(void)state;
	fifo(m, 0, 50);
	pinned_fifo(m, 1, 60);
	pinned_fifo(m, 2, 60);
	pinned_fifo(m, 0, 20);
	low = fifo(m, 1, 10);
	high = fifo(m, 2, 30);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_ptr_equal(running(m, 0), high);
	assert_int_equal(low->cpu, 1);
	sched_check(m->s);
	machine_free(m);
}

/* --- where ---------------------------------------------------------------- */

static void a_wakee_goes_to_the_least_urgent_cpu(void **state)
{
	struct machine *m = machine_of(1, 1, 5, 1, NULL);
	static const unsigned expected[] = { 4, 2, 3, 1 };
	struct task *t[5];

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		t[i] = sleeping_fifo(m, 0, 30);
	pinned_fifo(m, 0, 40);
	pinned_fifo(m, 1, 10);
	allow(m, spawn_nice(m, "fair", 0), cpumask_of(2));
	pinned_fifo(m, 3, 5);
	for (unsigned i = 0; i < 4; i++) {
		wake(m, t[i], 0);
		assert_ptr_equal(running(m, expected[i]), t[i]);
	}
	/* Where all tasks are as urgent, it waits. */
	wake(m, t[4], 0);
	assert_int_equal(t[4]->cpu, 0);
	assert_ptr_not_equal(running(m, 0), t[4]);
	sched_check(m->s);
	machine_free(m);
}

/*
 * Its last CPU is 1. There are two caches of four CPUs; those not in @low run something more
 * urgent. The waker took @last the last time.
 */
static void of_equally_urgent_cpus_the_nearest_is_taken(void **state)
{
	static const struct {
		u64 low;
		unsigned waker, last, expected;
	} cases[] = {
		{ BIT(1) | BIT(2), 2, 1, 1 }, /* its own cache */
		/* the waker's, which is in the same cache as the other */
		{ BIT(0) | BIT(3), 3, 3, 3 },
		{ BIT(0) | BIT(3), 5, 0, 3 }, /* of its cache, in turn */
		{ BIT(0) | BIT(3), 5, 2, 3 },
		{ BIT(0) | BIT(3), 5, 3, 0 },
		{ BIT(0) | BIT(3), 5, CPU_MAX - 1, 0 },
		{ BIT(2) | BIT(5), 5, 2, 2 }, /* its cache is preferred to the waker */
		{ BIT(5) | BIT(6), 6, 6, 6 },
		{ BIT(5) | BIT(6), 0, 5, 6 },
		{ BIT(5) | BIT(6), 0, 6, 5 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct machine *m = machine_of(1, 2, 4, 1, NULL);
		struct task *t = sleeping_fifo(m, 1, 50);

		for (unsigned cpu = 0; cpu < 8; cpu++)
			if (!(cases[i].low & BIT(cpu)))
				pinned_fifo(m, cpu, 90);
		rq_of(m, cases[i].waker)->taken_last = cases[i].last;
		wake(m, t, cases[i].waker);
		assert_int_equal(t->cpu, cases[i].expected);
		machine_free(m);
	}
}

/* A task waits with another on CPU 0, and three CPUs idle. Each time the next of these gets one. */
static void of_equals_each_has_its_turn(void **state)
{
	static const unsigned expected[] = { 1, 2, 3, 1, 2 };
	struct machine *m = machine_of(1, 1, 4, 1, NULL);
	struct task *t = sleeping_fifo(m, 0, 50);

	(void)state;
	pinned_fifo(m, 0, 90);
	for (unsigned i = 0; i < ARRAY_SIZE(expected); i++) {
		wake(m, t, 0);
		assert_int_equal(t->cpu, expected[i]);
		settle(m);
		block(m, t->cpu, TASK_INTERRUPTIBLE);
		t->cpu = 0;
		t->fair.queue = group_queue(m->s, NULL, 0);
	}
	machine_free(m);
}

static void a_runner_that_cannot_leave_is_not_pushed_aside(void **state)
{
	(void)state;
	for (unsigned pinned = 0; pinned < 2; pinned++) {
		struct machine *m = machine_of(1, 1, 2, 1, NULL);
		struct task *t = sleeping_fifo(m, 0, 50);
		struct task *runner = pinned ? pinned_fifo(m, 0, 10) : fifo(m, 0, 10);

		wake(m, t, 0);
		assert_ptr_equal(running(m, pinned), t);
		assert_ptr_equal(running(m, !pinned), runner);
		machine_free(m);
	}
}

static void of_two_equals_the_one_that_can_goes_elsewhere(void **state)
{
	enum { RUNNER_MAY_GO, RUNNER_IS_PINNED, NOWHERE_TO_GO, NR_CASES };

	(void)state;
	for (unsigned i = 0; i < 2 * NR_CASES; i++) {
		unsigned which = i / 2, here = i % 2, there = 1 - here;
		struct machine *m = machine_of(1, 1, 2, 1, NULL);
		struct task *wakee = sleeping_fifo(m, here, 50), *runner;

		allow(m, wakee, cpumask_of(here));
		runner = which == RUNNER_IS_PINNED ? pinned_fifo(m, here, 50) : fifo(m, here, 50);
		if (which == NOWHERE_TO_GO)
			pinned_fifo(m, there, 50);
		wake(m, wakee, here);
		assert_ptr_equal(running(m, here), which == RUNNER_MAY_GO ? wakee : runner);
		if (which == RUNNER_MAY_GO)
			assert_ptr_equal(running(m, there), runner);
		sched_check(m->s);
		machine_free(m);
	}
}

static struct task *rival;

static void rival_comes_first(struct machine *m)
{
	wake(m, rival, 1);
}

/*
 * A CPU is chosen without its lock. A task that finds one there that is at least as urgent goes on.
 */
static void who_finds_its_new_cpu_taken_goes_on(void **state)
{
	static const int rivals[] = { 30, 40 };

	(void)state;
	for (unsigned i = 0; i < 2 * ARRAY_SIZE(rivals); i++) {
		struct machine *m = machine_of(1, 1, 3, 1, NULL);
		bool pushed = i % 2;
		struct task *t = pushed ? NULL : sleeping_fifo(m, 0, 30);

		rival = sleeping_fifo(m, 1, rivals[i / 2]);
		allow(m, rival, cpumask_of(1));
		pinned_fifo(m, 0, 50);
		if (pushed)
			t = fifo(m, 0, 30);
		assert_int_equal(t->cpu, 0);
		m->on_unlocked = rival_comes_first;
		if (pushed)
			switch_cpu(m, 0, true);
		else
			sched_wake(m->s, t, TASK_NORMAL, 0, 0);
		assert_null(m->on_unlocked);
		settle(m);
		assert_ptr_equal(running(m, 1), rival);
		assert_ptr_equal(running(m, 2), t);
		sched_check(m->s);
		machine_free(m);
	}
}

/* --- changes of parameters ------------------------------------------------ */

static void who_becomes_less_urgent_makes_room_for_those_that_wait_elsewhere(void **state)
{
	static const struct {
		int policy, prio;
	} changes[] = { { SCHED_FIFO, 10 }, { SCHED_NORMAL, 0 } };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(changes); i++) {
		struct machine *m = machine_of(1, 1, 2, 1, NULL);
		struct task *runner = fifo(m, 0, 50), *waits;

		pinned_fifo(m, 1, 60);
		waits = fifo(m, 1, 40);
		assert_ptr_not_equal(running(m, 1), waits);
		set_policy(m, runner, changes[i].policy, changes[i].prio);
		assert_ptr_equal(running(m, 0), waits);
		machine_free(m);
	}
}

static void who_waits_and_becomes_real_time_is_pushed(void **state)
{
	struct machine *m = machine_of(1, 1, 2, 1, NULL);
	struct task *t = put(m, 0);

	(void)state;
	pinned_fifo(m, 0, 50);
	allow(m, spawn_nice(m, "fair", 0), cpumask_of(1));
	assert_int_equal(t->cpu, 0);
	set_policy(m, t, SCHED_FIFO, 10);
	assert_ptr_equal(running(m, 1), t);
	machine_free(m);
}

static void a_change_of_affinity_moves_a_running_one_at_once(void **state)
{
	struct machine *m = machine_of(1, 1, 3, 1, NULL);
	struct task *t = fifo(m, 0, 50);

	(void)state;
	allow(m, spawn_nice(m, "fair", 0), cpumask_of(2));
	for (unsigned cpu = 1; cpu < 3; cpu++) {
		allow(m, t, cpumask_of(cpu));
		assert_ptr_equal(running(m, cpu), t);
		sched_check(m->s);
	}
	machine_free(m);
}

/* CPU 0 has used up its share. Its tasks wait for its next period there; nor does it fetch more. */
static void a_throttled_cpu_gives_and_takes_nothing(void **state)
{
	struct machine *m = machine_of(1, 1, 2, 1, NULL);
	struct task *waits, *other;

	(void)state;
	pinned_fifo(m, 0, 50);
	pinned_fifo(m, 1, 60);
	waits = fifo(m, 0, 10);
	other = fifo(m, 1, 20);
	assert_int_equal(waits->cpu, 0);
	rt_of(rq_of(m, 0))->used_ns = 960 * MS;
	m->now += MS;
	sched_tick(m->s, 0);
	assert_true(rt_of(rq_of(m, 0))->throttled);
	settle(m);
	assert_ptr_equal(running(m, 0), &m->idle[0]);
	assert_int_equal(other->cpu, 1);
	block(m, 1, TASK_INTERRUPTIBLE);
	switch_cpu(m, 0, true);
	settle(m);
	assert_int_equal(waits->cpu, 0);
	assert_ptr_equal(running(m, 0), &m->idle[0]);
	assert_ptr_equal(running(m, 1), other);
	sched_check(m->s);
	machine_free(m);
}

/* The share that a CPU used is forgotten when the CPU leaves. */
static void a_cpu_that_left_begins_anew(void **state)
{
	struct machine *m = machine_of(1, 1, 2, 1, NULL);
	struct task *t = fifo(m, 1, 50);

	(void)state;
	advance(m, 5 * MS);
	switch_cpu(m, 1, true);
	assert_int_equal(rt_of(rq_of(m, 1))->used_ns, 5 * MS);
	block(m, 1, TASK_INTERRUPTIBLE);
	assert_int_equal(sched_cpu_offline(m->s, 1), 0);
	assert_int_equal(rt_of(rq_of(m, 1))->used_ns, 0);
	assert_int_equal(rt_of(rq_of(m, 1))->period_end, 0);
	wake(m, t, 0);
	assert_ptr_equal(running(m, 0), t);
	machine_free(m);
}

/* Though its number is 0: the least urgent CPU is a CPU like others. */
static void cpu_0_may_be_the_least_urgent(void **state)
{
	struct machine *m = machine_of(1, 1, 2, 1, NULL);
	struct task *t = sleeping_fifo(m, 1, 20);

	(void)state;
	pinned_fifo(m, 1, 40);
	sched_trace_set(m->s, CLASS_DECISION_EVENTS);
	m->nr_trace = 0;
	sched_wake(m->s, t, TASK_NORMAL, 1, 0);
	assert_int_equal(t->cpu, 0);
	for (unsigned i = 0; i < m->nr_trace; i++) {
		const struct event_sched_decision_class *d = (const void *)m->trace[i].bytes;

		if (m->trace[i].common.type == EVENT_ID_sched_decision_class &&
		    d->act == ACT_select)
			assert_int_equal(d->rule, REASON_least_urgent_there);
	}
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cpu_with_two_of_which_one_can_move_is_overloaded),
		cmocka_unit_test(
			the_most_urgent_that_waits_is_pushed_and_no_more_than_there_is_room_for),
		cmocka_unit_test(a_cpu_pulls_what_is_more_urgent_than_all_it_has),
		cmocka_unit_test(a_wakee_goes_to_the_least_urgent_cpu),
		cmocka_unit_test(of_equally_urgent_cpus_the_nearest_is_taken),
		cmocka_unit_test(of_equals_each_has_its_turn),
		cmocka_unit_test(a_runner_that_cannot_leave_is_not_pushed_aside),
		cmocka_unit_test(of_two_equals_the_one_that_can_goes_elsewhere),
		cmocka_unit_test(who_finds_its_new_cpu_taken_goes_on),
		cmocka_unit_test(who_becomes_less_urgent_makes_room_for_those_that_wait_elsewhere),
		cmocka_unit_test(who_waits_and_becomes_real_time_is_pushed),
		cmocka_unit_test(a_change_of_affinity_moves_a_running_one_at_once),
		cmocka_unit_test(a_throttled_cpu_gives_and_takes_nothing),
		cmocka_unit_test(a_cpu_that_left_begins_anew),
		cmocka_unit_test(cpu_0_may_be_the_least_urgent),
	};

	return cmocka_run_group_tests_name("rt_smp", tests, NULL, NULL);
}
