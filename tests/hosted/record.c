/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Record locks of POSIX's kind (kernel/fs/record.c): two processes lock bytes of one file. The
 * model has a lock for each process and byte; the last byte stands for all behind it as well.
 * Threads 0 and 2 are of one process, so one of them may close the file while the other waits for a
 * lock.
 */
#include "kernel/fs/record.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/proc.h"
#include "kernel/task/thread.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "libc.h"
#include "object.h"

enum { BYTES = 8, PROCS = 2, FD = 0, POS = 3 };

/* The number of a call says which bytes: where they begin, how many there are, and who says so. */
enum op { OP_SHARE, OP_LOCK, OP_TRY_SHARE, OP_TRY_LOCK, OP_UNLOCK, OP_ASK, OP_CLOSE, OP_WRONG };
/* A range is counted from the first byte, back from its own end, from the position, the size. */
enum { FROM_START, BACK, FROM_POS, FROM_SIZE, NR_WAYS };
static const char *const op_names[] = { "share", "lock",  "try_share", "try_lock", "unlock",
					"ask",	 "close", "wrong",     NULL };

struct files_of_procs {
	struct inode inode;
	struct proc proc[PROCS];
};

static struct files_of_procs *o;
static bool was_closed[PROCS]; /* by a call of the last run */

static unsigned proc_of(unsigned nr)
{
	return nr % PROCS;
}

static void destroy(void *object)
{
	for (unsigned i = 0; i < PROCS; i++)
		files_put(o->proc[i].files);
	free(object);
}

static bool open_file(void)
{
	int err;
	struct file *f = file_create(&o->inode, NULL, O_RDWR, &err);

	return f && fd_install(f, FD, false) == FD;
}

static void *create(unsigned nr_threads)
{
	static const struct file_ops ops;

	o = calloc(1, sizeof(*o));
	memset(was_closed, 0, sizeof(was_closed));
	o->inode = (struct inode){ .fops = &ops, .refs = 1, .size = BYTES };
	for (unsigned i = 0; i < PROCS; i++) {
		if (!proc_begin(&o->proc[i], nr_threads, 1) || !open_file()) {
			destroy(o);
			return NULL;
		}
		o->proc[i].pid = 10 + (int)i;
	}
	return o;
}

static const struct range ranges[ARRAY_SIZE(op_names)] = {
	[OP_SHARE... OP_WRONG] = { 0, BYTES *BYTES *NR_WAYS - 1 },
};

static struct call draw(struct prng *random, bool alone)
{
	static const u8 often[] = { OP_SHARE,	 OP_LOCK,     OP_LOCK,	 OP_TRY_SHARE,
				    OP_TRY_LOCK, OP_TRY_LOCK, OP_UNLOCK, OP_UNLOCK,
				    OP_ASK,	 OP_ASK,      OP_WRONG,	 OP_CLOSE };
	struct call call = { .op = often[prng_below(random, alone ? 11 : 12)] };

	call.n = prng_below(random, BYTES * BYTES * NR_WAYS);
	return call;
}

static u32 first_of(const struct call *call)
{
	return call->n % BYTES;
}

static u32 end_of(const struct call *call)
{
	return min(first_of(call) + call->n / BYTES % BYTES + 1, (u32)BYTES);
}

static long pack(long type, u64 start, u64 len)
{
	return type * 10000 + (long)start * 100 + (long)len;
}

/* The call's bytes as fcntl(2) can name them. */
static struct user_flock range_of(const struct call *call)
{
	s64 first = first_of(call), end = end_of(call);
	struct user_flock l = { .start = first, .len = end == BYTES ? 0 : end - first };

	switch (call->n / (BYTES * BYTES)) {
	case BACK:
		if (l.len) {
			l.start = end;
			l.len = -l.len;
		}
		break;
	case FROM_POS:
		l.whence = 1;
		l.start -= POS;
		break;
	case FROM_SIZE:
		l.whence = 2;
		l.start -= BYTES;
		break;
	default:
		break;
	}
	return l;
}

/* Calls that fcntl(2) refuses, whatever is locked. */
static const struct {
	struct user_flock l;
	bool asks;
	long error;
} wrong[] = {
	{ { .type = F_WRLCK, .whence = 3, .len = 1 }, false, -EINVAL },
	{ { .type = F_WRLCK, .whence = -1, .len = 1 }, true, -EINVAL },
	{ { .type = F_WRLCK, .start = -1, .len = 2 }, true, -EINVAL },
	{ { .type = F_UNLCK, .start = 2, .len = -3 }, false, -EINVAL },
	{ { .type = F_RDLCK, .whence = 1, .start = INT64_MAX }, false, -EOVERFLOW },
	{ { .type = F_RDLCK, .start = INT64_MAX, .len = 2 }, true, -EOVERFLOW },
	{ { .type = F_UNLCK, .len = 1 }, true, -EINVAL },
	{ { .type = F_UNLCK + 1, .len = 1 }, false, -EINVAL },
	{ { .type = -1, .len = 1 }, false, -EINVAL },
};

