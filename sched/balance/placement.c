/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Placement: the CPU on which a fair task wakes up, starts, or continues after exec.
 *
 *	wakeup:  near the waker or near the task's last CPU (wake_affine), then the first
 *	         idle CPU that shares that CPU's cache (select_idle_sibling) - fast; where CPUs
 *	         have several capacities, the first that has enough (fit_idle_cpu)
 *	fork, exec: the least loaded CPU, searched from the widest domain down - thorough,
 *	         for a task with little in any cache
 *
 * Other runqueues are read without their locks: an answer that was right a moment ago is
 * good enough. Source: Linux 6.1, fair.c (docs/sources.md).
 */
#include "sched/balance/balance.h"
#include "sched/balance/domain.h"
#include "sched/balance/energy.h"
#include "sched/balance/fit.h"
#include "sched/fair/core/class.h"
#include "sched/fair/core/pelt.h"
#include "sched/observe/trace.h"
#include "sched/record/placement.h"

/* --- is the wakee the waker's partner? ------------------------------------ */

static void record_wakee(struct rq *waker_rq, const struct task *wakee)
{
	struct task *waker = waker_rq->curr;

	/* Other CPUs may lock the runqueue, and read its clock. */
	if (racy_load(&waker_rq->clock) - waker->wakee_flips_stamp > NS_PER_SEC) {
		waker->wakee_flips /= 2;
		waker->wakee_flips_stamp = racy_load(&waker_rq->clock);
	}
	if (waker->last_wakee != wakee) {
		waker->last_wakee = wakee;
		waker->wakee_flips++;
	}
}

/*
 * True if one waker serves many wakees, as a dispatcher does. Drawing them all to the waker's CPU
 * would pile them up there.
 */
static bool wakes_widely(const struct rq *waker_rq, const struct task *wakee)
{
	u32 a = waker_rq->curr->wakee_flips, b = wakee->wakee_flips;
	u32 master = max(a, b), slave = min(a, b);

	return slave >= waker_rq->llc_size && master >= slave * waker_rq->llc_size;
}

/* --- the waker's CPU or the wakee's? -------------------------------------- */

/* Lab 9, affine_idle: @cpu or @prev, whichever idles or will in a moment; -1: neither does. */
static struct aim affine_by_idleness(struct sched *s, unsigned cpu, unsigned prev, bool sync)
{
	bool prev_idles = cpu_is_idle(cpu_rq(s, prev));

	if (cpu_is_idle(cpu_rq(s, cpu)) && shares_llc(s, cpu, prev))
		return prev_idles ? aim_at(prev, AIM_last_idles) : aim_at(cpu, AIM_waker_idles);
	if (sync && READ_ONCE(cpu_rq(s, cpu)->nr_running) == 1)
		return aim_at(cpu, AIM_waker_sleeps);
	return prev_idles ? aim_at(prev, AIM_last_idles) : aim_at(-1, AIM_ran_there);
}

/* Per cent by which the waker's CPU may be loaded more. */
static u32 affine_bias(const struct sched *s, const struct domain *sd)
{
	return feature(s, FEATURE_WA_BIAS) ? (sd->imbalance_pct - 100) / 2 : 0;
}

/*
 * Lab 9, affine_weight: true if @cpu, with the wakee @t, would be less loaded than @prev without
 * it, each for its capacity. With @sync the waker is about to sleep: its load does not count.
 */
static bool affine_by_weight(struct sched *s, const struct domain *sd, const struct task *t,
			     unsigned cpu, unsigned prev, bool sync)
{
	u64 here = cpu_load(cpu_rq(s, cpu)), there = cpu_load(cpu_rq(s, prev));
	u32 bias = affine_bias(s, sd);
	const struct task *waker = READ_ONCE(cpu_rq(s, cpu)->curr);

	if (sync) {
		u64 leaving = task_load(waker);

		if (leaving > here)
			return true;
		here -= leaving;
	}
	here = (here + task_load(t)) * 100 * cpu_capacity(cpu_rq(s, prev));
	there = sub_floor0(there, task_load(t)) * (100 + bias) * cpu_capacity(cpu_rq(s, cpu));
	return here < there + sync;
}

