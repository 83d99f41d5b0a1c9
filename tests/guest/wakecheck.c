/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * wakecheck: is a wakeup ever lost? In each round a waiter calls futex_wait() and a waker, with a
 * real-time priority, does something about it at nearly the same moment: it stores another word
 * and wakes, wakes when a timeout expires, sends a signal, or all of it. The moments are drawn from
 * a seed. Under ICOUNT=1 a nanosecond is an instruction, so the waker comes between any two
 * instructions of the wait within some hundred rounds; on one CPU by preemption, on two because
 * the waker's timer ends the waiter's turn.
 *
 * A round in which the waiter is still away 100 ms later, or in which one side says that a wakeup
 * took place and the other that it did not, is told in a sentence.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/args.h"
#include "lib/clock.h"
#include "lib/threads.h"

enum { WAIT_PRIVATE = 128, WAKE_PRIVATE = 129 };
enum { NR_SLEEPERS = 5 };
#define PATIENCE_NS (100 * NS_PER_MS)
#define TIMEOUT_NS  (40 * NS_PER_US)
#define LEAD_NS	    1500 /* the waker comes from so much before the call of the waiter */
#define REACH_NS    3500 /* to so much later; in a race with a timeout the same for its expiry */

static int seed = 1, nr_rounds = 1500, nr_cpus;
static bool power_off;

static const struct arg args[] = {
	{ 's', "seed", ARG_INT, &seed, "draws the moments (default 1)", 0, 1 << 30 },
	{ 'n', "rounds", ARG_INT, &nr_rounds, "of each race (default 1500)", 1, 1000000 },
	{ 'p', "power-off", ARG_FLAG, &power_off,
	  "turn the machine off at the first mistake: its threads may never end", 0, 0 },
	{ 0 },
};

static const struct program program = {
	"wakecheck",
	"Look for wakeups that are lost: sleep, store, move, timeout, signal. Without NAME: all.",
	"[NAME]...",
	args,
};

static uint64_t start_ns, random_state;
static int nr_tests;

static double ms(uint64_t ns)
{
	return (double)(ns - start_ns) / 1e6;
}

/* Knuth's MMIX generator; a number below @limit. */
static unsigned drawn(uint64_t *state, unsigned limit)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(*state >> 33) % limit;
}

/* Tells what is wrong as TAP, and ends. */
#define wrong(...)                                                                                 \
	do {                                                                                       \
		printf("not ok %d - ", nr_tests + 1);                                              \
		printf(__VA_ARGS__);                                                               \
		printf("\n");                                                                      \
		fflush(stdout);                                                                    \
		if (power_off)                                                                     \
			reboot(RB_POWER_OFF);                                                      \
		_exit(1);                                                                          \
	} while (0)

/* 0, or what errno would say. */
static int wait_on(uint32_t *word, uint32_t expected, uint64_t timeout_ns)
{
	struct timespec timeout = { 0, (long)timeout_ns };

	if (!syscall(SYS_futex, word, WAIT_PRIVATE, expected, timeout_ns ? &timeout : NULL, NULL,
		     0))
		return 0;
	return errno;
}

static long wake_up(uint32_t *word, int nr)
{
	return syscall(SYS_futex, word, WAKE_PRIVATE, nr, NULL, NULL, 0);
}

static const char *said(int error)
{
	return error == EAGAIN	    ? "EAGAIN"
	       : error == ETIMEDOUT ? "ETIMEDOUT"
	       : error == EINTR	    ? "EINTR"
	       : error		    ? strerror(error)
				    : "0";
}

#define SWITCH_NS 800 /* the waiter leaves its CPU so much after its call, or up to twice that */

/* While there are rounds the waker runs before all others. */
static void be_urgent(bool urgent)
{
	const struct policy policy = { urgent ? SCHED_FIFO : SCHED_OTHER, urgent ? 50 : 0 };

	if (set_policy(0, &policy))
		die("sched_setscheduler");
}

/* --- one wakeup after another --------------------------------------------------------- */

static struct sleeper {
	pthread_t thread;
	int tid;
	volatile int result; /* of the wait; -1: not yet */
	volatile int came;   /* the how-manyth to come back */
	uint64_t cpu_ns;     /* CPU time that the wait used */
} sleepers[NR_SLEEPERS];

static uint32_t gate;
static volatile int nr_back;

