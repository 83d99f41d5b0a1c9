/*
 * The fair class: the part of proportional sharing that CFS, EEVDF, BORE and FDL
 * have in common. Entities enter and leave a queue, are charged for the time
 * they run, and are compared; how is the policy's business (fair.h).
 *
 * Life of an entity on a queue:  place -> [timeline <-> running] -> leave.
 * Asleep it keeps its absolute vruntime; on the way between queues its vruntime
 * is relative to the queue it left.
 *
 * Lock: the runqueue's. Source: Linux 6.1, fair.c (docs/sources.md).
 */
#include "sched/fair/fair.h"
#include "lib/string.h"

/* --- charging ------------------------------------------------------------- */

void fair_charge(struct rq *rq)
{
	struct fair_queue *q = &rq->fair;
	struct entity *e = q->curr;
	u64 delta;

	if (unlikely(!e))
		return;
	delta = charge_time(rq, e);
	if (!delta)
		return;
	rq->run_ns += delta;
	q->ops->charge(q, e, delta);
	trace_runtime(rq, task_of(e), delta);
}

/* --- membership ----------------------------------------------------------- */

void fair_enqueue(struct rq *rq, struct task *t, unsigned flags)
{
	struct fair_queue *q = &rq->fair;
	struct entity *e = &t->fair;

	fair_charge(rq);
	q->ops->place(q, e, flags);
	/* Cold here; not before place(), which wants to know how long it slept. */
	if (flags & (ENQUEUE_MIGRATED | QUEUE_MIGRATING))
		e->exec_start = 0;
	pelt_update_entity(q, e);
	pelt_update_queue(q);
	if (flags & ENQUEUE_INITIAL)
		pelt_init_util(q, e);
	if (!e->avg.last_update)
		pelt_attach(q, e);
	q->avg.util_est_enqueued += task_util_est(e);
	queue_account(q, e);
	if (e != q->curr)
		queue_insert(q, e);
	e->queued = true;
	rq->nr_running++;
}

bool fair_dequeue(struct rq *rq, struct task *t, unsigned flags)
{
	struct fair_queue *q = &rq->fair;
	struct entity *e = &t->fair;

	fair_charge(rq);
	pelt_update_entity(q, e);
	pelt_update_queue(q);
	if (e != q->curr)
		queue_erase(q, e);
	if (q->ops->leave(q, e, flags)) {
		if (e != q->curr)
			queue_insert(q, e);
		return false;
	}
	e->queued = false;
	queue_unaccount(q, e);
	q->avg.util_est_enqueued -= task_util_est(e);
	if (flags & DEQUEUE_SLEEP)
		util_est_remember(rq->s, &e->avg);
	if (flags & QUEUE_MIGRATING)
		pelt_detach(q, e);
	/*
	 * A task that comes straight back must not find that the queue's time moved on meanwhile.
	 */
	if (!(flags & QUEUE_SAVE))
		queue_update_min_vruntime(q);
	rq->nr_running--;
	return true;
}

/* A sleeper changes CPU: take its vruntime and its load off the old queue while that is locked. */
void fair_migrate(struct rq *rq, struct task *t)
{
	struct fair_queue *q = &rq->fair;
	struct entity *e = &t->fair;

	q->ops->leave(q, e, QUEUE_MIGRATING);
	pelt_update_entity(q, e);
	pelt_update_queue(q);
	pelt_detach(q, e);
}

/* --- choosing ------------------------------------------------------------- */

struct task *fair_pick(struct rq *rq)
{
	struct entity *e = rq->fair.ops->pick(&rq->fair);

	return e ? task_of(e) : NULL;
}

static void cancel_hrtick(struct rq *rq)
{
	rq->hrtick_at = 0;
	rq->timer_stale = true;
}

static void start_hrtick(struct rq *rq, struct entity *e)
{
	/* Shorter is not worth an interrupt. */
	const s64 shortest_ns = 10000;
	s64 left = (s64)(rq->fair.ops->slice(&rq->fair, e) - (e->sum_exec - e->prev_sum_exec));

	cancel_hrtick(rq);
	if (feature(rq->s, FEATURE_HRTICK) && rq->fair.nr_running > 1)
		rq->hrtick_at = rq->clock + (u64)max(left, shortest_ns);
}

/* The queued @e leaves the timeline to run. */
static void take_out(struct rq *rq, struct entity *e)
{
	struct fair_queue *q = &rq->fair;

	queue_erase(q, e);
	pelt_update_queued(q, e, false);
	/* A machine of one CPU has nobody to keep the list of tasks in order for. */
	if (rq->domains) {
		list_del(&task_of(e)->link);
		list_add_head(&q->tasks, &task_of(e)->link);
	}
}

static void start_running(struct rq *rq, struct entity *e)
{
	rq->fair.curr = e;
	e->exec_start = rq->clock;
	e->prev_sum_exec = e->sum_exec;
	if (unlikely(feature(rq->s, FEATURE_HRTICK) || rq->hrtick_at))
		start_hrtick(rq, e);
}

