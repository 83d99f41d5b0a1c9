/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The core: who runs next on a CPU, blocking and waking, moving between CPUs.
 * It ranks the classes and calls their operations (class.h); it knows nothing
 * of priorities or virtual time.
 *
 * PROTOCOL: switch. sched_switch_begin() takes the runqueue lock, chooses the
 * next task and makes it rq->curr; the host switches stacks with the lock held;
 * sched_switch_end() on the new stack releases it. So whoever holds the lock of
 * a task's runqueue sees it either running or completely off its CPU, and a
 * waker never waits for a switch to finish. There is one window: a pull may drop
 * the lock while the task that blocked still stands on its stack. rq->curr still
 * names it then, and a wakeup puts it back on this very runqueue.
 *
 * PROTOCOL: sleep. sched_block() announces, the task checks its condition,
 * sched_switch_begin() takes it off the queue if the announcement still stands.
 * A waker that finds it queued only withdraws the announcement.
 *
 * Locks: one runqueue lock at a time, never two. Reading order: after class.h
 * and stop.c; next fair/fair.c.
 */
#include "sched/balance/balance.h"
#include "sched/balance/domain.h"
#include "sched/core/core.h"
#include "sched/balance/sharedq.h"
#include "sched/fair/core/fair.h"
#include "lib/errno.h"
#include "sched/observe/trace.h"

/* --- asking for a switch -------------------------------------------------- */

void resched(struct rq *rq)
{
	if (rq->need_resched)
		return;
	rq->need_resched = true;
	host_kick(rq->cpu);
}

void check_preempt(struct rq *rq, struct task *t, unsigned flags)
{
	struct task *curr = rq->curr;

	if (rq->need_resched)
		return;
	if (t->class == curr->class ? t->class->preempts(rq, t, flags)
				    : t->class->rank < curr->class->rank)
		resched(rq);
}

/* --- membership ----------------------------------------------------------- */

void activate(struct rq *rq, struct task *t, unsigned flags)
{
	t->class->enqueue(rq, t, flags);
	t->on_rq = TASK_QUEUED;
	rq->nr_restricted += t->nr_allowed < rq->s->nr_cpus;
	if (!(flags & QUEUE_MIGRATING))
		t->wait_start = rq->clock;
	if (rq->nr_running == 2)
		sharedq_crowded(rq);
}

void deactivate(struct rq *rq, struct task *t, unsigned flags)
{
	bool left = t->class->dequeue(rq, t, flags);

	rq->nr_restricted -= t->on_rq == TASK_QUEUED && t->nr_allowed < rq->s->nr_cpus;
	if (!(flags & DEQUEUE_SLEEP))
		t->on_rq = TASK_MIGRATING;
	else
		t->on_rq = likely(left) ? TASK_OFF_RQ : TASK_DELAYED;
}

static bool contributes_to_load(u32 state)
{
	return (state & TASK_UNINTERRUPTIBLE) && !(state & TASK_NOLOAD);
}

/* The running task blocks. */
static __attribute__((flatten)) void block_current(struct rq *rq, struct task *t)
{
	/* Others act on it, or free it, as soon as it is in one of these. */
	const u32 finals = TASK_STOPPED | TASK_TRACED | TASK_DEAD;
	/* Nor may it wake up here if it was about to be pushed away. */
	bool must_leave = (t->state & finals) || t->push_cpu != PUSH_NONE;

	t->contributes_to_load = contributes_to_load(t->state);
	rq->nr_uninterruptible += t->contributes_to_load;
	t->push_cpu = PUSH_NONE;
	deactivate(rq, t, DEQUEUE_SLEEP | (must_leave ? DEQUEUE_SPECIAL : 0));
	t->sleep_start = rq->clock;
	if (t->state == TASK_DEAD)
		t->class->leave(rq, t, false);
}

/* --- migration ------------------------------------------------------------ */

