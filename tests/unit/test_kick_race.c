/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The protocol "kicks" (sched/ext/kick.c). A loaded scheduler has a queue that CPU 1 alone looks
 * into, and kicks that CPU, if it idles, for each task that it inserts. CPU 1 looks for work
 * between any two steps of the insert on CPU 0, and CPU 0 inserts between any two accesses to
 * memory of CPU 1, which is about to idle. Whatever comes in between, CPU 1 runs the task.
 */
#include <string.h>

#include "race.h"
#include "smp.h"

#define ITS_QUEUE 7u
#define TASKS	  4

static struct machine *m;
static struct ext *x;
static struct ext_seen seen[TASKS];
static struct task *woken;

/* --- the scheduler ---------------------------------------------------------------------------- */

static s32 near_cpu_0(struct ext_call *c, struct task *t, s32 prev, u64 wake_flags)
{
	(void)c, (void)t, (void)prev, (void)wake_flags;
	return 0;
}

/* On behalf of CPU 0, which does all that this test wakes up. */
static void insert_and_kick(struct ext_call *c, struct task *t, u64 flags)
{
	if (t->nr_allowed == 1) {
		ext_insert(c, t, EXT_DSQ_LOCAL, EXT_SLICE_INFINITE, flags);
		return;
	}
	ext_insert(c, t, ITS_QUEUE, EXT_SLICE_INFINITE, flags);
	ext_kick(c, 0, 1, EXT_KICK_IDLE);
}

static void look_into_the_queue(struct ext_call *c, s32 cpu, struct task *prev)
{
	(void)prev;
	if (cpu == 1)
		ext_move_to_local(c, ITS_QUEUE);
}

static s32 make_the_queue(struct ext_call *c)
{
	return ext_create_dsq(c, ITS_QUEUE);
}

static struct ext_seen *attach(struct ext_call *c, struct task *t)
{
	(void)c;
	assert_in_range(t->pid, 1, TASKS);
	return &seen[t->pid - 1];
}

static void detach(struct ext_call *c, struct task *t)
{
	(void)c, (void)t;
}

static const struct ext_ops ops = {
	.name = "kicks",
	.select_cpu = near_cpu_0,
	.enqueue = insert_and_kick,
	.dispatch = look_into_the_queue,
	.init = make_the_queue,
	.attach = attach,
	.detach = detach,
};

/* --- the machine ------------------------------------------------------------------------------ */

/* CPU 0 is busy, CPU 1 idles, and a task sleeps that ran on CPU 0 and may use both. */
static void begin(void)
{
	m = machine_of(1, 1, 2, 1, NULL);
	memset(seen, 0, sizeof(seen));
	x = load_scheduler(m, 1, &ops);
	woken = sleeper_on(m, 0);
	allow(m, spawn_nice(m, "busy", 0), cpumask_of(0));
	assert_task(running(m, 1), &m->idle[1]);
}

/* A task runs on CPU 1, and has announced a sleep. */
static void begin_busy(void)
{
	begin();
	allow(m, spawn_nice(m, "sleeper", 0), cpumask_of(1));
	sched_block(running(m, 1), TASK_INTERRUPTIBLE);
}

static void end(void)
{
	machine_free(m);
	free(x);
}

static void wake_it(void)
{
	sched_wake(m->s, woken, TASK_NORMAL, 0, 0);
}

/* CPU 0 wakes it, and serves what that left for this CPU. */
static void wake_it_elsewhere(void)
{
	wake_it();
	if (m->kicked[0])
		switch_cpu(m, 0, true);
}

static void choose(void)
{
	switch_cpu(m, 1, false);
}

static void serve_a_kick(void)
{
	if (m->kicked[1])
		choose();
}

static bool is_locked(const struct host_lock *own)
{
	return host_lock_held(own) || host_lock_held(&x->dsq[0].lock) || host_lock_held(&x->lock);
}

/* It takes a task that is in the queue under the lock of CPU 0's runqueue. */
static bool cpu_1_waits(void)
{
	return is_locked(&rq_of(m, 1)->lock) ||
	       (x->dsq[0].nr && host_lock_held(&rq_of(m, 0)->lock));
}

static bool cpu_0_waits(void)
{
	return is_locked(&rq_of(m, 0)->lock);
}

static const char *const fields[] = { "whether CPU 1 runs the task, once all is served", NULL };

static void outcome(s64 *value)
{
	settle(m);
	*value = running(m, 1) == woken;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void a_kick_comes_after_the_insert(void **state)
{
	const struct race race = { .here_is = "CPU 0 inserts a task, and kicks CPU 1",
				   .there_is = "CPU 1 serves a kick",
				   .begin = begin,
				   .here = wake_it,
				   .there = serve_a_kick,
				   .locked = cpu_1_waits,
				   .field = fields,
				   .outcome = outcome,
				   .end = end };

	(void)state;
	race_try(&race);
}

static void a_cpu_about_to_idle_hears_a_kick_for_idle_ones(void **state)
{
	const struct race race = { .here_is = "CPU 1 is about to idle",
				   .there_is = "CPU 0 inserts a task, and kicks CPU 1",
				   .begin = begin_busy,
				   .here = choose,
				   .there = wake_it_elsewhere,
				   .locked = cpu_0_waits,
				   .field = fields,
				   .outcome = outcome,
				   .end = end };

	(void)state;
	race_try(&race);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kick_comes_after_the_insert),
		cmocka_unit_test(a_cpu_about_to_idle_hears_a_kick_for_idle_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
