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

void emit_switch(struct rq *rq, struct task *prev, struct task *next, bool preempt);
void emit_wake(unsigned event, struct task *t, unsigned cpu, unsigned target);
void emit_migrate(struct task *t, unsigned cpu, unsigned to);
void emit_runtime(struct rq *rq, struct task *t, u64 delta);
void emit_fair_swap(unsigned cpu, const char *from, const char *to, unsigned nr_queued);
void emit_frequency(unsigned cpu, unsigned of, u32 mhz);
void emit_idle(struct rq *rq, bool idle);
void emit_boost(struct rq *rq, u32 boost);
void emit_overutilized(unsigned cpu, bool yes);
void emit_averages(const struct fair_queue *q, const struct entity *e);
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

/* On @cpu: the CPU numbered @of runs at @mhz. */
static inline void trace_frequency(struct sched *s, unsigned cpu, unsigned of, u32 mhz)
{
	if (traced(s, EVENT_cpu_frequency))
		emit_frequency(cpu, of, mhz);
}

/* The CPU begins or ends to idle; only where CPUs have frequencies. */
static inline void trace_idle(struct rq *rq, bool idle)
{
	if (traced(rq->s, EVENT_cpu_idle))
		emit_idle(rq, idle);
}

static inline void trace_boost(struct rq *rq, u32 boost)
{
	if (traced(rq->s, EVENT_sched_tune_boost))
		emit_boost(rq, boost);
}

/* By @cpu: is the machine over-utilised from now on? */
static inline void trace_overutilized(struct sched *s, unsigned cpu, bool yes)
{
	if (traced(s, EVENT_sched_overutilized))
		emit_overutilized(cpu, yes);
}

/*
 * The averages of entity @e on @q or, without one, of @q were computed. Where a policy does that as
 * part of a decision that is recorded, this goes untold.
 */
static inline void trace_averages(const struct fair_queue *q, const struct entity *e)
{
	if (traced(q->rq->s, e ? EVENT_sched_pelt_se : EVENT_sched_pelt_cfs) && !q->rq->deciding)
		emit_averages(q, e);
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
	if (schedstats(rq->s))
		t->wait_max = max(t->wait_max, waited);
	t->nr_slices++;
	rq->wait_ns += waited;
	rq->slices++;
	trace_delay(rq, EVENT_sched_stat_wait, t, waited);
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

	t->nr_wakeups++;
	if (schedstats(rq->s))
		stat_slept(t, slept, blocked);
	trace_delay(rq, blocked ? EVENT_sched_stat_blocked : EVENT_sched_stat_sleep, t, slept);
	t->contributes_to_load = false;
}
