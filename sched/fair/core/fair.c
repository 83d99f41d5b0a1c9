/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fair class: the part of proportional sharing that CFS, EEVDF, BORE and FDL have in common.
 * Task groups make a CPU's queues a tree; here the class's operations walk it, queue.c does what
 * happens at one level, and how entities compare is the policy's business (fair.h).
 *
 * A group has on each CPU a queue of its members there and an entity that stands
 * for that queue in its parent's. The entity is queued while the queue is not
 * empty; a policy may keep it longer, as it keeps a task that went to sleep.
 * Without groups there is one level, and every walk is one step.
 *
 * Lock: the runqueue's. Source: Linux 6.1, fair.c (docs/sources.md).
 */
#include "sched/fair/core/class.h"
#include "sched/fair/core/queue.h"
#include "sched/balance/sharedq.h"
#include "lib/errno.h"
#include "sched/observe/trace.h"

/* --- charging ------------------------------------------------------------- */

/*
 * Time is charged level by level. All levels are charged at ticks, at switches and where the
 * numbers of groups are wanted. A reader of the task's CPU time charges the task's level alone; a
 * wakeup, the queues that somebody enters and the one in which it is compared. So a request of a
 * group above, or of a task in another group, is found used up at the next tick (Linux 6.12).
 */

/* From the root down to the running task. */
void fair_charge(struct rq *rq)
{
	struct fair_queue *q = &rq->fair;

	debug_assert_locked(rq);
	do {
		struct entity *e = q->curr;

		if (unlikely(!e))
			return;
		queue_charge(q, e);
		q = e->own_queue;
	} while (unlikely(q));
}

void fair_charge_task(struct rq *rq)
{
	struct entity *e = &rq->curr->fair;

	queue_charge(e->queue, e);
}

/* Charge what runs in @q, if anything there does. */
static inline void charge_level(struct fair_queue *q)
{
	if (q->curr)
		queue_charge(q, q->curr);
}

/* The same, out of the way of those that seldom need it. */
static __noinline void charge_uncharged(struct fair_queue *q)
{
	charge_level(q);
}

/* --- membership ----------------------------------------------------------- */

static struct tally tally_of(const struct task *t)
{
	return (struct tally){ 1, t->policy == SCHED_IDLE };
}

/* Tasks below an idle group are idle to whoever looks from above. */
struct tally fair_seen_from_above(const struct fair_queue *q, struct tally n)
{
	SCHED_DEBUG_ASSERT(n.nr_idle <= n.nr);
	if (q->idle)
		n.nr_idle = n.nr;
	return n;
}

static struct tally count(struct fair_queue *q, struct tally n, bool in)
{
	SCHED_DEBUG_ASSERT(in || q->tasks.nr >= n.nr);
	q->tasks.nr += in ? n.nr : 0 - n.nr;
	q->tasks.nr_idle += in ? n.nr_idle : 0 - n.nr_idle;
	return fair_seen_from_above(q, n);
}

bool fair_climb_in(struct entity *e, struct tally n, unsigned flags)
{
	bool first = false; /* @e stands for a queue that was empty */

	for (; e; e = parent_of(e)) {
		struct fair_queue *q = e->queue;

		if (unlikely(first && e->queued))
			queue_requeue(q, e, ENQUEUE_WAKEUP | ENQUEUE_DELAYED);
		first = !q->nr_running;
		if (likely(!e->queued)) {
			charge_level(q);
			queue_enter(q, e, flags);
		} else if (e->own_queue) {
			queue_pass(e);
		}
		n = count(q, n, true);
		if (unlikely(q->throttled))
			return false;
		flags = ENQUEUE_WAKEUP | (flags & ENQUEUE_UNTHROTTLE);
	}
	return true;
}

