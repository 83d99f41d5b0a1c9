/* SPDX-License-Identifier: GPL-2.0-only */
/* Names, contents, descriptors. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "filecheck/filecheck.h"

#define PAGE 4096

static int create(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0644);

	EXPECT(fd >= 0);
	return fd;
}

/* Holes read as zeros; what is cut off does not come back. */
static void holes(void)
{
	int fd = create("f");
	char buf[16];
	struct stat st;

	EXPECT(pwrite(fd, "end", 3, 1 << 20) == 3);
	EXPECT(!fstat(fd, &st) && st.st_size == (1 << 20) + 3 && st.st_blocks < 100);
	EXPECT(pread(fd, buf, 16, 5000) == 16 &&
	       !memcmp(buf, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16));
	EXPECT(pread(fd, buf, 16, 1 << 20) == 3 && !memcmp(buf, "end", 3));
	EXPECT(!ftruncate(fd, (1 << 20) + 1) && !ftruncate(fd, (1 << 20) + 3));
	EXPECT(pread(fd, buf, 16, 1 << 20) == 3 && !memcmp(buf, "e\0\0", 3));
	EXPECT(read(fd, buf, 16) == 16 && lseek(fd, 0, SEEK_CUR) == 16);
	EXPECT(lseek(fd, 10, SEEK_END) == (1 << 20) + 13 && read(fd, buf, 1) == 0);
	EXPECT_ERROR(EINVAL, lseek(fd, -1, SEEK_SET));
	EXPECT_ERROR(EINVAL, ftruncate(fd, -1));
	EXPECT_ERROR(EINVAL, pread(fd, buf, 1, -1));
}

/*
 * Descriptors made by dup share a position; those of two opens do not; O_APPEND writes at the end.
 */
static void positions(void)
{
	int a = create("f"), b = dup(a), c = open("f", O_RDWR), d = open("f", O_WRONLY | O_APPEND);
	char buf[8];

	EXPECT(write(a, "1234", 4) == 4 && lseek(b, 0, SEEK_CUR) == 4 &&
	       lseek(c, 0, SEEK_CUR) == 0);
	EXPECT(write(d, "56", 2) == 2 && write(a, "X", 1) == 1 && write(d, "7", 1) == 1);
	EXPECT(read(c, buf, 8) == 7 && !memcmp(buf, "1234X67", 7));
	EXPECT(dup2(c, a) == a && lseek(a, 1, SEEK_SET) == 1 && read(c, buf, 1) == 1 &&
	       buf[0] == '2');
	EXPECT_ERROR(EBADF, read(d, buf, 1));
	EXPECT_ERROR(EINVAL, dup3(a, a, 0));
	EXPECT_ERROR(EBADF, dup2(99, 5));
	EXPECT(dup3(a, 50, O_CLOEXEC) == 50 && fcntl(50, F_GETFD) == FD_CLOEXEC);
	EXPECT(fcntl(a, F_DUPFD, 60) == 60 && fcntl(60, F_GETFD) == 0);
	EXPECT(fcntl(d, F_GETFL) & O_APPEND);
	EXPECT(!fcntl(d, F_SETFL, O_NONBLOCK) && !(fcntl(d, F_GETFL) & O_APPEND));
}

static void vectors(void)
{
	struct iovec out[3] = { { (char *)"ab", 2 }, { NULL, 0 }, { (char *)"cde", 3 } };
	char x[2], y[10];
	struct iovec in[2] = { { x, 2 }, { y, 10 } };
	int fd = create("f");

	EXPECT(writev(fd, out, 3) == 5 && pwritev(fd, out, 1, 4) == 2);
	EXPECT(preadv(fd, in, 2, 0) == 6 && !memcmp(x, "ab", 2) && !memcmp(y, "cdab", 4));
	EXPECT(lseek(fd, 4, SEEK_SET) == 4 && readv(fd, in, 2) == 2 && readv(fd, in, 2) == 0);
	EXPECT_ERROR(EINVAL, readv(fd, in, -1));
	in[1].iov_len = (size_t)-1;
	EXPECT_ERROR(EINVAL, readv(fd, in, 2));
}

/* A file without a name lives until it is closed; a name can be used again at once. */
static void unlinked(void)
{
	struct stat st;
	char c;
	int fd = create("f"), other;

	EXPECT(write(fd, "x", 1) == 1 && !unlink("f") && access("f", F_OK));
	other = create("f");
	EXPECT(pread(fd, &c, 1, 0) == 1 && c == 'x' && pread(other, &c, 1, 0) == 0);
	EXPECT(!fstat(fd, &st) && st.st_nlink == 0);
	EXPECT(!mkdir("d", 0755) && !chdir("d") && !rmdir("../d"));
	EXPECT_ERROR(ENOENT, open("new", O_CREAT | O_RDWR, 0644));
	EXPECT(!getcwd((char[64]){ 0 }, 64) && errno == ENOENT);
	EXPECT(!chdir("..") || errno == ENOENT);
}

