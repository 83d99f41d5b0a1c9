/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changing the tree of names: making, linking, removing and renaming, once the directory is known.
 *
 * A walk with WALK_PARENT finds the directory; by the time tree_lock is taken again here it may
 * have been removed, so everything is checked under the lock, and only then changed. References to
 * what leaves the tree are dropped after unlocking.
 */
#include "kernel/fs/vfs.h"

#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "lib/string.h"

/* Held while an entry changes its directory, so its holder may follow parents without tree_lock. */
static struct mutex rename_lock = MUTEX_INIT(rename_lock);

static bool is_dots(const struct walk_result *at)
{
	debug_assert(at->name_len);
	return at->name[0] == '.' &&
	       (at->name_len == 1 || (at->name_len == 2 && at->name[1] == '.'));
}

/* May the running thread make and remove entries of @dir? 0, -EROFS or -EACCES. */
static int may_change(const struct path *dir)
{
	return path_writable(dir) ?: inode_permission(dir->dentry->inode, MAY_WRITE | MAY_EXEC);
}

/* May entries come and go in the directory of @at? tree_lock held. */
static int check_directory(const struct walk_result *at)
{
	const struct dentry *dir = at->path.dentry;

	assert(spin_is_held(&tree_lock));
	if (!S_ISDIR(dir->inode->mode))
		return -ENOTDIR;
	if (!dir->linked && dir != dir->inode->sb->root)
		return -ENOENT;
	return may_change(&at->path) ?: dir->inode->sb->type->create ? 0 : -EPERM;
}

static char *copy_string(const char *s)
{
	size_t size = strlen(s) + 1;
	char *copy = kmalloc(size);

	return copy ? memcpy(copy, s, size) : NULL;
}

int tree_mknod(const struct walk_result *at, u32 mode, u32 rdev, const char *link)
{
	struct dentry *dir = at->path.dentry, *d;
	const struct fs_type *type = dir->inode->sb->type;
	struct inode *inode;
	char *text = NULL;
	int err = 0;

	if (!at->name_len || is_dots(at))
		return -EEXIST;
	if (S_ISDIR(mode) && type->mkdir)
		return may_change(&at->path) ?: type->mkdir(dir, at->name, at->name_len, mode);
	if (link && !(text = copy_string(link)))
		return -ENOMEM;
	spin_lock(&tree_lock);
	if (dentry_find(dir, at->name, at->name_len))
		err = -EEXIST;
	else
		err = check_directory(at);
	if (!err && at->slash && !S_ISDIR(mode))
		err = -ENOENT;
	if (!err) {
		inode = type->create(dir->inode->sb, mode);
		if (inode && text && !tmpfs_set_link(inode, text)) {
			inode_put(inode);
			inode = NULL;
		} else if (inode) {
			inode->rdev = rdev;
			inode_set_owner(inode, dir->inode);
			inode_set_ops(inode, inode->fops);
			text = NULL;
		}
		d = dentry_create(dir, at->name, at->name_len, inode);
		if (d)
			dentry_link(d), inode_touch(dir->inode);
		else
			err = -ENOSPC;
	}
	spin_unlock(&tree_lock);
	kfree(text);
	return err;
}

int tree_link(const struct path *old, const struct walk_result *at)
{
	struct dentry *d;
	int err;

	if (!at->name_len || is_dots(at))
		return -EEXIST;
	if (old->dentry->inode->sb != at->path.dentry->inode->sb)
		return -EXDEV;
	spin_lock(&tree_lock);
	if (dentry_find(at->path.dentry, at->name, at->name_len))
		err = -EEXIST;
	else
		err = inode_may_link(old->dentry->inode) ?: check_directory(at);
	/* A slash would make it a directory; a file without any name gets none again. */
	if (!err && (at->slash || !old->dentry->inode->nlink))
		err = -ENOENT;
	if (!err && S_ISDIR(old->dentry->inode->mode))
		err = -EPERM;
	if (!err && !tmpfs_has_inodes(old->dentry->inode->sb))
		err = -ENOSPC;
	if (!err) {
		d = dentry_create(at->path.dentry, at->name, at->name_len,
				  inode_get(old->dentry->inode));
		if (d)
			dentry_link(d), inode_touch(at->path.dentry->inode);
		else
			err = -ENOSPC;
	}
	spin_unlock(&tree_lock);
	return err;
}

/* Can @d be removed as a directory (or not)? tree_lock held. */
static int check_removal(const struct dentry *d, bool dir)
{
	assert(spin_is_held(&tree_lock));
	if (dir && !S_ISDIR(d->inode->mode))
		return -ENOTDIR;
	if (!dir && S_ISDIR(d->inode->mode))
		return -EISDIR;
	if (d->nr_mounts)
		return -EBUSY;
	return rb_is_empty(&d->entries) ? 0 : -ENOTEMPTY;
}

