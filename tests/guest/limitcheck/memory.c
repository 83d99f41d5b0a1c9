/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of the kernel that a user takes by descriptors. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "limitcheck/limitcheck.h"

#define PAGE 4096l
enum { SOFT_LIMIT = 16384, USUAL = 16, FEW = 2, LARGEST = 256 }; /* pages of pipes */

/* Skip what needs the limits of Linux as they come. */
static bool limit_is(const char *file, long value)
{
	char text[32] = "";
	int fd = open(file, O_RDONLY);

	EXPECT(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && !close(fd));
	return atol(text) == value;
}

static int capacity(const int p[2])
{
	return fcntl(p[0], F_GETPIPE_SZ) / (int)PAGE;
}

/* Fill the soft limit but for @left pages, with large pipes first. */
static void take_pipes(int left)
{
	int p[2], pages = SOFT_LIMIT - left;

	for (; pages >= LARGEST; pages -= LARGEST) {
		EXPECT(!pipe(p) && capacity(p) == USUAL);
		EXPECT(fcntl(p[0], F_SETPIPE_SZ, LARGEST * PAGE) == LARGEST * PAGE);
	}
	for (; pages > 0; pages -= USUAL)
		EXPECT(!pipe(p) && capacity(p) == USUAL);
}

static void pipes_of_a_user(void)
{
	int p[2], q[2];

	if (!limit_is("/proc/sys/fs/pipe-user-pages-soft", SOFT_LIMIT))
		return;
	become(ALICE);
	take_pipes(2 * USUAL);
	EXPECT(!pipe(p) && capacity(p) == USUAL);
	EXPECT_ERROR(EPERM, fcntl(p[0], F_SETPIPE_SZ, 4 * USUAL * PAGE));
	EXPECT(fcntl(p[0], F_SETPIPE_SZ, 2 * USUAL * PAGE) == 2 * USUAL * PAGE);
	EXPECT(!pipe(q) && capacity(q) == FEW);
	EXPECT_ERROR(EPERM, fcntl(q[0], F_SETPIPE_SZ, 2 * FEW * PAGE));
	EXPECT(write(q[1], "abc", 3) == 3 && capacity(q) == FEW);
	EXPECT(fcntl(q[0], F_SETPIPE_SZ, PAGE) == PAGE);
	close(p[0]);
	EXPECT(!close(p[1]) && !pipe(p) && capacity(p) == USUAL);
	EXPECT(fcntl(q[0], F_SETPIPE_SZ, FEW * PAGE) == FEW * PAGE);
}

static void pipes_of_others(void)
{
	int p[2], ready[2], ended[2];
	char byte;

	if (!limit_is("/proc/sys/fs/pipe-user-pages-soft", SOFT_LIMIT) || geteuid())
		return;
	EXPECT(!pipe(ready) && !pipe(ended));
	if (!fork()) {
		become(ALICE);
		take_pipes(0);
		close(ended[1]);
		_exit(write(ready[1], "", 1) != 1 || read(ended[0], &byte, 1));
	}
	EXPECT(read(ready[0], &byte, 1) == 1);
	become(BOB);
	EXPECT(!pipe(p) && capacity(p) == USUAL);
}

/* The first to open a FIFO pays for it, until the last closes it. */
static void fifos_are_given_back(void)
{
	int p[2], fd;

	if (!limit_is("/proc/sys/fs/pipe-user-pages-soft", SOFT_LIMIT))
		return;
	EXPECT(!mkfifo("f", 0666) && !chmod("f", 0666) && !chmod(".", 0777));
	become(CAROL);
	take_pipes(USUAL);
	EXPECT((fd = open("f", O_RDWR)) >= 0 && fcntl(fd, F_GETPIPE_SZ) == USUAL * PAGE);
	EXPECT(!pipe(p) && capacity(p) == FEW);
	EXPECT(!close(p[0]) && !close(p[1]) && write(fd, "abc", 3) == 3 && !close(fd));
	EXPECT(!pipe(p) && capacity(p) == USUAL);
}

/* --- rings of perf events --------------------------------------------------------------------- */

enum { FOR_EACH_CPU = 129 }; /* pages of perf_event_mlock_kb */

/* Map a ring of its usual size, with its control page, behind the event *@fd. */
static void *map_ring(int *fd)
{
	/* Linux's struct perf_event_attr, first version: a software event, the kernel excluded. */
	uint32_t attr[16] = { 1, sizeof(attr), 9, [10] = 1 << 5 };

	*fd = (int)syscall(SYS_perf_event_open, attr, 0, 0, -1, 0);
	if (*fd < 0)
		return MAP_FAILED;
	return mmap(NULL, FOR_EACH_CPU * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
}

static void rings_of_a_user(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	void *ring = NULL;
	int fd = -1;

	if (!limit_is("/proc/sys/kernel/perf_event_mlock_kb", FOR_EACH_CPU * PAGE / 1024))
		return;
	become(ALICE);
	limit(RLIMIT_MEMLOCK, 0);
	for (long i = 0; i < cpus; i++) {
		ring = map_ring(&fd);
		if (fd < 0) /* forbidden on this machine */
			return;
		EXPECT(ring != MAP_FAILED);
	}
	EXPECT(!close(fd));
	EXPECT_ERROR(EPERM, (long)map_ring(&fd));
	EXPECT(!close(fd) && !munmap(ring, FOR_EACH_CPU * PAGE));
	EXPECT(map_ring(&fd) != MAP_FAILED);
}

/* --- locked memory ---------------------------------------------------------------------------- */

static char *map(size_t pages, int flags)
{
	return mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags,
		    -1, 0);
}

