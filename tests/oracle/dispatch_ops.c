/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The oracle of dispatch before the operations of the scheduler and of the class: in which order
 * they come, and what the class may do between them.
 */
#include "tests/oracle/dispatch.h"

/* --- what the scheduler asks for -------------------------------------------------------------- */

void judge_asks(struct ext_call *c, struct task *t, u64 dsq, u64 slice, u64 vtime, u64 flags)
{
	struct book *b = docket.x ? book_of(t) : NULL;
	bool buffered = c->kind == EXT_DISPATCH;

	if (!docket.x)
		return;
	if (c->kind == EXT_SELECT)
		b = begin_book(t);
	JUDGE_URGENT(b, "ext: the scheduler is asked about a task that is not runnable");
	if (buffered && !b->given)
		return; /* another CPU took it back meanwhile */
	b->ask = (struct ask){ true,	     dsq,      flags,
			       vtime,	     slice,    c->er->rq->cpu,
			       ++docket.seq, buffered, c->kind == EXT_SELECT };
}

void judge_cancels(const struct task *t)
{
	struct book *b = docket.x ? book_of(t) : NULL;

	if (b)
		b->ask.open = false;
}

void judge_takes(const struct ext_call *c, u64 dsq)
{
	docket.taken[c->er->rq->cpu] |= BIT(dsq);
}

void judge_walks(struct task *t, u64 dsq, u64 vtime, u64 flags)
{
	struct book *b = docket.x ? book_of(t) : NULL;

	look();
	if (!b)
		return;
	docket.walked = t;
	b->ask = (struct ask){ true, dsq, flags, vtime, 0, t->cpu, ++docket.seq, false, false };
}

void judge_walked(struct task *t, bool moved)
{
	struct book *b = docket.x ? book_of(t) : NULL;

	look();
	docket.walked = NULL;
	if (b && !moved)
		b->ask.open = false;
}

void judge_kicks(const struct ext_call *c, u32 here, u32 cpu, u64 flags)
{
	const struct rq *rq = cpu_rq(c->x->s, cpu);
	struct kick_wait *w = &docket.wait[here][cpu];

	if (!docket.x || !(flags & EXT_KICK_WAIT) || cpu == here || !rq->online ||
	    ((flags & EXT_KICK_IDLE) && !is_idle_task(rq->curr)) || !docket.x->cpu[cpu].curr)
		return;
	docket.nr_waits += !w->open;
	*w = (struct kick_wait){ true, docket.chosen[cpu] };
}

/* The slice of @t, once what the operation asked for is done or in the buffer. */
static void judge_asked_slice(struct book *b)
{
	const struct ext_seen *seen = part_of(b->t);

	if (b->ask.open && docket.tells && b->ask.seq == docket.seq && b->ask.slice &&
	    !docket.x->ended)
		JUDGE_URGENT(seen->slice == b->ask.slice, "ext: another slice than asked");
}

/* --- before the scheduler's operations -------------------------------------------------------- */

static void begin_op(void)
{
	look();
	docket.depth++;
}

static void end_op(void)
{
	look();
	docket.depth--;
}

void judge_callback(bool begins)
{
	(begins ? begin_op : end_op)();
}

static s32 on_select_cpu(struct ext_call *c, struct task *t, s32 prev, u64 flags)
{
	const struct book *b = book_of(t);
	s32 cpu;

	JUDGE_URGENT(!b || !b->queued, "ext: select_cpu for a task that is runnable");
	begin_op();
	cpu = docket.own->select_cpu(c, t, prev, flags);
	end_op();
	return cpu;
}

