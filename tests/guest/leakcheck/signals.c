/* SPDX-License-Identifier: GPL-2.0-only */
/* Signal frames, the structures in them, and the calls around signals. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "leakcheck/leakcheck.h"

/* --- frames --------------------------------------------------------------------- */

static volatile uintptr_t frame; /* where the frame of the last signal begins */

/* The frame begins with the return address, eight bytes below the ucontext. */
static void note_frame(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info;
	frame = (uintptr_t)context - 8;
}

static void clear_vector_registers(void)
{
	__asm__ volatile("pxor %%xmm0, %%xmm0; pxor %%xmm1, %%xmm1; pxor %%xmm2, %%xmm2;"
			 "pxor %%xmm3, %%xmm3; pxor %%xmm4, %%xmm4; pxor %%xmm5, %%xmm5;"
			 "pxor %%xmm6, %%xmm6; pxor %%xmm7, %%xmm7" ::
				 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");
}

/* Catch @sig on an alternate stack in @buf during @cause; afterwards @buf begins with the frame. */
static long frame_of(void *buf, int sig, void (*cause)(void))
{
	stack_t stack = { .ss_sp = buf, .ss_size = ROOM }, off = { .ss_flags = SS_DISABLE };
	struct sigaction action = { .sa_sigaction = note_frame,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK | (int)SA_RESETHAND };
	uintptr_t top = (uintptr_t)buf + ROOM;

	frame = 0;
	EXPECT(!sigaltstack(&stack, NULL) && !sigaction(sig, &action, NULL));
	clear_vector_registers();
	cause();
	while (!*(volatile uintptr_t *)&frame)
		pause();
	EXPECT(!sigaltstack(&off, NULL));
	EXPECT(frame >= (uintptr_t)buf && frame < top && top - frame >= 512);
	memmove(buf, (void *)frame, top - frame);
	return (long)(top - frame);
}

static void raise_user(void)
{
	kill(getpid(), SIGUSR1);
}

static void raise_queued(void)
{
	sigqueue(getpid(), SIGUSR1, (union sigval){ .sival_int = 5 });
}

static void raise_fault(void)
{
	__asm__ volatile("int3");
}

static void raise_child(void)
{
	await_child(spawn_short());
}

static void raise_timer(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	struct itimerspec soon = { .it_value.tv_nsec = 1000 };
	timer_t id;

	EXPECT(!timer_create(CLOCK_MONOTONIC, &event, &id) && !timer_settime(id, 0, &soon, NULL));
	while (!*(volatile uintptr_t *)&frame)
		;
	EXPECT(!timer_delete(id));
}

static long frame_of_kill(void *buf)
{
	return frame_of(buf, SIGUSR1, raise_user);
}

static long frame_of_queue(void *buf)
{
	return frame_of(buf, SIGUSR1, raise_queued);
}

static long frame_of_fault(void *buf)
{
	return frame_of(buf, SIGTRAP, raise_fault);
}

static long frame_of_child(void *buf)
{
	return frame_of(buf, SIGCHLD, raise_child);
}

static long frame_of_timer(void *buf)
{
	return frame_of(buf, SIGALRM, raise_timer);
}

/* --- calls --------------------------------------------------------------------- */

/* struct sigaction as the kernel has it. */
static long action(void *buf)
{
	return wrote(32, syscall(SYS_rt_sigaction, SIGINT, NULL, buf, 8));
}

static long mask(void *buf)
{
	return wrote(8, syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, buf, 8));
}

static long altstack(void *buf)
{
	return wrote(sizeof(stack_t), syscall(SYS_sigaltstack, NULL, buf));
}

static void block(int sig)
{
	uint64_t set = 1ull << (sig - 1);

	EXPECT(!syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, 8));
}

static long taken(void *buf, int sig)
{
	uint64_t set = 1ull << (sig - 1);
	long got = syscall(SYS_rt_sigtimedwait, &set, buf, NULL, 8);

	EXPECT(got == sig);
	return wrote(sizeof(siginfo_t), got);
}

static long pending(void *buf)
{
	block(SIGUSR2);
	kill(getpid(), SIGUSR2);
	long n = wrote(8, syscall(SYS_rt_sigpending, buf, 8));
	siginfo_t info;

	taken(&info, SIGUSR2);
	return n;
}

static long info_of_kill(void *buf)
{
	block(SIGUSR2);
	kill(getpid(), SIGUSR2);
	return taken(buf, SIGUSR2);
}

static long info_of_tkill(void *buf)
{
	block(SIGUSR2);
	syscall(SYS_tgkill, getpid(), gettid(), SIGUSR2);
	return taken(buf, SIGUSR2);
}

static long info_of_queue(void *buf)
{
	block(SIGRTMIN);
	sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_int = 7 });
	return taken(buf, SIGRTMIN);
}

const struct probe signal_probes[] = {
	{ "frame of kill", frame_of_kill },
	{ "frame of sigqueue", frame_of_queue },
	{ "frame of a fault", frame_of_fault },
	{ "frame of SIGCHLD", frame_of_child },
	{ "frame of a timer", frame_of_timer },
	{ "rt_sigaction", action },
	{ "rt_sigprocmask", mask },
	{ "sigaltstack", altstack },
	{ "rt_sigpending", pending },
	{ "sigtimedwait kill", info_of_kill },
	{ "sigtimedwait tgkill", info_of_tkill },
	{ "sigtimedwait queue", info_of_queue },
	{ 0 },
};
