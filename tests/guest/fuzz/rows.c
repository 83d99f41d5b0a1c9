/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fuzz: more rows for scripts, of terminals, perf, control groups, CPUs that leave and the tracer's
 * pipes. Their calls change the machine, so failcheck, which compares a call's results, has others.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "calls/calls.h"
#include "fuzz/fuzz.h"

#define A_GROUP	 "/sys/fs/cgroup/calls"
#define EVENTS	 "/sys/kernel/tracing/events/sched/"
#define RING	 (5 * PAGE)
#define CPU_FILE "/sys/devices/system/cpu/cpu%d/online"
#define NR_CPUS	 8 /* that may have left; the host starts fewer */

enum { ALL_SAMPLES = 0x107cf, COUNTS = 23, CLOCK = 0, SWITCHES = 3, NAMES = 9 };
enum { INHERIT = 1 << 1, MAPS = 1 << 8, COMM = 1 << 9, TASKS = 1 << 13 };

#define ATTRIBUTES(type_of, config_of, period_of, flags_of)                                        \
	{                                                                                          \
		.type = (type_of), .size = 64, .config = (config_of), .period = (period_of),       \
		.sample_type = ALL_SAMPLES, .read_format = COUNTS,                                 \
		.flags = (flags_of) | 1 << 18 /* an identity in each record */, .wakeup = 1        \
	}

static struct perf_attributes clock_attr = ATTRIBUTES(1, CLOCK, 20000, TASKS | COMM);
static struct perf_attributes switch_attr = ATTRIBUTES(1, SWITCHES, 1, INHERIT);
static struct perf_attributes name_attr = ATTRIBUTES(1, NAMES, 0, MAPS | COMM | TASKS);
static struct perf_attributes event_attr = ATTRIBUTES(2, 1, 1, 0);

static struct pollfd on_perf = { A_PERF, POLLIN, 0 };
static struct termios terminal;
static struct winsize window = { 25, 80, 0, 0 };
static pid_t group;
static const struct timespec short_time = { .tv_nsec = 100000 };
static const char *const words[] = { "true", NULL };

static void open_as_file(const char *path, int flags)
{
	int fd = open(path, flags | O_NONBLOCK);

	if (fd < 0)
		return;
	dup2(fd, A_FILE);
	close(fd);
}

static void sample(const struct perf_attributes *attr, pid_t pid, int of_cpu)
{
	place((int)syscall(SYS_perf_event_open, attr, pid, of_cpu, -1, 0), A_PERF);
	mmap(NULL, RING, PROT_READ | PROT_WRITE, MAP_SHARED, A_PERF, 0);
	ioctl(A_PERF, 0x2400, 0);
}

static void sample_cpu(void)
{
	sample(&clock_attr, -1, 0);
}

static void sample_switches(void)
{
	sample(&switch_attr, 0, -1);
}

static void sample_names(void)
{
	sample(&name_attr, 0, -1);
}

static void sample_event(const char *id_file)
{
	char text[16] = "1";
	int fd = open(id_file, O_RDONLY);

	(void)!read(fd, text, sizeof(text) - 1);
	close(fd);
	sscanf(text, "%lu", &event_attr.config);
	sample(&event_attr, 0, -1);
}

static void sample_runtime(void)
{
	sample_event(EVENTS "sched_stat_runtime/id");
}

static void sample_forks(void)
{
	sample_event(EVENTS "sched_process_fork/id");
}

static void own_terminal(void)
{
	setsid();
	ioctl(A_TTY, TIOCSCTTY, 1);
	tcgetattr(A_TTY, &terminal);
	group = getpid();
}

static void raw_terminal(void)
{
	own_terminal();
	cfmakeraw(&terminal);
	terminal.c_cc[VMIN] = 0;
	terminal.c_cc[VTIME] = 1;
	tcsetattr(A_TTY, TCSANOW, &terminal);
}

