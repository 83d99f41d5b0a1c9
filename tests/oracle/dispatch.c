/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The oracle of dispatch (docs/oracles.md). It stands before the operations of the class ext and
 * before those of the scheduler that is loaded, and looks at all dispatch queues whenever one of
 * them begins or ends. What changed since the last look must follow from the contract of sched_ext:
 * it goes by what the scheduler asked for, by its own list of runnable tasks, and by the members of
 * the queues as they lie there. It calls no function of the class to find an answer.
 */
#include "tests/oracle/dispatch.h"

struct docket docket;

/* --- books ------------------------------------------------------------------------------------ */

struct book *book_of(const struct task *t)
{
	for (u32 i = 0; i < docket.nr_books; i++)
		if (docket.book[i].t == t)
			return &docket.book[i];
	return NULL;
}

/* The book of @t, begun if there is none. */
struct book *begin_book(struct task *t)
{
	struct book *b = book_of(t);

	if (b)
		return b;
	JUDGE_URGENT(docket.nr_books < JUDGE_TASKS, "ext: more tasks than there are");
	b = &docket.book[docket.nr_books++];
	*b = (struct book){ .t = t };
	return b;
}

void close_book(const struct task *t)
{
	struct book *b = book_of(t);

	if (b)
		*b = docket.book[--docket.nr_books];
}

/* Virtual time @a - @b. */
static s64 ahead(u64 a, u64 b)
{
	return (s64)(a - b);
}

/* --- looking ---------------------------------------------------------------------------------- */

/* Queue @i: the global one, those of the scheduler, then the local ones. NULL: not in use. */
static struct ext_dsq *queue_at(u32 i)
{
	struct ext *x = docket.x;

	if (!i)
		return &x->global;
	if (i <= x->nr_dsqs)
		return x->dsq[i - 1].used ? &x->dsq[i - 1] : NULL;
	return &x->cpu[i - 1 - x->nr_dsqs].local;
}

static u32 nr_queues(void)
{
	return 1 + docket.x->nr_dsqs + docket.s->nr_cpus;
}

/* The CPU whose local queue is number @i; -1: it is not local. */
static s32 local_cpu(u32 i)
{
	return i > docket.x->nr_dsqs ? (s32)(i - 1 - docket.x->nr_dsqs) : -1;
}

static void read_queue(u32 i, struct seen_queue *now)
{
	const struct ext_dsq *q = queue_at(i);

	now->nr = 0;
	if (!q)
		return;
	for (const struct list *at = q->tasks.next; at != &q->tasks; at = at->next) {
		struct ext_link *link = container_of(at, struct ext_link, list);
		struct ext_task *e = container_of(link, struct ext_task, at);

		if (link->cursor)
			continue;
		JUDGE_URGENT(now->nr < JUDGE_TASKS, "ext: a queue has more tasks than there are");
		now->member[now->nr++] = (struct member){ ext_task_of(e), e->vtime, link->ordered };
	}
	JUDGE_URGENT(now->nr == q->nr, "ext: a queue counts other tasks than it has");
}

static u32 index_in(const struct seen_queue *q, const struct task *t)
{
	u32 i = 0;

	while (i < q->nr && q->member[i].t != t)
		i++;
	return i;
}

static bool is_in(const struct seen_queue *q, const struct task *t)
{
	return index_in(q, t) < q->nr;
}

/* The CPU that took @t off a queue: it holds it, has it, or is just moving it. */
static u32 taker_of(const struct task *t)
{
	for (u32 cpu = 0; cpu < docket.s->nr_cpus; cpu++)
		if (docket.x->cpu[cpu].held == t)
			return cpu;
	return docket.moving == t ? docket.picks : t->cpu;
}

static bool may_take(const struct task *t, u32 cpu)
{
	return t->cpu == cpu || may_use(t, cpu_rq(docket.s, cpu));
}

