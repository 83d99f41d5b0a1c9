/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Energy-aware scheduling: when it is on, when the machine is over-utilised, and which CPU a task
 * gets. The machine is a Juno: CPUs 0 and 1 have a capacity of 1024, 2 to 5 of 447. The energies in
 * the comments are worked out from its table by hand: power * 1000 * fastest MHz / MHz, rounded
 * down, times utilisation, by the capacity of the fastest point.
 */
#include <stdio.h>
#include <stdlib.h>

#include "group.h"
#include "lib/errno.h"
#include "sched/balance/energy.h"
#include "sched/balance/fit.h"
#include "sched/fair/core/class.h"
#include "speeds.h"

#define BIG    0
#define LITTLE 2
#define ALL    0x3f

static struct machine *machine_by(const char *table, const char *shape, const char *governor)
{
	struct machine *m = machine_new_opp(shape, table, NULL);

	govern(m, governor);
	return m;
}

static struct machine *juno(void)
{
	struct machine *m = builtin_machine("juno", NULL);

	govern(m, "schedutil");
	return m;
}

static bool is_on(const struct machine *m)
{
	sched_check(m->s);
	return energy_is_aware(m->s);
}

/* --- when it is on ------------------------------------------------------------------------- */

static void every_domain_must_be_under_schedutil(void **state)
{
	struct machine *m = juno();

	(void)state;
	assert_true(is_on(m));
	sched_freq_govern(m->s, 5, "sched");
	assert_false(is_on(m));
	sched_freq_govern(m->s, 3, "schedutil");
	assert_true(is_on(m));
	sched_freq_govern(m->s, 1, "performance");
	assert_false(is_on(m));
	/* A domain that has left does not count. */
	sched_freq_govern(m->s, 1, "schedutil");
	machine_free(m);
}

static void the_tunable_switches_it(void **state)
{
	struct machine *m = juno();

	(void)state;
	set_tunable(m, "sched_energy_aware", "0");
	assert_false(is_on(m));
	assert_int_equal(sched_tunable_write(m->s, "sched_energy_aware", "2", 1), -EINVAL);
	assert_int_equal(sched_tunable_write(m->s, "sched_energy_aware", "-1", 2), -EINVAL);
	assert_false(is_on(m));
	set_tunable(m, "sched_energy_aware", "1");
	assert_true(is_on(m));
	machine_free(m);
}

static void cpus_must_differ(void **state)
{
	struct machine *m = builtin_machine("juno-a53", NULL);

	(void)state;
	govern(m, "schedutil");
	assert_false(is_on(m));
	machine_free(m);
}

static void cpus_that_differ_may_leave(void **state)
{
	struct machine *m = juno();

	(void)state;
	assert_int_equal(sched_cpu_offline(m->s, 0), 0);
	settle(m);
	assert_true(is_on(m));
	assert_int_equal(sched_cpu_offline(m->s, 1), 0);
	settle(m);
	assert_false(is_on(m));
	sched_freq_govern(m->s, 1, "performance");
	sched_cpu_online(m->s, 1, &m->idle[1]);
	assert_false(is_on(m));
	sched_freq_govern(m->s, 1, "schedutil");
	assert_true(is_on(m));
	machine_free(m);
}

static const char two_types[] = "type a\nopp 500 512 30 10\nopp 1000 1024 100 20\nidle 5 5 0\n"
				"type b\nopp 300 150 10 5\nopp 600 300 20 8\nidle 2 3 0\n";

static void threads_of_a_core_switch_it_off(void **state)
{
	char table[512];
	struct machine *m;

	(void)state;
	snprintf(table, sizeof(table), "%sdomain 0-1 a\ndomain 2-3 b\n", two_types);
	m = machine_by(table, "llcs=2,cores=2", "schedutil");
	assert_true(is_on(m));
	machine_free(m);
	m = machine_by(table, "llcs=2,cores=1,threads=2", "schedutil");
	assert_false(is_on(m));
	machine_free(m);
}

/*
 * Each CPU is a domain of its own, with two points: n domains, 2 n points and n CPUs, n * 3 n in
 * all. 26 of them come to 2,028, 27 to 2,187.
 */
