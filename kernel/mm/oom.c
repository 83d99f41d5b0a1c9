/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When memory is out: a page fault cannot return -ENOMEM, so a process has to go.
 *
 * The one with the most resident pages, oom_score_adj taken into account as on Linux (per mille of
 * memory; -1000 never), is killed. Process 1 is never chosen. While a victim is on its way out
 * nobody else is killed; a thread that needs memory waits a moment and faults again. If there is
 * nobody left to choose, the caller itself dies. The kernel's reserve (page.c) carries the exit.
 *
 * Locking: proc_tree_lock for the walk over processes, whose mm pointers it pins (exit and exec
 * change them under it).
 */
#include "kernel/contract.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/task/proc.h"
#include "kernel/task/signal.h"
#include "kernel/time/time.h"
#include "lib/signal.h"

#define RETRY_NS (10 * NS_PER_MS)

/* Returns how many pages the death of @p would free, or 0 if @p must not be killed. */
static s64 score(const struct proc *p)
{
	s64 adj = (s32)p->oom_score_adj;

	if (p == init_proc || p->zombie || !p->mm || adj == -1000)
		return 0;
	return max((s64)p->mm->rss + adj * (s64)page_nr_total() / 1000, (s64)1);
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
	return p->group_exit || READ_ONCE(p->pending.set) & SIGMASK(SIGKILL);
}

/* Returns the process to kill, with a reference, or NULL if a victim is dying already. */
static struct proc *choose_victim(void)
{
	struct proc *p, *victim = current->proc;
	bool dying = false;
	s64 worst = 0;

	spin_lock(&proc_tree_lock);
	list_for_each(p, &all_procs, all_link) {
		s64 points = score(p);

		dying |= points && is_dying(p);
		if (points > worst) {
			worst = points;
			victim = p;
		}
	}
	if (dying)
		victim = NULL;
	else
		kprintf("Out of memory: killing process %d (%s), %ld pages\n",
			proc_get(victim)->pid, victim->leader->task.comm, worst);
	spin_unlock(&proc_tree_lock);
	return victim;
}

bool oom_kill(void)
{
	might_sleep();

	struct proc *victim = choose_victim();

	if (victim) {
		signal_send_proc(victim, SIGKILL, NULL);
		proc_put(victim);
	}
	if (signal_pending())
		return false;
	sleep_until(clock_ns() + RETRY_NS, 0);
	return true;
}
