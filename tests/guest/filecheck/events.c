/* SPDX-License-Identifier: GPL-2.0-only */
/* epoll, eventfd, timerfd, signalfd; messages and options of socket pairs; clone3. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "filecheck/filecheck.h"

#define CLOSE_CLOEXEC 4u /* CLOSE_RANGE_CLOEXEC */
#define CLEAR_SIGHAND 0x100000000ull

struct clone3_args { /* Linux's struct clone_args */
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
	uint64_t set_tid, set_tid_size, cgroup;
};

static int watch(int set, int op, int fd, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.u64 = 0x500000000u + (unsigned)fd };

	return epoll_ctl(set, op, fd, &e);
}

/* Does the set report @events of @fd, and nothing else? No @events: nothing at all? */
static int tells(int set, int fd, uint32_t events)
{
	struct epoll_event e[4];
	int n = epoll_wait(set, e, 4, 0);

	if (!events)
		return n == 0;
	return n == 1 && e[0].data.u64 == 0x500000000u + (unsigned)fd && e[0].events == events;
}

static void write_one(void *arg)
{
	usleep(20000);
	EXPECT(write(*(int *)arg, "x", 1) == 1);
}

static void levels(void)
{
	struct epoll_event e;
	char c[8];
	int set = epoll_create1(EPOLL_CLOEXEC), p[2];
	pid_t pid;

	EXPECT(set >= 0 && !pipe(p));
	EXPECT(fcntl(set, F_GETFD) == FD_CLOEXEC);
	EXPECT(!watch(set, EPOLL_CTL_ADD, p[0], EPOLLIN));
	EXPECT(tells(set, p[0], 0));
	EXPECT(epoll_wait(set, &e, 1, 20) == 0);
	EXPECT(write(p[1], "ab", 2) == 2);
	EXPECT(tells(set, p[0], EPOLLIN) && tells(set, p[0], EPOLLIN));
	EXPECT(read(p[0], c, 1) == 1 && tells(set, p[0], EPOLLIN));
	EXPECT(read(p[0], c, 1) == 1 && tells(set, p[0], 0));
	pid = spawn(write_one, &p[1]);
	EXPECT(epoll_wait(set, &e, 1, -1) == 1 && e.events == EPOLLIN);
	await_child(pid);
	EXPECT(read(p[0], c, 8) == 1);
	EXPECT(!watch(set, EPOLL_CTL_ADD, p[1], EPOLLOUT) && tells(set, p[1], EPOLLOUT));
	EXPECT(!watch(set, EPOLL_CTL_MOD, p[1], 0) && tells(set, p[1], 0));
	EXPECT(!epoll_ctl(set, EPOLL_CTL_DEL, p[1], NULL));
	close(p[1]);
	EXPECT(tells(set, p[0], EPOLLHUP));
	close(p[0]); /* the last descriptor of a file ends its watch */
	EXPECT(tells(set, p[0], 0));
}

static void edges(void)
{
	char c[8];
	int set = epoll_create1(0), p[2], two[2];

	EXPECT(set >= 0 && !pipe2(p, O_NONBLOCK) && !socketpair(AF_UNIX, SOCK_STREAM, 0, two));
	EXPECT(!watch(set, EPOLL_CTL_ADD, p[0], EPOLLIN | EPOLLET));
	EXPECT(write(p[1], "ab", 2) == 2);
	EXPECT(tells(set, p[0], EPOLLIN) && tells(set, p[0], 0));
	EXPECT(read(p[0], c, 1) == 1 && tells(set, p[0], 0));
	EXPECT(read(p[0], c, 8) == 1);
	EXPECT_ERROR(EAGAIN, read(p[0], c, 8));
	EXPECT(write(p[1], "c", 1) == 1);
	EXPECT(tells(set, p[0], EPOLLIN) && tells(set, p[0], 0));
	/* An event is not lost that came and went between two calls. */
	EXPECT(read(p[0], c, 8) == 1 && write(p[1], "d", 1) == 1);
	EXPECT(tells(set, p[0], EPOLLIN) && tells(set, p[0], 0));
	EXPECT(!watch(set, EPOLL_CTL_MOD, p[0], EPOLLIN | EPOLLET) && tells(set, p[0], EPOLLIN));
	EXPECT(!watch(set, EPOLL_CTL_MOD, p[0], EPOLLIN | EPOLLONESHOT));
	EXPECT(tells(set, p[0], EPOLLIN) && tells(set, p[0], 0));
	EXPECT(write(p[1], "e", 1) == 1 && tells(set, p[0], 0));
	EXPECT(!watch(set, EPOLL_CTL_MOD, p[0], EPOLLIN | EPOLLONESHOT));
	EXPECT(tells(set, p[0], EPOLLIN) && tells(set, p[0], 0));
	EXPECT(!epoll_ctl(set, EPOLL_CTL_DEL, p[0], NULL));
	EXPECT(!watch(set, EPOLL_CTL_ADD, two[0], EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET));
	EXPECT(tells(set, two[0], EPOLLOUT) && tells(set, two[0], 0));
	close(two[1]);
	EXPECT(tells(set, two[0], EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLHUP));
	EXPECT(tells(set, two[0], 0));
}

