/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The protocol "switch" (docs/adr/002): the lock of the runqueue is held from the pick to the end
 * of the switch. Two CPUs share one task, which blocks and is preempted as it likes; two wakers wake
 * it on any CPU. The verifier tries every order and asserts that one CPU at most stands on the
 * task's stack. A blocked task that nobody wakes is a valid end.
 *
 * Each inline and variable has the name that it has in C (test_spin.py compares):
 *	sched/core/switch.c sched_switch_begin sched_switch_end pull_instead_of block_current
 *	sched/core/wake.c sched_block sched_wake
 *	sched/core/rq.c task_rq_lock
 *	sched/core/move.c set_task_cpu
 *	sched/core/core.h task_running
 *	sched/core/rq.h rq.curr rq.lock
 *	sched/task.h task.cpu task.on_rq task.state
 *	kernel/task/switch.c switch_threads
 *	kernel/task/lock.c host_lock host_unlock
 *	arch/x86/thread.c arch_switch
 *
 * Run: spin -DBUG=0 -a switch.pml && cc -DSAFETY -o pan pan.c && ./pan -E; BUG=1 to 3: a seeded bug.
 */
#define UNLOCK_BEFORE_SWITCH (BUG == 1)	/* the lock is given back before the stacks change */
#define IGNORE_RUNNING (BUG == 2)	/* a waker does not ask who still stands on the stack */
#define NO_SECOND_LOOK (BUG == 3)	/* task_rq_lock() does not look at task.cpu again */

#define CPUS 2
#define WAKERS 2
#define WAKEUPS 2 /* by each waker */
#define SWITCHES 5 /* of each CPU */

bool rq_lock[CPUS];	/* rq.lock */
bool rq_curr[CPUS];	/* rq.curr is the task, not the idle thread */
byte task_cpu;		/* task.cpu */
bool task_on_rq = true;	/* task.on_rq */
bool task_state;		/* task.state is not TASK_RUNNING */
byte on_stack;		/* how many CPUs stand on the task's stack */

inline host_lock(c) { atomic { !rq_lock[c] -> rq_lock[c] = true } }
inline host_unlock(c) { rq_lock[c] = false }

#define task_running(c) (!IGNORE_RUNNING && rq_curr[c])

inline set_task_cpu(to) { task_cpu = to }

/* Locks the runqueue that the task is on when the lock is held. */
inline task_rq_lock()
{
	do
	:: true ->
		rq = task_cpu;
		host_lock(rq);
		if
		:: NO_SECOND_LOOK || rq == task_cpu -> break
		:: else -> host_unlock(rq)
		fi
	od
}

inline sched_wake()
{
	task_rq_lock();
	if
	:: !task_state
	:: task_state && task_on_rq -> task_state = false
	:: task_state && !task_on_rq ->
		task_state = false;
		if
		:: task_running(rq)
		:: !task_running(rq) ->
			if
			:: true -> set_task_cpu(1 - rq); host_unlock(rq); task_rq_lock()
			:: true
			fi
		fi;
		assert(task_cpu == rq); /* as check_preempt() asserts */
		task_on_rq = true
	fi;
	host_unlock(rq)
}

inline sched_block() { task_state = true }
inline block_current() { task_on_rq = false }

/* The lock is dropped, while the task that blocked still stands on its stack. */
inline pull_instead_of(c) { host_unlock(c); host_lock(c) }

inline sched_switch_begin(c)
{
	host_lock(c);
	if
	:: rq_curr[c] && task_state ->
		block_current();
		if
		:: true -> pull_instead_of(c)
		:: true
		fi
	:: else
	fi;
	rq_curr[c] = task_on_rq && task_cpu == c
}

/* Leaves one stack and enters the other. */
inline arch_switch(c)
{
	if
	:: stands && !rq_curr[c] -> on_stack--; stands = false
	:: !stands && rq_curr[c] -> on_stack++; stands = true; assert(on_stack == 1)
	:: else
	fi
}

inline sched_switch_end(c) { host_unlock(c) }

inline switch_threads(c)
{
	sched_switch_begin(c);
	if
	:: UNLOCK_BEFORE_SWITCH -> sched_switch_end(c); arch_switch(c)
	:: else -> arch_switch(c); sched_switch_end(c)
	fi
}

active [CPUS] proctype a_cpu()
{
	byte switches;
	bool stands;

	do
	:: switches < SWITCHES ->
		switches++;
		if
		:: stands -> sched_block()
		:: true
		fi;
		switch_threads(_pid)
	:: else -> break
	od
}

active [WAKERS] proctype waker()
{
	byte made, rq;

	do
	:: made < WAKEUPS -> made++; sched_wake()
	:: else -> break
	od
}
