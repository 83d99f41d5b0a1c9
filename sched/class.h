/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A scheduling class: a family of policies behind operations. class.def lists the
 * classes by rank. The core runs the pick of the most urgent class that has a task
 * to pick; it knows nothing of how a class orders its tasks, and names no class.
 *
 * Rules for every operation, unless its contract says otherwise:
 *   called with   the lock of @rq held and its clock updated
 *   must not      take another lock, call the host other than through the helpers
 *                 of sched/core/, or touch tasks of other classes
 * Every operation is non-NULL: class_* below are the defaults, and FIXTURE_OPERATIONS
 * are those of a class whose tasks never leave their CPU. core/stop.c is the shortest
 * complete class; read it first.
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

struct sched_class {
	const char *name;
	unsigned rank; /* CLASS_x */

	/* Its tasks belong to their CPU: they never leave it, and their parameters never change. */
	bool fixture;

	/*
	 * Nice values rank its tasks. A task of another class keeps its nice value for later, and
	 * that class is a privilege: reset_on_fork takes it from children.
	 */
	bool nice;

	/* A task that takes over from another of the class may wait for it (resched_patiently). */
	bool patient;

	/* fork() of its tasks is refused, unless reset_on_fork takes the class from the child. */
	bool unforkable;

	/* A switch from one of its tasks calls pull, of this class and of less urgent ones. */
	bool pulls;

	/* Its decisions are records of decision.def: by what rule each usually goes. */
	bool recorded;
	u8 rule[NR_CLASS_ACTS];

	/* A reservation that it makes for the fair class (fair_server.h), or NULL. */
	const struct fair_server *server;

	/* --- membership --- */

	/* @rq is new: prepare the class's part of it, which is zero. No lock is held. */
	void (*init)(struct rq *rq);

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

	/*
	 * How many tasks of the class are queued on @rq, and how many of them count in
	 * rq->nr_running. Also called without the lock, for a hint.
	 */
	u32 (*nr_queued)(const struct rq *rq);
	u32 (*nr_pickable)(const struct rq *rq);

	/* Could the queued @t be picked as things stand? False: the class is throttled, say. */
	bool (*pickable)(struct rq *rq, struct task *t);

	/* The queued tasks in the class's order, the running one included; NULL at the end. */
	struct task *(*first_queued)(struct rq *rq);
	struct task *(*next_queued)(struct rq *rq, struct task *t);

	/* --- running --- */

	/* The running task gives way; a switch follows in the same lock section. */
	void (*yield)(struct rq *rq);

	/*
	 * The task that should run. Called while the class is active (class_set_active). NULL: it
	 * was not, for only sleepers were queued (TASK_DELAYED), and they have left. Changes no
	 * other membership: the core calls put_prev and set_next if the answer is not the running
	 * task. The running task, if queued, was charged before.
	 */
	struct task *(*pick)(struct rq *rq);

	/*
	 * The running task @t is not going to run on, or is about to change its parameters. It may
	 * have been dequeued before; if not, it waits now.
	 */
	void (*put_prev)(struct rq *rq, struct task *t);

	/* @t is going to run: picked, or with its new parameters. Pairs with put_prev. */
	void (*set_next)(struct rq *rq, struct task *t);

	/* put_prev of @prev and set_next of @next in one: both are of this class. */
	void (*exchange)(struct rq *rq, struct task *prev, struct task *next);

	/* @t, which runs, was picked again. Only called while the feature HRTICK is on. */
	void (*picked_again)(struct rq *rq, struct task *t);

	/* Account the time since the last charge to the running task. */
	void (*charge)(struct rq *rq);
	void (*charge_task)(struct rq *rq); /* the same, of which only the CPU time is read */

	/* 1/HZ s passed while @t runs. After its own charge; asks for a switch with resched(). */
	void (*tick)(struct rq *rq, struct task *t);

	/*
	 * Should @woken, just queued, take over from the running task, which is of this class too?
	 * It may be moved in its queue so that it will be picked.
	 */
	bool (*preempts)(struct rq *rq, struct task *woken, unsigned flags);

	/* Another CPU poked this one: serve that. If it idles a task is picked next. */
	void (*notice)(struct rq *rq);

	/* When the class wants timer to be called, or 0. rq->timer_stale announces a change. */
	u64 (*next_timer)(struct rq *rq);
	/* A timer fired, perhaps another class's: serve what is due. */
	void (*timer)(struct rq *rq);

	/* --- CPUs --- */

	/*
	 * The CPU where @t should run next, allowed and online; @cpu is the caller's, @reason from
	 * select_reason. @t is not queued, except for SELECT_EXEC; the lock of rq[t->cpu] is held
	 * and the other runqueues are read racily: the answer is a hint that is good enough.
	 */
	unsigned (*select_cpu)(struct rq *rq, struct task *t, unsigned cpu, unsigned reason);

