/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scheduler's part of a thread. Hosts embed a `struct task` in their own
 * thread structure; the memory is theirs, the contents are the scheduler's.
 * Hosts may read pid, comm, state, cpu and the counters, and write comm.
 *
 * GUARDED() names the lock that a writer holds; rq is the runqueue of the task's CPU.
 */
#pragma once

#include "lib/cpumask.h"
#include "lib/list.h"
#include "lib/rbtree.h"
#include "lib/types.h"
#include "sched/balance/shared_link.h"

struct sched_class;
struct fair_policy;
struct fair_queue;
struct task_group;

#define TASK_COMM_LEN 16

/* The kinds of sleep, one bit each, so that a waker can name several. Linux's values. */
enum task_state {
	TASK_RUNNING = 0,
	TASK_INTERRUPTIBLE = 0x1,
	TASK_UNINTERRUPTIBLE = 0x2,
	TASK_STOPPED = 0x4,
	TASK_TRACED = 0x8,
	TASK_DEAD = 0x10,      /* after its last switch it never runs again */
	TASK_WAKEKILL = 0x100, /* with UNINTERRUPTIBLE: its end does wake it */
	TASK_WAKING = 0x200,   /* on its way to another CPU's runqueue */
	TASK_NOLOAD = 0x400,   /* with UNINTERRUPTIBLE: does not count in the load average */
	TASK_NEW = 0x800,      /* not started yet */

	TASK_IDLE = TASK_UNINTERRUPTIBLE | TASK_NOLOAD, /* how kernel threads wait for work */
	TASK_KILLABLE = TASK_UNINTERRUPTIBLE | TASK_WAKEKILL,
	TASK_NORMAL = TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE,
};

/* The policies: POLICY(SCHED_x, its number, its name). The class of each says what its tasks do. */
#define SCHED_POLICIES(POLICY)                                                                     \
	POLICY(SCHED_NORMAL, 0, "normal")                                                          \
	POLICY(SCHED_FIFO, 1, "fifo")                                                              \
	POLICY(SCHED_RR, 2, "rr")                                                                  \
	POLICY(SCHED_BATCH, 3, "batch")                                                            \
	POLICY(SCHED_IDLE, 5, "idle")                                                              \
	POLICY(SCHED_DEADLINE, 6, "deadline")                                                      \
	POLICY(SCHED_EXT, 7, "ext")
#define POLICY_LIMIT 32 /* above every number */

enum sched_policy {
#define POLICY(policy, number, name) policy = number,
	SCHED_POLICIES(POLICY)
#undef POLICY
};
#define SCHED_RESET_ON_FORK 0x40000000 /* or-ed into the policy by sched_setscheduler(2) */

/* Where a task is with respect to runqueues. */
enum task_on_rq {
	TASK_OFF_RQ = 0,
	TASK_QUEUED = 1,    /* running or waiting to */
	TASK_MIGRATING = 2, /* between two runqueues: dequeued here, not yet enqueued there */
	TASK_DELAYED = 3,   /* asleep, but in its queue until what it owes there is paid */
};

/* A weight and floor((2^32 - 1) / weight), so that a division becomes a multiplication. */
struct load_weight {
	u64 weight;  /* table weight << 10 */
	u32 inverse; /* of weight >> 10; 0: not computed yet */
};

/* Decaying averages of a task or a queue; see pelt.c. Sums are in units of 1024 ns. */
struct pelt {
	u64 last_update;
	u64 load_sum, runnable_sum;
	u32 util_sum;
	u32 period_contrib; /* part of the current 1024-unit period already counted */
	u64 load_avg, runnable_avg, util_avg;
	u32 util_est_enqueued,
		util_est_ewma; /* utilisation when it last went to sleep; see pelt.c */
};

/* Words of an entity that belong to its policy; of a family, to policies. */
#define ENTITY_STATE_WORDS 12
#define FAMILY_STATE_WORDS 8

/* The fair class schedules entities: a task, or what a task group has on one CPU. */
struct entity {
	/* --- common to all fair policies --- */
	GUARDED(rq->lock, "readers of attributes, balancing, traces: one word");
	struct fair_queue *queue;     /* where it is queued, or was or will be */
	struct fair_queue *own_queue; /* a group's: its members on this CPU; a task's: NULL */
	struct load_weight load;
	struct rb_node node; /* in the queue's timeline, unless running or not queued */
	bool queued;	     /* it counts in the queue: waits in the timeline, or runs */
	const struct fair_policy *policy; /* whose terms its numbers are in; NULL: none yet */
	u64 vruntime;			  /* ns of virtual time; see fair.h */
	u64 due;	/* not 0: it waits in queue->due, in order of this, not in the timeline */
	u64 exec_start; /* when it was last charged; 0: its cache on this CPU is cold */
	u64 sum_exec;	/* ns on a CPU, ever */
	u64 prev_sum_exec; /* sum_exec when it was last picked */
	u64 nr_migrations;
	struct pelt avg;

