/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bad pointers: every pointer argument of the system calls that programs use, with addresses that
 * are not mapped, not the process's, not canonical, not accessible, or that run off the end of a
 * page. All other arguments are good, so that the kernel gets as far as the pointer. Each must
 * answer EFAULT.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "crash/crash.h"

/* Placeholders in an argument list for things that exist only at run time. */
enum {
	ZERO = 20, /* descriptors that open_files() provides: /dev/zero */
	READER,	   /* a pipe's ends */
	WRITER,
	SOCKET, /* a connected Unix socket */
	DIRECTORY,
	FILE_FD, /* this program */
	SCRATCH, /* an empty file, open for writing */
};

#define BAD  INT64_MIN /* the pointer under test */
#define P(x) ((int64_t)(uintptr_t)(x))

enum {
	IN = 1,	     /* the kernel reads there */
	OUT = 2,     /* the kernel writes there: a read-only page is bad, too */
	PARTIAL = 4, /* may do part of the work before it meets the end of the page */
};

struct pointer_call {
	long nr;
	unsigned flags;
	int64_t args[6];
};

static _Alignas(4096) char buffer[4096];
static const struct timespec zero_time;

/* --- the environment of a test ------------------------------------- */

static void put_fd(int fd, int wanted)
{
	if (fd < 0 || dup2(fd, wanted) < 0)
		perror("crash: descriptor");
	close(fd);
}

static void open_files(void)
{
	int fd[2], pair[2];

	if (pipe(fd) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		perror("crash: pipe");
	put_fd(open("/dev/zero", O_RDONLY), ZERO);
	put_fd(fd[0], READER);
	put_fd(fd[1], WRITER);
	put_fd(pair[0], SOCKET);
	put_fd(open("/", O_RDONLY | O_DIRECTORY), DIRECTORY);
	put_fd(open("/proc/self/exe", O_RDONLY), FILE_FD);
	put_fd(open("/tmp/crash-scratch", O_CREAT | O_RDWR, 0600), SCRATCH);
	unlink("/tmp/crash-scratch");
}

/* A page with this protection, full of 'x', and nothing after it. */
static char *map_page(int protection)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(page, 'x', 4096);
	munmap(page + 4096, 4096);
	mprotect(page, 4096, protection);
	return page;
}

