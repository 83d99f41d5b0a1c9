/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A frequency domain: limits, time at each point, events that its governor is told, a CPU that
 * falls idle between two updates of averages, and the values at which a CPU counts as full or a
 * point as used. See also test_freq.c, test_governor.c.
 */
#include "lib/errno.h"
#include "sched/fair/core/pelt.h"
#include "sched/freq/governor.h"
#include "speeds.h"

/* --- limits --------------------------------------------------------------------------------- */

/* CPU 0 has points at 450, 625, 800, 950 and 1100 MHz. */
static void limits_are_the_points_within_them(void **state)
{
	static const struct {
		u32 least, most;
		u32 slowest, fastest; /* 0: refused, the limits stay */
	} cases[] = {
		{ 0, 9999, 450, 1100 },	     { 450, 1100, 450, 1100 },
		{ 451, 1099, 625, 950 },     { 625, 625, 625, 625 },
		{ 700, 900, 800, 800 },	     { 1100, 1100, 1100, 1100 },
		{ 1000, 99999, 1100, 1100 }, { 0, 450, 450, 450 },
		{ 1101, 99999, 0, 0 },	     { 0, 449, 0, 0 },
		{ 626, 799, 0, 0 },	     { 900, 700, 0, 0 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++)
		for (unsigned slow = 0; slow < 2; slow++) {
			struct machine *m = builtin_machine("juno", NULL);
			bool taken = cases[i].slowest;
			u32 slowest = taken ? cases[i].slowest : 450;
			u32 fastest = taken ? cases[i].fastest : 1100;

			assert_int_equal(
				sched_freq_govern(m->s, 0, slow ? "powersave" : "performance"), 0);
			assert_int_equal(sched_freq_limit(m->s, 0, cases[i].least, cases[i].most),
					 taken ? 0 : -EINVAL);
			assert_int_equal(stat_of(m, 1).slowest_mhz, slowest);
			assert_int_equal(stat_of(m, 1).fastest_mhz, fastest);
			assert_int_equal(stat_of(m, 1).mhz, slow ? slowest : fastest);
			/* The other domain has its own. */
			assert_int_equal(stat_of(m, 2).fastest_mhz, 850);
			assert_int_equal(stat_of(m, 2).mhz, 850);
			sched_check(m->s);
			machine_free(m);
		}
}

/* --- time ----------------------------------------------------------------------------------- */

/* Each point has the time that the domain was there, the present one up to now. */
static void time_is_told_by_point(void **state)
{
	static const u32 mhz[] = { 450, 1100, 800, 450, 625 };
	static const u64 golden[] = { 1 + 4, 5, 3, 0, 2 }; /* ms */
	struct machine *m = builtin_machine("juno", NULL);

	(void)state;
	assert_int_equal(sched_freq_govern(m->s, 0, "userspace"), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(mhz); i++) {
		assert_int_equal(sched_freq_set(m->s, 0, mhz[i]), 0);
		advance(m, (i + 1) * MS);
	}
	for (unsigned opp = 0; opp < ARRAY_SIZE(golden); opp++)
		assert_int_equal(stat_of(m, 0).at_ns[opp], golden[opp] * MS);
	machine_free(m);
}

/* As many idle states as there can be: each has its time, and energy is power times time. */
static void four_idle_states_have_their_times(void **state)
{
	static const char table[] = "type t\nopp 1000 1024 100 10\nidle 8 4 0\nidle 4 3 1000\n"
				    "idle 2 2 2000\nidle 1 1 4000\ndomain llc t\n";
	struct machine *m = machine_new_opp("cores=1", table, NULL);
	struct task *t = pinned(m, 0);

	(void)state;
	advance(m, 5 * MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	advance(m, 10 * MS);
	wake(m, t, 0);
	sched_check(m->s);
	assert_int_equal(stat_of(m, 0).busy_ns[0], 5 * MS);
	assert_int_equal(stat_of(m, 0).idle_ns[0], 1 * MS);
	assert_int_equal(stat_of(m, 0).idle_ns[1], 1 * MS);
	assert_int_equal(stat_of(m, 0).idle_ns[2], 2 * MS);
	assert_int_equal(stat_of(m, 0).idle_ns[3], 6 * MS);
	assert_int_equal(stat_of(m, 0).energy, (500 + 8 + 4 + 4 + 6) * MS);
	assert_int_equal(stat_of(m, 0).domain_energy, (50 + 4 + 3 + 4 + 6) * MS);
	machine_free(m);
}

/* --- busy and idle -------------------------------------------------------------------------- */

/* A CPU that works already, or idles already, is told so again: nothing changes. */
static void to_work_or_idle_twice_is_once(void **state)
{
	struct machine *m = builtin_machine("juno-a53", NULL);
	struct rq *rq = rq_of(m, 1);
	struct freq_domain *d = rq->freq->domain;
	u64 nr_idles;

	(void)state;
	pinned(m, 0);
	pinned(m, 1);
	assert_int_equal(d->nr_busy, 2);
	rq_lock(rq);
	freq_cpu_works(rq);
	rq_unlock(rq);
	assert_int_equal(d->nr_busy, 2);
	sched_check(m->s);
	nr_idles = rq->freq->nr_idles + 1;
	block(m, 1, TASK_INTERRUPTIBLE);
	assert_int_equal(rq->freq->nr_idles, nr_idles);
	rq_lock(rq);
	freq_cpu_idles(rq);
	rq_unlock(rq);
	assert_int_equal(d->nr_busy, 1);
	assert_int_equal(rq->freq->nr_idles, nr_idles);
	sched_check(m->s);
	machine_free(m);
}

/* The host is told with which speed a CPU works, and that it does not: at once, and of changes. */
static void the_host_is_told_the_speed(void **state)
{
	struct machine *m = builtin_machine("juno-a53", NULL);
	struct task *t;

	(void)state;
	assert_int_equal(m->speed[1], 0);
	t = pinned(m, 1);
	assert_int_equal(m->speed[1], 1024);
	assert_int_equal(sched_freq_govern(m->s, 1, "powersave"), 0);
	assert_int_equal(m->speed[1], 542);
	assert_int_equal(m->speed[0], 0);
	block(m, 1, TASK_INTERRUPTIBLE);
	assert_int_equal(m->speed[1], 0);
	wake(m, t, 1);
	assert_int_equal(m->speed[1], 542);
	machine_free(m);
}

/*
 * A full CPU at 542/1024 of its speed loses what it is behind, to the last ns before it idles, be
 * the last update of its averages ever so near.
 */
static void what_is_lost_counts_to_the_last_moment(void **state)
{
	static const u64 last_ns[] = { 0, 300, 900, 1023, 5000 };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(last_ns); i++) {
		struct machine *m = builtin_machine("juno-a53", NULL);
		struct rq *rq = rq_of(m, 0);
		u64 behind;

		assert_int_equal(sched_freq_govern(m->s, 0, "powersave"), 0);
		pinned(m, 0);
		for (unsigned n = 0; n < 1000; n++)
			tick(m);
		rq_lock(rq);
		freq_time(rq);
		behind = rq->freq->behind;
		rq_unlock(rq);
		assert_in_range(behind, 400 * MS, 500 * MS);
		advance(m, last_ns[i]);
		block(m, 0, TASK_INTERRUPTIBLE);
		assert_in_range(rq->freq->lost, behind + last_ns[i] - last_ns[i] * 542 / 1024 - 1,
				behind + last_ns[i] - last_ns[i] * 542 / 1024 + 1);
		machine_free(m);
	}
}

/* At full speed nothing is lost; then it slows down, and falls idle before anything is updated. */
static void what_was_lost_just_now_counts_too(void **state)
{
	static const u64 last_ns[] = { 0, 300, 900 };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(last_ns); i++) {
		struct machine *m = builtin_machine("juno-a53", NULL);
		struct rq *rq = rq_of(m, 0);
		u64 lost = last_ns[i] - last_ns[i] * 542 / 1024;

		pinned(m, 0);
		for (unsigned n = 0; n < 1000; n++)
			tick(m);
		assert_int_equal(rq->freq->behind, 0);
		assert_int_equal(sched_freq_govern(m->s, 0, "powersave"), 0);
		advance(m, last_ns[i]);
		block(m, 0, TASK_INTERRUPTIBLE);
		assert_in_range(rq->freq->lost, lost - !!lost, lost + 1);
		machine_free(m);
	}
}