static void a_long_estimate_switches_it_off(void **state)
{
	(void)state;
	for (unsigned nr = 26; nr <= 27; nr++) {
		char table[1024], shape[32];
		struct machine *m;
		int len = snprintf(table, sizeof(table), "%s", two_types);

		for (unsigned cpu = 0; cpu < nr; cpu++)
			len += snprintf(table + len, sizeof(table) - (size_t)len, "domain %u %s\n",
					cpu, cpu % 2 ? "b" : "a");
		snprintf(shape, sizeof(shape), "llcs=1,cores=%u", nr);
		m = machine_by(table, shape, "schedutil");
		assert_int_equal(is_on(m), nr == 26);
		machine_free(m);
	}
}

/* --- over-utilised ------------------------------------------------------------------------- */

/* The averages of @cpu are these, and stay so: no time passes. */
static void uses(struct machine *m, unsigned cpu, u64 util, u32 estimate)
{
	rq_of(m, cpu)->fair.avg.util_avg = util;
	rq_of(m, cpu)->fair.avg.util_est_enqueued = estimate;
}

static bool is_over(const struct machine *m)
{
	return m->s->freq->overutilized;
}

static bool over_after_note(struct machine *m, unsigned cpu)
{
	struct task any = { .class = &fair_class };

	m->s->freq->overutilized = false;
	host_lock(&rq_of(m, cpu)->lock);
	overutilized_note(rq_of(m, cpu), &any);
	host_unlock(&rq_of(m, cpu)->lock);
	return is_over(m);
}

static void less_than_a_fifth_to_spare_is_too_little(void **state)
{
	struct machine *m = juno();

	(void)state;
	uses(m, LITTLE, 357, 0);
	assert_false(over_after_note(m, LITTLE));
	uses(m, LITTLE, 358, 0);
	assert_true(over_after_note(m, LITTLE));
	uses(m, LITTLE, 0, 358);
	assert_true(over_after_note(m, LITTLE));
	uses(m, BIG, 819, 0);
	assert_false(over_after_note(m, BIG));
	uses(m, BIG, 820, 0);
	assert_true(over_after_note(m, BIG));
	/* Real-time tasks leave half of it. */
	uses(m, BIG, 410, 0);
	rq_of(m, BIG)->capacity = 512;
	assert_true(over_after_note(m, BIG));
	uses(m, BIG, 0, 0);
	uses(m, LITTLE, 0, 0);
	machine_free(m);
}

static void a_cpu_that_may_not_go_faster_has_enough(void **state)
{
	struct machine *m = juno();

	(void)state;
	m->s->freq->clamped = true;
	uses(m, LITTLE, 400, 0);
	rq_of(m, LITTLE)->freq->clamp[SCHED_CLAMP_MAX].value = 447;
	assert_false(over_after_note(m, LITTLE));
	rq_of(m, LITTLE)->freq->clamp[SCHED_CLAMP_MAX].value = 448;
	assert_true(over_after_note(m, LITTLE));
	uses(m, LITTLE, 100, 0);
	rq_of(m, LITTLE)->freq->clamp[SCHED_CLAMP_MIN].value = 448;
	assert_true(over_after_note(m, LITTLE));
	rq_of(m, LITTLE)->freq->clamp[SCHED_CLAMP_MIN].value = 0;
	rq_of(m, LITTLE)->freq->clamp[SCHED_CLAMP_MAX].value = 1024;
	uses(m, LITTLE, 0, 0);
	machine_free(m);
}

static unsigned nr_events(const struct machine *m, unsigned value)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < m->nr_trace; i++) {
		const struct event_sched_overutilized *e = (const void *)m->trace[i].bytes;

		nr += e->common.type == EVENT_ID_sched_overutilized && e->overutilized == value;
	}
	return nr;
}

/* A tick and a wakeup notice; a task that is only moved there, or new, is no evidence yet. */
static void ticks_and_wakeups_notice(void **state)
{
	struct machine *m = juno();
	struct task *t = put(m, LITTLE);

	(void)state;
	sched_trace_set(m->s, BIT(EVENT_sched_overutilized));
	uses(m, LITTLE, 400, 0);
	m->s->freq->overutilized = false;
	allow(m, t, cpumask_of(LITTLE + 1));
	uses(m, LITTLE + 1, 400, rq_of(m, LITTLE + 1)->fair.avg.util_est_enqueued);
	assert_false(is_over(m));
	sched_tick(m->s, LITTLE + 1);
	assert_true(is_over(m));
	assert_int_equal(nr_events(m, 1), 1);
	sched_tick(m->s, LITTLE + 1);
	assert_int_equal(nr_events(m, 1), 1);

	block(m, LITTLE + 1, TASK_INTERRUPTIBLE);
	m->s->freq->overutilized = false;
	uses(m, LITTLE + 1, 400, 0);
	wake(m, t, BIG);
	assert_true(is_over(m));
	uses(m, LITTLE, 0, 0);
	machine_free(m);
}

