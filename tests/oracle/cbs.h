/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The constant bandwidth server once more, for oracles: with exact products, period by period.
 */
#pragma once

#include "sched/dl/dl.h"

typedef unsigned __int128 wide;

static inline s64 ahead(u64 a, u64 b)
{
	return (s64)(a - b);
}

static inline void start(struct dl_task *d, u64 now)
{
	d->deadline = now + d->relative_ns;
	d->budget_ns = (s64)d->runtime_ns;
	d->started = true;
	d->throttled = false;
}

static inline u64 next_period(const struct dl_task *d)
{
	return d->deadline + (d->period_ns - d->relative_ns);
}

/* A period after the other until there is budget; a debt of a million periods is forgiven. */
static inline void replenish(struct dl_task *d, u64 now)
{
	u32 nr = 0;

	d->throttled = false;
	do {
		d->budget_ns += (s64)d->runtime_ns;
		d->deadline += d->period_ns;
	} while (d->budget_ns <= 0 && ++nr < 1 << 20);
	if (d->budget_ns <= 0 || ahead(d->deadline, now) < 0)
		start(d, now);
}

static inline void exhaust(struct dl_task *d, u64 now)
{
	if (d->budget_ns > 0)
		d->budget_ns = 0;
	d->replenish_at = next_period(d);
	d->throttled = true;
	if (ahead(now, d->replenish_at) >= 0)
		replenish(d, now);
}

static inline void wake(struct dl_task *d, u64 now)
{
	s64 rest;

	if (!d->started) {
		start(d, now);
		return;
	}
	if (d->throttled && ahead(now, d->replenish_at) < 0)
		return;
	if (d->throttled)
		replenish(d, d->replenish_at);
	rest = ahead(d->deadline, now);
	/* The rest of the budget fits: budget / rest <= runtime / relative. */
	if (rest >= 0 && (wide)d->budget_ns * d->relative_ns <= (wide)(u64)rest * d->runtime_ns)
		return;
	if (d->relative_ns == d->period_ns || ahead(now, next_period(d)) >= 0) {
		start(d, now);
		return;
	}
	d->budget_ns = rest < 0 ? 0 : (s64)((wide)(u64)rest * d->runtime_ns / d->relative_ns);
	if (!d->budget_ns) {
		d->replenish_at = next_period(d);
		d->throttled = true;
	}
}
