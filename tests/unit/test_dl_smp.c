/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SCHED_DEADLINE on several CPUs: the earliest deadlines run, wherever they wait; a CPU leaves only
 * if the others have room. The oracle sorts deadlines and knows nothing of runqueues.
 */

#include "host.h"
#include "lib/errno.h"
#include "sched/dl/dl.h"
#include "smp.h"
#include "swap.h"

static bool runs(struct machine *m, const struct task *t)
{
	for (unsigned cpu = 0; cpu < m->nr_cpus; cpu++)
		if (running(m, cpu) == t)
			return true;
	return false;
}

/* By definition: a ready task runs just if fewer than m ready ones have an earlier deadline. */
static void expect_the_earliest(struct machine *m, struct task **t, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		unsigned earlier = 0;

		if (t[i]->on_rq != TASK_QUEUED || dl_part(t[i])->throttled) {
			assert_false(runs(m, t[i]));
			continue;
		}
		for (unsigned k = 0; k < nr; k++)
			earlier += t[k]->on_rq == TASK_QUEUED && !dl_part(t[k])->throttled &&
				   time_before(dl_part(t[k])->deadline, dl_part(t[i])->deadline);
		assert_int_equal(runs(m, t[i]), earlier < m->nr_cpus);
	}
}

static void expect_overloaded_cpus_to_be_counted(struct machine *m)
{
	u32 nr = 0;

	for (unsigned cpu = 0; cpu < m->nr_cpus; cpu++)
		nr += dl_seen(rq_of(m, cpu))->overloaded;
	assert_int_equal(dl_machine(m->s)->nr_overloaded, nr);
}

static void the_m_earliest_deadlines_run(void **state)
{
	struct machine *m = machine_timed(4, 1000);
	struct task *t[12];
	u64 seed = 1;

	(void)state;
	for (unsigned i = 0; i < 12; i++) {
		/* No two deadlines are equal. */
		t[i] = spawn_dl(m, "dl", 2 * MS, (10 + 3 * ((i * 7) % 12)) * MS + i * 1001, 0);
		expect_the_earliest(m, t, i + 1);
	}
	for (unsigned n = 0; n < 3000; n++) {
		struct task *x;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		x = t[(seed >> 33) % 12];
		if (runs(m, x))
			block(m, x->cpu, TASK_INTERRUPTIBLE);
		else if (x->on_rq == TASK_OFF_RQ)
			wake(m, x, (unsigned)(seed >> 50) % 4);
		else
			advance(m, 100000 + (seed >> 45) % 100000);
		sched_check(m->s);
		expect_the_earliest(m, t, 12);
		expect_overloaded_cpus_to_be_counted(m);
	}
	machine_free(m);
}

static void a_cpu_leaves_if_the_others_have_room(void **state)
{
	struct machine *m = machine_timed(2, 1000);
	struct task *a = spawn_dl(m, "dl", 9 * MS, 20 * MS, 0);
	struct task *b = spawn_dl(m, "dl", 9 * MS, 21 * MS, 0);
	struct task *c = spawn_dl(m, "dl", 3 * MS, 22 * MS, 0);

	(void)state;
	assert_true(runs(m, a) && runs(m, b) && !runs(m, c));
	assert_int_equal(sched_cpu_offline(m->s, 1), -EBUSY);
	assert_int_equal(
		sched_set_attr(m->s, c, &(struct sched_attr_req){ .policy = SCHED_NORMAL }), 0);
	settle(m);
	assert_int_equal(sched_cpu_offline(m->s, 1), 0);
	settle(m);
	sched_check(m->s);
	assert_ptr_equal(running(m, 0), a);
	assert_int_equal(b->cpu, 0);
	machine_free(m);
}

/* It runs on the only CPU that is busy; the deadline task that wakes there does not hold it up. */
static void an_outranked_real_time_task_goes_where_it_can_run(void **state)
{
	struct machine *m = machine_timed(2, 1000);
	struct task *dl = spawn_dl(m, "dl", 2 * MS, 10 * MS, 0), *rt;
	unsigned cpu = dl->cpu;

	(void)state;
	assert_ptr_equal(running(m, cpu), dl);
	block(m, cpu, TASK_INTERRUPTIBLE);
	rt = spawn(m, "rt", SCHED_FIFO, 50);
	assert_int_equal(rt->cpu, cpu);
	wake(m, dl, cpu);
	settle(m);
	assert_ptr_not_equal(running(m, 0), running(m, 1));
	assert_true(runs(m, dl) && runs(m, rt));
	machine_free(m);
}

