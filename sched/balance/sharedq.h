/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shared wake queue: an index of waiting tasks that the CPUs behind one last-level cache keep
 * together, so that one about to idle finds work without searching. See sharedq.c.
 *
 * Off, which is the default, rq->shard is NULL and each hook is one test.
 */
#pragma once

#include "sched/balance/domain.h"

void sharedq_init(struct rq *rq);
/* The topology was built: which CPUs share, and in which order. No tasks are queued yet. */
void sharedq_topology(struct sched *s);
/*
 * A feature or a tunable of the shared queue may have changed: have every runqueue follow. No lock
 * held; O(queued tasks) if something did.
 */
void sharedq_update(struct sched *s);
/* Nobody has a shard until the next update, because LLCs are about to change. No lock held. */
void sharedq_close(struct sched *s);

/* What the hooks below do while the feature is on. Lock held. */
void sharedq_add(struct rq *rq, struct task *t, unsigned flags);
void sharedq_remove(struct rq *rq, struct task *t);
void sharedq_switched(struct rq *rq, struct task *prev, struct task *next);
void sharedq_add_all(struct rq *rq);

/* @t was queued on @rq. */
static inline void sharedq_enqueued(struct rq *rq, struct task *t, unsigned flags)
{
	if (unlikely(rq->shard))
		sharedq_add(rq, t, flags);
}

/* @t was taken off. */
static inline void sharedq_dequeued(struct rq *rq, struct task *t)
{
	if (unlikely(rq->shard))
		sharedq_remove(rq, t);
}

/* Some task of @rq waits now that did not count as waiting when it was queued. */
static inline void sharedq_crowded(struct rq *rq)
{
	if (unlikely(rq->shard))
		sharedq_add_all(rq);
}

/*
 * @rq is about to idle: bring a task that waits elsewhere. Drops and retakes the lock if there is
 * one to bring. Returns true if something is queued on @rq now.
 */
bool sharedq_pull(struct rq *rq);
/* The timer of @rq fired: it may be time to steal. Lock held. */
void sharedq_timer(struct rq *rq);
/* A newly idle CPU has looked for tasks of @sd already. */
bool sharedq_covers(const struct rq *rq, const struct domain *sd);

/* Of the fair class's check operation. Lock held. */
void sharedq_check(struct rq *rq);
