/*
 * What must hold on a queue of EEVDF, computed the slow way. Lock: the runqueue's.
 */
#include "sched/fair/eevdf.h"

static void check_sums(struct fair_queue *q)
{
	struct eevdf_queue sums = { .v0 = q->eevdf.v0 };

	for (struct entity *e = queue_any(q); e; e = queue_another(q, e)) {
		u64 weight = weight_down(e->load.weight);
		s64 key = (s64)(e->vruntime - sums.v0);

		SCHED_CHECK(Q10, key < (1ll << 62) && key > -(1ll << 62));
		SCHED_CHECK(Q17, !entity_is_task(e) || task_of(e)->on_rq != TASK_DELAYED ||
					 e->eevdf.vlag < 0);
		sums.sum_weight += weight;
		sums.sum_key += (s128)key * (s64)weight;
	}
	SCHED_CHECK(Q12, sums.sum_weight == q->eevdf.sum_weight);
	SCHED_CHECK(Q12, sums.sum_key == q->eevdf.sum_key);
}

/* If it is right at every node for its children, it is right for every subtree. */
static void check_augmentation(struct fair_queue *q)
{
	for (struct entity *e = queue_first(q); e; e = queue_after(e)) {
		struct eevdf_entity stored = e->eevdf;

		eevdf_augment(&e->node);
		SCHED_CHECK(Q13, stored.min_vruntime == e->eevdf.min_vruntime);
		SCHED_CHECK(Q13, stored.min_slice == e->eevdf.min_slice);
		SCHED_CHECK(Q13, stored.max_slice == e->eevdf.max_slice);
	}
}

/* The first in order of deadlines that is eligible; the running one only if it is due earlier. */
static struct entity *search_all(struct fair_queue *q)
{
	struct entity *curr = q->curr, *e = queue_first(q);

	while (e && !eevdf_eligible(q, e))
		e = queue_after(e);
	if (!curr || !curr->queued || !eevdf_eligible(q, curr))
		return e;
	if (curr->eevdf.protected && q->policy->eevdf->runs_to_parity(q))
		return curr;
	return !e || queue_before(q, curr, e) ? curr : e;
}

void eevdf_check(struct fair_queue *q)
{
	struct entity *best = search_all(q);

	check_sums(q);
	check_augmentation(q);
	SCHED_CHECK(Q14, best || !q->eevdf.sum_weight);
	SCHED_CHECK(Q15, q->next || eevdf_best(q) == best);
}
