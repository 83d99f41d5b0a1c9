/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Round robin: each in turn, a base slice at a time, whatever it weighs. The smallest fair policy,
 * to copy from; sched/README.md, "Adding a policy", walks through it.
 *
 * A queue counts the turns that it has given out. Each entity holds the number of its next turn,
 * and the smallest number runs. Who comes, yields or has used up a slice gets the next number.
 */
#include "sched/fair/core/fair.h"
#include "lib/fmt.h"

struct round_robin_entity {
	u64 turn; /* its place in the timeline */
};
POLICY_ENTITY_STATE(round_robin)

struct round_robin_queue {
	u64 last_turn; /* given out */
};
POLICY_QUEUE_STATE(round_robin)

static void go_last(struct fair_queue *q, struct entity *e)
{
	round_robin_entity(e)->turn = ++round_robin_queue(q)->last_turn;
}

static u64 slice(struct fair_queue *q, struct entity *e)
{
	(void)e;
	return tunables_of(q)->base_slice_ns;
}

static void place(struct fair_queue *q, struct entity *e, unsigned flags)
{
	if (flags & (PLACE_NEW | PLACE_SLEEPER | PLACE_ASLEEP))
		return; /* not queued yet */
	go_last(q, e);
}

/* A running entity is not in the timeline, so that its number may change. */
static void charge(struct fair_queue *q, struct entity *e, u64 delta)
{
	(void)delta;
	if (fair_slice_expired(q, e))
		go_last(q, e);
}

static void yield(struct fair_queue *q, struct entity *e)
{
	go_last(q, e);
}

static void dump_turn(struct entity *e, struct text *out)
{
	text_add(out, "  %15lu", round_robin_entity(e)->turn);
}

const struct fair_policy round_robin_policy = {
	FAIR_DEFAULTS,
	.name = "round-robin",
	.traits = BIT(TRAIT_EVEN) | BIT(TRAIT_DETERMINISTIC),
	.key = TIMELINE_KEY_IN(struct round_robin_entity, turn),
	.hooks.place = place,
	.hooks.charge = charge,
	.hooks.yield = yield,
	.slice = slice,
	.progress = fair_no_progress,
	.key_columns = "             turn",
	.dump_key = dump_turn,
};
