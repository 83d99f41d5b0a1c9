/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Deadline tasks and the fair server: which state and which records follow from what happened, and
 * what is promised still. See also test_dl.c, test_dl_smp.c, test_dl_server.c.
 */
#include "lib/errno.h"
#include "sched/dl/dl.h"
#include "smp.h"
#include "swap.h"

/* --- what is promised ----------------------------------------------------------------------- */

/*
 * A share is promised until the task could have used it up at its rate. If that has passed, or the
 * task never had an instance, at whatever hour, nothing lingers.
 */
static void a_share_lingers_if_its_instance_is_not_over(void **state)
{
	enum { NEVER, PAST, PRESENT, CASES };
	static const u64 hours[] = { NS_PER_SEC, (1ull << 63) + NS_PER_SEC };
	static const struct sched_attr_req normal = { .policy = SCHED_NORMAL };

	(void)state;
	for (unsigned at = 0; at < ARRAY_SIZE(hours); at++)
		for (unsigned what = 0; what < CASES; what++) {
			struct sched_attr_req dl = { .policy = SCHED_DEADLINE,
						     .runtime_ns = 2 * MS,
						     .deadline_ns = 10 * MS,
						     .period_ns = 10 * MS };
			struct dl_machine *dm;
			struct machine *m;
			struct task *t;

			host_starts_at = hours[at];
			m = machine_timed(1, 1000);
			host_starts_at = NS_PER_SEC;
			dm = dl_machine(m->s);
			t = spawn_nice(m, "t", 0);
			if (what == NEVER)
				block(m, 0, TASK_INTERRUPTIBLE);
			assert_int_equal(sched_set_attr(m->s, t, &dl), 0);
			settle(m);
			assert_true(dm->total_bw > 0);
			if (what != NEVER) {
				advance(m, MS);
				block(m, 0, TASK_INTERRUPTIBLE);
			}
			if (what == PAST)
				advance(m, 10 * MS);
			assert_int_equal(sched_set_attr(m->s, t, &normal), 0);
			assert_int_equal(dm->nr_lingering, what == PRESENT);
			assert_int_equal(dm->total_bw > 0, what == PRESENT);
			/* A share that is over is forgotten, and once. */
			advance(m, 20 * MS);
			for (unsigned n = 0; n < 2; n++) {
				assert_int_equal(dl_total_bw(m->s, m->now), 0);
				assert_int_equal(dm->nr_lingering, 0);
			}
			machine_free(m);
		}
}

/* More than the limit is promised since servers came; only a change of the limit asks about it. */
static void tunables_without_a_limit_are_not_refused(void **state)
{
	struct machine *m = machine_under(1, "eevdf");
	struct dl_machine *dm = dl_machine(m->s);
	u64 room;

	(void)state;
	spawn_dl(m, "t", 50 * MS, 100 * MS, 100 * MS);
	room = dl_cpu_bw(&m->s->tunable);
	dm->total_bw += room;
	assert_int_equal(sched_tunable_write(m->s, "sched_deadline_period_min_us", "200", 3), 0);
	assert_int_equal(sched_tunable_write(m->s, "sched_rt_runtime_us", "940000", 6), -EBUSY);
	dm->total_bw -= room;
	assert_int_equal(sched_tunable_write(m->s, "sched_rt_runtime_us", "940000", 6), 0);
	machine_free(m);
}

/* A server is counted while its CPU is in service, under the lock. */
static void servers_count_with_their_cpus(void **state)
{
	struct machine *m = machine_under(3, "eevdf");
	struct dl_machine *dm = dl_machine(m->s);
	u64 each = dl_seen(&m->s->rq[0])->server.d.bw;

	(void)state;
	assert_true(each > 0);
	assert_int_equal(dm->server_bw, 3 * each);
	assert_int_equal(sched_cpu_offline(m->s, 2), 0);
	assert_int_equal(dm->server_bw, 2 * each);
	sched_cpu_online(m->s, 2, &m->idle[2]);
	assert_int_equal(dm->server_bw, 3 * each);
	machine_free(m);
}

/*
 * By definition: as many periods as it takes until there is a budget, each with its runtime; but a
 * deadline that is past even so is put as for a new instance.
 */
static void a_debt_is_paid_in_whole_periods(void **state)
{
	static const s64 runtimes[] = { 1, 2, 3, 1024, MS };
	static const s64 debts[] = { 0, 1, 2, 3, 4, 1023, 1024, 1025, MS, 3 * MS };
	const u64 now = 500 * MS, period = 10 * MS;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(runtimes); i++)
		for (unsigned k = 0; k < ARRAY_SIZE(debts); k++)
			for (unsigned late = 0; late < 2; late++) {
				struct dl_task d = { .runtime_ns = (u64)runtimes[i],
						     .relative_ns = period,
						     .period_ns = period,
						     .budget_ns = -debts[k],
						     .deadline = late ? MS : now,
						     .throttled = true };
				s64 budget = -debts[k];
				u64 deadline = d.deadline;

				if (debts[k] > 40 * runtimes[i])
					continue;
				do {
					budget += runtimes[i];
					deadline += period;
				} while (budget <= 0);
				if (deadline < now) {
					budget = runtimes[i];
					deadline = now + period;
				}
				cbs_replenish(&d, now);
				assert_false(d.throttled);
				assert_int_equal(d.budget_ns, budget);
				assert_int_equal(d.deadline, deadline);
			}
}

