/* SPDX-License-Identifier: GPL-2.0-only */
/* Sleeping, interval timers, clocks. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/threads.h"
#include "taskcheck/taskcheck.h"

long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 * MS + ts.tv_nsec;
}

void sleep_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * MS };

	while (nanosleep(&ts, &ts))
		;
}

static volatile int ticks;

static void tick(int sig)
{
	(void)sig;
	ticks++;
}

static void sleeping(void)
{
	struct timespec ts = { 0, 20 * MS }, past = { 0, 1 }, bad = { 0, 1000 * MS };
	long t0 = now_ns();

	EXPECT(!nanosleep(&ts, NULL) && now_ns() - t0 >= 20 * MS);
	EXPECT(!clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &past, NULL));
	t0 = now_ns();
	ts = (struct timespec){ (t0 + 20 * MS) / (1000 * MS), (t0 + 20 * MS) % (1000 * MS) };
	EXPECT(!clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) &&
	       now_ns() >= t0 + 20 * MS);
	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec++;
	t0 = now_ns();
	EXPECT(!clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &ts, NULL));
	EXPECT(now_ns() - t0 > 900 * MS);
	EXPECT_ERROR(EINVAL, nanosleep(&bad, NULL));
	EXPECT(clock_nanosleep(99, 0, &past, NULL) == EINVAL);
	EXPECT(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &past, NULL) == EINVAL);
}

static void interrupt_when_asleep(void *pid)
{
	await_sleep(*(pid_t *)pid, *(pid_t *)pid);
	kill(*(pid_t *)pid, SIGALRM);
}

static void rest_of_a_sleep(void)
{
	struct timespec long_time = { 1000, 0 }, rest = { 0 };
	pid_t me = getpid(), pid;

	signal(SIGALRM, tick);
	pid = spawn(interrupt_when_asleep, &me);
	EXPECT_ERROR(EINTR, nanosleep(&long_time, &rest));
	EXPECT(ticks == 1 && rest.tv_sec > 900 && rest.tv_sec < 1000 && rest.tv_nsec < 1000 * MS);
	await_child(pid);
}

static void stopped_sleep_goes_on(void)
{
	pid_t pid = fork();

	if (!pid) {
		long t0 = now_ns();
		struct timespec ts = { 0, 300 * MS };
		EXPECT(!nanosleep(&ts, NULL) && now_ns() - t0 >= 300 * MS);
		_exit(0);
	}
	sleep_ms(50);
	kill(pid, SIGSTOP);
	EXPECT(WIFSTOPPED(status_of(pid, WUNTRACED)));
	sleep_ms(50);
	kill(pid, SIGCONT);
	await_child(pid);
}

static void interval_timer(void)
{
	struct itimerval it = { { 0, 5000 }, { 0, 10000 } }, left;
	long t0 = now_ns();

	signal(SIGALRM, tick);
	EXPECT(!setitimer(ITIMER_REAL, &it, NULL));
	EXPECT(!getitimer(ITIMER_REAL, &left) && left.it_interval.tv_usec == 5000);
	while (ticks < 5)
		pause();
	EXPECT(now_ns() - t0 >= 30 * MS);
	it = (struct itimerval){ 0 };
	EXPECT(!setitimer(ITIMER_REAL, &it, &left) && left.it_interval.tv_usec == 5000);
	EXPECT(!getitimer(ITIMER_REAL, &left) && !left.it_value.tv_usec);
	it.it_value.tv_usec = 1000000;
	EXPECT_ERROR(EINVAL, setitimer(ITIMER_REAL, &it, NULL));
	EXPECT_ERROR(EINVAL, setitimer(77, &it, NULL));
	EXPECT(alarm(10000) == 0 && alarm(0) > 9990);
	/* Not inherited. */
	alarm(100);
	pid_t pid = fork();
	if (!pid)
		_exit(alarm(0) != 0);
	await_child(pid);
}

/* When a timer was set and read: it cannot have been outside, nor well inside, of this. */
struct span {
	long set_before, set_after, read_before, read_after;
};

