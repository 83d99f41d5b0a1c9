/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls whose answer is not what one guesses: names with a slash, names that went, odd times. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "filecheck/filecheck.h"

/* In a directory with the files "file" and "gone", the latter unlinked, and others' directories. */
static const struct row {
	enum { RENAME, LINK, LINK_GONE, SYMLINK, MAKE, OPEN_EMPTY, UNLINK } call;
	const char *from, *to;
	int error; /* or 0 */
} rows[] = {
	{ RENAME, "file/", "new", ENOTDIR },
	{ RENAME, "file", "new/", ENOTDIR },
	{ RENAME, "file", "dir/", ENOTDIR },
	{ RENAME, "file", "dir", EISDIR },
	{ RENAME, "dir", "file", ENOTDIR },
	{ RENAME, "dir/", "file", ENOTDIR },
	{ RENAME, "link/", "new", ENOTDIR },
	{ RENAME, "none/", "new", ENOENT },
	{ RENAME, "file/", "none/new", ENOENT },
	{ RENAME, "dir/", "moved/", 0 },
	{ RENAME, "moved", "dir/", 0 },
	{ RENAME, "closed", "dir/closed", EACCES },
	{ RENAME, "closed", "still-closed", 0 },
	{ RENAME, "open", "dir/open", 0 },
	{ RENAME, "read-only", "dir/read-only", 0 },
	{ RENAME, "/", "/none", EBUSY },
	{ RENAME, "/none", "/", EBUSY },
	{ RENAME, "/", "/dev/shm/x", EXDEV },
	{ RENAME, "/proc/x", "/", EXDEV },
	{ RENAME, "/proc/.", "/..", EXDEV },
	{ LINK, "/", "/dev/shm/x", EXDEV },
	{ LINK, "file", "/proc/", EEXIST },
	{ RENAME, ".", "new", EBUSY },
	{ RENAME, "none", "..", EBUSY },
	{ LINK, "file", "new/", ENOENT },
	{ LINK, "file", "/", EEXIST },
	{ LINK, "file", "dir/.", EEXIST },
	{ LINK, "file", "dir/", EEXIST },
	{ LINK, "file", "link/", EEXIST },
	{ LINK, "file/", "new", ENOTDIR },
	{ LINK, "file", "new", 0 },
	{ LINK_GONE, "", "back", ENOENT },
	{ SYMLINK, "file", "new2/", ENOENT },
	{ MAKE, "", "new2/", ENOENT },
	{ OPEN_EMPTY, "dir", "", EISDIR },
	{ UNLINK, "file/", "", ENOTDIR },
	{ UNLINK, "link/", "", ENOTDIR },
};

/* Each name of the descriptor @gone is no name of a file. */
static int link_gone(int gone, const char *to)
{
	char from[32];

	snprintf(from, sizeof(from), "/proc/self/fd/%d", gone);
	return linkat(AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW);
}

static int result_of(const struct row *r, int gone)
{
	switch (r->call) {
	case RENAME:
		return rename(r->from, r->to);
	case LINK:
		return link(r->from, r->to);
	case LINK_GONE:
		return link_gone(gone, r->to);
	case SYMLINK:
		return symlink(r->from, r->to);
	case MAKE:
		return mknod(r->to, S_IFREG | 0644, 0);
	case OPEN_EMPTY:
		return open(r->from, O_RDONLY | O_TRUNC);
	case UNLINK:
		return unlink(r->from);
	}
	return 0;
}

static void try_as_user(void *unused)
{
	int gone;

	(void)unused;
	EXPECT(geteuid() || !setuid(1000));
	gone = open("gone", O_CREAT | O_RDWR, 0644);
	EXPECT(gone >= 0 && !unlink("gone") && !close(open("file", O_CREAT | O_RDWR, 0644)));
	EXPECT(!mkdir("dir", 0755) && !mkdir("closed", 0555) && !mkdir("open", 0755));
	EXPECT(!symlink("dir", "link") && !close(open("read-only", O_CREAT | O_RDWR, 0444)));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];

		errno = 0;
		if (result_of(r, gone) == (r->error ? -1 : 0) && errno == r->error)
			continue;
		printf("row %zu: %s, %s: error %d, not %d\n", i, r->from, r->to, errno, r->error);
		fail(__FILE__, __LINE__, "a row of the table");
	}
}

