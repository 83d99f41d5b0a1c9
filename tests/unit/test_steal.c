/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which waiting task an idle CPU gets out of the shared wake queue, against the definition, on
 * machines drawn at random: who waits where and since when, who may come, how many cores share a
 * shard. Counters and the time to come again are compared, too. See also test_sharedq.c.
 */
#include "smp.h"
#include "lib/prng.h"
#include "sched/balance/sharedq.h"

static const struct shape {
	unsigned nodes, llcs, cores, smt;
} shapes[] = { { 1, 1, 5, 1 }, { 1, 3, 2, 1 }, { 1, 2, 2, 2 }, { 2, 2, 2, 1 }, { 3, 1, 3, 1 } };

struct scene {
	struct machine *m;
	const struct shape *shape;
	struct prng rng;
	unsigned thief, shard_size;
	bool steals;
};

/* The answer of the definition. */
struct answer {
	struct task *got;
	u64 steal_at;
	u64 refused, tried, stolen;
};

static unsigned cache_size(const struct scene *sc)
{
	return sc->shape->smt * sc->shape->cores;
}

static unsigned nr_caches(const struct scene *sc)
{
	return sc->shape->nodes * sc->shape->llcs;
}

static bool perhaps(struct scene *sc, unsigned one_in)
{
	return !prng_below(&sc->rng, one_in);
}

/* --- drawing ---------------------------------------------------------------------------------- */

/* A task that waits on @cpu, or runs there if nobody else does, and may run there at least. */
static void put_one(struct scene *sc, unsigned cpu)
{
	struct task *t = put(sc->m, cpu);
	struct cpumask mask = { { prng_u64(&sc->rng) & (BIT(sc->m->nr_cpus) - 1) } };

	cpumask_set(&mask, cpu);
	if (perhaps(sc, 2))
		allow(sc->m, t, mask);
	assert_int_equal(t->cpu, cpu);
}

/* The tasks of a shard wait since times that ascend. */
static void draw_times(struct scene *sc, struct shard *shard)
{
	static const u64 steps[] = { 0, 1, MS / 2 - 1, MS / 2, MS / 2 + 1, MS, 4 * MS };
	u64 at = sc->m->now - 6 * MS;
	struct task *t;

	if (perhaps(sc, 2))
		at = sc->m->now - 5 * MS - 1 + prng_below(&sc->rng, 3);
	list_for_each(t, &shard->tasks, shared.link) {
		at += steps[prng_below(&sc->rng, ARRAY_SIZE(steps))];
		at = at > sc->m->now ? sc->m->now : at;
		t->shared.since = at;
	}
	if (shard->nr)
		shard->since = list_first(&shard->tasks, struct task, shared.link)->shared.since;
}

static void draw(struct scene *sc)
{
	char size[] = { (char)('1' + prng_below(&sc->rng, 3)), 0 };
	unsigned nr;

	sc->m = cold_machine(sc->shape->nodes, sc->shape->llcs, sc->shape->cores, sc->shape->smt);
	nr = sc->m->nr_cpus;
	sc->thief = prng_below(&sc->rng, nr);
	sc->shard_size = (unsigned)(size[0] - '0');
	for (unsigned cpu = 0; cpu < nr; cpu++)
		for (unsigned n = prng_below(&sc->rng, 5); cpu != sc->thief && n > 1; n--)
			put_one(sc, cpu);
	sc->steals = !perhaps(sc, 4);
	set_tunable(sc->m, "shared_runq_shard_size", size);
	if (sc->steals)
		set_feature(sc->m, "SHARED_RUNQ_STEAL");
	set_feature(sc->m, "SHARED_RUNQ");
	for (unsigned cpu = 0; cpu < nr; cpu++)
		draw_times(sc, &rq_of(sc->m, cpu)->shared.own_shard);
}

/* --- the definition --------------------------------------------------------------------------- */

static unsigned nr_shards(const struct scene *sc)
{
	return (cache_size(sc) + sc->shard_size - 1) / sc->shard_size;
}

/* The shards of a cache lie with its first CPUs. */
static const struct shard *shard_of(const struct scene *sc, unsigned cache, unsigned index)
{
	return &rq_of(sc->m, cache * cache_size(sc) + index)->shared.own_shard;
}

/* Cores take the shards of their cache in turn. */
static unsigned index_of(const struct scene *sc, unsigned cpu)
{
	return cpu % cache_size(sc) / sc->shape->smt % nr_shards(sc);
}

static bool take_head(const struct scene *sc, const struct shard *shard, struct answer *a)
{
	struct task *head;

	if (!shard->nr)
		return false;
	head = list_first(&shard->tasks, struct task, shared.link);
	if (cpumask_test(&head->allowed, sc->thief))
		a->got = head;
	else
		a->refused++;
	return a->got;
}

