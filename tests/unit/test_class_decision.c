/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of what the real-time and deadline classes decide (sched/observe/decision.def): whole
 * decisions, by the rule that decided, with the numbers before and after; and only while their
 * events are on. That recording changes nothing is shown by the tests of
 * the simulator (test_judge_class.py).
 */
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "sched/rt/rt.h"

#define record	  event_sched_decision_class
#define task_row  event_sched_decision_task
#define level_row event_sched_decision_level

static struct machine *recorded(unsigned nr_cpus)
{
	struct machine *m = machine_new(nr_cpus, 250);

	sched_trace_set(m->s, CLASS_DECISION_EVENTS);
	m->nr_trace = 0;
	return m;
}

/* The last record about @act. */
static unsigned find(struct machine *m, enum class_act act)
{
	for (unsigned i = m->nr_trace; i-- > 0;)
		if (m->trace[i].common.type == EVENT_ID_sched_decision_class &&
		    ((const struct record *)m->trace[i].bytes)->act == act)
			return i;
	fail_msg("there is no such decision");
	return 0;
}

static const struct record *last(struct machine *m, enum class_act act)
{
	return (const void *)m->trace[find(m, act)].bytes;
}

/* The @index-th task of the last record about @act: rows of CPUs stand between. */
static const struct task_row *row(struct machine *m, enum class_act act, unsigned index)
{
	unsigned at = find(m, act);
	const struct record *d = (const void *)m->trace[at].bytes;
	const struct task_row *found;

	assert_true(index < d->nr_rows);
	found = (const void *)m->trace[at - d->nr_cpus - d->nr_rows + index].bytes;
	assert_int_equal(found->common.type, EVENT_ID_sched_decision_task);
	return found;
}

static void off_the_class_has_its_own_operations(void **state)
{
	struct machine *m = machine_new(1, 250);
	const struct sched_class *rt = m->s->class[CLASS_rt];

	(void)state;
	sched_trace_set(m->s, ~CLASS_DECISION_EVENTS);
	assert_ptr_equal(rt->pick, rt_class.pick);
	assert_ptr_equal(rt->enqueue, rt_class.enqueue);
	sched_trace_set(m->s, BIT(EVENT_sched_decision_class));
	assert_ptr_not_equal(rt->pick, rt_class.pick);
	assert_ptr_equal(m->s->class[CLASS_fair] -> pick, fair_class.pick);
	spawn(m, "A", SCHED_FIFO, 5);
	assert_int_equal(last(m, ACT_pick)->nr_rows, 0);
	sched_trace_set(m->s, 0);
	assert_ptr_equal(rt->pick, rt_class.pick);
	m->nr_trace = 0;
	tick(m);
	spawn(m, "B", SCHED_RR, 6);
	assert_int_equal(m->nr_trace, 0);
	machine_free(m);
}

static void a_pick_has_the_queue_in_its_order(void **state)
{
	struct machine *m = recorded(1);
	struct task *a = spawn(m, "A", SCHED_FIFO, 5), *b = spawn(m, "B", SCHED_RR, 9);
	const struct record *d;

	(void)state;
	assert_ptr_equal(running(m, 0), b);
	d = last(m, ACT_pick);
	assert_string_equal(d->comm, "B");
	assert_int_equal(d->rule, REASON_most_urgent);
	assert_int_equal(d->policy, CLASS_POLICY_rr);
	assert_int_equal(d->active, BIT(CLASS_rt));
	assert_int_equal(d->nr_rows, 2);
	assert_int_equal(row(m, ACT_pick, 0)->prio, b->prio);
	assert_int_equal(row(m, ACT_pick, 0)->slice, 25);
	assert_int_equal(row(m, ACT_pick, 0)->flags, DECISION_QUEUED);
	assert_int_equal(row(m, ACT_pick, 1)->pid, a->pid);
	assert_int_equal(row(m, ACT_pick, 1)->position, 1);
	assert_int_equal(row(m, ACT_pick, 1)->slice, 0);
	assert_int_equal(row(m, ACT_pick, 1)->flags, DECISION_QUEUED | DECISION_RUNS);
	machine_free(m);
}

