/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A runqueue and the machine. Fields are grouped by what guards them.
 */
#pragma once

#include "lib/math64.h"
#include "lib/prng.h"
#include "sched/balance/shard.h"
#include "sched/balance/waste.h"
#include "sched/class.h"
#include "sched/fair/core/state.h"
#include "sched/observe/check.h"
#include "sched/observe/tunable.h"
#include "sched/sched.h"

struct domain;
struct freq;
struct freq_cpu;
struct group;

/* Alone a task yields to nobody; the usual rq->yield_below. */
#define YIELD_BELOW 2

/* Requests for a switch, in order of urgency. */
enum resched { RESCHED_NONE, RESCHED_PATIENT, RESCHED_NOW };

/* The coming switch goes by the clock of the lock section before it; this one does. */
enum keep_clock { KEEP_CLOCK_NEXT = 1, KEEP_CLOCK_NOW = KEEP_CLOCK_NEXT << 1 };

struct rq {
	struct host_lock lock;

	/* changed by hotplug.c only; online under the lock, domains with the machine stopped */
	struct sched *s;
	u32 cpu;
	bool online; /* if not, nothing is queued here: see PROTOCOL: hotplug */
	struct task *idle;
	struct freq_cpu *freq; /* NULL: its speed is always 1; constant */

	GUARDED(lock, "placement and balancing of any CPU: right a moment ago is right enough");
	u64 clock;		/* host_clock() of this lock section */
	bool throttles;		/* a queue was throttled ever */
	bool own_time;		/* so, or its speed changes: pelt_now() may differ from clock */
	bool deciding;		/* a decision's records are being made: nothing else is traced */
	bool uneven;		/* the machine has CPUs of several capacities; constant */
	struct task *curr;	/* runs, or is about to: see PROTOCOL: switch in switch.c */
	struct task *prev;	/* ran before; between switch_begin and switch_end */
	u32 active;		/* BIT(CLASS_x) of the classes that have a task to pick */
	u32 push;		/* of those that may have tasks for other CPUs after a switch */
	u32 nr_running;		/* queued and pickable, over all classes */
	u32 nr_restricted;	/* queued, but not allowed on every CPU */
	u32 seeking;		/* of those that look for tasks whenever the CPU has no others */
	u32 yield_below;	/* sched_yield() does nothing with fewer runnable tasks */
	u8 need_resched;	/* enum resched: a switch was asked for, or is being chosen */
	u8 keep_clock;		/* enum keep_clock, ored */
	u32 nr_uninterruptible; /* asleep in a state that counts in the load average */

	struct fair_queue fair; /* the root's */
	GUARDED(lock);
	struct prng prng; /* for policies that draw lots */
	GUARDED(lock, "whoever serves its timers: whether there are any");
	struct bandwidth_rq bandwidth;
	GUARDED(lock);
	struct list queues;	/* all others of this CPU, children before parents */
	struct list fair_tasks; /* queued ones, most recently run first: balancing takes the tail */
	struct list delayed;	/* tasks that sleep but are still in a fair queue: TASK_DELAYED */
	GUARDED(lock, "dumps: one word");
	u64 hrtick_at; /* when the turn of the running task ends by a timer; 0: never */
	u8 class_rule; /* enum class_rule: by which rule a class decided; for records */

	bool notice; /* written by any CPU: there is news for a class: poke() */
	GUARDED(lock, "dumps: one word");
	bool timer_stale; /* a deadline changed: this CPU is to arm its timer anew */
	u64 timer_armed;  /* what host_timer() was told last; 0: nothing */

	/* written by this CPU only */
	bool yield;	/* the running task called sched_yield(): taken at the next switch */
	u32 taken_last; /* urgent_target()'s choice, when last it had one */

	/* balancing; guarded by: lock unless said */
	struct domain *domains;	  /* bottom-up; NULL if it is alone, or out of service */
	struct domain *llc;	  /* highest level that shares a cache, or NULL */
	const struct group *core; /* the threads of this core; itself at least */
	u32 llc_id, llc_size;	  /* first CPU and number of CPUs that share the last-level cache */
	u64 next_balance;	  /* jiffy; hint: written by who balances for this CPU */
	GUARDED(lock, "placement and balancing of any CPU: right a moment ago is right enough");
	u64 idle_stamp;	    /* since when it idles, for avg_idle; 0: it does not */
	u64 avg_idle;	    /* ns an idle period lasts */
	struct pelt urgent; /* util: the time that classes before fair take */
	u64 capacity;	    /* what they leave */