void task_set_cpu(struct sched *s, struct task *t, unsigned cpu)
{
	t->fair.queue = group_queue(s, t->group, cpu);
	__atomic_store_n(&t->cpu, cpu, __ATOMIC_RELEASE);
}

void set_task_cpu(struct rq *from, struct task *t, unsigned to)
{
	if (t->cpu == to)
		return;
	trace_migrate(from->s, t, from->cpu, to);
	t->fair.nr_migrations++;
	task_set_cpu(from->s, t, to);
}

void detach_task(struct rq *from, struct task *t, unsigned to)
{
	SCHED_ASSERT(!task_running(from, t));
	deactivate(from, t, QUEUE_MIGRATING);
	set_task_cpu(from, t, to);
}

void attach_task(struct sched *s, struct task *t)
{
	struct rq *rq = task_rq_lock(s, t);

	/* Its affinity, or what CPUs there are, may have changed on the way. */
	while (unlikely(!task_may_be_on(t, rq))) {
		set_task_cpu(rq, t, any_allowed_cpu(s, t));
		rq_unlock(rq);
		rq = task_rq_lock(s, t);
	}
	activate(rq, t, QUEUE_MIGRATING);
	check_preempt(rq, t, 0);
	rq_unlock(rq);
}

void attach_locked(struct rq *rq, struct task *t)
{
	if (likely(task_may_be_on(t, rq)))
		activate(rq, t, QUEUE_MIGRATING);
	else
		list_add_tail(&rq->handover, &t->link); /* its affinity changed: it travels on */
}

void push_current(struct rq *rq, unsigned to)
{
	rq->curr->push_cpu = (s32)to;
	resched(rq);
}

unsigned any_allowed_cpu(struct sched *s, struct task *t)
{
	struct cpumask usable;

	ensure_usable_cpu(cpu_rq(s, t->cpu), t);
	usable = cpumask_and(&t->allowed, &s->online);
	if (cpumask_test(&usable, t->cpu))
		return t->cpu;
	return cpumask_first(&usable);
}

/* --- switching ------------------------------------------------------------ */

/* Its class and the less urgent ones bring tasks. The lock is dropped meanwhile. */
static __noinline void pull_instead_of(struct rq *rq, struct task *prev)
{
	for (unsigned rank = prev->class->rank; rank < NR_CLASSES; rank++)
		if (classes[rank]->pulls)
			classes[rank]->pull(rq, prev);
}

static struct task *pick_next(struct rq *rq, struct task *prev)
{
	if (unlikely(prev->class->pulls))
		pull_instead_of(rq, prev);
	do {
		while (likely(rq->active)) {
			unsigned rank = (unsigned)__builtin_ctz(rq->active);
			struct task *next = classes[rank]->pick(rq);

			if (likely(next))
				return next;
			SCHED_ASSERT(!"an active class picks a task" || !class_is_active(rq, rank));
		}
		SCHED_ASSERT(!rq->nr_running);
	} while (balance_newly_idle(rq));
	rq->sched_goidle += schedstats(rq->s);
	return rq->idle;
}

static void switch_current(struct rq *rq, struct task *prev, struct task *next, bool preempt)
{
	if (likely(prev->class == next->class)) {
		next->class->exchange(rq, prev, next);
	} else {
		prev->class->put_prev(rq, prev);
		next->class->set_next(rq, next);
	}
	rq->curr = next;
	rq->nr_switches++;
	if (task_is_runnable(prev))
		prev->wait_start = rq->clock;
	if (!preempt && prev->state)
		prev->nr_voluntary++;
	else
		prev->nr_involuntary++;
	if (unlikely(rq->shared.shard))
		sharedq_switched(rq, prev, next);
	if (next != rq->idle)
		stat_arrive(rq, next);
	trace_switch(rq, prev, next, preempt);
}

/* Other CPUs left word for a class: each looks whether it was meant. */
static __noinline void notice_others(struct rq *rq)
{
	const struct sched_class *class;

	WRITE_ONCE(rq->notice, false);
	for_each_class(class) class->notice(rq);
}

