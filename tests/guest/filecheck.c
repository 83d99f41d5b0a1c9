/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * filecheck: what programs may rely on when they use files, pipes, sockets and several of them at
 * once. The same binary passes on Linux.
 */
#include "filecheck/filecheck.h"

static const struct arg args[] = { { 0 } };

static const struct program program = {
	"filecheck",
	"Check files, pipes, sockets and polling against what Linux promises. Without NAME: all.",
	"[NAME]...",
	args,
};

int main(int argc, char **argv)
{
	static const struct check *const groups[] = { file_tests,  pipe_tests,	   wait_tests,
						      race_tests,  lock_tests,	   event_tests,
						      close_tests, shutdown_tests, bound_tests,
						      edge_tests,  terminal_tests, right_tests,
						      mount_tests, kind_tests };

	leave_terminal();
	return run_checks(&program, groups, sizeof(groups) / sizeof(groups[0]), argc, argv);
}
