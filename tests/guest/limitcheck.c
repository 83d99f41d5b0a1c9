/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * limitcheck: what a user may take of the kernel, and what others notice of it. The same binary
 * passes on Linux. Only user 0 can become others: without it nothing is tested.
 */
#define _GNU_SOURCE
#include "limitcheck/limitcheck.h"

#include <sys/wait.h>
#include <unistd.h>

static const struct arg args[] = { { 0 } };

static const struct program program = {
	"limitcheck",
	"Check the limits on what one user takes: threads, signals, memory of the kernel. Without "
	"NAME: all.",
	"[NAME]...",
	args,
};

uid_t first_user;

void limit(int kind, rlim_t most)
{
	EXPECT(!setrlimit(kind, &(struct rlimit){ most, most }));
}

int main(int argc, char **argv)
{
	static const struct check *const groups[] = { user_tests, memory_tests };

	first_user = 1000000 + 4 * (uid_t)getpid();
	return run_checks(&program, groups, sizeof(groups) / sizeof(groups[0]), argc, argv);
}
