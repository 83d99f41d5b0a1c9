/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * On which CPU a member of a group with a deadline wakes up under FDL, against the definition, on
 * machines drawn at random: deadlines of tasks that run and wait, the slack they leave, and work
 * that is more urgent. Rule by rule: test_fdl_place.c. The search for an idle CPU is judged by
 * test_wakeup.c.
 */
#include "scene.h"
#include "sched/fair/core/class.h"
#include "sched/fair/fdl/fdl.h"
#include "sched/rt/rt.h"

#define UNLIMITED UINT64_MAX

static struct task_group top, below = { .parent = &top };

/* Of each CPU, as drawn; 0: none. */
static u64 runs_for[CPU_MAX], waits_until[CPU_MAX];
static bool has_deadlines[CPU_MAX], is_urgent[CPU_MAX];

/* --- drawing ---------------------------------------------------------------------------------- */

static void draw_hints(struct scene *sc, unsigned cpu)
{
	/* With a deadline of 1000 ns and a margin of a half, more than 1500 ns are enough. */
	static const u64 turns[] = { 0, 2, 251, 500, 2999, 3000, 3001, 3002, 4000 };
	static const s64 waits[] = { -1, 0, 1, 1499, 1500, 1501, 3000 };
	struct rq *rq = rq_of(sc->m, cpu);
	struct fdl_queue *fdl = fdl_queue(&rq->fair);

	draw_cpu(sc, cpu);
	runs_for[cpu] = one_of(sc, turns, ARRAY_SIZE(turns));
	waits_until[cpu] =
		perhaps(sc, 3)
			? 0
			: (u64)((s64)sc->m->now + waits[prng_below(&sc->rng, ARRAY_SIZE(waits))]);
	has_deadlines[cpu] = !perhaps(sc, 4);
	is_urgent[cpu] = perhaps(sc, 6);
	fdl->curr_hint = runs_for[cpu];
	fdl->next_hint = waits_until[cpu];
	fdl->nr = has_deadlines[cpu];
	((struct rt_queue *)rq->class_state.rt)->nr_running = is_urgent[cpu];
}

static void draw(struct scene *sc)
{
	struct tunables *tn = &sc->m->s->tunable;
	unsigned nr = sc->m->nr_cpus;

	for (unsigned cpu = 0; cpu < nr; cpu++)
		draw_hints(sc, cpu);
	fdl_group(&top)->wakeup_ns = perhaps(sc, 2) ? 0 : 1000;
	fdl_group(&top)->rr_ns = perhaps(sc, 6) ? 0 : perhaps(sc, 8) ? 3 : 1000;
	fdl_group(&below)->rr_ns = 77;
	tn->wake_dl_scan = !perhaps(sc, 6);
	tn->wake_dl_margin = perhaps(sc, 6) ? 0 : 1536;
	tn->wake_dl_interval_shift = prng_below(&sc->rng, 3);
	tn->wake_prefer_preempt_prev = perhaps(sc, 2);
	tn->wake_prefer_preempt_others = perhaps(sc, 2);
	sc->t->nr_wakeups = perhaps(sc, 2) ? 8 : prng_below(&sc->rng, 9);
	sc->t->group = perhaps(sc, 2) ? &top : &below;
	sc->last = prng_below(&sc->rng, nr);
	sc->waker = prng_below(&sc->rng, nr);
	sc->m->s->online = cpumask_first_n(nr);
	if (perhaps(sc, 4))
		cpumask_clear(&sc->m->s->online, prng_below(&sc->rng, nr));
	sc->t->allowed = (struct cpumask){ { prng_below(&sc->rng, (u32)BIT(nr)) } };
	if (perhaps(sc, 2))
		sc->t->allowed = cpumask_first_n(nr);
	sc->t->cpu = sc->last;
}

/* --- the definition --------------------------------------------------------------------------- */

static u64 deadline_of_group(void)
{
	return fdl_group(&top)->wakeup_ns ? fdl_group(&top)->wakeup_ns : fdl_group(&top)->rr_ns;
}

static u64 slack_of(const struct scene *sc, unsigned cpu)
{
	u64 half = runs_for[cpu] / 2, until = waits_until[cpu];

	if (is_urgent[cpu])
		return 0;
	if (!has_deadlines[cpu] || (!runs_for[cpu] && !until))
		return UNLIMITED;
	until = until > sc->m->now ? until - sc->m->now : 0;
	if (!waits_until[cpu] || (runs_for[cpu] && half < until))
		return half;
	return until;
}

/* The usual answer of the search, which leaves no trace here. */
static int idle_near(const struct scene *sc)
{
	struct domain *llc = rq_of(sc->m, sc->waker)->llc;
	bool hint = llc && llc->span->has_idle_cores;
	int found = fair_idle_cpu(sc->m->s, sc->t, sc->last, sc->waker);

	if (llc)
		llc->span->has_idle_cores = hint;
	return found;
}

/* A CPU of the target's cache, looked for behind it: an idle one, or the one with most time. */
static int most_time(const struct scene *sc, u64 enough)
{
	bool any = sc->m->s->tunable.wake_prefer_preempt_others;
	unsigned size = cache_size(sc), first = sc->waker / size * size;
	u64 most = enough;
	int best = -1;

	for (unsigned n = 1; n <= size; n++) {
		unsigned cpu = first + (sc->waker - first + n) % size;

		if (!is_usable(sc, cpu))
			continue;
		if (sc->state[cpu] == IDLE)
			return (int)cpu;
		if (slack_of(sc, cpu) > most) {
			most = slack_of(sc, cpu);
			best = (int)cpu;
			if (any)
				return best;
		}
	}
	return best;
}

/* The target is the waker's CPU here. -1: FDL has no opinion. */
static int define(const struct scene *sc)
{
	const struct tunables *tn = &sc->m->s->tunable;
	u64 deadline = deadline_of_group(), enough = deadline * tn->wake_dl_margin / 1024;
	int found = -1;

	if (!deadline || !tn->wake_dl_scan ||
	    sc->t->nr_wakeups % (1u << tn->wake_dl_interval_shift))
		return -1;
	if (tn->wake_prefer_preempt_prev && is_usable(sc, sc->last) &&
	    cache_of(sc, sc->last) == cache_of(sc, sc->waker) && slack_of(sc, sc->last) > enough)
		return (int)sc->last;
	if (!tn->wake_prefer_preempt_others)
		found = idle_near(sc);
	if (found < 0 && cache_size(sc) > 1)
		found = most_time(sc, enough);
	return found < 0 ? (int)sc->waker : found;
}

/* The turn of what runs on the CPU chosen is taken to be short, so that others go elsewhere. */
static void judge(struct scene *sc)
{
	u64 quarter = deadline_of_group() / 4;
	int right;

	draw(sc);
	quarter = deadline_of_group() / 4;
	right = define(sc);
	assert_int_equal(fdl_select_cpu(sc->m->s, sc->t, sc->last, sc->waker), right);
	for (unsigned cpu = 0; cpu < sc->m->nr_cpus; cpu++) {
		u64 turn = runs_for[cpu], least = quarter ? quarter : 1;

		if ((int)cpu == right && turn > least)
			turn = least;
		assert_int_equal(fdl_queue(&rq_of(sc->m, cpu)->fair)->curr_hint, turn);
	}
	sc->t->group = NULL;
}

static void a_deadline_is_met_where_the_definition_says(void **state)
{
	(void)state;
	ask_everywhere("fdl", 3000, judge);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_deadline_is_met_where_the_definition_says),
	};

	return cmocka_run_group_tests_name("fdl choice", tests, NULL, NULL);
}
