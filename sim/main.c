/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * schedsim: Fairground's scheduler on simulated CPUs. This file makes the runs that the command
 * line asks for and hands their results to the report. The manual is docs/simulator.md.
 */
#include <time.h>

#include "sim/report/energy.h"
#include "sim/report/explain.h"
#include "sim/explore/explore.h"
#include "sim/report/report.h"
#include "sim/report/decisions.h"
#include "sim/report/trace.h"
#include "sim/engine/util.h"
#include "sim/engine/process.h"
#include "sim/engine/output.h"
#include "sim/engine/plugin.h"
#include "sim/scx/scx.h"
#include "sim/setup.h"

/* --- one run ---------------------------------------------------------------------------------- */

static void write_schedstat(struct sim *sim, const char *path)
{
	size_t size = sched_dump_schedstat(sim->s, NULL, 0) + 1;
	char *text = allocate(size, 1);
	FILE *file = output_create("schedstat", path);

	sched_dump_schedstat(sim->s, text, size);
	fputs(text, file);
	output_finish(file, "schedstat", path);
	free(text);
}

/* The files, beside the report, that were asked for. */
struct output {
	struct trace *trace, *decisions_trace;
	struct decision_file *decisions;
};

static struct output open_output(const struct report *report, struct sim *sim, const char *policy)
{
	const struct options *o = report->options;
	const u64 usual = (BIT(NR_SCHED_EVENTS) - 1) & ~DECISION_EVENTS & ~AVERAGE_EVENTS;
	struct output output = { .trace = NULL };

	if (o->trace)
		output.trace = trace_new(sim, usual | (o->averages ? AVERAGE_EVENTS : 0),
					 report_about(report, setup_label(policy)));
	if (o->decisions && has_ending(o->decisions, ".dat"))
		output.decisions_trace = trace_new(sim, usual | DECISION_EVENTS,
						   report_about(report, setup_label(policy)));
	else if (o->decisions)
		output.decisions = decisions_open(sim, report, setup_label(policy), o->decisions);
	return output;
}

static void close_output(const struct output *output, const struct options *o, struct sim *sim)
{
	if (output->trace)
		trace_write(output->trace, "trace", o->trace);
	if (output->decisions_trace)
		trace_write(output->decisions_trace, "decisions", o->decisions);
	if (output->decisions)
		decisions_close(output->decisions);
	if (o->schedstat)
		write_schedstat(sim, o->schedstat);
}

static struct result run_policy(const struct report *report, struct workload *w, const char *policy)
{
	const struct options *o = report->options;
	const struct machine_desc *machine = report->machine;
	struct sim *sim = setup_sim(o, machine, policy);
	struct result result = { .sched = setup_label(policy) };
	struct sched_waste_stat waste;
	struct output output;

	sched_tunable_write(sim->s, "sched_schedstats", "1", 1);
	setup_apply(sim, o, machine);
	result.measure = measure_new(sim, w);
	if (scx_name())
		scx_load(sim);
	output = open_output(report, sim, policy);
	setup_start(sim, w);
	setup_run(sim, o, report->duration);
	setup_check(sim);
	result.end = scx_ended();
	measure_finish(result.measure, sim);
	result.count = sim->count;
	result.nr_tasks_max = sim->nr_tasks_max;
	sched_waste(sim->s, 0, &waste);
	result.freq = energy_collect(sim, machine);
	result.waste_ns = waste.ns;
	result.waste_llc_ns = waste.llc_ns;
	for (unsigned cpu = 0; cpu < machine->nr_cpus; cpu++) {
		const struct sim_cpu *c = &sim->cpus[cpu];

		result.idle_ns += c->idle_ns;
		result.overhead_ns += c->overhead_ns;
		if (c->curr == &c->idle)
			result.idle_ns += sim->now - c->idle_since;
	}
	if (w->nr_groups) {
		result.groups = allocate(w->nr_groups, sizeof(*result.groups));
		result.fdl = allocate(w->nr_groups, sizeof(*result.fdl));
	}
	for (u32 i = 0; i < w->nr_groups; i++) {
		task_group_stat(sim->s, sim->groups[i].tg, &result.groups[i]);
		task_group_fdl_stat(sim->s, sim->groups[i].tg, &result.fdl[i]);
	}
	close_output(&output, o, sim);
	sim_free(sim);
	return result;
}

/* Runs to the decision that is asked for, prints it, and stops; the files end there, too. */
static void explain_policy(const struct report *report, struct workload *w, const char *policy)
{
	const struct options *o = report->options;
	struct sim *sim = setup_sim(o, report->machine, policy);
	struct output output;

	setup_apply(sim, o, report->machine);
	if (scx_name())
		scx_load(sim);
	output = open_output(report, sim, policy);
	setup_start(sim, w);
	explain(sim, SIM_START + o->explain_at, SIM_START + report->duration, o->explain_cpu);
	setup_check(sim);
	close_output(&output, o, sim);
	sim_free(sim);
}

