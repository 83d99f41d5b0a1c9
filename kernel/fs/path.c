/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From text to places, and back.
 *
 * A walk runs under tree_lock and takes no references to the directories on the way, because
 * nothing can leave the tree meanwhile; only its result is counted. A text may be long, and a link
 * may lead to another, so a walk rests now and then: it counts where it is, and lets others have
 * the lock. Then it goes on from there, like a process from its working directory, whatever has
 * happened to the names above.
 *
 * A symbolic link pushes the rest of the text on a small stack and continues with the link's text.
 * Dynamic directories (/proc/PID) are asked, and magic links (/proc/PID/cwd) followed, without the
 * lock, because their file system may sleep. Everything that the walk has to hold for that (places,
 * link texts, dentries made for it) is dropped at its end.
 */
#include "kernel/contract.h"
#include "kernel/fs/vfs.h"

#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/ref.h"
#include "kernel/task/proc.h"
#include "lib/string.h"

#define MAX_LINKS 40  /* Linux's limit of links in one walk */
#define MAX_HELD  16  /* magic links and dynamic directories in one walk */
#define MAX_TEXT  256 /* bytes of text between two rests, and one component */

struct walk {
	struct path at, root;	     /* uncounted */
	const char *rest[MAX_LINKS]; /* text to continue with after the current one */
	unsigned depth, links;
	size_t text; /* bytes since the last rest */
	/* Counted, until the end of the walk: */
	struct path held[MAX_HELD]; /* where it was without the lock */
	unsigned nr_held;
	struct path rested;		/* where it did so last */
	struct inode *texts[MAX_LINKS]; /* links whose text is in use */
	unsigned nr_texts;
	struct list made; /* transient dentries, one reference each */
	unsigned flags;
};

void path_get(const struct path *p)
{
	ref_get(&p->mnt->refs);
	dentry_get(p->dentry);
}

void path_put(const struct path *p)
{
	struct mount *m = p->mnt;

	if (!p->dentry)
		return;
	dentry_put(p->dentry);
	if (!ref_put(&m->refs))
		return;
	debug_assert(list_empty(&m->link) && !m->at.dentry && !m->nr_writers);
	superblock_put(m->sb);
	kfree(m);
}

/* --- where a process is --------------------------------------------------------------- */

struct fs_context *fs_context_create(void)
{
	struct fs_context *c = kzalloc(sizeof(*c));

	debug_assert(!list_empty(&mounts));
	if (!c)
		return NULL;
	spin_lock_init(&c->lock, "fs_context");
	c->refs = 1;
	c->umask = 022;
	c->root.mnt = list_first(&mounts, struct mount, link);
	c->root.dentry = c->root.mnt->sb->root;
	c->cwd = c->root;
	path_get(&c->root);
	path_get(&c->cwd);
	return c;
}

struct fs_context *fs_context_fork(struct fs_context *src)
{
	struct fs_context *c = kzalloc(sizeof(*c));

	if (!c)
		return NULL;
	spin_lock_init(&c->lock, "fs_context");
	c->refs = 1;
	spin_lock(&src->lock);
	c->umask = src->umask;
	c->root = src->root;
	c->cwd = src->cwd;
	path_get(&c->root);
	path_get(&c->cwd);
	spin_unlock(&src->lock);
	return c;
}

struct fs_context *fs_context_get(struct fs_context *c)
{
	ref_get(&c->refs);
	return c;
}

void fs_context_put(struct fs_context *c)
{
	if (!c || !ref_put(&c->refs))
		return;
	debug_assert(!c->lock.locked);
	path_put(&c->root);
	path_put(&c->cwd);
	kfree(c);
}

bool fs_context_is_shared(const struct fs_context *c)
{
	return READ_ONCE(c->refs) != 1;
}

bool fs_context_place(struct fs_context *c, bool root, struct path *out)
{
	spin_lock(&c->lock);
	*out = root ? c->root : c->cwd;
	path_get(out);
	spin_unlock(&c->lock);
	return true;
}

/* Kernel threads, and everybody before the first process, start at the root of everything. */
static void own_place(bool root, struct path *out)
{
	struct fs_context *c = current->proc->fs;

	if (c) {
		fs_context_place(c, root, out);
		return;
	}
	out->mnt = list_first(&mounts, struct mount, link);
	out->dentry = out->mnt->sb->root;
	path_get(out);
}

