/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tmpfs: regular files in memory. It is also the root file system and, with device nodes in it,
 * /dev.
 *
 * Names are the tree's business (dentry.c). This file handles only contents: a radix tree of pages,
 * 512 slots a level, whose height grows with the file. A slot of 0 is a hole and reads as zeros.
 * Pages carry references, so a mapping (map_page) or a copy in flight keeps its page while the file
 * is truncated under it.
 *
 * LOCKING. inode->lock (a mutex) serialises writers and truncation; it is held while user memory is
 * copied, which may fault and map a page of this very file, so map_page and readers must not take
 * it. They take content->lock, a leaf spin lock that guards the radix tree and the size. Once a
 * truncation has set the size under it, it unmaps what is behind the end, one mm->lock after the
 * other.
 */
#include "kernel/base/guards.h"
#include "kernel/contract.h"
#include "kernel/fs/vfs.h"

#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/task/account.h"
#include "kernel/task/thread.h"
#include "lib/string.h"

#define FANOUT_SHIFT 9
#define FANOUT	     (1u << FANOUT_SHIFT)
#define MAX_HEIGHT   3 /* 2^27 pages: 512 GiB */
#define MAX_FILE     (PAGE_SIZE << (MAX_HEIGHT * FANOUT_SHIFT))
STATIC_ASSERT(FANOUT * sizeof(u64) == PAGE_SIZE, "a node is a page of addresses");

static u64 nr_pages_total;

struct content { /* of a regular file */
	struct spinlock lock;
	GUARDED(lock);
	u64 root;	 /* page at height 0, else a node: 512 physical addresses. 0: empty */
	unsigned height; /* 0: at most one page */
};

/* The slot of page @index, or NULL if the tree does not reach there. lock held. */
static u64 *find_slot(struct content *c, u64 index)
{
	u64 *slot = &c->root;

	assert(spin_is_held(&c->lock));
	if (index >> (c->height * FANOUT_SHIFT))
		return NULL;
	for (unsigned level = c->height; level > 0; level--) {
		if (!*slot)
			return NULL;
		slot = (u64 *)phys_to_virt(*slot) +
		       (index >> ((level - 1) * FANOUT_SHIFT)) % FANOUT;
	}
	return slot;
}

/* The slot of page @index; the tree grows as needed. NULL: no memory. lock held. */
static u64 *make_slot(struct content *c, u64 index)
{
	u64 *slot = &c->root, node;

	assert(spin_is_held(&c->lock));
	while (index >> (c->height * FANOUT_SHIFT)) {
		if (c->root) {
			node = page_alloc_zeroed();
			if (!node)
				return NULL;
			*(u64 *)phys_to_virt(node) = c->root;
			c->root = node;
		}
		c->height++;
	}
	for (unsigned level = c->height; level > 0; level--) {
		if (!*slot)
			*slot = page_alloc_zeroed();
		if (!*slot)
			return NULL;
		slot = (u64 *)phys_to_virt(*slot) +
		       (index >> ((level - 1) * FANOUT_SHIFT)) % FANOUT;
	}
	return slot;
}

/* The page at @index with a reference; 0 for a hole. */
static u64 get_page(struct content *c, u64 index)
{
	u64 *slot, pa;

	spin_lock(&c->lock);
	slot = find_slot(c, index);
	pa = slot ? *slot : 0;
	if (pa)
		page_get(pa);
	spin_unlock(&c->lock);
	return pa;
}

static void count_page(struct inode *i, s64 n)
{
	__atomic_add_fetch(&i->nr_pages, n, __ATOMIC_RELAXED);
	__atomic_add_fetch(&i->sb->nr_pages, n, __ATOMIC_RELAXED);
	__atomic_add_fetch(&nr_pages_total, n, __ATOMIC_RELAXED);
}

u64 tmpfs_max_pages(const struct superblock *sb)
{
	return sb->max_pages ? sb->max_pages : page_nr_total() / 2;
}

