/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * demo: what a scheduler does, in three tables: shares of one CPU by nice value, shares of all
 * CPUs, and the wakeup latency of sleepers with and without competition; then, as a picture, who
 * has a CPU from one millisecond to the next. Each row is printed as soon as it is known. Ends with
 * 0 if the shares were as they should be.
 */
#define _GNU_SOURCE
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/args.h"
#include "lib/clock.h"
#include "lib/hogs.h"
#include "lib/sleepers.h"
#include "lib/table.h"
#include "lib/team.h"

#define TOLERANCE  0.05 /* of all shares together: a larger error fails */
#define LEAST_USED 0.50 /* of all CPUs in the second table, on however busy a host */
#define SLEEPER_MS 10	/* period of a sleeper */
#define SLEEPER_US 200	/* what it runs after each wakeup */

static struct cpu_set machine;
static bool failed;

static const struct arg args[] = { { 0 } };
static const struct program program = {
	"demo",
	"Show in three tables and a picture what the scheduler does.",
	NULL,
	args,
};

static void check(bool good, const char *what)
{
	if (good)
		return;
	printf("  WRONG: %s\n", what);
	failed = true;
}

static struct hog make_hog(int nice, struct cpu_set cpus, uint64_t wall_ns)
{
	return (struct hog){
		.nice = nice, .policy = { SCHED_OTHER, 0 }, .cpus = cpus, .wall_ns = wall_ns
	};
}

/* --- 1: one CPU ---------------------------------------------------- */

/* One row a hog; returns the largest difference between share and ideal. */
static double print_shares(struct table *t, const struct hog *hogs,
			   const struct hog_result *results, int nr)
{
	double ideal[MAX_LIST], share[MAX_LIST], worst = 0;
	int i;

	ideal_shares(hogs, nr, 1, ideal);
	measured_shares(results, nr, share);
	for (i = 0; i < nr; i++) {
		table_cell(t, "hog %d", results[i].pid);
		table_cell(t, "%d", hogs[i].nice);
		table_cell(t, "%u", nice_weight(hogs[i].nice));
		table_cell(t, "%.2f", 100 * ideal[i]);
		table_cell(t, "%.2f", 100 * share[i]);
		table_cell(t, "%+.2f", 100 * (share[i] - ideal[i]));
		table_cell(t, "%.1f", results[i].longest_wait_ns / 1e6);
		worst = fmax(worst, fabs(share[i] - ideal[i]));
	}
	return worst;
}

/*
 * A task goes on being charged while a busy host stops its virtual CPU. So it shows too much CPU
 * time, which the scheduler evens out only if there is time left. Returns these stalls as a part of
 * all CPU time.
 */
static double print_stalls(const struct hog_result *results, int nr, uint64_t wall_ns)
{
	uint64_t stalled_ns = 0;
	int i;

	for (i = 0; i < nr; i++)
		stalled_ns += results[i].stalled_ns;
	if (stalled_ns)
		printf("\n  The host is busy: of this time it stopped the CPU for %.0f ms. "
		       "ICOUNT=1 is exact on any host.\n",
		       stalled_ns / 1e6);
	return (double)stalled_ns / wall_ns;
}

static void show_one_cpu(void)
{
	enum { NR = 4 };
	static const int nices[NR] = { -5, 0, 5, 10 }, width[] = { 8, 4, 6, 7, 6, 6, 15 };
	struct hog_result results[NR];
	struct cpu_set first = { 0 };
	int cpu = cpu_nth(&machine, 0), i;
	struct hog hogs[NR];
	struct table t;
	double worst;

	cpu_add(&first, cpu);
	for (i = 0; i < NR; i++)
		hogs[i] = make_hog(nices[i], first, 2 * NS_PER_S);
	printf("\n1. Four processes that never sleep share CPU %d for 2 s: shares follow "
	       "weights\n\n",
	       cpu);
	table_begin(&t, "task|nice|weight|ideal %|got %|error|longest wait ms");
	table_print_rows(&t, width);
	if (run_hogs(hogs, NR, results)) {
		check(false, "a process could not run");
		return;
	}
	worst = print_shares(&t, hogs, results, NR);
	table_end(&t);
	check(worst <= TOLERANCE + print_stalls(results, NR, 2 * NS_PER_S),
	      "a share is more than 5 points off");
}

/* --- 2: all CPUs --------------------------------------------------- */

/* Least, mean and greatest CPU time among @nr hogs, as percent of one CPU. */
static void print_class(struct table *t, int nice, double ideal, const struct hog_result *r, int nr)
{
	double sum = 0, low = INFINITY, high = 0;
	int i;

	for (i = 0; i < nr; i++) {
		double used = 100.0 * r[i].cpu_ns / r[i].wall_ns;

		sum += used;
		low = fmin(low, used);
		high = fmax(high, used);
	}
	table_cell(t, "%d hog%s", nr, nr == 1 ? "" : "s");
	table_cell(t, "%d", nice);
	table_cell(t, "%.1f", 100 * ideal);
	table_cell(t, "%.1f", low);
	table_cell(t, "%.1f", sum / nr);
	table_cell(t, "%.1f", high);
}

