/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of the tracer. */
#pragma once

#include "kernel/contract.h"
#include "kernel/pseudo/pseudo.h"
#include "kernel/sync.h"
#include "kernel/time/time.h"
#include "kernel/trace/filter.h"
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

/* --- sets of threads: bits of PID_MAX, which recording reads and changes ---------------------- */

/* Is the thread @pid in the set? 0 is no thread, although set_event_pid takes and shows a 0. */
static inline bool pids_have(const u64 *pids, int pid)
{
	return pid > 0 && pid < PID_MAX && READ_ONCE(pids[pid / 64]) & BIT(pid % 64);
}

static inline void pids_add(u64 *pids, int pid)
{
	debug_assert(pid >= 0 && pid < PID_MAX);
	__atomic_fetch_or(&pids[pid / 64], BIT(pid % 64), __ATOMIC_RELAXED);
}

/* @parent, if it is in the set, has a child, which joins; @child <= 0: @parent ends and leaves. */
static inline void pids_follow(u64 *pids, int parent, int child)
{
	if (!pids_have(pids, parent))
		return;
	if (child > 0)
		pids_add(pids, child);
	else
		__atomic_fetch_and(&pids[parent / 64], ~BIT(parent % 64), __ATOMIC_RELAXED);
}

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

enum trace_option {
	TRACE_CONTEXT_INFO,
	TRACE_IRQ_INFO,
	TRACE_MARKERS,
	TRACE_OVERWRITE,
	TRACE_EVENT_FORK, /* children of the threads in set_event_pid are recorded, too */
	NR_TRACE_OPTIONS
};
extern const char *const trace_option_names[NR_TRACE_OPTIONS];

/* guards: all of trace_instances, but for what recording reads, and everything about consuming */
extern struct mutex trace_lock;

/*
 * A buffer with its own events and settings. The first is the top of tracefs, the others are the
 * directories in instances/. guarded by: trace_lock
 */
struct trace_instance {
	struct ring *rings; /* of each CPU */
	bool live;	    /* it exists; the top always does */
	bool recording;	    /* tracing_on */
	u32 options;
	unsigned clock;	   /* the one that trace_clock shows in brackets */
	unsigned nr_open;  /* files that read the rings */
	u64 events_on;	   /* chosen events, whether or not recording */
	u64 wanted;	   /* events that it takes now */
	u64 generation;	   /* changes when the rings are replaced: readers start anew */
	u64 expands_to_kb; /* size of rings when the first event is switched on; 0: they have it */
	unsigned nr_filters;
	struct trace_filter *filter[NR_TRACE_EVENTS]; /* NULL: every record */
	u64 *pids;	 /* bits of PID_MAX: only what concerns these threads; NULL: everything */
	u64 hist_events; /* those that fill histograms */
	struct trace_hist *hists[NR_TRACE_EVENTS]; /* in order; NULL: none */
};

#define NR_TRACE_INSTANCES 8u
extern struct trace_instance trace_instances[NR_TRACE_INSTANCES];
#define trace_top (&trace_instances[0])
extern struct ring trace_rings[MAX_CPUS]; /* of the top */
extern bool trace_routed;

bool trace_option(const struct trace_instance *t, enum trace_option option);
u64 trace_buffer_kb(const struct trace_instance *t, unsigned cpu);
struct cpumask trace_cpumask(const struct trace_instance *t);

/* All of these: trace_lock held. */
void trace_apply(void); /* what is recorded follows from the instances again */
void trace_set_on(struct trace_instance *t, bool on);
/* -ENOMEM: the rings could not get their full size */
int trace_set_events(struct trace_instance *t, u64 mask);
void trace_set_option(struct trace_instance *t, enum trace_option option, bool on);
void trace_clear(struct trace_instance *t, int cpu); /* < 0: all */
/* Discards what is recorded. @kb > 0 is rounded up to pages; @cpu < 0: every CPU. -ENOMEM. */
int trace_set_buffer_kb(struct trace_instance *t, int cpu, u64 kb);
/* Record only on the CPUs of @mask. */
void trace_set_cpumask(struct trace_instance *t, const struct cpumask *mask);
/* Consumes @filter or @pids, made by kmalloc(); NULL takes the present one away. */
void trace_set_filter(struct trace_instance *t, unsigned event, struct trace_filter *filter);
void trace_set_pids(struct trace_instance *t, u64 *pids);
/* Make @t, which is not live, an instance without events. 0 or -ENOMEM. */
int trace_instance_start(struct trace_instance *t);
/* End it; it has no open files. */
void trace_instance_stop(struct trace_instance *t);
/* On return every record that was being written is complete. */
void trace_wait_for_writers(void);

/* --- route.c: where a record goes when there is something to ask ----------------------------- */

/* Put @record, complete with its header, where it is wanted. Interrupts off. */
void trace_route(const struct record_header *record, u32 size, u64 now);
/* False: no memory. */
bool trace_route_init(void);
/* This CPU's room for a record or a run of records on its way to trace_route(). */
void *trace_route_room(void);
/* The thread @parent has a child; @child <= 0: it ends. Instances that follow it take notice. */
void trace_follow(int parent, int child);

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
/* Record @text in @t as an event `print`. -EBADF: not recording; -EINVAL: option markers is off. */
long tracing_mark_write(struct trace_instance *t, const char *text, size_t len);

