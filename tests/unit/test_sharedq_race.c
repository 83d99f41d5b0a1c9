/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shared wake queue: what may happen between a claim and the moment its task is fetched, and
 * while the feature is switched.
 */
#include <stdlib.h>
#include <string.h>

#include "sharedq.h"
#include "sched/balance/sharedq.h"

/* --- races: between the claim and the lock of the task's runqueue ---------------------------- */

static bool happened;

/* A task that is off its shard can be withdrawn by anybody: the claim must be noted by then. */
static void claim_is_noted(struct machine *m, const struct host_lock *lock)
{
	(void)lock;
	if (happened || rq_of(m, 0)->shared.own_shard.nr)
		return;
	if (waiter->shared.state != SHARED_CLAIMED)
		fail_msg("a task is off its shard when the shard's lock is released, and its "
			 "shared.state does not say that it is claimed");
	if (rq_of(m, 1)->shared.claim != waiter)
		fail_msg("a task is off its shard when the shard's lock is released, and the "
			 "claimant's rq->shared.claim is not that task");
}

/* CPU 1 begins to idle and claims the waiter; @meanwhile happens before it fetches it. */
static struct machine *race(const char *policy, void (*meanwhile)(struct machine *))
{
	struct machine *m = scene(policy, "SHARED_RUNQ", 3);

	assert_true(is_linked(waiter));
	happened = false;
	/* Balancing must not take it instead. */
	rq_of(m, 1)->avg_idle = 0;
	rq_of(m, 1)->domains->max_newidle_lb_cost = MS;
	sched_block(running(m, 1), TASK_INTERRUPTIBLE);
	m->on_unlocked = meanwhile;
	m->on_unlock = claim_is_noted;
	sched_switch_begin(m->s, 1, false);
	assert_true(happened);
	sched_switch_end(m->s, 1);
	settle(m);
	assert_null(rq_of(m, 1)->shared.claim);
	sched_check(m->s);
	return m;
}

static void claimed(struct machine *m)
{
	assert_int_equal(waiter->shared.state, SHARED_CLAIMED);
	assert_ptr_equal(rq_of(m, 1)->shared.claim, waiter);
	assert_int_equal(rq_of(m, 0)->shared.own_shard.nr, 0);
	sched_check(m->s);
	happened = true;
}

static void runs_at_home(struct machine *m)
{
	claimed(m);
	advance(m, 20 * MS);
	sched_block(runner, TASK_INTERRUPTIBLE);
	sched_switch_begin(m->s, 0, false);
	sched_switch_end(m->s, 0);
	assert_task(running(m, 0), waiter);
	assert_true(is_free(waiter));
}

static void check_picked(const char *policy)
{
	struct machine *m = race(policy, runs_at_home);

	assert_task(running(m, 0), waiter);
	assert_int_equal(rq_of(m, 1)->shared_raced, 1);
	assert_int_equal(rq_of(m, 1)->shared_pulled, 0);
	machine_free(m);
}

EACH_POLICY(a_claimed_task_may_be_picked_at_home, check_picked)

static void narrows(struct machine *m)
{
	struct cpumask zero_and_two = cpumask_of(0);

	claimed(m);
	cpumask_set(&zero_and_two, 2);
	assert_int_equal(sched_set_affinity(m->s, waiter, &zero_and_two), 0);
}

static void a_claimed_task_may_lose_the_right_to_come(void **state)
{
	struct machine *m = race("cfs", narrows);

	(void)state;
	assert_int_equal(waiter->cpu, 0);
	assert_true(is_linked(waiter)); /* for other CPUs */
	assert_int_equal(rq_of(m, 1)->shared_raced, 1);
	machine_free(m);
}

static void moves_away(struct machine *m)
{
	struct cpumask two = cpumask_of(2);

	claimed(m);
	assert_int_equal(sched_set_affinity(m->s, waiter, &two), 0);
}