/* A row for each half of the hogs; then how much of the machine was used, which is checked. */
static void print_classes(struct table *t, const struct hog *hogs, const struct hog_result *results,
			  int cpus)
{
	double *ideal = calloc(2 * cpus, sizeof(*ideal)), used = 0;
	int i;

	if (!ideal)
		die("demo");
	ideal_shares(hogs, 2 * cpus, cpus, ideal);
	for (i = 0; i < 2 * cpus; i++)
		used += (double)results[i].cpu_ns / NS_PER_S / cpus;
	print_class(t, hogs[0].nice, ideal[0] * cpus, results, cpus);
	print_class(t, hogs[cpus].nice, ideal[cpus] * cpus, results + cpus, cpus);
	printf("\n  %d CPU%s busy for %.1f %% of the time\n", cpus, cpus == 1 ? "" : "s",
	       100 * used);
	check(used >= LEAST_USED, "CPUs were idle although there was work");
	free(ideal);
}

static void show_all_cpus(void)
{
	static const int width[] = { 8, 4, 7, 7, 6, 6 };
	int cpus = cpu_count(&machine), i;
	struct hog_result *results = calloc(2 * cpus, sizeof(*results));
	struct hog *hogs = calloc(2 * cpus, sizeof(*hogs));
	struct table t;

	if (!results || !hogs)
		die("demo");
	for (i = 0; i < 2 * cpus; i++)
		hogs[i] = make_hog(i < cpus ? 0 : 5, machine, NS_PER_S);
	printf("\n2. Two processes for each CPU, free to move, for 1 s: percent of one CPU\n\n");
	table_begin(&t, "tasks|nice|ideal %|least %|mean %|most %");
	table_print_rows(&t, width);
	if (run_hogs(hogs, 2 * cpus, results))
		check(false, "a process could not run");
	else
		print_classes(&t, hogs, results, cpus);
	table_end(&t);
	free(results);
	free(hogs);
}

/* --- 3: sleepers --------------------------------------------------- */

struct scene {
	const char *name;
	struct policy hogs, sleepers;
	int hogs_per_cpu;
};

/* The team begins with the sleepers, one for each CPU; hogs follow. All report a histogram. */
static void setup_actor(int i, const void *arg)
{
	const struct scene *scene = arg;
	bool hog = i >= cpu_count(&machine);

	if (hog && set_cpus(0, &machine))
		die("affinity of a hog");
	if (set_policy(0, hog ? &scene->hogs : &scene->sleepers))
		die("policy");
	if (!hog)
		pin_to_cpu(cpu_nth(&machine, i));
}

static void act(int i, uint64_t start_ns, const void *arg, void *result)
{
	const struct sleeper sleeper = {
		.period_ns = SLEEPER_MS * NS_PER_MS,
		.run_ns = SLEEPER_US * NS_PER_US,
		.first_ns = i * SLEEPER_MS * NS_PER_MS / cpu_count(&machine),
		.loops = 45,
	};

	(void)arg;
	if (i < cpu_count(&machine))
		sleep_loop(&sleeper, start_ns, result);
	else
		while (now_ns() < start_ns + 50 * SLEEPER_MS * NS_PER_MS)
			spin();
}

static void show_scene(struct table *t, const struct scene *scene)
{
	int cpus = cpu_count(&machine), nr = cpus * (1 + scene->hogs_per_cpu), i;
	const struct team_job job = { setup_actor, act, scene, sizeof(struct hist) };
	struct hist *late = calloc(nr, sizeof(*late)), all = { 0 };

	if (!late)
		die("demo");
	check(!run_team(nr, &job, late), "a process could not run");
	for (i = 0; i < cpus; i++)
		hist_merge(&all, &late[i]);
	table_cell(t, "%s", scene->name);
	table_cell(t, "%llu", (unsigned long long)all.nr);
	table_cell(t, "%.1f", all.min / 1e3);
	table_cell(t, "%.1f", hist_percentile(&all, 50) / 1e3);
	table_cell(t, "%.1f", hist_percentile(&all, 99) / 1e3);
	table_cell(t, "%.1f", all.max / 1e3);
	free(late);
}