static void a_slice_ends_by_a_rule(void **state)
{
	struct machine *m = recorded(1);

	(void)state;
	spawn(m, "A", SCHED_RR, 5);
	for (unsigned n = 0; n < 25; n++)
		tick(m);
	assert_int_equal(last(m, ACT_tick)->rule, REASON_slice_alone);
	assert_int_equal(last(m, ACT_tick)->answer, 0);
	spawn(m, "B", SCHED_RR, 5);
	tick(m);
	assert_int_equal(last(m, ACT_tick)->rule, REASON_slice_lasts);
	assert_int_equal(last(m, ACT_tick)->slice, 24);
	for (unsigned n = 0; n < 24; n++)
		tick(m);
	assert_int_equal(last(m, ACT_tick)->rule, REASON_slice_over);
	assert_int_equal(last(m, ACT_tick)->answer, 1);
	assert_int_equal(last(m, ACT_tick)->position, 1);
	assert_int_equal(row(m, ACT_tick, 0)->slice, 1);
	assert_string_equal(last(m, ACT_pick)->comm, "B");
	machine_free(m);
}

/* The charge that throttles comes before the rows of the tick it happens in. */
static void throttling_does_not_tear_a_decision(void **state)
{
	struct machine *m = recorded(1);
	unsigned at;

	(void)state;
	spawn(m, "A", SCHED_RR, 5);
	advance(m, 960 * MS);
	m->nr_trace = 0;
	tick(m);
	at = find(m, ACT_throttle);
	assert_true(at < find(m, ACT_tick) - 1);
	assert_int_equal(last(m, ACT_throttle)->policy, CLASS_POLICY_real_time);
	assert_int_equal(last(m, ACT_throttle)->rule, REASON_share_used);
	assert_true(last(m, ACT_throttle)->used > 950 * MS);
	assert_int_equal(last(m, ACT_throttle)->flags, DECISION_THROTTLED);
	assert_int_equal(last(m, ACT_throttle)->pid, 0);
	assert_int_equal(row(m, ACT_tick, 0)->flags,
			 DECISION_SUBJECT | DECISION_QUEUED | DECISION_RUNS | DECISION_THROTTLED);
	advance(m, 40 * MS);
	sched_timer(m->s, 0);
	assert_int_equal(last(m, ACT_replenish)->flags, 0);
	machine_free(m);
}

static void a_choice_of_cpu_says_what_each_cpu_does(void **state)
{
	struct machine *m = recorded(2);
	const struct record *d;
	const struct level_row *cpu;
	struct task *b;

	(void)state;
	spawn(m, "A", SCHED_FIFO, 5);
	b = spawn(m, "B", SCHED_FIFO, 4);
	assert_int_equal(b->cpu, 1);
	d = last(m, ACT_select);
	assert_int_equal(d->to, 1);
	assert_int_equal(d->rule, REASON_least_urgent_there);
	assert_int_equal(d->nr_cpus, 2);
	cpu = (const void *)m->trace[find(m, ACT_select) - 2].bytes;
	assert_int_equal(cpu->of_cpu, 0);
	assert_int_equal(cpu->prio, 94);
	assert_int_equal(cpu->flags, DECISION_CPU_ALLOWED | DECISION_CPU_WAKER | DECISION_CPU_LAST);
	cpu = (const void *)m->trace[find(m, ACT_select) - 1].bytes;
	assert_int_equal(cpu->of_cpu, 1);
	assert_int_equal(cpu->prio, MAX_RT_PRIO);
	assert_int_equal(cpu->active, 0);
	machine_free(m);
}

