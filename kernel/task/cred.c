/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Credentials: what they permit, and what changing the user or the program does to them.
 *
 * Reference: capabilities(7), "Transformation of capabilities during execve()" and "Effect of user
 * ID changes on capabilities".
 */
#include "kernel/contract.h"
#include "kernel/task/cred.h"

#include "kernel/mm/mm.h"
#include "kernel/task/signal.h"

#define MODE_SETUID	04000u
#define MODE_SETGID	02000u
#define MODE_GROUP_EXEC 010u

const struct cred root_cred = {
	.effective = CAP_ALL,
	.permitted = CAP_ALL,
	.bounding = CAP_ALL,
};

bool capable(enum capability cap)
{
	debug_assert(cap < 64);
	return current->cred.effective & CAP_BIT(cap);
}

bool cred_in_group(const struct cred *c, u32 gid)
{
	debug_assert(c->nr_groups <= ARRAY_SIZE(c->groups));
	if (gid == c->group.fs)
		return true;
	for (u32 i = 0; i < c->nr_groups; i++)
		if (c->groups[i] == gid)
			return true;
	return false;
}

bool cred_may_signal(const struct thread *target, int sig)
{
	const struct ids *own = &current->cred.user, *other = &target->cred.user;
	u32 real = READ_ONCE(other->real), saved = READ_ONCE(other->saved);

	if (current->proc == target->proc || capable(CAP_KILL))
		return true;
	if (own->effective == real || own->effective == saved || own->real == real ||
	    own->real == saved)
		return true;
	return sig == SIGCONT && current->proc->sid == target->proc->sid;
}

bool cred_may_schedule(const struct thread *target)
{
	const struct ids *other = &target->cred.user;
	u32 own = current->cred.user.effective;

	return own == READ_ONCE(other->real) || own == READ_ONCE(other->effective) ||
	       capable(CAP_SYS_NICE);
}

bool cred_may_nice(const struct thread *t, int nice)
{
	debug_assert(nice_is_valid(nice));
	return (u64)(20 - nice) <= READ_ONCE(t->proc->rlimit[RLIMIT_NICE].cur) ||
	       capable(CAP_SYS_NICE);
}

/* A process that ended has no memory, and nothing to hide. */
bool cred_is_secret(const struct proc *p)
{
	spin_lock(&proc_tree_lock);
	bool secret = p->mm && READ_ONCE(p->mm->secret);
	spin_unlock(&proc_tree_lock);
	return secret;
}

static bool all_are(u32 id, const struct ids *of)
{
	return id == READ_ONCE(of->real) && id == READ_ONCE(of->effective) &&
	       id == READ_ONCE(of->saved);
}

bool cred_may_look(const struct thread *target)
{
	const struct cred *own = &current->cred, *other = &target->cred;

	if (current->proc == target->proc || capable(CAP_SYS_PTRACE))
		return true;
	return all_are(own->user.fs, &other->user) && all_are(own->group.fs, &other->group) &&
	       !(READ_ONCE(other->permitted) & ~own->effective) && !cred_is_secret(target->proc);
}

/* Memory may hold secrets of the old identity, and the new one has other friends and fates. */
void cred_ids_changed(const struct ids *old, const struct ids *now)
{
	debug_assert(current->mm);
	if (old->effective == now->effective && old->fs == now->fs)
		return;
	WRITE_ONCE(current->mm->secret, true);
	WRITE_ONCE(current->parent_death_signal, 0);
}

/* Capabilities that come when the user for file access becomes 0, and go when it is 0 no more. */
#define CAPS_OF_FILES                                                                              \
	(CAP_BIT(CAP_CHOWN) | CAP_BIT(CAP_DAC_OVERRIDE) | CAP_BIT(CAP_DAC_READ_SEARCH) |           \
	 CAP_BIT(CAP_FOWNER) | CAP_BIT(CAP_FSETID) | CAP_BIT(CAP_MKNOD))

void cred_user_changed(struct cred *c, const struct ids *old)
{
	const struct ids *new = &c->user;
	bool was_root = !old->real || !old->effective || !old->saved;

	debug_assert(!(c->effective & ~c->permitted));
	if (was_root && new->real &&new->effective &&new->saved) {
		if (!c->keep_caps)
			c->permitted = c->effective = 0;
		c->ambient = 0;
	}
	if (!old->effective && new->effective)
		c->effective = 0;
	else if (old->effective && !new->effective)
		c->effective = c->permitted;
	else if (!old->fs && new->fs)
		c->effective &= ~CAPS_OF_FILES;
	else if (old->fs && !new->fs)
		c->effective |= c->permitted & CAPS_OF_FILES;
}

/* Does @c act for others than who runs it? */
static bool acts_for_others(const struct cred *c)
{
	return c->user.effective != c->user.real || c->group.effective != c->group.real;
}

static void set_ids(struct cred *c, u32 mode, u32 uid, u32 gid)
{
	if (mode & MODE_SETUID)
		c->user.effective = uid;
	if ((mode & MODE_SETGID) && (mode & MODE_GROUP_EXEC))
		c->group.effective = gid;
}

/* The program could be led astray: its caller gets nothing from it, and may lose something. */
static void give_nothing(struct cred *c, u64 had)
{
	if (c->no_new_privs || !capable(CAP_SETUID)) {
		c->user.effective = c->user.real;
		c->group.effective = c->group.real;
	}
	c->permitted &= had;
}

/* Programs have no capabilities of their own: only user 0 and the ambient set give any. */
bool cred_exec(struct cred *c, u32 mode, u32 uid, u32 gid, bool fs_shared)
{
	u64 had = c->permitted;
	bool as_root, set_id;

	if (!c->no_new_privs)
		set_ids(c, mode, uid, gid);
	set_id = acts_for_others(c);
	as_root = !c->user.effective;
	c->permitted = as_root || !c->user.real ? c->bounding | c->inheritable : 0;
	if ((fs_shared || c->no_new_privs) && (set_id || (c->permitted & ~had)))
		give_nothing(c, had);
	c->user.saved = c->user.fs = c->user.effective;
	c->group.saved = c->group.fs = c->group.effective;
	if (set_id)
		c->ambient = 0;
	c->permitted |= c->ambient;
	c->effective = as_root ? c->permitted : c->ambient;
	debug_assert(!(c->effective & ~c->permitted));
	c->keep_caps = false;
	return set_id;
}