/* @count expiries of a timer, one each @period; only virtual time tells that none came late. */
static void expect_count(long count, const struct span *s, long period)
{
	EXPECT(count <= (s->read_after - s->set_before) / period);
	if (getenv("VIRTUAL_TIME"))
		EXPECT(count >= (s->read_before - s->set_after) / period - 1);
}

enum { PERIOD = 5 * MS, PERIODS = 40 };
static const struct itimerspec each_period = { { 0, PERIOD }, { 0, PERIOD } };

/* Sleep for @PERIODS periods. */
static void let_them_pass(struct span *s)
{
	s->set_after = now_ns();
	sleep_ms(PERIODS * PERIOD / MS);
	s->read_before = now_ns();
}

static void expect_within_period(const struct itimerspec *left)
{
	EXPECT(left->it_interval.tv_nsec == PERIOD);
	EXPECT(!left->it_value.tv_sec && left->it_value.tv_nsec <= PERIOD);
}

static void count_posix_timer(clockid_t clock)
{
	struct sigevent se = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 4 };
	struct span s = { .set_before = now_ns() };
	const struct timespec at_once = { 0 };
	struct itimerspec left;
	siginfo_t info;
	sigset_t set;
	timer_t t;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 4);
	sigprocmask(SIG_BLOCK, &set, NULL);
	EXPECT(!timer_create(clock, &se, &t) && !timer_settime(t, 0, &each_period, NULL));
	let_them_pass(&s);
	EXPECT(sigwaitinfo(&set, &info) == SIGRTMIN + 4);
	s.read_after = now_ns();
	expect_count(1 + info.si_overrun, &s, PERIOD);
	/* Expiries since then belong to the next signal, which nobody has taken. */
	sleep_ms(2 * PERIOD / MS);
	EXPECT(timer_getoverrun(t) == info.si_overrun);
	EXPECT(!timer_gettime(t, &left));
	expect_within_period(&left);
	EXPECT(!timer_delete(t));
	/* Linux before 6.13 leaves the signal of a deleted timer pending. */
	sigtimedwait(&set, &info, &at_once);
}

static void count_timerfd(clockid_t clock)
{
	struct span s = { .set_before = now_ns() };
	int fd = timerfd_create(clock, 0);
	struct itimerspec left;
	uint64_t count;

	EXPECT(fd >= 0 && !timerfd_settime(fd, 0, &each_period, NULL));
	let_them_pass(&s);
	EXPECT(read(fd, &count, 8) == 8);
	s.read_after = now_ns();
	expect_count((long)count, &s, PERIOD);
	EXPECT(!timerfd_gettime(fd, &left) && !close(fd));
	expect_within_period(&left);
}

static void count_itimer(void)
{
	struct itimerval it = { { 0, PERIOD / 1000 }, { 0, PERIOD / 1000 } }, left;
	struct span s = { .set_before = now_ns() };

	signal(SIGALRM, tick);
	EXPECT(!setitimer(ITIMER_REAL, &it, NULL));
	s.set_after = now_ns();
	while (now_ns() < s.set_after + PERIODS * PERIOD) {
		EXPECT(!getitimer(ITIMER_REAL, &left));
		EXPECT(left.it_value.tv_usec <= PERIOD / 1000);
	}
	s.read_before = now_ns();
	it = (struct itimerval){ 0 };
	EXPECT(!setitimer(ITIMER_REAL, &it, NULL));
	s.read_after = now_ns();
	expect_count(ticks, &s, PERIOD);
}

/* A timer expires once each period, neither more nor less, whoever asks it how. */
static void timer_counts(void)
{
	count_posix_timer(CLOCK_MONOTONIC);
	count_posix_timer(CLOCK_REALTIME);
	count_timerfd(CLOCK_MONOTONIC);
	count_timerfd(CLOCK_REALTIME);
	count_itimer();
}

