/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * jitter: how late periodic threads wake, after the example of cyclictest: thread k sleeps on a
 * grid of interval + k * distance and records each wakeup's lateness.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "lib/args.h"
#include "lib/clock.h"
#include "lib/sleepers.h"
#include "lib/table.h"
#include "lib/threads.h"

struct jitter_thread {
	struct sleeper sleeper;
	struct hist late;
	pthread_t pthread;
	int index, tid;
};

static int nr_threads = 1, interval_us = 1000, distance_us = 500, nr_loops = 1000, prio, hist_us;
static int slack_ns;
static struct cpu_set cpus;
static struct policy policy = { SCHED_OTHER, 0 };

static const struct arg args[] = {
	{ 't', "threads", ARG_INT, &nr_threads, "number of threads (default 1)", 1, 4096 },
	{ 'i', "interval", ARG_INT, &interval_us, "interval of the first thread, us (default 1000)",
	  1, 1000000000 },
	{ 'd', "distance", ARG_INT, &distance_us,
	  "interval grows from thread to thread by, us (default 500)", 0, 1000000000 },
	{ 'l', "loops", ARG_INT, &nr_loops, "wakeups of each thread (default 1000)", 1,
	  1000000000 },
	{ 'p', "prio", ARG_INT, &prio, "policy fifo with this priority", 1, 99 },
	{ 0, "policy", ARG_POLICY, &policy, "scheduling policy (default other)" },
	{ 'a', "affinity", ARG_CPUS, &cpus,
	  "pin the threads to these CPUs in turn (default: free)" },
	{ 'S', "slack", ARG_INT, &slack_ns, "timer slack, ns (default: the system's, 50000)", 1,
	  1000000000 },
	{ 'h', "histogram", ARG_INT, &hist_us, "print a histogram of up to N us", 1, 100000 },
	{ 0 },
};

static const struct program program = {
	"jitter",
	"Measure how late periodic threads wake.",
	NULL,
	args,
};

static uint64_t start_ns;

static void *jitter_thread(void *arg)
{
	struct jitter_thread *t = arg;

	t->tid = thread_id();
	if (cpu_count(&cpus))
		pin_to_cpu(cpu_nth(&cpus, t->index));
	if (slack_ns && prctl(PR_SET_TIMERSLACK, slack_ns))
		die("timer slack");
	if (set_policy(0, &policy))
		die("setting the policy");
	sleep_loop(&t->sleeper, start_ns, &t->late);
	return NULL;
}

static void print_threads(const struct jitter_thread *threads)
{
	struct table t;
	int i;

	table_begin(&t, "thread|tid|interval us|wakeups|min us|mean us|p50 us|p99 us|max us");
	for (i = 0; i < nr_threads; i++) {
		const struct hist *h = &threads[i].late;

		table_cell(&t, "%d", i);
		table_cell(&t, "%d", threads[i].tid);
		table_cell(&t, "%llu",
			   (unsigned long long)(threads[i].sleeper.period_ns / NS_PER_US));
		table_cell(&t, "%llu", (unsigned long long)h->nr);
		table_cell(&t, "%.1f", h->min / 1e3);
		table_cell(&t, "%.1f", hist_mean(h) / 1e3);
		table_cell(&t, "%.1f", hist_percentile(h, 50) / 1e3);
		table_cell(&t, "%.1f", hist_percentile(h, 99) / 1e3);
		table_cell(&t, "%.1f", h->max / 1e3);
	}
	table_end(&t);
}

/* Wakeups of all threads by whole microseconds of lateness; rows without any are left out. */
static void print_histogram(const struct jitter_thread *threads)
{
	uint64_t above = 0;
	int us, i;

	printf("\nus late  wakeups\n");
	for (us = 0; us < hist_us; us++) {
		uint64_t nr = 0;

		for (i = 0; i < nr_threads; i++)
			nr += hist_between(&threads[i].late, us * NS_PER_US, (us + 1) * NS_PER_US);
		if (nr)
			printf("%7d  %llu\n", us, (unsigned long long)nr);
	}
	for (i = 0; i < nr_threads; i++)
		above += hist_between(&threads[i].late, hist_us * NS_PER_US, UINT64_MAX);
	printf("%7s  %llu\n", "later", (unsigned long long)above);
}

int main(int argc, char **argv)
{
	struct jitter_thread *threads;
	int i;

	parse_args(&program, argc, argv);
	if (prio && policy.policy != SCHED_OTHER)
		usage_error(&program, "-p and --policy exclude each other");
	if (prio)
		policy = (struct policy){ SCHED_FIFO, prio };
	threads = calloc(nr_threads, sizeof(*threads));
	if (!threads)
		die("jitter");
	start_ns = now_ns() + NS_PER_MS;
	for (i = 0; i < nr_threads; i++) {
		threads[i].index = i;
		threads[i].sleeper.period_ns =
			(interval_us + (uint64_t)i * distance_us) * NS_PER_US;
		threads[i].sleeper.loops = nr_loops;
		start_thread(&threads[i].pthread, NULL, jitter_thread, &threads[i]);
	}
	for (i = 0; i < nr_threads; i++)
		pthread_join(threads[i].pthread, NULL);
	printf("%d thread%s, policy %s", nr_threads, nr_threads == 1 ? "" : "s",
	       policy_name(policy.policy));
	printf(policy.prio ? ", priority %d\n" : "\n", policy.prio);
	print_threads(threads);
	if (hist_us)
		print_histogram(threads);
	return 0;
}
