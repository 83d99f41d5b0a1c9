/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Into dispatch queues and out of them: inserts that an operation asks for, direct dispatch, and
 * moves to local queues, of this CPU and of others (PROTOCOL: holding in ext.h).
 *
 * Lock: the runqueue's of the CPU that acts. A move of another runqueue's task drops it meanwhile;
 * only dispatch, which is called in the middle of a switch, may do that. A move from a timer begins
 * with no runqueue locked, and takes the lock of the task's.
 */
#include "sched/ext/ext.h"
#include "lib/errno.h"

/* --- local queues --------------------------------------------------------- */

void ext_local_in(struct ext_rq *er, struct task *t, u64 flags)
{
	struct rq *rq = er->rq;

	debug_assert_locked(rq);
	ext_dsq_add(&er->local, t, flags);
	__atomic_store_n(&ext_part(t)->op, OP_NONE, __ATOMIC_RELEASE);
	ext_count_in(rq);
	class_set_active(rq, CLASS_ext, true);
	if ((flags & EXT_ENQ_PREEMPT) && er->curr && er->curr != t) {
		ext_part(er->curr)->seen->slice = 0;
		resched(rq);
	}
	if (is_idle_task(rq->curr))
		resched(rq);
}

/* --- moves ---------------------------------------------------------------- */

/* Where a task goes: a queue that is not local, or the local one of a CPU. */
struct target {
	struct ext_dsq *q; /* NULL: local */
	u64 id;		   /* of q, as it was found */
	u32 cpu;
};

static void choose_global(struct ext *x, struct target *target)
{
	target->q = &x->global;
	target->id = EXT_DSQ_GLOBAL;
}

/* Where the number @id points for the CPU @here; false and a fault if nowhere. */
static bool find_target(struct ext_rq *er, u32 here, u64 id, struct target *target)
{
	struct ext *x = er->x;

	*target = (struct target){ .id = id, .cpu = here };
	if (id == EXT_DSQ_LOCAL)
		return true;
	if ((id & EXT_DSQ_LOCAL_ON) == EXT_DSQ_LOCAL_ON) {
		target->cpu = (u32)id;
		if (target->cpu < x->s->nr_cpus)
			return true;
		ext_fault(x, er, "invalid CPU %u in a DSQ number", target->cpu);
		return false;
	}
	target->q = ext_dsq_find(x, id);
	if (!target->q)
		ext_fault(x, er, "non-existent DSQ 0x%llx", (unsigned long long)id);
	return target->q;
}

/* @t, out of all queues and of @from, locked, goes on to the local queue of @to as it settles. */
static void send(struct ext_rq *from, struct task *t, u32 to, u64 flags)
{
	struct ext_task *e = ext_part(t);

	debug_assert_locked(from->rq);
	e->sticky = (u16)(to + 1);
	e->direct_flags = flags;
	e->op = OP_NONE;
}

/*
 * @t, which is in no queue and in nobody's hands, goes to @target. True: to the local queue of
 * another CPU, and it has left its runqueue, @from's, which is locked. It is to be attached there.
 */
static bool place_at(struct ext_rq *from, struct task *t, const struct target *target, u64 flags)
{
	debug_assert_locked(from->rq);
	if (target->q) {
		ext_dsq_in(from, target->q, target->id, t, flags);
	} else if (target->cpu == from->rq->cpu) {
		ext_local_in(from, t, flags);
	} else {
		send(from, t, target->cpu, flags);
		detach_task(from->rq, t, target->cpu);
		return true;
	}
	return false;
}

/*
 * @t, held by @er's CPU, belongs to @src, and goes to @target, if nobody was there before. True if
 * it went. @er's runqueue is locked, and was not meanwhile if @src is another.
 */
static bool deliver_held(struct ext_rq *er, struct task *t, struct rq *src, struct target target,
			 u64 flags)
{
	struct rq *rq = er->rq;
	bool mine, moves = false;

	debug_assert_locked(rq);
	if (src != rq) {
		rq->pulling = true;
		rq_unlock(rq);
		rq_lock(src);
	}
	mine = er->held == t;
	er->held = NULL;
	if (mine) {
		ext_part(t)->holding = 0;
		moves = place_at(ext_of(src), t, &target, flags);
	}
	if (src == rq) {
		if (moves)
			list_add_tail(&rq->handover, &t->link);
		return mine;
	}
	rq_unlock(src);
	if (moves && target.cpu != rq->cpu)
		attach_task(er->x->s, t);
	rq_lock(rq);
	rq->pulling = false;
	if (moves && target.cpu == rq->cpu)
		attach_locked(rq, t);
	return mine;
}

