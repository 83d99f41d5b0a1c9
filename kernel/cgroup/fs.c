/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control groups as file systems: `cgroup` (v1: the controller cpu, or schedtune) and `cgroup2`.
 *
 * A group is a directory of the name tree. The tables of struct cgroup_file say which files it has,
 * so files come and go with the controller, and a thousand groups cost no more than a thousand
 * directories. The first look at a file makes its inode, which belongs to who made the group, or
 * gave it the controller, and is kept as long as the group has the file: owner and mode may be
 * changed, to delegate the group. A directory keeps a reference to its group; after rmdir the group
 * is dead, its open files answer -ENODEV, and a working directory in it is empty.
 *
 * Reference: Linux, Documentation/admin-guide/cgroup-v1/cgroups.rst and cgroup-v2.rst.
 */
#include "kernel/cgroup/internal.h"

#include "kernel/pseudo/engine.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/time/speed.h"
#include "lib/fmt.h"
#include "lib/string.h"

/* Positions in a directory: first the children, by their cookies, then the files. */
#define FILES_AT (1ull << 32)
/* A file's inode number is made from its directory's and the file's place in the tables. */
#define MAX_FILES		 256
#define FILE_INO(dir_ino, index) (1ull << 40 | (dir_ino)*MAX_FILES | (index))

static struct superblock *superblocks[NR_HIERARCHIES];

/* --- which files ---------------------------------------------------------------------- */

static const struct {
	const struct cgroup_file *rows;
	const unsigned *nr;
} tables[] = {
	{ cgroup_core_files, &nr_cgroup_core_files },
	{ cgroup_cpu_files, &nr_cgroup_cpu_files },
	{ cgroup_bandwidth_files, &nr_cgroup_bandwidth_files },
	{ cgroup_fdl_files, &nr_cgroup_fdl_files },
	{ cgroup_clamp_files, &nr_cgroup_clamp_files },
	{ cgroup_tune_files, &nr_cgroup_tune_files },
};

/* The @index-th row of all tables, NULL past the end. */
static const struct cgroup_file *file_row(u64 index)
{
	for (unsigned i = 0; i < ARRAY_SIZE(tables); index -= *tables[i++].nr)
		if (index < *tables[i].nr)
			return &tables[i].rows[index];
	return NULL;
}

static bool is_shown(const struct cgroup_file *row, const struct cgroup *cg)
{
	unsigned want = (cg->hierarchy == HIERARCHY_V2 ? CGF_V2 : CGF_V1) |
			(cgroup_is_root(cg) ? CGF_ROOT : CGF_CHILD);

	debug_assert(mutex_is_held(&cgroup_mutex));
	if ((row->flags & want) != want || (row->flags & CGF_SPEEDS && !speeds_on))
		return false;
	if (row->flags & CGF_TUNE)
		return cg->hierarchy == HIERARCHY_TUNE;
	return !(row->flags & CGF_CPU) || cg->hierarchy == HIERARCHY_V1 || cg->tg;
}

/* Index of the file @name of @cg; -1 if it has none. cgroup_mutex held. */
static int find_file(const struct cgroup *cg, const char *name, size_t len)
{
	const struct cgroup_file *row;

	assert(mutex_is_held(&cgroup_mutex));
	for (unsigned i = 0; !cg->dead && (row = file_row(i)); i++)
		if (strlen(row->name) == len && !memcmp(row->name, name, len) && is_shown(row, cg))
			return (int)i;
	return -1;
}

/* --- a file --------------------------------------------------------------------------- */

struct file_ref { /* inode->private of a file */
	struct list
		link; /* in cg->files, with a reference to the inode; guarded by: cgroup_mutex */
	struct inode *inode;
	struct cgroup *cg;
	const struct cgroup_file *row;
};

static bool is_writable(const struct cgroup_file *row)
{
	return row->store || row->set || row->move;
}

