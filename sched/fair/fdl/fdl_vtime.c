/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * FDL's virtual time: how running takes a deadline forward, and how a miss puts all
 * of them off. The terms are in fdl.c.
 *
 * Lock: the runqueue's. Source: Fair Deadline RFC (docs/sources.md).
 */
#include "sched/fair/fdl/fdl.h"

/* The part of the CPU, in 1024ths, that the running @e, or the container, is worth; at least 1. */
static u64 share_of(const struct fair_queue *q, const struct entity *e)
{
	u64 weight = e->load.weight, share = 1024;

	SCHED_DEBUG_ASSERT(q->load.weight >= fdl_queue(q)->weight);
	if (!e->due)
		weight = q->load.weight - fdl_queue(q)->weight + (e->queued ? 0 : weight);
	for (;;) {
		share = share * weight / (q->load.weight + (e->queued ? 0 : e->load.weight));
		e = q->owner;
		if (!e)
			break;
		q = e->queue;
		weight = e->load.weight;
	}
	return max(share * tunables_of(q)->dl_slack >> 10, 1ull);
}

/* How often @ahead must be halved to be no more than @period. */
static unsigned halvings(u64 ahead, u64 period)
{
	unsigned n = 0;

	SCHED_DEBUG_ASSERT(period);
	while (ahead >> n > period)
		n++;
	return n;
}

/* v went back: bring deadlines that are more than a period ahead of it near, all in proportion. */
static void limit_spread(struct fair_queue *q, struct entity *curr)
{
	u64 v = fdl_now(q);
	unsigned n = 0;

	if (fdl_queue(q)->container)
		n = halvings(fdl_queue(q)->container - v, tunables_of(q)->default_fair_dl);
	if (curr->due)
		n = max(n, halvings(curr->due - v, fdl_period(curr)));
	for (struct entity *e = queue_earliest(q); e; e = queue_after(e))
		n = max(n, halvings(e->due - v, fdl_period(e)));
	if (!n)
		return;
	if (fdl_queue(q)->container)
		fdl_queue(q)->container = fdl_some(v + ((fdl_queue(q)->container - v) >> n));
	if (curr->due)
		curr->due = fdl_some(v + ((curr->due - v) >> n));
	/* Their order remains. */
	for (struct entity *e = queue_earliest(q); e; e = queue_after(e))
		e->due = fdl_some(v + ((e->due - v) >> n));
}

/* @e, or the container, ran until now and its @deadline is past still. */
static void miss(struct fair_queue *q, struct entity *e, u64 deadline, u64 period)
{
	struct entity *first = queue_earliest(q);
	u64 v = fdl_now(q), shortest = period, back;

	SCHED_DEBUG_ASSERT(time_before(deadline, fdl_now(q)));
	if (first)
		deadline = time_min(deadline, first->due);
	if (e->due && fdl_queue(q)->container)
		deadline = time_min(deadline, fdl_queue(q)->container);
	for (; first; first = queue_after(first))
		shortest = min(shortest, fdl_period(first));
	back = max(v - deadline + shortest / 4, (u64)tunables_of(q)->dl_skip);
	fdl_queue(q)->lag += back;
	if (e->due) {
		fdl_of(e)->nr_misses++;
		fdl_of(e)->lag_pushed_ns += back;
	}
	limit_spread(q, e);
}

void fdl_charge_deadline(struct fair_queue *q, struct entity *e, u64 delta)
{
	u64 period = e->due ? fdl_period(e) : tunables_of(q)->default_fair_dl;
	u64 *deadline = e->due ? &e->due : &fdl_queue(q)->container;
	u64 v = fdl_now(q);

	SCHED_DEBUG_ASSERT(e == q->curr);
	*deadline = fdl_some(*deadline + delta * 1024 / share_of(q, e));
	if (time_before(*deadline, v)) {
		miss(q, e, *deadline, period);
	} else if (!time_before(*deadline, v + period)) {
		*deadline = fdl_some(v + period);
		if (!fdl_queue(q)->nr)
			fdl_queue(q)->container = 0;
	}
}
