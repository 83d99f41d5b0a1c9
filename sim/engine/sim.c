/* SPDX-License-Identifier: GPL-2.0-only */
/* Making and freeing simulated machines and their tasks; see sim.h. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/engine/engine.h"
#include "sim/engine/plugin.h"
#include "sim/engine/util.h"

/* --- tasks ------------------------------------------------------------------------------------ */

static void init_task(struct sim_task *t)
{
	*t = (struct sim_task){ .left_ns = SIM_FOREVER, .last_cpu = SIM_NOWHERE, .asleep = true };
	t->wakeup.kind = EVENT_WAKEUP;
	list_init(&t->cursor.waiting);
}

/* Tasks side by side. Each block holds twice as many as the one before, up to a limit. */
struct task_block {
	struct task_block *next;
	u32 used, size;
	struct sim_task task[] __aligned(64);
};

static struct sim_task *new_task(struct sim *sim)
{
	struct task_block *block = sim->blocks;

	if (!block || block->used == block->size) {
		u32 size = block ? min(2 * block->size, 1u << 14) : 8;

		block = allocate_lines(sizeof(*block) + size * sizeof(*block->task));
		if (!block)
			return NULL;
		block->size = size;
		block->next = sim->blocks;
		sim->blocks = block;
	}
	return &block->task[block->used++];
}

static struct sim_task *take_task(struct sim *sim)
{
	struct sim_task *t;

	if (sim->nr_tasks == SIM_MAX_TASKS)
		return NULL;
	if (list_empty(&sim->free)) {
		t = new_task(sim);
		if (!t)
			return NULL;
	} else {
		t = list_first(&sim->free, struct sim_task, link);
		list_del(&t->link);
	}
	init_task(t);
	if (sim->config.next)
		t->left_ns = 0;
	list_add_tail(&sim->tasks, &t->link);
	sim->nr_tasks++;
	sim->nr_tasks_max = max(sim->nr_tasks_max, sim->nr_tasks);
	return t;
}

struct sim_task *sim_task_new(struct sim *sim, const char *comm)
{
	struct sim_task *t = take_task(sim);

	if (t)
		sched_task_init(sim->s, &t->task, sim->next_pid++, comm);
	return t;
}

struct sim_task *sim_task_fork(struct sim *sim, struct sim_task *parent, const char *comm)
{
	struct sim_task *t = take_task(sim);
	int pid;

	assert(sim->server || parent == sim_this_cpu(sim)->curr);
	if (!t)
		return NULL;
	pid = sim->next_pid++;
	if (sim->server) {
		/* The scheduler never started the parent, so it cannot fork it. */
		sched_task_init(sim->s, &t->task, pid, comm);
		sched_set_affinity(sim->s, &t->task, &parent->task.allowed);
		t->group = parent->group;
		return t;
	}
	sched_task_fork(sim->s, &parent->task, &t->task, pid, 0);
	snprintf(t->task.comm, sizeof(t->task.comm), "%s", comm);
	t->group = parent->group;
	return t;
}

void sim_task_free(struct sim *sim, struct sim_task *t)
{
	queue_cancel(&sim->queue, &t->wakeup);
	list_del(&t->cursor.waiting);
	list_del(&t->link);
	caches_forget(sim, t);
	/* The threads of a process still refer to its first task. */
	if (!t->task.family.ended || !t->task.family.nr_threads)
		list_add_head(&sim->free, &t->link);
	sim->nr_tasks--;
}

/* --- groups ----------------------------------------------------------------------------------- */

static bool set_params(struct sched *s, struct task_group *tg, const struct task_group_params *p)
{
	if (p->idle ? task_group_set_idle(s, tg, true) : task_group_set_shares(s, tg, p->shares))
		return false;
	if (task_group_set_deadline(s, tg, p->deadline_rr_ns, p->deadline_wakeup_ns))
		return false;
	if (p->guaranteed_shares && task_group_set_guaranteed(s, tg, p->guaranteed_shares))
		return false;
	return p->quota_ns == SCHED_QUOTA_NONE ||
	       !task_group_set_bandwidth(s, tg, p->quota_ns, p->period_ns, p->burst_ns, false);
}

u32 sim_group_new(struct sim *sim, u32 parent, const struct task_group_params *params)
{
	struct sim_group *groups =
		realloc(sim->groups, (sim->nr_groups + 1) * sizeof(*sim->groups));
	struct sim_group *group;

	assert(parent < sim->nr_groups);
	if (!groups)
		return 0;
	sim->groups = groups;
	group = &groups[sim->nr_groups];
	*group = (struct sim_group){ .parent = parent,
				     .tune = groups[parent].tune,
				     .params = *params };
	if (!sim->server) {
		group->tg = allocate_lines(task_group_size(sim->s));
		if (!group->tg)
			return 0;
		task_group_init(sim->s, group->tg, groups[parent].tg);
	}
	sim->nr_groups++;
	if (group->tg && !event_queued(&sim->control))
		queue_set(&sim->queue, &sim->control, sim->now + sched_fdl_interval_ns(sim->s));
	if (group->tg && !set_params(sim->s, group->tg, params))
		return 0;
	if (sim->group_begins)
		sim->group_begins(sim, sim->nr_groups - 1);
	return sim->nr_groups - 1;
}

bool sim_group_boost(struct sim *sim, u32 group, u64 boost)
{
	int tune;

	if (!sim->freq)
		return true;
	tune = sched_tune_new(sim->s);
	if (tune < 0 || sched_tune_boost(sim->s, (unsigned)tune, boost))
		return false;
	sim->groups[group].tune = (unsigned)tune;
	return true;
}

