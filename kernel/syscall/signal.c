/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Signals: handlers, masks, sending, waiting. The mechanism is kernel/task/signal.c.
 */
#include "kernel/task/signal.h"

#include "kernel/syscall/syscall.h"
#include "kernel/task/task.h"
#include "kernel/time/time.h"
#include "kernel/time/timespec.h"
#include "lib/errno.h"

/* --- handlers and masks --------------------------------------------------------------- */

SYSCALL4(rt_sigaction, int, sig, const struct sigaction *, user_new, struct sigaction *, user_old,
	 size_t, size)
{
	struct sigaction new, old;

	if (size != sizeof(sigset_t))
		return -EINVAL;
	if (user_new && arch_copy_from_user(&new, user_new, sizeof(new)))
		return -EFAULT;
	int err = signal_set_action(sig, user_new ? &new : NULL, &old);
	if (!err && user_old && arch_copy_to_user(user_old, &old, sizeof(old)))
		err = -EFAULT;
	return err;
}

SYSCALL4(rt_sigprocmask, int, how, const sigset_t *, user_set, sigset_t *, user_old, size_t, size)
{
	enum { SIG_BLOCK, SIG_UNBLOCK, SIG_SETMASK };
	sigset_t old = current->blocked, set;

	if (size != sizeof(set))
		return -EINVAL;
	if (user_set) {
		if (arch_copy_from_user(&set, user_set, sizeof(set)))
			return -EFAULT;
		if (how < SIG_BLOCK || how > SIG_SETMASK)
			return -EINVAL;
		signal_set_blocked(how == SIG_BLOCK	? old | set
				   : how == SIG_UNBLOCK ? old & ~set
							: set);
	}
	return user_old && arch_copy_to_user(user_old, &old, sizeof(old)) ? -EFAULT : 0;
}

SYSCALL2(rt_sigpending, sigset_t *, user_set, size_t, size)
{
	sigset_t set = signal_pending_set();

	if (size > sizeof(set))
		return -EINVAL;
	return arch_copy_to_user(user_set, &set, size) ? -EFAULT : 0;
}

SYSCALL0(rt_sigreturn)
{
	struct thread *t = current;
	sigset_t mask;

	if (arch_signal_return(t, &mask)) {
		kernel_user_fault(arch_user_regs(t), SIGSEGV, SI_KERNEL, 0);
		return 0;
	}
	signal_set_blocked(mask);
	return (long)arch_user_regs(t)->ax;
}

struct user_stack { /* stack_t */
	u64 sp;
	int flags;
	u64 size;
};

SYSCALL2(sigaltstack, const struct user_stack *, user_new, struct user_stack *, user_old)
{
	enum { MIN_SIZE = 2048 };
	struct thread *t = current;
	bool active = arch_user_regs(t)->sp - t->altstack - 1 < t->altstack_size;
	struct user_stack new, old = {
		.sp = t->altstack,
		.flags = !t->altstack_size ? SS_DISABLE
			 : active	   ? SS_ONSTACK
					   : 0,
		.size = t->altstack_size,
	};

	if (user_new) {
		if (arch_copy_from_user(&new, user_new, sizeof(new)))
			return -EFAULT;
		if (active)
			return -EPERM;
		if (new.flags & ~(SS_ONSTACK | SS_DISABLE))
			return -EINVAL;
		if (!(new.flags &SS_DISABLE) && new.size < MIN_SIZE)
			return -ENOMEM;
		t->altstack = new.flags &SS_DISABLE ? 0 : new.sp;
		t->altstack_size = new.flags &SS_DISABLE ? 0 : new.size;
	}
	return user_old && arch_copy_to_user(user_old, &old, sizeof(old)) ? -EFAULT : 0;
}

/* --- sending ------------------------------------------------------------------------------ */

static struct siginfo info_from_self(int sig, int code)
{
	return (struct siginfo){ .signo = sig,
				 .code = code,
				 .rt = { .pid = current->proc->pid,
					 .uid = current->cred.user.real } };
}

/*
 * kill() of the group @pgid, or if that is 0 of everybody but process 1 and the caller. Success if
 * one process was permitted.
 */
static long kill_many(int pgid, int sig, const struct siginfo *info)
{
	bool sent = false;
	struct proc *p;
	long err = -ESRCH;

	spin_lock(&proc_tree_lock);
	list_for_each(p, &all_procs, all_link) {
		if (pgid ? p->pgid != pgid : p == init_proc || p == current->proc)
			continue;
		if (!cred_may_signal(p->leader, sig))
			err = -EPERM;
		else if (!sig || !(err = signal_send_proc(p, sig, info)))
			sent = true;
	}
	spin_unlock(&proc_tree_lock);
	return sent ? 0 : err;
}

