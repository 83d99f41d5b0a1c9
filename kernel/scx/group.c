/* SPDX-License-Identifier: GPL-2.0-only */
/* Control groups of the kernel tell the loaded scheduler of what happens to them; see group.h. */
#include "kernel/scx/group.h"

#include "kernel/cgroup/cgroup.h"
#include "kernel/kernel.h"
#include "kernel/scx/scx.h"
#include "kernel/task/proc.h"

int scx_group_new(struct task_group *tg)
{
	int err;

	debug_assert(mutex_is_held(&cgroup_mutex));
	with_irqs_off(err = scx_group_begins(machine, tg));
	return err;
}

void scx_group_changed(struct task_group *tg, enum ext_group_news news)
{
	debug_assert(mutex_is_held(&cgroup_mutex));
	with_irqs_off(scx_group_changes(machine, tg, news));
}

void scx_group_gone(struct task_group *tg)
{
	void *view;

	debug_assert(mutex_is_held(&cgroup_mutex));
	with_irqs_off(view = scx_group_ends(machine, tg));
	if (!view)
		return;
	scx_wait_for_calls();
	scx_free(view);
}

int scx_prepare_move(struct task *t, struct task_group *to)
{
	int err = 0;

	debug_assert(mutex_is_held(&cgroup_mutex));
	if (READ_ONCE(scx.program))
		with_irqs_off(err = sched_ext_regroup(machine, t, to, EXT_REGROUP_PREPARE));
	return err;
}

void scx_cancel_move(struct task *t, struct task_group *to)
{
	debug_assert(mutex_is_held(&cgroup_mutex));
	if (READ_ONCE(scx.program))
		with_irqs_off(sched_ext_regroup(machine, t, to, EXT_REGROUP_CANCEL));
}
