/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The core's interface to classes and balancing: locks, the clock, asking for a switch, moving
 * tasks. Every room includes this; hosts include sched.h.
 */
#pragma once

#include "sched/core/rq.h"
#include "sched/observe/check.h"

#define MAX_RT_PRIO	   100
#define NICE_TO_PRIO(nice) ((nice) + 120)
#define PRIO_TO_NICE(prio) ((prio)-120)
#define PRIO_INVALID	   (-128)
#define PRIO_IDLE	   120 /* of the idle tasks, as traces show it */

/* --- locks and clock (rq.c) ------------------------------------------------ */

/* Read the clock of @rq, locked. It never goes back, and may stand still during a switch. */
static inline void rq_read_clock(struct rq *rq)
{
	debug_assert_locked(rq);
	if (likely(rq->keep_clock < KEEP_CLOCK_NOW))
		rq->clock = time_max(rq->clock, host_clock(rq->cpu));
}

/* Take the runqueue lock and read the clock, once per lock section. */
static inline void rq_lock(struct rq *rq)
{
	host_lock(&rq->lock);
	rq_read_clock(rq);
}

static inline void rq_unlock(struct rq *rq)
{
	if (unlikely(schedstats(rq->s)) && waste_is_news(rq))
		waste_tell(rq);
	host_unlock(&rq->lock);
}

/* rq_lock() of the runqueue that @t belongs to, which stays so until the unlock. */
struct rq *task_rq_lock(struct sched *s, struct task *t);
/* The earlier of two times, 0 being never. */
static inline u64 earlier(u64 a, u64 b)
{
	return a && b ? time_min(a, b) : a | b;
}

/* Arm the host's timer for the earliest of the runqueue's deadlines. Lock held, on its own CPU. */
void rq_update_timer(struct rq *rq);

/* Give the tasks that leave @rq's CPU, of rq->handover, to their new ones. Drops the lock. */
void deliver(struct rq *rq);

/* --- switches and moves (switch.c, move.c) ------------------------------------------ */

/* Ask @rq's CPU for a switch, unless that is being chosen or was asked for as urgently. */
static inline void ask_for_switch(struct rq *rq, enum resched urgency)
{
	debug_assert_locked(rq);
	SCHED_DEBUG_ASSERT(urgency != RESCHED_NONE);
	if (rq->need_resched >= urgency)
		return;
	rq->need_resched = (u8)urgency;
	host_kick(rq->cpu, urgency == RESCHED_NOW);
}

static inline void resched(struct rq *rq)
{
	ask_for_switch(rq, RESCHED_NOW);
}

/* Have @rq's CPU serve the news for its classes, and its timer. Its task goes on. Needs no lock. */
static inline void poke(struct rq *rq)
{
	WRITE_ONCE(rq->notice, true);
	host_kick(rq->cpu, true);
}

/* The same by a class that is patient: the host may wait for a convenient moment (host_kick). */
static inline void resched_patiently(struct rq *rq)
{
	ask_for_switch(rq, RESCHED_PATIENT);
}

/*
 * Ask for a switch if @t, just queued on @rq, takes over. The time from here to the switch counts
 * as @t's. @flags: select_reason.
 */
static inline void check_preempt(struct rq *rq, struct task *t, unsigned flags)
{
	const struct sched_class *class = t->class, *running = rq->curr->class;

	debug_assert_locked(rq);
	SCHED_DEBUG_ASSERT(t->on_rq == TASK_QUEUED && t->cpu == rq->cpu);
	if (class != running) {
		if (class->rank < running->rank)
			resched(rq);
	} else if (!rq->need_resched && class->preempts && class->preempts(rq, t, flags)) {
		ask_for_switch(rq, class->patient ? RESCHED_PATIENT : RESCHED_NOW);
	}
	if (rq->need_resched > (rq->s->lazy ? RESCHED_PATIENT : RESCHED_NONE))
		rq->keep_clock |= KEEP_CLOCK_NEXT;
}

/* Account the time since the last charge to the running task of @rq, locked. */
static inline void charge_current(struct rq *rq)
{
	debug_assert_locked(rq);
	rq->curr->class->charge(rq);
}

