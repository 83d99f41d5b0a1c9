/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Acts that an ordinary user is refused: a table of them, each with its error. The victim is a
 * process of user 0 with a secret in its environment and open files in a closed directory.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
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

#include "taskcheck/taskcheck.h"

enum { USER = 1000, OPEN_FD = 60, UNLINKED_FD };

static pid_t victim;

/* --- acts by path: %d becomes the victim's number ---------------------------------------- */

static const struct path_act {
	enum { OPEN, OPEN_3, READ, LINK, LIST, ENTER, WRITE, UNLINK, CHMOD, CHOWN, MKDIR } what;
	const char *path;
	int error;
} path_acts[] = {
	{ READ, "/proc/%d/environ", EACCES },
	{ READ, "/proc/%d/maps", EACCES },
	{ READ, "/proc/%d/io", EACCES },
	{ READ, "/proc/%d/task/%d/environ", EACCES },
	{ READ, "/proc/%d/task/%d/maps", EACCES },
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
	{ ENTER, "/proc/%d/cwd", EACCES },
	{ ENTER, "/proc/%d/fd", EACCES },
	{ WRITE, "/proc/%d/comm", EACCES },
	{ WRITE, "/proc/%d/oom_score_adj", EACCES },
	{ WRITE, "/proc/sys/kernel/sched_rt_runtime_us", EACCES },
	{ LIST, "/sys/kernel/tracing", EACCES },
	{ READ, "closed/open", EACCES },
	{ LIST, "closed", EACCES },
	{ ENTER, "closed", EACCES },
	{ WRITE, "readable", EACCES },
	{ OPEN, "secret", EACCES },
	{ OPEN_3, "secret", EACCES },
	{ OPEN_3, "readable", EACCES },
	{ CHMOD, "readable", EPERM },
	{ CHOWN, "readable", EPERM },
	{ UNLINK, "readable", EACCES },
	{ UNLINK, "sticky/of-root", EPERM },
	{ MKDIR, "new", EACCES },
};

static long read_file(const char *path)
{
	char text[256];
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	return n;
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
	case UNLINK:
		return unlink(path);
	case CHMOD:
		return chmod(path, 0777);
	case CHOWN:
		return chown(path, USER, USER);
	default:
		return mkdir(path, 0777);
	}
}

/* --- other acts --------------------------------------------------------------------------- */

static long be_root(void)
{
	return setuid(0);
}

static long be_in_roots_group(void)
{
	return setgid(0);
}

static long be_in_more_groups(void)
{
	gid_t none = 0;

	return setgroups(1, &none);
}

static long kill_victim(void)
{
	return kill(victim, SIGKILL);
}

static long queue_to_victim(void)
{
	return sigqueue(victim, SIGUSR1, (union sigval){ 0 });
}

static long renice_victim(void)
{
	return setpriority(PRIO_PROCESS, (id_t)victim, 10);
}

static long pin_victim(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	return sched_setaffinity(victim, sizeof(one), &one);
}

static long limit_victim(void)
{
	return prlimit(victim, RLIMIT_NOFILE, NULL, &(struct rlimit){ 0, 0 });
}

static long robust_list_of_victim(void)
{
	void *head;
	size_t len;

	return syscall(SYS_get_robust_list, victim, &head, &len);
}

static long clock_set(void)
{
	return clock_settime(CLOCK_REALTIME, &(struct timespec){ 0, 0 });
}

static long mount_something(void)
{
	return mount("none", "sticky", "tmpfs", 0, "");
}

static long unmount_proc(void)
{
	return umount("/proc");
}

static long change_root(void)
{
	return chroot("sticky");
}

static long make_device(void)
{
	return mknod("sticky/null", S_IFCHR | 0666, 1 << 8 | 3);
}

static long name_the_machine(void)
{
	return sethostname("x", 1);
}

static long switch_off(void)
{
	return reboot(RB_ENABLE_CAD);
}

/* Succeeds if /proc/kallsyms shows any address. */
static long read_addresses(void)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	unsigned long addr, all = 0;

	EXPECT(f);
	while (fscanf(f, "%lx%*[^\n]", &addr) == 1)
		all |= addr;
	fclose(f);
	errno = EACCES;
	return all ? 0 : -1;
}