static bool has_pages(const struct superblock *sb)
{
	return READ_ONCE(sb->nr_pages) < tmpfs_max_pages(sb) && account_may_hoard();
}

/*
 * Returns the page at @index with a reference, 0 without memory, or NO_ROOM if the file system is
 * full. @room, from has_pages(): may a hole get a zeroed page? content->lock held.
 */
static u64 make_page_locked(struct inode *i, u64 index, bool room)
{
	u64 *slot = room ? make_slot(i->private, index) : find_slot(i->private, index);

	debug_assert(spin_is_held(&((struct content *)i->private)->lock));
	if (slot && !*slot && room && (*slot = page_alloc_zeroed()))
		count_page(i, 1);
	if (!slot || !*slot)
		return room ? 0 : NO_ROOM;
	page_get(*slot);
	return *slot;
}

static u64 make_page(struct inode *i, u64 index)
{
	struct content *c = i->private;
	bool room = has_pages(i->sb);
	u64 pa;

	spin_lock(&c->lock);
	pa = make_page_locked(i, index, room);
	spin_unlock(&c->lock);
	return pa;
}

/* make_page() where it does not matter why there is none. */
static u64 page_to_write(struct inode *i, u64 index)
{
	u64 pa = make_page(i, index);

	return pa == NO_ROOM ? 0 : pa;
}

/*
 * Takes the page or whole subtree at *index out of the tree, and moves *index behind it. Returns
 * it, with its *height, or 0 where there is none. lock held.
 */
static u64 take_out(struct content *c, u64 *index, unsigned *height)
{
	u64 *slot = &c->root, found, span;
	unsigned level = c->height;

	assert(spin_is_held(&c->lock));
	while (*slot && *index & (BIT(level * FANOUT_SHIFT) - 1)) {
		level--;
		slot = (u64 *)phys_to_virt(*slot) + (*index >> (level * FANOUT_SHIFT)) % FANOUT;
	}
	span = BIT(level * FANOUT_SHIFT);
	*index = ALIGN_DOWN(*index, span) + span;
	*height = level;
	found = *slot;
	*slot = 0;
	return found;
}

/* Frees the subtree @node, which is out of the tree. */
static void free_subtree(struct inode *i, u64 node, unsigned height)
{
	u64 *slots = phys_to_virt(node);

	if (height == 0)
		count_page(i, -1);
	for (unsigned s = 0; height > 0 && s < FANOUT; s++) {
		if (slots[s])
			free_subtree(i, slots[s], height - 1);
		cond_resched();
	}
	page_put(node);
}

/* Frees the pages from @index on. Nobody else frees any; others may use the tree meanwhile. */
static void free_from(struct inode *i, u64 index)
{
	struct content *c = i->private;
	bool within = true;

	debug_assert(may_sleep());
	while (within) {
		unsigned height;
		u64 node = 0;

		spin_lock(&c->lock);
		within = !(index >> (c->height * FANOUT_SHIFT));
		if (within)
			node = take_out(c, &index, &height);
		spin_unlock(&c->lock);
		if (node)
			free_subtree(i, node, height);
		cond_resched();
	}
}

/* --- file operations ------------------------------------------------------------------ */

static long tmpfs_read(struct file *f, void *user_buf, size_t n, u64 *pos)
{
	u64 size = READ_ONCE(f->inode->size);
	size_t done = 0;

	if (*pos >= size)
		return 0;
	n = min(n, (size_t)(size - *pos));
	while (done < n) {
		size_t offset = *pos % PAGE_SIZE, len = min(n - done, (size_t)(PAGE_SIZE - offset)),
		       left;
		u64 pa = get_page(f->inode->private, *pos >> PAGE_SHIFT);
		char *to = (char *)user_buf + done;

		left = pa ? arch_copy_to_user(to, (char *)phys_to_virt(pa) + offset, len)
			  : arch_clear_user(to, len);
		if (pa)
			page_put(pa);
		done += len - left;
		*pos += len - left;
		if (left)
			return done ? (long)done : -EFAULT;
		cond_resched();
	}
	return (long)done;
}

