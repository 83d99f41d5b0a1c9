/* SPDX-License-Identifier: GPL-2.0-only */
/* Open files: counted references, and what every kind of file has in common. */
#include "kernel/fs/epoll.h"
#include "kernel/fs/record.h"
#include "kernel/fs/vfs.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/pseudo/pseudo.h"
#include "kernel/ref.h"
#include "kernel/task/proc.h"
#include "lib/cpumask.h"
#include "lib/fmt.h"
#include "lib/string.h"

static const struct file_ops path_only_ops;
static u64 nr_files;  /* atomic */
static u64 max_files; /* of ordinary users */

static bool file_is_too_much(u64 nr)
{
	return nr > READ_ONCE(max_files) && !capable(CAP_SYS_ADMIN);
}

int file_shortage(void)
{
	return file_is_too_much(READ_ONCE(nr_files) + 1) ? -ENFILE : -ENOMEM;
}

void file_free(struct file *f)
{
	debug_assert(READ_ONCE(nr_files) && (!f || !f->lock.locked));
	__atomic_sub_fetch(&nr_files, 1, __ATOMIC_RELAXED);
	kfree(f);
}

struct file *file_alloc(void)
{
	bool too_much = file_is_too_much(__atomic_add_fetch(&nr_files, 1, __ATOMIC_RELAXED));
	struct file *f = too_much ? NULL : kzalloc(sizeof(*f));

	if (!f)
		file_free(NULL);
	return f;
}

static size_t show_nr(void *arg, char *buf, size_t size)
{
	(void)arg;
	return (size_t)snprintf(buf, size, "%lu\t0\t%lu\n", READ_ONCE(nr_files), max_files);
}

/* Linux's default: a tenth of memory, if a file takes 1 KiB with all that belongs to it. */
static int file_limits_init(void)
{
	const struct pseudo_file nr = { .name = "fs/file-nr", .mode = 0444, .show = show_nr };

	max_files = max(page_nr_total() * (PAGE_SIZE / 1024) / 10, 8192ull);
	return proc_sys_add_number("fs/file-max", &max_files) ?: proc_sys_add(&nr);
}
INITCALL(file_limits_init);

/* Count @f, about to be open for writing. 0, -ETXTBSY or -EROFS. */
static int begin_write(struct file *f)
{
	int err;

	debug_assert(!(f->mode & FILE_WRITER));
	if (!f->path.mnt || !(f->mode & FILE_SEEK))
		return 0;
	err = path_writable(&f->path) ?: inode_begin_write(f->inode);
	if (err)
		return err;
	__atomic_add_fetch(&f->path.mnt->nr_writers, 1, __ATOMIC_RELAXED);
	f->mode |= FILE_WRITER;
	return 0;
}

/* Undo what begin_write() or file_begin_exec() counted. */
static void end_use(struct file *f)
{
	if (f->mode & FILE_EXEC)
		inode_end_exec(f->inode);
	if (!(f->mode & FILE_WRITER))
		return;
	inode_end_write(f->inode);
	debug_assert(f->path.mnt->nr_writers);
	__atomic_sub_fetch(&f->path.mnt->nr_writers, 1, __ATOMIC_RELAXED);
}

/* Take back what @f, which was never open, has of its file. */
static void undo_begin(struct file *f)
{
	debug_assert(f->refs == 1);
	end_use(f);
	path_put(&f->path);
	inode_put(f->inode);
	file_free(f);
}

int file_begin(struct file *f, struct inode *inode, const struct path *path, u32 flags)
{
	static const u8 modes[] = { FILE_READ, FILE_WRITE, FILE_READ | FILE_WRITE, 0 };
	int err;

	debug_assert(inode->refs && (inode->fops || flags & O_PATH));
	f->ops = inode->fops;
	f->inode = inode_get(inode);
	f->refs = 1;
	f->flags = flags;
	f->mode = modes[flags & O_ACCMODE];
	mutex_init(&f->lock, "file");
	if (S_ISREG(inode->mode) || S_ISDIR(inode->mode))
		f->mode |= FILE_SEEK;
	if (path) {
		f->path = *path;
		path_get(path);
	}
	if (flags & O_PATH) {
		f->mode = FILE_PATH;
		f->ops = &path_only_ops;
		return 0;
	}
	err = f->mode & FILE_WRITE ? begin_write(f) : 0;
	if (!err && f->ops->open)
		err = f->ops->open(inode, f);
	f->flags &= ~(O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_CLOEXEC);
	if (err)
		undo_begin(f);
	return err;
}

