/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tasks: birth, death, and changes of their parameters. Every change of a task
 * that may be queued or running follows one pattern: take it out of its queue,
 * change it, put it back (change_begin, change_end).
 *
 * Lock: the runqueue's of the task; sched_block's protocol covers its state.
 */
#include "sched/core/family.h"
#include "sched/balance/sharedq.h"
#include "sched/fair/core/fair.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "sched/observe/trace.h"

/* --- the change pattern --------------------------------------------------- */

struct change {
	bool queued, running;
};

/* @move: 0, or QUEUE_MOVE if its priority is about to change. */
static struct change change_begin(struct rq *rq, struct task *t, unsigned move)
{
	struct change c;

	/* What it owes its queue is settled under the old parameters. */
	finish_delayed(rq, t);
	c = (struct change){ t->on_rq == TASK_QUEUED, task_running(rq, t) };
	if (c.queued)
		t->class->dequeue(rq, t, QUEUE_SAVE | move);
	if (c.running)
		t->class->put_prev(rq, t);
	return c;
}

static void change_end(struct rq *rq, struct task *t, struct change c, unsigned flags)
{
	if (c.queued)
		t->class->enqueue(rq, t, QUEUE_RESTORE | flags);
	/* It was not counted before if a throttled group hid it. */
	if (rq->nr_running == 2)
		sharedq_crowded(rq);
	if (c.running)
		t->class->set_next(rq, t);
}

/* --- parameters ----------------------------------------------------------- */

/* Idle tasks and stoppers belong to their CPU as they are. */
static bool is_fixture(const struct task *t)
{
	return t->class->fixture;
}

static bool valid_attr(const struct sched_attr_req *req)
{
	const struct sched_class *class = class_of_policy(req->policy);

	return class && class->valid(req);
}

/* @t gets the parameters @req, and is of the class that they say. Not queued, and left the old. */
static void set_params(struct sched *s, struct task *t, const struct sched_attr_req *req)
{
	const struct sched_class *class = class_of_policy(req->policy);

	t->policy = req->policy;
	t->rt_priority = req->rt_priority;
	t->prio = class->prio(req);
	if (class->nice)
		t->static_prio = NICE_TO_PRIO(req->nice);
	if (t->class != class) {
		t->class = class;
		memset(t->class_state, 0, sizeof(t->class_state));
		class->init_task(s, t);
	}
	class->set_attr(t, req);
}

static void change_attr(struct rq *rq, struct task *t, const struct sched_attr_req *req)
{
	const struct sched_class *old_class = t->class, *class = class_of_policy(req->policy);
	int old_prio = t->prio, prio = class->prio(req);
	unsigned move = prio == old_prio ? 0 : QUEUE_MOVE;
	struct change c = change_begin(rq, t, move);
	bool runnable = task_is_runnable(t);

	if (old_class != class && t->state != TASK_NEW)
		old_class->leave(rq, t, runnable);
	set_params(rq->s, t, req);
	if (old_class != class && t->state != TASK_NEW)
		class->join(rq, t, runnable);
	/* POSIX: raised it goes behind its new equals, lowered before them. */
	change_end(rq, t, c, move | (old_prio < prio ? ENQUEUE_HEAD : 0));
	if (!c.queued || !move)
		return;
	if (old_class == class)
		class->retune(rq, t, old_prio);
	else if (c.running)
		resched(rq);
	else
		check_preempt(rq, t, 0);
}

int sched_set_attr(struct sched *s, struct task *t, const struct sched_attr_req *req)
{
	struct rq *rq;
	int err;

	if (!valid_attr(req) || is_fixture(t))
		return -EINVAL;
	rq = task_rq_lock(s, t);
	err = class_of_policy(req->policy)->admit(rq, t, req);
	if (!err) {
		t->reset_on_fork = req->reset_on_fork;
		change_attr(rq, t, req);
	}
	rq_unlock(rq);
	return err;
}

void sched_set_nice(struct sched *s, struct task *t, int nice)
{
	struct rq *rq = task_rq_lock(s, t);
	struct sched_attr_req req;

	sched_get_attr(t, &req);
	req.nice = nice;
	if (t->class->nice)
		change_attr(rq, t, &req);
	else
		t->static_prio = NICE_TO_PRIO(nice);
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
	t->class->get_attr(t, req);
}

int sched_task_prio(const struct task *t)
{
	return t->prio;
}

u64 sched_task_slice(struct sched *s, struct task *t)
{
	struct rq *rq = task_rq_lock(s, t);
	u64 slice = t->class->request(rq, t);

	rq_unlock(rq);
	return slice;
}

u64 sched_rr_interval(struct sched *s, struct task *t)
{
	struct rq *rq = task_rq_lock(s, t);
	u64 slice = t->class->slice(rq, t);

	rq_unlock(rq);
	return slice;
}

