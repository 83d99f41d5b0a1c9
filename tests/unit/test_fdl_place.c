/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a task of a group with a deadline wakes up, how groups with deadlines are counted, and what
 * time does to a deadline.
 */
#include "fdl.h"
#include "swap.h"
#include "sched/fair/fdl/fdl.h"

/* --- placement -------------------------------------------------------------------------------- */

/* The idle CPU 0, which is the first of all; each fourth wakeup is FDL's business, if so asked. */
static void expect_cpu_0_now_and_then(struct machine *m, struct task *t)
{
	cpumask_set(&t->allowed, 0);
	for (unsigned cpu = 1; cpu < 4; cpu++)
		fdl_queue(&m->s->rq[cpu].fair)->nr = 1;
	set_tunable(m, "wake_prefer_preempt_prev", "0");
	assert_int_equal(fdl_select_cpu(m->s, t, 1, 1), 0);
	set_tunable(m, "wake_dl_interval_shift", "2");
	for (t->nr_wakeups = 0; t->nr_wakeups < 9; t->nr_wakeups++)
		assert_int_equal(fdl_select_cpu(m->s, t, 1, 1), t->nr_wakeups % 4 ? -1 : 0);
}

/* With a deadline of 100 us a slack of 146 us is needed. */
static void placement_goes_where_there_is_time(void **state)
{
	struct machine *m = machine_under(4, "fdl");
	struct task_group *tg = new_group(m, NULL);
	struct task *t, *hog[4];
	u64 now = m->now;

	(void)state;
	assert_int_equal(task_group_set_deadline(m->s, tg, 200 * US, 100 * US), 0);
	t = spawn_in(m, tg, 0);
	block(m, t->cpu, TASK_INTERRUPTIBLE);
	for (unsigned cpu = 0; cpu < 4; cpu++) {
		hog[cpu] = spawn_nice(m, "hog", 0);
		pin(m, hog[cpu], cpu);
	}
	t->cpu = 0;
	t->fair.queue = group_queue(m->s, tg, 0);
	for (unsigned cpu = 0; cpu < 3; cpu++)
		fdl_queue(&m->s->rq[cpu].fair)->nr = 1;
	fdl_queue(&m->s->rq[0].fair)->curr_hint = 200 * US;
	fdl_queue(&m->s->rq[0].fair)->next_hint = now + 400 * US;
	fdl_queue(&m->s->rq[1].fair)->next_hint = now + 300 * US;
	fdl_queue(&m->s->rq[2].fair)->curr_hint = 5 * MS;
	/* No task on CPU 3 has a deadline. */
	assert_int_equal(fdl_select_cpu(m->s, t, 0, 0), 3);
	/* If one has, the most slack is on CPU 2, whose next turn is then taken to be short. */
	fdl_queue(&m->s->rq[3].fair)->nr = 1;
	fdl_queue(&m->s->rq[3].fair)->next_hint = now + 10 * US;
	assert_int_equal(fdl_select_cpu(m->s, t, 0, 0), 2);
	assert_int_equal(fdl_queue(&m->s->rq[2].fair)->curr_hint, 25 * US);
	assert_int_equal(fdl_select_cpu(m->s, t, 0, 0), 1);
	/* Its own CPU is chosen if that has time, unless the task may not run there. */
	fdl_queue(&m->s->rq[0].fair)->curr_hint = 400 * US;
	assert_int_equal(fdl_select_cpu(m->s, t, 0, 1), 0);
	cpumask_clear(&t->allowed, 0);
	assert_int_equal(fdl_select_cpu(m->s, t, 0, 1), 1);
	/* An idle CPU is better than every other except its own. */
	for (unsigned cpu = 0; cpu < 4; cpu++)
		fdl_queue(&m->s->rq[cpu].fair)->nr = 0;
	block(m, 2, TASK_INTERRUPTIBLE);
	fdl_queue(&m->s->rq[1].fair)->nr = 1;
	fdl_queue(&m->s->rq[1].fair)->next_hint = now + 10 * US;
	assert_int_equal(fdl_select_cpu(m->s, t, 1, 1), 2);
	fdl_queue(&m->s->rq[1].fair)->nr = 0;
	wake(m, hog[2], 2);
	block(m, 0, TASK_INTERRUPTIBLE);
	expect_cpu_0_now_and_then(m, t);
	/* A task without a deadline is not FDL's business. */
	assert_int_equal(task_group_set_deadline(m->s, tg, 0, 0), 0);
	assert_int_equal(fdl_select_cpu(m->s, t, 1, 1), -1);
	machine_free(m);
}

