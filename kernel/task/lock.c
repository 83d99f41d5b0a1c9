/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Spin locks: one word, test-and-set. The CPU that looks first after a release gets the lock, on
 * purpose. A virtual CPU may stand still for milliseconds while the host runs something else, and a
 * fair queue makes everybody behind it stand still too: with ticket locks four CPUs on two busy
 * host cores needed five times the processor time to pass the same messages. (Linux does the same
 * when it finds itself on a hypervisor.) Under -icount nobody starves either: every look is a
 * `pause`, which gives the turn to the next CPU.
 *
 * The scheduler's locks (struct host_lock) are the same algorithm in the storage the seam
 * prescribes. They leave preemption alone: their holders have interrupts off, and a runqueue's lock
 * crosses the switch from one thread to another.
 */
#include "kernel/kernel.h"
#include "kernel/pseudo/pseudo.h"
#include "kernel/sync.h"
#include "kernel/task/lockdep.h"
#include "kernel/time/watchdog.h"
#include "lib/fmt.h"
#include "sched/host.h"

/*
 * If all CPUs share one stream of instructions (-icount), the time includes what the others run
 * meanwhile.
 */
static __noinline void wait_for_word(u32 *word)
{
	const u32 patience = 1 << 20; /* looks; reading the clock each time would cost turns */
	u64 start = arch_clock_ns();
	u32 looks = 0;

	do {
		/* Looking does not take the line away from the holder; trying does. */
		while (__atomic_load_n(word, __ATOMIC_RELAXED)) {
			if (READ_ONCE(panic_cpu))
				return; /* the holder has been stopped, and we only want to look */
			if (unlikely(++looks % patience == 0))
				watchdog_spins(start);
			arch_cpu_relax();
		}
	} while (__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE));
	this_cpu()->nr_lock_waits++;
	this_cpu()->lock_wait_ns += arch_clock_ns() - start;
}

static inline void word_lock(u32 *word)
{
	if (unlikely(__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE)))
		wait_for_word(word);
}

static inline void word_unlock(u32 *word)
{
	__atomic_store_n(word, 0, __ATOMIC_RELEASE);
}

void spin_lock_init(struct spinlock *lock, const char *name)
{
	*lock = (struct spinlock){ .name = name };
}

static inline void acquire(struct spinlock *lock)
{
	if (DEBUG)
		lockdep_acquire(lock, lock->name);
	word_lock(&lock->locked);
	debug_assert(!lock->holder);
	lock->holder = this_cpu();
}

static inline void release(struct spinlock *lock)
{
	if (DEBUG)
		lockdep_release(lock);
	lock->holder = NULL;
	word_unlock(&lock->locked);
}

void spin_lock(struct spinlock *lock)
{
	preempt_disable();
	acquire(lock);
}

void spin_unlock(struct spinlock *lock)
{
	debug_assert(this_cpu()->preempt_count);
	release(lock);
	preempt_enable();
}

unsigned long spin_lock_irqsave(struct spinlock *lock)
{
	unsigned long flags = arch_irq_save();

	preempt_disable();
	acquire(lock);
	return flags;
}

void spin_unlock_irqrestore(struct spinlock *lock, unsigned long flags)
{
	release(lock);
	preempt_enable_no_resched();
	arch_irq_restore(flags);
	preempt_check();
}

/* --- the scheduler's locks ------------------------------------------------------ */

/* How this file uses struct host_lock.word. */
struct lock_words {
	u32 locked, unused;
	const struct cpu *holder;
};
STATIC_ASSERT(sizeof(struct lock_words) == sizeof(((struct host_lock *)0)->word),
	      "fits the seam's storage");

void host_lock(struct host_lock *lock)
{
	struct lock_words *w = (struct lock_words *)lock->word;

	debug_assert(!arch_irq_enabled());
	if (DEBUG)
		lockdep_acquire_host(lock);
	word_lock(&w->locked);
	w->holder = this_cpu();
}

void host_unlock(struct host_lock *lock)
{
	struct lock_words *w = (struct lock_words *)lock->word;

	debug_assert(w->holder == this_cpu());
	if (DEBUG)
		lockdep_release(lock);
	w->holder = NULL;
	word_unlock(&w->locked);
}

bool host_lock_held(const struct host_lock *lock)
{
	const struct lock_words *w = (const struct lock_words *)lock->word;

	return READ_ONCE(w->holder) == this_cpu();
}

/* --- how long CPUs waited for locks: /sys/kernel/debug/lock_waits ----------------- */

static size_t show_waits(void *arg, char *buf, size_t size)
{
	struct text t = text_of(buf, size);

	(void)arg;
	text_add(&t, "cpu waits ns\n");
	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++)
		text_add(&t, "%u %lu %lu\n", cpu, READ_ONCE(cpus[cpu]->nr_lock_waits),
			 READ_ONCE(cpus[cpu]->lock_wait_ns));
	return t.len;
}

static int waits_init(void)
{
	static const struct pseudo_file file = { .name = "lock_waits",
						 .mode = 0444,
						 .show = show_waits };

	return debugfs_add(&file);
}
INITCALL(waits_init);
