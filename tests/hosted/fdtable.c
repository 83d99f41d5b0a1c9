/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Descriptor tables (kernel/fs/fdtable.c). Threads 0 and 2 are of one process, 1 and 3 of another;
 * the two share a table until one takes a copy. The model is an array of files for each table.
 *
 * A thread has a file in its hand: dup() is a take and an install, dup2() and dup3() are a take and
 * a replacement. Between the two steps others may come, on Linux as well. open() reserves a
 * descriptor, and gives it a file or cancels.
 */
#include "kernel/fs/vfs.h"
#include "kernel/kernel.h"
#include "kernel/task/proc.h"
#include "kernel/task/thread.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "libc.h"
#include "object.h"

/* A table has room for 64 descriptors at first. */
enum { PROCS = 2, LIMIT = 67, BEGIN = 2 };

/*
 * The number of a call says which of these descriptors, a second one, and whether exec is to close
 * it. A range goes from the first to the second.
 */
static const int fds[] = { 0, 1, 2, 3, 62, 63, 64, 65, 66, LIMIT, 200, -1 };
enum { NR_FDS = ARRAY_SIZE(fds) };

enum op {
	OP_OPEN,
	OP_TAKE,
	OP_INSTALL,
	OP_REPLACE,
	OP_RESERVE,
	OP_FILL,
	OP_CANCEL,
	OP_CLOSE,
	OP_CLOSE_RANGE,
	OP_MARK_RANGE,
	OP_MARK,
	OP_MARKED,
	OP_USE,
	OP_NEXT,
	OP_COUNT,
	OP_UNSHARE,
	OP_EXEC
};
static const char *const op_names[] = { "open",	   "take",   "install", "replace",     "reserve",
					"fill",	   "cancel", "close",	"close_range", "mark_range",
					"mark",	   "marked", "use",	"next",	       "count",
					"unshare", "exec",   NULL };

struct tables {
	struct inode inode;
	struct proc proc[PROCS];
	struct file *hand[NR_FIBERS];
	int reserved[NR_FIBERS]; /* a descriptor and 1, or 0 */
};

static unsigned nr_threads_of(unsigned proc, unsigned nr_threads)
{
	return max((nr_threads + 1 - proc) / PROCS, 1u);
}

static int fd_of(const struct call *call)
{
	return fds[call->n % NR_FDS];
}

static int second_of(const struct call *call)
{
	return fds[call->n / NR_FDS % NR_FDS];
}

static bool cloexec_of(const struct call *call)
{
	return call->n / NR_FDS / NR_FDS % 2;
}

/* Where a search for a free descriptor begins. */
static int min_of(const struct call *call)
{
	return max(fd_of(call), 0);
}

static void destroy(void *object)
{
	struct tables *o = object;

	for (unsigned i = 0; i < NR_FIBERS; i++) {
		file_put(o->hand[i]);
		current->proc = &o->proc[i % PROCS];
		if (o->reserved[i])
			fd_cancel(o->reserved[i] - 1);
	}
	for (unsigned i = 0; i < PROCS; i++)
		files_put(o->proc[i].files);
	free(o);
}

static struct file *open_file(struct tables *o, u64 id)
{
	int err;
	struct file *f = file_create(&o->inode, NULL, O_RDWR, &err);

	if (f)
		f->private = (void *)id;
	return f;
}

static void *create(unsigned nr_threads)
{
	static const struct file_ops ops;
	struct tables *o = calloc(1, sizeof(*o));
	bool good;

	o->inode = (struct inode){ .fops = &ops, .refs = 1 };
	good = proc_begin(&o->proc[0], nr_threads_of(0, nr_threads), LIMIT);
	for (unsigned i = 0; i < BEGIN && good; i++) {
		struct file *f = open_file(o, i + 1);

		good = f && fd_install(f, 0, i) >= 0;
	}
	if (good && nr_threads > 1) {
		o->proc[1] = o->proc[0];
		o->proc[1].nr_threads = nr_threads_of(1, nr_threads);
		o->proc[1].files = files_get(o->proc[0].files);
	}
	if (good)
		return o;
	destroy(o);
	return NULL;
}

