/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUs that come and go.
 *
 * PROTOCOL: hotplug. The host stops the machine: every other CPU is outside the scheduler and stays
 * there. So nothing is between two queues, no choice of a CPU is half made, and nobody reads the
 * domains: what is rebuilt here needs no other protection. A CPU that leaves gives everything away,
 * and from the return on nothing is ever queued there:
 *
 *	queued tasks     placed as if they called exec, one by one; one that may run nowhere else
 *	                 may run anywhere from now on
 *	sleeping tasks   stay in its books, and wake up elsewhere
 *	the running one  leaves at the next switch; the stopper and the idle task stay, and no
 *	                 time passes for them until the CPU is back
 *	groups           what they fetched and what they owe of their quota is forgiven; timers of
 *	                 quotas go to another CPU, what is known of the load there is dropped
 *	domains          as if the CPU had never been
 *
 * A task that will wake up, or was about to be pushed there, finds out by rq->online.
 *
 * Locks: one runqueue's at a time. Source: Linux 6.1, core.c and fair.c (docs/sources.md).
 */
#include "sched/freq/freq.h"
#include "sched/balance/domain.h"
#include "sched/balance/sharedq.h"
#include "lib/errno.h"

/* LLCs change, and the shards of the shared wake queue with them. */
static void rebuild(struct sched *s)
{
	sharedq_close(s);
	topology_rebuild(s);
	sharedq_topology(s);
	sharedq_update(s);
}

/* --- leaving ---------------------------------------------------------------- */

/* No choice from now on is @rq's CPU, and nothing waits there for quota. Lock held. */
static void close_runqueue(struct rq *rq)
{
	const struct sched_class *class;
	struct sched *s = rq->s;

	assert_locked(rq);
	charge_current(rq);
	rq->online = false;
	cpumask_clear_atomic(&s->online, rq->cpu);
	cpumask_clear_atomic(&s->nohz_idle, rq->cpu);
	rq->tick_stopped = rq->nohz_kicked = false;
	for_each_class_reverse(class, s) class_notify(class, rq, NOTICE_OFFLINE);
}

/* A task that waits on @rq and is to leave, or NULL. */
static struct task *waiting_task(struct rq *rq)
{
	struct task *t;

	assert_locked(rq);
	for_each_queued(t, rq) if (!task_running(rq, t) && !t->class->fixture) return t;
	return NULL;
}

/*
 * One after the other, each queued before the next is placed: else all would find the same CPU
 * idle.
 */
static void send_away(struct rq *rq)
{
	struct sched *s = rq->s;
	unsigned near = cpumask_next_wrap(&s->online, rq->cpu);

	SCHED_DEBUG_ASSERT(!rq->online);
	for (;;) {
		struct task *t;

		rq_lock(rq);
		t = waiting_task(rq);
		if (t) {
			ensure_usable_cpu(rq, t);
			detach_task(rq, t, select_cpu(rq, t, near, SELECT_EXEC));
		}
		rq_unlock(rq);
		if (!t)
			return;
		attach_task(s, t);
	}
}

/* The task that runs there now is the last one, and no timer is left. */
static void dismiss_current(struct rq *rq)
{
	struct task *t;

	SCHED_DEBUG_ASSERT(!rq->online);
	rq_lock(rq);
	t = rq->curr;
	if (!t->class->fixture) {
		ensure_usable_cpu(rq, t);
		push_current(rq, any_allowed_cpu(rq->s, t));
	}
	rq->shared.steal_at = 0;
	classes_notify(rq, NOTICE_EMPTY);
	rq_update_timer(rq);
	rq_unlock(rq);
}

int sched_cpu_offline(struct sched *s, unsigned cpu)
{
	struct rq *rq = cpu_rq(s, cpu);

	if (!rq->online || cpumask_weight(&s->online) == 1)
		return rq->online ? -EBUSY : -EINVAL;
	if (classes_admit(s, &(struct admission_request){ ADMIT_OFFLINE, .rq = rq }))
		return -EBUSY;
	rq_lock(rq);
	close_runqueue(rq);
	rq_unlock(rq);
	rebuild(s);
	/* First: the tasks may need one of them where they go. */
	classes_notify(rq, NOTICE_TIMERS_LEAVE);
	send_away(rq);
	dismiss_current(rq);
	tunables_rescale(s);
	return 0;
}

/* --- coming ----------------------------------------------------------------- */

/*
 * The host's clock may stand anywhere and pass 2^64 to 0. Jiffies must not: they count from a time
 * less than 2^62 ns, 146 years, before the first CPU came.
 */
static void start_clock(struct rq *rq)
{
	SCHED_DEBUG_ASSERT(!rq->online);
	rq->clock = host_clock(rq->cpu);
	if (cpumask_empty(&rq->s->online))
		rq->s->epoch = rq->clock & ~(BIT(62) - 1);
}

void sched_cpu_online(struct sched *s, unsigned cpu, struct task *idle)
{
	struct rq *rq = cpu_rq(s, cpu);
	bool first = !rq->idle; /* the domains have it from the beginning */

	SCHED_ASSERT(is_idle_task(idle) && idle->cpu == cpu);
	SCHED_ASSERT(!rq->online && (first || rq->curr->class->fixture));
	rq_lock(rq);
	if (first) {
		rq->idle = rq->curr = rq->prev = idle;
		start_clock(rq);
		if (rq->freq)
			freq_cpu_starts(rq);
	}
	rq->online = true;
	cpumask_set_atomic(&s->online, cpu);
	classes_notify(rq, NOTICE_ONLINE);
	/* Time starts again for it. */
	rq->curr->class->set_next(rq, rq->curr);
	if (rq->curr == rq->idle)
		rq_stop_tick(rq); /* it has none yet */
	rq_unlock(rq);
	if (!first)
		rebuild(s);
	tunables_rescale(s);
}

/* --- tasks without a CPU ------------------------------------------------------ */

bool sched_affinity_losses(struct sched *s)
{
	return READ_ONCE(s->affinity_lost) &&
	       __atomic_exchange_n(&s->affinity_lost, false, __ATOMIC_RELAXED);
}

int sched_affinity_lost(struct task *t)
{
	return (int)__atomic_exchange_n(&t->lost_cpu, 0, __ATOMIC_ACQ_REL) - 1;
}
