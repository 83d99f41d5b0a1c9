/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The idle class: what a CPU runs when nothing is runnable. Its one task per CPU
 * is always there, never queued and never blocks; anything that wakes preempts it.
 *
 * Entering and leaving idle is where the machine learns about spare CPUs:
 * idle_stamp starts an idle period (avg_idle, for newidle balancing), and the
 * tick-less bit ends here.
 */
#include "sched/core/observers.h"
#include "sched/core/task.h"
#include "lib/fmt.h"

static void idle_enqueue(struct rq *rq, struct task *t, unsigned flags)
{
	(void)rq, (void)t, (void)flags;
	SCHED_ASSERT(!"the idle task is never queued");
}

static bool idle_dequeue(struct rq *rq, struct task *t, unsigned flags)
{
	(void)rq, (void)t, (void)flags;
	SCHED_ASSERT(!"the idle task never blocks");
	return true;
}

static u32 idle_nr_queued(const struct rq *rq)
{
	(void)rq;
	return 0;
}

static struct task *idle_queued(struct rq *rq, struct task *after)
{
	(void)rq, (void)after;
	return NULL;
}

static struct task *idle_pick(struct rq *rq)
{
	SCHED_DEBUG_ASSERT(!rq->active);
	return rq->idle;
}

static void idle_charge(struct rq *rq)
{
	if (likely(rq->online))
		rq->idle_ns += charge_time(rq, &rq->idle->fair);
}

static void idle_set_next(struct rq *rq, struct task *t)
{
	SCHED_DEBUG_ASSERT(t == rq->idle);
	t->fair.exec_start = rq->clock;
	observe_idle(rq);
}

static void idle_put_prev(struct rq *rq, struct task *t)
{
	SCHED_DEBUG_ASSERT(t == rq->idle);
	rq->idle_stamp = 0;
	observe_busy(rq);
	if (rq->tick_stopped) {
		rq->tick_stopped = false;
		cpumask_clear_atomic(&rq->s->nohz_idle, rq->cpu);
	}
}

static void idle_tick(struct rq *rq, struct task *t)
{
	SCHED_DEBUG_ASSERT(t == rq->idle);
	idle_charge(rq);
}

void sched_task_init_idle(struct sched *s, struct task *t, unsigned cpu)
{
	char comm[TASK_COMM_LEN];

	fmt_snprintf(comm, sizeof(comm), "swapper/%u", cpu);
	task_init_pinned(s, t, cpu, 0, comm);
	t->state = TASK_RUNNING;
	t->class = s->class[CLASS_idle];
	t->prio = PRIO_IDLE;
}

const struct sched_class idle_class = {
	.name = "idle",
	.rank = CLASS_idle,
	.fixture = true,
	.enqueue = idle_enqueue,
	.dequeue = idle_dequeue,
	.nr_queued = idle_nr_queued,
	.queued = idle_queued,
	.pick = idle_pick,
	.put_prev = idle_put_prev,
	.set_next = idle_set_next,
	.charge = idle_charge,
	.tick = idle_tick,
};
