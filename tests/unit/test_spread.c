/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a task starts, and where it begins anew after exec: on the idlest CPU, searched from the
 * widest part of the machine down; against the definition, on machines drawn at random. Rule by
 * rule: test_placement.c; what makes a part busy: Linux 6.1, fair.c (docs/sources.md).
 */
#include "scene.h"
#include "sched/fair/core/class.h"
#include "sched/observe/decision.h"

enum busy { SPARE, FULL, IMBALANCED = 3, OVERLOADED }; /* 2 is a misfit: none on equal CPUs */

/* The numbers of a part of the machine, without the task itself. */
struct sum {
	enum busy busy;
	u64 load, util, runnable, capacity;
	u32 nr, idle, weight;
	bool usable; /* the task may run on one of its CPUs */
};

/* --- drawing ---------------------------------------------------------------------------------- */

static void draw_use(struct scene *sc, unsigned cpu, bool even)
{
	static const u64 utils[] = { 0, 100, 875, 876, 1024 }, stamps[] = { 5, 6, 7 };
	static const u64 runnables[] = { 0, 875, 1024, 1198, 1199, 3000 };
	struct rq *rq = rq_of(sc->m, cpu);

	draw_cpu(sc, cpu);
	if (even)
		rq->capacity = 1024;
	rq->fair.avg.util_avg = one_of(sc, utils, ARRAY_SIZE(utils));
	rq->fair.avg.util_est_enqueued =
		(u32)(perhaps(sc, 3) ? one_of(sc, utils, ARRAY_SIZE(utils)) : 0);
	rq->fair.avg.runnable_avg = one_of(sc, runnables, ARRAY_SIZE(runnables));
	rq->idle_stamp = one_of(sc, stamps, ARRAY_SIZE(stamps));
}

static void draw_imbalances(struct scene *sc)
{
	struct domain *sd;

	for (unsigned cpu = 0; cpu < sc->m->nr_cpus; cpu++)
		for_each_domain(sd, rq_of(sc->m, cpu))
			sd->parts->imbalance = perhaps(sc, 12);
}

static void draw(struct scene *sc)
{
	static const u64 own[] = { 0, 10, 100, 1024 };
	unsigned nr = sc->m->nr_cpus;
	u64 some = prng_below(&sc->rng, (u32)BIT(nr));
	bool even = perhaps(sc, 2);

	for (unsigned cpu = 0; cpu < nr; cpu++)
		draw_use(sc, cpu, even);
	draw_imbalances(sc);
	sc->m->s->features ^= prng_u64(&sc->rng) & BIT(FEATURE_UTIL_EST);
	sc->m->s->online = cpumask_first_n(nr);
	sc->waker = sc->last = prng_below(&sc->rng, nr);
	sc->t->allowed = perhaps(sc, 2) ? cpumask_first_n(nr) : (struct cpumask){ { some } };
	if (cpumask_weight(&sc->t->allowed) < 2)
		sc->t->allowed = cpumask_first_n(nr);
	sc->t->nr_allowed = cpumask_weight(&sc->t->allowed);
	sc->t->cpu = sc->last;
	sc->t->fair.avg.load_avg = one_of(sc, own, ARRAY_SIZE(own));
	sc->t->fair.avg.util_avg = one_of(sc, own, ARRAY_SIZE(own));
	sc->t->fair.avg.runnable_avg = one_of(sc, own, ARRAY_SIZE(own));
	/* A task that execs is known to its CPU, and counted; a new task is neither. */
	sc->sync = perhaps(sc, 2);
	sc->t->fair.avg.last_update = sc->sync ? 1 : 0;
	sc->t->on_rq = sc->sync ? TASK_QUEUED : TASK_OFF_RQ;
}

/* --- the definition --------------------------------------------------------------------------- */

