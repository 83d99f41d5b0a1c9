/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System calls on sockets. There are connected pairs of Unix stream sockets, and single ones that
 * find nobody to connect to; no addresses, and no descriptors or credentials in messages.
 */
#include "kernel/fs/socket.h"

#include "kernel/fs/pipe.h"
#include "kernel/syscall/syscall.h"
#include "kernel/syscall/user_path.h"
#include "kernel/syscall/vector.h"

#define AF_UNIX	       1
#define SOCK_STREAM    1
#define SOCK_DGRAM     2
#define SOCK_SEQPACKET 5
#define SOCK_MAX       11
#define SOCK_TYPE_MASK 0xf
#define SOCK_FLAGS     (O_CLOEXEC | O_NONBLOCK)

enum msg_flags {
	MSG_DONTWAIT = 0x40,
	MSG_EOR = 0x80, /* means nothing in a stream */
	MSG_WAITALL = 0x100,
	MSG_NOSIGNAL = 0x4000,
	MSG_CMSG_CLOEXEC = 0x40000000, /* no message brings descriptors */
};

/* The socket of descriptor @fd in *ref, to be released. 0, -EBADF or -ENOTSOCK. */
static long borrow_socket(int fd, struct fd_ref *ref)
{
	*ref = fd_borrow(fd);
	if (!ref->file)
		return -EBADF;
	if (S_ISSOCK(ref->file->inode->mode))
		return 0;
	fd_release(*ref);
	return -ENOTSOCK;
}

/* Fail with @err, for a call that no pair can obey, unless @fd is no socket at all. */
static long refuse(int fd, long err)
{
	struct fd_ref ref;
	long bad = borrow_socket(fd, &ref);

	if (bad)
		return bad;
	fd_release(ref);
	return err;
}

/* --- making and ending -------------------------------------------------------------------- */

static long check_kind(int family, u32 type, int protocol)
{
	if (family != AF_UNIX)
		return -EAFNOSUPPORT;
	if (type & ~(SOCK_TYPE_MASK | SOCK_FLAGS) || (type & SOCK_TYPE_MASK) >= SOCK_MAX)
		return -EINVAL;
	return protocol && protocol != AF_UNIX ? -EPROTONOSUPPORT : 0;
}

SYSCALL3(socket, int, family, u32, type, int, protocol)
{
	u32 kind = type & SOCK_TYPE_MASK;
	long err = check_kind(family, type, protocol);
	struct file *f;

	if (err)
		return err;
	if (kind != SOCK_STREAM && kind != SOCK_DGRAM && kind != SOCK_SEQPACKET)
		return -ESOCKTNOSUPPORT;
	err = socket_open_alone(type & O_NONBLOCK, &f);
	return err ? err : fd_install(f, 0, type & O_CLOEXEC);
}

SYSCALL4(socketpair, int, family, u32, type, int, protocol, int *, user)
{
	struct file *pair[2];
	long err = check_kind(family, type, protocol);

	if (err)
		return err;
	if ((type & SOCK_TYPE_MASK) != SOCK_STREAM)
		return -ESOCKTNOSUPPORT;
	err = socket_open_pair(type & O_NONBLOCK, pair);
	return err ? err : install_pair(pair[0], pair[1], type & O_CLOEXEC, user);
}

SYSCALL2(shutdown, int, fd, unsigned, how)
{
	struct fd_ref ref;
	long ret = borrow_socket(fd, &ref);

	if (ret)
		return ret;
	ret = socket_shutdown(ref.file, how);
	fd_release(ref);
	return ret;
}

/* Nobody listens: -ECONNREFUSED, or why the address names no socket. */
static long find_listener(const void *addr, unsigned len)
{
	struct {
		u16 family;
		char path[109]; /* 108 bytes, which need not end in a NUL */
	} name = { 0 };
	struct path found;
	long err;

	if (len < sizeof(name.family) || len >= sizeof(name.family) + sizeof(name.path))
		return -EINVAL;
	if (arch_copy_from_user(&name, addr, len))
		return -EFAULT;
	if (name.family != AF_UNIX || len == sizeof(name.family))
		return -EINVAL;
	if (!name.path[0]) /* a name outside of the file system */
		return -ECONNREFUSED;
	err = path_lookup(AT_FDCWD, name.path, WALK_FOLLOW, &found);
	if (err)
		return err;
	path_put(&found);
	return -ECONNREFUSED;
}

SYSCALL3(connect, int, fd, const void *, addr, unsigned, len)
{
	struct fd_ref ref;
	long ret = borrow_socket(fd, &ref);

	if (ret)
		return ret;
	ret = socket_is_alone(ref.file) ? find_listener(addr, len) : -EISCONN;
	fd_release(ref);
	return ret;
}

SYSCALL3(bind, int, fd, const void *, addr, unsigned, len)
{
	(void)addr, (void)len;
	return refuse(fd, -EOPNOTSUPP);
}

