/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How busy a group of CPUs is: the measurement that balancing shares with the placement of forked
 * and executing tasks. Everything is read without locks, so the numbers belong to slightly
 * different moments. Both users need them only to be about right. Source: Linux 6.1, fair.c
 * (docs/sources.md).
 */
#include "sched/balance/domain.h"
#include "sched/balance/fit.h"
#include "sched/fair/core/fair.h"
#include "sched/fair/core/pelt.h"
#include "sched/record/pass.h"

/*
 * For functions that both functions that measure inline. A call for each CPU would take a twentieth
 * of a newly idle CPU's search.
 */
#define INLINED static inline __attribute__((always_inline))

static bool is_overloaded(const struct group_stats *gs, u32 pct)
{
	return gs->nr_running > gs->weight &&
	       (gs->capacity * 100 < gs->util * pct || gs->capacity * pct < gs->runnable * 100);
}

static bool has_spare_capacity(const struct group_stats *gs, u32 pct)
{
	if (gs->nr_running < gs->weight)
		return true;
	return gs->capacity * pct >= gs->runnable * 100 && gs->capacity * 100 > gs->util * pct;
}

INLINED enum group_type classify(const struct group_stats *gs, u32 pct)
{
	if (is_overloaded(gs, pct))
		return GROUP_OVERLOADED;
	if (gs->group->imbalance)
		return GROUP_IMBALANCED;
	if (gs->misfit)
		return GROUP_MISFIT;
	return has_spare_capacity(gs, pct) ? GROUP_HAS_SPARE : GROUP_FULLY_BUSY;
}

/* The averages of @t that are a part of those of @rq; NULL if none are, as of a new task. */
INLINED const struct pelt *part_of(const struct rq *rq, const struct task *t)
{
	return t->cpu == rq->cpu && t->fair.avg.last_update ? &t->fair.avg : NULL;
}

INLINED void measure_cpu(struct group_stats *gs, const struct rq *rq, const struct task *except)
{
	const struct pelt *avg = &rq->fair.avg;
	const struct pelt *own = except ? part_of(rq, except) : NULL;
	bool counted = own && except->on_rq == TASK_QUEUED;
	u32 nr = READ_ONCE(rq->nr_running);

	gs->load += own ? sub_floor0(racy_load(&avg->load_avg), own->load_avg)
			: racy_load(&avg->load_avg);
	gs->util += own ? sub_floor0(cpu_util(rq), own->util_avg) : cpu_util(rq);
	gs->runnable += own ? sub_floor0(racy_load(&avg->runnable_avg), own->runnable_avg)
			    : racy_load(&avg->runnable_avg);
	gs->nr_running += nr - (nr && counted);
	gs->nr_fair += READ_ONCE(rq->fair.tasks.nr);
	gs->idle_cpus += cpu_is_idle(rq) || (nr == 1 && counted);
	gs->capacity += cpu_capacity(rq);
	gs->weight++;
}

/*
 * The greatest load of a task that is alone on one of those CPUs of @g that are in @cpus, and would
 * have more of another CPU.
 */
static u64 measure_misfits(struct sched *s, const struct group *g, const struct cpumask *cpus,
			   u32 imbalance_pct)
{
	unsigned cpu;
	u64 most = 0;

	for_each_cpu_of(cpu, g, cpus) {
		const struct rq *rq = cpu_rq(s, cpu);

		if (READ_ONCE(rq->fair.tasks.nr) == 1 && capacity_is_reduced(rq, imbalance_pct))
			most = max(most, cpu_load(rq));
	}
	return most;
}

/* True if @t may run on one of those CPUs of @g that are in @cpus, and that has enough for it. */
static bool fits_one(struct sched *s, const struct group *g, const struct cpumask *cpus,
		     const struct task *t)
{
	unsigned cpu;

	for_each_cpu_of(cpu, g, cpus)
		if (task_allowed(t, cpu) && task_fits(cpu_rq(s, cpu), t))
			return true;
	return false;
}

/* The rest of the measurements, where CPUs have several capacities. */
static __noinline void measure_uneven(struct sched *s, struct group_stats *gs,
				      const struct cpumask *cpus, const struct task *except)
{
	unsigned cpu;

	gs->least_capacity = CPU_CAPACITY;
	for_each_cpu_of(cpu, gs->group, cpus) {
		const struct rq *rq = cpu_rq(s, cpu);

		gs->least_capacity = min(gs->least_capacity, cpu_capacity(rq));
		gs->most_capacity = max(gs->most_capacity, cpu_capacity(rq));
		if (!except)
			gs->misfit = max(gs->misfit, READ_ONCE(rq->misfit_load));
	}
	if (except)
		gs->misfit = !fits_one(s, gs->group, cpus, except);
}

/* All CPUs are measured: what does that make of the group? */
INLINED void conclude(struct group_stats *gs, const struct task *except, u32 pct)
{
	gs->type = classify(gs, pct);
	if (gs->capacity &&
	    (gs->type == GROUP_OVERLOADED || (except && gs->type == GROUP_FULLY_BUSY)))
		gs->avg_load = gs->load * CPU_CAPACITY / gs->capacity;
}

/* group_measure(); for the pass @recorded, unless it is NULL, with records. */
INLINED struct group_stats measure(struct sched *s, const struct group *group,
				   const struct cpumask *cpus, const struct task *except,
				   u32 imbalance_pct, enum misfits misfits,
				   const struct pass *recorded)
{
	struct group_stats gs = { .group = group };
	unsigned cpu;

	for_each_cpu_of(cpu, group, cpus) {
		struct group_stats before = gs;

		measure_cpu(&gs, cpu_rq(s, cpu), except);
		if (recorded)
			pass_record_measured(recorded, cpu, &before, &gs);
	}
	/* Most of the time no CPU has lost any capacity. */
	if (misfits == MISFITS_REDUCED && gs.capacity < gs.weight * CPU_CAPACITY)
		gs.misfit = measure_misfits(s, group, cpus, imbalance_pct);
	else if (unlikely(misfits == MISFITS_UNEVEN))
		measure_uneven(s, &gs, cpus, except);
	conclude(&gs, except, imbalance_pct);
	if (recorded)
		pass_record_part(recorded, &gs);
	return gs;
}

struct group_stats group_measure(struct sched *s, const struct group *group,
				 const struct cpumask *cpus, const struct task *except,
				 u32 imbalance_pct, enum misfits misfits)
{
	return measure(s, group, cpus, except, imbalance_pct, misfits, NULL);
}

struct group_stats pass_measure_recorded(const struct pass *p, const struct group *part,
					 enum misfits misfits)
{
	return measure(p->s, part, &p->cpus, NULL, p->sd->imbalance_pct, misfits, p);
}

u32 adjust_numa_imbalance(u32 imbalance, u32 running, u32 imb_numa_nr)
{
	/* Two tasks that talk to each other should stay on one node. */
	const u32 pair = 2;

	if (running > imb_numa_nr)
		return imbalance;
	return imbalance <= pair ? 0 : imbalance;
}
