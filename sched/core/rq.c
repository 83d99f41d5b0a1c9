/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A runqueue: locking it by task, the host's one-shot timer.
 *
 * A runqueue's clock is its CPU's host_clock(), read once when the lock is taken (rq_lock), so
 * that everything in one lock section happens at one time. It never goes back, even if the host's
 * does.
 */
#include "sched/core/core.h"

struct rq *task_rq_lock(struct sched *s, struct task *t)
{
	for (;;) {
		struct rq *rq = cpu_rq(s, READ_ONCE(t->cpu));

		rq_lock(rq);
		/* t->cpu changes only under the lock of the runqueue it names. */
		if (likely(rq->cpu == t->cpu))
			return rq;
		rq_unlock(rq);
	}
}

void rq_update_timer(struct rq *rq)
{
	const struct sched_class *class;
	u64 when = rq->shared.steal_at;

	assert_locked(rq);
	rq->timer_stale = false;
	for_each_class(class, rq->s) if (class->next_timer) when =
		earlier(when, class->next_timer(rq));
	if (when == rq->timer_armed)
		return;
	rq->timer_armed = when;
	host_timer(rq->cpu, when);
}
