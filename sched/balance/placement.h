/* SPDX-License-Identifier: GPL-2.0-only */
/* Which CPU a task is placed on, and by which rules. record/placement.c makes the record. */
#pragma once

#include "sched/observe/decision.h"

/* Where the search for a CPU begins. */
struct aim {
	s16 cpu;     /* -1: there is none */
	u8 rule;     /* of aim_rule */
	u8 bias_pct; /* per cent by which the waker's CPU may be loaded more */
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
