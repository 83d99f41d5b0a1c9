/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Swapping the fair policy of a running machine: from each policy to each other, with tasks in
 * every state. Required: no task is lost, none gains or loses CPU time, order is kept, a task that
 * is not queued is not touched until it comes back, and a bad name changes nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "swap.h"
#include "lib/errno.h"
#include "sched/rt/rt.h"

static bool foreign(const struct machine *m, const struct task *t)
{
	return t->fair.policy != m->s->rq[t->cpu].fair.policy;
}

/* --- what is queued -------------------------------------------------------- */

/*
 * Not a multiple of 2 or 3, which are the numbers of switches that a swap and a tick or two may
 * make.
 */
#define CROWD 11

static void check_order(const char *from, const char *to)
{
	struct machine *m = machine_under(1, from);
	struct fair_queue *q = &m->s->rq[0].fair;
	const struct entity *before[CROWD];
	struct entity *e;
	unsigned nr = 0;

	for (unsigned i = 0; i < CROWD; i++)
		spawn_nice(m, "t", 0);
	run_ticks(m, 20);
	for (e = queue_first(q); e; e = queue_after(e))
		before[nr++] = e;
	assert_int_equal(nr, CROWD - 1);
	swap(m, to);
	nr = 0;
	for (e = queue_first(q); e; e = queue_after(e))
		assert_ptr_equal(e, before[nr++]);
	assert_int_equal(nr, CROWD - 1);
	assert_int_equal(m->s->rq[0].nr_running, CROWD);
	/*
	 * The first of the waiting tasks is next: swaps starve no task, however frequent they are.
	 */
	settle(m);
	assert_ptr_equal(&running(m, 0)->fair, before[0]);
	machine_free(m);
}

EACH_PAIR_WITH(BIT(TRAIT_CARRIES_ORDER), equal_tasks_keep_their_order, check_order)

static void check_runtimes(const char *from, const char *to)
{
	struct machine *m = machine_under(2, from);
	struct task *tasks[CROWD];
	u64 start, idle = m->s->rq[0].run_ns + m->s->rq[1].run_ns;

	for (unsigned i = 0; i < CROWD; i++)
		tasks[i] = spawn_nice(m, "t", (int)i - 4);
	start = m->now;
	run_ticks(m, 30);
	advance(m, MS / 3);
	swap(m, to);
	assert_int_equal(total_runtime(m, tasks, CROWD), 2 * (m->now - start));
	advance(m, MS / 3);
	run_ticks(m, 30);
	swap(m, from);
	assert_int_equal(total_runtime(m, tasks, CROWD), 2 * (m->now - start));
	assert_int_equal(m->s->rq[0].run_ns + m->s->rq[1].run_ns - idle, 2 * (m->now - start));
	machine_free(m);
}

EACH_PAIR(run_time_is_conserved, check_runtimes)

static void check_members(const char *from, const char *to)
{
	struct machine *m = machine_under(2, from);
	struct task_group *outer = new_group(m, NULL), *inner = new_group(m, outer);
	struct task *tasks[] = { spawn_in(m, inner, 0), spawn_in(m, inner, 5),
				 spawn_in(m, outer, 0), spawn_nice(m, "t", 0),
				 spawn_in(m, inner, 0) };
	u64 start, before;

	run_ticks(m, 25);
	start = m->now;
	before = total_runtime(m, tasks, ARRAY_SIZE(tasks));
	for (unsigned n = 0; n < 10; n++) {
		swap(m, n % 2 ? from : to);
		for (unsigned i = 0; i < ARRAY_SIZE(tasks); i++)
			assert_ptr_equal(tasks[i]->fair.queue->policy, m->s->fair_policy);
		run_ticks(m, 7);
	}
	assert_int_equal(total_runtime(m, tasks, ARRAY_SIZE(tasks)) - before, 2 * (m->now - start));
	machine_free(m);
}

EACH_PAIR(groups_within_groups_go_along, check_members)

