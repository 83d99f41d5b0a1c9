/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inodes and the tree of names: the directories of every file system (see vfs.h for the idea and
 * the locking).
 *
 * A directory's entries carry cookies that only grow, and its list of children is in cookie order.
 * A cookie is therefore a position that stays meaningful while other entries are removed, as
 * getdents64(2) promises. Lookup by name goes through one hash table for the whole machine, keyed
 * by parent and name.
 */
#include "kernel/fs/vfs.h"

#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/time/time.h"
#include "lib/string.h"

#define TREE_HASH_SIZE 1024
STATIC_ASSERT(NAME_MAX <= UINT8_MAX, "dentry.name_len is a byte");

struct spinlock tree_lock = SPINLOCK_INIT("tree");
static struct dentry *tree_hash[TREE_HASH_SIZE];
static u32 next_dev = 1;

/* --- inodes --------------------------------------------------------------------------- */

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
	__atomic_add_fetch(&sb->nr_inodes, 1, __ATOMIC_RELAXED);
	return i;
}

struct inode *inode_get(struct inode *i)
{
	__atomic_add_fetch(&i->refs, 1, __ATOMIC_RELAXED);
	return i;
}

void inode_put(struct inode *i)
{
	if (!i || __atomic_sub_fetch(&i->refs, 1, __ATOMIC_ACQ_REL))
		return;
	if (i->iops && i->iops->release)
		i->iops->release(i);
	__atomic_sub_fetch(&i->sb->nr_inodes, 1, __ATOMIC_RELAXED);
	kfree(i->link);
	kfree(i);
}

void inode_touch(struct inode *i)
{
	i->mtime_ns = i->ctime_ns = clock_realtime_ns();
}

/* --- dentries ------------------------------------------------------------------------- */

/* FNV-1a of the name, started from the parent's identity. */
static struct dentry **hash_bucket(const struct dentry *parent, const char *name, size_t len)
{
	u32 h = 2166136261u ^ (u32)parent->inode->ino ^ parent->inode->sb->dev << 16;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (u8)name[i]) * 16777619u;
	return &tree_hash[(h ^ h >> 15) % TREE_HASH_SIZE];
}

/* Give @d the name @name; -ENOMEM leaves the old one. */
static int set_name(struct dentry *d, const char *name, size_t len)
{
	char *text = d->short_name;

	if (len >= sizeof(d->short_name)) {
		text = kmalloc(len + 1);
		if (!text)
			return -ENOMEM;
	}
	if (d->name != d->short_name)
		kfree(d->name);
	memcpy(text, name, len);
	text[len] = 0;
	d->name = text;
	d->name_len = (u8)len;
	return 0;
}

struct dentry *dentry_create(struct dentry *parent, const char *name, size_t len,
			     struct inode *inode)
{
	struct dentry *d = inode ? kzalloc(sizeof(*d)) : NULL;

	if (!d || set_name(d, name, len)) {
		inode_put(inode);
		kfree(d);
		return NULL;
	}
	d->parent = parent ? dentry_get(parent) : d;
	d->inode = inode;
	d->refs = 1;
	d->next_cookie = 2; /* 0 and 1 are "." and ".." */
	list_init(&d->sibling);
	list_init(&d->children);
	return d;
}

struct dentry *dentry_get(struct dentry *d)
{
	__atomic_add_fetch(&d->refs, 1, __ATOMIC_RELAXED);
	return d;
}

void dentry_put(struct dentry *d)
{
	while (d && !__atomic_sub_fetch(&d->refs, 1, __ATOMIC_ACQ_REL)) {
		struct dentry *parent = d->parent == d ? NULL : d->parent;

		inode_put(d->inode);
		if (d->name != d->short_name)
			kfree(d->name);
		kfree(d);
		d = parent;
	}
}

