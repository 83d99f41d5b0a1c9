/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * exhaust: an ordinary user takes all that it can get of something, with four processes that keep
 * it. The kernel must refuse or end them; meanwhile root must be able to run a program, and
 * afterwards the memory must be back. On another machine this would take down others: it runs here.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exhaust/exhaust.h"
#include "lib/args.h"

enum { WORKERS = 4, USER = 1000, ENOUGH_KB = 1024 };

static const struct arg args[] = { { 0 } };

static const struct program program = {
	"exhaust",
	"As an ordinary user take all there is of each NAME, or of everything, one by one.",
	"[NAME]...",
	args,
};

struct worker {
	pid_t pid;
	int said; /* the end of a pipe */
};

static void become_ordinary(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) || setgroups(0, NULL) || setgid(USER) || setuid(USER))
		die("setuid");
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

/* Take all, say how many it was and why no more, and keep it. */
static void work(const struct kind *kind, int out)
{
	char line[64];
	long nr;

	become_ordinary();
	dup2(out, STDIN_FILENO); /* the other descriptors may be given to a child */
	close(out);
	if (write(STDIN_FILENO, " ", 1) != 1) /* later it would get no memory for it */
		_exit(1);
	errno = 0;
	for (nr = 0; nr < MOST && kind->take(nr); nr++)
		;
	snprintf(line, sizeof(line), "%ld, %s\n", nr, nr == MOST ? "no end" : strerror(errno));
	if (write(STDIN_FILENO, line, strlen(line)) < 0)
		_exit(1);
	for (;;)
		pause();
}

static struct worker start(const struct kind *kind)
{
	struct worker w;
	int said[2];

	if (pipe(said))
		die("pipe");
	w.pid = fork();
	if (w.pid < 0)
		die("fork");
	if (!w.pid) {
		close(said[0]);
		work(kind, said[1]);
	}
	close(said[1]);
	w.said = said[0];
	return w;
}

/* Wait until it has all or is dead. */
static void listen_to(const struct worker *w)
{
	char line[64] = "";
	FILE *said = fdopen(w->said, "r");
	int status;

	if (!said)
		die("fdopen");
	if (fgets(line, sizeof(line), said) && strchr(line, '\n'))
		printf("%.*s;", (int)strcspn(line, "\n"), line);
	else if (waitpid(w->pid, &status, 0) == w->pid)
		printf(" %s;", WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "ended");
	fflush(stdout);
	fclose(said);
}

/* The children of the workers go, too. */
static void end(const struct worker *workers)
{
	pid_t pid = fork();

	if (!pid) {
		become_ordinary();
		_exit(kill(-1, SIGKILL));
	}
	for (int i = 0; i < WORKERS; i++)
		kill(workers[i].pid, SIGKILL);
	while (wait(NULL) > 0)
		;
}

static long free_kb(void)
{
	char line[80];
	long kb = 0;
	FILE *f = fopen("/proc/meminfo", "r");

	while (f && fgets(line, sizeof(line), f) && sscanf(line, "MemFree: %ld", &kb) != 1)
		;
	if (f)
		fclose(f);
	return kb;
}

/* Is the memory there again? Some comes late. */
static bool is_back(long before)
{
	for (int i = 0; i < 100; i++) {
		if (free_kb() > before - ENOUGH_KB)
			return true;
		usleep(20000);
	}
	return false;
}

static bool exhaust(const struct kind *kind)
{
	struct worker workers[WORKERS];
	long before = free_kb();
	bool goes_on, back;

	printf("%s:", kind->name);
	fflush(stdout);
	for (int i = 0; i < WORKERS; i++)
		workers[i] = start(kind);
	for (int i = 0; i < WORKERS; i++)
		listen_to(&workers[i]);
	goes_on = !system("ls / | grep -q proc");
	end(workers);
	if (system("rm -rf /tmp/exhaust.*"))
		goes_on = false;
	back = is_back(before);
	printf(" root %s, memory is %s\n", goes_on ? "goes on" : "is stuck",
	       back ? "back" : "missing");
	return goes_on && back;
}

int main(int argc, char **argv)
{
	int failed = 0, first = parse_args(&program, argc, argv);

	if (geteuid())
		die("only root can become others");
	for (const struct kind *kind = kinds; kind->name; kind++) {
		bool wanted = first == argc;

		for (int i = first; i < argc; i++)
			wanted |= !strcmp(argv[i], kind->name);
		failed += wanted && !exhaust(kind);
	}
	printf("%d failed\n", failed);
	return failed != 0;
}
