/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a wakeup goes, against the definition, on many machines drawn at random: who idles, how
 * loads and capacities compare, who may run where. The definition here knows sets of CPUs and the
 * description of the machine, not its domains; amounts are drawn from a few, so that many are
 * equal. Rule by rule: test_placement.c, test_aim.c.
 */
#include <string.h>

#include "scene.h"
#include "sched/balance/balance.h"
#include "sched/fair/core/class.h"
#include "sched/observe/decision.h"

/* The answer of the definition. */
struct answer {
	unsigned aimed, chosen;
	enum aim_rule aim;
	enum cpu_rule rule;
	u32 bias_pct;
	bool searched;	     /* so the CPU used before is now the last one */
	bool opinion_wanted; /* the policy is asked */
	bool hint[CPU_MAX];  /* of each cache: a core may idle */
};

static const struct group *cache_group(const struct scene *sc, unsigned cpu)
{
	return rq_of(sc->m, cpu)->llc->span;
}

/* --- a policy with an opinion on members of groups -------------------------------------------- */

static struct {
	int answer; /* of the policy */
	bool asked;
	unsigned last, aimed; /* what it was asked about */
} opinion;

static int give_opinion(struct sched *s, const struct task *t, unsigned last, unsigned aimed)
{
	(void)s;
	(void)t;
	opinion.asked = true;
	opinion.last = last;
	opinion.aimed = aimed;
	return opinion.answer;
}

static struct fair_policy opinionated;
static struct task_group some_group;

/* --- drawing ---------------------------------------------------------------------------------- */

static void draw_flips(struct scene *sc)
{
	struct task *waker = rq_of(sc->m, sc->waker)->curr;
	u64 since = NS_PER_SEC - 1 + prng_below(&sc->rng, 3),
	    clock = rq_of(sc->m, sc->waker)->clock;
	unsigned size = cache_size(sc);

	waker->wakee_flips = prng_below(&sc->rng, 2 * size * size + 3);
	sc->t->wakee_flips = size - 1 + prng_below(&sc->rng, 3);
	waker->wakee_flips_stamp = clock - since;
	waker->last_wakee = perhaps(sc, 2) ? sc->t : NULL;
}

/* Some CPUs are about to leave, even all of a cache; one stays. */
static void draw_service(struct scene *sc)
{
	unsigned nr = sc->m->nr_cpus;
	u64 away = perhaps(sc, 4) ? BIT(prng_below(&sc->rng, nr)) : 0;

	if (perhaps(sc, 8))
		away = (BIT(cache_size(sc)) - 1)
		       << cache_size(sc) * cache_of(sc, prng_below(&sc->rng, nr));
	sc->m->s->online = cpumask_first_n(nr);
	if (away != sc->m->s->online.bits[0])
		sc->m->s->online.bits[0] &= ~away;
	for (unsigned cpu = 0; cpu < nr; cpu++)
		rq_of(sc->m, cpu)->online = cpumask_test(&sc->m->s->online, cpu);
}

static void draw(struct scene *sc)
{
	static const u64 own[] = { 0, 1, 10, 20, 100 };
	unsigned nr = sc->m->nr_cpus;
	u64 some = prng_below(&sc->rng, (u32)BIT(nr));

	for (unsigned cpu = 0; cpu < nr; cpu++)
		draw_cpu(sc, cpu);
	sc->m->s->features ^=
		prng_u64(&sc->rng) &
		(BIT(FEATURE_SIS_UTIL) | BIT(FEATURE_SIS_NODE) | BIT(FEATURE_SIS_MACHINE) |
		 BIT(FEATURE_WA_IDLE) | BIT(FEATURE_WA_WEIGHT) | BIT(FEATURE_WA_BIAS));
	draw_service(sc);
	sc->waker = prng_below(&sc->rng, nr);
	sc->last = perhaps(sc, 4) ? sc->waker : prng_below(&sc->rng, nr);
	sc->recent = prng_below(&sc->rng, nr);
	sc->sync = perhaps(sc, 2);
	sc->t->allowed = perhaps(sc, 2) ? cpumask_first_n(nr) : (struct cpumask){ { some } };
	if (!cpumask_intersects(&sc->t->allowed, &sc->m->s->online))
		sc->t->allowed = cpumask_first_n(nr);
	sc->t->nr_allowed = cpumask_weight(&sc->t->allowed);
	sc->t->cpu = sc->last;
	sc->t->recent_used_cpu = sc->recent;
	sc->t->fair.avg.load_avg = one_of(sc, own, ARRAY_SIZE(own));
	draw_flips(sc);
	opinionated = *sc->m->s->fair_policy;
	opinionated.select_cpu = give_opinion;
	sc->m->s->fair_policy = &opinionated;
	sc->t->group = perhaps(sc, 4) ? &some_group : NULL;
	opinion.asked = false;
	opinion.answer = (int)prng_below(&sc->rng, nr + 1) - 1;
}

