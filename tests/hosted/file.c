/* SPDX-License-Identifier: GPL-2.0-only */
/* A process with descriptors, polls, and functions that kernel/fs/ calls and no object tries. */
#include "kernel/fs/poll.h"
#include "kernel/fs/vfs.h"
#include "kernel/mm/mm.h"
#include "kernel/pseudo/pseudo.h"
#include "kernel/ref.h"
#include "kernel/task/proc.h"
#include "kernel/task/thread.h"
#include "lib/string.h"
#include "object.h"
#include "world.h"

bool proc_begin(struct proc *p, unsigned nr_threads, unsigned max_files)
{
	memset(p, 0, sizeof(*p));
	p->nr_threads = nr_threads;
	p->rlimit[RLIMIT_NOFILE].cur = max_files;
	p->files = files_create();
	current->proc = p;
	return p->files;
}

int proc_sys_add(const struct pseudo_file *pf)
{
	(void)pf;
	return 0;
}

/* No device, and no FIFO. */
void inode_set_ops(struct inode *i, const struct file_ops *regular)
{
	i->fops = S_ISDIR(i->mode) ? &tree_dir_ops : S_ISREG(i->mode) ? regular : NULL;
}

long wait_for_events(poll_look look, void *what, unsigned events)
{
	struct poll_entry entries[POLL_QUEUES_MAX];
	struct waitq nothing;
	struct waiter self = { .thread = current };
	long ret = 0;

	list_init(&self.link);
	waitq_init(&nothing, "poll");
	while (!ret) {
		struct poll_table pt = { .max = POLL_QUEUES_MAX, .entries = entries };

		waitq_prepare(&nothing, &self, TASK_INTERRUPTIBLE);
		ret = look(what, &pt) & events;
		if (!ret && signal_pending())
			ret = -ERESTARTSYS;
		else if (!ret)
			schedule();
		for (unsigned i = 0; i < pt.nr; i++)
			waitq_finish(entries[i].q, &entries[i].waiter);
		waitq_finish(&nothing, &self);
	}
	return ret;
}
