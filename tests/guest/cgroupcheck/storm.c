/* SPDX-License-Identifier: GPL-2.0-only */
/* Many groups, deep groups, and many processes that change them at once. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroupcheck/cgroupcheck.h"

enum { MANY = 1000, DEPTH = 20, ROUNDS = 100 };

static void thousand(void)
{
	char name[32], text[32];
	int i;

	enter_v1();
	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "g%d", i);
		EXPECT(!mkdir(name, 0755));
	}
	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "g%d/cpu.shares", i);
		EXPECT(!put_number(name, 2 + i));
		snprintf(name, sizeof(name), "g%d/tasks", i);
		EXPECT(!put(name, "0"));
	}
	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "g%d/cpu.shares", i);
		snprintf(text, sizeof(text), "%d", 2 + i);
		EXPECT(reads(name, text));
	}
	EXPECT(!put("tasks", "0"));
	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "g%d", i);
		EXPECT(!rmdir(name));
	}
	leave_v1();
}

static void deep(void)
{
	char path[16 * DEPTH] = "", line[16 * DEPTH + 8];
	int i;

	enter_v1();
	for (i = 0; i < DEPTH; i++) {
		sprintf(path + strlen(path), "/level%d", i);
		EXPECT(!mkdir(path + 1, 0755));
	}
	strcpy(line, path + 1);
	strcat(line, "/tasks");
	EXPECT(!put(line, "0"));
	snprintf(line, sizeof(line), ":cpu:%s\n", path);
	EXPECT(strstr(get("/proc/self/cgroup"), line));
	burn(20);
	EXPECT(!put("tasks", "0"));
	for (i = 0; i < DEPTH; i++) {
		EXPECT(!rmdir(path + 1));
		*strrchr(path, '/') = '\0';
	}
	leave_v1();
}

/* Every value read is one that some process wrote. */
static void write_shares(void *arg)
{
	int i, mine = 100 + *(int *)arg, seen;

	for (i = 0; i < ROUNDS; i++) {
		EXPECT(!put_number("g/cpu.shares", mine));
		EXPECT(!put_number("g/cpu.cfs_quota_us", (mine + 1) * 1000));
		EXPECT(!put_number("g/cpu.cfs_period_us", (mine + 1) * 1000));
		seen = atoi(get("g/cpu.shares"));
		EXPECT(seen >= 100 && seen < 100 + PARTIES);
		seen = atoi(get("g/cpu.cfs_quota_us"));
		EXPECT(seen % 1000 == 0 && seen > 100000 && seen <= (100 + PARTIES) * 1000);
	}
}

static void writers(void)
{
	enter_v1();
	EXPECT(!mkdir("g", 0755));
	run_parties(write_shares);
	EXPECT(!rmdir("g"));
	leave_v1();
}

/* Groups made, entered, left and removed under each other's feet. */
static void shuffle_groups(void *arg)
{
	unsigned seed = (unsigned)*(int *)arg + 1;
	char name[32], file[48];
	int i, error;

	for (i = 0; i < ROUNDS; i++) {
		snprintf(name, sizeof(name), "d%d", rand_r(&seed) % 3);
		if (rand_r(&seed) % 2)
			sprintf(name + 2, "/e%d", rand_r(&seed) % 2);
		EXPECT(!mkdir(name, 0755) || errno == EEXIST || errno == ENOENT);
		snprintf(file, sizeof(file), "%s/%s", name,
			 rand_r(&seed) % 2 ? "tasks" : "cgroup.procs");
		error = put(file, "0");
		EXPECT(!error || error == ENOENT || error == ENODEV);
		snprintf(file, sizeof(file), "%s/cpu.shares", name);
		error = put_number(file, rand_r(&seed) % 5000);
		EXPECT(!error || error == ENOENT || error == ENODEV);
		error = read_error(file);
		EXPECT(!error || error == ENOENT || error == ENODEV);
		EXPECT(!rmdir(name) || errno == EBUSY || errno == ENOENT);
	}
	EXPECT(!put("tasks", "0"));
}