char *cgroup_strip(char *text, size_t *len)
{
	static const char blanks[] = " \t\n\v\f\r";

	while (*len && strchr(blanks, text[*len - 1]))
		text[--*len] = '\0';
	while (*len && strchr(blanks, *text))
		text++, --*len;
	return text;
}

/* Take cgroup_mutex if the file still exists, so that it exists until the unlock; else -ENODEV. */
static int lock_file(const struct file_ref *r)
{
	mutex_lock(&cgroup_mutex);
	if (!r->cg->dead && is_shown(r->row, r->cg))
		return 0;
	mutex_unlock(&cgroup_mutex);
	return -ENODEV;
}

static size_t show_file(void *arg, char *buf, size_t size)
{
	const struct file_ref *r = arg;
	size_t len = 0;

	if (lock_file(r))
		return 0;
	if (r->row->show)
		len = r->row->show(r->cg, buf, size);
	else
		len = (size_t)snprintf(buf, size, r->row->flags & CGF_SIGNED ? "%ld\n" : "%lu\n",
				       r->row->get(r->cg));
	mutex_unlock(&cgroup_mutex);
	return len;
}

static long file_read(struct file *f, void *user_buf, size_t n, u64 *pos)
{
	struct file_ref *r = f->inode->private;
	int err = r->row->show || r->row->get ? lock_file(r) : -EINVAL;

	if (err)
		return err;
	err = r->row->may_read ? r->row->may_read(r->cg) : 0;
	mutex_unlock(&cgroup_mutex);
	return err ? err : pseudo_read(f, user_buf, n, pos, show_file, r);
}

static int store_number(const struct file_ref *r, const char *text, size_t len)
{
	u64 value;
	int err = r->row->flags & CGF_SIGNED ? parse_s64(text, len, (s64 *)&value)
					     : parse_u64(text, len, &value);

	debug_assert(mutex_is_held(&cgroup_mutex));
	return err ? err : r->row->set(r->cg, value);
}

static long store_file(void *arg, const char *text, size_t len)
{
	const struct file *f = arg;
	const struct file_ref *r = f->inode->private;
	int err = len ? lock_file(r) : 0;

	if (err || !len)
		return err;
	/*
	 * A NUL ends the text, as on Linux. The cast is safe: pseudo_write() made the copy for us
	 * alone.
	 */
	if (r->row->move)
		err = r->row->move(r->cg, (char *)text, strlen(text), f->opener);
	else if (r->row->store)
		err = r->row->store(r->cg, (char *)text, strlen(text));
	else
		err = store_number(r, text, strlen(text));
	mutex_unlock(&cgroup_mutex);
	return err ? err : (long)len;
}

static long file_write(struct file *f, const void *user_buf, size_t n, u64 *pos)
{
	const struct file_ref *r = f->inode->private;

	(void)pos;
	if (!is_writable(r->row))
		return -EINVAL;
	if (n > PAGE_SIZE)
		return -E2BIG;
	return pseudo_write(f, user_buf, n, store_file, f);
}

/*
 * Keep who opened a file of members: a program with more rights that is made to write a number
 * there moves nobody whom the opener could not.
 */
static int file_opened(struct inode *i, struct file *f)
{
	const struct file_ref *r = i->private;

	debug_assert(!f->opener);
	if (!r->row->move || !(f->mode & FILE_WRITE))
		return 0;
	f->opener = kmalloc(sizeof(*f->opener));
	if (!f->opener)
		return -ENOMEM;
	*f->opener = current->cred;
	return 0;
}

static void file_closed(struct file *f)
{
	kfree(f->opener);
	pseudo_release(f);
}

/* Shells open files with O_TRUNC, so truncation must succeed. */
static long file_truncate(struct inode *i, u64 size)
{
	(void)i, (void)size;
	return 0;
}

static void release_file(struct inode *i)
{
	struct file_ref *r = i->private;

	debug_assert(list_empty(&r->link));
	cgroup_put(r->cg);
	kfree(r);
}

