/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The record of a balancing pass: sched_decision_balance of observe/decision.def, with the
 * runqueues, parts and tasks that the pass looked at. All is recorded at the moment when a number
 * is used, by functions that a pass without a @record does not call.
 */
#pragma once

#include "sched/balance/pass.h"

/* The pass @p, which has not begun, is recorded in @record. */
void pass_record_begin(struct pass *p, struct event_sched_decision_balance *record);
/* The CPU was asked whether it is the one to balance; it idles or not. */
void pass_record_asked(const struct pass *p, unsigned cpu, bool idle);
/* Tasks wait on @cpus. */
void pass_record_crowded(const struct pass *p, const struct cpumask *cpus);
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
