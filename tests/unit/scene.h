/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Machines drawn at random for one question: where does a task go? Each CPU idles or is busy as
 * drawn, without a history, so a machine is good for questions only. What a test answers by itself
 * it takes from the description here: sets of CPUs, not the domains of the scheduler. Amounts are
 * drawn from a few, so that many are equal.
 */
#pragma once

#include <stdlib.h>

#include "smp.h"
#include "lib/prng.h"

enum state { IDLE, ABOUT_TO_RUN, POLICY_IDLE, BUSY, CROWDED, NR_STATES };

static const struct shape {
	unsigned nodes, llcs, cores, smt;
} shapes[] = { { 1, 1, 4, 2 }, { 1, 2, 2, 2 }, { 1, 2, 4, 1 }, { 1, 4, 1, 1 },
	       { 2, 2, 2, 1 }, { 1, 1, 6, 1 }, { 2, 1, 2, 2 } };

/* The state of a machine, and the call about the task @t that is made then. */
struct scene {
	struct machine *m;
	const struct shape *shape;
	struct prng rng;
	struct task *t;
	struct task *curr[CPU_MAX];
	enum state state[CPU_MAX];
	unsigned waker, last, recent; /* CPUs */
	bool sync;
};

static inline u64 one_of(struct scene *sc, const u64 *values, unsigned nr)
{
	return values[prng_below(&sc->rng, nr)];
}

static inline bool perhaps(struct scene *sc, unsigned one_in)
{
	return !prng_below(&sc->rng, one_in);
}

/* --- the machine, described ------------------------------------------------------------------- */

static inline unsigned core_of(const struct scene *sc, unsigned cpu)
{
	return cpu / sc->shape->smt;
}

static inline unsigned cache_of(const struct scene *sc, unsigned cpu)
{
	return cpu / (sc->shape->smt * sc->shape->cores);
}

static inline unsigned node_of(const struct scene *sc, unsigned cpu)
{
	return cpu / (sc->shape->smt * sc->shape->cores * sc->shape->llcs);
}

static inline unsigned cache_size(const struct scene *sc)
{
	return sc->shape->smt * sc->shape->cores;
}

/* How far @b is from @a: the same core, cache, node, or none of them. */
static inline unsigned distance(const struct scene *sc, unsigned a, unsigned b)
{
	return core_of(sc, a) == core_of(sc, b)	    ? 0
	       : cache_of(sc, a) == cache_of(sc, b) ? 1
	       : node_of(sc, a) == node_of(sc, b)   ? 2
						    : 3;
}

static inline bool is_free(const struct scene *sc, unsigned cpu)
{
	return sc->state[cpu] == IDLE || sc->state[cpu] == POLICY_IDLE;
}

static inline bool is_allowed(const struct scene *sc, unsigned cpu)
{
	return cpumask_test(&sc->t->allowed, cpu);
}

static inline bool is_usable(const struct scene *sc, unsigned cpu)
{
	return is_allowed(sc, cpu) && cpumask_test(&sc->m->s->online, cpu);
}

/* The last CPU of the task, or the first of those that it may use. */
static inline unsigned any_usable(const struct scene *sc)
{
	unsigned cpu = sc->last;

	for (unsigned n = 0; !is_usable(sc, cpu); n++)
		cpu = n;
	return cpu;
}

static inline bool has(const struct scene *sc, unsigned which)
{
	return sc->m->s->features >> which & 1;
}

/* --- drawing ---------------------------------------------------------------------------------- */

static inline void draw_cpu(struct scene *sc, unsigned cpu)
{
	static const u64 loads[] = { 0, 10, 20, 21, 22, 100, 110, 117, 1000 };
	static const u64 capacities[] = { 1024, 1024, 1024, 512, 2048 };
	struct rq *rq = rq_of(sc->m, cpu);
	enum state state = perhaps(sc, 3) ? IDLE : prng_below(&sc->rng, NR_STATES);

	sc->state[cpu] = state;
	rq->curr = state == IDLE || state == ABOUT_TO_RUN ? rq->idle : sc->curr[cpu];
	rq->nr_running = state == IDLE ? 0 : state == CROWDED ? 3 : 1;
	rq->fair.tasks.nr = rq->nr_running;
	rq->fair.tasks.nr_idle = state == POLICY_IDLE ? 1 : state == CROWDED;
	rq->fair.avg.load_avg = one_of(sc, loads, ARRAY_SIZE(loads));
	rq->capacity = one_of(sc, capacities, ARRAY_SIZE(capacities));
	rq->curr->fair.avg.load_avg = one_of(sc, loads, ARRAY_SIZE(loads));
	if (rq->llc) {
		rq->llc->span->has_idle_cores = perhaps(sc, 2);
		rq->llc->span->nr_idle_scan = prng_below(&sc->rng, cache_size(sc) + 1);
	}
}

/* --- asking ----------------------------------------------------------------------------------- */

/* A machine of that shape, under @policy; @question is asked of @nr scenes in it. */
static inline void ask_under(const char *policy, const struct shape *shape, u64 seed, unsigned nr,
			     void (*question)(struct scene *))
{
	struct scene sc = {
		.m = machine_of(shape->nodes, shape->llcs, shape->cores, shape->smt, policy),
		.shape = shape,
	};

	prng_seed(&sc.rng, host_seed(seed));
	sc.t = spawn_nice(sc.m, "subject", 0);
	block(sc.m, sc.t->cpu, TASK_INTERRUPTIBLE);
	for (unsigned cpu = 0; cpu < sc.m->nr_cpus; cpu++)
		sc.curr[cpu] = spawn_nice(sc.m, "busy", 0);
	advance(sc.m, 10 * NS_PER_SEC);
	for (unsigned cpu = 0; cpu < sc.m->nr_cpus; cpu++) {
		rq_lock(rq_of(sc.m, cpu)); /* its clock is now's */
		rq_unlock(rq_of(sc.m, cpu));
	}
	while (nr--)
		question(&sc);
	for (unsigned cpu = 0; cpu < sc.m->nr_cpus; cpu++)
		free(sc.curr[cpu]);
	free(sc.t);
	machine_free(sc.m);
}

/* The same on a machine of every shape. */
static inline void ask_everywhere(const char *policy, unsigned nr, void (*question)(struct scene *))
{
	for (unsigned i = 0; i < ARRAY_SIZE(shapes); i++)
		ask_under(policy, &shapes[i], 1 + i, nr, question);
}

/* The answer of the scheduler, asked with the runqueue of the last CPU locked. */
static inline unsigned choice_of(const struct scene *sc,
				 unsigned (*select)(struct rq *, struct task *, unsigned, unsigned),
				 unsigned reason)
{
	struct rq *rq = rq_of(sc->m, sc->last);
	unsigned chosen;

	rq_lock(rq);
	chosen = select(rq, sc->t, sc->waker, reason);
	rq_unlock(rq);
	return chosen;
}
