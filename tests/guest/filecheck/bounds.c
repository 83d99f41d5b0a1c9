/* SPDX-License-Identifier: GPL-2.0-only */
/* The bounds of what calls take: each just inside and just outside. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "filecheck/filecheck.h"

enum { FILES = 300, MOST_SEGMENTS = 1024, MOST_LINKS = 40 };

/* poll takes as many entries as there may be descriptors. */
static void poll_entries(void)
{
	struct rlimit limit = { FILES, FILES };
	struct timespec now = { 0 };
	struct pollfd fds[FILES + 1];

	for (int i = 0; i <= FILES; i++)
		fds[i] = (struct pollfd){ .fd = -1 };
	EXPECT(!setrlimit(RLIMIT_NOFILE, &limit));
	fds[FILES - 1] = (struct pollfd){ .fd = 0, .events = POLLNVAL };
	close(0);
	EXPECT(poll(fds, FILES, 0) == 1 && fds[FILES - 1].revents == POLLNVAL);
	EXPECT(ppoll(fds, FILES, &now, NULL) == 1);
	EXPECT_ERROR(EINVAL, poll(fds, FILES + 1, 0));
	EXPECT_ERROR(EINVAL, ppoll(fds, FILES + 1, &now, NULL));
	EXPECT_ERROR(EINVAL, poll(fds, (nfds_t)-1, 0));
	EXPECT_ERROR(EINVAL, fcntl(1, F_DUPFD, FILES));
	EXPECT(fcntl(1, F_DUPFD, FILES - 1) == FILES - 1);
	EXPECT_ERROR(EMFILE, fcntl(1, F_DUPFD, FILES - 1));
}

/* select looks at descriptors below its first argument, and at no more than a set has. */
static void select_numbers(void)
{
	static unsigned char sets[1 << 16];
	struct timeval now = { 0 };
	fd_set *r = (fd_set *)sets;
	int p[2];

	EXPECT(!pipe(p) && write(p[1], "x", 1) == 1 && dup2(p[0], FD_SETSIZE - 1) > 0);
	FD_SET(FD_SETSIZE - 1, r);
	EXPECT(select(FD_SETSIZE, r, NULL, NULL, &now) == 1 && FD_ISSET(FD_SETSIZE - 1, r));
	EXPECT(select(FD_SETSIZE - 1, r, NULL, NULL, &now) == 0);
	FD_SET(FD_SETSIZE - 1, r);
	EXPECT(select(1 << 19, r, NULL, NULL, &now) == 1);
	EXPECT_ERROR(EINVAL, select(-1, r, NULL, NULL, &now));
}

static void segments(void)
{
	static char text[MOST_SEGMENTS + 1];
	struct iovec iov[MOST_SEGMENTS + 1];
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = MOST_SEGMENTS };
	int fd = open("f", O_CREAT | O_RDWR, 0644), s[2];

	for (int i = 0; i <= MOST_SEGMENTS; i++)
		iov[i] = (struct iovec){ &text[i], 1 };
	EXPECT(!socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	EXPECT(writev(fd, iov, MOST_SEGMENTS) == MOST_SEGMENTS);
	EXPECT(preadv(fd, iov, MOST_SEGMENTS, 0) == MOST_SEGMENTS);
	EXPECT(sendmsg(s[0], &m, 0) == MOST_SEGMENTS && recvmsg(s[1], &m, 0) == MOST_SEGMENTS);
	EXPECT_ERROR(EINVAL, writev(fd, iov, MOST_SEGMENTS + 1));
	EXPECT_ERROR(EINVAL, readv(fd, iov, MOST_SEGMENTS + 1));
	EXPECT_ERROR(EINVAL, pwritev(fd, iov, MOST_SEGMENTS + 1, 0));
	m.msg_iovlen = MOST_SEGMENTS + 1;
	EXPECT_ERROR(EMSGSIZE, syscall(SYS_sendmsg, s[0], &m, 0));
	EXPECT_ERROR(EMSGSIZE, syscall(SYS_recvmsg, s[1], &m, 0));
	EXPECT(writev(fd, iov, 0) == 0 && readv(fd, iov, 0) == 0);
}

