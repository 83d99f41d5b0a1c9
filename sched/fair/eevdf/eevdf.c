/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EEVDF, Earliest Eligible Virtual Deadline First, as in Linux 6.12.
 *
 * Tasks ask for slices of CPU time. Of those that have not had more than their share
 * (eligible: lag >= 0), the one whose request is due first runs. Who asks for short
 * slices is served sooner, not more. Terms and sums: eevdf.h.
 *
 *	place:   v = V - lag * (W + w) / W, for the arrival itself moves V; deadline =
 *	         v + slice/w, half of that for a new task, the old distance after a move
 *	charge:  v += delta/w; at the deadline: turn over, deadline = v + slice/w; also
 *	         over when unprotected and ineligible. So whatever charges may ask for
 *	         a switch: a tick, a wakeup, a reader of the task's CPU time
 *	pick:    the running task while protected and eligible; else the earliest
 *	         deadline among the eligible: a tree by deadline whose nodes know the
 *	         least vruntime below them. A task is protected during the request with
 *	         which it came to run, not during the next ones
 *	wakeup:  preempts if pick would choose it; a shorter slice that is eligible and
 *	         due earlier ends the running task's protection
 *	leave:   lag = V - v, clamped to two slices or a tick, is kept; who falls asleep
 *	         with lag < 0 stays queued until picked, when the others have caught up,
 *	         and then leaves with lag 0 (delayed dequeue)
 *	yield:   if eligible, v = deadline (the rest of the request is forgone) and
 *	         deadline += slice/w
 *
 * Where 6.12 was found wrong later, this follows the correction (docs/adr/008-eevdf.md):
 * v0 follows V, yield moves v, a renice rescales the lag, and its clamp looks at the
 * longest slice of the queue.
 *
 * Sources: I. Stoica, H. Abdel-Wahab, TR 95-22 (1995); Linux 6.12 (docs/sources.md).
 */
#include "sched/fair/eevdf/eevdf.h"

static bool has(const struct fair_queue *q, enum feature f)
{
	return feature(q->rq->s, f);
}

/* --- charging -------------------------------------------------------------- */

/* @e of @q is not nominated any more, nor are the groups that are so because of it. */
static void forget_buddy(struct fair_queue *q, const struct entity *e)
{
	for (; e && eevdf_queue(q)->next == e; e = q->owner, q = e ? e->queue : q)
		eevdf_queue(q)->next = NULL;
}

/* Did the running @e lose its protection, to a shorter request or by the end of its own? */
static bool may_be_broken_into(const struct fair_queue *q, const struct entity *e)
{
	return q->nr_running > 1 && !eevdf_entity(e)->protected && has(q, FEATURE_PREEMPT_SHORT);
}

static void end_turn(struct fair_queue *q, struct entity *e, enum decision_rule rule)
{
	because(q, rule);
	eevdf_entity(e)->turn_over = (u8)rule;
	forget_buddy(q, e);
	resched_patiently(q->rq);
}

void eevdf_charge(struct fair_queue *q, struct entity *e, u64 delta)
{
	u64 v = calc_delta_fair(delta, e);

	SCHED_DEBUG_ASSERT(e == q->curr);
	/* It blocked, and still stands on its stack while its CPU looks for work. */
	if (unlikely(!e->queued))
		return;
	e->vruntime += v;
	eevdf_queue(q)->sum_key += (s128)v * (s64)weight_down(e->load.weight);
	if (likely(time_before(e->vruntime, eevdf_entity(e)->deadline))) {
		if (unlikely(may_be_broken_into(q, e)) && !eevdf_eligible(q, e))
			end_turn(q, e, RULE_eligibility);
		return;
	}
	eevdf_renew(q, e);
	eevdf_now(q); /* a lone task never passes place() or leave(), which keep v0 near V */
	eevdf_entity(e)->protected = false;
	if (q->nr_running > 1)
		end_turn(q, e, RULE_request_used_up);
}

/* --- entering and leaving --------------------------------------------------- */

/* The @lag that a sleeper which stayed queued keeps: no debt grows by that, or becomes a claim. */
static s64 lag_after_delay(const struct fair_queue *q, const struct entity *e, s64 lag)
{
	lag = max(lag, eevdf_entity(e)->vlag);
	return has(q, FEATURE_DELAY_ZERO) ? min(lag, 0ll) : lag;
}

/* It wakes up where it is, unless its lag has to change. */
static bool stays(struct fair_queue *q, struct entity *e)
{
	s64 now = eevdf_lag(q, e), lag = lag_after_delay(q, e, now);

	if (lag == now)
		return true;
	eevdf_sums_sub(q, e);
	eevdf_entity(e)->vlag = lag;
	return false;
}

