/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Delayed dequeue of groups: the entity of a group whose last member fell asleep stays queued while
 * it owes time, as a task does. It is told from others by its queue, which is empty.
 */
#include "eevdf.h"
#include "group.h"

struct scene {
	struct machine *m;
	struct task_group *x;
	struct task *member, *hog;
	struct entity *group; /* of @x */
};

/* The member of group @x, alone there, begins to run beside @hog. */
static struct scene one_running(struct task_group *(*make)(struct machine *m))
{
	struct scene c = { .m = eevdf_machine(1000) };
	struct task *rt = spawn(c.m, "rt", SCHED_FIFO, 1);

	set_feature(c.m, "NO_PLACE_DEADLINE_INITIAL");
	c.x = make(c.m);
	c.member = spawn_in(c.m, c.x, 0);
	c.hog = spawn_slice(c.m, "hog", 0, 0);
	assert_ptr_equal(running(c.m, 0), rt);
	block(c.m, 0, TASK_UNINTERRUPTIBLE);
	assert_ptr_equal(running(c.m, 0), c.member);
	c.group = c.member->fair.queue->owner;
	return c;
}

/* It ran for 1 ms and fell asleep: @x owes 0.5 ms. */
static struct scene one_asleep(struct task_group *(*make)(struct machine *m))
{
	struct scene c = one_running(make);

	advance(c.m, MS);
	block(c.m, 0, TASK_INTERRUPTIBLE);
	sched_check(c.m->s);
	assert_ptr_equal(running(c.m, 0), c.hog);
	return c;
}

static struct task_group *below_root(struct machine *m)
{
	return new_group(m, NULL);
}

static s64 vlag(const struct entity *e)
{
	return eevdf_entity(e)->vlag;
}

static void a_group_that_owes_stays(void **state)
{
	struct scene c = one_asleep(below_root);

	(void)state;
	/* Alone in its queue the task owes nothing, so it left; its group owes what it had. */
	assert_int_equal(c.member->on_rq, TASK_OFF_RQ);
	assert_true(group_is_delayed(c.group));
	assert_int_equal(vlag(c.group), -500000);
	assert_int_equal(queue(c.m)->nr_running, 2);
	assert_int_equal(eevdf_queue(queue(c.m))->sum_weight, 2048);
	/* It competes, but nothing of it can run. */
	assert_int_equal(queue(c.m)->tasks.nr, 1);
	assert_int_equal(c.m->s->rq[0].nr_running, 1);
	machine_free(c.m);
}

static void picked_it_leaves_without_a_claim(void **state)
{
	struct scene c = one_asleep(below_root);

	(void)state;
	run_on(c.m, 2 * MS);
	assert_ptr_equal(switch_now(c.m), c.hog);
	assert_false(c.group->queued);
	assert_int_equal(vlag(c.group), 0);
	assert_int_equal(queue(c.m)->nr_running, 1);
	sched_check(c.m->s);
	machine_free(c.m);
}

static void woken_early_it_still_owes(void **state)
{
	struct scene c = one_asleep(below_root);
	u64 v = c.group->vruntime, deadline = eevdf_entity(c.group)->deadline;

	(void)state;
	run_on(c.m, MS / 2);
	assert_true(wake(c.m, c.member, 0));
	assert_true(c.group->queued && !group_is_delayed(c.group));
	assert_int_equal(c.group->vruntime, v);
	assert_int_equal(eevdf_entity(c.group)->deadline, deadline);
	assert_int_equal(eevdf_lag(queue(c.m), c.group), -250000);
	assert_ptr_equal(running(c.m, 0), c.hog);
	assert_int_equal(queue(c.m)->tasks.nr, 2);
	sched_check(c.m->s);
	machine_free(c.m);
}

static void woken_late_it_has_no_claim(void **state)
{
	struct scene c = one_asleep(below_root);

	(void)state;
	run_on(c.m, 3 * MS / 2);
	assert_int_equal(eevdf_lag(queue(c.m), c.group), 250000);
	assert_true(wake(c.m, c.member, 0));
	assert_int_equal(eevdf_lag(queue(c.m), c.group), 0);
	sched_check(c.m->s);
	machine_free(c.m);
}

/* As a task that stayed queued. */
static void woken_late_it_is_placed_where_v_was_charged(void **state)
{
	struct scene c = one_asleep(below_root);

	(void)state;
	run_on(c.m, 3 * MS / 2);
	advance(c.m, MS / 4);
	assert_true(wake(c.m, c.member, 0));
	assert_int_equal(c.group->vruntime - QUEUE_START, 3 * MS / 2);
	assert_int_equal(v_of(c.hog), 7 * MS / 4);
	assert_ptr_equal(running(c.m, 0), c.member);
	sched_check(c.m->s);
	machine_free(c.m);
}

