/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading the trace: `trace` (everything, left in place), `trace_pipe` (taken out, waits for
 * more), both as text with the CPUs merged by time, and `trace_pipe_raw` (whole pages of one CPU,
 * as recorded).
 *
 * LOCKING. trace_lock is held for one read(2) at a time. Writers take no notice of readers, so a
 * slow reader of a fast ring sees gaps; it says so with a LOST line.
 *
 * WAITING. An event may be recorded under a runqueue lock, where nobody can be woken. So a reader
 * that finds the rings empty has a timer wake the readers to look again, 100 times a second. The
 * readers of perf.c, a second struct trace_readers, wait in the same way.
 */
#include "kernel/fs/pipe.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/time/time.h"
#include "kernel/trace/internal.h"
#include "lib/errno.h"
#include "lib/string.h"

#define LOOK_AGAIN_NS (10 * NS_PER_MS)

/* One CPU's events, read one ahead. */
struct source {
	unsigned cpu;
	bool pending;
	struct ring_event next;
	struct ring_reader reader;
};

/* A file `trace` or `trace_pipe` that is open. guarded by: trace_lock */
struct trace_text {
	struct trace_instance *t;
	u64 generation; /* of the rings that the sources read */
	u64 pos;	/* file position of line[used] */
	size_t used, len;
	char line[2048];
	bool consuming, delivered;
	unsigned nr_sources;
	struct source source[];
};

/* --- waiting --------------------------------------------------------------------------------- */

void trace_look_again(struct ktimer *t)
{
	struct trace_readers *r = container_of(t, struct trace_readers, timer);

	WRITE_ONCE(r->armed, false);
	waitq_wake(&r->wait, 0);
}

void trace_look_again_soon(struct trace_readers *r)
{
	if (!__atomic_exchange_n(&r->armed, true, __ATOMIC_SEQ_CST))
		ktimer_start(&r->timer, clock_ns() + LOOK_AGAIN_NS);
}

static struct trace_readers readers = TRACE_READERS_INIT(readers);

static bool has_events(const struct trace_instance *t, unsigned first, unsigned nr)
{
	debug_assert(first + nr <= arch_nr_cpus);
	for (unsigned cpu = first; cpu < first + nr; cpu++) {
		const struct ring *r = &t->rings[cpu];

		if (READ_ONCE(r->written) > READ_ONCE(r->read))
			return true;
	}
	return false;
}

/* Like has_events(); if it finds none, a timer soon wakes the readers' queue. */
static bool has_events_or_timer(const struct trace_instance *t, unsigned first, unsigned nr)
{
	if (has_events(t, first, nr))
		return true;
	trace_look_again_soon(&readers);
	return false;
}

/*
 * Wait for events. 0 when there is something to read, -EAGAIN for a non-blocking file, or
 * -ERESTARTSYS.
 */
static long wait_for_events(const struct file *f, const struct trace_instance *t, unsigned first,
			    unsigned nr)
{
	debug_assert(may_sleep());
	if (has_events(t, first, nr))
		return 0;
	if (f->flags & O_NONBLOCK)
		return -EAGAIN;
	return wait_event_interruptible(&readers.wait, has_events_or_timer(t, first, nr));
}

/* --- one line -------------------------------------------------------------------------------- */

static const char header_art[] = "#                                _-----=> irqs-off/BH-disabled\n"
				 "#                               / _----=> need-resched\n"
				 "#                              | / _---=> hardirq/softirq\n"
				 "#                              || / _--=> preempt-depth\n"
				 "#                              ||| / _-=> migrate-disable\n"
				 "#                              |||| /     delay\n"
				 "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
				 "#              | |         |   |||||     |         |\n";
static const char header_art_short[] = "#           TASK-PID     CPU#     TIMESTAMP  FUNCTION\n"
				       "#              | |         |         |         |\n";

