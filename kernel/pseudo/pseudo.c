/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine of the pseudo file systems (/proc, /sys, debugfs, tracefs): a file is a function that
 * makes its text and one that takes what is written.
 *
 * Their directories are ordinary tree directories filled by *_add(), which makes missing
 * directories as it goes. A read that starts at position 0 makes the text; further reads continue
 * in it. A write is one call of store, whatever the position, because programs keep such files open
 * and write "0" and "1" to them again and again. What does not fit into a page is
 * left for the next write, as on Linux.
 */
#include "kernel/pseudo/engine.h"

#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/task/account.h"
#include "kernel/task/thread.h"
#include "kernel/trace/trace.h"
#include "lib/errno.h"
#include "lib/fmt.h"
#include "lib/string.h"

#define FIRST_GUESS 1024 /* bytes of text that fit without a second try */

struct text_buf { /* file->private */
	size_t len;
	struct account *user; /* who reads, and is charged for the pages of a long text */
	u64 pages;
	char text[];
};

/* --- reading and writing -------------------------------------------------------------- */

/* Room for a text of @size. A long one may stay for as long as the file is open. */
static struct text_buf *alloc_text(size_t size)
{
	u64 pages = size / PAGE_SIZE;
	struct text_buf *b = !pages || account_may_hoard() ? kmalloc(sizeof(*b) + size) : NULL;

	if (!b)
		return NULL;
	b->user = account_get(current->account);
	b->pages = pages;
	account_charge(b->user, RES_HELD, pages, NO_LIMIT);
	return b;
}

static void free_text(struct text_buf *b)
{
	if (!b)
		return;
	account_give(b->user, RES_HELD, b->pages);
	account_put(b->user);
	kfree(b);
}

static struct text_buf *make_text(size_t (*show)(void *arg, char *buf, size_t size), void *arg)
{
	size_t size = FIRST_GUESS;

	for (;;) {
		struct text_buf *b = alloc_text(size);

		if (!b)
			return NULL;
		b->len = show(arg, b->text, size);
		if (b->len < size)
			return b;
		size = b->len + b->len / 8 + 64; /* it may grow meanwhile */
		free_text(b);
	}
}

/*
 * A reader takes the text out of the file while it copies. Another reader at that moment makes its
 * own text.
 */
static struct text_buf *exchange_text(struct file *f, struct text_buf *b)
{
	return __atomic_exchange_n(&f->private, b, __ATOMIC_ACQ_REL);
}

static long copy_text(const struct text_buf *b, void *user_buf, size_t n, u64 *pos)
{
	size_t left;

	if (*pos >= b->len)
		return 0;
	n = min(n, (size_t)(b->len - *pos));
	left = arch_copy_to_user(user_buf, b->text + *pos, n);
	if (left == n && n)
		return -EFAULT;
	*pos += n - left;
	return (long)(n - left);
}

long pseudo_read(struct file *f, void *user_buf, size_t n, u64 *pos,
		 size_t (*show)(void *arg, char *buf, size_t size), void *arg)
{
	struct text_buf *b = exchange_text(f, NULL);
	long ret;

	if (*pos == 0 || !b) {
		free_text(b);
		b = make_text(show, arg);
		if (!b)
			return -ENOMEM;
	}
	ret = copy_text(b, user_buf, n, pos);
	free_text(exchange_text(f, b));
	return ret;
}

long pseudo_write(struct file *f, const void *user_buf, size_t n,
		  long (*store)(void *arg, const char *text, size_t len), void *arg)
{
	char *text;
	long ret;

	(void)f;
	n = min(n, PAGE_SIZE);
	text = kmalloc(n + 1);
	if (!text)
		return -ENOMEM;
	ret = -EFAULT;
	if (!arch_copy_from_user(text, user_buf, n)) {
		text[n] = 0;
		ret = store(arg, text, n);
	}
	kfree(text);
	return ret;
}

void pseudo_release(struct file *f)
{
	free_text(f->private);
}

static long pf_read(struct file *f, void *user_buf, size_t n, u64 *pos)
{
	const struct pseudo_file *pf = f->inode->private;

	return pf->show ? pseudo_read(f, user_buf, n, pos, pf->show, pf->arg) : -EINVAL;
}

static long pf_write(struct file *f, const void *user_buf, size_t n, u64 *pos)
{
	const struct pseudo_file *pf = f->inode->private;
	long ret = pf->store ? pseudo_write(f, user_buf, n, pf->store, pf->arg) : -EINVAL;

	if (ret > 0)
		*pos += (u64)ret;
	return ret;
}

