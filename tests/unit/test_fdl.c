/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * FDL, the fair deadline policy: its arithmetic to the nanosecond, its parameters, and groups that
 * get and lose deadlines. test_fdl_shares.c tests the result over seconds. Numbers:
 * docs/sources.md, FDL.
 */
#include <stdlib.h>
#include <string.h>

#include "fdl.h"
#include "swap.h"
#include "lib/errno.h"
#include "sched/fair/fdl/fdl.h"

static struct fair_queue *root(struct lab *lab)
{
	return &lab->m->s->rq[0].fair;
}

static struct entity *of_group(struct actor *a)
{
	return &a->tg->cpu[0].entity;
}

/* --- one group against the container, step by step -------------------------------------------- */

static void a_group_takes_turns_with_the_container(void **state)
{
	static const struct {
		u64 at, deadline, container, timer;
		bool group_runs;
	} steps[] = {
		{ 0, 2000000, 5000000, 4736328, true },
		{ 4736328, 6736328, 5000000, 4736328 + 1894531, false },
		{ 6630859, 6736328, 8999999, 6630859 + 2244204, true },
		{ 8875063, 10875063, 8999999, 8875063 + 1894531, false },
	};
	struct lab *lab = lab_new("fdl");
	struct actor *a = lab_group(lab, 1024, 2 * MS, 0), *c = lab_hog(lab);
	struct task_group_fdl_stat stat;
	u64 start = lab->m->now;

	(void)state;
	settle(lab->m);
	for (unsigned i = 0; i < ARRAY_SIZE(steps); i++) {
		if (i)
			lab_step(lab);
		assert_int_equal(lab->m->now - start, steps[i].at);
		assert_int_equal(of_group(a)->due - start, steps[i].deadline);
		assert_int_equal(fdl_queue(root(lab))->container - start, steps[i].container);
		assert_int_equal(lab->m->timer[0] - start, steps[i].timer);
		assert_ptr_equal(running(lab->m, 0), steps[i].group_runs ? a->t : c->t);
		assert_int_equal(fdl_queue(root(lab))->lag, 0);
		sched_check(lab->m->s);
	}
	task_group_fdl_stat(lab->m->s, a->tg, &stat);
	assert_int_equal(stat.nr_dl_picks, 1); /* it ran when it entered the group */
	assert_int_equal(stat.nr_container_picks, 2);
	assert_int_equal(stat.nr_misses, 0);
	assert_int_equal(stat.max_gap_ns, 1894531);
	lab_free(lab);
}

/* With turns of 1 ns timers alone would keep the CPU busy: such settings are refused. */
static void a_turn_is_never_too_short_to_get_on(void **state)
{
	struct lab *lab = lab_new("fdl");
	struct sched *s = lab->m->s;

	(void)state;
	assert_int_equal(sched_tunable_write(s, "max_tick_interval", "9999", 4), -EINVAL);
	assert_int_equal(sched_tunable_write(s, "tick_skip", "9999", 4), -EINVAL);
	assert_int_equal(sched_tunable_write(s, "control_loop_interval", "99999", 5), -EINVAL);
	set_tunable(lab->m, "tick_skip", "10000");
	set_tunable(lab->m, "tick_margin", "0");
	lab_group(lab, 1024, 2 * MS, 0);
	lab_hog(lab);
	settle(lab->m);
	for (unsigned i = 0; i < 100; i++) {
		u64 before = lab->m->now;

		lab_step(lab);
		assert_true(lab->m->now - before >= 10 * US);
	}
	sched_check(lab->m->s);
	lab_free(lab);
}

/* --- a miss ----------------------------------------------------------------------------------- */

/*
 * For 2 ms no preemption is possible: an entity that was late before is still late after its turn.
 */
