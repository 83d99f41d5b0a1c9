/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Governors and boosts. The utilisations at which a point changes were worked out by hand:
 * f = min(u * 1280 >> 10, capacity) * fastest / capacity, in kHz, rounded down.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/errno.h"
#include "sched/freq/governor.h"
#include "speeds.h"

static u32 mhz_of(struct machine *m, unsigned cpu)
{
	return stat_of(m, cpu).mhz;
}

/* Long after it slowed down: a change of @cpu's domain is a change, and free. */
static void rest(struct machine *m, unsigned cpu)
{
	m->now += NS_PER_SEC;
	rq_of(m, cpu)->freq->nr_idles++;
	assert_int_equal(tell(m, cpu, 100, FREQ_WAKEUP), 450);
	m->now += NS_PER_SEC;
}

/* --- sched ---------------------------------------------------------------------------- */

static const struct boundary {
	u64 util;
	u32 mhz;
} small[] = { { 0, 450 },   { 434, 450 }, { 435, 575 }, { 554, 575 }, { 555, 700 },
	      { 675, 700 }, { 676, 775 }, { 747, 775 }, { 748, 850 }, { 1024, 850 } },
  little[] = { { 189, 450 }, { 190, 575 }, { 242, 575 }, { 243, 700 },
	       { 295, 700 }, { 296, 775 }, { 326, 775 }, { 327, 850 } };

static void check_boundaries(const char *table, const char *governor, unsigned cpu,
			     const struct boundary *list, unsigned nr)
{
	struct machine *m = governed(table, governor);

	pinned(m, cpu);
	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < nr; i++) {
			const struct boundary *b = &list[pass ? nr - 1 - i : i];

			m->now += NS_PER_SEC;		 /* longer than any throttle */
			rq_of(m, cpu)->freq->nr_idles++; /* it may slow down */
			assert_int_equal(tell(m, cpu, b->util, FREQ_WAKEUP), b->mhz);
		}
	machine_free(m);
}

static void sched_gives_a_quarter_more_than_is_used(void **state)
{
	(void)state;
	check_boundaries("juno-a53", "sched", 3, small, ARRAY_SIZE(small));
	check_boundaries("juno", "sched", 4, little, ARRAY_SIZE(little));
}

static void every_reason_but_ticks_is_a_request(void **state)
{
	struct machine *m = governed("juno-a53", "sched");

	(void)state;
	pinned(m, 0);
	m->now += NS_PER_SEC;
	assert_int_equal(tell(m, 0, 600, FREQ_BALANCE), 700);
	m->now += NS_PER_SEC;
	assert_int_equal(tell(m, 0, 500, FREQ_SLEEP), 575);
	m->now += NS_PER_SEC;
	/* 500 of 692 leaves more than a fifth: a tick has nothing to say. */
	assert_int_equal(tell(m, 0, 300, FREQ_TICK), 575);
	machine_free(m);
}

/* At 450 MHz (542) there must be 20 % to spare: up to 433. Then all of it at once. */
static void a_tick_jumps_to_the_fastest(void **state)
{
	struct machine *m = governed("juno-a53", "sched");

	(void)state;
	pinned(m, 0);
	m->now += NS_PER_SEC;
	assert_int_equal(tell(m, 0, 400, FREQ_WAKEUP), 450);
	m->now += NS_PER_SEC;
	assert_int_equal(tell(m, 0, 433, FREQ_TICK), 450);
	assert_int_equal(tell(m, 0, 434, FREQ_TICK), 850);
	machine_free(m);
}

static void the_tick_does_not_look_at_boosts(void **state)
{
	struct machine *m = governed("juno-a53", "sched");

	(void)state;
	pinned(m, 0);
	m->now += NS_PER_SEC;
	assert_int_equal(tell(m, 0, 300, FREQ_WAKEUP), 450);
	m->now += NS_PER_SEC;
	set_tunable(m, "sched_cfs_boost", "100");
	assert_int_equal(tell(m, 0, 300, FREQ_TICK), 450);
	assert_int_equal(tell(m, 0, 300, FREQ_WAKEUP), 850);
	machine_free(m);
}