	u64 capacity_orig; /* at full speed, of the fastest CPU's; constant */
	GUARDED(lock, "balancing: hints");
	u64 misfit_load; /* of the task that runs, if it needs more; 0 */

	u64 max_idle_balance_cost; /* as next_balance */
	GUARDED(lock, "balancing: hints");
	struct list handover; /* TASK_MIGRATING tasks on their way: see deliver() */
	bool pulling; /* in a switch, the lock dropped to look for work: see PROTOCOL: switch */

	bool tick_stopped; /* in s->nohz_idle, unless it is isolated; this CPU only */
	bool nohz_kicked;  /* asked to balance for the idle CPUs */

	struct waste_rq waste;

	struct sharedq_rq shared;
	struct class_state class_state;

	/* statistics; guarded by: lock, the sched_ and ttwu_ ones written by this CPU only */
#define STAT(name, ...) u64 name;
#include "sched/observe/stat.def"
#undef STAT
} __aligned(64);

/* --- the machine ---------------------------------------------------------- */

struct sched {
	/* constant after sched_init() */
	u32 nr_cpus, hz;
	u64 tick_ns;
	struct rq *rq;		   /* [nr_cpus] */
	struct rq *rq_of[CPU_MAX]; /* the same, found without a multiplication */
	struct topology *topology;
	struct freq *freq; /* NULL: all CPUs have one speed */
	struct cpumask possible;
	struct cpumask isolated; /* see sched_isolated() */
	struct cpumask home;	 /* the others: what a new task is allowed */
	u32 nr_home;
	bool has_isolated;
	const struct sched_class *class[NR_CLASSES]; /* by rank: the next */
	struct sched_class class_copy[NR_CLASSES];   /* its operations are changed by recorders */
	const struct sched_class *class_own[NR_CLASSES]; /* of which that is a copy */
	const struct fair_server *server;		 /* of the class that has one */
	/* built in, then the host's if it brings one, then NULL */
	const struct fair_policy *policy[NR_POLICIES + 2];

	/* written one word at a time, read without a lock */
	const struct fair_policy *fair_policy; /* of every queue, unless a swap is under way */
	struct tunables tunable;
	struct tunables normalised; /* of the scaled ones, before scaling */
	u32 nr_latency; /* tasks that fit a period: latency / min_granularity, rounded up */
	u64 features;	/* BIT(FEATURE_x) */
	u64 trace_mask; /* BIT(EVENT_x) */
	bool lazy;	/* see sched_set_lazy() */

	/* guarded by: the host (group.h) */
	struct list groups;		 /* children of the root */
	u32 nr_groups_made;		 /* ever: the number of the latest */
	struct group_state policy_state; /* of the root: what policies keep of the machine */

	/* bits changed atomically */
	struct cpumask online;
	struct cpumask nohz_idle;   /* CPUs that stopped their tick */
	struct cpumask shared_idle; /* CPUs that found no work in the shared wake queue */
	struct cpumask rt_overload; /* CPUs with a movable rt task that waits */
	struct cpumask crowded;	    /* CPUs with two runnable tasks or more */
	bool affinity_lost;	    /* some task's is; see sched_affinity_lost() */
	u64 epoch;		    /* the clock at jiffy 0: on this side of the end of time */
	u64 nohz_next_balance;	    /* jiffy: when idle CPUs should balance next */
	u64 nohz_next_refresh;	    /* jiffy: when their averages are decayed next */
	bool numa_balancing_now;    /* someone balances a SD_SERIALIZE domain */

	struct waste waste;			  /* of the machine */
	struct host_lock waste_lock, family_lock; /* leaves; the latter guards task.family of all */

	struct prng prng; /* guarded by: nothing; used by sched_init() and tests only */
};

static inline struct rq *cpu_rq(struct sched *s, unsigned cpu)
{
	SCHED_DEBUG_ASSERT(cpu < s->nr_cpus);
	return s->rq_of[cpu];
}

static inline bool feature(const struct sched *s, enum feature f)
{
	return s->features & BIT(f);
}

/* The number of the tick at @now; ticks of different CPUs need not coincide. It only grows. */
static inline u64 jiffies(const struct sched *s, u64 now)
{
	return (now - s->epoch) / s->tick_ns;
}

/* 1 if the optional counters count, else 0: what to add to one. */
static inline u64 schedstats(const struct sched *s)
{
	return s->tunable.schedstats;
}
