/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The deadline class's private state, in its areas of a runqueue and of a task. For
 * sched/dl/ and white-box tests.
 */
#pragma once

#include "sched/core/core.h"
#include "sched/fair_server.h"

/* Bandwidth that a task has left, but that counts as used up to its zero-lag time. */
struct dl_linger {
	u64 until, bw;
};

#define DL_LINGER_MAX 8

/* The bandwidth admitted on the whole machine. It lies in CPU 0's part; see dl_machine(). */
struct dl_machine {
	struct host_lock lock;
	/* guarded by: lock */
	u64 total_bw;  /* of the tasks of the class, asleep or not, and of what lingers */
	u64 server_bw; /* of the fair servers of all CPUs in service, in use or not */
	u32 nr_lingering;
	struct dl_linger lingering[DL_LINGER_MAX];
	u32 nr_overloaded; /* CPUs with dl_rq.overloaded; atomic */
};

/* The class's state of a task. guarded by: rq lock */
struct dl_task {
	/* parameters */
	u64 runtime_ns, relative_ns,
		period_ns; /* relative_ns: the deadline from the period's start */
	u64 bw;		   /* runtime / period, as admitted; 0: it is not */
	/* the current instance */
	u64 deadline;	  /* the key of ready */
	u64 replenish_at; /* throttled: the key of throttled */
	s64 budget_ns;	  /* below 0: overdrawn */
	bool started;	  /* there was an instance: these fields mean something */
	bool throttled;	  /* no budget until replenish_at */
	bool queued;	  /* in one of the trees */
	struct rb_node node;
};

/* The fair server of a CPU (server.c). guarded by: rq lock */
struct dl_server {
	struct dl_task d; /* its parameters and instance, in no tree */
	bool active;	  /* fair tasks are queued: it is deferred, ready or throttled */
	bool ready;	  /* it competes with the tasks in dl_rq.ready */
	bool starving;	  /* fair tasks needed it last: it is not deferred */
	u64 idle_ns;	  /* rq->idle_ns when it was active last */
};

/* The class's state of a runqueue. guarded by: rq lock */
struct dl_rq {
	struct rb_tree ready;	  /* queued tasks that may run, by deadline; the running one too */
	struct rb_tree throttled; /* queued tasks without budget, by replenish_at */
	u32 nr_ready, nr_throttled;
	u32 nr_movable;	 /* of both, allowed on another CPU */
	bool overloaded; /* a task waits that could run elsewhere; also read racily */
	u64 earliest;	 /* of what is ready, if anything is; also read racily */
	u64 queued_bw;	 /* sum over both */
	struct dl_server server;
	struct dl_machine machine; /* CPU 0's only */
};

_Static_assert(sizeof(struct dl_rq) <= sizeof(((struct rq *)0)->class_state.dl),
	       "its line in class.def promises less");
_Static_assert(sizeof(struct dl_task) <= CLASS_TASK_BYTES, "a task has room for less");

static inline struct dl_rq *dl_of(struct rq *rq)
{
	return (struct dl_rq *)rq->class_state.dl;
}

static inline const struct dl_rq *dl_seen(const struct rq *rq)
{
	return (const struct dl_rq *)rq->class_state.dl;
}

static inline struct dl_machine *dl_machine(struct sched *s)
{
	return &dl_of(cpu_rq(s, 0))->machine;
}

static inline struct dl_task *dl_part(struct task *t)
{
	return (struct dl_task *)t->class_state;
}

static inline const struct dl_task *dl_part_seen(const struct task *t)
{
	return (const struct dl_task *)t->class_state;
}

static inline struct task *dl_task_of(struct rb_node *node)
{
	return (struct task *)((u8 *)node - offsetof(struct dl_task, node) -
			       offsetof(struct task, class_state));
}

/* The first task in @tree, or NULL. */
static inline struct task *dl_first(const struct rb_tree *tree)
{
	return rb_is_empty(tree) ? NULL : dl_task_of(rb_first(tree));
}