static void the_domain_follows_the_most_demanding(void **state)
{
	struct machine *m = governed("juno-a53", "sched");
	struct task *t;

	(void)state;
	t = pinned(m, 0);
	pinned(m, 1);
	m->now += NS_PER_SEC;
	assert_int_equal(tell(m, 1, 500, FREQ_WAKEUP), 575);
	m->now += NS_PER_SEC;
	assert_int_equal(tell(m, 0, 600, FREQ_WAKEUP), 700);
	m->now += NS_PER_SEC;
	assert_int_equal(tell(m, 1, 100, FREQ_WAKEUP), 700);
	/* CPU 0 falls idle: nothing happens until CPU 1 asks again. */
	rq_of(m, 0)->fair.avg.util_avg = 0;
	block(m, 0, TASK_INTERRUPTIBLE);
	m->now += NS_PER_SEC;
	assert_int_equal(mhz_of(m, 0), 700);
	assert_int_equal(tell(m, 1, 500, FREQ_WAKEUP), 575);
	assert_int_equal(mhz_of(m, 3), 575);
	(void)t;
	machine_free(m);
}

/* Its last task moves away, without a word to the governor: the request must not stay. */
static void an_idle_cpu_asks_for_nothing(void **state)
{
	struct machine *m = governed("juno-a53", "sched");
	struct task *t = pinned(m, 0);

	(void)state;
	rest(m, 0);
	assert_int_equal(tell(m, 0, 1000, FREQ_WAKEUP), 850);
	allow(m, t, cpumask_of(3));
	m->now += NS_PER_SEC;
	assert_int_equal(tell(m, 3, 100, FREQ_WAKEUP), 450);
	sched_check(m->s);
	machine_free(m);
}

/* 575 at 0, 850 asked for at 3 ms and never again; a tick comes at 49.9 ms and one at 50. */
static void throttled(const char *defer, u32 at_the_end)
{
	struct machine *m = governed("juno-a53", "sched");

	set_tunable(m, "throttle_defer", defer);
	pinned(m, 0);
	rest(m, 0);
	assert_int_equal(tell(m, 0, 500, FREQ_WAKEUP), 575);
	m->now += 3 * MS;
	assert_int_equal(tell(m, 0, 1000, FREQ_WAKEUP), 575);
	rq_of(m, 0)->freq->request = 1024;
	m->now += 47 * MS - 1;
	assert_int_equal(tell(m, 0, 100, FREQ_TICK), 575);
	m->now += 1;
	assert_int_equal(tell(m, 0, 100, FREQ_TICK), at_the_end);
	/* A trigger serves it in any case. */
	m->now += NS_PER_SEC;
	assert_int_equal(tell(m, 0, 1000, FREQ_WAKEUP), 850);
	machine_free(m);
}

static void a_request_within_the_throttle_is_dropped_or_deferred(void **state)
{
	(void)state;
	throttled("0", 575);
	throttled("1", 850);
}

static void at_most_one_change_in_a_window(void **state)
{
	struct machine *m = governed("juno-a53", "sched");
	struct sched_freq_stat before, after;

	(void)state;
	pinned(m, 0);
	set_tunable(m, "throttle_ns", "20000000");
	m->now += NS_PER_SEC;
	before = stat_of(m, 0);
	for (unsigned n = 0; n < 1000; n++) {
		tell(m, 0, n % 2 ? 100 : 1000, n % 3 ? FREQ_WAKEUP : FREQ_TICK);
		m->now += MS;
	}
	after = stat_of(m, 0);
	assert_in_range(after.nr_transitions - before.nr_transitions, 40, 50);
	machine_free(m);
}