static void groups_with_deadlines_are_counted(void **state)
{
	struct machine *m = machine_under(2, "fdl");
	struct task_group *tg[2] = { new_group(m, NULL), new_group(m, NULL) };

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(task_group_set_deadline(m->s, tg[i], 200 * US, 100 * US), 0);
	for (unsigned left = 2; left; left--) {
		for (unsigned cpu = 0; cpu < 2; cpu++)
			assert_int_equal(fdl_queue(&m->s->rq[cpu].fair)->nr_groups, left);
		end_group(m, tg[left - 1]);
	}
	assert_int_equal(fdl_queue(&m->s->rq[1].fair)->nr_groups, 0);
	machine_free(m);
}

/* The hints that wakeups elsewhere read: the turn of who runs, and who waits for what. */
static void a_turn_tells_others_how_long_it_lasts(void **state)
{
	struct machine *m = machine_under(1, "fdl");
	struct task_group *tg[2] = { new_group(m, NULL), new_group(m, NULL) };
	struct fair_queue *q = &m->s->rq[0].fair;
	unsigned nr_turns = 0;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(task_group_set_deadline(m->s, tg[i], (2 + i) * MS, MS), 0);
		spawn_in(m, tg[i], 0);
	}
	for (unsigned n = 0; n < 40; n++) {
		bool second;

		fdl_queue(q)->curr_hint = fdl_queue(q)->next_hint = 1;
		advance(m, MS);
		switch_cpu(m, 0, true);
		if (fdl_queue(q)->next_hint == 1)
			continue; /* the turn goes on */
		nr_turns++;
		second = q->curr == &tg[1]->cpu[0].entity;
		assert_int_equal(fdl_queue(q)->curr_hint, (2 + second) * MS);
		assert_int_equal(fdl_queue(q)->next_hint,
				 tg[!second]->cpu[0].entity.due + fdl_queue(q)->lag);
	}
	assert_true(nr_turns > 5);
	machine_free(m);
}

/* CPU 0 is a choice like every other, though it is number 0: it has time, and another CPU idles. */
static void cpu_0_is_chosen_like_every_other(void **state)
{
	struct machine *m = machine_under(4, "fdl");
	struct task_group *tg = new_group(m, NULL);
	struct task *t = member_asleep_on(m, tg, 0);

	(void)state;
	assert_int_equal(task_group_set_deadline(m->s, tg, 20 * MS, 10 * MS), 0);
	for (unsigned cpu = 0; cpu < 4; cpu++)
		if (cpu != 2)
			pin(m, spawn_nice(m, "hog", 0), cpu);
	t->allowed = cpumask_first_n(4);
	t->nr_allowed = 4;
	wake(m, t, 1);
	assert_int_equal(t->cpu, 0);
	machine_free(m);
}

/* The longest wait of a group counts the present one: not while it runs, sleeps, or has no due. */
static void the_present_wait_counts_while_it_lasts(void **state)
{
	struct machine *m = machine_under(1, "fdl");
	struct task_group *tg[2] = { new_group(m, NULL), new_group(m, NULL) };
	struct task_group_fdl_stat stat;
	u64 before[2];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(task_group_set_deadline(m->s, tg[i], 20 * MS, 10 * MS), 0);
		spawn_in(m, tg[i], 0);
	}
	for (unsigned i = 0; i < 2; i++) {
		task_group_fdl_stat(m->s, tg[i], &stat);
		before[i] = stat.max_gap_ns;
	}
	m->now += NS_PER_SEC;
	for (unsigned i = 0; i < 2; i++) {
		bool waits = m->s->rq[0].fair.curr != &tg[i]->cpu[0].entity;

		task_group_fdl_stat(m->s, tg[i], &stat);
		assert_int_equal(stat.max_gap_ns >= NS_PER_SEC, waits);
		if (!waits)
			assert_int_equal(stat.max_gap_ns, before[i]);
	}
	for (unsigned n = 0; n < 2; n++)
		block(m, 0, TASK_INTERRUPTIBLE);
	for (unsigned i = 0; i < 2; i++) {
		task_group_fdl_stat(m->s, tg[i], &stat);
		before[i] = stat.max_gap_ns;
	}
	advance(m, 50 * NS_PER_SEC);
	for (unsigned i = 0; i < 2; i++) {
		task_group_fdl_stat(m->s, tg[i], &stat);
		assert_int_equal(stat.max_gap_ns, before[i]);
	}
	machine_free(m);
}

