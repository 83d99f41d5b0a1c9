/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frequency domains inside the scheduler: what a CPU and a domain keep, and where the rest of the
 * scheduler reports to them. All of it is behind rq->freq, which is NULL where CPUs have one speed.
 *
 * Two clocks make utilisation invariant. A domain's *work clock* is the integral of its capacity
 * over time; it is exact whoever changes the frequency, and nobody has to visit the other CPUs. A
 * CPU's *scaled time*, the time of all its averages, advances with the work that the CPU does
 * instead of with its clock while it is busy, and catches up when it idles: idle time costs nothing
 * at any speed. So a task that needs a quarter of the fastest CPU has utilisation 256 everywhere.
 * Source: Linux 6.1, pelt.h, rq_clock_pelt (docs/sources.md).
 */
#pragma once

#include "lib/math64.h"
#include "sched/core/rq.h"
#include "sched/freq.h"

/* The consumption of a CPU, or of what a domain shares. guarded by: lock of the domain */
struct freq_meter {
	u64 since;	/* the rest is as of this time */
	u64 idle_since; /* unless it is busy */
	bool busy;
	u64 energy;
	u64 busy_ns[OPP_MAX], idle_ns[OPP_IDLE_MAX];
};

/*
 * Runnable tasks by the value of one of their clamps, in buckets. Of a bucket only the greatest
 * value is kept that it had since it was last empty.
 */
#define CLAMP_BUCKETS 20
struct clamp_count {
	u16 value; /* of the last bucket that is not empty; also read racily */
	u16 most[CLAMP_BUCKETS];
	u32 nr[CLAMP_BUCKETS];
};

struct freq_cpu {
	struct freq_domain *domain;
	struct freq_cpu *next; /* of the domain, in order of their numbers; NULL */
	u32 cpu;

	/* guarded by: rq lock; rq->clock is ahead of scaled time by behind */
	bool busy;
	u64 at;	    /* rq->clock as of which the following hold */
	u64 work;   /* the domain's work clock */
	u64 rest;   /* work that did not make a ns of scaled time yet */
	u64 behind; /* ns */
	u64 lost;   /* the part of it that idle time does not make good */

	/* SchedTune; guarded by: rq lock */
	u32 nr_tuned[SCHED_TUNE_GROUPS]; /* runnable tasks of each boost group */
	u8 boost;			 /* the greatest boost of those that have some */

	/* Clamps of runnable tasks; guarded by: rq lock */
	struct clamp_count clamp[NR_SCHED_CLAMPS];
	u32 nr_clamped; /* counted; if none, the maximum is that of the last; also read racily */

	/* guarded by: lock of the domain */
	u32 request;	     /* `sched`: capacity that it asks for */
	u64 sampled_busy_ns; /* `ondemand`: its busy time when the sample began */
	u64 nr_idles;	     /* times it fell idle */
	u64 seen_idles;	     /* `schedutil`: when it last looked */
	struct freq_meter meter;
};

struct freq_domain {
	struct host_lock lock;
	const struct opp_type *type;
	struct freq_cpu *cpus;
	bool started;

	/* guarded by: lock; opp also read racily */
	const struct governor *governor;
	u32 opp;	      /* the present point, */
	u32 slowest, fastest; /* and the limits that it stays in */
	u64 since;	      /* since when */
	u64 work;	      /* the work clock as of then, in 1024ths of a ns of the fastest */
	u32 nr_busy;	      /* CPUs that do not idle */
	u64 nr_transitions;
	u32 nr_changes[OPP_MAX][OPP_MAX]; /* from, to */
	u64 at_ns[OPP_MAX];		  /* how long it was at each point, as of since */
	u64 throttled_until;		  /* `sched`, `schedutil`: no change before */
	bool unserved;			  /* `sched`: a request came before that */
	u64 sampled_at;			  /* `ondemand`: when the sample began */
	struct freq_meter meter;	  /* of what the domain shares */
} __aligned(64);

/* The table's copy, and after it the CPUs and domains. */
struct freq {
	u32 nr_domains;
	struct opp_type type[OPP_TYPES_MAX];
	struct freq_domain *domain; /* [nr_domains] */
	struct freq_cpu *cpu;	    /* [nr_cpus] */
	u64 tune_used;		    /* guarded by: the host, as boost; that is read by all */
	u8 boost[SCHED_TUNE_GROUPS];
	bool clamped; /* somebody has asked for a clamp; read racily */

	/* EAS (balance/energy.h); written with the lock or by overutilized_*(), read racily */
	struct host_lock energy_lock; /* a leaf */
	bool energy_aware;
	bool overutilized;
};

struct sched_attr_req;

/* Why the utilisation of a CPU may have changed. */
enum freq_reason {
	FREQ_WAKEUP,  /* a task woke up, or is new */
	FREQ_SLEEP,   /* a task fell asleep */
	FREQ_BALANCE, /* balancing moved tasks to it or away */
	FREQ_TICK,
	FREQ_CLAMP, /* the clamps of a runnable task changed */
};

