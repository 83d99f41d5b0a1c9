/* SPDX-License-Identifier: GPL-2.0-only */
/* poll, select, signals that interrupt, and futexes. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "filecheck/filecheck.h"

#define MS 1000000L

static long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 * MS + ts.tv_nsec;
}

static void write_later(void *arg)
{
	usleep(30000);
	EXPECT(write(*(int *)arg, "x", 1) == 1);
}

static void polling(void)
{
	struct pollfd fds[3] = { { .events = POLLIN },
				 { .fd = -1, .events = POLLIN },
				 { .fd = 77, .events = POLLIN } };
	int p[2];
	long t0;
	pid_t pid;

	EXPECT(!pipe(p));
	fds[0].fd = p[0];
	EXPECT(poll(fds, 2, 0) == 0 && poll(fds, 3, -1) == 1 && fds[2].revents == POLLNVAL);
	t0 = now_ns();
	EXPECT(poll(fds, 2, 40) == 0 && now_ns() - t0 >= 40 * MS);
	EXPECT(poll(NULL, 0, 5) == 0);
	pid = spawn(write_later, &p[1]);
	EXPECT(poll(fds, 2, -1) == 1 && fds[0].revents == POLLIN && !fds[1].revents);
	await_child(pid);
	fds[1] = (struct pollfd){ .fd = p[1], .events = POLLOUT };
	EXPECT(poll(fds, 2, -1) == 2 && fds[1].revents == POLLOUT);
	close(p[1]);
	EXPECT(poll(fds, 1, -1) == 1 && fds[0].revents == (POLLIN | POLLHUP));
}

static void selecting(void)
{
	struct timeval tv = { 0, 30000 };
	fd_set r, w;
	int p[2];
	pid_t pid;

	EXPECT(!pipe(p));
	FD_ZERO(&r);
	FD_SET(p[0], &r);
	EXPECT(select(p[0] + 1, &r, NULL, NULL, &tv) == 0 && !FD_ISSET(p[0], &r));
	pid = spawn(write_later, &p[1]);
	FD_SET(p[0], &r);
	EXPECT(select(p[0] + 1, &r, NULL, NULL, NULL) == 1 && FD_ISSET(p[0], &r));
	await_child(pid);
	FD_ZERO(&w);
	FD_SET(p[1], &w);
	EXPECT(select(p[1] + 1, &r, &w, NULL, NULL) == 2);
	close(p[0]);
	EXPECT_ERROR(EBADF, select(p[1] + 1, &r, &w, NULL, NULL));
	/* The C library would limit it: one second more than a long can count. */
	tv = (struct timeval){ LONG_MAX, 1000000 };
	EXPECT_ERROR(EINVAL, syscall(SYS_select, 0, NULL, NULL, NULL, &tv));
}

static volatile int caught;

static void on_signal(int sig)
{
	(void)sig;
	caught++;
}

static void handle(int sig, int flags)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = flags };

	EXPECT(!sigaction(sig, &sa, NULL));
}

static void alarm_in(long us)
{
	struct itimerval it = { { 0, 0 }, { 0, us } };

	EXPECT(!setitimer(ITIMER_REAL, &it, NULL));
}

static void alarm_when_asleep(void *pid)
{
	await_sleep(*(pid_t *)pid, *(pid_t *)pid);
	EXPECT(!kill(*(pid_t *)pid, SIGALRM));
}

static void alarm_and_write(void *fd)
{
	pid_t reader = getppid();

	alarm_when_asleep(&reader);
	write_later(fd);
}