bool fair_climb_out(struct entity *e, struct tally n, unsigned flags)
{
	bool emptied = true;

	for (;;) {
		struct fair_queue *q = e->queue;

		n = count(q, n, false);
		if (unlikely(q->throttled))
			return false;
		e = q->owner;
		if (!e)
			return true;
		emptied = emptied && !q->nr_running;
		if (emptied) {
			group_note_demand(e);
			emptied = queue_leave(e->queue, e, DEQUEUE_SLEEP | flags);
			if (q->limited)
				bandwidth_return(q);
		} else {
			queue_pass(e);
		}
	}
}

void fair_nominate(struct entity *e)
{
	for (; e && e->queued && !entity_is_idle(e); e = parent_of(e))
		e->queue->policy->nominate(e->queue, e);
}

/* A member of @q fell asleep and is gone: let the group go on, for its others share their data. */
static __noinline void nominate_group_of(struct fair_queue *q)
{
	while (q->owner && !q->nr_running && !q->owner->queued)
		q = q->owner->queue;
	if (q->owner && q->nr_running && !queue_is_hidden(q))
		fair_nominate(q->owner);
}

void finish_delayed_group(struct entity *e)
{
	debug_assert_locked(e->queue->rq);
	if (!group_is_delayed(e))
		return;
	queue_leave(e->queue, e, DEQUEUE_SLEEP | DEQUEUE_DELAYED);
	fair_climb_out(e, (struct tally){ 0, 0 }, 0);
	nominate_group_of(e->queue);
}

__attribute__((flatten)) void fair_enqueue(struct rq *rq, struct task *t, unsigned flags)
{
	struct fair_queue *q = t->fair.queue;

	SCHED_DEBUG_ASSERT(t->fair.queued == !!(flags & ENQUEUE_DELAYED));
	if (unlikely(flags & ENQUEUE_DELAYED)) {
		queue_requeue(q, &t->fair, flags);
		list_del(&t->link);
	}
	count_running(rq, fair_climb_in(&t->fair, tally_of(t), flags));
	list_add_head(&rq->fair_tasks, &t->link);
	rq->fair.avg.util_est_enqueued += task_util_est(&t->fair);
	if (unlikely(q->owner))
		bandwidth_check_waiting(q);
	sharedq_enqueued(rq, t, flags);
}

__attribute__((flatten)) bool fair_dequeue(struct rq *rq, struct task *t, unsigned flags)
{
	bool left;

	SCHED_DEBUG_ASSERT(t->fair.queued);
	fair_charge(rq);
	left = queue_leave(t->fair.queue, &t->fair, flags);
	list_del(&t->link);
	sharedq_dequeued(rq, t);
	if (unlikely(flags & DEQUEUE_DELAYED)) {
		/* It has not been counted since it fell asleep. */
		fair_climb_out(&t->fair, (struct tally){ 0, 0 }, 0);
		nominate_group_of(t->fair.queue);
		return true;
	}
	if (unlikely(!left))
		list_add_tail(&rq->delayed, &t->link);
	count_running(rq, -fair_climb_out(&t->fair, tally_of(t), rq->online ? 0 : DEQUEUE_SPECIAL));
	rq->fair.avg.util_est_enqueued -= task_util_est(&t->fair);
	if (flags & DEQUEUE_SLEEP)
		util_est_remember(rq, &t->fair.avg);
	if (unlikely(t->fair.queue->owner) && left && (flags & DEQUEUE_SLEEP))
		nominate_group_of(t->fair.queue);
	return left;
}

void finish_all_delayed(struct rq *rq)
{
	struct fair_queue *q;

	debug_assert_locked(rq);
	fair_charge(rq);
	while (!list_empty(&rq->delayed))
		finish_delayed(rq, list_first(&rq->delayed, struct task, link));
	/* Children before parents: one that leaves may be the last of a group that is kept. */
	list_for_each(q, &rq->queues, link)
		finish_delayed_group(q->owner);
}