static void *sleep_once(void *arg)
{
	struct sleeper *me = arg;
	uint64_t before = thread_cpu_ns();

	me->tid = thread_id();
	me->result = wait_on(&gate, 0, 0);
	me->cpu_ns = thread_cpu_ns() - before;
	sched_yield(); /* who still counts as a sleeper stays away for ever */
	me->came = ++nr_back;
	return NULL;
}

/* After 20 ms, enough for whoever may run, @nr must be back. */
static void expect_back(int nr, long woken, long asked)
{
	sleep_ns(20 * NS_PER_MS);
	for (int i = 0; i < NR_SLEEPERS; i++) {
		struct sleeper *s = &sleepers[i];

		if (s->result > 0)
			wrong("task %d got %s from futex_wait(), where the word held what it "
			      "expected: it should have slept",
			      s->tid, said(s->result));
		if (i < nr && !s->came && s->result == 0)
			wrong("task %d came back from futex_wait() and never from its next "
			      "sched_yield(): it still counts as a sleeper",
			      s->tid);
		if (i < nr && !s->came)
			wrong("task %d sleeps on: futex_wake(%ld) of task %d returned %ld, and "
			      "20 ms later it is not back from futex_wait()",
			      s->tid, asked, thread_id(), woken);
		if (i >= nr && s->result == 0)
			wrong("task %d came back from futex_wait() with 0, and nobody had woken it",
			      s->tid);
		if (i < nr && s->cpu_ns > NS_PER_MS)
			wrong("task %d used %.3f ms of CPU time in futex_wait(): it waited "
			      "without sleeping",
			      s->tid, (double)s->cpu_ns / 1e6);
	}
}

static void expect_woken(int asked, int right, int back)
{
	long woken = wake_up(&gate, asked);

	if (woken != right)
		wrong("futex_wake(%d) returned %ld, where %d %s asleep", asked, woken, right,
		      right == 1 ? "was" : "were");
	expect_back(back, woken, asked);
}

/* Sleepers sleep, and as many as are woken come back, each once. */
static void test_sleep(void)
{
	if (wait_on(&gate, 1, 0) != EAGAIN)
		wrong("futex_wait() for another value than the word holds did not say EAGAIN");
	for (int i = 0; i < NR_SLEEPERS; i++) {
		sleepers[i].result = -1;
		start_thread(&sleepers[i].thread, NULL, sleep_once, &sleepers[i]);
		sleep_ns(2 * NS_PER_MS);
	}
	expect_back(0, 0, 0);
	expect_woken(1, 1, 1);
	expect_woken(2, 2, 3);
	expect_woken(9, 2, NR_SLEEPERS);
	expect_woken(9, 0, NR_SLEEPERS);
	for (int i = 0; i < NR_SLEEPERS; i++)
		pthread_join(sleepers[i].thread, NULL);
}

/* --- races ------------------------------------------------------------------------------ */

/* The waker stores and wakes; wakes; sends a signal; stores, wakes and sends a signal. */
enum race { STORE, TIMEOUT, SIGNAL, BOTH };

static struct {
	enum race kind;
	bool moves; /* the waiter is woken on another CPU than it slept on */
	int nr_moved;
	int waiter; /* its number as a task */
	uint32_t word, expected;
	uint64_t call_ns;	    /* when the waiter is to call */
	volatile int nr, done, ret; /* the round, and what the wait returned */
	volatile uint64_t called_ns;
	uint64_t stored_ns;
	long woken;
} round_;

/*
 * To the last CPU, which the hog there leaves to the most urgent nice value at once, however little
 * the scheduler gives to who wakes up; but the wakeup may choose the CPU before.
 */
static void go_home(void)
{
	struct cpu_set cpus = { 0 };

	pin_to_cpu(nr_cpus - 1);
	cpu_add(&cpus, nr_cpus - 1);
	cpu_add(&cpus, nr_cpus - 2);
	if (set_cpus(0, &cpus))
		die("sched_setaffinity");
}

