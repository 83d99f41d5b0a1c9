/* SPDX-License-Identifier: GPL-2.0-only */
/* Several processes and threads at once. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "filecheck/filecheck.h"

enum { ROUNDS = 300 };

static void append_lines(void *arg)
{
	int fd = open("log", O_WRONLY | O_APPEND), i;
	char line[16];

	for (i = 0; i < ROUNDS; i++) {
		snprintf(line, sizeof(line), "%d %06d\n", *(int *)arg, i);
		EXPECT(write(fd, line, 9) == 9);
	}
}

/* Appended lines are neither lost nor torn. */
static void appending(void)
{
	int next[PARTIES] = { 0 }, who, number;
	char line[16];
	FILE *f;

	close(open("log", O_CREAT | O_RDWR, 0644));
	run_parties(append_lines);
	f = fopen("log", "r");
	EXPECT(f);
	while (fgets(line, sizeof(line), f)) {
		EXPECT(strlen(line) == 9 && sscanf(line, "%d %d", &who, &number) == 2);
		EXPECT(who < PARTIES && number == next[who]++);
	}
	for (who = 0; who < PARTIES; who++)
		EXPECT(next[who] == ROUNDS);
}

static void take_turns(void *arg)
{
	char name[16];
	int i, fd;

	(void)arg;
	for (i = 0; i < ROUNDS; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0644);
		EXPECT(fd >= 0 || errno == EEXIST);
		if (fd < 0)
			continue;
		close(fd);
		fd = open("winners", O_WRONLY | O_APPEND);
		EXPECT(write(fd, "x", 1) == 1 && !close(fd));
	}
}

/* When several processes create a name with O_EXCL, one wins. */
static void exclusive(void)
{
	struct stat st;

	close(open("winners", O_CREAT | O_RDWR, 0644));
	run_parties(take_turns);
	EXPECT(!stat("winners", &st) && st.st_size == ROUNDS);
}

static void shuffle_names(void *arg)
{
	char from[16], to[16], dir[16];
	unsigned seed = (unsigned)*(int *)arg + 1;
	int i, fd;

	for (i = 0; i < ROUNDS; i++) {
		snprintf(from, sizeof(from), "d%d/f%d", rand_r(&seed) % 3, rand_r(&seed) % 5);
		snprintf(to, sizeof(to), "d%d/f%d", rand_r(&seed) % 3, rand_r(&seed) % 5);
		snprintf(dir, sizeof(dir), "d%d", rand_r(&seed) % 3);
		fd = open(from, O_CREAT | O_RDWR, 0644);
		EXPECT(fd >= 0 || errno == ENOENT);
		EXPECT(!rename(from, to) || errno == ENOENT);
		EXPECT(!link(to, from) || errno == ENOENT || errno == EEXIST);
		EXPECT(fd < 0 || (write(fd, "x", 1) == 1 && !close(fd)));
		EXPECT(!unlink(to) || errno == ENOENT);
		EXPECT(!rmdir(dir) || errno == ENOTEMPTY || errno == ENOENT);
		EXPECT(!mkdir(dir, 0755) || errno == EEXIST);
	}
}

/* Names created, moved, linked and removed under each other's feet. */
static void name_storm(void)
{
	run_parties(shuffle_names);
	EXPECT(!system("rm -rf d0 d1 d2"));
}

enum { STEPS = 60 }; /* of 10 bytes: a walk of so many rests on its way */

static void walk_far(void)
{
	char path[STEPS * 10 + 1];
	struct stat st;
	int i;

	for (i = 0; i < STEPS; i++)
		memcpy(path + i * 10, "a/b/../../", 11);
	for (i = 0; i < ROUNDS; i++)
		EXPECT(!stat(path, &st) || errno == ENOENT);
}

static void walk_or_change(void *arg)
{
	int i, who = *(int *)arg;

	if (who > 1) {
		walk_far();
		return;
	}
	for (i = 0; i < 5 * ROUNDS; i++) {
		if (who) {
			EXPECT(!rename("a", "c") && !rename("c", "a"));
			continue;
		}
		EXPECT(!rmdir("a/b") || errno == ENOENT);
		EXPECT(!mkdir("a/b", 0755) || errno == ENOENT || errno == EEXIST);
	}
}

/* Directories are renamed and removed while long walks go through them. */
static void far_walks(void)
{
	EXPECT(!mkdir("a", 0755) && !mkdir("a/b", 0755));
	run_parties(walk_or_change);
}

static void *open_and_close(void *arg)
{
	int i, fd, p[2];
	char c;

	for (i = 0; i < ROUNDS; i++) {
		fd = open("/proc/self/stat", O_RDONLY);
		EXPECT(fd >= 0 && read(fd, &c, 1) == 1 && !close(fd));
		EXPECT(!pipe(p) && write(p[1], "y", 1) == 1 && read(p[0], &c, 1) == 1 && c == 'y');
		EXPECT(!close(p[0]) && !close(p[1]));
	}
	return arg;
}

