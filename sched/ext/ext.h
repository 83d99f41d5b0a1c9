/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The class `ext`: tasks that a loaded scheduler orders (sched/ext.h). Its state lies in the memory
 * that came with the scheduler; a runqueue has a pointer to its part.
 *
 * A runnable task that does not run is in exactly one of these places:
 *
 *	a dispatch queue     local (of one CPU, and all that pick() looks at), global, or one of the
 *	                     scheduler's own
 *	with the scheduler   enqueue() kept it, in whatever it has; OP_QUEUED
 *	deferred             inserted for another CPU under this runqueue's lock: it moves soon
 *	                     after that is released (NOTICE_POKE)
 *	held                 a CPU has taken it off a queue and is on its way to the lock of the
 *	                     task's runqueue
 *
 * PROTOCOL: holding. Tasks in a shared queue belong to the runqueues on which they became runnable,
 * and one runqueue lock is held at a time. A CPU that takes one off, under the queue's lock, notes
 * it in `held` and itself in the task's `holding`. Then it goes over to the lock of the task's
 * runqueue. Whoever dequeues the task before holds that lock and clears `held`; so the CPU, once it
 * has the lock, knows by its own note whether the task is still its own, and follows the pointer
 * only then. tests/spin/hold.pml has the steps, and every order of them is tried.
 *
 * Locks: the runqueue's, and below it that of a queue or of the table of queues, never two of them.
 */
#pragma once

#include "sched/balance/sharedq.h"
#include "sched/core/core.h"
#include "sched/ext.h"

#define EXT_BUCKETS 256u

/* A member of a queue's list: a task's, or the place of a walk. */
struct ext_link {
	struct list list;
	bool cursor;
	bool queued;   /* a task's: it is runnable on its CPU */
	bool deferred; /* a task's: in ext_rq.deferred */
	bool selected; /* a task's: select_cpu was asked since it slept */
	bool ordered;  /* a task's: it is in dsq->order, too */
	bool direct;   /* a task's: direct_dsq says where to enqueue it */
	bool moves;    /* a task's: prep_move was asked, and it will go to another group */
};

/* guarded by: its lock; of a local one: the runqueue's */
struct ext_dsq {
	struct host_lock lock;
	u64 id;		      /* see PROTOCOL: queues that go (dsq.c); EXT_DSQ_INVALID: gone */
	struct list tasks;    /* of ext_link, in order */
	struct rb_tree order; /* those in order of vtime: all, or none */
	u32 nr, seq;
	bool used, local;
	struct ext_dsq *next; /* in its bucket */
};

/* How far a task is with the scheduler: the word & OP_STATE; the rest is a number of the turn. */
enum ext_op_state { OP_NONE, OP_QUEUEING, OP_QUEUED, OP_DISPATCHING, OP_STATE = 3, OP_TURN = 4 };

/* The class's part of a task. guarded by: rq lock unless said */
struct ext_task {
	struct ext_link at;  /* in dsq->tasks or ext_rq.deferred; guarded by: that queue */
	struct rb_node node; /* in dsq->order; guarded by: that queue */
	u64 vtime;	     /* seen->vtime as it entered dsq->order */
	struct ext_dsq *dsq; /* NULL: in none; changes under the lock of the queue, too */
	struct ext_seen *seen;
	u64 op;			      /* ext_op_state; atomic */
	u64 direct_dsq, direct_flags; /* where and how, decided before it is enqueued */
	u64 runnable_at;	      /* since when it waits; 0: it runs */
	struct list queued;	      /* in ext_rq.queued */
	u32 seq;		      /* of its insert into dsq */
	u16 holding; /* 1 + the CPU that has it in ext_rq.held; 0: none; guarded by: queue, rq */
	u16 sticky;  /* 1 + the CPU to whose local queue it moves; 0: none */
};
_Static_assert(sizeof(struct ext_task) <= CLASS_TASK_BYTES, "a task has room for less");

/* An insert that dispatch asked for. */
struct ext_slot {
	struct task *t;
	u64 op, dsq, flags;
};

