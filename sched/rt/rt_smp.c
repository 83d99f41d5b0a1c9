/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Real-time tasks on several CPUs: where one wakes up, and how one that waits gets to a CPU that
 * runs something less urgent. rt.c has the class.
 *
 * Lock: the runqueue's. Source: Linux 6.1, rt.c (docs/sources.md).
 */
#include "sched/balance/domain.h"
#include "sched/record/class.h"
#include "sched/rt/rt.h"

/* The priority of a CPU that runs no real-time task; lower numbers are real-time priorities. */
#define PRIO_FAIR    MAX_RT_PRIO
#define PRIO_NOTHING (MAX_RT_PRIO + 1)

/* The most urgent priority on @rq, running or waiting; racy if its lock is not held. */
static unsigned cpu_prio(const struct rq *rq)
{
	const struct rt_queue *rt = rt_seen(rq);
	unsigned prio = rt->throttled ? MAX_RT_PRIO : rt_first_prio(rt);

	if (rt_outranked(rq))
		return 0;
	if (prio < MAX_RT_PRIO)
		return prio;
	return READ_ONCE(rq->nr_running) ? PRIO_FAIR : PRIO_NOTHING;
}

/* The CPUs with the least urgent work, for @t of CPU @from; none if it is not more urgent. */
static struct cpumask lowest_cpus(struct sched *s, const struct task *t, unsigned from)
{
	struct cpumask usable = usable_cpus(s, t, from), lowest = cpumask_none();
	unsigned level = (unsigned)t->prio + 1, cpu;

	SCHED_DEBUG_ASSERT((unsigned)t->prio < MAX_RT_PRIO);
	for_each_cpu(cpu, &usable) {
		unsigned prio = cpu_prio(cpu_rq(s, cpu));

		if (prio < level)
			continue;
		if (prio > level)
			lowest = cpumask_none();
		level = prio;
		cpumask_set(&lowest, cpu);
	}
	return lowest;
}

bool rt_is_lower_elsewhere(struct rq *rq, const struct task *t)
{
	struct cpumask lowest = lowest_cpus(rq->s, t, rq->cpu);

	assert_locked(rq);
	return !cpumask_empty(&lowest);
}

static int find_lowest_cpu(struct rq *rq, const struct task *t, unsigned cpu)
{
	struct cpumask lowest = lowest_cpus(rq->s, t, rq->cpu);

	return urgent_target(rq, &lowest, cpu);
}

void rt_ask_others_to_push(struct rq *rq)
{
	unsigned cpu;

	debug_assert_locked(rq);
	for_each_cpu(cpu, &rq->s->rt_overload)
		if (!cpus_apart(rq->s, cpu, rq->cpu))
			host_kick(cpu, true);
}

unsigned rt_select_cpu(struct rq *rq, struct task *t, unsigned cpu, unsigned reason)
{
	const struct task *curr = READ_ONCE(rq->curr);
	int lowest;

	debug_assert_locked(rq);
	if (unlikely(!rq->online)) {
		class_because(rq, REASON_cpu_leaves);
		lowest = find_lowest_cpu(rq, t, cpu);
		return lowest < 0 ? any_allowed_cpu(rq->s, t) : (unsigned)lowest;
	}
	if (!task_allowed(t, t->cpu)) {
		class_because(rq, REASON_only_allowed);
		return any_allowed_cpu(rq->s, t);
	}
	if (!(reason & (SELECT_WAKE | SELECT_FORK)) || curr->class->rank > CLASS_rt)
		return t->cpu;
	/* Behind something as urgent, or in front of something that could not go elsewhere. */
	if (curr->nr_allowed > 1 && curr->prio > t->prio) {
		class_because(rq, REASON_displaces);
		return t->cpu;
	}
	lowest = find_lowest_cpu(rq, t, cpu);
	class_because(rq, lowest < 0 ? REASON_none_less_urgent : REASON_least_urgent_there);
	return lowest < 0 ? t->cpu : (unsigned)lowest;
}

/* The most urgent task that waits on @rq and may run on @cpu (CPU_MAX: any other), or NULL. */
static struct task *first_movable(struct rq *rq, unsigned cpu)
{
	struct rt_queue *rt = rt_of(rq);

	assert_locked(rq);
	for (unsigned prio = rt_first_prio(rt); prio < MAX_RT_PRIO; prio++) {
		struct list *link;

		for (link = rt->list[prio].next; link != &rt->list[prio]; link = link->next) {
			struct task *t = rt_task_of(link);

			if (!task_running(rq, t) && t->nr_allowed > 1 &&
			    (cpu == CPU_MAX || task_allowed(t, cpu)))
				return t;
		}
	}
	return NULL;
}

/* One at a time: where the next one should go depends on where this one went. */
void rt_push(struct rq *rq)
{
	struct rt_queue *rt = rt_of(rq);
	struct task *t;
	int to;

	assert_locked(rq);
	if (rt->throttled || !rt->nr_movable)
		return;
	t = first_movable(rq, CPU_MAX);
	to = t ? find_lowest_cpu(rq, t, rq->cpu) : -1;
	if (to < 0)
		return;
	trace_class_move(rq, t, ACT_push, (unsigned)to);
	hand_over(rq, t, (unsigned)to);
	if (rt_one_waits(rq) && rt->nr_movable)
		resched(rq);
}

/*
 * One task from @src that is more urgent than what @rq has, but not about to run there. True if
 * somebody changed the task on its way, so that @rq has nothing as urgent now and must look again.
 */
static bool pull_from(struct rq *rq, struct rq *src)
{
	unsigned own_prio = cpu_prio(rq), prio = 0;
	struct task *t;

	debug_assert_locked(rq);
	SCHED_DEBUG_ASSERT(src != rq);
	rq->pulling = true;
	rq_unlock(rq);
	rq_lock(src);
	t = rt_of(src)->throttled ? NULL : first_movable(src, rq->cpu);
	if (t &&
	    ((unsigned)t->prio >= own_prio || (t->prio < src->curr->prio && !rt_outranked(src))))
		t = NULL;
	if (t) {
		prio = (unsigned)t->prio;
		trace_class_move(src, t, ACT_pull, rq->cpu);
		detach_task(src, t, rq->cpu);
	}
	rq_unlock(src);
	rq_lock(rq);
	rq->pulling = false;
	if (t)
		attach_locked(rq, t);
	return t && !rt_of(rq)->throttled && cpu_prio(rq) > prio;
}

void rt_pull(struct rq *rq, struct task *prev)
{
	struct cpumask sources;
	unsigned cpu;

	debug_assert_locked(rq);
	if ((int)cpu_prio(rq) <= prev->prio || rt_of(rq)->throttled || !rq->online)
		return;
	/* Be less urgent, then look who waits; one who waits looks who is less urgent. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	sources = rq->s->rt_overload;
	cpumask_clear(&sources, rq->cpu);
	for_each_cpu(cpu, &sources)
		while (!cpus_apart(rq->s, cpu, rq->cpu) && pull_from(rq, cpu_rq(rq->s, cpu)))
			;
}
