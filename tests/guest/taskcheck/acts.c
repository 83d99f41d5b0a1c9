/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Acts that an ordinary user is refused: those by path, and the test that does all of them. The
 * victim is a process of user 0 with a secret in its environment and open files in a closed
 * directory.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "taskcheck/acts.h"
#include "taskcheck/taskcheck.h"

pid_t victim;

/* --- acts by path: %d becomes the victim's number ---------------------------------------- */

static const struct path_act {
	enum {
		OPEN,
		OPEN_3,
		READ,
		LINK,
		LIST,
		ENTER,
		WRITE,
		EMPTY,
		CREATE,
		CUT,
		UNLINK,
		RMDIR,
		MKDIR,
		FIFO,
		SYMLINK,
		HARDLINK,
		RENAME,
		REPLACE,
		CHMOD,
		CHOWN,
		GROUP,
		TOUCH,
		DATE,
		LOOK,
		MAY_READ,
		MAY_WRITE,
		RUN,
		ROOM
	} what;
	const char *path;
	int error;
} path_acts[] = {
	/* another's process */
	{ READ, "/proc/%d/environ", EACCES },
	{ READ, "/proc/%d/maps", EACCES },
	{ READ, "/proc/%d/io", EACCES },
	{ READ, "/proc/%d/task/%d/environ", EACCES },
	{ READ, "/proc/%d/task/%d/maps", EACCES },
	{ READ, "/proc/%d/timerslack_ns", EPERM },
	{ LINK, "/proc/%d/exe", EACCES },
	{ LINK, "/proc/%d/cwd", EACCES },
	{ LINK, "/proc/%d/root", EACCES },
	{ LINK, "/proc/%d/fd/60", EACCES },
	{ LINK, "/proc/%d/task/%d/cwd", EACCES },
	{ LINK, "/proc/%d/task/%d/fd/60", EACCES },
	{ LIST, "/proc/%d/fd", EACCES },
	{ LIST, "/proc/%d/task/%d/fd", EACCES },
	{ LIST, "/proc/%d/cwd/", EACCES },
	{ OPEN, "/proc/%d/exe", EACCES },
	{ OPEN, "/proc/%d/cwd/open", EACCES },
	{ OPEN, "/proc/%d/root/etc", EACCES },
	{ OPEN, "/proc/%d/fd/60", EACCES },
	{ OPEN, "/proc/%d/fd/61", EACCES },
	{ LOOK, "/proc/%d/fd/60", EACCES },
	{ LOOK, "/proc/%d/cwd/open", EACCES },
	{ ENTER, "/proc/%d/cwd", EACCES },
	{ ENTER, "/proc/%d/fd", EACCES },
	{ WRITE, "/proc/%d/comm", EACCES },
	{ WRITE, "/proc/%d/task/%d/comm", EACCES },
	{ WRITE, "/proc/%d/oom_score_adj", EACCES },
	{ WRITE, "/proc/%d/autogroup", EACCES },
	{ WRITE, "/proc/%d/sched", EACCES },
	{ UNLINK, "/proc/%d/fd/60", EACCES },
	{ CHMOD, "/proc/%d/environ", EPERM },
	{ CHOWN, "/proc/%d/environ", EPERM },
	/* the machine */
	{ WRITE, "/proc/sys/kernel/sched_rt_runtime_us", EACCES },
	{ WRITE, "/proc/sys/kernel/pid_max", EACCES },
	{ WRITE, "/proc/sys/fs/pipe-max-size", EACCES },
	{ EMPTY, "/proc/sys/fs/file-max", EACCES },
	{ CHMOD, "/proc/sys/fs/file-max", EPERM },
	{ WRITE, "/proc/sysrq-trigger", EACCES },
	{ READ, "/proc/slabinfo", EACCES },
	{ WRITE, "/proc/version", EACCES },
	{ UNLINK, "/proc/version", EACCES },
	{ CHMOD, "/proc/version", EPERM },
	{ LIST, "/sys/kernel/tracing", EACCES },
	{ WRITE, "/sys/kernel/tracing/trace_marker", EACCES },
	{ WRITE, "/sys/kernel/tracing/tracing_on", EACCES },
	{ MKDIR, "/sys/kernel/tracing/instances/new", EACCES },
	{ WRITE, "/sys/devices/system/cpu/cpu1/online", EACCES },
	{ MKDIR, "/sys/new", EACCES },
	{ CHMOD, "/sys/kernel", EPERM },
	{ MKDIR, "/sys/fs/cgroup/new", EACCES },
	{ WRITE, "/sys/fs/cgroup/cgroup.procs", EACCES },
	{ WRITE, "/sys/fs/cgroup/cgroup.subtree_control", EACCES },
	{ OPEN, "/dev/console", EACCES },
	{ OPEN_3, "/dev/console", EACCES },
	{ WRITE, "/dev/kmsg", EACCES },
	{ WRITE, "/dev/cpu_dma_latency", EACCES },
	{ OPEN, "/dev/ttyS0", EACCES },
	{ CHMOD, "/dev/null", EPERM },
	{ CHOWN, "/dev/null", EPERM },
	{ UNLINK, "/dev/null", EACCES },
	{ CREATE, "/dev/new", EACCES },
	{ MKDIR, "/new", EACCES },
	/* another's files */
	{ READ, "closed/open", EACCES },
	{ LOOK, "closed/open", EACCES },
	{ MAY_READ, "closed/open", EACCES },
	{ LINK, "closed/link", EACCES },
	{ UNLINK, "closed/open", EACCES },
	{ CREATE, "closed/new", EACCES },
	{ RENAME, "closed/open", EACCES },
	{ HARDLINK, "closed/open", EACCES },
	{ TOUCH, "closed/open", EACCES },
	{ ROOM, "closed/open", EACCES },
	{ LIST, "closed", EACCES },
	{ ENTER, "closed", EACCES },
	{ RMDIR, "closed", EACCES },
	{ CHMOD, "closed", EPERM },
	{ WRITE, "readable", EACCES },
	{ EMPTY, "readable", EACCES },
	{ CUT, "readable", EACCES },
	{ TOUCH, "readable", EACCES },
	{ DATE, "readable", EPERM },
	{ MAY_WRITE, "readable", EACCES },
	{ OPEN, "secret", EACCES },
	{ OPEN_3, "secret", EACCES },
	{ OPEN_3, "readable", EACCES },
	{ MAY_READ, "secret", EACCES },
	{ CHMOD, "readable", EPERM },
	{ CHOWN, "readable", EPERM },
	{ GROUP, "readable", EPERM },
	{ UNLINK, "readable", EACCES },
	{ RENAME, "readable", EACCES },
	{ HARDLINK, "readable", EPERM },
	{ HARDLINK, "secret", EPERM },
	{ RUN, "readable", EACCES },
	{ RUN, "closed/open", EACCES },
	{ MKDIR, "new", EACCES },
	{ CREATE, "new", EACCES },
	{ SYMLINK, "new", EACCES },
	{ FIFO, "new", EACCES },
	{ UNLINK, "sticky/of-root", EPERM },
	{ RENAME, "sticky/of-root", EPERM },
	{ REPLACE, "sticky/of-root", EPERM },
	{ RMDIR, "sticky/directory", EPERM },
	{ RENAME, "sticky/directory", EPERM },
	{ CHMOD, "sticky", EPERM },
	{ 0 },
};

