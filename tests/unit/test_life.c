/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The life of a task in the core: what it inherits and keeps, how long it waited, and where it goes
 * when its CPU does; and the hour at which a machine begins.
 */
#include <stdlib.h>
#include <string.h>

#include "smp.h"
#include "sched/dl/dl.h"
#include "sched/observe/trace.h"

/* --- family --------------------------------------------------------------------------------- */

static void a_child_may_run_where_its_parent_may(void **state)
{
	struct machine *m = machine_of(1, 1, 4, 1, NULL);
	struct task *parent = spawn_nice(m, "parent", 0), *child;

	(void)state;
	for (unsigned nr = 1; nr <= 4; nr++) {
		allow(m, parent, cpumask_first_n(nr));
		child = calloc(1, sizeof(*child));
		sched_task_fork(m->s, parent, child, 100 + (int)nr, 0);
		assert_int_equal(child->allowed.bits[0], BIT(nr) - 1);
		assert_int_equal(child->nr_allowed, nr);
		sched_task_start(m->s, child, 0);
		settle(m);
		sched_check(m->s);
	}
	machine_free(m);
}

/* A family is left once: to leave it again changes nothing, for a thread as for its leader. */
static void a_family_is_left_once(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *leader = spawn_nice(m, "leader", 0);
	struct task *thread = calloc(2, sizeof(*thread));

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		sched_task_fork(m->s, leader, &thread[i], 100 + (int)i, FORK_THREAD);
		sched_task_start(m->s, &thread[i], 0);
	}
	settle(m);
	assert_int_equal(leader->family.nr_threads, 3);
	for (unsigned again = 0; again < 2; again++) {
		sched_task_unlink(m->s, leader);
		assert_int_equal(leader->family.nr_threads, 2);
		assert_ptr_equal(leader->family.leader, leader);
		sched_check(m->s);
	}
	for (unsigned again = 0; again < 2; again++) {
		sched_task_unlink(m->s, &thread[0]);
		assert_int_equal(leader->family.nr_threads, 1);
		assert_null(thread[0].family.leader);
		sched_check(m->s);
	}
	sched_task_unlink(m->s, &thread[1]);
	assert_null(leader->family.leader);
	sched_task_unlink(m->s, leader);
	machine_free(m);
	free(thread);
}

/* --- classes -------------------------------------------------------------------------------- */

/* A class finds nothing of the one before in a task. */
static void a_class_begins_with_a_clean_sheet(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *t = spawn_dl(m, "t", 2 * MS, 10 * MS, 20 * MS);
	struct sched_attr_req other = { .policy = SCHED_RR, .rt_priority = 5 };
	struct sched_attr_req dl = { .policy = SCHED_DEADLINE,
				     .runtime_ns = 3 * MS,
				     .deadline_ns = 30 * MS,
				     .period_ns = 40 * MS };
	const struct dl_task *d = dl_part(t);

	(void)state;
	advance(m, 3 * MS);
	tick(m);
	advance(m, 30 * MS);
	tick(m);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_true(d->started && d->deadline);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(sched_set_attr(m->s, t, &other), 0);
		/* It is new again before it has woken up. */
		other = (struct sched_attr_req){ .policy = SCHED_NORMAL };
	}
	assert_int_equal(sched_set_attr(m->s, t, &dl), 0);
	assert_int_equal(d->runtime_ns, 3 * MS);
	assert_false(d->started || d->throttled || d->queued);
	assert_int_equal(d->deadline, 0);
	assert_int_equal(d->replenish_at, 0);
	assert_int_equal(d->budget_ns, 0);
	machine_free(m);
}

/* --- waiting -------------------------------------------------------------------------------- */

/* A task waits from when it became runnable until it runs, whatever CPUs it waits on. */
static void waiting_is_counted_across_cpus(void **state)
{
	struct machine *m = machine_of(1, 1, 2, 1, NULL);
	struct task *fifo[2], *t;
	u64 since, waited, sum;

	(void)state;
	set_tunable(m, "sched_schedstats", "1");
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		fifo[cpu] = spawn(m, "fifo", SCHED_FIFO, 5);
		allow(m, fifo[cpu], cpumask_of(cpu));
	}
	t = spawn_nice(m, "t", 0);
	since = m->now;
	sum = t->wait_sum;
	allow(m, t, cpumask_of(0));
	assert_int_equal(t->wait_start, since);
	advance(m, 3 * MS);
	allow(m, t, cpumask_of(1));
	assert_int_equal(t->cpu, 1);
	assert_int_equal(t->wait_start, since);
	advance(m, 2 * MS);
	waited = rq_of(m, 1)->wait_ns;
	block(m, 1, TASK_INTERRUPTIBLE);
	assert_ptr_equal(running(m, 1), t);
	assert_int_equal(t->wait_sum - sum, 5 * MS);
	assert_int_equal(t->wait_max, 5 * MS);
	assert_int_equal(rq_of(m, 1)->wait_ns - waited, 5 * MS);
	assert_int_equal(t->wait_start, 0);
	machine_free(m);
}

