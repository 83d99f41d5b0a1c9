/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench: the price list of the kernel. Each line is `name value unit`; a value of "-" means that
 * the kernel under test cannot do it, with the reason on stderr. Under -icount with shift=0 a
 * nanosecond is an instruction, so the figures are exact and the same in every run.
 *
 * Everything runs on the first allowed CPU (names ending in _2cpu: on the first two). A figure is
 * the mean of a batch; the median of five batches is printed, which drops one that a timer tick or
 * a host hiccup spoiled.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/args.h"
#include "lib/clock.h"
#include "lib/hist.h"
#include "lib/pingpong.h"
#include "lib/threads.h"

#define BATCHES 5
#define ROUNDS	3000 /* round trips in a batch */

struct benchmark {
	const char *name;
	/* The measurement: ns, or a negative number with errno set if it is not possible here. */
	double (*run)(const struct benchmark *b);
	void (*call)(void); /* run_calls: what is timed */
	int nr;		    /* run_calls: calls in a batch; run_pick: threads */
	double (*round_trip)(int nr, int a, int b);
	bool two_cpus;
	int depth; /* run_at_depth: of nested control groups */
};

static int cpu_a, cpu_b = -1; /* -1: there is only one */
static struct cpu_set allowed;

static const struct arg args[] = { { 0 } };
static const struct program program = {
	"bench",
	"Measure what kernel operations cost. Prints lines `name value unit`.",
	"[NAME...]",
	args,
};

/* --- median of batches --------------------------------------------- */

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *value, int nr)
{
	qsort(value, nr, sizeof(*value), compare_doubles);
	return value[nr / 2];
}

/* Median over batches of the mean time of one call, after one batch to warm up. */
static double run_calls(const struct benchmark *bench)
{
	double batch[BATCHES + 1];
	int b, i;

	for (b = 0; b <= BATCHES; b++) {
		uint64_t start_ns = now_ns();

		for (i = 0; i < bench->nr; i++)
			bench->call();
		batch[b] = (double)(now_ns() - start_ns) / bench->nr;
	}
	return median(batch + 1, BATCHES);
}

static double run_round_trips(const struct benchmark *bench)
{
	int b = bench->two_cpus ? cpu_b : cpu_a, i;
	double batch[BATCHES];

	errno = ENODEV;
	if (b < 0)
		return -1;
	for (i = 0; i < BATCHES; i++)
		batch[i] = bench->round_trip(ROUNDS, cpu_a, b);
	return median(batch, BATCHES);
}

/* --- system calls -------------------------------------------------- */

static void null_syscall(void)
{
	syscall(SYS_getppid);
}

static void libc_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
}

static void syscall_clock(void)
{
	struct timespec ts;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
}

static void read_zero(void)
{
	static int fd = -1;
	char byte;

	if (fd < 0)
		fd = open("/dev/zero", O_RDONLY);
	if (read(fd, &byte, 1) != 1)
		die("/dev/zero");
}

static void yield(void)
{
	syscall(SYS_sched_yield);
}

/* --- making threads and processes ---------------------------------- */

static void *return_at_once(void *arg)
{
	return arg;
}

static void create_and_join(void)
{
	pthread_t thread;

	start_thread(&thread, NULL, return_at_once, NULL);
	pthread_join(thread, NULL);
}

static void wait_for(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || status)
		die("child");
}

static void fork_and_wait(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	if (pid < 0)
		die("fork");
	wait_for(pid);
}

/* Start a process that executes this program again; with that argument it exits at once. */
static void spawn_and_wait(void)
{
	char *argv[] = { (char[]){ "bench" }, (char[]){ "--exit" }, NULL };
	char *env[] = { NULL };
	pid_t pid;

	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, env))
		die("spawn");
	wait_for(pid);
}

/* --- lateness of a sleep ------------------------------------------------ */

/* Median of 100 sleeps of 1 ms. */
static double run_sleep(const struct benchmark *b)
{
	const struct timespec ms = { 0, NS_PER_MS };
	static struct hist late;
	uint64_t start_ns;
	int i;

	(void)b;
	hist_clear(&late);
	for (i = 0; i < 100; i++) {
		start_ns = now_ns();
		nanosleep(&ms, NULL);
		hist_add(&late, now_ns() - start_ns - NS_PER_MS);
	}
	return hist_percentile(&late, 50);
}

static double run_sleep_exact(const struct benchmark *b)
{
	double ns;

	if (prctl(PR_SET_TIMERSLACK, 1))
		return -1;
	ns = run_sleep(b);
	prctl(PR_SET_TIMERSLACK, 0); /* back to the default */
	return ns;
}