/* May @t go to @cpu? */
static bool may_go(struct ext *x, const struct task *t, u32 cpu)
{
	return task_may_be_on(t, cpu_rq(x->s, cpu));
}

/*
 * For an explicit target: it must be the CPU where @t is, or one that it may use. Else the global
 * queue takes it. A task is where it may not stay while its affinity changes: it leaves soon, and
 * its scheduler is not to blame. Nor is it if a CPU has left, which it may not know yet.
 */
static void check_target(struct ext_rq *er, const struct task *t, struct target *target)
{
	if (target->q || target->cpu == t->cpu || may_go(er->x, t, target->cpu))
		return;
	if (task_allowed(t, target->cpu))
		ext_count(er, EXT_EV_DISPATCH_LOCAL_DSQ_OFFLINE);
	else
		ext_fault(er->x, er, "SCX_DSQ_LOCAL[_ON] cannot move %s[%d] from CPU %u to %u",
			  t->comm, t->pid, t->cpu, target->cpu);
	choose_global(er->x, target);
}

/*
 * True if @t is in a queue that is not local now: @id's, or the global one if @id is no place for
 * it. Else it is to go to @target's local queue.
 */
static bool goes_to_queue(struct ext_rq *er, struct task *t, u64 id, u64 flags,
			  struct target *target)
{
	struct ext_dsq *global = &er->x->global;

	if (!find_target(er, er->rq->cpu, id, target))
		choose_global(er->x, target);
	check_target(er, t, target);
	if (target->q)
		ext_dsq_in(er, target->q, target->id, t, target->q == global ? 0 : flags);
	return target->q;
}

bool ext_consume(struct ext_rq *er, struct ext_dsq *q)
{
	struct rq *rq = er->rq;

	debug_assert_locked(rq);
	while (READ_ONCE(q->nr)) {
		struct rq *src;
		struct task *t;

		host_lock(&q->lock);
		for (t = ext_dsq_after(q, NULL); t; t = ext_dsq_after(q, t))
			if (t->cpu == rq->cpu || may_go(er->x, t, rq->cpu))
				break;
		src = t ? cpu_rq(er->x->s, t->cpu) : NULL;
		if (t)
			ext_hold(er, t);
		host_unlock(&q->lock);
		if (!t)
			return false;
		if (deliver_held(er, t, src, (struct target){ .cpu = rq->cpu }, 0))
			return true;
	}
	return false;
}

/* --- the dispatch buffer -------------------------------------------------- */

static bool is_ext(const struct task *t)
{
	return READ_ONCE(t->class)->rank == CLASS_ext;
}

