/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * MLFQ, the multi-level feedback queue: what a task did says what it will do.
 *
 * An entity begins at level 0. Each slice that it uses up takes it one level down, where slices are
 * twice as long; a task that sleeps before its slice is over stays where it is. Upper levels go
 * first, equals take turns, and once a second all begin at level 0 again, so that nobody starves
 * and a task that has changed its ways is noticed.
 *
 * The timeline has one order, so the level is in the upper bits of the key and the turn below it.
 * An entity that waits cannot be moved; it ages instead: a level is worth half a second of waiting,
 * for a turn is the time at which it was given out. Weights do not matter here.
 *
 * Source: F. J. Corbato et al., An Experimental Time-Sharing System, AFIPS 1962; the rules are
 * those of R. and A. Arpaci-Dusseau, Operating Systems: Three Easy Pieces, chapter 8.
 */
#include "sched/fair/core/fair.h"
#include "lib/fmt.h"

#define LAST_LEVEL     3
#define LEVEL_NS       (NS_PER_SEC / 2)
#define BOOST_EVERY_NS NS_PER_SEC

struct mlfq_entity {
	u64 key;   /* when its turn was given out, and LEVEL_NS later for each level */
	u64 boost; /* the second in which it was at level 0 last */
	u64 level;
};
POLICY_ENTITY_STATE(mlfq)

struct mlfq_queue {
	u64 last; /* of the turns given out: two at one time are told apart */
};
POLICY_QUEUE_STATE(mlfq)

static u64 slice(struct fair_queue *q, struct entity *e)
{
	return (u64)tunables_of(q)->base_slice_ns << mlfq_entity(e)->level;
}

static void go_last(struct fair_queue *q, struct entity *e)
{
	struct mlfq_entity *own = mlfq_entity(e);
	struct mlfq_queue *all = mlfq_queue(q);
	u64 boost = q->rq->clock / BOOST_EVERY_NS;

	if (own->boost != boost)
		own->level = 0;
	own->boost = boost;
	all->last = time_max(all->last + 1, q->rq->clock);
	own->key = all->last + own->level * LEVEL_NS;
}

static void place(struct fair_queue *q, struct entity *e, unsigned flags)
{
	if (!(flags & (PLACE_NEW | PLACE_SLEEPER | PLACE_ASLEEP)))
		go_last(q, e);
}

static void charge(struct fair_queue *q, struct entity *e, u64 delta)
{
	struct mlfq_entity *own = mlfq_entity(e);

	(void)delta;
	if (!e->queued || !fair_slice_expired(q, e))
		return;
	own->level = min(own->level + 1, (u64)LAST_LEVEL);
	go_last(q, e);
	e->prev_sum_exec = e->sum_exec; /* if it is picked again, it has another slice */
	resched(q->rq);
}

static bool preempts(struct fair_queue *q, struct entity *curr, struct entity *woken,
		     unsigned flags)
{
	(void)q, (void)flags;
	return mlfq_entity(woken)->level < mlfq_entity(curr)->level;
}

static void yield(struct fair_queue *q, struct entity *e)
{
	go_last(q, e);
}

static void dump_level(struct entity *e, struct text *out)
{
	text_add(out, "  %5lu", mlfq_entity(e)->level);
	dump_vtime(out, mlfq_entity(e)->key);
}

const struct fair_policy mlfq_policy = {
	FAIR_DEFAULTS,
	.name = "mlfq",
	.traits = BIT(TRAIT_EVEN) | BIT(TRAIT_DETERMINISTIC),
	.key = TIMELINE_KEY_IN(struct mlfq_entity, key),
	.hooks.place = place,
	.hooks.charge = charge,
	.hooks.preempts = preempts,
	.hooks.yield = yield,
	.slice = slice,
	.progress = fair_no_progress,
	.key_columns = "  level              key",
	.dump_key = dump_level,
};
