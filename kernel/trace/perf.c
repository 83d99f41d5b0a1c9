/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events of perf_event_open(2). A tracepoint's records reach its events through trace_route(): each
 * is counted and, if the event has a ring, becomes a sample there (perf_record.c).
 *
 * WHO PAYS. An event of a thread hangs on that thread, and on those that inherit it. It is looked
 * at only when one of them does something, so nobody else is slowed by it. Only who may watch
 * everybody can hang one on a CPU. A thread's switches are counted where it leaves its CPU, without
 * a record: the tracepoint would be on for all.
 *
 * LOCKING. The lists of events change under trace_lock. A thread's list is read by the thread
 * itself, a CPU's on that CPU, both with interrupts off; an event is freed after
 * trace_wait_for_writers(). An event with a ring belongs to one CPU, the ring's only writer.
 *
 * WAITING. As in text.c a timer wakes the readers to look again, here for rings that have become
 * half full.
 */
#include "kernel/trace/perf.h"

#include "kernel/base/guards.h"
#include "kernel/contract.h"
#include "kernel/fs/vfs.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/task/account.h"
#include "lib/errno.h"
#include "lib/string.h"

#define PAGES_MAX  4096u /* of one ring */
#define EVENTS_MAX 1024u /* of one thread, whose switches look at each with the runqueue locked */

/* Values of perf_event.nr beside the tracepoints. */
enum { COUNT_NOTHING = NR_TRACE_EVENTS, COUNT_SWITCHES };

/* An event on a thread. The thread's own list is first to last `next`. */
struct perf_link {
	struct perf_event *event;
	struct thread *thread;		/* with a reference */
	struct perf_link *next, **slot; /* where the pointer to this one is */
	struct list of_event;
};

static struct perf_event *events[MAX_CPUS]; /* of whole CPUs; guarded by: trace_lock */
static unsigned nr_wanted[NR_TRACE_EVENTS]; /* events that need the tracepoint; likewise */
static u64 last_id;			    /* likewise */
static const struct file_ops perf_ops;

/* --- events on threads ----------------------------------------------------------------------- */

/* Hangs @e on @t. 0, -ENOSPC or -ENOMEM. */
static int link_event(struct perf_event *e, struct thread *t)
{
	struct perf_link *l;

	assert(mutex_is_held(&trace_lock));
	if (t->nr_perf == EVENTS_MAX)
		return -ENOSPC;
	l = kmalloc(sizeof(*l));
	if (!l)
		return -ENOMEM;
	t->nr_perf++;
	*l = (struct perf_link){ e, thread_get(t), t->perf, &t->perf, LIST_INIT(l->of_event) };
	if (l->next)
		l->next->slot = &l->next;
	list_add_tail(&e->links, &l->of_event);
	WRITE_ONCE(t->perf, l);
	thread_set_flags(t, THREAD_PERF);
	return 0;
}

/* Takes @l off its thread, which may still be looking at it. */
static void unlink_event(struct perf_link *l)
{
	assert(mutex_is_held(&trace_lock));
	WRITE_ONCE(*l->slot, l->next);
	if (l->next)
		l->next->slot = l->slot;
	if (!--l->thread->nr_perf)
		thread_clear_flags(l->thread, THREAD_PERF);
}

static void free_link(struct perf_link *l)
{
	list_del(&l->of_event);
	thread_put(l->thread);
	kfree(l);
}

void perf_inherit(const struct thread *parent, struct thread *child)
{
	debug_assert(parent == current && may_sleep());
	mutex_lock(&trace_lock);
	for (struct perf_link *l = parent->perf; l; l = l->next)
		if (l->event->attr.flags & PERF_INHERIT)
			link_event(l->event, child);
	mutex_unlock(&trace_lock);
}

void perf_leave(struct thread *t)
{
	struct perf_link *l;

	debug_assert(t == current && may_sleep());
	mutex_lock(&trace_lock);
	while ((l = t->perf)) {
		unlink_event(l);
		free_link(l);
	}
	mutex_unlock(&trace_lock);
}

