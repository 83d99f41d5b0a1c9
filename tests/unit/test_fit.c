/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUs of several capacities: what fits a CPU, and how a task that does not gets to a faster one.
 * The machine is a Juno: CPUs 0 and 1 have a capacity of 1024, 2 to 5 of 447.
 */
#include <stdlib.h>

#include "group.h"
#include "sched/balance/fit.h"
#include "sched/balance/pass.h"
#include "sched/fair/core/class.h"
#include "speeds.h"

#define ALL 0x3f

static struct machine *juno(void)
{
	return builtin_machine("juno", NULL);
}

static void note(struct machine *m, unsigned cpu)
{
	host_lock(&rq_of(m, cpu)->lock);
	fit_note(rq_of(m, cpu));
	host_unlock(&rq_of(m, cpu)->lock);
}

/* A task alone on @cpu that uses @util, and may run on @mask. */
static struct task *user(struct machine *m, unsigned cpu, u64 util, u64 mask)
{
	struct task *t;

	crowd(m, cpu, 1, mask);
	switch_cpu(m, cpu, true);
	t = running(m, cpu);
	t->fair.avg.util_avg = rq_of(m, cpu)->fair.avg.util_avg = util;
	note(m, cpu);
	return t;
}

enum came { STAYED, CAME };

static enum came pass(struct machine *m, unsigned cpu, unsigned level, enum idle_type idle)
{
	balance_domain(rq_of(m, cpu), domain_of(m, cpu, level), idle);
	settle(m);
	sched_check(m->s);
	return rq_of(m, cpu)->nr_running ? CAME : STAYED;
}

/* --- what fits ----------------------------------------------------------------------------- */

static void a_fifth_of_a_cpu_is_to_be_left(void **state)
{
	struct machine *m = juno();

	(void)state;
	assert_true(util_fits(rq_of(m, 2), 357, 0, 1024));
	assert_false(util_fits(rq_of(m, 2), 358, 0, 1024));
	assert_true(util_fits(rq_of(m, 0), 819, 0, 1024));
	assert_false(util_fits(rq_of(m, 0), 820, 0, 1024));
	/* Real-time tasks may leave little of it. */
	rq_of(m, 0)->capacity = 447;
	assert_false(util_fits(rq_of(m, 0), 358, 0, 1024));
	machine_free(m);
}

static void clamps_decide_what_fits(void **state)
{
	static const struct {
		unsigned cpu;
		u64 util, least, most;
		bool fits;
	} cases[] = {
		{ 2, 1000, 0, 447, true },    { 2, 1000, 0, 448, false },
		{ 0, 1000, 0, 1024, false },  { 0, 1000, 0, 1023, true },
		{ 2, 100, 447, 1024, true },  { 2, 100, 448, 1024, false },
		{ 2, 100, 800, 400, true },   { 2, 358, 300, 1024, false },
		{ 0, 100, 1024, 1024, true }, { 2, 300, 200, 1024, true },
	};
	struct machine *m = juno();

	(void)state;
	m->s->freq->clamped = true;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(util_fits(rq_of(m, cases[i].cpu), cases[i].util, cases[i].least,
					   cases[i].most),
				 cases[i].fits);
	machine_free(m);
}

/* A task counts for what it used before it slept, though its average has decayed since. */
static void the_estimate_counts(void **state)
{
	struct machine *m = juno();
	struct task *t = user(m, 2, 100, ALL);

	(void)state;
	assert_true(task_fits(rq_of(m, 2), t));
	t->fair.avg.util_est_ewma = 600;
	assert_false(task_fits(rq_of(m, 2), t));
	t->fair.avg.util_est_ewma = 0;
	machine_free(m);
}

/* --- the note ------------------------------------------------------------------------------ */

