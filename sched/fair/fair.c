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
#include "lib/errno.h"
#include "lib/string.h"

/* --- charging ------------------------------------------------------------- */

static void fair_charge(struct rq *rq)
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
	q->policy->charge(q, e, delta);
	trace_runtime(rq, task_of(e), delta);
}

/* --- membership ----------------------------------------------------------- */

/* If @e is foreign to @q: its past under another policy is forgotten. It is not queued. */
static inline void adopt(struct fair_queue *q, struct entity *e, bool asleep)
{
	if (likely(e->policy == q->policy))
		return;
	e->policy = q->policy;
	e->vruntime = 0;
	fair_reweight(q->rq, task_of(e));
	if (asleep)
		q->policy->place(q, e, PLACE_ASLEEP);
}

static void fair_enqueue(struct rq *rq, struct task *t, unsigned flags)
{
	struct fair_queue *q = &rq->fair;
	struct entity *e = &t->fair;

	fair_charge(rq);
	adopt(q, e, (flags & ENQUEUE_WAKEUP) && !(flags & ENQUEUE_MIGRATED));
	q->policy->place(q, e, flags);
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

static bool fair_dequeue(struct rq *rq, struct task *t, unsigned flags)
{
	struct fair_queue *q = &rq->fair;
	struct entity *e = &t->fair;

	fair_charge(rq);
	pelt_update_entity(q, e);
	pelt_update_queue(q);
	if (e != q->curr)
		queue_erase(q, e);
	if (q->policy->leave(q, e, flags)) {
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
	rq->nr_running--;
	return true;
}

/* A sleeper changes CPU: take its vruntime and its load off the old queue while that is locked. */
static void fair_migrate(struct rq *rq, struct task *t)
{
	struct fair_queue *q = &rq->fair;
	struct entity *e = &t->fair;

	adopt(q, e, true);
	q->policy->leave(q, e, QUEUE_MIGRATING);
	pelt_update_entity(q, e);
	pelt_update_queue(q);
	pelt_detach(q, e);
}

/* --- choosing ------------------------------------------------------------- */

static struct task *fair_pick(struct rq *rq)
{
	struct entity *e = rq->fair.policy->pick(&rq->fair);

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
	s64 left = (s64)(rq->fair.policy->slice(&rq->fair, e) - (e->sum_exec - e->prev_sum_exec));

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

static void fair_put_prev(struct rq *rq, struct task *t)
{
	pelt_update_queue(&rq->fair);
	stop_running(&rq->fair, &t->fair);
	if (rq->hrtick_at)
		cancel_hrtick(rq);
}

static void fair_set_next(struct rq *rq, struct task *t)
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
static void fair_exchange(struct rq *rq, struct task *prev, struct task *next)
{
	take_out(rq, &next->fair);
	stop_running(&rq->fair, &prev->fair);
	start_running(rq, &next->fair);
}

static void fair_tick(struct rq *rq, struct task *t)
{
	struct fair_queue *q = &rq->fair;

	fair_charge(rq);
	pelt_update_entity(q, &t->fair);
	pelt_update_queue(q);
	if (q->nr_running > 1 && q->policy->tick_expired(q, &t->fair))
		resched(rq);
}

/* The running task was charged when @woken was enqueued. */
static bool fair_preempts(struct rq *rq, struct task *woken, unsigned flags)
{
	struct fair_queue *q = &rq->fair;
	struct task *curr = rq->curr;

	if (curr->policy == SCHED_IDLE && woken->policy != SCHED_IDLE)
		return true;
	if (woken->policy != SCHED_NORMAL || !feature(rq->s, FEATURE_WAKEUP_PREEMPTION))
		return false;
	return q->policy->preempts(q, &curr->fair, &woken->fair, flags);
}

static void fair_yield(struct rq *rq)
{
	fair_charge(rq);
	rq->fair.policy->yield(&rq->fair, rq->fair.curr);
}

/* --- parameters ----------------------------------------------------------- */

static void fair_join(struct rq *rq, struct task *t, bool runnable)
{
	struct fair_queue *q = &rq->fair;
	struct entity *e = &t->fair;

	if (t->state == TASK_NEW) {
		fair_charge(rq);
		pelt_init(e);
		adopt(q, e, false);
		q->policy->place(q, e, PLACE_NEW);
		return;
	}
	adopt(q, e, false);
	pelt_update_queue(q);
	pelt_attach(q, e);
	if (!runnable)
		q->policy->place(q, e, PLACE_ASLEEP);
}

static void fair_leave(struct rq *rq, struct task *t, bool runnable)
{
	struct fair_queue *q = &rq->fair;
	struct entity *e = &t->fair;

	adopt(q, e, !runnable);
	if (!runnable) {
		q->policy->place(q, e, PLACE_SLEEPER);
		q->policy->leave(q, e, QUEUE_SAVE);
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
	struct load_weight load = q->policy->weight(t);

	SCHED_ASSERT(!t->fair.queued);
	if (t->fair.avg.last_update) {
		pelt_update_entity(q, &t->fair);
		pelt_update_queue(q);
		pelt_reweight(q, &t->fair, load.weight);
	}
	t->fair.load = load;
}

static void fair_retune(struct rq *rq, struct task *t, int old_prio)
{
	if (rq->fair.nr_running == 1)
		return;
	if (!task_running(rq, t))
		check_preempt(rq, t, 0);
	else if (t->prio > old_prio)
		resched(rq);
}

/* As sched_rr_get_interval(2) has it: whole ticks, and 0 on an empty queue. */
static u64 fair_slice(struct rq *rq, struct task *t)
{
	u64 slice;

	if (!rq->fair.load.weight)
		return 0;
	slice = rq->fair.policy->slice(&rq->fair, &t->fair);
	return slice - slice % rq->s->tick_ns;
}

const struct sched_class fair_class = {
	.name = "fair",
	.rank = 2,
	.enqueue = fair_enqueue,
	.dequeue = fair_dequeue,
	.yield = fair_yield,
	.pick = fair_pick,
	.put_prev = fair_put_prev,
	.set_next = fair_set_next,
	.exchange = fair_exchange,
	.charge = fair_charge,
	.tick = fair_tick,
	.preempts = fair_preempts,
	.select_cpu = fair_select_cpu,
	.migrate = fair_migrate,
	.pull = fair_pull,
	.join = fair_join,
	.leave = fair_leave,
	.retune = fair_retune,
	.slice = fair_slice,
	.check = fair_check,
	.dump = fair_dump,
};

/* --- choosing the policy --------------------------------------------------- */

static const struct fair_policy *const policies[] = { &cfs_policy };

const struct fair_policy *fair_policy_find(const char *name)
{
	if (!name)
		return policies[0];
	for (unsigned i = 0; i < ARRAY_SIZE(policies); i++)
		if (!strcmp(policies[i]->name, name))
			return policies[i];
	return NULL;
}

const char *sched_fair_name(unsigned index)
{
	return index < ARRAY_SIZE(policies) ? policies[index]->name : NULL;
}

const char *sched_fair_current(const struct sched *s)
{
	return READ_ONCE(s->fair_policy)->name;
}

/*
 * What is queued on @rq leaves in the old policy's terms and enters, in the same order, in those
 * of @policy. Its averages and its part of the runqueue's counters stay. Returns how many.
 */
static unsigned swap_queue(struct rq *rq, const struct fair_policy *policy)
{
	struct fair_queue *q = &rq->fair;
	struct entity *e, *curr = q->curr;
	bool curr_queued = curr && curr->queued;
	struct list waiting;
	struct task *t, *next;

	list_init(&waiting);
	while ((e = queue_first(q))) {
		fair_dequeue(rq, task_of(e), QUEUE_SAVE);
		list_add_tail(&waiting, &task_of(e)->link);
	}
	if (curr_queued)
		fair_dequeue(rq, task_of(curr), QUEUE_SAVE);
	if (curr)
		fair_put_prev(rq, task_of(curr));
	fair_queue_adopt(q, policy);
	if (curr_queued)
		fair_enqueue(rq, task_of(curr), QUEUE_RESTORE);
	if (curr)
		fair_set_next(rq, task_of(curr));
	list_for_each_safe(t, next, &waiting, link) {
		list_del(&t->link);
		fair_enqueue(rq, t, QUEUE_RESTORE);
	}
	if (q->nr_running)
		resched(rq);
	return q->nr_running;
}

/*
 * One runqueue after the other: meanwhile the machine runs under two policies, and a task that
 * moves between queues of different ones is foreign where it arrives. So is every sleeper when it
 * wakes: the price of a swap is what is queued, not all there is.
 */
int sched_fair_swap(struct sched *s, const char *name, unsigned cpu)
{
	const struct fair_policy *policy = name ? fair_policy_find(name) : NULL;
	const struct fair_policy *old = s->fair_policy;
	unsigned nr_queued = 0;

	if (!policy)
		return -EINVAL;
	if (policy == old)
		return 0;
	WRITE_ONCE(s->features, (s->features & ~policy->features_mask) | policy->features_on);
	WRITE_ONCE(s->fair_policy, policy);
	for (unsigned i = 0; i < s->nr_cpus; i++) {
		struct rq *rq = cpu_rq(s, i);

		rq_lock(rq);
		nr_queued += swap_queue(rq, policy);
		rq_unlock(rq);
	}
	if (traced(s, EVENT_sched_fair_swap))
		emit_fair_swap(cpu, old->name, policy->name, nr_queued);
	return 0;
}
