/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SCHED_FIFO and SCHED_RR: order, slices, throttling, push and pull (docs/sources.md).
 */
#include "host.h"
#include "sched/rt/rt.h"

static struct machine *unlimited(unsigned nr_cpus, unsigned hz)
{
	struct machine *m = machine_new(nr_cpus, hz);

	set_tunable(m, "sched_rt_runtime_us", "-1");
	return m;
}

static void the_more_urgent_task_preempts(void **state)
{
	struct machine *m = unlimited(1, 1000);
	struct task *low = spawn(m, "low", SCHED_FIFO, 10), *high;

	(void)state;
	assert_int_equal(low->prio, 89);
	assert_task(running(m, 0), low);
	spawn(m, "lower", SCHED_FIFO, 9);
	assert_task(running(m, 0), low);
	high = spawn(m, "high", SCHED_FIFO, 11);
	assert_task(running(m, 0), high);
	/* The preempted task kept its place in front of its equals. */
	spawn(m, "equal", SCHED_FIFO, 10);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_task(running(m, 0), low);
	m->nr_kicks = 0;
	spawn(m, "equal too", SCHED_FIFO, 10);
	assert_int_equal(m->nr_kicks, 0);
	sched_check(m->s);
	machine_free(m);
}

static void equal_fifo_tasks_run_until_they_block_or_yield(void **state)
{
	struct machine *m = unlimited(1, 1000);
	struct task *a = spawn(m, "A", SCHED_FIFO, 5), *b = spawn(m, "B", SCHED_FIFO, 5);

	(void)state;
	for (unsigned n = 0; n < 500; n++)
		tick(m);
	assert_task(running(m, 0), a);
	sched_yield(m->s, 0);
	assert_task(switch_cpu(m, 0, false), b);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_task(running(m, 0), a);
	machine_free(m);
}

static void equal_rr_tasks_alternate_every_100_ms(void **state)
{
	static const unsigned hz[] = { 100, 250, 1000 }, ticks[] = { 10, 25, 100 };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct machine *m = unlimited(1, hz[i]);
		struct task *a = spawn(m, "A", SCHED_RR, 5), *b = spawn(m, "B", SCHED_RR, 5);

		assert_int_equal(rr_slice_ticks(m->s), ticks[i]);
		for (unsigned n = 0; n < 10 * ticks[i]; n++) {
			assert_task(running(m, 0), n / ticks[i] % 2 ? b : a);
			tick(m);
		}
		machine_free(m);
	}
}

static void tick_alone(struct machine *m)
{
	m->now += MS;
	sched_tick(m->s, 0);
}

/* The tick that ends a slice asks for a switch. Other reasons for one are not there. */
static void the_end_of_a_slice_asks_for_a_switch(void **state)
{
	struct machine *m = unlimited(1, 1000);
	struct task *a = spawn(m, "A", SCHED_RR, 5), *b = spawn(m, "B", SCHED_RR, 5);

	(void)state;
	rt_part(a)->time_slice = 2;
	tick_alone(m);
	if (m->s->rq[0].need_resched)
		fail_msg("a switch was asked for before the slice of %s is over", a->comm);
	tick_alone(m);
	if (m->s->rq[0].need_resched != RESCHED_NOW)
		fail_msg("the slice of %s is over and %s waits, but nobody asked for a switch",
			 a->comm, b->comm);
	settle(m);
	assert_task(running(m, 0), b);
	machine_free(m);
}

static void a_lone_rr_task_does_not_rotate(void **state)
{
	struct machine *m = unlimited(1, 1000);

	(void)state;
	spawn(m, "A", SCHED_RR, 5);
	m->nr_kicks = 0;
	for (unsigned n = 0; n < 500; n++)
		tick(m);
	assert_int_equal(m->nr_kicks, 0);
	machine_free(m);
}

static void an_rr_task_goes_behind_a_fifo_one_that_then_stays(void **state)
{
	struct machine *m = unlimited(1, 1000);
	struct task *rr = spawn(m, "rr", SCHED_RR, 5), *fifo = spawn(m, "fifo", SCHED_FIFO, 5);

	(void)state;
	for (unsigned n = 0; n < 99; n++)
		tick(m);
	assert_task(running(m, 0), rr);
	for (unsigned n = 0; n < 1000; n++)
		tick(m);
	assert_task(running(m, 0), fifo);
	machine_free(m);
}

