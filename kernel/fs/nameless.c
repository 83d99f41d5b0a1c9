/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files without a name or an inode of their own kind: descriptors for epoll, events and timers.
 *
 * /proc/PID/fd leads to their inodes, too. These keep no operations, so that nobody opens a second
 * file there, which would lack the object.
 */
#include "kernel/fs/vfs.h"

static struct superblock nameless_sb = {
	.type = &(const struct fs_type){ .name = "anon_inodefs", .magic = 0x09041934 },
	.refs = 1,
};

struct file *file_nameless(const struct file_ops *ops, void *private, u32 flags)
{
	struct inode *inode = inode_create(&nameless_sb, 0600);
	struct file *f;
	int err;

	if (!inode)
		return NULL;
	inode_set_owner(inode, NULL);
	inode->fops = ops;
	f = file_create(inode, NULL, flags, &err);
	inode->fops = NULL;
	inode_put(inode);
	if (f)
		f->private = private;
	return f;
}
