/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The right decisions of SCHED_DEADLINE (docs/oracles.md). Of the tasks with budget left the one
 * with the earliest deadline runs, found by looking at all. Deadlines and budgets are those of the
 * constant bandwidth server (Abeni and Buttazzo 1998; Abeni et al. 2015 where the deadline is
 * shorter than the period), with exact products, period by period. Admission adds up all tasks.
 * The fair server is one more (server.c).
 */
#include "lib/errno.h"
#include "sched/dl/dl.h"
#include "sched/fair/core/policy.h"
#include "tests/oracle/cbs.h"
#include "tests/oracle/urgent.h"

static struct model *model_of(const struct rq *rq)
{
	return &court_of(rq->s)->dl[rq->cpu];
}

/* --- one task ------------------------------------------------------------------------------- */

static void run(struct dl_task *d, u64 ns, u64 now)
{
	d->budget_ns -= (s64)ns;
	if (d->queued && !d->throttled && d->budget_ns <= 0)
		exhaust(d, now);
}

static void compare_task(const struct task *t, const struct dl_task *right)
{
	const struct dl_task *now = dl_part_seen(t);

	JUDGE_URGENT(now->throttled == right->throttled, "dl: throttled");
	JUDGE_URGENT(now->budget_ns == right->budget_ns, "dl: budget");
	JUDGE_URGENT(now->deadline == right->deadline, "dl: deadline");
	JUDGE_URGENT(!now->throttled || now->replenish_at == right->replenish_at,
		     "dl: the end of throttling");
}

/* --- the queue -------------------------------------------------------------------------------- */

static u32 count_in(const struct model *m, const struct rb_node *node, bool throttled)
{
	const struct task *t;

	if (!node)
		return 0;
	t = dl_task_of((struct rb_node *)node);
	JUDGE_URGENT(model_index(m, t) < m->nr, "dl: a task is queued that should not be");
	JUDGE_URGENT(dl_part_seen(t)->throttled == throttled, "dl: a task is in the other tree");
	return count_in(m, node->left, throttled) + count_in(m, node->right, throttled) + 1;
}

/* The trees must hold what the model holds. */
static void compare(struct rq *rq)
{
	const struct model *m = model_of(rq);
	const struct dl_rq *dl = dl_seen(rq);

	JUDGE_URGENT(m->nr == count_in(m, dl->ready.root, false) +
				      count_in(m, dl->throttled.root, true),
		     "dl: a task that should be queued is not");
}

/* The earliest deadline of the tasks with budget left and the server, if it competes; or NULL. */
static const struct dl_task *earliest(const struct rq *rq)
{
	const struct model *m = model_of(rq);
	const struct dl_task *first = NULL;

	for (u32 i = 0; i < m->nr; i++) {
		const struct dl_task *d = dl_part_seen(m->place[i].t);

		if (!d->throttled && (!first || ahead(d->deadline, first->deadline) < 0))
			first = d;
	}
	if (is_ready(rq) && (!first || ahead(server_of(rq)->d.deadline, first->deadline) < 0))
		return &server_of(rq)->d;
	return first;
}

static struct task *judge_pick(struct rq *rq)
{
	const struct dl_task *first = earliest(rq), *d;
	struct task *t;

	compare(rq);
	court_of(rq->s)->nr_calls++;
	t = own_dl(rq)->pick(rq);
	if (first == &server_of(rq)->d) {
		JUDGE_URGENT(!is_ready(rq) || (t && t->class->rank == CLASS_fair),
			     "dl: not the server's fair task");
		if (is_ready(rq))
			return t;
		/* Only sleepers were queued there. */
		first = earliest(rq);
		if (!first && !t)
			return t;
	}
	JUDGE_URGENT(t && first && model_index(model_of(rq), t) < model_of(rq)->nr, "dl: pick");
	d = dl_part_seen(t);
	JUDGE_URGENT(!d->throttled && d->deadline == first->deadline, "dl: pick");
	return t;
}

/* --- running ---------------------------------------------------------------------------------- */

/* The numbers that the running task should have once it is charged. */
static struct dl_task charged(const struct rq *rq)
{
	struct dl_task d = *dl_part_seen(rq->curr);
	s64 ns = ahead(rq->clock, rq->curr->fair.exec_start);

