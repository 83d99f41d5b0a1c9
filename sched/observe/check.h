/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Assertions: what is checked in every build, and the numbered invariants that sched_check() tests.
 */
#pragma once

#include "lib/types.h"
#include "sched/host.h"

struct rq;
struct task;

/* O(1) and in every build: an impossibility is worth a stop, not a wrong schedule. */
#define SCHED_ASSERT(cond)                                                                         \
	do {                                                                                       \
		if (unlikely(!(cond)))                                                             \
			host_bug(__FILE__, __LINE__, #cond);                                       \
	} while (0)

/* The same for what runs often: it is in unit tests, and in a kernel of DEBUG=1. */
#define SCHED_DEBUG_ASSERT(cond)                                                                   \
	do {                                                                                       \
		if (DEBUG)                                                                         \
			SCHED_ASSERT(cond);                                                        \
	} while (0)

/* The lock of a runqueue, a pool or a frequency domain is held, as a comment demands. */
#define assert_locked(of)	SCHED_ASSERT(host_lock_held(&(of)->lock))
#define debug_assert_locked(of) SCHED_DEBUG_ASSERT(host_lock_held(&(of)->lock))

/* An invariant of invariant.def, by its number: only in check.c and the classes' check(). */
#define SCHED_CHECK(id, cond)                                                                      \
	do {                                                                                       \
		if (unlikely(!(cond)))                                                             \
			host_bug(__FILE__, __LINE__, invariant_text[INVARIANT_##id]);              \
	} while (0)

enum invariant {
#define INVARIANT(id, ...) INVARIANT_##id,
#include "sched/observe/invariant.def"
#undef INVARIANT
	NR_INVARIANTS
};
extern const char *const invariant_text[NR_INVARIANTS];

void check_queued_task(struct rq *rq, struct task *t);