static void a_miss_slows_virtual_time_down(void **state)
{
	struct lab *lab = lab_new("fdl");
	struct machine *m = lab->m;
	struct actor *a = lab_group(lab, 1024, 0, 0), *b = lab_group(lab, 1024, MS, 0);
	struct task_group_fdl_stat stat;
	u64 start = m->now;

	(void)state;
	assert_ptr_equal(running(m, 0), b->t);
	assert_int_equal(task_group_set_deadline(m->s, a->tg, 200 * US, 0), 0);
	assert_int_equal(of_group(a)->due - start, 200000);
	assert_int_equal(of_group(b)->due - start, 1000000);
	m->now += 2 * MS;
	m->timer[0] = 0;
	switch_cpu(m, 0, true);
	assert_ptr_equal(running(m, 0), a->t);
	assert_int_equal(of_group(b)->due - start, 3000000);
	assert_int_equal(fdl_queue(root(lab))->lag, 0);
	assert_int_equal(m->timer[0] - start, 2947265);
	m->now = start + 2947265;
	sched_timer(m->s, 0);
	settle(m);
	assert_int_equal(of_group(a)->due - start, 2199998);
	assert_int_equal(fdl_queue(root(lab))->lag, 797267);
	assert_int_equal(of_group(a)->due - fdl_now(root(lab)), 50000);
	assert_int_equal(of_group(b)->due - fdl_now(root(lab)), 850002);
	sched_check(m->s);
	task_group_fdl_stat(m->s, a->tg, &stat);
	assert_int_equal(stat.nr_misses, 1);
	assert_int_equal(stat.lag_pushed_ns, 797267);
	task_group_fdl_stat(m->s, b->tg, &stat);
	assert_int_equal(stat.nr_misses, 0);
	lab_free(lab);
}

/* After a miss, deadlines further ahead than a period come nearer, all in proportion. */
static void a_miss_keeps_deadlines_within_their_periods(void **state)
{
	struct lab *lab = lab_new("fdl");
	struct machine *m = lab->m;
	struct actor *a = lab_group(lab, 1024, 200 * US, 0), *b = lab_group(lab, 2, 2 * MS, 0);
	struct actor *c = lab_group(lab, 2, 5 * MS, 0);

	(void)state;
	lab_hog(lab);
	assert_ptr_equal(running(m, 0), a->t);
	/* It runs for a moment and is far behind: the others are a whole period ahead of it. */
	of_group(a)->due -= 20 * MS;
	m->now += 10 * US;
	switch_cpu(m, 0, true);
	assert_true(fdl_queue(root(lab))->lag > 19 * MS);
	sched_check(m->s);
	assert_true(time_before(of_group(a)->due, of_group(b)->due));
	assert_true(time_before(of_group(b)->due, of_group(c)->due));
	/*
	 * The shortest period, 2 ms, requires that 22 ms be halved four times, so 25 ms are halved,
	 * too.
	 */
	assert_in_range(of_group(c)->due - fdl_now(root(lab)), 1550 * US, 1570 * US);
	lab_free(lab);
}

/* --- wakeups ---------------------------------------------------------------------------------- */