static void group_storm(void)
{
	char name[8];
	int i, j;

	enter_v1();
	run_parties(shuffle_groups);
	for (i = 0; i < 3; i++) {
		for (j = 0; j < 2; j++) {
			snprintf(name, sizeof(name), "d%d/e%d", i, j);
			EXPECT(!rmdir(name) || errno == ENOENT);
		}
		snprintf(name, sizeof(name), "d%d", i);
		EXPECT(!rmdir(name) || errno == ENOENT);
	}
	leave_v1();
}

static void fork_on(void *unused)
{
	int i;
	pid_t pid;

	(void)unused;
	for (i = 0; i < ROUNDS; i++) {
		pid = fork();
		EXPECT(pid >= 0);
		if (!pid) {
			fork();
			_exit(0);
		}
		EXPECT(waitpid(pid, NULL, 0) == pid);
	}
}

/*
 * Forking processes are moved to and fro: every child is in one of the groups, and when the last
 * has ended the groups can go.
 */
static void fork_storm(void)
{
	static const char *const files[] = { "a/tasks", "b/cgroup.procs", "a/b/tasks", "tasks" };
	pid_t pids[PARTIES];
	int i, round, error;

	enter_v1();
	EXPECT(!mkdir("a", 0755) && !mkdir("b", 0755) && !mkdir("a/b", 0755));
	for (i = 0; i < PARTIES; i++)
		pids[i] = spawn(fork_on, NULL);
	for (round = 0; round < 2 * ROUNDS; round++) {
		for (i = 0; i < PARTIES; i++) {
			error = put_number(files[(round + i) % 4], pids[i]);
			EXPECT(!error || error == ESRCH);
		}
		get("a/tasks");
	}
	for (i = 0; i < PARTIES; i++)
		await_child(pids[i]);
	for (i = 0; i < 1000 && nr_lines("a/tasks") + nr_lines("b/tasks") + nr_lines("a/b/tasks");
	     i++)
		usleep(1000);
	EXPECT(!rmdir("a/b") && !rmdir("a") && !rmdir("b"));
	leave_v1();
}

static void run_for_ever(void *unused)
{
	(void)unused;
	for (;;)
		burn(1000000);
}

static void toggle(void *unused)
{
	int i;

	(void)unused;
	for (i = 0; i < ROUNDS; i++) {
		EXPECT(!put("t/cgroup.subtree_control", "+cpu"));
		EXPECT(!put("t/cgroup.subtree_control", "-cpu"));
	}
}

static void migrate(void *pids)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		EXPECT(!put_number("t/a/cgroup.threads", ((pid_t *)pids)[i % 3]));
		EXPECT(!put_number("t/b/cgroup.threads", ((pid_t *)pids)[i % 3]));
	}
}

/* The controller comes and goes while running members move. */
static void controller_storm(void)
{
	static pid_t pids[3];
	pid_t toggler, mover;
	int i;

	enter_v2();
	EXPECT(!mkdir("t", 0755) && !mkdir("t/a", 0755) && !mkdir("t/b", 0755));
	EXPECT(!put("t/a/cgroup.type", "threaded") && !put("t/b/cgroup.type", "threaded"));
	for (i = 0; i < 3; i++) {
		pids[i] = spawn(run_for_ever, NULL);
		EXPECT(!put_number("t/a/cgroup.procs", pids[i]));
	}
	toggler = spawn(toggle, NULL);
	mover = spawn(migrate, pids);
	await_child(toggler);
	await_child(mover);
	EXPECT(nr_lines("t/cgroup.procs") == 3);
	EXPECT(value_of("t/cpu.stat", "usage_usec") > 0);
	for (i = 0; i < 3; i++)
		end_child(pids[i]);
	EXPECT(!rmdir("t/a") && !rmdir("t/b") && !rmdir("t"));
	leave_v2();
}

/* --- limits come and go ------------------------------------------------------------- */

enum { RUNNERS = 6, STORM_ROUNDS = 4 * ROUNDS };

static pid_t runner[RUNNERS];

