/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A machine: its size, and its beginning.
 */
#include "sched/balance/domain.h"
#include "sched/balance/sharedq.h"
#include "sched/fair/core/fair.h"
#include "lib/errno.h"

void sched_prefetch(struct sched *s, unsigned cpu)
{
	const struct rq *rq = cpu_rq(s, cpu);

	prefetch(rq, &rq->waste);
	prefetch(&rq->nr_switches, &rq->idle_ns);
}

void sched_set_lazy(struct sched *s, bool lazy)
{
	WRITE_ONCE(s->lazy, lazy);
}

struct task *sched_current(struct sched *s, unsigned cpu)
{
	return cpu_rq(s, cpu)->curr;
}

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
	struct rq *rq = cpu_rq(s, cpu);

	rq->lock.rank = HOST_RANK_RQ;
	rq->lock.cpu = cpu;
	rq->s = s;
	rq->cpu = cpu;
	classes_notify(rq, NOTICE_NEW);
	sharedq_init(rq);
	list_init(&rq->handover);
	rq->yield_below = YIELD_BELOW;
	rq->capacity = rq->capacity_orig = CPU_CAPACITY;
	rq->avg_idle = 2ull * s->tunable.migration_cost_ns;
	rq->max_idle_balance_cost = s->tunable.migration_cost_ns;
}

static void init_classes(struct sched *s)
{
	for (unsigned rank = 0; rank < NR_CLASSES; rank++) {
		s->class_own[rank] = classes[rank];
		s->class_copy[rank] = *classes[rank];
		s->class[rank] = &s->class_copy[rank];
		s->server = classes[rank]->server ?: s->server;
		SCHED_ASSERT(classes[rank]->rank == rank);
	}
}

int sched_init(struct sched *s, const struct sched_config *config)
{
	struct cpumask possible;
	size_t topology_at;

	if (!config->nr_cpus || config->nr_cpus > CPU_MAX || !config->topology)
		return -EINVAL;
	if (config->hz != 100 && config->hz != 250 && config->hz != 1000)
		return -EINVAL;
	if (config->guest && !sched_policy_complete(config->guest))
		return -EINVAL;
	possible = cpumask_first_n(config->nr_cpus);
	if (config->isolated && cpumask_subset(&possible, config->isolated))
		return -EINVAL;
	fair_init_policies(s, config->guest);
	s->fair_policy = fair_policy_find(s, config->fair_policy);
	if (!s->fair_policy)
		return -EINVAL;
	/* Memory as sched_size() demands it. */
	SCHED_DEBUG_ASSERT(!((uintptr_t)s % 64) && !s->rq);
	s->nr_cpus = config->nr_cpus;
	s->hz = config->hz;
	s->tick_ns = NS_PER_SEC / config->hz;
	s->possible = possible;
	if (config->isolated)
		s->isolated = cpumask_and(&possible, config->isolated);
	s->has_isolated = !cpumask_empty(&s->isolated);
	s->home = cpumask_andnot(&possible, &s->isolated);
	s->nr_home = cpumask_weight(&s->home);
	init_classes(s);
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

const struct cpumask *sched_isolated(const struct sched *s)
{
	return &s->isolated;
}
