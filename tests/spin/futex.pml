/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The protocol "futex": two threads wait until a word changes. Two others change it and wake two
 * buckets; one of them moves the waiters of the first to the second before. A signal may come. The
 * verifier tries every order. It asserts that nobody touches a waiter, which is on the stack of its
 * thread, when the thread has left, and that a list changes under the lock of its bucket. If a
 * wakeup can be lost, a thread sleeps for ever, which Spin reports as an invalid end state.
 *
 * Each inline and variable has the name that it has in C (test_spin.py compares):
 *	kernel/task/futex.c begin_wait enqueue_waiter dequeue_waiter wait_for_wake sleep_in_bucket
 *	kernel/task/futex.c wake_waiter wake_locked requeue_locked
 *	kernel/task/futex_waiter.h futex_waiter.bucket futex_waiter.link futex_waiter.woken
 *	kernel/task/futex_waiter.h futex_waiter.released futex_bucket.lock
 *	sched/core/wake.c sched_block
 *	kernel/task/switch.c schedule thread_wake
 *	kernel/task/thread.h signal_pending
 *
 * Run: spin -DBUG=0 -a futex.pml && cc -DSAFETY -o pan pan.c && ./pan; BUG=1 to 5: a seeded bug.
 */
#define COMPARE_FIRST (BUG == 1)	/* the word is compared, then the waiter is put into its bucket */
#define TEST_BEFORE_STATE (BUG == 2)	/* the waiter looks whether it is woken, then announces its sleep */
#define TRUST_WOKEN (BUG == 3)		/* a waiter that is woken leaves before its waker is done with it */
#define RELEASE_EARLY (BUG == 4)	/* the waker stores `released`, then takes the waiter off its list */
#define NO_SECOND_LOOK (BUG == 5)	/* dequeue_waiter() does not look at the bucket again */

#define WAITERS 2
#define WAKERS 2
#define NONE 2

bool word;				/* has changed */
bool futex_bucket_lock[2];		/* futex_bucket.lock */
byte futex_waiter_bucket[WAITERS];	/* futex_waiter.bucket */
byte futex_waiter_link[WAITERS] = NONE;	/* futex_waiter.link: in the list of that bucket, or in none */
bool futex_waiter_woken[WAITERS];	/* futex_waiter.woken */
bool futex_waiter_released[WAITERS];	/* futex_waiter.released */
bool there[WAITERS];			/* the waiter is on the stack of its thread */
bool blocked[WAITERS];			/* the thread sleeps, or is about to */
bool signal[WAITERS];

inline lock_bucket(b) { atomic { !futex_bucket_lock[b] -> futex_bucket_lock[b] = true } }
inline unlock_bucket(b) { futex_bucket_lock[b] = false }
inline sched_block() { blocked[_pid] = true }
inline schedule() { !blocked[_pid] }
inline thread_wake(t) { blocked[t] = false }

#define signal_pending() signal[_pid]
#define is_woken() (futex_waiter_woken[_pid] || signal_pending())

/* --- a waiter ----------------------------------------------------------------------- */

inline enqueue_waiter()
{
	futex_waiter_bucket[_pid] = 0;
	lock_bucket(0);
	futex_waiter_link[_pid] = 0;
	unlock_bucket(0)
}

inline dequeue_waiter()
{
	do
	:: true ->
		b = futex_waiter_bucket[_pid];
		lock_bucket(b);
		if
		:: NO_SECOND_LOOK || b == futex_waiter_bucket[_pid] ->
			woken = futex_waiter_woken[_pid];
			assert(futex_waiter_link[_pid] == NONE || futex_waiter_link[_pid] == b);
			futex_waiter_link[_pid] = NONE;
			unlock_bucket(b);
			break
		:: else -> unlock_bucket(b)
		fi
	od
}

/* Is it to sleep? */
inline begin_wait()
{
	if
	:: COMPARE_FIRST ->
		sleeps = !word;
		enqueue_waiter()
	:: else ->
		enqueue_waiter();
		sleeps = !word
	fi;
	if
	:: !sleeps -> dequeue_waiter()
	:: else
	fi
}

inline wait_for_wake()
{
	do
	:: TEST_BEFORE_STATE ->
		if
		:: is_woken() -> break
		:: else -> sched_block(); schedule()
		fi
	:: !TEST_BEFORE_STATE ->
		sched_block();
		if
		:: is_woken() -> break
		:: else -> schedule()
		fi
	od;
	blocked[_pid] = false
}

inline sleep_in_bucket()
{
	wait_for_wake();
	if
	:: futex_waiter_released[_pid] || (TRUST_WOKEN && futex_waiter_woken[_pid]) -> woken = true
	:: else -> dequeue_waiter()
	fi;
	assert(woken || signal[_pid])
}

active [WAITERS] proctype waiter()
{
	byte b;
	bool sleeps, woken;

	there[_pid] = true;
	begin_wait();
	if
	:: sleeps -> sleep_in_bucket()
	:: else
	fi;
	there[_pid] = false
}

/* --- a waker ------------------------------------------------------------------------ */

inline wake_waiter(w)
{
	atomic { assert(there[w]); futex_waiter_woken[w] = true };
	thread_wake(w);
	if
	:: RELEASE_EARLY -> futex_waiter_released[w] = true
	:: else
	fi;
	atomic { assert(there[w]); futex_waiter_link[w] = NONE };
	futex_waiter_released[w] = true
}

inline wake_one(bucket, w)
{
	if
	:: futex_waiter_link[w] == bucket -> wake_waiter(w)
	:: else
	fi
}

/* Wakes all in the locked bucket. */
inline wake_locked(bucket) { wake_one(bucket, 0); wake_one(bucket, 1) }

inline requeue_one(w)
{
	if
	:: atomic { futex_waiter_link[w] == 0 -> assert(there[w]); futex_waiter_link[w] = 1 };
		futex_waiter_bucket[w] = 1
	:: else
	fi
}

/* Moves all from the first bucket, which is locked, to the second, which is locked too. */
inline requeue_locked() { requeue_one(0); requeue_one(1) }

/* One of them requeues before it wakes. */
active [WAKERS] proctype waker()
{
	word = true;
	if
	:: _pid == WAITERS ->
		lock_bucket(0);
		lock_bucket(1);
		requeue_locked();
		unlock_bucket(1);
		unlock_bucket(0)
	:: else
	fi;
	lock_bucket(0);
	wake_locked(0);
	unlock_bucket(0);
	lock_bucket(1);
	wake_locked(1);
	unlock_bucket(1)
}

/* To one of the threads, at any time; or none comes. */
active proctype sender()
{
	if
	:: signal[0] = true; thread_wake(0)
	:: signal[1] = true; thread_wake(1)
	:: true
	fi
}
