/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Dispatch queues: first in, first out, or in order of vtime, equals as they came. Walks keep their
 * place by a member of the list that is no task. The table of queues is a hash of their numbers.
 *
 * Lock: the queue's; a local queue has its runqueue's. See PROTOCOL: holding in ext.h.
 */
#include "sched/ext/ext.h"
#include "lib/errno.h"

void ext_dsq_init(struct ext_dsq *q, u64 id)
{
	q->lock.rank = HOST_RANK_LEAF;
	q->id = id;
	list_init(&q->tasks);
	q->order = (struct rb_tree){ .root = NULL };
	q->nr = q->seq = 0;
	q->local = id == EXT_DSQ_LOCAL;
}

/* --- members -------------------------------------------------------------- */

static struct ext_task *of_link(struct list *list)
{
	return container_of(container_of(list, struct ext_link, list), struct ext_task, at);
}

static bool vtime_before(const struct rb_node *a, const struct rb_node *b)
{
	const struct ext_task *x = container_of(a, struct ext_task, node);
	const struct ext_task *y = container_of(b, struct ext_task, node);

	return time_before(x->vtime, y->vtime);
}

/* @e enters the tree, and the list behind the one before it there. */
static void add_ordered(struct ext_dsq *q, struct ext_task *e)
{
	struct rb_node *before;

	e->vtime = e->seen->vtime;
	rb_insert(&q->order, &e->node, vtime_before);
	e->at.ordered = true;
	before = rb_prev(&e->node);
	list_add_head(before ? &container_of(before, struct ext_task, node)->at.list : &q->tasks,
		      &e->at.list);
}

void ext_dsq_add(struct ext_dsq *q, struct task *t, u64 flags)
{
	struct ext_task *e = ext_part(t);

	SCHED_DEBUG_ASSERT(!e->dsq && !e->holding && !e->at.deferred && !e->at.cursor);
	if (flags & EXT_ENQ_PRIQ)
		add_ordered(q, e);
	else if (flags & (EXT_ENQ_HEAD | EXT_ENQ_PREEMPT))
		list_add_head(&q->tasks, &e->at.list);
	else
		list_add_tail(&q->tasks, &e->at.list);
	q->nr++;
	e->seq = ++q->seq;
	WRITE_ONCE(e->dsq, q);
}

/* Is @t to be in another kind of order than the tasks that wait in @q? */
static bool mixes_orders(const struct ext_dsq *q, u64 flags)
{
	return q->nr && !rb_is_empty(&q->order) == !(flags & EXT_ENQ_PRIQ);
}

void ext_dsq_in(struct ext_rq *er, struct ext_dsq *q, u64 id, struct task *t, u64 flags)
{
	bool mixed;

	host_lock(&q->lock);
	if (unlikely(q->id != id)) {
		host_unlock(&q->lock);
		ext_fault(er->x, er, "DSQ 0x%llx is destroyed as %s[%d] is inserted",
			  (unsigned long long)id, t->comm, t->pid);
		ext_global_in(er, t);
		return;
	}
	mixed = mixes_orders(q, flags);
	ext_dsq_add(q, t, flags);
	__atomic_store_n(&ext_part(t)->op, OP_NONE, __ATOMIC_RELEASE);
	host_unlock(&q->lock);
	if (unlikely(mixed))
		ext_fault(er->x, er, "DSQ 0x%llx has tasks in both orders, FIFO and vtime",
			  (unsigned long long)id);
}

void ext_global_in(struct ext_rq *er, struct task *t)
{
	ext_dsq_in(er, &er->x->global, EXT_DSQ_GLOBAL, t, 0);
}

void ext_dsq_del(struct task *t)
{
	struct ext_task *e = ext_part(t);
	struct ext_dsq *q = e->dsq;

	SCHED_DEBUG_ASSERT(q->nr > 0 && (q->local || host_lock_held(&q->lock)));
	list_del(&e->at.list);
	if (e->at.ordered)
		rb_erase(&q->order, &e->node);
	e->at.ordered = false;
	q->nr--;
	__atomic_store_n(&e->dsq, NULL, __ATOMIC_RELEASE);
}

/* The first task from the member @list of @q on; backwards with @reverse. */
static struct task *task_from(struct ext_dsq *q, struct list *list, bool reverse)
{
	for (; list != &q->tasks; list = reverse ? list->prev : list->next)
		if (!container_of(list, struct ext_link, list)->cursor)
			return ext_task_of(of_link(list));
	return NULL;
}

