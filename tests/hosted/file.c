/* SPDX-License-Identifier: GPL-2.0-only */
/* Open files of objects that have no name, without inodes. */
#include "kernel/fs/epoll.h"
#include "kernel/fs/vfs.h"
#include "kernel/mm/mm.h"
#include "kernel/ref.h"

struct file *file_nameless(const struct file_ops *ops, void *private, u32 flags)
{
	struct file *f = kzalloc(sizeof(*f));

	if (f)
		*f = (struct file){ .ops = ops, .private = private, .flags = flags, .refs = 1 };
	return f;
}

struct file *file_get(struct file *f)
{
	ref_get(&f->refs);
	return f;
}

void file_put(struct file *f)
{
	if (!ref_put(&f->refs))
		return;
	if (f->watchers)
		epoll_forget(f);
	f->ops->release(f);
	kfree(f);
}