struct task *sched_switch_begin(struct sched *s, unsigned cpu, bool preempt)
{
	struct rq *rq = cpu_rq(s, cpu);
	struct task *prev, *next;

	rq_lock(rq);
	prev = rq->curr;
	rq->need_resched = false;
	rq->sched_count += schedstats(s);
	if (unlikely(READ_ONCE(rq->notice)))
		notice_others(rq);
	if (!preempt && prev->state)
		block_current(rq, prev);
	else if (unlikely(prev->push_cpu != PUSH_NONE))
		deactivate(rq, prev, QUEUE_MIGRATING);
	else
		prev->class->charge(rq);
	if (rq->yield) {
		rq->yield = false;
		if (likely(prev->on_rq == TASK_QUEUED))
			prev->class->yield(rq);
	}
	next = pick_next(rq, prev);
	rq->prev = prev;
	if (next != prev)
		switch_current(rq, prev, next, preempt);
	else if (unlikely(feature(s, FEATURE_HRTICK)))
		next->class->picked_again(rq, next);
	if (unlikely(rq->timer_stale))
		rq_update_timer(rq);
	return next;
}

/* Give the tasks that leave this CPU to their new ones. Drops the lock. */
static void deliver(struct rq *rq)
{
	struct list leaving;
	struct task *t, *next;

	list_move_all(&rq->handover, &leaving);
	rq_unlock(rq);
	list_for_each_safe(t, next, &leaving, link) {
		list_del(&t->link);
		attach_task(rq->s, t);
	}
}

/* The rare part of a switch: tasks that have to leave this CPU. Drops the lock. */
static __noinline void switch_end_moving(struct rq *rq, struct task *prev)
{
	if (prev->push_cpu != PUSH_NONE && prev->on_rq == TASK_MIGRATING) {
		unsigned to = (unsigned)prev->push_cpu;

		rq->pushed_count++;
		/* That CPU may have left since. */
		if (unlikely(!task_may_be_on(prev, cpu_rq(rq->s, to))))
			to = any_allowed_cpu(rq->s, prev);
		set_task_cpu(rq, prev, to);
		prev->push_cpu = PUSH_NONE;
		list_add_tail(&rq->handover, &prev->link);
	}
	for (u32 push = rq->push; push; push &= push - 1)
		classes[__builtin_ctz(push)]->push(rq);
	if (!list_empty(&rq->handover))
		deliver(rq);
	else
		rq_unlock(rq);
}

struct task *sched_switch_end(struct sched *s, unsigned cpu)
{
	struct rq *rq = cpu_rq(s, cpu);
	struct task *prev = rq->prev;

	if (unlikely(prev->push_cpu != PUSH_NONE || rq->push || !list_empty(&rq->handover)))
		switch_end_moving(rq, prev);
	else
		rq_unlock(rq);
	return prev;
}

void sched_prefetch(struct sched *s, unsigned cpu)
{
	const struct rq *rq = cpu_rq(s, cpu);

	prefetch(rq, &rq->waste);
	prefetch(&rq->nr_switches, &rq->idle_ns);
}

struct task *sched_current(struct sched *s, unsigned cpu)
{
	return cpu_rq(s, cpu)->curr;
}

/* --- blocking and waking -------------------------------------------------- */

void sched_block(struct task *t, u32 state)
{
	/* The full barrier orders the announcement before the caller's check of its condition. */
	__atomic_exchange_n(&t->state, state, __ATOMIC_SEQ_CST);
}

void sched_unblock(struct task *t)
{
	WRITE_ONCE(t->state, TASK_RUNNING);
}

/* It has announced a sleep, or even been preempted since, but is not off the queue: withdraw. */
static void wake_queued(struct rq *rq, struct task *t, unsigned cpu)
{
	t->state = TASK_RUNNING;
	trace_wake(rq->s, EVENT_sched_wakeup, t, cpu, rq->cpu);
	if (!task_running(rq, t) && t->on_rq == TASK_QUEUED)
		check_preempt(rq, t, SELECT_WAKE);
}

