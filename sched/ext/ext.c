/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The class `ext`: tasks whose order a loaded scheduler decides. A CPU runs what is in its local
 * queue; when that is empty it asks the scheduler for more (dispatch), in the middle of a switch.
 * The class is active on a CPU from the time that something may be there until a pick finds
 * nothing. While no scheduler is loaded it owns no policy, and has no task.
 *
 * Lock: the runqueue's. Source: the documentation of sched_ext, and Linux 6.12 (docs/sources.md).
 */
#include "sched/ext/ext.h"

/* An operation that asks for more again and again is stopped after so many times. */
#define DISPATCH_ROUNDS 32u

/* --- into queues ---------------------------------------------------------- */

static void place_globally(struct ext_rq *er, struct task *t)
{
	if (er->x->bypass)
		ext_count(er, EXT_EV_BYPASS_DISPATCH);
	ext_refill(er, t);
	ext_global_in(er, t);
	class_because(er->rq, REASON_bypassed);
}

/* The scheduler gets @t: it inserts it at once, or keeps it. */
static void give(struct ext_rq *er, struct task *t, u64 flags)
{
	struct ext_task *e = ext_part(t);
	u64 turn = __atomic_add_fetch(&er->x->turn, OP_TURN, __ATOMIC_RELAXED);

	debug_assert_locked(er->rq);
	__atomic_store_n(&e->op, turn | OP_QUEUEING, __ATOMIC_RELAXED);
	EXT_OP(er, EXT_ENQUEUE, t, enqueue, t, flags);
	class_because(er->rq, e->at.direct ? REASON_inserted : REASON_kept);
	if (e->at.direct)
		ext_direct(er, t, flags);
	else if (er->x->bypass)
		place_globally(er, t);
	else
		__atomic_store_n(&e->op, turn | OP_QUEUED, __ATOMIC_RELEASE);
}

/* The rules for a task that may wait anywhere. */
static void hand_in(struct ext_rq *er, struct task *t, u64 flags)
{
	debug_assert_locked(er->rq);
	if (er->x->bypass || !er->x->ops->enqueue)
		place_globally(er, t);
	else
		give(er, t, flags);
}

void ext_place(struct ext_rq *er, struct task *t, u64 flags)
{
	struct ext_task *e = ext_part(t);
	bool arrived = e->sticky == er->rq->cpu + 1;
	/* It stands on its CPU's stack still, or this CPU has left: others do not take it. */
	bool stays = task_running(er->rq, t) || !er->rq->online;

	debug_assert_locked(er->rq);
	if (e->sticky || stays || er->x->bypass)
		e->at.direct = false;
	e->sticky = 0;
	class_because(er->rq, arrived ? REASON_sent : stays ? REASON_bound : REASON_inserted);
	if (arrived)
		ext_local_in(er, t, e->direct_flags);
	else if (stays)
		ext_local_in(er, t, flags & EXT_ENQ_HEAD);
	else if (e->at.direct)
		ext_direct(er, t, flags);
	else
		hand_in(er, t, flags);
}

static void ext_enqueue(struct rq *rq, struct task *t, unsigned queue_flags)
{
	struct ext_rq *er = ext_of(rq);
	struct ext_task *e = ext_part(t);
	u64 flags = queue_flags & (ENQUEUE_WAKEUP | ENQUEUE_HEAD);

	/* A new task may have come from another class after that one's join. */
	if (unlikely(!e->seen))
		ext_join(rq, t, false);
	if (e->at.selected)
		flags |= EXT_ENQ_CPU_SELECTED;
	e->at.selected = false;
	e->at.queued = true;
	e->seen->flags |= EXT_TASK_QUEUED;
	list_add_tail(&er->queued, &e->queued);
	er->nr_queued++;
	e->runnable_at = rq->clock;
	if (!er->watch_at && rq->online) {
		er->watch_at = rq->clock + er->x->timeout_ns / 2;
		rq->timer_stale = true;
	}
	if (!(queue_flags & QUEUE_MIGRATING))
		EXT_OP(er, EXT_OTHER, t, runnable, t, flags);
	ext_place(er, t, flags);
	/* After these a switch is asked for if the CPU idles, and that is to look for work. */
	if (!(queue_flags & QUEUE_RESTORE))
		class_set_active(rq, CLASS_ext, true);
}

