/* SPDX-License-Identifier: GPL-2.0-only */
/* Processes, limits, scheduling, clocks and the machine. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "leakcheck/leakcheck.h"

/* Kernel structures have no names in musl's headers; their sizes are the ABI's. */
enum { RUSAGE_SIZE = 144, SYSINFO_SIZE = 112, SCHED_ATTR_SIZE = 56, TIMESPEC_SIZE = 16 };

/* --- processes --------------------------------------------------------------------- */

static long wait4_usage(void *buf)
{
	char *at = buf;
	pid_t pid = spawn_short();

	return wrote(8 + RUSAGE_SIZE, syscall(SYS_wait4, pid, memset(at, 0, 8), 0, at + 8) - pid);
}

static long waitid_usage(void *buf)
{
	char *at = buf;

	return wrote(128 + RUSAGE_SIZE,
		     syscall(SYS_waitid, P_PID, spawn_short(), at, WEXITED, at + 128));
}

static void wait_for_end(void *unused)
{
	(void)unused;
	pause();
}

static long waitid_nothing(void *buf)
{
	pid_t pid = spawn(wait_for_end, NULL);
	/* Linux writes three words of the structure, and no more. */
	long ret = syscall(SYS_waitid, P_PID, pid, buf, WEXITED | WNOHANG, NULL);

	kill(pid, SIGKILL);
	EXPECT(waitpid(pid, NULL, 0) == pid);
	return wrote(128, ret);
}

static long usage_of(void *buf, int who)
{
	return wrote(RUSAGE_SIZE, syscall(SYS_getrusage, who, buf));
}

static long usage_self(void *buf)
{
	return usage_of(buf, RUSAGE_SELF);
}

static long usage_children(void *buf)
{
	return usage_of(buf, RUSAGE_CHILDREN);
}

static long usage_thread(void *buf)
{
	return usage_of(buf, RUSAGE_THREAD);
}

static long process_times(void *buf)
{
	return wrote(sizeof(struct tms), syscall(SYS_times, buf));
}

static long limit(void *buf)
{
	return wrote(16, syscall(SYS_getrlimit, RLIMIT_NOFILE, buf));
}

static long limit_of(void *buf)
{
	return wrote(16, syscall(SYS_prlimit64, 0, RLIMIT_STACK, NULL, buf));
}

static long name(void *buf)
{
	return wrote(16, syscall(SYS_prctl, PR_GET_NAME, buf));
}

static long death_signal(void *buf)
{
	return wrote(4, syscall(SYS_prctl, PR_GET_PDEATHSIG, buf));
}

static long thread_pointer(void *buf)
{
	return wrote(8, syscall(SYS_arch_prctl, 0x1003 /* ARCH_GET_FS */, buf));
}

static long robust_list(void *buf)
{
	return wrote(16, syscall(SYS_get_robust_list, 0, buf, (char *)buf + 8));
}

static long capabilities(void *buf)
{
	struct {
		uint32_t version;
		int pid;
	} header = { 0x20080522, 0 }; /* version 3: two sets of three words */

	return wrote(24, syscall(SYS_capget, &header, buf));
}

/* --- scheduling --------------------------------------------------------------------- */

static long param(void *buf)
{
	return wrote(4, syscall(SYS_sched_getparam, 0, buf));
}

static long attr(void *buf)
{
	return wrote(SCHED_ATTR_SIZE, syscall(SYS_sched_getattr, 0, buf, SCHED_ATTR_SIZE, 0));
}

static long attr_first(void *buf)
{
	return wrote(48, syscall(SYS_sched_getattr, 0, buf, 48, 0));
}

static long interval(void *buf)
{
	return wrote(TIMESPEC_SIZE, syscall(SYS_sched_rr_get_interval, 0, buf));
}

static long affinity(void *buf)
{
	long n = syscall(SYS_sched_getaffinity, 0, 128, buf);

	return wrote((size_t)n, n);
}

static long cpu_and_node(void *buf)
{
	return wrote(8, syscall(SYS_getcpu, buf, (char *)buf + 4, NULL));
}