/*
 * As Linux has it, a tick ends budgets. A task with 3 ms in each 10 runs for whole ticks of 10 ms;
 * what it overran is paid by later periods, so in 10 s it has 3 s and no more than a tick.
 */
static void what_a_tick_lets_it_overrun_is_paid_back(void **state)
{
	struct machine *m = machine_new(1, 100);
	struct task *fair = spawn_nice(m, "fair", 0);
	struct task *dl = spawn_dl(m, "dl", 3 * MS, 10 * MS, 0);

	(void)state;
	assert_int_equal(m->timer[0], 0);
	advance(m, 9 * MS);
	assert_ptr_equal(running(m, 0), dl);
	advance(m, 1 * MS);
	for (unsigned n = 0; n < 1000; n++) {
		tick(m);
		sched_check(m->s);
	}
	assert_in_range(sched_task_runtime(m->s, dl), 3003 * MS - 10 * MS, 3003 * MS + 10 * MS);
	assert_in_range(sched_task_runtime(m->s, fair), 6900 * MS, 7100 * MS);
	machine_free(m);
}

/* --- the running task ----------------------------------------------------------------------- */

/* It has a budget that ends until it leaves the queue or has none. */
static void only_a_queued_task_has_a_budget_that_ends(void **state)
{
	struct machine *m = machine_timed(1, 1000);
	const struct sched_class *dl = m->s->class[CLASS_dl];
	struct rq *rq = &m->s->rq[0];
	struct task *t;

	(void)state;
	spawn_nice(m, "fair", 0);
	assert_int_equal(dl->next_timer(rq), 0);
	t = spawn_dl(m, "t", 2 * MS, 10 * MS, 10 * MS);
	assert_int_equal(dl->next_timer(rq), m->now + 2 * MS);
	dl_part(t)->queued = false;
	assert_int_equal(dl->next_timer(rq), 0);
	dl_part(t)->queued = true;
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_int_equal(dl->next_timer(rq), 0);
	machine_free(m);
}

/* A deadline task gives up its budget by a yield, even alone; others give up nothing alone. */
static void a_yield_matters_alone_only_to_a_deadline_task(void **state)
{
	struct machine *m = machine_timed(1, 1000);

	(void)state;
	for (unsigned n = 0; n < 3; n++) {
		struct task *dl, *fair = spawn_nice(m, "fair", 0);

		assert_ptr_equal(running(m, 0), fair);
		assert_false(sched_yield(m->s, 0));
		sched_block(fair, TASK_UNINTERRUPTIBLE);
		switch_cpu(m, 0, false);
		dl = spawn_dl(m, "dl", MS, 10 * MS, 10 * MS);
		assert_ptr_equal(running(m, 0), dl);
		assert_true(sched_yield(m->s, 0));
		sched_block(dl, TASK_UNINTERRUPTIBLE);
		switch_cpu(m, 0, false);
	}
	machine_free(m);
}

/* A CPU has too much if a ready task waits there that is allowed elsewhere. */
static void too_much_is_who_waits_and_could_go(void **state)
{
	(void)state;
	for (unsigned nr = 1; nr <= 3; nr++)
		for (unsigned movable = 0; movable < 2; movable++) {
			struct machine *m = machine_timed(2, 1000);
			const struct dl_rq *dl = dl_seen(&m->s->rq[0]);
			struct dl_machine *dm = dl_machine(m->s);

			set_tunable(m, "sched_rt_runtime_us", "-1");
			/* CPU 1 is more urgent than all of them. */
			pin(m, spawn_dl(m, "first", 4 * MS, 5 * MS, 50 * MS), 1);
			for (unsigned n = 0; n < nr; n++) {
				struct task *t = spawn_nice(m, "t", 0);
				struct sched_attr_req req = { .policy = SCHED_DEADLINE,
							      .runtime_ns = MS,
							      .deadline_ns = 50 * MS,
							      .period_ns = 50 * MS };

				pin(m, t, 0);
				assert_int_equal(sched_set_attr(m->s, t, &req), 0);
				settle(m);
				if (movable && n + 1 == nr)
					allow(m, t, cpumask_first_n(2));
			}
			assert_int_equal(dl->nr_ready, nr);
			assert_int_equal(dl->overloaded, movable && nr > 1);
			assert_int_equal(dm->nr_overloaded, movable && nr > 1);
			machine_free(m);
		}
}

