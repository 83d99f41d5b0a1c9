/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of decisions as C: the rules of rule.def, and the numbers by which a policy knows an
 * entity. fair/core/record.c makes the records of decision.def from them.
 */
#pragma once

#include "lib/types.h"
#include "sched/observe/rule.def"

enum decision_rule {
#define RULE(number, name, sentence) RULE_##name = (number),
	DECISION_RULES(RULE)
#undef RULE
};

enum aim_rule {
#define AIM(number, name, sentence) AIM_##name = (number),
	AIM_RULES(AIM)
#undef AIM
};

enum cpu_rule {
#define CPU(number, name, sentence) CPU_##name = (number),
	CPU_RULES(CPU)
#undef CPU
};

enum class_act {
#define ACT(number, name, sentence) ACT_##name = (number),
	CLASS_ACTS(ACT)
#undef ACT
		NR_CLASS_ACTS
};

enum class_rule {
#define REASON(number, name, sentence) REASON_##name = (number),
	CLASS_RULES(REASON)
#undef REASON
};

enum class_policy {
#define POLICY(number, name, sentence) CLASS_POLICY_##name = (number),
	CLASS_POLICIES(POLICY)
#undef POLICY
};

/* More candidates of one decision are not recorded; its nr_queued tells. */
#define DECISION_ROWS_MAX 64

/* decision.def explains them. */
enum decision_flags {
	DECISION_RUNS = 0x1,
	DECISION_ASLEEP = 0x2,
	DECISION_IDLE = 0x4,
	DECISION_ELIGIBLE = 0x8,
	DECISION_REQUEST_LASTS = 0x10,
	DECISION_REQUEST_USED = 0x20,
	DECISION_NEXT = 0x40,
	DECISION_LAST = 0x80,
	DECISION_SKIP = 0x100,
	DECISION_DUE = 0x200,
	DECISION_SUBJECT = 0x400,
	DECISION_QUEUED = 0x800,
	DECISION_RELATIVE = 0x1000,
	DECISION_THROTTLED = 0x2000,
};

/* Of a CPU to which a task could go. */
enum decision_cpu_flags {
	DECISION_CPU_IDLE = 0x1,
	DECISION_CPU_FREE = 0x2,
	DECISION_CPU_ALLOWED = 0x4,
	DECISION_CPU_WAKER = 0x8,
	DECISION_CPU_LAST = 0x10,
	DECISION_CPU_RECENT = 0x20,
	DECISION_CPU_AIMED = 0x40,
	DECISION_CPU_SHARES = 0x80,
	DECISION_CPU_CHANGED = 0x100,
};

/* The numbers of an entity that only its policy knows. */
struct decision_numbers {
	u64 vruntime, deadline; /* virtual times */
	u64 slice;		/* ns */
	s64 lag;		/* virtual time that it is owed while it is not queued */
	u8 score;
	u16 flags; /* of decision_flags, those that the policy knows */
};

/* The numbers of a queue that only its policy knows. */
struct queue_numbers {
	u64 v;	       /* its virtual time */
	u64 container; /* FDL: the deadline of all entities that have none of their own, or 0 */
};

/* The numbers that only a class knows, of a task or of its part of a runqueue: see decision.def. */
struct class_numbers {
	int prio;
	u32 slice, bw;
	u64 deadline, replenish_at;
	s64 budget;
	u64 runtime, relative, period; /* ns */
	u64 used, period_end;
	bool throttled;
};