static void grow(struct inode *i, u64 size)
{
	debug_assert(mutex_is_held(&i->lock));
	if (size > i->size)
		WRITE_ONCE(i->size, size);
}

static long tmpfs_write(struct file *f, const void *user_buf, size_t n, u64 *pos)
{
	struct inode *i = f->inode;
	size_t done = 0;
	long err = 0;

	mutex_lock(&i->lock);
	if (f->flags & O_APPEND)
		*pos = i->size;
	if (n && *pos >= MAX_FILE)
		err = n > INT64_MAX - *pos ? -EINVAL : -EFBIG;
	else
		n = min(n, (size_t)(MAX_FILE - *pos));
	err = err ?: file_limit_size(*pos, &n);
	if (!err && n)
		inode_drop_set_id(i);
	while (!err && done < n) {
		size_t offset = *pos % PAGE_SIZE, len = min(n - done, (size_t)(PAGE_SIZE - offset)),
		       left;
		u64 pa = page_to_write(i, *pos >> PAGE_SHIFT);

		if (!pa) {
			err = -ENOSPC;
			break;
		}
		left = arch_copy_from_user((char *)phys_to_virt(pa) + offset,
					   (const char *)user_buf + done, len);
		page_put(pa);
		done += len - left;
		*pos += len - left;
		grow(i, *pos);
		if (left)
			err = -EFAULT;
		cond_resched();
	}
	if (done)
		inode_touch(i);
	mutex_unlock(&i->lock);
	return done ? (long)done : err;
}

/* Bytes beyond the new end within the last page read as zeros if the file grows again. */
static void clear_tail(struct content *c, u64 size)
{
	u64 *slot = find_slot(c, size >> PAGE_SHIFT);

	if (slot && *slot && size % PAGE_SIZE)
		memset((char *)phys_to_virt(*slot) + size % PAGE_SIZE, 0,
		       PAGE_SIZE - size % PAGE_SIZE);
}

static long tmpfs_truncate(struct inode *i, u64 size)
{
	struct content *c = i->private;
	bool frees;

	if (size > MAX_FILE)
		return -EFBIG;
	if (size > READ_ONCE(i->size) && file_limit_size(size - 1, &(size_t){ 1 }))
		return -EFBIG;
	mutex_lock(&i->lock);
	inode_drop_set_id(i);
	spin_lock(&c->lock);
	frees = !size || size < i->size;
	if (frees)
		clear_tail(c, size);
	WRITE_ONCE(i->size, size);
	spin_unlock(&c->lock);
	if (frees)
		free_from(i, (size + PAGE_SIZE - 1) >> PAGE_SHIFT);
	if (frees && READ_ONCE(i->nr_vmas))
		mm_unmap_behind(i, size);
	inode_touch(i);
	mutex_unlock(&i->lock);
	return 0;
}

/* A list of pages that are not yet the file's: each begins with the address of the next. */
static u64 take_spare(u64 *spare)
{
	u64 pa = *spare, *next = phys_to_virt(pa);

	*spare = *next;
	*next = 0;
	return pa;
}

/* Puts a page for @index on the list @spare if there is a hole. 0 or -ENOSPC. */
static long get_spare(struct inode *i, u64 index, u64 *spare)
{
	u64 present = get_page(i->private, index), pa;

	if (present) {
		page_put(present);
		return 0;
	}
	pa = has_pages(i->sb) ? page_alloc_zeroed() : 0;
	if (!pa)
		return -ENOSPC;
	count_page(i, 1);
	*(u64 *)phys_to_virt(pa) = *spare;
	*spare = pa;
	return 0;
}

