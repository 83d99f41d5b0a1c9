/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls: the objects that they are about, how one is made, and what the kernel has handed out. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"
#include "lib/args.h"
#include "lib/clock.h"
#include "lib/sched.h"

#define SETTLED_NS (300 * NS_PER_MS)

char buffer[65536];
struct perf_attributes perf_attributes = {
	.type = 1, .size = 64, .config = 9, .flags = 1 << 9 /* nothing is counted; names */
};

bool forgiving;

long must(long result, const char *what)
{
	if (result < 0 && !forgiving)
		die(what);
	return result;
}

/* --- calls ------------------------------------------------------------------------------- */

static const struct row *all[1024];
static int nr_all;

static void add(const struct row *list)
{
	while (list->name && nr_all < (int)(sizeof(all) / sizeof(all[0])))
		all[nr_all++] = list++;
}

int nr_rows(void)
{
	if (!nr_all) {
		add(file_rows);
		add(path_rows);
		add(task_rows);
		add(kernel_rows);
	}
	return nr_all;
}

void add_rows(const struct row *list)
{
	nr_rows();
	add(list);
}

const struct row *row_at(int i)
{
	return nr_rows() ? all[i] : NULL;
}

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

/* --- objects ----------------------------------------------------------------------------- */

void place(int fd, int where)
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
	place((int)syscall(SYS_perf_event_open, &perf_attributes, 0, 0, -1, 0), A_PERF);
	sigemptyset(&usr2);
	sigaddset(&usr2, SIGUSR2);
	sigprocmask(SIG_BLOCK, &usr2, NULL);
	place(signalfd(-1, &usr2, SFD_NONBLOCK), A_SIGNAL);
	raise(SIGUSR2);
}

void set_up(void)
{
	must(chdir(CALLS_PLACE "/in"), "chdir");
	make_files();
	make_objects();
}

void renew_objects(void)
{
	forgiving = true;
	make_objects();
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *walk)
{
	(void)st, (void)flag, (void)walk;
	return remove(path), 0;
}

void make_place(void)
{
	mkdir(CALLS_PLACE, 0755);
	must(mkdir(CALLS_PLACE "/in", 0755), "mkdir");
}

void clean_up(void)
{
	int trigger = open(TRIGGER, O_WRONLY);

	(void)!write(trigger, "!" HISTOGRAM, sizeof("!" HISTOGRAM) - 1);
	close(trigger);
	while (!umount2(CALLS_PLACE "/in/dir", MNT_DETACH))
		;
	nftw(CALLS_PLACE "/in", remove_one, 16, FTW_DEPTH | FTW_PHYS);
	rmdir("/sys/fs/cgroup/calls");
	rmdir("/sys/kernel/tracing/instances/calls");
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
	const uint64_t start_ns = now_ns();
	uint64_t waited_ns = NS_PER_MS;
	long loss;

	while ((loss = loss_since(before)) && now_ns() - start_ns < SETTLED_NS) {
		sleep_ns(waited_ns);
		waited_ns = waited_ns * 3 / 2;
	}
	return loss;
}

static void put(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY);

	must(write(fd, text, strlen(text)), file);
	close(fd);
}

void allow_failures(bool verbose)
{
	put(DEBUGFS "failslab/verbose", verbose ? "2" : "0");
	put(DEBUGFS "fail_page_alloc/verbose", verbose ? "2" : "0");
	put(DEBUGFS "fail_usercopy/verbose", verbose ? "2" : "0");
	put(DEBUGFS "fail_page_alloc/min-order", "0");
	put(DEBUGFS "fail_page_alloc/ignore-gfp-highmem", "N");
}