/* Two timers expire while @sig is blocked: it is pending twice, once with the value of each. */
static void expect_from_both(int sig)
{
	struct sigevent se = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = sig };
	struct itimerspec once = { { 0 }, { 0, MS } };
	struct timespec now = { 0 };
	unsigned seen = 0;
	siginfo_t info;
	timer_t t[2];
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < 2; i++) {
		se.sigev_value.sival_int = i;
		EXPECT(!timer_create(CLOCK_MONOTONIC, &se, &t[i]));
		EXPECT(!timer_settime(t[i], 0, &once, NULL));
	}
	sleep_ms(20);
	for (int i = 0; i < 2; i++) {
		EXPECT(sigtimedwait(&set, &info, &now) == sig);
		seen |= 1u << info.si_value.sival_int;
	}
	EXPECT(seen == 3);
	EXPECT_ERROR(EAGAIN, sigtimedwait(&set, &info, &now));
	EXPECT(!timer_delete(t[0]) && !timer_delete(t[1]));
}

/* Each timer has its own place in the queue, for an ordinary signal as for a real-time one. */
static void timers_share_a_signal(void)
{
	expect_from_both(SIGRTMIN + 4);
	expect_from_both(SIGUSR1);
}

/* A signal that a program queues itself is not changed by a timer that expires meanwhile. */
static void timers_count_their_own(void)
{
	struct sigevent se = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 4 };
	struct itimerspec often = { { 0, MS }, { 0, MS } };
	struct timespec now = { 0 };
	siginfo_t info = { .si_code = SI_QUEUE };
	sigset_t set;
	timer_t t;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 4);
	sigprocmask(SIG_BLOCK, &set, NULL);
	EXPECT(!timer_create(CLOCK_MONOTONIC, &se, &t));
	info.si_pid = (pid_t)(intptr_t)t; /* where the kernel notes which timer it was */
	info.si_uid = 77;		  /* and how often */
	EXPECT(!syscall(SYS_rt_sigqueueinfo, getpid(), SIGRTMIN + 4, &info));
	EXPECT(!timer_settime(t, 0, &often, NULL));
	sleep_ms(20);
	EXPECT(sigtimedwait(&set, &info, &now) == SIGRTMIN + 4 && info.si_code == SI_QUEUE);
	EXPECT(info.si_uid == 77);
	EXPECT(sigtimedwait(&set, &info, &now) == SIGRTMIN + 4 && info.si_overrun >= 8);
	EXPECT(!timer_delete(t));
}

static void posix_timers(void)
{
	struct sigevent se = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 4 };
	struct itimerspec it = { { 0, 5 * MS }, { 0, 10 * MS } }, left;
	struct timespec second = { 1, 0 };
	siginfo_t info;
	sigset_t set;
	timer_t t;

	se.sigev_value.sival_int = 99;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 4);
	sigprocmask(SIG_BLOCK, &set, NULL);
	EXPECT(!timer_create(CLOCK_MONOTONIC, &se, &t));
	EXPECT(!timer_gettime(t, &left) && !left.it_value.tv_nsec);
	long t0 = now_ns();
	EXPECT(!timer_settime(t, 0, &it, NULL));
	for (int i = 0; i < 4; i++) {
		EXPECT(sigtimedwait(&set, &info, &second) == SIGRTMIN + 4);
		EXPECT(info.si_code == SI_TIMER && info.si_value.sival_int == 99);
	}
	EXPECT(now_ns() - t0 >= 25 * MS);
	sleep_ms(60);
	EXPECT(sigtimedwait(&set, &info, &second) == SIGRTMIN + 4 && info.si_overrun >= 8);
	EXPECT(!timer_delete(t));
	se.sigev_signo = 99;
	EXPECT_ERROR(EINVAL, timer_create(CLOCK_MONOTONIC, &se, &t));
	EXPECT_ERROR(EINVAL, timer_create(77, NULL, &t));
	EXPECT_ERROR(EOPNOTSUPP, timer_create(CLOCK_MONOTONIC_RAW, NULL, &t));
	EXPECT_ERROR(EOPNOTSUPP, timer_create(CLOCK_MONOTONIC_COARSE, NULL, &t));
	EXPECT(!timer_create(CLOCK_TAI, NULL, &t) && !timer_delete(t));
	EXPECT_ERROR(EINVAL, syscall(SYS_timer_delete, 12345));
}

