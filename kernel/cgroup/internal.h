/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control groups: trees of groups of threads, seen as directories. This header is what the files of
 * kernel/cgroup share; cgroup.h is what the rest of the kernel calls.
 *
 *	cgroup.c     the trees, membership (fork, exit, moves), the CPU time that groups have used
 *	fs.c         directories and files, mounting
 *	proc.c       /proc
 *	core.c       the files about members and about the tree
 *	type.c       v2's rules: who may be where, which groups have the controller
 *	cpu.c        the controller `cpu`: shares, and the CPU time used
 *	bandwidth.c  the controller `cpu`: quota, period, burst
 *	fdl.c        the controller `cpu`: deadlines and guarantees
 *	clamp.c      the controller `cpu`: clamps of utilisation
 *	tune.c       the controller `schedtune`: boosts
 *	autogroup.c  no tree: a group of the scheduler for each session
 *
 * IDEA. There are two hierarchies, v1 and v2, as on Linux, and one controller, `cpu`, which belongs
 * to one of them at a time (docs/adr/009-cgroup-hierarchies.md). A group that the controller knows
 * has a group of the scheduler (sched/group.h). The members of any other group count in its nearest
 * ancestor that has one.
 *
 * A machine whose CPUs have several speeds has a third hierarchy, of v1, for the controller
 * `schedtune` alone. It is one level deep: each group but the root is a boost group of the
 * scheduler (sched/freq.h).
 *
 * LOCKING. cgroup_mutex guards the trees and every parameter, and serialises moves. proc_tree_lock
 * guards membership, because fork and exit change it and cannot sleep. A child gets its parent's
 * groups in the moment it becomes visible, so a move of the parent finds either no child yet or a
 * complete one.
 */
#pragma once

#include "kernel/cgroup/cgroup.h"

struct cred;
struct dentry;
struct inode;
struct task_group;
struct text;

#define CGROUP_NO_LIMIT INT32_MAX
/*
 * How deep groups nest, unless cgroup.max.depth of v2's root says otherwise. A wakeup or a sleep
 * climbs through all levels with the runqueue locked and interrupts off. Linux has no limit.
 */
#define CGROUP_MAX_DEPTH 32

struct cgroup_owner {
	u32 uid, gid;
};

struct cgroup {
	enum hierarchy_id hierarchy;
	GUARDED(atomic);
	u32 refs; /* one for existing, one for each inode */

	GUARDED(constant);
	struct cgroup *parent; /* NULL: the root */
	GUARDED(cgroup_mutex);
	struct list children, sibling;
	struct dentry *dentry; /* its directory */
	struct list files;     /* those that somebody has looked at (fs.c) */

	struct cgroup_owner maker, giver; /* who made it; who gave it the controller */
	GUARDED(cgroup_mutex);
	bool dead; /* removed; only open files and working directories are left */
	u32 nr_descendants;
	GUARDED(cgroup_mutex, "holders of proc_tree_lock, in a group with members");
	struct task_group *tg; /* NULL: without the controller */
	GUARDED(cgroup_mutex);
	u32 clamp_percent[2]; /* cpu.uclamp.min and .max, in hundredths, as written */
	GUARDED(cgroup_mutex, "fork");
	unsigned tune; /* number of the boost group; 0: the root's */
	GUARDED(cgroup_mutex);
	/* v2 */
	bool cpu_for_children; /* "cpu" is in cgroup.subtree_control */
	struct cgroup *domain; /* itself; if threaded, its threaded domain */
	u32 nr_threaded_children;
	s32 max_depth, max_descendants;

	GUARDED(proc_tree_lock);
	struct list members; /* struct thread, by member[hierarchy].link */
	GUARDED(proc_tree_lock, "populated or not: one word");
	u32 nr_members;
	u32 nr_inside; /* members of it and of its descendants */
	GUARDED(proc_tree_lock);
	u64 past_user_ns, past_system_ns; /* used by members that have left (v2) */
};

extern struct cgroup cgroup_roots[NR_HIERARCHIES];

static inline bool cgroup_is_root(const struct cgroup *cg)
{
	return !cg->parent;
}

/* --- cgroup.c; cgroup_mutex held unless a comment says otherwise -------------------------- */
/*
 * A new group below @parent, in its tree but without a directory. NULL and -errno in *err: -ENOMEM,
 * or what attaching the controller answers.
 */
struct cgroup *cgroup_create(struct cgroup *parent, int *err);
/* Remove @cg. 0, or -EBUSY if it has members or children. */
int cgroup_remove(struct cgroup *cg);
/* No lock. */
struct cgroup *cgroup_get(struct cgroup *cg);
void cgroup_put(struct cgroup *cg);
/* Walks @top and all groups below it, parents first: the group after @cg, or NULL at the end. */
struct cgroup *cgroup_next(struct cgroup *cg, struct cgroup *top);

/*
 * Give @cg, which has none, a group of the scheduler, or take it away. 0; -ENOMEM; or the error
 * with which a loaded scheduler refuses it.
 */
int cgroup_attach_cpu(struct cgroup *cg);
void cgroup_detach_cpu(struct cgroup *cg);