/* --- from the tracer ------------------------------------------------------------------------- */

void perf_for_each_here(void (*fn)(struct perf_event *e, void *arg), void *arg)
{
	int cpu = (int)arch_cpu_id();

	debug_assert(!arch_irq_enabled());
	for (const struct perf_link *l = READ_ONCE(current->perf); l; l = READ_ONCE(l->next))
		if (READ_ONCE(l->event->enabled) && (l->event->cpu < 0 || l->event->cpu == cpu))
			fn(l->event, arg);
	for (struct perf_event *e = READ_ONCE(events[cpu]); e; e = READ_ONCE(e->next))
		if (READ_ONCE(e->enabled))
			fn(e, arg);
}

struct happening {
	unsigned nr;
	const struct record_header *record;
	u32 size;
	u64 now;
};

static void count(struct perf_event *e, void *arg)
{
	const struct happening *h = arg;
	u64 nr;

	debug_assert(!arch_irq_enabled());
	if (e->nr != h->nr)
		return;
	nr = __atomic_add_fetch(&e->count, 1, __ATOMIC_RELAXED);
	if (READ_ONCE(e->ring) && e->attr.sample_period && nr % e->attr.sample_period == 0)
		perf_sample(e, h->record, h->size, h->now);
}

void perf_route(unsigned nr, const struct record_header *record, u32 size, u64 now)
{
	struct happening h = { nr, record, size, now };

	debug_assert(!arch_irq_enabled());
	perf_for_each_here(count, &h);
}

void perf_count_switch(void)
{
	struct happening h = { COUNT_SWITCHES, NULL, 0, arch_clock_ns() };

	debug_assert(!arch_irq_enabled());
	perf_for_each_here(count, &h);
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

	for (const struct perf_link *l = current->perf; l; l = l->next)
		if (l->event->attr.flags & PERF_ENABLE_ON_EXEC)
			set_enabled(l->event, true);
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
	debug_assert(nr <= ARRAY_SIZE(words));
	if (n < nr * sizeof(u64))
		return -ENOSPC;
	return arch_copy_to_user(user_buf, words, nr * sizeof(u64)) ? -EFAULT
								    : (long)(nr * sizeof(u64));
}

/* --- the ring of an event -------------------------------------------------------------------- */

/*
 * Guards, with trace_lock, the pointer of each event to its ring. set_ring() waits for writers,
 * which need no lock; everybody else takes a reference with ring_of(). It is innermost: pages are
 * mapped under other locks.
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

	assert(mutex_is_held(&trace_lock));
	spin_lock(&ring_lock);
	old = e->ring;
	__atomic_store_n(&e->ring, ring, __ATOMIC_RELEASE); /* a writer finds it whole */
	spin_unlock(&ring_lock);
	if (old)
		trace_wait_for_writers();
	perf_ring_put(old);
}

/*
 * The ring of @e with a reference for the caller: @ring, or the one that another thread was faster
 * to give it.
 */
static struct perf_ring *first_ring(struct perf_event *e, struct perf_ring *ring)
{
	mutex_lock(&trace_lock);
	if (e->ring) {
		perf_ring_put(ring);
		ring = perf_ring_get(e->ring);
	} else {
		set_ring(e, perf_ring_get(ring));
	}
	mutex_unlock(&trace_lock);
	return ring;
}

/* One page that describes it, and a power of 2 of data; again the same for what is there. */
static int perf_mmap(struct file *f, u64 offset, u64 len, bool shared)
{
	struct perf_event *e = f->private;
	u64 pages = len / PAGE_SIZE, watermark;
	struct perf_ring *ring;
	int err;

	if (offset || !shared || len % PAGE_SIZE || pages < 2 || (pages - 1) & (pages - 2) ||
	    pages > PAGES_MAX + 1 || e->cpu < 0)
		return -EINVAL;
	ring = ring_of(e);
	if (!ring) {
		watermark = e->attr.flags & PERF_WATERMARK ? e->attr.wakeup : e->attr.wakeup != 0;
		ring = perf_ring_create(pages - 1, watermark, &err);
		if (!ring)
			return err;
		ring = first_ring(e, ring);
	}
	err = perf_ring_pages(ring) == pages - 1 ? 0 : -EINVAL;
	perf_ring_put(ring);
	return err;
}

