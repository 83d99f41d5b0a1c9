/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine: a machine of CPUs on which time is an event queue, and the scheduler's host.
 *
 * Between two events nothing happens but that running tasks use up their work; so the state of a
 * CPU is its current task, since when it was last brought up to date, and how much overhead it
 * still owes. All of it is in one struct sim: machines are made and freed at will, and a run is a
 * function of its configuration and the calls made.
 *
 * What is modelled: when things happen, and what they cost (struct sim_costs). A cost is time in
 * which the CPU that pays neither works nor switches. What is not modelled: caches, frequencies,
 * contention for locks. See docs/simulator.md.
 */
#pragma once

#include <setjmp.h>

#include "lib/prng.h"
#include "lib/rbtree.h"
#include "sim/engine/queue.h"
#include "sched/observe/event.h"
#include "sched/sched.h"

#define SIM_FOREVER   UINT64_MAX
#define SIM_START     NS_PER_SEC /* the clock at the start; 0 means "never" to the scheduler */
#define SIM_MAX_TASKS 1000000u	 /* at a time */

/* ns, all 0 unless the user says otherwise; printed with every result. */
struct sim_costs {
	u64 switch_ns;	    /* changing the running task */
	u64 tick_ns;	    /* a tick */
	u64 timer_ns;	    /* the interrupt that ends a sleep */
	u64 wake_ns;	    /* waking somebody, paid by the waker's CPU */
	u64 ipi_ns;	    /* from a kick until the other CPU notices */
	u64 migration_ns;   /* the first run on another CPU that shares the cache */
	u64 cold_ns;	    /* ... that does not share it */
	u64 shard_ns;	    /* holding the lock of a shard of the shared wake queue */
	u64 mem_ns_per_kib; /* touching memory, for rt-app's mem and iorun */
};

struct sim;
struct sim_cpu;
struct sim_task;
struct program;

/* What the running task does when its work is done. */
enum sim_next {
	SIM_WORK,  /* left_ns ns of work, 0: ask again (after a preemption that is due) */
	SIM_SLEEP, /* block until woken */
	SIM_YIELD,
	SIM_EXIT,
};

