/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Families: who made whom, and who shares a thread group. Scheduling needs it where a new task
 * shall take after its relatives (fair/burst.c).
 *
 * A process is its leader, the task it began with. Its other tasks hang on it, and so do the
 * leaders of the processes it made; Linux hangs those on the thread that forked. A leader that ends
 * before its threads stays in place until the last of them has ended, so a host keeps its memory
 * that long.
 *
 * Lock: sched.family_lock, a leaf, taken at fork, exit, exec by a thread and when orphans get
 * a new parent.
 */
#include "sched/core/family.h"
#include "sched/core/core.h"

void family_init(struct task *t)
{
	struct family *f = &t->family;

	*f = (struct family){ .leader = t, .nr_threads = 1 };
	list_init(&f->children);
	list_init(&f->sibling);
	list_init(&f->threads);
	list_init(&f->thread_link);
}

static void link_child(struct task *parent, struct task *child)
{
	SCHED_DEBUG_ASSERT(!child->family.parent);
	child->family.parent = parent;
	if (!parent)
		return;
	list_add_tail(&parent->family.children, &child->family.sibling);
	parent->family.nr_children++;
}

static void unlink_child(struct task *child)
{
	struct task *parent = child->family.parent;

	if (!parent)
		return;
	SCHED_DEBUG_ASSERT(parent->family.nr_children);
	list_del(&child->family.sibling);
	parent->family.nr_children--;
	child->family.parent = NULL;
}

void family_link(struct sched *s, struct task *parent, struct task *child, unsigned flags)
{
	struct task *leader = parent->family.leader;

	SCHED_ASSERT(host_lock_held(&s->family_lock));
	SCHED_ASSERT(leader);
	if (flags & FORK_THREAD) {
		child->family.leader = leader;
		list_add_tail(&leader->family.threads, &child->family.thread_link);
		leader->family.nr_threads++;
		child->family.nr_threads = 0;
	} else {
		link_child(flags & FORK_SIBLING ? leader->family.parent : leader, child);
	}
}

/* All children of @from become @to's, which may be NULL. */
static void move_children(struct task *from, struct task *to)
{
	SCHED_DEBUG_ASSERT(from != to);
	while (!list_empty(&from->family.children)) {
		struct task *child =
			list_first(&from->family.children, struct task, family.sibling);

		unlink_child(child);
		link_child(to, child);
	}
}

static void end_group(struct task *leader)
{
	SCHED_DEBUG_ASSERT(leader->family.leader == leader && !leader->family.nr_threads);
	move_children(leader, leader->family.parent);
	unlink_child(leader);
	leader->family.leader = NULL;
}

void sched_task_unlink(struct sched *s, struct task *t)
{
	struct task *leader;

	host_lock(&s->family_lock);
	leader = t->family.leader;
	if (leader && !t->family.ended) {
		SCHED_DEBUG_ASSERT(leader->family.nr_threads);
		t->family.ended = true;
		if (t != leader) {
			list_del(&t->family.thread_link);
			t->family.leader = NULL;
		}
		if (!--leader->family.nr_threads)
			end_group(leader);
	}
	host_unlock(&s->family_lock);
}

void sched_task_reparent(struct sched *s, struct task *child, struct task *parent)
{
	host_lock(&s->family_lock);
	SCHED_DEBUG_ASSERT(!parent || parent->family.leader != child);
	if (child->family.leader == child) {
		unlink_child(child);
		link_child(parent ? parent->family.leader : NULL, child);
	}
	host_unlock(&s->family_lock);
}

void sched_task_lead(struct sched *s, struct task *t)
{
	struct task *old;

	host_lock(&s->family_lock);
	old = t->family.leader;
	SCHED_ASSERT(old && old != t && old->family.ended && old->family.nr_threads == 1);
	list_del(&t->family.thread_link);
	t->family.leader = t;
	t->family.nr_threads = 1;
	link_child(old->family.parent, t);
	move_children(old, t);
	unlink_child(old);
	old->family.leader = NULL;
	old->family.nr_threads = 0;
	host_unlock(&s->family_lock);
}

/* --- invariants ------------------------------------------------------------ */

void check_family(struct sched *s, struct task *t)
{
	u32 nr_children = 0, nr_threads = 0;
	struct task *relative;

	host_lock(&s->family_lock);
	list_for_each(relative, &t->family.children, family.sibling) {
		SCHED_CHECK(T7, relative->family.parent == t);
		SCHED_CHECK(T7, relative->family.leader == relative);
		nr_children++;
	}
	list_for_each(relative, &t->family.threads, family.thread_link) {
		SCHED_CHECK(T7, relative->family.leader == t);
		nr_threads++;
	}
	SCHED_CHECK(T7, nr_children == t->family.nr_children);
	if (t->family.leader == t)
		SCHED_CHECK(T7, nr_threads + !t->family.ended == t->family.nr_threads);
	host_unlock(&s->family_lock);
}
