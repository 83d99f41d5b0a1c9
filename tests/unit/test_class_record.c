/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every field of the records of the real-time and deadline classes: at the moment of each record
 * its numbers are compared with those of the task, the queue or the CPU that it is about. Random
 * operations make the records. That recording changes nothing, and what of a long queue is told.
 * Whole decisions: test_class_decision.c.
 */
#include <string.h>

#include "smp.h"
#include "lib/prng.h"
#include "sched/dl/dl.h"
#include "sched/observe/decision.h"
#include "sched/rt/rt.h"

#define CPUS  3
#define TASKS 9

static struct task *subject[TASKS];

/* The rows since the last record. A record may come between another one and its rows. */
static struct {
	unsigned nr_tasks, nr_queued, nr_cpus, nr_servers, next_cpu, next_position;
	u32 active; /* of their CPU, when the first was written */
	bool server_last,
		keeps_place; /* the subject stays where it is while its parameters change */
} rows;

static unsigned counts[ACT_pull + 1];

static struct task *task_by_pid(s32 pid)
{
	for (unsigned i = 0; i < TASKS; i++)
		if (subject[i] && subject[i]->pid == pid)
			return subject[i];
	fail_msg("a row of nobody");
	return NULL;
}

static bool is_deadline(const struct task *t)
{
	return t->policy == SCHED_DEADLINE;
}

static bool is_throttled(const struct rq *rq, const struct task *t)
{
	return is_deadline(t) ? dl_part_seen(t)->throttled : rt_seen(rq)->throttled;
}

/* --- rows ------------------------------------------------------------------------------------- */

static void judge_task_row(struct machine *m, const struct event_sched_decision_task *row)
{
	const struct task *t = task_by_pid(row->pid);
	const struct rq *rq = rq_of(m, row->common.cpu);
	const struct dl_task *d = dl_part_seen(t);
	bool dl = is_deadline(t);

	assert_string_equal(row->comm, t->comm);
	assert_int_equal(row->prio, t->prio);
	assert_int_equal(row->nr_allowed, t->nr_allowed);
	assert_int_equal(!!(row->flags & DECISION_RUNS), rq->curr == t);
	assert_int_equal(!!(row->flags & DECISION_THROTTLED), is_throttled(rq, t));
	assert_false(row->flags & DECISION_SERVER);
	assert_int_equal(row->slice,
			 t->policy == SCHED_RR ? rt_part((struct task *)t)->time_slice : 0);
	assert_int_equal(row->bw, dl ? d->bw : 0);
	assert_int_equal(row->deadline, dl ? d->deadline : 0);
	assert_int_equal(row->budget, dl ? d->budget_ns : 0);
	assert_int_equal(row->replenish_at, dl && d->throttled ? d->replenish_at : 0);
	assert_int_equal(row->runtime, dl ? d->runtime_ns : 0);
	assert_int_equal(row->relative, dl ? d->relative_ns : 0);
	assert_int_equal(row->period, dl ? d->period_ns : 0);
	/* A subject that is alone in its rows may be anywhere in the queue. */
	if (row->position && !(row->flags & DECISION_SUBJECT))
		assert_int_equal(row->position, rows.next_position);
	rows.next_position = row->position + 1;
	if (!(row->flags & DECISION_QUEUED))
		assert_int_equal(row->position, 0);
	rows.keeps_place |= row->flags & DECISION_SUBJECT && row->flags & DECISION_QUEUED;
	rows.nr_tasks++;
	rows.nr_queued += !!(row->flags & DECISION_QUEUED);
}

static void judge_server_row(struct machine *m, const struct event_sched_decision_task *row)
{
	const struct dl_server *server = &dl_seen(rq_of(m, row->common.cpu))->server;

	assert_string_equal(row->comm, "fair_server");
	assert_int_equal(row->pid, 0);
	assert_int_equal(row->prio, -1);
	assert_int_equal(row->flags, DECISION_SERVER | (server->ready ? 0 : DECISION_THROTTLED));
	assert_int_equal(row->bw, server->d.bw);
	assert_int_equal(row->deadline, server->d.deadline);
	assert_int_equal(row->budget, server->d.budget_ns);
	assert_int_equal(row->replenish_at, server->d.throttled ? server->d.replenish_at : 0);
	assert_int_equal(row->runtime, server->d.runtime_ns);
	assert_int_equal(row->relative, server->d.relative_ns);
	assert_int_equal(row->period, server->d.period_ns);
	rows.nr_servers++;
}