	/* The sleeping @t is about to leave @rq, its old one, to wake up on another. */
	void (*migrate)(struct rq *rq, struct task *t);

	/*
	 * @rq may be about to run something less urgent than @prev, which runs still: bring tasks
	 * from other CPUs. May drop and retake the lock.
	 */
	void (*pull)(struct rq *rq, struct task *prev);

	/*
	 * At the end of a switch, if the class has its bit in rq->push: give tasks that wait to
	 * other CPUs, by rq->handover.
	 */
	void (*push)(struct rq *rq);

	/* @rq's CPU is back in service. */
	void (*online)(struct rq *rq);

	/*
	 * @rq's CPU leaves; see PROTOCOL: hotplug. First nothing may be throttled there any more:
	 * every queued task must be movable. Then the core moves the tasks. Before that, timers
	 * that serve the whole machine go to @to, with no lock held and the machine stopped. At
	 * the end every other timer of the class is cancelled.
	 */
	void (*offline)(struct rq *rq);
	void (*move_timers)(struct rq *rq, struct rq *to);
	void (*cancel_timers)(struct rq *rq);

	/* --- parameters --- */

	/* Is SCHED_x one of the class's policies? No lock is needed for this and the next two. */
	bool (*owns)(int policy);
	/* Are the parameters in range? The class owns @req->policy. */
	bool (*valid)(const struct sched_attr_req *req);
	/* The kernel priority of a task with valid parameters. */
	int (*prio)(const struct sched_attr_req *req);

	/* May @t have @req now? 0, or what sched_set_attr() returns. */
	int (*admit)(struct rq *rq, struct task *t, const struct sched_attr_req *req);

	/* May @t be restricted to @allowed? 0, or what sched_set_affinity() returns. */
	int (*admit_affinity)(struct rq *rq, struct task *t, const struct cpumask *allowed);
	/* May @rq's CPU leave? 0, or the error of sched_cpu_offline(). The machine is stopped. */
	int (*admit_offline)(struct rq *rq);
	/* May the tunables become @next? 0, or what sched_tunable_write() returns. Unlocked. */
	int (*admit_tunables)(struct sched *s, const struct tunables *next);

	/*
	 * The class's part of a task begins, zeroed: @t is new, or comes from another class. Then
	 * its parameters, policy and prio set already. @t is private to the caller or its runqueue
	 * is locked.
	 */
	void (*init_task)(struct sched *s, struct task *t);
	void (*set_attr)(struct task *t, const struct sched_attr_req *req);
	/* The class's part of a task ends: @t enters another class. Counterpart of init_task. */
	void (*end_task)(struct sched *s, struct task *t);
	/* Fills in @req with the parameters of @t that only the class knows. */
	void (*get_attr)(const struct task *t, struct sched_attr_req *req);

	/*
	 * @child, of this class, not started and not a relative yet, is made by @parent: what does
	 * it take over? @flags: sched_fork_flags. No runqueue is locked; family_lock is held.
	 */
	void (*fork)(struct sched *s, struct task *parent, struct task *child, unsigned flags);

	/*
	 * @t, not queued now, enters or leaves the class. @runnable: it was queued and will be
	 * again. A new task (TASK_NEW) joins on its creator's runqueue, before its CPU is chosen.
	 */
	void (*join)(struct rq *rq, struct task *t, bool runnable);
	void (*quit)(struct rq *rq, struct task *t, bool runnable);

	/* A parameter of the queued @t changed, and its prio was @old_prio: who is to run? */
	void (*retune)(struct rq *rq, struct task *t, int old_prio);

	/* @t, not queued now, becomes a member of @tg. @runnable: as in join. */
	void (*regroup)(struct rq *rq, struct task *t, struct task_group *tg, bool runnable);

	/* The round-robin interval of @t in ns, or 0 if it has none. */
	u64 (*slice)(struct rq *rq, struct task *t);

	/* How much @t asks for at a time in ns, or 0 if it does not. */
	u64 (*request)(struct rq *rq, struct task *t);

	/* --- introspection --- */

	/* For records: what only the class knows of @t; of its part of @rq if @t is NULL. */
	void (*numbers)(struct rq *rq, struct task *t, struct class_numbers *n);

	/*
	 * host_bug() if an invariant of the class does not hold on @rq. Slow; never on a hot path.
	 */
	void (*check)(struct rq *rq);
	/* The same for a CPU that is out of service. */
	void (*check_offline)(struct rq *rq);

	/* The class's lines of debugfs `debug` for @rq. */
	void (*dump)(struct rq *rq, struct text *out);
	/* The column of @t's row in the table of tasks that orders the class's tasks. */
	void (*dump_key)(struct rq *rq, struct task *t, struct text *out);
	/* The class's lines of /proc/PID/sched. */
	void (*dump_task)(struct rq *rq, struct task *t, struct text *out);
};

/*
 * The list, by rank (classes.c). Each machine has copies, and uses only these, by s->class[]: there
 * other operations may stand before the class's own (observe/class_record.c).
 */