/* --- news ----------------------------------------------------------------------------------- */

static unsigned nr_news[FREQ_TICK + 1];

static void take_over(struct sched *s, struct freq_domain *d, unsigned cpu, u64 now)
{
	(void)s, (void)d, (void)cpu, (void)now;
}

static void count_news(struct rq *rq, struct freq_domain *d, enum freq_reason reason)
{
	(void)rq, (void)d;
	nr_news[reason]++;
}

static void expect_news(unsigned wakeup, unsigned sleep)
{
	assert_int_equal(nr_news[FREQ_WAKEUP], wakeup);
	assert_int_equal(nr_news[FREQ_SLEEP], sleep);
	nr_news[FREQ_WAKEUP] = nr_news[FREQ_SLEEP] = 0;
}

/* A task that wakes up, is new, or falls asleep is news; one that travels or is requeued is not. */
static void governors_hear_of_sleep_and_wakeups(void **state)
{
	static const struct governor counts = { "counts", take_over, count_news };
	struct machine *m = builtin_machine("juno-a53", NULL);
	struct task *t;

	(void)state;
	rq_of(m, 0)->freq->domain->governor = &counts;
	expect_news(0, 0);
	t = spawn_nice(m, "t", 0);
	expect_news(1, 0);
	crowd(m, 0, 1, BIT(0));
	expect_news(1, 0);
	allow(m, t, cpumask_of(1));
	expect_news(0, 0);
	sched_set_nice(m->s, t, 5);
	settle(m);
	expect_news(0, 0);
	block(m, 1, TASK_INTERRUPTIBLE);
	expect_news(0, 1);
	wake(m, t, 1);
	expect_news(1, 0);
	machine_free(m);
}

