/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The record of a balancing pass (sched/observe/decision.def) has the numbers that the pass saw:
 * of runqueues, of the parts of the domain, of the tasks looked at, and of the domain itself. The
 * numbers here are put there by the tests.
 */
#include <string.h>

#include "smp.h"
#include "sched/balance/pass.h"

#define RUNQUEUE(m, i)                                                                             \
	((const struct event_sched_decision_runqueue *)record_of(                                  \
		m, EVENT_ID_sched_decision_runqueue, i))
#define PART(m, i)                                                                                 \
	((const struct event_sched_decision_part *)record_of(m, EVENT_ID_sched_decision_part, i))
#define MOVABLE(m, i)                                                                              \
	((const struct event_sched_decision_movable *)record_of(                                   \
		m, EVENT_ID_sched_decision_movable, i))
#define BALANCE(m)                                                                                 \
	((const struct event_sched_decision_balance *)record_of(                                   \
		m, EVENT_ID_sched_decision_balance, 0))

/* Two CPUs, 2 tasks on CPU 0 and 4 on CPU 1; CPU 0, busy, balances while all is recorded. */
static struct machine *recorded_pass(void)
{
	struct machine *m = cold_machine(1, 1, 2, 1);
	struct domain *sd;

	for (unsigned cpu = 0; cpu < 2; cpu++) {
		crowd(m, cpu, cpu ? 4 : 2, 3);
		rq_of(m, cpu)->fair.avg.load_avg = cpu ? 4000 : 2000;
		rq_of(m, cpu)->fair.avg.util_avg = cpu ? 1010 : 1000;
		rq_of(m, cpu)->fair.avg.runnable_avg = cpu ? 4100 : 2100;
		rq_of(m, cpu)->fair.avg.last_update = m->now;
	}
	sd = domain_of(m, 0, 0);
	sd->nr_balance_failed = 1;
	sd->imb_numa_nr = 7;
	sched_trace_set(m->s, DECISION_EVENTS & ~FAIR_DECISION_EVENTS);
	m->nr_trace = 0;
	return m;
}

static void runqueues_and_parts_have_the_numbers_that_were_compared(void **state)
{
	struct machine *m = recorded_pass();

	(void)state;
	assert_int_equal(balance_domain(rq_of(m, 0), domain_of(m, 0, 0), CPU_BUSY), 1);
	/* First it is asked which CPU balances. */
	assert_int_equal(RUNQUEUE(m, 0)->look, LOOK_asked);
	assert_int_equal(RUNQUEUE(m, 0)->flags, 0);
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		const struct event_sched_decision_runqueue *rq = RUNQUEUE(m, 1 + cpu);
		const struct event_sched_decision_part *part = PART(m, cpu);

		assert_int_equal(rq->look, LOOK_measured);
		assert_int_equal(rq->of_cpu, cpu);
		assert_int_equal(rq->part, cpu);
		assert_int_equal(rq->cache, 0);
		assert_int_equal(rq->flags, 0);
		assert_int_equal(rq->nr_running, cpu ? 4 : 2);
		assert_int_equal(rq->nr_fair, cpu ? 4 : 2);
		assert_int_equal(rq->load, cpu ? 4000 : 2000);
		assert_int_equal(rq->util, cpu ? 1010 : 1000);
		assert_int_equal(rq->runnable, cpu ? 4100 : 2100);
		assert_int_equal(rq->capacity, 1024);
		assert_int_equal(part->part, cpu);
		assert_int_equal(part->state, GROUP_OVERLOADED);
		assert_int_equal(part->flags, cpu ? 0 : DECISION_PART_LOCAL);
		assert_int_equal(part->size, 1);
		assert_int_equal(part->weight, 1);
		assert_int_equal(part->nr_running, cpu ? 4 : 2);
		assert_int_equal(part->nr_fair, cpu ? 4 : 2);
		assert_int_equal(part->idle_cpus, 0);
		assert_int_equal(part->load, cpu ? 4000 : 2000);
		assert_int_equal(part->avg_load, cpu ? 4000 : 2000);
		assert_int_equal(part->misfit, 0);
	}
	/* Then the busiest runqueue is searched. */
	assert_int_equal(RUNQUEUE(m, 3)->look, LOOK_searched);
	assert_int_equal(RUNQUEUE(m, 3)->of_cpu, 1);
	assert_int_equal(RUNQUEUE(m, 3)->nr_fair, 4);
	assert_int_equal(RUNQUEUE(m, 3)->load, 4000);
	assert_int_equal(RUNQUEUE(m, 3)->util, 0);
	assert_int_equal(RUNQUEUE(m, 3)->capacity, 1024);
	machine_free(m);
}