/* How a domain's point is chosen. */
struct governor {
	const char *name;
	/*
	 * It takes over @d, by the CPU numbered @cpu at time @now. Locked: @d.
	 */
	void (*start)(struct sched *s, struct freq_domain *d, unsigned cpu, u64 now);
	/* The CPU of @rq, one of @d's, has news: @reason. Locked: @rq, @d. */
	void (*update)(struct rq *rq, struct freq_domain *d, enum freq_reason reason);
};

#define GOVERNOR(name) extern const struct governor name##_governor;
#include "sched/freq/governor.def"
#include "sched/observe/check.h"
#undef GOVERNOR

/* @name's governor, or NULL. */
const struct governor *governor_find(const char *name);

static inline const struct opp *freq_opp(const struct freq_domain *d)
{
	SCHED_DEBUG_ASSERT(d->opp < d->type->nr_opps);
	return &d->type->opp[READ_ONCE(d->opp)];
}

/* The point within the limits of @d, locked, that is nearest to @opp. */
static inline u32 freq_within(const struct freq_domain *d, u32 opp)
{
	debug_assert_locked(d);
	return max(min(opp, d->fastest), d->slowest);
}

/* The work clock of @d, locked, at @now: a little back, too, where clocks disagree. */
u64 freq_work(const struct freq_domain *d, u64 now);

/*
 * @d changes to its @opp-th point, or the nearest within its limits, by the CPU numbered @cpu at
 * time @now. Locked: @d.
 */
void freq_switch(struct sched *s, struct freq_domain *d, u32 opp, unsigned cpu, u64 now);

/* --- reports of the rest of the scheduler, for @rq, locked, which has frequencies ------------- */

/* The CPU comes into service for the first time. */
void freq_cpu_starts(struct rq *rq);
/* Its idle task begins to run, or ends. */
void freq_cpu_idles(struct rq *rq);
void freq_cpu_works(struct rq *rq);
/* A tick was charged. */
void freq_cpu_ticks(struct rq *rq);
/* @t becomes runnable there, or not; @flags: queue_flags. */
void freq_task_enters(struct rq *rq, struct task *t, unsigned flags);
void freq_task_leaves(struct rq *rq, struct task *t, unsigned flags);
/* Its governor is told. */
void freq_update(struct rq *rq, enum freq_reason reason);
/* Scaled time: now; when the last @delta ns of the running task began. */
u64 freq_time(struct rq *rq);
u64 freq_time_before(struct rq *rq, u64 delta);
/* E1 to E3, E6, E9 and E10 of invariant.def. */
void freq_check(struct rq *rq);

/* --- clamps of tasks (clamp.c), of groups and the machine (clamp_group.c) --------------------- */

/* May @t have the clamps of @req? 0, -EINVAL, or -EOPNOTSUPP without frequencies. Locked: @rq. */
int clamp_admit(const struct rq *rq, const struct task *t, const struct sched_attr_req *req);
/* @t, locked by @rq, asks for those of @req from now on. freq_task_changes() is to follow. */
void clamp_request(struct rq *rq, struct task *t, const struct sched_attr_req *req);
/* @req->util becomes what @t has asked for, or has without having asked; 0 at one speed. */
void clamp_get(const struct task *t, struct sched_attr_req *req);
/* A clamp of @t: what it asked for, or has without having asked. */
u32 clamp_requested(const struct sched *s, const struct task *t, enum sched_clamp which);
/* A clamp that @t would get: within those of its group, and of the machine. */
u32 clamp_effective(const struct sched *s, const struct task *t, enum sched_clamp which);
/* If the clamps that @t gets have changed @rq, locked, counts it anew. Have they? */
bool clamp_renew(struct rq *rq, struct task *t);
/* The child @child of @parent is made. */
void clamp_fork(const struct task *parent, struct task *child);
/* @tg is new. */
void clamp_group_init(struct sched *s, struct task_group *tg);
/* A tunable of clamps was written. */
void clamp_tuned(struct sched *s);

/* Its governor is told, at any machine. */
static inline void freq_report(struct rq *rq, enum freq_reason reason)
{
	debug_assert_locked(rq);
	if (unlikely(rq->freq))
		freq_update(rq, reason);
}

/* The clamps that @t gets may have changed; at any machine. */
static inline void freq_task_changes(struct rq *rq, struct task *t)
{
	debug_assert_locked(rq);
	if (unlikely(rq->freq) && clamp_renew(rq, t))
		freq_update(rq, FREQ_CLAMP);
}

/* --- the time of a CPU's averages, at any machine; @rq is locked ------------------------------ */

static inline u64 rq_time(struct rq *rq)
{
	return likely(!rq->freq) ? rq->clock : freq_time(rq);
}

static inline u64 rq_time_before(struct rq *rq, u64 delta)
{
	return likely(!rq->freq) ? rq->clock - delta : freq_time_before(rq, delta);
}
