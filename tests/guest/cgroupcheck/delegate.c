/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Groups of ordinary users: owners and modes of files are kept, and who owns a group makes groups
 * in it and moves there what is in it already.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroupcheck/cgroupcheck.h"

#define USER 1000

static const char *const delegated[] = { "g", "g/cgroup.procs", "g/cgroup.threads",
					 "g/cgroup.subtree_control" };

/* A group "g" of v2 that root gives to USER, as Linux's manual says. */
static void make_delegated(void)
{
	unsigned i;

	EXPECT(!mkdir("g", 0755));
	for (i = 0; i < sizeof(delegated) / sizeof(delegated[0]); i++)
		EXPECT(!chown(delegated[i], USER, USER));
}

static void (*user_fn)(void *);

static void become_user(void *arg)
{
	EXPECT(!setgid(USER) && !setuid(USER));
	user_fn(arg);
}

/* Run @fn(@arg) in a child that is USER, and a member of the group of the file @in, if any. */
static void run_as_user(void (*fn)(void *), void *arg, const char *in)
{
	if (in)
		EXPECT(!put(in, "0"));
	user_fn = fn;
	await_child(spawn(become_user, arg));
	if (in)
		EXPECT(!put("cgroup.procs", "0"));
}

static bool is_owned(const char *file, uid_t uid, mode_t mode)
{
	struct stat st;

	return !stat(file, &st) && st.st_uid == uid && st.st_gid == uid &&
	       (st.st_mode & 07777) == mode;
}

static void keep_owners(const char *members)
{
	char file[64];
	struct stat st;
	int fd;

	EXPECT(!mkdir("g", 0750) && is_owned("g", 0, 0750));
	EXPECT(!chown("g", USER, USER) && !chmod("g", 0711) && is_owned("g", USER, 0711));
	snprintf(file, sizeof(file), "g/%s", members);
	fd = open(file, O_RDONLY);
	EXPECT(fd >= 0 && !chown(file, USER, USER) && is_owned(file, USER, 0644));
	EXPECT(!fchmod(fd, 0600) && is_owned(file, USER, 0600));
	EXPECT(!fstat(fd, &st) && st.st_uid == USER && !close(fd) && !rmdir("g"));
	/* A new group of that name is a new one. */
	EXPECT(!mkdir("g", 0755) && is_owned(file, 0, 0644) && !rmdir("g"));
}

static void owners_are_kept(void)
{
	enter_v1();
	keep_owners("tasks");
	leave_v1();
	enter_v2();
	keep_owners("cgroup.procs");
	leave_v2();
}

static void use_own_group(void *unused)
{
	(void)unused;
	EXPECT(!mkdir("g/a", 0755) && !mkdir("g/a/b", 0755));
	EXPECT(is_owned("g/a", USER, 0755) && is_owned("g/a/cgroup.procs", USER, 0644) &&
	       is_owned("g/a/cgroup.max.depth", USER, 0644));
	EXPECT(!put("g/a/cgroup.procs", "0") && lists("g/a/cgroup.procs", getpid()));
	EXPECT(!put("g/a/b/cgroup.procs", "0") && !put("g/cgroup.procs", "0"));
	EXPECT(!put("g/a/cgroup.max.depth", "0") && put("g/cgroup.max.depth", "0") == EACCES);
	EXPECT(!rmdir("g/a/b") && !chmod("g/a", 0700));
	EXPECT_ERROR(EPERM, chown("g/a", 0, 0));
	EXPECT_ERROR(EACCES, mkdir("h", 0755));
	EXPECT_ERROR(EACCES, rmdir("g"));
	EXPECT(put("cgroup.procs", "0") == EACCES);
}

static void own_group(void)
{
	enter_v2();
	make_delegated();
	run_as_user(use_own_group, NULL, "g/cgroup.procs");
	EXPECT(!rmdir("g/a") && !rmdir("g"));
	leave_v2();
}

