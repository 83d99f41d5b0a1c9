/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A scheduling class: a family of policies behind operations. class.def lists the classes by rank.
 * The core runs the pick of the most urgent class that has a task to pick; it knows nothing of how
 * a class orders its tasks, and names no class.
 *
 * The core calls the operations in this order:
 *
 *	wakeup	select_cpu(t, SELECT_WAKE)	on the runqueue where it slept (core/wake.c)
 *		migrate(t)			if another CPU was chosen; from here on its runqueue
 *		enqueue(t, ENQUEUE_WAKEUP)
 *		preempts(t)			if the task that runs there is of the same class
 *
 *	switch	charge()			or, if the running task blocks,
 *		dequeue(prev, DEQUEUE_SLEEP)	(core/switch.c)
 *		yield()				if it gave way
 *		pull(prev)			of its class and all less urgent ones
 *		next = pick()			of the most urgent active class
 *		put_prev(prev), set_next(next)	if the two differ: or exchange(prev, next)
 *		push()				after the switch, if the class asked for that
 *
 *	tick	tick(curr)			(core/tick.c)
 *
 *	change	dequeue(t, QUEUE_SAVE)		if it is queued (core/attr.c, core/move.c)
 *		put_prev(t)			if it runs
 *		quit(t)				of the old class, if that changes
 *		set_attr(t)			or regroup(t)
 *		join(t)				of the new class
 *		enqueue(t, QUEUE_RESTORE)
 *		set_next(t)
 *		retune(t)			if its priority changed but not its class
 *
 *	birth	set_attr(t), fork(t)		no runqueue is locked (core/task.c)
 *		join(t)				when it starts
 *		select_cpu(t, SELECT_FORK)
 *		enqueue(t, ENQUEUE_INITIAL)
 *
 *	death	dequeue(t, DEQUEUE_SLEEP | DEQUEUE_SPECIAL), quit(t)
 *
 * Rules for every operation, unless its contract says otherwise:
 *   called with   the lock of @rq held and its clock updated
 *   must not      take another lock, call the host other than by host_kick() and
 *                 the helpers of sched/core/, or touch tasks of other classes
 *
 * The operations of the first table are those of every class. All others may be NULL: then what
 * they are about does not concern the class. core/stop.c is the shortest complete class; read it
 * first.
 */
#pragma once

#include "lib/types.h"
#include "sched/observe/decision.h"

struct cpumask;
struct fair_server;
struct rq;
struct sched;
struct sched_attr_req;
struct sched_class;
struct task;
struct task_group;
struct text;
struct tunables;

/* A class's number is its rank: 0 is the most urgent. */
enum class_rank {
#define CLASS(name, ...) CLASS_##name,
#include "sched/class.def"
#undef CLASS
	NR_CLASSES
};

/* Where each class keeps what it knows of a runqueue. Only the class knows what lies there. */
struct class_state {
#define CLASS(name, bytes, ...) u64 name[((bytes) + 7) / 8];
#include "sched/class.def"
#undef CLASS
};

/* Bytes in a task for its class's private state; zeroed when it enters a class. */
#define CLASS_TASK_BYTES 128

/* Why a task enters or leaves a queue. Values are Linux's. */
enum queue_flags {
	DEQUEUE_SLEEP = 0x1,  /* it blocks; otherwise it stays runnable and comes back */
	ENQUEUE_WAKEUP = 0x1, /* it was blocked */
	QUEUE_SAVE = 0x2,     /* only to change its parameters: pairs with a RESTORE at once */
	QUEUE_RESTORE = 0x2,
	QUEUE_MOVE = 0x4,	 /* with these: another priority or group; else it stays */
	ENQUEUE_HEAD = 0x10,	 /* rt: in front of its equals */
	DEQUEUE_SPECIAL = 0x10,	 /* with SLEEP: it must be off the queue at once (stopped, dead) */
	ENQUEUE_MIGRATED = 0x40, /* with WAKEUP: it slept on another CPU */
	ENQUEUE_INITIAL = 0x80,	 /* it is new */
	QUEUE_MIGRATING = 0x100, /* it changes CPU while runnable */
	DEQUEUE_DELAYED = 0x200, /* with SLEEP: the second part of a delayed dequeue */
	ENQUEUE_DELAYED = 0x200, /* with WAKEUP: it slept but was still queued */
	DEQUEUE_AWAKE = 0x400,	 /* with SLEEP, of a group: its tasks are awake, and hidden */
	ENQUEUE_UNTHROTTLE = 0x400, /* with WAKEUP, of a group: it may run again */
};