static void names_at_the_edge(void)
{
	EXPECT(!chmod(".", 0777));
	await_child(spawn(try_as_user, NULL));
}

/* Times before 1970 count seconds backwards, and nanoseconds forwards. */
static void times_before_1970(void)
{
	const struct timespec old[2] = { { -5, 5 }, { -1, 999999999 } };
	const struct timespec far[2] = { { INT64_MAX / 1000, 0 }, { INT64_MIN / 1000, 0 } };
	int64_t stx[32]; /* struct statx, which musl has not: stx_atime begins at byte 64 */
	struct stat st;

	close(open("f", O_CREAT | O_RDWR, 0644));
	EXPECT(!utimensat(AT_FDCWD, "f", old, 0) && !stat("f", &st));
	EXPECT(st.st_atim.tv_sec == -5 && st.st_atim.tv_nsec == 5);
	EXPECT(st.st_mtim.tv_sec == -1 && st.st_mtim.tv_nsec == 999999999);
	EXPECT(!syscall(SYS_statx, AT_FDCWD, "f", 0, 0x7ff, stx));
	EXPECT(stx[8] == -5 && (uint32_t)stx[9] == 5);
	/* The nearest that the file system can tell. */
	EXPECT(!utimensat(AT_FDCWD, "f", far, 0) && !stat("f", &st));
	EXPECT(st.st_atim.tv_sec > INT32_MAX && st.st_mtim.tv_sec <= INT32_MIN);
}

/* statx tells what stat tells, in an order of its own. */
static void statx_is_stat(void)
{
	const struct timespec times[2] = { { 1000, 0 }, { 2000, 0 } };
	int64_t stx[32];
	struct stat st;

	close(open("f", O_CREAT | O_RDWR, 0640));
	EXPECT(!truncate("f", 5000) && !link("f", "g") && !chown("f", 12, 34));
	EXPECT(!utimensat(AT_FDCWD, "f", times, 0) && !stat("f", &st));
	EXPECT(!syscall(SYS_statx, AT_FDCWD, "f", 0, 0x7ff, stx));
	EXPECT((uint32_t)stx[2] == 2 && stx[2] >> 32 == 12); /* links, user */
	EXPECT((uint32_t)stx[3] == 34 && (uint16_t)(stx[3] >> 32) == (S_IFREG | 0640));
	EXPECT((uint64_t)stx[4] == st.st_ino && stx[5] == 5000 && stx[6] == st.st_blocks);
	EXPECT(stx[8] == 1000 && stx[12] == st.st_ctim.tv_sec && stx[14] == 2000);
}

/* A call looks at its other arguments before the name. */
static void arguments_come_first(void)
{
	const struct timespec omit[2] = { { 5, UTIME_OMIT }, { 0, UTIME_OMIT } };
	const struct timespec odd[2] = { { 0, UTIME_OMIT }, { 0, 2000000000 } };
	char stx[256];

	EXPECT_ERROR(EINVAL, syscall(SYS_statx, AT_FDCWD, "none", 0x6000, 0, stx));
	EXPECT_ERROR(EINVAL, syscall(SYS_statx, AT_FDCWD, "none", 0, 1u << 31, stx));
	EXPECT(!syscall(SYS_statx, AT_FDCWD, ".", 0x2000, 0x7fffffff, stx));
	EXPECT(!syscall(SYS_statx, AT_FDCWD, ".", 0x4000, 0, stx));
	EXPECT(!utimensat(AT_FDCWD, "none", omit, 0) && !utimensat(99, "none", omit, 0x10000));
	EXPECT(!utimensat(99, (char *)1, omit, 0));
	EXPECT_ERROR(ENOENT, utimensat(AT_FDCWD, "none", odd, 0));
	EXPECT_ERROR(EINVAL, utimensat(AT_FDCWD, ".", odd, 0));
	EXPECT_ERROR(EFAULT, syscall(SYS_utimensat, AT_FDCWD, NULL, NULL, 0));
	EXPECT_ERROR(EINVAL, syscall(SYS_utimensat, 0, NULL, NULL, AT_SYMLINK_NOFOLLOW));
}