static void open_cpu(void)
{
	char path[64];

	snprintf(path, sizeof(path), CPU_FILE, 1);
	open_as_file(path, O_RDWR);
}

static void make_group(void)
{
	put_text("/sys/fs/cgroup/cgroup.subtree_control", "+cpu");
	mkdir(A_GROUP, 0755);
}

static void in_group(const char *name)
{
	char path[64];

	make_group();
	snprintf(path, sizeof(path), A_GROUP "/%s", name);
	open_as_file(path, O_RDWR);
}

#define GROUP_FILE(function, name)                                                                 \
	static void function(void)                                                                 \
	{                                                                                          \
		in_group(name);                                                                    \
	}

GROUP_FILE(group_procs, "cgroup.procs")
GROUP_FILE(group_threads, "cgroup.threads")
GROUP_FILE(group_type, "cgroup.type")
GROUP_FILE(group_tree, "cgroup.subtree_control")
GROUP_FILE(group_events, "cgroup.events")
GROUP_FILE(group_kill, "cgroup.kill")
GROUP_FILE(group_weight, "cpu.weight")
GROUP_FILE(group_max, "cpu.max")
GROUP_FILE(group_burst, "cpu.max.burst")
GROUP_FILE(group_idle, "cpu.idle")
GROUP_FILE(group_stat, "cpu.stat")

static void put_in_group(void)
{
	make_group();
	put_text(A_GROUP "/cgroup.procs", "0");
	in_group("cgroup.procs");
}

static void trace_all(void)
{
	put_text("/sys/kernel/tracing/events/sched/enable", "1");
}

static void open_pipe(void)
{
	trace_all();
	open_as_file("/sys/kernel/tracing/trace_pipe", O_RDONLY);
}

static void open_raw(void)
{
	trace_all();
	open_as_file("/sys/kernel/tracing/per_cpu/cpu0/trace_pipe_raw", O_RDONLY);
}

static void open_log(void)
{
	open_as_file("/dev/kmsg", O_RDWR);
}

#define WRITE(word, prepare, text)                                                                 \
	ROW_AS(write, word, LATE, prepare, A_FILE, P(text), sizeof(text) - 1)
#define READ(word, prepare, size) ROW_AS(read, word, LATE, prepare, A_FILE, P(buffer), size)

