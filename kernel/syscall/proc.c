/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Processes and threads: creation, end, waiting, groups and sessions, attributes and limits. Users
 * and capabilities are in cred.c.
 */
#include "kernel/cgroup/cgroup.h"
#include "kernel/contract.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/syscall/syscall.h"
#include "kernel/task/exit.h"
#include "kernel/task/fork.h"
#include "kernel/task/signal.h"
#include "kernel/task/task.h"
#include "kernel/time/time.h"
#include "kernel/trace/trace.h"
#include "lib/errno.h"

/* --- creation and end ------------------------------------------------------------- */

SYSCALL5(clone, u64, flags, u64, stack, u32 *, parent_tid, u32 *, child_tid, u64, tls)
{
	struct clone_args args = { flags & UINT32_MAX & ~(u64)CLONE_SIGNAL_MASK,
				   flags & CLONE_SIGNAL_MASK,
				   stack,
				   parent_tid,
				   child_tid,
				   tls };

	return clone_thread(&args);
}

int check_unknown(const void *user, size_t from, size_t to)
{
	u8 byte;

	for (size_t at = from; at < to; at++) {
		if (arch_copy_from_user(&byte, (const u8 *)user + at, 1))
			return -EFAULT;
		if (byte)
			return -E2BIG;
	}
	return 0;
}

struct user_clone_args { /* Linux's, of its first version and later */
	u64 flags;
	u64 pidfd, child_tid, parent_tid;
	u64 exit_signal;
	u64 stack, stack_size; /* its lowest byte, unlike clone's */
	u64 tls;
	u64 set_tid, set_tid_size, cgroup;
};
#define CLONE_ARGS_SIZE_1 64

/* Copy what @user has; what this kernel does not know must be 0. -EINVAL, -E2BIG, -EFAULT. */
static long get_clone_args(struct user_clone_args *u, const char *user, size_t size)
{
	*u = (struct user_clone_args){ 0 };
	if (size > PAGE_SIZE)
		return -E2BIG;
	if (size < CLONE_ARGS_SIZE_1)
		return -EINVAL;
	if (arch_copy_from_user(u, user, min(size, sizeof(*u))))
		return -EFAULT;
	return check_unknown(user, sizeof(*u), size);
}

/* Numbers of one's choice, descriptors of processes and of control groups are refused. */
SYSCALL2(clone3, const char *, user, size_t, size)
{
	struct user_clone_args u;
	long err = get_clone_args(&u, user, size);

	if (err)
		return err;
	if (u.set_tid || u.set_tid_size || u.cgroup)
		return -EINVAL;
	if ((u.flags & (CLONE_SIGNAL_MASK | CLONE_DETACHED)) || !u.stack != !u.stack_size)
		return -EINVAL;
	if (u.exit_signal > NSIG || u.stack + u.stack_size < u.stack)
		return -EINVAL;
	if ((u.flags & (CLONE_THREAD | CLONE_PARENT)) && u.exit_signal)
		return -EINVAL;
	struct clone_args args = { u.flags,
				   (int)u.exit_signal,
				   u.stack + u.stack_size,
				   (u32 *)u.parent_tid,
				   (u32 *)u.child_tid,
				   u.tls };
	return clone_thread(&args);
}

SYSCALL0(fork)
{
	struct clone_args args = { .exit_signal = SIGCHLD };

	return clone_thread(&args);
}

SYSCALL0(vfork)
{
	struct clone_args args = { .flags = CLONE_VM | CLONE_VFORK, .exit_signal = SIGCHLD };

	return clone_thread(&args);
}

SYSCALL1(exit, int, code)
{
	thread_exit(exit_status(code));
}

SYSCALL1(exit_group, int, code)
{
	proc_exit_group(exit_status(code));
}

SYSCALL1(set_tid_address, u32 *, address)
{
	current->clear_child_tid = address;
	return current->tid;
}

/* --- waiting -------------------------------------------------------------------------- */

/* struct rusage, as getrusage(2) documents it. */
struct user_rusage {
	s64 utime[2], stime[2]; /* s, us */
	s64 maxrss, ixrss, idrss, isrss;
	s64 minflt, majflt, nswap, inblock, oublock, msgsnd, msgrcv, nsignals;
	s64 nvcsw, nivcsw;
};

