/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine: a machine of CPUs on which time is an event queue, and the scheduler's host.
 *
 * Between two events nothing happens except that running tasks use up their work. So the state of a
 * CPU is its current task, the time up to which that task is accounted, and the overhead that the
 * CPU still owes. All of it is in one struct sim: machines are made and freed at will, and a run is
 * a function of its configuration and the calls made.
 *
 * The model says when things happen and what they cost (struct sim_costs). A cost is time in which
 * the CPU that pays neither works nor switches. A CPU has the speed that the scheduler chose for it
 * (host_set_speed), 1 on a machine without frequencies: work left is in ns of the fastest CPU, time
 * and costs are not. Caches are modelled on request (cache.h), contention for locks is not. See
 * docs/simulator.md.
 */
#pragma once

#include "lib/prng.h"
#include "lib/rbtree.h"
#include "sim/engine/cache.h"
#include "sim/engine/queue.h"
#include "sched/observe/event.h"
#include "sched/sched.h"

#define SIM_FOREVER   UINT64_MAX
#define SIM_START     NS_PER_SEC /* the clock at the start; 0 means "never" to the scheduler */
#define SIM_MAX_TASKS 1000000u	 /* alive at the same time */

/* Costs in ns, all 0 unless the user sets them. Every result prints them. */
struct sim_costs {
	u64 switch_ns;	    /* changing the running task */
	u64 tick_ns;	    /* a tick */
	u64 timer_ns;	    /* the interrupt that ends a sleep */
	u64 wake_ns;	    /* waking a task, paid by the waker's CPU */
	u64 ipi_ns;	    /* delay from a kick until the other CPU notices */
	u64 migration_ns;   /* the first run on another CPU that shares the cache */
	u64 cold_ns;	    /* the first run on another CPU that does not share it */
	u64 shard_ns;	    /* holding the lock of a shard of the shared wake queue */
	u64 mem_ns_per_kib; /* touching memory, for rt-app's mem and iorun */
};

struct sim;
struct sim_cpu;
struct sim_task;
struct program;

/* The next action of a running task that has done its work. */
enum sim_next {
	SIM_WORK,  /* work for left_ns ns; 0: ask again, after a preemption if one is due */
	SIM_SLEEP, /* block until woken */
	SIM_YIELD,
	SIM_EXIT,
};

/* Disturbances of a machine (disturb.c). 0 everywhere: none. */
struct sim_disturbance {
	u64 clock_start;   /* what the scheduler's clocks say at the start; 0: SIM_START */
	u64 skew_ns;	   /* each CPU's is ahead by less than this */
	u64 jump_ns;	   /* all jump ahead by this ... */
	u64 jump_every_ns; /* ... each time after this; 0: never */
	u64 late_ns;	   /* now and then a CPU has no tick for less than this */
	u64 dump_every_ns; /* the scheduler's state is read, at no cost; 0: never */
	u64 vary;	   /* seed of what differs from run to run in nature; 0: nothing does */
};

struct sim_config {
	unsigned nr_cpus, hz;
	const struct sched_cpu_desc *topology; /* [nr_cpus]; used only during sim_new() */
	const char *fair_policy;	       /* NULL: the default policy */
	const struct cpumask *isolated;	       /* used only during sim_new(); NULL: none */
	u64 seed;
	struct sim_disturbance disturbance;
	bool lazy; /* preemption model: kicks that are not urgent come without an interrupt */
	struct sim_costs costs;
	struct sim_caches caches;
	bool check;		     /* call sched_check() after every event */
	u32 hang_ms;		     /* CPU time in which something must happen; 0: 10 s */
	const struct opp_table *opp; /* used only during sim_new(); NULL: CPUs have one speed */
	/* Called when a running task has done its work. NULL: tasks run for ever. */
	enum sim_next (*next)(struct sim *, struct sim_task *);
};

/*
 * A listener hears what happens on a machine; sim_listen() adds it. Measuring, recording and
 * checking are listeners, so the engine knows none of them. A hook may be NULL. No hook may call
 * the scheduler, except unlocked().
 */
