/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Users, groups and capabilities of the running thread. What they permit is decided in
 * kernel/task/cred.c and kernel/fs/permission.c.
 */
#include "kernel/syscall/syscall.h"
#include "kernel/task/account.h"
#include "kernel/task/cred.h"
#include "lib/errno.h"
#include "lib/string.h"

/* --- reading ----------------------------------------------------------------------------- */

SYSCALL0(getuid)
{
	return current->cred.user.real;
}

SYSCALL0(getgid)
{
	return current->cred.group.real;
}

SYSCALL0(geteuid)
{
	return current->cred.user.effective;
}

SYSCALL0(getegid)
{
	return current->cred.group.effective;
}

static long put_ids(const struct ids *ids, u32 *real, u32 *effective, u32 *saved)
{
	if (arch_copy_to_user(real, &ids->real, sizeof(u32)) ||
	    arch_copy_to_user(effective, &ids->effective, sizeof(u32)))
		return -EFAULT;
	return arch_copy_to_user(saved, &ids->saved, sizeof(u32)) ? -EFAULT : 0;
}

SYSCALL3(getresuid, u32 *, real, u32 *, effective, u32 *, saved)
{
	return put_ids(&current->cred.user, real, effective, saved);
}

SYSCALL3(getresgid, u32 *, real, u32 *, effective, u32 *, saved)
{
	return put_ids(&current->cred.group, real, effective, saved);
}

/* --- changing users and groups: the same rules for both ------------------------------------ */

static bool is_one_of(u32 id, u32 a, u32 b, u32 c)
{
	return id == ID_NONE || id == a || id == b || id == c;
}

/* setuid and setgid: a privileged caller changes all, others take back what they may. */
static long set_id(struct ids *ids, u32 id, bool privileged)
{
	if (id == ID_NONE)
		return -EINVAL;
	if (!privileged && id != ids->real && id != ids->saved)
		return -EPERM;
	if (privileged)
		ids->real = ids->saved = id;
	ids->effective = ids->fs = id;
	return 0;
}

static long set_real_effective(struct ids *ids, u32 real, u32 effective, bool privileged)
{
	struct ids old = *ids;

	if (!privileged && (!is_one_of(real, old.real, old.effective, old.effective) ||
			    !is_one_of(effective, old.real, old.effective, old.saved)))
		return -EPERM;
	if (real != ID_NONE)
		ids->real = real;
	if (effective != ID_NONE)
		ids->effective = effective;
	if (real != ID_NONE || (effective != ID_NONE && effective != old.real))
		ids->saved = ids->effective;
	ids->fs = ids->effective;
	return 0;
}

static long set_three(struct ids *ids, u32 real, u32 effective, u32 saved, bool privileged)
{
	struct ids old = *ids;

	if (!privileged && (!is_one_of(real, old.real, old.effective, old.saved) ||
			    !is_one_of(effective, old.real, old.effective, old.saved) ||
			    !is_one_of(saved, old.real, old.effective, old.saved)))
		return -EPERM;
	ids->real = real != ID_NONE ? real : old.real;
	ids->effective = ids->fs = effective != ID_NONE ? effective : old.effective;
	ids->saved = saved != ID_NONE ? saved : old.saved;
	return 0;
}

/* setfsuid and setfsgid return the previous value, whether or not it changed. */
static long set_fs(struct ids *ids, u32 id, bool privileged)
{
	u32 old = ids->fs;

	if (id != ID_NONE &&
	    (privileged || id == old || is_one_of(id, ids->real, ids->effective, ids->saved)))
		ids->fs = id;
	return old;
}

/* Account and capabilities follow the user's numbers. -EAGAIN: no memory for the account. */
static long user_changed(const struct ids *old, long result)
{
	struct ids *now = &current->cred.user;

	if (now->real != old->real && !account_switch(now->real)) {
		*now = *old;
		return -EAGAIN;
	}
	cred_user_changed(&current->cred, old);
	cred_ids_changed(old, now);
	return result;
}

static long group_changed(const struct ids *old, long result)
{
	cred_ids_changed(old, &current->cred.group);
	return result;
}

SYSCALL1(setuid, u32, uid)
{
	struct ids *user = &current->cred.user, old = *user;

	return user_changed(&old, set_id(user, uid, capable(CAP_SETUID)));
}