static void survey(struct machine *m, unsigned cpu, u64 cpus)
{
	const struct cpumask mask = { { cpus } };

	overutilized_survey(m->s, cpu, &mask);
}

static void only_who_sees_all_cpus_clears_it(void **state)
{
	struct machine *m = juno();

	(void)state;
	sched_trace_set(m->s, BIT(EVENT_sched_overutilized));
	m->s->freq->overutilized = true;
	survey(m, 0, ALL & ~BIT(5));
	assert_true(is_over(m));
	survey(m, 0, ALL);
	assert_false(is_over(m));
	assert_int_equal(nr_events(m, 0), 1);
	uses(m, 5, 400, 0);
	survey(m, 0, ALL & ~BIT(5));
	assert_false(is_over(m));
	survey(m, 0, BIT(5));
	assert_true(is_over(m));
	survey(m, 0, ALL);
	assert_true(is_over(m));
	uses(m, 5, 0, 0);
	/* A CPU that has left need not be seen, and with it goes all that was known. */
	assert_int_equal(sched_cpu_offline(m->s, 4), 0);
	settle(m);
	assert_false(is_over(m));
	m->s->freq->overutilized = true;
	survey(m, 0, ALL & ~BIT(4));
	assert_false(is_over(m));
	machine_free(m);
}

/* A task waits on a slow CPU while others idle: that is how energy would have it. */
static void balancing_works_only_while_it_is_over_utilised(void **state)
{
	(void)state;
	for (unsigned on = 0; on < 2; on++)
		for (unsigned over = 0; over < 2; over++) {
			struct machine *m = juno();

			set_tunable(m, "sched_energy_aware", on ? "1" : "0");
			crowd(m, LITTLE, 3, ALL);
			for (unsigned cpu = 0; cpu < 6; cpu++)
				uses(m, cpu, 0, rq_of(m, cpu)->fair.avg.util_est_enqueued);
			uses(m, LITTLE, over ? 400 : 300,
			     rq_of(m, LITTLE)->fair.avg.util_est_enqueued);
			m->s->freq->overutilized = false;
			balance_domain(rq_of(m, 5), domain_of(m, 5, 0), CPU_IDLE);
			settle(m);
			assert_int_equal(rq_of(m, 5)->nr_running > 0, !on || over);
			assert_int_equal(is_over(m), over);
			machine_free(m);
		}
}

/* --- placement ----------------------------------------------------------------------------- */

/* A task that sleeps, last on @cpu, and is known to use @util. */
static struct task *sleeper(struct machine *m, unsigned cpu, u64 util, u64 mask)
{
	struct task *t = put(m, cpu);

	allow(m, t, cpumask_of(cpu));
	block(m, cpu, TASK_INTERRUPTIBLE);
	allow(m, t, (struct cpumask){ { mask } });
	for (unsigned i = 0; i < m->nr_cpus; i++)
		uses(m, i, 0, 0);
	t->fair.avg.util_avg = util;
	t->fair.avg.util_est_enqueued = t->fair.avg.util_est_ewma = 0;
	uses(m, cpu, util, 0);
	return t;
}

static unsigned placed(struct machine *m, struct task *t, unsigned waker)
{
	struct rq *rq = rq_of(m, t->cpu);
	unsigned to;

	host_lock(&rq->lock);
	to = fair_select_cpu(rq, t, waker, SELECT_WAKE);
	host_unlock(&rq->lock);
	return to;
}

/* A task of 100, last on a fast CPU: 168 / 417 a unit there, 33 / 235 on a slow one. */
static void a_small_task_goes_to_a_slow_cpu(void **state)
{
	struct machine *m = juno();
	struct task *t = sleeper(m, BIG, 100, ALL);

	(void)state;
	assert_int_equal(placed(m, t, BIG), LITTLE);
	set_tunable(m, "sched_energy_aware", "0");
	assert_int_equal(placed(m, t, BIG), BIG);
	set_tunable(m, "sched_energy_aware", "1");
	m->s->freq->overutilized = true;
	assert_int_equal(placed(m, t, BIG), BIG);
	machine_free(m);
}

