/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Choosing the next task of a CPU. The core knows nothing of priorities or virtual time: it asks
 * the most urgent class that has a task to pick.
 *
 * PROTOCOL: switch. sched_switch_begin() takes the runqueue lock, chooses the
 * next task and makes it rq->curr; the host switches stacks with the lock held;
 * sched_switch_end() on the new stack releases it. So whoever holds the lock of
 * a task's runqueue sees it either running or completely off its CPU, and a
 * waker never waits for a switch to finish. There is one window: a pull may drop
 * the lock while the task that blocked still stands on its stack. rq->curr still
 * names it then, and a wakeup puts it back on this very runqueue.
 *
 * Reading order: after class.h and stop.c; next wake.c, then fair/core/fair.c.
 */
#include "sched/core/observers.h"

/* --- choosing ------------------------------------------------------------- */

/* Its class and the less urgent ones bring tasks. The lock is dropped meanwhile. */
static __noinline void pull_instead_of(struct rq *rq, struct task *prev)
{
	SCHED_DEBUG_ASSERT(task_running(rq, prev));
	debug_assert_locked(rq);
	for (unsigned rank = prev->class->rank; rank < CLASS_idle; rank++)
		if (rq->s->class[rank] -> smp.pull)
			rq->s->class[rank]->smp.pull(rq, prev);
}

/* Tasks have come while the lock was dropped: what runs now may hide others from @rq's CPU. */
static bool seek_again(struct rq *rq)
{
	debug_assert_locked(rq);
	rq->active |= rq->seeking;
	return true;
}

static struct task *pick_next(struct rq *rq, struct task *prev)
{
	if (unlikely(prev->class->smp.pull))
		pull_instead_of(rq, prev);
	do {
		while (likely(rq->active)) {
			unsigned rank = (unsigned)__builtin_ctz(rq->active);
			struct task *next = rq->s->class[rank]->pick(rq);

			if (likely(next))
				return next;
			/* Else this would never end. A pick may drop the lock: somebody comes. */
			SCHED_ASSERT(!class_is_active(rq, rank) ||
				     (unsigned)__builtin_ctz(rq->active) < rank ||
				     !"an active class picks a task");
		}
		SCHED_ASSERT(!rq->nr_running || !"a class with a runnable task is active");
	} while (balance_newly_idle(rq) && seek_again(rq));
	rq->sched_goidle += schedstats(rq->s);
	return rq->idle;
}

/* --- the first half ------------------------------------------------------- */

static bool contributes_to_load(u32 state)
{
	return (state & TASK_UNINTERRUPTIBLE) && !(state & TASK_NOLOAD);
}

/* The running task blocks. */
static __attribute__((flatten)) void block_current(struct rq *rq, struct task *t)
{
	/* Others act on it, or free it, as soon as it is in one of these. */
	const u32 finals = TASK_STOPPED | TASK_TRACED | TASK_DEAD;
	/* A task that another CPU is to take must not wake up here either. */
	bool must_leave = (t->state & finals) || t->push_cpu != PUSH_NONE;

	SCHED_DEBUG_ASSERT(t == rq->curr && t->state != TASK_RUNNING);
	t->contributes_to_load = contributes_to_load(t->state);
	rq->nr_uninterruptible += t->contributes_to_load;
	t->push_cpu = PUSH_NONE;
	deactivate(rq, t, DEQUEUE_SLEEP | (must_leave ? DEQUEUE_SPECIAL : 0));
	t->sleep_start = rq->clock;
	if (t->state == TASK_DEAD && t->class->params.quit)
		t->class->params.quit(rq, t, false);
}

static void switch_current(struct rq *rq, struct task *prev, struct task *next, bool preempt)
{
	debug_assert_locked(rq);
	SCHED_DEBUG_ASSERT(prev == rq->curr && next->cpu == rq->cpu);
	SCHED_DEBUG_ASSERT(next == rq->idle || next->on_rq == TASK_QUEUED);
	if (likely(prev->class == next->class && next->class->exchange)) {
		next->class->exchange(rq, prev, next);
	} else {
		put_prev(rq, prev);
		next->class->set_next(rq, next);
	}
	rq->curr = next;
	rq->nr_switches++;
	if (task_is_runnable(prev))
		prev->wait_start = rq->clock;
	if (!preempt && prev->state)
		prev->nr_voluntary++;
	else
		prev->nr_involuntary++;
	observe_switch(rq, prev, next, preempt);
}

