/* SPDX-License-Identifier: GPL-2.0-only */
/* Threads, signals and timers are counted by user: RLIMIT_NPROC and RLIMIT_SIGPENDING. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "limitcheck/limitcheck.h"

static pid_t fork_pausing(void)
{
	pid_t pid = fork();

	if (!pid)
		for (;;)
			pause();
	return pid;
}

static void end(pid_t pid)
{
	EXPECT(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid);
}

/* --- threads -------------------------------------------------------------------------------- */

static void *wait_for_signal(void *arg)
{
	pause();
	return arg;
}

/* The caller is one of them; one that ended counts until it is waited for. */
static void threads_of_a_user(void)
{
	pthread_t thread;
	siginfo_t info;
	pid_t pids[3];

	become(ALICE);
	limit(RLIMIT_NPROC, 4);
	for (int i = 0; i < 3; i++)
		EXPECT((pids[i] = fork_pausing()) > 0);
	EXPECT_ERROR(EAGAIN, fork());
	EXPECT(pthread_create(&thread, NULL, wait_for_signal, NULL) == EAGAIN);
	EXPECT(!kill(pids[0], SIGKILL) && !waitid(P_PID, (id_t)pids[0], &info, WEXITED | WNOWAIT));
	EXPECT_ERROR(EAGAIN, fork());
	EXPECT(waitpid(pids[0], NULL, 0) == pids[0]);
	EXPECT(!pthread_create(&thread, NULL, wait_for_signal, NULL));
	EXPECT_ERROR(EAGAIN, fork());
	end(pids[1]);
	EXPECT((pids[1] = fork_pausing()) > 0);
	end(pids[1]);
	end(pids[2]);
}

/* Neither root nor another user can fork less because one has all that it may have. */
static void threads_of_others(void)
{
	int full[2];
	char byte;
	pid_t bob;

	EXPECT(!prctl(PR_SET_CHILD_SUBREAPER, 1) && !pipe(full));
	if (!fork()) {
		become(ALICE);
		limit(RLIMIT_NPROC, 30);
		while (fork_pausing() > 0)
			;
		_exit(write(full[1], "", 1) != 1 || pause());
	}
	if (!geteuid())
		EXPECT(read(full[0], &byte, 1) == 1);
	bob = fork();
	if (!bob) {
		become(BOB);
		limit(RLIMIT_NPROC, 3);
		EXPECT(fork_pausing() > 0 && fork_pausing() > 0);
		EXPECT_ERROR(EAGAIN, fork());
		kill(0, SIGKILL);
	}
	EXPECT(waitpid(bob, NULL, 0) == bob);
	limit(RLIMIT_NPROC, geteuid() ? 1000 : 1);
	end(fork_pausing());
	if (!fork()) { /* it may end them all */
		become(ALICE);
		_exit(kill(-1, SIGKILL));
	}
	while (wait(NULL) > 0)
		;
}

/* A thread counts for the user that it becomes, and no longer for the one that it was. */
static void a_thread_changes_its_user(void)
{
	pid_t pid;

	if (geteuid())
		return;
	limit(RLIMIT_NPROC, 2);
	for (int i = 0; i < 10; i++)
		EXPECT(!setresuid(ALICE, -1, 0) && !setresuid(CAROL, -1, 0));
	become(CAROL);
	EXPECT((pid = fork_pausing()) > 0);
	EXPECT_ERROR(EAGAIN, fork());
	end(pid);
}

/* --- signals -------------------------------------------------------------------------------- */

static int queue(pid_t pid, int sig, int value)
{
	return sigqueue(pid, sig, (union sigval){ .sival_int = value });
}

static sigset_t block(int a, int b)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, a);
	sigaddset(&set, b);
	EXPECT(!sigprocmask(SIG_BLOCK, &set, NULL));
	return set;
}