static void interrupted(void)
{
	struct pollfd pfd = { .events = POLLIN };
	struct timespec second = { 1, 0 };
	sigset_t block, none;
	int p[2];
	char c;
	pid_t me = getpid(), pid;

	EXPECT(!pipe(p));
	pfd.fd = p[0];
	handle(SIGALRM, 0);
	pid = spawn(alarm_when_asleep, &me);
	EXPECT_ERROR(EINTR, read(p[0], &c, 1));
	await_child(pid);
	handle(SIGALRM, SA_RESTART);
	pid = spawn(alarm_and_write, &p[1]);
	EXPECT(read(p[0], &c, 1) == 1 && caught == 2);
	await_child(pid);
	pid = spawn(alarm_when_asleep, &me);
	EXPECT_ERROR(EINTR, poll(&pfd, 1, -1)); /* whatever SA_RESTART says */
	await_child(pid);
	/* A blocked signal is let in only while ppoll waits. */
	sigemptyset(&none);
	sigemptyset(&block);
	sigaddset(&block, SIGALRM);
	EXPECT(!sigprocmask(SIG_BLOCK, &block, NULL));
	alarm_in(5000);
	EXPECT(poll(&pfd, 1, 20) == 0 && caught == 3);
	EXPECT_ERROR(EINTR, ppoll(&pfd, 1, &second, &none));
	EXPECT(caught == 4 && !sigprocmask(SIG_BLOCK, NULL, &none) && sigismember(&none, SIGALRM));
}

/* --- futexes ------------------------------------------------------------------ */

enum { SLEEPERS = 4 };
/* <linux/futex.h> is not among musl's headers. */
enum { FUTEX_WAIT = 0, FUTEX_WAKE = 1, FUTEX_CMP_REQUEUE = 4, FUTEX_PRIVATE_FLAG = 128 };

static unsigned first, second; /* futex words */
static atomic_uint nr_awake;

static long futex(unsigned *word, int op, unsigned val, long val2, unsigned *word2, unsigned val3)
{
	return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, val, val2, word2, val3);
}

static void *sleep_on_first(void *unused)
{
	(void)unused;
	EXPECT(futex(&first, FUTEX_WAIT, 0, 0, NULL, 0) == 0);
	atomic_fetch_add(&nr_awake, 1);
	return NULL;
}

/* Sleepers that are moved to a second futex are woken by that one, and by no other. */
static void requeued(void)
{
	pthread_t threads[SLEEPERS];
	int i, moved;

	for (i = 0; i < SLEEPERS; i++)
		EXPECT(!pthread_create(&threads[i], NULL, sleep_on_first, NULL));
	for (moved = 0; moved < SLEEPERS; usleep(1000)) {
		long more = futex(&first, FUTEX_CMP_REQUEUE, 0, INT_MAX, &second, 0);

		EXPECT(more >= 0);
		moved += (int)more;
	}
	EXPECT(futex(&first, FUTEX_WAKE, INT_MAX, 0, NULL, 0) == 0);
	EXPECT(atomic_load(&nr_awake) == 0);
	/* From a futex to itself each is counted once. */
	EXPECT(futex(&second, FUTEX_CMP_REQUEUE, 0, 2 * SLEEPERS, &second, 0) == SLEEPERS);
	EXPECT(futex(&second, FUTEX_WAKE, 1, 0, NULL, 0) == 1);
	while (!atomic_load(&nr_awake))
		usleep(1000);
	usleep(5000);
	EXPECT(atomic_load(&nr_awake) == 1);
	EXPECT(futex(&second, FUTEX_WAKE, INT_MAX, 0, NULL, 0) == SLEEPERS - 1);
	for (i = 0; i < SLEEPERS; i++)
		EXPECT(!pthread_join(threads[i], NULL));
	EXPECT_ERROR(EAGAIN, futex(&first, FUTEX_CMP_REQUEUE, 0, INT_MAX, &second, 1));
	EXPECT_ERROR(EAGAIN, futex(&first, FUTEX_WAIT, 1, 0, NULL, 0));
}

const struct check wait_tests[] = {
	{ "polling", polling },
	{ "selecting", selecting },
	{ "interrupted", interrupted },
	{ "requeued", requeued },
	{ NULL, NULL },
};
