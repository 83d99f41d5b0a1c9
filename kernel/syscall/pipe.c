/* SPDX-License-Identifier: GPL-2.0-only */
/* System calls that make and fill pipes. */
#include "kernel/syscall/syscall.h"

#include "kernel/fs/pipe.h"

/* Two descriptors whose numbers are at @user; they name no file yet. 0, or -errno and none. */
static int reserve_pair(int fds[2], int *user)
{
	int err;

	fds[0] = fd_reserve();
	if (fds[0] < 0)
		return fds[0];
	fds[1] = fd_reserve();
	err = fds[1] < 0 ? fds[1] : arch_copy_to_user(user, fds, 2 * sizeof(*fds)) ? -EFAULT : 0;
	if (err && fds[1] >= 0)
		fd_cancel(fds[1]);
	if (err)
		fd_cancel(fds[0]);
	return err;
}

/* The program knows the numbers before they name files: another thread closes none of ours. */
long install_pair(struct file *a, struct file *b, bool cloexec, int *user)
{
	int fds[2], err = reserve_pair(fds, user);

	if (err) {
		file_put(a);
		file_put(b);
		return err;
	}
	fd_fill(fds[0], a, cloexec);
	fd_fill(fds[1], b, cloexec);
	return 0;
}

static long make_pipe(int *user, u32 flags)
{
	struct file *reader, *writer;
	int err;

	if (flags & ~(O_CLOEXEC | O_NONBLOCK))
		return -EINVAL;
	err = pipe_open(flags & O_NONBLOCK, &reader, &writer);
	return err ? err : install_pair(reader, writer, flags & O_CLOEXEC, user);
}

SYSCALL1(pipe, int *, user)
{
	return make_pipe(user, 0);
}

SYSCALL2(pipe2, int *, user, u32, flags)
{
	return make_pipe(user, flags);
}

#define SPLICE_FLAGS	0xf
#define SPLICE_NONBLOCK 2

static long splice_files(struct file *in, const s64 *in_at, struct file *out, const s64 *out_at,
			 size_t n, u32 flags)
{
	struct pipe *from = pipe_of(in), *to = pipe_of(out);

	if (!(in->mode & FILE_READ) || !(out->mode & FILE_WRITE))
		return -EBADF;
	if ((from && in_at) || (to && out_at))
		return -ESPIPE;
	if (!to || !in->ops->splice || in_at)
		return -EINVAL;
	return in->ops->splice(in, to, n, flags & SPLICE_NONBLOCK ? O_NONBLOCK : 0);
}

/*
 * Moves pages from files that have some into a pipe. Everything else is -EINVAL, as for file
 * systems of Linux without splice; programs then read and write.
 */
SYSCALL6(splice, int, in_fd, const s64 *, in_at, int, out_fd, const s64 *, out_at, size_t, n, u32,
	 flags)
{
	struct fd_ref in, out;
	long ret = -EBADF;

	if (flags & ~SPLICE_FLAGS)
		return -EINVAL;
	if (!n)
		return 0;
	in = fd_borrow(in_fd);
	out = fd_borrow(out_fd);
	if (in.file && out.file)
		ret = splice_files(in.file, in_at, out.file, out_at, n, flags);
	if (in.file)
		fd_release(in);
	if (out.file)
		fd_release(out);
	return ret;
}
