/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters of the loaded scheduler, as Linux has them (sched/observe/ext_event.def). */
#include "sched/ext/ext.h"

const char *const sched_ext_event_name[NR_EXT_EVENTS] = {
#define EXT_EVENT(name) "SCX_EV_" #name,
#include "sched/observe/ext_event.def"
#undef EXT_EVENT
};

void ext_count(struct ext_rq *er, enum ext_event what)
{
	debug_assert_locked(er->rq);
	WRITE_ONCE(er->events.count[what], er->events.count[what] + 1);
}

void ext_refill(struct ext_rq *er, struct task *t)
{
	ext_part(t)->seen->slice = EXT_SLICE_DEFAULT;
	ext_count(er, EXT_EV_REFILL_SLICE_DFL);
}

static struct ext_events sum(const struct ext *x)
{
	struct ext_events all = { { 0 } };
	u32 cpu;

	for_each_cpu(cpu, &x->s->possible)
		for (u32 i = 0; i < NR_EXT_EVENTS; i++)
			all.count[i] += READ_ONCE(x->cpu[cpu].events.count[i]);
	all.count[EXT_EV_BYPASS_ACTIVATE] = READ_ONCE(x->bypass);
	return all;
}

struct ext_events ext_events(const struct ext_call *c)
{
	return sum(c->x);
}

struct ext_events sched_ext_events(const struct sched *s)
{
	const struct ext_rq *er = ext_of(s->rq_of[0]);

	return er ? sum(er->x) : (struct ext_events){ { 0 } };
}
