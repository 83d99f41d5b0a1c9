/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The structures of the shared wake queue: a shard, and what a runqueue has to do with shards.
 */
#pragma once

#include "lib/list.h"
#include "sched/host.h"

struct task;

/* Waiting tasks of some CPUs behind one cache, the first to come first; see sharedq.c. */
struct shard {
	struct host_lock lock;
	GUARDED(lock);
	struct list tasks;
	GUARDED(lock, "CPUs that look for work");
	u32 nr;
	u64 since; /* when the first was linked */
	GUARDED(atomic);
	u32 users;     /* CPUs that hold the lock or wait for it */
	bool stealing; /* a CPU of another cache is taking a task */
} __aligned(64);

/* A runqueue's part in the shared wake queue. guarded by: rq lock unless said */
struct sharedq_rq {
	struct shard *shard; /* where its waiting tasks are linked; NULL: the feature is off */
	bool shares_all;     /* not only what woke up */
	u32 nr_shards;	     /* of its LLC; also read racily */
	struct task *claim;  /* guarded by: lock of the runqueue that the task is on */
	u32 core_index, next_in_llc, next_llc; /* see sharedq_topology(). Constant. */
	u64 steal_at;		/* when it looks at other LLCs again if it idles; 0: not */
	struct shard own_shard; /* one of its LLC's, if there are so many */
};