/* On Linux only sysfs refuses to open what nobody can write; elsewhere the write fails. */
static int pf_open(struct inode *i, struct file *f)
{
	return i->sb->type == &sysfs_type && (f->mode & FILE_WRITE) && !(i->mode & 0222) ? -EACCES
											 : 0;
}

static long pf_truncate(struct inode *i, u64 size)
{
	const struct pseudo_file *pf = i->private;

	(void)size;
	if (pf->truncate)
		pf->truncate(pf->arg);
	return 0;
}

static const struct file_ops pf_ops = {
	.read = pf_read,
	.write = pf_write,
	.open = pf_open,
	.truncate = pf_truncate,
	.release = pseudo_release,
};

static void pf_free(struct inode *i)
{
	kfree(i->private);
}

static const struct inode_ops pf_inode_ops = { .release = pf_free };

void *inode_arg(const struct inode *i)
{
	return ((const struct pseudo_file *)i->private)->arg;
}

/* --- the trees ------------------------------------------------------------------------ */

static struct superblock *pseudo_get(const struct fs_type *type, const char *options, int *err)
{
	struct dentry *root = pseudo_root(type);

	(void)options;
	*err = -ENOMEM;
	return root ? superblock_get(root->inode->sb) : NULL;
}

#define PSEUDO_TYPE(ident, text, number, error, ...)                                               \
	const struct fs_type ident##_type = { .name = (text),                                      \
					      .magic = (number),                                   \
					      .create_errno = (error),                             \
					      .get = pseudo_get,                                   \
					      __VA_ARGS__ }
PSEUDO_TYPE(procfs, "proc", 0x9fa0, -ENOENT);
PSEUDO_TYPE(sysfs, "sysfs", 0x62656572, -EACCES);
PSEUDO_TYPE(debugfs, "debugfs", 0x64626720, -EACCES);
PSEUDO_TYPE(tracefs, "tracefs", 0x74726163, -EACCES, .mkdir = tracefs_mkdir,
	    .remove = tracefs_rmdir);

struct dentry *pseudo_root(const struct fs_type *type)
{
	static struct {
		const struct fs_type *type;
		u32 mode; /* of the root directory */
		struct superblock *sb;
	} made[] = {
		{ &procfs_type, 0755, NULL },
		{ &sysfs_type, 0755, NULL },
		{ &debugfs_type, 0700, NULL },
		{ &tracefs_type, 0700, NULL },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(made); i++) {
		if (made[i].type != type)
			continue;
		if (!made[i].sb) /* first use is before there are other threads */
			made[i].sb = superblock_create(type);
		if (!made[i].sb)
			return NULL;
		WRITE_ONCE(made[i].sb->root->inode->mode, S_IFDIR | made[i].mode);
		return made[i].sb->root;
	}
	return NULL;
}

/* Link a new entry called @name into @dir. NULL: no memory. tree_lock held. */
static struct dentry *add_entry(struct dentry *dir, const char *name, size_t len,
				struct inode *inode)
{
	struct dentry *d = dentry_create(dir, name, len, inode);

	assert(spin_is_held(&tree_lock));
	if (d)
		dentry_link(d);
	return d;
}

static struct inode *new_dir(struct superblock *sb)
{
	struct inode *i = inode_create(sb, S_IFDIR | 0755);

	if (i)
		i->fops = &tree_dir_ops;
	return i;
}

/*
 * The directory that will hold @name; missing directories are made. *last becomes the final
 * component. NULL: no memory. tree_lock held.
 */
static struct dentry *make_parents(struct dentry *root, const char *name, const char **last)
{
	struct dentry *dir = root, *next;
	const char *slash;

	assert(spin_is_held(&tree_lock));
	for (; dir && (slash = strchr(name, '/')); name = slash + 1, dir = next) {
		size_t len = (size_t)(slash - name);

		next = dentry_find(dir, name, len);
		if (!next)
			next = add_entry(dir, name, len, new_dir(root->inode->sb));
	}
	*last = name;
	return dir;
}

/* Put @inode at @name; consumes the reference. */
static int add_inode(const struct fs_type *type, const char *name, struct inode *inode)
{
	struct dentry *root = pseudo_root(type), *dir;
	int err = -ENOMEM;
	const char *last;

	debug_assert(*name);
	if (!root || !inode)
		return -ENOMEM;
	spin_lock(&tree_lock);
	dir = make_parents(root, name, &last);
	if (dir && dentry_find(dir, last, strlen(last))) {
		err = -EEXIST;
	} else if (dir) {
		err = add_entry(dir, last, strlen(last), inode) ? 0 : -ENOMEM;
		inode = NULL;
	}
	spin_unlock(&tree_lock);
	inode_put(inode);
	return err;
}