static void a_misfit_is_noted_while_it_runs(void **state)
{
	struct machine *m = juno();
	struct task *t = user(m, 2, 900, ALL);

	(void)state;
	assert_true(rq_of(m, 2)->misfit_load > 0);
	t->fair.avg.util_avg = 300;
	note(m, 2);
	assert_int_equal(rq_of(m, 2)->misfit_load, 0);
	t->fair.avg.util_avg = 900;
	note(m, 2);
	block(m, 2, TASK_INTERRUPTIBLE);
	assert_int_equal(rq_of(m, 2)->misfit_load, 0);
	sched_check(m->s);
	machine_free(m);
}

static void a_tick_notes_it(void **state)
{
	struct machine *m = juno();

	(void)state;
	user(m, 2, 900, ALL);
	rq_of(m, 2)->misfit_load = 0;
	sched_tick(m->s, 2);
	assert_true(rq_of(m, 2)->misfit_load > 0);
	machine_free(m);
}

/* A task that may run there only cannot be helped. */
static void a_pinned_task_is_no_misfit(void **state)
{
	struct machine *m = juno();

	(void)state;
	user(m, 2, 900, 4);
	assert_int_equal(rq_of(m, 2)->misfit_load, 0);
	machine_free(m);
}

static void domains_know_where_cpus_differ(void **state)
{
	struct machine *m = juno();

	(void)state;
	for (unsigned cpu = 0; cpu < 6; cpu++) {
		assert_int_equal(domain_of(m, cpu, 0)->flags & SD_ASYM_CPUCAPACITY, 0);
		assert_int_equal(domain_of(m, cpu, 0)->flags & SD_PREFER_SIBLING, 0);
		assert_true(domain_of(m, cpu, 1)->flags & SD_ASYM_CPUCAPACITY);
	}
	machine_free(m);
	m = cold_machine(1, 2, 2, 1);
	assert_int_equal(domain_of(m, 0, 1)->flags & SD_ASYM_CPUCAPACITY, 0);
	assert_true(domain_of(m, 0, 0)->flags & SD_PREFER_SIBLING);
	assert_false(rq_of(m, 0)->uneven);
	machine_free(m);
}

/* --- balancing ----------------------------------------------------------------------------- */

static void a_misfit_comes_to_a_faster_cpu(void **state)
{
	struct machine *m = juno();
	struct task *t = user(m, 4, 900, ALL);

	(void)state;
	assert_int_equal(pass(m, 0, 1, CPU_IDLE), CAME);
	assert_int_equal(t->cpu, 0);
	machine_free(m);
}

/* 5 % more are no reason; real-time tasks may have made a fast CPU slow. */
static void it_does_not_come_to_one_that_is_hardly_faster(void **state)
{
	(void)state;
	for (u64 capacity = 470; capacity <= 471; capacity++) {
		struct machine *m = juno();

		user(m, 4, 900, ALL);
		crowd(m, 4, 1, ALL);
		rq_of(m, 4)->curr->fair.exec_start = 0;
		rq_of(m, 4)->misfit_load = 1024;
		rq_of(m, 0)->capacity = capacity;
		assert_int_equal(pass(m, 0, 1, CPU_IDLE), capacity == 471 ? CAME : STAYED);
		machine_free(m);
	}
}

static void it_stays_where_the_fast_cpus_have_no_room(void **state)
{
	struct machine *m = juno();
	struct task *t = user(m, 4, 900, ALL);

	(void)state;
	user(m, 0, 1000, ALL);
	user(m, 1, 1000, ALL);
	assert_int_equal(pass(m, 0, 1, CPU_BUSY), CAME);
	assert_int_equal(t->cpu, 4);
	assert_int_equal(rq_of(m, 0)->nr_running, 1);
	machine_free(m);
}

