/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mix: processes of several kinds side by side for a while, and what became of each kind. It asks
 * the kernel only for what Linux's tells too, so that the same mix can be run on both
 * (docs/fidelity.md). Prints a line for each figure: "mix PART FIGURE VALUE".
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/args.h"
#include "lib/clock.h"
#include "lib/team.h"
#include "bench/mix/part.h"

#define MAX_PARTS 8

static uint64_t wall_ns = NS_PER_S;
static struct part parts[MAX_PARTS];
static int nr_parts;

/*
 * Some process joins a group. On Linux it waits for RCU then, and so for a tick. Where and when all
 * begin must not depend on that: they begin on CPUs in turn, whole steps after the program did.
 */
static bool grouped;
static struct cpu_set everywhere; /* where a process may run that has begun */
#define STEP_NS (20 * NS_PER_MS)  /* whole ticks, and whole periods of 10 ms */

static const struct arg args[] = {
	{ 't', "time", ARG_TIME, &wall_ns, "run until this wall time has passed (default 1s)" },
	{ 0 },
};

static const struct program program = {
	"mix",
	"Run a mix of processes and report what became of each kind.\n"
	"A PART is KIND[:KEY=VALUE,...]. KIND is hog, reader (of its own CPU time), burst, yield,\n"
	"fork, exec, pair (of processes that pass a byte to and fro) or change. KEY is n, nice, "
	"policy,\n"
	"cpus, slice, run, own (run time of one that forks), sleep, deadline (4ms/10ms), name or\n"
	"group (below " GROUPS "). A change needs set='WHAT VALUE...', and makes one after each "
	"run:\n"
	"WHAT is nice, policy, cpus, slice (300us, or same), group or a file (a/cpu.weight) there.",
	"PART...",
	args,
};

/* The part of which process @i is one, and its index there. */
static const struct part *part_of(int i, int *index)
{
	const struct part *p = parts;

	for (; i >= p->nr * p->kind->processes; p++)
		i -= p->nr * p->kind->processes;
	*index = i;
	return p;
}

static void join_group(const char *group)
{
	char file[64];

	snprintf(file, sizeof(file), "%s/cgroup.procs", group);
	if (write_group(file, "0"))
		die(file);
}

/* Process @i begins on the CPU whose turn it is. */
static void take_place(int i)
{
	struct cpu_set place = { 0 };

	if (get_cpus(0, &everywhere))
		die("the affinity");
	cpu_add(&place, cpu_nth(&everywhere, i));
	if (set_cpus(0, &place))
		die("setting the affinity");
}

static void leave_place(void)
{
	if (set_cpus(0, &everywhere))
		die("setting the affinity");
}

static bool has_place(const struct part *p)
{
	return grouped && !cpu_count(&p->cpus);
}

static void set_up(int process, const void *arg)
{
	int i;
	const struct part *p = part_of(process, &i);

	(void)arg;
	if (*p->group)
		join_group(p->group);
	if (cpu_count(&p->cpus) && set_cpus(0, &p->cpus))
		die("setting the affinity");
	if (set_nice(0, p->nice))
		die("setting the nice value");
	if (set_policy(0, &p->policy))
		die("setting the policy");
	if (p->slice_ns && set_slice(0, p->slice_ns))
		die("setting the slice");
	if (p->deadline.runtime && set_deadline(0, &p->deadline))
		die("setting the deadline");
	if (has_place(p))
		take_place(process);
}

/* The number after the first @name in a file of /proc about this process; 0 if there is none. */
static uint64_t number_in(const char *path, const char *name)
{
	FILE *f = fopen(path, "r");
	unsigned long long n = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)) && strchr(line, ':'))
			n = strtoull(strchr(line, ':') + 1, NULL, 10);
	if (f)
		fclose(f);
	return n;
}

