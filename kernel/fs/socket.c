/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connected pairs of Unix stream sockets: two pipes, crossed. A socket made alone stays alone,
 * because nobody listens anywhere.
 *
 * CAPACITY. Linux charges a 100-byte message 768 bytes of the sender's 208 KiB (the socket buffer's
 * bookkeeping), so that about 277 of them, 27 KiB of data, fit before the sender blocks. How far
 * senders run ahead decides how often a benchmark like hackbench switches, so a direction here
 * holds 32 KiB.
 */
#include "kernel/fs/pipe.h"
#include "kernel/fs/socket.h"

#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/ref.h"
#include "kernel/task/proc.h"

#define SOCKET_PAGES 8
#define FIONREAD     0x541b

struct socket_pair {
	u32 refs;	      /* sockets, open or held by an inode */
	bool alone;	      /* there is no socket 1, and nothing is written or read */
	struct pipe *pipe[2]; /* pipe[i] carries what socket i writes */
	struct socket_peer peer;
};

struct socket { /* inode->private and file->private */
	struct socket_pair *pair;
	unsigned index;
};

static struct superblock socket_sb = {
	.type = &(const struct fs_type){ .name = "sockfs", .magic = 0x534f434b },
	.refs = 1,
};

static struct pipe *tx(struct file *f)
{
	struct socket *s = f->private;

	debug_assert(s->index < 2);
	return s->pair->pipe[s->index];
}

static struct pipe *rx(struct file *f)
{
	struct socket *s = f->private;

	debug_assert(s->index < 2);
	return s->pair->pipe[!s->index];
}

bool socket_is_alone(struct file *f)
{
	struct socket *s = f->private;

	debug_assert(S_ISSOCK(f->inode->mode));
	return s->pair->alone;
}

long socket_receive(struct file *f, void *user_buf, size_t n, u32 flags)
{
	struct socket *s = f->private;

	debug_assert(S_ISSOCK(f->inode->mode));
	if (unlikely(s->pair->alone))
		return -EINVAL;
	return pipe_get(rx(f), user_buf, n, flags);
}

static long socket_read(struct file *f, void *user_buf, size_t n, u64 *pos)
{
	(void)pos;
	return socket_receive(f, user_buf, n, f->flags);
}

/* A signal tells who writes to an end; who waits in a write when it comes gets the error alone. */
long socket_send(struct file *f, const struct iovec *iov, unsigned nr, size_t total, u32 flags)
{
	struct socket *s = f->private;

	debug_assert(S_ISSOCK(f->inode->mode));
	if (unlikely(s->pair->alone))
		return -ENOTCONN;
	if (unlikely(!READ_ONCE(tx(f)->readers)))
		return pipe_broken(flags);
	return pipe_putv(tx(f), iov, nr, total, flags | PIPE_NOSIGNAL);
}

static long socket_writev(struct file *f, const struct iovec *iov, unsigned nr, size_t total)
{
	return socket_send(f, iov, nr, total, f->flags);
}

static long socket_write(struct file *f, const void *user_buf, size_t n, u64 *pos)
{
	struct iovec iov = { (void *)user_buf, n };

	(void)pos;
	return socket_writev(f, &iov, 1, n);
}

/*
 * The events of a socket. If one direction has ended that is no error, for its end can be read. If
 * both directions have ended it is a hang-up.
 */
static unsigned socket_poll(struct file *f, struct poll_table *pt)
{
	unsigned in = pipe_poll_end(rx(f), FILE_READ, pt);
	unsigned out = pipe_poll_end(tx(f), FILE_WRITE, pt);
	unsigned events = (in & ~(unsigned)POLLHUP) | (out & ~(unsigned)POLLERR);

	if (socket_is_alone(f))
		return POLLOUT | POLLWRNORM | POLLHUP;
	if (in & POLLHUP)
		events |= POLLIN | POLLRDNORM | POLLRDHUP;
	return events | (out & POLLERR ? in & POLLHUP : 0);
}

static long socket_ioctl(struct file *f, unsigned cmd, u64 arg)
{
	u32 used = pipe_used(rx(f));

	if (cmd != FIONREAD)
		return -ENOTTY;
	return arch_copy_to_user((void *)arg, &used, sizeof(used)) ? -EFAULT : 0;
}