/* Which event asks for a CPU. */
enum select_reason {
	SELECT_EXEC = 0x2,
	SELECT_FORK = 0x4,
	SELECT_WAKE = 0x8,
	SELECT_SYNC = 0x10, /* with WAKE: the waker is about to sleep (= WAKE_SYNC) */
};

/* News about a CPU. */
enum class_notice {
	NOTICE_NEW,	     /* the class's part of @rq is zero: prepare it. No lock is held */
	NOTICE_TIMER,	     /* a timer fired, perhaps another class's: serve what is due */
	NOTICE_POKE,	     /* another CPU poked this one. If it idles a task is picked next */
	NOTICE_ONLINE,	     /* it is back in service */
	NOTICE_OFFLINE,	     /* it leaves (PROTOCOL: hotplug): nothing there stays throttled */
	NOTICE_TIMERS_LEAVE, /* timers for the whole machine go to another CPU. No lock is held */
	NOTICE_EMPTY,	     /* the tasks have left: cancel every timer of @rq */
};

/* Questions to which a class may say no. */
enum admission {
	ADMIT_ATTR,	/* @rq, locked, @t: may @t have the parameters @attr? Its class owns them */
	ADMIT_AFFINITY, /* @rq, locked, @t: may @t be restricted to @allowed? */
	ADMIT_OFFLINE,	/* @rq: may its CPU leave? The machine is stopped */
	ADMIT_TUNABLES, /* may the tunables become @tunables? No lock is held */
};

struct admission_request {
	enum admission what;
	struct rq *rq;
	struct task *t;
	const struct sched_attr_req *attr;
	const struct cpumask *allowed;
	const struct tunables *tunables;
};

/* CPUs: where a task runs, and how it gets from one to another. */
struct class_smp_ops {
	/*
	 * The CPU where @t should run next, allowed and online; @cpu is the caller's, @reason from
	 * select_reason. @t is not queued, except for SELECT_EXEC; the lock of rq[t->cpu] is held
	 * and the other runqueues are read racily: the answer is a hint that is good enough. NULL:
	 * where it ran.
	 */
	unsigned (*select_cpu)(struct rq *rq, struct task *t, unsigned cpu, unsigned reason);

	/* The sleeping @t is about to leave @rq, its old one, to wake up on another. */
	void (*migrate)(struct rq *rq, struct task *t);

	/*
	 * @rq may be about to run something less urgent than @prev, which runs still: bring tasks
	 * from other CPUs. May drop and retake the lock. A class that has it is asked after each of
	 * its own tasks and those of more urgent classes that have it, too.
	 */
	void (*pull)(struct rq *rq, struct task *prev);

	/*
	 * At the end of a switch, if the class has its bit in rq->push: give tasks that wait to
	 * other CPUs, by rq->handover. NOTICE_TIMER may do that too. The last class that has it may
	 * drop and retake the lock, if it first hands those tasks over (deliver).
	 */
	void (*push)(struct rq *rq);
};

/* Parameters of tasks, and which tasks the class has. */
struct class_param_ops {
	/*
	 * The kernel priority of a task with @req, whose policy the class owns; PRIO_INVALID if
	 * @req is out of range. No lock is needed. Never NULL in a class that owns policies. The
	 * priorities of a class are a range of its own, the more urgent class the lesser numbers:
	 * the core takes an equal priority for no change.
	 */
	int (*prio)(const struct sched_attr_req *req);

	/* 0, or the error that the caller of sched_set_attr(), say, gets. */
	int (*admit)(struct sched *s, const struct admission_request *request);

	/*
	 * @t, of this class, has @req from now on. If @t is new or comes from another class its
	 * class_state is zero. @t is private to the caller or its runqueue is locked.
	 */
	void (*set_attr)(struct task *t, const struct sched_attr_req *req);
	/* Fills in @req with the parameters of @t that only the class knows. */
	void (*get_attr)(const struct task *t, struct sched_attr_req *req);

