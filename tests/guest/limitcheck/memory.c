/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of the kernel that a user takes by descriptors. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "limitcheck/limitcheck.h"

#define PAGE 4096
enum { SOFT_LIMIT = 16384, USUAL = 16, FEW = 2, LARGEST = 256 }; /* pages of pipes */

/* Skip what needs the limits of Linux as they come. */
static bool limit_is(const char *file, long value)
{
	char text[32] = "";
	int fd = open(file, O_RDONLY);

	EXPECT(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && !close(fd));
	return atol(text) == value;
}

static int capacity(const int p[2])
{
	return fcntl(p[0], F_GETPIPE_SZ) / PAGE;
}

/* Fill the soft limit but for @left pages, with large pipes first. */
static void take_pipes(int left)
{
	int p[2], pages = SOFT_LIMIT - left;

	for (; pages >= LARGEST; pages -= LARGEST) {
		EXPECT(!pipe(p) && capacity(p) == USUAL);
		EXPECT(fcntl(p[0], F_SETPIPE_SZ, LARGEST * PAGE) == LARGEST * PAGE);
	}
	for (; pages > 0; pages -= USUAL)
		EXPECT(!pipe(p) && capacity(p) == USUAL);
}

static void pipes_of_a_user(void)
{
	int p[2], q[2];

	if (!limit_is("/proc/sys/fs/pipe-user-pages-soft", SOFT_LIMIT))
		return;
	become(ALICE);
	take_pipes(2 * USUAL);
	EXPECT(!pipe(p) && capacity(p) == USUAL);
	EXPECT_ERROR(EPERM, fcntl(p[0], F_SETPIPE_SZ, 4 * USUAL * PAGE));
	EXPECT(fcntl(p[0], F_SETPIPE_SZ, 2 * USUAL * PAGE) == 2 * USUAL * PAGE);
	EXPECT(!pipe(q) && capacity(q) == FEW);
	EXPECT_ERROR(EPERM, fcntl(q[0], F_SETPIPE_SZ, 2 * FEW * PAGE));
	EXPECT(write(q[1], "abc", 3) == 3 && capacity(q) == FEW);
	EXPECT(fcntl(q[0], F_SETPIPE_SZ, PAGE) == PAGE);
	close(p[0]);
	EXPECT(!close(p[1]) && !pipe(p) && capacity(p) == USUAL);
	EXPECT(fcntl(q[0], F_SETPIPE_SZ, FEW * PAGE) == FEW * PAGE);
}

static void pipes_of_others(void)
{
	int p[2], ready[2], ended[2];
	char byte;

	if (!limit_is("/proc/sys/fs/pipe-user-pages-soft", SOFT_LIMIT) || geteuid())
		return;
	EXPECT(!pipe(ready) && !pipe(ended));
	if (!fork()) {
		become(ALICE);
		take_pipes(0);
		close(ended[1]);
		_exit(write(ready[1], "", 1) != 1 || read(ended[0], &byte, 1));
	}
	EXPECT(read(ready[0], &byte, 1) == 1);
	become(BOB);
	EXPECT(!pipe(p) && capacity(p) == USUAL);
}

/* The first to open a FIFO pays for it, until the last closes it. */
static void fifos_are_given_back(void)
{
	int p[2], fd;

	if (!limit_is("/proc/sys/fs/pipe-user-pages-soft", SOFT_LIMIT))
		return;
	EXPECT(!mkfifo("f", 0666) && !chmod("f", 0666) && !chmod(".", 0777));
	become(CAROL);
	take_pipes(USUAL);
	EXPECT((fd = open("f", O_RDWR)) >= 0 && fcntl(fd, F_GETPIPE_SZ) == USUAL * PAGE);
	EXPECT(!pipe(p) && capacity(p) == FEW);
	EXPECT(!close(p[0]) && !close(p[1]) && write(fd, "abc", 3) == 3 && !close(fd));
	EXPECT(!pipe(p) && capacity(p) == USUAL);
}

const struct check memory_tests[] = {
	{ "pipes-of-a-user", pipes_of_a_user },
	{ "pipes-of-others", pipes_of_others },
	{ "fifos-are-given-back", fifos_are_given_back },
	{ NULL, NULL },
};
