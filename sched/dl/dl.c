/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The deadline class: SCHED_DEADLINE, earliest deadline first.
 *
 * Every queued task is in one of two trees: ready, by deadline, of which the
 * first runs; or throttled, by the time that its budget is replenished. The
 * running task stays in its tree. cbs.c says what deadline and budget a task
 * has, admission.c who may enter; docs/deadline.md derives both.
 *
 * Time: a tick that finds the budget of the running task used up ends it, or
 * with HRTICK_DL a timer, to the ns where the host's timer is exact. A timer
 * ends the wait of a throttled task. What was overdrawn is subtracted from the
 * next budget.
 *
 * The fair server (server.c) is in no tree: there is one on each CPU. While it is ready and its
 * deadline the earliest, the class picks what the fair class picks.
 *
 * SMP: as in rt.c. A waiting task is pushed, after each switch, to a CPU whose
 * work is less urgent, and a CPU that gets less urgent pulls.
 *
 * Invariants: D1 to D7. Lock: the runqueue's. Source: Abeni and Buttazzo 1998,
 * Linux 6.1's sched-deadline document (docs/sources.md).
 */
#include "sched/balance/sharedq.h"
#include "sched/dl/dl.h"
#include "sched/record/class.h"
#include "sched/rt/rt.h"
#include "lib/fmt.h"

static void dl_init(struct rq *rq)
{
	dl_of(rq)->machine.lock.rank = HOST_RANK_LEAF;
	dl_server_init(rq);
}

/* --- the trees --------------------------------------------------------------- */

/* Where a key lies, seen from the node. */
#define KEY(field) (offsetof(struct dl_task, field) - offsetof(struct dl_task, node))

static bool not_later(const struct rb_node *a, const struct rb_node *b)
{
	return !rb_key_before(b, a, KEY(deadline));
}

/* Among equals the first to come is the first; but the running task goes before them. */
static void tree_in(struct rq *rq, struct dl_task *d, bool running)
{
	struct dl_rq *dl = dl_of(rq);

	SCHED_DEBUG_ASSERT(!d->queued);
	d->queued = true;
	if (d->throttled) {
		rb_insert_key(&dl->throttled, &d->node, KEY(replenish_at));
		dl->nr_throttled++;
		rq->timer_stale = true;
	} else {
		if (running)
			rb_insert(&dl->ready, &d->node, not_later);
		else
			rb_insert_key(&dl->ready, &d->node, KEY(deadline));
		dl->nr_ready++;
		count_running(rq, 1);
	}
	dl_update(rq);
}

static void tree_out(struct rq *rq, struct dl_task *d)
{
	struct dl_rq *dl = dl_of(rq);

	SCHED_DEBUG_ASSERT(d->queued);
	d->queued = false;
	if (d->throttled) {
		rb_erase(&dl->throttled, &d->node);
		dl->nr_throttled--;
	} else {
		rb_erase(&dl->ready, &d->node);
		dl->nr_ready--;
		count_running(rq, -1);
	}
	dl_update(rq);
}

static void dl_charge(struct rq *rq);

static void dl_enqueue(struct rq *rq, struct task *t, unsigned flags)
{
	struct dl_task *d = dl_part(t);

	if ((flags & ENQUEUE_WAKEUP) || !d->started)
		cbs_wake(d, rq->clock);
	dl_of(rq)->nr_movable += t->nr_allowed > 1;
	dl_of(rq)->queued_bw += d->bw;
	tree_in(rq, d, task_running(rq, t));
	/* Any CPU may queue the task; this CPU must then set its own timer. */
	if (d->throttled)
		resched(rq);
}

static bool dl_dequeue(struct rq *rq, struct task *t, unsigned flags)
{
	struct dl_task *d = dl_part(t);

	(void)flags;
	if (task_running(rq, t))
		dl_charge(rq);
	SCHED_DEBUG_ASSERT(dl_of(rq)->queued_bw >= d->bw);
	dl_of(rq)->nr_movable -= t->nr_allowed > 1;
	dl_of(rq)->queued_bw -= d->bw;
	tree_out(rq, d);
	return true;
}

static u32 dl_nr_queued(const struct rq *rq)
{
	return READ_ONCE(dl_seen(rq)->nr_ready) + READ_ONCE(dl_seen(rq)->nr_throttled);
}

static bool dl_pickable(struct rq *rq, struct task *t)
{
	(void)rq;
	return !dl_part(t)->throttled;
}

/* The ready tasks, then the throttled ones. */
static struct task *dl_queued(struct rq *rq, struct task *after)
{
	struct dl_rq *dl = dl_of(rq);
	struct rb_node *next;

