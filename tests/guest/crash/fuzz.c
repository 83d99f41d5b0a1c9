/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fuzz: every system call number with senseless values, one argument at a time and all at once.
 * There is no expected result but one: the kernel goes on. Each call number has a process of its
 * own, because some calls end or cripple it. An interval timer interrupts what would block.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crash/crash.h"

#define LAST_CALL 450

/* Calls that end or stop the machine or this test when their arguments happen to make sense. */
static const short skipped[] = {
	SYS_reboot,	   SYS_kill,	 SYS_tkill,	  SYS_tgkill,	    SYS_exit,
	SYS_exit_group,	   SYS_fork,	 SYS_vfork,	  SYS_clone,	    SYS_clone3,
	SYS_pause,	   SYS_vhangup,	 SYS_mount,	  SYS_umount2,	    SYS_pivot_root,
	SYS_chroot,	   SYS_swapon,	 SYS_swapoff,	  SYS_acct,	    SYS_settimeofday,
	SYS_clock_settime, SYS_adjtimex, SYS_setpriority, SYS_rt_sigreturn, SYS_syslog,
};

static bool is_skipped(int nr)
{
	unsigned i;

	for (i = 0; i < sizeof(skipped) / sizeof(skipped[0]); i++)
		if (skipped[i] == nr)
			return true;
	return false;
}

static void interrupt(int signal)
{
	(void)signal;
}

/* The timer is started again before each call: some calls stop it. */
static void start_timer(void)
{
	const struct itimerval soon = { { 0, 2000 }, { 0, 2000 } };
	struct sigaction action = { .sa_handler = interrupt };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
}

static void call(int nr, const long a[6])
{
	start_timer();
	syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void fuzz_call(int nr)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const long values[] = { 0,
				1,
				-1,
				UNMAPPED,
				(long)KERNEL_ADDRESS,
				(long)NO_ADDRESS,
				USER_END - 1,
				(long)(uintptr_t)page };
	unsigned v, i;

	for (v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
		long all[6];

		for (i = 0; i < 6; i++) {
			long one[6] = { 0 };

			one[i] = values[v];
			all[i] = values[v];
			call(nr, one);
		}
		call(nr, all);
	}
}

int fuzz_syscalls(void)
{
	int nr, status, calls = 0, killed = 0;
	pid_t pid;

	for (nr = 0; nr <= LAST_CALL; nr++) {
		if (is_skipped(nr))
			continue;
		pid = fork();
		if (pid < 0)
			return errno;
		if (!pid) {
			setsid();
			fuzz_call(nr);
			_exit(0);
		}
		if (waitpid(pid, &status, 0) != pid)
			return errno;
		calls++;
		killed += WIFSIGNALED(status);
	}
	printf("%d calls, %d of them fatal; ", calls, killed);
	fflush(stdout);
	return 0;
}