/* The running task of @rq, locked, runs no longer or is about to change (class.h, put_prev). */
static inline void put_prev(struct rq *rq, struct task *t)
{
	SCHED_DEBUG_ASSERT(t == rq->curr);
	debug_assert_locked(rq);
	if (t->class->put_prev)
		t->class->put_prev(rq, t);
}

/* Could the queued @t of @rq, locked, be picked as things stand? */
static inline bool task_is_pickable(struct rq *rq, struct task *t)
{
	debug_assert_locked(rq);
	return !t->class->pickable || t->class->pickable(rq, t);
}

/* The CPU where @t should run next (class.h, select_cpu). */
static inline unsigned select_cpu(struct rq *rq, struct task *t, unsigned cpu, unsigned reason)
{
	debug_assert_locked(rq);
	SCHED_DEBUG_ASSERT(t->on_rq != TASK_QUEUED || reason == SELECT_EXEC);
	return t->class->smp.select_cpu ? t->class->smp.select_cpu(rq, t, cpu, reason) : t->cpu;
}

/* @rq, locked, has @more pickable tasks more than before; fewer, if @more is negative. */
static inline void count_running(struct rq *rq, int more)
{
	bool was_crowded = rq->nr_running > 1;

	SCHED_DEBUG_ASSERT(more >= 0 || rq->nr_running >= (u32)-more);
	debug_assert_locked(rq);
	rq->nr_running += (u32)more;
	if (unlikely(was_crowded != (rq->nr_running > 1)))
		cpumask_flip_atomic(&rq->s->crowded, rq->cpu);
}

/* Has the class of @rank a task to pick on @rq, locked? */
static inline void class_set_active(struct rq *rq, enum class_rank rank, bool active)
{
	u32 bit = (u32)BIT(rank);

	debug_assert_locked(rq);
	rq->active = active ? rq->active | bit : rq->active & ~bit;
}

static inline bool class_is_active(const struct rq *rq, enum class_rank rank)
{
	return rq->active & BIT(rank);
}

/* Another rule than the usual one decides; @rq is locked. For records (record/class.c). */
static inline void class_because(struct rq *rq, enum class_rule rule)
{
	debug_assert_locked(rq);
	rq->class_rule = (u8)rule;
}

/* May the class of @rank have tasks on @rq, locked, that wait and could run elsewhere? */
static inline void class_set_push(struct rq *rq, enum class_rank rank, bool push)
{
	u32 bit = (u32)BIT(rank);

	debug_assert_locked(rq);
	rq->push = push ? rq->push | bit : rq->push & ~bit;
}

/* Is @t of the fair class? Load balancing and the shared wake queue are about these tasks only. */
static inline bool task_is_fair(const struct task *t)
{
	return t->class->rank == CLASS_fair;
}

/* Is @t the task of a CPU with nothing to run? The last class has these only. */
static inline bool is_idle_task(const struct task *t)
{
	return t->class->rank == NR_CLASSES - 1;
}

/*
 * How a parameter of a task changes, whatever the task does: it is taken out of its queue, changed,
 * and put back.
 */
/* The task's state when the change began. */
struct change {
	bool queued, running;
};

/* Take @t off its queue, @rq's. @move: QUEUE_MOVE if its place may change, else 0. */
struct change change_begin(struct rq *rq, struct task *t, unsigned move);
/* Put it back. @flags: QUEUE_MOVE, ENQUEUE_HEAD. */
void change_end(struct rq *rq, struct task *t, struct change c, unsigned flags);

/* Take @t, which sleeps in its queue on @rq (TASK_DELAYED), off that. */
void end_delayed_sleep(struct rq *rq, struct task *t);

/* The same if that is how @t sleeps. */
static inline void finish_delayed(struct rq *rq, struct task *t)
{
	debug_assert_locked(rq);
	if (unlikely(t->on_rq == TASK_DELAYED))
		end_delayed_sleep(rq, t);
}