	run(&d, ns > 0 ? (u64)ns : 0, rq->clock);
	return d;
}

static void judge_charge(struct rq *rq)
{
	struct dl_task d = charged(rq);

	court_of(rq->s)->nr_calls++;
	own_dl(rq)->charge(rq);
	compare_task(rq->curr, &d);
	compare(rq);
}

static void judge_tick(struct rq *rq, struct task *t)
{
	struct dl_task d = charged(rq);

	court_of(rq->s)->nr_calls++;
	own_dl(rq)->tick(rq, t);
	compare_task(t, &d);
	compare(rq);
}

static void judge_yield(struct rq *rq)
{
	struct dl_task d = *dl_part_seen(rq->curr);

	if (!d.throttled)
		exhaust(&d, rq->clock);
	court_of(rq->s)->nr_calls++;
	own_dl(rq)->yield(rq);
	compare_task(rq->curr, &d);
	compare(rq);
}

static void judge_enqueue(struct rq *rq, struct task *t, unsigned flags)
{
	struct dl_task d = *dl_part_seen(t);

	if ((flags & ENQUEUE_WAKEUP) || !d.started)
		wake(&d, rq->clock);
	JUDGE_URGENT(model_index(model_of(rq), t) == model_of(rq)->nr, "dl: a task enters twice");
	model_insert(model_of(rq), model_of(rq)->nr, t);
	court_of(rq->s)->parted.t = NULL;
	court_of(rq->s)->nr_calls++;
	own_dl(rq)->enqueue(rq, t, flags);
	compare_task(t, &d);
	compare(rq);
}

static bool judge_dequeue(struct rq *rq, struct task *t, unsigned flags)
{
	struct dl_task d = rq->curr == t ? charged(rq) : *dl_part_seen(t);
	bool left;

	court_of(rq->s)->nr_calls++;
	left = own_dl(rq)->dequeue(rq, t, flags);

	compare_task(t, &d);
	model_remove(model_of(rq), t);
	if (flags & QUEUE_SAVE)
		court_of(rq->s)->parted = (struct parted){ t, t->prio, false };
	compare(rq);
	return left;
}

/* --- other CPUs ------------------------------------------------------------------------------- */

/* Is the work of @rq less urgent than @rank, or in this class than @deadline? */
static bool less_urgent(const struct rq *rq, unsigned rank, u64 deadline)
{
	unsigned own = rq->active ? (unsigned)__builtin_ctz(rq->active) : NR_CLASSES;

	if (own != rank || own != CLASS_dl)
		return own > rank;
	return ahead(earliest(rq)->deadline, deadline) > 0;
}

/*
 * The CPUs for @t of @from, a bit for each: those without work of this class or before it, whatever
 * they do; else those with the latest deadline, if @deadline precedes it.
 */
static u64 best_cpus(const struct rq *from, const struct task *t, u64 deadline)
{
	struct sched *s = from->s;
	u64 unused = 0, best = 0;

	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++) {
		const struct rq *rq = s->rq_of[cpu];
		bool later = less_urgent(rq, CLASS_dl, deadline);

		if (!may_move(t, from, rq))
			continue;
		if (!(rq->active & (BIT(CLASS_dl + 1) - 1))) {
			unused |= BIT(cpu);
		} else if (later || (best && (rq->active & -rq->active) == BIT(CLASS_dl) &&
				     earliest(rq)->deadline == deadline)) {
			best = later ? BIT(cpu) : best | BIT(cpu);
			deadline = earliest(rq)->deadline;
		}
	}
	return unused ? unused : best;
}

/*
 * Under 6.12's rules who got a new budget leaves for less urgent work, unless it, or another
 * of this class, runs here. Nobody else leaves at a timer.
 */