/* A task that waits comes only if it needs more than the CPU where it waits, 447, has to spare. */
static void what_fits_stays(void **state)
{
	static const struct {
		u64 util;
		unsigned cpu;
	} golden[] = { { 100, 4 }, { 357, 4 }, { 358, 0 }, { 819, 0 } };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		struct machine *m = juno();
		struct task *waits = user(m, 4, 900, ALL);

		crowd(m, 4, 1, ALL);
		if (running(m, 4) == waits)
			waits = list_first(&rq_of(m, 4)->fair_tasks, struct task, link);
		waits->fair.avg.util_avg = golden[i].util;
		rq_of(m, 4)->misfit_load = 1024;
		assert_true(waits != running(m, 4));
		pass(m, 0, 1, CPU_IDLE);
		if (waits->cpu != golden[i].cpu)
			fail_msg(
				"a task with a utilisation of %lu waits on a CPU of 447, and after "
				"a pass for a CPU of 1024 it is on CPU %u, where %u is right",
				golden[i].util, waits->cpu, golden[i].cpu);
		assert_int_equal(rq_of(m, 0)->nr_running, 1); /* it, or who ran there */
		machine_free(m);
	}
}

/* One CPU of the slow ones is compared by its tasks, not by CPUs that idle: half of four move. */
static void a_part_of_one_cpu_is_compared_by_tasks(void **state)
{
	struct machine *m = juno();
	struct pass p = { .s = m->s, .sd = domain_of(m, 0, 1), .dst = rq_of(m, 0) };

	(void)state;
	crowd(m, 4, 4, BIT(4));
	/* So much does not fit, and yet the part is not overloaded. */
	rq_of(m, 4)->fair.avg.util_avg = rq_of(m, 4)->fair.avg.runnable_avg = 370;
	p.sd->parts->next->imbalance = false; /* affinity is not the matter */
	p.idle = CPU_IDLE;
	p.cpus.bits[0] = BIT(0) | BIT(1) | BIT(4);
	assert_non_null(find_busiest_group(&p));
	if (p.type != MIGRATE_TASKS || p.imbalance != 2)
		fail_msg("%lld (%s) are to move to two CPUs that idle from one that has four "
			 "tasks, where 2 tasks are right",
			 (long long)p.imbalance, p.type == MIGRATE_TASKS ? "tasks" : "no tasks");
	machine_free(m);
}

/*
 * Idle slow CPUs take no task that is alone on a fast one, not even after failures: whether it is
 * a misfit there or not, and though affinity hindered balancing among the fast ones.
 */
static void a_slow_cpu_does_not_rob_fast_ones(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct machine *m = juno();
		unsigned noted = i % 2;

		for (unsigned cpu = 0; cpu < 2; cpu++) {
			user(m, cpu, 1000, ALL);
			rq_of(m, cpu)->misfit_load = noted;
		}
		domain_of(m, 2, 1)->parts->next->imbalance = i / 2;
		for (unsigned n = 0; n < 10; n++)
			assert_int_equal(pass(m, 2, 1, CPU_IDLE), STAYED);
		machine_free(m);
	}
}

/* Fast CPUs that have enough for all their tasks keep them, though some wait for a turn. */
static void fast_cpus_with_room_keep_their_tasks(void **state)
{
	struct machine *m = juno();

	(void)state;
	user(m, 0, 200, ALL);
	user(m, 1, 200, ALL);
	crowd(m, 0, 2, ALL);
	rq_of(m, 0)->fair.avg.util_avg = rq_of(m, 0)->fair.avg.runnable_avg = 600;
	assert_int_equal(pass(m, 2, 1, CPU_IDLE), STAYED);
	machine_free(m);
}

static void its_tick_calls_for_help(void **state)
{
	(void)state;
	for (unsigned cpu = 0; cpu <= 2; cpu += 2) {
		struct machine *m = juno();
		u64 kicks;

		user(m, cpu, 900, ALL);
		for (unsigned other = 0; other < 6; other++)
			if (other != cpu)
				sched_tick_can_stop(m->s, other);
		m->s->nohz_next_balance = 0;
		kicks = rq_of(m, cpu)->nohz_kick_count;
		sched_tick(m->s, cpu);
		/* There is no faster CPU than 0. */
		assert_int_equal(rq_of(m, cpu)->nohz_kick_count - kicks, cpu == 2);
		machine_free(m);
	}
}

