/*
 * CPUs go out of service and come back, over and over, while hogs, sleepers, forks and changes of
 * affinity go on: hotplugstorm [-n CYCLES] [-r SEED] [-s]. -s also swaps the fair policy.
 *
 * Every task counts what it does in shared memory. In the end all CPUs are back, and each task must
 * go on counting: none is lost. No task ever finds itself on a CPU that is out of service all the
 * while it looks.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_CPUS = 256, NR_KINDS = 4, NR_OF_KIND = 6, NR_TASKS = NR_KINDS * NR_OF_KIND };

static struct shared {
	volatile unsigned long count[NR_TASKS];
	volatile unsigned long strays;
	/* Odd: out of service; it changes before the CPU leaves and after it is back. */
	volatile unsigned long turns[MAX_CPUS];
	volatile bool out[MAX_CPUS]; /* it has left, and has not been called back */
} * shared;

static int nr_cpus;
static unsigned long seed = 1;

static unsigned long draw(unsigned long below)
{
	seed = seed * 6364136223846793005ul + 1442695040888963407ul;
	return (seed >> 33) % below;
}

/* Out of service before and after we looked where we are, and in between not back. */
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

static void nap(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
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

static void work(unsigned task)
{
	seed += task;
	for (;;) {
		switch (task % NR_KINDS) {
		case 0:
			for (volatile int i = 0; i < 20000; i++)
				;
			break;
		case 1:
			nap(100000 + (long)draw(400000));
			break;
		case 2:
			fork_and_wait();
			break;
		default:
			change_affinity();
			nap(200000);
		}
		look();
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
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	if (online) {
		shared->out[cpu] = false;
		shared->turns[cpu]++;
	}
	err = write_text(path, online ? "1" : "0");
	if (!online && !err)
		shared->out[cpu] = true;
	return err;
}

static void swap_policy(void)
{
	static const char *const names[] = { "cfs", "eevdf", "bore", "bore-cfs" };

	write_text("/sys/kernel/debug/sched/fair_class", names[draw(4)]);
}

/* How many tasks do not count on within 2 s. */
static unsigned count_lost(void)
{
	unsigned long before[NR_TASKS];
	unsigned lost = 0;

	for (unsigned i = 0; i < NR_TASKS; i++)
		before[i] = shared->count[i];
	sleep(2);
	for (unsigned i = 0; i < NR_TASKS; i++)
		lost += shared->count[i] == before[i];
	return lost;
}

static unsigned long storm(unsigned long cycles, bool swaps)
{
	unsigned long failed = 0;

	for (unsigned long n = 0; n < cycles; n++) {
		int cpu = 1 + (int)draw((unsigned long)nr_cpus - 1);

		failed += set_cpu(cpu, shared->out[cpu]) != 0;
		if (swaps && n % 16 == 0)
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

int main(int argc, char **argv)
{
	unsigned long cycles = 200, failed;
	pid_t pids[NR_TASKS];
	bool swaps = false;
	int option, bad = 0;

	while ((option = getopt(argc, argv, "n:r:s")) != -1) {
		if (option == 'n')
			cycles = strtoul(optarg, NULL, 10);
		else if (option == 'r')
			seed = strtoul(optarg, NULL, 10);
		else if (option == 's')
			swaps = true;
		else
			return 2;
	}
	nr_cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	if (nr_cpus < 2 || nr_cpus > MAX_CPUS) {
		fprintf(stderr, "hotplugstorm: needs 2 to %d CPUs in service\n", MAX_CPUS);
		return 2;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return perror("hotplugstorm"), 2;
	for (unsigned i = 0; i < NR_TASKS; i++)
		if (!(pids[i] = fork()))
			work(i);
	failed = storm(cycles, swaps);
	bad += verdict("every CPU left or came when it was told to", !failed);
	bad += verdict("all CPUs are back", sysconf(_SC_NPROCESSORS_ONLN) == nr_cpus);
	bad += verdict("no task ran on a CPU out of service", !shared->strays);
	bad += verdict("every task goes on", !count_lost());
	for (unsigned i = 0; i < NR_TASKS; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	printf("%lu changes on %d CPUs, %d tasks, seed given by -r\n", cycles, nr_cpus, NR_TASKS);
	return bad != 0;
}
