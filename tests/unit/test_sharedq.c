/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shared wake queue: which tasks are linked, in which shard, and which are taken. See
 * sched/balance/sharedq.c.
 */
#include "sharedq.h"

/* --- who is linked -------------------------------------------------------- */

static void check_waiters(const char *policy)
{
	struct machine *m = scene(policy, "SHARED_RUNQ", 2);
	struct shard *shard = rq_of(m, 0)->shared.shard;
	struct task *new;

	assert_true(is_linked(waiter) && is_free(runner));
	assert_int_equal(shard->nr, 1);
	/* A preempted task waits; the one that was picked does not. */
	advance(m, MS);
	switch_cpu(m, 0, true);
	while (running(m, 0) == runner)
		tick(m);
	assert_true(is_linked(runner) && is_free(waiter));
	/* A new task is linked, too. One that sleeps or may run nowhere else is not. */
	new = put(m, 0);
	assert_true(is_linked(new) || running(m, 0) == new);
	allow(m, new, cpumask_of(0));
	assert_true(is_free(new));
	sched_check(m->s);
	machine_free(m);
}

EACH_POLICY(whoever_waits_beside_others_is_linked, check_waiters)

static void who_is_alone_is_not_linked_until_somebody_comes(void **state)
{
	struct machine *m = machine_of(1, 1, 2, 1, NULL);
	struct task *first, *second;

	(void)state;
	set_feature(m, "SHARED_RUNQ");
	put(m, 1);
	first = put(m, 0);
	second = put(m, 0);
	block(m, 0, TASK_INTERRUPTIBLE);
	block(m, 0, TASK_INTERRUPTIBLE);
	/* Both wake before CPU 0 switches: only with the second is there a choice. */
	sched_wake(m->s, first, TASK_NORMAL, 0, 0);
	assert_true(is_free(first));
	sched_wake(m->s, second, TASK_NORMAL, 0, 0);
	assert_true(is_linked(first) && is_linked(second));
	settle(m);
	sched_check(m->s);
	machine_free(m);
}

