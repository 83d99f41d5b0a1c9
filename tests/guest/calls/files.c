/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls on descriptors, and those that make them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"

#define PAGE 4096

static int two[2], number = 1;
static struct iovec vector[] = { { buffer, 50 }, { buffer + 100, 50 } };
static struct iovec vectors[] = { { buffer, 5 }, { buffer, 5 }, { buffer, 5 }, { buffer, 5 },
				  { buffer, 5 }, { buffer, 5 }, { buffer, 5 }, { buffer, 5 },
				  { buffer, 5 }, { buffer, 5 } };
static struct msghdr message = { .msg_iov = vector, .msg_iovlen = 2 };
static struct pollfd polled[40] = { { PIPE_IN, POLLIN, 0 }, { SOCK_A, POLLIN, 0 } };
static fd_set set;
static struct timeval no_time;
static const struct timespec now_spec;
static struct epoll_event event = { .events = EPOLLIN }, found[4];
static struct itimerspec timer = { .it_value = { 1, 0 } }, old_timer;
static sigset_t signals;
static struct {
	const sigset_t *set;
	size_t size;
} with_mask = { &signals, 8 };
static struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 10, .l_len = 10 };
static loff_t offset;
static struct termios terminal;
static struct winsize window;
static struct sockaddr address = { .sa_family = AF_UNIX };
static socklen_t length = sizeof(int);
static struct stat status;
static struct statfs file_system;
static struct timespec times[2];

static void watch_pipe(void)
{
	FD_ZERO(&set);
	FD_SET(PIPE_IN, &set);
}

static void lock_between(void)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 100 };

	must(fcntl(A_FILE, F_SETLK, &all), "F_SETLK");
	lock.l_type = F_UNLCK;
}

static void fill_file(void)
{
	must(ftruncate(A_FILE, 100), "ftruncate");
	must(lseek(A_FILE, 50, SEEK_SET), "lseek");
}

static void to_end(void)
{
	must(lseek(A_FILE, 64 * PAGE, SEEK_SET), "lseek");
}

static void open_proc(const char *path)
{
	int fd = (int)must(open(path, O_RDONLY), path);

	must(dup2(fd, A_FILE), "dup2");
	close(fd);
}

static void open_maps(void)
{
	open_proc("/proc/self/maps");
}

static void open_status(void)
{
	open_proc("/proc/self/status");
}

static void open_fds(void)
{
	open_proc("/proc/self/fd");
}

static void open_zero(void)
{
	open_proc("/dev/zero");
}

