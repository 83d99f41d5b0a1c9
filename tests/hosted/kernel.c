/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions that objects of the kernel call, and whose answers do not matter to them. */
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/pseudo/pseudo.h"
#include "kernel/task/cred.h"
#include "kernel/task/proc.h"
#include "kernel/task/signal.h"

struct spinlock proc_tree_lock = SPINLOCK_INIT("proc_tree");

struct list all_procs = LIST_INIT(all_procs);

/* The terminal has somebody who types. */
const char *cmdline_get(const char *name)
{
	(void)name;
	return "";
}

bool capable(unsigned cap)
{
	(void)cap;
	return false;
}

bool signal_fatal_pending(void)
{
	return signal_pending();
}

/* A thread of a world looks at its signals where it sleeps. */
int signal_send_thread(struct thread *t, int sig, const struct siginfo *info)
{
	(void)t;
	(void)sig;
	(void)info;
	return 0;
}

int proc_sys_add_number(const char *name, u64 *value)
{
	(void)name;
	(void)value;
	return 0;
}

u64 page_nr_total(void)
{
	return 1 << 18;
}
