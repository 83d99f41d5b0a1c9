/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exceptions and interrupts, after entry.S has saved the registers.
 *
 * From user mode an exception ends as a resolved page fault or a signal; from kernel mode as a
 * resolved page fault, a jump to the fixup of an instruction that may touch user memory (extable),
 * or an oops.
 */
#include "kernel/arch.h"
#include "kernel/percpu.h"
#include "kernel/task/thread.h"
#include "kernel/mm/mm.h"
#include "lib/errno.h"
#include "lib/fmt.h"
#include "lib/signal.h"
#include "x86.h"

void x86_trap_user(struct user_regs *regs);
void x86_trap_kernel(struct user_regs *regs);
__noreturn void x86_fatal(struct user_regs *regs);

/* Offsets and constants that entry.S has as numbers. */
STATIC_ASSERT(offsetof(struct cpu, running) == 8, "CPU_RUNNING");
STATIC_ASSERT(offsetof(struct cpu, kernel_sp) == 16, "CPU_KERNEL_SP");
STATIC_ASSERT(offsetof(struct cpu, user_sp_scratch) == 24, "CPU_USER_SP");
STATIC_ASSERT(offsetof(struct cpu, need_resched) == 36, "CPU_NEED_RESCHED");
STATIC_ASSERT(offsetof(struct cpu, user_cycles) == 40, "CPU_USER_CYCLES");
STATIC_ASSERT(offsetof(struct thread, flags) == 0, "THREAD_FLAGS");
STATIC_ASSERT(offsetof(struct thread, user_stamp) == 4, "THREAD_USER_STAMP");
STATIC_ASSERT(offsetof(struct thread, user_cycles) == 8, "THREAD_USER_CYCLES");
STATIC_ASSERT(THREAD_EXIT_WORK == 0x64, "THREAD_EXIT_WORK");
STATIC_ASSERT(offsetof(struct user_regs, ax) == 64, "REGS_AX");
STATIC_ASSERT(offsetof(struct user_regs, di) == 72, "REGS_DI");
STATIC_ASSERT(offsetof(struct user_regs, vector) == 120, "REGS_VECTOR");
STATIC_ASSERT(offsetof(struct user_regs, orig_ax) == 128, "REGS_ORIG_AX");
STATIC_ASSERT(BOOT_STACK_SIZE == KSTACK_SIZE, "the boot CPU's stack is like any other");
STATIC_ASSERT(NR_SYSCALLS == 512, "NR_SYSCALLS");
STATIC_ASSERT(ENOSYS == 38, "ENOSYS");
STATIC_ASSERT(ERESTARTSYS == 512 && ERESTART_RESTARTBLOCK == 516, "RESTART_FIRST, RESTART_LAST");
STATIC_ASSERT(sizeof(struct user_regs) == 176, "entries push 22 words");

/* Bits of a page fault's error code. */
#define PF_PRESENT 1
#define PF_WRITE   2
#define PF_USER	   4
#define PF_EXEC	   16

/* --- the interrupt descriptor table -------------------------------------------- */

struct gate {
	u16 offset_low, selector;
	u8 ist, type;
	u16 offset_middle;
	u32 offset_high, reserved;
};

static struct gate idt[256] __aligned(16);

static void set_gate(unsigned vector, u8 ist, unsigned dpl)
{
	u64 to = (u64)x86_vectors + 16 * vector;

	idt[vector] = (struct gate){ .offset_low = (u16)to,
				     .selector = SEL_KERNEL_CODE,
				     .ist = ist,
				     .type = 0x8e | dpl << 5, /* interrupt gate: interrupts off */
				     .offset_middle = (u16)(to >> 16),
				     .offset_high = to >> 32 };
}

void x86_idt_init(void)
{
	for (unsigned v = 0; v < ARRAY_SIZE(idt); v++)
		set_gate(v, 0, 0);
	set_gate(VECTOR_BREAKPOINT, 0, 3);
	set_gate(VECTOR_NMI, IST_NMI, 0);
	set_gate(VECTOR_DOUBLE_FAULT, IST_DOUBLE_FAULT, 0);
	set_gate(VECTOR_MACHINE_CHECK, IST_MACHINE_CHECK, 0);
}

void x86_idt_load(void)
{
	struct {
		u16 limit;
		u64 base;
	} __packed pointer = { sizeof(idt) - 1, (u64)idt };

	__asm__ volatile("lidt %0" : : "m"(pointer));
}