	/*
	 * @child, of this class, not started and not a relative yet, is made by @parent: what does
	 * it take over? @flags: sched_fork_flags. No runqueue is locked; family_lock is held.
	 */
	void (*fork)(struct sched *s, struct task *parent, struct task *child, unsigned flags);

	/*
	 * @t, not queued now, enters or leaves the class. @runnable: it was queued and will be
	 * again. A new task (TASK_NEW) joins on its creator's runqueue, before its CPU is chosen;
	 * it may quit without that.
	 */
	void (*join)(struct rq *rq, struct task *t, bool runnable);
	void (*quit)(struct rq *rq, struct task *t, bool runnable);

	/* @t, not queued now, becomes a member of @tg. @runnable: as in join. */
	void (*regroup)(struct rq *rq, struct task *t, struct task_group *tg, bool runnable);

	/* A parameter of the queued @t changed, and its prio was @old_prio: who is to run? */
	void (*retune)(struct rq *rq, struct task *t, int old_prio);

	/* The round-robin interval of @t in ns, or 0 if it has none. */
	u64 (*slice)(struct rq *rq, struct task *t);

	/* How much @t asks for at a time in ns, or 0 if it does not. */
	u64 (*request)(struct rq *rq, struct task *t);
};

/* Introspection. Slow; never on a hot path. */
struct class_debug_ops {
	/* For records: what only the class knows of @t; of its part of @rq if @t is NULL. */
	void (*numbers)(struct rq *rq, struct task *t, struct class_numbers *n);

	/* host_bug() if an invariant of the class does not hold on @rq, in service or not. */
	void (*check)(struct rq *rq);

	/* The class's lines of /proc/PID/sched for @t; of debugfs `debug` for @rq if @t is NULL. */
	void (*dump)(struct rq *rq, struct task *t, struct text *out);
};

struct sched_class {
	const char *name;
	unsigned rank; /* CLASS_x */
	u32 policies;  /* the bit of each SCHED_x that is the class's */

	/* Its tasks belong to their CPU: they never leave it, and their parameters never change. */
	bool fixture;

	/*
	 * Nice values rank its tasks. A task of another class keeps its nice value for later, and
	 * that class is a privilege: reset_on_fork takes it from children.
	 */
	bool nice;

	/* Its tasks have a real-time priority; a runtime, a deadline and a period. */
	bool priority, deadline;

	/* A task that takes over from another of the class may wait for it (resched_patiently). */
	bool patient;

	/* fork() of its tasks is refused, unless reset_on_fork takes the class from the child. */
	bool unforkable;

	/* Its decisions are records of decision.def: by what rule each usually goes. */
	bool recorded;
	u8 rule[NR_CLASS_ACTS];

	/* A reservation that it makes for the fair class (fair_server.h), or NULL. */
	const struct fair_server *server;

	/* --- of every class --- */

	/*
	 * @t becomes runnable on @rq. Adds it to the class's structures and to rq->nr_running.
	 * Pairs with dequeue. t->on_rq is the core's business.
	 */
	void (*enqueue)(struct rq *rq, struct task *t, unsigned flags);

	/*
	 * @t stops being runnable on @rq; it may be the running task. Removes it and its part of
	 * rq->nr_running. Returns false if it stays queued although it sleeps (delayed dequeue): it
	 * is TASK_DELAYED then, counts as asleep, and is dequeued again with DEQUEUE_DELAYED or
	 * enqueued with ENQUEUE_DELAYED.
	 */
	bool (*dequeue)(struct rq *rq, struct task *t, unsigned flags);

	/* How many tasks of the class are queued on @rq. Without the lock it is a hint. */
	u32 (*nr_queued)(const struct rq *rq);

	/*
	 * The queued tasks in the class's order, the running one included: the first if @after is
	 * NULL, or that after @after; NULL at the end.
	 */
	struct task *(*queued)(struct rq *rq, struct task *after);

	/*
	 * The task that should run. Called while the class is active (class_set_active). NULL: it
	 * was not, for only sleepers were queued (TASK_DELAYED), and they have left. Changes no
	 * other membership: the core calls put_prev and set_next if the answer is not the running
	 * task. The running task, if queued, was charged before. A class that drops the
	 * lock to look for a task (ext) returns NULL if a more urgent one is active then.
	 */
	struct task *(*pick)(struct rq *rq);

