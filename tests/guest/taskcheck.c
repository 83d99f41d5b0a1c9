/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * taskcheck: what programs may rely on with processes, threads, signals, timers and futexes. The
 * same binary passes on Linux.
 */
#include <stdlib.h>

#include "taskcheck/taskcheck.h"

static const struct arg args[] = { { 0 } };

static const struct program program = {
	"taskcheck",
	"Check processes, threads, signals and timers against what Linux promises. Without NAME: "
	"all.",
	"[NAME]...",
	args,
};

int main(int argc, char **argv)
{
	static const struct check *const groups[] = {
		process_tests,	  signal_tests, thread_tests, forbidden_tests, timer_tests,
		credential_tests, limit_tests,	exec_tests,   act_tests
	};

	if (getenv(TELL))
		return tell_what_exec_gave();

	return run_checks(&program, groups, sizeof(groups) / sizeof(groups[0]), argc, argv);
}