static void a_budget_has_its_numbers_before_and_after(void **state)
{
	struct machine *m = recorded(1);
	struct task *t = spawn(m, "D", SCHED_NORMAL, 0);
	struct sched_attr_req req = { .policy = SCHED_DEADLINE,
				      .runtime_ns = 2 * MS,
				      .deadline_ns = 10 * MS,
				      .period_ns = 20 * MS };
	u64 start = m->now;
	const struct record *d;

	(void)state;
	set_feature(m, "HRTICK_DL");
	assert_int_equal(sched_set_attr(m->s, t, &req), 0);
	settle(m);
	d = last(m, ACT_enter);
	assert_int_equal(d->policy, CLASS_POLICY_deadline);
	assert_int_equal(d->rule, REASON_arrives_changed);
	assert_int_equal(d->deadline, start + 10 * MS);
	assert_int_equal(d->budget, 2 * MS);
	assert_int_equal(d->slice, 0);
	assert_int_equal(row(m, ACT_enter, 0)->budget, 0);
	assert_int_equal(row(m, ACT_enter, 0)->bw, (1 << 20) / 10);
	assert_int_equal(row(m, ACT_enter, 0)->period, 20 * MS);
	assert_int_equal(last(m, ACT_pick)->rule, REASON_earliest_deadline);
	advance(m, 3 * MS);
	tick(m);
	d = last(m, ACT_throttle);
	assert_int_equal(d->rule, REASON_budget_used);
	assert_true(row(m, ACT_throttle, 0)->budget <= 0);
	assert_int_equal(d->replenish_at, start + 20 * MS);
	assert_true(d->flags & DECISION_THROTTLED);
	advance(m, 20 * MS);
	sched_timer(m->s, 0);
	d = last(m, ACT_replenish);
	assert_int_equal(d->deadline, start + 30 * MS);
	assert_int_equal(d->replenish_at, 0);
	machine_free(m);
}

/* How much of its period's share a CPU's real-time tasks have used, and when it ends. */
static void a_class_says_how_far_its_period_is(void **state)
{
	struct machine *m = recorded(1);
	u64 start = m->now;
	const struct record *d;

	(void)state;
	spawn(m, "A", SCHED_FIFO, 5);
	advance(m, 3 * MS);
	switch_cpu(m, 0, true);
	d = last(m, ACT_pick);
	assert_int_equal(d->used, 3 * MS);
	assert_int_equal(d->period_end, start + NS_PER_SEC);
	assert_int_equal(d->slice, 0);
	assert_int_equal(d->position, 0);
	assert_int_equal(d->deadline, 0);
	assert_int_equal(d->flags, DECISION_RUNS | DECISION_QUEUED);
	assert_int_equal(row(m, ACT_pick, 0)->slice, 0);
	spawn(m, "R", SCHED_RR, 6);
	d = last(m, ACT_pick);
	assert_int_equal(d->slice, rt_part(running(m, 0))->time_slice);
	assert_true(d->slice > 0);
	machine_free(m);
}

/* How a task came and went, in a life that has each way once; the call says which flags it had. */
static void each_arrival_and_departure_has_its_reason(void **state)
{
	struct machine *m = recorded(2);
	struct task *t = spawn(m, "T", SCHED_FIFO, 5);
	struct cpumask other = cpumask_of(1);
	struct sched_attr_req req = { .policy = SCHED_FIFO, .rt_priority = 7 };

	(void)state;
	assert_int_equal(last(m, ACT_enter)->rule, REASON_arrives_new);
	assert_int_equal(last(m, ACT_enter)->pid, t->pid);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_int_equal(last(m, ACT_leave)->rule, REASON_sleeps);
	assert_int_equal(last(m, ACT_leave)->pid, t->pid);
	wake(m, t, 0);
	assert_int_equal(last(m, ACT_enter)->rule, REASON_arrives_woken);
	assert_int_equal(sched_set_attr(m->s, t, &req), 0);
	settle(m);
	assert_int_equal(last(m, ACT_leave)->rule, REASON_changes);
	assert_int_equal(last(m, ACT_enter)->rule, REASON_arrives_changed);
	assert_int_equal(sched_set_affinity(m->s, t, &other), 0);
	settle(m);
	assert_int_equal(t->cpu, 1);
	assert_int_equal(last(m, ACT_leave)->rule, REASON_departs);
	assert_int_equal(last(m, ACT_enter)->rule, REASON_arrives_moved);
	machine_free(m);
}

