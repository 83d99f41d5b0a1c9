/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The protocol "holding" (sched/ext/ext.h): a CPU takes a task off a shared queue, or out of its
 * scheduler's hands, and goes over to the lock of the task's runqueue; meanwhile the task may be
 * dequeued, enqueued again, moved by a timer, or end. Two CPUs dispatch, two others change the task
 * or end it, and a timer moves it. The verifier tries every order and asserts that the task is in
 * one place, and that nobody follows a pointer to a task that has ended.
 *
 * Each inline and variable has the name that it has in C (test_spin.py compares):
 *	sched/ext/dsq.c ext_hold ext_withdraw ext_dsq_add ext_dsq_in ext_dsq_del
 *	sched/ext/dispatch.c ext_consume deliver_held claim finish move_outside
 *	sched/ext/ext.c take_back
 *	sched/ext/ext.h ext_rq.held ext_task.holding ext_task.dsq ext_task.op
 *	sched/core/rq.c task_rq_lock
 *	sched/core/rq.h rq.lock
 *	sched/task.h task.cpu task.on_rq
 *	kernel/task/lock.c host_lock host_unlock
 *
 * Run: spin -DBUG=0 -a hold.pml && cc -DSAFETY -o pan pan.c && ./pan; BUG=1 to 6: a seeded bug.
 */
#define TRUST_THE_HOLD (BUG == 1)	/* deliver_held() does not ask whether the task is its own */
#define HOLD_TOO_LATE (BUG == 2)	/* the note is made when the task has left its queue */
#define NO_SECOND_LOOK (BUG == 3)	/* ext_withdraw() does not look at the queue again */
#define ASK_THE_TASK (BUG == 4)		/* deliver_held() asks the task who holds it */
#define WITHOUT_CLAIM (BUG == 5)	/* finish() does not claim the task */
#define MOVE_BLINDLY (BUG == 6)		/* move_outside() does not look whether the task is there */

#define CPUS 2
#define CHANGES 2	/* of each of two CPUs that change the task */
#define ROUNDS 2	/* of each CPU that dispatches */

mtype = { OP_NONE, OP_QUEUED, OP_DISPATCHING };

bool rq_lock[CPUS];		/* rq.lock */
bool queue_lock;		/* that of the shared queue */
bool ext_task_dsq = true;	/* ext_task.dsq: it is in the shared queue */
mtype ext_task_op = OP_NONE;	/* ext_task.op; OP_QUEUED: the scheduler has it */
byte ext_task_holding;		/* ext_task.holding */
bool ext_rq_held[CPUS];		/* ext_rq.held is the task */
byte task_cpu;			/* task.cpu */
bool task_on_rq;		/* task.on_rq is TASK_MIGRATING */
bool is_local;			/* it is in the local queue of its CPU */
bool ended;			/* and its memory is given back */

inline host_lock(c) { atomic { !rq_lock[c] -> rq_lock[c] = true } }
inline host_unlock(c) { rq_lock[c] = false }
inline lock_queue() { atomic { !queue_lock -> queue_lock = true } }
inline unlock_queue() { queue_lock = false }

/* Locks the runqueue that the task is on when the lock is held. */
inline task_rq_lock()
{
	do
	:: true ->
		rq = task_cpu;
		host_lock(rq);
		if
		:: rq == task_cpu -> break
		:: else -> host_unlock(rq)
		fi
	od
}

inline ext_dsq_add()
{
	assert(!ext_task_dsq && !is_local && !ext_task_holding);
	ext_task_dsq = true
}

inline ext_dsq_del()
{
	assert(ext_task_dsq);
	ext_task_dsq = false
}

inline ext_dsq_in()
{
	lock_queue();
	ext_dsq_add();
	ext_task_op = OP_NONE;
	unlock_queue()
}

inline note_hold()
{
	ext_task_holding = me + 1;
	ext_rq_held[me] = true
}

inline ext_hold()
{
	if
	:: HOLD_TOO_LATE -> ext_dsq_del()
	:: else -> note_hold(); ext_dsq_del()
	fi
}

inline to_local()
{
	assert(!ext_task_dsq && !is_local && ext_task_op == OP_NONE);
	is_local = true
}

