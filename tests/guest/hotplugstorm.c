/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUs go out of service and come back, over and over, while hogs, sleepers, forks and changes of
 * affinity go on; with -s the fair policy is swapped as well.
 *
 * Every task counts its steps in shared memory and notes how long the longest took. In the end all
 * CPUs are back, and each task must still be counting: no task is lost. No task ever finds itself
 * on a CPU that is out of service all the while it looks, and none stands still for STALL_NS.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/args.h"
#include "lib/clock.h"

#define STALL_NS NS_PER_S /* all tasks on the one CPU that is left wait a tenth of it */

enum { NR_KINDS = 4, NR_OF_KIND = 6, NR_TASKS = NR_KINDS * NR_OF_KIND };

static struct shared {
	volatile unsigned long count[NR_TASKS];
	volatile uint64_t longest_ns[NR_TASKS]; /* from one count to the next */
	volatile unsigned long strays;
	/* Odd: out of service; it changes before the CPU leaves and after it is back. */
	volatile unsigned long turns[MAX_CPUS];
	volatile bool out[MAX_CPUS]; /* it has left, and has not been called back */
} * shared;

static int nr_cpus, nr_changes, seed = 1;
static uint64_t run_ns, longest_change_ns;
static bool swaps;
static unsigned long random_state;

static const struct arg args[] = {
	{ 'n', "changes", ARG_INT, &nr_changes,
	  "CPUs that leave or come, 2 are a cycle (default 200; with -t: no limit)", 1, 1000000 },
	{ 't', "time", ARG_TIME, &run_ns, "how long (default: until all changes are made)" },
	{ 'r', "seed", ARG_INT, &seed, "of everything random (default 1)", 0, 1000000000 },
	{ 's', "swap", ARG_FLAG, &swaps, "swap the fair policy at every 16th change too" },
	{ 0 },
};

static const struct program program = {
	"hotplugstorm",
	"Take CPUs out of service and back under load and check that no task is lost or stands "
	"still.",
	NULL,
	args,
};

static unsigned long draw(unsigned long below)
{
	random_state = random_state * 6364136223846793005ul + 1442695040888963407ul;
	return (random_state >> 33) % below;
}

/*
 * Note an error if this task's CPU was out of service before and after the look, and not back in
 * between.
 */
static void look(void)
{
	int cpu = sched_getcpu();
	unsigned long turn;

	if (cpu < 0 || cpu >= MAX_CPUS)
		return;
	turn = shared->turns[cpu];
	if (shared->out[cpu] && sched_getcpu() == cpu && shared->out[cpu] &&
	    shared->turns[cpu] == turn)
		__atomic_fetch_add(&shared->strays, 1, __ATOMIC_RELAXED);
}

static void change_affinity(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int cpu = 0; cpu < nr_cpus; cpu++)
		if (draw(2))
			CPU_SET(cpu, &set);
	/* EINVAL if none of them is in service. */
	sched_setaffinity(0, sizeof(set), &set);
}

static void fork_and_wait(void)
{
	pid_t child = fork();

	if (!child)
		_exit(0);
	if (child > 0)
		waitpid(child, NULL, 0);
}

static void note_longest(volatile uint64_t *longest_ns, uint64_t since_ns)
{
	uint64_t took_ns = now_ns() - since_ns;

	if (took_ns > *longest_ns)
		*longest_ns = took_ns;
}

static void work(unsigned task)
{
	random_state += task;
	for (;;) {
		uint64_t start_ns = now_ns();

		switch (task % NR_KINDS) {
		case 0:
			for (volatile int i = 0; i < 20000; i++)
				;
			break;
		case 1:
			sleep_ns(100000 + draw(400000));
			break;
		case 2:
			fork_and_wait();
			break;
		default:
			change_affinity();
			sleep_ns(200000);
		}
		look();
		note_longest(&shared->longest_ns[task], start_ns);
		shared->count[task]++;
	}
}