/* CPU 0 is about to switch to the earlier one. Who runs there until then cannot be pulled away. */
static void who_still_runs_is_not_pulled(void **state)
{
	struct machine *m = machine_timed(2, 1000);
	struct task *early = spawn_dl(m, "early", 1 * MS, 10 * MS, 0), *late, *other;
	unsigned here = early->cpu;

	(void)state;
	block(m, here, TASK_INTERRUPTIBLE);
	late = spawn_dl(m, "late", 2 * MS, 30 * MS, 0);
	other = spawn_dl(m, "other", 2 * MS, 40 * MS, 0);
	assert_int_equal(late->cpu, here);
	assert_int_equal(other->cpu, 1 - here);
	sched_wake(m->s, early, TASK_NORMAL, here, 0);
	assert_ptr_equal(running(m, here), late);
	assert_int_equal(early->cpu, here);
	sched_block(other, TASK_INTERRUPTIBLE);
	assert_ptr_equal(switch_cpu(m, 1 - here, false), &m->idle[1 - here]);
	assert_int_equal(late->cpu, here);
	settle(m);
	assert_ptr_equal(running(m, here), early);
	assert_ptr_equal(running(m, 1 - here), late);
	sched_check(m->s);
	machine_free(m);
}

/* A wakee that would have to wait where it slept goes elsewhere at once. */
static void a_later_deadline_does_not_wait_behind_an_earlier_one(void **state)
{
	(void)state;
	for (unsigned later = 0; later < 2; later++) {
		struct machine *m = machine_timed(2, 1000);
		struct task *t = spawn_dl(m, "t", 1 * MS, (later ? 40 : 10) * MS, 0);
		unsigned here = t->cpu;

		block(m, here, TASK_INTERRUPTIBLE);
		assert_int_equal(spawn_dl(m, "runs", 2 * MS, 20 * MS, 0)->cpu, here);
		sched_wake(m->s, t, TASK_NORMAL, here, 0);
		assert_int_equal(t->cpu, later ? 1 - here : here);
		settle(m);
		assert_true(runs(m, t));
		machine_free(m);
	}
}

static void put_asleep_on(struct machine *m, struct task *t, unsigned cpu)
{
	block(m, t->cpu, TASK_INTERRUPTIBLE);
	t->cpu = cpu;
	t->fair.queue = group_queue(m->s, NULL, cpu);
}

/* Four deadlines run. A wakee of 40 ms that slept where that of 30 runs displaces the latest. */
static void a_wakee_goes_to_the_latest_deadline(void **state)
{
	static const u64 ms[] = { 30, 50, 80, 60 };
	struct machine *m = machine_timed(4, 1000);
	struct task *t = spawn_dl(m, "t", 1 * MS, 40 * MS, 0), *other[4];

	(void)state;
	block(m, t->cpu, TASK_INTERRUPTIBLE);
	for (unsigned i = 0; i < 4; i++)
		other[i] = spawn_dl(m, "other", 2 * MS, ms[i] * MS, 0);
	t->cpu = other[0]->cpu;
	t->fair.queue = group_queue(m->s, NULL, t->cpu);
	sched_wake(m->s, t, TASK_NORMAL, t->cpu, 0);
	assert_int_equal(t->cpu, other[2]->cpu);
	settle(m);
	assert_true(runs(m, t));
	/* A CPU without work is the least urgent of all. */
	put_asleep_on(m, t, other[0]->cpu);
	block(m, other[1]->cpu, TASK_INTERRUPTIBLE);
	sched_wake(m->s, t, TASK_NORMAL, t->cpu, 0);
	assert_int_equal(t->cpu, other[1]->cpu);
	settle(m);
	sched_check(m->s);
	machine_free(m);
}

/* It goes before every fair task, and where it slept its data may still be in the cache. */
static void before_a_fair_task_it_stays(void **state)
{
	struct machine *m = machine_timed(2, 1000);
	struct task *t = spawn_dl(m, "t", 1 * MS, 10 * MS, 0), *fair;
	unsigned here = t->cpu;

	(void)state;
	block(m, here, TASK_INTERRUPTIBLE);
	fair = put(m, here);
	assert_ptr_equal(running(m, here), fair);
	sched_wake(m->s, t, TASK_NORMAL, here, 0);
	assert_int_equal(t->cpu, here);
	settle(m);
	assert_ptr_equal(running(m, here), t);
	machine_free(m);
}

