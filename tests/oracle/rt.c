/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The right decisions of SCHED_FIFO and SCHED_RR (docs/oracles.md). The queue of a CPU is an array
 * by priority, and by arrival among equals. POSIX: a task that becomes runnable goes behind its
 * equals. If its priority is raised it goes behind its new equals, lowered before them, unchanged
 * it keeps its place; so does a task that is preempted. A yield and the end of a slice send it
 * behind. The class keeps lists and a bitmap.
 */
#include "sched/fair/core/policy.h"
#include "sched/rt/rt.h"
#include "tests/oracle/urgent.h"

static struct model *model_of(const struct rq *rq)
{
	return &court_of(rq->s)->rt[rq->cpu];
}

/* --- the queue -------------------------------------------------------------------------------- */

/* The lists must hold what the model holds, in its order. */
static void compare(struct rq *rq)
{
	const struct model *m = model_of(rq);
	u32 nr = 0;

	for (unsigned prio = 0; prio < MAX_RT_PRIO; prio++) {
		const struct list *list = &rt_seen(rq)->list[prio];

		for (struct list *link = list->next; link != list; link = link->next, nr++)
			JUDGE_URGENT(nr < m->nr && m->place[nr].t == rt_task_of(link) &&
					     m->place[nr].prio == (int)prio,
				     "rt: a task is not where it belongs");
	}
	JUDGE_URGENT(nr == m->nr, "rt: a task that should be queued is not");
}

/* Where @prio begins, and where it ends. */
static u32 head_of(const struct model *m, int prio)
{
	u32 i = 0;

	while (i < m->nr && m->place[i].prio < prio)
		i++;
	return i;
}

static u32 tail_of(const struct model *m, int prio)
{
	return head_of(m, prio + 1);
}

static void put_behind(struct model *m, struct task *t)
{
	model_remove(m, t);
	model_insert(m, tail_of(m, t->prio), t);
}

/* --- throttling ------------------------------------------------------------------------------- */

struct share {
	bool limited, throttled;
	u64 runtime, period, used, end;
};

static struct share share_of(const struct rq *rq)
{
	const struct tunables *tn = &rq->s->tunable;
	const struct rt_queue *rt = rt_seen(rq);

	return (struct share){
		.limited = !(rq->fair.policy->traits & BIT(TRAIT_FAIR_SERVER)) &&
			   tn->rt_runtime_us > 0 && (u32)tn->rt_runtime_us < tn->rt_period_us,
		.runtime = (u64)tn->rt_runtime_us * 1000,
		.period = tn->rt_period_us * 1000ull,
		.throttled = rt->throttled,
		.used = rt->used_ns,
		.end = rt->period_end,
	};
}

/* The running task, if it is of this class, is charged for its time since it was charged last. */
static void run(struct share *share, const struct rq *rq)
{
	s64 ns = (s64)(rq->clock - rq->curr->fair.exec_start);

	if (!share->end || rq->curr->class->rank != CLASS_rt)
		return;
	share->used += ns > 0 ? (u64)ns : 0;
	share->throttled |= share->limited && share->used > share->runtime;
}

static void compare_share(const struct rq *rq, const struct share *right)
{
	struct share now = share_of(rq);

	JUDGE_URGENT(now.used == right->used, "rt: it ran for another time in this period");
	JUDGE_URGENT(now.throttled == right->throttled, "rt: throttled");
	JUDGE_URGENT(now.end == right->end, "rt: the period ends at another time");
}

static void judge_charge(struct rq *rq)
{
	struct share share = share_of(rq);

	run(&share, rq);
	court_of(rq->s)->nr_calls++;
	own_rt(rq)->charge(rq);
	compare_share(rq, &share);
}

/* Each period that ended grants its share once; a debt lasts, credit does not. */
static void judge_timer(struct rq *rq)
{
	struct share share = share_of(rq);
	u64 nr = 0;

	if (share.end && (s64)(rq->clock - share.end) >= 0) {
		run(&share, rq);
		nr = (rq->clock - share.end) / share.period + 1;
		share.end += nr * share.period;
		if (!share.limited || (unsigned __int128)nr * share.runtime >= share.used)
			share.used = 0;
		else
			share.used -= nr * share.runtime;
		if (!share.limited || share.used < share.runtime)
			share.throttled = false;
		if (!share.used && !model_of(rq)->nr)
			share.end = 0;
	}
	court_of(rq->s)->nr_calls++;
	own_rt(rq)->notice(rq, NOTICE_TIMER);
	compare_share(rq, &share);
}

static void judge_notice(struct rq *rq, enum class_notice notice)
{
	if (notice == NOTICE_TIMER)
		judge_timer(rq);
	else
		own_rt(rq)->notice(rq, notice);
}

/* --- slices ----------------------------------------------------------------------------------- */

static u32 full_slice(const struct sched *s)
{
	u64 ms = s->tunable.rr_timeslice_ms, ticks = ms * s->hz / 1000;

	return (u32)ticks + (ticks * 1000 < ms * s->hz);
}

