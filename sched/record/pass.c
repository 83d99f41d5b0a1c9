/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The record of a balancing pass: each row with the numbers that the pass went by, at the
 * moment when it did. A row is emitted only while its own event is on.
 */
#include "sched/balance/fit.h"
#include "sched/fair/core/fair.h"
#include "sched/observe/trace.h"
#include "sched/record/pass.h"

STATIC_ASSERT(CPU_MAX <= 32767, "the number of a part, or -1, fits the s16 of the record");
STATIC_ASSERT((int)GROUP_HAS_SPARE == PART_has_spare, "as rule.def says");
STATIC_ASSERT((int)GROUP_FULLY_BUSY == PART_fully_busy, "as rule.def says");
STATIC_ASSERT((int)GROUP_MISFIT == PART_misfit, "as rule.def says");
STATIC_ASSERT((int)GROUP_IMBALANCED == PART_imbalanced, "as rule.def says");
STATIC_ASSERT((int)GROUP_OVERLOADED == PART_overloaded, "as rule.def says");
STATIC_ASSERT((int)MIGRATE_LOAD == AMOUNT_load, "as rule.def says");
STATIC_ASSERT((int)MIGRATE_UTIL == AMOUNT_util, "as rule.def says");
STATIC_ASSERT((int)MIGRATE_TASKS == AMOUNT_tasks, "as rule.def says");
STATIC_ASSERT((int)MIGRATE_MISFIT == AMOUNT_misfit, "as rule.def says");
STATIC_ASSERT((int)CPU_IDLE == IDLENESS_idle, "as rule.def says");
STATIC_ASSERT((int)CPU_BUSY == IDLENESS_busy, "as rule.def says");
STATIC_ASSERT((int)CPU_NEWLY_IDLE == IDLENESS_newly_idle, "as rule.def says");

/* All events of a pass are those of the CPU for which it began. */
#define COMMON(p, event)                                                                           \
	{                                                                                          \
		EVENT_ID_sched_decision_##event, sizeof(struct event_sched_decision_##event),      \
			(p)->record->common.cpu                                                    \
	}

/* --- a round ---------------------------------------------------------------- */

static void begin_round(const struct pass *p, u8 round)
{
	const struct domain *sd = p->sd;
	struct event_sched_decision_balance *d = p->record;

	*d = (struct event_sched_decision_balance){
		.common = { EVENT_ID_sched_decision_balance, sizeof(*d), d->common.cpu },
		.cpu = (u16)p->dst->cpu,
		.idleness = (u8)p->idle,
		.round = round,
		.flags = (feature(p->s, FEATURE_LB_MIN) ? DECISION_BALANCE_LB_MIN : 0) |
			 (feature(p->s, FEATURE_CACHE_HOT_BUDDY) ? DECISION_BALANCE_HOT_BUDDY : 0),
		.searched_from = (u16)sd->newidle_from,
		.domain = sd->flags,
		.local = (u16)sd->parts->first,
		.busiest = -1,
		.source = -1,
		.failed = READ_ONCE(sd->nr_balance_failed),
		.interval_ms = (u32)READ_ONCE(sd->balance_interval_ms),
		.min_interval_ms = (u32)sd->min_interval_ms,
		.max_interval_ms = (u32)sd->max_interval_ms,
		.imbalance_pct = sd->imbalance_pct,
		.cache_nice_tries = (u16)min(sd->cache_nice_tries, 65535u),
		.imb_numa_nr = (u16)min(sd->imb_numa_nr, 65535u),
		.nr_migrate = p->s->tunable.nr_migrate,
		.hot_ns = p->s->tunable.migration_cost_ns,
	};
}

void pass_record_begin(struct pass *p, struct event_sched_decision_balance *record)
{
	SCHED_DEBUG_ASSERT(!p->record);
	p->record = record;
	record->common.cpu = p->dst->cpu;
	begin_round(p, 0);
}