static void swqueue_links_what_wakes_where_it_slept(void **state)
{
	struct machine *m = scene("cfs", "SWQUEUE", 2);

	(void)state;
	/* It was preempted and moved here, but it did not wake up. */
	assert_true(is_free(waiter));
	assert_int_equal(rq_of(m, 0)->shared.own_shard.nr, 0);
	/* The runner sleeps, and wakes while CPU 1 is busy as well. */
	advance(m, MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_task(running(m, 0), waiter);
	set_feature(m, "NO_WAKEUP_PREEMPTION");
	wake(m, runner, 0);
	assert_int_equal(runner->cpu, 0);
	assert_true(is_linked(runner));
	/* A picked task is unlinked, and stays so when it is put back. */
	while (running(m, 0) == waiter)
		tick(m);
	assert_true(is_free(runner));
	while (running(m, 0) == runner)
		tick(m);
	assert_true(is_free(runner));
	sched_check(m->s);
	machine_free(m);
}

static void a_task_that_changes_class_leaves_the_shard(void **state)
{
	struct machine *m = scene("cfs", "SHARED_RUNQ", 2);
	struct sched_attr_req fifo = { .policy = SCHED_FIFO, .rt_priority = 1 };

	(void)state;
	assert_int_equal(sched_set_attr(m->s, waiter, &fifo), 0);
	assert_true(is_free(waiter));
	settle(m);
	/* Now the other task waits. */
	assert_true(is_linked(runner));
	sched_check(m->s);
	machine_free(m);
}

/* --- shards --------------------------------------------------------------- */

static unsigned shards_in_use(struct machine *m)
{
	struct shard *seen[CPU_MAX];
	unsigned nr = 0;

	for (unsigned cpu = 0; cpu < m->nr_cpus; cpu++) {
		unsigned i = 0;

		while (i < nr && seen[i] != rq_of(m, cpu)->shared.shard)
			i++;
		if (i == nr)
			seen[nr++] = rq_of(m, cpu)->shared.shard;
	}
	return nr;
}

static void an_llc_has_a_shard_for_each_six_cpus(void **state)
{
	struct machine *m = machine_of(1, 2, 8, 2, NULL);

	(void)state;
	assert_null(rq_of(m, 0)->shared.shard);
	set_feature(m, "SWQUEUE");
	assert_int_equal(shards_in_use(m), 2);
	set_feature(m, "SHARED_RUNQ");
	assert_int_equal(shards_in_use(m), 6); /* 16 CPUs of a cache: 3 */
	for (unsigned cpu = 0; cpu < 32; cpu += 2) {
		assert_ptr_equal(rq_of(m, cpu)->shared.shard, rq_of(m, cpu + 1)->shared.shard);
		assert_ptr_not_equal(rq_of(m, cpu)->shared.shard,
				     rq_of(m, (cpu + 2) % 32)->shared.shard);
	}
	set_tunable(m, "shared_runq_shard_size", "2");
	assert_int_equal(shards_in_use(m), 16);
	set_tunable(m, "shared_runq_shard_size", "1000");
	assert_int_equal(shards_in_use(m), 2);
	assert_int_equal(sched_tunable_write(m->s, "shared_runq_shard_size", "0", 1), -EINVAL);
	set_feature(m, "NO_SHARED_RUNQ");
	assert_int_equal(shards_in_use(m), 2);
	set_feature(m, "NO_SWQUEUE");
	assert_null(rq_of(m, 0)->shared.shard);
	machine_free(m);
}

/* CPUs of a cache need not have consecutive numbers. */
static void the_circles_meet_every_cpu_once(void **state)
{
	struct sched_cpu_desc desc[12];
	struct machine *m;
	unsigned nr = 0, cpu;

	(void)state;
	for (cpu = 0; cpu < 12; cpu++)
		desc[cpu] = (struct sched_cpu_desc){ cpu % 6, cpu % 3, 0, 0 };
	m = machine_new_on(12, 1000, desc, NULL);
	for (unsigned llc = 0; !nr || llc; llc = rq_of(m, llc)->shared.next_llc) {
		assert_int_equal(rq_of(m, llc)->llc_id, llc);
		cpu = llc;
		do {
			assert_int_equal(rq_of(m, cpu)->llc_id, llc);
			assert_int_equal(rq_of(m, cpu)->shared.core_index, cpu % 6 / 3);
			nr++;
		} while ((cpu = rq_of(m, cpu)->shared.next_in_llc) != llc);
	}
	assert_int_equal(nr, 12);
	machine_free(m);
}

/* From whichever CPU the search begins, it comes by the shard of each. */
static void every_shard_of_the_cache_is_looked_at(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 16; i++) {
		unsigned from = i / 4, to = i % 4;
		struct machine *m = machine_of(1, 1, 4, 1, NULL);

		if (from == to) {
			machine_free(m);
			continue;
		}
		set_tunable(m, "shared_runq_shard_size", "1");
		set_feature(m, "SHARED_RUNQ");
		for (unsigned cpu = 0; cpu < 4; cpu++)
			put(m, cpu);
		put(m, to);
		advance(m, MS);
		rq_of(m, from)->avg_idle = 0;
		block(m, from, TASK_INTERRUPTIBLE);
		assert_ptr_not_equal(running(m, from), &m->idle[from]);
		assert_int_equal(rq_of(m, from)->shared_pulled, 1);
		machine_free(m);
	}
}

static void the_shard_next_door_is_looked_at_too(void **state)
{
	struct machine *m = machine_of(1, 1, 4, 1, NULL);
	struct task *t;

	(void)state;
	set_tunable(m, "shared_runq_shard_size", "1");
	set_feature(m, "SHARED_RUNQ");
	for (unsigned cpu = 0; cpu < 4; cpu++)
		put(m, cpu);
	t = put(m, 2);
	t = list_first(&rq_of(m, 2)->shared.shard->tasks, struct task, shared.link);
	assert_ptr_not_equal(rq_of(m, 2)->shared.shard, rq_of(m, 3)->shared.shard);
	advance(m, MS);
	block(m, 3, TASK_INTERRUPTIBLE);
	assert_task(running(m, 3), t);
	machine_free(m);
}

/* --- taking --------------------------------------------------------------- */

static void check_pull(const char *policy)
{
	static const char *const features[] = { "SHARED_RUNQ", "SWQUEUE" };

	for (unsigned i = 0; i < 2; i++) {
		struct machine *m = scene(policy, features[i], 2);

		set_feature(m, "NO_DELAY_DEQUEUE");
		if (i) {
			/* A task must wake up to be linked. */
			set_feature(m, "NO_WAKEUP_PREEMPTION");
			advance(m, MS);
			block(m, 0, TASK_INTERRUPTIBLE);
			wake(m, runner, 0);
			waiter = runner;
		}
		assert_true(is_linked(waiter));
		/* Balancing would never do this for so short a time. */
		rq_of(m, 1)->avg_idle = 0;
		block(m, 1, TASK_INTERRUPTIBLE);
		assert_task(running(m, 1), waiter);
		assert_int_equal(rq_of(m, 1)->shared_pulled, 1);
		assert_int_equal(rq_of(m, 0)->nr_running, 1);
		sched_check(m->s);
		machine_free(m);
	}
}

