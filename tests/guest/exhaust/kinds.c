/* SPDX-License-Identifier: GPL-2.0-only */
/* Things that can be taken again and again, and stay until they are given back. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "exhaust/exhaust.h"

#define PAGE  4096ul
#define LARGE (1 << 20)

/* Out of descriptors: a child keeps these, and the caller goes on without. */
static bool in_a_child(void)
{
	if (errno != EMFILE)
		return false;
	switch (fork()) {
	case 0:
		pause();
		_exit(0);
	case -1:
		return false;
	default:
		return !syscall(SYS_close_range, 3, ~0u, 0);
	}
}

static bool fill(int fd)
{
	static char block[65536];

	while (write(fd, block, sizeof(block)) > 0)
		;
	return errno == EAGAIN;
}

static bool take_pipe(long nr)
{
	int p[2];

	(void)nr;
	if (pipe2(p, O_NONBLOCK))
		return in_a_child();
	fcntl(p[0], F_SETPIPE_SZ, LARGE);
	return fill(p[1]);
}

static bool take_socket(long nr)
{
	int s[2], size = LARGE;

	(void)nr;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s))
		return in_a_child();
	setsockopt(s[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	return fill(s[0]) && fill(s[1]);
}

static bool take_ring(long nr)
{
	/* Linux's struct perf_event_attr, first version: a software event, the kernel excluded. */
	uint32_t attr[16] = { 1, sizeof(attr), 9, [10] = 1 << 5 };
	int fd = (int)syscall(SYS_perf_event_open, attr, 0, 0, -1, 0);

	(void)nr;
	if (fd < 0)
		return in_a_child();
	return mmap(NULL, 257 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED;
}

static bool take_event(long nr)
{
	(void)nr;
	return eventfd(0, 0) >= 0 || in_a_child();
}

/* A file of /proc keeps its text. */
static bool take_text(long nr)
{
	int fd = open("/proc/kallsyms", O_RDONLY);
	char byte;

	(void)nr;
	return fd >= 0 ? read(fd, &byte, 1) == 1 : in_a_child();
}

/* Many sets that watch many descriptors. */
static bool take_watch(long nr)
{
	struct epoll_event event = { .events = EPOLLIN };
	static int set = -1, fds[512];

	if (!nr)
		for (int i = 0; i < 512; i++)
			fds[i] = eventfd(0, 0);
	if (nr % 512 == 0)
		set = epoll_create1(0);
	return !epoll_ctl(set, EPOLL_CTL_ADD, fds[nr % 512], &event);
}

/* --- names and contents of files -------------------------------------------------------------- */

static const char *new_name(long nr)
{
	static char name[256];

	snprintf(name, sizeof(name), "/tmp/exhaust.%d.%ld", getpid(), nr);
	memset(name + strlen(name), 'x', sizeof(name) - 1 - strlen(name));
	return name;
}

static bool take_directory(long nr)
{
	return !mkdir(new_name(nr), 0755);
}

static bool take_symlink(long nr)
{
	static char target[4000];

	memset(target, 'x', sizeof(target) - 1);
	return !symlink(target, new_name(nr));
}

static bool take_link(long nr)
{
	static char first[256];

	if (nr)
		return !link(first, new_name(nr));
	strcpy(first, new_name(nr));
	return close(open(first, O_CREAT | O_RDWR, 0644)) == 0;
}

static bool write_page(const char *dir)
{
	static char block[PAGE], name[64];
	static int fd = -1;

	snprintf(name, sizeof(name), "%s/exhaust.%d", dir, getpid());
	if (fd < 0) {
		fd = open(name, O_CREAT | O_RDWR, 0644);
		unlink(name); /* it goes with the process */
	}
	return write(fd, block, PAGE) == PAGE;
}

/* Two file systems, each of which may have half of memory. */
static bool take_file(long nr)
{
	static bool first_is_full;

	(void)nr;
	first_is_full = first_is_full || !write_page("/tmp");
	return !first_is_full || write_page("/dev/shm");
}

/* Every other byte of a file. */
static bool take_record(long nr)
{
	static int fd = -1;

	if (fd < 0) {
		fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
		if (fd < 0)
			fd = open(new_name(0), O_CREAT | O_RDWR, 0600);
	}
	return !fcntl(fd, F_SETLK,
		      &(struct flock){ .l_type = F_WRLCK, .l_start = 2 * nr, .l_len = 1 });
}

/* --- memory and what goes with a process ------------------------------------------------------ */

static bool take_page(long nr)
{
	char *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)nr;
	return p != MAP_FAILED && (*p = 1);
}

/* Neighbours that differ cannot be joined. */
static bool take_mapping(long nr)
{
	return mmap(NULL, PAGE, nr & 1 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0) != MAP_FAILED;
}

/* A page table whose only page is given back. */
static bool take_table(long nr)
{
	char *p = mmap((void *)(0x100000000000ul + (unsigned long)nr * (2ul << 20)), PAGE,
		       PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return false;
	*p = 1;
	return !munmap(p, PAGE);
}

/* A page of shared memory that no process has in its table. */
static bool take_shared(long nr)
{
	char *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)nr;
	if (p == MAP_FAILED)
		return false;
	*p = 1;
	return !madvise(p, PAGE, MADV_DONTNEED);
}

static bool take_process(long nr)
{
	pid_t pid = fork();

	(void)nr;
	if (!pid)
		for (;;)
			pause();
	return pid > 0;
}

static bool take_zombie(long nr)
{
	pid_t pid = fork();

	(void)nr;
	if (!pid)
		_exit(0);
	return pid > 0;
}

static void *sleep_for_ever(void *arg)
{
	pause();
	return arg;
}

static bool take_thread(long nr)
{
	pthread_attr_t small;
	pthread_t thread;
	int err;

	(void)nr;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 4 * PAGE);
	err = pthread_create(&thread, &small, sleep_for_ever, NULL);
	errno = err;
	return !err;
}

static bool take_signal(long nr)
{
	sigset_t set;

	if (!nr) {
		sigemptyset(&set);
		sigaddset(&set, SIGRTMIN);
		sigprocmask(SIG_BLOCK, &set, NULL);
	}
	return !sigqueue(getpid(), SIGRTMIN, (union sigval){ 0 });
}

static bool take_timer(long nr)
{
	timer_t t;

	(void)nr;
	return !timer_create(CLOCK_MONOTONIC, NULL, &t);
}

const struct kind kinds[] = {
	{ "pipes", take_pipe },	       { "sockets", take_socket },   { "rings", take_ring },
	{ "events", take_event },      { "texts", take_text },	     { "watches", take_watch },
	{ "inodes", take_directory },  { "symlinks", take_symlink }, { "links", take_link },
	{ "files", take_file },	       { "records", take_record },   { "memory", take_page },
	{ "mappings", take_mapping },  { "tables", take_table },     { "shared", take_shared },
	{ "processes", take_process }, { "zombies", take_zombie },   { "threads", take_thread },
	{ "signals", take_signal },    { "timers", take_timer },     { 0 },
};