static void a_latency_of_the_table_is_the_throttle(void **state)
{
	struct machine *m = machine_new_opp("1",
					    "type t\nopp 500 512 1 1\nopp 1000 1024 2 1\n"
					    "idle 0 0 0\nlatency 2000\ndomain llc t\n",
					    NULL);

	(void)state;
	assert_int_equal(sched_freq_govern(m->s, 0, "sched"), 0);
	pinned(m, 0);
	m->now += NS_PER_SEC;
	assert_int_equal(tell(m, 0, 100, FREQ_WAKEUP), 500);
	m->now += 2 * MS - 1;
	assert_int_equal(tell(m, 0, 1000, FREQ_WAKEUP), 500);
	m->now += 1;
	assert_int_equal(tell(m, 0, 1000, FREQ_WAKEUP), 1000);
	machine_free(m);
}

/* --- schedutil, ondemand --------------------------------------------------------------- */

static void schedutil_gives_a_quarter_more_of_the_frequency(void **state)
{
	static const struct boundary list[] = { { 0, 450 },   { 433, 450 }, { 434, 575 },
						{ 554, 575 }, { 555, 700 }, { 674, 700 },
						{ 675, 775 }, { 746, 775 }, { 747, 850 } };

	(void)state;
	check_boundaries("juno-a53", "schedutil", 2, list, ARRAY_SIZE(list));
}

static void schedutil_has_a_rate_limit_and_no_pity_with_real_time(void **state)
{
	struct machine *m = governed("juno-a53", "schedutil");
	struct task *fifo;

	(void)state;
	pinned(m, 0);
	rest(m, 0);
	assert_int_equal(tell(m, 0, 500, FREQ_WAKEUP), 575);
	m->now += MS - 1;
	assert_int_equal(tell(m, 0, 1000, FREQ_WAKEUP), 575);
	m->now += 1;
	assert_int_equal(tell(m, 0, 1000, FREQ_TICK), 850);
	m->now += NS_PER_SEC;
	assert_int_equal(tell(m, 0, 0, FREQ_SLEEP), 450);
	m->now += NS_PER_SEC;
	fifo = spawn(m, "fifo", SCHED_FIFO, 10);
	assert_int_equal(mhz_of(m, fifo->cpu), 850);
	machine_free(m);
}

/* Alone in its domain and never idle: utilisation that falls is no reason. */
static void schedutil_holds_a_busy_cpu(void **state)
{
	struct machine *m = machine_new_opp("1",
					    "type t\nopp 500 512 1 1\nopp 1000 1024 2 1\n"
					    "idle 0 0 0\ndomain llc t\n",
					    NULL);

	(void)state;
	assert_int_equal(sched_freq_govern(m->s, 0, "schedutil"), 0);
	pinned(m, 0);
	m->now += NS_PER_SEC;
	assert_int_equal(tell(m, 0, 1000, FREQ_WAKEUP), 1000);
	m->now += NS_PER_SEC;
	assert_int_equal(tell(m, 0, 100, FREQ_WAKEUP), 1000);
	rq_of(m, 0)->freq->nr_idles++;
	assert_int_equal(tell(m, 0, 100, FREQ_WAKEUP), 500);
	machine_free(m);
}

/* Busy for 5 of 10 ms at 850: 447 would do for 95 %. Then for 9.6 of 10 ms. */
static void ondemand_samples_the_busiest(void **state)
{
	struct machine *m = builtin_machine("juno-a53", NULL);
	struct task *t = pinned(m, 2);

	(void)state;
	assert_int_equal(sched_freq_govern(m->s, 0, "ondemand"), 0);
	assert_int_equal(mhz_of(m, 0), 850);
	advance(m, 5 * MS);
	block(m, 2, TASK_INTERRUPTIBLE);
	advance(m, 5 * MS - 1);
	assert_int_equal(tell(m, 0, 0, FREQ_TICK), 850);
	advance(m, 1);
	assert_int_equal(tell(m, 0, 0, FREQ_SLEEP), 450);
	assert_true(wake(m, t, 2));
	advance(m, 9600 * NS_PER_US);
	block(m, 2, TASK_INTERRUPTIBLE);
	advance(m, 400 * NS_PER_US);
	assert_int_equal(tell(m, 0, 0, FREQ_TICK), 850);
	/* 70 % of 850 are 595 MHz of work, 95 % of which are 627: 700. */
	assert_true(wake(m, t, 2));
	advance(m, 7 * MS);
	block(m, 2, TASK_INTERRUPTIBLE);
	advance(m, 3 * MS);
	assert_int_equal(tell(m, 0, 0, FREQ_TICK), 700);
	machine_free(m);
}

