/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Statistics: how long tasks wait, what a CPU did. Counting is cheap and always
 * on where Linux's is; schedstats() guards the rest.
 */
#include "sched/core/core.h"

void sched_cpu_stat(struct sched *s, unsigned cpu, struct sched_cpu_stat *out)
{
	struct rq *rq = cpu_rq(s, cpu);

	rq_lock(rq);
	if (rq->online)
		charge_current(rq);
	*out = (struct sched_cpu_stat){
		.nr_switches = rq->nr_switches,
		.yield_count = rq->yield_count,
		.sched_count = rq->sched_count,
		.sched_goidle = rq->sched_goidle,
		.ttwu_count = rq->ttwu_count,
		.ttwu_local = rq->ttwu_local,
		.run_ns = rq->run_ns,
		.wait_ns = rq->wait_ns,
		.slices = rq->slices,
		.idle_ns = rq->idle_ns,
		.clock = rq->clock,
		.nr_running = rq->online ? rq->nr_running : 0,
		.nr_uninterruptible = rq->nr_uninterruptible,
	};
	rq_unlock(rq);
}

static void charge_task(struct rq *rq, struct task *t)
{
	SCHED_DEBUG_ASSERT(t == rq->curr);
	if (t->class->charge_task)
		t->class->charge_task(rq);
	else
		t->class->charge(rq);
}

u64 sched_task_runtime(struct sched *s, struct task *t)
{
	struct rq *rq = task_rq_lock(s, t);
	u64 runtime;

	/* A task that left its queue is charged no more, though its CPU still looks for another. */
	if (task_running(rq, t) && t->on_rq != TASK_OFF_RQ)
		charge_task(rq, t);
	runtime = t->fair.sum_exec;
	rq_unlock(rq);
	return runtime;
}
