/* SPDX-License-Identifier: GPL-2.0-only */
/* Why a task was placed on a CPU (sched_decision_select of observe/decision.def). */
#pragma once

#include "sched/core/core.h"
#include "sched/observe/run.h"

struct placement_why {
	unsigned cpu, reason;	/* of the call */
	unsigned last, recent;	/* before it, CPUs of the task */
	unsigned aimed, chosen; /* CPUs */
	u32 bias_pct;
	u64 load; /* of the task, before it */
	enum aim_rule aim;
	enum cpu_rule rule;
};

/*
 * A CPU for @t is about to be chosen, on the CPU @waker: puts a row for each CPU into @run. Other
 * runqueues are read without their locks, as placement does. Until placement_record_end() nothing
 * else is traced on this CPU.
 */
void placement_record_begin(struct run *run, struct sched *s, const struct task *t, unsigned waker);
/* The choice is made: puts the record itself after the rows, and hands over the decision. */
void placement_record_end(const struct run *run, struct sched *s, const struct task *t,
			  const struct placement_why *why);