/* --- the definition: the aim ------------------------------------------------------------------ */

/* True if both wake many, and one of them many more. @flips: of the waker, after this wakeup. */
static bool is_wide(const struct scene *sc, u32 flips)
{
	u32 most = sc->t->wakee_flips > flips ? sc->t->wakee_flips : flips;
	u32 least = sc->t->wakee_flips > flips ? flips : sc->t->wakee_flips;

	return least >= cache_size(sc) && most >= least * cache_size(sc);
}

/* The waker's flips after this wakeup. */
static u32 flips_after(const struct scene *sc)
{
	const struct task *waker = rq_of(sc->m, sc->waker)->curr;
	bool old = rq_of(sc->m, sc->waker)->clock - waker->wakee_flips_stamp > NS_PER_SEC;

	return (old ? waker->wakee_flips >> 1 : waker->wakee_flips) + (waker->last_wakee != sc->t);
}

/* The lowest level with both CPUs where wakers draw their wakees; NULL: none. */
static struct domain *level_of_both(const struct scene *sc)
{
	struct domain *sd;

	for_each_domain(sd, rq_of(sc->m, sc->waker))
		if (sd->flags & SD_WAKE_AFFINE && cpumask_test(&sd->span->cpus, sc->last))
			return sd;
	return NULL;
}

/* Would the waker's CPU be less loaded with the task than its last one without it? */
static bool is_lighter(const struct scene *sc, s64 bias)
{
	const struct rq *here = rq_of(sc->m, sc->waker), *there = rq_of(sc->m, sc->last);
	s64 own = (s64)sc->t->fair.avg.load_avg, a = (s64)here->fair.avg.load_avg;
	s64 b = (s64)there->fair.avg.load_avg - own;

	if (sc->sync) {
		a -= (s64)here->curr->fair.avg.load_avg;
		if (a < 0)
			return true;
	}
	a = (a + own) * (s64)there->capacity * 100;
	b = (b < 0 ? 0 : b) * (s64)here->capacity * (100 + bias);
	return sc->sync ? a <= b : a < b;
}

static enum aim_rule aim(const struct scene *sc, s64 bias)
{
	bool last_idles = sc->state[sc->last] == IDLE, waker_idles = sc->state[sc->waker] == IDLE;
	bool by_idleness = has(sc, FEATURE_WA_IDLE);

	if (by_idleness && last_idles && waker_idles &&
	    cache_of(sc, sc->last) == cache_of(sc, sc->waker))
		return AIM_last_idles;
	if (by_idleness && waker_idles && cache_of(sc, sc->last) == cache_of(sc, sc->waker))
		return AIM_waker_idles;
	if (by_idleness && sc->sync && rq_of(sc->m, sc->waker)->nr_running == 1)
		return AIM_waker_sleeps;
	if (by_idleness && last_idles)
		return AIM_last_idles;
	return has(sc, FEATURE_WA_WEIGHT) && is_lighter(sc, bias) ? AIM_waker_lighter
								  : AIM_ran_there;
}

static bool aims_at_waker(enum aim_rule rule)
{
	return rule == AIM_waker_idles || rule == AIM_waker_sleeps || rule == AIM_waker_lighter;
}

/* --- the definition: the search --------------------------------------------------------------- */

/* The CPUs of a cache in the order of a search that begins behind @from and ends with it. */
static unsigned nth_of_cache(const struct scene *sc, unsigned from, unsigned n)
{
	unsigned size = cache_size(sc), first = from / size * size;

	return first + (from - first + 1 + n) % size;
}

static bool whole_core_idles(const struct scene *sc, unsigned cpu)
{
	for (unsigned other = 0; other < sc->m->nr_cpus; other++)
		if (core_of(sc, other) == core_of(sc, cpu) && sc->state[other] != IDLE)
			return false;
	return true;
}

/* @hint: whether there may be an idle core; it is false afterwards if there was none. */
static int search_cores(const struct scene *sc, unsigned from, bool *hint)
{
	for (unsigned n = 0; n < cache_size(sc); n++) {
		unsigned cpu = nth_of_cache(sc, from, n);

		if (is_usable(sc, cpu) && whole_core_idles(sc, cpu))
			return (int)cpu;
	}
	*hint = false;
	for (unsigned n = 0; n < cache_size(sc); n++) {
		unsigned cpu = nth_of_cache(sc, from, n);

		if (is_usable(sc, cpu) && is_free(sc, cpu))
			return (int)cpu;
	}
	return -1;
}