static void move_sleepers(void *arg)
{
	pid_t *sleepers = arg;

	EXPECT(!mkdir("g/a", 0755));
	/* From outside and to outside: USER may not write the root's cgroup.procs. */
	EXPECT(put_number("g/a/cgroup.procs", sleepers[0]) == EACCES);
	EXPECT(put_number("g/cgroup.procs", sleepers[0]) == EACCES);
	EXPECT(put_number("g/a/cgroup.threads", sleepers[0]) == EACCES);
	EXPECT(put("h/cgroup.procs", "0") == EACCES);
	EXPECT(put("h/cgroup.procs", "99999") == ESRCH && put("h/cgroup.procs", "x") == EINVAL);
	/* It does not matter who owns the process. */
	EXPECT(!put_number("g/a/cgroup.procs", sleepers[1]) &&
	       lists("g/a/cgroup.procs", sleepers[1]));
	EXPECT(!put_number("g/cgroup.procs", sleepers[1]) && !rmdir("g/a"));
}

static void common_ancestor(void)
{
	pid_t sleepers[] = { start_sleeper(), start_sleeper() };

	enter_v2();
	make_delegated();
	EXPECT(!mkdir("h", 0755) && !chown("h/cgroup.procs", USER, USER));
	EXPECT(!put_number("g/cgroup.procs", sleepers[1]));
	run_as_user(move_sleepers, sleepers, "g/cgroup.procs");
	end_child(sleepers[0]);
	end_child(sleepers[1]);
	EXPECT(!rmdir("g") && !rmdir("h"));
	leave_v2();
}

static void give_controller(void *unused)
{
	(void)unused;
	EXPECT(!mkdir("g/a", 0755) && !put("g/cgroup.subtree_control", "+cpu"));
	EXPECT(is_owned("g/a/cpu.max", USER, 0644) && !mkdir("g/b", 0755) &&
	       is_owned("g/b/cpu.weight", USER, 0644) && !put("g/b/cpu.weight", "50"));
	EXPECT(put("g/cpu.max", "1000 100000") == EACCES);
}

/* Files of the controller belong to who gave it to the group: its user cannot give itself more. */
static void givers(void)
{
	enter_v2();
	make_delegated();
	run_as_user(give_controller, NULL, NULL);
	EXPECT(!chmod("g/a/cpu.max", 0600) && is_owned("g/a/cpu.max", USER, 0600));
	EXPECT(!put("g/cgroup.subtree_control", "-cpu") &&
	       !put("g/cgroup.subtree_control", "+cpu") && is_owned("g/a/cpu.max", 0, 0644) &&
	       is_owned("g/a/cgroup.procs", USER, 0644));
	EXPECT(!rmdir("g/a") && !rmdir("g/b") && !rmdir("g"));
	leave_v2();
}

/* The opener of the file counts: USER cannot make a privileged program write for it. */
static void openers(void)
{
	int fd;

	enter_v2();
	make_delegated();
	EXPECT(!seteuid(USER));
	fd = open("g/cgroup.procs", O_WRONLY);
	EXPECT(fd >= 0 && !seteuid(0));
	EXPECT_ERROR(EACCES, write(fd, "0", 1));
	EXPECT(!close(fd) && !rmdir("g"));
	leave_v2();
}

static void move_in_v1(void *sleeper)
{
	EXPECT(!put("g/tasks", "0") && !put("g/cgroup.procs", "0"));
	EXPECT(put_number("g/tasks", *(pid_t *)sleeper) == EACCES);
	EXPECT(put("g/cpu.shares", "5") == EACCES && put("tasks", "0") == EACCES);
}

/* v1 looks at the thread: its own ones a user may move, wherever they are. */
static void users_of_v1(void)
{
	pid_t sleeper = start_sleeper();

	enter_v1();
	EXPECT(!mkdir("g", 0755) && !chown("g/tasks", USER, USER) &&
	       !chown("g/cgroup.procs", USER, USER));
	run_as_user(move_in_v1, &sleeper, NULL);
	end_child(sleeper);
	EXPECT(!rmdir("g"));
	leave_v1();
}

const struct check delegate_tests[] = {
	{ "owners_are_kept", owners_are_kept },
	{ "own_group", own_group },
	{ "common_ancestor", common_ancestor },
	{ "givers", givers },
	{ "openers", openers },
	{ "users_of_v1", users_of_v1 },
	{ NULL, NULL },
};