/* Other CPUs left word for a class: each looks whether it was meant. */
static __noinline void notice_others(struct rq *rq)
{
	debug_assert_locked(rq);
	WRITE_ONCE(rq->notice, false);
	classes_notify(rq, NOTICE_POKE);
}

/* Is this call for news alone? A task runs on, and neither it nor others asked for a switch. */
static bool is_about_news(const struct rq *rq, bool preempt)
{
	const struct task *t = rq->curr;

	debug_assert_locked(rq);
	return READ_ONCE(rq->notice) && !rq->need_resched && !rq->yield && (preempt || !t->state) &&
	       !is_idle_task(t);
}

/* The running task goes on. If a class asks for a switch now, that is the next one. */
static __noinline struct task *serve_news(struct rq *rq)
{
	debug_assert_locked(rq);
	rq->keep_clock = 0;
	rq->prev = rq->curr;
	notice_others(rq);
	rq_update_timer(rq);
	return rq->curr;
}

struct task *sched_switch_begin(struct sched *s, unsigned cpu, bool preempt)
{
	struct rq *rq = cpu_rq(s, cpu);
	struct task *prev = rq->curr, *next; /* another only by a switch here */

	host_lock(&rq->lock);
	rq->keep_clock <<= 1;
	rq_read_clock(rq);
	if (unlikely(is_about_news(rq, preempt)))
		return serve_news(rq);
	rq->need_resched = RESCHED_NOW; /* so nobody asks: what follows is the answer */
	rq->sched_count += schedstats(s);
	if (unlikely(READ_ONCE(rq->notice)))
		notice_others(rq);
	if (!preempt && prev->state)
		block_current(rq, prev);
	else if (unlikely(prev->push_cpu != PUSH_NONE))
		deactivate(rq, prev, QUEUE_MIGRATING);
	else
		charge_current(rq);
	if (rq->yield) {
		rq->yield = false;
		if (likely(prev->on_rq == TASK_QUEUED && prev->class->yield))
			prev->class->yield(rq);
	}
	next = pick_next(rq, prev);
	rq->need_resched = RESCHED_NONE;
	rq->keep_clock = 0;
	rq->prev = prev;
	if (next != prev)
		switch_current(rq, prev, next, preempt);
	if (unlikely(rq->timer_stale))
		rq_update_timer(rq);
	return next;
}

/* --- the second half ------------------------------------------------------ */

void deliver(struct rq *rq)
{
	struct list leaving;
	struct task *t, *next;

	debug_assert_locked(rq);
	list_move_all(&rq->handover, &leaving);
	rq_unlock(rq);
	list_for_each_safe(t, next, &leaving, link) {
		list_del(&t->link);
		attach_task(rq->s, t);
	}
}

/* The rare part of a switch: tasks that have to leave this CPU. Drops the lock. */
static __noinline void switch_end_moving(struct rq *rq, struct task *prev)
{
	debug_assert_locked(rq);
	if (prev->push_cpu != PUSH_NONE && prev->on_rq == TASK_MIGRATING) {
		unsigned to = (unsigned)prev->push_cpu;

		rq->pushed_count++;
		/* That CPU may have left since. */
		if (unlikely(!task_may_be_on(prev, cpu_rq(rq->s, to))))
			to = any_allowed_cpu(rq->s, prev);
		set_task_cpu(rq, prev, to);
		prev->push_cpu = PUSH_NONE;
		list_add_tail(&rq->handover, &prev->link);
	}
	for (u32 push = rq->push; push; push &= push - 1)
		rq->s->class[__builtin_ctz(push)]->smp.push(rq);
	if (!list_empty(&rq->handover))
		deliver(rq);
	else
		rq_unlock(rq);
}

struct task *sched_switch_end(struct sched *s, unsigned cpu)
{
	struct rq *rq = cpu_rq(s, cpu);
	struct task *prev = rq->prev;

	debug_assert_locked(rq);
	if (unlikely(prev->push_cpu != PUSH_NONE || rq->push || !list_empty(&rq->handover)))
		switch_end_moving(rq, prev);
	else
		rq_unlock(rq);
	return prev;
}
