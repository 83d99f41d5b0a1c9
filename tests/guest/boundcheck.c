/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * boundcheck: how long can one user keep others from running? Each test does what was, or may be,
 * long under a lock, in a child. A task of a real-time priority sleeps and wakes beside it on one
 * CPU all the while. How late it wakes is how long the kernel could not be preempted. Under
 * ICOUNT=1 a nanosecond is an instruction, so it is the same in each run.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/check.h"
#include "lib/clock.h"
#include "lib/sched.h"
#include "lib/threads.h"

#define TURN_NS (30 * NS_PER_US) /* from one wakeup to the next */

static int limit_us = 50;

static const struct arg args[] = {
	{ 'l', "limit", ARG_INT, &limit_us, "us that a wakeup may be late (default 50)", 1,
	  1 << 30 },
	{ 0 },
};

static const struct program program = {
	"boundcheck",
	"Look how long others cannot run while one does what is long. Without NAME: all.",
	"[NAME]...",
	args,
};

static void be_urgent(bool urgent)
{
	const struct policy policy = { urgent ? SCHED_FIFO : SCHED_OTHER, urgent ? 50 : 0 };

	EXPECT(!set_policy(0, &policy));
}

/* Calls @fn in a child, and requires that a task beside it wakes in time. */
static void watch(const char *what, void (*fn)(void *))
{
	pid_t pid = spawn(fn, NULL);
	uint64_t at_ns, late_ns, worst_ns = 0;

	be_urgent(true);
	for (at_ns = now_ns() + TURN_NS; !waitpid(pid, NULL, WNOHANG); at_ns = now_ns() + TURN_NS) {
		sleep_until_ns(at_ns);
		late_ns = now_ns() - at_ns;
		if (late_ns > worst_ns)
			worst_ns = late_ns;
	}
	be_urgent(false);
	printf("# %s: %llu ns\n", what, (unsigned long long)worst_ns);
	EXPECT(worst_ns <= (uint64_t)limit_us * NS_PER_US);
}

/* --- files ------------------------------------------------------------------------------ */

enum { NR_LINKS = 40, LINK_LENGTH = 4095, ROUNDS = 3 };

static void look_at_links(void *unused)
{
	struct stat st;
	int i;

	(void)unused;
	for (i = 0; i < ROUNDS; i++)
		EXPECT(!stat("l0", &st));
}

/* Each link's text is @unit again and again, and then the next one; the last names the place. */
static void make_links(const char *unit)
{
	char text[LINK_LENGTH + 1], name[8];
	size_t length = strlen(unit), at;
	int i;

	for (i = 0; i < NR_LINKS; i++) {
		for (at = 0; at + length + 4 < LINK_LENGTH; at += length)
			memcpy(text + at, unit, length);
		snprintf(text + at, sizeof(text) - at, i == NR_LINKS - 1 ? "." : "l%d", i + 1);
		snprintf(name, sizeof(name), "l%d", i);
		EXPECT(!symlink(text, name));
	}
}

static void long_links(void)
{
	EXPECT(!mkdir("a", 0755));
	make_links("a/../");
	watch("40 links of 4,095 bytes", look_at_links);
}

static void links_of_slashes(void)
{
	char text[LINK_LENGTH + 1], name[8], next[8];
	int i;

	for (i = 0; i < NR_LINKS; i++) {
		snprintf(name, sizeof(name), "l%d", i);
		snprintf(next, sizeof(next), i == NR_LINKS - 1 ? "." : "l%d", i + 1);
		memset(text, '/', LINK_LENGTH);
		text[LINK_LENGTH] = 0;
		memcpy(text, next, strlen(next));
		EXPECT(!symlink(text, name));
	}
	watch("40 links with thousands of slashes behind", look_at_links);
}

/* FNV-1a, which had 1,024 buckets for all names, with no secret but the number of the directory. */
static uint32_t old_hash(uint32_t ino, uint32_t dev, const char *name)
{
	uint32_t h = 2166136261u ^ ino ^ dev << 16;

	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 16777619u;
	return (h ^ h >> 15) % 1024;
}

enum { NR_NAMES = 1500 };

/* Makes NR_NAMES names that fell into one bucket. @first is the first of them, the last there. */
static void make_names(char first[16])
{
	struct stat st;
	char name[16];
	int i, nr = 0, bucket = -1;

	EXPECT(!stat(".", &st));
	for (i = 0; nr < NR_NAMES; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		int hash = (int)old_hash((uint32_t)st.st_ino, (uint32_t)st.st_dev, name);
		if (bucket >= 0 && hash != bucket)
			continue;
		bucket = hash;
		if (nr++)
			EXPECT(!mknod(name, S_IFREG | 0644, 0));
		else
			EXPECT(!mkdir(strcpy(first, name), 0755));
	}
}

static void names_alike(void)
{
	char first[16], unit[32];

	make_names(first);
	snprintf(unit, sizeof(unit), "%s/../", first);
	make_links(unit);
	watch("1,500 names of one bucket", look_at_links);
}

enum { NR_FILES = 20000, DEPTH = 20000 };

static void read_to_the_end(void *unused)
{
	char buf[4096];
	int fd = open("many", O_RDONLY | O_DIRECTORY);

	(void)unused;
	while (syscall(SYS_getdents64, fd, buf, sizeof(buf)) > 0)
		;
}

