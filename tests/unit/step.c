/* SPDX-License-Identifier: GPL-2.0-only */
/* One instruction at a time, by the trap flag of x86; see step.h. */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <x86intrin.h>

#include "step.h"

#define TRAP_FLAG 0x100ull
#define STEP_PAGE 4096

static bool (*between_instructions)(void);
static sigjmp_buf way_out;

static void must(bool done, const char *what)
{
	if (done)
		return;
	perror(what);
	exit(1);
}

/* SA_NODEFER: a test may fail, and so leave, in a handler. */
static void handle(int sig, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_NODEFER };

	must(!sigaction(sig, &action, NULL), "sigaction");
}

/* The flag is off in a handler, and comes back with the other flags. */
static void after_an_instruction(int sig, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;

	(void)sig;
	(void)info;
	if (!between_instructions())
		interrupted->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
}

void step_through(void (*fn)(void), bool (*between)(void))
{
	between_instructions = between;
	handle(SIGTRAP, after_an_instruction);
	__writeeflags(__readeflags() | TRAP_FLAG);
	fn();
	__writeeflags(__readeflags() & ~TRAP_FLAG);
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
	must(!mprotect(page, STEP_PAGE, PROT_NONE), "mprotect");
}

static void leave(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
	siglongjmp(way_out, 1);
}

bool step_ends_well(void (*fn)(void))
{
	handle(SIGSEGV, leave);
	if (sigsetjmp(way_out, 1))
		return false;
	fn();
	return true;
}

void step_set_cpu(void *cpu)
{
	must(!syscall(SYS_arch_prctl, ARCH_SET_GS, cpu), "arch_prctl");
}