static void the_slice_is_a_tunable_and_not_reloaded_by_preemption(void **state)
{
	struct machine *m = unlimited(1, 1000);
	struct task *a, *b;

	(void)state;
	set_tunable(m, "sched_rr_timeslice_ms", "10");
	a = spawn(m, "A", SCHED_RR, 5);
	b = spawn(m, "B", SCHED_RR, 5);
	for (unsigned n = 0; n < 6; n++)
		tick(m);
	spawn(m, "high", SCHED_FIFO, 50);
	tick(m);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_task(running(m, 0), a);
	for (unsigned n = 0; n < 4; n++)
		tick(m);
	assert_task(running(m, 0), b);
	assert_int_equal(sched_rr_interval(m->s, a), 10 * MS);
	machine_free(m);
}

static void a_fifo_hog_leaves_five_percent_to_the_rest(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *hog = spawn(m, "hog", SCHED_FIFO, 50), *fair = spawn_nice(m, "fair", 0);
	double share;

	(void)state;
	for (unsigned n = 0; n < 20000; n++) {
		tick(m);
		sched_check(m->s);
	}
	share = (double)sched_task_runtime(m->s, hog) / (20 * NS_PER_SEC);
	assert_true(share > 0.949 && share < 0.952);
	share = (double)sched_task_runtime(m->s, fair) / (20 * NS_PER_SEC);
	assert_true(share > 0.048 && share < 0.051);
	assert_in_range(m->s->rq[0].rt_throttle_count, 19, 21);
	machine_free(m);
}

static void set_fifo(struct machine *m, struct task *t, int prio)
{
	struct sched_attr_req req = { .policy = SCHED_FIFO, .rt_priority = prio };

	assert_int_equal(sched_set_attr(m->s, t, &req), 0);
	settle(m);
}

/*
 * POSIX, and sched(7): a raised task goes to the tail of its new list, a lowered one to the head.
 */
static void a_changed_priority_goes_behind_its_equals_or_before_them(void **state)
{
	struct machine *m = unlimited(1, 1000);
	struct task *order[4];

	(void)state;
	spawn(m, "holder", SCHED_FIFO, 50);
	order[1] = spawn(m, "A", SCHED_FIFO, 10);
	order[2] = spawn(m, "B", SCHED_FIFO, 10);
	order[0] = spawn(m, "lowered", SCHED_FIFO, 20);
	order[3] = spawn(m, "raised", SCHED_FIFO, 5);
	set_fifo(m, order[0], 10);
	set_fifo(m, order[3], 10);
	for (unsigned i = 0; i < 4; i++) {
		block(m, 0, TASK_INTERRUPTIBLE);
		assert_task(running(m, 0), order[i]);
	}
	machine_free(m);
}

/* A switch is asked for just if another task is to run. */
static void a_waiting_task_preempts_once_it_is_more_urgent(void **state)
{
	static const int raised[] = { 40, 50, 51 };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(raised); i++) {
		struct machine *m = unlimited(1, 1000);
		struct task *holder = spawn(m, "holder", SCHED_FIFO, 50);
		struct task *waits = spawn(m, "waits", SCHED_FIFO, 10);
		struct sched_attr_req req = { .policy = SCHED_FIFO, .rt_priority = raised[i] };

		assert_int_equal(sched_set_attr(m->s, waits, &req), 0);
		assert_int_equal(m->s->rq[0].need_resched,
				 raised[i] > 50 ? RESCHED_NOW : RESCHED_NONE);
		settle(m);
		assert_task(running(m, 0), raised[i] > 50 ? waits : holder);
		machine_free(m);
	}
}