	/* @t is going to run: picked, or with its new parameters. Pairs with put_prev. */
	void (*set_next)(struct rq *rq, struct task *t);

	/* Account the time since the last charge to the running task. */
	void (*charge)(struct rq *rq);

	/* 1/HZ s passed while @t runs. After its own charge; asks for a switch with resched(). */
	void (*tick)(struct rq *rq, struct task *t);

	/* --- if they concern it --- */

	/*
	 * The running task @t is not going to run on, or is about to change its parameters. It may
	 * have been dequeued before; if not, it waits now.
	 */
	void (*put_prev)(struct rq *rq, struct task *t);

	/* put_prev of @prev and set_next of @next in one: both are of this class. NULL: the two. */
	void (*exchange)(struct rq *rq, struct task *prev, struct task *next);

	/* charge as far as the CPU time of the running task is concerned; NULL: that is charge. */
	void (*charge_task)(struct rq *rq);

	/* Could the queued @t be picked as things stand? False: the class is throttled, say. */
	bool (*pickable)(struct rq *rq, struct task *t);

	/* The running task gives way; a switch follows in the same lock section. */
	void (*yield)(struct rq *rq);

	/*
	 * Should @woken, just queued, take over from the running task, which is of this class too?
	 * It may be moved in its queue so that it will be picked.
	 */
	bool (*preempts)(struct rq *rq, struct task *woken, unsigned flags);

	/* When the class wants NOTICE_TIMER, or 0. rq->timer_stale announces a change. */
	u64 (*next_timer)(struct rq *rq);
	void (*notice)(struct rq *rq, enum class_notice notice);

	struct class_smp_ops smp;
	struct class_param_ops params;
	struct class_debug_ops debug;
};

/*
 * The list, by rank (classes.c). Each machine has copies, and uses only these, by s->class[]: there
 * other operations may stand before the class's own (record/class.c).
 */
extern const struct sched_class *const classes[NR_CLASSES];

#define CLASS(name, ...) extern const struct sched_class name##_class;
#include "sched/class.def"
#undef CLASS

/* The class that owns SCHED_x @policy, or NULL. */
const struct sched_class *class_of_policy(const struct sched *s, int policy);
/* Tell @class, or all by rank, what happened to @rq's CPU. Locks: those of the notice. */
void class_notify(const struct sched_class *class, struct rq *rq, enum class_notice notice);
void classes_notify(struct rq *rq, enum class_notice notice);
/* 0, or why @class, or the most urgent class that refuses, does not admit @request. */
int class_admits(struct sched *s, const struct sched_class *class,
		 const struct admission_request *request);
int classes_admit(struct sched *s, const struct admission_request *request);
/* Has @rq a queued task of a class more urgent than @rank? A hint if its lock is not held. */
bool class_waits_above(const struct rq *rq, unsigned rank);
/* The queued task after @t, of all classes, the most urgent first; the first if @t is NULL. */
struct task *next_queued(struct rq *rq, struct task *t);

#define for_each_queued(t, rq) for (t = next_queued(rq, NULL); t; t = next_queued(rq, t))

/* All classes but the idle one, which has no queue and hears of nothing. */
#define for_each_class(c, s) for (unsigned _i = 0; _i < CLASS_idle && ((c) = (s)->class[_i]); _i++)
/* Bottom-up: the order in which Linux prints classes. */
#define for_each_class_reverse(c, s)                                                               \
	for (unsigned _i = CLASS_idle; _i && ((c) = (s)->class[_i - 1]); _i--)

/* --- for dump operations (text.c) ------------------------------------------ */

/* "  .name : 12.345678", a line of a dump: @ns in ms. */
void dump_ms(struct text *out, const char *name, u64 ns);
/* The same of a number. */
void dump_number(struct text *out, const char *name, u64 value);
/* "name :  123", a line of /proc/PID/sched. */
void dump_task_number(struct text *out, const char *name, u64 value);
void dump_task_ms(struct text *out, const char *name, s64 ns);
/* A column of the table of tasks. */
void dump_vtime(struct text *out, u64 v);
