/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fair class's part of the texts that observe/dump.c writes. Layouts are Linux 6.1's
 * (docs/sources.md); policies of later versions add their lines.
 */
#include "sched/fair/core/class.h"
#include "lib/fmt.h"

static void dump_rq(struct rq *rq, struct text *out)
{
	struct fair_queue *q = &rq->fair;

	text_add(out, "\ncfs_rq[%u]:/\n", rq->cpu);
	q->policy->dump_queue(q, out);
	dump_number(out, "nr_running", q->nr_running);
	dump_number(out, "h_nr_running", q->tasks.nr);
	dump_number(out, "h_nr_delayed", list_length(&rq->delayed));
	dump_number(out, "idle_nr_running", q->nr_idle);
	dump_number(out, "idle_h_nr_running", q->tasks.nr_idle);
	dump_number(out, "load", q->load.weight);
	dump_number(out, "load_avg", q->avg.load_avg);
	dump_number(out, "runnable_avg", q->avg.runnable_avg);
	dump_number(out, "util_avg", q->avg.util_avg);
	dump_number(out, "util_est_enqueued", q->avg.util_est_enqueued);
}

const char *fair_key_columns(const struct rq *rq)
{
	return rq->fair.policy->key_columns;
}

void fair_dump_key(struct rq *rq, struct task *t, struct text *out)
{
	rq->fair.policy->dump_key(&t->fair, out);
}

void fair_dump(struct rq *rq, struct task *t, struct text *out)
{
	const struct fair_policy *policy = rq->fair.policy;

	if (!t)
		dump_rq(rq, out);
	else if (t->fair.policy == policy)
		policy->dump(&t->fair, out);
}
