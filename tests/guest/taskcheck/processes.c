/* SPDX-License-Identifier: GPL-2.0-only */
/* fork, vfork, exit, wait; groups and sessions; exec; limits. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "taskcheck/taskcheck.h"

static void nothing(void *arg)
{
	(void)arg;
}

static void exit_with(void *code)
{
	_exit(*(int *)code);
}

pid_t spawn_pausing(void)
{
	pid_t pid = fork();

	EXPECT(pid >= 0);
	if (!pid)
		for (;;)
			pause();
	return pid;
}

int status_of(pid_t pid, int options)
{
	int status;

	EXPECT(waitpid(pid, &status, options) == pid);
	return status;
}

static void exit_codes(void)
{
	int codes[] = { 0, 1, 77, 255 }, status;
	pid_t pid;

	for (unsigned i = 0; i < 4; i++) {
		status = status_of(spawn(exit_with, &codes[i]), 0);
		EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == codes[i]);
	}
	pid = spawn_pausing();
	EXPECT(!kill(pid, SIGTERM));
	status = status_of(pid, 0);
	EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	EXPECT_ERROR(ECHILD, wait(NULL));
}

static void waiting_for_some(void)
{
	pid_t a = spawn_pausing(), b = spawn_pausing(), c = fork();
	int status;

	EXPECT(waitpid(-1, &status, WNOHANG) == (c ? 0 : -1));
	if (!c) {
		setpgid(0, 0);
		pause();
	}
	while (getpgid(c) != c)
		sched_yield();
	EXPECT(waitpid(b, &status, WNOHANG) == 0);
	kill(b, SIGKILL);
	EXPECT(waitpid(b, &status, 0) == b);
	kill(c, SIGKILL);
	EXPECT(waitpid(-c, &status, 0) == c);
	EXPECT_ERROR(ECHILD, waitpid(-c, &status, 0));
	kill(a, SIGKILL);
	EXPECT(waitpid(0, &status, 0) == a);
	EXPECT_ERROR(ECHILD, waitpid(a, &status, 0));
	EXPECT_ERROR(EINVAL, waitpid(-1, &status, 0x1000));
}

static void waitid_leaves_and_takes(void)
{
	int code = 5;
	pid_t pid = spawn(exit_with, &code);
	siginfo_t info = { 0 };

	EXPECT(!waitid(P_PID, pid, &info, WEXITED | WNOWAIT));
	EXPECT(info.si_pid == pid && info.si_code == CLD_EXITED && info.si_status == 5);
	EXPECT(info.si_signo == SIGCHLD);
	EXPECT(!waitid(P_ALL, 0, &info, WEXITED) && info.si_pid == pid);
	EXPECT_ERROR(ECHILD, waitid(P_ALL, 0, &info, WEXITED));
	EXPECT_ERROR(EINVAL, waitid(P_ALL, 0, &info, WNOHANG));
	pid = spawn_pausing();
	info.si_pid = 1;
	EXPECT(!waitid(P_PID, pid, &info, WEXITED | WNOHANG) && info.si_pid == 0);
	kill(pid, SIGKILL);
	EXPECT(!waitid(P_PID, pid, &info, WEXITED));
	EXPECT(info.si_code == CLD_KILLED && info.si_status == SIGKILL);
}

static void become_another(void *uid)
{
	EXPECT(geteuid() || !setreuid(*(uid_t *)uid, (uid_t)-1));
}

/* The real user of the child, as it was when it ended. */
static void waitid_tells_the_user(void)
{
	uid_t uid = geteuid() ? getuid() : 1234;
	siginfo_t info = { 0 };

	EXPECT(!waitid(P_PID, (id_t)spawn(become_another, &uid), &info, WEXITED));
	EXPECT(info.si_status == 0 && info.si_uid == uid);
}

static void abort_without_core(void *unused)
{
	const struct rlimit none = { 0, 0 };

	(void)unused;
	EXPECT(!setrlimit(RLIMIT_CORE, &none));
	abort();
}