static int search_cache(const struct scene *sc, unsigned from, bool *hint)
{
	unsigned looked_at = 0, most;

	if (cache_size(sc) == 1)
		return -1;
	if (sc->shape->smt > 1 && *hint)
		return search_cores(sc, from, hint);
	for (unsigned cpu = 0; sc->shape->smt > 1 && cpu < sc->m->nr_cpus; cpu++)
		if (core_of(sc, cpu) == core_of(sc, sc->last) && cpu != sc->last &&
		    cache_of(sc, cpu) == cache_of(sc, from) && is_allowed(sc, cpu) &&
		    is_free(sc, cpu))
			return (int)cpu;
	most = has(sc, FEATURE_SIS_UTIL) ? cache_group(sc, from)->nr_idle_scan : CPU_MAX;
	for (unsigned n = 0; n < cache_size(sc) && looked_at < most; n++) {
		unsigned cpu = nth_of_cache(sc, from, n);

		if (is_usable(sc, cpu) && is_free(sc, cpu))
			return (int)cpu;
		looked_at += is_usable(sc, cpu);
	}
	return -1;
}

/* Behind the other caches of the node, the next one first. @hint: of each cache. */
static int search_node(const struct scene *sc, unsigned from, bool *hint)
{
	unsigned here = cache_of(sc, from), base = node_of(sc, from) * sc->shape->llcs;

	for (unsigned n = 1; n < sc->shape->llcs; n++) {
		unsigned cache = base + (here - base + n) % sc->shape->llcs;
		unsigned first = cache * cache_size(sc), end = first + cache_size(sc);
		int found = -1;

		while (first < end && !cpumask_test(&sc->m->s->online, first))
			first++;
		if (first == end)
			continue;
		if (cache_size(sc) > 1)
			found = search_cache(sc, first, &hint[cache]);
		else if (is_usable(sc, first) && is_free(sc, first))
			found = (int)first;
		if (found >= 0)
			return found;
	}
	return -1;
}

static int search_machine(const struct scene *sc, unsigned from)
{
	int best = -1;

	for (unsigned cpu = 0; sc->m->nr_cpus > 1 && cpu < sc->m->nr_cpus; cpu++)
		if (sc->state[cpu] == IDLE && is_usable(sc, cpu) &&
		    (best < 0 || distance(sc, from, cpu) < distance(sc, from, (unsigned)best)))
			best = (int)cpu;
	return best;
}

static enum cpu_rule rule_by_order(struct scene *sc, struct answer *a)
{
	unsigned aimed = a->aimed;
	int found;

	a->chosen = aimed;
	if (is_allowed(sc, aimed) && is_free(sc, aimed))
		return CPU_aim_free;
	a->chosen = sc->last;
	if (cache_of(sc, sc->last) == cache_of(sc, aimed) && is_allowed(sc, sc->last) &&
	    is_free(sc, sc->last))
		return CPU_last_free;
	a->searched = true;
	a->chosen = sc->recent;
	if (cache_of(sc, sc->recent) == cache_of(sc, aimed) && is_usable(sc, sc->recent) &&
	    is_free(sc, sc->recent) && sc->recent != sc->last && sc->recent != aimed)
		return CPU_recent_free;
	a->opinion_wanted = sc->t->group;
	a->chosen = (unsigned)opinion.answer;
	if (a->opinion_wanted && opinion.answer >= 0)
		return CPU_policy_chose;
	found = search_cache(sc, aimed, &a->hint[cache_of(sc, aimed)]);
	a->chosen = (unsigned)found;
	if (found >= 0)
		return CPU_free_in_cache;
	found = has(sc, FEATURE_SIS_NODE) ? search_node(sc, aimed, a->hint) : -1;
	a->chosen = (unsigned)found;
	if (found >= 0)
		return CPU_free_in_node;
	found = has(sc, FEATURE_SIS_MACHINE) ? search_machine(sc, aimed) : -1;
	a->chosen = found < 0 ? aimed : (unsigned)found;
	return found < 0 ? CPU_none_free : CPU_free_in_machine;
}

static void read_hints(const struct scene *sc, bool *hint)
{
	for (unsigned cpu = 0; cpu < sc->m->nr_cpus; cpu++)
		hint[cache_of(sc, cpu)] =
			cache_size(sc) > 1 && cache_group(sc, cpu)->has_idle_cores;
}