/* The most urgent real-time priority of a CPU; MAX_RT_PRIO: none, or they may not run. */
static int first_prio(const struct rq *rq)
{
	int first = MAX_RT_PRIO;

	for (unsigned i = 0; i < TASKS; i++) {
		const struct task *t = subject[i];

		if (t && t->cpu == rq->cpu && t->on_rq == TASK_QUEUED && !is_deadline(t) &&
		    t->class->rank == CLASS_rt && t->prio < first)
			first = t->prio;
	}
	return rt_seen(rq)->throttled ? MAX_RT_PRIO : first;
}

static void judge_level_row(struct machine *m, const struct event_sched_decision_level *row)
{
	const struct rq *rq = rq_of(m, row->of_cpu);
	const struct dl_rq *dl = dl_seen(rq);

	assert_true(rows.next_cpu <= row->of_cpu); /* they ascend */
	rows.next_cpu = row->of_cpu + 1u;
	assert_true(cpumask_test(&m->s->online, row->of_cpu));
	assert_int_equal(row->active, rq->active);
	assert_int_equal(row->nr_running, rq->nr_running);
	assert_int_equal(row->deadline, dl->nr_ready || dl->server.ready ? dl->earliest : 0);
	if (!rows.nr_queued) /* else the queue of the subject is in between */
		assert_int_equal(row->prio, first_prio(rq));
	rows.nr_cpus++;
}

/* --- records ---------------------------------------------------------------------------------- */

/* Roles of CPUs in rows are those of the record behind them. */
static void judge_roles(struct machine *m, const struct event_sched_decision_class *d,
			const struct task *t)
{
	for (unsigned i = 1; i <= d->nr_cpus; i++) {
		const struct event_sched_decision_level *row =
			(const void *)m->trace[(m->nr_trace - i) % MAX_TRACE].bytes;
		unsigned allowed = cpumask_test(&t->allowed, row->of_cpu);

		assert_int_equal(row->flags & DECISION_CPU_ALLOWED,
				 allowed ? DECISION_CPU_ALLOWED : 0);
		assert_false(row->flags & ~(unsigned)(DECISION_CPU_ALLOWED | DECISION_CPU_WAKER |
						      DECISION_CPU_LAST));
		if (d->act == ACT_select)
			assert_int_equal(!!(row->flags & DECISION_CPU_LAST), row->of_cpu == d->cpu);
	}
}

static void judge_subject(struct machine *m, const struct event_sched_decision_class *d)
{
	const struct task *t = task_by_pid(d->pid);
	const struct rq *rq = rq_of(m, d->cpu);
	const struct dl_task *own = dl_part_seen(t);
	bool dl = is_deadline(t);

	assert_string_equal(d->comm, t->comm);
	assert_int_equal(d->prio, t->prio);
	assert_int_equal(d->policy, dl			    ? CLASS_POLICY_deadline
				    : t->policy == SCHED_RR ? CLASS_POLICY_rr
							    : CLASS_POLICY_fifo);
	assert_int_equal(!!(d->flags & DECISION_RUNS), rq->curr == t);
	assert_int_equal(!!(d->flags & DECISION_THROTTLED), is_throttled(rq, t));
	assert_int_equal(d->slice,
			 t->policy == SCHED_RR ? rt_part((struct task *)t)->time_slice : 0);
	assert_int_equal(d->deadline, dl ? own->deadline : 0);
	assert_int_equal(d->budget, dl ? own->budget_ns : 0);
	assert_int_equal(d->replenish_at, dl && own->throttled ? own->replenish_at : 0);
	assert_int_equal(d->used, dl ? 0 : rt_seen(rq)->used_ns);
	assert_int_equal(d->period_end, dl ? 0 : rt_seen(rq)->period_end);
	judge_roles(m, d, t);
}

