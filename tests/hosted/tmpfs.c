/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A tmpfs (kernel/fs/tmpfs.c) with its tree of names (tree.c, dentry.c, path.c). Each thread has at
 * most one open file. The model is tmpfs_model.c.
 *
 * Of several threads each call is a step, as far as the file system says so: none reads, and only
 * files are renamed, which have other names than directories.
 */
#include "tmpfs.h"
#include "kernel/fs/vfs.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/task/proc.h"
#include "kernel/task/thread.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "libc.h"

/* A name that does not fit into a dentry, so that it takes an allocation. */
#define LONG "bbbbbbbbbbbbbbbbbbbbbbbb"
STATIC_ASSERT(sizeof(LONG) == TMPFS_LONG + 1, "the model knows its length");

const char *const tmpfs_paths[] = { "/a",   "/" LONG, "/a/" LONG,   "/" LONG "/a",
				    "/c",   "/c/a",   "/c/" LONG,   "/d",
				    "/d/a", "/d/c",   "/d/c/" LONG, "/c/d/a",
				    "/c/d", "/a/",    "/c/",	    "/c/d/" };
STATIC_ASSERT(ARRAY_SIZE(tmpfs_paths) == TMPFS_PATHS, "the numbers of calls name each path");

/* Programs of several threads use these paths: the first for files, the others for directories. */
static const u8 file_paths[] = { 0, 1, 2, 5, 6, 8, 10, 11 }, dir_paths[] = { 4, 7, 9, 12, 14 };

const u64 tmpfs_offsets[] = { 0,
			      1,
			      100,
			      4095,
			      4096,
			      4000,
			      12288,
			      2u << 20,
			      (2u << 20) + 4095,
			      TMPFS_MOST - 101, /* a call on 101 bytes ends at the last */
			      TMPFS_MOST,
			      TMPFS_MOST + 1 };
STATIC_ASSERT(ARRAY_SIZE(tmpfs_offsets) == TMPFS_OFFSETS, "the numbers of calls name each offset");
const u32 tmpfs_lengths[] = { 1, 100, 4096, 5000, 0, 8192 };
STATIC_ASSERT(ARRAY_SIZE(tmpfs_lengths) == TMPFS_LENGTHS, "the numbers of calls name each length");

static const char *const op_names[] = { "create", "exclusive", "open",	     "empty",  "close",
					"stat",	  "list",      "mkdir",	     "rmdir",  "unlink",
					"link",	  "rename",    "rename_new", "read",   "write",
					"append", "truncate",  "allocate",   "extend", "map",
					"size",	  "count",     NULL };

struct tree {
	struct mount *mount;
	bool alone;
	struct file *hand[NR_FIBERS];
};

static void destroy(void *object)
{
	struct tree *o = object;

	list_del(&o->mount->link);
	path_put(&(struct path){ o->mount, dentry_get(o->mount->sb->root) });
	for (unsigned i = 0; i < NR_FIBERS; i++)
		file_put(o->hand[i]); /* the last file outlives the mount */
	free(o);
}

static void *create(unsigned nr_threads)
{
	/* Others may see the moment between an unlink and the end of the file: no limits. */
	const char *options = nr_threads > 1 ? "" : "nr_inodes=7,nr_blocks=5";
	struct tree *o;
	int err;

	list_init(&mounts);
	current->proc->rlimit[RLIMIT_FSIZE].cur = RLIM_INFINITY;
	err = mount_add(&tmpfs_type, "none", NULL, 0, options);
	assert(!err || err == -ENOMEM);
	if (err)
		return NULL;
	o = calloc(1, sizeof(*o));
	o->alone = nr_threads == 1;
	o->mount = list_first(&mounts, struct mount, link);
	return o;
}

static u32 of_paths(const u8 *list, u32 nr, struct prng *random)
{
	u32 first = list[prng_below(random, nr)], second = list[prng_below(random, nr)];

	return first + second * TMPFS_PATHS;
}