/* @sd: where the waker may draw the task; NULL: nowhere. */
static struct answer define(struct scene *sc, const struct domain *sd)
{
	struct answer a = { .aimed = sc->last, .aim = AIM_ran_there };

	read_hints(sc, a.hint);
	if (sd) {
		a.bias_pct = has(sc, FEATURE_WA_BIAS) ? (sd->imbalance_pct - 100) / 2 : 0;
		a.aim = aim(sc, a.bias_pct);
		a.aimed = aims_at_waker(a.aim) ? sc->waker : sc->last;
	}
	a.rule = rule_by_order(sc, &a);
	if (!is_usable(sc, a.chosen)) {
		a.rule = CPU_only_allowed;
		a.chosen = any_usable(sc);
	}
	return a;
}

/* --- comparing -------------------------------------------------------------------------------- */

static unsigned flags_of(const struct scene *sc, unsigned cpu)
{
	return (sc->state[cpu] == IDLE ? DECISION_CPU_IDLE : 0) |
	       (is_free(sc, cpu) ? DECISION_CPU_FREE : 0) |
	       (is_allowed(sc, cpu) ? DECISION_CPU_ALLOWED : 0);
}

/* The rows are those of all CPUs in service, from the one where the task ran last on. */
static void judge_rows(const struct scene *sc)
{
	unsigned n = 0;

	for (unsigned i = 0; i < sc->m->nr_cpus; i++) {
		unsigned cpu = (sc->last + i) % sc->m->nr_cpus;
		const struct event_sched_decision_cpu *row = (const void *)sc->m->trace[n].bytes;
		const struct rq *rq = rq_of(sc->m, cpu);

		if (!cpumask_test(&sc->m->s->online, cpu))
			continue;
		assert_int_equal(row->common.type, EVENT_ID_sched_decision_cpu);
		assert_int_equal(row->of_cpu, cpu);
		assert_int_equal(row->cache, cache_of(sc, cpu) * cache_size(sc));
		assert_int_equal(row->flags, flags_of(sc, cpu));
		assert_int_equal(row->nr_running, rq->nr_running);
		assert_int_equal(row->load, rq->fair.avg.load_avg);
		assert_int_equal(row->capacity, rq->capacity);
		assert_int_equal(row->full, rq->capacity_orig);
		assert_int_equal(row->idle_since, sc->state[cpu] == IDLE ? rq->idle_stamp : 0);
		n++;
	}
	assert_int_equal(sc->m->nr_trace, n + 1);
}

/* Fails with the scene if @got, which is @what, is not @right. */
static void same(const struct scene *sc, const char *what, u64 got, u64 right)
{
	char cpus[CPU_MAX * 2 + 1] = "";

	CHECKED();
	if (got == right)
		return;
	for (unsigned cpu = 0; cpu < sc->m->nr_cpus; cpu++)
		strcat(cpus, !cpumask_test(&sc->m->s->online, cpu) ? " -"
			     : !is_allowed(sc, cpu)		   ? " x"
			     : is_free(sc, cpu)			   ? " f"
								   : " b");
	fail_msg(
		"%s is %llu, where %llu is right; the waker is on CPU %u%s, the task ran on CPU %u "
		"and recently on CPU %u; caches of %u CPUs, which are free, busy, not allowed (x) "
		"or out of service (-):%s",
		what, (unsigned long long)got, (unsigned long long)right, sc->waker,
		sc->sync ? " and about to sleep" : "", sc->last, sc->recent, cache_size(sc), cpus);
}

static void judge_record(const struct scene *sc, const struct answer *a)
{
	unsigned nr_online = cpumask_weight(&sc->m->s->online);
	const struct event_sched_decision_select *d = (const void *)sc->m->trace[nr_online].bytes;

	judge_rows(sc);
	assert_int_equal(d->common.type, EVENT_ID_sched_decision_select);
	assert_int_equal(d->common.cpu, sc->waker);
	assert_string_equal(d->comm, sc->t->comm);
	assert_int_equal(d->pid, sc->t->pid);
	assert_int_equal(d->why, SELECT_WAKE | (sc->sync ? SELECT_SYNC : 0));
	assert_int_equal(d->waker, sc->waker);
	assert_int_equal(d->last, sc->last);
	assert_int_equal(d->recent, sc->recent);
	same(sc, "the CPU aimed at", d->aimed, a->aimed);
	same(sc, "the chosen CPU on record", d->chosen, a->chosen);
	assert_int_equal(d->nr_cpus, nr_online);
	assert_int_equal(d->nr_rows, nr_online);
	same(sc, "the rule of the aim (AIM_)", d->aim, a->aim);
	same(sc, "the rule of the choice (CPU_)", d->rule, a->rule);
	assert_int_equal(d->bias_pct, a->bias_pct);
	assert_int_equal(d->load, sc->t->fair.avg.load_avg);
	assert_int_equal(d->scan, cache_size(sc) == 1 ? 0
				  : has(sc, FEATURE_SIS_UTIL)
					  ? cache_group(sc, a->aimed)->nr_idle_scan
					  : CPU_MAX);
}

