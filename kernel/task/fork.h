/* SPDX-License-Identifier: GPL-2.0-only */
/* Creating processes and threads: for the system calls. */
#pragma once

#include "lib/types.h"

struct thread;

enum clone_flags {			     /* Linux's */
		   CLONE_SIGNAL_MASK = 0xff, /* clone(2) passes the exit signal here */
		   CLONE_VM = 0x100,
		   CLONE_FS = 0x200,
		   CLONE_FILES = 0x400,
		   CLONE_SIGHAND = 0x800,
		   CLONE_VFORK = 0x4000,
		   CLONE_PARENT = 0x8000,
		   CLONE_THREAD = 0x10000,
		   CLONE_SYSVSEM = 0x40000,
		   CLONE_SETTLS = 0x80000,
		   CLONE_PARENT_SETTID = 0x100000,
		   CLONE_CHILD_CLEARTID = 0x200000,
		   CLONE_DETACHED = 0x400000, /* ignored, as on Linux since 2.6.2 */
		   CLONE_UNTRACED = 0x800000,
		   CLONE_CHILD_SETTID = 0x1000000,
		   CLONE_NEWNS = 0x20000,
		   CLONE_NEWCGROUP = 0x2000000,
		   CLONE_NEWUTS = 0x4000000,
		   CLONE_NEWIPC = 0x8000000,
		   CLONE_NEWPID = 0x20000000,
		   CLONE_NEWNET = 0x40000000,
};
#define CLONE_IO	    0x80000000u
#define CLONE_CLEAR_SIGHAND 0x100000000ull

struct clone_args {
	u64 flags;	 /* CLONE_*, without the signal */
	int exit_signal; /* what the parent gets when the child ends; 0: nothing */
	u64 stack;	 /* initial stack pointer; 0: the parent's */
	u32 *parent_tid, *child_tid;
	u64 tls;
};

/* The new thread's number, or negative errno. */
long clone_thread(const struct clone_args *args);
/* A vfork child @t no longer needs its parent's memory (exec, end): let the parent go on. */
void thread_release_vfork(struct thread *t);
/* Start process 1: a new process whose thread executes @path. */
int proc_start_init(const char *path);
