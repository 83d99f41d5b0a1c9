/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SCHED_DEADLINE on one CPU: the order of deadlines, the server's budgets and periods to the ns,
 * parameters and admission. The numbers are worked by hand from the rules in docs/deadline.md.
 */
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "lib/errno.h"
#include "sched/dl/dl.h"

#define US NS_PER_US

static struct sched_attr_req params(u64 runtime, u64 deadline, u64 period)
{
	return (struct sched_attr_req){ .policy = SCHED_DEADLINE,
					.runtime_ns = runtime,
					.deadline_ns = deadline,
					.period_ns = period };
}

static int become(struct machine *m, struct task *t, u64 runtime, u64 deadline, u64 period)
{
	struct sched_attr_req req = params(runtime, deadline, period);
	int err = sched_set_attr(m->s, t, &req);

	settle(m);
	return err;
}

static s64 budget(struct machine *m, struct task *t)
{
	sched_task_runtime(m->s, t);
	return dl_part(t)->budget_ns;
}

/* --- order ------------------------------------------------------------------------ */

static void the_earliest_deadline_runs(void **state)
{
	struct machine *m = machine_timed(1, 1000);
	struct task *late = spawn_dl(m, "late", 1 * MS, 30 * MS, 0), *early, *later;

	(void)state;
	assert_int_equal(late->prio, -1);
	assert_ptr_equal(running(m, 0), late);
	later = spawn_dl(m, "later", 1 * MS, 40 * MS, 0);
	assert_ptr_equal(running(m, 0), late);
	early = spawn_dl(m, "early", 1 * MS, 20 * MS, 0);
	assert_ptr_equal(running(m, 0), early);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_ptr_equal(running(m, 0), late);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_ptr_equal(running(m, 0), later);
	sched_check(m->s);
	machine_free(m);
}

static void it_goes_before_every_real_time_task(void **state)
{
	struct machine *m = machine_timed(1, 1000);
	struct task *fifo = spawn(m, "fifo", SCHED_FIFO, 99), *dl;

	(void)state;
	dl = spawn_dl(m, "dl", 5 * MS, 10 * MS, 0);
	assert_ptr_equal(running(m, 0), dl);
	spawn(m, "fifo2", SCHED_FIFO, 99);
	assert_ptr_equal(running(m, 0), dl);
	advance(m, 5 * MS);
	assert_ptr_equal(running(m, 0), fifo);
	advance(m, 5 * MS);
	assert_ptr_equal(running(m, 0), dl);
	machine_free(m);
}

/*
 * Deadline and real-time tasks share sched_rt_runtime_us: 950 ms of each second. The FIFO task gets
 * 450 ms beside 500 ms of deadlines; a tick of 1 ms ends its turn, and the ms overdrawn is paid
 * back in the next period.
 */
static void it_counts_against_the_time_of_real_time_tasks(void **state)
{
	struct machine *m = machine_timed(1, 1000);
	struct task *fair = spawn_nice(m, "fair", 0), *fifo = spawn(m, "fifo", SCHED_FIFO, 1);
	struct task *dl = spawn_dl(m, "dl", 500 * MS, 1000 * MS, 0);

	(void)state;
	for (unsigned i = 0; i < 4000; i++)
		tick(m);
	assert_int_equal(sched_task_runtime(m->s, dl), 2000 * MS);
	assert_int_equal(sched_task_runtime(m->s, fifo), 1801 * MS);
	assert_int_equal(sched_task_runtime(m->s, fair), 199 * MS);
	sched_check(m->s);
	machine_free(m);
}

/* --- the server ---------------------------------------------------------------------- */

/* 3 ms in every 10: runs in [0, 3), [10, 13), ..., beside one that takes the rest. */
static void a_hog_gets_its_runtime_in_every_period_to_the_ns(void **state)
{
	struct machine *m = machine_timed(1, 100);
	struct task *fair = spawn_nice(m, "fair", 0);
	struct task *dl = spawn_dl(m, "dl", 3 * MS, 10 * MS, 0);

	(void)state;
	for (unsigned period = 0; period < 50; period++) {
		assert_ptr_equal(running(m, 0), dl);
		advance(m, 3 * MS - 1);
		assert_ptr_equal(running(m, 0), dl);
		advance(m, 1);
		assert_ptr_equal(running(m, 0), fair);
		sched_check(m->s);
		advance(m, 7 * MS - 1);
		assert_ptr_equal(running(m, 0), fair);
		advance(m, 1);
		sched_check(m->s);
	}
	assert_int_equal(sched_task_runtime(m->s, dl), 150 * MS);
	assert_int_equal(sched_task_runtime(m->s, fair), 350 * MS);
	machine_free(m);
}

