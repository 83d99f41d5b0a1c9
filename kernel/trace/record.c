/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recording: the path of an event into its CPU's ring, the kernel's own events, and the names of
 * threads that readers of the trace want. trace.c keeps the state: which events are on, and the
 * rings.
 *
 * LOCKING. None. Interrupts are off from the test of the event's mask bit to the commit; trace.c
 * relies on that to know when nobody records any more.
 */
#include "kernel/kernel.h"
#include "kernel/trace/internal.h"
#include "kernel/trace/perf.h"
#include "lib/errno.h"
#include "lib/string.h"

/* --- the hot path ---------------------------------------------------------------------------- */

/* The struct record_header of a record of @type, in one word: type, context, running thread. */
static inline u64 make_header(u16 type, bool irqs_off)
{
	const struct cpu *cpu = this_cpu();
	u32 flags = irqs_off ? RECORD_IRQS_OFF : 0;

	debug_assert(!arch_irq_enabled());
	if (READ_ONCE(cpu->need_resched))
		flags |= RECORD_NEED_RESCHED;
	if (cpu->irq_depth)
		flags |= RECORD_HARDIRQ;
	return type | flags << 16 | min(cpu->preempt_count, 15u) << 24 | (u64)current->tid << 32;
}

/* A word of a record: records are aligned to 4 bytes. */
typedef u64 record_word __aligned(4);

/* At -O3 gcc looks at each event's copy and takes the jump for reads beyond the event. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Warray-bounds"
/*
 * Copy the words of a record except the first. The switch jumps into straight-line code for the
 * sizes of the scheduler's events: the copy is a quarter of an event's cost, and a loop would
 * double it.
 */
static inline void copy_fields(record_word *dst, const record_word *src, u32 size)
{
	u32 words = size / 8;

	debug_assert(size % 4 == 0 && size >= 8);
	for (; unlikely(words > 8); words--)
		dst[words - 1] = src[words - 1];
	if (size & 4)
		*(u32 *)(dst + size / 8) = *(const u32 *)(src + size / 8);
	switch (words) {
	case 8:
		dst[7] = src[7];
		__fallthrough;
	case 7:
		dst[6] = src[6];
		__fallthrough;
	case 6:
		dst[5] = src[5];
		__fallthrough;
	case 5:
		dst[4] = src[4];
		__fallthrough;
	case 4:
		dst[3] = src[3];
		__fallthrough;
	case 3:
		dst[2] = src[2];
		__fallthrough;
	case 2:
		dst[1] = src[1];
	}
}
#pragma GCC diagnostic pop

/* The other way, when there is a gate on the first. */
static __attribute__((noinline)) void route(const struct sched_event *event, u64 header, u64 now)
{
	record_word *copy = trace_route_room();

	debug_assert(!arch_irq_enabled());
	memcpy(copy, event, event->size);
	*copy = header;
	trace_route((const struct record_header *)copy, event->size, now);
}

/* Write @event into this CPU's ring, with its header of this moment. Interrupts off. */
static inline __attribute__((always_inline)) void record(const struct sched_event *event,
							 bool irqs_off)
{
	u64 now = arch_clock_ns();
	struct ring *r = &trace_rings[arch_cpu_id()];
	record_word *dst = ring_reserve(r, now, event->size);

	if (unlikely(!dst)) {
		if (trace_routed)
			route(event, make_header(event->type, irqs_off), now);
		return;
	}
	*dst = make_header(event->type, irqs_off);
	copy_fields(dst, (const record_word *)event, event->size);
	ring_commit(r);
}

void host_trace(const struct sched_event *event)
{
	debug_assert(!arch_irq_enabled());
	record(event, true);
}

STATIC_ASSERT(TRACE_RUN_SIZE == 31 && EVENT_SIZE_MAX <= RING_SHORT_MAX &&
		      TRACE_RUN_BYTES <= RING_PAYLOAD_MAX - 8,
	      "a run is as the ring has it");

/* The run of @nr records that was made in this CPU's room. */
static __attribute__((noinline)) void route_run(u32 nr)
{
	const u32 *header = (const u32 *)trace_route_room() + 1;
	u64 now = arch_clock_ns();

	debug_assert(!arch_irq_enabled());
	while (nr--) {
		u32 words = *header & TRACE_RUN_SIZE;

		trace_route((const struct record_header *)(header + 1), words * 4, now);
		header += 1 + words;
	}
}

struct trace_run host_trace_reserve(u32 bytes)
{
	u64 now = arch_clock_ns();
	u8 *at = ring_reserve_run(&trace_rings[arch_cpu_id()], now, bytes);

	debug_assert(!arch_irq_enabled());
	if (unlikely(!at) && trace_routed) {
		at = (u8 *)trace_route_room() + sizeof(u64);
		((u32 *)at)[-1] = 0;
	}
	return (struct trace_run){ .at = at, .head = make_header(0, true) };
}

void host_trace_commit(const u8 *end, u32 nr, unsigned cpu)
{
	debug_assert(!arch_irq_enabled());
	(void)cpu; /* where it was recorded is what the ring tells */
	if (unlikely(trace_routed))
		route_run(nr);
	else
		ring_commit_run(&trace_rings[arch_cpu_id()], end - 4, nr);
}

/* For events of the kernel, which may be preempted between the test of the mask and here. */
static void emit(unsigned nr, const struct sched_event *event)
{
	bool irqs_off = !arch_irq_enabled();
	unsigned long flags = arch_irq_save();

	debug_assert(nr < NR_TRACE_EVENTS);
	if (trace_mask & BIT(nr))
		record(event, irqs_off);
	arch_irq_restore(flags);
}

