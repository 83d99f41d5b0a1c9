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
	debug_assert(w->thread == current && !arch_in_irq());
	debug_assert(state);

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
	debug_assert(w->thread == current);
	sched_unblock(&current->task);
	if (list_is_released(&w->link))
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

	debug_assert(w->notify);
	list_del(&w->link);
	spin_unlock_irqrestore(&q->lock, flags);
}

#define WAKE_BATCH 16 /* waiters looked at before others may have the lock */

struct wakeup {
	unsigned nr, flags;	   /* how many exclusive ones (0: all), and how */
	unsigned woken, exclusive; /* so far */
};

/* Wakes @w, or calls it. Returns whether it was the last that is to be woken. */
static inline bool wake_one(struct waiter *w, struct wakeup *u)
{
	bool one_of_nr = w->exclusive;

	if (unlikely(w->notify)) {
		w->notify(w);
		return false;
	}
	debug_assert(w->thread);
	/*
	 * Returns false if something else woke the thread already; then it checks the condition
	 * itself.
	 */
	if (!thread_wake_flags(w->thread, TASK_NORMAL, u->flags))
		return false;
	list_release(&w->link);
	u->woken++;
	return one_of_nr && ++u->exclusive == u->nr;
}

/* Wakes from @at on. Returns where to go on, or NULL: that was all. The queue is locked. */
static inline struct list *wake_some(struct waitq *q, struct list *at, struct wakeup *u)
{
	debug_assert(spin_is_held(&q->lock));
	for (unsigned looks = 0; at != &q->waiters; looks++) {
		struct waiter *w = list_entry(at, struct waiter, link);

		if (unlikely(looks == WAKE_BATCH))
			return at;
		at = at->next;
		if (wake_one(w, u))
			return NULL;
	}
	return NULL;
}

static void pass(struct waiter *mark)
{
	(void)mark;
}

/*
 * Wakes the others, from @at on, some at a time. A mark keeps the place while the lock is dropped;
 * for other wakers it is a waiter that wants a call. Takes and returns the interrupt flags.
 */
static __noinline unsigned long wake_rest(struct waitq *q, struct list *at, struct wakeup *u,
					  unsigned long flags)
{
	struct waiter mark = { .notify = pass };

	debug_assert(spin_is_held(&q->lock));
	while (at) {
		list_add_tail(at, &mark.link);
		spin_unlock_irqrestore(&q->lock, flags);
		arch_cpu_relax(); /* who waits for the lock looks now */
		flags = spin_lock_irqsave(&q->lock);
		at = mark.link.next;
		list_del(&mark.link);
		at = wake_some(q, at, u);
	}
	return flags;
}

static unsigned wake(struct waitq *q, unsigned nr, unsigned wake_flags)
{
	struct wakeup u = { .nr = nr, .flags = wake_flags };

	/*
	 * The condition is stored before the queue is read. Pairs with the barrier in
	 * sched_block().
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!waitq_is_awaited(q))
		return 0;
	unsigned long flags = spin_lock_irqsave(&q->lock);
	struct list *at = wake_some(q, q->waiters.next, &u);
	if (unlikely(at))
		flags = wake_rest(q, at, &u, flags);
	spin_unlock_irqrestore(&q->lock, flags);
	return u.woken;
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
		list_release(&w->link);
		break;
	}
	spin_unlock_irqrestore(&q->lock, flags);
}
