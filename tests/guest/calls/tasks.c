/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls about processes, threads, memory and signals. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"

#define PAGE	   4096
#define SOME_PAGES (16 * PAGE)
#define A_THREAD   (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD)

enum { FUTEX_WAIT, FUTEX_WAKE, FUTEX_CMP_REQUEUE = 4, FUTEX_WAKE_OP };

static const char *const again[] = { "again", "--after-exec", NULL };
static const char *const no_words[] = { NULL };
static char memory[64 * PAGE] __attribute__((aligned(4096)));
static char stack[PAGE] __attribute__((aligned(16)));
static struct {
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
} clone_of = { .exit_signal = SIGCHLD };
static struct sigaction action;
static struct {
	void *handler;
	unsigned long flags;
	void *restorer;
	sigset_t mask;
} raw_action, old_action;
static sigset_t signals, old_signals;
static siginfo_t info = { .si_code = SI_QUEUE };
static stack_t alternate = { .ss_sp = memory, .ss_size = sizeof(memory) };
static struct rlimit limit;
static struct rusage used;
static struct tms ticks;
static int number, other;
static unsigned numbers[32], word;
static unsigned ids[3];
static const struct timespec no_time;
static struct {
	uint32_t version;
	int pid;
} capability = { 0x20080522, 0 };
static uint32_t capabilities[6];
static unsigned long mode_mask[1] = { 1 };
static struct {
	void *list;
	long offset;
	void *pending;
} robust = { &robust, 0, NULL };
static void *robust_of;
static size_t size_of;

static void on_signal(int sig)
{
	(void)sig;
}

static void catch_signals(void)
{
	action.sa_handler = on_signal;
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
}

/*
 * No CPU has a stack or tables left from the dead. The children end with this process. Scripts of
 * fuzz, which leave some themselves, need few.
 */
static void have_children(void)
{
	int i, ends[2], nr = forgiving ? 4 : 40;
	char none;

	must(pipe(ends), "pipe");
	for (i = 0; i < nr; i++)
		if (!must(fork(), "fork")) {
			close(ends[1]);
			(void)!read(ends[0], &none, 1);
			_exit(0);
		}
}

static void be_alone(void)
{
	setpgid(0, 0);
	catch_signals();
}

static void have_zombie(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
}

static void alarm_soon(void)
{
	struct itimerval soon = { { 0, 20000 }, { 0, 20000 } };

	catch_signals();
	setitimer(ITIMER_REAL, &soon, NULL);
}

static void map_memory(void)
{
	madvise(memory, sizeof(memory), MADV_NORMAL);
	memory[0] = 1;
}

static void wait_for_rt(void)
{
	sigaddset(&signals, SIGUSR2);
}

static void be_leader(void)
{
	setpgid(0, 0);
}

