/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Domains and groups against their definition: machines of every shape, CPUs numbered in any
 * order, and some out of service. The definition is about sets: who shares a core, a cache, a node.
 * See also test_topology.c.
 */
#include "host.h"
#include "lib/prng.h"
#include "sched/balance/domain.h"

enum level { ALONE, CORE, CACHE, NODE, MACHINE, NR_LEVELS };

/* docs/sources.md, Linux 6.1: topology.c. */
static const struct {
	const char *name;
	u32 imbalance_pct, nice_tries;
	bool shares_capacity, shares_cache, prefers_sibling, is_far;
} rules[NR_LEVELS] = {
	[CORE] = { "SMT", 110, 0, true, true, true, false },
	[CACHE] = { "MC", 117, 1, false, true, true, false },
	[NODE] = { "DIE", 117, 1, false, false, true, false },
	[MACHINE] = { "NUMA", 117, 2, false, false, false, true },
};

struct shape {
	unsigned nr;
	struct sched_cpu_desc desc[CPU_MAX];
	u64 away; /* CPUs out of service */
};

/* CPUs are numbered as they lie, or in any order. */
static void draw(struct shape *shape, struct prng *rng)
{
	unsigned nodes = 1 + prng_below(rng, 2), caches = 1 + prng_below(rng, 3);
	unsigned cores = 1 + prng_below(rng, 3), smt = 1 + prng_below(rng, 3);
	bool mixed = prng_below(rng, 2);

	shape->nr = nodes * caches * cores * smt;
	shape->away = 0;
	for (unsigned cpu = 0; cpu < shape->nr; cpu++) {
		unsigned other = mixed ? prng_below(rng, cpu + 1) : cpu;

		shape->desc[cpu] = shape->desc[other];
		shape->desc[other] = (struct sched_cpu_desc){
			.core = cpu / smt,
			.llc = cpu / smt / cores,
			.package = cpu / smt / cores / caches,
			.node = cpu / smt / cores / caches,
		};
		shape->away |= !cpu || prng_below(rng, 5) ? 0 : BIT(cpu);
	}
}

/* The CPUs that share with @cpu what a level is about. One out of service shares nothing. */
static u64 around(const struct shape *shape, unsigned cpu, enum level level)
{
	u64 set = 0;

	for (unsigned other = 0; other < shape->nr; other++) {
		const struct sched_cpu_desc *a = &shape->desc[cpu], *b = &shape->desc[other];
		bool same[NR_LEVELS] = { other == cpu, a->core == b->core, a->llc == b->llc,
					 a->node == b->node, true };

		if (other == cpu || (same[level] && !(shape->away & (BIT(cpu) | BIT(other)))))
			set |= BIT(other);
	}
	return set;
}

static unsigned size(u64 set)
{
	return (unsigned)__builtin_popcountll(set);
}

static u32 flags_of(enum level level)
{
	return SD_BALANCE_NEWIDLE | SD_BALANCE_EXEC | SD_BALANCE_FORK | SD_WAKE_AFFINE |
	       (rules[level].shares_capacity ? SD_SHARE_CPUCAPACITY : 0) |
	       (rules[level].shares_cache ? SD_SHARE_LLC : 0) |
	       (rules[level].prefers_sibling ? SD_PREFER_SIBLING : 0) |
	       (rules[level].is_far ? SD_NUMA | SD_SERIALIZE : 0);
}

/* The parts are a circle in the order of their first CPUs, and begin with the one of @cpu. */
static void judge_parts(const struct shape *shape, const struct domain *sd, unsigned cpu,
			enum level below, u64 span)
{
	const struct group *g = sd->parts;
	u64 seen = 0;

	assert_int_equal(g->cpus.bits[0], around(shape, cpu, below));
	do {
		unsigned first = (unsigned)__builtin_ctzll(g->cpus.bits[0]), next;
		u64 later, rest;

		assert_int_equal(g->first, first);
		assert_int_equal(g->weight, size(g->cpus.bits[0]));
		assert_int_equal(g->cpus.bits[0], around(shape, first, below));
		assert_false(seen & g->cpus.bits[0]);
		seen |= g->cpus.bits[0];
		/* the first CPU behind this one that begins a part, or else the span's first */
		later = 0;
		for (unsigned other = first + 1; other < shape->nr && !later; other++)
			if (span & BIT(other) &&
			    (unsigned)__builtin_ctzll(around(shape, other, below)) == other)
				later = BIT(other);
		rest = later ? later : span;
		next = (unsigned)__builtin_ctzll(rest);
		assert_int_equal(g->next->first, next);
		g = g->next;
	} while (g != sd->parts);
	assert_int_equal(seen, span);
}

