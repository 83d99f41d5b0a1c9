/* SPDX-License-Identifier: GPL-2.0-only */
/* Pipes, FIFOs, socket pairs. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "filecheck/filecheck.h"

#define CAPACITY 65536

/* Fill and drain without blocking; what fits and what does not. */
static void pipe_room(void)
{
	static char buf[2 * CAPACITY];
	int p[2], n;

	EXPECT(!pipe2(p, O_NONBLOCK) && fcntl(p[0], F_GETPIPE_SZ) == CAPACITY);
	EXPECT_ERROR(EAGAIN, read(p[0], buf, 1));
	EXPECT(write(p[1], buf, sizeof(buf)) == CAPACITY);
	EXPECT_ERROR(EAGAIN, write(p[1], buf, 1));
	EXPECT(!ioctl(p[0], FIONREAD, &n) && n == CAPACITY);
	EXPECT(read(p[0], buf, 4096) == 4096 && write(p[1], buf, 4096) == 4096);
	EXPECT(read(p[0], buf, sizeof(buf)) == CAPACITY);
	EXPECT_ERROR(EAGAIN, read(p[0], buf, 1));
	EXPECT(fcntl(p[0], F_SETPIPE_SZ, 8192) == 8192 && write(p[1], buf, CAPACITY) == 8192);
	EXPECT_ERROR(EBUSY, fcntl(p[1], F_SETPIPE_SZ, 4096));
	EXPECT(fcntl(p[1], F_SETPIPE_SZ, 20000) == 32768 && read(p[0], buf, CAPACITY) == 8192);
	EXPECT_ERROR(ESPIPE, lseek(p[0], 0, SEEK_CUR));
	EXPECT_ERROR(EBADF, write(p[0], buf, 1));
	EXPECT_ERROR(EBADF, read(p[1], buf, 1));
	EXPECT_ERROR(EINVAL, pipe2(p, O_APPEND));
}

/* Write @n bytes that continue the pattern at *@at. Returns whether all of them fitted. */
static bool put_pattern(int fd, unsigned *at, unsigned n)
{
	static unsigned char buf[2 * CAPACITY];

	for (unsigned i = 0; i < n; i++)
		buf[i] = (unsigned char)((*at + i) % 251);
	*at += n;
	return write(fd, buf, n) == (ssize_t)n;
}

/*
 * Returns how many bytes continue the pattern at *@at, up to the first that does not, of what is
 * there to read.
 */
static unsigned get_pattern(int fd, unsigned *at, unsigned n)
{
	static unsigned char buf[2 * CAPACITY];
	ssize_t got = read(fd, buf, n);
	unsigned right = 0;

	while ((ssize_t)right < got && buf[right] == (*at + right) % 251)
		right++;
	*at += right;
	return right;
}

/* A ring full but for @hole bytes, its head and tail in one page, is made larger and smaller. */
static void resize_wrapped(int in, int out, unsigned full, unsigned hole,
			   bool (*resize)(int fd, unsigned size))
{
	unsigned put = 0, got = 0;

	EXPECT(put_pattern(in, &put, full) && get_pattern(out, &got, hole) == hole);
	put_pattern(in, &put, hole - 1); /* Linux has no room for them */
	EXPECT(resize(in, 2 * full));
	while (get_pattern(out, &got, 5000) == 5000)
		;
	EXPECT(got == full || got == full + hole - 1);
	EXPECT_ERROR(EAGAIN, read(out, &put, 1));
}

static bool resize_pipe(int fd, unsigned size)
{
	return fcntl(fd, F_SETPIPE_SZ, size) == (int)size;
}

static bool resize_socket(int fd, unsigned size)
{
	int bytes = (int)size;

	return !setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

static void pipe_wraps(void)
{
	for (unsigned hole = 1; hole < 4096; hole += 585) {
		int p[2], s[2];

		EXPECT(!pipe2(p, O_NONBLOCK));
		resize_wrapped(p[1], p[0], CAPACITY, hole, resize_pipe);
		EXPECT(!close(p[0]) && !close(p[1]));
		EXPECT(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s));
		resize_wrapped(s[1], s[0], CAPACITY / 2, hole, resize_socket);
		EXPECT(!close(s[0]) && !close(s[1]));
	}
}

