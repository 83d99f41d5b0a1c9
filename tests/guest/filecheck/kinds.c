/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls on descriptors of every kind, also of those kinds that the call does not fit. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "filecheck/filecheck.h"

/* --- O_PATH ------------------------------------------------------------------------------- */

static int open_path(void)
{
	int fd;

	close(open("f", O_CREAT | O_RDWR, 0644));
	fd = open("f", O_PATH);
	EXPECT(fd >= 0);
	return fd;
}

static void paths_have_no_contents(void)
{
	int fd = open_path(), p[2];
	char text[4] = { 0 };
	struct iovec iov = { text, sizeof(text) };

	EXPECT(!pipe(p));
	EXPECT_ERROR(EBADF, read(fd, text, 0));
	EXPECT_ERROR(EBADF, write(fd, text, 1));
	EXPECT_ERROR(EBADF, pread(fd, text, 1, 0));
	EXPECT_ERROR(EBADF, readv(fd, &iov, 1));
	EXPECT_ERROR(EBADF, pwritev(fd, &iov, 1, 0));
	EXPECT_ERROR(EBADF, lseek(fd, 0, SEEK_CUR));
	EXPECT_ERROR(EBADF, ftruncate(fd, 1));
	EXPECT_ERROR(EINVAL, ftruncate(fd, -1));
	EXPECT_ERROR(EBADF, fallocate(fd, 0, 0, 1));
	EXPECT(posix_fadvise(fd, 0, 1, 0) == EBADF);
	EXPECT_ERROR(EBADF, fsync(fd));
	EXPECT_ERROR(EBADF, fdatasync(fd));
	EXPECT_ERROR(EBADF, syncfs(fd));
	EXPECT(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED && errno == EBADF);
	EXPECT(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 1) == MAP_FAILED && errno == EINVAL);
	EXPECT(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, fd, 0) != MAP_FAILED);
	EXPECT_ERROR(EBADF, splice(fd, NULL, p[1], NULL, 1, 0));
	EXPECT_ERROR(EBADF, syscall(SYS_getdents64, open(".", O_PATH), text, 4));
}

static void paths_have_no_state(void)
{
	int fd = open_path(), on = 1;
	struct flock lock = { .l_type = F_RDLCK };
	struct pollfd pfd = { fd, POLLIN, 0 };
	struct epoll_event e = { .events = EPOLLIN };

	EXPECT_ERROR(EBADF, syscall(SYS_fchmod, fd, 0777)); /* musl goes round it */
	EXPECT_ERROR(EBADF, syscall(SYS_fchown, fd, -1, -1));
	EXPECT_ERROR(EBADF, futimens(fd, NULL));
	EXPECT_ERROR(EBADF, fcntl(fd, F_SETFL, O_APPEND));
	EXPECT_ERROR(EBADF, fcntl(fd, F_SETOWN, 1));
	EXPECT_ERROR(EBADF, fcntl(fd, F_GETLK, &lock));
	EXPECT_ERROR(EBADF, fcntl(fd, F_SETLK, &lock));
	EXPECT_ERROR(EBADF, fcntl(fd, F_GETPIPE_SZ));
	EXPECT_ERROR(EBADF, fcntl(fd, 9999));
	EXPECT_ERROR(EBADF, ioctl(fd, FIOCLEX));
	EXPECT_ERROR(EBADF, ioctl(fd, FIONBIO, &on));
	EXPECT_ERROR(EBADF, flock(fd, LOCK_SH));
	EXPECT_ERROR(EBADF, epoll_ctl(epoll_create1(0), EPOLL_CTL_ADD, fd, &e));
	EXPECT(poll(&pfd, 1, 0) == 1 && pfd.revents == POLLNVAL);
	EXPECT(!fcntl(fd, F_GETFD) && (fcntl(fd, F_GETFL) & ~0100000) == O_PATH);
}

/* Calls about names, and about the descriptor itself. */
static void paths_have_names(void)
{
	int fd = open_path(), dir = open(".", O_PATH), copy = dup(fd);
	struct statfs fs;
	struct stat st;

	EXPECT(!fstat(fd, &st) && S_ISREG(st.st_mode) && !fstatfs(fd, &fs));
	EXPECT(!fchownat(fd, "", (uid_t)-1, (gid_t)-1, AT_EMPTY_PATH));
	EXPECT(!fstatat(dir, "f", &st, 0) && !fchdir(dir) && copy >= 0);
	EXPECT(dup2(fd, copy) == copy && dup2(fd, fd) == fd && dup3(fd, copy, 0) == copy);
	EXPECT(fcntl(fd, F_DUPFD, 0) >= 0 && fcntl(fd, F_DUPFD_CLOEXEC, 0) >= 0);
	EXPECT(!fcntl(fd, F_SETFD, FD_CLOEXEC) && fcntl(fd, F_GETFD) == FD_CLOEXEC);
	EXPECT(!close(fd) && !close(copy));
}