	if (!after)
		return dl_first(&dl->ready) ?: dl_first(&dl->throttled);
	SCHED_DEBUG_ASSERT(dl_part(after)->queued);
	next = rb_next(&dl_part(after)->node);
	if (next)
		return dl_task_of(next);
	return dl_part(after)->throttled ? NULL : dl_first(&dl->throttled);
}

/* --- budgets ------------------------------------------------------------------- */

/* The running @t, which is ready, has used up its budget, or gives up the rest. */
static void exhaust(struct rq *rq, struct task *t)
{
	struct dl_task *d = dl_part(t);

	SCHED_DEBUG_ASSERT(!d->throttled);
	tree_out(rq, d);
	cbs_exhaust(d, rq->clock);
	tree_in(rq, d, false);
	rq->timer_stale = true;
	if (dl_first(&dl_of(rq)->ready) != t || dl_server_is_first(rq))
		resched(rq);
}

static void dl_charge(struct rq *rq)
{
	struct task *t = rq->curr;
	struct dl_task *d = dl_part(t);
	u64 delta = charge_time(rq, &t->fair);

	SCHED_DEBUG_ASSERT(t->class->rank == CLASS_dl);
	rq->run_ns += delta;
	rt_account(rq, delta);
	d->budget_ns -= (s64)delta;
	if (d->queued && !d->throttled && d->budget_ns <= 0) {
		struct class_note note;

		class_note_begin(&note, rq, t);
		exhaust(rq, t);
		class_note_end(&note, rq, t, ACT_throttle, REASON_budget_used);
	}
}

static void dl_tick(struct rq *rq, struct task *t)
{
	SCHED_DEBUG_ASSERT(t == rq->curr);
	dl_charge(rq);
}

static void dl_yield(struct rq *rq)
{
	if (!dl_part(rq->curr)->throttled)
		exhaust(rq, rq->curr);
}

/*
 * When the running task will have used up its budget; 0: it is of another class, or throttled, or
 * a tick will find that out.
 */
static u64 budget_ends(struct rq *rq)
{
	struct task *t = rq->curr;
	const struct dl_task *d = dl_part(t);

	if (!feature(rq->s, FEATURE_HRTICK_DL) || t->class->rank != CLASS_dl || !d->queued ||
	    d->throttled)
		return 0;
	return t->fair.exec_start + (u64)max(d->budget_ns, (s64)1);
}

static u64 dl_next_timer(struct rq *rq)
{
	struct task *first = dl_first(&dl_of(rq)->throttled);
	u64 when = first ? dl_part(first)->replenish_at : 0;

	return earlier(earlier(when, budget_ends(rq)), dl_server_next_timer(rq));
}

/* @t is ready again, here or on the CPU that it goes to. */
static void note_replenished(struct rq *rq, struct task *t)
{
	SCHED_DEBUG_ASSERT(!dl_part(t)->throttled);
	if (dl_push_replenished(rq, t))
		return;
	if (rq->nr_running == 2)
		sharedq_crowded(rq);
	check_preempt(rq, t, 0);
}

static void dl_timer(struct rq *rq)
{
	struct dl_rq *dl = dl_of(rq);
	struct task *t;

	if (rq->curr->class->rank == CLASS_dl)
		dl_charge(rq);
	dl_server_timer(rq);
	while ((t = dl_first(&dl->throttled))) {
		struct dl_task *d = dl_part(t);
		struct class_note note;

		if (time_before(rq->clock, d->replenish_at))
			return;
		class_note_begin(&note, rq, t);
		tree_out(rq, d);
		cbs_replenish(d, rq->clock);
		tree_in(rq, d, false);
		class_note_end(&note, rq, t, ACT_replenish, REASON_period_begins);
		note_replenished(rq, t);
	}
}

/* --- choosing -------------------------------------------------------------------- */

static struct task *dl_pick(struct rq *rq)
{
	while (dl_server_is_first(rq)) {
		struct task *t = rq->s->class[CLASS_fair]->pick(rq);

		/* Its budget, from now on; if nobody was found the server is off. */
		rq->timer_stale = true;
		if (t)
			return t;
	}
	return dl_first(&dl_of(rq)->ready);
}

static void dl_set_next(struct rq *rq, struct task *t)
{
	t->fair.exec_start = rq->clock;
	rq->timer_stale = true;
	/* Even alone it yields: what is left of its budget. */
	rq->yield_below = 0;
}

static void dl_put_prev(struct rq *rq, struct task *t)
{
	(void)t;
	rq->timer_stale = true;
	rq->yield_below = YIELD_BELOW;
}

/*
 * A task that waits though it could run elsewhere is pushed by a switch: its CPU was chosen without
 * that one's lock, and another may have come first.
 */
