/* SPDX-License-Identifier: GPL-2.0-only */
/* Handlers, masks, queues, restarts, stop and continue. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "taskcheck/taskcheck.h"

static volatile int nr_calls, last_code, last_value, last_pid;
static volatile uintptr_t last_sp;

static void note(int sig, siginfo_t *info, void *context)
{
	int here;

	(void)sig, (void)context;
	nr_calls++;
	last_code = info->si_code;
	last_value = info->si_value.sival_int;
	last_pid = info->si_pid;
	last_sp = (uintptr_t)&here;
}

static void catch (int sig, int flags)
{
	struct sigaction a = { .sa_sigaction = note, .sa_flags = SA_SIGINFO | flags };

	EXPECT(!sigaction(sig, &a, NULL));
	nr_calls = 0;
}

static sigset_t set_of(int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	return set;
}

static void block(int how, int sig)
{
	sigset_t set = set_of(sig);

	EXPECT(!sigprocmask(how, &set, NULL));
}

static void handlers(void)
{
	struct sigaction a, old = { 0 };

	catch (SIGUSR1, 0);
	EXPECT(!kill(getpid(), SIGUSR1) && nr_calls == 1);
	EXPECT(last_code == SI_USER && last_pid == getpid());
	EXPECT(!raise(SIGUSR1) && nr_calls == 2 && last_code == SI_TKILL);
	EXPECT(!sigaction(SIGUSR1, NULL, &old) && old.sa_sigaction == note);
	catch (SIGUSR1, SA_RESETHAND);
	raise(SIGUSR1);
	EXPECT(!sigaction(SIGUSR1, NULL, &old) && old.sa_handler == SIG_DFL && nr_calls == 1);
	a = (struct sigaction){ .sa_handler = SIG_IGN };
	EXPECT_ERROR(EINVAL, sigaction(SIGKILL, &a, NULL));
	EXPECT_ERROR(EINVAL, sigaction(SIGSTOP, &a, NULL));
	EXPECT(!sigaction(SIGKILL, NULL, &old));
	EXPECT_ERROR(EINVAL, kill(getpid(), 65));
	EXPECT_ERROR(EINVAL, syscall(SYS_rt_sigaction, 0, NULL, &old, 8));
	EXPECT_ERROR(EINVAL, syscall(SYS_rt_sigaction, 65, NULL, &old, 8));
	EXPECT(!kill(getpid(), 0));
}

static volatile int depth, deepest, nr_raised;

static void nest(int sig)
{
	if (++depth > deepest)
		deepest = depth;
	if (nr_raised++ < 2)
		raise(sig);
	depth--;
}

static void nesting(void)
{
	struct sigaction a = { .sa_handler = nest };

	sigaction(SIGUSR2, &a, NULL);
	raise(SIGUSR2);
	EXPECT(deepest == 1 &&
	       nr_raised == 3); /* blocked while its handler runs, delivered after */
	a.sa_flags = SA_NODEFER;
	sigaction(SIGUSR2, &a, NULL);
	deepest = nr_raised = 0;
	raise(SIGUSR2);
	EXPECT(deepest == 3);
}

static void masks(void)
{
	sigset_t pending, old, set = set_of(SIGUSR1);

	catch (SIGUSR1, 0);
	block(SIG_BLOCK, SIGUSR1);
	kill(getpid(), SIGUSR1);
	kill(getpid(), SIGUSR1);
	EXPECT(nr_calls == 0 && !sigpending(&pending) && sigismember(&pending, SIGUSR1));
	block(SIG_UNBLOCK, SIGUSR1);
	EXPECT(nr_calls == 1); /* ordinary signals are pending once */
	block(SIG_BLOCK, SIGUSR1);
	raise(SIGUSR1);
	sigemptyset(&old);
	EXPECT_ERROR(EINTR, sigsuspend(&old));
	EXPECT(nr_calls == 2 && !sigprocmask(SIG_SETMASK, NULL, &old) &&
	       sigismember(&old, SIGUSR1));
	EXPECT_ERROR(EINVAL, syscall(SYS_rt_sigprocmask, 9, &set, NULL, 8));
	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	sigprocmask(SIG_SETMASK, NULL, &set);
	EXPECT(!sigismember(&set, SIGKILL) && !sigismember(&set, SIGSTOP));
	/* A signal that becomes ignored is pending no more. */
	raise(SIGUSR1);
	signal(SIGUSR1, SIG_IGN);
	EXPECT(!sigpending(&pending) && !sigismember(&pending, SIGUSR1));
}