/* --- out of queues -------------------------------------------------------- */

/* The scheduler has @t no longer, if it had. */
static void take_back(struct ext_rq *er, struct task *t, u64 flags)
{
	struct ext_task *e = ext_part(t);
	u64 op = __atomic_load_n(&e->op, __ATOMIC_ACQUIRE);

	debug_assert_locked(er->rq);
	if ((op & OP_STATE) == OP_QUEUED) {
		EXT_OP(er, EXT_OTHER, t, dequeue, t, flags);
		if (__atomic_compare_exchange_n(&e->op, &op, OP_NONE, false, __ATOMIC_ACQUIRE,
						__ATOMIC_ACQUIRE))
			return;
	}
	/* A CPU is inserting it: that ends soon, and takes no runqueue's lock. */
	while ((__atomic_load_n(&e->op, __ATOMIC_ACQUIRE) & OP_STATE) == OP_DISPATCHING)
		;
}

static void ext_charge(struct rq *rq)
{
	struct ext_seen *seen = ext_part(rq->curr)->seen;
	u64 delta = charge_time(rq, &rq->curr->fair);

	rq->run_ns += delta;
	if (seen && seen->slice != EXT_SLICE_INFINITE)
		seen->slice -= min(seen->slice, delta);
}

/* Is the task that runs to give way though nobody else is there? It counts unless it is. */
static void set_last(struct ext_rq *er, bool last)
{
	if (er->last && !last)
		ext_count_in(er->rq);
	else if (last && !er->last)
		count_running(er->rq, -1);
	er->last = last;
}

/* @t ran, and counts no longer as the one that does. */
static void stop_running(struct ext_rq *er, struct task *t, bool runnable)
{
	SCHED_DEBUG_ASSERT(er->curr == t);
	ext_charge(er->rq);
	EXT_OP(er, EXT_OTHER, t, stopping, t, runnable);
	set_last(er, false);
	er->curr = NULL;
	count_running(er->rq, -1);
}

static bool ext_dequeue(struct rq *rq, struct task *t, unsigned queue_flags)
{
	struct ext_rq *er = ext_of(rq);
	struct ext_task *e = ext_part(t);
	u64 flags = queue_flags & DEQUEUE_SLEEP;

	if (flags)
		ext_has_run(er);
	take_back(er, t, flags);
	if (er->curr == t)
		stop_running(er, t, false);
	if (!(queue_flags & QUEUE_MIGRATING))
		EXT_OP(er, EXT_OTHER, t, quiescent, t, flags);
	ext_withdraw(er, t);
	list_del(&e->queued);
	er->nr_queued--;
	e->at.queued = false;
	e->seen->flags &= ~(u32)EXT_TASK_QUEUED;
	e->runnable_at = 0;
	e->at.direct = false;
	if (!(queue_flags & QUEUE_MIGRATING))
		e->sticky = 0;
	return true;
}

static u32 ext_nr_queued(const struct rq *rq)
{
	return ext_of(rq) ? READ_ONCE(ext_of(rq)->nr_queued) : 0;
}

static struct task *ext_queued(struct rq *rq, struct task *after)
{
	struct ext_rq *er = ext_of(rq);
	struct list *next;

	if (!er)
		return NULL;
	next = after ? ext_part(after)->queued.next : er->queued.next;
	return next == &er->queued ? NULL
				   : ext_task_of(container_of(next, struct ext_task, queued));
}

/* Others wait in a queue of several CPUs, or with the scheduler: they are not this CPU's alone. */
static bool ext_pickable(struct rq *rq, struct task *t)
{
	struct ext_rq *er = ext_of(rq);

	return (er->curr == t && !er->last) || ext_part(t)->dsq == &er->local;
}

/* --- choosing ------------------------------------------------------------- */

/* Is a more urgent class about to run here? It may have come while the lock was dropped. */
static bool outranked(const struct rq *rq)
{
	return rq->active & (BIT(CLASS_ext) - 1);
}

/* May the task that runs go on as it is? */
static bool has_slice(const struct ext_rq *er)
{
	return er->curr && !er->x->bypass && ext_part(er->curr)->seen->slice;
}

/* Is there something to run: in the local queue, or the task that runs? */
static bool has_work(struct ext_rq *er)
{
	return has_slice(er) || er->local.nr;
}

