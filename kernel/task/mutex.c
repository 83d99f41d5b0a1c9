/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Mutexes: an uncontended lock or unlock is one atomic instruction. Contenders sleep in a FIFO
 * queue. An unlock wakes the first of them and leaves the mutex free, so a running thread may take
 * it before. A waiter who was woken in vain is promised the mutex: the next unlock hands it over.
 *
 * Handing over always would be fair, too, but a lock that several threads take again and again
 * would then belong to threads that wait for a CPU, and each of them would sleep each time (a lock
 * convoy). Linux's mutexes follow the same two rules.
 *
 * Locking: the waiters, holder and free are guarded by the queue's lock once somebody came there
 * (WAITED); before, the atomic instructions decide.
 */
#include "kernel/kernel.h"
#include "kernel/task/thread.h"
#include "kernel/task/lockdep.h"
#include "kernel/task/task.h"

/* Bits of mutex.locked. WAITED sends lockers and unlockers to the queue's lock. */
enum mutex_state { UNLOCKED = 0, LOCKED = 1, WAITED = 2 };

struct mutex_waiter {
	struct waiter w;
	bool promised; /* the mutex, by the next unlock */
};

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
	debug_assert(!m->holder);
	m->holder = current;
	return true;
}

bool mutex_trylock(struct mutex *m)
{
	bool taken = take_if_free(m);

	debug_assert(!arch_in_irq());
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

/* Others write the holder meanwhile, but nobody takes it from the running thread. */
static inline __racy bool is_mine(const struct mutex *m)
{
	return m->holder == current;
}

/* @t, which is no waiter or no longer one, gets the free mutex. The queue's lock is held. */
static void give(struct mutex *m, struct thread *t)
{
	debug_assert(spin_is_held(&m->queue.lock) && !(m->locked & LOCKED));
	WRITE_ONCE(m->locked, LOCKED | (list_empty(&m->queue.waiters) ? 0 : WAITED));
	m->holder = t;
}

static inline __racy bool is_locked(const struct mutex *m)
{
	return m->locked & LOCKED;
}

/* Sleep until the mutex is handed over, or is free. The queue's lock is held. */
static unsigned long wait_for(struct mutex *m, unsigned long flags)
{
	struct mutex_waiter me = { .w = { .thread = current, .exclusive = true } };

	debug_assert(spin_is_held(&m->queue.lock) && m->locked == (LOCKED | WAITED));
	list_add_tail(&m->queue.waiters, &me.w.link);
	for (;;) {
		sched_block(&current->task, TASK_UNINTERRUPTIBLE);
		spin_unlock_irqrestore(&m->queue.lock, flags);
		schedule();
		flags = spin_lock_irqsave(&m->queue.lock);
		if (is_mine(m))
			return flags;
		if (!is_locked(m)) {
			list_del(&me.w.link);
			give(m, current);
			return flags;
		}
		me.promised = true;
	}
}

static __noinline void lock_slow(struct mutex *m)
{
	set_blocked_on(m);
	unsigned long flags = spin_lock_irqsave(&m->queue.lock);

	if (__atomic_fetch_or(&m->locked, WAITED, __ATOMIC_ACQUIRE) & LOCKED)
		flags = wait_for(m, flags);
	else
		give(m, current);
	spin_unlock_irqrestore(&m->queue.lock, flags);
	set_blocked_on(NULL);
}

void mutex_lock(struct mutex *m)
{
	debug_assert(!arch_in_irq());
	if (DEBUG)
		lockdep_acquire_mutex(m, false);
	might_resched();
	if (likely(take_if_free(m)))
		return;
	assert(!is_mine(m));
	lock_slow(m);
}

static __noinline void unlock_slow(struct mutex *m)
{
	unsigned long flags = spin_lock_irqsave(&m->queue.lock);
	struct mutex_waiter *first = list_first(&m->queue.waiters, struct mutex_waiter, w.link);

	debug_assert(!list_empty(&m->queue.waiters));
	WRITE_ONCE(m->locked, WAITED);
	if (first->promised) {
		list_del(&first->w.link);
		give(m, first->w.thread);
	}
	thread_wake(first->w.thread, TASK_UNINTERRUPTIBLE);
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