/* A sleeper changes CPU: take its vruntime and its load off the old queue while that is locked. */
void fair_migrate(struct rq *rq, struct task *t)
{
	struct entity *e = &t->fair;
	struct fair_queue *q = e->queue;

	debug_assert_locked(rq);
	SCHED_DEBUG_ASSERT(!e->queued);
	adopt(q, e, true);
	q->hooks->leave(q, e, QUEUE_MIGRATING);
	update_averages(e);
	pelt_detach(q, e);
	group_update_above(q);
}

/* --- choosing ------------------------------------------------------------- */

/* @e, delayed, has waited long enough for the others to catch up. Returns where to begin anew. */
static __noinline struct fair_queue *finish_sleeper(struct rq *rq, struct entity *e)
{
	SCHED_DEBUG_ASSERT(entity_is_delayed(e));
	if (entity_is_task(e))
		finish_delayed(rq, task_of(e));
	else
		finish_delayed_group(e);
	return &rq->fair;
}

/* Returns @t. If it runs already its turn begins anew, and with it the timer of HRTICK. */
static inline struct task *picked(struct rq *rq, struct task *t)
{
	if (unlikely(feature(rq->s, FEATURE_HRTICK)) && task_running(rq, t))
		fair_start_turn(rq, t);
	return t;
}

/* A policy that contradicts its queue is stopped here: the core would ask it again and again. */
struct task *fair_pick(struct rq *rq)
{
	struct fair_queue *q = &rq->fair;
	struct entity *e;

	SCHED_DEBUG_ASSERT(q->nr_running);
	if (unlikely(q->curr && q->curr->own_queue))
		bandwidth_check_running(rq);
	while (likely((e = q->hooks->pick(q)))) {
		if (unlikely(!e->queued))
			host_bug(__FILE__, __LINE__, "the policy picked a sleeping entity");
		q = e->own_queue;
		if (likely(!q && task_of(e)->on_rq != TASK_DELAYED))
			return picked(rq, task_of(e));
		if (likely(q && q->nr_running))
			continue;
		q = finish_sleeper(rq, e);
	}
	if (rq->fair.nr_running)
		host_bug(__FILE__, __LINE__, "the policy picked nobody, though some are queued");
	return NULL;
}

static void set_hrtick(struct rq *rq, u64 when)
{
	debug_assert_locked(rq);
	rq->hrtick_at = when;
	rq->timer_stale = true;
}

s64 fair_slice_left(struct entity *e)
{
	SCHED_DEBUG_ASSERT(e->queue->curr == e);
	return (s64)(e->queue->policy->slice(e->queue, e) - (e->sum_exec - e->prev_sum_exec));
}

void fair_start_turn(struct rq *rq, struct task *t)
{
	struct entity *e = &t->fair;
	u64 turn = e->queue->policy->turn(rq, e);

	SCHED_DEBUG_ASSERT(e->queue->curr == e);
	if (turn | rq->hrtick_at)
		set_hrtick(rq, turn ? rq->clock + turn : 0);
}

/* @t has the CPU, at every level. */
static inline void task_starts(struct rq *rq, struct task *t)
{
	/* A machine of one CPU has nobody to keep the list of tasks in order for. */
	if (rq->domains && t->fair.queued) {
		list_del(&t->link);
		list_add_head(&rq->fair_tasks, &t->link);
	}
	if (unlikely(feature(rq->s, FEATURE_HRTICK) || rq->hrtick_at || rq->fair.timed_turns))
		fair_start_turn(rq, t);
}

static inline void stop_level(struct entity *e)
{
	pelt_update_queue(e->queue);
	queue_stop(e->queue, e);
}

/* The groups that stand above @q stop running. A queue without runtime must not come back so. */
static __noinline void stop_groups(struct fair_queue *q)
{
	bool limited = false;

	for (struct fair_queue *above = q; above->owner; above = above->owner->queue) {
		limited |= above->limited;
		stop_level(above->owner);
	}
	if (unlikely(limited))
		bandwidth_check_waiting(q);
}