struct file *file_create(struct inode *inode, const struct path *path, u32 flags, int *err)
{
	struct file *f = file_alloc();

	*err = f ? file_begin(f, inode, path, flags) : file_shortage();
	return *err ? NULL : f;
}

struct file *file_get(struct file *f)
{
	ref_get(&f->refs);
	return f;
}

void file_put(struct file *f)
{
	if (!f || !ref_put(&f->refs))
		return;
	assert(!current->mm || !mutex_is_held(&current->mm->lock));
	if (unlikely(READ_ONCE(f->watchers)))
		epoll_forget(f);
	flock_drop(f);
	record_drop(f, f);
	end_use(f);
	if (f->ops->release)
		f->ops->release(f);
	path_put(&f->path);
	inode_put(f->inode);
	file_free(f);
}

u64 file_size(struct file *f)
{
	return READ_ONCE(f->inode->size);
}

/* SEEK_SET, SEEK_CUR, SEEK_END; for SEEK_DATA and SEEK_HOLE a file has no holes. */
long generic_llseek(struct file *f, s64 offset, int whence)
{
	s64 size = (s64)file_size(f), pos;

	debug_assert(mutex_is_held(&f->lock) || f->refs == 1);
	switch (whence) {
	case 0:
		pos = offset;
		break;
	case 1:
		if (__builtin_add_overflow((s64)f->pos, offset, &pos))
			return -EINVAL; /* so on Linux, not EOVERFLOW as by POSIX */
		break;
	case 2:
		if (__builtin_add_overflow(size, offset, &pos))
			return -EINVAL;
		break;
	case 3:
	case 4:
		if (offset < 0 || offset >= size)
			return -ENXIO;
		pos = whence == 3 ? offset : size;
		break;
	default:
		return -EINVAL;
	}
	if (pos < 0)
		return -EINVAL;
	f->pos = (u64)pos;
	return pos;
}

long seek_nowhere(struct file *f, s64 offset, int whence)
{
	(void)f, (void)offset, (void)whence;
	return 0;
}

long read_in_one(struct file *f, void *user_buf, size_t n, u64 *pos)
{
	const struct iovec iov = { user_buf, n };

	(void)pos;
	return f->ops->readv(f, &iov, 1, n);
}

long file_read_kernel(struct file *f, void *buf, size_t n, u64 pos)
{
	u64 size = READ_ONCE(f->inode->size);

	if (!f->ops->map_page)
		return -EINVAL;
	if (pos >= size)
		return 0;
	n = min(n, (size_t)(size - pos));
	for (size_t done = 0, len; done < n; done += len, pos += len) {
		u64 pa = f->ops->map_page(f, ALIGN_DOWN(pos, PAGE_SIZE));

		if (!is_page(pa))
			return done || pa == BEHIND_END ? (long)done : -ENOMEM;
		len = min(n - done, (size_t)(PAGE_SIZE - pos % PAGE_SIZE));
		memcpy((char *)buf + done, (char *)phys_to_virt(pa) + pos % PAGE_SIZE, len);
		page_put(pa);
	}
	return (long)n;
}

int iovec_put(const struct iovec *iov, unsigned nr, size_t at, const void *data, size_t n)
{
	const char *from = data;

	for (unsigned i = 0; n; i++) {
		size_t skip = min(at, iov[i].len), part = min(n, iov[i].len - skip);

		debug_assert(i < nr);
		if (part && arch_copy_to_user((char *)iov[i].base + skip, from, part))
			return -EFAULT;
		at -= skip;
		from += part;
		n -= part;
	}
	return 0;
}
