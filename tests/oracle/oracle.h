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
	u64 due; /* FDL's deadline; 0: none */
	bool queued, idle;
	u64 state[ENTITY_STATE_WORDS]; /* what the policy keeps of it */
};

/* A queue before the hook was called. Rows: all queued entities, the running one included. */
struct view {
	struct fair_queue *q;
	const struct sched *s;
	u32 nr;
	struct row row[VIEW_ROWS];
	/*
	 * The entity that the hook is about; its e is NULL if it is the queue. A new score of BORE
	 * may give it another weight in the middle of a hook: before a charge has its subject as it
	 * was when the hook was called, every other hook as it was from then on.
	 */
	struct row subject;
	struct row first;    /* the same, always as it was when the hook was called */
	struct row now;	     /* after the call; for a charge, before it got another weight */
	bool charges;	     /* the hook is a charge */
	bool reweighed;	     /* the subject's weight changed in the middle */
	struct entity *curr; /* the running one, if it is queued */
	u64 curr_v;	     /* vruntime of the running one, queued or not */
	struct queue_state state;
	struct view *outer; /* of the hook that called this one; NULL: none did */
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
	bool (*yield)(const struct view *v, const struct entity *e);
	/* @weight: in units of the nice table; e->load is still as it was. */
	bool (*reweight)(const struct view *v, const struct entity *e, s64 weight);
};

extern const struct oracle cfs_oracle, bore_cfs_oracle, eevdf_oracle, bore_oracle, fdl_oracle;

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

/* A value between two, both included. */
struct range {
	s128 low, high;
};

/* The virtual times that @ns of CPU time of an entity of @weight may be, for is_virtual(). */
struct range virtual_range(u64 ns, s64 weight);

static inline bool is_in(s128 x, struct range r)
{
	return x >= r.low && x <= r.high;
}

/* Virtual time @a - @b, which are near each other though both may have wrapped. */
static inline s64 ahead(u64 a, u64 b)
{
	return (s64)(a - b);
}

/* --- groups: group.c -------------------------------------------------------------------------- */

/* The weight, as stored, that @e should have now; it stands for a group. */
u64 weight_of_group(const struct entity *e);

/* --- CFS's rules, for policies that are built on it: cfs.c ------------------------------------ */

bool cfs_picks(const struct view *v, const struct entity *picked);
bool cfs_preempts_right(const struct view *v, const struct entity *curr, const struct entity *woken,
			unsigned flags, bool yes);
/* The same if only entities without a deadline count as those that wait. */
bool cfs_tick_right(const struct view *v, const struct entity *e, bool yes);
bool cfs_charges(const struct view *v, const struct entity *e, u64 delta);
bool cfs_places(const struct view *v, const struct entity *e, unsigned flags);
bool cfs_leaves(const struct view *v, const struct entity *e, unsigned flags, bool stays);
bool cfs_yields(const struct view *v, const struct entity *e);

/* --- BORE's bursts: burst.c ------------------------------------------------------------------- */

/* The row of the nice table that changes nothing: that of nice 0. */
#define ROW_OF_NICE_0 20

/* The weight of row @row of the nice table, 0..39. */
s64 weight_of_row(unsigned row);
unsigned row_of_weight(s64 weight);

/* @range of virtual time as it is for an entity of row @row instead of that of nice 0. */
struct range stretched_range(struct range range, unsigned row);

/* The tunables of the version that @q goes by, as its runqueue was told of them. */
const struct burst_params *bore_params_of(const struct fair_queue *q);

/* The score of a burst in 2.2.8; its penalty in 5.9.6, 4 to a score. */
unsigned score_2(const struct fair_queue *q, u64 burst);
unsigned penalty_5(const struct fair_queue *q, u64 burst);

/* The past of @t, which belongs to @rq, if its burst ended now (5.9.6). */
u64 past_after_5(const struct rq *rq, const struct task *t);

/* Are the bursts of @e right, @delta ns after they were @was, in which perhaps one @ended? */
bool bursts_2(const struct view *v, const struct row *was, const struct entity *e, u64 delta,
	      bool ended);
bool bursts_5(const struct view *v, const struct row *was, const struct entity *e, u64 delta,
	      bool ended);

/* Are the bursts of @e what they were? */
bool bursts_stay(const struct row *was, const struct entity *e);

/* Has each runqueue of @s the tunables of the policy in use? */
bool bore_is_tuned(const struct sched *s);