static void queues(void)
{
	union sigval value;
	sigset_t set = set_of(SIGRTMIN + 1);
	siginfo_t info;
	struct timespec soon = { 0, 10 * MS };

	block(SIG_BLOCK, SIGRTMIN + 1);
	for (int i = 0; i < 20; i++) {
		value.sival_int = i;
		EXPECT(!sigqueue(getpid(), SIGRTMIN + 1, value));
	}
	for (int i = 0; i < 20; i++) {
		EXPECT(sigtimedwait(&set, &info, &soon) == SIGRTMIN + 1);
		EXPECT(info.si_value.sival_int == i && info.si_code == SI_QUEUE);
	}
	EXPECT_ERROR(EAGAIN, sigtimedwait(&set, &info, &soon));
	soon.tv_nsec = 2000 * MS;
	EXPECT_ERROR(EINVAL, sigtimedwait(&set, &info, &soon));
}

static void send_when_asleep(void *pid)
{
	await_sleep(*(pid_t *)pid, *(pid_t *)pid);
	kill(*(pid_t *)pid, SIGRTMIN + 2);
}

static void waiting(void)
{
	sigset_t set = set_of(SIGRTMIN + 2);
	pid_t me = getpid(), pid;
	siginfo_t info;

	block(SIG_BLOCK, SIGRTMIN + 2);
	pid = spawn(send_when_asleep, &me);
	EXPECT(sigwaitinfo(&set, &info) == SIGRTMIN + 2 && info.si_pid == pid);
	await_child(pid);
	/* Another signal with a handler ends the wait. */
	block(SIG_UNBLOCK, SIGRTMIN + 2);
	catch (SIGRTMIN + 2, SA_RESTART);
	set = set_of(SIGUSR1);
	block(SIG_BLOCK, SIGUSR1);
	pid = spawn(send_when_asleep, &me);
	EXPECT_ERROR(EINTR,
		     syscall(SYS_rt_sigtimedwait, &set, &info, NULL, 8)); /* musl would try again */
	await_child(pid);
	EXPECT(nr_calls == 1);
}

static void restarting(void)
{
	pid_t me = getpid(), pid;
	int p[2];
	char c;

	EXPECT(!pipe(p));
	catch (SIGRTMIN + 2, 0);
	pid = spawn(send_when_asleep, &me);
	EXPECT_ERROR(EINTR, read(p[0], &c, 1));
	await_child(pid);
	catch (SIGRTMIN + 2, SA_RESTART);
	pid = fork();
	if (!pid) {
		send_when_asleep(&me);
		sleep_ms(30);
		EXPECT(write(p[1], "y", 1) == 1);
		_exit(0);
	}
	EXPECT(read(p[0], &c, 1) == 1 && c == 'y' && nr_calls == 1);
	await_child(pid);
	pid = spawn(send_when_asleep, &me);
	EXPECT_ERROR(EINTR, pause()); /* never restarted after a handler */
	await_child(pid);
}

static volatile stack_t stack_told;

static void note_stack(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info;
	stack_told = ((ucontext_t *)context)->uc_stack;
}

/* A handler learns which stack there is, whether it runs on it or not. */
static void handler_learns_the_stack(void)
{
	static char stack[16384];
	const stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) };
	const int flags[] = { SA_SIGINFO, SA_SIGINFO | SA_ONSTACK };

	for (int i = 0; i < 2; i++) {
		struct sigaction action = { .sa_sigaction = note_stack, .sa_flags = flags[i] };

		EXPECT(!sigaction(SIGUSR1, &action, NULL));
		raise(SIGUSR1);
		EXPECT(!stack_told.ss_sp == !i && !stack_told.ss_size == !i);
		EXPECT(!sigaltstack(&ss, NULL));
		raise(SIGUSR1);
		EXPECT(stack_told.ss_sp == stack && stack_told.ss_size == sizeof(stack));
		EXPECT(!stack_told.ss_flags);
	}
}

static void raise_again(int sig)
{
	raise(sig);
}

enum { ALTSTACK = 1 << 16 };

