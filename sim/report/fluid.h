/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fluid server: the ideal that schedulers approximate. Every runnable task runs at every
 * moment, at its share by weight and at most one CPU's speed (generalised processor sharing).
 *
 * Tasks of the same weight on the same server run at the same speed, so one sum of service for each
 * weight tells what any of them got, however many there are. CPUs between which no task of the
 * workload may choose belong to different servers; affinities that overlap make one server of all
 * their CPUs, which then ignores them, and so does a group whose tasks are here and there.
 * Real-time tasks go first and get a CPU each.
 *
 * A group is served as one, by its shares, and serves its tasks and the groups below likewise; it
 * gets at most its quota's part of its period, spread evenly.
 *
 * It is used twice: beside a scheduler, to say how far each task is behind (measure.c), and instead
 * of one, to say what each task would get (fluid_run: the same programs, with a fluid server).
 */
#pragma once

#include "sim/workload/workload.h"

#define WEIGHT_IDLE   40u /* SCHED_IDLE; 0..39 are the nice values from -20 */
#define WEIGHT_RT     41u
#define NR_WEIGHTS    42
#define SERVICE_SHIFT 16 /* service is counted in 2^-16 ns */

/* The members of one group, or of none, on one server. */
struct fluid_group {
	u32 nr[NR_WEIGHTS];		    /* runnable tasks */
	u64 present;			    /* bit set: nr is not 0 */
	u64 rate[NR_WEIGHTS];		    /* of each task, 2^-32 CPUs */
	u64 service[NR_WEIGHTS];	    /* that a task runnable all the time would have got */
	struct rb_tree working[NR_WEIGHTS]; /* fluid_run(): tasks by the service at their end */
	u32 number;
	u64 weight, limit;	     /* of the group; limit in 2^-32 CPUs */
	struct fluid_group *parent;  /* NULL: this is the root */
	struct fluid_group *sibling; /* the next below the same parent */
	struct fluid_group *first_child;
	/* Of use while rates are set, 2^-32 CPUs: */
	u64 demand, granted;
	bool settled;
};

struct fluid_server {
	u32 nr_cpus;
	bool stale; /* the rates are of other numbers */
	u64 updated;
	struct fluid_group **groups; /* those that had members here and those above, root first */
	u32 nr_groups, groups_size;
	/* fluid_run() only */
	struct event done; /* of the first task that will have done its work */
	bool changed;
	struct list changed_link;
};

struct fluid {
	struct sim *sim;
	struct sim_server server;  /* used by fluid_serve() only */
	struct workload *workload; /* the same */
	u64 weight[NR_WEIGHTS];
	struct fluid_server *servers;
	u32 nr_servers;
	u32 *server_of_cpu;
	struct list changed;
};

/* Servers for the machine of @sim and what the tasks of @w may choose. */
struct fluid *fluid_new(struct sim *sim, const struct workload *w);
void fluid_free(struct fluid *fluid);

/* @t is runnable from now on, with the weight and affinity it has; it is not any more. */
void fluid_join(struct fluid *fluid, struct sim_task *t);
void fluid_leave(struct fluid *fluid, struct sim_task *t);
/* ns of service since it joined. */
u64 fluid_service(struct fluid *fluid, struct sim_task *t);

/* --- a machine with nothing else ----------------------------------------------------------- */

/* @sim, which has no task or group yet, is served by the fluid server that is returned. */
struct fluid *fluid_serve(struct sim *sim, struct workload *w);

/*
 * Run the workload of @sim up to @until; adds what its tasks get to the workload's row_ideal_ns.
 * False: the run failed, as sim_run().
 */
bool fluid_run(struct fluid *fluid, u64 until);
