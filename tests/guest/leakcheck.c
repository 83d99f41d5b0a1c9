/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * leakcheck: no byte that the kernel writes into a program's memory is left over from something
 * else. A debug kernel fills every variable without a value, every new object and every new page
 * with a pattern (Makefile, AUTO_INIT; kernel/mm); the pattern must not appear here.
 *
 * Real values may contain such bytes by chance. So each probe runs RUNS times, and two bytes of the
 * pattern count only where they stand at the same place each time; eight in a row always count.
 * A single byte is not seen.
 */
#include <stdio.h>
#include <stdint.h>
#include <string.h>

#include "leakcheck/leakcheck.h"

enum { RUNS = 3 };

static const uint8_t patterns[] = { 0xfe, 0xaa }; /* of GCC and of clang */
static uint8_t area[RUNS][ROOM] __attribute__((aligned(64)));
static const char *running; /* the name of the probe */

long wrote(size_t size, long result)
{
	if (result < 0)
		die(running);
	return (long)size;
}

static void do_nothing(void *unused)
{
	(void)unused;
}

pid_t spawn_short(void)
{
	return spawn(do_nothing, NULL);
}

/* Returns the length of the row of @pattern that begins at @p, at most @left. */
static unsigned row(const uint8_t *p, long left, uint8_t pattern)
{
	unsigned n = 0;

	while (n < left && p[n] == pattern)
		n++;
	return n;
}

/* Returns the place of a leak in the first @size bytes of every run, or -1. */
static long find_leak(long size)
{
	for (unsigned p = 0; p < sizeof(patterns); p++) {
		for (long at = 0; at + 1 < size; at++) {
			unsigned shortest = ~0u;

			for (unsigned run = 0; run < RUNS; run++) {
				unsigned n = row(&area[run][at], size - at, patterns[p]);

				if (n >= 8)
					return at;
				shortest = n < shortest ? n : shortest;
			}
			if (shortest >= 2)
				return at;
		}
	}
	return -1;
}

static void show(long at, long size)
{
	printf("leak at byte %ld of %ld:", at, size);
	for (long i = at; i < size && i < at + 16; i++)
		printf(" %02x", area[0][i]);
	printf("\n");
}

static bool untouched(const uint8_t *p, long size)
{
	for (long i = 0; i < size; i++)
		if (p[i] != UNTOUCHED)
			return false;
	return true;
}

/* Returns how many probes failed (0 or 1). */
static int run_probe(const struct probe *probe)
{
	long size = 0;

	running = probe->name;
	memset(area, UNTOUCHED, sizeof(area));
	for (unsigned run = 0; run < RUNS; run++) {
		long n = probe->write(area[run]);

		size = !run || n < size ? n : size;
	}
	if (size < 0) {
		printf("%-20s  not implemented\n", probe->name);
		return 0;
	}
	EXPECT(size <= ROOM);
	if (!size || untouched(area[0], size)) {
		printf("%-20s  FAILED: the kernel wrote nothing\n", probe->name);
		return 1;
	}
	long at = find_leak(size);

	if (at >= 0)
		show(at, size);
	printf("%-20s  %4ld bytes  %s\n", probe->name, size, at < 0 ? "ok" : "FAILED");
	return at >= 0;
}

/* The search itself: a row of eight, and a pair at the same place; not a pair that moves. */
static void check_search(void)
{
	memset(area, UNTOUCHED, sizeof(area));
	memset(&area[1][40], 0xaa, 8);
	EXPECT(find_leak(64) == 40);
	memset(area, UNTOUCHED, sizeof(area));
	for (unsigned run = 0; run < RUNS; run++)
		memset(&area[run][8 * run], 0xfe, 2);
	EXPECT(find_leak(64) == -1);
	for (unsigned run = 0; run < RUNS; run++)
		memset(&area[run][30], 0xfe, 2);
	EXPECT(find_leak(64) == 30 && find_leak(31) == -1);
}

static const struct arg args[] = { { 0 } };

static const struct program program = {
	"leakcheck",
	"Check that the kernel shows no left-over bytes. On a debug kernel; others never fail.",
	NULL,
	args,
};

int main(int argc, char **argv)
{
	const struct probe *const groups[] = { file_probes, task_probes, signal_probes };
	int nr = 0, failed = 0;

	parse_args(&program, argc, argv);
	check_search();
	for (unsigned g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
		for (const struct probe *p = groups[g]; p->name; p++, nr++)
			failed += run_probe(p);
	}
	printf("%d passed, %d failed\n", nr - failed, failed);
	return failed != 0;
}
