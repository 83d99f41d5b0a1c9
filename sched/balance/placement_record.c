/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The record of a placement: the CPUs that there were, which one was chosen, and by which rules.
 * The rows are read after the choice; DECISION_CPU_CHANGED marks CPUs that became free meanwhile,
 * or are free no longer.
 */
#include "sched/balance/domain.h"
#include "sched/balance/placement.h"
#include "sched/observe/trace.h"

struct cpumask placement_free_cpus(struct sched *s)
{
	struct cpumask free = s->online;
	unsigned cpu;

	for_each_cpu(cpu, &s->online)
		if (!cpu_is_free(s, cpu))
			cpumask_clear(&free, cpu);
	return free;
}

static u16 cpu_flags(struct sched *s, const struct task *t, const struct placement_why *why,
		     unsigned cpu)
{
	const struct rq *rq = cpu_rq(s, cpu);
	bool idle = cpu_is_idle(rq), free = cpu_is_free(s, cpu);

	return (u16)((idle ? DECISION_CPU_IDLE : 0) | (free ? DECISION_CPU_FREE : 0) |
		     (free != cpumask_test(&why->free, cpu) ? DECISION_CPU_CHANGED : 0) |
		     (task_allowed(t, cpu) ? DECISION_CPU_ALLOWED : 0) |
		     (cpu == why->cpu ? DECISION_CPU_WAKER : 0) |
		     (cpu == why->last ? DECISION_CPU_LAST : 0) |
		     (cpu == why->recent ? DECISION_CPU_RECENT : 0) |
		     (cpu == why->aimed ? DECISION_CPU_AIMED : 0) |
		     (shares_llc(s, cpu, why->aimed) ? DECISION_CPU_SHARES : 0));
}

static void put_cpu(struct sched *s, const struct task *t, const struct placement_why *why,
		    unsigned cpu)
{
	const struct rq *rq = cpu_rq(s, cpu);
	struct event_sched_decision_cpu row = {
		.common = { EVENT_ID_sched_decision_cpu, sizeof(row), why->cpu },
		.of_cpu = (u16)cpu,
		.flags = cpu_flags(s, t, why, cpu),
		.nr_running = READ_ONCE(rq->nr_running),
		.load = cpu_load(rq),
		.idle_since = cpu_is_idle(rq) ? rq->idle_stamp : 0,
		.capacity = cpu_capacity(rq),
	};

	host_trace(&row.common);
}

/* Returns how many rows were recorded: none while their event is off. */
static u16 put_cpus(struct sched *s, const struct task *t, const struct placement_why *why)
{
	unsigned cpu = why->aimed;
	u16 nr = 0;

	if (!traced(s, EVENT_sched_decision_cpu))
		return 0;
	for (u32 left = cpumask_weight(&s->online); left && nr < DECISION_ROWS_MAX; left--, nr++) {
		if (nr || !cpumask_test(&s->online, cpu))
			cpu = cpumask_next_wrap(&s->online, cpu);
		put_cpu(s, t, why, cpu);
	}
	return nr;
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
	struct event_sched_decision_select d = {
		.common = { EVENT_ID_sched_decision_select, sizeof(d), why->cpu },
		.pid = t->pid,
		.why = why->reason,
		.waker = (u16)why->cpu,
		.last = (u16)why->last,
		.recent = (u16)why->recent,
		.aimed = (u16)why->aimed,
		.chosen = (u16)why->chosen,
		.nr_cpus = (u16)cpumask_weight(&s->online),
		.nr_rows = put_cpus(s, t, why),
		.aim = (u8)why->aim,
		.rule = (u8)why->rule,
		.scan = scan_limit(s, cpu_rq(s, why->aimed)),
		.bias_pct = why->bias_pct,
		.load = task_load(t),
	};

	__builtin_memcpy(d.comm, t->comm, TASK_COMM_LEN);
	host_trace(&d.common);
}