/* A task that is new, or begins anew, is placed where there is room. */
static void energy_decides_for_wakeups_only(void **state)
{
	struct machine *m = juno();
	struct task *t;
	struct rq *rq = rq_of(m, 4);

	(void)state;
	for (unsigned cpu = LITTLE; cpu < 6; cpu++)
		crowd(m, cpu, 1, BIT(cpu));
	t = sleeper(m, 4, 100, ALL);
	assert_int_equal(placed(m, t, BIG), 4);
	host_lock(&rq->lock);
	assert_in_range(fair_select_cpu(rq, t, BIG, SELECT_EXEC), 0, 1);
	host_unlock(&rq->lock);
	machine_free(m);
}

/* It does not fit a slow CPU: 357 does, 358 leaves less than a fifth. */
static void who_does_not_fit_stays(void **state)
{
	(void)state;
	for (u64 util = 357; util <= 358; util++) {
		struct machine *m = juno();
		struct task *t = sleeper(m, BIG, util, ALL);

		assert_int_equal(placed(m, t, BIG), util == 357 ? LITTLE : BIG);
		t->fair.avg.util_avg = 100;
		uses(m, BIG, 100, 0);
		t->fair.avg.util_est_ewma = (u32)util;
		assert_int_equal(placed(m, t, BIG), util == 357 ? LITTLE : BIG);
		t->fair.avg.util_est_ewma = 0;
		machine_free(m);
	}
}

/* The candidate is the slow CPU with the most to spare, not the first one that idles. */
static void most_to_spare_is_the_candidate(void **state)
{
	struct machine *m = juno();
	struct task *t = sleeper(m, BIG, 50, ALL);

	(void)state;
	for (unsigned cpu = LITTLE; cpu < 6; cpu++)
		uses(m, cpu, cpu == 4 ? 20 : 30, 0);
	assert_int_equal(placed(m, t, BIG), 4);
	/* Real-time tasks leave less of it. */
	rq_of(m, 4)->capacity = 430;
	assert_int_equal(placed(m, t, BIG), LITTLE);
	rq_of(m, 4)->capacity = 447;
	allow(m, t, (struct cpumask){ { ALL & ~BIT(4) } });
	assert_int_equal(placed(m, t, BIG), LITTLE);
	machine_free(m);
}

/* Between two slow CPUs at one point there is nothing to gain: it stays where it ran last. */
static void of_equals_the_last_cpu_is_kept(void **state)
{
	struct machine *m = juno();
	struct task *t = sleeper(m, 4, 50, ALL);

	(void)state;
	/* 189 * 1.25 * 850 / 447 = 449 MHz; 190 need 451, and so the second point. */
	uses(m, 4, 189, 0);
	assert_int_equal(placed(m, t, BIG), 4);
	uses(m, 4, 190, 0);
	assert_int_equal(placed(m, t, BIG), LITTLE);
	machine_free(m);
}

/* The last CPU's own part of the use is the task's while it is not there. */
static void its_own_use_is_not_counted_twice(void **state)
{
	struct machine *m = juno();
	struct task *t = sleeper(m, 4, 180, ALL);

	(void)state;
	/* With the task counted twice its CPU would not have a fifth to spare. */
	uses(m, 4, 180, 0);
	assert_int_equal(placed(m, t, BIG), 4);
	machine_free(m);
}

static void who_uses_nothing_stays(void **state)
{
	struct machine *m = juno();
	struct task *t = sleeper(m, BIG, 0, ALL);

	(void)state;
	assert_int_equal(placed(m, t, LITTLE), BIG);
	machine_free(m);
}

/*
 * A task that has a slow domain leave its slowest point costs what all that runs there takes more.
 * On a fast CPU at its slowest point 130 cost 168,000 * 1100 / 450 = 410,666 * 130 / 1024 = 52,135.
 */
static void who_would_speed_up_others_goes_elsewhere(void **state)
{
	struct machine *m = juno();
	struct task *t = sleeper(m, BIG, 130, ALL);

	(void)state;
	for (unsigned cpu = LITTLE; cpu < 6; cpu++)
		uses(m, cpu, 187, 0);
	/* 317 * 1.25 = 396: 775 MHz. 748 * 62,333 / 447 = 104,306; 878 * 83,354 / 447 = 163,724. */
	assert_int_equal(placed(m, t, BIG), BIG);
	/* One of them has the domain there already: 130 * 83,354 / 447. */
	uses(m, 5, 310, 0);
	assert_int_equal(placed(m, t, BIG), LITTLE);
	machine_free(m);
}

