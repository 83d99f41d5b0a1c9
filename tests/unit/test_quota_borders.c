/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Quotas at their borders: time passes until exactly what a queue has left, the end of a period,
 * the time at which slack is shared out or is not worth it, and a nanosecond before and after it.
 * The accountant of tests/oracle/ knows to the nanosecond what must happen then.
 */
#include <stdlib.h>

#include "judged.h"
#include "lib/prng.h"

#define CPUS	3
#define MEMBERS 6
#define SLACK	(7 * MS) /* a refill so soon makes it pointless to begin */
#define NEAR	(2 * MS) /* and so soon, to end */

struct world {
	struct machine *m;
	struct task_group *outer, *inner;
	struct task *member[MEMBERS];
	struct prng rng;
	bool whole; /* all times are whole ms, so that equal amounts are common */
};

static u64 choose(struct world *w, u32 most)
{
	return 1 + prng_below(&w->rng, most);
}

static void limit(struct world *w, struct task_group *tg)
{
	bool none = !prng_below(&w->rng, 6);
	u64 quota = none ? SCHED_QUOTA_NONE : choose(w, 12) * MS, period = (9 + choose(w, 21)) * MS;
	u64 burst = none ? 0 : prng_below(&w->rng, (u32)(quota / MS) + 1) * MS;

	if (!task_group_set_bandwidth(w->m->s, tg, quota, period, burst, true))
		judge_limits(w->m->s, tg, quota, period, burst);
	settle(w->m);
}

/* Half of the members may run on any CPU, each of the others on one. */
static void begin(struct world *w, u64 seed)
{
	*w = (struct world){ .m = judged_machine(CPUS, 1000), .whole = seed % 2 };
	prng_seed(&w->rng, host_seed(seed));
	w->outer = judged_group(w->m, NULL);
	w->inner = judged_group(w->m, w->outer);
	for (unsigned i = 0; i < MEMBERS; i++) {
		struct task_group *tg = i % 3 ? w->outer : w->inner;

		w->member[i] = i % 2 ? spawn_in(w->m, tg, 0) : member_asleep_on(w->m, tg, i / 2);
	}
	limit(w, w->outer);
	limit(w, w->inner);
}

/* A world may have fewer members, and no inner group. */
static void end(struct world *w)
{
	for (unsigned i = 0; i < MEMBERS && w->member[i]; i++)
		task_group_move(w->m->s, w->member[i], NULL);
	settle(w->m);
	if (w->inner)
		end_group(w->m, w->inner);
	end_group(w->m, w->outer);
	for (unsigned i = 0; i < MEMBERS; i++)
		free(w->member[i]);
	machine_free(w->m);
}

/* How long until the border that was drawn; 0: it has passed, or there is none. */
static u64 until_border(struct world *w)
{
	struct task_group *tg = prng_below(&w->rng, 2) ? w->outer : w->inner;
	const struct fair_queue *q = &tg->cpu[prng_below(&w->rng, CPUS)].queue;
	const struct bandwidth *pool = &tg->bandwidth;
	s64 left = (s64)(pool->period.at - w->m->now), at = 0;

	switch (prng_below(&w->rng, 8)) {
	case 0:
		at = q->limited ? q->remaining : 0;
		break;
	case 1:
		at = pool->period.rq ? left : 0;
		break;
	case 2:
		at = pool->period.rq ? left + (s64)(prng_below(&w->rng, 4) * pool->period_ns) : 0;
		break;
	case 3:
		at = pool->period.rq ? left - (s64)SLACK : 0;
		break;
	case 4:
		at = pool->period.rq ? left - (s64)NEAR : 0;
		break;
	case 5:
		at = pool->slack.rq ? (s64)(pool->slack.at - w->m->now) : 0;
		break;
	default:
		at = (s64)(choose(w, 4) * MS);
	}
	return at > 0 ? (u64)at : 0;
}

static void let_time_pass(struct world *w)
{
	u64 ns = until_border(w);

	if (ns && !w->whole)
		ns += prng_below(&w->rng, 3) - 1;
	w->m->now += ns;
	/* Half of the time a timer is late, and something else happens first. */
	if (prng_below(&w->rng, 2))
		advance(w->m, 0);
}