static void epoll_events(void)
{
	const int most = INT_MAX / (int)sizeof(struct epoll_event);
	struct epoll_event e = { .events = EPOLLIN }, *got;
	int set = epoll_create1(0);

	/* Room is asked for, not touched. */
	got = mmap(NULL, (size_t)1 << 31, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(got != MAP_FAILED && epoll_wait(set, got, most, 0) == 0);
	EXPECT_ERROR(EINVAL, epoll_wait(set, got, most + 1, 0));
	EXPECT_ERROR(EINVAL, epoll_wait(set, got, 0, 0));
	EXPECT_ERROR(EINVAL, epoll_wait(set, got, -1, 0));
	EXPECT(!mprotect(got, 4096, PROT_READ | PROT_WRITE));
	for (int i = 0; i < 5; i++)
		EXPECT(!epoll_ctl(set, EPOLL_CTL_ADD, eventfd(1, 0), &e));
	EXPECT(epoll_wait(set, got, 4, 0) == 4 && epoll_wait(set, got, 5, 0) == 5);
	EXPECT(epoll_wait(set, got, 6, 0) == 5);
}

static void size_pipe(void *pipe)
{
	int fd = *(int *)pipe;

	EXPECT(geteuid() || !setuid(1000));
	EXPECT(fcntl(fd, F_SETPIPE_SZ, 1 << 20) == 1 << 20);
	EXPECT_ERROR(EPERM, fcntl(fd, F_SETPIPE_SZ, (1 << 20) + 1));
	EXPECT_ERROR(EPERM, fcntl(fd, F_SETPIPE_SZ, 1ul << 31));
	EXPECT_ERROR(EINVAL, fcntl(fd, F_SETPIPE_SZ, (1ul << 31) + 1));
	EXPECT_ERROR(EINVAL, fcntl(fd, F_SETPIPE_SZ, -1l));
	EXPECT(fcntl(fd, F_SETPIPE_SZ, 4097) == 8192 && fcntl(fd, F_SETPIPE_SZ, 1) == 4096);
}

static void pipe_sizes(void)
{
	static char text[65536 + 1];
	int p[2];

	EXPECT(!pipe2(p, O_NONBLOCK));
	await_child(spawn(size_pipe, &p[1]));
	EXPECT(write(p[1], text, 4096) == 4096 && fcntl(p[1], F_SETPIPE_SZ, 65536) == 65536);
	EXPECT(write(p[1], text, sizeof(text) - 4096) == 65536 - 4096);
	EXPECT_ERROR(EAGAIN, write(p[1], text, 1));
	EXPECT_ERROR(EBUSY, fcntl(p[1], F_SETPIPE_SZ, 32768));
	EXPECT(read(p[0], text, 65537) == 65536);
}

static void names(void)
{
	char name[PATH_MAX + 1], link[16];

	memset(name, 'n', sizeof(name));
	name[NAME_MAX] = '\0';
	EXPECT(!mkdir(name, 0755) && !rmdir(name));
	name[NAME_MAX] = 'n';
	name[NAME_MAX + 1] = '\0';
	EXPECT_ERROR(ENAMETOOLONG, mkdir(name, 0755));
	for (int i = 0; i < PATH_MAX; i++)
		name[i] = i % 2 ? '/' : '.';
	name[PATH_MAX] = '\0';
	EXPECT_ERROR(ENAMETOOLONG, access(name, F_OK));
	name[PATH_MAX - 1] = '\0';
	EXPECT(!access(name, F_OK));
	close(open("link0", O_CREAT | O_WRONLY, 0644));
	for (int i = 1; i <= MOST_LINKS + 1; i++) {
		snprintf(name, sizeof(name), "link%d", i - 1);
		snprintf(link, sizeof(link), "link%d", i);
		EXPECT(!symlink(name, link));
	}
	EXPECT(!access("link40", F_OK));
	EXPECT_ERROR(ELOOP, access("link41", F_OK));
}

static void numbers(void)
{
	struct flock last = { .l_type = F_WRLCK, .l_start = INT64_MAX, .l_len = 1 };
	struct timespec ts[2] = { { 1, 999999999 }, { 1, 0 } };
	int fd = open("f", O_CREAT | O_RDWR, 0644), null = open("/dev/null", O_WRONLY);
	int event = eventfd(0, EFD_NONBLOCK);
	uint64_t most = UINT64_MAX - 1, too_much = UINT64_MAX, one = 1, two[2] = { 0 };

	EXPECT(!fcntl(fd, F_SETLK, &last));
	last.l_len = 2;
	EXPECT_ERROR(EOVERFLOW, fcntl(fd, F_SETLK, &last));
	EXPECT(!futimens(fd, ts) && !clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, ts, NULL));
	ts[0].tv_nsec++;
	EXPECT_ERROR(EINVAL, futimens(fd, ts));
	EXPECT(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, ts, NULL) == EINVAL);
	EXPECT(write(null, (char *)sbrk(0), (size_t)INT_MAX + 1) == 0x7ffff000);
	EXPECT_ERROR(EINVAL, write(event, two, 7));
	/* Before 6.9, Linux takes the first 8 of more bytes. */
	EXPECT((write(event, two, 16) == -1 && errno == EINVAL) ||
	       access("/proc/fairground", F_OK));
	EXPECT_ERROR(EINVAL, write(event, &too_much, 8));
	EXPECT(write(event, &most, 8) == 8);
	EXPECT_ERROR(EAGAIN, write(event, &one, 8));
}

