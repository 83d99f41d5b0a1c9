/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fork, vfork, clone: new threads and processes.
 *
 * A new thread of the same process shares everything but its stack and registers. A new process
 * gets copies, or with the CLONE_ flags references, of what struct proc points to. Everything that
 * can fail is done before the child is published; then it is visible, may be signalled, and starts.
 *
 * vfork: the child borrows the parent's address space and the parent sleeps until the child gives
 * it back, by exec or by its end (thread_release_vfork).
 */
#include "kernel/base/inject.h"
#include "kernel/contract.h"
#include "kernel/task/fork.h"

#include "kernel/exec/exec.h"
#include "kernel/fs/fs.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/scx/scx.h"
#include "kernel/task/account.h"
#include "kernel/task/signal.h"
#include "kernel/task/task.h"
#include "kernel/trace/trace.h"
#include "lib/errno.h"

#define CLONE_SUPPORTED                                                                            \
	(CLONE_CLEAR_SIGHAND | CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_VFORK |   \
	 CLONE_PARENT | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |        \
	 CLONE_CHILD_CLEARTID | CLONE_DETACHED | CLONE_UNTRACED | CLONE_CHILD_SETTID | CLONE_IO)

#define CLONE_NAMESPACES                                                                           \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET)

/*
 * Namespaces and pidfds are refused; an ordinary user, who may not have namespaces, learns that.
 * Flags that concern only tracers or I/O priorities are accepted and have no effect.
 */
static int check_flags(const struct clone_args *args)
{
	u64 flags = args->flags;

	if (flags & ~(u64)(CLONE_SUPPORTED | CLONE_NAMESPACES))
		return -EINVAL;
	if ((flags & CLONE_THREAD) && !(flags & CLONE_SIGHAND))
		return -EINVAL;
	if ((flags & CLONE_SIGHAND) && !(flags & CLONE_VM))
		return -EINVAL;
	/* Handlers belong to the process: only its threads can share them. */
	if ((flags & CLONE_SIGHAND) && !(flags & CLONE_THREAD))
		return -EINVAL;
	if ((flags & CLONE_PARENT) && current->proc == init_proc)
		return -EINVAL;
	if ((flags & CLONE_SIGHAND) && (flags & CLONE_CLEAR_SIGHAND))
		return -EINVAL;
	if (args->exit_signal > NSIG)
		return -EINVAL;
	/* The processor may refuse, at the switch, a thread pointer that is no user address. */
	if ((flags & CLONE_SETTLS) && args->tls >= USER_END)
		return -EPERM;
	if (flags & CLONE_NAMESPACES)
		return capable(CAP_SYS_ADMIN) ? -EINVAL : -EPERM;
	return 0;
}

/* Count one thread more for the user, who gets it or gives it back. 0 or -EAGAIN. */
static int charge_thread(void)
{
	struct account *user = current->account;
	bool exempt = user == &root_account || account_is_exempt();
	u64 limit = exempt ? NO_LIMIT : READ_ONCE(current->proc->rlimit[RLIMIT_NPROC].cur);

	if (READ_ONCE(nr_threads_total) >= threads_max || !account_may_hoard())
		return -EAGAIN;
	return account_charge(user, RES_THREADS, 1, limit) ? 0 : -EAGAIN;
}

static struct mm *clone_mm(struct mm *mm, u64 flags)
{
	return flags & CLONE_VM ? mm_get(mm) : mm_fork(mm);
}

static struct files *clone_files(struct files *files, u64 flags)
{
	return flags & CLONE_FILES ? files_get(files) : files_fork(files);
}

static struct fs_context *clone_fs(struct fs_context *fs, u64 flags)
{
	return flags & CLONE_FS ? fs_context_get(fs) : fs_context_fork(fs);
}

/* Make the process of a child that is not a thread of the caller. */
static struct proc *clone_proc(struct proc *parent, const struct clone_args *args)
{
	u64 flags = args->flags;
	struct proc *p = proc_alloc(parent);

