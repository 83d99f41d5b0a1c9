/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The right numbers of a fair server (docs/oracles.md): a constant bandwidth server, deferred as in
 * Linux 6.12. Fair tasks use its budget up whether it competes or not; it competes from the time on
 * when its budget fills the rest of its period, with a new period, and then from the beginning of
 * each period until fair tasks had a whole budget without it.
 */
#include "sched/fair/core/policy.h"
#include "tests/oracle/cbs.h"
#include "tests/oracle/urgent.h"

/* Fair tasks ran for @ns. What a deferred or throttled server had of that it need not see to. */
static void server_run(struct dl_server *v, u64 ns, u64 now)
{
	if (!v->active || !ns)
		return;
	v->d.budget_ns -= (s64)ns;
	if (v->d.budget_ns > 0)
		return;
	if (v->ready) {
		exhaust(&v->d, now);
		v->ready = !v->d.throttled;
	} else {
		start(&v->d, now);
		v->starving = false;
	}
}

/* Is it @now too late to wait, to 1024 ns? Or has its next period begun? */
void server_time(struct dl_server *v, u64 now)
{
	s64 rest = ahead(v->d.deadline, now) - 1024;

	if (!v->active || v->ready)
		return;
	if (v->d.throttled ? ahead(now, v->d.replenish_at) < 0 : rest > 0 && v->d.budget_ns < rest)
		return;
	if (v->d.budget_ns > 0)
		wake(&v->d, now);
	else
		replenish(&v->d, now);
	v->ready = v->starving = true;
}

/* Fair tasks came to @rq, which had none. Idling since then used the budget as they would. */
static void server_begins(struct dl_server *v, const struct rq *rq)
{
	s64 idle = (s64)(rq->idle_ns - v->idle_ns);

	if (rq->curr == rq->idle && ahead(rq->clock, rq->idle->fair.exec_start) > 0)
		idle += ahead(rq->clock, rq->idle->fair.exec_start);
	if (v->d.budget_ns >= 0 && idle > v->d.budget_ns)
		v->starving = false;
	if (v->d.budget_ns >= 0)
		v->d.budget_ns = idle > v->d.budget_ns ? 0 : v->d.budget_ns - idle;
	wake(&v->d, rq->clock);
	v->active = true;
	v->ready = v->starving && !v->d.throttled;
}

/* The server's numbers once the fair task that runs is charged. */
struct dl_server charged_server(const struct rq *rq)
{
	struct dl_server v = *server_of(rq);
	s64 ns = rq->fair.curr ? ahead(rq->clock, rq->fair.curr->exec_start) : 0;

	server_run(&v, ns > 0 ? (u64)ns : 0, rq->clock);
	return v;
}

void compare_server(const struct rq *rq, const struct dl_server *right)
{
	const struct dl_server *now = server_of(rq);

	JUDGE_URGENT(now->active == right->active, "fair server: active");
	JUDGE_URGENT(now->ready == right->ready, "fair server: ready");
	JUDGE_URGENT(now->starving == right->starving, "fair server: deferred");
	JUDGE_URGENT(now->d.throttled == right->d.throttled, "fair server: throttled");
	JUDGE_URGENT(now->d.budget_ns == right->d.budget_ns, "fair server: budget");
	JUDGE_URGENT(now->d.deadline == right->d.deadline, "fair server: deadline");
}

static void judge_fair_charge(struct rq *rq)
{
	struct dl_server right = charged_server(rq);

	rq->s->class_own[CLASS_fair]->charge(rq);
	compare_server(rq, &right);
}

static void judge_fair_enqueue(struct rq *rq, struct task *t, unsigned flags)
{
	struct dl_server right = *server_of(rq), charged = charged_server(rq);
	const struct entity *curr = rq->fair.curr;
	bool served = rq->fair.policy->traits & BIT(TRAIT_FAIR_SERVER);
	bool begins = !rq->fair.nr_running && served && right.d.runtime_ns && rq->online;

	if (begins) {
		server_begins(&charged, rq);
		right = charged;
	}
	rq->s->class_own[CLASS_fair]->enqueue(rq, t, flags);
	/* If nobody entered the root's queue, what runs there need not have been charged. */
	if (curr && curr->exec_start == rq->clock)
		right = charged;
	/* A group without quota may have left again at once, or never have come. */
	if (!rq->fair.nr_running)
		right.active = right.ready = false;
	if (rq->fair.nr_running || !begins)
		compare_server(rq, &right);
}

/* A fair task that changes its class was less urgent than it will be. */
static bool judge_fair_dequeue(struct rq *rq, struct task *t, unsigned flags)
{
	struct dl_server right = charged_server(rq);
	bool left;

	if (flags & QUEUE_SAVE)
		court_of(rq->s)->parted = (struct parted){ t, t->prio, false };
	left = rq->s->class_own[CLASS_fair]->dequeue(rq, t, flags);
	if (!rq->fair.nr_running)
		right.active = right.ready = false;
	compare_server(rq, &right);
	return left;
}

void judge_fair(struct sched_class *c)
{
	c->charge = judge_fair_charge;
	c->enqueue = judge_fair_enqueue;
	c->dequeue = judge_fair_dequeue;
}