/* A minimum clamp takes a small task to where it can have that; a maximum lets a big one stay. */
static void clamps_count(void **state)
{
	struct machine *m = juno();
	struct task *t = sleeper(m, BIG, 100, ALL);

	(void)state;
	m->s->freq->clamped = true;
	t->clamp.own[SCHED_CLAMP_MIN] = true;
	t->clamp.request[SCHED_CLAMP_MIN] = 448;
	assert_int_equal(placed(m, t, BIG), BIG);
	t->clamp.request[SCHED_CLAMP_MIN] = 447;
	assert_int_equal(placed(m, t, BIG), LITTLE);
	t->clamp.request[SCHED_CLAMP_MIN] = 0;
	/* 440 leave less than a fifth, but a maximum of 440 says that this is enough. */
	t->fair.avg.util_avg = 440;
	uses(m, BIG, 440, 0);
	assert_int_equal(placed(m, t, BIG), BIG);
	t->clamp.own[SCHED_CLAMP_MAX] = true;
	t->clamp.request[SCHED_CLAMP_MAX] = 440;
	assert_int_equal(placed(m, t, BIG), LITTLE);
	t->clamp.own[SCHED_CLAMP_MIN] = t->clamp.own[SCHED_CLAMP_MAX] = false;
	machine_free(m);
}

/* The governor runs a real-time task at the fastest point: what else runs there pays for that. */
static void real_time_tasks_have_the_fastest_point(void **state)
{
	struct machine *m = juno();
	struct task *t = sleeper(m, BIG, 400, ALL), *fifo;

	(void)state;
	fifo = spawn(m, "fifo", SCHED_FIFO, 10);
	sched_set_affinity(m->s, fifo, &(struct cpumask){ { BIT(1) } });
	settle(m);
	t->fair.avg.util_avg = 100;
	uses(m, BIG, 100, 0);
	assert_int_equal(placed(m, t, BIG), LITTLE);
	machine_free(m);
}

/* Faster points that cost less: with the task the estimate falls. Then it is not trusted. */
static void an_estimate_that_falls_is_not_trusted(void **state)
{
	static const char table[] = "type a\nopp 500 512 30 10\nopp 1000 1024 100 20\nidle 5 5 0\n"
				    "type b\nopp 300 150 3 5\nopp 600 300 4 8\nidle 2 3 0\n"
				    "domain 0-1 a\ndomain 2-3 b\n";
	struct machine *m = machine_by(table, "llcs=2,cores=2", "schedutil");
	struct task *t = sleeper(m, 0, 60, 0xf);

	(void)state;
	/* 220 * 6,000 / 300 = 4,400; 280 * 4,000 / 300 = 3,733. */
	uses(m, 2, 110, 0);
	uses(m, 3, 110, 0);
	assert_int_equal(placed(m, t, 0), 0);
	/* Nor is any other part of it: CPU 0 would need the faster point, CPU 1 does not. */
	uses(m, 0, 460, 0);
	assert_int_equal(placed(m, t, 0), 0);
	uses(m, 0, 60, 0);
	/* At the faster point without the task, too: 800 more there, 3,515 more here. */
	uses(m, 2, 130, 0);
	uses(m, 3, 130, 0);
	assert_int_equal(placed(m, t, 0), 2);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_domain_must_be_under_schedutil),
		cmocka_unit_test(the_tunable_switches_it),
		cmocka_unit_test(cpus_must_differ),
		cmocka_unit_test(cpus_that_differ_may_leave),
		cmocka_unit_test(threads_of_a_core_switch_it_off),
		cmocka_unit_test(a_long_estimate_switches_it_off),
		cmocka_unit_test(less_than_a_fifth_to_spare_is_too_little),
		cmocka_unit_test(a_cpu_that_may_not_go_faster_has_enough),
		cmocka_unit_test(ticks_and_wakeups_notice),
		cmocka_unit_test(only_who_sees_all_cpus_clears_it),
		cmocka_unit_test(balancing_works_only_while_it_is_over_utilised),
		cmocka_unit_test(a_small_task_goes_to_a_slow_cpu),
		cmocka_unit_test(energy_decides_for_wakeups_only),
		cmocka_unit_test(who_does_not_fit_stays),
		cmocka_unit_test(most_to_spare_is_the_candidate),
		cmocka_unit_test(of_equals_the_last_cpu_is_kept),
		cmocka_unit_test(its_own_use_is_not_counted_twice),
		cmocka_unit_test(who_uses_nothing_stays),
		cmocka_unit_test(who_would_speed_up_others_goes_elsewhere),
		cmocka_unit_test(clamps_count),
		cmocka_unit_test(real_time_tasks_have_the_fastest_point),
		cmocka_unit_test(an_estimate_that_falls_is_not_trusted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