/* A waiting task does not overtake its equals by setting the same priority or something else. */
static void an_unchanged_priority_keeps_the_place(void **state)
{
	struct machine *m = unlimited(2, 1000);
	struct cpumask zero = cpumask_of(0);
	struct task *order[3], *rr, *other;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		order[i] = spawn(m, "t", SCHED_NORMAL, 0);
		sched_set_affinity(m->s, order[i], &zero);
		settle(m);
		set_fifo(m, order[i], 10);
	}
	set_fifo(m, order[2], 10);
	sched_set_nice(m->s, order[2], 5);
	sched_set_affinity(m->s, order[2], &m->s->possible);
	sched_set_affinity(m->s, order[2], &zero);
	sched_check(m->s);
	for (unsigned i = 0; i < 3; i++) {
		assert_task(running(m, 0), order[i]);
		block(m, 0, TASK_INTERRUPTIBLE);
	}
	/* A task whose slice ended has given its turn away, whatever is set before the switch. */
	rr = spawn(m, "rr", SCHED_RR, 10);
	other = spawn(m, "other", SCHED_RR, 10);
	sched_set_affinity(m->s, rr, &zero);
	sched_set_affinity(m->s, other, &zero);
	settle(m);
	assert_task(running(m, 0), rr);
	rt_part(rr)->time_slice = 1;
	tick_alone(m);
	sched_set_affinity(m->s, rr, &zero);
	settle(m);
	assert_task(running(m, 0), other);
	machine_free(m);
}

static void a_nice_value_waits_until_real_time_is_over(void **state)
{
	struct machine *m = unlimited(1, 1000);
	struct task *t = spawn(m, "t", SCHED_FIFO, 10);
	struct sched_attr_req req;

	(void)state;
	sched_set_nice(m->s, t, 7);
	sched_get_attr(t, &req);
	assert_int_equal(req.nice, 7);
	assert_int_equal(req.policy, SCHED_FIFO);
	assert_int_equal(t->prio, 89);
	req.policy = SCHED_NORMAL;
	req.rt_priority = 0;
	assert_int_equal(sched_set_attr(m->s, t, &req), 0);
	assert_int_equal(t->prio, 127);
	sched_check(m->s);
	machine_free(m);
}

static void the_longest_slice_is_the_longest_number(void **state)
{
	struct machine *m = unlimited(1, 1000);

	(void)state;
	set_tunable(m, "sched_rr_timeslice_ms", "2147483647");
	assert_int_equal(rr_slice_ticks(m->s), 2147483647);
	machine_free(m);
}

static void a_changed_affinity_does_not_cost_the_turn(void **state)
{
	struct machine *m = unlimited(1, 1000);
	struct cpumask zero = cpumask_of(0);
	struct task *a = spawn(m, "A", SCHED_FIFO, 10);

	(void)state;
	spawn(m, "B", SCHED_FIFO, 10);
	assert_int_equal(sched_set_affinity(m->s, a, &zero), 0);
	assert_task(switch_cpu(m, 0, true), a);
	machine_free(m);
}

static void what_was_overdrawn_is_owed_in_the_next_period(void **state)
{
	struct machine *m = machine_new(1, 1000);

	(void)state;
	spawn(m, "hog", SCHED_FIFO, 50);
	advance(m, 990 * MS); /* no tick stops it in time */
	tick(m);
	assert_true(rt_of(&m->s->rq[0])->throttled);
	advance(m, m->timer[0] - m->now);
	assert_false(rt_of(&m->s->rq[0])->throttled);
	assert_int_equal(rt_of(&m->s->rq[0])->used_ns, 41 * MS);
	machine_free(m);
}

/* The limit comes while a task runs: a tick begins the period, of which the next two use 2 ms. */
static void a_tick_charges_and_then_begins_a_period(void **state)
{
	struct machine *m = machine_new(1, 1000);
	const struct rt_queue *rt = rt_of(&m->s->rq[0]);

	(void)state;
	set_tunable(m, "sched_rt_runtime_us", "-1");
	spawn(m, "hog", SCHED_FIFO, 50);
	tick(m);
	set_tunable(m, "sched_rt_runtime_us", "950000");
	for (unsigned n = 0; n < 3; n++)
		tick(m);
	if (!rt->period_end)
		fail_msg("rt.period_end is 0 after 3 ticks with a limit: start_period() begins it");
	if (rt->used_ns != 2 * MS)
		fail_msg("rt.used_ns is %lu, where %lu is right: first rt_charge(), then "
			 "start_period(), so what ran before the period is not of it",
			 rt->used_ns, 2 * MS);
	machine_free(m);
}