static u64 perf_map_page(struct file *f, u64 offset)
{
	struct perf_ring *ring = ring_of(f->private);
	u64 pa = ring ? perf_ring_page(ring, offset / PAGE_SIZE) : 0;

	if (pa)
		page_get(pa);
	perf_ring_put(ring);
	return pa ?: BEHIND_END;
}

/* From now on @e writes to the ring of @other. 0 or -EINVAL. */
static long output_to(struct perf_event *e, const struct perf_event *other)
{
	assert(mutex_is_held(&trace_lock));
	if (other == e || other->cpu != e->cpu || e->cpu < 0 || !other->ring)
		return -EINVAL;
	set_ring(e, perf_ring_get(other->ring));
	return 0;
}

/* As PERF_EVENT_IOC_SET_OUTPUT. -EINVAL, too, if somebody has mapped the ring of @f. */
static long share_ring(struct file *f, int fd)
{
	struct file *file = fd == -1 ? NULL : fd_get(fd);
	const struct perf_event *other = file ? perf_event_of(file) : NULL;
	long err = 0;

	debug_assert(may_sleep());
	mutex_lock(&trace_lock);
	if (fd != -1 && !other)
		err = -EBADF;
	else if (READ_ONCE(f->inode->nr_vmas))
		err = -EINVAL;
	else if (other)
		err = output_to(f->private, other);
	else
		set_ring(f->private, NULL);
	mutex_unlock(&trace_lock);
	if (file)
		file_put(file);
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
		return share_ring(f, (int)arg);
	case IOC_ID:
		return arch_copy_to_user((void *)arg, &e->id, sizeof(e->id)) ? -EFAULT : 0;
	default:
		return -ENOTTY;
	}
}

/* Tracepoints that @e needs: to count, and a CPU's also to tell of lives. */
static u64 tracepoints_of(const struct perf_event *e)
{
	u64 mask = e->nr < NR_TRACE_EVENTS ? BIT(e->nr) : 0;

	if (e->of_cpu && e->attr.flags & PERF_TASK)
		mask |= BIT(EVENT_sched_process_fork) | BIT(EVENT_sched_process_exit);
	if (e->of_cpu && e->attr.flags & PERF_COMM)
		mask |= BIT(EVENT_task_rename);
	return mask;
}

/* One event more or less, @change, needs the tracepoints of @e. */
static void want(const struct perf_event *e, int change)
{
	u64 mask = tracepoints_of(e);

	debug_assert(mutex_is_held(&trace_lock));
	for (unsigned nr = 0; nr < NR_TRACE_EVENTS; nr++)
		if (mask & BIT(nr))
			nr_wanted[nr] += (unsigned)change;
	if (mask)
		trace_apply();
}

u64 perf_wanted(void)
{
	u64 mask = 0;

	assert(mutex_is_held(&trace_lock));
	for (unsigned nr = 0; nr < NR_TRACE_EVENTS; nr++)
		if (nr_wanted[nr])
			mask |= BIT(nr);
	return mask;
}

/* Takes @e out of the list of its CPU. */
static void leave_cpu(struct perf_event *e)
{
	struct perf_event **at = &events[e->cpu];

	debug_assert(mutex_is_held(&trace_lock));
	while (*at != e)
		at = &(*at)->next;
	WRITE_ONCE(*at, e->next);
}