static unsigned choose(const struct scene *sc)
{
	return choice_of(sc, fair_select_cpu, SELECT_WAKE | (sc->sync ? SELECT_SYNC : 0));
}

static void judge(struct scene *sc)
{
	struct domain *sd = level_of_both(sc);
	u32 flips = flips_after(sc);
	const struct task *waker = rq_of(sc->m, sc->waker)->curr;
	bool hint[CPU_MAX], recorded = perhaps(sc, 3), counted = perhaps(sc, 2);
	struct answer a;

	if (!is_allowed(sc, sc->waker) || sc->waker == sc->last || is_wide(sc, flips))
		sd = NULL;
	if (sd)
		sd->ttwu_wake_remote = sd->ttwu_move_affine = 0;
	a = define(sc, sd);
	sc->m->s->tunable.schedstats = counted;
	sched_trace_set(sc->m->s, recorded ? DECISION_EVENTS : 0);
	sc->m->nr_trace = 0;
	same(sc, "the chosen CPU", choose(sc), a.chosen);
	if (recorded)
		judge_record(sc, &a);
	same(sc, "recent_used_cpu", sc->t->recent_used_cpu, a.searched ? sc->last : sc->recent);
	assert_int_equal(waker->wakee_flips, flips);
	assert_ptr_equal(waker->last_wakee, sc->t);
	assert_int_equal(opinion.asked, a.opinion_wanted);
	if (a.opinion_wanted) {
		assert_int_equal(opinion.last, sc->last);
		assert_int_equal(opinion.aimed, a.aimed);
	}
	read_hints(sc, hint);
	assert_memory_equal(hint, a.hint, sc->m->nr_cpus / cache_size(sc));
	if (sd) {
		assert_int_equal(sd->ttwu_wake_remote, counted);
		assert_int_equal(sd->ttwu_move_affine, counted && a.aimed == sc->waker);
	}
}

/* Where there is only one CPU to choose from, nothing is recorded, counted or searched. */
static void judge_bound(struct scene *sc)
{
	u32 flips = rq_of(sc->m, sc->waker)->curr->wakee_flips;

	sched_trace_set(sc->m->s, DECISION_EVENTS);
	sc->m->nr_trace = 0;
	assert_int_equal(choose(sc), sc->last);
	assert_int_equal(sc->m->nr_trace, 0);
	assert_int_equal(sc->t->recent_used_cpu, sc->recent);
	assert_int_equal(rq_of(sc->m, sc->waker)->curr->wakee_flips, flips);
}

/* A CPU that turns idle tells of its core, if that idles as a whole now. */
static void judge_hint(struct scene *sc)
{
	unsigned cpu = sc->waker;
	bool tells = sc->shape->smt > 1, hint[CPU_MAX], now[CPU_MAX];

	for (unsigned other = 0; other < sc->m->nr_cpus; other++)
		if (other != cpu && core_of(sc, other) == core_of(sc, cpu))
			tells &= sc->state[other] == IDLE;
	read_hints(sc, hint);
	hint[cache_of(sc, cpu)] |= tells;
	rq_lock(rq_of(sc->m, cpu));
	placement_cpu_idles(rq_of(sc->m, cpu));
	rq_unlock(rq_of(sc->m, cpu));
	read_hints(sc, now);
	assert_memory_equal(hint, now, sc->m->nr_cpus / cache_size(sc));
}

static void wake_up(struct scene *sc)
{
	draw(sc);
	if (sc->t->nr_allowed == 1 && is_usable(sc, sc->last))
		judge_bound(sc);
	else
		judge(sc);
	judge_hint(sc);
	sc->t->group = NULL;
}

static void a_wakeup_goes_where_the_definition_says(void **state)
{
	(void)state;
	ask_everywhere(NULL, 3000, wake_up);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wakeup_goes_where_the_definition_says),
	};

	return cmocka_run_group_tests_name("wakeup", tests, NULL, NULL);
}