static bool dl_preempts(struct rq *rq, struct task *woken, unsigned flags)
{
	const struct dl_task *d = dl_part(woken), *curr = dl_part(rq->curr);

	SCHED_DEBUG_ASSERT(rq->curr->class == woken->class);
	(void)flags;
	if (d->throttled)
		return false;
	if (curr->throttled || time_before(d->deadline, curr->deadline))
		return true;
	class_because(rq, REASON_pushed_next);
	return dl_is_later_elsewhere(rq, woken);
}

/* --- what happens to a CPU ---------------------------------------------------------- */

static void dl_online(struct rq *rq)
{
	SCHED_DEBUG_ASSERT(rq->online);
	dl_count_server(rq, true);
	dl_ask_others_to_push(rq);
}

static void dl_offline(struct rq *rq)
{
	SCHED_DEBUG_ASSERT(!rq->online);
	dl_fair_server.stop(rq);
	dl_count_server(rq, false);
}

static void dl_notice(struct rq *rq, enum class_notice notice)
{
	switch (notice) {
	case NOTICE_NEW:
		dl_init(rq);
		break;
	case NOTICE_TIMER:
		dl_timer(rq);
		break;
	case NOTICE_ONLINE:
		dl_online(rq);
		break;
	case NOTICE_OFFLINE:
		dl_offline(rq);
		break;
	default:
		break;
	}
}

/* --- parameters ------------------------------------------------------------------- */

/* Before all real-time tasks. */
static int dl_prio(const struct sched_attr_req *req)
{
	return dl_valid(req) ? -1 : PRIO_INVALID;
}

/*
 * An instance that is going on keeps its deadline, and at most the budget of a new one: else a task
 * could get one by setting what it has.
 */
static void dl_set_attr(struct task *t, const struct sched_attr_req *req)
{
	struct dl_task *d = dl_part(t);

	SCHED_DEBUG_ASSERT(dl_valid(req));
	d->runtime_ns = req->runtime_ns;
	d->relative_ns = req->deadline_ns;
	d->period_ns = req->period_ns ?: req->deadline_ns;
	d->bw = dl_bw(d->runtime_ns, d->period_ns);
	d->budget_ns = min(d->budget_ns, (s64)d->runtime_ns);
}

static void dl_get_attr(const struct task *t, struct sched_attr_req *req)
{
	const struct dl_task *d = dl_part_seen(t);

	req->runtime_ns = d->runtime_ns;
	req->deadline_ns = d->relative_ns;
	req->period_ns = d->period_ns;
}

static void dl_join(struct rq *rq, struct task *t, bool runnable)
{
	debug_assert_locked(rq);
	/* It waits behind another: a switch, even to the same task, pushes it. */
	if (runnable && !task_running(rq, t) && rq->curr->class->rank == CLASS_dl)
		resched(rq);
}

static void dl_quit(struct rq *rq, struct task *t, bool runnable)
{
	dl_release(rq->s, t);
	if (runnable && task_running(rq, t))
		dl_ask_others_to_push(rq);
}

/* --- introspection ------------------------------------------------------------------ */

static void dl_numbers(struct rq *rq, struct task *t, struct class_numbers *n)
{
	const struct dl_task *d;

	if (!t) {
		n->deadline = READ_ONCE(dl_of(rq)->nr_ready) || READ_ONCE(dl_of(rq)->server.ready)
				      ? READ_ONCE(dl_of(rq)->earliest)
				      : 0;
		return;
	}
	d = dl_part(t);
	n->bw = (u32)d->bw;
	n->deadline = d->deadline;
	n->budget = d->budget_ns;
	n->replenish_at = d->throttled ? d->replenish_at : 0;
	n->runtime = d->runtime_ns;
	n->relative = d->relative_ns;
	n->period = d->period_ns;
	n->throttled = d->throttled;
}

static void check_task(struct rq *rq, struct task *t)
{
	const struct dl_task *d = dl_part(t);

	SCHED_CHECK(D1, t->class->rank == CLASS_dl && t->on_rq == TASK_QUEUED && d->queued);
	SCHED_CHECK(D5, d->budget_ns <= (s64)d->runtime_ns);
	SCHED_CHECK(D3, !d->throttled || d->budget_ns <= 0);
	SCHED_CHECK(D3, !d->throttled || dl_timer_comes(rq, d->replenish_at));
	check_queued_task(rq, t);
}

static void check_tree(struct rq *rq, struct rb_tree *tree, bool throttled, u32 nr_expected)
{
	struct rb_node *node, *prev = NULL;
	u32 nr = 0;

	for (node = rb_first(tree); node; prev = node, node = rb_next(node), nr++) {
		struct task *t = dl_task_of(node);

		SCHED_CHECK(D1, dl_part(t)->throttled == throttled);
		SCHED_CHECK(D1,
			    !prev || !rb_key_before(node, prev,
						    throttled ? KEY(replenish_at) : KEY(deadline)));
		check_task(rq, t);
	}
	SCHED_CHECK(D1, nr == nr_expected);
}