SYSCALL2(listen, int, fd, int, backlog)
{
	(void)backlog;
	return refuse(fd, -EINVAL);
}

SYSCALL3(accept, int, fd, void *, addr, u32 *, len)
{
	(void)addr, (void)len;
	return refuse(fd, -EINVAL);
}

SYSCALL4(accept4, int, fd, void *, addr, u32 *, len, int, flags)
{
	(void)addr, (void)len, (void)flags;
	return refuse(fd, -EINVAL);
}

/* The name of a socket without a name: its family. */
static long put_name(void *user, u32 *user_len)
{
	const u16 family = AF_UNIX;
	u32 room, len = sizeof(family);

	if (arch_copy_from_user(&room, user_len, sizeof(room)))
		return -EFAULT;
	if ((s32)room < 0)
		return -EINVAL;
	if (arch_copy_to_user(user, &family, min(room, len)) ||
	    arch_copy_to_user(user_len, &len, sizeof(len)))
		return -EFAULT;
	return 0;
}

SYSCALL3(getsockname, int, fd, void *, user, u32 *, user_len)
{
	long bad = refuse(fd, 0);

	return bad ? bad : put_name(user, user_len);
}

SYSCALL3(getpeername, int, fd, void *, user, u32 *, user_len)
{
	struct fd_ref ref;
	long ret = borrow_socket(fd, &ref);

	if (ret)
		return ret;
	ret = socket_is_alone(ref.file) ? -ENOTCONN : put_name(user, user_len);
	fd_release(ref);
	return ret;
}

/* --- messages ------------------------------------------------------------------------------- */

static u32 file_flags(const struct file *f, u32 flags)
{
	return (f->flags & O_NONBLOCK) | (flags & MSG_DONTWAIT ? O_NONBLOCK : 0) |
	       (flags & MSG_NOSIGNAL ? PIPE_NOSIGNAL : 0);
}

static long send(int fd, struct vector *v, u32 flags)
{
	struct fd_ref ref;
	long ret;

	if (flags & ~(u32)(MSG_DONTWAIT | MSG_NOSIGNAL | MSG_EOR))
		return -EOPNOTSUPP;
	ret = borrow_socket(fd, &ref);
	if (ret)
		return ret;
	ret = socket_send(ref.file, v->iov, v->nr, v->total, file_flags(ref.file, flags));
	fd_release(ref);
	return ret;
}

/*
 * Fill the segments with what is there; with MSG_WAITALL until they are full. Without it the first
 * that does not fill is the last: what comes then may follow another reader's bytes.
 */
static long fill(struct file *f, const struct vector *v, u32 flags)
{
	size_t done = 0, in_segment = 0;

	for (unsigned i = 0; i < v->nr; in_segment = 0, i++) {
		while (in_segment < v->iov[i].len) {
			bool wait = !done || (flags & MSG_WAITALL);
			size_t left = v->iov[i].len - in_segment;
			long ret = socket_receive(f, (char *)v->iov[i].base + in_segment, left,
						  file_flags(f, flags) | (wait ? 0 : O_NONBLOCK));

			if (ret <= 0)
				return done ? (long)done : ret;
			in_segment += (size_t)ret;
			done += (size_t)ret;
			if ((size_t)ret < left && !(flags & MSG_WAITALL))
				return (long)done;
		}
	}
	return (long)done;
}

static long receive(int fd, struct vector *v, u32 flags)
{
	struct fd_ref ref;
	long ret;

	if (flags & ~(u32)(MSG_DONTWAIT | MSG_WAITALL | MSG_NOSIGNAL | MSG_CMSG_CLOEXEC))
		return -EOPNOTSUPP;
	ret = borrow_socket(fd, &ref);
	if (ret)
		return ret;
	ret = fill(ref.file, v, flags);
	fd_release(ref);
	return ret;
}

#define MAX_LENGTH ((size_t)0x7ffff000) /* as read and write */

SYSCALL6(sendto, int, fd, void *, buf, size_t, n, u32, flags, const void *, addr, unsigned, len)
{
	struct vector v = { .nr = 1, .iov = v.few };

	(void)len;
	v.total = min(n, MAX_LENGTH);
	v.few[0] = (struct iovec){ buf, v.total };
	return addr ? refuse(fd, -EISCONN) : send(fd, &v, flags);
}

SYSCALL6(recvfrom, int, fd, void *, buf, size_t, n, u32, flags, void *, addr, u32 *, addr_len)
{
	struct vector v = { .nr = 1, .iov = v.few };
	const u32 none = 0;
	long ret;

	v.total = min(n, MAX_LENGTH);
	v.few[0] = (struct iovec){ buf, v.total };
	ret = receive(fd, &v, flags);
	if (ret >= 0 && addr && addr_len && arch_copy_to_user(addr_len, &none, sizeof(none)))
		return -EFAULT;
	return ret;
}