struct sim_listener {
	struct sim_listener *next;
	/* The scheduler emitted @event. */
	void (*event)(struct sim_listener *, struct sim *, const struct sched_event *event);
	/* Called before each decision, with @next NULL, and after it. */
	void (*decision)(struct sim_listener *, struct sim *, struct sim_cpu *, bool preempt,
			 struct sim_task *next);
	/* The scheduler has just released the last lock that it held. */
	void (*unlocked)(struct sim_listener *, struct sim *);
	/* @t starts or wakes up. */
	void (*runnable)(struct sim_listener *, struct sim *, struct sim_task *t, bool is_new);
	/* A CPU changes from @prev to @next. */
	void (*switched)(struct sim_listener *, struct sim *, struct sim_task *prev,
			 struct sim_task *next);
	/* Called before and after a change of @t's weight, affinity or group. */
	void (*change)(struct sim_listener *, struct sim *, struct sim_task *t, bool begin);
	/* @t has ended and is about to be freed. */
	void (*ended)(struct sim_listener *, struct sim *, struct sim_task *t);
};

/* Serves tasks in place of the scheduler; see sim_serve(). */
struct sim_server {
	void (*wake)(struct sim_server *, struct sim *, struct sim_task *t);
	/* Called before and after a change of @t's weight, affinity or group. */
	void (*change)(struct sim_server *, struct sim *, struct sim_task *t, bool begin);
};

/* A task's place in its program (workload.c). */
#define PROGRAM_DEPTH 4
struct cursor {
	const struct program *program;
	u32 step;
	u8 depth;		       /* of nested loops */
	u8 stage;		       /* within a step that takes several visits */
	s64 loops_left[PROGRAM_DEPTH]; /* -1: endless */
	u64 expiry;		       /* end of the present step */
	u64 timer;		       /* next expiry of the task's own timer; 0: not started */
	u64 origin;		       /* the time at which its timers are at 0 */
	struct prng rng;
	struct list waiting; /* in a synchronisation object's queue */
};

struct sim_task {
	struct task task; /* the part that belongs to the scheduler */
	/* work left until the task is asked what it does next, in ns at speed 1; SIM_FOREVER */
	u64 left_ns;
	struct event wakeup; /* the end of its sleep */
	u32 timer_cpu;	     /* the CPU on which the sleep ends */
	u32 last_cpu;	     /* the CPU it ran on last, or SIM_NOWHERE */
	u64 energy_before;   /* of its CPU, as far as it is accounted */
	u64 runnable_since;  /* the start of its wait for a CPU; 0: it does not wait */
	struct cursor cursor;
	bool asleep : 1;
	bool woken : 1; /* the wait began with a wakeup, not with a preemption */
	u8 weight;	/* the fields from here to server: fluid.c */
	bool working, interrupted;
	u32 server;
	u32 row;	       /* of the report */
	u32 group;	       /* number of its group */
	u32 footprint_kib;     /* 0: the usual one */
	struct cached *cached; /* where its data are; NULL: nowhere yet (cache.c) */
	/* in the list of all tasks or of free ones; in neither if it ended before its threads */
	struct list link;
	u64 running_since;
	u64 got_ns; /* CPU time up to running_since */
	s64 lag;    /* its lag when it joined its fluid server, less the CPU time since */
	struct fluid_group *member_of;
	u64 service_start, service_end;
	struct rb_node node;
} __aligned(64);
#define SIM_NOWHERE UINT32_MAX

struct sim_cpu {
	u32 id;
	bool kicked; /* a switch is due */
	bool offline;
	/* in 1024ths of the fastest CPU's: what the scheduler chose, and beside busy siblings */
	u32 own_speed, speed;
	u32 rest; /* 1024ths of a ns of work that curr did beyond what left_ns says */
	struct sim_task *curr;
	u64 since;   /* curr's work and the debt are accounted up to this time */
	u64 debt_ns; /* overhead that the CPU still has to work off */
	u64 cold_ns; /* until its task's data are in the caches (cache.c) */
	struct event done, timer, kick;
	u64 skew_ns; /* its clock is ahead of sim->now by this, modulo 2^64 */
	u64 tick_at; /* it has no tick before */
	u64 idle_ns, idle_since;
	u64 overhead_ns; /* since the start */
	u32 core, llc, node;
	struct sim_task idle;
};

/* A task group. It has no scheduler's part if a fluid server takes the scheduler's place. */
struct sim_group {
	struct task_group *tg; /* NULL: the root */
	u32 parent;
	unsigned tune; /* its boost group */
	struct task_group_params params;
};

