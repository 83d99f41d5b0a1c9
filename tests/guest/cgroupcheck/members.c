/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Members of a group: moves, forks, ends; which groups can be removed and what is left of them. In
 * v1.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroupcheck/cgroupcheck.h"

/* Is @pid's place in the hierarchy of the controller @path? */
static bool is_in(pid_t pid, const char *path)
{
	char file[32], line[64];
	const char *at;

	snprintf(file, sizeof(file), "/proc/%d/cgroup", pid);
	snprintf(line, sizeof(line), ":cpu:%s\n", path);
	at = strstr(get(file), line);
	return at;
}

/* The effect of a number written to either file. */
static void numbers(void)
{
	static const char *const files[] = { "g/tasks", "g/cgroup.procs" };
	static const struct {
		const char *text;
		int error;
	} bad[] = {
		{ "99999", ESRCH },	   { "-1", EINVAL },
		{ "abc", EINVAL },	   { "", 0 },
		{ " ", EINVAL },	   { "1 2", EINVAL },
		{ "99999999999", EINVAL }, { "1x", EINVAL },
		{ "4194304", ESRCH },
	};
	unsigned f, i;
	pid_t pid;
	char text[32];

	enter_v1();
	EXPECT(!mkdir("g", 0755));
	pid = start_sleeper();
	for (f = 0; f < 2; f++) {
		for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
			EXPECT(put(files[f], bad[i].text) == bad[i].error);
		EXPECT(!nr_lines("g/tasks"));
		snprintf(text, sizeof(text), " 0x%x \n", pid);
		EXPECT(!put(files[f], text) && reads(files[f], (sprintf(text, "%d", pid), text)));
		EXPECT(is_in(pid, "/g") && !lists("tasks", pid) && lists("g/cgroup.procs", pid));
		EXPECT(!put_number(f ? "cgroup.procs" : "tasks", pid) && is_in(pid, "/"));
		EXPECT(!put(files[f], "0") && lists(files[f], getpid()) && is_in(getpid(), "/g"));
		EXPECT(!put(f ? "cgroup.procs" : "tasks", "0") && is_in(getpid(), "/"));
	}
	end_child(pid);
	EXPECT(!rmdir("g"));
	leave_v1();
}

/* The first thread of the kernel's own: it has no command line. */
static pid_t find_kernel_thread(void)
{
	char name[64];
	pid_t pid;

	for (pid = 2; pid < 300; pid++) {
		snprintf(name, sizeof(name), "/proc/%d/cmdline", pid);
		if (!access(name, F_OK) && !*get(name))
			return pid;
	}
	return 0;
}

static void kernel_threads(void)
{
	pid_t pid = find_kernel_thread();

	enter_v1();
	EXPECT(!mkdir("g", 0755));
	if (pid) {
		EXPECT(put_number("g/tasks", pid) == EINVAL);
		EXPECT(put_number("g/cgroup.procs", pid) == EINVAL);
		EXPECT(lists("tasks", pid) && lists("cgroup.procs", pid));
	}
	EXPECT(!rmdir("g"));
	leave_v1();
}

static void leave_at_once(void *unused)
{
	(void)unused;
}