static void hash_add(struct dentry *d)
{
	struct dentry **bucket = hash_bucket(d->parent, d->name, d->name_len);

	d->hash_next = *bucket;
	d->hash_slot = bucket;
	if (d->hash_next)
		d->hash_next->hash_slot = &d->hash_next;
	*bucket = d;
}

static void hash_remove(struct dentry *d)
{
	*d->hash_slot = d->hash_next;
	if (d->hash_next)
		d->hash_next->hash_slot = d->hash_slot;
}

void dentry_link(struct dentry *d)
{
	struct dentry *dir = d->parent;

	assert(spin_is_held(&tree_lock));
	d->cookie = dir->next_cookie++;
	d->linked = true;
	list_add_tail(&dir->children, &d->sibling);
	hash_add(d);
	d->inode->nlink++;
	if (S_ISDIR(d->inode->mode)) {
		d->inode->nlink++; /* its "." */
		dir->inode->nlink++;
	}
}

void dentry_unlink(struct dentry *d)
{
	assert(spin_is_held(&tree_lock) && d->linked);
	d->linked = false;
	list_del(&d->sibling);
	hash_remove(d);
	d->inode->nlink--;
	if (S_ISDIR(d->inode->mode)) {
		d->inode->nlink--;
		d->parent->inode->nlink--;
	}
}

struct dentry *dentry_find(struct dentry *dir, const char *name, size_t len)
{
	assert(spin_is_held(&tree_lock));
	for (struct dentry *d = *hash_bucket(dir, name, len); d; d = d->hash_next)
		if (d->parent == dir && d->name_len == len && !memcmp(d->name, name, len))
			return d;
	return NULL;
}

int dentry_move(struct dentry *d, struct dentry *dir, const char *name, size_t len)
{
	struct dentry *old = d->parent;
	u64 cookie = d->cookie;

	assert(spin_is_held(&tree_lock));
	dentry_unlink(d);
	if (set_name(d, name, len)) {
		dentry_link(d);
		d->cookie = cookie;
		return -ENOMEM;
	}
	d->parent = dentry_get(dir);
	dentry_link(d);
	/* Never the last reference: @old is a directory in use by the caller. */
	dentry_put(old);
	return 0;
}

bool dentry_is_below(const struct dentry *d, const struct dentry *ancestor)
{
	for (; d != ancestor; d = d->parent)
		if (d->parent == d)
			return false;
	return true;
}

int dentry_emit_dots(struct file *f, emit_fn emit, void *arg)
{
	struct dentry *d = f->path.dentry;

	if (f->pos == 0 && emit(arg, ".", d->inode->ino, S_IFDIR >> 12, 1))
		return 1;
	return f->pos <= 1 && emit(arg, "..", d->parent->inode->ino, S_IFDIR >> 12, 2);
}

int dentry_readdir(struct file *f, emit_fn emit, void *arg)
{
	struct dentry *d;
	int full;

	spin_lock(&tree_lock);
	full = dentry_emit_dots(f, emit, arg);
	list_for_each(d, &f->path.dentry->children, sibling) {
		if (full)
			break;
		if (d->cookie >= f->pos)
			full = emit(arg, d->name, d->inode->ino, DT_OF_MODE(d->inode->mode),
				    d->cookie + 1);
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
	__atomic_add_fetch(&sb->refs, 1, __ATOMIC_RELAXED);
	return sb;
}

void tree_clear(struct dentry *dir)
{
	struct dentry *d = dir;

	while (!list_empty(&dir->children)) {
		while (!list_empty(&d->children))
			d = list_last(&d->children, struct dentry, sibling);
		struct dentry *parent = d->parent;

		spin_lock(&tree_lock);
		dentry_unlink(d);
		spin_unlock(&tree_lock);
		dentry_put(d);
		d = parent;
	}
}

void superblock_put(struct superblock *sb)
{
	if (__atomic_sub_fetch(&sb->refs, 1, __ATOMIC_ACQ_REL))
		return;
	tree_clear(sb->root);
	dentry_put(sb->root);
	kfree(sb);
}
