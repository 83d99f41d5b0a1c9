/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * jobpool: a pool of jobs like that of make -j. Each slot forks a process that executes this
 * program anew as a job. A job computes in parts and waits a little for a device after each part;
 * after the job the slot starts the next. Prints how many jobs ended in the time.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/args.h"
#include "lib/clock.h"

#define JOB	 "--job"
#define LEAST	 10 /* the shortest part is that part of the longest */
#define MAX_POOL 10000

static int nr_slots = 5, nr_parts = 10, seed = 1;
static uint64_t run_ns = 5 * NS_PER_MS, io_ns = NS_PER_MS, work_ns = NS_PER_MS, wall_ns = NS_PER_S;

static const struct arg args[] = {
	{ 'n', "slots", ARG_INT, &nr_slots, "jobs at a time (default 5)", 1, MAX_POOL },
	{ 'p', "parts", ARG_INT, &nr_parts, "parts of a job (default 10)", 1, 1000 },
	{ 'r', "run", ARG_TIME, &run_ns,
	  "CPU time of a part: a tenth of this to all (default 5ms)" },
	{ 'i', "io", ARG_TIME, &io_ns, "sleep after it: a fifth of this to all (default 1ms)" },
	{ 'w', "work", ARG_TIME, &work_ns, "CPU time of the slot before each job (default 1ms)" },
	{ 't', "time", ARG_TIME, &wall_ns, "how long jobs are started (default 1s)" },
	{ 's', "seed", ARG_INT, &seed, "of the random times (default 1)", 0, 1000000000 },
	{ 0 },
};

static const struct program program = {
	"jobpool",
	"Run a pool of short jobs, each a process of its own, and count them.",
	NULL,
	args,
};

static uint64_t between(uint64_t *state, uint64_t least, uint64_t most)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return least + (*state >> 33) % (most - least + 1);
}

/* The program that a slot executes, with the numbers of start_job() as arguments. */
static int be_job(char **number)
{
	uint64_t state = strtoull(number[0], NULL, 10), parts = strtoull(number[1], NULL, 10);
	uint64_t run = strtoull(number[2], NULL, 10), io = strtoull(number[3], NULL, 10);

	while (parts--) {
		burn_ns(between(&state, run / LEAST, run));
		if (io)
			sleep_ns(between(&state, io / 5, io));
	}
	return 0;
}

static void start_job(uint64_t state)
{
	char text[4][24];

	snprintf(text[0], sizeof(text[0]), "%llu", (unsigned long long)state);
	snprintf(text[1], sizeof(text[1]), "%d", nr_parts);
	snprintf(text[2], sizeof(text[2]), "%llu", (unsigned long long)run_ns);
	snprintf(text[3], sizeof(text[3]), "%llu", (unsigned long long)io_ns);
	execl("/proc/self/exe", "job", JOB, text[0], text[1], text[2], text[3], (char *)NULL);
	_exit(127);
}

/* Jobs one after the other until @end_ns; returns how many ended well before it. */
static unsigned run_slot(uint64_t number, uint64_t end_ns)
{
	uint64_t state = ((uint64_t)seed << 32) + number;
	unsigned nr = 0;

	while (now_ns() < end_ns) {
		uint64_t job = between(&state, 0, UINT32_MAX);
		int status;
		pid_t pid;

		burn_ns(work_ns);
		pid = fork();
		if (pid < 0)
			die("fork");
		if (!pid)
			start_job(job);
		if (waitpid(pid, &status, 0) != pid || status)
			die("a job");
		nr += now_ns() <= end_ns;
	}
	return nr;
}

int main(int argc, char **argv)
{
	unsigned *ended, total = 0;
	uint64_t start_ns;

	if (argc == 6 && !strcmp(argv[1], JOB))
		return be_job(argv + 2);
	parse_args(&program, argc, argv);
	ended = mmap(NULL, MAX_POOL * sizeof(*ended), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (ended == MAP_FAILED)
		die("mmap");
	start_ns = now_ns();
	for (int i = 0; i < nr_slots; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (!pid) {
			ended[i] = run_slot((uint64_t)i, start_ns + wall_ns);
			_exit(0);
		}
	}
	for (int i = 0; i < nr_slots; i++) {
		int status;

		if (wait(&status) < 0 || status)
			die("a slot");
	}
	for (int i = 0; i < nr_slots; i++)
		total += ended[i];
	printf("%u jobs ended in %.1f ms\n", total, (double)wall_ns / 1e6);
	return 0;
}
