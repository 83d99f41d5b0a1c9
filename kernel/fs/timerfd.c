/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A timer with a descriptor: timerfd_create(2). A read waits for an expiry and takes their number.
 *
 * Locking: setting guards the settings; the timer's callback, in an interrupt, reads the interval
 * without it, because a setter cancels the timer first and that waits for the callback. ticks is
 * guarded by ticks_lock, in which the lock of a CPU's timers nests.
 */
#include "kernel/contract.h"
#include "kernel/fs/event.h"

#include "kernel/fs/vfs.h"
#include "kernel/mm/mm.h"
#include "kernel/time/time.h"

struct timerfd {
	struct interval_timer it;
	struct mutex setting;
	GUARDED(setting);
	bool realtime; /* absolute times are CLOCK_REALTIME's */

	struct spinlock ticks_lock;
	GUARDED(ticks_lock, "sleepers and poll, which look again");
	u64 ticks; /* expiries since the last read */

	struct waitq readable;
};

static void timerfd_expired(struct ktimer *k)
{
	struct timerfd *t = k->arg;

	debug_assert(arch_in_irq());
	/* The next expiry and the number come together: gettime tells the one, a read the other. */
	spin_lock(&t->ticks_lock);
	WRITE_ONCE(t->ticks, t->ticks + 1 + interval_timer_rearm(&t->it));
	spin_unlock(&t->ticks_lock);
	waitq_wake(&t->readable, 0);
}

static u64 take_ticks(struct timerfd *t)
{
	unsigned long flags = spin_lock_irqsave(&t->ticks_lock);
	u64 n = t->ticks;

	WRITE_ONCE(t->ticks, 0);
	spin_unlock_irqrestore(&t->ticks_lock, flags);
	return n;
}

/* A setting is one step for a reader: it stops the timer, forgets the expiries and starts again. */
static u64 read_ticks(struct timerfd *t)
{
	mutex_lock(&t->setting);
	u64 n = take_ticks(t);
	mutex_unlock(&t->setting);
	return n;
}

static long timerfd_readv(struct file *f, const struct iovec *iov, unsigned nr, size_t n)
{
	struct timerfd *t = f->private;
	u64 ticks;
	long err;

	if (n < sizeof(ticks))
		return -EINVAL;
	while (!(ticks = read_ticks(t))) {
		if (f->flags & O_NONBLOCK)
			return -EAGAIN;
		err = wait_event_interruptible(&t->readable, READ_ONCE(t->ticks));
		if (err)
			return err;
	}
	return iovec_put(iov, nr, 0, &ticks, sizeof(ticks)) ?: (long)sizeof(ticks);
}

static unsigned timerfd_poll(struct file *f, struct poll_table *pt)
{
	struct timerfd *t = f->private;

	poll_wait(&t->readable, pt);
	return READ_ONCE(t->ticks) ? POLLIN | POLLRDNORM : 0;
}

static void timerfd_release(struct file *f)
{
	struct timerfd *t = f->private;

	ktimer_cancel(&t->it.ktimer);
	debug_assert(list_empty(&t->readable.waiters) && !t->setting.locked);
	kfree(t);
}

static const struct file_ops timerfd_ops = {
	.read = read_in_one,
	.readv = timerfd_readv,
	.poll = timerfd_poll,
	.llseek = seek_nowhere,
	.release = timerfd_release,
};

struct file *timerfd_open(bool realtime, u32 flags)
{
	struct timerfd *t = kzalloc(sizeof(*t));
	struct file *f = t ? file_nameless(&timerfd_ops, t, O_RDWR | flags) : NULL;

	if (!f) {
		kfree(t);
		return NULL;
	}
	ktimer_init(&t->it.ktimer, timerfd_expired, t);
	mutex_init(&t->setting, "timerfd");
	spin_lock_init(&t->ticks_lock, "timerfd ticks");
	waitq_init(&t->readable, "timerfd readable");
	t->realtime = realtime;
	return f;
}

long timerfd_set(struct file *f, const struct itimer_setting *new, bool absolute,
		 struct itimer_setting *old)
{
	struct timerfd *t = f->ops == &timerfd_ops ? f->private : NULL;
	u64 now = clock_ns(), expires;

	if (!t)
		return -EINVAL;
	mutex_lock(&t->setting);
	*old = new ? interval_timer_stop(&t->it) : interval_timer_get(&t->it);
	old->interval_ns = t->it.interval_ns; /* also of one that does not run */
	if (new) {
		expires = !new->value_ns ? 0
			  : !absolute	 ? now + new->value_ns
			  : t->realtime	 ? clock_monotonic_of(new->value_ns)
					 : new->value_ns;
		take_ticks(t);
		interval_timer_start(&t->it, expires, new->interval_ns);
	}
	mutex_unlock(&t->setting);
	return 0;
}
