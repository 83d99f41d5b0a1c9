/* SPDX-License-Identifier: GPL-2.0-only */
/* Metadata, directories, descriptors, terminals, and pages of memory. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "leakcheck/leakcheck.h"

enum { STAT_SIZE = 144, STATX_SIZE = 256, STATFS_SIZE = 120, PAGE = 4096 };

/* --- metadata --------------------------------------------------------------------- */

static long stat_path(void *buf)
{
	return wrote(STAT_SIZE, syscall(SYS_stat, "/", buf));
}

static long stat_link(void *buf)
{
	return wrote(STAT_SIZE, syscall(SYS_lstat, "/proc/self", buf));
}

static long stat_at(void *buf)
{
	return wrote(STAT_SIZE, syscall(SYS_newfstatat, AT_FDCWD, "/dev/null", buf, 0));
}

static long stat_pipe(void *buf)
{
	int fds[2];

	EXPECT(!pipe(fds));
	long n = wrote(STAT_SIZE, syscall(SYS_fstat, fds[0], buf));

	EXPECT(!close(fds[0]) && !close(fds[1]));
	return n;
}

static long statx_path(void *buf)
{
	return wrote(STATX_SIZE, syscall(SYS_statx, AT_FDCWD, "/", 0, 0xfff, buf));
}

static long statfs_root(void *buf)
{
	return wrote(STATFS_SIZE, syscall(SYS_statfs, "/", buf));
}

static long statfs_proc(void *buf)
{
	return wrote(STATFS_SIZE, syscall(SYS_statfs, "/proc", buf));
}

static long directory(void *buf, const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY);
	long n;

	EXPECT(fd >= 0);
	n = syscall(SYS_getdents64, fd, buf, ROOM);
	EXPECT(!close(fd));
	return wrote((size_t)n, n);
}

static long directory_root(void *buf)
{
	return directory(buf, "/");
}

static long directory_dev(void *buf)
{
	return directory(buf, "/dev");
}

static long directory_proc(void *buf)
{
	return directory(buf, "/proc");
}

static long working_directory(void *buf)
{
	long n = syscall(SYS_getcwd, buf, ROOM);

	return wrote((size_t)n, n);
}

static long link_target(void *buf)
{
	long n = syscall(SYS_readlink, "/proc/self/exe", buf, ROOM);

	return wrote((size_t)n, n);
}

/* --- descriptors --------------------------------------------------------------------- */

static long pair_of(void *buf, long ret)
{
	int fds[2];

	memcpy(fds, buf, sizeof(fds));
	EXPECT(!ret && !close(fds[0]) && !close(fds[1]));
	return sizeof(fds);
}

static long pipe_ends(void *buf)
{
	return pair_of(buf, syscall(SYS_pipe2, buf, 0));
}

static long socket_ends(void *buf)
{
	return pair_of(buf, syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, buf));
}

static long poll_events(void *buf)
{
	struct pollfd fds[2] = { { .fd = 1, .events = POLLOUT }, { .fd = -1 } };
	struct timespec limit = { .tv_sec = 5 };
	char *at = buf;

	memcpy(at, fds, sizeof(fds));
	memcpy(at + sizeof(fds), &limit, sizeof(limit));
	return wrote(sizeof(fds) + sizeof(limit),
		     syscall(SYS_ppoll, at, 2, at + sizeof(fds), NULL, 0));
}

static long select_sets(void *buf)
{
	struct timeval limit = { .tv_sec = 5 };
	uint64_t wanted[2] = { 2, 2 };
	char *at = buf;

	memcpy(at, wanted, sizeof(wanted));
	memcpy(at + sizeof(wanted), &limit, sizeof(limit));
	return wrote(sizeof(wanted) + sizeof(limit),
		     syscall(SYS_select, 2, at, at + 8, NULL, at + sizeof(wanted)));
}

static long pipe_filled(void *buf)
{
	int fds[2];

	EXPECT(!pipe(fds) && write(fds[1], "abc", 3) == 3);
	long n = wrote(4, ioctl(fds[0], FIONREAD, buf));

	EXPECT(!close(fds[0]) && !close(fds[1]));
	return n;
}

static long epoll_events(void *buf)
{
	struct {
		uint32_t events;
		uint64_t data;
	} __attribute__((packed)) event = { .events = POLLOUT, .data = 1 };
	long fd = syscall(SYS_epoll_create1, 0);
	int fds[2];

	if (fd < 0 && errno == ENOSYS)
		return -1;
	EXPECT(!pipe(fds) && !syscall(SYS_epoll_ctl, fd, 1, fds[1], &event));
	long n = syscall(SYS_epoll_wait, fd, buf, 4, -1);

	EXPECT(n == 1 && !close((int)fd) && !close(fds[0]) && !close(fds[1]));
	return sizeof(event);
}

static long timerfd_left(void *buf)
{
	long fd = syscall(SYS_timerfd_create, CLOCK_MONOTONIC, 0);

	if (fd < 0 && errno == ENOSYS)
		return -1;
	long n = wrote(32, syscall(SYS_timerfd_gettime, fd, buf));

	EXPECT(!close((int)fd));
	return n;
}

/* --- terminals --------------------------------------------------------------------- */

/* There is a terminal in Fairground, and perhaps none where the program runs on Linux. */
static long terminal(void *buf, unsigned long request, size_t size)
{
	int fd = open("/dev/console", O_RDWR | O_NOCTTY);
	long ret = fd < 0 ? -1 : ioctl(fd, request, buf);

	if (fd >= 0)
		EXPECT(!close(fd));
	return ret < 0 ? -1 : (long)size;
}

