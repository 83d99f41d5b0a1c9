/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * schbench2: messengers hand requests to workers, written from the description of Chris Mason's
 * schbench as it is since 2023; options, metrics and report layout are its own.
 *
 * A worker asks its messenger for work and sleeps. The messenger stamps the time and wakes it. From
 * stamp to running is the wakeup latency. The request itself is two short sleeps around some matrix
 * arithmetic, done under a spinning lock of the CPU it began on: a worker preempted or moved in
 * there makes others spin, as preemption in real servers costs more than the time it takes. Its
 * length is the request latency.
 */
#define _GNU_SOURCE
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/args.h"
#include "lib/clock.h"
#include "lib/hist.h"
#include "lib/messenger.h"
#include "lib/threads.h"

static int nr_messengers = 1, nr_workers, runtime_s = 30, warmup_s = 5, interval_s = 10, zero_s;
static int footprint_kb = 256, nr_operations = 5, sleep_us = 100, rps;
static bool no_locking, calibrate;
static struct cpu_set messenger_cpus, worker_cpus;

static const struct arg args[] = {
	{ 'm', "message-threads", ARG_INT, &nr_messengers, "messengers (default 1)", 1, 1024 },
	{ 't', "threads", ARG_INT, &nr_workers, "workers of each messenger (default: the CPUs)", 1,
	  4096 },
	{ 'r', "runtime", ARG_INT, &runtime_s, "seconds to run after the warm-up (default 30)", 1,
	  100000 },
	{ 'w', "warmuptime", ARG_INT, &warmup_s, "seconds of warm-up, not counted (default 5)", 0,
	  100000 },
	{ 'i', "intervaltime", ARG_INT, &interval_s,
	  "seconds between reports; <= 0: none (default 10)", -1, 100000 },
	{ 'z', "zerotime", ARG_INT, &zero_s,
	  "forget the samples every so many seconds (default never)", 1, 100000 },
	{ 'F', "cache-footprint", ARG_INT, &footprint_kb, "matrix data, kB (default 256)", 1,
	  1 << 20 },
	{ 'n', "operations", ARG_INT, &nr_operations, "multiplications in a request (default 5)", 1,
	  1000000 },
	{ 's', "sleep-usec", ARG_INT, &sleep_us, "each of a request's two sleeps, us (default 100)",
	  0, 1000000 },
	{ 'R', "rps", ARG_INT, &rps, "requests per second of all together (default: no limit)", 1,
	  1000000 },
	{ 'M', "message-cpus", ARG_CPUS, &messenger_cpus,
	  "pin the messengers to these CPUs in turn" },
	{ 'W', "worker-cpus", ARG_CPUS, &worker_cpus, "keep the workers on these CPUs" },
	{ 'L', "no-locking", ARG_FLAG, &no_locking, "no lock around the arithmetic" },
	{ 'C', "calibrate", ARG_FLAG, &calibrate, "time the arithmetic alone: no sleeps, no lock" },
	{ 0 },
};

static const struct program program = {
	"schbench2",
	"Measure wakeup latency, request latency and requests per second.",
	NULL,
	args,
};

struct worker {
	struct worker_slot slot; /* first: the messenger sees only this */
	struct messenger *messenger;
	pthread_t thread;
	long *matrix; /* three square matrices */
	_Atomic uint64_t requests;
	unsigned epoch; /* of the samples below */
	struct hist wakeup_us, request_us;
};

struct messenger {
	struct messenger_box box;
	pthread_t thread;
	int index;
	struct worker *workers;
};

static struct messenger *messengers;
static _Atomic bool stopping;
static _Atomic unsigned epoch; /* a worker that sees it change forgets its samples */
static struct {
	_Alignas(64) atomic_flag taken;
} cpu_locks[MAX_CPUS];

/* --- the request --------------------------------------------------- */

static int matrix_side(void)
{
	return sqrt(footprint_kb * 1024.0 / 3 / sizeof(long));
}