static struct call draw_beside_others(struct prng *random)
{
	static const u8 often[] = { TMPFS_CREATE,   TMPFS_EXCLUSIVE, TMPFS_OPEN,   TMPFS_CLOSE,
				    TMPFS_STAT,	    TMPFS_MKDIR,     TMPFS_MKDIR,  TMPFS_RMDIR,
				    TMPFS_UNLINK,   TMPFS_LINK,	     TMPFS_RENAME, TMPFS_RENAME_NEW,
				    TMPFS_TRUNCATE, TMPFS_APPEND,    TMPFS_APPEND, TMPFS_MAP,
				    TMPFS_SIZE };
	/* Each append lies in one page, and a mapping shows the first byte of one. */
	static const u8 offsets[] = { 0, 4, 6, 7, 1, 2 };
	struct call call = { .op = often[prng_below(random, ARRAY_SIZE(often))] };

	if (call.op == TMPFS_MKDIR || call.op == TMPFS_RMDIR)
		call.n = of_paths(dir_paths, ARRAY_SIZE(dir_paths), random);
	else if (call.op < TMPFS_READ)
		call.n = of_paths(file_paths, ARRAY_SIZE(file_paths), random);
	else
		call.n = offsets[prng_below(random, call.op == TMPFS_MAP ? 4 : 6)] +
			 prng_below(random, 2) * TMPFS_OFFSETS;
	return call;
}

static const struct range ranges[ARRAY_SIZE(op_names)] = {
	[TMPFS_CREATE... TMPFS_RENAME_NEW] = { 0, TMPFS_PATHS *TMPFS_PATHS - 1 },
	[TMPFS_READ... TMPFS_COUNT] = { 0, TMPFS_OFFSETS *TMPFS_LENGTHS - 1 },
};

static struct call draw(struct prng *random, bool alone)
{
	static const u8 often[] = { TMPFS_CREATE,   TMPFS_CREATE, TMPFS_CREATE,	    TMPFS_EXCLUSIVE,
				    TMPFS_OPEN,	    TMPFS_EMPTY,  TMPFS_CLOSE,	    TMPFS_STAT,
				    TMPFS_LIST,	    TMPFS_MKDIR,  TMPFS_MKDIR,	    TMPFS_MKDIR,
				    TMPFS_RMDIR,    TMPFS_UNLINK, TMPFS_LINK,	    TMPFS_LINK,
				    TMPFS_RENAME,   TMPFS_RENAME, TMPFS_RENAME_NEW, TMPFS_READ,
				    TMPFS_READ,	    TMPFS_READ,	  TMPFS_WRITE,	    TMPFS_WRITE,
				    TMPFS_WRITE,    TMPFS_APPEND, TMPFS_TRUNCATE,   TMPFS_TRUNCATE,
				    TMPFS_ALLOCATE, TMPFS_EXTEND, TMPFS_MAP,	    TMPFS_SIZE,
				    TMPFS_COUNT };
	struct call call;

	if (!alone)
		return draw_beside_others(random);
	call = (struct call){ .op = often[prng_below(random, ARRAY_SIZE(often))] };
	call.n = prng_below(random, TMPFS_PATHS * TMPFS_PATHS);
	if (call.op >= TMPFS_READ)
		call.n = prng_below(random, TMPFS_OFFSETS * TMPFS_LENGTHS);
	if (call.op >= TMPFS_READ && call.op <= TMPFS_APPEND && !prng_below(random, 6))
		call.how = 1 + (u8)prng_below(random, 2);
	/* Half of that ends at a page, where a bad address and a lack of memory are the same. */
	if (tmpfs_length(&call) == 8192 && call.how == USER_BAD)
		call.how = USER_ABSENT;
	return call;
}

/* --- calls on names ------------------------------------------------------------------------- */

