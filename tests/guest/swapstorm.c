/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * swapstorm: swap the fair policy again and again under a storm of tasks that compute, sleep, fork,
 * exec, and change nice values, policies and affinities; and prove that nobody suffers:
 *
 *	- every task that was started comes to its end and says so
 *	- none waits longer for a CPU than a bound that the load allows without swaps; see within()
 *	- run time is conserved: what the tasks used is what the CPUs ran, and with the idle time
 *	  it is what passed
 *	- bad names are refused with EINVAL and change nothing
 *
 * With -f each swap also toggles a feature of the shared wake queue, which links the same tasks in
 * other lists.
 *
 * So that the load allows the bound, it is a few tasks a CPU of nearly equal weight, and
 * slices are set to a tick or two at HZ=1000.
 *
 * The storm comes in rounds. Each begins anew, with other random numbers and thus at another phase
 * of ticks, swaps and sleeps.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/args.h"
#include "swapstorm/storm.h"

#define MAX_POLICIES 16
#define FAIR_CLASS   "/sys/kernel/debug/sched/fair_class"
#define FEATURES     "/sys/kernel/debug/sched/features"

#define MAX_ROUNDS 99

static int nr_swaps = 1000, nr_rounds = 5, seed = 1, every_us = 1000, bound_ms = 10;
static bool toggle;

static const struct arg args[] = {
	{ 'n', "swaps", ARG_INT, &nr_swaps, "how many (default 1000; 0: the storm alone)", 0,
	  1000000 },
	{ 'e', "every", ARG_INT, &every_us, "mean time between two, us (default 1000)", 10,
	  1000000 },
	{ 'r', "rounds", ARG_INT, &nr_rounds, "in how many rounds, each begun anew (default 5)", 1,
	  MAX_ROUNDS },
	{ 'b', "bound", ARG_INT, &bound_ms,
	  "the longest wait of most rounds, ms; of one, twice as much (default 10)", 1, 10000 },
	{ 'f', "features", ARG_FLAG, &toggle,
	  "toggle SIS_NODE, SWQUEUE, SHARED_RUNQ and SHARED_RUNQ_STEAL too" },
	{ 's', "seed", ARG_INT, &seed, "of everything random (default 1)", 0, 1000000000 },
	{ 0 },
};

static const struct program program = {
	"swapstorm",
	"Swap the fair policy under a storm of tasks and check that none is lost, late or robbed.",
	NULL,
	args,
};

static char policies[MAX_POLICIES][16];
static int nr_policies;

/* Every policy's name, as the file lists them; returns the index of the current one. */
static int read_policies(void)
{
	char text[256], *word, *rest;
	int fd = open(FAIR_CLASS, O_RDONLY), current = -1;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		die(FAIR_CLASS);
	close(fd);
	text[n] = '\0';
	nr_policies = 0;
	for (word = strtok_r(text, " \n", &rest); word && nr_policies < MAX_POLICIES;
	     word = strtok_r(NULL, " \n", &rest)) {
		char *end = strchr(word, ']');

		if (*word == '[' && end) {
			current = nr_policies;
			*end = '\0';
			word++;
		}
		snprintf(policies[nr_policies++], sizeof(policies[0]), "%s", word);
	}
	return current;
}

/* 0, or the error. */
static int write_policy(const char *name)
{
	int fd = open(FAIR_CLASS, O_WRONLY), err = 0;

	if (fd < 0)
		die(FAIR_CLASS);
	if (write(fd, name, strlen(name)) != (ssize_t)strlen(name))
		err = errno;
	close(fd);
	return err;
}

/*
 * Slices of a tick or two, so that a few tasks on a CPU are all served soon. A policy's own
 * tunables exist while it is in use, and one of them is read-only under another.
 */
static void shorten_slices(void)
{
	static const struct {
		const char *file, *value;
	} tunables[] = {
		{ "/sys/kernel/debug/sched/latency_ns", "2000000" },
		{ "/sys/kernel/debug/sched/min_granularity_ns", "500000" },
		{ "/sys/kernel/debug/sched/wakeup_granularity_ns", "500000" },
		{ "/sys/kernel/debug/sched/base_slice_ns", "700000" },
		{ "/sys/kernel/debug/sched/min_base_slice_ns", "700000" },
	};

	for (size_t i = 0; i < sizeof(tunables) / sizeof(*tunables); i++) {
		int fd = open(tunables[i].file, O_WRONLY);
		ssize_t size = (ssize_t)strlen(tunables[i].value);

		if (fd < 0)
			continue;
		if (write(fd, tunables[i].value, (size_t)size) != size && errno != EINVAL)
			die(tunables[i].file);
		close(fd);
	}
}