/* --- the last position -------------------------------------------------------------------- */

/* No byte has a position of 2^63 - 1 or more, and reads that would touch it say so. */
static void last_position(void)
{
	const off_t last = INT64_MAX;
	int fd = open("f", O_CREAT | O_RDWR, 0644), in = open("f", O_RDONLY), p[2];
	char text[4] = { 0 };
	struct iovec iov = { text, sizeof(text) };

	EXPECT(fd >= 0 && in >= 0 && !pipe(p));
	EXPECT_ERROR(EINVAL, pread(fd, text, 1, last));
	EXPECT_ERROR(EINVAL, pread(fd, text, 4, last - 3));
	EXPECT(pread(fd, text, 4, last - 4) == 0 && pread(fd, text, 0, last) == 0);
	EXPECT_ERROR(EINVAL, pwrite(fd, text, 1, last));
	EXPECT_ERROR(EFBIG, pwrite(fd, text, 4, last - 4));
	EXPECT_ERROR(EBADF, pwrite(in, text, 1, last));
	EXPECT_ERROR(EINVAL, preadv(fd, &iov, 1, last));
	EXPECT(preadv(fd, &iov, 0, last) == 0 && preadv(fd, &iov, 1, last - 4) == 0);
	EXPECT_ERROR(EINVAL, pwritev(fd, &iov, 1, last));
	EXPECT_ERROR(ESPIPE, pread(p[0], text, 1, last));
}

static bool is_refused(long result)
{
	return result < 0 && errno == EINVAL;
}

/*
 * Bytes that would pass the last position are refused, and no fewer, by each way to read and write.
 * Each file system answers in its own way to bytes that fit.
 */
static void near_last_position(void)
{
	const off_t last = INT64_MAX;
	int fd = open("f", O_CREAT | O_RDWR, 0644);
	char text[4] = { 0 };

	if (lseek(fd, last, SEEK_SET) != last)
		return; /* a file system with a limit of its own */
	for (unsigned i = 0; i < 6 * 5; i++) {
		off_t room = i / 5, at = last - room;
		size_t n = i % 5;
		struct iovec iov = { text, n };
		bool beyond = (off_t)n > room;

		EXPECT(lseek(fd, at, SEEK_SET) == at && is_refused(read(fd, text, n)) == beyond);
		EXPECT(lseek(fd, at, SEEK_SET) == at && is_refused(readv(fd, &iov, 1)) == beyond);
		EXPECT(lseek(fd, at, SEEK_SET) == at && is_refused(write(fd, text, n)) == beyond);
		EXPECT(lseek(fd, at, SEEK_SET) == at && is_refused(writev(fd, &iov, 1)) == beyond);
		EXPECT(is_refused(pread(fd, text, n, at)) == beyond);
		EXPECT(is_refused(preadv(fd, &iov, 1, at)) == beyond);
		EXPECT(is_refused(pwrite(fd, text, n, at)) == beyond);
		EXPECT(is_refused(pwritev(fd, &iov, 1, at)) == beyond);
	}
}

/* The descriptor and the position are looked at before memory. */
static void errors_in_order(void)
{
	const struct iovec *nowhere = (struct iovec *)1;
	int fd = open("f", O_CREAT | O_RDONLY, 0644), null = open("/dev/null", O_RDWR), p[2];
	char text[4];

	EXPECT(fd >= 0 && !pipe(p));
	EXPECT_ERROR(EINVAL, pread(-1, text, 1, -1));
	EXPECT_ERROR(EINVAL, pread(p[0], text, 1, -1));
	EXPECT_ERROR(EINVAL, preadv(-1, nowhere, 1, -1));
	EXPECT_ERROR(ESPIPE, preadv(p[0], nowhere, 1, 0));
	EXPECT_ERROR(EBADF, readv(p[1], nowhere, 1));
	EXPECT_ERROR(EBADF, pwritev(fd, nowhere, 1, 0));
	EXPECT_ERROR(EFAULT, preadv(fd, nowhere, 1, 0));
	EXPECT(pread(null, text, 4, 0) == 0 && pwrite(null, text, 4, 0) == 4);
	EXPECT(posix_fadvise(p[0], 0, -1, 0) == ESPIPE);
	EXPECT(posix_fadvise(epoll_create1(0), 0, 0, 0) == 0);
}

