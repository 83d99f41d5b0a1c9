/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which task CFS chooses: whether a wakeup preempts, which task follows, and what a yield does. The
 * numbers are those of docs/sources.md.
 */
#include "cfs.h"

/* --- wakeup preemption ---------------------------------------------------- */

/* Does @woken, placed at @v relative to M, preempt curr at M + 0.5 ms? */
static bool wakes_up_running(int nice, int policy, s64 v, u64 slept_ns)
{
	struct machine *m = flat_machine(1000);
	struct task *a = spawn(m, "woken", policy, nice), *b;
	bool preempted;

	advance(m, MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	b = spawn_nice(m, "curr", 0);
	spawn_nice(m, "other", 0);
	advance(m, slept_ns);
	b->fair.vruntime = cfs_queue(queue(m))->min_vruntime + MS / 2;
	b->fair.exec_start = m->now;
	a->fair.vruntime = cfs_queue(queue(m))->min_vruntime + (u64)v;
	wake(m, a, 0);
	preempted = running(m, 0) == a;
	machine_free(m);
	return preempted;
}

static void check_wakeup(int nice, int policy, s64 v, u64 slept_ns, bool right)
{
	if (wakes_up_running(nice, policy, v, slept_ns) != right)
		fail_msg("a sleeper of nice %d that wakes up at %ld %s one of nice 0 that runs at "
			 "%d (ns from min_vruntime), and should %s: the granularity of nice 0 is "
			 "1 ms",
			 nice, v, right ? "does not preempt" : "preempts", MS / 2,
			 right ? "preempt" : "wait");
}

static void a_sleeper_preempts_if_a_granularity_to_the_left(void **state)
{
	(void)state;
	check_wakeup(0, SCHED_NORMAL, -10000000, 0, true);
	/* A light wakee needs more lead: 1 ms is 9.3 ms in its virtual time. */
	check_wakeup(10, SCHED_NORMAL, -10000000, 0, false);
	/* A lead of 0.7 ms is less than the granularity. */
	check_wakeup(0, SCHED_NORMAL, -200000, 0, false);
	check_wakeup(-5, SCHED_NORMAL, -200000, 0, true);
}

static void batch_and_idle_tasks_never_preempt(void **state)
{
	(void)state;
	check_wakeup(0, SCHED_BATCH, -10000000, 0, false);
	check_wakeup(0, SCHED_IDLE, -10000000, 0, false);
}

static void any_normal_task_preempts_an_idle_policy_one(void **state)
{
	struct machine *m = flat_machine(1000);
	struct task *a = spawn_nice(m, "normal", 19);

	(void)state;
	advance(m, 20 * MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	spawn(m, "idle", SCHED_IDLE, 0);
	wake(m, a, 0);
	assert_task(running(m, 0), a);
	machine_free(m);
}

static void idle_policy_tasks_do_not_preempt_each_other(void **state)
{
	struct machine *m = flat_machine(1000);
	struct task *a = spawn(m, "A", SCHED_IDLE, 0), *b;

	(void)state;
	advance(m, 20 * MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	b = spawn(m, "B", SCHED_IDLE, 0);
	wake(m, a, 0);
	assert_task(running(m, 0), b);
	machine_free(m);
}

static void the_wakeup_granularity_is_in_the_wakees_virtual_time(void **state)
{
	static const struct {
		int nice;
		u64 ns;
	} golden[] = {
		{ -20, 11536 }, { -10, 107247 }, { -5, 328099 },   { 0, 1000000 },
		{ 5, 3056716 }, { 10, 9309090 }, { 19, 68266666 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		struct machine *m = flat_machine(1000);
		struct task *curr = spawn_nice(m, "curr", 0),
			    *t = spawn_nice(m, "t", golden[i].nice);
		struct fair_queue *q = queue(m);

		curr->fair.vruntime = t->fair.vruntime + golden[i].ns;
		if (q->hooks->preempts(q, &curr->fair, &t->fair, 0))
			fail_msg("nice %d preempts with a lead of %lu ns, which is its granularity",
				 golden[i].nice, golden[i].ns);
		curr->fair.vruntime++;
		if (!q->hooks->preempts(q, &curr->fair, &t->fair, 0))
			fail_msg("nice %d waits with a lead of %lu ns, a ns more than its "
				 "granularity",
				 golden[i].nice, golden[i].ns + 1);
		machine_free(m);
	}
}

/* --- buddies and yield ---------------------------------------------------- */

static void a_preempted_task_of_a_crowd_is_returned_to(void **state)
{
	struct machine *m = flat_machine(1000);
	struct task *sleeper = spawn_nice(m, "sleeper", 0), *preempted;

	(void)state;
	advance(m, MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	for (unsigned n = 0; n < 8; n++)
		spawn_nice(m, "crowd", 0);
	preempted = running(m, 0);
	advance(m, MS);
	sleeper->fair.vruntime = cfs_queue(queue(m))->min_vruntime - 3 * MS;
	wake(m, sleeper, 0);
	assert_task(running(m, 0), sleeper);
	assert_ptr_equal(cfs_queue(queue(m))->last, &preempted->fair);
	block(m, 0, TASK_INTERRUPTIBLE);
	/* Other tasks are further left, but by less than a granularity. */
	assert_task(running(m, 0), preempted);
	machine_free(m);
}

static void without_a_crowd_nobody_is_nominated(void **state)
{
	struct machine *m = flat_machine(1000);
	struct task *sleeper = spawn_nice(m, "sleeper", 0);

	(void)state;
	set_feature(m, "NEXT_BUDDY");
	advance(m, MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	spawn_nice(m, "A", 0);
	wake(m, sleeper, 0); /* not far enough to the left */
	assert_ptr_not_equal(running(m, 0), sleeper);
	assert_null(cfs_queue(queue(m))->next);
	while (running(m, 0) != sleeper)
		tick(m);
	block(m, 0, TASK_INTERRUPTIBLE);
	for (unsigned n = 0; n < 20; n++)
		tick(m);
	wake(m, sleeper, 0);
	assert_task(running(m, 0), sleeper);
	assert_null(cfs_queue(queue(m))->last);
	machine_free(m);
}

static void a_yielder_is_passed_over_for_one_hardly_worse(void **state)
{
	struct machine *m = flat_machine(1000);
	struct task *a = spawn_nice(m, "A", 0), *b = spawn_nice(m, "B", 0);

	(void)state;
	assert_task(running(m, 0), a);
	sched_yield(m->s, 0);
	assert_task(switch_cpu(m, 0, false), b);
	sched_yield(m->s, 0);
	assert_task(switch_cpu(m, 0, false), a);
	/* It is further to the right, but by less than a granularity. */
	b->fair.vruntime += MS / 2;
	sched_yield(m->s, 0);
	assert_task(switch_cpu(m, 0, false), b);
	machine_free(m);
}

static void a_yielder_far_behind_goes_on_running(void **state)
{
	struct machine *m = flat_machine(1000);
	struct task *a = spawn_nice(m, "A", 0), *b;

	(void)state;
	b = spawn_nice(m, "B", 0);
	b->fair.vruntime += 5 * MS;
	sched_yield(m->s, 0);
	assert_task(switch_cpu(m, 0, false), a);
	machine_free(m);
}

static void yielding_alone_changes_nothing(void **state)
{
	struct machine *m = flat_machine(1000);
	struct task *a = spawn_nice(m, "A", 0);

	(void)state;
	assert_false(sched_yield(m->s, 0));
	assert_task(switch_cpu(m, 0, false), a);
	assert_null(cfs_queue(queue(m))->skip);
	assert_int_equal(m->s->rq[0].nr_switches, 1);
	machine_free(m);
}

static void a_yield_asks_for_a_switch_if_there_is_anybody(void **state)
{
	struct machine *m = flat_machine(1000);
	struct task *a = spawn_nice(m, "A", 0), *b = spawn_nice(m, "B", 0);

	(void)state;
	assert_task(running(m, 0), a);
	assert_true(sched_yield(m->s, 0));
	assert_task(switch_cpu(m, 0, false), b);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_task(running(m, 0), a);
	assert_false(sched_yield(m->s, 0));
	/* Another task wants the CPU, whether it is counted or not. */
	m->s->rq[0].need_resched = true;
	assert_true(sched_yield(m->s, 0));
	assert_task(switch_cpu(m, 0, false), a);
	assert_false(m->s->rq[0].yield);
	machine_free(m);
}

/* With eight that are queued a queue is crowded: then the preempted one is to follow. */
static void eight_are_a_crowd(void **state)
{
	(void)state;
	for (unsigned nr = 7; nr <= 8; nr++) {
		struct machine *m = flat_machine(1000);
		struct task *first = spawn_nice(m, "first", 0), *woken;
		struct fair_queue *q = queue(m);

		for (unsigned n = 2; n < nr; n++)
			spawn_nice(m, "crowd", 0);
		woken = spawn_nice(m, "woken", 0);
		assert_int_equal(q->nr_running, nr);
		first->fair.vruntime = woken->fair.vruntime + 10 * MS;
		assert_true(q->hooks->preempts(q, &first->fair, &woken->fair, 0));
		assert_ptr_equal(cfs_queue(q)->last, nr < 8 ? NULL : &first->fair);
		machine_free(m);
	}
}

/* Clocks may stand anywhere: what counts is how long it slept. */
static void a_short_sleep_at_a_late_hour_is_short(void **state)
{
	struct machine *m = flat_machine(1000);
	struct task *t;
	u64 before;

	(void)state;
	advance(m, 1ull << 60);
	t = spawn_nice(m, "t", 0);
	spawn_nice(m, "other", 0);
	while (running(m, 0) != t)
		tick(m);
	advance(m, MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	before = t->fair.vruntime;
	advance(m, MS);
	wake(m, t, 0);
	assert_int_equal(t->fair.vruntime, before);
	machine_free(m);
}

/* It has no virtual time of its own: it wakes up as if it had just left the queue. */
static void a_sleeper_that_becomes_fair_begins_at_the_minimum(void **state)
{
	struct machine *m = flat_machine(1000);
	struct task *t = spawn(m, "t", SCHED_FIFO, 10);
	struct sched_attr_req normal = { .policy = SCHED_NORMAL };

	(void)state;
	block(m, 0, TASK_INTERRUPTIBLE);
	spawn_nice(m, "hog", 0);
	for (unsigned n = 0; n < 100; n++)
		tick(m);
	assert_int_equal(sched_set_attr(m->s, t, &normal), 0);
	assert_int_equal(t->fair.vruntime, cfs_queue(queue(m))->min_vruntime);
	machine_free(m);
}

/* A running task that becomes lighter gives others a chance; one that becomes heavier goes on. */
static void a_lighter_task_asks_for_a_switch(void **state)
{
	static const int nice[] = { 10, -10 };

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct machine *m = flat_machine(1000);
		struct task *t = spawn_nice(m, "t", 0);
		bool alone = i / 2;

		if (!alone)
			spawn_nice(m, "other", 0);
		while (running(m, 0) != t)
			tick(m);
		sched_set_nice(m->s, t, nice[i % 2]);
		assert_int_equal(m->s->rq[0].need_resched, i == 0 ? RESCHED_NOW : RESCHED_NONE);
		machine_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sleeper_preempts_if_a_granularity_to_the_left),
		cmocka_unit_test(batch_and_idle_tasks_never_preempt),
		cmocka_unit_test(any_normal_task_preempts_an_idle_policy_one),
		cmocka_unit_test(idle_policy_tasks_do_not_preempt_each_other),
		cmocka_unit_test(the_wakeup_granularity_is_in_the_wakees_virtual_time),
		cmocka_unit_test(a_preempted_task_of_a_crowd_is_returned_to),
		cmocka_unit_test(without_a_crowd_nobody_is_nominated),
		cmocka_unit_test(a_yielder_is_passed_over_for_one_hardly_worse),
		cmocka_unit_test(a_yielder_far_behind_goes_on_running),
		cmocka_unit_test(yielding_alone_changes_nothing),
		cmocka_unit_test(a_yield_asks_for_a_switch_if_there_is_anybody),
		cmocka_unit_test(eight_are_a_crowd),
		cmocka_unit_test(a_short_sleep_at_a_late_hour_is_short),
		cmocka_unit_test(a_sleeper_that_becomes_fair_begins_at_the_minimum),
		cmocka_unit_test(a_lighter_task_asks_for_a_switch),
	};

	return cmocka_run_group_tests_name("choice", tests, NULL, NULL);
}
