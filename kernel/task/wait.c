/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Wait queues: where threads sleep for a condition that somebody else makes true.
 *
 * PROTOCOL: sleep. A waiter enqueues itself and announces its sleep, then looks at the condition,
 * then switches; a waker makes the condition true before it looks at the queue. Whichever order the
 * two run in, either the waiter sees the condition or the waker sees the waiter.
 *
 * Locking: the queue's lock guards the list. A waker removes a waiter only after it woke it, and
 * touches neither it nor its thread afterwards: a waiter that finds itself removed may return
 * without the lock. The scheduler's locks nest inside.
 */
#include "kernel/contract.h"
#include "kernel/task/thread.h"
#include "kernel/sync.h"
#include "kernel/task/task.h"

void waitq_init(struct waitq *q, const char *name)
{
	spin_lock_init(&q->lock, name);
	list_init(&q->waiters);
}

void waitq_prepare(struct waitq *q, struct waiter *w, u32 state)
{
	unsigned long flags = spin_lock_irqsave(&q->lock);

	/* Exclusive waiters stand last: a wakeup that stops at one of them has woken all others. */
	if (list_empty(&w->link) && w->exclusive)
		list_add_tail(&q->waiters, &w->link);
	else if (list_empty(&w->link))
		list_add_head(&q->waiters, &w->link);
	sched_block(&current->task, state);
	spin_unlock_irqrestore(&q->lock, flags);
}

void waitq_finish(struct waitq *q, struct waiter *w)
{
	sched_unblock(&current->task);
	/* Both pointers: the waker writes them one after the other. */
	if (READ_ONCE(w->link.next) == &w->link && READ_ONCE(w->link.prev) == &w->link)
		return;
	unsigned long flags = spin_lock_irqsave(&q->lock);
	list_del(&w->link);
	spin_unlock_irqrestore(&q->lock, flags);
}

void waitq_watch(struct waitq *q, struct waiter *w)
{
	unsigned long flags = spin_lock_irqsave(&q->lock);

	assert(w->notify && list_empty(&w->link));
	list_add_head(&q->waiters, &w->link);
	spin_unlock_irqrestore(&q->lock, flags);
}

void waitq_unwatch(struct waitq *q, struct waiter *w)
{
	unsigned long flags = spin_lock_irqsave(&q->lock);

	list_del(&w->link);
	spin_unlock_irqrestore(&q->lock, flags);
}

unsigned waitq_wake_locked(struct waitq *q, unsigned nr, unsigned wake_flags)
{
	struct waiter *w, *next;
	unsigned woken = 0, exclusive = 0;

	if (DEBUG)
		assert_held(&q->lock);
	list_for_each_safe(w, next, &q->waiters, link) {
		bool one_of_nr = w->exclusive;

		if (unlikely(w->notify)) {
			w->notify(w);
			continue;
		}
		/*
		 * Returns false if something else woke the thread already; then it checks the
		 * condition itself.
		 */
		if (!thread_wake_flags(w->thread, TASK_NORMAL, wake_flags))
			continue;
		list_del(&w->link);
		woken++;
		if (one_of_nr && ++exclusive == nr)
			break;
	}
	return woken;
}

static unsigned wake(struct waitq *q, unsigned nr, unsigned wake_flags)
{
	/*
	 * The condition is stored before the queue is read. Pairs with the barrier in
	 * sched_block().
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (list_empty(&q->waiters))
		return 0;
	unsigned long flags = spin_lock_irqsave(&q->lock);
	unsigned woken = waitq_wake_locked(q, nr, wake_flags);
	spin_unlock_irqrestore(&q->lock, flags);
	return woken;
}

unsigned waitq_wake(struct waitq *q, unsigned nr)
{
	return wake(q, nr, 0);
}

unsigned waitq_wake_sync(struct waitq *q, unsigned nr)
{
	return wake(q, nr, WAKE_SYNC);
}

void waitq_pass_on(struct waitq *q)
{
	struct waiter *w, *next;
	unsigned long flags = spin_lock_irqsave(&q->lock);

	list_for_each_safe(w, next, &q->waiters, link) {
		if (!w->exclusive || !thread_wake(w->thread, TASK_NORMAL))
			continue;
		list_del(&w->link);
		break;
	}
	spin_unlock_irqrestore(&q->lock, flags);
}
