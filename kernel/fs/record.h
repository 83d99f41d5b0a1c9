/* SPDX-License-Identifier: GPL-2.0-only */
/* Record locks: the locks of fcntl(2); see record.c. */
#pragma once

#include "kernel/fs/fs.h"

enum lock_type { F_RDLCK, F_WRLCK, F_UNLCK };

struct user_flock { /* struct flock of the ABI */
	s16 type, whence;
	u32 pad;
	s64 start, len; /* 0: to the end of all files */
	int pid;
	u32 pad2;
};
STATIC_ASSERT(sizeof(struct user_flock) == 32, "struct flock is 32 bytes");

/* F_GETLK: put the first lock that forbids @l into @l, or F_UNLCK. Returns 0 or -errno. */
long record_get(struct file *f, struct user_flock *l, bool ofd);
/*
 * F_SETLK or, if @may_wait, F_SETLKW, for descriptor @fd of @f. Returns 0, -EAGAIN, -EDEADLK,
 * -EBADF (also when another thread closed @fd meanwhile) and others.
 */
long record_set(struct file *f, int fd, const struct user_flock *l, bool ofd, bool may_wait);
/* @owner, a descriptor table or @f itself, closes @f: its locks on the file end. */
void record_drop(struct file *f, const void *owner);
