/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System calls. kernel/syscall/syscall.def lists number, name and handler; each handler is written
 * with SYSCALLn, which unpacks the registers:
 *
 *	SYSCALL3(read, int, fd, void *, buf, size_t, n) { ... return bytes; }
 *
 * Handlers return a result or a negative errno. They run with interrupts on and may sleep.
 */
#pragma once

#include "kernel/contract.h"
#include "kernel/task/proc.h"

/* @params as declared, @values as read from the register array a. */
#define SYSCALL_HANDLER(name, params, values)                                                      \
	static long do_##name params;                                                              \
	long sys_##name(const u64 *a)                                                              \
	{                                                                                          \
		(void)a;                                                                           \
		debug_assert(may_sleep() && arch_irq_enabled());                                   \
		return do_##name values;                                                           \
	}                                                                                          \
	static inline long do_##name params

#define SYSCALL0(name)		       SYSCALL_HANDLER(name, (void), ())
#define SYSCALL1(name, T0, p0)	       SYSCALL_HANDLER(name, (T0 p0), ((T0)a[0]))
#define SYSCALL2(name, T0, p0, T1, p1) SYSCALL_HANDLER(name, (T0 p0, T1 p1), ((T0)a[0], (T1)a[1]))
#define SYSCALL3(name, T0, p0, T1, p1, T2, p2)                                                     \
	SYSCALL_HANDLER(name, (T0 p0, T1 p1, T2 p2), ((T0)a[0], (T1)a[1], (T2)a[2]))
#define SYSCALL4(name, T0, p0, T1, p1, T2, p2, T3, p3)                                             \
	SYSCALL_HANDLER(name, (T0 p0, T1 p1, T2 p2, T3 p3),                                        \
			((T0)a[0], (T1)a[1], (T2)a[2], (T3)a[3]))
#define SYSCALL5(name, T0, p0, T1, p1, T2, p2, T3, p3, T4, p4)                                     \
	SYSCALL_HANDLER(name, (T0 p0, T1 p1, T2 p2, T3 p3, T4 p4),                                 \
			((T0)a[0], (T1)a[1], (T2)a[2], (T3)a[3], (T4)a[4]))
#define SYSCALL6(name, T0, p0, T1, p1, T2, p2, T3, p3, T4, p4, T5, p5)                             \
	SYSCALL_HANDLER(name, (T0 p0, T1 p1, T2 p2, T3 p3, T4 p4, T5 p5),                          \
			((T0)a[0], (T1)a[1], (T2)a[2], (T3)a[3], (T4)a[4], (T5)a[5]))

/*
 * 0 if the bytes @from..@to-1 of the structure at @user, the part that this kernel does not know,
 * are 0. Otherwise -E2BIG, or -EFAULT.
 */
int check_unknown(const void *user, size_t from, size_t to);

struct file;
/*
 * Give both files descriptors, which go to @user; consumes both references. On failure nothing is
 * left behind.
 */
long install_pair(struct file *a, struct file *b, bool cloexec, int *user);
/* From now on calls are told to the tracer, or not; it makes the table, so once at the start. */
void syscall_trace(bool on);
/* The text of /proc/fairground/unimplemented. */
size_t syscall_print_missing(char *buf, size_t size);
/*
 * Block the signals of the mask at @user for the length of a call; *old gets the mask to restore.
 */
int begin_mask(const sigset_t *user, size_t size, sigset_t *old);
/*
 * Restore the mask and return @ret. After -EINTR the signal is delivered under the call's mask, and
 * the old one returns after its handler.
 */
long end_mask(long ret, sigset_t old);
/*
 * The options of prctl(2) about credentials; -EINVAL for any other. @rest: the arguments that none
 * of them has.
 */
long cred_prctl(int option, u64 arg, u64 arg3, u64 rest);

#define SYSCALL(nr, name) long sys_##name(const u64 *a);
#include "kernel/syscall/syscall.def"
#undef SYSCALL
