/* SPDX-License-Identifier: GPL-2.0-only */
/* System calls for sets of files that become ready (epoll) and for descriptors of events. */
#include "kernel/syscall/syscall.h"

#include "kernel/fs/epoll.h"
#include "kernel/fs/event.h"
#include "kernel/fs/vfs.h"
#include "kernel/time/timespec.h"

#define EPOLL_MAX_EVENTS (INT32_MAX / (int)sizeof(struct epoll_event))

static long install(struct file *f, u32 flags)
{
	return f ? fd_install(f, 0, flags & O_CLOEXEC) : file_shortage();
}

/* --- epoll ------------------------------------------------------------------------------ */

SYSCALL1(epoll_create1, u32, flags)
{
	return flags & ~O_CLOEXEC ? -EINVAL : install(epoll_open(), flags);
}

SYSCALL1(epoll_create, int, size)
{
	return size <= 0 ? -EINVAL : install(epoll_open(), 0);
}

SYSCALL4(epoll_ctl, int, set_fd, int, op, int, fd, const struct epoll_event *, user)
{
	struct epoll_event event = { 0 };
	struct fd_ref set, target;
	long ret = -EBADF;

	if (op != EPOLL_CTL_DEL && arch_copy_from_user(&event, user, sizeof(event)))
		return -EFAULT;
	set = fd_borrow(set_fd);
	target = fd_borrow(fd);
	if (set.file && target.file)
		ret = epoll_control(set.file, op, target.file, fd, &event);
	fd_release(set);
	fd_release(target);
	return ret;
}

static long wait_until(int fd, struct epoll_event *user, int max, u64 deadline_ns)
{
	struct fd_ref ref;
	long ret;

	if (max <= 0 || max > EPOLL_MAX_EVENTS)
		return -EINVAL;
	ref = fd_borrow(fd);
	if (!ref.file)
		return -EBADF;
	ret = epoll_wait_until(ref.file, user, (unsigned)max, deadline_ns);
	fd_release(ref);
	return ret;
}

static long wait_masked(int fd, struct epoll_event *user, int max, u64 deadline_ns,
			const sigset_t *mask, size_t mask_size)
{
	sigset_t old = 0;
	long ret;

	if (!mask)
		return wait_until(fd, user, max, deadline_ns);
	ret = begin_mask(mask, mask_size, &old);
	return ret ? ret : end_mask(wait_until(fd, user, max, deadline_ns), old);
}

/* Deadlines are times of clock_ns(); 0 is never. */
static u64 deadline_of_ms(int timeout_ms)
{
	return timeout_ms < 0 ? 0 : clock_ns() + (u64)timeout_ms * NS_PER_MS;
}

SYSCALL4(epoll_wait, int, fd, struct epoll_event *, user, int, max, int, timeout_ms)
{
	return wait_until(fd, user, max, deadline_of_ms(timeout_ms));
}

SYSCALL6(epoll_pwait, int, fd, struct epoll_event *, user, int, max, int, timeout_ms,
	 const sigset_t *, mask, size_t, mask_size)
{
	return wait_masked(fd, user, max, deadline_of_ms(timeout_ms), mask, mask_size);
}

SYSCALL6(epoll_pwait2, int, fd, struct epoll_event *, user, int, max, const struct timespec *,
	 timeout, const sigset_t *, mask, size_t, mask_size)
{
	u64 deadline_ns = 0, span_ns;
	long err;

	if (timeout) {
		err = timespec_get(timeout, &span_ns);
		if (err)
			return err;
		deadline_ns = deadline_after(span_ns);
	}
	return wait_masked(fd, user, max, deadline_ns, mask, mask_size);
}

/* --- counters ----------------------------------------------------------------------------- */

#define EFD_SEMAPHORE 1u

SYSCALL2(eventfd2, u32, count, u32, flags)
{
	if (flags & ~(EFD_SEMAPHORE | O_CLOEXEC | O_NONBLOCK))
		return -EINVAL;
	return install(eventfd_open(count, flags & EFD_SEMAPHORE, flags & O_NONBLOCK), flags);
}

SYSCALL1(eventfd, u32, count)
{
	return install(eventfd_open(count, false, 0), 0);
}

/* --- signals ------------------------------------------------------------------------------ */

static long make_signalfd(int fd, const sigset_t *user, size_t size, u32 flags)
{
	struct fd_ref ref;
	sigset_t set;
	long ret;

	if (size != sizeof(set) || (flags & ~(O_CLOEXEC | O_NONBLOCK)))
		return -EINVAL;
	if (arch_copy_from_user(&set, user, sizeof(set)))
		return -EFAULT;
	if (fd == -1)
		return install(signalfd_open(set, flags & O_NONBLOCK), flags);
	ref = fd_borrow(fd);
	if (!ref.file)
		return -EBADF;
	ret = signalfd_set(ref.file, set);
	fd_release(ref);
	return ret ? ret : fd;
}

SYSCALL4(signalfd4, int, fd, const sigset_t *, user, size_t, size, u32, flags)
{
	return make_signalfd(fd, user, size, flags);
}

SYSCALL3(signalfd, int, fd, const sigset_t *, user, size_t, size)
{
	return make_signalfd(fd, user, size, 0);
}