/* Add @sign times this process's figures so far. */
static void account(struct member *m, int sign)
{
	unsigned long long cpu, wait, slices;
	FILE *f = fopen("/proc/self/schedstat", "r");

	if (!f || fscanf(f, "%llu %llu %llu", &cpu, &wait, &slices) != 3)
		die("/proc/self/schedstat");
	fclose(f);
	m->cpu_ns += sign * thread_cpu_ns();
	m->wait_ns += sign * wait;
	m->slices += sign * slices;
	m->migrations += sign * number_in("/proc/self/sched", "se.nr_migrations");
}

static void run_member(int i, uint64_t start_ns, const void *arg, void *result)
{
	struct member *m = result;
	const struct part *p = part_of(i, &m->index);

	(void)arg;
	m->end_ns = start_ns + wall_ns;
	if (has_place(p))
		leave_place();
	account(m, -1);
	p->kind->run(p, m);
	account(m, 1);
}

static void merge(struct member *sum, const struct member *m)
{
	sum->cpu_ns += m->cpu_ns;
	sum->wait_ns += m->wait_ns;
	sum->slices += m->slices;
	sum->migrations += m->migrations;
	sum->done += m->done;
	hist_merge(&sum->late, &m->late);
	hist_merge(&sum->response, &m->response);
}

static void print(const struct part *p, const char *figure, double value)
{
	printf("mix %s %s %.3f\n", p->name, figure, value);
}

static void print_hist(const struct part *p, const char *name, const struct hist *h)
{
	const struct {
		const char *what;
		double ns;
	} figures[] = { { "mean", hist_mean(h) },
			{ "p50", hist_percentile(h, 50) },
			{ "p99", hist_percentile(h, 99) },
			{ "max", h->max } };
	char figure[NAME_LENGTH];
	unsigned i;

	for (i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		snprintf(figure, sizeof(figure), "%s_%s_us", name, figures[i].what);
		print(p, figure, figures[i].ns / 1e3);
	}
}

/* The figures of the part whose processes are @m, beside the CPU time of all parts. */
static void report(const struct part *p, const struct member *m, double total_ns)
{
	static struct member sum;
	int i;

	sum = (struct member){ 0 };
	for (i = 0; i < p->nr * p->kind->processes; i++)
		merge(&sum, &m[i]);
	print(p, "cpu_ms", sum.cpu_ns / 1e6);
	print(p, "share", 100 * sum.cpu_ns / total_ns);
	print(p, "wait_ms", sum.wait_ns / 1e6);
	print(p, "slices", sum.slices);
	print(p, "migrations", sum.migrations);
	if (p->kind->count) {
		print(p, p->kind->count, sum.done);
		print(p, "slices_each", sum.done ? (double)sum.slices / sum.done : 0);
	}
	if (p->kind->late) {
		print_hist(p, "late", &sum.late);
		print_hist(p, "response", &sum.response);
	}
}

static void open_pipes(struct part *p)
{
	int i;

	for (i = 0; p->kind->processes == 2 && i < p->nr; i++)
		if (pipe(p->pipe[i][0]) || pipe(p->pipe[i][1]))
			die("pipe");
}

int main(int argc, char **argv)
{
	struct team_job job = { set_up, run_member, NULL, sizeof(struct member), 0 };
	struct member *members;
	int first = parse_args(&program, argc, argv), nr = 0, i;
	double total_ns = 0;

	if (first == argc || argc - first > MAX_PARTS)
		usage_error(&program, "from 1 to %d PARTs are expected", MAX_PARTS);
	for (; first < argc; first++) {
		parse_part(argv[first], &parts[nr_parts]);
		open_pipes(&parts[nr_parts]);
		grouped |= *parts[nr_parts].group;
		nr += parts[nr_parts].nr * parts[nr_parts].kind->processes;
		nr_parts++;
	}
	if (grouped)
		job.step_ns = STEP_NS;
	members = calloc(nr, sizeof(*members));
	if (!members || run_team(nr, &job, members)) {
		fprintf(stderr, "mix: a process could not run\n");
		return 1;
	}
	for (i = 0; i < nr; i++)
		total_ns += members[i].cpu_ns;
	for (i = 0, nr = 0; i < nr_parts; nr += parts[i].nr * parts[i].kind->processes, i++)
		report(&parts[i], &members[nr], total_ns);
	return 0;
}
