/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two events of perf_event_open(2) on CPU 0, and their rings (kernel/trace/perf*.c). The first
 * tells of names, which thread 0 changes. The model knows which ring each event has, and whether
 * there is something to read in it. A third event is on the thread that opens it, and on those that
 * this thread forks: it may be closed while that is done.
 */
#include "kernel/fs/poll.h"
#include "kernel/fs/vfs.h"
#include "kernel/mm/mm.h"
#include "kernel/ref.h"
#include "kernel/task/proc.h"
#include "kernel/trace/perf.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "libc.h"
#include "object.h"

enum {
	EVENTS = 2,
	OF_THREAD = EVENTS,
	SET_OUTPUT = 0x2405,
	PAGES = 2,
	CONTROL_HEAD = 1024 / 8,
	CONTROL_TAIL
};

/* With two threads the first event has a ring from the beginning. */
#define TWO_BEGIN_WITH_A_RING 2

/* The number of a call says which event; an output is the other's ring, or none. */
enum op {
	OP_MAP,
	OP_PAGE,
	OP_OUTPUT,
	OP_NO_OUTPUT,
	OP_POLL,
	OP_RENAME,
	OP_DRAIN,
	OP_CLOSE,
	OP_WATCH,
	OP_FORK,
	OP_UNWATCH,
};
static const char *const op_names[] = { "map",	 "page",   "output",  "no_output",
					"poll",	 "rename", "drain",   "close",
					"watch", "fork",   "unwatch", NULL };

struct events {
	struct proc proc; /* the events are its descriptors 0 to 2 */
	struct thread child;
};

static struct events *o;
static bool alone;

/* --- the tracer, which does not trace ------------------------------------------------------- */

const struct trace_event trace_events[NR_TRACE_EVENTS];

const struct trace_event *trace_event_by_id(u16 id)
{
	(void)id;
	return NULL;
}

u64 trace_events_switchable(void)
{
	return 0;
}

void trace_look_again_soon(struct trace_readers *r)
{
	(void)r;
}

void trace_look_again(struct ktimer *t)
{
	(void)t;
}

/* --- the object ------------------------------------------------------------------------------ */

static void destroy(void *object)
{
	files_put(o->proc.files);
	free(object);
}

/* Opens an event on CPU 0, or on the calling thread if @cpu is -1. 0, or -errno. */
static int open_event(const struct perf_attr *attr, int cpu)
{
	int err = 0, fd;
	struct file *f = perf_event_open(attr, cpu < 0 ? 0 : -1, cpu, &err);

	if (!f)
		return err;
	fd = fd_install(f, cpu < 0 ? OF_THREAD : 0, false);
	return min(fd, 0);
}

static void *create(unsigned nr_threads)
{
	struct perf_attr attr = { .type = PERF_SOFTWARE, .config = PERF_DUMMY, .wakeup = 1 };

	alone = nr_threads == 1;
	o = calloc(1, sizeof(*o));
	if (!proc_begin(&o->proc, 1, EVENTS + 1)) {
		free(o);
		return NULL;
	}
	for (unsigned i = 0; i < EVENTS; i++) {
		attr.flags = PERF_WATERMARK | (i ? 0 : PERF_COMM);
		if (open_event(&attr, 0)) {
			destroy(o);
			return NULL;
		}
	}
	if (nr_threads == TWO_BEGIN_WITH_A_RING) {
		struct fd_ref first = fd_borrow(0);

		first.file->ops->mmap(first.file, 0, PAGES * PAGE_SIZE, true);
		fd_release(first);
	}
	o->proc.nr_threads = nr_threads;
	return o;
}

static const struct range ranges[ARRAY_SIZE(op_names)] = {
	[OP_MAP... OP_UNWATCH] = { 0, EVENTS - 1 },
};

static struct call draw(struct prng *random, bool one)
{
	static const u8 often[] = { OP_MAP,	  OP_MAP,   OP_PAGE,   OP_OUTPUT,
				    OP_NO_OUTPUT, OP_POLL,  OP_POLL,   OP_RENAME,
				    OP_RENAME,	  OP_DRAIN, OP_OUTPUT, OP_CLOSE,
				    OP_WATCH,	  OP_FORK,  OP_FORK,   OP_UNWATCH };
	struct call call = { .op = often[prng_below(random, ARRAY_SIZE(often))] };

	call.n = prng_below(random, EVENTS);
	if (one && call.op == OP_CLOSE && prng_below(random, 8))
		call.op = OP_MAP;
	return call;
}

static long page_of(struct file *f, bool drain)
{
	u64 pa = f->ops->map_page(f, 0), *words = (u64 *)pa;

	if (!is_page(pa))
		return 0;
	if (drain)
		words[CONTROL_TAIL] = words[CONTROL_HEAD];
	page_put(pa);
	return 1;
}

static void rename_thread(void)
{
	static const char name[COMM_LEN] = "renamed";
	unsigned long flags = arch_irq_save();

	perf_rename(current, name);
	arch_irq_restore(flags);
}

static long watch(void)
{
	static const struct perf_attr attr = { .type = PERF_SOFTWARE,
					       .config = PERF_DUMMY,
					       .flags = PERF_INHERIT };

	return open_event(&attr, -1);
}

