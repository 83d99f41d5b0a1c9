/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * failcheck: every way out of every system call. Each row of its tables is a call. A process makes
 * it with its first allocation or copy failing (/proc/PID/fail-nth), another with the second, and
 * so on until none is left to fail. Needs a debug kernel.
 *
 * A failed call says an error of a short list, leaves no descriptor, and made again has the result
 * that it has without a failure. After the process has ended, the kernel has as many objects and
 * pages as before.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "calls/calls.h"
#include "lib/args.h"
#include "lib/clock.h"
#include "lib/sched.h"

#define MOST_SITES 20000 /* that one call may have */
#define EACH	   64	 /* so many are tried one by one, then only some */
#define TRIES_ENDS 16	 /* of a call that ends the process */
#define MOST_TRIES 20	 /* with a loss; that into the caches of several CPUs ends before */
#define TOO_LONG   (20 * NS_PER_S) /* for one try */

enum { TOOK = 10, TOOK_NOT = 11 }; /* statuses of the program that execve() begins */

static bool list_only, verbose;

static const struct arg args[] = {
	{ 'l', "list", ARG_FLAG, &list_only, "the names of all calls, and nothing else" },
	{ 'v', "verbose", ARG_FLAG, &verbose, "a line for each failure, and backtraces" },
	{ 0 },
};

static const struct program program = {
	"failcheck",
	"Make each system call fail at each allocation and copy in turn.",
	"[CALL]...",
	args,
};

static volatile struct outcome { /* shared with the process that makes the call */
	bool done;
	bool took; /* a failure was ordered and came */
	long result, again;
	int lost; /* descriptors */
} * outcome;

/* --- the process that makes the call ----------------------------------------------- */

static void order(int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", n);

	while (write(NTH, text, (size_t)len) != len) /* the order before may hit this one */
		;
}

/* Has the failure come? If not, reading may be what fails. */
static bool has_come(void)
{
	char text[16] = "";

	return pread(NTH, text, sizeof(text) - 1, 0) > 0 && atoi(text) == 0;
}