static void wait_for_death(void *unused)
{
	(void)unused;
	pause();
}

/* A directory in /proc that was kept open is empty when its process has been waited for. */
static void directories_of_the_ended(void)
{
	static const struct {
		const char *format, *entry;
		int error;
	} kept[] = { { "/proc/%d", "stat", ESRCH },
		     { "/proc/%d/task", "1", ESRCH },
		     { "/proc/%d/fd", "0", ENOENT },
		     { "/proc/%d/task/%d", "stat", ENOENT } };
	pid_t pid = spawn(wait_for_death, NULL);
	char text[512];
	int fds[4];

	for (int i = 0; i < 4; i++) {
		snprintf(text, sizeof(text), kept[i].format, pid, pid);
		EXPECT((fds[i] = open(text, O_RDONLY | O_DIRECTORY)) >= 0);
		EXPECT(syscall(SYS_getdents64, fds[i], text, sizeof(text)) > 0);
		EXPECT(lseek(fds[i], 0, SEEK_SET) == 0);
	}
	EXPECT(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid);
	for (int i = 0; i < 4; i++) {
		EXPECT_ERROR(ENOENT, syscall(SYS_getdents64, fds[i], text, sizeof(text)));
		EXPECT_ERROR(kept[i].error, openat(fds[i], kept[i].entry, O_RDONLY));
	}
}

/* /proc tells where a descriptor is, and how it was opened. */
static void descriptors_are_told(void)
{
	int fd = open("f", O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0644), info;
	unsigned long pos = 0, flags = 0;
	char path[64], text[256] = { 0 };

	EXPECT(fd >= 0 && write(fd, "four", 4) == 4 && lseek(fd, 3, SEEK_SET) == 3);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = open(path, O_RDONLY);
	EXPECT(info >= 0 && read(info, text, sizeof(text) - 1) > 0 && strstr(text, "\nmnt_id:\t"));
	EXPECT(sscanf(text, "pos:\t%lu\nflags:\t0%lo\n", &pos, &flags) == 2 && pos == 3);
	EXPECT((flags & ~0100000ul) == (O_RDWR | O_APPEND | O_CLOEXEC));
	EXPECT(!close(fd));
	EXPECT_ERROR(ENOENT, open(path, O_RDONLY));
}

static mode_t mode_of_link(int flags)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", open("f", flags));
	EXPECT(!lstat(path, &st));
	return st.st_mode;
}

static void look_at_parent(void *unused)
{
	char path[64];
	struct stat st;

	(void)unused;
	become(1001);
	snprintf(path, sizeof(path), "/proc/%d/fdinfo", getppid());
	EXPECT(!stat(path, &st) && st.st_mode == (S_IFDIR | 0555));
	EXPECT_ERROR(EACCES, open(path, O_RDONLY));
	strcat(path, "/1");
	EXPECT_ERROR(EACCES, stat(path, &st));
}

/* A link of a descriptor has the modes of the file; who may look is another matter. */
static void descriptors_have_modes(void)
{
	close(open("f", O_CREAT | O_RDWR, 0644));
	EXPECT(mode_of_link(O_RDONLY) == (S_IFLNK | 0500));
	EXPECT(mode_of_link(O_WRONLY) == (S_IFLNK | 0300));
	EXPECT(mode_of_link(O_RDWR) == (S_IFLNK | 0700) && mode_of_link(O_PATH) == S_IFLNK);
	await_child(spawn(look_at_parent, NULL));
}