/* A timer that is late by 2 ms lets it run 5 ms; the next budget is 3 - 2 = 1 ms. */
static void what_is_overdrawn_is_paid_back(void **state)
{
	struct machine *m = machine_timed(1, 100);
	struct task *fair = spawn_nice(m, "fair", 0);
	struct task *dl = spawn_dl(m, "dl", 3 * MS, 10 * MS, 0);

	(void)state;
	advance(m, 5 * MS);
	assert_ptr_equal(running(m, 0), fair);
	assert_int_equal(dl_part(dl)->budget_ns, -2 * (s64)MS);
	advance(m, 5 * MS);
	assert_ptr_equal(running(m, 0), dl);
	assert_int_equal(dl_part(dl)->budget_ns, 1 * MS);
	advance(m, 1 * MS);
	assert_ptr_equal(running(m, 0), fair);
	machine_free(m);
}

/*
 * Overdrawn by 7 ms of a runtime of 3: the next period's 3 do not pay it, the third after does:
 * 3 * 3 - 7 = 2 ms, with the deadline 3 periods later: 10 + 30.
 */
static void a_large_debt_puts_the_deadline_off(void **state)
{
	struct machine *m = machine_timed(1, 100);
	struct task *dl = spawn_dl(m, "dl", 3 * MS, 10 * MS, 0);
	u64 start = m->now;

	(void)state;
	advance(m, 10 * MS - 1);
	assert_true(dl_part(dl)->throttled);
	assert_int_equal(dl_part(dl)->budget_ns, 1 - 7 * (s64)MS);
	advance(m, 1);
	assert_int_equal(dl_part(dl)->budget_ns, 2 * MS + 1);
	assert_int_equal(dl_part(dl)->deadline - start, 40 * MS);
	machine_free(m);
}

static void yield_gives_up_the_rest_of_the_budget(void **state)
{
	struct machine *m = machine_timed(1, 1000);
	struct task *dl = spawn_dl(m, "dl", 3 * MS, 10 * MS, 0);
	u64 start = m->now;

	(void)state;
	advance(m, 1 * MS);
	assert_true(sched_yield(m->s, 0));
	assert_ptr_equal(switch_cpu(m, 0, false), m->s->rq[0].idle);
	settle(m);
	sched_check(m->s);
	assert_int_equal(m->timer[0], start + 10 * MS);
	advance(m, 9 * MS - 1);
	assert_ptr_equal(running(m, 0), m->s->rq[0].idle);
	advance(m, 1);
	assert_ptr_equal(running(m, 0), dl);
	assert_int_equal(budget(m, dl), 3 * MS);
	assert_int_equal(dl_part(dl)->deadline - start, 20 * MS);
	machine_free(m);
}

/* 2 of 4 ms left, deadline 10 ms: usable until (10 - t) * 4/10 >= 2, so t <= 5 ms. */
static void a_wakeup_keeps_the_instance_while_the_bandwidth_allows(void **state)
{
	(void)state;
	for (unsigned late = 0; late < 2; late++) {
		struct machine *m = machine_timed(1, 1000);
		struct task *dl = spawn_dl(m, "dl", 4 * MS, 10 * MS, 0);
		u64 start = m->now;

		advance(m, 2 * MS);
		block(m, 0, TASK_INTERRUPTIBLE);
		advance(m, 3 * MS + late);
		wake(m, dl, 0);
		assert_ptr_equal(running(m, 0), dl);
		assert_int_equal(budget(m, dl), late ? 4 * MS : 2 * MS);
		assert_int_equal(dl_part(dl)->deadline - start, late ? 15 * MS + 1 : 10 * MS);
		machine_free(m);
	}
}

/*
 * D = 5 of P = 20 ms, Q = 2. Awake again at 3 with 1.5 ms left: until 5 there is room for
 * 2 * 2/5 = 0.8 ms. Then it waits for 20. After its deadline, at 7 with budget left: likewise.
 */
