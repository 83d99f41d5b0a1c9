/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A record of a decision says how many rows were recorded before it (sched/observe/decision.def).
 * While random operations make all kinds of decisions, the rows are counted here; also when the
 * events of rows, or those of the records, are off.
 */
#include "group.h"
#include "lib/prng.h"
#include "smp.h"
#include "sched/record/run.h"

struct counts {
	unsigned candidates, cpus, tasks, levels, runqueues, parts, movables;
	u64 seen; /* kinds of rows and records, by bit */
};

static void count_fair(struct counts *c, const struct event_sched_decision_pick *d)
{
	assert_int_equal(d->nr_rows, c->candidates);
	c->candidates = 0;
}

static void count_select(struct counts *c, const struct event_sched_decision_select *d)
{
	assert_int_equal(d->nr_rows, c->cpus);
	c->cpus = 0;
}

static void count_class(struct counts *c, const struct event_sched_decision_class *d)
{
	assert_int_equal(d->nr_rows, c->tasks);
	assert_int_equal(d->nr_cpus, c->levels);
	c->tasks = c->levels = 0;
}

static void count_balance(struct counts *c, const struct event_sched_decision_balance *d)
{
	assert_int_equal(d->nr_runqueues, c->runqueues);
	assert_int_equal(d->nr_parts, c->parts);
	assert_int_equal(d->nr_tasks, c->movables);
	c->runqueues = c->parts = c->movables = 0;
}

static void count(struct counts *c, const struct recorded *r)
{
	const u16 type = r->common.type;

	if (type >= EVENT_ID_sched_decision_candidate)
		c->seen |= BIT(type - EVENT_ID_sched_decision_candidate);
	c->candidates += type == EVENT_ID_sched_decision_candidate;
	c->cpus += type == EVENT_ID_sched_decision_cpu;
	c->tasks += type == EVENT_ID_sched_decision_task;
	c->levels += type == EVENT_ID_sched_decision_level;
	c->runqueues += type == EVENT_ID_sched_decision_runqueue;
	c->parts += type == EVENT_ID_sched_decision_part;
	c->movables += type == EVENT_ID_sched_decision_movable;
	if (type == EVENT_ID_sched_decision_select)
		count_select(c, (const void *)r->bytes);
	else if (type == EVENT_ID_sched_decision_class)
		count_class(c, (const void *)r->bytes);
	else if (type == EVENT_ID_sched_decision_balance)
		count_balance(c, (const void *)r->bytes);
	else if (type > EVENT_ID_sched_decision_candidate && type < EVENT_ID_sched_decision_cpu)
		count_fair(c, (const void *)r->bytes);
}

static void count_all(struct machine *m, struct counts *c)
{
	assert_in_range(m->nr_trace, 0, MAX_TRACE);
	for (unsigned i = 0; i < m->nr_trace; i++)
		count(c, &m->trace[i]);
	m->nr_trace = 0;
}

/* Four CPUs behind two caches; six fair tasks, two real-time tasks and one with a deadline. */
static struct machine *mixture(const char *policy, struct task **t)
{
	struct machine *m = machine_of(1, 2, 2, 1, policy);
	struct task_group *tg = new_group(m, NULL);

	for (unsigned i = 0; i < 6; i++)
		t[i] = spawn_in(m, i % 2 ? tg : NULL, (int)i - 3);
	t[6] = spawn(m, "fifo", SCHED_FIFO, 10);
	t[7] = spawn(m, "rr", SCHED_RR, 20);
	t[8] = spawn_dl(m, "dl", 2 * MS, 10 * MS, 20 * MS);
	return m;
}

static void rows_are_counted(const char *policy, u64 events)
{
	struct task *t[9];
	struct machine *m = mixture(policy, t);
	struct counts c = { 0 };
	struct prng prng;

	prng_seed(&prng, 1);
	sched_trace_set(m->s, events);
	for (unsigned n = 0; n < 400; n++) {
		u64 r = prng_u64(&prng);
		unsigned cpu = r % 4;

		m->nr_trace = 0;
		advance(m, r / 64 % (2 * MS));
		if (r / 4 % 4 == 0)
			tick(m);
		else if (r / 4 % 4 == 1 && running(m, cpu) != &m->idle[cpu])
			block(m, cpu, TASK_INTERRUPTIBLE);
		else if (r / 4 % 4 == 2)
			sched_set_nice(m->s, t[r / 16 % 6], (int)(r / 256 % 20));
		else
			wake(m, t[r / 16 % ARRAY_SIZE(t)], cpu);
		settle(m);
		count_all(m, &c);
	}
	/* All of them came. */
	assert_int_equal(__builtin_popcountll(c.seen), __builtin_popcountll(events));
	sched_trace_set(m->s, 0);
	machine_free(m);
}

