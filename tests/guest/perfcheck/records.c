/* SPDX-License-Identifier: GPL-2.0-only */
/* Values that are read and records in rings: each field asked for, in its order; and memory. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/threads.h"
#include "perfcheck/perfcheck.h"

/* Each value that is asked for, in its order; no clock and no other event counts switches. */
static void test_values_are_in_order(void)
{
	struct attr a = attr_of(SOFTWARE, DUMMY);
	uint64_t words[3] = { 1, 1, 1 }, id;
	int fd;

	a.read_format = READ_ID | READ_LOST;
	fd = open_event(&a, 0, -1, -1, 0);
	EXPECT(fd >= 0 && !ioctl(fd, (int)ID, &id) && id);
	usleep(2000);
	EXPECT(read(fd, words, sizeof(words)) == 24);
	EXPECT(!words[0] && words[1] == id && !words[2]);
	a.read_format = READ_ID;
	fd = open_event(&a, 0, -1, -1, 0);
	EXPECT(fd >= 0 && !ioctl(fd, (int)ID, &id) && read(fd, words, sizeof(words)) == 16);
	EXPECT(!words[0] && words[1] == id);
}

/* The fields of @type that samples share with other records, from @at on; those behind them. */
static const uint64_t *check_fields(const uint64_t *at, uint32_t type, uint64_t id)
{
	const uint32_t *pair = (const uint32_t *)at;

	if (type & TID) {
		EXPECT((pair[0] == (uint32_t)getpid() && pair[1] == pair[0]) || type & RAW);
		at++;
	}
	if (type & TIME)
		EXPECT(*at++);
	if (type & ADDR)
		EXPECT(*at++ == 0);
	if (type & SAMPLE_ID)
		EXPECT(*at++ == id);
	if (type & STREAM_ID)
		EXPECT(*at++ == id);
	if (type & CPU)
		EXPECT(*at++ == 0); /* CPU 0, and a word that is not used */
	return at;
}

/* A sample has the fields that were asked for, each of the width of a word, and no other. */
static void check_sample(uint32_t type)
{
	struct attr a = attr_of(TRACEPOINT, SCHED_SWITCH);
	const struct header *h;
	const uint64_t *at;
	uint64_t *ring, id;
	int fd;

	a.sample_type = type;
	a.period = 1;
	fd = open_event(&a, -1, 0, -1, 0);
	ring = map(fd, 2);
	EXPECT(fd >= 0 && ring != MAP_FAILED && !ioctl(fd, (int)ID, &id));
	usleep(2000);
	h = (const struct header *)((uint8_t *)ring + PAGE);
	at = (const uint64_t *)(h + 1);
	EXPECT(ring[HEAD] && h->type == SAMPLE);
	if (type & IDENTIFIER)
		EXPECT(*at++ == id);
	at = check_fields(at, type, id);
	if (type & PERIOD)
		EXPECT(*at++ == 1);
	if (type & RAW) /* its length, then itself */
		at = (const uint64_t *)((const uint8_t *)at + 4 + *(const uint32_t *)at);
	EXPECT((const uint8_t *)at == (const uint8_t *)h + h->size);
	EXPECT(!close(fd));
}

static void test_samples_have_what_was_asked_for(void)
{
	pin_to_cpu(0);
	check_sample(TID | RAW);
	check_sample(SAMPLE_ID | RAW);
	check_sample(STREAM_ID | CPU | RAW);
	check_sample(IDENTIFIER | TID | TIME | ADDR | SAMPLE_ID | STREAM_ID | CPU | PERIOD | RAW);
}

