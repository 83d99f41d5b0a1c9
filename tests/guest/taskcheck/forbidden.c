/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rights of an ordinary user, besides the acts of acts.c: looking into processes of its own,
 * set-id bits, programs without permission to read, O_NOATIME.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "taskcheck/acts.h"
#include "taskcheck/taskcheck.h"

static long read_file(const char *path)
{
	char text[256];
	int fd = open(path, O_RDONLY);

	return fd < 0 ? -1 : read(fd, text, sizeof(text));
}

/* --- one's own ---------------------------------------------------------------------------- */

static long environ_of(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	return read_file(path);
}

static void pause_as_told(void *dumpable)
{
	EXPECT(!prctl(PR_SET_DUMPABLE, *(int *)dumpable));
	EXPECT(prctl(PR_GET_DUMPABLE) == *(int *)dumpable);
	kill(getpid(), SIGSTOP);
}

/* Can a process of the same user be looked into, if it is @dumpable? */
static void look_at(int dumpable)
{
	pid_t pid = spawn(pause_as_told, &dumpable);

	EXPECT(WIFSTOPPED(status_of(pid, WUNTRACED)));
	if (dumpable)
		EXPECT(environ_of(pid) >= 0);
	else
		EXPECT_ERROR(EACCES, environ_of(pid));
	EXPECT(!kill(pid, SIGKILL) && WIFSIGNALED(status_of(pid, 0)));
}

/* Of one user, all may look into each other, but not if one had privileges or does not want it. */
static void own_processes(void)
{
	if (geteuid())
		return;
	EXPECT(prctl(PR_GET_DUMPABLE) == 1);
	become(USER);
	EXPECT(prctl(PR_GET_DUMPABLE) == 0);
	EXPECT(open("/proc/self/fd", O_RDONLY | O_DIRECTORY) >= 0);
	EXPECT(open("/proc/self/maps", O_RDONLY) >= 0);
	EXPECT_ERROR(EACCES, open("/proc/self/environ", O_RDONLY));
	look_at(0);
	look_at(1);
}

static void debugfs_is_closed(void)
{
	if (geteuid() || access("/sys/kernel/debug/sched", F_OK))
		return; /* as in a container */
	become(USER);
	EXPECT_ERROR(EACCES, open("/sys/kernel/debug", O_RDONLY));
	EXPECT_ERROR(EACCES, open("/sys/kernel/debug/sched", O_RDONLY));
}

/* --- programs with an identity ------------------------------------------------------------- */

static void write_it(void)
{
	int fd = open("program", O_WRONLY);

	EXPECT(fd >= 0 && write(fd, "x", 1) == 1 && !close(fd));
}

static void truncate_it(void)
{
	EXPECT(!truncate("program", 1));
}

static void truncate_open_file(void)
{
	int fd = open("program", O_WRONLY);

	EXPECT(fd >= 0 && !ftruncate(fd, 1) && !close(fd));
}

static void open_it_empty(void)
{
	int fd = open("program", O_WRONLY | O_TRUNC);

	EXPECT(fd >= 0 && !close(fd));
}

static void allocate_room(void)
{
	int fd = open("program", O_WRONLY);

	EXPECT(fd >= 0 && !fallocate(fd, 0, 0, 4096) && !close(fd));
}

static void write_nothing(void)
{
	int fd = open("program", O_WRONLY);

	EXPECT(fd >= 0 && !write(fd, "x", 0) && !close(fd));
}

static const struct change {
	void (*change)(void);
	mode_t before, after;
} changes[] = {
	{ write_it, 06777, 0777 },	     { truncate_it, 06777, 0777 },
	{ truncate_open_file, 06777, 0777 }, { open_it_empty, 06777, 0777 },
	{ allocate_room, 06777, 0777 },	     { write_it, 04666, 0666 },
	{ write_it, 01777, 01777 },	     { write_nothing, 06777, 06777 },
};

static void change_as_user(void *change)
{
	become(USER);
	((const struct change *)change)->change();
}

static mode_t mode_of_program(void)
{
	struct stat st;

	EXPECT(!stat("program", &st));
	return st.st_mode & 07777;
}

