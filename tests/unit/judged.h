/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Machines of the unit host whose decisions the oracles judge (docs/oracles.md). A test that
 * includes this needs tests/oracle/ beside it: UNIT_ALSO_* of mk/unit.mk.
 */
#pragma once

#include "group.h"
#include "sim/explore/judge.h"

static inline void tell_judge(struct machine *m, const struct sched_event *event)
{
	judge_event(m->s, event);
}

static inline struct machine *judged_machine(unsigned nr_cpus, unsigned hz)
{
	struct machine *m = machine_new(nr_cpus, hz);

	m->on_trace = tell_judge;
	sched_trace_set(m->s, QUOTA_DECISION_EVENTS);
	judge_attach(m->s);
	return m;
}

static inline struct task_group *judged_group(struct machine *m, struct task_group *parent)
{
	struct task_group *tg = new_group(m, parent);

	judge_attach(m->s);
	return tg;
}

static inline void judged_ticks(struct machine *m, unsigned ticks)
{
	while (ticks--) {
		run_ticks(m, 1);
		judge_attach(m->s);
	}
}