static void *wait_in_rounds(void *unused)
{
	(void)unused;
	pin_to_cpu(nr_cpus - 1);
	if (round_.moves && set_nice(0, -20))
		die("setpriority");
	round_.waiter = thread_id();
	for (int nr = 1; nr <= nr_rounds; nr++) {
		if (round_.moves)
			go_home();
		while (round_.nr != nr)
			spin();
		do
			round_.called_ns = now_ns();
		while (round_.called_ns < round_.call_ns);
		round_.ret = wait_on(&round_.word, round_.expected,
				     round_.kind == TIMEOUT ? TIMEOUT_NS : 0);
		round_.nr_moved += sched_getcpu() != nr_cpus - 1;
		round_.done = nr;
	}
	return NULL;
}

/*
 * Ends the waker's turn again and again: under ICOUNT=1 one CPU runs until another's timer expires.
 * So both halves of a wakeup on two CPUs are cut in two at some place.
 */
static void *cut_turns(void *unused)
{
	uint64_t state = (uint64_t)seed + 1;

	(void)unused;
	pin_to_cpu(nr_cpus - 1);
	while (round_.nr <= nr_rounds)
		sleep_until_ns(now_ns() + 3 * NS_PER_US + drawn(&state, 6000));
	return NULL;
}

/* Keeps the last CPU busy, so that who is woken there goes to an idle one. */
static void *be_in_the_way(void *unused)
{
	(void)unused;
	pin_to_cpu(nr_cpus - 1);
	if (set_nice(0, 19))
		die("setpriority");
	while (round_.nr <= nr_rounds)
		spin();
	return NULL;
}

static void no_matter(int sig)
{
	(void)sig;
}

/* The waiter has not come back. */
static void explain_sleep(void)
{
	if (round_.woken)
		wrong("task %d slept on in futex_wait though it was woken: round %d, it called at "
		      "%.6f ms, futex_wake() of task %d returned %ld at %.6f ms, and %d ms later "
		      "it still sleeps",
		      round_.waiter, round_.nr, ms(round_.called_ns), thread_id(), round_.woken,
		      ms(round_.stored_ns), (int)(PATIENCE_NS / NS_PER_MS));
	if (round_.word != round_.expected)
		wrong("task %d slept in futex_wait after the word had changed: round %d, it "
		      "called for %u at %.6f ms, task %d stored %u at %.6f ms and its "
		      "futex_wake() found nobody; %d ms later task %d still sleeps",
		      round_.waiter, round_.nr, round_.expected, ms(round_.called_ns), thread_id(),
		      round_.word, ms(round_.stored_ns), (int)(PATIENCE_NS / NS_PER_MS),
		      round_.waiter);
	wrong("task %d slept on in futex_wait after %s: round %d, it called at %.6f ms",
	      round_.waiter, round_.kind == TIMEOUT ? "its timeout" : "a signal", round_.nr,
	      ms(round_.called_ns));
}

/* The waiter came back: do both sides tell the same? */
static void compare(void)
{
	static const int otherwise[] = { EAGAIN, ETIMEDOUT, EINTR, EAGAIN };
	int right = round_.woken ? 0 : otherwise[round_.kind];

	if (round_.ret == right || (round_.kind == BOTH && !round_.woken && round_.ret == EINTR))
		return;
	if (round_.woken)
		wrong("a wakeup is lost: round %d, futex_wake() of task %d returned %ld at %.6f "
		      "ms, "
		      "and the futex_wait() of task %d, which was called at %.6f ms, says %s and "
		      "not 0",
		      round_.nr, thread_id(), round_.woken, ms(round_.stored_ns), round_.waiter,
		      ms(round_.called_ns), said(round_.ret));
	wrong("round %d: futex_wake() of task %d woke nobody, and the futex_wait() of task %d says "
	      "%s, where %s is right",
	      round_.nr, thread_id(), round_.waiter, said(round_.ret), said(right));
}

static void send_signal(void)
{
	syscall(SYS_tgkill, getpid(), round_.waiter, SIGUSR1);
}

/* Are there a store and a wakeup in this round? In some a timeout or a signal is alone. */
static bool with_wakeup(void)
{
	return round_.kind == TIMEOUT ? round_.nr % 4 : round_.kind != SIGNAL;
}

/* At the waker's moment. Of wakeup and signal either may come first. */
static void act(void)
{
	round_.stored_ns = now_ns();
	round_.woken = 0;
	if (round_.kind == SIGNAL || (round_.kind == BOTH && round_.nr % 2))
		send_signal();
	if (!with_wakeup())
		return;
	if (round_.kind != TIMEOUT)
		round_.word++;
	round_.woken = wake_up(&round_.word, 1);
	if (round_.kind == BOTH && !(round_.nr % 2))
		send_signal();
}