static int map_error(int fd, size_t length, off_t offset)
{
	errno = 0;
	return mmap(NULL, length, PROT_READ, MAP_SHARED, fd, offset) == MAP_FAILED ? errno : 0;
}

static void last_page(void)
{
	const off_t last = INT64_MAX & ~4095l;
	int fd = open("f", O_CREAT | O_RDWR, 0644), flags = MAP_PRIVATE | MAP_ANONYMOUS;

	EXPECT(map_error(fd, 4096, last) == EOVERFLOW && map_error(fd, 8192, last) == EOVERFLOW);
	EXPECT(map_error(fd, 8192, last - 4096) == EOVERFLOW);
	EXPECT(map_error(fd, 1, -4096) == EOVERFLOW && map_error(fd, 0, last) == EINVAL);
	EXPECT(map_error(fd, (size_t)-1, last) == ENOMEM);
	EXPECT(map_error(-1, 4096, last) == EBADF && map_error(-1, 4096, 1) == EINVAL);
	EXPECT(syscall(SYS_mmap, NULL, 8192, PROT_READ, flags, -1, -4096) > 0);
}

/* --- events ------------------------------------------------------------------------------- */

/* Before 6.10, Linux reads timers and signals into one segment only. */
static int reads_parts(ssize_t got)
{
	return got > 0 || (errno == EINVAL && access("/proc/fairground", F_OK));
}

/* An event may be read in parts, but not a part of an event. */
static void events_in_parts(void)
{
	const struct itimerspec soon = { .it_value = { 0, 1 } };
	unsigned char text[256] = { 0 };
	struct iovec halves[2] = { { text, 4 }, { text + 4, 4 } };
	struct iovec signals[2] = { { text, 100 }, { text + 128, 156 } };
	int event = eventfd(5, EFD_NONBLOCK), timer = timerfd_create(CLOCK_MONOTONIC, 0);
	uint64_t one = 1;
	sigset_t set;

	EXPECT_ERROR(EINVAL, readv(event, halves, 1));
	EXPECT(readv(event, halves, 0) == 0 && readv(event, halves, 2) == 8 && text[0] == 5);
	EXPECT(write(event, &one, 8) == 8);
	halves[1].iov_base = NULL;
	EXPECT_ERROR(EFAULT, readv(event, halves, 2));
	EXPECT_ERROR(EAGAIN, read(event, text, 8)); /* it is gone */
	halves[1].iov_base = text + 12;
	EXPECT(!timerfd_settime(timer, 0, &soon, NULL));
	EXPECT(reads_parts(readv(timer, halves, 2)));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	text[0] = text[128] = 0xff;
	raise(SIGUSR1);
	EXPECT(reads_parts(readv(signalfd(-1, &set, SFD_NONBLOCK), signals, 2)));
	EXPECT(text[0] != SIGUSR1 || text[128] != 0xff);
}

static int open_nameless(int kind)
{
	sigset_t set;

	sigemptyset(&set);
	return kind == 0   ? eventfd(0, 0)
	       : kind == 1 ? timerfd_create(CLOCK_MONOTONIC, 0)
	       : kind == 2 ? signalfd(-1, &set, 0)
	       : kind == 3 ? epoll_create1(0)
			   : open("/dev/null", O_RDWR);
}

/* Some kinds of files that have no positions let one seek, and stay. */
static void seeking_nowhere(void)
{
	int p[2];

	for (int kind = 0; kind <= 4; kind++) {
		int fd = open_nameless(kind);

		EXPECT(fd >= 0 && lseek(fd, 5, SEEK_SET) == 0 && lseek(fd, -1, SEEK_END) == 0);
		EXPECT_ERROR(EINVAL, lseek(fd, 0, 99));
		if (kind <= 3)
			EXPECT_ERROR(ESPIPE, pread(fd, &p, 8, 0));
	}
	EXPECT(!pipe(p));
	EXPECT_ERROR(ESPIPE, lseek(p[0], 0, SEEK_CUR));
	EXPECT_ERROR(EINVAL, lseek(p[0], 0, 99));
}

