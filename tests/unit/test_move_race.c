/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The protocol "holding" (sched/ext/ext.h), and moves from a timer. A task of CPU 0 waits in a
 * queue of the loaded scheduler. A timer on CPU 0 moves it, CPU 1 takes it in dispatch, and a third
 * hand has other plans for it: each of them between any two accesses to memory of another. Whatever
 * comes in between, the task is in one place, and what comes out is what one after the other gives.
 */
#include "lib/errno.h"
#include "race.h"
#include "smp.h"

enum { FIRST_QUEUE = 7, SECOND_QUEUE = 8, QUEUES = 2 };

static struct machine *m;
static struct ext *x;
static struct task *waiter;
static u64 target; /* where the timer moves it */
static bool moved; /* as the timer is told */

/* --- the scheduler ---------------------------------------------------------------------------- */

static s32 stay(struct ext_call *c, struct task *t, s32 prev, u64 wake_flags)
{
	(void)c, (void)t, (void)wake_flags;
	return prev;
}

static void insert(struct ext_call *c, struct task *t, u64 flags)
{
	ext_insert(c, t, t->nr_allowed == 1 ? EXT_DSQ_LOCAL : FIRST_QUEUE, EXT_SLICE_INFINITE,
		   flags);
}

static void take_the_first(struct ext_call *c, s32 cpu, struct task *prev)
{
	(void)prev;
	if (cpu == 1)
		ext_move_to_local(c, FIRST_QUEUE);
}

static s32 make_the_queues(struct ext_call *c)
{
	return ext_create_dsq(c, FIRST_QUEUE) ?: ext_create_dsq(c, SECOND_QUEUE);
}

static struct ext_seen *attach(struct ext_call *c, struct task *t)
{
	static struct ext_seen seen[3];

	(void)c;
	assert_in_range(t->pid, 1, ARRAY_SIZE(seen));
	return &seen[t->pid - 1];
}

static void detach(struct ext_call *c, struct task *t)
{
	(void)c, (void)t;
}

static const struct ext_ops ops = {
	.name = "moves",
	.select_cpu = stay,
	.enqueue = insert,
	.dispatch = take_the_first,
	.init = make_the_queues,
	.attach = attach,
	.detach = detach,
};

/* --- the machine ------------------------------------------------------------------------------ */

/* CPU 0 is busy, CPU 1 idles and has heard of nothing, and the task waits in the first queue. */
static void a_task_waits(u64 dsq)
{
	target = dsq;
	m = machine_of(1, 1, 2, 1, NULL);
	x = load_scheduler(m, QUEUES, &ops);
	waiter = sleeper_on(m, 0);
	allow(m, spawn_nice(m, "busy", 0), cpumask_of(0));
	assert_true(sched_wake(m->s, waiter, TASK_NORMAL, 0, 0));
	settle(m);
	assert_ptr_equal(ext_part(waiter)->dsq, ext_dsq_find(x, FIRST_QUEUE));
	assert_int_equal(waiter->cpu, 0);
	assert_task(running(m, 1), &m->idle[1]);
}

static void for_the_second_queue(void)
{
	a_task_waits(SECOND_QUEUE);
}

static void for_the_local_queue(void)
{
	a_task_waits(EXT_DSQ_LOCAL);
}

static void for_the_local_queue_of_cpu_1(void)
{
	a_task_waits(EXT_DSQ_LOCAL_ON | 1);
}

static void end(void)
{
	sched_check(m->s);
	machine_free(m);
	free(x);
}

/* --- hands ------------------------------------------------------------------------------------ */

/* A timer of the scheduler, on CPU 0. */
static void move(struct ext_call *c, void *argument)
{
	const struct ext_moved how = { NULL, NULL };
	struct ext_iter walk;
	struct task *t;

	(void)argument;
	assert_int_equal(ext_iter_begin(c, &walk, FIRST_QUEUE, 0), 0);
	t = ext_iter_next(c, &walk);
	moved = t && ext_move(c, 0, &walk, t, target, 0, &how);
	ext_iter_end(c, &walk);
}

static void time_out(void)
{
	sched_ext_outside(m->s, move, NULL);
}

static void dispatch_on_cpu_1(void)
{
	switch_cpu(m, 1, false);
}