static void a_constrained_deadline_is_served_once_a_period(void **state)
{
	struct machine *m = machine_timed(1, 1000);
	struct task *dl = spawn_dl(m, "dl", 2 * MS, 5 * MS, 20 * MS);
	u64 start = m->now;

	(void)state;
	advance(m, 500 * US);
	block(m, 0, TASK_INTERRUPTIBLE);
	advance(m, 2500 * US);
	wake(m, dl, 0);
	assert_int_equal(budget(m, dl), 800 * US);
	assert_int_equal(dl_part(dl)->deadline - start, 5 * MS);
	advance(m, 300 * US);
	block(m, 0, TASK_INTERRUPTIBLE);
	advance(m, 3700 * US);
	wake(m, dl, 0);
	assert_ptr_equal(running(m, 0), m->s->rq[0].idle);
	sched_check(m->s);
	advance(m, 13 * MS - 1);
	assert_ptr_equal(running(m, 0), m->s->rq[0].idle);
	advance(m, 1);
	assert_ptr_equal(running(m, 0), dl);
	assert_int_equal(budget(m, dl), 2 * MS);
	assert_int_equal(dl_part(dl)->deadline - start, 25 * MS);
	machine_free(m);
}

static void a_throttled_task_that_sleeps_wakes_up_throttled(void **state)
{
	struct machine *m = machine_timed(1, 1000);
	struct task *dl = spawn_dl(m, "dl", 3 * MS, 10 * MS, 0);
	u64 start = m->now;

	(void)state;
	m->now += 3 * MS;
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_true(dl_part(dl)->throttled);
	advance(m, 2 * MS);
	wake(m, dl, 0);
	assert_ptr_equal(running(m, 0), m->s->rq[0].idle);
	assert_int_equal(m->timer[0], start + 10 * MS);
	sched_check(m->s);
	advance(m, 5 * MS);
	assert_ptr_equal(running(m, 0), dl);
	assert_int_equal(dl_part(dl)->deadline - start, 20 * MS);
	machine_free(m);
}

/* Behind a later instance of itself nobody is hidden: the next budget starts from now. */
static void an_instance_that_lags_begins_anew(void **state)
{
	struct machine *m = machine_timed(1, 100);
	struct task *a = spawn_dl(m, "a", 3 * MS, 10 * MS, 0);

	(void)state;
	/* The timer of t = 10 comes at t = 35: deadline 20 is over. */
	advance(m, 3 * MS);
	m->timer[0] = 0;
	m->now += 32 * MS;
	sched_timer(m->s, 0);
	settle(m);
	assert_int_equal(dl_part(a)->deadline, m->now + 10 * MS);
	assert_int_equal(budget(m, a), 3 * MS);
	machine_free(m);
}

/* --- parameters ------------------------------------------------------------------------ */

static void parameters_out_of_range_are_refused(void **state)
{
	struct machine *m = machine_timed(2, 1000);
	struct task *t = spawn_nice(m, "t", 0);
	struct sched_attr_req req = params(1 * MS, 10 * MS, 10 * MS);

	(void)state;
	assert_int_equal(become(m, t, 1023, 10 * MS, 0), -EINVAL);
	assert_int_equal(become(m, t, 1 * MS, 0, 10 * MS), -EINVAL);
	assert_int_equal(become(m, t, 0, 0, 0), -EINVAL);
	assert_int_equal(become(m, t, 3 * MS, 2 * MS, 10 * MS), -EINVAL);
	assert_int_equal(become(m, t, 1 * MS, 11 * MS, 10 * MS), -EINVAL);
	assert_int_equal(become(m, t, 1 * MS, 1ull << 63, 0), -EINVAL);
	assert_int_equal(become(m, t, 1 * MS, 10 * MS, 1ull << 63), -EINVAL);
	assert_int_equal(become(m, t, 10 * US, 100 * US - 1, 0), -EINVAL);
	assert_int_equal(become(m, t, 10 * US, 4194304 * US + 1, 0), -EINVAL);
	req.rt_priority = 1;
	assert_int_equal(sched_set_attr(m->s, t, &req), -EINVAL);
	assert_int_equal(t->policy, SCHED_NORMAL);
	assert_int_equal(become(m, t, 1024, 100 * US, 0), 0);
	assert_int_equal(become(m, t, 10 * US, 4194304 * US, 0), 0);
	sched_get_attr(t, &req);
	assert_int_equal(req.policy, SCHED_DEADLINE);
	assert_int_equal(req.runtime_ns, 10 * US);
	assert_int_equal(req.deadline_ns, 4194304 * US);
	assert_int_equal(req.period_ns, 4194304 * US);
	machine_free(m);
}