/* A range is no step: of several threads none has more than one descriptor. */
static const struct range ranges[ARRAY_SIZE(op_names)] = {
	[OP_OPEN... OP_EXEC] = { 0, NR_FDS *NR_FDS * 2 - 1 },
};

static struct call draw(struct prng *random, bool alone)
{
	static const u8 often[] = { OP_OPEN,	OP_OPEN,    OP_TAKE,	    OP_TAKE,
				    OP_INSTALL, OP_INSTALL, OP_REPLACE,	    OP_REPLACE,
				    OP_RESERVE, OP_FILL,    OP_RESERVE,	    OP_CANCEL,
				    OP_CLOSE,	OP_CLOSE,   OP_CLOSE_RANGE, OP_MARK_RANGE,
				    OP_MARK,	OP_MARKED,  OP_USE,	    OP_USE,
				    OP_NEXT,	OP_COUNT,   OP_UNSHARE,	    OP_EXEC };
	struct call call = { .op = often[prng_below(random, alone ? 24 : 23)] };

	call.n = prng_below(random, NR_FDS * NR_FDS * 2);
	if (!alone && (call.op == OP_CLOSE_RANGE || call.op == OP_MARK_RANGE))
		call.n = call.n % (NR_FDS - 1) * (1 + NR_FDS);
	return call;
}

static long id_of(const struct file *f)
{
	return f ? (long)f->private : -EBADF;
}

static long take(struct tables *o, unsigned nr, int fd)
{
	struct file *f = fd_get(fd);

	if (f) {
		file_put(o->hand[nr]);
		o->hand[nr] = f;
	}
	return id_of(f);
}

/* From the hand, which keeps it. */
static long give(struct tables *o, unsigned nr, const struct call *call)
{
	struct file *f = o->hand[nr];
	bool replaces = call->op == OP_REPLACE;

	if (!f || (replaces && fd_of(call) < 0))
		return -EBADF;
	file_get(f);
	return replaces ? fd_replace(f, fd_of(call), cloexec_of(call))
			: fd_install(f, min_of(call), cloexec_of(call));
}

static long reserve(int *reserved)
{
	int fd = *reserved ? -EBADF : fd_reserve();

	if (fd >= 0)
		*reserved = fd + 1;
	return fd;
}

/* The reserved descriptor gets the file in the hand, or none. */
static long end_reservation(struct tables *o, unsigned nr, const struct call *call)
{
	int fd = o->reserved[nr] - 1;

	if (fd < 0 || (call->op == OP_FILL && !o->hand[nr]))
		return -EBADF;
	o->reserved[nr] = 0;
	if (call->op == OP_FILL)
		fd_fill(fd, file_get(o->hand[nr]), cloexec_of(call));
	else
		fd_cancel(fd);
	return fd;
}

static long use(int fd)
{
	struct fd_ref ref = fd_borrow(fd);
	long id = id_of(ref.file);

	world_point();
	if (id != id_of(ref.file))
		panic("a borrowed file is another");
	fd_release(ref);
	return id;
}

/* No system call does that with a reserved descriptor. */
static long unshare(bool reserved)
{
	struct files *old = current->proc->files, *own;

	if (current->proc->nr_threads > 1 || reserved)
		return -EINVAL;
	own = files_fork(old);
	if (!own)
		return -ENOMEM;
	current->proc->files = own;
	files_put(old);
	return 0;
}

