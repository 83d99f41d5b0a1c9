/* SPDX-License-Identifier: GPL-2.0-only */
/* Threads: shared fate, futexes, signals to one or all, exec among threads. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "taskcheck/taskcheck.h"

enum {
	FUTEX_WAIT,
	FUTEX_WAKE,
	FUTEX_REQUEUE = 3,
	FUTEX_CMP_REQUEUE,
	FUTEX_WAKE_OP,
	FUTEX_WAIT_BITSET = 9,
	FUTEX_WAKE_BITSET,
	FUTEX_LOCK_PI = 6,
	FUTEX_PRIVATE = 128,
	FUTEX_REALTIME = 256
};

static long futex(volatile uint32_t *w, int op, uint32_t val, const struct timespec *timeout,
		  volatile uint32_t *w2, uint32_t val3)
{
	return syscall(SYS_futex, w, op, val, timeout, w2, val3);
}

static void *start(void *(*fn)(void *), void *arg)
{
	pthread_t t;

	EXPECT(!pthread_create(&t, NULL, fn, arg));
	return (void *)t;
}

static void *join(void *thread)
{
	void *result;

	EXPECT(!pthread_join((pthread_t)thread, &result));
	return result;
}

/* --- create and join ------------------------------------------------------------ */

static atomic_long counter;

static void *count(void *arg)
{
	for (int i = 0; i < 1000; i++)
		counter++;
	return arg;
}

static void create_and_join(void)
{
	enum { NR = 40 };
	void *threads[NR];

	for (int round = 0; round < 5; round++) {
		for (long i = 0; i < NR; i++)
			threads[i] = start(count, (void *)i);
		for (long i = 0; i < NR; i++)
			EXPECT(join(threads[i]) == (void *)i);
	}
	EXPECT(counter == 5 * NR * 1000);
	EXPECT(getpid() == (pid_t)syscall(SYS_gettid));
}

/* --- mutexes and condition variables --------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static int turn, taken[4];

static void *take_turns(void *arg)
{
	int me = (int)(intptr_t)arg;

	pthread_mutex_lock(&mutex);
	for (int i = 0; i < 200; i++) {
		while (turn != me)
			pthread_cond_wait(&turn_changed, &mutex);
		taken[me]++;
		turn = (turn + 1) % 4;
		pthread_cond_broadcast(&turn_changed);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void taking_turns(void)
{
	void *threads[4];

	for (intptr_t i = 0; i < 4; i++)
		threads[i] = start(take_turns, (void *)i);
	for (int i = 0; i < 4; i++)
		join(threads[i]);
	for (int i = 0; i < 4; i++)
		EXPECT(taken[i] == 200);
}

/* --- futexes ------------------------------------------------------------------------ */

static volatile uint32_t words[2];
static atomic_int awake, latest_tid;

static void *wait_on_first(void *bits)
{
	uint32_t bitset = (uint32_t)(uintptr_t)bits;

	latest_tid = (int)syscall(SYS_gettid);
	EXPECT(!futex(&words[0], FUTEX_WAIT_BITSET | FUTEX_PRIVATE, 0, NULL, NULL, bitset));
	awake++;
	return NULL;
}

static void start_waiters(void **threads, int nr, uint32_t bits)
{
	for (int i = 0; i < nr; i++) {
		latest_tid = 0;
		threads[i] = start(wait_on_first, (void *)(uintptr_t)bits);
		while (!latest_tid)
			sched_yield();
		await_sleep(getpid(), latest_tid);
	}
	EXPECT(awake == 0);
}

