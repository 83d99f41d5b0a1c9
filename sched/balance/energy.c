/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Placement by energy; see energy.h. A *performance domain* is a frequency domain: all of its CPUs
 * run at one point. In each the candidates are the CPU with the most capacity to spare once the
 * task is there, if it fits, and the task's last CPU, if it fits. The estimate of a domain's energy
 * is made without the task and with it on a candidate, and the candidate with the least difference
 * gets it; of equals the last CPU, so that a task moves for a gain only.
 *
 * The estimate: `schedutil` will choose the point for the CPU that asks for most, and all CPUs will
 * take the power of that point for the time that their use needs at it. What CPUs share, and idle
 * CPUs, are not in it, as in Linux's energy model.
 *
 * Linux reads the use of each CPU again for each candidate. Here it is read once, so the numbers of
 * one decision agree with each other. Runqueues of other CPUs are read without their locks.
 */
#include "sched/balance/energy.h"
#include "lib/math64.h"
#include "sched/balance/domain.h"
#include "sched/balance/fit.h"
#include "sched/fair/core/pelt.h"
#include "sched/freq/governor.h"
#include "sched/observe/trace.h"

/* --- is it on? ----------------------------------------------------------------------------- */

/* Above this an estimate would take too long: domains * (points + CPUs). */
#define COMPLEXITY_MAX 2048u

/* A CPU without an idle task has never been in service: it is about to come. */
static bool in_service(const struct rq *rq)
{
	return rq->online || !rq->idle;
}

static bool is_possible(struct sched *s)
{
	const struct freq *freq = s->freq;
	u32 nr_domains = 0, nr_others = 0;

	if (!s->tunable.energy_aware || !cpu_rq(s, 0)->uneven)
		return false;
	for (u32 i = 0; i < freq->nr_domains; i++) {
		const struct freq_domain *d = &freq->domain[i];
		u32 nr_cpus = 0;

		for (const struct freq_cpu *f = d->cpus; f; f = f->next) {
			const struct rq *rq = cpu_rq(s, f->cpu);

			if (!in_service(rq) || cpu_is_isolated(s, f->cpu))
				continue;
			if (rq->core->weight > 1 || !domain_of_all_capacities(s, f->cpu, f->cpu))
				return false;
			nr_cpus++;
		}
		if (!nr_cpus)
			continue;
		if (READ_ONCE(d->governor) != &schedutil_governor)
			return false;
		nr_domains++;
		nr_others += nr_cpus + d->type->nr_opps;
	}
	return nr_domains && nr_domains * nr_others <= COMPLEXITY_MAX;
}

void energy_refresh(struct sched *s)
{
	struct freq *freq = s->freq;

	SCHED_DEBUG_ASSERT(freq);
	/* Of two that look at the same time the second sees what both have changed. */
	host_lock(&freq->energy_lock);
	WRITE_ONCE(freq->energy_aware, is_possible(s));
	host_unlock(&freq->energy_lock);
}

void energy_rebuilt(struct sched *s)
{
	energy_refresh(s);
	overutilized_set(s, cpumask_empty(&s->online) ? 0 : cpumask_first(&s->online), false);
}

void energy_check(const struct rq *rq)
{
	const struct freq *freq = rq->s->freq;

	debug_assert_locked(rq);
	SCHED_CHECK(E10,
		    !freq->energy_aware || !rq->online || cpu_is_isolated(rq->s, rq->cpu) ||
			    (rq->s->tunable.energy_aware && rq->uneven && rq->core->weight == 1 &&
			     rq->freq->domain->governor == &schedutil_governor));
	SCHED_CHECK(E10, !freq->overutilized || rq->uneven);
}

/* --- the use of a CPU ---------------------------------------------------------------------- */

struct clamps {
	u64 least, most;
};

/* A CPU as the estimate sees it. */
struct use {
	/* as read */
	u64 util, estimate, urgent, capacity;
	struct clamps clamps;
	bool counted; /* a part of util is the task's */
	bool real_time, clamp_idle;

	struct clamps clamps_with; /* the clamps with the task */
	u64 without, with;	   /* utilisation by fair tasks, without the task and with it */
	u64 runs;		   /* utilisation by all classes, without the task */
	u64 asks, asks_with;	   /* for which the governor chooses a point */
	u64 spare;		   /* with the task; 0: it does not fit */
};

