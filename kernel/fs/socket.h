/* SPDX-License-Identifier: GPL-2.0-only */
/* Unix stream sockets, in connected pairs or alone; see socket.c. */
#pragma once

#include "kernel/fs/vfs.h"

/* Make a pair. 0 or -ENOMEM. */
int socket_open_pair(u32 flags, struct file *pair[2]);
/* Make one that can be connected to nothing. 0 or -ENOMEM. */
int socket_open_alone(u32 flags, struct file **out);

/* All below take a socket. To read from one that is alone is -EINVAL, to write to it -ENOTCONN. */
bool socket_is_alone(struct file *f);
/* SHUT_RD, SHUT_WR or SHUT_RDWR. -ENOTSOCK, -EINVAL. */
long socket_shutdown(struct file *f, unsigned how);
/* As read and writev. @flags, O_NONBLOCK and PIPE_NOSIGNAL, count instead of the file's. */
long socket_receive(struct file *f, void *user_buf, size_t n, u32 flags);
long socket_send(struct file *f, const struct iovec *iov, unsigned nr, size_t total, u32 flags);
/* Bytes that fit in the direction that @f sends in, or receives from. */
u32 socket_capacity(struct file *f, bool sent);
/* SO_SNDBUF. 0, -EBUSY if there is more data than that, -EPERM beyond 1 MiB, -ENOMEM. */
long socket_set_capacity(struct file *f, u64 size);

struct socket_peer { /* who made the pair, as SO_PEERCRED tells it */
	int pid;
	u32 uid, gid;
};
struct socket_peer socket_peer(struct file *f);