static void on_enqueue(struct ext_call *c, struct task *t, u64 flags)
{
	const struct rq *rq = c->er->rq;
	struct book *b = book_of(t);

	JUDGE_URGENT(b && b->runnable && !b->runs, "ext: enqueue of a task that is not runnable");
	JUDGE_URGENT(!b->given, "ext: enqueue of a task that its scheduler has");
	JUDGE_URGENT(!b->ask.open, "ext: enqueue of a task that was inserted");
	JUDGE_URGENT(!(flags & EXT_ENQ_LAST) || ((docket.own->flags & EXT_OPS_ENQ_LAST) &&
						 rq->curr == t && !local_of(rq->cpu)->nr),
		     "ext: ENQ_LAST of a task that is not the last");
	begin_op();
	docket.nr_enqueues++;
	docket.own->enqueue(c, t, flags);
	b = book_of(t);
	b->ask.flags |= flags & EXT_ENQ_HEAD;
	judge_asked_slice(b);
	b->given = !docket.x->bypass && !((struct ext_task *)t->class_state)->at.direct;
	JUDGE_URGENT(!b->given || !b->ask.open, "ext: an insert is forgotten");
	end_op();
}

static void on_dequeue(struct ext_call *c, struct task *t, u64 flags)
{
	struct book *b = book_of(t);

	JUDGE_URGENT(b && b->given, "ext: dequeue of a task that the scheduler has not");
	begin_op();
	b->given = b->ask.open = false;
	if (docket.own->dequeue)
		docket.own->dequeue(c, t, flags);
	end_op();
}

static void on_dispatch(struct ext_call *c, s32 cpu, struct task *prev)
{
	const struct ext_seen *seen = prev ? part_of(prev) : NULL;
	const struct task *curr = c->er->rq->curr;
	/* A task that a more urgent class has now is not told. */
	const struct book *b = curr->class->rank == CLASS_ext ? book_of(curr) : NULL;

	begin_op();
	docket.nr_dispatches++;
	JUDGE_URGENT(c->er->rq->cpu == (u32)cpu && (!prev || c->er->rq->curr == prev),
		     "ext: dispatch is told of another CPU or task");
	JUDGE_URGENT(prev || !b || (b->runnable && !b->runs),
		     "ext: dispatch is not told of the task that had the CPU");
	JUDGE_URGENT(!local_of((u32)cpu)->nr && !global_has((u32)cpu) &&
			     (!seen || !(seen->flags & EXT_TASK_QUEUED) || !seen->slice),
		     "ext: dispatch though there is work");
	docket.taken[cpu] = 0;
	docket.own->dispatch(c, cpu, prev);
	end_op();
}

static void on_runnable(struct ext_call *c, struct task *t, u64 flags)
{
	struct book *b = book_of(t);

	JUDGE_URGENT(b && !b->runnable, "ext: runnable twice");
	b->runnable = true;
	begin_op();
	if (docket.own->runnable)
		docket.own->runnable(c, t, flags);
	end_op();
}

static void on_running(struct ext_call *c, struct task *t)
{
	struct book *b = book_of(t);

	JUDGE_URGENT(b && b->runnable && !b->runs && !b->given, "ext: running out of order");
	b->runs = true;
	begin_op();
	if (docket.own->running)
		docket.own->running(c, t);
	end_op();
}

static void on_stopping(struct ext_call *c, struct task *t, bool runnable)
{
	struct book *b = book_of(t);

	JUDGE_URGENT(b && b->runs, "ext: stopping of a task that does not run");
	b->runs = false;
	begin_op();
	if (docket.own->stopping)
		docket.own->stopping(c, t, runnable);
	end_op();
}

static void on_quiescent(struct ext_call *c, struct task *t, u64 flags)
{
	struct book *b = book_of(t);

	JUDGE_URGENT(b && b->runnable && !b->runs && !b->given, "ext: quiescent out of order");
	b->runnable = false;
	begin_op();
	if (docket.own->quiescent)
		docket.own->quiescent(c, t, flags);
	end_op();
}

static void on_tick(struct ext_call *c, struct task *t)
{
	JUDGE_URGENT(c->er->rq->curr == t && book_of(t)->runs, "ext: tick of another task");
	begin_op();
	docket.own->tick(c, t);
	end_op();
}

static void on_cpu_release(struct ext_call *c, s32 cpu)
{
	const struct rq *rq = c->er->rq;

	JUDGE_URGENT(rq->active & (BIT(CLASS_ext) - 1), "ext: cpu_release without a reason");
	begin_op();
	docket.nr_releases++;
	docket.released = (u32)cpu + 1;
	if (docket.own->cpu_release)
		docket.own->cpu_release(c, cpu);
	end_op();
	docket.released = 0;
}