static struct aim wake_affine(struct sched *s, struct domain *sd, const struct task *t,
			      unsigned cpu, unsigned prev, bool sync)
{
	struct aim to = aim_at(-1, AIM_ran_there);

	SCHED_DEBUG_ASSERT(cpu != prev && cpumask_test(&sd->span->cpus, prev));
	if (feature(s, FEATURE_WA_IDLE))
		to = affine_by_idleness(s, cpu, prev, sync);
	if (to.cpu < 0 && feature(s, FEATURE_WA_WEIGHT) &&
	    affine_by_weight(s, sd, t, cpu, prev, sync))
		to = aim_at(cpu, AIM_waker_lighter);
	if (to.cpu < 0)
		to = aim_at(prev, AIM_ran_there);
	else
		sd->ttwu_move_affine += schedstats(s) && (unsigned)to.cpu == cpu;
	to.bias_pct = affine_bias(s, sd);
	return to;
}

/* --- an idle CPU that shares the cache ------------------------------------ */

static bool has_smt(const struct rq *rq)
{
	return rq->core->weight > 1;
}

static bool core_is_idle(struct sched *s, const struct group *core, unsigned except)
{
	unsigned cpu;

	for_each_cpu_of(cpu, core, &core->cpus)
		if (cpu != except && !cpu_is_idle(cpu_rq(s, cpu)))
			return false;
	return true;
}

void placement_cpu_idles(struct rq *rq)
{
	struct group *llc = rq->llc ? rq->llc->span : NULL;

	debug_assert_locked(rq);
	if (llc && has_smt(rq) && !READ_ONCE(llc->has_idle_cores) &&
	    core_is_idle(rq->s, rq->core, rq->cpu))
		WRITE_ONCE(llc->has_idle_cores, true);
}

static bool may_run(const struct sched *s, const struct task *t, unsigned cpu)
{
	return task_allowed(t, cpu) && cpumask_test(&s->online, cpu);
}

/* The CPUs around @cpu that have all capacities of the machine; NULL: all in service are equal. */
static const struct domain *uneven_around(struct sched *s, unsigned cpu)
{
	if (likely(!cpu_rq(s, cpu)->uneven))
		return NULL;
	return domain_of_all_capacities(s, cpu, cpu);
}

/* True if @cpu is free and, where CPUs have several capacities, has enough for @t. */
static bool suits(struct sched *s, const struct task *t, unsigned cpu)
{
	return cpu_is_free(s, cpu) &&
	       (likely(!uneven_around(s, cpu)) || task_fits(cpu_rq(s, cpu), t));
}

/* A CPU of a wholly idle core, else a free thread of any core, else -1. */
static int scan_cores(struct sched *s, const struct task *t, struct group *llc, unsigned target)
{
	unsigned cpu = target;
	int thread = -1;

	SCHED_DEBUG_ASSERT(cpumask_test(&llc->cpus, target));
	for (unsigned n = llc->weight; n; n--) {
		cpu = next_cpu_around(llc, cpu);
		if (!may_run(s, t, cpu))
			continue;
		if (core_is_idle(s, cpu_rq(s, cpu)->core, CPU_MAX))
			return (int)cpu;
		if (thread < 0 && cpu_is_free(s, cpu))
			thread = (int)cpu;
	}
	WRITE_ONCE(llc->has_idle_cores, false);
	return thread;
}

/*
 * Lab 9, scan: a free CPU of @llc after @target, or -1. The busier the LLC, the shorter the search:
 * a long one would most likely fail, and would delay the wakeup.
 */
static int scan_cpus(struct sched *s, const struct task *t, const struct group *llc,
		     unsigned target)
{
	unsigned limit = feature(s, FEATURE_SIS_UTIL) ? READ_ONCE(llc->nr_idle_scan) : CPU_MAX;
	unsigned cpu = target;

	SCHED_DEBUG_ASSERT(cpumask_test(&llc->cpus, target));
	for (unsigned n = llc->weight; n && limit; n--) {
		cpu = next_cpu_around(llc, cpu);
		if (!may_run(s, t, cpu))
			continue;
		if (cpu_is_free(s, cpu))
			return (int)cpu;
		limit--;
	}
	return -1;
}

static int scan_core_of(struct sched *s, const struct task *t, unsigned prev)
{
	const struct group *core = cpu_rq(s, prev)->core;
	unsigned cpu;

	for_each_cpu_of(cpu, core, &t->allowed)
		if (cpu != prev && cpu_is_free(s, cpu))
			return (int)cpu;
	return -1;
}

static int scan_llc(struct sched *s, const struct task *t, unsigned prev, unsigned target)
{
	const struct rq *rq = cpu_rq(s, target);
	struct group *llc;

	if (!rq->llc)
		return -1;
	llc = rq->llc->span;
	if (has_smt(rq)) {
		if (READ_ONCE(llc->has_idle_cores))
			return scan_cores(s, t, llc, target);
		if (shares_llc(s, prev, target)) {
			int cpu = scan_core_of(s, t, prev);

			if (cpu >= 0)
				return cpu;
		}
	}
	return scan_cpus(s, t, llc, target);
}