static void long_directory(void)
{
	char name[32];
	int i;

	EXPECT(!mkdir("many", 0755));
	for (i = 0; i < NR_FILES; i++) {
		snprintf(name, sizeof(name), "many/%d", i);
		EXPECT(!mknod(name, S_IFREG | 0644, 0));
	}
	watch("20,000 names in a directory", read_to_the_end);
}

static void rename_deep(void *unused)
{
	(void)unused;
	EXPECT(!rename("../x", "y"));
}

static void deep_directory(void)
{
	int i;

	EXPECT(!mkdir("x", 0755));
	for (i = 0; i < DEPTH; i++)
		EXPECT(!mkdir("d", 0755) && !chdir("d"));
	EXPECT(!mkdir("../x", 0755));
	watch("a rename 20,000 directories deep", rename_deep);
	EXPECT(!rmdir("y"));
	for (i = 0; i < DEPTH; i++)
		EXPECT(!chdir("..") && !rmdir("d"));
}

static void cut_file(void *unused)
{
	(void)unused;
	EXPECT(!truncate("f", 1));
}

static void cut_long_file(void)
{
	int fd = open("f", O_CREAT | O_RDWR, 0644);

	EXPECT(fd >= 0 && !posix_fallocate(fd, 0, 16 << 20) && !close(fd));
	watch("16 MiB cut off a file", cut_file);
}

/* --- processes -------------------------------------------------------------------------- */

enum { NR_CHILDREN = 1000 };

static int stay[2]; /* a pipe: who lives reads from it until the test is over */

/* Has children, each in a group of its own if @groups, who end at once unless they are @alive. */
static void have_children(bool groups, bool alive)
{
	char c;
	int i;

	EXPECT(!close(stay[1]));
	for (i = 0; i < NR_CHILDREN; i++) {
		pid_t pid = fork();

		EXPECT(pid >= 0);
		if (!pid)
			_exit(alive && read(stay[0], &c, 1));
		if (groups)
			EXPECT(!setpgid(pid, pid));
	}
}

static void leave_groups(void *unused)
{
	(void)unused;
	have_children(true, true);
}

static void leave_children(void *unused)
{
	(void)unused;
	have_children(false, true);
}

static void leave_the_dead(void *unused)
{
	(void)unused;
	have_children(false, false);
}

static void children_in_groups(void)
{
	EXPECT(!pipe(stay));
	watch("the end of a parent of 1,000 process groups", leave_groups);
}

static void many_children(void)
{
	EXPECT(!pipe(stay));
	watch("the end of a parent of 1,000 children", leave_children);
}

static void dead_children(void)
{
	EXPECT(!pipe(stay));
	watch("the end of a parent of 1,000 dead", leave_the_dead);
}

/* --- waiters ---------------------------------------------------------------------------- */

enum { NR_WAITERS = 300 };

static uint32_t word;

static void *wait_on_word(void *unused)
{
	syscall(SYS_futex, &word, 128, 0, NULL, NULL, 0);
	return unused;
}

static void *wait_on_pipe(void *unused)
{
	struct pollfd end = { .fd = stay[0], .events = POLLIN };

	EXPECT(poll(&end, 1, -1) == 1);
	return unused;
}

/* Starts threads that sleep in @wait, then calls @wake, and ends when all are back. */
static void wake_threads(void *(*wait)(void *), void (*wake)(void))
{
	static pthread_t threads[NR_WAITERS];
	int i;

	for (i = 0; i < NR_WAITERS; i++)
		start_thread(&threads[i], NULL, wait, NULL);
	sleep_ns(20 * NS_PER_MS);
	wake();
	for (i = 0; i < NR_WAITERS; i++)
		pthread_join(threads[i], NULL);
}

static void wake_word(void)
{
	EXPECT(syscall(SYS_futex, &word, 129, NR_WAITERS, NULL, NULL, 0) == NR_WAITERS);
}

static void write_pipe(void)
{
	EXPECT(write(stay[1], "x", 1) == 1);
}

static void wake_by_futex(void *unused)
{
	(void)unused;
	wake_threads(wait_on_word, wake_word);
}

static void wake_by_pipe(void *unused)
{
	(void)unused;
	wake_threads(wait_on_pipe, write_pipe);
}

static void wake_many(void)
{
	watch("300 waiters of a futex", wake_by_futex);
}

static void wait_many(void)
{
	EXPECT(!pipe(stay));
	watch("300 who poll a pipe", wake_by_pipe);
}

static const struct check tests[] = {
	{ "long-links", long_links },
	{ "links-of-slashes", links_of_slashes },
	{ "names-alike", names_alike },
	{ "long-directory", long_directory },
	{ "deep-directory", deep_directory },
	{ "cut-long-file", cut_long_file },
	{ "wake-many", wake_many },
	{ "wait-many", wait_many },
	{ "children-in-groups", children_in_groups },
	{ "many-children", many_children },
	{ "dead-children", dead_children },
	{ 0 },
};

int main(int argc, char **argv)
{
	static const struct check *const groups[] = { tests };

	return run_checks(&program, groups, 1, argc, argv);
}
