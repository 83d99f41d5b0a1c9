/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Futexes: user-space locks call the kernel only to sleep and to wake (Franke, Russell, Kirkwood,
 * "Fuss, Futexes and Furwocks", 2002; futex(2)).
 *
 * A key names the futex word across address spaces: (address space, address) for private memory,
 * (physical frame, offset) where a mapping is shared. It counts a reference to the frame, which
 * would otherwise go to somebody else, with those who still wait, once nobody maps it. Waiters hang
 * in hashed buckets: as on Linux the more urgent first, where all fair tasks are as urgent as each
 * other, and of those alike who came first. A waiter keeps the priority that it had as it came.
 *
 * No wakeup is lost because a waiter is in its bucket BEFORE it reads the word. Either the waker's
 * store was seen, and the wait ends with -EAGAIN, or the waker finds the waiter. A waiter that was
 * found counts as woken even if it then sees the new value.
 *
 * Locking: a waiter's fields are guarded by the lock of the bucket it is in (w->bucket). It lives
 * on its thread's stack, and a waker's last word to it is `released`; a waiter that does not find
 * that takes the lock before it returns. Two buckets: lower address first. The scheduler's locks
 * nest inside.
 */
#include "kernel/task/futex.h"

#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/syscall/syscall.h"
#include "kernel/task/futex_waiter.h"
#include "kernel/time/timespec.h"
#include "lib/errno.h"

enum futex_op {
	FUTEX_WAIT = 0,
	FUTEX_WAKE = 1,
	FUTEX_REQUEUE = 3,
	FUTEX_CMP_REQUEUE = 4,
	FUTEX_WAKE_OP = 5,
	FUTEX_WAIT_BITSET = 9,
	FUTEX_WAKE_BITSET = 10,

	FUTEX_PRIVATE_FLAG = 128,
	FUTEX_CLOCK_REALTIME = 256,
};

#define PRIO_FAIR 100 /* and more: of fair tasks; the others have less */

/* Enough that 10,000 waiting threads make chains of about 40. */
#define NR_BUCKETS  256u
#define BUCKET_BITS 8
STATIC_ASSERT(NR_BUCKETS == 1u << BUCKET_BITS, "bucket_of() takes that many bits of the hash");
static struct futex_bucket buckets[NR_BUCKETS];

static int futex_init(void)
{
	for (unsigned i = 0; i < NR_BUCKETS; i++) {
		spin_lock_init(&buckets[i].lock, "futex");
		list_init(&buckets[i].waiters);
	}
	return 0;
}
INITCALL(futex_init);

static struct futex_bucket *bucket_of(const struct futex_key *key)
{
	/* Fibonacci hashing: the top bits of the product depend on all bits of the key. */
	return &buckets[((key->space + key->offset) * 0x9e3779b97f4a7c15ull) >> (64 - BUCKET_BITS)];
}

static bool key_equal(const struct futex_key *a, const struct futex_key *b)
{
	return a->space == b->space && a->offset == b->offset;
}

/* The key of a word that others may see in a shared mapping: by its page, which is faulted in. */
static __noinline long get_shared_key(struct mm *mm, u64 addr, struct futex_key *key)
{
	u64 page;
	long err = mm_shared_page(mm, addr, &page);

	if (page)
		*key = (struct futex_key){ page | 1, addr % PAGE_SIZE };
	else
		*key = (struct futex_key){ (u64)(uintptr_t)mm, addr };
	return err;
}

static inline void put_key(const struct futex_key *key)
{
	if (unlikely(key->space & 1))
		page_put(key->space - 1);
}

/* 0 or -errno; put_key() ends the use of the key. */
static inline long get_key(u64 addr, bool private, struct futex_key *key)
{
	struct mm *mm = current->mm;

	if (unlikely(addr % sizeof(u32)))
		return -EINVAL;
	if (unlikely(addr >= USER_END))
		return -EFAULT;
	if (!private)
		return get_shared_key(mm, addr, key);
	*key = (struct futex_key){ (u64)(uintptr_t)mm, addr };
	return 0;
}

/* --- waking ------------------------------------------------------------------ */

/*
 * Lab 12, wake: wakes the thread of @w and takes @w out of its bucket, which the caller has locked.
 * The waiter may look at any moment why it is awake, and may be gone as soon as it sees `released`.
 */
static void wake_waiter(struct futex_waiter *w)
{
	debug_assert(spin_is_held(&w->bucket->lock));
	WRITE_ONCE(w->woken, true); /* before it is woken to look */
	thread_wake(w->thread, TASK_INTERRUPTIBLE);
	list_del(&w->link);
	/* From now on it and its thread may be gone. */
	__atomic_store_n(&w->released, true, __ATOMIC_RELEASE);
}