static void sets(void)
{
	struct epoll_event e[2];
	struct pollfd pfd = { .events = POLLIN };
	int set = epoll_create(1), p[2], q[2], file = open("f", O_RDWR | O_CREAT, 0600);
	sigset_t none;
	char c;

	EXPECT(set >= 0 && !pipe(p) && !pipe(q) && file >= 0);
	EXPECT_ERROR(EINVAL, epoll_create1(1));
	EXPECT_ERROR(EPERM, watch(set, EPOLL_CTL_ADD, file, EPOLLIN));
	EXPECT_ERROR(EINVAL, watch(set, EPOLL_CTL_ADD, set, EPOLLIN));
	EXPECT_ERROR(EINVAL, watch(p[0], EPOLL_CTL_ADD, q[0], EPOLLIN));
	EXPECT_ERROR(EBADF, watch(set, EPOLL_CTL_ADD, 77, EPOLLIN));
	EXPECT_ERROR(ENOENT, watch(set, EPOLL_CTL_MOD, p[0], EPOLLIN));
	EXPECT_ERROR(ENOENT, watch(set, EPOLL_CTL_DEL, p[0], EPOLLIN));
	EXPECT_ERROR(EINVAL, epoll_wait(set, e, 0, 0));
	EXPECT_ERROR(EINVAL, epoll_wait(p[0], e, 1, 0));
	EXPECT(!watch(set, EPOLL_CTL_ADD, p[0], EPOLLIN) &&
	       !watch(set, EPOLL_CTL_ADD, q[0], EPOLLIN));
	EXPECT_ERROR(EEXIST, watch(set, EPOLL_CTL_ADD, p[0], EPOLLIN));
	EXPECT_ERROR(EINVAL, watch(set, 9, p[0], EPOLLIN));
	pfd.fd = set;
	EXPECT(poll(&pfd, 1, 0) == 0);
	EXPECT(write(p[1], "x", 1) == 1 && write(q[1], "y", 1) == 1);
	EXPECT(poll(&pfd, 1, -1) == 1 && pfd.revents == POLLIN);
	/* One at a time, each gets its turn. */
	EXPECT(epoll_wait(set, e, 1, -1) == 1 && epoll_wait(set, e + 1, 1, -1) == 1);
	EXPECT(e[0].data.u64 != e[1].data.u64);
	EXPECT_ERROR(EFAULT, epoll_wait(set, (void *)8, 1, 0));
	EXPECT(read(p[0], &c, 1) == 1 && read(q[0], &c, 1) == 1);
	EXPECT(poll(&pfd, 1, 0) == 0);
	sigemptyset(&none);
	EXPECT(epoll_pwait(set, e, 2, 10, &none) == 0);
	EXPECT(dup2(p[0], 50) == 50 && close(p[0]) == 0);
	EXPECT(write(p[1], "x", 1) == 1 && epoll_wait(set, e, 2, 0) == 1); /* as on Linux */
}

