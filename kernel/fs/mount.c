/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Mounts: which file system is seen where. A mount covers a (mount, dentry) pair; nr_mounts of the
 * dentry tells a walk cheaply that it must look here. The list is short and in order of mounting,
 * so that /proc/mounts reads like Linux's. Guarded by tree_lock.
 */
#include "kernel/contract.h"
#include "kernel/fs/vfs.h"

#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "lib/fmt.h"
#include "lib/string.h"

#define MAX_FS_TYPES 16

struct list mounts = LIST_INIT(mounts);
static u32 next_id = 1; /* guarded by: tree_lock */
static const struct fs_type *types[MAX_FS_TYPES];
static unsigned nr_types;

void fs_register(const struct fs_type *type)
{
	assert(nr_types < MAX_FS_TYPES);
	types[nr_types++] = type;
}

const struct fs_type *fs_find(const char *name)
{
	for (unsigned i = 0; i < nr_types; i++)
		if (!strcmp(types[i]->name, name))
			return types[i];
	return NULL;
}

struct mount *mount_covering(const struct mount *mnt, const struct dentry *d)
{
	struct mount *m;

	assert(spin_is_held(&tree_lock));
	list_for_each(m, &mounts, link)
		if (m->at.dentry == d && m->at.mnt == mnt)
			return m;
	return NULL;
}

/* Does a later walk find @at? Not what was removed, nor a name of /proc/PID. tree_lock held. */
static bool is_found(const struct path *at)
{
	assert(spin_is_held(&tree_lock));
	return !list_empty(&at->mnt->link) &&
	       (at->dentry->linked || at->dentry == at->mnt->sb->root);
}

/* Mount @m on @at. 0 or -errno. tree_lock held. */
static int put_on(struct mount *m, const struct path *at)
{
	assert(spin_is_held(&tree_lock));
	if (!is_found(at))
		return -ENOENT;
	if (at->dentry == m->sb->root || mount_covering(at->mnt, at->dentry))
		return -EBUSY;
	m->at = *at;
	m->parent_id = at->mnt->id;
	path_get(at);
	at->dentry->nr_mounts++;
	return 0;
}

int mount_add(const struct fs_type *type, const char *source, const struct path *at, u64 flags,
	      const char *options)
{
	struct mount *m = kzalloc(sizeof(*m));
	int err;

	debug_assert(options);
	if (!m)
		return -ENOMEM;
	m->sb = type->get(type, options, &err);
	if (!m->sb) {
		kfree(m);
		return err;
	}
	m->refs = 1;
	m->flags = (u32)flags;
	str_copy(m->source, source, sizeof(m->source));
	spin_lock(&tree_lock);
	err = at ? put_on(m, at) : 0;
	if (!err) {
		m->id = next_id++;
		list_add_tail(&mounts, &m->link);
	}
	spin_unlock(&tree_lock);
	if (err) {
		superblock_put(m->sb);
		kfree(m);
	}
	return err;
}

/* A mount whose place is no longer anywhere, or NULL. tree_lock held. */
static struct mount *orphan(void)
{
	struct mount *m;

	assert(spin_is_held(&tree_lock));
	list_for_each(m, &mounts, link)
		if (m->at.mnt && !is_found(&m->at))
			return m;
	return NULL;
}

/* Take @m from its place. tree_lock held, but not all the time. */
static void take_off(struct mount *m)
{
	struct path at = m->at;

	assert(spin_is_held(&tree_lock));
	debug_assert(at.dentry->nr_mounts);
	list_del(&m->link);
	at.dentry->nr_mounts--;
	m->at = (struct path){ 0 };
	spin_unlock(&tree_lock);
	path_put(&at);
	path_put(&(struct path){ m, dentry_get(m->sb->root) });
	spin_lock(&tree_lock);
}

void mount_remove_lost(void)
{
	debug_assert(may_sleep());
	spin_lock(&tree_lock);
	for (struct mount *m; (m = orphan());)
		take_off(m);
	spin_unlock(&tree_lock);
}

int mount_remove(const struct path *p, bool detach)
{
	struct mount *m = p->mnt;
	int err = 0;

	spin_lock(&tree_lock);
	if (p->dentry != m->sb->root || !m->at.dentry || list_empty(&m->link))
		err = -EINVAL;
	else if (!detach && m->refs > 2) /* mounted, and @p */
		err = -EBUSY;
	for (; !err && m; m = orphan())
		take_off(m);
	spin_unlock(&tree_lock);
	return err;
}

/*
 * The mount number @index with a reference, or NULL. A line of /proc/mounts needs the path without
 * tree_lock held, so mounts are taken one by one.
 */
static struct mount *next_mount(unsigned index)
{
	struct mount *m;

	spin_lock(&tree_lock);
	list_for_each(m, &mounts, link)
		if (!index--)
			break;
	if (&m->link == &mounts)
		m = NULL;
	else
		path_get(&(struct path){ m, m->sb->root });
	spin_unlock(&tree_lock);
	return m;
}

/* Number, parent, device, root, place, options - type, source, options: proc(5). */
static void add_info(struct text *t, const struct mount *m, const char *name)
{
	const char *access = m->flags & MS_RDONLY ? "ro" : "rw";

	text_add(t, "%u %u 0:%u / %s %s%s%s%s,relatime - %s %s %s%s\n", m->id, m->parent_id,
		 m->sb->dev, name, access, m->flags & MS_NOSUID ? ",nosuid" : "",
		 m->flags & MS_NODEV ? ",nodev" : "", m->flags & MS_NOEXEC ? ",noexec" : "",
		 m->sb->type->name, m->source, access, m->sb->type->options ?: "");
}

static void add_mount(struct text *t, const struct mount *m, const char *name)
{
	text_add(t, "%s %s %s %s%s%s%s,relatime%s 0 0\n", m->source, name, m->sb->type->name,
		 m->flags & MS_RDONLY ? "ro" : "rw", m->flags & MS_NOSUID ? ",nosuid" : "",
		 m->flags & MS_NODEV ? ",nodev" : "", m->flags & MS_NOEXEC ? ",noexec" : "",
		 m->sb->type->options ?: "");
}

static size_t print_mounts(char *buf, size_t size,
			   void (*add)(struct text *t, const struct mount *m, const char *name))
{
	struct text t = text_of(buf, size);
	char *name = kmalloc(PATH_MAX), *text;
	struct path root, top;
	struct mount *m;

	if (!name)
		return 0;
	fs_context_root(&root);
	for (unsigned i = 0; (m = next_mount(i)); i++) {
		top = (struct path){ m, m->sb->root };
		text = path_text(&top, &root, name, PATH_MAX);
		if (text) /* else it is outside of the root, or gone by now */
			add(&t, m, text);
		path_put(&top);
	}
	path_put(&root);
	kfree(name);
	return t.len;
}

size_t mount_print(char *buf, size_t size)
{
	return print_mounts(buf, size, add_mount);
}

size_t mount_print_info(char *buf, size_t size)
{
	return print_mounts(buf, size, add_info);
}

size_t fs_print_types(char *buf, size_t size)
{
	struct text t = text_of(buf, size);

	for (unsigned i = 0; i < nr_types; i++)
		text_add(&t, "nodev\t%s\n", types[i]->name);
	return t.len;
}