/* --- group ----------------------------------------------------------------- */

void sched_group_move(struct sched *s, struct task *t, struct task_group *tg)
{
	struct rq *rq = task_rq_lock(s, t);
	struct change c = change_begin(rq, t, 0);

	t->class->regroup(rq, t, tg, task_is_runnable(t));
	change_end(rq, t, c, 0);
	if (c.running)
		resched(rq);
	else if (c.queued)
		check_preempt(rq, t, 0);
	rq_unlock(rq);
}

/* --- affinity ------------------------------------------------------------- */

void set_allowed(struct rq *rq, struct task *t, const struct cpumask *allowed)
{
	struct change c = change_begin(rq, t, 0);
	u32 before = t->nr_allowed, all = rq->s->nr_cpus;

	t->allowed = *allowed;
	t->nr_allowed = cpumask_weight(allowed);
	if (c.queued)
		rq->nr_restricted += (u32)(t->nr_allowed < all) - (before < all);
	change_end(rq, t, c, 0);
}

int sched_set_affinity(struct sched *s, struct task *t, const struct cpumask *mask)
{
	struct cpumask allowed = cpumask_and(mask, &s->possible);
	struct rq *rq;

	if (!cpumask_intersects(&allowed, &s->online) || is_fixture(t))
		return -EINVAL;
	rq = task_rq_lock(s, t);
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

/* --- birth and death ------------------------------------------------------ */

static void init_common(struct sched *s, struct task *t, int pid, const char *comm)
{
	*t = (struct task){
		.pid = pid,
		.state = TASK_NEW,
		.push_cpu = PUSH_NONE,
		.allowed = s->possible,
		.nr_allowed = s->nr_cpus,
	};
	str_copy(t->comm, comm, sizeof(t->comm));
	task_set_cpu(s, t, 0);
	list_init(&t->link);
	family_init(t);
}

void sched_task_init(struct sched *s, struct task *t, int pid, const char *comm)
{
	init_common(s, t, pid, comm);
	set_params(s, t, &(struct sched_attr_req){ .policy = SCHED_NORMAL });
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
 * with the parent.
 */
static void inherit_params(struct sched *s, const struct task *parent, struct task *child)
{
	bool nice = class_of_policy(parent->policy)->nice;
	struct sched_attr_req req;

	sched_get_attr(parent, &req);
	if (parent->reset_on_fork) {
		req.nice = nice ? max(req.nice, 0) : 0;
		req.policy = nice ? req.policy : SCHED_NORMAL;
		req.rt_priority = 0;
		req.slice_ns = 0;
	}
	child->slice_ns = req.slice_ns;
	child->static_prio = NICE_TO_PRIO(req.nice);
	set_params(s, child, &req);
}

void sched_task_fork(struct sched *s, struct task *parent, struct task *child, int pid,
		     unsigned flags)
{
	init_common(s, child, pid, parent->comm);
	child->group = parent->group;
	task_set_cpu(s, child, parent->cpu);
	child->allowed = parent->allowed;
	child->nr_allowed = parent->nr_allowed;
	child->recent_used_cpu = parent->cpu;
	inherit_params(s, parent, child);
	host_lock(&s->family_lock);
	child->class->fork(s, parent, child, flags);
	family_link(parent, child, flags);
	host_unlock(&s->family_lock);
	child->fair.load = READ_ONCE(s->fair_policy)->weight(child);
}

void sched_task_start(struct sched *s, struct task *t, unsigned cpu)
{
	struct rq *rq = cpu_rq(s, cpu);
	unsigned to;

	SCHED_ASSERT(t->state == TASK_NEW);
	rq_lock(rq);
	if (!is_fixture(t))
		task_set_cpu(s, t, cpu);
	t->class->join(rq, t, false);
	to = t->class->select_cpu(rq, t, cpu, SELECT_FORK);
	if (to != rq->cpu) {
		task_set_cpu(s, t, to);
		rq_unlock(rq);
		rq = task_rq_lock(s, t);
	}
	while (unlikely(!task_may_be_on(t, rq))) {
		task_set_cpu(s, t, any_allowed_cpu(s, t));
		rq_unlock(rq);
		rq = task_rq_lock(s, t);
	}
	t->state = TASK_RUNNING;
	activate(rq, t, ENQUEUE_INITIAL);
	trace_wake(s, EVENT_sched_wakeup_new, t, cpu, rq->cpu);
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
	to = t->class->select_cpu(rq, t, cpu, SELECT_EXEC);
	if (to != cpu)
		push_current(rq, to);
	rq_unlock(rq);
	return to != cpu;
}

void sched_task_exit(struct sched *s, unsigned cpu)
{
	struct task *t = cpu_rq(s, cpu)->curr;

	sched_task_unlink(s, t);
	sched_block(t, TASK_DEAD);
}