/* 4000 and 2000 are 3000 on average: 1000 should move. */
static void a_pass_has_the_domains_numbers_and_its_result(void **state)
{
	struct machine *m = recorded_pass();
	const struct domain *sd = domain_of(m, 0, 0);
	const struct event_sched_decision_balance *d;

	(void)state;
	assert_int_equal(balance_domain(rq_of(m, 0), domain_of(m, 0, 0), CPU_BUSY), 1);
	d = BALANCE(m);
	assert_int_equal(d->cpu, 0);
	assert_int_equal(d->idleness, CPU_BUSY);
	assert_int_equal(d->rule, BALANCE_loads_differ);
	assert_int_equal(d->outcome, OUTCOME_moved);
	assert_int_equal(d->round, 0);
	assert_int_equal(d->flags & DECISION_BALANCE_LB_MIN, 0);
	assert_int_equal(d->domain, sd->flags);
	assert_int_equal(d->local, 0);
	assert_int_equal(d->busiest, 1);
	assert_int_equal(d->source, 1);
	assert_int_equal(d->source_running, 4);
	assert_int_equal(d->imbalance, 1000);
	assert_int_equal(d->nr_moved, 1);
	assert_int_equal(d->failed, 1);
	assert_int_equal(d->failed_now, 0);
	assert_int_equal(d->imbalance_pct, 117);
	assert_int_equal(d->imb_numa_nr, 7);
	assert_int_equal(d->cache_nice_tries, sd->cache_nice_tries);
	assert_int_equal(d->nr_migrate, m->s->tunable.nr_migrate);
	assert_int_equal(d->hot_ns, 0);
	machine_free(m);
}

/* From the last one that came to the first; the one that runs stays. */
static void tasks_looked_at_have_their_state_and_their_fate(void **state)
{
	struct machine *m = recorded_pass();
	struct rq *src = rq_of(m, 1);
	struct task *waits = list_last(&src->fair_tasks, struct task, link);
	unsigned at = waits == running(m, 1);
	const struct event_sched_decision_movable *t;

	(void)state;
	if (at)
		waits = list_entry(waits->link.prev, struct task, link);
	set_feature(m, "LB_MIN");
	waits->fair.exec_start = src->clock - 5000;
	waits->fair.avg.load_avg = 0; /* it counts as 1 */
	assert_int_equal(balance_domain(rq_of(m, 0), domain_of(m, 0, 0), CPU_BUSY), 2);
	t = MOVABLE(m, at);
	assert_int_equal(t->pid, waits->pid);
	assert_int_equal(t->to, 0);
	assert_int_equal(t->fate, FATE_moved);
	assert_int_equal(t->flags & ~DECISION_MOVABLE_PUSHABLE,
			 DECISION_MOVABLE_ALLOWED | DECISION_MOVABLE_COMPANY);
	assert_int_equal(t->nr_running, 4);
	assert_int_equal(t->group, 0);
	assert_int_equal(t->load, 0);
	assert_int_equal(t->since_ran, 5000);
	assert_int_equal(t->left, 1000);
	assert_int_equal(MOVABLE(m, at + 1)->left, 999);
	assert_int_equal(BALANCE(m)->flags & DECISION_BALANCE_LB_MIN, DECISION_BALANCE_LB_MIN);
	machine_free(m);
}

