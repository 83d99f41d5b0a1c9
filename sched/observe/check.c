/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Invariants as code: invariant.def numbers them, here they are tested, one
 * runqueue at a time under its lock. Called after every operation in the hosted
 * tests and now and then in debug kernels; host_bug() on violation. Slow.
 */
#include "sched/core/family.h"
#include "sched/balance/domain.h"
#include "sched/core/core.h"
#include "sched/fair_server.h"
#include "sched/freq/governor.h"

void check_queued_task(struct rq *rq, struct task *t)
{
	assert_locked(rq);
	SCHED_CHECK(T2, t->cpu == rq->cpu);
	SCHED_CHECK(T3, task_may_be_on(t, rq) || t->push_cpu != PUSH_NONE);
	SCHED_CHECK(T4, t->state != TASK_NEW && t->state != TASK_WAKING);
	check_family(rq->s, t);
}

/* Has the most urgent class with something to pick a server that picks of the running class? */
static bool runs_for_server(struct rq *rq)
{
	const struct sched_class *class = rq->s->class[__builtin_ctz(rq->active)];
	struct class_numbers n;

	SCHED_DEBUG_ASSERT(rq->active);
	return class->server && class->server->numbers(rq, &n) && !n.throttled &&
	       task_is_fair(rq->curr);
}

static void check_current(struct rq *rq)
{
	struct task *curr = rq->curr;

	SCHED_CHECK(T1, curr == rq->idle || curr->on_rq != TASK_OFF_RQ || rq->pulling);
	if (curr != rq->idle && curr->on_rq == TASK_QUEUED)
		check_queued_task(rq, curr);
	SCHED_CHECK(R4, curr != rq->idle || rq->need_resched || (!rq->nr_running && !rq->active));
	SCHED_CHECK(R5, !(rq->active & (BIT(curr->class->rank) - 1)) || rq->need_resched ||
				runs_for_server(rq));
}

/* Its domains span CPUs in service only, or such as have not come yet. */
static void check_domains(struct rq *rq)
{
	struct domain *sd;
	unsigned cpu;

	for_each_domain(sd, rq) {
		if (likely(cpumask_subset(&sd->span->cpus, &rq->s->online)))
			continue;
		for_each_cpu(cpu, &sd->span->cpus)
			SCHED_CHECK(R10, cpu_rq(rq->s, cpu)->online || !cpu_rq(rq->s, cpu)->idle);
	}
}

/* The classes' answers about @rq agree with the core's own fields. */
static void check_classes(struct rq *rq)
{
	struct task *t;
	u32 nr = 0;

	for_each_queued(t, rq)
	{
		bool pickable = t->on_rq != TASK_DELAYED && task_is_pickable(rq, t);

		SCHED_CHECK(R12, !pickable || class_is_active(rq, t->class->rank));
		nr += pickable;
	}
	SCHED_CHECK(R1, rq->nr_running == nr);
}

/* The classes' own invariants. */
static void check_inside_classes(struct rq *rq)
{
	const struct sched_class *class;

	for_each_class(class, rq->s) if (class->debug.check) class->debug.check(rq);
}

static void check_rq(struct rq *rq)
{
	struct task *t;

	assert_locked(rq);
	check_classes(rq);
	SCHED_CHECK(R13, rq->capacity - 1 < rq->capacity_orig);
	SCHED_CHECK(R11, cpumask_test(&rq->s->crowded, rq->cpu) == (rq->nr_running > 1));
	SCHED_CHECK(R3, !time_before(host_clock(rq->cpu), rq->clock));
	SCHED_CHECK(R7, list_empty(&rq->handover) || rq->pulling);
	for_each_queued(t, rq) check_queued_task(rq, t);
	check_current(rq);
	waste_check(rq);
	if (rq->freq) {
		freq_check(rq);
		tune_check(rq);
		clamp_check(rq);
	}
	check_domains(rq);
	check_inside_classes(rq);
}

/* Since it has left. */
static void check_offline(struct rq *rq)
{
	const struct task *curr = rq->curr;
	u32 pushed = curr->on_rq == TASK_QUEUED && curr->push_cpu != PUSH_NONE;
	const struct sched_class *class;

	assert_locked(rq);
	for_each_class(class, rq->s)
	{
		SCHED_CHECK(R9, class->fixture || class->nr_queued(rq) ==
							  (class == curr->class ? pushed : 0));
		SCHED_CHECK(R9, !curr->class->fixture || !class->next_timer ||
					!class->next_timer(rq));
	}
	check_inside_classes(rq);
	check_classes(rq);
	SCHED_CHECK(R9, list_empty(&rq->handover));
	SCHED_CHECK(R10, !rq->domains && !rq->llc && rq->core->weight == 1);
	SCHED_CHECK(R10, !cpumask_test(&rq->s->nohz_idle, rq->cpu));
}

void sched_check(struct sched *s)
{
	unsigned cpu;

	for_each_cpu(cpu, &s->possible) {
		struct rq *rq = cpu_rq(s, cpu);

		if (rq->online || !rq->idle)
			continue;
		rq_lock(rq);
		check_offline(rq);
		rq_unlock(rq);
	}
	for_each_cpu(cpu, &s->online) {
		struct rq *rq = cpu_rq(s, cpu);

		rq_lock(rq);
		check_rq(rq);
		rq_unlock(rq);
	}
}
