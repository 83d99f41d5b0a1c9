/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Senseless text for the files of the kernel: numbers at the edges, words that mean something
 * elsewhere, bytes of every kind, nothing, too much; at the beginning and in the middle. Scripts
 * get the settings back that the script before has changed.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "lib/args.h"

#define MOST_FILES 4096
#define LONGEST	   70000
#define SETTING	   120 /* bytes that the text of a setting has at most */

static const char *const trees[] = { "/proc", "/sys", FUZZ_GROUPS };
/* Files that end the machine, that wait, or that decide how this program or a script ends. */
static const char *const spared[] = { "sysrq-trigger", "exit_status", "trace_pipe", "kmsg",
				      "fuzz_link" };

/* Sorted by their last names; names[] are where one begins. */
static struct file {
	char *path;
	char *text; /* if it is a setting */
} files[MOST_FILES];

static int nr_files, names[MOST_FILES + 1], nr_names;
static unsigned char *changed; /* for each file; shared with the processes of scripts */

static int is_spared(const char *path)
{
	unsigned i;

	for (i = 0; i < sizeof(spared) / sizeof(spared[0]); i++)
		if (strstr(path, spared[i]))
			return 1;
	/* Spare the files of other processes, which have to go on. */
	return !strncmp(path, "/proc/", 6) && path[6] >= '0' && path[6] <= '9';
}

static void add_file(const char *path)
{
	if (nr_files < MOST_FILES)
		files[nr_files++].path = strdup(path);
}

static int see_file(const char *path, const struct stat *st, int flag, struct FTW *walk)
{
	(void)st, (void)walk;
	if (flag == FTW_F && !is_spared(path))
		add_file(path);
	return 0;
}

void put_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_NONBLOCK);

	if (fd < 0)
		return;
	(void)!write(fd, text, strlen(text));
	close(fd);
}

static const char *name_of(const struct file *f)
{
	return strrchr(f->path, '/') + 1;
}

static int by_name(const void *a, const void *b)
{
	int order = strcmp(name_of(a), name_of(b));

	return order ? order
		     : strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

static void sort_files(void)
{
	int i;

	qsort(files, (size_t)nr_files, sizeof(files[0]), by_name);
	for (i = 0, nr_names = 0; i < nr_files; i++)
		if (!i || strcmp(name_of(&files[i]), name_of(&files[i - 1])))
			names[nr_names++] = i;
	names[nr_names] = nr_files;
}

/* Of "a [b] c" b is the choice. */
static void keep_choice(char *text)
{
	char *begin = strchr(text, '['), *end = begin ? strchr(begin, ']') : NULL;

	if (!end)
		return;
	*end = '\0';
	memmove(text, begin + 1, (size_t)(end - begin));
}

static void read_setting(struct file *f)
{
	char text[SETTING + 1] = "";
	int fd = open(f->path, O_RDWR | O_NONBLOCK);
	ssize_t length = fd < 0 ? 0 : read(fd, text, SETTING + 1);

	close(fd);
	if (length <= 0 || length > SETTING || !strncmp(name_of(f), "cgroup.", 7))
		return;
	text[length] = '\0';
	keep_choice(text);
	f->text = strdup(text);
}

void keep_settings(void)
{
	int i;

	changed = mmap(NULL, MOST_FILES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (changed == MAP_FAILED)
		die("mmap");
	for (i = 0; i < nr_files; i++)
		read_setting(&files[i]);
}

void restore_settings(void)
{
	int i;

	for (i = 0; i < nr_files; i++)
		if (changed[i]) {
			changed[i] = false;
			if (files[i].text)
				put_text(files[i].path, files[i].text);
		}
}

int find_files(bool in_v2)
{
	static const char *const own[] = { "comm",	    "sched",   "autogroup",
					   "timerslack_ns", "oom_adj", "oom_score_adj",
					   "clear_refs",    "mem",     "coredump_filter" };
	unsigned i;

	mkdir(FUZZ_GROUPS, 0755);
	if (in_v2)
		mount("none", FUZZ_GROUPS, "cgroup2", 0, "");
	else
		mount("none", FUZZ_GROUPS, "cgroup", 0, "cpu");
	put_text(FUZZ_GROUPS "/cgroup.subtree_control", "+cpu");
	mkdir(FUZZ_GROUP, 0755);
	put_text(FUZZ_GROUP "/cgroup.subtree_control", "+cpu");
	mkdir(FUZZ_GROUP "/inner", 0755);
	mkdir("/sys/kernel/tracing/instances/fuzz", 0755);
	for (i = 0; i < sizeof(trees) / sizeof(trees[0]); i++)
		nftw(trees[i], see_file, 16, FTW_PHYS);
	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/self/%s", own[i]);
		add_file(path);
	}
	sort_files();
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

/* Each name is as likely as the others: files of events have few. */
static int any_file(struct random *r)
{
	uint64_t name = random_below(r, (uint64_t)nr_names);

	return names[name] + (int)random_below(r, (uint64_t)(names[name + 1] - names[name]));
}

void fuzz_file(struct random *which, struct random *r)
{
	static const int ways[] = { O_RDONLY, O_WRONLY, O_RDWR, O_WRONLY | O_TRUNC,
				    O_RDWR | O_APPEND };
	static char buf[LONGEST + 64];
	int file = any_file(which),
	    fd = open(files[file].path, ways[random_below(r, 5)] | O_NONBLOCK), i;

	if (fd < 0)
		return;
	if (changed)
		changed[file] = true;
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
		fuzz_file(r, r);
}
