/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lottery scheduling: a draw decides who runs for the next slice, and weights are tickets.
 *
 * Shares are proportional in the long run only; in return a policy needs no history, so sleep,
 * moves and swaps cost nothing and owe nothing. The draw comes from the runqueue's generator, which
 * the machine's seed starts: a run is a function of its seed.
 *
 * The winner of a draw stays the winner until its slice is over, it yields or leaves. So pick() may
 * be asked as often as anybody likes.
 *
 * Source: C. A. Waldspurger, W. E. Weihl, Lottery Scheduling, OSDI 1994.
 */
#include "sched/fair/core/fair.h"

/* The timeline's order does not matter here; it is that of vruntime, which nobody advances. */

struct lottery_queue {
	struct entity *winner; /* of the last draw; NULL: draw again */
};
POLICY_QUEUE_STATE(lottery)

static u32 tickets(const struct entity *e)
{
	return (u32)weight_down(e->load.weight);
}

/* The holder of the ticket that is drawn, or NULL if nothing is queued. */
static struct entity *draw(struct fair_queue *q)
{
	struct entity *e;
	u32 sold = 0, ticket;

	for (e = queue_any(q); e; e = queue_another(q, e))
		sold += tickets(e);
	if (!sold)
		return NULL;
	ticket = prng_below(&q->rq->prng, sold);
	for (e = queue_any(q); ticket >= tickets(e); e = queue_another(q, e))
		ticket -= tickets(e);
	return e;
}

static struct entity *pick(struct fair_queue *q)
{
	struct lottery_queue *own = lottery_queue(q);

	if (!own->winner) {
		own->winner = draw(q);
		/* The running entity won again, and so it has another slice. */
		if (own->winner && own->winner == q->curr)
			own->winner->prev_sum_exec = own->winner->sum_exec;
	}
	return own->winner;
}

static void place(struct fair_queue *q, struct entity *e, unsigned flags)
{
	(void)q, (void)e, (void)flags;
}

static void charge(struct fair_queue *q, struct entity *e, u64 delta)
{
	(void)delta;
	if (fair_slice_expired(q, e))
		lottery_queue(q)->winner = NULL;
}

static void yield(struct fair_queue *q, struct entity *e)
{
	(void)e;
	lottery_queue(q)->winner = NULL;
}

static bool leave(struct fair_queue *q, struct entity *e, unsigned flags)
{
	(void)flags;
	if (lottery_queue(q)->winner == e)
		lottery_queue(q)->winner = NULL;
	return false;
}

static u64 slice(struct fair_queue *q, struct entity *e)
{
	(void)e;
	return tunables_of(q)->base_slice_ns;
}

const struct fair_policy lottery_policy = {
	FAIR_DEFAULTS,
	.name = "lottery",
	.traits = BIT(TRAIT_PROPORTIONAL),
	.key = TIMELINE_KEY(vruntime),
	.hooks.place = place,
	.hooks.charge = charge,
	.hooks.pick = pick,
	.hooks.leave = leave,
	.hooks.yield = yield,
	.slice = slice,
	.progress = fair_no_progress,
};