/* --- what is not ----------------------------------------------------------- */

static void check_sleeper(const char *from, const char *to)
{
	struct machine *m = machine_under(1, from);
	struct task *a = spawn_nice(m, "A", 0), *b = spawn_nice(m, "B", 0), *sleeper;
	u64 vruntime;

	run_ticks(m, 10);
	sleeper = running(m, 0);
	block(m, 0, TASK_INTERRUPTIBLE);
	/* It may have stayed queued for a while, but not for long. */
	while (sleeper->fair.queued)
		run_ticks(m, 1);
	vruntime = sleeper->fair.vruntime;
	swap(m, to);
	run_ticks(m, 10);
	assert_true(foreign(m, sleeper));
	assert_true(sleeper->fair.vruntime == vruntime);
	assert_true(wake(m, sleeper, 0));
	assert_false(foreign(m, sleeper));
	sched_check(m->s);
	run_ticks(m, 200);
	assert_in_range(sched_task_runtime(m->s, a), 80 * MS, 140 * MS);
	assert_in_range(sched_task_runtime(m->s, b), 80 * MS, 140 * MS);
	machine_free(m);
}

EACH_PAIR(sleepers_are_foreign_until_they_wake, check_sleeper)

/* A swap there and back finds a sleeper that belongs to the policy but has old numbers. */
static void check_return(const char *from, const char *to)
{
	struct machine *m = machine_under(1, from);
	struct task *t = spawn_nice(m, "t", 0), *other = spawn_nice(m, "other", 0);
	u64 before, got;

	run_ticks(m, 50);
	while (running(m, 0) != t)
		run_ticks(m, 1);
	block(m, 0, TASK_INTERRUPTIBLE);
	swap(m, to);
	run_ticks(m, 300);
	swap(m, from);
	run_ticks(m, 10);
	wake(m, t, 0);
	sched_check(m->s);
	before = sched_task_runtime(m->s, other);
	got = sched_task_runtime(m->s, t);
	run_ticks(m, 40);
	/* It gets a turn, and the other task is not shut out. */
	assert_true(sched_task_runtime(m->s, t) - got >= 5 * MS);
	run_ticks(m, 600);
	assert_true(sched_task_runtime(m->s, other) - before >= 20 * MS);
	machine_free(m);
}

EACH_PAIR(a_sleeper_survives_a_swap_there_and_back, check_return)

/* Its weight is then of the policy in between, so that the first policy must set it again. */
static void check_reniced(const char *from, const char *to)
{
	struct machine *m = machine_under(1, from);
	struct task *t = spawn_nice(m, "t", 0);
	struct sched_attr_req req = { .policy = SCHED_NORMAL, .nice = 7 };

	spawn_nice(m, "other", 0);
	run_ticks(m, 50);
	while (running(m, 0) != t)
		run_ticks(m, 1);
	block(m, 0, TASK_INTERRUPTIBLE);
	while (t->fair.queued)
		run_ticks(m, 1);
	swap(m, to);
	assert_int_equal(sched_set_attr(m->s, t, &req), 0);
	swap(m, from);
	assert_true(foreign(m, t));
	wake(m, t, 0);
	assert_false(foreign(m, t));
	sched_check(m->s);
	machine_free(m);
}

EACH_PAIR(a_sleeper_reniced_between_two_swaps_is_foreign, check_reniced)

