/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * nice: run a program with another nice value, as the POSIX utility does; Debian's busybox lacks
 * it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "lib/args.h"

static int increment = 10;

static const struct arg args[] = {
	{ 'n', "adjustment", ARG_INT, &increment, "added to the nice value (default 10)", -39, 39 },
	{ 0 },
};

static const struct program program = {
	"nice",
	"Run a program with another nice value, or print the current one.",
	"[CMD [ARG...]]",
	args,
};

int main(int argc, char **argv)
{
	int first = parse_args(&program, argc, argv), nice_value = getpriority(PRIO_PROCESS, 0);

	if (first == argc) {
		printf("%d\n", nice_value);
		return 0;
	}
	if (set_nice(0, nice_value + increment))
		fprintf(stderr, "nice: %s\n",
			strerror(errno)); /* and run it all the same, as POSIX says */
	exec_command(&program, argv + first);
}