static void act(struct world *w)
{
	struct machine *m = w->m;
	unsigned cpu = (unsigned)prng_below(&w->rng, CPUS);
	struct task *t = w->member[prng_below(&w->rng, MEMBERS)];

	switch (prng_below(&w->rng, 16)) {
	case 0:
		limit(w, prng_below(&w->rng, 2) ? w->outer : w->inner);
		break;
	case 1:
		if (m->s->rq_of[1]->online)
			assert_int_equal(sched_cpu_offline(m->s, 1), 0);
		else
			sched_cpu_online(m->s, 1, &m->idle[1]);
		break;
	case 2:
		set_tunable(m, "sched_cfs_bandwidth_slice_us",
			    prng_below(&w->rng, 2) ? "5000" : "2000");
		break;
	case 3 ... 6:
		if (m->s->rq_of[cpu]->online && running(m, cpu) != &m->idle[cpu])
			block(m, cpu, TASK_INTERRUPTIBLE);
		break;
	case 7 ... 11:
		wake(m, t, 0);
		break;
	default:
		if (m->s->rq_of[cpu]->online)
			sched_tick(m->s, cpu);
	}
	settle(m);
}

static void the_accountant_agrees_at_every_border(void **state)
{
	enum { WORLDS = 200, STEPS = 60 };

	(void)state;
	for (u64 seed = 1; seed <= WORLDS; seed++) {
		struct world w;

		begin(&w, seed);
		for (unsigned i = 0; i < STEPS; i++) {
			let_time_pass(&w);
			act(&w);
			sched_check(w.m->s);
			judge_attach(w.m->s);
		}
		end(&w);
	}
}

/* --- slack ------------------------------------------------------------------------------------ */

static void judge_now(struct world *w)
{
	settle(w->m);
	sched_check(w->m->s);
	judge_attach(w->m->s);
}

/* CPU 0 waits for runtime, CPU 1 has more of it than the slice is from now on, CPU 2 sleeps. */
static bool slack_is_to_come(struct world *w)
{
	struct machine *m = w->m;
	u64 quota = (11 + choose(w, 6)) * MS, period = (19 + choose(w, 21)) * MS;

	set_tunable(m, "sched_cfs_bandwidth_slice_us", "9000");
	assert_int_equal(task_group_set_bandwidth(m->s, w->outer, quota, period, 0, true), 0);
	judge_limits(m->s, w->outer, quota, period, 0);
	wake(m, w->member[1], 0);
	settle(m);
	wake(m, w->member[0], 0);
	settle(m);
	for (unsigned i = 0; i < 10 && list_empty(&w->outer->bandwidth.throttled); i++) {
		m->now += w->whole ? MS : MS - 1 + prng_below(&w->rng, 3);
		sched_tick(m->s, 0);
		judge_now(w);
	}
	set_tunable(m, "sched_cfs_bandwidth_slice_us", prng_below(&w->rng, 2) ? "1000" : "2000");
	block(m, 1, TASK_INTERRUPTIBLE);
	judge_now(w);
	return w->outer->bandwidth.slack.rq;
}

/* Others fetch what is left but for a slice, or more. The timer is in time or late. */
static void slack_ends_near(struct world *w)
{
	const struct bandwidth *pool = &w->outer->bandwidth;
	u64 nearest = prng_below(&w->rng, 2) ? pool->period.at - NEAR : pool->slack.at;

	for (u64 nr = prng_below(&w->rng, 6); nr--;) {
		wake(w->m, w->member[2], 0);
		settle(w->m);
		w->m->now += MS;
		sched_tick(w->m->s, 2);
		judge_now(w);
		set_tunable(w->m, "sched_cfs_bandwidth_slice_us", nr % 2 ? "1000" : "3000");
	}
	w->m->now = max(w->m->now, nearest + prng_below(&w->rng, 3) - 1);
	advance(w->m, 0);
	judge_now(w);
}

static void the_accountant_agrees_when_slack_is_shared_out(void **state)
{
	unsigned times = 0;

	(void)state;
	for (u64 seed = 1; seed <= 400; seed++) {
		struct world w = { .m = judged_machine(CPUS, 1000), .whole = seed % 2 };

		prng_seed(&w.rng, host_seed(seed));
		w.outer = judged_group(w.m, NULL);
		for (unsigned cpu = 0; cpu < CPUS; cpu++)
			w.member[cpu] = member_asleep_on(w.m, w.outer, cpu);
		if (slack_is_to_come(&w)) {
			slack_ends_near(&w);
			times++;
		}
		end(&w);
	}
	assert_true(times > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_accountant_agrees_at_every_border),
		cmocka_unit_test(the_accountant_agrees_when_slack_is_shared_out),
	};

	return cmocka_run_group_tests_name("quota borders", tests, NULL, NULL);
}
