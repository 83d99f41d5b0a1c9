/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions that objects of the kernel call, and whose answers do not matter to them. */
#include "kernel/base/inject.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/pseudo/pseudo.h"
#include "kernel/task/cred.h"
#include "kernel/task/proc.h"

struct spinlock proc_tree_lock = SPINLOCK_INIT("proc_tree");
bool kernel_has_threads = true;

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

/* Memory is short here because of the run's own plan, which the kernel takes for the truth. */
bool inject_took_memory(void)
{
	return false;
}
