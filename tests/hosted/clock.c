/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The clock of a hosted world, which stands but for calls of the program, and the timer of each
 * CPU. A thread takes the interrupt of its timer when it lets interrupts in; whoever lets time go
 * by takes those of all CPUs. kernel/time/timer.c does the rest.
 */
#include "kernel/kernel.h"
#include "kernel/sync.h"
#include "world.h"

void kernel_timer_interrupt(void);
void arch_timer_set(u64 when_ns);

u64 hosted_clock_ns;
static u64 due_ns[NR_CPUS]; /* 0: never */

void clock_begin(void)
{
	hosted_clock_ns = 1000000000;
}

void arch_timer_set(u64 when_ns)
{
	due_ns[arch_cpu_id()] = when_ns;
}

/* The timer fires once. */
static void interrupt(void)
{
	hosted_cpu->irq_depth++;
	due_ns[arch_cpu_id()] = 0;
	kernel_timer_interrupt();
	hosted_cpu->irq_depth--;
}

void hosted_irqs_on(void)
{
	const u64 *due = &due_ns[arch_cpu_id()];

	while (!hosted_cpu->irq_depth && *due && *due <= hosted_clock_ns)
		interrupt();
	fiber_give(hosted_cpu);
	hosted_cpu->arch->irqs_off = false;
}

void hosted_irqs_off(void)
{
	fiber_take(hosted_cpu);
	hosted_cpu->arch->irqs_off = true;
}

void clock_advance(u64 ns)
{
	hosted_clock_ns += ns;
	for (unsigned cpu = 0; world_borrow_cpu(cpu); cpu++) {
		arch_irq_save();
		hosted_irqs_on();
		world_return_cpu(cpu);
	}
}

bool clock_end(void)
{
	bool left = false;

	for (hosted_cpu->id = 0; hosted_cpu->id < NR_CPUS; hosted_cpu->id++) {
		arch_irq_save();
		interrupt();
		left |= due_ns[hosted_cpu->id];
		hosted_cpu->arch->irqs_off = false;
	}
	hosted_cpu->id = NR_FIBERS;
	return !left;
}