/* --- text.c ---------------------------------------------------------------------------------- */

/* Their files' arg has a CPU + 1, or 0 for all CPUs. */
extern const struct file_ops trace_text_ops; /* trace */
extern const struct file_ops trace_pipe_ops; /* trace_pipe */
extern const struct file_ops trace_raw_ops;  /* trace_pipe_raw; one CPU only */

/* Readers that wait, and the timer that wakes the readers to look again. */
struct trace_readers {
	struct waitq wait;
	struct ktimer timer;
	bool armed; /* atomic */
};
#define TRACE_READERS_INIT(n)                                                                      \
	{                                                                                          \
		.wait = WAITQ_INIT((n).wait), .timer.fn = trace_look_again                         \
	}
/* Wakes the readers in 10 ms; all calls until then are one. */
void trace_look_again_soon(struct trace_readers *r);
void trace_look_again(struct ktimer *t); /* the timer's function */

/* --- choice.c: files that say which records are kept ------------------------------------------ */

/* The filter of event number @event of the file's instance, as its file shows it. */
size_t trace_show_filter(void *arg, unsigned event, char *buf, size_t size);
/* For those events of @mask that have the fields; -EINVAL if none has. */
long trace_store_filter(void *arg, u64 mask, const char *text, size_t len);
/* set_event_pid */
size_t trace_show_pids(void *arg, char *buf, size_t size);
long trace_store_pids(void *arg, const char *text, size_t len);
void trace_truncate_pids(void *arg);
/* set_ftrace_pid */
size_t trace_show_function_pids(void *arg, char *buf, size_t size);
long trace_store_function_pids(void *arg, const char *text, size_t len);
void trace_truncate_function_pids(void *arg);
/* error_log */
size_t trace_show_error(void *arg, char *buf, size_t size);
long trace_store_error(void *arg, const char *text, size_t len);
void trace_truncate_error(void *arg);

/* Keep what was wrong with the trigger @text of an event for error_log. trace_lock held. */
void trace_log_error(unsigned event, const char *text, size_t len,
		     const struct trace_filter_error *error);

/* --- hist.c, hist_text.c: histograms --------------------------------------------------------- */

/* Count @record in the histograms that event number @event fills in @t. Interrupts off. */
void trace_count(const struct trace_instance *t, unsigned event, const void *record);
/* trigger: commands that are there; store takes one. -EINVAL, -EEXIST, -ENOENT as Linux. */
size_t trace_show_trigger(void *arg, unsigned event, char *buf, size_t size);
long trace_store_trigger(void *arg, unsigned event, const char *text, size_t len);
void trace_truncate_trigger(void *arg, unsigned event);
/* hist: what was counted */
size_t trace_show_hist(void *arg, unsigned event, char *buf, size_t size);
/* End all histograms of an event. trace_lock held. */
void trace_remove_hists(struct trace_instance *t, unsigned event);

/* --- instance.c: the directory instances/ ----------------------------------------------------- */

/* Where the files of instance number @i are: "", or "instances/name/". */
const char *tracefs_prefix(unsigned i);

/* --- tracefs.c ------------------------------------------------------------------------------- */

/* A number, or a constant text, as a pseudo_file's arg. */
#define ARG(x) ((void *)(uintptr_t)(x))
/* The arg of a file of instance number @i: its number @n, below 65536, says which of the kind. */
#define TRACE_ARG(i, n) ARG((uintptr_t)(i) << 16 | (n))
static inline struct trace_instance *instance_of(void *arg)
{
	debug_assert((uintptr_t)arg >> 16 < NR_TRACE_INSTANCES);
	return &trace_instances[(uintptr_t)arg >> 16];
}
static inline unsigned number_of(void *arg)
{
	return (uintptr_t)arg & 0xffff;
}

/*
 * Register @nr files of a table under the directory @dir of instance number @i ("" is its own), all
 * with the number @n. 0 or -errno.
 */
int tracefs_add_dir(unsigned i, const char *dir, const struct pseudo_file *files, unsigned nr,
		    unsigned n);
/* The same for one file. */
int tracefs_add_file(unsigned i, const char *dir, const struct pseudo_file *file, unsigned n);
/* The directories that every instance has. 0 or -errno. */
int tracefs_add_control(unsigned i);
int tracefs_add_events(unsigned i);
int tracefs_add_settings(unsigned i);

/*
 * Take trace_lock to change the instance of a file. 0, or -ENODEV: it was removed, and the lock is
 * not taken.
 */
int tracefs_lock(void *arg);
/* For the end of a store: gives the lock back and returns @err, or @len if that is 0. */
long tracefs_unlock(int err, size_t len);
/* Take trace_lock to open a file that reads the rings. The same errors; release ends it. */
int tracefs_open(void *arg);
void tracefs_release(struct trace_instance *t);

/* Is the written text @word, with or without a newline? */
bool tracefs_is(const char *text, size_t len, const char *word);
/* The next word of @text from *pos on: its start, its length in *len; NULL at the end. */
const char *tracefs_word(const char *text, size_t end, size_t *pos, size_t *len);
