/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Delivery of signals: what a thread does about them before it enters user space again.
 *
 * Stop and continue: the thread that takes a stop signal sets the process's stop_signal; every
 * thread then waits in TASK_STOPPED until it is 0 again. The last one to stop tells the parent.
 *
 * The end of a process works alike: group_exit is set, every thread finds it in signal_deliver()
 * and exits.
 *
 * Locking: as in signal.c, which keeps what is pending.
 */
#include "kernel/contract.h"
#include "kernel/kernel.h"
#include "kernel/task/exit.h"
#include "kernel/task/signal.h"
#include "kernel/task/task.h"
#include "lib/errno.h"

/* --- stopping ----------------------------------------------------------------------------- */

static void notify_stopped(struct proc *p, int sig)
{
	debug_assert(may_sleep());
	spin_lock(&proc_tree_lock);
	p->stop_unreported = sig;
	p->continue_unreported = false;
	signal_notify_parent(p, SIGCHLD, CLD_STOPPED, sig);
	spin_unlock(&proc_tree_lock);
}

static void notify_continued(struct proc *p)
{
	spin_lock(&proc_tree_lock);
	p->stop_unreported = 0;
	p->continue_unreported = true;
	signal_notify_parent(p, SIGCHLD, CLD_CONTINUED, SIGCONT);
	spin_unlock(&proc_tree_lock);
}

static void begin_stop(struct proc *p, int sig)
{
	struct thread *t;

	assert_held(&p->sig_lock);
	p->stop_signal = sig;
	list_for_each(t, &p->threads, proc_link)
		if (t != current)
			signal_notify(t, TASK_INTERRUPTIBLE);
}

/* Wait until the process is continued or ended. sig_lock held, dropped meanwhile. */
static void stop_here(struct proc *p, unsigned long *flags)
{
	assert_held(&p->sig_lock);
	if (++p->nr_stopped == p->nr_threads) {
		int sig = p->stop_signal;
		spin_unlock_irqrestore(&p->sig_lock, *flags);
		notify_stopped(p, sig);
		*flags = spin_lock_irqsave(&p->sig_lock);
	}
	while (p->stop_signal && !signal_must_exit(current)) {
		sched_block(&current->task, TASK_STOPPED);
		spin_unlock_irqrestore(&p->sig_lock, *flags);
		schedule();
		*flags = spin_lock_irqsave(&p->sig_lock);
	}
	p->nr_stopped--;
	if (p->continue_pending) {
		p->continue_pending = false;
		spin_unlock_irqrestore(&p->sig_lock, *flags);
		notify_continued(p);
		*flags = spin_lock_irqsave(&p->sig_lock);
	}
}

void signal_stop_check(struct proc *p)
{
	might_sleep();

	unsigned long flags = spin_lock_irqsave(&p->sig_lock);
	int sig = p->nr_threads && p->nr_stopped == p->nr_threads ? p->stop_signal : 0;

	spin_unlock_irqrestore(&p->sig_lock, flags);
	if (sig)
		notify_stopped(p, sig);
}

/* --- delivery ------------------------------------------------------------------------------- */

struct delivery {
	int sig;
	struct siginfo info;
	struct sigaction action;
};

/*
 * The default action of a signal that is not ignored. sig_lock held; returns if the thread lives
 * on.
 */
static void deliver_default(struct proc *p, const struct delivery *d, unsigned long *flags)
{
	bool own_fault = (SIGMASK(d->sig) & SYNCHRONOUS) && d->info.code > 0;

	assert_held(&p->sig_lock);
	if (p == init_proc && !own_fault)
		return;
	if (!(SIGMASK(d->sig) & STOP_SIGNALS)) {
		signal_begin_group_exit(p, d->sig);
		return;
	}
	if (d->sig != SIGSTOP) {
		/* In an orphaned group, nobody would ever continue the process. */
		p->stop_taken = true;
		spin_unlock_irqrestore(&p->sig_lock, *flags);
		bool orphaned = proc_group_is_orphaned(p->pgid);
		*flags = spin_lock_irqsave(&p->sig_lock);
		if (orphaned || !p->stop_taken)
			return;
	}
	begin_stop(p, d->sig);
}

