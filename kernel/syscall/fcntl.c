/* SPDX-License-Identifier: GPL-2.0-only */
/* System calls on descriptors themselves: duplicating, flags, locks, device controls. */
#include "kernel/fs/pipe.h"
#include "kernel/fs/record.h"
#include "kernel/fs/vfs.h"
#include "kernel/syscall/syscall.h"

/* --- duplicating and flags ------------------------------------------------------------ */

/* A table that others use cannot be left: it belongs to the process, not to a thread. */
SYSCALL3(close_range, unsigned, first, unsigned, last, unsigned, flags)
{
	enum { UNSHARE = 2, CLOEXEC = 4 };

	if ((flags & ~(unsigned)(UNSHARE | CLOEXEC)) || first > last)
		return -EINVAL;
	if ((flags & UNSHARE) && fd_table_is_shared())
		return -EINVAL;
	if (first <= INT32_MAX)
		fd_close_range(first, last, flags & CLOEXEC);
	return 0;
}

SYSCALL1(dup, int, fd)
{
	struct file *f = fd_get_any(fd);

	return f ? fd_install(f, 0, false) : -EBADF;
}

static long dup_to(int fd, int to, bool cloexec)
{
	struct file *f = fd_get_any(fd);

	if (!f)
		return -EBADF;
	if (to < 0) {
		file_put(f);
		return -EBADF;
	}
	return fd_replace(f, to, cloexec);
}

SYSCALL2(dup2, int, fd, int, to)
{
	struct fd_ref ref;

	if (fd != to)
		return dup_to(fd, to, false);
	ref = fd_borrow_any(fd);
	fd_release(ref);
	return ref.file ? fd : -EBADF;
}

SYSCALL3(dup3, int, fd, int, to, u32, flags)
{
	return fd == to || (flags & ~O_CLOEXEC) ? -EINVAL : dup_to(fd, to, flags & O_CLOEXEC);
}

enum fcntl_cmd {
	F_DUPFD,
	F_GETFD,
	F_SETFD,
	F_GETFL,
	F_SETFL,
	F_GETLK,
	F_SETLK,
	F_SETLKW,
	F_SETOWN = 8,
	F_GETOWN,
	F_OFD_GETLK = 36,
	F_OFD_SETLK,
	F_OFD_SETLKW,
	F_DUPFD_CLOEXEC = 1030,
	F_SETPIPE_SZ,
	F_GETPIPE_SZ,
};
#define SETTABLE_FLAGS (O_APPEND | O_NONBLOCK | O_NOATIME)

static long set_flags(struct file *f, u32 flags)
{
	int err = inode_may_noatime(f->inode, flags & ~f->flags);

	if (!err)
		f->flags = (f->flags & ~SETTABLE_FLAGS) | (flags & SETTABLE_FLAGS);
	return err;
}

static long dup_above(struct file *f, u64 min_fd, bool cloexec)
{
	if (min_fd >= READ_ONCE(current->proc->rlimit[RLIMIT_NOFILE].cur))
		return -EINVAL;
	return fd_install(file_get(f), (int)min_fd, cloexec);
}

static long pipe_fcntl(struct file *f, unsigned cmd, u64 arg)
{
	struct pipe *p = pipe_of(f);

	if (!p)
		return -EBADF;
	if (cmd == F_GETPIPE_SZ)
		return (long)pipe_capacity(p);
	return arg > BIT(31) ? -EINVAL : pipe_resize(p, arg); /* no power of two is a size */
}

static long lock_fcntl(struct file *f, int fd, unsigned cmd, struct user_flock *user)
{
	bool ofd = cmd >= F_OFD_GETLK;
	struct user_flock l;
	long err;

	if (arch_copy_from_user(&l, user, sizeof(l)))
		return -EFAULT;
	if (cmd != F_GETLK && cmd != F_OFD_GETLK)
		return record_set(f, fd, &l, ofd, cmd == F_SETLKW || cmd == F_OFD_SETLKW);
	err = record_get(f, &l, ofd);
	return !err && arch_copy_to_user(user, &l, sizeof(l)) ? -EFAULT : err;
}

static long file_fcntl(struct file *f, int fd, unsigned cmd, u64 arg)
{
	switch (cmd) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		return dup_above(f, arg, cmd == F_DUPFD_CLOEXEC);
	case F_GETFD:
		return files_cloexec(current->proc->files, fd);
	case F_SETFD:
		return files_set_cloexec(fd, arg & 1);
	case F_GETFL:
		return f->flags | O_LARGEFILE;
	case F_SETFL:
		return set_flags(f, (u32)arg);
	case F_SETOWN: /* nothing here sends SIGIO */
	case F_GETOWN:
		return 0;
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_GETLK:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		return lock_fcntl(f, fd, cmd, (struct user_flock *)arg);
	case F_SETPIPE_SZ:
	case F_GETPIPE_SZ:
		return pipe_fcntl(f, cmd, arg);
	default:
		return -EINVAL;
	}
}

/* Commands about the descriptor, not its file. */
static bool takes_any(unsigned cmd)
{
	return cmd <= F_GETFL || cmd == F_DUPFD_CLOEXEC;
}

SYSCALL3(fcntl, int, fd, unsigned, cmd, u64, arg)
{
	struct fd_ref ref = takes_any(cmd) ? fd_borrow_any(fd) : fd_borrow(fd);
	long ret;

	if (!ref.file)
		return -EBADF;
	ret = file_fcntl(ref.file, fd, cmd, arg);
	fd_release(ref);
	return ret;
}

#define FIONCLEX 0x5450
#define FIOCLEX	 0x5451
#define FIONBIO	 0x5421

static long file_ioctl(struct file *f, int fd, unsigned cmd, u64 arg)
{
	int on;

	switch (cmd) {
	case FIOCLEX:
	case FIONCLEX:
		return files_set_cloexec(fd, cmd == FIOCLEX);
	case FIONBIO:
		if (arch_copy_from_user(&on, (void *)arg, sizeof(on)))
			return -EFAULT;
		f->flags = on ? f->flags | O_NONBLOCK : f->flags & ~O_NONBLOCK;
		return 0;
	default:
		return f->ops->ioctl ? f->ops->ioctl(f, cmd, arg) : -ENOTTY;
	}
}

SYSCALL3(ioctl, int, fd, unsigned, cmd, u64, arg)
{
	struct fd_ref ref = fd_borrow(fd);
	long ret;

	if (!ref.file)
		return -EBADF;
	ret = file_ioctl(ref.file, fd, cmd, arg);
	fd_release(ref);
	return ret;
}

SYSCALL2(flock, int, fd, unsigned, op)
{
	struct fd_ref ref = fd_borrow(fd);
	long ret;

	if (!ref.file)
		return -EBADF;
	ret = flock_apply(ref.file, op);
	fd_release(ref);
	return ret;
}