/*
 * Its last CPU is 1. There are two caches of four; CPUs not in @free run an earlier deadline. The
 * waker took @last the last time.
 */
static void of_equally_late_cpus_the_nearest_is_taken(void **state)
{
	static const struct {
		u64 free;
		unsigned waker, last, expected;
	} cases[] = {
		{ BIT(0) | BIT(3), 3, 3, 3 }, { BIT(0) | BIT(3), 5, 0, 3 },
		{ BIT(0) | BIT(3), 5, 3, 0 }, { BIT(2) | BIT(5), 5, 2, 2 },
		{ BIT(5) | BIT(6), 6, 6, 6 }, { BIT(5) | BIT(6), 0, 5, 6 },
		{ BIT(5) | BIT(6), 0, 6, 5 }, { BIT(1) | BIT(2), 2, 1, 1 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct machine *m = machine_of(1, 2, 4, 1, NULL);
		struct task *t = spawn_dl(m, "t", 1 * MS, 100 * MS, 0);

		put_asleep_on(m, t, 1);
		/* They spread over all CPUs, and then some go. */
		for (unsigned cpu = 0; cpu < 8; cpu++)
			spawn_dl(m, "early", 2 * MS, 20 * MS, 0);
		for (unsigned cpu = 0; cpu < 8; cpu++)
			if (cases[i].free & BIT(cpu))
				block(m, cpu, TASK_INTERRUPTIBLE);
		assert_int_equal(rq_of(m, cases[i].free & BIT(1) ? 3 : 1)->nr_running, 1);
		rq_of(m, cases[i].waker)->taken_last = cases[i].last;
		sched_wake(m->s, t, TASK_NORMAL, cases[i].waker, 0);
		assert_int_equal(t->cpu, cases[i].expected);
		machine_free(m);
	}
}

/*
 * Three CPUs have no deadline task: one idles, one runs a fair task, one a real-time task. Each of
 * the three has its turn, as on Linux.
 */
static void without_a_deadline_all_cpus_are_alike(void **state)
{
	static const unsigned expected[] = { 1, 2, 3, 1, 2 };
	struct machine *m = machine_timed(4, 1000);
	struct task *t = spawn_dl(m, "t", 1 * MS, 100 * MS, 0), *early;

	(void)state;
	put_asleep_on(m, t, 0);
	early = spawn_dl(m, "early", 2 * MS, 20 * MS, 0);
	assert_int_equal(early->cpu, 0);
	put(m, 1);
	allow(m, spawn(m, "rt", SCHED_FIFO, 50), cpumask_of(2));
	settle(m);
	rq_of(m, 0)->taken_last = 0;
	for (unsigned i = 0; i < ARRAY_SIZE(expected); i++) {
		sched_wake(m->s, t, TASK_NORMAL, 0, 0);
		assert_int_equal(t->cpu, expected[i]);
		settle(m);
		assert_true(runs(m, t));
		put_asleep_on(m, t, 0);
		settle(m);
	}
	machine_free(m);
}

/* A fair task waits behind a deadline task and gets a later deadline: another CPU runs it. */
static void who_waits_and_gets_a_deadline_is_pushed(void **state)
{
	struct sched_attr_req dl = { .policy = SCHED_DEADLINE,
				     .runtime_ns = MS,
				     .deadline_ns = 50 * MS };
	struct machine *m = machine_timed(2, 1000);
	struct task *first = spawn_dl(m, "first", 2 * MS, 10 * MS, 0), *t;

	(void)state;
	t = spawn_nice(m, "t", 0);
	allow(m, t, cpumask_of(first->cpu));
	allow(m, t, cpumask_first_n(2));
	assert_int_equal(t->cpu, first->cpu);
	assert_int_equal(sched_set_attr(m->s, t, &dl), 0);
	settle(m);
	assert_true(runs(m, t) && runs(m, first));
	machine_free(m);
}

/* A running task that has used its budget up makes way for any that is ready. */
static void a_throttled_one_is_preempted(void **state)
{
	struct machine *m = machine_timed(1, 1000);
	struct task *late = spawn_dl(m, "late", 1 * MS, 40 * MS, 0), *early;
	const struct sched_class *class = m->s->class[CLASS_dl];

	(void)state;
	early = spawn_dl(m, "early", 2 * MS, 10 * MS, 0);
	assert_ptr_equal(running(m, 0), early);
	rq_lock(rq_of(m, 0));
	assert_false(class->preempts(rq_of(m, 0), late, 0));
	dl_part(early)->throttled = true;
	assert_true(class->preempts(rq_of(m, 0), late, 0));
	dl_part(late)->throttled = true;
	assert_false(class->preempts(rq_of(m, 0), late, 0));
	dl_part(early)->throttled = dl_part(late)->throttled = false;
	rq_unlock(rq_of(m, 0));
	machine_free(m);
}

/* The record of a choice says whether a less urgent CPU was found. */
static void a_choice_says_whether_there_was_one(void **state)
{
	(void)state;
	for (unsigned room = 0; room < 2; room++) {
		struct machine *m = machine_timed(2, 1000);
		struct task *t = spawn_dl(m, "t", 1 * MS, 100 * MS, 0);
		bool seen = false;

		put_asleep_on(m, t, 0);
		for (unsigned cpu = 0; cpu < 2; cpu++)
			spawn_dl(m, "early", 2 * MS, 20 * MS, 0);
		if (room)
			block(m, 1, TASK_INTERRUPTIBLE);
		sched_trace_set(m->s, CLASS_DECISION_EVENTS);
		m->nr_trace = 0;
		sched_wake(m->s, t, TASK_NORMAL, 0, 0);
		for (unsigned i = 0; i < m->nr_trace; i++) {
			const struct event_sched_decision_class *d =
				(const void *)m->trace[i].bytes;

			if (m->trace[i].common.type != EVENT_ID_sched_decision_class ||
			    d->act != ACT_select)
				continue;
			seen = true;
			assert_int_equal(d->to, room);
			assert_int_equal(d->rule, room ? REASON_least_urgent_there
						       : REASON_none_less_urgent);
		}
		assert_true(seen);
		machine_free(m);
	}
}

/* A task that gets a deadline behind an earlier one asks for a switch, at which it is pushed. */
static void who_joins_behind_another_asks_for_a_switch(void **state)
{
	struct machine *m = machine_timed(1, 1000);
	struct task *waits = spawn_nice(m, "waits", 0);
	struct task *runs = spawn_dl(m, "runs", 2 * MS, 10 * MS, 0);
	struct sched_attr_req req = { .policy = SCHED_DEADLINE,
				      .runtime_ns = MS,
				      .deadline_ns = 50 * MS,
				      .period_ns = 50 * MS };

	(void)state;
	assert_ptr_equal(running(m, 0), runs);
	assert_false(m->s->rq[0].need_resched);
	assert_int_equal(sched_set_attr(m->s, waits, &req), 0);
	assert_true(m->s->rq[0].need_resched);
	settle(m);
	assert_ptr_equal(running(m, 0), runs);
	machine_free(m);
}

/* CPU 0 has too much. Whoever gets less urgent asks it to give some, and asks nobody else. */
static void who_gets_less_urgent_asks_those_with_too_much(void **state)
{
	enum { LEAVES_THE_CLASS, COMES_ONLINE, CASES };
	static const struct sched_attr_req normal = { .policy = SCHED_NORMAL };

	(void)state;
	for (unsigned what = 0; what < CASES; what++)
		for (unsigned too_much = 0; too_much < 2; too_much++) {
			struct machine *m = machine_timed(4, 1000);
			struct task *first[4], *late;

			set_tunable(m, "sched_rt_runtime_us", "-1"); /* or none may be pinned */
			assert_int_equal(sched_cpu_offline(m->s, 3), 0);
			for (unsigned cpu = 0; cpu < 3; cpu++) {
				first[cpu] = spawn_dl(m, "first", 2 * MS, 10 * MS + cpu, 0);
				allow(m, first[cpu], cpumask_of(cpu));
			}
			late = spawn_dl(m, "late", 2 * MS, 50 * MS, 0);
			allow(m, late, cpumask_of(0));
			if (too_much)
				allow(m, late, cpumask_first_n(4));
			assert_int_equal(dl_seen(rq_of(m, 0))->overloaded, too_much);
			if (what == COMES_ONLINE)
				sched_cpu_online(m->s, 3, &m->idle[3]);
			else
				assert_int_equal(sched_set_attr(m->s, first[1], &normal), 0);
			assert_int_equal(m->kicked[0], too_much);
			assert_false(m->kicked[2]);
			settle(m);
			assert_int_equal(runs(m, late), too_much);
			sched_check(m->s);
			machine_free(m);
		}
}

/* The only record of @act is about @t, which goes to @to. */
static void expect_move(struct machine *m, enum class_act act, const struct task *t, unsigned to)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < m->nr_trace; i++) {
		const struct event_sched_decision_class *d = (const void *)m->trace[i].bytes;

		if (d->act != act)
			continue;
		assert_int_equal(d->pid, t->pid);
		assert_int_equal(d->to, to);
		nr++;
	}
	assert_int_equal(nr, 1);
	m->nr_trace = 0;
}