/* A part has several CPUs; each has a row with its own numbers, and the part has the sums. */
static void each_cpu_of_a_part_has_its_own_numbers(void **state)
{
	struct machine *m = cold_machine(1, 2, 2, 1);

	(void)state;
	for (unsigned cpu = 0; cpu < 4; cpu++) {
		struct pelt *avg = &rq_of(m, cpu)->fair.avg;

		crowd(m, cpu, 2 + cpu, 0xf);
		avg->load_avg = 1000 * (cpu + 1);
		avg->util_avg = 1000 + cpu;
		avg->runnable_avg = 2000 + 10 * cpu;
		avg->last_update = m->now;
	}
	leave_capacity(m, 3, 600);
	sched_trace_set(m->s, DECISION_EVENTS & ~FAIR_DECISION_EVENTS);
	m->nr_trace = 0;
	balance_domain(rq_of(m, 0), domain_of(m, 0, 1), CPU_BUSY);
	for (unsigned i = 0, cpu = 0; cpu < 4; i++) {
		const struct event_sched_decision_runqueue *rq = RUNQUEUE(m, i);

		if (rq->look != LOOK_measured)
			continue;
		assert_int_equal(rq->of_cpu, cpu);
		assert_int_equal(rq->part, cpu & ~1u);
		assert_int_equal(rq->nr_running, 2 + cpu);
		assert_int_equal(rq->nr_fair, 2 + cpu);
		assert_int_equal(rq->load, 1000 * (cpu + 1));
		assert_int_equal(rq->util, 1000 + cpu);
		assert_int_equal(rq->runnable, 2000 + 10 * cpu);
		assert_int_equal(rq->capacity, cpu == 3 ? 600 : 1024);
		cpu++;
	}
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(PART(m, i)->nr_running, i ? 9 : 5);
		assert_int_equal(PART(m, i)->load, i ? 7000 : 3000);
		assert_int_equal(PART(m, i)->runnable, i ? 4050 : 4010);
		assert_int_equal(PART(m, i)->capacity, i ? 1624 : 2048);
	}
	machine_free(m);
}

/* A newly idle pass asks first where tasks wait: there is a row for each such CPU. */
static void cpus_where_tasks_wait_have_a_row(void **state)
{
	struct machine *m = cold_machine(1, 2, 2, 1);
	unsigned nr = 0, nr_crowded = 0;

	(void)state;
	crowd(m, 1, 2, 0xf);
	crowd(m, 2, 1, 0xf);
	crowd(m, 3, 2, 0xf);
	sched_trace_set(m->s, DECISION_EVENTS);
	m->nr_trace = 0;
	balance_domain(rq_of(m, 0), domain_of(m, 0, 1), CPU_NEWLY_IDLE);
	for (unsigned i = 0; i < m->nr_trace; i++) {
		const struct event_sched_decision_runqueue *rq = (const void *)m->trace[i].bytes;

		if (m->trace[i].common.type != EVENT_ID_sched_decision_runqueue)
			continue;
		nr++;
		if (rq->look != LOOK_crowded)
			continue;
		assert_int_equal(rq->of_cpu, nr_crowded ? 3 : 1);
		assert_int_equal(rq->part, nr_crowded ? 2 : 0);
		nr_crowded++;
	}
	assert_int_equal(nr_crowded, 2);
	assert_int_equal(BALANCE(m)->nr_runqueues, nr);
	machine_free(m);
}

