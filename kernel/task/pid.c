/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers of threads. Process groups and sessions are named by the number of a process, and a name
 * must not be given to somebody new while a group or session still bears it. So a number is free
 * when nobody uses it in any of the three ways: one table entry counts the users and points to the
 * thread.
 *
 * New numbers go upwards and wrap (to PID_RESERVED, as on Linux), so that a number is not reused
 * soon; finding the next is one step unless the table is crowded.
 *
 * Locking: the table is guarded by proc_tree_lock.
 */
#include "kernel/contract.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/task/task.h"

struct pid_entry {
	struct thread *thread;
	u32 users;
	u32 marks; /* of the process group: exit.c */
};

#define PID_RESERVED   300
#define FIRST_FREE_PID 2 /* 1 is init's, which starts late */

static struct pid_entry pids[PID_MAX];
static int last_pid = FIRST_FREE_PID - 1;

int pid_last(void)
{
	return READ_ONCE(last_pid);
}

int pid_alloc(void)
{
	spin_lock(&proc_tree_lock);
	int found = 0;

	for (unsigned n = 0; n < PID_MAX && !found; n++) {
		if (++last_pid == PID_MAX)
			last_pid = PID_RESERVED;
		if (!pids[last_pid].users)
			found = last_pid;
	}
	pids[found].users += found != 0;
	pids[found].marks = 0;
	spin_unlock(&proc_tree_lock);
	return found;
}

int pid_claim(int pid)
{
	debug_assert(pid > 0 && pid < PID_MAX);
	spin_lock(&proc_tree_lock);
	assert(!pids[pid].users);
	pids[pid].users++;
	spin_unlock(&proc_tree_lock);
	return pid;
}

void pid_use(int pid)
{
	debug_assert(pid > 0 && pid < PID_MAX);
	assert_held(&proc_tree_lock);
	pids[pid].users++;
}

void pid_release(int pid)
{
	assert_held(&proc_tree_lock);
	assert(pids[pid].users);
	pids[pid].users--;
}

void pid_set_thread(int pid, struct thread *t)
{
	debug_assert(pid > 0 && pid < PID_MAX);
	assert_held(&proc_tree_lock);
	pids[pid].thread = t;
}

struct thread *pid_thread(int pid)
{
	assert_held(&proc_tree_lock);
	return pid > 0 && pid < PID_MAX ? pids[pid].thread : NULL;
}

u32 *pid_group_marks(int pgid)
{
	debug_assert(pgid > 0 && pgid < PID_MAX);
	assert_held(&proc_tree_lock);
	return &pids[pgid].marks;
}
