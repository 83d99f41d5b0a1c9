/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the fair class keeps: a queue of entities, and a task group with its queue on each CPU.
 */
#pragma once

#include "lib/rbtree.h"
#include "sched/fair/core/bandwidth.h"
#include "sched/task.h"

/* So many tasks, of which so many are SCHED_IDLE or in an idle group. */
struct tally {
	u32 nr, nr_idle;
};

struct propagation {
	bool pending;
	s64 runnable; /* change of the sum of runnable fractions, in units of load_sum */
};

/* What EEVDF keeps of a queue; see fair/eevdf.h. */
struct eevdf_queue {
	/* Over all queued entities, the running one included; weights as in the nice table. */
	s128 sum_key;	/* (vruntime - v0) * weight */
	u64 sum_weight; /* weight */
	u64 v0;		/* near the virtual time; moves freely, and sum_key with it */
} __attribute__((packed, aligned(8)));

/* What FDL keeps of a queue; see fair/fdl.h. */
struct fdl_queue {
	u64 lag;	 /* by how much its virtual time is behind the clock; never decreases */
	u64 container;	 /* deadline of all that have none, together; 0: not needed */
	u64 weight;	 /* of the entities that have one, queued or running */
	u64 checked_lag; /* at the last sched_check() */
	u32 nr;		 /* how many these are */
	u32 nr_groups;	 /* that have deadlines, whether queued or not */
};

/* BORE's tunables as of the last time the runqueue was told of a change. */
struct burst_params {
	u32 mode;	     /* sched_bore */
	u32 offset;	     /* sched_burst_penalty_offset */
	u32 scale;	     /* sched_burst_penalty_scale */
	bool spare_kthreads; /* sched_burst_exclude_kthreads */
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

/* One of a CPU's tree of queues: the root's, or that of a task group. guarded by: rq lock */
struct fair_queue {
	struct rq *rq;
	struct entity *owner;	  /* stands for this queue in the one above; the root's: NULL */
	struct task_group *group; /* whose; the root's: NULL */
	struct list link;	  /* in rq->queues, below its parent's */
	u32 depth;		  /* the root's is 0 */
	bool idle;		  /* as a whole it is SCHED_IDLE to the queue above */
	bool limited, throttled;  /* by bandwidth.c; throttled: it is not in the queue above */
	const struct fair_policy *policy; /* whose terms its numbers are in */
	const struct fair_hooks *hooks;	  /* of the policy, or those that it lends this queue */
	struct load_weight load;	  /* sum over queued entities, the running one included */
	u32 nr_running;			  /* queued entities, the running one included */
	u32 nr_idle;			  /* of them, SCHED_IDLE */
	struct tally tasks;	 /* queued here and below, except below a throttled queue */
	u64 min_vruntime;	 /* never decreases; what "now" is in virtual time (CFS) */
	struct rb_tree timeline; /* queued entities except the running one, in the policy's order */
	struct rb_tree deadlines; /* of those, instead, the ones that have a deadline */
	struct fdl_queue fdl;
	struct entity *curr; /* the running entity; not in the timeline */
	bool timed_turns;    /* the root's: the policy is asked for a timer at each turn */
	struct entity *next, *last,
		*skip;	       /* nominations of the policy for its next pick (CFS: buddies) */
	struct pelt avg;       /* over queued and sleeping entities of this CPU */
	struct propagation up; /* what came and went below and is not yet in owner's averages */
	u64 load_contrib;      /* its part of group->load_avg */
	s64 remaining;	       /* ns of the group's runtime it has fetched; may be overdrawn */
	u64 throttled_at;
	u64 pelt_stopped;	    /* throttled: its pelt_now() since then */
	u64 pelt_skipped;	    /* by how much it is behind that of the queue above */
	struct list throttled_link; /* in rq->bandwidth.throttled */
	u64 debt;		    /* what releases it; guarded by: the pool's lock, as the next */
	struct list debtor_link;    /* in the pool's list while debt is not 0 */
	u64 checked_min_vruntime;   /* min_vruntime at the last sched_check() */
	struct eevdf_queue eevdf;
	struct queue_state policy_state;
};

/* --- task groups ------------------------------------------------------------ */

/* FDL's of a group on one CPU; see fair/fdl.h. guarded by: rq lock */
struct fdl_cpu {
	u64 rr_ns, wakeup_ns; /* as the group's, from the moment they are in effect here */
	u64 waiting_since;    /* when it was queued; not when it stopped running */
	u64 nr_picks, nr_container_picks, nr_misses, lag_pushed_ns, max_gap_ns;
	u64 demand_ns; /* sum of the times its tasks wanted to run, until demand_at */
	u64 demand_at;
	u32 demand_nr;		     /* tasks that want to, since then */
	u64 usage_seen, demand_seen; /* sum_exec and demand_ns at the controller's last pass */
};

struct group_cpu {
	struct entity entity;	 /* stands for queue in the parent's */
	struct fair_queue queue; /* of the members that are on this CPU */
	struct fdl_cpu fdl;
	u64 queued_ns, queued_at; /* how long entity was queued; since when it is */
} __aligned(64);

/* FDL's of a group; see fair/fdl.h. guarded by: the host */
struct fdl_group {
	u64 rr_ns, wakeup_ns;
	u64 guaranteed;		 /* shares */
	u64 children_guaranteed; /* their sum */
	u64 shares; /* of the controller, also read by every CPU; 0: nothing is guaranteed */
	u64 abs_guaranteed;	   /* CPU time, in 1024ths */
	u64 avg_usage, avg_wait;   /* ns of CPU time, and of its tasks' waiting, in an interval */
	u64 usage_ns, demand_ns;   /* being added up: since the controller's last pass */
	bool increased, decreased; /* what that did to shares */
};

struct task_group {
	/* guarded by: the host (group.h); shares also read by every CPU */
	struct task_group *parent; /* NULL: a child of the root */
	struct list children, sibling;
	u64 shares; /* as a weight: shares << 10 */
	bool idle;
	struct fdl_group fdl;

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