/* At virtual time 10 ms: the deadline before the sleep and after the wakeup, in us. */
static void a_wakeup_keeps_debts_and_gives_no_credit(void **state)
{
	static const struct {
		u64 wakeup_ns;
		u32 before, after;
	} golden[] = {
		{ 100 * US, 0, 10100 },	    { 100 * US, 9000, 10100 }, { 100 * US, 10150, 10150 },
		{ 100 * US, 10500, 10200 }, { 0, 0, 10200 },	       { 0, 9000, 10200 },
		{ 0, 10150, 10200 },	    { 0, 10500, 10200 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		struct lab *lab = lab_new("fdl");
		struct actor *a = lab_group(lab, 1024, 200 * US, golden[i].wakeup_ns);

		block(lab->m, 0, TASK_INTERRUPTIBLE);
		fdl_queue(root(lab))->lag = lab->m->now - 10 * MS;
		of_group(a)->due = golden[i].before * US;
		wake(lab->m, a->t, 0);
		assert_int_equal(of_group(a)->due, golden[i].after * US);
		lab_free(lab);
	}
}

/* A throttled group with a debt does not wait for the debt on top. */
static void a_group_is_unthrottled_without_debts(void **state)
{
	struct lab *lab = lab_new("fdl");
	struct actor *a = lab_group(lab, 1024, 4 * MS, MS);
	struct fair_queue *q = &a->tg->cpu[0].queue;

	(void)state;
	lab_hog(lab);
	assert_int_equal(task_group_set_bandwidth(lab->m->s, a->tg, 2 * MS, 20 * MS, 0, false), 0);
	while (!q->throttled)
		lab_step(lab);
	assert_int_equal(of_group(a)->queued, 0);
	of_group(a)->due = fdl_now(root(lab)) + NS_PER_SEC;
	while (q->throttled)
		lab_step(lab);
	assert_int_equal(of_group(a)->due, fdl_now(root(lab)) + MS);
	assert_ptr_equal(running(lab->m, 0), a->t);
	lab_free(lab);
}

/* Whether a wakee preempts: deadlines decide, including the container's. */
static void preemption_is_by_deadline(void **state)
{
	static const struct {
		u64 curr, woken, container; /* deadlines; 0: none */
		bool preempts;
	} table[] = {
		{ 200, 100, 0, true },	{ 100, 200, 0, false }, { 200, 100, 50, true },
		{ 100, 100, 0, false }, { 0, 100, 0, true },	{ 0, 100, 200, true },
		{ 0, 200, 100, false }, { 100, 0, 0, false },	{ 200, 0, 100, true },
		{ 100, 0, 200, false },
	};
	struct lab *lab = lab_new("fdl");
	struct actor *a = lab_group(lab, 1024, 0, 0), *b = lab_group(lab, 1024, 0, 0);
	struct fair_queue *q = root(lab);

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(table); i++) {
		of_group(a)->due = table[i].curr;
		of_group(b)->due = table[i].woken;
		fdl_queue(q)->container = table[i].container;
		assert_int_equal(q->policy->hooks.preempts(q, of_group(a), of_group(b), 0),
				 table[i].preempts);
	}
	lab_free(lab);
}

/* --- levels ----------------------------------------------------------------------------------- */

static struct task_group *group_in(struct lab *lab, struct task_group *parent, u64 shares,
				   u64 rr_ns)
{
	struct task_group *tg = new_group(lab->m, parent);

	assert_int_equal(task_group_set_shares(lab->m->s, tg, shares), 0);
	assert_int_equal(task_group_set_deadline(lab->m->s, tg, rr_ns, 0), 0);
	return tg;
}

/*
 * Running 100 us with a quarter of a half moves its deadline by 846 us, and the half's by 211 us.
 */
static void each_level_is_charged_for_its_share(void **state)
{
	struct lab *lab = lab_new("fdl");
	struct task_group *a = group_in(lab, NULL, 2048, 5 * MS);
	struct task_group *a1 = group_in(lab, a, 1024, 4 * MS), *a2 = group_in(lab, a, 3072, 0);
	struct entity *outer = &a->cpu[0].entity, *inner = &a1->cpu[0].entity;
	struct task *t = spawn_in(lab->m, a1, 0);
	u64 before_outer, before_inner;
	struct sched_cpu_stat stat;

	(void)state;
	spawn_in(lab->m, a2, 0);
	spawn_in(lab->m, group_in(lab, NULL, 1024, 0), 0);
	spawn_in(lab->m, group_in(lab, NULL, 1024, 0), 0);
	assert_ptr_equal(running(lab->m, 0), t);
	/* The room below the cap. */
	before_outer = outer->due -= MS;
	before_inner = inner->due -= MS;
	advance(lab->m, 100 * US);
	sched_cpu_stat(lab->m->s, 0, &stat);
	assert_int_equal(inner->due - before_inner, 100000 * 1024 / 121);
	assert_int_equal(outer->due - before_outer, 100000 * 1024 / 485);
	lab_free(lab);
}

/* --- what other CPUs see --------------------------------------------------------------------- */

