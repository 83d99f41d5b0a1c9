/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A task that is about to end leaves its group and comes back, before its parent is woken
 * (sched_task_ends()). A task that moves to another group keeps its lag.
 */
#include "eevdf.h"
#include "group.h"
#include "sched/fair/cfs/cfs.h"

static s64 min_v(struct machine *m)
{
	return (s64)cfs_queue(queue(m))->min_vruntime - QUEUE_START;
}

/* A and B had 5 and 7 ms, C has had 1: the queue's time went with C, and goes on to A's. */
static void cfs_counts_from_those_that_wait(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *a, *b, *c;

	(void)state;
	set_feature(m, "NO_START_DEBIT");
	a = spawn_nice(m, "A", 0);
	b = spawn_nice(m, "B", 0);
	c = spawn_nice(m, "C", 0);
	run_on(m, 5 * MS);
	assert_ptr_equal(switch_now(m), b);
	run_on(m, 7 * MS);
	assert_ptr_equal(switch_now(m), c);
	run_on(m, MS);
	assert_int_equal(min_v(m), MS);

	sched_task_ends(m->s, 0);
	assert_int_equal(min_v(m), 5 * MS);
	assert_int_equal(v_of(c), 5 * MS); /* as far from the queue's time as before */
	sched_check(m->s);
	/* A task that is born now waits for A. */
	assert_true(v_of(a) <= v_of(spawn_slice(m, "D", 0, 0)));
	machine_free(m);
}

/* A ran for 2 ms, B for 0.5: V is 5/6 ms. B keeps its lag of 1/3 ms and its request. */
static void eevdf_keeps_the_lag_and_the_request(void **state)
{
	struct task *t[3];
	struct machine *m = equal_hogs(t, 3);

	(void)state;
	run_on(m, 2 * MS);
	set_feature(m, "NO_RUN_TO_PARITY");
	assert_ptr_equal(switch_now(m), t[1]);
	run_on(m, MS / 2);
	assert_int_equal(lag_of(m, t[1]), 333333);
	sched_task_ends(m->s, 0);
	assert_in_range(lag_of(m, t[1]), 333332, 333334);
	assert_int_equal(d_of(t[1]) - v_of(t[1]), 1000000);
	assert_in_range(v_now(m), 833332, 833334);
	sched_check(m->s);
	machine_free(m);
}

static void a_waiting_task_takes_its_lag_to_a_group_of_its_own(void **state)
{
	struct task *t[3];
	struct machine *m = equal_hogs(t, 3);
	struct task_group *x = new_group(m, NULL);

	(void)state;
	run_on(m, 2 * MS);
	task_group_move(m->s, t[2], x);
	/* Alone there, it is where that queue's time is, and owed nothing. */
	assert_int_equal(eevdf_entity(&t[2]->fair)->vlag, 666666);
	task_group_move(m->s, t[2], NULL);
	sched_check(m->s);
	assert_int_equal(lag_of(m, t[2]), 0);
	end_group(m, x);
	machine_free(m);
}

static void a_dying_fifo_task_goes_behind_its_equals(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *a = spawn(m, "A", SCHED_FIFO, 5), *b = spawn(m, "B", SCHED_FIFO, 5);

	(void)state;
	assert_ptr_equal(running(m, 0), a);
	sched_task_ends(m->s, 0);
	assert_true(m->s->rq[0].need_resched);
	assert_ptr_equal(switch_now(m), b);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_ptr_equal(running(m, 0), a);
	sched_task_exit(m->s, 0);
	switch_cpu(m, 0, false);
	sched_check(m->s);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cfs_counts_from_those_that_wait),
		cmocka_unit_test(eevdf_keeps_the_lag_and_the_request),
		cmocka_unit_test(a_waiting_task_takes_its_lag_to_a_group_of_its_own),
		cmocka_unit_test(a_dying_fifo_task_goes_behind_its_equals),
	};

	return cmocka_run_group_tests_name("ending", tests, NULL, NULL);
}
