/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The protocols "sleep" and "kick": a thread on CPU 0 sleeps until @items, which two other CPUs
 * raise; while it sleeps, CPU 0 halts. The verifier tries every order of the steps below. If a
 * wakeup can be lost, CPU 0 halts for ever, which Spin reports as an invalid end state.
 *
 * Each inline and variable has the name that it has in C (test_spin.py compares):
 *	sched/core/wake.c sched_block sched_unblock sched_wake
 *	sched/core/switch.c sched_switch_begin sched_switch_end
 *	sched/core/core.h ask_for_switch
 *	sched/core/rq.h rq.curr rq.need_resched rq.lock
 *	sched/task.h task.on_rq task.state
 *	kernel/task/switch.c switch_threads idle_loop
 *	kernel/task/host.c host_kick
 *	kernel/task/lock.c host_lock host_unlock
 *	kernel/percpu.h cpu.need_resched
 *	arch/x86/cpu.c arch_cpu_idle
 *
 * Stores are seen at once and in order here. In C the barriers of sched_block() and waitq_wake()
 * provide that: without them the processor may behave as TEST_BEFORE_STATE. Interrupts of the
 * model `preempt=none` do not switch, so that idle_loop() has to notice a kick by itself.
 *
 * Run: spin -DBUG=0 -a wake.pml && cc -DSAFETY -o pan pan.c && ./pan; BUG=1 to 4: a seeded bug.
 */
#define TEST_BEFORE_STATE (BUG == 1)	/* the condition is tested, then the sleep announced */
#define CLEAR_AFTER_PICK (BUG == 2)	/* cpu.need_resched is cleared behind the switch */
#define HALT_IN_TWO_STEPS (BUG == 3)	/* an interrupt may come between the look and hlt */
#define KICK_BEFORE_WORD (BUG == 4)	/* the interrupt is sent before cpu.need_resched is set */

#define WAKERS 2
#define ITEMS 2 /* from each waker */

byte items;		/* the condition */
bool task_state;		/* task.state is not TASK_RUNNING */
bool task_on_rq = true;	/* task.on_rq */
bool rq_curr = true;	/* rq.curr is the task, not the idle thread */
bool rq_lock;		/* rq.lock */
bool rq_need_resched;	/* rq.need_resched */
bool cpu_need_resched;	/* cpu.need_resched */
bool ipi;		/* an interrupt is pending at CPU 0 */
bool tested;		/* result of the test of the condition */

inline host_lock() { atomic { !rq_lock -> rq_lock = true } }
inline host_unlock() { rq_lock = false }

inline sched_block() { task_state = true }
inline sched_unblock() { task_state = false }

inline host_kick()
{
	if
	:: KICK_BEFORE_WORD -> ipi = true; cpu_need_resched = true
	:: else ->
		atomic { kicked = cpu_need_resched; cpu_need_resched = true };
		if
		:: !kicked -> ipi = true
		:: else
		fi
	fi
}

inline ask_for_switch()
{
	if
	:: !rq_need_resched -> rq_need_resched = true; host_kick()
	:: else
	fi
}

inline sched_wake()
{
	host_lock();
	if
	:: !task_state
	:: task_state && task_on_rq -> task_state = false
	:: task_state && !task_on_rq ->
		task_state = false;
		task_on_rq = true;
		ask_for_switch()
	fi;
	host_unlock()
}

inline sched_switch_begin()
{
	host_lock();
	rq_need_resched = true;
	if
	:: rq_curr && task_state -> task_on_rq = false
	:: else
	fi;
	rq_curr = task_on_rq;
	rq_need_resched = false
}

inline sched_switch_end() { host_unlock() }

inline switch_threads()
{
	if
	:: !CLEAR_AFTER_PICK -> cpu_need_resched = false
	:: else
	fi;
	sched_switch_begin();
	sched_switch_end();
	if
	:: CLEAR_AFTER_PICK -> cpu_need_resched = false
	:: else
	fi
}

/* sti; hlt: no interrupt between the two. The handler itself does nothing. */
inline arch_cpu_idle()
{
	if
	:: HALT_IN_TWO_STEPS ->
		if
		:: ipi -> ipi = false
		:: true
		fi
	:: else
	fi;
	atomic { ipi -> ipi = false }
}

inline idle_loop()
{
	do
	:: rq_curr -> break
	:: !rq_curr && cpu_need_resched -> switch_threads()
	:: !rq_curr && !cpu_need_resched -> arch_cpu_idle()
	od
}

inline test_condition() { tested = (items > 0) }

/* One item is waited for: wait_event(q, items). */
inline wait_for_item()
{
	do
	:: true ->
		if
		:: TEST_BEFORE_STATE -> test_condition(); sched_block()
		:: else -> sched_block(); test_condition()
		fi;
		if
		:: tested -> break
		:: else -> switch_threads(); idle_loop()
		fi
	od;
	sched_unblock()
}

active proctype cpu_of_the_sleeper()
{
	byte got;

	do
	:: got < WAKERS * ITEMS -> wait_for_item(); atomic { items--; got++ }
	:: else -> break
	od
}

active [WAKERS] proctype waker()
{
	byte made;
	bool kicked;

	do
	:: made < ITEMS -> atomic { items++; made++ }; sched_wake()
	:: else -> break
	od
}