/* The part of a fork that is perf's. The child never runs. */
static void fork_thread(void)
{
	if (READ_ONCE(current->flags) & THREAD_PERF)
		perf_inherit(current, &o->child);
}

static long use(struct file *f, const struct call *call)
{
	switch ((enum op)call->op) {
	case OP_MAP:
		return f->ops->mmap(f, 0, PAGES * PAGE_SIZE, true);
	case OP_PAGE:
	case OP_DRAIN:
		return page_of(f, call->op == OP_DRAIN);
	case OP_OUTPUT:
		return f->ops->ioctl(f, SET_OUTPUT, !call->n);
	case OP_NO_OUTPUT:
		return f->ops->ioctl(f, SET_OUTPUT, (u64)-1);
	case OP_POLL:
		return f->ops->poll(f, NULL);
	default:
		return fd_close((int)call->n);
	}
}

static struct answer perform(void *object, unsigned nr, unsigned id, const struct call *call)
{
	struct answer answer = { .value = -EBADF };
	struct file *f;

	(void)object;
	(void)nr;
	(void)id;
	current->proc = &o->proc;
	switch ((enum op)call->op) {
	case OP_RENAME:
		rename_thread();
		answer.value = 0;
		break;
	case OP_WATCH:
		answer.value = watch();
		break;
	case OP_FORK:
		fork_thread();
		answer.value = 0;
		break;
	case OP_UNWATCH:
		answer.value = fd_close(OF_THREAD);
		break;
	default:
		f = fd_get((int)call->n);
		if (!f)
			break;
		answer.value = use(f, call);
		file_put(f);
	}
	return answer;
}

/* --- the model ---------------------------------------------------------------------------- */

struct model {
	unsigned ring[EVENTS], nr_rings; /* 0: none */
	bool closed[EVENTS];
	enum { EMPTY, FILLED, PERHAPS } filled[300 /* more than calls */];
	bool watched;
};

static void model_create(void *model, unsigned nr_threads)
{
	struct model *m = model;

	memset(m, 0, sizeof(*m));
	if (nr_threads == TWO_BEGIN_WITH_A_RING)
		m->ring[0] = ++m->nr_rings;
}

static long model_output(struct model *m, unsigned e, long seen)
{
	/* It finds the file first, and then its ring. */
	if (m->closed[!e] && (alone || seen == -EBADF))
		return -EBADF;
	if (!m->ring[!e])
		return -EINVAL;
	m->ring[e] = m->ring[!e];
	return 0;
}

static long model_use(struct model *m, const struct call *call, long seen)
{
	unsigned *ring = &m->ring[call->n];

	switch ((enum op)call->op) {
	case OP_MAP:
		if (!*ring)
			*ring = ++m->nr_rings;
		return 0;
	case OP_DRAIN:
		m->filled[*ring] = EMPTY;
		return *ring != 0;
	case OP_PAGE:
		return *ring != 0;
	case OP_OUTPUT:
		return model_output(m, call->n, seen);
	case OP_NO_OUTPUT:
		*ring = 0;
		return 0;
	case OP_POLL:
		if (m->filled[*ring] == PERHAPS)
			m->filled[*ring] = seen ? FILLED : EMPTY;
		return !*ring ? POLLHUP : m->filled[*ring] ? POLLIN | POLLRDNORM : 0;
	default:
		m->closed[call->n] = true;
		return 0;
	}
}

/* A closed event may tell of it until the last call that uses the event is over. */
static void model_tell(struct model *m, unsigned ring)
{
	if (!m->closed[0])
		m->filled[ring] = FILLED;
	else if (!alone && m->filled[ring] == EMPTY)
		m->filled[ring] = PERHAPS;
}

static enum model_says model_perform(void *model, unsigned nr, unsigned id, const struct call *call,
				     struct answer *a)
{
	struct model *m = model;

	(void)id;
	if (call->op == OP_RENAME) {
		if (!nr && m->ring[0])
			model_tell(m, m->ring[0]);
		a->value = 0;
	} else if (call->op == OP_FORK) {
		a->value = 0;
	} else if (call->op == OP_WATCH) {
		a->value = m->watched ? -EMFILE : 0;
		m->watched = true;
	} else if (call->op == OP_UNWATCH) {
		a->value = m->watched ? 0 : -EBADF;
		m->watched = false;
	} else if (m->closed[call->n] && (alone || a->value == -EBADF)) {
		a->value = -EBADF;
	} else {
		a->value = model_use(m, call, a->value);
	}
	return ENDS;
}

/*
 * Two threads map an event at once: what it writes is in the ring that another event shares. A
 * thread forks while another one closes the event that is inherited. A thread polls an event while
 * another one takes its ring away. A thread changes its name while an event of names closes.
 */
static const char *const known[] = { "no_output:0 map:0 rename:0 poll:1 / map:0 output:1",
				     "watch:0 fork:0 / unwatch:0", "map:1 / poll:1 / no_output:1",
				     "output:1 rename:0 / close:0 poll:1", NULL };

DEFINE_OBJECT(perf,
	      "*(struct perf_event *)o->proc.files->slots[0]->private; "
	      "*(struct perf_event *)o->proc.files->slots[1]->private",
	      .known = known);
