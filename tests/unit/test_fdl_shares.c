/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The result of FDL over seconds: shares, gaps, the controller. One CPU, events to the nanosecond,
 * and nothing costs time. Numbers: docs/sources.md, FDL. An independent model made them, which has
 * no ticks; so there are none here either, unless a test says so.
 */
#include <stdlib.h>
#include <string.h>

#include "fdl.h"
#include "swap.h"
#include "sched/fair/fdl/fdl.h"

#define SECONDS 5

/* Is @got equal to @wanted, both in hundredths of a percent, within 1 % of the CPU? */
#define assert_share(got, wanted) assert_in_range((got) + 100, (wanted), (wanted) + 200)

/* --- golden machines -------------------------------------------------------------------------- */

/* A kind of actors: how many there are, and what each should get. */
struct kind {
	unsigned nr;
	u64 shares, rr_ns, wakeup_ns;	 /* shares 0: in the root group */
	u64 run_ns, period_ns, sleep_ns; /* run_ns 0: hogs */
	unsigned share;			 /* hundredths of a percent */
	u64 gap_us;			 /* longest wait for the CPU; 0: not compared */
	u64 latency_us;			 /* longest after a wakeup; 0: not compared */
};

struct golden {
	const char *name;
	struct kind kind[3];
	u64 switches;	 /* a second; 0: they depend on phases */
	bool from_start; /* also compare the first 100 ms, in which many waits are longest */
	bool hrtick;	 /* CFS's own slices end with a timer, too */
};

static const struct golden goldens[] = {
	{ .name = "G1",
	  .kind = { { 1, 1024, 2 * MS, .share = 5267, .gap_us = 1895 },
		    { 1, .share = 4733, .gap_us = 2105 } },
	  .switches = 500 },
	{ .name = "G2",
	  .kind = { { 1, 1024, 1 * MS, .share = 2906, .gap_us = 999 },
		    { 1, 2048, 4 * MS, .share = 4733, .gap_us = 1072 },
		    { 1, .share = 2361, .gap_us = 2515 } },
	  .switches = 2767 },
	{ .name = "G3",
	  .kind = { { 1, 3072, 2 * MS, .share = 5267, .gap_us = 1895 },
		    { 3, .share = 1580, .gap_us = 10105 } },
	  .switches = 500 },
	{ .name = "G4",
	  .kind = { { 16, 1024, 5 * MS, .share = 625, .gap_us = 5000 } },
	  .switches = 7239 },
	{ .name = "G5",
	  .kind = { { 16, 1024, 200 * US, .share = 625, .gap_us = 1200 } },
	  .switches = 12501 },
	{ .name = "G6",
	  .kind = { { 1, 1024, 200 * US, .share = 1103, .gap_us = 189 },
		    { 16, .share = 556, .gap_us = 3214 } },
	  .switches = 9393 },
	{ .name = "G7",
	  .kind = { { 3, .share = 3333, .gap_us = 16000 } },
	  .switches = 125,
	  .hrtick = true },
	{ .name = "G8",
	  .kind = { { 1, 64, 200 * US, .share = 1103, .gap_us = 189 }, { 1, .share = 8897 } },
	  .switches = 9393 },
	{ .name = "G9",
	  .kind = { { 1, 1024, 200 * US, .share = 3697, .gap_us = 199 },
		    { 1, 1024, 5 * MS, .share = 3151, .gap_us = 4986 },
		    { 1, .share = 3151, .gap_us = 4999 } },
	  .switches = 6728,
	  .from_start = true },
	{ .name = "G10",
	  .kind = { { 1, 1024, 200 * US, 100 * US, 50 * US, 1000137, .share = 500 },
		    { 3, .share = 3167 } },
	  .switches = 2000 },
	{ .name = "G11",
	  .kind = { { 1, 1024, 200 * US, 100 * US, 500 * US, MS, .share = 2905, .gap_us = 199 },
		    { 3, .share = 2365 } },
	  .switches = 7448 },
	{ .name = "G12",
	  .kind = { { 1, 1024, 200 * US, 100 * US, 40 * US, 0, 10 * US, .share = 2740,
		      .latency_us = 180 },
		    { 3, .share = 2420 } },
	  .switches = 13701 },
	{ .name = "G13",
	  .kind = { { 6, 1024, 200 * US, 100 * US, 60 * US, MS, .share = 600, .latency_us = 100 },
		    { 4, .share = 1600 } } },
	{ .name = "G14",
	  .kind = { { 6, 1024, 200 * US, 100 * US, 60 * US, MS, .share = 521, .gap_us = 200 },
		    { 16, .share = 430 } } },
};

