/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waiting for several files: poll, ppoll, select, pselect6.
 *
 * All four become an array of poll_item. A first scan only looks. If nothing is ready, a second
 * scan registers the thread with every file's wait queues (poll_wait). If that still finds nothing,
 * the thread sleeps. Registering announces the sleep, so a file that becomes ready after it was
 * looked at cancels the sleep.
 */
#include "kernel/syscall/syscall.h"

#include "kernel/fs/vfs.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/task/signal.h"
#include "kernel/time/timespec.h"
#include "lib/string.h"

#define INLINE_ITEMS 8
#define MAX_FDS	     NOFILE_MAX
#define NEVER	     0ull

struct poll_item {
	struct fd_ref ref;
	int fd;
	u32 events, revents;
};

struct pollfd {
	int fd;
	u16 events, revents;
};

/* --- the core ------------------------------------------------------------------------- */

static unsigned file_poll(struct file *f, struct poll_table *pt)
{
	return f->ops->poll ? f->ops->poll(f, pt) : POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM;
}

/* Look at every item; returns how many have something to report. */
static unsigned scan(struct poll_item *items, unsigned nr, struct poll_table *pt)
{
	unsigned ready = 0;

	for (struct poll_item *i = items; i < items + nr; i++) {
		if (i->fd < 0)
			continue;
		i->revents = POLLNVAL;
		if (i->ref.file)
			i->revents = file_poll(i->ref.file, ready ? NULL : pt) &
				     (i->events | POLLERR | POLLHUP);
		ready += i->revents != 0;
	}
	return ready;
}

/*
 * Register, look again, sleep. @pt has room for every queue. Returns the number ready, 0 after a
 * sleep, or -errno.
 */
static long sleep_once(struct poll_item *items, unsigned nr, struct poll_table *pt, u64 deadline_ns)
{
	struct waiter self = { .thread = current }; /* poll(NULL, 0, timeout) sleeps on no queue */
	struct waitq nothing;
	long ret;

	list_init(&self.link);
	waitq_init(&nothing, "poll");
	pt->nr = 0;
	waitq_prepare(&nothing, &self, TASK_INTERRUPTIBLE);
	ret = scan(items, nr, pt);
	debug_assert(pt->nr <= pt->max);
	if (!ret && pt->full)
		ret = -ENOMEM;
	else if (!ret && signal_pending())
		ret = -EINTR;
	else if (!ret && !schedule_until(deadline_ns))
		ret = -ETIMEDOUT;
	for (unsigned i = 0; i < pt->nr; i++)
		waitq_finish(pt->entries[i].q, &pt->entries[i].waiter);
	waitq_finish(&nothing, &self);
	return ret;
}

/*
 * @deadline_ns: NEVER, or a time of clock_ns(), perhaps past. Returns the number ready, 0, -EINTR
 * or -ENOMEM.
 */
static long poll_items(struct poll_item *items, unsigned nr, u64 deadline_ns)
{
	struct poll_entry few[INLINE_ITEMS];
	struct poll_table pt = { .max = POLL_QUEUES_MAX * nr, .entries = few };
	long ret = scan(items, nr, NULL);

	if (ret || (deadline_ns != NEVER && clock_ns() >= deadline_ns))
		return ret;
	if (pt.max > INLINE_ITEMS)
		pt.entries = kmalloc(pt.max * sizeof(*pt.entries));
	if (!pt.entries)
		return -ENOMEM;
	while (!ret)
		ret = sleep_once(items, nr, &pt, deadline_ns);
	if (ret == -ETIMEDOUT)
		ret = scan(items, nr, NULL);
	if (pt.entries != few)
		kfree(pt.entries);
	return ret;
}

static void borrow_all(struct poll_item *items, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++)
		items[i].ref =
			items[i].fd >= 0 ? fd_borrow(items[i].fd) : (struct fd_ref){ NULL, false };
}

static void release_all(struct poll_item *items, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++)
		fd_release(items[i].ref);
}

/* --- poll, ppoll ---------------------------------------------------------------------- */

static long poll_user(struct pollfd *user, unsigned nr, struct poll_item *items, u64 deadline_ns)
{
	struct pollfd pfd;
	long ret;

	for (unsigned i = 0; i < nr; i++) {
		if (arch_copy_from_user(&pfd, &user[i], sizeof(pfd)))
			return -EFAULT;
		items[i] = (struct poll_item){ .fd = pfd.fd, .events = pfd.events };
	}
	borrow_all(items, nr);
	ret = poll_items(items, nr, deadline_ns);
	release_all(items, nr);
	for (unsigned i = 0; ret >= 0 && i < nr; i++) {
		u16 revents = (u16)items[i].revents;

		if (arch_copy_to_user((char *)&user[i] + offsetof(struct pollfd, revents), &revents,
				      sizeof(revents)))
			ret = -EFAULT;
	}
	return ret;
}