static void judge_place(const struct rq *rq, const struct task *t, bool renewed)
{
	u64 deadline = dl_part_seen(t)->deadline;
	bool may = renewed && READ_ONCE(rq->s->fair_policy)->moves_new_budgets && t != rq->curr &&
		   rq->curr->class->rank != CLASS_dl && can_move(t);

	if (model_index(model_of(rq), t) == model_of(rq)->nr)
		JUDGE_URGENT(may && less_urgent(rq->s->rq_of[t->cpu], CLASS_dl, deadline),
			     "dl: leaves at a timer");
	else
		JUDGE_URGENT(!may || !best_cpus(rq, t, deadline), "dl: stays at a timer");
}

/* Budgets that are due are given, and no others. */
static void judge_timer(struct rq *rq)
{
	const struct model before = *model_of(rq);
	struct dl_task right[JUDGE_TASKS];
	struct dl_server server = charged_server(rq);
	bool due[JUDGE_TASKS];

	server_time(&server, rq->clock);

	for (u32 i = 0; i < before.nr; i++) {
		right[i] = *dl_part_seen(before.place[i].t);
		if (before.place[i].t == rq->curr)
			right[i] = charged(rq);
		due[i] = right[i].throttled && ahead(rq->clock, right[i].replenish_at) >= 0;
		if (due[i])
			replenish(&right[i], rq->clock);
	}
	court_of(rq->s)->nr_calls++;
	own_dl(rq)->notice(rq, NOTICE_TIMER);
	compare_server(rq, &server);
	for (u32 i = 0; i < before.nr; i++) {
		compare_task(before.place[i].t, &right[i]);
		judge_place(rq, before.place[i].t, due[i]);
	}
	compare(rq);
}

static void judge_notice(struct rq *rq, enum class_notice notice)
{
	if (notice == NOTICE_TIMER)
		judge_timer(rq);
	else
		own_dl(rq)->notice(rq, notice);
}

static bool judge_preempts(struct rq *rq, struct task *woken, unsigned flags)
{
	const struct dl_task *d = dl_part_seen(woken), *curr = dl_part_seen(rq->curr);
	bool right = !d->throttled && (curr->throttled || ahead(d->deadline, curr->deadline) < 0 ||
				       best_cpus(rq, woken, d->deadline));
	bool yes = own_dl(rq)->preempts(rq, woken, flags);

	JUDGE_URGENT(yes == right, "dl: preempts");
	return yes;
}

static unsigned judge_select(struct rq *rq, struct task *t, unsigned cpu, unsigned reason)
{
	struct dl_task d = *dl_part_seen(t);
	const struct dl_task *first = earliest(rq);
	u32 last = rq->s->rq_of[cpu]->taken_last;
	unsigned from = t->cpu, to;
	u64 best;

	wake(&d, rq->clock);
	best = best_cpus(rq, t, d.deadline);
	to = own_dl(rq)->smp.select_cpu(rq, t, cpu, reason);
	JUDGE_URGENT(may_use(t, rq->s->rq_of[to]), "dl: a CPU that it may not use");
	if (!may_use(t, rq))
		return to;
	/* Not behind anything as urgent, or where it displaces what can go elsewhere. */
	if (!(reason & (SELECT_WAKE | SELECT_FORK)) || less_urgent(rq, CLASS_dl, ~0ull >> 1) ||
	    !best || (first && ahead(d.deadline, first->deadline) < 0 && can_move(rq->curr)))
		JUDGE_URGENT(to == from || is_in_turn(rq, best, cpu, last, to),
			     "dl: not the least urgent CPU");
	else
		JUDGE_URGENT(is_in_turn(rq, best, cpu, last, to), "dl: not the least urgent CPU");
	return to;
}

/* Does a task wait on @rq, though it could run on @there, where the work is less urgent? */
static bool leaves_behind(const struct rq *rq, const struct rq *there)
{
	const struct model *m = model_of(rq);
	const struct dl_task *first = earliest(rq);

	for (u32 i = 0; i < m->nr; i++) {
		const struct task *t = m->place[i].t;
		const struct dl_task *d = dl_part_seen(t);

		if (d != first && !d->throttled && t != rq->curr && can_move(t) &&
		    d->deadline != first->deadline && may_move(t, rq, there) &&
		    less_urgent(there, CLASS_dl, d->deadline))
			return true;
	}
	return false;
}