static void add_kind(struct lab *lab, const struct kind *k)
{
	for (unsigned i = 0; i < k->nr; i++) {
		struct actor *a = k->shares ? lab_group(lab, k->shares, k->rr_ns, k->wakeup_ns)
					    : lab_hog(lab);

		if (k->period_ns)
			lab_periodic(lab, a, k->run_ns, k->period_ns + 137 * i, (27 + 37 * i) * US);
		else if (k->run_ns)
			lab_farmer(a, k->run_ns, k->sleep_ns);
	}
}

/*
 * A result is at most 5 % and a microsecond above @most_us, and at least half of it, so that it is
 * no coincidence.
 */
static void check_ns(const char *name, const char *what, u64 ns, u64 most_us)
{
	if (ns > most_us * 1050 + 1000 || ns < most_us * 500)
		fail_msg("%s: %s is %lu ns, not %lu us", name, what, ns, most_us);
}

static void check_actor(const struct golden *g, const struct lab *lab, const struct kind *k,
			const struct actor *a)
{
	u64 share = lab_share(lab, a);

	if (share + 100 < k->share || share > k->share + 100u)
		fail_msg("%s: share is %lu, not %u", g->name, share, k->share);
	if (k->gap_us)
		check_ns(g->name, "gap", a->max_gap_ns, k->gap_us);
	if (k->latency_us)
		check_ns(g->name, "latency", a->max_latency_ns, k->latency_us);
	if (k->period_ns == 1000137 && a->max_latency_ns)
		fail_msg("%s: it does not preempt at once", g->name);
}

static void machines_are_golden(void **state)
{
	(void)state;
	for (const struct golden *g = goldens; g < goldens + ARRAY_SIZE(goldens); g++) {
		struct lab *lab = lab_new("fdl");
		const struct actor *a = lab->actor;

		/* A tick ends the very first turn, which began before another task waited. */
		lab->tickless = !g->hrtick;
		if (g->hrtick)
			set_feature(lab->m, "HRTICK");
		for (unsigned i = 0; i < ARRAY_SIZE(g->kind); i++)
			add_kind(lab, &g->kind[i]);
		if (!g->from_start)
			lab_run(lab, 100 * MS);
		lab->tickless = true;
		lab_mark(lab);
		lab_run(lab, SECONDS * NS_PER_SEC);
		for (unsigned i = 0; i < ARRAY_SIZE(g->kind); i++)
			for (unsigned n = 0; n < g->kind[i].nr; n++)
				check_actor(g, lab, &g->kind[i], a++);
		if (g->switches &&
		    labs((long)lab_switches(lab) - (long)g->switches) * 50 > (long)g->switches)
			fail_msg("%s: %lu switches/s, not %lu", g->name, lab_switches(lab),
				 g->switches);
		sched_check(lab->m->s);
		lab_free(lab);
	}
}

/* --- properties ------------------------------------------------------------------------------- */

/* Ten groups with long deadlines do not take more from the rest than their weight allows. */
static void those_without_deadlines_do_not_starve(void **state)
{
	struct lab *lab = lab_new("fdl");
	struct actor *hog = lab_hog(lab);

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		lab_group(lab, 1024, 20 * MS, 0);
	lab_run(lab, 100 * MS);
	lab_mark(lab);
	lab_run(lab, SECONDS * NS_PER_SEC);
	assert_true(lab_share(lab, hog) >= 10000 * 970 / 1024 / 11);
	assert_in_range(hog->max_gap_ns, 1 * MS, 5 * MS);
	lab_free(lab);
}

static void too_many_deadlines_wait_longer_but_equally(void **state)
{
	u64 gap[2];

	(void)state;
	for (unsigned twice = 0; twice < 2; twice++) {
		struct lab *lab = lab_new("fdl");
		unsigned nr = 16u << twice;

		for (unsigned i = 0; i < nr; i++)
			lab_group(lab, 1024, 200 * US, 0);
		lab_run(lab, 100 * MS);
		lab_mark(lab);
		lab_run(lab, NS_PER_SEC);
		gap[twice] = lab->actor[0].max_gap_ns;
		for (unsigned i = 0; i < nr; i++)
			assert_in_range(lab_share(lab, &lab->actor[i]), 10000 / nr - 100,
					10000 / nr + 100);
		lab_free(lab);
	}
	/* Turns of 80 us each. */
	assert_in_range(gap[0], 15 * 80 * US, 15 * 84 * US);
	assert_in_range(gap[1], 31 * 80 * US, 31 * 84 * US);
}