/* The earliest that waits is taken away: from now on the next one is due first. */
static void the_hint_follows_who_leaves(void **state)
{
	struct lab *lab = lab_new("fdl");
	struct fair_queue *q = &lab->m->s->rq[0].fair;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		lab_group(lab, 1024, (5 + i) * MS, 2 * MS);
	lab_run(lab, 20 * MS);
	for (unsigned i = 0; i < 3; i++) {
		struct entity *first = queue_earliest(q);

		if (!first)
			break;
		for (unsigned k = 0; k < 3; k++)
			if (of_group(&lab->actor[k]) == first)
				task_group_move(lab->m->s, lab->actor[k].t, NULL);
		first = queue_earliest(q);
		assert_int_equal(fdl_queue(q)->next_hint,
				 first ? first->due + fdl_queue(q)->lag : 0);
	}
	lab_free(lab);
}

/* --- the controller's arithmetic -------------------------------------------------------------- */

static void shares_follow_from_usage_and_wait(void **state)
{
	struct machine *m = machine_new(1, 1000);
	static const struct {
		struct fdl_input in;
		u64 shares;
	} golden[] = {
		{ { 512, 512, 512, 146, 878, false, false }, 833 },
		{ { 512, 512, 512, 146, 878, true, false }, 512 },
		{ { 512, 512, 833, 550, 878, false, false }, 827 },
		{ { 512, 512, 833, 550, 878, false, true }, 833 },
		/* It does not wait; it does not run at all; it has the largest possible shares. */
		{ { 512, 512, 833, 146, 14, false, false }, 830 },
		{ { 512, 512, 833, 0, 878, false, false }, 830 },
		{ { 512, 512, 5120, 146, 878, false, false }, 5075 },
		/*
		 * A guarantee that was raised is a new floor; one that was lowered is a new
		 * ceiling.
		 */
		{ { 900, 900, 833, 900, 0, false, false }, 900 },
		{ { 64, 64, 5120, 32, 878, false, false }, 640 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++)
		assert_int_equal(fdl_next_shares(&m->s->tunable, &golden[i].in), golden[i].shares);
	machine_free(m);
}

/* --- parameters ------------------------------------------------------------------------------- */

static struct task_group_params params_of(const struct task_group *tg)
{
	struct task_group_params p;

	task_group_params(tg, &p);
	return p;
}

static void bad_parameters_change_nothing(void **state)
{
	static const struct {
		u64 rr_ns, wakeup_ns;
		int status;
	} deadlines[] = {
		{ 50 * US, 0, 0 },
		{ 50 * US - 1, 0, -EINVAL },
		{ NS_PER_SEC, 0, 0 },
		{ NS_PER_SEC + 1, 0, -EINVAL },
		{ MS, MS, 0 },
		{ MS, MS + 1, -EINVAL },
		{ 0, 1, -EINVAL },
		{ ~0ull, 0, -EINVAL },
		{ 200 * US, 100 * US, 0 },
		{ ~0ull, ~0ull, -EINVAL },
		{ 0, 0, 0 },
	};
	struct machine *m = machine_new(2, 1000);
	struct task_group *tg = new_group(m, NULL);

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(deadlines); i++) {
		struct task_group_params before = params_of(tg), after;

		assert_int_equal(task_group_set_deadline(m->s, tg, deadlines[i].rr_ns,
							 deadlines[i].wakeup_ns),
				 deadlines[i].status);
		after = params_of(tg);
		if (deadlines[i].status) {
			assert_memory_equal(&before, &after, sizeof(before));
			continue;
		}
		assert_int_equal(after.deadline_rr_ns, deadlines[i].rr_ns);
		assert_int_equal(after.deadline_wakeup_ns, deadlines[i].wakeup_ns);
	}
	assert_int_equal(task_group_set_deadline(m->s, NULL, MS, 0), -EINVAL);
	assert_int_equal(task_group_set_guaranteed(m->s, NULL, 1), -EINVAL);
	assert_int_equal(task_group_set_guaranteed(m->s, tg, 2 * 262144), 0);
	assert_int_equal(task_group_set_guaranteed(m->s, tg, 2 * 262144 + 1), -EINVAL);
	assert_int_equal(params_of(tg).guaranteed_shares, 2 * 262144);
	/* A group with a guarantee cannot be idle, and an idle group gets no guarantee. */
	assert_int_equal(task_group_set_idle(m->s, tg, true), -EINVAL);
	assert_int_equal(task_group_set_guaranteed(m->s, tg, 0), 0);
	assert_int_equal(task_group_set_idle(m->s, tg, true), 0);
	assert_int_equal(task_group_set_guaranteed(m->s, tg, 1), -EINVAL);
	machine_free(m);
}

