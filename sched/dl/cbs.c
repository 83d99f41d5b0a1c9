/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The constant bandwidth server: how much a task may run, and by when.
 *
 * A task with runtime Q, deadline D and period P is served in instances. An
 * instance has a budget, at first Q, and an absolute deadline, at first D after
 * its beginning. Running uses up the budget. An empty budget throttles the task
 * until its next period, D before P after its deadline; then it gets Q more and
 * a deadline P later. So it has at most Q in each P, whatever it does, and no
 * other task notices more than that.
 *
 * A wakeup at t would break this if the rest q of the budget were more than the
 * bandwidth grants until the deadline d: q / (d - t) > Q / D. Then the instance
 * is over, and a new one begins. If D < P that would be too early: the task may
 * wake up again and again, and get Q in each D. It then keeps its deadline, with
 * as much budget as fits, (d - t) * Q / D; and beyond d it waits for its period.
 *
 * Pure functions of a task's numbers. Sources: Abeni and Buttazzo 1998; the rule
 * for D < P: Abeni, Lipari, Parri and Sun 2015; Linux's sched-deadline document.
 */
#include "sched/dl/dl.h"

/* Periods after which a debt is forgiven: the CPU has not looked for hours. */
#define DEBT_PERIODS_MAX (1ull << 20)

void cbs_start(struct dl_task *d, u64 now)
{
	SCHED_DEBUG_ASSERT(d->runtime_ns);
	d->deadline = now + d->relative_ns;
	d->budget_ns = (s64)d->runtime_ns;
	d->started = true;
	d->throttled = false;
}

static u64 next_period(const struct dl_task *d)
{
	return d->deadline - d->relative_ns + d->period_ns;
}

static void throttle(struct dl_task *d)
{
	SCHED_DEBUG_ASSERT(!d->throttled);
	d->replenish_at = next_period(d);
	d->throttled = true;
}

void cbs_replenish(struct dl_task *d, u64 now)
{
	u64 debt = d->budget_ns < 0 ? (u64)-d->budget_ns : 0;
	u64 periods = debt / d->runtime_ns + 1;

	SCHED_DEBUG_ASSERT(d->budget_ns <= 0 && d->runtime_ns);
	d->throttled = false;
	if (periods > DEBT_PERIODS_MAX) {
		cbs_start(d, now);
		return;
	}
	d->deadline += periods * d->period_ns;
	d->budget_ns += (s64)(periods * d->runtime_ns);
	if (time_before(d->deadline, now))
		cbs_start(d, now);
}

void cbs_exhaust(struct dl_task *d, u64 now)
{
	SCHED_DEBUG_ASSERT(d->started && !d->throttled);
	/* A task that yields loses the rest of its budget. */
	d->budget_ns = min(d->budget_ns, (s64)0);
	throttle(d);
	if (!time_before(now, d->replenish_at))
		cbs_replenish(d, now);
}

/* Would the rest of the budget, used from @now on, exceed the bandwidth until the deadline? */
static bool exceeds(const struct dl_task *d, u64 now)
{
	u64 laxity = d->deadline - now;

	SCHED_DEBUG_ASSERT(!time_before(d->deadline, now));
	return (s128)laxity * (s128)d->runtime_ns < (s128)d->budget_ns * (s128)d->relative_ns;
}

void cbs_wake(struct dl_task *d, u64 now)
{
	bool late, constrained = d->relative_ns < d->period_ns;

	if (!d->started) {
		cbs_start(d, now);
		return;
	}
	if (d->throttled) {
		if (time_before(now, d->replenish_at))
			return;
		/* It slept through it. */
		cbs_replenish(d, d->replenish_at);
	}
	late = time_before(d->deadline, now);
	if (!late && !exceeds(d, now))
		return;
	if (!constrained || !time_before(now, next_period(d))) {
		cbs_start(d, now);
		return;
	}
	d->budget_ns = late ? 0 : (s64)mul_div(d->deadline - now, d->runtime_ns, d->relative_ns);
	if (d->budget_ns <= 0)
		throttle(d);
}

u64 cbs_wake_deadline(const struct dl_task *d, u64 now)
{
	struct dl_task copy = *d;

	cbs_wake(&copy, now);
	return copy.deadline;
}

/*
 * The server would have served the budget q that is left at the rate Q/P until the deadline, from
 * q * P / Q before it.
 */
u64 cbs_zero_lag(const struct dl_task *d)
{
	if (!d->started)
		return 0;
	if (d->budget_ns <= 0)
		return d->deadline;
	SCHED_DEBUG_ASSERT(d->runtime_ns);
	return d->deadline - mul_div((u64)d->budget_ns, d->period_ns, d->runtime_ns);
}
