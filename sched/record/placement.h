/* SPDX-License-Identifier: GPL-2.0-only */
/* The record of a placement: sched_decision_select of observe/decision.def. */
#pragma once

#include "sched/balance/placement.h"
#include "sched/core/core.h"
#include "sched/record/run.h"

/* A placement before the choice. */
struct placement {
	unsigned waker, reason; /* of the call */
	unsigned last, recent;	/* CPUs of the task */
	u64 load;		/* of the task */
};

/*
 * A CPU for @t is about to be chosen, on the CPU @waker: puts a row for each CPU into @run. Other
 * runqueues are read without their locks, as placement does. Until placement_record_end() nothing
 * else is traced on this CPU.
 */
void placement_record_begin(struct run *run, struct sched *s, const struct task *t, unsigned waker);
/* The choice is made: puts the record itself after the rows, and hands over the decision. */
void placement_record_end(const struct run *run, struct sched *s, const struct task *t,
			  const struct placement *before, struct choice to);
