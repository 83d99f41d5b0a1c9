/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of the tracer. */
#pragma once

#include "kernel/pseudo/pseudo.h"
#include "kernel/trace/ring.h"
#include "kernel/trace/trace.h"
#include "lib/cpumask.h"
#include "lib/fmt.h"

/* The common header of every record, as tools read it. */
struct record_header {
	u16 type;
	u8 flags, preempt_count;
	s32 pid;
};
STATIC_ASSERT(sizeof(struct record_header) == 8, "written as one word");

enum record_flags {
	RECORD_IRQS_OFF = 0x01,
	RECORD_NEED_RESCHED = 0x24, /* Linux's two flags for it are one here */
	RECORD_HARDIRQ = 0x08,
};

/* --- events.c: the table made from the two event.def ----------------------------------------- */

struct trace_event {
	const char *system, *name;
	u16 id;
	void (*format)(struct text *out);		     /* the body of the `format` file */
	void (*print)(struct text *out, const void *record); /* the record as `trace` shows it */
	const char *print_fmt;
};

extern const struct trace_event trace_events[NR_TRACE_EVENTS]; /* by event number */
const struct trace_event *trace_event_by_id(u16 id);
size_t trace_event_format(const struct trace_event *ev, char *buf, size_t size);
/* Events that "sys:event", "sys:*", "sys" or "event" matches, with shell patterns; 0 if none. */
u64 trace_events_matching(const char *pattern, size_t len);
/* Events that can be switched: all but system ftrace. */
u64 trace_events_switchable(void);
extern const char trace_header_page[], trace_header_event[];

/* --- trace.c: the state ---------------------------------------------------------------------- */

extern struct ring trace_rings[MAX_CPUS];
/* guards: which events are on, options, ring sizes, and everything about consuming */
extern struct mutex trace_lock;

enum trace_option {
	TRACE_CONTEXT_INFO,
	TRACE_IRQ_INFO,
	TRACE_MARKERS,
	TRACE_OVERWRITE,
	NR_TRACE_OPTIONS
};
extern const char *const trace_option_names[NR_TRACE_OPTIONS];

/* Changes when the rings are replaced: readers start anew. guarded by: trace_lock */
extern u64 trace_generation;

bool trace_is_on(void);
u64 trace_events_on(void);
bool trace_option(enum trace_option option);

/* All of these: trace_lock held. */
void trace_set_on(bool on);
int trace_set_events(u64 mask); /* -ENOMEM: the rings could not get their full size */
void trace_set_option(enum trace_option option, bool on);
void trace_clear(int cpu); /* < 0: all */
/* Discards what is recorded. @kb > 0 is rounded up to pages; @cpu < 0: every CPU. -ENOMEM. */
int trace_set_buffer_kb(int cpu, u64 kb);
u64 trace_buffer_kb(unsigned cpu);
/*
 * Rings are tiny before their first use; this is the size in KiB that they get then. 0: they have
 * it.
 */
u64 trace_buffer_expands_to(void);

/* Record only on the CPUs of @mask. */
void trace_set_cpumask(const struct cpumask *mask);
struct cpumask trace_cpumask(void);

/* --- record.c -------------------------------------------------------------------------------- */

/* Names of threads, by tid modulo the size: a newer one overwrites an older. Racy by design. */
#define NR_CMDLINES 4096
struct cmdline {
	s32 tid;
	char comm[COMM_LEN];
};
STATIC_ASSERT(sizeof(struct cmdline) == 20, "layout known to image.py");
extern struct cmdline trace_cmdlines[NR_CMDLINES];

/* The remembered name of a thread: "<idle>", or "<...>" if it is not known. */
const char *trace_comm(int tid);
size_t trace_show_cmdlines(void *arg, char *buf, size_t size);

#define TRACE_MARKER_MAX 1024u /* bytes, as Linux 6.1; longer texts are cut */
/* Record @text as an event `print`. -EBADF: not recording; -EINVAL: option markers is off. */
long tracing_mark_write(const char *text, size_t len);

/* --- text.c ---------------------------------------------------------------------------------- */

/* Their files' arg is a CPU + 1, or 0 for all CPUs. */
extern const struct file_ops trace_text_ops; /* trace */
extern const struct file_ops trace_pipe_ops; /* trace_pipe */
extern const struct file_ops trace_raw_ops;  /* trace_pipe_raw; one CPU only */

/* --- tracefs.c ------------------------------------------------------------------------------- */

/* Register @nr files of a table under the directory @dir, all with @arg. */
int tracefs_add_dir(const struct pseudo_file *files, unsigned nr, const char *dir, uintptr_t arg);
/* As a pseudo_file's show: the text that is its arg. */
size_t tracefs_show_constant(void *arg, char *buf, size_t size);
/* Is the written text @word, with or without a newline? */
bool tracefs_is(const char *text, size_t len, const char *word);

#define ARG(x) ((void *)(uintptr_t)(x)) /* a number, or a constant text, as a pseudo_file's arg */
