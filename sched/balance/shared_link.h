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

/* guarded by: lock of rq[cpu] and of its shard, both; from LINKED to CLAIMED the shard's alone */
struct shared_link {
	struct list link; /* in the shard */
	u64 since;	  /* linked */
	u32 claimant;	  /* its CPU */
	u32 state;	  /* enum shared_state */
};