static void judge_pull(struct rq *rq, struct task *prev)
{
	const u32 *calls = &court_of(rq->s)->nr_calls, nr = model_of(rq)->nr, before = *calls;
	bool served = is_ready(rq);

	own_dl(rq)->smp.pull(rq, prev);
	compare(rq);
	/*
	 * Something else happened while the lock was dropped: somebody may have come since, or the
	 * server's policy was replaced, and this CPU was more urgent when it looked.
	 */
	if (*calls - before != 2 * (model_of(rq)->nr - nr) || (served && !is_ready(rq)))
		return;
	for (unsigned cpu = 0; rq->online && cpu < rq->s->nr_cpus; cpu++)
		if (cpu != rq->cpu)
			JUDGE_URGENT(!leaves_behind(rq->s->rq_of[cpu], rq),
				     "dl: leaves behind what is more urgent");
}

/* The first to leave has the earliest deadline of all that wait. */
static void judge_push(struct rq *rq)
{
	struct model before = *model_of(rq);
	const struct dl_task *first = earliest(rq);
	const struct task *gone = NULL;
	u32 last = rq->taken_last;
	u64 best[JUDGE_TASKS];

	for (u32 i = 0; i < before.nr; i++)
		best[i] =
			best_cpus(rq, before.place[i].t, dl_part_seen(before.place[i].t)->deadline);
	own_dl(rq)->smp.push(rq);
	compare(rq);
	for (u32 i = 0; i < before.nr; i++) {
		if (model_index(model_of(rq), before.place[i].t) < model_of(rq)->nr)
			continue;
		gone = before.place[i].t;
		JUDGE_URGENT(is_in_turn(rq, best[i], rq->cpu, last, gone->cpu),
			     "dl: pushes to another CPU");
	}
	for (u32 i = 0; gone && i < before.nr; i++) {
		const struct task *t = before.place[i].t;
		const struct dl_task *d = dl_part_seen(t);

		JUDGE_URGENT(t == rq->curr || d == first || d->throttled || !can_move(t) ||
				     ahead(d->deadline, dl_part_seen(gone)->deadline) >= 0,
			     "dl: pushes another task");
	}
}

/* --- admission -------------------------------------------------------------------------------- */

static u64 share_of(u64 runtime, u64 period)
{
	return (u64)(((wide)runtime << 20) / period);
}

/*
 * The bandwidth of all tasks but @t, and of those that left ahead of their share. *@certain: not
 * what lingers no longer by the clock of some CPU, which may have asked before.
 */
static u64 total_but(struct court *court, const struct task *t, u64 now, u64 *certain)
{
	u64 total = 0, latest = now;
	u32 kept = 0;

	for (unsigned cpu = 0; cpu < court->s->nr_cpus; cpu++)
		if (ahead(host_clock(cpu), latest) > 0)
			latest = host_clock(cpu);
	*certain = 0;
	for (u32 i = 0; i < court->nr_admitted; i++) {
		if (!court->admitted[i].t && ahead(now, court->admitted[i].until) >= 0)
			continue;
		court->admitted[kept] = court->admitted[i];
		if (court->admitted[kept].t != t) {
			total += court->admitted[kept].bw;
			if (court->admitted[kept].t ||
			    ahead(court->admitted[kept].until, latest) > 0)
				*certain += court->admitted[kept].bw;
		}
		kept++;
	}
	court->nr_admitted = kept;
	return total;
}

static void admit(struct court *court, struct task *t, u64 bw)
{
	u32 i = 0;

	while (i < court->nr_admitted && court->admitted[i].t != t)
		i++;
	JUDGE_URGENT(i < ARRAY_SIZE(court->admitted), "dl: more is admitted than there is");
	court->admitted[i].t = t;
	court->admitted[i].bw = bw;
	if (i == court->nr_admitted)
		court->nr_admitted++;
}

/* To those of the CPUs in service that are not isolated, if the policy has them. */
static u64 promised_to_servers(const struct sched *s)
{
	u64 total = 0;

	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++) {
		const struct dl_task *d = &server_of(s->rq_of[cpu])->d;

		if (s->rq_of[cpu]->online && !is_isolated(s->rq_of[cpu]) &&
		    s->fair_policy->traits & BIT(TRAIT_FAIR_SERVER))
			total += share_of(d->runtime_ns, d->period_ns);
	}
	return total;
}

