/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memcheck: what programs may rely on when they use memory: mappings, copy on write, the heap and
 * the stack, starting programs, threads that change their address space under each other, and the
 * vDSO. The same binary passes on Linux.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "memcheck/memcheck.h"

static const struct arg args[] = { { 0 } };

static const struct program program = {
	"memcheck",
	"Check memory and program start against what Linux promises. Without NAME: all.",
	"[NAME]...",
	args,
};

static sigjmp_buf after_fault;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)context;
	siglongjmp(after_fault, sig << 8 | info->si_code);
}

static int with_handler(int sig, struct sigaction *old)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	return sigaction(sig, &action, old);
}

int fault_of(volatile char *p, bool write)
{
	struct sigaction old_segv, old_bus;
	int fault = sigsetjmp(after_fault, 1);

	if (!fault) {
		EXPECT(!with_handler(SIGSEGV, &old_segv) && !with_handler(SIGBUS, &old_bus));
		if (write)
			*p = *p;
		else
			(void)*p;
	}
	signal(SIGSEGV, SIG_DFL);
	signal(SIGBUS, SIG_DFL);
	return fault;
}

char *map_memory(size_t size, int prot, int flags)
{
	char *p = mmap(NULL, size, prot, flags | MAP_ANONYMOUS, -1, 0);

	EXPECT(p != MAP_FAILED);
	return p;
}

bool is_filled(const char *p, char with, size_t n)
{
	return p[0] == with && !memcmp(p, p + 1, n - 1);
}

int main(int argc, char **argv)
{
	static const struct check *const groups[] = { map_tests, process_tests, thread_tests,
						      vdso_tests };

	return run_checks(&program, groups, sizeof(groups) / sizeof(groups[0]), argc, argv);
}