static const struct row script_rows[] = {
	ROW_AS(ioctl, "tcsets", LATE, own_terminal, A_TTY, TCSETS, P(&terminal)),
	ROW_AS(ioctl, "tcsetsf", LATE, own_terminal, A_TTY, TCSETSF, P(&terminal)),
	ROW_AS(ioctl, "break", 0, NULL, A_TTY, TCSBRK, 1),
	ROW_AS(ioctl, "flow off", 0, NULL, A_TTY, TCXONC, TCOOFF),
	ROW_AS(ioctl, "flow on", 0, NULL, A_TTY, TCXONC, TCOON),
	ROW_AS(ioctl, "flush", 0, NULL, A_TTY, TCFLSH, TCIFLUSH),
	ROW_AS(ioctl, "own", 0, NULL, A_TTY, TIOCSCTTY, 1),
	ROW_AS(ioctl, "disown", LATE, own_terminal, A_TTY, TIOCNOTTY, 0),
	ROW_AS(ioctl, "get group", LATE, own_terminal, A_TTY, TIOCGPGRP, P(buffer)),
	ROW_AS(ioctl, "set group", LATE, own_terminal, A_TTY, TIOCSPGRP, P(&group)),
	ROW_AS(ioctl, "session", LATE, own_terminal, A_TTY, TIOCGSID, P(buffer)),
	ROW_AS(ioctl, "set size", 0, NULL, A_TTY, TIOCSWINSZ, P(&window)),
	ROW_AS(ioctl, "input", 0, NULL, A_TTY, FIONREAD, P(buffer)),
	ROW_AS(ioctl, "output", 0, NULL, A_TTY, TIOCOUTQ, P(buffer)),
	ROW_AS(read, "tty", LATE, raw_terminal, A_TTY, P(buffer), 64),
	ROW_AS(write, "tty text", LATE, own_terminal, A_TTY, P("\ta\b\r \x1b[1m\x07"), 10),
	ROW_AS(perf_event_open, "of a CPU", 0, NULL, P(&clock_attr), -1, 0, -1, 8),
	ROW_AS(perf_event_open, "switches", 0, NULL, P(&switch_attr), 0, -1, -1, 0),
	ROW_AS(perf_event_open, "names", 0, NULL, P(&name_attr), 0, -1, -1, 0),
	ROW_AS(perf_event_open, "group", LATE, sample_runtime, P(&event_attr), 0, -1, A_PERF, 1),
	ROW_AS(nanosleep, "sampled", LATE, sample_switches, P(&short_time), 0),
	ROW_AS(getrandom, "sampled", LATE, sample_cpu, P(buffer), sizeof(buffer), 0),
	ROW_AS(sched_yield, "sampled", LATE, sample_runtime, 0),
	ROW_AS(mmap, "sampled", LATE, sample_names, 0, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE,
	       A_FILE, 0),
	ROW_AS(fork, "sampled", FORKS | LATE, sample_forks, 0),
	ROW_AS(fork, "with names", FORKS | LATE, sample_names, 0),
	ROW_AS(execve, "sampled", LATE, sample_names, P("/bin/true"), P(words), P(words + 1)),
	ROW_AS(poll, "sampled", LATE, sample_switches, P(&on_perf), 1, 1),
	ROW_AS(read, "sampled", LATE, sample_switches, A_PERF, P(buffer), 64),
	WRITE("cpu off", open_cpu, "0"),
	WRITE("cpu on", open_cpu, "1"),
	WRITE("group procs", group_procs, "0"),
	WRITE("group threads", group_threads, "0"),
	WRITE("group type", group_type, "threaded"),
	WRITE("group tree", group_tree, "+cpu"),
	WRITE("group weight", group_weight, "10"),
	WRITE("group max", group_max, "2000 10000"),
	WRITE("group burst", group_burst, "1000"),
	WRITE("group idle", group_idle, "1"),
	WRITE("group leave", put_in_group, "0"),
	WRITE("group kill", group_kill, "1"),
	READ("group procs", put_in_group, 100),
	READ("group events", group_events, 100),
	READ("group stat", group_stat, 1000),
	ROW_AS(mkdir, "group in it", LATE, put_in_group, P(A_GROUP "/inner"), 0755),
	ROW_AS(rmdir, "group", LATE, make_group, P(A_GROUP)),
	READ("trace_pipe", open_pipe, 4096),
	READ("trace_pipe_raw", open_raw, 4096),
	ROW_AS(splice, "trace_pipe_raw", LATE, open_raw, A_FILE, 0, EMPTY_OUT, 0, 4096, 0),
	READ("kmsg", open_log, 4096),
	WRITE("kmsg", open_log, "<6>text\n"),
	{ 0 },
};

void add_script_rows(void)
{
	add_rows(script_rows);
}

/* The console as it was, all CPUs, no groups of a script. */
void restore_machine(void)
{
	static struct termios first;
	static int console = -1;
	char path[64];
	int cpu;

	if (console < 0) {
		console = open("/dev/console", O_RDWR | O_NOCTTY | O_NONBLOCK);
		tcgetattr(console, &first);
	}
	ioctl(console, TCXONC, TCOON);
	tcsetattr(console, TCSANOW, &first);
	for (cpu = 1; cpu < NR_CPUS; cpu++) {
		snprintf(path, sizeof(path), CPU_FILE, cpu);
		put_text(path, "1");
	}
	put_text("/sys/kernel/tracing/events/sched/enable", "0");
	rmdir(A_GROUP "/inner");
	rmdir(A_GROUP);
}