static int write_tunable(struct machine *m, const char *name, const char *text)
{
	return sched_tunable_write(m->s, name, text, strlen(text));
}

static void the_limits_of_periods_are_tunables(void **state)
{
	struct machine *m = machine_timed(1, 1000);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	assert_int_equal(write_tunable(m, "sched_deadline_period_max_us", "99"), -EINVAL);
	assert_int_equal(write_tunable(m, "sched_deadline_period_max_us", "0"), -EINVAL);
	assert_int_equal(write_tunable(m, "sched_deadline_period_min_us", "4194305"), -EINVAL);
	assert_int_equal(write_tunable(m, "sched_deadline_period_min_us", "-1"), -EINVAL);
	set_tunable(m, "sched_deadline_period_max_us", "20000");
	set_tunable(m, "sched_deadline_period_min_us", "10000");
	assert_int_equal(become(m, t, 1 * MS, 21 * MS, 0), -EINVAL);
	assert_int_equal(become(m, t, 1 * MS, 9 * MS, 0), -EINVAL);
	assert_int_equal(become(m, t, 1 * MS, 9 * MS, 10 * MS), 0);
	machine_free(m);
}

/* --- admission -------------------------------------------------------------------------- */

/* 95 % of a CPU: 40 + 55 fit, not one more. 2^20 * 0.95 = 996147.2. */
static void bandwidth_is_admitted_up_to_the_limit(void **state)
{
	struct machine *m = machine_timed(1, 1000);
	struct task *a = spawn_nice(m, "a", 0), *b = spawn_nice(m, "b", 0);

	(void)state;
	assert_int_equal(dl_cpu_bw(&m->s->tunable), 996147);
	assert_int_equal(become(m, a, 96 * MS, 100 * MS, 0), -EBUSY);
	assert_int_equal(become(m, a, 40 * MS, 100 * MS, 0), 0);
	assert_int_equal(become(m, b, 56 * MS, 100 * MS, 0), -EBUSY);
	assert_int_equal(b->policy, SCHED_NORMAL);
	assert_int_equal(become(m, b, 55 * MS, 100 * MS, 0), 0);
	assert_int_equal(dl_total_bw(m->s, m->now), 419430 + 576716);
	/* Its own old bandwidth is not in its way. */
	assert_int_equal(become(m, b, 54 * MS, 100 * MS, 0), 0);
	assert_int_equal(become(m, a, 41 * MS, 100 * MS, 0), 0);
	assert_int_equal(become(m, a, 42 * MS, 100 * MS, 0), -EBUSY);
	assert_int_equal(write_tunable(m, "sched_rt_runtime_us", "940000"), -EBUSY);
	assert_int_equal(write_tunable(m, "sched_rt_runtime_us", "960000"), 0);
	assert_int_equal(become(m, a, 42 * MS, 100 * MS, 0), 0);
	sched_check(m->s);
	machine_free(m);
}

static void no_limit_admits_everything_and_none_nothing(void **state)
{
	struct machine *m = machine_timed(1, 1000);
	struct task *a = spawn_nice(m, "a", 0), *b = spawn_nice(m, "b", 0);

	(void)state;
	set_tunable(m, "sched_rt_runtime_us", "0");
	assert_int_equal(become(m, a, 1 * MS, 100 * MS, 0), -EPERM);
	set_tunable(m, "sched_rt_runtime_us", "-1");
	assert_int_equal(become(m, a, 100 * MS, 100 * MS, 0), 0);
	assert_int_equal(become(m, b, 100 * MS, 100 * MS, 0), 0);
	assert_int_equal(write_tunable(m, "sched_rt_runtime_us", "950000"), -EBUSY);
	machine_free(m);
}

/*
 * After 3 of 10 ms the rest of 4, 1 ms, is worth 2.5: its share lasts until 7.5. Until then its
 * bandwidth is not given to others, whether it ends or changes its class.
 */
/* At 2 ms in 10 ms, a budget of q is worth the last 5q before the deadline. */
static void the_zero_lag_time_is_when_the_budget_would_have_been_served(void **state)
{
	struct dl_task d = { .runtime_ns = 2 * MS, .period_ns = 10 * MS, .deadline = 100 * MS };

	(void)state;
	d.budget_ns = 2 * MS;
	assert_int_equal(cbs_zero_lag(&d), 0); /* it has not begun */
	d.started = true;
	assert_int_equal(cbs_zero_lag(&d), 90 * MS);
	d.budget_ns = 1 * MS;
	assert_int_equal(cbs_zero_lag(&d), 95 * MS);
	d.budget_ns = 1;
	assert_int_equal(cbs_zero_lag(&d), 100 * MS - 5);
	d.budget_ns = 0;
	assert_int_equal(cbs_zero_lag(&d), 100 * MS);
	d.budget_ns = -1 * MS;
	assert_int_equal(cbs_zero_lag(&d), 100 * MS);
}

