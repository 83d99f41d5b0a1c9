/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Mutexes: an uncontended lock or unlock is one atomic instruction; contenders sleep in a FIFO
 * queue, and an unlock hands the mutex to the first of them. Handing over costs a switch where
 * barging would not, but nobody starves and the order of owners is the order of arrival, on every
 * run the same.
 *
 * Locking: holder and the waiters are guarded by the queue's lock once there are waiters
 * (HAS_WAITERS).
 */
#include "kernel/kernel.h"
#include "kernel/task/thread.h"
#include "kernel/task/lockdep.h"
#include "kernel/task/task.h"

enum mutex_state { UNLOCKED, LOCKED, HAS_WAITERS };

void mutex_init(struct mutex *m, const char *name)
{
	*m = (struct mutex){ 0 };
	waitq_init(&m->queue, name);
}

static inline bool take_if_free(struct mutex *m)
{
	u32 expected = UNLOCKED;

	if (!__atomic_compare_exchange_n(&m->locked, &expected, LOCKED, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	m->holder = current;
	return true;
}

bool mutex_trylock(struct mutex *m)
{
	bool taken = take_if_free(m);

	if (DEBUG && taken)
		lockdep_acquire_mutex(m, true);
	return taken;
}

static void set_blocked_on(struct mutex *m)
{
	spin_lock(&current->blocked_on_lock);
	current->blocked_on = m;
	spin_unlock(&current->blocked_on_lock);
}

struct thread *mutex_blocker(struct thread *t)
{
	struct thread *holder = NULL;

	/* While this lock is held @t does not go on, so the mutex stays. */
	spin_lock(&t->blocked_on_lock);
	struct mutex *m = t->blocked_on;
	if (m) {
		unsigned long flags = spin_lock_irqsave(&m->queue.lock);
		/* A holder who gives the mutex back clears this, and then waits for the lock. */
		holder = READ_ONCE(m->holder);
		if (holder)
			thread_get(holder);
		spin_unlock_irqrestore(&m->queue.lock, flags);
	}
	spin_unlock(&t->blocked_on_lock);
	return holder;
}

static __noinline void lock_slow(struct mutex *m)
{
	struct waiter w = { .thread = current, .exclusive = true };

	set_blocked_on(m);
	unsigned long flags = spin_lock_irqsave(&m->queue.lock);

	/* The mark sends the holder's unlock through unlock_slow(), which takes this lock. */
	if (__atomic_exchange_n(&m->locked, HAS_WAITERS, __ATOMIC_ACQUIRE) == UNLOCKED) {
		m->locked = LOCKED;
		m->holder = current;
		spin_unlock_irqrestore(&m->queue.lock, flags);
		set_blocked_on(NULL);
		return;
	}
	list_add_tail(&m->queue.waiters, &w.link);
	while (m->holder != current) {
		sched_block(&current->task, TASK_UNINTERRUPTIBLE);
		spin_unlock_irqrestore(&m->queue.lock, flags);
		schedule();
		flags = spin_lock_irqsave(&m->queue.lock);
	}
	spin_unlock_irqrestore(&m->queue.lock, flags);
	set_blocked_on(NULL);
}

void mutex_lock(struct mutex *m)
{
	if (DEBUG)
		lockdep_acquire_mutex(m, false);
	might_resched();
	if (likely(take_if_free(m)))
		return;
	assert(m->holder != current);
	lock_slow(m);
}

/* Hand over to the first waiter. */
static __noinline void unlock_slow(struct mutex *m)
{
	unsigned long flags = spin_lock_irqsave(&m->queue.lock);
	struct waiter *first = list_first(&m->queue.waiters, struct waiter, link);
	struct thread *heir = first->thread;

	debug_assert(!list_empty(&m->queue.waiters));
	list_del(&first->link);
	if (list_empty(&m->queue.waiters))
		m->locked = LOCKED;
	m->holder = heir;
	thread_wake(heir, TASK_UNINTERRUPTIBLE);
	spin_unlock_irqrestore(&m->queue.lock, flags);
}

void mutex_unlock(struct mutex *m)
{
	u32 expected = LOCKED;

	assert(m->holder == current);
	if (DEBUG)
		lockdep_release_mutex(m);
	m->holder = NULL;
	if (unlikely(!__atomic_compare_exchange_n(&m->locked, &expected, UNLOCKED, false,
						  __ATOMIC_RELEASE, __ATOMIC_RELAXED)))
		unlock_slow(m);
}

bool mutex_is_held(const struct mutex *m)
{
	return READ_ONCE(m->holder) == current;
}
