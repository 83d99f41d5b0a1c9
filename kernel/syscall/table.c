/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System call dispatch: the handlers of syscall.def by number. The architecture's entry calls them.
 */
#include "kernel/syscall/syscall.h"

#include "kernel/task/task.h"
#include "lib/errno.h"

static long sys_unknown(const u64 *args)
{
	(void)args;
	return -ENOSYS;
}

/* Every number has a handler, so that dispatch need not ask. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
const syscall_fn kernel_syscalls[NR_SYSCALLS] = {
	[0 ... NR_SYSCALLS - 1] = sys_unknown,
#define SYSCALL(nr, name) [nr] = sys_##name,
#include "kernel/syscall/syscall.def"
#undef SYSCALL
};
#pragma GCC diagnostic pop

/*
 * An interrupted call: the way out decides whether it runs again. It does not if the registers
 * belong to another context by now.
 */
void kernel_syscall_restarts(const struct user_regs *regs)
{
	if (arch_syscall_nr(regs) >= 0)
		thread_set_flags(current, THREAD_RESTART);
}