const struct row task_rows[] = {
	ROW(mmap, 0, SOME_PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	ROW_AS(mmap, "shared", 0, NULL, 0, SOME_PAGES, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1,
	       0),
	ROW_AS(mmap, "file", 0, NULL, 0, 2 * PAGE, PROT_READ, MAP_PRIVATE, A_FILE, 0),
	ROW_AS(mmap, "populate", 0, NULL, 0, SOME_PAGES, PROT_READ | PROT_WRITE,
	       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0),
	ROW_AS(mmap, "fixed", 0, map_memory, P(memory) + 8 * PAGE, PAGE, PROT_READ,
	       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
	ROW_AS(mprotect, "", 0, map_memory, P(memory) + 8 * PAGE, PAGE, PROT_READ),
	ROW_AS(munmap, "", 0, map_memory, P(memory) + 8 * PAGE, PAGE),
	ROW(brk, 0),
	ROW_AS(mremap, "", ONCE, map_memory, P(memory) + 8 * PAGE, PAGE, 20 * PAGE, MREMAP_MAYMOVE),
	ROW(msync, P(memory), PAGE, MS_SYNC),
	ROW(mincore, P(memory), PAGE, P(buffer)),
	ROW(madvise, P(memory), sizeof(memory), MADV_DONTNEED),
	ROW_AS(madvise, "dofork", 0, map_memory, P(memory) + 8 * PAGE, PAGE, MADV_DONTFORK),
	ROW_AS(madvise, "populate", 0, NULL, P(memory), sizeof(memory), 23),
	ROW(mlock, P(memory) + 8 * PAGE, PAGE),
	ROW(munlock, P(memory) + 8 * PAGE, PAGE),
	ROW(mlockall, MCL_FUTURE),
	ROW(munlockall, 0),
	ROW(rt_sigaction, SIGUSR1, P(&raw_action), P(&old_action), 8),
	ROW(rt_sigprocmask, SIG_BLOCK, P(&signals), P(&old_signals), 8),
	ROW(sched_yield, 0),
	ROW_AS(pause, "", MAY_DIE, alarm_soon, 0),
	ROW(getpid, 0),
	ROW_AS(clone, "", FORKS, NULL, SIGCHLD | CLONE_PARENT_SETTID, 0, P(&number), P(&other)),
	ROW_AS(clone, "thread", FORKS, NULL, A_THREAD, P(stack + sizeof(stack)), 0, 0, 0),
	ROW_AS(fork, "", FORKS, NULL, 0),
	ROW_AS(fork, "fresh", FORKS, have_children, 0),
	ROW_AS(clone, "fresh thread", FORKS, have_children, A_THREAD, P(stack + sizeof(stack)), 0,
	       0, 0),
	ROW_AS(execve, "fresh", EXECS, have_children, P("/proc/self/exe"), P(again), P(no_words)),
	ROW_AS(vfork, "", FORKS, NULL, 0),
	ROW_AS(clone3, "", FORKS, NULL, P(&clone_of), sizeof(clone_of)),
	ROW_AS(execve, "", EXECS, NULL, P("/proc/self/exe"), P(again), P(no_words)),
	ROW_AS(execve, "no program", 0, NULL, P("file"), P(again), P(no_words)),
	ROW_AS(exit, "", ENDS, NULL, 0),
	ROW_AS(exit_group, "", ENDS, NULL, 0),
	ROW_AS(wait4, "", ONCE, have_zombie, -1, P(&number), 0, P(&used)),
	ROW_AS(waitid, "", ONCE, have_zombie, P_ALL, 0, P(&info), WEXITED, P(&used)),
	ROW_AS(kill, "", MAY_DIE, catch_signals, 0, SIGCHLD),
	{ "rt_sigreturn by kill", SYS_kill, { 0, SIGUSR1 }, MAY_DIE, be_alone },
	ROW_AS(tkill, "", 0, NULL, 1, 0),
	ROW_AS(tgkill, "", 0, NULL, 1, 1, 0),
	ROW(umask, 022),
	ROW(getrlimit, RLIMIT_CPU, P(&limit)),
	ROW(setrlimit, RLIMIT_CORE, P(&limit)),
	ROW(prlimit64, 0, RLIMIT_CORE, P(&limit), P(&limit)),
	ROW(getrusage, 0, P(&used)),
	ROW(times, P(&ticks)),
	ROW(getuid, 0),
	ROW(getgid, 0),
	ROW(geteuid, 0),
	ROW(getegid, 0),
	ROW(setuid, 1234),
	ROW(setgid, 1234),
	ROW(setreuid, 1234, -1),
	ROW(setregid, 1234, -1),
	ROW(getgroups, 32, P(numbers)),
	ROW(setgroups, 20, P(numbers)),
	ROW(setresuid, 1234, -1, -1),
	ROW(getresuid, P(ids), P(ids + 1), P(ids + 2)),
	ROW(setresgid, 1234, -1, -1),
	ROW(getresgid, P(ids), P(ids + 1), P(ids + 2)),
	ROW(setfsuid, 1234),
	ROW(setfsgid, 1234),
	ROW(setpgid, 0, 0),
	ROW(getpgid, 0),
	ROW(getpgrp, 0),
	ROW(getppid, 0),
	ROW(getsid, 0),
	ROW_AS(setsid, "", ONCE, NULL, 0),
	ROW_AS(setsid, "leader", 0, be_leader, 0),
	ROW(capget, P(&capability), P(capabilities)),
	ROW(capset, P(&capability), P(capabilities)),
	ROW(rt_sigpending, P(&signals), 8),
	ROW_AS(rt_sigtimedwait, "", ONCE, wait_for_rt, P(&signals), P(&info), P(&no_time), 8),
	ROW(rt_sigqueueinfo, 1, 0, P(&info)),
	ROW(rt_tgsigqueueinfo, 1, 1, 0, P(&info)),
	ROW_AS(rt_sigsuspend, "", MAY_DIE, alarm_soon, P(&old_signals), 8),
	ROW(sigaltstack, P(&alternate), P(&alternate)),
	ROW(prctl, PR_SET_NAME, P("name")),
	ROW_AS(prctl, "get name", 0, NULL, PR_GET_NAME, P(buffer)),
	ROW(arch_prctl, 0x1003, P(&robust_of)),
	ROW(gettid, 0),
	ROW(futex, P(&word), FUTEX_WAIT, 0, P(&no_time), 0, 0),
	ROW_AS(futex, "wake", 0, NULL, P(&word), FUTEX_WAKE, 1),
	ROW_AS(futex, "requeue", 0, NULL, P(&word), FUTEX_CMP_REQUEUE, 1, 1, P(numbers), 0),
	ROW_AS(futex, "wake op", 0, NULL, P(&word), FUTEX_WAKE_OP, 1, 1, P(numbers), 0),
	ROW(set_tid_address, P(&number)),
	ROW(restart_syscall, 0),
	ROW(set_robust_list, P(&robust), sizeof(robust)),
	ROW(get_robust_list, 0, P(&robust_of), P(&size_of)),
	ROW(mbind, P(memory), PAGE, 0, 0, 0, 0),
	ROW(set_mempolicy, 0, 0, 0),
	ROW(get_mempolicy, P(&number), P(mode_mask), 64, 0, 0),
	ROW(migrate_pages, 0, 64, P(mode_mask), P(mode_mask)),
	{ 0 },
};
