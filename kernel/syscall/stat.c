/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System calls on metadata: stat and its relatives, permissions, times, directory listings.
 */
#include "kernel/syscall/syscall.h"

#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/syscall/user_path.h"
#include "kernel/time/timespec.h"
#include "lib/string.h"

#define AT_SYMLINK_NOFOLLOW 0x100u
#define AT_EACCESS	    0x200u
#define AT_NO_AUTOMOUNT	    0x800u
#define AT_EMPTY_PATH	    0x1000u
#define AT_STATX_SYNC_TYPE  0x6000u
#define FOR_CHANGE	    0x80000000u /* not of the ABI: -EROFS if the mount is read-only */

static unsigned walk_flags(u32 at_flags)
{
	return (at_flags & AT_SYMLINK_NOFOLLOW ? 0 : WALK_FOLLOW) |
	       (at_flags & AT_EMPTY_PATH ? WALK_EMPTY : 0);
}

/* Call @fn(@inode, @arg) for the file named by (@dirfd, @user) under @flags. */
static long with_inode(int dirfd, const char *user, u32 flags,
		       long (*fn)(struct inode *i, void *arg), void *arg)
{
	struct path path;
	long ret = user_lookup(dirfd, user, walk_flags(flags), &path);

	if (ret)
		return ret;
	ret = flags & FOR_CHANGE ? path_writable(&path) : 0;
	if (!ret)
		ret = fn(path.dentry->inode, arg);
	path_put(&path);
	return ret;
}

/* The same for the file of @ref, which it releases. */
static long with_ref(struct fd_ref ref, u32 flags, long (*fn)(struct inode *i, void *arg),
		     void *arg)
{
	long ret;

	if (!ref.file)
		return -EBADF;
	ret = flags & FOR_CHANGE ? path_writable(&ref.file->path) : 0;
	if (!ret)
		ret = fn(ref.file->inode, arg);
	fd_release(ref);
	return ret;
}

/* An empty path with AT_EMPTY_PATH means @fd itself, which may be a pipe without a name. */
static bool is_fd_itself(int dirfd, const char *user, u32 flags)
{
	char first;

	if (!(flags & AT_EMPTY_PATH) || dirfd == AT_FDCWD)
		return false;
	return !user || (!arch_copy_from_user(&first, user, 1) && !first);
}

static long with_either(int dirfd, const char *user, u32 flags,
			long (*fn)(struct inode *i, void *arg), void *arg)
{
	return is_fd_itself(dirfd, user, flags) ? with_ref(fd_borrow_any(dirfd), flags, fn, arg)
						: with_inode(dirfd, user, flags, fn, arg);
}

/* --- stat ----------------------------------------------------------------------------- */

/* The time of a file as a struct timespec. @ns is negative for a time before 1970. */
static struct timespec file_time(u64 ns)
{
	s64 sec = (s64)ns / (s64)NS_PER_SEC, rest = (s64)ns % (s64)NS_PER_SEC;

	return rest < 0 ? (struct timespec){ sec - 1, rest + (s64)NS_PER_SEC }
			: (struct timespec){ sec, rest };
}

struct stat { /* the kernel's struct stat of x86-64 */
	u64 dev, ino, nlink;
	u32 mode, uid, gid, pad;
	u64 rdev;
	s64 size, blksize, blocks;
	struct timespec atime, mtime, ctime;
	s64 unused[3];
};
STATIC_ASSERT(sizeof(struct stat) == 144, "struct stat is 144 bytes");

/* Others may change the words of @i meanwhile: each is read once. */
static struct stat stat_of(const struct inode *i)
{
	return (struct stat){
		.dev = i->sb->dev,
		.ino = i->ino,
		.nlink = READ_ONCE(i->nlink),
		.mode = READ_ONCE(i->mode),
		.uid = READ_ONCE(i->uid),
		.gid = READ_ONCE(i->gid),
		.rdev = i->rdev,
		.size = (s64)READ_ONCE(i->size),
		.blksize = PAGE_SIZE,
		.blocks = (s64)(READ_ONCE(i->nr_pages) * PAGE_SIZE / 512),
		.atime = file_time(READ_ONCE(i->atime_ns)),
		.mtime = file_time(READ_ONCE(i->mtime_ns)),
		.ctime = file_time(READ_ONCE(i->ctime_ns)),
	};
}

static long fill_stat(struct inode *i, void *user)
{
	struct stat st = stat_of(i);

	return arch_copy_to_user(user, &st, sizeof(st)) ? -EFAULT : 0;
}

SYSCALL2(stat, const char *, path, struct stat *, st)
{
	return with_inode(AT_FDCWD, path, 0, fill_stat, st);
}

