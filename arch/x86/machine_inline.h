/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The inline functions that kernel/arch.h declares. GS points to this CPU's struct cpu while the
 * kernel runs, so each per-CPU word is one instruction away.
 */
#pragma once

#include "kernel/base/inject.h"
#include "kernel/percpu.h"
#include "lib/errno.h"
#include "lib/math64.h"
#include "machine.h"

#define X86_FLAGS_IF 0x200

/* Not volatile: a thread that migrates is still the same thread, so the compiler may reuse it. */
static inline struct thread *arch_current(void)
{
	struct thread *t;

	__asm__("movq %%gs:%c1, %0" : "=r"(t) : "i"(offsetof(struct cpu, running)));
	return t;
}

static inline struct cpu *this_cpu(void)
{
	struct cpu *c;

	__asm__ volatile("movq %%gs:%c1, %0" : "=r"(c) : "i"(offsetof(struct cpu, self)));
	return c;
}

static inline unsigned arch_cpu_id(void)
{
	unsigned id;

	__asm__ volatile("movl %%gs:%c1, %0" : "=r"(id) : "i"(offsetof(struct cpu, id)));
	return id;
}

static inline void arch_preempt_disable(void)
{
	__asm__ volatile("incl %%gs:%c0" : : "i"(offsetof(struct cpu, preempt_count)) : "memory");
}

static inline void arch_preempt_enable(void)
{
	__asm__ volatile("decl %%gs:%c0" : : "i"(offsetof(struct cpu, preempt_count)) : "memory");
}

/* Is the running CPU's word 0? */
#define CPU_WORD_IS_ZERO(field)                                                                    \
	({                                                                                         \
		bool zero;                                                                         \
		__asm__ volatile("cmpl $0, %%gs:%c1"                                               \
				 : "=@cce"(zero)                                                   \
				 : "i"(offsetof(struct cpu, field))                                \
				 : "memory");                                                      \
		zero;                                                                              \
	})

static inline bool arch_preemptible(void)
{
	return CPU_WORD_IS_ZERO(preempt_count);
}

static inline bool arch_in_irq(void)
{
	return !CPU_WORD_IS_ZERO(irq_depth);
}

static inline bool arch_need_resched(void)
{
	return !CPU_WORD_IS_ZERO(need_resched);
}

static inline void arch_count_user_cycles(u64 cycles)
{
	__asm__ volatile("addq %0, %%gs:%c1"
			 :
			 : "r"(cycles), "i"(offsetof(struct cpu, user_cycles))
			 : "memory", "cc");
}

static inline void arch_cpu_relax(void)
{
	__asm__ volatile("pause" ::: "memory");
}

static inline unsigned long arch_irq_save(void)
{
	unsigned long flags;

	__asm__ volatile("pushfq; popq %0; cli" : "=r"(flags) : : "memory");
	return flags;
}

static inline void arch_irq_enable(void)
{
	__asm__ volatile("sti" ::: "memory");
}

static inline void arch_irq_disable(void)
{
	__asm__ volatile("cli" ::: "memory");
}

/* Not a `pause` in between: QEMU does not end the shadow of the `sti` behind it. */
static inline void arch_irq_window(void)
{
	__asm__ volatile("sti; nop; cli" ::: "memory");
}

static inline void arch_irq_restore(unsigned long flags)
{
	if (flags & X86_FLAGS_IF)
		arch_irq_enable();
}

static inline bool arch_irq_enabled(void)
{
	unsigned long flags;

	__asm__ volatile("pushfq; popq %0" : "=r"(flags));
	return flags & X86_FLAGS_IF;
}

static inline u32 arch_cycles32(void)
{
	u32 low;

	__asm__ volatile("rdtsc" : "=a"(low) : : "rdx");
	return low;
}

static inline u64 arch_cycles(void)
{
	u64 low, high; /* the instruction clears the upper halves */

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return high << 32 | low;
}

/* Set once, by arch/x86/clock.c. */
extern struct x86_clock {
	u64 tsc_base;
	u64 ns_per_tick; /* 32.32 fixed point */
} x86_clock;

static inline u64 arch_clock_ns(void)
{
	return mul_shr(arch_cycles() - x86_clock.tsc_base, x86_clock.ns_per_tick, 32);
}

static inline bool arch_is_syscall(const struct user_regs *regs)
{
	return regs->vector == (u64)REGS_SYSCALL;
}

static inline long arch_syscall_nr(const struct user_regs *regs)
{
	return (long)regs->orig_ax;
}

static inline const u64 *arch_syscall_args(const struct user_regs *regs)
{
	return &regs->di;
}

/* The syscall instruction is two bytes long. */
static inline void arch_syscall_restart(struct user_regs *regs, long nr)
{
	regs->ip -= 2;
	regs->ax = (u64)nr;
}

int x86_store_user_pair(u64 *user, u64 first, u64 second); /* uaccess.S: 0, or -1 on a fault */

static inline int arch_user_store_pair(u64 *uaddr, u64 first, u64 second)
{
	if (unlikely((u64)uaddr > USER_END - 2 * sizeof(u64)))
		return -EFAULT;
	return unlikely(inject_inline_copy() || x86_store_user_pair(uaddr, first, second)) ? -EFAULT
											   : 0;
}

static inline void *phys_to_virt(u64 pa)
{
	return (void *)(pa + DIRECT_MAP);
}

static inline u64 virt_to_phys(const void *va)
{
	u64 a = (u64)va;

	return a >= IMAGE_BASE ? a - IMAGE_BASE : a - DIRECT_MAP;
}

/* CPUID.1:EDX, as Linux defines it. */
static inline u64 arch_hwcap(void)
{
	u32 a = 1, b, c = 0, d;

	__asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return d;
}
