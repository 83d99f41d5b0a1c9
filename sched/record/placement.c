/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The record of a placement: the CPUs that there are, which one was chosen, and by which rules. The
 * rows are made before the choice. Afterwards DECISION_CPU_CHANGED marks CPUs of which tasks, load
 * or capacity changed meanwhile: what the choice saw of them is not certain.
 */
#include "sched/balance/domain.h"
#include "sched/balance/fit.h"
#include "sched/freq/freq.h"
#include "sched/observe/trace.h"
#include "sched/record/placement.h"

static const struct run_kind cpus_kind = { EVENT_ID_sched_decision_cpu,
					   sizeof(struct event_sched_decision_cpu),
					   sizeof(struct event_sched_decision_select) };

STATIC_ASSERT(CPU_MAX <= 32767, "the number of a CPU, or -1, fits struct choice");

/* Fills in @row, all but `common`. */
static __inlined void put_cpu(struct event_sched_decision_cpu *row, const struct rq *rq,
			      unsigned cpu, bool allowed)
{
	u16 flags = allowed ? DECISION_CPU_ALLOWED : 0;
	u64 idle_since = 0;

	if (cpu_is_idle(rq)) {
		flags |= DECISION_CPU_IDLE | DECISION_CPU_FREE;
		idle_since = READ_ONCE(rq->idle_stamp);
	} else if (cpu_is_sched_idle(rq)) {
		flags |= DECISION_CPU_FREE;
	}
	row->of_cpu = (u16)cpu;
	row->cache = (u16)rq->llc_id;
	row->flags = flags;
	row->capacity = (u16)cpu_capacity(rq);
	row->nr_running = READ_ONCE(rq->nr_running);
	row->load = cpu_load(rq);
	row->idle_since = idle_since;
	row->full = rq->capacity_orig;
}

void placement_record_begin(struct run *run, struct sched *s, const struct task *t, unsigned waker)
{
	u32 left = traced(s, EVENT_sched_decision_cpu) ? s->nr_cpus : 0;
	unsigned cpu = t->cpu;
	struct rows rows;

	run_begin(run, &cpus_kind, left, waker);
	rows = rows_begin(run, &cpus_kind);
	for (; left; left--, cpu = cpu + 1 == s->nr_cpus ? 0 : cpu + 1) {
		const struct rq *rq = cpu_rq(s, cpu);
		struct event_sched_decision_cpu *row;

		if (unlikely(!rq->online))
			continue;
		row = rows_next(&rows, run, &cpus_kind);
		if (!row)
			return;
		put_cpu(row, rq, cpu, task_allowed(t, cpu));
	}
	rows_end(&rows, run, &cpus_kind);
}

/* Is @rq as @row says, in what a choice goes by? As cpu_is_free(), with one look at each. */
static __inlined bool is_as_it_was(const struct rq *rq, const struct event_sched_decision_cpu *row)
{
	u32 nr = READ_ONCE(rq->nr_running);

	if (nr != row->nr_running || cpu_load(rq) != row->load || cpu_capacity(rq) != row->capacity)
		return false;
	if (nr ? nr == READ_ONCE(rq->fair.tasks.nr_idle) : READ_ONCE(rq->curr) == rq->idle)
		return row->flags & DECISION_CPU_FREE;
	return !(row->flags & DECISION_CPU_FREE);
}

/* A look at the rows that this run still has: earlier runs have been handed over. */
static __inlined void mark_changed(const struct run *run, struct sched *s)
{
	const u32 step = run_step(cpus_kind.size);

	for (u8 *at = run->first; at != run->next; at += step) {
		struct event_sched_decision_cpu *row = (struct event_sched_decision_cpu *)at;

		if (unlikely(!is_as_it_was(cpu_rq(s, row->of_cpu), row)))
			row->flags |= DECISION_CPU_CHANGED;
	}
}

/* At how many CPUs a search of the cache of @cpu looks. */
static u32 scan_limit(const struct sched *s, const struct rq *rq)
{
	if (!rq->llc)
		return 0;
	return feature(s, FEATURE_SIS_UTIL) ? READ_ONCE(rq->llc->span->nr_idle_scan) : CPU_MAX;
}

void placement_record_end(const struct run *run, struct sched *s, const struct task *t,
			  const struct placement *before, struct choice to)
{
	struct event_sched_decision_select *d =
		run_record(run, &cpus_kind, EVENT_ID_sched_decision_select);
	bool clamped = s->freq && READ_ONCE(s->freq->clamped);
	u32 nr;

	if (!d)
		return;
	mark_changed(run, s);
	nr = run_nr(run, &cpus_kind);
	__builtin_memcpy(d->comm, t->comm, TASK_COMM_LEN);
	d->pid = t->pid;
	d->why = before->reason;
	d->waker = (u16)before->waker;
	d->last = (u16)before->last;
	d->recent = (u16)before->recent;
	d->aimed = (u16)to.aim.cpu;
	d->chosen = (u16)to.cpu;
	d->nr_cpus = (u16)cpumask_weight(&s->online);
	d->nr_rows = (u16)(run->nr_rows + nr);
	d->aim = to.aim.rule;
	d->rule = to.rule;
	d->scan = scan_limit(s, cpu_rq(s, (unsigned)to.aim.cpu));
	d->bias_pct = to.aim.bias_pct;
	d->load = before->load;
	d->util = (u32)task_util(t);
	d->least = clamped ? (u16)clamp_effective(s, t, SCHED_CLAMP_MIN) : 0;
	d->most = clamped ? (u16)clamp_effective(s, t, SCHED_CLAMP_MAX) : CPU_CAPACITY;
	run_end(run, &cpus_kind, nr);
}