SYSCALL2(lstat, const char *, path, struct stat *, st)
{
	return with_inode(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, fill_stat, st);
}

SYSCALL2(fstat, int, fd, struct stat *, st)
{
	return with_ref(fd_borrow_any(fd), 0, fill_stat, st);
}

SYSCALL4(newfstatat, int, dirfd, const char *, path, struct stat *, st, u32, flags)
{
	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH))
		return -EINVAL;
	return with_either(dirfd, path, flags, fill_stat, st);
}

struct statx_timestamp {
	s64 sec;
	u32 nsec;
	s32 pad;
};

struct statx {
	u32 mask, blksize;
	u64 attributes;
	u32 nlink, uid, gid;
	u16 mode, pad;
	u64 ino, size, blocks, attributes_mask;
	struct statx_timestamp atime, btime, ctime, mtime;
	u32 rdev_major, rdev_minor, dev_major, dev_minor;
	u64 spare[14];
};
STATIC_ASSERT(sizeof(struct statx) == 256, "struct statx is 256 bytes");
#define STATX_BASIC_STATS 0x7ffu
#define STATX_RESERVED	  BIT(31)

static struct statx_timestamp statx_time(struct timespec ts)
{
	return (struct statx_timestamp){ ts.sec, (u32)ts.nsec, 0 };
}

static long fill_statx(struct inode *i, void *user)
{
	struct stat st = stat_of(i);
	struct statx x = {
		.mask = STATX_BASIC_STATS,
		.blksize = (u32)st.blksize,
		.nlink = (u32)st.nlink,
		.uid = st.uid,
		.gid = st.gid,
		.mode = (u16)st.mode,
		.ino = st.ino,
		.size = (u64)st.size,
		.blocks = (u64)st.blocks,
		.atime = statx_time(st.atime),
		.ctime = statx_time(st.ctime),
		.mtime = statx_time(st.mtime),
		.rdev_major = (u32)st.rdev >> 8,
		.rdev_minor = (u32)st.rdev & 0xff,
		.dev_minor = (u32)st.dev,
	};

	return arch_copy_to_user(user, &x, sizeof(x)) ? -EFAULT : 0;
}

SYSCALL5(statx, int, dirfd, const char *, path, u32, flags, u32, mask, struct statx *, st)
{
	/* All there is is always given. */
	if (mask & STATX_RESERVED || (flags & AT_STATX_SYNC_TYPE) == AT_STATX_SYNC_TYPE)
		return -EINVAL;
	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH | AT_STATX_SYNC_TYPE))
		return -EINVAL;
	return with_either(dirfd, path, flags, fill_statx, st);
}

struct statfs {
	s64 type, bsize;
	u64 blocks, bfree, bavail, files, ffree;
	s32 fsid[2];
	s64 namelen, frsize, flags, spare[4];
};
STATIC_ASSERT(sizeof(struct statfs) == 120, "struct statfs is 120 bytes");

static long fill_statfs(struct inode *i, void *user)
{
	const struct superblock *sb = i->sb;
	bool in_memory = sb->type->create; /* tmpfs */
	u64 total = in_memory ? tmpfs_max_pages(sb) : 0;
	u64 files = in_memory ? tmpfs_max_inodes(sb) : 0;
	u64 free = total > sb->nr_pages ? min(total - sb->nr_pages, page_nr_free()) : 0;
	struct statfs st = {
		.type = sb->type->magic,
		.bsize = PAGE_SIZE,
		.blocks = total,
		.bfree = free,
		.bavail = free,
		.files = files,
		.ffree = files > sb->nr_inodes ? files - sb->nr_inodes : 0,
		.fsid = { (s32)sb->dev, 0 },
		.namelen = NAME_MAX,
		.frsize = PAGE_SIZE,
	};

	return arch_copy_to_user(user, &st, sizeof(st)) ? -EFAULT : 0;
}

SYSCALL2(statfs, const char *, path, struct statfs *, st)
{
	return with_inode(AT_FDCWD, path, 0, fill_statfs, st);
}

SYSCALL2(fstatfs, int, fd, struct statfs *, st)
{
	return with_ref(fd_borrow_any(fd), 0, fill_statfs, st);
}

/* --- permissions and owners ----------------------------------------------------------- */

static long check_access(struct inode *i, void *arg)
{
	return inode_permission(i, *(u32 *)arg);
}

