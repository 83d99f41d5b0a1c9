/* SPDX-License-Identifier: GPL-2.0-only */
/* See check.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/check.h"

#define TIME_LIMIT 60 /* s: a test that hangs dies of SIGALRM */

void fail(const char *file, int line, const char *what)
{
	printf("%s:%d: not so: %s (errno %d, %s)\n", file, line, what, errno, strerror(errno));
	fflush(stdout);
	_exit(1);
}

pid_t spawn(void (*fn)(void *), void *arg)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid)
		return pid;
	fn(arg);
	_exit(0);
}

void await_child(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) != pid)
		EXPECT(errno == EINTR);
	EXPECT(WIFEXITED(status) && !WEXITSTATUS(status));
}

void become(uid_t user)
{
	if (geteuid())
		_exit(0);
	EXPECT(!setgroups(0, NULL) && !setresgid(user, user, user));
	EXPECT(!setresuid(user, user, user));
}

void run_parties(void (*fn)(void *))
{
	static int index[PARTIES];
	pid_t pids[PARTIES];
	int i;

	for (i = 0; i < PARTIES; i++) {
		index[i] = i;
		pids[i] = spawn(fn, &index[i]);
	}
	for (i = 0; i < PARTIES; i++)
		await_child(pids[i]);
}

void await_sleep(pid_t pid, pid_t tid)
{
	char path[64], stat[256], *state = NULL;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	while (!state || state[2] != 'S') { /* "1 (name) S ..." */
		int fd = open(path, O_RDONLY);
		ssize_t n = read(fd, stat, sizeof(stat) - 1);

		EXPECT(n > 0 && !close(fd));
		stat[n] = '\0';
		state = strrchr(stat, ')');
		usleep(1000);
	}
}

static void run_here(void *test)
{
	alarm(TIME_LIMIT);
	((const struct check *)test)->run();
}

static int passed, failed;

static void run_test(const struct check *test)
{
	char dir[] = "/tmp/check-XXXXXX", command[64];
	int status;
	pid_t pid;

	if (!mkdtemp(dir) || chdir(dir))
		die("a directory in /tmp");
	pid = spawn(run_here, (void *)test);
	while (waitpid(pid, &status, 0) != pid)
		if (errno != EINTR)
			die("wait");
	printf("%-20s  %s\n", test->name, status ? "FAILED" : "ok");
	if (status)
		failed++;
	else
		passed++;
	if (chdir("/"))
		die("/");
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (system(command))
		die(command);
}

/* Returns whether there is such a test; a NULL @name means every one. */
static bool run_named(const struct check *const *groups, unsigned nr_groups, const char *name)
{
	const struct check *test;
	bool found = false;
	unsigned i;

	for (i = 0; i < nr_groups; i++) {
		for (test = groups[i]; test->name; test++) {
			if (name && strcmp(test->name, name))
				continue;
			run_test(test);
			found = true;
		}
	}
	return found;
}

int run_checks(const struct program *program, const struct check *const *groups, unsigned nr_groups,
	       int argc, char **argv)
{
	int first = parse_args(program, argc, argv), i;

	for (i = first; i < argc; i++)
		if (!run_named(groups, nr_groups, argv[i]))
			usage_error(program, "unknown test '%s'", argv[i]);
	if (first == argc)
		run_named(groups, nr_groups, NULL);
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
