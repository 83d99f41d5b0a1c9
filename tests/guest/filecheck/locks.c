/* SPDX-License-Identifier: GPL-2.0-only */
/* Record locks of fcntl, of processes and of open files; extended attributes; fallocate. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "filecheck/filecheck.h"

static int lock(int fd, int cmd, int type, long start, long len)
{
	struct flock l = { .l_type = (short)type, .l_start = start, .l_len = len };

	return fcntl(fd, cmd, &l);
}

/* F_GETLK as a child asks it about [start, start + len). */
static struct flock seen_by_child(int fd, int type, long start, long len)
{
	struct flock *l =
		mmap(NULL, sizeof(*l), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	EXPECT(l != MAP_FAILED);
	*l = (struct flock){ .l_type = (short)type, .l_start = start, .l_len = len };
	pid = fork();
	EXPECT(pid >= 0);
	if (!pid)
		_exit(fcntl(fd, F_GETLK, l) ? 1 : 0);
	await_child(pid);
	return *l;
}

static int new_file(void)
{
	int fd = open("f", O_RDWR | O_CREAT, 0644);

	EXPECT(fd >= 0);
	return fd;
}

static void ranges_are_cut_and_joined(void)
{
	int fd = new_file();
	struct flock l;

	EXPECT(!lock(fd, F_SETLK, F_WRLCK, 0, 100));
	EXPECT(!lock(fd, F_SETLK, F_UNLCK, 40, 20));
	l = seen_by_child(fd, F_RDLCK, 40, 20);
	EXPECT(l.l_type == F_UNLCK);
	l = seen_by_child(fd, F_RDLCK, 30, 0);
	EXPECT(l.l_type == F_WRLCK && l.l_start == 0 && l.l_len == 40 && l.l_pid == getpid());
	l = seen_by_child(fd, F_RDLCK, 40, 0);
	EXPECT(l.l_type == F_WRLCK && l.l_start == 60 && l.l_len == 40);
	EXPECT(!lock(fd, F_SETLK, F_WRLCK, 40, 20));
	l = seen_by_child(fd, F_RDLCK, 70, 1);
	EXPECT(l.l_start == 0 && l.l_len == 100);
	EXPECT(!lock(fd, F_SETLK, F_RDLCK, 50, 0));
	l = seen_by_child(fd, F_RDLCK, 50, 10);
	EXPECT(l.l_type == F_UNLCK);
	l = seen_by_child(fd, F_WRLCK, 50, 10);
	EXPECT(l.l_type == F_RDLCK && l.l_start == 50 && l.l_len == 0);
}

/* From whatever a question counts, the answer counts from the file's begin. */
static void answers_count_from_the_begin(void)
{
	struct flock l = { .l_type = F_RDLCK, .l_whence = SEEK_END, .l_start = 6, .l_len = 20 };
	int fd = new_file(), other = open("f", O_RDWR);

	EXPECT(write(fd, "four", 4) == 4 && !lock(fd, F_OFD_SETLK, F_WRLCK, 15, 5));
	EXPECT(!fcntl(other, F_OFD_GETLK, &l) && l.l_type == F_WRLCK);
	EXPECT(l.l_whence == SEEK_SET && l.l_start == 15 && l.l_len == 5);
	l = (struct flock){ .l_type = F_RDLCK, .l_whence = SEEK_CUR, .l_start = 17 };
	EXPECT(!fcntl(other, F_OFD_GETLK, &l) && l.l_type == F_WRLCK);
	EXPECT(l.l_whence == SEEK_SET && l.l_start == 15 && l.l_len == 5);
}

struct asked {
	int fd;
	pid_t first;
};

/* With a lock of its own, among those of the first process, it asks as a third one would. */
static void lock_between(void *arg)
{
	struct asked *a = arg;
	struct flock l;

	EXPECT(!lock(a->fd, F_SETLK, F_WRLCK, 20, 5));
	l = seen_by_child(a->fd, F_RDLCK, 10, 0);
	EXPECT(l.l_pid == a->first && l.l_start == 50);
	l = seen_by_child(a->fd, F_RDLCK, 12, 30);
	EXPECT(l.l_pid == getpid() && l.l_start == 20 && l.l_len == 5);
}

/* Of an owner's locks the first by position is named, not the oldest; of owners, the oldest. */
static void first_conflict_is_named(void)
{
	struct asked a = { new_file(), getpid() };

	for (int start = 100; start >= 0; start -= 50)
		EXPECT(!lock(a.fd, F_SETLK, F_WRLCK, start, 10));
	EXPECT(seen_by_child(a.fd, F_RDLCK, 0, 0).l_start == 0);
	EXPECT(seen_by_child(a.fd, F_RDLCK, 10, 0).l_start == 50);
	EXPECT(seen_by_child(a.fd, F_RDLCK, 60, 0).l_start == 100);
	await_child(spawn(lock_between, &a));
	EXPECT(!lock(a.fd, F_SETLK, F_UNLCK, 0, 55) && !lock(a.fd, F_SETLK, F_WRLCK, 70, 1));
	EXPECT(seen_by_child(a.fd, F_RDLCK, 0, 0).l_start == 55);
	EXPECT(seen_by_child(a.fd, F_RDLCK, 61, 0).l_start == 70);
}

static void any_close_drops_a_process_s_locks(void)
{
	int fd = new_file(), other = open("f", O_RDONLY);

	EXPECT(!lock(fd, F_SETLK, F_WRLCK, 0, 0));
	EXPECT(seen_by_child(fd, F_RDLCK, 0, 0).l_type == F_WRLCK);
	EXPECT(!close(other));
	EXPECT(seen_by_child(fd, F_RDLCK, 0, 0).l_type == F_UNLCK);
}

static void open_files_own_locks(void)
{
	int fd = new_file(), other = open("f", O_RDWR), copy = dup(fd);

	EXPECT(!lock(fd, F_OFD_SETLK, F_WRLCK, 0, 10));
	EXPECT(seen_by_child(fd, F_WRLCK, 0, 0).l_pid == -1);
	EXPECT_ERROR(EAGAIN, lock(other, F_OFD_SETLK, F_RDLCK, 5, 1));
	EXPECT_ERROR(EAGAIN, lock(other, F_SETLK, F_RDLCK, 5, 1));
	EXPECT(!lock(copy, F_OFD_SETLK, F_WRLCK, 5, 1));
	EXPECT(!close(fd));
	EXPECT_ERROR(EAGAIN, lock(other, F_OFD_SETLK, F_RDLCK, 5, 1));
	EXPECT(!close(copy));
	EXPECT(!lock(other, F_OFD_SETLK, F_RDLCK, 5, 1));
}

static void wrong_locks_are_refused(void)
{
	int fd = new_file(), reader = open("f", O_RDONLY);

	EXPECT_ERROR(EBADF, lock(reader, F_SETLK, F_WRLCK, 0, 0));
	EXPECT_ERROR(EINVAL, lock(fd, F_SETLK, 3, 0, 0));
	EXPECT_ERROR(EINVAL, lock(fd, F_SETLK, F_RDLCK, -1, 0));
	EXPECT(!lock(fd, F_SETLK, F_RDLCK, 10, -5));
	EXPECT(seen_by_child(fd, F_WRLCK, 0, 0).l_start == 5);
}

/* A lock takes the right that it is about; an unlock takes none. */
static void locks_take_rights(void)
{
	static const int modes[] = { O_RDONLY, O_WRONLY, O_RDWR };

	close(new_file());
	for (int i = 0; i < 3; i++) {
		int fd = open("f", modes[i]);

		EXPECT(lock(fd, F_SETLK, F_RDLCK, 0, 1) == (modes[i] == O_WRONLY ? -1 : 0));
		EXPECT(lock(fd, F_SETLK, F_WRLCK, 0, 1) == (modes[i] == O_RDONLY ? -1 : 0));
		EXPECT(!lock(fd, F_SETLK, F_UNLCK, 0, 0) && !close(fd));
	}
}

static void wait_for_lock(void *fd)
{
	EXPECT(!lock(*(int *)fd, F_SETLKW, F_WRLCK, 0, 1));
}

static void waiter_gets_the_lock(void)
{
	int fd = new_file();
	pid_t pid;

	EXPECT(!lock(fd, F_SETLK, F_WRLCK, 0, 1));
	pid = spawn(wait_for_lock, &fd);
	await_sleep(pid, pid);
	EXPECT(!lock(fd, F_SETLK, F_UNLCK, 0, 1));
	await_child(pid);
}

static void take_second_then_first(void *fd)
{
	EXPECT(!lock(*(int *)fd, F_SETLK, F_WRLCK, 1, 1));
	EXPECT(!lock(*(int *)fd, F_SETLKW, F_WRLCK, 0, 1));
}

static void deadlock_is_found(void)
{
	int fd = new_file();
	pid_t pid;

	EXPECT(!lock(fd, F_SETLK, F_WRLCK, 0, 1));
	pid = spawn(take_second_then_first, &fd);
	await_sleep(pid, pid);
	EXPECT_ERROR(EDEADLK, lock(fd, F_SETLKW, F_WRLCK, 1, 1));
	EXPECT(!lock(fd, F_SETLK, F_UNLCK, 0, 1));
	await_child(pid);
}

static void room_is_made(void)
{
	int fd = new_file(), pipe_ends[2];
	struct stat st;

	EXPECT(!fallocate(fd, 0, 10000, 5000));
	EXPECT(!fstat(fd, &st) && st.st_size == 15000 && st.st_blocks >= 16);
	EXPECT(!fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 40000));
	EXPECT(!fstat(fd, &st) && st.st_size == 15000 && st.st_blocks >= 80);
	EXPECT_ERROR(EINVAL, fallocate(fd, 0, 0, 0));
	EXPECT_ERROR(EINVAL, fallocate(fd, 0, -1, 5));
	EXPECT(!posix_fallocate(fd, 0, 100000));
	EXPECT(!fstat(fd, &st) && st.st_size == 100000);
	EXPECT(!pipe(pipe_ends));
	EXPECT_ERROR(ESPIPE, fallocate(pipe_ends[1], 0, 0, 1));
}

