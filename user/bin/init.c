/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * init: process 1. Runs one job and powers the machine off with the job's status.
 *
 *	/run/cmd exists      the job is `sh /run/cmd`
 *	otherwise            the job is the demonstration, followed by a shell if there is a
 *	                     terminal: kernel parameter "interactive", or /run/interactive exists
 *
 * While the job runs, init adopts and reaps orphans. A shell has a session of its own with the
 * console as controlling terminal, so that job control works.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONSOLE	    "/dev/console"
#define COMMAND	    "/run/cmd"
#define INTERACTIVE "/run/interactive"
#define BASH	    "/bin/bash" /* of a tree of the user's, whose sh may be one for scripts */
#define EXIT_STATUS "/sys/kernel/debug/exit_status"

/* Mount the file systems that the kernel has not mounted by itself. */
static void mount_missing(void)
{
	static const struct {
		const char *type, *where, *probe;
	} mounts[] = {
		{ "devtmpfs", "/dev", "/dev/null" },
		{ "proc", "/proc", "/proc/self" },
		{ "sysfs", "/sys", "/sys/kernel" },
		{ "debugfs", "/sys/kernel/debug", "/sys/kernel/debug/sched" },
		{ "tracefs", "/sys/kernel/tracing", "/sys/kernel/tracing/tracing_on" },
	};
	unsigned i;

	for (i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++)
		if (access(mounts[i].probe, F_OK))
			mount(mounts[i].type, mounts[i].where, mounts[i].type, 0, NULL);
}

static void open_console(void)
{
	int fd = open(CONSOLE, O_RDWR | O_NOCTTY), i;

	for (i = 0; fd >= 0 && i <= STDERR_FILENO; i++)
		if (fd != i)
			dup2(fd, i);
	if (fd > STDERR_FILENO)
		close(fd);
}

/* First line of a file without its newline; "" if it cannot be read. */
static const char *read_line(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "r");

	if (!f || !fgets(buf, size, f))
		*buf = 0;
	buf[strcspn(buf, "\n")] = 0;
	if (f)
		fclose(f);
	return buf;
}

/* Boot parameters that the kernel does not know are variables already: they stay. */
static void set_environment(void)
{
	setenv("PATH", "/bin:/sbin:/usr/bin:/usr/sbin:/root", 0);
	setenv("HOME", "/root", 0);
	setenv("TERM", "vt100", 0);
}

static bool wants_shell(void)
{
	char words[1024], *word;

	read_line("/proc/cmdline", words, sizeof(words));
	for (word = strtok(words, " "); word; word = strtok(NULL, " "))
		if (!strcmp(word, "interactive"))
			return true;
	return !access(INTERACTIVE, F_OK);
}

/* In the child: become the program; @with_tty, in a session of its own that owns the console. */
static _Noreturn void exec_job(const char *const argv[], bool with_tty)
{
	if (with_tty && (setsid() < 0 || ioctl(STDIN_FILENO, TIOCSCTTY, 1)))
		perror("init: controlling terminal");
	if (chdir("/root"))
		perror("init: /root");
	execv(argv[0], (char *const *)argv);
	perror(argv[0]);
	_exit(127);
}

/* Run a program to its end, reaping whatever else ends. Its exit code, or 128 + signal. */
static int run_job(const char *const argv[], bool with_tty)
{
	pid_t pid = fork(), ended;
	int status;

	if (!pid)
		exec_job(argv, with_tty);
	if (pid < 0) {
		perror("init: fork");
		return 126;
	}
	do
		ended = wait(&status);
	while (ended > 0 && ended != pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void greet(void)
{
	puts("Try    hog -N 0,5,10 -t 2s                           shares and waits by nice value\n"
	     "       cat /sys/kernel/debug/sched/debug             every runqueue\n"
	     "       echo eevdf > /sys/kernel/debug/sched/fair_class    another scheduler\n"
	     "Leave  exit; Ctrl-A X ends the machine at once\n");
	fflush(stdout);
}

static _Noreturn void power_off(int status)
{
	FILE *f = fopen(EXIT_STATUS, "w");

	if (!f || fprintf(f, "%d\n", status) < 0 || fclose(f)) {
		perror("init: " EXIT_STATUS);
		if (status)
			_exit(status); /* a panic is no success either */
	}
	sync();
	reboot(RB_POWER_OFF);
	perror("init: power off");
	for (;;)
		pause();
}

int main(void)
{
	char line[1024];
	int status;

	if (getpid() != 1) {
		fprintf(stderr, "init: only the kernel starts init, as process 1\n");
		return 2;
	}
	set_environment();
	mount_missing();
	open_console();
	printf("%s\n", read_line("/proc/version", line, sizeof(line)));
	printf("Kernel parameters: %s\n", read_line("/proc/cmdline", line, sizeof(line)));
	fflush(stdout);
	if (!access(COMMAND, F_OK))
		power_off(run_job((const char *const[]){ "/bin/sh", COMMAND, NULL }, true));
	status = run_job((const char *const[]){ "/bin/demo", NULL }, false);
	if (wants_shell()) {
		const char *shell = access(BASH, X_OK) ? "/bin/sh" : BASH;

		greet();
		status = run_job((const char *const[]){ shell, "-l", NULL }, true);
	}
	power_off(status);
}
