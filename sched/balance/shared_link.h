/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A task's link in the shared wake queue; see sharedq.c.
 */
#pragma once

#include "lib/list.h"
#include "lib/types.h"

/* Where a task is with respect to the shared wake queue; see sharedq.c. */
enum shared_state {
	SHARED_NOT = 0,
	SHARED_LINKED,
	SHARED_CLAIMED, /* a CPU is about to come for it */
};

/* rq is that of the task's CPU. From LINKED to CLAIMED the shard's lock alone guards them. */
struct shared_link {
	GUARDED(shard->lock,
		"the holder of the runqueue's lock: whether it is linked or claimed at all");
	struct list link; /* in the shard */
	u64 since;	  /* linked */
	u32 claimant;	  /* its CPU */
	u32 state;	  /* enum shared_state */
};
