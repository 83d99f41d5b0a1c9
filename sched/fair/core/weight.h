/* SPDX-License-Identifier: GPL-2.0-only */
/* Weights: nice values as shares, and real time as virtual time. See weight.c. */
#pragma once

#include "sched/core/core.h"

#define WEIGHT_SHIFT 10
#define NICE_0_LOAD  (1024ull << WEIGHT_SHIFT)

/* A stored weight in units of the nice table, at least 2 unless it is 0. */
static inline u64 weight_down(u64 weight)
{
	u64 down = weight >> WEIGHT_SHIFT;

	return likely(down >= 2) ? down : weight ? 2 : 0;
}

struct load_weight weight_of_nice(int nice);
struct load_weight weight_of_idle(void);
/* By nice value and policy alone. */
struct load_weight weight_of_task(const struct task *t);
/* A changed weight makes its inverse stale. */
static inline void load_add(struct load_weight *load, u64 weight)
{
	SCHED_DEBUG_ASSERT(weight);
	load->weight += weight;
	load->inverse = 0;
}

static inline void load_sub(struct load_weight *load, u64 weight)
{
	SCHED_DEBUG_ASSERT(load->weight >= weight);
	load->weight -= weight;
	load->inverse = 0;
}

/* delta * weight / total->weight, rounded down twice; caches the inverse in @total. */
u64 calc_delta(u64 delta, u64 weight, struct load_weight *total);

/* Real to virtual time of @e: a nice-0 task's virtual time is real time. */
static inline u64 calc_delta_fair(u64 delta, struct entity *e)
{
	if (likely(e->load.weight == NICE_0_LOAD))
		return delta;
	return calc_delta(delta, NICE_0_LOAD, &e->load);
}

static inline const struct tunables *tunables_of(const struct fair_queue *q)
{
	return &q->rq->s->tunable;
}
