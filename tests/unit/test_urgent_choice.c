/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * On which CPU a real-time or deadline task goes on: where the work is the least urgent, and near;
 * against the definition, on machines drawn at random. See also test_rt_smp.c and test_dl_smp.c.
 */
#include "scene.h"
#include "sched/dl/dl.h"
#include "sched/observe/decision.h"
#include "sched/rt/rt.h"

#define NOBODY 0xff /* a rule that no choice has */

/* The work of each CPU, as drawn. */
static struct work {
	bool stop, dl, rt, fair; /* classes that are active */
	bool rt_throttled;
	unsigned rt_prio; /* of the first queued; MAX_RT_PRIO: none */
	u64 earliest;	  /* deadline */
} work[CPU_MAX];

/* --- drawing ---------------------------------------------------------------------------------- */

static void draw_work(struct scene *sc, unsigned cpu, u64 now)
{
	static const u64 prios[] = { 0, 1, 49, 50, 51, 63, 64, 98, 99, MAX_RT_PRIO };
	struct rq *rq = rq_of(sc->m, cpu);
	struct rt_queue *rt = (struct rt_queue *)rq->class_state.rt;
	struct work *w = &work[cpu];

	*w = (struct work){
		.stop = perhaps(sc, 12),
		.dl = perhaps(sc, 3),
		.rt = perhaps(sc, 2),
		.fair = perhaps(sc, 2),
		.rt_throttled = perhaps(sc, 5),
		.rt_prio = (unsigned)one_of(sc, prios, ARRAY_SIZE(prios)),
		.earliest = now + (4 + prng_below(&sc->rng, 5)) * MS,
	};
	rq->active = (u32)(w->stop * BIT(CLASS_stop) + w->dl * BIT(CLASS_dl) +
			   w->rt * BIT(CLASS_rt) + w->fair * BIT(CLASS_fair));
	rq->nr_running = prng_below(&sc->rng, 3);
	rt->throttled = w->rt_throttled;
	rt->bitmap[0] = w->rt_prio < 64 ? BIT(w->rt_prio) : 0;
	rt->bitmap[1] = w->rt_prio >= 64 && w->rt_prio < MAX_RT_PRIO ? BIT(w->rt_prio - 64) : 0;
	/* Others may wait behind the first: they make no difference. */
	if (w->rt_prio < MAX_RT_PRIO && perhaps(sc, 2))
		rt->bitmap[1] |= BIT(99 - 64);
	dl_of(rq)->earliest = w->earliest;
	rq->class_rule = NOBODY;
	rq->taken_last = prng_below(&sc->rng, sc->m->nr_cpus);
}

/* The task that runs on the CPU where the subject was last. */
static void draw_running(struct scene *sc)
{
	static const u64 prios[] = { 49, 50, 51 };
	struct rq *rq = rq_of(sc->m, sc->last);
	struct task *curr = sc->curr[sc->last];
	unsigned rank = CLASS_dl + prng_below(&sc->rng, NR_CLASSES - CLASS_dl);

	rq->curr = curr;
	curr->class = sc->m->s->class_own[rank];
	curr->prio = (int)one_of(sc, prios, ARRAY_SIZE(prios));
	curr->nr_allowed = 1 + prng_below(&sc->rng, 2);
}

static unsigned draw(struct scene *sc)
{
	static const unsigned reasons[] = { SELECT_WAKE, SELECT_FORK, SELECT_EXEC,
					    SELECT_WAKE | SELECT_SYNC, 0 };
	static const u64 prios[] = { 0, 49, 50, 51, 98, 99 };
	unsigned nr = sc->m->nr_cpus;
	u64 now = sc->m->now;

	for (unsigned cpu = 0; cpu < nr; cpu++)
		draw_work(sc, cpu, now);
	sc->m->s->online = cpumask_first_n(nr);
	sc->waker = prng_below(&sc->rng, nr);
	sc->last = prng_below(&sc->rng, nr);
	if (perhaps(sc, 6))
		cpumask_clear(&sc->m->s->online, sc->last);
	for (unsigned cpu = 0; cpu < nr; cpu++)
		rq_of(sc->m, cpu)->online = cpumask_test(&sc->m->s->online, cpu);
	sc->t->allowed = (struct cpumask){ { prng_below(&sc->rng, (u32)BIT(nr)) } };
	if (perhaps(sc, 2) || !cpumask_intersects(&sc->t->allowed, &sc->m->s->online))
		sc->t->allowed = cpumask_first_n(nr);
	sc->t->nr_allowed = cpumask_weight(&sc->t->allowed);
	sc->t->cpu = sc->last;
	sc->t->prio = (int)one_of(sc, prios, ARRAY_SIZE(prios));
	draw_running(sc);
	return reasons[prng_below(&sc->rng, ARRAY_SIZE(reasons))];
}

/* --- the definition --------------------------------------------------------------------------- */

/* Returns how little urgent the work of a CPU is to a real-time task: the greater, the less. */
static unsigned rt_level(const struct scene *sc, unsigned cpu)
{
	const struct work *w = &work[cpu];

	if (w->stop || w->dl)
		return 0;
	if (!w->rt_throttled && w->rt_prio < MAX_RT_PRIO)
		return w->rt_prio;
	return MAX_RT_PRIO + !rq_of(sc->m, cpu)->nr_running;
}

