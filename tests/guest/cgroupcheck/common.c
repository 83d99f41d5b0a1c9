/* SPDX-License-Identifier: GPL-2.0-only */
/* See cgroupcheck.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cgroupcheck/cgroupcheck.h"

#define MOUNTED_AT "/tmp/cgroupcheck"

/* Groups that a failed test has left behind are removed by the next test. */
static void enter(const char *type, const void *options)
{
	umount2(MOUNTED_AT, MNT_DETACH);
	EXPECT(!mkdir(MOUNTED_AT, 0755) || errno == EEXIST);
	EXPECT(!mount("none", MOUNTED_AT, type, 0, options));
	EXPECT(!system("find " MOUNTED_AT " -mindepth 1 -depth -type d -exec rmdir {} ';'"));
	EXPECT(!chdir(MOUNTED_AT));
}

/* Orphans of the test may be here for a moment longer. */
static void leave(void)
{
	int tries;

	EXPECT(!chdir("/"));
	for (tries = 0; tries < 1000 && umount(MOUNTED_AT); tries++) {
		EXPECT(errno == EBUSY);
		usleep(1000);
	}
	EXPECT(tries < 1000);
}

void enter_v1(void)
{
	enter("cgroup", "cpu");
}

void leave_v1(void)
{
	leave();
}

/*
 * Linux keeps a v1 hierarchy that was unmounted a moment after its last group was removed, until it
 * is mounted and unmounted once more.
 */
static void forget_v1(void)
{
	if (!mount("none", MOUNTED_AT, "cgroup", 0, "cpu"))
		umount(MOUNTED_AT);
	usleep(100000);
}

void enter_v2(void)
{
	int tries;

	enter("cgroup2", NULL);
	for (tries = 0; tries < 100 && put("cgroup.subtree_control", "+cpu"); tries++)
		forget_v1();
	EXPECT(tries < 100);
}

void leave_v2(void)
{
	EXPECT(!put("cgroup.subtree_control", "-cpu"));
	leave();
}

const struct hierarchy v1 = { enter_v1, leave_v1 }, v2 = { enter_v2, leave_v2 };

static void enter_group(const struct hierarchy *h)
{
	h->enter();
	EXPECT(!mkdir("g", 0755) && !chdir("g"));
}

static void leave_group(const struct hierarchy *h)
{
	EXPECT(!chdir("..") && !rmdir("g"));
	h->leave();
}

void in_group(const struct hierarchy *h, void (*fn)(void))
{
	enter_group(h);
	fn();
	leave_group(h);
}

int put(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY), error = 0;
	size_t len = strlen(text);
	ssize_t n;

	if (fd < 0)
		return errno;
	n = write(fd, text, len);
	if (n < 0)
		error = errno;
	else
		EXPECT(n == (ssize_t)len);
	close(fd);
	return error;
}

int put_number(const char *file, long number)
{
	char text[24];

	snprintf(text, sizeof(text), "%ld", number);
	return put(file, text);
}

static char text_read[1 << 20];

static int read_all(const char *file)
{
	int fd = open(file, O_RDONLY), error = 0;
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		return errno;
	while ((n = read(fd, text_read + len, sizeof(text_read) - 1 - len)) > 0)
		len += (size_t)n;
	if (n < 0)
		error = errno;
	text_read[len] = '\0';
	close(fd);
	return error;
}

const char *get(const char *file)
{
	int error = read_all(file);

	if (error) {
		errno = error;
		fail(__FILE__, __LINE__, file);
	}
	return text_read;
}

int read_error(const char *file)
{
	return read_all(file);
}

bool reads(const char *file, const char *text)
{
	const char *now = get(file);
	size_t len = strlen(text);

	return !strncmp(now, text, len) && !strcmp(now + len, len ? "\n" : "");
}

bool lists(const char *file, pid_t number)
{
	const char *line = get(file);

	for (; line && *line; line = strchr(line, '\n'), line += line != NULL)
		if (atoi(line) == number)
			return true;
	return false;
}

unsigned nr_lines(const char *file)
{
	unsigned nr = 0;
	const char *c;

	for (c = get(file); *c; c++)
		nr += *c == '\n';
	return nr;
}

long value_of(const char *file, const char *name)
{
	const char *line = get(file);
	size_t len = strlen(name);

	for (; line && *line; line = strchr(line, '\n'), line += line != NULL)
		if (!strncmp(line, name, len) && line[len] == ' ')
			return atol(line + len + 1);
	fail(__FILE__, __LINE__, name);
}

void check_rows(const struct row *rows)
{
	char what[256];
	int error;

	for (; rows->file; rows++) {
		error = rows->text ? put(rows->file, rows->text) : 0;
		if (error == rows->error && (!rows->reads || reads(rows->file, rows->reads)))
			continue;
		snprintf(what, sizeof(what),
			 "'%s' to %s fails with %s, which reads '%s' (reads '%.64s')",
			 rows->text ? rows->text : "(nothing)", rows->file, strerror(rows->error),
			 rows->reads ? rows->reads : "", rows->reads ? get(rows->file) : "");
		errno = error;
		fail(__FILE__, __LINE__, what);
	}
}

void check_in_group(const struct hierarchy *h, const struct row *rows)
{
	enter_group(h);
	check_rows(rows);
	leave_group(h);
}

static void sleep_for_ever(void *unused)
{
	(void)unused;
	for (;;)
		pause();
}

pid_t start_sleeper(void)
{
	return spawn(sleep_for_ever, NULL);
}

void end_child(pid_t pid)
{
	int status;

	EXPECT(!kill(pid, SIGKILL));
	EXPECT(waitpid(pid, &status, 0) == pid);
}

void burn(unsigned ms)
{
	struct timespec t;

	do {
		for (volatile int i = 0; i < 10000; i++)
			;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	} while ((unsigned long)t.tv_sec * 1000 + (unsigned long)t.tv_nsec / 1000000 < ms);
}