	debug_assert(!(flags & CLONE_THREAD));
	if (!p)
		return NULL;
	p->exit_signal = args->exit_signal;
	if (flags & CLONE_PARENT)
		p->exit_signal = parent->exit_signal;
	p->parent_execs = flags & CLONE_PARENT ? parent->parent_execs : parent->nr_execs;
	if (flags & CLONE_CLEAR_SIGHAND)
		signal_reset_handlers(p);
	p->mm = clone_mm(parent->mm, flags);
	p->files = p->mm ? clone_files(parent->files, flags) : NULL;
	p->fs = p->files ? clone_fs(parent->fs, flags) : NULL;
	if (!p->fs) {
		proc_release_resources(p);
		proc_put(p);
		return NULL;
	}
	p->exe = parent->exe ? file_get(parent->exe) : NULL;
	return p;
}

static void copy_thread(struct thread *t, const struct clone_args *args)
{
	struct thread *parent = current;

	debug_assert(t != parent);
	t->mm = t->proc->mm;
	t->blocked = parent->blocked;
	t->cred = parent->cred;
	t->io_priority = parent->io_priority;
	t->mempolicy = parent->mempolicy;
	/* A child on the same memory must not run handlers on the same stack. */
	if (!(args->flags & CLONE_VM) || (args->flags & CLONE_VFORK)) {
		t->altstack = parent->altstack;
		t->altstack_size = parent->altstack_size;
	}
	t->timer_slack_ns = t->default_timer_slack_ns = parent->timer_slack_ns;
	inject_inherit(t);
	if (args->flags & CLONE_CHILD_CLEARTID)
		t->clear_child_tid = args->child_tid;
	if (args->flags & CLONE_CHILD_SETTID)
		t->set_child_tid = args->child_tid;
	if (!(args->flags & CLONE_THREAD))
		t->flags |= THREAD_FORKNOEXEC;
	arch_thread_fork(t, parent, args->stack, args->tls, args->flags & CLONE_SETTLS);
}

/*
 * Make the child visible. Fails if a signal is pending: it must find either no child or a complete
 * one.
 */
static long publish(struct thread *t, u64 clone_flags)
{
	struct proc *p = t->proc, *self = current->proc;
	unsigned kin = (clone_flags & CLONE_THREAD ? FORK_THREAD : 0) |
		       (clone_flags & CLONE_PARENT ? FORK_SIBLING : 0);
	long err = -ERESTARTNOINTR;

	debug_assert(list_empty(&t->proc_link));
	spin_lock(&proc_tree_lock);
	unsigned long flags = spin_lock_irqsave(&self->sig_lock);
	if (!sched_task_forks(&current->task)) {
		err = -EAGAIN;
	} else if (!signal_pending()) {
		sched_task_fork(machine, &current->task, &t->task, t->tid, kin);
		if (p != self) {
			p->pid = t->tid;
			proc_publish(p, clone_flags & CLONE_PARENT ? self->parent : self);
		}
		thread_publish(t);
		err = 0;
	}
	spin_unlock_irqrestore(&self->sig_lock, flags);
	spin_unlock(&proc_tree_lock);
	return err;
}

static struct thread *create_thread(struct proc *p, const struct clone_args *args, long *err)
{
	struct thread *t = thread_alloc(p, 0);

	if (!t) {
		*err = -EAGAIN;
		return NULL;
	}
	copy_thread(t, args);
	*err = publish(t, args->flags);
	if (!*err)
		return t;
	thread_discard(t);
	return NULL;
}

static struct thread *create(const struct clone_args *args, long *err)
{
	if (args->flags & CLONE_THREAD)
		return create_thread(current->proc, args, err);
	struct proc *p = clone_proc(current->proc, args);
	if (!p) {
		*err = -ENOMEM;
		return NULL;
	}
	struct thread *t = create_thread(p, args, err);
	if (!t) {
		proc_release_resources(p);
		proc_put(p);
	}
	return t;
}

/* --- vfork ---------------------------------------------------------------------- */