static long poll_until(struct pollfd *user, u64 nr, u64 deadline_ns)
{
	struct poll_item few[INLINE_ITEMS], *items = few;
	long ret;

	if (nr > READ_ONCE(current->proc->rlimit[RLIMIT_NOFILE].cur))
		return -EINVAL;
	if (nr > INLINE_ITEMS)
		items = kmalloc(nr * sizeof(*items));
	if (!items)
		return -ENOMEM;
	ret = poll_user(user, (unsigned)nr, items, deadline_ns);
	if (items != few)
		kfree(items);
	return ret;
}

static long poll_restart(struct restart_block *rb)
{
	long ret = poll_until((struct pollfd *)rb->arg[0], rb->arg[1], rb->deadline_ns);

	return ret == -EINTR ? -ERESTART_RESTARTBLOCK : ret;
}

SYSCALL3(poll, struct pollfd *, user, u64, nr, int, timeout_ms)
{
	u64 deadline_ns = timeout_ms < 0 ? NEVER : clock_ns() + (u64)timeout_ms * NS_PER_MS;
	long ret = poll_until(user, nr, deadline_ns);

	if (ret != -EINTR)
		return ret;
	current->restart = (struct restart_block){ poll_restart, deadline_ns, { (u64)user, nr } };
	return -ERESTART_RESTARTBLOCK;
}

/* Sets *deadline_ns to an absolute time, which is not NEVER. -EINVAL. */
static int deadline_from(const struct timespec *ts, u64 *deadline_ns)
{
	if (ts->sec < 0 || (u64)ts->nsec >= NS_PER_SEC)
		return -EINVAL;
	*deadline_ns = clock_ns() + min((u64)ts->sec, (u64)1 << 32) * NS_PER_SEC + (u64)ts->nsec;
	return 0;
}

/* The same, or NEVER if @user is NULL. -EFAULT, -EINVAL. */
static int read_timespec(const struct timespec *user, u64 *deadline_ns)
{
	struct timespec ts;

	*deadline_ns = NEVER;
	if (!user)
		return 0;
	if (arch_copy_from_user(&ts, user, sizeof(ts)))
		return -EFAULT;
	return deadline_from(&ts, deadline_ns);
}

/* Linux tells how much of the time is left; a failure to write it does not matter. */
static void write_remaining(struct timespec *user, u64 deadline_ns, u64 unit_ns)
{
	u64 now = clock_ns(), left = deadline_ns > now ? deadline_ns - now : 0;
	struct timespec ts = { (s64)(left / NS_PER_SEC), (s64)(left % NS_PER_SEC / unit_ns) };

	if (user && arch_copy_to_user(user, &ts, sizeof(ts)))
		return;
}

int begin_mask(const sigset_t *user, size_t size, sigset_t *old)
{
	sigset_t mask;

	if (size != sizeof(mask))
		return -EINVAL;
	if (arch_copy_from_user(&mask, user, sizeof(mask)))
		return -EFAULT;
	*old = signal_set_blocked(mask);
	return 0;
}

long end_mask(long ret, sigset_t old)
{
	if (ret == -EINTR) {
		current->saved_mask = old;
		current->restore_saved_mask = true;
	} else {
		signal_set_blocked(old);
	}
	return ret;
}

SYSCALL5(ppoll, struct pollfd *, user, u64, nr, struct timespec *, timeout, const sigset_t *, mask,
	 size_t, mask_size)
{
	u64 deadline_ns;
	sigset_t old = 0;
	long ret = read_timespec(timeout, &deadline_ns);

	if (!ret && mask)
		ret = begin_mask(mask, mask_size, &old);
	if (ret)
		return ret;
	ret = poll_until(user, nr, deadline_ns);
	if (mask)
		end_mask(ret, old);
	write_remaining(timeout, deadline_ns, 1);
	return ret == -EINTR ? -ERESTARTNOHAND : ret;
}

/* --- select, pselect6 ----------------------------------------------------------------- */

enum { SET_READ, SET_WRITE, SET_EXCEPT, NR_SETS };

static const u32 set_wants[NR_SETS] = { POLLIN | POLLRDNORM, POLLOUT | POLLWRNORM, POLLPRI };
static const u32 set_reports[NR_SETS] = {
	POLLIN | POLLRDNORM | POLLHUP | POLLERR,
	POLLOUT | POLLWRNORM | POLLERR,
	POLLPRI,
};

struct fd_sets {
	u64 *user[NR_SETS]; /* may be NULL */
	u64 bits[NR_SETS][MAX_FDS / 64];
	struct poll_item items[];
};

static int read_sets(struct fd_sets *sets, unsigned nr_fds)
{
	size_t bytes = (nr_fds + 63) / 64 * 8;

	for (unsigned s = 0; s < NR_SETS; s++)
		if (sets->user[s] && arch_copy_from_user(sets->bits[s], sets->user[s], bytes))
			return -EFAULT;
	return 0;
}

