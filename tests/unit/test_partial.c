/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A loaded scheduler that has the tasks of SCHED_EXT only: fair tasks of a CPU come first, however
 * they came to be there.
 */
#include <stdlib.h>

#include "group.h"
#include "sched/ext.h"

/* The one task that the scheduler has, as it sees it. */
static struct ext_seen *attach(struct ext_call *call, struct task *t)
{
	static struct ext_seen seen;

	(void)call;
	(void)t;
	return &seen;
}

/* Tasks run as they came. */
static const struct ext_ops in_order = {
	.name = "in_order",
	.flags = EXT_OPS_SWITCH_PARTIAL,
	.attach = attach,
};

static void *load(struct machine *m)
{
	size_t bytes = ALIGN_UP(sched_ext_size(m->nr_cpus, 0), 64ul);
	void *memory = aligned_alloc(64, bytes);

	assert_non_null(memory);
	__builtin_memset(memory, 0, bytes);
	assert_int_equal(sched_ext_load(m->s, memory, 0, &in_order), 0);
	settle(m);
	return memory;
}

/* Its group is throttled, so that a task of SCHED_EXT runs. The root group is not. */
static void a_task_that_leaves_a_throttled_group_preempts_a_less_urgent_class(void **state)
{
	struct machine *m = machine_new(1, 1000);
	void *memory = load(m);
	struct task_group *tg = new_group(m, NULL);
	struct task *hidden = spawn_in(m, tg, 0), *less = spawn(m, "less", SCHED_EXT, 0);

	(void)state;
	assert_task(running(m, 0), hidden);
	assert_int_equal(task_group_set_bandwidth(m->s, tg, 5 * MS, 500 * MS, 0, true), 0);
	settle(m);
	run_ticks(m, 10);
	assert_task(running(m, 0), less);
	task_group_move(m->s, hidden, NULL);
	sched_check(m->s);
	settle(m);
	assert_task(running(m, 0), hidden);
	machine_free(m);
	free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_that_leaves_a_throttled_group_preempts_a_less_urgent_class),
	};

	return cmocka_run_group_tests_name("partial", tests, NULL, NULL);
}