/* The task, and what holds for all CPUs. */
struct subject {
	struct sched *s;
	const struct task *t;
	const struct domain *reach; /* candidates are in its span */
	u64 util, estimate;
	struct clamps clamps;
	bool clamped, estimates;
	unsigned waker; /* its CPU, whose events all records of the choice are */
	bool recorded;
};

static void read_use(struct use *use, const struct rq *rq, const struct subject *of)
{
	const struct freq_cpu *f = rq->freq;

	SCHED_DEBUG_ASSERT(f);
	*use = (struct use){
		.util = READ_ONCE(rq->fair.avg.util_avg),
		.estimate = READ_ONCE(rq->fair.avg.util_est_enqueued),
		.urgent = READ_ONCE(rq->urgent.util_avg),
		.capacity = cpu_capacity(rq),
		.clamps = { READ_ONCE(f->clamp[SCHED_CLAMP_MIN].value),
			    READ_ONCE(f->clamp[SCHED_CLAMP_MAX].value) },
		.counted = of->t->cpu == rq->cpu && of->t->fair.avg.last_update,
		.real_time = READ_ONCE(rq->active) & BIT(CLASS_rt),
		.clamp_idle = !READ_ONCE(f->nr_clamped),
	};
}

/* Utilisation of a CPU of capacity @full by fair tasks, without the task and with it. */
static void set_fair_use(struct use *use, u64 full, const struct subject *of)
{
	use->without = use->counted ? sub_floor0(use->util, of->util) : use->util;
	use->with = use->counted ? use->util : use->util + of->util;
	if (of->estimates) {
		use->without = max(use->without, use->estimate);
		use->with = max(use->with, use->estimate + of->estimate);
	}
	use->without = min(use->without, full);
	use->with = min(use->with, full);
}

/* A CPU without tasks has clamps that are left of its last one. */
static void set_clamps_with(struct use *use, const struct subject *of)
{
	use->clamps_with = of->clamps;
	if (use->clamp_idle)
		return;
	use->clamps_with.least = max(of->clamps.least, use->clamps.least);
	use->clamps_with.most = max(of->clamps.most, use->clamps.most);
}

/* The utilisation for the governor if fair tasks use @util of a CPU of capacity @full. */
static u64 asks(const struct use *use, u64 full, u64 util, struct clamps clamps, bool clamped)
{
	if (!clamped && use->real_time)
		return full;
	util += use->urgent;
	if (clamped)
		util = max(min(util, clamps.most), clamps.least);
	return min(util, full);
}

static struct use use_of(const struct rq *rq, const struct subject *of)
{
	u64 full = rq->capacity_orig;
	struct use use;

	read_use(&use, rq, of);
	set_fair_use(&use, full, of);
	set_clamps_with(&use, of);
	use.runs = min(use.without + use.urgent, full);
	use.asks = asks(&use, full, use.without, use.clamps, of->clamped);
	use.asks_with = asks(&use, full, use.with, use.clamps_with, of->clamped);
	if (util_fits(rq, use.with, use.clamps_with.least, use.clamps_with.most))
		use.spare = sub_floor0(use.capacity, use.with);
	return use;
}

/* --- the estimate of a domain -------------------------------------------------------------- */

struct candidate {
	int cpu; /* -1: there is none */
	u64 spare, asks, energy;
};

struct estimate {
	const struct opp_type *type;
	unsigned first;	    /* CPU in service; CPU_MAX: there is none */
	u64 capacity, runs; /* of all CPUs in service */
	/* The CPU that asks for most without the task, and what the others ask for at most. */
	unsigned most_cpu;
	u64 most, most_of_others;
	u64 energy;		     /* without the task */
	struct candidate last, best; /* the task's last CPU, and of the others the best */
};

/* The energy of @e's CPUs if one asks for @most and all of them run for @runs. */
static u64 energy_of(const struct estimate *e, u64 most, u64 runs)
{
	const struct opp_type *type = e->type;
	const struct opp *fastest = opp_fastest(type), *opp = &type->opp[schedutil_opp(type, most)];
	/* Power of a CPU as long as it does at this point what it could do at the fastest. */
	u64 cost = mul_div(opp->power.cpu * 1000ull, fastest->mhz, opp->mhz);

	return mul_div(cost, min(runs, e->capacity), fastest->capacity);
}