static void counters(void)
{
	uint64_t v;
	int fd = eventfd(3, EFD_NONBLOCK), blocking, set = epoll_create1(0);
	struct pollfd pfd = { .events = POLLIN | POLLOUT };

	EXPECT(fd >= 0 && read(fd, &v, 8) == 8 && v == 3);
	EXPECT_ERROR(EAGAIN, read(fd, &v, 8));
	EXPECT_ERROR(EINVAL, read(fd, &v, 7));
	v = UINT64_MAX;
	EXPECT_ERROR(EINVAL, write(fd, &v, 8));
	v = UINT64_MAX - 1;
	EXPECT(write(fd, &v, 8) == 8);
	v = 1;
	EXPECT_ERROR(EAGAIN, write(fd, &v, 8));
	pfd.fd = fd;
	EXPECT(poll(&pfd, 1, -1) == 1 && pfd.revents == POLLIN);
	EXPECT(read(fd, &v, 8) == 8 && v == UINT64_MAX - 1);
	EXPECT(poll(&pfd, 1, -1) == 1 && pfd.revents == POLLOUT);
	EXPECT(!watch(set, EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLET) && tells(set, fd, 0));
	for (int i = 0; i < 2; i++) { /* each write is an edge */
		v = 1;
		EXPECT(write(fd, &v, 8) == 8 && tells(set, fd, EPOLLIN) && tells(set, fd, 0));
	}
	blocking = eventfd(2, EFD_SEMAPHORE | EFD_CLOEXEC);
	for (int i = 0; i < 2; i++)
		EXPECT(read(blocking, &v, 8) == 8 && v == 1);
	EXPECT_ERROR(EINVAL, eventfd(0, 2));
}

static void alarms(void)
{
	struct itimerspec t = { .it_value.tv_nsec = 5000000 }, left;
	struct epoll_event e;
	uint64_t n;
	const struct itimerspec idle = { .it_interval = { 5, 0 } };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), set = epoll_create1(0);

	EXPECT(fd >= 0 && !watch(set, EPOLL_CTL_ADD, fd, EPOLLIN));
	EXPECT_ERROR(EAGAIN, read(fd, &n, 8));
	EXPECT(!timerfd_settime(fd, 0, &t, &left) && !left.it_value.tv_nsec);
	EXPECT(epoll_wait(set, &e, 1, -1) == 1 && e.events == EPOLLIN);
	EXPECT(read(fd, &n, 8) == 8 && n == 1);
	EXPECT(!timerfd_gettime(fd, &left) && !left.it_value.tv_sec && !left.it_value.tv_nsec);
	t.it_interval.tv_nsec = 2000000;
	EXPECT(!timerfd_settime(fd, 0, &t, NULL));
	usleep(15000);
	EXPECT(read(fd, &n, 8) == 8 && n >= 6);
	t.it_value.tv_nsec = 1; /* long past */
	EXPECT(!timerfd_settime(fd, TFD_TIMER_ABSTIME, &t, NULL));
	EXPECT(epoll_wait(set, &e, 1, -1) == 1);
	memset(&t, 0, sizeof(t));
	EXPECT(!timerfd_settime(fd, 0, &t, &left) && left.it_interval.tv_nsec == 2000000);
	/* A timer that does not run has an interval all the same. */
	EXPECT(!timerfd_settime(fd, 0, &idle, NULL) && !timerfd_gettime(fd, &left));
	EXPECT(!left.it_value.tv_sec && !left.it_value.tv_nsec && left.it_interval.tv_sec == 5);
	EXPECT_ERROR(EAGAIN, read(fd, &n, 8));
	t.it_value.tv_nsec = 1000000000;
	EXPECT_ERROR(EINVAL, timerfd_settime(fd, 0, &t, NULL));
	EXPECT_ERROR(EINVAL, timerfd_settime(set, 0, &left, NULL));
	EXPECT_ERROR(EINVAL, timerfd_create(CLOCK_PROCESS_CPUTIME_ID, 0));
	close(fd); /* armed or not */
}

/* A moment is one of the timer's clock. */
static void moments_of_clocks(void)
{
	static const int clocks[] = { CLOCK_MONOTONIC, CLOCK_REALTIME };

	for (int i = 0; i < 2; i++) {
		struct itimerspec t = { 0 }, left;
		int fd = timerfd_create(clocks[i], 0);

		EXPECT(fd >= 0 && !clock_gettime(clocks[i], &t.it_value));
		t.it_value.tv_sec += 1000;
		EXPECT(!timerfd_settime(fd, TFD_TIMER_ABSTIME, &t, NULL));
		EXPECT(!timerfd_gettime(fd, &left));
		EXPECT(left.it_value.tv_sec > 800 && left.it_value.tv_sec <= 1000);
		EXPECT(!close(fd));
	}
}