static void signals_of_a_user(void)
{
	sigset_t set = block(SIGRTMIN, SIGUSR1);
	siginfo_t info;

	become(ALICE);
	limit(RLIMIT_SIGPENDING, 3);
	for (int i = 0; i < 3; i++)
		EXPECT(!queue(getpid(), SIGRTMIN, i));
	EXPECT_ERROR(EAGAIN, queue(getpid(), SIGRTMIN, 3));
	EXPECT(!kill(getpid(), SIGRTMIN)); /* already pending: it says no more */
	EXPECT(!queue(getpid(), SIGUSR1, 7));
	EXPECT(sigwaitinfo(&set, &info) == SIGUSR1 && info.si_code == SI_USER && !info.si_pid);
	EXPECT(!kill(getpid(), SIGUSR1)); /* there is always room for this one */
	EXPECT(sigwaitinfo(&set, &info) == SIGUSR1 && info.si_pid == getpid());
	for (int i = 0; i < 3; i++)
		EXPECT(sigwaitinfo(&set, &info) == SIGRTMIN && info.si_value.sival_int == i);
	EXPECT(!queue(getpid(), SIGRTMIN, 3));
}

static void has_room_for_one(void *unused)
{
	(void)unused;
	become(BOB);
	limit(RLIMIT_SIGPENDING, 1);
	EXPECT(!queue(getpid(), SIGRTMIN, 1));
}

/*
 * The receiver pays: signals of one user that are pending are nothing to another. Root's are not
 * counted here, because other programs of the machine have some.
 */
static void signals_of_others(void)
{
	int ready[2];
	char byte;
	pid_t pid;

	EXPECT(!pipe(ready));
	block(SIGRTMIN, SIGUSR1);
	pid = fork();
	if (!pid) {
		become(ALICE);
		limit(RLIMIT_SIGPENDING, 2);
		_exit(write(ready[1], "", 1) != 1 || pause());
	}
	if (geteuid())
		return;
	EXPECT(read(ready[0], &byte, 1) == 1);
	EXPECT(!queue(pid, SIGRTMIN, 1) && !queue(pid, SIGRTMIN, 2));
	EXPECT_ERROR(EAGAIN, queue(pid, SIGRTMIN, 3));
	await_child(spawn(has_room_for_one, NULL));
	end(pid);
	become(ALICE); /* all was given back */
	limit(RLIMIT_SIGPENDING, 1);
	EXPECT(!queue(getpid(), SIGRTMIN, 1));
}

/* Each timer is one of them for as long as it exists, and its signal finds room. */
static void timers_are_signals(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 1 };
	struct itimerspec soon = { .it_value.tv_nsec = 1000000 };
	sigset_t set = block(SIGRTMIN, SIGRTMIN + 1);
	timer_t a, b;
	siginfo_t info;

	become(ALICE);
	limit(RLIMIT_SIGPENDING, 2);
	EXPECT(!timer_create(CLOCK_MONOTONIC, &event, &a));
	EXPECT(!timer_create(CLOCK_MONOTONIC, &event, &b));
	EXPECT_ERROR(EAGAIN, timer_create(CLOCK_MONOTONIC, &event, &b));
	EXPECT_ERROR(EAGAIN, queue(getpid(), SIGRTMIN, 1));
	EXPECT(!timer_settime(a, 0, &soon, NULL));
	EXPECT(sigwaitinfo(&set, &info) == SIGRTMIN + 1 && info.si_code == SI_TIMER);
	EXPECT(!timer_delete(b) && !queue(getpid(), SIGRTMIN, 1));
}

const struct check user_tests[] = {
	{ "threads-of-a-user", threads_of_a_user },
	{ "threads-of-others", threads_of_others },
	{ "a-thread-changes-its-user", a_thread_changes_its_user },
	{ "signals-of-a-user", signals_of_a_user },
	{ "signals-of-others", signals_of_others },
	{ "timers-are-signals", timers_are_signals },
	{ NULL, NULL },
};