/* Makes the slot at @index; a hole gets a page of @spare, if that is not NULL. 0 or -ENOSPC. */
static long use_spare(struct content *c, u64 index, u64 *spare)
{
	u64 *slot;

	spin_lock(&c->lock);
	slot = make_slot(c, index);
	if (slot && !*slot && spare)
		*slot = take_spare(spare);
	spin_unlock(&c->lock);
	return slot ? 0 : -ENOSPC;
}

/* All memory is got before the file has the first page, so a failure gives it nothing. */
static long tmpfs_allocate(struct inode *i, u64 offset, u64 len, bool grow_file)
{
	u64 end = offset + len, first = offset >> PAGE_SHIFT, last = (end - 1) >> PAGE_SHIFT;
	u64 spare = 0;
	long err = 0;

	if (end > MAX_FILE || (grow_file && file_limit_size(end - 1, &(size_t){ 1 })))
		return -EFBIG;
	mutex_lock(&i->lock);
	inode_drop_set_id(i);
	for (u64 index = first; index <= last && !err; index++) {
		err = get_spare(i, index, &spare) ?: signal_pending() ? -EINTR : 0;
		cond_resched();
	}
	for (unsigned fill = 0; fill < 2; fill++)
		for (u64 index = first; index <= last && !err; index++) {
			err = use_spare(i->private, index, fill ? &spare : NULL);
			cond_resched();
		}
	for (; spare; cond_resched())
		free_subtree(i, take_spare(&spare), 0);
	if (!err && grow_file)
		grow(i, end);
	if (!err)
		inode_touch(i);
	mutex_unlock(&i->lock);
	return err;
}

/*
 * Looks at the size under the lock: a truncation takes out what was mapped before it set the size,
 * so nothing may come afterwards.
 */
static u64 tmpfs_map_page(struct file *f, u64 offset)
{
	struct inode *i = f->inode;
	struct content *c = i->private;
	bool room = has_pages(i->sb);
	u64 pa;

	spin_lock(&c->lock);
	pa = offset < READ_ONCE(i->size) ? make_page_locked(i, offset >> PAGE_SHIFT, room)
					 : BEHIND_END;
	spin_unlock(&c->lock);
	return pa;
}

#define SHORT_LINK 128u /* bytes; a longer text counts as a page, as on Linux */

static void tmpfs_release(struct inode *i)
{
	const struct content *c = i->private;

	if (S_ISLNK(i->mode) && i->size >= SHORT_LINK)
		count_page(i, -1);
	if (!S_ISREG(i->mode) || !c)
		return;
	owned(c);
	/* A file that got no name is given back under tree_lock; it is empty. */
	if (c->root)
		free_from(i, 0);
	debug_assert(!i->nr_pages);
	kfree(i->private);
}

static const struct file_ops tmpfs_file_ops = {
	.read = tmpfs_read,
	.write = tmpfs_write,
	.truncate = tmpfs_truncate,
	.allocate = tmpfs_allocate,
	.map_page = tmpfs_map_page,
};

static const struct inode_ops tmpfs_inode_ops = { .release = tmpfs_release };

u64 tmpfs_max_inodes(const struct superblock *sb)
{
	return sb->max_inodes ? sb->max_inodes : page_nr_total() / 2;
}

bool tmpfs_has_inodes(const struct superblock *sb)
{
	return READ_ONCE(sb->nr_inodes) < tmpfs_max_inodes(sb) && account_may_hoard();
}

bool tmpfs_set_link(struct inode *i, char *text)
{
	size_t len = strlen(text);

	debug_assert(S_ISLNK(i->mode) && !i->link);
	if (len >= SHORT_LINK && !has_pages(i->sb))
		return false;
	if (len >= SHORT_LINK)
		count_page(i, 1);
	i->link = text;
	i->size = len;
	return true;
}

struct inode *tmpfs_create(struct superblock *sb, u32 mode)
{
	struct inode *i = tmpfs_has_inodes(sb) ? inode_create(sb, mode) : NULL;
	struct content *c;

