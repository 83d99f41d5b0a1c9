/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Domains and groups: the machine as a tree of CPU sets, and one CPU's view of it.
 *
 * A group is a set of CPUs at one level of the tree: a thread, a core, the CPUs
 * behind one last-level cache, a memory node, the machine. A domain is a CPU's
 * view of the group around it at some level: its parts are what balancing at
 * that level compares. Domains belong to one CPU, groups are shared.
 */
#pragma once

#include "sched/balance/capacity.h"
#include "sched/core/core.h"

enum domain_flags {
	SD_BALANCE_NEWIDLE = 0x1,    /* pull when about to go idle */
	SD_BALANCE_EXEC = 0x2,	     /* = SELECT_EXEC: spread at exec */
	SD_BALANCE_FORK = 0x4,	     /* = SELECT_FORK: spread at fork */
	SD_WAKE_AFFINE = 0x20,	     /* a waker may draw its wakee within this span */
	SD_ASYM_CPUCAPACITY = 0x40,  /* its CPUs have several capacities */
	SD_SHARE_CPUCAPACITY = 0x80, /* threads of a core */
	SD_ASYM_CPUCAPACITY_FULL = 0x100, /* all capacities of the machine are there */
	SD_SHARE_LLC = 0x200,	     /* share the last-level cache */
	SD_SERIALIZE = 0x400,	     /* one CPU of the machine balances it at a time */
	SD_PREFER_SIBLING = 0x1000,  /* spread over the parts of the level above first */
	SD_NUMA = 0x4000,	     /* crosses memory nodes */
};

/* A set of CPUs. All but the hints are constant while no CPU comes or leaves. */
struct group {
	struct cpumask cpus;
	u32 weight;	    /* number of CPUs */
	u32 first, last;    /* lowest CPU: the group's name; highest CPU */
	struct group *next; /* circular: the other parts of the same whole */

	/* hints; written without a lock */
	bool imbalance;	     /* affinity kept balancing from emptying a part of it */
	bool has_idle_cores; /* of an LLC: some core may have all threads idle */
	u32 nr_idle_scan;    /* of an LLC: at how many CPUs a wakeup looks for an idle one */
};

enum idle_type { CPU_IDLE, CPU_BUSY, CPU_NEWLY_IDLE, NR_IDLE_TYPES };

/* /proc/schedstat's numbers for each idle type, in its order. */
struct balance_stat {
	u64 count, balanced, failed, imbalance, gained, hot_gained, nobusyq, nobusyg;
};

struct domain {
	/* constant between changes of the topology; those after flags also written by users */
	struct domain *parent, *child;
	struct group *span;  /* all its CPUs */
	struct group *parts; /* what balancing compares: circular, the part with this CPU first */
	const char *name;
	u32 flags; /* enum domain_flags */
	u64 min_interval_ms, max_interval_ms;
	u32 busy_factor;      /* a busy CPU balances this many times less often */
	u32 imbalance_pct;    /* how much more loaded, in percent, is worth moving tasks for */
	u32 cache_nice_tries; /* failed passes after which cache-hot tasks are moved too */
	u32 imb_numa_nr;      /* tasks that may stay on one node before they are spread */

	/* hints, written by the CPU that balances for this one: one at a time in practice */
	u64 last_balance; /* jiffy */
	u64 balance_interval_ms;
	u32 nr_balance_failed;
	u64 max_newidle_lb_cost; /* ns that a newly idle search at this level takes */
	u64 last_decay;		 /* jiffy in which max_newidle_lb_cost changed last */
	u32 newidle_from;	 /* the CPU beyond the cache at which such a search looked last */
	struct balance_stat stat[NR_IDLE_TYPES];
	u64 alb_count, alb_failed;
	u64 ttwu_wake_remote, ttwu_move_affine;
};

size_t topology_size(unsigned nr_cpus);
/* Build groups and domains from the host's description @desc. The runqueues exist already. */
void topology_init(struct sched *s, const struct sched_cpu_desc *desc);
/*
 * Build groups and domains anew for the CPUs in service; each other CPU becomes a group of its own.
 * The machine is stopped (hotplug.c).
 */
void topology_rebuild(struct sched *s);

/*
 * The first CPU of @g that is in @mask, too, and >= @from; CPU_MAX: there is none. Words of the
 * masks beyond the group are not read: most groups are a small part of a large machine.
 */
static inline __racy unsigned next_cpu_of(const struct group *g, const struct cpumask *mask,
					 unsigned from)
{
	u64 wanted = ~0ull << (from % 64);

	for (unsigned w = from / 64; w <= g->last / 64; w++, wanted = ~0ull) {
		u64 word = g->cpus.bits[w] & mask->bits[w] & wanted;

		if (word)
			return w * 64 + (unsigned)__builtin_ctzll(word);
	}
	return CPU_MAX;
}

/* Each CPU of the group @g that is in @mask, too. */
#define for_each_cpu_of(cpu, g, mask)                                                              \
	for (cpu = next_cpu_of(g, mask, (g)->first); cpu < CPU_MAX;                                \
	     cpu = next_cpu_of(g, mask, cpu + 1))

/* The CPU of @g after @cpu, in a circle. */
static inline unsigned next_cpu_around(const struct group *g, unsigned cpu)
{
	if (cpu >= g->last)
		return g->first;
	/* Most of the time it is the next number. */
	return cpumask_test(&g->cpus, cpu + 1) ? cpu + 1 : cpumask_next(&g->cpus, cpu + 1);
}

