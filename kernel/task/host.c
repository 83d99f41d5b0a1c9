/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel as the scheduler's host: the functions of sched/host.h, except for the locks (lock.c)
 * and the recorder (kernel/trace).
 */
#include "sched/host.h"

#include "kernel/kernel.h"
#include "kernel/task/preempt.h"
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

void host_kick(unsigned cpu, bool urgent)
{
	struct cpu *c = cpus[cpu];
	bool lazy = !urgent && READ_ONCE(preempt_model)->is_patient;
	u32 how = lazy ? NEED_RESCHED_LAZY : NEED_RESCHED_NOW;

	debug_assert(cpu < arch_nr_cpus && !arch_irq_enabled());
	/*
	 * A CPU that finds the bit set leaves the rest to the CPU that set it; switch_threads()
	 * clears the word.
	 */
	if (__atomic_fetch_or(&c->need_resched, how, __ATOMIC_SEQ_CST) & how)
		return;
	if (c != this_cpu() && !lazy)
		arch_send_reschedule(cpu);
}

/* A CPU that waits for an answer to an interrupt gets it meanwhile (smp.c). */
bool host_wait(unsigned cpu)
{
	debug_assert(cpu == arch_cpu_id() && !arch_irq_enabled());
	arch_preempt_disable();
	arch_cpu_relax();
	arch_irq_window();
	arch_preempt_enable();
	return true;
}

__noreturn void host_bug(const char *file, int line, const char *what)
{
	panic("%s:%d: %s", file, line, what);
}
