/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fluid server: the ideal that schedulers approximate. Every runnable task runs at every
 * moment, at its share by weight and at most at one CPU's speed (generalised processor sharing).
 *
 * Tasks of the same weight on the same server run at the same speed. So one sum of service for each
 * weight tells what any of them got, however many there are. Two CPUs belong to different servers
 * if no task of the workload may choose between them. Affinities that overlap make one server of
 * all their CPUs, which then ignores them; so does a group whose tasks may run on several servers.
 * Real-time tasks go first and get a CPU each. So do deadline tasks beside a scheduler; instead of
 * one they get at most their bandwidth, the runtime's part of the period, spread evenly.
 *
 * A group is served like one task, by its shares, and serves its tasks and the groups below in the
 * same way. It gets at most its quota's part of its period, spread evenly.
 *
 * The fluid server has two uses: beside a scheduler, to say how far each task is behind
 * (measure.c), and instead of one, to say what each task would get (fluid_run(): the same
 * programs).
 */
#pragma once

#include "sim/workload/workload.h"

#define WEIGHT_IDLE   40u /* SCHED_IDLE; 0..39 are the nice values from -20 */
#define WEIGHT_RT     41u
#define WEIGHT_DL     42u /* SCHED_DEADLINE, and a number for each other bandwidth that occurs */
#define NR_WEIGHTS    64
#define SERVICE_SHIFT 16 /* service is counted in 2^-16 ns */

/* The members of one group, or the tasks in no group, on one server. */
struct fluid_group {
	u32 nr[NR_WEIGHTS];   /* runnable tasks */
	u64 present;	      /* bit set: nr is not 0 */
	u64 rate[NR_WEIGHTS]; /* of each task, in 2^-32 CPUs */
	/* the service of a task that was runnable all the time */
	u64 service[NR_WEIGHTS];
	/* fluid_run(): tasks by the service at which they have done their work */
	struct rb_tree working[NR_WEIGHTS];
	u32 number;
	u64 weight, limit;	     /* of the group; limit is in 2^-32 CPUs */
	struct fluid_group *parent;  /* NULL: this is the root */
	struct fluid_group *sibling; /* the next group below the same parent */
	struct fluid_group *first_child;
	/* Used while rates are set, in 2^-32 CPUs: */
	u64 demand, granted;
	bool settled;
};

struct fluid_server {
	u32 nr_cpus;
	bool stale; /* the rates are out of date */
	u64 updated;
	/* those that had members here and the groups above them, root first */
	struct fluid_group **groups;
	u32 nr_groups, groups_size;
	/* Used by fluid_run(): */
	struct event done; /* when the first task will have done its work */
	bool changed;
	struct list changed_link;
};

struct fluid {
	struct sim *sim;
	struct sim_server server;  /* used by fluid_serve() */
	struct workload *workload; /* likewise */
	u64 weight[NR_WEIGHTS]; /* from WEIGHT_DL on: a bandwidth in 2^-32 CPUs, 0: none */
	struct fluid_server *servers;
	u32 nr_servers;
	u32 *server_of_cpu;
	struct list changed;
};

/* Makes servers for the machine of @sim, according to the affinities of the tasks of @w. */
struct fluid *fluid_new(struct sim *sim, const struct workload *w);
void fluid_free(struct fluid *fluid);

/* @t becomes runnable, with its present weight and affinity; @t stops being runnable. */
void fluid_join(struct fluid *fluid, struct sim_task *t);
void fluid_leave(struct fluid *fluid, struct sim_task *t);
/* The service since @t joined, in ns. */
u64 fluid_service(struct fluid *fluid, struct sim_task *t);

/* --- a machine with nothing else ----------------------------------------------------------- */

/* Lets a new fluid server, which is returned, serve @sim. There must be no task or group yet. */
struct fluid *fluid_serve(struct sim *sim, struct workload *w);

/*
 * Runs the workload up to @until and adds what its tasks get to the workload's row_ideal_ns.
 * Returns whether the run succeeded.
 */
bool fluid_run(struct fluid *fluid, u64 until);