/* Where a class is not called with flags or a reason, none are told. */
static void a_call_has_the_flags_that_it_had(void **state)
{
	struct machine *m = recorded(1);

	(void)state;
	spawn(m, "A", SCHED_RR, 5);
	assert_int_equal(last(m, ACT_enter)->call, ENQUEUE_INITIAL);
	spawn(m, "B", SCHED_RR, 5);
	assert_int_equal(last(m, ACT_pick)->call, 0);
	tick(m);
	assert_int_equal(last(m, ACT_tick)->call, 0);
	sched_yield(m->s, 0);
	switch_cpu(m, 0, false);
	assert_int_equal(last(m, ACT_yield)->call, 0);
	assert_int_equal(last(m, ACT_yield)->rule, REASON_yields);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_true(last(m, ACT_leave)->call & DEQUEUE_SLEEP);
	/* It is in no queue any more, so it has no place in one. */
	assert_int_equal(last(m, ACT_leave)->position, 0);
	machine_free(m);
}

/* Which of @acts were recorded. None has flags, and a task without a place has none told. */
static unsigned seen_without_call(struct machine *m, const enum class_act *acts, unsigned nr)
{
	unsigned seen = 0;

	for (unsigned i = 0; i < m->nr_trace; i++) {
		const struct record *d = (const void *)m->trace[i].bytes;

		if (m->trace[i].common.type != EVENT_ID_sched_decision_class)
			continue;
		for (unsigned k = 0; k < nr; k++)
			if (d->act == acts[k]) {
				assert_int_equal(d->call, 0);
				seen |= BIT(k);
			}
		if (!(d->flags & DECISION_QUEUED))
			assert_int_equal(d->position, 0);
	}
	m->nr_trace = 0;
	return seen;
}

static struct task *pinned(struct machine *m, const char *name, int prio, unsigned cpu)
{
	struct task *t = spawn(m, name, SCHED_FIFO, prio);
	struct cpumask only = cpumask_of(cpu);

	assert_int_equal(sched_set_affinity(m->s, t, &only), 0);
	settle(m);
	return t;
}

/* The same for what a class decides by itself: to throttle, to replenish, to push and to pull. */
static void what_a_class_does_by_itself_has_no_call(void **state)
{
	static const enum class_act own[] = { ACT_throttle, ACT_replenish, ACT_push, ACT_pull };
	struct machine *m = recorded(2);
	struct task *on[2] = { pinned(m, "A", 5, 0), pinned(m, "B", 5, 1) };
	unsigned seen = 0;

	(void)state;
	block(m, 1, TASK_INTERRUPTIBLE);
	spawn(m, "moves", SCHED_FIFO, 4);
	block(m, 0, TASK_INTERRUPTIBLE);
	wake(m, on[1], 1); /* CPU 1 pushes to CPU 0 */
	wake(m, on[0], 0);
	block(m, 1, TASK_INTERRUPTIBLE); /* CPU 1 pulls from CPU 0 */
	seen |= seen_without_call(m, own, ARRAY_SIZE(own));
	spawn_dl(m, "D", 2 * MS, 10 * MS, 0);
	for (unsigned n = 0; n < 10; n++) {
		tick(m);
		seen |= seen_without_call(m, own, ARRAY_SIZE(own));
	}
	assert_int_equal(seen, BIT(ARRAY_SIZE(own)) - 1);
	machine_free(m);
}

