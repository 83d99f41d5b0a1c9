/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * schbench as it was until 2022, written from the description of Chris Mason's benchmark:
 * messengers wake their workers, and the latency is the time from the wakeup to running. Options,
 * defaults and the report are those of the original, so that published results can be repeated;
 * schbench2 is its successor.
 *
 * A worker thinks (spins, by the wall clock), asks its messenger for work and sleeps. Once a worker
 * has asked, the messenger thinks equally long, sleeps a little, and then wakes all workers that
 * have asked meanwhile. So workers wake in bunches, which is what makes the latency's tail.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/args.h"
#include "lib/clock.h"
#include "lib/hist.h"
#include "lib/messenger.h"
#include "lib/threads.h"

static int nr_messengers = 2, nr_workers = 16, runtime_s = 30, warmup_s = 5, interval_s = 10;
static int zero_s, sleep_us = 30000, think_us = 30000;

static const struct arg args[] = {
	{ 'm', "message-threads", ARG_INT, &nr_messengers, "messengers (default 2)", 1, 1024 },
	{ 't', "threads", ARG_INT, &nr_workers, "workers of each messenger (default 16)", 1, 4096 },
	{ 'r', "runtime", ARG_INT, &runtime_s, "seconds to run, with the warm-up (default 30)", 1,
	  100000 },
	{ 'w', "warmuptime", ARG_INT, &warmup_s, "seconds that are not counted (default 5)", 0,
	  100000 },
	{ 'i', "intervaltime", ARG_INT, &interval_s,
	  "seconds between reports; <= 0: none (default 10)", -1, 100000 },
	{ 'z', "zerotime", ARG_INT, &zero_s,
	  "forget the samples every so many seconds (default never)", 1, 100000 },
	{ 's', "sleeptime", ARG_INT, &sleep_us,
	  "a messenger's sleep, us, to which up to a quarter is added (default 30000)", 0,
	  100000000 },
	{ 'c', "cputime", ARG_INT, &think_us, "time to think, us (default 30000)", 0, 100000000 },
	{ 0 },
};

static const struct program program = {
	"schbench",
	"Measure wakeup latency.",
	NULL,
	args,
};

struct worker {
	struct worker_slot slot; /* first: the messenger sees only this */
	struct messenger *messenger;
	pthread_t thread;
	unsigned epoch; /* of the samples */
	struct hist latency_us;
};

struct messenger {
	struct messenger_box box;
	pthread_t thread;
	unsigned seed; /* of the sleeps */
	struct worker *workers;
};

static struct messenger *messengers;
static _Atomic bool stopping;
static _Atomic unsigned epoch; /* a worker that sees it change forgets its samples */

static void think(void)
{
	uint64_t end_ns = now_ns() + think_us * NS_PER_US;

	while (now_ns() < end_ns)
		spin();
}

static void *worker_thread(void *arg)
{
	struct worker *w = arg;

	for (;;) {
		uint64_t latency_ns = wait_for_work(&w->messenger->box, &w->slot);

		if (stopping)
			return NULL;
		if (w->epoch != epoch) {
			w->epoch = epoch;
			hist_clear(&w->latency_us);
		}
		hist_add(&w->latency_us, latency_ns / NS_PER_US);
		think();
	}
}

static void wake_all(struct messenger *m)
{
	struct worker_slot *w, *next;

	for (w = take_workers(&m->box); w; w = next) {
		next = w->next;
		send_to_work(w);
	}
}

static void *messenger_thread(void *arg)
{
	struct messenger *m = arg;
	int most = sleep_us / 4;

	while (!stopping) {
		wait_for_workers(&m->box);
		think();
		sleep_ns((sleep_us + (most ? rand_r(&m->seed) % most : 0)) * NS_PER_US);
		wake_all(m);
	}
	return NULL;
}

/* Workers add samples meanwhile: one may be seen in one figure and not yet in another. */
static void report(int seconds)
{
	static const double percents[] = { 50, 75, 90, 95, 99, 99.5, 99.9 };
	static struct hist all;
	uint64_t below = 0;
	unsigned i;

	hist_clear(&all);
	for (i = 0; i < (unsigned)(nr_messengers * nr_workers); i++)
		hist_merge(&all, &messengers[0].workers[i].latency_us);
	printf("Latency percentiles (usec) runtime %d (s) (%llu total samples)\n", seconds,
	       (unsigned long long)all.nr);
	for (i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
		uint64_t value = hist_percentile(&all, percents[i]);
		uint64_t upto = all.nr ? hist_between(&all, 0, value) + all.bucket[0] : 0;

		printf("\t%s%2.1fth: %llu (%llu samples)\n", percents[i] == 99 ? "*" : "",
		       percents[i], (unsigned long long)value, (unsigned long long)(upto - below));
		below = upto;
	}
	printf("\tmin=%llu, max=%llu\n", (unsigned long long)all.min, (unsigned long long)all.max);
	fflush(stdout);
}

static void *aligned_zeroed(size_t size)
{
	void *memory = aligned_alloc(64, size);

	if (!memory)
		die("schbench");
	return memset(memory, 0, size);
}

static void start_threads(void)
{
	struct worker *workers = aligned_zeroed(nr_messengers * nr_workers * sizeof(*workers));
	int i, j;

	messengers = aligned_zeroed(nr_messengers * sizeof(*messengers));
	for (i = 0; i < nr_messengers; i++) {
		struct messenger *m = &messengers[i];

		/*
		 * A different seed in each process, since several processes would otherwise keep
		 * step.
		 */
		m->seed = (unsigned)getpid() + i;
		m->workers = workers + i * nr_workers;
		start_thread(&m->thread, NULL, messenger_thread, m);
		for (j = 0; j < nr_workers; j++) {
			m->workers[j].messenger = m;
			start_thread(&m->workers[j].thread, NULL, worker_thread, &m->workers[j]);
		}
	}
}

/* A messenger's last round may come before a worker asks for the last time. */
static void stop_threads(void)
{
	int i, j;

	stopping = true;
	for (i = 0; i < nr_messengers; i++) {
		struct messenger *m = &messengers[i];

		ring_bell(&m->box);
		pthread_join(m->thread, NULL);
		for (j = 0; j < nr_workers; j++)
			while (pthread_tryjoin_np(m->workers[j].thread, NULL)) {
				wake_all(m);
				sleep_ns(NS_PER_MS);
			}
	}
}

int main(int argc, char **argv)
{
	uint64_t tick_ns;
	int second;

	parse_args(&program, argc, argv);
	start_threads();
	tick_ns = now_ns();
	for (second = 1; second <= runtime_s; second++) {
		tick_ns += NS_PER_S;
		sleep_until_ns(tick_ns);
		if (second == warmup_s) {
			printf("warmup done, zeroing stats\n");
			fflush(stdout);
			epoch++;
		}
		if (second < runtime_s && interval_s > 0 && second % interval_s == 0)
			report(second);
		if (zero_s && second % zero_s == 0)
			epoch++;
	}
	stop_threads();
	report(runtime_s);
	return 0;
}