static void bandwidth_comes_back_at_the_zero_lag_time(void **state)
{
	(void)state;
	for (unsigned ends = 0; ends < 2; ends++) {
		struct machine *m = machine_timed(1, 1000);
		struct task *a = spawn_dl(m, "a", 4 * MS, 10 * MS, 0), *b;
		struct sched_attr_req normal = { .policy = SCHED_NORMAL };

		advance(m, 3 * MS);
		if (ends) {
			sched_task_exit(m->s, 0);
			switch_cpu(m, 0, false);
		} else {
			assert_int_equal(sched_set_attr(m->s, a, &normal), 0);
		}
		settle(m);
		b = spawn_nice(m, "b", 0);
		advance(m, 4500 * US - 1);
		assert_int_equal(dl_total_bw(m->s, m->now), 419430);
		assert_int_equal(become(m, b, 90 * MS, 100 * MS, 0), -EBUSY);
		advance(m, 1);
		assert_int_equal(become(m, b, 90 * MS, 100 * MS, 0), 0);
		sched_check(m->s);
		machine_free(m);
	}
}

static void a_task_changed_before_it_starts_leaves_nothing_behind(void **state)
{
	struct machine *m = machine_timed(1, 1000);
	struct sched_attr_req dl = params(50 * MS, 100 * MS, 0),
			      normal = { .policy = SCHED_NORMAL };
	struct task *t = calloc(1, sizeof(*t));

	(void)state;
	sched_task_init(m->s, t, 1, "t");
	assert_int_equal(sched_set_attr(m->s, t, &dl), 0);
	assert_int_equal(dl_total_bw(m->s, m->now), 524288);
	assert_int_equal(sched_set_attr(m->s, t, &normal), 0);
	assert_int_equal(dl_total_bw(m->s, m->now), 0);
	sched_task_start(m->s, t, 0);
	settle(m);
	machine_free(m);
}

/* More than there are places for: the last ones wait for each other, and all come back. */
static void many_that_leave_at_once_all_give_back(void **state)
{
	struct machine *m = machine_timed(4, 1000);
	struct task *t[20];

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		t[i] = spawn_dl(m, "t", 1 * MS, (10 + i) * MS, 0);
		advance(m, 100 * US);
		block(m, t[i]->cpu, TASK_INTERRUPTIBLE);
	}
	for (unsigned i = 0; i < 20; i++) {
		struct sched_attr_req normal = { .policy = SCHED_NORMAL };

		assert_int_equal(sched_set_attr(m->s, t[i], &normal), 0);
		settle(m);
	}
	assert_true(dl_total_bw(m->s, m->now) > 0);
	assert_int_equal(dl_total_bw(m->s, m->now + 30 * MS), 0);
	sched_check(m->s);
	machine_free(m);
}

static void a_task_must_be_allowed_on_every_cpu(void **state)
{
	struct machine *m = machine_timed(2, 1000);
	struct task *t = spawn_nice(m, "t", 0);
	struct cpumask one = cpumask_of(0), both = cpumask_first_n(2);

	(void)state;
	assert_int_equal(sched_set_affinity(m->s, t, &one), 0);
	assert_int_equal(become(m, t, 1 * MS, 10 * MS, 0), -EPERM);
	assert_int_equal(sched_set_affinity(m->s, t, &both), 0);
	assert_int_equal(become(m, t, 1 * MS, 10 * MS, 0), 0);
	assert_int_equal(sched_set_affinity(m->s, t, &one), -EBUSY);
	assert_int_equal(sched_set_affinity(m->s, t, &both), 0);
	machine_free(m);
}

