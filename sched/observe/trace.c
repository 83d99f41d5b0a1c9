/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace events: build the record of event.def and hand it to the host. Called
 * only when the event is enabled (trace_* in trace.h test the bit), so that
 * a disabled event costs a load and a branch.
 */
#include "sched/core/core.h"
#include "lib/string.h"
#include "sched/fair/core/fair.h"
#include "sched/observe/trace.h"
#include "sched/record/class.h"

#define COMMON(event, on_cpu)                                                                      \
	{                                                                                          \
		.type = EVENT_ID_##event, .size = sizeof(struct event_##event), .cpu = (on_cpu)    \
	}

#define PREEMPTED 0x100 /* Linux's extra bit of prev_state: runnable, amid kernel code */
#define ZOMBIE	  0x20	/* Linux tells by it of a task's last switch */

static inline void copy_comm(char *dst, const struct task *t)
{
	__builtin_memcpy(dst, t->comm, TASK_COMM_LEN);
}

void sched_trace_set(struct sched *s, u64 mask)
{
	bool fair = traced_any(s, FAIR_DECISION_EVENTS);
	bool classes_too = traced_any(s, CLASS_DECISION_EVENTS);

	WRITE_ONCE(s->trace_mask, mask);
	if (fair != !!traced_any(s, FAIR_DECISION_EVENTS))
		fair_record(s);
	if (classes_too != !!traced_any(s, CLASS_DECISION_EVENTS))
		class_record(s);
}

/*
 * Field by field: an initialiser would zero the names first, on a path that is counted in
 * instructions.
 */
void emit_switch(struct rq *rq, struct task *prev, struct task *next, bool preempt)
{
	struct event_sched_switch e;

	e.common = (struct sched_event)COMMON(sched_switch, rq->cpu);
	copy_comm(e.prev_comm, prev);
	e.prev_pid = prev->pid;
	e.prev_prio = prev->prio;
	/* Nobody is preempted when the idle task gives way. */
	e.prev_state = preempt && prev != rq->idle ? PREEMPTED
		       : prev->state == TASK_DEAD  ? ZOMBIE
						   : prev->state & 0xff;
	copy_comm(e.next_comm, next);
	e.next_pid = next->pid;
	e.next_prio = next->prio;
	host_trace(&e.common);
}

static const u16 wake_type[] = {
	[EVENT_sched_waking] = EVENT_ID_sched_waking,
	[EVENT_sched_wakeup] = EVENT_ID_sched_wakeup,
	[EVENT_sched_wakeup_new] = EVENT_ID_sched_wakeup_new,
};

/* The three wakeup events have one layout. */
void emit_wake(unsigned event, struct task *t, unsigned cpu, unsigned target)
{
	struct event_sched_wakeup e = {
		.common = COMMON(sched_wakeup, cpu),
		.pid = t->pid,
		.prio = t->prio,
		.target_cpu = (int)target,
	};

	e.common.type = wake_type[event];
	copy_comm(e.comm, t);
	host_trace(&e.common);
}

void emit_migrate(struct task *t, unsigned cpu, unsigned to)
{
	struct event_sched_migrate_task e = {
		.common = COMMON(sched_migrate_task, cpu),
		.pid = t->pid,
		.prio = t->prio,
		.orig_cpu = (int)t->cpu,
		.dest_cpu = (int)to,
	};

	copy_comm(e.comm, t);
	host_trace(&e.common);
}

void emit_runtime(struct rq *rq, struct task *t, u64 delta)
{
	struct event_sched_stat_runtime e;

	__builtin_memset(&e, 0,
			 sizeof(e)); /* the hole behind pid too: records are shown as bytes */
	e.common = (struct sched_event)COMMON(sched_stat_runtime, rq->cpu);
	copy_comm(e.comm, t);
	e.pid = t->pid;
	e.runtime = delta;
	e.vruntime = t->fair.vruntime;
	host_trace(&e.common);
}

static const u16 delay_type[] = {
	[EVENT_sched_stat_wait] = EVENT_ID_sched_stat_wait,
	[EVENT_sched_stat_sleep] = EVENT_ID_sched_stat_sleep,
	[EVENT_sched_stat_blocked] = EVENT_ID_sched_stat_blocked,
};

/* So have the delay events. */
void emit_delay(struct rq *rq, unsigned event, struct task *t, u64 delay)
{
	struct event_sched_stat_wait e;

	__builtin_memset(&e, 0, sizeof(e)); /* as above: the hole behind pid */
	e.common = (struct sched_event)COMMON(sched_stat_wait, rq->cpu);
	e.common.type = delay_type[event];
	copy_comm(e.comm, t);
	e.pid = t->pid;
	e.delay = delay;
	host_trace(&e.common);
}

static void emit_queue_averages(const struct fair_queue *q)
{
	const struct event_sched_pelt_cfs e = {
		.common = COMMON(sched_pelt_cfs, q->rq->cpu),
		.cpu = (int)q->rq->cpu,
		.group = group_number(q),
		.load = q->avg.load_avg,
		.runnable = q->avg.runnable_avg,
		.util = q->avg.util_avg,
		.update_time = q->avg.last_update,
		.enqueued = q->avg.util_est_enqueued,
	};

	host_trace(&e.common);
}

void emit_averages(const struct fair_queue *q, const struct entity *of)
{
	bool is_task = of && entity_is_task(of);
	struct event_sched_pelt_se e;

	if (!of) {
		emit_queue_averages(q);
		return;
	}
	e = (struct event_sched_pelt_se){
		.common = COMMON(sched_pelt_se, q->rq->cpu),
		.pid = is_task ? task_of((struct entity *)of)->pid : -1,
		.cpu = (int)q->rq->cpu,
		.group = group_number(is_task ? q : of->own_queue),
		.load = of->avg.load_avg,
		.runnable = of->avg.runnable_avg,
		.util = of->avg.util_avg,
		.update_time = of->avg.last_update,
		.enqueued = of->avg.util_est_enqueued,
		.ewma = of->avg.util_est_ewma,
	};
	if (is_task)
		copy_comm(e.comm, task_of((struct entity *)of));
	host_trace(&e.common);
}

void emit_fair_swap(unsigned cpu, const char *from, const char *to, unsigned nr_queued)
{
	struct event_sched_fair_swap e = {
		.common = COMMON(sched_fair_swap, cpu),
		.nr_queued = (int)nr_queued,
	};

	str_copy(e.from, from, sizeof(e.from));
	str_copy(e.to, to, sizeof(e.to));
	host_trace(&e.common);
}

void emit_frequency(unsigned cpu, unsigned of, u32 mhz)
{
	struct event_cpu_frequency e = {
		.common = COMMON(cpu_frequency, cpu),
		.state = mhz * 1000,
		.cpu_id = of,
	};

	host_trace(&e.common);
}

void emit_idle(struct rq *rq, bool idle)
{
	struct event_cpu_idle e = {
		.common = COMMON(cpu_idle, rq->cpu),
		.state = idle ? 0 : UINT32_MAX,
		.cpu_id = rq->cpu,
	};

	host_trace(&e.common);
}

void emit_boost(struct rq *rq, u32 boost)
{
	struct event_sched_tune_boost e = {
		.common = COMMON(sched_tune_boost, rq->cpu),
		.boost = boost,
		.cpu_id = rq->cpu,
	};

	host_trace(&e.common);
}

void emit_overutilized(unsigned cpu, bool yes)
{
	struct event_sched_overutilized e = {
		.common = COMMON(sched_overutilized, cpu),
		.overutilized = yes,
	};

	host_trace(&e.common);
}