/* CPUs may ask the scheduler before sched_ext_load() returns, so the oracle begins here. */
static s32 on_init(struct ext_call *c)
{
	s32 err = docket.own->init ? docket.own->init(c) : 0;

	if (!err && !c->x->ended)
		open_docket(c->x);
	return err;
}

const struct ext_ops *stand_before(const struct ext_ops *ops, bool tells)
{
	docket.own = ops;
	docket.tells = tells;
	docket.ops = *ops;
	docket.ops.init = on_init;
	docket.ops.dequeue = on_dequeue;
	docket.ops.runnable = on_runnable;
	docket.ops.running = on_running;
	docket.ops.stopping = on_stopping;
	docket.ops.quiescent = on_quiescent;
	docket.ops.cpu_release = on_cpu_release;
	docket.ops.select_cpu = ops->select_cpu ? on_select_cpu : NULL;
	docket.ops.enqueue = ops->enqueue ? on_enqueue : NULL;
	docket.ops.dispatch = ops->dispatch ? on_dispatch : NULL;
	docket.ops.tick = ops->tick ? on_tick : NULL;
	return &docket.ops;
}

/* --- before the class's operations ------------------------------------------------------------ */

static const struct sched_class *own_ext(const struct rq *rq)
{
	return rq->s->class_own[CLASS_ext];
}

static void judge_enqueue(struct rq *rq, struct task *t, unsigned flags)
{
	struct book *b;

	if (!docket.x || docket.s != rq->s) {
		own_ext(rq)->enqueue(rq, t, flags);
		return;
	}
	look();
	b = begin_book(t);
	b->queued = true;
	b->ask.flags |= flags & ENQUEUE_HEAD;
	if (b->ask.selected)
		b->ask.cpu = rq->cpu;
	/* On its way its affinity may have changed, or its class and back. */
	b->ask.open &= flags & QUEUE_MIGRATING ? is_for(&b->ask, rq->cpu) : b->ask.selected;
	b->slice = part_of(t) ? part_of(t)->slice : EXT_SLICE_DEFAULT;
	b->ran = t->fair.sum_exec;
	b->runnable = flags & QUEUE_MIGRATING;
	own_ext(rq)->enqueue(rq, t, flags);
	look();
}

/* A task that changes its parameters was less urgent than it will be. */
static bool judge_dequeue(struct rq *rq, struct task *t, unsigned flags)
{
	struct task *before = docket.leaving;
	struct book *b;
	struct ask ask;

	if (flags & QUEUE_SAVE)
		court_of(rq->s)->parted = (struct parted){ t, t->prio, false };
	if (!docket.x || docket.s != rq->s)
		return own_ext(rq)->dequeue(rq, t, flags);
	docket.moving = flags & QUEUE_MIGRATING ? t : NULL;
	look();
	docket.moving = NULL;
	JUDGE_URGENT(book_of(t), "ext: dequeue of a task that is not runnable");
	docket.leaving = t;
	own_ext(rq)->dequeue(rq, t, flags);
	look();
	docket.leaving = before;
	b = book_of(t);
	ask = b->ask;
	if ((flags & QUEUE_MIGRATING) && (!docket.tells || (ask.open && ask.buffered)))
		b->given = false;
	JUDGE_URGENT(docket.x->bypass || (!b->given && !b->runs),
		     "ext: a task leaves, and its scheduler is not told");
	close_book(t);
	/* It goes on to the CPU that was asked for. */
	if (flags & QUEUE_MIGRATING)
		begin_book(t)->ask = ask;
	return true;
}

static void judge_set_next(struct rq *rq, struct task *t)
{
	if (docket.x && docket.s == rq->s)
		look();
	own_ext(rq)->set_next(rq, t);
	if (docket.x && docket.s == rq->s)
		look();
}

