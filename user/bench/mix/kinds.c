/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kinds of processes in a mix, each of which does one thing until its end.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/args.h"
#include "lib/clock.h"
#include "bench/mix/part.h"

static bool over(const struct member *m)
{
	return now_ns() >= m->end_ns;
}

/*
 * Let @us microseconds pass, of 1000 instructions each. An emulator is done with a row of nops at
 * once, so a second of a mix costs little time on its host. The pause ends a virtual CPU's turn.
 */
static void pass(unsigned us)
{
	for (us *= 10; us; us--)
		__asm__ volatile(".rept 98; nop; .endr");
	__builtin_ia32_pause();
}

/* Use @ns of CPU time, to within @us microseconds: the time is read as often. */
static void use_about(uint64_t ns, unsigned us)
{
	uint64_t end_ns = thread_cpu_ns() + ns;

	while (ns && thread_cpu_ns() < end_ns)
		pass(us);
}

static void use(uint64_t ns)
{
	use_about(ns, 1);
}

/* No system call: the kernel sees this one at ticks, and when others wake. */
static void be_hog(const struct part *p, struct member *m)
{
	(void)p;
	while (!over(m))
		pass(10);
}

/* Reads its own CPU time all the while, and so brings its account up to date. */
static void be_reader(const struct part *p, struct member *m)
{
	(void)p;
	while (!over(m)) {
		pass(1);
		thread_cpu_ns();
	}
}

static void be_burst(const struct part *p, struct member *m)
{
	while (!over(m)) {
		uint64_t planned_ns = now_ns() + p->sleep_ns;

		sleep_until_ns(planned_ns);
		hist_add(&m->late, now_ns() - planned_ns);
		use(p->run_ns);
		hist_add(&m->response, now_ns() - planned_ns);
		m->done++;
	}
}

static void be_yielder(const struct part *p, struct member *m)
{
	while (!over(m)) {
		use(p->run_ns);
		sched_yield();
		m->done++;
	}
}

/* A child that runs for a while and ends; its parent waits for it. */
static void be_forker(const struct part *p, struct member *m)
{
	while (!over(m)) {
		pid_t pid;

		use(p->own_ns);
		pid = fork();
		if (pid < 0)
			die("fork");
		if (!pid) {
			use(p->run_ns);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		m->done++;
	}
}

static void be_execer(const struct part *p, struct member *m)
{
	(void)p;
	while (!over(m)) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (!pid) {
			execl("/bin/true", "true", NULL);
			_exit(127);
		}
		waitpid(pid, NULL, 0);
		m->done++;
	}
}

/* Of each pair, the even one asks and the odd one answers; a byte of 0 is the last. */
static void be_pair(const struct part *p, struct member *m)
{
	const int(*pipes)[2] = p->pipe[m->index / 2];
	bool asks = m->index % 2 == 0;
	char byte = 1;

	while (byte) {
		if (asks)
			byte = !over(m);
		if ((asks && write(pipes[0][1], &byte, 1) != 1) ||
		    read(pipes[!!asks][0], &byte, 1) != 1)
			die("pipe");
		use(p->run_ns);
		if (!asks && write(pipes[1][1], &byte, 1) != 1)
			die("pipe");
		m->done += asks;
	}
}

static void be_changer(const struct part *p, struct member *m)
{
	while (!over(m)) {
		use_about(p->run_ns, 10);
		make_change(&p->change, m->done++);
	}
}

static const struct kind kinds[] = {
	{ "hog", be_hog, 1, NULL },
	{ "reader", be_reader, 1, NULL },
	{ "burst", be_burst, 1, "bursts", .late = true },
	{ "yield", be_yielder, 1, "yields" },
	{ "fork", be_forker, 1, "forks" },
	{ "exec", be_execer, 1, "execs" },
	{ "pair", be_pair, 2, "rounds" },
	{ "change", be_changer, 1, "changes", .changes = true },
};

const struct kind *find_kind(const char *name)
{
	unsigned i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}
