/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * burst: sleep, run, sleep, run. Prints how late it woke, and how long each burst took from its
 * planned start to its end, which counts every wait for the CPU. With a period, bursts start at its
 * multiples on the clock, so that several such programs start together, and in step with other
 * periods of the machine. A burst may be a number of turns of a loop, which take longer on a slower
 * CPU.
 */
#include <sched.h>
#include <stdio.h>

#include "lib/args.h"
#include "lib/clock.h"
#include "lib/hist.h"
#include "lib/table.h"

static uint64_t run_ns = NS_PER_MS, rest_ns = 9 * NS_PER_MS, period_ns, phase_ns;
static int times = 100, nice_value, work;
static struct cpu_set cpus;
static struct policy policy;

static const struct arg args[] = {
	{ 'r', "run", ARG_TIME, &run_ns, "CPU time of each burst (default 1ms)" },
	{ 'w', "work", ARG_INT, &work, "turns of a loop, of about 1us at full speed, instead of -r",
	  1, 1000000000 },
	{ 's', "sleep", ARG_TIME, &rest_ns, "sleep before each burst (default 9ms)" },
	{ 'P', "period", ARG_TIME, &period_ns, "start at multiples of this instead of after -s" },
	{ 'o', "offset", ARG_TIME, &phase_ns, "... and this much later (default 0)" },
	{ 'n', "times", ARG_INT, &times, "number of bursts (default 100)", 1, 1000000000 },
	{ 'N', "nice", ARG_INT, &nice_value, "nice value (default: as started)", -20, 19 },
	{ 'a', "affinity", ARG_CPUS, &cpus, "CPUs it may use (default: all)" },
	{ 'p', "policy", ARG_POLICY, &policy, "scheduling policy (default: as started)" },
	{ 0 },
};

static const struct program program = {
	"burst",
	"Alternate between sleeping and running; report lateness and response times.",
	NULL,
	args,
};

static void print_row(struct table *t, const char *name, const struct hist *h)
{
	table_cell(t, "%s", name);
	table_cell(t, "%.1f", h->min / 1e3);
	table_cell(t, "%.1f", hist_mean(h) / 1e3);
	table_cell(t, "%.1f", hist_percentile(h, 50) / 1e3);
	table_cell(t, "%.1f", hist_percentile(h, 99) / 1e3);
	table_cell(t, "%.1f", h->max / 1e3);
}

/* When the next burst is to start. */
static uint64_t plan(uint64_t now)
{
	uint64_t next;

	if (!period_ns)
		return now + rest_ns;
	next = now / period_ns * period_ns + phase_ns;
	return next > now ? next : next + period_ns;
}

/* One burst: so much CPU time, however little is done in it; or so much work, however long. */
static void run_burst(void)
{
	if (!work)
		burn_ns(run_ns);
	for (int i = 0; i < work; i++)
		spin();
}

int main(int argc, char **argv)
{
	static struct hist late, response;
	uint64_t planned_ns, cpu_ns;
	struct table t;
	int i;

	get_inherited(&policy, &nice_value);
	parse_args(&program, argc, argv);
	if (cpu_count(&cpus) && set_cpus(0, &cpus))
		die("setting the affinity");
	if (set_nice(0, nice_value) || set_policy(0, &policy))
		die("setting policy and nice value");
	cpu_ns = thread_cpu_ns();
	for (i = 0; i < times; i++) {
		planned_ns = plan(now_ns());
		sleep_until_ns(planned_ns);
		hist_add(&late, now_ns() - planned_ns);
		run_burst();
		hist_add(&response, now_ns() - planned_ns);
	}
	cpu_ns = thread_cpu_ns() - cpu_ns;
	printf("%d bursts of %.3f ms %s %.3f ms, %s, nice %d: %.1f ms of CPU time\n", times,
	       work ? cpu_ns / 1e6 / times : run_ns / 1e6, period_ns ? "every" : "after sleeps of",
	       (period_ns ? period_ns : rest_ns) / 1e6, policy_name(policy.policy), nice_value,
	       cpu_ns / 1e6);
	table_begin(&t, "us|min|mean|p50|p99|max");
	print_row(&t, "wakeup lateness", &late);
	print_row(&t, "response time", &response);
	table_end(&t);
	return 0;
}