static long read_file(const char *path)
{
	char text[256];
	int fd = open(path, O_RDONLY);

	return fd < 0 ? -1 : read(fd, text, sizeof(text));
}

static long read_a_link(const char *path)
{
	char text[256];

	return readlink(path, text, sizeof(text));
}

/* And back, so that the next act begins where it should. */
static long enter(const char *path)
{
	int here = open(".", O_RDONLY), error;
	long result = chdir(path);

	error = errno;
	EXPECT(here >= 0 && !fchdir(here) && !close(here));
	errno = error;
	return result;
}

static long replace(const char *path)
{
	int fd = open("sticky/own", O_CREAT | O_RDWR, 0600);

	EXPECT(fd >= 0 && !close(fd));
	return rename("sticky/own", path);
}

static long room(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs);
}

static long look(const char *path)
{
	struct stat st;

	return stat(path, &st);
}

static long date(const char *path)
{
	static const struct timespec long_ago[2];

	return utimensat(AT_FDCWD, path, long_ago, 0);
}

static long change(const struct path_act *a, const char *path)
{
	switch (a->what) {
	case UNLINK:
		return unlink(path);
	case RMDIR:
		return rmdir(path);
	case MKDIR:
		return mkdir(path, 0777);
	case FIFO:
		return mkfifo(path, 0777);
	case SYMLINK:
		return symlink("readable", path);
	case HARDLINK:
		return link(path, "sticky/link");
	case RENAME:
		return rename(path, "sticky/renamed");
	case REPLACE:
		return replace(path);
	case CHMOD:
		return chmod(path, 0777);
	case CHOWN:
		return chown(path, USER, (gid_t)-1);
	case GROUP:
		return chown(path, (uid_t)-1, USER);
	case TOUCH:
		return utimensat(AT_FDCWD, path, NULL, 0);
	case DATE:
		return date(path);
	case CUT:
		return truncate(path, 0);
	default:
		fail(__FILE__, __LINE__, "an act has a case");
	}
}

static long do_path_act(const struct path_act *a, const char *path)
{
	switch (a->what) {
	case OPEN:
		return open(path, O_RDONLY);
	case OPEN_3:
		return open(path, 3);
	case READ:
		return read_file(path);
	case LINK:
		return read_a_link(path);
	case LIST:
		return open(path, O_RDONLY | O_DIRECTORY);
	case ENTER:
		return enter(path);
	case WRITE:
		return open(path, O_WRONLY);
	case EMPTY:
		return open(path, O_RDONLY | O_TRUNC);
	case CREATE:
		return open(path, O_CREAT | O_RDWR, 0600);
	case LOOK:
		return look(path);
	case MAY_READ:
		return access(path, R_OK);
	case MAY_WRITE:
		return access(path, W_OK);
	case RUN:
		return execl(path, path, NULL);
	case ROOM:
		return room(path);
	default:
		return change(a, path);
	}
}

