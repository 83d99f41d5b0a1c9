/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The busiest part of a balancing pass's domain, how much to move from there (an imbalance of load,
 * utilisation or tasks), and the busiest runqueue of that part. Everything is read without locks.
 * Source: Linux 6.1, fair.c (docs/sources.md).
 */
#include "sched/balance/domain.h"
#include "sched/balance/energy.h"
#include "sched/balance/fit.h"
#include "sched/fair/core/fair.h"
#include "sched/fair/core/pelt.h"
#include "sched/record/pass.h"

/* The measurements of a pass's domain. */
struct comparison {
	struct group_stats local, busiest;
	u64 load, capacity; /* of the whole domain */
	u64 util;
};

/* --- the busiest group ---------------------------------------------------- */

/*
 * Lab 8, busier: true if @a is busier than @b, the busiest part so far, or the first with fair
 * tasks. The type decides; of equal types the average load, the misfit, or the fewer idle CPUs and
 * then the more tasks.
 */
static bool busier(const struct group_stats *a, const struct group_stats *b)
{
	if (!a->nr_fair)
		return false;
	if (!b->group || a->type != b->type)
		return !b->group || a->type > b->type;
	switch (a->type) {
	case GROUP_OVERLOADED:
	case GROUP_FULLY_BUSY:
		return a->avg_load > b->avg_load;
	case GROUP_MISFIT:
		return a->misfit > b->misfit;
	case GROUP_HAS_SPARE:
		return a->idle_cpus != b->idle_cpus ? a->idle_cpus < b->idle_cpus
						    : a->nr_running > b->nr_running;
	default:
		return false;
	}
}

/* Set how many CPUs of an LLC with utilisation @util a wakeup looks at: see scan_cpus(). */
static void update_idle_scan(struct pass *p, u64 util)
{
	struct rq *dst = p->dst;
	u64 x, full, pct = p->sd->imbalance_pct;

	SCHED_DEBUG_ASSERT(dst->llc_size);
	if (p->idle == CPU_NEWLY_IDLE || p->sd != dst->llc)
		return;
	x = util / dst->llc_size;
	full = min(CPU_CAPACITY, x * x * pct * pct / (10000 * CPU_CAPACITY));
	WRITE_ONCE(p->sd->span->nr_idle_scan,
		   (u32)(dst->llc_size * (CPU_CAPACITY - full) / CPU_CAPACITY));
}

/*
 * The tasks that make the part @g one to help. A busy CPU has no more to offer, unless it is a
 * faster one.
 */
static inline enum misfits misfits_of(const struct pass *p, const struct group *g)
{
	if (g == p->sd->parts)
		return MISFITS_NONE;
	if (pass_is_uneven(p))
		return MISFITS_UNEVEN;
	return p->idle != CPU_BUSY ? MISFITS_REDUCED : MISFITS_NONE;
}

static inline struct group_stats measure(const struct pass *p, const struct group *g)
{
	enum misfits misfits = misfits_of(p, g);

	if (unlikely(p->record))
		return pass_measure_recorded(p, g, misfits);
	return group_measure(p->s, g, &p->cpus, NULL, p->sd->imbalance_pct, misfits);
}

/*
 * True if the part @gs may lose tasks to dst: its misfits only if dst is clearly faster than its
 * CPUs and has room. From a part without more tasks than it can serve, full or not, nothing goes to
 * a clearly slower CPU.
 */
static bool may_lose(const struct pass *p, const struct group_stats *local,
		     const struct group_stats *gs)
{
	u64 here = cpu_capacity(p->dst);

	if (gs->type == GROUP_MISFIT)
		return local->type == GROUP_HAS_SPARE && capacity_exceeds(here, gs->most_capacity);
	return gs->type > GROUP_FULLY_BUSY || !capacity_exceeds(gs->least_capacity, here);
}

static void compare_groups(struct pass *p, struct comparison *c)
{
	struct group *g = p->sd->parts;

	*c = (struct comparison){ .load = 0 };
	do {
		struct group_stats gs = measure(p, g);

		c->load += gs.load;
		c->capacity += gs.capacity;
		c->util += gs.util;
		if (g == p->sd->parts)
			c->local = gs;
		else if (pass_is_uneven(p) && !may_lose(p, &c->local, &gs))
			continue;
		else if (busier(&gs, &c->busiest))
			c->busiest = gs;
	} while ((g = g->next) != p->sd->parts);
	update_idle_scan(p, c->util);
}

