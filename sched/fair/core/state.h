/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fair class's structures: a queue of entities, and a task group with its queue on each CPU.
 */
#pragma once

#include "lib/rbtree.h"
#include "sched/fair/core/bandwidth.h"
#include "sched/task.h"

/* @nr tasks; @nr_idle of them are SCHED_IDLE or in an idle group. */
struct tally {
	u32 nr, nr_idle;
};

struct propagation {
	bool pending;
	s64 runnable; /* change of the sum of runnable fractions, in units of load_sum */
};

enum {
#define POLICY(name, queue_bytes, group_bytes) POLICY_##name,
#define GUEST(name, queue_bytes)
#include "sched/fair/policies.def"
#undef GUEST
#undef POLICY
	NR_POLICIES /* built in */
};

/*
 * A policy's own bytes in each queue: only its own file knows what lies there, and they stay what
 * they are while another policy has the queue. Zero when the queue is made.
 */
struct queue_state {
#define POLICY(name, queue_bytes, group_bytes) _Alignas(8) u8 name[queue_bytes];
#define GUEST(name, queue_bytes)	       _Alignas(8) u8 name[queue_bytes];
#include "sched/fair/policies.def"
#undef GUEST
#undef POLICY
};

/* The same in each task group. guarded by: the host (group.h) */
struct group_state {
#define POLICY(name, queue_bytes, group_bytes) _Alignas(8) u8 name[group_bytes];
#define GUEST(name, queue_bytes)
#include "sched/fair/policies.def"
#undef GUEST
#undef POLICY
};

/*
 * A queue of fair entities: a CPU has one of the root and one of each task group, in a tree.
 * guarded by: rq lock
 */
struct fair_queue {
	GUARDED(rq->lock, "placement and balancing of any CPU: right a moment ago is right enough");
	struct rq *rq;
	struct entity *owner;	  /* stands for this queue in the one above; the root's: NULL */
	struct task_group *group; /* whose; the root's: NULL */
	struct list link;	  /* in rq->queues, below its parent's */
	u32 depth;		  /* the root's is 0 */
	bool idle;		  /* as a whole it is SCHED_IDLE to the queue above */
	bool limited;		  /* its time counts: by bandwidth.c; the root's: fair server */
	bool throttled;		  /* by bandwidth.c: it is not in the queue above */
	const struct fair_policy *policy; /* whose terms its numbers are in */
	const struct fair_hooks *asked;	  /* of the policy, or those that it lends this queue */
	const struct fair_hooks *hooks;	  /* the same, or those that record what they answer */
	struct load_weight load;	  /* sum over queued entities, the running one included */
	u32 nr_running;			  /* queued entities, the running one included */
	u32 nr_idle;			  /* of them, SCHED_IDLE */
	struct tally tasks;	 /* queued here and below, except below a throttled queue */
	struct rb_tree timeline; /* queued entities except the running one, in the policy's order */
	struct rb_tree due;	 /* those of them, instead, that have a time when they are due */
	struct entity *curr;	 /* the running entity; not in the timeline */
	u8 rule;		 /* of decision_rule: the last one that because() told of */
	u8 number;		 /* of its policy, in records of decisions */
	bool timed_turns;	 /* the root's: the policy is asked for a timer at each turn */
	struct pelt avg;	 /* over queued and sleeping entities of this CPU */
	struct propagation up;	 /* what came and went below and is not yet in owner's averages */
	u64 load_contrib, load_due; /* its part of group->load_avg; when that may change */
	s64 remaining;		    /* ns of the group's runtime it has fetched; may be overdrawn */
	u64 throttled_at;
	u64 pelt_stopped;	    /* throttled: its pelt_now() since then */
	u64 pelt_skipped;	    /* by how much it is behind that of the queue above */
	struct list throttled_link; /* in rq->bandwidth.throttled */
	GUARDED(bandwidth->lock);
	u64 debt;		 /* ns that it must be paid to run */
	struct list debtor_link; /* in the pool's list while debt is not 0 */

	struct queue_state policy_state; /* of each policy: fair/core/policy.h */
};

/* --- task groups ------------------------------------------------------------ */

struct group_cpu {
	struct entity entity;	  /* stands for queue in the parent's */
	struct fair_queue queue;  /* of the members that are on this CPU */
	u64 queued_ns, queued_at; /* how long entity was queued; since when it is */
} __aligned(64);

struct task_group {
	/* guarded by: the host (group.h); shares also read by every CPU */
	struct task_group *parent; /* NULL: a child of the root */
	struct list children, sibling;
	u64 shares;		  /* as a weight: shares << 10 */
	u32 id;			  /* number, from 1 on; 0 is the root */
	char name[TASK_COMM_LEN]; /* cut off as those of tasks are */
	bool idle;
	u32 number;			/* the host's */
	u16 clamp_request[2], clamp[2]; /* asked for, and in force: see freq/clamp_group.c */

	struct bandwidth bandwidth;
	struct group_state policy_state;
	u64 load_avg; /* sum of the queues' load_contrib; atomic */
	struct group_cpu cpu[];
};

static inline struct task *task_of(struct entity *e)
{
	return container_of(e, struct task, fair);
}

static inline bool entity_is_task(const struct entity *e)
{
	return !e->own_queue;
}