static void queue_later(void *arg)
{
	usleep(20000);
	sigqueue(*(pid_t *)arg, SIGRTMIN + 1, (union sigval){ .sival_int = 42 });
}

/* A signal of a timer says which timer, with its value, and how often that was due once more. */
static void timers_read(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
				  .sigev_signo = SIGUSR1,
				  .sigev_value.sival_int = 42 };
	struct itimerspec often = { { 0, 1000000 }, { 0, 1000000 } };
	timer_t timers[3];
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < 3; i++) {
		struct signalfd_siginfo s;
		int fd = signalfd(-1, &set, SFD_NONBLOCK);

		event.sigev_value.sival_int++;
		EXPECT(!timer_create(CLOCK_MONOTONIC, &event, &timers[i]));
		EXPECT(!timer_settime(timers[i], 0, &often, NULL) && !usleep(20000));
		EXPECT(read(fd, &s, sizeof(s)) == sizeof(s) && s.ssi_signo == SIGUSR1);
		EXPECT(s.ssi_code == SI_TIMER && s.ssi_tid == (uintptr_t)timers[i]);
		EXPECT(s.ssi_int == 43 + i && (s.ssi_ptr & UINT32_MAX) == 43u + i);
		EXPECT(s.ssi_overrun && (int)s.ssi_overrun == timer_getoverrun(timers[i]));
		EXPECT(!s.ssi_status && !s.ssi_errno && !timer_delete(timers[i]) && !close(fd));
		sigtimedwait(&set, NULL, &(struct timespec){ 0 });
	}
}

static void signals_read(void)
{
	struct signalfd_siginfo s[2];
	struct epoll_event e;
	sigset_t set;
	pid_t self = getpid(), pid;
	int fd, epoll = epoll_create1(0);

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_NONBLOCK);
	EXPECT(fd >= 0 && !watch(epoll, EPOLL_CTL_ADD, fd, EPOLLIN));
	EXPECT_ERROR(EAGAIN, read(fd, s, sizeof(s)));
	kill(self, SIGUSR1);
	EXPECT(tells(epoll, fd, EPOLLIN));
	EXPECT(read(fd, s, sizeof(s)) == sizeof(s[0]));
	EXPECT(s[0].ssi_signo == SIGUSR1 && (pid_t)s[0].ssi_pid == self && tells(epoll, fd, 0));
	pid = fork();
	if (!pid)
		_exit(7);
	EXPECT(epoll_wait(epoll, &e, 1, -1) == 1 && read(fd, s, sizeof(s)) == sizeof(s[0]));
	EXPECT(s[0].ssi_signo == SIGCHLD && (pid_t)s[0].ssi_pid == pid && s[0].ssi_status == 7);
	EXPECT(waitpid(pid, NULL, 0) == pid);
	sigdelset(&set, SIGCHLD);
	sigaddset(&set, SIGRTMIN + 1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	EXPECT(signalfd(fd, &set, 0) == fd);
	fcntl(fd, F_SETFL, 0);
	pid = spawn(queue_later, &self);
	EXPECT(read(fd, s, sizeof(s[0])) == sizeof(s[0]) && s[0].ssi_int == 42);
	await_child(pid);
	EXPECT_ERROR(EINVAL, read(fd, s, 100));
	EXPECT_ERROR(EINVAL, signalfd(epoll, &set, 0));
}

/* One read takes a thread's own signals and then those of its process, each by its number. */
static void signals_read_in_order(void)
{
	static const struct {
		int sig;
		bool own;
	} sent[] = { { SIGHUP, false }, { SIGUSR1, true }, { SIGINT, true }, { SIGTERM, false } };
	static const int want[] = { SIGINT, SIGUSR1, SIGHUP, SIGTERM };
	struct signalfd_siginfo s[5];
	sigset_t set;
	int fd;

	sigemptyset(&set);
	for (int i = 0; i < 4; i++)
		sigaddset(&set, sent[i].sig);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_NONBLOCK);
	for (int i = 0; i < 4; i++)
		EXPECT(!(sent[i].own ? raise(sent[i].sig) : kill(getpid(), sent[i].sig)));
	EXPECT(read(fd, s, sizeof(s)) == 4 * sizeof(s[0]));
	for (int i = 0; i < 4; i++)
		EXPECT((int)s[i].ssi_signo == want[i]);
}

