/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events of perf_event_open(2). A tracepoint's records reach its events through trace_route(): each
 * is counted and, if the event has a ring, becomes a sample there. Besides samples a ring has what
 * perf needs to name threads, births, names and ends, and how many samples found no room.
 *
 * LOCKING. The lists of events change under trace_lock and are read with interrupts off; an event
 * is freed after trace_wait_for_writers(). An event with a ring belongs to one CPU, the ring's only
 * writer.
 *
 * WAITING. As in text.c a timer wakes the readers to look again, here for rings that have become
 * half full.
 */
#include "kernel/trace/perf.h"

#include "kernel/fs/vfs.h"

#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "lib/errno.h"
#include "lib/string.h"

#define EVERY_CPU     MAX_CPUS /* the list of events that have no CPU of their own */
#define NO_TRACEPOINT NR_TRACE_EVENTS
#define PAGES_MAX     4096u /* of one ring */

static struct perf_event *events[MAX_CPUS + 1]; /* guarded by: trace_lock */
static u64 last_id;				/* likewise */
static const struct file_ops perf_ops;

/* --- records --------------------------------------------------------------------------------- */

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
	add(r, data, size);
	add(r, &zero, padded - size);
}

/* The longest record of a tracepoint that can be put on has room behind the longest head. */
#define RAW_MAX 256u
STATIC_ASSERT(11 * 8 + 4 + RAW_MAX + 8 <= sizeof(((struct record *)NULL)->body), "a sample fits");