void fs_context_root(struct path *out)
{
	own_place(true, out);
}

void fs_context_cwd(struct path *out)
{
	own_place(false, out);
}

static void replace_path(struct path *slot, const struct path *p)
{
	struct fs_context *c = current->proc->fs;
	struct path old;

	debug_assert(slot == &c->root || slot == &c->cwd);
	path_get(p);
	spin_lock(&c->lock);
	old = *slot;
	*slot = *p;
	spin_unlock(&c->lock);
	path_put(&old);
}

void fs_context_set_cwd(const struct path *p)
{
	replace_path(&current->proc->fs->cwd, p);
}

void fs_context_set_root(const struct path *p)
{
	replace_path(&current->proc->fs->root, p);
}

/* --- walking -------------------------------------------------------------------------- */

/* Lets others have tree_lock for a moment, and keeps w->at meanwhile. */
static void rest(struct walk *w)
{
	struct path before = w->rested;

	debug_assert(spin_is_held(&tree_lock));
	w->text = 0;
	w->rested = w->at;
	path_get(&w->at);
	spin_unlock(&tree_lock);
	path_put(&before);
	cond_resched();
	arch_cpu_relax(); /* who waits for the lock looks now */
	spin_lock(&tree_lock);
}

/* If something is mounted on w->at, go to its root. */
static void enter_mounts(struct walk *w)
{
	debug_assert(spin_is_held(&tree_lock));
	while (w->at.dentry->nr_mounts) {
		struct mount *m = mount_covering(w->at.mnt, w->at.dentry);

		if (!m)
			return;
		w->at.mnt = m;
		w->at.dentry = m->sb->root;
	}
}

static size_t skip_slashes(const char **text)
{
	const char *start = *text;

	while (**text == '/')
		(*text)++;
	return (size_t)(*text - start);
}

static void walk_up(struct walk *w)
{
	debug_assert(spin_is_held(&tree_lock));
	while (w->at.dentry == w->at.mnt->sb->root) {
		if ((w->at.dentry == w->root.dentry && w->at.mnt == w->root.mnt) ||
		    !w->at.mnt->at.dentry)
			return;
		w->at = w->at.mnt->at;
	}
	if (w->at.dentry != w->root.dentry || w->at.mnt != w->root.mnt)
		w->at.dentry = w->at.dentry->parent;
	enter_mounts(w);
}

/* The entry @name of the dynamic directory w->at, made for this walk; NULL if there is none. */
static int make_child(struct walk *w, const char *name, size_t len, struct dentry **out)
{
	struct dentry *dir = w->at.dentry;
	struct inode *inode;

	debug_assert(spin_is_held(&tree_lock));
	if (w->nr_held == MAX_HELD)
		return -ELOOP;
	w->held[w->nr_held++] = w->at;
	path_get(&w->at);
	spin_unlock(&tree_lock);
	inode = dir->inode->iops->lookup(dir->inode, name, len);
	bool failed = inode == INODE_LACKS || inode == INODE_ENDED || inode == INODE_DENIED;
	*out = inode && !failed ? dentry_create(dir, name, len, inode) : NULL;
	spin_lock(&tree_lock);
	if (*out)
		list_add_tail(&w->made, &(*out)->made);
	return failed ? (int)(long)inode : inode && !*out ? -ENOMEM : 0;
}

static int find_child(struct walk *w, const char *name, size_t len, struct dentry **out)
{
	const struct inode_ops *iops = w->at.dentry->inode->iops;

	debug_assert(spin_is_held(&tree_lock));
	*out = dentry_find(w->at.dentry, name, len);
	return *out || !iops || !iops->lookup ? 0 : make_child(w, name, len, out);
}

/* Continue at the target of the link @d. @rest is the text after it. */
static int follow_link(struct walk *w, struct dentry *d, const char **rest)
{
	struct inode *i = d->inode;
	struct path target;
	int err;

	debug_assert(spin_is_held(&tree_lock));
	if (++w->links > MAX_LINKS || w->nr_held == MAX_HELD)
		return -ELOOP;
	if (i->link) {
		w->texts[w->nr_texts++] = inode_get(i);
		w->text += skip_slashes(rest);
		w->rest[w->depth++] = *rest;
		*rest = i->link;
		if (**rest == '/')
			w->at = w->root;
		return 0;
	}
	inode_get(i);
	spin_unlock(&tree_lock);
	err = i->iops->follow(i, &target);
	inode_put(i);
	spin_lock(&tree_lock);
	if (err)
		return err;
	w->held[w->nr_held++] = target;
	w->at = target;
	return 0;
}

