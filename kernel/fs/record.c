/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Record locks, the advisory locks of fcntl(2) on ranges of bytes.
 *
 * POSIX's kind belongs to a descriptor table: any close of the file by its processes drops them.
 * Linux's other kind (OFD) belongs to an open file and goes with it. Both exclude each other; only
 * the owner differs. The records of one owner never overlap, and adjacent ones of a type are one.
 *
 * All records are in one list and all waiters sleep on one queue, as with flock(2): there are few.
 * A file counts its records, so that a close need not search.
 *
 * CLOSE. A close empties the slot first and then drops the records. A request may wait in between,
 * so it looks at the slot again before it gets its record, and is counted as one while it looks: a
 * close that it does not see waits for record_lock and drops the new record.
 *
 * Locking: record_lock; files->lock is inside.
 */
#include "kernel/fs/record.h"

#include "kernel/fs/vfs.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/task/account.h"
#include "kernel/task/proc.h"

#define RECORDS_MAX 8192 /* of a user: every search passes all records, under record_lock */

struct record {
	struct list link;
	struct inode *inode; /* kept by the owner's open file */
	const void *owner;   /* a struct files or a struct file */
	u64 start, end;	     /* last byte included */
	bool exclusive;
	struct account *user; /* who asked, and is charged */
	int pid; /* of the process that set it; -1 for OFD */
};

struct request {
	struct record want;
	struct file *file;
	int fd; /* where it must still be; -1 for OFD, which goes with the file itself */
};

/* A sleeping request of POSIX's kind, for the search for deadlocks. */
struct wait {
	struct list link;
	const void *owner, *blocker;
};

static struct spinlock record_lock = SPINLOCK_INIT("record");
static struct list records = LIST_INIT(records); /* guarded by: record_lock */
static struct list waits = LIST_INIT(waits);	 /* guarded by: record_lock */
static struct waitq record_waiters = WAITQ_INIT(record_waiters);

static bool overlap(const struct record *a, const struct record *b)
{
	return a->inode == b->inode && a->start <= b->end && b->start <= a->end;
}

/* A record of somebody else that forbids @want, or NULL. */
static struct record *find_conflict(const struct record *want)
{
	struct record *r;

	assert(spin_is_held(&record_lock));
	list_for_each(r, &records, link)
		if (r->owner != want->owner && overlap(r, want) &&
		    (r->exclusive || want->exclusive))
			return r;
	return NULL;
}

static void remove(struct record *r)
{
	debug_assert(r->inode->nr_records);
	debug_assert(spin_is_held(&record_lock));
	list_del(&r->link);
	r->inode->nr_records--;
	account_give(r->user, RES_RECORDS, 1);
	account_put(r->user);
	kfree(r);
}

/* An owner's records of a file stay together, by position: so the first of them is found first. */
static void add(struct record *r, const struct record *model)
{
	struct record *other;
	struct list *behind = &records;

	debug_assert(spin_is_held(&record_lock));
	*r = *model;
	r->inode->nr_records++;
	account_get(r->user);
	account_charge(r->user, RES_RECORDS, 1, NO_LIMIT);
	list_for_each(other, &records, link) {
		if (other->owner != r->owner || other->inode != r->inode)
			continue;
		behind = other->start > r->start ? &other->link : other->link.next;
		if (behind == &other->link)
			break;
	}
	list_add_tail(behind, &r->link);
}

/* Take the range of @cut out of the owner's records. One record may become two: *spare. */
static void cut_out(const struct record *cut, struct record **spare)
{
	struct record *r, *tmp;

	assert(spin_is_held(&record_lock));
	list_for_each_safe(r, tmp, &records, link) {
		if (r->owner != cut->owner || !overlap(r, cut))
			continue;
		if (r->start < cut->start && r->end > cut->end) {
			struct record upper = *r;

			upper.start = cut->end + 1;
			r->end = cut->start - 1;
			add(*spare, &upper);
			*spare = NULL;
			return;
		}
		if (r->start < cut->start)
			r->end = cut->start - 1;
		else if (r->end > cut->end)
			r->start = cut->end + 1;
		else
			remove(r);
	}
}

/* Join @mine, in the list, with the owner's records of its type that it touches. */
static void join(struct record *mine)
{
	struct record *r, *tmp;

	debug_assert(spin_is_held(&record_lock));
	list_for_each_safe(r, tmp, &records, link) {
		if (r == mine || r->owner != mine->owner || r->inode != mine->inode ||
		    r->exclusive != mine->exclusive)
			continue;
		if (r->end + 1 == mine->start)
			mine->start = r->start;
		else if (mine->end + 1 == r->start)
			mine->end = r->end;
		else
			continue;
		remove(r);
	}
}

/* Would waiting for @blocker close a circle of owners that wait for each other? */
static bool is_deadlock(const void *owner, const void *blocker)
{
	const struct wait *w;

	debug_assert(spin_is_held(&record_lock));
	for (unsigned steps = 0; steps < 16; steps++) {
		const void *next = NULL;

		list_for_each(w, &waits, link)
			if (w->owner == blocker)
				next = w->blocker;
		if (!next || next == owner)
			return next;
		blocker = next;
	}
	return false;
}

/* Give @q its record, or -EBADF if its descriptor was closed meanwhile. record_lock held. */
static long grant(const struct request *q, struct record *spare[2])
{
	struct inode *i = q->want.inode;
	bool closed;

	assert(spin_is_held(&record_lock));
	i->nr_records++;
	closed = q->fd >= 0 && !fd_names(q->fd, q->file);
	if (!closed) {
		cut_out(&q->want, &spare[0]);
		add(spare[1], &q->want);
		join(spare[1]);
		spare[1] = NULL;
	}
	i->nr_records--;
	return closed ? -EBADF : 0;
}

