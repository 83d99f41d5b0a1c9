/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Oracles: what a policy should have done, computed from what its queue held before.
 *
 * An oracle shares nothing with the code it judges. It reads the numbers of all entities of a queue
 * (struct view) and goes by the definitions of docs/oracles.md: sums over all entities where the
 * policy keeps running sums, a search of all where the policy has a tree, exact products in 128
 * bits where the policy multiplies by inverses. It calls no function of sched/.
 *
 * Where a policy rounds, the oracle accepts an interval, derived where it is used.
 */
#pragma once

#include "sched/fair/core/fair.h"

#define VIEW_ROWS 64

/* An entity before the hook was called. */
struct row {
	struct entity *e;
	u64 v;	    /* vruntime */
	s64 weight; /* in units of the nice table */
	u64 sum_exec, prev_sum_exec;
	bool queued, idle;
	u64 state[ENTITY_STATE_WORDS]; /* what the policy keeps of it */
};

/* A queue before the hook was called. Rows: all queued entities, the running one included. */
struct view {
	struct fair_queue *q;
	const struct sched *s;
	u32 nr;
	struct row row[VIEW_ROWS];
	struct row
		subject; /* the entity that the hook is about; its e is NULL if it is the queue */
	struct entity *curr; /* the running one, if it is queued */
	struct queue_state state;
};

/* The answers a policy may give; a NULL function judges nothing. @v: before the call. */
struct oracle {
	const struct fair_hooks *of;
	bool (*pick)(const struct view *v, const struct entity *picked);
	/* @curr as it was: @v's row; @yes: the answer. */
	bool (*preempts)(const struct view *v, const struct entity *curr,
			 const struct entity *woken, unsigned flags, bool yes);
	bool (*tick_expired)(const struct view *v, const struct entity *e, bool yes);
	bool (*place)(const struct view *v, const struct entity *e, unsigned flags);
	bool (*charge)(const struct view *v, const struct entity *e, u64 delta);
	bool (*leave)(const struct view *v, const struct entity *e, unsigned flags, bool stays);
};

extern const struct oracle cfs_oracle, bore_cfs_oracle, eevdf_oracle, bore_oracle;

/* --- what oracles share ----------------------------------------------------------------------- */

/* The weight of @e in units of the nice table; at least 2, for groups with almost no shares. */
static inline s64 weight_of(const struct entity *e)
{
	return max((s64)(e->load.weight >> 10), 2ll);
}

/* The row of @e; NULL if it is not queued. */
const struct row *row_of(const struct view *v, const struct entity *e);

/* Is @ns of CPU time of an entity of @weight worth @virtual ns, rounded as calc_delta() may? */
bool is_virtual(s128 virtual, u64 ns, s64 weight);

/* Virtual time @a - @b, which are near each other though both may have wrapped. */
static inline s64 ahead(u64 a, u64 b)
{
	return (s64)(a - b);
}
