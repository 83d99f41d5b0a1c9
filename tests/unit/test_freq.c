/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frequency domains: utilisation that does not depend on the speed, scaled time, energy, capacity.
 * Expected values are worked out from the table and the time that passes, not asked of the code.
 */
#include <string.h>

#include "lib/errno.h"
#include "sched/balance/capacity.h"
#include "speeds.h"

static void run_at(struct machine *m, unsigned cpu, u32 mhz)
{
	assert_int_equal(sched_freq_govern(m->s, cpu, "userspace"), 0);
	assert_int_equal(sched_freq_set(m->s, cpu, mhz), 0);
}

/* A task that may run on @cpu only, and runs there. */
static struct task *alone_on(struct machine *m, unsigned cpu)
{
	struct task *t = pinned(m, cpu);

	assert_ptr_equal(running(m, cpu), t);
	return t;
}

static u64 run_ns(u64 work_ns, u32 capacity)
{
	return work_ns * 1024 / capacity;
}

/* --- utilisation ---------------------------------------------------------------------- */

/*
 * @t works for @work_ns of each @period_ns, measured at full speed, @rounds times. Returns its mean
 * utilisation over the last @period: the average of the values at the beginning and the end of the
 * run, each of which is up to date.
 */
static u64 util_of(struct machine *m, struct task *t, u32 capacity, u64 work_ns, u64 period_ns,
		   unsigned rounds)
{
	u64 run = run_ns(work_ns, capacity), low = 0, high = 0;

	while (rounds--) {
		low = t->fair.avg.util_avg;
		advance(m, run);
		block(m, t->cpu, TASK_INTERRUPTIBLE);
		high = t->fair.avg.util_avg;
		advance(m, period_ns - run);
		assert_true(wake(m, t, t->cpu));
	}
	return (low + high) / 2;
}

