/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Senseless text for the files of the kernel: numbers at the edges, words that mean something
 * elsewhere, bytes of every kind, nothing, too much; at the beginning and in the middle.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/fuzz.h"

#define MOST_FILES 4096
#define LONGEST	   70000

static const char *const trees[] = { "/proc", "/sys", FUZZ_GROUPS };
/* Files that end the machine, that wait, or that decide how this program ends. */
static const char *const spared[] = { "sysrq-trigger", "exit_status", "trace_pipe", "kmsg" };

static char *files[MOST_FILES];
static int nr_files;

static int is_spared(const char *path)
{
	unsigned i;

	for (i = 0; i < sizeof(spared) / sizeof(spared[0]); i++)
		if (strstr(path, spared[i]))
			return 1;
	/* Spare the files of other processes, which have to go on. */
	return !strncmp(path, "/proc/", 6) && path[6] >= '0' && path[6] <= '9';
}

static int see_file(const char *path, const struct stat *st, int flag, struct FTW *walk)
{
	(void)walk;
	if (flag == FTW_F && st->st_mode & 0222 && !is_spared(path) && nr_files < MOST_FILES)
		files[nr_files++] = strdup(path);
	return 0;
}

int find_files(void)
{
	static const char *const own[] = { "comm",	    "sched",   "autogroup",
					   "timerslack_ns", "oom_adj", "oom_score_adj",
					   "clear_refs",    "mem",     "coredump_filter" };
	unsigned i;

	mkdir(FUZZ_GROUPS, 0755);
	mount("none", FUZZ_GROUPS, "cgroup", 0, "cpu");
	mkdir(FUZZ_GROUP, 0755);
	mkdir(FUZZ_GROUP "/inner", 0755);
	mkdir("/sys/kernel/tracing/instances/fuzz", 0755);
	for (i = 0; i < sizeof(trees) / sizeof(trees[0]); i++)
		nftw(trees[i], see_file, 16, FTW_PHYS);
	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/self/%s", own[i]);
		files[nr_files++] = strdup(path);
	}
	return nr_files;
}

static const char *const words[] = {
	"cfs",
	"eevdf",
	"bore",
	"bore-cfs",
	"fdl",
	"NO_LAST_BUDDY",
	"LAST_BUDDY",
	"HRTICK",
	"NO_HRTICK",
	"sched:*",
	"!sched:*",
	"*:*",
	"sched:sched_switch",
	"none",
	"full",
	"voluntary",
	"0",
	"1",
	"-1",
	"max",
	"max 1000",
	"1000",
	"100000",
	"+cpu",
	"-cpu",
	"f",
	"0-3",
	"threaded",
	"print",
	"nop",
	"1000 50",
	"*",
	"overwrite",
	"nooverwrite",
	"%s%n%p",
	"2",
	"domain",
	"0x7fffffff",
	"017",
	"prev_pid == 1 && next_comm ~ \"*\"",
	"!(common_pid > 0x10 || CPU & 3)",
	"((((prev_pid==1",
	"comm == 'x",
};

/* Fill @buf with some input; its length. */
static size_t make_text(struct random *r, char *buf)
{
	size_t length = 0, i;

	switch (random_below(r, 8)) {
	case 0:
		return 0;
	case 1:
		return (size_t)sprintf(buf, "%lld\n", (long long)random_edge(r));
	case 2:
		return (size_t)sprintf(buf, "%llu", (unsigned long long)random_edge(r));
	case 3:
		return (size_t)sprintf(buf, "%lld %lld", (long long)random_edge(r),
				       (long long)random_edge(r));
	case 4:
		length = random_below(r, 64);
		break;
	case 5:
		length = random_below(r, LONGEST);
		memset(buf, (int)random_below(r, 256), length);
		return length;
	default:
		return (size_t)sprintf(buf, "%s\n",
				       words[random_below(r, sizeof(words) / sizeof(words[0]))]);
	}
	for (i = 0; i < length; i++)
		buf[i] = (char)random_next(r);
	return length;
}

void fuzz_file(struct random *r)
{
	static const int ways[] = { O_RDONLY, O_WRONLY, O_RDWR, O_WRONLY | O_TRUNC,
				    O_RDWR | O_APPEND };
	static char buf[LONGEST + 64];
	int fd = open(files[random_below(r, (uint64_t)nr_files)],
		      ways[random_below(r, 5)] | O_NONBLOCK);
	int i;

	if (fd < 0)
		return;
	for (i = 0; i < 3; i++) {
		size_t length = make_text(r, buf);

		if (!random_below(r, 4))
			lseek(fd, (off_t)random_edge(r), (int)random_below(r, 4));
		if (random_below(r, 3))
			(void)!write(fd, buf, length);
		else
			(void)!read(fd, buf, random_below(r, LONGEST));
		if (!random_below(r, 16))
			(void)!ftruncate(fd, (off_t)random_edge(r));
	}
	close(fd);
}

void fuzz_files(struct random *r, int n)
{
	int i;

	for (i = 0; i < n; i++)
		fuzz_file(r);
}
