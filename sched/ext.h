/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loading a scheduler at run time: the public face of the class `ext` (sched/ext/). The scheduler
 * is a table of operations, as sched_ext of Linux has them; what it may do inside them are the
 * functions below. Numbers are Linux's, so that a program written for sched_ext can be compiled
 * against a host's headers (sim/scx/).
 *
 * While a scheduler is loaded the class owns the policies of the fair class; with
 * EXT_OPS_SWITCH_PARTIAL, SCHED_EXT alone, and every fair task is more urgent. Without a scheduler
 * SCHED_EXT is a fair policy as SCHED_NORMAL is. If a scheduler errs, stalls or asks for its end,
 * the class runs all tasks first in, first out (bypass) until the host, which is to ask
 * sched_ext_ended(), unloads it: then all tasks are fair ones again, and none is lost.
 *
 * Not there: core scheduling. Operations about the tree of groups are the host's.
 */
#pragma once

#include "lib/types.h"

struct cpumask;
struct sched;
struct task;
struct task_group;

/* --- numbers of the interface --------------------------------------------- */

#define EXT_DSQ_BUILTIN	   (1ull << 63)
#define EXT_DSQ_INVALID	   (EXT_DSQ_BUILTIN | 0)
#define EXT_DSQ_GLOBAL	   (EXT_DSQ_BUILTIN | 1)
#define EXT_DSQ_LOCAL	   (EXT_DSQ_BUILTIN | 2)
#define EXT_DSQ_LOCAL_ON   (EXT_DSQ_BUILTIN | 1ull << 62) /* | CPU */
#define EXT_SLICE_DEFAULT  20000000ull
#define EXT_SLICE_INFINITE (~0ull)
#define EXT_BATCH_MAX	   128u /* of dispatch_max_batch; its default is EXT_BATCH */
#define EXT_BATCH	   32u
#define EXT_TIMEOUT_MS	   30000u /* of timeout_ms, and its default */

enum ext_enq_flags {
	EXT_ENQ_WAKEUP = 0x1,
	EXT_ENQ_HEAD = 0x10,
	EXT_ENQ_CPU_SELECTED = 0x400, /* select_cpu was asked before */
};
#define EXT_ENQ_PREEMPT (1ull << 32) /* the task that runs there has no slice left */
#define EXT_ENQ_REENQ	(1ull << 40) /* it was on a local queue: ext_reenqueue_local() */
#define EXT_ENQ_LAST	(1ull << 41) /* nothing else is there to run */
#define EXT_ENQ_PRIQ	(1ull << 57) /* in order of vtime */

enum ext_ops_flags {
	EXT_OPS_KEEP_BUILTIN_IDLE = 0x1,
	EXT_OPS_ENQ_LAST = 0x2,
	EXT_OPS_SWITCH_PARTIAL = 0x8, /* only tasks of SCHED_EXT are the scheduler's */
};

enum ext_kick { EXT_KICK_IDLE = 0x1, EXT_KICK_PREEMPT = 0x2, EXT_KICK_WAIT = 0x4 };
enum ext_pick_idle { EXT_PICK_IDLE_CORE = 0x1 };
#define EXT_ITER_REVERSE (1ull << 16)

/* Why a scheduler ended, in numbers and words. */
enum ext_exit_kind {
	EXT_EXIT_NONE = 0,
	EXT_EXIT_UNREG = 64,	     /* the host unloaded it */
	EXT_EXIT_UNREG_BPF = 65,     /* it asked for its end */
	EXT_EXIT_UNREG_KERN = 66,    /* the machine changed under it */
	EXT_EXIT_ERROR = 1024,	     /* it broke a rule of the interface */
	EXT_EXIT_ERROR_BPF = 1025,   /* it reported an error of its own */
	EXT_EXIT_ERROR_STALL = 1026, /* it left a runnable task waiting */
};

#define EXT_MESSAGE_LEN 160
struct ext_exit {
	enum ext_exit_kind kind;
	s64 code;
	const char *reason;
	char message[EXT_MESSAGE_LEN];
	u32 cpu; /* on whose runqueue it was found */
	u64 at;	 /* the clock of that CPU */
};