/* --- exceptions ---------------------------------------------------------------- */

/* Linux's signal and si_code for each exception that user code can cause. */
static const struct {
	const char *name;
	u8 sig, code;
} exceptions[32] = {
	[0] = { "divide error", SIGFPE, FPE_INTDIV },
	[1] = { "debug", SIGTRAP, TRAP_TRACE },
	[2] = { "NMI", 0, 0 },
	[3] = { "breakpoint", SIGTRAP, SI_KERNEL },
	[4] = { "overflow", SIGSEGV, SI_KERNEL },
	[5] = { "bound range", SIGSEGV, SI_KERNEL },
	[6] = { "invalid opcode", SIGILL, ILL_ILLOPN },
	[7] = { "device not available", SIGFPE, SI_KERNEL },
	[8] = { "double fault", 0, 0 },
	[10] = { "invalid TSS", SIGSEGV, SI_KERNEL },
	[11] = { "segment not present", SIGBUS, SI_KERNEL },
	[12] = { "stack segment", SIGBUS, SI_KERNEL },
	[13] = { "general protection", SIGSEGV, SI_KERNEL },
	[14] = { "page fault", SIGSEGV, SEGV_MAPERR },
	[16] = { "x87 floating point", SIGFPE, FPE_FLTINV },
	[17] = { "alignment check", SIGBUS, BUS_ADRALN },
	[18] = { "machine check", 0, 0 },
	[19] = { "SIMD floating point", SIGFPE, FPE_FLTINV },
};

/* Returns the si_code of the lowest floating point exception that is flagged and not masked. */
static int fpu_code(unsigned flags, unsigned masks)
{
	static const u8 codes[6] = { FPE_FLTINV, FPE_FLTUND, FPE_FLTDIV,
				     FPE_FLTOVF, FPE_FLTUND, FPE_FLTRES };

	for (unsigned i = 0; i < ARRAY_SIZE(codes); i++)
		if (flags & ~masks & 1u << i)
			return codes[i];
	return FPE_FLTINV;
}

static int fault_code(unsigned vector)
{
	struct fpu_state fpu;

	if (vector != VECTOR_X87 && vector != VECTOR_SIMD)
		return exceptions[vector].code;
	__asm__ volatile("fxsave64 %0" : "=m"(fpu));
	if (vector == VECTOR_X87)
		return fpu_code(fpu.fsw, fpu.fcw);
	return fpu_code(fpu.mxcsr, fpu.mxcsr >> 7);
}

static void user_exception(struct user_regs *regs)
{
	unsigned vector = regs->vector;
	int code;

	if (vector == VECTOR_PAGE_FAULT) {
		u64 addr = read_cr2();

		arch_irq_enable();
		/*
		 * A program's iretq: QEMU before 9.1 reads the program's stack as if it were the
		 * kernel. SMAP forbids that, so the fault cannot be resolved.
		 */
		if ((regs->orig_ax & (PF_PRESENT | PF_USER)) == PF_PRESENT)
			kernel_user_fault(regs, SIGSEGV, SEGV_ACCERR, addr);
		else
			kernel_page_fault(addr, regs->orig_ax & PF_WRITE, regs->orig_ax & PF_EXEC,
					  true);
		return;
	}
	code = fault_code(vector);
	arch_irq_enable();
	kernel_user_fault(regs, exceptions[vector].sig, code, code == SI_KERNEL ? 0 : regs->ip);
}

/*
 * Returns where to go on if the instruction at @ip faults on user memory, or 0 if it must not
 * fault.
 */
static u64 extable_fixup(u64 ip)
{
	extern const struct {
		u64 fault, fixup;
	} extable_start[], extable_end[];

	for (__auto_type e = extable_start; e < extable_end; e++)
		if (e->fault == ip)
			return e->fixup;
	return 0;
}

void arch_print_regs(const struct user_regs *r)
{
	kprintf("ip %016lx sp %016lx flags %08lx error %lx cr3 %lx\n", r->ip, r->sp, r->flags,
		r->orig_ax, read_cr3());
	kprintf("ax %016lx bx  %016lx cx  %016lx dx  %016lx\n", r->ax, r->bx, r->cx, r->dx);
	kprintf("si %016lx di  %016lx bp  %016lx r8  %016lx\n", r->si, r->di, r->bp, r->r8);
	kprintf("r9 %016lx r10 %016lx r11 %016lx r12 %016lx\n", r->r9, r->r10, r->r11, r->r12);
	kprintf("r13 %016lx r14 %016lx r15 %016lx\n", r->r13, r->r14, r->r15);
}