/* A zombie is in no list, moves nowhere without an error, and is in nobody's way. */
static void zombies(void)
{
	siginfo_t info;
	pid_t pid;

	enter_v1();
	EXPECT(!mkdir("g", 0755) && !mkdir("h", 0755) && !put("g/tasks", "0"));
	pid = spawn(leave_at_once, NULL);
	EXPECT(!waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
	EXPECT(!lists("g/tasks", pid) && !lists("g/cgroup.procs", pid) && is_in(pid, "/"));
	EXPECT(!put_number("h/tasks", pid) && !put_number("h/cgroup.procs", pid));
	EXPECT(!nr_lines("h/tasks") && !put("tasks", "0") && !rmdir("g") && !rmdir("h"));
	await_child(pid);
	leave_v1();
}

/* --- threads ------------------------------------------------------------------------- */

static pthread_barrier_t started, ended;
static pid_t thread_ids[3];

static void *wait_here(void *slot)
{
	*(pid_t *)slot = thread_id();
	pthread_barrier_wait(&started);
	pthread_barrier_wait(&ended);
	return NULL;
}

static void threads(void)
{
	pthread_t t[3];
	pid_t self = getpid();
	int i;

	enter_v1();
	EXPECT(!mkdir("g", 0755) && !mkdir("h", 0755));
	pthread_barrier_init(&started, NULL, 4);
	pthread_barrier_init(&ended, NULL, 4);
	for (i = 0; i < 3; i++)
		EXPECT(!pthread_create(&t[i], NULL, wait_here, &thread_ids[i]));
	pthread_barrier_wait(&started);
	/* `tasks` moves one thread, `cgroup.procs` all of them whichever is named. */
	EXPECT(!put_number("g/tasks", thread_ids[1]) && nr_lines("g/tasks") == 1);
	EXPECT(lists("g/tasks", thread_ids[1]) && lists("tasks", self) &&
	       !lists("tasks", thread_ids[1]));
	EXPECT(lists("g/cgroup.procs", self) && lists("cgroup.procs", self));
	EXPECT(!put_number("h/cgroup.procs", thread_ids[2]) && nr_lines("h/tasks") == 4);
	EXPECT(nr_lines("h/cgroup.procs") == 1 && !nr_lines("g/tasks"));
	EXPECT(lists("h/tasks", self) && lists("h/tasks", thread_ids[0]));
	EXPECT_ERROR(EBUSY, rmdir("h"));
	EXPECT(!put("tasks", "0") && nr_lines("h/tasks") == 3);
	pthread_barrier_wait(&ended);
	for (i = 0; i < 3; i++)
		EXPECT(!pthread_join(t[i], NULL));
	/* A thread is joined a moment before it is gone. */
	for (i = 0; i < 1000 && nr_lines("h/tasks"); i++)
		usleep(1000);
	EXPECT(!rmdir("g") && !rmdir("h"));
	leave_v1();
}

/* --- families ------------------------------------------------------------------------ */

static void check_place(void *path)
{
	EXPECT(is_in(getpid(), path));
}

/* Children, and children's children, are where their parents are when they are made. */
static void inheriting(void)
{
	pid_t pid, sleeper;

	enter_v1();
	EXPECT(!mkdir("g", 0755) && !mkdir("g/h", 0755) && !put("g/tasks", "0"));
	await_child(spawn(check_place, (char *)"/g"));
	sleeper = start_sleeper();
	EXPECT(!put("g/h/tasks", "0") && is_in(sleeper, "/g"));
	await_child(spawn(check_place, (char *)"/g/h"));
	pid = vfork();
	if (!pid) {
		execl("/bin/sh", "sh", "-c", "grep -q :cpu:/g/h$ /proc/self/cgroup", NULL);
		_exit(1);
	}
	await_child(pid);
	EXPECT(!put("tasks", "0") && nr_lines("g/h/tasks") == 0 && nr_lines("g/tasks") == 1);
	EXPECT_ERROR(EBUSY, rmdir("g"));
	EXPECT(!rmdir("g/h"));
	EXPECT_ERROR(EBUSY, rmdir("g"));
	end_child(sleeper);
	EXPECT(!rmdir("g"));
	leave_v1();
}

/* --- directories --------------------------------------------------------------------- */

static unsigned nr_entries(const char *name)
{
	DIR *dir = opendir(name);
	unsigned nr = 0;

	EXPECT(dir);
	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

static void names(void)
{
	enter_v1();
	EXPECT(!mkdir("g", 0700) && !mkdir("g/h", 0755));
	EXPECT_ERROR(EEXIST, mkdir("g", 0755));
	EXPECT_ERROR(EEXIST, mkdir("g/tasks", 0755));
	EXPECT_ERROR(EINVAL, mkdir("g/a\nb", 0755));
	EXPECT_ERROR(ENOENT, mkdir("none/x", 0755));
	EXPECT_ERROR(ENOTDIR, mkdir("g/tasks/x", 0755));
	EXPECT_ERROR(EACCES, open("g/new", O_CREAT | O_WRONLY, 0644));
	EXPECT_ERROR(ENOENT, open("g/new", O_WRONLY));
	EXPECT_ERROR(EPERM, unlink("g/tasks"));
	EXPECT_ERROR(EISDIR, unlink("g/h"));
	EXPECT_ERROR(ENOENT, unlink("g/none"));
	EXPECT_ERROR(ENOTDIR, rmdir("g/tasks"));
	EXPECT_ERROR(ENOENT, rmdir("g/none"));
	EXPECT_ERROR(EINVAL, rmdir("g/."));
	EXPECT_ERROR(EBUSY, rmdir("g")); /* it has a child */
	EXPECT_ERROR(EPERM, symlink("x", "g/link"));
	EXPECT_ERROR(EPERM, link("g/tasks", "g/other"));
	EXPECT(nr_entries("g") == nr_entries("g/h") + 1);
	EXPECT(!rmdir("g/h") && !rmdir("g"));
	leave_v1();
}

/* The group of the working directory can be removed; its open files remain and answer ENODEV. */
static void removed(void)
{
	char buf[16];
	int read_fd, write_fd;

	enter_v1();
	EXPECT(!mkdir("g", 0755));
	read_fd = open("g/cpu.shares", O_RDONLY);
	write_fd = open("g/tasks", O_WRONLY);
	EXPECT(read_fd >= 0 && write_fd >= 0 && read(read_fd, buf, 4) == 4);
	EXPECT(!chdir("g") && !rmdir("../g"));
	EXPECT_ERROR(ENODEV, pread(read_fd, buf, sizeof(buf), 0));
	EXPECT_ERROR(ENODEV, write(write_fd, "0", 1));
	EXPECT_ERROR(ENOENT, open("tasks", O_RDONLY));
	EXPECT_ERROR(ENOENT, open("tasks", O_WRONLY | O_CREAT, 0644));
	EXPECT_ERROR(ENOENT, mkdir("h", 0755));
	EXPECT(!getcwd(buf, sizeof(buf)) && errno == ENOENT);
	EXPECT(!chdir(".."));
	/* The name is free, and what is made of it is another group. */
	EXPECT(!mkdir("g", 0755) && !put("g/cpu.shares", "7") && reads("g/cpu.shares", "7"));
	EXPECT_ERROR(ENODEV, pread(read_fd, buf, sizeof(buf), 0));
	EXPECT(!close(read_fd) && !close(write_fd) && !rmdir("g"));
	leave_v1();
}

/* A member keeps a group from being removed; a working directory does not. */
static void occupied(void)
{
	enter_v1();
	EXPECT(!mkdir("g", 0755) && !put("g/tasks", "0") && !chdir("g"));
	EXPECT_ERROR(EBUSY, rmdir("../g"));
	EXPECT(!put("../tasks", "0") && !rmdir("../g") && !chdir(".."));
	leave_v1();
}

const struct check member_tests[] = {
	{ "numbers", numbers },
	{ "kernel_threads", kernel_threads },
	{ "zombies", zombies },
	{ "threads", threads },
	{ "inheriting", inheriting },
	{ "names", names },
	{ "removed", removed },
	{ "occupied", occupied },
	{ NULL, NULL },
};