static struct choice idle_cpu_near(struct sched *s, const struct task *t, unsigned prev,
				   unsigned target)
{
	const struct domain *uneven = uneven_around(s, target);
	bool fits = false;
	int cpu;

	if (likely(!uneven))
		return chosen(scan_llc(s, t, prev, target), CPU_free_in_cache);
	cpu = fit_idle_cpu(s, uneven, t, target, &fits);
	return chosen(cpu, fits ? CPU_free_and_fits : CPU_most_capacity);
}

int fair_idle_cpu(struct sched *s, const struct task *t, unsigned prev, unsigned target)
{
	return idle_cpu_near(s, t, prev, target).cpu;
}

/* An idle CPU near @target, or -1: neither @target, @prev nor the recently used CPU is free. */
static struct choice search(struct sched *s, const struct task *t, unsigned prev, unsigned target)
{
	const struct fair_policy *policy = READ_ONCE(s->fair_policy);
	int found = -1;

	if (unlikely(t->group))
		found = policy->select_cpu(s, t, prev, target);
	return found >= 0 ? chosen(found, CPU_policy_chose) : idle_cpu_near(s, t, prev, target);
}

/* SIS_NODE: search behind the other caches of the node too, starting after the target's cache. */
static int scan_node(struct sched *s, const struct task *t, unsigned prev, unsigned target)
{
	const struct rq *rq = cpu_rq(s, target);
	struct domain *sd = rq->llc ? rq->llc->parent : rq->domains;
	int found = -1;

	if (!sd || (sd->flags & (SD_NUMA | SD_SHARE_LLC)))
		return -1;
	for (struct group *g = sd->parts->next; g != sd->parts && found < 0; g = g->next) {
		unsigned first = cpumask_next(&s->online, g->first);

		if (first == CPU_MAX || !cpumask_test(&g->cpus, first))
			continue;
		if (cpu_rq(s, first)->llc)
			found = fair_idle_cpu(s, t, prev, first);
		else if (may_run(s, t, first) && cpu_is_free(s, first))
			found = (int)first;
	}
	return found;
}

/*
 * SIS_MACHINE: the nearest idle CPU of the machine, or -1. Lozi et al. proposed this against
 * overload on wakeup. If no CPU idles, it searches the whole machine in vain.
 */
static int scan_machine(struct sched *s, const struct task *t, unsigned target)
{
	struct domain *sd;
	unsigned cpu;

	for_each_domain(sd, cpu_rq(s, target))
		for_each_cpu(cpu, &sd->span->cpus)
			if (cpu_is_idle(cpu_rq(s, cpu)) && may_run(s, t, cpu))
				return (int)cpu;
	return -1;
}

/* Lab 9, idle_sibling: a free one of @target, @prev, the CPU before, and those around @target. */
static struct choice select_idle_sibling(struct sched *s, struct task *t, unsigned prev,
					 unsigned target)
{
	unsigned recent = t->recent_used_cpu;
	struct choice found;

	if (task_allowed(t, target) && suits(s, t, target))
		return chosen(target, CPU_aim_free);
	if (prev != target && shares_llc(s, prev, target) && task_allowed(t, prev) &&
	    suits(s, t, prev))
		return chosen(prev, CPU_last_free);
	t->recent_used_cpu = prev;
	if (recent != prev && recent != target && shares_llc(s, recent, target) &&
	    may_run(s, t, recent) && suits(s, t, recent))
		return chosen(recent, CPU_recent_free);
	found = search(s, t, prev, target);
	if (found.cpu < 0 && feature(s, FEATURE_SIS_NODE))
		found = chosen(scan_node(s, t, prev, target), CPU_free_in_node);
	if (found.cpu < 0 && feature(s, FEATURE_SIS_MACHINE))
		found = chosen(scan_machine(s, t, target), CPU_free_in_machine);
	return found.cpu >= 0 ? found : chosen(target, CPU_none_free);
}

/* --- the least loaded CPU ------------------------------------------------- */

/* True if @a is idler than @b, the best group so far. */
static bool idler(const struct group_stats *a, const struct group_stats *b)
{
	if (a->type != b->type)
		return a->type < b->type;
	if (a->type == GROUP_HAS_SPARE)
		return a->idle_cpus != b->idle_cpus ? a->idle_cpus > b->idle_cpus
						    : a->util < b->util;
	if (a->type == GROUP_MISFIT)
		return a->most_capacity > b->most_capacity;
	if (a->type == GROUP_IMBALANCED)
		return false;
	return a->avg_load < b->avg_load;
}