static int socket_open(struct inode *i, struct file *f)
{
	struct socket *s = i->private;

	f->private = s;
	pipe_attach(rx(f), FILE_READ);
	pipe_attach(tx(f), FILE_WRITE);
	return 0;
}

static void socket_release(struct file *f)
{
	pipe_shut(rx(f), true);
	pipe_shut(tx(f), false);
}

/* A direction ends at both sockets at once, and whoever waits there learns it. */
long socket_shutdown(struct file *f, unsigned how)
{
	static const u8 ends[] = { FILE_READ, FILE_WRITE, FILE_READ | FILE_WRITE };

	if (!S_ISSOCK(f->inode->mode))
		return -ENOTSOCK;
	if (how >= ARRAY_SIZE(ends))
		return -EINVAL;
	if (ends[how] & FILE_READ)
		pipe_shut(rx(f), false);
	if (ends[how] & FILE_WRITE)
		pipe_shut(tx(f), false);
	return 0;
}

long socket_set_capacity(struct file *f, u64 size)
{
	long ret = pipe_resize(tx(f), max(size, (u64)2 * PIPE_BUF));

	debug_assert(S_ISSOCK(f->inode->mode));
	return ret < 0 ? ret : 0;
}

u32 socket_capacity(struct file *f, bool sent)
{
	return pipe_capacity(sent ? tx(f) : rx(f));
}

struct socket_peer socket_peer(struct file *f)
{
	struct socket *s = f->private;

	debug_assert(S_ISSOCK(f->inode->mode));
	return s->pair->peer;
}

static void pair_put(struct socket_pair *pair)
{
	if (!ref_put(&pair->refs))
		return;
	for (unsigned i = 0; i < 2; i++)
		if (pair->pipe[i])
			pipe_free(pair->pipe[i]);
	kfree(pair);
}

static void socket_inode_release(struct inode *i)
{
	struct socket *s = i->private;

	pair_put(s->pair);
	kfree(s);
}

static const struct file_ops socket_ops = {
	.read = socket_read,
	.write = socket_write,
	.writev = socket_writev,
	.poll = socket_poll,
	.ioctl = socket_ioctl,
	.open = socket_open,
	.release = socket_release,
};
static const struct inode_ops socket_inode_ops = { .release = socket_inode_release };

static struct file *open_end(struct socket_pair *pair, unsigned index, u32 flags)
{
	struct inode *inode = inode_create(&socket_sb, S_IFSOCK | 0777);
	struct socket *s = kmalloc(sizeof(*s));
	struct file *f;
	int err;

	if (!inode || !s) {
		inode_put(inode);
		kfree(s);
		return NULL;
	}
	*s = (struct socket){ pair, index };
	ref_get(&pair->refs);
	inode_set_owner(inode, NULL);
	inode->private = s;
	inode->fops = &socket_ops;
	inode->iops = &socket_inode_ops;
	f = file_create(inode, NULL, O_RDWR | flags, &err);
	inode->fops = NULL; /* nobody opens it again, through /proc */
	inode_put(inode);
	return f;
}

/* @nr sockets: two that are connected, or one alone. */
static int open_sockets(unsigned nr, u32 flags, struct file *out[])
{
	struct socket_pair *pair = kzalloc(sizeof(*pair));
	unsigned made = 0;

	if (!pair)
		return -ENOMEM;
	pair->refs = 1;
	pair->alone = nr == 1;
	pair->peer = (struct socket_peer){ current->proc->pid, current->cred.user.effective,
					   current->cred.group.effective };
	pair->pipe[0] = pipe_create(SOCKET_PAGES);
	pair->pipe[1] = pipe_create(SOCKET_PAGES);
	while (pair->pipe[0] && pair->pipe[1] && made < nr) {
		out[made] = open_end(pair, made, flags);
		if (!out[made])
			break;
		made++;
	}
	pair_put(pair);
	if (made == nr)
		return 0;
	while (made)
		file_put(out[--made]);
	return file_shortage();
}

int socket_open_pair(u32 flags, struct file *out[2])
{
	return open_sockets(2, flags, out);
}

int socket_open_alone(u32 flags, struct file **out)
{
	return open_sockets(1, flags, out);
}