/* errno of the call with the pointer under test replaced by @address. */
static int call_with(const struct pointer_call *call, uintptr_t address)
{
	int64_t a[6];
	long result;
	int i;

	for (i = 0; i < 6; i++)
		a[i] = call->args[i] == BAD ? (int64_t)address : call->args[i];
	result = syscall(call->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	return result < 0 ? errno : 255; /* success is wrong, too, and must not look like 0 */
}

int check_pointer(const struct pointer_call *call)
{
	const uintptr_t bad[] = {
		1,
		UNMAPPED,
		KERNEL_ADDRESS,
		NO_ADDRESS,
		UINTPTR_MAX,
		USER_END,
		P(map_page(PROT_NONE)),
		P(map_page(PROT_READ)),			    /* OUT only */
		P(map_page(PROT_READ | PROT_WRITE)) + 4095, /* not PARTIAL */
	};
	const unsigned nr_bad = sizeof(bad) / sizeof(bad[0]);
	unsigned i;
	int error;

	open_files();
	for (i = 0; i < nr_bad; i++) {
		if ((i == nr_bad - 2 && !(call->flags & OUT)) ||
		    (i == nr_bad - 1 && call->flags & PARTIAL))
			continue;
		error = call_with(call, bad[i]);
		if (error != EFAULT) {
			printf("address %#lx: ", bad[i]);
			fflush(stdout);
			return error;
		}
	}
	return EFAULT;
}

/* --- the calls ----------------------------------------------------- */

/* clang-format off */
#define TEST(title, flags, nr, ...) {                                         \
	.name = title, .expected = ENDS(EFAULT),                              \
	.what = #nr "(" #__VA_ARGS__ ")",                                     \
	.call = &(const struct pointer_call){ SYS_##nr, flags, { __VA_ARGS__ } }, \
}
/* clang-format on */

#define HERE  AT_FDCWD
#define ROOT  P("/")
#define NEW   P("/tmp/crash-new")
#define BUF   P(buffer)
#define ZEROS P(&zero_time)

const struct crash_test pointer_tests[] = {
	TEST("ptr-read", OUT | PARTIAL, read, ZERO, BAD, 16),
	TEST("ptr-write", IN | PARTIAL, write, WRITER, BAD, 16),
	TEST("ptr-pread64", OUT | PARTIAL, pread64, FILE_FD, BAD, 16, 0),
	TEST("ptr-readv", IN, readv, ZERO, BAD, 1),
	TEST("ptr-writev", IN, writev, WRITER, BAD, 1),
	TEST("ptr-open", IN, open, BAD, 0),
	TEST("ptr-openat", IN, openat, HERE, BAD, 0),
	TEST("ptr-stat-path", IN, stat, BAD, BUF),
	TEST("ptr-stat", OUT, stat, ROOT, BAD),
	TEST("ptr-lstat-path", IN, lstat, BAD, BUF),
	TEST("ptr-lstat", OUT, lstat, ROOT, BAD),
	TEST("ptr-fstat", OUT, fstat, ZERO, BAD),
	TEST("ptr-fstatat-path", IN, newfstatat, HERE, BAD, BUF, 0),
	TEST("ptr-fstatat", OUT, newfstatat, HERE, ROOT, BAD, 0),
	TEST("ptr-statfs-path", IN, statfs, BAD, BUF),
	TEST("ptr-statfs", OUT, statfs, ROOT, BAD),
	TEST("ptr-poll", OUT, poll, BAD, 1, 0),
	TEST("ptr-fionread", OUT, ioctl, READER, 0x541B, BAD),
	TEST("ptr-access", IN, access, BAD, 0),
	TEST("ptr-pipe", OUT, pipe, BAD),
	TEST("ptr-pipe2", OUT, pipe2, BAD, 0),
	TEST("ptr-socketpair", OUT, socketpair, AF_UNIX, SOCK_STREAM, 0, BAD),
	TEST("ptr-execve-path", IN, execve, BAD, 0, 0),
	TEST("ptr-execve-argv", IN, execve, P("/proc/self/exe"), BAD, 0),
	TEST("ptr-execve-envp", IN, execve, P("/proc/self/exe"), 0, BAD),
	TEST("ptr-uname", OUT, uname, BAD),
	TEST("ptr-getcwd", OUT, getcwd, BAD, 4096),
	TEST("ptr-chdir", IN, chdir, BAD),
	TEST("ptr-rename-old", IN, rename, BAD, NEW),
	TEST("ptr-rename-new", IN, rename, NEW, BAD),
	TEST("ptr-mkdir", IN, mkdir, BAD, 0755),
	TEST("ptr-rmdir", IN, rmdir, BAD),
	TEST("ptr-link-old", IN, link, BAD, NEW),
	TEST("ptr-link-new", IN, link, P("/proc/self/exe"), BAD),
	TEST("ptr-unlink", IN, unlink, BAD),
	TEST("ptr-symlink-to", IN, symlink, BAD, NEW),
	TEST("ptr-symlink-at", IN, symlink, P("x"), BAD),
	TEST("ptr-readlink-path", IN, readlink, BAD, BUF, 64),
	TEST("ptr-readlink", OUT, readlink, P("/proc/self/exe"), BAD, 64),
	TEST("ptr-chmod", IN, chmod, BAD, 0644),
	TEST("ptr-mknod", IN, mknod, BAD, 0010644, 0),
	TEST("ptr-umount2", IN, umount2, BAD, 0),
	TEST("ptr-getdents64", OUT, getdents64, DIRECTORY, BAD, 4096),
	TEST("ptr-utimensat-path", IN, utimensat, HERE, BAD, 0, 0),
	TEST("ptr-utimensat", IN, utimensat, HERE, P("/tmp"), BAD, 0),
	TEST("ptr-sigaction", IN, rt_sigaction, SIGUSR1, BAD, 0, 8),
	TEST("ptr-sigaction-old", OUT, rt_sigaction, SIGUSR1, 0, BAD, 8),
	TEST("ptr-sigprocmask", IN, rt_sigprocmask, SIG_BLOCK, BAD, 0, 8),
	TEST("ptr-sigprocmask-old", OUT, rt_sigprocmask, SIG_BLOCK, 0, BAD, 8),
	TEST("ptr-sigtimedwait", IN, rt_sigtimedwait, BAD, 0, 0, 8),
	TEST("ptr-sigsuspend", IN, rt_sigsuspend, BAD, 8),
	TEST("ptr-sigaltstack", IN, sigaltstack, BAD, 0),
	TEST("ptr-sigaltstack-old", OUT, sigaltstack, 0, BAD),
	TEST("ptr-nanosleep", IN, nanosleep, BAD, 0),
	TEST("ptr-clock_nanosleep", IN, clock_nanosleep, 1, 0, BAD, 0),
	TEST("ptr-clock_gettime", OUT, clock_gettime, 1, BAD),
	TEST("ptr-clock_getres", OUT, clock_getres, 1, BAD),
	TEST("ptr-gettimeofday", OUT, gettimeofday, BAD, 0),
	TEST("ptr-time", OUT, time, BAD),
	TEST("ptr-setitimer", IN, setitimer, 0, BAD, 0),
	TEST("ptr-sysinfo", OUT, sysinfo, BAD),
	TEST("ptr-prlimit-new", IN, prlimit64, 0, 0, BAD, 0),
	TEST("ptr-prlimit-old", OUT, prlimit64, 0, 0, 0, BAD),
	TEST("ptr-set_name", IN, prctl, PR_SET_NAME, BAD),
	TEST("ptr-get_name", OUT, prctl, PR_GET_NAME, BAD),
	TEST("ptr-get_fs", OUT, arch_prctl, 0x1003, BAD),
	TEST("ptr-getrandom", OUT | PARTIAL, getrandom, BAD, 16, 0),
	TEST("ptr-getcpu", OUT, getcpu, BAD, 0, 0),
	TEST("ptr-getparam", OUT, sched_getparam, 0, BAD),
	TEST("ptr-setparam", IN, sched_setparam, 0, BAD),
	TEST("ptr-setscheduler", IN, sched_setscheduler, 0, 0, BAD),
	TEST("ptr-setaffinity", IN, sched_setaffinity, 0, 8, BAD),
	TEST("ptr-getaffinity", OUT, sched_getaffinity, 0, 1024, BAD),
	TEST("ptr-rr_interval", OUT, sched_rr_get_interval, 0, BAD),
	TEST("ptr-pwrite64", IN | PARTIAL, pwrite64, SCRATCH, BAD, 16, 0),
	TEST("ptr-preadv", IN, preadv, FILE_FD, BAD, 1, 0, 0),
	TEST("ptr-creat", IN, creat, BAD, 0644),
	TEST("ptr-fstatfs", OUT, fstatfs, DIRECTORY, BAD),
	TEST("ptr-statx-path", IN, statx, HERE, BAD, 0, 0x7ff, BUF),
	TEST("ptr-statx", OUT, statx, HERE, ROOT, 0, 0x7ff, BAD),
	TEST("ptr-ppoll", OUT, ppoll, BAD, 1, ZEROS, 0, 8),
	TEST("ptr-ppoll-time", IN, ppoll, 0, 0, BAD, 0, 8),
	TEST("ptr-ppoll-mask", IN, ppoll, 0, 0, ZEROS, BAD, 8),
	TEST("ptr-select", OUT, select, 1, BAD, 0, 0, ZEROS),
	TEST("ptr-select-time", IN, select, 0, 0, 0, 0, BAD),
	TEST("ptr-pselect6", OUT, pselect6, 1, BAD, 0, 0, ZEROS, 0),
	TEST("ptr-pselect6-mask", IN, pselect6, 0, 0, 0, 0, ZEROS, BAD),
	TEST("ptr-faccessat", IN, faccessat, HERE, BAD, 0),
	TEST("ptr-faccessat2", IN, faccessat2, HERE, BAD, 0, 0),
	TEST("ptr-chown", IN, chown, BAD, 0, 0),
	TEST("ptr-lchown", IN, lchown, BAD, 0, 0),
	TEST("ptr-fchownat", IN, fchownat, HERE, BAD, 0, 0, 0),
	TEST("ptr-fchmodat", IN, fchmodat, HERE, BAD, 0644),
	TEST("ptr-chroot", IN, chroot, BAD),
	TEST("ptr-truncate", IN, truncate, BAD, 0),
	TEST("ptr-mkdirat", IN, mkdirat, HERE, BAD, 0755),
	TEST("ptr-mknodat", IN, mknodat, HERE, BAD, 0010644, 0),
	TEST("ptr-unlinkat", IN, unlinkat, HERE, BAD, 0),
	TEST("ptr-linkat-old", IN, linkat, HERE, BAD, HERE, NEW, 0),
	TEST("ptr-linkat-new", IN, linkat, HERE, P("/proc/self/exe"), HERE, BAD, 0),
	TEST("ptr-symlinkat-to", IN, symlinkat, BAD, HERE, NEW),
	TEST("ptr-symlinkat-at", IN, symlinkat, P("x"), HERE, BAD),
	TEST("ptr-readlinkat-path", IN, readlinkat, HERE, BAD, BUF, 64),
	TEST("ptr-readlinkat", OUT, readlinkat, HERE, P("/proc/self/exe"), BAD, 64),
	TEST("ptr-renameat-old", IN, renameat, HERE, BAD, HERE, NEW),
	TEST("ptr-renameat-new", IN, renameat, HERE, NEW, HERE, BAD),
	TEST("ptr-renameat2", IN, renameat2, HERE, BAD, HERE, NEW, 0),
	TEST("ptr-mount-at", IN, mount, 0, BAD, 0, 0, 0),
	TEST("ptr-mount-type", IN, mount, 0, ROOT, BAD, 0, 0),
	TEST("ptr-sigpending", OUT, rt_sigpending, BAD, 8),
	TEST("ptr-sigqueueinfo", IN, rt_sigqueueinfo, 1, SIGUSR1, BAD),
	TEST("ptr-tgsigqueueinfo", IN, rt_tgsigqueueinfo, 1, 1, SIGUSR1, BAD),
	TEST("ptr-getitimer", OUT, getitimer, 0, BAD),
	TEST("ptr-times", OUT, times, BAD),
	TEST("ptr-clock_settime", IN, clock_settime, 0, BAD),
	TEST("ptr-settimeofday", IN, settimeofday, BAD, 0),
	TEST("ptr-getrusage", OUT, getrusage, 0, BAD),
	TEST("ptr-getrlimit", OUT, getrlimit, 0, BAD),
	TEST("ptr-setrlimit", IN, setrlimit, 0, BAD),
	TEST("ptr-sethostname", IN, sethostname, BAD, 4),
	TEST("ptr-setdomainname", IN, setdomainname, BAD, 4),
	TEST("ptr-capget", OUT, capget, BAD, 0),
	TEST("ptr-mincore", OUT | PARTIAL, mincore, BUF, 4096, BAD),
	TEST("ptr-robust_list", OUT, get_robust_list, 0, BAD, BUF),
	TEST("ptr-getattr", OUT, sched_getattr, 0, BAD, 56, 0),
	TEST("ptr-setattr", IN, sched_setattr, 0, BAD, 0),
	TEST("ptr-futex-timeout", IN, futex, BUF, 0, 0, BAD, 0, 0),
	{ NULL },
};