static double run_sleep_fifo(const struct benchmark *b)
{
	double ns;

	if (set_policy(0, &(struct policy){ SCHED_FIFO, 80 }))
		return -1;
	ns = run_sleep(b);
	set_policy(0, &(struct policy){ SCHED_OTHER, 0 });
	return ns;
}

/* --- picking the next of many runnable threads: they do nothing but yield -- */

#define PICK_YIELDS 20000

static _Atomic uint32_t pick_gate;
static _Atomic unsigned pick_yields, pick_warm, pick_end;
static uint64_t pick_start_ns, pick_end_ns;

/* The yield that ends the warm-up and the last yield note the time, whichever thread makes them. */
static void count_yield(void)
{
	unsigned n = pick_yields++;

	if (n == pick_warm)
		pick_start_ns = now_ns();
	if (n == pick_end)
		pick_end_ns = now_ns();
}

static void *yield_thread(void *arg)
{
	while (!pick_gate)
		futex_wait((uint32_t *)&pick_gate, 0);
	while (pick_yields <= pick_end) {
		count_yield();
		yield();
	}
	return arg;
}

/* ns for one yield, which is one switch, with @b->nr threads runnable. */
static double run_pick(const struct benchmark *b)
{
	pthread_t *threads = calloc(b->nr, sizeof(*threads));
	int nr = b->nr, made, error, i;

	if (!threads)
		return -1;
	pick_gate = 0;
	pick_yields = 0;
	pick_warm = 2 * nr;
	pick_end = pick_warm + PICK_YIELDS;
	made = start_many_threads(threads, nr, yield_thread);
	error = errno;
	if (made < nr)
		pick_end = 0;
	pick_gate = 1;
	futex_wake((uint32_t *)&pick_gate, nr);
	for (i = 0; i < made; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	errno = error;
	return made < nr ? -1 : (double)(pick_end_ns - pick_start_ns) / PICK_YIELDS;
}

/* --- in control groups ------------------------------------------------------ */

#define GROUPS	  "/tmp/bench-groups" /* version 1, mounted here meanwhile */
#define MAX_DEPTH 5

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

static const char *group_file(int depth, const char *file)
{
	static char path[64 + 6 * MAX_DEPTH];
	int len = sprintf(path, GROUPS);

	while (depth--)
		len += sprintf(path + len, "/bench");
	sprintf(path + len, "%s", file);
	return path;
}

static bool make_groups(int depth)
{
	bool made;
	int d;

	mkdir(GROUPS, 0755);
	made = !mount("none", GROUPS, "cgroup", 0, "cpu");
	for (d = 1; made && d <= depth; d++)
		made = !mkdir(group_file(d, ""), 0755);
	return made;
}

/* Remove what could be made; keeps errno. On Linux a joined thread keeps its group for a moment. */
static void remove_groups(int depth)
{
	int error = errno, tries = 100;

	write_text(group_file(0, "/cgroup.procs"), "0");
	while (depth) {
		if (rmdir(group_file(depth, "")) && errno == EBUSY && tries--)
			nanosleep(&(struct timespec){ 0, NS_PER_MS }, NULL);
		else
			depth--;
	}
	umount(GROUPS);
	errno = error;
}

/* Two threads that yield, or wake each other, inside nested groups. */
static double run_at_depth(const struct benchmark *b)
{
	double ns = -1;

	if (make_groups(b->depth) && write_text(group_file(b->depth, "/cgroup.procs"), "0"))
		ns = b->round_trip ? run_round_trips(b) : run_pick(b);
	remove_groups(b->depth);
	return ns;
}

static int move_fd[2];

static void move_to_and_fro(void)
{
	static unsigned nr;

	if (write(move_fd[nr++ % 2], "0", 1) != 1)
		die("cgroup.procs");
}

/* This process moves itself between the root and a group. */
static double run_move(const struct benchmark *b)
{
	double ns = -1;

	if (make_groups(1)) {
		move_fd[0] = open(group_file(1, "/cgroup.procs"), O_WRONLY);
		move_fd[1] = open(group_file(0, "/cgroup.procs"), O_WRONLY);
		ns = run_calls(b);
		close(move_fd[0]);
		close(move_fd[1]);
	}
	remove_groups(1);
	return ns;
}

/* --- lateness of a group's deadline ------------------------------------------- */

#define FAIR_CLASS  "/sys/kernel/debug/sched/fair_class"
#define DEADLINE_NS 1500000u /* twice that, a turn of both, is no multiple of a tick */
#define NR_GAPS	    100

/* The name of the fair policy in use: the one in brackets. NULL: there is no such file. */
static const char *fair_class(void)
{
	static char line[128];
	FILE *f = fopen(FAIR_CLASS, "r");
	char *name = f && fgets(line, sizeof(line), f) ? strchr(line, '[') : NULL;

	if (f)
		fclose(f);
	return name ? strtok(name + 1, "]") : NULL;
}

static _Atomic bool hogging;

static void *hog_thread(void *arg)
{
	while (hogging)
		;
	return arg;
}

/* The median of how late this thread goes on after having been kept waiting for @due_ns. */
static double median_lateness_ns(uint64_t due_ns)
{
	static struct hist late;
	uint64_t last_ns = now_ns();

	hist_clear(&late);
	while (late.nr < NR_GAPS) {
		uint64_t ns = now_ns();

		if (ns - last_ns > due_ns / 2)
			hist_add(&late, ns - last_ns > due_ns ? ns - last_ns - due_ns : 0);
		last_ns = ns;
	}
	return hist_percentile(&late, 50);
}

/*
 * A thread without a deadline has its turn while this thread, whose group has one, waits. The turn
 * is to end after 970/1024 of the deadline. The time beyond that, until this thread reads the
 * clock, is an interrupt and a switch; and, after its last look at the clock, an interrupt up to
 * where it is charged for its turn.
 */
static double run_deadline(const struct benchmark *b)
{
	const char *before = fair_class();
	pthread_t hog;
	double ns = -1;

	(void)b;
	hogging = true;
	start_thread(&hog, NULL, hog_thread, NULL);
	if (before && write_text(FAIR_CLASS, "fdl") && make_groups(1) &&
	    write_text(group_file(1, "/cpu.deadline_rr"), "1500000") &&
	    write_text(group_file(1, "/tasks"), "0"))
		ns = median_lateness_ns(DEADLINE_NS * 970 / 1024);
	if (before)
		write_text(FAIR_CLASS, before);
	hogging = false;
	pthread_join(hog, NULL);
	remove_groups(1);
	return ns;
}

/* --- traced events ------------------------------------------------------ */

#define TRACEFS	    "/sys/kernel/tracing/"
#define RECORD_PICK "decision:sched_decision_pick decision:sched_decision_candidate"
#define RECORD_SELECT "decision:sched_decision_select decision:sched_decision_cpu"

/* The time that tracing sched_switch adds to a pipe round trip, which has two switches. */
static double run_trace_event(const struct benchmark *b)
{
	double off_ns, on_ns;

	if (!write_text(TRACEFS "tracing_on", "1") || !write_text(TRACEFS "set_event", "\n"))
		return -1;
	off_ns = run_round_trips(b);
	if (!write_text(TRACEFS "set_event", "sched:sched_switch"))
		return -1;
	on_ns = run_round_trips(b);
	write_text(TRACEFS "set_event", "\n");
	return (on_ns - off_ns) / 2;
}

/* The time that recording adds to a pick among @b->nr threads. */
static double run_record_pick(const struct benchmark *b)
{
	double off_ns, on_ns;

	if (!write_text(TRACEFS "tracing_on", "1") || !write_text(TRACEFS "set_event", "\n"))
		return -1;
	off_ns = run_pick(b);
	if (!write_text(TRACEFS "set_event", RECORD_PICK))
		return -1;
	on_ns = run_pick(b);
	write_text(TRACEFS "set_event", "\n");
	return on_ns < 0 || off_ns < 0 ? -1 : on_ns - off_ns;
}

/* A thread's making and end, on any CPU: two placements, for its maker wakes up. */
static double place_two_ns(const struct benchmark *b)
{
	double ns;

	set_cpus(0, &allowed);
	ns = run_calls(b);
	pin_to_cpu(cpu_a);
	return ns;
}

/* The time that recording adds to a placement; not the first, which makes the buffer of events. */
static double run_record_select(const struct benchmark *b)
{
	double off_ns = 0, on_ns = 0;

	errno = ENODEV;
	if (cpu_b < 0 || !write_text(TRACEFS "tracing_on", "1"))
		return -1;
	for (int round = 0; round < 2; round++) {
		off_ns = place_two_ns(b);
		if (!write_text(TRACEFS "set_event", RECORD_SELECT))
			return -1;
		on_ns = place_two_ns(b);
		write_text(TRACEFS "set_event", "\n");
	}
	return (on_ns - off_ns) / 2;
}

/* --- the list ------------------------------------------------------ */

static const struct benchmark benchmarks[] = {
	{ "null_syscall", run_calls, null_syscall, 10000 },
	{ "clock_gettime", run_calls, libc_clock, 10000 },
	{ "clock_gettime_syscall", run_calls, syscall_clock, 10000 },
	{ "read_dev_zero", run_calls, read_zero, 10000 },
	{ "yield_alone", run_calls, yield, 10000 },
	{ "yield_switch", run_round_trips, .round_trip = yield_switch_ns },
	{ "pipe_round_trip", run_round_trips, .round_trip = pipe_round_trip_ns },
	{ "futex_round_trip", run_round_trips, .round_trip = futex_round_trip_ns },
	{ "pipe_round_trip_2cpu", run_round_trips, .round_trip = pipe_round_trip_ns,
	  .two_cpus = true },
	{ "futex_round_trip_2cpu", run_round_trips, .round_trip = futex_round_trip_ns,
	  .two_cpus = true },
	{ "thread_create_join", run_calls, create_and_join, 100 },
	{ "fork_exit_wait", run_calls, fork_and_wait, 100 },
	{ "spawn_wait", run_calls, spawn_and_wait, 40 },
	{ "nanosleep_late_default", run_sleep },
	{ "nanosleep_late_slack_1ns", run_sleep_exact },
	{ "nanosleep_late_fifo", run_sleep_fifo },
	{ "pick_2", run_pick, .nr = 2 },
	{ "pick_10", run_pick, .nr = 10 },
	{ "pick_100", run_pick, .nr = 100 },
	{ "pick_1000", run_pick, .nr = 1000 },
	{ "pick_10000", run_pick, .nr = 10000 },
	{ "switch_depth_0", run_at_depth, .nr = 2, .depth = 0 },
	{ "switch_depth_1", run_at_depth, .nr = 2, .depth = 1 },
	{ "switch_depth_3", run_at_depth, .nr = 2, .depth = 3 },
	{ "switch_depth_5", run_at_depth, .nr = 2, .depth = 5 },
	{ "wake_depth_0", run_at_depth, .round_trip = futex_round_trip_ns, .depth = 0 },
	{ "wake_depth_1", run_at_depth, .round_trip = futex_round_trip_ns, .depth = 1 },
	{ "wake_depth_3", run_at_depth, .round_trip = futex_round_trip_ns, .depth = 3 },
	{ "wake_depth_5", run_at_depth, .round_trip = futex_round_trip_ns, .depth = 5 },
	{ "cgroup_move", run_move, move_to_and_fro, 1000 },
	{ "deadline_late", run_deadline },
	{ "trace_event", run_trace_event, .round_trip = pipe_round_trip_ns },
	{ "record_pick_10", run_record_pick, .nr = 10 },
	{ "record_select", run_record_select, create_and_join, 1000 },
};

#define NR_BENCHMARKS ((int)(sizeof(benchmarks) / sizeof(benchmarks[0])))

static void run_benchmark(const struct benchmark *b)
{
	double ns;

	fflush(stdout); /* the benchmark may fork */
	ns = b->run(b);

	if (ns < 0) {
		fprintf(stderr, "bench: %s: %s\n", b->name, strerror(errno));
		printf("%s - ns\n", b->name);
	} else {
		printf("%s %.0f ns\n", b->name, ns);
	}
}

static const struct benchmark *find_benchmark(const char *name)
{
	int i;

	for (i = 0; i < NR_BENCHMARKS; i++)
		if (!strcmp(benchmarks[i].name, name))
			return &benchmarks[i];
	usage_error(&program, "unknown benchmark '%s'", name);
}

int main(int argc, char **argv)
{
	int first, i;

	if (argc == 2 && !strcmp(argv[1], "--exit"))
		return 0;
	first = parse_args(&program, argc, argv);
	for (i = first; i < argc; i++)
		find_benchmark(argv[i]);
	if (get_cpus(0, &allowed))
		die("reading the affinity");
	cpu_a = cpu_nth(&allowed, 0);
	if (cpu_count(&allowed) > 1)
		cpu_b = cpu_nth(&allowed, 1);
	pin_to_cpu(cpu_a);
	for (i = first; i < argc; i++)
		run_benchmark(find_benchmark(argv[i]));
	for (i = 0; i < NR_BENCHMARKS && first == argc; i++)
		run_benchmark(&benchmarks[i]);
	return 0;
}
