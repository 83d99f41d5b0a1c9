/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The end of a machine that cannot go on: stop the other CPUs, say why and where, show what every
 * CPU did and would run, and leave QEMU with a failure. A panic inside the panic says why and goes
 * on with what was to come next. CPUs that panic at the same time leave their reasons to the first.
 */
#include <stdarg.h>
#include "kernel/kernel.h"
#include "kernel/arch.h"
#include "kernel/mm/mm.h"
#include "kernel/percpu.h"
#include "kernel/sync.h"
#include "kernel/task/cpu.h"
#include "kernel/task/thread.h"
#include "lib/fmt.h"
#include "lib/string.h"

#define MAX_FRAMES 32

/* A frame is the caller's frame pointer and the return address. Unmapped memory is not touched. */
static bool frame_is_readable(u64 bp)
{
	u64 pa;
	unsigned prot;

	return bp % 8 == 0 && bp > USER_END && arch_pt_lookup(arch_kernel_pt, bp, &pa, &prot) &&
	       arch_pt_lookup(arch_kernel_pt, bp + 8, &pa, &prot);
}

static void print_frame(u64 ip)
{
	char name[96];

	kprintf("  %016lx %s\n", ip, symbol_name(ip, name, sizeof(name)));
}

void backtrace_print(u64 bp)
{
	for (int i = 0; i < MAX_FRAMES && frame_is_readable(bp); i++) {
		const u64 *frame = (const u64 *)bp;

		if (!frame[1])
			return;
		print_frame(frame[1]);
		if (frame[0] <= bp) /* stacks grow down: callers are above */
			return;
		bp = frame[0];
	}
}

void backtrace_thread(const struct thread *t)
{
	u64 bp;

	debug_assert(t != current);
	print_frame(arch_thread_resumes(t, &bp));
	backtrace_print(bp);
}

static void print_kernel_regs(const struct user_regs *regs)
{
	arch_print_regs(regs);
	print_frame(regs->ip);
	backtrace_print(regs->bp);
}

void backtrace_interrupted(void)
{
	assert(this_cpu()->irq_depth);
	print_kernel_regs(this_cpu()->irq_regs);
}

static bool idles_at(u64 ip)
{
	char name[96];

	return !strncmp(symbol_name(ip, name, sizeof(name)), "arch_cpu_idle+", 14);
}

/* Linux's lines, which tools look for. */
static void print_cpu(unsigned cpu, const struct user_regs *regs)
{
	const struct thread *t = READ_ONCE(cpus[cpu]->running);
	bool user = arch_regs_are_user(regs);

	if (!user && idles_at(regs->ip)) {
		kprintf("NMI backtrace for cpu %u skipped: it idles\n", cpu);
		return;
	}
	kprintf("NMI backtrace for cpu %u, thread %d (%s)%s\n", cpu, t ? t->tid : 0,
		t ? t->task.comm : "boot", user ? ", in user mode" : "");
	if (user)
		arch_print_regs(regs);
	else
		print_kernel_regs(regs);
}

void kernel_nmi_backtrace(const struct user_regs *regs)
{
	print_cpu(arch_cpu_id(), regs);
}

void backtrace_all_cpus(void)
{
	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++)
		if (cpus[cpu] && cpus[cpu]->online && !arch_cpu_backtrace(cpu))
			kprintf("cpu %u does not answer\n", cpu);
}

/* A runqueue that does not fit the buffer is cut: the panicking kernel has no memory to ask for. */
void dump_runqueues(void)
{
	static char text[16384];

	if (!machine)
		return;
	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++) {
		size_t n;

		with_irqs_off(n = sched_dump_cpu(machine, cpu, text, sizeof(text)));
		console_write(text, min(n, sizeof(text) - 1));
	}
}

u32 panic_cpu;

static const char *reasons[MAX_CPUS]; /* of CPUs that panicked when another had begun */

/* Returns on the first CPU to panic, also in a panic inside the panic. Other CPUs stop here. */
static void panic_begin(const char *reason)
{
	u32 nobody = 0, me = arch_cpu_id() + 1;

	arch_irq_disable();
	if (__atomic_compare_exchange_n(&panic_cpu, &nobody, me, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED)) {
		arch_stop_others();
		console_take_over();
	} else if (nobody != me) {
		WRITE_ONCE(reasons[me - 1], reason);
		arch_cpu_halt(); /* the first one's NMI finds the CPU here */
	}
}

static void print_where(void)
{
	struct thread *t = arch_current();

	kprintf("CPU %u, thread %d (%s), backtrace:\n", arch_cpu_id(), t ? t->tid : 0,
		t ? t->task.comm : "boot");
}

static void print_others(void)
{
	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++) {
		const struct user_regs *regs;

		if (cpu == arch_cpu_id() || !cpus[cpu] || !cpus[cpu]->online)
			continue;
		if (READ_ONCE(reasons[cpu]))
			kprintf("CPU %u panicked too: %s\n", cpu, reasons[cpu]);
		regs = arch_stopped_regs(cpu);
		if (regs)
			print_cpu(cpu, regs);
		else
			kprintf("cpu %u does not answer\n", cpu);
	}
}

/* Where the first panic came from: registers, or without them a frame. */
static const struct user_regs *died_with;
static u64 died_in;

static void print_trace(void)
{
	if (died_with)
		print_kernel_regs(died_with);
	else
		backtrace_print(died_in);
}

static const char *died_of;

/* A screen keeps its last lines only. */
static void print_reason_again(void)
{
	if (console_line != arch_console_write)
		kprintf("panic: %s\n", died_of);
}

#define MAX_NESTED 5 /* the console itself may be what is broken */

static __noreturn void die(const char *reason, const struct user_regs *regs, u64 bp)
{
	static void (*const parts[])(void) = { print_where, print_trace, print_others,
					       dump_runqueues, print_reason_again };
	static unsigned nested, part;

	panic_begin(reason);
	if (nested++ == MAX_NESTED)
		arch_exit(EXIT_FAILURE);
	if (nested == 1) {
		died_with = regs;
		died_in = bp;
		died_of = reason;
		kprintf("panic: %s\n", reason);
	} else {
		kprintf("panic in the panic: %s\n", reason);
	}
	while (part < ARRAY_SIZE(parts))
		parts[part++]();
	arch_exit(EXIT_FAILURE);
}

__noreturn void panic(const char *fmt, ...)
{
	char reason[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(reason, sizeof(reason), fmt, args);
	va_end(args);
	die(reason, NULL, (u64)__builtin_frame_address(0));
}

__noreturn void kernel_oops(const char *what, const struct user_regs *regs, u64 addr)
{
	char name[96], reason[256];

	snprintf(reason, sizeof(reason), "%s at %s, address %lx", what,
		 symbol_name(regs->ip, name, sizeof(name)), addr);
	die(reason, regs, 0);
}
