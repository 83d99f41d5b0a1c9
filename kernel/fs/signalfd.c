/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Signals with a descriptor: signalfd(2). A read takes pending signals of the set, of the thread
 * that reads; it must block them, or their handlers are faster.
 *
 * Every signal wakes the readers of all processes, who then look at their own: a descriptor may be
 * read by any process that inherited it.
 */
#include "kernel/contract.h"
#include "kernel/fs/event.h"

#include "kernel/fs/vfs.h"
#include "kernel/mm/mm.h"
#include "kernel/task/signal.h"

struct signalfd {
	sigset_t set; /* atomic */
};

struct signalfd_info { /* Linux's struct signalfd_siginfo */
	u32 signo;
	int err, code;
	u32 pid, uid;
	int fd;
	u32 tid, band, overrun, trapno;
	int status, value_int;
	u64 value_ptr, utime, stime, addr;
	u8 pad[48];
};
STATIC_ASSERT(sizeof(struct signalfd_info) == 128, "as Linux's");

static struct signalfd_info info_of(const struct siginfo *s)
{
	struct signalfd_info i = { .signo = (u32)s->signo, .err = s->err, .code = s->code };

	if (s->code == SI_TIMER) {
		i.tid = (u32)s->timer.timerid;
		i.overrun = (u32)s->timer.overrun;
		i.value_ptr = s->timer.value;
		i.value_int = (int)s->timer.value;
		return i;
	}
	i.pid = (u32)s->rt.pid;
	i.uid = s->rt.uid;
	if (s->signo == SIGCHLD) {
		i.status = s->chld.status;
	} else {
		i.value_ptr = s->rt.value;
		i.value_int = (int)s->rt.value;
	}
	return i;
}

/* Wait for the first signal. 0, -EAGAIN or -ERESTARTSYS. */
static long wait_for(struct file *f, const struct signalfd *s, struct siginfo *info)
{
	long err;

	debug_assert(may_sleep());
	while (signal_wait(READ_ONCE(s->set), info, 0) < 0) {
		if (f->flags & O_NONBLOCK)
			return -EAGAIN;
		err = wait_event_interruptible(&signal_queued,
					       signal_any_pending(READ_ONCE(s->set)));
		/* One for this reader may have come before the one that ends its sleep. */
		if (err)
			return signal_wait(READ_ONCE(s->set), info, 0) < 0 ? err : 0;
	}
	return 0;
}

static long signalfd_readv(struct file *f, const struct iovec *iov, unsigned nr, size_t n)
{
	struct signalfd *s = f->private;
	struct signalfd_info out;
	struct siginfo info;
	size_t done = 0;
	long err;

	if (n < sizeof(out))
		return -EINVAL;
	err = wait_for(f, s, &info);
	if (err)
		return err;
	do {
		out = info_of(&info);
		if (iovec_put(iov, nr, done, &out, sizeof(out)))
			return done ? (long)done : -EFAULT;
		done += sizeof(out);
	} while (done + sizeof(out) <= n && signal_wait(READ_ONCE(s->set), &info, 0) > 0);
	return (long)done;
}

static unsigned signalfd_poll(struct file *f, struct poll_table *pt)
{
	struct signalfd *s = f->private;

	poll_wait(&signal_queued, pt);
	return signal_any_pending(READ_ONCE(s->set)) ? POLLIN | POLLRDNORM : 0;
}

static void signalfd_release(struct file *f)
{
	kfree(f->private);
}

static const struct file_ops signalfd_ops = {
	.read = read_in_one,
	.readv = signalfd_readv,
	.poll = signalfd_poll,
	.llseek = seek_nowhere,
	.release = signalfd_release,
};

struct file *signalfd_open(sigset_t set, u32 flags)
{
	struct signalfd *s = kzalloc(sizeof(*s));
	struct file *f = s ? file_nameless(&signalfd_ops, s, O_RDWR | flags) : NULL;

	if (f)
		s->set = set & ~SIG_UNBLOCKABLE;
	else
		kfree(s);
	return f;
}

long signalfd_set(struct file *f, sigset_t set)
{
	struct signalfd *s = f->ops == &signalfd_ops ? f->private : NULL;

	if (!s)
		return -EINVAL;
	WRITE_ONCE(s->set, set & ~SIG_UNBLOCKABLE);
	waitq_wake(&signal_queued, 0);
	return 0;
}
