/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Questions that the core asks of all classes.
 */
#include "sched/core/core.h"

const struct sched_class *class_of_policy(const struct sched *s, int policy)
{
	const struct sched_class *class;

	/* Most tasks are fair: the classes at the bottom are asked first. */
	for_each_class_reverse(class, s) if (class->owns(policy)) return class;
	return NULL;
}

bool class_waits_above(const struct rq *rq, unsigned rank)
{
	while (rank--)
		if (rq->s->class[rank] -> nr_queued(rq))
			return true;
	return false;
}

static struct task *first_from(struct rq *rq, unsigned rank)
{
	struct task *t = NULL;

	for (; !t && rank < NR_CLASSES; rank++)
		t = rq->s->class[rank]->first_queued(rq);
	return t;
}

struct task *first_queued(struct rq *rq)
{
	return first_from(rq, 0);
}

struct task *next_queued(struct rq *rq, struct task *t)
{
	return t->class->next_queued(rq, t) ?: first_from(rq, t->class->rank + 1);
}