static void show_sleepers(void)
{
	static const struct scene scenes[] = {
		{ "alone", { SCHED_OTHER, 0 }, { SCHED_OTHER, 0 }, 0 },
		{ "1 hog per CPU", { SCHED_OTHER, 0 }, { SCHED_OTHER, 0 }, 1 },
		{ "1 hog per CPU, policy idle", { SCHED_IDLE, 0 }, { SCHED_OTHER, 0 }, 1 },
		{ "1 hog per CPU, sleepers fifo", { SCHED_OTHER, 0 }, { SCHED_FIFO, 50 }, 1 },
	};
	static const int width[] = { 28, 7, 7, 8, 8, 8 };
	struct table t;
	unsigned i;

	printf("\n3. One process on each CPU runs %d us every %d ms: how late it wakes, in us\n\n",
	       SLEEPER_US, SLEEPER_MS);
	table_begin(&t, "sleepers|wakeups|min|p50|p99|max");
	table_print_rows(&t, width);
	for (i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
		show_scene(&t, &scenes[i]);
	table_end(&t);
}

/* --- 4: who runs when ---------------------------------------------- */

enum { NR_LANES = 3, COLUMNS = 60, EVERY = 10 }; /* ms are the columns; each tenth has a number */
#define COLUMN_NS NS_PER_MS
#define GAP_NS	  (100 * NS_PER_US) /* between two looks at the clock: somebody else ran */
#define BURST_NS  (2 * NS_PER_MS)   /* of the sleeper, every */
#define PERIOD_NS (12 * NS_PER_MS)

/*
 * The time that a process ran and slept in each column. fairground/machine/demo_picture.py reads
 * the rows that are made of it.
 */
struct lane {
	uint32_t ran_ns[COLUMNS], slept_ns[COLUMNS];
};

static const struct {
	const char *name;
	int nice;
	bool sleeps;
} lane_kinds[NR_LANES] = { { "nice 0", 0, false },
			   { "nice 5", 5, false },
			   { "2 ms of 12", 0, true } };

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Adds the time from @from to @to, counted from the start, to the columns in which it lies. */
static void add_time(uint32_t *columns, uint64_t from, uint64_t to)
{
	while (from < to && from < COLUMNS * COLUMN_NS) {
		uint64_t end = least((from / COLUMN_NS + 1) * COLUMN_NS, to);

		columns[from / COLUMN_NS] += end - from;
		from = end;
	}
}

/* Runs for @ns of CPU time, or to the end of the picture; returns when that was. */
static uint64_t run_lane(struct lane *lane, uint64_t start_ns, uint64_t ns)
{
	uint64_t last = now_ns() - start_ns, ran = 0;

	while (ran < ns && last < COLUMNS * COLUMN_NS) {
		uint64_t now;

		spin();
		now = now_ns() - start_ns;
		if (now - last < GAP_NS) {
			add_time(lane->ran_ns, last, now);
			ran += now - last;
		}
		last = now;
	}
	return last;
}

static void setup_lane(int i, const void *arg)
{
	(void)arg;
	if (set_nice(0, lane_kinds[i].nice))
		die("nice");
	pin_to_cpu(cpu_nth(&machine, 0));
}

static void act_lane(int i, uint64_t start_ns, const void *arg, void *result)
{
	struct lane *lane = result;
	uint64_t at = 0;

	(void)arg;
	if (!lane_kinds[i].sleeps) {
		run_lane(lane, start_ns, UINT64_MAX);
		return;
	}
	for (uint64_t wakes = 0; wakes < COLUMNS * COLUMN_NS; wakes += PERIOD_NS) {
		add_time(lane->slept_ns, at, wakes);
		sleep_until_ns(start_ns + wakes);
		at = run_lane(lane, start_ns, BURST_NS);
	}
	add_time(lane->slept_ns, at, COLUMNS * COLUMN_NS);
}

/* The letter of column @i: '#' if the process ran for most of it, '.' waited, ' ' slept. */
static char column_of(const struct lane *lane, int i)
{
	uint32_t ran = lane->ran_ns[i], slept = lane->slept_ns[i];
	uint32_t waited = COLUMN_NS - least(ran + slept, COLUMN_NS);

	return ran >= slept && ran >= waited ? '#' : slept > waited ? ' ' : '.';
}

static void print_lane(const char *name, const struct lane *lane)
{
	printf("  %-12s|", name);
	for (int i = 0; i < COLUMNS; i++)
		putchar(column_of(lane, i));
	printf("|\n");
}

static void show_lanes(void)
{
	const struct team_job job = { setup_lane, act_lane, NULL, sizeof(struct lane) };
	struct lane lanes[NR_LANES] = { 0 };

	printf("\n4. Three processes on CPU %d, ms by ms: # runs, . waits, blank: it sleeps\n\n",
	       cpu_nth(&machine, 0));
	check(!run_team(NR_LANES, &job, lanes), "a process could not run");
	for (int i = 0; i < NR_LANES; i++)
		print_lane(lane_kinds[i].name, &lanes[i]);
	printf("  %-12s ", "");
	for (int i = 0; i < COLUMNS; i += EVERY)
		printf("%-*d", EVERY, i);
	printf("ms\n");
}

int main(int argc, char **argv)
{
	parse_args(&program, argc, argv);
	if (get_cpus(0, &machine))
		die("reading the affinity");
	show_one_cpu();
	show_all_cpus();
	show_sleepers();
	show_lanes();
	printf("\n");
	return failed;
}