static long ask(struct file *f, struct user_flock *l)
{
	long err = record_get(f, l, false);

	return err ? err : l->type == F_UNLCK ? 0 : pack(l->type + 1, (u64)l->start, (u64)l->len);
}

static struct answer perform(void *object, unsigned nr, unsigned id, const struct call *call)
{
	static const s16 l_types[] = { F_RDLCK, F_WRLCK, F_RDLCK, F_WRLCK, F_UNLCK, F_WRLCK };
	struct user_flock l = range_of(call);
	struct answer answer = { .value = -EBADF };
	struct file *f;

	(void)object;
	(void)id;
	current->proc = &o->proc[proc_of(nr)];
	if (call->op == OP_CLOSE) {
		was_closed[proc_of(nr)] = true;
		answer.value = fd_close(FD);
		return answer;
	}
	f = fd_get(FD);
	if (!f)
		return answer;
	f->pos = POS;
	if (call->op == OP_WRONG)
		l = wrong[call->n % ARRAY_SIZE(wrong)].l;
	else
		l.type = l_types[call->op];
	if (call->op == OP_WRONG && !wrong[call->n % ARRAY_SIZE(wrong)].asks)
		answer.value = record_set(f, FD, &l, false, false);
	else if (call->op >= OP_ASK)
		answer.value = ask(f, &l);
	else
		answer.value = record_set(f, FD, &l, false, call->op < OP_TRY_SHARE);
	file_put(f);
	return answer;
}

/* --- the model ---------------------------------------------------------------------------- */

enum { NONE, SHARED, EXCLUSIVE };

struct model {
	u8 lock[PROCS][BYTES];
	bool closed[PROCS];
};

static void model_create(void *model, unsigned nr_threads)
{
	(void)nr_threads;
	memset(model, 0, sizeof(struct model));
}

/* Where a lock of the other process forbids one of @type on these bytes; BYTES: nowhere. */
static u32 forbidden_at(const struct model *m, unsigned proc, const struct call *call, u8 type)
{
	for (u32 i = first_of(call); i < end_of(call); i++)
		if (m->lock[!proc][i] && (type == EXCLUSIVE || m->lock[!proc][i] == EXCLUSIVE))
			return i;
	return BYTES;
}

static long model_ask(const struct model *m, unsigned proc, const struct call *call)
{
	u32 from = forbidden_at(m, proc, call, EXCLUSIVE), to = from;
	const u8 *its = m->lock[!proc];

	if (from == BYTES)
		return 0;
	while (from && its[from - 1] == its[to])
		from--;
	while (to + 1 < BYTES && its[to + 1] == its[from])
		to++;
	return pack(its[from] == SHARED ? F_RDLCK + 1 : F_WRLCK + 1, from,
		    to + 1 == BYTES ? 0 : to - from + 1);
}

static const u8 types[] = { SHARED, EXCLUSIVE, SHARED, EXCLUSIVE, NONE };

/* Does the call get a lock now? */
static bool locks(const struct model *m, unsigned proc, const struct call *call)
{
	return call->op < OP_UNLOCK && forbidden_at(m, proc, call, types[call->op]) == BYTES;
}

static enum model_says model_set(struct model *m, unsigned proc, const struct call *call,
				 struct answer *a)
{
	u8 type = types[call->op];
	bool waits = call->op < OP_TRY_SHARE;

	if (type && forbidden_at(m, proc, call, type) < BYTES) {
		if (!waits)
			a->value = -EAGAIN;
		/* Two that wait for each other: the later one is refused. */
		return waits && a->value != -EDEADLK ? MUST_SLEEP : ENDS;
	}
	a->value = 0;
	memset(&m->lock[proc][first_of(call)], type, end_of(call) - first_of(call));
	return ENDS;
}

static enum model_says model_perform(void *model, unsigned nr, unsigned id, const struct call *call,
				     struct answer *a)
{
	struct model *m = model;
	unsigned proc = proc_of(nr);

	(void)id;
	/*
	 * The descriptor goes first, and then the locks: others may see both in between. A call
	 * that had found the descriptor may see what came later, but gets no lock.
	 */
	if ((a->value == -EBADF && was_closed[proc]) || (m->closed[proc] && locks(m, proc, call))) {
		a->value = -EBADF;
		return call->op < OP_TRY_SHARE ? MAY_SLEEP : ENDS;
	}
	if (call->op == OP_ASK || call->op == OP_WRONG) {
		a->value = call->op == OP_ASK ? model_ask(m, proc, call)
					      : wrong[call->n % ARRAY_SIZE(wrong)].error;
		return ENDS;
	}
	if (call->op != OP_CLOSE)
		return model_set(m, proc, call, a);
	a->value = 0;
	m->closed[proc] = true;
	memset(m->lock[proc], NONE, BYTES);
	return ENDS;
}

DEFINE_OBJECT(record, "$each(records, \"struct record.link\"); "
		      "$each(waits, \"struct wait.link\")");