void fair_put_prev(struct rq *rq, struct task *t)
{
	stop_level(&t->fair);
	if (unlikely(t->fair.queue->owner))
		stop_groups(t->fair.queue);
	if (rq->hrtick_at)
		set_hrtick(rq, 0);
}

void fair_set_next(struct rq *rq, struct task *t)
{
	SCHED_ASSERT(!rq->fair.curr);
	for (struct entity *e = &t->fair; e; e = parent_of(e)) {
		pelt_update_queue(e->queue);
		queue_start(e->queue, e);
	}
	task_starts(rq, t);
}

/* Of two entities of one queue, which goes on running: its averages need no update. */
static inline __attribute__((always_inline)) void
exchange_siblings(struct fair_queue *q, struct entity *prev, struct entity *next)
{
	SCHED_DEBUG_ASSERT(next->queued);
	/* First out, then in: the tree is small while it is worked on. */
	queue_take(q, next);
	queue_stop(q, prev);
	queue_run(q, next);
}

/* Levels up to where the two meet stop and start; those above go on running. */
static __noinline void exchange_branches(struct entity *prev, struct entity *next)
{
	SCHED_DEBUG_ASSERT(prev->queue->rq == next->queue->rq);
	while (prev->queue != next->queue) {
		u32 prev_depth = prev->queue->depth, next_depth = next->queue->depth;

		if (prev_depth >= next_depth) {
			pelt_update_queue(prev->queue);
			queue_stop(prev->queue, prev);
			prev = parent_of(prev);
		}
		if (next_depth >= prev_depth) {
			pelt_update_queue(next->queue);
			queue_start(next->queue, next);
			next = parent_of(next);
		}
	}
	if (prev != next)
		exchange_siblings(prev->queue, prev, next);
}

void fair_exchange(struct rq *rq, struct task *prev, struct task *next)
{
	struct entity *p = &prev->fair, *n = &next->fair;

	if (likely(p->queue == n->queue))
		exchange_siblings(p->queue, p, n);
	else
		exchange_branches(p, n);
	task_starts(rq, next);
}

void fair_tick(struct rq *rq, struct task *t)
{
	SCHED_DEBUG_ASSERT(t == rq->curr);
	fair_charge(rq);
	for (struct entity *e = &t->fair; e; e = parent_of(e)) {
		struct fair_queue *q = e->queue;

		update_averages(e);
		group_update(e);
		if (q->nr_running > 1 && q->hooks->tick_expired(q, e))
			resched_patiently(rq);
	}
}

/* The ancestors of two entities, or they themselves, that share a queue. */
static void find_siblings(struct entity **a, struct entity **b)
{
	SCHED_DEBUG_ASSERT((*a)->queue->rq == (*b)->queue->rq);
	while ((*a)->queue != (*b)->queue) {
		u32 a_depth = (*a)->queue->depth, b_depth = (*b)->queue->depth;

		if (a_depth >= b_depth)
			*a = parent_of(*a);
		if (b_depth >= a_depth)
			*b = parent_of(*b);
	}
}

bool fair_preempts(struct rq *rq, struct task *woken, unsigned flags)
{
	struct entity *curr = &rq->curr->fair, *e = &woken->fair;
	bool normal = likely(woken->policy == SCHED_NORMAL) || woken->policy == SCHED_EXT;
	/* As 6.1 has it; 6.12 looks at the branches of the two before it looks at the tasks. */
	bool tasks_first = curr->queue == e->queue || !e->queue->policy->groups_first;

	SCHED_DEBUG_ASSERT(rq->curr->class == woken->class);
	if (queue_is_hidden(e->queue))
		return false;
	if (unlikely(feature(rq->s, FEATURE_NEXT_BUDDY)) && !(flags & SELECT_FORK) &&
	    curr->queue->policy->nominates_woken(curr->queue))
		fair_nominate(e);
	if (tasks_first && rq->curr->policy == SCHED_IDLE && woken->policy != SCHED_IDLE)
		return true;
	if ((tasks_first && !normal) || !feature(rq->s, FEATURE_WAKEUP_PREEMPTION))
		return false;
	if (unlikely(curr->queue != e->queue)) {
		find_siblings(&curr, &e);
		if (entity_is_idle(curr) != entity_is_idle(e) || !normal)
			return entity_is_idle(curr) && !entity_is_idle(e);
	}
	if (unlikely(curr->exec_start != rq->clock)) /* nobody entered this queue just now */
		charge_uncharged(e->queue);
	return e->queue->hooks->preempts(e->queue, curr, e, flags);
}