/* 2 ms of 8 are a quarter, whatever the CPU and its frequency: 256, within 3 %. */
static void a_quarter_is_256_at_every_point(void **state)
{
	static const struct {
		const char *table;
		unsigned cpu;
		u32 mhz, capacity;
	} points[] = {
		{ "juno-a53", 0, 450, 542 },  { "juno-a53", 0, 575, 692 },
		{ "juno-a53", 0, 700, 843 },  { "juno-a53", 0, 775, 933 },
		{ "juno-a53", 0, 850, 1024 }, { "juno", 0, 450, 417 },
		{ "juno", 0, 625, 579 },      { "juno", 0, 800, 744 },
		{ "juno", 0, 950, 883 },      { "juno", 0, 1100, 1024 },
		{ "juno", 2, 575, 302 },      { "juno", 2, 700, 368 },
		{ "juno", 2, 775, 406 },      { "juno", 2, 850, 447 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(points); i++) {
		struct machine *m = builtin_machine(points[i].table, NULL);
		struct task *t = alone_on(m, points[i].cpu);
		u64 util;

		run_at(m, points[i].cpu, points[i].mhz);
		util = util_of(m, t, points[i].capacity, 2 * MS, 8 * MS, 100);
		assert_in_range(util, 256 - 7, 256 + 7);
		sched_check(m->s);
		machine_free(m);
	}
}

/* Under every policy; the queue's utilisation is that of its only task. */
static void whatever_the_policy(void **state)
{
	const char *policy;

	(void)state;
	for (unsigned i = 0; (policy = sched_fair_name(i)); i++) {
		struct machine *m = builtin_machine("juno-a53", policy);
		struct task *t = alone_on(m, 0);

		run_at(m, 0, 575);
		assert_in_range(util_of(m, t, 692, 2 * MS, 8 * MS, 100), 256 - 7, 256 + 7);
		assert_in_range(rq_of(m, 0)->fair.avg.util_avg, 220, 290);
		machine_free(m);
	}
}

/* 235/1024 of the fastest: a quarter of that is more than it has, so it never idles. */
static void without_idle_time_a_cpu_is_full(void **state)
{
	struct machine *m = builtin_machine("juno", NULL);
	struct task *t = alone_on(m, 5);

	(void)state;
	run_at(m, 5, 450);
	advance(m, 5 * NS_PER_SEC);
	sched_tick(m->s, 5);
	/* It works at 235/1024 of the clock, so this is as after 1.15 s. */
	assert_in_range(t->fair.avg.util_avg, 1020, 1024);
	assert_int_equal(rq_of(m, 5)->capacity_orig, 447);
	machine_free(m);
}

/* While it works at half speed 32 periods of the clock are 17 of its averages. */
static void averages_rise_with_the_work(void **state)
{
	struct machine *m = builtin_machine("juno-a53", NULL);
	struct task *t = alone_on(m, 0);
	u64 half;

	(void)state;
	run_at(m, 0, 450);
	for (unsigned n = 0; n < 2000; n++)
		util_of(m, t, 542, 100 * 1024, 1024 * 1024, 1);
	block(m, 0, TASK_INTERRUPTIBLE);
	advance(m, NS_PER_SEC);
	assert_true(wake(m, t, 0));
	assert_in_range(t->fair.avg.util_avg, 0, 1);
	advance(m, run_ns(32 * 1024 * 1024, 542));
	sched_tick(m->s, 0);
	half = t->fair.avg.util_avg;
	assert_in_range(half, 512 - 2, 512 + 2);
	machine_free(m);
}

/* A full CPU idles: the clock stays ahead of its scaled time, and averages do not fall at once. */
static void idle_time_does_not_make_good_what_is_lost(void **state)
{
	struct machine *m = builtin_machine("juno-a53", NULL);
	struct task *t = alone_on(m, 0);

	(void)state;
	run_at(m, 0, 450);
	advance(m, 5 * NS_PER_SEC);
	sched_tick(m->s, 0);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_true(wake(m, t, 0));
	assert_in_range(t->fair.avg.util_avg, 1020, 1024);
	sched_check(m->s);
	/* 32 periods of sleep halve it as ever. */
	block(m, 0, TASK_INTERRUPTIBLE);
	advance(m, 32 * 1024 * 1024);
	assert_true(wake(m, t, 0));
	assert_in_range(t->fair.avg.util_avg, 510, 514);
	machine_free(m);
}

static u64 scaled_now(struct machine *m, unsigned cpu)
{
	struct rq *rq = rq_of(m, cpu);
	u64 now;

	sched_tick(m->s, cpu);
	host_lock(&rq->lock);
	now = freq_time(rq);
	host_unlock(&rq->lock);
	return now;
}

/* The work of a period is that of its parts, though another CPU changes the speed in between. */
static void a_change_by_another_cpu_counts_from_its_moment(void **state)
{
	struct machine *m = builtin_machine("juno-a53", NULL);
	u64 before;

	(void)state;
	alone_on(m, 0);
	run_at(m, 1, 850);
	before = scaled_now(m, 0);
	advance(m, 3 * MS);
	run_at(m, 1, 450);
	advance(m, 5 * MS);
	run_at(m, 1, 700);
	advance(m, 7 * MS);
	assert_int_equal(scaled_now(m, 0) - before,
			 (3 * MS * 1024 + 5 * MS * 542 + 7 * MS * 843) / 1024);
	assert_int_equal(m->speed[0], 843);
	assert_int_equal(m->speed[3], 0); /* it idles */
	machine_free(m);
}

/* A CPU that has room again catches up when it idles, but for what was lost while it was full. */
static void what_is_lost_stays_lost(void **state)
{
	struct machine *m = builtin_machine("juno-a53", NULL);
	struct task *t = alone_on(m, 0);
	u64 lost;

	(void)state;
	run_at(m, 0, 450);
	advance(m, 5 * NS_PER_SEC);
	block(m, 0, TASK_INTERRUPTIBLE);
	lost = rq_of(m, 0)->clock - scaled_now(m, 0);
	assert_int_equal(lost, 5 * NS_PER_SEC - 5 * NS_PER_SEC * 542 / 1024);
	advance(m, 100 * MS);
	assert_true(wake(m, t, 0));
	advance(m, 10 * MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	sched_check(m->s);
	assert_int_equal(rq_of(m, 0)->clock - scaled_now(m, 0), lost);
	machine_free(m);
}

/* Whether a CPU was full is asked of its present averages: those of its last fair task are old. */
static void a_cpu_is_not_full_because_it_once_was(void **state)
{
	struct machine *m = builtin_machine("juno-a53", NULL);
	struct task *t = alone_on(m, 0), *fifo;
	u64 lost;

	(void)state;
	run_at(m, 0, 450);
	advance(m, 5 * NS_PER_SEC);
	block(m, 0, TASK_INTERRUPTIBLE);
	lost = rq_of(m, 0)->clock - scaled_now(m, 0);
	advance(m, 300 * MS);
	fifo = spawn(m, "fifo", SCHED_FIFO, 1);
	allow(m, fifo, cpumask_of(0));
	assert_ptr_equal(running(m, 0), fifo);
	advance(m, 10 * MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_int_equal(rq_of(m, 0)->clock - scaled_now(m, 0), lost);
	assert_false(task_running(rq_of(m, 0), t));
	machine_free(m);
}

/* --- capacity ------------------------------------------------------------------------- */

/* A FIFO task that works 2 of 8 ms takes a quarter of the fastest CPU: 447 less 256. */
static void urgent_tasks_take_what_they_work(void **state)
{
	static const u32 points[][2] = { { 575, 302 }, { 700, 368 }, { 850, 447 } };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(points); i++) {
		struct machine *m = builtin_machine("juno", NULL);
		struct task *t = spawn(m, "fifo", SCHED_FIFO, 10);
		u64 run = run_ns(2 * MS, points[i][1]), sum = 0;

		set_tunable(m, "sched_rt_runtime_us", "-1");
		allow(m, t, cpumask_of(4));
		run_at(m, 4, points[i][0]);
		for (unsigned n = 0; n < 108; n++) {
			struct rq *rq = rq_of(m, 4);

			advance(m, run);
			block(m, 4, TASK_INTERRUPTIBLE);
			advance(m, (8 * MS - run) / 2);
			host_lock(&rq->lock);
			rq->clock = host_clock(4);
			capacity_refresh(rq);
			host_unlock(&rq->lock);
			sum += n < 100 ? 0 : cpu_capacity(rq);
			advance(m, 8 * MS - run - (8 * MS - run) / 2);
			assert_true(wake(m, t, 4));
		}
		assert_in_range(sum / 8, 447 - 256 - 16, 447 - 256 + 24);
		machine_free(m);
	}
}

/* --- energy --------------------------------------------------------------------------- */

static struct sched_freq_stat checked_stat(struct machine *m, unsigned cpu)
{
	struct sched_freq_stat stat = stat_of(m, cpu);

	sched_check(m->s);
	return stat;
}

/*
 * CPU 0 works 10 ms at 450 MHz, then 10 ms at 850; then all idle for 10 ms, of which 2.5 ms in the
 * first state. The other three idle all the time.
 */
static void energy_is_power_times_time(void **state)
{
	struct machine *m = builtin_machine("juno-a53", NULL);
	struct sched_freq_stat stat;

	(void)state;
	alone_on(m, 0);
	run_at(m, 0, 450);
	advance(m, 10 * MS);
	run_at(m, 0, 850);
	advance(m, 10 * MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	advance(m, 10 * MS);
	stat = checked_stat(m, 0);
	assert_int_equal(stat.busy_ns[0], 10 * MS);
	assert_int_equal(stat.busy_ns[4], 10 * MS);
	assert_int_equal(stat.idle_ns[0], 2500000);
	assert_int_equal(stat.idle_ns[1], 7500000);
	assert_int_equal(stat.energy, 10 * MS * 33 + 10 * MS * 93 + 2500000 * 6);
	assert_int_equal(stat.domain_busy_ns[0], 10 * MS);
	assert_int_equal(stat.domain_energy,
			 10 * MS * 26 + 10 * MS * 57 + 2500000ull * 56 + 7500000ull * 17);
	assert_int_equal(stat.nr_transitions, 2);
	stat = checked_stat(m, 3);
	assert_int_equal(stat.energy, 2500000 * 6);
	assert_int_equal(stat.idle_ns[1], 30 * MS - 2500000);
	machine_free(m);
}

/* Between idle periods of 1 ms the second state is never reached, and they add up. */
static void each_idle_period_begins_shallow(void **state)
{
	struct machine *m = builtin_machine("juno-a53", NULL);
	struct task *t = alone_on(m, 2);

	(void)state;
	for (unsigned n = 0; n < 10; n++) {
		advance(m, MS);
		block(m, 2, TASK_INTERRUPTIBLE);
		advance(m, MS);
		assert_true(wake(m, t, 2));
	}
	assert_int_equal(checked_stat(m, 2).idle_ns[0], 10 * MS);
	assert_int_equal(checked_stat(m, 2).idle_ns[1], 0);
	assert_int_equal(checked_stat(m, 2).busy_ns[4], 10 * MS);
	assert_int_equal(checked_stat(m, 2).energy, 10 * MS * (93 + 6));
	machine_free(m);
}

/* The domain is busy while one CPU is. */
static void what_is_shared_is_busy_while_one_cpu_is(void **state)
{
	struct machine *m = builtin_machine("juno-a53", NULL);

	(void)state;
	alone_on(m, 0);
	advance(m, 2 * MS);
	alone_on(m, 1);
	advance(m, 2 * MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	advance(m, 2 * MS);
	block(m, 1, TASK_INTERRUPTIBLE);
	advance(m, 2 * MS);
	assert_int_equal(checked_stat(m, 0).domain_busy_ns[4], 6 * MS);
	assert_int_equal(checked_stat(m, 0).domain_idle_ns[0], 2 * MS);
	machine_free(m);
}

/* --- governors that look at nothing ------------------------------------------------------- */

static void governors_by_name(void **state)
{
	struct machine *m = builtin_machine("juno", NULL);

	(void)state;
	assert_string_equal(checked_stat(m, 3).governor, "performance");
	assert_int_equal(checked_stat(m, 3).mhz, 850);
	assert_int_equal(checked_stat(m, 0).capacity, 1024);
	assert_int_equal(checked_stat(m, 5).capacity, 447);
	assert_int_equal(m->speed[5], 0);
	assert_int_equal(sched_freq_govern(m->s, 3, "powersave"), 0);
	assert_int_equal(checked_stat(m, 5).mhz, 450);
	assert_int_equal(checked_stat(m, 5).capacity, 235);
	assert_int_equal(checked_stat(m, 1).capacity, 1024);
	assert_int_equal(sched_freq_govern(m->s, 3, "turbo"), -EINVAL);
	assert_int_equal(sched_freq_govern(m->s, 3, ""), -EINVAL);
	assert_string_equal(checked_stat(m, 3).governor, "powersave");
	/* Only userspace is told, and only what there is. */
	assert_int_equal(sched_freq_set(m->s, 3, 575), -EINVAL);
	assert_int_equal(sched_freq_govern(m->s, 3, "userspace"), 0);
	assert_int_equal(checked_stat(m, 3).mhz, 450);
	assert_int_equal(sched_freq_set(m->s, 3, 1100), -EINVAL);
	assert_int_equal(sched_freq_set(m->s, 3, 575), 0);
	assert_int_equal(checked_stat(m, 2).mhz, 575);
	assert_int_equal(sched_freq_govern(m->s, 3, "performance"), 0);
	assert_int_equal(checked_stat(m, 2).mhz, 850);
	machine_free(m);
}

/* Every CPU of the domain has its event, in kHz, and only when something changes. */
static void changes_are_told(void **state)
{
	struct machine *m = builtin_machine("juno", NULL);

	(void)state;
	sched_trace_set(m->s, BIT(EVENT_cpu_frequency));
	assert_int_equal(sched_freq_govern(m->s, 1, "powersave"), 0);
	assert_int_equal(sched_freq_govern(m->s, 0, "powersave"), 0);
	assert_int_equal(m->nr_trace, 2);
	for (u32 i = 0; i < 2; i++) {
		const struct event_cpu_frequency *e = (const void *)m->trace[i].bytes;

		assert_int_equal(e->common.type, EVENT_ID_cpu_frequency);
		assert_int_equal(e->state, 450000);
		assert_int_equal(e->cpu_id, i);
	}
	machine_free(m);
}

/* The clock of a domain starts with its first CPU, and goes on when another one starts. */
static void a_domain_starts_once(void **state)
{
	struct machine *m = builtin_machine("juno-a53", NULL);
	struct freq_domain *d = rq_of(m, 0)->freq->domain;
	u64 since = d->since;

	(void)state;
	assert_true(d->started);
	advance(m, 5 * MS);
	host_lock(&rq_of(m, 1)->lock);
	rq_of(m, 1)->clock = m->now;
	freq_cpu_starts(rq_of(m, 1));
	host_unlock(&rq_of(m, 1)->lock);
	assert_int_equal(d->since, since);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quarter_is_256_at_every_point),
		cmocka_unit_test(whatever_the_policy),
		cmocka_unit_test(without_idle_time_a_cpu_is_full),
		cmocka_unit_test(averages_rise_with_the_work),
		cmocka_unit_test(idle_time_does_not_make_good_what_is_lost),
		cmocka_unit_test(a_change_by_another_cpu_counts_from_its_moment),
		cmocka_unit_test(what_is_lost_stays_lost),
		cmocka_unit_test(a_cpu_is_not_full_because_it_once_was),
		cmocka_unit_test(urgent_tasks_take_what_they_work),
		cmocka_unit_test(energy_is_power_times_time),
		cmocka_unit_test(each_idle_period_begins_shallow),
		cmocka_unit_test(what_is_shared_is_busy_while_one_cpu_is),
		cmocka_unit_test(governors_by_name),
		cmocka_unit_test(changes_are_told),
		cmocka_unit_test(a_domain_starts_once),
	};

	return cmocka_run_group_tests_name("freq", tests, NULL, NULL);
}