	/* State that @policy keeps of it, and only @policy can read */
	GUARDED(rq->lock, "a survey of a family (fair/bore/burst.c): one word");
	u64 policy_state[ENTITY_STATE_WORDS];
};

/* A task's relatives; see family.c. */
struct family {
	GUARDED(sched->family_lock);
	struct task *leader;	 /* the task its process began with; NULL: it has left the family */
	bool ended;		 /* it was unlinked; a leader stays for the sake of its threads */
	struct list thread_link; /* in leader->threads, unless it is the leader */
	/* of a leader */
	struct task *parent; /* leader of the process that made this one; NULL: none */
	struct list sibling; /* in parent->children */
	struct list children, threads;
	u32 nr_children;
	u32 nr_threads; /* of its process that have not ended, itself included */
	u64 policy_state[FAMILY_STATE_WORDS]; /* of the policies that keep something of a family */
};

/* Clamps of a task: its utilisation is taken for so much at least (0), at most (1). See clamp.c. */
struct task_clamp {
	u16 request[2]; /* 0..1024; only valid if it is the task's own */
	u16 value[2];	/* with which its runqueue counts it */
	bool own[2], counted;
};

struct task {
	/* --- identity; written by the host --- */
	int pid;
	char comm[TASK_COMM_LEN];

	/* PROTOCOL: sleep (sched.h). The task itself announces a sleep, or takes that back. */
	GUARDED(self, rq->lock, "wakers, which decide under the lock");
	u32 state;

	/* CPU of the runqueue that has, or last had, the task. Written while it is not queued. */
	GUARDED(rq->lock, "task_rq_lock(), which locks and looks again; placement, traces: hints");
	u32 cpu;
	GUARDED(rq->lock, "readers of attributes, traces: one word");
	u8 on_rq; /* enum task_on_rq */
	bool reset_on_fork;
	bool contributes_to_load; /* it sleeps uninterruptibly and is counted in its runqueue */
	s32 push_cpu;		  /* where to go when it leaves its CPU next; PUSH_NONE */
	const struct sched_class *class;
	int policy;	 /* enum sched_policy */
	int static_prio; /* 100..139 from nice -20..19 */
	int rt_priority; /* 1..99, or 0 for policies without priorities */
	u64 slice_ns;	 /* size of request asked for, 0: the policy's (fair policies) */
	int prio; /* of the kernel: -1 deadline, 0..99 real time, 100..139 fair: small is urgent */

	struct entity fair;
	GUARDED(rq->lock, "the class's own operations: hints");
	u64 class_state[16]; /* private to the task's class: CLASS_TASK_BYTES, class.h */

	struct list link; /* rq->fair_tasks, by its lock; the mover's while TASK_MIGRATING */
	struct shared_link shared;
	GUARDED(rq->lock, "readers of attributes, traces: one word");
	struct task_group *group; /* NULL: the root */
	struct cpumask allowed;
	u32 nr_allowed;
	GUARDED(sched->waste_lock, "the holder of the runqueue's lock");
	u32 waste_cpu;		/* the idle CPU it could run on; see waste.c, also the next */
	struct list waste_link; /* in rq->waste.restricted */
	GUARDED(atomic);
	u32 lost_cpu; /* 1 + the last allowed CPU, which went offline; 0: none did */
	GUARDED(constant);
	bool kthread; /* of the kernel's own */
	GUARDED(rq->lock, "placement: a hint");
	u8 tune_group; /* its boost group (freq.h); written by the host */
	struct task_clamp clamp;

	struct family family;

	/* --- wake placement; written by the running task or its waker, read racily (hints) --- */
	const struct task *last_wakee; /* compared, never followed */
	u32 wakee_flips;	       /* how often last_wakee changed, halved every second */
	u64 wakee_flips_stamp;
	u32 recent_used_cpu;

	/* --- statistics --- */
	GUARDED(rq->lock, "anybody: one word");
	u64 nr_voluntary, nr_involuntary; /* switches away: asleep, preempted */
	u64 wait_start;	 /* since when it is runnable without a CPU; 0 if it is not */
	u64 sleep_start; /* when it last blocked */
	u64 wait_sum;	 /* ns, ever */
	/* While the tunable sched_schedstats is 1: the longest and the sum, ns. */
	u64 wait_max, sleep_max, block_max, sleep_sum, block_sum;
	u64 nr_slices; /* times it got the CPU */
	u64 nr_wakeups;
};

#define PUSH_NONE (-1)

static inline bool task_is_fair_policy(int policy)
{
	return policy == SCHED_NORMAL || policy == SCHED_BATCH || policy == SCHED_IDLE ||
	       policy == SCHED_EXT;
}