/* The class's part of a runqueue. guarded by: rq lock unless said */
struct ext_rq {
	struct rq *rq;
	struct ext *x;
	struct ext_dsq local;
	struct list queued; /* all runnable tasks, the one that runs included */
	u32 nr_queued;
	struct list deferred;
	struct task *curr; /* that runs, and is queued; others ask whether there is one */
	bool last;	   /* curr gives way to nobody (ENQ_LAST), and is not counted as pickable */
	struct task *held; /* see PROTOCOL: holding; set under the lock of the queue */
	u64 watch_at;	   /* when to look for tasks that wait too long; 0: never */
	bool released;	   /* a more urgent class has the CPU, and the scheduler was told */
	u32 kick;	   /* enum ext_kicked, ored by any CPU; atomic */
	u32 nr_vain;	   /* kicks in a row that let nobody run: see count_vain() */
	u64 kicked_at;	   /* when the last one was heard */
	u64 took_ns;	   /* the time of operations, and when the last ended: see ext_took() */
	u64 took_until;	   /* this CPU only, interrupts off */
	u32 answered;	   /* ext.waits as it chose last, for others; see kick.c */
	/* whom it is to kick, see kick.c: from kick_first on; this CPU only, interrupts off */
	u8 *how; /* [nr_cpus], enum ext_kicked of each */
	u32 kick_first, kick_end;
	/* whom it waits for; this CPU only, interrupts off */
	bool waits; /* there are such CPUs */
	struct cpumask awaited;
	u32 *number; /* [nr_cpus], that it drew for each of them */
	/* guarded by: rq lock */
	struct ext_events events; /* others read them, too */
	u32 nr_slots, nr_dispatched;
	struct ext_slot slot[EXT_BATCH_MAX];
} __aligned(64);

/* The loaded scheduler. Constant after loading unless said. */
struct ext {
	struct sched *s;
	const struct ext_ops *ops;
	u32 batch;
	u64 timeout_ns;
	bool builtin_idle;
	bool bypass;	      /* no operation decides; written once, to true */
	bool ended;	      /* `exit` is complete */
	u32 waits;	      /* numbers of kicks that are waited for; atomic */
	u64 turn;	      /* tells each task's time with the scheduler from others; atomic */
	u32 ending;	      /* who sets it first writes `exit`; atomic */
	struct ext_exit exit; /* written once */
	struct cpumask idle, cores; /* idle CPUs, those of idle cores; bits changed atomically */
	u32 distribute;		    /* the idle CPU that was picked last; a hint */
	struct ext_dsq global;
	struct host_lock lock; /* guards bucket, and dsq.used, next */
	struct ext_dsq *bucket[EXT_BUCKETS];
	struct ext_dsq *dsq;
	u32 nr_dsqs;
	struct ext_rq cpu[];
};

/* A kicked CPU chooses anew; its task has no slice left; only if it idles; its kicker waits. */
enum ext_kicked { KICKED = 1, KICKED_PREEMPT = 2, KICKED_IF_IDLE = 4, KICKED_AWAITED = 8 };

/* A call of an operation. */
enum ext_kind { EXT_OUTSIDE, EXT_OTHER, EXT_SELECT, EXT_ENQUEUE, EXT_DISPATCH, EXT_RELEASE };
struct ext_call {
	struct ext *x;
	struct ext_rq *er; /* its runqueue is locked; NULL: none is */
	enum ext_kind kind;
	struct task *t;		 /* that select_cpu and enqueue are about */
	u32 cpu;		 /* of select_cpu: the waker's */
	struct ext_lines *lines; /* that dump adds (dump.c); NULL: it is another operation */
};

static inline struct ext_rq *ext_of(const struct rq *rq)
{
	return *(struct ext_rq *const *)rq->class_state.ext;
}

static inline struct ext_task *ext_part(struct task *t)
{
	SCHED_DEBUG_ASSERT(t->class->rank == CLASS_ext);
	return (struct ext_task *)t->class_state;
}

/* The same of a task that may leave the class meanwhile: then the words are another class's. */
static inline struct ext_task *ext_words(struct task *t)
{
	return (struct ext_task *)t->class_state;
}

static inline struct task *ext_task_of(struct ext_task *e)
{
	return (struct task *)((u8 *)e - offsetof(struct task, class_state));
}

/* Is the scheduler's only what has SCHED_EXT? */
static inline bool ext_is_partial(const struct ext *x)
{
	return x->ops->flags & EXT_OPS_SWITCH_PARTIAL;
}

/* Calls an operation that returns nothing, if the scheduler has it and still decides. */
#define EXT_OP(er_, kind_, t_, op, ...)                                                            \
	do {                                                                                       \
		struct ext_call _call = { .x = (er_)->x, .er = er_, .kind = kind_, .t = t_ };      \
		if (_call.x->ops->op && !_call.x->bypass)                                          \
			_call.x->ops->op(&_call, __VA_ARGS__);                                     \
	} while (0)

/* --- queues (dsq.c) ------------------------------------------------------- */

void ext_dsq_init(struct ext_dsq *q, u64 id);
/* The queue with this number that is not local, or NULL. */
struct ext_dsq *ext_dsq_find(struct ext *x, u64 id);
/* @t, in no queue, enters @q, whose lock is held, or is not there. */
void ext_dsq_add(struct ext_dsq *q, struct task *t, u64 flags);
/*
 * The same of one that is not local and had the number @id when it was found, for @er's CPU. Takes
 * its lock; a claim of @t (OP_DISPATCHING) ends under it. If the queue has gone: a fault, and @t
 * enters the global one.
 */