/* --- SchedTune -------------------------------------------------------------------------- */

/* The published table: signal, and what it becomes with 10, 25, 50, 75, 100 %. */
static void boosts_close_a_part_of_the_distance(void **state)
{
	static const u64 table[][6] = { { 0, 102, 256, 512, 768, 1024 },
					{ 128, 217, 352, 576, 800, 1024 },
					{ 256, 332, 448, 640, 832, 1024 },
					{ 512, 563, 640, 768, 896, 1024 },
					{ 768, 793, 832, 896, 960, 1024 } };
	static const u32 boosts[] = { 10, 25, 50, 75, 100 };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(table); i++)
		for (unsigned b = 0; b < ARRAY_SIZE(boosts); b++)
			assert_int_equal(table[i][0] + tune_margin(table[i][0], boosts[b]),
					 table[i][b + 1]);
	/* Within one of the exact value everywhere. */
	for (u64 signal = 0; signal <= 1024; signal++)
		for (u32 boost = 0; boost <= 100; boost++) {
			u64 exact = (1024 - signal) * boost / 100;

			assert_in_range(tune_margin(signal, boost), exact, exact + 1);
		}
}

static unsigned group_of(struct machine *m, u64 boost)
{
	int group = sched_tune_new(m->s);

	assert_in_range(group, 1, SCHED_TUNE_GROUPS - 1);
	assert_int_equal(sched_tune_boost(m->s, (unsigned)group, boost), 0);
	return (unsigned)group;
}

static void join(struct machine *m, struct task *t, unsigned group)
{
	assert_int_equal(sched_tune_move(m->s, t, group), 0);
	assert_int_equal(sched_tune_of(t), group);
	sched_check(m->s);
}

/* bg 10 has two runnable tasks, fg 60 one, all on CPU 0; the others have none. */
static void a_cpu_has_the_greatest_boost_of_its_runnable_tasks(void **state)
{
	struct machine *m = governed("juno-a53", "sched");
	unsigned bg = group_of(m, 10), fg = group_of(m, 60);
	struct task *fast = pinned(m, 0), *a, *b;

	(void)state;
	join(m, fast, fg);
	assert_int_equal(sched_tune_cpu(m->s, 0), 60);
	assert_int_equal(sched_tune_cpu(m->s, 1), 0);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_int_equal(sched_tune_cpu(m->s, 0), 0);
	a = pinned(m, 0);
	b = pinned(m, 0);
	join(m, a, bg);
	join(m, b, bg);
	assert_int_equal(sched_tune_cpu(m->s, 0), 10);
	assert_true(wake(m, fast, 0));
	assert_int_equal(sched_tune_cpu(m->s, 0), 60);
	assert_int_equal(sched_tune_boost(m->s, bg, 70), 0);
	assert_int_equal(sched_tune_cpu(m->s, 0), 70);
	assert_int_equal(sched_tune_boost(m->s, bg, 5), 0);
	assert_int_equal(sched_tune_cpu(m->s, 0), 60);
	join(m, fast, 0);
	assert_int_equal(sched_tune_cpu(m->s, 0), 5);
	/* They move to CPU 2 one after the other; the second takes the boost along. */
	allow(m, a, cpumask_of(2));
	assert_int_equal(sched_tune_cpu(m->s, 0), 5);
	allow(m, b, cpumask_of(2));
	assert_int_equal(sched_tune_cpu(m->s, 0), 0);
	assert_int_equal(sched_tune_cpu(m->s, 2), 5);
	set_tunable(m, "sched_cfs_boost", "30");
	assert_int_equal(sched_tune_cpu(m->s, 2), 30);
	sched_check(m->s);
	machine_free(m);
}

