/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Balancing where CPUs have several capacities, and what the records of its passes say there. The
 * machine is a Juno: CPUs 0 and 1 have a capacity of 1024, 2 to 5 of 447. See also test_fit.c.
 */
#include "speeds.h"
#include "sched/record/pass.h"

#define ALL 0x3f

/* Four slow CPUs have five tasks, and room for more; the fast ones have none. */
static struct machine *five_on_four(void)
{
	struct machine *m = builtin_machine("juno", NULL);

	crowd(m, 2, 2, ALL);
	for (unsigned cpu = 3; cpu < 6; cpu++)
		crowd(m, cpu, 1, ALL);
	for (unsigned cpu = 0; cpu < 6; cpu++) {
		rq_of(m, cpu)->fair.avg.util_avg = 0;
		rq_of(m, cpu)->fair.avg.runnable_avg = 0;
	}
	return m;
}

/*
 * No task goes to a CPU that is more than 5 % slower than the slowest of its part, which has the
 * capacity @slowest: b * 1.05 < a, which in 1024ths is b * 1078 < a * 1024. Real-time tasks may
 * have made any CPU slow; here they have made the CPUs @which of the part, and @dst, slow.
 */
static void expect_border(struct machine *(*make)(void), unsigned dst, unsigned which, u64 slowest)
{
	u64 border = slowest * 1024 / 1078; /* so fast is too slow still */

	for (u64 here = border; here <= border + 1; here++) {
		struct machine *m = make();

		set_tunable(m, "migration_cost_ns", "0");
		rq_of(m, which)->capacity = slowest;
		rq_of(m, dst)->capacity = here;
		balance_domain(rq_of(m, dst), domain_of(m, dst, 1), CPU_IDLE);
		settle(m);
		assert_int_equal(rq_of(m, dst)->nr_running, here > border);
		machine_free(m);
	}
}

/* From a part with room. */
static void what_has_room_leaves_for_no_clearly_slower_cpu(void **state)
{
	static const u64 slowest[] = { 447, 400, 300, 100 };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(slowest); i++)
		for (unsigned which = 2; which < 6; which++)
			expect_border(five_on_four, 0, which, slowest[i]);
}

/* Two tasks share CPU 0 and want all that fast CPUs can do, while CPU 1 and the slow ones idle. */
static struct machine *two_on_one(void)
{
	struct machine *m = builtin_machine("juno", NULL);

	crowd(m, 0, 2, ALL);
	rq_of(m, 0)->fair.avg.util_avg = 0;
	rq_of(m, 0)->fair.avg.runnable_avg = 4000;
	return m;
}

/* From a part that is full. The slowest of the fast CPUs is either. */
static void what_is_full_leaves_for_no_clearly_slower_cpu(void **state)
{
	static const u64 slowest[] = { 1024, 470, 447, 300, 100 };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(slowest); i++)
		for (unsigned which = 0; which < 2; which++)
			expect_border(two_on_one, 2, which, slowest[i]);
}

/* --- records -------------------------------------------------------------------------------- */

static struct event_sched_decision_balance record;

/* A pass of CPU 0 over the whole machine that is recorded. */
static struct pass recorded_pass(struct machine *m)
{
	struct pass p = {
		.s = m->s,
		.sd = domain_of(m, 0, 1),
		.dst = rq_of(m, 0),
		.idle = CPU_IDLE,
		.cpus = m->s->online,
		.imbalance = 1,
	};

	sched_trace_set(m->s, DECISION_EVENTS);
	pass_record_begin(&p, &record);
	m->nr_trace = 0;
	return p;
}

