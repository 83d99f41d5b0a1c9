/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * regs: do registers belong to their thread? Threads fill general, SSE and x87 registers with a
 * value of their own, spin with a system call in the middle, which yields or sleeps, and look
 * whether it is still there. Meanwhile they preempt each other, move between CPUs, leave them to
 * the idle thread, and take signals whose handler ruins everything it may.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "lib/args.h"
#include "lib/clock.h"

#define MAX_THREADS	 64
#define SIGNAL_PERIOD_US 700
#define SLEEP_NS	 20000
#define SLEEPS		 8 /* of so many rounds one sleeps */

static int nr_threads = 8;
static uint64_t duration_ns = 1000000000;

static const struct arg args[] = {
	{ 't', "threads", ARG_INT, &nr_threads, "threads (default 8)", 1, MAX_THREADS },
	{ 'd', "duration", ARG_TIME, &duration_ns, "how long (default 1s)", 0, 0 },
	{ 0 },
};

static const struct program program = {
	"regs",
	"Check that registers survive system calls, preemption, migration and signals.",
	NULL,
	args,
};

enum { GENERAL = 1, SSE = 2, MXCSR = 4, X87 = 8, FRAME = 16 };
static const char *const kinds[] = { "general", "SSE", "MXCSR", "x87 control", "signal frame" };

static volatile unsigned lost; /* bits of the enum */
static volatile long nr_signals;
static uint64_t end_ns;

/* The handler's stack must be aligned as the ABI says, and the context must show the registers. */
static void ruin(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;
	uint32_t mxcsr = 0x1f80 | 0x6000;

	if ((uintptr_t)__builtin_frame_address(0) % 16 || info->si_signo != sig ||
	    !uc->uc_mcontext.fpregs)
		lost |= FRAME;
	__asm__ volatile("pcmpeqd %%xmm0, %%xmm0; pcmpeqd %%xmm7, %%xmm7; pcmpeqd %%xmm15, %%xmm15;"
			 "fninit; fld1; ldmxcsr %0"
			 :
			 : "m"(mxcsr)
			 : "xmm0", "xmm7", "xmm15");
	nr_signals++;
}

/* One round with @value, in which the thread sleeps or yields; returns what was lost. */
static unsigned hold(uint64_t value, bool sleeps)
{
	static const struct timespec length = { .tv_nsec = SLEEP_NS };
	uint32_t mxcsr = 0x1f80 | (value % 4) << 13, mxcsr_after;
	uint16_t control = value % 2 ? 0x37f : 0x27f, control_after;
	uint64_t general[3], sse[3];

	__asm__ volatile("fldcw %0; ldmxcsr %1" : : "m"(control), "m"(mxcsr));
	__asm__ volatile(
		"movq %[v], %%xmm0; movq %[v], %%xmm7; movq %[v], %%xmm15\n\t"
		"mov %[v], %%rbx; mov %[v], %%r12; mov %[v], %%r13; mov $1000, %%ecx\n"
		"1: dec %%ecx; jnz 1b\n\t"
		"mov %[call], %%rax; syscall; mov $1000, %%ecx\n"
		"2: dec %%ecx; jnz 2b\n\t"
		"movq %%xmm0, %[s0]; movq %%xmm7, %[s1]; movq %%xmm15, %[s2]\n\t"
		"mov %%rbx, %[g0]; mov %%r12, %[g1]; mov %%r13, %[g2]"
		: [s0] "=m"(sse[0]), [s1] "=m"(sse[1]), [s2] "=m"(sse[2]), [g0] "=m"(general[0]),
		  [g1] "=m"(general[1]), [g2] "=m"(general[2])
		: [v] "r"(value), [call] "r"((long)(sleeps ? SYS_nanosleep : SYS_sched_yield)),
		  "D"(&length), "S"(NULL)
		: "rax", "rbx", "rcx", "r11", "r12", "r13", "xmm0", "xmm7", "xmm15", "memory");
	__asm__ volatile("fnstcw %0; stmxcsr %1" : "=m"(control_after), "=m"(mxcsr_after));
	return (general[0] != value || general[1] != value || general[2] != value ? GENERAL : 0) |
	       (sse[0] != value || sse[1] != value || sse[2] != value ? SSE : 0) |
	       ((mxcsr_after & ~0x3fu) != mxcsr ? MXCSR : 0) | (control_after != control ? X87 : 0);
}

static void *run(void *arg)
{
	uint64_t value = (uintptr_t)arg * 0x0101010101010101;
	long rounds = 0;

	for (; now_ns() < end_ns; rounds++)
		lost |= hold(value, rounds % SLEEPS == 0);
	return (void *)rounds;
}

static void start_signals(void)
{
	struct sigaction action = { .sa_sigaction = ruin, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct itimerval period = { { 0, SIGNAL_PERIOD_US }, { 0, SIGNAL_PERIOD_US } };

	if (sigaction(SIGALRM, &action, NULL) || setitimer(ITIMER_REAL, &period, NULL))
		die("setitimer");
}

int main(int argc, char **argv)
{
	pthread_t threads[MAX_THREADS];
	long rounds = 0;
	void *result;

	parse_args(&program, argc, argv);
	end_ns = now_ns() + duration_ns;
	start_signals();
	for (intptr_t i = 0; i < nr_threads; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)(i + 1)))
			die("pthread_create");
	for (int i = 0; i < nr_threads; i++) {
		pthread_join(threads[i], &result);
		rounds += (long)result;
	}
	printf("%d threads, %ld rounds, %ld signals:", nr_threads, rounds, nr_signals);
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (lost & 1u << i)
			printf(" lost %s,", kinds[i]);
	printf("%s\n", lost ? " FAILED" : " every register kept");
	return lost != 0;
}
