/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Topology: from the host's description of each CPU to groups and domains.
 *
 * The levels nest by construction - a core is cut at its LLC, an LLC at its
 * memory node - so the machine is a tree:
 *
 *	level     0 CPU    1 core   2 LLC   3 node   4 machine     (groups)
 *	domain             SMT      MC      DIE      NUMA          (views)
 *
 * A CPU's domain at a level spans the group at that level; its parts are the
 * groups one level down. A level with a single part has nothing to balance and
 * is left out of the chain.
 *
 * The tree is first built of all CPUs that may come into service. It is built anew when a CPU
 * leaves or comes back, with the machine stopped (hotplug.c). In between it is constant. Isolated
 * CPUs are never in it. Source: Linux 6.1, topology.c (docs/sources.md).
 */
#include "sched/balance/balance.h"
#include "sched/balance/domain.h"
#include "sched/balance/energy.h"
#include "lib/fmt.h"
#include "lib/string.h"

enum { LEVEL_CPU, LEVEL_CORE, LEVEL_LLC, LEVEL_NODE, LEVEL_MACHINE, NR_LEVELS };

struct topology {
	struct group *groups;	     /* [NR_LEVELS][nr_cpus], at the index of its first CPU */
	struct domain *domains;	     /* [nr_cpus][NR_LEVELS - 1] */
	u16 *first;		     /* [NR_LEVELS][nr_cpus]: first CPU of the group around a CPU */
	struct sched_cpu_desc *desc; /* [nr_cpus] */
	struct cpumask built;	     /* CPUs of the tree; each other CPU is a group of its own */
};
STATIC_ASSERT(CPU_MAX <= 65536, "a CPU number fits the u16 of struct topology");

#define SD_USUAL                                                                                   \
	(SD_BALANCE_NEWIDLE | SD_BALANCE_EXEC | SD_BALANCE_FORK | SD_WAKE_AFFINE |                 \
	 SD_PREFER_SIBLING)

/* The properties in which the levels differ. */
static const struct {
	const char *name;
	u32 flags, imbalance_pct, cache_nice_tries;
} levels[NR_LEVELS] = {
	[LEVEL_CORE] = { "SMT", SD_USUAL | SD_SHARE_CPUCAPACITY | SD_SHARE_LLC, 110, 0 },
	[LEVEL_LLC] = { "MC", SD_USUAL | SD_SHARE_LLC, 117, 1 },
	[LEVEL_NODE] = { "DIE", SD_USUAL, 117, 1 },
	[LEVEL_MACHINE] = { "NUMA", (SD_USUAL & ~SD_PREFER_SIBLING) | SD_SERIALIZE | SD_NUMA, 117,
			    2 },
};

size_t topology_size(unsigned nr_cpus)
{
	return sizeof(struct topology) + NR_LEVELS * nr_cpus * sizeof(struct group) +
	       (NR_LEVELS - 1) * nr_cpus * sizeof(struct domain) +
	       nr_cpus * sizeof(struct sched_cpu_desc) + NR_LEVELS * nr_cpus * sizeof(u16);
}

/* --- groups --------------------------------------------------------------- */

static bool same_group(const struct topology *topo, unsigned cpu, unsigned other, int level)
{
	const struct sched_cpu_desc *a = &topo->desc[cpu], *b = &topo->desc[other];

	if (!cpumask_test(&topo->built, cpu) || !cpumask_test(&topo->built, other))
		return cpu == other;
	switch (level) {
	case LEVEL_CPU:
		return a == b;
	case LEVEL_CORE:
		return a->core == b->core && a->llc == b->llc && a->node == b->node;
	case LEVEL_LLC:
		return a->llc == b->llc && a->node == b->node;
	case LEVEL_NODE:
		return a->node == b->node;
	default:
		return true;
	}
}

static struct group *group_around(struct sched *s, unsigned cpu, int level)
{
	struct topology *topo = s->topology;

	SCHED_DEBUG_ASSERT(level >= 0 && level < NR_LEVELS);
	return &topo->groups[(unsigned)level * s->nr_cpus +
			     topo->first[(unsigned)level * s->nr_cpus + cpu]];
}

static void build_groups(struct sched *s, int level)
{
	u16 *first = &s->topology->first[(unsigned)level * s->nr_cpus];

	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++) {
		unsigned leader = 0;
		struct group *g;

		while (!same_group(s->topology, leader, cpu, level))
			leader++;
		first[cpu] = (u16)leader;
		g = group_around(s, cpu, level);
		g->first = leader;
		g->last = cpu;
		g->weight++;
		cpumask_set(&g->cpus, cpu);
	}
}