static void note_idle_end(struct rq *rq)
{
	s64 diff = (s64)(rq->clock - rq->idle_stamp - rq->avg_idle);

	rq->avg_idle += (u64)(diff / 8);
	rq->avg_idle = min(rq->avg_idle, 2 * rq->max_idle_balance_cost);
	rq->idle_stamp = 0;
}

/* @t wakes up on @rq, by a waker on @cpu. */
static inline void wake_on(struct rq *rq, struct task *t, unsigned cpu, unsigned queue_flags,
			   unsigned flags)
{
	t->state = TASK_RUNNING;
	stat_wakeup(rq, t);
	activate(rq, t, queue_flags);
	trace_wake(rq->s, EVENT_sched_wakeup, t, cpu, rq->cpu);
	check_preempt(rq, t, SELECT_WAKE | flags);
	if (rq->idle_stamp)
		note_idle_end(rq);
}

/*
 * Choose a CPU and put the sleeping @t on its queue. Takes over the lock of @rq; returns the one
 * now held.
 */
static __attribute__((flatten)) struct rq *
wake_sleeping(struct sched *s, struct rq *rq, struct task *t, unsigned cpu, unsigned flags)
{
	unsigned queue_flags = ENQUEUE_WAKEUP;

	rq->nr_uninterruptible -= t->contributes_to_load;
	t->state = TASK_WAKING;
	/* Still on its stack (see PROTOCOL: switch), it can only resume here. */
	while (!task_running(rq, t)) {
		unsigned to = t->class->select_cpu(rq, t, cpu, SELECT_WAKE | flags);

		if (to == rq->cpu)
			break;
		if (!(queue_flags & ENQUEUE_MIGRATED))
			t->class->migrate(rq, t);
		queue_flags |= ENQUEUE_MIGRATED;
		set_task_cpu(rq, t, to);
		rq_unlock(rq);
		rq = task_rq_lock(s, t);
		if (likely(task_allowed(t, rq->cpu)))
			break;
	}
	/* Its affinity changed since it blocked, or its CPU left. */
	if (unlikely(task_running(rq, t) && !task_may_be_on(t, rq)))
		push_current(rq, any_allowed_cpu(s, t));
	wake_on(rq, t, cpu, queue_flags, flags);
	return rq;
}

/* It sleeps but is still in its queue, and stays on that CPU. */
static void wake_delayed(struct rq *rq, struct task *t, unsigned cpu, unsigned flags)
{
	rq->nr_uninterruptible -= t->contributes_to_load;
	wake_on(rq, t, cpu, ENQUEUE_WAKEUP | ENQUEUE_DELAYED, flags);
}

static void count_wakeup(struct rq *waker_rq, const struct rq *rq)
{
	waker_rq->ttwu_count++;
	waker_rq->ttwu_local += rq == waker_rq;
}

bool sched_wake(struct sched *s, struct task *t, u32 state_mask, unsigned cpu, unsigned flags)
{
	struct rq *rq = task_rq_lock(s, t);

	if (!(t->state & state_mask)) {
		rq_unlock(rq);
		return false;
	}
	trace_wake(s, EVENT_sched_waking, t, cpu, t->cpu);
	if (t->on_rq == TASK_OFF_RQ)
		rq = wake_sleeping(s, rq, t, cpu, flags);
	else if (unlikely(t->on_rq == TASK_DELAYED))
		wake_delayed(rq, t, cpu, flags);
	else
		wake_queued(rq, t, cpu);
	if (unlikely(schedstats(s)))
		count_wakeup(cpu_rq(s, cpu), rq);
	rq_unlock(rq);
	return true;
}

/* --- events from the host ------------------------------------------------- */

