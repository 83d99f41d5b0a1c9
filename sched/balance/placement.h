/* SPDX-License-Identifier: GPL-2.0-only */
/* Why a task was placed on a CPU (sched_decision_select of observe/decision.def). */
#pragma once

#include "sched/core/core.h"
#include "sched/observe/decision.h"

struct placement_why {
	unsigned cpu, reason;	/* of the call */
	unsigned last, recent;	/* before it, CPUs of the task */
	unsigned aimed, chosen; /* CPUs */
	struct cpumask free;	/* CPUs that were free before */
	u32 bias_pct;
	enum aim_rule aim;
	enum cpu_rule rule;
};

/* The CPUs that idle or have SCHED_IDLE tasks only. */
struct cpumask placement_free_cpus(struct sched *s);

/*
 * Emits a row for each CPU and the record itself. Other runqueues are read without their locks, as
 * placement does.
 */
void placement_record(struct sched *s, const struct task *t, const struct placement_why *why);
