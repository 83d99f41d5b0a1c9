/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state of fair entities and queues after one step, by definition: averages that follow a
 * group's, time that a queue waited, buddies, long sleeps, the end of a group, names of traits.
 */
#include <stdlib.h>
#include <string.h>

#include "cfs.h"
#include "group.h"
#include "sched/fair/core/pelt.h"

/* --- averages ------------------------------------------------------------------------------- */

#define LONGEST 47742ull /* the sum over all past periods of 1024 us, each worth 1024 at first */
#define PERIOD	1024ull

static u64 less(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

/* The average that @was, of which a part was @old, when that is @new: never below 0. */
static void expect_replaced(u64 avg, u64 sum, u64 avg_was, u64 sum_was, u64 old_avg, u64 old_sum,
			    u64 new_avg, u64 new_sum)
{
	u64 least;

	assert_int_equal(avg, less(avg_was + new_avg, old_avg));
	least = avg * (LONGEST - PERIOD);
	sum_was = less(sum_was + new_sum, old_sum);
	assert_int_equal(sum, sum_was > least ? sum_was : least);
}

/*
 * How long something was runnable: what came adds to it, up to all the time; after what went it is
 * at most the average of those that are left. It was so at least while it ran.
 */
static u64 fraction(const struct fair_queue *gq, const struct pelt *old, s64 runnable, u64 ran)
{
	u64 sum = old->load_sum, all = LONGEST - PERIOD + old->period_contrib;

	if (runnable < 0)
		sum = min(sum, gq->avg.load_sum / (gq->load.weight >> 10));
	else
		sum = min(sum + (u64)runnable, all);
	return max(sum, ran);
}

/* A group's entity takes over what its queue became; the queue above has that for the old one. */
static void what_a_group_became_replaces_what_it_was(void **state)
{
	static const struct {
		u64 util, runnable, load;
	} became[] = { { 100, 200, 300 },
		       { 900, 3000, 900 },
		       { 0, 0, 0 },
		       { 1024, 1024, 1024 },
		       { 100, 200, 10 } };
	static const s64 runnable[ARRAY_SIZE(became)] = { 100, -1, -5000, 0, -5000 };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(became); i++)
		for (unsigned stray = 0; stray < 2; stray++) {
			struct machine *m = machine_new(1, 1000);
			struct task_group *tg = new_group(m, NULL);
			struct fair_queue *gq = &tg->cpu[0].queue, *q = &m->s->rq[0].fair;
			struct entity *e = &tg->cpu[0].entity;
			struct pelt was, old;
			u64 weight;

			spawn_in(m, tg, 0);
			spawn_in(m, tg, 5);
			spawn_nice(m, "other", 0);
			for (unsigned n = 0; n < 100; n++)
				tick(m);
			gq->avg.util_avg = became[i].util;
			gq->avg.runnable_avg = became[i].runnable;
			gq->avg.load_sum = became[i].load * LONGEST;
			gq->up.runnable = runnable[i];
			/* The queue may have less than its part: rounding took the rest. */
			if (stray)
				q->avg.util_avg = q->avg.util_sum = q->avg.runnable_avg =
					q->avg.runnable_sum = 1;
			was = q->avg;
			old = e->avg;
			weight = e->load.weight >> 10;
			pelt_follow(e);
			assert_int_equal(e->avg.util_avg, became[i].util);
			assert_int_equal(e->avg.runnable_avg, became[i].runnable);
			assert_int_equal(e->avg.load_sum,
					 fraction(gq, &old, runnable[i], e->avg.util_sum >> 10));
			expect_replaced(q->avg.util_avg, q->avg.util_sum, was.util_avg,
					was.util_sum, old.util_avg, old.util_sum, e->avg.util_avg,
					e->avg.util_sum);
			expect_replaced(q->avg.runnable_avg, q->avg.runnable_sum, was.runnable_avg,
					was.runnable_sum, old.runnable_avg, old.runnable_sum,
					e->avg.runnable_avg, e->avg.runnable_sum);
			expect_replaced(q->avg.load_avg, q->avg.load_sum, was.load_avg,
					was.load_sum, old.load_avg, old.load_sum * weight,
					e->avg.load_avg, e->avg.load_sum * weight);
			assert_int_equal(gq->up.runnable, 0);
			machine_free(m);
		}
}

