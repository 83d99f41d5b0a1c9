/* SPDX-License-Identifier: GPL-2.0-only */
/* Recording the scheduler's events in a trace.dat file, as trace-cmd does. */
#pragma once

#include "sim/engine/sim.h"

struct trace *trace_new(struct sim *sim);
/* Write what was recorded to @path, and forget it. */
void trace_write(struct sim *sim, const char *path);
