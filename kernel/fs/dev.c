/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /dev: the memory devices and the file system that holds the nodes (a tmpfs, so that programs can
 * add their own). Numbers are Linux's (Documentation/admin-guide/devices.txt).
 */
#include "kernel/pseudo/engine.h"

#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/task/proc.h"
#include "kernel/tty/tty.h"
#include "lib/fmt.h"
#include "lib/string.h"

static long read_nothing(struct file *f, void *user_buf, size_t n, u64 *pos)
{
	(void)f, (void)user_buf, (void)n, (void)pos;
	return 0;
}

static long write_all(struct file *f, const void *user_buf, size_t n, u64 *pos)
{
	(void)f, (void)user_buf, (void)pos;
	return (long)n;
}

static long read_zeros(struct file *f, void *user_buf, size_t n, u64 *pos)
{
	size_t left = arch_clear_user(user_buf, n);

	(void)f, (void)pos;
	return left && left == n ? -EFAULT : (long)(n - left);
}

static long write_full(struct file *f, const void *user_buf, size_t n, u64 *pos)
{
	(void)f, (void)user_buf, (void)n, (void)pos;
	return -ENOSPC;
}

static u64 map_zeros(struct file *f, u64 offset)
{
	(void)f, (void)offset;
	return page_alloc_zeroed();
}

/* --- /dev/random, /dev/urandom ----------------------------------------------------------- */

static long read_random(struct file *f, void *user_buf, size_t n, u64 *pos)
{
	u8 chunk[256];
	size_t done = 0;

	(void)f, (void)pos;
	while (done < n) {
		size_t len = min(n - done, sizeof(chunk));

		random_bytes(chunk, len);
		if (arch_copy_to_user((u8 *)user_buf + done, chunk, len))
			return done ? (long)done : -EFAULT;
		done += len;
		if (signal_pending())
			break;
		cond_resched();
	}
	return (long)done;
}

/* --- /dev/kmsg: user programs speak in the kernel log --------------------------------- */

static long write_kmsg(struct file *f, const void *user_buf, size_t n, u64 *pos)
{
	char line[256];
	size_t len = min(n, sizeof(line) - 1);

	(void)f, (void)pos;
	if (arch_copy_from_user(line, user_buf, len))
		return -EFAULT;
	while (len && line[len - 1] == '\n')
		len--;
	line[len] = 0;
	kprintf("%s\n", line);
	return (long)n;
}

/* --- the nodes ------------------------------------------------------------------------ */

static const struct file_ops null_ops = {
	.read = read_nothing,
	.write = write_all,
	.llseek = seek_nowhere,
};
static const struct file_ops zero_ops = {
	.read = read_zeros,
	.write = write_all,
	.llseek = seek_nowhere,
	.map_page = map_zeros,
};
static const struct file_ops full_ops = {
	.read = read_zeros,
	.write = write_full,
	.llseek = seek_nowhere,
};
static const struct file_ops random_ops = {
	.read = read_random,
	.write = write_all,
	.llseek = seek_nowhere,
};
/*
 * Records are read by syslog(2), none here. A reader waits for one: it must not take the absence of
 * records for the end of a file that has none.
 */
static long read_kmsg(struct file *f, void *user_buf, size_t n, u64 *pos)
{
	static struct waitq records = WAITQ_INIT(records);

	(void)user_buf, (void)n, (void)pos;
	if (f->flags & O_NONBLOCK)
		return -EAGAIN;
	return wait_event_interruptible(&records, false);
}

static const struct file_ops kmsg_ops = { .read = read_kmsg, .write = write_kmsg };

static const struct device {
	const char *name;
	u32 mode, rdev;
	const struct file_ops *ops;
} devices[] = {
	{ "null", 0666, MKDEV(1, 3), &null_ops },
	{ "zero", 0666, MKDEV(1, 5), &zero_ops },
	{ "full", 0666, MKDEV(1, 7), &full_ops },
	{ "random", 0666, MKDEV(1, 8), &random_ops },
	{ "urandom", 0666, MKDEV(1, 9), &random_ops },
	{ "kmsg", 0644, MKDEV(1, 11), &kmsg_ops },
	{ "ttyS0", 0600, MKDEV(4, 64), &tty_ops },
	{ "tty", 0666, MKDEV(5, 0), &tty_current_ops },
	{ "console", 0600, MKDEV(5, 1), &console_ops },
	/* Latency tools hold this open to keep CPUs out of deep sleep; these CPUs only halt. */
	{ "cpu_dma_latency", 0600, MKDEV(10, 126), &null_ops },
};

static const struct {
	const char *name, *target;
} links[] = {
	{ "fd", "/proc/self/fd" },
	{ "stdin", "/proc/self/fd/0" },
	{ "stdout", "/proc/self/fd/1" },
	{ "stderr", "/proc/self/fd/2" },
};

const struct file_ops *device_ops(u32 rdev)
{
	for (unsigned i = 0; i < ARRAY_SIZE(devices); i++)
		if (devices[i].rdev == rdev)
			return devices[i].ops;
	return NULL;
}

void inode_set_ops(struct inode *i, const struct file_ops *regular)
{
	debug_assert(i->refs == 1);
	if (S_ISDIR(i->mode))
		i->fops = &tree_dir_ops;
	else if (S_ISCHR(i->mode))
		i->fops = device_ops(i->rdev);
	else if (S_ISFIFO(i->mode))
		i->fops = &fifo_ops;
	else if (S_ISREG(i->mode))
		i->fops = regular;
}

static void add_node(struct superblock *sb, const char *name, u32 mode, u32 rdev, const char *link)
{
	struct mount here = { .sb = sb, .refs = 1 };
	struct walk_result at = {
		.path = { &here, sb->root },
		.name = name,
		.name_len = strlen(name),
	};

	if (tree_mknod(&at, mode, rdev, link))
		kprintf("/dev/%s: no memory\n", name);
}

/* One /dev, however often it is mounted. */
static struct superblock *devtmpfs_get(const struct fs_type *type, const char *options, int *err)
{
	static struct superblock *sb;

	(void)options;
	*err = -ENOMEM;
	if (sb)
		return superblock_get(sb);
	sb = superblock_create(type);
	if (!sb)
		return NULL;
	for (unsigned i = 0; i < ARRAY_SIZE(devices); i++)
		add_node(sb, devices[i].name, S_IFCHR | devices[i].mode, devices[i].rdev, NULL);
	for (unsigned i = 0; i < ARRAY_SIZE(links); i++)
		add_node(sb, links[i].name, S_IFLNK | 0777, 0, links[i].target);
	add_node(sb, "shm", S_IFDIR | 01777, 0, NULL);
	add_node(sb, "pts", S_IFDIR | 0755, 0, NULL);
	return superblock_get(sb);
}

const struct fs_type devtmpfs_type = {
	.name = "devtmpfs",
	.magic = 0x01021994,
	.get = devtmpfs_get,
	.create = tmpfs_create,
};