/* A watch of its own takes few settings, and keeps them. */
static void exclusive_watches(void)
{
	static const uint32_t refused[] = { EPOLLONESHOT, EPOLLPRI, EPOLLRDHUP, EPOLLRDNORM };
	struct epoll_event e = { .events = EPOLLIN };
	int set = epoll_create1(0), event = eventfd(0, 0), other = eventfd(0, 0);

	for (int i = 0; i < 4; i++) {
		e.events = EPOLLEXCLUSIVE | EPOLLIN | refused[i];
		EXPECT_ERROR(EINVAL, epoll_ctl(set, EPOLL_CTL_ADD, event, &e));
	}
	e.events = EPOLLEXCLUSIVE | EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP | EPOLLET;
	EXPECT_ERROR(EINVAL, epoll_ctl(set, EPOLL_CTL_ADD, epoll_create1(0), &e));
	EXPECT_ERROR(EINVAL, epoll_ctl(set, EPOLL_CTL_MOD, other, &e));
	EXPECT(!epoll_ctl(set, EPOLL_CTL_ADD, event, &e));
	e.events = EPOLLIN;
	EXPECT_ERROR(EINVAL, epoll_ctl(set, EPOLL_CTL_MOD, event, &e));
	EXPECT_ERROR(ENOENT, epoll_ctl(set, EPOLL_CTL_MOD, other, &e));
	e.events = EPOLLEXCLUSIVE | EPOLLONESHOT;
	EXPECT(!epoll_ctl(set, EPOLL_CTL_DEL, event, &e));
}

static void *until_read(void *fd)
{
	char c;

	EXPECT(read(*(int *)fd, &c, 1) == 0);
	return NULL;
}

/* A walk that begins at a file of any kind keeps nothing of it, also while threads share it. */
static void walks_let_go(void)
{
	pthread_t thread;
	int p[2], q[2];
	char c;

	EXPECT(!pipe2(p, O_NONBLOCK) && !pipe(q));
	EXPECT(!pthread_create(&thread, NULL, until_read, &q[0]));
	EXPECT_ERROR(ENOTDIR, openat(p[1], "x", O_RDONLY));
	EXPECT(!close(p[1]) && read(p[0], &c, 1) == 0 && !close(q[1]));
	EXPECT(!pthread_join(thread, NULL));
}

/* A message with a flag that the socket does not know is not sent. */
static void unknown_flags_send_nothing(void)
{
	int s[2];
	char c;

	EXPECT(!socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	if (send(s[0], "x", 1, MSG_OOB) == 1) {
		EXPECT(access("/proc/fairground", F_OK)); /* many a Linux knows this one */
		return;
	}
	EXPECT(errno == EOPNOTSUPP);
	EXPECT_ERROR(EAGAIN, recv(s[1], &c, 1, MSG_DONTWAIT));
}

/* --- paths without a name ------------------------------------------------------------------ */

/* An empty path is the descriptor's file itself where a call is told so, and else nothing. */
static void empty_paths(void)
{
	int file = open("f", O_CREAT | O_RDWR, 0644), dir = open(".", O_RDONLY), link;
	struct stat st;
	char text[8];

	EXPECT(!symlink("f", "l") && (link = open("l", O_PATH | O_NOFOLLOW)) >= 0);
	EXPECT(readlinkat(link, "", text, sizeof(text)) == 1 && text[0] == 'f');
	EXPECT(!fstatat(link, "", &st, AT_EMPTY_PATH) && S_ISLNK(st.st_mode));
	EXPECT(!fstatat(AT_FDCWD, "", &st, AT_EMPTY_PATH) && S_ISDIR(st.st_mode));
	EXPECT(!fchownat(link, "", (uid_t)-1, (gid_t)-1, AT_EMPTY_PATH));
	if (!geteuid())
		EXPECT(!linkat(file, "", AT_FDCWD, "g", AT_EMPTY_PATH));
	EXPECT(!fstat(file, &st) && st.st_nlink == (geteuid() ? 1 : 2));
	EXPECT_ERROR(ENOENT, readlinkat(AT_FDCWD, "", text, sizeof(text)));
	EXPECT_ERROR(ENOENT, fstatat(file, "", &st, 0));
	EXPECT_ERROR(ENOENT, fchownat(file, "", (uid_t)-1, (gid_t)-1, 0));
	EXPECT_ERROR(ENOENT, linkat(file, "", AT_FDCWD, "h", 0));
	EXPECT_ERROR(ENOENT, linkat(AT_FDCWD, "f", dir, "", 0));
	EXPECT_ERROR(ENOENT, symlinkat("f", dir, ""));
	EXPECT_ERROR(ENOENT, renameat(AT_FDCWD, "f", dir, ""));
	EXPECT_ERROR(ENOENT, renameat(file, "", AT_FDCWD, "h"));
	EXPECT_ERROR(ENOENT, unlinkat(file, "", 0));
	EXPECT_ERROR(ENOENT, mkdirat(dir, "", 0755));
	EXPECT_ERROR(ENOENT, openat(file, "", O_RDONLY));
	EXPECT_ERROR(ENOENT, faccessat(file, "", F_OK, 0));
}

/* --- settings that are texts --------------------------------------------------------------- */

/* Files in a directory of the tracer, each with a setting that it takes and shows. */
static const struct {
	const char *path, *text, *needs;
} settings[] = {
	{ "set_event", "sched:sched_switch\n", "" },
	{ "set_event_pid", "1\n", "" },
	{ "events/sched/sched_switch/trigger", "hist:keys=prev_pid\n",
	  "events/sched/sched_switch/hist" },
};

static long read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY);
	long n = read(fd, text, size);

	EXPECT(fd >= 0 && n >= 0 && !close(fd));
	return n;
}