static void check_server(struct rq *rq)
{
	const struct dl_server *server = &dl_of(rq)->server;
	const struct dl_task *d = &server->d;

	SCHED_CHECK(D6, server->active == (rq->fair.limited && rq->fair.nr_running &&
					   d->runtime_ns && rq->online));
	SCHED_CHECK(D6, server->ready <= (server->active && !d->throttled));
	SCHED_CHECK(D6, !server->ready || rq->curr->class->rank <= CLASS_dl ||
				rq->curr->class->rank == CLASS_fair || rq->need_resched);
	SCHED_CHECK(D7, !server->active || server->ready ||
				dl_timer_comes(rq, d->throttled ? d->replenish_at
								: dl_server_zero_laxity(server)));
	SCHED_CHECK(D7, d->budget_ns <= (s64)d->runtime_ns && d->relative_ns == d->period_ns);
}

static void dl_check(struct rq *rq)
{
	struct dl_rq *dl = dl_of(rq);
	u32 movable = 0;
	u64 bw = 0;

	check_tree(rq, &dl->ready, false, dl->nr_ready);
	check_tree(rq, &dl->throttled, true, dl->nr_throttled);
	for (struct task *t = dl_queued(rq, NULL); t; t = dl_queued(rq, t)) {
		movable += t->nr_allowed > 1;
		bw += dl_part(t)->bw;
	}
	SCHED_CHECK(D1, movable == dl->nr_movable);
	SCHED_CHECK(D4, bw == dl->queued_bw && bw <= dl_machine(rq->s)->total_bw);
	SCHED_CHECK(R12, class_is_active(rq, CLASS_dl) == (dl->nr_ready || dl->server.ready));
	SCHED_CHECK(D2, rq->curr->class->rank != CLASS_dl || rq->need_resched ||
				(dl_first(&dl->ready) == rq->curr && !dl_server_is_first(rq)));
	SCHED_CHECK(R10, rq->online || !dl->overloaded);
	check_server(rq);
}

/* As Linux: the limit of a CPU, and what is admitted on the whole machine. */
static void dump_rq(struct rq *rq, struct text *out)
{
	text_add(out, "\ndl_rq[%u]:\n", rq->cpu);
	dump_number(out, "dl_nr_running", dl_nr_queued(rq));
	dump_number(out, "dl_nr_migratory", dl_of(rq)->nr_movable);
	dump_number(out, "dl_nr_throttled", dl_of(rq)->nr_throttled);
	text_add(out, "  .%-30s: %ld\n", "dl_bw->bw", (s64)dl_cpu_bw(&rq->s->tunable));
	dump_number(out, "dl_bw->total_bw", dl_total_bw(rq->s, rq->clock));
}

static void dl_dump(struct rq *rq, struct task *t, struct text *out)
{
	if (!t) {
		dump_rq(rq, out);
		return;
	}
	dump_task_number(out, "dl.runtime", (u64)dl_part(t)->budget_ns);
	dump_task_number(out, "dl.deadline", dl_part(t)->deadline);
}

const struct sched_class dl_class = {
	.name = "dl",
	.rank = CLASS_dl,
	.policies = BIT(SCHED_DEADLINE),
	.deadline = true,
	.unforkable = true, /* an admitted task's children would need bandwidth of their own */
	.recorded = true,
	.server = &dl_fair_server,
	.rule = { [ACT_pick] = REASON_earliest_deadline,
		  [ACT_preempt] = REASON_urgency,
		  [ACT_select] = REASON_stays },
	.enqueue = dl_enqueue,
	.dequeue = dl_dequeue,
	.nr_queued = dl_nr_queued,
	.queued = dl_queued,
	.pick = dl_pick,
	.set_next = dl_set_next,
	.charge = dl_charge,
	.tick = dl_tick,
	.put_prev = dl_put_prev,
	.pickable = dl_pickable,
	.yield = dl_yield,
	.preempts = dl_preempts,
	.next_timer = dl_next_timer,
	.notice = dl_notice,
	.smp = { .select_cpu = dl_select_cpu, .pull = dl_pull, .push = dl_push },
	.params = { .prio = dl_prio,
		    .admit = dl_admit,
		    .set_attr = dl_set_attr,
		    .get_attr = dl_get_attr,
		    .join = dl_join,
		    .quit = dl_quit },
	.debug = { .numbers = dl_numbers, .check = dl_check, .dump = dl_dump },
};