extern const struct sched_class *const classes[NR_CLASSES];

#define CLASS(name, ...) extern const struct sched_class name##_class;
#include "sched/class.def"
#undef CLASS

/* The class that owns SCHED_x @policy, or NULL. */
const struct sched_class *class_of_policy(const struct sched *s, int policy);
/* Has @rq a queued task of a class more urgent than @rank? A hint if its lock is not held. */
bool class_waits_above(const struct rq *rq, unsigned rank);
/* The first queued task of all classes, the most urgent first; the one after @t. Or NULL. */
struct task *first_queued(struct rq *rq);
struct task *next_queued(struct rq *rq, struct task *t);

#define for_each_queued(t, rq) for (t = first_queued(rq); t; t = next_queued(rq, t))

#define for_each_class(c, s) for (unsigned _i = 0; _i < NR_CLASSES && ((c) = (s)->class[_i]); _i++)
/* Bottom-up: the order in which Linux prints classes. */
#define for_each_class_reverse(c, s)                                                               \
	for (unsigned _i = NR_CLASSES; _i && ((c) = (s)->class[_i - 1]); _i--)

/* Defaults for operations that do not concern a class (class_defaults.c). */
void class_ignore(struct rq *rq);
void class_ignore_task(struct rq *rq, struct task *t);
void class_ignore_change(struct rq *rq, struct task *t, bool runnable);
void class_ignore_move(struct rq *rq, struct rq *to);
void class_no_exchange(struct rq *rq, struct task *prev, struct task *next);
bool class_never_preempts(struct rq *rq, struct task *woken, unsigned flags);
void class_ignore_retune(struct rq *rq, struct task *t, int old_prio);
u64 class_no_slice(struct rq *rq, struct task *t);
u64 class_no_timer(struct rq *rq);
u32 class_none_queued(const struct rq *rq);
bool class_always_pickable(struct rq *rq, struct task *t);
struct task *class_no_first(struct rq *rq);
struct task *class_no_next(struct rq *rq, struct task *t);
bool class_owns_nothing(int policy);
bool class_nothing_valid(const struct sched_attr_req *req);
int class_no_prio(const struct sched_attr_req *req);
int class_admit(struct rq *rq, struct task *t, const struct sched_attr_req *req);
int class_admit_affinity(struct rq *rq, struct task *t, const struct cpumask *allowed);
int class_admit_offline(struct rq *rq);
int class_admit_tunables(struct sched *s, const struct tunables *next);
void class_ignore_new(struct sched *s, struct task *t);
void class_ignore_attr(struct task *t, const struct sched_attr_req *req);
void class_no_attr(const struct task *t, struct sched_attr_req *req);
void class_ignore_fork(struct sched *s, struct task *parent, struct task *child, unsigned flags);
void class_regroup(struct rq *rq, struct task *t, struct task_group *tg, bool runnable);
void class_dump_nothing(struct rq *rq, struct text *out);
void class_dump_vtime(struct rq *rq, struct task *t, struct text *out);
void class_dump_no_task(struct rq *rq, struct task *t, struct text *out);
void class_no_numbers(struct rq *rq, struct task *t, struct class_numbers *n);
unsigned class_stay(struct rq *rq, struct task *t, unsigned cpu, unsigned reason);

/* The operations that a class of fixtures (one task on each CPU, for ever) does not need. */
#define FIXTURE_OPERATIONS                                                                         \
	.fixture = true, .init = class_ignore, .pickable = class_always_pickable,                  \
	.next_queued = class_no_next, .yield = class_ignore, .exchange = class_no_exchange,        \
	.picked_again = class_ignore_task, .preempts = class_never_preempts,                       \
	.notice = class_ignore, .next_timer = class_no_timer, .timer = class_ignore,               \
	.select_cpu = class_stay, .migrate = class_ignore_task, .pull = class_ignore_task,         \
	.push = class_ignore, .online = class_ignore, .offline = class_ignore,                     \
	.move_timers = class_ignore_move, .cancel_timers = class_ignore,                           \
	.owns = class_owns_nothing, .valid = class_nothing_valid, .prio = class_no_prio,           \
	.admit = class_admit, .admit_affinity = class_admit_affinity,                              \
	.admit_offline = class_admit_offline, .admit_tunables = class_admit_tunables,              \
	.init_task = class_ignore_new, .end_task = class_ignore_new,                               \
	.set_attr = class_ignore_attr, .get_attr = class_no_attr, .fork = class_ignore_fork,       \
	.join = class_ignore_change, .quit = class_ignore_change, .retune = class_ignore_retune,   \
	.regroup = class_regroup, .slice = class_no_slice, .request = class_no_slice,              \
	.numbers = class_no_numbers, .check = class_ignore, .check_offline = class_ignore,         \
	.dump = class_dump_nothing, .dump_key = class_dump_vtime, .dump_task = class_dump_no_task

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
