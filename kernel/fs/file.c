/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Open files and descriptor tables.
 *
 * A table is usually used by one thread only. Then nobody else can close a descriptor during a
 * system call, and fd_borrow() hands out the file without counting it: two loads instead of a lock
 * and two atomic operations. A table used by several threads or processes is looked up under its
 * lock and the file is counted. Another process that reads the table (through procfs) only adds
 * references to files, which does not disturb the owner; the table's own count is that of the
 * processes that use it.
 *
 * LOCKING. files->lock guards slots and sizes; it is a leaf, inside record_lock and proc_tree_lock,
 * which keeps the table for those who look at another process. The pointers of a
 * table are replaced only when it grows, by one of its users, so a sole user may read them without
 * the lock.
 */
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

#define FILES_INLINE 64
STATIC_ASSERT(FILES_INLINE == 64, "inline_maps has one word for each of two maps");
#define RLIMIT_NOFILE 7

struct files {
	u32 refs;
	struct spinlock lock;
	unsigned size; /* slots; a multiple of 64 */
	struct file **slots;
	u64 *used, *cloexec; /* bit maps */
	struct file *inline_slots[FILES_INLINE];
	u64 inline_maps[2];
};

/* --- open files ----------------------------------------------------------------------- */

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

static void free_file(struct file *f)
{
	debug_assert(READ_ONCE(nr_files) && (!f || !f->lock.locked));
	__atomic_sub_fetch(&nr_files, 1, __ATOMIC_RELAXED);
	kfree(f);
}

/* A zeroed one; NULL: see file_shortage(). */
static struct file *alloc_file(void)
{
	bool too_much = file_is_too_much(__atomic_add_fetch(&nr_files, 1, __ATOMIC_RELAXED));
	struct file *f = too_much ? NULL : kzalloc(sizeof(*f));

	if (!f)
		free_file(NULL);
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

struct file *file_create(struct inode *inode, const struct path *path, u32 flags, int *err)
{
	static const u8 modes[] = { FILE_READ, FILE_WRITE, FILE_READ | FILE_WRITE, 0 };
	struct file *f = alloc_file();

	debug_assert(inode->refs && (inode->fops || flags & O_PATH));
	if (!f) {
		*err = file_shortage();
		return NULL;
	}
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
		return f;
	}
	*err = f->mode & FILE_WRITE ? begin_write(f) : 0;
	if (!*err && f->ops->open)
		*err = f->ops->open(inode, f);
	f->flags &= ~(O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_CLOEXEC);
	if (!*err)
		return f;
	end_use(f);
	path_put(&f->path);
	inode_put(f->inode);
	free_file(f);
	return NULL;
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
	free_file(f);
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
			return -EOVERFLOW;
		break;
	case 2:
		if (__builtin_add_overflow(size, offset, &pos))
			return -EOVERFLOW;
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

/* --- descriptor tables ---------------------------------------------------------------- */

struct files *files_create(void)
{
	struct files *t = kzalloc(sizeof(*t));

	if (!t)
		return NULL;
	spin_lock_init(&t->lock, "files");
	t->refs = 1;
	t->size = FILES_INLINE;
	t->slots = t->inline_slots;
	t->used = &t->inline_maps[0];
	t->cloexec = &t->inline_maps[1];
	return t;
}

/* The slots and both maps of a big table are one block. */
static int resize(struct files *t, unsigned size)
{
	struct file **slots = kzalloc(size * sizeof(*slots) + 2 * size / 8);
	u64 *used = (u64 *)(slots + size), *cloexec = used + size / 64;

	debug_assert(spin_is_held(&t->lock) || t->refs == 1);
	debug_assert(size > t->size && size % 64 == 0);
	if (!slots)
		return -ENOMEM;
	memcpy(slots, t->slots, t->size * sizeof(*slots));
	memcpy(used, t->used, t->size / 8);
	memcpy(cloexec, t->cloexec, t->size / 8);
	if (t->slots != t->inline_slots)
		kfree(t->slots);
	t->slots = slots;
	t->used = used;
	t->cloexec = cloexec;
	t->size = size;
	return 0;
}

struct files *files_fork(struct files *src)
{
	struct files *t = files_create();