bool sim_group_clamp(struct sim *sim, u32 group, const u64 util[static NR_SCHED_CLAMPS])
{
	struct task_group *tg = sim->groups[group].tg;

	/* Groups without clamps of their own leave governors as if there were none. */
	if (!sim->freq || !tg || (!util[SCHED_CLAMP_MIN] && util[SCHED_CLAMP_MAX] == OPP_CAPACITY))
		return true;
	return !task_group_set_clamp(sim->s, tg, SCHED_CLAMP_MIN, util[SCHED_CLAMP_MIN]) &&
	       !task_group_set_clamp(sim->s, tg, SCHED_CLAMP_MAX, util[SCHED_CLAMP_MAX]);
}

/* --- machines --------------------------------------------------------------------------------- */

static void init_cpu(struct sim *sim, unsigned cpu)
{
	struct sim_cpu *c = &sim->cpus[cpu];

	*c = (struct sim_cpu){ .id = cpu,
			       .own_speed = c->own_speed,
			       .speed = c->speed,
			       .since = sim->now,
			       .idle_since = sim->now };
	c->done.kind = EVENT_DONE;
	c->timer.kind = EVENT_TIMER;
	c->kick.kind = EVENT_KICK;
	c->core = sim->config.topology[cpu].core;
	c->llc = sim->config.topology[cpu].llc;
	c->node = sim->config.topology[cpu].node;
	c->skew_ns = draw_clock(sim);
	init_task(&c->idle);
	c->curr = &c->idle;
	sched_task_init_idle(sim->s, &c->idle.task, cpu);
	sched_cpu_online(sim->s, cpu, &c->idle.task);
}

/* Makes the CPUs those of config.opp, or of one speed. */
static bool init_speeds(struct sim *sim)
{
	const struct sim_config *c = &sim->config;

	for (unsigned cpu = 0; cpu < c->nr_cpus; cpu++)
		sim->cpus[cpu].own_speed = sim->cpus[cpu].speed = FULL_SPEED;
	if (!c->opp)
		return true;
	sim->freq = allocate_lines(sched_freq_size(c->nr_cpus));
	if (!sim->freq)
		return false;
	sched_freq_init(sim->s, c->opp, sim->freq);
	return true;
}

static bool init_sched(struct sim *sim)
{
	const struct sim_config *c = &sim->config;

	sim->s = allocate_lines(sched_size(c->nr_cpus));
	sim->cpus = allocate_lines(c->nr_cpus * sizeof(*sim->cpus));
	sim->ticking = calloc((c->nr_cpus + 63) / 64, sizeof(u64));
	sim->groups = calloc(1, sizeof(*sim->groups));
	if (!sim->s || !sim->cpus || !sim->ticking || !sim->groups)
		return false;
	sim->nr_groups = 1;
	if (sched_init(sim->s, &(struct sched_config){
				       .nr_cpus = c->nr_cpus,
				       .hz = c->hz,
				       .topology = c->topology,
				       .fair_policy = c->fair_policy,
				       .guest = plugin_policy(),
				       .isolated = c->isolated,
				       .seed = c->seed,
			       }))
		return false;
	sched_set_lazy(sim->s, c->lazy);
	return true;
}

struct sim *sim_new(const struct sim_config *config)
{
	struct sim *sim;

	if (!config->nr_cpus || config->nr_cpus > CPU_MAX)
		return NULL;
	sim = calloc(1, sizeof(*sim));
	if (!sim)
		return NULL;
	sim_select(sim);
	sim->config = *config;
	sim->now = SIM_START;
	sim->next_pid = 1;
	sim->is_big = config->nr_cpus > 128;
	queue_init(&sim->queue, sim->now);
	list_init(&sim->tasks);
	list_init(&sim->free);
	prng_seed(&sim->rng, config->seed);
	if (!init_sched(sim) || !init_speeds(sim)) {
		sim_free(sim);
		return NULL;
	}
	sim->tick_ns = NS_PER_SEC / config->hz;
	sim->tick.kind = EVENT_TICK;
	sim->control.kind = EVENT_CONTROL;
	disturb_start(sim);
	vary_machine(sim);
	for (unsigned cpu = 0; cpu < config->nr_cpus; cpu++)
		init_cpu(sim, cpu);
	if (!caches_init(sim)) {
		sim_free(sim);
		return NULL;
	}
	sim->config.topology = NULL;
	sim->config.opp = NULL;
	return sim;
}

void sim_listen(struct sim *sim, struct sim_listener *listener)
{
	struct sim_listener **last = &sim->listeners;

	while (*last)
		last = &(*last)->next;
	listener->next = NULL;
	*last = listener;
}

void sim_trace(struct sim *sim, u64 events)
{
	sim->trace_mask |= events;
	sched_trace_set(sim->s, sim->trace_mask);
}

void sim_serve(struct sim *sim, struct sim_server *server)
{
	assert(!sim->nr_tasks && sim->nr_groups == 1);
	sim->server = server;
	disturb_stop(sim);
	sim->config.disturbance.vary = 0;
}

void sim_free(struct sim *sim)
{
	struct task_block *next;

	for (struct task_block *block = sim->blocks; block; block = next) {
		next = block->next;
		free(block);
	}
	queue_free(&sim->queue);
	caches_free(sim);
	for (u32 i = 1; i < sim->nr_groups; i++)
		free(sim->groups[i].tg);
	free(sim->groups);
	free(sim->ticking);
	free(sim->cpus);
	free(sim->freq);
	free(sim->s);
	free(sim);
}