/* A group of the scheduler below @parent (NULL: no memory), and the end of one without members. */
struct task_group *cgroup_make_tg(struct task_group *parent);
void cgroup_free_tg(struct task_group *tg);
/* Move @t into the scheduler's groups that it belongs to now. proc_tree_lock held. */
void cgroup_settle(struct thread *t);

/* Number of hierarchies that this machine has, the first of enum hierarchy_id. No lock. */
unsigned cgroup_nr_hierarchies(void);

/*
 * Make @t, or every thread of its process, members of @cg. Threads that have ended are skipped. 0,
 * or the error with which a loaded scheduler refuses one of them: then none moves.
 */
int cgroup_move(struct thread *t, bool process, struct cgroup *cg);
/* The group that @t is in at the moment, or NULL if @t has ended. No lock. */
struct cgroup *cgroup_of(const struct thread *t, enum hierarchy_id h);
/* Are there members here or below at the moment? No lock. */
bool cgroup_is_populated(const struct cgroup *cg);

struct cgroup_usage {
	u64 user_ns, system_ns;
};
/* CPU time of members and descendants, present and past, while they were there (v2). */
struct cgroup_usage cgroup_usage(struct cgroup *cg);

/* --- type.c: v2 -------------------------------------------------------------------- */
/* May "cpu" be in @cg's cgroup.subtree_control? */
bool cgroup_has_cpu_to_give(const struct cgroup *cg);
/*
 * Give the controller to @cg's children, or take it from them. 0, also if nothing changes; or
 * -errno.
 */
int cgroup_enable_cpu(struct cgroup *cg);
int cgroup_disable_cpu(struct cgroup *cg);
bool cgroup_is_threaded(const struct cgroup *cg);
/* The text of cgroup.type. */
const char *cgroup_type_name(const struct cgroup *cg);
int cgroup_make_threaded(struct cgroup *cg);
/* May @cg have another child? 0, or -EAGAIN if it or an ancestor has reached a limit. */
int cgroup_check_limits(const struct cgroup *cg);
/* May @t, or its process, become a member of @cg? 0, -EBUSY, -EOPNOTSUPP. */
int cgroup_check_move(const struct thread *t, bool process, const struct cgroup *cg);

/* --- fs.c ------------------------------------------------------------------------- */
/* The file @name of @cg, with a reference, NULL if it has none, or INODE_LACKS. */
struct inode *cgroup_file(struct cgroup *cg, const char *name, size_t len);
/* The controller has come to @cg or gone, or @cg is dead: forget the files that it had. */
void cgroup_forget_files(struct cgroup *cg);
/* Is @h mounted, or has it groups? While v1 is in use the controller `cpu` is v1's. */
bool cgroup_in_use(enum hierarchy_id h);
/* Cut white space off both ends of @text, in place, as Linux does for some files. */
char *cgroup_strip(char *text, size_t *len);

enum cgroup_file_flags {
	CGF_V1 = 1, /* where it is: in v1, in v2, */
	CGF_V2 = 2,
	CGF_ROOT = 4, /* in the root, in other groups, */
	CGF_CHILD = 8,
	CGF_CPU = 16, /* and only with the controller */
	CGF_ALL = CGF_V1 | CGF_V2 | CGF_ROOT | CGF_CHILD,
	CGF_SIGNED = 32,  /* numbers are s64 */
	CGF_TUNE = 64,	  /* only with the controller schedtune */
	CGF_SPEEDS = 128, /* only if CPUs have several speeds */
};

/*
 * A file that every group has, or some. A file with a number has get and set, one with a text show
 * and store, one with members show and move. A set, store or move that returns -errno has changed
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
	/* on behalf of who opened the file */
	int (*move)(struct cgroup *cg, char *text, size_t len, const struct cred *opener);
	int (*may_read)(struct cgroup *cg); /* NULL: yes */
};
extern const struct cgroup_file cgroup_core_files[], cgroup_cpu_files[], cgroup_bandwidth_files[],
	cgroup_fdl_files[], cgroup_clamp_files[], cgroup_tune_files[];
extern const unsigned nr_cgroup_core_files, nr_cgroup_cpu_files, nr_cgroup_bandwidth_files,
	nr_cgroup_fdl_files, nr_cgroup_clamp_files, nr_cgroup_tune_files;

/* --- bandwidth.c ------------------------------------------------------------------ */
/* Append v2's lines of cpu.stat. */
void cgroup_add_bandwidth_stat(const struct cgroup *cg, struct text *t);

/* --- clamp.c ---------------------------------------------------------------------- */
/* @cg's clamps are those of a new group of the scheduler. */
void cgroup_reset_clamps(struct cgroup *cg);

/* --- autogroup.c; proc_tree_lock held --------------------------------------------- */
/* The scheduler's group of @p's session, or NULL: it has none, or autogroup is off. */
struct task_group *autogroup_tg(const struct proc *p);
/* Has autogroup ever been on since boot? Only then can threads be in groups of sessions. */
extern bool autogroup_was_on;

/* --- tune.c ----------------------------------------------------------------------- */
/*
 * Give @cg, which is new, a boost group of the scheduler: 0; -ENOMEM: not below the root; -ENOSPC:
 * all are in use. Or take it away; @cg has no members.
 */
int cgroup_attach_tune(struct cgroup *cg);
void cgroup_detach_tune(struct cgroup *cg);
