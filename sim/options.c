/* SPDX-License-Identifier: GPL-2.0-only */
/* The command line, and its help text. */
#include <getopt.h>
#include <string.h>

#include "sim/explore/explore.h"
#include "sim/options.h"
#include "sim/engine/output.h"
#include "sim/engine/plugin.h"
#include "sim/scx/scx.h"
#include "sim/policy/policy.h"

enum {
	OPT_CPUS = 256,
	OPT_TOPOLOGY,
	OPT_OPP,
	OPT_ISOLCPUS,
	OPT_GOVERNOR,
	OPT_SKEW,
	OPT_CLOCK,
	OPT_LATE_TICKS,
	OPT_JUMPS,
	OPT_SWAP,
	OPT_DUMPS,
	OPT_SCHED,
	OPT_PLUGIN,
	OPT_SCX,
	OPT_EXPORT,
	OPT_LIST_POLICIES,
	OPT_HZ,
	OPT_PREEMPT,
	OPT_SEED,
	OPT_VARY,
	OPT_TIME,
	OPT_SET,
	OPT_FEATURES,
	OPT_JSON,
	OPT_TRACE,
	OPT_AVERAGES,
	OPT_SCHEDSTAT,
	OPT_DECISIONS,
	OPT_EXPLAIN,
	OPT_EXPLAIN_CPU,
	OPT_CHECK,
	OPT_HANG,
	OPT_STRICT,
	OPT_NARROW,
	OPT_BENCH,
	OPT_HELP,
	OPT_CACHES,
	OPT_COST, /* and the numbers that follow */
};

/* The field that each --cost-* option sets, in order of OPT_COST + i. */
static const struct {
	const char *name;
	size_t offset;
	const char *help;
} cost_options[] = {
#define COST(option, field, help)                                                                  \
	{                                                                                          \
		"cost-" option, offsetof(struct sim_costs, field), help                            \
	}
	COST("switch", switch_ns, "changing the running task"),
	COST("tick", tick_ns, "a tick"),
	COST("timer", timer_ns, "the interrupt that ends a sleep"),
	COST("wake", wake_ns, "waking a task, on the waker's CPU"),
	COST("ipi", ipi_ns, "delay until another CPU notices a kick"),
	COST("migration", migration_ns, "first run on another CPU, same last-level cache"),
	COST("cold", cold_ns, "first run on another CPU, other last-level cache"),
	COST("shard", shard_ns, "holding a lock of the shared wake queue; others wait"),
	COST("mem", mem_ns_per_kib, "touching a KiB of memory (rt-app's mem, iorun)"),
#undef COST
};

static const struct option plain_options[] = {
	{ "cpus", required_argument, NULL, OPT_CPUS },
	{ "topology", required_argument, NULL, OPT_TOPOLOGY },
	{ "opp", required_argument, NULL, OPT_OPP },
	{ "governor", required_argument, NULL, OPT_GOVERNOR },
	{ "isolcpus", required_argument, NULL, OPT_ISOLCPUS },
	{ "skew", required_argument, NULL, OPT_SKEW },
	{ "preempt", required_argument, NULL, OPT_PREEMPT },
	{ "clock", required_argument, NULL, OPT_CLOCK },
	{ "late-ticks", required_argument, NULL, OPT_LATE_TICKS },
	{ "jumps", required_argument, NULL, OPT_JUMPS },
	{ "caches", required_argument, NULL, OPT_CACHES },
	{ "dumps", required_argument, NULL, OPT_DUMPS },
	{ "plugin", required_argument, NULL, OPT_PLUGIN },
	{ "scx", required_argument, NULL, OPT_SCX },
	{ "export", required_argument, NULL, OPT_EXPORT },
	{ "list-policies", no_argument, NULL, OPT_LIST_POLICIES },
	{ "sched", required_argument, NULL, OPT_SCHED },
	{ "swap", required_argument, NULL, OPT_SWAP },
	{ "hz", required_argument, NULL, OPT_HZ },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "vary", required_argument, NULL, OPT_VARY },
	{ "time", required_argument, NULL, OPT_TIME },
	{ "set", required_argument, NULL, OPT_SET },
	{ "features", required_argument, NULL, OPT_FEATURES },
	{ "json", required_argument, NULL, OPT_JSON },
	{ "trace", required_argument, NULL, OPT_TRACE },
	{ "averages", no_argument, NULL, OPT_AVERAGES },
	{ "schedstat", required_argument, NULL, OPT_SCHEDSTAT },
	{ "decisions", required_argument, NULL, OPT_DECISIONS },
	{ "explain", required_argument, NULL, OPT_EXPLAIN },
	{ "explain-cpu", required_argument, NULL, OPT_EXPLAIN_CPU },
	{ "check", no_argument, NULL, OPT_CHECK },
	{ "hang", required_argument, NULL, OPT_HANG },
	{ "strict", no_argument, NULL, OPT_STRICT },
	{ "narrow", no_argument, NULL, OPT_NARROW },
	{ "bench", no_argument, NULL, OPT_BENCH },
	{ "help", no_argument, NULL, OPT_HELP },
};
static struct option long_options[ARRAY_SIZE(plain_options) + ARRAY_SIZE(cost_options) + 1];

