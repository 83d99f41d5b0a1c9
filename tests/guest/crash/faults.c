/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Faults: instructions and accesses that the processor refuses. Each must become the signal that
 * Linux sends.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "crash/crash.h"

/* --- accesses ------------------------------------------------------ */

static int read_from(uintptr_t address)
{
	return *(volatile int *)address;
}

static int write_to(uintptr_t address)
{
	*(volatile int *)address = 1;
	return 0;
}

static int jump_to(uintptr_t address)
{
	((void (*)(void))address)();
	return 0;
}

static int read_null(void)
{
	return read_from(0);
}

static int write_null(void)
{
	return write_to(0);
}

static int read_kernel(void)
{
	return read_from(KERNEL_ADDRESS);
}

static int write_kernel(void)
{
	return write_to(KERNEL_ADDRESS);
}

static int jump_kernel(void)
{
	return jump_to(KERNEL_ADDRESS);
}

static int read_noncanonical(void)
{
	return read_from(NO_ADDRESS);
}

static int jump_noncanonical(void)
{
	return jump_to(NO_ADDRESS);
}

static int write_text(void)
{
	return write_to((uintptr_t)write_text);
}

static int run_data(void)
{
	static unsigned char ret = 0xc3;

	return jump_to((uintptr_t)&ret);
}

static int run_stack(void)
{
	volatile unsigned char ret = 0xc3;

	return jump_to((uintptr_t)&ret);
}

static int touch_prot_none(void)
{
	void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return read_from((uintptr_t)page);
}

static int touch_unmapped(void)
{
	char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(page, 4096);
	return read_from((uintptr_t)page);
}

/* Each call needs its frame after the next one, so that no compiler makes a loop of it. */
static int recurse(volatile int depth)
{
	volatile char frame[4096];

	frame[0] = depth;
	return depth < 0 ? 0 : recurse(depth + 1) + frame[0];
}

static int overflow_stack(void)
{
	return recurse(0);
}

/* --- instructions -------------------------------------------------- */

static int divide_by_zero(void)
{
	__asm__ volatile("cltd; idivl %1" ::"a"(1), "r"(0) : "edx", "cc");
	return 0;
}

static int divide_overflow(void)
{
	__asm__ volatile("cltd; idivl %1" ::"a"(INT32_MIN), "r"(-1) : "edx", "cc");
	return 0;
}

static int undefined_instruction(void)
{
	__asm__ volatile("ud2");
	return 0;
}

static int breakpoint(void)
{
	__asm__ volatile("int3");
	return 0;
}

static int halt(void)
{
	__asm__ volatile("hlt");
	return 0;
}

static int disable_interrupts(void)
{
	__asm__ volatile("cli");
	return 0;
}

static int port_output(void)
{
	/* This would end the virtual machine. */
	__asm__ volatile("outb %b0, %w1" ::"a"(0x10), "d"(0xf4));
	return 0;
}

static int write_msr(void)
{
	/* The system call entry point. */
	__asm__ volatile("wrmsr" ::"a"(0), "d"(0), "c"(0xc0000082));
	return 0;
}

static int write_cr0(void)
{
	__asm__ volatile("movq %0, %%cr0" ::"r"(0l));
	return 0;
}

/* To the address 0 in the kernel's code segment. */
static int return_to_kernel(void)
{
	__asm__ volatile("push $0; push $0; push $0; push $0x10; push $0; iretq" ::: "memory");
	return 0;
}

static int load_idt(void)
{
	static const char nothing[10];

	__asm__ volatile("lidt %0" ::"m"(nothing));
	return 0;
}

static int software_interrupt(void)
{
	__asm__ volatile("int $32"); /* a device's vector */
	return 0;
}

/* --- the stack pointer as a weapon --------------------------------- */

static int fault_without_stack(void)
{
	__asm__ volatile("xorl %%esp, %%esp; ud2" ::: "memory");
	return 0;
}

static void ignore_signal(int signal)
{
	(void)signal;
}

