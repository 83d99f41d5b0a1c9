/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Round trips: see pingpong.h. The calling thread plays one party and stays pinned to CPU @a.
 */
#define _GNU_SOURCE
#include "lib/pingpong.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/args.h"
#include "lib/clock.h"
#include "lib/sched.h"
#include "lib/threads.h"

/* A new process starts with a handicap and preempts nobody: wait until that is over. */
#define WARM_UP 3000

/* --- pipe ---------------------------------------------------------- */

struct pipe_pair {
	int to_b[2], to_a[2];
};

static void pipe_rounds(const struct pipe_pair *p, int nr)
{
	char byte = 0;

	while (nr--)
		if (write(p->to_b[1], &byte, 1) != 1 || read(p->to_a[0], &byte, 1) != 1)
			die("pipe round trip");
}

/* The other party: send every byte back until the pipe is closed. */
static _Noreturn void pipe_echo(const struct pipe_pair *p, int cpu)
{
	char byte;

	close(p->to_b[1]);
	close(p->to_a[0]);
	pin_to_cpu(cpu);
	while (read(p->to_b[0], &byte, 1) == 1 && write(p->to_a[1], &byte, 1) == 1)
		;
	_exit(0);
}

double pipe_round_trip_ns(int nr, int a, int b)
{
	struct pipe_pair p;
	uint64_t ns;
	pid_t pid;

	pin_to_cpu(a);
	if (pipe(p.to_b) || pipe(p.to_a))
		die("pipe");
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid)
		pipe_echo(&p, b);
	close(p.to_b[0]);
	close(p.to_a[1]);
	pipe_rounds(&p, WARM_UP);
	ns = now_ns();
	pipe_rounds(&p, nr);
	ns = now_ns() - ns;
	close(p.to_b[1]);
	close(p.to_a[0]);
	waitpid(pid, NULL, 0);
	return (double)ns / nr;
}

/* --- futex --------------------------------------------------------- */

struct futex_pair {
	_Atomic uint32_t a, b; /* 1: it is this party's turn */
	int cpu_b;
	int nr;
};

static void give_turn(_Atomic uint32_t *to)
{
	atomic_store(to, 1);
	futex_wake((uint32_t *)to, 1);
}

static void take_turn(_Atomic uint32_t *mine)
{
	while (!atomic_load(mine))
		futex_wait((uint32_t *)mine, 0);
	atomic_store(mine, 0);
}

static void *futex_echo(void *arg)
{
	struct futex_pair *p = arg;
	int i;

	pin_to_cpu(p->cpu_b);
	for (i = 0; i < p->nr; i++) {
		take_turn(&p->b);
		give_turn(&p->a);
	}
	return NULL;
}

static void futex_rounds(struct futex_pair *p, int nr)
{
	while (nr--) {
		give_turn(&p->b);
		take_turn(&p->a);
	}
}

double futex_round_trip_ns(int nr, int a, int b)
{
	struct futex_pair p = { .cpu_b = b, .nr = nr + WARM_UP };
	uint64_t ns;
	pthread_t thread;

	pin_to_cpu(a);
	start_thread(&thread, NULL, futex_echo, &p);
	futex_rounds(&p, WARM_UP);
	ns = now_ns();
	futex_rounds(&p, nr);
	ns = now_ns() - ns;
	pthread_join(thread, NULL);
	return (double)ns / nr;
}

/* --- yield --------------------------------------------------------- */

struct yield_page {
	_Atomic int last;      /* who ran last */
	_Atomic long switches; /* how often that changed */
	_Atomic int stop;
};

static void yield_once(struct yield_page *page, int me)
{
	if (atomic_load_explicit(&page->last, memory_order_relaxed) != me) {
		atomic_store_explicit(&page->last, me, memory_order_relaxed);
		page->switches++;
	}
	syscall(SYS_sched_yield);
}

static _Noreturn void yield_until_stopped(struct yield_page *page)
{
	while (!page->stop)
		yield_once(page, 2);
	_exit(0);
}

double yield_switch_ns(int nr, int a, int b)
{
	struct yield_page *page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t ns;
	long switches;
	pid_t pid;
	int i;

	(void)b;
	if (page == MAP_FAILED)
		die("shared memory");
	pin_to_cpu(a);
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid)
		yield_until_stopped(page);
	while (page->switches < WARM_UP) /* until the newcomer has caught up */
		yield_once(page, 1);
	switches = page->switches;
	ns = now_ns();
	for (i = 0; i < nr; i++)
		yield_once(page, 1);
	ns = now_ns() - ns;
	switches = page->switches - switches;
	page->stop = 1;
	waitpid(pid, NULL, 0);
	munmap(page, sizeof(*page));
	return (double)ns / (switches ? switches : 1);
}
