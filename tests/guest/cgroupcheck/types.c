/* SPDX-License-Identifier: GPL-2.0-only */
/* v2's rules about members: domains, threaded groups, members beside children; killing. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroupcheck/cgroupcheck.h"

static bool is_in(pid_t pid, const char *path)
{
	char file[32], line[64];

	snprintf(file, sizeof(file), "/proc/%d/cgroup", pid);
	snprintf(line, sizeof(line), "0::%s\n", path);
	return strstr(get(file), line);
}

static void numbers(void)
{
	static const char *const files[] = { "g/cgroup.procs", "g/cgroup.threads" };
	pid_t pid;
	int f;

	enter_v2();
	EXPECT(!mkdir("g", 0755));
	pid = start_sleeper();
	for (f = 0; f < 2; f++) {
		EXPECT(put(files[f], "99999") == ESRCH && put(files[f], "-1") == EINVAL);
		EXPECT(put(files[f], "abc") == EINVAL && put(files[f], " ") == EINVAL);
		EXPECT(!put(files[f], ""));
	}
	/* A single thread does not leave its process's domain. */
	EXPECT(put_number("g/cgroup.threads", pid) == EOPNOTSUPP);
	EXPECT(!put_number("g/cgroup.procs", pid) && lists("g/cgroup.procs", pid));
	EXPECT(!put_number("g/cgroup.threads", pid) && lists("g/cgroup.threads", pid));
	EXPECT(value_of("g/cgroup.events", "populated") == 1 && is_in(pid, "/g"));
	EXPECT_ERROR(EBUSY, rmdir("g"));
	end_child(pid);
	EXPECT(value_of("g/cgroup.events", "populated") == 0 && !rmdir("g"));
	leave_v2();
}

static const struct row type_rows[] = {
	{ "a/cgroup.type", NULL, 0, "domain" },
	{ "a/cgroup.type", "domain", EINVAL, "domain" },
	{ "a/cgroup.type", "thread", EINVAL, "domain" },
	{ "a/b/cgroup.type", "threaded\n", 0, "threaded" },
	{ "a/cgroup.type", NULL, 0, "domain threaded" },
	{ "a/d/cgroup.type", NULL, 0, "domain invalid" },
	{ "a/b/c/cgroup.type", NULL, 0, "domain invalid" },
	{ "a/b/c/cgroup.type", "threaded", 0, "threaded" },
	{ "a/b/cgroup.type", "threaded", 0, "threaded" },
	{ "a/b/cgroup.type", "domain", EINVAL, "threaded" },
	{ "a/b/cgroup.procs", "99999", ESRCH, NULL },
	{ "a/d/cgroup.procs", "0", EOPNOTSUPP, "" },
	{ "a/d/cgroup.subtree_control", "+cpu", ENOENT, "" },
	{ "a/cgroup.subtree_control", "+cpu", 0, "cpu" },
	{ "a/d/cgroup.subtree_control", "+cpu", EOPNOTSUPP, "" },
	{ "a/b/cgroup.subtree_control", "+cpu", 0, "cpu" },
	{ NULL, NULL, 0, NULL },
};

static void threaded(void)
{
	pid_t pid;

	enter_v2();
	EXPECT(!mkdir("a", 0755) && !mkdir("a/b", 0755) && !mkdir("a/b/c", 0755));
	EXPECT(!mkdir("a/d", 0755));
	check_rows(type_rows);
	pid = start_sleeper();
	EXPECT(!put_number("a/b/cgroup.procs", pid) && is_in(pid, "/a/b"));
	EXPECT(read_error("a/b/cgroup.procs") == EOPNOTSUPP && lists("a/cgroup.procs", pid));
	EXPECT(!lists("a/cgroup.threads", pid) && lists("a/b/cgroup.threads", pid));
	EXPECT(!put_number("a/cgroup.threads", pid) && !put_number("a/b/c/cgroup.threads", pid));
	EXPECT(put_number("cgroup.threads", pid) == EOPNOTSUPP && is_in(pid, "/a/b/c"));
	EXPECT(put("a/b/cgroup.kill", "1") == EOPNOTSUPP);
	EXPECT(put("a/b/c/cgroup.type", "threaded") == 0);
	end_child(pid);
	EXPECT(!put("a/b/cgroup.subtree_control", "-cpu") &&
	       !put("a/cgroup.subtree_control", "-cpu"));
	EXPECT(!rmdir("a/b/c") && !rmdir("a/b") && reads("a/cgroup.type", "domain"));
	EXPECT(!rmdir("a/d") && !rmdir("a"));
	leave_v2();
}

/* --- threads ------------------------------------------------------------------------- */

static pthread_barrier_t started, ended;
static pid_t other_thread;

static void *wait_here(void *unused)
{
	other_thread = thread_id();
	pthread_barrier_wait(&started);
	pthread_barrier_wait(&ended);
	return unused;
}

