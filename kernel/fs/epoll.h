/* SPDX-License-Identifier: GPL-2.0-only */
/* Sets of files that report what became ready: epoll(7). */
#pragma once

#include "kernel/fs/fs.h"

#define EPOLLEXCLUSIVE (1u << 28) /* accepted; every watcher is told all the same */
#define EPOLLWAKEUP    (1u << 29) /* accepted: nothing suspends */
#define EPOLLONESHOT   (1u << 30)
#define EPOLLET	       (1u << 31)

#define EPOLL_CTL_ADD 1
#define EPOLL_CTL_DEL 2
#define EPOLL_CTL_MOD 3

struct epoll_event { /* as Linux packs it on x86-64 */
	u32 events;
	u64 data;
} __attribute__((packed));

/* A new, empty set. NULL: no memory. */
struct file *epoll_open(void);
/*
 * Add, change or remove the watch on @f, which is the caller's descriptor @fd. Fails as
 * epoll_ctl(2) does; a set in a set is refused with -ELOOP.
 */
long epoll_control(struct file *set, int op, struct file *f, int fd,
		   const struct epoll_event *event);
/*
 * Wait until @deadline_ns (clock_ns(); 0: for ever) for up to @max events. Returns their number, 0,
 * -EINTR or -EFAULT. -EINVAL if @set is none.
 */
long epoll_wait_until(struct file *set, struct epoll_event *user, unsigned max, u64 deadline_ns);
/* @f is closed for good: no set watches it any more. */
void epoll_forget(struct file *f);
