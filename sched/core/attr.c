/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parameters of a task that users change: policy, nice value, priority, slice; its group; the CPUs
 * it may run on.
 *
 * Lock: the runqueue's of the task.
 */
#include "sched/core/observers.h"
#include "sched/core/task.h"
#include "sched/fair/core/fair.h"
#include "lib/errno.h"
#include "lib/string.h"

/* As Linux: shorter is all switches, longer is no sharing. */
static u64 valid_slice(u64 ns)
{
	return ns ? max(NS_PER_MS / 10, min(ns, 100 * NS_PER_MS)) : 0;
}

/* Values of fair tasks; a task of another class keeps those that it had. */
static void set_fair_values(struct task *t, const struct sched_class *class,
			    const struct sched_attr_req *req)
{
	if (!class->nice)
		return;
	t->static_prio = NICE_TO_PRIO(req->nice);
	t->slice_ns = valid_slice(req->slice_ns);
}

void task_set_params(struct task *t, const struct sched_class *class,
		     const struct sched_attr_req *req)
{
	SCHED_DEBUG_ASSERT(!t->fair.queued);
	t->policy = req->policy;
	t->rt_priority = req->rt_priority;
	t->prio = class->params.prio(req);
	set_fair_values(t, class, req);
	if (t->class != class) {
		memset(t->class_state, 0, sizeof(t->class_state));
		/* A reader without the lock finds no words of another class (seen_of). */
		__atomic_store_n(&t->class, class, __ATOMIC_RELEASE);
	}
	if (class->params.set_attr)
		class->params.set_attr(t, req);
}

/* --- parameters ----------------------------------------------------------- */

bool sched_attr_is_valid(const struct sched *s, const struct sched_attr_req *req)
{
	const struct sched_class *class = class_of_policy(s, req->policy);

	return class && class->params.prio(req) != PRIO_INVALID;
}

/* How much @t of @rq, locked, asks for at a time in ns; 0 if it does not. */
static u64 request_of(struct rq *rq, struct task *t)
{
	debug_assert_locked(rq);
	return t->class->params.request ? t->class->params.request(rq, t) : 0;
}

/*
 * True if @t is already what @req asks for. Then it keeps its turn: a task that asks for its own
 * values again and again would else begin a new turn each time, and never end one. A slice counts
 * under policies with requests only. Source: Linux 6.1 and 6.12, sched_setscheduler().
 */
static bool is_as_asked(struct rq *rq, struct task *t, const struct sched_attr_req *req)
{
	const struct sched_class *class = t->class;
	struct sched_attr_req now = *req;

	if (class->params.get_attr)
		class->params.get_attr(t, &now);
	return t->policy == req->policy && t->prio == class->params.prio(req) && !req->clamps &&
	       now.runtime_ns == req->runtime_ns && now.deadline_ns == req->deadline_ns &&
	       now.period_ns == req->period_ns &&
	       (t->slice_ns == valid_slice(req->slice_ns) || !request_of(rq, t));
}

/* @t, off its queue, goes over to @class with @req. @runnable: it will be queued again. */
static void change_class(struct rq *rq, struct task *t, const struct sched_class *class,
			 const struct sched_attr_req *req, bool runnable)
{
	debug_assert_locked(rq);
	SCHED_DEBUG_ASSERT(t->class != class);
	if (t->class->params.quit)
		t->class->params.quit(rq, t, runnable);
	task_set_params(t, class, req);
	if (t->state != TASK_NEW && class->params.join)
		class->params.join(rq, t, runnable);
}

static void retune(struct rq *rq, struct task *t, int old_prio)
{
	debug_assert_locked(rq);
	if (t->class->params.retune)
		t->class->params.retune(rq, t, old_prio);
}

/* @move: QUEUE_MOVE, or 0 if it keeps its place in the queue even with another priority. */
static void change_attr(struct rq *rq, struct task *t, const struct sched_attr_req *req,
			unsigned move)
{
	const struct sched_class *old_class = t->class,
				 *class = class_of_policy(rq->s, req->policy);
	int old_prio = t->prio, prio = class->params.prio(req);
	bool same_prio = prio == old_prio && class == old_class;
	struct change c;

	debug_assert_locked(rq);
	if (is_as_asked(rq, t, req)) {
		set_fair_values(t, class, req);
		return;
	}
	if (same_prio)
		move = 0;
	c = change_begin(rq, t, move);
	if (old_class == class)
		task_set_params(t, class, req);
	else
		change_class(rq, t, class, req, task_is_runnable(t));
	/* POSIX: raised it goes behind its new equals, lowered before them. */
	change_end(rq, t, c, move | (old_prio < prio ? ENQUEUE_HEAD : 0));
	clamp_request(rq, t, req);
	observe_change(rq, t);
	if (!c.queued || same_prio)
		return;
	if (old_class == class)
		retune(rq, t, old_prio);
	else if (c.running)
		resched(rq);
	else
		check_preempt(rq, t, 0);
}

static int admit_attr(struct rq *rq, struct task *t, const struct sched_attr_req *req)
{
	struct admission_request request = { ADMIT_ATTR, .rq = rq, .t = t, .attr = req };

	debug_assert_locked(rq);
	return class_admits(rq->s, class_of_policy(rq->s, req->policy), &request);
}