/* A task that did not begin to wait has not waited, nor has one that began on a later clock. */
static void no_beginning_is_no_waiting(void **state)
{
	static const struct {
		s64 since; /* before now; 0: never */
		u64 waited;
	} cases[] = { { 0, 0 }, { 7, 7 }, { -5, 0 } };
	struct machine *m = machine_new(1, 1000);
	struct task *t = spawn_nice(m, "t", 0);
	struct rq *rq = rq_of(m, 0);

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		u64 sum = t->wait_sum, slices = t->nr_slices;

		t->wait_start = cases[i].since ? rq->clock - (u64)cases[i].since : 0;
		host_lock(&rq->lock);
		stat_arrive(rq, t);
		host_unlock(&rq->lock);
		assert_int_equal(t->wait_sum - sum, cases[i].waited);
		assert_int_equal(t->nr_slices - slices, 1);
		assert_int_equal(t->wait_start, 0);
	}
	machine_free(m);
}

/* A task that starts is the first of the list, whatever ran before: balancing takes the last. */
static void who_starts_is_first_of_the_list(void **state)
{
	struct machine *m = machine_of(1, 1, 2, 1, NULL);
	struct rq *rq = rq_of(m, 0);
	struct task *fifo, *t;
	unsigned nr_moved = 0;

	(void)state;
	crowd(m, 0, 4, BIT(0));
	fifo = spawn(m, "fifo", SCHED_FIFO, 5);
	allow(m, fifo, cpumask_of(0));
	for (unsigned n = 0; n < 20; n++) {
		if (running(m, 0) != fifo)
			wake(m, fifo, 0);
		advance(m, 5 * MS);
		t = list_first(&rq->fair_tasks, struct task, link);
		block(m, 0, TASK_INTERRUPTIBLE);
		nr_moved += running(m, 0) != t;
		assert_ptr_equal(list_first(&rq->fair_tasks, struct task, link), running(m, 0));
		advance(m, 5 * MS);
	}
	assert_true(nr_moved > 5);
	machine_free(m);
}

/* --- CPUs that go --------------------------------------------------------------------------- */

/* Nothing but its CPU was allowed: it may run anywhere now, and is told which one it lost. */
static void who_waits_on_a_cpu_that_leaves_hears_of_it(void **state)
{
	static const struct sched_attr_req waits[] = {
		{ .policy = SCHED_NORMAL },
		{ .policy = SCHED_IDLE },
		{ .policy = SCHED_FIFO, .rt_priority = 5 },
		{ .policy = SCHED_RR, .rt_priority = 5 },
		{ .policy = SCHED_DEADLINE,
		  .runtime_ns = MS,
		  .deadline_ns = 100 * MS,
		  .period_ns = 100 * MS },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(waits); i++) {
		struct machine *m = machine_of(1, 1, 3, 1, NULL);
		struct task *runs = spawn(m, "runs", SCHED_FIFO, 90), *t[2];

		set_tunable(m, "sched_rt_runtime_us", "-1");
		allow(m, runs, cpumask_of(2));
		for (unsigned k = 0; k < 2; k++) {
			t[k] = spawn_nice(m, "t", 0);
			allow(m, t[k], cpumask_of(2));
			assert_int_equal(sched_set_attr(m->s, t[k], &waits[i]), 0);
			settle(m);
		}
		assert_int_equal(sched_cpu_offline(m->s, 2), 0);
		settle(m);
		sched_check(m->s);
		for (unsigned k = 0; k < 2; k++) {
			assert_true(t[k]->cpu < 2);
			assert_int_equal(sched_affinity_lost(t[k]), 2);
			assert_int_equal(t[k]->nr_allowed, 3);
		}
		machine_free(m);
	}
}

/* Each is placed when the one before is queued: three that waited, pinned, find three CPUs. */
static void who_waits_on_a_cpu_that_leaves_is_spread(void **state)
{
	struct machine *m = machine_of(1, 1, 5, 1, NULL);
	u64 used = 0;

	(void)state;
	crowd(m, 0, 1, BIT(0));
	crowd(m, 4, 4, BIT(4));
	assert_int_equal(sched_cpu_offline(m->s, 4), 0);
	for (unsigned cpu = 0; cpu < 4; cpu++)
		used |= rq_of(m, cpu)->nr_running == 1 ? BIT(cpu) : 0;
	assert_int_equal(used, 0xf);
	settle(m);
	sched_check(m->s);
	machine_free(m);
}