/*
 * The task that had the CPU, for dispatch: it could go on, or went to sleep just now. NULL: it is
 * of another class, or it is queued again already.
 */
static struct task *previous(const struct ext_rq *er)
{
	struct task *t = er->rq->curr;

	if (t == er->curr)
		return t;
	return t->class->rank == CLASS_ext && ext_part(t)->seen && !ext_part(t)->at.queued ? t
											   : NULL;
}

/* Asks the scheduler, until there is work or it has none. May drop the lock. */
static void ask_scheduler(struct ext_rq *er)
{
	for (u32 round = 0; !er->x->bypass && er->x->ops->dispatch; round++) {
		if (round == DISPATCH_ROUNDS) {
			poke(er->rq);
			return;
		}
		er->nr_dispatched = 0;
		EXT_OP(er, EXT_DISPATCH, NULL, dispatch, (s32)er->rq->cpu, previous(er));
		ext_flush(er);
		if (outranked(er->rq) || has_work(er) || ext_consume(er, &er->x->global) ||
		    !er->nr_dispatched)
			return;
	}
}

/*
 * Brings work to the local queue if the CPU needs it. Returns the rule by which the work that is
 * there runs. May drop the lock.
 */
static enum class_rule find_work(struct ext_rq *er)
{
	struct rq *rq = er->rq;

	debug_assert_locked(rq);
	if (er->released) {
		er->released = false;
		EXT_OP(er, EXT_OTHER, NULL, cpu_acquire, (s32)rq->cpu);
	}
	if (has_work(er) || !rq->online)
		return REASON_first_local;
	if (ext_consume(er, &er->x->global) || outranked(rq))
		return REASON_first_global;
	ask_scheduler(er);
	return REASON_dispatched;
}

/* Does the task that runs go on without a slice because nobody else is there? */
static bool runs_alone(const struct ext_rq *er)
{
	return er->curr && !er->local.nr &&
	       (!(er->x->ops->flags & EXT_OPS_ENQ_LAST) || er->x->bypass);
}

static void ext_set_next(struct rq *rq, struct task *t)
{
	struct ext_rq *er = ext_of(rq);
	struct ext_task *e = ext_part(t);

	t->fair.exec_start = rq->clock;
	rq->yield_below = 0; /* others may wait that this runqueue does not count */
	if (!e->at.queued)
		return;
	if (e->dsq)
		ext_withdraw(er, t);
	e->runnable_at = 0;
	er->curr = t;
	count_running(rq, 1);
	class_set_active(rq, CLASS_ext, true);
	EXT_OP(er, EXT_OTHER, t, running, t);
}

static struct task *ext_pick(struct rq *rq)
{
	struct ext_rq *er = ext_of(rq);
	enum class_rule rule;
	struct task *t = NULL;

	set_last(er, false);
	rule = find_work(er);
	if (outranked(rq))
		return NULL;
	if (has_slice(er) || runs_alone(er)) {
		t = er->curr;
		rule = has_slice(er) ? REASON_rest_of_slice : REASON_alone;
	} else if (er->local.nr) {
		t = ext_dsq_after(&er->local, NULL);
	}
	/* It blocked, and woke up while the lock was dropped: nobody switches to it. */
	if (t && t == rq->curr && t != er->curr) {
		ext_charge(rq);
		ext_set_next(rq, t);
	}
	class_because(rq, t ? rule : REASON_none_dispatched);
	if (t && rule == REASON_alone)
		ext_count(er, EXT_EV_DISPATCH_KEEP_LAST);
	if (t && !ext_part(t)->seen->slice)
		ext_refill(er, t);
	if (!t) {
		set_last(er, er->curr);
		class_set_active(rq, CLASS_ext, false);
		if (is_idle_task(rq->curr))
			ext_idles(er, true, false);
	}
	ext_answer(er);
	return t;
}

static void tell_release(struct ext_rq *er)
{
	if (er->released || !outranked(er->rq))
		return;
	er->released = true;
	EXT_OP(er, EXT_RELEASE, NULL, cpu_release, (s32)er->rq->cpu);
}

