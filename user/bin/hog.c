/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hog: processes that want the CPU all the time, for a stated wall time or a stated amount of work.
 * Prints the share of each beside the ideal share of its weight, its context switches, and its
 * longest wait beside CFS's bound.
 */
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/args.h"
#include "lib/cfs.h"
#include "lib/clock.h"
#include "lib/hogs.h"
#include "lib/table.h"

static int nr_hogs = 1;
static bool silent;
static struct int_list nices;
static struct cpu_set cpus;
static struct policy policy;
static int own_nice;
static uint64_t wall_ns, work_ns;

static const struct arg args[] = {
	{ 't', "time", ARG_TIME, &wall_ns, "run until this wall time has passed (default 1s)" },
	{ 'w', "work", ARG_TIME, &work_ns, "run until each hog used this much CPU time" },
	{ 'n', "count", ARG_INT, &nr_hogs, "number of hogs (default: one for each nice value)", 1,
	  MAX_LIST },
	{ 'N', "nice", ARG_NICES, &nices, "their nice values, in turn (default: its own)" },
	{ 'a', "affinity", ARG_CPUS, &cpus, "CPUs they may use (default: all)" },
	{ 'p', "policy", ARG_POLICY, &policy, "scheduling policy (default: its own)" },
	{ 'q', "quiet", ARG_FLAG, &silent,
	  "make no system call while running; waits are not known" },
	{ 0 },
};

static const struct program program = {
	"hog",
	"Use the CPU and report who got how much of it.",
	NULL,
	args,
};

static void build_hogs(struct hog *hogs)
{
	int i;

	for (i = 0; i < nr_hogs; i++)
		hogs[i] = (struct hog){
			.nice = nices.value[i % nices.nr],
			.policy = policy,
			.cpus = cpus,
			.work_ns = work_ns,
			.wall_ns = wall_ns,
			.silent = silent,
		};
}

/* Fill @cfs and @weight, if the hogs share one CPU under CFS and the kernel tells its tunables. */
static bool cfs_explains(const struct hog *hogs, struct cfs_params *cfs, unsigned *weight)
{
	int i;

	if (cpu_count(&cpus) != 1 || policy.prio || !cfs_read_params(cfs))
		return false;
	for (i = 0; i < nr_hogs; i++)
		weight[i] = policy_weight(&policy, hogs[i].nice);
	return true;
}

static void print_slices(const struct cfs_params *cfs, const unsigned *weight)
{
	int i;

	printf("\n  CFS: latency %.3f ms, minimal granularity %.3f ms, tick %.3f ms\n  slices:",
	       cfs->latency_ns / 1e6, cfs->min_granularity_ns / 1e6, cfs->tick_ns / 1e6);
	for (i = 0; i < nr_hogs; i++)
		printf(" %.3f", cfs_slice_ns(cfs, weight, nr_hogs, i) / 1e6);
	printf(" ms; a turn ends at the first tick after its slice\n");
}

static void print_share(struct table *t, double share, double ideal)
{
	table_cell(t, "%.2f", 100 * share);
	if (isnan(ideal)) {
		table_cell(t, "-");
		table_cell(t, "-");
	} else {
		table_cell(t, "%.2f", 100 * ideal);
		table_cell(t, "%+.2f", 100 * (share - ideal));
	}
}

static void print_waits(struct table *t, const struct hog_result *r, uint64_t bound_ns)
{
	table_cell(t, "%llu", (unsigned long long)r->yields);
	table_cell(t, "%llu", (unsigned long long)r->losses);
	if (silent)
		table_cell(t, "-");
	else
		table_cell(t, "%.1f", r->longest_wait_ns / 1e6);
	table_cell(t, bound_ns ? "%.1f" : "-", bound_ns / 1e6);
}

static void print_results(const struct hog *hogs, const struct hog_result *results)
{
	double share[MAX_LIST], ideal[MAX_LIST];
	unsigned weight[MAX_LIST];
	struct cfs_params cfs;
	bool explained = cfs_explains(hogs, &cfs, weight);
	struct table t;
	int i;

	measured_shares(results, nr_hogs, share);
	ideal_shares(hogs, nr_hogs, cpu_count(&cpus), ideal);
	table_begin(&t, "pid|nice|wall ms|cpu ms|share %|ideal %|error|voluntary|involuntary|"
			"longest wait ms|CFS bound ms");
	for (i = 0; i < nr_hogs; i++) {
		table_cell(&t, "%d", results[i].pid);
		table_cell(&t, "%d", hogs[i].nice);
		table_cell(&t, "%.1f", results[i].wall_ns / 1e6);
		table_cell(&t, "%.1f", results[i].cpu_ns / 1e6);
		/*
		 * With a work limit, hogs that finish leave the CPU to the rest, so there is no
		 * ideal share.
		 */
		print_share(&t, share[i], work_ns ? NAN : ideal[i]);
		print_waits(&t, &results[i],
			    explained ? cfs_wait_bound_ns(&cfs, weight, nr_hogs, i) : 0);
	}
	table_end(&t);
	if (explained)
		print_slices(&cfs, weight);
}

/* Check the options against each other and fill in what was left open. */
static void complete_options(void)
{
	struct cpu_set allowed;

	if (wall_ns && work_ns)
		usage_error(&program, "-t and -w exclude each other");
	if (silent && work_ns)
		usage_error(&program, "-q goes with -t: work is measured by reading the CPU clock");
	if (!wall_ns && !work_ns)
		wall_ns = NS_PER_S;
	if (!nices.nr)
		nices.value[nices.nr++] = own_nice;
	if (nr_hogs < nices.nr)
		nr_hogs = nices.nr;
	if (get_cpus(0, &allowed))
		die("reading the affinity");
	if (!cpu_count(&cpus))
		cpus = allowed;
}

int main(int argc, char **argv)
{
	static struct hog_result results[MAX_LIST];
	static struct hog hogs[MAX_LIST];
	int nr_cpus;

	get_inherited(&policy, &own_nice);
	parse_args(&program, argc, argv);
	complete_options();
	build_hogs(hogs);
	nr_cpus = cpu_count(&cpus);
	printf("%d hog%s, %d CPU%s, policy %s, %s %.3f s\n", nr_hogs, nr_hogs == 1 ? "" : "s",
	       nr_cpus, nr_cpus == 1 ? "" : "s", policy_name(policy.policy),
	       work_ns ? "work of each" : "wall time", (work_ns ? work_ns : wall_ns) / 1e9);
	if (run_hogs(hogs, nr_hogs, results)) {
		fprintf(stderr, "hog: a hog could not run\n");
		return 1;
	}
	print_results(hogs, results);
	return 0;
}