static void futex_errors(void)
{
	struct timespec soon = { 0, 5 * MS }, bad = { 0, 2000 * MS };
	long t0;

	EXPECT_ERROR(EAGAIN, futex(&words[0], FUTEX_WAIT, 1, NULL, NULL, 0));
	t0 = now_ns();
	EXPECT_ERROR(ETIMEDOUT, futex(&words[0], FUTEX_WAIT, 0, &soon, NULL, 0));
	EXPECT(now_ns() - t0 >= 5 * MS);
	EXPECT_ERROR(EINVAL, futex(&words[0], FUTEX_WAIT, 0, &bad, NULL, 0));
	EXPECT_ERROR(EINVAL, futex((uint32_t *)((char *)words + 1), FUTEX_WAIT, 0, NULL, NULL, 0));
	EXPECT_ERROR(EFAULT, futex((uint32_t *)4096, FUTEX_WAIT | FUTEX_PRIVATE, 0, NULL, NULL, 0));
	EXPECT_ERROR(EINVAL, futex(&words[0], FUTEX_WAIT_BITSET, 0, NULL, NULL, 0));
	EXPECT_ERROR(ENOSYS, futex(&words[0], 99, 0, NULL, NULL, 0));
	EXPECT(futex(&words[0], FUTEX_WAKE, 1, NULL, NULL, 0) == 0);
	/* Fewer than none are refused where waiters move, and only there. */
	EXPECT(futex(&words[0], FUTEX_WAKE_OP, -1, (void *)-1l, &words[1], 0) == 0);
	EXPECT_ERROR(EINVAL, futex(&words[0], FUTEX_CMP_REQUEUE, -1, NULL, &words[1], 0));
	EXPECT_ERROR(EINVAL, futex(&words[0], FUTEX_CMP_REQUEUE, 1, (void *)-1l, &words[1], 0));
	/* An absolute time in the past. */
	EXPECT_ERROR(ETIMEDOUT, futex(&words[0], FUTEX_WAIT_BITSET, 0, &soon, NULL, 1));
	clock_gettime(CLOCK_REALTIME, &soon);
	EXPECT_ERROR(ETIMEDOUT,
		     futex(&words[0], FUTEX_WAIT_BITSET | FUTEX_REALTIME, 0, &soon, NULL, 1));
}

static void futex_bits_and_requeue(void)
{
	void *threads[4];

	start_waiters(threads, 4, 2);
	EXPECT(futex(&words[0], FUTEX_WAKE_BITSET | FUTEX_PRIVATE, 9, NULL, NULL, 1) == 0);
	EXPECT(futex(&words[0], FUTEX_WAKE_BITSET | FUTEX_PRIVATE, 1, NULL, NULL, 6) == 1);
	/* Wake one, move one. */
	EXPECT_ERROR(EAGAIN, futex(&words[0], FUTEX_CMP_REQUEUE | FUTEX_PRIVATE, 1, (void *)1,
				   &words[1], 5));
	EXPECT(futex(&words[0], FUTEX_CMP_REQUEUE | FUTEX_PRIVATE, 1, (void *)1, &words[1], 0) ==
	       2);
	EXPECT(futex(&words[1], FUTEX_WAKE | FUTEX_PRIVATE, 9, NULL, NULL, 0) == 1);
	/* words[1] += 3; wake the second futex's waiters if the old value was less than 1. */
	uint32_t op = 1u << 28 | 2u << 24 | 3 << 12 | 1;
	EXPECT(futex(&words[0], FUTEX_WAKE_OP | FUTEX_PRIVATE, 9, (void *)9, &words[1], op) == 1);
	EXPECT(words[1] == 3);
	for (int i = 0; i < 4; i++)
		join(threads[i]);
	EXPECT(awake == 4);
}

/*
 * Waiters in the order in which they come: the word of each, and its priority, 0 of a fair one. In
 * the second round those of the first word are moved to where one waits already.
 */
enum { NR_RANKS = 5 };
static const struct {
	int word, priority;
} ranks[2][NR_RANKS] = { { { 0, 0 }, { 0, 10 }, { 0, 0 }, { 0, 20 }, { 0, 10 } },
			 { { 1, 0 }, { 0, 10 }, { 0, 0 }, { 0, 20 }, { 0, 10 } } };
static atomic_int rank_round, last_back;

static long set_priority(int priority)
{
	const struct sched_param param = { .sched_priority = priority };

	return syscall(SYS_sched_setscheduler, 0, priority ? SCHED_FIFO : SCHED_OTHER, &param);
}

static void *wait_with_rank(void *nr)
{
	int i = (int)(intptr_t)nr;

	EXPECT(!set_priority(ranks[rank_round][i].priority));
	latest_tid = (int)syscall(SYS_gettid);
	EXPECT(!futex(&words[ranks[rank_round][i].word], FUTEX_WAIT | FUTEX_PRIVATE, 0, NULL, NULL,
		      0));
	last_back = i;
	return NULL;
}

