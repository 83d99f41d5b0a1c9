/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fuzz: scripts are run, each in a process of its own. Whatever its calls return, the process can
 * be ended, and the kernel then has as many objects and pages as before.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz/script.h"
#include "lib/args.h"
#include "lib/check.h"
#include "lib/clock.h"
#include "lib/sched.h"

#define ENOUGH	  (100 * NS_PER_MS) /* then the process waits for something, and is killed */
#define TOO_LONG  (20 * NS_PER_S)   /* for its end */
#define LAST_NS	  (20 * NS_PER_MS)  /* the first thread waits so long for the other */
#define MOST_RUNS 30
#define LINK	  DEBUGFS "fuzz_link"
#define A_USER	  1000

/* --- the process --------------------------------------------------------------------------- */

static struct script script;
static struct actor actors[2];
static int nr_begun, nr_ended;
static unsigned *nr_calls; /* that scripts have made; shared with their processes */

static void write_number(int fd, unsigned n)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u", n), i;

	for (i = 0; i < 3; i++) /* the failure that was ordered before may hit this one */
		if (write(fd, text, (size_t)length) == length)
			return;
}

static void make_row_call(struct actor *a, const struct entry *e)
{
	struct row call;

	if (!prepare_call(a, e, &call))
		return;
	if (call.flags & LATE)
		call.prepare();
	a->last = make_call(&call);
	if (call.flags & FORKS && a->last > 0)
		waitpid((pid_t)a->last, NULL, 0);
}

static void make_entry(struct actor *a, const struct entry *e)
{
	struct random r = { e->index }, accesses = { e->accesses };

	__atomic_add_fetch(nr_calls, 1, __ATOMIC_RELAXED);
	if (e->sort == ROW_CALL)
		make_row_call(a, e);
	else if (e->sort == ANY_CALL)
		fuzz_call(&r);
	else
		fuzz_file(&r, &accesses);
}

static void act(bool other)
{
	int fails = open("/proc/thread-self/fail-nth", O_WRONLY), i, n;

	for (i = 0; i < script.nr_entries; i++) {
		const struct entry *e = &script.entries[i];

		for (n = 0; n < e->times && e->other == other; n++) {
			if (e->fail)
				write_number(fails, e->fail);
			make_entry(&actors[other], e);
			if (e->fail)
				write_number(fails, 0);
			if (!other && script.flags & RENEW)
				renew_objects();
		}
	}
	__atomic_add_fetch(&nr_ended, 1, __ATOMIC_SEQ_CST);
}

static void meet(int nr)
{
	const uint64_t end_ns = now_ns() + LAST_NS;

	__atomic_add_fetch(&nr_begun, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&nr_begun, __ATOMIC_SEQ_CST) < nr && now_ns() < end_ns)
		;
}

static void *other_thread(void *arg)
{
	meet(2);
	act(true);
	return arg;
}

static void prepare_rows(void)
{
	int i;

	for (i = 0; i < script.nr_entries; i++) {
		const struct entry *e = &script.entries[i];

		if (e->sort == ROW_CALL && row_of(e)->prepare && !(row_of(e)->flags & LATE))
			row_of(e)->prepare();
	}
}

static void become_user(void)
{
	(void)!chown(".", A_USER, A_USER);
	(void)!fchown(A_FILE, A_USER, A_USER);
	(void)!chown("dir", A_USER, A_USER);
	become(A_USER);
}

static bool has_other(void)
{
	int i;

	for (i = 0; i < script.nr_entries; i++)
		if (script.entries[i].other)
			return true;
	return false;
}

/* @watched: the kernel notes which of its places this process reaches. */
static void run_here(bool watched)
{
	int mark = watched ? open("/proc/self/make-it-fail", O_WRONLY) : -1;
	pthread_t other;

	setsid();
	forgiving = true;
	make_pages();
	set_up();
	prepare_rows();
	if (script.flags & AS_USER)
		become_user();
	if (watched)
		(void)!write(mark, "1", 1);
	if (has_other() && !pthread_create(&other, NULL, other_thread, NULL))
		meet(2);
	act(false);

	const uint64_t end_ns = now_ns() + LAST_NS;

	while (__atomic_load_n(&nr_ended, __ATOMIC_SEQ_CST) <
		       __atomic_load_n(&nr_begun, __ATOMIC_SEQ_CST) &&
	       now_ns() < end_ns)
		sleep_ns(NS_PER_MS / 4);
	_exit(0);
}

/* --- the process that watches ---------------------------------------------------------------- */

static int nr_killed;

/* Whether this process waits for SIGCHLD and hears nothing of the terminal, which scripts take. */
static void watch_children(bool on)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(on ? SIG_BLOCK : SIG_UNBLOCK, &child, NULL);
	signal(SIGHUP, on ? SIG_IGN : SIG_DFL);
	signal(SIGTTOU, on ? SIG_IGN : SIG_DFL);
}