/* Simulated tasks never run in the kernel, where the other models of preemption differ. */
static bool is_lazy(const char *text)
{
	bool lazy = !strcmp(text, "lazy");

	if (!lazy && strcmp(text, "full"))
		usage_error("--preempt %s: must be full or lazy", text);
	return lazy;
}

static void print_names(void)
{
	const char *name;

	for (unsigned i = 0; (name = policy_name(i)); i++)
		printf("%s%s", i ? ", " : "", name);
}

static void print_governors(void)
{
	printf("\n  --governor NAME     of frequencies (default performance): ");
	for (unsigned i = 0; sched_governor_name(i); i++)
		printf("%s%s", i ? ", " : "", sched_governor_name(i));
	printf("; userspace:MHZ");
}

static void print_costs_and_status(void)
{
	for (u32 i = 0; i < ARRAY_SIZE(cost_options); i++)
		printf("  --%-17s %s\n", cost_options[i].name, cost_options[i].help);
	puts("\nStatus 0: done. 1: the scheduler broke an invariant or hangs. 2: bad input; "
	     "nothing was simulated.");
}

static void print_exploration(void)
{
	printf("instead of workloads (docs/exploration.md):\n"
	       "  --ops N             N random operations under each policy, from --seed on\n"
	       "  --exhaustive N      every sequence of N operations on a small machine, N <= %u\n"
	       "  --replay TEXT       what one printed; --no-oracle, --without OPERATION,...\n"
	       "costs, ns, 0 unless given:\n",
	       EXHAUSTIVE_MAX);
	print_costs_and_status();
}

