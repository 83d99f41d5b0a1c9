/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state of measuring work conservation: see waste.c.
 */
#pragma once

#include "lib/cpumask.h"
#include "lib/list.h"
#include "sched/host.h"

struct rq;
struct sched;
struct task;

/* V(t) of a set of CPUs: the machine's, or those of one cache. guarded by: sched.waste_lock */
struct waste {
	u64 stamp;				/* the time up to which ns is complete */
	u64 ns;					/* the integral of V */
	u32 nr_wasted;				/* V: idle CPUs that could run waiting tasks */
	u32 nr_idle, nr_waiting, nr_restricted; /* sums over the runqueues */
	struct cpumask idle, restricted;	/* CPUs that idle; CPUs with restricted tasks */
};

/* A runqueue's part of the machine's sums. guarded by: sched.waste_lock and rq lock */
struct waste_rq {
	bool idle;
	u32 nr_waiting;		/* pickable tasks beyond the one that runs or will run */
	u32 nr_restricted;	/* waiting tasks that may not run on every CPU */
	struct list restricted; /* the restricted tasks */
	struct waste *llc; /* the waste of its cache: of_llc of that cache's first CPU. Constant. */
	struct waste of_llc;
	/* used while a matching is searched; guarded by: sched.waste_lock */
	struct task *taken_by, *found_by;
};

/*
 * Begin measuring. The topology was built. Later topologies do not matter: a CPU out of service
 * neither idles nor has waiting tasks.
 */
void waste_init(struct sched *s);
/* The tunable schedstats was switched on or off. */
void waste_tuned(struct sched *s);
/* Call host_bug() if the machine's knowledge of @rq is wrong. Lock of @rq held. */
void waste_check(struct rq *rq);

/* Does the machine not know yet how @rq, locked, stands? */
bool waste_is_news(const struct rq *rq);
/* Tell it. (waste.c) */
void waste_tell(struct rq *rq);