/* A group of three that run all the time: three are runnable, and its load is its weight. */
static void a_group_has_one_weight_and_many_tasks(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task_group *tg = new_group(m, NULL);
	struct entity *e = &tg->cpu[0].entity;

	(void)state;
	for (unsigned n = 0; n < 3; n++)
		spawn_in(m, tg, 0);
	spawn_nice(m, "other", 0);
	for (unsigned n = 0; n < 1000; n++) {
		tick(m);
		if (n < 500)
			continue;
		assert_in_range(e->avg.runnable_avg, 3 * 1024 - 60, 3 * 1024);
		assert_in_range(e->avg.load_avg, (e->load.weight >> 10) * 95 / 100,
				e->load.weight >> 10);
	}
	machine_free(m);
}

/* Two groups share a CPU: while one waits, nothing on its queue runs. */
static void a_queue_that_waits_uses_nothing(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task_group *tg[2] = { new_group(m, NULL), new_group(m, NULL) };
	u64 sum[2] = { 0 };

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		spawn_in(m, tg[i], 0);
	for (unsigned n = 0; n < 2000; n++) {
		tick(m);
		for (unsigned i = 0; n >= 1000 && i < 2; i++)
			sum[i] += tg[i]->cpu[0].queue.avg.util_avg;
	}
	for (unsigned i = 0; i < 2; i++)
		assert_in_range(sum[i] / 1000, 512 - 80, 512 + 80);
	machine_free(m);
}

/* --- CFS ------------------------------------------------------------------------------------ */

/* A buddy goes first unless the first by vruntime is a granularity (1 ms) and more before it. */
static void a_buddy_goes_first_if_hardly_worse(void **state)
{
	static const struct {
		s64 behind_ns;
		bool goes_first;
	} cases[] = { { -1, true }, { 0, true },       { 1, true },
		      { MS, true }, { MS + 1, false }, { 50 * MS, false } };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++)
		for (unsigned kind = 0; kind < 2; kind++) {
			struct machine *m = flat_machine(1000);
			struct task *first = spawn_nice(m, "first", 0);
			struct task *buddy = spawn_nice(m, "buddy", 0);
			struct fair_queue *q = queue(m);
			struct entity **marked = kind ? &cfs_queue(q)->next : &cfs_queue(q)->last;

			set_tunable(m, "wakeup_granularity_ns", "1000000");
			spawn(m, "fifo", SCHED_FIFO, 1);
			assert_null(q->curr);
			first->fair.vruntime = cfs_queue(q)->min_vruntime + 100 * MS;
			buddy->fair.vruntime = first->fair.vruntime + (u64)cases[i].behind_ns;
			q->timeline = (struct rb_tree){ 0 };
			timeline_insert(q, &first->fair);
			timeline_insert(q, &buddy->fair);
			*marked = &buddy->fair;
			rq_lock(q->rq);
			assert_ptr_equal(q->policy->hooks.pick(q),
					 cases[i].goes_first ? &buddy->fair : &first->fair);
			rq_unlock(q->rq);
			machine_free(m);
		}
}

/*
 * After a sleep of more than 2^53 ns (Linux 6.1: 2^63 over the weight of nice 0) vruntimes cannot
 * be compared any more: the sleeper is placed as if it came from the left.
 */