/* Every name is listed once although the listing is cut into parts and names go meanwhile. */
static void listing(void)
{
	enum { NR = 700 };
	unsigned char seen[NR] = { 0 };
	struct dirent *e;
	char name[16];
	DIR *dir;
	int i, dots = 0;

	for (i = 0; i < NR; i++) {
		snprintf(name, sizeof(name), "%d", i);
		close(create(name));
	}
	dir = opendir(".");
	EXPECT(dir);
	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.') {
			dots++;
			continue;
		}
		i = atoi(e->d_name);
		EXPECT(i < NR && !seen[i] && e->d_type == DT_REG);
		seen[i] = 1;
		EXPECT(!unlink(e->d_name));
	}
	for (i = 0; i < NR; i++)
		EXPECT(seen[i]);
	EXPECT(dots == 2);
	rewinddir(dir);
	for (i = 0; readdir(dir); i++)
		;
	EXPECT(i == 2);
	closedir(dir);
}

/* A position leads back to its entry, and is no number that a process could have. */
static void places_in_directories(void)
{
	struct utsname host;
	struct dirent *e;
	char next[sizeof(e->d_name)];
	DIR *dir = opendir(".");
	long at;

	EXPECT(dir && !uname(&host));
	close(create("a"));
	close(create("b"));
	EXPECT(readdir(dir) && readdir(dir) && readdir(dir));
	at = telldir(dir);
	EXPECT(at > 4194304 || !strstr(host.release, "fairground"));
	e = readdir(dir);
	EXPECT(e);
	strcpy(next, e->d_name);
	EXPECT(!readdir(dir));
	seekdir(dir, at);
	e = readdir(dir);
	EXPECT(e && !strcmp(e->d_name, next));
	closedir(dir);
}

/* A mapping and read and write show the same bytes, also when one copies from the other. */
static void mapping(void)
{
	int fd = create("f"), i;
	char *m, c;

	EXPECT(!ftruncate(fd, 4 * PAGE));
	m = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	EXPECT(m != MAP_FAILED);
	m[PAGE] = 'm';
	EXPECT(pread(fd, &c, 1, PAGE) == 1 && c == 'm');
	EXPECT(pwrite(fd, "w", 1, 2 * PAGE) == 1 && m[2 * PAGE] == 'w');
	/* From a page of the file that is not there yet, into the file itself. */
	EXPECT(pwrite(fd, m + 3 * PAGE, PAGE, 0) == PAGE);
	EXPECT(pread(fd, m + 3 * PAGE, PAGE, PAGE) == PAGE && m[3 * PAGE] == 'm');
	for (i = 0; i < 4 * PAGE; i++)
		m[i] = (char)i;
	EXPECT(!close(fd) && !unlink("f") && m[4 * PAGE - 1] == (char)(4 * PAGE - 1));
	EXPECT(!munmap(m, 4 * PAGE));
}

static void links(void)
{
	struct stat a, b;
	char buf[64];

	close(create("f"));
	EXPECT(!link("f", "g") && !symlink("f", "s") && !symlink("nowhere", "broken"));
	EXPECT(!stat("s", &a) && !lstat("s", &b) && S_ISREG(a.st_mode) && S_ISLNK(b.st_mode) &&
	       a.st_nlink == 2);
	EXPECT(readlink("s", buf, 64) == 1 && buf[0] == 'f' && b.st_size == 1);
	EXPECT(readlink("broken", buf, 3) == 3 && !memcmp(buf, "now", 3));
	EXPECT_ERROR(EINVAL, readlink("f", buf, 64));
	EXPECT_ERROR(EEXIST, open("broken", O_CREAT | O_EXCL | O_RDWR, 0644));
	EXPECT_ERROR(ELOOP, open("s", O_RDONLY | O_NOFOLLOW));
	EXPECT(open("broken", O_CREAT | O_RDWR, 0644) >= 0 && !access("nowhere", R_OK | W_OK));
	EXPECT_ERROR(EACCES, access("f", X_OK));
	EXPECT(!chmod("f", 0700) && !access("s", X_OK));
	EXPECT(!mkdir("d", 0755));
	EXPECT_ERROR(EPERM, link("d", "e"));
	EXPECT_ERROR(EISDIR, unlink("d"));
	EXPECT_ERROR(ENOTDIR, rmdir("f"));
	EXPECT_ERROR(EXDEV, link("f", "/dev/shm/filecheck"));
	EXPECT_ERROR(EINVAL, rename("d", "d/e"));
	EXPECT(!rename("g", "d/g") && !stat("d/g", &b) && b.st_ino == a.st_ino &&
	       b.st_dev == a.st_dev);
	EXPECT_ERROR(ENOTEMPTY, rmdir("d"));
}