static long open_file(struct tree *o, unsigned nr, const char *path, u32 flags)
{
	int err;
	struct file *f = file_open_at(AT_FDCWD, path, O_RDWR | flags, 0644, &err);

	if (!f)
		return err;
	file_put(o->hand[nr]);
	o->hand[nr] = f;
	return 0;
}

static long close_file(struct tree *o, unsigned nr)
{
	long ret = o->hand[nr] ? 0 : -EBADF;

	file_put(o->hand[nr]);
	o->hand[nr] = NULL;
	return ret;
}

static long stat_path(const struct tree *o, const char *text, u64 *digest)
{
	struct path path;
	const struct inode *i;
	int err = path_lookup(AT_FDCWD, text, 0, &path);

	if (err)
		return err;
	i = path.dentry->inode;
	if (o->alone)
		*digest = tmpfs_digest(i->nlink, S_ISDIR(i->mode) ? 0 : i->size, i->nr_pages);
	err = S_ISDIR(i->mode);
	path_put(&path);
	return err;
}

static int add_name(void *arg, const char *name, u64 ino, unsigned type, u64 next_pos)
{
	u64 *digest = arg;

	(void)ino;
	(void)next_pos;
	for (; *name; name++)
		*digest = mix(*digest, (u8)*name);
	*digest = mix(*digest, type == S_IFDIR >> 12);
	return 0;
}

static long list_names(const char *text, u64 *digest)
{
	struct file f = { .refs = 1 };
	int err = path_lookup(AT_FDCWD, text, WALK_DIR, &f.path);

	if (err)
		return err;
	*digest = TMPFS_BASIS;
	err = dentry_readdir(&f, add_name, digest);
	path_put(&f.path);
	return err;
}

static long rename_path(const char *from_text, const char *to_text, bool noreplace)
{
	struct walk_result from, to;
	int err = path_walk(AT_FDCWD, from_text, WALK_PARENT, &from);

	if (err)
		return err;
	err = path_walk(AT_FDCWD, to_text, WALK_PARENT, &to);
	if (!err) {
		err = tree_rename(&from, &to, noreplace);
		path_put(&to.path);
	}
	path_put(&from.path);
	return err;
}

static long link_path(const char *old_text, const char *text)
{
	struct walk_result at;
	struct path old;
	int err = path_lookup(AT_FDCWD, old_text, 0, &old);

	if (err)
		return err;
	err = path_walk(AT_FDCWD, text, WALK_PARENT, &at);
	if (!err) {
		err = tree_link(&old, &at);
		path_put(&at.path);
	}
	path_put(&old);
	return err;
}

/* --- calls on the open file ------------------------------------------------------------------ */

static long read_file(struct file *f, const struct call *call, u64 *digest)
{
	u8 buffer[8192];
	u64 pos = tmpfs_offset(call);
	long n;

	memset(buffer, 0x5a, sizeof(buffer));
	user_memory_is(call->how, tmpfs_length(call) / 2);
	n = f->ops->read(f, buffer, tmpfs_length(call), &pos);
	*digest = pos;
	for (long i = 0; i < n; i++)
		*digest = mix(*digest, buffer[i]);
	return n;
}

static long write_file(struct file *f, unsigned id, const struct call *call, u64 *digest)
{
	u8 buffer[8192];
	u64 pos = tmpfs_offset(call);
	long n;

	for (u32 i = 0; i < tmpfs_length(call); i++)
		buffer[i] = tmpfs_byte(id, i);
	f->flags = call->op == TMPFS_APPEND ? O_RDWR | O_APPEND : O_RDWR;
	user_memory_is(call->how, tmpfs_length(call) / 2);
	n = f->ops->write(f, buffer, tmpfs_length(call), &pos);
	*digest = n > 0 ? pos : 0;
	return n;
}

