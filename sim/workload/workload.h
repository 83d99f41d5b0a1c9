/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Workloads: what the tasks of a simulation do. A task follows a program, which is a list of steps.
 * Tasks meet at objects: mutexes, conditions, semaphores, barriers and timers. Programs come from
 * the built-in library (library.c) or from an rt-app file (rtapp.c).
 */
#pragma once

#include "sim/engine/sim.h"

enum step_kind {
	STEP_RUN,     /* a..b ns of work, evenly distributed */
	STEP_RUNTIME, /* work until a ns have passed, including waits */
	STEP_SLEEP,   /* a..b ns */
	STEP_DELAY,   /* like STEP_SLEEP; the task's timers count from its end */
	/*
	 * until the next multiple of a ns; the timer is the task's own if b & TIMER_OWN, else the
	 * object
	 */
	STEP_TIMER,
	STEP_YIELD,
	STEP_LOCK, /* object: a mutex */
	STEP_UNLOCK,
	STEP_WAIT, /* object: a condition; other: the mutex held, or NO_OBJECT */
	STEP_SIGNAL,
	STEP_BROADCAST,
	STEP_POST, /* object: a semaphore */
	STEP_TAKE,
	STEP_BARRIER,
	STEP_FORK, /* a: number of the program */
	STEP_LOOP, /* repeat the steps up to STEP_END a times; LOOP_FOREVER: endlessly */
	STEP_END,
	STEP_ATTR,    /* a: number of the attributes */
	STEP_HOTPLUG, /* a: another CPU; b: put it back into service, else take it out */
	STEP_EXIT,    /* like the end of the program */
};

#define LOOP_FOREVER   UINT64_MAX
#define NO_OBJECT      UINT32_MAX
#define TIMER_OWN      1u /* not shared with other tasks */
#define TIMER_ABSOLUTE 2u /* after an overrun stay on the old grid, else start a new one */

struct step {
	u8 kind;
	u32 object, other; /* numbers; 0 if the step has none */
	u64 a, b;
};

/* How a task asks to be scheduled. Fields that are not set leave the task's values as they are. */
struct attributes {
	bool set_policy, set_affinity, set_group;
	int policy, nice, rt_priority;
	u64 slice_ns;				/* 0: the policy's usual one */
	u64 runtime_ns, deadline_ns, period_ns; /* SCHED_DEADLINE */
	u32 clamps, util[NR_SCHED_CLAMPS];	/* as in struct sched_attr_req */
	u32 footprint_kib;			/* 0: the usual one; see sim/engine/cache.h */
	u32 group;				/* number */
	struct cpumask allowed;
};

/* A task group. Number 0 is the root, which has no parameters. Parents come before children. */
struct group {
	char *path; /* "/a/b" */
	u32 parent;
	struct task_group_params params;
	u64 boost; /* of SchedTune, %; 0: that of the group above */
	u64 clamp[NR_SCHED_CLAMPS];
	u64 ideal_ns; /* what its fair tasks get from a fluid server */
};

struct program {
	char name[TASK_COMM_LEN];
	u32 instances; /* started at the beginning; 0: the program is only forked */
	bool numbered; /* its tasks are called name-0, name-1, ..., counted over all programs */
	struct attributes attr;
	struct step *steps;
	u32 nr_steps, size;
	u32 row; /* of the report; programs of the same name and attributes share a row */
};

struct object {
	char name[32];
	/* semaphore: its count. Barrier: the number of tasks still to come. */
	s64 start, value;
	u64 expiry;		/* timer: the next expiry; 0: not started */
	struct sim_task *owner; /* of a mutex */
	struct list waiters;
};

/* Only the objects change while a simulation runs. */
struct workload {
	struct program *programs;
	u32 nr_programs, programs_size;
	struct object *objects;
	u32 nr_objects, objects_size;
	struct attributes *attrs;
	u32 nr_attrs, attrs_size;
	struct group *groups; /* none, or the root and the others */
	u32 nr_groups, groups_size;
	u32 next_number; /* for the next numbered task */
	u64 duration;	 /* the workload's own, ns; 0: none */
	u32 nr_rows;	 /* set by workload_finish() */
	u64 *row_ideal_ns;
};

/* --- building (workload.c) ---------------------------------------------------------- */

/* Programs are referred to by number, because the array moves as it grows. */
u32 workload_program(struct workload *w, const char *name);
u32 workload_object(struct workload *w, const char *name);
u32 workload_attr(struct workload *w, const struct attributes *attr);
void workload_step(struct workload *w, u32 program, struct step step);
/* To be called when everything is added. */
void workload_finish(struct workload *w);
void workload_free(struct workload *w);
/* A program of @row, of which all have one name and one set of attributes. */
const struct program *workload_row(const struct workload *w, u32 row);

/* --- running (workload.c) ------------------------------------------------------------- */

/* Starts every instance of every program. False: there are too many tasks. */
bool workload_start(struct sim *sim, struct workload *w);
/* The sim_config.next of tasks with programs. */
enum sim_next workload_next(struct sim *sim, struct sim_task *t);

/* --- the library (library.c) ------------------------------------------------------------ */

/* Adds the built-in workload @spec, "NAME:key=value,...". Exits with a message on an error. */
void library_add(struct workload *w, const char *spec, unsigned nr_cpus);
void library_help(void);

/* --- rt-app (rtapp.c) --------------------------------------------------------------------- */

/*
 * Adds the tasks of the rt-app file @path. Exits with a message on an error, and if @strict also
 * where rt-app would go on in another way than the file says.
 */
void rtapp_add(struct workload *w, const char *path, unsigned nr_cpus, u64 mem_ns_per_kib,
	       bool strict);
/* The file's "platform", which the caller frees, or NULL. */
char *rtapp_platform(const char *path);