/* An open() that finds no free descriptor has neither made a file nor emptied one. */
static void no_descriptor_no_file(void)
{
	int fd = open("full", O_CREAT | O_RDWR, 0644);
	struct rlimit limit;
	struct stat st;

	EXPECT(fd >= 0 && write(fd, "four", 4) == 4);
	EXPECT(!getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = (rlim_t)fd + 1;
	EXPECT(!setrlimit(RLIMIT_NOFILE, &limit));
	EXPECT_ERROR(EMFILE, open("new", O_CREAT | O_RDWR, 0644));
	EXPECT_ERROR(EMFILE, open("full", O_TRUNC | O_RDWR));
	EXPECT_ERROR(EMFILE, open("none", O_RDONLY));
	EXPECT_ERROR(ENOENT, stat("new", &st));
	EXPECT(!fstat(fd, &st) && st.st_size == 4);
}

/* A text of /proc can be read from its middle, and a read that runs into bad memory ends there. */
static void texts_in_pieces(void)
{
	int fd = open("/proc/version", O_RDONLY);
	char whole[200], piece[200];
	ssize_t length = read(fd, whole, sizeof(whole));
	char *memory =
		mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(length > 20 && memory != MAP_FAILED && !munmap(memory + 4096, 4096));
	EXPECT(read(fd, piece, 1) == 0 && !close(fd));
	fd = open("/proc/version", O_RDONLY);
	EXPECT(pread(fd, piece, 7, 5) == 7 && !memcmp(piece, whole + 5, 7));
	EXPECT(pread(fd, piece, 7, length) == 0);
	EXPECT(read(fd, memory + 4092, 10) == 4 && !memcmp(memory + 4092, whole, 4));
	EXPECT(lseek(fd, 0, SEEK_CUR) == 4);
	EXPECT_ERROR(EFAULT, read(fd, memory + 4096, 10));
	EXPECT(read(fd, piece, sizeof(piece)) == length - 4 &&
	       !memcmp(piece, whole + 4, (size_t)length - 4));
}

/* A position below 0, by whatever way, is refused and changes nothing. */
static void positions_that_are_none(void)
{
	int fd = open("f", O_CREAT | O_RDWR, 0644);

	EXPECT(fd >= 0 && write(fd, "four", 4) == 4 && lseek(fd, 3, SEEK_SET) == 3);
	EXPECT_ERROR(EINVAL, lseek(fd, INT64_MAX, SEEK_CUR));
	EXPECT_ERROR(EINVAL, lseek(fd, INT64_MAX, SEEK_END));
	EXPECT_ERROR(EINVAL, lseek(fd, -4, SEEK_CUR));
	EXPECT_ERROR(EINVAL, lseek(fd, -5, SEEK_END));
	EXPECT_ERROR(ENXIO, lseek(fd, -1, SEEK_DATA));
	EXPECT_ERROR(ENXIO, lseek(fd, -1, SEEK_HOLE));
	EXPECT_ERROR(ENXIO, lseek(fd, 4, SEEK_DATA));
	EXPECT_ERROR(ENXIO, lseek(fd, 4, SEEK_HOLE));
	EXPECT(lseek(fd, 0, SEEK_CUR) == 3 && lseek(fd, -4, SEEK_END) == 0);
}

/* No file has the empty name; a call that is told so takes its descriptor's file. */
static void empty_names(void)
{
	int fd = open(".", O_RDONLY);
	struct stat st;
	char text[8];

	EXPECT_ERROR(ENOENT, open("", O_RDONLY));
	EXPECT_ERROR(ENOENT, openat(fd, "", O_RDONLY));
	EXPECT_ERROR(ENOENT, open("", O_CREAT | O_RDWR, 0644));
	EXPECT_ERROR(ENOENT, stat("", &st));
	EXPECT_ERROR(ENOENT, fstatat(fd, "", &st, 0));
	EXPECT_ERROR(ENOENT, access("", F_OK));
	EXPECT_ERROR(ENOENT, chdir(""));
	EXPECT_ERROR(ENOENT, chmod("", 0755));
	EXPECT_ERROR(ENOENT, truncate("", 0));
	EXPECT_ERROR(ENOENT, readlink("", text, sizeof(text)));
	EXPECT_ERROR(ENOENT, mkdir("", 0755));
	EXPECT_ERROR(ENOENT, rmdir(""));
	EXPECT_ERROR(ENOENT, rename("", "x"));
	EXPECT(!fstatat(fd, "", &st, AT_EMPTY_PATH) && S_ISDIR(st.st_mode));
	EXPECT(!fchownat(fd, "", (uid_t)-1, (gid_t)-1, AT_EMPTY_PATH));
}

/* A name that comes or goes changes the time of its directory. */
static void directories_note_changes(void)
{
	const struct timespec old[2] = { { 1000, 0 }, { 1000, 0 } };
	struct stat st;

	EXPECT(!utimensat(AT_FDCWD, ".", old, 0) && !stat(".", &st) && st.st_mtim.tv_sec == 1000);
	EXPECT(!close(open("f", O_CREAT | O_RDWR, 0644)) && !stat(".", &st));
	EXPECT(st.st_mtim.tv_sec > 1000 && !utimensat(AT_FDCWD, ".", old, 0));
	EXPECT(!unlink("f") && !stat(".", &st) && st.st_mtim.tv_sec > 1000);
}

static void write_nothing(void *unused)
{
	const struct rlimit none = { 0, 10 }, some = { 10, 10 };
	int fd = open("program", O_RDWR);
	struct stat st;

	(void)unused;
	signal(SIGXFSZ, SIG_IGN);
	EXPECT(geteuid() || !setuid(1000));
	EXPECT(fd >= 0 && !setrlimit(RLIMIT_FSIZE, &none));
	EXPECT_ERROR(EFBIG, write(fd, "x", 1));
	EXPECT(!fstat(fd, &st) && st.st_mode == (S_IFREG | S_ISUID | 0755));
	EXPECT(!setrlimit(RLIMIT_FSIZE, &some) && write(fd, "x", 1) == 1);
	EXPECT(!fstat(fd, &st) && st.st_mode == (S_IFREG | 0755));
}

static void grow_to_the_limit(void *unused)
{
	const struct rlimit most = { 5000, 5000 };
	int fd = open("f", O_CREAT | O_RDWR, 0644);
	struct stat st;

	(void)unused;
	signal(SIGXFSZ, SIG_IGN);
	EXPECT(fd >= 0 && !setrlimit(RLIMIT_FSIZE, &most));
	EXPECT_ERROR(EFBIG, fallocate(fd, 0, 0, 5001));
	EXPECT_ERROR(EFBIG, ftruncate(fd, 5001));
	EXPECT(!fstat(fd, &st) && st.st_size == 0);
	EXPECT(!fallocate(fd, 0, 4000, 1000) && !fstat(fd, &st) && st.st_size == 5000);
	EXPECT(!ftruncate(fd, 0) && !ftruncate(fd, 5000));
}

/* A file becomes exactly as large as its limit, by whatever call. */
static void sizes_at_the_limit(void)
{
	await_child(spawn(grow_to_the_limit, NULL));
}

/* A write takes the right of a set-id program away, but only if it writes. */
static void set_id_outlives_no_write(void)
{
	EXPECT(!close(open("program", O_CREAT | O_RDWR, 0644)) && !chmod("program", 04755));
	await_child(spawn(write_nothing, NULL));
}

/* In the only page there is room for a file, or for the text of a long link. */
static void fill_a_mount(void)
{
	char far[301];
	int fd;

	memset(far, 'x', 300);
	far[300] = 0;
	EXPECT(!mount("none", "m", "tmpfs", 0, "nr_blocks=1"));
	EXPECT(!symlink(far, "m/far") && !unlink("m/far"));
	fd = open("m/f", O_CREAT | O_RDWR, 0644);
	EXPECT(fd >= 0 && write(fd, "x", 1) == 1 && !close(fd));
	EXPECT_ERROR(ENOSPC, symlink(far, "m/far"));
	EXPECT(!symlink("near", "m/near") && !umount("m"));
}

/* The number 0 is no limit. */
static void mounts_without_limits(void)
{
	static const char *const options[] = { "size=0", "nr_blocks=0", "nr_inodes=0",
					       "nr_blocks=1,size=0" };
	int fd;

	for (int i = 0; i < 4; i++) {
		EXPECT(!mount("none", "m", "tmpfs", 0, options[i]) && !mkdir("m/d", 0755));
		fd = open("m/f", O_CREAT | O_RDWR, 0644);
		EXPECT(fd >= 0 && !fallocate(fd, 0, 0, 8192) && !close(fd) && !umount("m"));
	}
}

/* Room that was not enough is given back, also to the file whose holes it was for. */
static void no_room_no_change(void)
{
	struct statfs fs;
	struct stat st;
	int fd;

	EXPECT(!mount("none", "m", "tmpfs", 0, "nr_blocks=5"));
	fd = open("m/f", O_CREAT | O_RDWR, 0644);
	EXPECT(fd >= 0 && pwrite(fd, "x", 1, 8192) == 1);
	EXPECT_ERROR(ENOSPC, fallocate(fd, 0, 0, 20481));
	EXPECT(!fstat(fd, &st) && st.st_size == 8193 && st.st_blocks == 8);
	EXPECT(!statfs("m", &fs) && fs.f_bfree == 4);
	EXPECT(!fallocate(fd, 0, 0, 20480) && !fstat(fd, &st) && st.st_blocks == 40);
	EXPECT(!statfs("m", &fs) && !fs.f_bfree && !close(fd) && !umount("m"));
}

static void sizes_of_mounts(void)
{
	static const struct {
		const char *option;
		unsigned long pages; /* 0: refused */
	} sizes[] = { { "nr_blocks=16", 16 },
		      { "nr_blocks=3k", 3 << 10 },
		      { "nr_blocks=1M", 1 << 20 },
		      { "nr_blocks=x", 0 },
		      { "size=4097", 2 },
		      { "nr_blocks=16,size=64k", 16 },
		      { "size=1m,mode=755", 256 },
		      { "size=x", 0 },
		      { "size=x%", 0 },
		      { "nr_inodes=x", 0 } };
	struct statfs fs;
	struct sysinfo info;

	if (mkdir("m", 0755) || mount("none", "m", "tmpfs", 0, NULL))
		return; /* a container that may not mount */
	EXPECT(!umount("m"));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (!sizes[i].pages) {
			EXPECT_ERROR(EINVAL, mount("none", "m", "tmpfs", 0, sizes[i].option));
			continue;
		}
		EXPECT(!mount("none", "m", "tmpfs", 0, sizes[i].option) && !statfs("m", &fs));
		EXPECT(fs.f_blocks == sizes[i].pages && fs.f_bsize == 4096 && !umount("m"));
	}
	EXPECT(!mount("none", "m", "tmpfs", 0, "size=50%") && !statfs("m", &fs) && !sysinfo(&info));
	EXPECT(fs.f_blocks == (info.totalram / 4096 + 1) / 2 && !umount("m"));
	fill_a_mount();
	no_room_no_change();
	mounts_without_limits();
}

