/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the files of kernel/task with each other and with kernel/syscall. The rest of the
 * kernel sees thread.h, proc.h and cpu.h.
 */
#pragma once

#include "kernel/task/proc.h"

/* --- pid.c: numbers of threads, groups, sessions; call with proc_tree_lock held ------- */
/*
 * Allocates a number, with its caller as the first user. Returns 0 if none is free. This function
 * and the next take the lock themselves.
 */
int pid_alloc(void);
/* As pid_alloc(), for one certain number that is free: init's. */
int pid_claim(int pid);
/* One more or one less user of @pid: a thread, or a process in this group or session. */
void pid_use(int pid);
void pid_release(int pid);
/* Set which thread thread_find() finds for @pid; NULL when it is gone. */
void pid_set_thread(int pid, struct thread *t);
struct thread *pid_thread(int pid);
/* Marks for the process group @pgid, all 0 at first. */
u32 *pid_group_marks(int pgid);

/* --- thread.c ------------------------------------------------------------------ */
void thread_init(void);
/*
 * A thread of @p with a stack and number @pid (0: the next free), in no list yet; NULL: out of
 * memory or numbers.
 */
struct thread *thread_alloc(struct proc *p, int pid);
/* Undo thread_alloc(), before anybody else saw the thread. */
void thread_discard(struct thread *t);
/*
 * Make @t findable and one of its process's threads. proc_tree_lock held, and sig_lock if the
 * process has threads already.
 */
void thread_publish(struct thread *t);
/* Let the scheduler run it. */
void thread_start(struct thread *t);
extern unsigned threads_max;
/* Like kthread_create(), but the thread stays on @cpu and preempts everything there. */
struct thread *kthread_create_stopper(unsigned cpu, const char *name, void (*fn)(void *),
				      void *arg);

/* --- switch.c --------------------------------------------------------------------- */
/* The running thread's last step. */
__noreturn void switch_away(void);
bool thread_wake_flags(struct thread *t, u32 state_mask, unsigned wake_flags);
/* If @t runs in user space on another CPU, make that CPU enter the kernel. */
void thread_kick(struct thread *t);

static inline bool exit_work_pending(void)
{
	return arch_need_resched() || (READ_ONCE(current->flags) & THREAD_EXIT_WORK);
}

/* --- cpu.c --------------------------------------------------------------------------- */
void usage_add(struct usage *sum, const struct usage *more);
struct usage proc_usage_locked(struct proc *p); /* proc_tree_lock held */

/* --- limits.c ------------------------------------------------------------------------ */
/* On the way to user space with THREAD_LIMITS set: enforce RLIMIT_CPU and RLIMIT_RTTIME. */
void limits_check(void);

/* --- proc.c -------------------------------------------------------------------------- */
void proc_init(void);
/*
 * A process without threads, memory or files: a copy of @parent's attributes. NULL: out of memory.
 */
struct proc *proc_alloc(struct proc *parent);
/*
 * Give back those resources (memory, files and so on) that @p has. May sleep: files do when they
 * close.
 */
void proc_release_resources(struct proc *p);
/* The rest with proc_tree_lock held. Enter @p into the tree, into @parent's group and session. */
void proc_publish(struct proc *p, struct proc *parent);
/*
 * Take the ended process out of the tree. The caller drops the two references afterwards: proc_put,
 * thread_put(leader).
 */
void proc_unlink(struct proc *p);
void proc_set_group(struct proc *p, int pgid, int sid);
bool proc_group_exists(int pgid, int sid);
/* Does @p tie its group to the rest of its session, by a parent outside the group? */
bool proc_ties_group(const struct proc *p);