static long perform_op(struct tables *o, unsigned nr, unsigned id, const struct call *call)
{
	struct file *f;

	switch ((enum op)call->op) {
	case OP_OPEN:
		f = open_file(o, BEGIN + 1 + id);
		return f ? fd_install(f, min_of(call), cloexec_of(call)) : file_shortage();
	case OP_TAKE:
		return take(o, nr, fd_of(call));
	case OP_INSTALL:
	case OP_REPLACE:
		return give(o, nr, call);
	case OP_RESERVE:
		return reserve(&o->reserved[nr]);
	case OP_FILL:
	case OP_CANCEL:
		return end_reservation(o, nr, call);
	case OP_CLOSE:
		return fd_close(fd_of(call));
	case OP_CLOSE_RANGE:
	case OP_MARK_RANGE:
		fd_close_range((unsigned)min_of(call), (unsigned)second_of(call),
			       call->op == OP_MARK_RANGE);
		return 0;
	case OP_MARK:
		return files_set_cloexec(fd_of(call), cloexec_of(call));
	case OP_MARKED:
		return files_cloexec(current->proc->files, fd_of(call));
	case OP_USE:
		return use(fd_of(call));
	case OP_NEXT:
		return files_next(current->proc->files, min_of(call));
	case OP_COUNT:
		return files_count(current->proc->files);
	case OP_UNSHARE:
		return unshare(o->reserved[nr]);
	default:
		files_close_on_exec(current->proc->files);
		return 0;
	}
}

static struct answer perform(void *object, unsigned nr, unsigned id, const struct call *call)
{
	struct tables *o = object;

	current->proc = &o->proc[nr % PROCS];
	return (struct answer){ .value = perform_op(o, nr, id, call) };
}

/* --- the model ---------------------------------------------------------------------------- */

enum { RESERVED = 0xffff };

struct table {
	u16 file[LIMIT]; /* 0: free */
	bool cloexec[LIMIT];
};

struct model {
	struct table table[PROCS];
	u8 table_of[PROCS];
	u8 nr_threads[PROCS];
	u16 hand[NR_FIBERS];
	int reserved[NR_FIBERS];
};

static void model_create(void *model, unsigned nr_threads)
{
	struct model *m = model;

	memset(m, 0, sizeof(*m));
	for (unsigned i = 0; i < BEGIN; i++) {
		m->table[0].file[i] = (u16)(i + 1);
		m->table[0].cloexec[i] = i;
	}
	for (unsigned i = 0; i < PROCS; i++)
		m->nr_threads[i] = (u8)nr_threads_of(i, nr_threads);
}

static bool is_open(const struct table *t, int fd)
{
	return fd >= 0 && fd < LIMIT && t->file[fd] && t->file[fd] != RESERVED;
}

/* The lowest descriptor from @fd on that is open, or that is free; LIMIT: none. */
static int lowest(const struct table *t, int fd, bool open)
{
	while (fd < LIMIT && (open ? !is_open(t, fd) : t->file[fd]))
		fd++;
	return min(fd, LIMIT);
}

static void fill(struct table *t, int fd, u16 file, bool cloexec)
{
	t->file[fd] = file;
	t->cloexec[fd] = cloexec;
}

static long model_install(struct table *t, u16 file, const struct call *call)
{
	int fd = lowest(t, min_of(call), false);

	if (fd >= LIMIT)
		return -EMFILE;
	fill(t, fd, file, cloexec_of(call));
	return fd;
}

static long model_give(struct table *t, u16 file, const struct call *call)
{
	int fd = fd_of(call);

	if (!file || (call->op == OP_REPLACE && (fd < 0 || fd >= LIMIT)))
		return -EBADF;
	if (call->op == OP_INSTALL)
		return model_install(t, file, call);
	if (t->file[fd] == RESERVED)
		return -EBUSY;
	fill(t, fd, file, cloexec_of(call));
	return fd;
}

static long model_reserve(struct table *t, int *reserved)
{
	int fd = lowest(t, 0, false);

	if (*reserved)
		return -EBADF;
	if (fd >= LIMIT)
		return -EMFILE;
	fill(t, fd, RESERVED, false);
	*reserved = fd + 1;
	return fd;
}