/* --- positions far behind the end ----------------------------------------------------------- */

enum { MOST_ENTRIES = 1000 };
static const off_t far[] = { INT_MAX, 1l << 31, 1l << 32, INT64_MAX };

/* The sum, or the last position there is. */
static off_t behind(off_t position, off_t distance)
{
	return position > INT64_MAX - distance ? INT64_MAX : position + distance;
}

/* Nothing is behind the last entry, also where a position has an entry's in its lower bits. */
static bool directory_ends(int fd)
{
	static char text[1 << 16];
	off_t at[MOST_ENTRIES], last = 0, here;
	unsigned nr = 0;
	long got;

	while (nr < MOST_ENTRIES && (got = syscall(SYS_getdents64, fd, text, sizeof(text))) > 0)
		for (const char *e = text; e < text + got && nr < MOST_ENTRIES;) {
			const struct dirent *entry = (const struct dirent *)e;

			at[nr++] = entry->d_off;
			last = entry->d_off > last ? entry->d_off : last;
			e += entry->d_reclen;
		}
	for (unsigned i = 0; i < nr * 4; i++) {
		here = behind(at[i / 4], far[i % 4]);
		if (here > last && lseek(fd, here, SEEK_SET) == here &&
		    syscall(SYS_getdents64, fd, text, sizeof(text)) > 0)
			return false;
	}
	return true;
}

static bool file_ends(int fd)
{
	static char text[1 << 16];
	off_t size = 0;
	long got;

	while (size < 1 << 20 && (got = read(fd, text, sizeof(text))) > 0)
		size += got;
	for (unsigned i = 0; i < sizeof(far) / sizeof(far[0]); i++)
		if (pread(fd, text, 4096, behind(size, far[i]) - 4096) > 0)
			return false;
	return true;
}

static int end_is_found(const char *path, const struct stat *st, int type, struct FTW *at)
{
	bool memory = !strcmp(path + at->base, "mem") || !strcmp(path + at->base, "pagemap");
	int fd = S_ISREG(st->st_mode) || S_ISDIR(st->st_mode) ? open(path, O_RDONLY | O_NONBLOCK)
							      : -1;

	(void)type;
	if (fd >= 0 && !strncmp(path + at->base, "trace_pipe", 10))
		EXPECT_ERROR(ESPIPE, lseek(fd, 0, SEEK_CUR));
	else if (fd >= 0 && !memory && lseek(fd, 0, SEEK_CUR) == 0) {
		EXPECT(lseek(fd, -1, SEEK_SET) == 0 || errno == EINVAL);
		if (!(S_ISDIR(st->st_mode) ? directory_ends(fd) : file_ends(fd))) {
			printf("%s does not end\n", path);
			fail(__FILE__, __LINE__, "a file that the kernel makes ends");
		}
	}
	return fd >= 0 && close(fd);
}

/* Linux's are many, and some are slow. */
static void far_positions(void)
{
	bool here = !access("/proc/fairground", F_OK);

	EXPECT(!nftw(here ? "/proc" : "/proc/self/", end_is_found, 16, FTW_PHYS));
	EXPECT(!nftw(here ? "/sys" : ".", end_is_found, 16, FTW_PHYS));
}

const struct check bound_tests[] = {
	{ "bounds-poll", poll_entries },
	{ "bounds-select", select_numbers },
	{ "bounds-vectors", segments },
	{ "bounds-epoll", epoll_events },
	{ "bounds-pipes", pipe_sizes },
	{ "bounds-names", names },
	{ "bounds-numbers", numbers },
	{ "bounds-positions", far_positions },
	{ NULL, NULL },
};
