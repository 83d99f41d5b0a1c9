/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the engine's files only. */
#pragma once

#include "sim/engine/sim.h"

/* Call @hook of every listener of @sim that has it. */
#define TELL(sim, hook, ...)                                                                       \
	do {                                                                                       \
		for (struct sim_listener *l = (sim)->listeners; l; l = l->next)                    \
			if (l->hook)                                                               \
				l->hook(l, sim, ##__VA_ARGS__);                                    \
	} while (0)

/* @c has overhead of @ns to work off. */
static inline void sim_pay(struct sim_cpu *c, u64 ns)
{
	c->debt_ns += ns;
	c->overhead_ns += ns;
}

#define FULL_SPEED 1024u

/* The work of @c until its task's is done. */
static inline u64 work_left(const struct sim_cpu *c)
{
	return unlikely(c->cold_ns) ? caches_left(c) : c->curr->left_ns;
}

/* The speed of @c changes, wherever its task stands. */
void sim_set_speed(struct sim *sim, struct sim_cpu *c, u32 speed);

/*
 * From now on the run is a bug if nothing happens on the selected machine for @ms of this process's
 * CPU time; 0 ends that.
 */
void host_watch(u32 ms);

/* Schedule the first event of each kind that config.disturbance asks for; cancel them. */
void disturb_start(struct sim *sim);
void disturb_stop(struct sim *sim);
/* Draws what varies for a whole run: the phase of the tick, and the costs, by up to 5 % each. */
void vary_machine(struct sim *sim);
/* A number below @bound if runs vary, otherwise 0. */
u64 draw_varied(struct sim *sim, u64 bound);
/* How far a CPU's clock is ahead of sim->now. */
u64 draw_clock(struct sim *sim);
/* True if @c has no tick this time. */
bool misses_tick(struct sim *sim, struct sim_cpu *c);
/* All clocks jump; timers that are due by them now are due. */
void jump_clocks(struct sim *sim);
/* Somebody reads all that the scheduler says of itself. */
void read_dumps(struct sim *sim);

/* The time of @call has come (call.c). */
void call_due(struct sim *sim, struct sim_call *call);