/* Root makes files where nobody may, and runs what somebody may run, but nothing else. */
static void rights_of_root(void)
{
	if (geteuid())
		return;
	EXPECT(!mkdir("closed", 0) && !close(open("closed/f", O_CREAT | O_RDWR, 0)));
	EXPECT(!chown("closed/f", 1000, 1000));
	EXPECT_ERROR(EACCES, access("closed/f", X_OK));
	EXPECT(!chmod("closed/f", 0100) && !access("closed/f", X_OK));
}

/* A write to a text of the kernel moves the position by its length, if it is taken. */
static void positions_after_writes(void)
{
	int fd = open("/proc/sys/fs/file-max", O_RDWR);
	char text[32];
	ssize_t n;

	if (fd < 0)
		return; /* others than root, and containers */
	n = read(fd, text, sizeof(text));
	EXPECT(n > 0 && lseek(fd, 0, SEEK_SET) == 0 && write(fd, text, (size_t)n) == n);
	EXPECT(lseek(fd, 0, SEEK_CUR) == n && lseek(fd, 0, SEEK_SET) == 0);
	EXPECT_ERROR(EINVAL, write(fd, "x", 1));
	EXPECT(lseek(fd, 0, SEEK_CUR) == 0 && !close(fd));
}

/* Root may read such a file, and not open it to write where there is nothing to write to. */
static void files_of_the_kernel(void)
{
	const char *online = "/sys/devices/system/cpu/online";
	struct stat st;

	EXPECT(!stat("/proc/sys/fs/file-nr", &st) && st.st_mode == (S_IFREG | 0444));
	EXPECT(!stat(online, &st) && st.st_mode == (S_IFREG | 0444));
	EXPECT(!close(open(online, O_RDONLY)) && open(online, O_WRONLY) == -1);
	EXPECT(errno == EACCES || errno == EROFS);
	positions_after_writes();
}