static void without_delay_dequeue_it_leaves_at_once(void **state)
{
	struct scene c = one_asleep(below_root);

	(void)state;
	run_on(c.m, 2 * MS);
	switch_now(c.m);
	set_feature(c.m, "NO_DELAY_DEQUEUE");
	wake(c.m, c.member, 0);
	while (running(c.m, 0) != c.member)
		run_ticks(c.m, 1);
	run_on(c.m, 5 * MS);
	block(c.m, 0, TASK_INTERRUPTIBLE);
	assert_false(c.group->queued);
	assert_true(vlag(c.group) < 0);
	machine_free(c.m);
}

/* A sleeping group's wait is no wait: cpu.stat counts what waits to run. */
static void it_does_not_wait_for_the_cpu(void **state)
{
	struct scene c = one_asleep(below_root);
	struct task_group_stat before, asleep, awake;

	(void)state;
	task_group_stat(c.m->s, c.x, &before);
	run_on(c.m, MS / 2);
	task_group_stat(c.m->s, c.x, &asleep);
	assert_int_equal(asleep.wait_sum_ns, before.wait_sum_ns);
	wake(c.m, c.member, 0);
	run_on(c.m, MS / 4);
	task_group_stat(c.m->s, c.x, &awake);
	assert_int_equal(awake.wait_sum_ns, before.wait_sum_ns + MS / 4);
	machine_free(c.m);
}

/* --- made to leave ----------------------------------------------------------- */

static void the_end_of_the_group_ends_it(void **state)
{
	struct scene c = one_asleep(below_root);

	(void)state;
	task_group_move(c.m->s, c.member, NULL);
	assert_true(group_is_delayed(c.group));
	end_group(c.m, c.x);
	assert_int_equal(queue(c.m)->nr_running, 1);
	sched_check(c.m->s);
	machine_free(c.m);
}

static void a_swap_ends_it_with_its_debt(void **state)
{
	static const char *const others[] = { "cfs", "bore-cfs", "bore", "fdl" };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(others); i++) {
		struct scene c = one_asleep(below_root);

		assert_int_equal(sched_fair_swap(c.m->s, others[i], 0), 0);
		assert_false(c.group->queued);
		sched_check(c.m->s);
		assert_true(wake(c.m, c.member, 0));
		run_ticks(c.m, 100);
		assert_in_range(c.member->fair.sum_exec, 40 * MS, 60 * MS);
		machine_free(c.m);
	}
}

static void idle_groups_are_counted_anew(void **state)
{
	struct scene c = one_asleep(below_root);

	(void)state;
	assert_int_equal(task_group_set_idle(c.m->s, c.x, true), 0);
	assert_false(c.group->queued);
	assert_int_equal(queue(c.m)->nr_idle, 0);
	sched_check(c.m->s);
	machine_free(c.m);
}

/* Shares are worth nothing while nobody of the group is here; the debt is in the old weight. */
static void new_shares_wait_for_a_member(void **state)
{
	struct scene c = one_asleep(below_root);

	(void)state;
	assert_int_equal(task_group_set_shares(c.m->s, c.x, 2048), 0);
	assert_int_equal(c.group->load.weight, NICE_0_LOAD);
	run_on(c.m, MS / 2);
	wake(c.m, c.member, 0);
	assert_int_equal(c.group->load.weight, 2 * NICE_0_LOAD);
	assert_in_range(eevdf_lag(queue(c.m), c.group), (u64)-125001, (u64)-124999);
	sched_check(c.m->s);
	machine_free(c.m);
}

/* --- levels are charged one by one --------------------------------------------- */

/* A task that reads its CPU time is charged. That its group had a slice is found at the tick. */
static void a_reader_does_not_end_its_groups_turn(void **state)
{
	struct scene c = one_running(below_root);

	(void)state;
	advance(c.m, 7 * MS / 2);
	assert_int_equal(sched_task_runtime(c.m->s, c.member), 7 * MS / 2);
	assert_int_equal(c.group->vruntime, QUEUE_START);
	assert_false(c.m->s->rq[0].need_resched);
	tick(c.m);
	assert_ptr_equal(running(c.m, 0), c.hog);
	machine_free(c.m);
}