/* Link the groups of @level that make up one group of the level above. */
static void link_parts(struct sched *s, int level)
{
	SCHED_DEBUG_ASSERT(level < LEVEL_MACHINE);
	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++) {
		struct group *g = group_around(s, cpu, level), *leader;

		if (g->first != cpu)
			continue;
		leader = group_around(s, group_around(s, cpu, level + 1)->first, level);
		/* CPU numbers ascend: the leader comes first, a later group ends the circle. */
		if (g == leader) {
			g->next = g;
		} else {
			struct group *last = leader;

			while (last->next != leader)
				last = last->next;
			last->next = g;
			g->next = leader;
		}
	}
}

/* --- domains -------------------------------------------------------------- */

static bool has_several_capacities(struct sched *s, const struct group *span)
{
	unsigned cpu;

	for_each_cpu_of(cpu, span, &span->cpus)
		if (cpu_rq(s, cpu)->capacity_orig != cpu_rq(s, span->first)->capacity_orig)
			return true;
	return false;
}

static bool has_capacity_of(struct sched *s, const struct group *span, unsigned like)
{
	unsigned cpu;

	for_each_cpu_of(cpu, span, &span->cpus)
		if (cpu_rq(s, cpu)->capacity_orig == cpu_rq(s, like)->capacity_orig)
			return true;
	return false;
}

static bool has_all_capacities(struct sched *s, const struct group *span)
{
	unsigned cpu;

	for_each_cpu(cpu, &s->topology->built)
		if (!has_capacity_of(s, span, cpu))
			return false;
	return true;
}

/* Spreading evenly over CPUs that are not equal would be wrong. */
static void mark_capacities(struct sched *s, struct domain *sd)
{
	if (!has_several_capacities(s, sd->span))
		return;
	sd->flags |= SD_ASYM_CPUCAPACITY;
	if (has_all_capacities(s, sd->span))
		sd->flags |= SD_ASYM_CPUCAPACITY_FULL;
	if (sd->child)
		sd->child->flags &= ~SD_PREFER_SIBLING;
}

static struct domain *add_domain(struct sched *s, struct domain *sd, unsigned cpu, int level)
{
	struct group *span = group_around(s, cpu, level);

	SCHED_DEBUG_ASSERT(level > LEVEL_CPU);
	*sd = (struct domain){
		.span = span,
		.parts = group_around(s, cpu, level - 1),
		.name = levels[level].name,
		.flags = levels[level].flags,
		.min_interval_ms = span->weight,
		.max_interval_ms = 2 * span->weight,
		.balance_interval_ms = span->weight,
		.busy_factor = 16,
		.imbalance_pct = levels[level].imbalance_pct,
		.cache_nice_tries = levels[level].cache_nice_tries,
		.newidle_from = cpu,
	};
	return sd;
}

/*
 * Set how many tasks a node may hold before NUMA placement spreads them: enough that communicating
 * tasks stay together, few enough that memory bandwidth is not wasted. That is one task per LLC, or
 * an eighth of the node's CPUs if the node has a single LLC.
 */
static void set_numa_imbalance(struct rq *rq)
{
	struct domain *sd;
	u32 imb = 0, imb_span = 1;

	for_each_domain(sd, rq) {
		struct domain *child = sd->child;

		if (!(sd->flags & SD_SHARE_LLC) && child && (child->flags & SD_SHARE_LLC)) {
			u32 nr_llcs = sd->span->weight / child->span->weight;
			struct domain *numa = sd->parent;

			SCHED_DEBUG_ASSERT(child->span->weight &&
					   child->span->weight <= sd->span->weight);
			imb = max(1u, nr_llcs == 1 ? sd->span->weight / 8 : nr_llcs);
			sd->imb_numa_nr = imb;
			while (numa && !(numa->flags & SD_NUMA))
				numa = numa->parent;
			imb_span = numa ? numa->span->weight : sd->span->weight;
		} else {
			sd->imb_numa_nr = imb * max(1u, sd->span->weight / imb_span);
		}
	}
}