static void a_boost_ends_with_its_task(void **state)
{
	struct machine *m = governed("juno-a53", "sched");
	unsigned fg = group_of(m, 60);
	struct task *t = pinned(m, 0);

	(void)state;
	join(m, t, fg);
	sched_task_exit(m->s, 0);
	t->state = TASK_DEAD;
	switch_cpu(m, 0, false);
	assert_int_equal(sched_tune_cpu(m->s, 0), 0);
	sched_check(m->s);
	machine_free(m);
}

/* As at the end of a thread in a control group, which is then removed and its number used again. */
static void a_boost_ends_with_its_group(void **state)
{
	struct machine *m = governed("juno-a53", "sched");
	unsigned fg = group_of(m, 60);
	struct task *t = pinned(m, 0);

	(void)state;
	join(m, t, fg);
	join(m, t, 0);
	sched_tune_free(m->s, fg);
	assert_int_equal(sched_tune_cpu(m->s, 0), 0);
	assert_int_equal(sched_tune_boost(m->s, fg, 5), -EINVAL);
	assert_int_equal(sched_tune_new(m->s), fg);
	join(m, t, fg);
	assert_int_equal(sched_tune_boost_of(m->s, fg), 0);
	assert_int_equal(sched_tune_cpu(m->s, 0), 0);
	machine_free(m);
}

/* Group 0 is the tunable sched_cfs_boost by another name. */
static void the_root_mirrors_the_sysctl(void **state)
{
	struct machine *m = governed("juno-a53", "sched");

	(void)state;
	set_tunable(m, "sched_cfs_boost", "30");
	assert_int_equal(sched_tune_boost_of(m->s, 0), 30);
	assert_int_equal(sched_tune_boost(m->s, 0, 45), 0);
	assert_int_equal(m->s->tunable.cfs_boost, 45);
	assert_int_equal(sched_tune_cpu(m->s, 3), 45);
	machine_free(m);
}

static void children_are_boosted_as_their_parents(void **state)
{
	struct machine *m = governed("juno-a53", "sched");
	unsigned fg = group_of(m, 60);
	struct task *t = pinned(m, 0), *child = calloc(1, sizeof(*child));

	(void)state;
	join(m, t, fg);
	sched_task_fork(m->s, t, child, 99, 0);
	assert_int_equal(sched_tune_of(child), fg);
	sched_task_start(m->s, child, 0);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_ptr_equal(running(m, 0), child);
	assert_int_equal(sched_tune_cpu(m->s, 0), 60);
	sched_check(m->s);
	machine_free(m);
}

/* A CPU whose tasks use nothing is not boosted. */
static void no_usage_no_boost(void **state)
{
	struct machine *m = governed("juno-a53", "sched");

	(void)state;
	set_tunable(m, "sched_cfs_boost", "100");
	pinned(m, 0);
	m->now += NS_PER_SEC;
	assert_int_equal(tell(m, 0, 1, FREQ_WAKEUP), 850);
	m->now += NS_PER_SEC;
	assert_int_equal(tell(m, 0, 0, FREQ_WAKEUP), 450);
	machine_free(m);
}

