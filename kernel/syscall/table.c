/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System call dispatch: the handlers of syscall.def by number. The architecture's entry calls them.
 *
 * A call that is missing answers ENOSYS, is counted, and is named on the console the first time,
 * because programs often say nothing or something misleading: /proc/fairground/unimplemented.
 */
#include "kernel/syscall/syscall.h"

#include "kernel/kernel.h"
#include "kernel/task/task.h"
#include "kernel/trace/trace.h"
#include "lib/errno.h"
#include "lib/fmt.h"
#include "lib/string.h"

static struct missing {
	u64 calls;		/* atomic */
	char program[COMM_LEN]; /* the first that asked; complete once @named */
	bool named;
} missing[NR_SYSCALLS];

/* Calls that C libraries try at every start and do without: not worth a message. */
static bool is_probe(long nr)
{
	enum { RSEQ = 334 };

	return nr == RSEQ;
}

static long sys_unknown(const u64 *args)
{
	long nr = arch_syscall_nr(arch_user_regs(current));
	struct missing *m = &missing[(u64)nr % NR_SYSCALLS];

	(void)args;
	if (__atomic_fetch_add(&m->calls, 1, __ATOMIC_RELAXED))
		return -ENOSYS;
	str_copy(m->program, current->task.comm, sizeof(m->program));
	__atomic_store_n(&m->named, true, __ATOMIC_RELEASE);
	if (!is_probe(nr))
		kprintf("%s[%d]: system call %ld is not implemented\n", m->program, current->tid,
			nr);
	return -ENOSYS;
}

size_t syscall_print_missing(char *buf, size_t size)
{
	struct text t = text_of(buf, size);

	text_add(&t, "number  calls  first program\n");
	for (unsigned nr = 0; nr < NR_SYSCALLS; nr++)
		if (__atomic_load_n(&missing[nr].named, __ATOMIC_ACQUIRE))
			text_add(&t, "%6u %6lu  %s\n", nr, READ_ONCE(missing[nr].calls),
				 missing[nr].program);
	return t.len;
}

/* Every number has a handler, so that dispatch need not ask. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const syscall_fn handlers[NR_SYSCALLS] = {
	[0 ... NR_SYSCALLS - 1] = sys_unknown,
#define SYSCALL(nr, name) [nr] = sys_##name,
#include "kernel/syscall/syscall.def"
#undef SYSCALL
};
#pragma GCC diagnostic pop

/* The entry calls these: the handlers, or sys_traced() for all. guarded by: trace_lock */
syscall_fn kernel_syscalls[NR_SYSCALLS];

static long sys_traced(const u64 *args)
{
	long nr = arch_syscall_nr(arch_user_regs(current)), ret;

	emit_sys_enter(nr, args);
	ret = handlers[nr](args);
	emit_sys_exit(nr, ret);
	return ret;
}

void syscall_trace(bool on)
{
	if (kernel_syscalls[0] == (on ? sys_traced : handlers[0]))
		return;
	for (unsigned nr = 0; nr < NR_SYSCALLS; nr++)
		WRITE_ONCE(kernel_syscalls[nr], on ? sys_traced : handlers[nr]);
}

/*
 * An interrupted call: the way out decides whether it runs again. It does not if the registers
 * belong to another context by now.
 */
void kernel_syscall_restarts(const struct user_regs *regs)
{
	if (arch_syscall_nr(regs) >= 0)
		thread_set_flags(current, THREAD_RESTART);
}