/* @slot's task is claimed if it waits for its scheduler still, for the same turn. */
static bool claim(const struct ext_slot *slot)
{
	struct ext_task *e = ext_words(slot->t);
	u64 op = slot->op;

	/* enqueue() of another CPU gave it to the scheduler and has not returned yet. */
	while ((op & OP_STATE) == OP_QUEUEING && READ_ONCE(e->op) == op)
		;
	op = (op & ~(u64)OP_STATE) | OP_QUEUED;
	return __atomic_compare_exchange_n(&e->op, &op, OP_DISPATCHING, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static void finish(struct ext_rq *er, const struct ext_slot *slot)
{
	struct task *t = slot->t;
	struct target target;

	debug_assert_locked(er->rq);
	if (!is_ext(t) || !claim(slot))
		return;
	if (goes_to_queue(er, t, slot->dsq, slot->flags, &target))
		return;
	/* Claimed, it is in no queue; as one that is held it gets to its runqueue's lock. */
	ext_part(t)->holding = (u16)(er->rq->cpu + 1);
	WRITE_ONCE(er->held, t);
	struct rq *src = cpu_rq(er->x->s, t->cpu);

	__atomic_store_n(&ext_part(t)->op, OP_NONE, __ATOMIC_RELEASE);
	deliver_held(er, t, src, target, slot->flags);
}

void ext_flush(struct ext_rq *er)
{
	u32 nr = er->nr_slots;

	debug_assert_locked(er->rq);
	er->nr_slots = 0;
	er->nr_dispatched += nr;
	for (u32 i = 0; i < nr; i++)
		finish(er, &er->slot[i]);
}

/* --- inserts -------------------------------------------------------------- */

/*
 * The part of @t that its scheduler sees; NULL: @t has left the class, as it may at any time while
 * another CPU's runqueue has it. The memory stays until this operation ends.
 */
static struct ext_seen *seen_of(struct task *t)
{
	struct ext_seen *seen = __atomic_load_n(&ext_words(t)->seen, __ATOMIC_ACQUIRE);
	bool here = __atomic_load_n(&t->class, __ATOMIC_ACQUIRE)->rank == CLASS_ext;

	/* Before or after @t was here, the word was another class's. */
	return here && READ_ONCE(ext_words(t)->seen) == seen ? seen : NULL;
}

/* From select_cpu or enqueue: it goes there when enqueue is over. */
static void insert_direct(struct ext_call *c, struct task *t, u64 dsq, u64 flags)
{
	struct ext_task *e = ext_part(t);

	if (t != c->t) {
		ext_fault(c->x, c->er, "insert of %s[%d] while the operation is about %s[%d]",
			  t->comm, t->pid, c->t->comm, c->t->pid);
		return;
	}
	if (e->at.direct) {
		ext_fault(c->x, c->er, "%s[%d] is inserted twice", t->comm, t->pid);
		return;
	}
	e->at.direct = true;
	e->direct_dsq = dsq;
	e->direct_flags = flags;
}

static void insert_buffered(struct ext_call *c, struct task *t, u64 dsq, u64 flags)
{
	struct ext_rq *er = c->er;

	if (er->nr_slots == c->x->batch) {
		ext_fault(c->x, er, "dispatch buffer overflow");
		return;
	}
	er->slot[er->nr_slots++] = (struct ext_slot){ t, READ_ONCE(ext_words(t)->op), dsq, flags };
}

static void insert(struct ext_call *c, struct task *t, u64 dsq, u64 flags)
{
	if (c->kind == EXT_SELECT || c->kind == EXT_ENQUEUE)
		insert_direct(c, t, dsq, flags);
	else if (c->kind == EXT_DISPATCH)
		insert_buffered(c, t, dsq, flags);
	else
		ext_fault(c->x, c->er,
			  "insert from an operation that is not select_cpu, "
			  "enqueue or dispatch");
}

/* 0 leaves a task what it has, and at least something. */
static void set_slice(struct ext_seen *seen, u64 slice)
{
	if (slice || !seen->slice)
		seen->slice = slice ?: 1;
}

void ext_insert(struct ext_call *c, struct task *t, u64 dsq, u64 slice, u64 flags)
{
	struct ext_seen *seen = seen_of(t);

	if (!seen)
		return;
	set_slice(seen, slice);
	insert(c, t, dsq, flags);
}

void ext_insert_vtime(struct ext_call *c, struct task *t, u64 dsq, u64 slice, u64 vtime, u64 flags)
{
	struct ext_seen *seen = seen_of(t);

	if (!seen)
		return;
	if (dsq & EXT_DSQ_BUILTIN) {
		ext_fault(c->x, c->er, "cannot use vtime ordering for built-in DSQs");
		return;
	}
	set_slice(seen, slice);
	seen->vtime = vtime;
	insert(c, t, dsq, flags | EXT_ENQ_PRIQ);
}

u32 ext_slots(struct ext_call *c)
{
	return c->kind == EXT_DISPATCH ? c->x->batch - c->er->nr_slots : 0;
}

void ext_cancel(struct ext_call *c)
{
	if (c->kind == EXT_DISPATCH && c->er->nr_slots)
		c->er->nr_slots--;
	else
		ext_fault(c->x, c->er, "nothing inserted that could be cancelled");
}

bool ext_move_to_local(struct ext_call *c, u64 id)
{
	struct ext_dsq *q;

	if (c->kind != EXT_DISPATCH) {
		ext_fault(c->x, c->er, "move to the local DSQ outside dispatch");
		return false;
	}
	ext_flush(c->er);
	q = ext_dsq_find(c->x, id);
	if (!q) {
		ext_fault(c->x, c->er, "invalid DSQ ID 0x%016llx", (unsigned long long)id);
		return false;
	}
	if (!ext_consume(c->er, q))
		return false;
	c->er->nr_dispatched++;
	return true;
}

/* @t has what @how says. */
static void set_moved(struct ext_seen *seen, const struct ext_moved *how)
{
	if (how->slice)
		seen->slice = *how->slice;
	if (how->vtime)
		seen->vtime = *how->vtime;
}

/* ext_move() from dispatch. The runqueue of the caller, @er's, is locked, before and behind it. */
static bool move_inside(struct ext_rq *er, struct ext_dsq *from, struct task *t, u64 dsq, u64 flags,
			const struct ext_moved *how)
{
	struct ext_seen *seen = seen_of(t);
	struct target target;
	struct rq *src;
	bool there;

	if (!seen || !find_target(er, er->rq->cpu, dsq, &target))
		return false;
	check_target(er, t, &target);
	host_lock(&from->lock);
	there = ext_words(t)->dsq == from;
	src = cpu_rq(er->x->s, t->cpu);
	if (there)
		ext_hold(er, t);
	host_unlock(&from->lock);
	if (!there)
		return false;
	set_moved(seen, how);
	if (!deliver_held(er, t, src, target, flags))
		return false;
	er->nr_dispatched++;
	return true;
}

/* ext_move() where no runqueue is locked. Under the lock of its own nobody else takes @t away. */
static bool move_outside(struct ext *x, u32 here, struct ext_dsq *from, struct task *t, u64 dsq,
			 u64 flags, const struct ext_moved *how)
{
	struct rq *rq = task_rq_lock(x->s, t);
	struct ext_rq *er = ext_of(rq);
	bool there = false, leaves = false;
	struct target target;

	if (is_ext(t) && find_target(er, here, dsq, &target)) {
		host_lock(&from->lock);
		there = ext_part(t)->dsq == from;
		if (there)
			ext_dsq_del(t);
		host_unlock(&from->lock);
	}
	if (there) {
		set_moved(ext_part(t)->seen, how);
		check_target(er, t, &target);
		leaves = place_at(er, t, &target, flags);
	}
	rq_unlock(rq);
	if (leaves)
		attach_task(x->s, t);
	return there;
}

bool ext_move(struct ext_call *c, u32 here, struct ext_iter *it, struct task *t, u64 dsq, u64 flags,
	      const struct ext_moved *how)
{
	struct ext_dsq *from = ext_iter_queue(it);

	if (c->kind == EXT_DISPATCH)
		return from && move_inside(c->er, from, t, dsq, flags, how);
	if (c->kind == EXT_OUTSIDE)
		return from && move_outside(c->x, here, from, t, dsq, flags, how);
	ext_fault(c->x, c->er, "a move between DSQs from an operation that is not dispatch");
	return false;
}

/* --- direct dispatch ------------------------------------------------------ */

void ext_direct(struct ext_rq *er, struct task *t, u64 flags)
{
	struct ext_task *e = ext_part(t);
	u64 id = e->direct_dsq;
	struct target target;

	debug_assert_locked(er->rq);
	flags |= e->direct_flags;
	e->at.direct = false;
	if (goes_to_queue(er, t, id, flags, &target))
		return;
	if (target.cpu == er->rq->cpu) {
		ext_local_in(er, t, flags);
		return;
	}
	/* Another CPU's needs that one's lock, too: soon, on this runqueue's CPU. */
	send(er, t, target.cpu, flags);
	e->at.deferred = true;
	list_add_tail(&er->deferred, &e->at.list);
	poke(er->rq);
}

void ext_move_deferred(struct ext_rq *er)
{
	debug_assert_locked(er->rq);
	while (!list_empty(&er->deferred)) {
		struct ext_link *at = list_first(&er->deferred, struct ext_link, list);
		struct task *t = ext_task_of(container_of(at, struct ext_task, at));
		u32 to = (u32)ext_part(t)->sticky - 1;

		list_del(&at->list);
		at->deferred = false;
		if (may_go(er->x, t, to)) {
			hand_over(er->rq, t, to);
		} else {
			ext_part(t)->sticky = 0;
			if (task_allowed(t, to))
				ext_count(er, EXT_EV_DISPATCH_LOCAL_DSQ_OFFLINE);
			ext_global_in(er, t);
		}
	}
}