static void records_count_their_rows(void **state)
{
	/* No group has a quota, and the CPUs are equal. */
	const u64 all = DECISION_EVENTS & ~QUOTA_DECISION_EVENTS & ~ENERGY_DECISION_EVENTS;
	const u64 rows = BIT(EVENT_sched_decision_candidate) | BIT(EVENT_sched_decision_cpu) |
			 BIT(EVENT_sched_decision_task) | BIT(EVENT_sched_decision_level) |
			 BIT(EVENT_sched_decision_runqueue) | BIT(EVENT_sched_decision_part) |
			 BIT(EVENT_sched_decision_movable);

	(void)state;
	for (unsigned i = 0; sched_fair_name(i); i++)
		rows_are_counted(sched_fair_name(i), all);
	rows_are_counted("cfs", all & ~rows);
	for (u64 left = rows; left; left &= left - 1)
		rows_are_counted("cfs", all & ~(left & -left));
}

/* With one CPU in service, or in the task's affinity, there is no choice, and none is told. */
static void without_a_choice_none_is_told(void **state)
{
	struct machine *m = machine_of(1, 1, 2, 1, "cfs");
	struct task *t = put(m, 0), *pinned = put(m, 0);

	(void)state;
	allow(m, pinned, cpumask_of(0));
	for (unsigned nr_online = 2; nr_online; nr_online--) {
		unsigned nr_told = 0;

		block(m, 0, TASK_INTERRUPTIBLE);
		block(m, 0, TASK_INTERRUPTIBLE);
		sched_trace_set(m->s, BIT(EVENT_sched_decision_select));
		m->nr_trace = 0;
		wake(m, pinned, 0);
		wake(m, t, 0);
		for (unsigned i = 0; i < m->nr_trace; i++)
			nr_told += m->trace[i].common.type == EVENT_ID_sched_decision_select;
		assert_int_equal(nr_told, nr_online - 1);
		sched_trace_set(m->s, 0);
		allow(m, t, cpumask_of(0));
		allow(m, t, cpumask_first_n(2));
		if (nr_online == 2)
			assert_int_equal(sched_cpu_offline(m->s, 1), 0);
	}
	machine_free(m);
}

/*
 * A placement has a row for each CPU in service, from the task's last one and around, on large
 * machines the first DECISION_ROWS_MAX of them: however many fit one run of the trace.
 */
static void a_large_machine_has_its_rows(void **state)
{
	static const unsigned sizes[] = {
		2, RUN_ROWS - 1, RUN_ROWS, RUN_ROWS + 1, 63, 64, 65, 100,
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++)
		for (unsigned gone = 0; gone < 2 && gone + 1 < sizes[i]; gone++) {
			unsigned nr = sizes[i], last = nr - 2, cpu = last, at = 0;
			struct machine *m = machine_of(1, 1, nr, 1, NULL);
			struct task *t = sleeper_on(m, last);
			const struct event_sched_decision_select *d;

			if (gone)
				assert_int_equal(sched_cpu_offline(m->s, nr - 1), 0);
			settle(m);
			sched_trace_set(m->s, BIT(EVENT_sched_decision_select) |
						      BIT(EVENT_sched_decision_cpu));
			m->nr_trace = 0;
			wake(m, t, last);
			d = last_record(m, EVENT_ID_sched_decision_select);
			assert_non_null(d);
			assert_int_equal(d->nr_cpus, nr - gone);
			assert_int_equal(d->nr_rows, min(nr - gone, DECISION_ROWS_MAX + 0u));
			assert_int_equal(m->nr_trace, d->nr_rows + 1u);
			for (; at < d->nr_rows; cpu = (cpu + 1) % nr) {
				const struct event_sched_decision_cpu *row =
					(const void *)m->trace[at].bytes;

				if (gone && cpu == nr - 1)
					continue;
				assert_int_equal(row->common.type, EVENT_ID_sched_decision_cpu);
				assert_int_equal(row->of_cpu, cpu);
				at++;
			}
			sched_trace_set(m->s, 0);
			machine_free(m);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_count_their_rows),
		cmocka_unit_test(without_a_choice_none_is_told),
		cmocka_unit_test(a_large_machine_has_its_rows),
	};

	return cmocka_run_group_tests_name("rows", tests, NULL, NULL);
}