/* Opening with O_TRUNC takes a setting away before anything is written; O_APPEND does not. */
static void settings_are_cut(void)
{
	const char *dir = "/sys/kernel/tracing/instances/filecheck";
	char before[4096], after[4096], path[100];

	if (mkdir(dir, 0755))
		return; /* a system that does not let this user trace */
	for (unsigned i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		const char *text = settings[i].text;
		long none, len = (long)strlen(text);
		int fd;

		snprintf(path, sizeof(path), "%s/%s", dir, settings[i].needs);
		if (access(path, F_OK))
			continue; /* a kernel without histograms */
		snprintf(path, sizeof(path), "%s/%s", dir, settings[i].path);
		none = read_text(path, before, sizeof(before));
		fd = open(path, O_WRONLY | O_APPEND);
		EXPECT(fd >= 0 && write(fd, text, strlen(text)) == len && !close(fd));
		EXPECT(read_text(path, after, sizeof(after)) != none);
		fd = open(path, O_WRONLY | O_APPEND);
		EXPECT(fd >= 0 && !close(fd) && read_text(path, after, sizeof(after)) != none);
		fd = open(path, O_WRONLY | O_TRUNC);
		EXPECT(fd >= 0 && !close(fd) && read_text(path, after, sizeof(after)) == none);
		EXPECT(!memcmp(before, after, (size_t)none));
	}
	EXPECT(!rmdir(dir));
}

/* Links that the kernel makes may be followed by everyone, and say so. */
static void modes_of_links(void)
{
	static const char *const links[] = { "/proc/self", "/proc/thread-self", "/proc/mounts" };
	struct stat st;

	for (unsigned i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		EXPECT(!lstat(links[i], &st) && st.st_mode == (S_IFLNK | 0777));
}

/* A text that is too long by far is cut where it comes in, and takes no memory of its length. */
static void long_settings(void)
{
	const size_t len = 64 << 20;
	char *text = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open("/proc/self/comm", O_WRONLY);

	EXPECT(text != MAP_FAILED && fd >= 0 && write(fd, text, len) > 0);
}

/* Directories are made and removed in one place only, whatever their names elsewhere. */
static void instances_have_a_place(void)
{
	const char *mine = "/sys/kernel/tracing/instances/sched";

	if (mkdir(mine, 0755))
		return; /* a system that does not let this user trace */
	EXPECT_ERROR(EEXIST, mkdir(mine, 0755));
	EXPECT(rmdir("/sys/kernel/tracing/events/sched") && (errno == EPERM || errno == ENOTEMPTY));
	EXPECT(mkdir("/sys/kernel/tracing/events/new", 0755) &&
	       (errno == EPERM || errno == EACCES));
	EXPECT(unlink(mine) && !access(mine, F_OK));
	EXPECT(!access("/sys/kernel/tracing/events/sched", F_OK));
	EXPECT(!rmdir(mine));
	EXPECT_ERROR(ENOENT, rmdir(mine));
}

const struct check kind_tests[] = {
	{ "walks-let-go", walks_let_go },
	{ "unknown-flags-send-nothing", unknown_flags_send_nothing },
	{ "events-in-parts", events_in_parts },
	{ "seeking-nowhere", seeking_nowhere },
	{ "exclusive-watches", exclusive_watches },
	{ "last-position", last_position },
	{ "near-last-position", near_last_position },
	{ "empty-paths", empty_paths },
	{ "modes-of-links", modes_of_links },
	{ "long-settings", long_settings },
	{ "settings-are-cut", settings_are_cut },
	{ "instances-have-a-place", instances_have_a_place },
	{ "last-page", last_page },
	{ "errors-in-order", errors_in_order },
	{ "paths-have-no-contents", paths_have_no_contents },
	{ "paths-have-no-state", paths_have_no_state },
	{ "paths-have-names", paths_have_names },
	{ NULL, NULL },
};