static void check_migrating(const char *from, const char *to)
{
	struct machine *m = machine_under(2, from);
	struct task *t[4];
	struct rq *rq = &m->s->rq[0];

	for (unsigned i = 0; i < 4; i++) {
		t[i] = spawn_nice(m, "t", 0);
		pin(m, t[i], 0);
	}
	run_ticks(m, 10);
	for (unsigned i = 0; i < 4; i++) {
		struct cpumask both = cpumask_first_n(2);

		sched_set_affinity(m->s, t[i], &both);
	}
	for (unsigned i = 0; i < 4; i++) {
		if (t[i] == running(m, 0))
			continue;
		rq_lock(rq);
		detach_task(rq, t[i], 1);
		rq_unlock(rq);
		assert_int_equal(t[i]->on_rq, TASK_MIGRATING);
		swap(m, to);
		assert_true(foreign(m, t[i]));
		attach_task(m->s, t[i]);
		settle(m);
		assert_false(foreign(m, t[i]));
		run_ticks(m, 5);
		break;
	}
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(t[i]->on_rq, TASK_QUEUED);
	machine_free(m);
}

EACH_PAIR(a_task_between_two_cpus_arrives, check_migrating)

/* --- other classes --------------------------------------------------------- */

static void check_rt_returns(const char *from, const char *to)
{
	struct machine *m = machine_under(1, from);
	struct task *runs = spawn_nice(m, "runs", 0), *sleeps = spawn_nice(m, "sleeps", 0);
	struct task *other = spawn_nice(m, "other", 0);

	run_ticks(m, 10);
	while (running(m, 0) != sleeps)
		run_ticks(m, 1);
	set_class(m, runs, SCHED_FIFO, 5);
	set_class(m, sleeps, SCHED_RR, 6);
	assert_ptr_equal(running(m, 0), sleeps);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_ptr_equal(running(m, 0), runs);
	swap(m, to);
	assert_ptr_equal(running(m, 0), runs);
	run_ticks(m, 5);
	set_class(m, runs, SCHED_NORMAL, 0);
	set_class(m, sleeps, SCHED_NORMAL, 0);
	wake(m, sleeps, 0);
	sched_check(m->s);
	run_ticks(m, 90);
	assert_in_range(sched_task_runtime(m->s, runs), 20 * MS, 60 * MS);
	assert_in_range(sched_task_runtime(m->s, sleeps), 20 * MS, 60 * MS);
	assert_in_range(sched_task_runtime(m->s, other), 20 * MS, 60 * MS);
	machine_free(m);
}

EACH_PAIR(real_time_tasks_come_back, check_rt_returns)

static void check_throttled(const char *from, const char *to)
{
	struct machine *m = machine_under(1, from);
	struct task *rt = spawn(m, "rt", SCHED_FIFO, 5);
	struct task *fair[] = { spawn_nice(m, "A", 0), spawn_nice(m, "B", 0) };

	/* A policy with a fair server does not throttle. */
	if (sched_fair_has(m->s, TRAIT_FAIR_SERVER)) {
		machine_free(m);
		return;
	}
	while (!rt_of(&m->s->rq[0])->throttled)
		run_ticks(m, 1);
	assert_true(running(m, 0) != rt);
	swap(m, to);
	assert_int_equal(m->s->rq[0].nr_running, 2);
	while (rt_of(&m->s->rq[0])->throttled)
		run_ticks(m, 1);
	assert_ptr_equal(running(m, 0), rt);
	assert_int_equal(m->s->rq[0].nr_running, 3);
	swap(m, from);
	run_ticks(m, 1000);
	assert_true(total_runtime(m, fair, 2) >= 60 * MS);
	machine_free(m);
}

EACH_PAIR(throttled_real_time_stays_throttled, check_throttled)

/* --- CPUs without work ------------------------------------------------------ */

static void check_idle(const char *from, const char *to)
{
	struct machine *m = machine_under(4, from);
	struct task *t = spawn_nice(m, "t", 0);
	unsigned cpu = t->cpu;

	block(m, cpu, TASK_INTERRUPTIBLE);
	while (t->fair.queued)
		run_ticks(m, 1);
	m->nr_kicks = 0;
	swap(m, to);
	assert_int_equal(m->nr_kicks, 0);
	for (unsigned i = 0; i < 4; i++)
		assert_ptr_equal(running(m, i), &m->idle[i]);
	wake(m, t, 0);
	assert_ptr_equal(running(m, t->cpu), t);
	machine_free(m);
}

