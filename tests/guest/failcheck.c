/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * failcheck: every way out of every system call. Each row of its tables is a call. A process makes
 * it with its first allocation or copy failing (/proc/PID/fail-nth), another with the second, and
 * so on until none is left to fail. Needs a debug kernel.
 *
 * A failed call says an error of a short list, leaves no descriptor, and made again has the result
 * that it has without a failure. After the process has ended, the kernel has as many objects and
 * pages as before. With --pairs two threads make calls at once (pairs.c).
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

#include "failcheck/failcheck.h"
#include "lib/args.h"
#include "lib/clock.h"
#include "lib/sched.h"

#define PLACE	   "/tmp/failcheck"
#define DEBUGFS	   "/sys/kernel/debug/"
#define MOST_SITES 20000	   /* that one call may have */
#define EACH	   64		   /* so many are tried one by one, then only some */
#define TRIES_ENDS 16		   /* of a call that ends the process */
#define TOO_LONG   (20 * NS_PER_S) /* for one try */
#define SETTLED_NS (300 * NS_PER_MS)

enum { TOOK = 10, TOOK_NOT = 11 }; /* statuses of the program that execve() begins */

static bool list_only, verbose;
static int nr_pairs, seed = 1;

static const struct arg args[] = {
	{ 'l', "list", ARG_FLAG, &list_only, "the names of all calls, and nothing else" },
	{ 'v', "verbose", ARG_FLAG, &verbose, "a line for each failure, and backtraces" },
	{ 'p', "pairs", ARG_INT, &nr_pairs, "instead, this many pairs of calls at once", 0,
	  1 << 30 },
	{ 's', "seed", ARG_INT, &seed, "what the pairs follow from (default 1)", 0, 1 << 30 },
	{ 0 },
};

static const struct program program = {
	"failcheck",
	"Make each system call fail at each allocation and copy in turn.",
	"[CALL]...",
	args,
};

char buffer[65536];

static volatile struct outcome { /* shared with the process that makes the call */
	bool done;
	bool took; /* a failure was ordered and came */
	long result, again;
	int lost; /* descriptors */
} * outcome;

static bool forgiving; /* another thread spoils it */

long must(long result, const char *what)
{
	if (result < 0 && !forgiving)
		die(what);
	return result;
}

/* --- the process that makes the call ----------------------------------------------- */