/* Every mark of a task that was looked at, and no other. */
static void a_task_that_was_looked_at_has_its_marks(void **state)
{
	enum { WAITS, PINNED, IDLE_POLICY, CASES };
	static const u8 marks[CASES] = {
		[WAITS] = DECISION_MOVABLE_ALLOWED | DECISION_MOVABLE_PUSHABLE,
		[PINNED] = DECISION_MOVABLE_PUSHABLE,
		[IDLE_POLICY] = DECISION_MOVABLE_ALLOWED | DECISION_MOVABLE_IDLE |
				DECISION_MOVABLE_PUSHABLE,
	};

	(void)state;
	for (unsigned what = 0; what < CASES; what++)
		for (unsigned company = 0; company < 2; company++) {
			struct machine *m = cold_machine(1, 1, 2, 1);
			unsigned nr = 0;

			for (unsigned n = 0; n < 4; n++) {
				struct task *t = spawn(
					m, "t", what == IDLE_POLICY ? SCHED_IDLE : SCHED_NORMAL, 0);

				allow(m, t, cpumask_of(1));
				if (what != PINNED)
					allow(m, t, cpumask_first_n(2));
			}
			crowd(m, 0, company, 1);
			rq_of(m, 1)->fair.avg.util_avg = rq_of(m, 1)->fair.avg.runnable_avg = 1024;
			rq_of(m, 1)->fair.avg.load_avg = 4096;
			sched_trace_set(m->s, DECISION_EVENTS);
			m->nr_trace = 0;
			balance_domain(rq_of(m, 0), domain_of(m, 0, 0), CPU_IDLE);
			for (; nr < BALANCE(m)->nr_tasks; nr++) {
				const struct event_sched_decision_movable *t = MOVABLE(m, nr);
				bool runs = t->pid == running(m, 1)->pid;

				assert_int_equal(t->flags,
						 marks[what] | (runs ? DECISION_MOVABLE_RUNS : 0) |
							 (company ? DECISION_MOVABLE_COMPANY : 0));
			}
			assert_true(nr > 0);
			machine_free(m);
		}
}

/* Nobody waits anywhere: the pass looks at nothing, and says why. */
static void a_newly_idle_pass_without_anybody_who_waits_says_so(void **state)
{
	struct machine *m = cold_machine(1, 1, 2, 1);

	(void)state;
	crowd(m, 1, 1, 3);
	sched_trace_set(m->s, DECISION_EVENTS);
	m->nr_trace = 0;
	assert_int_equal(balance_domain(rq_of(m, 0), domain_of(m, 0, 0), CPU_NEWLY_IDLE), 0);
	assert_int_equal(BALANCE(m)->rule, BALANCE_nobody_waits);
	assert_int_equal(BALANCE(m)->outcome, OUTCOME_skipped);
	assert_int_equal(BALANCE(m)->busiest, -1);
	assert_int_equal(BALANCE(m)->source, -1);
	assert_int_equal(BALANCE(m)->nr_parts, 0);
	machine_free(m);
}

/* Not of a pass, but of a placement: what each CPU does, and since when those idle that do. */
static void a_placement_has_a_row_for_each_cpu(void **state)
{
	struct machine *m = machine_of(1, 1, 3, 1, NULL);
	struct task *t = put(m, 0);

	(void)state;
	block(m, 0, TASK_INTERRUPTIBLE);
	crowd(m, 0, 2, BIT(0));
	crowd(m, 1, 1, BIT(1));
	allow(m, t, (struct cpumask){ { BIT(0) | BIT(2) } });
	rq_of(m, 0)->idle_stamp = rq_of(m, 1)->idle_stamp = 0;
	rq_of(m, 2)->idle_stamp = 12345;
	rq_of(m, 1)->fair.avg.load_avg = 777;
	sched_trace_set(m->s, DECISION_EVENTS);
	m->nr_trace = 0;
	sched_wake(m->s, t, TASK_NORMAL, 1, 0);
	for (unsigned i = 0; i < 3; i++) {
		const struct event_sched_decision_cpu *row =
			record_of(m, EVENT_ID_sched_decision_cpu, i);

		assert_int_equal(row->nr_running, row->of_cpu == 2 ? 0 : 2 - row->of_cpu);
		assert_int_equal(row->idle_since, row->of_cpu == 2 ? 12345 : 0);
		assert_int_equal(row->capacity, 1024);
		assert_int_equal(!!(row->flags & DECISION_CPU_IDLE), row->of_cpu == 2);
		assert_int_equal(!!(row->flags & DECISION_CPU_ALLOWED), row->of_cpu != 1);
		if (row->of_cpu == 1)
			assert_int_equal(row->load, 777);
	}
	machine_free(m);
}

