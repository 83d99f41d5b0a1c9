/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Defaults of the hooks of policy.h, for a policy that has nothing to say at that place.
 *
 * Lock: the runqueue's, except for fair_no_fork().
 */
#include "sched/fair/core/fair.h"
#include "sched/record/candidates.h"

const struct fair_hooks *fair_own_hooks(const struct fair_queue *q)
{
	return &q->policy->hooks;
}

struct entity *fair_pick_first(struct fair_queue *q)
{
	struct entity *first = queue_first(q), *curr = q->curr;

	if (!curr || !curr->queued)
		return first;
	return !first || queue_before(q, curr, first) ? curr : first;
}

bool fair_slice_expired(struct fair_queue *q, struct entity *e)
{
	return e->sum_exec - e->prev_sum_exec >= q->policy->slice(q, e);
}

void fair_no_charge(struct fair_queue *q, struct entity *e, u64 delta)
{
	(void)q, (void)e, (void)delta;
}

bool fair_no_preempts(struct fair_queue *q, struct entity *curr, struct entity *woken,
		      unsigned flags)
{
	(void)q, (void)curr, (void)woken, (void)flags;
	return false;
}

bool fair_just_leave(struct fair_queue *q, struct entity *e, unsigned flags)
{
	(void)q, (void)e, (void)flags;
	return false;
}

void fair_no_yield(struct fair_queue *q, struct entity *e)
{
	(void)q, (void)e;
}

void fair_no_reweight(struct fair_queue *q, struct entity *e, u64 weight)
{
	(void)q, (void)e, (void)weight;
}

void fair_no_pass(struct fair_queue *q, struct entity *e)
{
	(void)q, (void)e;
}

void fair_no_nominate(struct fair_queue *q, struct entity *e)
{
	(void)q, (void)e;
}

bool fair_none_nominated(const struct fair_queue *q, const struct entity *e)
{
	(void)q, (void)e;
	return false;
}

bool fair_nominates_woken(const struct fair_queue *q)
{
	(void)q;
	return true;
}

u64 fair_progress_of_vruntime(const struct fair_queue *q, const struct entity *e)
{
	(void)q;
	return e->vruntime;
}

u64 fair_no_progress(const struct fair_queue *q, const struct entity *e)
{
	(void)q, (void)e;
	return 0;
}

u64 fair_turn_of_slice(struct rq *rq, struct entity *e)
{
	const s64 shortest_ns = 10000; /* less is not worth an interrupt */

	if (rq->fair.tasks.nr < 2 || !feature(rq->s, FEATURE_HRTICK))
		return 0;
	if (fair_slice_left(e) <= 0) /* picked again, it has another one */
		e->prev_sum_exec = e->sum_exec;
	return (u64)max(fair_slice_left(e), shortest_ns);
}

int fair_no_select_cpu(struct sched *s, const struct task *t, unsigned prev, unsigned target)
{
	(void)s, (void)t, (void)prev, (void)target;
	return -1;
}

void fair_no_reset(struct entity *e)
{
	(void)e;
}

void fair_no_fork(struct sched *s, struct task *parent, struct task *child, unsigned flags)
{
	(void)s, (void)parent, (void)child, (void)flags;
}

void fair_no_tuned(struct rq *rq)
{
	(void)rq;
}

void fair_no_init_queue(struct fair_queue *q)
{
	(void)q;
}

void fair_no_demand(struct entity *e)
{
	(void)e;
}

void fair_no_params(const struct task_group *tg, struct task_group_params *out)
{
	(void)tg, (void)out;
}

void fair_no_forget_group(struct sched *s, struct task_group *tg)
{
	(void)s, (void)tg;
}

u64 fair_shares(const struct task_group *tg)
{
	return READ_ONCE(tg->shares);
}

void fair_dump_nothing(struct entity *e, struct text *out)
{
	(void)e, (void)out;
}

void fair_dump_no_queue(struct fair_queue *q, struct text *out)
{
	(void)q, (void)out;
}

void fair_dump_vruntime(struct entity *e, struct text *out)
{
	dump_vtime(out, e->vruntime);
}

void fair_check_nothing(struct fair_queue *q)
{
	(void)q;
}

void fair_numbers_of_key(struct fair_queue *q, struct entity *e, unsigned where,
			 struct decision_numbers *n)
{
	(void)where;
	n->vruntime = *(const u64 *)((const char *)&e->node + q->policy->key);
}

void fair_candidates(struct run *run, struct fair_queue *q)
{
	put_queued(run, q, q->policy->numbers);
}

void fair_no_queue_numbers(struct fair_queue *q, struct queue_numbers *n)
{
	(void)q, (void)n;
}