static long raw_call(const struct row *row)
{
	register long r10 __asm__("r10") = row->arg[3], r8 __asm__("r8") = row->arg[4];
	register long r9 __asm__("r9") = row->arg[5];
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(row->nr), "D"(row->arg[0]), "S"(row->arg[1]), "d"(row->arg[2]),
			   "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

/* The child, which may have no stack, ends in the same breath. */
static long raw_fork(const struct row *row)
{
	register long r10 __asm__("r10") = row->arg[3], r8 __asm__("r8") = row->arg[4];
	long result;

	__asm__ volatile("syscall\n\ttest %%rax, %%rax\n\tjnz 1f\n\t"
			 "mov $60, %%eax\n\txor %%edi, %%edi\n\tsyscall\n1:"
			 : "=a"(result)
			 : "0"(row->nr), "D"(row->arg[0]), "S"(row->arg[1]), "d"(row->arg[2]),
			   "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return result;
}

long make_call(const struct row *row)
{
	return row->flags & FORKS ? raw_fork(row) : raw_call(row);
}

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

static void place(int fd, int where)
{
	must(fd, "open");
	must(dup2(fd, where), "dup2");
	close(fd);
}

static void make_pair(int pair[2], int first)
{
	int i;

	for (i = 0; i < 2; i++) {
		fcntl(pair[i], F_SETFL, O_NONBLOCK);
		place(pair[i], first + i);
	}
}

static void make_files(void)
{
	int fd = open("file", O_RDWR | O_CREAT, 0644);

	must(write(fd, buffer, 8192), "write");
	place(fd, A_FILE);
	lseek(A_FILE, 0, SEEK_SET);
	must(mkdir("dir", 0755), "mkdir");
	must(mkdir("dir/inner", 0755), "mkdir");
	must(symlink("file", "link"), "symlink");
	must(mkfifo("fifo", 0600), "mkfifo");
	place(open(".", O_RDONLY | O_DIRECTORY), A_DIR);
	place(open("/dev/null", O_RDWR), A_NULL);
	place(open("/dev/console", O_RDWR | O_NOCTTY), A_TTY);
}

static void make_objects(void)
{
	struct itimerspec soon = { .it_value = { 0, 1 } };
	struct epoll_event event = { .events = EPOLLIN };
	sigset_t usr2;
	int pair[2];

	must(pipe(pair), "pipe");
	make_pair(pair, PIPE_IN);
	must(write(PIPE_OUT, buffer, 100), "write");
	must(pipe(pair), "pipe");
	make_pair(pair, EMPTY_IN);
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
	make_pair(pair, SOCK_A);
	must(write(SOCK_A, buffer, 100), "write");
	must(write(SOCK_B, buffer, 100), "write");
	place(eventfd(1, EFD_NONBLOCK), AN_EVENT);
	place(epoll_create1(0), AN_EPOLL);
	must(epoll_ctl(AN_EPOLL, EPOLL_CTL_ADD, AN_EVENT, &event), "epoll_ctl");
	place(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), A_TIMER);
	timerfd_settime(A_TIMER, 0, &soon, NULL);
	must(poll(&(struct pollfd){ A_TIMER, POLLIN, 0 }, 1, 10), "poll");
	sigemptyset(&usr2);
	sigaddset(&usr2, SIGUSR2);
	sigprocmask(SIG_BLOCK, &usr2, NULL);
	place(signalfd(-1, &usr2, SFD_NONBLOCK), A_SIGNAL);
	raise(SIGUSR2);
}

void set_up(void)
{
	must(chdir(PLACE "/in"), "chdir");
	make_files();
	make_objects();
}

void renew_objects(void)
{
	forgiving = true;
	make_objects();
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

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *walk)
{
	(void)st, (void)flag, (void)walk;
	return remove(path), 0;
}

void make_place(void)
{
	must(mkdir(PLACE "/in", 0755), "mkdir");
}

void clean_up(void)
{
	int trigger = open(TRIGGER, O_WRONLY);

	(void)!write(trigger, "!" HISTOGRAM, sizeof("!" HISTOGRAM) - 1);
	close(trigger);
	while (!umount2(PLACE "/in/dir", MNT_DETACH))
		;
	nftw(PLACE "/in", remove_one, 16, FTW_DEPTH | FTW_PHYS);
	rmdir("/sys/fs/cgroup/failcheck");
	rmdir("/sys/kernel/tracing/instances/failcheck");
}

struct in_use count_in_use(void)
{
	char text[64] = "";
	struct in_use n = { 0, 0 };
	static int fd = -1;

	if (fd < 0)
		fd = (int)must(open(DEBUGFS "fail_in_use", O_RDONLY), "fail_in_use");
	must(pread(fd, text, sizeof(text) - 1, 0), "fail_in_use");
	if (sscanf(text, "%ld %ld", &n.objects, &n.pages) != 2)
		die("fail_in_use");
	return n;
}

/* Returns how many objects, or 1000 times how many pages, more are in use; 0: none. */
static long loss_since(struct in_use before)
{
	struct in_use now = count_in_use();

	if (now.objects > before.objects)
		return now.objects - before.objects;
	return now.pages > before.pages ? (now.pages - before.pages) * 1000 : 0;
}

/* Some of it ends a moment after a process. */
long lasting_loss(struct in_use before)
{
	const uint64_t end_ns = now_ns() + SETTLED_NS;
	long loss;

	while ((loss = loss_since(before)) && now_ns() < end_ns)
		sleep_ns(NS_PER_MS);
	return loss;
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

	for (i = 0; i < 4; i++) {
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

static const struct row *const lists[] = { file_rows, path_rows, task_rows, kernel_rows };

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
	size_t i;
	const struct row *row;

	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		for (row = lists[i]; row->name; row++)
			if (is_chosen(row, argc, argv))
				fn(row);
}

static void print_name(const struct row *row)
{
	puts(row->name);
}

static const struct row *chosen[512];
static int nr_chosen;

/* Two threads are no place for what ends one of them. */
static void choose(const struct row *row)
{
	if (!(row->flags & (ENDS | EXECS)) && nr_chosen < (int)(sizeof(chosen) / sizeof(*chosen)))
		chosen[nr_chosen++] = row;
}

static void put(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die(file);
	close(fd);
}

static void begin(void)
{
	put(DEBUGFS "failslab/verbose", verbose ? "2" : "0");
	put(DEBUGFS "fail_page_alloc/verbose", verbose ? "2" : "0");
	put(DEBUGFS "fail_usercopy/verbose", verbose ? "2" : "0");
	put(DEBUGFS "fail_page_alloc/min-order", "0");
	put(DEBUGFS "fail_page_alloc/ignore-gfp-highmem", "N");
	put(DEBUGFS "fail_sites", "");
	outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (outcome == MAP_FAILED)
		die("mmap");
	mkdir(PLACE, 0755);
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
	if (nr_pairs) {
		for_each_row(choose, argc - first, argv + first);
		return nr_chosen && check_pairs(chosen, nr_chosen, nr_pairs, (unsigned)seed);
	}
	for_each_row(check_row, argc - first, argv + first);
	rmdir(PLACE);
	printf("%d failures came: %d without harm, %d killed the process; %d wrong\n", nr_faults,
	       nr_absorbed, nr_dead, nr_failures);
	return nr_failures ? 1 : 0;
}