/* The busiest part has a tenth more: that is within the margin, and no runqueue is searched. */
static void a_pass_that_finds_nothing_names_nobody(void **state)
{
	struct machine *m = recorded_pass();

	(void)state;
	rq_of(m, 1)->fair.avg.load_avg = 2200;
	assert_int_equal(balance_domain(rq_of(m, 0), domain_of(m, 0, 0), CPU_BUSY), 0);
	assert_int_equal(BALANCE(m)->rule, BALANCE_loads_alike);
	assert_int_equal(BALANCE(m)->outcome, OUTCOME_balanced);
	assert_int_equal(BALANCE(m)->busiest, -1);
	assert_int_equal(BALANCE(m)->source, -1);
	assert_int_equal(BALANCE(m)->imbalance, 0);
	machine_free(m);
}

/* A pair of tasks may stay on its node, however much the other node idles. */
static void a_pair_that_may_stay_is_nothing_to_move(void **state)
{
	struct machine *m = cold_machine(2, 1, 2, 1);

	(void)state;
	domain_of(m, 0, 1)->imb_numa_nr = 4;
	crowd(m, 2, 1, 0xf);
	crowd(m, 3, 1, 0xf);
	sched_trace_set(m->s, DECISION_EVENTS);
	m->nr_trace = 0;
	assert_int_equal(balance_domain(rq_of(m, 0), domain_of(m, 0, 1), CPU_IDLE), 0);
	assert_int_equal(BALANCE(m)->rule, BALANCE_nothing_to_move);
	assert_int_equal(BALANCE(m)->busiest, -1);
	machine_free(m);
}

/* When tasks are counted, the searched runqueue has neither load nor utilisation to tell. */
static void a_pass_that_counts_tasks_says_how_many(void **state)
{
	struct machine *m = cold_machine(1, 1, 2, 1);

	(void)state;
	crowd(m, 1, 2, 3);
	rq_of(m, 1)->fair.avg.util_avg = rq_of(m, 1)->fair.avg.runnable_avg = 100;
	sched_trace_set(m->s, DECISION_EVENTS);
	m->nr_trace = 0;
	assert_int_equal(balance_domain(rq_of(m, 0), domain_of(m, 0, 0), CPU_IDLE), 1);
	for (unsigned i = 0;; i++) {
		if (RUNQUEUE(m, i)->look != LOOK_searched)
			continue;
		assert_int_equal(RUNQUEUE(m, i)->nr_fair, 2);
		assert_int_equal(RUNQUEUE(m, i)->load, 0);
		assert_int_equal(RUNQUEUE(m, i)->util, 0);
		break;
	}
	machine_free(m);
}

static struct machine *traced_from_now(struct machine *m)
{
	sched_trace_set(m->s, DECISION_EVENTS);
	m->nr_trace = 0;
	return m;
}

/* Waiting tasks could not be moved for long; then the running one is asked, or may not come. */
static void a_push_of_the_running_task_is_an_outcome(void **state)
{
	(void)state;
	for (unsigned pinned = 0; pinned < 2; pinned++) {
		struct machine *m = cold_machine(1, 1, 2, 2);
		const struct event_sched_decision_movable *t;

		crowd(m, 2, 1, pinned ? BIT(2) | BIT(1) : 0xf);
		crowd(m, 3, 1, pinned ? BIT(3) | BIT(1) : 0xf);
		domain_of(m, 0, 1)->nr_balance_failed = 10;
		traced_from_now(m);
		assert_int_equal(balance_domain(rq_of(m, 0), domain_of(m, 0, 1), CPU_IDLE), 0);
		assert_int_equal(BALANCE(m)->outcome == OUTCOME_pushed, !pinned);
		assert_int_equal(BALANCE(m)->failed_now, domain_of(m, 0, 1)->nr_balance_failed);
		t = MOVABLE(m, BALANCE(m)->nr_tasks - 1u);
		if (!pinned) {
			assert_int_equal(t->fate, FATE_pushed);
			assert_true(t->flags & DECISION_MOVABLE_PUSHABLE);
			assert_true(t->flags & DECISION_MOVABLE_RUNS);
		}
		machine_free(m);
	}
}

