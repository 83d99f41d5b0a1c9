/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When memory is out: a page fault cannot return -ENOMEM, so a process has to go.
 *
 * THE RULE. The user who has most loses the process that has most. A process has its resident
 * pages, page tables and mappings, and a page for each descriptor; oom_score_adj is taken into
 * account as on Linux (per mille of memory; -1000 never). A user has what its processes have, and
 * what the kernel holds for it in pipes, sockets and rings (account.h). So a user who fills pipes,
 * or spreads memory over many processes, pays for it before anybody else does.
 *
 * Process 1 is never chosen. While a victim is on its way out nobody else is killed, unless that
 * takes long: it may wait for a lock whose holder waits here. A thread that needs memory waits a
 * moment and faults again. If there is nobody left to choose, the caller itself dies; if that is
 * process 1, the machine ends with it. The kernel's reserve (page.c) carries the exit.
 *
 * Locking: proc_tree_lock for the walk over processes, whose mm pointers it pins (exit and exec
 * change them under it).
 */
#include "kernel/base/inject.h"
#include "kernel/contract.h"
#include "kernel/fs/fs.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/task/account.h"
#include "kernel/task/proc.h"
#include "kernel/task/signal.h"
#include "kernel/time/time.h"
#include "lib/signal.h"

#define RETRY_NS    (10 * NS_PER_MS)
#define PATIENCE_NS (2 * NS_PER_SEC) /* with a victim, before another one is chosen */

static s64 own_pages(const struct proc *p)
{
	const struct mm *mm = p->mm;
	u64 tables = page_chain_length(mm->pt_root);
	u64 mappings = mm->nr_vmas * sizeof(struct vma) / PAGE_SIZE;

	debug_assert(spin_is_held(&proc_tree_lock));
	return (s64)(mm->rss + tables + mappings) + (p->files ? files_count(p->files) : 0);
}

/* Returns how many pages @p has, or 0 if it must not be killed. proc_tree_lock held. */
static s64 score(const struct proc *p)
{
	s64 adj = (s32)p->oom_score_adj;

	debug_assert(spin_is_held(&proc_tree_lock));
	if (p == init_proc || p->zombie || !p->mm || adj == -1000)
		return 0;
	return max(own_pages(p) + adj * (s64)page_nr_total() / 1000, (s64)1);
}

s64 oom_score(struct proc *p)
{
	spin_lock(&proc_tree_lock);
	s64 pages = score(p);

	spin_unlock(&proc_tree_lock);
	return pages * 1000 / (s64)page_nr_total();
}

static bool is_dying(const struct proc *p)
{
	debug_assert(spin_is_held(&proc_tree_lock));
	return p->group_exit || READ_ONCE(p->pending.set) & SIGMASK(SIGKILL);
}

static struct account *user_of(const struct proc *p)
{
	debug_assert(spin_is_held(&proc_tree_lock));
	return p->leader->account;
}

/* Count what each user has who could lose a process. proc_tree_lock held. */
static void add_up(void)
{
	struct proc *p;

	debug_assert(spin_is_held(&proc_tree_lock));
	list_for_each(p, &all_procs, all_link) {
		struct account *user = user_of(p);

		user->points = (s64)(account_used(user, RES_HELD) +
				     account_used(user, RES_RING_PAGES));
	}
	list_for_each(p, &all_procs, all_link)
		user_of(p)->points += score(p);
}

/* Is @p to be killed rather than @q (NULL: nobody)? */
static bool is_worse(const struct proc *p, const struct proc *q)
{
	debug_assert(spin_is_held(&proc_tree_lock));
	if (!q || user_of(p)->points > user_of(q)->points)
		return true;
	return user_of(p) == user_of(q) && score(p) > score(q);
}

/* Is it time to choose, though @dying, a victim, is on its way out? NULL: none is. */
static bool is_time(const struct proc *dying)
{
	/* The process that is waited for, and since when; guarded by: proc_tree_lock */
	static int pid;
	static u64 since_ns;
	u64 now = clock_ns();

	debug_assert(spin_is_held(&proc_tree_lock));
	if (dying && dying->pid != pid) {
		pid = dying->pid;
		since_ns = now;
	}
	if (dying && now - since_ns < PATIENCE_NS)
		return false;
	pid = 0;
	return true;
}

/*
 * The worst process, NULL if none can be killed. *dying: the oldest that is on its way out, or
 * NULL.
 */
static struct proc *find_worst(const struct proc **dying)
{
	struct proc *p, *worst = NULL;

	assert(spin_is_held(&proc_tree_lock));
	*dying = NULL;
	add_up();
	list_for_each(p, &all_procs, all_link) {
		if (!score(p))
			continue;
		if (is_dying(p))
			*dying = *dying ?: p;
		else if (is_worse(p, worst))
			worst = p;
	}
	return worst;
}

/* Returns the process to kill, with a reference, or NULL if a victim is dying already. */
static struct proc *choose_victim(void)
{
	const struct proc *dying;
	struct proc *victim;

	spin_lock(&proc_tree_lock);
	victim = find_worst(&dying);
	if (is_time(dying)) {
		victim = proc_get(victim ? victim : current->proc);
		kprintf("Out of memory: killing process %d (%s), %ld pages of user %u's %ld\n",
			victim->pid, victim->leader->task.comm, score(victim), user_of(victim)->uid,
			user_of(victim)->points);
	} else {
		victim = NULL;
	}
	spin_unlock(&proc_tree_lock);
	return victim;
}

bool oom_kill(void)
{
	might_sleep();
	if (inject_is_cause())
		return true;

	struct proc *victim = choose_victim();

	if (victim == init_proc) {
		kprintf("Out of memory: no process is left but the first\n");
		kernel_shutdown(128 + SIGKILL);
	}
	if (victim) {
		signal_send_proc(victim, SIGKILL, NULL);
		proc_put(victim);
	}
	if (signal_pending())
		return false;
	sleep_until(clock_ns() + RETRY_NS, 0);
	return true;
}
