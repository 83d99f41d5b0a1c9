/* SPDX-License-Identifier: GPL-2.0-only */
/* One balancing pass (balance.c). If it is recorded, it has a @record: see record/pass.h. */
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

/* Returns @answer, and notes @rule as the reason for it. */
static inline bool pass_because(struct pass *p, enum balance_rule rule, bool answer)
{
	p->rule = rule;
	return answer;
}

/* The part to take tasks from, or NULL if the domain is balanced. Sets type and imbalance. */
const struct group *find_busiest_group(struct pass *p);
/* The runqueue of @group that has most of what is to be moved (p->type), or NULL. */
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

/* group_measure() for a pass that is recorded: each CPU of @part is, and then the part. (load.c) */
struct group_stats pass_measure_recorded(const struct pass *p, const struct group *part,
					 enum misfits misfits);