/* Threads that share a table of descriptors do not get each other's. */
static void shared_table(void)
{
	pthread_t threads[PARTIES];
	int i;

	for (i = 0; i < PARTIES; i++)
		EXPECT(!pthread_create(&threads[i], NULL, open_and_close, NULL));
	for (i = 0; i < PARTIES; i++)
		EXPECT(!pthread_join(threads[i], NULL));
}

static atomic_int reader;

static void *read_one(void *arg)
{
	char c = 0;

	reader = (int)syscall(SYS_gettid);
	EXPECT(read(*(int *)arg, &c, 1) == 1 && c == 'z');
	return NULL;
}

/* A descriptor closed by one thread while another reads from it: the read goes on. */
static void closed_meanwhile(void)
{
	pthread_t thread;
	int p[2];

	EXPECT(!pipe(p) && !pthread_create(&thread, NULL, read_one, &p[0]));
	while (!reader)
		sched_yield();
	await_sleep(getpid(), reader);
	EXPECT(!close(p[0]) && write(p[1], "z", 1) == 1 && !pthread_join(thread, NULL));
}

static void *read_anew(void *fd)
{
	char now[4096];
	int i;

	for (i = 0; i < 10 * ROUNDS; i++) {
		EXPECT(pread(*(int *)fd, now, sizeof(now), 0) > 100);
		EXPECT(!strncmp(now, "Name:", 5));
		EXPECT(pread(*(int *)fd, now, 4, 1) == 4 && !memcmp(now, "ame:", 4));
	}
	return fd;
}

/* A text that the kernel makes when it is read, read through one descriptor by several threads. */
static void shared_text(void)
{
	pthread_t threads[PARTIES];
	int i, fd = open("/proc/self/status", O_RDONLY);

	for (i = 0; i < PARTIES; i++)
		EXPECT(!pthread_create(&threads[i], NULL, read_anew, &fd));
	for (i = 0; i < PARTIES; i++)
		EXPECT(!pthread_join(threads[i], NULL));
	EXPECT(!close(fd));
}

enum { BLOCK = 64 << 10, BLOCKS = 8 };

static void *write_blocks(void *fd)
{
	static atomic_int parties;
	char *block = malloc(BLOCK);

	memset(block, 'a' + parties++, BLOCK);
	for (int i = 0; i < BLOCKS; i++)
		EXPECT(write(*(int *)fd, block, BLOCK) == BLOCK);
	free(block);
	return fd;
}

/* Threads write through one descriptor: each block is behind the last, and whole. */
static void shared_position(void)
{
	int fd = open("f", O_CREAT | O_RDWR, 0644);
	pthread_t threads[PARTIES];
	char *block = malloc(BLOCK);

	for (int i = 0; i < PARTIES; i++)
		EXPECT(!pthread_create(&threads[i], NULL, write_blocks, &fd));
	for (int i = 0; i < PARTIES; i++)
		EXPECT(!pthread_join(threads[i], NULL));
	EXPECT(lseek(fd, 0, SEEK_CUR) == PARTIES * BLOCKS * BLOCK);
	for (int i = 0; i < PARTIES * BLOCKS; i++) {
		EXPECT(pread(fd, block, BLOCK, (off_t)i * BLOCK) == BLOCK);
		EXPECT(!memcmp(block, block + 1, BLOCK - 1));
	}
	free(block);
}

static void look_at_others(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 5; i++)
		EXPECT(!system("cat /proc/[0-9]*/stat /proc/[0-9]*/status /proc/[0-9]*/maps "
			       "/proc/[0-9]*/cmdline "
			       "> /dev/null 2>&1; ls -l /proc/[0-9]*/fd > /dev/null 2>&1; true"));
}

/* Processes are looked at while they come and go. */
static void proc_storm(void)
{
	run_parties(look_at_others);
}

static atomic_bool pairs_end;

static void *pairs_to_nowhere(void *arg)
{
	while (!pairs_end)
		EXPECT_ERROR(EFAULT, syscall(SYS_pipe2, (int *)8, 0));
	return arg;
}

/*
 * A pipe whose descriptors cannot be told takes back its own and nobody else's, though another
 * thread chose one of their numbers meanwhile.
 */
static void pairs_at_a_bad_address(void)
{
	int i, fd = open("/dev/null", O_RDONLY), other = fd + 1;
	pthread_t thread;

	EXPECT(fd >= 0 && !pthread_create(&thread, NULL, pairs_to_nowhere, NULL));
	for (i = 0; i < 30 * ROUNDS; i++) {
		while (dup2(fd, other) != other)
			EXPECT(errno == EBUSY);
		EXPECT(fcntl(other, F_GETFD) == 0 && !close(other));
	}
	pairs_end = true;
	EXPECT(!pthread_join(thread, NULL) && !close(fd));
}

const struct check race_tests[] = {
	{ "pairs-at-a-bad-address", pairs_at_a_bad_address },
	{ "far-walks", far_walks },
	{ "appending", appending },
	{ "exclusive", exclusive },
	{ "name-storm", name_storm },
	{ "shared-table", shared_table },
	{ "shared-text", shared_text },
	{ "shared-position", shared_position },
	{ "closed-meanwhile", closed_meanwhile },
	{ "proc-storm", proc_storm },
	{ NULL, NULL },
};