/* Is @t bound to its CPU: it stands on its stack, or that CPU leaves? */
static bool stays(const struct task *t)
{
	const struct rq *rq = cpu_rq(docket.s, t->cpu);

	return rq->curr == t || !rq->online;
}

static bool is_at_home(const struct task *t)
{
	return may_use(t, cpu_rq(docket.s, t->cpu)) || stays(t);
}

/* Does @ask, by enqueue, leave @t where it is? It may be there while its affinity changes. */
static bool leaves_soon(const struct ask *ask, const struct task *t)
{
	return ask->open && !ask->buffered && ask->cpu == t->cpu;
}

/* --- who came, who went ----------------------------------------------------------------------- */

/* Does @ask name the local queue of @cpu? */
bool is_for(const struct ask *ask, u32 cpu)
{
	if (ask->dsq == EXT_DSQ_LOCAL)
		return ask->cpu == cpu;
	return (ask->dsq & EXT_DSQ_LOCAL_ON) == EXT_DSQ_LOCAL_ON && (u32)ask->dsq == cpu;
}

/* Is queue @i where @ask wants its task, or where the task goes if it may not go there? */
static bool is_wanted(u32 i, const struct ask *ask, const struct task *t)
{
	s32 cpu = local_cpu(i);
	u32 to = ask->dsq == EXT_DSQ_LOCAL ? ask->cpu : (u32)ask->dsq;
	bool local = ask->dsq == EXT_DSQ_LOCAL || (ask->dsq & EXT_DSQ_LOCAL_ON) == EXT_DSQ_LOCAL_ON;

	if (docket.x->ended || docket.x->bypass)
		return true;
	if (local)
		return (cpu >= 0 && is_for(ask, (u32)cpu)) ||
		       (!i && !may_use(t, cpu_rq(docket.s, to)));
	/* It may have been there, and have gone on to the local queue at once. */
	if (cpu >= 0)
		return ask->buffered && (ask->dsq == EXT_DSQ_GLOBAL ||
					 (ask->dsq < 64 && docket.taken[cpu] & BIT(ask->dsq)));
	return queue_at(i)->id == ask->dsq;
}

/* May @t have left queue @i and entered it again, by a walk or as one that stays on its CPU? */
static bool moves_on(const struct task *t, u32 i)
{
	return t == docket.walked ||
	       ((s32)docket.released == local_cpu(i) + 1 && docket.released && stays(t));
}

static void judge_place_in(const struct seen_queue *was, const struct seen_queue *now, u32 i,
			   u32 at, const struct ask *ask)
{
	const struct member *m = &now->member[at];
	bool before = false,
	     behind = false; /* is a task that was there before behind @m, before it */
	bool exact = i && (local_cpu(i) < 0 || is_for(ask, (u32)local_cpu(i)));
	bool head = exact && ask->open && ask->flags & (EXT_ENQ_HEAD | EXT_ENQ_PREEMPT);

	for (u32 n = 0; n < now->nr; n++) {
		bool old = is_in(was, now->member[n].t) && !moves_on(now->member[n].t, i);

		before |= old && n > at;
		behind |= old && n < at;
		if (m->ordered && old && n > at)
			JUDGE_URGENT(ahead(now->member[n].vtime, m->vtime) > 0,
				     "ext: an equal that came later is in front");
	}
	if (m->ordered || is_in(was, m->t))
		return;
	JUDGE_URGENT(!before || !behind, "ext: a task in the middle of a FIFO queue");
	JUDGE_URGENT(!behind || !head, "ext: a task for the head is behind others");
	JUDGE_URGENT(!before || head || !docket.tells || local_cpu(i) >= 0,
		     "ext: a task in front of those that came before");
}

