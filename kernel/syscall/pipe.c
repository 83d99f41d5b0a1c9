/* System calls that make pipes and socket pairs. */
#include "kernel/syscall/syscall.h"

#include "kernel/fs/vfs.h"

/* Give both files descriptors and tell the user; nothing is left behind on failure. */
static long install_pair(struct file *a, struct file *b, bool cloexec, int *user)
{
	int fds[2];

	fds[0] = fd_install(a, 0, cloexec);
	if (fds[0] < 0) {
		file_put(b);
		return fds[0];
	}
	fds[1] = fd_install(b, 0, cloexec);
	if (fds[1] < 0) {
		fd_close(fds[0]);
		return fds[1];
	}
	if (!arch_copy_to_user(user, fds, sizeof(fds)))
		return 0;
	fd_close(fds[0]);
	fd_close(fds[1]);
	return -EFAULT;
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

#define AF_UNIX	       1
#define SOCK_STREAM    1
#define SOCK_TYPE_MASK 0xf
#define SOCK_FLAGS     (O_CLOEXEC | O_NONBLOCK)

/* There are no addresses to talk to, only pairs. */
SYSCALL3(socket, int, family, int, type, int, protocol)
{
	(void)family, (void)type, (void)protocol;
	return -EAFNOSUPPORT;
}

SYSCALL3(connect, int, fd, const void *, addr, unsigned, len)
{
	struct fd_ref ref = fd_borrow(fd);

	(void)addr, (void)len;
	fd_release(ref);
	return !ref.file ? -EBADF : S_ISSOCK(ref.file->inode->mode) ? -EISCONN : -ENOTSOCK;
}

SYSCALL4(socketpair, int, family, u32, type, int, protocol, int *, user)
{
	struct file *pair[2];
	int err;

	if (family != AF_UNIX)
		return -EAFNOSUPPORT;
	if (type & ~(SOCK_TYPE_MASK | SOCK_FLAGS))
		return -EINVAL;
	if ((type & SOCK_TYPE_MASK) != SOCK_STREAM)
		return -ESOCKTNOSUPPORT;
	if (protocol && protocol != AF_UNIX)
		return -EPROTONOSUPPORT;
	err = socket_open_pair(type & O_NONBLOCK, pair);
	return err ? err : install_pair(pair[0], pair[1], type & O_CLOEXEC, user);
}

SYSCALL2(shutdown, int, fd, unsigned, how)
{
	struct fd_ref ref = fd_borrow(fd);
	long ret;

	if (!ref.file)
		return -EBADF;
	ret = socket_shutdown(ref.file, how);
	fd_release(ref);
	return ret;
}
