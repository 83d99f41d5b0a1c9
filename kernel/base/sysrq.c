/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /proc/sysrq-trigger: orders to the kernel that need nothing else to work, one letter each, as on
 * Linux.
 *
 *	b  reboot at once
 *	c  crash: what a panic prints, on demand
 *	l  registers and backtrace of each CPU
 *	o  power off at once
 *	t  the runqueue of every CPU, to the console
 */
#include "kernel/arch.h"
#include "kernel/contract.h"
#include "kernel/kernel.h"
#include "kernel/pseudo/pseudo.h"
#include "kernel/sync.h"
#include "lib/errno.h"

static struct mutex dump_lock = MUTEX_INIT(dump_lock); /* one dump at a time: they share a buffer */

void show_runqueues(void)
{
	debug_assert(may_sleep());
	mutex_lock(&dump_lock);
	dump_runqueues();
	mutex_unlock(&dump_lock);
}

/* Only the first letter counts. */
static long sysrq_store(void *arg, const char *text, size_t len)
{
	(void)arg;
	switch (len ? text[0] : '\n') {
	case 'b':
		arch_reboot();
	case 'c':
		panic("crash asked for (sysrq c)");
	case 'o':
		kernel_shutdown(-1);
	case 'l':
		backtrace_all_cpus();
		break;
	case 't':
		show_runqueues();
	}
	return len;
}

static int sysrq_init(void)
{
	static const struct pseudo_file file = { .name = "sysrq-trigger",
						 .mode = 0200,
						 .store = sysrq_store };

	return procfs_add(&file);
}
INITCALL(sysrq_init);