static void pipe_ends(void)
{
	int p[2];
	char c;

	signal(SIGPIPE, SIG_IGN);
	EXPECT(!pipe(p) && write(p[1], "x", 1) == 1 && !close(p[1]));
	EXPECT(read(p[0], &c, 1) == 1 && read(p[0], &c, 1) == 0 && read(p[0], &c, 1) == 0);
	EXPECT(!close(p[0]) && !pipe(p) && !close(p[0]));
	EXPECT_ERROR(EPIPE, write(p[1], "x", 1));
}

struct writer {
	int fd;
	char byte;
};

enum { RECORDS = 200 };

static void write_records(void *arg)
{
	struct writer *w = arg;
	char half[2048];
	struct iovec iov[2] = { { half, sizeof(half) }, { half, sizeof(half) } };
	int i;

	memset(half, w->byte, sizeof(half));
	for (i = 0; i < RECORDS; i++)
		EXPECT(writev(w->fd, iov, 2) == 4096);
}

/* Records of up to PIPE_BUF bytes of several writers do not mix, in one write or in a vector. */
static void pipe_atomic(void)
{
	enum { WRITERS = 4 };
	int p[2], i, counts[WRITERS] = { 0 };
	pid_t pids[WRITERS];
	char buf[4096];

	EXPECT(!pipe(p));
	for (i = 0; i < WRITERS; i++)
		pids[i] = spawn(write_records, &(struct writer){ p[1], (char)('a' + i) });
	close(p[1]);
	for (;;) {
		size_t have = 0;
		ssize_t n = 1;

		while (have < sizeof(buf) && (n = read(p[0], buf + have, sizeof(buf) - have)) > 0)
			have += (size_t)n;
		EXPECT(n >= 0);
		if (!have)
			break;
		EXPECT(have == 4096);
		for (i = 1; i < 4096; i++)
			EXPECT(buf[i] == buf[0]);
		counts[buf[0] - 'a']++;
	}
	for (i = 0; i < WRITERS; i++) {
		await_child(pids[i]);
		EXPECT(counts[i] == RECORDS);
	}
}

enum { BIG = 1 << 20 };

static void *fresh_memory(void)
{
	void *p = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(p != MAP_FAILED);
	return p;
}

static void write_big(void *arg)
{
	unsigned *data = fresh_memory(), i;

	for (i = 0; i < BIG / 4; i += 1024) /* leaves holes: never touched, zeros */
		data[i] = i;
	EXPECT(write(*(int *)arg, data, BIG) == BIG);
}

/* One write larger than the pipe, between memory that has to be faulted in on both sides. */
static void pipe_big(void)
{
	unsigned *data = fresh_memory(), i;
	size_t have = 0;
	int p[2];
	pid_t pid;

	EXPECT(!pipe(p));
	pid = spawn(write_big, &p[1]);
	close(p[1]);
	while (have < BIG) {
		ssize_t n = read(p[0], (char *)data + have, have % 8192 ? 333 : 12345);

		EXPECT(n > 0);
		have += (size_t)n;
		EXPECT(have <= BIG);
		if (BIG - have < 12345)
			break;
	}
	while (have < BIG) {
		ssize_t n = read(p[0], (char *)data + have, BIG - have);

		EXPECT(n > 0);
		have += (size_t)n;
	}
	for (i = 0; i < BIG / 4; i++)
		EXPECT(data[i] == (i % 1024 ? 0 : i));
	await_child(pid);
}

/* readv gives what is there and does not wait to fill the rest. */
static void pipe_vector(void)
{
	char a[2], b[4];
	struct iovec iov[2] = { { a, 2 }, { b, 4 } };
	int p[2];

	EXPECT(!pipe(p) && write(p[1], "12", 2) == 2 && readv(p[0], iov, 2) == 2);
	EXPECT(write(p[1], "123", 3) == 3 && readv(p[0], iov, 2) == 3 && b[0] == '3');
}