int sched_set_attr(struct sched *s, struct task *t, const struct sched_attr_req *req)
{
	struct rq *rq;
	int err;

	if (!sched_attr_is_valid(s, req) || READ_ONCE(t->class)->fixture)
		return -EINVAL;
	rq = task_rq_lock(s, t);
	err = clamp_admit(rq, t, req) ?: admit_attr(rq, t, req);
	if (!err) {
		t->reset_on_fork = req->reset_on_fork;
		change_attr(rq, t, req, QUEUE_MOVE);
	}
	rq_unlock(rq);
	return err;
}

void sched_set_nice(struct sched *s, struct task *t, int nice)
{
	struct rq *rq = task_rq_lock(s, t);
	struct sched_attr_req req;

	SCHED_DEBUG_ASSERT(nice_is_valid(nice));
	sched_get_attr(t, &req);
	req.nice = nice;
	if (t->class->nice)
		change_attr(rq, t, &req, 0);
	else
		t->static_prio = NICE_TO_PRIO(nice);
	rq_unlock(rq);
}

void sched_read_attr(struct sched *s, struct task *t, struct sched_attr_req *req)
{
	struct rq *rq = task_rq_lock(s, t);

	sched_get_attr(t, req);
	rq_unlock(rq);
}

void sched_get_attr(const struct task *t, struct sched_attr_req *req)
{
	*req = (struct sched_attr_req){
		.policy = t->policy,
		.nice = PRIO_TO_NICE(t->static_prio),
		.rt_priority = t->rt_priority,
		.slice_ns = t->slice_ns,
		.reset_on_fork = t->reset_on_fork,
	};
	clamp_get(t, req);
	if (t->class->params.get_attr)
		t->class->params.get_attr(t, req);
}

int sched_task_prio(const struct task *t)
{
	return READ_ONCE(t->prio);
}

u64 sched_task_slice(struct sched *s, struct task *t)
{
	struct rq *rq = task_rq_lock(s, t);
	u64 slice = request_of(rq, t);

	rq_unlock(rq);
	return slice;
}

u64 sched_rr_interval(struct sched *s, struct task *t)
{
	struct rq *rq = task_rq_lock(s, t);
	u64 slice = t->class->params.slice ? t->class->params.slice(rq, t) : 0;

	rq_unlock(rq);
	return slice;
}

/* --- group ----------------------------------------------------------------- */

/* @t of @rq, locked, leaves its group for @tg, which may be the same. */
static void change_group(struct rq *rq, struct task *t, struct task_group *tg)
{
	struct change c = change_begin(rq, t, QUEUE_MOVE);

	debug_assert_locked(rq);
	if (t->class->params.regroup)
		t->class->params.regroup(rq, t, tg, task_is_runnable(t));
	else
		task_set_group(rq->s, t, tg);
	change_end(rq, t, c, QUEUE_MOVE);
	observe_change(rq, t);
	/* A task that waits preempts nobody by that, but it may have been hidden until now. */
	if (c.running || t->class->rank < rq->curr->class->rank)
		resched(rq);
}

void task_group_move(struct sched *s, struct task *t, struct task_group *tg)
{
	struct rq *rq = task_rq_lock(s, t);

	change_group(rq, t, tg);
	rq_unlock(rq);
}

void sched_task_ends(struct sched *s, unsigned cpu)
{
	struct task *t = cpu_rq(s, cpu)->curr;
	struct rq *rq = task_rq_lock(s, t);

	SCHED_DEBUG_ASSERT(!is_idle_task(t));
	change_group(rq, t, t->group);
	rq_unlock(rq);
}

/* --- affinity ------------------------------------------------------------- */

static int admit_affinity(struct rq *rq, struct task *t, const struct cpumask *allowed)
{
	struct admission_request request = { ADMIT_AFFINITY, .rq = rq, .t = t, .allowed = allowed };

	debug_assert_locked(rq);
	return class_admits(rq->s, t->class, &request);
}

int sched_set_affinity(struct sched *s, struct task *t, const struct cpumask *mask)
{
	struct cpumask allowed = cpumask_and(mask, &s->possible);
	struct rq *rq;
	int err;

	if (!cpumask_intersects(&allowed, &s->online) || READ_ONCE(t->class)->fixture)
		return -EINVAL;
	rq = task_rq_lock(s, t);
	err = admit_affinity(rq, t, &allowed);
	if (err) {
		rq_unlock(rq);
		return err;
	}
	set_allowed(rq, t, &allowed);
	if (task_may_be_on(t, rq)) {
		if (t->on_rq != TASK_MIGRATING)
			t->push_cpu = PUSH_NONE;
	} else if (t->on_rq == TASK_OFF_RQ) {
		/* Asleep, even if it is still on its stack: its wakeup sees to it. */
	} else if (task_running(rq, t)) {
		push_current(rq, any_allowed_cpu(s, t));
	} else if (t->on_rq == TASK_QUEUED) {
		detach_task(rq, t, any_allowed_cpu(s, t));
		rq_unlock(rq);
		attach_task(s, t);
		return 0;
	}
	rq_unlock(rq);
	return 0;
}

void sched_get_affinity(struct sched *s, struct task *t, struct cpumask *mask)
{
	struct rq *rq = task_rq_lock(s, t);

	*mask = cpumask_and(&t->allowed, &s->online);
	rq_unlock(rq);
}