static void running_programs_are_not_written(void)
{
	char self[256];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	EXPECT(len > 0);
	self[len] = 0;
	EXPECT_ERROR(ETXTBSY, open(self, O_WRONLY));
	EXPECT_ERROR(ETXTBSY, open(self, O_RDWR | O_TRUNC));
	EXPECT_ERROR(ETXTBSY, truncate(self, 0));
}

static void open_for_writing_does_not_run(void)
{
	char name[] = "p", *argv[] = { name, NULL }, *envp[] = { NULL };
	int fd = open("p", O_WRONLY | O_CREAT, 0755);

	EXPECT(fd >= 0 && write(fd, "#!/bin/true\n", 12) == 12);
	EXPECT_ERROR(ETXTBSY, execve("p", argv, envp));
}

static void read_only_mounts(void)
{
	int fd;

	if (mkdir("m", 0755) || mount("none", "m", "tmpfs", 0, NULL))
		return; /* a container that may not mount */
	EXPECT((fd = open("m/f", O_CREAT | O_RDWR, 0644)) >= 0);
	EXPECT_ERROR(EBUSY, mount("none", "m", "tmpfs", MS_REMOUNT | MS_RDONLY, NULL));
	EXPECT(!close(fd));
	EXPECT(!mount("none", "m", "tmpfs", MS_REMOUNT | MS_RDONLY, NULL));
	EXPECT_ERROR(EROFS, open("m/g", O_CREAT | O_RDWR, 0644));
	EXPECT_ERROR(EROFS, open("m/f", O_RDWR));
	EXPECT((fd = open("m/f", O_RDONLY)) >= 0);
	EXPECT_ERROR(EROFS, unlink("m/f"));
	EXPECT_ERROR(EROFS, mkdir("m/d", 0755));
	EXPECT_ERROR(EROFS, rename("m/f", "m/h"));
	EXPECT_ERROR(EROFS, chmod("m/f", 0600));
	EXPECT_ERROR(EROFS, truncate("m/f", 0));
	EXPECT_ERROR(EROFS, access("m/f", W_OK));
	EXPECT_ERROR(EEXIST, open("m/f", O_CREAT | O_EXCL | O_RDWR, 0644));
	EXPECT(!close(fd) && !umount("m"));
	if (!mount("none", "m", "proc", MS_RDONLY, NULL)) {
		EXPECT_ERROR(EROFS, open("m/sys/fs/file-max", O_RDWR));
		EXPECT(!close(open("m/sys/fs/file-max", O_RDONLY)) && !umount("m"));
	}
}

