/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What work conservation is measured with: see waste.c.
 */
#pragma once

#include "lib/cpumask.h"
#include "lib/list.h"
#include "sched/host.h"

struct task;
struct sched;

/* V of some CPUs: the machine's, or those behind one cache. guarded by: sched.waste_lock */
struct waste {
	u64 stamp; /* ns is up to date as of then */
	u64 ns;
	u32 nr_wasted;				/* V: idle CPUs that could run waiting tasks */
	u32 nr_idle, nr_waiting, nr_restricted; /* sums over the runqueues */
	struct cpumask idle, restricted;	/* whose standing has them */
};

/* How a runqueue stands, as the machine knows it. guarded by: sched.waste_lock and rq lock */
struct waste_rq {
	bool idle;
	u32 nr_waiting;		/* tasks that it could pick, but the one that runs, or will */
	u32 nr_restricted;	/* of them, those that may not run everywhere */
	struct list restricted; /* these */
	struct waste *llc;	/* of its cache: the of_llc of one of that's CPUs. Constant. */
	struct waste of_llc;
	/* while a matching is searched; guarded by: sched.waste_lock */
	struct task *taken_by, *found_by;
};

/* The topology was built; later ones do not matter, for a CPU out of service has no part in it. */
void waste_init(struct sched *s);
/* schedstats was switched on or off. */
void waste_tuned(struct sched *s);
/* host_bug() if what the machine knows of @rq, locked, is wrong. */
void waste_check(struct rq *rq);