/* A task is about to go to a CPU when that leaves: it goes to one that is there, and it may use. */
static void who_is_pushed_to_a_cpu_that_leaves_goes_elsewhere(void **state)
{
	(void)state;
	for (unsigned home = 0; home < 2; home++) {
		struct machine *m = machine_of(1, 1, 4, 1, NULL);
		struct task *t = put(m, 0);
		u64 before;

		allow(m, t, (struct cpumask){ { BIT(3) | BIT(2) | (home ? BIT(0) : 0) } });
		if (!home) {
			assert_int_equal(t->cpu, 2);
			crowd(m, 0, 1, BIT(0));
		}
		rq_lock(rq_of(m, t->cpu));
		push_current(rq_of(m, t->cpu), home ? 3 : 1);
		rq_unlock(rq_of(m, t->cpu));
		assert_int_equal(sched_cpu_offline(m->s, home ? 3 : 1), 0);
		before = t->fair.nr_migrations;
		settle(m);
		/* Straight away: it does not travel over the CPU that is no longer there. */
		assert_int_equal(t->fair.nr_migrations, before);
		sched_check(m->s);
		assert_int_equal(t->on_rq, TASK_QUEUED);
		assert_int_equal(t->push_cpu, PUSH_NONE);
		assert_int_equal(t->cpu, home ? 0 : 2);
		machine_free(m);
	}
}

/* Its CPU leaves while it is born: it begins on one that is there and that it may use. */
static void leave_cpu_2(struct machine *m)
{
	assert_int_equal(sched_cpu_offline(m->s, 2), 0);
}

static void who_starts_on_a_cpu_that_leaves_begins_elsewhere(void **state)
{
	(void)state;
	for (unsigned only = 0; only < 2; only++) {
		struct machine *m = machine_of(1, 1, 4, 1, NULL);
		struct task *parent = spawn_nice(m, "parent", 0), *child;

		crowd(m, 1, 1, BIT(1));
		crowd(m, 3, 2, BIT(3));
		child = calloc(1, sizeof(*child));
		sched_task_fork(m->s, parent, child, 100, 0);
		child->allowed = (struct cpumask){ { BIT(2) | (only ? 0 : BIT(3)) } };
		child->nr_allowed = 2 - only;
		m->on_unlocked = leave_cpu_2;
		sched_task_start(m->s, child, 0);
		assert_null(m->on_unlocked);
		settle(m);
		sched_check(m->s);
		assert_int_equal(child->on_rq, TASK_QUEUED);
		assert_true(cpumask_test(&child->allowed, child->cpu));
		assert_int_equal(sched_affinity_lost(child), only ? 2 : -1);
		if (!only)
			assert_int_equal(child->cpu, 3);
		machine_free(m);
	}
}

/* --- blocked, and still on its CPU ------------------------------------------------------------ */

static struct task *blocked;
static u64 used;

static void read_its_time(struct machine *m)
{
	assert_ptr_equal(rq_of(m, 0)->curr, blocked);
	m->now += MS / 2;
	assert_int_equal(sched_task_runtime(m->s, blocked), used);
}

/* Its CPU looks for work elsewhere, in the time of nobody. */
static void a_task_that_has_blocked_is_charged_no_more(void **state)
{
	struct machine *m = machine_of(1, 1, 2, 1, NULL);

	(void)state;
	blocked = spawn_nice(m, "blocked", 0);
	allow(m, blocked, cpumask_of(0));
	crowd(m, 1, 3, BIT(1));
	for (unsigned i = 0; i < 8; i++)
		tick(m);
	assert_task(running(m, 0), blocked);
	used = sched_task_runtime(m->s, blocked);
	rq_of(m, 0)->avg_idle = NS_PER_SEC;
	m->on_search = read_its_time;
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_null(m->on_search);
	assert_int_equal(sched_task_runtime(m->s, blocked), used);
	sched_check(m->s);
	machine_free(m);
}

/* --- who must go at once -------------------------------------------------------------------- */

