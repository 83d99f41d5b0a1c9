/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EEVDF's virtual time against the golden numbers of docs/sources.md: where an entity is placed,
 * the lag it keeps, what a renice does to both, and requests that are new, of its own size, or
 * moved.
 */
#include <string.h>

#include "eevdf.h"
#include "group.h"

static void set_nice(struct machine *m, struct task *t, int nice)
{
	struct sched_attr_req req = { .nice = nice, .slice_ns = t->slice_ns };

	assert_int_equal(sched_set_attr(m->s, t, &req), 0);
	settle(m);
	sched_check(m->s);
}

/* --- placement -------------------------------------------------------------- */

/*
 * How far left of V a sleeper of @weight and @lag is placed beside others of total weight
 * @resident.
 */
static s64 placed_left(u64 resident, u64 weight, s64 lag, s64 *kept)
{
	struct task *others[2], t = { .comm = "t" };
	struct machine *m = equal_hogs(others, 2);
	struct fair_queue *q = queue(m);
	s64 before = v_now(m), left;

	/* One of the two stands for all residents. */
	rq_lock(q->rq);
	queue_leave(q, &others[1]->fair, QUEUE_SAVE);
	eevdf_reweight(q, &others[0]->fair, resident << WEIGHT_SHIFT);
	others[0]->fair.load = (struct load_weight){ .weight = resident << WEIGHT_SHIFT };
	t.fair.queue = q;
	t.fair.load.weight = weight << WEIGHT_SHIFT;
	t.fair.policy = q->policy;
	eevdf_entity(&t.fair)->vlag = lag;
	eevdf_place(q, &t.fair, ENQUEUE_WAKEUP);
	rq_unlock(q->rq);
	left = before - v_of(&t);
	*kept = v_now(m) - v_of(&t);
	machine_free(m);
	return left;
}

