/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The storm of swapstorm. Each CPU has two hogs and two sleepers; each pair of CPUs a forker, whose
 * children compute and end, half of them after exec, and a mover, which hops from CPU to CPU and
 * from policy to policy. One task changes the nice values of the hogs. Nobody is pinned for long.
 *
 * A task's wait is measured by itself: a hog's is what passes on the wall but not on its own clock,
 * a sleeper's how late it wakes, a new task's the time from before fork to its first instruction.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/args.h"
#include "swapstorm/storm.h"

#define MAX_TASKS 512

enum { HOG, SLEEPER, NEW, NR_WAITS };

/* Seen by every task of the storm; those that become the program anew map it again by its file. */
static struct shared {
	uint64_t longest_ns[NR_WAITS];
	int started, reported;
	int stop;
	int hogs[MAX_TASKS];
	int nr_hogs;
} * shared;

static int shared_fd;
static pid_t tasks[MAX_TASKS];
static int nr_tasks, nr_cpus;
static struct cpu_set all_cpus;
static uint64_t random_state, start_ns, start_run_ns, start_idle_ns;

/* --- chance ------------------------------------------------------------------- */

int storm_random(int bound)
{
	/* xorshift64* */
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (int)((random_state * UINT64_C(2685821657736338717) >> 33) % (uint64_t)bound);
}

