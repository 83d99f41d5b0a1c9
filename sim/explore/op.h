/* SPDX-License-Identifier: GPL-2.0-only */
/* Between the files that perform operations (op.def): what each of them does with its part. */
#pragma once

#include <stdio.h>

#include "sim/explore/world.h"

/*
 * An argument of OP_speed: energy decides from now on where tasks wake up, if CPUs differ. Others
 * with the same two upper bits do so, too, or end it.
 */
#define SPEED_BY_ENERGY UINT32_MAX

/* The first task from the @from-th place on that fits, round the end; NULL if none does. */
struct subject *find_subject(struct world *w, unsigned from, bool (*fits)(const struct subject *));
bool is_alive(const struct subject *x);

/* Perform an operation of @cpu's current task, and an operation on a task. */
void do_current(struct world *w, const struct op *op, unsigned cpu);
void do_task(struct world *w, const struct op *op, unsigned cpu);
void do_group(struct world *w, const struct op *op);
/* The random scheduler comes, with decisions that @arg seeds, or goes (op_ext.c). */
void do_ext(struct world *w, u32 arg);
/* The program @spec comes and goes as well, as one of several. False: these are too many. */
bool ext_add_program(const char *spec);
/* "--scx FILE " for each of them. */
void ext_print_programs(FILE *out);
/* The task that it moves between CPUs, or NULL. */
const struct task *ext_moving(void);
/* It goes if it has erred. */
void ext_after_op(struct world *w);
