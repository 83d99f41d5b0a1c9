/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of fair decisions, field by field: marks of the subject and of buddies, flags of the
 * call, the rule that ended a turn, where an arrival comes from, the container's deadline, and a
 * pick of nobody (sched/observe/decision.def). See also test_decision.c.
 */
#include <string.h>

#include "eevdf.h"
#include "group.h"
#include "lib/prng.h"
#include "sched/fair/cfs/cfs.h"
#include "sched/fair/fdl/fdl.h"

#define decision_record event_sched_decision_pick
#define candidate	event_sched_decision_candidate

#define US 1000

#define LAST(m, name)                                                                              \
	((const struct decision_record *)last_record(m, EVENT_ID_sched_decision_##name))

/* The row of @t in the last record of @type. */
static const struct candidate *row_of(struct machine *m, u16 type, const struct task *t)
{
	const struct decision_record *d = last_record(m, type);
	unsigned at = 0;

	while ((const void *)m->trace[at].bytes != d)
		at++;
	for (unsigned i = at - d->nr_rows; i < at; i++) {
		const struct candidate *c = (const void *)m->trace[i].bytes;

		if (c->pid == t->pid)
			return c;
	}
	fail_msg("%s has no row", t->comm);
	return NULL;
}

static struct machine *recorded(const char *policy, struct task **t, unsigned nr)
{
	static const struct sched_cpu_desc cpu;
	struct machine *m = machine_new_on(1, 1000, &cpu, policy);

	for (unsigned i = 0; i < nr; i++)
		t[i] = spawn_nice(m, "t", 0);
	sched_trace_set(m->s, DECISION_EVENTS);
	m->nr_trace = 0;
	return m;
}

/* It is in no tree: it runs, or comes from elsewhere, or slept in its queue. */
static void the_subject_has_its_marks(void **state)
{
	struct task *t[3], *ran;
	struct machine *m = recorded("cfs", t, 3);

	(void)state;
	ran = running(m, 0);
	advance(m, MS);
	switch_cpu(m, 0, true);
	assert_int_equal(row_of(m, EVENT_ID_sched_decision_charge, ran)->flags,
			 DECISION_QUEUED | DECISION_RUNS);
	ran = running(m, 0);
	block(m, 0, TASK_INTERRUPTIBLE);
	wake(m, ran, 0);
	assert_int_equal(row_of(m, EVENT_ID_sched_decision_place, ran)->flags, 0);
	machine_free(m);
	m = recorded("eevdf", t, 3);
	advance(m, 8 * MS);
	ran = running(m, 0);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_int_equal(ran->on_rq, TASK_DELAYED);
	wake(m, ran, 0);
	assert_int_equal(LAST(m, place)->rule, RULE_arrives_delayed);
	assert_int_equal(row_of(m, EVENT_ID_sched_decision_place, ran)->flags &
				 (DECISION_ASLEEP | DECISION_RUNS),
			 DECISION_ASLEEP);
	machine_free(m);
}

/* Why an entity came or went is told; where nothing is passed on, nothing is. */
static void a_record_has_the_flags_of_its_call(void **state)
{
	struct task *t[3], *ran;
	struct machine *m = recorded("cfs", t, 3);

	(void)state;
	memset(m->trace, 0xff, sizeof(m->trace));
	spawn_nice(m, "new", 0);
	assert_int_equal(LAST(m, place)->flags, ENQUEUE_INITIAL);
	for (unsigned n = 0; n < 20; n++)
		tick(m);
	assert_int_equal(LAST(m, charge)->flags, 0);
	assert_int_equal(LAST(m, pick)->flags, 0);
	assert_int_equal(LAST(m, tick)->flags, 0);
	ran = running(m, 0);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_int_equal(LAST(m, leave)->flags & DEQUEUE_SLEEP, DEQUEUE_SLEEP);
	wake(m, ran, 0);
	assert_int_equal(LAST(m, place)->flags & ENQUEUE_WAKEUP, ENQUEUE_WAKEUP);
	machine_free(m);
}

/* With two tasks a slice is 3 ms, the least turn 0.75 ms; the other one is @behind. */
static void the_end_of_a_turn_has_its_rule(void **state)
{
	static const struct {
		u64 ran_ns, behind_ns;
		enum decision_rule rule;
		bool answer;
	} cases[] = {
		{ 700 * US, 9 * MS, RULE_ran_too_little, false },
		{ 800 * US, 1 * MS, RULE_slice_ahead, false },
		{ 800 * US, 9 * MS, RULE_slice_ahead, true },
		{ 2900 * US, 0, RULE_slice_ahead, false },
		{ 3100 * US, 0, RULE_slice, true },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct task *t[2], *ran;
		struct machine *m = recorded("cfs", t, 2);

		set_tunable(m, "latency_ns", "6000000");
		set_tunable(m, "min_granularity_ns", "750000");
		switch_cpu(m, 0, true);
		ran = running(m, 0);
		assert_in_range(m->s->rq[0].fair.policy->slice(&m->s->rq[0].fair, &ran->fair),
				3 * MS - 10, 3 * MS);
		ran->fair.prev_sum_exec = ran->fair.sum_exec;
		ran->fair.vruntime = t[ran == t[0]]->fair.vruntime + cases[i].behind_ns;
		ran->fair.vruntime -= cases[i].behind_ns ? cases[i].ran_ns : 5 * MS;
		advance(m, cases[i].ran_ns);
		sched_tick(m->s, 0);
		assert_int_equal(LAST(m, tick)->rule, cases[i].rule);
		assert_int_equal(LAST(m, tick)->answer, cases[i].answer);
		assert_int_equal(LAST(m, tick)->delta, cases[i].ran_ns);
		machine_free(m);
	}
}

/* Each buddy has its mark in its row, whichever it is, and nobody else has any. */
static void rows_have_the_marks_of_buddies(void **state)
{
	static const u16 flag[] = { DECISION_NEXT, DECISION_LAST, DECISION_SKIP };
	const u16 all = DECISION_NEXT | DECISION_LAST | DECISION_SKIP;

	(void)state;
	for (unsigned of = 0; of < 3; of++)
		for (unsigned who = 0; who < 3; who++) {
			struct task *t[3];
			struct machine *m = recorded("cfs", t, 3);
			struct cfs_queue *q = cfs_queue(&m->s->rq[0].fair);
			struct entity **buddy[] = { &q->next, &q->last, &q->skip };

			*buddy[of] = &t[who]->fair;
			switch_cpu(m, 0, true);
			for (unsigned i = 0; i < 3; i++)
				assert_int_equal(
					row_of(m, EVENT_ID_sched_decision_pick, t[i])->flags & all,
					i == who ? flag[of] : 0);
			machine_free(m);
		}
}

/* An empty queue has nobody to pick: the record names nobody, and has no numbers of anybody. */
static void a_pick_of_nobody_has_no_numbers(void **state)
{
	(void)state;
	for (unsigned i = 0; sched_fair_name(i); i++) {
		struct task *t[1];
		struct machine *m = recorded(sched_fair_name(i), t, 1);
		const struct decision_record *d;
		static const char nobody[TASK_COMM_LEN];

		block(m, 0, TASK_UNINTERRUPTIBLE);
		memset(m->trace, 0xff, sizeof(m->trace));
		m->nr_trace = 0;
		rq_lock(&m->s->rq[0]);
		assert_null(m->s->rq[0].fair.hooks->pick(&m->s->rq[0].fair));
		rq_unlock(&m->s->rq[0]);
		d = LAST(m, pick);
		assert_int_equal(d->rule, RULE_nobody);
		assert_int_equal(d->answer, 0);
		assert_int_equal(d->nr_queued, 0);
		assert_memory_equal(d->comm, nobody, sizeof(nobody));
		assert_int_equal(d->pid, 0);
		assert_int_equal(d->subject_group, 0);
		assert_int_equal(d->weight, 0);
		assert_int_equal(d->vruntime, 0);
		assert_int_equal(d->deadline, 0);
		assert_int_equal(d->slice, 0);
		assert_int_equal(d->lag, 0);
		assert_int_equal(d->flags, 0);
		assert_int_equal(d->delta, 0);
		machine_free(m);
	}
}

/* Fair, real-time and deadline tasks at random. Returns a digest of who ran with what behind it. */
static u64 drive(const char *policy, u64 events)
{
	static const struct sched_cpu_desc cpus[2] = { { .core = 0 }, { .core = 1 } };
	struct machine *m = machine_new_on(2, 1000, cpus, policy);
	struct task *t[7];
	struct prng prng;
	u64 digest = 0;

	prng_seed(&prng, 1);
	sched_trace_set(m->s, events);
	for (unsigned i = 0; i < 4; i++)
		t[i] = spawn_nice(m, "fair", (int)i);
	t[4] = spawn(m, "fifo", SCHED_FIFO, 10);
	t[5] = spawn(m, "rr", SCHED_RR, 10);
	t[6] = spawn_dl(m, "dl", 2 * MS, 10 * MS, 20 * MS);
	for (unsigned n = 0; n < 600; n++) {
		u64 r = prng_u64(&prng);
		unsigned cpu = r % 2;

		m->nr_trace = 0;
		advance(m, r / 64 % (2 * MS));
		if (r / 2 % 4 == 0)
			tick(m);
		else if (r / 2 % 4 < 3 && running(m, cpu) != &m->idle[cpu])
			block(m, cpu, TASK_INTERRUPTIBLE);
		else
			wake(m, t[r / 8 % ARRAY_SIZE(t)], cpu);
		settle(m);
		sched_check(m->s);
		for (unsigned i = 0; i < m->nr_trace; i++)
			assert_int_equal(m->trace[i].common.type, m->trace[0].common.type);
		digest = digest * 31 + (u64)running(m, 0)->pid * 64 + (u64)running(m, 1)->pid;
		digest += m->s->rq[0].nr_running * 7 + m->s->rq[1].nr_running;
	}
	sched_trace_set(m->s, 0);
	machine_free(m);
	return digest;
}

/* Whichever event is on by itself, operations are made once, and nothing else is recorded. */
static void each_event_by_itself_changes_nothing(void **state)
{
	(void)state;
	for (unsigned i = 0; sched_fair_name(i); i++) {
		u64 digest = drive(sched_fair_name(i), 0);

		for (u64 left = DECISION_EVENTS; left; left &= left - 1)
			assert_int_equal(drive(sched_fair_name(i), left & -left), digest);
	}
}

/* The rule of the record about where @t was placed last. */
static u8 placed_by(struct machine *m, const struct task *t)
{
	for (unsigned i = m->nr_trace; i-- > 0;) {
		const struct decision_record *d = (const void *)m->trace[i].bytes;

		if (d->common.type == EVENT_ID_sched_decision_place && d->pid == t->pid)
			return d->rule;
	}
	fail_msg("%s was not placed", t->comm);
	return 0;
}

/* New, from its sleep, or runnable before: the record says which. */
static void an_arrival_says_where_it_comes_from(void **state)
{
	(void)state;
	for (unsigned i = 0; sched_fair_name(i); i++) {
		struct task *t[3], *waits, *sleeps;
		struct machine *m = recorded(sched_fair_name(i), t, 3);

		assert_int_equal(placed_by(m, spawn_nice(m, "new", 0)), RULE_arrives_new);
		sleeps = running(m, 0);
		block(m, 0, TASK_UNINTERRUPTIBLE);
		while (sleeps->on_rq != TASK_OFF_RQ)
			tick(m);
		sched_wake(m->s, sleeps, TASK_UNINTERRUPTIBLE, 0, 0);
		assert_int_equal(placed_by(m, sleeps), RULE_arrives_woken);
		settle(m);
		waits = running(m, 0) == t[0] ? t[1] : t[0];
		m->nr_trace = 0;
		task_group_move(m->s, waits, new_group(m, NULL));
		assert_int_equal(placed_by(m, waits), RULE_arrives_moved);
		machine_free(m);
	}
}

/* The rest of a request goes along with who leaves its queue awake, and its row says so. */
static void an_entity_on_its_way_has_its_marks(void **state)
{
	static const struct sched_cpu_desc cpus[2] = { { .core = 0 }, { .core = 1 } };

	(void)state;
	for (unsigned moved = 0; moved < 2; moved++) {
		struct machine *m = machine_new_on(2, 1000, cpus, "eevdf");
		const struct cpumask here = cpumask_of(0), there = cpumask_of(1);
		struct task *t[3], *subject;

		for (unsigned i = 0; i < 3; i++) {
			t[i] = spawn_nice(m, "t", 0);
			assert_int_equal(sched_set_affinity(m->s, t[i], &here), 0);
			settle(m);
		}
		tick(m);
		sched_trace_set(m->s, DECISION_EVENTS);
		m->nr_trace = 0;
		subject = running(m, 0) == t[0] ? t[1] : t[0];
		if (moved) {
			assert_int_equal(sched_set_affinity(m->s, subject, &there), 0);
		} else {
			while (running(m, 0) != subject)
				tick(m);
			block(m, 0, TASK_UNINTERRUPTIBLE);
			while (subject->on_rq != TASK_OFF_RQ)
				tick(m);
			sched_wake(m->s, subject, TASK_UNINTERRUPTIBLE, 0, 0);
		}
		assert_int_equal(LAST(m, place)->pid, subject->pid);
		assert_int_equal(row_of(m, EVENT_ID_sched_decision_place, subject)->flags &
					 (DECISION_RELATIVE | DECISION_QUEUED),
				 moved ? DECISION_RELATIVE : 0);
		machine_free(m);
	}
}

static unsigned nr_picks, nr_containers;

/* A pick moves no deadline, so what it saw is still there: how far it is from v. */
static void judge_container(struct machine *m, const struct sched_event *event)
{
	const struct decision_record *d = (const void *)event;
	struct fair_queue *q = &m->s->rq[0].fair;

	if (event->type != EVENT_ID_sched_decision_pick || d->group)
		return;
	if (d->container)
		assert_int_equal(d->container, fdl_queue(q)->container - fdl_now(q));
	nr_picks++;
	nr_containers += d->container != 0;
}

/* Under FDL all that have no deadline share one while somebody has one: records have it. */
static void a_record_has_the_deadline_of_the_container(void **state)
{
	(void)state;
	for (unsigned with = 0; with < 2; with++) {
		struct task *t[1];
		struct machine *m = recorded("fdl", t, 1);
		struct task_group *tg = new_group(m, NULL);

		if (with)
			assert_int_equal(task_group_set_deadline(m->s, tg, 2 * MS, 0), 0);
		spawn_in(m, tg, 0);
		nr_picks = nr_containers = 0;
		m->on_trace = judge_container;
		for (unsigned n = 0; n < 40; n++) {
			tick(m);
			switch_cpu(m, 0, true);
		}
		assert_true(nr_picks >= 40);
		/* It may be the first pick that begins the container's turns. */
		if (with)
			assert_in_range(nr_containers, nr_picks - 1, nr_picks);
		else
			assert_int_equal(nr_containers, 0);
		machine_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_subject_has_its_marks),
		cmocka_unit_test(a_record_has_the_flags_of_its_call),
		cmocka_unit_test(the_end_of_a_turn_has_its_rule),
		cmocka_unit_test(rows_have_the_marks_of_buddies),
		cmocka_unit_test(a_pick_of_nobody_has_no_numbers),
		cmocka_unit_test(each_event_by_itself_changes_nothing),
		cmocka_unit_test(an_arrival_says_where_it_comes_from),
		cmocka_unit_test(an_entity_on_its_way_has_its_marks),
		cmocka_unit_test(a_record_has_the_deadline_of_the_container),
	};

	return cmocka_run_group_tests_name("fair_record", tests, NULL, NULL);
}