/* The task, taken by @me, belongs to @src. It goes to the local queue of @me. */
inline deliver_held()
{
	if
	:: src != me -> host_unlock(me); host_lock(src)
	:: else
	fi;
	if
	:: ASK_THE_TASK -> assert(!ended); mine = (ext_task_holding == me + 1)
	:: TRUST_THE_HOLD -> mine = true
	:: else -> mine = ext_rq_held[me]
	fi;
	ext_rq_held[me] = false;
	if
	:: mine ->
		assert(!ended && task_cpu == src);
		ext_task_holding = 0;
		if
		:: src != me ->
			task_on_rq = true;
			task_cpu = me;
			host_unlock(src);
			host_lock(me);
			task_on_rq = false
		:: else
		fi;
		to_local()
	:: !mine && src != me -> host_unlock(src); host_lock(me)
	:: else
	fi
}

inline ext_consume()
{
	lock_queue();
	if
	:: ext_task_dsq ->
		src = task_cpu;
		ext_hold();
		unlock_queue();
		if
		:: HOLD_TOO_LATE -> note_hold()
		:: else
		fi;
		deliver_held()
	:: else -> unlock_queue()
	fi
}

inline claim()
{
	atomic {
		claimed = (ext_task_op == OP_QUEUED);
		if
		:: claimed && !WITHOUT_CLAIM -> ext_task_op = OP_DISPATCHING
		:: else
		fi
	}
}

/* The scheduler has inserted the task: into the shared queue, or the local one of @me. */
inline finish()
{
	claim();
	if
	:: claimed -> ext_dsq_in()
	:: claimed ->
		note_hold();
		src = task_cpu;
		ext_task_op = OP_NONE;
		deliver_held()
	:: else
	fi
}

inline take_back()
{
	atomic {
		if
		:: ext_task_op == OP_QUEUED -> ext_task_op = OP_NONE
		:: else
		fi
	};
	ext_task_op != OP_DISPATCHING
}

inline ext_withdraw()
{
	if
	:: is_local -> is_local = false
	:: !is_local && ext_task_dsq ->
		lock_queue();
		if
		:: NO_SECOND_LOOK || ext_task_dsq -> ext_dsq_del()
		:: else
		fi;
		unlock_queue()
	:: else
	fi;
	if
	:: ext_task_holding -> ext_rq_held[ext_task_holding - 1] = false
	:: else
	fi;
	ext_task_holding = 0
}

active [CPUS] proctype dispatcher()
{
	byte me = _pid, src, n;
	bool mine, claimed;

	do
	:: n < ROUNDS ->
		host_lock(me);
		if
		:: ext_consume()
		:: finish()
		fi;
		host_unlock(me);
		n++
	:: else -> break
	od
}

/* A timer moves the task: it leaves its queue, and comes back there, or goes to another CPU. */
inline move_outside()
{
	task_rq_lock();
	lock_queue();
	there = !task_on_rq && !ended && (MOVE_BLINDLY || ext_task_dsq);
	if
	:: there && ext_task_dsq -> ext_dsq_del()
	:: else
	fi;
	unlock_queue();
	if
	:: there -> ext_dsq_in(); host_unlock(rq)
	:: there ->
		task_on_rq = true;
		task_cpu = 1 - rq;
		host_unlock(rq);
		task_rq_lock();
		task_on_rq = false;
		to_local();
		host_unlock(rq)
	:: else -> host_unlock(rq)
	fi
}

active proctype timer()
{
	byte rq;
	bool there;

	move_outside()
}

/* A change of its parameters: it leaves, and comes back anywhere, or ends. */
active [2] proctype changer()
{
	byte rq, n;

	do
	:: n < CHANGES ->
		task_rq_lock();
		if
		:: ended -> host_unlock(rq); break
		:: else
		fi;
		if
		:: task_on_rq -> host_unlock(rq); n++
		:: else ->
			assert(ext_task_dsq || is_local || ext_task_holding ||
			       ext_task_op != OP_NONE);
			take_back();
			ext_withdraw();
			assert(!ext_task_dsq && !is_local && !ext_task_holding &&
			       ext_task_op == OP_NONE && !ext_rq_held[0] && !ext_rq_held[1]);
			if
			:: ext_dsq_in()
			:: ext_task_op = OP_QUEUED
			:: ended = true
			fi;
			host_unlock(rq);
			n++
		fi
	:: else -> break
	od
}