static int add_file(const struct fs_type *type, const char *prefix, const struct pseudo_file *pf)
{
	struct dentry *root = pseudo_root(type);
	struct pseudo_file *copy = kmalloc(sizeof(*copy));
	struct inode *inode = root ? inode_create(root->inode->sb, S_IFREG | pf->mode) : NULL;
	char name[128];

	debug_assert(strlen(prefix) + strlen(pf->name) < sizeof(name));
	if (!inode || !copy) {
		inode_put(inode);
		kfree(copy);
		return -ENOMEM;
	}
	*copy = *pf;
	inode->private = copy;
	inode->iops = &pf_inode_ops;
	inode->fops = pf->ops ?: &pf_ops;
	str_copy(name, prefix, sizeof(name));
	str_copy(name + strlen(prefix), pf->name, sizeof(name) - strlen(prefix));
	return add_inode(type, name, inode);
}

int pseudo_symlink(const struct fs_type *type, const char *name, const char *target)
{
	struct dentry *root = pseudo_root(type);
	struct inode *inode = root ? inode_create(root->inode->sb, S_IFLNK | 0777) : NULL;

	if (!inode)
		return -ENOMEM;
	inode->size = strlen(target);
	inode->link = kmalloc(inode->size + 1);
	if (!inode->link) {
		inode_put(inode);
		return -ENOMEM;
	}
	memcpy(inode->link, target, inode->size + 1);
	return add_inode(type, name, inode);
}

int pseudo_mkdir(const struct fs_type *type, const char *name)
{
	struct dentry *root = pseudo_root(type);

	return root ? add_inode(type, name, new_dir(root->inode->sb)) : -ENOMEM;
}

struct dentry *pseudo_find(const struct fs_type *type, const char *name)
{
	struct dentry *d = pseudo_root(type);
	const char *end;

	spin_lock(&tree_lock);
	for (; d && *name; name = *end ? end + 1 : end) {
		end = strchr(name, '/') ?: name + strlen(name);
		d = dentry_find(d, name, (size_t)(end - name));
	}
	spin_unlock(&tree_lock);
	return d;
}

void pseudo_show(struct dentry *d, bool visible)
{
	spin_lock(&tree_lock);
	if (visible && !d->linked)
		dentry_link(d);
	else if (!visible && d->linked)
		dentry_unlink(d);
	spin_unlock(&tree_lock);
	mount_remove_lost();
}

void pseudo_remove(const struct fs_type *type, const char *name)
{
	struct dentry *d = pseudo_find(type, name);

	if (!d)
		return;
	tree_clear(d);
	spin_lock(&tree_lock);
	dentry_unlink(d);
	spin_unlock(&tree_lock);
	mount_remove_lost();
	dentry_put(d);
}

int pseudo_word(char word[PSEUDO_WORD_SIZE], const char *text, size_t len)
{
	len = pseudo_trim(text, len);
	if (len >= PSEUDO_WORD_SIZE)
		return -EINVAL;
	memcpy(word, text, len);
	word[len] = '\0';
	return 0;
}

int debugfs_add(const struct pseudo_file *pf)
{
	return add_file(&debugfs_type, "", pf);
}

int tracefs_add(const struct pseudo_file *pf)
{
	return add_file(&tracefs_type, "", pf);
}

int procfs_add(const struct pseudo_file *pf)
{
	return add_file(&procfs_type, "", pf);
}

int proc_sys_add(const struct pseudo_file *pf)
{
	return add_file(&procfs_type, "sys/", pf);
}

static size_t show_number(void *arg, char *buf, size_t size)
{
	return (size_t)snprintf(buf, size, "%lu\n", READ_ONCE(*(u64 *)arg));
}

static long store_number(void *arg, const char *text, size_t len)
{
	u64 value;
	int err = parse_u64(text, len, &value);

	if (err)
		return err;
	WRITE_ONCE(*(u64 *)arg, value);
	return (long)len;
}

int proc_sys_add_number(const char *name, u64 *value)
{
	return proc_sys_add(&(struct pseudo_file){ .name = name,
						   .mode = 0644,
						   .show = show_number,
						   .store = store_number,
						   .arg = value });
}

int sysfs_add(const struct pseudo_file *pf)
{
	return add_file(&sysfs_type, "", pf);
}
