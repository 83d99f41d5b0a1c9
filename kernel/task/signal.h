/* SPDX-License-Identifier: GPL-2.0-only */
/* Signals: sending, and what the thread code and the system calls need besides. */
#pragma once

#include "kernel/task/proc.h"
#include "lib/signal.h"

#define SIG_DFL 0ull
#define SIG_IGN 1ull

#define SYS_RESTART_SYSCALL 219 /* restart_syscall(2): what an interrupted sleep runs again as */

/* Signals that the kernel raises for something the thread itself did. Delivered before others. */
#define SYNCHRONOUS                                                                                \
	(SIGMASK(SIGSEGV) | SIGMASK(SIGBUS) | SIGMASK(SIGILL) | SIGMASK(SIGTRAP) |                 \
	 SIGMASK(SIGFPE) | SIGMASK(SIGSYS))
#define STOP_SIGNALS (SIGMASK(SIGSTOP) | SIGMASK(SIGTSTP) | SIGMASK(SIGTTIN) | SIGMASK(SIGTTOU))
/* Never blocked, caught or ignored. */
#define SIG_UNBLOCKABLE (SIGMASK(SIGKILL) | SIGMASK(SIGSTOP))

/* --- sending -------------------------------------------------------------------- */
/*
 * Send @sig with @info, or as SI_KERNEL if that is NULL. Any context. Returns 0, or -EAGAIN if the
 * receiver's user has RLIMIT_SIGPENDING queued (real-time signals only).
 */
int signal_send_thread(struct thread *t, int sig, const struct siginfo *info);
int signal_send_proc(struct proc *p, int sig, const struct siginfo *info);
/*
 * The signal of a timer of @p, for @t or if that is NULL for @p as a whole, which is not pending.
 * It has the @place that was made with the timer, so there is always room. Any context.
 */
struct sigqueue;
void signal_send_timer(struct proc *p, struct thread *t, int sig, const struct siginfo *info,
		       struct sigqueue *place);
/* Returns a place for the signal of a new timer, or NULL without memory. */
struct sigqueue *signal_timer_place(void);
/* A timer of @p ends. Its signal may be pending: then the place goes when that is taken. */
void signal_timer_forget(struct proc *p, struct sigqueue *place);
/* To every process of the group; -ESRCH if there is none. */
int signal_send_group(int pgid, int sig, const struct siginfo *info);

/* --- the running thread ------------------------------------------------------------ */
/* Is the running thread about to be ended? Nothing else interrupts a sleep in TASK_KILLABLE. */
bool signal_fatal_pending(void);
/*
 * Replace the running thread's set of blocked signals (SIGKILL and SIGSTOP stay open); returns the
 * old set. For ppoll and pselect6, which put it back themselves or leave it to saved_mask and
 * restore_saved_mask.
 */
sigset_t signal_set_blocked(sigset_t mask);
/* Does the running thread block or ignore @sig? The rule for background jobs of a terminal. */
bool signal_is_blocked_or_ignored(int sig);
/* Caught signals of @p get their default action back. sig_lock held, or @p is not published. */
void signal_reset_handlers(struct proc *p);
/*
 * exec: caught signals get their default action back (ignored ones stay ignored), and there is no
 * alternate stack. Pending signals and the mask stay.
 */
void signal_exec(void);

/*
 * On the way to user space with THREAD_SIGPENDING or THREAD_RESTART set: stop, die, or enter a
 * handler.
 */
void signal_deliver(struct user_regs *regs);

/* Install a handler and return the old one in @old. NULL @action only reads. -EINVAL. */
int signal_set_action(int sig, const struct sigaction *action, struct sigaction *old);
/* Signals that are pending and blocked for the running thread, of both kinds. */
sigset_t signal_pending_set(void);
/*
 * Take a pending signal of @set, or wait for one until @deadline_ns (0: do not wait, UINT64_MAX:
 * for ever). Returns its number, -EAGAIN or -EINTR.
 */
long signal_wait(sigset_t set, struct siginfo *info, u64 deadline_ns);

/*
 * If the expiry of timer @id is pending as @sig, for @t or if that is NULL for @p as a whole, tell
 * its receiver of @overrun more and return true. Any context.
 */
bool signal_overrun(struct proc *p, struct thread *t, int sig, int id, u32 overrun);

/* Woken whenever a signal is queued for anybody: signalfd(2) waits here. */
extern struct waitq signal_queued;
/* Does the running thread have a signal of @set pending? */
bool signal_any_pending(sigset_t set);

/* Set or clear THREAD_SIGPENDING according to what is pending. sig_lock of its process held. */
void signal_recalc(struct thread *t);
/*
 * A thread of @p no longer takes signals of @set. Wakes, for each that is pending for the process,
 * one thread that handles it or waits for it. sig_lock held.
 */
void signal_retarget(struct proc *p, sigset_t set);
/* Make all threads of @p but @except end. sig_lock held. */
void signal_kill_threads(struct proc *p, struct thread *except);
/* If a stop of @p waited for a thread that just left it, tell the parent. No locks held. */
void signal_stop_check(struct proc *p);
/* Make the process end with wait status @code, unless it is ending already. sig_lock held. */
void signal_begin_group_exit(struct proc *p, int code);
/* Free what is queued. */
void signal_flush(struct sigpending *pending);
/*
 * SIGCHLD (or @p's exit signal) to the parent: @code is CLD_*, @status as in siginfo.
 * proc_tree_lock held.
 */
void signal_notify_parent(struct proc *p, int sig, int code, int status);
/* Does @p ignore @sig, explicitly or by default? proc_tree_lock or sig_lock held. */
bool signal_is_ignored(const struct proc *p, int sig);

/* Between signal.c and delivery.c; sig_lock held. */
/* Make @t look at its signals: wake it from @states, or interrupt its CPU. */
void signal_notify(struct thread *t, u32 states);
/* Take the first pending signal of @set for @t or its process: its number, 0 if there is none. */
int signal_dequeue(struct thread *t, sigset_t set, struct siginfo *info);
/*
 * Is @t to end with its process, or because another thread called exec? Without sig_lock, the
 * answer may be out of date.
 */
bool signal_must_exit(const struct thread *t);
/* Send the running thread a signal that it can neither block nor ignore. No locks held. */
void signal_force(int sig, const struct siginfo *info);