SYSCALL1(setgid, u32, gid)
{
	struct ids *group = &current->cred.group, old = *group;

	return group_changed(&old, set_id(group, gid, capable(CAP_SETGID)));
}

SYSCALL2(setreuid, u32, real, u32, effective)
{
	struct ids *user = &current->cred.user, old = *user;

	return user_changed(&old, set_real_effective(user, real, effective, capable(CAP_SETUID)));
}

SYSCALL2(setregid, u32, real, u32, effective)
{
	struct ids *group = &current->cred.group, old = *group;

	return group_changed(&old, set_real_effective(group, real, effective, capable(CAP_SETGID)));
}

SYSCALL3(setresuid, u32, real, u32, effective, u32, saved)
{
	struct ids *user = &current->cred.user, old = *user;

	return user_changed(&old, set_three(user, real, effective, saved, capable(CAP_SETUID)));
}

SYSCALL3(setresgid, u32, real, u32, effective, u32, saved)
{
	struct ids *group = &current->cred.group, old = *group;

	return group_changed(&old, set_three(group, real, effective, saved, capable(CAP_SETGID)));
}

SYSCALL1(setfsuid, u32, uid)
{
	struct ids *user = &current->cred.user, old = *user;

	return user_changed(&old, set_fs(user, uid, capable(CAP_SETUID)));
}

SYSCALL1(setfsgid, u32, gid)
{
	struct ids *group = &current->cred.group, old = *group;

	return group_changed(&old, set_fs(group, gid, capable(CAP_SETGID)));
}

SYSCALL2(getgroups, int, size, u32 *, list)
{
	const struct cred *c = &current->cred;
	u32 nr = c->nr_groups;

	if (size < 0 || (size && (u32)size < nr))
		return -EINVAL;
	return size && arch_copy_to_user(list, c->groups, nr * sizeof(u32)) ? -EFAULT : (long)nr;
}

/* -EINVAL for more groups than a thread has room for, where Linux allows 65536. */
SYSCALL2(setgroups, unsigned, size, const u32 *, list)
{
	struct cred *c = &current->cred;
	u32 groups[NGROUPS_MAX];

	if (!capable(CAP_SETGID))
		return -EPERM;
	if (size > NGROUPS_MAX)
		return -EINVAL;
	if (arch_copy_from_user(groups, list, size * sizeof(u32)))
		return -EFAULT;
	for (unsigned i = 0; i < size; i++)
		if (groups[i] == ID_NONE)
			return -EINVAL;
	memcpy(c->groups, groups, size * sizeof(u32));
	c->nr_groups = size;
	return 0;
}

/* --- capabilities -------------------------------------------------------------------------- */

struct cap_header {
	u32 version; /* first: written back alone */
	int pid;
};
struct cap_data { /* 32 capabilities; version 1 passes one such struct, 2 and 3 pass two */
	u32 effective, permitted, inheritable;
};

/* Reads the header and returns in *nr how many cap_data follow. */
static long get_header(struct cap_header *user, struct cap_header *h, unsigned *nr)
{
	enum { VERSION_1 = 0x19980330, VERSION_2 = 0x20071026, VERSION_3 = 0x20080522 };
	u32 newest = VERSION_3;

	if (arch_copy_from_user(h, user, sizeof(*h)))
		return -EFAULT;
	*nr = h->version == VERSION_1 ? 1 : 2;
	if (h->version == VERSION_1 || h->version == VERSION_2 || h->version == VERSION_3)
		return h->pid < 0 ? -EINVAL : 0;
	return arch_copy_to_user(user, &newest, sizeof(newest)) ? -EFAULT : -EINVAL;
}

SYSCALL2(capget, struct cap_header *, header, struct cap_data *, data)
{
	struct cap_header h;
	unsigned nr;
	long err = get_header(header, &h, &nr);

	if (err)
		return err == -EINVAL && !data && h.pid >= 0 ? 0 : err;
	struct thread *t = h.pid ? thread_find(h.pid) : thread_get(current);
	if (!t)
		return -ESRCH;
	const struct cred *c = &t->cred;
	struct cap_data d[2] = {
		{ (u32)c->effective, (u32)c->permitted, (u32)c->inheritable },
		{ (u32)(c->effective >> 32), (u32)(c->permitted >> 32),
		  (u32)(c->inheritable >> 32) },
	};
	thread_put(t);
	return data && arch_copy_to_user(data, d, nr * sizeof(*d)) ? -EFAULT : 0;
}