/* A runqueue that is searched says how much it has of what is to be moved, and of nothing else. */
static void a_search_counts_what_is_to_be_moved(void **state)
{
	static const enum migration_type types[] = { MIGRATE_LOAD, MIGRATE_UTIL, MIGRATE_TASKS,
						     MIGRATE_MISFIT };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(types); i++) {
		enum migration_type type = types[i];
		struct machine *m = five_on_four();
		struct pass p;

		for (unsigned cpu = 2; cpu < 6; cpu++) {
			rq_of(m, cpu)->fair.avg.load_avg = 1000 + cpu;
			rq_of(m, cpu)->fair.avg.util_avg = 300 + cpu;
			rq_of(m, cpu)->fair.avg.util_est_enqueued = 0;
			rq_of(m, cpu)->misfit_load = 500 + cpu;
			rq_of(m, cpu)->capacity = 430 + cpu;
		}
		p = recorded_pass(m);
		p.type = type;
		find_busiest_queue(&p, p.sd->parts->next);
		assert_int_equal(m->nr_trace, 4);
		for (unsigned cpu = 2; cpu < 6; cpu++) {
			const struct event_sched_decision_runqueue *row =
				record_of(m, EVENT_ID_sched_decision_runqueue, cpu - 2);

			assert_int_equal(row->look, LOOK_searched);
			assert_int_equal(row->of_cpu, cpu);
			assert_int_equal(row->part, 2);
			assert_int_equal(row->cache, 2);
			assert_int_equal(row->nr_fair, cpu == 2 ? 2 : 1);
			assert_int_equal(row->nr_running, 0);
			assert_int_equal(row->load, type == MIGRATE_LOAD ? 1000 + cpu : 0);
			assert_int_equal(row->util, type == MIGRATE_UTIL ? 300 + cpu : 0);
			assert_int_equal(row->misfit, type == MIGRATE_MISFIT ? 500 + cpu : 0);
			assert_int_equal(row->runnable, 0);
			assert_int_equal(row->capacity, 430 + cpu);
			assert_int_equal(row->full, 447);
		}
		sched_trace_set(m->s, 0);
		machine_free(m);
	}
}

/* Of a fair task it is said whether its CPU has enough for it, of no other, and only here. */
static void only_of_fair_tasks_it_is_said_that_they_fit(void **state)
{
	enum { SMALL, LARGE, REAL_TIME, DEADLINE, CASES };

	(void)state;
	for (unsigned what = 0; what < CASES; what++)
		for (unsigned uneven = 0; uneven < 2; uneven++) {
			struct machine *m =
				uneven ? builtin_machine("juno", NULL) : cold_machine(1, 2, 3, 1);
			struct pass p;
			struct task *t = what == REAL_TIME ? spawn(m, "fifo", SCHED_FIFO, 5)
					 : what == DEADLINE
						 ? spawn_dl(m, "dl", MS, 10 * MS, 10 * MS)
						 : pinned(m, 2);
			const struct event_sched_decision_movable *row;
			struct rq *rq = rq_of(m, t->cpu);

			settle(m);
			assert_task(running(m, rq->cpu), t);
			rq->capacity = 447;
			t->fair.avg.util_avg = what == LARGE ? 400 : 100;
			p = recorded_pass(m);
			host_lock(&rq->lock);
			pass_record_task(&p, rq, t, FATE_running);
			host_unlock(&rq->lock);
			row = last_record(m, EVENT_ID_sched_decision_movable);
			assert_int_equal(row->pid, t->pid);
			assert_int_equal(!!(row->flags & DECISION_MOVABLE_FITS),
					 uneven && what == SMALL);
			assert_int_equal(!!(row->flags & DECISION_MOVABLE_PUSHABLE), what <= LARGE);
			sched_trace_set(m->s, 0);
			machine_free(m);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_room_leaves_for_no_clearly_slower_cpu),
		cmocka_unit_test(what_is_full_leaves_for_no_clearly_slower_cpu),
		cmocka_unit_test(a_search_counts_what_is_to_be_moved),
		cmocka_unit_test(only_of_fair_tasks_it_is_said_that_they_fit),
	};

	return cmocka_run_group_tests_name("uneven", tests, NULL, NULL);
}
