/* SPDX-License-Identifier: GPL-2.0-only */
/* The inline functions of kernel/arch.h. Each fiber has a CPU, which takes no interrupts. */
#pragma once

#include "kernel/percpu.h"
#include "machine.h"

extern struct cpu *hosted_cpu; /* of the fiber that runs */
extern u64 hosted_clock_ns;

static inline struct thread *arch_current(void)
{
	return hosted_cpu->running;
}

static inline struct cpu *this_cpu(void)
{
	return hosted_cpu;
}

static inline unsigned arch_cpu_id(void)
{
	return hosted_cpu->id;
}

static inline void arch_preempt_disable(void)
{
	hosted_cpu->preempt_count++;
}

static inline void arch_preempt_enable(void)
{
	hosted_cpu->preempt_count--;
}

static inline bool arch_preemptible(void)
{
	return !hosted_cpu->preempt_count;
}

static inline bool arch_in_irq(void)
{
	return hosted_cpu->irq_depth;
}

static inline bool arch_need_resched(void)
{
	return false;
}

/* Another fiber goes on, if one can. */
void hosted_relax(void);
static inline void arch_cpu_relax(void)
{
	hosted_relax();
}

static inline bool arch_irq_enabled(void)
{
	return !hosted_cpu->arch->irqs_off;
}

void hosted_irqs_off(void);
static inline unsigned long arch_irq_save(void)
{
	bool were_off = hosted_cpu->arch->irqs_off;

	hosted_irqs_off();
	return were_off;
}

/* Here a fiber takes the interrupt of the timer, if it is due. */
void hosted_irqs_on(void);
static inline void arch_irq_restore(unsigned long flags)
{
	if (!flags)
		hosted_irqs_on();
}

static inline u64 arch_clock_ns(void)
{
	return hosted_clock_ns;
}

static inline u64 arch_cycles(void)
{
	return 0;
}

static inline void *phys_to_virt(u64 pa)
{
	return (void *)pa;
}

static inline u64 virt_to_phys(const void *va)
{
	return (u64)va;
}

/* --- nothing here runs these ---------------------------------------------------------------- */

static inline void arch_count_user_cycles(u64 cycles)
{
	(void)cycles;
}

static inline void arch_irq_enable(void)
{
}

static inline void arch_irq_disable(void)
{
}

static inline void arch_irq_window(void)
{
}

static inline u32 arch_cycles32(void)
{
	return 0;
}

static inline bool arch_is_syscall(const struct user_regs *regs)
{
	(void)regs;
	return true;
}

static inline long arch_syscall_nr(const struct user_regs *regs)
{
	return (long)regs->ax;
}

static inline const u64 *arch_syscall_args(const struct user_regs *regs)
{
	return &regs->ax;
}

static inline void arch_syscall_restart(struct user_regs *regs, long nr)
{
	regs->ax = (u64)nr;
}

static inline u64 arch_hwcap(void)
{
	return 0;
}

static inline int arch_user_store_pair(u64 *uaddr, u64 first, u64 second)
{
	uaddr[0] = first;
	uaddr[1] = second;
	return 0;
}
