/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The record of a placement: the CPUs that there were, which one was chosen, and by which rules.
 * The rows are read after the choice; DECISION_CPU_CHANGED marks CPUs that became free meanwhile,
 * or are free no longer.
 */
#include "sched/balance/domain.h"
#include "sched/balance/placement.h"
#include "sched/observe/run.h"
#include "sched/observe/trace.h"

struct cpumask placement_free_cpus(struct sched *s)
{
	struct cpumask free = cpumask_none();
	struct cpumask_walk walk = cpumask_walk(&s->online, 0);

	for (unsigned left = cpumask_weight(&s->online); left; left--) {
		unsigned cpu = cpumask_step(&walk);

		if (cpu_is_free(s, cpu))
			cpumask_set(&free, cpu);
	}
	return free;
}

static const struct run_kind cpus_kind = { EVENT_ID_sched_decision_cpu,
					   sizeof(struct event_sched_decision_cpu),
					   sizeof(struct event_sched_decision_select) };

/* The flags of @cpu that only a few CPUs have. */
static __inlined unsigned cpu_roles(const struct placement_why *why, unsigned cpu)
{
	return (cpu == why->cpu ? DECISION_CPU_WAKER : 0) |
	       (cpu == why->last ? DECISION_CPU_LAST : 0) |
	       (cpu == why->recent ? DECISION_CPU_RECENT : 0) |
	       (cpu == why->aimed ? DECISION_CPU_AIMED : 0);
}

static __inlined void put_cpu(struct event_sched_decision_cpu *row, const struct rq *rq,
			      unsigned cpu, const struct task *t, const struct placement_why *why,
			      unsigned near, const struct cpumask *few)
{
	bool idle = cpu_is_idle(rq), free = idle || cpu_is_sched_idle(rq);
	unsigned flags = (idle ? DECISION_CPU_IDLE : 0) | (free ? DECISION_CPU_FREE : 0) |
			 (task_allowed(t, cpu) ? DECISION_CPU_ALLOWED : 0) |
			 (free != cpumask_test(&why->free, cpu) ? DECISION_CPU_CHANGED : 0) |
			 (rq->llc_id == near ? DECISION_CPU_SHARES : 0);

	if (cpumask_test(few, cpu))
		flags |= cpu_roles(why, cpu);
	row->of_cpu = (u16)cpu;
	row->flags = (u16)flags;
	row->nr_running = READ_ONCE(rq->nr_running);
	row->load = cpu_load(rq);
	row->idle_since = idle ? rq->idle_stamp : 0;
	row->capacity = cpu_capacity(rq);
}

/* A row for each CPU in service, from the one aimed at on; none while their event is off. */
static void put_cpus(struct run *run, struct sched *s, const struct task *t,
		     const struct placement_why *why, u32 nr)
{
	unsigned near = cpu_rq(s, why->aimed)->llc_id;
	struct cpumask few = cpumask_of(why->cpu);
	struct cpumask_walk walk = cpumask_walk(&s->online, why->aimed);
	struct event_sched_decision_cpu *row;

	cpumask_set(&few, why->last);
	cpumask_set(&few, why->recent);
	cpumask_set(&few, why->aimed);
	run_begin(run, &cpus_kind, nr, why->cpu);
	for (; nr && (row = run_row(run, &cpus_kind)); nr--) {
		unsigned cpu = cpumask_step(&walk);

		put_cpu(row, cpu_rq(s, cpu), cpu, t, why, near, &few);
	}
}

/* At how many CPUs a search of the cache of @cpu looks. */
static u32 scan_limit(const struct sched *s, const struct rq *rq)
{
	if (!rq->llc)
		return 0;
	return feature(s, FEATURE_SIS_UTIL) ? READ_ONCE(rq->llc->span->nr_idle_scan) : CPU_MAX;
}

void placement_record(struct sched *s, const struct task *t, const struct placement_why *why)
{
	struct event_sched_decision_select *d;
	struct run run __uninitialized;
	u32 nr_cpus = cpumask_weight(&s->online), nr;

	put_cpus(&run, s, t, why, traced(s, EVENT_sched_decision_cpu) ? nr_cpus : 0);
	d = run_record(&run, &cpus_kind, EVENT_ID_sched_decision_select);
	if (!d)
		return;
	nr = run_nr(&run, &cpus_kind);
	__builtin_memcpy(d->comm, t->comm, TASK_COMM_LEN);
	d->pid = t->pid;
	d->why = why->reason;
	d->waker = (u16)why->cpu;
	d->last = (u16)why->last;
	d->recent = (u16)why->recent;
	d->aimed = (u16)why->aimed;
	d->chosen = (u16)why->chosen;
	d->nr_cpus = (u16)nr_cpus;
	d->nr_rows = (u16)(run.nr_rows + nr);
	d->aim = (u8)why->aim;
	d->rule = (u8)why->rule;
	d->scan = scan_limit(s, cpu_rq(s, why->aimed));
	d->bias_pct = why->bias_pct;
	d->load = task_load(t);
	run_end(&run, &cpus_kind, nr);
}
