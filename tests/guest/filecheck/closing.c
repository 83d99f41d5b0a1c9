/* SPDX-License-Identifier: GPL-2.0-only */
/* A thread sleeps on a descriptor while another closes it, replaces it, ends or runs a program. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "filecheck/filecheck.h"

/* --- what sleeps on a descriptor ------------------------------------------------------ */

static int open_file(void)
{
	return open("f", O_RDWR | O_CREAT, 0644);
}

static long lock(int fd, int cmd)
{
	struct flock l = { .l_type = F_WRLCK };

	return fcntl(fd, cmd, &l);
}

static long take_record(int fd)
{
	return lock(fd, F_SETLKW);
}

static long take_ofd_record(int fd)
{
	return lock(fd, F_OFD_SETLKW);
}

static long take_flock(int fd)
{
	return flock(fd, LOCK_EX);
}

static int open_event(void)
{
	return eventfd(0, 0);
}

static int open_timer(void)
{
	return timerfd_create(CLOCK_MONOTONIC, 0);
}

static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return signalfd(-1, &set, 0);
}

static int open_pipe(void)
{
	int ends[2];

	return pipe(ends) ? -1 : ends[0];
}

static int open_socket(void)
{
	int ends[2];

	return socketpair(AF_UNIX, SOCK_STREAM, 0, ends) ? -1 : ends[0];
}

static long read_some(int fd)
{
	char bytes[128];

	return read(fd, bytes, sizeof(bytes));
}

static int open_set(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int set = epoll_create1(0);

	return epoll_ctl(set, EPOLL_CTL_ADD, open_event(), &event) ? -1 : set;
}

static long wait_for_set(int fd)
{
	struct epoll_event event;

	return epoll_wait(fd, &event, 1, -1);
}

static long wait_for_one(int fd)
{
	struct pollfd item = { .fd = fd, .events = POLLIN };

	return poll(&item, 1, -1);
}

static int open_word(void)
{
	int fd = open("word", O_RDWR | O_CREAT, 0644);

	return ftruncate(fd, 4) ? -1 : fd;
}

static long wait_for_word(int fd)
{
	void *word = mmap(NULL, 4, PROT_READ, MAP_SHARED, fd, 0);

	return syscall(SYS_futex, word, 0 /* FUTEX_WAIT */, 0, NULL, NULL, 0);
}

static long wait_for_writer(int fd)
{
	(void)fd;
	return open("fifo", O_RDONLY);
}

struct sleeper {
	int (*open)(void);
	long (*sleep)(int fd);
	int error; /* of a sleep that goes on without its descriptor; 0 for success */
};

/* The first three wait for what keep_locks() has. */
static const struct sleeper sleepers[] = {
	{ open_file, take_record, EBADF },    { open_file, take_ofd_record, 0 },
	{ open_file, take_flock, 0 },	      { open_event, read_some, 0 },
	{ open_event, wait_for_one, 0 },      { open_timer, read_some, 0 },
	{ open_signals, read_some, 0 },	      { open_pipe, read_some, 0 },
	{ open_pipe, wait_for_one, 0 },	      { open_socket, read_some, 0 },
	{ open_set, wait_for_set, 0 },	      { open_set, wait_for_one, 0 },
	{ open_word, wait_for_word, 0 },      { open_file, wait_for_writer, 0 },
};
enum { NR_LOCKS = 3, NR_SLEEPERS = sizeof(sleepers) / sizeof(sleepers[0]) };

/* --- the sleeping thread ------------------------------------------------------------- */

struct sleep {
	const struct sleeper *how;
	pthread_t thread;
	int fd, error;
	atomic_int tid;
};

static void *sleep_on(void *arg)
{
	struct sleep *s = arg;

	s->tid = (int)syscall(SYS_gettid);
	s->error = s->how->sleep(s->fd) < 0 ? errno : 0;
	return NULL;
}

static void begin_sleep(struct sleep *s, const struct sleeper *how)
{
	*s = (struct sleep){ .how = how, .fd = how->open() };
	EXPECT(s->fd >= 0 && !pthread_create(&s->thread, NULL, sleep_on, s));
	while (!s->tid)
		usleep(1000);
	await_sleep(getpid(), s->tid);
}

/* Take both kinds of locks on the file "f", through a descriptor of its own. */
static int keep_locks(void)
{
	int fd = open_file();

	EXPECT(!lock(fd, F_SETLK) && !flock(fd, LOCK_EX | LOCK_NB));
	return fd;
}

static void take_locks(void *unused)
{
	(void)unused;
	keep_locks();
}

static void expect_no_locks(void)
{
	await_child(spawn(take_locks, NULL));
}

/* --- the tests ------------------------------------------------------------------------ */

static void keep_locks_until(void *pipes)
{
	int (*p)[2] = pipes;
	char c = 0;

	keep_locks();
	close(p[1][1]);
	EXPECT(write(p[0][1], &c, 1) == 1 && read(p[1][0], &c, 1) == 0);
}

/* @close_it, while a thread waits for a lock that a child has; then the child lets go. */
static void wait_without_descriptor(const struct sleeper *how, void (*close_it)(int fd))
{
	int pipes[2][2];
	struct sleep s;
	pid_t holder;
	char c;

	EXPECT(!pipe(pipes[0]) && !pipe(pipes[1]));
	holder = spawn(keep_locks_until, pipes);
	EXPECT(read(pipes[0][0], &c, 1) == 1);
	begin_sleep(&s, how);
	close_it(s.fd);
	close(pipes[1][1]);
	await_child(holder);
	EXPECT(!pthread_join(s.thread, NULL) && s.error == how->error);
	expect_no_locks();
}

static void close_it(int fd)
{
	EXPECT(!close(fd));
}

static void replace_it(int fd)
{
	EXPECT(dup2(0, fd) == fd);
}

/* A lock that comes after its descriptor was closed is nobody's. */
static void late_locks_are_dropped(void)
{
	for (int i = 0; i < NR_LOCKS; i++) {
		wait_without_descriptor(&sleepers[i], close_it);
		wait_without_descriptor(&sleepers[i], replace_it);
	}
}

static void exit_now(int fd)
{
	(void)fd;
	_exit(0);
}

static void exec_now(int fd)
{
	(void)fd;
	execl("/bin/true", "true", NULL);
}

static void sleep_and_end(void *arg)
{
	static void (*const ways[])(int fd) = { close_it, replace_it, exit_now, exec_now };
	int way = *(int *)arg % 4;
	struct sleep s;

	begin_sleep(&s, &sleepers[*(int *)arg / 4]);
	ways[way](s.fd);
}

/* Each sleeper is in the way of nobody: its process ends, whatever becomes of the descriptor. */
static void sleepers_let_go(void)
{
	int fd = keep_locks();

	EXPECT(!mkfifo("fifo", 0644));
	for (int i = 0; i < 4 * NR_SLEEPERS; i++)
		await_child(spawn(sleep_and_end, &i));
	close(fd);
	expect_no_locks();
}

const struct check close_tests[] = {
	{ "late-locks-are-dropped", late_locks_are_dropped },
	{ "sleepers-let-go", sleepers_let_go },
	{ NULL, NULL },
};