/* Only CPU 1 may have it: it is taken out of its queue, and is asked for anew. */
static void confine(void)
{
	struct cpumask second = cpumask_of(1);

	assert_int_equal(sched_set_affinity(m->s, waiter, &second), 0);
}

static bool is_locked(void)
{
	return host_lock_held(&rq_of(m, 0)->lock) || host_lock_held(&rq_of(m, 1)->lock) ||
	       host_lock_held(&x->dsq[0].lock) || host_lock_held(&x->dsq[1].lock) ||
	       host_lock_held(&x->lock);
}

static const char *const fields[] = {
	"the CPU of the task",
	"its queue (0: none, 7 and 8: the scheduler's, else a local one)",
	"the CPU that holds it, + 1",
	"how many tasks wait in queue 7",
	"how many tasks wait in queue 8",
	"whether CPU 1 runs it",
	"whether the timer is told that it moved the task",
	NULL,
};

static void outcome(s64 *value)
{
	struct ext_task *e = ext_part(waiter);

	settle(m);
	*value++ = waiter->cpu;
	*value++ = e->dsq ? (s64)e->dsq->id : 0;
	*value++ = e->holding;
	*value++ = ext_dsq_find(x, FIRST_QUEUE)->nr;
	*value++ = ext_dsq_find(x, SECOND_QUEUE)->nr;
	*value++ = running(m, 1) == waiter;
	*value++ = moved;
}

/* --- tests ------------------------------------------------------------------------------------ */

#define REST .locked = is_locked, .field = fields, .outcome = outcome, .end = end

static void a_timer_and_dispatch_want_the_same_task(void **state)
{
	void (*const begins[])(void) = { for_the_second_queue, for_the_local_queue,
					 for_the_local_queue_of_cpu_1 };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(begins); i++) {
		const struct race races[] = {
			{ "a timer on CPU 0 moves the task", "CPU 1 takes it", begins[i], time_out,
			  dispatch_on_cpu_1, REST },
			{ "CPU 1 takes the task", "a timer on CPU 0 moves it", begins[i],
			  dispatch_on_cpu_1, time_out, REST },
			{ "a timer on CPU 0 moves the task", "it may only be on CPU 1", begins[i],
			  time_out, confine, REST },
		};

		for (unsigned n = 0; n < ARRAY_SIZE(races); n++)
			race_try(&races[n]);
	}
}

static void moves_from_a_timer_arrive(void **state)
{
	static const struct {
		void (*begin)(void);
		s64 cpu, queue;
		bool runs_on_1;
	} rows[] = {
		{ for_the_second_queue, 0, SECOND_QUEUE, false },
		{ for_the_local_queue, 0, (s64)EXT_DSQ_LOCAL, false },
		{ for_the_local_queue_of_cpu_1, 1, 0, true },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		rows[i].begin();
		time_out();
		settle(m);
		assert_true(moved);
		assert_int_equal(waiter->cpu, rows[i].cpu);
		assert_int_equal(ext_part(waiter)->dsq ? ext_part(waiter)->dsq->id : 0,
				 rows[i].queue);
		assert_int_equal(running(m, 1) == waiter, rows[i].runs_on_1);
		assert_false(x->ended);
		end();
	}
}

static void a_move_from_a_timer_to_nowhere_ends_the_scheduler(void **state)
{
	(void)state;
	a_task_waits(9);
	time_out();
	assert_false(moved);
	assert_string_equal(x->exit.message, "non-existent DSQ 0x9");
	end();
}

/* While its affinity changes, it is put where it may not stay. */
static void a_task_that_may_only_be_elsewhere_goes_there(void **state)
{
	(void)state;
	a_task_waits(SECOND_QUEUE);
	confine();
	settle(m);
	assert_false(x->ended);
	assert_task(running(m, 1), waiter);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moves_from_a_timer_arrive),
		cmocka_unit_test(a_move_from_a_timer_to_nowhere_ends_the_scheduler),
		cmocka_unit_test(a_task_that_may_only_be_elsewhere_goes_there),
		cmocka_unit_test(a_timer_and_dispatch_want_the_same_task),
	};

	return cmocka_run_group_tests_name("moves", tests, NULL, NULL);
}
