/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The oracle of placement by energy (docs/energy.md). Each time a fair task wakes up and energy
 * decides, every CPU is tried: the task is put there on paper, and the energy of its domain worked
 * out from the table. Nothing is remembered from one CPU to the next, and no function of sched/ is
 * called to find an answer. What a CPU uses is read after the choice, which changes nothing of it.
 */
#include <string.h>

#include "sched/balance/domain.h"
#include "sched/freq/freq.h"
#include "tests/oracle/urgent.h"

#define NOBODY CPU_MAX

struct question {
	struct sched *s;
	const struct task *t;
	/* CPUs, by bit; a task without a CPU in service is allowed others by the choice */
	u64 reach, allowed;
};

static const struct rq *rq_at(const struct sched *s, unsigned cpu)
{
	return s->rq_of[cpu];
}

static u64 greater(u64 a, u64 b)
{
	return a > b ? a : b;
}

static u64 less(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* --- does energy decide? -------------------------------------------------------------------- */

/* Have the CPUs of @cpus every capacity that there is? */
static bool has_every_capacity(const struct sched *s, u64 cpus)
{
	for (unsigned one = 0; one < s->nr_cpus; one++) {
		bool found = !rq_at(s, one)->online;

		for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++)
			found |= (cpus & BIT(cpu)) &&
				 rq_at(s, cpu)->capacity_orig == rq_at(s, one)->capacity_orig;
		if (!found)
			return false;
	}
	return true;
}

static bool cpus_differ(const struct sched *s)
{
	u64 least = UINT64_MAX, most = 0;

	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++) {
		if (!rq_at(s, cpu)->online)
			continue;
		least = less(least, rq_at(s, cpu)->capacity_orig);
		most = greater(most, rq_at(s, cpu)->capacity_orig);
	}
	return least < most;
}

static bool all_are_foreseen(const struct sched *s)
{
	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++) {
		const struct rq *rq = rq_at(s, cpu);

		if (rq->online && strcmp(rq->freq->domain->governor->name, "schedutil") != 0)
			return false;
		for (unsigned other = 0; other < cpu; other++)
			if (rq->online && rq_at(s, other)->online &&
			    rq_at(s, other)->core == rq->core)
				return false;
	}
	return true;
}

/* The smallest set of CPUs that has @a, @b and every capacity; 0: there is none. */
static u64 reach_of(const struct sched *s, unsigned a, unsigned b)
{
	for (const struct domain *sd = rq_at(s, a)->domains; sd; sd = sd->parent)
		if ((sd->span->cpus.bits[0] & BIT(b)) &&
		    has_every_capacity(s, sd->span->cpus.bits[0]))
			return sd->span->cpus.bits[0];
	return 0;
}

static u64 decides(struct sched *s, const struct task *t, unsigned waker, bool overutilized)
{
	if (!s->freq || !s->tunable.energy_aware || overutilized || !cpus_differ(s) ||
	    !all_are_foreseen(s))
		return 0;
	return reach_of(s, waker, t->cpu);
}

/* --- what a CPU would do -------------------------------------------------------------------- */

static u64 clamp_wanted(const struct question *q, unsigned which)
{
	const struct task *t = q->t;
	u64 value = t->clamp.own[which] ? t->clamp.request[which] : which ? 1024 : 0;

	if (t->group)
		value = greater(less(value, t->group->clamp[SCHED_CLAMP_MAX]),
				t->group->clamp[SCHED_CLAMP_MIN]);
	return less(value, which ? q->s->tunable.clamp_max : q->s->tunable.clamp_min);
}

/* The clamp of @cpu if the task is on @on. */
static u64 clamp_at(const struct question *q, unsigned cpu, unsigned on, unsigned which)
{
	const struct freq_cpu *f = rq_at(q->s, cpu)->freq;

	if (cpu != on)
		return f->clamp[which].value;
	return !f->nr_clamped ? clamp_wanted(q, which)
			     : greater(f->clamp[which].value, clamp_wanted(q, which));
}

/* The use that fair tasks make of @cpu if the task is on @on; NOBODY: it is nowhere. */
static u64 fair_use(const struct question *q, unsigned cpu, unsigned on)
{
	const struct pelt *all = &rq_at(q->s, cpu)->fair.avg, *own = &q->t->fair.avg;
	u64 use = all->util_avg, estimate = all->util_est_enqueued;

	if (q->t->cpu == cpu && own->last_update)
		use = use > own->util_avg ? use - own->util_avg : 0;
	if (q->t->cpu == cpu && own->last_update && cpu == on)
		use = all->util_avg;
	else if (cpu == on)
		use += own->util_avg;
	if (cpu == on)
		estimate += greater(own->util_est_ewma, own->util_est_enqueued);
	if (q->s->features & BIT(FEATURE_UTIL_EST))
		use = greater(use, estimate);
	return less(use, rq_at(q->s, cpu)->capacity_orig);
}

static u64 asked_of_governor(const struct question *q, unsigned cpu, unsigned on)
{
	const struct rq *rq = rq_at(q->s, cpu);
	u64 use = fair_use(q, cpu, on) + rq->urgent.util_avg;

	if (!q->s->freq->clamped && (rq->active & BIT(CLASS_rt)))
		return rq->capacity_orig;
	if (q->s->freq->clamped)
		use = greater(less(use, clamp_at(q, cpu, on, SCHED_CLAMP_MAX)),
			      clamp_at(q, cpu, on, SCHED_CLAMP_MIN));
	return less(use, rq->capacity_orig);
}