/* A task that wakes up outside a group has the group charged, but not the task that runs there. */
static void a_wakeup_charges_the_level_of_the_comparison(void **state)
{
	struct scene c = one_running(below_root);
	struct task *patient = spawn_slice(c.m, "patient", 0, 100 * MS);
	u64 v_group, v_member;

	(void)state;
	while (running(c.m, 0) != patient)
		run_ticks(c.m, 1);
	block(c.m, 0, TASK_INTERRUPTIBLE);
	while (running(c.m, 0) != c.member)
		run_ticks(c.m, 1);
	v_group = c.group->vruntime;
	v_member = c.member->fair.vruntime;
	advance(c.m, MS / 2);
	assert_true(sched_wake(c.m->s, patient, TASK_NORMAL, 0, 0));
	/* A switch may have been asked for; it is still to come. */
	assert_int_equal(c.group->vruntime, v_group + MS / 2);
	assert_int_equal(c.member->fair.vruntime, v_member);
	settle(c.m);
	sched_check(c.m->s);
	machine_free(c.m);
}

/* The time of a group until its weight changes counts with the old weight. */
static void a_group_that_runs_is_charged_before_it_is_reweighted(void **state)
{
	struct scene c = one_running(below_root);

	(void)state;
	advance(c.m, MS);
	rq_lock(&c.m->s->rq[0]);
	c.x->shares *= 2;
	group_update_above(c.member->fair.queue);
	rq_unlock(&c.m->s->rq[0]);
	assert_int_equal(c.group->load.weight, 2 * NICE_0_LOAD);
	/* It owed 0.5 ms; at twice the weight that is half as much virtual time. */
	assert_in_range(eevdf_lag(queue(c.m), c.group), (u64)-250001, (u64)-249999);
	sched_check(c.m->s);
	machine_free(c.m);
}

/* --- groups in groups ---------------------------------------------------------- */

static struct task_group *below_a_group(struct machine *m)
{
	return new_group(m, new_group(m, NULL));
}

static void only_the_group_that_owes_stays(void **state)
{
	struct scene c = one_asleep(below_a_group);
	struct entity *outer = c.group->queue->owner;

	(void)state;
	/* Alone in its parent's queue the inner group owes nobody. */
	assert_false(c.group->queued);
	assert_true(group_is_delayed(outer));
	assert_int_equal(vlag(outer), -500000);
	run_on(c.m, 2 * MS);
	switch_now(c.m);
	assert_false(outer->queued);
	sched_check(c.m->s);
	machine_free(c.m);
}

/* Its member is awake and will be back: what the group owes is not worked off meanwhile. */
static void a_group_above_a_throttled_one_leaves(void **state)
{
	struct scene c = one_asleep(below_a_group);
	struct entity *outer = c.group->queue->owner;

	(void)state;
	assert_int_equal(task_group_set_bandwidth(c.m->s, c.x, 5 * MS, 100 * MS, 0, true), 0);
	wake(c.m, c.member, 0);
	while (running(c.m, 0) != c.member)
		run_ticks(c.m, 1);
	advance(c.m, 10 * MS); /* without a tick */
	run_ticks(c.m, 1);
	assert_true(c.group->own_queue->throttled);
	assert_true(vlag(outer) < 0);
	assert_false(outer->queued);
	machine_free(c.m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_group_that_owes_stays),
		cmocka_unit_test(picked_it_leaves_without_a_claim),
		cmocka_unit_test(woken_early_it_still_owes),
		cmocka_unit_test(woken_late_it_has_no_claim),
		cmocka_unit_test(woken_late_it_is_placed_where_v_was_charged),
		cmocka_unit_test(without_delay_dequeue_it_leaves_at_once),
		cmocka_unit_test(it_does_not_wait_for_the_cpu),
		cmocka_unit_test(the_end_of_the_group_ends_it),
		cmocka_unit_test(a_swap_ends_it_with_its_debt),
		cmocka_unit_test(idle_groups_are_counted_anew),
		cmocka_unit_test(new_shares_wait_for_a_member),
		cmocka_unit_test(a_reader_does_not_end_its_groups_turn),
		cmocka_unit_test(a_wakeup_charges_the_level_of_the_comparison),
		cmocka_unit_test(a_group_that_runs_is_charged_before_it_is_reweighted),
		cmocka_unit_test(only_the_group_that_owes_stays),
		cmocka_unit_test(a_group_above_a_throttled_one_leaves),
	};

	return cmocka_run_group_tests_name("eevdf_group", tests, NULL, NULL);
}
