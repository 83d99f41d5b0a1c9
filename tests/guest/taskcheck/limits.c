/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits that end or refuse: CPU time, sizes of files and memory; and who inherits what at fork. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "taskcheck/taskcheck.h"

enum { FUTEX_WAKE = 1, FUTEX_PRIVATE_FLAG = 128 };
#define PAGE 4096ul
#define MB   (1024 * 1024ul)

static volatile sig_atomic_t caught;

static void note(int sig)
{
	caught = sig;
}

static void limit(int kind, rlim_t soft, rlim_t hard)
{
	EXPECT(!setrlimit(kind, &(struct rlimit){ soft, hard }));
}

static char *map(size_t size, int flags)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);
}

static void address_space(void)
{
	char *p;

	limit(RLIMIT_AS, 64 * MB, 64 * MB);
	EXPECT((p = map(16 * MB, MAP_PRIVATE)) != MAP_FAILED);
	EXPECT_ERROR(ENOMEM, (long)map(64 * MB, MAP_PRIVATE));
	EXPECT_ERROR(ENOMEM, (long)map(64 * MB, MAP_SHARED));
	EXPECT_ERROR(EEXIST, (long)mmap(p, 64 * MB, PROT_READ,
					MAP_ANONYMOUS | MAP_PRIVATE | MAP_FIXED_NOREPLACE, -1, 0));
	EXPECT_ERROR(ENOMEM, (long)mremap(p, 16 * MB, 80 * MB, MREMAP_MAYMOVE));
	EXPECT(mmap(p, 16 * MB, PROT_READ, MAP_ANONYMOUS | MAP_PRIVATE | MAP_FIXED, -1, 0) == p);
	EXPECT(!munmap(p, 16 * MB));
	EXPECT((p = map(32 * MB, MAP_PRIVATE)) != MAP_FAILED);
}

static void data(void)
{
	void *brk = sbrk(0), *p;

	limit(RLIMIT_DATA, 8 * MB, 8 * MB);
	EXPECT_ERROR(ENOMEM, (long)map(9 * MB, MAP_PRIVATE));
	EXPECT(map(9 * MB, MAP_SHARED) != MAP_FAILED);
	p = mmap(NULL, 9 * MB, PROT_READ, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
	EXPECT(p != MAP_FAILED);
	EXPECT_ERROR(ENOMEM, mprotect(p, 9 * MB, PROT_READ | PROT_WRITE));
	EXPECT((char *)syscall(SYS_brk, (char *)brk + 9 * MB) == brk);
}

static void file_size(void)
{
	static char block[8192];
	struct stat st;
	int fd = open("f", O_RDWR | O_CREAT, 0644);

	EXPECT(fd >= 0 && signal(SIGXFSZ, note) != SIG_ERR);
	limit(RLIMIT_FSIZE, 10000, RLIM_INFINITY);
	EXPECT(write(fd, block, 8192) == 8192);
	EXPECT(write(fd, block, 8192) == 10000 - 8192 && !caught);
	EXPECT_ERROR(EFBIG, write(fd, block, 1));
	EXPECT(caught == SIGXFSZ);
	caught = 0;
	EXPECT_ERROR(EFBIG, ftruncate(fd, 10001));
	EXPECT(caught == SIGXFSZ && !ftruncate(fd, 10000) && !ftruncate(fd, 5));
	EXPECT_ERROR(EFBIG, fallocate(fd, 0, 0, 20000));
	EXPECT(!fstat(fd, &st) && st.st_size == 5);
}

static void spin(void)
{
	for (volatile long i = 0;; i++)
		;
}

static void cpu_time(void)
{
	struct rusage usage;
	pid_t pid = fork();
	int status;

	EXPECT(pid >= 0);
	if (!pid) {
		signal(SIGXCPU, note);
		limit(RLIMIT_CPU, 1, 2);
		for (volatile long i = 0; !caught; i++)
			;
		spin();
	}
	EXPECT(wait4(pid, &status, 0, &usage) == pid);
	EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	EXPECT(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec >= 1);
	pid = fork();
	EXPECT(pid >= 0);
	if (!pid) {
		limit(RLIMIT_CPU, 0, 5);
		spin();
	}
	EXPECT(waitpid(pid, &status, 0) == pid && WTERMSIG(status) == SIGXCPU);
}

static void real_time(void)
{
	struct sched_param fifo = { .sched_priority = 1 };
	int status;
	pid_t pid = fork();

	EXPECT(pid >= 0);
	if (!pid) {
		limit(RLIMIT_RTTIME, 50000, RLIM_INFINITY);
		if (syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &fifo))
			raise(SIGXCPU);	       /* not permitted here: nothing to see */
		for (int i = 0; i < 20; i++) { /* blocking starts anew */
			for (long start = now_ns(); now_ns() - start < 5 * MS;)
				;
			sleep_ms(1);
		}
		spin();
	}
	status = status_of(pid, 0);
	EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU);
}

/* --- fork and memory ------------------------------------------------------------------------ */

