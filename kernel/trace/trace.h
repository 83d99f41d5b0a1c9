/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tracer: events of the scheduler (sched/observe/event.def) and of the kernel (event.def) go
 * into one ring per CPU. They come out as /sys/kernel/tracing, or as a trace.dat made from the
 * machine's memory.
 *
 * A call site costs one test and a branch while its event is off. This page is what the rest of
 * the kernel sees; the tracer's own files share kernel/trace/internal.h.
 */
#pragma once

#include "kernel/task/proc.h"
#include "sched/observe/event.h"

#define FIELD(type, name, ...) type name;
#define PID(name, ...)	       s32 name;
#define COMM(name, ...)	       char name[COMM_LEN];
#define STRING(name)	       u32 name;
#define TEXT(name)	       char name[];
#define LONG(name, ...)	       s64 name;
#define WORDS(name, n, ...)    u64 name[n];
#define EVENT(system, name, id, fields, ...)                                                       \
	struct event_##name {                                                                      \
		struct sched_event common;                                                         \
		fields                                                                             \
	};
#include "kernel/trace/event.def"
#undef EVENT
#undef FIELD
#undef PID
#undef COMM
#undef STRING
#undef TEXT
#undef LONG
#undef WORDS

enum trace_event_nr { /* continues enum sched_event_nr */
		      LAST_SCHED_EVENT = NR_SCHED_EVENTS - 1,
#define EVENT(system, name, id, ...) EVENT_##name,
#include "kernel/trace/event.def"
#undef EVENT
		      NR_TRACE_EVENTS
};
STATIC_ASSERT(NR_TRACE_EVENTS <= 64, "event masks are words");

enum trace_event_id {
#define EVENT(system, name, id, ...) EVENT_ID_##name = (id),
#include "kernel/trace/event.def"
#undef EVENT
};

/* Bit n: events of number n are being recorded. Written by trace.c only. */
extern u64 trace_mask;

#define trace_enabled(name) unlikely(READ_ONCE(trace_mask) & BIT(EVENT_##name))

/*
 * Records an event if it is on: TRACE(local_timer_entry, LOCAL_TIMER_VECTOR), with the parameters
 * of its row in event.def. While it is off, they are not evaluated.
 */
#define TRACE(name, ...)                                                                           \
	do {                                                                                       \
		if (trace_enabled(name))                                                           \
			emit_##name(__VA_ARGS__);                                                  \
	} while (0)

/* emit_local_timer_entry(vector) and so on, for TRACE. */
#undef TRACE_EVENT
#define EVENT(...)
#define TRACE_EVENT(system, name, id, parameters, ...) void emit_##name parameters;
#include "kernel/trace/event.def"
#undef EVENT
#undef TRACE_EVENT
#define TRACE_EVENT(system, name, id, parameters, ...) EVENT(system, name, id, __VA_ARGS__)

/* Make the rings, apply trace_event= and trace_buf_size=. Between sched_init() and any switch. */
void trace_init(void);

/* mkdir and rmdir of tracefs, for fs_type. 0 or -errno. */
struct dentry;
int tracefs_mkdir(struct dentry *dir, const char *name, size_t len, u32 mode);
int tracefs_rmdir(struct dentry *dir, const char *name, size_t len, bool as_dir);

/* For readers of the trace: thread @tid is called @comm from now on. */
void trace_task_name(int tid, const char *comm);

void trace_emit_process_fork(const struct thread *parent, struct thread *child);
void trace_emit_process_exec(const char *path, int old_tid);
void trace_emit_process_exit(struct thread *t);
void trace_emit_rename(const struct thread *t, const char *old, const char *name);

/* Is life event @name on, or has the running thread events (perf.h) that want to know? */
#define trace_life(name) (trace_enabled(name) || unlikely(thread_has(current, THREAD_PERF)))

/* A new process or thread exists; in the parent's context, before the child can run. */
static inline void trace_process_fork(const struct thread *parent, struct thread *child)
{
	if (trace_life(sched_process_fork))
		trace_emit_process_fork(parent, child);
}

/*
 * The current thread has become the program @path (a kernel string); @old_tid is its id from
 * before.
 */
static inline void trace_process_exec(const char *path, int old_tid)
{
	if (trace_life(sched_process_exec))
		trace_emit_process_exec(path, old_tid);
}

/* Thread @t, the current one, ends. */
static inline void trace_process_exit(struct thread *t)
{
	if (trace_life(sched_process_exit))
		trace_emit_process_exit(t);
}

/* Thread @t was called @old and will be called @name; both have COMM_LEN bytes. */
static inline void trace_rename(const struct thread *t, const char *old, const char *name)
{
	if (trace_life(task_rename))
		trace_emit_rename(t, old, name);
}

/* Of interrupt handlers, around which there are events. */
#define LOCAL_TIMER_VECTOR 236 /* Linux's numbers on x86 */
#define RESCHEDULE_VECTOR  253