static void judge_arrival(const struct seen_queue *was, const struct seen_queue *now, u32 i, u32 at)
{
	struct task *t = now->member[at].t;
	struct book *b = book_of(t);
	s32 cpu = local_cpu(i);

	JUDGE_URGENT(b && b->queued, "ext: a task in a queue that is not runnable");
	if (b->ask.open) {
		JUDGE_URGENT(is_wanted(i, &b->ask, t), "ext: a task in another queue than asked");
		JUDGE_URGENT(!now->member[at].ordered || now->member[at].vtime == b->ask.vtime,
			     "ext: a task at another vtime than asked");
	} else {
		JUDGE_URGENT(!docket.tells || !i || cpu >= 0, "ext: nobody asked for this insert");
	}
	if (cpu >= 0)
		JUDGE_URGENT(t->cpu == (u32)cpu && (is_at_home(t) || leaves_soon(&b->ask, t)),
			     "ext: a task in the local queue of a CPU that it may not use");
	judge_place_in(was, now, i, at, &b->ask);
	b->ask.open = b->given = false;
}

/* @was[@at] has gone: it left, a walk took it, or a CPU did, as the first that it may run. */
static void judge_departure(const struct seen_queue *was, const struct seen_queue *now, u32 i,
			    u32 at)
{
	const struct task *t = was->member[at].t;
	u32 cpu;

	if (t == docket.leaving || t == docket.walked || local_cpu(i) >= 0)
		return;
	cpu = taker_of(t);
	for (u32 n = 0; n < at; n++)
		JUDGE_URGENT(!is_in(now, was->member[n].t) || !may_take(was->member[n].t, cpu),
			     "ext: a task is taken that is not the first");
}

static void judge_queue(const struct seen_queue *was, const struct seen_queue *now, u32 i)
{
	u32 next = 0;

	for (u32 n = 0; n < now->nr; n++) {
		u32 old = index_in(was, now->member[n].t);

		if (n && now->member[n].ordered && now->member[n - 1].ordered)
			JUDGE_URGENT(ahead(now->member[n].vtime, now->member[n - 1].vtime) >= 0,
				     "ext: a queue is not in order of vtime");
		if (old == was->nr || book_of(now->member[n].t)->ask.open) {
			judge_arrival(was, now, i, n);
			continue;
		}
		if (moves_on(now->member[n].t, i))
			continue;
		JUDGE_URGENT(old >= next, "ext: two tasks of a queue changed places");
		next = old + 1;
	}
	for (u32 n = 0; n < was->nr; n++)
		if (!is_in(now, was->member[n].t))
			judge_departure(was, now, i, n);
}

/* --- slices ----------------------------------------------------------------------------------- */

/* @b's slice shrinks by the time that its task ran, to 0. Others may end it, or begin a new one. */
static void judge_slice(struct book *b)
{
	const struct ext_seen *seen = part_of(b->t);
	u64 ran, right;

	if (!seen)
		return;
	ran = b->t->fair.sum_exec - b->ran;
	right = b->slice == EXT_SLICE_INFINITE ? b->slice : b->slice - min(b->slice, ran);
	if (!docket.depth && !docket.x->bypass)
		JUDGE_URGENT(seen->slice == right || !seen->slice || b->ask.open ||
				     seen->slice == EXT_SLICE_DEFAULT,
			     "ext: slice");
	b->slice = seen->slice;
	b->ran = b->t->fair.sum_exec;
}

/* --- kicks ------------------------------------------------------------------------------------ */

/* A CPU goes on, in place of waiting, once the other has chosen or runs nothing of the class. */
static void judge_waits(void)
{
	const struct ext *x = docket.x;

	for (u32 i = 0; docket.nr_waits && i < docket.s->nr_cpus * docket.s->nr_cpus; i++) {
		u32 here = i / docket.s->nr_cpus, cpu = i % docket.s->nr_cpus;
		struct kick_wait *w = &docket.wait[here][cpu];

		if (!w->open || x->cpu[here].how[cpu] ||
		    (x->cpu[here].waits && cpumask_test(&x->cpu[here].awaited, cpu)))
			continue;
		w->open = false;
		docket.nr_waits--;
		JUDGE_URGENT(x->bypass || docket.chosen[cpu] != w->chosen || !x->cpu[cpu].curr,
			     "ext: a CPU goes on before one that it kicked has chosen");
	}
}