/* All but one of the tasks fell asleep before the runqueue was locked. */
static void sleep_all_but_one(struct machine *m)
{
	while (rq_of(m, 1)->nr_running > 1)
		block(m, 1, TASK_INTERRUPTIBLE);
}

static void a_failure_says_so_and_what_is_left_to_move(void **state)
{
	struct machine *m = cold_machine(1, 1, 2, 1);

	(void)state;
	crowd(m, 1, 5, 3);
	traced_from_now(m);
	m->on_locking = sleep_all_but_one;
	assert_int_equal(balance_domain(rq_of(m, 0), domain_of(m, 0, 0), CPU_IDLE), 0);
	assert_int_equal(BALANCE(m)->outcome, OUTCOME_failed);
	assert_true(BALANCE(m)->imbalance > 0);
	assert_int_equal(BALANCE(m)->left, BALANCE(m)->imbalance);
	assert_int_equal(BALANCE(m)->nr_tasks, 0);
	machine_free(m);
}

/* The tasks that moved are no longer to be moved; where nobody is busier, nothing is left. */
static void what_is_left_is_what_did_not_move(void **state)
{
	struct machine *m = recorded_pass();

	(void)state;
	assert_int_equal(balance_domain(rq_of(m, 0), domain_of(m, 0, 0), CPU_BUSY), 1);
	assert_int_equal(BALANCE(m)->left,
			 MOVABLE(m, BALANCE(m)->nr_tasks - 1u)->left -
				 (s64)MOVABLE(m, BALANCE(m)->nr_tasks - 1u)->load);
	machine_free(m);
	m = recorded_pass();
	rq_of(m, 1)->fair.avg.load_avg = 2000;
	assert_int_equal(balance_domain(rq_of(m, 0), domain_of(m, 0, 0), CPU_BUSY), 0);
	assert_int_equal(BALANCE(m)->left, 0);
	machine_free(m);
}

/* The level above is told whether affinity hindered this one; the highest has nobody to tell. */
static void a_pass_says_what_it_told_the_level_above(void **state)
{
	(void)state;
	for (unsigned pinned = 0; pinned < 2; pinned++)
		for (unsigned caches = 1; caches < 3; caches++) {
			struct machine *m = cold_machine(1, caches, 2, 1);

			crowd(m, 1, pinned ? 3 : 1, BIT(1));
			traced_from_now(m);
			balance_domain(rq_of(m, 0), domain_of(m, 0, 0), CPU_IDLE);
			assert_int_equal(!!(BALANCE(m)->flags & DECISION_BALANCE_HINDERED),
					 pinned && caches > 1);
			assert_int_equal(!!(BALANCE(m)->flags & DECISION_BALANCE_FREE),
					 !pinned && caches > 1);
			machine_free(m);
		}
}

/* Two real-time tasks take the CPUs of the other cache, and one fair task waits behind each. */
static void where_each_runqueue_has_one_task_none_is_robbed(void **state)
{
	struct machine *m = cold_machine(1, 2, 2, 1);

	(void)state;
	for (unsigned cpu = 2; cpu < 4; cpu++) {
		allow(m, spawn(m, "fifo", SCHED_FIFO, 5), cpumask_of(cpu));
		crowd(m, cpu, 1, BIT(cpu));
		rq_of(m, cpu)->fair.avg.util_avg = rq_of(m, cpu)->fair.avg.runnable_avg = 1024;
	}
	traced_from_now(m);
	assert_int_equal(balance_domain(rq_of(m, 0), domain_of(m, 0, 1), CPU_IDLE), 0);
	assert_int_equal(BALANCE(m)->busiest, 2);
	assert_int_equal(BALANCE(m)->source, -1);
	assert_int_equal(BALANCE(m)->rule, BALANCE_no_runqueue);
	machine_free(m);
}

