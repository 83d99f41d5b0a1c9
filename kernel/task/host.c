/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel as the scheduler's host: the functions of sched/host.h, except for the locks (lock.c)
 * and the recorder (kernel/trace).
 */
#include "sched/host.h"

#include "kernel/kernel.h"
#include "kernel/task/thread.h"
#include "kernel/time/tick.h"

u64 host_clock(unsigned cpu)
{
	/* One clock for all CPUs. */
	(void)cpu;
	return arch_clock_ns();
}

void host_timer(unsigned cpu, u64 when)
{
	timer_set_sched(cpu, when);
}

void host_kick(unsigned cpu)
{
	struct cpu *c = cpus[cpu];

	/*
	 * A CPU that finds the word set leaves the rest to the CPU that set it; switch_threads()
	 * clears it.
	 */
	if (__atomic_exchange_n(&c->need_resched, 1, __ATOMIC_SEQ_CST))
		return;
	if (c != this_cpu())
		arch_send_reschedule(cpu);
}

__noreturn void host_bug(const char *file, int line, const char *what)
{
	panic("%s:%d: %s", file, line, what);
}