static void build_domains(struct sched *s, struct rq *rq)
{
	struct domain *sd = &s->topology->domains[rq->cpu * (NR_LEVELS - 1)], *below = NULL;

	rq->domains = rq->llc = NULL;
	rq->llc_id = rq->cpu;
	rq->llc_size = 1;
	rq->core = group_around(s, rq->cpu, LEVEL_CORE);
	for (int level = LEVEL_CORE; level < NR_LEVELS; level++) {
		struct group *part = group_around(s, rq->cpu, level - 1);

		if (part->next == part)
			continue;
		add_domain(s, sd, rq->cpu, level);
		sd->child = below;
		if (below)
			below->parent = sd;
		else
			rq->domains = sd;
		if (unlikely(rq->uneven))
			mark_capacities(s, sd);
		if (sd->flags & SD_SHARE_LLC) {
			rq->llc = sd;
			rq->llc_id = sd->span->first;
			rq->llc_size = sd->span->weight;
		}
		below = sd++;
	}
	set_numa_imbalance(rq);
}

/* Build the tree for @cpus; each other CPU is a group of its own at every level. */
static void build(struct sched *s, struct cpumask cpus)
{
	struct topology *topo = s->topology;

	topo->built = cpus;
	for (unsigned i = 0; i < NR_LEVELS * s->nr_cpus; i++)
		topo->groups[i] = (struct group){ .weight = 0 };
	for (int level = LEVEL_CPU; level < NR_LEVELS; level++)
		build_groups(s, level);
	for (int level = LEVEL_CPU; level < LEVEL_MACHINE; level++)
		link_parts(s, level);
	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++) {
		struct rq *rq = cpu_rq(s, cpu);

		build_domains(s, rq);
		/* A wakeup looks at every CPU until the first balancing pass has measured. */
		if (rq->llc) {
			rq->llc->span->nr_idle_scan = rq->llc_size;
			rq->llc->span->has_idle_cores = true;
		}
	}
}

void topology_init(struct sched *s, const struct sched_cpu_desc *desc)
{
	struct topology *topo = s->topology;

	SCHED_DEBUG_ASSERT(!topo->groups);
	topo->groups = (struct group *)(topo + 1);
	topo->domains = (struct domain *)(topo->groups + NR_LEVELS * s->nr_cpus);
	topo->desc = (struct sched_cpu_desc *)(topo->domains + (NR_LEVELS - 1) * s->nr_cpus);
	topo->first = (u16 *)(topo->desc + s->nr_cpus);
	memcpy(topo->desc, desc, s->nr_cpus * sizeof(*desc));
	/* Every possible CPU is about to come into service. */
	build(s, s->home);
	waste_init(s);
}

void topology_rebuild(struct sched *s)
{
	struct cpumask cpus = s->home;
	unsigned cpu;

	/* A CPU without an idle task has never been in service: it stays in the tree. */
	for_each_cpu(cpu, &s->possible)
		if (cpu_rq(s, cpu)->idle && !cpu_rq(s, cpu)->online)
			cpumask_clear(&cpus, cpu);
	build(s, cpus);
	if (s->freq)
		energy_rebuilt(s);
}

/* --- /proc/schedstat ------------------------------------------------------ */

/* Print @mask as plain hexadecimal of at least nr_cpus bits, with a comma every 32 bits. */
static void dump_mask(struct text *out, const struct sched *s, const struct cpumask *mask)
{
	unsigned digits = (s->nr_cpus + 3) / 4;

	for (unsigned digit = digits; digit-- > 0;) {
		text_add(out, "%lx", mask->bits[digit / 16] >> (digit % 16 * 4) & 0xf);
		if (digit && digit % 8 == 0)
			text_add(out, ",");
	}
}

void dump_schedstat_domains(struct text *out, struct rq *rq)
{
	struct domain *sd;
	unsigned nr = 0;

	for_each_domain(sd, rq) {
		text_add(out, "domain%u ", nr++);
		dump_mask(out, rq->s, &sd->span->cpus);
		for (unsigned type = 0; type < NR_IDLE_TYPES; type++) {
			const struct balance_stat *st = &sd->stat[type];

			text_add(out, " %lu %lu %lu %lu %lu %lu %lu %lu", st->count, st->balanced,
				 st->failed, st->imbalance, st->gained, st->hot_gained, st->nobusyq,
				 st->nobusyg);
		}
		/*
		 * alb_pushed is counted by the losing runqueue; Linux never filled exec's and
		 * fork's.
		 */
		text_add(out, " %lu %lu 0 0 0 0 0 0 0 %lu %lu 0\n", sd->alb_count, sd->alb_failed,
			 sd->ttwu_wake_remote, sd->ttwu_move_affine);
	}
}
