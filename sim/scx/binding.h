/* SPDX-License-Identifier: GPL-2.0-only */
/* Between the files of sim/scx/: the program, its machine, and the call that is being made. */
#pragma once

#include "sched/ext.h"
#include "sim/scx/include/scx/abi.h"
#include "sim/scx/scx.h"

struct scx {
	const struct scx_program *program;
	struct sim *sim;
	void *memory;		   /* of the class */
	struct ext_call *call;	   /* of the operation that is being called; NULL: none */
	struct task_struct **task; /* by PID; NULL: not of the program */
	u32 nr_tasks;
	struct task_struct idle;
	struct prng rng;
};
extern struct scx scx;

/* The program's view of @t, brought up to date; of the idle task if @t is none of its own. */
struct task_struct *scx_see(struct task *t);
/* The task that the program means; NULL if it has ended. */
struct task *scx_task(const struct task_struct *p);

/* Memory for the maps of the program (map.c); what a task has in them ends with it. */
void scx_maps_open(void);
void scx_forget_task(const struct task_struct *p);
