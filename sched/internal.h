/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scheduler's own structures: the machine, a runqueue, a fair queue, and the
 * helpers all of sched/ shares. Fields are grouped by what guards them; how to
 * read them without that lock is in docs/locking.md.
 *
 * Only sched/ and the white-box tests include this.
 */
#pragma once

#include "lib/math64.h"
#include "lib/prng.h"
#include "sched/class.h"
#include "sched/observe/event.h"
#include "sched/host.h"
#include "sched/sched.h"
#include "sched/task.h"
#include "sched/balance/waste.h"

#define MAX_RT_PRIO	   100
#define NICE_TO_PRIO(nice) ((nice) + 120)
#define PRIO_TO_NICE(prio) ((prio)-120)
#define PRIO_IDLE	   120 /* of the idle tasks, as traces show it */

/* --- assertions ----------------------------------------------------------- */
/* O(1) and in every build: an impossibility is worth a stop, not a wrong schedule. */
#define SCHED_ASSERT(cond)                                                                         \
	do {                                                                                       \
		if (unlikely(!(cond)))                                                             \
			host_bug(__FILE__, __LINE__, #cond);                                       \
	} while (0)

/* An invariant of invariant.def, by its number: only in check.c and the classes' check(). */
#define SCHED_CHECK(id, cond)                                                                      \
	do {                                                                                       \
		if (unlikely(!(cond)))                                                             \
			host_bug(__FILE__, __LINE__, invariant_text[INVARIANT_##id]);              \
	} while (0)

enum invariant {
#define INVARIANT(id, ...) INVARIANT_##id,
#include "sched/observe/invariant.def"
#undef INVARIANT
	NR_INVARIANTS
};
extern const char *const invariant_text[NR_INVARIANTS];

/* --- tunables and features ------------------------------------------------ */

struct tunables {
#define TUNABLE(type, field, ...) type field;
#include "sched/observe/tunable.def"
#undef TUNABLE
};

enum feature {
#define FEATURE(name, ...) FEATURE_##name,
#include "sched/observe/feature.def"
#undef FEATURE
	NR_FEATURES
};

/* --- a queue of fair entities --------------------------------------------- */

/* So many tasks, of which so many are SCHED_IDLE or in an idle group. */
struct tally {
	u32 nr, nr_idle;
};

struct propagation {
	bool pending;
	s64 runnable; /* change of the sum of runnable fractions, in units of load_sum */
};

/* What EEVDF keeps of a queue; see fair/eevdf.h. */
struct eevdf_queue {
	/* Over all queued entities, the running one included; weights as in the nice table. */
	s128 sum_key;	/* (vruntime - v0) * weight */
	u64 sum_weight; /* weight */
	u64 v0;		/* near the virtual time; moves freely, and sum_key with it */
};

/* What FDL keeps of a queue; see fair/fdl.h. */
struct fdl_queue {
	u64 lag;	 /* by how much its virtual time is behind the clock; never decreases */
	u64 container;	 /* deadline of all that have none, together; 0: not needed */
	u64 weight;	 /* of the entities that have one, queued or running */
	u64 checked_lag; /* at the last sched_check() */
	u32 nr;		 /* how many these are */
	u32 nr_groups;	 /* that have deadlines, whether queued or not */
};

struct fair_policy;

/* BORE's tunables as of the last time the runqueue was told of a change. */
struct burst_params {
	u32 mode;	     /* sched_bore */
	u32 offset;	     /* sched_burst_penalty_offset */
	u32 scale;	     /* sched_burst_penalty_scale */
	bool spare_kthreads; /* sched_burst_exclude_kthreads */
};

/* One of a CPU's tree of queues: the root's, or that of a task group. guarded by: rq lock */
struct fair_queue {
	struct rq *rq;
	struct entity *owner;	  /* stands for this queue in the one above; the root's: NULL */
	struct task_group *group; /* whose; the root's: NULL */
	struct list link;	  /* in rq->queues, below its parent's */
	u32 depth;		  /* the root's is 0 */
	bool idle;		  /* as a whole it is SCHED_IDLE to the queue above */
	bool limited, throttled;  /* by bandwidth.c; throttled: it is not in the queue above */
	const struct fair_policy *policy; /* whose terms its numbers are in */
	const struct fair_hooks *hooks;	  /* of the policy, or those that it lends this queue */
	struct load_weight load;	  /* sum over queued entities, the running one included */
	u32 nr_running;			  /* queued entities, the running one included */
	u32 nr_idle;			  /* of them, SCHED_IDLE */
	struct tally tasks;	 /* queued here and below, except below a throttled queue */
	u64 min_vruntime;	 /* never decreases; what "now" is in virtual time (CFS) */
	struct rb_tree timeline; /* queued entities except the running one, in the policy's order */
	struct rb_tree deadlines; /* of those, instead, the ones that have a deadline */
	struct fdl_queue fdl;
	struct entity *curr; /* the running entity; not in the timeline */
	bool timed_turns;    /* the root's: the policy is asked for a timer at each turn */
	struct entity *next, *last,
		*skip;	       /* nominations of the policy for its next pick (CFS: buddies) */
	struct pelt avg;       /* over queued and sleeping entities of this CPU */
	struct propagation up; /* what came and went below and is not yet in owner's averages */
	u64 load_contrib;      /* its part of group->load_avg */
	s64 remaining;	       /* ns of the group's runtime it has fetched; may be overdrawn */
	u64 throttled_at;
	u64 pelt_stopped;	    /* throttled: its pelt_now() since then */
	u64 pelt_skipped;	    /* by how much it is behind that of the queue above */
	struct list throttled_link; /* in rq->throttled */
	u64 debt;		    /* what releases it; guarded by: the pool's lock, as the next */
	struct list debtor_link;    /* in the pool's list while debt is not 0 */
	u64 checked_min_vruntime;   /* min_vruntime at the last sched_check() */
	struct eevdf_queue eevdf;
};

/* --- task groups ------------------------------------------------------------ */

struct bandwidth_timer {
	struct bandwidth *pool;
	struct rq *rq; /* whose list it is on; NULL: it is not running */
	struct list link;
	u64 at;
};

/* What a group may use; see bandwidth.c. guarded by: lock; the configuration by the host. */
struct bandwidth {
	struct host_lock lock;
	u64 quota_ns, period_ns, burst_ns;
	u64 runtime_ns;			      /* left in the pool */
	u64 snapshot_ns;		      /* runtime_ns after the last refill */
	bool idle;			      /* nothing was fetched in this period yet */
	struct list throttled;		      /* queues with a debt, in the order they got it */
	struct bandwidth_timer period, slack; /* also guarded by: the lock of their rq */
	u64 nr_periods, nr_throttled, throttled_ns, nr_bursts, burst_used_ns;
};

/* FDL's of a group on one CPU; see fair/fdl.h. guarded by: rq lock */
struct fdl_cpu {
	u64 rr_ns, wakeup_ns; /* as the group's, from the moment they are in effect here */
	u64 waiting_since;    /* when it was queued; not when it stopped running */
	u64 nr_picks, nr_container_picks, nr_misses, lag_pushed_ns, max_gap_ns;
	u64 demand_ns; /* sum of the times its tasks wanted to run, until demand_at */
	u64 demand_at;
	u32 demand_nr;		     /* tasks that want to, since then */
	u64 usage_seen, demand_seen; /* sum_exec and demand_ns at the controller's last pass */
};

struct group_cpu {
	struct entity entity;	 /* stands for queue in the parent's */
	struct fair_queue queue; /* of the members that are on this CPU */
	struct fdl_cpu fdl;
	u64 queued_ns, queued_at; /* how long entity was queued; since when it is */
} __aligned(64);

/* FDL's of a group; see fair/fdl.h. guarded by: the host */
struct fdl_group {
	u64 rr_ns, wakeup_ns;
	u64 guaranteed;		 /* shares */
	u64 children_guaranteed; /* their sum */
	u64 shares; /* of the controller, also read by every CPU; 0: nothing is guaranteed */
	u64 abs_guaranteed;	   /* CPU time, in 1024ths */
	u64 avg_usage, avg_wait;   /* ns of CPU time, and of its tasks' waiting, in an interval */
	u64 usage_ns, demand_ns;   /* being added up: since the controller's last pass */
	bool increased, decreased; /* what that did to shares */
};

struct task_group {
	/* guarded by: the host (group.h); shares also read by every CPU */
	struct task_group *parent; /* NULL: a child of the root */
	struct list children, sibling;
	u64 shares; /* as a weight: shares << 10 */
	bool idle;
	struct fdl_group fdl;

	struct bandwidth bandwidth;
	u64 load_avg; /* sum of the queues' load_contrib; atomic */
	struct group_cpu cpu[];
};

/* --- the shared wake queue -------------------------------------------------- */

/* Waiting tasks of some CPUs behind one cache, the first to come first; see sharedq.c. */
struct shard {
	struct host_lock lock;
	/* guarded by: lock; nr and since also read racily by who looks for work */
	struct list tasks;
	u32 nr;
	u64 since; /* when the first was linked */
	/* atomic */
	u32 users;     /* CPUs that hold the lock or wait for it */
	bool stealing; /* a CPU of another cache is here */
} __aligned(64);

/* --- a runqueue ----------------------------------------------------------- */

struct domain;
struct group;

struct rq {
	struct host_lock lock;

	/* changed by hotplug.c only; online under the lock, domains with the machine stopped */
	struct sched *s;
	u32 cpu;
	bool online; /* if not, nothing is queued here: see PROTOCOL: hotplug */
	struct task *idle;

	/* guarded by: lock; curr, nr_running, clock also read racily by placement and balancing */
	u64 clock;		/* host_clock() of this lock section */
	bool throttles;		/* a queue was throttled ever: pelt_now() may differ from clock */
	struct task *curr;	/* who runs, or is about to: see PROTOCOL: switch in core.c */
	struct task *prev;	/* who ran before, between switch_begin and switch_end */
	u32 active;		/* BIT(CLASS_x) of the classes that have a task to pick */
	u32 push;		/* of those that may have tasks for other CPUs after a switch */
	u32 nr_running;		/* queued and pickable, over all classes */
	u32 nr_restricted;	/* queued, but not allowed on every CPU */
	bool need_resched;	/* host_kick() was called and no switch began since */
	u32 nr_uninterruptible; /* asleep in a state that counts in the load average */
	struct fair_queue fair; /* the root's */
	struct burst_params burst;
	struct list queues;	/* all others of this CPU, children before parents */
	struct list fair_tasks; /* queued ones, most recently run first: balancing takes the tail */
	struct list delayed;	/* those in the fair queues that are asleep: TASK_DELAYED */
	u64 fdl_curr;		/* hint: deadline, from its wakeup, of what runs; 0: it has none */
	u64 fdl_next;	  /* hint: when the earliest deadline of those that wait ends; 0: none */
	u64 hrtick_at;	  /* 0: off */
	u64 steal_at;	  /* when it looks at other LLCs again if it idles; 0: not */
	u64 bandwidth_at; /* the first of bandwidth_timers; 0: none */
	struct list bandwidth_timers;
	struct list throttled; /* queues */
	bool notice;	  /* written by any CPU: there is news for a class's notice operation */
	bool timer_stale; /* a deadline changed: this CPU is to arm its timer anew */
	u64 timer_armed;  /* what host_timer() was told last; 0: nothing */

	/* written by this CPU only */
	bool yield; /* the running task called sched_yield(): taken at the next switch */

	/* balancing; guarded by: lock unless said */
	struct domain *domains;	  /* bottom-up; NULL if it is alone, or out of service */
	struct domain *llc;	  /* highest level that shares a cache, or NULL */
	const struct group *core; /* the threads of this core; itself at least */
	u32 llc_id, llc_size;	  /* first CPU and number of CPUs that share the last-level cache */
	u64 next_balance;	  /* jiffy; this CPU only */
	u64 idle_stamp;		  /* since when it idles, for avg_idle; 0: it does not */
	u64 avg_idle;		  /* ns an idle period lasts */
	u64 max_idle_balance_cost;
	struct list handover; /* TASK_MIGRATING tasks that sched_switch_end() delivers */
	bool pulling; /* in a switch, the lock dropped to look for work: see PROTOCOL: switch */
	bool tick_stopped; /* in s->nohz_idle */
	bool nohz_kicked;  /* asked to balance for the idle CPUs */
	struct waste_rq waste;

	/* shared wake queue; guarded by: lock unless said */
	struct shard *shard; /* where its waiting tasks are linked; NULL: the feature is off */
	bool shares_all;     /* not only what woke up */
	u32 nr_shards;	     /* of its LLC; also read racily */
	struct task *claim;  /* guarded by: lock of the runqueue that the task is on */
	u32 core_index, next_in_llc, next_llc; /* see sharedq_topology(). Constant. */
	struct shard own_shard;		       /* one of its LLC's, if there are so many */

	struct class_state class_state; /* guarded by: lock */

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
	struct cpumask possible;

	/* written one word at a time, read without a lock */
	const struct fair_policy *fair_policy; /* of every queue, unless a swap is under way */
	struct tunables tunable;
	struct tunables normalised; /* of the scaled ones, before scaling */
	u32 nr_latency; /* tasks that fit a period: latency / min_granularity, rounded up */
	u64 features;	/* BIT(FEATURE_x) */
	u64 trace_mask; /* BIT(EVENT_x) */

	/* guarded by: the host (group.h) */
	struct list groups; /* children of the root */
	u64 guaranteed;	    /* shares, sum over these */
	u32 nr_guaranteed;  /* groups, at any depth, to which something is guaranteed */
	u64 fdl_controlled; /* time of the controller's last pass; 0: none, or too long ago */

	/* bits changed atomically */
	struct cpumask online;
	struct cpumask nohz_idle;   /* CPUs that stopped their tick */
	struct cpumask shared_idle; /* CPUs that found no work in the shared wake queue */
	struct cpumask rt_overload; /* CPUs with a movable rt task that waits */
	struct cpumask crowded;	    /* CPUs with two runnable tasks or more */
	bool affinity_lost;	    /* some task's is; see sched_affinity_lost() */
	u64 nohz_next_balance;	    /* jiffy: when idle CPUs should balance next */
	u64 nohz_next_refresh;	    /* jiffy: when their averages are decayed next */
	bool numa_balancing_now;    /* someone balances a SD_SERIALIZE domain */

	struct waste waste;			  /* of the machine */
	struct host_lock waste_lock, family_lock; /* leaves; the latter guards task.family of all */

	struct prng prng; /* guarded by: nothing; used by sched_init() and tests only */
};

static inline struct rq *cpu_rq(struct sched *s, unsigned cpu)
{
	return s->rq_of[cpu];
}

static inline struct task *task_of(struct entity *e)
{
	return container_of(e, struct task, fair);
}

static inline bool entity_is_task(const struct entity *e)
{
	return !e->own_queue;
}

static inline bool feature(const struct sched *s, enum feature f)
{
	return s->features & BIT(f);
}

/* The current tick number at @now; ticks of different CPUs need not coincide. */
static inline u64 jiffies(const struct sched *s, u64 now)
{
	return now / s->tick_ns;
}

/* --- locks and clock (clock.c) -------------------------------------------- */

/* Take the runqueue lock and read the clock, once per lock section. */
static inline void rq_lock(struct rq *rq)
{
	u64 now;

	host_lock(&rq->lock);
	now = host_clock(rq->cpu);
	if (time_before(rq->clock, now))
		rq->clock = now;
}

/* 1 if the optional counters count, else 0: what to add to one. */
static inline u64 schedstats(const struct sched *s)
{
	return s->tunable.schedstats;
}

/* Does the machine not know yet how @rq, locked, stands? */
bool waste_is_news(const struct rq *rq);
/* Tell it. (waste.c) */
void waste_tell(struct rq *rq);

static inline void rq_unlock(struct rq *rq)
{
	if (unlikely(schedstats(rq->s)) && waste_is_news(rq))
		waste_tell(rq);
	host_unlock(&rq->lock);
}

/* rq_lock() of the runqueue that @t belongs to, which stays so until the unlock. */
struct rq *task_rq_lock(struct sched *s, struct task *t);
/* Arm the host's timer for the earliest of the runqueue's deadlines. Lock held, on its own CPU. */
void rq_update_timer(struct rq *rq);

/* --- core (core.c) -------------------------------------------------------- */

/* Ask @rq's CPU for a switch. */
void resched(struct rq *rq);
/* Does @t, just queued on @rq, take over? */
void check_preempt(struct rq *rq, struct task *t, unsigned flags);

/* So many more tasks of @rq, locked, can be picked; fewer, if negative. */
static inline void count_running(struct rq *rq, int more)
{
	bool was_crowded = rq->nr_running > 1;

	rq->nr_running += (u32)more;
	if (unlikely(was_crowded != (rq->nr_running > 1)))
		cpumask_flip_atomic(&rq->s->crowded, rq->cpu);
}

/* Has the class of @rank a task to pick on @rq, locked? */
static inline void class_set_active(struct rq *rq, enum class_rank rank, bool active)
{
	u32 bit = (u32)BIT(rank);

	rq->active = active ? rq->active | bit : rq->active & ~bit;
}

static inline bool class_is_active(const struct rq *rq, enum class_rank rank)
{
	return rq->active & BIT(rank);
}

/* May the class of @rank have tasks on @rq, locked, that wait and could run elsewhere? */
static inline void class_set_push(struct rq *rq, enum class_rank rank, bool push)
{
	u32 bit = (u32)BIT(rank);

	rq->push = push ? rq->push | bit : rq->push & ~bit;
}

/* Is @t the task of a CPU with nothing to run? The last class has these only. */
static inline bool is_idle_task(const struct task *t)
{
	return t->class->rank == NR_CLASSES - 1;
}

/* Make @t (un)runnable on @rq, with the bookkeeping common to all classes. */
void activate(struct rq *rq, struct task *t, unsigned flags);
void deactivate(struct rq *rq, struct task *t, unsigned flags);
/*
 * PROTOCOL: migration. One runqueue lock at a time: detach_task() under the source's lock takes a
 * queued, not running task off and gives it to @to; until attach_task() queues it there it is
 * TASK_MIGRATING, in no queue, and private to the mover, though its parameters may change
 * meanwhile.
 */
void detach_task(struct rq *from, struct task *t, unsigned to);
void attach_task(struct sched *s, struct task *t);
/* The same with the lock of the destination @rq held, and without a preemption check. */
void attach_locked(struct rq *rq, struct task *t);
/* Have the running task of @rq (locked) leave for @to at the next switch. */
void push_current(struct rq *rq, unsigned to);
/* @t, in no queue and known to the caller only, belongs to @cpu. */
void task_set_cpu(struct sched *s, struct task *t, unsigned cpu);
/* @t changes its CPU number. Lock of its old runqueue held, @t not queued. */
void set_task_cpu(struct rq *from, struct task *t, unsigned to);
/* Initialise a task that belongs to @cpu for ever (task.c). */
void task_init_pinned(struct sched *s, struct task *t, unsigned cpu, int pid, const char *comm);
/* A CPU in service that @t may run on: its own if possible. The lock of its runqueue held. */
unsigned any_allowed_cpu(struct sched *s, struct task *t);
/* @t, whatever it does, may run on @allowed from now on; it is not moved. Lock held. */
void set_allowed(struct rq *rq, struct task *t, const struct cpumask *allowed);

static inline bool task_running(const struct rq *rq, const struct task *t)
{
	return rq->curr == t;
}

/* It wants the CPU: it is queued and awake, or on its way to another runqueue. */
static inline bool task_is_runnable(const struct task *t)
{
	return t->on_rq == TASK_QUEUED || t->on_rq == TASK_MIGRATING;
}

/* Complete the sleep of a task that is still in its queue. */
static inline void finish_delayed(struct rq *rq, struct task *t)
{
	if (unlikely(t->on_rq == TASK_DELAYED))
		deactivate(rq, t, DEQUEUE_SLEEP | DEQUEUE_DELAYED);
}

static inline bool task_allowed(const struct task *t, unsigned cpu)
{
	return cpumask_test(&t->allowed, cpu);
}

/* May @t be queued on @rq? Locked, or racily. */
static inline bool task_may_be_on(const struct task *t, const struct rq *rq)
{
	return task_allowed(t, rq->cpu) && rq->online;
}

/* Time since the running entity was last charged, now added to its sum; 0 if there is none. */
static inline u64 charge_time(struct rq *rq, struct entity *e)
{
	s64 delta = (s64)(rq->clock - e->exec_start);

	if (unlikely(delta <= 0))
		return 0;
	e->exec_start = rq->clock;
	e->sum_exec += (u64)delta;
	return (u64)delta;
}

/* --- families (family.c) --------------------------------------------------- */

void family_init(struct task *t);
/* @child, new, joins the family of @parent. @flags: sched_fork_flags. family_lock held. */
void family_link(struct task *parent, struct task *child, unsigned flags);
/* host_bug() if the relatives of @t disagree. */
void check_family(struct sched *s, struct task *t);

/* --- CPUs (topology.c, placement.c, rebalance.c) -------------------------- */

/* If all CPUs that @t was allowed have left, it is allowed all. Lock of its runqueue @rq held. */
void ensure_usable_cpu(struct rq *rq, struct task *t);
/* @rq goes idle: placement may use its whole core. Lock held. */
void placement_cpu_idles(struct rq *rq);
/*
 * @rq is about to idle: bring tasks from other CPUs. May drop and retake the lock. Returns whether
 * something is queued now.
 */
bool balance_newly_idle(struct rq *rq);
/* After a tick, no lock held: balance if it is time to, or have an idle CPU do it. */
void balance_tick(struct rq *rq);

/* --- invariants (check.c) -------------------------------------------------- */

/* Of any class, by its check operation. Lock held. */
void check_queued_task(struct rq *rq, struct task *t);

/* --- tunables (tunable.c) ------------------------------------------------- */

void tunables_init(struct sched *s);
/* The number of online CPUs changed. */
void tunables_rescale(struct sched *s);

/* --- statistics (topology.c) ------------------------------------------------ */

/* The domain lines of /proc/schedstat. */
void dump_schedstat_domains(struct text *out, struct rq *rq);