static void judge_no_subject(struct machine *m, const struct event_sched_decision_class *d)
{
	const struct rq *rq = rq_of(m, d->cpu);

	assert_int_equal(d->prio, 0);
	assert_int_equal(d->position, 0);
	assert_int_equal(d->slice, 0);
	if (d->act == ACT_pick)
		return;
	assert_int_equal(d->policy, CLASS_POLICY_real_time);
	assert_int_equal(d->used, rt_seen(rq)->used_ns);
	assert_int_equal(d->period_end, rt_seen(rq)->period_end);
	assert_int_equal(d->flags, rt_seen(rq)->throttled ? DECISION_THROTTLED : 0);
}

static void judge_server(struct machine *m, const struct event_sched_decision_class *d)
{
	const struct dl_server *server = &dl_seen(rq_of(m, d->cpu))->server;

	assert_int_equal(d->flags, DECISION_SERVER | (server->ready ? 0 : DECISION_THROTTLED));
	assert_int_equal(d->deadline, server->d.deadline);
	assert_int_equal(d->budget, server->d.budget_ns);
	assert_int_equal(d->replenish_at, server->d.throttled ? server->d.replenish_at : 0);
	if (d->pid)
		assert_string_equal(d->comm, task_by_pid(d->pid)->comm);
	else
		assert_string_equal(d->comm, "fair_server");
	assert_int_equal(d->prio, d->pid ? task_by_pid(d->pid)->prio : -1);
}

static void judge_record(struct machine *m, const struct event_sched_decision_class *d)
{
	const struct rq *rq = rq_of(m, d->cpu);

	counts[d->act]++;
	assert_int_equal(d->common.cpu, d->cpu);
	assert_int_equal(d->clock, rq->clock);
	assert_true(d->nr_rows <= rows.nr_tasks + rows.nr_servers);
	assert_int_equal(d->nr_cpus, rows.nr_cpus);
	if (d->nr_rows == rows.nr_tasks + rows.nr_servers) {
		assert_true(rows.nr_servers <= 1 && (!rows.nr_servers || rows.server_last));
		if (rows.nr_tasks > 1)
			assert_int_equal(d->nr_queued, rows.nr_queued - (d->act == ACT_enter &&
									 rows.keeps_place));
	}
	if (d->act != ACT_select && d->act != ACT_push && d->act != ACT_pull)
		assert_int_equal(d->to, d->cpu);
	if (d->act != ACT_preempt && d->act != ACT_tick && d->act != ACT_pick)
		assert_int_equal(d->answer, 1);
	if (d->nr_rows)
		assert_int_equal(d->active, rows.active);
	if (d->policy == CLASS_POLICY_fair_server)
		judge_server(m, d);
	else if (d->pid)
		judge_subject(m, d);
	else
		judge_no_subject(m, d);
	if (d->nr_rows == rows.nr_tasks + rows.nr_servers)
		memset(&rows, 0, sizeof(rows));
	else
		rows.nr_tasks -= d->nr_rows;
	rows.nr_cpus = rows.next_cpu = 0;
}

static void judge_event(struct machine *m, const struct sched_event *event)
{
	const struct event_sched_decision_task *row = (const void *)event;
	bool is_row = event->type == EVENT_ID_sched_decision_task ||
		      event->type == EVENT_ID_sched_decision_level;

	if (is_row && !rows.nr_tasks && !rows.nr_servers && !rows.nr_cpus)
		rows.active = rq_of(m, event->cpu)->active;
	if (event->type == EVENT_ID_sched_decision_task) {
		rows.server_last = row->flags & DECISION_SERVER;
		if (row->flags & DECISION_SERVER)
			judge_server_row(m, row);
		else
			judge_task_row(m, row);
	} else if (event->type == EVENT_ID_sched_decision_level) {
		judge_level_row(m, (const void *)event);
	} else if (event->type == EVENT_ID_sched_decision_class) {
		m->nr_trace--; /* the record itself is not one of its rows */
		judge_record(m, (const void *)event);
		m->nr_trace++;
	}
}

/* --- operations ------------------------------------------------------------------------------- */

