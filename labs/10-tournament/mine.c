/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lab 10's example of a solution: virtual time with bounded credit.
 *
 * Each entity has a virtual time, which advances by time over weight while it runs; the smallest
 * runs. The queue's virtual time advances by time over the weight of all that is queued: an entity
 * that gets just its share stands there. Of an entity that leaves, its distance to it is kept.
 *
 *	place:     distance, cut to two slices on either side: no sleep earns more, no debt lasts
 *	preempts:  who wakes up takes over from one that is further ahead by a granularity
 *	turn:      ends at a tick when its slice is used up
 */
#include "sched/fair/core/fair.h"
#include "lib/fmt.h"

struct mine_entity {
	u64 vtime;    /* queued: its place in the timeline */
	s64 distance; /* not queued: its virtual time less that of the queue it left */
};
POLICY_ENTITY_STATE(mine)

struct mine_queue {
	u64 vtime;
};
POLICY_QUEUE_STATE(mine)

static s64 distance(const struct fair_queue *q, const struct entity *e)
{
	return (s64)(mine_entity(e)->vtime - mine_queue(q)->vtime);
}

static u64 slice(struct fair_queue *q, struct entity *e)
{
	(void)e;
	return tunables_of(q)->base_slice_ns;
}

static void place(struct fair_queue *q, struct entity *e, unsigned flags)
{
	struct mine_entity *own = mine_entity(e);
	s64 most = 2 * (s64)calc_delta_fair(slice(q, e), e);

	if (flags & (PLACE_NEW | PLACE_SLEEPER | PLACE_ASLEEP))
		return; /* not queued yet */
	if (flags & PLACE_SWAPPED)
		own->distance = (s64)e->vruntime;
	else if (flags & ENQUEUE_INITIAL)
		own->distance = most;
	if (!(flags & PLACE_SWAPPED))
		own->distance = max(min(own->distance, most), -most);
	own->vtime = mine_queue(q)->vtime + (u64)own->distance;
}

static void charge(struct fair_queue *q, struct entity *e, u64 delta)
{
	if (!e->queued)
		return; /* it blocked, and its CPU looks for work: it has left */
	mine_entity(e)->vtime += calc_delta_fair(delta, e);
	mine_queue(q)->vtime += calc_delta(delta, NICE_0_LOAD, &q->load);
}

static bool leave(struct fair_queue *q, struct entity *e, unsigned flags)
{
	(void)flags;
	if (e->queued)
		mine_entity(e)->distance = distance(q, e);
	return false;
}

static bool preempts(struct fair_queue *q, struct entity *curr, struct entity *woken,
		     unsigned flags)
{
	u64 granularity = calc_delta_fair(slice(q, woken) / 8, woken);

	return !(flags & SELECT_FORK) && distance(q, curr) - distance(q, woken) > (s64)granularity;
}

static void reweight(struct fair_queue *q, struct entity *e, u64 weight)
{
	struct mine_entity *own = mine_entity(e);
	u64 old = weight_down(e->load.weight), new = weight_down(weight);

	if (!e->queued)
		own->distance = mul_div_signed(own->distance, old, new);
	else
		own->vtime = mine_queue(q)->vtime + (u64)mul_div_signed(distance(q, e), old, new);
}

static void yield(struct fair_queue *q, struct entity *e)
{
	u64 ran = e->sum_exec - e->prev_sum_exec;

	if (ran < slice(q, e))
		mine_entity(e)->vtime += calc_delta_fair(slice(q, e) - ran, e);
}

static u64 progress(const struct fair_queue *q, const struct entity *e)
{
	(void)q;
	return (u64)mine_entity(e)->distance;
}

static void dump_vtime_of(struct entity *e, struct text *out)
{
	dump_vtime(out, mine_entity(e)->vtime);
}

const struct fair_policy mine_policy = {
	FAIR_DEFAULTS,
	.name = "mine",
	.traits = BIT(TRAIT_PROPORTIONAL) | BIT(TRAIT_EVEN) | BIT(TRAIT_DETERMINISTIC),
	.moved_by_weight = true,
	.key = TIMELINE_KEY_IN(struct mine_entity, vtime),
	.hooks.place = place,
	.hooks.charge = charge,
	.hooks.leave = leave,
	.hooks.preempts = preempts,
	.hooks.yield = yield,
	.hooks.reweight = reweight,
	.slice = slice,
	.progress = progress,
	.key_columns = "            vtime",
	.dump_key = dump_vtime_of,
};
