/*
 * What work conservation is measured with: see waste.c.
 */
#pragma once

#include "lib/cpumask.h"
#include "lib/list.h"
#include "sched/host.h"

struct task;

/* How a runqueue stands, as the machine knows it. guarded by: sched.waste.lock and rq lock */
struct waste_rq {
	bool idle;
	u32 nr_waiting;		/* tasks that it could pick, but the one that runs, or will */
	u32 nr_restricted;	/* of them, those that may not run everywhere */
	struct list restricted; /* these */
	/* while a matching is searched; guarded by: sched.waste.lock */
	struct task *taken_by, *found_by;
};

/* guarded by: lock */
struct waste {
	struct host_lock lock;
	u64 stamp; /* ns is up to date as of then */
	u64 ns;
	u32 nr_wasted;				/* V: idle CPUs that could run waiting tasks */
	u32 nr_idle, nr_waiting, nr_restricted; /* sums over the runqueues */
	struct cpumask idle, restricted;	/* whose standing has them */
};
