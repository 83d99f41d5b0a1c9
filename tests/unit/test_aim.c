/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * At which CPU a wakeup aims, and at which level that is decided (docs/sources.md, Linux 6.1):
 * where the search for an idle CPU begins. See also test_placement.c.
 */
#include "smp.h"
#include "sched/observe/decision.h"

#define WAKER 0

/* A sleeping task whose last CPU is @cpu, with a load of 10. */
static struct task *loaded_on(struct machine *m, unsigned cpu)
{
	struct task *t = sleeper_on(m, cpu);

	t->fair.avg.load_avg = 10;
	return t;
}

/* Wakes @t on WAKER. Returns the record of the placement. */
static const struct event_sched_decision_select *woken(struct machine *m, struct task *t)
{
	sched_trace_set(m->s, DECISION_EVENTS);
	m->nr_trace = 0;
	sched_wake(m->s, t, TASK_NORMAL, WAKER, 0);
	return record_of(m, EVENT_ID_sched_decision_select, 0);
}

/*
 * Whether a CPU idles goes before what is loaded: loads are compared only where that has not
 * decided. The waker's CPU has hardly any load, the last one much of it, though it may idle.
 */
static void loads_are_compared_where_idleness_decides_nothing(void **state)
{
	(void)state;
	for (unsigned by_idleness = 0; by_idleness < 2; by_idleness++)
		for (unsigned by_load = 0; by_load < 2; by_load++)
			for (unsigned idles = 0; idles < 2; idles++) {
				struct machine *m = machine_of(1, 2, 2, 1, NULL);
				struct task *t = loaded_on(m, 2);
				bool stays = by_idleness && idles;
				const struct event_sched_decision_select *d;

				set_feature(m, by_idleness ? "WA_IDLE" : "NO_WA_IDLE");
				set_feature(m, by_load ? "WA_WEIGHT" : "NO_WA_WEIGHT");
				crowd(m, WAKER, 1, BIT(WAKER));
				if (!idles)
					crowd(m, 2, 1, BIT(2));
				rq_of(m, WAKER)->fair.avg.load_avg = 20;
				rq_of(m, 2)->fair.avg.load_avg = 5000;
				d = woken(m, t);
				assert_int_equal(d->aimed, by_load && !stays ? WAKER : 2);
				if (stays || by_load)
					assert_int_equal(d->aim, stays ? AIM_last_idles
								       : AIM_waker_lighter);
				machine_free(m);
			}
}

/* An interrupt wakes a task on an idle CPU: that one is taken, unless the last one idles too. */
static void an_idle_waker_draws_what_shares_its_cache(void **state)
{
	static const struct {
		unsigned last;
		bool last_idles;
		unsigned aimed;
	} cases[] = { { 1, true, 1 }, { 1, false, WAKER }, { 2, true, 2 }, { 2, false, 2 } };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct machine *m = machine_of(1, 2, 2, 1, NULL);
		struct task *t = loaded_on(m, cases[i].last);
		const struct event_sched_decision_select *d;

		set_feature(m, "NO_WA_WEIGHT");
		if (!cases[i].last_idles)
			crowd(m, cases[i].last, 1, BIT(cases[i].last));
		d = woken(m, t);
		assert_int_equal(d->aimed, cases[i].aimed);
		if (cases[i].aimed == WAKER)
			assert_int_equal(d->aim, AIM_waker_idles);
		machine_free(m);
	}
}

/* Where both idle the task goes to the CPU that is aimed at, which here is less loaded, at once. */
static void the_cpu_aimed_at_goes_before_its_own(void **state)
{
	struct machine *m = machine_of(1, 2, 2, 1, NULL);
	struct task *t = loaded_on(m, 1);
	const struct event_sched_decision_select *d;

	(void)state;
	set_feature(m, "NO_WA_IDLE");
	rq_of(m, WAKER)->fair.avg.load_avg = 20;
	rq_of(m, 1)->fair.avg.load_avg = 5000;
	d = woken(m, t);
	assert_int_equal(d->aimed, WAKER);
	assert_int_equal(t->cpu, WAKER);
	machine_free(m);
}