struct task *ext_dsq_after(struct ext_dsq *q, struct task *after)
{
	return task_from(q, after ? ext_part(after)->at.list.next : q->tasks.next, false);
}

void ext_hold(struct ext_rq *er, struct task *t)
{
	SCHED_DEBUG_ASSERT(!er->held);
	/* Before it leaves: who finds it in no queue finds the holder. */
	ext_part(t)->holding = (u16)(er->rq->cpu + 1);
	WRITE_ONCE(er->held, t);
	ext_dsq_del(t);
}

void ext_withdraw(struct ext_rq *er, struct task *t)
{
	struct ext_task *e = ext_part(t);
	struct ext_dsq *q = __atomic_load_n(&e->dsq, __ATOMIC_ACQUIRE);

	debug_assert_locked(er->rq);
	if (q && q->local) {
		ext_dsq_del(t);
		count_running(er->rq, -1);
		return;
	}
	if (q) {
		host_lock(&q->lock);
		if (e->dsq)
			ext_dsq_del(t);
		host_unlock(&q->lock);
	}
	if (e->at.deferred)
		list_del(&e->at.list);
	e->at.deferred = false;
	if (e->holding)
		WRITE_ONCE(er->x->cpu[e->holding - 1].held, NULL);
	e->holding = 0;
}

/*
 * --- the table ------------------------------------------------------------
 *
 * PROTOCOL: queues that go. Whoever finds a queue holds no lock when it goes there, and the queue
 * may be destroyed meanwhile, or be another one by then. So its number changes under its own lock,
 * and an insert or a walk looks at the number again under that. Memory of a queue that is destroyed
 * is free for another one when no walk is in it any more.
 */

static struct ext_dsq **bucket_of(struct ext *x, u64 id)
{
	return &x->bucket[(id ^ id >> 32) * 0x9e3779b1u >> 16 & (EXT_BUCKETS - 1)];
}

static struct ext_dsq *find_in(struct ext_dsq *q, u64 id)
{
	while (q && q->id != id)
		q = q->next;
	return q;
}

struct ext_dsq *ext_dsq_find(struct ext *x, u64 id)
{
	struct ext_dsq *q;

	if (id == EXT_DSQ_GLOBAL)
		return &x->global;
	if (id & EXT_DSQ_BUILTIN)
		return NULL;
	host_lock(&x->lock);
	q = find_in(*bucket_of(x, id), id);
	host_unlock(&x->lock);
	return q;
}

/* Memory for a queue, which is the caller's from now on; NULL: there is none. */
static struct ext_dsq *take_free(struct ext *x)
{
	struct ext_dsq *q = NULL;

	host_lock(&x->lock);
	for (u32 i = 0; i < x->nr_dsqs && !q; i++)
		if (!x->dsq[i].used)
			q = &x->dsq[i];
	if (q)
		q->used = true;
	host_unlock(&x->lock);
	return q;
}

static void give_free(struct ext *x, struct ext_dsq *q)
{
	host_lock(&x->lock);
	q->used = false;
	host_unlock(&x->lock);
}

/* False: there is one of its number. */
static bool add_to_table(struct ext *x, struct ext_dsq *q)
{
	struct ext_dsq **bucket = bucket_of(x, q->id);
	bool is_new;

	host_lock(&x->lock);
	is_new = !find_in(*bucket, q->id);
	if (is_new) {
		q->next = *bucket;
		*bucket = q;
	}
	host_unlock(&x->lock);
	return is_new;
}

static struct ext_dsq *take_from_table(struct ext *x, u64 id)
{
	struct ext_dsq **at = bucket_of(x, id), *q;

	host_lock(&x->lock);
	while (*at && (*at)->id != id)
		at = &(*at)->next;
	q = *at;
	if (q)
		*at = q->next;
	host_unlock(&x->lock);
	return q;
}

static void set_number(struct ext_dsq *q, u64 id)
{
	host_lock(&q->lock);
	q->id = id;
	host_unlock(&q->lock);
}

int ext_create_dsq(struct ext_call *c, u64 id)
{
	struct ext_dsq *q;

	if (id & EXT_DSQ_BUILTIN)
		return -EINVAL;
	if (ext_dsq_find(c->x, id))
		return -EEXIST;
	q = take_free(c->x);
	if (!q)
		return -ENOMEM;
	set_number(q, id);
	if (add_to_table(c->x, q))
		return 0;
	set_number(q, EXT_DSQ_INVALID);
	give_free(c->x, q);
	return -EEXIST;
}

