/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * perf_event_open(2): an event is a file that counts, or that writes samples into a ring of pages
 * which a program maps. Here events are tracepoints and a few of Linux's software counters; layouts
 * are those of Linux's include/uapi/linux/perf_event.h.
 */
#pragma once

#include "kernel/fs/fs.h"
#include "kernel/trace/internal.h"

enum perf_type { PERF_HARDWARE, PERF_SOFTWARE, PERF_TRACEPOINT };

/* Software events. */
enum {
	PERF_CPU_CLOCK = 0,
	PERF_TASK_CLOCK = 1,
	PERF_CONTEXT_SWITCHES = 3,
	PERF_DUMMY = 9,
};

enum perf_sample_type {
	PERF_SAMPLE_IP = 0x1,
	PERF_SAMPLE_TID = 0x2,
	PERF_SAMPLE_TIME = 0x4,
	PERF_SAMPLE_ADDR = 0x8,
	PERF_SAMPLE_ID = 0x40,
	PERF_SAMPLE_CPU = 0x80,
	PERF_SAMPLE_PERIOD = 0x100,
	PERF_SAMPLE_STREAM_ID = 0x200,
	PERF_SAMPLE_RAW = 0x400,
	PERF_SAMPLE_IDENTIFIER = 0x10000,
	PERF_SAMPLE_KNOWN = 0x107cf,
};

enum perf_read_format {
	PERF_READ_ENABLED = 1,
	PERF_READ_RUNNING = 2,
	PERF_READ_ID = 4,
	PERF_READ_LOST = 16,
	PERF_READ_KNOWN = 23,
};

enum perf_flag { /* of perf_attr.flags */
		 PERF_DISABLED = 1 << 0,
		 PERF_INHERIT = 1 << 1,
		 PERF_EXCLUDE_KERNEL = 1 << 5,
		 PERF_COMM = 1 << 9,
		 PERF_FREQ = 1 << 10,
		 PERF_ENABLE_ON_EXEC = 1 << 12,
		 PERF_TASK = 1 << 13,
		 PERF_WATERMARK = 1 << 14,
		 PERF_SAMPLE_ID_ALL = 1 << 18,
};

/* The part of struct perf_event_attr that means something here. */
struct perf_attr {
	u32 type, size;
	u64 config, sample_period, sample_type, read_format, flags;
	u32 wakeup; /* records, or bytes with PERF_WATERMARK */
	u32 bp_type;
};

struct perf_ring; /* perf_ring.c */

/* An event. Its fields are constant once it is made, but for `enabled`, `ring` and the counts. */
struct perf_event {
	GUARDED(trace_lock);
	struct list links; /* on threads */
	GUARDED(trace_lock, "recording, on its CPU");
	struct perf_event *next; /* on the same CPU */
	GUARDED(constant);
	struct perf_attr attr;
	u64 id;

	unsigned nr; /* what it counts: number of a tracepoint, or COUNT_x of perf.c */
	GUARDED(constant);
	int cpu; /* on which it counts; -1: on every CPU */

	bool of_cpu; /* it counts what all threads do there */
	GUARDED(atomic);
	bool enabled;
	GUARDED(ring_lock, trace_lock, "writers of events, which load it once");
	struct perf_ring *ring; /* NULL: no samples */

	u64 count, lost;       /* of records */
	u64 since, enabled_ns; /* when it was switched on or off, and how long it was on before */
	u64 base;	       /* of a clock: the time for which it was on at its reset */
};

/*
 * A file for a new event of thread @tid (0: the running one, -1: all) on @cpu (-1: all); its
 * attributes have been checked. NULL and -errno in *err: none.
 */
struct file *perf_event_open(const struct perf_attr *attr, int tid, int cpu, int *err);
/* The event of @f, NULL: it is another file. */
struct perf_event *perf_event_of(const struct file *f);

/* --- perf.c, for the tracer ------------------------------------------------------------------- */

/* Events that somebody has open. trace_lock held. */
u64 perf_wanted(void);
/* Interrupts off, for all these. @record is one of event @nr at @now. */
void perf_route(unsigned nr, const struct record_header *record, u32 size, u64 now);
/* The running thread @t leaves its CPU. */
void perf_count_switch(void);
static inline void perf_leave_cpu(const struct thread *t)
{
	if (unlikely(thread_has(t, THREAD_PERF)))
		perf_count_switch();
}
/* The running thread becomes another program. */
void perf_exec(void);
/*
 * The new thread @child gets those events of @parent, the running thread, that are inherited. An
 * event for which there is no memory does not count @child. May sleep.
 */
void perf_inherit(const struct thread *parent, struct thread *child);
/* The running thread @t ends: takes its events off it. May sleep. */
void perf_leave(struct thread *t);
/* Calls @fn for each event that is on and counts what the running thread does here and now. */
void perf_for_each_here(void (*fn)(struct perf_event *e, void *arg), void *arg);

/* --- perf_record.c ---------------------------------------------------------------------------- */

/* A sample of @e at @now; @raw: the record of its tracepoint, of @size bytes, or NULL and 0. */
void perf_sample(struct perf_event *e, const struct record_header *raw, u32 size, u64 now);
/* @t will be called @comm; @parent has made @child; @t ends. For the running thread's events. */
void perf_rename(const struct thread *t, const char *comm);
void perf_fork(const struct thread *parent, const struct thread *child);
void perf_exit(const struct thread *t);

/* --- perf_ring.c ----------------------------------------------------------------------------- */

/*
 * A ring of @nr_pages data pages, a power of 2, and a page that describes it. NULL and *err: no
 * memory, or -EPERM: the user has too many.
 */
struct perf_ring *perf_ring_create(u64 nr_pages, u64 watermark, int *err);
struct perf_ring *perf_ring_get(struct perf_ring *r);
void perf_ring_put(struct perf_ring *r); /* NULL is fine */
u64 perf_ring_pages(const struct perf_ring *r);
/* Physical address of page @index, 0 is the one that describes it; 0: there is none. */
u64 perf_ring_page(const struct perf_ring *r, u64 index);
/* Is there room for @size bytes? On its CPU with interrupts off, as the next. */
bool perf_ring_fits(const struct perf_ring *r, u32 size);
/* Add @size bytes, a multiple of 8, for which there is room. */
void perf_ring_write(struct perf_ring *r, const void *data, u32 size);
/* Has the program so much to read that it wants to know? */
bool perf_ring_is_ready(const struct perf_ring *r);
