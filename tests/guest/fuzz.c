/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fuzz: system calls and writes to the kernel's files that nobody would mean, from a seed. Workers
 * make them in batches; each batch is a process of its own with a seed that follows from the first.
 * There is one expected result: the kernel goes on, and every batch can be ended.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "lib/args.h"
#include "lib/clock.h"
#include "lib/sched.h"

#define BATCH	 100		 /* inputs of one process */
#define CALLS	 50		 /* a script has so many, more or less */
#define ENOUGH	 (2 * NS_PER_S)	 /* a batch that takes longer waits for something: it is killed */
#define TOO_LONG (60 * NS_PER_S) /* a killed process that is still there then is a failure */

static int seed = 1, nr_inputs = 10000, nr_workers = 4;
static bool anywhere, may_fail, is_linked, wants_table, wants_source, replays;

static const struct arg args[] = {
	{ 's', "seed", ARG_INT, &seed, "what the input follows from (default 1)", 0, 1 << 30 },
	{ 'n', "number", ARG_INT, &nr_inputs, "inputs of each kind (default 10000)", 1, 1 << 30 },
	{ 'w', "workers", ARG_INT, &nr_workers, "processes at a time (default 4)", 1, 1000 },
	{ 'f', "fail", ARG_FLAG, &may_fail, "may fail on order: docs/machine.md" },
	{ 't', "table", ARG_FLAG, &wants_table, "print the table of calls, and nothing else" },
	{ 'c', "source", ARG_FLAG, &wants_source, "print the scripts in FILEs as programs in C" },
	{ 'r', "replay", ARG_FLAG, &replays, "run the script in FILE, -n times" },
	{ 'l', "link", ARG_FLAG, &is_linked, "run what the host sends: make fuzz" },
	{ 0, "anywhere", ARG_FLAG, &anywhere, "also on a system that can be damaged" },
	{ 0 },
};

static const struct program program = {
	"fuzz",
	"Give the kernel senseless input; without KIND: all kinds.",
	"[calls|files|scripts]... | -r FILE | -c FILE...",
	args,
};

/* --- batches ----------------------------------------------------------------------------- */

static const struct kind {
	const char *name;
	void (*fuzz)(struct random *r, int n);
} kinds[] = {
	{ "calls", fuzz_calls },
	{ "files", fuzz_files },
	{ "scripts", NULL }, /* each is a process of its own, and is judged */
};

#define NR_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static struct batch {
	pid_t pid; /* 0: none */
	uint64_t seed;
	uint64_t start_ns;
	bool killed;
} * batches;

static int nr_done, nr_dead, nr_killed;

/*
 * Memory may be short for this long at most, while other batches hold it or are being cleaned up.
 */
#define PATIENCE_NS (10 * NS_PER_S)

static pid_t fork_patiently(void)
{
	const uint64_t end_ns = now_ns() + PATIENCE_NS;
	pid_t pid;

	while ((pid = fork()) < 0 && (errno == ENOMEM || errno == EAGAIN) && now_ns() < end_ns)
		sleep_ns(10 * NS_PER_MS);
	return pid;
}

static void start_batch(struct batch *b, const struct kind *kind, uint64_t batch_seed)
{
	struct random r = { batch_seed };

	*b = (struct batch){ .seed = batch_seed, .start_ns = now_ns() };
	b->pid = fork_patiently();
	if (b->pid < 0)
		die("fork");
	if (b->pid)
		return;
	setsid();
	if (may_fail)
		put_text("/proc/self/make-it-fail", "1");
	kind->fuzz(&r, BATCH);
	_exit(0);
}

static void batch_over(struct batch *b, int status)
{
	b->pid = 0;
	nr_done++;
	nr_killed += b->killed;
	nr_dead += WIFSIGNALED(status) && !b->killed;
}

