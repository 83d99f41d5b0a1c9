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
 *
 * With a rate of requests (-R) the messenger asks nobody: it hands out requests in time, two to
 * every three workers at once, and the latency is the time from that to the end of the work, less
 * the time to think. A worker that is late finds its next request waiting.
 */
#define _GNU_SOURCE
#include <semaphore.h>
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
static int zero_s, sleep_us = 30000, think_us = 30000, rate;

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
	{ 'R', "rps", ARG_INT, &rate,
	  "requests a second for each messenger's workers (default: as fast as they come)", 1,
	  1000000 },
	{ 0 },
};

static const struct program program = {
	"schbench",
	"Measure wakeup latency.",
	NULL,
	args,
};

#define MOST_REQUESTS 8 /* that wait for one worker; what comes beyond them is not handed out */

struct worker {
	struct worker_slot slot; /* first: the messenger sees only this */
	struct messenger *messenger;
	pthread_t thread;
	unsigned epoch; /* of the samples */
	struct hist latency_us;

	/* With a rate: the times at which requests were handed out. Its messenger writes them. */
	sem_t requests;
	unsigned handed_out;
	uint64_t issued_ns[MOST_REQUESTS];
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

static void add_sample(struct worker *w, uint64_t latency_ns)
{
	if (w->epoch != epoch) {
		w->epoch = epoch;
		hist_clear(&w->latency_us);
	}
	hist_add(&w->latency_us, latency_ns / NS_PER_US);
}

static void *worker_thread(void *arg)
{
	struct worker *w = arg;

	for (;;) {
		uint64_t latency_ns = wait_for_work(&w->messenger->box, &w->slot);

		if (stopping)
			return NULL;
		add_sample(w, latency_ns);
		think();
	}
}

static void *worker_at_rate(void *arg)
{
	struct worker *w = arg;

	for (unsigned nr = 0;; nr++) {
		uint64_t end_ns;

		while (sem_wait(&w->requests))
			;
		if (stopping)
			return NULL;
		end_ns = w->issued_ns[nr % MOST_REQUESTS] + think_us * NS_PER_US;
		think();
		add_sample(w, now_ns() - end_ns);
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

/* Hands a request to each worker in turn, two to every three workers at a time. */
static void *messenger_at_rate(void *arg)
{
	struct messenger *m = arg;
	int batch = nr_workers * 2 / 3 ? nr_workers * 2 / 3 : 1;
	uint64_t next_ns = now_ns();
	unsigned nr = 0;

	while (!stopping) {
		for (int i = 0; i < batch; i++, nr++) {
			struct worker *w = &m->workers[nr % nr_workers];
			int waiting;

			sem_getvalue(&w->requests, &waiting);
			if (waiting == MOST_REQUESTS - 1) /* and one may be about to begin */
				continue;
			w->issued_ns[w->handed_out++ % MOST_REQUESTS] = now_ns();
			sem_post(&w->requests);
		}
		next_ns += NS_PER_S / ((rate + batch - 1) / batch);
		sleep_until_ns(next_ns);
	}
	return NULL;
}

/* Requests a second since samples count, and the tail, also as a part of the time to think. */
static void report_rate(const struct hist *all, int seconds)
{
	uint64_t p95 = hist_percentile(all, 95), p99 = hist_percentile(all, 99);
	int counted = seconds > warmup_s ? seconds - warmup_s : seconds;

	printf("\trps: %.2f p95 (usec) %llu p99 (usec) %llu p95/cputime %.2f%% p99/cputime "
	       "%.2f%%\n",
	       (double)all->nr / counted, (unsigned long long)p95, (unsigned long long)p99,
	       think_us ? 100.0 * p95 / think_us : 0, think_us ? 100.0 * p99 / think_us : 0);
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
	if (rate)
		report_rate(&all, seconds);
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
		for (j = 0; j < nr_workers; j++) {
			struct worker *w = &m->workers[j];

			w->messenger = m;
			sem_init(&w->requests, 0, 0);
			start_thread(&w->thread, NULL, rate ? worker_at_rate : worker_thread, w);
		}
		start_thread(&m->thread, NULL, rate ? messenger_at_rate : messenger_thread, m);
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
				sem_post(&m->workers[j].requests);
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