/* The threads of one process in two groups of one threaded domain. */
static void split(void)
{
	pthread_t t;

	enter_v2();
	EXPECT(!mkdir("a", 0755) && !mkdir("a/b", 0755) && !mkdir("a/c", 0755));
	EXPECT(!put("a/cgroup.procs", "0") && put("a/b/cgroup.type", "threaded") == 0);
	EXPECT(!put("a/c/cgroup.type", "threaded") && reads("a/cgroup.type", "domain threaded"));
	pthread_barrier_init(&started, NULL, 2);
	pthread_barrier_init(&ended, NULL, 2);
	EXPECT(!pthread_create(&t, NULL, wait_here, NULL));
	pthread_barrier_wait(&started);
	EXPECT(!put_number("a/b/cgroup.threads", other_thread) && !put("a/c/cgroup.threads", "0"));
	EXPECT(lists("a/b/cgroup.threads", other_thread) && lists("a/c/cgroup.threads", getpid()));
	EXPECT(!nr_lines("a/cgroup.threads") && nr_lines("a/cgroup.procs") == 1);
	EXPECT(put("a/c/cgroup.type", "threaded") == 0);
	/* The process leaves as a whole. */
	EXPECT(!put_number("cgroup.procs", other_thread) && !nr_lines("a/cgroup.procs"));
	EXPECT(is_in(getpid(), "/") && !nr_lines("a/b/cgroup.threads"));
	pthread_barrier_wait(&ended);
	EXPECT(!pthread_join(t, NULL));
	EXPECT(!rmdir("a/b") && !rmdir("a/c") && !rmdir("a"));
	leave_v2();
}

/* Members do not compete with children, unless the children are threaded. */
static void internal_members(void)
{
	pid_t first, second;

	enter_v2();
	EXPECT(!mkdir("c", 0755) && !mkdir("c/d", 0755));
	first = start_sleeper();
	EXPECT(!put_number("c/cgroup.procs", first) && !put("c/cgroup.subtree_control", "+cpu"));
	EXPECT(reads("c/cgroup.type", "domain threaded") &&
	       reads("c/d/cgroup.type", "domain invalid"));
	EXPECT(put_number("c/d/cgroup.procs", first) == EOPNOTSUPP);
	EXPECT(!put("c/d/cgroup.type", "threaded") && !put_number("c/d/cgroup.procs", first));
	EXPECT(!put("c/cgroup.subtree_control", "-cpu") &&
	       reads("c/cgroup.type", "domain threaded"));
	EXPECT(!put_number("cgroup.procs", first) && !rmdir("c/d") &&
	       reads("c/cgroup.type", "domain"));

	EXPECT(!mkdir("c/f", 0755) && !mkdir("c/g", 0755) &&
	       !put("c/cgroup.subtree_control", "+cpu"));
	second = start_sleeper();
	EXPECT(!put_number("c/f/cgroup.procs", first));
	EXPECT(put_number("c/cgroup.procs", first) == EBUSY);
	EXPECT(put_number("c/cgroup.procs", second) == EBUSY);
	EXPECT(!put("c/cgroup.subtree_control", "-cpu") && !put_number("c/cgroup.procs", second));
	EXPECT(put("c/cgroup.subtree_control", "+cpu") == EBUSY);
	EXPECT(put_number("c/g/cgroup.threads", second) == EOPNOTSUPP);
	EXPECT(put("c/g/cgroup.type", "threaded") == EOPNOTSUPP);
	EXPECT(put("c/f/cgroup.type", "threaded") == EOPNOTSUPP);
	end_child(first);
	end_child(second);
	EXPECT(!rmdir("c/f") && !rmdir("c/g") && !rmdir("c"));
	leave_v2();
}

static void fork_for_ever(void *group)
{
	EXPECT(!put(group, "0"));
	for (;;) {
		pid_t pid = fork();

		if (pid > 0)
			waitpid(pid, NULL, 0);
		else if (!pid && fork())
			usleep(100);
		else if (!pid)
			_exit(0);
	}
}

/* However fast they fork, all of them end. */
static void killing(void)
{
	pid_t a, b;
	int i;

	enter_v2();
	EXPECT(!mkdir("g", 0755) && !mkdir("g/h", 0755));
	EXPECT(put("g/cgroup.kill", "2") == ERANGE && put("g/cgroup.kill", "0") == ERANGE);
	EXPECT(put("g/cgroup.kill", "x") == EINVAL && read_error("g/cgroup.kill") == EINVAL);
	EXPECT(!put("g/cgroup.kill", " 1 \n"));
	a = spawn(fork_for_ever, (char *)"g/cgroup.procs");
	b = spawn(fork_for_ever, (char *)"g/h/cgroup.procs");
	while (nr_lines("g/cgroup.procs") < 8 || nr_lines("g/h/cgroup.procs") < 8)
		usleep(1000);
	EXPECT(!put("g/cgroup.kill", "1"));
	EXPECT(waitpid(a, &i, 0) == a && WIFSIGNALED(i) && WTERMSIG(i) == SIGKILL);
	EXPECT(waitpid(b, &i, 0) == b && WIFSIGNALED(i) && WTERMSIG(i) == SIGKILL);
	for (i = 0; i < 1000 && value_of("g/cgroup.events", "populated"); i++)
		usleep(1000);
	EXPECT(!rmdir("g/h") && !rmdir("g"));
	leave_v2();
}

const struct check type_tests[] = {
	{ "v2_numbers", numbers },	     { "v2_threaded", threaded }, { "v2_split", split },
	{ "v2_internal", internal_members }, { "v2_kill", killing },	  { NULL, NULL },
};