/* --- who moves, sleeps or waits ------------------------------------------------------------- */

/*
 * 2 ms in 10 of each 20. It has used them up when it falls asleep, and the next 2 come at 20 ms,
 * though nobody looks then. Who comes late has what fits at its rate, or has to wait for 40.
 */
static void who_sleeps_has_its_next_budget_in_time(void **state)
{
	static const struct {
		u64 wakes, deadline, budget_us,
			replenish_at; /* ms, from its start; 0: it may run */
	} golden[] = {
		{ 15, 10, 0, 20 },   { 19, 10, 0, 20 },	  { 20, 30, 2000, 0 },
		{ 25, 30, 1000, 0 }, { 29, 30, 200, 0 },  { 30, 30, 0, 40 },
		{ 35, 30, 0, 40 },   { 40, 50, 2000, 0 }, { 70, 80, 2000, 0 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		struct machine *m = machine_timed(1, 1000);
		struct task *t = spawn_dl(m, "t", 2 * MS, 10 * MS, 20 * MS);
		const struct dl_task *d = dl_part(t);
		u64 start = m->now;

		m->now += 2 * MS; /* the timer is late */
		block(m, 0, TASK_INTERRUPTIBLE);
		assert_true(d->throttled);
		advance(m, start + golden[i].wakes * MS - m->now);
		wake(m, t, 0);
		assert_int_equal((d->deadline - start) / MS, golden[i].deadline);
		assert_int_equal(d->budget_ns, (s64)golden[i].budget_us * 1000);
		assert_int_equal(d->throttled, golden[i].replenish_at != 0);
		if (d->throttled)
			assert_int_equal((d->replenish_at - start) / MS, golden[i].replenish_at);
		assert_int_equal(running(m, 0) == t, !d->throttled);
		sched_check(m->s);
		machine_free(m);
	}
}

static void change_something(struct machine *m, struct task *t, unsigned what)
{
	struct sched_attr_req same;

	sched_get_attr(t, &same);
	switch (what) {
	case 0:
		assert_int_equal(sched_set_attr(m->s, t, &same), 0);
		break;
	case 1:
		task_group_move(m->s, t, new_group(m, NULL));
		break;
	default:
		pin(m, t, what - 2); /* first where it is */
	}
	settle(m);
}

/*
 * Only a wakeup asks whether the rest of a budget is too much for the rest of the time. Who leaves
 * its queue for another, or for a moment, takes its budget and its deadline along.
 */
static void an_instance_goes_on_wherever_its_task_is(void **state)
{
	(void)state;
	for (unsigned runs = 0; runs < 2; runs++)
		for (unsigned what = 0; what < 4; what++) {
			struct machine *m = machine_timed(2, 1000);
			struct task *before, *t;
			u64 start = m->now;

			set_tunable(m, "sched_rt_runtime_us", "-1"); /* or none may be pinned */
			/* CPU 1 is more urgent. */
			pin(m, spawn_dl(m, "there", 8 * MS, 8 * MS + 1, 100 * MS), 1);
			before = spawn_dl(m, "before", 8 * MS, 9 * MS, 100 * MS);
			t = spawn_dl(m, "t", 5 * MS, 10 * MS, 100 * MS);
			pin(m, t, 0);
			allow(m, t, cpumask_first_n(2));
			assert_ptr_equal(running(m, 0), before);
			advance(m, 7 * MS);
			if (runs)
				block(m, 0, TASK_INTERRUPTIBLE);
			assert_int_equal(running(m, 0) == t, runs);
			change_something(m, t, what);
			assert_int_equal(t->cpu, what == 3);
			assert_int_equal(dl_part(t)->deadline, start + 10 * MS);
			assert_int_equal(dl_part(t)->budget_ns, 5 * MS);
			machine_free(m);
		}
}

/* At 10 ms its budget ends with its period. The next deadline is 20, and one of 20 was there. */
static void a_new_deadline_goes_behind_its_equals(void **state)
{
	(void)state;
	for (int later = -1; later <= 1; later++) {
		struct machine *m = machine_timed(1, 1000);
		struct task *t, *other;
		u64 start = m->now;

		spawn_dl(m, "before", 5 * MS, 6 * MS, 100 * MS);
		t = spawn_dl(m, "t", 5 * MS, 10 * MS, 10 * MS);
		other = spawn_dl(m, "other", MS, 20 * MS + (u64)later, 100 * MS);
		for (unsigned n = 0; n < 9; n++)
			advance(m, MS);
		assert_ptr_equal(running(m, 0), t);
		advance(m, MS);
		assert_int_equal(dl_part(t)->deadline, start + 20 * MS);
		assert_task(running(m, 0), later > 0 ? t : other);
		sched_check(m->s);
		machine_free(m);
	}
}

static bool check_fails(struct machine *m)
{
	return CATCH_BUG(m, sched_check(m->s)) != NULL;
}

/*
 * A throttled task and a deferred server wait for a timer. The check finds one that comes too late
 * or never, unless it is about to be set.
 */
static void a_timer_that_is_late_is_found(void **state)
{
	static const struct {
		s64 after; /* it is armed for so long after it is needed; NEVER: not at all */
		bool stale, found;
	} cases[] = {
#define NEVER INT64_MIN
		{ 0, false, false },	{ -1, false, false }, { -MS, false, false },
		{ 1, false, true },	{ MS, false, true },  { NEVER, false, true },
		{ NEVER, true, false }, { 1, true, false },
	};

	(void)state;
	for (unsigned server = 0; server < 2; server++)
		for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
			struct machine *m = machine_under(1, server ? "eevdf" : "cfs");
			struct rq *rq = &m->s->rq[0];
			const struct dl_task *d = &dl_seen(rq)->server.d;
			u64 when;

			set_feature(m, "HRTICK_DL");
			if (server) {
				spawn_nice(m, "fair", 0);
				spawn(m, "fifo", SCHED_FIFO, 1);
				tick(m);
				when = dl_server_zero_laxity(&dl_seen(rq)->server);
			} else {
				d = dl_part(spawn_dl(m, "t", 2 * MS, 10 * MS, 20 * MS));
				advance(m, 3 * MS);
				assert_true(d->throttled);
				when = d->replenish_at;
			}
			sched_check(m->s);
			rq->timer_armed = cases[i].after == NEVER ? 0 : when + (u64)cases[i].after;
			rq->timer_stale = cases[i].stale;
			assert_int_equal(check_fails(m), cases[i].found);
			machine_free(m);
		}
#undef NEVER
}

