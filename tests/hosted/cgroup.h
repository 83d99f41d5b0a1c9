/* SPDX-License-Identifier: GPL-2.0-only */
/* The operations on the tree of control groups (cgroup.c), and its model (cgroup_model.c). */
#pragma once

#include "object.h"

/* The root, and the groups a and b in it, c and d in a, and e in c. */
enum { GROUPS = 6, NR_TIDS = 4, FIRST_TID = 11, CGROUP_TEXT = 256 };
#define GROUP_PARENTS                                                                              \
	{                                                                                          \
		0, 0, 0, 1, 1, 3                                                                   \
	}
#define GROUP_NAMES                                                                                \
	{                                                                                          \
		"", "a", "b", "c", "d", "e"                                                        \
	}

/*
 * The number of a call is a group, plus GROUPS times a thread, a process, a file or a value.
 * Threads 0 and 1 are of one process, 2 and 3 of another.
 */
enum cgroup_op {
	CG_MKDIR,
	CG_RMDIR,
	CG_PROCS,
	CG_THREADS,
	CG_ENABLE,
	CG_DISABLE,
	CG_THREADED,
	CG_DEPTH,
	CG_DESCENDANTS,
	CG_WEIGHT,
	CG_QUOTA,
	CG_READ,
	CG_HOLD,
	CG_USE,
	CG_EXIT,
	CG_BORN,
	CG_RUN,
	CG_PLACED,
	CG_CLAIM,
	CG_RELEASE
};

enum cgroup_text {
	TEXT_PROCS,
	TEXT_THREADS,
	TEXT_CONTROLLERS,
	TEXT_SUBTREE,
	TEXT_TYPE,
	TEXT_EVENTS,
	TEXT_STAT,
	TEXT_DEPTH,
	TEXT_DESCENDANTS,
	TEXT_WEIGHT,
	TEXT_QUOTA,
	TEXT_CPU_STAT,
	NR_TEXTS
};

static inline unsigned cgroup_group(const struct call *call)
{
	return call->n % GROUPS;
}

static inline unsigned cgroup_arg(const struct call *call)
{
	return call->n / GROUPS;
}

/* A limit of depth or of descendants, or "max". */
enum { NO_MAXIMUM = 3 };

extern const u32 cgroup_weights[4], cgroup_quotas_us[4];

struct cgroup_model {
	bool alone;
	unsigned claims; /* mounts of v1 */
	struct group {
		bool exists, threaded, gives;
		u8 domain;
		u8 max_depth, max_descendants; /* NO_MAXIMUM: none */
		unsigned weight, quota;	       /* which of cgroup_weights, cgroup_quotas_us */
		u64 used_ms;
	} group[GROUPS];
	u8 place[NR_TIDS];
	bool ended[NR_TIDS];
	struct {
		bool open, dead;
		u8 group;
	} hand[NR_FIBERS];
};
DECLARE_MODEL(cgroup);

/* The name of the group of the scheduler that a task is in, not the root (group.c). */
struct task;
struct task_group;
const char *hosted_group_name(const struct task_group *tg);
/* The new @t is in its parent's group of the scheduler, @tg. */
void hosted_group_inherit(struct task *t, struct task_group *tg);
