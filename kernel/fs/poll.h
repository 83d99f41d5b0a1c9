/* SPDX-License-Identifier: GPL-2.0-only */
/* The helpers of a file's poll operation, for poll(2) and its like; see kernel/syscall/poll.c. */
#pragma once

#include "kernel/sync.h"

#define POLLIN	   0x001
#define POLLPRI	   0x002
#define POLLOUT	   0x004
#define POLLERR	   0x008
#define POLLHUP	   0x010
#define POLLNVAL   0x020
#define POLLRDNORM 0x040
#define POLLWRNORM 0x100
#define POLLRDHUP  0x2000

struct poll_entry {
	struct waiter waiter;
	struct waitq *q;
	struct epoll_item *item; /* epoll.c's */
};

struct poll_table { /* the wait queues that one poller waits on */
	unsigned nr, max;
	bool full; /* a queue found no room */
	struct poll_entry *entries;
	/* NULL: the running thread waits. Else the queues call this (epoll). */
	void (*notify)(struct waiter *w);
};

#define POLL_QUEUES_MAX 2 /* the most wait queues of one file; a terminal has two */

/*
 * Let @q wake the poller. A file's poll operation calls this before it looks at its state. Does
 * nothing if @pt is NULL.
 */
void poll_wait(struct waitq *q, struct poll_table *pt);