void fair_yield(struct rq *rq)
{
	struct entity *e = &rq->curr->fair;

	SCHED_DEBUG_ASSERT(e->queued && e->queue->curr == e);
	e->queue->hooks->yield(e->queue, e);
}

/* --- parameters ----------------------------------------------------------- */

void fair_arrive(struct task *t, bool runnable)
{
	struct entity *e = &t->fair;
	struct fair_queue *q = e->queue;
	struct load_weight load;

	debug_assert_locked(q->rq);
	SCHED_DEBUG_ASSERT(!e->queued);
	adopt(q, e, false);
	load = q->policy->weight(t);
	if (load.weight != e->load.weight)
		fair_reweight(e, load);
	pelt_update_queue(q);
	pelt_attach(q, e);
	group_update_above(q);
	if (!runnable)
		q->hooks->place(q, e, PLACE_ASLEEP);
}

void fair_join(struct rq *rq, struct task *t, bool runnable)
{
	struct entity *e = &t->fair;
	struct fair_queue *q = e->queue;

	debug_assert_locked(rq);
	if (t->state == TASK_NEW) {
		fair_charge(rq);
		pelt_init(e);
		adopt(q, e, false);
		q->hooks->place(q, e, PLACE_NEW);
		return;
	}
	queue_begin_anew(q, e);
	fair_arrive(t, runnable);
}

void fair_quit(struct rq *rq, struct task *t, bool runnable)
{
	struct entity *e = &t->fair;
	struct fair_queue *q = e->queue;

	debug_assert_locked(rq);
	if (t->state == TASK_NEW)
		return;
	adopt(q, e, !runnable);
	if (!runnable) {
		q->hooks->place(q, e, PLACE_SLEEPER);
		q->hooks->leave(q, e, QUEUE_SAVE);
	}
	if (e->avg.last_update) {
		update_averages(e);
		pelt_detach(q, e);
		group_update_above(q);
	}
}

void fair_reweight(struct entity *e, struct load_weight load)
{
	struct fair_queue *q = e->queue;
	bool follow = e->policy == q->policy;
	bool moves = follow && q->policy->moved_by_weight && e->queued && e != q->curr;

	SCHED_DEBUG_ASSERT(load.weight);
	/* In other terms now than the rest: it stays foreign even if its policy comes back. */
	if (unlikely(e->policy != q->policy))
		e->policy = NULL;
	/* The time until now counts with the old weight. */
	if (follow && e->queued)
		charge_level(q);
	if (e->avg.last_update)
		update_averages(e);
	pelt_reweight(q, e, load.weight);
	if (moves)
		queue_erase(q, e);
	if (follow)
		q->hooks->reweight(q, e, load.weight);
	if (e->queued) {
		load_sub(&q->load, e->load.weight);
		load_add(&q->load, load.weight);
	}
	e->load = load;
	if (moves)
		queue_insert(q, e);
}

void fair_retune(struct rq *rq, struct task *t, int old_prio)
{
	SCHED_DEBUG_ASSERT(t->on_rq == TASK_QUEUED);
	debug_assert_locked(rq);
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
	struct fair_queue *q = t->fair.queue;
	u64 slice;

	if (!rq->fair.load.weight)
		return 0;
	slice = q->policy->slice(q, &t->fair);
	return slice - slice % rq->s->tick_ns;
}
