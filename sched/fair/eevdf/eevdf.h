/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EEVDF as a library: what eevdf.c is made of, for the policies built on it.
 *
 * An entity asks for one slice of CPU time after the other. Its request starts at
 * its vruntime and is due, in virtual time, when it would be served by an ideal
 * machine: deadline = vruntime + slice / weight.
 *
 *	V    = sum(weight * vruntime) / sum(weight) over the queue, the virtual time
 *	lag  = V - vruntime, what an entity is owed (> 0) or has had too much (< 0)
 *
 * The lags of a queue, times the weights, add up to 0. An entity is eligible if its
 * lag is not negative. V is never stored and seldom divided out: the queue keeps
 * both sums, with vruntimes measured from v0, a point near V that moves whenever V is
 * computed. sum_key has 128 bits, so no distance and no weight overflows it.
 *
 * Lock: the runqueue's.
 */
#pragma once

#include "sched/fair/core/fair.h"

/* EEVDF's part of an entity. */
struct eevdf_entity {
	u64 slice;	/* ns: size of its request */
	u64 deadline;	/* virtual time: when the request is due, and its place in the timeline */
	s64 vlag;	/* off the queue: virtual time that it is owed, or owes if negative */
	bool relative;	/* off the queue: deadline counts from vruntime, and is to go on so */
	bool protected; /* running: it may go on until its request is used up */
	u8 turn_over;	/* running: the rule by which its turn ended since it was picked, or 0 */
	/* in the timeline, over its subtree: */
	u64 min_vruntime, min_slice, max_slice;
};

POLICY_ENTITY_STATE(eevdf)

/* EEVDF's part of a queue. */
struct eevdf_queue {
	/* Over all queued entities, the running one included; weights as in the nice table. */
	s128 sum_key;	     /* (vruntime - v0) * weight */
	u64 sum_weight;	     /* weight */
	u64 v0;		     /* near the virtual time; moves freely, and sum_key with it */
	struct entity *next; /* nominated for the next pick, or NULL */
} __attribute__((packed, aligned(8)));
POLICY_QUEUE_STATE(eevdf)

/* Where policies built on EEVDF may differ inside its hooks. */
struct eevdf_rules {
	/* ns that an entity without a slice of its own asks for. */
	u64 (*base_slice)(const struct fair_queue *q);
	/* Does one that enters with @flags (queue_flags) ask for half of that first? */
	bool (*begins_with_half)(const struct fair_queue *q, unsigned flags);
	/* Does an eligible one that runs go on to the end of its request? */
	bool (*runs_to_parity)(const struct fair_queue *q);
	/* How often is the most lag that is kept halved? */
	unsigned (*lag_halvings)(const struct fair_queue *q);
};

/* The rules of the policy that has @q, which is built on EEVDF. */
static inline const struct eevdf_rules *eevdf_rules(const struct fair_queue *q)
{
	return q->policy->rules;
}

/*
 * V rounded down, which moves v0 there. An integer is at most V if and only if it is at most V
 * rounded down, so an entity placed at the result is eligible.
 */
u64 eevdf_now(struct fair_queue *q);

/* Lab 5, is_past: Is @vruntime at most V? Exact, and without a division. */
static inline bool eevdf_is_past(const struct fair_queue *q, u64 vruntime)
{
	const struct eevdf_queue *eq = eevdf_queue(q);

	return (s128)(s64)(vruntime - eq->v0) * (s64)eq->sum_weight <= eq->sum_key;
}

static inline bool eevdf_eligible(const struct fair_queue *q, const struct entity *e)
{
	return eevdf_is_past(q, e->vruntime);
}

/* Count @e in the sums, or out, under its present vruntime and weight. */
void eevdf_sums_add(struct fair_queue *q, const struct entity *e);
void eevdf_sums_sub(struct fair_queue *q, const struct entity *e);

/* V - vruntime of the queued @e, clamped to its limit. Moves v0 to V. */
s64 eevdf_lag(struct fair_queue *q, struct entity *e);

/* How far left of V to place @e, not queued, so that its lag will be the one it brought. */
s64 eevdf_inflated_lag(const struct fair_queue *q, const struct entity *e);

/* How much lag @e may keep when it leaves, either way, in its virtual time. */
s64 eevdf_lag_limit(const struct fair_queue *q, struct entity *e);

/* Start the next request of @e, which is not in the timeline. */
void eevdf_renew(struct fair_queue *q, struct entity *e);

/* The entity that pick() would choose, without choosing it. NULL if nothing is queued. */
struct entity *eevdf_best(struct fair_queue *q);

