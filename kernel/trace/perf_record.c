/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records in the rings of perf_event_open(2): samples of what an event counts, births, names and
 * ends, by which perf names threads, and how many found no room.
 *
 * LOCKING. As recording (record.c): interrupts are off, and a ring has one CPU that writes.
 */
#include "kernel/trace/perf.h"

#include "kernel/kernel.h"
#include "lib/string.h"

enum record_type {
	RECORD_LOST = 2,
	RECORD_COMM = 3,
	RECORD_EXIT = 4,
	RECORD_FORK = 7,
	RECORD_SAMPLE = 9
};
#define MISC_KERNEL 1u
#define MISC_USER   2u

/* A record in the making: a header, then words. */
struct record {
	u32 type;
	u16 misc, size;
	u8 body[480];
};

static void add(struct record *r, const void *data, u32 size)
{
	debug_assert(r->size + size <= sizeof(*r));
	memcpy((u8 *)r + r->size, data, size);
	r->size += size;
}

static void add_word(struct record *r, u64 word)
{
	add(r, &word, sizeof(word));
}

static void add_pair(struct record *r, u32 first, u32 second)
{
	add_word(r, first | (u64)second << 32);
}

static void begin(struct record *r, u32 type, u16 misc)
{
	r->type = type;
	r->misc = misc;
	r->size = offsetof(struct record, body);
}

static u32 pid_of(const struct thread *t)
{
	return t->proc ? (u32)t->proc->pid : (u32)t->tid;
}

/* Every record but a sample ends with it. */
static void add_sample_id(struct record *r, const struct perf_event *e, u64 now)
{
	u64 type = e->attr.flags & PERF_SAMPLE_ID_ALL ? e->attr.sample_type : 0;

	if (type & PERF_SAMPLE_TID)
		add_pair(r, pid_of(current), (u32)current->tid);
	if (type & PERF_SAMPLE_TIME)
		add_word(r, now);
	if (type & PERF_SAMPLE_ID)
		add_word(r, e->id);
	if (type & PERF_SAMPLE_STREAM_ID)
		add_word(r, e->id);
	if (type & PERF_SAMPLE_CPU)
		add_pair(r, arch_cpu_id(), 0);
	if (type & PERF_SAMPLE_IDENTIFIER)
		add_word(r, e->id);
}

/*
 * Says first how many were lost before; both find room, or @r is lost, too. The ring is read once:
 * set_ring() may take it away meanwhile, and lets it go only after us (trace_wait_for_writers()).
 */
static void put(struct perf_event *e, const struct record *r, u64 now)
{
	struct perf_ring *ring = READ_ONCE(e->ring);
	struct record lost;

	debug_assert(!arch_irq_enabled());
	if (!ring)
		return;

	lost.size = 0;
	if (e->lost) {
		begin(&lost, RECORD_LOST, 0);
		add_word(&lost, e->id);
		add_word(&lost, e->lost);
		add_sample_id(&lost, e, now);
	}
	if (!perf_ring_fits(ring, r->size + lost.size)) {
		e->lost++;
		return;
	}
	if (e->lost)
		perf_ring_write(ring, &lost, lost.size);
	perf_ring_write(ring, r, r->size);
	e->lost = 0;
}

static void add_raw(struct record *r, const void *data, u32 size)
{
	u32 padded = ALIGN_UP(size + 4, 8u) - 4;
	u64 zero = 0;

	add(r, &padded, sizeof(padded));
	if (size)
		add(r, data, size);
	add(r, &zero, padded - size);
}

/* The longest record of a tracepoint that can be put on has room behind the longest head. */
#define RAW_MAX 256u
STATIC_ASSERT(11 * 8 + 4 + RAW_MAX + 8 <= sizeof(((struct record *)NULL)->body), "a sample fits");

void perf_sample(struct perf_event *e, const struct record_header *raw, u32 size, u64 now)
{
	u64 type = e->attr.sample_type;
	struct record r;

	debug_assert(!arch_irq_enabled());
	begin(&r, RECORD_SAMPLE, MISC_KERNEL);
	if (type & PERF_SAMPLE_IDENTIFIER)
		add_word(&r, e->id);
	if (type & PERF_SAMPLE_IP)
		add_word(&r, (u64)host_trace);
	if (type & PERF_SAMPLE_TID)
		add_pair(&r, pid_of(current), (u32)current->tid);
	if (type & PERF_SAMPLE_TIME)
		add_word(&r, now);
	if (type & PERF_SAMPLE_ADDR)
		add_word(&r, 0);
	if (type & PERF_SAMPLE_ID)
		add_word(&r, e->id);
	if (type & PERF_SAMPLE_STREAM_ID)
		add_word(&r, e->id);
	if (type & PERF_SAMPLE_CPU)
		add_pair(&r, arch_cpu_id(), 0);
	if (type & PERF_SAMPLE_PERIOD)
		add_word(&r, e->attr.sample_period);
	if (type & PERF_SAMPLE_RAW)
		add_raw(&r, raw, min(size, RAW_MAX));
	put(e, &r, now);
}

/* --- what happens to threads ------------------------------------------------------------------ */

struct news {
	const struct record *record;
	u64 flags, now;
};

static void tell_one(struct perf_event *e, void *arg)
{
	const struct news *n = arg;
	struct record copy;

	debug_assert(!arch_irq_enabled());
	if (!(e->attr.flags & n->flags) || !READ_ONCE(e->ring))
		return;
	memcpy(&copy, n->record, n->record->size);
	add_sample_id(&copy, e, n->now);
	put(e, &copy, n->now);
}

/* Writes @r, but for the end, for each event here that has one of @flags. */
static void tell(const struct record *r, u64 flags)
{
	unsigned long irqs = arch_irq_save();
	struct news n = { r, flags, arch_clock_ns() };

	perf_for_each_here(tell_one, &n);
	arch_irq_restore(irqs);
}

static void tell_life(u32 type, const struct thread *t, const struct thread *parent)
{
	struct record r;

	begin(&r, type, MISC_KERNEL);
	add_pair(&r, pid_of(t), pid_of(parent));
	add_pair(&r, (u32)t->tid, (u32)parent->tid);
	add_word(&r, arch_clock_ns());
	tell(&r, PERF_TASK);
}

void perf_fork(const struct thread *parent, const struct thread *child)
{
	debug_assert(parent == current);
	tell_life(RECORD_FORK, child, parent);
}

void perf_exit(const struct thread *t)
{
	debug_assert(t == current);
	tell_life(RECORD_EXIT, t, t);
}

void perf_rename(const struct thread *t, const char *comm)
{
	struct record r;

	begin(&r, RECORD_COMM, MISC_USER);
	add_pair(&r, pid_of(t), (u32)t->tid);
	add(&r, comm, COMM_LEN);
	tell(&r, PERF_COMM);
}
