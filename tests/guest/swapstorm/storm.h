/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The storm: tasks that compute, sleep, fork, exec and change their parameters, and what became of
 * them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/clock.h"

struct storm_result {
	int started, reported;				    /* tasks */
	uint64_t hog_wait_ns, sleeper_wait_ns, new_wait_ns; /* the longest */
	/* since the first storm began: of all CPUs together, and by the tasks' own clocks */
	uint64_t elapsed_ns, run_ns, idle_ns;
	uint64_t used_ns;
};

/*
 * Start it on all CPUs; from then on what is random is a function of @seed. It may be started again
 * when it has ended.
 */
void storm_begin(int seed);
/* Stop it, wait for every task, fill in @result. */
void storm_end(struct storm_result *result);

/* Idle time is known to within this. */
#define STORM_IDLE_UNIT_NS (10 * NS_PER_MS)

/* A number below @bound. */
int storm_random(int bound);
/* Sleep for a random time below @us. */
void storm_pause(int us);

/* A task of the storm becomes the program anew by exec, with these three arguments. */
#define STORM_CHILD "--storm-child"
int storm_child(const char *fd, const char *born);