	if (!t)
		return NULL;
	spin_lock(&src->lock);
	if (src->size > t->size && resize(t, src->size)) {
		spin_unlock(&src->lock);
		kfree(t);
		return NULL;
	}
	debug_assert(t->size >= src->size);
	for (unsigned w = 0; w < src->size / 64; w++) {
		t->used[w] = src->used[w];
		t->cloexec[w] = src->cloexec[w];
		for (u64 bits = src->used[w]; bits; bits &= bits - 1) {
			unsigned fd = w * 64 + (unsigned)__builtin_ctzll(bits);

			t->slots[fd] = file_get(src->slots[fd]);
		}
	}
	spin_unlock(&src->lock);
	return t;
}

/* A descriptor of @t to @f is gone. */
static void close_file(struct files *t, struct file *f)
{
	record_drop(f, t);
	file_put(f);
}

struct files *files_get(struct files *t)
{
	ref_get(&t->refs);
	return t;
}

bool files_are_shared(const struct files *t)
{
	return READ_ONCE(t->refs) != 1;
}

void files_put(struct files *t)
{
	if (!t || !ref_put(&t->refs))
		return;
	for (unsigned w = 0; w < t->size / 64; w++)
		for (u64 bits = t->used[w]; bits; bits &= bits - 1)
			close_file(t, t->slots[w * 64 + (unsigned)__builtin_ctzll(bits)]);
	debug_assert(!t->lock.locked);
	if (t->slots != t->inline_slots)
		kfree(t->slots);
	kfree(t);
}

/* Empty the slot and return its file, or NULL if it was empty. files->lock held. */
static struct file *take_slot(struct files *t, unsigned fd)
{
	struct file *f = fd < t->size ? t->slots[fd] : NULL;

	assert(spin_is_held(&t->lock));
	if (f) {
		t->slots[fd] = NULL;
		t->used[fd / 64] &= ~BIT(fd % 64);
		t->cloexec[fd / 64] &= ~BIT(fd % 64);
	}
	return f;
}

static void fill_slot(struct files *t, unsigned fd, struct file *f, bool cloexec)
{
	debug_assert(fd < t->size);
	assert(spin_is_held(&t->lock));
	t->slots[fd] = f;
	t->used[fd / 64] |= BIT(fd % 64);
	if (cloexec)
		t->cloexec[fd / 64] |= BIT(fd % 64);
	else
		t->cloexec[fd / 64] &= ~BIT(fd % 64);
}

void files_close_on_exec(struct files *t)
{
	assert(t == current->proc->files && !fd_table_is_shared());
	for (unsigned w = 0; w < t->size / 64; w++) {
		while (t->cloexec[w]) {
			spin_lock(&t->lock);
			struct file *f =
				take_slot(t, w * 64 + (unsigned)__builtin_ctzll(t->cloexec[w]));
			spin_unlock(&t->lock);
			close_file(t, f);
		}
	}
}

/* The lowest free slot >= @min, or t->size if all are taken. */
static unsigned first_free(const struct files *t, unsigned min)
{
	debug_assert(spin_is_held(&t->lock) || t->refs == 1);
	for (unsigned w = min / 64; w < t->size / 64; w++) {
		u64 free = ~t->used[w] & (w == min / 64 ? ~0ull << (min % 64) : ~0ull);

		if (free)
			return w * 64 + (unsigned)__builtin_ctzll(free);
	}
	return max(t->size, min);
}

/*
 * Make the table large enough for @fd. 0, -ENOMEM, or -EMFILE beyond the limit. files->lock held.
 */
static int make_room(struct files *t, unsigned fd)
{
	unsigned size = t->size;

	debug_assert(t == current->proc->files);
	assert(spin_is_held(&t->lock));
	if (fd >= current->proc->rlimit[RLIMIT_NOFILE].cur)
		return -EMFILE;
	while (size <= fd)
		size *= 2;
	return size > t->size ? resize(t, size) : 0;
}

int fd_install(struct file *f, int min_fd, bool cloexec)
{
	struct files *t = current->proc->files;
	unsigned fd;
	int err;

	debug_assert(f->refs && min_fd >= 0);
	spin_lock(&t->lock);
	fd = first_free(t, (unsigned)min_fd);
	err = make_room(t, fd);
	if (!err)
		fill_slot(t, fd, f, cloexec);
	spin_unlock(&t->lock);
	if (err)
		file_put(f);
	return err ? err : (int)fd;
}

int fd_replace(struct file *f, int fd, bool cloexec)
{
	struct files *t = current->proc->files;
	struct file *old = NULL;
	int err;

	debug_assert(f->refs && fd >= 0);
	spin_lock(&t->lock);
	err = make_room(t, (unsigned)fd);
	if (!err) {
		old = take_slot(t, (unsigned)fd);
		fill_slot(t, (unsigned)fd, f, cloexec);
	}
	spin_unlock(&t->lock);
	if (err)
		file_put(f);
	else if (old)
		close_file(t, old);
	return err == -EMFILE ? -EBADF : err ? err : fd;
}

int fd_close(int fd)
{
	struct files *t = current->proc->files;
	struct file *f;

	spin_lock(&t->lock);
	f = take_slot(t, (unsigned)fd);
	spin_unlock(&t->lock);
	if (!f)
		return -EBADF;
	close_file(t, f);
	return 0;
}

bool fd_table_is_shared(void)
{
	struct proc *p = current->proc;

	return files_are_shared(p->files) || READ_ONCE(p->nr_threads) != 1;
}

void fd_close_range(unsigned first, unsigned last, bool cloexec)
{
	struct files *t = current->proc->files;

	for (int fd = (int)first; (fd = files_next(t, fd)) >= 0 && (unsigned)fd <= last; fd++) {
		if (cloexec)
			files_set_cloexec(fd, true);
		else
			fd_close(fd);
	}
}

struct file *files_lookup(struct files *t, int fd)
{
	struct file *f = NULL;