	if (!i)
		return NULL;
	i->iops = &tmpfs_inode_ops;
	inode_set_ops(i, &tmpfs_file_ops);
	if (!S_ISREG(mode))
		return i;
	c = kzalloc(sizeof(*c));
	if (!c) {
		inode_put(i);
		return NULL;
	}
	spin_lock_init(&c->lock, "content");
	i->private = c;
	return i;
}

u64 tmpfs_nr_pages(void)
{
	return READ_ONCE(nr_pages_total);
}

/* A number with k, m, g or nothing behind it up to @end. False: it is none. */
static bool parse_size(const char *text, const char *end, u64 *value)
{
	static const char units[] = "kmg";
	size_t len = (size_t)(end - text);
	const char *unit = len ? strchr(units, text[len - 1] | 0x20) : NULL;

	if (!unit || !*unit)
		return !parse_u64(text, len, value);
	if (parse_u64(text, len - 1, value))
		return false;
	return !__builtin_mul_overflow(*value, 1ull << (10 * (unit - units + 1)), value);
}

/* The option NAME=NUMBER that @text, up to @end, may be. 0 is no limit. False: a bad number. */
static bool take_option(const char *text, const char *end, const char *name, u64 *value)
{
	size_t len = strlen(name);

	if ((size_t)(end - text) <= len || memcmp(text, name, len))
		return true;
	if (!parse_size(text + len, end, value))
		return false;
	*value = *value ? *value : UINT64_MAX;
	return true;
}

/* The option size=, in bytes or as a part of memory with % behind it. False: a bad number. */
static bool take_size(const char *text, const char *end, u64 *pages)
{
	bool percent = end[-1] == '%';
	u64 n = 0;

	if (!take_option(text, end - percent, "size=", &n))
		return false;
	if (!n) /* another option */
		return true;
	if (percent && __builtin_mul_overflow(n, page_nr_total(), &n))
		return false;
	u64 unit = percent ? 100 : PAGE_SIZE;
	*pages = n == UINT64_MAX ? n : n / unit + !!(n % unit);
	return true;
}

/* Other options than these three are not looked at. */
static bool take_options(struct superblock *sb, const char *at)
{
	for (const char *end; *at; at = *end ? end + 1 : end) {
		end = strchr(at, ',') ?: at + strlen(at);
		if (!take_option(at, end, "nr_inodes=", &sb->max_inodes) ||
		    !take_option(at, end, "nr_blocks=", &sb->max_pages) ||
		    (end > at && !take_size(at, end, &sb->max_pages)))
			return false;
	}
	return true;
}

static struct superblock *tmpfs_get(const struct fs_type *type, const char *options, int *err)
{
	struct superblock *sb = superblock_create(type);

	*err = -ENOMEM;
	if (!sb || take_options(sb, options))
		return sb;
	*err = -EINVAL;
	superblock_put(sb);
	return NULL;
}

const struct fs_type tmpfs_type = {
	.name = "tmpfs",
	.magic = 0x01021994,
	.get = tmpfs_get,
	.create = tmpfs_create,
};

struct file *file_anonymous(u64 size)
{
	static struct superblock shm = { .type = &tmpfs_type, .refs = 1, .max_inodes = UINT64_MAX };
	struct inode *i = tmpfs_create(&shm, S_IFREG | 0600);
	struct file *f = NULL;
	int err;

	if (i && size <= MAX_FILE) {
		i->size = size;
		f = file_create(i, NULL, O_RDWR, &err);
	}
	inode_put(i);
	return f;
}

int tmpfs_append(struct inode *i, const char *data, size_t n)
{
	debug_assert(S_ISREG(i->mode));
	while (n) {
		size_t offset = i->size % PAGE_SIZE, len = min(n, (size_t)(PAGE_SIZE - offset));
		u64 pa = page_to_write(i, i->size >> PAGE_SHIFT);

		if (!pa)
			return -ENOSPC;
		memcpy((char *)phys_to_virt(pa) + offset, data, len);
		page_put(pa);
		i->size += len;
		data += len;
		n -= len;
	}
	return 0;
}