void eevdf_place(struct fair_queue *q, struct entity *e, unsigned flags)
{
	struct eevdf_entity *ee = eevdf_entity(e);
	u64 rest = ee->deadline;

	/* Off the queue an entity is its lag, which refers to no queue. */
	if (flags & (PLACE_NEW | PLACE_SLEEPER | PLACE_ASLEEP))
		return;
	if ((flags & ENQUEUE_DELAYED) && stays(q, e))
		return;
	if (flags & PLACE_SWAPPED) /* all measure from one point: V would move as they come */
		e->vruntime += eevdf_queue(q)->v0;
	else
		e->vruntime = eevdf_now(q) - (u64)eevdf_inflated_lag(q, e);
	eevdf_renew(q, e);
	if (ee->relative)
		ee->deadline = e->vruntime + rest;
	else if (!(flags & ENQUEUE_DELAYED) && eevdf_rules(q)->begins_with_half(q, flags))
		ee->deadline -= (ee->deadline - e->vruntime + 1) / 2;
	ee->relative = false;
	/* Changed while it runs, it goes on as if it had just been picked. */
	ee->protected = (flags & (QUEUE_RESTORE | PLACE_SWAPPED)) == QUEUE_RESTORE;
	eevdf_sums_add(q, e);
}

#define SLEEP_FLAGS (DEQUEUE_SLEEP | DEQUEUE_SPECIAL | DEQUEUE_DELAYED)

bool eevdf_leave(struct fair_queue *q, struct entity *e, unsigned flags)
{
	struct eevdf_entity *ee = eevdf_entity(e);
	s64 lag;

	forget_buddy(q, e);
	if (!e->queued)
		return false;
	lag = eevdf_lag(q, e);
	ee->vlag = flags & DEQUEUE_DELAYED ? lag_after_delay(q, e, lag) : lag;
	if (ee->vlag < 0 && (flags & SLEEP_FLAGS) == DEQUEUE_SLEEP && has(q, FEATURE_DELAY_DEQUEUE))
		return true;
	eevdf_sums_sub(q, e);
	if (!(flags & DEQUEUE_SLEEP) && has(q, FEATURE_PLACE_REL_DEADLINE)) {
		ee->deadline -= e->vruntime;
		ee->relative = true;
	}
	return false;
}

void eevdf_init_queue(struct fair_queue *q)
{
	eevdf_queue(q)->v0 = FIRST_VRUNTIME;
}

void eevdf_reset(struct entity *e)
{
	*eevdf_entity(e) = (struct eevdf_entity){ .vlag = 0 };
}

/* --- choosing --------------------------------------------------------------- */

/* The least vruntime of @node's subtree. */
static u64 least_vruntime(const struct rb_node *node)
{
	return eevdf_entity(entity_of(node))->min_vruntime;
}

/*
 * Lab 5, search: the earliest deadline among the eligible of the timeline, in the time of one way
 * down the tree; NULL if only the running one is eligible.
 */
static struct entity *search(const struct fair_queue *q)
{
	struct rb_node *node = rb_first(&q->timeline);

	if (node && eevdf_eligible(q, entity_of(node)))
		return entity_of(node);
	node = q->timeline.root;
	while (node) {
		/* Some entity further left is eligible: all there are due earlier than @node. */
		if (node->left && eevdf_is_past(q, least_vruntime(node->left)))
			node = node->left;
		else if (eevdf_eligible(q, entity_of(node)))
			return entity_of(node);
		else
			node = node->right;
	}
	return NULL;
}

/* Lab 5, best: who is next? Nominated, or within its request, or due first; one is eligible. */
struct entity *eevdf_best(struct fair_queue *q)
{
	struct entity *curr = q->curr, *first = queue_first(q), *best;

	if (curr && !curr->queued)
		curr = NULL;
	/* One is always eligible. */
	if (!first || (!curr && q->nr_running == 1))
		return first ? first : curr;
	if (eevdf_queue(q)->next && has(q, FEATURE_PICK_BUDDY) &&
	    eevdf_eligible(q, eevdf_queue(q)->next))
		return picked_by(q, eevdf_queue(q)->next, RULE_nominated);
	if (curr && !eevdf_eligible(q, curr))
		curr = NULL;
	if (curr && eevdf_entity(curr)->protected && eevdf_rules(q)->runs_to_parity(q))
		return picked_by(q, curr, RULE_request_lasts);
	best = search(q);
	return !best || (curr && queue_before(q, curr, best)) ? curr : best;
}

struct entity *eevdf_pick(struct fair_queue *q)
{
	struct entity *e = eevdf_best(q);

	if (!e)
		return NULL;
	/* Picked again, it has the protection of its first request, or none. */
	if (e != q->curr) {
		eevdf_entity(e)->protected = true;
		forget_buddy(q, e);
	}
	eevdf_entity(e)->turn_over = 0;
	return e;
}