static void messages(void)
{
	char c[8] = "";
	struct iovec iov[2] = { { c, 2 }, { c + 2, 4 } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };
	struct sockaddr_un name;
	struct ucred cred;
	socklen_t len = sizeof(int);
	int two[2], p[2], v;

	EXPECT(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, two) && !pipe(p));
	EXPECT_ERROR(EAGAIN, recv(two[0], c, 1, MSG_DONTWAIT));
	EXPECT(send(two[0], "abc", 3, 0) == 3 && send(two[0], "def", 3, MSG_NOSIGNAL) == 3);
	EXPECT(recvmsg(two[1], &m, 0) == 6 && !strcmp(c, "abcdef") && !m.msg_flags);
	EXPECT(sendmsg(two[1], &m, 0) == 6 && recv(two[0], c, 6, MSG_WAITALL) == 6);
	EXPECT(!getsockopt(two[0], SOL_SOCKET, SO_TYPE, &v, &len) && v == SOCK_STREAM && len == 4);
	EXPECT(!getsockopt(two[0], SOL_SOCKET, SO_ERROR, &v, &len) && !v);
	EXPECT(!getsockopt(two[0], SOL_SOCKET, SO_DOMAIN, &v, &len) && v == AF_UNIX);
	len = sizeof(cred);
	EXPECT(!getsockopt(two[0], SOL_SOCKET, SO_PEERCRED, &cred, &len) && cred.pid == getpid());
	v = 65536;
	EXPECT(!setsockopt(two[0], SOL_SOCKET, SO_SNDBUF, &v, sizeof(v)));
	len = sizeof(v);
	EXPECT(!getsockopt(two[0], SOL_SOCKET, SO_SNDBUF, &v, &len) && v >= 65536);
	len = sizeof(name);
	EXPECT(!getsockname(two[0], (struct sockaddr *)&name, &len) && len == 2);
	EXPECT(name.sun_family == AF_UNIX);
	EXPECT_ERROR(ENOPROTOOPT, setsockopt(two[0], SOL_SOCKET, 9999, &v, sizeof(v)));
	EXPECT_ERROR(ENOTSOCK, send(p[1], c, 1, 0));
	EXPECT_ERROR(EINVAL, accept(two[0], NULL, NULL));
	EXPECT_ERROR(ENOTSOCK, listen(p[0], 1));
	EXPECT_ERROR(EBADF, recv(77, c, 1, 0));
	EXPECT_ERROR(EAFNOSUPPORT, socket(46, SOCK_STREAM, 0));
	EXPECT(!shutdown(two[0], SHUT_WR) && recv(two[1], c, 1, 0) == 0);
	close(two[1]);
	EXPECT_ERROR(EPIPE, send(two[0], c, 1, MSG_NOSIGNAL)); /* and no SIGPIPE ends the test */
}

/* Two sets watch one file, and each can let go of it first. */
static void two_sets_watch(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int p[2], set[2];

	EXPECT(!pipe(p) && write(p[1], "x", 1) == 1);
	set[0] = epoll_create1(0);
	set[1] = epoll_create1(0);
	for (int first = 0; first < 2; first++) {
		EXPECT(!epoll_ctl(set[0], EPOLL_CTL_ADD, p[0], &event));
		EXPECT(!epoll_ctl(set[1], EPOLL_CTL_ADD, p[0], &event));
		EXPECT(!epoll_ctl(set[first], EPOLL_CTL_DEL, p[0], NULL));
		EXPECT(!epoll_wait(set[first], &event, 1, 0));
		EXPECT(epoll_wait(set[!first], &event, 1, 0) == 1);
		EXPECT(!epoll_ctl(set[!first], EPOLL_CTL_DEL, p[0], NULL));
	}
}

