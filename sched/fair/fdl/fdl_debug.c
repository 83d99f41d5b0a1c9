/* SPDX-License-Identifier: GPL-2.0-only */
/* FDL's invariants, computed the slow way, and its lines in dumps. */
#include "sched/fair/cfs/cfs.h"
#include "sched/fair/fdl/fdl.h"
#include "sched/record/candidates.h"
#include "lib/fmt.h"

static void check_entity(const struct fair_queue *q, struct entity *e)
{
	u64 period = fdl_period(e);

	SCHED_CHECK(F1, !e->due == !period);
	SCHED_CHECK(F5, !period || !time_before(fdl_now(q) + period, e->due));
}

void fdl_check(struct fair_queue *q)
{
	u64 weight = 0;
	u32 nr = 0;

	cfs_check(q);
	for (struct entity *e = queue_any(q); e; e = queue_another(q, e)) {
		check_entity(q, e);
		nr += e->due != 0;
		weight += e->due ? e->load.weight : 0;
	}
	SCHED_CHECK(F2, nr == fdl_queue(q)->nr && nr <= fdl_queue(q)->nr_groups &&
				weight == fdl_queue(q)->weight);
	SCHED_CHECK(F3, !fdl_queue(q)->container || q->nr_running > fdl_queue(q)->nr);
}

/* The deadlines are on the clock of the queue, from now on. */
void fdl_numbers(struct fair_queue *q, struct entity *e, unsigned where, struct decision_numbers *n)
{
	cfs_numbers(q, e, where, n);
	if (where & (DECISION_DUE | AFTER_DECISION) && e->due)
		n->deadline = e->due - fdl_now(q);
}

POLICY_CANDIDATES(fdl)

void fdl_queue_numbers(struct fair_queue *q, struct queue_numbers *n)
{
	cfs_queue_numbers(q, n);
	if (fdl_queue(q)->container)
		n->container = fdl_some(fdl_queue(q)->container - fdl_now(q));
}

/* A task has none; the groups it is in may. */
void fdl_dump(struct entity *e, struct text *out)
{
	for (; e; e = parent_of(e))
		dump_task_number(out, "se->dl", e->due);
}

void fdl_dump_queue(struct fair_queue *q, struct text *out)
{
	dump_ms(out, "min_vruntime", cfs_queue(q)->min_vruntime);
	dump_ms(out, "vdt_lag", fdl_queue(q)->lag);
	dump_ms(out, "fc_dl", fdl_queue(q)->container);
	text_add(out, "  .%-30s: %u\n", "fdl_nr_running", fdl_queue(q)->nr);
}
