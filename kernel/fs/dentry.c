/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inodes and the tree of names: the directories of every file system (see vfs.h for the idea and
 * the locking).
 *
 * A directory's entries carry cookies that only grow, and one of its trees is in cookie order. A
 * cookie is therefore a position that stays meaningful while other entries are removed, as
 * getdents64(2) promises. The other tree is in the order of a hash of the name, which is quick to
 * compare, and then of the name. So names of one hash, which are easily found, are as good as any:
 * a search looks at some two names for each doubling of the directory. A table of buckets would
 * need a secret, which a run that can be repeated does not have.
 */
#include "kernel/contract.h"
#include "kernel/fs/vfs.h"

#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/ref.h"
#include "kernel/time/time.h"
#include "lib/string.h"

STATIC_ASSERT(NAME_MAX <= UINT8_MAX, "dentry.name_len is a byte");

struct spinlock tree_lock = SPINLOCK_INIT("tree");
static u32 next_dev = 1;

/* From a node of entries to its key: for rb_insert_key(). */
#define COOKIE_KEY (offsetof(struct dentry, cookie) - offsetof(struct dentry, by_cookie))

/* --- inodes --------------------------------------------------------------------------- */

/* Returns how many there are now. */
static u64 count_inode(struct superblock *sb, s64 n)
{
	return __atomic_add_fetch(&sb->nr_inodes, n, __ATOMIC_ACQ_REL);
}

struct inode *inode_create(struct superblock *sb, u32 mode)
{
	struct inode *i = kzalloc(sizeof(*i));

	if (!i)
		return NULL;
	i->sb = sb;
	i->ino = __atomic_add_fetch(&sb->next_ino, 1, __ATOMIC_RELAXED);
	i->mode = mode;
	i->refs = 1;
	i->atime_ns = i->mtime_ns = i->ctime_ns = clock_realtime_ns();
	mutex_init(&i->lock, "inode");
	count_inode(sb, 1);
	return i;
}

struct inode *inode_get(struct inode *i)
{
	ref_get(&i->refs);
	return i;
}

void inode_put(struct inode *i)
{
	struct superblock *sb;

	if (!i || !ref_put(&i->refs))
		return;
	if (i->iops && i->iops->release)
		i->iops->release(i);
	debug_assert(!i->lock.locked);
	debug_assert(!i->writers && !i->nr_records);
	sb = i->sb;
	kfree(i->link);
	kfree(i);
	if (!count_inode(sb, -1) && sb->root) { /* no static one, nor one that is half made */
		owned(sb);
		kfree(sb);
	}
}

void inode_touch(struct inode *i)
{
	i->mtime_ns = i->ctime_ns = clock_realtime_ns();
}

/* --- dentries ------------------------------------------------------------------------- */

/* FNV-1a. */
static u32 hash_of(const char *name, size_t len)
{
	u32 h = 2166136261u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (u8)name[i]) * 16777619u;
	return h;
}

/* Where a name of @d may be, of @len bytes; NULL: no memory. */
static char *room_for_name(struct dentry *d, size_t len)
{
	debug_assert(len <= NAME_MAX);
	return len < sizeof(d->short_name) ? d->short_name : kmalloc(len + 1);
}

static void free_name(struct dentry *d)
{
	if (d->name != d->short_name)
		kfree(d->name);
}

/* Give @d the name @name in the room that it has for it. @d is in no tree. */
static void set_name(struct dentry *d, char *room, const char *name, size_t len)
{
	debug_assert(!d->linked && len <= NAME_MAX);
	memcpy(room, name, len);
	room[len] = 0;
	d->name = room;
	d->name_len = (u8)len;
	d->hash = hash_of(name, len);
}

struct dentry *dentry_create(struct dentry *parent, const char *name, size_t len,
			     struct inode *inode)
{
	struct dentry *d = inode ? kzalloc(sizeof(*d)) : NULL;
	char *room = d ? room_for_name(d, len) : NULL;

	debug_assert(len <= NAME_MAX);
	if (!room) {
		inode_put(inode);
		kfree(d);
		return NULL;
	}
	set_name(d, room, name, len);
	d->parent = parent ? dentry_get(parent) : d;
	d->inode = inode;
	d->refs = 1;
	d->next_cookie = 2; /* 0 and 1 are "." and ".." */
	return d;
}

struct dentry *dentry_get(struct dentry *d)
{
	ref_get(&d->refs);
	return d;
}

void dentry_put(struct dentry *d)
{
	while (d && ref_put(&d->refs)) {
		struct dentry *parent = d->parent == d ? NULL : d->parent;

		debug_assert(rb_is_empty(&d->entries) && !d->nr_mounts);
		inode_put(d->inode);
		free_name(d);
		kfree(d);
		cond_resched();
		d = parent;
	}
}

/* Like memcmp(): is a name before that of @d in the order of names, the same, or behind it? */
static inline int compare(u32 hash, const char *name, size_t len, const struct dentry *d)
{
	if (hash != d->hash)
		return hash < d->hash ? -1 : 1;
	return len == d->name_len ? memcmp(name, d->name, len) : (int)len - d->name_len;
}

static bool name_before(const struct rb_node *a, const struct rb_node *b)
{
	const struct dentry *d = container_of(a, struct dentry, by_name);

	return compare(d->hash, d->name, d->name_len, container_of(b, struct dentry, by_name)) < 0;
}