static const struct file_ops file_ops = {
	.read = file_read,
	.write = file_write,
	.open = file_opened,
	.truncate = file_truncate,
	.release = file_closed,
};
static const struct inode_ops file_iops = { .release = release_file };

static void set_owner(struct inode *i, const struct cgroup_owner *owner)
{
	i->uid = owner->uid;
	i->gid = owner->gid;
}

static u32 file_mode(const struct cgroup_file *row)
{
	u32 mode = S_IFREG;

	if (row->show || row->get)
		mode |= 0444;
	if (is_writable(row))
		mode |= 0200;
	return mode;
}

/* Make the inode of file @index, which @cg keeps. NULL: no memory. */
static struct file_ref *make_file(struct cgroup *cg, unsigned index)
{
	const struct cgroup_file *row = file_row(index);
	struct inode *dir = cg->dentry->inode, *i = inode_create(dir->sb, file_mode(row));
	struct file_ref *r = kzalloc(sizeof(*r));

	debug_assert(mutex_is_held(&cgroup_mutex));
	if (!i || !r) {
		inode_put(i);
		kfree(r);
		return NULL;
	}
	*r = (struct file_ref){ .inode = i, .cg = cgroup_get(cg), .row = row };
	list_add_tail(&cg->files, &r->link);
	set_owner(i, row->flags & CGF_CPU ? &cg->giver : &cg->maker);
	i->private = r;
	i->nlink = 1;
	i->ino = FILE_INO(dir->ino, index);
	i->iops = &file_iops;
	i->fops = &file_ops;
	return r;
}

struct inode *cgroup_file(struct cgroup *cg, const char *name, size_t len)
{
	int index = find_file(cg, name, len);
	struct file_ref *r;

	if (index < 0)
		return NULL;
	list_for_each(r, &cg->files, link)
		if (r->row == file_row((unsigned)index))
			return inode_get(r->inode);
	r = make_file(cg, (unsigned)index);
	return r ? inode_get(r->inode) : INODE_LACKS;
}

void cgroup_forget_files(struct cgroup *cg)
{
	struct file_ref *r, *tmp;

	assert(mutex_is_held(&cgroup_mutex));
	list_for_each_safe(r, tmp, &cg->files, link) {
		if (!cg->dead && is_shown(r->row, cg))
			continue;
		list_del(&r->link);
		inode_put(r->inode);
	}
}

/* --- a directory ---------------------------------------------------------------------- */

static struct inode *dir_lookup(struct inode *dir, const char *name, size_t len)
{
	struct inode *file;

	mutex_lock(&cgroup_mutex);
	file = cgroup_file(dir->private, name, len);
	mutex_unlock(&cgroup_mutex);
	return file;
}

static int dir_list(struct file *f, emit_fn emit, void *arg)
{
	struct cgroup *cg = f->inode->private;
	u64 i = f->pos > FILES_AT ? f->pos - FILES_AT : 0;
	const struct cgroup_file *row;
	int full = dentry_readdir(f, emit, arg);

	if (full)
		return full;
	mutex_lock(&cgroup_mutex);
	for (; !full && !cg->dead && (row = file_row(i)); i++)
		if (is_shown(row, cg))
			full = emit(arg, row->name, FILE_INO(f->inode->ino, i), S_IFREG >> 12,
				    FILES_AT + i + 1);
	mutex_unlock(&cgroup_mutex);
	return full;
}

static void release_dir(struct inode *i)
{
	cgroup_put(i->private);
}

static const struct file_ops dir_ops = { .readdir = dir_list };
static const struct inode_ops dir_iops = { .lookup = dir_lookup, .release = release_dir };

/* Make @i the directory of @cg. */
static void set_dir(struct inode *i, struct cgroup *cg)
{
	debug_assert(!i->private);
	i->private = cgroup_get(cg);
	i->iops = &dir_iops;
	i->fops = &dir_ops;
}