/* Take the next signal that has a handler; false if there is none. */
static bool get_signal(struct delivery *d)
{
	struct thread *t = current;
	struct proc *p = t->proc;
	unsigned long flags = spin_lock_irqsave(&p->sig_lock);

	for (;;) {
		if (signal_must_exit(t)) {
			int code = p->exit_code;
			spin_unlock_irqrestore(&p->sig_lock, flags);
			thread_exit(code);
		}
		if (p->stop_signal) {
			stop_here(p, &flags);
			continue;
		}
		d->sig = signal_dequeue(t, ~t->blocked, &d->info);
		if (!d->sig)
			break;
		struct sigaction *action = &p->action[d->sig - 1];
		d->action = *action;
		if (action->handler > SIG_IGN) {
			if (action->flags & SA_RESETHAND)
				action->handler = SIG_DFL;
			break;
		}
		if (!signal_is_ignored(p, d->sig))
			deliver_default(p, d, &flags);
	}
	signal_recalc(t);
	spin_unlock_irqrestore(&p->sig_lock, flags);
	return d->sig;
}

/*
 * Decide whether an interrupted system call starts again, and as what, when @action runs first
 * (NULL: no handler).
 */
static void finish_restart(struct user_regs *regs, const struct sigaction *action)
{
	long nr = arch_syscall_nr(regs);

	debug_assert(regs == arch_user_regs(current));
	switch (-(long)regs->ax) {
	case ERESTARTSYS:
		if (action && !(action->flags & SA_RESTART))
			break;
		__fallthrough;
	case ERESTARTNOINTR:
		arch_syscall_restart(regs, nr);
		return;
	case ERESTARTNOHAND:
		if (action)
			break;
		arch_syscall_restart(regs, nr);
		return;
	case ERESTART_RESTARTBLOCK:
		if (action)
			break;
		arch_syscall_restart(regs, SYS_RESTART_SYSCALL);
		return;
	}
	regs->ax = (u64)-EINTR;
}

static void enter_handler(const struct delivery *d)
{
	struct thread *t = current;
	const struct sigaction *action = &d->action;
	struct sigframe_request req = {
		.sig = d->sig,
		.handler = action->handler,
		.restorer = action->restorer,
		.flags = action->flags,
		.old_mask = t->restore_saved_mask ? t->saved_mask : t->blocked,
		.altstack = t->altstack,
		.altstack_size = t->altstack_size,
		.siginfo = &d->info,
	};

	debug_assert(d->sig >= 1 && d->sig <= NSIG);
	t->restore_saved_mask = false;
	if (arch_signal_frame(t, &req)) {
		struct siginfo info = { .code = SI_KERNEL };
		/*
		 * There is no stack for the handler. If that handler is SIGSEGV's own, calling it
		 * again would fail too.
		 */
		if (d->sig == SIGSEGV)
			proc_exit_group(SIGSEGV);
		signal_force(SIGSEGV, &info);
		return;
	}
	signal_set_blocked(t->blocked | action->mask |
			   (action->flags & SA_NODEFER ? 0 : SIGMASK(d->sig)));
}

void signal_deliver(struct user_regs *regs)
{
	struct thread *t = current;
	struct delivery d;
	bool restart = READ_ONCE(t->flags) & THREAD_RESTART;

	debug_assert(may_sleep() && !thread_has(t, THREAD_KERNEL));
	if (unlikely(READ_ONCE(t->flags) & THREAD_LIMITS))
		limits_check();
	bool handled = get_signal(&d);

	if (restart) {
		thread_clear_flags(t, THREAD_RESTART);
		finish_restart(regs, handled ? &d.action : NULL);
	}
	if (handled) {
		enter_handler(&d);
	} else if (t->restore_saved_mask) {
		t->restore_saved_mask = false;
		signal_set_blocked(t->saved_mask);
	}
}
