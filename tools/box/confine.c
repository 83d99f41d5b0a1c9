/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A library that a program under test is started with (LD_PRELOAD). Before main() it takes away
 * all system calls but those of a filter. It gets the filter from the socket CONFINE_FD (box.py),
 * behind a number that nobody knows, and sends that number back when the program ends by itself
 * with status 0. So a program that was left halfway is not taken for one that is through.
 *
 * bubblewrap can load such a filter, too, but then executes the program: it has to allow execve().
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FAILED 125 /* the status of a program that could not be confined: box.py knows it */

static struct {
	char number[16];
	struct sock_filter filter[255];
} given;

static void say_that_it_is_through(int status, void *socket)
{
	if (!status && write((int)(long)socket, given.number, sizeof(given.number)) < 0)
		_exit(FAILED);
}

/* With TSYNC the filter is for all threads: a sanitizer may have started one. */
__attribute__((constructor)) static void confine(void)
{
	const char *name = getenv("CONFINE_FD");
	int fd = name ? atoi(name) : -1;
	ssize_t bytes = read(fd, &given, sizeof(given)) - (ssize_t)sizeof(given.number);
	struct sock_fprog program = { .filter = given.filter };

	if (bytes <= 0 || on_exit(say_that_it_is_through, (void *)(long)fd))
		_exit(FAILED);
	program.len = (unsigned short)((size_t)bytes / sizeof(*given.filter));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
		_exit(FAILED);
}
