/* SPDX-License-Identifier: GPL-2.0-only */
/* Control groups, as the rest of the kernel sees them; kernel/cgroup/internal.h has the idea. */
#pragma once

#include "kernel/task/proc.h"

/*
 * The new thread @t, already set up for the scheduler, joins its parent's groups; a kernel thread
 * joins the roots. proc_tree_lock held.
 */
void cgroup_join(struct thread *t);
/* The thread @t ends: the CPU time that it still uses counts in the root. proc_tree_lock held. */
void cgroup_leave(struct thread *t);

/* Make the roots' directories and register the file systems `cgroup` and `cgroup2`. */
void cgroup_init(void);
extern const struct fs_type cgroup_type, cgroup2_type;
/* The text of /proc/cgroups, and of /proc/PID/cgroup; return the length needed, as snprintf. */
size_t cgroup_print_controllers(char *buf, size_t size);
size_t cgroup_print_thread(const struct thread *t, char *buf, size_t size);