/* A task that may not run on the waker's CPU is not drawn there, however light that is. */
static void who_may_not_come_is_not_drawn(void **state)
{
	(void)state;
	for (unsigned allowed = 0; allowed < 2; allowed++) {
		struct machine *m = machine_of(1, 2, 2, 1, NULL);
		struct task *t = loaded_on(m, 2);

		set_feature(m, "NO_WA_IDLE");
		crowd(m, WAKER, 1, BIT(WAKER));
		rq_of(m, WAKER)->fair.avg.load_avg = 20;
		rq_of(m, 2)->fair.avg.load_avg = 5000;
		if (!allowed)
			allow(m, t, (struct cpumask){ { BIT(2) | BIT(3) } });
		assert_int_equal(woken(m, t)->aimed, allowed ? WAKER : 2);
		machine_free(m);
	}
}

/* A measurement for a task leaves out its own part: it counts where it is, if it is known. */
static void a_measurement_leaves_the_task_out(void **state)
{
	(void)state;
	for (unsigned queued = 0; queued < 2; queued++)
		for (unsigned here = 0; here < 2; here++) {
			struct machine *m = machine_of(1, 2, 2, 1, NULL);
			struct task *t = put(m, here ? 0 : 2);
			struct pelt *cpu = &rq_of(m, 0)->fair.avg;
			struct group_stats gs;
			bool counted = here && queued;

			if (!queued)
				block(m, t->cpu, TASK_INTERRUPTIBLE);
			crowd(m, 0, 1, BIT(0));
			t->fair.avg.load_avg = 100;
			t->fair.avg.util_avg = 200;
			t->fair.avg.runnable_avg = 300;
			cpu->load_avg = 1000;
			cpu->util_avg = 700;
			cpu->util_est_enqueued = 0;
			cpu->runnable_avg = 2000;
			gs = group_measure(m->s, domain_of(m, 0, 1)->parts, &m->s->online, t, 117,
					   false);
			assert_int_equal(gs.load, here ? 900 : 1000);
			assert_int_equal(gs.util, here ? 500 : 700);
			assert_int_equal(gs.runnable, here ? 1700 : 2000);
			assert_int_equal(gs.nr_running, counted ? 1 : rq_of(m, 0)->nr_running);
			assert_int_equal(gs.idle_cpus, 1);
			machine_free(m);
		}
}

/*
 * The lowest level that has both CPUs decides, and counts the wakeup, if it is one for wakeups
 * (SD_WAKE_AFFINE); without such a level the task aims at its last CPU.
 */
static void the_lowest_level_of_both_decides(void **state)
{
	static const struct {
		unsigned last;
		bool near_on, far_on;
		int decides; /* the level; -1: none */
	} cases[] = {
		{ 1, true, true, 0 },	 { 1, false, true, 1 },	  { 1, true, false, 0 },
		{ 1, false, false, -1 }, { 2, true, true, 1 },	  { 2, false, true, 1 },
		{ 2, true, false, -1 },	 { 2, false, false, -1 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct machine *m = cold_machine(1, 2, 2, 1);
		struct task *t = loaded_on(m, cases[i].last);

		set_feature(m, "NO_WA_IDLE");
		crowd(m, WAKER, 1, BIT(WAKER));
		rq_of(m, WAKER)->fair.avg.load_avg = 20;
		rq_of(m, cases[i].last)->fair.avg.load_avg = 5000;
		for (unsigned level = 0; level < 2; level++) {
			struct domain *sd = domain_of(m, WAKER, level);

			if (!(level ? cases[i].far_on : cases[i].near_on))
				sd->flags &= ~(u32)SD_WAKE_AFFINE;
			sd->ttwu_wake_remote = sd->ttwu_move_affine = 0;
		}
		assert_int_equal(woken(m, t)->aimed, cases[i].decides < 0 ? cases[i].last : WAKER);
		for (int level = 0; level < 2; level++) {
			struct domain *sd = domain_of(m, WAKER, (unsigned)level);

			assert_int_equal(sd->ttwu_wake_remote, level == cases[i].decides);
			assert_int_equal(sd->ttwu_move_affine, level == cases[i].decides);
		}
		machine_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loads_are_compared_where_idleness_decides_nothing),
		cmocka_unit_test(an_idle_waker_draws_what_shares_its_cache),
		cmocka_unit_test(the_cpu_aimed_at_goes_before_its_own),
		cmocka_unit_test(who_may_not_come_is_not_drawn),
		cmocka_unit_test(a_measurement_leaves_the_task_out),
		cmocka_unit_test(the_lowest_level_of_both_decides),
	};

	return cmocka_run_group_tests_name("aim", tests, NULL, NULL);
}
