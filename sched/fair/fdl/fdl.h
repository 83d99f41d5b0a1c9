/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by FDL's files: its virtual time, and its part of queues and groups. The algorithm is in
 * fdl.c; parameters and counters in fdl_group.c, the controller of shares in fdl_control.c,
 * placement in fdl_place.c.
 */
#pragma once

#include "sched/fair/core/fair.h"

/* FDL's of a group on one CPU. guarded by: rq lock */
struct fdl_cpu {
	u64 rr_ns, wakeup_ns; /* as the group's, from the moment they are in effect here */
	u64 waiting_since;    /* when it was queued; not when it stopped running */
	u64 nr_picks, nr_container_picks, nr_misses, lag_pushed_ns, max_gap_ns;
	u64 demand_ns; /* for how long its tasks wanted to run, all added up, until demand_at */
	u64 demand_at;
	u32 demand_nr;		     /* how many tasks have wanted to run since then */
	u64 usage_seen, demand_seen; /* sum_exec and demand_ns at the controller's last pass */
};

/* FDL's part of a queue. */
struct fdl_queue {
	u64 lag;       /* by how much its virtual time is behind the clock; never decreases */
	u64 container; /* deadline of all that have none, together; 0: not needed */
	u64 weight;    /* of the entities that have one, queued or running */
	u32 nr;	       /* how many these are */
	u32 nr_groups; /* that have deadlines, whether queued or not */
	/* hints, of the root's queue */
	u64 curr_hint;	     /* the running entity's deadline since its wakeup; 0: none */
	u64 next_hint;	     /* when the earliest deadline of those that wait ends; 0: none */
	struct fdl_cpu part; /* of the group whose queue this is */
};
POLICY_QUEUE_STATE(fdl)

/* FDL's of a group. guarded by: the host */
struct fdl_group {
	u64 rr_ns, wakeup_ns;
	u64 guaranteed;		 /* shares */
	u64 children_guaranteed; /* their sum */
	u64 shares; /* of the controller, also read by every CPU; 0: nothing is guaranteed */
	u64 abs_guaranteed;	   /* CPU time, in 1024ths */
	u64 avg_usage, avg_wait;   /* ns of CPU time, and of its tasks' waiting, in an interval */
	u64 usage_ns, demand_ns;   /* being added up: since the controller's last pass */
	bool increased, decreased; /* what that did to shares */
	/* of the root */
	u64 controlled;	   /* time of the controller's last pass; 0: none, or too long ago */
	u32 nr_guaranteed; /* groups, at any depth, to which something is guaranteed */
};
POLICY_GROUP_STATE(fdl)

/* The time that deadlines are in: the clock, put off by what was missed. */
static inline u64 fdl_now(const struct fair_queue *q)
{
	return q->rq->clock - fdl_queue(q)->lag;
}

static inline struct fdl_cpu *fdl_of(const struct entity *e)
{
	SCHED_DEBUG_ASSERT(e->own_queue);
	return &fdl_queue(e->own_queue)->part;
}

/* How long after its turn @e, a task or a group, is due again; 0: it has no deadlines. */
static inline u64 fdl_period(struct entity *e)
{
	return e->own_queue ? fdl_of(e)->rr_ns : 0;
}

/* @deadline, but 1 instead of 0, which would mean "none". */
static inline u64 fdl_some(u64 deadline)
{
	return deadline ?: 1;
}

/* @e, running, or the container if it has no deadline, used @delta ns (fdl_vtime.c). */
void fdl_charge_deadline(struct fair_queue *q, struct entity *e, u64 delta);

/* Hook shares: those that the controller keeps, if something is guaranteed to @tg (fdl_group.c). */
u64 fdl_shares(const struct task_group *tg);

/* Hooks demand and params (fdl_group.c). */
void fdl_demand(struct entity *e);
void fdl_params(const struct task_group *tg, struct task_group_params *out);

/* Hook forget_group: @tg is guaranteed nothing any more, and has no deadline (fdl_group.c). */
void fdl_forget_group(struct sched *s, struct task_group *tg);

/* The invariants of fair/fdl_debug.c, and the policy's lines in dumps. */
void fdl_numbers(struct fair_queue *q, struct entity *e, unsigned where,
		 struct decision_numbers *n);
void fdl_candidates(struct run *run, struct fair_queue *q);
void fdl_queue_numbers(struct fair_queue *q, struct queue_numbers *n);
void fdl_check(struct fair_queue *q);
void fdl_dump(struct entity *e, struct text *out);
void fdl_dump_queue(struct fair_queue *q, struct text *out);

/* Hook select_cpu (fdl_place.c). */
int fdl_select_cpu(struct sched *s, const struct task *t, unsigned prev, unsigned target);

/* The controller makes the shares of a group from this; CPU time in 1024ths of a CPU. */
struct fdl_input {
	u64 guaranteed, target; /* shares, and what CPU time they stand for; not 0 */
	u64 shares;
	u64 usage, wait; /* averages */
	bool parent_increased, parent_decreased;
};
u64 fdl_next_shares(const struct tunables *tn, const struct fdl_input *in);
/* An average over the controller's intervals, in ns, as CPU time. */
u64 fdl_cpu_time(const struct sched *s, u64 ns);