/* Wake up to @nr waiters of @key in the locked bucket @b. */
static long wake_locked(struct futex_bucket *b, const struct futex_key *key, long nr, u32 bitset)
{
	struct futex_waiter *w, *next;
	long woken = 0;

	debug_assert(spin_is_held(&b->lock));
	list_for_each_safe(w, next, &b->waiters, link) {
		if (woken >= nr)
			break;
		if (!key_equal(&w->key, key) || !(w->bitset & bitset))
			continue;
		wake_waiter(w);
		woken++;
	}
	return woken;
}

#define WAKE_BATCH 16 /* waiters woken before others may have the lock */

long futex_wake(u64 addr, bool private, long nr, u32 bitset)
{
	struct futex_key key __uninitialized;
	long ret, batch, woken;

	if (!bitset)
		return -EINVAL;
	ret = get_key(addr, private, &key);
	if (ret)
		return ret;
	struct futex_bucket *b = bucket_of(&key);
	/* Linux wakes one waiter even when asked for none. */
	nr = max(nr, 1l);
	do {
		batch = min(nr - ret, (long)WAKE_BATCH);
		spin_lock(&b->lock);
		woken = wake_locked(b, &key, batch, bitset);
		spin_unlock(&b->lock);
		ret += woken;
	} while (unlikely(woken == WAKE_BATCH));
	put_key(&key);
	return ret;
}

/* --- waiting ----------------------------------------------------------------- */

/* Puts @w into the locked bucket @b, in front of the first that is less urgent. */
static __noinline void add_urgent(struct futex_bucket *b, struct futex_waiter *w)
{
	struct futex_waiter *next;

	debug_assert(spin_is_held(&b->lock));
	list_for_each(next, &b->waiters, link)
		if (next->prio > w->prio)
			break;
	list_add_tail(&next->link, &w->link);
}

/* Nobody is less urgent than a fair task, which looks at no other. */
static inline void add_waiter(struct futex_bucket *b, struct futex_waiter *w)
{
	debug_assert(spin_is_held(&b->lock));
	if (unlikely(w->prio < PRIO_FAIR))
		add_urgent(b, w);
	else
		list_add_tail(&b->waiters, &w->link);
}

static void enqueue_waiter(struct futex_waiter *w)
{
	w->bucket = bucket_of(&w->key);
	spin_lock(&w->bucket->lock);
	add_waiter(w->bucket, w);
	spin_unlock(&w->bucket->lock);
}

/*
 * Leave the bucket; true if a waker was faster. A requeue may move the waiter between the read and
 * the lock.
 */
static bool dequeue_waiter(struct futex_waiter *w)
{
	for (;;) {
		struct futex_bucket *b = READ_ONCE(w->bucket);
		spin_lock(&b->lock);
		if (b == w->bucket) {
			bool woken = w->woken;
			list_del(&w->link);
			spin_unlock(&b->lock);
			return woken;
		}
		spin_unlock(&b->lock);
	}
}

static void wait_timeout(struct ktimer *timer)
{
	struct futex_waiter *w = timer->arg;

	WRITE_ONCE(w->timed_out, true);
	thread_wake(w->thread, TASK_INTERRUPTIBLE);
}

/*
 * Lab 12, sleep: sleeps until @w is woken, its timeout is over or a signal is pending, in whatever
 * order these and the sleep come. On return the thread counts as running.
 */
static void wait_for_wake(struct futex_waiter *w)
{
	debug_assert(w->thread == current);
	for (;;) {
		sched_block(&current->task, TASK_INTERRUPTIBLE);
		if (READ_ONCE(w->woken) || READ_ONCE(w->timed_out) || signal_pending())
			break;
		schedule();
	}
	sched_unblock(&current->task);
}

/*
 * Lab 12, begin: puts @w into its bucket and says whether it is to sleep: the word at @addr holds
 * @val, and whoever changes it from now on finds @w. Otherwise @w is in no bucket, and *@result is
 * what the wait returns: 0 if a waker was faster, whose wakeup nobody else gets; else an error of
 * the load, or -EAGAIN.
 */
static bool begin_wait(struct futex_waiter *w, const u32 *addr, u32 val, long *result)
{
	u32 now;

	enqueue_waiter(w);
	long error = arch_user_load_u32(addr, &now);
	if (!error && now == val)
		return true;
	bool woken = dequeue_waiter(w);
	*result = woken ? 0 : error ? error : -EAGAIN;
	return false;
}

/*
 * Sleep in the bucket of @w. 0 if woken, -ETIMEDOUT after @deadline_ns (0: never) or -ERESTARTSYS.
 */
