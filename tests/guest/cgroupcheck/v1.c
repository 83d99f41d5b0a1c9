/* SPDX-License-Identifier: GPL-2.0-only */
/* v1 otherwise than by rows: which files there are, ratios of children, counters, mounts. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cgroupcheck/cgroupcheck.h"

static const struct {
	const char *name;
	mode_t mode;
} files[] = {
	{ "tasks", 0644 },
	{ "cgroup.procs", 0644 },
	{ "cpu.shares", 0644 },
	{ "cpu.idle", 0644 },
	{ "cpu.cfs_quota_us", 0644 },
	{ "cpu.cfs_period_us", 0644 },
	{ "cpu.cfs_burst_us", 0644 },
	{ "cpu.stat", 0444 },

};

static void present(void)
{
	char name[64];
	struct stat st;
	size_t i;

	enter_v1();
	EXPECT(!stat(".", &st) && st.st_mode == (S_IFDIR | 0755));
	EXPECT(!mkdir("g", 0755) && !stat("g", &st) && st.st_mode == (S_IFDIR | 0755));
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		EXPECT(!stat(files[i].name, &st) && st.st_mode == (S_IFREG | files[i].mode));
		snprintf(name, sizeof(name), "g/%s", files[i].name);
		EXPECT(!stat(name, &st) && st.st_mode == (S_IFREG | files[i].mode));
	}
	EXPECT(access("cpu.weight", F_OK));
	EXPECT(!rmdir("g"));
	leave_v1();
}

/* How often @dir lists @name, read @size bytes at a time. */
static unsigned nr_listed_by(const char *dir, const char *name, size_t size)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY);
	union {
		struct dirent entry; /* musl's is the kernel's */
		char bytes[4096];
	} buf;
	unsigned nr = 0;
	long n;

	EXPECT(fd >= 0);
	while ((n = syscall(SYS_getdents64, fd, &buf, size)) > 0)
		for (long at = 0; at < n;) {
			const struct dirent *e = (const void *)&buf.bytes[at];

			nr += !strcmp(e->d_name, name);
			at += e->d_reclen;
		}
	EXPECT(!n && !close(fd));
	return nr;
}

static unsigned nr_listed(const char *dir, const char *name)
{
	unsigned nr = nr_listed_by(dir, name, 4096);

	EXPECT(nr_listed_by(dir, name, 64) == nr); /* an entry or two at a time */
	return nr;
}

/* Each file is listed once. A group that comes or goes changes the time of its parent. */
static void listed(void)
{
	struct stat before, made, gone;

	enter_v1();
	EXPECT(!stat(".", &before));
	usleep(20000);
	EXPECT(!mkdir("g", 0755) && !stat(".", &made));
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		EXPECT(nr_listed(".", files[i].name) == 1 && nr_listed("g", files[i].name) == 1);
	EXPECT(nr_listed(".", "g") == 1);
	usleep(20000);
	EXPECT(!rmdir("g") && !stat(".", &gone) && !nr_listed(".", "g"));
	EXPECT(memcmp(&before.st_mtim, &made.st_mtim, sizeof(made.st_mtim)));
	EXPECT(memcmp(&made.st_mtim, &gone.st_mtim, sizeof(made.st_mtim)));
	leave_v1();
}

/* Root is not stopped by the mode of a read-only file but by what it is. */
static void read_only(const char *file)
{
	EXPECT(put(file, "0") == EINVAL);
}

static void statistics(void)
{
	enter_v1();
	EXPECT(!mkdir("g", 0755));
	EXPECT(!value_of("g/cpu.stat", "nr_periods") && !value_of("g/cpu.stat", "nr_throttled"));
	EXPECT(!value_of("g/cpu.stat", "throttled_time") && !value_of("g/cpu.stat", "nr_bursts"));
	EXPECT(!value_of("g/cpu.stat", "burst_time") && !value_of("cpu.stat", "nr_periods"));
	EXPECT(!put("/proc/sys/kernel/sched_schedstats", "1"));
	EXPECT(!value_of("g/cpu.stat", "wait_sum"));
	EXPECT(!put("/proc/sys/kernel/sched_schedstats", "0"));
	read_only("g/cpu.stat");
	EXPECT(!rmdir("g"));
	leave_v1();
}

/* A child's share of its period is at most its parent's, whichever is changed. */
static void ratios(void)
{
	static const struct row rows[] = {
		{ "p/cpu.cfs_quota_us", "50000", 0, "50000" },
		{ "p/c/cpu.cfs_quota_us", "60000", EINVAL, "-1" },
		{ "p/c/cpu.cfs_quota_us", "40000", 0, "40000" },
		{ "p/cpu.cfs_quota_us", "30000", EINVAL, "50000" },
		{ "p/cpu.cfs_period_us", "200000", EINVAL, "100000" },
		{ "p/c/cpu.cfs_period_us", "50000", EINVAL, "100000" },
		{ "p/c/cpu.cfs_period_us", "80000", 0, "80000" },
		{ "p/c/cpu.cfs_quota_us", "-1", 0, "-1" },
		{ "p/cpu.cfs_quota_us", "30000", 0, "30000" },
		{ "p/c/d/cpu.cfs_quota_us", "30001", EINVAL, "-1" },
		{ "p/c/d/cpu.cfs_quota_us", "30000", 0, "30000" },
		{ "p/cpu.cfs_quota_us", "29999", EINVAL, "30000" },
		{ "p/cpu.cfs_quota_us", "-1", 0, "-1" },
		{ "p/c/d/cpu.cfs_quota_us", "400000", 0, "400000" },
		{ NULL, NULL, 0, NULL },
	};

	enter_v1();
	EXPECT(!mkdir("p", 0755) && !mkdir("p/c", 0755) && !mkdir("p/c/d", 0755));
	check_rows(rows);
	EXPECT(!rmdir("p/c/d") && !rmdir("p/c") && !rmdir("p"));
	leave_v1();
}