static void seed_random(uint64_t seed)
{
	random_state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

void storm_pause(int us)
{
	sleep_ns((uint64_t)storm_random(us) * NS_PER_US);
}

/* --- what is measured ------------------------------------------------------------ */

static void note_wait(int kind, uint64_t ns)
{
	uint64_t longest = __atomic_load_n(&shared->longest_ns[kind], __ATOMIC_RELAXED);

	while (ns > longest &&
	       !__atomic_compare_exchange_n(&shared->longest_ns[kind], &longest, ns, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void count(int *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static bool stopping(void)
{
	return __atomic_load_n(&shared->stop, __ATOMIC_RELAXED);
}

/* CPU time that all CPUs together ran tasks, from /proc/schedstat. */
static uint64_t read_run_ns(void)
{
	FILE *f = fopen("/proc/schedstat", "r");
	unsigned long long run, sum = 0;
	char line[512];

	if (!f)
		die("/proc/schedstat");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "cpu%*d %*u %*u %*u %*u %*u %*u %llu", &run) == 1)
			sum += run;
	fclose(f);
	return sum;
}

/* Idle time of all CPUs together, from /proc/stat. */
static uint64_t read_idle_ns(void)
{
	FILE *f = fopen("/proc/stat", "r");
	unsigned long long idle = 0;

	if (!f || fscanf(f, "cpu %*u %*u %*u %llu", &idle) != 1)
		die("/proc/stat");
	fclose(f);
	return idle * STORM_IDLE_UNIT_NS;
}

static uint64_t timeval_ns(const struct timeval *tv)
{
	return tv->tv_sec * NS_PER_S + tv->tv_usec * NS_PER_US;
}

/* CPU time of this process and all its descendants that ended. */
static uint64_t used_ns(void)
{
	struct rusage r;
	uint64_t sum = 0;

	for (int who = RUSAGE_CHILDREN; who <= RUSAGE_SELF; who++) {
		if (getrusage(who, &r))
			die("getrusage");
		sum += timeval_ns(&r.ru_utime) + timeval_ns(&r.ru_stime);
	}
	return sum;
}

/* --- the tasks --------------------------------------------------------------------- */

static void hog(void)
{
	uint64_t now = now_ns(), cpu = thread_cpu_ns();

	while (!stopping()) {
		uint64_t last_now = now, last_cpu = cpu;

		for (int i = 0; i < 5; i++)
			spin();
		now = now_ns();
		cpu = thread_cpu_ns();
		if (now - last_now > cpu - last_cpu)
			note_wait(HOG, now - last_now - (cpu - last_cpu));
	}
}

static void sleeper(void)
{
	while (!stopping()) {
		uint64_t planned_ns = now_ns() + (uint64_t)storm_random(2000) * NS_PER_US;

		sleep_until_ns(planned_ns);
		note_wait(SLEEPER, now_ns() - planned_ns);
		burn_ns((uint64_t)storm_random(50) * NS_PER_US);
	}
}

static void map_shared(int fd)
{
	shared_fd = fd;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		die("memory of the storm");
}

int storm_child(const char *fd, const char *born)
{
	uint64_t waited = now_ns() - strtoull(born, NULL, 10);

	map_shared(atoi(fd));
	note_wait(NEW, waited);
	return 0;
}

static _Noreturn void become_child(uint64_t born_ns)
{
	char born[24], fd[12];

	note_wait(NEW, now_ns() - born_ns);
	seed_random(random_state ^ born_ns);
	burn_ns((uint64_t)storm_random(300) * NS_PER_US);
	if (storm_random(2))
		_exit(0);
	snprintf(born, sizeof(born), "%llu", (unsigned long long)now_ns());
	snprintf(fd, sizeof(fd), "%d", shared_fd);
	execl("/proc/self/exe", "swapstorm", STORM_CHILD, fd, born, (char *)NULL);
	_exit(1);
}

static void forker(void)
{
	int status;

	while (!stopping()) {
		uint64_t born_ns = now_ns();
		pid_t pid = fork();

		if (pid < 0)
			continue;
		if (!pid)
			become_child(born_ns);
		count(&shared->started);
		if (waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status))
			count(&shared->reported);
		storm_pause(1000);
	}
}

static void mover(void)
{
	const struct policy other = { SCHED_OTHER, 0 };

	while (!stopping()) {
		const struct policy choice[] = { { SCHED_FIFO, 1 + storm_random(50) },
						 { SCHED_RR, 1 + storm_random(50) },
						 { SCHED_BATCH, 0 } };
		struct cpu_set one = { 0 };

		cpu_add(&one, cpu_nth(&all_cpus, storm_random(nr_cpus)));
		if (set_cpus(0, &one) || set_policy(0, &choice[storm_random(3)]))
			die("moving");
		burn_ns((uint64_t)storm_random(100) * NS_PER_US);
		if (storm_random(2))
			storm_pause(300);
		if (set_policy(0, &other) || set_cpus(0, &all_cpus))
			die("moving back");
		storm_pause(1000);
	}
}

/* Weights from 1024 * 1.25 to 1024 / 1.25: more would let the light ones wait by right. */
static void nicer(void)
{
	while (!stopping()) {
		set_nice(shared->hogs[storm_random(shared->nr_hogs)], storm_random(3) - 1);
		storm_pause(500);
	}
}

/* --- beginning and end ---------------------------------------------------------------- */

static pid_t start(void (*body)(void), const char *name)
{
	pid_t pid;

	if (nr_tasks == MAX_TASKS)
		return -1;
	pid = fork();
	if (pid < 0)
		die("starting the storm");
	if (!pid) {
		prctl(PR_SET_NAME, name);
		seed_random(random_state + (uint64_t)nr_tasks);
		body();
		_exit(0);
	}
	shared->started++;
	tasks[nr_tasks++] = pid;
	return pid;
}

static void begin_to_measure(void)
{
	start_run_ns = read_run_ns() - used_ns();
	start_idle_ns = read_idle_ns();
	start_ns = now_ns();
}

void storm_begin(int seed)
{
	char path[] = "/tmp/swapstorm-XXXXXX";
	int fd = mkstemp(path);

	if (fd < 0 || unlink(path) || ftruncate(fd, sizeof(*shared)) || get_cpus(0, &all_cpus))
		die("storm");
	map_shared(fd);
	nr_cpus = cpu_count(&all_cpus);
	seed_random((uint64_t)seed);
	fflush(stdout);
	nr_tasks = 0;
	if (!start_ns)
		begin_to_measure();
	for (int i = 0; i < 2 * nr_cpus && i < MAX_TASKS; i++)
		shared->hogs[shared->nr_hogs++] = start(hog, "hog");
	for (int i = 0; i < 2 * nr_cpus; i++)
		start(sleeper, "sleeper");
	for (int i = 0; i < (nr_cpus + 1) / 2; i++) {
		start(forker, "forker");
		start(mover, "mover");
	}
	start(nicer, "nicer");
}

void storm_end(struct storm_result *r)
{
	int status;

	__atomic_store_n(&shared->stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < nr_tasks; i++)
		if (waitpid(tasks[i], &status, 0) == tasks[i] && WIFEXITED(status) &&
		    !WEXITSTATUS(status))
			shared->reported++;
	*r = (struct storm_result){
		.started = shared->started,
		.reported = shared->reported,
		.hog_wait_ns = shared->longest_ns[HOG],
		.sleeper_wait_ns = shared->longest_ns[SLEEPER],
		.new_wait_ns = shared->longest_ns[NEW],
		.elapsed_ns = (now_ns() - start_ns) * (uint64_t)nr_cpus,
		.idle_ns = read_idle_ns() - start_idle_ns,
		.run_ns = read_run_ns() - start_run_ns,
		.used_ns = used_ns(),
	};
	munmap(shared, sizeof(*shared));
	close(shared_fd);
}