static void open_writer(void *arg)
{
	int fd = open("fifo", O_WRONLY);

	(void)arg;
	EXPECT(fd >= 0 && write(fd, "hello", 5) == 5);
}

static void fifo(void)
{
	char buf[8];
	int r, w;
	pid_t pid;

	EXPECT(!mkfifo("fifo", 0600));
	EXPECT_ERROR(ENXIO, open("fifo", O_WRONLY | O_NONBLOCK));
	pid = spawn(open_writer, NULL);
	r = open("fifo", O_RDONLY); /* waits for the writer */
	EXPECT(r >= 0 && read(r, buf, 8) == 5 && read(r, buf, 8) == 0);
	await_child(pid);
	w = open("fifo", O_WRONLY | O_NONBLOCK);
	EXPECT(w >= 0 && write(w, "x", 1) == 1 && read(r, buf, 8) == 1);
	EXPECT(!close(r) && !close(w));
	w = open("fifo", O_RDWR); /* waits for nobody */
	EXPECT(w >= 0 && write(w, "both", 4) == 4 && read(w, buf, 8) == 4 && !unlink("fifo"));
}

static void echo_upper(void *arg)
{
	int fd = *(int *)arg;
	char buf[100];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < n; i++)
			buf[i] -= 32;
		EXPECT(write(fd, buf, (size_t)n) == n);
	}
	EXPECT(n == 0);
}

static void sockets(void)
{
	struct pollfd pfd = { .events = POLLIN | POLLOUT };
	int s[2], i;
	char buf[100];
	pid_t pid;

	signal(SIGPIPE, SIG_IGN);
	EXPECT(!socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	pid = spawn(echo_upper, &(int){ (close(0), dup2(s[1], 0)) });
	for (i = 0; i < 50; i++)
		EXPECT(write(s[0], "abc", 3) == 3 && read(s[0], buf, 100) == 3 &&
		       !memcmp(buf, "ABC", 3));
	close(0);
	close(s[1]);
	pfd.fd = s[0];
	EXPECT(poll(&pfd, 1, 0) == 1 && pfd.revents == POLLOUT);
	/* The child ends at the end of its input. */
	EXPECT(!shutdown(s[0], SHUT_WR) && read(s[0], buf, 1) == 0);
	await_child(pid);
	EXPECT_ERROR(EPIPE, write(s[0], "x", 1));
	EXPECT(poll(&pfd, 1, 0) == 1 && (pfd.revents & (POLLIN | POLLHUP)) == (POLLIN | POLLHUP));
	EXPECT_ERROR(EAFNOSUPPORT, socketpair(AF_INET6 + 1000, SOCK_STREAM, 0, s));
	EXPECT(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s));
	EXPECT_ERROR(EAGAIN, read(s[0], buf, 1));
	for (i = 0; write(s[0], buf, 100) == 100; i++)
		;
	EXPECT(errno == EAGAIN && i > 100 && i < 3000);
}

/* Bytes go from an end that can be read to one that can be written; a counter has no pages. */
static void splice_knows_ends(void)
{
	int p[2], q[2], counter = eventfd(1, 0);

	EXPECT(!pipe(p) && !pipe(q) && write(p[1], "x", 1) == 1);
	EXPECT_ERROR(EBADF, splice(p[1], NULL, q[1], NULL, 1, 0));
	EXPECT_ERROR(EBADF, splice(p[0], NULL, q[0], NULL, 1, 0));
	EXPECT_ERROR(EINVAL, splice(counter, NULL, q[1], NULL, 8, 0));
	close(counter);
}

