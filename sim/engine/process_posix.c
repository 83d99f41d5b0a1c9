/* SPDX-License-Identifier: GPL-2.0-only */
/* The process is one of Linux. */
#define _GNU_SOURCE /* dladdr() */
#include <dlfcn.h>
#include <execinfo.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "sim/engine/process.h"

#define WIDE_COLUMNS 160

static void (*on_stuck)(void);

static void on_alarm(int signal)
{
	(void)signal;
	on_stuck();
}

void process_watch(u32 ms, void (*stuck)(void))
{
	struct timeval period = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_NODEFER | SA_RESTART };

	on_stuck = stuck;
	sigaction(SIGVTALRM, &action, NULL);
	setitimer(ITIMER_VIRTUAL, &(struct itimerval){ period, period }, NULL);
}

static jmp_buf attempt;

static void on_failure(int signal)
{
	siglongjmp(attempt, signal == SIGVTALRM ? PROCESS_HANGS : PROCESS_CRASHED);
}

void process_leave(void)
{
	longjmp(attempt, PROCESS_LEFT);
}

enum process_end process_attempt(void (*what)(void), u32 limit_s)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGVTALRM };
	struct sigaction action = { .sa_handler = on_failure, .sa_flags = SA_NODEFER };
	struct itimerval limit = { .it_value.tv_sec = limit_s };
	int end;

	for (u32 i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &action, NULL);
	setitimer(ITIMER_VIRTUAL, &limit, NULL);
	end = setjmp(attempt);
	if (!end)
		what();
	setitimer(ITIMER_VIRTUAL, &(struct itimerval){ .it_value.tv_sec = 0 }, NULL);
	return (enum process_end)end;
}

/* --- crashes ---------------------------------------------------------------- */

#define CRASH_STACK 65536u
#define FRAMES	    256

static void (*on_crash)(const char *phrase, const void *address);
static skip_division_fn *on_division;

static const char *phrase_of(int signal_number)
{
	switch (signal_number) {
	case SIGFPE:
		return "divided by zero, or the least number by -1";
	case SIGILL:
		return "reached an instruction that no program has";
	default:
		return "used a wild pointer";
	}
}

static bool skip_division(ucontext_t *context)
{
	greg_t *r = context->uc_mcontext.gregs;
	u64 ax = (u64)r[REG_RAX], dx = (u64)r[REG_RDX];
	unsigned length = on_division((const u8 *)r[REG_RIP], &ax, &dx);

	r[REG_RIP] += length;
	r[REG_RAX] = (greg_t)ax;
	r[REG_RDX] = (greg_t)dx;
	return length;
}

static void catch (int signal_number, siginfo_t *info, void *context)
{
	if (signal_number == SIGFPE && on_division && skip_division(context))
		return;
	on_crash(phrase_of(signal_number), info->si_addr);
	signal(signal_number, SIG_DFL); /* it happens again */
}

void process_catch(void (*crashed)(const char *phrase, const void *address), skip_division_fn *skip)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };
	static u8 memory[CRASH_STACK];
	stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) };
	struct sigaction action = { .sa_sigaction = catch,
				    .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };
	void *frame;

	/* A recursion without end leaves no room on the stack; backtrace() allocates at first. */
	sigaltstack(&stack, NULL);
	backtrace(&frame, 1);
	on_crash = crashed;
	on_division = skip;
	for (u32 i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &action, NULL);
}

bool process_same_object(const void *a, const void *b)
{
	Dl_info of_a, of_b;

	return dladdr(a, &of_a) && dladdr(b, &of_b) && of_a.dli_fbase == of_b.dli_fbase;
}

const void *process_called_in(const void *object)
{
	void *frames[FRAMES];
	int nr = backtrace(frames, FRAMES);
	const void *found = NULL;
	Dl_info of_object, of_frame;

	if (!dladdr(object, &of_object))
		return NULL;
	for (int i = 0; i < nr; i++)
		if (dladdr(frames[i], &of_frame) && of_frame.dli_fbase == of_object.dli_fbase)
			found = frames[i];
	return found;
}

const void *process_load(const char *file, const char *symbol, const char **error)
{
	void *handle = dlopen(file, RTLD_NOW);
	const void *found = handle ? dlsym(handle, symbol) : NULL;

	*error = handle ? "it does not export that" : dlerror();
	return found;
}

void process_unload(const char *file)
{
	void *handle = dlopen(file, RTLD_NOW | RTLD_NOLOAD);

	if (!handle)
		return;
	dlclose(handle);
	dlclose(handle);
}

void process_make_writable(void *address, size_t bytes)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)address & ~(page - 1);

	mprotect((void *)from, (uintptr_t)address + bytes - from, PROT_READ | PROT_WRITE);
}

void process_use_huge_pages(void *memory, size_t bytes)
{
	madvise(memory, bytes, MADV_HUGEPAGE);
}

bool process_has_narrow_terminal(void)
{
	struct winsize size = { 0 };

	return !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col &&
	       size.ws_col < WIDE_COLUMNS;
}
