/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Common to making a task and to changing one.
 */
#pragma once

#include "sched/core/core.h"

/*
 * @t, not queued and in no class's structures, gets the parameters @req and @class, which owns
 * their policy.
 */
void task_set_params(struct task *t, const struct sched_class *class,
		     const struct sched_attr_req *req);
/* Initialise a task that belongs to @cpu for ever: of a class of fixtures. */
void task_init_pinned(struct sched *s, struct task *t, unsigned cpu, int pid, const char *comm);
