/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Descriptor tables.
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
 *
 * A descriptor is free, names a file, or is reserved: taken, and still without a file. Only the
 * system call that reserved it ends that.
 */
#include "kernel/fs/record.h"
#include "kernel/fs/vfs.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/ref.h"
#include "kernel/task/proc.h"
#include "lib/string.h"

#define FILES_INLINE 64
STATIC_ASSERT(FILES_INLINE == 64, "inline_maps has one word for each of two maps");
#define RLIMIT_NOFILE 7

struct files {
	GUARDED(atomic);
	u32 refs;

	struct spinlock lock;
	GUARDED(lock, "the only user of the table");
	unsigned size; /* slots; a multiple of 64 */
	struct file **slots;
	u64 *used, *cloexec; /* bit maps. A reserved descriptor is used, and its slot is NULL */
	struct file *inline_slots[FILES_INLINE];
	u64 inline_maps[2];
};

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
		t->cloexec[w] = src->cloexec[w];
		for (u64 bits = src->used[w]; bits; bits &= bits - 1) {
			unsigned fd = w * 64 + (unsigned)__builtin_ctzll(bits);

			if (!src->slots[fd])
				continue; /* reserved by a thread that the copy has not */
			t->slots[fd] = file_get(src->slots[fd]);
			t->used[w] |= bits & -bits;
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
	if (fd >= READ_ONCE(current->proc->rlimit[RLIMIT_NOFILE].cur))
		return -EMFILE;
	while (size <= fd)
		size *= 2;
	return size > t->size ? resize(t, size) : 0;
}

/* The lowest free descriptor >= @min_fd, for which there is room; or -errno. files->lock held. */
static int next_free(struct files *t, int min_fd)
{
	unsigned fd = first_free(t, (unsigned)min_fd);

	debug_assert(min_fd >= 0);
	return make_room(t, fd) ?: (int)fd;
}

int fd_install(struct file *f, int min_fd, bool cloexec)
{
	struct files *t = current->proc->files;
	int fd;

	debug_assert(f->refs);
	spin_lock(&t->lock);
	fd = next_free(t, min_fd);
	if (fd >= 0)
		fill_slot(t, (unsigned)fd, f, cloexec);
	spin_unlock(&t->lock);
	if (fd < 0)
		file_put(f);
	return fd;
}

int fd_reserve(void)
{
	struct files *t = current->proc->files;
	int fd;

	spin_lock(&t->lock);
	fd = next_free(t, 0);
	if (fd >= 0)
		t->used[fd / 64] |= BIT(fd % 64);
	spin_unlock(&t->lock);
	return fd;
}

static bool is_reserved(const struct files *t, int fd)
{
	debug_assert(spin_is_held(&t->lock));
	return (unsigned)fd < t->size && !t->slots[fd] && (t->used[fd / 64] >> (fd % 64) & 1);
}

void fd_fill(int fd, struct file *f, bool cloexec)
{
	struct files *t = current->proc->files;

	debug_assert(f->refs);
	spin_lock(&t->lock);
	debug_assert(is_reserved(t, fd));
	fill_slot(t, (unsigned)fd, f, cloexec);
	spin_unlock(&t->lock);
}

void fd_cancel(int fd)
{
	struct files *t = current->proc->files;

	spin_lock(&t->lock);
	debug_assert(is_reserved(t, fd));
	t->used[fd / 64] &= ~BIT(fd % 64);
	spin_unlock(&t->lock);
}

int fd_replace(struct file *f, int fd, bool cloexec)
{
	struct files *t = current->proc->files;
	struct file *old = NULL;
	int err;

	debug_assert(f->refs && fd >= 0);
	spin_lock(&t->lock);
	err = is_reserved(t, fd) ? -EBUSY : make_room(t, (unsigned)fd);
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

struct file *fd_get_any(int fd)
{
	return files_lookup(current->proc->files, fd);
}

struct file *fd_get(int fd)
{
	struct file *f = fd_get_any(fd);

	if (!f || !(f->mode & FILE_PATH))
		return f;
	file_put(f);
	return NULL;
}

static __noinline struct fd_ref borrow_shared(struct files *t, int fd)
{
	struct file *f = files_lookup(t, fd);

	return (struct fd_ref){ f, f != NULL };
}

struct fd_ref fd_borrow_any(int fd)
{
	struct proc *p = current->proc;
	struct files *t = p->files;

	if (unlikely(files_are_shared(t) || READ_ONCE(p->nr_threads) != 1))
		return borrow_shared(t, fd);
	return (struct fd_ref){ (unsigned)fd < t->size ? t->slots[fd] : NULL, false };
}

struct fd_ref fd_borrow(int fd)
{
	struct fd_ref ref = fd_borrow_any(fd);

	if (likely(!ref.file || !(ref.file->mode & FILE_PATH)))
		return ref;
	fd_release(ref);
	return (struct fd_ref){ NULL, false };
}

int files_next(struct files *t, int fd)
{
	unsigned found = (unsigned)fd;

	debug_assert(fd >= 0);
	spin_lock(&t->lock);
	while (found < t->size && !t->slots[found]) {
		u64 bits = t->used[found / 64] & (~1ull << (found % 64));

		found = bits ? found / 64 * 64 + (unsigned)__builtin_ctzll(bits)
			     : (found / 64 + 1) * 64;
	}
	if (found >= t->size)
		found = -1u;
	spin_unlock(&t->lock);
	return (int)found;
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

int files_cloexec(struct files *t, int fd)
{
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
