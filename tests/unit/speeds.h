/* SPDX-License-Identifier: GPL-2.0-only */
/* Machines whose CPUs have operating points, and what governors hear there and decide. */
#pragma once

#include "lib/opp.h"
#include "sched/freq/freq.h"
#include "smp.h"

/* The machine that lib/opp.c has under @name. */
static inline struct machine *builtin_machine(const char *name, const char *policy)
{
	const char *shape, *table = opp_builtin(name, &shape);

	return machine_new_opp(shape, table, policy);
}

static inline void govern(struct machine *m, const char *governor)
{
	for (unsigned cpu = 0; cpu < m->nr_cpus; cpu++)
		assert_int_equal(sched_freq_govern(m->s, cpu, governor), 0);
}

/* The machine @name under @governor, which begins at the slowest points. */
static inline struct machine *governed(const char *name, const char *governor)
{
	struct machine *m = builtin_machine(name, NULL);

	govern(m, "powersave");
	govern(m, governor);
	return m;
}

/* A task that may run on @cpu only. */
static inline struct task *pinned(struct machine *m, unsigned cpu)
{
	struct task *t = spawn_nice(m, "t", 0);

	allow(m, t, cpumask_of(cpu));
	return t;
}

static inline struct sched_freq_stat stat_of(struct machine *m, unsigned cpu)
{
	struct sched_freq_stat stat;

	sched_freq_stat(m->s, cpu, &stat);
	return stat;
}

/* @cpu's tasks use @util, as news of @reason tells its governor. Returns the speed after that. */
static inline u32 tell(struct machine *m, unsigned cpu, u64 util, enum freq_reason reason)
{
	struct rq *rq = rq_of(m, cpu);

	host_lock(&rq->lock);
	rq->clock = host_clock(cpu);
	rq->fair.avg.util_avg = util;
	rq->fair.avg.util_est_enqueued = 0;
	freq_update(rq, reason);
	host_unlock(&rq->lock);
	return stat_of(m, cpu).mhz;
}