/* Is the fair server of @rq, locked, more urgent than every deadline task there? */
static inline bool dl_server_is_first(struct rq *rq)
{
	const struct dl_rq *dl = dl_of(rq);

	debug_assert_locked(rq);
	return dl->server.ready &&
	       (!dl->nr_ready ||
		time_before(dl->server.d.deadline, dl_part(dl_first(&dl->ready))->deadline));
}

/* --- the bandwidth server (cbs.c) ------------------------------------------- */

/* A new instance that begins at @now. */
void cbs_start(struct dl_task *d, u64 now);
/*
 * The task wakes up, or enters the class, at @now: it goes on with its instance, gets a new one, or
 * is throttled until its next period.
 */
void cbs_wake(struct dl_task *d, u64 now);
/* The deadline that cbs_wake() would give it. */
u64 cbs_wake_deadline(const struct dl_task *d, u64 now);
/* The budget is used up at @now: throttled until the next period; if that has begun it goes on. */
void cbs_exhaust(struct dl_task *d, u64 now);
/* The budget is used up, and the next period has begun by @now: a new budget for it. */
void cbs_replenish(struct dl_task *d, u64 now);
/* When the task, if it stopped for ever, would have got no more than its bandwidth. */
u64 cbs_zero_lag(const struct dl_task *d);

/* --- admission (admission.c) -------------------------------------------------- */

#define DL_BW_SHIFT 20 /* a whole CPU is 1 << 20 */

/* Are the parameters in range? */
bool dl_valid(const struct sched_attr_req *req);
/* An operation of the class. */
int dl_admit(struct sched *s, const struct admission_request *request);
/* @t, whose runqueue is locked, gives its bandwidth back at its zero-lag time. Once is enough. */
void dl_release(struct sched *s, struct task *t);
/*
 * Operations for fair servers: a CPU comes into service, or leaves; its server is to have @bw. 0 or
 * -EBUSY. Lock of its runqueue held.
 */
void dl_count_server(struct rq *rq, bool online);
int dl_admit_server(struct rq *rq, u64 bw);
/*
 * @policy is the machine's from now on: 0. -EBUSY: every CPU would have a server, and tasks have
 * been promised more. No task is admitted in between.
 */
int dl_publish_policy(struct sched *s, const struct fair_policy *policy);
/* So much of a CPU. */
u64 dl_bw(u64 runtime, u64 period);
/* The bandwidth admitted at @now, and the limit of one CPU: ~0 if there is none. */
u64 dl_total_bw(struct sched *s, u64 now);
u64 dl_cpu_bw(const struct tunables *tn);

/* --- the fair server (server.c) ------------------------------------------------ */

extern const struct fair_server dl_fair_server;

void dl_server_init(struct rq *rq);
/* As long as it is deferred: when its budget no longer fits before its deadline if it waits on. */
u64 dl_server_zero_laxity(const struct dl_server *server);
/* Its part of the class's operations. */
u64 dl_server_next_timer(const struct rq *rq);
void dl_server_timer(struct rq *rq);

/* Is the timer of @rq armed for @when or before, or about to be? */
static inline bool dl_timer_comes(const struct rq *rq, u64 when)
{
	return rq->timer_stale || (rq->timer_armed && !time_before(when, rq->timer_armed));
}

/* --- other CPUs (dl_smp.c) ---------------------------------------------------- */

/* Does some CPU that @t of @rq, locked, may use run something less urgent than @t? */
bool dl_is_later_elsewhere(struct rq *rq, struct task *t);
/* Something came to what is ready on @rq, locked, or left: renew what others go by. */
void dl_update(struct rq *rq);
/* @rq turned to something less urgent by other means than a switch, which would have pulled. */
void dl_ask_others_to_push(struct rq *rq);
/* Operations of the class. */
unsigned dl_select_cpu(struct rq *rq, struct task *t, unsigned cpu, unsigned reason);
void dl_push(struct rq *rq);
/*
 * True if @t, whose budget is new, leaves for a CPU with less urgent work though it could run here.
 * Linux 6.12 does that since a single task that does not run yet counts as one that waits.
 */
bool dl_push_replenished(struct rq *rq, struct task *t);
void dl_pull(struct rq *rq, struct task *prev);
