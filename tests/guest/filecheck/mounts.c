/* SPDX-License-Identifier: GPL-2.0-only */
/* Mounts as texts and names show them; what the kernel says about the numbers of its files. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "filecheck/filecheck.h"

static bool may_mount(const char *at)
{
	EXPECT(!mkdir(at, 0755));
	if (mount("none", at, "tmpfs", 0, NULL)) {
		EXPECT(access("/proc/fairground", F_OK));
		return false; /* a container that may not mount */
	}
	EXPECT(!umount(at));
	return true;
}

/* The line of @file with the word @place. */
static void find_line(const char *file, const char *place, char *line, int size)
{
	FILE *f = fopen(file, "r");
	char word[300];

	snprintf(word, sizeof(word), " %s ", place);
	EXPECT(f);
	do
		EXPECT(fgets(line, size, f));
	while (!strstr(line, word));
	EXPECT(!fclose(f));
}

/* --- texts -------------------------------------------------------------------------------- */

static const struct {
	unsigned long flag;
	const char *name;
} flags[] = {
	{ MS_RDONLY, "ro" }, { MS_NOSUID, "nosuid" }, { MS_NODEV, "nodev" }, { MS_NOEXEC, "noexec" }
};

/* Does the list @options, of words with commas, have @name? */
static bool has_option(const char *options, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = options; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncmp(at, name, len) && (!at[len] || at[len] == ','))
			return true;
	}
	return false;
}

static void expect_options(const char *options, unsigned long given)
{
	for (unsigned i = 0; i < 4; i++)
		EXPECT(has_option(options, flags[i].name) == !!(given & flags[i].flag));
	EXPECT(has_option(options, "rw") == !(given & MS_RDONLY));
	EXPECT(has_option(options, "relatime"));
}

/* The options of the mount at @place in both texts, and those of its file system. */
static void check_texts(const char *place, const char *type, unsigned long given, const char *of_fs)
{
	char line[1000], got_type[32], source[32], options[200], more[200];

	find_line("/proc/self/mounts", place, line, sizeof(line));
	EXPECT(sscanf(line, "%31s %*s %31s %199s 0 0", source, got_type, options) == 3);
	EXPECT(!strcmp(source, "here") && !strcmp(got_type, type));
	expect_options(options, given);
	EXPECT(!of_fs || has_option(options, of_fs));
	find_line("/proc/self/mountinfo", place, line, sizeof(line));
	EXPECT(sscanf(line, "%*d %*d 0:%*d / %*s %199s", options) == 1 && strstr(line, " - "));
	expect_options(options, given);
	EXPECT(sscanf(strstr(line, " - "), " - %31s %31s %199s", got_type, source, more) == 3);
	EXPECT(!strcmp(source, "here") && !strcmp(got_type, type));
	EXPECT(has_option(more, given & MS_RDONLY ? "ro" : "rw"));
	EXPECT(!of_fs || has_option(more, of_fs));
}

static void options_are_told(void)
{
	char place[256];

	if (!may_mount("m"))
		return;
	EXPECT(getcwd(place, sizeof(place) - 2));
	strcat(place, "/m");
	for (unsigned set = 0; set < 16; set++) {
		unsigned long given = 0;

		for (unsigned i = 0; i < 4; i++)
			given |= set >> i & 1 ? flags[i].flag : 0;
		EXPECT(!mount("here", "m", "tmpfs", given, NULL));
		check_texts(place, "tmpfs", given, NULL);
		EXPECT(!umount("m"));
	}
	if (!mount("here", "m", "cgroup", 0, "cpu")) { /* not where v2 has the controller */
		check_texts(place, "cgroup", 0, "cpu");
		EXPECT(!umount("m"));
	}
}

/* The first mount is told as any other is, and so are all types of file systems. */
static void first_ones_are_told(void)
{
	static const char *const types[] = { "tmpfs", "proc", "sysfs", "cgroup2" };
	char line[1000], word[32];
	FILE *f;

	find_line("/proc/self/mounts", "/", line, sizeof(line));
	find_line("/proc/self/mountinfo", "/", line, sizeof(line));
	for (int i = 0; i < 4; i++) {
		snprintf(word, sizeof(word), "nodev\t%s\n", types[i]);
		f = fopen("/proc/filesystems", "r");
		EXPECT(f);
		do
			EXPECT(fgets(line, sizeof(line), f));
		while (strcmp(line, word));
		EXPECT(!fclose(f));
	}
}