EACH_POLICY(a_cpu_about_to_idle_takes_who_waits, check_pull)

static void the_first_to_come_is_the_first_to_go(void **state)
{
	struct machine *m = scene("cfs", "SHARED_RUNQ", 2);
	struct task *second = put(m, 0);

	(void)state;
	assert_true(is_linked(second) && is_linked(waiter));
	block(m, 1, TASK_INTERRUPTIBLE);
	assert_task(running(m, 1), waiter);
	block(m, 1, TASK_INTERRUPTIBLE);
	assert_task(running(m, 1), second);
	machine_free(m);
}

/* It is left for another CPU, and so is everything behind it. */
static void a_head_that_may_not_come_blocks_the_shard(void **state)
{
	struct machine *m = scene("cfs", "SHARED_RUNQ", 3);
	struct cpumask zero_and_two = cpumask_of(0);
	struct task *second;

	(void)state;
	cpumask_set(&zero_and_two, 2);
	allow(m, waiter, zero_and_two);
	second = put(m, 0);
	assert_true(is_linked(waiter) && is_linked(second));
	block(m, 1, TASK_INTERRUPTIBLE);
	assert_task(running(m, 1), &m->idle[1]);
	assert_int_equal(rq_of(m, 1)->shared_refused, 1);
	assert_true(is_linked(waiter) && is_linked(second));
	block(m, 2, TASK_INTERRUPTIBLE);
	assert_task(running(m, 2), waiter);
	sched_check(m->s);
	machine_free(m);
}

/* The shards showed that there is nothing, so the domains they cover are not searched. */
static void a_newly_idle_cpu_searches_beyond_its_cache_only(void **state)
{
	struct machine *m = machine_of(1, 2, 2, 1, NULL);

	(void)state;
	set_tunable(m, "sched_schedstats", "1");
	/* Tasks wait on both sides, but none of them may come. */
	for (unsigned i = 0; i < 4; i++)
		allow(m, put(m, 1 + i / 2), cpumask_of(1 + i / 2));
	for (unsigned on = 0; on < 2; on++) {
		struct domain *near = rq_of(m, 0)->domains;
		u64 before = near->stat[CPU_NEWLY_IDLE].count;
		u64 far_before = near->parent->stat[CPU_NEWLY_IDLE].count;

		set_feature(m, on ? "SHARED_RUNQ" : "NO_SHARED_RUNQ");
		put(m, 0);
		rq_of(m, 0)->avg_idle = 10 * MS;
		block(m, 0, TASK_INTERRUPTIBLE);
		assert_int_equal(near->stat[CPU_NEWLY_IDLE].count, before + !on);
		assert_int_equal(near->parent->stat[CPU_NEWLY_IDLE].count, far_before + 1);
	}
	machine_free(m);
}

/* --- other caches --------------------------------------------------------- */

/* Two nodes of two of them. */
static struct machine *two_nodes(unsigned nr)
{
	return caches(2, 2, nr);
}

static void another_cache_is_robbed_of_what_has_waited(void **state)
{
	struct machine *m = two_nodes(3);

	(void)state;
	advance(m, MS / 4);
	assert_false(takes_work(m, 0));
	advance(m, MS / 4);
	assert_true(takes_work(m, 1));
	assert_int_equal(rq_of(m, 1)->shared_stolen, 1);
	assert_int_equal(running(m, 1)->cpu, 1);
	machine_free(m);
	/* CPU 2 has one waiting task, which CPUs of its own cache will take. */
	m = two_nodes(1);
	advance(m, MS);
	assert_false(takes_work(m, 0));
	machine_free(m);
}