/* On a CPU that runs a fair task or nothing, under each rule: may it go, does it? */
static void a_new_budget_may_be_spent_elsewhere(void **state)
{
	static const struct {
		const char *policy;
		bool pinned, goes;
	} cases[] = { { "cfs", false, false }, { "eevdf", false, true }, { "eevdf", true, false } };

	(void)state;
	for (unsigned i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		struct machine *m = machine_timed(2, 1000);
		struct task *t = spawn_dl(m, "t", 1 * MS, 10 * MS, 0);
		unsigned here = t->cpu;

		set_tunable(m, "sched_rt_runtime_us", "-1"); /* or none may be pinned */
		swap(m, cases[i / 2].policy);
		if (cases[i / 2].pinned)
			allow(m, t, cpumask_of(here));
		if (i % 2)
			allow(m, spawn_nice(m, "fair", 0), cpumask_of(here));
		settle(m);
		assert_ptr_equal(running(m, here), t);
		advance(m, 2 * MS);
		assert_true(dl_part(t)->throttled);
		advance(m, 9 * MS);
		assert_false(dl_part(t)->throttled);
		assert_int_equal(t->cpu, cases[i / 2].goes ? 1 - here : here);
		assert_true(runs(m, t));
		sched_check(m->s);
		machine_free(m);
	}
}