#define BOTH_HALVES(d, set) ((d)[0].set | (u64)(d)[1].set << 32)

SYSCALL2(capset, struct cap_header *, header, const struct cap_data *, data)
{
	struct cred *c = &current->cred;
	struct cap_data d[2] = { 0 };
	struct cap_header h;
	unsigned nr;
	long err = get_header(header, &h, &nr);

	if (err)
		return err;
	if (h.pid && h.pid != current->tid)
		return -EPERM;
	if (arch_copy_from_user(d, data, nr * sizeof(*d)))
		return -EFAULT;
	u64 effective = BOTH_HALVES(d, effective) & CAP_ALL;
	u64 permitted = BOTH_HALVES(d, permitted) & CAP_ALL;
	u64 inheritable = BOTH_HALVES(d, inheritable) & CAP_ALL;
	u64 more = inheritable & ~c->inheritable;

	if ((permitted & ~c->permitted) || (effective & ~permitted) || (more & ~c->bounding))
		return -EPERM;
	if ((more & ~c->permitted) && !capable(CAP_SETPCAP))
		return -EPERM;
	c->effective = effective;
	c->permitted = permitted;
	c->inheritable = inheritable;
	c->ambient &= permitted & inheritable;
	return 0;
}

/* --- prctl's part of it -------------------------------------------------------------------- */

enum cred_prctl {
	PR_GET_KEEPCAPS = 7,
	PR_SET_KEEPCAPS,
	PR_CAPBSET_READ = 23,
	PR_CAPBSET_DROP,
	PR_GET_SECUREBITS = 27,
	PR_SET_SECUREBITS,
	PR_SET_NO_NEW_PRIVS = 38,
	PR_GET_NO_NEW_PRIVS,
	PR_CAP_AMBIENT = 47,
};

static long change_ambient(struct cred *c, u64 operation, u64 cap)
{
	enum { IS_SET = 1, RAISE, LOWER, CLEAR_ALL };

	if (operation == CLEAR_ALL ? cap : cap >= NR_CAPABILITIES)
		return -EINVAL;
	switch (operation) {
	case CLEAR_ALL:
		c->ambient = 0;
		return 0;
	case IS_SET:
		return !!(c->ambient & CAP_BIT(cap));
	case RAISE:
		if (!(c->permitted & c->inheritable & CAP_BIT(cap)))
			return -EPERM;
		c->ambient |= CAP_BIT(cap);
		return 0;
	case LOWER:
		c->ambient &= ~CAP_BIT(cap);
		return 0;
	default:
		return -EINVAL;
	}
}

long cred_prctl(int option, u64 arg, u64 arg3, u64 rest)
{
	struct cred *c = &current->cred;

	switch (option) {
	case PR_GET_KEEPCAPS:
		return c->keep_caps;
	case PR_SET_KEEPCAPS:
		if (arg > 1)
			return -EINVAL;
		c->keep_caps = arg;
		return 0;
	case PR_CAPBSET_READ:
		return arg < NR_CAPABILITIES ? !!(c->bounding & CAP_BIT(arg)) : -EINVAL;
	case PR_CAPBSET_DROP:
		if (!capable(CAP_SETPCAP))
			return -EPERM;
		if (arg >= NR_CAPABILITIES)
			return -EINVAL;
		c->bounding &= ~CAP_BIT(arg);
		return 0;
	case PR_GET_SECUREBITS:
		return 0;
	case PR_SET_SECUREBITS: /* user 0 is always special here */
		return arg ? -EPERM : 0;
	case PR_SET_NO_NEW_PRIVS:
		if (arg != 1 || arg3 || rest)
			return -EINVAL;
		c->no_new_privs = true;
		return 0;
	case PR_GET_NO_NEW_PRIVS:
		return arg || arg3 || rest ? -EINVAL : c->no_new_privs;
	case PR_CAP_AMBIENT:
		return rest ? -EINVAL : change_ambient(c, arg, arg3);
	default:
		return -EINVAL;
	}
}
