/* SPDX-License-Identifier: GPL-2.0-only */
/* The files of pipe(2), and FIFOs: pipes found by name. Both are ends of a byte queue (pipe.c). */
#include "kernel/contract.h"
#include "kernel/fs/pipe.h"
#include "kernel/kernel.h"
#include "kernel/task/proc.h"
#include "kernel/task/signal.h"

#define FIONREAD 0x541b

static struct superblock pipe_sb = {
	.type = &(const struct fs_type){ .name = "pipefs", .magic = 0x50495045 },
	.refs = 1,
};

static long pipe_read(struct file *f, void *user_buf, size_t n, u64 *pos)
{
	(void)pos;
	return pipe_get(f->private, user_buf, n, f->flags);
}

static long pipe_write(struct file *f, const void *user_buf, size_t n, u64 *pos)
{
	(void)pos;
	return pipe_put(f->private, user_buf, n, f->flags);
}

static long pipe_writev(struct file *f, const struct iovec *iov, unsigned nr, size_t total)
{
	return pipe_putv(f->private, iov, nr, total, f->flags);
}

static unsigned pipe_poll(struct file *f, struct poll_table *pt)
{
	return pipe_poll_end(f->private, f->mode, pt);
}

static long pipe_ioctl(struct file *f, unsigned cmd, u64 arg)
{
	u32 used = pipe_used(f->private);

	if (cmd != FIONREAD)
		return -ENOTTY;
	return arch_copy_to_user((void *)arg, &used, sizeof(used)) ? -EFAULT : 0;
}

/* --- opening -------------------------------------------------------------------------- */

/* The pipe of @i; the first to open it makes it. NULL: no memory, or too many of the user. */
static struct pipe *find_pipe(struct inode *i)
{
	struct pipe *p;

	mutex_lock(&i->lock);
	if (!i->private)
		i->private = pipe_create_limited();
	p = i->private;
	if (p)
		p->files++;
	mutex_unlock(&i->lock);
	return p;
}

/* Drop the ends of @mode. The last to close a pipe frees it, and a FIFO gets another one. */
static void leave_pipe(struct inode *i, unsigned mode)
{
	struct pipe *p = i->private;
	bool last;

	pipe_detach(p, mode);
	mutex_lock(&i->lock);
	debug_assert(p->files);
	last = !--p->files;
	if (last)
		i->private = NULL;
	mutex_unlock(&i->lock);
	if (last)
		pipe_free(p);
}

static void pipe_release(struct file *f)
{
	leave_pipe(f->inode, f->mode);
}

/*
 * A FIFO opened for one direction waits for the other end. The other end may come and go before
 * this thread looks. So it waits for a change of the number of visits, which was @before, and not
 * for the end to be present.
 */
static long wait_for_partner(struct pipe *p, struct file *f, u32 before)
{
	debug_assert(may_sleep());
	if (f->flags & O_NONBLOCK)
		return f->mode & FILE_READ ? 0 : -ENXIO;
	if (f->mode & FILE_READ)
		return wait_event_interruptible(&p->readable, READ_ONCE(p->writers_ever) != before);
	return wait_event_interruptible(&p->writable, READ_ONCE(p->readers_ever) != before);
}

static int pipe_file_open(struct inode *i, struct file *f)
{
	struct pipe *p = find_pipe(i);
	long err = 0;
	u32 before;

	if (!p)
		return i->sb == &pipe_sb ? -ENFILE : -ENOMEM; /* as Linux has it */
	f->private = p;
	before = f->mode & FILE_READ ? READ_ONCE(p->writers_ever) : READ_ONCE(p->readers_ever);
	if (!pipe_attach(p, f->mode) && i->sb != &pipe_sb)
		err = wait_for_partner(p, f, before);
	if (err)
		leave_pipe(i, f->mode);
	return (int)err;
}

const struct file_ops fifo_ops = {
	.read = pipe_read,
	.write = pipe_write,
	.writev = pipe_writev,
	.poll = pipe_poll,
	.ioctl = pipe_ioctl,
	.open = pipe_file_open,
	.release = pipe_release,
};

struct pipe *pipe_of(struct file *f)
{
	return f->ops == &fifo_ops ? f->private : NULL;
}

int pipe_open(u32 flags, struct file **reader, struct file **writer)
{
	struct inode *inode = inode_create(&pipe_sb, S_IFIFO | 0600);
	int err = 0;

	if (!inode)
		return -ENOMEM;
	inode_set_owner(inode, NULL);
	inode->fops = &fifo_ops;
	*reader = file_create(inode, NULL, O_RDONLY | flags, &err);
	*writer = *reader ? file_create(inode, NULL, O_WRONLY | flags, &err) : NULL;
	inode_put(inode);
	if (*writer)
		return 0;
	file_put(*reader);
	return err;
}
