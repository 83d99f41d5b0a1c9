/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a task whose group has a deadline wakes up: where it will be served in time,
 * which need not be an idle CPU.
 *
 * A CPU has time for it if nobody there has a deadline, for then it preempts; else if
 * the slack there is more than 1.46 of the task's deadline. Slack is the time until
 * the first of those that wait must run, or half the deadline of the one that runs,
 * who has perhaps run for half of it already. In order:
 *
 *	its last CPU, if that has time for it: its cache is there
 *	an idle CPU that shares the cache
 *	one of these where nobody has a deadline; else the one with the most slack
 *
 * The chosen CPU's slack is reduced, so that the next task does not choose it too.
 *
 * Everything is read without locks, as hints. Source: Fair Deadline RFC (docs/sources.md).
 */
#include "sched/balance/domain.h"
#include "sched/fair/fdl/fdl.h"

#define UNLIMITED (~0ull)

/* The deadline of @t's wakeup: that of the group below the root that it is in. 0: none. */
static u64 deadline_of(const struct task *t)
{
	const struct task_group *tg = t->group;

	SCHED_DEBUG_ASSERT(tg);
	while (tg->parent)
		tg = tg->parent;
	return READ_ONCE(fdl_group(tg)->wakeup_ns) ?: READ_ONCE(fdl_group(tg)->rr_ns);
}

/* ns that @rq has left before it must serve another than the task that comes. */
static u64 slack_of(const struct rq *rq, u64 now)
{
	u64 curr = READ_ONCE(fdl_queue(&rq->fair)->curr_hint),
	    next = READ_ONCE(fdl_queue(&rq->fair)->next_hint);
	u64 slack = UNLIMITED;

	if (class_waits_above(rq, CLASS_fair))
		return 0;
	if (!READ_ONCE(fdl_queue(&rq->fair)->nr))
		return UNLIMITED;
	if (curr)
		slack = curr / 2;
	if (next)
		slack = min(slack, sub_floor0(next, now));
	return slack;
}

/* The CPU of @mask that idles, or has the most slack of those that have more than @enough; -1. */
static int most_slack(struct sched *s, const struct cpumask *mask, unsigned from, u64 now,
		      u64 enough)
{
	bool any = s->tunable.wake_prefer_preempt_others;
	unsigned cpu = from;
	u64 most = enough;
	int best = -1;

	for (unsigned n = cpumask_weight(mask); n; n--) {
		u64 slack;

		cpu = cpumask_next_wrap(mask, cpu);
		if (cpu_is_idle(cpu_rq(s, cpu)))
			return (int)cpu;
		slack = slack_of(cpu_rq(s, cpu), now);
		if (slack <= most)
			continue;
		most = slack;
		best = (int)cpu;
		if (any)
			break;
	}
	return best;
}

static int choose(struct sched *s, const struct task *t, unsigned prev, unsigned target, u64 enough)
{
	const struct tunables *tn = &s->tunable;
	const struct rq *rq = cpu_rq(s, target);
	u64 now = cpu_rq(s, t->cpu)->clock;
	struct cpumask usable = cpumask_and(&t->allowed, &s->online);
	int idle;

	if (tn->wake_prefer_preempt_prev && cpumask_test(&usable, prev) &&
	    shares_llc(s, prev, target) && slack_of(cpu_rq(s, prev), now) > enough)
		return (int)prev;
	idle = tn->wake_prefer_preempt_others ? -1 : fair_idle_cpu(s, t, prev, target);
	if (idle >= 0 || !rq->llc)
		return idle;
	usable = cpumask_and(&usable, &rq->llc->span->cpus);
	return most_slack(s, &usable, target, now, enough);
}

static void reserve(struct rq *rq, u64 deadline)
{
	u64 short_turn = max(deadline / 4, 1ull);

	if (READ_ONCE(fdl_queue(&rq->fair)->curr_hint) > short_turn)
		WRITE_ONCE(fdl_queue(&rq->fair)->curr_hint, short_turn);
}

int fdl_select_cpu(struct sched *s, const struct task *t, unsigned prev, unsigned target)
{
	const struct tunables *tn = &s->tunable;
	u64 deadline = deadline_of(t);
	int cpu;

	if (!deadline || !tn->wake_dl_scan || t->nr_wakeups & (BIT(tn->wake_dl_interval_shift) - 1))
		return -1;
	cpu = choose(s, t, prev, target, deadline * tn->wake_dl_margin >> 10);
	if (cpu < 0)
		cpu = (int)target;
	reserve(cpu_rq(s, (unsigned)cpu), deadline);
	return cpu;
}