/* Pages of the kernel go into a pipe and into nothing else. On this kernel only. */
static void splice_takes_pages(void)
{
	static char text[1000], page[4096];
	int raw = open("/sys/kernel/tracing/per_cpu/cpu0/trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	int marker = open("/sys/kernel/tracing/trace_marker", O_WRONLY), p[2];
	int file = open("f", O_CREAT | O_RDWR, 0644);
	cpu_set_t first;

	if (access("/proc/fairground", F_OK))
		return;
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	EXPECT(!sched_setaffinity(0, sizeof(first), &first) && raw >= 0 && marker >= 0);
	memset(text, 'x', sizeof(text));
	for (int i = 0; i < 20; i++)
		EXPECT(write(marker, text, sizeof(text)) > 0);
	EXPECT(!pipe(p) && fcntl(p[1], F_SETPIPE_SZ, 4096) == 4096 && file >= 0);
	EXPECT_ERROR(EINVAL, splice(raw, NULL, file, NULL, 4096, SPLICE_F_NONBLOCK));
	EXPECT(splice(raw, NULL, p[1], NULL, 4096, 0) == 4096);
	EXPECT_ERROR(EAGAIN, splice(raw, NULL, p[1], NULL, 4096, SPLICE_F_NONBLOCK));
	EXPECT(read(p[0], page, sizeof(page)) == 4096);
	EXPECT(splice(raw, NULL, p[1], NULL, 4096, SPLICE_F_NONBLOCK) == 4096);
}

/* A segment without bytes ends nothing, however much is written. */
static void empty_segments(void)
{
	static char text[6000], got[sizeof(text) + 1];
	struct iovec iov[] = { { text, 0 }, { text, 3000 },	   { text, 0 },
			       { text, 0 }, { text + 3000, 3000 }, { text, 0 } };
	int p[2];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i / 16);
	EXPECT(!pipe(p) && writev(p[1], iov, 6) == 6000);
	EXPECT(read(p[0], got, sizeof(got)) == 6000 && !memcmp(got, text, sizeof(text)));
}

static void write_a_page(void *fd)
{
	static char page[4096];

	alarm(10);
	EXPECT(write(*(int *)fd, page, sizeof(page)) == sizeof(page));
}

/* A writer that sleeps because a pipe is full goes on when the pipe becomes larger. */
static void larger_pipes_wake(void)
{
	pid_t pid;
	int p[2];

	EXPECT(!pipe(p) && fcntl(p[1], F_SETPIPE_SZ, 4096) == 4096);
	write_a_page(&p[1]);
	alarm(0);
	pid = spawn(write_a_page, &p[1]);
	await_sleep(pid, pid);
	EXPECT(fcntl(p[1], F_SETPIPE_SZ, 65536) == 65536);
	await_child(pid);
}

/* So it does when a reader has made room for a page, however much is left. */
static void room_wakes(void)
{
	static const int sizes[] = { 4096, 8192, 65536 };
	static char buf[65536];
	pid_t pid;
	int p[2];

	for (int i = 0; i < 3; i++) {
		EXPECT(!pipe(p) && fcntl(p[1], F_SETPIPE_SZ, sizes[i]) == sizes[i]);
		EXPECT(write(p[1], buf, (size_t)sizes[i]) == sizes[i]);
		pid = spawn(write_a_page, &p[1]);
		await_sleep(pid, pid);
		EXPECT(read(p[0], buf, 4096) == 4096);
		await_child(pid);
		EXPECT(!close(p[0]) && !close(p[1]));
	}
}

const struct check pipe_tests[] = {
	{ "room-wakes", room_wakes },
	{ "splice-takes-pages", splice_takes_pages },
	{ "empty-segments", empty_segments },
	{ "splice-knows-ends", splice_knows_ends },
	{ "larger-pipes-wake", larger_pipes_wake },
	{ "pipe-room", pipe_room },
	{ "pipe-wraps", pipe_wraps },
	{ "pipe-ends", pipe_ends },
	{ "pipe-atomic", pipe_atomic },
	{ "pipe-big", pipe_big },
	{ "pipe-vector", pipe_vector },
	{ "fifo", fifo },
	{ "sockets", sockets },
	{ NULL, NULL },
};