static void bad_boosts_change_nothing(void **state)
{
	struct machine *m = governed("juno-a53", "sched");
	unsigned fg = group_of(m, 60);
	struct task *t = pinned(m, 0);

	(void)state;
	join(m, t, fg);
	assert_int_equal(sched_tune_boost(m->s, fg, 101), -EINVAL);
	assert_int_equal(sched_tune_boost(m->s, fg, ~0ull), -EINVAL);
	assert_int_equal(sched_tune_boost(m->s, 0, 101), -EINVAL);
	assert_int_equal(sched_tune_boost(m->s, fg + 1, 5), -EINVAL);
	assert_int_equal(sched_tune_boost(m->s, 64 + fg, 5), -EINVAL);
	assert_int_equal(sched_tune_move(m->s, t, fg + 1), -EINVAL);
	assert_int_equal(sched_tune_move(m->s, t, 1000), -EINVAL);
	assert_int_equal(sched_tunable_write(m->s, "sched_cfs_boost", "101", 3), -EINVAL);
	assert_int_equal(sched_tunable_write(m->s, "sched_cfs_boost", "-1", 2), -EINVAL);
	assert_int_equal(sched_tunable_write(m->s, "sched_cfs_boost", "much", 4), -EINVAL);
	assert_int_equal(sched_tune_of(t), fg);
	assert_int_equal(sched_tune_cpu(m->s, 0), 60);
	for (unsigned n = 2; n < SCHED_TUNE_GROUPS; n++)
		group_of(m, n);
	assert_int_equal(sched_tune_new(m->s), -ENOSPC);
	join(m, t, 0);
	sched_tune_free(m->s, fg);
	assert_int_equal(sched_tune_new(m->s), fg);
	machine_free(m);
}

/* A boost is told when it changes, and only then. */
static void a_boost_that_stays_is_not_told_again(void **state)
{
	struct machine *m = governed("juno-a53", "sched");
	unsigned group = group_of(m, 40);
	struct task *t = pinned(m, 0);
	unsigned nr = 0;

	(void)state;
	join(m, t, group);
	pinned(m, 0);
	sched_trace_set(m->s, ~DECISION_EVENTS);
	m->nr_trace = 0;
	for (unsigned n = 0; n < 5; n++) {
		join(m, pinned(m, 0), group);
		advance(m, MS);
	}
	for (unsigned i = 0; i < m->nr_trace; i++)
		nr += m->trace[i].common.type == EVENT_ID_sched_tune_boost;
	assert_int_equal(nr, 0);
	assert_int_equal(sched_tune_boost(m->s, group, 50), 0);
	for (unsigned i = 0; i < m->nr_trace; i++)
		nr += m->trace[i].common.type == EVENT_ID_sched_tune_boost;
	assert_int_equal(nr, 1);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sched_gives_a_quarter_more_than_is_used),
		cmocka_unit_test(every_reason_but_ticks_is_a_request),
		cmocka_unit_test(a_tick_jumps_to_the_fastest),
		cmocka_unit_test(the_tick_does_not_look_at_boosts),
		cmocka_unit_test(the_domain_follows_the_most_demanding),
		cmocka_unit_test(an_idle_cpu_asks_for_nothing),
		cmocka_unit_test(a_request_within_the_throttle_is_dropped_or_deferred),
		cmocka_unit_test(at_most_one_change_in_a_window),
		cmocka_unit_test(a_latency_of_the_table_is_the_throttle),
		cmocka_unit_test(schedutil_gives_a_quarter_more_of_the_frequency),
		cmocka_unit_test(schedutil_has_a_rate_limit_and_no_pity_with_real_time),
		cmocka_unit_test(schedutil_holds_a_busy_cpu),
		cmocka_unit_test(ondemand_samples_the_busiest),
		cmocka_unit_test(boosts_close_a_part_of_the_distance),
		cmocka_unit_test(a_cpu_has_the_greatest_boost_of_its_runnable_tasks),
		cmocka_unit_test(a_boost_ends_with_its_task),
		cmocka_unit_test(a_boost_ends_with_its_group),
		cmocka_unit_test(the_root_mirrors_the_sysctl),
		cmocka_unit_test(children_are_boosted_as_their_parents),
		cmocka_unit_test(no_usage_no_boost),
		cmocka_unit_test(bad_boosts_change_nothing),
		cmocka_unit_test(a_boost_that_stays_is_not_told_again),
	};

	return cmocka_run_group_tests_name("governor", tests, NULL, NULL);
}
