/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cgroupcheck: what programs may rely on when they use control groups: every file's values and
 * errors, which moves are allowed, and many processes doing all this at once. The same binary
 * passes on Linux 6.1.
 *
 * It needs the controller `cpu` for itself: no groups in either hierarchy when it starts.
 */
#include "cgroupcheck/cgroupcheck.h"

static const struct arg args[] = { { 0 } };

static const struct program program = {
	"cgroupcheck",
	"Check control groups, v1 and v2, against what Linux promises. Without NAME: all.",
	"[NAME]...",
	args,
};

int main(int argc, char **argv)
{
	static const struct check *const groups[] = { row_tests,      v1_tests,	  member_tests,
						      v2_tests,	      type_tests, fdl_tests,
						      delegate_tests, storm_tests };

	return run_checks(&program, groups, sizeof(groups) / sizeof(groups[0]), argc, argv);
}
