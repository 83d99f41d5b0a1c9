/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Going to sleep and waking up.
 *
 * PROTOCOL: sleep. sched_block() announces, the task checks its condition,
 * sched_switch_begin() takes it off the queue if the announcement still stands.
 * A waker that finds it queued only withdraws the announcement.
 */
#include "sched/core/observers.h"
#include "sched/observe/trace.h"

void sched_block(struct task *t, u32 state)
{
	SCHED_DEBUG_ASSERT(state != TASK_RUNNING);
	/* The full barrier orders the announcement before the caller's check of its condition. */
	__atomic_exchange_n(&t->state, state, __ATOMIC_SEQ_CST);
}

void sched_unblock(struct task *t)
{
	WRITE_ONCE(t->state, TASK_RUNNING);
}

/* @t announced a sleep but is still queued, perhaps preempted: the sleep is withdrawn. */
static void wake_queued(struct rq *rq, struct task *t, unsigned cpu)
{
	debug_assert_locked(rq);
	WRITE_ONCE(t->state, TASK_RUNNING); /* beside sched_unblock() */
	TRACE(sched_wakeup, rq->s, cpu, t, rq->cpu);
	if (!task_running(rq, t) && t->on_rq == TASK_QUEUED)
		check_preempt(rq, t, SELECT_WAKE);
}

static void note_idle_end(struct rq *rq)
{
	s64 diff = (s64)(rq->clock - rq->idle_stamp - rq->avg_idle);

	rq->avg_idle += (u64)(diff / 8);
	rq->avg_idle = min(rq->avg_idle, 2 * racy_load(&rq->max_idle_balance_cost));
	rq->idle_stamp = 0;
}

/* @t wakes up on @rq, by a waker on @cpu. */
static inline void wake_on(struct rq *rq, struct task *t, unsigned cpu, unsigned queue_flags,
			   unsigned flags)
{
	t->state = TASK_RUNNING;
	stat_wakeup(rq, t);
	activate(rq, t, queue_flags);
	TRACE(sched_wakeup, rq->s, cpu, t, rq->cpu);
	check_preempt(rq, t, SELECT_WAKE | flags);
	if (rq->idle_stamp)
		note_idle_end(rq);
}

/*
 * Choose a CPU and put the sleeping @t on its queue. Takes over the lock of @rq; returns the one
 * now held.
 */
static __attribute__((flatten)) struct rq *
wake_sleeping(struct sched *s, struct rq *rq, struct task *t, unsigned cpu, unsigned flags)
{
	unsigned queue_flags = ENQUEUE_WAKEUP;

	SCHED_DEBUG_ASSERT(t->on_rq == TASK_OFF_RQ);
	debug_assert_locked(rq);
	rq->nr_uninterruptible -= t->contributes_to_load;
	t->state = TASK_WAKING;
	/* Still on its stack (see PROTOCOL: switch), it can only resume here. */
	while (!task_running(rq, t)) {
		unsigned to = select_cpu(rq, t, cpu, SELECT_WAKE | flags);

		if (to == rq->cpu)
			break;
		if (!(queue_flags & ENQUEUE_MIGRATED) && t->class->smp.migrate)
			t->class->smp.migrate(rq, t);
		queue_flags |= ENQUEUE_MIGRATED;
		set_task_cpu(rq, t, to);
		rq_unlock(rq);
		rq = task_rq_lock(s, t);
		if (likely(task_allowed(t, rq->cpu)))
			break;
	}
	/* Its affinity changed since it blocked, or its CPU left: the switch finds it another. */
	if (unlikely(task_running(rq, t) && !task_may_be_on(t, rq)))
		push_current(rq, rq->cpu);
	wake_on(rq, t, cpu, queue_flags, flags);
	return rq;
}

/* It sleeps but is still in its queue, and stays on that CPU. */
static void wake_delayed(struct rq *rq, struct task *t, unsigned cpu, unsigned flags)
{
	SCHED_DEBUG_ASSERT(t->on_rq == TASK_DELAYED);
	rq->nr_uninterruptible -= t->contributes_to_load;
	wake_on(rq, t, cpu, ENQUEUE_WAKEUP | ENQUEUE_DELAYED, flags);
}

static void count_wakeup(struct rq *waker_rq, const struct rq *rq)
{
	waker_rq->ttwu_count++;
	waker_rq->ttwu_local += rq == waker_rq;
}

bool sched_wake(struct sched *s, struct task *t, u32 state_mask, unsigned cpu, unsigned flags)
{
	struct rq *rq = task_rq_lock(s, t);

	if (!(READ_ONCE(t->state) & state_mask)) {
		rq_unlock(rq);
		return false;
	}
	TRACE(sched_waking, s, cpu, t, t->cpu);
	if (t->on_rq == TASK_OFF_RQ)
		rq = wake_sleeping(s, rq, t, cpu, flags);
	else if (unlikely(t->on_rq == TASK_DELAYED))
		wake_delayed(rq, t, cpu, flags);
	else
		wake_queued(rq, t, cpu);
	if (unlikely(schedstats(s)))
		count_wakeup(cpu_rq(s, cpu), rq);
	rq_unlock(rq);
	return true;
}
