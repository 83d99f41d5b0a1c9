/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The wait queues of a thread that waits for several files.
 *
 * Locking: a poll_table belongs to the thread that polls.
 */
#include "kernel/fs/poll.h"

#include "kernel/contract.h"
#include "kernel/task/thread.h"

void poll_wait(struct waitq *q, struct poll_table *pt)
{
	struct poll_entry *e;

	if (!pt)
		return;
	debug_assert(pt->nr <= pt->max);
	if (pt->nr == pt->max) {
		pt->full = true;
		return;
	}
	e = &pt->entries[pt->nr++];
	e->q = q;
	e->waiter = (struct waiter){ .thread = current, .notify = pt->notify };
	list_init(&e->waiter.link);
	if (pt->notify)
		waitq_watch(q, &e->waiter);
	else
		waitq_prepare(q, &e->waiter, TASK_INTERRUPTIBLE);
}