/* Returns whether the child @pid ended before @end_ns. watch_children() was called. */
static bool ends_before(pid_t pid, uint64_t end_ns)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	while (waitpid(pid, NULL, WNOHANG) != pid) {
		const uint64_t now = now_ns();
		struct timespec rest = { .tv_nsec = 0 };

		if (now >= end_ns)
			return false;
		rest.tv_sec = (time_t)((end_ns - now) / NS_PER_S);
		rest.tv_nsec = (long)((end_ns - now) % NS_PER_S);
		sigtimedwait(&child, NULL, &rest);
	}
	return true;
}

static void restore(void)
{
	restore_settings();
	restore_machine();
}

/* Returns false if the process does not end. */
static bool await_end(pid_t pid)
{
	const uint64_t start_ns = now_ns();
	bool killed = !ends_before(pid, start_ns + ENOUGH);

	if (killed) {
		kill(pid, SIGKILL);
		restore(); /* it may have no time, or no CPU */
		if (!ends_before(pid, start_ns + TOO_LONG))
			return false;
	}
	kill(-pid, SIGKILL);
	while (waitpid(-1, NULL, WNOHANG) > 0) /* CLONE_PARENT makes them ours */
		;
	nr_killed += killed;
	return true;
}

static bool run_once(bool watched)
{
	pid_t pid;

	make_place();
	fflush(stdout);
	pid = (pid_t)must(fork(), "fork");
	if (!pid) {
		watch_children(false);
		run_here(watched);
	}
	if (!await_end(pid))
		return false;
	clean_up();
	restore();
	return true;
}

enum { FINE, LOSES, HANGS };

static bool counts; /* the kernel says what it has handed out */

/* A loss comes each time; CPUs and caches keep more and more only for some runs. */
static int run_script(bool watched)
{
	struct in_use before = { 0, 0 };
	int i;

	for (i = 0; i < MOST_RUNS; i++) {
		if (counts)
			before = count_in_use();
		if (!run_once(watched && !i))
			return HANGS;
		if (!counts || !lasting_loss(before))
			return FINE;
	}
	return LOSES;
}

static const char *const verdicts[] = { "nothing is wrong", "objects or pages are lost each time",
					"the process does not end" };

/* Replay and source take such a file; sh makes it with printf. */
static void print_bytes(const uint8_t *bytes, size_t length)
{
	size_t i;

	printf("  printf '");
	for (i = 0; i < length; i++)
		printf("\\%03o", bytes[i]);
	printf("' > /tmp/script; fuzz --replay /tmp/script\n");
}

static int complain(int verdict, const uint8_t *bytes, size_t length)
{
	if (verdict) {
		printf("FAIL %s; again:\n", verdicts[verdict]);
		print_bytes(bytes, length);
		fflush(stdout);
	}
	if (verdict == HANGS)
		exit(1);
	return verdict != FINE;
}

static void prepare(void)
{
	watch_children(true);
	counts = !access(DEBUGFS "fail_in_use", R_OK);
	forgiving = true; /* a script may have removed what the next one makes */
	if (counts)
		allow_failures(false);
	nr_calls = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (nr_calls == MAP_FAILED)
		die("mmap");
	keep_settings();
	clean_up();
}

int fuzz_scripts(struct random *r, int nr)
{
	uint8_t bytes[MOST_BYTES];
	int i, nr_wrong = 0;

	prepare();
	for (i = 0; i < nr; i++) {
		size_t length = draw_script(r, bytes);

		read_script(&script, bytes, length);
		nr_wrong += complain(run_script(true), bytes, length);
	}
	printf("\nscripts: %d of calls in %d ways, %d had to be killed; %d wrong\n", nr, nr_rows(),
	       nr_killed, nr_wrong);
	fflush(stdout);
	return nr_wrong;
}

void serve_link(void)
{
	int fd = (int)must(open(LINK, O_RDWR), LINK " (a kernel of COVER=1 has it)");
	uint8_t bytes[MOST_BYTES];

	prepare();
	for (;;) {
		ssize_t length = pread(fd, bytes, sizeof(bytes), 0);
		int verdict;

		if (length < 0)
			die(LINK);
		read_script(&script, bytes, (size_t)length);
		*nr_calls = 0;
		verdict = run_script(true);
		if (verdict)
			printf("FAIL %s\n", verdicts[verdict]);
		write_number(fd, (unsigned)verdict | *nr_calls << 2);
	}
}

void load_script(struct script *p, const char *name)
{
	uint8_t bytes[MOST_BYTES];
	int fd = open(name, O_RDONLY);
	ssize_t length = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));

	if (length < 0)
		die(name);
	close(fd);
	read_script(p, bytes, (size_t)length);
}

int replay(const char *name, int times)
{
	int i, verdict = FINE;

	load_script(&script, name);
	prepare();
	for (i = 0; i < times && !verdict; i++)
		verdict = run_script(false);
	printf("%s: %s\n", name, verdicts[verdict]);
	return verdict != FINE;
}