static void change(struct machine *m, struct prng *rng, struct task *t)
{
	static const struct sched_attr_req attrs[] = {
		{ .policy = SCHED_FIFO, .rt_priority = 10 },
		{ .policy = SCHED_FIFO, .rt_priority = 50 },
		{ .policy = SCHED_RR, .rt_priority = 10 },
		{ .policy = SCHED_RR, .rt_priority = 50 },
		{ .policy = SCHED_NORMAL },
		{ .policy = SCHED_DEADLINE,
		  .runtime_ns = 2 * MS,
		  .deadline_ns = 8 * MS,
		  .period_ns = 12 * MS },
		{ .policy = SCHED_DEADLINE,
		  .runtime_ns = 3 * MS,
		  .deadline_ns = 20 * MS,
		  .period_ns = 20 * MS },
	};

	sched_set_attr(m->s, t, &attrs[prng_below(rng, ARRAY_SIZE(attrs))]);
}

static void operate(struct machine *m, struct prng *rng)
{
	struct task *t = subject[prng_below(rng, TASKS)];
	unsigned cpu = prng_below(rng, CPUS);
	bool busy = running(m, cpu) != &m->idle[cpu];
	struct cpumask mask = { { 1 + prng_below(rng, BIT(CPUS) - 1) } };

	switch (prng_below(rng, 12)) {
	case 0:
		change(m, rng, t);
		break;
	case 1:
		sched_set_affinity(m->s, t, &mask);
		break;
	case 2 ... 3:
		if (busy)
			block(m, cpu, TASK_INTERRUPTIBLE);
		break;
	case 4 ... 6:
		wake(m, t, cpu);
		break;
	case 7:
		if (busy) {
			sched_yield(m->s, cpu);
			switch_cpu(m, cpu, true);
		}
		break;
	default:
		tick(m);
	}
	settle(m);
}

static void every_field_is_that_of_its_subject(void **state)
{
	enum { MACHINES = 8, STEPS = 800 };
	struct prng rng;

	(void)state;
	prng_seed(&rng, 1);
	for (unsigned n = 0; n < MACHINES; n++) {
		struct machine *m = machine_new(CPUS, n % 2 ? 1000 : 250);
		char name[] = "task-A";

		set_tunable(m, "sched_rt_runtime_us", n % 4 < 2 ? "-1" : "60000");
		set_tunable(m, "sched_rr_timeslice_ms", "8");
		memset(subject, 0, sizeof(subject));
		memset(&rows, 0, sizeof(rows));
		for (unsigned i = 0; i < TASKS; i++) {
			subject[i] = spawn_nice(m, name, 0);
			name[5]++;
		}
		m->on_trace = judge_event;
		sched_trace_set(m->s, CLASS_DECISION_EVENTS);
		for (unsigned i = 0; i < STEPS; i++) {
			operate(m, &rng);
			sched_check(m->s);
		}
		machine_free(m);
	}
	for (unsigned act = 0; act <= ACT_pull; act++)
		assert_true(counts[act] > 0);
}

/* --- what recording must not do --------------------------------------------------------------- */

/* Budgets, slices, times and running tasks as one number. */
static u64 digest_of(struct machine *m)
{
	u64 digest = 0;

	for (unsigned i = 0; i < TASKS; i++) {
		struct task *t = subject[i];

		digest = digest * 31 + t->fair.sum_exec;
		digest = digest * 31 + (is_deadline(t) ? (u64)dl_part(t)->budget_ns : 0);
		digest = digest * 31 + (t->policy == SCHED_RR ? rt_part(t)->time_slice : 0);
	}
	for (unsigned cpu = 0; cpu < CPUS; cpu++) {
		digest = digest * 31 + (u64)running(m, cpu)->pid;
		digest = digest * 31 + rq_of(m, cpu)->run_ns + rq_of(m, cpu)->nr_running;
		digest = digest * 31 + rt_seen(rq_of(m, cpu))->used_ns;
	}
	return digest;
}