static void a_sleep_of_104_days_is_long(void **state)
{
	static const struct {
		u64 slept;
		bool is_long;
	} cases[] = { { MS, false },
		      { 1ull << 53, false },
		      { (1ull << 53) + 1, true },
		      { 1ull << 54, true } };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct machine *m = flat_machine(1000);
		struct task *t = spawn_nice(m, "t", 0);
		struct cfs_queue *q = cfs_queue(queue(m));
		u64 ahead;

		block(m, 0, TASK_INTERRUPTIBLE);
		spawn_nice(m, "hog", 0);
		advance(m, MS);
		t->fair.vruntime = ahead = q->min_vruntime + 77 * MS;
		t->fair.exec_start = m->now - cases[i].slept;
		wake(m, t, 0);
		assert_int_equal(t->fair.vruntime == ahead, !cases[i].is_long);
		machine_free(m);
	}
}

/* A new task is placed where it starts, and again where it is queued. */
static void a_new_task_is_placed_twice(void **state)
{
	(void)state;
	for (unsigned i = 0; sched_fair_name(i); i++) {
		static const struct sched_cpu_desc one;
		struct machine *m = machine_new_on(1, 1000, &one, sched_fair_name(i));
		static const u8 golden[] = { RULE_arrives_absent, RULE_arrives_new };
		unsigned nr = 0;

		spawn_nice(m, "hog", 0);
		sched_trace_set(m->s, BIT(EVENT_sched_decision_place));
		m->nr_trace = 0;
		spawn_nice(m, "new", 0);
		for (unsigned k = 0; k < m->nr_trace; k++) {
			const struct event_sched_decision_pick *d = (const void *)m->trace[k].bytes;

			if (m->trace[k].common.type != EVENT_ID_sched_decision_place)
				continue;
			assert_true(nr < ARRAY_SIZE(golden));
			assert_int_equal(d->rule, golden[nr++]);
		}
		assert_int_equal(nr, ARRAY_SIZE(golden));
		machine_free(m);
	}
}

/* --- groups --------------------------------------------------------------------------------- */

/* A group ends while its queue is throttled and owes: no pool and no CPU knows of it any more. */
static void a_group_that_ends_owes_nothing(void **state)
{
	struct machine *m = machine_new(2, 1000);
	struct task_group *tg = new_group(m, NULL);
	struct task *t = spawn_in(m, tg, 0);
	struct fair_queue *q = &tg->cpu[0].queue;

	(void)state;
	assert_int_equal(task_group_set_bandwidth(m->s, tg, 2 * MS, 100 * MS, 0, true), 0);
	while (!q->throttled)
		tick(m);
	assert_true(q->debt > 0);
	task_group_move(m->s, t, NULL);
	settle(m);
	assert_int_equal(q->nr_running, 0);
	q->debt = q->debt ?: 1;
	assert_false(list_empty(&tg->bandwidth.throttled));
	task_group_exit(m->s, tg);
	assert_int_equal(q->debt, 0);
	assert_true(list_empty(&tg->bandwidth.throttled));
	machine_free(m);
	free(tg);
}

/* --- names ---------------------------------------------------------------------------------- */

static void each_trait_has_a_name(void **state)
{
	static const char *const names[] = {
#define TRAIT(name, text) text,
#include "sched/fair/trait.def"
#undef TRAIT
	};
	unsigned nr = 0;

	(void)state;
	for (; sched_trait_name(nr); nr++) {
		assert_true(nr < ARRAY_SIZE(names));
		assert_string_equal(sched_trait_name(nr), names[nr]);
	}
	assert_int_equal(nr, ARRAY_SIZE(names));
	assert_null(sched_trait_name(nr + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_group_became_replaces_what_it_was),
		cmocka_unit_test(a_group_has_one_weight_and_many_tasks),
		cmocka_unit_test(a_queue_that_waits_uses_nothing),
		cmocka_unit_test(a_buddy_goes_first_if_hardly_worse),
		cmocka_unit_test(a_sleep_of_104_days_is_long),
		cmocka_unit_test(a_new_task_is_placed_twice),
		cmocka_unit_test(a_group_that_ends_owes_nothing),
		cmocka_unit_test(each_trait_has_a_name),
	};

	return cmocka_run_group_tests_name("fair_state", tests, NULL, NULL);
}