static void put_sample(struct perf_event *e, const struct record_header *raw, u32 size, u64 now)
{
	u64 type = e->attr.sample_type;
	struct record r;

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

/* --- from the tracer ------------------------------------------------------------------------- */

static bool is_about(const struct perf_event *e, int tid)
{
	return READ_ONCE(e->enabled) && (!e->pids || pids_have(e->pids, tid));
}

static void count(struct perf_event *e, const struct record_header *record, u32 size, u64 now)
{
	u64 nr = __atomic_add_fetch(&e->count, 1, __ATOMIC_RELAXED);

	if (READ_ONCE(e->ring) && e->attr.sample_period && nr % e->attr.sample_period == 0)
		put_sample(e, record, size, now);
}

void perf_route(unsigned nr, const struct record_header *record, u32 size, u64 now)
{
	for (struct perf_event *e = events[arch_cpu_id()]; e; e = e->next)
		if (e->nr == nr && is_about(e, record->pid))
			count(e, record, size, now);
	for (struct perf_event *e = events[EVERY_CPU]; e; e = e->next)
		if (e->nr == nr && is_about(e, record->pid))
			count(e, record, size, now);
}

/* Writes @r, but for the end, for each event of this CPU that has one of @flags. */
static void tell(const struct record *r, u64 flags)
{
	unsigned long irqs = arch_irq_save();
	u64 now = arch_clock_ns();

	for (struct perf_event *e = events[arch_cpu_id()]; e; e = e->next) {
		struct record copy;

		if (!(e->attr.flags & flags) || !READ_ONCE(e->ring) || !is_about(e, current->tid))
			continue;
		memcpy(&copy, r, r->size);
		add_sample_id(&copy, e, now);
		put(e, &copy, now);
	}
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
	tell_life(RECORD_FORK, child, parent);
}

void perf_exit(const struct thread *t)
{
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

void perf_follow(int parent, int child)
{
	for (unsigned i = 0; i <= EVERY_CPU; i++)
		for (struct perf_event *e = events[i]; e; e = e->next)
			if (e->pids && e->attr.flags & PERF_INHERIT)
				pids_follow(e->pids, parent, child);
}

/* --- counting -------------------------------------------------------------------------------- */

/* For how long it was enabled until @now, which is read once for one answer. */
static u64 enabled_ns(const struct perf_event *e, u64 now)
{
	return e->enabled_ns + (READ_ONCE(e->enabled) && now > e->since ? now - e->since : 0);
}

static void set_enabled(struct perf_event *e, bool on)
{
	u64 now = arch_clock_ns();

	if (on == READ_ONCE(e->enabled))
		return;
	e->enabled_ns = enabled_ns(e, now);
	e->since = now;
	WRITE_ONCE(e->enabled, on);
}

/* The clocks count the time for which they are on. */
static bool is_clock(const struct perf_attr *attr)
{
	return attr->type == PERF_SOFTWARE &&
	       (attr->config == PERF_CPU_CLOCK || attr->config == PERF_TASK_CLOCK);
}

static u64 value_of(const struct perf_event *e, u64 now)
{
	return is_clock(&e->attr) ? enabled_ns(e, now) - e->base : e->count;
}

void perf_exec(void)
{
	unsigned long irqs = arch_irq_save();

	for (unsigned i = 0; i <= EVERY_CPU; i++) {
		for (struct perf_event *e = events[i]; e; e = e->next) {
			bool ours = e->pids && pids_have(e->pids, current->tid);

			if (ours && e->attr.flags & PERF_ENABLE_ON_EXEC)
				set_enabled(e, true);
		}
	}
	arch_irq_restore(irqs);
}

static long perf_read(struct file *f, void *user_buf, size_t n, u64 *pos)
{
	struct perf_event *e = f->private;
	u64 format = e->attr.read_format, now = arch_clock_ns(), words[5];
	unsigned nr = 0;

	(void)pos;
	words[nr++] = value_of(e, now);
	if (format & PERF_READ_ENABLED)
		words[nr++] = enabled_ns(e, now);
	if (format & PERF_READ_RUNNING)
		words[nr++] = enabled_ns(e, now);
	if (format & PERF_READ_ID)
		words[nr++] = e->id;
	if (format & PERF_READ_LOST)
		words[nr++] = e->lost;
	if (n < nr * sizeof(u64))
		return -ENOSPC;
	return arch_copy_to_user(user_buf, words, nr * sizeof(u64)) ? -EFAULT
								     : (long)(nr * sizeof(u64));
}

/* --- the ring of an event -------------------------------------------------------------------- */

/*
 * Guards the pointer of each event to its ring. set_ring() waits for writers, which need no lock;
 * everybody else takes a reference with ring_of(). It is innermost: pages are mapped under other
 * locks.
 */
static struct spinlock ring_lock = SPINLOCK_INIT("perf ring");

/* The ring of @e with a reference for the caller, or NULL. Lock: takes ring_lock. */
static struct perf_ring *ring_of(const struct perf_event *e)
{
	struct perf_ring *ring;

	spin_lock(&ring_lock);
	ring = e->ring ? perf_ring_get(e->ring) : NULL;
	spin_unlock(&ring_lock);
	return ring;
}

/* Gives @e the ring @ring, with the caller's reference, instead of the one it has. */
static void set_ring(struct perf_event *e, struct perf_ring *ring)
{
	struct perf_ring *old;

	mutex_lock(&trace_lock);
	spin_lock(&ring_lock);
	old = e->ring;
	WRITE_ONCE(e->ring, ring);
	spin_unlock(&ring_lock);
	if (old)
		trace_wait_for_writers();
	mutex_unlock(&trace_lock);
	perf_ring_put(old);
}

/* One page that describes it, and a power of 2 of data; again the same for what is there. */
static int perf_mmap(struct file *f, u64 offset, u64 len, bool shared)
{
	struct perf_event *e = f->private;
	u64 pages = len / PAGE_SIZE, watermark;
	struct perf_ring *ring;
	long err;

	if (offset || !shared || len % PAGE_SIZE || pages < 2 || (pages - 1) & (pages - 2) ||
	    pages > PAGES_MAX + 1 || e->cpu < 0)
		return -EINVAL;
	ring = ring_of(e);
	if (ring) {
		err = perf_ring_pages(ring) == pages - 1 ? 0 : -EINVAL;
		perf_ring_put(ring);
		return err;
	}
	watermark = e->attr.flags & PERF_WATERMARK ? e->attr.wakeup : e->attr.wakeup != 0;
	ring = perf_ring_create(pages - 1, watermark);
	if (!ring)
		return -ENOMEM;
	set_ring(e, ring);
	return 0;
}

static u64 perf_map_page(struct file *f, u64 offset)
{
	struct perf_ring *ring = ring_of(f->private);
	u64 pa = ring ? perf_ring_page(ring, offset / PAGE_SIZE) : 0;

	if (pa)
		page_get(pa);
	perf_ring_put(ring);
	return pa;
}

static long share_ring(struct perf_event *e, int fd)
{
	struct file *f = fd == -1 ? NULL : fd_get(fd);
	struct perf_event *other = f ? perf_event_of(f) : NULL;
	struct perf_ring *ring = other ? ring_of(other) : NULL;
	long err = 0;

	if (fd == -1)
		set_ring(e, NULL);
	else if (!other)
		err = f ? -EINVAL : -EBADF;
	else if (other == e || other->cpu != e->cpu || e->cpu < 0 || !ring)
		err = -EINVAL;
	else
		set_ring(e, perf_ring_get(ring));
	perf_ring_put(ring);
	if (f)
		file_put(f);
	return err;
}

/* --- waiting for half a ring ----------------------------------------------------------------- */

static struct trace_readers readers = TRACE_READERS_INIT(readers);

static unsigned perf_poll(struct file *f, struct poll_table *pt)
{
	struct perf_ring *ring = ring_of(f->private);
	bool ready;

	if (!ring)
		return POLLHUP;
	poll_wait(&readers.wait, pt);
	ready = perf_ring_is_ready(ring);
	perf_ring_put(ring);
	if (ready)
		return POLLIN | POLLRDNORM;
	trace_look_again_soon(&readers);
	return 0;
}

/* --- the file -------------------------------------------------------------------------------- */

enum perf_ioctl {
	IOC_ENABLE = 0x2400,
	IOC_DISABLE = 0x2401,
	IOC_RESET = 0x2403,
	IOC_SET_OUTPUT = 0x2405,
	IOC_ID = 0x80082407,
};

static long perf_ioctl(struct file *f, unsigned cmd, u64 arg)
{
	struct perf_event *e = f->private;

	switch (cmd) {
	case IOC_ENABLE:
	case IOC_DISABLE:
		set_enabled(e, cmd == IOC_ENABLE);
		return 0;
	case IOC_RESET:
		e->count = 0;
		e->base = enabled_ns(e, arch_clock_ns());
		return 0;
	case IOC_SET_OUTPUT:
		return share_ring(e, (int)arg);
	case IOC_ID:
		return arch_copy_to_user((void *)arg, &e->id, sizeof(e->id)) ? -EFAULT : 0;
	default:
		return -ENOTTY;
	}
}

static struct perf_event **list_of(const struct perf_event *e)
{
	return &events[e->cpu < 0 ? EVERY_CPU : (unsigned)e->cpu];
}

static void free_event(struct perf_event *e)
{
	perf_ring_put(e->ring);
	kfree(e->pids);
	kfree(e);
}

static void perf_release(struct file *f)
{
	struct perf_event *e = f->private, **at;

	mutex_lock(&trace_lock);
	for (at = list_of(e); *at != e; at = &(*at)->next)
		;
	WRITE_ONCE(*at, e->next);
	trace_apply();
	trace_wait_for_writers();
	mutex_unlock(&trace_lock);
	free_event(e);
}

static const struct file_ops perf_ops = {
	.read = perf_read,
	.ioctl = perf_ioctl,
	.poll = perf_poll,
	.mmap = perf_mmap,
	.map_page = perf_map_page,
	.release = perf_release,
};

struct perf_event *perf_event_of(const struct file *f)
{
	return f->ops == &perf_ops ? f->private : NULL;
}

u64 perf_wanted(void)
{
	u64 mask = 0, life = PERF_INHERIT | PERF_COMM | PERF_ENABLE_ON_EXEC | PERF_TASK;

	assert(mutex_is_held(&trace_lock));
	for (unsigned i = 0; i <= EVERY_CPU; i++) {
		for (const struct perf_event *e = events[i]; e; e = e->next) {
			if (e->nr != NO_TRACEPOINT)
				mask |= BIT(e->nr);
			if (e->attr.flags & life)
				mask |= BIT(EVENT_sched_process_fork) |
					BIT(EVENT_sched_process_exec) |
					BIT(EVENT_sched_process_exit) | BIT(EVENT_task_rename);
		}
	}
	return mask;
}

/* --- making one ------------------------------------------------------------------------------ */

/* The number of the tracepoint that @attr counts; NO_TRACEPOINT: none. -errno: there is no such. */
static int tracepoint_of(const struct perf_attr *attr, int tid)
{
	const struct trace_event *ev;

	if (attr->type == PERF_SOFTWARE && attr->config == PERF_CONTEXT_SWITCHES)
		return EVENT_sched_switch;
	/* A thread's clocks would count the time for which it runs. */
	if ((is_clock(attr) && tid < 0) ||
	    (attr->type == PERF_SOFTWARE && attr->config == PERF_DUMMY))
		return NO_TRACEPOINT;
	if (attr->type != PERF_TRACEPOINT)
		return -ENOENT;
	ev = attr->config <= UINT16_MAX ? trace_event_by_id((u16)attr->config) : NULL;
	if (!ev || !(trace_events_switchable() & BIT(ev - trace_events)))
		return -EINVAL;
	return (int)(ev - trace_events);
}

static struct perf_event *make_event(const struct perf_attr *attr, unsigned nr, int tid, int cpu)
{
	struct perf_event *e = kzalloc(sizeof(*e));

	if (!e)
		return NULL;
	e->attr = *attr;
	e->nr = nr;
	e->cpu = cpu;
	if (tid >= 0) {
		e->pids = kzalloc(PID_MAX / 8);
		if (!e->pids) {
			kfree(e);
			return NULL;
		}
		pids_add(e->pids, tid);
	}
	set_enabled(e, !(attr->flags & PERF_DISABLED));
	return e;
}

struct file *perf_event_open(const struct perf_attr *attr, int tid, int cpu, int *err)
{
	int nr = tracepoint_of(attr, tid);
	struct perf_event *e;
	struct file *f;

	*err = nr < 0 ? nr : -ENOMEM;
	if (nr < 0)
		return NULL;
	e = make_event(attr, (unsigned)nr, tid ? tid : current->tid, cpu);
	f = e ? file_nameless(&perf_ops, e, O_RDWR) : NULL;
	if (!f) {
		if (e)
			free_event(e);
		return NULL;
	}
	*err = 0;
	mutex_lock(&trace_lock);
	e->id = ++last_id;
	e->next = *list_of(e);
	WRITE_ONCE(*list_of(e), e);
	trace_apply();
	mutex_unlock(&trace_lock);
	return f;
}
