/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads as the processor sees them: a kernel stack, a thread pointer, floating point registers.
 *
 * A kernel stack, from the top: struct user_regs (present in every thread, used by those that enter
 * user space), below it whatever the kernel does. A thread that does not run has the frame of
 * x86_switch_stacks lowest.
 *
 * Floating point: saved when a program's thread leaves the CPU, loaded when one enters; threads
 * without an address space have none, since the kernel is compiled to use general registers only.
 * Eager, because fxsave and fxrstor are one instruction each here, and a lazy scheme costs a trap
 * at first use and must hunt for the registers on another CPU after a migration.
 */
#include "kernel/arch.h"
#include "kernel/contract.h"
#include "kernel/mm/mm.h"
#include "kernel/percpu.h"
#include "kernel/task/thread.h"
#include "lib/string.h"
#include "x86.h"

/* The frame that x86_switch_stacks pops, lowest first. */
struct switch_frame {
	u64 r15, r14, r13, r12, bx, bp;
	void (*resume)(void);
};

static const struct fpu_state initial_fpu = { .fcw = 0x37f, .mxcsr = 0x1f80 };

static inline void fpu_save(struct fpu_state *fpu)
{
	__asm__ volatile("fxsave64 %0" : "=m"(*fpu));
}

static inline void fpu_load(const struct fpu_state *fpu)
{
	__asm__ volatile("fxrstor64 %0" : : "m"(*fpu));
}

static inline u64 stack_top(const struct thread *t)
{
	return (u64)t->kstack + KSTACK_SIZE;
}

struct user_regs *arch_user_regs(struct thread *t)
{
	return (struct user_regs *)stack_top(t) - 1;
}

void x86_cpu_set_stack(struct cpu *c, u64 top)
{
	c->kernel_sp = top;
	c->arch->tss.sp[0] = top;
}

/*
 * Lab 11, switch: goes from @prev to @next: page tables, unless they are the same; floating point
 * registers and thread pointer of programs; who runs here; the stack for entries from user space;
 * last the stacks. What is @prev's must be saved before, for it may run elsewhere soon.
 */
void arch_switch(struct thread *prev, struct thread *next)
{
	struct cpu *c = this_cpu();
	u64 root = next->mm ? next->mm->pt_root : arch_kernel_pt;

	debug_assert(!arch_irq_enabled());
	if (c->arch->pt_root != root)
		arch_pt_load(root);
	if (prev->mm)
		fpu_save(&prev->arch.fpu);
	if (next->mm) {
		wrmsr(MSR_FS_BASE, next->arch.fs_base);
		fpu_load(&next->arch.fpu);
	}
	c->running = next;
	x86_cpu_set_stack(c, stack_top(next));
	x86_switch_stacks(&prev->arch.sp, next->arch.sp);
}

u64 arch_thread_resumes(const struct thread *t, u64 *bp)
{
	const struct switch_frame *f = (const struct switch_frame *)t->arch.sp;

	*bp = f->bp;
	return (u64)f->resume;
}

/*
 * Lab 11, first: makes the frame with which @t, that has never run, is switched to and goes on at
 * @resume, where the stack pointer must be at its struct user_regs. Returns it, with zeros in the
 * registers.
 */
static struct switch_frame *first_frame(struct thread *t, void (*resume)(void))
{
	struct switch_frame *f = (struct switch_frame *)arch_user_regs(t) - 1;

	*f = (struct switch_frame){ .resume = resume };
	t->arch.sp = (u64)f;
	return f;
}

void arch_thread_init(struct thread *t, void (*entry)(void *), void *arg)
{
	struct switch_frame *f = first_frame(t, x86_thread_start);

	f->bx = (u64)entry;
	f->r12 = (u64)arg;
	t->arch.fs_base = 0;
	t->arch.fpu = initial_fpu;
	*arch_user_regs(t) = (struct user_regs){ 0 };
}

void arch_thread_fork(struct thread *child, struct thread *parent, u64 user_sp, u64 tls,
		      bool set_tls)
{
	struct user_regs *regs = arch_user_regs(child);

	*regs = *arch_user_regs(parent);
	regs->ax = 0;
	regs->vector = 0; /* x86_fork_return restores everything */
	if (user_sp)
		regs->sp = user_sp;
	child->arch.fs_base = set_tls ? tls : parent->arch.fs_base;
	fpu_save(&child->arch.fpu); /* the parent runs: its state is in the registers */
	first_frame(child, x86_fork_return);
}

void arch_exec_regs(struct thread *t, u64 pc, u64 sp)
{
	*arch_user_regs(t) = (struct user_regs){
		.ip = pc < USER_END ? pc
				    : 0, /* iretq must not fault; address 0 will, in user mode */
		.cs = SEL_USER_CODE,
		.flags = FLAGS_FIXED | FLAGS_IF,
		.sp = sp,
		.ss = SEL_USER_DATA,
	};
	arch_set_tls(0);
	fpu_load(&initial_fpu);
}

/*
 * User space can change the register without the kernel (by loading FS). At a switch the kernel's
 * copy wins.
 */
void arch_set_tls(u64 base)
{
	arch_current()->arch.fs_base = base;
	wrmsr(MSR_FS_BASE, base);
}

u64 arch_get_tls(void)
{
	return arch_current()->arch.fs_base;
}