static u64 average_load(const struct group_stats *gs)
{
	return gs->capacity ? gs->load * CPU_CAPACITY / gs->capacity : 0;
}

/* --- how much to move ----------------------------------------------------- */

static void want(struct pass *p, enum migration_type type, u64 amount)
{
	SCHED_DEBUG_ASSERT((s64)amount >= 0);
	p->type = type;
	p->imbalance = (s64)amount;
}

static bool prefers_sibling(const struct pass *p)
{
	return p->sd->child && (p->sd->child->flags & SD_PREFER_SIBLING);
}

/*
 * Lab 8, fill_spare: how much to move where the local group has room: utilisation between caches,
 * or tasks to even them out within one.
 */
static void fill_spare(struct pass *p, const struct comparison *c)
{
	const struct group_stats *local = &c->local, *busiest = &c->busiest;
	u64 tasks;

	if (busiest->type > GROUP_FULLY_BUSY && !(p->sd->flags & SD_SHARE_LLC)) {
		u64 room = sub_floor0(max(local->capacity, local->util), local->util);

		if (room || p->idle == CPU_BUSY)
			want(p, MIGRATE_UTIL, room);
		else
			want(p, MIGRATE_TASKS, 1);
		return;
	}
	if (busiest->weight == 1 || prefers_sibling(p))
		tasks = sub_floor0(busiest->nr_running, local->nr_running);
	else
		tasks = sub_floor0(local->idle_cpus, busiest->idle_cpus);
	if (p->sd->flags & SD_NUMA)
		tasks = adjust_numa_imbalance((u32)tasks, local->nr_running + 1,
					      p->sd->imb_numa_nr);
	/* Moving half of the difference makes both sides equal. */
	want(p, MIGRATE_TASKS, tasks / 2);
}

/* Lab 8, imbalance: how much of what to move from the busiest part to the local one. */
static void set_imbalance(struct pass *p, struct comparison *c)
{
	struct group_stats *local = &c->local, *busiest = &c->busiest;
	u64 average = c->capacity ? c->load * CPU_CAPACITY / c->capacity : 0, missing;

	SCHED_DEBUG_ASSERT(busiest->group && busiest->group != p->sd->parts);
	if (busiest->type == GROUP_MISFIT) {
		if (pass_is_uneven(p))
			want(p, MIGRATE_MISFIT, 1);
		else
			want(p, MIGRATE_LOAD, busiest->misfit);
		return;
	}
	if (busiest->type == GROUP_IMBALANCED) {
		want(p, MIGRATE_TASKS, 1);
		return;
	}
	if (local->type == GROUP_HAS_SPARE) {
		fill_spare(p, c);
		return;
	}
	/* Unless it is overloaded, busiest->avg_load is 0, and nothing needs to move. */
	local->avg_load = average_load(local);
	if (local->avg_load >= busiest->avg_load || local->avg_load >= average) {
		want(p, MIGRATE_LOAD, 0);
		return;
	}
	/*
	 * The excess of busiest over the average, but at most what local lacks to reach it. Where
	 * others are above the average busiest may be below it: then all that local lacks.
	 */
	missing = (average - local->avg_load) * local->capacity;
	if (average <= busiest->avg_load)
		missing = min(missing, (busiest->avg_load - average) * busiest->capacity);
	want(p, MIGRATE_LOAD, missing / CPU_CAPACITY);
}

/* True if the average loads of two overloaded groups differ clearly. */
static bool loads_differ(const struct pass *p, const struct comparison *c)
{
	u64 local = average_load(&c->local), busiest = average_load(&c->busiest);

	return local < busiest && local * c->capacity < c->load * CPU_CAPACITY &&
	       100 * busiest > p->sd->imbalance_pct * local;
}