/* A handler is there, but its frame cannot be written. */
static int handler_without_stack(void)
{
	signal(SIGILL, ignore_signal);
	return fault_without_stack();
}

static int bad_sigreturn(void)
{
	__asm__ volatile("movq %0, %%rsp; movl %1, %%eax; syscall" ::"r"(UNMAPPED),
			 "i"(SYS_rt_sigreturn)
			 : "rax", "rcx", "r11", "memory");
	return 0;
}

/* The kernel must not use, nor change, a stack that the caller claims to have. */
static int kernel_stack_pointer(void)
{
	long result;

	__asm__ volatile("movq %%rsp, %%rbx; movq %1, %%rsp; syscall; movq %%rbx, %%rsp"
			 : "=a"(result)
			 : "r"(KERNEL_ADDRESS), "a"(SYS_getpid)
			 : "rbx", "rcx", "r11", "memory");
	return result != getpid();
}

static int call_abort(void)
{
	abort();
}

const struct crash_test fault_tests[] = {
	{ "null-deref", read_null, DIES(SIGSEGV), "read address 0" },
	{ "null-write", write_null, DIES(SIGSEGV), "write address 0" },
	{ "kernel-read", read_kernel, DIES(SIGSEGV), "read the kernel's memory" },
	{ "kernel-write", write_kernel, DIES(SIGSEGV), "write the kernel's memory" },
	{ "kernel-jump", jump_kernel, DIES(SIGSEGV), "jump into the kernel" },
	{ "noncanonical-read", read_noncanonical, DIES(SIGSEGV), "read a non-canonical address" },
	{ "noncanonical-jump", jump_noncanonical, DIES(SIGSEGV),
	  "jump to a non-canonical address" },
	{ "text-write", write_text, DIES(SIGSEGV), "write the program's code" },
	{ "data-jump", run_data, DIES(SIGSEGV), "execute data" },
	{ "stack-jump", run_stack, DIES(SIGSEGV), "execute the stack" },
	{ "prot-none", touch_prot_none, DIES(SIGSEGV), "read a page without access" },
	{ "unmapped", touch_unmapped, DIES(SIGSEGV), "read a page after munmap" },
	{ "stack-overflow", overflow_stack, DIES(SIGSEGV), "recurse for ever" },
	{ "div0", divide_by_zero, DIES(SIGFPE), "divide by zero" },
	{ "div-overflow", divide_overflow, DIES(SIGFPE), "divide the least number by -1" },
	{ "ud2", undefined_instruction, DIES(SIGILL), "undefined instruction" },
	{ "int3", breakpoint, DIES(SIGTRAP), "breakpoint without a debugger" },
	{ "hlt", halt, DIES(SIGSEGV), "privileged: halt" },
	{ "cli", disable_interrupts, DIES(SIGSEGV), "privileged: disable interrupts" },
	{ "outb", port_output, DIES(SIGSEGV), "privileged: port output" },
	{ "wrmsr", write_msr, DIES(SIGSEGV), "privileged: write a model-specific register" },
	{ "cr0", write_cr0, DIES(SIGSEGV), "privileged: write CR0" },
	{ "lidt", load_idt, DIES(SIGSEGV), "privileged: load the interrupt table" },
	{ "iretq", return_to_kernel, DIES(SIGSEGV), "return from an interrupt into the kernel" },
	{ "int-32", software_interrupt, DIES(SIGSEGV), "software interrupt of a device vector" },
	{ "no-stack", fault_without_stack, DIES(SIGILL), "fault with a null stack pointer" },
	{ "no-stack-handler", handler_without_stack, DIES(SIGSEGV),
	  "signal handler, null stack pointer" },
	{ "sigreturn", bad_sigreturn, DIES(SIGSEGV), "return from a signal that never came" },
	{ "kernel-stack", kernel_stack_pointer, ENDS(0),
	  "system call with a kernel stack pointer" },
	{ "abort", call_abort, DIES(SIGABRT), "abort()" },
	{ NULL },
};