static void print_help(void)
{
	printf("usage: schedsim [options] WORKLOAD...\n\n"
	       "Simulate Fairground's scheduler: the kernel's sources on simulated CPUs.\n\n"
	       "A workload is an rt-app file (NAME.json) or a built-in one, NAME:key=value,...\n");
	library_help();
	printf("Keys of all: nice= policy=normal|batch|idle|fifo|rr prio= slice=3ms cpus=0-2+5 "
	       "group=a/b footprint=KIB;\ntimes may be ranges: run=1ms-5ms.\n\n"
	       "machine:\n"
	       "  --cpus N            1 to %u CPUs that share a cache (default 1)\n"
	       "  --topology T        PACKAGESxLLCSxCORESxTHREADS (the last ones: 4x2 is 4 cores "
	       "of 2 threads), or\n"
	       "                      levels by name: nodes=2,llcs=2,cores=4+2,threads=2\n"
	       "  --opp TABLE         CPUs of several speeds: juno, juno-a53, none or a file\n"
	       "  --isolcpus LIST     CPUs without balancing, for tasks that are allowed no other\n"
	       "  --hz 100|250|1000   tick (default 250)\n"
	       "  --skew T            each CPU's clock is ahead by less than T (default 0)\n"
	       "  --clock N           clocks begin at N ns, and pass 2^64 to 0 (default 1 s)\n"
	       "  --late-ticks T      now and then a CPU has no tick for less than T\n"
	       "  --jumps T/EVERY     again and again all clocks jump ahead by T\n"
	       "  --caches xeon5500[,KEY=N...]  tasks wait for their data (docs/simulator.md)\n"
	       "  --dumps EVERY       again and again somebody reads all of its state\n"
	       "  --preempt MODEL     full or lazy: how soon another CPU notices a fair wakeup\n"
	       "scheduler:\n"
	       "  --sched NAME|all    fair policy: ",
	       CPU_MAX);
	print_names();
	print_governors();
	printf("\n"
	       "  --swap T/NAME       this fair policy from time T on\n"
	       "  --plugin FILE       one more policy: NAME.so (make plugin) or NAME.policy\n"
	       "  --scx FILE.so[,NAME=VALUE...]  a scheduler for sched_ext (docs/scx.md)\n"
	       "  --export FILE       the C of a NAME.policy (docs/policies.md), and stop\n"
	       "  --list-policies     names and traits of the policies, and stop\n"
	       "  --set NAME=VALUE    a tunable, as its file in /sys/kernel/debug/sched takes it\n"
	       "  --features TEXT     NAME or NO_NAME, as the file features takes it\n"
	       "run:\n"
	       "  --time T            simulated time (default: an rt-app file's, or 10s)\n"
	       "  --seed N            of everything random (default 1)\n"
	       "  --vary N            seed of what varies from run to run in nature\n"
	       "  --check             check all invariants after every event\n"
	       "  --hang T            CPU time of this host in which something must happen (10s)\n"
	       "  --strict            refuse rt-app files that need mending\n"
	       "output:\n"
	       "  --narrow            lines of at most 80 columns; on a narrow terminal anyway\n"
	       "  --json FILE         the results as JSON\n"
	       "  --trace FILE        the scheduler's events as trace.dat, for trace-cmd report\n"
	       "  --averages          ... with load averages, each time they are computed\n"
	       "  --schedstat FILE    /proc/schedstat at the end of the run\n"
	       "  --decisions FILE    what the scheduler decided and why, as lines of JSON;\n"
	       "                      FILE.dat: a trace with all events, FILE.bin: their bytes\n"
	       "  --explain T         print the first decision at time T or later, and stop\n"
	       "  --explain-cpu N     ... on this CPU\n"
	       "  --bench             only count operations, and what they cost the host\n");
	print_exploration();
	exit(EXIT_OK);
}

static u64 number(const char *option, const char *text, u64 least, u64 most)
{
	u64 value;

	if (!parse_number(text, most, &value) || value < least)
		usage_error("--%s %s: must be a number from %llu to %llu", option, text,
			    (unsigned long long)least, (unsigned long long)most);
	return value;
}

static u64 time_of(const char *option, const char *text, u64 least)
{
	u64 ns;

	if (!parse_time_in_unit(text, &ns) || ns < least || ns > MAX_DURATION)
		usage_error("--%s %s: must be a time with a unit, as 500ms or 2.5s, of at most "
			    "24 hours",
			    option, text);
	return ns;
}

static void append(const char **list, u32 *nr, const char *text)
{
	if (*nr == MAX_SETTINGS)
		usage_error("more than %u settings", MAX_SETTINGS);
	list[(*nr)++] = text;
}

static void take_cost(struct options *o, u32 i, const char *text)
{
	u64 *field = (u64 *)((char *)&o->costs + cost_options[i].offset);

	if (!parse_time(text, field) || *field > NS_PER_SEC)
		usage_error("--%s %s: must be a time of at most 1s", cost_options[i].name, text);
}