/* A task can be asked to go while it runs, is fair and queued, and nobody has asked before. */
static void who_can_be_pushed(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *t = spawn_nice(m, "t", 0), copy = *t;

	(void)state;
	assert_true(task_is_pushable(t));
	copy.on_rq = TASK_OFF_RQ;
	assert_false(task_is_pushable(&copy));
	copy = *t;
	copy.push_cpu = 0;
	assert_false(task_is_pushable(&copy));
	assert_false(task_is_pushable(spawn(m, "fifo", SCHED_FIFO, 1)));
	machine_free(m);
}

static void a_placement_shows_each_cpu_once(void **state)
{
	(void)state;
	for (unsigned util = 0; util < 2; util++) {
		struct machine *m = machine_of(1, 1, 4, 1, NULL);
		const struct event_sched_decision_select *d;
		struct task *t = put(m, 2);
		u64 seen = 0;

		set_feature(m, util ? "SIS_UTIL" : "NO_SIS_UTIL");
		block(m, 2, TASK_INTERRUPTIBLE);
		rq_of(m, 2)->llc->span->nr_idle_scan = 3;
		traced_from_now(m);
		sched_wake(m->s, t, TASK_NORMAL, 1, 0);
		d = record_of(m, EVENT_ID_sched_decision_select, 0);
		assert_int_equal(d->nr_rows, 4);
		assert_int_equal(d->scan, util ? 3 : CPU_MAX);
		for (unsigned i = 0; i < 4; i++) {
			const struct event_sched_decision_cpu *row =
				record_of(m, EVENT_ID_sched_decision_cpu, i);

			assert_int_equal(row->of_cpu, (d->aimed + i) % 4);
			seen |= BIT(row->of_cpu);
		}
		assert_int_equal(seen, 0xf);
		machine_free(m);
	}
}

/* With one CPU, or one that is allowed, nothing is chosen, and nothing recorded. */
static void without_a_choice_there_is_no_placement(void **state)
{
	(void)state;
	for (unsigned cpus = 1; cpus < 3; cpus++) {
		struct machine *m = machine_of(1, 1, cpus, 1, NULL);
		struct task *t = spawn_nice(m, "t", 0);

		allow(m, t, cpumask_of(0));
		block(m, 0, TASK_INTERRUPTIBLE);
		traced_from_now(m);
		wake(m, t, 0);
		for (unsigned i = 0; i < m->nr_trace; i++)
			assert_int_not_equal(m->trace[i].common.type,
					     EVENT_ID_sched_decision_select);
		machine_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runqueues_and_parts_have_the_numbers_that_were_compared),
		cmocka_unit_test(a_pass_has_the_domains_numbers_and_its_result),
		cmocka_unit_test(tasks_looked_at_have_their_state_and_their_fate),
		cmocka_unit_test(each_cpu_of_a_part_has_its_own_numbers),
		cmocka_unit_test(cpus_where_tasks_wait_have_a_row),
		cmocka_unit_test(a_task_that_was_looked_at_has_its_marks),
		cmocka_unit_test(a_newly_idle_pass_without_anybody_who_waits_says_so),
		cmocka_unit_test(a_placement_has_a_row_for_each_cpu),
		cmocka_unit_test(a_pass_that_finds_nothing_names_nobody),
		cmocka_unit_test(a_pair_that_may_stay_is_nothing_to_move),
		cmocka_unit_test(a_pass_that_counts_tasks_says_how_many),
		cmocka_unit_test(a_push_of_the_running_task_is_an_outcome),
		cmocka_unit_test(a_failure_says_so_and_what_is_left_to_move),
		cmocka_unit_test(what_is_left_is_what_did_not_move),
		cmocka_unit_test(a_pass_says_what_it_told_the_level_above),
		cmocka_unit_test(where_each_runqueue_has_one_task_none_is_robbed),
		cmocka_unit_test(who_can_be_pushed),
		cmocka_unit_test(a_placement_shows_each_cpu_once),
		cmocka_unit_test(without_a_choice_there_is_no_placement),
	};

	return cmocka_run_group_tests_name("pass_record", tests, NULL, NULL);
}