/*
 * Grant @q if nobody forbids it, with the two records of @spare, of which it takes what it needs.
 * 0, -EAGAIN, -EBADF, or -EDEADLK if a @wait is given that would never end.
 */
static long try_set(const struct request *q, struct record *spare[2], struct wait *wait)
{
	const struct record *want = &q->want;
	struct record *conflict;
	long err;

	spin_lock(&record_lock);
	conflict = find_conflict(want);
	if (wait)
		list_del(&wait->link);
	if (!conflict) {
		err = grant(q, spare);
	} else if (wait && want->pid > 0 && is_deadlock(want->owner, conflict->owner)) {
		err = -EDEADLK;
	} else {
		err = -EAGAIN;
		if (wait) {
			wait->blocker = conflict->owner;
			list_add_tail(&waits, &wait->link);
		}
	}
	spin_unlock(&record_lock);
	return err;
}

static long set(const struct request *q, struct record *spare[2], bool may_wait)
{
	struct wait wait = { .owner = q->want.owner };
	long err, slept = 0;

	list_init(&wait.link);
	err = try_set(q, spare, may_wait ? &wait : NULL);
	if (err == -EAGAIN && may_wait) {
		slept = wait_event_interruptible(&record_waiters,
						 (err = try_set(q, spare, &wait)) != -EAGAIN);
		spin_lock(&record_lock);
		list_del(&wait.link);
		spin_unlock(&record_lock);
	}
	if (!err || slept)
		waitq_wake(&record_waiters, 0); /* an exclusive lock may have become shared */
	return slept ? slept : err;
}

static long unset(const struct record *range, struct record **spare)
{
	spin_lock(&record_lock);
	cut_out(range, spare);
	spin_unlock(&record_lock);
	waitq_wake(&record_waiters, 0);
	return 0;
}

/* --- from fcntl ----------------------------------------------------------------------- */

/* The range that @l names, relative to @f's position or size if it says so. */
static long get_range(struct file *f, const struct user_flock *l, struct record *r)
{
	s64 base = l->whence == 1 ? (s64)f->pos : l->whence == 2 ? (s64)file_size(f) : 0, start;

	if (l->whence < 0 || l->whence > 2)
		return -EINVAL;
	if (__builtin_add_overflow(base, l->start, &start))
		return -EOVERFLOW;
	if (start < 0)
		return -EINVAL;
	if (l->len > 0 && start > INT64_MAX - (l->len - 1))
		return -EOVERFLOW;
	r->start = (u64)(l->len < 0 ? start + l->len : start);
	r->end = l->len > 0   ? (u64)(start + (l->len - 1))
		 : l->len < 0 ? (u64)(start - 1)
			      : (u64)INT64_MAX;
	return (s64)r->start < 0 ? -EINVAL : 0;
}

static struct record record_of(struct file *f, const struct user_flock *l, bool ofd)
{
	return (struct record){
		.inode = f->inode,
		.owner = ofd ? (const void *)f : current->proc->files,
		.exclusive = l->type == F_WRLCK,
		.user = current->account,
		.pid = ofd ? -1 : current->proc->pid,
	};
}

long record_get(struct file *f, struct user_flock *l, bool ofd)
{
	struct record want = record_of(f, l, ofd), *r;
	long err = get_range(f, l, &want);

	if (err || (l->type != F_RDLCK && l->type != F_WRLCK) || (ofd && l->pid))
		return err ? err : -EINVAL;
	spin_lock(&record_lock);
	r = find_conflict(&want);
	if (r) {
		l->type = r->exclusive ? F_WRLCK : F_RDLCK;
		l->whence = 0;
		l->start = (s64)r->start;
		l->len = r->end == INT64_MAX ? 0 : (s64)(r->end - r->start + 1);
		l->pid = r->pid;
	} else {
		l->type = F_UNLCK;
	}
	spin_unlock(&record_lock);
	return 0;
}

long record_set(struct file *f, int fd, const struct user_flock *l, bool ofd, bool may_wait)
{
	struct request q = { record_of(f, l, ofd), f, ofd ? -1 : fd };
	struct record *spare[2];
	long err = get_range(f, l, &q.want);

	if (err || l->type < F_RDLCK || l->type > F_UNLCK || (ofd && l->pid))
		return err ? err : -EINVAL;
	if ((l->type == F_RDLCK && !(f->mode & FILE_READ)) ||
	    (l->type == F_WRLCK && !(f->mode & FILE_WRITE)))
		return -EBADF;
	if (l->type != F_UNLCK && account_used(q.want.user, RES_RECORDS) >= RECORDS_MAX)
		return -ENOLCK;
	spare[0] = kmalloc(sizeof(*spare[0]));
	spare[1] = kmalloc(sizeof(*spare[1]));
	if (!spare[0] || !spare[1])
		err = -ENOMEM;
	else
		err = l->type == F_UNLCK ? unset(&q.want, &spare[0]) : set(&q, spare, may_wait);
	kfree(spare[0]);
	kfree(spare[1]);
	return err;
}

void record_drop(struct file *f, const void *owner)
{
	struct record *r, *tmp;
	bool dropped = false;

	if (likely(!READ_ONCE(f->inode->nr_records)))
		return;
	spin_lock(&record_lock);
	list_for_each_safe(r, tmp, &records, link) {
		if (r->owner != owner || r->inode != f->inode)
			continue;
		remove(r);
		dropped = true;
	}
	spin_unlock(&record_lock);
	if (dropped)
		waitq_wake(&record_waiters, 0);
}