static void shorten_slices_of_all(int first)
{
	for (int i = 1; i <= nr_policies; i++) {
		if (write_policy(policies[(first + i) % nr_policies]))
			die(FAIR_CLASS);
		shorten_slices();
	}
}

/* A line in the trace, if one is taken. */
static void mark(const char *text)
{
	int fd = open("/sys/kernel/tracing/trace_marker", O_WRONLY);

	if (fd >= 0 && write(fd, text, strlen(text)) < 0)
		die("trace_marker");
	close(fd);
}

/* Write a name that is no policy, a different one each time. False if it is not refused. */
static bool refuses_bad_name(int i, int current)
{
	static const char *const bad[] = { "nosuchpolicy", "cfscfscfscfscfscfscfscfs", "CFS",
					   "cfs eevdf", "\n" };

	return write_policy(bad[i % 5]) == EINVAL && read_policies() == current;
}

/* --- features --- */

static const char *const features[] = { "SIS_NODE", "SWQUEUE", "SHARED_RUNQ", "SHARED_RUNQ_STEAL" };
#define NR_FEATURES 4

static bool has_word(const char *text, const char *word)
{
	size_t size = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at += size)
		if ((at == text || at[-1] == ' ') && (at[size] == ' ' || at[size] == '\n'))
			return true;
	return false;
}

/* Switch a feature. True if the file shows the change and an unknown name is refused. */
static bool set_feature(const char *name, bool on)
{
	char word[32], text[1024] = "";
	int fd = open(FEATURES, O_RDWR);
	bool good;

	if (fd < 0)
		die(FEATURES);
	snprintf(word, sizeof(word), "%s%s", on ? "" : "NO_", name);
	good = write(fd, word, strlen(word)) == (ssize_t)strlen(word);
	good &= write(fd, word, strlen(word) - 1) == -1 && errno == EINVAL;
	good &= pread(fd, text, sizeof(text) - 1, 0) > 0 && has_word(text, word);
	close(fd);
	return good;
}

struct swaps {
	int made, refused, failed, toggled;
};

/* Switch a random feature on or off. */
static void toggle_feature(struct swaps *done)
{
	if (set_feature(features[storm_random(NR_FEATURES)], storm_random(2)))
		done->toggled++;
	else
		done->failed++;
}

/*
 * Random swaps, from the @first-th of all to the one before @end, each to another policy, with a
 * bad name between them now and then.
 */
static void swap_policies(struct swaps *done, int first, int end)
{
	int current = read_policies();

	for (int i = first; i < end; i++) {
		storm_pause(2 * every_us);
		if (toggle)
			toggle_feature(done);
		current = (current + 1 + storm_random(nr_policies - 1)) % nr_policies;
		if (write_policy(policies[current]) || read_policies() != current) {
			done->failed++;
			current = read_policies();
			continue;
		}
		done->made++;
		if (i % 10)
			continue;
		if (refuses_bad_name(i / 10, current))
			done->refused++;
		else
			done->failed++;
	}
}

/* The @nr-th round. */
static void run_round(struct swaps *done, int nr, struct storm_result *result)
{
	storm_begin(seed + nr);
	mark("swapstorm begins");
	swap_policies(done, nr_swaps * nr / nr_rounds, nr_swaps * (nr + 1) / nr_rounds);
	if (!nr_swaps)
		storm_pause(2 * NS_PER_S / NS_PER_US);
	mark("swapstorm ends");
	storm_end(result);
}

/* --- the verdict --- */