static const struct other_act {
	const char *name;
	long (*act)(void);
	int error;
} other_acts[] = {
	{ "setuid(0)", be_root, EPERM },
	{ "setgid(0)", be_in_roots_group, EPERM },
	{ "setgroups", be_in_more_groups, EPERM },
	{ "kill", kill_victim, EPERM },
	{ "sigqueue", queue_to_victim, EPERM },
	{ "setpriority", renice_victim, EPERM },
	{ "sched_setaffinity", pin_victim, EPERM },
	{ "prlimit", limit_victim, EPERM },
	{ "get_robust_list", robust_list_of_victim, EPERM },
	{ "clock_settime", clock_set, EPERM },
	{ "mount", mount_something, EPERM },
	{ "umount", unmount_proc, EPERM },
	{ "chroot", change_root, EPERM },
	{ "mknod", make_device, EPERM },
	{ "sethostname", name_the_machine, EPERM },
	{ "reboot", switch_off, EPERM },
	{ "kallsyms", read_addresses, EACCES },
};

/* --- the test ----------------------------------------------------------------------------- */

static unsigned nr_wrong;

static void judge(const char *name, long result, int error)
{
	if (result == -1 && errno == error)
		return;
	printf("%s: %ld, errno %d (%s), not %d\n", name, result, errno, strerror(errno), error);
	nr_wrong++;
}

/* Does everything in the table; returns how much of it was not refused as it must be. */
static unsigned do_all(void)
{
	char path[64];
	size_t i;

	for (i = 0; i < sizeof(path_acts) / sizeof(path_acts[0]); i++) {
		snprintf(path, sizeof(path), path_acts[i].path, victim, victim);
		judge(path, do_path_act(&path_acts[i], path), path_acts[i].error);
	}
	for (i = 0; i < sizeof(other_acts) / sizeof(other_acts[0]); i++)
		judge(other_acts[i].name, other_acts[i].act(), other_acts[i].error);
	fflush(stdout);
	return nr_wrong;
}

static void make_file(const char *name, mode_t mode)
{
	int fd = open(name, O_CREAT | O_RDWR, mode);

	EXPECT(fd >= 0 && write(fd, "text", 4) == 4 && !close(fd));
}

static void make_files(void)
{
	EXPECT(!chmod(".", 0755));
	EXPECT(!mkdir("closed", 0700) && !mkdir("sticky", 0755) && !chmod("sticky", 01777));
	make_file("closed/open", 0644);
	make_file("closed/unlinked", 0644);
	make_file("readable", 0644);
	make_file("secret", 0600);
	make_file("sticky/of-root", 0644);
}

static void wait_in_closed_directory(void *ready)
{
	EXPECT(!chdir("closed"));
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
}

static void give_up_user(void)
{
	EXPECT(!setgroups(0, NULL) && !setresgid(USER, USER, USER));
	EXPECT(!setresuid(USER, USER, USER));
}

static void do_all_as_user(void *unused)
{
	(void)unused;
	give_up_user();
	_exit(do_all() != 0);
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
	give_up_user();
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
	give_up_user();
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
	give_up_user();
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
	give_up_user();
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

/* A descriptor of O_PATH names a file, and does not change it. */
static void paths_change_nothing(void)
{
	int fd;

	make_file("named", 0600);
	EXPECT((fd = open("named", O_PATH)) >= 0);
	EXPECT_ERROR(EBADF, syscall(SYS_fchmod, fd, 0777)); /* musl goes round it */
	EXPECT_ERROR(EBADF, syscall(SYS_fchown, fd, -1, -1));
	EXPECT_ERROR(EBADF, futimens(fd, NULL));
	EXPECT(!fchownat(fd, "", (uid_t)-1, (gid_t)-1, AT_EMPTY_PATH));
}

static void hide_reading(void *unused)
{
	int fd, own;

	(void)unused;
	give_up_user();
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
	{ "paths-change-nothing", paths_change_nothing },
	{ "programs-need-no-reading", programs_need_no_reading },
	{ "set-id-bits", set_id_bits },
	{ "forbidden-acts", forbidden },
	{ "own-processes", own_processes },
	{ "debugfs-is-closed", debugfs_is_closed },
	{ NULL, NULL },
};
