/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * uclampset: show or set the utilisation clamps of a process, or run a program with some. The
 * command line of util-linux's uclampset, without its options for the whole system: those are in
 * /proc/sys/kernel.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/args.h"

#define NOT_GIVEN (-2) /* -1 is a reset */

static bool by_pid, reset_on_fork;
static int least = NOT_GIVEN, most = NOT_GIVEN, pid;

static const struct arg args[] = {
	{ 'p', "pid", ARG_FLAG, &by_pid, "act on the process PID" },
	{ 'm', NULL, ARG_INT, &least, "utilisation is taken for so much at least; -1: reset", -1,
	  1 << 30 },
	{ 'M', NULL, ARG_INT, &most, "and for so much at most", -1, 1 << 30 },
	{ 'R', "reset-on-fork", ARG_FLAG, &reset_on_fork, "children have none" },
	{ 0 },
};

static const struct program program = {
	"uclampset",
	"Show or set utilisation clamps, 0 to 1024.",
	"CMD [ARG...] | -p PID",
	args,
};

static int fail(const char *what)
{
	fprintf(stderr, "uclampset: failed to %s pid %d's uclamp values: %s\n", what, pid,
		strerror(errno));
	return 1;
}

static int set_clamps(void)
{
	struct clamps clamps = { least != NOT_GIVEN, most != NOT_GIVEN, least, most };

	return set_clamp(pid, &clamps, reset_on_fork) ? fail("set") : 0;
}

static int print_clamps(void)
{
	struct clamps clamps;

	if (get_clamp(pid, &clamps))
		return fail("get");
	printf("%d util_clamp: min: %d max: %d\n", pid, clamps.least, clamps.most);
	return 0;
}

int main(int argc, char **argv)
{
	int first = parse_args(&program, argc, argv), nr = argc - first;
	bool sets = least != NOT_GIVEN || most != NOT_GIVEN || reset_on_fork;

	if (by_pid && (nr != 1 || !parse_int(argv[first], 0, 1 << 30, &pid)))
		usage_error(&program, "-p wants a PID");
	if (!by_pid && !nr)
		usage_error(&program, "wants CMD, or -p PID");
	if (sets && set_clamps())
		return 1;
	if (by_pid)
		return sets ? 0 : print_clamps();
	exec_command(&program, argv + first);
}