EACH_PAIR(idle_cpus_are_left_alone, check_idle)

static const char *swap_to;
static struct task *prev;
static bool wake_prev;

static void swap_in_the_search(struct machine *m)
{
	assert_ptr_equal(m->s->rq[0].curr, prev);
	assert_true(m->s->rq[0].pulling);
	assert_int_equal(sched_fair_swap(m->s, swap_to, 1), 0);
	m->now += MS / 10;
	if (wake_prev)
		assert_true(sched_wake(m->s, prev, TASK_NORMAL, 1, 0));
}

/* CPU 0 is about to idle and looks for work without its lock: its last task is still current. */
static void check_search(const char *from, const char *to)
{
	struct machine *m = machine_under(2, from);
	struct task *crowd[3];
	u64 got;

	swap_to = to;
	prev = spawn_nice(m, "prev", 0);
	pin(m, prev, 0);
	for (unsigned i = 0; i < 3; i++) {
		crowd[i] = spawn_nice(m, "crowd", 0);
		pin(m, crowd[i], 1);
	}
	run_ticks(m, 8);
	assert_ptr_equal(running(m, 0), prev);
	m->s->rq[0].avg_idle = NS_PER_SEC;
	m->on_search = swap_in_the_search;
	/* Until it has left the queue for good. */
	for (unsigned n = 0; m->on_search && n < 20; n++) {
		if (running(m, 0) == prev)
			block(m, 0, TASK_INTERRUPTIBLE);
		else
			run_ticks(m, 1);
	}
	assert_null(m->on_search);
	sched_check(m->s);
	got = sched_task_runtime(m->s, prev);
	if (wake_prev) {
		assert_ptr_equal(running(m, 0), prev);
	} else {
		assert_ptr_equal(running(m, 0), &m->idle[0]);
		assert_true(foreign(m, prev));
		run_ticks(m, 3);
		assert_int_equal(sched_task_runtime(m->s, prev), got);
		wake(m, prev, 1);
	}
	assert_false(foreign(m, prev));
	run_ticks(m, 20);
	assert_in_range(sched_task_runtime(m->s, prev) - got, 19 * MS, 21 * MS);
	machine_free(m);
}

static void a_cpu_that_looks_for_work_goes_on(void **state)
{
	(void)state;
	wake_prev = false;
	each_pair(0, check_search);
}

static void a_task_woken_while_its_cpu_looks_for_work_goes_on(void **state)
{
	(void)state;
	wake_prev = true;
	each_pair(0, check_search);
}

/* --- the record, and bad names ------------------------------------------------ */

static void check_event(const char *from, const char *to)
{
	struct machine *m = machine_under(2, from);
	const struct event_sched_fair_swap *e;

	for (unsigned i = 0; i < 5; i++)
		spawn_nice(m, "t", 0);
	m->s->trace_mask = BIT(EVENT_sched_fair_swap);
	m->nr_trace = 0;
	swap(m, to);
	swap(m, to);
	assert_int_equal(m->nr_trace, 1);
	e = (const void *)m->trace[0].bytes;
	assert_int_equal(m->trace[0].common.type, EVENT_ID_sched_fair_swap);
	assert_string_equal(e->from, from);
	assert_string_equal(e->to, to);
	assert_int_equal(e->nr_queued, 5);
	machine_free(m);
}

EACH_PAIR(a_swap_is_one_event, check_event)

static void a_bad_name_changes_nothing(void **state)
{
	static const char *const names[] = { "", "cf", "cfss", "CFS", "cfs ", "fifo", "eevdf\n" };
	const struct fair_policy *policy;
	struct machine *m = machine_under(2, "bore-cfs");
	struct sched before;

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		spawn_nice(m, "t", 0);
	set_feature(m, "NO_NEXT_BUDDY");
	before = *m->s;
	policy = m->s->rq[1].fair.policy;
	m->nr_kicks = m->nr_trace = 0;
	m->s->trace_mask = ~0ull;
	before.trace_mask = m->s->trace_mask;
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(sched_fair_swap(m->s, names[i], 0), -EINVAL);
	assert_int_equal(sched_fair_swap(m->s, NULL, 0), -EINVAL);
	assert_memory_equal(m->s, &before, sizeof(before));
	assert_ptr_equal(m->s->rq[1].fair.policy, policy);
	assert_int_equal(m->nr_kicks + m->nr_trace, 0);
	machine_free(m);
}

