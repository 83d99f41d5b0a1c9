/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * flock(2): advisory locks on whole files, owned by an open file (not a process) and dropped with
 * it.
 *
 * There are few of these locks, so all are in one list. All waiters sleep on one queue and look
 * again whenever any lock is dropped.
 */
#include "kernel/contract.h"
#include "kernel/fs/vfs.h"

#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/task/proc.h"

#define LOCK_SH 1u
#define LOCK_EX 2u
#define LOCK_NB 4u
#define LOCK_UN 8u

struct flock {
	struct list link;
	const struct inode *inode;
	const struct file *owner;
	bool exclusive;
};

static struct spinlock flock_lock = SPINLOCK_INIT("flock");
static struct list flocks = LIST_INIT(flocks); /* guarded by: flock_lock */
static struct waitq flock_waiters = WAITQ_INIT(flock_waiters);

/*
 * The lock that @f owns, or NULL. *conflict tells whether locks of others forbid what @f asks for,
 * @exclusive or shared. flock_lock held.
 */
static struct flock *find(const struct file *f, bool exclusive, bool *conflict)
{
	struct flock *l, *mine = NULL;

	assert(spin_is_held(&flock_lock));
	*conflict = false;
	list_for_each(l, &flocks, link) {
		if (l->owner == f)
			mine = l;
		else if (l->inode == f->inode && (l->exclusive || exclusive))
			*conflict = true;
	}
	return mine;
}

/*
 * Take the lock, or convert the one that @f owns; a new entry consumes *spare. 0 or -EAGAIN. A lock
 * that cannot be converted is lost, as on Linux: two who share would else wait for each other.
 */
static long try_lock(struct file *f, bool exclusive, struct flock **spare)
{
	struct flock *mine, *lost = NULL;
	bool conflict;

	spin_lock(&flock_lock);
	mine = find(f, exclusive, &conflict);
	if (conflict && mine) {
		lost = mine;
		list_del(&lost->link);
		f->mode &= ~(u32)FILE_LOCKED;
	} else if (!conflict) {
		if (!mine) {
			debug_assert(*spare);
			mine = *spare;
			*spare = NULL;
			mine->inode = f->inode;
			mine->owner = f;
			list_add_tail(&flocks, &mine->link);
			f->mode |= FILE_LOCKED;
		}
		mine->exclusive = exclusive;
	}
	spin_unlock(&flock_lock);
	if (lost)
		waitq_wake(&flock_waiters, 0);
	kfree(lost);
	return conflict ? -EAGAIN : 0;
}

void flock_drop(struct file *f)
{
	struct flock *mine;
	bool conflict;

	if (!(READ_ONCE(f->mode) & FILE_LOCKED))
		return;
	spin_lock(&flock_lock);
	mine = find(f, false, &conflict);
	if (mine)
		list_del(&mine->link);
	f->mode &= ~(u32)FILE_LOCKED;
	spin_unlock(&flock_lock);
	kfree(mine);
	waitq_wake(&flock_waiters, 0);
}

long flock_apply(struct file *f, unsigned op)
{
	struct flock *spare;
	long err;

	debug_assert(may_sleep());
	switch (op & ~LOCK_NB) {
	case LOCK_UN:
		flock_drop(f);
		return 0;
	case LOCK_SH:
	case LOCK_EX:
		break;
	default:
		return -EINVAL;
	}
	spare = kzalloc(sizeof(*spare));
	if (!spare)
		return -ENOMEM;
	err = try_lock(f, op & LOCK_EX, &spare);
	if (err && !(op & LOCK_NB))
		err = wait_event_interruptible(&flock_waiters, !try_lock(f, op & LOCK_EX, &spare));
	kfree(spare);
	/* Converting an exclusive lock to a shared one may let others in. */
	if (!err && (op & LOCK_SH))
		waitq_wake(&flock_waiters, 0);
	return err;
}