/* One hierarchy, wherever it is mounted; v2 is without the controller meanwhile. */
static void mounts(void)
{
	int id, groups;

	enter_v1();
	EXPECT(!mkdir("g", 0755) && !mkdir("/tmp/again", 0755));
	EXPECT(!mount("none", "/tmp/again", "cgroup", 0, "cpu"));
	EXPECT(!access("/tmp/again/g/cpu.shares", F_OK) && !umount("/tmp/again"));
	EXPECT(!mount("none", "/tmp/again", "cgroup", 0, "all") && !umount("/tmp/again"));
	EXPECT_ERROR(EINVAL, mount("none", "/tmp/again", "cgroup", 0, "cpux"));
	EXPECT_ERROR(EINVAL, mount("none", "/tmp/again", "cgroup", 0, "alx"));
	EXPECT_ERROR(EINVAL, mount("none", "/tmp/again", "cgroup", 0, "allx"));
	EXPECT_ERROR(EINVAL, mount("none", "/tmp/again", "cgroup2", 0, "cpu"));
	EXPECT(strstr(get("/proc/mounts"), " cgroup rw,relatime,cpu 0 0\n"));
	EXPECT(strstr(get("/proc/filesystems"), "nodev\tcgroup\n"));
	EXPECT(strstr(get("/proc/filesystems"), "nodev\tcgroup2\n"));
	/* Linux numbers hierarchies as they come, and counts groups a while after their end. */
	EXPECT(sscanf(strstr(get("/proc/cgroups"), "\ncpu\t"), "\ncpu %d %d 1", &id, &groups) == 2);
	EXPECT(id > 0 && groups >= 2 && strstr(get("/proc/self/cgroup"), ":cpu:/\n"));
	EXPECT(!mount("none", "/tmp/again", "cgroup2", 0, NULL));
	EXPECT(!strstr(get("/tmp/again/cgroup.controllers"), "cpu ") &&
	       !strstr(get("/tmp/again/cgroup.controllers"), "cpu\n"));
	EXPECT(put("/tmp/again/cgroup.subtree_control", "+cpu") == ENOENT);
	EXPECT(strstr(get("/proc/self/cgroup"), ":cpu:/\n0::/\n"));
	EXPECT(!umount("/tmp/again") && !rmdir("/tmp/again"));
	EXPECT(!rmdir("g"));
	leave_v1();
}

/* A write is one value, wherever the file is positioned and however long it is; a NUL ends it. */
static void writes(void)
{
	static char page[4097];
	int fd;

	enter_v1();
	EXPECT(!mkdir("g", 0755));
	fd = open("g/cpu.shares", O_RDWR | O_TRUNC | O_APPEND);
	EXPECT(fd >= 0 && reads("g/cpu.shares", "1024"));
	EXPECT(write(fd, "10", 2) == 2 && write(fd, "20", 2) == 2 && reads("g/cpu.shares", "20"));
	EXPECT(pwrite(fd, "30", 2, 1000000) == 2 && reads("g/cpu.shares", "30"));
	EXPECT(write(fd, "40\0x", 4) == 4 && reads("g/cpu.shares", "40"));
	EXPECT_ERROR(EINVAL, write(fd, "\0", 1));
	EXPECT(!write(fd, page, 0) && !ftruncate(fd, 0) && !ftruncate(fd, 1));
	memset(page, '5', sizeof(page));
	EXPECT_ERROR(E2BIG, write(fd, page, 4097));
	EXPECT(write(fd, page, 4096) == -1 && errno != E2BIG);
	EXPECT_ERROR(EFAULT, write(fd, (void *)8, 2));
	EXPECT(reads("g/cpu.shares", "40") && !close(fd));
	fd = open("g/cpu.shares", O_RDONLY);
	EXPECT_ERROR(EBADF, write(fd, "5", 1));
	EXPECT(!close(fd) && !rmdir("g"));
	leave_v1();
}

/* A text is that of the moment in which it is read from its beginning. */
static void offsets(void)
{
	char text[16];
	int fd;

	enter_v1();
	EXPECT(!mkdir("g", 0755));
	fd = open("g/cpu.shares", O_RDONLY);
	EXPECT(read(fd, text, 1) == 1 && *text == '1' && !put("g/cpu.shares", "7"));
	EXPECT(read(fd, text, 16) == 4 && !memcmp(text, "024\n", 4) && !read(fd, text, 16));
	EXPECT(pread(fd, text, 16, 0) == 2 && !memcmp(text, "7\n", 2));
	EXPECT(pread(fd, text, 16, 1) == 1 && *text == '\n' && !pread(fd, text, 16, 2));
	EXPECT(!pread(fd, text, 16, 1000000) && !lseek(fd, 0, SEEK_SET));
	EXPECT(read(fd, text, 16) == 2 && lseek(fd, 1, SEEK_SET) == 1 && read(fd, text, 16) == 1);
	EXPECT_ERROR(EFAULT, pread(fd, (void *)8, 16, 0));
	EXPECT_ERROR(EINVAL, lseek(fd, -1, SEEK_SET));
	EXPECT(!close(fd) && !rmdir("g"));
	leave_v1();
}

const struct check v1_tests[] = {
	{ "v1_present", present }, { "v1_listed", listed }, { "v1_ratios", ratios },
	{ "v1_stat", statistics }, { "v1_writes", writes }, { "v1_offsets", offsets },
	{ "v1_mounts", mounts },   { NULL, NULL },
};
