/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPU hogs: see hogs.h.
 */
#include "lib/hogs.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/args.h"
#include "lib/clock.h"
#include "lib/team.h"

static void setup_hog(int i, const void *arg)
{
	const struct hog *hog = (const struct hog *)arg + i;

	if (set_cpus(0, &hog->cpus))
		die("setting the affinity of a hog");
	if (set_nice(0, hog->nice))
		die("setting the nice value of a hog");
	if (set_policy(0, &hog->policy))
		die("setting the policy of a hog");
}

/* Context switches of this process so far, from /proc: getrusage(2) is not everywhere. */
static void read_switches(struct hog_result *r)
{
	FILE *f = fopen("/proc/self/status", "r");
	unsigned long long n;
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "voluntary_ctxt_switches: %llu", &n) == 1)
			r->yields = n;
		if (sscanf(line, "nonvoluntary_ctxt_switches: %llu", &n) == 1)
			r->losses = n;
	}
	if (f)
		fclose(f);
}

/* A turn takes microseconds, interrupts included: more than this is the host's doing. */
#define STALL_NS (3 * NS_PER_MS)

/*
 * Both clocks are read once a turn: what passed on the wall but not on the CPU was a wait. Being
 * preempted between the two reads moves a wait to the next turn but does not lose it.
 */
static void run_measured(const struct hog *hog, uint64_t start_ns, struct hog_result *r)
{
	uint64_t cpu0 = thread_cpu_ns(), now = start_ns, cpu = cpu0, waited;

	do {
		uint64_t last_now = now, last_cpu = cpu;

		spin();
		now = now_ns();
		cpu = thread_cpu_ns();
		waited = now - last_now - (cpu - last_cpu);
		if ((int64_t)waited > (int64_t)r->longest_wait_ns)
			r->longest_wait_ns = waited;
		if (cpu - last_cpu > STALL_NS)
			r->stalled_ns += cpu - last_cpu;
	} while ((!hog->work_ns || cpu - cpu0 < hog->work_ns) &&
		 (!hog->wall_ns || now - start_ns < hog->wall_ns));
	r->wall_ns = now - start_ns;
	r->cpu_ns = cpu - cpu0;
}

/*
 * The kernel brings a task's account up to date when that reads its CPU clock, and the policy with
 * it. This hog makes no system call, so whatever happens to it happens at ticks.
 */
static void run_silently(const struct hog *hog, uint64_t start_ns, struct hog_result *r)
{
	uint64_t cpu0 = thread_cpu_ns(), now;

	do {
		spin();
		now = now_ns();
	} while (now - start_ns < hog->wall_ns);
	r->wall_ns = now - start_ns;
	r->cpu_ns = thread_cpu_ns() - cpu0;
}

static void run_hog(int i, uint64_t start_ns, const void *arg, void *result)
{
	const struct hog *hog = (const struct hog *)arg + i;
	struct hog_result before = { 0 }, *r = result;

	read_switches(&before);
	if (hog->silent)
		run_silently(hog, start_ns, r);
	else
		run_measured(hog, start_ns, r);
	read_switches(r);
	r->yields -= before.yields;
	r->losses -= before.losses;
	r->pid = getpid();
}

int run_hogs(const struct hog *hogs, int nr, struct hog_result *results)
{
	const struct team_job job = { setup_hog, run_hog, hogs, sizeof(*results) };

	return run_team(nr, &job, results);
}

/*
 * Water filling: a hog that would exceed one CPU is given exactly one, and the others share what is
 * left.
 */
void ideal_shares(const struct hog *hogs, int nr, int nr_cpus, double *share)
{
	double cpus = nr_cpus < nr ? nr_cpus : nr, total = cpus;
	int i, again = 1;

	for (i = 0; i < nr; i++)
		share[i] = 0;
	while (again) {
		double left = cpus, weight = 0;

		again = 0;
		for (i = 0; i < nr; i++)
			if (share[i] < 1)
				weight += policy_weight(&hogs[i].policy, hogs[i].nice);
			else
				left -= 1;
		for (i = 0; i < nr; i++)
			if (share[i] < 1) {
				share[i] = left * policy_weight(&hogs[i].policy, hogs[i].nice) /
					   weight;
				again |= share[i] >= 1 && nr > 1;
			}
	}
	for (i = 0; i < nr; i++) {
		if (hogs[i].policy.prio)
			total = NAN;
		share[i] = (share[i] < 1 ? share[i] : 1) / total;
	}
}

void measured_shares(const struct hog_result *results, int nr, double *share)
{
	double sum = 0;
	int i;

	for (i = 0; i < nr; i++)
		sum += results[i].cpu_ns;
	for (i = 0; i < nr; i++)
		share[i] = results[i].cpu_ns / sum;
}