void dentry_link(struct dentry *d)
{
	struct dentry *dir = d->parent;

	debug_assert(!d->linked && S_ISDIR(dir->inode->mode));
	assert(spin_is_held(&tree_lock));
	d->cookie = dir->next_cookie++;
	d->linked = true;
	rb_insert(&dir->names, &d->by_name, name_before);
	rb_insert_key(&dir->entries, &d->by_cookie, COOKIE_KEY);
	d->inode->nlink++;
	if (S_ISDIR(d->inode->mode)) {
		d->inode->nlink++; /* its "." */
		dir->inode->nlink++;
	} else if (d->inode->nlink > 1) {
		count_inode(d->inode->sb, 1); /* a name more takes memory, too */
	}
}

void dentry_unlink(struct dentry *d)
{
	assert(spin_is_held(&tree_lock) && d->linked);
	d->linked = false;
	rb_erase(&d->parent->names, &d->by_name);
	rb_erase(&d->parent->entries, &d->by_cookie);
	d->inode->nlink--;
	if (S_ISDIR(d->inode->mode)) {
		d->inode->nlink--;
		d->parent->inode->nlink--;
	} else if (d->inode->nlink) {
		count_inode(d->inode->sb, -1);
	}
}

struct dentry *dentry_find(struct dentry *dir, const char *name, size_t len)
{
	struct rb_node *at = dir->names.root;
	u32 hash = hash_of(name, len);

	assert(spin_is_held(&tree_lock));
	while (at) {
		struct dentry *d = container_of(at, struct dentry, by_name);
		int order = compare(hash, name, len, d);

		if (!order)
			return d;
		at = at->child[order > 0];
	}
	return NULL;
}

int dentry_move(struct dentry *d, struct dentry *dir, const char *name, size_t len)
{
	struct dentry *old = d->parent;
	char *room = room_for_name(d, len);

	assert(spin_is_held(&tree_lock));
	if (!room)
		return -ENOMEM;
	dentry_unlink(d);
	free_name(d);
	set_name(d, room, name, len);
	d->parent = dentry_get(dir);
	dentry_link(d);
	/* Never the last reference: @old is a directory in use by the caller. */
	dentry_put(old);
	return 0;
}

int dentry_emit_dots(struct file *f, emit_fn emit, void *arg)
{
	struct dentry *d = f->path.dentry;

	debug_assert(S_ISDIR(d->inode->mode));
	if (f->pos == 0 && emit(arg, ".", d->inode->ino, S_IFDIR >> 12, 1))
		return 1;
	return f->pos <= 1 && emit(arg, "..", d->parent->inode->ino, S_IFDIR >> 12, 2);
}

/* The first entry of @dir at @cookie or behind it, or NULL. */
static struct rb_node *entry_from(const struct dentry *dir, u64 cookie)
{
	struct rb_node *at = dir->entries.root, *found = NULL;

	debug_assert(spin_is_held(&tree_lock));
	while (at) {
		bool before = container_of(at, struct dentry, by_cookie)->cookie < cookie;

		if (!before)
			found = at;
		at = at->child[before];
	}
	return found;
}

int dentry_readdir(struct file *f, emit_fn emit, void *arg)
{
	struct rb_node *at;
	int full;

	debug_assert(mutex_is_held(&f->lock) || f->refs == 1);
	spin_lock(&tree_lock);
	full = dentry_emit_dots(f, emit, arg);
	for (at = entry_from(f->path.dentry, f->pos); at && !full; at = rb_next(at)) {
		const struct dentry *d = container_of(at, struct dentry, by_cookie);

		full = emit(arg, d->name, d->inode->ino, DT_OF_MODE(d->inode->mode), d->cookie + 1);
	}
	spin_unlock(&tree_lock);
	return full;
}

static long dir_read(struct file *f, void *buf, size_t n, u64 *pos)
{
	(void)f, (void)buf, (void)n, (void)pos;
	return -EISDIR;
}

const struct file_ops tree_dir_ops = { .read = dir_read };

/* --- superblocks ---------------------------------------------------------------------- */

struct superblock *superblock_create(const struct fs_type *type)
{
	struct superblock *sb = kzalloc(sizeof(*sb));
	struct inode *inode;

	if (!sb)
		return NULL;
	sb->type = type;
	sb->refs = 1;
	sb->dev = __atomic_fetch_add(&next_dev, 1, __ATOMIC_RELAXED);
	inode = inode_create(sb, S_IFDIR | 0755);
	if (inode) {
		inode->fops = &tree_dir_ops;
		inode->nlink = 2;
	}
	sb->root = dentry_create(NULL, "/", 1, inode);
	if (!sb->root) {
		kfree(sb);
		return NULL;
	}
	return sb;
}

struct superblock *superblock_get(struct superblock *sb)
{
	ref_get(&sb->refs);
	return sb;
}

static struct dentry *any_entry(const struct dentry *dir)
{
	struct rb_node *first = rb_first(&dir->entries);

	return first ? container_of(first, struct dentry, by_cookie) : NULL;
}

void tree_clear(struct dentry *dir)
{
	struct dentry *d = dir;

	debug_assert(may_sleep());
	for (;;) {
		spin_lock(&tree_lock);
		struct dentry *inner = any_entry(d), *parent = d->parent;

		if (!inner && d != dir)
			dentry_unlink(d);
		spin_unlock(&tree_lock);
		if (inner) {
			d = inner;
			continue;
		}
		if (d == dir)
			return;
		dentry_put(d);
		d = parent;
		cond_resched();
	}
}

void superblock_put(struct superblock *sb)
{
	if (!ref_put(&sb->refs))
		return;
	tree_clear(sb->root);
	dentry_put(sb->root);
}
