/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control groups and a scheduler for sched_ext that may be loaded. With cgroup_mutex held, which
 * serialises these calls with its loading and unloading, too.
 */
#pragma once

#include "sched/ext.h"

struct task;
struct task_group;

/* @tg is new. 0, or the error with which the scheduler refuses it. */
int scx_group_new(struct task_group *tg);
/* Parameters of it were written. */
void scx_group_changed(struct task_group *tg, enum ext_group_news news);
/* It ends, without members. Sleeps. */
void scx_group_gone(struct task_group *tg);
/* Programs take the new @tg for the root, as on Linux a group of a session. */
void scx_group_hide(struct task_group *tg);
/*
 * May @t go to @to? 0, or the error with which the scheduler refuses. After 0 it goes, or the move
 * is cancelled. proc_tree_lock held.
 */
int scx_prepare_move(struct task *t, struct task_group *to);
void scx_cancel_move(struct task *t, struct task_group *to);