static void start_ranks(void **threads)
{
	for (intptr_t i = 0; i < NR_RANKS; i++) {
		latest_tid = 0;
		threads[i] = start(wait_with_rank, (void *)i);
		while (!latest_tid)
			sched_yield();
		await_sleep(getpid(), latest_tid);
	}
}

/* Wakes one waiter of @word: which one comes back. */
static int wake_one(int word)
{
	last_back = -1;
	EXPECT(futex(&words[word], FUTEX_WAKE | FUTEX_PRIVATE, 1, NULL, NULL, 0) == 1);
	while (last_back < 0)
		sched_yield();
	return last_back;
}

/* Real-time waiters come first, by priority; those alike in the order in which they came. */
static void futex_order(void)
{
	static const int right[NR_RANKS] = { 3, 1, 4, 0, 2 };
	void *threads[NR_RANKS];

	if (set_priority(1) || set_priority(0)) {
		printf("# no real-time priorities here: the order of waiters is not tried\n");
		return;
	}
	for (rank_round = 0; rank_round < 2; rank_round++) {
		start_ranks(threads);
		EXPECT(!rank_round || futex(&words[0], FUTEX_CMP_REQUEUE | FUTEX_PRIVATE, 0,
					    (void *)9, &words[1], 0) == NR_RANKS - 1);
		for (int i = 0; i < NR_RANKS; i++)
			EXPECT(wake_one(rank_round) == right[i]);
		for (int i = 0; i < NR_RANKS; i++)
			join(threads[i]);
	}
}

static void futex_between_processes(void)
{
	volatile uint32_t *w =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();

	if (!pid) {
		while (*w == 0)
			EXPECT(!futex(w, FUTEX_WAIT, 0, NULL, NULL, 0) || errno == EAGAIN);
		_exit(0);
	}
	while (futex(w, FUTEX_WAKE, 1, NULL, NULL, 0) == 0) /* until it waits */
		sleep_ms(1);
	*w = 1;
	futex(w, FUTEX_WAKE, 1, NULL, NULL, 0);
	await_child(pid);
}

/* --- robust mutexes --------------------------------------------------------------------- */

static pthread_mutex_t robust;

static void *die_with_it(void *arg)
{
	pthread_mutex_lock(&robust);
	return arg;
}

static void robust_mutexes(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &attr);
	join(start(die_with_it, NULL));
	EXPECT(pthread_mutex_lock(&robust) == EOWNERDEAD);
	EXPECT(!pthread_mutex_consistent(&robust) && !pthread_mutex_unlock(&robust));
}

/* --- shared fate --------------------------------------------------------------------------- */

static void *pause_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void *spin_for_ever(void *arg)
{
	for (;;)
		*(volatile long *)arg += 1;
	return arg;
}

static void *exit_all(void *arg)
{
	sleep_ms(20);
	_exit(*(int *)arg);
}

static void exit_ends_all(void)
{
	static volatile long sink;
	int code = 33;
	pid_t pid = fork();

	if (!pid) {
		for (int i = 0; i < 5; i++)
			start(i % 2 ? pause_for_ever : spin_for_ever, (void *)&sink);
		start(exit_all, &code);
		pause_for_ever(NULL);
	}
	EXPECT(WEXITSTATUS(status_of(pid, 0)) == 33);
	/* A fatal signal, likewise; a stop stops all. */
	pid = fork();
	if (!pid) {
		for (int i = 0; i < 5; i++)
			start(i % 2 ? pause_for_ever : spin_for_ever, (void *)&sink);
		pause_for_ever(NULL);
	}
	sleep_ms(20);
	kill(pid, SIGSTOP);
	EXPECT(WIFSTOPPED(status_of(pid, WUNTRACED)));
	kill(pid, SIGCONT);
	EXPECT(WIFCONTINUED(status_of(pid, WCONTINUED)));
	kill(pid, SIGTERM);
	EXPECT(WTERMSIG(status_of(pid, 0)) == SIGTERM);
}

static void *outlive(void *fd)
{
	char code;

	EXPECT(read(*(int *)fd, &code, 1) == 1); /* as long as the test wants */
	_exit(code);
}

