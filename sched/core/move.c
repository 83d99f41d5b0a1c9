/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * On and off runqueues, and from one to another. What is common to all classes is here; the rest
 * is the class's.
 *
 * Lock: one runqueue's at a time, never two. PROTOCOL: migration is in core.h.
 */
#include "sched/core/observers.h"
#include "sched/fair/core/fair.h"
#include "sched/observe/trace.h"

void end_delayed_sleep(struct rq *rq, struct task *t)
{
	SCHED_DEBUG_ASSERT(t->on_rq == TASK_DELAYED);
	assert_locked(rq);
	deactivate(rq, t, DEQUEUE_SLEEP | DEQUEUE_DELAYED);
}

/* --- off and on again ------------------------------------------------------ */

struct change change_begin(struct rq *rq, struct task *t, unsigned move)
{
	struct change c;

	SCHED_DEBUG_ASSERT(t->cpu == rq->cpu);
	assert_locked(rq);
	/* Settle the task's debts to its queue under the old parameters. */
	finish_delayed(rq, t);
	c = (struct change){ t->on_rq == TASK_QUEUED, task_running(rq, t) };
	if (c.queued)
		t->class->dequeue(rq, t, QUEUE_SAVE | move);
	if (c.running)
		put_prev(rq, t);
	return c;
}

void change_end(struct rq *rq, struct task *t, struct change c, unsigned flags)
{
	assert_locked(rq);
	if (c.queued)
		t->class->enqueue(rq, t, QUEUE_RESTORE | flags);
	observe_enter(rq, t, QUEUE_RESTORE);
	if (!c.running)
		return;
	t->class->set_next(rq, t);
	/* Meanwhile its group may have been throttled. */
	if (!task_is_pickable(rq, t))
		resched(rq);
}

void set_allowed(struct rq *rq, struct task *t, const struct cpumask *allowed)
{
	u32 before = t->nr_allowed, all = rq->s->nr_cpus;
	struct change c;

	SCHED_DEBUG_ASSERT(!cpumask_empty(allowed));
	assert_locked(rq);
	if (cpumask_equal(&t->allowed, allowed))
		return;
	c = change_begin(rq, t, 0);
	t->allowed = *allowed;
	t->nr_allowed = cpumask_weight(allowed);
	if (c.queued)
		rq->nr_restricted += (u32)(t->nr_allowed < all) - (before < all);
	change_end(rq, t, c, 0);
}

/* --- migration ------------------------------------------------------------ */

void task_set_cpu(struct sched *s, struct task *t, unsigned cpu)
{
	SCHED_DEBUG_ASSERT(!t->fair.queued);
	t->fair.queue = group_queue(s, t->group, cpu);
	__atomic_store_n(&t->cpu, cpu, __ATOMIC_RELEASE);
}

void task_set_group(struct sched *s, struct task *t, struct task_group *tg)
{
	debug_assert_locked(cpu_rq(s, t->cpu));
	WRITE_ONCE(t->group, tg);
	task_set_cpu(s, t, t->cpu);
}

void set_task_cpu(struct rq *from, struct task *t, unsigned to)
{
	SCHED_DEBUG_ASSERT(t->on_rq != TASK_QUEUED);
	assert_locked(from);
	if (t->cpu == to)
		return;
	TRACE(sched_migrate_task, from->s, from->cpu, t, to);
	t->fair.nr_migrations++;
	task_set_cpu(from->s, t, to);
}

void detach_task(struct rq *from, struct task *t, unsigned to)
{
	assert_locked(from);
	SCHED_ASSERT(!task_running(from, t));
	deactivate(from, t, QUEUE_MIGRATING);
	set_task_cpu(from, t, to);
}

void hand_over(struct rq *from, struct task *t, unsigned to)
{
	SCHED_DEBUG_ASSERT(to != from->cpu);
	detach_task(from, t, to);
	list_add_tail(&from->handover, &t->link);
}

void attach_task(struct sched *s, struct task *t)
{
	struct rq *rq = task_rq_lock(s, t);

	SCHED_DEBUG_ASSERT(t->on_rq == TASK_MIGRATING);
	/* Its affinity, or what CPUs there are, may have changed on the way. */
	while (unlikely(!task_may_be_on(t, rq))) {
		set_task_cpu(rq, t, any_allowed_cpu(s, t));
		rq_unlock(rq);
		rq = task_rq_lock(s, t);
	}
	activate(rq, t, QUEUE_MIGRATING);
	check_preempt(rq, t, 0);
	rq_unlock(rq);
}

void attach_locked(struct rq *rq, struct task *t)
{
	SCHED_DEBUG_ASSERT(t->on_rq == TASK_MIGRATING);
	assert_locked(rq);
	if (likely(task_may_be_on(t, rq)))
		activate(rq, t, QUEUE_MIGRATING);
	else
		list_add_tail(&rq->handover, &t->link); /* its affinity changed: it travels on */
}

void push_current(struct rq *rq, unsigned to)
{
	SCHED_DEBUG_ASSERT(to < rq->s->nr_cpus && !rq->curr->class->fixture);
	assert_locked(rq);
	rq->curr->push_cpu = (s32)to;
	/* Not resched(): a choice under way has passed the point where it would see that. */
	rq->need_resched = RESCHED_NOW;
	host_kick(rq->cpu, true);
}

void ensure_usable_cpu(struct rq *rq, struct task *t)
{
	struct sched *s = rq->s;

	assert_locked(rq);
	if (likely(cpumask_intersects(&t->allowed, &s->online)))
		return;
	set_allowed(rq, t, &s->possible);
	WRITE_ONCE(t->lost_cpu, rq->cpu + 1);
	WRITE_ONCE(s->affinity_lost, true);
}

unsigned any_allowed_cpu(struct sched *s, struct task *t)
{
	struct cpumask usable;

	debug_assert_locked(cpu_rq(s, t->cpu));
	ensure_usable_cpu(cpu_rq(s, t->cpu), t);
	usable = cpumask_and(&t->allowed, &s->online);
	if (cpumask_test(&usable, t->cpu))
		return t->cpu;
	return cpumask_first(&usable);
}