/* The controller begins anew when a guarantee comes after a time without any. */
static void a_controller_that_begins_anew_knows_nothing(void **state)
{
	struct machine *m = machine_under(1, "fdl");
	struct task_group *tg = new_group(m, NULL);
	struct task_group_fdl_stat stat;

	(void)state;
	spawn_in(m, tg, 0);
	spawn_nice(m, "other", 0);
	assert_int_equal(task_group_set_guaranteed(m->s, tg, 512), 0);
	for (unsigned n = 0; n < 200; n++) {
		run_ticks(m, 10);
		assert_true(sched_fdl_control(m->s));
	}
	task_group_fdl_stat(m->s, tg, &stat);
	assert_true(stat.avg_usage > 100 && stat.avg_wait > 100);
	assert_int_equal(task_group_set_guaranteed(m->s, tg, 0), 0);
	assert_false(sched_fdl_control(m->s));
	assert_int_equal(task_group_set_guaranteed(m->s, tg, 512), 0);
	assert_true(sched_fdl_control(m->s));
	task_group_fdl_stat(m->s, tg, &stat);
	assert_int_equal(stat.avg_usage, 0);
	assert_int_equal(stat.avg_wait, 0);
	assert_int_equal(fdl_group(tg)->avg_usage, 0);
	assert_int_equal(fdl_group(tg)->avg_wait, 0);
	/* The sums are in the averages now, and are not added again. */
	for (unsigned n = 0; n < 3; n++) {
		assert_int_equal(fdl_group(tg)->usage_ns, 0);
		assert_int_equal(fdl_group(tg)->demand_ns, 0);
		run_ticks(m, 10);
		assert_true(sched_fdl_control(m->s));
	}
	machine_free(m);
}

/* A group of no weight worth speaking of is worth 1/1024 of the CPU: 1 us takes it 1.024 ms on. */
static void the_smallest_share_is_one_of_1024(void **state)
{
	struct machine *m = machine_under(1, "fdl");
	struct task_group *tg = new_group(m, NULL);
	struct entity *e = &tg->cpu[0].entity;
	u64 due;

	(void)state;
	assert_int_equal(task_group_set_shares(m->s, tg, 2), 0);
	assert_int_equal(task_group_set_deadline(m->s, tg, 50 * MS, 10 * MS), 0);
	for (unsigned n = 0; n < 2; n++)
		spawn_nice(m, "hog", -20);
	spawn_in(m, tg, 0);
	for (unsigned n = 0; n < 200 && m->s->rq[0].fair.curr != e; n++)
		tick(m);
	assert_ptr_equal(m->s->rq[0].fair.curr, e);
	due = e->due = fdl_now(&m->s->rq[0].fair) + MS;
	advance(m, US);
	rq_lock(&m->s->rq[0]);
	fair_class.charge(&m->s->rq[0]);
	rq_unlock(&m->s->rq[0]);
	assert_int_equal(e->due - due, 1024 * US);
	machine_free(m);
}

/* When no deadline is left to compare with, the container needs none after its next period. */
static void the_container_ends_with_the_last_deadline(void **state)
{
	struct machine *m = machine_under(1, "fdl");
	struct task_group *tg = new_group(m, NULL);
	struct fdl_queue *fdl = fdl_queue(&m->s->rq[0].fair);
	struct task *t;

	(void)state;
	assert_int_equal(task_group_set_deadline(m->s, tg, 5 * MS, MS), 0);
	t = spawn_in(m, tg, 0);
	spawn_nice(m, "hog", 0);
	run_ticks(m, 40);
	assert_true(fdl->container);
	while (running(m, 0) != t)
		run_ticks(m, 1);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_int_equal(fdl->nr, 0);
	run_ticks(m, 500);
	assert_int_equal(fdl->container, 0);
	machine_free(m);
}

/* In records deadlines are what is left until them, by the clock of the queue. */
static void a_recorded_deadline_is_what_is_left(void **state)
{
	struct machine *m = machine_under(1, "fdl");
	struct task_group *tg[2] = { new_group(m, NULL), new_group(m, NULL) };
	struct fair_queue *q = &m->s->rq[0].fair;
	unsigned where[] = { DECISION_DUE, AFTER_DECISION, DECISION_QUEUED };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(task_group_set_deadline(m->s, tg[i], (5 + i) * MS, MS), 0);
		spawn_in(m, tg[i], 0);
	}
	advance(m, MS);
	for (unsigned i = 0; i < 2; i++)
		for (unsigned k = 0; k < 3; k++) {
			struct entity *e = &tg[i]->cpu[0].entity;
			struct decision_numbers n = { .deadline = 77 };

			assert_true(e->due);
			fdl_numbers(q, e, where[k], &n);
			assert_int_equal(n.deadline, k < 2 ? e->due - fdl_now(q) : 77);
		}
	machine_free(m);
}

/* --- charging --------------------------------------------------------------------------------- */