static void the_first_may_end_first(void)
{
	int p[2];
	EXPECT(!pipe(p));
	pid_t pid = fork();

	if (!pid) {
		start(outlive, &p[0]);
		syscall(SYS_exit, 1);
	}
	EXPECT(waitpid(pid, NULL, WNOHANG) == 0);
	sleep_ms(20);
	EXPECT(waitpid(pid, NULL, WNOHANG) == 0); /* the process lives on */
	EXPECT(!kill(pid, 0) && write(p[1], "\x2c", 1) == 1);
	EXPECT(WEXITSTATUS(status_of(pid, 0)) == 0x2c);
}

static void *exec_here(void *arg)
{
	(void)arg;
	sleep_ms(10);
	execlp("sh", "sh", "-c", "test $$ = $WANTED && exit 21", NULL);
	_exit(9);
}

static void exec_among_threads(void)
{
	static volatile long sink;
	pid_t pid = fork();

	if (!pid) {
		char text[20];
		int n = getpid(), i = sizeof(text);
		text[--i] = 0;
		for (; n; n /= 10)
			text[--i] = (char)('0' + n % 10);
		setenv("WANTED", text + i, 1);
		for (int k = 0; k < 4; k++)
			start(k % 2 ? pause_for_ever : spin_for_ever, (void *)&sink);
		start(exec_here,
		      NULL); /* not the first thread: it takes over the first one's number */
		pause_for_ever(NULL);
	}
	EXPECT(WEXITSTATUS(status_of(pid, 0)) == 21);
}

/* --- signals and threads ------------------------------------------------------------------------
 */

static atomic_int handled_by;

static void note_thread(int sig)
{
	(void)sig;
	handled_by = (int)syscall(SYS_gettid);
}

static atomic_int tid_of_other;

static void *take_signals(void *arg)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	tid_of_other = (int)syscall(SYS_gettid);
	while (!handled_by)
		pause();
	return arg;
}

