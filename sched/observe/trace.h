/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the scheduler says what it did: trace events, and the counters that go with them. An event
 * that is off costs a load and a branch (trace.c makes the records).
 */
#pragma once

#include "sched/core/core.h"
#include "sched/observe/event.h"

/* Is one of @events (BIT(EVENT_x)) on? */
static inline bool traced_any(const struct sched *s, u64 events)
{
	return READ_ONCE(s->trace_mask) & events;
}

static inline bool traced(const struct sched *s, unsigned event)
{
	return unlikely(s->trace_mask & BIT(event));
}

/*
 * Records an event if it is on: TRACE(sched_migrate_task, s, cpu, t, to), with the parameters of
 * its row in event.def. While it is off, they are not evaluated.
 */
#define TRACE(name, s, ...)                                                                        \
	do {                                                                                       \
		if (traced(s, EVENT_##name))                                                       \
			emit_##name(__VA_ARGS__);                                                  \
	} while (0)

/* @t gets the CPU. */
static inline void stat_arrive(struct rq *rq, struct task *t)
{
	u64 waited = t->wait_start ? sub_floor0(rq->clock, t->wait_start) : 0;

	debug_assert_locked(rq);
	t->wait_start = 0;
	t->wait_sum += waited;
	if (schedstats(rq->s))
		t->wait_max = max(t->wait_max, waited);
	t->nr_slices++;
	rq->wait_ns += waited;
	rq->slices++;
	TRACE(sched_stat_wait, rq->s, rq->cpu, t, waited);
}

/* @blocked: in an uninterruptible sleep, as for a disk. */
static inline void stat_slept(struct task *t, u64 slept, bool blocked)
{
	u64 *longest = blocked ? &t->block_max : &t->sleep_max;

	*longest = max(*longest, slept);
	*(blocked ? &t->block_sum : &t->sleep_sum) += slept;
}

/* @t slept and is about to be queued on @rq. */
static inline void stat_wakeup(struct rq *rq, struct task *t)
{
	u64 slept = sub_floor0(rq->clock, t->sleep_start);
	bool blocked = t->contributes_to_load;

	debug_assert_locked(rq);
	t->nr_wakeups++;
	if (schedstats(rq->s))
		stat_slept(t, slept, blocked);
	if (blocked)
		TRACE(sched_stat_blocked, rq->s, rq->cpu, t, slept);
	else
		TRACE(sched_stat_sleep, rq->s, rq->cpu, t, slept);
	t->contributes_to_load = false;
}
