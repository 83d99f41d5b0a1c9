/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stride scheduling: deterministic proportional shares by counting passes.
 *
 * Each entity has a pass. The smallest pass runs, and running takes the pass forward by time over
 * weight: a heavy entity makes small strides. The queue has a pass too, which goes forward by time
 * over the weight of all that is queued: it is where an entity would be that gets just its share.
 *
 *	leave:   remain = pass - the queue's pass is all that is kept
 *	place:   pass = the queue's pass + remain; a new entity begins one stride later
 *	weight:  remain, in strides, stays the same
 *
 * Source: C. A. Waldspurger, W. E. Weihl, Stride Scheduling, MIT/LCS/TM-528 (1995).
 */
#include "sched/fair/core/fair.h"
#include "lib/fmt.h"

struct stride_entity {
	u64 pass;   /* queued: virtual ns, and its place in the timeline */
	s64 remain; /* not queued: its distance to the pass of the queue it left */
};
POLICY_ENTITY_STATE(stride)

struct stride_queue {
	u64 pass;
};
POLICY_QUEUE_STATE(stride)

/* How far @e is from where it should be; negative: it is owed time. */
static s64 distance(const struct fair_queue *q, const struct entity *e)
{
	return (s64)(stride_entity(e)->pass - stride_queue(q)->pass);
}

static u64 slice(struct fair_queue *q, struct entity *e)
{
	(void)e;
	return tunables_of(q)->base_slice_ns;
}

static void place(struct fair_queue *q, struct entity *e, unsigned flags)
{
	struct stride_entity *own = stride_entity(e);

	if (flags & (PLACE_NEW | PLACE_SLEEPER | PLACE_ASLEEP))
		return; /* not queued yet: its distance is all there is to it */
	if (flags & PLACE_SWAPPED)
		own->remain = (s64)e->vruntime;
	else if (flags & ENQUEUE_INITIAL)
		own->remain = (s64)calc_delta_fair(slice(q, e), e);
	own->pass = stride_queue(q)->pass + (u64)own->remain;
}

static void charge(struct fair_queue *q, struct entity *e, u64 delta)
{
	/* It blocked, and its CPU looks for work: it has left, with its distance. */
	if (!e->queued)
		return;
	stride_entity(e)->pass += calc_delta_fair(delta, e);
	stride_queue(q)->pass += calc_delta(delta, NICE_0_LOAD, &q->load);
}

static bool leave(struct fair_queue *q, struct entity *e, unsigned flags)
{
	(void)flags;
	if (e->queued)
		stride_entity(e)->remain = distance(q, e);
	return false;
}

/* A woken entity takes over if it is behind by more than a granularity. */
static bool preempts(struct fair_queue *q, struct entity *curr, struct entity *woken,
		     unsigned flags)
{
	u64 granularity = calc_delta_fair(tunables_of(q)->wakeup_granularity_ns, woken);

	(void)flags;
	return distance(q, curr) - distance(q, woken) > (s64)granularity;
}

static void reweight(struct fair_queue *q, struct entity *e, u64 weight)
{
	struct stride_entity *own = stride_entity(e);
	u64 old = weight_down(e->load.weight), new = weight_down(weight);

	if (!e->queued)
		own->remain = mul_div_signed(own->remain, old, new);
	else
		own->pass = stride_queue(q)->pass + (u64)mul_div_signed(distance(q, e), old, new);
}

/* Gives up the rest of a stride. */
static void yield(struct fair_queue *q, struct entity *e)
{
	u64 ran = e->sum_exec - e->prev_sum_exec;

	if (ran < slice(q, e))
		stride_entity(e)->pass += calc_delta_fair(slice(q, e) - ran, e);
}

static u64 progress(const struct fair_queue *q, const struct entity *e)
{
	(void)q;
	return (u64)stride_entity(e)->remain;
}

static void dump_pass(struct entity *e, struct text *out)
{
	dump_vtime(out, stride_entity(e)->pass);
}

const struct fair_policy stride_policy = {
	FAIR_DEFAULTS,
	.name = "stride",
	.traits = BIT(TRAIT_PROPORTIONAL) | BIT(TRAIT_EVEN) | BIT(TRAIT_DETERMINISTIC),
	.moved_by_weight = true,
	.key = TIMELINE_KEY_IN(struct stride_entity, pass),
	.hooks.place = place,
	.hooks.charge = charge,
	.hooks.leave = leave,
	.hooks.preempts = preempts,
	.hooks.yield = yield,
	.hooks.reweight = reweight,
	.slice = slice,
	.progress = progress,
	.key_columns = "             pass",
	.dump_key = dump_pass,
};
