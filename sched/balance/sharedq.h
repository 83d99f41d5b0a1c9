/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shared wake queue: an index of waiting tasks, kept together by the CPUs of one last-level
 * cache, so that a CPU about to idle finds work without searching. See sharedq.c.
 *
 * While it is off, the default, rq->shared.shard is NULL and each hook costs one test.
 */
#pragma once

#include "sched/balance/domain.h"

void sharedq_init(struct rq *rq);
/* Set which CPUs share, and in which order. The topology was built; no runqueue has a shard. */
void sharedq_topology(struct sched *s);
/*
 * Have every runqueue follow a change of the shared queue's features and tunables. No lock held.
 * Cost: O(queued tasks).
 */
void sharedq_update(struct sched *s);
/* Take every CPU's shard away until the next update: LLCs are about to change. No lock held. */
void sharedq_close(struct sched *s);

/* The work of the hooks below while the feature is on. Lock of @rq held. */
void sharedq_add(struct rq *rq, struct task *t, unsigned flags);
void sharedq_remove(struct rq *rq, struct task *t);
void sharedq_switched(struct rq *rq, struct task *prev, struct task *next);
void sharedq_add_all(struct rq *rq);

/* @t was queued on @rq. */
static inline void sharedq_enqueued(struct rq *rq, struct task *t, unsigned flags)
{
	debug_assert_locked(rq);
	if (unlikely(rq->shared.shard))
		sharedq_add(rq, t, flags);
}

/* @t was taken off @rq. */
static inline void sharedq_dequeued(struct rq *rq, struct task *t)
{
	debug_assert_locked(rq);
	if (unlikely(rq->shared.shard))
		sharedq_remove(rq, t);
}

/* A task of @rq that did not count as waiting when it was queued waits now. */
static inline void sharedq_crowded(struct rq *rq)
{
	debug_assert_locked(rq);
	if (unlikely(rq->shared.shard))
		sharedq_add_all(rq);
}

/*
 * True if something is queued on @rq now. @rq is about to idle: bring a task that waits elsewhere.
 * Drops and retakes the lock of @rq if there is a task to bring.
 */
bool sharedq_pull(struct rq *rq);
/* The timer of @rq fired: if it is time to steal, look again. Lock of @rq held. */
void sharedq_timer(struct rq *rq);
/* True if a newly idle CPU of @rq has searched the CPUs of @sd by sharedq_pull() already. */
bool sharedq_covers(const struct rq *rq, const struct domain *sd);

/* A part of the fair class's check operation. Lock of @rq held. */
void sharedq_check(struct rq *rq);