/*
 * The latency after wakeups of a task with a deadline and of one without, beside @load chatting
 * tasks.
 */
static void measure_latency(unsigned load, u64 *with, u64 *without)
{
	struct lab *lab = lab_new("fdl");
	struct actor *a = lab_group(lab, 1024, 200 * US, 100 * US), *b = lab_hog(lab);

	/* 4 %, which is less than its share in the crowd. */
	lab_periodic(lab, a, 40 * US, MS, 300 * US);
	lab_periodic(lab, b, 60 * US, MS, 310 * US);
	for (unsigned i = 0; i < load; i++)
		lab_farmer(lab_hog(lab), (50 + 7 * i) * US, 5 * US);
	lab_run(lab, 100 * MS);
	lab_mark(lab);
	lab_run(lab, 2 * NS_PER_SEC);
	*with = a->max_latency_ns;
	*without = b->max_latency_ns;
	lab_free(lab);
}

static void a_deadline_isolates_from_load(void **state)
{
	u64 alone_with, alone_without, loaded_with, loaded_without;

	(void)state;
	measure_latency(0, &alone_with, &alone_without);
	measure_latency(16, &loaded_with, &loaded_without);
	assert_int_equal(alone_with, 0);
	assert_int_equal(loaded_with, 0);
	assert_in_range(alone_without, 10 * US, 70 * US);
	assert_true(loaded_without > 10 * alone_without);
}

/*
 * Half of the CPU, and a quarter of that; its sibling has the other three quarters. Each gets 94.7
 * % of its part, and the rest goes to the shortest deadlines of both levels.
 */
static void nested_deadlines_get_products_of_shares(void **state)
{
	struct lab *lab = lab_new("fdl");
	struct task_group *outer = new_group(lab->m, NULL), *inner = new_group(lab->m, outer);
	struct actor *x = lab_group(lab, 2048, 0, 0);
	struct task *a, *b;
	u64 a0, b0;

	(void)state;
	lab->tick_ns = 100 * US;
	lab->next_tick = lab->m->now + lab->tick_ns;
	assert_int_equal(task_group_set_shares(lab->m->s, outer, 2048), 0);
	assert_int_equal(task_group_set_deadline(lab->m->s, outer, 2 * MS, 0), 0);
	assert_int_equal(task_group_set_deadline(lab->m->s, inner, 4 * MS, 0), 0);
	a = spawn_in(lab->m, inner, 0);
	b = spawn_in(lab->m, outer, -5); /* three times the weight of the group beside it */
	lab_run(lab, 100 * MS);
	lab_mark(lab);
	a0 = sched_task_runtime(lab->m->s, a);
	b0 = sched_task_runtime(lab->m->s, b);
	lab_run(lab, SECONDS * NS_PER_SEC);
	assert_share(lab_share(lab, x), 4733);
	a0 = (sched_task_runtime(lab->m->s, a) - a0) * 10000 / (SECONDS * NS_PER_SEC);
	b0 = (sched_task_runtime(lab->m->s, b) - b0) * 10000 / (SECONDS * NS_PER_SEC);
	assert_share(a0, 970 * 1250 / 1024 + 527);
	assert_share(b0, 970 * 3750 / 1024);
	sched_check(lab->m->s);
	lab_free(lab);
}

/* --- without deadlines ------------------------------------------------------------------------ */

/* A machine of three CPUs with nested groups, on which random events happen. */
static struct machine *drive(const char *policy, u64 seed)
{
	struct machine *m = machine_under(3, policy);
	struct task_group *tg[3] = { new_group(m, NULL), new_group(m, NULL) };
	struct task *t[12];
	struct prng prng;

	prng_seed(&prng, seed);
	sched_trace_set(m->s, ~DECISION_EVENTS);
	tg[2] = new_group(m, tg[0]);
	for (unsigned i = 0; i < ARRAY_SIZE(t); i++)
		t[i] = spawn_in(m, i % 4 < 3 ? tg[i % 4] : NULL, (int)i - 6);
	while (m->nr_trace < MAX_TRACE - 100) {
		u64 r = prng_u64(&prng);
		unsigned cpu = r % 3;

		advance(m, r / 64 % (2 * MS));
		if (r / 4 % 4 == 0)
			tick(m);
		else if (r / 4 % 4 < 3 && running(m, cpu) != &m->idle[cpu])
			block(m, cpu, TASK_INTERRUPTIBLE);
		for (unsigned i = 0; i < 3; i++)
			wake(m, t[(r >> 32 >> 4 * i) % ARRAY_SIZE(t)], cpu);
	}
	return m;
}

