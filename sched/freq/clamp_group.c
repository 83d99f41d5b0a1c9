/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Clamps of task groups and of the machine: they limit what tasks get. A group's are those that it
 * asks for, but no more than its parent's, and its minimum no more than its maximum. The root's are
 * the tunables sched_util_clamp_min and sched_util_clamp_max. Whoever is runnable where one changes
 * is counted anew at once; Linux lets tasks of the root keep theirs until their next wakeup.
 *
 * The tree of groups is serialised by the host; what is in force is read by all CPUs.
 * Source: Linux 6.1, core.c.
 */
#include "sched/core/core.h"
#include "lib/errno.h"
#include "sched/fair/core/fair.h"
#include "sched/freq/freq.h"

/* The clamp that limits the children of @tg; NULL is the root. */
static u32 in_force(const struct sched *s, const struct task_group *tg, enum sched_clamp which)
{
	if (tg)
		return tg->clamp[which];
	return which == SCHED_CLAMP_MIN ? s->tunable.clamp_min : s->tunable.clamp_max;
}

static void derive(struct sched *s, struct task_group *tg)
{
	u32 most = min((u32)tg->clamp_request[SCHED_CLAMP_MAX],
		       in_force(s, tg->parent, SCHED_CLAMP_MAX));
	u32 least = min((u32)tg->clamp_request[SCHED_CLAMP_MIN],
			in_force(s, tg->parent, SCHED_CLAMP_MIN));

	WRITE_ONCE(tg->clamp[SCHED_CLAMP_MAX], (u16)most);
	WRITE_ONCE(tg->clamp[SCHED_CLAMP_MIN], (u16)min(least, most));
}

void clamp_group_init(struct sched *s, struct task_group *tg)
{
	tg->clamp_request[SCHED_CLAMP_MAX] = OPP_CAPACITY;
	derive(s, tg);
}

static void renew_all(struct sched *s)
{
	struct task_group *tg;
	unsigned cpu;

	WRITE_ONCE(s->freq->clamped, true);
	for_each_group(tg, s)
		derive(s, tg);
	for_each_cpu(cpu, &s->possible) {
		struct rq *rq = cpu_rq(s, cpu);
		struct task *t;

		rq_lock(rq);
		for_each_queued(t, rq) freq_task_changes(rq, t);
		rq_unlock(rq);
	}
}

int task_group_set_clamp(struct sched *s, struct task_group *tg, enum sched_clamp which, u64 util)
{
	if (!tg || util > OPP_CAPACITY)
		return -EINVAL;
	tg->clamp_request[which] = (u16)util;
	renew_all(s);
	return 0;
}

void clamp_tuned(struct sched *s)
{
	if (s->freq)
		renew_all(s);
}
