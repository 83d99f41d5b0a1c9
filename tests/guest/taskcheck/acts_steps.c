/* SPDX-License-Identifier: GPL-2.0-only */
/* Acts that an ordinary user is refused: those that take more than one call. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "taskcheck/acts.h"
#include "taskcheck/taskcheck.h"

enum { IDLE = 5, FORKED_NORMAL = 0x40000000 }; /* SCHED_IDLE, SCHED_RESET_ON_FORK */

/* --- who one is -------------------------------------------------------------------------- */

/* setfsuid() and setfsgid() have no errors: they return who one was. */
static long fs_user(void)
{
	setfsuid(0);
	errno = EPERM;
	return setfsuid((uid_t)-1) == USER ? -1 : 0;
}

static long fs_group(void)
{
	setfsgid(0);
	errno = EPERM;
	return setfsgid((gid_t)-1) == USER ? -1 : 0;
}

static long set_id_for_group(void)
{
	struct stat st;
	int fd = open("sticky/own", O_CREAT | O_RDWR, 0700);

	EXPECT(fd >= 0 && !fchmod(fd, 06755) && !fstat(fd, &st) && (st.st_mode & 07777) == 06755);
	return fchown(fd, (uid_t)-1, 0);
}

static long give_away(void)
{
	int fd = open("sticky/own", O_CREAT | O_RDWR, 0700);

	EXPECT(fd >= 0);
	return fchown(fd, 0, (gid_t)-1);
}

/* --- how one is scheduled ---------------------------------------------------------------- */

static long back_from_idle(void)
{
	const struct sched_param none = { 0 };

	EXPECT(!syscall(SYS_sched_setscheduler, 0, IDLE, &none));
	return syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &none);
}

static long clear_reset_on_fork(void)
{
	const struct sched_param none = { 0 };

	EXPECT(!syscall(SYS_sched_setscheduler, 0, SCHED_OTHER | FORKED_NORMAL, &none));
	return syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &none);
}

static long back_from_nice(void)
{
	EXPECT(!setpriority(PRIO_PROCESS, 0, 10));
	return setpriority(PRIO_PROCESS, 0, 9);
}

static long more_score(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY);

	EXPECT(fd >= 0 || errno == EACCES);
	return fd < 0 ? -1 : write(fd, "-1", 2);
}

static long slack_of_victim(void)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/timerslack_ns", victim);
	EXPECT((fd = open(path, O_WRONLY)) >= 0);
	return write(fd, "1", 1) < 0 ? -1 : 0;
}

static long lead_twice(void)
{
	EXPECT(!setpgid(0, 0));
	return setsid();
}

/* --- limits ------------------------------------------------------------------------------ */

static long limit_up(void)
{
	struct rlimit lim = { 10, 20 };

	EXPECT(!setrlimit(RLIMIT_NOFILE, &lim));
	lim.rlim_max++;
	return setrlimit(RLIMIT_NOFILE, &lim);
}

static void *pages_with_limit(rlim_t limit)
{
	char *p = mmap(NULL, 64 << 12, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(p != MAP_FAILED && !setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){ limit, limit }));
	return p;
}

static long lock_none(void)
{
	return mlock(pages_with_limit(0), 4096);
}

static long lock_too_much(void)
{
	return mlock(pages_with_limit(32 << 12), 33 << 12);
}

static long lock_all(void)
{
	pages_with_limit(4096);
	return mlockall(MCL_CURRENT);
}

static long map_locked(void)
{
	pages_with_limit(4096);
	return mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0) ==
			       MAP_FAILED
		       ? -1
		       : 0;
}

static long pipe_room(void)
{
	int fds[2];

	EXPECT(!pipe(fds));
	return fcntl(fds[1], F_SETPIPE_SZ, 2 << 20);
}

static long too_many_processes(void)
{
	pid_t pid;

	EXPECT(!setrlimit(RLIMIT_NPROC, &(struct rlimit){ 1, 1 }));
	if (!(pid = fork()))
		_exit(0);
	return pid < 0 ? -1 : 0;
}

/* --- descriptors ------------------------------------------------------------------------- */

static int readable(void)
{
	int fd = open("readable", O_RDONLY);

	EXPECT(fd >= 0);
	return fd;
}

static long open_again_to_write(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", readable());
	return open(path, O_WRONLY);
}

static long write_read_only(void)
{
	return write(readable(), "x", 1);
}

static long cut_read_only(void)
{
	return ftruncate(readable(), 0);
}

static long map_to_write(void)
{
	return mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, readable(), 0) == MAP_FAILED ? -1 : 0;
}

static long protect_to_write(void)
{
	void *p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, readable(), 0);

	EXPECT(p != MAP_FAILED);
	return mprotect(p, 4096, PROT_READ | PROT_WRITE);
}

static long mode_by_fd(void)
{
	return fchmod(readable(), 0777);
}

static long owner_by_fd(void)
{
	return fchown(readable(), USER, (gid_t)-1);
}

static long touch_by_fd(void)
{
	return futimens(readable(), NULL);
}

static long date_by_fd(void)
{
	return futimens(readable(), (struct timespec[2]){ { 1, 0 }, { 1, 0 } });
}

static long allocate_read_only(void)
{
	return fallocate(readable(), 0, 0, 1);
}

/* --- the kernel -------------------------------------------------------------------------- */

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

const struct step_act step_acts[] = {
	{ "setfsuid", EPERM, fs_user },
	{ "setfsgid", EPERM, fs_group },
	{ "chown of one's own to root", EPERM, give_away },
	{ "chgrp of a set-id program", EPERM, set_id_for_group },
	{ "back from SCHED_IDLE", EPERM, back_from_idle },
	{ "SCHED_RESET_ON_FORK cleared", EPERM, clear_reset_on_fork },
	{ "back from nice", EACCES, back_from_nice },
	{ "oom_score_adj below 0", EACCES, more_score },
	{ "timerslack_ns of another", EPERM, slack_of_victim },
	{ "setsid of a leader", EPERM, lead_twice },
	{ "a hard limit up", EPERM, limit_up },
	{ "mlock with limit 0", EPERM, lock_none },
	{ "mlock of too much", ENOMEM, lock_too_much },
	{ "mlockall of too much", ENOMEM, lock_all },
	{ "MAP_LOCKED of too much", EAGAIN, map_locked },
	{ "F_SETPIPE_SZ", EPERM, pipe_room },
	{ "fork with RLIMIT_NPROC", EAGAIN, too_many_processes },
	{ "open again to write", EACCES, open_again_to_write },
	{ "write by a reading descriptor", EBADF, write_read_only },
	{ "ftruncate by a reading descriptor", EINVAL, cut_read_only },
	{ "fallocate by a reading descriptor", EBADF, allocate_read_only },
	{ "mmap by a reading descriptor", EACCES, map_to_write },
	{ "mprotect by a reading descriptor", EACCES, protect_to_write },
	{ "fchmod", EPERM, mode_by_fd },
	{ "fchown", EPERM, owner_by_fd },
	{ "futimens", EACCES, touch_by_fd },
	{ "futimens to a date", EPERM, date_by_fd },
	{ "kallsyms", EACCES, read_addresses },
	{ 0 },
};