/* The error for removing "/", "." or "..". */
static int remove_dots(const struct walk_result *at, bool dir)
{
	static const int answers[] = { -EBUSY, -EINVAL, -ENOTEMPTY };

	debug_assert(at->name_len <= 2);
	return dir ? answers[at->name_len] : -EISDIR;
}

int tree_unlink(const struct walk_result *at, bool dir)
{
	const struct fs_type *type = at->path.dentry->inode->sb->type;
	struct dentry *d;
	int err;

	if (!at->name_len || is_dots(at))
		return remove_dots(at, dir);
	if (type->remove)
		return may_change(&at->path)
			       ?: type->remove(at->path.dentry, at->name, at->name_len, dir);
	spin_lock(&tree_lock);
	d = dentry_find(at->path.dentry, at->name, at->name_len);
	err = d ? check_directory(at) : -ENOENT;
	if (!err && at->slash && !S_ISDIR(d->inode->mode))
		err = -ENOTDIR;
	if (!err)
		err = inode_may_remove(at->path.dentry->inode, d->inode);
	if (!err)
		err = check_removal(d, dir);
	if (!err) {
		dentry_unlink(d);
		inode_touch(at->path.dentry->inode);
	}
	spin_unlock(&tree_lock);
	if (!err)
		dentry_put(d);
	return err;
}

/* The entry of @dir that @below is or is below, or NULL. rename_lock held. */
static struct dentry *entry_towards(const struct dentry *dir, struct dentry *below)
{
	assert(mutex_is_held(&rename_lock));
	for (struct dentry *d = below; d->parent != d; d = d->parent) {
		if (d->parent == dir)
			return d;
		cond_resched();
	}
	return NULL;
}

/* Move @d to @to, whose present holder @victim (or NULL) goes away. tree_lock held. */
static int rename_locked(struct dentry *d, struct dentry *victim, const struct walk_result *to)
{
	struct dentry *dir = to->path.dentry;
	int err;

	assert(spin_is_held(&tree_lock));
	if (d->nr_mounts)
		return -EBUSY;
	/* Its ".." will name another directory. */
	if (S_ISDIR(d->inode->mode) && dir != d->parent) {
		err = inode_permission(d->inode, MAY_WRITE);
		if (err)
			return err;
	}
	if (victim) {
		err = inode_may_remove(dir->inode, victim->inode)
			      ?: check_removal(victim, S_ISDIR(d->inode->mode));
		if (err)
			return err;
		dentry_unlink(victim);
	}
	err = dentry_move(d, dir, to->name, to->name_len);
	if (err && victim)
		dentry_link(victim);
	return err;
}

/* As tree_rename(). @over: a directory of that name would come below itself. */
static int rename_entry(const struct walk_result *from, const struct walk_result *to,
			bool noreplace, const struct dentry *over)
{
	struct dentry *d, *victim;
	int err;

	debug_assert(from->path.dentry == to->path.dentry || mutex_is_held(&rename_lock));
	spin_lock(&tree_lock);
	d = dentry_find(from->path.dentry, from->name, from->name_len);
	victim = d ? dentry_find(to->path.dentry, to->name, to->name_len) : NULL;
	if (!d)
		err = -ENOENT;
	else
		err = victim && noreplace ? -EEXIST : check_directory(from);
	if (!err && (from->slash || to->slash) && !S_ISDIR(d->inode->mode))
		err = -ENOTDIR;
	if (!err)
		err = inode_may_remove(from->path.dentry->inode, d->inode);
	if (!err)
		err = check_directory(to);
	if (!err && victim && victim->inode == d->inode)
		victim = NULL; /* two names of one file: nothing to do */
	else if (!err)
		err = d == over ? -EINVAL : rename_locked(d, victim, to);
	if (!err) {
		inode_touch(from->path.dentry->inode);
		inode_touch(to->path.dentry->inode);
	}
	spin_unlock(&tree_lock);
	if (!err)
		dentry_put(victim);
	return err;
}

int tree_rename(const struct walk_result *from, const struct walk_result *to, bool noreplace)
{
	struct dentry *dir = from->path.dentry, *other = to->path.dentry;
	int err;

	if (from->path.mnt != to->path.mnt)
		return -EXDEV;
	if (!from->name_len || !to->name_len || is_dots(from) || is_dots(to))
		return -EBUSY;
	if (dir == other)
		return rename_entry(from, to, noreplace, NULL);
	mutex_lock(&rename_lock);
	err = rename_entry(from, to, noreplace, entry_towards(dir, other));
	mutex_unlock(&rename_lock);
	return err;
}