/* --- the test ----------------------------------------------------------------------------- */

static unsigned nr_wrong, nr_done;

static void judge(const char *name, long result, int error)
{
	nr_done++;
	if (result == -1 && errno == error)
		return;
	printf("%s: %ld, errno %d (%s), not %d\n", name, result, errno, strerror(errno), error);
	nr_wrong++;
}

/* Can the act be tried here? A container has not every file of a machine. */
static bool is_there(const struct path_act *a, const char *path)
{
	char parent[64];

	if (path[0] != '/')
		return true;
	snprintf(parent, sizeof(parent), "%s", path);
	if (a->what == MKDIR || a->what == CREATE)
		strrchr(parent, '/')[1] = '\0';
	return !access(parent, F_OK);
}

enum { MAX_PATHS = 256 };
static bool here[MAX_PATHS];

static void path_of(const struct path_act *a, char path[64])
{
	snprintf(path, 64, a->path, victim, victim);
}

/* As user 0, who sees all there is. */
static void look_what_is_there(void)
{
	char path[64];
	size_t i;

	for (i = 0; path_acts[i].path; i++) {
		path_of(&path_acts[i], path);
		here[i] = is_there(&path_acts[i], path);
	}
}

static void do_paths(void)
{
	char path[64], name[96];
	size_t i;

	for (i = 0; path_acts[i].path; i++) {
		if (!here[i])
			continue;
		path_of(&path_acts[i], path);
		snprintf(name, sizeof(name), "row %zu: %s", i, path);
		judge(name, do_path_act(&path_acts[i], path), path_acts[i].error);
	}
}

static long or_victim(long arg)
{
	return arg == VICTIM ? victim : arg;
}

static void do_calls(void)
{
	const struct call_act *c;

	for (c = call_acts; c->name; c++)
		judge(c->name,
		      syscall(c->number, or_victim(c->args[0]), or_victim(c->args[1]),
			      or_victim(c->args[2]), or_victim(c->args[3]), c->args[4], c->args[5]),
		      c->error);
}

static void do_steps(void)
{
	const struct step_act *s;
	pid_t pid;
	int status;

	for (s = step_acts; s->name; s++) {
		EXPECT((pid = fork()) >= 0);
		if (!pid)
			_exit(s->act() == -1 ? errno : 0);
		EXPECT(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
		errno = WEXITSTATUS(status);
		judge(s->name, errno ? -1 : 0, s->error);
	}
}

void make_file(const char *name, mode_t mode)
{
	int fd = open(name, O_CREAT | O_RDWR, mode);

	EXPECT(fd >= 0 && write(fd, "text", 4) == 4 && !close(fd));
}

void make_files(void)
{
	EXPECT(!chmod(".", 0755));
	EXPECT(!mkdir("closed", 0700) && !mkdir("sticky", 0755) && !chmod("sticky", 01777));
	make_file("closed/open", 0644);
	make_file("closed/unlinked", 0644);
	make_file("readable", 0644);
	make_file("secret", 0600);
	make_file("sticky/of-root", 0644);
	EXPECT(!mkdir("sticky/directory", 0755));
}

static void wait_in_closed_directory(void *ready)
{
	EXPECT(setsid() > 0 && !chdir("closed"));
	EXPECT(dup2(open("open", O_RDONLY), OPEN_FD) == OPEN_FD);
	EXPECT(dup2(open("unlinked", O_RDONLY), UNLINKED_FD) == UNLINKED_FD && !unlink("unlinked"));
	EXPECT(write(*(int *)ready, "", 1) == 1);
	for (;;)
		pause();
}

static void make_victim(void)
{
	int ready[2];
	char byte;

	EXPECT(!pipe(ready));
	victim = spawn(wait_in_closed_directory, &ready[1]);
	EXPECT(read(ready[0], &byte, 1) == 1);
	EXPECT(!close(ready[0]) && !close(ready[1]));
}

static void do_all_as_user(void *unused)
{
	(void)unused;
	look_what_is_there();
	become(USER);
	do_paths();
	do_calls();
	do_steps();
	if (nr_wrong || nr_done < 94)
		printf("%u acts, %u not refused as they must be\n", nr_done, nr_wrong);
	fflush(stdout);
	_exit(nr_wrong || nr_done < 94);
}

static void forbidden(void)
{
	pid_t user;

	if (geteuid())
		return;
	make_files();
	make_victim();
	user = spawn(do_all_as_user, NULL);
	await_child(user);
	EXPECT(!kill(victim, SIGKILL) && waitpid(victim, NULL, 0) == victim);
}

const struct check act_tests[] = {
	{ "forbidden-acts", forbidden },
	{ NULL, NULL },
};