static u32 *slice_of(const struct sched *s, struct task *t)
{
	struct court *court = court_of(s);

	for (u32 i = 0; i < court->nr_slices; i++)
		if (court->slice[i].t == t)
			return &court->slice[i].ticks;
	JUDGE_URGENT(court->nr_slices < JUDGE_TASKS, "there are more tasks than there can be");
	court->slice[court->nr_slices].t = t;
	return &court->slice[court->nr_slices++].ticks;
}

/* A new task starts, some time after it was made, or one comes from another class: a full slice. */
static void judge_join(struct rq *rq, struct task *t, bool runnable)
{
	*slice_of(rq->s, t) = full_slice(rq->s);
	own_rt(rq)->params.join(rq, t, runnable);
}

static void judge_quit(struct rq *rq, struct task *t, bool runnable)
{
	struct court *court = court_of(rq->s);

	for (u32 i = 0; i < court->nr_slices; i++)
		if (court->slice[i].t == t)
			court->slice[i] = court->slice[--court->nr_slices];
	own_rt(rq)->params.quit(rq, t, runnable);
}

static void judge_tick(struct rq *rq, struct task *t)
{
	struct model *m = model_of(rq);
	struct share share = share_of(rq);
	u32 *left = slice_of(rq->s, t);
	bool over = t->policy == SCHED_RR && !--*left;

	run(&share, rq);
	if (!share.end && share.limited && rq->online)
		share.end = rq->clock + share.period;
	court_of(rq->s)->nr_calls++;
	own_rt(rq)->tick(rq, t);
	compare_share(rq, &share);
	if (over) {
		*left = full_slice(rq->s);
		if (tail_of(m, t->prio) - head_of(m, t->prio) > 1) {
			put_behind(m, t);
			JUDGE_URGENT(rq->need_resched, "rt: a slice ends without a switch");
		}
	}
	JUDGE_URGENT(rt_part(t)->time_slice == *left, "rt: another slice is left");
	compare(rq);
}

/* --- in and out ------------------------------------------------------------------------------- */

static void judge_enqueue(struct rq *rq, struct task *t, unsigned flags)
{
	struct parted *parted = &court_of(rq->s)->parted;
	struct model *m = model_of(rq);
	bool changed = (flags & QUEUE_RESTORE) && parted->t == t;

	court_of(rq->s)->nr_calls++;
	if (flags & ENQUEUE_INITIAL)
		*slice_of(rq->s, t) = full_slice(rq->s);
	own_rt(rq)->enqueue(rq, t, flags);
	if (!changed || !parted->kept) {
		JUDGE_URGENT(model_index(m, t) == m->nr, "rt: a task enters twice");
		model_insert(m,
			     changed && parted->prio < t->prio ? head_of(m, t->prio)
							       : tail_of(m, t->prio),
			     t);
	}
	parted->t = NULL;
	compare(rq);
}

static bool judge_dequeue(struct rq *rq, struct task *t, unsigned flags)
{
	struct share share = share_of(rq);
	struct parted *parted = &court_of(rq->s)->parted;
	bool left;

	if (rq->curr == t)
		run(&share, rq);
	court_of(rq->s)->nr_calls++;
	left = own_rt(rq)->dequeue(rq, t, flags);
	compare_share(rq, &share);
	if (flags & QUEUE_SAVE)
		*parted = (struct parted){ t, t->prio, !(flags & QUEUE_MOVE) };
	if (!(flags & QUEUE_SAVE) || !parted->kept)
		model_remove(model_of(rq), t);
	compare(rq);
	return left;
}

static void judge_yield(struct rq *rq)
{
	court_of(rq->s)->nr_calls++;
	own_rt(rq)->yield(rq);
	put_behind(model_of(rq), rq->curr);
	compare(rq);
}

/* --- choosing --------------------------------------------------------------------------------- */

static struct task *judge_pick(struct rq *rq)
{
	const struct model *m = model_of(rq);
	struct task *t;

	compare(rq);
	court_of(rq->s)->nr_calls++;
	t = own_rt(rq)->pick(rq);
	JUDGE_URGENT(!rt_seen(rq)->throttled, "rt: picked though throttled");
	JUDGE_URGENT(m->nr && t == m->place[0].t, "rt: pick");
	return t;
}

/* How urgent the work of a CPU is: a priority, 100 for fair tasks, 101 for none, -1 above all. */
static int level(const struct rq *rq)
{
	const struct model *m = model_of(rq);

	if (rq->active & (BIT(CLASS_rt) - 1))
		return -1;
	if (m->nr && !rt_seen(rq)->throttled)
		return m->place[0].prio;
	return rq->nr_running ? MAX_RT_PRIO : MAX_RT_PRIO + 1;
}