static inline long sleep_in_bucket(struct futex_waiter *w, u64 deadline_ns)
{
	struct ktimer timer __uninitialized;

	if (deadline_ns) {
		ktimer_init(&timer, wait_timeout, w);
		ktimer_start(&timer, deadline_ns);
	}
	wait_for_wake(w);
	if (deadline_ns)
		ktimer_cancel(&timer);
	/* A waker that is done with us has spared us the lock. */
	if (__atomic_load_n(&w->released, __ATOMIC_ACQUIRE) || dequeue_waiter(w))
		return 0;
	return w->timed_out ? -ETIMEDOUT : -ERESTARTSYS;
}

/*
 * Sleep while the word at @addr holds @val, until @deadline_ns of the monotonic clock (0: for
 * ever).
 */
static long futex_wait(u64 addr, bool private, u32 val, u64 deadline_ns, u32 bitset)
{
	struct futex_waiter w __uninitialized;
	long ret;

	if (!bitset)
		return -EINVAL;
	w.thread = current;
	w.bitset = bitset;
	w.prio = READ_ONCE(current->task.prio);
	w.woken = w.timed_out = w.released = false;
	ret = get_key(addr, private, &w.key);
	if (ret)
		return ret;
	if (begin_wait(&w, (const u32 *)addr, val, &ret))
		ret = sleep_in_bucket(&w, deadline_ns);
	put_key(&w.key);
	return ret;
}

static long restart_wait(struct restart_block *rb)
{
	return futex_wait(rb->arg[0], rb->arg[1], (u32)rb->arg[2], rb->deadline_ns,
			  (u32)rb->arg[3]);
}

/* A relative timeout must not start afresh when the call is restarted after a signal. */
static long wait_restartable(u64 addr, bool private, u32 val, u64 deadline_ns, u32 bitset)
{
	long ret = futex_wait(addr, private, val, deadline_ns, bitset);

	if (ret != -ERESTARTSYS)
		return ret;
	current->restart = (struct restart_block){
		.fn = restart_wait,
		.deadline_ns = deadline_ns,
		.arg = { addr, private, val, bitset },
	};
	return -ERESTART_RESTARTBLOCK;
}

/* The monotonic deadline that the call's timeout means. */
static long get_deadline(const struct timespec *timeout, int op, u64 *deadline_ns)
{
	u64 ns;
	long err = timespec_get(timeout, &ns);

	if (err)
		return err;
	if ((op & 0x7f) == FUTEX_WAIT)
		ns = deadline_after(ns);
	else if (op & FUTEX_CLOCK_REALTIME)
		ns = clock_monotonic_of(ns);
	*deadline_ns = max(ns, 1ul);
	return 0;
}

/* --- two futexes ---------------------------------------------------------------- */

static void lock_pair(struct futex_bucket *a, struct futex_bucket *b)
{
	spin_lock(&min(a, b)->lock);
	if (a != b)
		spin_lock(&max(a, b)->lock);
}

static void unlock_pair(struct futex_bucket *a, struct futex_bucket *b)
{
	spin_unlock(&a->lock);
	if (a != b)
		spin_unlock(&b->lock);
}

/*
 * Move up to @nr waiters of @from in the locked bucket @b to the locked bucket and key of @to. In
 * one bucket a waiter keeps its place: at the end the walk would meet it again.
 */
static long requeue_locked(struct futex_bucket *b, const struct futex_key *from,
			   struct futex_bucket *to_bucket, const struct futex_key *to, long nr)
{
	struct futex_waiter *w, *next;
	long moved = 0;

	debug_assert(spin_is_held(&b->lock) && spin_is_held(&to_bucket->lock));
	list_for_each_safe(w, next, &b->waiters, link) {
		if (moved >= nr)
			break;
		if (!key_equal(&w->key, from))
			continue;
		if (to->space & 1)
			page_get(to->space - 1);
		put_key(&w->key);
		if (b != to_bucket) {
			list_del(&w->link);
			add_waiter(to_bucket, w);
			WRITE_ONCE(w->bucket, to_bucket);
		}
		w->key = *to;
		moved++;
	}
	return moved;
}

struct requeue {
	u64 from, to;
	bool private, compare;
	u32 expected; /* of the word at @from, if @compare; or what FUTEX_WAKE_OP does */
	long nr_wake, nr_requeue;
};

/*
 * Wake some waiters and move others to a second futex, so that they do not all run into the lock
 * they want. Returns woken + moved, only woken for plain FUTEX_REQUEUE (as Linux counts).
 */
