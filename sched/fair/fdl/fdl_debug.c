/* SPDX-License-Identifier: GPL-2.0-only */
/* FDL's invariants, computed the slow way, and its lines in dumps. */
#include "sched/fair/cfs/cfs.h"
#include "sched/fair/fdl/fdl.h"
#include "lib/fmt.h"

static void check_entity(const struct fair_queue *q, struct entity *e)
{
	u64 period = fdl_period(e);

	SCHED_CHECK(F1, !e->deadline == !period);
	SCHED_CHECK(F5, !period || !time_before(fdl_now(q) + period, e->deadline));
}

void fdl_check(struct fair_queue *q)
{
	u64 weight = 0;
	u32 nr = 0;

	cfs_check(q);
	for (struct entity *e = queue_any(q); e; e = queue_another(q, e)) {
		check_entity(q, e);
		nr += e->deadline != 0;
		weight += e->deadline ? e->load.weight : 0;
	}
	SCHED_CHECK(F2, nr == q->fdl.nr && nr <= q->fdl.nr_groups && weight == q->fdl.weight);
	SCHED_CHECK(F3, !q->fdl.container || q->nr_running > q->fdl.nr);
	SCHED_CHECK(F4, q->fdl.lag >= q->fdl.checked_lag);
	q->fdl.checked_lag = q->fdl.lag;
}

/* A task has none; the groups it is in may. */
void fdl_dump(struct entity *e, struct text *out)
{
	for (; e; e = parent_of(e))
		dump_task_number(out, "se->dl", e->deadline);
}

void fdl_dump_queue(struct fair_queue *q, struct text *out)
{
	dump_ms(out, "min_vruntime", q->min_vruntime);
	dump_ms(out, "vdt_lag", q->fdl.lag);
	dump_ms(out, "fc_dl", q->fdl.container);
	text_add(out, "  .%-30s: %u\n", "fdl_nr_running", q->fdl.nr);
}
