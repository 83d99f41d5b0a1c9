/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs written for sched_ext as schedulers of simulated machines: the binding between an object
 * of `make scx` and the class ext of the scheduler (sched/ext.h). One program at a time, on one
 * machine. docs/scx.md is the manual.
 */
#pragma once

#include <stdio.h>

#include "sim/engine/sim.h"

/* Reads FILE.so[,name=value...]. Errors are the user's: a sentence, and status 2. */
void scx_open(const char *spec);
/* The name of the program that was opened, or NULL. */
const char *scx_name(void);

/* The machine that the program runs on. */
struct sim *scx_sim(void);
/*
 * For explorations, where schedulers come and go: the operations of the program @spec, as in
 * scx_open(), for sched_ext_load() on @sim. It goes with all that it has: before another comes, and
 * when it has been unloaded. @alive: @sim is still there.
 */
const struct ext_ops *scx_come(struct sim *sim, const char *spec);
void scx_go(bool alive);
/* Loads the program on the new machine @sim, which has no tasks yet; it stays to the end. */
void scx_load(struct sim *sim);
/*
 * Why and when (.at: since the run began) the program came to its end by itself or was thrown out;
 * NULL if it did not. All tasks are fair ones since then.
 */
const struct ext_exit *scx_ended(void);
/* It decides no more, if it does: all tasks of @sim are fair ones again. sim_enter() was called. */
void scx_leave(struct sim *sim);