/* Counters, one for each name of sched/observe/ext_event.def. */
enum ext_event {
#define EXT_EVENT(name) EXT_EV_##name,
#include "sched/observe/ext_event.def"
#undef EXT_EVENT
	NR_EXT_EVENTS
};
/* The name of each, as Linux has it. */
extern const char *const sched_ext_event_name[NR_EXT_EVENTS];
struct ext_events {
	s64 count[NR_EXT_EVENTS];
};

/* cgroup_prep_move, cgroup_move and cgroup_cancel_move. */
enum ext_regroup_step { EXT_REGROUP_PREPARE, EXT_REGROUP_DONE, EXT_REGROUP_CANCEL };

/* cgroup_set_weight, cgroup_set_bandwidth, cgroup_set_idle. */
enum ext_group_news { EXT_GROUP_WEIGHT, EXT_GROUP_BANDWIDTH, EXT_GROUP_IDLE };

/* --- the scheduler -------------------------------------------------------- */

/* The part of a task that its scheduler reads and writes. It lies in memory of the host. */
struct ext_seen {
	u64 slice;  /* ns left */
	u64 vtime;  /* its place in a queue in order of vtime */
	u32 weight; /* 1..10000; 100 for nice 0 */
	u32 flags;  /* ext_task_flags, for its scheduler to read */
};

enum ext_task_flags { EXT_TASK_QUEUED = 0x1 /* runnable on a CPU */ };

/* A call of an operation, which says what may be done in it. It ends with the operation. */
struct ext_call;

/*
 * The operations, each NULL or as sched_ext describes it under this name. All but init and exit are
 * called with the lock of a runqueue held, so they do not sleep, init_task neither.
 */
struct ext_ops {
	const char *name;
	u64 flags;			    /* ext_ops_flags */
	u32 dispatch_max_batch, timeout_ms; /* 0: the defaults, EXT_BATCH and 30 s */

	s32 (*select_cpu)(struct ext_call *, struct task *t, s32 prev_cpu, u64 wake_flags);
	void (*enqueue)(struct ext_call *, struct task *t, u64 enq_flags);
	void (*dequeue)(struct ext_call *, struct task *t, u64 deq_flags);
	/* @prev: the task that had the CPU, or NULL; it may have gone to sleep. */
	void (*dispatch)(struct ext_call *, s32 cpu, struct task *prev);
	void (*tick)(struct ext_call *, struct task *t);
	void (*runnable)(struct ext_call *, struct task *t, u64 enq_flags);
	void (*running)(struct ext_call *, struct task *t);
	void (*stopping)(struct ext_call *, struct task *t, bool runnable);
	void (*quiescent)(struct ext_call *, struct task *t, u64 deq_flags);
	void (*yield)(struct ext_call *, struct task *t);
	void (*set_weight)(struct ext_call *, struct task *t, u32 weight);
	void (*set_cpumask)(struct ext_call *, struct task *t, const struct cpumask *mask);
	void (*update_idle)(struct ext_call *, s32 cpu, bool idle);
	void (*cpu_acquire)(struct ext_call *, s32 cpu);
	void (*cpu_release)(struct ext_call *, s32 cpu);
	void (*cpu_online)(struct ext_call *, s32 cpu);
	void (*cpu_offline)(struct ext_call *, s32 cpu);
	/* A step of @t's move to another group. An error of the first step refuses the move. */
	s32 (*regroup)(struct ext_call *, struct task *t, struct task_group *from,
		       struct task_group *to, enum ext_regroup_step);
	s32 (*init_task)(struct ext_call *, struct task *t, bool fork);
	void (*exit_task)(struct ext_call *, struct task *t);
	void (*enable)(struct ext_call *, struct task *t);
	void (*disable)(struct ext_call *, struct task *t);
	/* Each adds lines by ext_dump(): to all, to those of a CPU, of a task that is runnable. */
	void (*dump)(struct ext_call *, const struct ext_exit *);
	void (*dump_cpu)(struct ext_call *, const struct ext_exit *, s32 cpu, bool idle);
	void (*dump_task)(struct ext_call *, const struct ext_exit *, struct task *t);
	s32 (*init)(struct ext_call *);
	void (*exit)(struct ext_call *, const struct ext_exit *);

