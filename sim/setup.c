/* SPDX-License-Identifier: GPL-2.0-only */
/* From the command line to machines, for the program and for the session (session.c). */
#include <string.h>

#include "sim/engine/plugin.h"
#include "sim/engine/util.h"
#include "sim/report/energy.h"
#include "sim/report/fluid.h"
#include "sim/scx/scx.h"
#include "sim/setup.h"
#include "sim/workload/rtapp.h"

/* --- what to run ------------------------------------------------------------------------------ */

static bool is_file(const char *workload)
{
	const char *dot = strrchr(workload, '.');

	return dot && !strcmp(dot, ".json");
}

struct workload setup_workload(const struct options *o, unsigned nr_cpus)
{
	struct workload w = { .programs = NULL };
	u64 starting = 0;

	for (u32 i = 0; i < o->nr_workloads; i++) {
		const char *spec = o->workloads[i];

		if (is_file(spec))
			rtapp_add(&w, spec, nr_cpus, o->costs.mem_ns_per_kib, o->strict);
		else
			library_add(&w, spec, nr_cpus);
	}
	for (u32 i = 0; i < w.nr_programs; i++)
		starting += w.programs[i].instances;
	if (starting > SIM_MAX_TASKS)
		usage_error("%llu tasks; at most %u fit", (unsigned long long)starting,
			    SIM_MAX_TASKS);
	workload_finish(&w);
	return w;
}

/* The table of operating points that one of the files asks for, or NULL. */
static const char *platform_of(const struct options *o)
{
	const char *platform = NULL;

	for (u32 i = 0; i < o->nr_workloads; i++) {
		char *other = is_file(o->workloads[i]) ? rtapp_platform(o->workloads[i]) : NULL;

		if (platform && other && strcmp(platform, other))
			usage_error("the files ask for two platforms, %s and %s: --opp says which",
				    platform, other);
		platform = other ?: platform;
	}
	return platform;
}

struct machine_desc setup_machine(const struct options *o)
{
	struct machine_desc machine =
		machine_describe(o->cpus, o->topology, o->opp ?: platform_of(o));

	if (o->isolcpus)
		machine_isolate(&machine, o->isolcpus);
	return machine;
}

u64 setup_duration(const struct options *o, const struct workload *w)
{
	return o->duration ?: w->duration ?: DEFAULT_DURATION;
}

const char **setup_policies(const struct options *o)
{
	bool all = o->sched && !strcmp(o->sched, "all");
	const char **names, *name;
	unsigned nr = 0;

	while (policy_name(nr))
		nr++;
	names = allocate(nr + 1, sizeof(*names));
	nr = 0;
	for (unsigned i = 0; (name = policy_name(i)); i++)
		if (all || (o->sched ? !strcmp(o->sched, name) : !i))
			names[nr++] = name;
	if (!nr)
		usage_error("--sched %s: no such policy; schedsim --help lists them", o->sched);
	return names;
}

const char *setup_label(const char *policy)
{
	static char label[160];

	if (!scx_name())
		return policy;
	snprintf(label, sizeof(label), "scx:%s", scx_name());
	return label;
}

/* --- one run ---------------------------------------------------------------------------------- */

struct sim *setup_sim(const struct options *o, const struct machine_desc *machine,
		      const char *policy)
{
	struct sim *sim = sim_new(&(struct sim_config){
		.nr_cpus = machine->nr_cpus,
		.hz = o->hz,
		.topology = machine->cpus,
		.opp = machine->opp,
		.fair_policy = policy,
		.isolated = &machine->isolated,
		.seed = o->seed,
		.disturbance = o->disturbance,
		.lazy = o->lazy,
		.costs = o->costs,
		.caches = o->caches,
		.check = o->check,
		.hang_ms = o->hang_ms,
		.next = workload_next,
	});

	if (!sim)
		out_of_memory();
	return sim;
}

void setup_apply(struct sim *sim, const struct options *o, const struct machine_desc *machine)
{
	if (o->governor)
		energy_govern(sim, machine, o->governor);
	for (u32 i = 0; i < o->nr_features; i++)
		if (sched_features_write(sim->s, o->features[i], strlen(o->features[i])))
			usage_error("--features %s: no such feature", o->features[i]);
	for (u32 i = 0; i < o->nr_set; i++) {
		const char *equals = strchr(o->set[i], '=');
		char name[64];

		if (!equals || (size_t)(equals - o->set[i]) >= sizeof(name))
			usage_error("--set %s: must be NAME=VALUE", o->set[i]);
		snprintf(name, sizeof(name), "%.*s", (int)(equals - o->set[i]), o->set[i]);
		if (sched_tunable_write(sim->s, name, equals + 1, strlen(equals + 1)) < 0)
			usage_error("--set %s: no such tunable, or not a value for it", o->set[i]);
	}
}

void setup_start(struct sim *sim, struct workload *w)
{
	if (!workload_start(sim, w))
		usage_error("no room for all tasks: at most %u, and the host's memory",
			    SIM_MAX_TASKS);
}

int setup_swap(struct sim *sim, const char *policy)
{
	int error;

	sim_select(sim);
	sim_enter(sim, 0);
	error = sched_fair_swap(sim->s, policy, 0);
	if (!error)
		scx_leave(sim);
	sim_leave(sim);
	return error;
}

void setup_run(struct sim *sim, const struct options *o, u64 duration)
{
	if (o->swap && o->swap_at < duration) {
		if (!sim_run(sim, SIM_START + o->swap_at))
			return;
		if (setup_swap(sim, o->swap))
			usage_error("--swap: no policy is called %s", o->swap);
	}
	sim_run(sim, SIM_START + duration);
}

void setup_check(const struct sim *sim)
{
	if (sim->failure)
		usage_error("at %llu ns: %s%s%s", (unsigned long long)(sim->now - SIM_START),
			    sim->failed ? sim->failed->task.comm : "", sim->failed ? ": " : "",
			    sim->failure);
}

void setup_ideal(const struct options *o, const struct machine_desc *machine, struct workload *w,
		 u64 duration)
{
	struct sim *sim = setup_sim(o, machine, NULL);
	struct fluid *fluid = fluid_serve(sim, w);

	setup_start(sim, w);
	fluid_run(fluid, SIM_START + duration);
	setup_check(sim);
	fluid_free(fluid);
	sim_free(sim);
}
