/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A loaded scheduler: one that has the tasks of SCHED_EXT only, so that fair tasks of a CPU come
 * first, however they came to be there; and queues that are destroyed while they are in use.
 */
#include "group.h"
#include "lib/errno.h"
#include "smp.h"

#define QUEUES 2u

/* Returns the scheduler's view of a task. There is one, for the scheduler has one task. */
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

/* Its group is throttled, so that a task of SCHED_EXT runs. The root group is not. */
static void a_task_that_leaves_a_throttled_group_preempts_a_less_urgent_class(void **state)
{
	struct machine *m = machine_new(1, 1000);
	void *memory = load_scheduler(m, QUEUES, &in_order);
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

static struct task *kept;

/* Nobody takes the task to a CPU at once because that idles. */
static s32 stay(struct ext_call *call, struct task *t, s32 prev, u64 wake_flags)
{
	(void)call;
	(void)t;
	(void)wake_flags;
	return prev;
}

static void keep(struct ext_call *call, struct task *t, u64 flags)
{
	(void)call;
	(void)flags;
	kept = t;
}

/* Whichever CPU asks: the task goes to CPU 0. */
static void give_to_the_first(struct ext_call *call, s32 cpu, struct task *prev)
{
	struct task *t = kept;

	(void)cpu;
	(void)prev;
	kept = NULL;
	if (t)
		ext_insert(call, t, EXT_DSQ_LOCAL_ON, EXT_SLICE_DEFAULT, 0);
}

/* CPU 0 is to switch to the fair task, and has not yet, when CPU 1 brings another, and idles. */
static void a_fair_task_that_is_not_alone_any_more_is_shared(void **state)
{
	static const struct ext_ops to_the_first = {
		.name = "to_the_first",
		.flags = EXT_OPS_SWITCH_PARTIAL,
		.attach = attach,
		.select_cpu = stay,
		.enqueue = keep,
		.dispatch = give_to_the_first,
	};
	struct machine *m = machine_new(2, 1000);
	void *memory;
	struct ext_call call = { .kind = EXT_OUTSIDE };
	struct task *fair, *less;

	(void)state;
	set_feature(m, "SHARED_RUNQ");
	call.x = memory = load_scheduler(m, QUEUES, &to_the_first);
	fair = spawn(m, "fair", SCHED_NORMAL, 0);
	block(m, 0, TASK_INTERRUPTIBLE);
	less = spawn(m, "less", SCHED_EXT, 0);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_true(sched_wake(m->s, fair, TASK_INTERRUPTIBLE, 0, 0));
	assert_true(sched_wake(m->s, less, TASK_INTERRUPTIBLE, 0, 0));
	ext_kick(&call, 0, 1, 0);
	assert_task(switch_cpu(m, 1, false), fair);
	sched_check(m->s);
	settle(m);
	assert_task(running(m, 0), less);
	machine_free(m);
	free(memory);
}

static void check_the_chooser(struct machine *m)
{
	assert_true(rq_of(m, 0)->pulling && rq_of(m, 0)->curr != rq_of(m, 0)->idle);
	sched_check(m->s);
}

/* CPU 0 has found no task of ext, and looks at CPU 1 for others before it idles. */
static void a_cpu_that_is_choosing_may_have_looked_for_tasks_of_ext(void **state)
{
	struct machine *m = machine_new(2, 1000);
	struct cpumask second = { 0 };
	struct task *first;
	void *memory = load_scheduler(m, QUEUES, &in_order);

	(void)state;
	first = spawn(m, "first", SCHED_NORMAL, 0);
	cpumask_set(&second, 1);
	for (unsigned i = 0; i < 2; i++) {
		struct task *t = spawn(m, "stays", SCHED_NORMAL, 0);

		assert_int_equal(sched_set_affinity(m->s, t, &second), 0);
		settle(m);
	}
	assert_task(running(m, 0), first);
	rq_of(m, 0)->avg_idle = 1000 * MS;
	m->on_unlocked = check_the_chooser;
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_null(m->on_unlocked);
	sched_check(m->s);
	machine_free(m);
	free(memory);
}

/* --- queues that go --------------------------------------------------------- */

static struct ext *loaded;

/* Its queue was found for the task just now: another CPU destroys that, and makes another of it. */
static void destroy_what_was_found(struct machine *m, const struct host_lock *lock)
{
	struct ext_call call = { .x = loaded, .kind = EXT_OUTSIDE };

	if (lock != &loaded->lock)
		return;
	m->on_unlock = NULL;
	ext_destroy_dsq(&call, 7);
	assert_int_equal(ext_create_dsq(&call, 8), 0);
	assert_int_equal(ext_create_dsq(&call, 9), 0);
	assert_int_equal(ext_create_dsq(&call, 7), -ENOMEM);
}

static void into_queue_7(struct ext_call *call, struct task *t, u64 flags)
{
	ext_insert(call, t, 7, EXT_SLICE_DEFAULT, flags);
}

static const struct ext_ops into_7 = {
	.name = "into_7",
	.flags = EXT_OPS_SWITCH_PARTIAL,
	.attach = attach,
	.select_cpu = stay,
	.enqueue = into_queue_7,
};

static void a_task_for_a_queue_that_goes_is_not_lost(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct ext_call call;
	struct task *t;

	(void)state;
	loaded = load_scheduler(m, QUEUES, &into_7);
	call = (struct ext_call){ .x = loaded, .kind = EXT_OUTSIDE };
	assert_int_equal(ext_create_dsq(&call, 7), 0);
	m->on_unlock = destroy_what_was_found;
	t = spawn(m, "t", SCHED_EXT, 0);
	assert_null(m->on_unlock);
	settle(m);
	assert_task(running(m, 0), t);
	assert_string_equal(loaded->exit.message, "DSQ 0x7 is destroyed as t[1] is inserted");
	sched_check(m->s);
	machine_free(m);
	free(loaded);
}

/* The walk is in the memory of the queue until it ends. */
static void a_walk_outlives_its_queue(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct ext_iter walk, none;
	struct ext_call call;

	(void)state;
	loaded = load_scheduler(m, QUEUES, &in_order);
	call = (struct ext_call){ .x = loaded, .kind = EXT_OUTSIDE };
	assert_int_equal(ext_create_dsq(&call, 7), 0);
	assert_int_equal(ext_iter_begin(&call, &walk, 7, 0), 0);
	ext_destroy_dsq(&call, 7);
	assert_int_equal(ext_iter_begin(&call, &none, 7, 0), -ENOENT);
	assert_int_equal(ext_create_dsq(&call, 8), 0);
	assert_int_equal(ext_create_dsq(&call, 9), -ENOMEM);
	assert_null(ext_iter_next(&call, &walk));
	ext_iter_end(&call, &walk);
	assert_int_equal(ext_create_dsq(&call, 9), 0);
	assert_int_equal(ext_create_dsq(&call, 9), -EEXIST);
	assert_false(loaded->ended);
	machine_free(m);
	free(loaded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_that_leaves_a_throttled_group_preempts_a_less_urgent_class),
		cmocka_unit_test(a_fair_task_that_is_not_alone_any_more_is_shared),
		cmocka_unit_test(a_cpu_that_is_choosing_may_have_looked_for_tasks_of_ext),
		cmocka_unit_test(a_task_for_a_queue_that_goes_is_not_lost),
		cmocka_unit_test(a_walk_outlives_its_queue),
	};

	return cmocka_run_group_tests_name("ext", tests, NULL, NULL);
}
