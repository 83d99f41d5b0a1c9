/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System calls on descriptors: reading, writing, positions, opening. Duplicating, flags and locks
 * are in fcntl.c, pipes in pipe.c, names in path.c, metadata in stat.c, waiting in poll.c.
 */
#include "kernel/syscall/syscall.h"

#include "kernel/fs/vfs.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/syscall/user_path.h"
#include "kernel/syscall/vector.h"

#define MAX_RW 0x7ffff000ul /* Linux's limit of one transfer */

/* --- read and write ------------------------------------------------------------------- */

/* Lock the position of a file that other threads can use too. Streams have no position. */
static bool lock_position(struct file *f)
{
	if (!(f->mode & FILE_SEEK) || READ_ONCE(f->refs) == 1)
		return false;
	mutex_lock(&f->lock);
	return true;
}

static void unlock_position(struct file *f, bool locked)
{
	if (locked)
		mutex_unlock(&f->lock);
}

/* Do @n bytes from @pos on pass the last position that a file can have? */
static bool is_beyond(u64 pos, size_t n)
{
	debug_assert(pos <= INT64_MAX);
	return min(n, MAX_RW) > INT64_MAX - pos;
}

static inline long file_read(struct file *f, void *buf, size_t n, u64 *pos)
{
	if (!(f->mode & FILE_READ))
		return -EBADF;
	struct thread *t = current;
	long ret = f->ops->read ? f->ops->read(f, buf, min(n, MAX_RW), pos) : -EINVAL;

	t->nr_reads++;
	if (ret > 0)
		t->read_bytes += (u64)ret;
	else if (!ret && is_beyond(*pos, n))
		ret = -EINVAL;
	return ret;
}

static inline long file_write(struct file *f, const void *buf, size_t n, u64 *pos)
{
	if (!(f->mode & FILE_WRITE))
		return -EBADF;
	struct thread *t = current;
	long ret = f->ops->write ? f->ops->write(f, buf, min(n, MAX_RW), pos) : -EINVAL;

	t->nr_writes++;
	if (ret > 0)
		t->written_bytes += (u64)ret;
	return ret;
}

/* One of O_PATH can be neither read nor written: here nobody need ask twice. */
SYSCALL3(read, int, fd, void *, buf, size_t, n)
{
	struct fd_ref ref = fd_borrow_any(fd);
	bool locked;
	long ret;

	if (unlikely(!ref.file))
		return -EBADF;
	locked = lock_position(ref.file);
	ret = file_read(ref.file, buf, n, &ref.file->pos);
	unlock_position(ref.file, locked);
	fd_release(ref);
	return ret;
}

SYSCALL3(write, int, fd, const void *, buf, size_t, n)
{
	struct fd_ref ref = fd_borrow_any(fd);
	bool locked;
	long ret;

	if (unlikely(!ref.file))
		return -EBADF;
	locked = lock_position(ref.file);
	ret = file_write(ref.file, buf, n, &ref.file->pos);
	unlock_position(ref.file, locked);
	fd_release(ref);
	return ret;
}

/* Can @f be read or written, as @mode says, elsewhere than at its position? */
static long check_place(const struct file *f, u32 mode)
{
	bool is_device = S_ISCHR(f->inode->mode) && f->ops->llseek;

	if (!(f->mode & FILE_SEEK) && !is_device)
		return -ESPIPE;
	return f->mode & mode ? 0 : -EBADF;
}

SYSCALL4(pread64, int, fd, void *, buf, size_t, n, s64, offset)
{
	u64 pos = (u64)offset;
	struct fd_ref ref;
	long ret;

	if (offset < 0)
		return -EINVAL;
	ref = fd_borrow(fd);
	if (!ref.file)
		return -EBADF;
	ret = check_place(ref.file, FILE_READ);
	if (!ret)
		ret = is_beyond(pos, n) ? -EINVAL : file_read(ref.file, buf, n, &pos);
	fd_release(ref);
	return ret;
}

SYSCALL4(pwrite64, int, fd, const void *, buf, size_t, n, s64, offset)
{
	u64 pos = (u64)offset;
	struct fd_ref ref;
	long ret;

	if (offset < 0)
		return -EINVAL;
	ref = fd_borrow(fd);
	if (!ref.file)
		return -EBADF;
	ret = check_place(ref.file, FILE_WRITE);
	if (!ret)
		ret = is_beyond(pos, n) ? -EINVAL : file_write(ref.file, buf, n, &pos);
	fd_release(ref);
	return ret;
}

/* --- vectors -------------------------------------------------------------------------- */

void vector_put(struct vector *v)
{
	if (v->iov != v->few)
		kfree(v->iov);
}