/* Make the regular file @name in w->at. tree_lock held. */
static int create_file(struct walk *w, const char *name, size_t len, u32 mode)
{
	struct dentry *dir = w->at.dentry, *d;
	const struct fs_type *type = dir->inode->sb->type;
	struct inode *inode;
	int err;

	assert(spin_is_held(&tree_lock));
	if (!dir->linked && dir != dir->inode->sb->root)
		return -ENOENT;
	if (!type->create)
		return type->create_errno;
	err = path_writable(&w->at) ?: inode_permission(dir->inode, MAY_WRITE | MAY_EXEC);
	if (err)
		return err;
	inode = type->create(dir->inode->sb, S_IFREG | mode);
	if (inode)
		inode_set_owner(inode, dir->inode);
	d = dentry_create(dir, name, len, inode);
	if (!d)
		return -ENOSPC;
	dentry_link(d);
	inode_touch(dir->inode);
	w->at.dentry = d;
	return 0;
}

/* The length of the component at @text; 0 at the end. */
static size_t component_length(const char *text)
{
	size_t len = 0;

	while (text[len] && text[len] != '/')
		len++;
	return len;
}

/* Is there nothing but slashes left, here and on the stack, whose texts begin with none? */
static bool at_end(const struct walk *w, const char *rest, bool *slash)
{
	*slash = *rest == '/';
	skip_slashes(&rest);
	if (*rest)
		return false;
	for (unsigned i = 0; i < w->depth; i++)
		if (*w->rest[i])
			return false;
	return true;
}

/* One component that is neither "." nor "..". */
static int step(struct walk *w, const char *name, size_t len, const char **rest,
		struct walk_result *res)
{
	bool slash, last = at_end(w, *rest, &slash);
	struct dentry *d;
	int err = find_child(w, name, len, &d);

	debug_assert(spin_is_held(&tree_lock));
	if (err)
		return err;
	if (unlikely(slash) && last && (w->flags & WALK_CREATE))
		return -EISDIR;
	if (!d) {
		if (!last || !(w->flags & WALK_CREATE))
			return -ENOENT;
		res->created = true;
		return create_file(w, name, len, res->mode);
	}
	if (last && (w->flags & WALK_EXCL))
		return -EEXIST;
	if (S_ISLNK(d->inode->mode) && (!last || slash || (w->flags & WALK_FOLLOW)))
		return follow_link(w, d, rest);
	w->at.dentry = d;
	enter_mounts(w);
	return slash && !S_ISDIR(w->at.dentry->inode->mode) ? -ENOTDIR : 0;
}

static int walk_components(struct walk *w, const char *text, struct walk_result *res)
{
	for (;;) {
		size_t skipped = skip_slashes(&text), len = component_length(text);
		const char *name = text;
		bool slash;
		int err;

		w->text += skipped + len;
		if (unlikely(w->text > MAX_TEXT))
			rest(w);
		if (!len) {
			if (!w->depth)
				return 0;
			text = w->rest[--w->depth];
			continue;
		}
		if (!S_ISDIR(w->at.dentry->inode->mode))
			return -ENOTDIR;
		err = inode_permission(w->at.dentry->inode, MAY_EXEC);
		if (err)
			return err;
		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		text += len;
		if ((w->flags & WALK_PARENT) && !w->depth && at_end(w, text, &slash)) {
			res->name = name;
			res->name_len = len;
			res->slash = slash;
			return 0;
		}
		if (name[0] == '.' && len == 1)
			continue;
		if (name[0] == '.' && name[1] == '.' && len == 2) {
			walk_up(w);
			continue;
		}
		err = step(w, name, len, &text, res);
		if (err)
			return err;
	}
}

/* Find the place where @text starts, with references for the caller. */
static int walk_start(int dirfd, const char *text, struct path *start)
{
	struct fd_ref ref;

	if (*text == '/') {
		fs_context_root(start);
		return 0;
	}
	if (dirfd == AT_FDCWD) {
		fs_context_cwd(start);
		return 0;
	}
	ref = fd_borrow_any(dirfd);
	if (!ref.file)
		return -EBADF;
	*start = ref.file->path;
	if (start->dentry)
		path_get(start);
	fd_release(ref);
	return start->dentry ? 0 : -ENOTDIR;
}

