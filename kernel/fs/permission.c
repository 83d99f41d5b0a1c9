/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Permissions: mode bits, owners, sticky directories, read-only mounts, running programs.
 *
 * The first class that fits decides: owner, then group, then everybody else (POSIX). Capabilities
 * overrule it. Pseudo files belong to user 0, so the tunables are covered by the same rule.
 */
#include "kernel/fs/vfs.h"

#include "kernel/kernel.h"
#include "kernel/task/cred.h"
#include "kernel/task/signal.h"

int inode_permission_of(const struct cred *c, const struct inode *i, unsigned want)
{
	u32 granted = c->user.fs == i->uid	 ? i->mode >> 6
		      : cred_in_group(c, i->gid) ? i->mode >> 3
						 : i->mode;

	debug_assert(!(want & ~(unsigned)(MAY_READ | MAY_WRITE | MAY_EXEC)));
	if (!(want & ~granted & 7))
		return 0;
	if ((c->effective & CAP_BIT(CAP_DAC_OVERRIDE)) &&
	    (!(want & MAY_EXEC) || S_ISDIR(i->mode) || (i->mode & 0111)))
		return 0;
	if ((c->effective & CAP_BIT(CAP_DAC_READ_SEARCH)) &&
	    (want == MAY_READ || (S_ISDIR(i->mode) && !(want & MAY_WRITE))))
		return 0;
	return -EACCES;
}

int inode_permission(const struct inode *i, unsigned want)
{
	return inode_permission_of(&current->cred, i, want);
}

bool inode_owned(const struct inode *i)
{
	return current->cred.user.fs == i->uid || capable(CAP_FOWNER);
}

int inode_may_noatime(const struct inode *i, u32 flags)
{
	return (flags & O_NOATIME) && !inode_owned(i) ? -EPERM : 0;
}

/* Does another name of @i harm nobody but who may change it anyway? */
static bool is_harmless(const struct inode *i)
{
	u32 as_group = S_ISGID | 010;

	return S_ISREG(i->mode) && !(i->mode & S_ISUID) && (i->mode & as_group) != as_group &&
	       !inode_permission(i, MAY_READ | MAY_WRITE);
}

int inode_may_link(const struct inode *i)
{
	return is_harmless(i) || inode_owned(i) ? 0 : -EPERM;
}

int inode_may_remove(const struct inode *dir, const struct inode *victim)
{
	if (!(dir->mode & S_ISVTX) || current->cred.user.fs == dir->uid)
		return 0;
	return inode_owned(victim) ? 0 : -EPERM;
}

void inode_set_owner(struct inode *i, const struct inode *dir)
{
	debug_assert(i->refs == 1);
	i->uid = current->cred.user.fs;
	i->gid = current->cred.group.fs;
	if (!dir || !(dir->mode & S_ISGID))
		return;
	i->gid = dir->gid;
	if (S_ISDIR(i->mode))
		i->mode |= S_ISGID;
}

void inode_drop_set_id(struct inode *i)
{
	u32 bits = i->mode & (S_ISUID | (i->mode & 010 ? S_ISGID : 0));

	if (bits && !capable(CAP_FSETID))
		__atomic_and_fetch(&i->mode, ~bits, __ATOMIC_RELAXED);
}

int path_writable(const struct path *p)
{
	return p->mnt && (p->mnt->flags & MS_RDONLY) ? -EROFS : 0;
}

int file_limit_size(u64 pos, size_t *n)
{
	u64 limit = READ_ONCE(current->proc->rlimit[RLIMIT_FSIZE].cur);

	if (likely(limit == RLIM_INFINITY || !*n))
		return 0;
	if (pos >= limit) {
		signal_send_thread(current, SIGXFSZ, NULL);
		return -EFBIG;
	}
	*n = min(*n, (size_t)(limit - pos));
	return 0;
}

/* --- writers against running programs --------------------------------------------------- */

/* Count one more on the side of @sign, unless the other side has the file. */
static int count_side(struct inode *i, int sign)
{
	s32 now = READ_ONCE(i->writers);

	debug_assert(sign == 1 || sign == -1);
	do
		if (now * sign < 0)
			return -ETXTBSY;
	while (!__atomic_compare_exchange_n(&i->writers, &now, now + sign, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED));
	return 0;
}

int inode_begin_write(struct inode *i)
{
	return S_ISREG(i->mode) ? count_side(i, 1) : 0;
}

void inode_end_write(struct inode *i)
{
	debug_assert(!S_ISREG(i->mode) || READ_ONCE(i->writers) > 0);
	if (S_ISREG(i->mode))
		__atomic_sub_fetch(&i->writers, 1, __ATOMIC_ACQ_REL);
}

int inode_begin_exec(struct inode *i)
{
	return count_side(i, -1);
}

void inode_end_exec(struct inode *i)
{
	debug_assert(READ_ONCE(i->writers) < 0);
	__atomic_add_fetch(&i->writers, 1, __ATOMIC_ACQ_REL);
}

int path_may_exec(const struct path *p)
{
	const struct inode *i = p->dentry->inode;

	if (!S_ISREG(i->mode) || !(i->mode & 0111) || (p->mnt->flags & MS_NOEXEC))
		return -EACCES;
	return inode_permission(i, MAY_EXEC);
}

int file_begin_exec(struct file *f)
{
	int err = inode_begin_exec(f->inode);

	debug_assert(!(f->mode & FILE_EXEC));
	if (!err)
		f->mode |= FILE_EXEC;
	return err;
}

bool file_exec_cred(const struct file *f, struct cred *c)
{
	const struct inode *i = f->inode;
	bool may_set = !f->path.mnt || !(f->path.mnt->flags & MS_NOSUID);

	return cred_exec(c, may_set ? i->mode : 0, i->uid, i->gid,
			 fs_context_is_shared(current->proc->fs));
}