/* Fill in one item for each descriptor in any set. Returns their number. */
static unsigned make_items(struct fd_sets *sets, unsigned nr_fds)
{
	unsigned nr = 0;

	for (unsigned fd = 0; fd < nr_fds; fd++) {
		u32 events = 0;

		for (unsigned s = 0; s < NR_SETS; s++)
			if (sets->bits[s][fd / 64] >> (fd % 64) & 1)
				events |= set_wants[s];
		if (events)
			sets->items[nr++] = (struct poll_item){ .fd = (int)fd, .events = events };
	}
	return nr;
}

/* Turn what the items report into sets, and the sets into the result. */
static long write_sets(struct fd_sets *sets, unsigned nr, unsigned nr_fds)
{
	size_t bytes = (nr_fds + 63) / 64 * 8;
	long count = 0;

	memset(sets->bits, 0, sizeof(sets->bits));
	for (struct poll_item *i = sets->items; i < sets->items + nr; i++) {
		for (unsigned s = 0; s < NR_SETS; s++) {
			if (!sets->user[s] || !(i->events & set_wants[s]) ||
			    !(i->revents & set_reports[s]))
				continue;
			sets->bits[s][i->fd / 64] |= BIT(i->fd % 64);
			count++;
		}
	}
	for (unsigned s = 0; s < NR_SETS; s++)
		if (sets->user[s] && arch_copy_to_user(sets->user[s], sets->bits[s], bytes))
			return -EFAULT;
	return count;
}

static long select_sets(struct fd_sets *sets, unsigned nr_fds, u64 deadline_ns)
{
	unsigned nr;
	long ret = read_sets(sets, nr_fds);

	if (ret)
		return ret;
	nr = make_items(sets, nr_fds);
	borrow_all(sets->items, nr);
	for (unsigned i = 0; i < nr; i++)
		if (!sets->items[i].ref.file)
			ret = -EBADF;
	if (!ret)
		ret = poll_items(sets->items, nr, deadline_ns);
	release_all(sets->items, nr);
	return ret < 0 ? ret : write_sets(sets, nr, nr_fds);
}

static long select_until(int nr_fds, u64 *const user[NR_SETS], u64 deadline_ns)
{
	struct fd_sets *sets;
	long ret;

	if (nr_fds < 0)
		return -EINVAL;
	nr_fds = min(nr_fds, MAX_FDS);
	sets = kzalloc(sizeof(*sets) + (unsigned)nr_fds * sizeof(*sets->items));
	if (!sets)
		return -ENOMEM;
	memcpy(sets->user, user, sizeof(sets->user));
	ret = select_sets(sets, (unsigned)nr_fds, deadline_ns);
	kfree(sets);
	return ret;
}

SYSCALL5(select, int, nr_fds, u64 *, r, u64 *, w, u64 *, x, struct timespec *, timeout)
{
	u64 *user[NR_SETS] = { r, w, x }, deadline_ns = NEVER;
	struct timespec tv;
	long ret;

	if (timeout) { /* a timeval: microseconds */
		if (arch_copy_from_user(&tv, timeout, sizeof(tv)))
			return -EFAULT;
		if (tv.nsec < 0 ||
		    __builtin_add_overflow(tv.sec, tv.nsec / 1000000, &tv.sec))
			return -EINVAL;
		tv.nsec = tv.nsec % 1000000 * 1000;
		ret = deadline_from(&tv, &deadline_ns);
		if (ret)
			return ret;
	}
	ret = select_until(nr_fds, user, deadline_ns);
	write_remaining(timeout, deadline_ns, NS_PER_US);
	return ret == -EINTR ? -ERESTARTNOHAND : ret;
}

struct sigset_arg { /* sixth argument of pselect6 */
	const sigset_t *mask;
	size_t size;
};

SYSCALL6(pselect6, int, nr_fds, u64 *, r, u64 *, w, u64 *, x, struct timespec *, timeout,
	 const struct sigset_arg *, sig)
{
	u64 *user[NR_SETS] = { r, w, x }, deadline_ns;
	struct sigset_arg arg = { NULL, 0 };
	sigset_t old = 0;
	long ret;

	if (sig && arch_copy_from_user(&arg, sig, sizeof(arg)))
		return -EFAULT;
	ret = read_timespec(timeout, &deadline_ns);
	if (!ret && arg.mask)
		ret = begin_mask(arg.mask, arg.size, &old);
	if (ret)
		return ret;
	ret = select_until(nr_fds, user, deadline_ns);
	if (arg.mask)
		end_mask(ret, old);
	write_remaining(timeout, deadline_ns, 1);
	return ret == -EINTR ? -ERESTARTNOHAND : ret;
}