/* Nobody listens: programs that ask a daemon learn that there is none. */
static void sockets_alone(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "/tmp/no/daemon" };
	struct pollfd p = { .fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
			    .events = POLLIN };
	socklen_t len = sizeof(name);
	char c = 0;

	EXPECT(p.fd >= 0 && fcntl(p.fd, F_GETFD) == FD_CLOEXEC);
	EXPECT_ERROR(ENOENT, connect(p.fd, (struct sockaddr *)&name, sizeof(name)));
	strcpy(name.sun_path, "/dev/null");
	EXPECT_ERROR(ECONNREFUSED, connect(p.fd, (struct sockaddr *)&name, sizeof(name)));
	name.sun_path[0] = 0;
	EXPECT_ERROR(ECONNREFUSED, connect(p.fd, (struct sockaddr *)&name, sizeof(name)));
	EXPECT_ERROR(EINVAL, connect(p.fd, (struct sockaddr *)&name, sizeof(name) + 1));
	EXPECT_ERROR(EINVAL, connect(p.fd, (struct sockaddr *)&name, 1));
	EXPECT_ERROR(EINVAL, connect(p.fd, (struct sockaddr *)&name, sizeof(name.sun_family)));
	name.sun_family = AF_INET;
	EXPECT_ERROR(EINVAL, connect(p.fd, (struct sockaddr *)&name, sizeof(name)));
	name.sun_family = AF_UNIX;
	EXPECT_ERROR(EFAULT, connect(p.fd, (struct sockaddr *)8, sizeof(name)));
	EXPECT_ERROR(ENOTSOCK, connect(1, (struct sockaddr *)&name, sizeof(name)));
	EXPECT_ERROR(ENOTCONN, send(p.fd, &c, 1, MSG_NOSIGNAL));
	EXPECT_ERROR(EINVAL, recv(p.fd, &c, 1, 0));
	EXPECT_ERROR(ENOTCONN, getpeername(p.fd, (struct sockaddr *)&name, &len));
	EXPECT(!getsockname(p.fd, (struct sockaddr *)&name, &len) && len == 2);
	EXPECT(poll(&p, 1, 0) == 1 && p.revents == POLLHUP);
	EXPECT(!shutdown(p.fd, SHUT_RDWR) && !close(p.fd));
	EXPECT_ERROR(EINVAL, socket(AF_UNIX, SOCK_STREAM | 0x100, 0));
	EXPECT_ERROR(EINVAL, socket(AF_UNIX, 14, 0));
	EXPECT_ERROR(ESOCKTNOSUPPORT, socket(AF_UNIX, SOCK_RDM, 0));
}

static void ranges_closed(void)
{
	for (int fd = 40; fd < 50; fd++)
		EXPECT(dup2(1, fd) == fd);
	EXPECT(!syscall(SYS_close_range, 42, 44, 0));
	for (int fd = 40; fd < 50; fd++)
		EXPECT((fcntl(fd, F_GETFD) == 0) == (fd < 42 || fd > 44));
	EXPECT(!syscall(SYS_close_range, 46, ~0u, CLOSE_CLOEXEC));
	EXPECT(fcntl(45, F_GETFD) == 0 && fcntl(46, F_GETFD) == FD_CLOEXEC);
	EXPECT_ERROR(EINVAL, syscall(SYS_close_range, 9, 8, 0));
	EXPECT_ERROR(EINVAL, syscall(SYS_close_range, 8, 9, 64));
}

static void on_user1(int sig)
{
	(void)sig;
}

static void clones(void)
{
	struct clone3_args a = { .exit_signal = SIGCHLD, .flags = CLONE_FILES };
	struct {
		struct clone3_args a;
		uint64_t more;
	} longer = { .a = a };
	struct sigaction act;
	int p[2], status;
	long pid;

	EXPECT(!pipe(p));
	pid = syscall(SYS_clone3, &a, sizeof(a));
	if (!pid)
		_exit(close(p[1]) ? 1 : 5); /* closes it for both */
	EXPECT(pid > 0 && waitpid((pid_t)pid, &status, 0) == pid && WEXITSTATUS(status) == 5);
	EXPECT_ERROR(EBADF, write(p[1], "x", 1));
	signal(SIGUSR1, on_user1);
	signal(SIGUSR2, SIG_IGN);
	a.flags = CLEAR_SIGHAND;
	pid = syscall(SYS_clone3, &a, sizeof(a));
	if (!pid) {
		sigaction(SIGUSR1, NULL, &act);
		if (act.sa_handler != SIG_DFL)
			_exit(1);
		sigaction(SIGUSR2, NULL, &act);
		_exit(act.sa_handler == SIG_IGN ? 6 : 2);
	}
	EXPECT(pid > 0 && waitpid((pid_t)pid, &status, 0) == pid && WEXITSTATUS(status) == 6);
	pid = syscall(SYS_clone3, &longer, sizeof(longer));
	if (!pid)
		_exit(0);
	EXPECT(pid > 0 && waitpid((pid_t)pid, NULL, 0) == pid);
	longer.more = 1;
	EXPECT_ERROR(E2BIG, syscall(SYS_clone3, &longer, sizeof(longer)));
	EXPECT_ERROR(EINVAL, syscall(SYS_clone3, &a, 8));
	a = (struct clone3_args){ .exit_signal = 65 };
	EXPECT_ERROR(EINVAL, syscall(SYS_clone3, &a, sizeof(a)));
	a = (struct clone3_args){ .stack = 4096 };
	EXPECT_ERROR(EINVAL, syscall(SYS_clone3, &a, sizeof(a)));
	EXPECT_ERROR(EFAULT, syscall(SYS_clone3, 8, sizeof(a)));
}