#define for_each_domain(sd, rq) for ((sd) = (rq)->domains; (sd); (sd) = (sd)->parent)

/*
 * The lowest domain of @cpu that has the capacities of all CPUs in service, and the CPU @other;
 * NULL: there is none, for they are equal, or no domain has both.
 */
static inline const struct domain *domain_of_all_capacities(struct sched *s, unsigned cpu,
							    unsigned other)
{
	const struct domain *sd;

	for_each_domain(sd, cpu_rq(s, cpu))
		if ((sd->flags & SD_ASYM_CPUCAPACITY_FULL) && cpumask_test(&sd->span->cpus, other))
			return sd;
	return NULL;
}

/*
 * Returns the CPU of @good to which an urgent task of @rq goes, on behalf of CPU @cpu; -1: @good is
 * empty. The CPU of @rq comes first. Then only the CPUs that are nearest to it count: @cpu if it is
 * one of them, else the next after the one that @cpu took the last time, so that all have their
 * turns. The lock of @rq is held. (urgent.c)
 */
int urgent_target(struct rq *rq, const struct cpumask *good, unsigned cpu);

/* --- how busy (load.c) ---------------------------------------------------- */

/* The state of a group. The greater the value, the more the group deserves to lose tasks. */
enum group_type {
	GROUP_HAS_SPARE,  /* some CPU could take more */
	GROUP_FULLY_BUSY, /* every CPU is used, and tasks hardly compete */
	GROUP_MISFIT,	  /* a task needs more than its CPU has, or has left of its capacity */
	GROUP_IMBALANCED, /* affinity hindered balancing within it */
	GROUP_OVERLOADED, /* tasks wait */
};

struct group_stats {
	const struct group *group;
	u64 load, util, runnable, capacity;
	u64 avg_load; /* load per capacity, scaled by 1024; set if overloaded, or on demand */
	u64 misfit;   /* the greatest load of a task that its CPU has too little for, or 0 */
	/* The capacities of its weakest and its strongest CPU; set with MISFITS_UNEVEN only. */
	u64 least_capacity, most_capacity;
	u32 nr_running; /* tasks of all classes */
	u32 nr_fair;
	u32 idle_cpus, weight;
	enum group_type type;
};

/* Tasks that make a group one to help. */
enum misfits {
	MISFITS_NONE,
	MISFITS_REDUCED, /* alone on a CPU that lost much of its capacity */
	MISFITS_UNEVEN,	 /* that need more than their CPU has */
};

/*
 * The measurements of those CPUs of @group that are in @cpus, read without locks. The task @except,
 * unless it is NULL, is not counted; with MISFITS_UNEVEN it is the misfit if no CPU has enough for
 * it. @imbalance_pct: the margin of the domain that compares.
 */
struct group_stats group_measure(struct sched *s, const struct group *group,
				 const struct cpumask *cpus, const struct task *except,
				 u32 imbalance_pct, enum misfits misfits);

/* True if @rq runs its idle task and nothing is queued on it. */
static inline bool cpu_is_idle(const struct rq *rq)
{
	return READ_ONCE(rq->curr) == rq->idle && !READ_ONCE(rq->nr_running);
}

/* True if @rq has SCHED_IDLE tasks only: nearly as good as idle. */
static inline bool cpu_is_sched_idle(const struct rq *rq)
{
	u32 nr = READ_ONCE(rq->nr_running);

	return nr && nr == READ_ONCE(rq->fair.tasks.nr_idle);
}

/* True if a task that wakes up would wait for nobody on @cpu, or for SCHED_IDLE tasks only. */
static inline bool cpu_is_free(struct sched *s, unsigned cpu)
{
	const struct rq *rq = cpu_rq(s, cpu);
	u32 nr = READ_ONCE(rq->nr_running);

	return nr ? nr == READ_ONCE(rq->fair.tasks.nr_idle) : READ_ONCE(rq->curr) == rq->idle;
}

static inline u64 cpu_load(const struct rq *rq)
{
	return READ_ONCE(rq->fair.avg.load_avg);
}

/*
 * The load that @t contributes to its CPU: its part of its queue's load, and so on up to the root.
 */
static inline u64 task_load(const struct task *t)
{
	u64 load = t->fair.avg.load_avg;

	for (struct fair_queue *q = t->fair.queue; unlikely(q->owner); q = q->owner->queue)
		load = load * q->owner->avg.load_avg / (q->avg.load_avg + 1);
	return load;
}

static inline bool shares_llc(struct sched *s, unsigned a, unsigned b)
{
	return cpu_rq(s, a)->llc_id == cpu_rq(s, b)->llc_id;
}

/*
 * The number of tasks to move between memory nodes: 0 if the @imbalance is too small to care, else
 * @imbalance.
 */
u32 adjust_numa_imbalance(u32 imbalance, u32 running, u32 imb_numa_nr);

/*
 * Balance for @dst at @sd. Returns the number of tasks moved, or -1 if another CPU balances for
 * this group. No lock held. (balance.c)
 */
int balance_domain(struct rq *dst, struct domain *sd, enum idle_type idle);

/* Jiffies between balancing passes of a domain. (rebalance.c) */
u64 balance_interval(const struct sched *s, const struct domain *sd, bool busy);