/* Takes @e off its threads. Returns whether one of them is another than the running one. */
static bool leave_threads(struct perf_event *e)
{
	struct perf_link *l;
	bool others = false;

	debug_assert(mutex_is_held(&trace_lock));
	list_for_each(l, &e->links, of_event) {
		unlink_event(l);
		others |= l->thread != current;
	}
	return others;
}

static void free_event(struct perf_event *e)
{
	struct perf_link *l, *next;

	owned(e);
	list_for_each_safe(l, next, &e->links, of_event)
		free_link(l);
	perf_ring_put(e->ring);
	kfree(e);
}

static void perf_release(struct file *f)
{
	struct perf_event *e = f->private;
	bool seen = e->of_cpu;

	mutex_lock(&trace_lock);
	if (e->of_cpu)
		leave_cpu(e);
	else
		seen = leave_threads(e);
	want(e, -1);
	if (seen)
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

/* --- making one ------------------------------------------------------------------------------ */

/* The number of what @attr counts, for the thread @tid or, below 0, on a CPU. -errno: nothing. */
static int what_to_count(const struct perf_attr *attr, int tid)
{
	const struct trace_event *ev;

	if (attr->type == PERF_SOFTWARE && attr->config == PERF_CONTEXT_SWITCHES)
		return tid < 0 ? (int)EVENT_sched_switch : (int)COUNT_SWITCHES;
	/* A thread's clocks would count the time for which it runs. */
	if ((is_clock(attr) && tid < 0) ||
	    (attr->type == PERF_SOFTWARE && attr->config == PERF_DUMMY))
		return COUNT_NOTHING;
	if (attr->type != PERF_TRACEPOINT)
		return -ENOENT;
	ev = attr->config <= UINT16_MAX ? trace_event_by_id((u16)attr->config) : NULL;
	if (!ev || !(trace_events_switchable() & BIT(ev - trace_events)))
		return -EINVAL;
	return (int)(ev - trace_events);
}

static struct perf_event *make_event(const struct perf_attr *attr, unsigned nr, bool of_cpu,
				     int cpu)
{
	struct perf_event *e = account_may_hoard() ? kzalloc(sizeof(*e)) : NULL;

	if (!e)
		return NULL;
	e->attr = *attr;
	e->nr = nr;
	e->of_cpu = of_cpu;
	e->cpu = cpu;
	list_init(&e->links);
	set_enabled(e, !(attr->flags & PERF_DISABLED));
	return e;
}

/* From now on @e counts, for @t or, if that is NULL, for its CPU. 0, -ENOSPC or -ENOMEM. */
static int start(struct perf_event *e, struct thread *t)
{
	int err = 0;

	debug_assert(t || (e->cpu >= 0 && e->cpu < (int)arch_nr_cpus));
	mutex_lock(&trace_lock);
	e->id = ++last_id;
	if (t) {
		err = link_event(e, t);
	} else {
		e->next = events[e->cpu];
		WRITE_ONCE(events[e->cpu], e);
	}
	want(e, 1);
	mutex_unlock(&trace_lock);
	return err;
}

static struct file *open_event(const struct perf_attr *attr, unsigned nr, struct thread *t, int cpu,
			       int *err)
{
	struct perf_event *e = make_event(attr, nr, !t, cpu);
	struct file *f = e ? file_nameless(&perf_ops, e, O_RDWR) : NULL;

	if (!f && e)
		free_event(e);
	*err = f ? start(e, t) : file_shortage();
	if (!f || !*err)
		return f;
	file_put(f);
	return NULL;
}

struct file *perf_event_open(const struct perf_attr *attr, int tid, int cpu, int *err)
{
	int nr = what_to_count(attr, tid);
	struct thread *t = NULL;
	struct file *f;

	*err = nr < 0 ? nr : -ESRCH;
	if (nr < 0)
		return NULL;
	if (tid >= 0)
		t = tid ? thread_find(tid) : thread_get(current);
	if (tid >= 0 && !t)
		return NULL;
	f = open_event(attr, (unsigned)nr, t, cpu, err);
	if (t)
		thread_put(t);
	return f;
}
