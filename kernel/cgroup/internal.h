/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control groups: trees of groups of threads, seen as directories. This header is what the files of
 * kernel/cgroup share; cgroup.h is what the rest of the kernel calls.
 *
 *	cgroup.c     the trees, membership (fork, exit, moves), the CPU time that groups have used
 *	fs.c         directories and files, mounting; /proc
 *	core.c       the files about members and about the tree
 *	type.c       v2's rules: who may be where, which groups have the controller
 *	cpu.c        the controller `cpu`: shares, and the CPU time used
 *	bandwidth.c  the controller `cpu`: quota, period, burst
 *	fdl.c        the controller `cpu`: deadlines and guarantees
 *
 * IDEA. There are two hierarchies, v1 and v2, as on Linux, and one controller, `cpu`, which belongs
 * to one of them at a time (docs/adr/009-cgroup-hierarchies.md). A group that the controller knows
 * has a group of the scheduler (sched/group.h). The members of any other group count in its nearest
 * ancestor that has one.
 *
 * LOCKING. cgroup_mutex guards the trees and every parameter, and serialises moves. proc_tree_lock
 * guards membership, because fork and exit change it and cannot sleep. A child gets its parent's
 * groups in the moment it becomes visible, so a move of the parent finds either no child yet or a
 * complete one.
 */
#pragma once

#include "kernel/cgroup/cgroup.h"

struct dentry;
struct task_group;
struct text;

#define CGROUP_NO_LIMIT INT32_MAX

struct cgroup {
	enum hierarchy_id hierarchy;
	u32 refs; /* one while it exists, one for each of its inodes */

	/* guarded by: cgroup_mutex */
	struct cgroup *parent; /* NULL: the root */
	struct list children, sibling;
	struct dentry *dentry; /* its directory */
	bool dead;	       /* removed; only open files and working directories are left */
	u32 nr_descendants;
	struct task_group *tg; /* NULL: the controller is not here */
	/* v2 */
	bool cpu_for_children; /* "cpu" is in cgroup.subtree_control */
	struct cgroup *domain; /* itself, or if threaded the group whose processes it divides */
	u32 nr_threaded_children;
	s32 max_depth, max_descendants;

	/* guarded by: proc_tree_lock */
	struct list members; /* struct thread, by member[hierarchy].link */
	u32 nr_members;
	u32 nr_inside;			  /* members of it and of its descendants */
	u64 past_user_ns, past_system_ns; /* used by those that have left (v2) */
};

extern struct mutex cgroup_mutex;
extern struct cgroup cgroup_roots[NR_HIERARCHIES];

static inline bool cgroup_is_root(const struct cgroup *cg)
{
	return !cg->parent;
}

/* --- cgroup.c; cgroup_mutex held unless a comment says otherwise -------------------------- */
/* A new group below @parent, in its tree but without a directory. NULL: -ENOMEM. */
struct cgroup *cgroup_create(struct cgroup *parent);
/* -EBUSY: it has members or children. */
int cgroup_remove(struct cgroup *cg);
/* Needs no lock. */
struct cgroup *cgroup_get(struct cgroup *cg);
void cgroup_put(struct cgroup *cg);
/* @top and everything below it, parents first: the one after @cg, NULL at the end. */
struct cgroup *cgroup_next(struct cgroup *cg, struct cgroup *top);

/* Give the controller's group to @cg, which has none; or take it away. -ENOMEM. */
int cgroup_attach_cpu(struct cgroup *cg);
void cgroup_detach_cpu(struct cgroup *cg);

/*
 * Make @t, or every thread of its process, members of @cg. What has ended is not moved, without an
 * error.
 */
void cgroup_move(struct thread *t, bool process, struct cgroup *cg);
/* The group that @t is in; NULL: it has ended. */
struct cgroup *cgroup_of(const struct thread *t, enum hierarchy_id h);
/* Are there members here or below? */
bool cgroup_is_populated(const struct cgroup *cg);

struct cgroup_usage {
	u64 user_ns, system_ns;
};
/* CPU time of members and descendants, present and past, while they were there (v2). */
struct cgroup_usage cgroup_usage(struct cgroup *cg);

/* --- type.c: v2 -------------------------------------------------------------------- */
/* May "cpu" be in @cg's cgroup.subtree_control? */
bool cgroup_has_cpu_to_give(const struct cgroup *cg);
/* Put the controller into @cg's children, or take it away; 0 if that is so already. */
int cgroup_enable_cpu(struct cgroup *cg);
int cgroup_disable_cpu(struct cgroup *cg);
bool cgroup_is_threaded(const struct cgroup *cg);
/* As cgroup.type tells it. */
const char *cgroup_type_name(const struct cgroup *cg);
int cgroup_make_threaded(struct cgroup *cg);
/* May @cg have a child? -EAGAIN: a limit of it or of an ancestor is reached. */
int cgroup_check_limits(const struct cgroup *cg);
/* May @t, or its process, become a member of @cg? 0, -EBUSY, -EOPNOTSUPP. */
int cgroup_check_move(const struct thread *t, bool process, const struct cgroup *cg);

/* --- fs.c ------------------------------------------------------------------------- */
/* Does the controller belong to v1? It does while v1 is mounted or has groups. */
bool cgroup_v1_in_use(void);
/* Cut white space off both ends of @text, in place, as Linux does for some files. */
char *cgroup_strip(char *text, size_t *len);

enum cgroup_file_flags {
	CGF_V1 = 1, /* where it is: in v1, in v2, */
	CGF_V2 = 2,
	CGF_ROOT = 4, /* in the root, in other groups, */
	CGF_CHILD = 8,
	CGF_CPU = 16, /* and only with the controller */
	CGF_ALL = CGF_V1 | CGF_V2 | CGF_ROOT | CGF_CHILD,
	CGF_SIGNED = 32, /* numbers are s64 */
};

/*
 * A file of every group, or of some. Numbers have get and set, texts show and store; -errno changes
 * nothing. All are called with cgroup_mutex held, for a group that exists.
 */
struct cgroup_file {
	const char *name;
	unsigned flags;
	u64 (*get)(struct cgroup *cg);
	int (*set)(struct cgroup *cg, u64 value);
	size_t (*show)(struct cgroup *cg, char *buf, size_t size); /* as pseudo_file's */
	/* @text is the written text, its NUL at @text[len] */
	int (*store)(struct cgroup *cg, char *text, size_t len);
	int (*may_read)(struct cgroup *cg); /* NULL: yes */
};
extern const struct cgroup_file cgroup_core_files[], cgroup_cpu_files[], cgroup_bandwidth_files[],
	cgroup_fdl_files[];
extern const unsigned nr_cgroup_core_files, nr_cgroup_cpu_files, nr_cgroup_bandwidth_files,
	nr_cgroup_fdl_files;

/* --- bandwidth.c ------------------------------------------------------------------ */
/* Append v2's lines of cpu.stat. */
void cgroup_add_bandwidth_stat(const struct cgroup *cg, struct text *t);

/* --- fs.c ------------------------------------------------------------------------- */
/* Cut white space off both ends of @text, in place; Linux does for some files. */
char *cgroup_strip(char *text, size_t *len);
