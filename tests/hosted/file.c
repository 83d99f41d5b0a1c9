/* SPDX-License-Identifier: GPL-2.0-only */
/* A process with descriptors, and functions that kernel/fs/ calls and that no object tries. */
#include "kernel/fs/vfs.h"
#include "kernel/mm/mm.h"
#include "kernel/pseudo/pseudo.h"
#include "kernel/ref.h"
#include "kernel/task/proc.h"
#include "lib/string.h"
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
