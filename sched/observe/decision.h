/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of decisions as C: the rules of rule.def, and the numbers by which a policy knows an
 * entity. record/ makes the records of decision.def from them.
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

enum look {
#define LOOK(number, name, sentence) LOOK_##name = (number),
	LOOK_NAMES(LOOK)
#undef LOOK
};

enum part_state {
#define PART(number, name, sentence) PART_##name = (number),
	PART_NAMES(PART)
#undef PART
};

enum idleness {
#define IDLENESS(number, name, sentence) IDLENESS_##name = (number),
	IDLENESS_NAMES(IDLENESS)
#undef IDLENESS
};

enum amount {
#define AMOUNT(number, name, sentence) AMOUNT_##name = (number),
	AMOUNT_NAMES(AMOUNT)
#undef AMOUNT
};

enum balance_outcome {
#define OUTCOME(number, name, sentence) OUTCOME_##name = (number),
	OUTCOME_NAMES(OUTCOME)
#undef OUTCOME
};

enum balance_rule {
#define BALANCE(number, name, sentence) BALANCE_##name = (number),
	BALANCE_RULES(BALANCE)
#undef BALANCE
};

enum task_fate {
#define FATE(number, name, sentence) FATE_##name = (number),
	FATE_NAMES(FATE)
#undef FATE
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

enum quota_act {
#define STEP(number, name, sentence) QUOTA_##name = (number),
	QUOTA_ACTS(STEP)
#undef STEP
};

enum quota_rule {
#define GRANT(number, name, sentence) GRANT_##name = (number),
	QUOTA_RULES(GRANT)
#undef GRANT
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
	DECISION_SERVER = 0x4000,
};

/* In no record: numbers() is asked for those after the decision, and for no flags. */
#define AFTER_DECISION 0x10000u

/* Of a CPU to which a task could go. */
enum decision_cpu_flags {
	DECISION_CPU_IDLE = 0x1,
	DECISION_CPU_FREE = 0x2,
	DECISION_CPU_ALLOWED = 0x4,
	DECISION_CPU_WAKER = 0x8,
	DECISION_CPU_LAST = 0x10,
	DECISION_CPU_CHANGED = 0x100,
};

/* Of a CPU as a placement by energy saw it. */
enum decision_use_flags {
	DECISION_USE_ALLOWED = 0x1,
	DECISION_USE_LAST = 0x2,
	DECISION_USE_NEAR = 0x4,
	DECISION_USE_REAL_TIME = 0x8,
	DECISION_USE_CLAMP_IDLE = 0x10,
	DECISION_USE_COUNTED = 0x20,
};

/* Of such a placement. */
enum decision_energy_flags {
	DECISION_ENERGY_UTIL_EST = 0x1,
	DECISION_ENERGY_CLAMPED = 0x2,
};

/* Of a runqueue that a balancing pass read. */
enum decision_runqueue_flags { DECISION_RUNQUEUE_IDLE = 0x1 };

/* Of a part of a domain. */
enum decision_part_flags {
	DECISION_PART_LOCAL = 0x1,
	DECISION_PART_HINDERED = 0x2,
};

/* Of a task that a balancing pass looked at. */
enum decision_movable_flags {
	DECISION_MOVABLE_ALLOWED = 0x1,
	DECISION_MOVABLE_RUNS = 0x2,
	DECISION_MOVABLE_IDLE = 0x4,
	DECISION_MOVABLE_NOMINATED = 0x8,
	DECISION_MOVABLE_THROTTLED = 0x10,
	DECISION_MOVABLE_COMPANY = 0x20,
	DECISION_MOVABLE_PUSHABLE = 0x40,
	DECISION_MOVABLE_FITS = 0x80,
};

/* Of a balancing pass. */
enum decision_balance_flags {
	DECISION_BALANCE_LB_MIN = 0x1,
	DECISION_BALANCE_HOT_BUDDY = 0x2,
	DECISION_BALANCE_HINDERED = 0x4,
	DECISION_BALANCE_FREE = 0x8,
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