static long futex_requeue(const struct requeue *req, const struct futex_key *from,
			  const struct futex_key *to)
{
	struct futex_bucket *a = bucket_of(from), *b = bucket_of(to);
	u32 now;
	long ret;

	for (;;) {
		lock_pair(a, b);
		/*
		 * With a lock held the load does not resolve a fault: do that without it, and try
		 * again.
		 */
		ret = req->compare ? arch_user_load_u32((const u32 *)req->from, &now) : 0;
		if (!ret)
			break;
		unlock_pair(a, b);
		if ((ret = arch_user_load_u32((const u32 *)req->from, &now)))
			return ret;
	}
	if (req->compare && now != req->expected) {
		ret = -EAGAIN;
	} else {
		ret = wake_locked(a, from, req->nr_wake, FUTEX_BITSET_MATCH_ANY);
		long moved = requeue_locked(a, from, b, to, req->nr_requeue);
		ret += req->compare ? moved : 0;
	}
	unlock_pair(a, b);
	return ret;
}

/*
 * Change the second word, wake waiters of the first, and of the second if its old value compares
 * true.
 */
static long futex_wake_op(const struct requeue *req, const struct futex_key *first,
			  const struct futex_key *second)
{
	struct futex_bucket *a = bucket_of(first), *b = bucket_of(second);
	bool wake_second;
	long ret;

	/*
	 * A waiter enqueues before it reads its word, so the change need not happen under the
	 * locks.
	 */
	if ((ret = futex_op((u32 *)req->to, req->expected, &wake_second)))
		return ret;
	lock_pair(a, b);
	ret = wake_locked(a, first, req->nr_wake, FUTEX_BITSET_MATCH_ANY);
	if (wake_second)
		ret += wake_locked(b, second, req->nr_requeue, FUTEX_BITSET_MATCH_ANY);
	unlock_pair(a, b);
	return ret;
}

static __noinline long futex_two(int cmd, u64 uaddr, bool private, u32 val, u64 arg4, u64 uaddr2,
				 u32 val3)
{
	struct requeue req = {
		.from = uaddr,
		.to = uaddr2,
		.private = private,
		.compare = cmd == FUTEX_CMP_REQUEUE,
		.expected = val3,
		.nr_wake = (int)val,
		.nr_requeue = (int)arg4,
	};

	struct futex_key from, to;
	long ret;

	if (cmd != FUTEX_WAKE_OP && (req.nr_wake < 0 || req.nr_requeue < 0))
		return -EINVAL;
	if ((ret = get_key(uaddr, private, &from)))
		return ret;
	ret = get_key(uaddr2, private, &to);
	if (!ret) {
		ret = cmd == FUTEX_WAKE_OP ? futex_wake_op(&req, &from, &to)
					   : futex_requeue(&req, &from, &to);
		put_key(&to);
	}
	put_key(&from);
	return ret;
}

/* FUTEX_WAIT with a timeout. Few waits have one, and the others do not pay for this code. */
static __noinline long wait_until(u64 uaddr, int op, u32 val, const struct timespec *timeout,
				  u32 bitset)
{
	u64 deadline_ns;
	long ret = get_deadline(timeout, op, &deadline_ns);

	return ret ? ret
		   : wait_restartable(uaddr, op & FUTEX_PRIVATE_FLAG, val, deadline_ns, bitset);
}

static inline long wait(u64 uaddr, int op, u32 val, const struct timespec *timeout, u32 bitset)
{
	return timeout ? wait_until(uaddr, op, val, timeout, bitset)
		       : futex_wait(uaddr, op & FUTEX_PRIVATE_FLAG, val, 0, bitset);
}

SYSCALL6(futex, u64, uaddr, int, op, u32, val, u64, arg4, u64, uaddr2, u32, val3)
{
	int cmd = op & 0x7f;

	if ((op & FUTEX_CLOCK_REALTIME) && cmd != FUTEX_WAIT && cmd != FUTEX_WAIT_BITSET)
		return -ENOSYS;
	switch (cmd) {
	case FUTEX_WAIT:
		return wait(uaddr, op, val, (const struct timespec *)arg4, FUTEX_BITSET_MATCH_ANY);
	case FUTEX_WAIT_BITSET:
		return wait(uaddr, op, val, (const struct timespec *)arg4, val3);
	case FUTEX_WAKE:
		return futex_wake(uaddr, op & FUTEX_PRIVATE_FLAG, (int)val, FUTEX_BITSET_MATCH_ANY);
	case FUTEX_WAKE_BITSET:
		return futex_wake(uaddr, op & FUTEX_PRIVATE_FLAG, (int)val, val3);
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
	case FUTEX_WAKE_OP:
		return futex_two(cmd, uaddr, op & FUTEX_PRIVATE_FLAG, val, arg4, uaddr2, val3);
	default:
		return -ENOSYS; /* priority inheritance among them */
	}
}