/* Unless AT_EACCESS is given, the real user asks, with the capabilities it would have. */
static long access_at(int dirfd, const char *path, u32 want, u32 flags)
{
	struct cred *c = &current->cred;
	struct ids user = c->user, group = c->group;
	u64 effective = c->effective;

	if ((want & ~7u) || (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EACCESS | AT_EMPTY_PATH)))
		return -EINVAL;
	if (want & MAY_WRITE)
		flags |= FOR_CHANGE;
	if (!(flags & AT_EACCESS) && (user.real != user.fs || group.real != group.fs)) {
		c->user.fs = user.real;
		c->group.fs = group.real;
		c->effective = user.real ? 0 : c->permitted;
	}
	long err = with_either(dirfd, path, flags, check_access, &want);
	c->user = user;
	c->group = group;
	c->effective = effective;
	return err;
}

SYSCALL2(access, const char *, path, u32, want)
{
	return access_at(AT_FDCWD, path, want, 0);
}

SYSCALL3(faccessat, int, dirfd, const char *, path, u32, want)
{
	return access_at(dirfd, path, want, 0);
}

SYSCALL4(faccessat2, int, dirfd, const char *, path, u32, want, u32, flags)
{
	return access_at(dirfd, path, want, flags);
}

static long set_mode(struct inode *i, void *arg)
{
	if (!inode_owned(i))
		return -EPERM;
	i->mode = (i->mode & S_IFMT) | (*(u32 *)arg & 07777);
	if (!cred_in_group(&current->cred, i->gid) && !capable(CAP_FSETID))
		i->mode &= ~S_ISGID;
	i->ctime_ns = clock_realtime_ns();
	return 0;
}

SYSCALL2(chmod, const char *, path, u32, mode)
{
	return with_inode(AT_FDCWD, path, FOR_CHANGE, set_mode, &mode);
}

SYSCALL2(fchmod, int, fd, u32, mode)
{
	return with_ref(fd_borrow(fd), FOR_CHANGE, set_mode, &mode);
}

SYSCALL3(fchmodat, int, dirfd, const char *, path, u32, mode)
{
	return with_inode(dirfd, path, FOR_CHANGE, set_mode, &mode);
}

struct owner {
	u32 uid, gid; /* ~0: as it is */
};

/*
 * May the running thread make @o the owner of @i? Only a privileged thread gives a file away. The
 * owner may give it one of the groups that the owner is in.
 */
static bool may_give(const struct inode *i, const struct owner *o)
{
	if (capable(CAP_CHOWN))
		return true;
	return current->cred.user.fs == i->uid && (o->uid == ~0u || o->uid == i->uid) &&
	       (o->gid == ~0u || o->gid == i->gid || cred_in_group(&current->cred, o->gid));
}

static long set_owner(struct inode *i, void *arg)
{
	const struct owner *o = arg;

	if (!may_give(i, o))
		return -EPERM;
	if (!S_ISDIR(i->mode))
		i->mode &= ~(S_ISUID | (i->mode & 010 ? S_ISGID : 0));
	if (o->uid != ~0u)
		i->uid = o->uid;
	if (o->gid != ~0u)
		i->gid = o->gid;
	i->ctime_ns = clock_realtime_ns();
	return 0;
}

SYSCALL3(chown, const char *, path, u32, uid, u32, gid)
{
	return with_inode(AT_FDCWD, path, FOR_CHANGE, set_owner, &(struct owner){ uid, gid });
}

SYSCALL3(lchown, const char *, path, u32, uid, u32, gid)
{
	return with_inode(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | FOR_CHANGE, set_owner,
			  &(struct owner){ uid, gid });
}

SYSCALL3(fchown, int, fd, u32, uid, u32, gid)
{
	return with_ref(fd_borrow(fd), FOR_CHANGE, set_owner, &(struct owner){ uid, gid });
}

SYSCALL5(fchownat, int, dirfd, const char *, path, u32, uid, u32, gid, u32, flags)
{
	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	return with_either(dirfd, path, flags | FOR_CHANGE, set_owner, &(struct owner){ uid, gid });
}

static long truncate_inode(struct inode *i, void *arg)
{
	long err;

	if (S_ISDIR(i->mode))
		return -EISDIR;
	if (!i->fops || !i->fops->truncate)
		return -EINVAL;
	err = inode_permission(i, MAY_WRITE) ?: inode_begin_write(i);
	if (err)
		return err;
	err = i->fops->truncate(i, *(u64 *)arg);
	inode_end_write(i);
	return err;
}

SYSCALL2(truncate, const char *, path, s64, size)
{
	return size < 0 ? -EINVAL : with_inode(AT_FDCWD, path, FOR_CHANGE, truncate_inode, &size);
}

/* --- times ---------------------------------------------------------------------------- */

#define UTIME_NOW  0x3fffffff
#define UTIME_OMIT 0x3ffffffe

