/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The right decisions of FDL, by its publication and docs/adr/010-fdl.md, on queues in which some
 * group has a deadline: the earliest deadline runs, where all entities without one have one
 * together, the container's; running takes a deadline forward by the time over the share; if that
 * is too little still, virtual time goes back for all.
 *
 * Everything else is CFS's. The policy keeps a tree of deadlines and the weight of those in it; the
 * oracle looks at all rows.
 */
#include "sched/fair/cfs/cfs.h"
#include "sched/fair/fdl/fdl.h"
#include "tests/oracle/oracle.h"

static const struct fdl_queue *before(const struct view *v)
{
	return (const struct fdl_queue *)v->state.fdl;
}

/* Virtual time before the call. */
static u64 now_of(const struct view *v)
{
	return v->q->rq->clock - before(v)->lag;
}

/* The deadline that the group of @e was given; 0: none. */
static u64 period_of(const struct entity *e)
{
	return e->own_queue ? fdl_queue(e->own_queue)->part.rr_ns : 0;
}

/* 0 means that there is no deadline, so one that falls on it is 1 later. */
static u64 some(u64 deadline)
{
	return deadline ? deadline : 1;
}

static u64 new_container(const struct view *v)
{
	return some(now_of(v) + v->s->tunable.default_fair_dl);
}

/* --- deadlines of a queue --------------------------------------------------------------------- */

struct due {
	u32 nr, nr_others; /* entities with a deadline; without one */
	u64 earliest;
};

static struct due look_for_due(const struct view *v)
{
	struct due due = { 0 };

	for (u32 i = 0; i < v->nr; i++) {
		const struct row *row = &v->row[i];

		due.nr_others += !row->due;
		if (row->due && (!due.nr++ || ahead(row->due, due.earliest) < 0))
			due.earliest = row->due;
	}
	return due;
}

/* Is the container, due at @container or not at all, before @due? */
static bool container_is_first(u64 container, struct due due)
{
	return container && ahead(container, due.earliest) < 0;
}

/* The queue as CFS sees it: without the entities that have deadlines. */
static struct view without_deadlines(const struct view *v)
{
	struct view rest = *v;
	struct cfs_queue *cfs = (struct cfs_queue *)rest.state.cfs;
	struct entity **buddy[] = { &cfs->next, &cfs->last, &cfs->skip };

	rest.nr = 0;
	for (u32 i = 0; i < v->nr; i++)
		if (!v->row[i].due)
			rest.row[rest.nr++] = v->row[i];
	if (v->curr && row_of(v, v->curr)->due)
		rest.curr = NULL;
	for (unsigned i = 0; i < ARRAY_SIZE(buddy); i++)
		if (*buddy[i] && !row_of(&rest, *buddy[i]))
			*buddy[i] = NULL;
	return rest;
}

/* --- choosing --------------------------------------------------------------------------------- */

static bool fdl_picks(const struct view *v, const struct entity *picked)
{
	struct due due = look_for_due(v);
	u64 container = before(v)->container;
	struct view rest;

	if (!due.nr)
		return cfs_picks(v, picked);
	if (!container && due.nr_others)
		container = new_container(v);
	if (fdl_queue(v->q)->container != container)
		return false;
	if (!container_is_first(container, due))
		return row_of(v, picked)->due == due.earliest;
	rest = without_deadlines(v);
	return row_of(&rest, picked) && cfs_picks(&rest, picked);
}

static bool fdl_preempts_right(const struct view *v, const struct entity *curr,
			       const struct entity *woken, unsigned flags, bool yes)
{
	u64 container = before(v)->container, mine = v->subject.due, its = woken->due;

	if (!mine && !its)
		return cfs_preempts_right(v, curr, woken, flags, yes);
	if (mine && its)
		return yes == (ahead(its, mine) < 0);
	if (its)
		return yes == (!container || ahead(its, container) < 0);
	return yes == (container && ahead(container, mine) < 0);
}

/*
 * A timer ends the turns of the root's queue. Below it ticks do: the turn is over if the other kind
 * of entity, or an earlier deadline, is first; among those without a deadline CFS decides. The one
 * that runs need not be queued: it may stand for a group that is throttled, which a running task
 * was moved to. Then all others wait.
 */
static bool fdl_tick_right(const struct view *v, const struct entity *e, bool yes)
{
	struct due due = look_for_due(v);
	u32 nr_waiting = due.nr_others - (v->subject.queued && !v->subject.due);
	bool container, nested = v->q->owner;

	if (!due.nr)
		return cfs_tick_right(v, e, yes);
	container = container_is_first(before(v)->container, due);
	if (v->subject.due)
		return yes == (nested && (container || v->subject.due != due.earliest));
	if (nested && !container)
		return yes;
	return nr_waiting ? cfs_tick_right(v, e, yes) : !yes;
}

/* --- running ---------------------------------------------------------------------------------- */

/*
 * The part of the machine, in 1024ths, that the subject is worth, or all without a deadline
 * together if it has none; rounded down at each level, as it is defined. 5 % less than that earns.
 */
static u64 share_of(const struct view *v)
{
	u64 all = 0, mine = 0;
	s128 share;

	for (u32 i = 0; i < v->nr; i++) {
		const struct row *row = &v->row[i];

		all += row->e->load.weight;
		if (v->subject.due ? row->e == v->subject.e : !row->due)
			mine += row->e->load.weight;
	}
	if (!v->subject.queued) {
		all += v->subject.e->load.weight;
		mine += v->subject.e->load.weight;
	}
	share = (s128)1024 * mine / all;
	for (const struct entity *e = v->q->owner; e; e = e->queue->owner)
		share = share * e->load.weight /
			(e->queue->load.weight + (e->queued ? 0 : e->load.weight));
	share = share * v->s->tunable.dl_slack / 1024;
	return share ? (u64)share : 1;
}

