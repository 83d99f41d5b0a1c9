/* SPDX-License-Identifier: GPL-2.0-only */
/* Looking at CFS: its invariants, its lines in dumps, why it picked whom. Lock: the runqueue's. */
#include "sched/fair/cfs/cfs.h"
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

/* --- why ----------------------------------------------------------------------- */

static struct entity *leftmost(const struct fair_queue *q)
{
	struct entity *left = queue_any(q);

	for (struct entity *e = left; e; e = queue_another(q, e))
		left = time_before(e->vruntime, left->vruntime) ? e : left;
	return left;
}

/* The mean vruntime by weight, from @left's. */
static s64 mean(const struct fair_queue *q, const struct entity *left)
{
	u64 total = 0;
	s128 sum = 0;

	for (struct entity *e = queue_any(q); e; e = queue_another(q, e)) {
		u64 weight = weight_down(e->load.weight);

		sum += (s128)(s64)(e->vruntime - left->vruntime) * (s64)weight;
		total += weight;
	}
	return total ? div_floor(sum, total) : 0;
}

/* vruntime, and what the ideal has over it: the mean less its own. */
void cfs_explain_row(struct fair_queue *q, struct entity *e, struct text *out)
{
	const struct entity *left = leftmost(q);
	s64 v = (s64)(e->vruntime - left->vruntime);

	explain_ms(out, v);
	explain_ms(out, mean(q, left) - v);
}

void cfs_explain(struct fair_queue *q, struct entity *picked, bool stays, struct text *out)
{
	struct entity *left = leftmost(q);

	if (picked->vruntime == left->vruntime) {
		text_add(out, "it has the least virtual time");
		return;
	}
	text_add(out, stays ? "it goes on: its turn is not over, though "
			    : "it is a buddy, or the one before it yielded: the least virtual time "
			      "is that of ");
	explain_name(out, left);
	text_add(out, stays ? " comes next" : ", by less than the wakeup granularity");
}
