/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Accounts of users: a table by number. An account is there while a thread or an object of its user
 * is; root's always.
 *
 * Locking: account_lock guards the table. The last reference is dropped under it, so that nobody
 * finds an account that is about to go. It is innermost; signals are freed in interrupts. Counts
 * are atomic.
 */
#include "kernel/ref.h"
#include "kernel/task/account.h"

#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/task/proc.h"

#define NR_BUCKETS 64

struct account root_account = { .refs = 1 };

static struct spinlock account_lock = SPINLOCK_INIT("account");
static struct account *buckets[NR_BUCKETS]; /* guarded by: account_lock */

static struct account *find_locked(u32 uid)
{
	struct account *a = buckets[uid % NR_BUCKETS];

	assert(spin_is_held(&account_lock));
	while (a && a->uid != uid)
		a = a->next;
	return a;
}

static void add_locked(struct account *a, u32 uid)
{
	debug_assert(uid);
	assert(spin_is_held(&account_lock));
	a->uid = uid;
	a->refs = 1;
	a->next = buckets[uid % NR_BUCKETS];
	buckets[uid % NR_BUCKETS] = a;
}

struct account *account_find(u32 uid)
{
	struct account *spare, *a;
	unsigned long flags;

	if (!uid)
		return account_get(&root_account);
	spare = kzalloc(sizeof(*spare));
	flags = spin_lock_irqsave(&account_lock);
	a = find_locked(uid);
	if (a) {
		account_get(a);
	} else if (spare) {
		a = spare;
		spare = NULL;
		add_locked(a, uid);
	}
	spin_unlock_irqrestore(&account_lock, flags);
	kfree(spare);
	return a;
}

struct account *account_get(struct account *a)
{
	ref_get(&a->refs);
	return a;
}

static void remove_locked(struct account *a)
{
	struct account **at = &buckets[a->uid % NR_BUCKETS];

	debug_assert(!a->refs);
	assert(spin_is_held(&account_lock));
	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
}

/* Drop a reference that is not the last one; false if it may be. */
static bool put_fast(struct account *a)
{
	u32 refs = READ_ONCE(a->refs);

	while (refs > 1)
		if (__atomic_compare_exchange_n(&a->refs, &refs, refs - 1, false, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
			return true;
	return false;
}

void account_put(struct account *a)
{
	bool last;

	if (!a || put_fast(a))
		return;
	unsigned long flags = spin_lock_irqsave(&account_lock);
	last = ref_put(&a->refs);
	if (last)
		remove_locked(a);
	spin_unlock_irqrestore(&account_lock, flags);
	for (unsigned i = 0; last && i < NR_RESOURCES; i++)
		assert(!a->used[i]);
	if (last)
		kfree(a);
}

bool account_charge(struct account *a, enum resource what, u64 n, u64 limit)
{
	debug_assert(what < NR_RESOURCES);
	if (__atomic_add_fetch(&a->used[what], n, __ATOMIC_RELAXED) <= limit)
		return true;
	account_give(a, what, n);
	return false;
}

void account_give(struct account *a, enum resource what, u64 n)
{
	debug_assert(a->used[what] >= n);
	__atomic_sub_fetch(&a->used[what], n, __ATOMIC_RELAXED);
}

bool account_switch(u32 uid)
{
	struct thread *t = current;
	struct account *new = account_find(uid), *old;

	if (!new)
		return false;
	account_charge(new, RES_THREADS, 1, NO_LIMIT);
	spin_lock(&proc_tree_lock);
	unsigned long flags = spin_lock_irqsave(&t->proc->sig_lock);
	old = t->account;
	t->account = new;
	spin_unlock_irqrestore(&t->proc->sig_lock, flags);
	spin_unlock(&proc_tree_lock);
	debug_assert(old->refs && old->used[RES_THREADS]);
	account_give(old, RES_THREADS, 1);
	account_put(old);
	return true;
}

bool account_is_exempt(void)
{
	return capable(CAP_SYS_RESOURCE) || capable(CAP_SYS_ADMIN);
}

bool account_may_hoard(void)
{
	return likely(!page_is_low()) || capable(CAP_SYS_RESOURCE);
}
