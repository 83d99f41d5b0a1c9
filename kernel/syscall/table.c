/*
 * System call dispatch: from the number in the registers to the handler of syscall.def.
 */
#include "kernel/syscall/syscall.h"

#include "kernel/task/task.h"
#include "lib/errno.h"

typedef long (*syscall_fn)(const u64 *args);

static long sys_unknown(const u64 *args)
{
	(void)args;
	return -ENOSYS;
}

#define NR_SYSCALLS 512

/* Every number has a handler, so that dispatch need not ask. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const syscall_fn table[NR_SYSCALLS] = {
	[0 ... NR_SYSCALLS - 1] = sys_unknown,
#define SYSCALL(nr, name) [nr] = sys_##name,
#include "kernel/syscall/syscall.def"
#undef SYSCALL
};
#pragma GCC diagnostic pop

/*
 * Interrupted: the way out decides whether it runs again. Not if the registers are another
 * context's by now.
 */
static __noinline void note_restart(const struct user_regs *regs)
{
	if (arch_syscall_nr(regs) >= 0)
		thread_set_flags(current, THREAD_RESTART);
}

static inline bool is_restart(long result)
{
	return (u64)(result + ERESTART_RESTARTBLOCK) <= ERESTART_RESTARTBLOCK - ERESTARTSYS;
}

void kernel_syscall(struct user_regs *regs)
{
	u64 nr = (u64)arch_syscall_nr(regs);

	kernel_enter_from_user();
	long result = likely(nr < NR_SYSCALLS) ? table[nr](arch_syscall_args(regs)) : -ENOSYS;
	regs->ax = (u64)result;
	if (unlikely(is_restart(result)))
		note_restart(regs);
	arch_irq_disable();
	exit_to_user(regs);
}
