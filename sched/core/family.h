/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parents, children and processes of tasks: see family.c.
 */
#pragma once

#include "lib/types.h"

struct sched;
struct task;

void family_init(struct task *t);
/* @child, new, joins the family of @parent. @flags: sched_fork_flags. family_lock held. */
void family_link(struct sched *s, struct task *parent, struct task *child, unsigned flags);
/* host_bug() if the relatives of @t disagree. */
void check_family(struct sched *s, struct task *t);