/* Deadlines after a charge, as they should be. */
struct charged {
	u64 mine, container, lag;
	unsigned halvings; /* of the time to every deadline */
};

/* How often (deadline - v) must be halved until it is no more than @period. */
static unsigned halvings(u64 deadline, u64 v, u64 period)
{
	unsigned n = 0;

	for (u64 left = deadline - v; left > period; left /= 2)
		n++;
	return n;
}

static u64 nearer(u64 deadline, u64 v, unsigned n)
{
	return n && deadline ? some(v + ((deadline - v) >> n)) : deadline;
}

/* The subject ran and is late still: virtual time goes back, the same for all. */
static void miss(const struct view *v, struct charged *c, u64 deadline, u64 period)
{
	u64 first = deadline, shortest = period, back, now;
	unsigned n = 0;

	if (v->subject.due && c->container && ahead(c->container, first) < 0)
		first = c->container;
	for (u32 i = 0; i < v->nr; i++) {
		const struct row *row = &v->row[i];

		if (!row->due || row->e == v->subject.e)
			continue;
		first = ahead(row->due, first) < 0 ? row->due : first;
		shortest = min(shortest, period_of(row->e));
	}
	back = max(now_of(v) - first + shortest / 4, (u64)v->s->tunable.dl_skip);
	c->lag += back;
	now = now_of(v) - back;
	if (c->container)
		n = halvings(c->container, now, v->s->tunable.default_fair_dl);
	if (v->subject.due)
		n = max(n, halvings(c->mine, now, period));
	for (u32 i = 0; i < v->nr; i++)
		if (v->row[i].due && v->row[i].e != v->subject.e)
			n = max(n, halvings(v->row[i].due, now, period_of(v->row[i].e)));
	c->halvings = n;
	c->container = nearer(c->container, now, n);
	c->mine = nearer(c->mine, now, n);
}

static struct charged charge(const struct view *v, u64 delta)
{
	const struct row *e = &v->subject;
	u64 period = e->due ? period_of(e->e) : v->s->tunable.default_fair_dl;
	struct charged c = { e->due, before(v)->container, before(v)->lag, 0 };
	u64 deadline = (e->due ? e->due : c.container) + delta * 1024 / share_of(v);

	if (ahead(deadline, now_of(v) + period) >= 0)
		deadline = now_of(v) + period;
	deadline = some(deadline);
	*(e->due ? &c.mine : &c.container) = deadline;
	if (ahead(deadline, now_of(v)) < 0)
		miss(v, &c, deadline, period);
	else if (!look_for_due(v).nr && deadline == some(now_of(v) + period))
		c.container = 0; /* nobody has a deadline: nothing to protect the others from */
	return c;
}

static bool fdl_charges(const struct view *v, const struct entity *e, u64 delta)
{
	struct charged c = { v->subject.due, before(v)->container, before(v)->lag, 0 };
	u64 now;

	if (c.mine || c.container)
		c = charge(v, delta);
	now = v->q->rq->clock - c.lag;
	for (u32 i = 0; i < v->nr; i++)
		if (v->row[i].e != e && v->row[i].e->due != nearer(v->row[i].due, now, c.halvings))
			return false;
	return cfs_charges(v, e, delta) && e->due == c.mine &&
	       fdl_queue(v->q)->container == c.container && fdl_queue(v->q)->lag == c.lag;
}

/* --- entering and leaving --------------------------------------------------------------------- */

static bool fdl_places(const struct view *v, const struct entity *e, unsigned flags)
{
	const struct fdl_cpu *given = e->own_queue ? &fdl_queue(e->own_queue)->part : NULL;
	u64 container = before(v)->container, due = 0, soonest, latest;
	struct due all = look_for_due(v);

	if (!cfs_places(v, e, flags))
		return false;
	if (flags & (PLACE_NEW | PLACE_SLEEPER | PLACE_ASLEEP))
		return e->due == v->subject.due && fdl_queue(v->q)->container == container;
	if (given && given->rr_ns) {
		latest = now_of(v) + given->rr_ns;
		soonest = given->wakeup_ns ? now_of(v) + given->wakeup_ns : latest;
		due = v->subject.due;
		if (!due || (flags & ENQUEUE_UNTHROTTLE) || ahead(due, soonest) < 0)
			due = soonest;
		else if (ahead(due, latest) > 0)
			due = latest;
		due = some(due);
	} else if (all.nr && !all.nr_others) {
		container = new_container(v);
	}
	return e->due == due && fdl_queue(v->q)->container == container;
}

static bool fdl_leaves(const struct view *v, const struct entity *e, unsigned flags, bool stays)
{
	const struct row *was = &v->subject;
	bool last_other = was->queued && !was->due && look_for_due(v).nr_others == 1;

	return e->due == was->due &&
	       fdl_queue(v->q)->container == (last_other ? 0 : before(v)->container) &&
	       cfs_leaves(v, e, flags, stays);
}

/* A weight says how much, not when. */
static bool fdl_reweighs(const struct view *v, const struct entity *e, s64 weight)
{
	(void)weight;
	return e->due == v->subject.due && e->vruntime == v->subject.v &&
	       fdl_queue(v->q)->container == before(v)->container;
}

const struct oracle fdl_oracle = {
	.of = &fdl_policy.hooks,
	.pick = fdl_picks,
	.preempts = fdl_preempts_right,
	.tick_expired = fdl_tick_right,
	.place = fdl_places,
	.charge = fdl_charges,
	.leave = fdl_leaves,
	.yield = cfs_yields,
	.reweight = fdl_reweighs,
};