static void advice_about_fork(void)
{
	char *p = map(3 * PAGE, MAP_PRIVATE), *shared = map(PAGE, MAP_SHARED);
	pid_t pid;
	int status;

	memset(p, 7, 3 * PAGE);
	EXPECT(!madvise(p, PAGE, MADV_WIPEONFORK) && !madvise(p + PAGE, PAGE, MADV_DONTFORK));
	EXPECT_ERROR(EINVAL, madvise(shared, PAGE, MADV_WIPEONFORK));
	pid = fork();
	EXPECT(pid >= 0);
	if (!pid) {
		EXPECT(p[0] == 0 && p[PAGE - 1] == 0 && p[2 * PAGE] == 7);
		_exit(p[PAGE]); /* not there */
	}
	status = status_of(pid, 0);
	EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV && p[0] == 7 && p[PAGE] == 7);
	EXPECT(!madvise(p, PAGE, MADV_KEEPONFORK) && !madvise(p + PAGE, PAGE, MADV_DOFORK));
	pid = fork();
	EXPECT(pid >= 0);
	if (!pid)
		_exit(p[0] + p[PAGE]);
	EXPECT(WEXITSTATUS(status_of(pid, 0)) == 14);
}

static void odd_mappings(void)
{
	char *low = map(PAGE, MAP_PRIVATE | MAP_32BIT);

	EXPECT(low != MAP_FAILED && (unsigned long)low + PAGE <= 1ul << 31);
	low[0] = 1;
	EXPECT(map(2 * MB, MAP_PRIVATE | MAP_HUGETLB) == MAP_FAILED);
}

static void unmapped_shared_futex(void)
{
	char *p = map(PAGE, MAP_PRIVATE);

	EXPECT(!syscall(SYS_futex, p, FUTEX_WAKE, 1, NULL, NULL, 0));
	EXPECT(!munmap(p, PAGE));
	EXPECT_ERROR(EFAULT, syscall(SYS_futex, p, FUTEX_WAKE, 1, NULL, NULL, 0));
	EXPECT(!syscall(SYS_futex, p, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0));
}

/* --- processes ------------------------------------------------------------------------------- */

static void subreaper_gets_orphans(void)
{
	int is = 0, fds[2];
	pid_t child, orphan, parent;

	EXPECT(!prctl(PR_SET_CHILD_SUBREAPER, 1) && !prctl(PR_GET_CHILD_SUBREAPER, &is) && is == 1);
	EXPECT(!pipe(fds));
	child = fork();
	EXPECT(child >= 0);
	if (!child) {
		pid_t own = getpid();
		orphan = fork();
		if (orphan)
			_exit(orphan < 0);
		while (getppid() == own)
			sleep_ms(1);
		parent = getppid();
		_exit(write(fds[1], &parent, sizeof(parent)) != sizeof(parent));
	}
	await_child(child);
	EXPECT(read(fds[0], &parent, sizeof(parent)) == sizeof(parent) && parent == getpid());
	EXPECT(waitpid(-1, NULL, 0) > 0);
}

static void peak_memory(void)
{
	struct rusage usage;
	char *p = map(8 * MB, MAP_PRIVATE);
	long before;

	EXPECT(!getrusage(RUSAGE_SELF, &usage));
	before = usage.ru_maxrss;
	if (!before && access("/proc/fairground", F_OK))
		return; /* a sandbox that does not count */
	memset(p, 1, 8 * MB);
	EXPECT(!munmap(p, 8 * MB));
	EXPECT(!getrusage(RUSAGE_SELF, &usage) && usage.ru_maxrss >= before + 7 * 1024);
	pid_t pid = fork();
	EXPECT(pid >= 0);
	if (!pid)
		_exit(0);
	await_child(pid);
	EXPECT(!getrusage(RUSAGE_CHILDREN, &usage) && usage.ru_maxrss > 0);
}

static void overruns_are_told(void)
{
	struct sigevent se = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 4 };
	struct itimerspec every = { { 0, MS }, { 0, MS } };
	siginfo_t info;
	sigset_t set;
	timer_t t;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 4);
	EXPECT(!sigprocmask(SIG_BLOCK, &set, NULL) && !timer_create(CLOCK_MONOTONIC, &se, &t));
	EXPECT(!timer_settime(t, 0, &every, NULL));
	sleep_ms(20);
	EXPECT(sigwaitinfo(&set, &info) == SIGRTMIN + 4);
	EXPECT(info.si_code == SI_TIMER && info.si_overrun >= 15);
}

const struct check limit_tests[] = {
	{ "address-space", address_space },
	{ "data", data },
	{ "file-size", file_size },
	{ "cpu-time", cpu_time },
	{ "real-time", real_time },
	{ "advice-about-fork", advice_about_fork },
	{ "odd-mappings", odd_mappings },
	{ "unmapped-shared-futex", unmapped_shared_futex },
	{ "subreaper-gets-orphans", subreaper_gets_orphans },
	{ "peak-memory", peak_memory },
	{ "overruns-are-told", overruns_are_told },
	{ NULL, NULL },
};
