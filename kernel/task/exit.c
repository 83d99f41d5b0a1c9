/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The end of threads and processes.
 *
 * A thread ends in four steps: it leaves user space for good (futexes, vfork), gives up what it
 * holds of the process (the last one gives back the process's resources), leaves the family tree,
 * and switches away for the last time. When the last thread has left, the process is a zombie: its
 * number, status and usage wait for the parent.
 *
 * References: Linux's wait4(2) and credentials(7) for orphans, groups and sessions; POSIX.1-2008
 * _exit().
 */
#include "kernel/task/exit.h"

#include "kernel/cgroup/cgroup.h"
#include "kernel/contract.h"
#include "kernel/fs/fs.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/task/account.h"
#include "kernel/task/fork.h"
#include "kernel/task/futex.h"
#include "kernel/task/signal.h"
#include "kernel/task/task.h"
#include "kernel/time/itimer.h"
#include "kernel/trace/trace.h"
#include "kernel/tty/tty.h"
#include "lib/errno.h"

/* Without process 1 there is nothing left to run. */
static void check_not_init(const struct proc *p)
{
	int signal = p->exit_code & 0x7f;

	if (p == init_proc)
		kernel_shutdown(signal ? 128 + signal : p->exit_code >> 8 & 0xff);
}

/* --- the family ---------------------------------------------------------------------- */

/* @p has ended: does its parent want to know, or is it gone for good? proc_tree_lock held. */
static bool notify_end(struct proc *p)
{
	struct proc *parent = p->parent;
	const struct sigaction *action = &parent->action[SIGCHLD - 1];
	int signal = p->exit_code & 0x7f;

	debug_assert(p->zombie);
	assert_held(&proc_tree_lock);
	if (p->parent_execs != parent->nr_execs)
		p->exit_signal = SIGCHLD; /* the parent's new program knows no other */
	signal_notify_parent(p, p->exit_signal, signal ? CLD_KILLED : CLD_EXITED,
			     signal ? signal : p->exit_code >> 8 & 0xff);
	return p->exit_signal != SIGCHLD || (READ_ONCE(action->handler) != SIG_IGN &&
					     !(READ_ONCE(action->flags) & SA_NOCLDWAIT));
}

/* Zombies that nobody will wait for, chained through proc.sibling until the lock is dropped. */
static void bury(struct proc *p, struct list *graves)
{
	debug_assert(p->zombie);
	assert_held(&proc_tree_lock);
	proc_unlink(p);
	list_add_tail(graves, &p->sibling);
}

static void free_graves(struct list *graves)
{
	struct proc *p, *next;

	debug_assert(may_sleep());
	list_for_each_safe(p, next, graves, sibling) {
		list_del(&p->sibling);
		thread_put(p->leader);
		proc_put(p);
		cond_resched();
	}
}

/*
 * A group that has lost its last tie to its session gets SIGHUP and SIGCONT if it has stopped
 * members: nobody else would ever continue them. A process may have children in thousands of
 * groups, so its end only marks them (GROUP_LOST), and hang_up_orphans() looks at all together.
 */
enum group_mark { GROUP_LOST = 1, GROUP_STOPPED = 2, GROUP_TIED = 4 };

static bool lose_tie(int pgid)
{
	debug_assert(spin_is_held(&proc_tree_lock));
	return *pid_group_marks(pgid) |= GROUP_LOST;
}

/* Marks groups that have lost a tie and have stopped members. Returns whether there are any. */
static bool mark_stopped(void)
{
	struct proc *p;
	bool any = false;

	debug_assert(spin_is_held(&proc_tree_lock));
	list_for_each(p, &all_procs, all_link) {
		u32 *marks = pid_group_marks(p->pgid);

		if (!*marks || !p->stop_signal || p->zombie)
			continue;
		*marks |= GROUP_STOPPED;
		any = true;
	}
	return any;
}

static void hang_up_stopped(void)
{
	struct proc *p;

	debug_assert(spin_is_held(&proc_tree_lock));
	list_for_each(p, &all_procs, all_link)
		if (proc_ties_group(p))
			*pid_group_marks(p->pgid) |= GROUP_TIED;
	list_for_each(p, &all_procs, all_link) {
		if (*pid_group_marks(p->pgid) != (GROUP_LOST | GROUP_STOPPED))
			continue;
		signal_send_proc(p, SIGHUP, NULL);
		signal_send_proc(p, SIGCONT, NULL);
	}
}

/* The marks of all groups are 0 again afterwards. */
static void hang_up_orphans(void)
{
	struct proc *p;

	assert_held(&proc_tree_lock);
	if (mark_stopped())
		hang_up_stopped();
	list_for_each(p, &all_procs, all_link)
		*pid_group_marks(p->pgid) = 0;
}

/* The scheduler's family tree follows ours, whose lock is held. */
static void sched_reparent(struct proc *child, struct proc *parent)
{
	assert_held(&proc_tree_lock);

	unsigned long flags = arch_irq_save();

	sched_task_reparent(machine, &child->leader->task, &parent->leader->task);
	arch_irq_restore(flags);
}

/* The nearest living ancestor of @p that asked for orphans, or process 1. */
static struct proc *find_reaper(const struct proc *p)
{
	struct proc *reaper = p->parent;

	assert_held(&proc_tree_lock);
	while (reaper != &kernel_proc && (reaper->zombie || !reaper->is_subreaper))
		reaper = reaper->parent;
	return reaper == &kernel_proc ? init_proc : reaper;
}

/* The parent of @p ends: each thread of @p may have chosen a signal for that. */
static void tell_of_death(struct proc *p)
{
	struct thread *t;

	assert_held(&proc_tree_lock);
	list_for_each(t, &p->threads, proc_link) {
		int sig = READ_ONCE(t->parent_death_signal);

		if (sig)
			signal_send_proc(p, sig, NULL);
	}
}

/* The child @child of @p becomes @reaper's. Returns whether its group is marked for it. */
static bool give_away(struct proc *child, struct proc *p, struct proc *reaper, struct list *graves)
{
	debug_assert(child->parent == p);
	debug_assert(spin_is_held(&proc_tree_lock));
	sched_reparent(child, reaper);
	list_del(&child->sibling);
	child->parent = reaper;
	child->ppid = reaper->pid;
	list_add_tail(&reaper->children, &child->sibling);
	tell_of_death(child);
	child->exit_signal = SIGCHLD;
	if (child->zombie && !notify_end(child)) {
		bury(child, graves);
		return false;
	}
	return child->pgid != p->pgid && child->sid == p->sid && lose_tie(child->pgid);
}

#define GIFTS 32 /* children that find a new parent before others may have the lock */

/*
 * The children of @p become its reaper's. The lock is dropped now and then. Nobody waits for @p
 * meanwhile, for it is no zombie yet; at the end it has no children left. Returns whether groups
 * have been marked.
 */
static bool give_away_children(struct proc *p, struct list *graves)
{
	struct proc *reaper = find_reaper(p);
	bool lost = false;

	assert_held(&proc_tree_lock);
	for (unsigned nr = 1; !list_empty(&p->children); nr++) {
		struct proc *child = list_first(&p->children, struct proc, sibling);

		lost |= give_away(child, p, reaper, graves);
		if (nr % GIFTS)
			continue;
		spin_unlock(&proc_tree_lock);
		cond_resched();
		arch_cpu_relax(); /* who waits for the lock looks now */
		spin_lock(&proc_tree_lock);
		reaper = find_reaper(p);
	}
	return lost;
}

static void become_zombie(struct proc *p)
{
	struct list graves = LIST_INIT(graves);

	debug_assert(!p->nr_threads);
	spin_lock(&proc_tree_lock);
	bool lost = give_away_children(p, &graves);
	p->zombie = true;
	unsigned long flags = arch_irq_save();
	sched_task_unlink(machine, &current->task);
	arch_irq_restore(flags);
	if (p->parent->pgid != p->pgid && p->parent->sid == p->sid)
		lost |= lose_tie(p->pgid);
	if (lost)
		hang_up_orphans();
	if (!notify_end(p))
		bury(p, &graves);
	spin_unlock(&proc_tree_lock);
	free_graves(&graves);
}

/* --- the thread ------------------------------------------------------------------------ */

/*
 * From here on the thread takes no signals. Returns true for the last thread that gets here. That
 * one frees the memory, perhaps while this one waits for a CPU; a thread that still named the
 * memory would get freed page tables with the CPU.
 */
static bool begin_exit(struct thread *t, int code)
{
	struct proc *p = t->proc;

	debug_assert(p->nr_alive);
	assert(!t->mm);
	unsigned long flags = spin_lock_irqsave(&p->sig_lock);

	thread_set_flags(t, THREAD_EXITING);
	if (!p->group_exit && t == p->leader)
		p->exit_code = code;
	bool last = --p->nr_alive == 0;
	signal_retarget(p, ~t->blocked);
	spin_unlock_irqrestore(&p->sig_lock, flags);
	return last;
}

/* The process's resources go with the last thread, while it can still sleep and has a name. */
static void release_process(struct proc *p)
{
	debug_assert(!p->nr_alive);
	check_not_init(p);
	itimers_free(p);
	if (p->pid == p->sid)
		tty_leave_session(p);
	autogroup_leave(p);
	proc_release_resources(p);
}

/*
 * Leave the process; returns true for its last thread. The leader stays listed until the process is
 * reaped, for its number and its usage.
 */
static bool leave_process(struct thread *t)
{
	struct proc *p = t->proc;
	bool is_leader;

	debug_assert(p->nr_threads);
	spin_lock(&proc_tree_lock);
	unsigned long flags = spin_lock_irqsave(&p->sig_lock);
	signal_flush(&t->pending);
	bool last = --p->nr_threads == 0;
	nr_threads_total--;
	if (!last)
		sched_task_unlink(machine, &t->task);
	is_leader = t == p->leader;
	if (!is_leader)
		list_del(&t->proc_link);
	if (last)
		signal_flush(&p->pending);
	spin_unlock_irqrestore(&p->sig_lock, flags);
	cgroup_leave(t);
	if (!is_leader) {
		struct usage mine = thread_usage(t);
		usage_add(&p->exited, &mine);
		pid_set_thread(t->tid, NULL);
		pid_release(t->tid);
		account_give(t->account, RES_THREADS, 1);
	}
	spin_unlock(&proc_tree_lock);
	if (READ_ONCE(p->execing))
		waitq_wake(&p->child_wait, 0);
	return last;
}

void thread_release_mm(struct thread *t)
{
	debug_assert(t == current);
	if (t->mm)
		futex_exit(t);
	t->robust_list = 0;
	t->clear_child_tid = NULL;
	thread_release_vfork(t);
}

__noreturn void thread_exit(int code)
{
	struct thread *t = current;
	struct proc *p = t->proc;

	might_sleep();
	trace_process_exit(t);
	thread_release_mm(t);
	t->mm = NULL;
	bool last_alive = begin_exit(t, code);
	if (last_alive && p != &kernel_proc)
		release_process(p);
	with_irqs_off(sched_task_ends(machine, arch_cpu_id()));
	if (leave_process(t))
		become_zombie(p);
	else
		signal_stop_check(p);
	switch_away();
}

__noreturn void proc_exit_group(int code)
{
	struct proc *p = current->proc;

	debug_assert(may_sleep());
	unsigned long flags = spin_lock_irqsave(&p->sig_lock);

	signal_begin_group_exit(p, code);
	code = p->exit_code;
	spin_unlock_irqrestore(&p->sig_lock, flags);
	thread_exit(code);
}

/* --- exec of a process with several threads ---------------------------------------------- */

/*
 * The thread that calls exec becomes the leader and takes the process's number. All others have
 * ended.
 */
static void take_leadership(struct thread *t)
{
	struct proc *p = t->proc;
	struct thread *old = p->leader;

	debug_assert(p->nr_threads == 1 && t != old);
	spin_lock(&proc_tree_lock);
	unsigned long flags = spin_lock_irqsave(&p->sig_lock);
	struct usage usage = thread_usage(old);
	usage_add(&p->exited, &usage);
	list_del(&old->proc_link);
	p->leader = thread_get(t);
	pid_set_thread(t->tid, NULL);
	pid_release(t->tid);
	t->tid = t->task.pid = p->pid;
	pid_set_thread(t->tid, t);
	sched_task_lead(machine, &t->task);
	account_give(old->account, RES_THREADS, 1);
	spin_unlock_irqrestore(&p->sig_lock, flags);
	spin_unlock(&proc_tree_lock);
	thread_put(old);
}

int proc_kill_other_threads(void)
{
	might_sleep();

	struct thread *t = current;
	struct proc *p = t->proc;
	unsigned long flags = spin_lock_irqsave(&p->sig_lock);

	if (p->group_exit || p->execing) {
		spin_unlock_irqrestore(&p->sig_lock, flags);
		return -ERESTARTNOINTR;
	}
	p->execing = t;
	signal_kill_threads(p, t);
	spin_unlock_irqrestore(&p->sig_lock, flags);
	wait_event(&p->child_wait, READ_ONCE(p->nr_threads) == 1);
	if (t != p->leader)
		take_leadership(t);
	flags = spin_lock_irqsave(&p->sig_lock);
	p->execing = NULL;
	spin_unlock_irqrestore(&p->sig_lock, flags);
	return 0;
}
