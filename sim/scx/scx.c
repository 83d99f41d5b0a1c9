/* SPDX-License-Identifier: GPL-2.0-only */
/* Loading a program, the simulator as its host, and its end; see scx.h. */
#include <stdlib.h>
#include <string.h>

#include "sim/engine/process.h"
#include "sim/engine/util.h"
#include "sim/scx/binding.h"
#include "sim/scx/guard.h"
#include "sim/scx/scx.h"

#define NR_DSQS 1024u

#define OPS (scx.program->ops)

/* --- the host of the shared part ------------------------------------------ */

static struct {
	struct sim *sim;
	void *memory; /* of the class */
	struct scx_frame *top;
	struct scx_left *left;
	struct prng rng;
	char **constants; /* NAME=VALUE of the user */
	u32 nr_constants;
	char *words, path[4096]; /* of scx_open() */
	struct ext_exit end;
} host;

/* Outside of all calls nobody uses what is left. */
static void free_left(void)
{
	while (host.left && !host.top) {
		struct scx_left *left = host.left;

		host.left = left->next;
		scx_unsee(left);
		free(left);
	}
}

void scx_keep_left(struct scx_left *left)
{
	left->next = host.left;
	host.left = left;
	free_left();
}

u64 scx_call_with(struct ext_call *call, const char *op, void *fn, const u64 args[4])
{
	struct scx_frame frame = { .call = call, .outer = host.top };
	u64 result;

	host.top = &frame;
	result = guard_call(call, op, fn, args);
	host.top = &frame;
	scx_end_call(&frame);
	host.top = frame.outer;
	free_left();
	return result;
}

struct scx_frame *scx_frame(void)
{
	return host.top;
}

/* A wild pointer ends the call by a signal (guard.h). */
void scx_need(const void *p, size_t n, bool write)
{
	(void)p, (void)n, (void)write;
}

/* One thread plays all CPUs: nobody else changes a word. */
void scx_relax(void)
{
}

struct sim *scx_sim(void)
{
	return host.sim;
}

u32 scx_nr_cpus(void)
{
	return host.sim->config.nr_cpus;
}

u32 scx_this_cpu(void)
{
	return host.top && host.top->pinned ? host.top->pinned - 1 : host.sim->this_cpu;
}

bool scx_in_interrupt(void)
{
	return host.sim->in_interrupt;
}

struct scx_place scx_place(u32 cpu)
{
	const struct sim_cpu *c = &host.sim->cpus[cpu];

	return (struct scx_place){ c->core, c->llc, c->speed };
}

u32 scx_hz(void)
{
	return host.sim->config.hz;
}

void scx_need_constant(void *p, size_t n)
{
	process_make_writable(p, n);
}

u64 scx_clock(void)
{
	return host.sim->now;
}

u32 scx_random(void)
{
	return (u32)prng_u64(&host.rng);
}

const struct cpumask *scx_possible(void)
{
	static struct cpumask possible;

	possible = cpumask_first_n(host.sim->config.nr_cpus);
	return &possible;
}

const struct cpumask *scx_online(void)
{
	static struct cpumask online;

	online = cpumask_first_n(host.sim->config.nr_cpus);
	for (u32 cpu = 0; cpu < host.sim->config.nr_cpus; cpu++)
		if (host.sim->cpus[cpu].offline)
			cpumask_clear(&online, cpu);
	return &online;
}

void *scx_alloc(size_t size)
{
	return allocate(1, size);
}

void *scx_alloc_large(size_t size)
{
	return allocate(1, size);
}

void scx_free(void *p)
{
	free(p);
}

void scx_free_large(void *p)
{
	free(p);
}

bool scx_has_room(u32 pid)
{
	u32 nr = max(2 * scx.nr_tasks, pid + 64);

	if (pid < scx.nr_tasks)
		return true;
	scx.task = realloc(scx.task, nr * sizeof(*scx.task));
	if (!scx.task)
		out_of_memory();
	memset(scx.task + scx.nr_tasks, 0, (nr - scx.nr_tasks) * sizeof(*scx.task));
	scx.nr_tasks = nr;
	return true;
}

void scx_print(char *text, size_t size, const char *format, va_list args)
{
	vsnprintf(text, size, format, args);
}

/* Changes @text of the program: its readers expect UTF-8. */
static const char *readable(char *text)
{
	for (char *c = text; *c; c++)
		*c = *c < 0 ? '?' : *c;
	return text;
}

void scx_say(char *text)
{
	fprintf(stderr, "schedsim: at %.6f s %s: %s\n", (double)(host.sim->now - SIM_START) / 1e9,
		OPS->name, readable(text));
}

/* --- opening -------------------------------------------------------------- */

static void set_constant(const char *file, const char *word)
{
	const char *why = scx_set_constant(scx.program, word);

	if (why)
		usage_error("--scx %s: %s", file, why);
}