static u64 less(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

static u64 util_of(const struct scene *sc, const struct rq *rq)
{
	u64 util = rq->fair.avg.util_avg, est = rq->fair.avg.util_est_enqueued;

	if (has(sc, FEATURE_UTIL_EST) && est > util)
		util = est;
	return util < 1024 ? util : 1024;
}

static enum busy busy_as(const struct sum *sum, u64 pct, bool imbalance)
{
	bool more_used = sum->util * pct > sum->capacity * 100;
	bool more_wanted = sum->runnable * 100 > sum->capacity * pct;

	if (sum->nr > sum->weight && (more_used || more_wanted))
		return OVERLOADED;
	if (imbalance)
		return IMBALANCED;
	if (sum->nr < sum->weight)
		return SPARE;
	return !more_wanted && sum->util * pct < sum->capacity * 100 ? SPARE : FULL;
}

static struct sum sum_of(const struct scene *sc, const struct group *part, u32 pct)
{
	const struct pelt *own = &sc->t->fair.avg;
	struct sum sum = { .load = 0 };

	for (unsigned cpu = 0; cpu < sc->m->nr_cpus; cpu++) {
		const struct rq *rq = rq_of(sc->m, cpu);
		bool here = cpu == sc->t->cpu && sc->sync;

		if (!cpumask_test(&part->cpus, cpu))
			continue;
		sum.weight++;
		sum.usable |= is_usable(sc, cpu);
		sum.load += less(rq->fair.avg.load_avg, here ? own->load_avg : 0);
		sum.util += less(util_of(sc, rq), here ? own->util_avg : 0);
		sum.runnable += less(rq->fair.avg.runnable_avg, here ? own->runnable_avg : 0);
		sum.nr += (u32)less(rq->nr_running, here ? 1 : 0);
		sum.idle += sc->state[cpu] == IDLE || (here && rq->nr_running == 1);
		sum.capacity += rq->capacity;
	}
	sum.busy = busy_as(&sum, pct, part->imbalance);
	return sum;
}

/* Load for each unit of capacity. */
static u64 density(const struct sum *sum)
{
	return sum->load * 1024 / sum->capacity;
}

static bool is_idler(const struct sum *a, const struct sum *b)
{
	if (a->busy != b->busy)
		return a->busy < b->busy;
	if (a->busy == IMBALANCED)
		return false;
	if (a->busy != SPARE)
		return density(a) < density(b);
	return a->idle > b->idle || (a->idle == b->idle && a->util < b->util);
}

/* Is it worth to leave the part @own, which is as busy as @other? */
static bool pays(const struct domain *sd, const struct sum *own, const struct sum *other)
{
	bool far = sd->flags & SD_NUMA;
	u64 margin = 1024 * (sd->imbalance_pct - 100) / 100;

	if (own->busy == IMBALANCED)
		return false;
	if (own->busy == SPARE) {
		/* A pair of tasks stays together, where a node has few. */
		bool few = far && own->nr < sd->imb_numa_nr;

		return other->idle > own->idle && !(few && other->idle - own->idle <= 2);
	}
	if (far && density(own) <= density(other) + margin)
		return false;
	return density(other) < density(own) + margin &&
	       density(own) * 100 > density(other) * sd->imbalance_pct;
}

/* The part of @sd to go to; NULL: the task stays in its own. */
static const struct group *part_for(const struct scene *sc, const struct domain *sd)
{
	struct sum own = sum_of(sc, sd->parts, sd->imbalance_pct), least = { .load = 0 };
	const struct group *best = NULL;

	for (const struct group *g = sd->parts->next; g != sd->parts; g = g->next) {
		struct sum sum = sum_of(sc, g, sd->imbalance_pct);

		if (sum.usable && (!best || is_idler(&sum, &least))) {
			least = sum;
			best = g;
		}
	}
	if (!best || !own.usable || least.busy < own.busy)
		return best;
	return least.busy == own.busy && pays(sd, &own, &least) ? best : NULL;
}

static bool is_better(const struct scene *sc, unsigned a, unsigned b)
{
	const struct rq *one = rq_of(sc->m, a), *other = rq_of(sc->m, b);

	if (sc->state[a] == IDLE && sc->state[b] == IDLE)
		return one->idle_stamp > other->idle_stamp;
	if (sc->state[a] == IDLE || sc->state[b] == IDLE)
		return sc->state[a] == IDLE;
	return one->fair.avg.load_avg < other->fair.avg.load_avg;
}

/* The first with SCHED_IDLE tasks only; the one that idles since the latest; the least loaded. */
static unsigned cpu_for(const struct scene *sc, const struct group *part)
{
	unsigned best = CPU_MAX;

	for (unsigned cpu = 0; cpu < sc->m->nr_cpus; cpu++) {
		if (!cpumask_test(&part->cpus, cpu) || !is_usable(sc, cpu))
			continue;
		if (sc->state[cpu] == POLICY_IDLE)
			return cpu;
		if (best == CPU_MAX || is_better(sc, cpu, best))
			best = cpu;
	}
	return best;
}

/* The widest domain of @cpu below @weight CPUs that spreads. */
static const struct domain *widest(const struct scene *sc, unsigned cpu, u32 weight, u32 flag)
{
	const struct domain *sd, *found = NULL;

	for_each_domain(sd, rq_of(sc->m, cpu))
		if (sd->span->weight < weight && (sd->flags & flag))
			found = sd;
	return found;
}

static unsigned idlest(const struct scene *sc, unsigned cpu, u32 flag)
{
	const struct domain *sd = widest(sc, cpu, CPU_MAX, flag);

	while (sd) {
		const struct group *part = sd->flags & flag ? part_for(sc, sd) : NULL;
		unsigned better = part ? cpu_for(sc, part) : cpu;
		u32 weight = sd->span->weight;

		sd = better == cpu ? sd->child : widest(sc, better, weight, flag);
		cpu = better;
	}
	return cpu;
}

/* --- comparing -------------------------------------------------------------------------------- */

static void judge_record(const struct scene *sc, unsigned right, bool usable)
{
	const struct event_sched_decision_select *d =
		(const void *)sc->m->trace[sc->m->nr_cpus].bytes;

	assert_int_equal(sc->m->nr_trace, sc->m->nr_cpus + 1);
	assert_int_equal(d->common.type, EVENT_ID_sched_decision_select);
	assert_int_equal(d->aimed, sc->waker);
	assert_int_equal(d->aim, AIM_made_there);
	assert_int_equal(d->chosen, right);
	assert_int_equal(d->bias_pct, 0);
	assert_int_equal(d->rule, !usable	       ? CPU_only_allowed
				  : right == sc->waker ? CPU_none_idler
						       : CPU_idlest);
}

static void start(struct scene *sc)
{
	unsigned reason = perhaps(sc, 2) ? SELECT_FORK : SELECT_EXEC, right;
	bool usable;

	draw(sc);
	right = idlest(sc, sc->waker, reason == SELECT_FORK ? SD_BALANCE_FORK : SD_BALANCE_EXEC);
	usable = is_usable(sc, right);
	if (!usable)
		right = any_usable(sc);
	sched_trace_set(sc->m->s, DECISION_EVENTS);
	sc->m->nr_trace = 0;
	assert_int_equal(choice_of(sc, fair_select_cpu, reason), right);
	judge_record(sc, right, usable);
}

static void a_start_goes_where_the_definition_says(void **state)
{
	(void)state;
	ask_everywhere(NULL, 1000, start);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_start_goes_where_the_definition_says),
	};

	return cmocka_run_group_tests_name("spread", tests, NULL, NULL);
}