static void it_has_children_only_with_reset_on_fork(void **state)
{
	struct machine *m = machine_timed(1, 1000);
	struct task *t = spawn_dl(m, "t", 1 * MS, 10 * MS, 0), child;
	struct sched_attr_req req;

	(void)state;
	assert_false(sched_task_forks(t));
	sched_get_attr(t, &req);
	req.reset_on_fork = true;
	assert_int_equal(sched_set_attr(m->s, t, &req), 0);
	assert_true(sched_task_forks(t));
	sched_task_fork(m->s, t, &child, 99, 0);
	assert_int_equal(child.policy, SCHED_NORMAL);
	assert_int_equal(dl_total_bw(m->s, m->now), 104857);
	sched_task_unlink(m->s, &child);
	machine_free(m);
}

/* A debt of 2^20 - 1 budgets is paid back; with a greater one the server begins anew. */
static void the_greatest_debt_is_paid_back(void **state)
{
	(void)state;
	for (unsigned more = 0; more < 2; more++) {
		struct dl_task d = { .runtime_ns = 1000,
				     .relative_ns = 2000,
				     .period_ns = 2000,
				     .deadline = 1ull << 40,
				     .throttled = true,
				     .started = true,
				     .budget_ns = -1000 * (s64)((1 << 20) - 1 + more) };

		cbs_replenish(&d, 1000);
		assert_false(d.throttled);
		assert_int_equal(d.deadline, more ? 3000 : (1ull << 40) + (2000ull << 20));
		assert_int_equal(d.budget_ns, 1000);
	}
}

/* Bandwidth that lingered is forgotten once it has ended, and only once. */
static void what_has_ended_is_given_back_once(void **state)
{
	struct machine *m = machine_timed(1, 1000);
	struct sched_attr_req normal = { .policy = SCHED_NORMAL };
	struct task *t[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		t[i] = spawn_dl(m, "t", 2 * MS, (10 + 10 * i) * MS, 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(sched_set_attr(m->s, t[i], &normal), 0);
	settle(m);
	for (unsigned n = 0; n < 5; n++) {
		advance(m, 100 * MS);
		assert_int_equal(dl_total_bw(m->s, m->now), (2 << 20) / 30);
	}
	machine_free(m);
}

/* Runtime and period make the limit together: a change of either must leave room for all. */
static void a_new_limit_has_room_for_those_admitted(void **state)
{
	struct machine *m = machine_timed(1, 1000);

	(void)state;
	spawn_dl(m, "t", 50 * MS, 100 * MS, 0);
	assert_int_equal(write_tunable(m, "sched_rt_period_us", "2000000"), -EBUSY);
	assert_int_equal(write_tunable(m, "sched_rt_period_us", "1500000"), 0);
	assert_int_equal(write_tunable(m, "sched_rt_runtime_us", "700000"), -EBUSY);
	assert_int_equal(write_tunable(m, "sched_rt_runtime_us", "760000"), 0);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_earliest_deadline_runs),
		cmocka_unit_test(it_goes_before_every_real_time_task),
		cmocka_unit_test(it_counts_against_the_time_of_real_time_tasks),
		cmocka_unit_test(a_hog_gets_its_runtime_in_every_period_to_the_ns),
		cmocka_unit_test(what_is_overdrawn_is_paid_back),
		cmocka_unit_test(a_large_debt_puts_the_deadline_off),
		cmocka_unit_test(yield_gives_up_the_rest_of_the_budget),
		cmocka_unit_test(a_wakeup_keeps_the_instance_while_the_bandwidth_allows),
		cmocka_unit_test(a_constrained_deadline_is_served_once_a_period),
		cmocka_unit_test(a_throttled_task_that_sleeps_wakes_up_throttled),
		cmocka_unit_test(an_instance_that_lags_begins_anew),
		cmocka_unit_test(parameters_out_of_range_are_refused),
		cmocka_unit_test(the_limits_of_periods_are_tunables),
		cmocka_unit_test(bandwidth_is_admitted_up_to_the_limit),
		cmocka_unit_test(no_limit_admits_everything_and_none_nothing),
		cmocka_unit_test(the_zero_lag_time_is_when_the_budget_would_have_been_served),
		cmocka_unit_test(bandwidth_comes_back_at_the_zero_lag_time),
		cmocka_unit_test(a_task_changed_before_it_starts_leaves_nothing_behind),
		cmocka_unit_test(many_that_leave_at_once_all_give_back),
		cmocka_unit_test(a_task_must_be_allowed_on_every_cpu),
		cmocka_unit_test(it_has_children_only_with_reset_on_fork),
		cmocka_unit_test(the_greatest_debt_is_paid_back),
		cmocka_unit_test(what_has_ended_is_given_back_once),
		cmocka_unit_test(a_new_limit_has_room_for_those_admitted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