/* /proc leads to what has no name, and does not open it; not even a socket that was shut down. */
static void do_not_open_again(int fd)
{
	static const int ways[] = { O_RDONLY, O_WRONLY, O_RDWR | O_NONBLOCK };
	char path[32], bytes[8];
	int named;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (int i = 0; i < 3; i++)
		EXPECT_ERROR(ENXIO, open(path, ways[i]));
	EXPECT_ERROR(EINVAL, truncate(path, 0));
	EXPECT((named = open(path, O_PATH)) >= 0);
	EXPECT_ERROR(EBADF, read(named, bytes, sizeof(bytes)));
	EXPECT(!close(named) && !close(fd));
}

/* A perf event that counts nothing; -1 where a container forbids it. */
static int open_perf(void)
{
	uint32_t attr[16] = { 1 /* software */, sizeof(attr), 9 /* dummy */ };

	return (int)syscall(SYS_perf_event_open, attr, 0, 0, -1, 0);
}

static void nameless_files(void)
{
	sigset_t none;
	int ends[2], event;

	if (geteuid())
		return; /* Linux gives its nameless files to root and answers EACCES to others */
	sigemptyset(&none);
	do_not_open_again(eventfd(1, 0));
	do_not_open_again(timerfd_create(CLOCK_MONOTONIC, 0));
	do_not_open_again(signalfd(-1, &none, 0));
	do_not_open_again(epoll_create1(0));
	event = open_perf();
	if (event >= 0)
		do_not_open_again(event);
	EXPECT(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends) && !shutdown(ends[0], SHUT_RDWR));
	do_not_open_again(ends[0]);
	do_not_open_again(ends[1]);
}

static atomic_int collected;

/* Take an event again and again, into a page that is not there yet. */
static void *collect(void *set)
{
	struct epoll_event *e =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(e != MAP_FAILED);
	for (int i = 0; i < 100; i++) {
		EXPECT(!madvise(e, 4096, MADV_DONTNEED));
		EXPECT(epoll_wait(*(int *)set, e, 1, -1) == 1);
	}
	collected = 1;
	return NULL;
}

/* A mapping is the last that keeps a watched file, and goes while the set writes events. */
static void watched_mappings_go(void)
{
	int set = epoll_create1(0), event;
	pthread_t thread;
	void *ring;

	EXPECT(set >= 0 && !watch(set, EPOLL_CTL_ADD, eventfd(1, 0), EPOLLIN));
	EXPECT(!pthread_create(&thread, NULL, collect, &set));
	while (!collected && (event = open_perf()) >= 0) {
		ring = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
		EXPECT(ring != MAP_FAILED && !watch(set, EPOLL_CTL_ADD, event, EPOLLIN));
		EXPECT(!close(event) && !munmap(ring, 2 * 4096));
	}
	EXPECT(!pthread_join(thread, NULL));
}

const struct check event_tests[] = {
	{ "two-sets-watch", two_sets_watch },
	{ "levels", levels },
	{ "edges", edges },
	{ "sets", sets },
	{ "counters", counters },
	{ "alarms", alarms },
	{ "moments-of-clocks", moments_of_clocks },
	{ "signals-read", signals_read },
	{ "timers-read", timers_read },
	{ "signals-read-in-order", signals_read_in_order },
	{ "sockets-alone", sockets_alone },
	{ "ranges-closed", ranges_closed },
	{ "messages", messages },
	{ "clones", clones },
	{ "nameless-files", nameless_files },
	{ "watched-mappings-go", watched_mappings_go },
	{ NULL, NULL },
};
