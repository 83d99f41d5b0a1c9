/* SPDX-License-Identifier: GPL-2.0-only */
/* Recording the scheduler's events in a trace.dat file, as trace-cmd does. */
#pragma once

#include "sim/engine/sim.h"

struct trace;
/*
 * Record from now on what happens on @sim, of @events (BIT(EVENT_x)). @about says what run it is;
 * the trace frees it.
 */
struct trace *trace_new(struct sim *sim, u64 events, char *about);
/* Writes the recorded events to @path, which --@option names, and frees @trace. */
void trace_write(struct trace *trace, const char *option, const char *path);

/* --- event_format.c ------------------------------------------------------------------------ */

/* The system of event @nr (enum sched_event_nr). */
const char *event_system(u32 nr);
/* The text of the file `format` of event @nr. The caller frees it. */
char *event_format_text(u32 nr);
