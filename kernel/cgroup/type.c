/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rules of the v2 hierarchy: which groups have the controller, and which may have members.
 *
 * A group normally is a domain: it holds whole processes, and either divides CPU time among its
 * children or has members, not both, because members would compete with children by rules nobody
 * set. The controller `cpu` can divide among threads, so there is a way out: a subtree whose groups
 * are threaded holds the threads of the processes of its topmost group, the threaded domain, and
 * there members and children may stand side by side. Writes to cgroup.type and
 * cgroup.subtree_control decide which of the two a group is. A group below a threaded domain that
 * is not threaded itself is an invalid domain and takes no members.
 *
 * The root is exempt: everything starts there, and it has no parameters.
 *
 * Reference: Linux, Documentation/admin-guide/cgroup-v2.rst, "Threads" and "No Internal Process
 * Constraint". With one controller, a threaded one, some of its rules come out shorter here.
 */
#include "kernel/cgroup/internal.h"

#include "kernel/kernel.h"
#include "lib/errno.h"

/* --- what a group is ------------------------------------------------------------------ */

bool cgroup_is_threaded(const struct cgroup *cg)
{
	return cg->domain != cg;
}

static bool has_populated_domain_child(const struct cgroup *cg)
{
	const struct cgroup *child;

	debug_assert(mutex_is_held(&cgroup_mutex));
	list_for_each(child, &cg->children, sibling)
		if (!cgroup_is_threaded(child) && cgroup_is_populated(child))
			return true;
	return false;
}

/* Could @cg become a threaded domain, with threads of its processes in its children? */
static bool can_be_threaded_domain(const struct cgroup *cg)
{
	return cgroup_is_root(cg) || (!cgroup_is_threaded(cg) && !has_populated_domain_child(cg));
}

/* Is @cg a threaded domain: has it threaded children, or members beside children with the CPU? */
static bool is_threaded_domain(const struct cgroup *cg)
{
	debug_assert(mutex_is_held(&cgroup_mutex));
	return !cgroup_is_threaded(cg) &&
	       (cg->nr_threaded_children || (READ_ONCE(cg->nr_members) && cg->cpu_for_children));
}

static bool is_valid_domain(const struct cgroup *cg)
{
	debug_assert(mutex_is_held(&cgroup_mutex));
	if (cgroup_is_threaded(cg))
		return false;
	for (cg = cg->parent; cg && !cgroup_is_root(cg); cg = cg->parent)
		if (cgroup_is_threaded(cg) || is_threaded_domain(cg))
			return false;
	return true;
}

const char *cgroup_type_name(const struct cgroup *cg)
{
	assert(mutex_is_held(&cgroup_mutex));
	if (cgroup_is_threaded(cg))
		return "threaded";
	if (!is_valid_domain(cg))
		return "domain invalid";
	return is_threaded_domain(cg) ? "domain threaded" : "domain";
}

int cgroup_make_threaded(struct cgroup *cg)
{
	struct cgroup *domain = cg->parent->domain;

	assert(mutex_is_held(&cgroup_mutex));
	if (cgroup_is_threaded(cg))
		return 0;
	if (cgroup_is_populated(cg) || !is_valid_domain(domain) || !can_be_threaded_domain(domain))
		return -EOPNOTSUPP;
	/* Threaded groups below had this one as their domain; now they share its. */
	for (struct cgroup *each = cg; each; each = cgroup_next(each, cg))
		if (each == cg || cgroup_is_threaded(each))
			each->domain = domain;
	cg->parent->nr_threaded_children++;
	return 0;
}

/* --- who may be where ----------------------------------------------------------------- */

int cgroup_check_move(const struct thread *t, bool process, const struct cgroup *cg)
{
	const struct cgroup *from = cgroup_of(t, cg->hierarchy);

	assert(mutex_is_held(&cgroup_mutex));
	if (cg->hierarchy != HIERARCHY_V2)
		return 0;
	if (!is_valid_domain(cg->domain))
		return -EOPNOTSUPP;
	if (cg->cpu_for_children && !can_be_threaded_domain(cg) && !cgroup_is_threaded(cg))
		return -EBUSY;
	/* A single thread stays with its process, within the process's domain. */
	return !process && from && from->domain != cg->domain ? -EOPNOTSUPP : 0;
}

int cgroup_check_limits(const struct cgroup *cg)
{
	assert(mutex_is_held(&cgroup_mutex));
	for (s64 depth = 1; cg; cg = cg->parent, depth++)
		if (cg->nr_descendants >= (u32)cg->max_descendants || depth > cg->max_depth)
			return -EAGAIN;
	return 0;
}

/* --- the controller ------------------------------------------------------------------- */

bool cgroup_has_cpu_to_give(const struct cgroup *cg)
{
	assert(mutex_is_held(&cgroup_mutex));
	return cgroup_is_root(cg) ? !cgroup_in_use(HIERARCHY_V1) : cg->parent->cpu_for_children;
}

/* Would members of @cg compete with its children? */
static int check_enable(const struct cgroup *cg)
{
	debug_assert(mutex_is_held(&cgroup_mutex));
	if (!cgroup_has_cpu_to_give(cg))
		return -ENOENT;
	if (!is_valid_domain(cg->domain))
		return -EOPNOTSUPP;
	if (can_be_threaded_domain(cg) || cgroup_is_threaded(cg))
		return 0;
	return READ_ONCE(cg->nr_members) ? -EBUSY : 0;
}

static void detach_children(struct cgroup *cg)
{
	struct cgroup *child;

	debug_assert(mutex_is_held(&cgroup_mutex));
	list_for_each(child, &cg->children, sibling)
		cgroup_detach_cpu(child);
}

int cgroup_enable_cpu(struct cgroup *cg)
{
	struct cgroup *child;
	int err;

	assert(mutex_is_held(&cgroup_mutex));
	if (cg->cpu_for_children)
		return 0;
	err = check_enable(cg);
	if (err)
		return err;
	list_for_each(child, &cg->children, sibling) {
		err = cgroup_attach_cpu(child);
		if (err) {
			detach_children(cg);
			return err;
		}
	}
	cg->cpu_for_children = true;
	return 0;
}

int cgroup_disable_cpu(struct cgroup *cg)
{
	const struct cgroup *child;

	assert(mutex_is_held(&cgroup_mutex));
	if (!cg->cpu_for_children)
		return 0;
	list_for_each(child, &cg->children, sibling)
		if (child->cpu_for_children)
			return -EBUSY;
	cg->cpu_for_children = false;
	detach_children(cg);
	return 0;
}