void ext_destroy_dsq(struct ext_call *c, u64 id)
{
	struct ext_dsq *q = id & EXT_DSQ_BUILTIN ? NULL : take_from_table(c->x, id);
	bool busy, walked;

	if (!q)
		return;
	host_lock(&q->lock);
	busy = q->nr;
	if (!busy)
		q->id = EXT_DSQ_INVALID;
	walked = !list_empty(&q->tasks);
	host_unlock(&q->lock);
	if (busy)
		ext_fault(c->x, c->er, "attempting to destroy the DSQ 0x%llx, in which tasks wait",
			  (unsigned long long)id);
	else if (!walked)
		give_free(c->x, q);
}

s32 ext_dsq_nr(struct ext_call *c, u64 id)
{
	struct ext_dsq *q;

	if (id == EXT_DSQ_LOCAL && c->er)
		return (s32)READ_ONCE(c->er->local.nr);
	if ((id & EXT_DSQ_LOCAL_ON) == EXT_DSQ_LOCAL_ON)
		return (u32)id < c->x->s->nr_cpus ? (s32)READ_ONCE(c->x->cpu[(u32)id].local.nr)
						  : -ENOENT;
	q = ext_dsq_find(c->x, id);
	return q ? (s32)READ_ONCE(q->nr) : -ENOENT;
}

struct task *ext_peek(struct ext_call *c, u64 id)
{
	struct ext_dsq *q = id & EXT_DSQ_BUILTIN ? NULL : ext_dsq_find(c->x, id);
	struct task *t;

	if (!q || !READ_ONCE(q->nr))
		return NULL;
	host_lock(&q->lock);
	t = ext_dsq_after(q, NULL);
	host_unlock(&q->lock);
	return t;
}

/* --- walks ---------------------------------------------------------------- */

struct walk {
	struct ext_link at;
	struct ext_dsq *q;
	u32 seq;
	bool reverse;
};
_Static_assert(sizeof(struct walk) <= sizeof(struct ext_iter), "a host has room for less");

int ext_iter_begin(struct ext_call *c, struct ext_iter *it, u64 id, u64 flags)
{
	struct walk *w = (struct walk *)it;
	struct ext_dsq *q;

	*w = (struct walk){ .at.cursor = true, .reverse = flags & EXT_ITER_REVERSE };
	q = id & EXT_DSQ_BUILTIN ? NULL : ext_dsq_find(c->x, id);
	if (!q)
		return -ENOENT;
	host_lock(&q->lock);
	if (q->id == id) {
		w->q = q;
		w->seq = q->seq;
		if (w->reverse)
			list_add_tail(&q->tasks, &w->at.list);
		else
			list_add_head(&q->tasks, &w->at.list);
	}
	host_unlock(&q->lock);
	return w->q ? 0 : -ENOENT;
}

/* Did @t enter the queue of @w after the walk began? */
static bool is_newer(const struct walk *w, struct task *t)
{
	return (s32)(ext_part(t)->seq - w->seq) > 0;
}

struct task *ext_iter_next(struct ext_call *c, struct ext_iter *it)
{
	struct walk *w = (struct walk *)it;
	struct list *list;
	struct task *t;

	(void)c;
	if (!w->q)
		return NULL;
	host_lock(&w->q->lock);
	list = w->reverse ? w->at.list.prev : w->at.list.next;
	while ((t = task_from(w->q, list, w->reverse)) && is_newer(w, t))
		list = w->reverse ? ext_part(t)->at.list.prev : ext_part(t)->at.list.next;
	if (t) {
		struct list *of_t = &ext_part(t)->at.list;

		list_del(&w->at.list);
		list_insert_between(&w->at.list, w->reverse ? of_t->prev : of_t,
				    w->reverse ? of_t : of_t->next);
	}
	host_unlock(&w->q->lock);
	return t;
}

void ext_iter_end(struct ext_call *c, struct ext_iter *it)
{
	struct walk *w = (struct walk *)it;
	struct ext_dsq *q = w->q;
	bool last;

	if (!q)
		return;
	host_lock(&q->lock);
	list_del(&w->at.list);
	last = q->id == EXT_DSQ_INVALID && list_empty(&q->tasks);
	host_unlock(&q->lock);
	if (last)
		give_free(c->x, q);
	w->q = NULL;
}

struct ext_dsq *ext_iter_queue(struct ext_iter *it)
{
	return ((struct walk *)it)->q;
}