/* --- names -------------------------------------------------------------------------------- */

/* Of one file system at two places each has mounts of its own. */
static void places_have_their_own_mounts(void)
{
	if (!may_mount("a") || !may_mount("b"))
		return;
	if (mount("none", "a", "proc", 0, NULL))
		return;
	EXPECT(!mount("none", "b", "proc", 0, NULL) && !mount("none", "b/sys", "tmpfs", 0, NULL));
	EXPECT(!access("a/sys/fs/file-max", R_OK));
	EXPECT_ERROR(ENOENT, access("b/sys/fs", R_OK));
	EXPECT(!mkdir("b/sys/fs", 0755) && !access("b/sys/../sys/fs", R_OK));
	EXPECT(!access("a/sys/../sys/fs/file-max", R_OK));
	EXPECT(!umount("b/sys") && !access("b/sys/fs/file-max", R_OK));
	EXPECT(!umount("b") && !umount("a"));
}

static void leave_the_root(void *unused)
{
	char name[256];

	(void)unused;
	EXPECT(mkdir("m/d", 0755) == 0 && !chroot("m"));
	EXPECT(!getcwd(name, sizeof(name)) && errno == ENOENT);
	EXPECT(!chdir("/d") && getcwd(name, sizeof(name)) && !strcmp(name, "/d"));
	EXPECT(!chdir("..") && getcwd(name, sizeof(name)) && !strcmp(name, "/"));
	EXPECT(!chdir("..") && getcwd(name, sizeof(name)) && !strcmp(name, "/"));
}

/* A place outside of its root has no name for a process. */
static void no_name_outside_of_the_root(void)
{
	if (!may_mount("m"))
		return;
	EXPECT(!mount("none", "m", "tmpfs", 0, NULL));
	await_child(spawn(leave_the_root, NULL));
	EXPECT(!umount("m"));
}

/* --- lifetimes ----------------------------------------------------------------------------- */

enum held { OPEN, UNLINKED, MAPPED, PATH_ONLY, NR_HELD };

/* Holds a new file of the mount m, which goes away meanwhile; lets it go. */
static void outlive_the_mount(enum held how)
{
	char *map, c = 0;
	int fd;

	EXPECT(!mount("none", "m", "tmpfs", 0, NULL));
	fd = open("m/f", O_CREAT | O_RDWR, 0644);
	EXPECT(fd >= 0 && write(fd, "x", 1) == 1);
	map = how == MAPPED ? mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0) : &c;
	EXPECT(map != MAP_FAILED && (how != UNLINKED || !unlink("m/f")));
	if (how == PATH_ONLY)
		EXPECT(!close(fd) && (fd = open("m/f", O_PATH)) >= 0);
	EXPECT(!umount2("m", MNT_DETACH));
	EXPECT_ERROR(ENOENT, access("m/f", F_OK));
	EXPECT(how == PATH_ONLY || (pread(fd, &c, 1, 0) == 1 && c == 'x'));
	EXPECT(!close(fd));
	EXPECT(how != MAPPED || (*map == 'x' && !munmap(map, 1)));
}

/* A file is whole until its last holder lets it go, also when nothing is mounted there any more. */
static void files_outlive_their_mounts(void)
{
	if (!may_mount("m"))
		return;
	for (int round = 0; round < 5; round++)
		for (enum held how = OPEN; how < NR_HELD; how++)
			outlive_the_mount(how);
}

static void look_through_the_link(void *parent)
{
	struct stat st;

	while (getppid() == *(pid_t *)parent)
		(void)!stat("m/link", &st);
}

/* A file system goes away while others follow a link of it. */
static void links_outlive_their_mounts(void)
{
	pid_t self = getpid(), others[2];

	if (!may_mount("m"))
		return;
	for (int i = 0; i < 2; i++)
		others[i] = spawn(look_through_the_link, &self);
	for (int round = 0; round < 3000; round++) {
		EXPECT(!mount("none", "m", "tmpfs", 0, NULL));
		EXPECT(!symlink("/proc/self/task/../fd/../task/../status", "m/link"));
		EXPECT(!umount2("m", MNT_DETACH));
	}
	for (int i = 0; i < 2; i++)
		EXPECT(!kill(others[i], SIGKILL) && waitpid(others[i], NULL, 0) == others[i]);
}