/* When the waker is to come if the waiter calls at @call_ns. A lone signal is to find a sleeper. */
static uint64_t moment(enum race kind, uint64_t call_ns)
{
	if (round_.moves) /* while it leaves its CPU */
		return call_ns + SWITCH_NS + drawn(&random_state, SWITCH_NS);
	return call_ns + drawn(&random_state, LEAD_NS + REACH_NS) - LEAD_NS +
	       (kind == TIMEOUT || kind == SIGNAL ? TIMEOUT_NS : 0);
}

/* One round. Returns whether there was somebody to wake. */
static bool play(int nr)
{
	uint64_t call_ns = now_ns() + 15 * NS_PER_US + drawn(&random_state, 1000);
	uint64_t at_ns = moment(round_.kind, call_ns), end_ns;

	round_.expected = round_.word;
	round_.call_ns = call_ns;
	round_.nr = nr;
	sleep_until_ns(at_ns);
	act();
	end_ns = now_ns() + PATIENCE_NS;
	while (round_.done != nr) {
		if (now_ns() > end_ns)
			explain_sleep();
		sleep_ns(5 * NS_PER_US);
	}
	compare();
	return round_.woken > 0;
}

static void run_race(enum race kind)
{
	pthread_t waiter, other;
	int nr_woken = 0;

	round_.kind = kind;
	round_.nr = round_.done = 0;
	round_.waiter = 0;
	start_thread(&waiter, NULL, wait_in_rounds, NULL);
	if (nr_cpus > 1)
		start_thread(&other, NULL, round_.moves ? be_in_the_way : cut_turns, NULL);
	while (!round_.waiter)
		sleep_ns(100 * NS_PER_US);
	be_urgent(true);
	for (int nr = 1; nr <= nr_rounds; nr++)
		nr_woken += play(nr);
	be_urgent(false);
	round_.nr = nr_rounds + 1;
	pthread_join(waiter, NULL);
	if (nr_cpus > 1)
		pthread_join(other, NULL);
	if (kind != SIGNAL && !nr_woken)
		wrong("in %d rounds futex_wake() never found task %d asleep in futex_wait()",
		      nr_rounds, round_.waiter);
	printf("# %d of %d rounds had a sleeper to wake\n", nr_woken, nr_rounds);
}

static void test_store(void)
{
	run_race(STORE);
}

/*
 * The same, and the wakeup takes the waiter to another CPU, which may come to its stack before the
 * old one has left it.
 */
static void test_move(void)
{
	if (nr_cpus < 3)
		return;
	round_.moves = true;
	run_race(STORE);
	round_.moves = false;
	if (!round_.nr_moved)
		wrong("in %d rounds no wakeup took task %d to another CPU", nr_rounds,
		      round_.waiter);
	printf("# %d rounds took the sleeper to another CPU\n", round_.nr_moved);
}

static void test_timeout(void)
{
	run_race(TIMEOUT);
}

static void test_signal(void)
{
	run_race(SIGNAL);
	run_race(BOTH);
}

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	{ "sleep", test_sleep },     { "store", test_store },	{ "move", test_move },
	{ "timeout", test_timeout }, { "signal", test_signal },
};

/* Run the test @name, or every one if it is NULL. False: there is none. */
static bool run_named(const char *name)
{
	bool found = false;

	for (unsigned i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (name && strcmp(name, tests[i].name))
			continue;
		tests[i].run();
		printf("ok %d - %s\n", ++nr_tests, tests[i].name);
		found = true;
	}
	return found;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = no_matter };
	struct cpu_set cpus;
	int first = parse_args(&program, argc, argv);

	start_ns = now_ns();
	random_state = (uint64_t)seed;
	if (get_cpus(0, &cpus) || sigaction(SIGUSR1, &action, NULL))
		die("sched_getaffinity, sigaction");
	nr_cpus = cpu_count(&cpus);
	pin_to_cpu(0);
	if (first == argc && run_named(NULL))
		first = argc;
	for (int i = first; i < argc; i++)
		if (!run_named(argv[i]))
			usage_error(&program, "no test is called %s", argv[i]);
	printf("# %d tests, all right\n", nr_tests);
	return 0;
}