/* Each push and each pull is told, once, with the task and the CPU that it goes to. */
static void every_move_is_recorded(void **state)
{
	struct machine *m = machine_timed(2, 1000);
	struct task *first = spawn_dl(m, "first", 2 * MS, 10 * MS, 0);
	struct task *t = spawn_dl(m, "t", 2 * MS, 12 * MS, 0);
	struct task *last = spawn_dl(m, "last", 2 * MS, 14 * MS, 0), *sleeps;
	unsigned here = last->cpu, there = 1 - here;

	(void)state;
	assert_true(runs(m, first) && runs(m, t) && !runs(m, last));
	sched_trace_set(m->s, BIT(EVENT_sched_decision_class));
	m->nr_trace = 0;
	sleeps = running(m, there);
	block(m, there, TASK_INTERRUPTIBLE);
	assert_ptr_equal(running(m, there), last);
	expect_move(m, ACT_pull, last, there);
	/* Where it ran last it displaces the later one, which has an idle CPU to go to. */
	block(m, here, TASK_INTERRUPTIBLE);
	wake(m, sleeps, there);
	assert_ptr_equal(running(m, there), sleeps);
	assert_ptr_equal(running(m, here), last);
	expect_move(m, ACT_push, last, here);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_m_earliest_deadlines_run),
		cmocka_unit_test(an_outranked_real_time_task_goes_where_it_can_run),
		cmocka_unit_test(a_cpu_leaves_if_the_others_have_room),
		cmocka_unit_test(who_still_runs_is_not_pulled),
		cmocka_unit_test(a_later_deadline_does_not_wait_behind_an_earlier_one),
		cmocka_unit_test(a_wakee_goes_to_the_latest_deadline),
		cmocka_unit_test(before_a_fair_task_it_stays),
		cmocka_unit_test(of_equally_late_cpus_the_nearest_is_taken),
		cmocka_unit_test(without_a_deadline_all_cpus_are_alike),
		cmocka_unit_test(who_waits_and_gets_a_deadline_is_pushed),
		cmocka_unit_test(a_throttled_one_is_preempted),
		cmocka_unit_test(a_choice_says_whether_there_was_one),
		cmocka_unit_test(who_joins_behind_another_asks_for_a_switch),
		cmocka_unit_test(who_gets_less_urgent_asks_those_with_too_much),
		cmocka_unit_test(a_new_budget_may_be_spent_elsewhere),
		cmocka_unit_test(every_move_is_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