/* Under fdl a guarantee replaces the group's own shares while it lasts. */
static void a_guarantee_stands_in_for_shares(void **state)
{
	struct lab *lab = lab_new("fdl");
	struct sched *s = lab->m->s;
	struct actor *a = lab_group(lab, 300, 0, 0);
	struct task_group *below = new_group(lab->m, a->tg);
	const u64 *weight = &of_group(a)->load.weight;
	struct task_group_fdl_stat stat;

	(void)state;
	assert_int_equal(task_group_set_guaranteed(s, a->tg, 512), 0);
	assert_int_equal(task_group_set_guaranteed(s, below, 99), 0);
	assert_int_equal(*weight >> WEIGHT_SHIFT, 512);
	assert_int_equal(params_of(a->tg).shares, 300);
	assert_int_equal(task_group_set_shares(s, a->tg, 400), 0);
	assert_int_equal(*weight >> WEIGHT_SHIFT, 512);
	task_group_fdl_stat(s, a->tg, &stat);
	assert_int_equal(stat.dynamic_shares, 512);
	assert_int_equal(stat.legacy_shares, 400);
	/* Only children of the root count. */
	assert_int_equal(stat.overcommit, 512);
	assert_int_equal(task_group_set_guaranteed(s, a->tg, 2048), 0);
	assert_int_equal(*weight >> WEIGHT_SHIFT, 512);
	assert_int_equal(fdl_root(s)->nr_guaranteed, 2);
	swap(lab->m, "cfs");
	lab_run(lab, 20 * MS);
	assert_int_equal(*weight >> WEIGHT_SHIFT, 400);
	swap(lab->m, "fdl");
	lab_run(lab, 20 * MS);
	assert_int_equal(*weight >> WEIGHT_SHIFT, 512);
	assert_int_equal(task_group_set_guaranteed(s, a->tg, 0), 0);
	assert_int_equal(*weight >> WEIGHT_SHIFT, 400);
	assert_int_equal(fdl_root(s)->nr_guaranteed, 1);
	end_group(lab->m, below);
	task_group_fdl_stat(s, NULL, &stat);
	assert_int_equal(stat.overcommit, 0);
	assert_int_equal(fdl_root(s)->nr_guaranteed, 0);
	lab_free(lab);
}

/* --- flips ------------------------------------------------------------------------------------ */

static void deadlines_come_and_go_at_run_time(void **state)
{
	struct lab *lab = lab_new("fdl");
	struct actor *a = lab_group(lab, 64, 0, 0);
	struct task_group_fdl_stat stat;

	(void)state;
	lab_hog(lab);
	lab_run(lab, NS_PER_SEC);
	assert_int_equal(task_group_set_deadline(lab->m->s, a->tg, 200 * US, 0), 0);
	lab_mark(lab);
	lab_run(lab, NS_PER_SEC);
	/* With a deadline the group gets the headroom, too: 5.9 % before, 11 % at once. */
	assert_in_range(lab_share(lab, a), 1090, 1140);
	assert_in_range(a->max_gap_ns, 150 * US, 210 * US);
	task_group_fdl_stat(lab->m->s, a->tg, &stat);
	assert_in_range(stat.nr_dl_picks, 4000, 5000);
	assert_int_equal(stat.nr_misses, 0);
	assert_int_equal(task_group_set_deadline(lab->m->s, a->tg, 0, 0), 0);
	lab_mark(lab);
	lab_run(lab, 4 * NS_PER_SEC);
	/* It does not have to pay for that, either. */
	assert_in_range(lab_share(lab, a), 560, 620);
	lab_free(lab);
}

