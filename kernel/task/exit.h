/* SPDX-License-Identifier: GPL-2.0-only */
/* The end of threads and processes, and waiting for it. */
#pragma once

#include "kernel/task/proc.h"

/* End the running thread with wait status @code. The first thread's is the process's. */
__noreturn void thread_exit(int code);

/* End the whole process with wait status @code. */
__noreturn void proc_exit_group(int code);
/*
 * exec: end every other thread of the process and wait for them. -ERESTARTNOINTR if another thread
 * is ending this one.
 */
int proc_kill_other_threads(void);
/*
 * exec and exit: @t leaves its address space. Deals with clear_child_tid, the robust list, and a
 * vfork parent that waits.
 */
void thread_release_mm(struct thread *t);

enum wait_options { /* Linux's, of wait4(2) and waitid(2) */
		    WNOHANG = 1,
		    WUNTRACED = 2, /* WSTOPPED */
		    WEXITED = 4,
		    WCONTINUED = 8,
		    WNOWAIT = 0x01000000,
		    WNOTHREAD = 0x20000000,
		    WALL = 0x40000000,
		    WCLONE = 0x80000000,
};

enum wait_which { WAIT_ANY, WAIT_PID, WAIT_GROUP };

struct wait_request {
	enum wait_which which;
	int id; /* process or group */
	unsigned options;
	/* filled in when a child was found */
	int status; /* as wait4(2) tells it */
	int code;   /* CLD_* */
	u32 uid;    /* the child's real user */
	struct usage usage;
};

/* Returns the child's number, 0 if none is ready (WNOHANG), -ECHILD or -ERESTARTSYS. */
long do_wait(struct wait_request *req);

/* wait4(2) status of a process that called exit(@code). */
static inline int exit_status(int code)
{
	return (code & 0xff) << 8;
}