long vector_get(struct vector *v, const struct iovec *user, u64 nr)
{
	v->iov = v->few;
	v->nr = (unsigned)nr;
	v->total = 0;
	if (nr > VECTOR_MAX)
		return -EINVAL;
	if (nr > ARRAY_SIZE(v->few))
		v->iov = kmalloc(nr * sizeof(*v->iov));
	if (!v->iov)
		return -ENOMEM;
	if (arch_copy_from_user(v->iov, user, nr * sizeof(*v->iov))) {
		vector_put(v);
		return -EFAULT;
	}
	for (unsigned i = 0; i < nr; i++) {
		if ((s64)v->iov[i].len < 0) {
			vector_put(v);
			return -EINVAL;
		}
		v->iov[i].len = min(v->iov[i].len, MAX_RW - v->total);
		v->total += v->iov[i].len;
	}
	return 0;
}

/* A stream that has given some bytes must not block for the rest of the vector. */
static bool would_block(struct file *f)
{
	return !(f->mode & FILE_SEEK) && f->ops->poll && !(f->ops->poll(f, NULL) & POLLIN);
}

static long read_vector(struct file *f, const struct vector *v, u64 *pos)
{
	size_t done = 0;

	if (f->ops->readv && v->total)
		return f->ops->readv(f, v->iov, v->nr, v->total);
	for (unsigned i = 0; i < v->nr; i++) {
		long ret;

		if (!v->iov[i].len)
			continue;
		if (done && would_block(f))
			break;
		ret = file_read(f, v->iov[i].base, v->iov[i].len, pos);
		if (ret < 0)
			return done ? (long)done : ret;
		done += (size_t)ret;
		if ((size_t)ret < v->iov[i].len)
			break;
	}
	return (long)done;
}

static long write_vector(struct file *f, const struct vector *v, u64 *pos)
{
	size_t done = 0;

	if (f->ops->writev)
		return f->ops->writev(f, v->iov, v->nr, v->total);
	for (unsigned i = 0; i < v->nr; i++) {
		long ret;

		if (!v->iov[i].len && v->total)
			continue;
		ret = file_write(f, v->iov[i].base, v->iov[i].len, pos);
		if (ret < 0)
			return done ? (long)done : ret;
		done += (size_t)ret;
		if ((size_t)ret < v->iov[i].len)
			break;
	}
	return (long)done;
}

static long do_vector(struct file *f, u32 mode, const struct vector *v, u64 *pos)
{
	return mode == FILE_READ ? read_vector(f, v, pos) : write_vector(f, v, pos);
}

/* @offset NULL: at the file's position. */
static long file_vector(struct file *f, u32 mode, const struct vector *v, const s64 *offset)
{
	u64 pos = offset ? (u64)*offset : 0;
	bool locked;
	long ret;

	if (offset)
		return is_beyond(pos, v->total) ? -EINVAL : do_vector(f, mode, v, &pos);
	locked = lock_position(f);
	ret = do_vector(f, mode, v, &f->pos);
	unlock_position(f, locked);
	return ret;
}

/* readv, writev, preadv and pwritev. */
static long vector_io(int fd, u32 mode, const struct iovec *user, u64 nr, const s64 *offset)
{
	struct fd_ref ref;
	struct vector v;
	long ret;

	if (offset && *offset < 0)
		return -EINVAL;
	ref = fd_borrow(fd);
	if (!ref.file)
		return -EBADF;
	ret = offset ? check_place(ref.file, mode) : ref.file->mode & mode ? 0 : -EBADF;
	if (!ret)
		ret = vector_get(&v, user, nr);
	if (!ret) {
		ret = file_vector(ref.file, mode, &v, offset);
		vector_put(&v);
	}
	fd_release(ref);
	return ret;
}

SYSCALL3(readv, int, fd, const struct iovec *, iov, u64, nr)
{
	return vector_io(fd, FILE_READ, iov, nr, NULL);
}

SYSCALL3(writev, int, fd, const struct iovec *, iov, u64, nr)
{
	return vector_io(fd, FILE_WRITE, iov, nr, NULL);
}

SYSCALL4(preadv, int, fd, const struct iovec *, iov, u64, nr, s64, offset)
{
	return vector_io(fd, FILE_READ, iov, nr, &offset);
}

SYSCALL4(pwritev, int, fd, const struct iovec *, iov, u64, nr, s64, offset)
{
	return vector_io(fd, FILE_WRITE, iov, nr, &offset);
}

/*
 * Copies within the kernel save nothing where files are memory. These are Linux's answers for
 * files that cannot: programs then read and write.
 */
SYSCALL0(sendfile)
{
	return -EINVAL;
}

SYSCALL0(copy_file_range)
{
	return -EOPNOTSUPP;
}