static void cpu_clocks(void)
{
	struct timespec a, b, p;
	volatile long sink = 0;

	EXPECT(!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a));
	for (long i = 0; i < 2000000; i++)
		sink += i;
	EXPECT(!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b));
	EXPECT(b.tv_sec * 1000 * MS + b.tv_nsec > a.tv_sec * 1000 * MS + a.tv_nsec);
	/* Sleep is free. On a busy host one try may be charged what the host took. */
	long charged = 20 * MS;
	for (int tries = 0; charged >= 15 * MS && tries < 50; tries++) {
		EXPECT(!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b));
		sleep_ms(20);
		EXPECT(!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a));
		charged = (a.tv_sec - b.tv_sec) * 1000 * MS + a.tv_nsec - b.tv_nsec;
	}
	EXPECT(charged < 15 * MS);
	EXPECT(!clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &p));
	EXPECT(p.tv_sec * 1000 * MS + p.tv_nsec >= a.tv_sec * 1000 * MS + a.tv_nsec);
	EXPECT(!clock_getres(CLOCK_MONOTONIC, &a) && !a.tv_sec && a.tv_nsec == 1);
	EXPECT_ERROR(EINVAL, clock_gettime(99, &a));
}

/*
 * A process that computes in user space for @length ns, then reads zeros for a third of that. So
 * the system time that /proc/stat counts in steps of 10 ms is near a step often.
 */
static void one_life(long length)
{
	static char zeros[1 << 16];
	int zero = open("/dev/zero", O_RDONLY);

	for (long over = now_ns() + length; now_ns() < over;)
		__builtin_ia32_pause();
	for (long over = now_ns() + length / 3; now_ns() < over;)
		EXPECT(read(zero, zeros, sizeof(zeros)) == sizeof(zeros));
}

/* Processes of 2 to 12 ms, one after the other for a second. */
static void short_lives(void *unused)
{
	long end = now_ns() + 1000 * MS, length = 2 * MS;

	(void)unused;
	for (; now_ns() < end; length = 2 * MS + (length + 37 * MS / 10) % (10 * MS)) {
		pid_t pid = fork();

		EXPECT(pid >= 0);
		if (!pid) {
			one_life(length);
			_exit(0);
		}
		await_child(pid);
	}
}

/* One reading of /proc/stat: no CPU's user, nice or system time is less than in the one before. */
static void read_cpu_times(unsigned long before[][3], unsigned max)
{
	FILE *stat = fopen("/proc/stat", "r");
	unsigned long now[3];
	char line[256];
	unsigned cpu;

	EXPECT(stat);
	while (fgets(line, sizeof(line), stat)) {
		/* Not the sum, "cpu  ", nor what follows the CPUs. */
		if (strncmp(line, "cpu", 3) || line[3] == ' ')
			continue;
		EXPECT(sscanf(line + 3, "%u %lu %lu %lu", &cpu, &now[0], &now[1], &now[2]) == 4);
		for (int i = 0; i < 3 && cpu < max; i++) {
			EXPECT(now[i] >= before[cpu][i]);
			before[cpu][i] = now[i];
		}
	}
	fclose(stat);
}

static void cpu_times_of_short_lives(void)
{
	static unsigned long times[1024][3];
	int i, status = 0;

	for (i = 0; i < PARTIES; i++)
		spawn(short_lives, NULL);
	while (waitpid(-1, &status, WNOHANG) >= 0) {
		EXPECT(!status);
		read_cpu_times(times, 1024);
		sleep_ms(1);
	}
	EXPECT(errno == ECHILD);
}

/* Waits without a rest for odd numbers, or for even ones, and says the next; up to 20. */
static void answer(_Atomic int *number, int mine)
{
	pin_to_cpu(0);
	alarm(20);
	for (int next = mine; next < 20; next += 2) {
		while (*number != next)
			;
		*number = next + 1;
	}
}

static void answer_even(void *number)
{
	answer(number, 0);
}

static void answer_odd(void *number)
{
	answer(number, 1);
}