/*
 * PROTOCOL: migration. One runqueue lock at a time: detach_task() under the source's lock takes a
 * queued, not running task off and gives it to @to; until attach_task() queues it there it is
 * TASK_MIGRATING, in no queue, and private to the mover, though its parameters may change
 * meanwhile.
 */
void detach_task(struct rq *from, struct task *t, unsigned to);
void attach_task(struct sched *s, struct task *t);
/* detach_task() of @t, which deliver() queues on @to when it drops the lock of @from. */
void hand_over(struct rq *from, struct task *t, unsigned to);
/* The same with the lock of the destination @rq held, and without a preemption check. */
void attach_locked(struct rq *rq, struct task *t);
/* Has the running task of @rq, locked, leave at the next switch: for @to, if it still may then. */
void push_current(struct rq *rq, unsigned to);
/* @t, in no queue and known to the caller only, belongs to @cpu. */
void task_set_cpu(struct sched *s, struct task *t, unsigned cpu);
/* @t, in no queue, is a member of @tg. Lock of its runqueue held. */
void task_set_group(struct sched *s, struct task *t, struct task_group *tg);
/* @t changes its CPU number. Lock of its old runqueue held, @t not queued. */
void set_task_cpu(struct rq *from, struct task *t, unsigned to);
/* A CPU in service that @t may run on: its own if possible. The lock of its runqueue held. */
unsigned any_allowed_cpu(struct sched *s, struct task *t);
/* @t, whatever it does, may run on @allowed from now on; it is not moved. Lock held. */
void set_allowed(struct rq *rq, struct task *t, const struct cpumask *allowed);

static inline bool task_running(const struct rq *rq, const struct task *t)
{
	return rq->curr == t;
}

/* @t wants the CPU: it is queued and awake, or on its way to another runqueue. */
static inline bool task_is_runnable(const struct task *t)
{
	return t->on_rq == TASK_QUEUED || t->on_rq == TASK_MIGRATING;
}

static inline bool task_allowed(const struct task *t, unsigned cpu)
{
	return cpumask_test(&t->allowed, cpu);
}

static inline bool cpu_is_isolated(const struct sched *s, unsigned cpu)
{
	SCHED_DEBUG_ASSERT(cpu < s->nr_cpus);
	return unlikely(s->has_isolated) && cpumask_test(&s->isolated, cpu);
}

/* Is one of the two isolated, and the other not? Then no class moves tasks between them. */
static inline bool cpus_apart(const struct sched *s, unsigned a, unsigned b)
{
	return cpu_is_isolated(s, a) != cpu_is_isolated(s, b);
}

/* @rq idles without a tick. Others balance for it until it gets work, unless it is isolated. */
static inline void rq_stop_tick(struct rq *rq)
{
	SCHED_DEBUG_ASSERT(rq->curr == rq->idle);
	rq->tick_stopped = true;
	if (!cpu_is_isolated(rq->s, rq->cpu))
		cpumask_set_atomic(&rq->s->nohz_idle, rq->cpu);
}

/* The CPUs in service to which a class may move @t from @cpu. */
static inline struct cpumask usable_cpus(const struct sched *s, const struct task *t, unsigned cpu)
{
	struct cpumask usable = cpumask_and(&t->allowed, &s->online);

	if (likely(!s->has_isolated))
		return usable;
	return cpumask_and(&usable, cpu_is_isolated(s, cpu) ? &s->isolated : &s->home);
}

/* May @t be queued on @rq? Locked, or racily. */
static inline bool task_may_be_on(const struct task *t, const struct rq *rq)
{
	return task_allowed(t, rq->cpu) && rq->online;
}

/* Time since the running entity was last charged, now added to its sum; 0 if there is none. */
static inline u64 charge_time(struct rq *rq, struct entity *e)
{
	s64 delta = (s64)(rq->clock - e->exec_start);

	debug_assert_locked(rq);
	if (unlikely(delta <= 0))
		return 0;
	e->exec_start = rq->clock;
	e->sum_exec += (u64)delta;
	return (u64)delta;
}

/* If all CPUs that @t was allowed have left, it is allowed all. Lock of its runqueue @rq held. */
void ensure_usable_cpu(struct rq *rq, struct task *t);
