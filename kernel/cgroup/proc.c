/* SPDX-License-Identifier: GPL-2.0-only */
/* Control groups in /proc: who has the controllers, and where a thread is. */
#include "kernel/cgroup/internal.h"

#include "kernel/fs/vfs.h"
#include "kernel/kernel.h"
#include "lib/fmt.h"

size_t cgroup_print_controllers(char *buf, size_t size)
{
	struct text t = text_of(buf, size);
	enum hierarchy_id h;

	mutex_lock(&cgroup_mutex);
	h = cgroup_in_use(HIERARCHY_V1) ? HIERARCHY_V1 : HIERARCHY_V2;
	text_add(&t, "#subsys_name\thierarchy\tnum_cgroups\tenabled\n");
	text_add(&t, "cpu\t%d\t%u\t1\n", h == HIERARCHY_V1, cgroup_roots[h].nr_descendants + 1);
	if (cgroup_nr_hierarchies() > HIERARCHY_TUNE)
		text_add(&t, "schedtune\t%d\t%u\t1\n", cgroup_in_use(HIERARCHY_TUNE) ? 2 : 0,
			 cgroup_roots[HIERARCHY_TUNE].nr_descendants + 1);
	mutex_unlock(&cgroup_mutex);
	return t.len;
}

/* The ancestor of @cg that is @up levels above it. */
static const struct cgroup *ancestor(const struct cgroup *cg, unsigned up)
{
	debug_assert(mutex_is_held(&cgroup_mutex));
	while (up--)
		cg = cg->parent;
	return cg;
}

/*
 * Appends the path of a group, "/a/b"; "/" for a thread that has ended. Names never change, and a
 * group with members cannot be removed. proc_tree_lock held.
 */
static void add_path(struct text *t, const struct cgroup *cg)
{
	unsigned depth = 0;

	assert(spin_is_held(&proc_tree_lock));
	while (cg && !cgroup_is_root(ancestor(cg, depth)))
		depth++;
	if (!depth)
		text_add(t, "/");
	while (depth--)
		text_add(t, "/%s", ancestor(cg, depth)->dentry->name);
}

size_t cgroup_print_thread(const struct thread *thread, char *buf, size_t size)
{
	struct text t = text_of(buf, size);

	mutex_lock(&cgroup_mutex);
	spin_lock(&proc_tree_lock);
	if (cgroup_in_use(HIERARCHY_TUNE)) {
		text_add(&t, "2:schedtune:");
		add_path(&t, thread->member[HIERARCHY_TUNE].group);
		text_add(&t, "\n");
	}
	if (cgroup_in_use(HIERARCHY_V1)) {
		text_add(&t, "1:cpu:");
		add_path(&t, thread->member[HIERARCHY_V1].group);
		text_add(&t, "\n");
	}
	text_add(&t, "0::");
	add_path(&t, thread->member[HIERARCHY_V2].group);
	text_add(&t, "\n");
	spin_unlock(&proc_tree_lock);
	mutex_unlock(&cgroup_mutex);
	return t.len;
}
