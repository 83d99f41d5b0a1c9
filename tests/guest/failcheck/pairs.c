/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * failcheck: pairs of calls. Two threads of a process make one call each, again and again, at the
 * same time and on the same objects, of which there is one of each kind. The first thread also puts
 * new ones in their place all the time. Whatever they return, the
 * process can be ended, and the kernel then has as many objects and pages as before.
 *
 * A pair is a program of two lines: what it breaks is repeated by the two names.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failcheck.h"
#include "lib/args.h"
#include "lib/clock.h"
#include "lib/sched.h"

#define TIMES	  40		  /* that each call of a pair is made */
#define ENOUGH	  NS_PER_S	  /* then the process waits for something, and is killed */
#define TOO_LONG  (20 * NS_PER_S) /* for its end */
#define MOST_RUNS 30
#define LAST_NS	  (50 * NS_PER_MS) /* a thread waits so long for the other */

static int nr_begun, nr_ended, nr_killed, nr_wrong;

static void repeat(const struct row *row, void (*between)(void))
{
	int i;

	__atomic_add_fetch(&nr_begun, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&nr_begun, __ATOMIC_SEQ_CST) < 2)
		;
	for (i = 0; i < TIMES; i++) {
		long result = make_call(row);

		if (row->flags & FORKS && result > 0)
			waitpid((pid_t)result, NULL, 0);
		if (between)
			between();
	}
	__atomic_add_fetch(&nr_ended, 1, __ATOMIC_SEQ_CST);
}

static void *other_thread(void *row)
{
	repeat(row, NULL);
	return NULL;
}

static void make_pair_of_calls(const struct row *a, const struct row *b)
{
	pthread_t other;

	set_up();
	if (a->prepare)
		a->prepare();
	if (b->prepare && b->prepare != a->prepare)
		b->prepare();
	if (pthread_create(&other, NULL, other_thread, (void *)b))
		die("pthread_create");
	repeat(a, renew_objects);

	const uint64_t end_ns = now_ns() + LAST_NS;

	while (__atomic_load_n(&nr_ended, __ATOMIC_SEQ_CST) < 2 && now_ns() < end_ns)
		sleep_ns(NS_PER_MS / 4);
	_exit(0);
}

static void complain(const struct row *a, const struct row *b, const char *what, long number)
{
	printf("FAIL %s (%ld); again: failcheck -p 20 '%s' '%s'\n", what, number, a->name, b->name);
	fflush(stdout);
	nr_wrong++;
}

/* Returns false if the process does not end. */
static bool await_end(pid_t pid)
{
	const uint64_t start_ns = now_ns();
	bool killed = false;

	while (waitpid(pid, NULL, WNOHANG) != pid) {
		uint64_t ran_ns = now_ns() - start_ns;

		if (ran_ns > TOO_LONG)
			return false;
		if (ran_ns > ENOUGH && !killed) {
			kill(pid, SIGKILL);
			killed = true;
		}
		sleep_ns(NS_PER_MS / 4);
	}
	nr_killed += killed;
	return true;
}

/* Returns how much more is in use after the pair has run. */
static long run_pair(const struct row *a, const struct row *b)
{
	struct in_use before = count_in_use();

	make_place();
	fflush(stdout);
	pid_t pid = (pid_t)must(fork(), "fork");

	if (!pid)
		make_pair_of_calls(a, b);
	if (!await_end(pid)) {
		complain(a, b, "the process does not end", pid);
		exit(1);
	}
	clean_up();
	return lasting_loss(before);
}

/* A loss grows with each run; what CPUs keep of the dead, stacks and page tables, has an end. */
static void check_pair(const struct row *a, const struct row *b)
{
	long loss = 1;
	int i;

	for (i = 0; i < MOST_RUNS && loss; i++)
		loss = run_pair(a, b);
	if (loss)
		complain(a, b, "objects (or pages, times 1000) lost each time", loss);
}

int check_pairs(const struct row *const *rows, int nr_rows, int nr_pairs, unsigned seed)
{
	int i;

	for (i = 0; i < nr_pairs; i++) {
		const struct row *a = rows[rand_r(&seed) % nr_rows];

		check_pair(a, rows[rand_r(&seed) % nr_rows]);
	}
	printf("%d pairs of %d calls: %d processes had to be killed; %d wrong\n", nr_pairs, nr_rows,
	       nr_killed, nr_wrong);
	return nr_wrong;
}