/* Where none may be written, no status says that one was. */
static void no_core(void)
{
	siginfo_t info;
	pid_t pid = spawn(abort_without_core, NULL);

	EXPECT(!waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
	EXPECT(info.si_code == CLD_KILLED && info.si_status == SIGABRT);
	EXPECT(status_of(pid, 0) == SIGABRT);
}

static void ignored_children_vanish(void)
{
	pid_t pid;

	signal(SIGCHLD, SIG_IGN);
	pid = spawn(nothing, NULL);
	/* Waits for all of them to end, then there is none. */
	EXPECT_ERROR(ECHILD, waitpid(pid, NULL, 0));
	EXPECT_ERROR(ESRCH, kill(pid, 0));
}

static void orphans_go_to_another_parent(void)
{
	int p[2], parent;
	pid_t pid;

	EXPECT(!pipe(p));
	pid = fork();
	if (!pid) {
		pid_t me = getpid();
		if (!fork()) {
			while (getppid() == me)
				usleep(1000);
			parent = getppid();
			EXPECT(write(p[1], &parent, sizeof(parent)) == sizeof(parent));
		}
		_exit(0);
	}
	await_child(pid);
	EXPECT(read(p[0], &parent, sizeof(parent)) == sizeof(parent));
	EXPECT(parent != pid && parent != getpid());
}

static void vfork_shares_memory_and_waits(void)
{
	static volatile int seen;
	int status;
	pid_t pid = vfork();

	if (!pid) {
		seen = 42;
		_exit(3);
	}
	EXPECT(seen == 42);
	EXPECT(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 3);
	pid = vfork();
	if (!pid) {
		execl("/proc/self/exe", "taskcheck", "exit-codes", NULL);
		_exit(9);
	}
	EXPECT(WIFEXITED(status_of(pid, 0)));
}

static void groups_and_sessions(void)
{
	int status;
	pid_t a = spawn_pausing(), b = spawn_pausing();

	EXPECT(getpgid(a) == getpgrp() && getsid(a) == getsid(0));
	EXPECT(!setpgid(a, 0) && getpgid(a) == a);
	EXPECT(!setpgid(b, a) && getpgid(b) == a);
	EXPECT_ERROR(EPERM, setpgid(b, 999999));
	EXPECT_ERROR(ESRCH, setpgid(1, 0));
	EXPECT_ERROR(EINVAL, setpgid(0, -1));
	EXPECT_ERROR(ESRCH, getpgid(999999));
	EXPECT(!kill(-a, SIGKILL));
	EXPECT(WTERMSIG(status_of(a, 0)) == SIGKILL && WTERMSIG(status_of(b, 0)) == SIGKILL);
	EXPECT_ERROR(ESRCH, kill(-a, 0));
	a = fork();
	if (!a) {
		EXPECT(setsid() == getpid() && getsid(0) == getpid() && getpgrp() == getpid());
		EXPECT_ERROR(EPERM, setsid());
		EXPECT_ERROR(EPERM, setpgid(0, 0));
		_exit(0);
	}
	EXPECT(waitpid(a, &status, 0) == a && !status);
}

static void no_setpgid_after_exec(void)
{
	int p[2];
	char c;
	pid_t pid;

	EXPECT(!pipe2(p, O_CLOEXEC));
	pid = fork();
	if (!pid) {
		execlp("sleep", "sleep", "100", NULL);
		_exit(127);
	}
	close(p[1]);
	EXPECT(read(p[0], &c, 1) == 0); /* exec closed the other end */
	EXPECT_ERROR(EACCES, setpgid(pid, 0));
	kill(pid, SIGKILL);
	EXPECT(WIFSIGNALED(status_of(pid, 0)));
}

static void burn(long ns)
{
	struct timespec ts;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	while (ts.tv_sec * 1000 * MS + ts.tv_nsec < ns);
}

static void usage_of_children(void)
{
	struct rusage r;
	struct tms t;
	pid_t pid = fork();
	int status;

	if (!pid) {
		burn(60 * MS);
		_exit(0);
	}
	EXPECT(wait4(pid, &status, 0, &r) == pid);
	long us = (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000 + r.ru_utime.tv_usec +
		  r.ru_stime.tv_usec;
	EXPECT(us >= 55000);
	EXPECT(!getrusage(RUSAGE_CHILDREN, &r));
	EXPECT(r.ru_utime.tv_sec + r.ru_stime.tv_sec > 0 ||
	       r.ru_utime.tv_usec + r.ru_stime.tv_usec >= 55000);
	EXPECT(times(&t) > 0 && t.tms_cutime + t.tms_cstime >= 5);
	EXPECT(!getrusage(RUSAGE_SELF, &r) && !getrusage(RUSAGE_THREAD, &r));
	EXPECT_ERROR(EINVAL, getrusage(7, &r));
}

static void names(void)
{
	char name[16];

	EXPECT(!prctl(PR_SET_NAME, "a name that is too long"));
	EXPECT(!prctl(PR_GET_NAME, name) && !strcmp(name, "a name that is "));
	EXPECT_ERROR(EINVAL, prctl(12345, 0));
}

static void death_of_the_parent(void)
{
	int p[2];
	char c;

	EXPECT(!pipe(p));
	pid_t pid = fork();
	if (!pid) {
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			EXPECT(write(p[1], "x", 1) == 1);
			pause();
		}
		EXPECT(read(p[0], &c, 1) == 1);
		_exit(0);
	}
	await_child(pid);
	close(p[1]);
	EXPECT(read(p[0], &c, 1) == 0); /* the grandchild is dead, too */
}

static int death_signal(void)
{
	int sig = -1;

	EXPECT(!prctl(PR_GET_PDEATHSIG, &sig));
	return sig;
}

struct choice {
	int told[2]; /* a pipe */
	int stays, tid;
};

static void *choose_death(void *choice)
{
	struct choice *c = choice;

	c->tid = gettid();
	EXPECT(!prctl(PR_SET_PDEATHSIG, SIGKILL) && death_signal() == SIGKILL);
	EXPECT(write(c->told[1], "x", 1) == 1);
	while (c->stays)
		pause();
	return NULL;
}

static void lose_parent(struct choice *choice, int tell)
{
	pid_t parent = getppid();
	pthread_t t;
	char c;

	EXPECT(!pipe(choice->told) && !pthread_create(&t, NULL, choose_death, choice));
	EXPECT(read(choice->told[0], &c, 1) == 1 && death_signal() == 0);
	EXPECT(choice->stays || !pthread_join(t, NULL));
	/* A thread that has been joined may still be about to end. */
	while (!choice->stays && !syscall(SYS_tgkill, getpid(), choice->tid, 0))
		usleep(1000);
	EXPECT(write(tell, "x", 1) == 1);
	while (getppid() == parent)
		usleep(1000);
	EXPECT(!setpgid(0, 0)); /* by the lock under which the signal is sent */
	EXPECT(write(tell, "y", 1) == 1);
	_exit(0);
}

/* Does a process outlive its parent if a thread chose death, which stays or not? */
static int outlives(int stays)
{
	struct choice choice = { .stays = stays };
	int p[2];
	char c;

	EXPECT(!pipe(p));
	pid_t pid = fork();
	if (!pid) {
		if (!fork())
			lose_parent(&choice, p[1]);
		_exit(read(p[0], &c, 1) != 1);
	}
	await_child(pid);
	EXPECT(!close(p[1]));
	return read(p[0], &c, 1) == 1;
}

/* The signal is the choice of a thread: it goes with the thread, or with its identity. */
static void deaths_that_threads_chose(void)
{
	EXPECT(outlives(0) && !outlives(1));
	if (geteuid())
		return;
	EXPECT(!prctl(PR_SET_PDEATHSIG, SIGKILL) && !setresuid(1000, 1000, 1000));
	EXPECT(death_signal() == 0);
}

static void limits(void)
{
	struct rlimit r;

	EXPECT(!getrlimit(RLIMIT_STACK, &r) && r.rlim_cur >= 1 << 20);
	EXPECT(!getrlimit(RLIMIT_NOFILE, &r) && r.rlim_cur >= 256);
	r.rlim_cur = 32;
	EXPECT(!setrlimit(RLIMIT_NOFILE, &r));
	EXPECT_ERROR(EMFILE, dup2(0, 40) < 0 && errno == EBADF ? (errno = EMFILE, -1) : -1);
	for (int fd; (fd = dup(0)) >= 0;)
		EXPECT(fd < 32);
	EXPECT(errno == EMFILE);
	r.rlim_cur = r.rlim_max + 1;
	EXPECT_ERROR(EINVAL, r.rlim_max == RLIM_INFINITY ? (errno = EINVAL, -1)
							 : setrlimit(RLIMIT_NOFILE, &r));
	EXPECT_ERROR(EINVAL, syscall(SYS_prlimit64, 0, 99, NULL, &r));
	EXPECT_ERROR(ESRCH, syscall(SYS_prlimit64, 999999, RLIMIT_STACK, NULL, &r));
}

/* CLONE_PARENT: a sibling tells the parent of its end as its maker would. */
static void siblings(void)
{
	pid_t maker = fork(), sibling = 0;
	int status = 0;

	EXPECT(maker >= 0);
	if (!maker)
		_exit(syscall(SYS_clone, CLONE_PARENT, 0, 0, 0, 0) < 0);
	EXPECT(status_of(maker, 0) == 0);
	sibling = wait(&status);
	EXPECT(sibling > 0 && sibling != maker && !status);
}

/* The last field of /proc/PID/stat, the wait status. */
static int status_in_proc(pid_t pid)
{
	char path[32], line[1024];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	EXPECT((fd = open(path, O_RDONLY)) >= 0);
	ssize_t len = read(fd, line, sizeof(line) - 1);
	EXPECT(len > 0 && !close(fd));
	line[len] = 0;
	return atoi(strrchr(line, ' '));
}

static void zombies_show_their_status(void)
{
	int code = 3;
	siginfo_t info;
	pid_t pid = spawn(exit_with, &code);

	EXPECT(status_in_proc(getpid()) == 0);
	EXPECT(!waitid(P_PID, pid, &info, WEXITED | WNOWAIT));
	EXPECT(status_in_proc(pid) == code << 8);
	status_of(pid, 0);
	pid = spawn_pausing();
	EXPECT(!kill(pid, SIGTERM));
	EXPECT(!waitid(P_PID, pid, &info, WEXITED | WNOWAIT));
	EXPECT(status_in_proc(pid) == SIGTERM);
	status_of(pid, 0);
}

static void many_generations(void)
{
	for (int i = 0; i < 300; i++)
		await_child(spawn(nothing, NULL));
	pid_t pids[50];
	for (int i = 0; i < 50; i++)
		pids[i] = spawn_pausing();
	for (int i = 0; i < 50; i++)
		kill(pids[i], SIGKILL);
	for (int i = 0; i < 50; i++)
		EXPECT(WTERMSIG(status_of(pids[i], 0)) == SIGKILL);
}

/* A parent that ignores SIGCHLD is sent none, so none is pending where it is blocked, too. */
static void ignored_ends_are_not_told(void)
{
	sigset_t blocked, pending;
	pid_t pid;

	signal(SIGCHLD, SIG_IGN);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	EXPECT(!sigprocmask(SIG_BLOCK, &blocked, NULL));
	pid = fork();
	if (!pid)
		_exit(0);
	EXPECT_ERROR(ECHILD, waitpid(pid, NULL, 0));
	EXPECT(!sigpending(&pending) && !sigismember(&pending, SIGCHLD));
}

static void end_with_two_signals(void *sig)
{
	const struct rlimit two = { 2, 2 };
	const union sigval none = { 0 };
	sigset_t all;

	EXPECT(!setrlimit(RLIMIT_SIGPENDING, &two) && (geteuid() || !setuid(4321)));
	sigfillset(&all);
	EXPECT(!sigprocmask(SIG_BLOCK, &all, NULL));
	EXPECT(!sigqueue(getpid(), *(int *)sig, none) && !sigqueue(getpid(), SIGRTMAX, none));
}

/* Signals that nobody took end with their process: the user may have as many again. */
static void pending_signals_end(void)
{
	for (int sig = 1; sig <= SIGRTMAX; sig++)
		if (sig != SIGKILL && sig != SIGSTOP && (sig < 32 || sig >= SIGRTMIN))
			await_child(spawn(end_with_two_signals, &sig));
}

/* A fault of its own would end process 1, the same signal from another process does not. */
static void the_first_process_is_spared(void)
{
	if (access("/proc/fairground", F_OK))
		return; /* another system's process 1 may have a handler */
	EXPECT(!kill(1, SIGSEGV) && !kill(1, SIGKILL) && !kill(1, SIGHUP));
	EXPECT(!kill(1, 0));
}

const struct check process_tests[] = {
	{ "ignored-ends", ignored_ends_are_not_told },
	{ "pending-ends", pending_signals_end },
	{ "first-process", the_first_process_is_spared },
	{ "exit-codes", exit_codes },
	{ "wait-some", waiting_for_some },
	{ "waitid", waitid_leaves_and_takes },
	{ "waitid-user", waitid_tells_the_user },
	{ "no-core", no_core },
	{ "zombie-status", zombies_show_their_status },
	{ "wait-ignored", ignored_children_vanish },
	{ "orphans", orphans_go_to_another_parent },
	{ "vfork", vfork_shares_memory_and_waits },
	{ "groups", groups_and_sessions },
	{ "setpgid-exec", no_setpgid_after_exec },
	{ "usage", usage_of_children },
	{ "names", names },
	{ "pdeathsig", death_of_the_parent },
	{ "deaths-that-threads-chose", deaths_that_threads_chose },
	{ "limits", limits },
	{ "siblings", siblings },
	{ "generations", many_generations },
	{ NULL, NULL },
};