static void a_claimed_task_may_move(void **state)
{
	struct machine *m = race("cfs", moves_away);

	(void)state;
	assert_int_equal(waiter->cpu, 2);
	assert_int_equal(rq_of(m, 1)->shared_pulled, 0);
	machine_free(m);
}

static void dies(struct machine *m)
{
	runs_at_home(m);
	sched_task_exit(m->s, 0);
	sched_switch_begin(m->s, 0, false);
	sched_switch_end(m->s, 0);
	memset(waiter, 0x5a, sizeof(*waiter));
}

static void a_claimed_task_may_end_and_its_memory_go(void **state)
{
	struct machine *m = race("cfs", dies);

	(void)state;
	assert_int_equal(rq_of(m, 1)->shared_raced, 1);
	machine_free(m);
}

static void switches_off(struct machine *m)
{
	claimed(m);
	set_feature(m, "NO_SHARED_RUNQ");
	assert_true(is_free(waiter));
}

static void switches_off_and_on(struct machine *m)
{
	switches_off(m);
	set_feature(m, "SHARED_RUNQ");
	assert_true(is_linked(waiter));
}

static void the_feature_may_go_while_a_task_is_claimed(void **state)
{
	struct machine *m = race("cfs", switches_off);

	(void)state;
	assert_int_equal(waiter->cpu, 0);
	machine_free(m);
	m = race("cfs", switches_off_and_on);
	assert_int_equal(rq_of(m, 0)->shared.own_shard.nr, 1);
	assert_int_equal(waiter->cpu, 0);
	machine_free(m);
}

static void becomes_real_time(struct machine *m)
{
	struct sched_attr_req fifo = { .policy = SCHED_FIFO, .rt_priority = 1 };

	claimed(m);
	assert_int_equal(sched_set_attr(m->s, waiter, &fifo), 0);
}

static void a_claimed_task_may_change_its_class(void **state)
{
	struct machine *m = race("cfs", becomes_real_time);

	(void)state;
	assert_int_equal(waiter->class->rank, CLASS_rt);
	assert_int_equal(rq_of(m, 1)->shared_pulled, 0);
	machine_free(m);
}

static struct task *newcomer;

static void work_comes(struct machine *m)
{
	struct sched_attr_req fifo = { .policy = SCHED_FIFO, .rt_priority = 1 };

	claimed(m);
	newcomer = spawn_nice(m, "new", 0);
	assert_int_equal(sched_set_attr(m->s, newcomer, &fifo), 0);
	assert_int_equal(sched_set_affinity(m->s, newcomer, &(struct cpumask){ { 2 } }), 0);
}

/* The new task goes first if it is more urgent, and the fetched one waits its turn. */
static void work_may_come_meanwhile(void **state)
{
	struct machine *m = race("cfs", work_comes);

	(void)state;
	assert_task(running(m, 1), newcomer);
	assert_int_equal(waiter->cpu, 1);
	assert_true(is_linked(waiter));
	machine_free(m);
}

/* --- throttled groups ----------------------------------------------------- */

static void check_throttled(const char *policy)
{
	struct machine *m = scene(policy, "SHARED_RUNQ", 2);
	struct task_group *tg = new_group(m, NULL);

	task_group_move(m->s, waiter, tg);
	settle(m);
	assert_int_equal(task_group_set_bandwidth(m->s, tg, MS, 100 * MS, 0, true), 0);
	settle(m);
	/* It runs until it is throttled. Whether linked or not, a hidden task stays where it is. */
	while (!waiter->fair.queue->throttled)
		tick(m);
	assert_task(running(m, 0), runner);
	block(m, 1, TASK_INTERRUPTIBLE);
	assert_task(running(m, 1), &m->idle[1]);
	assert_true(is_free(waiter) && waiter->cpu == 0);
	sched_check(m->s);
	/*
	 * When released it is linked again and may leave; it is so light that it does not run
	 * first.
	 */
	assert_int_equal(task_group_set_shares(m->s, tg, 2), 0);
	put(m, 1);
	while (waiter->fair.queue->throttled)
		tick(m);
	assert_false(is_free(waiter) && running(m, 0) != waiter);
	sched_check(m->s);
	machine_free(m);
	free(tg);
}

