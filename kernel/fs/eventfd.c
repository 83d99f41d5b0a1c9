/* SPDX-License-Identifier: GPL-2.0-only */
/* A counter with a descriptor: eventfd(2). A write adds; a read takes all, or 1 of a semaphore. */
#include "kernel/contract.h"
#include "kernel/fs/event.h"

#include "kernel/fs/vfs.h"
#include "kernel/mm/mm.h"

#define COUNT_MAX (UINT64_MAX - 1)

struct eventfd {
	struct spinlock lock;
	GUARDED(lock, "sleepers and poll, which look again");
	u64 count;
	GUARDED(constant);
	bool semaphore;

	struct waitq readable, writable;
};

/* Take what a read returns, or 0 if there is nothing. */
static u64 take(struct eventfd *e)
{
	u64 n;

	spin_lock(&e->lock);
	n = e->semaphore ? e->count != 0 : e->count;
	WRITE_ONCE(e->count, e->count - n);
	spin_unlock(&e->lock);
	return n;
}

static long eventfd_readv(struct file *f, const struct iovec *iov, unsigned nr, size_t n)
{
	struct eventfd *e = f->private;
	u64 taken;
	long err;

	if (n < sizeof(taken))
		return -EINVAL;
	while (!(taken = take(e))) {
		if (f->flags & O_NONBLOCK)
			return -EAGAIN;
		err = wait_event_interruptible(&e->readable, READ_ONCE(e->count));
		if (err)
			return err;
	}
	waitq_wake(&e->writable, 0);
	return iovec_put(iov, nr, 0, &taken, sizeof(taken)) ?: (long)sizeof(taken);
}

static bool add(struct eventfd *e, u64 n)
{
	bool fits;

	debug_assert(n <= COUNT_MAX);
	spin_lock(&e->lock);
	fits = n <= COUNT_MAX - e->count;
	if (fits)
		WRITE_ONCE(e->count, e->count + n);
	spin_unlock(&e->lock);
	return fits;
}

static long eventfd_write(struct file *f, const void *user_buf, size_t n, u64 *pos)
{
	struct eventfd *e = f->private;
	u64 added;
	long err;

	(void)pos;
	if (n != sizeof(added))
		return -EINVAL;
	if (arch_copy_from_user(&added, user_buf, sizeof(added)))
		return -EFAULT;
	if (added > COUNT_MAX)
		return -EINVAL;
	while (!add(e, added)) {
		if (f->flags & O_NONBLOCK)
			return -EAGAIN;
		err = wait_event_interruptible(&e->writable,
					       added <= COUNT_MAX - READ_ONCE(e->count));
		if (err)
			return err;
	}
	waitq_wake(&e->readable, 0);
	return sizeof(added);
}

static unsigned eventfd_poll(struct file *f, struct poll_table *pt)
{
	struct eventfd *e = f->private;
	u64 count;

	poll_wait(&e->readable, pt);
	poll_wait(&e->writable, pt);
	count = READ_ONCE(e->count);
	return (count ? POLLIN | POLLRDNORM : 0u) | (count < COUNT_MAX ? POLLOUT | POLLWRNORM : 0u);
}

static void eventfd_release(struct file *f)
{
	struct eventfd *e = f->private;

	debug_assert(list_empty(&e->readable.waiters) && list_empty(&e->writable.waiters));
	kfree(e);
}

static const struct file_ops eventfd_ops = {
	.read = read_in_one,
	.readv = eventfd_readv,
	.write = eventfd_write,
	.poll = eventfd_poll,
	.llseek = seek_nowhere,
	.release = eventfd_release,
};

struct file *eventfd_open(u64 count, bool semaphore, u32 flags)
{
	struct eventfd *e = kzalloc(sizeof(*e));
	struct file *f = e ? file_nameless(&eventfd_ops, e, O_RDWR | flags) : NULL;

	if (!f) {
		kfree(e);
		return NULL;
	}
	spin_lock_init(&e->lock, "eventfd");
	waitq_init(&e->readable, "eventfd readable");
	waitq_init(&e->writable, "eventfd writable");
	e->count = count;
	e->semaphore = semaphore;
	return f;
}
