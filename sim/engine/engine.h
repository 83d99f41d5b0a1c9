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

/*
 * From now on the run is a bug if nothing happens on the selected machine for @ms of this process's
 * CPU time; 0 ends that.
 */
void host_watch(u32 ms);