/* The same if nobody were nominated: a wakeup is not compared with the nominated entity. */
static inline struct entity *eevdf_best_of_all(struct fair_queue *q)
{
	struct entity *next = eevdf_queue(q)->next, *best;

	eevdf_queue(q)->next = NULL;
	best = eevdf_best(q);
	eevdf_queue(q)->next = next;
	return best;
}

bool eevdf_begins_with_half(const struct fair_queue *q, unsigned flags);
bool eevdf_runs_to_parity(const struct fair_queue *q);

/* Of struct fair_policy: the features on whose defaults EEVDF has a say, those on, its hooks. */
#define EEVDF_FEATURES_ON                                                                          \
	(BIT(FEATURE_PLACE_LAG) | BIT(FEATURE_PLACE_DEADLINE_INITIAL) |                            \
	 BIT(FEATURE_PLACE_REL_DEADLINE) | BIT(FEATURE_RUN_TO_PARITY) |                            \
	 BIT(FEATURE_PREEMPT_SHORT) | BIT(FEATURE_PICK_BUDDY) | BIT(FEATURE_DELAY_DEQUEUE) |       \
	 BIT(FEATURE_DELAY_ZERO))
#define EEVDF_FEATURES (EEVDF_FEATURES_ON | BIT(FEATURE_NEXT_BUDDY))

bool eevdf_augment(struct rb_node *node);
void eevdf_place(struct fair_queue *q, struct entity *e, unsigned flags);
void eevdf_charge(struct fair_queue *q, struct entity *e, u64 delta);
struct entity *eevdf_pick(struct fair_queue *q);
bool eevdf_tick_expired(struct fair_queue *q, struct entity *e);
bool eevdf_preempts(struct fair_queue *q, struct entity *curr, struct entity *woken,
		    unsigned flags);
void eevdf_nominate(struct fair_queue *q, struct entity *e);
bool eevdf_nominated(const struct fair_queue *q, const struct entity *e);
void eevdf_yield(struct fair_queue *q, struct entity *e);
bool eevdf_leave(struct fair_queue *q, struct entity *e, unsigned flags);
u64 eevdf_slice(struct fair_queue *q, struct entity *e);
void eevdf_pass(struct fair_queue *q, struct entity *e);
void eevdf_init_queue(struct fair_queue *q);
void eevdf_reset(struct entity *e);
/*
 * Gives @e the weight @weight. Its lag and what is left of its request are kept in real time, so
 * both are rescaled in virtual time; if @e is queued, the average V does not move.
 */
void eevdf_reweight(struct fair_queue *q, struct entity *e, u64 weight);
/* Of struct fair_hooks: the rules by which EEVDF's hooks usually decide. */
#define EEVDF_RULES                                                                                \
	.hooks.pick_rule = RULE_earliest_deadline,                                                 \
	.hooks.tick_expired_rule = RULE_request_used_up, .hooks.preempts_rule = RULE_pick_agrees
void eevdf_candidates(struct run *run, struct fair_queue *q);
void eevdf_queue_numbers(struct fair_queue *q, struct queue_numbers *n);
void eevdf_check(struct fair_queue *q);
void eevdf_dump(struct entity *e, struct text *out);
void eevdf_dump_queue(struct fair_queue *q, struct text *out);
void eevdf_dump_key(struct entity *e, struct text *out);
#define EEVDF_KEY_COLUMNS "         vruntime  eligible         deadline            slice"

/* The state of @e as flags of a record. */
static inline u16 eevdf_flags_inline(const struct fair_queue *q, const struct entity *e)
{
	const struct eevdf_entity *ee = eevdf_entity(e);

	return (u16)((ee->protected ? DECISION_REQUEST_LASTS : 0) |
		     (ee->turn_over == RULE_request_used_up ? DECISION_REQUEST_USED : 0) |
		     (ee->relative ? DECISION_RELATIVE : 0) |
		     (e == eevdf_queue(q)->next ? DECISION_NEXT : 0));
}

__noinline u16 eevdf_flags(const struct fair_queue *q, const struct entity *e);

static inline void eevdf_numbers(struct fair_queue *q, struct entity *e, unsigned where,
				 struct decision_numbers *n)
{
	const struct eevdf_entity *ee = eevdf_entity(e);
	bool waits = where & DECISION_QUEUED && !(where & DECISION_RUNS);

	n->deadline = ee->deadline;
	n->slice = ee->slice;
	n->lag = ee->vlag;
	if (where & AFTER_DECISION)
		return;
	if (where & DECISION_QUEUED && eevdf_eligible(q, e))
		n->flags |= DECISION_ELIGIBLE;
	if (!waits)
		n->flags |= eevdf_flags_inline(q, e);
	else if (unlikely(e == eevdf_queue(q)->next))
		n->flags |= eevdf_flags(q, e); /* out of the way of the many */
}