static void watch_batch(struct batch *b)
{
	uint64_t ran_ns = now_ns() - b->start_ns;
	char command[64];
	int status;

	if (waitpid(b->pid, &status, WNOHANG) == b->pid) {
		batch_over(b, status);
	} else if (ran_ns > TOO_LONG) {
		printf("process %d, seed %llu, does not end\n", b->pid,
		       (unsigned long long)b->seed);
		fflush(stdout);
		snprintf(command, sizeof(command), "cd /proc/%d && cat status cgroup sched",
			 b->pid);
		(void)!system(command);
		exit(1);
	} else if (ran_ns > ENOUGH && !b->killed) {
		b->killed = true;
		kill(b->pid, SIGKILL);
		kill(b->pid, SIGCONT);
	}
}

/* Remove a file that a batch left behind. Orphans of batches are left to init. */
static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *walk)
{
	(void)st, (void)flag;
	return walk->level ? (remove(path), 0) : 0;
}

static void clean_up(void)
{
	/* In a group with a tiny quota no process would end before the night. */
	put_text(FUZZ_GROUP "/cpu.cfs_quota_us", "-1");
	put_text(FUZZ_GROUP "/inner/cpu.cfs_quota_us", "-1");
	put_text(FUZZ_GROUPS "/cgroup.procs", "0");
	nftw("/tmp/fuzz", remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int nr_wrong;

static void run_batches(const struct kind *kind)
{
	struct random r = { (uint64_t)seed };
	int i, started = 0, nr = (nr_inputs + BATCH - 1) / BATCH;

	nr_done = nr_dead = nr_killed = 0;
	while (nr_done < nr) {
		for (i = 0; i < nr_workers; i++) {
			if (batches[i].pid)
				watch_batch(&batches[i]);
			else if (started < nr)
				start_batch(&batches[i], kind, random_next(&r)), started++;
		}
		sleep_ns(2 * NS_PER_MS);
		clean_up();
	}
	printf("%s: %d in %d processes, %d of which died of them and %d had to be killed\n",
	       kind->name, nr * BATCH, nr, nr_dead, nr_killed);
	fflush(stdout);
}

static void run_kind(const struct kind *kind)
{
	struct random r = { (uint64_t)seed };

	if (kind->fuzz)
		run_batches(kind);
	else
		nr_wrong += fuzz_scripts(&r, (nr_inputs + CALLS - 1) / CALLS);
}

static const struct kind *find_kind(const char *name)
{
	unsigned i;

	for (i = 0; i < NR_KINDS; i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	usage_error(&program, "unknown kind '%s'", name);
}

static void prepare(void)
{
	struct utsname system;

	if (uname(&system) || (!strstr(system.release, "fairground") && !anywhere))
		usage_error(&program,
			    "this is not Fairground; --anywhere would say that it may break");
	batches = calloc((size_t)nr_workers, sizeof(*batches));
	if (!batches)
		die("calloc");
	mkdir("/tmp/fuzz", 0777);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
}

static int print_all(int first, int argc, char **argv)
{
	int i;

	if (wants_table)
		print_table();
	for (i = first; i < argc && wants_source; i++)
		print_source(argv[i]);
	return 0;
}

static void run_kinds(int first, int argc, char **argv)
{
	int i;

	for (i = first; i < argc; i++)
		run_kind(find_kind(argv[i]));
	for (i = 0; i < (int)NR_KINDS && first == argc; i++)
		run_kind(&kinds[i]);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--after-exec")) /* a row of the table came here */
		return 0;
	int first = parse_args(&program, argc, argv), i;
	add_script_rows();

	if (wants_table || wants_source)
		return print_all(first, argc, argv);
	if (replays && argc != first + 1)
		usage_error(&program, "--replay takes one FILE");
	for (i = first; i < argc && !replays; i++)
		find_kind(argv[i]);
	prepare();
	if (!find_files(is_linked || replays))
		die("no writable files");
	if (is_linked)
		serve_link();
	if (replays)
		return replay(argv[first], nr_inputs);
	run_kinds(first, argc, argv);
	return nr_wrong ? 1 : 0;
}