/* --- positions and sizes -------------------------------------------------------------- */

static long file_seek(struct file *f, s64 offset, int whence)
{
	enum { SEEK_LAST = 4 }; /* SEEK_HOLE */
	bool locked;
	long ret;

	if (whence < 0 || whence > SEEK_LAST)
		return -EINVAL;
	if (f->ops->llseek)
		return f->ops->llseek(f, offset, whence);
	if (!(f->mode & FILE_SEEK))
		return -ESPIPE;
	locked = lock_position(f);
	ret = generic_llseek(f, offset, whence);
	unlock_position(f, locked);
	return ret;
}

SYSCALL3(lseek, int, fd, s64, offset, int, whence)
{
	struct fd_ref ref = fd_borrow(fd);
	long ret;

	if (!ref.file)
		return -EBADF;
	ret = file_seek(ref.file, offset, whence);
	fd_release(ref);
	return ret;
}

SYSCALL2(ftruncate, int, fd, s64, size)
{
	struct fd_ref ref = fd_borrow(fd);
	long ret = -EINVAL;

	if (!ref.file)
		return size < 0 ? -EINVAL : -EBADF;
	if (size >= 0 && (ref.file->mode & FILE_WRITE) && ref.file->ops->truncate)
		ret = ref.file->ops->truncate(ref.file->inode, (u64)size);
	fd_release(ref);
	return ret;
}

/* Only the modes that give a file its memory; holes cannot be cut into one. */
SYSCALL4(fallocate, int, fd, unsigned, mode, s64, offset, s64, len)
{
	enum { KEEP_SIZE = 1 };
	struct fd_ref ref = fd_borrow(fd);
	long ret;

	if (!ref.file)
		return -EBADF;
	if (offset < 0 || len <= 0)
		ret = -EINVAL;
	else if (mode & ~(unsigned)KEEP_SIZE)
		ret = -EOPNOTSUPP;
	else if (!(ref.file->mode & FILE_WRITE))
		ret = -EBADF;
	else if (offset > INT64_MAX - len)
		ret = -EFBIG;
	else if (!ref.file->ops->allocate)
		ret = S_ISFIFO(ref.file->inode->mode) ? -ESPIPE : -ENODEV;
	else
		ret = ref.file->ops->allocate(ref.file->inode, (u64)offset, (u64)len, !mode);
	fd_release(ref);
	return ret;
}

/* Everything is in memory: there is nothing to write back. */
static long sync_fd(int fd)
{
	struct fd_ref ref = fd_borrow(fd);
	long ret = !ref.file ? -EBADF : ref.file->mode & FILE_SEEK ? 0 : -EINVAL;

	fd_release(ref);
	return ret;
}

SYSCALL1(fsync, int, fd)
{
	return sync_fd(fd);
}

SYSCALL1(fdatasync, int, fd)
{
	return sync_fd(fd);
}

SYSCALL1(syncfs, int, fd)
{
	struct fd_ref ref = fd_borrow(fd);

	fd_release(ref);
	return ref.file ? 0 : -EBADF;
}

SYSCALL0(sync)
{
	return 0;
}

/* Advice about caching, which memory does not need. */
SYSCALL4(fadvise64, int, fd, s64, offset, s64, len, int, advice)
{
	struct fd_ref ref = fd_borrow(fd);
	long ret = -EBADF;

	(void)offset;
	if (ref.file)
		ret = S_ISFIFO(ref.file->inode->mode)	    ? -ESPIPE
		      : len < 0 || advice < 0 || advice > 5 ? -EINVAL
							    : 0;
	fd_release(ref);
	return ret;
}

/* --- opening and closing -------------------------------------------------------------- */

static long open_at(int dirfd, const char *user, u32 flags, u32 mode)
{
	struct user_path path;
	struct file *f;
	int fd, err = user_path_get(&path, user);

	if (err)
		return err;
	/* Before the file is made or emptied. */
	fd = fd_reserve();
	f = fd < 0 ? NULL : file_open_at(dirfd, path.text, flags, mode, &err);
	user_path_put(&path);
	if (f)
		fd_fill(fd, f, flags & O_CLOEXEC);
	else if (fd >= 0)
		fd_cancel(fd);
	return f || fd < 0 ? fd : err;
}

SYSCALL3(open, const char *, path, u32, flags, u32, mode)
{
	return open_at(AT_FDCWD, path, flags, mode);
}

SYSCALL4(openat, int, dirfd, const char *, path, u32, flags, u32, mode)
{
	return open_at(dirfd, path, flags, mode);
}

SYSCALL2(creat, const char *, path, u32, mode)
{
	return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

SYSCALL1(close, int, fd)
{
	return fd_close(fd);
}