static int judge_attr(const struct admission_request *request)
{
	const struct sched_attr_req *req = request->attr;
	struct task *t = request->t;
	struct rq *rq = request->rq;
	const struct tunables *tn = &rq->s->tunable;
	struct court *court = court_of(rq->s);
	u64 period = req->period_ns ? req->period_ns : req->deadline_ns;
	u64 bw = share_of(req->runtime_ns, period), limit = 0, old = 0;
	u64 certain;
	u64 servers = promised_to_servers(rq->s);
	wide total = (wide)total_but(court, t, rq->clock, &certain) + bw + servers;
	bool fits, unlimited, known = false;
	int err = own_dl(rq)->params.admit(rq->s, request);

	for (unsigned cpu = 0; tn->rt_runtime_us > 0 && cpu < rq->s->nr_cpus; cpu++)
		if (rq->s->rq_of[cpu]->online && !is_isolated(rq->s->rq_of[cpu]))
			limit += share_of((u64)tn->rt_runtime_us, tn->rt_period_us);
	for (u32 i = 0; i < court->nr_admitted; i++)
		if (court->admitted[i].t == t) {
			known = true;
			old = court->admitted[i].bw;
		}
	unlimited = tn->rt_runtime_us < 0 || (known && bw == old);
	fits = unlimited || total <= limit;
	JUDGE_URGENT(err || unlimited || (wide)certain + bw + servers <= limit,
		     "dl: admitted beyond the limit");
	/* With other CPUs a task may be ending there that the books do not have any more. */
	JUDGE_URGENT(err != -EBUSY || !fits || rq->s->nr_cpus > 1 ||
			     ahead(court->crowded_until, rq->clock) > 0,
		     "dl: refused, though it fits");
	if (!err)
		admit(court, t, bw);
	return err;
}

static int judge_admit(struct sched *s, const struct admission_request *request)
{
	if (request->what == ADMIT_ATTR)
		return judge_attr(request);
	return s->class_own[CLASS_dl]->params.admit(s, request);
}

/* The class tells 8 apart that linger. Of more, some linger as long as the last of all. */
static void note_crowd(struct court *court)
{
	u64 last = court->crowded_until;
	u32 nr = 0;

	for (u32 i = 0; i < court->nr_admitted; i++) {
		if (court->admitted[i].t)
			continue;
		nr++;
		if (!last || ahead(court->admitted[i].until, last) > 0)
			last = court->admitted[i].until;
	}
	if (nr > 8)
		court->crowded_until = last;
}

/* @t gives its bandwidth back when it would have got no more than its share. */
static void release(struct sched *s, const struct task *t)
{
	struct court *court = court_of(s);
	const struct dl_task *d = dl_part_seen(t);
	u64 until = d->deadline;

	if (d->started && d->budget_ns > 0)
		until -= (u64)((wide)d->budget_ns * d->period_ns / d->runtime_ns);
	for (u32 i = 0; i < court->nr_admitted; i++) {
		if (court->admitted[i].t != t)
			continue;
		court->admitted[i].t = NULL;
		court->admitted[i].until = until;
		note_crowd(court);
		if (!d->started || ahead(s->rq_of[t->cpu]->clock, until) >= 0)
			court->admitted[i] = court->admitted[--court->nr_admitted];
		return;
	}
}

static void judge_quit(struct rq *rq, struct task *t, bool runnable)
{
	release(rq->s, t);
	own_dl(rq)->params.quit(rq, t, runnable);
}

void judge_dl(struct sched_class *c)
{
	c->pick = judge_pick;
	c->charge = judge_charge;
	c->tick = judge_tick;
	c->yield = judge_yield;
	c->notice = judge_notice;
	c->enqueue = judge_enqueue;
	c->dequeue = judge_dequeue;
	c->preempts = judge_preempts;
	c->smp.select_cpu = judge_select;
	c->smp.pull = judge_pull;
	c->smp.push = judge_push;
	c->params.admit = judge_admit;
	c->params.quit = judge_quit;
}
