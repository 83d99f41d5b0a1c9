/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Too much of something: processes, threads, memory; and an attack on process 1. The kernel must
 * refuse with an errno or end the culprit, and afterwards everything must work as before. These
 * tests can take down what else runs on the machine, so they run only when they are named.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crash/crash.h"
#include "lib/sched.h"
#include "lib/threads.h"

#define MOST_PROCESSES 50000
#define NR_THREADS     10000

static pid_t children[MOST_PROCESSES];

/* Fork sleeping children until the kernel refuses, with errno; returns their number. */
static int fork_sleepers(void)
{
	int nr;

	for (nr = 0; nr < MOST_PROCESSES; nr++) {
		children[nr] = fork();
		if (children[nr] < 0)
			break;
		if (!children[nr])
			for (;;)
				pause();
	}
	return nr;
}

/* 0 if the kernel refused with an errno of fork(2), and can fork again when all is over. */
static int fork_bomb(void)
{
	int nr, i, error, status;
	pid_t pid;

	memset(children, 1, sizeof(children)); /* none of it may be missing when memory is short */
	nr = fork_sleepers();
	error = errno;
	for (i = 0; i < nr; i++)
		kill(children[i], SIGKILL);
	for (i = 0; i < nr; i++)
		if (waitpid(children[i], NULL, 0) != children[i])
			return errno;
	printf("%d processes, then %s; ", nr, strerror(error));
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(7);
	if (waitpid(pid, &status, 0) != pid || status != 7 << 8)
		return 255;
	return error == EAGAIN || error == ENOMEM ? 0 : error;
}

static _Atomic uint32_t gate;

static void *wait_at_gate(void *arg)
{
	while (!gate)
		futex_wait((uint32_t *)&gate, 0);
	return arg;
}

/* 0 if all threads existed at once, or more were refused with EAGAIN; all could be joined. */
static int many_threads(void)
{
	pthread_t *threads = calloc(NR_THREADS, sizeof(*threads));
	int nr = start_many_threads(threads, NR_THREADS, wait_at_gate), error = errno, i;

	gate = 1;
	futex_wake((uint32_t *)&gate, nr);
	for (i = 0; i < nr; i++)
		if (pthread_join(threads[i], NULL))
			return 255;
	printf("%d threads; ", nr);
	fflush(stdout);
	return nr == NR_THREADS || error == EAGAIN ? 0 : error;
}

/* Touch memory until there is no more: the kernel can only end the process. */
static int eat_memory(void)
{
	const size_t chunk = 16 << 20;
	char *p;

	for (;;) {
		p = mmap(NULL, chunk, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED)
			return errno;
		memset(p, 1, chunk);
	}
}

/* Process 1 has no handler for these, so they are dropped, though kill(2) succeeds. */
static int kill_init(void)
{
	if (kill(1, SIGKILL) || kill(1, SIGSEGV) || kill(1, SIGTERM))
		return errno;
	usleep(10000);
	return error_of(kill(1, 0));
}

const struct crash_test limit_tests[] = {
	{ "forkbomb", fork_bomb, ENDS(0), "fork until the kernel refuses" },
	{ "threads", many_threads, ENDS(0), "10000 threads at once" },
	{ "memory", eat_memory, DIES(SIGKILL), "touch memory until there is no more" },
	{ "kill-init", kill_init, ENDS(0), "kill process 1" },
	{ "fuzz", fuzz_syscalls, ENDS(0), "every system call with senseless arguments" },
	{ NULL },
};
