/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the scheduler says what it did: trace events, and the counters that go with them. An event
 * that is off costs a load and a branch (trace.c makes the records).
 */
#pragma once

#include "sched/core/core.h"
#include "sched/observe/event.h"

static inline bool traced(const struct sched *s, unsigned event)
{
	return unlikely(s->trace_mask & BIT(event));
}

void emit_switch(struct rq *rq, struct task *prev, struct task *next, bool preempt);
void emit_wake(unsigned event, struct task *t, unsigned cpu, unsigned target);
void emit_migrate(struct task *t, unsigned cpu, unsigned to);
void emit_runtime(struct rq *rq, struct task *t, u64 delta);
void emit_fair_swap(unsigned cpu, const char *from, const char *to, unsigned nr_queued);
void emit_delay(struct rq *rq, unsigned event, struct task *t, u64 delay);

static inline void trace_switch(struct rq *rq, struct task *prev, struct task *next, bool preempt)
{
	if (traced(rq->s, EVENT_sched_switch))
		emit_switch(rq, prev, next, preempt);
}

/* @event: sched_waking, sched_wakeup or sched_wakeup_new; on @cpu, for @target. */
static inline void trace_wake(struct sched *s, unsigned event, struct task *t, unsigned cpu,
			      unsigned target)
{
	if (traced(s, event))
		emit_wake(event, t, cpu, target);
}

static inline void trace_migrate(struct sched *s, struct task *t, unsigned cpu, unsigned to)
{
	if (traced(s, EVENT_sched_migrate_task))
		emit_migrate(t, cpu, to);
}

static inline void trace_runtime(struct rq *rq, struct task *t, u64 delta)
{
	if (traced(rq->s, EVENT_sched_stat_runtime))
		emit_runtime(rq, t, delta);
}

static inline void trace_delay(struct rq *rq, unsigned event, struct task *t, u64 delay)
{
	if (traced(rq->s, event))
		emit_delay(rq, event, t, delay);
}

/* @t gets the CPU. */
static inline void stat_arrive(struct rq *rq, struct task *t)
{
	u64 waited = t->wait_start ? sub_floor0(rq->clock, t->wait_start) : 0;

	t->wait_start = 0;
	t->wait_sum += waited;
	t->nr_slices++;
	rq->wait_ns += waited;
	rq->slices++;
	trace_delay(rq, EVENT_sched_stat_wait, t, waited);
}

/* @t slept and is about to be queued on @rq. */
static inline void stat_wakeup(struct rq *rq, struct task *t)
{
	t->nr_wakeups++;
	trace_delay(rq, t->contributes_to_load ? EVENT_sched_stat_blocked : EVENT_sched_stat_sleep,
		    t, sub_floor0(rq->clock, t->sleep_start));
	t->contributes_to_load = false;
}
