/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Disturbances of a machine (struct sim_disturbance): clocks that begin anywhere, disagree or
 * jump, ticks that come late, readers of the scheduler's state, and what varies in nature.
 */
#include <stdlib.h>

#include "sim/engine/engine.h"

void disturb_start(struct sim *sim)
{
	const struct sim_disturbance *d = &sim->config.disturbance;

	sim->jump.kind = EVENT_JUMP;
	sim->dump.kind = EVENT_DUMP;
	if (d->jump_every_ns)
		queue_set(&sim->queue, &sim->jump, sim->now + d->jump_every_ns);
	if (d->dump_every_ns)
		queue_set(&sim->queue, &sim->dump, sim->now + d->dump_every_ns);
}

void disturb_stop(struct sim *sim)
{
	queue_cancel(&sim->queue, &sim->jump);
	queue_cancel(&sim->queue, &sim->dump);
}

#define COST_PARTS  1000u
#define COST_VARIES 50u /* parts up and down, as the layout of memory does to caches */

void vary_machine(struct sim *sim)
{
	u64 *cost = (u64 *)&sim->config.costs;

	if (!sim->config.disturbance.vary)
		return;
	prng_seed(&sim->varied, sim->config.disturbance.vary);
	sim->tick_phase = draw_varied(sim, sim->tick_ns);
	for (u32 i = 0; i < sizeof(sim->config.costs) / sizeof(*cost); i++)
		cost[i] = cost[i] *
			  (COST_PARTS - COST_VARIES + draw_varied(sim, 2 * COST_VARIES + 1)) /
			  COST_PARTS;
}

u64 draw_varied(struct sim *sim, u64 bound)
{
	return sim->config.disturbance.vary ? prng_u64(&sim->varied) % bound : 0;
}

u64 draw_clock(struct sim *sim)
{
	const struct sim_disturbance *d = &sim->config.disturbance;
	u64 ahead = d->clock_start ? d->clock_start - sim->now : 0;

	return d->skew_ns ? ahead + prng_u64(&sim->rng) % d->skew_ns : ahead;
}

/* One time in 16 there is none for a while, and then one. */
bool misses_tick(struct sim *sim, struct sim_cpu *c)
{
	u64 late_ns = sim->config.disturbance.late_ns;

	if (c->tick_at && sim->now >= c->tick_at)
		c->tick_at = 0;
	else if (late_ns && !c->tick_at && prng_below(&sim->rng, 16) == 0)
		c->tick_at = sim->now + prng_u64(&sim->rng) % late_ns;
	return sim->now < c->tick_at;
}

void jump_clocks(struct sim *sim)
{
	const struct sim_disturbance *d = &sim->config.disturbance;

	for (unsigned cpu = 0; cpu < sim->config.nr_cpus; cpu++) {
		struct sim_cpu *c = &sim->cpus[cpu];

		c->skew_ns += d->jump_ns;
		if (event_queued(&c->timer))
			queue_set(&sim->queue, &c->timer,
				  time_max(c->timer.when - d->jump_ns, sim->now));
	}
	queue_set(&sim->queue, &sim->jump, sim->now + d->jump_every_ns);
}

void read_dumps(struct sim *sim)
{
	static char text[1 << 16];
	struct list *link;

	for (unsigned cpu = 0; cpu < sim->config.nr_cpus; cpu++)
		sched_dump_cpu(sim->s, cpu, text, sizeof(text));
	for (link = sim->tasks.next; link != &sim->tasks; link = link->next)
		sched_dump_task(sim->s, &container_of(link, struct sim_task, link)->task, text,
				sizeof(text));
	sched_dump_schedstat(sim->s, text, sizeof(text));
	queue_set(&sim->queue, &sim->dump, sim->now + sim->config.disturbance.dump_every_ns);
}
