/* SPDX-License-Identifier: GPL-2.0-only */
/* Control groups, as the rest of the kernel sees them; kernel/cgroup/internal.h has the idea. */
#pragma once

#include "kernel/task/proc.h"

/* Guards the trees and every parameter of a group, and serialises moves. */
extern struct mutex cgroup_mutex;

/*
 * The new thread @t, already set up for the scheduler, joins its parent's groups; a kernel thread
 * joins the roots. proc_tree_lock held.
 */
void cgroup_join(struct thread *t);
/* The thread @t ends: the CPU time that it still uses counts in the root. proc_tree_lock held. */
void cgroup_leave(struct thread *t);

/*
 * Sessions as groups (autogroup.c). A child's reference to its parent's, which may be NULL; @p
 * begins a session; its last thread begins to end. The last two may sleep.
 */
struct autogroup *autogroup_get(struct autogroup *ag);
void autogroup_begin_session(struct proc *p);
void autogroup_leave(struct proc *p);
/* The text of /proc/PID/autogroup: nothing if @p has none. Returns the length needed. */
size_t autogroup_print(struct proc *p, char *buf, size_t size);
/* -EINVAL: no nice value, or @p has no group; -EPERM; -EAGAIN: again so soon, without privilege. */
int autogroup_set_nice(struct proc *p, s64 nice);

/* Make the roots' directories and register the file systems `cgroup` and `cgroup2`. */
void cgroup_init(void);
extern const struct fs_type cgroup_type, cgroup2_type;
/* The text of /proc/cgroups, and of /proc/PID/cgroup; return the length needed, as snprintf. */
size_t cgroup_print_controllers(char *buf, size_t size);
size_t cgroup_print_thread(const struct thread *t, char *buf, size_t size);