void ext_dsq_in(struct ext_rq *er, struct ext_dsq *q, u64 id, struct task *t, u64 flags);
/* The same of the global queue. */
void ext_global_in(struct ext_rq *er, struct task *t);
/* @t leaves its queue, which is locked or local. */
void ext_dsq_del(struct task *t);
/* The queue of a walk, or NULL. */
struct ext_dsq *ext_iter_queue(struct ext_iter *it);
/* The first task after @after (NULL: of all) in @q, which is locked or local. */
struct task *ext_dsq_after(struct ext_dsq *q, struct task *after);
/* @t, in @q and locked by that, is held by @er's CPU from now on. */
void ext_hold(struct ext_rq *er, struct task *t);
/* @t leaves whatever it waits in. Locked: the runqueue of @t, @er's. */
void ext_withdraw(struct ext_rq *er, struct task *t);

/* --- dispatch (dispatch.c) ------------------------------------------------ */

/* @t, in no queue, waits in the local queue of @er, whose runqueue is locked. */
void ext_local_in(struct ext_rq *er, struct task *t, u64 flags);
/* @t, decided on in select_cpu or enqueue, goes where that says. @rq of @er is locked. */
void ext_direct(struct ext_rq *er, struct task *t, u64 flags);
/* Moves what was deferred on @er, whose runqueue is locked. */
void ext_move_deferred(struct ext_rq *er);
/* The first task of @q that may run on @er's CPU goes to the local queue. May drop the lock. */
bool ext_consume(struct ext_rq *er, struct ext_dsq *q);
/* Carry out what dispatch asked for. May drop the lock. */
void ext_flush(struct ext_rq *er);

/* --- counters (event.c) ---------------------------------------------------- */

/* @what has happened on @er's CPU, locked. */
void ext_count(struct ext_rq *er, enum ext_event what);
/* @t, of @er, gets the default slice. Locked: the runqueue of @er. */
void ext_refill(struct ext_rq *er, struct task *t);

/* --- the class (ext.c) ---------------------------------------------------- */

/* @t, in no queue, is put where its scheduler says. Locked: the runqueue of @er. */
void ext_place(struct ext_rq *er, struct task *t, u64 flags);

/* --- idle CPUs (idle.c) --------------------------------------------------- */

/* The CPU of @er begins to idle, or ends it. @change: it was otherwise before. */
void ext_idles(struct ext_rq *er, bool idle, bool change);
unsigned ext_select_cpu(struct rq *rq, struct task *t, unsigned cpu, unsigned reason);

/* One task more counts on @rq, locked. A fair task that was alone there waits beside it. */
static inline void ext_count_in(struct rq *rq)
{
	debug_assert_locked(rq);
	count_running(rq, 1);
	if (rq->nr_running == 2)
		sharedq_crowded(rq);
}

/* --- kicks (kick.c) ------------------------------------------------------- */

/* The CPU of @er, locked, has news: it was kicked, or is to wait for a CPU that it kicked. */
void ext_hear(struct ext_rq *er);
/* A task has run on @er's CPU, locked: that makes up for some kicks in vain (count_vain). */
static inline void ext_has_run(struct ext_rq *er)
{
	er->nr_vain -= min(er->nr_vain, 64u);
}

/* The CPU of @er, locked, has chosen. */
void ext_answer(struct ext_rq *er);
/* Behind a switch of @rq's CPU, locked: it waits for those that it kicked. Drops the lock. */
void ext_push(struct rq *rq);
/* Is there such a CPU? If not, that is a fault. (idle.c) */
bool ext_cpu_is_valid(struct ext_call *c, s32 cpu);

/* --- coming and going (load.c, fault.c) ----------------------------------- */

/* The scheduler has come to its end, unless it had before. @er: where, or NULL. */
void ext_end(struct ext *x, const struct ext_rq *er, enum ext_exit_kind kind, s64 code,
	     const char *format, ...) __printf(5, 6);
/* It broke a rule. */
#define ext_fault(x, er, ...) ext_end(x, er, EXT_EXIT_ERROR, 0, __VA_ARGS__)
/* Does a task of @er, whose runqueue is locked, wait for too long? */
void ext_watch(struct ext_rq *er);
void ext_join(struct rq *rq, struct task *t, bool runnable);
void ext_quit(struct rq *rq, struct task *t, bool runnable);
void ext_regroup(struct rq *rq, struct task *t, struct task_group *tg, bool runnable);
void ext_set_attr(struct task *t, const struct sched_attr_req *req);
int ext_admit(struct sched *s, const struct admission_request *request);
/* host_bug() if an invariant of the class does not hold on @rq. */
void ext_check(struct rq *rq);