static void count(struct estimate *e, unsigned cpu, const struct use *use, u64 capacity)
{
	SCHED_DEBUG_ASSERT(use->runs <= capacity && use->asks <= capacity);
	e->first = min(e->first, cpu);
	e->capacity += capacity;
	e->runs += use->runs;
	if (use->asks > e->most) {
		e->most_of_others = e->most;
		e->most = use->asks;
		e->most_cpu = cpu;
	} else {
		e->most_of_others = max(e->most_of_others, use->asks);
	}
}

static void propose(struct candidate *c, unsigned cpu, const struct use *use)
{
	if (use->spare > c->spare)
		*c = (struct candidate){ (int)cpu, use->spare, use->asks_with, 0 };
}

/* The energy of @c's domain with the task, which needs @util, there. */
static void set_energy(const struct estimate *e, struct candidate *c, u64 util)
{
	bool asks_most = e->most_cpu == (unsigned)c->cpu;

	if (c->cpu >= 0)
		c->energy = energy_of(e, max(c->asks, asks_most ? e->most_of_others : e->most),
				      e->runs + util);
}

/* --- the record ---------------------------------------------------------------------------- */

static bool is_near(const struct subject *of, unsigned cpu)
{
	return cpumask_test(&of->reach->span->cpus, cpu);
}

#define COMMON(of, event)                                                                          \
	{                                                                                          \
		EVENT_ID_sched_decision_##event, sizeof(struct event_sched_decision_##event),      \
			(of)->waker                                                                \
	}

static void record_use(const struct subject *of, const struct rq *rq, const struct use *use,
		       unsigned domain)
{
	struct event_sched_decision_use row = {
		.common = COMMON(of, use),
		.of_cpu = (u16)rq->cpu,
		.domain = (u16)domain,
		.flags = (task_allowed(of->t, rq->cpu) ? DECISION_USE_ALLOWED : 0) |
			 (of->t->cpu == rq->cpu ? DECISION_USE_LAST : 0) |
			 (is_near(of, rq->cpu) ? DECISION_USE_NEAR : 0) |
			 (use->real_time ? DECISION_USE_REAL_TIME : 0) |
			 (use->clamp_idle ? DECISION_USE_CLAMP_IDLE : 0) |
			 (use->counted ? DECISION_USE_COUNTED : 0),
		.least = (u16)use->clamps.least,
		.most = (u16)use->clamps.most,
		.capacity = (u16)use->capacity,
		.full = (u16)rq->capacity_orig,
		.spare = (u16)use->spare,
		.util = (u32)use->util,
		.estimate = (u32)use->estimate,
		.urgent = (u32)use->urgent,
		.with_task = (u32)use->with,
	};

	if (traced(of->s, EVENT_sched_decision_use))
		host_trace(&row.common);
}

static void record_energy(const struct subject *of, const struct estimate *e)
{
	struct event_sched_decision_energy row = {
		.common = COMMON(of, energy),
		.domain = (u16)e->first,
		.last = (s16)e->last.cpu,
		.best = (s16)e->best.cpu,
		.flags = (of->estimates ? DECISION_ENERGY_UTIL_EST : 0) |
			 (of->clamped ? DECISION_ENERGY_CLAMPED : 0),
		.least = (u16)of->clamps.least,
		.most = (u16)of->clamps.most,
		.util = (u32)of->util,
		.estimate = (u32)of->estimate,
		.without = e->energy,
		.with_last = e->last.energy,
		.with_best = e->best.cpu >= 0 ? e->best.energy : 0,
	};

	if (traced(of->s, EVENT_sched_decision_energy))
		host_trace(&row.common);
}

/* --- the choice ---------------------------------------------------------------------------- */

/* The estimate of @d. */
static struct estimate estimate_of(const struct subject *of, const struct freq_domain *d)
{
	const struct task *t = of->t;
	struct estimate e = { .type = d->type,
			      .first = CPU_MAX,
			      .most_cpu = CPU_MAX,
			      .last = { .cpu = -1 },
			      .best = { .cpu = -1 } };