static void take_jumps(struct options *o, const char *text)
{
	struct sim_disturbance *d = &o->disturbance;
	char *by = strdup(text), *every = strchr(by, '/');

	if (every)
		*every++ = '\0';
	if (!every || !parse_time(by, &d->jump_ns) || !parse_time(every, &d->jump_every_ns) ||
	    !d->jump_every_ns)
		usage_error("--jumps %s: must be two times of at most 1000000s, as 3600s/2s: by "
			    "how much, and how often",
			    text);
	free(by);
}

static void take_swap(struct options *o, const char *text)
{
	char *at = strdup(text), *name = strchr(at, '/');

	if (name)
		*name++ = '\0';
	if (!name || !*name || !parse_time_in_unit(at, &o->swap_at) || o->swap_at > MAX_DURATION)
		usage_error("--swap %s: must be a time with a unit and a policy, as 500ms/eevdf",
			    text);
	o->swap = strdup(name);
	free(at);
}

/* A file to be written: one for each option. */
static void take_output(const char **field, const char *option, const char *text)
{
	if (*field)
		usage_error("--%s %s: there is --%s %s already; one file is written", option, text,
			    option, *field);
	*field = text;
}

static void check_outputs(const struct options *o)
{
	const char *const outputs[] = { o->json, o->trace, o->schedstat, o->decisions };

	for (u32 i = 0; i < ARRAY_SIZE(outputs); i++)
		for (u32 j = 0; j < i; j++)
			if (outputs[i] && outputs[j] && output_is_same(outputs[i], outputs[j]))
				usage_error("%s and %s are one file; each output needs its own",
					    outputs[j], outputs[i]);
}

/* The field of an option without a value, or NULL. */
static bool *flag(struct options *o, int option)
{
	switch (option) {
	case OPT_AVERAGES:
		return &o->averages;
	case OPT_CHECK:
		return &o->check;
	case OPT_STRICT:
		return &o->strict;
	case OPT_NARROW:
		return &o->narrow;
	case OPT_BENCH:
		return &o->bench;
	default:
		return NULL;
	}
}

static void take_run_option(struct options *o, int option, const char *text)
{
	switch (option) {
	case OPT_OPP:
		o->opp = text;
		break;
	case OPT_GOVERNOR:
		o->governor = text;
		break;
	case OPT_SWAP:
		take_swap(o, text);
		break;
	case OPT_CACHES:
		o->caches = caches_read(text);
		o->caches_text = text;
		break;
	case OPT_TIME:
		o->duration = time_of("time", text, 1);
		break;
	case OPT_HANG:
		o->hang_ms = (u32)(time_of("hang", text, NS_PER_MS) / NS_PER_MS);
		break;
	case OPT_JSON:
		take_output(&o->json, "json", text);
		break;
	case OPT_TRACE:
		take_output(&o->trace, "trace", text);
		break;
	case OPT_SCHEDSTAT:
		take_output(&o->schedstat, "schedstat", text);
		break;
	case OPT_DECISIONS:
		take_output(&o->decisions, "decisions", text);
		break;
	case OPT_EXPLAIN:
		o->explain = true;
		o->explain_at = time_of("explain", text, 0);
		break;
	case OPT_EXPLAIN_CPU:
		o->explain_cpu = (s64)number("explain-cpu", text, 0, CPU_MAX - 1);
		break;
	case OPT_EXPORT:
		recipe_export(recipe_load("--export", text), stdout);
		exit(EXIT_OK);
	case OPT_LIST_POLICIES:
		policies_print();
		exit(EXIT_OK);
	case OPT_HELP:
		print_help();
		break;
	default:
		if (!flag(o, option))
			usage_error("schedsim --help lists the options");
		*flag(o, option) = true;
	}
}

/* A policy, or a scheduler for sched_ext, of the user's. */
static void take_program(int option, const char *text)
{
	if (option == OPT_SCX)
		scx_open(text);
	else
		plugin_load(text);
}