/* Under another policy deadlines are remembered; they take effect under fdl. */
static void deadlines_wait_for_the_policy(void **state)
{
	struct lab *lab = lab_new("cfs");
	struct actor *a = lab_group(lab, 1024, 200 * US, 0);

	(void)state;
	lab_hog(lab);
	lab_run(lab, 100 * MS);
	assert_int_equal(of_group(a)->due, 0);
	assert_int_equal(fdl_queue(root(lab))->nr, 0);
	swap(lab->m, "fdl");
	assert_int_equal(fdl_queue(root(lab))->nr, 1);
	lab_mark(lab);
	lab_run(lab, 100 * MS);
	assert_in_range(a->max_gap_ns, 100 * US, 210 * US);
	swap(lab->m, "eevdf");
	assert_int_equal(fdl_queue(root(lab))->nr, 0);
	assert_int_equal(of_group(a)->due, 0);
	assert_int_equal(fdl_queue(root(lab))->container, 0);
	lab_run(lab, 100 * MS);
	lab_free(lab);
}

/* Changes of deadlines, sleeps, moves and misses in random order: every invariant holds. */
static void random_flips_keep_every_invariant(void **state)
{
	static const u64 rr[] = { 0, 50 * US, 200 * US, 5 * MS, 100 * MS };
	struct machine *m = machine_under(2, "fdl");
	struct task_group *tg[4] = { new_group(m, NULL), new_group(m, NULL) };
	struct task *t[6];
	struct prng prng;

	(void)state;
	prng_seed(&prng, 1);
	tg[2] = new_group(m, tg[0]);
	tg[3] = new_group(m, tg[2]);
	for (unsigned i = 0; i < ARRAY_SIZE(t); i++)
		t[i] = spawn_in(m, i < 4 ? tg[i] : NULL, 0);
	for (unsigned n = 0; n < 100000; n++) {
		u64 r = prng_u64(&prng), period = rr[r % ARRAY_SIZE(rr)];
		struct task *x = t[r / 8 % ARRAY_SIZE(t)];

		assert_int_equal(task_group_set_deadline(m->s, tg[r / 64 % 4], period,
							 r / 256 % 2 ? period / 2 : 0),
				 0);
		if (r / 512 % 4 == 0)
			task_group_move(m->s, x, r / 2048 % 5 < 4 ? tg[r / 2048 % 5] : NULL);
		else if (r / 512 % 4 == 1)
			wake(m, x, 0);
		else if (r / 512 % 4 == 2 && running(m, 0)->pid)
			block(m, 0, TASK_INTERRUPTIBLE);
		advance(m, r / 8192 % (300 * US));
		if (n % 8 == 0)
			tick(m);
		if (n % 4 == 0)
			sched_check(m->s);
	}
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_group_takes_turns_with_the_container),
		cmocka_unit_test(a_turn_is_never_too_short_to_get_on),
		cmocka_unit_test(a_miss_slows_virtual_time_down),
		cmocka_unit_test(a_miss_keeps_deadlines_within_their_periods),
		cmocka_unit_test(a_wakeup_keeps_debts_and_gives_no_credit),
		cmocka_unit_test(a_group_is_unthrottled_without_debts),
		cmocka_unit_test(preemption_is_by_deadline),
		cmocka_unit_test(each_level_is_charged_for_its_share),
		cmocka_unit_test(the_hint_follows_who_leaves),
		cmocka_unit_test(shares_follow_from_usage_and_wait),
		cmocka_unit_test(bad_parameters_change_nothing),
		cmocka_unit_test(a_guarantee_stands_in_for_shares),
		cmocka_unit_test(deadlines_come_and_go_at_run_time),
		cmocka_unit_test(deadlines_wait_for_the_policy),
		cmocka_unit_test(random_flips_keep_every_invariant),
	};

	return cmocka_run_group_tests_name("fdl", tests, NULL, NULL);
}