static int put_rusage(struct user_rusage *user, const struct usage *u)
{
	struct user_rusage r = {
		.utime = { u->user_ns / NS_PER_SEC, u->user_ns % NS_PER_SEC / NS_PER_US },
		.stime = { u->system_ns / NS_PER_SEC, u->system_ns % NS_PER_SEC / NS_PER_US },
		.maxrss = (s64)(u->max_rss * PAGE_SIZE / 1024),
		.minflt = u->min_flt,
		.majflt = u->maj_flt,
		.nvcsw = u->nr_voluntary,
		.nivcsw = u->nr_involuntary,
	};

	return arch_copy_to_user(user, &r, sizeof(r)) ? -EFAULT : 0;
}

SYSCALL4(wait4, int, pid, int *, status, unsigned, options, struct user_rusage *, rusage)
{
	struct wait_request req = { .options = options | WEXITED };

	if (options & ~(WNOHANG | WUNTRACED | WCONTINUED | WNOTHREAD | WALL | WCLONE))
		return -EINVAL;
	if (pid == INT32_MIN)
		return -ESRCH;
	req.which = pid == -1 ? WAIT_ANY : pid > 0 ? WAIT_PID : WAIT_GROUP;
	req.id = pid > 0 ? pid : pid ? -pid : current->proc->pgid;
	long child = do_wait(&req);
	if (child <= 0)
		return child;
	if (status && arch_copy_to_user(status, &req.status, sizeof(req.status)))
		return -EFAULT;
	return rusage && put_rusage(rusage, &req.usage) ? -EFAULT : child;
}

/* si_status is the exit code or the signal, not wait4's packed status. */
static int siginfo_status(const struct wait_request *req)
{
	switch (req->code) {
	case CLD_EXITED:
	case CLD_STOPPED:
		return req->status >> 8;
	case CLD_CONTINUED:
		return SIGCONT;
	default:
		return req->status & 0x7f;
	}
}

SYSCALL5(waitid, int, which, int, id, struct siginfo *, user_info, unsigned, options,
	 struct user_rusage *, rusage)
{
	enum { P_ALL, P_PID, P_PGID };
	struct wait_request req = { .id = id, .options = options };

	if ((options &
	     ~(WNOHANG | WUNTRACED | WEXITED | WCONTINUED | WNOWAIT | WNOTHREAD | WALL | WCLONE)) ||
	    !(options & (WUNTRACED | WEXITED | WCONTINUED)) || which < P_ALL || which > P_PGID)
		return -EINVAL;
	if ((which == P_PID && id <= 0) || (which == P_PGID && id < 0))
		return -EINVAL;
	req.which = which == P_ALL ? WAIT_ANY : which == P_PID ? WAIT_PID : WAIT_GROUP;
	if (which == P_PGID && !id)
		req.id = current->proc->pgid;
	long child = do_wait(&req);
	if (child < 0)
		return child;
	struct siginfo info = { 0 };
	if (child) {
		info.signo = SIGCHLD;
		info.code = req.code;
		info.chld.pid = (int)child;
		info.chld.uid = req.uid;
		info.chld.status = siginfo_status(&req);
		if (rusage && put_rusage(rusage, &req.usage))
			return -EFAULT;
	}
	return user_info && arch_copy_to_user(user_info, &info, sizeof(info)) ? -EFAULT : 0;
}

/* Returns the times of the running process's reaped children; another thread may reap one now. */
static struct usage usage_of_children(void)
{
	spin_lock(&proc_tree_lock);
	struct usage usage = current->proc->reaped;
	spin_unlock(&proc_tree_lock);
	return usage;
}

SYSCALL2(getrusage, int, who, struct user_rusage *, rusage)
{
	enum { RUSAGE_CHILDREN = -1, RUSAGE_SELF, RUSAGE_THREAD };
	struct usage usage;

	switch (who) {
	case RUSAGE_SELF:
		usage = proc_usage(current->proc);
		break;
	case RUSAGE_CHILDREN:
		usage = usage_of_children();
		break;
	case RUSAGE_THREAD:
		usage = thread_usage(current);
		break;
	default:
		return -EINVAL;
	}
	return put_rusage(rusage, &usage);
}

static s64 clock_ticks(u64 ns)
{
	return (s64)(ns / (NS_PER_SEC / 100)); /* USER_HZ is 100, whatever the tick is */
}

SYSCALL1(times, s64 *, tms)
{
	struct usage self = proc_usage(current->proc), children = usage_of_children();
	s64 ticks[4] = { clock_ticks(self.user_ns), clock_ticks(self.system_ns),
			 clock_ticks(children.user_ns), clock_ticks(children.system_ns) };

	if (tms && arch_copy_to_user(tms, ticks, sizeof(ticks)))
		return -EFAULT;
	return clock_ticks(clock_ns());
}