struct sim_config {
	unsigned nr_cpus, hz;
	const struct sched_cpu_desc *topology; /* [nr_cpus], used during sim_new() only */
	const char *fair_policy;	       /* NULL: the default */
	u64 seed;
	u64 skew_ns; /* each CPU's clock is ahead by less than this; 0: not at all */
	struct sim_costs costs;
	bool check;  /* sched_check() after every event */
	u32 hang_ms; /* of CPU time, in which something must happen; 0: 10 s */
	/* Asked when a running task's work is done; NULL: tasks run for ever. */
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

/* Where a task is in its program (workload.c). */
#define PROGRAM_DEPTH 4
struct cursor {
	const struct program *program;
	u32 step;
	u8 depth;		       /* of loops */
	u8 stage;		       /* of a step that takes several visits */
	s64 loops_left[PROGRAM_DEPTH]; /* -1: for ever */
	u64 expiry;		       /* end of the step it is in */
	u64 timer;		       /* next expiry of its own timer; 0: not started */
	u64 origin;		       /* its timers count from here */
	struct prng rng;
	struct list waiting; /* in a synchronisation object's queue */
};

struct sim_task {
	struct task task;    /* the scheduler's part */
	u64 left_ns;	     /* of work until it is asked what is next; SIM_FOREVER */
	struct event wakeup; /* the end of its sleep */
	u32 timer_cpu;	     /* where that will happen */
	u32 last_cpu;	     /* where it ran last, SIM_NOWHERE: nowhere yet */
	u64 runnable_since;  /* it waits for a CPU since; 0: it does not */
	struct cursor cursor;
	bool asleep : 1;
	bool woken : 1; /* its wait began with a wakeup, not with a preemption */
	u8 weight;	/* this, server and below: fluid.c */
	bool working, interrupted;
	u32 server;
	u32 row;	  /* of the report */
	u32 group;	  /* number */
	struct list link; /* all tasks, or the free ones; ended with threads left: neither */
	u64 running_since;
	u64 got_ns; /* up to then */
	s64 lag;    /* when it joined its fluid server, less what it got since */
	struct fluid_group *member_of;
	u64 service_start, service_end;
	struct rb_node node;
} __aligned(64);
#define SIM_NOWHERE UINT32_MAX

struct sim_cpu {
	u32 id;
	bool kicked; /* a switch is due */
	bool offline;
	struct sim_task *curr;
	u64 since;   /* curr's work and the debt are accounted up to here */
	u64 debt_ns; /* overhead that still has to be worked off */
	struct event done, timer, kick;
	u64 skew_ns; /* its clock is ahead by this */
	u64 idle_ns, idle_since;
	u64 overhead_ns; /* ever */
	u32 llc, node;
	struct sim_task idle;
};

/* A task group. The scheduler's part is made unless a fluid server takes its place. */
struct sim_group {
	struct task_group *tg; /* NULL: the root */
	u32 parent;
	struct task_group_params params;
};

/* event.kind */
enum { EVENT_TICK, EVENT_DONE, EVENT_TIMER, EVENT_KICK, EVENT_WAKEUP, EVENT_CONTROL };

struct sim_counts {
	u64 events;	/* taken from the queue */
	u64 operations; /* calls that tell or ask the scheduler something: the rest of these */
	u64 switches, wakeups, ticks, kicks, timers, starts, exits, yields;
	u64 shard_locks, shard_waits, shard_wait_ns; /* taken; of them, after waiting; how long */
};

struct sim {
	struct sim_config config;
	struct sched *s;
	u64 now;
	u64 tick_ns;
	u32 this_cpu; /* on which the present event happens */
	bool is_big;  /* more CPUs than fit the host's cache */
	struct event_queue queue;
	struct sim_cpu *cpus;
	struct event tick;	   /* of all busy CPUs: their ticks coincide */
	struct event control;	   /* the next pass of fdl's controller, if there are groups */
	u64 *ticking;		   /* bit set: the CPU is not tickless */
	struct list tasks;	   /* alive */
	struct list free;	   /* ended, their memory to be used again */
	struct task_block *blocks; /* where tasks come from */
	u32 nr_tasks, nr_tasks_max;
	struct sim_group *groups; /* [0]: the root */
	u32 nr_groups;
	int next_pid;
	struct prng rng;
	struct sim_counts count;
	u64 stuck_at, stuck_steps;     /* program steps taken without time passing */
	u64 quiet_at, quiet_turns;     /* events and switches without one of either */
	const char *failure;	       /* why the run cannot go on; NULL: it can */
	const struct sim_task *failed; /* whose mistake that is, or NULL */
	struct host_lock *held[4];
	u32 nr_held;
	struct sim_listener *listeners;
	struct sim_server *server; /* NULL: the scheduler serves the tasks */
	void *context;		   /* belongs to config.next */
	u32 cause;		   /* kind of the present event */
	bool stopped;		   /* sim_run() returns after the present event */
	/* When set, an internal error of the scheduler jumps there with its text in bug. */
	jmp_buf *bug_target;
	char bug[200];
};

/* --- machines -------------------------------------------------------------- */

/* NULL: the scheduler refuses the configuration (an unknown class, HZ) or memory is short. */
struct sim *sim_new(const struct sim_config *config);
void sim_free(struct sim *sim);
/* The seam acts on @sim from now on; sim_new() and sim_run() do it themselves. */
void sim_select(struct sim *sim);

/* @listener hears everything from now on. It must last until the machine's last run ends. */
void sim_listen(struct sim *sim, struct sim_listener *listener);
/*
 * @server serves the tasks instead of the scheduler. To be called before the first task or group is
 * made; the server then takes the events from the queue itself.
 */
void sim_serve(struct sim *sim, struct sim_server *server);

/* Let what is due before @until happen, unless the run fails. False: it has failed. */
bool sim_run(struct sim *sim, u64 until);
/* The next event, if it is due by @until. */
bool sim_step(struct sim *sim, u64 until);

/* --- tasks ------------------------------------------------------------------ */

struct sim_task *sim_task_of(struct task *t);
/* A new task with work for ever, not yet started. NULL: there are SIM_MAX_TASKS, or no memory. */
struct sim_task *sim_task_new(struct sim *sim, const char *comm);
/* The same as the child of @parent, the current task of the CPU entered. */
struct sim_task *sim_task_fork(struct sim *sim, struct sim_task *parent, const char *comm);
void sim_task_free(struct sim *sim, struct sim_task *t);

/* The number of a new group. 0: no memory, or the scheduler refuses @params. */
u32 sim_group_new(struct sim *sim, u32 parent, const struct task_group_params *params);

/*
 * What happens on a CPU outside of its program: sim_enter(), any calls of the scheduler's API and
 * of the functions below, then sim_leave(), which switches if that is due and lets what runs then
 * go on.
 */
void sim_enter(struct sim *sim, unsigned cpu);
void sim_leave(struct sim *sim);

/* On the CPU entered. */
void sim_start(struct sim *sim, struct sim_task *t);
bool sim_wake(struct sim *sim, struct sim_task *t, unsigned flags);
/* As sched_set_attr() and sched_set_affinity(), of any task. */
int sim_set_attr(struct sim *sim, struct sim_task *t, const struct sched_attr_req *req);
int sim_set_affinity(struct sim *sim, struct sim_task *t, const struct cpumask *mask);
/* Wake @t at @when, unless somebody does before. */
void sim_set_wakeup(struct sim *sim, struct sim_task *t, u64 when);
/* Make @t a member of the group with this number. Those it forks will be, too. */
void sim_set_group(struct sim *sim, struct sim_task *t, u32 group);
/* A switch that a driver without events wants (world.c); otherwise sim_leave() makes them. */
void sim_switch(struct sim *sim, bool preempt);
/*
 * Take @cpu, another one, out of service, or put it back. What it runs leaves at once. False: it is
 * the last one, or already so.
 */
bool sim_cpu_offline(struct sim *sim, unsigned cpu);
bool sim_cpu_online(struct sim *sim, unsigned cpu);
/* What the current task does next, as a program's step. */
void sim_do(struct sim *sim, enum sim_next what);

/* Too many steps of programs in no time: the run fails. Counts one of @t. */
bool sim_is_stuck(struct sim *sim, const struct sim_task *t);

/* The run cannot go on, because of what @t does if not NULL. */
static inline void sim_fail(struct sim *sim, const struct sim_task *t, const char *why)
{
	sim->failure = why;
	sim->failed = t;
}

static inline struct sim_cpu *sim_this_cpu(struct sim *sim)
{
	return &sim->cpus[sim->this_cpu];
}