static void signals_find_a_thread(void)
{
	struct sigaction a = { .sa_handler = note_thread };
	sigset_t set;

	sigaction(SIGUSR1, &a, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	void *t = start(take_signals, NULL);
	while (!tid_of_other)
		sched_yield();
	await_sleep(getpid(), tid_of_other); /* a signal before pause() would be slept through */
	kill(getpid(), SIGUSR1);	     /* only the other thread does not block it */
	join(t);
	EXPECT(handled_by == tid_of_other);
	/* To one thread. */
	handled_by = 0;
	EXPECT(!syscall(SYS_tgkill, getpid(), getpid(), SIGUSR1) && !handled_by);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	EXPECT(handled_by == getpid());
	EXPECT_ERROR(ESRCH, syscall(SYS_tgkill, getpid(), 999999, SIGUSR1));
	EXPECT_ERROR(ESRCH, syscall(SYS_tgkill, 1, getpid(), SIGUSR1));
	EXPECT_ERROR(EINVAL, syscall(SYS_tkill, -1, SIGUSR1));
}

static void *cancel_point(void *arg)
{
	sleep(100);
	return arg;
}

static void cancellation(void)
{
	void *t = start(cancel_point, NULL);

	sleep_ms(20);
	pthread_cancel((pthread_t)t);
	EXPECT(join(t) == PTHREAD_CANCELED);
}

static void clone_flags(void)
{
	EXPECT_ERROR(EINVAL, syscall(SYS_clone, 0x10000, 0, 0, 0, 0)); /* THREAD without SIGHAND */
	EXPECT_ERROR(EINVAL, syscall(SYS_clone, 0x800, 0, 0, 0, 0));   /* SIGHAND without VM */
	pid_t pid = (pid_t)syscall(SYS_clone, 0x80000000000 | SIGCHLD, 0, 0, 0,
				   0); /* the upper half is ignored */
	if (!pid)
		_exit(0);
	await_child(pid);
	EXPECT_ERROR(EPERM, syscall(SYS_clone, CLONE_SETTLS, 0, 0, 0, 0x8000000000000000));
}

static atomic_int policy_changes;
static atomic_bool enough;

static void *change_policy(void *tid)
{
	const struct sched_param none = { 0 };

	for (int i = 0; !atomic_load(&enough); i++) {
		EXPECT(!syscall(SYS_sched_setscheduler, *(int *)tid, i % 2 ? 0 : 3, &none));
		atomic_fetch_add(&policy_changes, 1);
	}
	return NULL;
}

/* A new policy keeps the nice value, also one that is set meanwhile. (Linux can lose it.) */
static void policy_and_nice(void)
{
	struct utsname host;
	pthread_t other;
	int tid = gettid(), lost = 0;

	EXPECT(!uname(&host));
	EXPECT(!pthread_create(&other, NULL, change_policy, &tid));
	while (!atomic_load(&policy_changes))
		sched_yield();
	for (int i = 0; i < 20000; i++) {
		EXPECT(!setpriority(PRIO_PROCESS, 0, i % 19));
		lost += getpriority(PRIO_PROCESS, 0) != i % 19;
	}
	atomic_store(&enough, true);
	EXPECT(!pthread_join(other, NULL));
	EXPECT(!lost || !strstr(host.release, "fairground"));
}

enum { RESETS = 0x1, KEEP_POLICY = 0x8, KEEP_PARAMS = 0x10 };

/* A call that keeps the policy keeps reset_on_fork, too, whatever its flags say. */
static void policy_is_kept(void)
{
	struct sched_attr0 attr = { .size = sizeof(attr), .flags = KEEP_POLICY | KEEP_PARAMS };
	struct sched_attr0 resets = { .size = sizeof(attr),
				      .policy = SCHED_BATCH,
				      .flags = RESETS };

	EXPECT(!syscall(SYS_sched_setattr, 0, &resets, 0));
	EXPECT(!syscall(SYS_sched_setattr, 0, &attr, 0));
	EXPECT(syscall(SYS_sched_getscheduler, 0) == (SCHED_BATCH | SCHED_RESET_ON_FORK));
	resets.flags = 0;
	if (syscall(SYS_sched_setattr, 0, &resets, 0))
		return; /* only the privileged switch it off */
	attr.flags |= RESETS;
	EXPECT(!syscall(SYS_sched_setattr, 0, &attr, 0));
	EXPECT(syscall(SYS_sched_getscheduler, 0) == SCHED_BATCH);
}

static atomic_int waiter;

static void *wait_for_zero(void *word)
{
	waiter = (int)syscall(SYS_gettid);
	futex(word, FUTEX_WAIT, 0, NULL, NULL, 0);
	return NULL;
}

static uint32_t *new_words(size_t size)
{
	void *first = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	EXPECT(first != MAP_FAILED);
	return first;
}

/* Waiters stay with a futex whose mapping went, and not with the memory that it was in. */
static void futex_outlives_its_mapping(void)
{
	enum { PAGE_WORDS = 1024, NR = 512 * PAGE_WORDS };
	uint32_t *word = new_words(4096), *others;

	*word = 0;
	start(wait_for_zero, word);
	while (!waiter)
		sched_yield();
	await_sleep(getpid(), waiter);
	EXPECT(!munmap(word, 4096));
	others = new_words(NR * sizeof(*others));
	for (int i = 0; i < NR; i += PAGE_WORDS) {
		others[i] = 0;
		EXPECT(futex(&others[i], FUTEX_WAKE, 1, NULL, NULL, 0) == 0);
	}
}

const struct check thread_tests[] = {
	{ "join", create_and_join },
	{ "turns", taking_turns },
	{ "futex-errors", futex_errors },
	{ "futex-bits", futex_bits_and_requeue },
	{ "futex-order", futex_order },
	{ "futex-shared", futex_between_processes },
	{ "futex-unmapped", futex_outlives_its_mapping },
	{ "robust", robust_mutexes },
	{ "exit-group", exit_ends_all },
	{ "leader-exits", the_first_may_end_first },
	{ "thread-exec", exec_among_threads },
	{ "thread-signals", signals_find_a_thread },
	{ "cancel", cancellation },
	{ "clone-flags", clone_flags },
	{ "policy-and-nice", policy_and_nice },
	{ "policy-is-kept", policy_is_kept },
	{ NULL, NULL },
};