/* Looks at everything, and judges what is new. */
void look(void)
{
	static struct seen_queue now;

	if (!docket.x)
		return;
	judge_waits();
	for (u32 i = 0; i < nr_queues(); i++) {
		read_queue(i, &now);
		judge_queue(&docket.queue[i], &now, i);
		docket.queue[i].nr = now.nr;
		__builtin_memcpy(docket.queue[i].member, now.member,
				 now.nr * sizeof(now.member[0]));
	}
	for (u32 i = 0; i < docket.nr_books; i++) {
		if (!docket.book[i].queued)
			continue;
		judge_slice(&docket.book[i]);
		if (((struct ext_task *)docket.book[i].t->class_state)->holding)
			docket.book[i].given = false; /* a CPU took it, and moves it */
	}
}

/* Is there a task in the global queue that @cpu may run? */
bool global_has(u32 cpu)
{
	for (u32 i = 0; i < docket.queue[0].nr; i++)
		if (may_take(docket.queue[0].member[i].t, cpu))
			return true;
	return false;
}

const struct seen_queue *local_of(u32 cpu)
{
	return &docket.queue[1 + docket.x->nr_dsqs + cpu];
}

/* --- coming, going, and between operations ---------------------------------------------------- */

void open_docket(struct ext *x)
{
	docket.s = x->s;
	docket.x = x;
	JUDGE_URGENT(nr_queues() <= QUEUES_MAX, "ext: too many queues");
	docket.leaving = docket.walked = docket.moving = NULL;
	docket.released = 0;
	docket.nr_books = docket.depth = docket.seq = docket.nr_waits = 0;
	__builtin_memset(docket.wait, 0, sizeof(docket.wait));
	for (u32 i = 0; i < nr_queues(); i++)
		docket.queue[i].nr = 0;
}

void judge_unloaded(void)
{
	docket.x = NULL;
}

/* In how many places @t waits, or runs. */
static u32 nr_places(const struct book *b)
{
	const struct task *t = b->t;
	u32 nr = b->given + (docket.x->cpu[t->cpu].curr == t);

	for (u32 i = 0; i < nr_queues(); i++)
		nr += is_in(&docket.queue[i], t);
	for (u32 cpu = 0; cpu < docket.s->nr_cpus; cpu++) {
		const struct list *deferred = &docket.x->cpu[cpu].deferred;

		for (const struct list *at = deferred->next; at != deferred; at = at->next)
			nr += at == &((const struct ext_task *)t->class_state)->at.list;
	}
	return nr;
}

void judge_dispatch(const struct sched *s)
{
	u32 nr = 0;

	if (!docket.x || docket.s != s)
		return;
	look();
	for (u32 cpu = 0; cpu < s->nr_cpus; cpu++) {
		JUDGE_URGENT(!docket.x->cpu[cpu].held, "ext: a CPU holds a task, and moves none");
		for (u32 n = 0; n < local_of(cpu)->nr; n++)
			JUDGE_URGENT(is_at_home(local_of(cpu)->member[n].t),
				     "ext: a task waits on a CPU that it may not use");
		nr += docket.x->cpu[cpu].nr_queued;
	}
	for (u32 i = 0; i < docket.nr_books; i++) {
		const struct book *b = &docket.book[i];

		if (!b->queued)
			continue;
		nr--;
		JUDGE_URGENT(docket.x->bypass || nr_places(b) == 1,
			     "ext: a runnable task is not in exactly one place");
		JUDGE_URGENT(docket.x->bypass || b->runs == (docket.x->cpu[b->t->cpu].curr == b->t),
			     "ext: the scheduler was not told who runs");
	}
	JUDGE_URGENT(!nr, "ext: a runnable task is unknown");
}