/* Handlers in handlers, on the upper half of @memory. */
static void fill_the_stack(void *memory)
{
	const stack_t ss = { .ss_sp = (char *)memory + ALTSTACK, .ss_size = ALTSTACK };
	const struct sigaction action = { .sa_handler = raise_again,
					  .sa_flags = SA_ONSTACK | SA_NODEFER };

	EXPECT(!sigaltstack(&ss, NULL) && !sigaction(SIGUSR1, &action, NULL));
	raise(SIGUSR1);
}

/* A signal stack that is full ends the process; what lies below it stays as it is. */
static void full_stack_is_left_alone(void)
{
	char *memory =
		mmap(NULL, 2 * ALTSTACK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	EXPECT(memory != MAP_FAILED);
	EXPECT(WTERMSIG(status_of(spawn(fill_the_stack, memory), 0)) == SIGSEGV);
	for (int i = 0; i < ALTSTACK / 2; i++)
		EXPECT(!memory[i]);
}

static void alternate_stack(void)
{
	static char stack[16384];
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) }, old;

	EXPECT(!sigaltstack(&ss, NULL));
	catch (SIGUSR1, SA_ONSTACK);
	raise(SIGUSR1);
	EXPECT(last_sp >= (uintptr_t)stack && last_sp < (uintptr_t)stack + sizeof(stack));
	catch (SIGUSR1, 0);
	raise(SIGUSR1);
	EXPECT(last_sp < (uintptr_t)stack || last_sp >= (uintptr_t)stack + sizeof(stack));
	ss.ss_size = 100;
	EXPECT_ERROR(ENOMEM, sigaltstack(&ss, NULL));
	EXPECT(!sigaltstack(NULL, &old) && old.ss_sp == stack && !(old.ss_flags & SS_DISABLE));
	ss.ss_flags = SS_DISABLE;
	EXPECT(!sigaltstack(&ss, NULL) && !sigaltstack(NULL, &old) && (old.ss_flags & SS_DISABLE));
}

static volatile double before_signal;

static void spoil_registers(int sig)
{
	(void)sig;
	for (int i = 0; i < 100; i++)
		before_signal = before_signal * 1.5 + i;
	before_signal = 0;
}

static void registers_survive(void)
{
	double x = 1.25, y = 3.5;
	struct sigaction a = { .sa_handler = spoil_registers };
	register long b __asm__("r15") = 0x123456789abcdef;

	sigaction(SIGUSR1, &a, NULL);
	for (int i = 0; i < 50; i++) {
		x = x * 1.0000001 + y;
		kill(getpid(), SIGUSR1);
	}
	EXPECT(x > 176 && x < 177);
	EXPECT(b == 0x123456789abcdef);
}

static sigjmp_buf after;
static volatile int *volatile nowhere = (int *)8;

/* The part of FXSAVE's area that the instruction leaves as it is. */
enum { FX_UNWRITTEN = 416, FX_SOFTWARE = 464, FX_END = 512 };
static unsigned char unwritten[FX_END - FX_UNWRITTEN];

static void keep_unwritten(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;

	(void)sig, (void)info;
	memcpy(unwritten, (const char *)uc->uc_mcontext.fpregs + FX_UNWRITTEN, sizeof(unwritten));
}

/* A handler must not find there what the kernel's stack held. Linux writes the software's part. */
static void frame_is_clean(void)
{
	struct sigaction a = { .sa_sigaction = keep_unwritten, .sa_flags = SA_SIGINFO };
	uint64_t word;

	EXPECT(!sigaction(SIGUSR1, &a, NULL));
	raise(SIGUSR1);
	for (unsigned i = 0; i < FX_SOFTWARE - FX_UNWRITTEN; i++)
		EXPECT(!unwritten[i]);
	for (unsigned i = FX_SOFTWARE - FX_UNWRITTEN; i < sizeof(unwritten); i += sizeof(word)) {
		memcpy(&word, unwritten + i, sizeof(word));
		EXPECT(word >> 47 == 0);
	}
}

static void leave(int sig)
{
	siglongjmp(after, sig);
}

static void faults(void)
{
	static const int sigs[] = { SIGSEGV, SIGFPE, SIGILL };
	struct sigaction a = { .sa_handler = leave };
	volatile int zero = 0;

	for (unsigned i = 0; i < 3; i++)
		sigaction(sigs[i], &a, NULL);
	if (!sigsetjmp(after, 1))
		*nowhere = 1;
	if (sigsetjmp(after, 1) == 0)
		zero = 1 / zero;
	if (sigsetjmp(after, 1) == 0)
		__asm__ volatile("ud2");
	/* A fault cannot be blocked: the default action follows. */
	pid_t pid = fork();
	if (!pid) {
		block(SIG_BLOCK, SIGSEGV);
		*nowhere = 1;
		_exit(0);
	}
	EXPECT(WTERMSIG(status_of(pid, 0)) == SIGSEGV);
	pid = fork();
	if (!pid) {
		signal(SIGSEGV, SIG_IGN);
		*nowhere = 1;
		_exit(0);
	}
	EXPECT(WTERMSIG(status_of(pid, 0)) == SIGSEGV);
}

