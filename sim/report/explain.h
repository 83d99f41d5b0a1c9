/* SPDX-License-Identifier: GPL-2.0-only */
/* --explain: one decision of the scheduler, with what led to it. */
#pragma once

#include <stdio.h>

#include "sim/engine/sim.h"

/*
 * Run to the first decision at @at or later on @cpu (-1: any), print it and stop there; if there is
 * none until @end, say so.
 */
void explain(struct sim *sim, u64 at, u64 end, s64 cpu);

/* --- event_text.c ------------------------------------------------------------------------- */

/* "sched_wakeup: comm=..." */
void print_event(FILE *out, const struct sched_event *event);
/* Did it happen on @cpu, or bring a task there? */
bool event_concerns(const struct sched_event *event, unsigned cpu);