/* @e ran and waits, unless it left the queue before. */
static void stop_running(struct fair_queue *q, struct entity *e)
{
	SCHED_ASSERT(q->curr == e);
	if (e->queued) {
		pelt_update_queued(q, e, true);
		queue_insert(q, e);
	}
	q->curr = NULL;
}

void fair_put_prev(struct rq *rq, struct task *t)
{
	pelt_update_queue(&rq->fair);
	stop_running(&rq->fair, &t->fair);
	if (rq->hrtick_at)
		cancel_hrtick(rq);
}

void fair_set_next(struct rq *rq, struct task *t)
{
	SCHED_ASSERT(!rq->fair.curr);
	pelt_update_queue(&rq->fair);
	if (t->fair.queued)
		take_out(rq, &t->fair);
	start_running(rq, &t->fair);
}

/*
 * The queue goes on running, so its averages need no update; and the tree is small while it is
 * worked on.
 */
void fair_exchange(struct rq *rq, struct task *prev, struct task *next)
{
	take_out(rq, &next->fair);
	stop_running(&rq->fair, &prev->fair);
	start_running(rq, &next->fair);
}

void fair_tick(struct rq *rq, struct task *t)
{
	struct fair_queue *q = &rq->fair;

	fair_charge(rq);
	pelt_update_entity(q, &t->fair);
	pelt_update_queue(q);
	if (q->nr_running > 1 && q->ops->tick_expired(q, &t->fair))
		resched(rq);
}

/* The running task was charged when @woken was enqueued. */
bool fair_preempts(struct rq *rq, struct task *woken, unsigned flags)
{
	struct fair_queue *q = &rq->fair;
	struct task *curr = rq->curr;

	if (curr->policy == SCHED_IDLE && woken->policy != SCHED_IDLE)
		return true;
	if (woken->policy != SCHED_NORMAL || !feature(rq->s, FEATURE_WAKEUP_PREEMPTION))
		return false;
	return q->ops->preempts(q, &curr->fair, &woken->fair, flags);
}

/* No charge here: the switch that follows in this lock section makes it. */
void fair_yield(struct rq *rq)
{
	struct fair_queue *q = &rq->fair;

	if (rq->nr_running > 1)
		q->ops->yield(q, q->curr);
}

/* --- parameters ----------------------------------------------------------- */

void fair_join(struct rq *rq, struct task *t, bool runnable)
{
	struct fair_queue *q = &rq->fair;
	struct entity *e = &t->fair;

	if (t->state == TASK_NEW) {
		fair_charge(rq);
		pelt_init(e);
		q->ops->place(q, e, PLACE_NEW);
		return;
	}
	pelt_update_queue(q);
	pelt_attach(q, e);
	/* Off every queue its vruntime is relative; a sleeper's must be absolute. */
	if (!runnable)
		e->vruntime += q->min_vruntime;
}

void fair_leave(struct rq *rq, struct task *t, bool runnable)
{
	struct fair_queue *q = &rq->fair;
	struct entity *e = &t->fair;

	if (!runnable) {
		q->ops->place(q, e, PLACE_SLEEPER);
		q->ops->leave(q, e, QUEUE_SAVE);
	}
	if (e->avg.last_update) {
		pelt_update_entity(q, e);
		pelt_update_queue(q);
		pelt_detach(q, e);
	}
}

void fair_reweight(struct rq *rq, struct task *t)
{
	struct fair_queue *q = &rq->fair;
	struct load_weight load = q->ops->weight(t);

	SCHED_ASSERT(!t->fair.queued);
	if (t->fair.avg.last_update) {
		pelt_update_entity(q, &t->fair);
		pelt_update_queue(q);
		pelt_reweight(q, &t->fair, load.weight);
	}
	t->fair.load = load;
}

void fair_retune(struct rq *rq, struct task *t, int old_prio)
{
	if (rq->fair.nr_running == 1)
		return;
	if (!task_running(rq, t))
		check_preempt(rq, t, 0);
	else if (t->prio > old_prio)
		resched(rq);
}

/* As sched_rr_get_interval(2) has it: whole ticks, and 0 on an empty queue. */
u64 fair_slice(struct rq *rq, struct task *t)
{
	u64 slice;

	if (!rq->fair.load.weight)
		return 0;
	slice = rq->fair.ops->slice(&rq->fair, &t->fair);
	return slice - slice % rq->s->tick_ns;
}

const struct fair_class *fair_class_find(const char *name)
{
	static const struct fair_class *const all[] = { &cfs_class };

	if (!name)
		return &cfs_class;
	for (unsigned i = 0; i < ARRAY_SIZE(all); i++)
		if (!strcmp(all[i]->base.name, name))
			return all[i];
	return NULL;
}