static void write_somewhere(unsigned *seed)
{
	static const char *const groups[] = { "p", "p/c", "p/c/d", "q" };
	static const struct {
		const char *file, *text;
	} writes[] = {
		{ "cpu.cfs_quota_us", "1000" },
		{ "cpu.cfs_quota_us", "5000" },
		{ "cpu.cfs_quota_us", "-1" },
		{ "cpu.cfs_period_us", "10000" },
		{ "cpu.cfs_period_us", "3000" },
		{ "cpu.cfs_burst_us", "1000" },
		{ "cpu.cfs_burst_us", "0" },
		{ "cpu.shares", "2" },
		{ "cpu.shares", "262144" },
		{ "cpu.idle", "1" },
		{ "cpu.idle", "0" },
		{ "cpu.shares", "garbage" },
		{ "cpu.cfs_quota_us", "garbage" },
	};
	unsigned i = (unsigned)rand_r(seed) % (sizeof(writes) / sizeof(writes[0]));
	char file[64];
	int error;

	snprintf(file, sizeof(file), "%s/%s", groups[rand_r(seed) % 4], writes[i].file);
	error = put(file, writes[i].text);
	EXPECT(!error || error == EINVAL);
	EXPECT(error == EINVAL || strcmp(writes[i].text, "garbage"));
	EXPECT(!read_error(file));
}

/* Move a member at random, also into a group that appears and vanishes. */
static void move_somebody(unsigned *seed)
{
	static const char *const files[] = { "tasks",	    "p/tasks",	      "p/c/cgroup.procs",
					     "p/c/d/tasks", "q/cgroup.procs", "p/x/tasks" };
	int error = put_number(files[rand_r(seed) % 6], runner[rand_r(seed) % RUNNERS]);

	EXPECT(!error || error == ENOENT || error == ENODEV);
	if (mkdir("p/x", 0755))
		EXPECT(errno == EEXIST);
	if (rmdir("p/x"))
		EXPECT(errno == EBUSY || errno == ENOENT);
}

static void disturb(void *index)
{
	unsigned seed = (unsigned)*(int *)index + 7;
	int i;

	for (i = 0; i < STORM_ROUNDS; i++) {
		if (rand_r(&seed) % 2)
			write_somewhere(&seed);
		else
			move_somebody(&seed);
		if (rand_r(&seed) % 8 == 0)
			usleep(500);
	}
}

/* How long it ran, in ns: the first number of schedstat. */
static unsigned long long ran_ns(pid_t pid)
{
	char file[32];

	snprintf(file, sizeof(file), "/proc/%d/schedstat", pid);
	return strtoull(get(file), NULL, 10);
}

/*
 * Members that never sleep are moved, throttled and set free by several writers at once. When the
 * storm is over and the limits are gone, everybody runs.
 */
static void limit_storm(void)
{
	static const char *const groups[] = { "p", "p/c", "p/c/d", "p/x", "q" };
	unsigned long long before;
	int i;

	enter_v1();
	EXPECT(!mkdir("p", 0755) && !mkdir("p/c", 0755) && !mkdir("p/c/d", 0755));
	EXPECT(!mkdir("q", 0755));
	for (i = 0; i < RUNNERS; i++)
		runner[i] = spawn(run_for_ever, NULL);
	run_parties(disturb);
	for (i = 0; i < RUNNERS; i++)
		EXPECT(!put_number("q/cgroup.procs", runner[i]));
	EXPECT(!put("q/cpu.cfs_quota_us", "-1") && !put("q/cpu.idle", "0"));
	for (i = 0; i < RUNNERS; i++) {
		before = ran_ns(runner[i]);
		while (ran_ns(runner[i]) < before + 1000000)
			usleep(10000);
		end_child(runner[i]);
	}
	for (i = 4; i >= 0; i--)
		EXPECT(!rmdir(groups[i]) || errno == ENOENT);
	leave_v1();
}

const struct check storm_tests[] = {
	{ "thousand", thousand },	{ "deep", deep },
	{ "writers", writers },		{ "group_storm", group_storm },
	{ "fork_storm", fork_storm },	{ "controller_storm", controller_storm },
	{ "limit_storm", limit_storm }, { NULL, NULL },
};