/* An arrival moves V towards itself, so the entity is placed further away than its lag. */
static void lag_is_inflated_as_golden(void **state)
{
	static const struct {
		u64 resident, weight;
		s64 lag, left, kept;
	} golden[] = {
		{ 2048, 1024, 1000000, 1500000, 1000000 },
		{ 2048, 1024, -2000000, -3000000, -2000000 },
		{ 1024, 1024, 1000000, 2000000, 1000000 },
		{ 1024, 88761, 1000000, 87680664, 999999 },
		{ 1024, 15, 1000000, 1014648, 999999 },
		{ 3, 1024, 333333, 114110997, 333333 },
		{ 2048, 1024, 0, 0, 0 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		s64 kept, left = placed_left(golden[i].resident, golden[i].weight, golden[i].lag,
					     &kept);

		assert_int_equal(left, golden[i].left);
		assert_in_range(kept - golden[i].kept + 1, 0, 1);
	}
}

/* A ran 2 ms of three equal tasks; C, which is owed 2/3 ms, leaves and comes back. */
static void lag_survives_sleep_as_golden(void **state)
{
	struct task *t[3];
	struct machine *m = equal_hogs(t, 3);
	struct fair_queue *q = queue(m);

	(void)state;
	run_on(m, 2 * MS);
	assert_int_equal(v_now(m), 666666);
	rq_lock(q->rq);
	assert_true(queue_leave(q, &t[2]->fair, DEQUEUE_SLEEP));
	assert_int_equal(eevdf_entity(&t[2]->fair)->vlag, 666666);
	assert_int_equal(v_now(m), 1000000);
	queue_enter(q, &t[2]->fair, ENQUEUE_WAKEUP);
	rq_unlock(q->rq);
	assert_int_equal(v_of(t[2]), 1);
	assert_int_equal(d_of(t[2]), 3000001);
	assert_int_equal(v_now(m), 666667);
	assert_int_equal(lag_of(m, t[2]), 666666);
	machine_free(m);
}

static void without_place_lag_everybody_starts_at_v(void **state)
{
	struct task *t[3];
	struct machine *m = equal_hogs(t, 3);
	struct fair_queue *q = queue(m);

	(void)state;
	set_feature(m, "NO_PLACE_LAG");
	run_on(m, 2 * MS);
	rq_lock(q->rq);
	queue_leave(q, &t[2]->fair, DEQUEUE_SLEEP);
	queue_enter(q, &t[2]->fair, ENQUEUE_WAKEUP);
	rq_unlock(q->rq);
	assert_int_equal(v_of(t[2]), 1000000);
	assert_true(eevdf_eligible(q, &t[2]->fair));
	machine_free(m);
}

/* --- how much lag is kept ------------------------------------------------------ */

static void the_clamp_is_golden(void **state)
{
	static const struct {
		unsigned hz;
		int nice;
		u64 slice_ns;
		s64 limit;
	} golden[] = {
		{ 1000, 0, 3 * MS, 6000000 },	  { 1000, 5, 3 * MS, 18340298 },
		{ 1000, -20, 3 * MS, 69219 },	  { 1000, 19, 3 * MS, 409599999 },
		{ 1000, 0, 3 * MS / 4, 1500000 }, { 250, 0, 3 * MS / 4, 4000000 },
		{ 1000, 0, MS / 10, 1000000 },	  { 1000, 19, 100 * MS, 13653333330 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		struct machine *m = eevdf_machine(golden[i].hz);
		struct task *t = spawn_slice(m, "t", golden[i].nice, golden[i].slice_ns);

		assert_int_equal(eevdf_lag_limit(queue(m), &t->fair), golden[i].limit);
		machine_free(m);
	}
}

/*
 * Beside a slice of 20 ms the task may fairly have to wait that long: its lag is not cut at its own
 * slice.
 */
static void the_longest_slice_of_the_queue_sets_the_clamp(void **state)
{
	static const struct hog hogs[] = { { "L", 0, 20 * MS }, { "S", 0, MS } };
	struct machine *m = eevdf_machine(1000);
	struct task *t[2];

	(void)state;
	start_hogs(m, t, hogs, 2);
	assert_int_equal(eevdf_lag_limit(queue(m), &t[0]->fair), 40 * MS);
	assert_int_equal(eevdf_lag_limit(queue(m), &t[1]->fair), 40 * MS);
	machine_free(m);
}

static void lag_that_is_kept_is_clamped(void **state)
{
	struct task *t[2];
	struct machine *m = equal_hogs(t, 2);
	struct fair_queue *q = queue(m);

	(void)state;
	/* As if preemption had been off for half a minute. */
	run_on(m, 30 * NS_PER_SEC);
	assert_int_equal(lag_of(m, t[1]), 15 * NS_PER_SEC);
	assert_int_equal(eevdf_lag(q, &t[1]->fair), 6 * MS);
	assert_int_equal(eevdf_lag(q, &t[0]->fair), -(s64)(6 * MS));
	machine_free(m);
}

/* --- a renice ---------------------------------------------------------------------- */

/*
 * With V = 10 ms and @v and @d as given: their values after the weight changes from 1024 to
 * @weight.
 */
static void reweigh(s64 v, s64 d, u64 weight, s64 *v_after, s64 *d_after)
{
	struct task *t[2];
	struct machine *m = equal_hogs(t, 2);
	struct fair_queue *q = queue(m);
	struct entity *e = &t[0]->fair, *other = &t[1]->fair;

	rq_lock(q->rq);
	queue_erase(q, other);
	eevdf_sums_sub(q, e);
	eevdf_sums_sub(q, other);
	e->vruntime = (u64)(v + QUEUE_START);
	eevdf_entity(e)->deadline = (u64)(d + QUEUE_START);
	other->vruntime = (u64)(20 * (s64)MS - v + QUEUE_START);
	eevdf_sums_add(q, e);
	eevdf_sums_add(q, other);
	queue_insert(q, other);
	assert_int_equal(v_now(m), 10 * MS);
	fair_reweight(e, (struct load_weight){ .weight = weight << WEIGHT_SHIFT });
	rq_unlock(q->rq);
	/* Placement to the ns cannot keep the mean in place more exactly than that. */
	assert_in_range(v_now(m) - 10 * (s64)MS + 1, 0, 2);
	*v_after = v_of(t[0]);
	*d_after = d_of(t[0]);
	machine_free(m);
}

static void a_renice_leaves_v_where_it_is_as_golden(void **state)
{
	static const struct {
		s64 v, d;
		u64 weight;
		s64 v_after, d_after;
	} golden[] = {
		{ 9000000, 12000000, 335, 6943284, 16113432 },
		{ 9000000, 12000000, 820, 8751220, 12497560 },
		{ 9000000, 12000000, 1277, 9198121, 11603758 },
		{ 9000000, 12000000, 2048, 9500000, 11000000 },
		{ 9000000, 12000000, 3121, 9671901, 10656199 },
		{ 9000000, 12000000, 15, -58266666, 146533333 },
		{ 11000000, 13000000, 335, 13056716, 19170149 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		s64 v, d;

		reweigh(golden[i].v, golden[i].d, golden[i].weight, &v, &d);
		assert_int_equal(v, golden[i].v_after);
		assert_int_equal(d, golden[i].d_after);
	}
}

/* The real time owed to a sleeper does not depend on its weight when it wakes. */
static void a_sleepers_lag_is_rescaled(void **state)
{
	struct task *t[2];
	struct machine *m = equal_hogs(t, 2);

	(void)state;
	run_on(m, MS);
	set_feature(m, "NO_DELAY_DEQUEUE");
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_int_equal(eevdf_entity(&t[0]->fair)->vlag, -500000);
	set_nice(m, t[0], 5);
	assert_int_equal(eevdf_entity(&t[0]->fair)->vlag, -500000 * 1024 / 335);
	set_nice(m, t[0], 0);
	assert_in_range(eevdf_entity(&t[0]->fair)->vlag + 500000, 0, 2);
	machine_free(m);
}

/* Weights come and go while tasks run: the sums stay exact, and some entity is always eligible. */
static void renicing_at_random_keeps_the_sums(void **state)
{
	struct task *t[5];
	struct machine *m = equal_hogs(t, 5);

	(void)state;
	for (unsigned i = 0; i < 2000; i++) {
		set_nice(m, t[i % 5], (int)(i * 7 % 40) - 20);
		tick(m);
		sched_check(m->s);
	}
	machine_free(m);
}

/* --- requests -------------------------------------------------------------------------- */

static void new_tasks_ask_for_half_a_slice(void **state)
{
	struct task *t[2];
	struct machine *m = equal_hogs(t, 1);
	struct task *child = calloc(1, sizeof(*child));

	(void)state;
	assert_int_equal(d_of(t[0]) - v_of(t[0]), 3 * MS / 2);
	run_on(m, MS);
	sched_task_fork(m->s, t[0], child, 100, 0);
	assert_int_equal(eevdf_entity(&child->fair)->vlag, 0);
	sched_task_start(m->s, child, 0);
	assert_int_equal(v_of(child), MS);
	assert_int_equal(d_of(child), MS + 3 * MS / 2);
	set_feature(m, "NO_PLACE_DEADLINE_INITIAL");
	t[1] = spawn_slice(m, "full", 0, 0);
	assert_int_equal(d_of(t[1]) - v_of(t[1]), 3 * MS);
	machine_free(m);
}

static void a_slice_of_its_own(void **state)
{
	static const struct {
		u64 asked, got;
	} golden[] = {
		{ 0, 3 * MS },	    { 1, MS / 10 },	    { MS / 10, MS / 10 },
		{ 5 * MS, 5 * MS }, { 100 * MS, 100 * MS }, { NS_PER_SEC, 100 * MS },
	};
	struct machine *m = eevdf_machine(1000);
	struct task *t = spawn_slice(m, "t", 0, 0);

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		struct sched_attr_req req = { .slice_ns = golden[i].asked };

		assert_int_equal(sched_set_attr(m->s, t, &req), 0);
		assert_int_equal(sched_task_slice(m->s, t), golden[i].got);
	}
	machine_free(m);
}

static void a_slice_of_its_own_ends_with_reset_on_fork(void **state)
{
	struct machine *m = eevdf_machine(1000);
	struct task *t = spawn_slice(m, "t", 0, 7 * MS), child[2];

	(void)state;
	sched_task_fork(m->s, t, &child[0], 100, 0);
	assert_int_equal(child[0].slice_ns, 7 * MS);
	t->reset_on_fork = true;
	sched_task_fork(m->s, t, &child[1], 101, 0);
	assert_int_equal(child[1].slice_ns, 0);
	machine_free(m);
}

/* A group is as urgent as its most urgent present member, not the one when its request began. */
static void a_groups_slice_follows_its_members(void **state)
{
	struct machine *m = eevdf_machine(1000);
	struct task_group *tg = new_group(m, NULL);
	struct task *quick = spawn_slice(m, "quick", 0, MS);
	const struct entity *group;
	s64 deadline;

	(void)state;
	block(m, 0, TASK_INTERRUPTIBLE);
	task_group_move(m->s, quick, tg);
	spawn_nice(m, "outside", 0);
	spawn_in(m, tg, 0);
	group = quick->fair.queue->owner;
	deadline = (s64)eevdf_entity(group)->deadline;
	assert_ptr_not_equal(queue(m)->curr, group);
	assert_int_equal(eevdf_entity(group)->slice, 3 * MS);
	wake(m, quick, 0);
	assert_int_equal(eevdf_entity(group)->slice, MS);
	assert_int_equal((s64)eevdf_entity(group)->deadline, deadline);
	sched_check(m->s);
	while (running(m, 0) != quick)
		run_ticks(m, 1);
	block(m, 0, TASK_STOPPED);
	assert_int_equal(eevdf_entity(group)->slice, 3 * MS);
	sched_check(m->s);
	machine_free(m);
}

/* The rest of a request of 3 ms whose task was preempted after 1 ms and then moved. */
static s64 left_after_move(bool relative)
{
	struct sched_cpu_desc desc[2] = { { .core = 0 }, { .core = 1 } };
	struct machine *m = machine_new_on(2, 1000, desc, "eevdf");
	struct cpumask first = cpumask_of(0), second = cpumask_of(1);
	struct task *t, *urgent;
	s64 left;

	set_tunable(m, "base_slice_ns", "3000000");
	set_feature(m, "NO_PLACE_DEADLINE_INITIAL");
	if (!relative)
		set_feature(m, "NO_PLACE_REL_DEADLINE");
	t = spawn_slice(m, "t", 0, 0);
	assert_int_equal(sched_set_affinity(m->s, t, &first), 0);
	settle(m);
	assert_ptr_equal(running(m, 0), t);
	advance(m, MS);
	urgent = spawn(m, "urgent", SCHED_FIFO, 1);
	assert_int_equal(sched_set_affinity(m->s, urgent, &first), 0);
	settle(m);
	assert_int_equal(d_of(t) - v_of(t), 2 * MS);
	assert_int_equal(sched_set_affinity(m->s, t, &second), 0);
	settle(m);
	assert_ptr_equal(running(m, 1), t);
	left = d_of(t) - v_of(t);
	machine_free(m);
	return left;
}

static void a_request_travels_with_its_task(void **state)
{
	(void)state;
	assert_int_equal(left_after_move(true), 2 * MS);
	assert_int_equal(left_after_move(false), 3 * MS);
}

/* --- v0 ----------------------------------------------------------------------------------- */

/*
 * V is measured from v0. If v0 stayed behind, keys would grow without bound (found in Linux in
 * 2026). A lone task never passes place() or leave(), so its charge must move v0.
 */
static void v0_follows_a_task_that_is_alone(void **state)
{
	struct task *t[1];
	struct machine *m = equal_hogs(t, 1);

	(void)state;
	set_nice(m, t[0], 19);
	for (unsigned i = 0; i < 5000; i++) {
		tick(m);
		assert_in_range(t[0]->fair.vruntime - eevdf_queue(queue(m))->v0, 0, 300 * MS);
	}
	sched_check(m->s);
	machine_free(m);
}

/* Yielders of nice 19 beside tasks that pass the turn on: some entity is always eligible. */
static void light_yielders_leave_somebody_eligible(void **state)
{
	struct task *t[4], *light[4];
	struct machine *m = equal_hogs(t, 4);

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		light[i] = spawn_nice(m, "light", 19);
	for (unsigned i = 0; i < 20000; i++) {
		struct task *curr = running(m, 0);

		advance(m, 1 + i * 7919 % 50000);
		if (curr->static_prio == 139 && sched_yield(m->s, 0)) {
			switch_cpu(m, 0, false);
			settle(m);
		} else if (curr->static_prio != 139) {
			block(m, 0, TASK_INTERRUPTIBLE);
			wake(m, t[i % 4], 0);
			wake(m, curr, 0);
		}
		if (i % 10 == 0)
			tick(m);
		sched_check(m->s);
	}
	for (unsigned i = 0; i < 4; i++)
		assert_true(light[i]->fair.sum_exec > 0);
	machine_free(m);
}

/* A task that has left, and still runs until the switch, does not count. */
static void who_has_left_does_not_set_the_clamp(void **state)
{
	static const struct hog hogs[] = { { "long", 0, 20 * MS }, { "short", 0, 2 * MS } };
	struct task *t[2];
	struct machine *m = eevdf_machine(1000);
	struct entity *curr;

	(void)state;
	start_hogs(m, t, hogs, 2);
	while (running(m, 0) != t[0])
		tick(m);
	curr = queue(m)->curr;
	assert_int_equal(eevdf_lag_limit(queue(m), &t[1]->fair), 40 * MS);
	curr->queued = false;
	assert_int_equal(eevdf_lag_limit(queue(m), &t[1]->fair), 4 * MS);
	curr->queued = true;
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lag_is_inflated_as_golden),
		cmocka_unit_test(lag_survives_sleep_as_golden),
		cmocka_unit_test(without_place_lag_everybody_starts_at_v),
		cmocka_unit_test(the_clamp_is_golden),
		cmocka_unit_test(the_longest_slice_of_the_queue_sets_the_clamp),
		cmocka_unit_test(who_has_left_does_not_set_the_clamp),
		cmocka_unit_test(lag_that_is_kept_is_clamped),
		cmocka_unit_test(a_renice_leaves_v_where_it_is_as_golden),
		cmocka_unit_test(a_sleepers_lag_is_rescaled),
		cmocka_unit_test(renicing_at_random_keeps_the_sums),
		cmocka_unit_test(new_tasks_ask_for_half_a_slice),
		cmocka_unit_test(a_slice_of_its_own),
		cmocka_unit_test(a_slice_of_its_own_ends_with_reset_on_fork),
		cmocka_unit_test(a_groups_slice_follows_its_members),
		cmocka_unit_test(a_request_travels_with_its_task),
		cmocka_unit_test(v0_follows_a_task_that_is_alone),
		cmocka_unit_test(light_yielders_leave_somebody_eligible),
	};

	return cmocka_run_group_tests_name("eevdf_lag", tests, NULL, NULL);
}
