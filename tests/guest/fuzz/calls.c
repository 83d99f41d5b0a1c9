/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System calls with random numbers and arguments: pointers of every kind, descriptors that are open
 * and not, edges of integers, paths.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "fuzz/fuzz.h"

#define LAST_CALL 450

/* Calls that end the machine, or this process at once; and what stops a vfork's parent for ever. */
static const short skipped[] = { SYS_reboot, SYS_exit, SYS_exit_group, SYS_pause,
				 SYS_rt_sigreturn };

/* Calls that send signals: only to those who expect the worst. */
static const short sending[] = { SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo,
				 SYS_rt_tgsigqueueinfo };

/* Calls that return twice. */
static const short forking[] = { SYS_fork, SYS_vfork, SYS_clone, SYS_clone3 };

static bool is_one_of(long nr, const short *list, size_t size)
{
	size_t i;

	for (i = 0; i < size / sizeof(*list); i++)
		if (list[i] == nr)
			return true;
	return false;
}

bool is_skipped(long nr)
{
	return is_one_of(nr, skipped, sizeof(skipped));
}

bool is_sending(long nr)
{
	return is_one_of(nr, sending, sizeof(sending));
}

#define IS_ONE_OF(nr, list) is_one_of(nr, list, sizeof(list))

const char *const paths[NR_PATHS] = {
	"/tmp/fuzz/a",
	"/tmp/fuzz/b",
	"/tmp/fuzz/c/d",
	"/tmp/fuzz",
	"/tmp/fuzz/../fuzz/a",
	"/",
	"",
	".",
	"/proc/self/stat",
	"/proc/self/fd",
	"/dev/zero",
	"/dev/null",
	"/sys/kernel/tracing",
	"/proc/self/exe",
	"/tmp/fuzz/loop",
	"/proc/1/mem",
	"/proc/self/maps",
	FUZZ_GROUPS "/f",
	"/dev/tty",
	"tmpfs",
};

char *pages;

/* Each argument is likely to pass some check and unlikely to pass all of them. */
static long any_argument(struct random *r)
{
	switch (random_below(r, 10)) {
	case 0:
	case 1:
		return (long)random_edge(r);
	case 2:
	case 3:
		return (long)random_below(r, 24); /* descriptors, kinds, small sizes */
	case 4:
		return (long)(pages + random_below(r, PAGE));
	case 5:
		return (long)(pages + random_below(r, 3 * PAGE));
	case 6:
		return (long)(uintptr_t)paths[random_below(r, NR_PATHS)];
	case 7:
		return 1L << random_below(r, 32); /* one flag */
	case 8:
		return (long)(0xffffffff80000000 + random_below(r, 1 << 24));
	default:
		return (long)(0x00007fffffffff00 + random_below(r, 512));
	}
}

static void on_signal(int sig)
{
	(void)sig;
}

/* Some calls stop the timer that ends those that block. */
static void start_timer(void)
{
	const struct itimerval soon = { { 0, 1000 }, { 0, 1000 } };
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
}

void fuzz_call(struct random *r)
{
	long nr = (long)random_below(r, LAST_CALL + 1), a[6];
	bool forks = IS_ONE_OF(nr, forking);
	int i;

	for (i = 0; i < 6; i++)
		a[i] = any_argument(r);
	if (is_skipped(nr))
		return;
	if (is_sending(nr))
		a[0] = getpid(), a[1] = random_below(r, 2) ? getpid() : a[1];
	/* A child that shares the stack would destroy it; one of our parent's would annoy it. */
	if (nr == SYS_clone)
		a[0] &= ~(long)(CLONE_VM | CLONE_VFORK | CLONE_PARENT), a[1] = 0;
	if (nr == SYS_clone3 || nr == SYS_vfork)
		a[0] = (long)(uintptr_t)(pages + 2 * PAGE), nr = SYS_clone3;
	start_timer();
	if (!syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]) && forks)
		syscall(SYS_exit_group, 0);
}

/* Descriptors 0 to 14: one of each kind. */
static void open_all(void)
{
	int i, fd = open("/dev/null", O_RDWR), ends[2];

	for (i = 0; i < 3; i++)
		dup2(fd, i);
	if (pipe2(ends, O_NONBLOCK) || pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		_exit(1);
	open("/tmp/fuzz/open", O_RDWR | O_CREAT, 0644);
	open("/proc/self/status", O_RDONLY);
	open("/sys/kernel/tracing/trace", O_RDONLY);
	open("/dev/zero", O_RDWR);
	open("/tmp", O_RDONLY | O_DIRECTORY);
	syscall(SYS_eventfd2, 1, 0);
	syscall(SYS_epoll_create1, 0);
	syscall(SYS_timerfd_create, CLOCK_MONOTONIC, 0);
}

void make_pages(void)
{
	struct random r = { 1 };
	int i;

	pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		_exit(1);
	for (i = 0; i < PAGE / 8; i++)
		((uint64_t *)pages)[i] = random_edge(&r);
	mprotect(pages + PAGE, PAGE, PROT_READ);
	mprotect(pages + 2 * PAGE, PAGE, PROT_NONE);
}

void fuzz_calls(struct random *r, int n)
{
	int i;

	make_pages();
	open_all();
	for (i = 0; i < n; i++)
		fuzz_call(r);
}
