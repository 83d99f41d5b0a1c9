/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CFS as a base: its hooks, for policies that change it in places. Where they may differ inside a
 * hook, that hook exists as cfs_*_by() with the difference as a parameter.
 */
#pragma once

#include "sched/fair/core/fair.h"

struct cfs_queue {
	u64 min_vruntime;		   /* what "now" is in virtual time; never decreases */
	u64 checked_min_vruntime;	   /* at the last sched_check() */
	struct entity *next, *last, *skip; /* buddies; NULL: none */
};
POLICY_QUEUE_STATE(cfs)

/*
 * How much further left than @curr, in its own virtual ns, must @woken be to take over? It says
 * when a wakeup preempts, and when a buddy is close enough to be picked.
 */
typedef u64 cfs_granularity_fn(struct fair_queue *q, struct entity *curr, struct entity *woken);

u64 cfs_granularity(struct fair_queue *q, struct entity *curr, struct entity *woken);

u64 cfs_slice(struct fair_queue *q, struct entity *e);

/*
 * @longest_sleep_ns: after a longer sleep the vruntime distance to those that ran may exceed 2^63,
 * and the entity's own vruntime is ignored.
 */
void cfs_place_by(struct fair_queue *q, struct entity *e, unsigned flags, s64 longest_sleep_ns);

/* @e is new; where START_DEBIT is on, @debit of its virtual time pass before it runs. */
void cfs_place_new(struct fair_queue *q, struct entity *e, u64 debit);
/* @e, running, is charged @vdelta of virtual time. */
void cfs_charge_virtual(struct fair_queue *q, struct entity *e, u64 vdelta);
/* @curr, the running entity, is one to choose from if it is queued; NULL: it is not. */
struct entity *cfs_pick_by(struct fair_queue *q, struct entity *curr,
			   cfs_granularity_fn *granularity);
bool cfs_tick_expired(struct fair_queue *q, struct entity *e);
bool cfs_preempts_by(struct fair_queue *q, struct entity *curr, struct entity *woken,
		     cfs_granularity_fn *granularity);
void cfs_place(struct fair_queue *q, struct entity *e, unsigned flags);
void cfs_charge(struct fair_queue *q, struct entity *e, u64 delta);
struct entity *cfs_pick(struct fair_queue *q);
bool cfs_preempts(struct fair_queue *q, struct entity *curr, struct entity *woken, unsigned flags);
void cfs_nominate(struct fair_queue *q, struct entity *e);
bool cfs_nominated(const struct fair_queue *q, const struct entity *e);
void cfs_yield(struct fair_queue *q, struct entity *e);
/* @e and the groups above it stop being buddies. At least one of them is a buddy. */
void cfs_forget_buddy(struct entity *e);
/* @e, which a wakeup preempted, is to be picked again after the woken task, with its groups. */
void cfs_remember_last(struct entity *e);
/* Are more entities on @q than fit into the latency, so that a period is longer? */
bool cfs_is_crowded(const struct fair_queue *q);
bool cfs_leave(struct fair_queue *q, struct entity *e, unsigned flags);
void cfs_init_queue(struct fair_queue *q);
void cfs_dump_queue(struct fair_queue *q, struct text *out);
/* Of struct fair_hooks: the rules by which CFS's hooks usually decide. */
#define CFS_RULES                                                                                  \
	.hooks.pick_rule = RULE_least_vruntime, .hooks.tick_expired_rule = RULE_slice,             \
	.hooks.preempts_rule = RULE_vruntime_lead
void cfs_candidates(struct run *run, struct fair_queue *q);
void cfs_queue_numbers(struct fair_queue *q, struct queue_numbers *n);
void cfs_check(struct fair_queue *q);

/* @e, of @q, is no buddy any more. */
static inline void forget_buddy(const struct fair_queue *q, struct entity *e)
{
	const struct cfs_queue *cfs = cfs_queue(q);

	if (unlikely(e == cfs->next || e == cfs->last || e == cfs->skip))
		cfs_forget_buddy(e);
}

/* The buddies that @e is. */
__noinline u16 cfs_buddy_flags(const struct fair_queue *q, const struct entity *e);

/* The length of a slice is recorded for the running entity alone. */
static inline void cfs_numbers(struct fair_queue *q, struct entity *e, unsigned where,
			       struct decision_numbers *n)
{
	const struct cfs_queue *cfs = cfs_queue(q);

	if (where & AFTER_DECISION)
		n->slice = e == q->curr ? q->policy->slice(q, e) : 0;
	else if (unlikely(e == cfs->next || e == cfs->last || e == cfs->skip))
		n->flags |= cfs_buddy_flags(q, e);
}