/* 0, or errno. */
static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), err = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		err = errno;
	close(fd);
	return err;
}

static int set_cpu(int cpu, bool online)
{
	uint64_t start_ns = now_ns();
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	if (online) {
		shared->out[cpu] = false;
		shared->turns[cpu]++;
	}
	err = write_text(path, online ? "1" : "0");
	note_longest(&longest_change_ns, start_ns);
	if (!online && !err)
		shared->out[cpu] = true;
	return err;
}

static void swap_policy(void)
{
	static const char *const names[] = { "cfs", "eevdf", "bore", "bore-cfs" };

	write_text("/sys/kernel/debug/sched/fair_class", names[draw(4)]);
}

/* The number of tasks that have not counted on after 2 s. */
static unsigned count_lost(void)
{
	unsigned long before[NR_TASKS];
	unsigned lost = 0;

	for (unsigned i = 0; i < NR_TASKS; i++)
		before[i] = shared->count[i];
	sleep_ns(2 * NS_PER_S);
	for (unsigned i = 0; i < NR_TASKS; i++)
		lost += shared->count[i] == before[i];
	return lost;
}

/* Returns how many changes failed; @made: how many there were. */
static unsigned storm(int *made)
{
	uint64_t end_ns = run_ns ? now_ns() + run_ns : UINT64_MAX;
	int limit = nr_changes ? nr_changes : run_ns ? INT_MAX : 200;
	unsigned failed = 0;

	for (*made = 0; *made < limit && now_ns() < end_ns; ++*made) {
		int cpu = 1 + (int)draw((unsigned long)nr_cpus - 1);

		failed += set_cpu(cpu, shared->out[cpu]) != 0;
		if (swaps && *made % 16 == 0)
			swap_policy();
	}
	for (int cpu = 1; cpu < nr_cpus; cpu++)
		failed += shared->out[cpu] && set_cpu(cpu, true) != 0;
	return failed;
}

static int verdict(const char *what, bool good)
{
	printf("  %s %s\n", good ? "ok  " : "FAIL", what);
	return !good;
}

static uint64_t longest_stall(void)
{
	uint64_t longest_ns = 0;

	for (unsigned i = 0; i < NR_TASKS; i++)
		if (shared->longest_ns[i] > longest_ns)
			longest_ns = shared->longest_ns[i];
	return longest_ns;
}

static int judge(unsigned failed, int made)
{
	uint64_t stall_ns = longest_stall();
	unsigned lost = count_lost();
	int bad = 0;

	printf("%d changes on %d CPUs under %d tasks: longest change %.3f ms, longest stall of a "
	       "task %.3f ms, tasks lost %u\n",
	       made, nr_cpus, NR_TASKS, (double)longest_change_ns / NS_PER_MS,
	       (double)stall_ns / NS_PER_MS, lost);
	bad += verdict("every CPU left or came when it was told to", !failed);
	bad += verdict("all CPUs are back", sysconf(_SC_NPROCESSORS_ONLN) == nr_cpus);
	bad += verdict("no task ran on a CPU out of service", !shared->strays);
	bad += verdict("no task stood still for a second", stall_ns < STALL_NS);
	bad += verdict("every task goes on", !lost);
	return bad;
}

int main(int argc, char **argv)
{
	pid_t pids[NR_TASKS];
	unsigned failed;
	int made, bad;

	parse_args(&program, argc, argv);
	random_state = (unsigned long)seed;
	nr_cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	if (nr_cpus < 2 || nr_cpus > MAX_CPUS)
		usage_error(&program, "needs 2 to %d CPUs in service", MAX_CPUS);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		die("mmap");
	for (unsigned i = 0; i < NR_TASKS; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			die("fork");
		if (!pids[i])
			work(i);
	}
	failed = storm(&made);
	bad = judge(failed, made);
	for (unsigned i = 0; i < NR_TASKS; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	return bad != 0;
}
