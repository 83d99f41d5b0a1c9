/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pingpong: two parties wake each other in turn, on one CPU or two. Prints the time of a round
 * trip; under -icount a nanosecond is an instruction.
 */
#include <stdio.h>
#include <string.h>

#include "lib/args.h"
#include "lib/pingpong.h"

static int nr_rounds = 10000;
static struct cpu_set cpus;

static const struct arg args[] = {
	{ 'l', "loops", ARG_INT, &nr_rounds, "round trips (default 10000)", 1, 1000000000 },
	{ 'a', "affinity", ARG_CPUS, &cpus,
	  "one CPU for both, or two CPUs (default: the first one)" },
	{ 0 },
};

static const struct program program = {
	"pingpong",
	"Measure round trips through a pipe, a futex, or sched_yield.",
	"[pipe|futex|yield]...",
	args,
};

static const struct way {
	const char *name, *parties, *unit;
	double (*measure)(int nr, int a, int b);
} ways[] = {
	{ "pipe", "processes", "round trip", pipe_round_trip_ns },
	{ "futex", "threads", "round trip", futex_round_trip_ns },
	{ "yield", "processes", "switch", yield_switch_ns },
};

static void run_way(const struct way *way)
{
	int a = cpu_nth(&cpus, 0), b = cpu_nth(&cpus, way->measure == yield_switch_ns ? 0 : 1);
	double ns = way->measure(nr_rounds, a, b);

	printf("%-5s  two %s on CPU %d", way->name, way->parties, a);
	if (b != a)
		printf(" and CPU %d", b);
	printf(": %.0f ns per %s\n", ns, way->unit);
}

static const struct way *find_way(const char *name)
{
	unsigned i;

	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(ways[i].name, name))
			return &ways[i];
	usage_error(&program, "unknown way '%s'", name);
}

int main(int argc, char **argv)
{
	int first = parse_args(&program, argc, argv), i;

	if (cpu_count(&cpus) > 2)
		usage_error(&program, "-a wants one CPU or two");
	for (i = first; i < argc; i++)
		find_way(argv[i]);
	if (!cpu_count(&cpus)) {
		struct cpu_set allowed;

		if (get_cpus(0, &allowed))
			die("reading the affinity");
		cpu_add(&cpus, cpu_nth(&allowed, 0));
	}
	if (first == argc)
		for (i = 0; i < (int)(sizeof(ways) / sizeof(ways[0])); i++)
			run_way(&ways[i]);
	for (i = first; i < argc; i++)
		run_way(find_way(argv[i]));
	return 0;
}