static u32 waiting_in(const struct scene *sc, unsigned cache)
{
	u32 nr = 0;

	for (unsigned i = 0; i < nr_shards(sc); i++)
		nr += shard_of(sc, cache, i)->nr;
	return nr;
}

/* @wait: so long the first of a shard must have waited. */
static void look_far(const struct scene *sc, unsigned cache, u64 wait, struct answer *a)
{
	if (waiting_in(sc, cache) < 2) /* its own CPUs will come for one */
		return;
	for (unsigned i = 0; i < nr_shards(sc) && !a->got; i++) {
		const struct shard *shard = shard_of(sc, cache, i);
		u64 ripe = shard->since + wait;

		if (!shard->nr)
			continue;
		if (ripe <= sc->m->now) {
			a->tried++;
			a->stolen += take_head(sc, shard, a);
		} else if (!a->steal_at || ripe < a->steal_at) {
			a->steal_at = ripe;
		}
	}
}

static struct answer define(const struct scene *sc)
{
	unsigned own = sc->thief / cache_size(sc), node = own / sc->shape->llcs;
	struct answer a = { .got = NULL };
	bool crowded = false;

	for (unsigned cpu = 0; cpu < sc->m->nr_cpus; cpu++)
		crowded |= rq_of(sc->m, cpu)->nr_running > 1;
	if (!crowded)
		return a;
	for (unsigned i = 0; i < nr_shards(sc) && !a.got; i++)
		take_head(sc, shard_of(sc, own, (index_of(sc, sc->thief) + i) % nr_shards(sc)), &a);
	for (unsigned far = 0; sc->steals && far < 2; far++)
		for (unsigned i = 1; i < nr_caches(sc) && !a.got; i++) {
			unsigned cache = (own + i) % nr_caches(sc);

			if ((cache / sc->shape->llcs != node) == far)
				look_far(sc, cache, far ? 5 * MS : MS / 2, &a);
		}
	return a;
}

/* --- comparing -------------------------------------------------------------------------------- */

/* Each waiting task that may go elsewhere is in the shard of its core, in the order of arrival. */
static void judge_links(const struct scene *sc)
{
	unsigned nr = 0, linked = 0;
	struct task *t;

	for (unsigned cpu = 0; cpu < sc->m->nr_cpus; cpu++) {
		struct rq *rq = rq_of(sc->m, cpu);

		assert_ptr_equal(rq->shared.shard,
				 shard_of(sc, cpu / cache_size(sc), index_of(sc, cpu)));
		assert_int_equal(rq->shared.nr_shards, nr_shards(sc));
		list_for_each(t, &rq->fair_tasks, link)
			nr += t != rq->curr && t->nr_allowed > 1;
		linked += rq->shared.own_shard.nr;
		list_for_each(t, &rq->shared.own_shard.tasks, shared.link) {
			assert_int_equal(t->shared.state, SHARED_LINKED);
			assert_ptr_equal(rq_of(sc->m, t->cpu)->shared.shard, &rq->shared.own_shard);
		}
	}
	assert_int_equal(linked, nr);
}

static void judge(struct scene *sc)
{
	struct rq *rq = rq_of(sc->m, sc->thief);
	struct answer a = define(sc);
	unsigned from = a.got ? a.got->cpu : 0;
	bool works;

	judge_links(sc);
	rq_lock(rq);
	works = sharedq_pull(rq);
	rq_unlock(rq);
	assert_int_equal(works, a.got != NULL);
	assert_int_equal(rq->nr_running, a.got != NULL);
	if (a.got) {
		assert_int_equal(a.got->cpu, sc->thief);
		assert_int_equal(a.got->shared.state, SHARED_NOT);
		assert_int_not_equal(from, sc->thief);
	}
	assert_int_equal(rq->shared.steal_at, a.steal_at);
	assert_int_equal(rq->shared_refused, a.refused);
	assert_int_equal(rq->shared_steal_tried, a.tried);
	assert_int_equal(rq->shared_stolen, a.stolen);
	assert_int_equal(rq->shared_pulled, a.got != NULL);
	assert_int_equal(rq->shared_raced, 0);
	assert_int_equal(rq->shared_steal_busy, 0);
	assert_true(cpumask_test(&sc->m->s->shared_idle, sc->thief));
}

static void an_idle_cpu_gets_the_task_that_the_definition_says(void **state)
{
	enum { SCENES = 120 };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(shapes); i++) {
		struct scene sc = { .shape = &shapes[i] };

		prng_seed(&sc.rng, 1 + i);
		for (unsigned n = 0; n < SCENES; n++) {
			draw(&sc);
			judge(&sc);
			machine_free(sc.m);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_idle_cpu_gets_the_task_that_the_definition_says),
	};

	return cmocka_run_group_tests_name("steal", tests, NULL, NULL);
}
