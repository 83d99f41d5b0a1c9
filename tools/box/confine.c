/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A library that a program under test is started with (LD_PRELOAD). Before main() it takes away all
 * system calls but those of a filter, which it reads from the descriptor CONFINE_FD: box.py.
 *
 * bubblewrap can load such a filter, too, but then executes the program: it has to allow execve().
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FAILED 125 /* the status of a program that could not be confined: box.py knows it */

static struct sock_filter filter[256];

/* With TSYNC the filter is for all threads: a sanitizer may have started one. */
__attribute__((constructor)) static void confine(void)
{
	const char *number = getenv("CONFINE_FD");
	int fd = number ? atoi(number) : -1;
	ssize_t bytes = read(fd, filter, sizeof(filter));
	struct sock_fprog program = { .filter = filter };

	if (bytes <= 0 || close(fd))
		_exit(FAILED);
	program.len = (unsigned short)((size_t)bytes / sizeof(*filter));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
		_exit(FAILED);
}