EACH_POLICY(a_throttled_task_is_not_taken, check_throttled)

/* It was linked when another task of its group used up the quota. */
static void check_hidden(const char *policy)
{
	struct machine *m = scene(policy, "SHARED_RUNQ", 2);
	struct task_group *tg = new_group(m, NULL);

	/* Two other tasks; otherwise there would be nothing to look for. */
	allow(m, put(m, 0), cpumask_of(0));
	allow(m, put(m, 0), cpumask_of(0));
	task_group_move(m->s, waiter, tg);
	task_group_move(m->s, runner, tg);
	settle(m);
	assert_int_equal(task_group_set_bandwidth(m->s, tg, MS, 100 * MS, 0, true), 0);
	settle(m);
	/* There are no ticks, which would balance. */
	while (!waiter->fair.queue->throttled) {
		advance(m, MS / 2);
		switch_cpu(m, 0, true);
	}
	assert_true(is_linked(waiter) || is_linked(runner));
	block(m, 1, TASK_INTERRUPTIBLE);
	assert_task(running(m, 1), &m->idle[1]);
	assert_true(waiter->cpu == 0 && runner->cpu == 0);
	assert_true(is_free(waiter) && is_free(runner));
	sched_check(m->s);
	machine_free(m);
	free(tg);
}

EACH_POLICY(a_task_that_is_throttled_while_linked_is_not_taken, check_hidden)

/* --- the feature under way ------------------------------------------------ */

static void switching_finds_and_leaves_what_waits(void **state)
{
	struct machine *m = scene("eevdf", "SHARED_RUNQ", 2);

	(void)state;
	set_feature(m, "NO_SHARED_RUNQ");
	assert_true(is_free(waiter));
	assert_int_equal(rq_of(m, 0)->shared.own_shard.nr, 0);
	set_feature(m, "SWQUEUE");
	assert_true(is_free(waiter));
	set_feature(m, "SHARED_RUNQ");
	assert_true(is_linked(waiter));
	set_feature(m, "NO_SWQUEUE");
	assert_int_equal(rq_of(m, 0)->shared.own_shard.nr, 1);
	set_feature(m, "NO_SHARED_RUNQ");
	sched_check(m->s);
	machine_free(m);
}

/* Between two states of the machine no CPU has a shard: no task is linked then. */
static void a_closed_shard_is_nobody_s(void **state)
{
	struct machine *m = scene("cfs", "SHARED_RUNQ", 3);

	(void)state;
	assert_true(is_linked(waiter));
	sharedq_close(m->s);
	assert_false(is_linked(waiter));
	for (unsigned cpu = 0; cpu < m->nr_cpus; cpu++)
		assert_null(rq_of(m, cpu)->shared.shard);
	sharedq_update(m->s);
	for (unsigned cpu = 0; cpu < m->nr_cpus; cpu++)
		assert_non_null(rq_of(m, cpu)->shared.shard);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_claimed_task_may_be_picked_at_home),
		cmocka_unit_test(a_claimed_task_may_lose_the_right_to_come),
		cmocka_unit_test(a_claimed_task_may_move),
		cmocka_unit_test(a_claimed_task_may_end_and_its_memory_go),
		cmocka_unit_test(the_feature_may_go_while_a_task_is_claimed),
		cmocka_unit_test(a_claimed_task_may_change_its_class),
		cmocka_unit_test(work_may_come_meanwhile),
		cmocka_unit_test(a_throttled_task_is_not_taken),
		cmocka_unit_test(a_task_that_is_throttled_while_linked_is_not_taken),
		cmocka_unit_test(switching_finds_and_leaves_what_waits),
		cmocka_unit_test(a_closed_shard_is_nobody_s),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