/* How many lines of /proc/self/mounts name a place below @place? */
static int mounts_below(const char *place)
{
	FILE *f = fopen("/proc/self/mounts", "r");
	char line[1000];
	int nr = 0;

	EXPECT(f);
	while (fgets(line, sizeof(line), f))
		nr += strstr(line, place) || strstr(line, "(unreachable)");
	EXPECT(!fclose(f));
	return nr;
}

static bool same_file(int fd, const char *name)
{
	struct stat a, b;

	EXPECT(!fstat(fd, &a) && !fstatat(fd, name, &b, 0));
	return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void mount_below(const char *place)
{
	EXPECT((!mkdir(place, 0755) || errno == EEXIST) && !mount("none", place, "tmpfs", 0, NULL));
}

static void expect_link(int fd, const char *target)
{
	char name[32], text[256] = "";

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	EXPECT(readlink(name, text, sizeof(text) - 1) > 0 && !strcmp(text, target));
}

/* The running process is in a directory that nobody finds, and nothing can be mounted on it. */
static void expect_lost(void)
{
	char name[256];

	EXPECT_ERROR(ENOENT, mount("none", ".", "tmpfs", 0, NULL));
	EXPECT(!getcwd(name, sizeof(name)) && errno == ENOENT);
}

/* With a mount all that is mounted in it goes away, and each holder is alone with its own. */
static void a_tree_is_detached(void)
{
	char place[256];
	int top, inner;

	if (!may_mount("m"))
		return;
	EXPECT(getcwd(place, sizeof(place) - 3) && strcat(place, "/m"));
	mount_below("m");
	mount_below("m/a");
	mount_below("m/a/b");
	mount_below("m/c");
	EXPECT(!mkdir("m/a/b/d", 0755) && mounts_below(place) == 4);
	top = open("m", O_RDONLY);
	inner = open("m/a/b/d", O_RDONLY);
	EXPECT(top >= 0 && inner >= 0);
	EXPECT_ERROR(EBUSY, umount("m"));
	EXPECT(!umount2("m", MNT_DETACH) && !mounts_below(place) && !rmdir("m"));
	EXPECT(same_file(top, "..") && same_file(inner, "../..") == same_file(inner, "../../.."));
	EXPECT_ERROR(ENOENT, faccessat(top, "a/b", F_OK, 0));
	EXPECT(!unlinkat(top, "a", AT_REMOVEDIR) && !mkdirat(top, "e", 0755));
	expect_link(top, "/");
	expect_link(inner, "/d");
	EXPECT(!fchdir(inner));
	expect_lost();
	EXPECT_ERROR(EINVAL, umount2("..", MNT_DETACH));
	EXPECT(!rmdir("../d"));
	expect_lost();
}

/* The directory of a trace instance goes, and with it what is mounted there. */
static void mounts_go_with_their_places(void)
{
	const char *instance = "/sys/kernel/tracing/instances/place";
	char place[100];

	if (mkdir(instance, 0755)) /* no tracing here */
		return;
	snprintf(place, sizeof(place), "%s/events", instance);
	EXPECT(!mount("none", place, "tmpfs", 0, NULL) && !mount("none", place, "tmpfs", 0, NULL));
	EXPECT(mounts_below(instance) == 2);
	EXPECT(!rmdir(instance) && !mounts_below(instance));
}

enum { DEEP = 1500 };

/* Mounts in mounts, however many, go away with the outermost; so does what was held of one. */
static void deep_trees_are_detached(void)
{
	int cwd = open(".", O_RDONLY), fd;

	if (!may_mount("m"))
		return;
	for (int how = 0; how < 2; how++) {
		for (int i = 0; i < DEEP; i++) {
			mount_below("m");
			EXPECT(!chdir("m"));
		}
		fd = open("f", O_CREAT | O_RDWR, 0644);
		EXPECT(fd >= 0 && write(fd, "x", 1) == 1);
		for (int i = 0; how && i < DEEP; i++)
			EXPECT(!chdir("..") && !umount2("m", MNT_DETACH));
		EXPECT(!fchdir(cwd) && (how || !umount2("m", MNT_DETACH)) && !close(fd));
	}
}

/* --- numbers ------------------------------------------------------------------------------ */

static unsigned long number(const char *path, const char *form)
{
	unsigned long n;
	char text[256];
	int fd = open(path, O_RDONLY);
	ssize_t got = read(fd, text, sizeof(text) - 1);

	EXPECT(fd >= 0 && got > 0 && !close(fd));
	text[got] = 0;
	EXPECT(sscanf(text, form, &n) == 1);
	return n;
}

/* Open files are counted, beside the most of them. */
static void open_files_are_counted(void)
{
	enum { NR = 800 };
	const char *nr = "/proc/sys/fs/file-nr";
	unsigned long before = number(nr, "%lu"), now;

	EXPECT(number(nr, "%*d %*d %lu") == number("/proc/sys/fs/file-max", "%lu"));
	for (int i = 0; i < NR; i++)
		EXPECT(open("/dev/null", O_RDONLY) >= 0);
	now = number(nr, "%lu"); /* others open and close files, too */
	EXPECT(now >= before + NR / 2 && now <= before + 10 * NR);
}

static void find_no_file_left(void *unused)
{
	int p[2];

	(void)unused;
	for (int i = 0; i < 20; i++) /* others may close some meanwhile */
		EXPECT(open("/dev/null", O_RDONLY) >= 0);
	EXPECT(!setuid(1001));
	EXPECT_ERROR(ENFILE, open("/dev/null", O_RDONLY));
	EXPECT_ERROR(ENFILE, pipe(p));
}

/* Beyond the most of all files only root opens one more. On this kernel only: it stops others. */
static void files_run_out(void)
{
	const char *path = "/proc/sys/fs/file-max";
	char few[32], most[32];
	int fd = open(path, O_WRONLY), status;

	if (fd < 0 || access("/proc/fairground", F_OK))
		return;
	snprintf(most, sizeof(most), "%lu", number(path, "%lu"));
	snprintf(few, sizeof(few), "%lu", number("/proc/sys/fs/file-nr", "%lu"));
	EXPECT(write(fd, few, strlen(few)) > 0);
	EXPECT(waitpid(spawn(find_no_file_left, NULL), &status, 0) > 0);
	EXPECT(write(fd, most, strlen(most)) > 0 && !status);
}

/* A user's watches may take 4 % of memory, with a few hundred bytes for each. */
static void watches_take_little_memory(void)
{
	unsigned long kib = number("/proc/meminfo", "MemTotal: %lu");
	unsigned long each = kib * 1024 / 25 / number("/proc/sys/fs/epoll/max_user_watches", "%lu");

	EXPECT(each >= 64 && each <= 1024);
}

/* A path by way of a link of /proc keeps nothing of what the link leads to. */
static void links_keep_nothing(void)
{
	static const char *const paths[] = { "/proc/self/cwd",	 "/proc/self/cwd/f",
					     "/proc/self/cwd/.", "/proc/self/cwd/..",
					     "/proc/self/fd/9",	 "/proc/self/root/proc/self/cwd/f",
					     "/proc/self/cwd/l" };
	struct stat st;
	int fd;

	if (!may_mount("m"))
		return;
	EXPECT(!mount("none", "m", "tmpfs", 0, NULL) && !chdir("m"));
	EXPECT((fd = open("f", O_CREAT | O_RDWR, 0644)) >= 0 && dup2(fd, 9) == 9);
	EXPECT(!symlink("/proc/self/fd/9", "l"));
	for (unsigned i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		int other = open(paths[i], O_RDONLY);

		EXPECT(!stat(paths[i], &st) && !access(paths[i], R_OK));
		EXPECT(other >= 0 && !close(other));
	}
	EXPECT_ERROR(ENOTDIR, open("/proc/self/fd/9/f", O_RDONLY));
	EXPECT_ERROR(ENOENT, open("/proc/self/cwd/none", O_RDONLY));
	EXPECT(!close(fd) && !chdir(".."));
	EXPECT_ERROR(EBUSY, umount("m"));
	EXPECT(!close(9) && !umount("m"));
}

const struct check mount_tests[] = {
	{ "links-keep-nothing", links_keep_nothing },
	{ "options-are-told", options_are_told },
	{ "first-ones-are-told", first_ones_are_told },
	{ "own-mounts", places_have_their_own_mounts },
	{ "no-name-outside", no_name_outside_of_the_root },
	{ "files-outlive-mounts", files_outlive_their_mounts },
	{ "links-outlive-mounts", links_outlive_their_mounts },
	{ "trees-are-detached", a_tree_is_detached },
	{ "mounts-go-with-places", mounts_go_with_their_places },
	{ "deep-trees-are-detached", deep_trees_are_detached },
	{ "files-are-counted", open_files_are_counted },
	{ "files-run-out", files_run_out },
	{ "watches-take-little", watches_take_little_memory },
	{ NULL, NULL },
};