static void ext_put_prev(struct rq *rq, struct task *t)
{
	struct ext_rq *er = ext_of(rq);
	struct ext_seen *seen = ext_part(t)->seen;
	bool idles = !rq->active;

	rq->yield_below = YIELD_BELOW;
	if (er->curr == t) {
		stop_running(er, t, true);
		ext_part(t)->runnable_at = rq->clock;
		class_because(rq, REASON_rest_of_slice);
		if (seen->slice && !er->x->bypass)
			ext_local_in(er, t, EXT_ENQ_HEAD);
		else
			hand_in(er, t, idles ? EXT_ENQ_LAST : 0);
		/* It may be here again, and the choice is over. */
		if (idles && rq->active)
			resched(rq);
	}
	tell_release(er);
	ext_answer(er);
}

/* --- ticks and yields ----------------------------------------------------- */

static void ext_tick(struct rq *rq, struct task *t)
{
	struct ext_rq *er = ext_of(rq);
	struct ext_seen *seen = ext_part(t)->seen;

	ext_charge(rq);
	if (er->x->bypass)
		seen->slice = 0;
	EXT_OP(er, EXT_OTHER, t, tick, t);
	if (!seen->slice)
		resched(rq);
}

static void ext_yield(struct rq *rq)
{
	struct ext_rq *er = ext_of(rq);

	if (er->x->ops->yield && !er->x->bypass)
		EXT_OP(er, EXT_OTHER, rq->curr, yield, rq->curr);
	else
		ext_part(rq->curr)->seen->slice = 0;
}

/* The first task of the local queue that entered it no later than its insert number @seq. */
static struct task *first_until(struct ext_rq *er, u32 seq)
{
	struct task *t = ext_dsq_after(&er->local, NULL);

	while (t && (s32)(ext_part(t)->seq - seq) > 0)
		t = ext_dsq_after(&er->local, t);
	return t;
}

u32 ext_reenqueue_local(struct ext_call *c)
{
	struct ext_rq *er = c->er;
	u32 seq = er ? er->local.seq : 0, nr = 0;
	struct task *t;

	if (c->kind != EXT_RELEASE) {
		ext_fault(c->x, er, "reenqueue_local outside cpu_release");
		return 0;
	}
	/* A task that comes back at once, even to the head, has had its turn. */
	for (; (t = first_until(er, seq)); nr++) {
		ext_withdraw(er, t);
		ext_place(er, t, EXT_ENQ_REENQ);
	}
	return nr;
}

static void ext_numbers(struct rq *rq, struct task *t, struct class_numbers *n)
{
	const struct ext_task *e = t ? ext_part(t) : NULL;
	const struct ext_dsq *q;
	u64 slice;

	/* For a task of another class, rq->lock need not be held. */
	if (!e || !e->seen)
		return;
	debug_assert_locked(rq);
	q = READ_ONCE(e->dsq);
	slice = READ_ONCE(e->seen->slice);
	n->bw = e->seen->weight;
	n->deadline = e->seen->vtime;
	n->budget = slice == EXT_SLICE_INFINITE ? -1 : (s64)slice;
	n->replenish_at = q ? q->id : (e->op & OP_STATE) ? ~0ull : EXT_DSQ_INVALID;
}

static int ext_prio(const struct sched_attr_req *req)
{
	bool valid = !req->rt_priority && nice_is_valid(req->nice);

	return valid ? NICE_TO_PRIO(req->nice) : PRIO_INVALID;
}

const struct sched_class ext_class = {
	.name = "ext",
	.rank = CLASS_ext,
	.nice = true,
	.recorded = true,
	.rule = { [ACT_enter] = REASON_kept,
		  [ACT_stop] = REASON_kept,
		  [ACT_select] = REASON_remains },
	.enqueue = ext_enqueue,
	.dequeue = ext_dequeue,
	.nr_queued = ext_nr_queued,
	.queued = ext_queued,
	.pick = ext_pick,
	.set_next = ext_set_next,
	.charge = ext_charge,
	.tick = ext_tick,
	.put_prev = ext_put_prev,
	.pickable = ext_pickable,
	.yield = ext_yield,
	.smp = { .select_cpu = ext_select_cpu, .push = ext_push },
	.params = { .prio = ext_prio,
		    .admit = ext_admit,
		    .set_attr = ext_set_attr,
		    .join = ext_join,
		    .quit = ext_quit,
		    .regroup = ext_regroup },
	.debug = { .numbers = ext_numbers, .check = ext_check },
};