/* True if tasks should move: Linux 6.1's decision table, type of busiest against type of local. */
static bool is_unbalanced(struct pass *p, const struct comparison *c)
{
	const struct group_stats *local = &c->local, *busiest = &c->busiest;

	if (!busiest->group)
		return pass_because(p, BALANCE_no_other_tasks, false);
	if (busiest->type == GROUP_MISFIT)
		return pass_because(p, BALANCE_misfit, true);
	if (busiest->type == GROUP_IMBALANCED)
		return pass_because(p, BALANCE_hindered_within, true);
	if (local->type > busiest->type)
		return pass_because(p, BALANCE_worse_here, false);
	if (local->type == GROUP_OVERLOADED)
		return loads_differ(p, c) ? pass_because(p, BALANCE_loads_differ, true)
					  : pass_because(p, BALANCE_loads_alike, false);
	if (prefers_sibling(p) && local->type == GROUP_HAS_SPARE &&
	    busiest->nr_running > local->nr_running + 1)
		return pass_because(p, BALANCE_spreads, true);
	if (busiest->type == GROUP_OVERLOADED)
		return pass_because(p, BALANCE_waits_there, true);
	if (p->idle == CPU_BUSY)
		return pass_because(p, BALANCE_cpu_busy, false);
	if (busiest->weight > 1 && local->idle_cpus <= busiest->idle_cpus + 1)
		return pass_because(p, BALANCE_hardly_idler, false);
	if (busiest->nr_fair == 1)
		return pass_because(p, BALANCE_only_task, false);
	return pass_because(p, BALANCE_idler_here, true);
}

const struct group *find_busiest_group(struct pass *p)
{
	struct comparison c;

	compare_groups(p, &c);
	if (unlikely(p->dst->uneven) && !overutilized_survey(p->s, p->dst->cpu, &p->cpus)) {
		p->rule = BALANCE_placed_by_energy;
		return NULL;
	}
	if (!is_unbalanced(p, &c))
		return NULL;
	set_imbalance(p, &c);
	if (!p->imbalance)
		p->rule = BALANCE_nothing_to_move;
	return p->imbalance ? c.busiest.group : NULL;
}

/* How much of what is to be moved @rq, with @nr fair tasks, has. */
static u64 amount_on(const struct pass *p, const struct rq *rq, u32 nr)
{
	if (p->type == MIGRATE_TASKS)
		return nr;
	if (unlikely(p->type == MIGRATE_MISFIT))
		return READ_ONCE(rq->misfit_load);
	return p->type == MIGRATE_UTIL ? cpu_util(rq) : cpu_load(rq);
}

/* True if moving the only task would only move the imbalance. */
static bool is_only_task(const struct pass *p, const struct rq *rq, u32 nr, u64 amount)
{
	if (nr != 1)
		return false;
	/* Nor should it be pushed to a CPU that is no faster. */
	if (pass_is_uneven(p) && !capacity_exceeds(cpu_capacity(p->dst), cpu_capacity(rq)))
		return true;
	if (p->type == MIGRATE_TASKS || p->type == MIGRATE_MISFIT)
		return false;
	return p->type == MIGRATE_UTIL ||
	       (amount > (u64)p->imbalance && !capacity_is_reduced(rq, p->sd->imbalance_pct));
}

/*
 * Lab 8, queue: the runqueue of @group with the most of what is to be moved, load being counted for
 * the capacity of its CPU; of equals the first. NULL: none is worth it.
 */
struct rq *find_busiest_queue(const struct pass *p, const struct group *group)
{
	struct rq *busiest = NULL;
	u64 most = 0, capacity_of_most = 1;
	unsigned cpu;

	SCHED_DEBUG_ASSERT(group != p->sd->parts);
	for_each_cpu_of(cpu, group, &p->cpus) {
		struct rq *rq = cpu_rq(p->s, cpu);
		u32 nr = READ_ONCE(rq->fair.tasks.nr);
		u64 amount = amount_on(p, rq, nr);
		u64 capacity = p->type == MIGRATE_LOAD ? cpu_capacity(rq) : 1;

		if (unlikely(p->record))
			pass_record_searched(p, cpu, group, nr, amount);
		if (nr && amount * capacity_of_most > most * capacity &&
		    !is_only_task(p, rq, nr, amount)) {
			most = amount;
			capacity_of_most = capacity;
			busiest = rq;
		}
	}
	return busiest;
}
