/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System calls on names: directories, links, renaming, where a process is, mounts.
 */
#include "kernel/syscall/syscall.h"

#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/syscall/user_path.h"
#include "kernel/time/time.h"
#include "lib/string.h"

#define AT_SYMLINK_NOFOLLOW 0x100u
#define AT_REMOVEDIR	    0x200u
#define AT_SYMLINK_FOLLOW   0x400u
#define AT_EMPTY_PATH	    0x1000u

/* --- path names ----------------------------------------------------------------------- */

int user_path_get(struct user_path *p, const char *user)
{
	long len = arch_strncpy_from_user(p->small, user, sizeof(p->small));

	p->text = p->small;
	if (len < 0)
		return (int)len;
	if (len < (long)sizeof(p->small))
		return 0;
	p->text = kmalloc(PATH_MAX);
	if (!p->text)
		return -ENOMEM;
	len = arch_strncpy_from_user(p->text, user, PATH_MAX);
	if (len >= 0 && len < PATH_MAX)
		return 0;
	kfree(p->text);
	return len < 0 ? (int)len : -ENAMETOOLONG;
}

void user_path_put(struct user_path *p)
{
	if (p->text != p->small)
		kfree(p->text);
}

int user_lookup(int dirfd, const char *user, unsigned flags, struct path *out)
{
	struct user_path path;
	int err = user_path_get(&path, user);

	if (err)
		return err;
	err = path_lookup(dirfd, path.text, flags, out);
	user_path_put(&path);
	return err;
}

int user_parent_get(int dirfd, const char *user, struct user_parent *p)
{
	int err = user_path_get(&p->path, user);

	if (err)
		return err;
	err = path_walk(dirfd, p->path.text, WALK_PARENT, &p->at);
	if (err)
		user_path_put(&p->path);
	return err;
}

void user_parent_put(struct user_parent *p)
{
	path_put(&p->at.path);
	user_path_put(&p->path);
}

/* --- making and removing names -------------------------------------------------------- */

static long make_node(int dirfd, const char *user, u32 mode, u32 rdev, const char *link)
{
	struct user_path p;
	int err = user_path_get(&p, user);

	if (err)
		return err;
	if (!S_ISLNK(mode))
		mode &= ~READ_ONCE(current->proc->fs->umask);
	err = path_mknod(dirfd, p.text, mode, rdev, link);
	user_path_put(&p);
	return err;
}

SYSCALL3(mkdirat, int, dirfd, const char *, path, u32, mode)
{
	return make_node(dirfd, path, S_IFDIR | (mode & 01777), 0, NULL);
}

SYSCALL2(mkdir, const char *, path, u32, mode)
{
	return make_node(AT_FDCWD, path, S_IFDIR | (mode & 01777), 0, NULL);
}

static long make_special(int dirfd, const char *user, u32 mode, u32 rdev)
{
	if ((S_ISCHR(mode) || (mode & S_IFMT) == S_IFBLK) && !capable(CAP_MKNOD))
		return -EPERM;
	switch (mode & S_IFMT) {
	case 0:
		mode |= S_IFREG;
		break;
	case S_IFREG:
	case S_IFCHR:
	case S_IFBLK:
	case S_IFIFO:
	case S_IFSOCK:
		break;
	default:
		return S_ISDIR(mode) ? -EPERM : -EINVAL;
	}
	return make_node(dirfd, user, mode & (S_IFMT | 07777), rdev, NULL);
}

SYSCALL4(mknodat, int, dirfd, const char *, path, u32, mode, u32, rdev)
{
	return make_special(dirfd, path, mode, rdev);
}

SYSCALL3(mknod, const char *, path, u32, mode, u32, rdev)
{
	return make_special(AT_FDCWD, path, mode, rdev);
}

static long make_symlink(const char *target, int dirfd, const char *user)
{
	struct user_path copy;
	long err = user_path_get(&copy, target);

	if (err)
		return err;
	err = *copy.text ? make_node(dirfd, user, S_IFLNK | 0777, 0, copy.text) : -ENOENT;
	user_path_put(&copy);
	return err;
}

SYSCALL3(symlinkat, const char *, target, int, dirfd, const char *, path)
{
	return make_symlink(target, dirfd, path);
}

SYSCALL2(symlink, const char *, target, const char *, path)
{
	return make_symlink(target, AT_FDCWD, path);
}