/* The same to a deadline task: ns until the deadline; whatever has none is behind all deadlines. */
static u64 dl_level(const struct scene *sc, unsigned cpu)
{
	const struct work *w = &work[cpu];

	if (w->stop)
		return 0;
	return w->dl ? w->earliest - sc->m->now : NS_PER_SEC;
}

/* Returns how many CPUs come before @cpu when the waker counts on from the one it took last. */
static unsigned turns_until(const struct scene *sc, unsigned cpu)
{
	unsigned nr = sc->m->nr_cpus;

	return (cpu + nr - 1 - rq_of(sc->m, sc->waker)->taken_last) % nr;
}

/*
 * Returns the nearest CPU to the last one of those with the greatest level beyond @own, or -1. Of
 * several it is the waker's, else the next in turn.
 */
static int least_urgent(const struct scene *sc, const u64 *level, u64 own)
{
	int best = -1;
	u64 most = own;

	for (unsigned cpu = 0; cpu < sc->m->nr_cpus; cpu++)
		if (is_usable(sc, cpu) && level[cpu] > most)
			most = level[cpu];
	for (unsigned cpu = 0; most > own && cpu < sc->m->nr_cpus; cpu++) {
		unsigned far, nearest;
		bool first;

		if (!is_usable(sc, cpu) || level[cpu] != most)
			continue;
		far = cpu == sc->last ? 0 : 1 + distance(sc, sc->last, cpu);
		nearest = best < 0		  ? CPU_MAX
			  : best == (int)sc->last ? 0
						  : 1 + distance(sc, sc->last, (unsigned)best);
		first = best >= 0 && turns_until(sc, cpu) < turns_until(sc, (unsigned)best);
		if (far < nearest ||
		    (far == nearest && (cpu == sc->waker || (best != (int)sc->waker && first))))
			best = (int)cpu;
	}
	return best;
}

struct answer {
	unsigned cpu, rule;
};

/* @found: the least urgent CPU, or -1. @keeps: nothing there is as urgent. */
static struct answer answer_of(const struct scene *sc, unsigned reason, int found, bool keeps,
			       bool displaces)
{
	if (!rq_of(sc->m, sc->last)->online)
		return (struct answer){ found < 0 ? any_usable(sc) : (unsigned)found,
					REASON_cpu_leaves };
	if (!is_allowed(sc, sc->last))
		return (struct answer){ any_usable(sc), REASON_only_allowed };
	if (!(reason & (SELECT_WAKE | SELECT_FORK)) || keeps)
		return (struct answer){ sc->last, NOBODY };
	/* The subject preempts a task that can go elsewhere. */
	if (displaces)
		return (struct answer){ sc->last, REASON_displaces };
	return found < 0 ? (struct answer){ sc->last, REASON_none_less_urgent }
			 : (struct answer){ (unsigned)found, REASON_least_urgent_there };
}

/* --- comparing -------------------------------------------------------------------------------- */

static void compare(const struct scene *sc, struct answer right, unsigned reason,
		    unsigned (*select)(struct rq *, struct task *, unsigned, unsigned))
{
	assert_int_equal(choice_of(sc, select, reason), right.cpu);
	assert_int_equal(rq_of(sc->m, sc->last)->class_rule, right.rule);
}

static void choose_for_real_time(struct scene *sc)
{
	unsigned reason = draw(sc), rank;
	const struct task *curr = sc->curr[sc->last];
	u64 level[CPU_MAX];
	int found;

	for (unsigned cpu = 0; cpu < sc->m->nr_cpus; cpu++)
		level[cpu] = rt_level(sc, cpu);
	found = least_urgent(sc, level, (u64)sc->t->prio);
	rank = curr->class->rank;
	compare(sc,
		answer_of(sc, reason, found, rank > CLASS_rt,
			  curr->nr_allowed > 1 && curr->prio > sc->t->prio),
		reason, rt_select_cpu);
}

/* The deadline is the one that the task had, unless that has passed: a new period begins then. */
static void choose_for_deadline(struct scene *sc)
{
	unsigned reason = draw(sc);
	const struct task *curr = sc->curr[sc->last];
	const struct work *here = &work[sc->last];
	struct dl_task *own = dl_part(sc->t);
	u64 level[CPU_MAX], until = (4 + prng_below(&sc->rng, 5)) * MS;
	bool passed = perhaps(sc, 3);

	*own = (struct dl_task){
		.runtime_ns = MS,
		.relative_ns = until,
		.period_ns = until,
		.deadline = passed ? sc->m->now - prng_below(&sc->rng, 2) : sc->m->now + until,
		.budget_ns = 1,
		.started = true,
	};
	for (unsigned cpu = 0; cpu < sc->m->nr_cpus; cpu++)
		level[cpu] = dl_level(sc, cpu);
	compare(sc,
		answer_of(sc, reason, least_urgent(sc, level, until), !here->stop && !here->dl,
			  !here->stop && until < level[sc->last] && curr->nr_allowed > 1),
		reason, dl_select_cpu);
}

static void a_real_time_task_goes_where_the_definition_says(void **state)
{
	(void)state;
	ask_everywhere(NULL, 2000, choose_for_real_time);
}

static void a_deadline_task_goes_where_the_definition_says(void **state)
{
	(void)state;
	ask_everywhere(NULL, 2000, choose_for_deadline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_real_time_task_goes_where_the_definition_says),
		cmocka_unit_test(a_deadline_task_goes_where_the_definition_says),
	};

	return cmocka_run_group_tests_name("urgent choice", tests, NULL, NULL);
}
