/* SPDX-License-Identifier: GPL-2.0-only */
/* Parameters that are set while a task runs: what it has already restarts nothing. */
#include <string.h>

#include "host.h"

#define RUN_MS 600

static const struct sched_cpu_desc one = { .core = 0 };

static void ask_for_all(struct sched *s, struct task *t)
{
	struct sched_attr_req req;

	sched_get_attr(t, &req);
	req.clamps = 0;
	assert_int_equal(sched_set_attr(s, t, &req), 0);
}

static void ask_for_nice(struct sched *s, struct task *t)
{
	sched_set_nice(s, t, PRIO_TO_NICE(t->static_prio));
}

static void ask_for_cpus(struct sched *s, struct task *t)
{
	assert_int_equal(sched_set_affinity(s, t, &t->allowed), 0);
}

/* CFS has no requests, so that one of another size is no change. */
static void ask_for_slice(struct sched *s, struct task *t)
{
	struct sched_attr_req req;

	sched_get_attr(t, &req);
	req.clamps = 0;
	req.slice_ns = req.slice_ns == MS ? 2 * MS : MS;
	assert_int_equal(sched_set_attr(s, t, &req), 0);
}

/* CPU time in ms of the first of three tasks, which asks before each tick while it runs. */
static u64 time_of_asker(const char *fair_policy, int policy,
			 void (*ask)(struct sched *, struct task *))
{
	struct machine *m = machine_new_on(1, 1000, &one, fair_policy);
	int value = policy == SCHED_RR ? 5 : 0;
	struct task *asker = spawn(m, "asker", policy, value);
	u64 ns;

	spawn(m, "hog", policy, value);
	spawn(m, "hog", policy, value);
	if (!strcmp(fair_policy, "cfs")) /* longer than a tick: a turn that began anew goes on */
		set_tunable(m, "min_granularity_ns", "1500000");
	if (policy == SCHED_RR)
		set_tunable(m, "sched_rr_timeslice_ms", "10");
	for (unsigned i = 0; i < RUN_MS; i++) {
		if (running(m, 0) == asker)
			ask(m->s, asker);
		settle(m);
		tick(m);
	}
	ns = sched_task_runtime(m->s, asker);
	machine_free(m);
	return ns / MS;
}

static void a_task_that_asks_for_what_it_has_keeps_its_turn_and_ends_it(void **state)
{
	static const struct {
		const char *fair;
		int policy;
		void (*ask)(struct sched *, struct task *);
	} cases[] = {
		{ "cfs", SCHED_NORMAL, ask_for_all },	{ "cfs", SCHED_NORMAL, ask_for_nice },
		{ "cfs", SCHED_NORMAL, ask_for_slice }, { "cfs", SCHED_NORMAL, ask_for_cpus },
		{ "eevdf", SCHED_NORMAL, ask_for_all }, { "eevdf", SCHED_NORMAL, ask_for_nice },
		{ "bore", SCHED_NORMAL, ask_for_all },	{ "fdl", SCHED_NORMAL, ask_for_all },
		{ "cfs", SCHED_BATCH, ask_for_all },	{ "cfs", SCHED_RR, ask_for_all },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		u64 ms = time_of_asker(cases[i].fair, cases[i].policy, cases[i].ask);

		if (ms < RUN_MS / 3 - 15 || ms > RUN_MS / 3 + 15)
			fail_msg("case %u (%s): %lu of %u ms", i, cases[i].fair, ms, RUN_MS);
	}
}

#define FIFO_PRIORITY 10

static int prio_of_the_fifo_task(const struct sched_attr_req *req)
{
	(void)req;
	return MAX_RT_PRIO - 1 - FIFO_PRIORITY;
}

/* Priorities of two classes may be equal numbers: the class counts first. */
static void a_task_of_an_equal_priority_in_another_class_is_compared(void **state)
{
	const struct sched_attr_req fifo = { .policy = SCHED_FIFO, .rt_priority = FIFO_PRIORITY };
	const struct sched_attr_req normal = { .policy = SCHED_NORMAL };
	struct machine *m = machine_new(1, 1000);
	struct task *first, *second;

	(void)state;
	m->s->class_copy[CLASS_fair].params.prio = prio_of_the_fifo_task;
	first = spawn_nice(m, "first", 0);
	second = spawn_nice(m, "second", 0);
	settle(m);
	assert_ptr_equal(running(m, 0), first);
	assert_int_equal(sched_set_attr(m->s, second, &fifo), 0);
	assert_int_equal(sched_task_prio(first), sched_task_prio(second));
	settle(m);
	assert_ptr_equal(running(m, 0), second);
	assert_int_equal(sched_set_attr(m->s, first, &fifo), 0);
	settle(m);
	assert_ptr_equal(running(m, 0), second);
	assert_int_equal(sched_set_attr(m->s, second, &normal), 0);
	settle(m);
	assert_ptr_equal(running(m, 0), first);
	machine_free(m);
}

static void become_fifo(struct machine *m)
{
	struct sched_attr_req fifo = { .policy = SCHED_FIFO, .rt_priority = FIFO_PRIORITY };

	assert_int_equal(sched_set_attr(m->s, running(m, 0), &fifo), 0);
}

/* They change at the last moment: from the lock on nobody changes them, so none is read before. */
static void parameters_are_read_with_the_lock(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct sched_attr_req req;

	(void)state;
	spawn_nice(m, "changing", 0);
	settle(m);
	m->on_locking = become_fifo;
	sched_read_attr(m->s, running(m, 0), &req);
	assert_null(m->on_locking);
	assert_int_equal(req.policy, SCHED_FIFO);
	assert_int_equal(req.rt_priority, FIFO_PRIORITY);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_that_asks_for_what_it_has_keeps_its_turn_and_ends_it),
		cmocka_unit_test(a_task_of_an_equal_priority_in_another_class_is_compared),
		cmocka_unit_test(parameters_are_read_with_the_lock),
	};

	return cmocka_run_group_tests_name("attr", tests, NULL, NULL);
}
