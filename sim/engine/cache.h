/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A model of caches: the price of running where a task's data are not. Off unless --caches asks.
 *
 * Each core has an L2, each group of CPUs with one llc a last-level cache. A task touches its
 * footprint again and again. If a cache lacks some of it, that comes line by line: from the
 * last-level cache, from the memory of the task's node, or from another node's. Meanwhile the task
 * does half of its work. A task that fills a full cache displaces at random what others left in it.
 * docs/simulator.md says which numbers were published, and what is left out.
 */
#pragma once

#include "lib/types.h"

struct sim;
struct sim_cpu;
struct sim_task;

struct sim_caches {
	u64 l2_kib, llc_kib;		  /* sizes; l2_kib is 0: no caches are modelled */
	u64 llc_ns, memory_ns, remote_ns; /* until a line of 64 bytes is there */
	u64 footprint_kib;		  /* of a task whose workload does not say */
	u64 smt;			  /* %: a CPU's speed while a sibling of its core works */
};

/* Reads the value of --caches, as "xeon5500,l2=1024". Exits with a message if it is wrong. */
struct sim_caches caches_read(const char *text);
/* Makes and frees sim->caches. False: the host has no memory. */
bool caches_init(struct sim *sim);
void caches_free(struct sim *sim);

/* @c had @ns for its task, which waits in half of it until its data are there. */
void caches_work(struct sim *sim, struct sim_cpu *c, u64 ns);
/* Returns the ns that @c needs in that way until the work of its task is done. */
u64 caches_left(const struct sim_cpu *c);
/* @c changes from @prev to @next, and has accounted the time of @prev. */
void caches_switch(struct sim *sim, struct sim_cpu *c, struct sim_task *prev,
		   struct sim_task *next);
/* The speed of @c beside what its siblings do, in 1024ths of the fastest CPU's. */
u32 caches_speed(const struct sim *sim, const struct sim_cpu *c);
/* @t has ended. */
void caches_forget(struct sim *sim, struct sim_task *t);