static void another_node_is_robbed_of_what_has_waited_long(void **state)
{
	struct machine *m = two_nodes(3);

	(void)state;
	advance(m, 4 * MS);
	assert_false(takes_work(m, 5));
	advance(m, MS);
	assert_true(takes_work(m, 4));
	machine_free(m);
	m = two_nodes(3);
	set_tunable(m, "shared_runq_steal_far_ns", "1000000");
	advance(m, MS);
	assert_true(takes_work(m, 5));
	set_feature(m, "NO_SHARED_RUNQ_STEAL");
	advance(m, 10 * MS);
	assert_false(takes_work(m, 6));
	machine_free(m);
}

static void who_came_too_early_comes_again(void **state)
{
	struct machine *m = two_nodes(3);

	(void)state;
	advance(m, MS / 4);
	assert_false(takes_work(m, 0));
	advance(m, MS / 4 - 1);
	assert_task(running(m, 0), &m->idle[0]);
	advance(m, 1);
	assert_int_equal(running(m, 0)->cpu, 0);
	assert_int_equal(rq_of(m, 0)->shared_stolen, 1);
	assert_int_equal(rq_of(m, 0)->shared.steal_at, 0);
	machine_free(m);
}

/* Makes a task begin to wait on @cpu. */
static struct task *queue_on(struct machine *m, unsigned cpu)
{
	struct task *t = spawn_nice(m, "waiter", 0);

	allow(m, t, cpumask_of(cpu));
	allow(m, t, cpumask_first_n(m->nr_cpus));
	return t;
}

/* Its number is the least there is, and one task is enough: no cache is searched after it. */
static void cpu_0_is_robbed_as_any_other(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct machine *m = i ? caches(1, 3, 0) : two_nodes(0);
		unsigned thief = i ? 4 : 2;

		for (unsigned n = 0; n < 3; n++)
			assert_int_equal(queue_on(m, 0)->cpu, 0);
		advance(m, 10 * MS);
		assert_true(takes_work(m, thief));
		assert_int_equal(rq_of(m, thief)->shared_stolen, 1);
		assert_int_equal(rq_of(m, thief)->shared_steal_tried, 1);
		assert_int_equal(rq_of(m, 0)->nr_running, 3);
		machine_free(m);
	}
}

/* Only the second shard behind that cache has tasks. */
static void empty_shards_are_not_robbed(void **state)
{
	struct machine *m = two_nodes(0);

	(void)state;
	set_tunable(m, "shared_runq_shard_size", "1");
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(queue_on(m, 3)->cpu, 3);
	advance(m, 10 * MS);
	assert_true(takes_work(m, 0));
	assert_int_equal(rq_of(m, 0)->shared_stolen, 1);
	assert_int_equal(rq_of(m, 0)->shared_steal_tried, 1);
	machine_free(m);
}

/* Two CPUs have a shard each, and the task of either shard may be the one that waits longest. */
static void who_came_too_early_comes_for_the_first_that_may_be_taken(void **state)
{
	(void)state;
	for (unsigned first = 2; first < 4; first++) {
		struct machine *m = two_nodes(0);
		u64 start = m->now;

		set_tunable(m, "shared_runq_shard_size", "1");
		assert_int_equal(queue_on(m, first)->cpu, first);
		advance(m, MS / 8);
		assert_int_equal(queue_on(m, 5 - first)->cpu, 5 - first);
		advance(m, MS / 8);
		assert_false(takes_work(m, 0));
		assert_int_equal(rq_of(m, 0)->shared.steal_at - start, MS / 2);
		assert_int_equal(m->timer[0] - start, MS / 2);
		machine_free(m);
	}
}

static void an_idle_cpu_is_called(void **state)
{
	struct machine *m = two_nodes(0);
	struct task *t;

	(void)state;
	assert_false(takes_work(m, 3));
	assert_int_equal(queue_on(m, 2)->cpu, 3);
	/* Not from another cache, for a single task. */
	assert_false(takes_work(m, 0));
	t = queue_on(m, 2);
	assert_int_equal(rq_of(m, 0)->shared.steal_at, 0);
	/* For two tasks, once they have waited. */
	assert_int_equal(queue_on(m, 2)->cpu, 2);
	advance(m, MS / 2);
	assert_task(running(m, 0), t);
	set_feature(m, "NO_SHARED_RUNQ_STEAL");
	assert_true(takes_work(m, 3));
	assert_false(takes_work(m, 3));
	assert_int_equal(queue_on(m, 2)->cpu, 2);
	machine_free(m);
}

