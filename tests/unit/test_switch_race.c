/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The protocols "kick" and "switch" (docs/locking.md): a wakeup by CPU 0 between any two accesses
 * to memory of a choice on CPU 1. The choice sees the task, or CPU 1 is kicked to choose again; and
 * a task that still stands on its stack is put back there.
 */
#include "race.h"
#include "smp.h"

static struct machine *m;
static struct task *t;

/* The task may run on CPU 1 alone, and sleeps; CPU 1 is idle. */
static void cpu_1_is_idle(void)
{
	const struct cpumask one = cpumask_of(1);

	m = machine_of(1, 1, 2, 1, NULL);
	t = put(m, 1);
	assert_int_equal(sched_set_affinity(m->s, t, &one), 0);
	block(m, 1, TASK_INTERRUPTIBLE);
	assert_ptr_equal(running(m, 1), &m->idle[1]);
}

/*
 * The task runs on CPU 1, and has announced a sleep. CPU 0 has tasks that may not leave, so that
 * CPU 1, about to idle, lets its lock go to look for work. CPU 2 is idle, so that a sleeping task
 * would wake there.
 */
static void the_task_is_about_to_sleep(void)
{
	const struct cpumask zero = cpumask_of(0);

	m = machine_of(1, 1, 3, 1, NULL);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(sched_set_affinity(m->s, put(m, 0), &zero), 0);
	t = put(m, 1);
	assert_ptr_equal(running(m, 1), t);
	rq_of(m, 1)->avg_idle = 100 * MS;
	sched_block(t, TASK_INTERRUPTIBLE);
}

/* As the kernel's switch_threads() does it: the word is cleared, then the choice is made. */
static void choose(void)
{
	switch_cpu(m, 1, false);
}

static void wake_it(void)
{
	sched_wake(m->s, t, TASK_NORMAL, 0, 0);
}

static bool queue_is_locked(void)
{
	return host_lock_held(&rq_of(m, 1)->lock);
}

static const char *const fields[] = {
	"whether CPU 1, which serves its kicks, runs the task",
	"rq->need_resched of CPU 1",
	"task->on_rq",
	"task->state",
	"task->cpu",
	"nr_running of CPU 1",
	NULL,
};

/* A kick that was not needed does no harm. */
static void outcome(s64 *value)
{
	settle(m);
	*value++ = running(m, 1) == t;
	*value++ = rq_of(m, 1)->need_resched;
	*value++ = t->on_rq;
	*value++ = t->state;
	*value++ = t->cpu;
	*value++ = rq_of(m, 1)->nr_running;
}

static void end(void)
{
	machine_free(m);
}

#define BY_ANOTHER_CPU                                                                             \
	.there_is = "CPU 0 wakes the task", .here = choose, .there = wake_it,                      \
	.locked = queue_is_locked, .field = fields, .outcome = outcome, .end = end

static void a_wakeup_is_seen_or_kicks(void **state)
{
	const struct race race = { .here_is = "CPU 1, which is idle, chooses",
				   .begin = cpu_1_is_idle,
				   BY_ANOTHER_CPU };

	(void)state;
	race_try(&race);
}

static bool lock_was_free;

static void note_search(struct machine *on)
{
	(void)on;
	lock_was_free = true;
}

static void a_task_on_its_stack_is_put_back(void **state)
{
	const struct race race = { .here_is = "the task of CPU 1 blocks",
				   .begin = the_task_is_about_to_sleep,
				   BY_ANOTHER_CPU };

	(void)state;
	the_task_is_about_to_sleep();
	m->on_search = note_search;
	choose();
	assert_true(lock_was_free);
	end();
	race_try(&race);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wakeup_is_seen_or_kicks),
		cmocka_unit_test(a_task_on_its_stack_is_put_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