	for (const struct freq_cpu *f = d->cpus; f; f = f->next) {
		const struct rq *rq = cpu_rq(of->s, f->cpu);
		struct use use;

		if (!cpumask_test(&of->s->online, f->cpu))
			continue;
		use = use_of(rq, of);
		count(&e, f->cpu, &use, rq->capacity_orig);
		if (is_near(of, f->cpu) && task_allowed(t, f->cpu))
			propose(f->cpu == t->cpu ? &e.last : &e.best, f->cpu, &use);
		if (of->recorded)
			record_use(of, rq, &use, e.first);
	}
	if (e.best.spare <= e.last.spare)
		e.best.cpu = -1;
	e.energy = energy_of(&e, e.most, e.runs);
	set_energy(&e, &e.last, task_util(t));
	set_energy(&e, &e.best, task_util(t));
	if (of->recorded && e.capacity)
		record_energy(of, &e);
	return e;
}

bool energy_places(struct sched *s, unsigned cpu, const struct task *t)
{
	SCHED_DEBUG_ASSERT(cpu_rq(s, cpu)->uneven);
	return energy_is_aware(s) && !READ_ONCE(s->freq->overutilized) &&
	       domain_of_all_capacities(s, cpu, t->cpu);
}

/* The candidate that adds the least energy so far, how much, and how much the last CPU adds. */
struct cheapest {
	unsigned cpu;
	u64 least, last;
};

/* False if the estimate says that the task saves energy: it is good for nothing. */
static bool weigh(struct cheapest *c, const struct estimate *e)
{
	if (e->last.cpu >= 0) {
		if (e->last.energy < e->energy)
			return false;
		c->last = e->last.energy - e->energy;
		c->least = min(c->least, c->last);
	}
	if (e->best.cpu >= 0) {
		if (e->best.energy < e->energy)
			return false;
		if (e->best.energy - e->energy < c->least) {
			c->least = e->best.energy - e->energy;
			c->cpu = (unsigned)e->best.cpu;
		}
	}
	return true;
}

/* The rule that decides; the CPU is then @c's, or for all rules but one the last. */
static enum cpu_rule choose(const struct subject *of, struct cheapest *c)
{
	const struct freq *freq = of->s->freq;

	if (!task_util(of->t))
		return CPU_uses_nothing;
	/* From the last domain on, as in Linux: it decides between equals. */
	for (u32 i = freq->nr_domains; i--;) {
		struct estimate e = estimate_of(of, &freq->domain[i]);

		if (!weigh(c, &e))
			return CPU_no_estimate;
	}
	return c->least < c->last ? CPU_least_energy : CPU_no_saving;
}

static struct subject subject_of(struct sched *s, const struct task *t, unsigned waker,
				 bool recorded)
{
	return (struct subject){
		.s = s,
		.t = t,
		.reach = domain_of_all_capacities(s, waker, t->cpu),
		.util = t->fair.avg.util_avg,
		.estimate = task_util_est(&t->fair),
		.clamps = { clamp_effective(s, t, SCHED_CLAMP_MIN),
			    clamp_effective(s, t, SCHED_CLAMP_MAX) },
		.clamped = READ_ONCE(s->freq->clamped),
		.estimates = feature(s, FEATURE_UTIL_EST),
		.waker = waker,
		.recorded = recorded,
	};
}

struct choice energy_select(struct rq *rq, struct task *t, unsigned waker, bool recorded)
{
	struct cheapest c = { .cpu = t->cpu, .least = UINT64_MAX, .last = UINT64_MAX };
	struct choice to = { .aim = aim_at(t->cpu, AIM_ran_there) };
	struct subject of;

	debug_assert_locked(rq);
	/* It has slept: its part of what its CPU has used is less now. */
	rq->deciding = recorded;
	update_averages(&t->fair);
	pelt_update_queue(&rq->fair);
	rq->deciding = false;
	of = subject_of(rq->s, t, waker, recorded);
	to.rule = choose(&of, &c);
	to.cpu = to.rule == CPU_least_energy ? c.cpu : t->cpu;
	return to;
}