static void locked_memory(void)
{
	char *p = map(8, 0);
	pid_t pid;

	become(ALICE);
	limit(RLIMIT_MEMLOCK, 4 * PAGE + 100);
	EXPECT(!mlock(p, 4 * PAGE) && !mlock(p + PAGE, 2 * PAGE));
	EXPECT_ERROR(ENOMEM, mlock(p + 3 * PAGE, 2 * PAGE));
	EXPECT_ERROR(EAGAIN, (long)map(1, MAP_LOCKED));
	EXPECT_ERROR(ENOMEM, mlockall(MCL_CURRENT));
	EXPECT(!munlock(p, PAGE) && !mlock(p + 7 * PAGE + 1, 1));
	EXPECT_ERROR(ENOMEM, mlock(p, 1));
	EXPECT(!munlockall() && !mlockall(MCL_FUTURE));
	p = map(3, 0);
	EXPECT(p != MAP_FAILED);
	EXPECT_ERROR(EAGAIN, (long)map(2, 0));
	EXPECT_ERROR(EAGAIN, (long)mremap(p, 3 * PAGE, 5 * PAGE, MREMAP_MAYMOVE));
	pid = fork(); /* nothing is locked there */
	if (!pid)
		_exit(map(9, 0) == MAP_FAILED || mlock(p, 4 * PAGE));
	await_child(pid);
	EXPECT(!munlockall());
	limit(RLIMIT_MEMLOCK, 0);
	EXPECT_ERROR(EPERM, mlock(p, 1));
	EXPECT_ERROR(EPERM, mlockall(MCL_FUTURE));
	EXPECT_ERROR(EPERM, syscall(SYS_mmap, NULL, PAGE, PROT_READ,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0));
	EXPECT(!munlock(p, PAGE));
}

/* --- a small file system ---------------------------------------------------------------------- */

static long free_inodes(void)
{
	struct statfs fs;

	EXPECT(!statfs("m", &fs) && fs.f_files == 6);
	return (long)fs.f_ffree;
}

/* False: this machine does not allow it. */
static bool mount_small(const char *options)
{
	EXPECT(!mkdir("m", 0755));
	if (!mount("small", "m", "tmpfs", 0, options))
		return true;
	EXPECT(access("/proc/fairground", F_OK));
	return false;
}

/* The root is one, and so is each name of a file but the first. */
static void inodes_of_a_file_system(void)
{
	if (!mount_small("mode=755,nr_inodes=6"))
		return;
	EXPECT(free_inodes() == 5 && !mkdir("m/d", 0755) && !mknod("m/f", S_IFREG | 0644, 0));
	EXPECT(!link("m/f", "m/g") && !symlink("f", "m/l") && !mkfifo("m/p", 0644));
	EXPECT(!free_inodes());
	EXPECT_ERROR(ENOSPC, mkdir("m/e", 0755));
	EXPECT_ERROR(ENOSPC, open("m/e", O_CREAT | O_WRONLY, 0644));
	EXPECT_ERROR(ENOSPC, link("m/f", "m/h"));
	EXPECT_ERROR(ENOSPC, symlink("f", "m/h"));
	EXPECT(!rename("m/g", "m/d/g") && !rename("m/p", "m/d/p") && !free_inodes());
	EXPECT(!unlink("m/f") && free_inodes() == 1 && !link("m/d/g", "m/f"));
	EXPECT(!unlink("m/f") && !unlink("m/d/g") && free_inodes() == 2);
	EXPECT(!umount("m"));
	EXPECT_ERROR(EINVAL, mount("small", "m", "tmpfs", 0, "nr_inodes=x"));
}

/* A store beyond what it may have is SIGBUS, and nobody else dies of it. */
static void pages_of_a_file_system(void)
{
	static char block[PAGE], target[2000];
	pid_t pid;
	int fd, status;
	char *p;

	memset(target, 'x', sizeof(target) - 1);
	if (!mount_small("nr_blocks=4"))
		return;
	fd = open("m/f", O_CREAT | O_RDWR, 0644);
	for (int i = 0; i < 3; i++)
		EXPECT(write(fd, block, PAGE) == PAGE);
	EXPECT(!symlink(target, "m/l"));
	EXPECT_ERROR(ENOSPC, write(fd, block, PAGE));
	EXPECT_ERROR(ENOSPC, symlink(target, "m/k"));
	EXPECT(!symlink("short", "m/k") && !ftruncate(fd, 8 * PAGE));
	p = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	EXPECT(p != MAP_FAILED);
	pid = fork();
	if (!pid)
		_exit(p[5 * PAGE] = 1);
	EXPECT(waitpid(pid, &status, 0) == pid);
	EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
	EXPECT(!unlink("m/l") && (p[5 * PAGE] = 1));
	EXPECT(!munmap(p, 8 * PAGE) && !close(fd) && !umount("m"));
}

const struct check memory_tests[] = {
	{ "rings-of-a-user", rings_of_a_user },
	{ "locked-memory", locked_memory },
	{ "inodes-of-a-file-system", inodes_of_a_file_system },
	{ "pages-of-a-file-system", pages_of_a_file_system },
	{ "pipes-of-a-user", pipes_of_a_user },
	{ "pipes-of-others", pipes_of_others },
	{ "fifos-are-given-back", fifos_are_given_back },
	{ NULL, NULL },
};
