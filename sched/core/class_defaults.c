/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Operations for classes that they do not concern.
 */
#include "sched/core/core.h"

void class_ignore(struct rq *rq)
{
	(void)rq;
}

void class_ignore_task(struct rq *rq, struct task *t)
{
	(void)rq, (void)t;
}

void class_ignore_change(struct rq *rq, struct task *t, bool runnable)
{
	(void)rq, (void)t, (void)runnable;
}

void class_ignore_move(struct rq *rq, struct rq *to)
{
	(void)rq, (void)to;
}

/* Of a class with one task on each CPU. */
void class_no_exchange(struct rq *rq, struct task *prev, struct task *next)
{
	(void)rq, (void)prev, (void)next;
	SCHED_ASSERT(!"a CPU has one task of this class");
}

bool class_never_preempts(struct rq *rq, struct task *woken, unsigned flags)
{
	(void)rq, (void)woken, (void)flags;
	return false;
}

void class_ignore_retune(struct rq *rq, struct task *t, int old_prio)
{
	(void)rq, (void)t, (void)old_prio;
}

u64 class_no_slice(struct rq *rq, struct task *t)
{
	(void)rq, (void)t;
	return 0;
}

u64 class_no_timer(struct rq *rq)
{
	(void)rq;
	return 0;
}

u32 class_none_queued(const struct rq *rq)
{
	(void)rq;
	return 0;
}

bool class_always_pickable(struct rq *rq, struct task *t)
{
	(void)rq, (void)t;
	return true;
}

struct task *class_no_first(struct rq *rq)
{
	(void)rq;
	return NULL;
}

struct task *class_no_next(struct rq *rq, struct task *t)
{
	(void)rq, (void)t;
	return NULL;
}

bool class_owns_nothing(int policy)
{
	(void)policy;
	return false;
}

bool class_nothing_valid(const struct sched_attr_req *req)
{
	(void)req;
	return false;
}

int class_no_prio(const struct sched_attr_req *req)
{
	(void)req;
	SCHED_ASSERT(!"nobody sets the parameters of a task of this class");
	return 0;
}

int class_admit(struct rq *rq, struct task *t, const struct sched_attr_req *req)
{
	(void)rq, (void)t, (void)req;
	return 0;
}

int class_admit_affinity(struct rq *rq, struct task *t, const struct cpumask *allowed)
{
	(void)rq, (void)t, (void)allowed;
	return 0;
}

int class_admit_offline(struct rq *rq)
{
	(void)rq;
	return 0;
}

int class_admit_tunables(struct sched *s, const struct tunables *next)
{
	(void)s, (void)next;
	return 0;
}

void class_ignore_new(struct sched *s, struct task *t)
{
	(void)s, (void)t;
}

void class_ignore_attr(struct task *t, const struct sched_attr_req *req)
{
	(void)t, (void)req;
}

void class_no_attr(const struct task *t, struct sched_attr_req *req)
{
	(void)t, (void)req;
}

void class_ignore_fork(struct sched *s, struct task *parent, struct task *child, unsigned flags)
{
	(void)s, (void)parent, (void)child, (void)flags;
}

void class_regroup(struct rq *rq, struct task *t, struct task_group *tg, bool runnable)
{
	(void)runnable;
	WRITE_ONCE(t->group, tg);
	task_set_cpu(rq->s, t, t->cpu);
}

void class_dump_nothing(struct rq *rq, struct text *out)
{
	(void)rq, (void)out;
}

void class_dump_vtime(struct rq *rq, struct task *t, struct text *out)
{
	(void)rq;
	dump_vtime(out, t->fair.vruntime);
}

void class_dump_no_task(struct rq *rq, struct task *t, struct text *out)
{
	(void)rq, (void)t, (void)out;
}

void class_no_numbers(struct rq *rq, struct task *t, struct class_numbers *n)
{
	(void)rq, (void)t, (void)n;
}

unsigned class_stay(struct rq *rq, struct task *t, unsigned cpu, unsigned reason)
{
	(void)rq, (void)cpu, (void)reason;
	return t->cpu;
}
