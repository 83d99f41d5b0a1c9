/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * duel: two tasks with the same work on one CPU. One only computes; the other gives the CPU up
 * after each round of its work: it yields, sleeps, or waits for a device. Prints when each task was
 * done. The rounds are on-CPU time, so a task that finishes first was given more of the CPU.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/args.h"
#include "lib/clock.h"
#include "lib/table.h"
#include "lib/team.h"

static uint64_t round_ns = 100 * NS_PER_MS, sleep_time_ns = NS_PER_US, io_ns = 10 * NS_PER_MS;
static int nr_rounds = 4;
static struct cpu_set cpus;

static const struct arg args[] = {
	{ 'r', "round", ARG_TIME, &round_ns, "CPU time of a round (default 100ms)" },
	{ 'n', "rounds", ARG_INT, &nr_rounds, "rounds of each task (default 4)", 1, 1000000 },
	{ 's', "sleep", ARG_TIME, &sleep_time_ns, "how long sleep sleeps (default 1us)" },
	{ 'i', "io", ARG_TIME, &io_ns, "how long the device of io takes (default 10ms)" },
	{ 'a', "affinity", ARG_CPUS, &cpus, "the CPU that both share (default: the first one)" },
	{ 0 },
};

static const struct program program = {
	"duel",
	"Let a task that computes share a CPU with one that also yields, sleeps or waits for I/O.",
	"compute|yield|sleep|io",
	args,
};

/* The device: a process that answers each byte after io_ns. It uses no CPU to speak of. */
static int request[2], reply[2];

static void compute(void)
{
}

static void yield(void)
{
	sched_yield();
}

static void rest(void)
{
	sleep_ns(sleep_time_ns);
}

static void wait_for_io(void)
{
	char byte = 0;

	if (write(request[1], &byte, 1) != 1 || read(reply[0], &byte, 1) != 1)
		die("the device");
}

struct duellist {
	const char *name;
	void (*after_round)(void);
};

struct finish {
	uint64_t cpu_ns, after_ns; /* after the common start */
};

static const struct duellist kinds[] = {
	{ "compute", compute },
	{ "yield", yield },
	{ "sleep", rest },
	{ "io", wait_for_io },
};

static void set_up(int member, const void *arg)
{
	const struct duellist *const *pair = arg;

	prctl(PR_SET_NAME, pair[member]->name);
	if (set_cpus(0, &cpus))
		die("setting the affinity");
}

static void fight(int member, uint64_t start_ns, const void *arg, void *result)
{
	const struct duellist *const *pair = arg;
	struct finish *finish = result;

	for (int i = 0; i < nr_rounds; i++) {
		burn_ns(round_ns);
		pair[member]->after_round();
	}
	*finish = (struct finish){ thread_cpu_ns(), now_ns() - start_ns };
}

static pid_t start_device(void)
{
	pid_t pid;
	char byte;

	if (pipe(request) || pipe(reply))
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid)
		return pid;
	prctl(PR_SET_NAME, "device");
	while (read(request[0], &byte, 1) == 1) {
		sleep_ns(io_ns);
		if (write(reply[1], &byte, 1) != 1)
			die("the device");
	}
	_exit(0);
}

static const struct duellist *partner(const char *name)
{
	for (size_t i = 0; name && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	usage_error(&program, name ? "'%s' is no partner" : "no partner is named", name);
}

static void print_results(const struct duellist *const *pair, const struct finish *finish)
{
	struct table t;

	table_begin(&t, "task|CPU ms|done after ms");
	for (int i = 0; i < 2; i++) {
		table_cell(&t, "%s", pair[i]->name);
		table_cell(&t, "%.1f", finish[i].cpu_ns / 1e6);
		table_cell(&t, "%.1f", finish[i].after_ns / 1e6);
	}
	table_end(&t);
}

int main(int argc, char **argv)
{
	int first = parse_args(&program, argc, argv);
	const struct duellist *const pair[2] = { &kinds[0], partner(argv[first]) };
	struct team_job job = { set_up, fight, pair, sizeof(struct finish) };
	struct finish finish[2];
	pid_t device;

	if (argv[first + 1])
		usage_error(&program, "one partner is enough");
	if (!cpu_count(&cpus))
		cpu_add(&cpus, 0);
	if (cpu_count(&cpus) != 1)
		usage_error(&program, "a duel takes place on one CPU");
	device = start_device();
	if (run_team(2, &job, finish)) {
		fprintf(stderr, "duel: a task could not run\n");
		kill(device, SIGKILL);
		return 1;
	}
	kill(device, SIGKILL);
	waitpid(device, NULL, 0);
	printf("%d rounds of %.3f ms on CPU %d\n", nr_rounds, round_ns / 1e6, cpu_nth(&cpus, 0));
	print_results(pair, finish);
	return 0;
}