/* Values of event.kind. */
enum {
	EVENT_TICK,
	EVENT_DONE,
	EVENT_TIMER,
	EVENT_KICK,
	EVENT_WAKEUP,
	EVENT_CONTROL,
	EVENT_JUMP,
	EVENT_DUMP,
	EVENT_START,
	EVENT_CALL,
};

/* A call at a time, on a CPU; it costs nothing. */
struct sim_call {
	struct event event;
	u32 cpu;
	void (*what)(struct sim *, struct sim_call *);
};

struct sim_counts {
	u64 events;	/* taken from the queue */
	u64 operations; /* calls of the scheduler; the counts below are parts of it */
	u64 switches, wakeups, ticks, kicks, timers, starts, exits, yields;
	u64 cold_ns; /* tasks waited for their data, all in all */
	/* locks taken; how many after waiting; total wait */
	u64 shard_locks, shard_waits, shard_wait_ns;
};

struct sim {
	struct sim_config config;
	struct sched *s;
	void *freq; /* memory of its frequencies, or NULL */
	u64 now;
	u64 tick_ns;
	u32 this_cpu;	   /* the CPU on which the present event happens */
	bool is_big;	   /* more CPUs than fit into the host's cache */
	bool in_interrupt; /* its timer or tick calls the scheduler, not the task that runs there */
	struct event_queue queue;
	struct sim_cpu *cpus;
	struct caches *caches;	   /* NULL: not modelled */
	struct event tick;	   /* one event for the ticks of all busy CPUs */
	struct event control;	   /* the next pass of fdl's controller, if there are groups */
	struct event jump, dump;   /* of all clocks; of the scheduler's state */
	u64 *ticking;		   /* bit set: the CPU has a tick */
	struct list tasks;	   /* alive */
	struct list free;	   /* tasks that ended, to be reused */
	struct task_block *blocks; /* memory for tasks */
	u32 nr_tasks, nr_tasks_max;
	struct sim_group *groups; /* [0]: the root */
	u32 nr_groups;
	int next_pid;
	struct prng rng, varied; /* varied: draws what config.disturbance.vary asks for */
	u64 tick_phase;		 /* ticks come at this time after multiples of tick_ns */
	struct sim_counts count;
	u64 stuck_at, stuck_steps; /* program steps taken without time passing */
	/* events and switches without time passing or a program's step */
	u64 quiet_at, quiet_turns;
	const char *failure;	       /* why the run cannot go on; NULL: it can */
	const struct sim_task *failed; /* the task that made the mistake, or NULL */
	struct host_lock *held[4];
	u32 nr_held;
	struct sim_listener *listeners;
	u64 trace_mask;			   /* events that they hear of */
	struct sim_server *server;	   /* NULL: the scheduler serves the tasks */
	void *context;			   /* belongs to config.next */
	u32 cause;			   /* kind of the present event */
	void (*after_event)(struct sim *); /* NULL, or called after each event */
	/* NULL, or called when a group is made, and before a task's changes. */
	void (*group_begins)(struct sim *, u32 group);
	void (*group_changes)(struct sim *, struct sim_task *t, u32 to);
	void (*recover)(void); /* NULL, or called when an operation does not return */
	bool stopped;	       /* sim_run() is to return after the present event */
	/* NULL, or an internal error calls it, with its text in bug; it does not return. */
	void (*leave)(void);
	char bug[200];
};

/* --- machines -------------------------------------------------------------- */

/*
 * A new machine; NULL if the scheduler refuses the configuration (an unknown policy or HZ) or
 * memory is short.
 */
struct sim *sim_new(const struct sim_config *config);
void sim_free(struct sim *sim);
/* Makes the seam act on @sim. sim_new() and sim_run() call it. */
void sim_select(struct sim *sim);

/* From now on @listener hears everything. It must last until the machine's last run ends. */
void sim_listen(struct sim *sim, struct sim_listener *listener);
/* Listeners hear of @events (BIT(EVENT_x)) too from now on. */
void sim_trace(struct sim *sim, u64 events);
/*
 * Lets @server serve the tasks instead of the scheduler. Must be called before the first task or
 * group is made. The server then takes the events from the queue itself.
 */
void sim_serve(struct sim *sim, struct sim_server *server);

