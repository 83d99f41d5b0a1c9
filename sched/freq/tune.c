/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SchedTune: boosting tasks. A boost of b % closes b % of the distance between a CPU's usage and a
 * whole CPU (signal-proportional compensation), so the governor `sched` runs that CPU as if it had
 * more to do. A boost belongs to a boost group of tasks, or to all tasks (sched_cfs_boost), which
 * is the group 0. A CPU has the greatest boost of the groups that have a runnable task there, and
 * of group 0.
 *
 * Each CPU counts the runnable tasks of each group. Its boost changes only when a count becomes 0
 * or 1, or a boost is set. Source: P. Bellasi, RFC of 2015 (docs/sources.md).
 */
#include "sched/freq/governor.h"
#include "lib/errno.h"
#include "sched/core/core.h"
#include "sched/observe/trace.h"

#define BOOST_MAX 100

/* --- the boost of a CPU -------------------------------------------------------------------- */

static u8 most_boost(const struct rq *rq)
{
	u8 most = 0;

	for (u32 i = 1; i < SCHED_TUNE_GROUPS; i++)
		if (rq->freq->nr_tuned[i])
			most = max(most, READ_ONCE(rq->s->freq->boost[i]));
	return most;
}

static void choose_boost(struct rq *rq)
{
	u8 boost = most_boost(rq);

	debug_assert_locked(rq);
	if (boost == rq->freq->boost)
		return;
	rq->freq->boost = boost;
	TRACE(sched_tune_boost, rq->s, rq->cpu, boost);
}

/* The first task of @group came, or the last one left. Group 0 is part of every CPU's boost. */
static void group_turns(struct rq *rq, unsigned group)
{
	if (group)
		choose_boost(rq);
}

void tune_enter(struct rq *rq, struct task *t)
{
	SCHED_DEBUG_ASSERT(t->tune_group < SCHED_TUNE_GROUPS);
	debug_assert_locked(rq);
	if (!rq->freq->nr_tuned[t->tune_group]++)
		group_turns(rq, t->tune_group);
}

void tune_leave(struct rq *rq, struct task *t)
{
	debug_assert_locked(rq);
	SCHED_ASSERT(rq->freq->nr_tuned[t->tune_group]);
	if (!--rq->freq->nr_tuned[t->tune_group])
		group_turns(rq, t->tune_group);
}

/* Without a division: 1311 / 2^17 is 1 % but for 2 in 10,000. */
u64 tune_margin(u64 signal, u32 boost)
{
	SCHED_DEBUG_ASSERT(boost <= BOOST_MAX);
	return sub_floor0(OPP_CAPACITY, signal) * boost * 1311 >> 17;
}

u64 freq_boosted_usage(const struct rq *rq)
{
	u64 usage = freq_usage(rq);
	u32 boost = max((u32)rq->freq->boost, rq->s->tunable.cfs_boost);

	debug_assert_locked(rq);
	return usage ? usage + tune_margin(usage, boost) : 0;
}

/* --- groups -------------------------------------------------------------------------------- */

int sched_tune_new(struct sched *s)
{
	struct freq *freq = s->freq;

	for (u32 i = 1; i < SCHED_TUNE_GROUPS; i++) {
		if (freq->tune_used & BIT(i))
			continue;
		freq->tune_used |= BIT(i);
		freq->boost[i] = 0;
		return (int)i;
	}
	return -ENOSPC;
}

void sched_tune_free(struct sched *s, unsigned group)
{
	SCHED_ASSERT(group && s->freq->tune_used & BIT(group));
	s->freq->tune_used &= ~BIT(group);
}

static bool exists(const struct sched *s, unsigned group)
{
	return !group || (group < SCHED_TUNE_GROUPS && s->freq->tune_used & BIT(group));
}

int sched_tune_boost(struct sched *s, unsigned group, u64 boost)
{
	unsigned cpu;

	if (boost > BOOST_MAX || !exists(s, group))
		return -EINVAL;
	if (!group) {
		WRITE_ONCE(s->tunable.cfs_boost, (u32)boost);
		return 0;
	}
	WRITE_ONCE(s->freq->boost[group], (u8)boost);
	for_each_cpu(cpu, &s->possible) {
		struct rq *rq = cpu_rq(s, cpu);

		rq_lock(rq);
		choose_boost(rq);
		rq_unlock(rq);
	}
	return 0;
}

unsigned sched_tune_boost_of(const struct sched *s, unsigned group)
{
	SCHED_ASSERT(exists(s, group));
	return group ? s->freq->boost[group] : s->tunable.cfs_boost;
}

/* Is @t counted on its runqueue? */
static bool is_counted(const struct task *t)
{
	return t->on_rq == TASK_QUEUED;
}

int sched_tune_move(struct sched *s, struct task *t, unsigned group)
{
	struct rq *rq;

	if (!exists(s, group))
		return -EINVAL;
	rq = task_rq_lock(s, t);
	if (is_counted(t))
		tune_leave(rq, t);
	t->tune_group = (u8)group;
	if (is_counted(t))
		tune_enter(rq, t);
	rq_unlock(rq);
	return 0;
}

unsigned sched_tune_of(const struct task *t)
{
	return t->tune_group;
}

unsigned sched_tune_cpu(struct sched *s, unsigned cpu)
{
	const struct rq *rq = cpu_rq(s, cpu);

	return max((u32)READ_ONCE(rq->freq->boost), s->tunable.cfs_boost);
}

/* --- invariants ---------------------------------------------------------------------------- */

void tune_check(struct rq *rq)
{
	u32 nr[SCHED_TUNE_GROUPS] = { 0 };
	struct task *t;
	u8 most = 0;

	for_each_queued(t, rq) nr[t->tune_group] += is_counted(t);
	for (u32 i = 0; i < SCHED_TUNE_GROUPS; i++) {
		SCHED_CHECK(E4, rq->freq->nr_tuned[i] == nr[i]);
		if (i && nr[i])
			most = max(most, rq->s->freq->boost[i]);
	}
	SCHED_CHECK(E5, rq->freq->boost == most);
}