/*
 * By definition: the part of the queue's weight that runs, in 1024ths rounded down, less the slack.
 * So much time takes the deadline further by its 1024ths over that. At 60657 one unit of weight
 * more would be another share. Whether it is still queued, or falls asleep now, is no matter.
 */
static void time_takes_a_deadline_on_by_its_share(void **state)
{
	static const u64 shares[] = { 2, 15, 1023, 1024, 1025, 3000, 60656, 60657, 60658 };
	const u64 ran = 1000;

	(void)state;
	for (unsigned i = 0; i < 4 * ARRAY_SIZE(shares); i++) {
		struct machine *m = machine_under(1, "fdl");
		struct task_group *tg = new_group(m, NULL);
		struct fair_queue *q = &m->s->rq[0].fair;
		struct task *hog = spawn_nice(m, "hog", 0);
		u64 group = shares[i / 4], weight = i & 1 ? 1024 : group, share;
		struct entity *e;
		u64 *deadline;

		assert_int_equal(task_group_set_shares(m->s, tg, group), 0);
		assert_int_equal(task_group_set_deadline(m->s, tg, 50 * MS, 0), 0);
		spawn_in(m, tg, 0);
		e = i & 1 ? &hog->fair : &tg->cpu[0].entity;
		assert_int_equal(tg->cpu[0].entity.load.weight, group * 1024);
		fdl_queue(q)->container = tg->cpu[0].entity.due = fdl_now(q) + MS;
		if (i & 2) {
			e->queued = false;
			q->load.weight -= e->load.weight;
			fdl_queue(q)->weight -= e->due ? e->load.weight : 0;
		}
		deadline = i & 1 ? &fdl_queue(q)->container : &e->due;
		share = (1024 * weight / (1024 + group)) * m->s->tunable.dl_slack / 1024;
		q->curr = e;
		fdl_charge_deadline(q, e, ran);
		assert_int_equal(*deadline - fdl_now(q),
				 min(MS + ran * 1024 / max(share, 1ull), i & 1 ? 5 * MS : 50 * MS));
		machine_free(m);
	}
}

/* The state after a change of a deadline, as a number. @charged: charged for the time before it. */
static u64 changed_deadline(u64 from, u64 to, bool charged)
{
	struct machine *m = machine_under(1, "fdl");
	struct task_group *tg = new_group(m, NULL);
	struct fair_queue *q = &m->s->rq[0].fair;
	struct entity *e = &tg->cpu[0].entity;
	struct task *t;
	u64 digest;

	assert_int_equal(task_group_set_deadline(m->s, tg, from, 0), 0);
	t = spawn_in(m, tg, 0);
	spawn_nice(m, "hog", 0);
	while (running(m, 0) != t)
		tick(m);
	m->now += 700 * US;
	if (charged) {
		rq_lock(&m->s->rq[0]);
		t->class->charge(&m->s->rq[0]);
		rq_unlock(&m->s->rq[0]);
	}
	digest = t->fair.sum_exec;
	assert_int_equal(task_group_set_deadline(m->s, tg, to, 0), 0);
	assert_int_equal(t->fair.sum_exec - digest, charged ? 0 : 700 * US);
	digest = t->fair.sum_exec;
	digest = digest * 31 + e->due;
	digest = digest * 31 + e->vruntime;
	digest = digest * 31 + fdl_queue(q)->container;
	digest = digest * 31 + fdl_queue(q)->lag;
	machine_free(m);
	return digest;
}

/* Time until now passed under the old deadline, and is charged so. */
static void a_new_deadline_is_for_what_comes(void **state)
{
	static const u64 deadlines[] = { 0, 2 * MS, 20 * MS };

	(void)state;
	for (unsigned i = 0; i < 9; i++)
		assert_int_equal(changed_deadline(deadlines[i / 3], deadlines[i % 3], false),
				 changed_deadline(deadlines[i / 3], deadlines[i % 3], true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(placement_goes_where_there_is_time),
		cmocka_unit_test(groups_with_deadlines_are_counted),
		cmocka_unit_test(a_turn_tells_others_how_long_it_lasts),
		cmocka_unit_test(the_present_wait_counts_while_it_lasts),
		cmocka_unit_test(a_controller_that_begins_anew_knows_nothing),
		cmocka_unit_test(cpu_0_is_chosen_like_every_other),
		cmocka_unit_test(the_smallest_share_is_one_of_1024),
		cmocka_unit_test(the_container_ends_with_the_last_deadline),
		cmocka_unit_test(a_recorded_deadline_is_what_is_left),
		cmocka_unit_test(time_takes_a_deadline_on_by_its_share),
		cmocka_unit_test(a_new_deadline_is_for_what_comes),
	};

	return cmocka_run_group_tests_name("fdl_place", tests, NULL, NULL);
}