static void without_deadlines_it_is_cfs(void **state)
{
	(void)state;
	for (u64 seed = 1; seed <= 20; seed++) {
		struct machine *cfs = drive("cfs", seed), *fdl = drive("fdl", seed);

		assert_int_equal(cfs->nr_trace, fdl->nr_trace);
		assert_memory_equal(cfs->trace, fdl->trace, sizeof(cfs->trace));
		machine_free(fdl);
		machine_free(cfs);
	}
}

/* --- the controller --------------------------------------------------------------------------- */

/* Turns last a few microseconds, so that each pass sees the effect of the shares. */
static struct lab *lab_of_short_turns(void)
{
	struct lab *lab = lab_new("fdl");

	lab->tick_ns = 50 * US;
	lab->next_tick = lab->m->now + lab->tick_ns;
	set_tunable(lab->m, "latency_ns", "200000");
	set_tunable(lab->m, "min_granularity_ns", "10000");
	lab->controls = true;
	return lab;
}

static u64 shares_of(struct lab *lab, const struct actor *a)
{
	struct task_group_fdl_stat stat;

	task_group_fdl_stat(lab->m->s, a->tg, &stat);
	return stat.dynamic_shares;
}

/* 512 shares are guaranteed beside a competitor of 3072: the shares after so many passes. */
static void a_step_of_the_controller_is_golden(void **state)
{
	static const struct {
		unsigned pass;
		u64 shares;
	} golden[] = { { 1, 961 },    { 2, 1364 },   { 3, 1727 },   { 4, 2052 },  { 5, 2343 },
		       { 6, 2605 },   { 9, 3240 },   { 13, 3827 },  { 21, 4476 }, { 41, 4970 },
		       { 161, 5114 }, { 201, 3008 }, { 251, 2236 }, { 300, 2912 } };
	struct lab *lab = lab_of_short_turns();
	struct actor *a = lab_group(lab, 512, 0, 0);
	unsigned pass = 0;

	(void)state;
	lab_group(lab, 3072, 0, 0);
	lab_run(lab, 100 * MS);
	assert_int_equal(task_group_set_guaranteed(lab->m->s, a->tg, 512), 0);
	/* The first pass only measures. */
	lab_run(lab, 10 * MS);
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		lab_run(lab, (golden[i].pass - pass) * 10 * MS);
		pass = golden[i].pass;
		assert_in_range(shares_of(lab, a), golden[i].shares * 98 / 100,
				golden[i].shares * 102 / 100);
	}
	lab_free(lab);
}