static size_t header_text(char *buf, size_t size, const struct trace_text *t)
{
	struct text out = text_of(buf, size);
	u64 entries = 0, written = 0;

	debug_assert(mutex_is_held(&trace_lock));
	for (unsigned i = 0; i < t->nr_sources; i++) {
		struct ring_stats st;

		ring_stats(&t->t->rings[t->source[i].cpu], &st);
		entries += st.entries;
		written += st.entries + st.overrun;
	}
	text_add(&out,
		 "# tracer: nop\n#\n# entries-in-buffer/entries-written: %lu/%lu   #P:%u\n#\n",
		 entries, written, arch_nr_cpus);
	if (trace_option(t->t, TRACE_CONTEXT_INFO))
		text_add(&out, "%s",
			 trace_option(t->t, TRACE_IRQ_INFO) ? header_art : header_art_short);
	return out.len;
}

/* "            bash-185     [002] d..2.   217.423290: " */
static void context_text(struct text *out, const struct trace_instance *t, unsigned cpu,
			 const struct ring_event *ev)
{
	const struct record_header *h = ev->data;
	unsigned depth = h->preempt_count & 15;
	u64 us = (ev->time + NS_PER_US / 2) / NS_PER_US;

	debug_assert(cpu < arch_nr_cpus);
	text_add(out, "%16.16s-%-7d [%03u] ", trace_comm(h->pid), h->pid, cpu);
	if (trace_option(t, TRACE_IRQ_INFO))
		text_add(out, "%c%c%c%c. ", h->flags & RECORD_IRQS_OFF ? 'd' : '.',
			 h->flags & RECORD_NEED_RESCHED ? 'N' : '.',
			 h->flags & RECORD_HARDIRQ ? 'h' : '.',
			 depth ? "0123456789abcdef"[depth] : '.');
	text_add(out, "%5lu.%06lu: ", us / 1000000, us % 1000000);
}

static size_t event_text(char *buf, size_t size, const struct trace_instance *t, unsigned cpu,
			 const struct ring_event *ev)
{
	const struct record_header *h = ev->data;
	const struct trace_event *kind = trace_event_by_id(h->type);
	struct text out = text_of(buf, size);

	debug_assert(kind || h->type == EVENT_ID_print);
	if (ev->lost)
		text_add(&out, "CPU:%u [LOST %lu EVENTS]\n", cpu, ev->lost);
	if (trace_option(t, TRACE_CONTEXT_INFO))
		context_text(&out, t, cpu, ev);
	if (h->type == EVENT_ID_print) { /* has its newline, and only one writer */
		text_add(&out, "tracing_mark_write: %s",
			 (const char *)ev->data + offsetof(struct event_print, buf));
		return out.len;
	}
	text_add(&out, "%s: ", kind->name);
	kind->print(&out, ev->data);
	text_add(&out, "\n");
	return out.len;
}

/* --- the text files -------------------------------------------------------------------------- */

static void look_ahead(struct source *s)
{
	s->pending = ring_reader_next(&s->reader, &s->next);
}

static void start_sources(struct trace_text *t)
{
	debug_assert(mutex_is_held(&trace_lock));
	t->generation = t->t->generation;
	for (unsigned i = 0; i < t->nr_sources; i++) {
		ring_reader_init(&t->source[i].reader, &t->t->rings[t->source[i].cpu]);
		look_ahead(&t->source[i]);
	}
}

/* The next event over all CPUs: the earliest, the lower CPU first. */
static struct source *earliest(struct trace_text *t)
{
	struct source *best = NULL;

	for (unsigned i = 0; i < t->nr_sources; i++) {
		struct source *s = &t->source[i];

		if (s->pending && (!best || s->next.time < best->next.time))
			best = s;
	}
	return best;
}

/* Put the next line in @t->line. False if there is none. */
static bool next_line(struct trace_text *t)
{
	struct source *s = earliest(t);

	debug_assert(mutex_is_held(&trace_lock));
	if (!s)
		return false;
	t->len = min(event_text(t->line, sizeof(t->line), t->t, s->cpu, &s->next),
		     sizeof(t->line) - 1);
	t->used = 0;
	if (t->consuming)
		ring_consume(&t->t->rings[s->cpu], &s->next);
	look_ahead(s);
	return true;
}

/* Start again at file position @pos. */
static void rewind_text(struct trace_text *t, u64 pos)
{
	start_sources(t);
	t->len = header_text(t->line, sizeof(t->line), t);
	t->pos = t->used = 0;
	while (t->pos + t->len <= pos) {
		t->pos += t->len;
		if (!next_line(t)) {
			t->len = 0;
			return;
		}
	}
	t->used = pos - t->pos;
	t->pos = pos;
}

