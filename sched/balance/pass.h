/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One balancing pass (balance.c), and its record (balance_record.c): sched_decision_balance of
 * observe/decision.def, with the runqueues, parts and tasks that the pass looked at.
 *
 * A pass that is recorded has a @record; whoever looks at something notes it, with the numbers that
 * were used, through the functions pass_note_*. Without a record they cost a branch.
 */
#pragma once

#include "sched/balance/domain.h"
#include "sched/observe/decision.h"
#include "sched/observe/event.h"

/* Numbers as in AMOUNT_NAMES of observe/rule.def. */
enum migration_type { MIGRATE_LOAD, MIGRATE_UTIL, MIGRATE_TASKS, MIGRATE_MISFIT };

struct pass {
	struct sched *s;
	struct domain *sd;
	struct rq *dst;
	struct rq *other; /* in dst's part of sd: a task may go there though not to dst; or NULL */
	enum idle_type idle;
	struct cpumask cpus; /* CPUs that take part */
	enum migration_type type;
	s64 imbalance;	 /* still to move, in units of type */
	bool all_pinned; /* affinity alone kept every task in place */
	bool some_pinned;
	struct list moved; /* detached, not attached yet */
	u32 nr_moved;

	enum balance_rule rule;			     /* why tasks should move, or should not */
	struct event_sched_decision_balance *record; /* NULL: this pass is not recorded */
};

/* Returns @answer, and notes by which rule. */
static inline bool pass_because(struct pass *p, enum balance_rule rule, bool answer)
{
	p->rule = rule;
	return answer;
}

/* The part to take tasks from, or NULL if the domain is balanced. Sets type and imbalance. */
const struct group *find_busiest_group(struct pass *p);
/* The runqueue of @group with the most of what is to be moved, or NULL. */
struct rq *find_busiest_queue(const struct pass *p, const struct group *group);

/* True if the CPUs of the pass's domain have several capacities. */
static inline bool pass_is_uneven(const struct pass *p)
{
	return unlikely(p->sd->flags & SD_ASYM_CPUCAPACITY);
}

/* True if @t, which runs, can be asked to go elsewhere. */
static inline bool task_is_pushable(const struct task *t)
{
	return task_is_fair(t) && t->on_rq == TASK_QUEUED && t->push_cpu == PUSH_NONE;
}

/* --- the record (balance_record.c), if there is one ------------------------ */

/* The pass @p, which has not begun, is recorded in @record. */
void pass_record_begin(struct pass *p, struct event_sched_decision_balance *record);
/* The CPU was asked whether it is the one to balance; it idles or not. */
void pass_record_asked(const struct pass *p, unsigned cpu, bool idle);
/* Tasks wait on @cpus. */
void pass_record_crowded(const struct pass *p, const struct cpumask *cpus);
/* group_measure() for a pass: each CPU of @part is recorded, and then the part. (load.c) */
struct group_stats pass_measure_recorded(const struct pass *p, const struct group *part,
					 enum misfits misfits);
/* @cpu was measured: a part that was @before is @after with it. */
void pass_record_measured(const struct pass *p, unsigned cpu, const struct group_stats *before,
			  const struct group_stats *after);
void pass_record_part(const struct pass *p, const struct group_stats *gs);
/* @cpu of the busiest @part has @nr fair tasks, and @amount of what is to be moved. */
void pass_record_searched(const struct pass *p, unsigned cpu, const struct group *part, u32 nr,
			  u64 amount);
/* The parts were compared: tasks are to come from @src in @busiest; NULL: from nowhere. */
void pass_record_source(const struct pass *p, const struct group *busiest, const struct rq *src);
/* @src is locked: tasks are looked at now. */
void pass_record_locked(const struct pass *p, const struct rq *src);
/* @t on @src, locked, was looked at. */
void pass_record_task(const struct pass *p, const struct rq *src, const struct task *t,
		      enum task_fate fate);
/* The level above was told whether affinity hindered this pass. */
void pass_record_told(const struct pass *p, bool pinned);
/* All tasks are pinned: the round ends, and another one begins. */
void pass_record_again(struct pass *p);
void pass_record_end(const struct pass *p, enum balance_outcome outcome);