bool sched_yield(struct sched *s, unsigned cpu)
{
	struct rq *rq = cpu_rq(s, cpu);

	rq->yield_count += schedstats(s);
	/* Without the lock: who is being queued now asks for a switch himself if he is to run. */
	if (READ_ONCE(rq->nr_running) < 2 && !READ_ONCE(rq->need_resched) &&
	    !READ_ONCE(s->fair_policy)->yields_alone) {
		rq->sched_count += schedstats(s); /* as if we had switched, to ourselves */
		return false;
	}
	rq->yield = true;
	return true;
}

void sched_tick(struct sched *s, unsigned cpu)
{
	struct rq *rq = cpu_rq(s, cpu);

	rq_lock(rq);
	rq->curr->class->tick(rq, rq->curr);
	if (unlikely(rq->timer_stale))
		rq_update_timer(rq);
	rq_unlock(rq);
	balance_tick(rq);
}

void sched_timer(struct sched *s, unsigned cpu)
{
	const struct sched_class *class;
	struct rq *rq = cpu_rq(s, cpu);

	rq_lock(rq);
	rq->timer_armed = 0;
	sharedq_timer(rq);
	for_each_class(class) class->timer(rq);
	rq_update_timer(rq);
	rq_unlock(rq);
}

bool sched_tick_can_stop(struct sched *s, unsigned cpu)
{
	struct rq *rq = cpu_rq(s, cpu);

	if (rq->curr != rq->idle || rq->nr_running)
		return false;
	if (!rq->tick_stopped && rq->online) {
		rq->tick_stopped = true;
		rq->next_balance = 0; /* that of a busy CPU is far away */
		cpumask_set_atomic(&s->nohz_idle, cpu);
	}
	return true;
}

/* --- machine -------------------------------------------------------------- */

static size_t machine_bytes(unsigned nr_cpus, size_t *topology_at)
{
	size_t bytes = ALIGN_UP(sizeof(struct sched), 64ul) + nr_cpus * sizeof(struct rq);

	*topology_at = bytes;
	return bytes + topology_size(nr_cpus);
}

size_t sched_size(unsigned nr_cpus)
{
	size_t topology_at;

	return machine_bytes(nr_cpus, &topology_at);
}

static void rq_init(struct sched *s, unsigned cpu)
{
	const struct sched_class *class;
	struct rq *rq = cpu_rq(s, cpu);

	rq->lock.rank = HOST_RANK_RQ;
	rq->lock.cpu = cpu;
	rq->s = s;
	rq->cpu = cpu;
	for_each_class(class) class->init(rq);
	sharedq_init(rq);
	list_init(&rq->handover);
	rq->avg_idle = 2ull * s->tunable.migration_cost_ns;
	rq->max_idle_balance_cost = s->tunable.migration_cost_ns;
}

int sched_init(struct sched *s, const struct sched_config *config)
{
	size_t topology_at;

	if (!config->nr_cpus || config->nr_cpus > CPU_MAX || !config->topology)
		return -EINVAL;
	if (config->hz != 100 && config->hz != 250 && config->hz != 1000)
		return -EINVAL;
	s->fair_policy = fair_policy_find(config->fair_policy);
	if (!s->fair_policy)
		return -EINVAL;
	s->nr_cpus = config->nr_cpus;
	s->hz = config->hz;
	s->tick_ns = NS_PER_SEC / config->hz;
	s->possible = cpumask_first_n(config->nr_cpus);
	prng_seed(&s->prng, config->seed);
	s->family_lock.rank = s->waste_lock.rank = HOST_RANK_LEAF;
	list_init(&s->groups);
	machine_bytes(config->nr_cpus, &topology_at);
	s->rq = (struct rq *)((u8 *)s + ALIGN_UP(sizeof(*s), 64ul));
	s->topology = (struct topology *)((u8 *)s + topology_at);
	tunables_init(s);
	for (unsigned cpu = 0; cpu < config->nr_cpus; cpu++) {
		s->rq_of[cpu] = &s->rq[cpu];
		rq_init(s, cpu);
	}
	topology_init(s, config->topology);
	sharedq_topology(s);
	return 0;
}
