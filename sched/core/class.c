/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Questions that the core asks of all classes.
 */
#include "sched/core/core.h"

const struct sched_class *class_of_policy(const struct sched *s, int policy)
{
	const struct sched_class *class;

	if (policy < 0 || policy >= POLICY_LIMIT)
		return NULL;
	for_each_class(class, s) if (class->policies & BIT(policy)) return class;
	return NULL;
}

bool class_waits_above(const struct rq *rq, unsigned rank)
{
	SCHED_DEBUG_ASSERT(rank <= NR_CLASSES);
	while (rank--)
		if (rq->s->class[rank] -> nr_queued(rq))
			return true;
	return false;
}

struct task *next_queued(struct rq *rq, struct task *t)
{
	unsigned rank = t ? t->class->rank + 1 : 0;

	debug_assert_locked(rq);
	t = t ? t->class->queued(rq, t) : NULL;
	for (; !t && rank < CLASS_idle; rank++)
		t = rq->s->class[rank]->queued(rq, NULL);
	return t;
}

void class_notify(const struct sched_class *class, struct rq *rq, enum class_notice notice)
{
	SCHED_DEBUG_ASSERT(notice == NOTICE_NEW || notice == NOTICE_TIMERS_LEAVE ||
			   host_lock_held(&rq->lock));
	if (class->notice)
		class->notice(rq, notice);
}

void classes_notify(struct rq *rq, enum class_notice notice)
{
	const struct sched_class *class;

	for_each_class(class, rq->s) class_notify(class, rq, notice);
}

int class_admits(struct sched *s, const struct sched_class *class,
		 const struct admission_request *request)
{
	return class->params.admit ? class->params.admit(s, request) : 0;
}

int classes_admit(struct sched *s, const struct admission_request *request)
{
	const struct sched_class *class;
	int err = 0;

	for_each_class(class, s) err = err ?: class_admits(s, class, request);
	return err;
}
