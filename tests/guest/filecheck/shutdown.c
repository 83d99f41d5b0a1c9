/* SPDX-License-Identifier: GPL-2.0-only */
/* shutdown of a socket, at this end or the other, while a thread waits at one of them. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "filecheck/filecheck.h"

enum { IN = POLLIN, OUT = POLLOUT, ENDS = POLLIN | POLLRDHUP, HUNG = POLLIN | POLLRDHUP | POLLHUP };

/* A thread waits in recv, or in send to a full queue, at socket 0; shutdown(@socket, @how). */
static const struct row {
	bool sends;
	int socket, how;
	short events[2]; /* of each socket then */
} rows[] = {
	{ false, 0, SHUT_RD, { ENDS | OUT, OUT } },
	{ false, 1, SHUT_WR, { ENDS | OUT, OUT } },
	{ false, 0, SHUT_RDWR, { HUNG | OUT, HUNG | OUT } },
	{ false, 1, SHUT_RDWR, { HUNG | OUT, HUNG | OUT } },
	{ true, 0, SHUT_WR, { 0, ENDS | OUT } },
	{ true, 1, SHUT_RD, { 0, ENDS | OUT } },
	{ true, 0, SHUT_RDWR, { HUNG, HUNG | OUT } },
	{ true, 1, SHUT_RDWR, { HUNG, HUNG | OUT } },
};

struct wait {
	const struct row *row;
	int s[2];
	atomic_int tid;
	ssize_t got;
	int error;
};

static int nr_signals;

static void count_signal(int sig)
{
	(void)sig;
	nr_signals++;
}

static void *wait_at_it(void *arg)
{
	struct wait *w = arg;
	char buf[1000];

	memset(buf, 0, sizeof(buf));
	w->tid = (int)syscall(SYS_gettid);
	w->got = w->row->sends ? send(w->s[0], buf, sizeof(buf), 0)
			       : recv(w->s[0], buf, sizeof(buf), 0);
	w->error = errno;
	return NULL;
}

static short events_of(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN | POLLOUT | POLLRDHUP };

	EXPECT(poll(&pfd, 1, 0) >= 0);
	return pfd.revents;
}

/* The events that epoll reports. */
static short watched(int set)
{
	struct epoll_event e = { 0 };

	return epoll_wait(set, &e, 1, 0) == 1 ? (short)e.events : 0;
}

static int watch(int fd)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLRDHUP };
	int set = epoll_create1(0);

	EXPECT(set >= 0 && !epoll_ctl(set, EPOLL_CTL_ADD, fd, &e));
	return set;
}

static void fill_queue(int fd)
{
	char buf[1000] = { 0 };

	while (send(fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
	EXPECT(errno == EAGAIN);
}

static void wait_and_shut(const struct row *row)
{
	struct wait w = { .row = row };
	pthread_t thread;
	int sets[2];

	EXPECT(!socketpair(AF_UNIX, SOCK_STREAM, 0, w.s));
	if (row->sends)
		fill_queue(w.s[0]);
	for (int i = 0; i < 2; i++)
		sets[i] = watch(w.s[i]);
	EXPECT(!pthread_create(&thread, NULL, wait_at_it, &w));
	while (!w.tid)
		usleep(1000);
	await_sleep(getpid(), w.tid);
	EXPECT(!shutdown(w.s[row->socket], row->how) && !pthread_join(thread, NULL));
	EXPECT(row->sends ? w.got == -1 && w.error == EPIPE : w.got == 0);
	for (int i = 0; i < 2; i++) {
		EXPECT(events_of(w.s[i]) == row->events[i]);
		EXPECT(watched(sets[i]) == (row->events[i] & ~OUT));
		close(sets[i]);
	}
	EXPECT(!close(w.s[0]) && !close(w.s[1]));
}

/* Each waiting call ends, as does a queue that is full: no signal comes to who waited. */
static void waiting_calls_end(void)
{
	signal(SIGPIPE, count_signal);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		wait_and_shut(&rows[i]);
	EXPECT(nr_signals == 0);
}

/* Data that was sent before can be read at both ends; who sends, even nothing, gets a signal. */
static void data_before_the_end(void)
{
	int s[2], fd;
	char buf[8];

	signal(SIGPIPE, count_signal);
	EXPECT(!socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	EXPECT(send(s[0], "abc", 3, 0) == 3 && send(s[1], "xyz", 3, 0) == 3);
	EXPECT(!shutdown(s[0], SHUT_RDWR));
	for (int i = 0; i < 2; i++) {
		fd = s[i];
		EXPECT(events_of(fd) == (HUNG | OUT));
		EXPECT(recv(fd, buf, 8, 0) == 3 && recv(fd, buf, 8, 0) == 0);
		EXPECT_ERROR(EPIPE, send(fd, "q", 1, 0));
		EXPECT_ERROR(EPIPE, send(fd, "q", 0, 0));
		EXPECT_ERROR(EPIPE, write(fd, "q", 1));
		EXPECT_ERROR(EPIPE, send(fd, "q", 1, MSG_NOSIGNAL));
		EXPECT(nr_signals == 3 * (i + 1));
	}
	EXPECT(!close(s[0]) && events_of(s[1]) == (HUNG | OUT) && recv(s[1], buf, 8, 0) == 0);
}

/* A half that was shut leaves the other half alone. */
static void one_half(void)
{
	int s[2];
	char buf[8];

	signal(SIGPIPE, SIG_IGN);
	EXPECT(!socketpair(AF_UNIX, SOCK_STREAM, 0, s) && !shutdown(s[0], SHUT_RD));
	EXPECT(recv(s[0], buf, 8, 0) == 0 && events_of(s[0]) == (ENDS | OUT));
	EXPECT(send(s[0], "on", 2, 0) == 2 && recv(s[1], buf, 8, 0) == 2);
	EXPECT_ERROR(EPIPE, send(s[1], "q", 1, 0));
	EXPECT_ERROR(EAGAIN, recv(s[1], buf, 8, MSG_DONTWAIT));
	EXPECT(events_of(s[1]) == OUT);
	EXPECT_ERROR(EINVAL, shutdown(s[1], 3));
	fill_queue(s[0]);
	EXPECT(events_of(s[0]) == ENDS && !close(s[1]));
	EXPECT((events_of(s[0]) & (HUNG | OUT)) == (HUNG | OUT));
}

const struct check shutdown_tests[] = {
	{ "shutdown-ends-calls", waiting_calls_end },
	{ "shutdown-keeps-data", data_before_the_end },
	{ "shutdown-one-half", one_half },
	{ NULL, NULL },
};