/* Hand out lines until @n bytes are full or there are no more. trace_lock held. */
static long copy_lines(struct trace_text *t, char *user_buf, size_t n)
{
	size_t done = 0;

	assert(mutex_is_held(&trace_lock));
	while (done < n && (t->used < t->len || next_line(t))) {
		size_t chunk = min(n - done, t->len - t->used);

		if (arch_copy_to_user(user_buf + done, t->line + t->used, chunk))
			return done ? (long)done : -EFAULT;
		t->used += chunk;
		done += chunk;
	}
	t->pos += done;
	return (long)done;
}

static long text_read(struct file *f, void *user_buf, size_t n, u64 *pos)
{
	struct trace_text *t = f->private;
	long done;

	mutex_lock(&trace_lock);
	if (*pos != t->pos || !*pos || t->generation != t->t->generation)
		rewind_text(t, *pos);
	done = copy_lines(t, user_buf, n);
	*pos = t->pos;
	mutex_unlock(&trace_lock);
	return done;
}

static long read_pipe(struct file *f, void *user_buf, size_t n, u64 *pos)
{
	struct trace_text *t = f->private;
	long done;

	(void)pos;
	for (;;) {
		mutex_lock(&trace_lock);
		start_sources(t);
		done = copy_lines(t, user_buf, n);
		mutex_unlock(&trace_lock);
		if (done || !n)
			break;
		if (t->delivered && !READ_ONCE(t->t->recording))
			return 0; /* all was read and nothing is to come */
		done = wait_for_events(f, t->t, t->source[0].cpu, t->nr_sources);
		if (done)
			return done;
	}
	t->delivered = true;
	return done;
}

static int open_trace(struct inode *i, struct file *f, bool consuming)
{
	unsigned which = number_of(inode_arg(i)), nr = which ? 1 : arch_nr_cpus;
	struct trace_text *t = vmap_alloc(sizeof(*t) + nr * sizeof(t->source[0]));
	int err = t ? tracefs_open(inode_arg(i)) : -ENOMEM;

	debug_assert(which <= arch_nr_cpus);
	if (err) {
		vmap_free(t);
		return err;
	}
	t->t = instance_of(inode_arg(i));
	t->consuming = consuming;
	t->nr_sources = nr;
	for (unsigned s = 0; s < nr; s++)
		t->source[s].cpu = which ? which - 1 : s;
	f->private = t;
	return 0;
}

static int text_open(struct inode *i, struct file *f)
{
	return open_trace(i, f, false);
}

static int open_pipe(struct inode *i, struct file *f)
{
	file_stream(f);
	return open_trace(i, f, true);
}

static void release(struct file *f)
{
	tracefs_release(instance_of(inode_arg(f->inode)));
	vmap_free(f->private);
}

/* A write has no effect: opening with O_TRUNC is what clears the trace. */
static long text_write(struct file *f, const void *user_buf, size_t n, u64 *pos)
{
	(void)f;
	(void)user_buf;
	(void)pos;
	return (long)n;
}

static unsigned poll_sources(const struct trace_instance *t, unsigned first, unsigned nr,
			     struct poll_table *pt)
{
	poll_wait(&readers.wait, pt);
	return has_events_or_timer(t, first, nr) ? POLLIN | POLLRDNORM : 0;
}

static unsigned poll_pipe(struct file *f, struct poll_table *pt)
{
	const struct trace_text *t = f->private;

	return poll_sources(t->t, t->source[0].cpu, t->nr_sources, pt);
}

static long text_truncate(struct inode *i, u64 size)
{
	void *arg = inode_arg(i);
	int err = tracefs_lock(arg);

	(void)size;
	if (err)
		return err;
	trace_clear(instance_of(arg), (int)number_of(arg) - 1);
	return tracefs_unlock(0, 0);
}

const struct file_ops trace_text_ops = {
	.open = text_open,
	.read = text_read,
	.write = text_write,
	.truncate = text_truncate,
	.release = release,
};