/* --- identity ---------------------------------------------------------------------------- */

SYSCALL0(getpid)
{
	return current->proc->pid;
}

SYSCALL0(gettid)
{
	return current->tid;
}

SYSCALL0(getppid)
{
	return READ_ONCE(current->proc->ppid);
}

/* --- groups and sessions -------------------------------------------------------------------- */

/*
 * Returns the process @pid (0: the caller) if it is the caller or one of its children, else NULL.
 * proc_tree_lock held.
 */
static struct proc *find_own(int pid)
{
	struct proc *self = current->proc;

	assert_held(&proc_tree_lock);
	if (!pid || pid == self->pid)
		return self;
	struct thread *t = pid_thread(pid);
	return t && t->proc->pid == pid && t->proc->parent == self ? t->proc : NULL;
}

static long set_group_locked(int pid, int pgid)
{
	assert_held(&proc_tree_lock);

	struct proc *self = current->proc, *p = find_own(pid);

	if (!p || p->zombie)
		return -ESRCH;
	if (p != self && p->sid != self->sid)
		return -EPERM;
	if (p != self && p->nr_execs)
		return -EACCES;
	if (p->pid == p->sid)
		return -EPERM;
	if (!pgid)
		pgid = p->pid;
	if (pgid != p->pid && !proc_group_exists(pgid, self->sid))
		return -EPERM;
	proc_set_group(p, pgid, p->sid);
	return 0;
}

SYSCALL2(setpgid, int, pid, int, pgid)
{
	if (pgid < 0 || pid < 0)
		return pgid < 0 ? -EINVAL : -ESRCH;
	spin_lock(&proc_tree_lock);
	long err = set_group_locked(pid, pgid);
	spin_unlock(&proc_tree_lock);
	return err;
}

static long get_group(int pid, bool session)
{
	struct proc *p = pid ? proc_find(pid) : proc_get(current->proc);

	if (!p)
		return -ESRCH;
	long id = session ? READ_ONCE(p->sid) : READ_ONCE(p->pgid);
	proc_put(p);
	return id;
}

SYSCALL1(getpgid, int, pid)
{
	return get_group(pid, false);
}

SYSCALL0(getpgrp)
{
	return current->proc->pgid;
}

SYSCALL1(getsid, int, pid)
{
	return get_group(pid, true);
}

SYSCALL0(setsid)
{
	struct proc *self = current->proc, *p;
	long result = self->pid;

	spin_lock(&proc_tree_lock);
	/*
	 * The caller's number may already name a group, which the caller has left or which others
	 * have joined.
	 */
	list_for_each(p, &all_procs, all_link)
		if (p->pgid == self->pid)
			result = -EPERM;
	if (result > 0) {
		proc_set_group(self, self->pid, self->pid);
		self->tty = NULL;
	}
	spin_unlock(&proc_tree_lock);
	if (result > 0)
		autogroup_begin_session(self);
	return result;
}

/* --- attributes ------------------------------------------------------------------------------*/

enum prctl_option {
	PR_SET_PDEATHSIG = 1,
	PR_GET_PDEATHSIG = 2,
	PR_GET_DUMPABLE = 3,
	PR_SET_DUMPABLE = 4,
	PR_SET_NAME = 15,
	PR_GET_NAME = 16,
	PR_SET_CHILD_SUBREAPER = 36,
	PR_GET_CHILD_SUBREAPER,
	PR_SET_TIMERSLACK = 29,
	PR_GET_TIMERSLACK = 30,
};

static long set_name(const char *user_name)
{
	char name[COMM_LEN] = { 0 };

	/* Longer names are cut off, as on Linux. */
	if (arch_strncpy_from_user(name, user_name, COMM_LEN - 1) < 0)
		return -EFAULT;
	thread_set_name(current, name);
	return 0;
}

static long put_int(int *user, int value)
{
	return arch_copy_to_user(user, &value, sizeof(value)) ? -EFAULT : 0;
}