static void its_own_name_changes_nothing(void **state)
{
	struct machine *m = machine_under(1, "bore-cfs");

	(void)state;
	spawn_nice(m, "t", 0);
	spawn_nice(m, "t", 0);
	set_feature(m, "NO_NEXT_BUDDY");
	m->nr_kicks = 0;
	swap(m, "bore-cfs");
	assert_int_equal(m->nr_kicks, 0);
	assert_false(feature(m->s, FEATURE_NEXT_BUDDY));
	machine_free(m);
}

static void a_policy_brings_its_features(void **state)
{
	struct machine *m = machine_under(1, "cfs");

	(void)state;
	set_feature(m, "NO_START_DEBIT");
	swap(m, "bore-cfs");
	assert_true(feature(m->s, FEATURE_NEXT_BUDDY));
	assert_false(feature(m->s, FEATURE_GENTLE_FAIR_SLEEPERS));
	swap(m, "cfs");
	assert_false(feature(m->s, FEATURE_NEXT_BUDDY));
	assert_true(feature(m->s, FEATURE_GENTLE_FAIR_SLEEPERS));
	assert_false(feature(m->s, FEATURE_START_DEBIT)); /* not the policy's: the user set it */
	machine_free(m);
}

/* An entity that is far ahead is two ticks ahead after a swap; a smaller lead stays as it is. */
static void a_lead_of_two_ticks_survives(void **state)
{
	static const unsigned quarters[] = { 1, 3, 5, 7, 8, 9, 40 };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(quarters); i++) {
		struct machine *m = machine_under(1, "cfs");
		struct fair_queue *q = &m->s->rq[0].fair;
		u64 quarter = m->s->tick_ns / 4;
		struct entity *first, *second;

		for (unsigned n = 0; n < 3; n++)
			spawn_nice(m, "t", 0);
		first = queue_first(q);
		second = queue_after(first);
		first->vruntime = q->curr->vruntime;
		second->vruntime = first->vruntime + quarters[i] * quarter;
		swap(m, "bore-cfs");
		assert_int_equal(second->vruntime - first->vruntime,
				 min(quarters[i], 8u) * quarter);
		machine_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_tasks_keep_their_order),
		cmocka_unit_test(run_time_is_conserved),
		cmocka_unit_test(groups_within_groups_go_along),
		cmocka_unit_test(sleepers_are_foreign_until_they_wake),
		cmocka_unit_test(a_sleeper_survives_a_swap_there_and_back),
		cmocka_unit_test(a_sleeper_reniced_between_two_swaps_is_foreign),
		cmocka_unit_test(a_task_between_two_cpus_arrives),
		cmocka_unit_test(real_time_tasks_come_back),
		cmocka_unit_test(throttled_real_time_stays_throttled),
		cmocka_unit_test(idle_cpus_are_left_alone),
		cmocka_unit_test(a_cpu_that_looks_for_work_goes_on),
		cmocka_unit_test(a_task_woken_while_its_cpu_looks_for_work_goes_on),
		cmocka_unit_test(a_swap_is_one_event),
		cmocka_unit_test(a_bad_name_changes_nothing),
		cmocka_unit_test(its_own_name_changes_nothing),
		cmocka_unit_test(a_policy_brings_its_features),
		cmocka_unit_test(a_lead_of_two_ticks_survives),
	};

	return cmocka_run_group_tests_name("swap", tests, NULL, NULL);
}