static void one_cpu_at_a_time_steals_from_a_shard(void **state)
{
	struct machine *m = two_nodes(3);

	(void)state;
	advance(m, MS);
	rq_of(m, 2)->shared.shard->stealing = true;
	assert_false(takes_work(m, 0));
	assert_int_equal(rq_of(m, 0)->shared_steal_busy, 1);
	rq_of(m, 2)->shared.shard->stealing = false;
	assert_true(takes_work(m, 1));
	machine_free(m);
}

static void sis_node_finds_the_idle_cpu_of_another_cache(void **state)
{
	static const unsigned shapes[][4] = { { 1, 2, 2, 1 }, { 1, 4, 1, 1 }, { 2, 2, 1, 1 } };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(shapes); i++) {
		const unsigned *shape = shapes[i];
		unsigned per_node = shape[1] * shape[2], free_cpu = per_node - 1;
		struct machine *m = machine_of(shape[0], shape[1], shape[2], 1, NULL);
		struct task *t, *sleeper = put(m, 0);

		block(m, 0, TASK_INTERRUPTIBLE);
		for (unsigned cpu = 0; cpu < m->nr_cpus; cpu++) {
			if (cpu == free_cpu)
				continue;
			t = put(m, cpu);
			allow(m, t, cpumask_of(cpu));
		}
		for (unsigned on = 0; on < 2; on++) {
			set_feature(m, on ? "SIS_NODE" : "NO_SIS_NODE");
			wake(m, sleeper, 0);
			assert_int_equal(sleeper->cpu, on ? free_cpu : 0);
			if (!on) {
				while (running(m, 0) != sleeper) {
					advance(m, MS);
					switch_cpu(m, 0, true);
				}
				block(m, 0, TASK_INTERRUPTIBLE);
			}
		}
		machine_free(m);
	}
}

/* Shards are made anew when a CPU leaves; who waits is linked in the new ones. */
static void a_cpu_that_leaves_loses_nobody(void **state)
{
	struct machine *m = scene("cfs", "SHARED_RUNQ", 3);

	(void)state;
	set_tunable(m, "shared_runq_shard_size", "1");
	assert_true(is_linked(waiter));
	block(m, 2, TASK_INTERRUPTIBLE);
	/* It took the waiter. */
	assert_task(running(m, 2), waiter);
	put(m, 0);
	assert_int_equal(rq_of(m, 0)->nr_running, 2);
	assert_int_equal(sched_cpu_offline(m->s, 2), 0);
	settle(m);
	sched_check(m->s);
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		struct task *t;
		u32 linked = 0;

		list_for_each(t, &rq_of(m, cpu)->fair_tasks, link)
			linked += is_linked(t);
		assert_int_equal(linked, rq_of(m, cpu)->nr_running - 1);
		assert_int_equal(rq_of(m, cpu)->shared.shard->nr, linked);
	}
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whoever_waits_beside_others_is_linked),
		cmocka_unit_test(who_is_alone_is_not_linked_until_somebody_comes),
		cmocka_unit_test(swqueue_links_what_wakes_where_it_slept),
		cmocka_unit_test(a_task_that_changes_class_leaves_the_shard),
		cmocka_unit_test(an_llc_has_a_shard_for_each_six_cpus),
		cmocka_unit_test(the_circles_meet_every_cpu_once),
		cmocka_unit_test(every_shard_of_the_cache_is_looked_at),
		cmocka_unit_test(the_shard_next_door_is_looked_at_too),
		cmocka_unit_test(a_cpu_about_to_idle_takes_who_waits),
		cmocka_unit_test(the_first_to_come_is_the_first_to_go),
		cmocka_unit_test(a_head_that_may_not_come_blocks_the_shard),
		cmocka_unit_test(a_newly_idle_cpu_searches_beyond_its_cache_only),
		cmocka_unit_test(another_cache_is_robbed_of_what_has_waited),
		cmocka_unit_test(another_node_is_robbed_of_what_has_waited_long),
		cmocka_unit_test(who_came_too_early_comes_again),
		cmocka_unit_test(cpu_0_is_robbed_as_any_other),
		cmocka_unit_test(empty_shards_are_not_robbed),
		cmocka_unit_test(who_came_too_early_comes_for_the_first_that_may_be_taken),
		cmocka_unit_test(an_idle_cpu_is_called),
		cmocka_unit_test(one_cpu_at_a_time_steals_from_a_shard),
		cmocka_unit_test(sis_node_finds_the_idle_cpu_of_another_cache),
		cmocka_unit_test(a_cpu_that_leaves_loses_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