/* The directory of a CPU that leaves is hidden until it comes back. On this kernel only. */
static void cpus_that_leave(void)
{
	const char *topology = "/sys/devices/system/cpu/cpu1/topology";
	int fd = open("/sys/devices/system/cpu/cpu1/online", O_WRONLY);

	if (fd < 0 || access("/proc/fairground", F_OK))
		return;
	EXPECT(!access(topology, F_OK) && write(fd, "0", 1) == 1);
	EXPECT_ERROR(ENOENT, access(topology, F_OK));
	EXPECT(write(fd, "1", 1) == 1 && !access(topology, F_OK));
}

/* Each open() gives the lowest number that is free, also beyond the first word of a table. */
static void many_descriptors(void)
{
	int first = open("f", O_CREAT | O_RDWR, 0644);

	EXPECT(first >= 0 && !syscall(SYS_close_range, first + 1, ~0u, 0));
	for (int fd = first + 1; fd < 200; fd++)
		EXPECT(open("f", O_RDONLY) == fd);
	EXPECT(!close(127) && !close(63) && open("f", O_RDONLY) == 63);
	EXPECT(open("f", O_RDONLY) == 127 && open("f", O_RDONLY) == 200);
}

const struct check edge_tests[] = {
	{ "arguments-come-first", arguments_come_first },
	{ "directories-of-the-ended", directories_of_the_ended },
	{ "descriptors-are-told", descriptors_are_told },
	{ "descriptors-have-modes", descriptors_have_modes },
	{ "positions-that-are-none", positions_that_are_none },
	{ "empty-names", empty_names },
	{ "sizes-at-the-limit", sizes_at_the_limit },
	{ "directories-note-changes", directories_note_changes },
	{ "set-id-outlives-no-write", set_id_outlives_no_write },
	{ "sizes-of-mounts", sizes_of_mounts },
	{ "files-of-the-kernel", files_of_the_kernel },
	{ "rights-of-root", rights_of_root },
	{ "cpus-that-leave", cpus_that_leave },
	{ "many-descriptors", many_descriptors },
	{ "texts-in-pieces", texts_in_pieces },
	{ "no-descriptor-no-file", no_descriptor_no_file },
	{ "names-at-the-edge", names_at_the_edge },
	{ "times-before-1970", times_before_1970 },
	{ "statx-is-stat", statx_is_stat },
	{ NULL, NULL },
};