/* Of a program that begins anew it is known what it uses. */
static void exec_takes_a_misfit_to_the_fast_cpus(void **state)
{
	(void)state;
	for (unsigned big = 0; big < 2; big++) {
		struct machine *m = juno();
		struct task *t = user(m, 2, big ? 900 : 200, ALL);
		unsigned to;

		host_lock(&rq_of(m, 2)->lock);
		to = fair_select_cpu(rq_of(m, 2), t, 2, SELECT_EXEC);
		host_unlock(&rq_of(m, 2)->lock);
		assert_int_equal(to < 2, big);
		machine_free(m);
	}
}

/* --- wakeups ------------------------------------------------------------------------------- */

/* A task that sleeps on @cpu and is expected to use @util. */
static struct task *sleeper(struct machine *m, unsigned cpu, u32 util)
{
	struct task *t = sleeper_on(m, cpu);

	t->recent_used_cpu = cpu;
	t->fair.avg.util_avg = t->fair.avg.util_est_enqueued = 0;
	t->fair.avg.util_est_ewma = util;
	return t;
}

/* The CPU where @t, woken from CPU 0, goes; *@rule: why. */
static unsigned goes_to(struct machine *m, struct task *t, enum cpu_rule *rule)
{
	struct rq *rq = rq_of(m, t->cpu);
	unsigned to;

	m->nr_trace = 0;
	sched_trace_set(m->s, BIT(EVENT_sched_decision_select));
	host_lock(&rq->lock);
	to = fair_select_cpu(rq, t, t->cpu, SELECT_WAKE);
	host_unlock(&rq->lock);
	*rule = ((const struct event_sched_decision_select *)record_of(
			 m, EVENT_ID_sched_decision_select, 0))
			->rule;
	return to;
}

static void a_wakee_finds_a_cpu_with_enough(void **state)
{
	static const struct {
		u32 util;
		unsigned last, to;
		enum cpu_rule rule;
	} cases[] = {
		{ 357, 4, 4, CPU_aim_free },	  { 358, 4, 0, CPU_free_and_fits },
		{ 819, 1, 1, CPU_aim_free },	  { 820, 1, 1, CPU_most_capacity },
		{ 820, 2, 0, CPU_most_capacity }, { 600, 2, 0, CPU_free_and_fits },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct machine *m = juno();
		struct task *t = sleeper(m, cases[i].last, cases[i].util);
		enum cpu_rule rule;

		assert_int_equal(goes_to(m, t, &rule), cases[i].to);
		assert_int_equal(rule, cases[i].rule);
		machine_free(m);
	}
}