	/* The memory for @t's part, zeroed, from the host. Never NULL. */
	struct ext_seen *(*attach)(struct ext_call *, struct task *t);
	/*
	 * @t is not of this scheduler any more. Other CPUs may be in an operation that knows it:
	 * until they have left that, its part and the task itself stay where they are.
	 */
	void (*detach)(struct ext_call *, struct task *t);
};

/* Bytes for a scheduler with @nr_dsqs queues of its own; 64-byte aligned, zeroed. */
size_t sched_ext_size(unsigned nr_cpus, unsigned nr_dsqs);
/*
 * Load @ops into @mem. 0, or the error that its init returned: then nothing changed. -EPROTO: its
 * init returned a number that is none. -EBUSY: there is one already. -EINVAL: no name, or a number
 * out of range. The tasks that exist follow one by one:
 * sched_ext_settle() of each.
 */
int sched_ext_load(struct sched *s, void *mem, unsigned nr_dsqs, const struct ext_ops *ops);
/* @t goes over to the class that owns its policy now. */
void sched_ext_settle(struct sched *s, struct task *t);
/*
 * EXT_REGROUP_PREPARE: @t is to become a member of @to, by task_group_move(). 0, or the error with
 * which its scheduler refuses. If it stays nevertheless: EXT_REGROUP_CANCEL.
 */
s32 sched_ext_regroup(struct sched *s, struct task *t, struct task_group *to,
		      enum ext_regroup_step step);
/* Has the loaded scheduler come to its end? Then it decides no more. */
bool sched_ext_ended(const struct sched *s);
/*
 * The three steps of unloading: no operation decides from sched_ext_bypass() on, and no task waits
 * for one; the host settles all tasks after sched_ext_leave(); sched_ext_unload() calls exit and
 * returns the record of the end, which lies in the scheduler's memory. Before that call each CPU
 * must have left the operation of the class that it was in: it uses that memory until then.
 */
void sched_ext_bypass(struct sched *s);
void sched_ext_leave(struct sched *s);
const struct ext_exit *sched_ext_unload(struct sched *s);
/*
 * The end of the loaded scheduler and the tasks that it has, as Linux dumps them, in @buf, which
 * ends with a mark if that is too small. Returns the length. Asks dump, dump_cpu and dump_task. To
 * be called before sched_ext_bypass().
 */
size_t sched_ext_dump(struct sched *s, char *buf, size_t size);
/* Is no runnable task the scheduler's any more? A task that is about to end may be the last. */
bool sched_ext_is_empty(struct sched *s);
/* The same record in memory that sched_ext_load() refused: why. */
const struct ext_exit *sched_ext_refusal(const void *mem);
/* The name of the loaded scheduler, or NULL. */
const char *sched_ext_name(const struct sched *s);
/* Its counters since it was loaded, over all CPUs; all 0 without a scheduler. */
struct ext_events sched_ext_events(const struct sched *s);
/*
 * For callbacks of the host's timers. In @what CPUs can be kicked, queues made, tasks moved from
 * one queue to another, errors reported. Interrupts are off, and no runqueue is locked.
 */
void sched_ext_outside(struct sched *s, void (*what)(struct ext_call *, void *), void *argument);

/* --- what an operation may do --------------------------------------------- */

/*
 * Insert @t into the queue @dsq: from select_cpu and enqueue the task that these are about, from
 * dispatch any that waits for the scheduler; others are passed over. @slice: ns; 0: what is left.
 */
void ext_insert(struct ext_call *, struct task *t, u64 dsq, u64 slice, u64 enq_flags);
void ext_insert_vtime(struct ext_call *, struct task *t, u64 dsq, u64 slice, u64 vtime,
		      u64 enq_flags);
/* From dispatch: room that is left for inserts; take back the last one. */
u32 ext_slots(struct ext_call *);
void ext_cancel(struct ext_call *);
/* From dispatch: the first task of @dsq that may run here goes to the local queue. False: none. */
bool ext_move_to_local(struct ext_call *, u64 dsq);
/* From cpu_release: the local queue is given to enqueue once more. Returns how many tasks. */
u32 ext_reenqueue_local(struct ext_call *);

/* 0; -EEXIST; -EINVAL: the number is one of the built-in; -ENOMEM: as many as loading allowed. */
int ext_create_dsq(struct ext_call *, u64 dsq);
void ext_destroy_dsq(struct ext_call *, u64 dsq);
/* How many tasks wait there, or -ENOENT. */
s32 ext_dsq_nr(struct ext_call *, u64 dsq);