static u64 to_spare(const struct question *q, unsigned cpu)
{
	u64 use = fair_use(q, cpu, cpu), left = rq_at(q->s, cpu)->capacity;

	return left > use ? left - use : 0;
}

/* Four fifths of what is left are enough; clamps say otherwise. */
static bool has_enough(const struct question *q, unsigned cpu)
{
	const struct rq *rq = rq_at(q->s, cpu);
	u64 use = fair_use(q, cpu, cpu), full = rq->capacity_orig;
	u64 least = clamp_at(q, cpu, cpu, SCHED_CLAMP_MIN);
	u64 most = clamp_at(q, cpu, cpu, SCHED_CLAMP_MAX);
	bool enough = 5 * use < 4 * rq->capacity;

	if (!q->s->freq->clamped)
		return enough;
	if (most < full || (most == full && full < 1024))
		enough = true;
	least = less(least, most);
	return enough && (full == 1024 || least <= use || least <= full);
}

/* --- energy of a domain --------------------------------------------------------------------- */

/* In thousandths of the table's unit, if the task is on @on. */
static u64 energy(const struct question *q, const struct freq_domain *d, unsigned on)
{
	const struct opp *fastest = &d->type->opp[d->type->nr_opps - 1], *at = fastest;
	u64 most = 0, use = 0, all = 0;

	for (const struct freq_cpu *f = d->cpus; f; f = f->next) {
		const struct rq *rq = rq_at(q->s, f->cpu);

		if (!rq->online)
			continue;
		most = greater(most, asked_of_governor(q, f->cpu, on));
		use += less(fair_use(q, f->cpu, NOBODY) + rq->urgent.util_avg, rq->capacity_orig);
		all += rq->capacity_orig;
		if (f->cpu == on)
			use += greater(q->t->fair.avg.util_avg,
				       greater(q->t->fair.avg.util_est_ewma,
					       q->t->fair.avg.util_est_enqueued));
	}
	/* From the fastest point down to the last with 1.25 * fastest * most / capacity. */
	while (at > d->type->opp &&
	       1250ull * fastest->mhz * most < (at[-1].mhz * 1000ull + 1) * fastest->capacity)
		at--;
	return at->power.cpu * 1000ull * fastest->mhz / at->mhz * less(use, all) /
	       fastest->capacity;
}

/* --- the answer ----------------------------------------------------------------------------- */

static bool is_candidate(const struct question *q, unsigned cpu)
{
	return (q->reach & q->allowed & BIT(cpu)) && rq_at(q->s, cpu)->online &&
	       has_enough(q, cpu) && to_spare(q, cpu) > 0;
}

/* Is @cpu the one of its domain? Not if another has more to spare, or a lower number as much. */
static bool is_best(const struct question *q, unsigned cpu)
{
	const struct freq_domain *d = rq_at(q->s, cpu)->freq->domain;

	for (const struct freq_cpu *f = d->cpus; f; f = f->next)
		if (f->cpu != cpu && is_candidate(q, f->cpu) &&
		    (to_spare(q, f->cpu) > to_spare(q, cpu) ||
		     (to_spare(q, f->cpu) == to_spare(q, cpu) &&
		      (f->cpu < cpu || f->cpu == q->t->cpu))))
			return false;
	return true;
}

/* How much energy the task takes on @cpu. False: it seems to save some. */
static bool costs(const struct question *q, unsigned cpu, u64 *cost)
{
	const struct freq_domain *d = rq_at(q->s, cpu)->freq->domain;
	u64 with = energy(q, d, cpu), without = energy(q, d, NOBODY);

	*cost = with - without;
	return with >= without;
}

/* The task's last CPU, unless one costs less; of several the one of the last domain. */
static unsigned answer(const struct question *q)
{
	unsigned last = q->t->cpu, best = last;
	u64 least = UINT64_MAX, cost;

	if (!q->t->fair.avg.util_avg && !q->t->fair.avg.util_est_ewma &&
	    !q->t->fair.avg.util_est_enqueued)
		return last;
	if (is_candidate(q, last) && !costs(q, last, &least))
		return last;
	for (u32 i = q->s->freq->nr_domains; i--;)
		for (const struct freq_cpu *f = q->s->freq->domain[i].cpus; f; f = f->next) {
			if (f->cpu == last || !is_candidate(q, f->cpu) || !is_best(q, f->cpu))
				continue;
			if (!costs(q, f->cpu, &cost))
				return last;
			if (cost < least) {
				least = cost;
				best = f->cpu;
			}
		}
	return best;
}

unsigned judge_energy(struct rq *rq, struct task *t, unsigned cpu, unsigned reason)
{
	struct question q = { .s = rq->s, .t = t, .allowed = t->allowed.bits[0] };
	bool overutilized = rq->s->freq && rq->s->freq->overutilized;
	unsigned to = rq->s->class_own[CLASS_fair]->smp.select_cpu(rq, t, cpu, reason), right;

	/* With one CPU in the machine, or in the task's affinity, there is nothing to choose. */
	if (!(reason & SELECT_WAKE) || (may_use(t, rq) && (!can_move(t) || !rq->domains)))
		return to;
	q.reach = decides(rq->s, t, cpu, overutilized);
	if (!q.reach)
		return to;
	right = answer(&q);
	if (q.allowed & BIT(right) && rq_at(rq->s, right)->online)
		JUDGE_URGENT(to == right, "energy: not the CPU where the task takes the least");
	return to;
}