static void walk_drop(struct walk *w)
{
	struct dentry *d, *tmp;

	debug_assert(!spin_is_held(&tree_lock));
	list_for_each_safe(d, tmp, &w->made, made) {
		list_del(&d->made);
		dentry_put(d);
	}
	if (unlikely(w->rested.dentry))
		path_put(&w->rested);
	while (w->nr_held)
		path_put(&w->held[--w->nr_held]);
	while (w->nr_texts)
		inode_put(w->texts[--w->nr_texts]);
}

int path_walk(int dirfd, const char *text, unsigned flags, struct walk_result *res)
{
	struct walk w; /* large: only its counts are initialised */
	struct path start;
	int err;

	debug_assert(may_sleep());
	if (!*text && !(flags & WALK_EMPTY))
		return -ENOENT;
	err = walk_start(dirfd, text, &start);
	if (err)
		return err;
	fs_context_root(&w.root);
	w.flags = flags;
	w.depth = w.links = w.nr_held = w.nr_texts = 0;
	w.text = 0;
	w.rested.dentry = NULL;
	list_init(&w.made);
	res->created = false;
	res->name_len = 0;

	spin_lock(&tree_lock);
	w.at = start;
	err = walk_components(&w, text, res);
	if (!err && (flags & WALK_DIR) && !S_ISDIR(w.at.dentry->inode->mode))
		err = -ENOTDIR;
	if (!err) {
		res->path = w.at;
		path_get(&res->path);
	}
	spin_unlock(&tree_lock);
	walk_drop(&w);
	path_put(&start);
	path_put(&w.root);
	return err;
}

int path_lookup(int dirfd, const char *text, unsigned flags, struct path *out)
{
	struct walk_result res;
	int err = path_walk(dirfd, text, flags, &res);

	if (!err)
		*out = res.path;
	return err;
}

int path_mknod(int dirfd, const char *text, u32 mode, u32 rdev, const char *link)
{
	struct walk_result at;
	int err = path_walk(dirfd, text, WALK_PARENT, &at);

	if (err)
		return err;
	err = tree_mknod(&at, mode, rdev, link);
	path_put(&at.path);
	return err;
}

int path_unlink(int dirfd, const char *text, bool dir)
{
	struct walk_result at;
	int err = path_walk(dirfd, text, WALK_PARENT, &at);

	if (err)
		return err;
	err = tree_unlink(&at, dir);
	path_put(&at.path);
	return err;
}

/* --- back from places to text --------------------------------------------------------- */

static char *prepend(char *end, char *buf, const char *s, size_t n)
{
	if (!end || end - buf < (long)n)
		return NULL;
	memcpy(end - n, s, n);
	return end - n;
}

char *path_text(const struct path *p, const struct path *root, char *buf, size_t size)
{
	struct path at = *p;
	char *end = buf + size - 1, *out = end;

	*end = 0;
	spin_lock(&tree_lock);
	if (!at.dentry->inode->nlink)
		out = prepend(out, buf, " (deleted)", 10);
	end = out;
	while (out && (at.dentry != root->dentry || at.mnt != root->mnt)) {
		if (at.dentry == at.mnt->sb->root) {
			if (!at.mnt->at.dentry) {
				out = root->dentry ? NULL : out;
				break;
			}
			at = at.mnt->at;
			continue;
		}
		out = prepend(out, buf, at.dentry->name, at.dentry->name_len);
		out = prepend(out, buf, "/", 1);
		at.dentry = at.dentry->parent;
	}
	spin_unlock(&tree_lock);
	return out == end ? prepend(out, buf, "/", 1) : out;
}

char *path_own_text(const struct path *p, char *buf, size_t size)
{
	struct path root;
	char *text;

	fs_context_root(&root);
	text = path_text(p, &root, buf, size) ?: path_text(p, &(struct path){ 0 }, buf, size);
	path_put(&root);
	return text;
}

const char *file_path(struct file *f, char *buf, size_t size)
{
	char *text = f->path.dentry ? path_own_text(&f->path, buf, size) : NULL;

	if (!text)
		return "(unreachable)";
	memmove(buf, text, strlen(text) + 1);
	return buf;
}