bool eevdf_tick_expired(struct fair_queue *q, struct entity *e)
{
	if (!eevdf_entity(e)->turn_over)
		return false;
	because(q, eevdf_entity(e)->turn_over);
	return true;
}

/* May @woken break into the request of @curr? Short requests are there for low latency. */
static bool is_urgent(struct fair_queue *q, struct entity *curr, struct entity *woken)
{
	if (!has(q, FEATURE_PREEMPT_SHORT) ||
	    eevdf_entity(woken)->slice >= eevdf_entity(curr)->slice)
		return false;
	if (!eevdf_eligible(q, woken))
		return false;
	return queue_before(q, woken, curr) || !eevdf_eligible(q, curr);
}

bool eevdf_preempts(struct fair_queue *q, struct entity *curr, struct entity *woken, unsigned flags)
{
	(void)flags;
	if (eevdf_tick_expired(q, curr))
		return true;
	if (is_urgent(q, curr, woken))
		eevdf_entity(curr)->protected = false;
	return eevdf_best_of_all(q) == woken;
}

void eevdf_nominate(struct fair_queue *q, struct entity *e)
{
	SCHED_DEBUG_ASSERT(e->queued);
	eevdf_queue(q)->next = e;
}

bool eevdf_nominated(const struct fair_queue *q, const struct entity *e)
{
	return eevdf_queue(q)->next == e;
}

void eevdf_yield(struct fair_queue *q, struct entity *e)
{
	SCHED_DEBUG_ASSERT(e == q->curr);
	if (q->rq->nr_running == 1)
		return;
	forget_buddy(q, e);
	if (eevdf_eligible(q, e)) {
		eevdf_sums_sub(q, e);
		e->vruntime = eevdf_entity(e)->deadline;
		eevdf_sums_add(q, e);
		eevdf_entity(e)->deadline += calc_delta_fair(eevdf_entity(e)->slice, e);
	}
	eevdf_entity(e)->protected = false;
}

/* --- the rules where it stands alone --------------------------------------- */

static u64 base_slice(const struct fair_queue *q)
{
	return tunables_of(q)->base_slice_ns;
}

bool eevdf_begins_with_half(const struct fair_queue *q, unsigned flags)
{
	return (flags & ENQUEUE_INITIAL) && has(q, FEATURE_PLACE_DEADLINE_INITIAL);
}

bool eevdf_runs_to_parity(const struct fair_queue *q)
{
	return has(q, FEATURE_RUN_TO_PARITY);
}

static unsigned no_halvings(const struct fair_queue *q)
{
	(void)q;
	return 0;
}

static const struct eevdf_rules plain = {
	.base_slice = base_slice,
	.begins_with_half = eevdf_begins_with_half,
	.runs_to_parity = eevdf_runs_to_parity,
	.lag_halvings = no_halvings,
};

const struct fair_policy eevdf_policy = {
	FAIR_DEFAULTS,
	.name = "eevdf",
	.traits = TRAITS_OF_VIRTUAL_TIME | BIT(TRAIT_PROPORTIONAL) | BIT(TRAIT_BOUNDED_LAG) |
		  BIT(TRAIT_REQUESTS) | BIT(TRAIT_ELIGIBLE) | BIT(TRAIT_FAIR_SERVER),
	.features_mask = EEVDF_FEATURES,
	.features_on = EEVDF_FEATURES_ON,
	.moved_by_weight = true,
	.groups_first = true, .guess_in_load_units = true, .load_pause_ns = NS_PER_MS,
	.moves_new_budgets = true,
	.key = TIMELINE_KEY_IN(struct eevdf_entity, deadline),
	.rules = &plain,
	.augment = eevdf_augment,
	.init_queue = eevdf_init_queue,
	.hooks.place = eevdf_place,
	.hooks.charge = eevdf_charge,
	.hooks.pick = eevdf_pick,
	.hooks.tick_expired = eevdf_tick_expired,
	.hooks.preempts = eevdf_preempts,
	.hooks.leave = eevdf_leave,
	.hooks.yield = eevdf_yield,
	.hooks.reweight = eevdf_reweight,
	EEVDF_RULES,
	.nominate = eevdf_nominate,
	.nominated = eevdf_nominated,
	.slice = eevdf_slice,
	.pass = eevdf_pass,
	.reset = eevdf_reset,
	.numbers = eevdf_numbers,
	.candidates = eevdf_candidates,
	.queue_numbers = eevdf_queue_numbers,
	.dump = eevdf_dump,
	.dump_queue = eevdf_dump_queue,
	.key_columns = EEVDF_KEY_COLUMNS,
	.dump_key = eevdf_dump_key,
	.check = eevdf_check,
};