/* Two processes that never sleep take turns on a CPU, which idled before. */
static void busy_neighbours(void)
{
	_Atomic int *number = mmap(NULL, sizeof(*number), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t odd, even;

	EXPECT(number != MAP_FAILED);
	sleep_ms(50);
	odd = spawn(answer_odd, (void *)number);
	even = spawn(answer_even, (void *)number);
	await_child(odd);
	await_child(even);
}

/* Spins until this process, or the other that shares @moved, is on another CPU than the first. */
static void spin_until_moved(void *moved)
{
	_Atomic int *flag = moved;

	pin_to_cpu(0);
	alarm(10);
	while (!*flag)
		if (sched_getcpu())
			*flag = 1;
}

/* A CPU that has been idle for long gets one of two tasks that never sleep, as soon as it may. */
static void idle_cpus_help(void)
{
	_Atomic int *moved = mmap(NULL, sizeof(*moved), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cpu_set_t both;
	pid_t one, other;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2 || access("/proc/fairground", F_OK))
		return; /* another system's CPUs may have more to do */
	EXPECT(moved != MAP_FAILED);
	CPU_ZERO(&both);
	CPU_SET(0, &both);
	CPU_SET(1, &both);
	pin_to_cpu(0);
	one = spawn(spin_until_moved, (void *)moved);
	other = spawn(spin_until_moved, (void *)moved);
	sleep_ms(100);
	EXPECT(!sched_setaffinity(one, sizeof(both), &both));
	EXPECT(!sched_setaffinity(other, sizeof(both), &both));
	await_child(one);
	await_child(other);
}

static void timer_slack(void)
{
	EXPECT(prctl(PR_GET_TIMERSLACK) == 50000);
	EXPECT(!prctl(PR_SET_TIMERSLACK, 1) && prctl(PR_GET_TIMERSLACK) == 1);
	EXPECT(!prctl(PR_SET_TIMERSLACK, 0) && prctl(PR_GET_TIMERSLACK) == 50000);
}

static void wait_for_a_change(void *unused)
{
	struct timespec timeout = { 0, 60 * MS };
	volatile uint32_t word = 7;

	(void)unused;
	EXPECT_ERROR(ETIMEDOUT, syscall(SYS_futex, &word, 0, 7, &timeout, NULL, 0)); /* WAIT */
}

/* A stop is no reason to end the wait for a futex, nor to wait longer. */
static void stopped_futex_wait_goes_on(void)
{
	long t0 = now_ns();
	pid_t pid = spawn(wait_for_a_change, NULL);

	sleep_ms(15);
	kill(pid, SIGSTOP);
	EXPECT(WIFSTOPPED(status_of(pid, WUNTRACED)));
	kill(pid, SIGCONT);
	await_child(pid);
	EXPECT(now_ns() - t0 >= 60 * MS);
}

/* A timer that tells nobody ends without a signal, of any number, and counts nothing. */
static void silent_timers(void)
{
	struct sigevent none = { .sigev_notify = SIGEV_NONE, .sigev_signo = SIGUSR1 };
	struct itimerspec often = { { 0, MS }, { 0, MS } }, now;
	sigset_t all, pending;
	timer_t t;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	EXPECT(!timer_create(CLOCK_MONOTONIC, &none, &t) && !timer_settime(t, 0, &often, NULL));
	sleep_ms(10);
	EXPECT(!timer_gettime(t, &now) && now.it_value.tv_nsec <= MS && !timer_getoverrun(t));
	EXPECT(!sigpending(&pending));
	for (int sig = 1; sig < NSIG; sig++)
		EXPECT(sigismember(&pending, sig) <= 0);
	EXPECT(!timer_delete(t));
}

const struct check timer_tests[] = {
	{ "sleep", sleeping },
	{ "sleep-rest", rest_of_a_sleep },
	{ "sleep-stopped", stopped_sleep_goes_on },
	{ "futex-stopped", stopped_futex_wait_goes_on },
	{ "itimer", interval_timer },
	{ "timer-counts", timer_counts },
	{ "posix-timers", posix_timers },
	{ "timers-share-a-signal", timers_share_a_signal },
	{ "timers-count-their-own", timers_count_their_own },
	{ "cpu-clocks", cpu_clocks },
	{ "cpu-times", cpu_times_of_short_lives },
	{ "busy-neighbours", busy_neighbours },
	{ "idle-cpus-help", idle_cpus_help },
	{ "slack", timer_slack },
	{ "silent-timers", silent_timers },
	{ NULL, NULL },
};