/* A task that is not queued is the last row, with no place, and nothing else is said of it. */
static void who_is_not_queued_is_a_row_by_itself(void **state)
{
	struct machine *m = recorded(1);
	const struct task_row *t;

	(void)state;
	spawn(m, "A", SCHED_FIFO, 5);
	spawn(m, "B", SCHED_FIFO, 5);
	spawn(m, "C", SCHED_FIFO, 4);
	assert_int_equal(last(m, ACT_enter)->nr_rows, 3);
	for (unsigned i = 0; i < 3; i++) {
		t = row(m, ACT_enter, i);
		assert_int_equal(t->position, i == 2 ? 0 : i);
		assert_int_equal(t->flags, i == 2   ? DECISION_SUBJECT
					   : i == 0 ? DECISION_QUEUED | DECISION_RUNS
						    : DECISION_QUEUED);
		assert_int_equal(t->comm[0], "ABC"[i]);
	}
	machine_free(m);
}

/* The fair server competes: it is a row, it is picked, and the fair task has its name in it. */
static void the_pick_of_the_server_is_its_own(void **state)
{
	static const struct sched_cpu_desc one;
	struct machine *m = machine_new_on(1, 1000, &one, "eevdf");
	struct task *fair = spawn_nice(m, "fair", 0);
	const struct record *d = NULL;

	(void)state;
	spawn(m, "fifo", SCHED_FIFO, 5);
	sched_trace_set(m->s, CLASS_DECISION_EVENTS);
	for (unsigned n = 0; n < 1000 && running(m, 0) != fair; n++) {
		m->nr_trace = 0;
		tick(m);
	}
	assert_ptr_equal(running(m, 0), fair);
	for (unsigned i = 0; i < m->nr_trace; i++) {
		const struct record *r = (const void *)m->trace[i].bytes;
		const struct task_row *t = (const void *)m->trace[i].bytes;

		if (m->trace[i].common.type == EVENT_ID_sched_decision_class &&
		    r->act == ACT_pick && r->policy == CLASS_POLICY_fair_server)
			d = r;
		if (m->trace[i].common.type == EVENT_ID_sched_decision_task &&
		    !strcmp(t->comm, "fair_server"))
			assert_true(t->flags & DECISION_SERVER);
	}
	assert_non_null(d);
	assert_int_equal(d->rule, REASON_fair_server);
	assert_int_equal(d->pid, fair->pid);
	assert_int_equal(d->call, 0);
	assert_int_equal(d->flags, DECISION_SERVER);
	machine_free(m);
}

/* A deadline has no slice, in the row and in the record. */
static void a_deadline_has_no_slice(void **state)
{
	struct machine *m = recorded(1);

	(void)state;
	spawn(m, "R", SCHED_RR, 5);
	spawn_dl(m, "D", 2 * MS, 10 * MS, 0);
	assert_int_equal(last(m, ACT_pick)->policy, CLASS_POLICY_deadline);
	assert_int_equal(last(m, ACT_pick)->slice, 0);
	assert_int_equal(row(m, ACT_pick, 0)->slice, 0);
	advance(m, MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_int_equal(last(m, ACT_leave)->slice, 0);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(off_the_class_has_its_own_operations),
		cmocka_unit_test(a_pick_has_the_queue_in_its_order),
		cmocka_unit_test(a_slice_ends_by_a_rule),
		cmocka_unit_test(throttling_does_not_tear_a_decision),
		cmocka_unit_test(a_choice_of_cpu_says_what_each_cpu_does),
		cmocka_unit_test(a_budget_has_its_numbers_before_and_after),
		cmocka_unit_test(a_class_says_how_far_its_period_is),
		cmocka_unit_test(each_arrival_and_departure_has_its_reason),
		cmocka_unit_test(a_call_has_the_flags_that_it_had),
		cmocka_unit_test(what_a_class_does_by_itself_has_no_call),
		cmocka_unit_test(who_is_not_queued_is_a_row_by_itself),
		cmocka_unit_test(the_pick_of_the_server_is_its_own),
		cmocka_unit_test(a_deadline_has_no_slice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
