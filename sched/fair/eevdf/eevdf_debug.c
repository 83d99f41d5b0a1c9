/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Looking at EEVDF: what must hold on a queue, computed the slow way, and the lines of
 * /proc/PID/sched and debugfs `debug`, as Linux 6.12 has them. Lock: the runqueue's.
 */
#include "sched/fair/eevdf/eevdf.h"
#include "sched/record/candidates.h"
#include "lib/fmt.h"

/* --- invariants ------------------------------------------------------------- */

static void check_sums(struct fair_queue *q)
{
	struct eevdf_queue sums = { .v0 = eevdf_queue(q)->v0 };

	for (struct entity *e = queue_any(q); e; e = queue_another(q, e)) {
		u64 weight = weight_down(e->load.weight);
		s64 key = (s64)(e->vruntime - sums.v0);

		SCHED_CHECK(Q10, key < (1ll << 62) && key > -(1ll << 62));
		sums.sum_weight += weight;
		sums.sum_key += (s128)key * (s64)weight;
	}
	SCHED_CHECK(Q12, sums.sum_weight == eevdf_queue(q)->sum_weight);
	SCHED_CHECK(Q12, sums.sum_key == eevdf_queue(q)->sum_key);
}

/* If it is right at every node for its children, it is right for every subtree. */
static void check_augmentation(struct fair_queue *q)
{
	for (struct entity *e = queue_first(q); e; e = queue_after(e)) {
		struct eevdf_entity stored = *eevdf_entity(e);

		eevdf_augment(&e->node);
		SCHED_CHECK(Q13, stored.min_vruntime == eevdf_entity(e)->min_vruntime);
		SCHED_CHECK(Q13, stored.min_slice == eevdf_entity(e)->min_slice);
		SCHED_CHECK(Q13, stored.max_slice == eevdf_entity(e)->max_slice);
	}
}

void eevdf_check(struct fair_queue *q)
{
	struct entity *next = eevdf_queue(q)->next;

	SCHED_CHECK(Q8, !next || next->queued);
	SCHED_CHECK(Q16, !next || !entity_is_delayed(next));
	check_sums(q);
	check_augmentation(q);
}

/* --- records of decisions --------------------------------------------------- */

u16 eevdf_flags(const struct fair_queue *q, const struct entity *e)
{
	return eevdf_flags_inline(q, e);
}

POLICY_CANDIDATES(eevdf)

/* --- dumps ------------------------------------------------------------------ */

void eevdf_dump(struct entity *e, struct text *out)
{
	const struct eevdf_entity *ee = eevdf_entity(e);
	s64 rest = (s64)ee->deadline;

	if (e->queued)
		rest = (s64)(ee->deadline - e->vruntime);
	else if (!ee->relative)
		rest = 0;
	dump_task_number(out, "se.slice", ee->slice);
	dump_task_ms(out, "se.deadline", e->queued ? (s64)ee->deadline : 0);
	dump_task_ms(out, "se.request_left", rest);
	dump_task_ms(out, "se.vlag", e->queued ? eevdf_lag(e->queue, e) : ee->vlag);
	dump_task_number(out, "se.sched_delayed", task_of(e)->on_rq == TASK_DELAYED);
}

void eevdf_dump_queue(struct fair_queue *q, struct text *out)
{
	struct entity *first = queue_first(q), *left = queue_any(q), *right = left;

	for (struct entity *e = left; e; e = queue_another(q, e)) {
		left = time_before(e->vruntime, left->vruntime) ? e : left;
		right = time_before(right->vruntime, e->vruntime) ? e : right;
	}
	dump_ms(out, "left_deadline", first ? eevdf_entity(first)->deadline : 0);
	dump_ms(out, "left_vruntime", left ? left->vruntime : 0);
	dump_ms(out, "zero_vruntime", eevdf_queue(q)->v0);
	dump_ms(out, "avg_vruntime", eevdf_now(q));
	dump_ms(out, "right_vruntime", right ? right->vruntime : 0);
	dump_ms(out, "spread", left ? right->vruntime - left->vruntime : 0);
}

void eevdf_dump_key(struct entity *e, struct text *out)
{
	dump_vtime(out, e->vruntime);
	text_add(out, "  %8s", eevdf_eligible(e->queue, e) ? "E" : "N");
	dump_vtime(out, eevdf_entity(e)->deadline);
	dump_vtime(out, eevdf_entity(e)->slice);
}