/*
 * This number of tasks may stay together before they are spread over nodes: one for each cache of
 * the lowest level beyond the cache, or an eighth of its CPUs if it has only one whole cache.
 */
static u32 numa_imbalance(const struct rq *rq, const struct domain *of)
{
	const struct domain *beyond = rq->domains, *far;
	u32 most;

	if (!beyond || !(beyond->flags & SD_SHARE_LLC))
		return 0;
	while (beyond && (beyond->flags & SD_SHARE_LLC))
		beyond = beyond->parent;
	if (!beyond || of->span->weight < beyond->span->weight)
		return 0;
	most = beyond->span->weight / rq->llc_size;
	if (most == 1)
		most = beyond->span->weight < 16 ? 1 : beyond->span->weight / 8;
	for (far = beyond->parent; far && !(far->flags & SD_NUMA);)
		far = far->parent;
	return of == beyond || !far ? most : most * (of->span->weight / far->span->weight);
}

static void judge_domain(const struct shape *shape, const struct rq *rq, const struct domain *sd,
			 enum level level)
{
	u64 span = around(shape, rq->cpu, level);

	assert_string_equal(sd->name, rules[level].name);
	assert_int_equal(sd->flags, flags_of(level));
	assert_int_equal(sd->imbalance_pct, rules[level].imbalance_pct);
	assert_int_equal(sd->cache_nice_tries, rules[level].nice_tries);
	assert_int_equal(sd->span->cpus.bits[0], span);
	assert_int_equal(sd->span->weight, size(span));
	assert_int_equal(sd->span->first, __builtin_ctzll(span));
	assert_int_equal(sd->min_interval_ms, size(span));
	assert_int_equal(sd->balance_interval_ms, size(span));
	assert_int_equal(sd->max_interval_ms, 2 * size(span));
	assert_int_equal(sd->busy_factor, 16);
	assert_int_equal(sd->newidle_from, rq->cpu);
	assert_int_equal(sd->imb_numa_nr, numa_imbalance(rq, sd));
	judge_parts(shape, sd, rq->cpu, level - 1, span);
}

/* A level is there if it has more than one part. */
static void judge_cpu(const struct shape *shape, const struct rq *rq)
{
	const struct domain *sd = rq->domains, *below = NULL, *cache = NULL;
	u64 near;

	for (enum level level = CORE; level < NR_LEVELS; level++) {
		if (around(shape, rq->cpu, level) == around(shape, rq->cpu, level - 1))
			continue;
		assert_non_null(sd);
		assert_ptr_equal(sd->child, below);
		judge_domain(shape, rq, sd, level);
		cache = rules[level].shares_cache ? sd : cache;
		below = sd;
		sd = sd->parent;
	}
	assert_null(sd);
	assert_ptr_equal(rq->llc, cache);
	near = cache ? cache->span->cpus.bits[0] : BIT(rq->cpu);
	assert_int_equal(rq->llc_id, __builtin_ctzll(near));
	assert_int_equal(rq->llc_size, size(near));
	assert_int_equal(rq->core->cpus.bits[0], around(shape, rq->cpu, CORE));
	if (cache) {
		assert_int_equal(cache->span->nr_idle_scan, size(near));
		assert_true(cache->span->has_idle_cores);
	}
}

static void domains_are_the_sets_that_the_description_says(void **state)
{
	enum { SHAPES = 150 };
	struct shape shape;
	struct prng rng;

	(void)state;
	prng_seed(&rng, 1);
	for (unsigned n = 0; n < SHAPES; n++) {
		struct machine *m;
		u64 away;

		draw(&shape, &rng);
		m = machine_new_on(shape.nr, 1000, shape.desc, NULL);
		away = shape.away;
		shape.away = 0;
		for (unsigned cpu = 0; cpu < shape.nr; cpu++)
			judge_cpu(&shape, cpu_rq(m->s, cpu));
		shape.away = away;
		for (unsigned cpu = 1; cpu < shape.nr; cpu++)
			if (away & BIT(cpu))
				assert_int_equal(sched_cpu_offline(m->s, cpu), 0);
		for (unsigned cpu = 0; cpu < shape.nr; cpu++)
			judge_cpu(&shape, cpu_rq(m->s, cpu));
		machine_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(domains_are_the_sets_that_the_description_says),
	};

	return cmocka_run_group_tests_name("domains", tests, NULL, NULL);
}
