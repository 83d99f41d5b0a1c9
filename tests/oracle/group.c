/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The weight of a group on a CPU, by its definition: as much of the shares as the part of the
 * group's load that is there,
 *
 *	weight = shares * load / (load + the load of the group's other queues)
 *
 * where the load here is that of now, the queued weight if the average has not reached it yet, and
 * the load of the others is what each last told the group. At least 2, at most all shares.
 *
 * The scheduler keeps the sum over all queues and takes its own part out; the oracle adds up the
 * others.
 */
#include "sched/fair/fdl/fdl.h"
#include "tests/oracle/oracle.h"

static s128 shares_of(const struct fair_queue *q)
{
	const struct task_group *tg = q->group;
	u64 kept = q->policy == &fdl_policy ? fdl_group(tg)->shares : 0;
	u64 most = 1ull << 18, least = 2;

	/* The controller's are in the user's unit, as they are written. */
	return kept ? (s128)(kept > most ? most : kept < least ? least : kept) * 1024 : tg->shares;
}

u64 weight_of_group(const struct entity *e)
{
	const struct fair_queue *q = e->own_queue;
	s128 shares = shares_of(q), load = q->load.weight / 1024, others = 0, weight;

	if (q->load.weight && load < 2)
		load = 2;
	if (load < q->avg.load_avg)
		load = q->avg.load_avg;
	for (unsigned cpu = 0; cpu < q->rq->s->nr_cpus; cpu++)
		if (&q->group->cpu[cpu].queue != q)
			others += q->group->cpu[cpu].queue.load_contrib;
	weight = load ? shares * load / (load + others) : 0;
	return (u64)(weight < 2 ? 2 : weight > shares ? shares : weight);
}
