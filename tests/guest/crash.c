/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * crash: programs that misbehave on purpose. Each test runs in a child process; its end, an errno
 * or a signal, is compared with what Linux gives. The kernel has to go on, whatever they do.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crash/crash.h"
#include "lib/args.h"

static bool list_only;

static const struct arg args[] = {
	{ 'l', "list", ARG_FLAG, &list_only, "list the tests" },
	{ 0 },
};

static const struct program program = {
	"crash",
	"Misbehave and compare the outcome with Linux's. Without NAME: all tests but those of "
	"group limits.",
	"[NAME|GROUP]...",
	args,
};

static const struct group {
	const char *name;
	const struct crash_test *tests;
	bool by_default;
} groups[] = {
	{ "faults", fault_tests, true },  { "execs", exec_tests, true },
	{ "calls", call_tests, true },	  { "pointers", pointer_tests, true },
	{ "limits", limit_tests, false },
};

#define NR_GROUPS (sizeof(groups) / sizeof(groups[0]))

static const struct {
	int value;
	const char *name;
} names[] = {
/* clang-format off */
#define ERROR(e)  { ENDS(e), #e }
#define SIGNAL(s) { DIES(s), #s }
	/* clang-format on */
	ERROR(EPERM),	 ERROR(ENOENT),	  ERROR(ESRCH),	   ERROR(EINTR),    ERROR(EIO),
	ERROR(E2BIG),	 ERROR(ENOEXEC),  ERROR(EBADF),	   ERROR(ECHILD),   ERROR(EAGAIN),
	ERROR(ENOMEM),	 ERROR(EACCES),	  ERROR(EFAULT),   ERROR(EEXIST),   ERROR(ENODEV),
	ERROR(ENOTDIR),	 ERROR(EISDIR),	  ERROR(EINVAL),   ERROR(EMFILE),   ERROR(ENOTTY),
	ERROR(ESPIPE),	 ERROR(EPIPE),	  ERROR(ELOOP),	   ERROR(ENOSYS),   ERROR(ENAMETOOLONG),
	SIGNAL(SIGILL),	 SIGNAL(SIGTRAP), SIGNAL(SIGABRT), SIGNAL(SIGBUS),  SIGNAL(SIGFPE),
	SIGNAL(SIGKILL), SIGNAL(SIGSEGV), SIGNAL(SIGPIPE), SIGNAL(SIGALRM), SIGNAL(SIGTERM),
	SIGNAL(SIGSYS),
};

/* "SIGSEGV", "ENOENT", "0" */
static const char *outcome_name(int outcome)
{
	static char text[32];
	unsigned i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].value == outcome)
			return names[i].name;
	if (outcome >= DIES(0))
		snprintf(text, sizeof(text), "signal %d", outcome - DIES(0));
	else
		snprintf(text, sizeof(text), "%d", outcome);
	return text;
}

int error_of(long result)
{
	return result == -1 ? errno : 0;
}

/* Fork, run the test in the child, and return how it ended: ENDS or DIES. */
static int run_in_child(const struct crash_test *test)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid)
		_exit(test->run ? test->run() : check_pointer(test->call));
	while (waitpid(pid, &status, 0) != pid)
		if (errno != EINTR)
			die("wait");
	return WIFSIGNALED(status) ? DIES(WTERMSIG(status)) : ENDS(WEXITSTATUS(status));
}

static bool run_test(const struct crash_test *test)
{
	int outcome = run_in_child(test);

	printf("%-20s  %-8s  %s", test->name, outcome_name(outcome), test->what);
	if (outcome != test->expected)
		printf("  WRONG: Linux gives %s", outcome_name(test->expected));
	printf("\n");
	return outcome == test->expected;
}

static void list_test(const struct crash_test *test)
{
	printf("  %-20s  %s\n", test->name, test->what);
}

static int failed, passed;

/* Run or list the tests of @group that are called @name; all of them if the group is. */
static bool run_group(const struct group *group, const char *name)
{
	bool all = !strcmp(group->name, name), found = false;
	const struct crash_test *test;

	for (test = group->tests; test->name; test++) {
		if (!all && strcmp(test->name, name))
			continue;
		found = true;
		if (list_only)
			list_test(test);
		else if (run_test(test))
			passed++;
		else
			failed++;
	}
	return found;
}

static void run_named(const char *name)
{
	bool found = false;
	unsigned i;

	for (i = 0; i < NR_GROUPS; i++)
		found |= run_group(&groups[i], name);
	if (!found)
		usage_error(&program, "unknown test '%s'", name);
}

int main(int argc, char **argv)
{
	int first = parse_args(&program, argc, argv), i;

	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	for (i = first; i < argc; i++)
		run_named(argv[i]);
	for (i = 0; i < (int)NR_GROUPS && first == argc; i++) {
		if (list_only)
			printf("%s:\n", groups[i].name);
		if (list_only || groups[i].by_default)
			run_group(&groups[i], groups[i].name);
	}
	if (!list_only)
		printf("%d as on Linux, %d not\n", passed, failed);
	return failed != 0;
}