void scx_open(const char *spec)
{
	char *rest = strdup(spec), *file, *word;
	const char *error;
	int err;

	if (scx.program)
		usage_error("--scx %s: there is a scheduler already", spec);
	host.words = rest;
	file = strsep(&rest, ",");
	/* Without a slash dlopen() would search the system's libraries. */
	snprintf(host.path, sizeof(host.path), "%s%s", strchr(file, '/') ? "" : "./", file);
	scx.program = guard_load(host.path, &error);
	if (!scx.program)
		usage_error("--scx %s: %s", file, error);
	error = scx_refusal(scx.program, &err);
	if (error)
		usage_error("--scx %s: %s", file, error);
	while ((word = strsep(&rest, ","))) {
		set_constant(file, word);
		host.constants = realloc(host.constants, (host.nr_constants + 1) * sizeof(char *));
		if (!host.constants)
			out_of_memory();
		host.constants[host.nr_constants++] = word;
	}
}

void scx_set_constants(void)
{
	for (u32 i = 0; i < host.nr_constants; i++)
		set_constant(OPS->name, host.constants[i]);
}

const char *scx_name(void)
{
	return scx.program ? OPS->name : NULL;
}

/* --- on a machine --------------------------------------------------------- */

static struct ext_ops ops;

/* All tasks are fair ones again. */
static const struct ext_exit *give_back(struct sim *sim)
{
	struct sim_task *t;

	sched_ext_bypass(sim->s);
	sched_ext_leave(sim->s);
	list_for_each(t, &sim->tasks, link)
		sched_ext_settle(sim->s, &t->task);
	return sched_ext_unload(sim->s);
}

/* After each event: a scheduler that has come to its end leaves at once. */
static void watch(struct sim *sim)
{
	const struct ext_exit *end;

	if (!sched_ext_ended(sim->s))
		return;
	sim_enter(sim, 0);
	sched_ext_dump(sim->s, scx.dump, scx_dump_size());
	fputs(readable(scx.dump), stderr);
	end = give_back(sim);
	host.end = *end;
	host.end.at = sim->now - SIM_START;
	readable(host.end.message);
	fprintf(stderr,
		"schedsim: at %.3f s sched_ext: BPF scheduler \"%s\" disabled (%s)\n"
		"schedsim: sched_ext: %s: %s; all tasks are fair ones from then on\n",
		(double)host.end.at / 1e9, OPS->name, end->reason, OPS->name, host.end.message);
	sim->after_event = NULL;
	sim_leave(sim);
}

const struct ext_exit *scx_ended(void)
{
	return host.end.kind ? &host.end : NULL;
}

void scx_leave(struct sim *sim)
{
	if (sim->after_event != watch)
		return;
	give_back(sim);
	sim->after_event = NULL;
}

/* Memory for the program, in its first state, on @sim. */
static void prepare(struct sim *sim)
{
	const char *lacking;

	host.sim = sim;
	scx.idle = (struct task_struct){ .comm = "swapper", .flags = PF_IDLE };
	scx.dump = scx_alloc_large(scx_dump_size());
	prng_seed(&host.rng, sim->config.seed);
	lacking = scx_maps_open();
	if (lacking)
		usage_error("%s: %s", OPS->name, lacking);
	if (!scx_groups_prepare())
		out_of_memory();
	ops = scx_operations();
}

const struct ext_ops *scx_come(struct sim *sim, const char *spec)
{
	scx_open(spec);
	if (scx_has_groups(scx.program))
		usage_error("--scx %s: operations for groups are not explored", spec);
	prepare(sim);
	return &ops;
}

void scx_go(bool alive)
{
	if (!scx.program)
		return;
	host.top = NULL;
	free_left();
	scx_timers_end(alive);
	scx_maps_close();
	scx_objects_free();
	scx_groups_free();
	scx_free_large(scx.dump);
	process_unload(host.path);
	free(host.words);
	if (scx.nr_tasks)
		memset(scx.task, 0, scx.nr_tasks * sizeof(*scx.task));
	scx.program = NULL;
	host.nr_constants = 0;
}

/* @op, the name of an operation, returned an error. */
static void refused(struct ext_call *c, void *op)
{
	char message[EXT_MESSAGE_LEN];

	snprintf(message, sizeof(message), "%s() failed", (char *)op);
	ext_report(c, EXT_EXIT_ERROR, 0, message);
}

static void begin_group(struct sim *sim, u32 group)
{
	if (scx_group_begins(sim->s, sim->groups[group].tg))
		sched_ext_outside(sim->s, refused, (char[]){ "cgroup_init" });
}

static void prepare_move(struct sim *sim, struct sim_task *t, u32 to)
{
	if (sched_ext_regroup(sim->s, &t->task, sim->groups[to].tg, EXT_REGROUP_PREPARE))
		sched_ext_outside(sim->s, refused, (char[]){ "cgroup_prep_move" });
}

void scx_load(struct sim *sim)
{
	host.memory = allocate_lines(sched_ext_size(sim->config.nr_cpus, NR_DSQS));
	if (!host.memory)
		out_of_memory();
	host.sim = sim;
	guard_open();
	prepare(sim);
	sim_enter(sim, 0);
	if (sched_ext_load(sim->s, host.memory, NR_DSQS, &ops))
		usage_error("%s: %s", OPS->name, sched_ext_refusal(host.memory)->message);
	sim->after_event = watch;
	sim->group_begins = begin_group;
	sim->group_changes = prepare_move;
	sched_ext_outside(sim->s, scx_attached, NULL);
	sim_leave(sim);
}
