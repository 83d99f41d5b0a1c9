/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The protocol "mutex": three threads take a mutex, and give it back. The verifier tries every order
 * and asserts that one thread at most is inside. If a wakeup can be lost, a thread sleeps for ever,
 * which Spin reports as an invalid end state.
 *
 * Each inline and variable has the name that it has in C (test_spin.py compares):
 *	kernel/task/mutex.c take_if_free give is_mine is_locked wait_for lock_slow mutex_lock
 *	kernel/task/mutex.c unlock_slow mutex_unlock
 *	kernel/task/mutex.c mutex_waiter.promised
 *	kernel/sync.h mutex.locked mutex.holder mutex.queue
 *	sched/core/wake.c sched_block
 *	kernel/task/switch.c schedule thread_wake
 *
 * Stores are seen at once and in order here, as in wake.pml.
 *
 * Run: spin -DBUG=0 -a mutex.pml && cc -DSAFETY -o pan pan.c && ./pan; BUG=1 to 5: a seeded bug.
 */
#define UNLOCK_WITHOUT_LOOK (BUG == 1)	/* the unlock stores UNLOCKED, whether WAITED is set or not */
#define WAITED_TOO_EARLY (BUG == 2)	/* WAITED is set before the queue is locked */
#define BLOCK_TOO_LATE (BUG == 3)	/* the sleep is announced when the queue is unlocked again */
#define NOT_MINE (BUG == 4)		/* a woken thread does not ask whether it was handed the mutex */
#define TWO_STEPS (BUG == 5)		/* the unlock looks for WAITED and then stores */

#define THREADS 3
#define ROUNDS 2

#define UNLOCKED 0
#define LOCKED 1
#define WAITED 2
#define NOBODY 255

byte mutex_locked = UNLOCKED;	/* mutex.locked */
byte mutex_holder = NOBODY;	/* mutex.holder */
bool queue_lock;		/* the lock of mutex.queue */
chan mutex_queue = [THREADS] of { byte };	/* the waiters of mutex.queue, the first first */
bool mutex_waiter_promised[THREADS];	/* mutex_waiter.promised */
bool blocked[THREADS];		/* the thread sleeps, or is about to */
byte nr_inside;

inline lock_queue() { atomic { !queue_lock -> queue_lock = true } }
inline unlock_queue() { queue_lock = false }
inline sched_block() { blocked[_pid] = true }
inline schedule() { !blocked[_pid] }
inline thread_wake(t) { blocked[t] = false }

#define is_mine() (mutex_holder == _pid)
#define is_locked() (mutex_locked & LOCKED)

inline take_if_free()
{
	atomic {
		taken = mutex_locked == UNLOCKED;
		if
		:: taken -> mutex_locked = LOCKED
		:: else
		fi
	};
	if
	:: taken -> mutex_holder = _pid
	:: else
	fi
}

inline give(t)
{
	if
	:: empty(mutex_queue) -> mutex_locked = LOCKED
	:: nempty(mutex_queue) -> mutex_locked = LOCKED | WAITED
	fi;
	mutex_holder = t
}

inline wait_for()
{
	mutex_queue!_pid;
	do
	:: true ->
		if
		:: BLOCK_TOO_LATE -> unlock_queue(); sched_block()
		:: else -> sched_block(); unlock_queue()
		fi;
		schedule();
		lock_queue();
		if
		:: !NOT_MINE && is_mine() -> break
		:: else
		fi;
		if
		:: !is_locked() ->
			mutex_queue??eval(_pid);
			give(_pid);
			break
		:: else
		fi;
		mutex_waiter_promised[_pid] = true
	od;
	mutex_waiter_promised[_pid] = false
}

inline lock_slow()
{
	if
	:: WAITED_TOO_EARLY ->
		atomic { was = mutex_locked; mutex_locked = mutex_locked | WAITED };
		lock_queue()
	:: else ->
		lock_queue();
		atomic { was = mutex_locked; mutex_locked = mutex_locked | WAITED }
	fi;
	if
	:: was & LOCKED -> wait_for()
	:: else -> give(_pid)
	fi;
	unlock_queue()
}

inline mutex_lock()
{
	take_if_free();
	if
	:: !taken -> lock_slow()
	:: else
	fi
}

inline unlock_slow()
{
	lock_queue();
	assert(nempty(mutex_queue));
	mutex_queue?<first>;
	mutex_locked = WAITED;
	if
	:: mutex_waiter_promised[first] -> mutex_queue?first; give(first)
	:: else
	fi;
	thread_wake(first);
	unlock_queue()
}

inline mutex_unlock()
{
	mutex_holder = NOBODY;
	if
	:: UNLOCK_WITHOUT_LOOK -> mutex_locked = UNLOCKED
	:: TWO_STEPS ->
		if
		:: mutex_locked == LOCKED -> mutex_locked = UNLOCKED
		:: else -> unlock_slow()
		fi
	:: else ->
		atomic {
			taken = mutex_locked == LOCKED;
			if
			:: taken -> mutex_locked = UNLOCKED
			:: else
			fi
		};
		if
		:: !taken -> unlock_slow()
		:: else
		fi
	fi
}

active [THREADS] proctype a_thread()
{
	byte rounds, was, first;
	bool taken;

	do
	:: rounds < ROUNDS ->
		rounds++;
		mutex_lock();
		nr_inside++;
		assert(nr_inside == 1 && is_mine());
		nr_inside--;
		mutex_unlock()
	:: else -> break
	od
}