static void multiply(long *m, int n)
{
	const long *a = m, *b = m + n * n;
	long *c = m + 2 * n * n;
	int i, j, k;

	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++) {
			long sum = 0;

			for (k = 0; k < n; k++)
				sum += a[i * n + k] * b[k * n + j];
			c[i * n + j] = sum;
		}
}

static void compute(struct worker *w)
{
	int i;

	for (i = 0; i < nr_operations; i++)
		multiply(w->matrix, matrix_side());
}

static void compute_locked(struct worker *w)
{
	unsigned cpu = 0;

	syscall(SYS_getcpu, &cpu, NULL, NULL);
	cpu %= MAX_CPUS;
	while (atomic_flag_test_and_set_explicit(&cpu_locks[cpu].taken, memory_order_acquire))
		__builtin_ia32_pause();
	compute(w);
	atomic_flag_clear_explicit(&cpu_locks[cpu].taken, memory_order_release);
}

static void serve(struct worker *w)
{
	uint64_t start_ns = now_ns();

	if (calibrate) {
		compute(w);
	} else {
		sleep_ns(sleep_us * NS_PER_US);
		if (no_locking)
			compute(w);
		else
			compute_locked(w);
		sleep_ns(sleep_us * NS_PER_US);
	}
	hist_add(&w->request_us, (now_ns() - start_ns) / NS_PER_US);
	w->requests++;
}

/* --- workers and messengers ---------------------------------------- */

static void *worker_thread(void *arg)
{
	struct worker *w = arg;

	if (cpu_count(&worker_cpus) && set_cpus(0, &worker_cpus))
		die("affinity of a worker");
	for (;;) {
		uint64_t latency_ns = wait_for_work(&w->messenger->box, &w->slot);

		if (stopping)
			return NULL;
		if (w->epoch != epoch) {
			w->epoch = epoch;
			hist_clear(&w->wakeup_us);
			hist_clear(&w->request_us);
		}
		hist_add(&w->wakeup_us, latency_ns / NS_PER_US);
		serve(w);
	}
}

/* With a rate limit, wait for the moment of this messenger's next request. */
static void wait_for_turn(uint64_t *next_ns)
{
	if (!rps || stopping)
		return;
	sleep_until_ns(*next_ns);
	*next_ns += NS_PER_S * nr_messengers / rps;
}

static void *messenger_thread(void *arg)
{
	struct messenger *m = arg;
	struct worker_slot *w, *next;
	uint64_t next_ns = now_ns();

	if (cpu_count(&messenger_cpus))
		pin_to_cpu(cpu_nth(&messenger_cpus, m->index));
	while (!stopping) {
		wait_for_workers(&m->box);
		for (w = take_workers(&m->box); w; w = next) {
			next = w->next;
			wait_for_turn(&next_ns);
			send_to_work(w);
		}
	}
	return NULL;
}

/* --- the report ---------------------------------------------------- */

static void print_percentiles(const char *what, const char *unit, int seconds, const struct hist *h,
			      const double *percents, int nr, double star)
{
	uint64_t below = 0;
	int i;

	printf("%s percentiles (%s) runtime %d (s) (%llu total samples)\n", what, unit, seconds,
	       (unsigned long long)h->nr);
	for (i = 0; i < nr; i++) {
		uint64_t value = hist_percentile(h, percents[i]);
		uint64_t upto = h->nr ? hist_between(h, 0, value) + h->bucket[0] : 0;

		printf("\t%c %2.1fth: %-10llu (%llu samples)\n", percents[i] == star ? '*' : ' ',
		       percents[i], (unsigned long long)value, (unsigned long long)(upto - below));
		below = upto;
	}
	printf("\t  min=%llu, max=%llu\n", (unsigned long long)h->min, (unsigned long long)h->max);
}