static bool check(bool good, const char *what)
{
	printf("  %-4s %s\n", good ? "ok" : "FAIL", what);
	return good;
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Sort the longest waits of the rounds at @offset of their results into @ns. */
static void sort_waits(const struct storm_result *r, size_t offset, uint64_t *ns)
{
	for (int i = 0; i < nr_rounds; i++)
		ns[i] = *(const uint64_t *)((const char *)&r[i] + offset);
	qsort(ns, (size_t)nr_rounds, sizeof(*ns), ascending);
}

/*
 * True if the median of the rounds' longest waits @ns, ascending, is within the bound, and none is
 * beyond twice the bound. The longest wait of one round alone is an extreme value: it depends on
 * the phase, and moves by half when some instructions come or go anywhere.
 */
static bool within(const uint64_t *ns)
{
	uint64_t bound = (uint64_t)bound_ms * NS_PER_MS;

	return ns[nr_rounds / 2] <= bound && ns[nr_rounds - 1] <= 2 * bound;
}

static bool judge_waits(const struct storm_result *r)
{
	uint64_t hogs[MAX_ROUNDS], sleepers[MAX_ROUNDS], new[MAX_ROUNDS];
	int last = nr_rounds - 1, median = nr_rounds / 2;

	sort_waits(r, offsetof(struct storm_result, hog_wait_ns), hogs);
	sort_waits(r, offsetof(struct storm_result, sleeper_wait_ns), sleepers);
	sort_waits(r, offsetof(struct storm_result, new_wait_ns), new);
	printf("  waits, longest, ms: hogs %.3f, sleepers %.3f, new tasks %.3f\n", hogs[last] / 1e6,
	       sleepers[last] / 1e6, new[last] / 1e6);
	printf("  median of the longest of %d rounds: hogs %.3f, sleepers %.3f, new tasks %.3f\n",
	       nr_rounds, hogs[median] / 1e6, sleepers[median] / 1e6, new[median] / 1e6);
	return within(hogs) && within(sleepers) && within(new);
}

static bool judge(const struct swaps *swaps, const struct storm_result *r)
{
	const struct storm_result *all = &r[nr_rounds - 1]; /* for its sums of CPU time */
	int64_t lost_ns = (int64_t)(all->elapsed_ns - all->run_ns - all->idle_ns);
	int64_t unknown_ns = (int64_t)(all->run_ns - all->used_ns);
	int started = 0, reported = 0;
	bool in_time, good;

	for (int i = 0; i < nr_rounds; i++) {
		started += r[i].started;
		reported += r[i].reported;
	}
	printf("%d swaps among %d policies, %d bad names refused, %d tasks started, %d ended\n",
	       swaps->made, nr_policies, swaps->refused, started, reported);
	in_time = judge_waits(r);
	printf("  CPU time, ms: %.3f passed, %.3f run, %.3f idle; tasks say %.3f\n",
	       all->elapsed_ns / 1e6, all->run_ns / 1e6, all->idle_ns / 1e6, all->used_ns / 1e6);
	good = check(swaps->made == nr_swaps && !swaps->failed,
		     "every swap happened and every bad name was refused with EINVAL");
	good &= check(reported == started, "every task came to its end");
	good &= check(in_time, "nobody waited longer than the bound");
	good &= check(llabs(lost_ns) <= (int64_t)(all->elapsed_ns / 500 + 2 * STORM_IDLE_UNIT_NS),
		      "CPUs: run and idle time are what passed, to 0.2 %");
	good &= check(llabs(unknown_ns) <= (int64_t)(all->run_ns / 500),
		      "tasks: their run times are what the CPUs ran, to 0.2 %");
	return good;
}

int main(int argc, char **argv)
{
	static struct storm_result results[MAX_ROUNDS];
	struct swaps swaps = { 0 };
	int first;

	if (argc == 4 && !strcmp(argv[1], STORM_CHILD))
		return storm_child(argv[2], argv[3]);
	parse_args(&program, argc, argv);
	first = read_policies();
	if (nr_policies < 2) {
		fprintf(stderr, "swapstorm: there is one fair policy only, nothing to swap\n");
		return 1;
	}
	shorten_slices_of_all(first);
	if (!nr_swaps)
		nr_rounds = 1;
	for (int i = 0; i < nr_rounds; i++)
		run_round(&swaps, i, &results[i]);
	if (write_policy(policies[first]))
		die("restoring the policy");
	for (int i = 0; i < NR_FEATURES && toggle; i++)
		set_feature(features[i], false);
	if (toggle)
		printf("%d features toggled\n", swaps.toggled);
	return !judge(&swaps, results);
}