/* Without the event of rows there are none to be counted; rows come with a record only. */
static void judge_parts(struct machine *m, u64 events)
{
	bool whole = events & BIT(EVENT_sched_decision_class);

	if (!whole)
		assert_int_equal(m->nr_trace, 0);
	for (unsigned i = 0; i < m->nr_trace; i++) {
		const struct event_sched_decision_class *d = (const void *)m->trace[i].bytes;

		if (d->common.type != EVENT_ID_sched_decision_class)
			continue;
		if (!(events & BIT(EVENT_sched_decision_task)))
			assert_int_equal(d->nr_rows, 0);
		if (!(events & BIT(EVENT_sched_decision_level)))
			assert_int_equal(d->nr_cpus, 0);
	}
}

/* Random operations under a policy with a fair server. Returns what became of them. */
static u64 drive(u64 events)
{
	struct sched_cpu_desc desc[CPUS] = { { .core = 0 }, { .core = 1 }, { .core = 2 } };
	struct machine *m = machine_new_on(CPUS, 1000, desc, "eevdf");
	struct prng rng;
	u64 digest = 0;

	prng_seed(&rng, 7);
	for (unsigned i = 0; i < TASKS; i++)
		subject[i] = spawn_nice(m, "t", 0);
	for (unsigned i = 0; i < TASKS; i++)
		change(m, &rng, subject[i]);
	settle(m);
	sched_trace_set(m->s, events);
	for (unsigned i = 0; i < 1500; i++) {
		m->nr_trace = 0;
		operate(m, &rng);
		judge_parts(m, events);
		digest = digest * 31 + digest_of(m);
	}
	sched_trace_set(m->s, 0);
	machine_free(m);
	return digest;
}

/* Whichever of the events are on: an operation is made, once, and is what it was without them. */
static void recording_a_class_changes_nothing(void **state)
{
	u64 digest = drive(0);

	(void)state;
	for (u64 events = CLASS_DECISION_EVENTS; events;
	     events = (events - 1) & CLASS_DECISION_EVENTS)
		assert_int_equal(drive(events), digest);
}

/* --- long queues ------------------------------------------------------------------------------ */

/* The record about @act that was made last has so many rows of tasks, of which one is @t's. */
static void expect_rows(struct machine *m, enum class_act act, const struct task *t, unsigned nr)
{
	const struct event_sched_decision_class *d;
	unsigned at = m->nr_trace, nr_subjects = 0;

	do {
		d = (const void *)m->trace[--at].bytes;
	} while (d->common.type != EVENT_ID_sched_decision_class || d->act != act);
	assert_int_equal(d->nr_rows, nr);
	for (at -= d->nr_cpus; nr--;) {
		const struct event_sched_decision_task *row = (const void *)m->trace[--at].bytes;

		assert_int_equal(row->common.type, EVENT_ID_sched_decision_task);
		if (!(row->flags & DECISION_SUBJECT))
			continue;
		assert_int_equal(row->pid, t->pid);
		nr_subjects++;
	}
	assert_int_equal(nr_subjects, t != NULL);
}

/* Of a long queue one fewer is told than there may be rows: the last row is for the subject. */
static void a_long_queue_leaves_room_for_the_subject(void **state)
{
	static const unsigned lengths[] = { 1, 2, 62, 63, 64, 65, 100 };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct machine *m = machine_new(1, 1000);
		struct task *late = spawn(m, "late", SCHED_FIFO, 5);
		unsigned nr = lengths[i], told = min(nr, DECISION_ROWS_MAX - 1u);

		block(m, 0, TASK_INTERRUPTIBLE);
		for (unsigned n = 0; n < nr; n++)
			spawn(m, "t", SCHED_FIFO, 10);
		sched_trace_set(m->s, CLASS_DECISION_EVENTS);
		m->nr_trace = 0;
		switch_cpu(m, 0, true);
		expect_rows(m, ACT_pick, NULL, told);
		wake(m, late, 0);
		expect_rows(m, ACT_enter, late, told + 1);
		/* Now it is the last of the queue. */
		assert_int_equal(sched_set_attr(m->s, late,
						&(struct sched_attr_req){ .policy = SCHED_NORMAL }),
				 0);
		expect_rows(m, ACT_leave, late, told + 1);
		machine_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_is_that_of_its_subject),
		cmocka_unit_test(recording_a_class_changes_nothing),
		cmocka_unit_test(a_long_queue_leaves_room_for_the_subject),
	};

	return cmocka_run_group_tests_name("class record", tests, NULL, NULL);
}