/* Workers add samples meanwhile: one may be seen in one figure and not yet in another. */
static void report(int seconds, const struct hist *rps_hist)
{
	static const double latency[] = { 50, 90, 99, 99.9 }, rate[] = { 20, 50, 90 };
	static struct hist wakeup, request;
	int i;

	hist_clear(&wakeup);
	hist_clear(&request);
	for (i = 0; i < nr_messengers * nr_workers; i++) {
		hist_merge(&wakeup, &messengers[0].workers[i].wakeup_us);
		hist_merge(&request, &messengers[0].workers[i].request_us);
	}
	print_percentiles("Wakeup Latencies", "usec", seconds, &wakeup, latency, 4, 99);
	print_percentiles("Request Latencies", "usec", seconds, &request, latency, 4, 99);
	print_percentiles("RPS", "requests", seconds, rps_hist, rate, 3, 50);
	fflush(stdout);
}

static uint64_t count_requests(void)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < nr_messengers * nr_workers; i++)
		sum += messengers[0].workers[i].requests;
	return sum;
}

/* --- main thread: clock, start, stop ------------------------------- */

static void start_worker(struct messenger *m, struct worker *w)
{
	int n = matrix_side();

	w->messenger = m;
	w->matrix = calloc(3 * n * n, sizeof(long));
	if (!w->matrix)
		die("matrix");
	start_thread(&w->thread, NULL, worker_thread, w);
}

static void start_threads(void)
{
	struct worker *workers;
	int i, j;

	messengers = aligned_alloc(64, nr_messengers * sizeof(*messengers));
	workers = aligned_alloc(64, nr_messengers * nr_workers * sizeof(*workers));
	if (!messengers || !workers)
		die("schbench2");
	memset(messengers, 0, nr_messengers * sizeof(*messengers));
	memset(workers, 0, nr_messengers * nr_workers * sizeof(*workers));
	for (i = 0; i < nr_messengers; i++) {
		messengers[i].index = i;
		messengers[i].workers = workers + i * nr_workers;
		start_thread(&messengers[i].thread, NULL, messenger_thread, &messengers[i]);
		for (j = 0; j < nr_workers; j++)
			start_worker(&messengers[i], &messengers[i].workers[j]);
	}
}

/* Workers end when they are next sent to work; a messenger's last round may come before that. */
static void stop_threads(void)
{
	int i;

	stopping = true;
	for (i = 0; i < nr_messengers; i++) {
		ring_bell(&messengers[i].box);
		pthread_join(messengers[i].thread, NULL);
	}
	for (i = 0; i < nr_messengers * nr_workers; i++) {
		struct worker *w = &messengers[0].workers[i];

		while (pthread_tryjoin_np(w->thread, NULL)) {
			send_to_work(&w->slot);
			sleep_ns(NS_PER_MS);
		}
	}
}

static void run_clock(struct hist *rps_hist)
{
	uint64_t tick_ns = now_ns() + NS_PER_S, last = count_requests(), requests;
	int second;

	for (second = 1; second <= runtime_s; second++, tick_ns += NS_PER_S) {
		sleep_until_ns(tick_ns);
		requests = count_requests();
		hist_add(rps_hist, requests - last);
		if (interval_s > 0 && second % interval_s == 0 && second < runtime_s) {
			report(second, rps_hist);
			printf("current rps: %llu\n", (unsigned long long)(requests - last));
		}
		if (zero_s && second % zero_s == 0)
			epoch++;
		last = requests;
	}
}

int main(int argc, char **argv)
{
	static struct hist rps_hist;
	struct cpu_set allowed;
	uint64_t requests, start_ns;
	double average;

	parse_args(&program, argc, argv);
	if (get_cpus(0, &allowed))
		die("reading the affinity");
	if (!nr_workers)
		nr_workers = cpu_count(&allowed);
	start_threads();
	sleep_ns(warmup_s * NS_PER_S);
	epoch++;
	requests = count_requests();
	start_ns = now_ns();
	run_clock(&rps_hist);
	average = (count_requests() - requests) / ((now_ns() - start_ns) / 1e9);
	stop_threads();
	report(runtime_s, &rps_hist);
	printf("average rps: %.2f\n", average);
	return 0;
}
