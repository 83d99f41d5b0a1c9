/* SPDX-License-Identifier: GPL-2.0-only */
/* Looking at CFS: invariants, lines in dumps, numbers in records. Lock: the runqueue's. */
#include "sched/fair/cfs/cfs.h"
#include "sched/record/candidates.h"
#include "lib/fmt.h"

static void check_buddy(const struct entity *buddy)
{
	SCHED_CHECK(Q8, !buddy || buddy->queued);
}

void cfs_check(struct fair_queue *q)
{
	struct cfs_queue *cfs = cfs_queue(q);

	check_buddy(cfs->next);
	check_buddy(cfs->last);
	check_buddy(cfs->skip);
	for (struct entity *e = queue_any(q); e; e = queue_another(q, e)) {
		s64 distance = (s64)(e->vruntime - cfs->min_vruntime);

		SCHED_CHECK(Q10, distance < (1ll << 62) && distance > -(1ll << 62));
	}
	SCHED_CHECK(Q7, !time_before(cfs->min_vruntime, cfs->checked_min_vruntime));
	cfs->checked_min_vruntime = cfs->min_vruntime;
}

void cfs_dump_queue(struct fair_queue *q, struct text *out)
{
	dump_ms(out, "min_vruntime", cfs_queue(q)->min_vruntime);
}

/* --- records of decisions -------------------------------------------------------- */

u16 cfs_buddy_flags(const struct fair_queue *q, const struct entity *e)
{
	return (u16)((e == cfs_queue(q)->next ? DECISION_NEXT : 0) |
		     (e == cfs_queue(q)->last ? DECISION_LAST : 0) |
		     (e == cfs_queue(q)->skip ? DECISION_SKIP : 0));
}

POLICY_CANDIDATES(cfs)

void cfs_queue_numbers(struct fair_queue *q, struct queue_numbers *n)
{
	n->v = cfs_queue(q)->min_vruntime;
}