static void a_throttled_cpu_idles_and_is_woken_by_its_timer(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *hog = spawn(m, "hog", SCHED_FIFO, 50);

	(void)state;
	for (unsigned n = 0; n < 960; n++)
		tick(m);
	assert_task(running(m, 0), &m->idle[0]);
	assert_true(sched_tick_can_stop(m->s, 0));
	assert_int_equal(m->timer[0], NS_PER_SEC + NS_PER_SEC);
	advance(m, m->timer[0] - m->now);
	assert_task(running(m, 0), hog);
	sched_check(m->s);
	machine_free(m);
}

static void lifting_the_limit_ends_throttling_with_the_period(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *hog = spawn(m, "hog", SCHED_FIFO, 50);

	(void)state;
	for (unsigned n = 0; n < 960; n++)
		tick(m);
	set_tunable(m, "sched_rt_runtime_us", "-1");
	for (unsigned n = 0; n < 50; n++)
		tick(m);
	for (unsigned n = 0; n < 3000; n++) {
		assert_task(running(m, 0), hog);
		tick(m);
	}
	machine_free(m);
}

static void a_waiting_task_is_pushed_to_a_less_urgent_cpu(void **state)
{
	struct machine *m = unlimited(2, 1000);
	struct task *a, *b;

	(void)state;
	spawn_nice(m, "fair", 0);
	a = spawn(m, "A", SCHED_FIFO, 10);
	b = spawn(m, "B", SCHED_FIFO, 20);
	assert_int_not_equal(a->cpu, b->cpu);
	assert_ptr_equal(running(m, a->cpu), a);
	assert_ptr_equal(running(m, b->cpu), b);
	sched_check(m->s);
	machine_free(m);
}

static void a_cpu_that_becomes_less_urgent_pulls(void **state)
{
	struct machine *m = unlimited(2, 1000);
	struct task *t[3];
	struct task *waiting = NULL;
	unsigned cpu;
	u64 moves;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		t[i] = spawn(m, "t", SCHED_FIFO, 10);
	for (unsigned i = 0; i < 3; i++)
		if (running(m, t[i]->cpu) != t[i])
			waiting = t[i];
	assert_non_null(waiting);
	/* It waits where it is as long as all tasks are equally urgent. */
	moves = waiting->fair.nr_migrations;
	for (unsigned n = 0; n < 10; n++)
		tick(m);
	assert_int_equal(waiting->fair.nr_migrations, moves);
	cpu = 1 - waiting->cpu;
	block(m, cpu, TASK_INTERRUPTIBLE);
	assert_task(running(m, cpu), waiting);
	sched_check(m->s);
	machine_free(m);
}

static void a_pinned_task_is_not_pushed(void **state)
{
	struct machine *m = unlimited(2, 1000);
	struct cpumask zero = cpumask_of(0);
	struct task *a = spawn(m, "A", SCHED_FIFO, 10), *b;

	(void)state;
	sched_set_affinity(m->s, a, &zero);
	settle(m);
	b = spawn(m, "B", SCHED_FIFO, 20);
	sched_set_affinity(m->s, b, &zero);
	settle(m);
	assert_task(running(m, 0), b);
	assert_int_equal(a->cpu, 0);
	assert_task(running(m, 1), &m->idle[1]);
	machine_free(m);
}

static void a_policy_change_takes_effect_at_once(void **state)
{
	struct machine *m = unlimited(1, 1000);
	struct sched_attr_req fifo = { .policy = SCHED_FIFO, .rt_priority = 1 };
	struct sched_attr_req normal = { .policy = SCHED_NORMAL };
	struct task *a = spawn_nice(m, "A", 0), *b = spawn_nice(m, "B", 0);

	(void)state;
	assert_task(running(m, 0), a);
	assert_int_equal(sched_set_attr(m->s, b, &fifo), 0);
	settle(m);
	assert_task(running(m, 0), b);
	sched_check(m->s);
	assert_int_equal(sched_set_attr(m->s, b, &normal), 0);
	settle(m);
	sched_check(m->s);
	for (unsigned n = 0; n < 100; n++)
		tick(m);
	assert_true(sched_task_runtime(m->s, a) > 40 * MS);
	machine_free(m);
}