/* The first task of a queue of the scheduler's own, or NULL. */
struct task *ext_peek(struct ext_call *, u64 dsq);

/* A walk through a queue of the scheduler's own, in its order; later tasks are left out. */
struct ext_iter {
	u64 word[8];
};
/* 0 or -ENOENT, and then there is no task. Pairs with ext_iter_end(). */
int ext_iter_begin(struct ext_call *, struct ext_iter *, u64 dsq, u64 flags);
struct task *ext_iter_next(struct ext_call *, struct ext_iter *);
void ext_iter_end(struct ext_call *, struct ext_iter *);
/* New values that a task gets by a move, or NULL. */
struct ext_moved {
	const u64 *slice, *vtime;
};
/*
 * From dispatch, and from no operation: @t, which the walk returned, goes to @dsq. False: it has
 * left meanwhile. @here: the CPU of the caller; interrupts are off.
 */
bool ext_move(struct ext_call *, u32 here, struct ext_iter *, struct task *t, u64 dsq,
	      u64 enq_flags, const struct ext_moved *how);

/*
 * Once the operation is over, with all its inserts, @cpu chooses anew. With EXT_KICK_IDLE it does
 * if it idles then, and the other flags have no effect. With EXT_KICK_PREEMPT the task that runs
 * there has no slice left. With EXT_KICK_WAIT the caller's CPU, @here, switches soon, too, and
 * behind that it waits until @cpu has chosen, unless no task of the scheduler runs there.
 * Interrupts are off.
 */
void ext_kick(struct ext_call *, u32 here, s32 cpu, u64 flags);
/* The default choice of a CPU; @idle: it idled, and is taken. */
s32 ext_select_default(struct ext_call *, struct task *t, s32 prev, u64 wake_flags, bool *idle);
/* The same among the CPUs of @mask: one that idled, or a waker's that sleeps soon; or -EBUSY. */
s32 ext_select_within(struct ext_call *, struct task *t, s32 prev, u64 wake_flags,
		      const struct cpumask *mask, u64 flags);
/* Take @cpu if it idles. */
bool ext_take_idle(struct ext_call *, s32 cpu);
/* An idle CPU of @mask, taken; or -EBUSY. ext_pick_any(): any other if there is none. */
s32 ext_pick_idle(struct ext_call *, const struct cpumask *mask, u64 flags);
s32 ext_pick_any(struct ext_call *, const struct cpumask *mask, u64 flags);
/* The CPUs that idle; with @cores those all of whose core does. */
const struct cpumask *ext_idle_mask(struct ext_call *, bool cores);
/* The clock of the CPU whose runqueue is locked; @cpu's without one. */
u64 ext_now(struct ext_call *, unsigned cpu);
/*
 * @cpu's clock, and its scaled time (sched/freq/freq.h), ns, as it last looked: of a CPU that
 * idles that can be long ago, and scaled time of another CPU may be ahead of its work.
 */
u64 ext_clock(struct ext_call *, unsigned cpu);
u64 ext_scaled_time(struct ext_call *, unsigned cpu);
/* The counters of the scheduler, over all CPUs. */
struct ext_events ext_events(const struct ext_call *);
/* The machine, and what runs on @cpu. */
struct sched *ext_machine(struct ext_call *);
struct task *ext_running(struct ext_call *, unsigned cpu);
/*
 * For hosts on which operations take time: one ran on @cpu, which is the caller's, from @began to
 * @ended (host_clock). If tasks there get less than a 17th of the time for as long as a runnable
 * task may wait, the scheduler ends: each may be picked again and again, with its slice used up
 * before it runs, so that none waits for long. Interrupts are off.
 */
void ext_took(struct ext_call *, unsigned cpu, u64 began, u64 ended);
/* From dump, dump_cpu and dump_task: @text goes on with the lines of the operation. */
void ext_dump(struct ext_call *, const char *text);
/* From dump_task: where and how @t is to be inserted when it is enqueued; or EXT_DSQ_INVALID. */
u64 ext_decided(struct task *t, u64 *enq_flags);
/* The scheduler's own error, or its wish to end. */
void ext_report(struct ext_call *, enum ext_exit_kind kind, s64 code, const char *message);
