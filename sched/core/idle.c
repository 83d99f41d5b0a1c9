/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The idle class: what a CPU runs when nothing is runnable. Its one task per CPU
 * is always there, never queued and never blocks; anything that wakes preempts it.
 *
 * Entering and leaving idle is where the machine learns about spare CPUs:
 * idle_stamp starts an idle period (avg_idle, for newidle balancing), and the
 * tick-less bit ends here.
 */
#include "sched/internal.h"

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

static struct task *idle_pick(struct rq *rq)
{
	return rq->idle;
}

static void idle_charge(struct rq *rq)
{
	if (likely(rq->online))
		rq->idle_ns += charge_time(rq, &rq->idle->fair);
}

static void idle_set_next(struct rq *rq, struct task *t)
{
	t->fair.exec_start = rq->clock;
	placement_cpu_idles(rq);
}

static void idle_put_prev(struct rq *rq, struct task *t)
{
	(void)t;
	rq->idle_stamp = 0;
	if (rq->tick_stopped) {
		rq->tick_stopped = false;
		cpumask_clear_atomic(&rq->s->nohz_idle, rq->cpu);
	}
}

static void idle_tick(struct rq *rq, struct task *t)
{
	(void)t;
	idle_charge(rq);
}

/* --- defaults of class operations ----------------------------------------- */

void class_ignore(struct rq *rq)
{
	(void)rq;
}

void class_ignore_task(struct rq *rq, struct task *t)
{
	(void)rq, (void)t;
}

void class_ignore_change(struct rq *rq, struct task *t, bool runnable)
{
	(void)rq, (void)t, (void)runnable;
}

/* Of a class with one task on each CPU. */
void class_no_exchange(struct rq *rq, struct task *prev, struct task *next)
{
	(void)rq, (void)prev, (void)next;
	SCHED_ASSERT(!"a CPU has one task of this class");
}

bool class_never_preempts(struct rq *rq, struct task *woken, unsigned flags)
{
	(void)rq, (void)woken, (void)flags;
	return false;
}

void class_ignore_retune(struct rq *rq, struct task *t, int old_prio)
{
	(void)rq, (void)t, (void)old_prio;
}

u64 class_no_slice(struct rq *rq, struct task *t)
{
	(void)rq, (void)t;
	return 0;
}

void class_dump_nothing(struct rq *rq, struct text *out)
{
	(void)rq, (void)out;
}

bool class_no_pull(struct rq *rq, struct task *prev)
{
	(void)rq, (void)prev;
	return false;
}

unsigned class_stay(struct rq *rq, struct task *t, unsigned cpu, unsigned reason)
{
	(void)rq, (void)cpu, (void)reason;
	return t->cpu;
}

/* --- the class ------------------------------------------------------------ */

const struct sched_class idle_class = {
	.name = "idle",
	.rank = 3,
	.enqueue = idle_enqueue,
	.dequeue = idle_dequeue,
	.yield = class_ignore,
	.pick = idle_pick,
	.put_prev = idle_put_prev,
	.set_next = idle_set_next,
	.exchange = class_no_exchange,
	.charge = idle_charge,
	.tick = idle_tick,
	.preempts = class_never_preempts,
	.select_cpu = class_stay,
	.migrate = class_ignore_task,
	.pull = class_no_pull,
	.join = class_ignore_change,
	.leave = class_ignore_change,
	.retune = class_ignore_retune,
	.slice = class_no_slice,
	.check = class_ignore,
	.dump = class_dump_nothing,
};
