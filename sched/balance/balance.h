/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interface of balancing to the core, which alone knows when to call it.
 */
#pragma once

#include "sched/core/core.h"

/* @rq goes idle: placement may use its whole core. Lock held. */
void placement_cpu_idles(struct rq *rq);
/*
 * @rq is about to idle: bring tasks from other CPUs. May drop and retake the lock. Returns whether
 * a class has something to pick, or may have.
 */
bool balance_newly_idle(struct rq *rq);
/* After a tick, no lock held: balance if it is time to, or have an idle CPU do it. */
void balance_tick(struct rq *rq);

/* The domain lines of /proc/schedstat. */
void dump_schedstat_domains(struct text *out, struct rq *rq);