static void take_option(struct options *o, int option, const char *text)
{
	switch (option) {
	case OPT_CPUS:
		o->cpus = (unsigned)number("cpus", text, 1, CPU_MAX);
		break;
	case OPT_TOPOLOGY:
		o->topology = text;
		break;
	case OPT_SCHED:
		o->sched = text;
		break;
	case OPT_HZ:
		o->hz = (unsigned)number("hz", text, 1, 1000000);
		if (o->hz != 100 && o->hz != 250 && o->hz != 1000)
			usage_error("--hz %s: must be 100, 250 or 1000", text);
		break;
	case OPT_ISOLCPUS:
		o->isolcpus = text;
		break;
	case OPT_SKEW:
		o->disturbance.skew_ns = time_of("skew", text, 0);
		break;
	case OPT_CLOCK:
		o->disturbance.clock_start = number("clock", text, 1, UINT64_MAX);
		break;
	case OPT_LATE_TICKS:
		o->disturbance.late_ns = time_of("late-ticks", text, 1);
		break;
	case OPT_JUMPS:
		take_jumps(o, text);
		break;
	case OPT_DUMPS:
		o->disturbance.dump_every_ns = time_of("dumps", text, 1);
		break;
	case OPT_PREEMPT:
		o->lazy = is_lazy(text);
		break;
	case OPT_SEED:
		o->seed = number("seed", text, 0, UINT64_MAX);
		break;
	case OPT_VARY:
		o->disturbance.vary = number("vary", text, 1, UINT64_MAX);
		break;
	case OPT_SET:
		append(o->set, &o->nr_set, text);
		break;
	case OPT_FEATURES:
		append(o->features, &o->nr_features, text);
		break;
	default:
		if (option >= OPT_COST)
			take_cost(o, (u32)(option - OPT_COST), text);
		else if (option == OPT_PLUGIN || option == OPT_SCX)
			take_program(option, text);
		else
			take_run_option(o, option, text);
	}
}

/* How many words at @word name a file to be written: 2 for --json FILE, 1 for --json=FILE. */
static int output_words(const char *word)
{
	static const char *const names[] = { "--json", "--trace", "--schedstat", "--decisions" };

	for (u32 i = 0; i < ARRAY_SIZE(names); i++) {
		size_t len = strlen(names[i]);

		if (!strncmp(word, names[i], len) && (!word[len] || word[len] == '='))
			return word[len] ? 1 : 2;
	}
	return !strcmp(word, "--narrow");
}

/* The command line as a shell would read it again; without @outputs, only what makes the run. */
static char *command_line(int argc, char **argv, bool outputs)
{
	size_t size = 1;
	char *text, *at;

	for (int i = 0; i < argc; i++)
		size += strlen(argv[i]) + 3;
	text = at = allocate(size, 1);
	for (int i = 0; i < argc; i++) {
		bool quote = !*argv[i] || strpbrk(argv[i], " \t\n\"$&|;<>()*?'\\");
		const char *word = i ? argv[i] : "schedsim";
		int skip = outputs ? 0 : output_words(word);

		if (skip) {
			i += skip - 1;
			continue;
		}
		at += sprintf(at, quote && i ? "%s'%s'" : "%s%s", i ? " " : "", word);
	}
	return text;
}

struct options parse_options(int argc, char **argv)
{
	struct options o = { .hz = 250, .seed = 1, .explain_cpu = -1 };
	int option;

	memcpy(long_options, plain_options, sizeof(plain_options));
	for (u32 i = 0; i < ARRAY_SIZE(cost_options); i++)
		long_options[ARRAY_SIZE(plain_options) + i] =
			(struct option){ cost_options[i].name, required_argument, NULL,
					 OPT_COST + (int)i };
	o.command = command_line(argc, argv, true);
	o.run_command = command_line(argc, argv, false);
	argv[0] = (char *)"schedsim";
	while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1)
		take_option(&o, option == 'h' ? OPT_HELP : option, optarg);
	o.workloads = (const char *const *)argv + optind;
	o.nr_workloads = (u32)(argc - optind);
	if (!o.nr_workloads)
		usage_error("no workload given; schedsim --help lists them");
	check_outputs(&o);
	return o;
}
