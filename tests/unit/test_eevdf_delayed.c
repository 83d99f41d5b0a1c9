/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Delayed dequeue: a sleeper that owes time stays queued until the others have caught up with it.
 * This ends in one of three ways - it is picked, woken, or made to leave - tested with the golden
 * numbers of docs/sources.md. No debt may grow meanwhile.
 */
#include <string.h>

#include "eevdf.h"
#include "group.h"

/* Of two tasks, A ran 1 ms and fell asleep: it owes 0.5 ms. B runs. */
static struct machine *one_delayed(struct task **t)
{
	struct machine *m = equal_hogs(t, 2);

	advance(m, MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	sched_check(m->s);
	assert_ptr_equal(running(m, 0), t[1]);
	assert_true(is_delayed(t[0]));
	assert_int_equal(eevdf_entity(&t[0]->fair)->vlag, -500000);
	assert_int_equal(queue(m)->nr_running, 2);
	assert_int_equal(queue(m)->tasks.nr, 1);
	assert_int_equal(m->s->rq[0].nr_running, 1);
	return m;
}

static void gone(struct machine *m, const struct task *t, s64 vlag)
{
	assert_int_equal(t->on_rq, TASK_OFF_RQ);
	assert_false(t->fair.queued);
	assert_int_equal(eevdf_entity(&t->fair)->vlag, vlag);
	assert_true(list_empty(&m->s->rq[0].delayed));
	sched_check(m->s);
}

/* --- picked ------------------------------------------------------------------- */

static void picked_it_leaves_without_a_claim_as_golden(void **state)
{
	struct task *t[2];
	struct machine *m = one_delayed(t);

	(void)state;
	run_on(m, MS);
	assert_int_equal(v_now(m), MS);
	assert_int_equal(lag_of(m, t[0]), 0);
	assert_true(is_delayed(t[0]));
	run_on(m, MS);
	assert_int_equal(v_of(t[1]), 2 * MS);
	assert_int_equal(d_of(t[1]), 5 * MS);
	assert_int_equal(v_now(m), 3 * MS / 2);
	assert_int_equal(lag_of(m, t[0]), 500000);
	assert_ptr_equal(switch_now(m), t[1]);
	gone(m, t[0], 0);
	assert_int_equal(v_now(m), 2 * MS);
	machine_free(m);
}

static void without_delay_zero_the_claim_is_kept(void **state)
{
	struct task *t[2];
	struct machine *m = one_delayed(t);

	(void)state;
	set_feature(m, "NO_DELAY_ZERO");
	run_on(m, 2 * MS);
	switch_now(m);
	gone(m, t[0], 500000);
	machine_free(m);
}

static void without_delay_dequeue_it_leaves_at_once(void **state)
{
	struct task *t[2];
	struct machine *m = equal_hogs(t, 2);

	(void)state;
	set_feature(m, "NO_DELAY_DEQUEUE");
	advance(m, MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	gone(m, t[0], -500000);
	machine_free(m);
}

static void who_is_owed_time_leaves_at_once(void **state)
{
	struct task *t[3];
	struct machine *m = equal_hogs(t, 3);

	(void)state;
	run_ticks(m, 3);
	assert_ptr_equal(running(m, 0), t[1]);
	assert_true(lag_of(m, t[1]) >= 0);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_int_equal(t[1]->on_rq, TASK_OFF_RQ);
	machine_free(m);
}

/* --- woken --------------------------------------------------------------------- */

static void woken_early_it_still_owes_as_golden(void **state)
{
	struct task *t[2];
	struct machine *m = one_delayed(t);
	s64 v = v_of(t[0]), d = d_of(t[0]);

	(void)state;
	run_on(m, MS / 2);
	assert_int_equal(v_now(m), 750000);
	assert_true(wake(m, t[0], 0));
	assert_int_equal(t[0]->on_rq, TASK_QUEUED);
	assert_int_equal(v_of(t[0]), v);
	assert_int_equal(d_of(t[0]), d);
	assert_int_equal(lag_of(m, t[0]), -250000);
	assert_int_equal(queue(m)->tasks.nr, 2);
	assert_true(list_empty(&m->s->rq[0].delayed));
	sched_check(m->s);
	machine_free(m);
}

static void woken_late_it_has_no_claim(void **state)
{
	struct task *t[2];
	struct machine *m = one_delayed(t);

	(void)state;
	run_on(m, 3 * MS / 2);
	assert_int_equal(lag_of(m, t[0]), 250000);
	assert_true(wake(m, t[0], 0));
	assert_int_equal(lag_of(m, t[0]), 0);
	sched_check(m->s);
	machine_free(m);
}

/* Nobody enters the queue, so V is that of the last charge; the hog is charged when it is asked. */
static void woken_late_it_is_placed_where_v_was_charged(void **state)
{
	struct task *t[2];
	struct machine *m = one_delayed(t);

	(void)state;
	run_on(m, 5 * MS / 4);
	advance(m, MS / 8);
	assert_true(wake(m, t[0], 0));
	assert_int_equal(v_of(t[0]), 5 * MS / 4);
	/* The hog is right of V now: it loses the CPU in the middle of its request. */
	assert_int_equal(v_of(t[1]), 11 * MS / 8);
	assert_ptr_equal(running(m, 0), t[0]);
	sched_check(m->s);
	machine_free(m);
}

/* A SCHED_BATCH task is not compared with the running task, so its wakeup charges nobody. */
static void a_batch_task_that_stayed_charges_nobody(void **state)
{
	struct sched_attr_req batch = { .policy = SCHED_BATCH };
	struct task *t[2];
	struct machine *m = equal_hogs(t, 2);

	(void)state;
	assert_int_equal(sched_set_attr(m->s, t[0], &batch), 0);
	advance(m, MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_true(is_delayed(t[0]));
	advance(m, 4 * MS);
	assert_true(wake(m, t[0], 0));
	assert_int_equal(v_of(t[1]), 0);
	assert_ptr_equal(running(m, 0), t[1]);
	sched_check(m->s);
	machine_free(m);
}

/* --- made to leave ---------------------------------------------------------------- */

static void a_change_of_class_ends_it(void **state)
{
	struct sched_attr_req req = { .policy = SCHED_FIFO, .rt_priority = 5 };
	struct task *t[2];
	struct machine *m = one_delayed(t);

	(void)state;
	assert_int_equal(sched_set_attr(m->s, t[0], &req), 0);
	assert_int_equal(t[0]->on_rq, TASK_OFF_RQ);
	assert_true(list_empty(&m->s->rq[0].delayed));
	sched_check(m->s);
	assert_true(wake(m, t[0], 0));
	assert_ptr_equal(running(m, 0), t[0]);
	sched_check(m->s);
	machine_free(m);
}

static void a_renice_ends_it(void **state)
{
	struct sched_attr_req req = { .nice = 5 };
	struct task *t[2];
	struct machine *m = one_delayed(t);

	(void)state;
	assert_int_equal(sched_set_attr(m->s, t[0], &req), 0);
	gone(m, t[0], -500000 * 1024 / 335);
	machine_free(m);
}

static void a_move_to_another_group_ends_it(void **state)
{
	struct task *t[2];
	struct machine *m = one_delayed(t);
	struct task_group *tg = new_group(m, NULL);

	(void)state;
	task_group_move(m->s, t[0], tg);
	assert_int_equal(t[0]->on_rq, TASK_OFF_RQ);
	sched_check(m->s);
	assert_true(wake(m, t[0], 0));
	assert_int_equal(t[0]->fair.queue->tasks.nr, 1);
	sched_check(m->s);
	machine_free(m);
}

static void its_affinity_ends_it(void **state)
{
	struct sched_cpu_desc desc[2] = { { .core = 0 }, { .core = 1 } };
	struct machine *m = machine_new_on(2, 1000, desc, "eevdf");
	struct cpumask first = cpumask_of(0), second = cpumask_of(1);
	struct task *a = spawn_slice(m, "A", 0, 0), *b;

	(void)state;
	assert_int_equal(sched_set_affinity(m->s, a, &first), 0);
	settle(m);
	b = spawn_slice(m, "B", 0, 0);
	assert_int_equal(sched_set_affinity(m->s, b, &first), 0);
	settle(m);
	assert_ptr_equal(running(m, 0), a);
	advance(m, MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_true(is_delayed(a));
	assert_int_equal(sched_set_affinity(m->s, a, &second), 0);
	assert_int_equal(a->on_rq, TASK_OFF_RQ);
	assert_true(eevdf_entity(&a->fair)->vlag < 0);
	sched_check(m->s);
	assert_true(wake(m, a, 0));
	assert_ptr_equal(running(m, 1), a);
	sched_check(m->s);
	machine_free(m);
}

/* A debt to the old policy is settled under it; the sleeper then belongs to no queue. */
static void a_swap_ends_it(void **state)
{
	static const char *const others[] = { "cfs", "bore-cfs", "bore" };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(others); i++) {
		struct task *t[2];
		struct machine *m = one_delayed(t);

		assert_int_equal(sched_fair_swap(m->s, others[i], 0), 0);
		gone(m, t[0], -500000);
		assert_int_equal(queue(m)->nr_running, 1);
		run_ticks(m, 3);
		assert_true(wake(m, t[0], 0));
		run_ticks(m, 100);
		assert_in_range(t[0]->fair.sum_exec, 40 * MS, 60 * MS);
		machine_free(m);
	}
}

/* Dead and stopped tasks may be freed or acted on as soon as they are off their CPU. */
static void final_sleeps_are_not_delayed(void **state)
{
	static const u32 finals[] = { TASK_STOPPED, TASK_TRACED };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(finals); i++) {
		struct task *t[2];
		struct machine *m = equal_hogs(t, 2);

		advance(m, MS);
		block(m, 0, finals[i]);
		gone(m, t[0], -500000);
		machine_free(m);
	}
}

static void the_dead_are_not_delayed(void **state)
{
	struct task *t[2];
	struct machine *m = equal_hogs(t, 2);

	(void)state;
	advance(m, MS);
	sched_task_exit(m->s, 0);
	assert_ptr_equal(switch_cpu(m, 0, false), t[1]);
	assert_false(t[0]->fair.queued);
	sched_check(m->s);
	machine_free(m);
}

/* --- while it lasts --------------------------------------------------------------- */

/* A delayed task counts for virtual time but not as runnable: no CPU balances because of it. */
static void it_competes_but_is_not_runnable(void **state)
{
	struct task *t[2];
	struct machine *m = one_delayed(t);

	(void)state;
	assert_int_equal(eevdf_queue(queue(m))->sum_weight, 2048);
	assert_int_equal(queue(m)->load.weight, 2 * NICE_0_LOAD);
	assert_int_equal(m->s->rq[0].nr_running, 1);
	assert_int_equal(queue(m)->tasks.nr, 1);
	machine_free(m);
}

static void made_to_leave(struct machine *m, struct task *t)
{
	struct sched_attr_req req;

	sched_get_attr(t, &req);
	req.policy = t->policy == SCHED_NORMAL ? SCHED_BATCH : SCHED_NORMAL;
	assert_int_equal(sched_set_attr(m->s, t, &req), 0);
	assert_int_equal(t->on_rq, TASK_OFF_RQ);
}

/*
 * Debts that grew while their owners slept made some workloads twice as slow (found in Linux in
 * 2025). Whatever else comes and goes, a delayed task owes no more at the end than when it fell
 * asleep.
 */
static void no_debt_grows_in_sleep(void **state)
{
	struct task *t[5];
	struct machine *m = equal_hogs(t, 5);
	unsigned nr_ended = 0, nr_owing = 0, random = 1;

	(void)state;
	for (unsigned i = 0; i < 25000; i++) {
		s64 before[5];
		bool delayed[5];

		for (unsigned j = 0; j < 5; j++) {
			delayed[j] = is_delayed(t[j]);
			before[j] = eevdf_entity(&t[j]->fair)->vlag;
		}
		random = random * 1103515245 + 12345;
		if (random >> 28 < 5 && m->s->rq[0].nr_running > 1)
			block(m, 0, TASK_INTERRUPTIBLE);
		else if (random >> 28 < 10)
			wake(m, t[(random >> 20) % 5], 0);
		else if (random >> 28 < 12 && is_delayed(t[(random >> 20) % 5]))
			made_to_leave(m, t[(random >> 20) % 5]);
		advance(m, random >> 14 & 0x7ffff);
		if (random & 0x40000)
			tick(m);
		sched_check(m->s);
		for (unsigned j = 0; j < 5; j++) {
			if (!delayed[j] || is_delayed(t[j]) || t[j]->fair.queued)
				continue;
			assert_true(eevdf_entity(&t[j]->fair)->vlag >= before[j]);
			assert_true(eevdf_entity(&t[j]->fair)->vlag <= 0);
			nr_ended++;
			nr_owing += eevdf_entity(&t[j]->fair)->vlag < 0;
		}
	}
	assert_true(nr_ended > 1000 && nr_owing > 100);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(picked_it_leaves_without_a_claim_as_golden),
		cmocka_unit_test(without_delay_zero_the_claim_is_kept),
		cmocka_unit_test(without_delay_dequeue_it_leaves_at_once),
		cmocka_unit_test(who_is_owed_time_leaves_at_once),
		cmocka_unit_test(woken_early_it_still_owes_as_golden),
		cmocka_unit_test(woken_late_it_has_no_claim),
		cmocka_unit_test(woken_late_it_is_placed_where_v_was_charged),
		cmocka_unit_test(a_batch_task_that_stayed_charges_nobody),
		cmocka_unit_test(a_change_of_class_ends_it),
		cmocka_unit_test(a_renice_ends_it),
		cmocka_unit_test(a_move_to_another_group_ends_it),
		cmocka_unit_test(its_affinity_ends_it),
		cmocka_unit_test(a_swap_ends_it),
		cmocka_unit_test(final_sleeps_are_not_delayed),
		cmocka_unit_test(the_dead_are_not_delayed),
		cmocka_unit_test(it_competes_but_is_not_runnable),
		cmocka_unit_test(no_debt_grows_in_sleep),
	};

	return cmocka_run_group_tests_name("eevdf_delayed", tests, NULL, NULL);
}