SYSCALL5(prctl, int, option, u64, arg, u64, arg3, u64, arg4, u64, arg5)
{
	struct thread *t = current;

	switch (option) {
	case PR_SET_PDEATHSIG:
		if (arg > NSIG)
			return -EINVAL;
		WRITE_ONCE(t->parent_death_signal, (int)arg);
		return 0;
	case PR_GET_PDEATHSIG:
		return put_int((int *)arg, t->parent_death_signal);
	case PR_GET_DUMPABLE:
		return !t->mm->secret;
	case PR_SET_DUMPABLE:
		if (arg > 1)
			return -EINVAL;
		t->mm->secret = !arg;
		return 0;
	case PR_SET_NAME:
		return set_name((const char *)arg);
	case PR_GET_NAME:
		return arch_copy_to_user((void *)arg, t->task.comm, COMM_LEN) ? -EFAULT : 0;
	case PR_SET_CHILD_SUBREAPER:
		t->proc->is_subreaper = arg;
		return 0;
	case PR_GET_CHILD_SUBREAPER:
		return put_int((int *)arg, t->proc->is_subreaper);
	case PR_SET_TIMERSLACK:
		t->timer_slack_ns = arg ? arg : t->default_timer_slack_ns;
		return 0;
	case PR_GET_TIMERSLACK:
		return (long)min(t->timer_slack_ns, (u64)INT64_MAX);
	default:
		return cred_prctl(option, arg, arg3, arg4 | arg5);
	}
}

SYSCALL2(arch_prctl, int, option, u64, arg)
{
	enum { ARCH_SET_FS = 0x1002, ARCH_GET_FS = 0x1003 };
	u64 base = arch_get_tls();

	switch (option) {
	case ARCH_SET_FS:
		if (arg >= USER_END)
			return -EPERM;
		arch_set_tls(arg);
		return 0;
	case ARCH_GET_FS:
		return arch_copy_to_user((void *)arg, &base, sizeof(base)) ? -EFAULT : 0;
	default:
		return -EINVAL;
	}
}

/* --- limits ---------------------------------------------------------------------------- */

static long swap_limit(struct proc *p, unsigned kind, const struct rlimit *new, struct rlimit *old)
{
	unsigned long flags = spin_lock_irqsave(&p->sig_lock);
	long err = 0;

	debug_assert(kind < NR_RLIMITS);
	*old = p->rlimit[kind];
	if (new &&new->max > old->max && !capable(CAP_SYS_RESOURCE))
		err = -EPERM;
	else if (new &&kind == RLIMIT_NOFILE &&new->max > NOFILE_MAX)
		err = -EPERM;
	else if (new)
		p->rlimit[kind] = *new;
	/* Linux's reading of "no CPU time at all": the signal must come after the call. */
	if (kind == RLIMIT_CPU && !p->rlimit[kind].cur)
		p->rlimit[kind].cur = 1;
	spin_unlock_irqrestore(&p->sig_lock, flags);
	return err;
}

/* May the running thread see and set the limits of @p? */
static bool may_limit(const struct proc *p)
{
	const struct cred *own = &current->cred, *other = &p->leader->cred;
	u32 user = own->user.real, group = own->group.real;

	if (p == current->proc || capable(CAP_SYS_RESOURCE))
		return true;
	return user == other->user.real && user == other->user.effective &&
	       user == other->user.saved && group == other->group.real &&
	       group == other->group.effective && group == other->group.saved;
}

static long do_prlimit(int pid, unsigned kind, const struct rlimit *user_new,
		       struct rlimit *user_old)
{
	struct rlimit new, old;

	if (kind >= NR_RLIMITS)
		return -EINVAL;
	if (user_new && arch_copy_from_user(&new, user_new, sizeof(new)))
		return -EFAULT;
	if (user_new && new.cur > new.max)
		return -EINVAL;
	struct proc *p = pid ? proc_find(pid) : proc_get(current->proc);
	if (!p)
		return -ESRCH;
	long err = may_limit(p) ? swap_limit(p, kind, user_new ? &new : NULL, &old) : -EPERM;
	proc_put(p);
	if (!err && user_old && arch_copy_to_user(user_old, &old, sizeof(old)))
		err = -EFAULT;
	return err;
}

SYSCALL4(prlimit64, int, pid, unsigned, kind, const struct rlimit *, new, struct rlimit *, old)
{
	return do_prlimit(pid, kind, new, old);
}

SYSCALL2(getrlimit, unsigned, kind, struct rlimit *, old)
{
	return old ? do_prlimit(0, kind, NULL, old) : -EFAULT;
}

SYSCALL2(setrlimit, unsigned, kind, const struct rlimit *, new)
{
	return new ? do_prlimit(0, kind, new, NULL) : -EFAULT;
}
