/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Task groups: a group gets CPU time as one, in proportion to its shares among its siblings, and
 * divides it among its members. Groups nest. The part of the scheduler's face that hosts of control
 * groups use; sched.h includes it.
 *
 * The host owns the memory of a group as it owns that of tasks, and serialises the calls that
 * change the tree or a group's parameters (init, exit, move, set_*); they take runqueue locks.
 * NULL as a group is the root, which has no parameters.
 */
#pragma once

#include "lib/types.h"

struct sched;
struct task;
struct task_group;

#define SCHED_SHARES_MIN	2u
#define SCHED_SHARES_MAX	262144u
#define SCHED_SHARES_DEFAULT	1024u
#define SCHED_QUOTA_NONE	(~0ull)
#define SCHED_PERIOD_DEFAULT_NS (100 * NS_PER_MS) /* of a quota */

/* Bytes that a group of this machine needs; 64-byte aligned, zeroed. */
size_t task_group_size(const struct sched *s);
/* A new group without members below @parent. */
void task_group_init(struct sched *s, struct task_group *tg, struct task_group *parent);
/* @tg is to be called @name in records of decisions, where 15 bytes of it are kept. */
void task_group_set_name(struct task_group *tg, const char *name);
/* @tg, which has neither members nor children, ends: its memory is the host's again. */
void task_group_exit(struct sched *s, struct task_group *tg);
/* Make @t, in whatever state or class, a member of @tg. A fork's child joins its parent's group. */
void task_group_move(struct sched *s, struct task *t, struct task_group *tg);
struct task_group *task_group_of(const struct task *t);
struct task_group *task_group_parent(const struct task_group *tg);
/* Walks all groups, parents first: the one after @tg (NULL: the first), or NULL at the end. */
struct task_group *task_group_next(struct sched *s, struct task_group *tg);
/* A number for the host's use; 0 at first. */
void task_group_set_number(struct task_group *tg, u32 number);
u32 task_group_number(const struct task_group *tg);

struct task_group_params {
	u64 shares; /* 2..262144 */
	bool idle;  /* SCHED_IDLE as a group: weight 3, loses to every sibling that is not */
	u64 quota_ns, period_ns, burst_ns;	/* SCHED_QUOTA_NONE: as much as it can get */
	u64 deadline_rr_ns, deadline_wakeup_ns; /* 0: none */
	u64 guaranteed_shares;			/* 0: nothing is guaranteed */
};
void task_group_params(const struct task_group *tg, struct task_group_params *out);

/* Clamped to SCHED_SHARES_MIN..MAX. -EINVAL: the root, or an idle group. */
int task_group_set_shares(struct sched *s, struct task_group *tg, u64 shares);
/* Back from idle a group has the default shares. -EINVAL: the root, or guaranteed shares. */
int task_group_set_idle(struct sched *s, struct task_group *tg, bool idle);
/*
 * At most @quota_ns of CPU time, over all CPUs, in each @period_ns, plus what was saved before up
 * to @burst_ns. -EINVAL: the root; quota or period below 1 ms, period above 1 s, burst above quota.
 * @nested: also -EINVAL if quota/period is more than an ancestor's or less than a descendant's
 * (cgroup v1). Removing the quota removes the burst. An accepted call unthrottles the group.
 */
int task_group_set_bandwidth(struct sched *s, struct task_group *tg, u64 quota_ns, u64 period_ns,
			     u64 burst_ns, bool nested);

/*
 * Sets the deadlines of a group, which the fair policy fdl keeps: it runs at the latest @rr_ns
 * after its last turn and, if that is not 0, @wakeup_ns after a wakeup. 0 and 0: no deadlines.
 * Other policies keep the values without effect. Takes effect at once, whatever the group does.
 * -EINVAL: the root; rr_ns is neither 0 nor 50 us to 1 s; wakeup_ns is more than rr_ns.
 */
int task_group_set_deadline(struct sched *s, struct task_group *tg, u64 rr_ns, u64 wakeup_ns);
/*
 * The CPU time that fdl's controller is to see to, while the group wants it: 1024 is one CPU for a
 * child of the root, below that a part in proportion to its siblings'. From 0 to @shares the
 * group's weight becomes @shares and is the controller's from then on; back at 0 it is that of its
 * own shares again, which task_group_params() always tells. Other policies keep the value without
 * effect. -EINVAL: the root, an idle group, more than 262144 for each CPU of the machine. There is
 * no limit to the sum: see task_group_fdl_stat.overcommit.
 */
int task_group_set_guaranteed(struct sched *s, struct task_group *tg, u64 shares);

/* fdl's state of a group. Times in ns; CPU time in 1024ths of a CPU. */
struct task_group_fdl_stat {
	u64 dynamic_shares; /* what it weighs: the controller's shares, or its own */
	u64 legacy_shares;  /* its own */
	u64 abs_guaranteed; /* CPU time that is guaranteed to it, as of the last control pass */
	u64 avg_usage, avg_wait;   /* CPU time that it had; that its tasks waited for */
	bool increased, decreased; /* what the last control pass did to its shares */
	u64 overcommit;		   /* of the machine, in 1024ths: sum of all that is guaranteed */
	u64 nr_dl_picks;	   /* times it was chosen by its deadline */
	u64 nr_container_picks; /* times it was the first, but those without deadlines were due */
	u64 nr_misses;		/* times it had run and was overdue still */
	u64 lag_pushed_ns;	/* by how much these put off all deadlines */
	u64 max_gap_ns;		/* longest time it waited for a CPU */
};
/* The root has only @out->overcommit. */
void task_group_fdl_stat(struct sched *s, struct task_group *tg, struct task_group_fdl_stat *out);
/*
 * One pass of fdl's controller over all groups. A host calls it every sched_fdl_interval_ns(), from
 * one place, serialised with the calls above; without effect under other policies. Is anything
 * guaranteed? If not, there is no need to call it until something is.
 */
bool sched_fdl_control(struct sched *s);
/* The tunable control_loop_interval. */
u64 sched_fdl_interval_ns(const struct sched *s);

struct task_group_stat {
	u64 usage_ns; /* CPU time of members and descendants, ever */
	u64 nr_periods, nr_throttled, throttled_ns, nr_bursts, burst_ns; /* of its bandwidth */
	u64 wait_sum_ns; /* that it waited for CPUs, summed over them, while not throttled */
	bool schedstats; /* the tunable, without which Linux does not tell wait_sum */
};
/* Of @tg; the root: usage_ns of the machine. */
void task_group_stat(struct sched *s, struct task_group *tg, struct task_group_stat *out);
