/* SPDX-License-Identifier: GPL-2.0-only */
/* Opening files by name: what flags ask of a walk, and which permissions they need. */
#include "kernel/contract.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/proc.h"

static unsigned open_walk_flags(u32 flags)
{
	unsigned walk = 0;

	if (!(flags & O_NOFOLLOW) && !((flags & O_CREAT) && (flags & O_EXCL)))
		walk |= WALK_FOLLOW;
	if (flags & O_DIRECTORY)
		walk |= WALK_DIR;
	if (flags & O_CREAT)
		walk |= WALK_CREATE;
	if ((flags & O_CREAT) && (flags & O_EXCL))
		walk |= WALK_EXCL;
	return walk;
}

static unsigned wanted(u32 flags)
{
	/* The last can do neither, but is for devices that it could configure: it needs both. */
	static const u8 wants[] = { MAY_READ, MAY_WRITE, MAY_READ | MAY_WRITE,
				    MAY_READ | MAY_WRITE };

	return wants[flags & O_ACCMODE] | (flags & O_TRUNC ? MAY_WRITE : 0u);
}

/* May the existing @inode be opened with @flags? */
static int check_open(const struct inode *inode, u32 flags)
{
	if (S_ISLNK(inode->mode))
		return flags & O_PATH ? 0 : -ELOOP;
	if (S_ISDIR(inode->mode) && (flags & (O_ACCMODE | O_CREAT | O_TRUNC)))
		return -EISDIR;
	if (flags & O_PATH)
		return 0;
	return !inode->fops ? -ENXIO
			    : inode_permission(inode, wanted(flags))
				      ?: inode_may_noatime(inode, flags);
}

/* Let the new @f be the file at @path. 0, or -errno and @f is gone. */
static int open_path(struct file *f, const struct path *path, bool created, u32 flags)
{
	struct inode *inode = path->dentry->inode;
	bool truncate = (flags & O_TRUNC) && (flags & O_ACCMODE) && !created;
	int err = created ? 0 : check_open(inode, flags);

	if (err) {
		file_free(f);
		return err;
	}
	err = file_begin(f, inode, path, flags);
	if (!err && truncate && f->ops->truncate) {
		err = (int)f->ops->truncate(inode, 0);
		if (err)
			file_put(f);
	}
	return err;
}

struct file *file_open_at(int dirfd, const char *text, u32 flags, u32 mode, int *err)
{
	struct fs_context *fs = current->proc->fs;
	struct walk_result res = { .mode = mode & 07777 & ~(fs ? READ_ONCE(fs->umask) : 0) };
	struct file *f = file_alloc(); /* before the walk, which may make a file */

	debug_assert(may_sleep());
	if (!f) {
		*err = file_shortage();
		return NULL;
	}
	if (flags & O_PATH)
		flags &= O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	*err = path_walk(dirfd, text, open_walk_flags(flags), &res);
	if (*err) {
		file_free(f);
		return NULL;
	}
	*err = open_path(f, &res.path, res.created, flags);
	path_put(&res.path);
	return *err ? NULL : f;
}

struct file *file_open(const char *path, unsigned flags, unsigned mode, int *err)
{
	return file_open_at(AT_FDCWD, path, flags, mode, err);
}

struct file *file_open_exec(const char *text, int *err)
{
	struct path path;
	struct file *f;

	*err = path_lookup(AT_FDCWD, text, WALK_FOLLOW, &path);
	if (*err)
		return NULL;
	*err = path_may_exec(&path);
	f = *err ? NULL : file_create(path.dentry->inode, &path, O_RDONLY, err);
	path_put(&path);
	return f;
}

int file_open_stdio(void)
{
	int err;
	struct file *f = file_open("/dev/console", O_RDWR, 0, &err);

	debug_assert(current->proc == init_proc);
	if (!f)
		return err;
	for (int fd = 0; fd < 3; fd++) {
		err = fd_install(file_get(f), 0, false);
		if (err < 0)
			break;
	}
	file_put(f);
	return err < 0 ? err : 0;
}