static long make_link(int from_fd, const char *from, int to_fd, const char *to, u32 flags)
{
	unsigned walk = (flags & AT_SYMLINK_FOLLOW ? WALK_FOLLOW : 0) |
			(flags & AT_EMPTY_PATH ? WALK_EMPTY : 0);
	struct user_parent p;
	struct path old;
	int err;

	if (flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	err = user_lookup(from_fd, from, walk, &old);
	if (err)
		return err;
	err = user_parent_get(to_fd, to, &p);
	if (!err) {
		err = tree_link(&old, &p.at);
		user_parent_put(&p);
	}
	path_put(&old);
	return err;
}

SYSCALL5(linkat, int, from_fd, const char *, from, int, to_fd, const char *, to, u32, flags)
{
	return make_link(from_fd, from, to_fd, to, flags);
}

SYSCALL2(link, const char *, from, const char *, to)
{
	return make_link(AT_FDCWD, from, AT_FDCWD, to, 0);
}

static long remove_name(int dirfd, const char *user, bool dir)
{
	struct user_path p;
	int err = user_path_get(&p, user);

	if (err)
		return err;
	err = path_unlink(dirfd, p.text, dir);
	user_path_put(&p);
	return err;
}

SYSCALL3(unlinkat, int, dirfd, const char *, path, u32, flags)
{
	return flags & ~AT_REMOVEDIR ? -EINVAL : remove_name(dirfd, path, flags & AT_REMOVEDIR);
}

SYSCALL1(unlink, const char *, path)
{
	return remove_name(AT_FDCWD, path, false);
}

SYSCALL1(rmdir, const char *, path)
{
	return remove_name(AT_FDCWD, path, true);
}

#define RENAME_NOREPLACE 1u

static long rename_at(int from_fd, const char *from, int to_fd, const char *to, u32 flags)
{
	struct user_parent a, b;
	int err;

	if (flags & ~RENAME_NOREPLACE)
		return -EINVAL;
	err = user_parent_get(from_fd, from, &a);
	if (err)
		return err;
	err = user_parent_get(to_fd, to, &b);
	if (!err) {
		err = tree_rename(&a.at, &b.at, flags & RENAME_NOREPLACE);
		user_parent_put(&b);
	}
	user_parent_put(&a);
	return err;
}

SYSCALL2(rename, const char *, from, const char *, to)
{
	return rename_at(AT_FDCWD, from, AT_FDCWD, to, 0);
}

SYSCALL4(renameat, int, from_fd, const char *, from, int, to_fd, const char *, to)
{
	return rename_at(from_fd, from, to_fd, to, 0);
}

SYSCALL5(renameat2, int, from_fd, const char *, from, int, to_fd, const char *, to, u32, flags)
{
	return rename_at(from_fd, from, to_fd, to, flags);
}

/* --- reading links -------------------------------------------------------------------- */

/* Copy the text of the link at @path into @buf. Returns its length or -errno. */
static long link_text(const struct path *path, char *buf, size_t size)
{
	struct inode *i = path->dentry->inode;
	struct path target;
	char *text;
	int len;

	if (!S_ISLNK(i->mode))
		return -EINVAL;
	if (i->link)
		return (long)str_copy(buf, i->link, size);
	len = i->iops->link_text ? i->iops->link_text(i, buf, size) : -ENOENT;
	if (len != -ENOENT)
		return len;
	len = i->iops->follow(i, &target);
	if (len)
		return len;
	text = path_own_text(&target, buf, size);
	path_put(&target);
	if (!text)
		return -ENAMETOOLONG;
	len = (int)strlen(text);
	memmove(buf, text, (size_t)len + 1);
	return len;
}

static long read_link(int dirfd, const char *user, char *out, int size)
{
	struct path path;
	char *buf;
	long ret;

	if (size <= 0)
		return -EINVAL;
	ret = user_lookup(dirfd, user, dirfd == AT_FDCWD ? 0 : WALK_EMPTY, &path);
	if (ret)
		return ret;
	buf = kmalloc(PATH_MAX);
	ret = buf ? link_text(&path, buf, PATH_MAX) : -ENOMEM;
	if (ret > 0) {
		ret = min(ret, (long)size);
		if (arch_copy_to_user(out, buf, (size_t)ret))
			ret = -EFAULT;
	}
	kfree(buf);
	path_put(&path);
	return ret;
}

SYSCALL4(readlinkat, int, dirfd, const char *, path, char *, buf, int, size)
{
	return read_link(dirfd, path, buf, size);
}

SYSCALL3(readlink, const char *, path, char *, buf, int, size)
{
	return read_link(AT_FDCWD, path, buf, size);
}

/* --- where a process is --------------------------------------------------------------- */

SYSCALL2(getcwd, char *, user, size_t, size)
{
	struct path root, cwd;
	char *buf = kmalloc(PATH_MAX), *text;
	long len = -ENOENT;

	if (!buf)
		return -ENOMEM;
	fs_context_root(&root);
	fs_context_cwd(&cwd);
	text = path_text(&cwd, &root, buf, PATH_MAX);
	if (text && READ_ONCE(cwd.dentry->inode->nlink)) {
		len = (long)strlen(text) + 1;
		if ((size_t)len > size)
			len = -ERANGE;
		else if (arch_copy_to_user(user, text, (size_t)len))
			len = -EFAULT;
	}
	path_put(&cwd);
	path_put(&root);
	kfree(buf);
	return len;
}

SYSCALL1(chdir, const char *, user)
{
	struct path path;
	int err = user_lookup(AT_FDCWD, user, WALK_FOLLOW | WALK_DIR, &path);

	if (err)
		return err;
	err = inode_permission(path.dentry->inode, MAY_EXEC);
	if (!err)
		fs_context_set_cwd(&path);
	path_put(&path);
	return err;
}

SYSCALL1(fchdir, int, fd)
{
	struct fd_ref ref = fd_borrow_any(fd);
	long err = 0;

	if (!ref.file)
		return -EBADF;
	if (ref.file->path.dentry && S_ISDIR(ref.file->inode->mode))
		err = inode_permission(ref.file->inode, MAY_EXEC);
	else
		err = -ENOTDIR;
	if (!err)
		fs_context_set_cwd(&ref.file->path);
	fd_release(ref);
	return err;
}

SYSCALL1(chroot, const char *, user)
{
	struct path path;
	int err = user_lookup(AT_FDCWD, user, WALK_FOLLOW | WALK_DIR, &path);

	if (err)
		return err;
	err = capable(CAP_SYS_CHROOT) ? inode_permission(path.dentry->inode, MAY_EXEC) : -EPERM;
	if (!err)
		fs_context_set_root(&path);
	path_put(&path);
	return err;
}

SYSCALL1(umask, u32, mask)
{
	return __atomic_exchange_n(&current->proc->fs->umask, mask & 0777, __ATOMIC_RELAXED);
}

/* --- mounts --------------------------------------------------------------------------- */

#define MS_REMOUNT     32u
#define MS_UNSUPPORTED (4096u | 8192u | (0xfu << 17)) /* bind, move, propagation */
#define MNT_DETACH     2u

static long mount_user(const char *type_name, const char *source, const struct path *at, u64 flags,
		       const char *options)
{
	const struct fs_type *type = fs_find(type_name);

	if (flags & MS_UNSUPPORTED)
		return -EINVAL;
	if (flags & MS_REMOUNT) {
		if (at->dentry != at->mnt->sb->root)
			return -EINVAL;
		if ((flags & MS_RDONLY) && READ_ONCE(at->mnt->nr_writers))
			return -EBUSY;
		at->mnt->flags = (u32)flags & ~MS_REMOUNT;
		return 0;
	}
	return type ? mount_add(type, source, at, flags, options) : -ENODEV;
}

SYSCALL5(mount, const char *, source, const char *, target, const char *, type, u64, flags,
	 const char *, data)
{
	char type_name[32] = "", source_name[32] = "none";
	struct user_path options = { .text = options.small };
	struct path at;
	long err;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (type && arch_strncpy_from_user(type_name, type, sizeof(type_name)) < 0)
		return -EFAULT;
	if (source && arch_strncpy_from_user(source_name, source, sizeof(source_name)) < 0)
		return -EFAULT;
	type_name[sizeof(type_name) - 1] = source_name[sizeof(source_name) - 1] = 0;
	err = user_lookup(AT_FDCWD, target, WALK_FOLLOW | WALK_DIR, &at);
	if (err)
		return err;
	err = data ? user_path_get(&options, data) : 0;
	if (!err) {
		err = mount_user(type_name, source_name, &at, flags, options.text);
		user_path_put(&options);
	}
	path_put(&at);
	return err == -ENAMETOOLONG ? -EINVAL : err;
}

SYSCALL2(umount2, const char *, target, u32, flags)
{
	struct path path;
	long err;

	if (flags & ~15u)
		return -EINVAL;
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	err = user_lookup(AT_FDCWD, target, WALK_FOLLOW, &path);
	if (err)
		return err;
	err = mount_remove(&path, flags & MNT_DETACH);
	path_put(&path);
	return err;
}