void pass_record_end(const struct pass *p, enum balance_outcome outcome)
{
	struct event_sched_decision_balance *d = p->record;

	d->rule = (u8)p->rule;
	d->outcome = (u8)outcome;
	d->left = d->busiest >= 0 ? p->imbalance : 0;
	d->nr_moved = p->nr_moved;
	d->failed_now = READ_ONCE(p->sd->nr_balance_failed);
	d->interval_now_ms = (u32)READ_ONCE(p->sd->balance_interval_ms);
	host_trace(&d->common);
}

void pass_record_again(struct pass *p)
{
	u8 round = p->record->round;

	pass_record_end(p, OUTCOME_again);
	begin_round(p, (u8)(round + 1));
}

void pass_record_source(const struct pass *p, const struct group *busiest, const struct rq *src)
{
	p->record->busiest = busiest ? (s16)busiest->first : -1;
	p->record->source = src ? (s32)src->cpu : -1;
	p->record->amount = (u8)p->type;
	p->record->imbalance = busiest ? p->imbalance : 0;
}

void pass_record_told(const struct pass *p, bool pinned)
{
	p->record->flags |= pinned ? DECISION_BALANCE_HINDERED : DECISION_BALANCE_FREE;
}

/* --- runqueues and parts ------------------------------------------------------ */

/* A row of @cpu, without numbers. */
static struct event_sched_decision_runqueue runqueue_row(const struct pass *p, unsigned cpu,
							 const struct group *part, enum look look)
{
	return (struct event_sched_decision_runqueue){
		.common = COMMON(p, runqueue),
		.of_cpu = (u16)cpu,
		.part = (u16)part->first,
		.cache = (u16)cpu_rq(p->s, cpu)->llc_id,
		.look = (u8)look,
	};
}

static void put_runqueue(const struct pass *p, const struct event_sched_decision_runqueue *row)
{
	if (!traced(p->s, EVENT_sched_decision_runqueue))
		return;
	host_trace(&row->common);
	p->record->nr_runqueues++;
}

void pass_record_asked(const struct pass *p, unsigned cpu, bool idle)
{
	struct event_sched_decision_runqueue row = runqueue_row(p, cpu, p->sd->parts, LOOK_asked);

	row.flags = idle ? DECISION_RUNQUEUE_IDLE : 0;
	put_runqueue(p, &row);
}

static const struct group *part_of(const struct pass *p, unsigned cpu)
{
	const struct group *part = p->sd->parts;

	SCHED_DEBUG_ASSERT(cpumask_test(&p->sd->span->cpus, cpu));
	while (!cpumask_test(&part->cpus, cpu))
		part = part->next;
	return part;
}

void pass_record_crowded(const struct pass *p, const struct cpumask *cpus)
{
	unsigned cpu;

	for_each_cpu(cpu, cpus) {
		struct event_sched_decision_runqueue row =
			runqueue_row(p, cpu, part_of(p, cpu), LOOK_crowded);

		put_runqueue(p, &row);
	}
}

void pass_record_measured(const struct pass *p, unsigned cpu, const struct group_stats *before,
			  const struct group_stats *after)
{
	struct event_sched_decision_runqueue row =
		runqueue_row(p, cpu, after->group, LOOK_measured);

	row.flags = after->idle_cpus > before->idle_cpus ? DECISION_RUNQUEUE_IDLE : 0;
	row.nr_running = after->nr_running - before->nr_running;
	row.nr_fair = after->nr_fair - before->nr_fair;
	row.load = after->load - before->load;
	row.util = after->util - before->util;
	row.runnable = after->runnable - before->runnable;
	row.capacity = after->capacity - before->capacity;
	row.full = cpu_rq(p->s, cpu)->capacity_orig;
	row.misfit = READ_ONCE(cpu_rq(p->s, cpu)->misfit_load);
	put_runqueue(p, &row);
}