	spin_lock(&t->lock);
	if ((unsigned)fd < t->size && t->slots[fd])
		f = file_get(t->slots[fd]);
	spin_unlock(&t->lock);
	return f;
}

bool fd_names(int fd, const struct file *f)
{
	struct files *t = current->proc->files;
	bool same;

	spin_lock(&t->lock);
	same = (unsigned)fd < t->size && t->slots[fd] == f;
	spin_unlock(&t->lock);
	return same;
}

struct file *fd_get(int fd)
{
	return files_lookup(current->proc->files, fd);
}

static __noinline struct fd_ref borrow_shared(struct files *t, int fd)
{
	struct file *f = files_lookup(t, fd);

	return (struct fd_ref){ f, f != NULL };
}

struct fd_ref fd_borrow(int fd)
{
	struct proc *p = current->proc;
	struct files *t = p->files;

	if (unlikely(files_are_shared(t) || READ_ONCE(p->nr_threads) != 1))
		return borrow_shared(t, fd);
	return (struct fd_ref){ (unsigned)fd < t->size ? t->slots[fd] : NULL, false };
}

int files_next(struct files *t, int fd)
{
	int found = -1;

	debug_assert(fd >= 0);
	spin_lock(&t->lock);
	for (unsigned w = (unsigned)fd / 64; w < t->size / 64; w++) {
		u64 bits = t->used[w] & (w == (unsigned)fd / 64 ? ~0ull << (fd % 64) : ~0ull);

		if (bits) {
			found = (int)(w * 64) + __builtin_ctzll(bits);
			break;
		}
	}
	spin_unlock(&t->lock);
	return found;
}

unsigned files_count(struct files *t)
{
	unsigned nr = 0;

	spin_lock(&t->lock);
	for (unsigned w = 0; w < t->size / 64; w++)
		nr += popcount64(t->used[w]);
	spin_unlock(&t->lock);
	return nr;
}

unsigned files_size(struct files *t)
{
	return READ_ONCE(t->size);
}

int files_cloexec(int fd)
{
	struct files *t = current->proc->files;
	int ret = -EBADF;

	spin_lock(&t->lock);
	if ((unsigned)fd < t->size && t->slots[fd])
		ret = t->cloexec[fd / 64] >> (fd % 64) & 1;
	spin_unlock(&t->lock);
	return ret;
}

int files_set_cloexec(int fd, bool on)
{
	struct files *t = current->proc->files;
	int err = -EBADF;

	spin_lock(&t->lock);
	if ((unsigned)fd < t->size && t->slots[fd]) {
		fill_slot(t, (unsigned)fd, t->slots[fd], on);
		err = 0;
	}
	spin_unlock(&t->lock);
	return err;
}
