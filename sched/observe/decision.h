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