static void stop_and_continue(void)
{
	pid_t pid;
	int status = 0;

	catch (SIGCHLD, 0);
	pid = spawn_pausing();
	EXPECT(!kill(pid, SIGSTOP));
	EXPECT(waitpid(pid, &status, WUNTRACED) == pid || errno == EINTR);
	if (!nr_calls || !WIFSTOPPED(status))
		EXPECT(waitpid(pid, &status, WUNTRACED) == pid);
	EXPECT(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	EXPECT(nr_calls == 1 && last_code == CLD_STOPPED);
	EXPECT(waitpid(pid, &status, WUNTRACED | WNOHANG) == 0); /* told once */
	kill(pid, SIGTERM);					 /* waits until it continues */
	sleep_ms(20);
	EXPECT(waitpid(pid, &status, WNOHANG) == 0);
	kill(pid, SIGCONT);
	do
		EXPECT(waitpid(pid, &status, 0) == pid || errno == EINTR);
	while (errno == EINTR && (errno = 0, 1) && !WIFSIGNALED(status));
	EXPECT(WTERMSIG(status) == SIGTERM);
}

static void continue_is_reported(void)
{
	pid_t pid = spawn_pausing();

	kill(pid, SIGSTOP);
	EXPECT(WIFSTOPPED(status_of(pid, WUNTRACED)));
	kill(pid, SIGCONT);
	EXPECT(WIFCONTINUED(status_of(pid, WCONTINUED)));
	kill(pid, SIGSTOP);
	EXPECT(WIFSTOPPED(status_of(pid, WUNTRACED)));
	kill(pid, SIGCONT);
	kill(pid, SIGSTOP); /* and so nobody learns of the end of the stop before */
	EXPECT(WIFSTOPPED(status_of(pid, WUNTRACED)) && !waitpid(pid, NULL, WCONTINUED | WNOHANG));
	kill(pid, SIGKILL); /* needs no SIGCONT */
	EXPECT(WTERMSIG(status_of(pid, 0)) == SIGKILL);
}

/* A stop that a thread has taken, but not carried out yet, SIGCONT takes back all the same. */
static void continue_races_with_stop(void)
{
	volatile long *turns =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t crowd[50], pid = fork();

	EXPECT(pid >= 0 && turns != MAP_FAILED);
	if (!pid) {
		setpgid(0, 0);
		for (;;)
			++*turns;
	}
	for (unsigned i = 0; i < 50; i++)
		crowd[i] = spawn_pausing(); /* the more there are, the longer the decision takes */
	for (unsigned i = 0; i < 2000; i++) {
		long before;

		kill(pid, SIGTSTP);
		for (volatile unsigned wait = i % 100 * 10; wait; wait--)
			;
		kill(pid, SIGCONT);
		before = *turns;
		for (unsigned ms = 0; *turns == before && ms < 2000; ms++)
			sleep_ms(1);
		EXPECT(*turns != before);
	}
	for (unsigned i = 0; i < 50; i++)
		kill(crowd[i], SIGKILL);
	kill(pid, SIGKILL);
	while (wait(NULL) > 0)
		;
}

static void orphaned_groups(void)
{
	int p[2], code;
	pid_t pid;

	/* A group whose only tie to its session ends, with a stopped member: SIGHUP and SIGCONT. */
	EXPECT(!pipe(p));
	pid = fork();
	if (!pid) {
		setsid();
		pid_t member = fork();
		if (!member) {
			setpgid(0, 0);
			catch (SIGHUP, 0);
			kill(getpid(), SIGSTOP);
			code = nr_calls;
			EXPECT(write(p[1], &code, sizeof(code)) == sizeof(code));
			/* Terminal stops have no effect in an orphaned group. */
			raise(SIGTSTP);
			EXPECT(write(p[1], &code, sizeof(code)) == sizeof(code));
			_exit(0);
		}
		EXPECT(WIFSTOPPED(status_of(member, WUNTRACED)));
		_exit(0);
	}
	await_child(pid);
	EXPECT(read(p[0], &code, sizeof(code)) == sizeof(code) && code == 1);
	EXPECT(read(p[0], &code, sizeof(code)) == sizeof(code));
}

/* In the group @group, or one of its own if that is 0; stops, and says when a SIGHUP has come. */
static void stop_in_group(pid_t group, int told)
{
	char c = 0;

	EXPECT(!setpgid(0, group));
	catch (SIGHUP, 0);
	kill(getpid(), SIGSTOP);
	EXPECT(nr_calls == 1 && write(told, &c, 1) == 1);
	_exit(0);
}

/* A member's parent in the session keeps a group from being hung up, until that member ends too. */
static void tied_groups(void)
{
	int told[2], from[2];
	pid_t parent, tie, member;
	char c;

	EXPECT(!pipe(told) && !pipe(from) && !fcntl(told[0], F_SETFL, O_NONBLOCK));
	EXPECT(setsid() > 0 || getsid(0) == getpid());
	parent = fork();
	if (!parent) {
		member = fork();
		if (!member)
			stop_in_group(0, told[1]);
		EXPECT(WIFSTOPPED(status_of(member, WUNTRACED)));
		EXPECT(write(from[1], &member, sizeof(member)) == sizeof(member));
		pause();
	}
	EXPECT(read(from[0], &member, sizeof(member)) == sizeof(member));
	tie = fork();
	if (!tie) {
		pause();
		_exit(0);
	}
	EXPECT(!setpgid(tie, member) && !kill(parent, SIGKILL));
	EXPECT(WTERMSIG(status_of(parent, 0)) == SIGKILL);
	sleep_ms(20);
	EXPECT_ERROR(EAGAIN, read(told[0], &c, 1));
	EXPECT(!kill(tie, SIGKILL) && WTERMSIG(status_of(tie, 0)) == SIGKILL);
	EXPECT(!fcntl(told[0], F_SETFL, 0) && read(told[0], &c, 1) == 1);
}

static void exec_keeps_ignored(void)
{
	pid_t pid = fork();

	if (!pid) {
		signal(SIGINT, SIG_IGN);
		catch (SIGTERM, 0);
		execlp("sh", "sh", "-c", "kill -INT $$; kill -TERM $$; sleep 5; exit 1", NULL);
		_exit(9);
	}
	EXPECT(WTERMSIG(status_of(pid, 0)) == SIGTERM);
}

static void storm(void)
{
	pid_t pid;
	int status;

	catch (SIGRTMIN + 3, SA_RESTART);
	pid = fork();
	if (!pid) {
		for (int i = 0; i < 2000; i++)
			while (kill(getppid(), SIGRTMIN + 3))
				EXPECT(errno == EAGAIN);
		_exit(0);
	}
	EXPECT(waitpid(pid, &status, 0) == pid && !status);
	EXPECT(nr_calls == 2000);
}

/* Neither the flag of SIGCHLD for stops nor what becomes of other signals matters to an end. */
static void parents_are_told(void)
{
	pid_t pid;

	for (int sig = 1; sig < SIGCHLD; sig++)
		signal(sig, SIG_IGN);
	catch (SIGCHLD, SA_NOCLDSTOP | SA_RESTART);
	pid = fork();
	if (!pid)
		_exit(0);
	EXPECT(waitpid(pid, NULL, 0) == pid && nr_calls == 1 && last_code == CLD_EXITED);
}

const struct check signal_tests[] = {
	{ "handlers", handlers },
	{ "parents-are-told", parents_are_told },
	{ "nesting", nesting },
	{ "masks", masks },
	{ "queues", queues },
	{ "sigwait", waiting },
	{ "restart", restarting },
	{ "altstack", alternate_stack },
	{ "altstack-is-told", handler_learns_the_stack },
	{ "altstack-is-full", full_stack_is_left_alone },
	{ "registers", registers_survive },
	{ "clean-frame", frame_is_clean },
	{ "faults", faults },
	{ "stop", stop_and_continue },
	{ "continue", continue_is_reported },
	{ "continue-races", continue_races_with_stop },
	{ "orphaned-group", orphaned_groups },
	{ "tied-groups", tied_groups },
	{ "exec-ignored", exec_keeps_ignored },
	{ "signal-storm", storm },
	{ NULL, NULL },
};