/* @t stops: with a slice left it is the next, else the scheduler gets it. */
static void judge_put_prev(struct rq *rq, struct task *t)
{
	bool ours = docket.x && docket.s == rq->s, ran = ours && docket.x->cpu[rq->cpu].curr == t;
	u32 releases = docket.nr_releases, enqueues = docket.nr_enqueues;

	if (ours)
		look();
	own_ext(rq)->put_prev(rq, t);
	if (!ours)
		return;
	docket.chosen[rq->cpu]++;
	look();
	if (!ran || docket.x->bypass || docket.nr_releases != releases)
		return;
	if (part_of(t)->slice && docket.nr_enqueues == enqueues)
		JUDGE_URGENT(local_of(rq->cpu)->nr && local_of(rq->cpu)->member[0].t == t,
			     "ext: a task with a slice is not the next");
	else
		JUDGE_URGENT(!docket.own->enqueue || docket.nr_enqueues != enqueues,
			     "ext: a task without a slice is not given to its scheduler");
}

static bool is_outranked(const struct rq *rq)
{
	return rq->active & (BIT(CLASS_ext) - 1);
}

/* Nobody is picked: there is nothing that may run here, and the scheduler was asked. */
static void judge_no_pick(const struct rq *rq, bool asked)
{
	const struct ext_rq *er = &docket.x->cpu[rq->cpu];

	JUDGE_URGENT(!local_of(rq->cpu)->nr, "ext: nobody is picked, but tasks wait");
	JUDGE_URGENT(!er->curr || (docket.own->flags & EXT_OPS_ENQ_LAST),
		     "ext: the last task does not go on");
	JUDGE_URGENT(asked || !docket.own->dispatch || !rq->online,
		     "ext: nobody is picked, and the scheduler was not asked");
}

static struct task *judge_pick(struct rq *rq)
{
	u32 dispatches = docket.nr_dispatches, outer = docket.picks;
	const struct ext_rq *er;
	struct task *t;

	if (!docket.x || docket.s != rq->s)
		return own_ext(rq)->pick(rq);
	look();
	er = &docket.x->cpu[rq->cpu];
	docket.picks = rq->cpu;
	t = own_ext(rq)->pick(rq);
	docket.chosen[rq->cpu]++;
	look();
	docket.picks = outer;
	JUDGE_URGENT(!er->held && !er->nr_slots, "ext: a pick ends in the middle of a move");
	for (u32 i = 0; i < docket.nr_books; i++)
		JUDGE_URGENT(!docket.book[i].ask.open || !docket.book[i].ask.buffered ||
				     !docket.book[i].given || docket.book[i].ask.cpu != rq->cpu,
			     "ext: what dispatch asked for is forgotten");
	if (is_outranked(rq)) {
		JUDGE_URGENT(!t, "ext: a pick though a more urgent class has a task");
		return t;
	}
	if (!t) {
		if (!docket.x->bypass)
			judge_no_pick(rq, docket.nr_dispatches != dispatches);
		return t;
	}
	JUDGE_URGENT(t->cpu == rq->cpu && part_of(t)->slice, "ext: a pick without a slice");
	JUDGE_URGENT(t == er->curr ||
			     (local_of(rq->cpu)->nr && t == local_of(rq->cpu)->member[0].t),
		     "ext: a pick that is not the first");
	JUDGE_URGENT(t == er->curr || !er->curr || !part_of(er->curr)->slice || docket.x->bypass,
		     "ext: a task does not get the rest of its slice");
	return t;
}

/* A CPU that waits says so, and those that wait for it go on. */
static void judge_push(struct rq *rq)
{
	own_ext(rq)->smp.push(rq);
	if (!docket.x || docket.s != rq->s)
		return;
	docket.chosen[rq->cpu] += docket.x->cpu[rq->cpu].waits;
	look();
}

static void judge_ext_charge(struct rq *rq)
{
	own_ext(rq)->charge(rq);
	if (docket.x && docket.s == rq->s)
		look();
}

void judge_ext(struct sched_class *c)
{
	docket.x = NULL; /* the machine is new */
	c->enqueue = judge_enqueue;
	c->dequeue = judge_dequeue;
	c->set_next = judge_set_next;
	c->put_prev = judge_put_prev;
	c->pick = judge_pick;
	c->charge = judge_ext_charge;
	c->smp.push = judge_push;
}