const struct file_ops trace_pipe_ops = {
	.open = open_pipe,
	.read = read_pipe,
	.poll = poll_pipe,
	.release = release,
};

/* --- trace_pipe_raw -------------------------------------------------------------------------- */

/* An open raw file: one page, handed out from @used on. guarded by: trace_lock */
struct trace_raw {
	struct trace_instance *t;
	unsigned cpu;
	u32 used; /* RING_PAGE_SIZE: all of it */
	struct ring_reader reader;
};

/* Is there a rest of the present page, or a next page? trace_lock held. */
static bool have_page(struct trace_raw *raw)
{
	assert(mutex_is_held(&trace_lock));
	if (raw->used == RING_PAGE_SIZE && ring_read_page(&raw->t->rings[raw->cpu], &raw->reader))
		raw->used = 0;
	return raw->used < RING_PAGE_SIZE;
}

/*
 * Copy the rest of the present page, or of the next. Bytes, 0 for none, or -EFAULT. trace_lock
 * held.
 */
static long copy_page_out(struct trace_raw *raw, void *user_buf, size_t n)
{
	size_t chunk;

	assert(mutex_is_held(&trace_lock));
	if (!have_page(raw))
		return 0;
	chunk = min(n, (size_t)(RING_PAGE_SIZE - raw->used));
	if (arch_copy_to_user(user_buf, (const u8 *)&raw->reader.copy + raw->used, chunk))
		return -EFAULT;
	raw->used += (u32)chunk;
	return (long)chunk;
}

static long raw_read(struct file *f, void *user_buf, size_t n, u64 *pos)
{
	struct trace_raw *raw = f->private;
	long done;

	(void)pos;
	for (;;) {
		mutex_lock(&trace_lock);
		done = copy_page_out(raw, user_buf, n);
		mutex_unlock(&trace_lock);
		if (done || !n)
			return done;
		done = wait_for_events(f, raw->t, raw->cpu, 1);
		if (done)
			return done;
	}
}

/* As many of @n bytes as there are pages and room for them; 0: no page. */
static long splice_pages(struct trace_raw *raw, struct pipe *to, size_t n)
{
	size_t done = 0;
	long ret = 0;

	mutex_lock(&trace_lock);
	while (n - done >= RING_PAGE_SIZE && have_page(raw)) {
		ret = raw->used ? -EINVAL : pipe_put_page(to, &raw->reader.copy);
		if (ret < 0)
			break;
		raw->used = RING_PAGE_SIZE;
		done += RING_PAGE_SIZE;
	}
	mutex_unlock(&trace_lock);
	return done ? (long)done : ret;
}

static long raw_splice(struct file *f, struct pipe *to, size_t n, u32 flags)
{
	struct trace_raw *raw = f->private;
	long ret;

	if (n < RING_PAGE_SIZE)
		return -EINVAL;
	for (;;) {
		ret = splice_pages(raw, to, n);
		if (ret && ret != -EAGAIN)
			return ret;
		ret = ret ? pipe_wait_writable(to, flags) : wait_for_events(f, raw->t, raw->cpu, 1);
		if (ret)
			return ret;
	}
}

static int raw_open(struct inode *i, struct file *f)
{
	struct trace_raw *raw = vmap_alloc(sizeof(*raw));
	int err = raw ? tracefs_open(inode_arg(i)) : -ENOMEM;

	debug_assert(number_of(inode_arg(i)) && number_of(inode_arg(i)) <= arch_nr_cpus);
	if (err) {
		vmap_free(raw);
		return err;
	}
	file_stream(f);
	raw->t = instance_of(inode_arg(i));
	raw->cpu = number_of(inode_arg(i)) - 1;
	raw->used = RING_PAGE_SIZE;
	f->private = raw;
	return 0;
}

static unsigned raw_poll(struct file *f, struct poll_table *pt)
{
	const struct trace_raw *raw = f->private;

	return poll_sources(raw->t, raw->cpu, 1, pt) |
	       (raw->used < RING_PAGE_SIZE ? POLLIN | POLLRDNORM : 0);
}

const struct file_ops trace_raw_ops = {
	.open = raw_open,
	.read = raw_read,
	.splice = raw_splice,
	.poll = raw_poll,
	.release = release,
};