static long terminal_settings(void *buf)
{
	return terminal(buf, TCGETS, 36);
}

static long terminal_size(void *buf)
{
	return terminal(buf, TIOCGWINSZ, 8);
}

static long terminal_group(void *buf)
{
	return terminal(buf, TIOCGPGRP, 4);
}

/* --- pages --------------------------------------------------------------------- */

static long new_pages(void *buf)
{
	void *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(p != MAP_FAILED);
	memcpy(buf, p, 2 * PAGE);
	EXPECT(!munmap(p, 2 * PAGE));
	return 2 * PAGE;
}

/* Three bytes, a hole and three bytes, mapped: the rest of the last page is mapped too. */
static long file_pages(void *buf)
{
	int fd = open("/tmp/leakcheck", O_RDWR | O_CREAT | O_TRUNC, 0600);

	EXPECT(fd >= 0 && write(fd, "abc", 3) == 3 && pwrite(fd, "def", 3, 2 * PAGE) == 3);
	void *p = mmap(NULL, 3 * PAGE, PROT_READ, MAP_SHARED, fd, 0);

	EXPECT(p != MAP_FAILED);
	memcpy(buf, p, 3 * PAGE);
	EXPECT(!munmap(p, 3 * PAGE) && !close(fd) && !unlink("/tmp/leakcheck"));
	return 3 * PAGE;
}

static long grown_file(void *buf)
{
	int fd = open("/tmp/leakcheck", O_RDWR | O_CREAT | O_TRUNC, 0600);

	EXPECT(fd >= 0 && write(fd, "abc", 3) == 3 && !ftruncate(fd, 1) && !ftruncate(fd, 6000));
	long n = pread(fd, buf, ROOM, 0);

	EXPECT(n == 6000 && !close(fd) && !unlink("/tmp/leakcheck"));
	return n;
}

static long residency(void *buf)
{
	return wrote(4, syscall(SYS_mincore, (uintptr_t)buf & -PAGE, 4 * PAGE, buf));
}

/* execve() puts texts above the environment, and the random bytes of AT_RANDOM. */
static long program_stack(void *buf)
{
	uintptr_t random = getauxval(AT_RANDOM), from = (uintptr_t)environ & -16ul;

	EXPECT(random > from && random - from < ROOM);
	memcpy(buf, (void *)from, random - from);
	return (long)(random - from);
}

static long text_of(void *buf, const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK);

	if (fd < 0)
		return -1;
	long n = read(fd, buf, ROOM);

	EXPECT(!close(fd));
	return wrote((size_t)n, n);
}

static long auxiliary_vector(void *buf)
{
	return text_of(buf, "/proc/self/auxv");
}

static long command_line(void *buf)
{
	return text_of(buf, "/proc/self/cmdline");
}

/* The page that the vDSO reads lies below it. */
static long vdso_page(void *buf)
{
	const char *vdso = (const char *)getauxval(AT_SYSINFO_EHDR);

	struct utsname name;

	EXPECT(!uname(&name));
	if (!vdso || !strstr(name.release, "fairground"))
		return -1; /* Linux's page is not laid out like this */
	memcpy(buf, vdso - PAGE, PAGE);
	return PAGE;
}

/* --- trace pages --------------------------------------------------------------------- */

static void set_tracing(const char *on)
{
	int fd = open("/sys/kernel/tracing/events/enable", O_WRONLY);

	EXPECT(fd >= 0 && write(fd, on, 1) == 1 && !close(fd));
}

/* Every event that the calls below cause, as the pages of the ring of CPU 0 have them. */
static long trace_pages(void *buf)
{
	struct timespec ms = { .tv_nsec = 1000000 };
	int fd = open("/sys/kernel/tracing/per_cpu/cpu0/trace_pipe_raw", O_RDONLY | O_NONBLOCK);

	if (fd < 0)
		return -1;
	set_tracing("1");
	for (int i = 0; i < 5; i++) {
		await_child(spawn_short());
		nanosleep(&ms, NULL);
	}
	set_tracing("0");
	long n = read(fd, buf, 2 * PAGE);

	EXPECT(!close(fd));
	return wrote((size_t)n, n);
}

const struct probe file_probes[] = {
	{ "stat", stat_path },
	{ "lstat", stat_link },
	{ "newfstatat", stat_at },
	{ "fstat", stat_pipe },
	{ "statx", statx_path },
	{ "statfs /", statfs_root },
	{ "statfs /proc", statfs_proc },
	{ "getdents64 /", directory_root },
	{ "getdents64 /dev", directory_dev },
	{ "getdents64 /proc", directory_proc },
	{ "getcwd", working_directory },
	{ "readlink", link_target },
	{ "pipe2", pipe_ends },
	{ "socketpair", socket_ends },
	{ "ppoll", poll_events },
	{ "select", select_sets },
	{ "ioctl FIONREAD", pipe_filled },
	{ "epoll_wait", epoll_events },
	{ "timerfd_gettime", timerfd_left },
	{ "ioctl TCGETS", terminal_settings },
	{ "ioctl TIOCGWINSZ", terminal_size },
	{ "ioctl TIOCGPGRP", terminal_group },
	{ "new pages", new_pages },
	{ "pages of a file", file_pages },
	{ "grown file", grown_file },
	{ "mincore", residency },
	{ "execve's stack", program_stack },
	{ "/proc/self/auxv", auxiliary_vector },
	{ "/proc/self/cmdline", command_line },
	{ "vDSO's page", vdso_page },
	{ "trace pages", trace_pages },
	{ 0 },
};
