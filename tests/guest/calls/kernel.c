/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls about the scheduler, time, the tracer, control groups and the system. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"

#define PAGE 4096

static struct sched_param param;
static struct {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
	uint32_t util_min, util_max;
} attr = { .size = sizeof(attr) };
static unsigned long cpus[16] = { 1 };
static struct timespec spec;
static struct timeval now;
static struct timezone zone;
static struct itimerval interval = { .it_value = { 1, 0 } }, old_interval;
static struct itimerspec timer_at = { .it_value = { 1, 0 } }, old_timer;
static struct sigevent expiry = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
static int timer_id;
static struct utsname names;
static struct sysinfo system_info;
static unsigned cpu, node;
static time_t seconds;
static struct pollfd on_perf = { A_PERF, POLLIN, 0 };
static struct epoll_event watch = { .events = EPOLLIN };

static void map_ring(void)
{
	if (mmap(NULL, 5 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, A_PERF, 0) == MAP_FAILED)
		must(-1, "mmap of a ring");
}

static void find_now(void)
{
	clock_gettime(CLOCK_REALTIME, &spec);
	gettimeofday(&now, NULL);
}

/* Its number is 0, as that of the first timer of each process. */
static void make_timer(void)
{
	must(syscall(SYS_timer_create, CLOCK_MONOTONIC, &expiry, &timer_id), "timer_create");
}

static void find_names(void)
{
	uname(&names);
}

static void set_expiry(void)
{
	expiry.sigev_signo = SIGUSR1;
}

static void open_at_file(const char *path, int flags)
{
	int fd = (int)must(open(path, flags), path);

	must(dup2(fd, A_FILE), "dup2");
	close(fd);
}

static void open_pids(void)
{
	open_at_file("/sys/kernel/tracing/set_event_pid", O_RDWR);
}

static void open_filter(void)
{
	open_at_file("/sys/kernel/tracing/events/sched/sched_switch/filter", O_RDWR);
}

static void open_trigger(void)
{
	open_at_file(TRIGGER, O_RDWR);
}

static void open_histogram(void)
{
	open_trigger();
	must(write(A_FILE, HISTOGRAM, sizeof(HISTOGRAM) - 1), "write");
}

static void open_marker(void)
{
	open_at_file("/sys/kernel/tracing/trace_marker", O_WRONLY);
}

static void open_trace(void)
{
	open_at_file("/sys/kernel/tracing/trace", O_RDONLY);
}

static void open_size(void)
{
	open_at_file("/sys/kernel/tracing/buffer_size_kb", O_RDWR);
}

static void open_tunable(void)
{
	open_at_file("/proc/sys/kernel/watchdog_thresh", O_RDWR);
}

static void open_group(void)
{
	mkdir("/sys/fs/cgroup/calls", 0755);
	open_at_file("/sys/fs/cgroup/cgroup.procs", O_RDWR);
}

#define WRITE(word, prepare, text)                                                                 \
	ROW_AS(write, word, 0, prepare, A_FILE, P(text), sizeof(text) - 1)

const struct row kernel_rows[] = {
	ROW(nanosleep, P(&spec), P(&spec)),
	ROW(getitimer, 0, P(&interval)),
	ROW(alarm, 1),
	ROW(setitimer, 0, P(&interval), P(&old_interval)),
	ROW(uname, P(&names)),
	ROW(gettimeofday, P(&now), P(&zone)),
	ROW(sysinfo, P(&system_info)),
	ROW(syslog, 3, P(buffer), 4096),
	ROW(getpriority, 0, 0),
	ROW(setpriority, 0, 0, 0),
	ROW(sched_setparam, 0, P(&param)),
	ROW(sched_getparam, 0, P(&param)),
	ROW(sched_setscheduler, 0, 0, P(&param)),
	ROW(sched_getscheduler, 0),
	ROW(sched_get_priority_max, 1),
	ROW(sched_get_priority_min, 1),
	ROW(sched_rr_get_interval, 0, P(&spec)),
	ROW(sched_setaffinity, 0, sizeof(cpus), P(cpus)),
	ROW(sched_getaffinity, 0, sizeof(cpus), P(cpus)),
	ROW(sched_setattr, 0, P(&attr), 0),
	ROW(sched_getattr, 0, P(&attr), sizeof(attr), 0),
	ROW(sync, 0),
	ROW_AS(settimeofday, "", 0, find_now, P(&now), 0),
	ROW(reboot, 0xfee1dead, 672274793, 0),
	ROW_AS(sethostname, "", 0, find_names, P(names.nodename), 5),
	ROW_AS(setdomainname, "", 0, find_names, P(names.nodename), 5),
	ROW(time, P(&seconds)),
	ROW_AS(timer_create, "", 0, set_expiry, CLOCK_MONOTONIC, P(&expiry), P(&timer_id)),
	ROW_AS(timer_settime, "", 0, make_timer, 0, 0, P(&timer_at), P(&old_timer)),
	ROW_AS(timer_gettime, "", 0, make_timer, 0, P(&old_timer)),
	ROW_AS(timer_getoverrun, "", 0, make_timer, 0),
	ROW_AS(timer_delete, "", 0, make_timer, 0),
	ROW_AS(clock_settime, "", 0, find_now, CLOCK_REALTIME, P(&spec)),
	ROW(clock_gettime, CLOCK_REALTIME, P(&spec)),
	ROW(clock_getres, CLOCK_REALTIME, P(&spec)),
	ROW(clock_nanosleep, CLOCK_MONOTONIC, 1, P(&spec), 0),
	ROW(ioprio_set, 1, 0, 0),
	ROW(ioprio_get, 1, 0),
	ROW(perf_event_open, P(&perf_attributes), 0, -1, -1, 0),
	ROW_AS(read, "perf", 0, NULL, A_PERF, P(buffer), 64),
	ROW_AS(mmap, "perf", 0, NULL, 0, 5 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, A_PERF, 0),
	ROW_AS(prctl, "perf", 0, map_ring, PR_SET_NAME, P("name")),
	ROW_AS(ioctl, "perf enable", 0, NULL, A_PERF, 0x2400, 0),
	ROW_AS(ioctl, "perf disable", 0, NULL, A_PERF, 0x2401, 0),
	ROW_AS(ioctl, "perf reset", 0, NULL, A_PERF, 0x2403, 0),
	ROW_AS(ioctl, "perf output", 0, map_ring, A_PERF, 0x2405, -1),
	ROW_AS(ioctl, "perf id", 0, NULL, A_PERF, 0x80082407, P(buffer)),
	ROW_AS(poll, "perf", 0, map_ring, P(&on_perf), 1, 0),
	ROW_AS(epoll_ctl, "perf", 0, NULL, AN_EPOLL, EPOLL_CTL_ADD, A_PERF, P(&watch)),
	ROW(getcpu, P(&cpu), P(&node), 0),
	ROW(getrandom, P(buffer), 300, 0),
	WRITE("set_event_pid", open_pids, "1"),
	WRITE("filter", open_filter, "prev_prio < 200 && next_pid != 1"),
	WRITE("no filter", open_filter, "0"),
	WRITE("trigger", open_trigger, HISTOGRAM),
	WRITE("no trigger", open_histogram, "!" HISTOGRAM),
	WRITE("marker", open_marker, "text"),
	ROW_AS(read, "trace", ONCE, open_trace, A_FILE, P(buffer), 4096),
	WRITE("buffer size", open_size, "64"),
	WRITE("tunable", open_tunable, "10"),
	WRITE("group", open_group, "0"),
	{ 0 },
};
