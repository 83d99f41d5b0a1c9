/* SPDX-License-Identifier: GPL-2.0-only */
/* Meters of energy; see meter.c. Lock of all: that of the domain. */
#pragma once

#include "sched/freq/freq.h"

/* @m begins to count, idle. */
void meter_start(struct freq_meter *m, u64 now);
/* @m, of @d or one of its CPUs, becomes busy or idle. */
void meter_turn(struct freq_domain *d, struct freq_meter *m, u64 now, bool busy);
/* All meters of @d are brought up to @now: its point is about to change. */
void meter_all(struct freq_domain *d, u64 now);
