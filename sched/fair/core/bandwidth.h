/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The structures of bandwidth.c: the pool of a group, and what a runqueue knows of pools.
 */
#pragma once

#include "lib/list.h"
#include "sched/host.h"

struct rq;
struct task_group;

struct bandwidth_timer {
	struct bandwidth *pool;
	struct rq *rq; /* whose list it is on; NULL: it is not running */
	struct list link;
	u64 at;
};

/*
 * The CPU time that a group may use; see bandwidth.c. guarded by: lock; the configuration by the
 * host.
 */
struct bandwidth {
	struct host_lock lock;
	u64 quota_ns, period_ns, burst_ns;
	u64 runtime_ns;			      /* left in the pool */
	u64 owed_ns;			      /* overrun by queues whose CPUs left since */
	u64 snapshot_ns;		      /* runtime_ns after the last refill */
	bool idle;			      /* nothing was fetched in this period yet */
	struct list throttled;		      /* queues with a debt, in the order they got it */
	struct bandwidth_timer period, slack; /* also guarded by: the lock of their rq */
	u64 nr_periods, nr_throttled, throttled_ns, nr_bursts, burst_used_ns;
};

/* A runqueue's part in quotas. guarded by: rq lock */
struct bandwidth_rq {
	struct list timers;    /* that its CPU serves */
	u64 at;		       /* when the first of them is due; 0: there is none */
	struct list throttled; /* queues */
};

/*
 * True if @tg may have these limits; @nested: those of the groups above and below it count, too.
 * Nothing is changed.
 */
bool bandwidth_may_be(struct sched *s, struct task_group *tg, u64 quota_ns, u64 period_ns,
		      u64 burst_ns, bool nested);