/* A directory called @name, not in the tree yet; NULL: no memory. */
static struct dentry *make_dir(struct dentry *parent, const char *name, size_t len, u32 mode,
			       struct cgroup *cg)
{
	struct inode *i = inode_create(parent->inode->sb, mode);

	debug_assert(mutex_is_held(&cgroup_mutex));
	if (i) {
		set_dir(i, cg);
		set_owner(i, &cg->maker);
	}
	return dentry_create(parent, name, len, i);
}

static int check_new_name(struct dentry *dir, const char *name, size_t len)
{
	bool exists;

	assert(mutex_is_held(&cgroup_mutex));
	if (find_file(dir->inode->private, name, len) >= 0)
		return -EEXIST;
	spin_lock(&tree_lock);
	exists = dentry_find(dir, name, len);
	spin_unlock(&tree_lock);
	/* A newline in a name would make /proc/PID/cgroup ambiguous. */
	return exists ? -EEXIST : memchr(name, '\n', len) ? -EINVAL : 0;
}

static int make_group(struct dentry *dir, const char *name, size_t len, u32 mode)
{
	struct cgroup *parent = dir->inode->private, *cg;
	int err = parent->dead ? -ENOENT : check_new_name(dir, name, len);

	assert(mutex_is_held(&cgroup_mutex));
	if (!err)
		err = cgroup_check_limits(parent);
	if (err)
		return err;
	/* The OOM killer cannot free a group, so the last memory is not spent on new groups. */
	if (page_is_short())
		return -ENOMEM;
	cg = cgroup_create(parent, &err);
	if (!cg)
		return err;
	cg->dentry = make_dir(dir, name, len, mode, cg);
	if (!cg->dentry) {
		cgroup_remove(cg);
		return -ENOMEM;
	}
	if (cg->tg)
		task_group_set_name(cg->tg, cg->dentry->name);
	spin_lock(&tree_lock);
	dentry_link(cg->dentry);
	inode_touch(dir->inode);
	spin_unlock(&tree_lock);
	return 0;
}

static int cgroup_mkdir(struct dentry *dir, const char *name, size_t len, u32 mode)
{
	int err;

	if (!S_ISDIR(dir->inode->mode))
		return -ENOTDIR;
	mutex_lock(&cgroup_mutex);
	err = make_group(dir, name, len, mode);
	mutex_unlock(&cgroup_mutex);
	return err;
}

/*
 * The directory @name with a reference, or NULL. cgroup_mutex held: only its holders remove
 * directories.
 */
static struct dentry *find_dir(struct dentry *dir, const char *name, size_t len)
{
	struct dentry *d;

	assert(mutex_is_held(&cgroup_mutex));
	spin_lock(&tree_lock);
	d = dentry_find(dir, name, len);
	if (d)
		dentry_get(d);
	spin_unlock(&tree_lock);
	return d;
}

static int remove_group(struct dentry *d)
{
	int err;

	assert(mutex_is_held(&cgroup_mutex));
	spin_lock(&tree_lock);
	err = d->nr_mounts ? -EBUSY : 0;
	spin_unlock(&tree_lock);
	if (!err)
		err = cgroup_remove(d->inode->private);
	if (err)
		return err;
	spin_lock(&tree_lock);
	dentry_unlink(d);
	inode_touch(d->parent->inode);
	spin_unlock(&tree_lock);
	mount_remove_lost(); /* mounted since the look */
	dentry_put(d);
	return 0;
}

static int cgroup_rmdir(struct dentry *dir, const char *name, size_t len, bool as_dir)
{
	struct dentry *d;
	int err;

	if (!S_ISDIR(dir->inode->mode))
		return -ENOTDIR;
	mutex_lock(&cgroup_mutex);
	d = find_dir(dir, name, len);
	if (d)
		err = as_dir ? remove_group(d) : -EISDIR;
	else if (find_file(dir->inode->private, name, len) >= 0)
		err = as_dir ? -ENOTDIR : -EPERM;
	else
		err = -ENOENT;
	mutex_unlock(&cgroup_mutex);
	dentry_put(d);
	return err;
}