static void a_wakees_clamps_count(void **state)
{
	static const struct {
		u32 util;
		u16 least, most;
		unsigned to;
	} cases[] = {
		{ 100, 448, 1024, 0 },
		{ 100, 447, 1024, 4 },
		{ 900, 0, 447, 4 },
		{ 900, 0, 448, 0 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct machine *m = juno();
		struct task *t = sleeper(m, 4, cases[i].util);
		const struct event_sched_decision_select *d;
		enum cpu_rule rule;

		m->s->freq->clamped = true;
		t->clamp.own[SCHED_CLAMP_MIN] = t->clamp.own[SCHED_CLAMP_MAX] = true;
		t->clamp.request[SCHED_CLAMP_MIN] = cases[i].least;
		t->clamp.request[SCHED_CLAMP_MAX] = cases[i].most;
		assert_int_equal(goes_to(m, t, &rule), cases[i].to);
		d = record_of(m, EVENT_ID_sched_decision_select, 0);
		assert_int_equal(d->util, cases[i].util);
		assert_int_equal(d->least, cases[i].least);
		assert_int_equal(d->most, cases[i].most);
		machine_free(m);
	}
}

/* The task gets the most capacity among free CPUs that have too little. */
static void without_a_fit_the_most_capacity_is_taken(void **state)
{
	struct machine *m = juno();
	struct task *t = sleeper(m, 3, 700);
	enum cpu_rule rule;

	(void)state;
	user(m, 0, 100, ALL);
	user(m, 1, 100, ALL);
	assert_int_equal(goes_to(m, t, &rule), 3); /* of equals the first */
	rq_of(m, 3)->capacity = rq_of(m, 4)->capacity = 400;
	assert_int_equal(goes_to(m, t, &rule), 5);
	assert_int_equal(rule, CPU_most_capacity);
	allow(m, t, (struct cpumask){ { BIT(3) | BIT(4) } });
	assert_int_equal(goes_to(m, t, &rule), 3);
	for (unsigned cpu = 2; cpu < 6; cpu++)
		user(m, cpu, 100, ALL);
	assert_int_equal(goes_to(m, t, &rule), 3);
	assert_int_equal(rule, CPU_none_free);
	machine_free(m);
}

/* Without fast CPUs all are equal, and nobody is asked for capacity. */
static void equal_cpus_in_service_are_enough(void **state)
{
	struct machine *m = juno();
	struct task *t;
	enum cpu_rule rule;

	(void)state;
	for (unsigned cpu = 0; cpu < 2; cpu++)
		assert_int_equal(sched_cpu_offline(m->s, cpu), 0);
	t = sleeper(m, 4, 900);
	assert_int_equal(goes_to(m, t, &rule), 4);
	assert_int_equal(rule, CPU_aim_free);
	machine_free(m);
}

/* The past use of a task that sleeps is forgotten as fast as that of its queue. */
static void a_sleepers_average_is_as_old_as_its_queues(void **state)
{
	(void)state;
	for (unsigned caught = 0; caught < 2; caught++) {
		struct machine *m = juno();
		struct task *t = sleeper(m, 4, 0);
		struct pelt *of = &rq_of(m, 4)->fair.avg;
		enum cpu_rule rule;

		t->fair.avg.util_avg = 600;
		t->fair.avg.util_sum = 600 * 47742;
		t->fair.avg.last_update = NS_PER_SEC;
		of->last_update = NS_PER_SEC + (caught ? 100 * NS_PER_MS : 0);
		assert_int_equal(goes_to(m, t, &rule), caught ? 4 : 0);
		machine_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fifth_of_a_cpu_is_to_be_left),
		cmocka_unit_test(clamps_decide_what_fits),
		cmocka_unit_test(the_estimate_counts),
		cmocka_unit_test(a_misfit_is_noted_while_it_runs),
		cmocka_unit_test(a_tick_notes_it),
		cmocka_unit_test(a_pinned_task_is_no_misfit),
		cmocka_unit_test(domains_know_where_cpus_differ),
		cmocka_unit_test(a_misfit_comes_to_a_faster_cpu),
		cmocka_unit_test(it_does_not_come_to_one_that_is_hardly_faster),
		cmocka_unit_test(it_stays_where_the_fast_cpus_have_no_room),
		cmocka_unit_test(what_fits_stays),
		cmocka_unit_test(a_part_of_one_cpu_is_compared_by_tasks),
		cmocka_unit_test(a_slow_cpu_does_not_rob_fast_ones),
		cmocka_unit_test(fast_cpus_with_room_keep_their_tasks),
		cmocka_unit_test(its_tick_calls_for_help),
		cmocka_unit_test(exec_takes_a_misfit_to_the_fast_cpus),
		cmocka_unit_test(a_wakee_finds_a_cpu_with_enough),
		cmocka_unit_test(a_wakees_clamps_count),
		cmocka_unit_test(without_a_fit_the_most_capacity_is_taken),
		cmocka_unit_test(equal_cpus_in_service_are_enough),
		cmocka_unit_test(a_sleepers_average_is_as_old_as_its_queues),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
