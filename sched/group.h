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

#define SCHED_SHARES_MIN     2u
#define SCHED_SHARES_MAX     262144u
#define SCHED_SHARES_DEFAULT 1024u
#define SCHED_QUOTA_NONE     (~0ull)

/* Bytes that a group of this machine needs; 64-byte aligned, zeroed. */
size_t sched_group_size(const struct sched *s);
/* A new group without members below @parent. */
void sched_group_init(struct sched *s, struct task_group *tg, struct task_group *parent);
/* @tg, which has neither members nor children, ends: its memory is the host's again. */
void sched_group_exit(struct sched *s, struct task_group *tg);
/* Make @t, in whatever state or class, a member of @tg. A fork's child joins its parent's group. */
void sched_group_move(struct sched *s, struct task *t, struct task_group *tg);
struct task_group *sched_group_of(const struct task *t);

struct sched_group_params {
	u64 shares; /* 2..262144 */
	bool idle;  /* SCHED_IDLE as a group: weight 3, loses to every sibling that is not */
	u64 quota_ns, period_ns, burst_ns; /* SCHED_QUOTA_NONE: as much as it can get */
};
void sched_group_params(const struct task_group *tg, struct sched_group_params *out);

/* Clamped to SCHED_SHARES_MIN..MAX. -EINVAL: the root, or an idle group. */
int sched_group_set_shares(struct sched *s, struct task_group *tg, u64 shares);
/* Back from idle a group has the default shares. -EINVAL: the root. */
int sched_group_set_idle(struct sched *s, struct task_group *tg, bool idle);
/*
 * At most @quota_ns of CPU time, over all CPUs, in each @period_ns, plus what was saved before up
 * to @burst_ns. -EINVAL: the root; quota or period below 1 ms, period above 1 s, burst above quota.
 * @nested: also -EINVAL if quota/period is more than an ancestor's or less than a descendant's
 * (cgroup v1). Removing the quota removes the burst. An accepted call unthrottles the group.
 */
int sched_group_set_bandwidth(struct sched *s, struct task_group *tg, u64 quota_ns, u64 period_ns,
			      u64 burst_ns, bool nested);

struct sched_group_stat {
	u64 usage_ns; /* CPU time of members and descendants, ever */
	u64 nr_periods, nr_throttled, throttled_ns, nr_bursts, burst_ns; /* of its bandwidth */
};
/* Of @tg; the root: usage_ns of the machine. */
void sched_group_stat(struct sched *s, struct task_group *tg, struct sched_group_stat *out);