/* --- borders -------------------------------------------------------------------------------- */

/*
 * A CPU is full, as in Linux, if the sums of its averages are those of a time without idling, but
 * for what rounding takes: from (47742 - 1024) * 1024 - 47742 on. Then what it is behind is lost.
 */
static void a_full_cpu_loses_what_it_is_behind(void **state)
{
	const s64 full = (47742 - 1024) * 1024ll - 47742;

	(void)state;
	for (s64 off = -1; off <= 1; off++)
		for (unsigned urgent = 0; urgent < 3; urgent++) {
			struct machine *m = builtin_machine("juno-a53", "eevdf");
			struct task *t = pinned(m, 0);
			struct rq *rq = rq_of(m, 0);
			struct freq_cpu *f = rq->freq;
			u32 part = (u32)(full / 4 * urgent);
			u64 behind;

			assert_int_equal(sched_freq_govern(m->s, 0, "powersave"), 0);
			advance(m, NS_PER_SEC);
			rq_lock(rq);
			t->class->charge(rq);
			pelt_update_queue(&rq->fair);
			rq->urgent.util_sum = part;
			rq->fair.avg.util_sum = (u32)(full + off) - part;
			behind = f->behind;
			assert_true(behind > 0);
			freq_cpu_idles(rq);
			rq_unlock(rq);
			assert_int_equal(f->behind, off < 0 ? 0 : behind);
			assert_int_equal(f->lost, off < 0 ? 0 : behind);
			machine_free(m);
		}
}

/* The usage of a CPU is the sum of its fair and its urgent tasks, up to all that it has. */
static void usage_is_of_all_classes(void **state)
{
	static const u64 utils[] = { 0, 1, 100, 300, 446, 447, 1024 };
	struct machine *m = builtin_machine("juno", NULL);

	(void)state;
	for (unsigned cpu = 0; cpu < m->nr_cpus; cpu++)
		for (unsigned i = 0; i < ARRAY_SIZE(utils); i++)
			for (unsigned k = 0; k < ARRAY_SIZE(utils); k++) {
				struct rq *rq = rq_of(m, cpu);
				u64 sum = utils[i] + utils[k];

				rq->fair.avg.util_avg = utils[i];
				rq->urgent.util_avg = utils[k];
				host_lock(&rq->lock);
				assert_int_equal(freq_usage(rq),
						 sum < rq->capacity_orig ? sum : rq->capacity_orig);
				host_unlock(&rq->lock);
			}
	machine_free(m);
}

/*
 * By definition: the part of the sample in whole percent; over 95 the fastest point, else the
 * slowest at which the same work would have been 95 % at most.
 */
static void ondemand_chooses_by_whole_percents(void **state)
{
	static const u32 mhz[] = { 450, 575, 700, 775, 850 };
	struct machine *m = builtin_machine("juno-a53", NULL);
	struct task *t = pinned(m, 2);

	(void)state;
	block(m, 2, TASK_INTERRUPTIBLE);
	for (unsigned from = 0; from < ARRAY_SIZE(mhz); from++)
		for (u64 busy = 1000; busy < 10 * MS; busy += 37 * NS_PER_US) {
			u64 percent = busy * 100 / (10 * MS);
			u32 right = 0;

			while (percent <= 95 && mhz[right] * 95 < percent * mhz[from])
				right++;
			assert_int_equal(sched_freq_govern(m->s, 0, "userspace"), 0);
			assert_int_equal(sched_freq_set(m->s, 0, mhz[from]), 0);
			assert_int_equal(sched_freq_govern(m->s, 0, "ondemand"), 0);
			wake(m, t, 2);
			advance(m, busy);
			block(m, 2, TASK_INTERRUPTIBLE);
			advance(m, 10 * MS - busy);
			assert_int_equal(tell(m, 0, 0, FREQ_TICK), percent > 95 ? 850 : mhz[right]);
		}
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_are_the_points_within_them),
		cmocka_unit_test(time_is_told_by_point),
		cmocka_unit_test(four_idle_states_have_their_times),
		cmocka_unit_test(to_work_or_idle_twice_is_once),
		cmocka_unit_test(the_host_is_told_the_speed),
		cmocka_unit_test(what_is_lost_counts_to_the_last_moment),
		cmocka_unit_test(what_was_lost_just_now_counts_too),
		cmocka_unit_test(governors_hear_of_sleep_and_wakeups),
		cmocka_unit_test(a_full_cpu_loses_what_it_is_behind),
		cmocka_unit_test(usage_is_of_all_classes),
		cmocka_unit_test(ondemand_chooses_by_whole_percents),
	};

	return cmocka_run_group_tests_name("freq_domain", tests, NULL, NULL);
}