/* --- mounting ------------------------------------------------------------------------- */

bool cgroup_in_use(enum hierarchy_id h)
{
	assert(mutex_is_held(&cgroup_mutex));
	/* One reference belongs to this file, the others are mounts. */
	return superblocks[h] &&
	       (READ_ONCE(superblocks[h]->refs) > 1 || !list_empty(&cgroup_roots[h].children));
}

/* True if each word of the comma-separated @text is @word or "all". */
static bool are_all(const char *text, const char *word)
{
	while (*text) {
		const char *comma = strchr(text, ',');
		size_t len = comma ? (size_t)(comma - text) : strlen(text);

		if (len && !(len == strlen(word) && !memcmp(text, word, len)) &&
		    !(len == 3 && !memcmp(text, "all", 3)))
			return false;
		text += len + (comma != NULL);
	}
	return true;
}

/* The controller can leave v2 while no group there has it. */
static int claim_for_v1(void)
{
	struct cgroup *v2 = &cgroup_roots[HIERARCHY_V2];

	assert(mutex_is_held(&cgroup_mutex));
	if (!v2->cpu_for_children)
		return 0;
	return list_empty(&v2->children) ? cgroup_disable_cpu(v2) : -EBUSY;
}

static struct superblock *get_v1(const struct fs_type *type, const char *options, int *err)
{
	struct superblock *sb = NULL;

	(void)type;
	*err = -EINVAL;
	if (superblocks[HIERARCHY_TUNE] && !are_all(options, "cpu") &&
	    are_all(options, "schedtune"))
		return superblock_get(superblocks[HIERARCHY_TUNE]);
	if (!are_all(options, "cpu"))
		return NULL;
	mutex_lock(&cgroup_mutex);
	*err = claim_for_v1();
	if (!*err)
		sb = superblock_get(superblocks[HIERARCHY_V1]);
	mutex_unlock(&cgroup_mutex);
	return sb;
}

static struct superblock *get_v2(const struct fs_type *type, const char *options, int *err)
{
	(void)type;
	*err = -EINVAL;
	return *options ? NULL : superblock_get(superblocks[HIERARCHY_V2]);
}

const struct fs_type cgroup_type = {
	.name = "cgroup",
	.magic = 0x27e0eb,
	.create_errno = -EACCES,
	.get = get_v1,
	.options = ",cpu",
	.mkdir = cgroup_mkdir,
	.remove = cgroup_rmdir,
};
/* The file system that a mount of cgroup_type with the option schedtune shows. */
static const struct fs_type tune_type = {
	.name = "cgroup",
	.magic = 0x27e0eb,
	.create_errno = -EACCES,
	.options = ",schedtune",
	.mkdir = cgroup_mkdir,
	.remove = cgroup_rmdir,
};
const struct fs_type cgroup2_type = {
	.name = "cgroup2",
	.magic = 0x63677270,
	.create_errno = -EACCES,
	.get = get_v2,
	.mkdir = cgroup_mkdir,
	.remove = cgroup_rmdir,
};

static void init_hierarchy(enum hierarchy_id h, const struct fs_type *type)
{
	superblocks[h] = superblock_create(type);
	if (!superblocks[h])
		panic("no memory for the control groups");
	cgroup_roots[h].dentry = superblocks[h]->root;
	set_dir(superblocks[h]->root->inode, &cgroup_roots[h]);
}

void cgroup_init(void)
{
	assert(!file_row(MAX_FILES));
	init_hierarchy(HIERARCHY_V1, &cgroup_type);
	init_hierarchy(HIERARCHY_V2, &cgroup2_type);
	if (cgroup_nr_hierarchies() > HIERARCHY_TUNE)
		init_hierarchy(HIERARCHY_TUNE, &tune_type);
	fs_register(&cgroup_type);
	fs_register(&cgroup2_type);
	pseudo_mkdir(&sysfs_type, "fs/cgroup");
}