struct user_msghdr {
	void *name;
	u32 name_len, pad;
	struct iovec *iov;
	u64 nr_iov;
	void *control;
	u64 control_len;
	u32 flags, pad2;
};

/* As vector_get(), but too many segments are too long a message. */
static long message_get(struct vector *v, const struct user_msghdr *m)
{
	return m->nr_iov > VECTOR_MAX ? -EMSGSIZE : vector_get(v, m->iov, m->nr_iov);
}

SYSCALL3(sendmsg, int, fd, const struct user_msghdr *, user, u32, flags)
{
	struct user_msghdr m;
	struct vector v;
	long ret;

	if (arch_copy_from_user(&m, user, sizeof(m)))
		return -EFAULT;
	if (m.name && m.name_len)
		return refuse(fd, -EISCONN);
	if (m.control_len)
		return refuse(fd, -EOPNOTSUPP);
	ret = message_get(&v, &m);
	if (ret)
		return ret;
	ret = send(fd, &v, flags);
	vector_put(&v);
	return ret;
}

SYSCALL3(recvmsg, int, fd, struct user_msghdr *, user, u32, flags)
{
	struct user_msghdr m;
	struct vector v;
	long ret;

	if (arch_copy_from_user(&m, user, sizeof(m)))
		return -EFAULT;
	ret = message_get(&v, &m);
	if (ret)
		return ret;
	ret = receive(fd, &v, flags);
	vector_put(&v);
	if (ret < 0)
		return ret;
	m.name_len = m.flags = 0;
	m.control_len = 0;
	return arch_copy_to_user(user, &m, sizeof(m)) ? -EFAULT : ret;
}

/* --- options ---------------------------------------------------------------------------------- */

#define SOL_SOCKET 1

enum socket_option {
	SO_REUSEADDR = 2,
	SO_TYPE,
	SO_ERROR,
	SO_SNDBUF = 7,
	SO_RCVBUF,
	SO_KEEPALIVE,
	SO_PEERCRED = 17,
	SO_ACCEPTCONN = 30,
	SO_PROTOCOL = 38,
	SO_DOMAIN,
};

/* The value of an option that is an int, or -ENOPROTOOPT. */
static long option_value(struct file *f, int option)
{
	switch (option) {
	case SO_TYPE:
		return SOCK_STREAM;
	case SO_DOMAIN:
		return AF_UNIX;
	case SO_SNDBUF:
		return socket_capacity(f, true);
	case SO_RCVBUF:
		return socket_capacity(f, false);
	case SO_ERROR:
	case SO_PROTOCOL:
	case SO_ACCEPTCONN:
	case SO_REUSEADDR:
	case SO_KEEPALIVE:
		return 0;
	default:
		return -ENOPROTOOPT;
	}
}

static long get_option(struct file *f, int option, void *user, u32 *user_len)
{
	struct socket_peer peer = socket_peer(f);
	long value = option == SO_PEERCRED ? 0 : option_value(f, option);
	u32 len;

	if (value < 0)
		return value;
	if (arch_copy_from_user(&len, user_len, sizeof(len)))
		return -EFAULT;
	if ((s32)len < 0)
		return -EINVAL;
	len = min(len, option == SO_PEERCRED ? (u32)sizeof(peer) : (u32)sizeof(int));
	if (arch_copy_to_user(user, option == SO_PEERCRED ? (void *)&peer : (void *)&value, len) ||
	    arch_copy_to_user(user_len, &len, sizeof(len)))
		return -EFAULT;
	return 0;
}

SYSCALL5(getsockopt, int, fd, int, level, int, option, void *, user, u32 *, user_len)
{
	struct fd_ref ref;
	long ret = borrow_socket(fd, &ref);

	if (ret)
		return ret;
	ret = level == SOL_SOCKET ? get_option(ref.file, option, user, user_len) : -EOPNOTSUPP;
	fd_release(ref);
	return ret;
}

/* Obeyed: SO_SNDBUF. Without meaning for a pair, as on Linux: SO_RCVBUF and those of addresses. */
static long set_option(struct file *f, int option, int value)
{
	switch (option) {
	case SO_SNDBUF:
		return socket_set_capacity(f, (u64)max(value, 0));
	case SO_RCVBUF:
	case SO_REUSEADDR:
	case SO_KEEPALIVE:
		return 0;
	default:
		return -ENOPROTOOPT;
	}
}

SYSCALL5(setsockopt, int, fd, int, level, int, option, const int *, user, u32, len)
{
	struct fd_ref ref;
	int value;
	long ret = borrow_socket(fd, &ref);

	if (ret)
		return ret;
	if (level != SOL_SOCKET)
		ret = -EOPNOTSUPP;
	else if (len < sizeof(value))
		ret = -EINVAL;
	else if (arch_copy_from_user(&value, user, sizeof(value)))
		ret = -EFAULT;
	else
		ret = set_option(ref.file, option, value);
	fd_release(ref);
	return ret;
}
