/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Robust mutexes and the end of a thread: what user space learns when a thread dies.
 *
 * A thread registers the head of a list of the mutexes it holds (set_robust_list(2)). When it dies
 * the kernel walks the list, in user memory and distrusting all of it, and marks each mutex whose
 * owner was the thread. Reference: Documentation/locking/robust-futex-ABI.rst of Linux.
 */
#include "kernel/contract.h"
#include "kernel/syscall/syscall.h"
#include "kernel/task/futex.h"
#include "lib/errno.h"

#define FUTEX_WAITERS	  0x80000000u
#define FUTEX_OWNER_DIED  0x40000000u
#define FUTEX_TID_MASK	  0x3fffffffu
#define ROBUST_LIST_LIMIT 2048 /* a circular list must not hold the exit up */

struct robust_list_head { /* as set_robust_list(2) registers it */
	u64 next;
	s64 futex_offset;
	u64 pending;
};

/* If the dying thread holds the mutex at @addr, mark the word owner-died and wake one waiter. */
static void owner_died(u64 addr)
{
	u32 *word = (u32 *)addr;
	u32 seen;

	if (addr % sizeof(u32) || arch_user_load_u32(word, &seen))
		return;
	while ((seen & FUTEX_TID_MASK) == (u32)current->tid) {
		u32 before = seen;
		if (arch_user_cmpxchg_u32(word, &before, (seen & FUTEX_WAITERS) | FUTEX_OWNER_DIED))
			return;
		if (before == seen) {
			if (seen & FUTEX_WAITERS)
				futex_wake(addr, false, 1, FUTEX_BITSET_MATCH_ANY);
			return;
		}
		seen = before;
	}
}

static void walk_robust_list(u64 head_addr)
{
	struct robust_list_head head;
	u64 entry;

	if (arch_copy_from_user(&head, (const void *)head_addr, sizeof(head)))
		return;
	entry = head.next;
	for (unsigned n = 0; n < ROBUST_LIST_LIMIT && (entry & ~1ull) != head_addr; n++) {
		u64 next;
		/* Bit 0 marks priority-inheritance mutexes; there are none here. */
		bool more =
			!arch_copy_from_user(&next, (const void *)(entry & ~1ull), sizeof(next));
		if (entry != head.pending)
			owner_died((entry & ~1ull) + (u64)head.futex_offset);
		if (!more)
			return;
		entry = next;
	}
	if (head.pending)
		owner_died((head.pending & ~1ull) + (u64)head.futex_offset);
}

void futex_exit(struct thread *t)
{
	u32 zero = 0;

	debug_assert(t == current);
	might_sleep();
	if (t->robust_list)
		walk_robust_list(t->robust_list);
	if (!t->clear_child_tid)
		return;
	/* If the address is bad, there is nobody left to tell. */
	if (!arch_copy_to_user(t->clear_child_tid, &zero, sizeof(zero)))
		futex_wake((u64)(uintptr_t)t->clear_child_tid, false, 1, FUTEX_BITSET_MATCH_ANY);
}

SYSCALL2(set_robust_list, u64, head, size_t, len)
{
	if (len != sizeof(struct robust_list_head))
		return -EINVAL;
	current->robust_list = head;
	return 0;
}

SYSCALL3(get_robust_list, int, tid, u64 *, head, u64 *, len)
{
	u64 size = sizeof(struct robust_list_head);
	struct thread *t = tid ? thread_find(tid) : thread_get(current);

	if (!t)
		return -ESRCH;
	u64 list = t->robust_list;
	bool may_look = cred_may_look(t);
	thread_put(t);
	if (!may_look)
		return -EPERM;
	if (arch_copy_to_user(len, &size, sizeof(size)) ||
	    arch_copy_to_user(head, &list, sizeof(list)))
		return -EFAULT;
	return 0;
}
