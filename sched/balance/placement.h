/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which CPU a task is placed on, by which rules, and the record of that: sched_decision_select of
 * observe/decision.def.
 */
#pragma once

#include "sched/core/core.h"
#include "sched/observe/run.h"

/* Where the search for a CPU begins. */
struct aim {
	s16 cpu;     /* -1: there is none */
	u8 rule;     /* of aim_rule */
	u8 bias_pct; /* by which the waker's CPU might be loaded more; 0: its load did not matter */
};

/* The CPU for a task. All of it fits a register, so what only a record needs costs little. */
struct choice {
	struct aim aim;
	s16 cpu; /* -1: there is none */
	u8 rule; /* of cpu_rule */
};

static inline struct aim aim_at(int cpu, enum aim_rule rule)
{
	return (struct aim){ .cpu = (s16)cpu, .rule = (u8)rule };
}

static inline struct choice chosen(int cpu, enum cpu_rule rule)
{
	return (struct choice){ .cpu = (s16)cpu, .rule = (u8)rule };
}

/* --- the record ---------------------------------------------------------- */

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
