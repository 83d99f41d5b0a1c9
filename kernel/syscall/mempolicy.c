/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory policies. All memory is at node 0 (Mems_allowed of /proc/PID/status says so), so a policy
 * that allows node 0 is obeyed by doing nothing, and any other is an error, as on Linux.
 */
#include "kernel/mm/mm.h"
#include "kernel/mm/vma.h"
#include "kernel/syscall/syscall.h"
#include "lib/errno.h"

enum policy { POLICY_DEFAULT, PREFERRED, BIND, INTERLEAVE, LOCAL, PREFERRED_MANY, NR_POLICIES };
enum policy_flags { F_NODE = 1, F_ADDR = 2, F_MEMS_ALLOWED = 4 };
enum mode_flags { MODE_RELATIVE = 1 << 14, MODE_STATIC = 1 << 15 };
enum move_flags { MOVE_STRICT = 1, MOVE = 2, MOVE_ALL = 4 };

#define NODE_0	  1ull /* the set of nodes with memory */
#define MAX_NODES 1024u

/* Reads a set of nodes whose size the caller counts one too large. -EINVAL for unknown nodes. */
static long get_nodes(const u64 *user, u64 max_node, u64 *nodes)
{
	u64 bits = max_node ? max_node - 1 : 0, word;

	*nodes = 0;
	if (bits > PAGE_SIZE * 8)
		return -EINVAL;
	for (u64 at = 0; user && at < bits; at += 64) {
		if (arch_copy_from_user(&word, user + at / 64, sizeof(word)))
			return -EFAULT;
		if (bits - at < 64)
			word &= BIT(bits - at) - 1;
		if (at && word)
			return -EINVAL;
		*nodes |= word;
	}
	return 0;
}

static long check_policy(unsigned mode, const u64 *user, u64 max_node)
{
	u64 nodes;
	long err = get_nodes(user, max_node, &nodes);

	mode &= ~(unsigned)(MODE_RELATIVE | MODE_STATIC);
	if (err || mode >= NR_POLICIES)
		return err ? err : -EINVAL;
	if (mode == POLICY_DEFAULT || mode == LOCAL)
		return nodes ? -EINVAL : 0;
	if (mode == PREFERRED && !nodes)
		return 0;
	return nodes & NODE_0 ? 0 : -EINVAL;
}

SYSCALL3(set_mempolicy, unsigned, mode, const u64 *, nodes, u64, max_node)
{
	long err = check_policy(mode, nodes, max_node);

	if (!err)
		current->mempolicy = (u16)mode;
	return err;
}

SYSCALL6(mbind, u64, addr, u64, len, unsigned, mode, const u64 *, nodes, u64, max_node, unsigned,
	 flags)
{
	if (flags & ~(unsigned)(MOVE_STRICT | MOVE | MOVE_ALL) || addr % PAGE_SIZE ||
	    addr + len < addr)
		return -EINVAL;
	if ((flags & MOVE_ALL) && !capable(CAP_SYS_NICE))
		return -EPERM;
	return check_policy(mode, nodes, max_node);
}

/* Is something mapped at @addr of the running thread? */
static bool is_mapped(u64 addr)
{
	struct mm *mm = current->mm;

	mutex_lock(&mm->lock);
	bool mapped = vma_at(mm, addr);

	mutex_unlock(&mm->lock);
	return mapped;
}

SYSCALL5(get_mempolicy, int *, mode, u64 *, nodes, u64, max_node, u64, addr, unsigned, flags)
{
	unsigned policy = current->mempolicy & ~(unsigned)(MODE_RELATIVE | MODE_STATIC);
	int value = flags & F_NODE ? 0 : current->mempolicy;
	u64 set = flags & F_MEMS_ALLOWED			? NODE_0
		  : policy == POLICY_DEFAULT || policy == LOCAL ? 0
								: NODE_0;

	if (flags & ~(unsigned)(F_NODE | F_ADDR | F_MEMS_ALLOWED) ||
	    (nodes && max_node <= arch_cpus[0].node) ||
	    ((flags & F_MEMS_ALLOWED) && (flags & (F_NODE | F_ADDR))) ||
	    (addr && !(flags & F_ADDR)))
		return -EINVAL;
	if ((flags & F_ADDR) && !is_mapped(addr))
		return -EFAULT;
	if (!(flags & F_ADDR) && (flags & F_NODE) && policy != INTERLEAVE)
		return -EINVAL;
	if (mode && !(flags & F_MEMS_ALLOWED) && arch_copy_to_user(mode, &value, sizeof(value)))
		return -EFAULT;
	if (!nodes)
		return 0;
	u64 bytes = ALIGN_UP(min(max_node - 1, (u64)MAX_NODES), 64ull) / 8;

	if (arch_clear_user(nodes, bytes))
		return -EFAULT;
	return bytes && arch_copy_to_user(nodes, &set, sizeof(set)) ? -EFAULT : 0;
}

/* The pages are where they can only be: none is left behind. */
SYSCALL4(migrate_pages, int, pid, u64, max_node, const u64 *, from, const u64 *, to)
{
	u64 old, new;
	long err = get_nodes(from, max_node, &old) ?: get_nodes(to, max_node, &new);

	if (err)
		return err;
	struct thread *t = pid ? thread_find(pid) : thread_get(current);
	if (!t)
		return -ESRCH;
	err = cred_may_schedule(t) ? 0 : -EPERM;
	thread_put(t);
	return err ? err : new &NODE_0 ? 0 : -EINVAL;
}
