/* SPDX-License-Identifier: GPL-2.0-only */
/* One instruction of another process at a time, by ptrace(2); see step.h. */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "step.h"

#define STEP_PAGE    4096
#define MOST_STEPS   20000 /* of a function that has some hundred instructions */
#define RED_ZONE     128   /* below a stack pointer, in use without being reserved */
#define SYSCALL_STOP (SIGTRAP | 0x80)

static pid_t other;
static struct user_regs_struct regs; /* of the other process, which is stopped */
static u64 fault_address;

/* In the other process: a system call that this one asks for, and where a function returns to. */
__asm__(".pushsection .text\n"
	"step_gate: syscall\n"
	"step_returned: int3\n"
	".popsection");
extern char step_gate[], step_returned[];

static void must(bool done, const char *what)
{
	if (done)
		return;
	perror(what);
	exit(1);
}

/* Lets the other process go on and returns the signal that it is stopped for. */
static int go_on(enum __ptrace_request how)
{
	int status;

	must(!ptrace(how, other, NULL, NULL), "ptrace");
	must(waitpid(other, &status, 0) == other && WIFSTOPPED(status), "waitpid");
	must(!ptrace(PTRACE_GETREGS, other, NULL, &regs), "ptrace");
	return WSTOPSIG(status);
}

static void end_other(void)
{
	if (!other)
		return;
	syscall(SYS_tgkill, other, other, SIGKILL);
	waitpid(other, NULL, 0);
	other = 0;
}

void step_begin(void)
{
	int status;

	end_other();
	fflush(NULL);
	other = fork();
	must(other >= 0, "fork");
	if (!other) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		__builtin_trap();
	}
	must(waitpid(other, &status, 0) == other && WIFSTOPPED(status), "waitpid");
	must(!ptrace(PTRACE_SETOPTIONS, other, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL),
	     "ptrace");
	must(!ptrace(PTRACE_GETREGS, other, NULL, &regs), "ptrace");
}

/* Has the other process be about to call @fn, which will return to step_returned. */
static void call(void (*fn)(void))
{
	regs.rsp = ((regs.rsp - RED_ZONE) & ~15ull) - sizeof(u64);
	regs.rip = (u64)(uintptr_t)fn;
	step_write((void *)regs.rsp, (u64)(uintptr_t)step_returned, sizeof(u64));
	must(!ptrace(PTRACE_SETREGS, other, NULL, &regs), "ptrace");
}

/* Does @call, which the other process has just entered, and has it return there. */
static void do_call(const struct step_call *call)
{
	const u64 arg[] = { regs.rdi, regs.rsi, regs.rdx };

	regs.rax = call->does(arg);
	regs.rip = step_read((void *)regs.rsp, sizeof(u64));
	regs.rsp += sizeof(u64);
	must(!ptrace(PTRACE_SETREGS, other, NULL, &regs), "ptrace");
}

/* A sentence on why the function is stopped by @sig, which is no step. */
static const char *why_stopped(int sig)
{
	static char text[160];
	siginfo_t info = { 0 };

	if (sig == SYSCALL_STOP)
		return "it makes a system call, which is not for it";
	must(!ptrace(PTRACE_GETSIGINFO, other, NULL, &info), "ptrace");
	fault_address = (u64)(uintptr_t)info.si_addr;
	snprintf(text, sizeof(text), "it was ended by %s (%s)", strsignal(sig),
		 sig == SIGSEGV ? "it touches memory that it must not touch"
				: "the instruction cannot be executed");
	return text;
}

const char *step_run(void (*fn)(void), const struct step_call *calls, void (*between)(void))
{
	fault_address = 0;
	call(fn);
	for (unsigned nr = 0; regs.rip != (u64)(uintptr_t)step_returned; nr++) {
		const struct step_call *called = calls;

		if (nr == MOST_STEPS)
			return "it did not end: a loop that never leaves?";
		between();
		while (called->function && (u64)(uintptr_t)called->function != regs.rip)
			called++;
		if (called->function) {
			do_call(called);
			continue;
		}
		int sig = go_on(PTRACE_SYSEMU_SINGLESTEP);
		if (sig != SIGTRAP)
			return why_stopped(sig);
	}
	return NULL;
}

/* --- its memory ---------------------------------------------------------------------------- */

static u64 peek(u64 at)
{
	u64 word = 0;

	if (syscall(SYS_ptrace, PTRACE_PEEKDATA, other, at, &word) < 0)
		fail_msg("a pointer leads to where there is no memory: %#lx", at);
	return word;
}

/* The bits of the value of @size bytes. */
static u64 bits(size_t size)
{
	return size == sizeof(u64) ? ~0ull : (1ull << size * 8) - 1;
}

u64 step_read(const void *at, size_t size)
{
	return peek((u64)(uintptr_t)at) & bits(size);
}

void step_write(void *at, u64 value, size_t size)
{
	u64 word = (peek((u64)(uintptr_t)at) & ~bits(size)) | (value & bits(size));

	if (ptrace(PTRACE_POKEDATA, other, at, word))
		fail_msg("a pointer leads to where nothing can be stored: %p", at);
}

void *step_page(void)
{
	void *page =
		mmap(NULL, STEP_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(page != MAP_FAILED, "mmap");
	return page;
}

void step_close_page(void *page)
{
	struct user_regs_struct before = regs;

	regs.rip = (u64)(uintptr_t)step_gate;
	regs.rax = SYS_mprotect;
	regs.rdi = (u64)(uintptr_t)page;
	regs.rsi = STEP_PAGE;
	regs.rdx = PROT_NONE;
	must(!ptrace(PTRACE_SETREGS, other, NULL, &regs), "ptrace");
	must(go_on(PTRACE_CONT) == SIGTRAP && !regs.rax, "mprotect");
	regs = before;
	must(!ptrace(PTRACE_SETREGS, other, NULL, &regs), "ptrace");
}

bool step_touched(const void *page)
{
	return fault_address - (u64)(uintptr_t)page < STEP_PAGE;
}

void step_set_cpu(void *cpu)
{
	must(!syscall(SYS_arch_prctl, ARCH_SET_GS, cpu), "arch_prctl");
}