/* Calls @what on the present CPU at @when; a new call replaces the old. Cancel: was there one? */
void sim_call_at(struct sim *sim, struct sim_call *call, u64 when,
		 void (*what)(struct sim *, struct sim_call *));
bool sim_call_cancel(struct sim *sim, struct sim_call *call);

/* Lets everything happen that is due before @until. Returns whether the run succeeded. */
bool sim_run(struct sim *sim, u64 until);
/* Lets the next event happen if it is due by @until. Returns whether there was one. */
bool sim_step(struct sim *sim, u64 until);

/* --- tasks ------------------------------------------------------------------ */

struct sim_task *sim_task_of(struct task *t);
/*
 * A new task with endless work, not yet started; NULL if there are SIM_MAX_TASKS or memory is
 * short.
 */
struct sim_task *sim_task_new(struct sim *sim, const char *comm);
/* The same as a child of @parent, which must be the current task of the CPU entered. */
struct sim_task *sim_task_fork(struct sim *sim, struct sim_task *parent, const char *comm);
void sim_task_free(struct sim *sim, struct sim_task *t);

/* The number of a new group; 0 if memory is short or the scheduler refuses @params. */
u32 sim_group_new(struct sim *sim, u32 parent, const struct task_group_params *params);

/*
 * Members of @group and of those made below it from now on are boosted by @boost %; without effect
 * on a machine of one speed. False: there are no more boost groups.
 */
bool sim_group_boost(struct sim *sim, u32 group, u64 boost);

/* The clamps of @group become @util; without effect at one speed. False: the scheduler refuses. */
bool sim_group_clamp(struct sim *sim, u32 group, const u64 util[static NR_SCHED_CLAMPS]);

/*
 * For actions on a CPU that no program takes: call sim_enter(), then any functions of the
 * scheduler's API and those below, then sim_leave(). sim_leave() switches if a switch is due and
 * lets the current task go on.
 */
void sim_enter(struct sim *sim, unsigned cpu);
void sim_leave(struct sim *sim);

/* These two act on the CPU entered. */
void sim_start(struct sim *sim, struct sim_task *t);
/* The same, but if runs vary on any CPU and up to a tick later, from when its timers count. */
void sim_start_varied(struct sim *sim, struct sim_task *t);
bool sim_wake(struct sim *sim, struct sim_task *t, unsigned flags);
/* As sched_set_attr() and sched_set_affinity(), for any task. */
int sim_set_attr(struct sim *sim, struct sim_task *t, const struct sched_attr_req *req);
int sim_set_affinity(struct sim *sim, struct sim_task *t, const struct cpumask *mask);
/* Sets @t to wake up at @when, unless it is woken before. */
void sim_set_wakeup(struct sim *sim, struct sim_task *t, u64 when);
/* Moves @t to the group with this number. Its future children will be members, too. */
void sim_set_group(struct sim *sim, struct sim_task *t, u32 group);
/* For drivers without events (world.c): makes a switch. Otherwise sim_leave() switches. */
void sim_switch(struct sim *sim, bool preempt);
/*
 * Take @cpu, which must not be the present one, out of service or put it back. What runs there
 * leaves at once. Return whether the CPU changed: it must not be the last one in service, or
 * already in the state asked for.
 */
bool sim_cpu_offline(struct sim *sim, unsigned cpu);
bool sim_cpu_online(struct sim *sim, unsigned cpu);
/* Makes the current task do what a step of a program would. */
void sim_do(struct sim *sim, enum sim_next what);

/*
 * Counts a step of @t's program. Returns true, and the run fails, if there were too many without
 * time passing.
 */
bool sim_is_stuck(struct sim *sim, const struct sim_task *t);

/*
 * The time of a record, ns since the start. At least 1: KernelShark takes 0 for none when it merges
 * the CPUs of a trace.
 */
static inline u64 sim_record_time(const struct sim *sim)
{
	return max(sim->now - SIM_START, (u64)1);
}

/* Ends the run with an error; @t is the task that made the mistake, or NULL. */
static inline void sim_fail(struct sim *sim, const struct sim_task *t, const char *why)
{
	sim->failure = why;
	sim->failed = t;
}

static inline struct sim_cpu *sim_this_cpu(struct sim *sim)
{
	return &sim->cpus[sim->this_cpu];
}