/* A record that is no sample ends with the fields of one, if that was asked for. */
static void test_records_end_with_fields(void)
{
	const uint32_t type = TID | TIME | SAMPLE_ID | STREAM_ID | CPU | IDENTIFIER;
	struct attr a = attr_of(SOFTWARE, DUMMY);
	const struct header *h;
	const uint64_t *end;
	uint64_t *ring, id;
	int fd;

	pin_to_cpu(0);
	a.sample_type = type;
	a.flags = TELLS_NAMES | ID_ALL;
	fd = open_event(&a, -1, 0, -1, 0);
	ring = map(fd, 2);
	EXPECT(fd >= 0 && ring != MAP_FAILED && !ioctl(fd, (int)ID, &id));
	EXPECT(!prctl(PR_SET_NAME, "renamed"));
	h = (const struct header *)((uint8_t *)ring + PAGE);
	EXPECT(ring[HEAD] && h->type == COMM && !strcmp((const char *)(h + 2), "renamed"));
	end = (const uint64_t *)((const uint8_t *)h + h->size);
	EXPECT(check_fields(end - 6, type, id) == end - 1 && end[-1] == id);
}

enum { LARGE = 129 }; /* pages of a ring: as much as a user may have for each CPU */

static void map_large(void *fds)
{
	const struct rlimit none = { 0, 0 };
	long nr = 0, cpus = sysconf(_SC_NPROCESSORS_CONF);
	const int *fd = fds;

	EXPECT(!setrlimit(RLIMIT_MEMLOCK, &none) && !setuid(1000));
	while (nr <= cpus && map(fd[nr], LARGE) != MAP_FAILED)
		nr++;
	EXPECT(nr == cpus && errno == EPERM);
}

/* An ordinary user, given the events, has memory for rings by the number of CPUs. */
static void test_rings_of_a_user_are_limited(void)
{
	struct attr a = attr_of(TRACEPOINT, SCHED_SWITCH);
	int fds[257];

	for (long i = 0; i <= sysconf(_SC_NPROCESSORS_CONF); i++) {
		fds[i] = open_event(&a, -1, 0, -1, 0);
		EXPECT(fds[i] >= 0);
	}
	await_child(spawn(map_large, fds));
}

enum { MOST_KB = 4096 }; /* for each CPU */

/* Rings from large to small, until not even the smallest fits. */
static void map_all(void *unused)
{
	const struct rlimit none = { 0, 0 };
	unsigned long most = MOST_KB / 4ul * (unsigned long)sysconf(_SC_NPROCESSORS_CONF), nr = 0;
	struct attr a = attr_of(SOFTWARE, DUMMY);
	int fd;

	(void)unused;
	a.flags = NOT_KERNEL;
	EXPECT(!setrlimit(RLIMIT_MEMLOCK, &none) && !setuid(1000));
	for (unsigned long data = 1024; data; data /= 2)
		while ((fd = open_event(&a, 0, 0, -1, 0)) >= 0 && map(fd, data + 1) != MAP_FAILED)
			nr += data + 1;
	EXPECT(fd >= 0 && errno == EPERM && (nr == most || nr == most - 1));
}

/* The limit is in KiB, and root may change it. */
static void test_the_limit_of_rings_is_a_number(void)
{
	static const char *const path = "/proc/sys/kernel/perf_event_mlock_kb";
	char was[20] = "";
	int fd = open(path, O_RDWR);

	if (access("/proc/fairground", F_OK))
		return; /* another system's number is left alone */
	EXPECT(fd >= 0 && read(fd, was, sizeof(was) - 1) > 0 && dprintf(fd, "%d", MOST_KB) > 0);
	await_child(spawn(map_all, NULL));
	EXPECT(pwrite(fd, was, strlen(was), 0) == (ssize_t)strlen(was));
}

const struct check record_tests[] = {
	{ "values_are_in_order", test_values_are_in_order },
	{ "samples_have_what_was_asked_for", test_samples_have_what_was_asked_for },
	{ "records_end_with_fields", test_records_end_with_fields },
	{ "rings_of_a_user_are_limited", test_rings_of_a_user_are_limited },
	{ "the_limit_of_rings_is_a_number", test_the_limit_of_rings_is_a_number },
	{ NULL, NULL },
};