/* From the sixth second on: the group's usage and its shares. */
static void guarantees_are_met_where_they_can_be(void **state)
{
	static const struct {
		u64 guaranteed, competitor, run_ns;
		unsigned share;
		u64 least, most; /* for the last line see who_wants_less_gives_shares_back() */
	} golden[] = {
		{ 512, 1024, 0, 5000, 1007, 1039 }, { 512, 3072, 0, 5000, 3041, 3093 },
		{ 512, 4096, 0, 4990, 4041, 4115 }, { 512, 8192, 0, 3850, 5120, 5120 },
		{ 256, 3072, 0, 2500, 997, 1044 },  { 768, 1024, 0, 7500, 3006, 3117 },
		{ 768, 3072, 0, 7140, 7680, 7680 }, { 512, 3072, 600 * US, 3000, 512, 5120 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		struct lab *lab = lab_of_short_turns();
		struct actor *a = lab_group(lab, golden[i].guaranteed, 0, 0);
		u64 shares, slack = golden[i].least / 50;

		lab_group(lab, golden[i].competitor, 0, 0);
		if (golden[i].run_ns)
			lab_periodic(lab, a, golden[i].run_ns, 2 * MS, MS);
		assert_int_equal(task_group_set_guaranteed(lab->m->s, a->tg, golden[i].guaranteed),
				 0);
		lab_run(lab, 6 * NS_PER_SEC);
		lab_mark(lab);
		lab_run(lab, 2 * NS_PER_SEC);
		assert_in_range(lab_share(lab, a) + 50, golden[i].share, golden[i].share + 100);
		shares = shares_of(lab, a);
		assert_in_range(shares, golden[i].least - slack, golden[i].most + slack);
		lab_free(lab);
	}
}

/*
 * A guarantee of 512 and a demand of 30 % of the CPU, 3 of each 10 ms, beside 3072, with CFS's own
 * latencies. Under these a task that sleeps enough does not wait, so each pass lowers the shares by
 * 1 % of their excess over the guarantee. The model's way from 3102 to 1293 is a part of this.
 * Shares of 1317 are worth the 30 %. With s < 1317 each wakeup finds the group 3072/s - 7/3 ms
 * further right in virtual time than the one before. A sleeper is put 12 ms ahead; all of that but
 * the granularity, 4096/s, is gone after 35 passes, at 1083. Then the group waits, and within 5
 * passes its average shows it.
 */
static void who_wants_less_gives_shares_back(void **state)
{
	struct lab *lab = lab_new("fdl");
	struct actor *a = lab_group(lab, 512, 0, 0);
	u64 before, now;

	(void)state;
	lab->tick_ns = MS;
	lab->next_tick = lab->m->now + MS;
	lab->controls = true;
	lab_group(lab, 3072, 0, 0);
	lab_periodic(lab, a, 3 * MS, 10 * MS, MS);
	assert_int_equal(task_group_set_guaranteed(lab->m->s, a->tg, 512), 0);
	/* First the shares rise, because the average of the usage starts at 0. */
	lab_run(lab, 1400 * MS);
	lab_mark(lab);
	before = shares_of(lab, a);
	assert_true(before >= 3102);
	for (;;) {
		lab_run(lab, 10 * MS);
		now = shares_of(lab, a);
		if (now > before)
			break;
		assert_true(now > 512);
		assert_int_equal(now, before - ((before - 512) * 10 >> 10));
		before = now;
	}
	assert_in_range(before, 1083 - 5 * 6, 1083);
	assert_in_range(lab_share(lab, a) + 50, 3000, 3100);
	lab_free(lab);
}

/* A group that does not wait gets no more shares, however little it uses. */
static void only_those_that_wait_get_more(void **state)
{
	struct lab *lab = lab_of_short_turns();
	struct actor *a = lab_group(lab, 512, 200 * US, 100 * US);
	struct task_group_fdl_stat stat;

	(void)state;
	lab_hog(lab);
	lab_periodic(lab, a, 50 * US, 1000137, MS);
	assert_int_equal(task_group_set_guaranteed(lab->m->s, a->tg, 512), 0);
	lab_run(lab, 2 * NS_PER_SEC);
	task_group_fdl_stat(lab->m->s, a->tg, &stat);
	assert_int_equal(stat.dynamic_shares, 512);
	assert_in_range(stat.avg_usage, 40, 60);
	assert_true(stat.avg_wait * 1024 <= stat.avg_usage * 100);
	lab_free(lab);
}

/* A group that gets nothing at all is seen to wait: it need not run to be noticed. */
static void a_starving_group_is_seen(void **state)
{
	struct lab *lab = lab_of_short_turns();
	struct actor *a = lab_group(lab, 1024, 0, 0);
	struct task_group_fdl_stat stat;
	struct task *rt;

	(void)state;
	set_tunable(lab->m, "sched_rt_runtime_us", "-1");
	assert_int_equal(task_group_set_guaranteed(lab->m->s, a->tg, 512), 0);
	lab_run(lab, 20 * MS);
	rt = spawn(lab->m, "rt", SCHED_FIFO, 10);
	lab_run(lab, NS_PER_SEC);
	assert_ptr_equal(running(lab->m, 0), rt);
	task_group_fdl_stat(lab->m->s, a->tg, &stat);
	assert_in_range(stat.avg_wait, 500, 700);
	lab_free(lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_deadlines_it_is_cfs),
		cmocka_unit_test(machines_are_golden),
		cmocka_unit_test(those_without_deadlines_do_not_starve),
		cmocka_unit_test(too_many_deadlines_wait_longer_but_equally),
		cmocka_unit_test(a_deadline_isolates_from_load),
		cmocka_unit_test(nested_deadlines_get_products_of_shares),
		cmocka_unit_test(a_step_of_the_controller_is_golden),
		cmocka_unit_test(guarantees_are_met_where_they_can_be),
		cmocka_unit_test(who_wants_less_gives_shares_back),
		cmocka_unit_test(only_those_that_wait_get_more),
		cmocka_unit_test(a_starving_group_is_seen),
	};

	return cmocka_run_group_tests_name("fdl_shares", tests, NULL, NULL);
}