static void the_stopper_preempts_everything(void **state)
{
	struct machine *m = unlimited(1, 1000);
	struct task stopper;

	(void)state;
	spawn(m, "hog", SCHED_FIFO, 99);
	sched_task_init_stop(m->s, &stopper, 0, 1000, "migration/0");
	sched_task_start(m->s, &stopper, 0);
	settle(m);
	assert_task(running(m, 0), &stopper);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_ptr_not_equal(running(m, 0), &stopper);
	wake(m, &stopper, 0);
	assert_task(running(m, 0), &stopper);
	sched_check(m->s);
	machine_free(m);
}

/* Each of the 99 goes before all that are less urgent, in whatever order they came. */
static void every_priority_has_its_place(void **state)
{
	struct machine *m = unlimited(1, 1000);

	(void)state;
	for (int i = 0; i < 99; i++)
		spawn(m, "t", SCHED_FIFO, 1 + i * 37 % 99);
	for (int prio = 99; prio > 0; prio--) {
		assert_int_equal(running(m, 0)->rt_priority, prio);
		block(m, 0, TASK_INTERRUPTIBLE);
		sched_check(m->s);
	}
	assert_task(running(m, 0), &m->idle[0]);
	machine_free(m);
}

static void without_a_limit_there_is_no_period(void **state)
{
	struct machine *m = unlimited(1, 1000);

	(void)state;
	spawn(m, "t", SCHED_FIFO, 1);
	m->now += 3 * NS_PER_SEC;
	sched_timer(m->s, 0);
	assert_int_equal(m->timer[0], 0);
	assert_int_equal(rt_of(&m->s->rq[0])->period_end, 0);
	machine_free(m);
}

/* A runtime of 0 is no limit, as in Linux 6.1. */
static void a_limit_of_nothing_is_none(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *fair = spawn_nice(m, "fair", 0), *fifo;

	(void)state;
	set_tunable(m, "sched_rt_runtime_us", "0");
	fifo = spawn(m, "fifo", SCHED_FIFO, 5);
	for (unsigned n = 0; n < 20; n++)
		tick(m);
	assert_task(running(m, 0), fifo);
	assert_int_equal(fair->fair.sum_exec, 0);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_more_urgent_task_preempts),
		cmocka_unit_test(equal_fifo_tasks_run_until_they_block_or_yield),
		cmocka_unit_test(equal_rr_tasks_alternate_every_100_ms),
		cmocka_unit_test(the_end_of_a_slice_asks_for_a_switch),
		cmocka_unit_test(a_lone_rr_task_does_not_rotate),
		cmocka_unit_test(an_rr_task_goes_behind_a_fifo_one_that_then_stays),
		cmocka_unit_test(the_slice_is_a_tunable_and_not_reloaded_by_preemption),
		cmocka_unit_test(a_fifo_hog_leaves_five_percent_to_the_rest),
		cmocka_unit_test(a_changed_priority_goes_behind_its_equals_or_before_them),
		cmocka_unit_test(a_waiting_task_preempts_once_it_is_more_urgent),
		cmocka_unit_test(an_unchanged_priority_keeps_the_place),
		cmocka_unit_test(a_nice_value_waits_until_real_time_is_over),
		cmocka_unit_test(the_longest_slice_is_the_longest_number),
		cmocka_unit_test(a_changed_affinity_does_not_cost_the_turn),
		cmocka_unit_test(what_was_overdrawn_is_owed_in_the_next_period),
		cmocka_unit_test(a_tick_charges_and_then_begins_a_period),
		cmocka_unit_test(a_throttled_cpu_idles_and_is_woken_by_its_timer),
		cmocka_unit_test(lifting_the_limit_ends_throttling_with_the_period),
		cmocka_unit_test(a_waiting_task_is_pushed_to_a_less_urgent_cpu),
		cmocka_unit_test(a_cpu_that_becomes_less_urgent_pulls),
		cmocka_unit_test(a_pinned_task_is_not_pushed),
		cmocka_unit_test(a_policy_change_takes_effect_at_once),
		cmocka_unit_test(the_stopper_preempts_everything),
		cmocka_unit_test(every_priority_has_its_place),
		cmocka_unit_test(without_a_limit_there_is_no_period),
		cmocka_unit_test(a_limit_of_nothing_is_none),
	};

	return cmocka_run_group_tests_name("rt", tests, NULL, NULL);
}