/* Its CPU is asked for a switch, urgently, though it may have been asked to take its time. */
static void who_must_leave_its_cpu_is_asked_to_at_once(void **state)
{
	enum { EXEC, AFFINITY, OFFLINE, CASES };

	(void)state;
	for (unsigned patient = 0; patient < 2; patient++)
		for (unsigned why = 0; why < CASES; why++) {
			struct machine *m = machine_of(1, 1, 2, 1, NULL);
			struct task *t = put(m, 1);
			struct cpumask only = cpumask_of(0);
			struct rq *rq = rq_of(m, 1);

			assert_ptr_equal(running(m, 1), t);
			crowd(m, 1, why == EXEC, BIT(1));
			while (running(m, 1) != t)
				tick(m);
			rq->need_resched = patient ? RESCHED_PATIENT : RESCHED_NONE;
			m->kicked[1] = false;
			if (why == EXEC)
				assert_true(sched_task_exec(m->s, 1));
			else if (why == AFFINITY)
				assert_int_equal(sched_set_affinity(m->s, t, &only), 0);
			else
				assert_int_equal(sched_cpu_offline(m->s, 1), 0);
			assert_int_equal(t->push_cpu, 0);
			assert_int_equal(rq->need_resched, RESCHED_NOW);
			assert_true(m->kicked[1] && !m->patient[1]);
			assert_true(
				sched_yield(m->s, 1)); /* it does not go on as if it were alone */
			settle(m);
			assert_ptr_equal(running(m, 0), t);
			machine_free(m);
		}
}

/* --- the stopper ---------------------------------------------------------------------------- */

/* It is the most urgent FIFO task, as Linux shows it, and its time is that of its ticks. */
static void a_stopper_has_a_priority_and_a_time(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task stopper, *t = spawn_nice(m, "t", 0);
	u64 before;

	(void)state;
	sched_task_init_stop(m->s, &stopper, 0, 1000, "migration/0");
	assert_int_equal(stopper.policy, SCHED_FIFO);
	assert_int_equal(stopper.rt_priority, 99);
	assert_int_equal(sched_task_prio(&stopper), 0);
	advance(m, 7 * MS);
	switch_cpu(m, 0, true);
	assert_int_equal(sched_task_runtime(m->s, t), 7 * MS);
	before = rq_of(m, 0)->run_ns;
	sched_task_start(m->s, &stopper, 0);
	settle(m);
	for (unsigned n = 1; n <= 3; n++) {
		tick(m);
		assert_int_equal(sched_task_runtime(m->s, &stopper), n * MS);
		assert_int_equal(rq_of(m, 0)->run_ns - before, n * MS);
	}
	assert_int_equal(sched_task_runtime(m->s, t), 7 * MS);
	sched_check(m->s);
	machine_free(m);
}

/* --- the hour ------------------------------------------------------------------------------- */

/* A clock may begin anywhere: the CPU has its time at once, and jiffies count from before it. */
static void a_machine_begins_at_any_hour(void **state)
{
	static const u64 hours[] = { NS_PER_SEC,       (1ull << 62) - 1, 1ull << 62,
				     (1ull << 63) - 1, (1ull << 63) + 5, 3ull << 62,
				     -2 * NS_PER_SEC };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(hours); i++) {
		struct machine *m;
		struct task *t;

		host_starts_at = hours[i];
		m = machine_new(1, 1000);
		host_starts_at = NS_PER_SEC;
		assert_int_equal(rq_of(m, 0)->clock, hours[i]);
		assert_int_equal(m->s->epoch, hours[i] & (3ull << 62));
		t = spawn_nice(m, "t", 0);
		spawn_nice(m, "other", 0);
		for (unsigned n = 0; n < 3000; n++)
			tick(m);
		assert_int_equal(rq_of(m, 0)->clock, hours[i] + 3 * NS_PER_SEC);
		assert_in_range(sched_task_runtime(m->s, t), 1490 * MS, 1510 * MS);
		sched_check(m->s);
		machine_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_may_run_where_its_parent_may),
		cmocka_unit_test(a_family_is_left_once),
		cmocka_unit_test(a_class_begins_with_a_clean_sheet),
		cmocka_unit_test(waiting_is_counted_across_cpus),
		cmocka_unit_test(no_beginning_is_no_waiting),
		cmocka_unit_test(who_starts_is_first_of_the_list),
		cmocka_unit_test(who_waits_on_a_cpu_that_leaves_hears_of_it),
		cmocka_unit_test(who_waits_on_a_cpu_that_leaves_is_spread),
		cmocka_unit_test(who_is_pushed_to_a_cpu_that_leaves_goes_elsewhere),
		cmocka_unit_test(a_machine_begins_at_any_hour),
		cmocka_unit_test(who_starts_on_a_cpu_that_leaves_begins_elsewhere),
		cmocka_unit_test(a_task_that_has_blocked_is_charged_no_more),
		cmocka_unit_test(who_must_leave_its_cpu_is_asked_to_at_once),
		cmocka_unit_test(a_stopper_has_a_priority_and_a_time),
	};

	return cmocka_run_group_tests_name("life", tests, NULL, NULL);
}