/* A program that others can change loses its set-id bits when they do; root may keep them. */
static void set_id_bits(void)
{
	size_t i;

	if (geteuid())
		return;
	EXPECT(!chmod(".", 0755));
	make_file("program", 0777);
	for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		EXPECT(!chmod("program", changes[i].before));
		await_child(spawn(change_as_user, (void *)&changes[i]));
		EXPECT(mode_of_program() == changes[i].after);
		EXPECT(!chmod("program", changes[i].before));
		changes[i].change();
		EXPECT(mode_of_program() == changes[i].before);
	}
}

/* --- programs ------------------------------------------------------------------------------ */

static void copy_program(const char *to, mode_t mode)
{
	char text[4096];
	int in = open("/proc/self/exe", O_RDONLY), out = open(to, O_CREAT | O_WRONLY, 0700);
	ssize_t n;

	EXPECT(in >= 0 && out >= 0);
	while ((n = read(in, text, sizeof(text))) > 0)
		EXPECT(write(out, text, (size_t)n) == n);
	EXPECT(!n && !close(in) && !close(out) && !chmod(to, mode));
}

static void run_unreadable(void *unused)
{
	(void)unused;
	become(USER);
	EXPECT_ERROR(EACCES, open("program", O_RDONLY));
	EXPECT_ERROR(EACCES, execl("private", "private", NULL));
	EXPECT_ERROR(EACCES, execl("fifo", "fifo", NULL));
	EXPECT_ERROR(EACCES, execl("/dev/null", "null", NULL));
	EXPECT_ERROR(EACCES, execl("sticky", "sticky", NULL));
	EXPECT_ERROR(ENOENT, execl("nothing", "nothing", NULL));
	execl("program", "program", "--help", NULL);
	fail(__FILE__, __LINE__, "exec of a program of mode 0711");
}

/* A program needs permission to execute it and no other, and is looked at before it is opened. */
static void programs_need_no_reading(void)
{
	if (geteuid())
		return;
	make_files();
	copy_program("program", 0711);
	copy_program("private", 0700);
	EXPECT(!mkfifo("fifo", 0777) && !chmod("fifo", 0777));
	await_child(spawn(run_unreadable, NULL));
}

static void hide_reading(void *unused)
{
	int fd, own;

	(void)unused;
	become(USER);
	EXPECT_ERROR(EPERM, open("public", O_RDONLY | O_NOATIME));
	fd = open("public", O_RDONLY);
	EXPECT_ERROR(EPERM, fcntl(fd, F_SETFL, O_NOATIME | O_NONBLOCK));
	EXPECT(fd >= 0 && !(fcntl(fd, F_GETFL) & (O_NOATIME | O_NONBLOCK)));
	EXPECT(open("public", O_PATH | O_NOATIME) >= 0);
	own = open("sticky/own", O_CREAT | O_RDWR | O_NOATIME, 0600);
	EXPECT(own >= 0 && fcntl(own, F_GETFL) & O_NOATIME);
	EXPECT(!fcntl(own, F_SETFL, 0) && !(fcntl(own, F_GETFL) & O_NOATIME));
	EXPECT(!fcntl(own, F_SETFL, O_NOATIME) && fcntl(own, F_GETFL) & O_NOATIME);
	EXPECT(open("sticky/own", O_RDONLY | O_NOATIME) >= 0);
}

/* Only its owner reads a file without a trace. */
static void noatime_is_for_owners(void)
{
	if (geteuid())
		return;
	make_files();
	make_file("public", 0644);
	EXPECT(open("public", O_RDONLY | O_NOATIME) >= 0);
	await_child(spawn(hide_reading, NULL));
}

const struct check forbidden_tests[] = {
	{ "noatime-is-for-owners", noatime_is_for_owners },
	{ "programs-need-no-reading", programs_need_no_reading },
	{ "set-id-bits", set_id_bits },
	{ "own-processes", own_processes },
	{ "debugfs-is-closed", debugfs_is_closed },
	{ NULL, NULL },
};