/* True if leaving @local for @idlest pays. Both are of the same type. */
static bool worth_leaving(const struct domain *sd, const struct group_stats *local,
			  const struct group_stats *idlest)
{
	u64 margin = 1024ull * (sd->imbalance_pct - 100) / 100;
	u32 diff = idlest->idle_cpus > local->idle_cpus ? idlest->idle_cpus - local->idle_cpus
							: local->idle_cpus - idlest->idle_cpus;

	switch (local->type) {
	case GROUP_OVERLOADED:
	case GROUP_FULLY_BUSY:
		if ((sd->flags & SD_NUMA) && idlest->avg_load + margin >= local->avg_load)
			return false;
		return idlest->avg_load < local->avg_load + margin &&
		       100 * local->avg_load > sd->imbalance_pct * idlest->avg_load;
	case GROUP_HAS_SPARE:
		if ((sd->flags & SD_NUMA) &&
		    !adjust_numa_imbalance(diff, local->nr_running + 1, sd->imb_numa_nr))
			return false;
		return local->idle_cpus < idlest->idle_cpus;
	case GROUP_MISFIT:
		return local->most_capacity < idlest->most_capacity;
	default:
		return false;
	}
}

/* The part of @sd that should get the task, or NULL if that is the local part. */
static struct group *find_idlest_group(struct sched *s, struct domain *sd, const struct task *t)
{
	struct cpumask usable = cpumask_and(&t->allowed, &s->online);
	struct group_stats local = { .group = NULL }, idlest = { .group = NULL };
	struct group *g = sd->parts, *best = NULL;
	enum misfits misfits = sd->flags & SD_ASYM_CPUCAPACITY ? MISFITS_UNEVEN : MISFITS_NONE;

	do {
		struct group_stats gs;

		if (next_cpu_of(g, &usable, g->first) == CPU_MAX)
			continue;
		gs = group_measure(s, g, &s->online, t, sd->imbalance_pct, misfits);
		if (g == sd->parts) {
			local = gs;
		} else if (!best || idler(&gs, &idlest)) {
			idlest = gs;
			best = g;
		}
	} while ((g = g->next) != sd->parts);
	if (!best || !local.group || local.type > idlest.type)
		return best;
	if (local.type < idlest.type || !worth_leaving(sd, &local, &idlest))
		return NULL;
	return best;
}

/*
 * The CPU of @g that has been idle for the shortest time: its caches are the warmest. If no CPU
 * idles, the least loaded one.
 */
static unsigned find_idlest_cpu_in(struct sched *s, const struct group *g, const struct task *t,
				   unsigned cpu)
{
	struct cpumask usable = cpumask_and(&t->allowed, &s->online);
	unsigned best = cpu, idlest = CPU_MAX, candidate;
	u64 least = UINT64_MAX, latest_stamp = 0;

	for_each_cpu_of(candidate, g, &usable) {
		struct rq *rq = cpu_rq(s, candidate);

		if (cpu_is_sched_idle(rq))
			return candidate;
		if (cpu_is_idle(rq)) {
			u64 stamp = racy_load(&rq->idle_stamp);

			if (idlest == CPU_MAX || stamp > latest_stamp) {
				idlest = candidate;
				latest_stamp = stamp;
			}
		} else if (cpu_load(rq) < least) {
			least = cpu_load(rq);
			best = candidate;
		}
	}
	return idlest != CPU_MAX ? idlest : best;
}

/* The widest domain of @cpu that has fewer than @weight CPUs and the flag @reason, or NULL. */
static struct domain *next_domain_down(struct sched *s, unsigned cpu, u32 weight, unsigned reason)
{
	struct domain *sd, *found = NULL;

	for_each_domain(sd, cpu_rq(s, cpu)) {
		if (sd->span->weight >= weight)
			break;
		if (sd->flags & reason)
			found = sd;
	}
	return found;
}

static unsigned find_idlest_cpu(struct sched *s, struct domain *sd, const struct task *t,
				unsigned cpu, unsigned reason)
{
	while (sd) {
		struct group *g = sd->flags & reason ? find_idlest_group(s, sd, t) : NULL;
		unsigned better = g ? find_idlest_cpu_in(s, g, t, cpu) : cpu;

		if (better == cpu) {
			sd = sd->child;
			continue;
		}
		cpu = better;
		sd = next_domain_down(s, cpu, sd->span->weight, reason);
	}
	return cpu;
}