/* --- what the server's records say ---------------------------------------------------------- */

/*
 * Beside a FIFO task: at 950 ms the budget just fits before the deadline, at 1000 it is used up,
 * and from then on each period begins with it.
 */
static void the_servers_periods_are_recorded(void **state)
{
	static const struct {
		u64 ms;
		enum class_act act;
		enum class_rule rule;
	} golden[] = {
		{ 950, ACT_replenish, REASON_zero_laxity },
		{ 1000, ACT_throttle, REASON_budget_used },
		{ 1950, ACT_replenish, REASON_period_begins },
		{ 2000, ACT_throttle, REASON_budget_used },
		{ 2950, ACT_replenish, REASON_period_begins },
	};
	struct machine *m = machine_under(1, "eevdf");
	u64 start = m->now;
	unsigned at = 0;

	(void)state;
	spawn_nice(m, "fair", 0);
	spawn(m, "fifo", SCHED_FIFO, 1);
	sched_trace_set(m->s, BIT(EVENT_sched_decision_class));
	for (unsigned n = 0; n < 2960; n++) {
		m->nr_trace = 0;
		tick(m);
		for (unsigned i = 0; i < m->nr_trace; i++) {
			const struct event_sched_decision_class *d =
				(const void *)m->trace[i].bytes;

			if (d->policy != CLASS_POLICY_fair_server ||
			    (d->act != ACT_throttle && d->act != ACT_replenish))
				continue;
			assert_true(at < ARRAY_SIZE(golden));
			assert_int_equal((m->now - start) / MS, golden[at].ms);
			assert_int_equal(d->act, golden[at].act);
			assert_int_equal(d->rule, golden[at].rule);
			assert_int_equal(!!(d->flags & DECISION_THROTTLED), d->act == ACT_throttle);
			at++;
		}
	}
	assert_int_equal(at, ARRAY_SIZE(golden));
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_share_lingers_if_its_instance_is_not_over),
		cmocka_unit_test(tunables_without_a_limit_are_not_refused),
		cmocka_unit_test(servers_count_with_their_cpus),
		cmocka_unit_test(a_debt_is_paid_in_whole_periods),
		cmocka_unit_test(what_a_tick_lets_it_overrun_is_paid_back),
		cmocka_unit_test(only_a_queued_task_has_a_budget_that_ends),
		cmocka_unit_test(a_yield_matters_alone_only_to_a_deadline_task),
		cmocka_unit_test(too_much_is_who_waits_and_could_go),
		cmocka_unit_test(the_servers_periods_are_recorded),
		cmocka_unit_test(who_sleeps_has_its_next_budget_in_time),
		cmocka_unit_test(an_instance_goes_on_wherever_its_task_is),
		cmocka_unit_test(a_new_deadline_goes_behind_its_equals),
		cmocka_unit_test(a_timer_that_is_late_is_found),
	};

	return cmocka_run_group_tests_name("dl_state", tests, NULL, NULL);
}
