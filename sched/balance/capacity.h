/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much of a CPU is left for fair tasks. Real-time and deadline tasks take CPU time before them,
 * so balancing compares loads per capacity: a CPU that loses half of its time to a FIFO task should
 * have half as many fair tasks. Source: Linux 6.1, fair.c, scale_rt_capacity (docs/sources.md).
 */
#pragma once

#include "sched/core/rq.h"

/* The capacity of the fastest CPU at its fastest, and of every CPU where there is one speed. */
#define CPU_CAPACITY 1024ull

/* The part of @rq's CPU that fair tasks can have, at least 1, as of the CPU's last balancing. */
static inline u64 cpu_capacity(const struct rq *rq)
{
	return READ_ONCE(rq->capacity);
}

/* True if @rq lost so much of its capacity that a margin of @imbalance_pct does not cover it. */
static inline bool capacity_is_reduced(const struct rq *rq, u32 imbalance_pct)
{
	return cpu_capacity(rq) * imbalance_pct < rq->capacity_orig * 100;
}

/* Real-time or deadline tasks ran on @rq for the last @delta ns. Lock: that of @rq, held. */
void capacity_used(struct rq *rq, u64 delta);
/* Brings the capacity of @rq up to its clock. Lock: that of @rq, held. */
void capacity_refresh(struct rq *rq);