static int nr_open(void)
{
	int fd, nr = 0;

	for (fd = 0; fd < 1024; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

/* Does not return. @n: which allocation or copy fails; 0: none. */
static void try_call(const struct row *row, int n)
{
	set_up();
	place(open("/proc/thread-self/fail-nth", O_RDWR), NTH);
	if (row->prepare)
		row->prepare();
	int before = nr_open();

	order(n);
	long result = make_call(row);

	if (n)
		outcome->took = has_come();
	order(0);
	outcome->result = result;
	if (result < 0 && outcome->took) {
		outcome->lost = nr_open() - before;
		outcome->again = row->flags & ONCE ? 0 : make_call(row);
	}
	outcome->done = true;
	if (row->flags & FORKS && result > 0)
		waitpid((pid_t)result, NULL, 0);
	_exit(0);
}

/* --- the process that watches ------------------------------------------------------- */

static int nr_failures, nr_faults, nr_dead, nr_absorbed;

static void complain(const struct row *row, int n, const char *what, long number)
{
	printf("FAIL %s, failure %d: %s (%ld)\n", row->name, n, what, number);
	fflush(stdout);
	nr_failures++;
}

/* Returns the status of the process, or -1 if it had to be killed. */
static int wait_for(pid_t pid)
{
	const uint64_t end_ns = now_ns() + TOO_LONG;
	int status;

	while (waitpid(pid, &status, WNOHANG) != pid) {
		if (now_ns() > end_ns) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return -1;
		}
		sleep_ns(NS_PER_MS / 4);
	}
	return status;
}

static int run_try(const struct row *row, int n)
{
	*outcome = (struct outcome){ .done = false };
	make_place();
	fflush(stdout);
	pid_t pid = (pid_t)must(fork(), "fork");

	if (!pid)
		try_call(row, n);
	int status = wait_for(pid);

	clean_up();
	if (row->flags & EXECS && WIFEXITED(status) && !outcome->done) {
		outcome->done = true;
		outcome->took = WEXITSTATUS(status) == TOOK;
	} else if (row->flags & ENDS) {
		outcome->done = true;
		outcome->took = n && n <= TRIES_ENDS;
	}
	return status;
}

/* Is @result the error of a call that lacks memory or cannot copy? */
static bool is_lack(long result)
{
	return result == -ENOMEM || result == -EFAULT || result == -EAGAIN || result == -ENOBUFS ||
	       result == -ENFILE || result == -ENOSPC;
}

/* Do both mean success, or the same error? */
static bool is_like(long a, long b)
{
	return a == b || (a >= 0 && b >= 0);
}

static void judge(const struct row *row, int n, int status, long expected)
{
	if (status == -1)
		complain(row, n, "has not come back", 0);
	else if (WIFSIGNALED(status) && !(row->flags & (MAY_DIE | EXECS)))
		complain(row, n, "died of signal", WTERMSIG(status));
	else if (!WIFSIGNALED(status) && !outcome->done)
		complain(row, n, "ended early", status);
	nr_dead += WIFSIGNALED(status);
	if (!outcome->done || row->flags & ENDS)
		return;
	if (!outcome->took && !is_like(outcome->result, expected))
		complain(row, n, "another result without a failure", outcome->result);
	if (outcome->took && outcome->result < 0 && !is_lack(outcome->result) &&
	    outcome->result != expected)
		complain(row, n, "a strange error", outcome->result);
	if (outcome->lost)
		complain(row, n, "descriptors lost", outcome->lost);
	if (outcome->took && outcome->result < 0 && !(row->flags & ONCE) &&
	    !is_like(outcome->again, expected))
		complain(row, n, "made again it has another result", outcome->again);
	nr_absorbed += outcome->took && outcome->result >= 0;
}

/* A loss grows with each try; what a first try leaves in a cache does not. */
static void find_loss(const struct row *row, int n)
{
	long loss = 0;
	int i;

	for (i = 0; i < MOST_TRIES; i++) {
		struct in_use before = count_in_use();

		run_try(row, n);
		loss = lasting_loss(before);
		if (!loss)
			return;
	}
	complain(row, n, "objects (or pages, times 1000) lost each time", loss);
}

/* Returns whether a failure came, or may have come. */
static bool check_failure(const struct row *row, int n, long expected)
{
	struct in_use before = count_in_use();
	int status = run_try(row, n);
	struct outcome o = *outcome;
	bool came = o.took || WIFSIGNALED(status);

	if (verbose)
		printf("%s %d: %s, result %ld, status %x\n", row->name, n,
		       came ? "failed" : "no failure", o.result, (unsigned)status);
	judge(row, n, status, expected);
	if (lasting_loss(before))
		find_loss(row, n);
	nr_faults += came;
	return came && status != -1;
}

static void check_row(const struct row *row)
{
	int n = 1, status = run_try(row, 0);
	long expected = outcome->result;

	if (status == -1 || (!outcome->done && !(row->flags & ENDS))) {
		complain(row, 0, "does not work without a failure", status);
		return;
	}
	while (n < MOST_SITES && check_failure(row, n, expected))
		n += n < EACH ? 1 : n / 8;
	printf("%-32s %4ld %4d\n", row->name, expected, n - 1);
	if (n >= MOST_SITES)
		complain(row, n, "failures without end", 0);
}

static bool is_chosen(const struct row *row, int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++)
		if (!strncmp(row->name, argv[i], strlen(argv[i])))
			return true;
	return argc == 0;
}

static void for_each_row(void (*fn)(const struct row *row), int argc, char **argv)
{
	int i;

	for (i = 0; i < nr_rows(); i++)
		if (is_chosen(row_at(i), argc, argv))
			fn(row_at(i));
}

static void print_name(const struct row *row)
{
	puts(row->name);
}

static void begin(void)
{
	int sites = open(DEBUGFS "fail_sites", O_WRONLY);

	allow_failures(verbose);
	must(write(sites, "\n", 1), "fail_sites");
	close(sites);
	outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (outcome == MAP_FAILED)
		die("mmap");
	clean_up();
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--after-exec"))
		return has_come() ? TOOK : TOOK_NOT;
	int first = parse_args(&program, argc, argv);

	if (list_only) {
		for_each_row(print_name, argc - first, argv + first);
		return 0;
	}
	begin();
	for_each_row(check_row, argc - first, argv + first);
	rmdir(CALLS_PLACE);
	printf("%d failures came: %d without harm, %d killed the process; %d wrong\n", nr_faults,
	       nr_absorbed, nr_dead, nr_failures);
	return nr_failures ? 1 : 0;
}
