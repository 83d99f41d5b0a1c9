/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Courts of machines: what the oracles of the classes above the fair one remember. Explorations
 * make a machine after the other, and now and then one beside another.
 */
#include "sched/balance/domain.h"
#include "tests/oracle/urgent.h"

static struct court courts[4];
static unsigned next;

struct court *court_of(const struct sched *s)
{
	for (unsigned i = 0; i < ARRAY_SIZE(courts); i++)
		if (courts[i].s == s)
			return &courts[i];
	JUDGE_URGENT(false, "a machine has no court");
	return NULL;
}

bool is_in_turn(const struct rq *rq, u64 best, unsigned cpu, u32 last, unsigned to)
{
	const struct domain *sd;
	u32 turn = last;

	if (best & BIT(rq->cpu))
		return to == rq->cpu;
	for_each_domain(sd, rq) {
		if (best & sd->span->cpus.bits[0]) {
			best &= sd->span->cpus.bits[0];
			break;
		}
	}
	if (!best || best & BIT(cpu))
		return best && to == cpu;
	do
		turn = (turn + 1) % JUDGE_CPUS;
	while (!(best & BIT(turn)));
	return to == turn;
}

void judge_urgent(struct sched *s)
{
	const struct sched_class *rt = s->class_own[CLASS_rt];

	if (s->nr_cpus > JUDGE_CPUS || s->class_copy[CLASS_rt].pick != rt->pick)
		return;
	/* A machine that ended may have been where this one is. */
	for (unsigned i = 0; i < ARRAY_SIZE(courts); i++)
		if (courts[i].s == s)
			courts[i].s = NULL;
	courts[next] = (struct court){ .s = s };
	next = (next + 1) % ARRAY_SIZE(courts);
	judge_fair(&s->class_copy[CLASS_fair]);
	s->class_copy[CLASS_fair].params.fork = judge_fork;
	s->class_copy[CLASS_fair].smp.select_cpu = judge_energy;
	judge_ext(&s->class_copy[CLASS_ext]);
	judge_rt(&s->class_copy[CLASS_rt]);
	judge_dl(&s->class_copy[CLASS_dl]);
}