void pass_record_searched(const struct pass *p, unsigned cpu, const struct group *part, u32 nr,
			  u64 amount)
{
	struct event_sched_decision_runqueue row = runqueue_row(p, cpu, part, LOOK_searched);

	row.nr_fair = nr;
	row.load = p->type == MIGRATE_LOAD ? amount : 0;
	row.util = p->type == MIGRATE_UTIL ? amount : 0;
	row.misfit = p->type == MIGRATE_MISFIT ? amount : 0;
	row.capacity = cpu_capacity(cpu_rq(p->s, cpu));
	row.full = cpu_rq(p->s, cpu)->capacity_orig;
	put_runqueue(p, &row);
}

void pass_record_part(const struct pass *p, const struct group_stats *gs)
{
	struct event_sched_decision_part row = {
		.common = COMMON(p, part),
		.part = (u16)gs->group->first,
		.state = (u8)gs->type,
		.flags = (gs->group == p->sd->parts ? DECISION_PART_LOCAL : 0) |
			 (gs->group->imbalance ? DECISION_PART_HINDERED : 0),
		.size = gs->group->weight,
		.weight = gs->weight,
		.nr_running = gs->nr_running,
		.nr_fair = gs->nr_fair,
		.idle_cpus = gs->idle_cpus,
		.load = gs->load,
		.util = gs->util,
		.runnable = gs->runnable,
		.capacity = gs->capacity,
		.avg_load = gs->avg_load,
		.misfit = gs->misfit,
	};

	if (!traced(p->s, EVENT_sched_decision_part))
		return;
	host_trace(&row.common);
	p->record->nr_parts++;
}

/* --- tasks ------------------------------------------------------------------- */

void pass_record_locked(const struct pass *p, const struct rq *src)
{
	debug_assert_locked(src);
	p->record->source_running = src->nr_running;
}

static u8 task_flags(const struct pass *p, const struct rq *src, const struct task *t)
{
	const struct entity *e = &t->fair;
	bool fair = task_is_fair(t);
	bool hidden = fair && (queue_is_hidden(e->queue) ||
			       queue_is_hidden(group_queue(p->s, t->group, p->dst->cpu)));

	return (u8)((task_allowed(t, p->dst->cpu) ? DECISION_MOVABLE_ALLOWED : 0) |
		    (task_running(src, t) ? DECISION_MOVABLE_RUNS : 0) |
		    (t->policy == SCHED_IDLE ? DECISION_MOVABLE_IDLE : 0) |
		    (fair && e->queue->policy->nominated(e->queue, e) ? DECISION_MOVABLE_NOMINATED
								      : 0) |
		    (hidden ? DECISION_MOVABLE_THROTTLED : 0) |
		    (p->dst->nr_running ? DECISION_MOVABLE_COMPANY : 0) |
		    (task_is_pushable(t) ? DECISION_MOVABLE_PUSHABLE : 0) |
		    (src->uneven && fair && task_fits(src, t) ? DECISION_MOVABLE_FITS : 0));
}

void pass_record_task(const struct pass *p, const struct rq *src, const struct task *t,
		      enum task_fate fate)
{
	struct event_sched_decision_movable row = {
		.common = COMMON(p, movable),
		.pid = t->pid,
		.to = (u16)p->dst->cpu,
		.fate = (u8)fate,
		.flags = task_flags(p, src, t),
		.nr_running = src->nr_running,
		.group = t->group ? t->group->id : 0,
		.load = task_is_fair(t) ? task_load(t) : 0,
		.util = task_util(t),
		.since_ran = src->clock - t->fair.exec_start,
		.left = p->imbalance,
	};

	debug_assert_locked(src);
	if (!traced(p->s, EVENT_sched_decision_movable))
		return;
	__builtin_memcpy(row.comm, t->comm, TASK_COMM_LEN);
	host_trace(&row.common);
	p->record->nr_tasks++;
}