/* Wait until the child is done with our memory, or until we are to end. */
static void wait_for_vfork(struct thread *child, struct waitq *done)
{
	struct waiter w = { .thread = current };

	debug_assert(child->proc != current->proc);
	list_init(&w.link);
	for (;;) {
		waitq_prepare(done, &w, TASK_KILLABLE);
		if (!READ_ONCE(child->vfork_done) || signal_fatal_pending())
			break;
		schedule();
	}
	waitq_finish(done, &w);
	/*
	 * The child wakes us with this lock held, so once we hold it the child is done with our
	 * stack.
	 */
	unsigned long flags = spin_lock_irqsave(&child->proc->sig_lock);
	child->vfork_done = NULL;
	spin_unlock_irqrestore(&child->proc->sig_lock, flags);
}

void thread_release_vfork(struct thread *t)
{
	if (likely(!READ_ONCE(t->vfork_done)))
		return;
	unsigned long flags = spin_lock_irqsave(&t->proc->sig_lock);
	struct waitq *done = t->vfork_done;
	WRITE_ONCE(t->vfork_done, NULL);
	if (done)
		waitq_wake(done, 0);
	spin_unlock_irqrestore(&t->proc->sig_lock, flags);
}

/* --- the system calls' common part -------------------------------------------------- */

long clone_thread(const struct clone_args *args)
{
	struct waitq done;
	bool vfork = args->flags & CLONE_VFORK;
	/* Look for a signal now: it would make publish() fail after all the work. */
	long err = signal_pending() ? -ERESTARTNOINTR : check_flags(args);

	debug_assert(may_sleep());
	if (!err)
		err = charge_thread();
	if (err)
		return err;
	struct thread *t = create(args, &err);
	if (!t) {
		account_give(current->account, RES_THREADS, 1);
		return err;
	}
	int tid = t->tid;
	if (vfork) {
		waitq_init(&done, "vfork");
		unsigned long flags = spin_lock_irqsave(&t->proc->sig_lock);
		t->vfork_done = &done;
		spin_unlock_irqrestore(&t->proc->sig_lock, flags);
		thread_get(t);
	}
	/* As Linux: a bad address is the caller's problem, the child exists. */
	if (args->flags & CLONE_PARENT_SETTID)
		(void)!arch_copy_to_user(args->parent_tid, &tid, sizeof(tid));
	trace_process_fork(current, t);
	thread_start(t);
	if (vfork) {
		wait_for_vfork(t, &done);
		thread_put(t);
	}
	return tid;
}

/* --- the first process ------------------------------------------------------------------ */

#define INIT_WORDS 32 /* arguments, and variables, from the command line */

static void init_main(void *path)
{
	char *argv[INIT_WORDS + 2] = { path }, *envp[INIT_WORDS + 1] = { NULL };
	struct exec_image image;

	debug_assert(current->proc == init_proc);
	cmdline_for_init(false, argv + 1, INIT_WORDS);
	cmdline_for_init(true, envp, INIT_WORDS);

	int err = file_open_stdio();
	scx_boot();
	if (!err)
		err = exec_load(path, argv, envp, true, &image);
	if (err)
		panic("cannot start %s: error %d", (const char *)path, -err);
	exec_commit(&image);
}

int proc_start_init(const char *path)
{
	struct proc *p = proc_alloc(&kernel_proc);

	debug_assert(!init_proc);
	if (!p)
		return -ENOMEM;
	p->files = files_create();
	p->fs = fs_context_create();
	struct thread *t = thread_alloc(p, 1);
	if (!p->files || !p->fs || !t)
		return -ENOMEM;
	sched_task_init(machine, &t->task, t->tid, "init");
	arch_thread_init(t, init_main, (void *)(uintptr_t)path);
	p->pid = 1;
	p->exit_signal = SIGCHLD;
	init_proc = p;
	account_charge(t->account, RES_THREADS, 1, NO_LIMIT);
	spin_lock(&proc_tree_lock);
	unsigned long flags = spin_lock_irqsave(&p->sig_lock);
	proc_publish(p, &kernel_proc);
	thread_publish(t);
	spin_unlock_irqrestore(&p->sig_lock, flags);
	spin_unlock(&proc_tree_lock);
	thread_start(t);
	return 0;
}
