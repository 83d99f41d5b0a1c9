/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * flock(2): two open files lock one inode (kernel/fs/flock.c). The model is the lock of each. To
 * convert a lock is to give it up and to take another: if that has to wait, or fails, others may
 * have come between. Threads 0 and 2 share one file.
 */
#include "kernel/fs/vfs.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "libc.h"
#include "object.h"

enum { FILES = 2 };
enum { LOCK_SH = 1, LOCK_EX = 2, LOCK_NB = 4, LOCK_UN = 8 };

enum op { OP_SHARE, OP_LOCK, OP_TRY_SHARE, OP_TRY_LOCK, OP_UNLOCK };
static const char *const op_names[] = { "share", "lock", "try_share", "try_lock", "unlock", NULL };

struct locked {
	struct inode inode;
	struct file file[FILES];
};

static bool converts[FILES];   /* a call of the last run may have given up the file's lock */
static unsigned inside[FILES]; /* calls that lock it */

static unsigned file_of(unsigned nr)
{
	return nr % FILES;
}

static void *create(unsigned nr_threads)
{
	struct locked *o = calloc(1, sizeof(*o));

	(void)nr_threads;
	memset(converts, 0, sizeof(converts));
	memset(inside, 0, sizeof(inside));
	for (unsigned i = 0; i < FILES; i++)
		o->file[i].inode = &o->inode;
	return o;
}

static void destroy(void *object)
{
	struct locked *o = object;

	for (unsigned i = 0; i < FILES; i++)
		flock_drop(&o->file[i]);
	free(o);
}

static const struct range ranges[ARRAY_SIZE(op_names)];

static struct call draw(struct prng *random, bool alone)
{
	static const u8 often[] = { OP_SHARE,	  OP_LOCK,     OP_SHARE,  OP_LOCK,
				    OP_TRY_SHARE, OP_TRY_LOCK, OP_UNLOCK, OP_UNLOCK };

	(void)alone;
	return (struct call){ .op = often[prng_below(random, ARRAY_SIZE(often))] };
}

static struct answer perform(void *object, unsigned nr, unsigned id, const struct call *call)
{
	static const unsigned ops[] = { LOCK_SH, LOCK_EX, LOCK_SH | LOCK_NB, LOCK_EX | LOCK_NB,
					LOCK_UN };
	struct file *f = &((struct locked *)object)->file[file_of(nr)];
	struct answer answer = { 0 };

	(void)id;
	/* A call that began before the other's may convert what that one locked meanwhile. */
	if (call->op != OP_UNLOCK)
		converts[file_of(nr)] |= inside[file_of(nr)]++ || f->mode & FILE_LOCKED;
	answer.value = flock_apply(f, ops[call->op]);
	inside[file_of(nr)] -= call->op != OP_UNLOCK;
	return answer;
}

/* --- the model ---------------------------------------------------------------------------- */

enum lock { NONE, SHARED, EXCLUSIVE };

struct model {
	enum lock lock[FILES];
	bool alone;
};

static void model_create(void *model, unsigned nr_threads)
{
	*(struct model *)model = (struct model){ .alone = nr_threads == 1 };
}

static enum model_says model_perform(void *model, unsigned nr, unsigned id, const struct call *call,
				     struct answer *a)
{
	static const enum lock wanted[] = { SHARED, EXCLUSIVE, SHARED, EXCLUSIVE, NONE };
	struct model *m = model;
	enum lock *mine = &m->lock[file_of(nr)], *other = &m->lock[!file_of(nr)];
	enum lock want = wanted[call->op];
	bool forbidden = want && *other && (want == EXCLUSIVE || *other == EXCLUSIVE);
	bool waits = call->op <= OP_LOCK;

	(void)id;
	/* The other may have lost its lock before it answers. */
	if (forbidden && converts[!file_of(nr)] && !a->value) {
		*other = NONE;
		forbidden = false;
	}
	if (!forbidden && !waits && a->value == -EAGAIN && converts[file_of(nr)])
		forbidden = true;
	if (forbidden && !waits) {
		*mine = NONE;
		a->value = -EAGAIN;
		return ENDS;
	}
	if (forbidden)
		return MUST_SLEEP;
	*mine = want;
	a->value = 0;
	return ENDS;
}

DEFINE_OBJECT(flock, "$each(flocks, \"struct flock.link\")");
