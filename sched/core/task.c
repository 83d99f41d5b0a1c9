/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tasks: birth and death.
 */
#include "sched/core/observers.h"
#include "sched/core/family.h"
#include "sched/core/task.h"
#include "sched/fair/core/fair.h"
#include "sched/freq/freq.h"
#include "sched/observe/trace.h"
#include "lib/string.h"

static void init_common(struct sched *s, struct task *t, int pid, const char *comm)
{
	*t = (struct task){
		.pid = pid,
		.state = TASK_NEW,
		.push_cpu = PUSH_NONE,
		.allowed = s->home,
		.nr_allowed = s->nr_home,
	};
	str_copy(t->comm, comm, sizeof(t->comm));
	task_set_cpu(s, t, cpumask_first(&s->home));
	list_init(&t->link);
	family_init(t);
}

void sched_task_init(struct sched *s, struct task *t, int pid, const char *comm)
{
	init_common(s, t, pid, comm);
	task_set_params(t, class_of_policy(s, SCHED_NORMAL),
			&(struct sched_attr_req){ .policy = SCHED_NORMAL });
}

void sched_task_init_kthread(struct sched *s, struct task *t, int pid, const char *comm)
{
	sched_task_init(s, t, pid, comm);
	t->kthread = true;
}

void task_init_pinned(struct sched *s, struct task *t, unsigned cpu, int pid, const char *comm)
{
	init_common(s, t, pid, comm);
	task_set_cpu(s, t, cpu);
	t->allowed = cpumask_of(cpu);
	t->nr_allowed = 1;
	t->static_prio = NICE_TO_PRIO(0);
}

/*
 * reset_on_fork: real time, a nice value below 0 and a slice of its own are privileges that end
 * with the parent. So they do if the parent's class changed after sched_task_forks() was asked.
 */
static void inherit_params(struct sched *s, const struct task *parent, struct task *child)
{
	const struct sched_class *class;
	struct sched_attr_req req;

	assert_locked(cpu_rq(s, parent->cpu));
	sched_get_attr(parent, &req);
	class = class_of_policy(s, req.policy);
	if (parent->reset_on_fork || class->unforkable) {
		req.nice = class->nice ? max(req.nice, 0) : 0;
		req.policy = class->nice ? req.policy : SCHED_NORMAL;
		req.rt_priority = 0;
		req.slice_ns = 0;
		class = class_of_policy(s, req.policy);
	}
	child->slice_ns = req.slice_ns;
	child->static_prio = NICE_TO_PRIO(req.nice);
	task_set_params(child, class, &req);
}

bool sched_task_forks(const struct task *parent)
{
	return READ_ONCE(parent->reset_on_fork) || !READ_ONCE(parent->class)->unforkable;
}

void sched_task_fork(struct sched *s, struct task *parent, struct task *child, int pid,
		     unsigned flags)
{
	struct rq *rq;

	init_common(s, child, pid, parent->comm);
	rq = task_rq_lock(s, parent); /* others may be changing its parameters */
	child->group = parent->group;
	child->tune_group = parent->tune_group;
	clamp_fork(parent, child);
	task_set_cpu(s, child, parent->cpu);
	child->allowed = parent->allowed;
	child->nr_allowed = parent->nr_allowed;
	child->recent_used_cpu = parent->cpu;
	inherit_params(s, parent, child);
	rq_unlock(rq);
	host_lock(&s->family_lock);
	if (child->class->params.fork)
		child->class->params.fork(s, parent, child, flags);
	family_link(s, parent, child, flags);
	host_unlock(&s->family_lock);
	child->fair.load = READ_ONCE(s->fair_policy)->weight(child);
}

/* @t of @rq, locked and not queued, belongs to @cpu. Returns the runqueue that is locked then. */
static struct rq *new_task_goes_to(struct rq *rq, struct task *t, unsigned cpu)
{
	SCHED_DEBUG_ASSERT(t->on_rq == TASK_OFF_RQ);
	debug_assert_locked(rq);
	if (rq->cpu == cpu)
		return rq;
	task_set_cpu(rq->s, t, cpu);
	rq_unlock(rq);
	return task_rq_lock(rq->s, t);
}

void sched_task_start(struct sched *s, struct task *t, unsigned cpu)
{
	struct rq *rq = task_rq_lock(s, t); /* others may have found @t already */
	unsigned to;

	SCHED_ASSERT(t->state == TASK_NEW);
	if (!t->class->fixture)
		rq = new_task_goes_to(rq, t, cpu);
	if (t->class->params.join)
		t->class->params.join(rq, t, false);
	to = select_cpu(rq, t, cpu, SELECT_FORK);
	rq = new_task_goes_to(rq, t, to);
	while (unlikely(!task_may_be_on(t, rq)))
		rq = new_task_goes_to(rq, t, any_allowed_cpu(s, t));
	t->state = TASK_RUNNING;
	activate(rq, t, ENQUEUE_INITIAL);
	TRACE(sched_wakeup_new, s, cpu, t, rq->cpu);
	check_preempt(rq, t, SELECT_FORK);
	rq_unlock(rq);
}

bool sched_task_exec(struct sched *s, unsigned cpu)
{
	struct rq *rq = cpu_rq(s, cpu);
	struct task *t;
	unsigned to;

	rq_lock(rq);
	t = rq->curr;
	SCHED_DEBUG_ASSERT(!t->class->fixture);
	to = select_cpu(rq, t, cpu, SELECT_EXEC);
	if (to != cpu)
		push_current(rq, to);
	rq_unlock(rq);
	return to != cpu;
}

void sched_task_exit(struct sched *s, unsigned cpu)
{
	struct task *t = cpu_rq(s, cpu)->curr;

	SCHED_DEBUG_ASSERT(!is_idle_task(t));
	sched_task_unlink(s, t);
	sched_block(t, TASK_DEAD);
}