/* The byte at the offset as one who maps the file sees it. */
static long map_byte(struct file *f, u64 offset)
{
	u64 pa = f->ops->map_page(f, ALIGN_DOWN(offset, PAGE_SIZE));
	long byte;

	if (!is_page(pa))
		return pa == BEHIND_END ? -ENXIO : pa ? -ENOSPC : -ENOMEM;
	byte = ((const u8 *)phys_to_virt(pa))[offset % PAGE_SIZE];
	page_put(pa);
	return byte;
}

static long perform_on_file(struct file *f, unsigned id, const struct call *call, u64 *digest)
{
	u64 offset = tmpfs_offset(call);
	long ret;

	if (!f)
		return -EBADF;
	switch ((enum tmpfs_op)call->op) {
	case TMPFS_READ:
		return read_file(f, call, digest);
	case TMPFS_TRUNCATE:
		return f->ops->truncate(f->inode, offset);
	case TMPFS_ALLOCATE:
	case TMPFS_EXTEND:
		ret = f->ops->allocate(f->inode, offset, tmpfs_length(call) + 1,
				       call->op == TMPFS_EXTEND);
		*digest = f->inode->nr_pages;
		return ret;
	case TMPFS_MAP:
		return map_byte(f, offset);
	case TMPFS_SIZE:
		return (long)READ_ONCE(f->inode->size);
	default:
		return write_file(f, id, call, digest);
	}
}

static long perform_on_name(struct tree *o, unsigned nr, const struct call *call, u64 *digest)
{
	const char *path = tmpfs_paths[call->n % TMPFS_PATHS];
	const char *second = tmpfs_paths[call->n / TMPFS_PATHS % TMPFS_PATHS];

	switch ((enum tmpfs_op)call->op) {
	case TMPFS_CREATE:
		return open_file(o, nr, path, O_CREAT);
	case TMPFS_EXCLUSIVE:
		return open_file(o, nr, path, O_CREAT | O_EXCL);
	case TMPFS_OPEN:
		return open_file(o, nr, path, 0);
	case TMPFS_EMPTY:
		return open_file(o, nr, path, O_TRUNC);
	case TMPFS_STAT:
		return stat_path(o, path, digest);
	case TMPFS_LIST:
		return list_names(path, digest);
	case TMPFS_MKDIR:
		return path_mknod(AT_FDCWD, path, S_IFDIR | 0755, 0, NULL);
	case TMPFS_RMDIR:
	case TMPFS_UNLINK:
		return path_unlink(AT_FDCWD, path, call->op == TMPFS_RMDIR);
	case TMPFS_LINK:
		return link_path(path, second);
	default:
		return rename_path(path, second, call->op == TMPFS_RENAME_NEW);
	}
}

static struct answer perform(void *object, unsigned nr, unsigned id, const struct call *call)
{
	struct tree *o = object;
	struct answer a = { 0 };

	if (call->op == TMPFS_CLOSE)
		a.value = close_file(o, nr);
	else if (call->op == TMPFS_COUNT)
		a.value = (long)(o->mount->sb->nr_inodes * 100 + o->mount->sb->nr_pages);
	else if (call->op < TMPFS_READ)
		a.value = perform_on_name(o, nr, call, &a.digest);
	else
		a.value = perform_on_file(o->hand[nr], id, call, &a.digest);
	return a;
}

/*
 * Two directories move into each other: mkdir /c and /d, then /c to /d/c beside /d to /c/d.
 * A removed file that is open keeps its directory, over which another is moved: /c over /a.
 * A file is moved over another whose name is long: without memory for that both stay.
 */
static const char *const known[] = { "mkdir:4 mkdir:7 rename:148 / rename:199",
				     "mkdir:4 mkdir:0 create:2 unlink:2 rename:4 count:0 close:0 "
				     "count:0",
				     "create:1 create:0 rename:16 stat:1 stat:0 count:0", NULL };

DEFINE_OBJECT_BESIDE(tmpfs,
		     "$each(((struct tree *)object)->mount->sb->root->entries, "
		     "\"struct dentry.by_cookie\")",
		     .known = known);