/* --- the operation -------------------------------------------------------- */

static struct choice select_waking(struct sched *s, struct task *t, unsigned cpu, bool sync)
{
	struct rq *waker_rq = cpu_rq(s, cpu);
	unsigned prev = t->cpu;
	struct aim aim = aim_at(prev, AIM_ran_there);
	struct choice to;
	struct domain *sd;

	if (task_allowed(t, cpu) && cpu != prev && !wakes_widely(waker_rq, t)) {
		for_each_domain(sd, waker_rq) {
			if (!(sd->flags & SD_WAKE_AFFINE) || !cpumask_test(&sd->span->cpus, prev))
				continue;
			sd->ttwu_wake_remote += schedstats(s);
			aim = wake_affine(s, sd, t, cpu, prev, sync);
			break;
		}
	}
	if (unlikely(waker_rq->uneven))
		pelt_catch_up(&t->fair);
	to = select_idle_sibling(s, t, prev, (unsigned)aim.cpu);
	to.aim = aim;
	return to;
}

static struct choice select_spreading(struct sched *s, struct task *t, unsigned cpu,
				      unsigned reason)
{
	struct domain *sd, *widest = NULL;
	struct choice to;

	for_each_domain(sd, cpu_rq(s, cpu)) {
		if (!(sd->flags & reason))
			break;
		widest = sd;
	}
	to = chosen(find_idlest_cpu(s, widest, t, cpu, reason), CPU_idlest);
	if ((unsigned)to.cpu == cpu)
		to.rule = CPU_none_idler;
	to.aim = aim_at(cpu, AIM_made_there);
	return to;
}

/* The grounds of a choice: load, or energy, which then tells in records what it went by. */
enum basis { BY_LOAD, BY_ENERGY, BY_ENERGY_RECORDED };

static struct choice choose_cpu(struct rq *rq, struct task *t, unsigned cpu, unsigned reason,
				enum basis basis)
{
	struct sched *s = rq->s;
	struct choice to;

	if (reason & SELECT_WAKE)
		record_wakee(cpu_rq(s, cpu), t);
	if (unlikely(basis != BY_LOAD))
		to = energy_select(rq, t, cpu, basis == BY_ENERGY_RECORDED);
	else if (reason & SELECT_WAKE)
		to = select_waking(s, t, cpu, reason & SELECT_SYNC);
	else
		to = select_spreading(s, t, cpu, reason & (SELECT_FORK | SELECT_EXEC));
	if (unlikely(!may_run(s, t, (unsigned)to.cpu))) {
		to.cpu = any_allowed_cpu(s, t);
		to.rule = CPU_only_allowed;
	}
	return to;
}

static __noinline struct choice choose_recorded(struct rq *rq, struct task *t, unsigned cpu,
						unsigned reason, enum basis basis)
{
	const struct placement before = {
		.waker = cpu,
		.reason = reason,
		.last = t->cpu,
		.recent = t->recent_used_cpu,
		.load = task_load(t),
	};
	struct run run __uninitialized;
	struct choice to;

	/* Energy's records come first: nothing else is traced between those of the CPUs. */
	if (basis == BY_ENERGY)
		to = choose_cpu(rq, t, cpu, reason, BY_ENERGY_RECORDED);
	placement_record_begin(&run, rq->s, t, cpu);
	if (basis == BY_LOAD)
		to = choose_cpu(rq, t, cpu, reason, BY_LOAD);
	placement_record_end(&run, rq->s, t, &before, to);
	return to;
}

unsigned fair_select_cpu(struct rq *rq, struct task *t, unsigned cpu, unsigned reason)
{
	enum basis basis = BY_LOAD;

	debug_assert_locked(rq);
	SCHED_DEBUG_ASSERT(t->cpu == rq->cpu);
	/* With one CPU in the machine or in the task's affinity there is nothing to choose. */
	if ((t->nr_allowed == 1 || !rq->domains) && likely(task_may_be_on(t, rq)))
		return t->cpu;
	if (unlikely(rq->uneven) && (reason & SELECT_WAKE) && energy_places(rq->s, cpu, t))
		basis = BY_ENERGY;
	if (unlikely(traced(rq->s, EVENT_sched_decision_select)))
		return (unsigned)choose_recorded(rq, t, cpu, reason, basis).cpu;
	return (unsigned)choose_cpu(rq, t, cpu, reason, basis).cpu;
}