/* As *@ns, since 1970, signed: the years 1678 to 2262. Others become the nearest. */
static int one_time(const struct timespec *ts, u64 *ns)
{
	const s64 most = INT64_MAX / (s64)NS_PER_SEC - 1;

	if (ts->nsec == UTIME_NOW)
		*ns = clock_realtime_ns();
	else if (ts->nsec != UTIME_OMIT && (u64)ts->nsec >= NS_PER_SEC)
		return -EINVAL;
	else if (ts->nsec != UTIME_OMIT)
		*ns = (u64)max(min(ts->sec, most), -most) * NS_PER_SEC + (u64)ts->nsec;
	return 0;
}

static long set_times(struct inode *i, void *arg)
{
	const struct timespec *ts = arg;
	bool now = ts[0].nsec == UTIME_NOW && ts[1].nsec == UTIME_NOW;
	u64 atime_ns = i->atime_ns, mtime_ns = i->mtime_ns;
	int err = one_time(&ts[0], &atime_ns) ?: one_time(&ts[1], &mtime_ns);

	if (err)
		return err;
	if (!inode_owned(i) && (!now || inode_permission(i, MAY_WRITE)))
		return now ? -EACCES : -EPERM;
	i->atime_ns = atime_ns;
	i->mtime_ns = mtime_ns;
	i->ctime_ns = clock_realtime_ns();
	return 0;
}

SYSCALL4(utimensat, int, dirfd, const char *, path, const struct timespec *, times, u32, flags)
{
	struct timespec ts[2] = { { 0, UTIME_NOW }, { 0, UTIME_NOW } };

	if (times && arch_copy_from_user(ts, times, sizeof(ts)))
		return -EFAULT;
	if (ts[0].nsec == UTIME_OMIT && ts[1].nsec == UTIME_OMIT)
		return 0; /* whatever the file is */
	if (!path && dirfd == AT_FDCWD)
		return -EFAULT;
	if (flags & ~(path ? AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH : 0))
		return -EINVAL;
	return path ? with_either(dirfd, path, flags | FOR_CHANGE, set_times, ts)
		    : with_ref(fd_borrow(dirfd), FOR_CHANGE, set_times, ts);
}

/* --- directories ---------------------------------------------------------------------- */

struct dirent64 {
	u64 ino;
	u64 next;
	u16 reclen;
	u8 type;
	char name[];
};

/*
 * Users see positions in directories from here on, except the start, which is 0. They are opaque
 * but look like no number of a process: programs have been seen to mistake one for the other.
 */
#define POSITION_BASE BIT(30)

struct listing {
	char *buf;
	size_t size, used;
	u64 pos; /* after the last entry taken */
};

static int emit_dirent(void *arg, const char *name, u64 ino, unsigned type, u64 next_pos)
{
	struct listing *l = arg;
	size_t len = strlen(name) + 1,
	       reclen = ALIGN_UP(offsetof(struct dirent64, name) + len, 8ul);
	struct dirent64 *d = (struct dirent64 *)(l->buf + l->used);

	if (l->used + reclen > l->size)
		return 1;
	d->ino = ino;
	d->next = l->pos = next_pos + POSITION_BASE;
	d->reclen = (u16)reclen;
	d->type = (u8)type;
	memcpy(d->name, name, len);
	memset(d->name + len, 0, reclen - offsetof(struct dirent64, name) - len);
	l->used += reclen;
	return 0;
}

static long list_directory(struct file *f, void *user, size_t size)
{
	struct listing l = { .size = min(size, (size_t)2 * PAGE_SIZE), .pos = f->pos };
	u64 before = f->pos;
	long ret;

	if (!S_ISDIR(f->inode->mode) || !(f->mode & FILE_READ))
		return S_ISDIR(f->inode->mode) ? -EBADF : -ENOTDIR;
	l.buf = kmalloc(l.size);
	if (!l.buf)
		return -ENOMEM;
	if (f->pos >= POSITION_BASE)
		f->pos -= POSITION_BASE;
	ret = f->ops->readdir ? f->ops->readdir(f, emit_dirent, &l)
			      : dentry_readdir(f, emit_dirent, &l);
	if (ret > 0 && !l.used)
		ret = -EINVAL; /* not even room for one */
	if (ret >= 0 && arch_copy_to_user(user, l.buf, l.used))
		ret = -EFAULT;
	f->pos = ret >= 0 ? l.pos : before;
	kfree(l.buf);
	return ret < 0 ? ret : (long)l.used;
}

SYSCALL3(getdents64, int, fd, void *, user, unsigned, size)
{
	struct fd_ref ref = fd_borrow(fd);
	long ret;

	if (!ref.file)
		return -EBADF;
	mutex_lock(&ref.file->lock);
	ret = list_directory(ref.file, user, size);
	mutex_unlock(&ref.file->lock);
	fd_release(ref);
	return ret;
}
