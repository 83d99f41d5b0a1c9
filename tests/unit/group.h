/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the tests of task groups. */
#pragma once

#include "host.h"

/* A new group without members below @parent. */
struct task_group *new_group(struct machine *m, struct task_group *parent);
void end_group(struct machine *m, struct task_group *tg);
/* A task that runs as a member of @tg. */
struct task *spawn_in(struct machine *m, struct task_group *tg, int nice);
/* A sleeping member of @tg that may run only on @cpu. */
struct task *member_asleep_on(struct machine *m, struct task_group *tg, unsigned cpu);
/* Ticks, and checks every invariant after each. */
void run_ticks(struct machine *m, unsigned ticks);