const struct row file_rows[] = {
	ROW(read, A_FILE, P(buffer), 8192),
	ROW_AS(read, "pipe", ONCE, NULL, PIPE_IN, P(buffer), 100),
	ROW_AS(read, "socket", ONCE, NULL, SOCK_A, P(buffer), 100),
	ROW_AS(read, "eventfd", ONCE, NULL, AN_EVENT, P(buffer), 8),
	ROW_AS(read, "timerfd", ONCE, NULL, A_TIMER, P(buffer), 8),
	ROW_AS(read, "signalfd", ONCE, NULL, A_SIGNAL, P(buffer), 128),
	ROW_AS(read, "maps", 0, open_maps, A_FILE, P(buffer), 8192),
	ROW_AS(read, "status", 0, open_status, A_FILE, P(buffer), 8192),
	ROW_AS(read, "zero", 0, open_zero, A_FILE, P(buffer), 20000),
	ROW(write, A_FILE, P(buffer), 8192),
	ROW_AS(write, "behind", 0, to_end, A_FILE, P(buffer), 2 * PAGE),
	ROW_AS(write, "pipe", 0, NULL, EMPTY_OUT, P(buffer), 2 * PAGE),
	ROW_AS(write, "socket", 0, NULL, SOCK_A, P(buffer), PAGE),
	ROW_AS(write, "eventfd", 0, NULL, AN_EVENT, P(buffer), 8),
	ROW_AS(write, "tty", 0, NULL, A_TTY, P(" "), 1),
	ROW(close, A_TIMER),
	ROW(fstat, A_FILE, P(&status)),
	ROW(poll, P(polled), 2, 0),
	ROW_AS(poll, "many", 0, NULL, P(polled), 40, 0),
	ROW(lseek, A_FILE, 100, SEEK_SET),
	ROW(ioctl, PIPE_IN, FIONREAD, P(&number)),
	ROW_AS(ioctl, "socket", 0, NULL, SOCK_A, FIONREAD, P(&number)),
	ROW_AS(ioctl, "tcgets", 0, NULL, A_TTY, TCGETS, P(&terminal)),
	ROW_AS(ioctl, "winsize", 0, NULL, A_TTY, TIOCGWINSZ, P(&window)),
	ROW(pread64, A_FILE, P(buffer), 8192, 0),
	ROW(pwrite64, A_FILE, P(buffer), 8192, 100),
	ROW(readv, A_FILE, P(vector), 2),
	ROW_AS(readv, "many", 0, NULL, A_FILE, P(vectors), 10),
	ROW(writev, EMPTY_OUT, P(vector), 2),
	ROW_AS(writev, "many", 0, NULL, EMPTY_OUT, P(vectors), 10),
	ROW(pipe, P(two)),
	ROW_AS(select, "", ONCE, watch_pipe, 64, P(&set), 0, 0, P(&no_time)),
	ROW_AS(select, "many", ONCE, watch_pipe, 1024, P(&set), 0, 0, P(&no_time)),
	ROW(dup, A_FILE),
	ROW(dup2, A_FILE, 30),
	ROW_AS(dup2, "far", 0, NULL, A_FILE, 900),
	ROW(sendfile, EMPTY_OUT, A_FILE, P(&offset), 5000),
	ROW(socket, AF_UNIX, SOCK_STREAM, 0),
	ROW(connect, SOCK_A, P(&address), sizeof(address)),
	ROW(accept, SOCK_A, 0, 0),
	ROW(sendto, SOCK_A, P(buffer), 100, 0, 0, 0),
	ROW_AS(recvfrom, "", ONCE, NULL, SOCK_A, P(buffer), 100, 0, 0, 0),
	ROW(sendmsg, SOCK_A, P(&message), 0),
	ROW_AS(recvmsg, "", ONCE, NULL, SOCK_A, P(&message), 0),
	ROW(shutdown, SOCK_A, SHUT_WR),
	ROW(bind, SOCK_A, P(&address), sizeof(address)),
	ROW(listen, SOCK_A, 1),
	ROW(getsockname, SOCK_A, P(&address), P(&length)),
	ROW(getpeername, SOCK_A, P(&address), P(&length)),
	ROW(socketpair, AF_UNIX, SOCK_STREAM, 0, P(two)),
	ROW(setsockopt, SOCK_A, SOL_SOCKET, SO_SNDBUF, P(&number), sizeof(number)),
	ROW(getsockopt, SOCK_A, SOL_SOCKET, SO_SNDBUF, P(&number), P(&length)),
	ROW(fcntl, A_FILE, F_DUPFD, 3),
	ROW_AS(fcntl, "far", 0, NULL, A_FILE, F_DUPFD, 900),
	ROW_AS(fcntl, "lock", 0, NULL, A_FILE, F_SETLK, P(&lock)),
	ROW_AS(fcntl, "unlock", 0, lock_between, A_FILE, F_SETLK, P(&lock)),
	ROW_AS(fcntl, "getlk", 0, NULL, A_FILE, F_GETLK, P(&lock)),
	ROW_AS(fcntl, "pipe", 0, NULL, PIPE_IN, F_SETPIPE_SZ, 1 << 18),
	ROW(flock, A_FILE, 2),
	ROW(fsync, A_FILE),
	ROW(fdatasync, A_FILE),
	ROW(ftruncate, A_FILE, 100000),
	ROW_AS(ftruncate, "less", 0, NULL, A_FILE, 100),
	ROW(fchdir, A_DIR),
	ROW(fchmod, A_FILE, 0600),
	ROW(fchown, A_FILE, 0, 0),
	ROW(fstatfs, A_FILE, P(&file_system)),
	ROW(epoll_create, 1),
	ROW(epoll_create1, 0),
	ROW_AS(getdents64, "", ONCE, NULL, A_DIR, P(buffer), 8192),
	ROW_AS(getdents64, "fd", ONCE, open_fds, A_FILE, P(buffer), 8192),
	ROW(fadvise64, A_FILE, 0, 0, 0),
	ROW(epoll_wait, AN_EPOLL, P(found), 4, 0),
	ROW(epoll_pwait, AN_EPOLL, P(found), 4, 0, P(&signals), 8),
	ROW(epoll_pwait2, AN_EPOLL, P(found), 4, P(&now_spec), P(&signals), 8),
	ROW(epoll_ctl, AN_EPOLL, EPOLL_CTL_ADD, PIPE_IN, P(&event)),
	ROW_AS(epoll_ctl, "mod", 0, NULL, AN_EPOLL, EPOLL_CTL_MOD, AN_EVENT, P(&event)),
	ROW(pselect6, 64, P(&set), 0, 0, P(&now_spec), P(&with_mask)),
	ROW(ppoll, P(polled), 2, P(&now_spec), P(&signals), 8),
	ROW(splice, PIPE_IN, 0, EMPTY_OUT, 0, 100, 0),
	ROW_AS(splice, "file", ONCE, NULL, A_FILE, P(&offset), EMPTY_OUT, 0, 5000, 0),
	ROW_AS(splice, "to file", ONCE, fill_file, PIPE_IN, 0, A_FILE, 0, 100, 0),
	ROW(signalfd, -1, P(&signals), 8),
	ROW(signalfd4, -1, P(&signals), 8, 0),
	ROW(timerfd_create, CLOCK_MONOTONIC, 0),
	ROW(eventfd, 1),
	ROW(eventfd2, 1, 0),
	ROW(fallocate, A_FILE, 0, 0, 100000),
	ROW_AS(fallocate, "hole", 0, NULL, A_FILE, 3, 100, 6000),
	ROW(timerfd_settime, A_TIMER, 0, P(&timer), P(&old_timer)),
	ROW(timerfd_gettime, A_TIMER, P(&old_timer)),
	ROW(accept4, SOCK_A, 0, 0, 0),
	ROW(dup3, A_FILE, 30, O_CLOEXEC),
	ROW(pipe2, P(two), O_CLOEXEC),
	ROW(preadv, A_FILE, P(vector), 2, 0, 0),
	ROW(pwritev, A_FILE, P(vector), 2, 0, 0),
	ROW(syncfs, A_FILE),
	ROW(copy_file_range, A_FILE, 0, A_FILE, P(&offset), 0, 0),
	ROW(close_range, 30, 35, 0),
	ROW(utimensat, A_DIR, P("file"), P(times), 0),
	{ 0 },
};