static long model_end_reservation(struct model *m, struct table *t, unsigned nr,
				  const struct call *call)
{
	int fd = m->reserved[nr] - 1;
	bool fills = call->op == OP_FILL;

	if (fd < 0 || (fills && !m->hand[nr]))
		return -EBADF;
	m->reserved[nr] = 0;
	fill(t, fd, fills ? m->hand[nr] : 0, fills && cloexec_of(call));
	return fd;
}

static void model_range(struct table *t, const struct call *call)
{
	unsigned last = (unsigned)second_of(call);

	for (unsigned fd = (unsigned)min_of(call); fd <= min(last, LIMIT - 1u); fd++) {
		if (call->op == OP_MARK_RANGE)
			t->cloexec[fd] = is_open(t, (int)fd);
		else if (is_open(t, (int)fd))
			fill(t, (int)fd, 0, false);
	}
}

static void model_exec(struct table *t)
{
	for (int fd = 0; fd < LIMIT; fd++)
		if (t->cloexec[fd])
			fill(t, fd, 0, false);
}

static long model_unshare(struct model *m, unsigned nr)
{
	unsigned proc = nr % PROCS;
	struct table *copy = &m->table[!m->table_of[proc]];

	if (m->nr_threads[proc] > 1 || m->reserved[nr])
		return -EINVAL;
	if (m->table_of[0] == m->table_of[1]) {
		*copy = m->table[m->table_of[proc]];
		for (int fd = 0; fd < LIMIT; fd++)
			if (copy->file[fd] == RESERVED)
				fill(copy, fd, 0, false);
		m->table_of[proc] = !m->table_of[proc];
	}
	return 0;
}

/* Calls on one descriptor that must be open. */
static long model_one(struct model *m, struct table *t, unsigned nr, const struct call *call)
{
	int fd = fd_of(call);

	if (!is_open(t, fd))
		return -EBADF;
	switch ((enum op)call->op) {
	case OP_TAKE:
		m->hand[nr] = t->file[fd];
		return m->hand[nr];
	case OP_CLOSE:
		fill(t, fd, 0, false);
		return 0;
	case OP_MARK:
		t->cloexec[fd] = cloexec_of(call);
		return 0;
	case OP_MARKED:
		return t->cloexec[fd];
	default:
		return t->file[fd];
	}
}

static long model_op(struct model *m, unsigned nr, unsigned id, const struct call *call)
{
	struct table *t = &m->table[m->table_of[nr % PROCS]];
	long count = 0;
	int next;

	switch ((enum op)call->op) {
	case OP_OPEN:
		return model_install(t, (u16)(BEGIN + 1 + id), call);
	case OP_INSTALL:
	case OP_REPLACE:
		return model_give(t, m->hand[nr], call);
	case OP_RESERVE:
		return model_reserve(t, &m->reserved[nr]);
	case OP_FILL:
	case OP_CANCEL:
		return model_end_reservation(m, t, nr, call);
	case OP_CLOSE_RANGE:
	case OP_MARK_RANGE:
		model_range(t, call);
		return 0;
	case OP_NEXT:
		next = lowest(t, min_of(call), true);
		return next < LIMIT ? next : -1;
	case OP_COUNT:
		for (int fd = 0; fd < LIMIT; fd++)
			count += t->file[fd] != 0;
		return count;
	case OP_UNSHARE:
		return model_unshare(m, nr);
	case OP_EXEC:
		model_exec(t);
		return 0;
	default:
		return model_one(m, t, nr, call);
	}
}

static enum model_says model_perform(void *model, unsigned nr, unsigned id, const struct call *call,
				     struct answer *a)
{
	a->value = model_op(model, nr, id, call);
	return ENDS;
}

/* Another process of the table closes what this one is using. */
static const char *const known[] = { "use:217 / close_range:13 reserve:31", NULL };

DEFINE_OBJECT(
	fdtable,
	"*((struct tables *)object)->proc[0].files; *((struct tables *)object)->proc[1].files",
	.known = known);