/* The CPUs where @t of @from would do most good, a bit for each: with the least urgent work. */
static u64 best_cpus(const struct rq *from, const struct task *t)
{
	struct sched *s = from->s;
	int most = t->prio;
	u64 best = 0;

	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++) {
		const struct rq *rq = s->rq_of[cpu];

		if (!may_move(t, from, rq) || level(rq) < most || (level(rq) == most && !best))
			continue;
		best = level(rq) > most ? BIT(cpu) : best | BIT(cpu);
		most = level(rq);
	}
	return best;
}

static bool judge_preempts(struct rq *rq, struct task *woken, unsigned flags)
{
	const struct task *curr = rq->curr;
	bool elsewhere = best_cpus(rq, woken);
	bool room = !elsewhere && woken->prio == curr->prio && best_cpus(rq, curr);
	bool yes = own_rt(rq)->preempts(rq, woken, flags);

	JUDGE_URGENT(yes == (woken->prio < curr->prio || elsewhere || room), "rt: preempts");
	if (woken->prio == curr->prio && room) {
		struct model *m = model_of(rq);

		model_remove(m, woken);
		model_insert(m, head_of(m, woken->prio), woken);
	}
	compare(rq);
	return yes;
}

/* --- other CPUs ------------------------------------------------------------------------------- */

static unsigned judge_select(struct rq *rq, struct task *t, unsigned cpu, unsigned reason)
{
	const struct task *curr = rq->curr;
	u32 last = rq->s->rq_of[cpu]->taken_last;
	u64 best = best_cpus(rq, t);
	unsigned from = t->cpu, to = own_rt(rq)->smp.select_cpu(rq, t, cpu, reason);

	JUDGE_URGENT(may_use(t, rq->s->rq_of[to]), "rt: a CPU that it may not use");
	if (!rq->online) {
		JUDGE_URGENT(!best || is_in_turn(rq, best, cpu, last, to),
			     "rt: not the least urgent CPU");
		return to;
	}
	if (!may_use(t, rq))
		return to;
	if (!(reason & (SELECT_WAKE | SELECT_FORK)) || curr->class->rank > CLASS_rt || !best ||
	    (curr->prio > t->prio && can_move(curr)))
		JUDGE_URGENT(to == from, "rt: it should have stayed");
	else
		JUDGE_URGENT(is_in_turn(rq, best, cpu, last, to), "rt: not the least urgent CPU");
	return to;
}

/* The first that waits and could run elsewhere, or on @there if that is not NULL. */
static struct task *first_that_waits(const struct rq *rq, const struct rq *there)
{
	const struct model *m = model_of(rq);

	for (u32 i = 0; i < m->nr; i++)
		if (m->place[i].t != rq->curr && can_move(m->place[i].t) &&
		    (!there || may_move(m->place[i].t, rq, there)))
			return m->place[i].t;
	return NULL;
}

static void judge_push(struct rq *rq)
{
	struct task *t = rt_seen(rq)->throttled ? NULL : first_that_waits(rq, NULL);
	u64 best = t ? best_cpus(rq, t) : 0;
	u32 nr = model_of(rq)->nr, last = rq->taken_last;

	own_rt(rq)->smp.push(rq);
	JUDGE_URGENT(model_of(rq)->nr == nr - !!best, "rt: pushes");
	if (best) {
		JUDGE_URGENT(t->on_rq == TASK_MIGRATING, "rt: pushes another task");
		JUDGE_URGENT(is_in_turn(rq, best, rq->cpu, last, t->cpu),
			     "rt: pushes to another CPU");
	}
	compare(rq);
}

/*
 * Afterwards nobody waits elsewhere who is more urgent than all here. A CPU that is about to switch
 * pushes at the end of that.
 */
static void judge_pull(struct rq *rq, struct task *prev)
{
	bool pulls = level(rq) > prev->prio && !rt_seen(rq)->throttled && rq->online;
	const u32 *calls = &court_of(rq->s)->nr_calls, nr = model_of(rq)->nr, before = *calls;

	own_rt(rq)->smp.pull(rq, prev);
	compare(rq);
	/* Something else happened while the lock was dropped: somebody may have come since. */
	if (*calls - before != 2 * (model_of(rq)->nr - nr))
		return;
	for (unsigned cpu = 0; pulls && cpu < rq->s->nr_cpus; cpu++) {
		const struct rq *src = rq->s->rq_of[cpu];
		const struct task *t = first_that_waits(src, rq);

		if (src != rq && t && !rt_seen(src)->throttled)
			JUDGE_URGENT(t->prio >= level(rq) || src->need_resched || src->pulling,
				     "rt: leaves behind what is more urgent");
	}
}

void judge_rt(struct sched_class *c)
{
	c->charge = judge_charge;
	c->notice = judge_notice;
	c->params.join = judge_join;
	c->params.quit = judge_quit;
	c->tick = judge_tick;
	c->enqueue = judge_enqueue;
	c->dequeue = judge_dequeue;
	c->yield = judge_yield;
	c->pick = judge_pick;
	c->preempts = judge_preempts;
	c->smp.select_cpu = judge_select;
	c->smp.push = judge_push;
	c->smp.pull = judge_pull;
}
