/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The real-time class's private state, in its areas of a runqueue and of a task. For
 * rt.c and white-box tests.
 */
#pragma once

#include "sched/core/core.h"

/* The class's state of a runqueue. guarded by: rq lock */
struct rt_queue {
	u64 bitmap[2];		       /* which lists are not empty */
	struct list list[MAX_RT_PRIO]; /* FIFO for each priority */
	u32 nr_running;
	u32 nr_movable; /* of them, allowed on another CPU */
	bool throttled; /* its share of the period is used up: not counted in rq->nr_running */
	u64 used_ns;	/* run in this period */
	u64 period_end; /* 0: no period is running */
};

/* The class's state of a task. guarded by: rq lock */
struct rt_task {
	struct list link; /* in the list of its priority */
	u32 time_slice;	  /* ticks left (SCHED_RR) */
};

_Static_assert(sizeof(struct rt_queue) <= sizeof(((struct rq *)0)->class_state.rt),
	       "its line in class.def promises less");
_Static_assert(sizeof(struct rt_task) <= CLASS_TASK_BYTES, "a task has room for less");

static inline struct rt_queue *rt_of(struct rq *rq)
{
	return (struct rt_queue *)rq->class_state.rt;
}

static inline const struct rt_queue *rt_seen(const struct rq *rq)
{
	return (const struct rt_queue *)rq->class_state.rt;
}

static inline struct rt_task *rt_part(struct task *t)
{
	SCHED_DEBUG_ASSERT(t->class->rank == CLASS_rt);
	return (struct rt_task *)t->class_state;
}

/* The most urgent priority of a queued task, or MAX_RT_PRIO. */
static inline unsigned rt_first_prio(const struct rt_queue *rt)
{
	if (rt->bitmap[0])
		return (unsigned)__builtin_ctzll(rt->bitmap[0]);
	if (rt->bitmap[1])
		return 64 + (unsigned)__builtin_ctzll(rt->bitmap[1]);
	return MAX_RT_PRIO;
}

/* Is a class that is more urgent about to run on @rq? */
static inline bool rt_outranked(const struct rq *rq)
{
	return READ_ONCE(rq->active) & (BIT(CLASS_rt) - 1);
}

/* Does a task of @rq, locked, wait? All but one do, and that one too if it is outranked. */
static inline bool rt_one_waits(struct rq *rq)
{
	debug_assert_locked(rq);
	return rt_of(rq)->nr_running > (rt_outranked(rq) ? 0 : 1);
}

static inline struct task *rt_task_of(struct list *link)
{
	return (struct task *)((u8 *)link - offsetof(struct rt_task, link) -
			       offsetof(struct task, class_state));
}

/* A full round-robin slice in ticks (rt.c). */
u32 rr_slice_ticks(const struct sched *s);
/*
 * Counts @delta_ns of CPU time against rt_runtime of the present period, if one has begun. Time of
 * the deadline class counts as well: together they leave fair tasks their share. Only real-time
 * tasks are throttled for it. Lock: that of @rq, held. Source: Linux 6.1.
 */
void rt_account(struct rq *rq, u64 delta_ns);

/* --- other CPUs (rt_smp.c) ------------------------------------------------- */

/* Does some CPU that @t of @rq, locked, may use run something less urgent than @t? */
bool rt_is_lower_elsewhere(struct rq *rq, const struct task *t);
/* @rq turned to something less urgent by other means than a switch, which would have pulled. */
void rt_ask_others_to_push(struct rq *rq);
/* Operations of the class. */
unsigned rt_select_cpu(struct rq *rq, struct task *t, unsigned cpu, unsigned reason);
void rt_push(struct rq *rq);
void rt_pull(struct rq *rq, struct task *prev);