static void no_attribute_is_an_answer(void)
{
	char value[8];

	new_file();
	EXPECT(getxattr("f", "user.none", value, sizeof(value)) == -1 &&
	       (errno == EOPNOTSUPP || errno == ENODATA));
}

static void ranges_are_closed(void)
{
	int fd = new_file(), copy = dup(fd), high = fcntl(fd, F_DUPFD, 900);

	EXPECT(high == 900);
	EXPECT(!syscall(SYS_close_range, 800, ~0u, 4) && fcntl(high, F_GETFD) == FD_CLOEXEC);
	EXPECT(!fcntl(fd, F_GETFD));
	EXPECT(!syscall(SYS_close_range, fd, 899, 0));
	EXPECT_ERROR(EBADF, fcntl(copy, F_GETFD));
	EXPECT(fcntl(high, F_GETFD) == FD_CLOEXEC);
	EXPECT_ERROR(EINVAL, syscall(SYS_close_range, 9, 8, 0));
	EXPECT_ERROR(EINVAL, syscall(SYS_close_range, 8, 9, 99));
}

const struct check lock_tests[] = {
	{ "ranges-are-closed", ranges_are_closed },
	{ "ranges-are-cut-and-joined", ranges_are_cut_and_joined },
	{ "answers-count-from-the-begin", answers_count_from_the_begin },
	{ "first-conflict-is-named", first_conflict_is_named },
	{ "any-close-drops-locks", any_close_drops_a_process_s_locks },
	{ "open-files-own-locks", open_files_own_locks },
	{ "wrong-locks-are-refused", wrong_locks_are_refused },
	{ "locks-take-rights", locks_take_rights },
	{ "waiter-gets-the-lock", waiter_gets_the_lock },
	{ "deadlock-is-found", deadlock_is_found },
	{ "room-is-made", room_is_made },
	{ "running-programs", running_programs_are_not_written },
	{ "open-for-writing-does-not-run", open_for_writing_does_not_run },
	{ "read-only-mounts", read_only_mounts },
	{ "no-attribute-is-an-answer", no_attribute_is_an_answer },
	{ NULL, NULL },
};