/* --- events of the kernel -------------------------------------------------------------------- */

#define FIELD(type, name, value) record.name = (type)(value);
#define LONG(name, value)	 FIELD(s64, name, value)
#define PID(name, value)	 FIELD(s32, name, value)
#define COMM(name, value)	 memcpy(record.name, value, COMM_LEN);
#define WORDS(name, n, value)	 memcpy(record.name, value, sizeof(record.name));

#undef TRACE_EVENT
#define EVENT(...)
#define TRACE_EVENT(system, name, id, parameters, fields, ...)                                     \
	void emit_##name parameters                                                                \
	{                                                                                          \
		struct event_##name record = { .common = { id, sizeof(record), 0 } };              \
                                                                                                   \
		fields emit(EVENT_##name, &record.common);                                         \
	}
#include "kernel/trace/event.def"

void trace_emit_process_fork(const struct thread *parent, struct thread *child)
{
	debug_assert(parent == current);
	trace_follow(parent->tid, child->tid);
	if (thread_has(parent, THREAD_PERF))
		perf_inherit(parent, child);
	perf_fork(parent, child);
	emit_sched_process_fork(parent, child);
}

void trace_emit_process_exec(const char *path, int old_tid)
{
	struct {
		struct event_sched_process_exec fixed;
		char path[108]; /* longer ones are cut */
	} ev = { .path = "" };
	u32 len = (u32)min(strlen(path), sizeof(ev.path) - 1) + 1;

	ev.fixed.common.type = EVENT_ID_sched_process_exec;
	ev.fixed.common.size = (u16)ALIGN_UP(sizeof(ev.fixed) + len, 4u);
	ev.fixed.filename = sizeof(ev.fixed) | len << 16;
	ev.fixed.pid = current->tid;
	ev.fixed.old_pid = old_tid;
	memcpy(ev.path, path, len - 1);
	perf_exec();
	emit(EVENT_sched_process_exec, &ev.fixed.common);
}

void trace_emit_process_exit(struct thread *t)
{
	debug_assert(t == current);
	emit_sched_process_exit(t);
	perf_exit(t);
	if (thread_has(t, THREAD_PERF))
		perf_leave(t);
	trace_follow(t->tid, 0);
}

void trace_emit_rename(const struct thread *t, const char *old, const char *name)
{
	perf_rename(t, name);
	emit_task_rename(t, old, name);
}

STATIC_ASSERT(sizeof(struct event_print) + TRACE_MARKER_MAX + 8 <= RING_PAYLOAD_MAX,
	      "the longest marker fits a page");
STATIC_ASSERT(offsetof(struct event_print, ip) == 8 && offsetof(struct event_print, buf) == 16,
	      "two words before the text");

/* The record `print` of @size bytes of @text in @r; false: there is no room. Interrupts off. */
static bool record_print(struct ring *r, const char *text, u32 size)
{
	bool newline = !size || text[size - 1] != '\n';
	u32 payload = ALIGN_UP((u32)sizeof(struct event_print) + size + newline + 1, 4u);
	record_word *ev;

	debug_assert(!arch_irq_enabled());
	ring_open(r);
	ev = ring_reserve(r, arch_clock_ns(), payload);
	if (ev) {
		char *buf = (char *)(ev + 2);

		memset((char *)ev + payload - 4, 0, 4); /* the NUL and the padding to a word */
		ev[0] = make_header(EVENT_ID_print, false);
		ev[1] = (u64)tracing_mark_write;
		memcpy(buf, text, size);
		if (newline)
			buf[size] = '\n';
		ring_commit(r);
	}
	ring_shut(r);
	return ev;
}

long tracing_mark_write(struct trace_instance *t, const char *text, size_t len)
{
	u32 size = min((u32)len, TRACE_MARKER_MAX);
	unsigned long flags;
	bool done;

	debug_assert(len);
	if (!trace_option(t, TRACE_MARKERS))
		return -EINVAL;
	flags = arch_irq_save();
	done = trace_enabled(print) && READ_ONCE(t->wanted) & BIT(EVENT_print) &&
	       record_print(&t->rings[arch_cpu_id()], text, size);
	arch_irq_restore(flags);
	return done ? (long)size : -EBADF;
}

/* --- names of threads ------------------------------------------------------------------------ */

struct cmdline trace_cmdlines[NR_CMDLINES];

void trace_task_name(int tid, const char *comm)
{
	struct cmdline *c = &trace_cmdlines[(unsigned)tid % NR_CMDLINES];

	debug_assert(tid > 0);
	c->tid = tid;
	memcpy(c->comm, comm, COMM_LEN);
}

const char *trace_comm(int tid)
{
	const struct cmdline *c = &trace_cmdlines[(unsigned)tid % NR_CMDLINES];

	if (!tid)
		return "<idle>";
	return c->tid == tid ? c->comm : "<...>";
}

size_t trace_show_cmdlines(void *arg, char *buf, size_t size)
{
	struct text out = text_of(buf, size);

	(void)arg;
	for (unsigned i = 0; i < NR_CMDLINES; i++) {
		const struct cmdline *c = &trace_cmdlines[i];

		if (c->tid)
			text_add(&out, "%d %.*s\n", c->tid, COMM_LEN, c->comm);
	}
	return out.len;
}