/* --- benchmarking ----------------------------------------------------------------------------- */

static u64 cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (u64)ts.tv_sec * NS_PER_SEC + (u64)ts.tv_nsec;
}

/*
 * Prints what the run itself costs the host, without measuring anything else.
 * tools/scripts/bench_sim.py reads the line.
 */
static void bench_policy(const struct options *o, const struct machine_desc *machine,
			 struct workload *w, u64 duration, const char *policy)
{
	struct sim *sim = setup_sim(o, machine, policy);
	u64 operations, before, spent;

	setup_apply(sim, o, machine);
	setup_start(sim, w);
	operations = sim->count.operations;
	before = cpu_ns();
	sim_run(sim, SIM_START + duration);
	spent = max(cpu_ns() - before, 1ull);
	setup_check(sim);
	operations = sim->count.operations - operations;
	printf("bench: sched=%s cpus=%u tasks=%u operations=%llu events=%llu switches=%llu "
	       "cpu_ns=%llu "
	       "operations_per_s=%llu bytes_per_task=%zu bytes_per_cpu=%zu\n",
	       policy, machine->nr_cpus, sim->nr_tasks_max, (unsigned long long)operations,
	       (unsigned long long)sim->count.events, (unsigned long long)sim->count.switches,
	       (unsigned long long)spent,
	       (unsigned long long)((unsigned __int128)operations * NS_PER_SEC / spent),
	       sizeof(struct sim_task),
	       sizeof(struct sim_cpu) + sched_size(machine->nr_cpus) / machine->nr_cpus);
	sim_free(sim);
}

/* --- the program ------------------------------------------------------------------------------ */

static void write_json(struct report *report, const char *path)
{
	report->out = output_create("json", path);
	report_json(report);
	output_finish(report->out, "json", path);
}

static void run_all(const struct options *o, struct report *report, struct result *results,
		    struct workload *w, const char **policies)
{
	setup_ideal(o, report->machine, w, report->duration);
	for (u32 i = 0; i < report->nr_results; i++)
		results[i] = run_policy(report, w, policies[i]);
	report_text(report);
	if (o->json)
		write_json(report, o->json);
	for (u32 i = 0; i < report->nr_results; i++) {
		measure_free(results[i].measure);
		free(results[i].groups);
		free(results[i].fdl);
		free(results[i].freq);
	}
}

/* Can this run give what is asked of it? */
static void check_output(const struct options *o, const struct report *report)
{
	if (report->nr_results > 1 && (o->explain || o->trace || o->schedstat || o->decisions))
		usage_error("--explain, --trace, --decisions and --schedstat are of one policy: "
			    "name it with --sched");
	if (o->swap && (o->explain || o->bench))
		usage_error("--swap is of a whole run, without --explain and --bench");
	if (o->averages && !o->trace)
		usage_error("--averages: they go into the trace, so --trace FILE is needed");
	if (o->explain && o->explain_at >= report->duration)
		usage_error("--explain: the run ends before that, after %llu ms; --time makes it "
			    "longer",
			    (unsigned long long)(report->duration / NS_PER_MS));
	if (scx_name() && (report->nr_results > 1 || o->bench))
		usage_error("--scx: of one run, without --bench");
	if (o->explain_cpu >= report->machine->nr_cpus)
		usage_error("--explain-cpu %lld: the machine has %u CPUs",
			    (long long)o->explain_cpu, report->machine->nr_cpus);
}

static int simulate(int argc, char **argv)
{
	struct options o = parse_options(argc, argv);
	struct machine_desc machine = setup_machine(&o);
	struct workload w = setup_workload(&o, machine.nr_cpus);
	const char **policies = setup_policies(&o);
	struct result *results;
	struct report report = {
		.out = stdout, .options = &o, .machine = &machine, .workload = &w
	};

	while (policies[report.nr_results])
		report.nr_results++;
	o.narrow = o.narrow || process_has_narrow_terminal();
	report.duration = setup_duration(&o, &w);
	report.results = results = allocate(report.nr_results, sizeof(*results));
	for (u32 i = 0; i < report.nr_results; i++)
		results[i].sched = setup_label(policies[i]);
	check_output(&o, &report);
	report_header(&report);
	if (o.bench)
		for (u32 i = 0; i < report.nr_results; i++)
			bench_policy(&o, &machine, &w, report.duration, policies[i]);
	else if (o.explain)
		explain_policy(&report, &w, policies[0]);
	else
		run_all(&o, &report, results, &w, policies);
	free(results);
	free(policies);
	workload_free(&w);
	machine_desc_free(&machine);
	free((char *)o.command);
	free((char *)o.run_command);
	return EXIT_OK;
}

int main(int argc, char **argv)
{
	output_watch();
	return explore_wanted(argc, argv) ? explore_main(argc, argv) : simulate(argc, argv);
}