/* --- time --------------------------------------------------------------------- */

static long clock_now(void *buf)
{
	return wrote(TIMESPEC_SIZE, syscall(SYS_clock_gettime, CLOCK_REALTIME, buf));
}

static long clock_step(void *buf)
{
	return wrote(TIMESPEC_SIZE, syscall(SYS_clock_getres, CLOCK_MONOTONIC, buf));
}

static long time_of_day(void *buf)
{
	return wrote(24, syscall(SYS_gettimeofday, buf, (char *)buf + 16));
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* Call @sleep(@buf) so that a signal ends it before its time. */
static long interrupted(void *buf, long (*sleep)(void *buf))
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct itimerval soon = { .it_value.tv_usec = 1000 };

	EXPECT(!sigaction(SIGALRM, &action, NULL) && !setitimer(ITIMER_REAL, &soon, NULL));
	errno = 0;
	EXPECT(sleep(buf) == -1 && errno == EINTR);
	return TIMESPEC_SIZE;
}

static const struct timespec a_minute = { .tv_sec = 60 };

static long nanosleep_rest(void *buf)
{
	return syscall(SYS_nanosleep, &a_minute, buf);
}

static long clock_nanosleep_rest(void *buf)
{
	return syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &a_minute, buf);
}

static long rest_of_nanosleep(void *buf)
{
	return interrupted(buf, nanosleep_rest);
}

static long rest_of_clock_sleep(void *buf)
{
	return interrupted(buf, clock_nanosleep_rest);
}

static long interval_timer(void *buf)
{
	return wrote(32, syscall(SYS_getitimer, ITIMER_REAL, buf));
}

static long interval_timer_old(void *buf)
{
	struct itimerval off = { 0 };

	return wrote(32, syscall(SYS_setitimer, ITIMER_REAL, &off, buf));
}

static long posix_timer(void *buf)
{
	struct itimerspec later = { .it_value.tv_sec = 60 };
	char *at = buf;
	int id;

	/* Its number, what is left of it, and its old setting. */
	EXPECT(!syscall(SYS_timer_create, CLOCK_MONOTONIC, NULL, &id));
	memcpy(at, &id, sizeof(id));
	EXPECT(!syscall(SYS_timer_gettime, id, at + 4));
	EXPECT(!syscall(SYS_timer_settime, id, 0, &later, at + 36));
	return wrote(68, syscall(SYS_timer_delete, id));
}

/* --- the machine --------------------------------------------------------------------- */

static long machine_info(void *buf)
{
	return wrote(SYSINFO_SIZE, syscall(SYS_sysinfo, buf));
}

static long machine_name(void *buf)
{
	return wrote(sizeof(struct utsname), syscall(SYS_uname, buf));
}

const struct probe task_probes[] = {
	{ "wait4", wait4_usage },
	{ "waitid", waitid_usage },
	{ "waitid WNOHANG", waitid_nothing },
	{ "getrusage self", usage_self },
	{ "getrusage children", usage_children },
	{ "getrusage thread", usage_thread },
	{ "times", process_times },
	{ "getrlimit", limit },
	{ "prlimit64", limit_of },
	{ "prctl GET_NAME", name },
	{ "prctl GET_PDEATHSIG", death_signal },
	{ "arch_prctl", thread_pointer },
	{ "get_robust_list", robust_list },
	{ "capget", capabilities },
	{ "sched_getparam", param },
	{ "sched_getattr", attr },
	{ "sched_getattr 48", attr_first },
	{ "sched_rr_interval", interval },
	{ "sched_getaffinity", affinity },
	{ "getcpu", cpu_and_node },
	{ "clock_gettime", clock_now },
	{ "clock_getres", clock_step },
	{ "gettimeofday", time_of_day },
	{ "nanosleep", rest_of_nanosleep },
	{ "clock_nanosleep", rest_of_clock_sleep },
	{ "getitimer", interval_timer },
	{ "setitimer", interval_timer_old },
	{ "timers", posix_timer },
	{ "sysinfo", machine_info },
	{ "uname", machine_name },
	{ 0 },
};