/* dirfd-relative names, O_PATH, /proc/self/fd. */
static void places(void)
{
	char buf[PATH_MAX], link[32];
	int dir, fd, path;
	struct stat st;

	EXPECT(!mkdir("d", 0755));
	dir = open("d", O_RDONLY | O_DIRECTORY);
	fd = openat(dir, "f", O_CREAT | O_RDWR, 0600);
	EXPECT(dir >= 0 && fd >= 0 && !fstatat(dir, "f", &st, 0) && !access("d/f", F_OK));
	EXPECT_ERROR(EBADF, openat(99, "f", O_RDONLY));
	EXPECT_ERROR(ENOTDIR, openat(fd, "f", O_RDONLY));
	EXPECT(!fchdir(dir) && !access("f", F_OK) && getcwd(buf, sizeof(buf)) && strstr(buf, "/d"));
	path = open("f", O_PATH);
	EXPECT(path >= 0 && !fstat(path, &st) && S_ISREG(st.st_mode));
	EXPECT_ERROR(EBADF, read(path, buf, 1));
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	EXPECT(write(fd, "text", 4) == 4 && readlink(link, buf, sizeof(buf)) > 2);
	fd = open(link, O_RDONLY);
	EXPECT(fd >= 0 && read(fd, buf, 8) == 4);
	EXPECT(!unlinkat(dir, "f", 0) && !chdir("..") && !unlinkat(AT_FDCWD, "d", AT_REMOVEDIR));
}

/* The table grows up to the limit and no further; the lowest free number is used. */
static void many_files(void)
{
	struct rlimit limit = { 300, 300 };
	int fd, first, last = -1;

	EXPECT(!setrlimit(RLIMIT_NOFILE, &limit));
	first = open("/dev/null", O_RDONLY);
	while ((fd = open("/dev/null", O_RDONLY)) >= 0)
		last = fd;
	EXPECT(errno == EMFILE && last == 299);
	EXPECT_ERROR(EMFILE, dup(first));
	EXPECT_ERROR(EMFILE, pipe((int[2]){ 0, 0 }));
	EXPECT_ERROR(EBADF, dup2(first, 300));
	EXPECT(!close(100) && !close(50) && open("/dev/null", O_RDONLY) == 50);
}

static void child_locks(void *arg)
{
	int fd = open("f", O_RDWR);

	(void)arg;
	EXPECT_ERROR(EWOULDBLOCK, flock(fd, LOCK_EX | LOCK_NB));
	EXPECT_ERROR(EWOULDBLOCK, flock(fd, LOCK_SH | LOCK_NB));
	EXPECT(!flock(fd, LOCK_EX)); /* when the parent lets go */
	EXPECT(write(fd, "child", 5) == 5);
}

static void file_locks(void)
{
	int fd = create("f"), other = open("f", O_RDWR);
	struct stat st;
	pid_t pid;

	EXPECT(!flock(fd, LOCK_SH) && !flock(other, LOCK_SH | LOCK_NB));
	EXPECT_ERROR(EWOULDBLOCK, flock(other, LOCK_EX | LOCK_NB)); /* and has lost its lock */
	EXPECT(!flock(fd, LOCK_EX | LOCK_NB) && !flock(fd, LOCK_SH | LOCK_NB));
	EXPECT(!close(other) && !flock(fd, LOCK_EX | LOCK_NB));
	pid = spawn(child_locks, NULL);
	await_sleep(pid, pid);
	EXPECT(!fstat(fd, &st) && st.st_size == 0 && !flock(fd, LOCK_UN));
	await_child(pid);
	EXPECT(!fstat(fd, &st) && st.st_size == 5);
}

/* Character devices and text files of the kernel. */
static void devices(void)
{
	int zero = open("/dev/zero", O_RDWR), full = open("/dev/full", O_RDWR),
	    null = open("/dev/null", O_RDWR);
	char buf[100], again[100];
	long n;

	memset(buf, 1, sizeof(buf));
	EXPECT(read(zero, buf, 100) == 100 && !buf[0] && !buf[99] && write(null, buf, 100) == 100);
	EXPECT(read(null, buf, 100) == 0 && lseek(null, 5, SEEK_SET) == 0);
	EXPECT_ERROR(ENOSPC, write(full, buf, 1));
	EXPECT(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, zero, 0) != MAP_FAILED);
	n = open("/proc/version", O_RDONLY);
	EXPECT(n >= 0);
	EXPECT(pread((int)n, buf, 10, 0) == 10 && pread((int)n, again, 5, 5) == 5 &&
	       !memcmp(buf + 5, again, 5));
	EXPECT_ERROR(ENOENT, open("/proc/nothing", O_RDWR | O_CREAT, 0644));
	EXPECT_ERROR(ENOENT, open("/proc/999999/stat", O_RDONLY));
}

/* A reader that looks for a record until there are no more must come to an end. */
static void kernel_log_is_not_over(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK), looks = 0;
	char record[8192];
	ssize_t n;

	if (fd < 0) /* a privilege on Linux */
		return;
	do {
		n = read(fd, record, sizeof(record));
	} while ((n >= 0 || errno == EPIPE) && ++looks < 100000);
	EXPECT(n == -1 && errno == EAGAIN);
}

const struct check file_tests[] = {
	{ "holes", holes },
	{ "positions", positions },
	{ "vectors", vectors },
	{ "unlinked", unlinked },
	{ "listing", listing },
	{ "mapping", mapping },
	{ "links", links },
	{ "places", places },
	{ "many-files", many_files },
	{ "places-in-directories", places_in_directories },
	{ "file-locks", file_locks },
	{ "devices", devices },
	{ "kmsg", kernel_log_is_not_over },
	{ NULL, NULL },
};
