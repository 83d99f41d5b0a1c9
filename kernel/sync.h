/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Locks of the kernel, cheapest first: preemption control, spin locks, wait queues,
 * mutexes. Lock classes, order and interrupt safety are checked by kernel/task/lockdep.c in debug
 * builds.
 */
#pragma once

#include "kernel/arch.h"
#include "kernel/percpu.h"
#include "lib/list.h"
#include "lib/types.h"

static inline void preempt_disable(void);
/* Re-enables, and switches at once if the scheduler asked meanwhile. */
static inline void preempt_enable(void);
static inline void preempt_enable_no_resched(void);

/* Run a statement, such as a call of the scheduler, with interrupts off. */
#define with_irqs_off(...)                                                                         \
	do {                                                                                       \
		unsigned long irq_flags_ = arch_irq_save();                                        \
		__VA_ARGS__;                                                                       \
		arch_irq_restore(irq_flags_);                                                      \
	} while (0)

struct spinlock {
	u32 locked;
	const char *name;
	struct cpu *holder;
};

#define SPINLOCK_INIT(n)                                                                           \
	{                                                                                          \
		.name = (n)                                                                        \
	}

void spin_lock_init(struct spinlock *lock, const char *name);
/* While it is held preemption is off. For locks never taken from interrupts. */
void spin_lock(struct spinlock *lock);
void spin_unlock(struct spinlock *lock);
/* While it is held interrupts are off. */
unsigned long spin_lock_irqsave(struct spinlock *lock);
void spin_unlock_irqrestore(struct spinlock *lock, unsigned long flags);
/* Does this CPU hold @lock? */
static inline bool spin_is_held(const struct spinlock *lock)
{
	return READ_ONCE(lock->holder) == this_cpu();
}

/*
 * A place where threads wait for something. Use the macros: they follow the scheduler's sleep
 * protocol, so that a wakeup between the check and the sleep is not lost.
 */
struct waitq {
	struct spinlock lock;
	struct list waiters;
};

struct waiter {
	struct list link;
	struct thread *thread;
	bool exclusive; /* woken one at a time, FIFO */
	/* Instead of waking a thread: called with the queue's lock held. The waiter stays. */
	void (*notify)(struct waiter *w);
};

#define WAITQ_INIT(n)                                                                              \
	{                                                                                          \
		.lock = SPINLOCK_INIT(#n), .waiters = LIST_INIT((n).waiters)                       \
	}

void waitq_init(struct waitq *q, const char *name);
/* Does anybody wait? Without the lock: who comes just now looks at the condition afterwards. */
static inline __racy bool waitq_is_awaited(const struct waitq *q)
{
	return q->waiters.next != &q->waiters;
}
/* Enqueue @w and announce the sleep (sched_block with @state). Repeat before each re-check. */
void waitq_prepare(struct waitq *q, struct waiter *w, u32 state);
/* Cancel: the condition came true or a signal is pending. Always call it after waiting. */
void waitq_finish(struct waitq *q, struct waiter *w);
/* Enqueue @w, which has a notify function and no thread, until waitq_unwatch(). */
void waitq_watch(struct waitq *q, struct waiter *w);
void waitq_unwatch(struct waitq *q, struct waiter *w);
/*
 * Wake all non-exclusive waiters and up to @nr exclusive ones (0: all). Returns how many were
 * woken. Any context.
 */
unsigned waitq_wake(struct waitq *q, unsigned nr);
unsigned waitq_wake_sync(struct waitq *q, unsigned nr); /* the waker is about to sleep */
/*
 * Wake one exclusive waiter and nobody else: something is left of what the others were told about.
 */
void waitq_pass_on(struct waitq *q);

/* Sleep until @cond. Evaluates to 0, or -ERESTARTSYS when a signal came first. */
#define wait_event_interruptible(q, cond)                                                          \
	({                                                                                         \
		long wait_ret_ = 0;                                                                \
		if (!(cond)) {                                                                     \
			struct waiter wait_w_ = { .thread = current };                             \
			list_init(&wait_w_.link);                                                  \
			for (;;) {                                                                 \
				waitq_prepare(q, &wait_w_, TASK_INTERRUPTIBLE);                    \
				if (cond)                                                          \
					break;                                                     \
				if (signal_pending()) {                                            \
					wait_ret_ = -ERESTARTSYS;                                  \
					break;                                                     \
				}                                                                  \
				schedule();                                                        \
			}                                                                          \
			waitq_finish(q, &wait_w_);                                                 \
		}                                                                                  \
		wait_ret_;                                                                         \
	})

#define wait_event(q, cond) wait_event_state(q, cond, TASK_UNINTERRUPTIBLE)
/* For kernel threads that wait for work: not counted in the load average. */
#define wait_event_idle(q, cond) wait_event_state(q, cond, TASK_IDLE)
#define wait_event_state(q, cond, state)                                                           \
	do {                                                                                       \
		struct waiter wait_w_ = { .thread = current };                                     \
		list_init(&wait_w_.link);                                                          \
		for (;;) {                                                                         \
			waitq_prepare(q, &wait_w_, state);                                         \
			if (cond)                                                                  \
				break;                                                             \
			schedule();                                                                \
		}                                                                                  \
		waitq_finish(q, &wait_w_);                                                         \
	} while (0)

/* A sleeping lock, FIFO. Not from interrupts. */
struct mutex {
	u32 locked;
	struct thread *holder;
	struct waitq queue;
};

#define MUTEX_INIT(n)                                                                              \
	{                                                                                          \
		.queue = WAITQ_INIT((n).queue)                                                     \
	}

void mutex_init(struct mutex *m, const char *name);
void mutex_lock(struct mutex *m);
bool mutex_trylock(struct mutex *m);
void mutex_unlock(struct mutex *m);
bool mutex_is_held(const struct mutex *m); /* by the current thread */
/*
 * Returns the thread that holds the mutex which @t waits for, with a reference. NULL: @t waits for
 * none, or the mutex is being handed over. The caller has a reference to @t.
 */
struct thread *mutex_blocker(struct thread *t);

/* Switch to the thread that the scheduler picks. Interrupts on, no spin lock held. */
void schedule(void);
/*
 * sched_yield(2): let other threads run first, if the policy agrees. Interrupts on, no spin lock
 * held.
 */
void yield(void);

/* Switch now if the scheduler asked for it, and context and model of preemption allow it. */
void preempt_now(void);
void cond_resched_slow(void);
void might_resched_slow(void);

/* A point of a long loop where other threads may run under the models that need such points. */
static inline void cond_resched(void)
{
	if (unlikely(arch_need_resched()))
		cond_resched_slow();
}

/* The same where the code may sleep anyway. */
static inline void might_resched(void)
{
	if (unlikely(arch_need_resched()))
		might_resched_slow();
}

static inline void preempt_disable(void)
{
	arch_preempt_disable();
}

static inline void preempt_enable_no_resched(void)
{
	arch_preempt_enable();
}

static inline void preempt_check(void)
{
	if (unlikely(arch_need_resched()))
		preempt_now();
}

static inline void preempt_enable(void)
{
	arch_preempt_enable();
	preempt_check();
}