static long kill_one(int pid, int sig, const struct siginfo *info)
{
	/* The number of any thread names its process. */
	struct thread *t = thread_find(pid);

	if (!t)
		return -ESRCH;
	long err = !cred_may_signal(t, sig) ? -EPERM
		   : sig		    ? signal_send_proc(t->proc, sig, info)
					    : 0;
	thread_put(t);
	return err;
}

SYSCALL2(kill, int, pid, int, sig)
{
	struct siginfo info = info_from_self(sig, SI_USER);

	if (sig < 0 || sig > NSIG)
		return -EINVAL;
	if (pid > 0)
		return kill_one(pid, sig, &info);
	if (pid == -1)
		return kill_many(0, sig, &info);
	return pid == INT32_MIN ? -ESRCH : kill_many(pid ? -pid : current->proc->pgid, sig, &info);
}

/* Send to one thread, whose process must be @tgid if that is positive. */
static long send_to_thread(int tgid, int tid, int sig, const struct siginfo *info)
{
	if (tid <= 0 || sig < 0 || sig > NSIG)
		return -EINVAL;
	struct thread *t = thread_find(tid);
	if (!t)
		return -ESRCH;
	long err = tgid > 0 && t->proc->pid != tgid ? -ESRCH
		   : !cred_may_signal(t, sig)	    ? -EPERM
		   : sig			    ? signal_send_thread(t, sig, info)
						    : 0;
	thread_put(t);
	return err;
}

SYSCALL2(tkill, int, tid, int, sig)
{
	struct siginfo info = info_from_self(sig, SI_TKILL);

	return send_to_thread(0, tid, sig, &info);
}

SYSCALL3(tgkill, int, tgid, int, tid, int, sig)
{
	struct siginfo info = info_from_self(sig, SI_TKILL);

	return tgid <= 0 ? -EINVAL : send_to_thread(tgid, tid, sig, &info);
}

/*
 * Read the caller's siginfo. Except to itself, a caller may not pretend to be the kernel or
 * kill(2).
 */
static long get_siginfo(struct siginfo *info, const struct siginfo *user, int sig, int pid)
{
	if (arch_copy_from_user(info, user, sizeof(*info)))
		return -EFAULT;
	if ((info->code >= 0 || info->code == SI_TKILL) && pid != current->proc->pid)
		return -EPERM;
	info->signo = sig;
	return 0;
}

SYSCALL3(rt_sigqueueinfo, int, pid, int, sig, const struct siginfo *, user_info)
{
	struct siginfo info;
	long err = get_siginfo(&info, user_info, sig, pid);

	if (err)
		return err;
	return sig < 0 || sig > NSIG ? -EINVAL : kill_one(pid, sig, &info);
}

SYSCALL4(rt_tgsigqueueinfo, int, tgid, int, tid, int, sig, const struct siginfo *, user_info)
{
	struct siginfo info;
	long err = get_siginfo(&info, user_info, sig, tgid);

	return err ? err : tgid <= 0 ? -EINVAL : send_to_thread(tgid, tid, sig, &info);
}

/* --- waiting ---------------------------------------------------------------------------------- */

SYSCALL0(pause)
{
	sleep_until(TIME_NEVER, 0);
	return -ERESTARTNOHAND;
}

SYSCALL2(rt_sigsuspend, const sigset_t *, user_mask, size_t, size)
{
	struct thread *t = current;
	sigset_t mask;

	if (size != sizeof(mask))
		return -EINVAL;
	if (arch_copy_from_user(&mask, user_mask, sizeof(mask)))
		return -EFAULT;
	t->saved_mask = signal_set_blocked(mask);
	t->restore_saved_mask = true;
	sleep_until(TIME_NEVER, 0);
	return -ERESTARTNOHAND;
}

SYSCALL4(rt_sigtimedwait, const sigset_t *, user_set, struct siginfo *, user_info,
	 const struct timespec *, timeout, size_t, size)
{
	u64 deadline_ns = TIME_NEVER;
	struct siginfo info;
	sigset_t set;

	if (size != sizeof(set))
		return -EINVAL;
	if (arch_copy_from_user(&set, user_set, sizeof(set)))
		return -EFAULT;
	if (timeout) {
		u64 ns;
		long err = timespec_get(timeout, &ns);
		if (err)
			return err;
		deadline_ns = ns ? deadline_after(ns) : 0;
	}
	long sig = signal_wait(set, &info, deadline_ns);
	if (sig > 0 && user_info && arch_copy_to_user(user_info, &info, sizeof(info)))
		return -EFAULT;
	return sig;
}