bool arch_regs_are_user(const struct user_regs *regs)
{
	return regs->cs & 3;
}

/* The kernel goes on after a guarded call, if the fault came in one. */
static void leave_guard(const char *what, struct user_regs *regs, u64 addr)
{
	struct arch_guard *guard = kernel_fault_guard(what, regs->ip, addr);

	if (!guard)
		kernel_oops(what, regs, addr);
	regs->ip = (u64)arch_guard_leave;
	regs->di = (u64)guard;
}

static void kernel_exception(struct user_regs *regs)
{
	u64 addr = read_cr2();
	u64 fixup = extable_fixup(regs->ip);
	const char *what = exceptions[regs->vector].name;
	unsigned skipped = 0;

	if (regs->vector == VECTOR_DIVIDE)
		skipped = kernel_skip_division(regs->ip, &regs->ax, &regs->dx);
	if (skipped) {
		regs->ip += skipped;
		return;
	}
	if (regs->vector != VECTOR_PAGE_FAULT || !fixup) {
		leave_guard(what ? what : "reserved exception", regs, addr);
		return;
	}
	if (addr < USER_END && regs->flags & FLAGS_IF) {
		arch_irq_enable();
		if (kernel_page_fault(addr, regs->orig_ax & PF_WRITE, false, false))
			fixup = regs->ip;
		arch_irq_disable();
	}
	regs->ip = fixup;
}

/* --- interrupts ---------------------------------------------------------------- */

static void timer_interrupt(struct cpu *c)
{
	x86_apic_eoi();
	arch_cpu_relax(); /* under icount: a program that never pauses must not starve other CPUs */
	if (!x86_timer_due(c->arch))
		return;
	c->nr_timer++;
	kernel_timer_interrupt();
}

static void interrupt(const struct user_regs *regs)
{
	struct cpu *c = this_cpu();

	c->irq_depth++;
	c->nr_irqs++;
	c->irq_regs = regs;
	switch (regs->vector) {
	case VECTOR_TIMER:
		timer_interrupt(c);
		break;
	case VECTOR_RESCHEDULE:
		x86_apic_eoi();
		c->nr_resched_ipi++;
		kernel_ipi_reschedule();
		break;
	case VECTOR_CALL:
		x86_apic_eoi();
		x86_call_interrupt();
		break;
	case VECTOR_SPURIOUS:
		break;
	default:
		kernel_irq(regs->vector - VECTOR_LEGACY);
		x86_apic_eoi();
	}
	c->irq_depth--;
}

/* --- called by entry.S --------------------------------------------------------- */

void x86_trap_user(struct user_regs *regs)
{
	kernel_enter_from_user();
	if (regs->vector < 32) {
		user_exception(regs);
		arch_irq_disable();
	} else {
		interrupt(regs);
	}
	kernel_exit_to_user(regs);
}

void x86_trap_kernel(struct user_regs *regs)
{
	struct cpu *c;

	if (regs->vector < 32) {
		kernel_exception(regs);
		return;
	}
	interrupt(regs);
	c = this_cpu();
	if (unlikely(READ_ONCE(c->need_resched)) && !c->preempt_count && !c->irq_depth &&
	    regs->flags & FLAGS_IF)
		kernel_preempt_irq();
}

static bool in_guard_page(u64 addr)
{
	struct thread *t = arch_current();
	u64 guard = t && t->kstack ? (u64)t->kstack - PAGE_SIZE : (u64)x86_boot_stack_guard;

	return addr - guard < PAGE_SIZE;
}

/* A double fault is nearly always a push onto a stack's guard page. */
__noreturn void x86_fatal(struct user_regs *regs)
{
	static char what[64];
	u64 addr = read_cr2();
	struct thread *t = arch_current();

	if (regs->vector == VECTOR_DOUBLE_FAULT && in_guard_page(addr)) {
		fmt_snprintf(what, sizeof(what), "kernel stack overflow of %s",
			     t ? t->task.comm : "the boot CPU");
		kernel_oops(what, regs, addr);
	}
	kernel_oops(exceptions[regs->vector].name, regs, addr);
}
