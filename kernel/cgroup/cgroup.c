/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The trees of control groups and their members; see internal.h for the idea and the locking.
 *
 * A thread has one place in each hierarchy, a group and a link in its list of members. Only one
 * hierarchy has the controller `cpu`, so at most one of a thread's places decides its group of the
 * scheduler, and one its boost group; cgroup_settle() applies these decisions after every change.
 *
 * A thread leaves its groups when it is taken out of its process, before its last switch; what it
 * still runs counts in the root. So a group without members is empty for the scheduler too and can
 * be removed at once.
 *
 * INVARIANTS. nr_inside is the sum of nr_members over the subtree. task_group_of() a member is the
 * tg of its group or of the nearest ancestor that has one; if none has, the root's or, with
 * autogroup, its session's. The CPU time that a group has used is
 * the past time of the group and its descendants, plus the time of each member since it joined. A
 * removed group adds its past time to its parent's.
 */
#include "kernel/cgroup/internal.h"

#include "kernel/fs/vfs.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/ref.h"
#include "kernel/scx/group.h"
#include "kernel/time/speed.h"
#include "lib/errno.h"

struct mutex cgroup_mutex = MUTEX_INIT(cgroup_mutex);

#define ROOT(h)                                                                                    \
	[h] = {                                                                                    \
		.hierarchy = (h),                                                                  \
		.refs = 1,                                                                         \
		.children = LIST_INIT(cgroup_roots[h].children),                                   \
		.sibling = LIST_INIT(cgroup_roots[h].sibling),                                     \
		.files = LIST_INIT(cgroup_roots[h].files),                                         \
		.members = LIST_INIT(cgroup_roots[h].members),                                     \
		.domain = &cgroup_roots[h],                                                        \
		.max_depth = CGROUP_MAX_DEPTH,                                                     \
		.max_descendants = CGROUP_NO_LIMIT,                                                \
	}
/* There from the start: the first kernel threads join them before anything is set up. */
struct cgroup cgroup_roots[NR_HIERARCHIES] = { ROOT(HIERARCHY_V1), ROOT(HIERARCHY_V2),
					       ROOT(HIERARCHY_TUNE) };

unsigned cgroup_nr_hierarchies(void)
{
	return speeds_on ? NR_HIERARCHIES : HIERARCHY_TUNE;
}

/* --- the scheduler's side ------------------------------------------------------------- */

/* The scheduler's group in which members of @cg count; NULL for the root. */
static struct task_group *effective_tg(const struct cgroup *cg)
{
	debug_assert(mutex_is_held(&cgroup_mutex) || spin_is_held(&proc_tree_lock));
	while (cg && !cg->tg)
		cg = cg->parent;
	return cg ? cg->tg : NULL;
}

/*
 * The scheduler's group that places in these groups ask @t for: that of its control group or, if
 * that is the root, of its session. A thread that has left its places is the root's.
 */
static struct task_group *wanted_in(const struct thread *t, const struct cgroup *v1,
				    const struct cgroup *v2)
{
	struct task_group *tg = effective_tg(v1) ?: effective_tg(v2);

	debug_assert(spin_is_held(&proc_tree_lock));
	return tg || !v1 ? tg : autogroup_tg(t->proc);
}

/* The group of @t in the hierarchy @h, once it is a member of @cg. */
static const struct cgroup *place_in(const struct thread *t, enum hierarchy_id h,
				     const struct cgroup *cg)
{
	return cg && cg->hierarchy == h ? cg : t->member[h].group;
}

/* The scheduler's group of @t, once it is a member of @cg; NULL: as it is. */
static struct task_group *wanted_tg(const struct thread *t, const struct cgroup *cg)
{
	return wanted_in(t, place_in(t, HIERARCHY_V1, cg), place_in(t, HIERARCHY_V2, cg));
}

void cgroup_settle(struct thread *t)
{
	struct task_group *tg = wanted_tg(t, NULL);
	const struct cgroup *boosted = t->member[HIERARCHY_TUNE].group;
	unsigned tune = boosted ? boosted->tune : 0;

	assert(spin_is_held(&proc_tree_lock));
	if (task_group_of(&t->task) != tg)
		with_irqs_off(task_group_move(machine, &t->task, tg));
	if (sched_tune_of(&t->task) != tune)
		with_irqs_off(sched_tune_move(machine, &t->task, tune));
}

/* settle() all members of @top and its descendants, after some tg has changed. */
static void settle_all(struct cgroup *top)
{
	struct thread *t;

	assert(mutex_is_held(&cgroup_mutex));
	for (struct cgroup *cg = top; cg; cg = cgroup_next(cg, top)) {
		spin_lock(&proc_tree_lock);
		list_for_each(t, &cg->members, member[cg->hierarchy].link) {
			scx_prepare_move(&t->task, wanted_tg(t, NULL));
			cgroup_settle(t);
		}
		spin_unlock(&proc_tree_lock);
	}
}

struct task_group *cgroup_make_tg(struct task_group *parent)
{
	struct task_group *tg = kzalloc(max(task_group_size(machine), (size_t)128));

	assert(mutex_is_held(&cgroup_mutex) && (u64)tg % 64 == 0);
	if (tg)
		with_irqs_off(task_group_init(machine, tg, parent));
	return tg;
}

void cgroup_free_tg(struct task_group *tg)
{
	assert(mutex_is_held(&cgroup_mutex));
	if (tg)
		with_irqs_off(task_group_exit(machine, tg));
	kfree(tg);
}

/* Files made now are the running thread's. */
static struct cgroup_owner running_user(void)
{
	const struct cred *c = &current->cred;

	return (struct cgroup_owner){ c->user.fs, c->group.fs };
}

int cgroup_attach_cpu(struct cgroup *cg)
{
	struct task_group *tg = cgroup_make_tg(effective_tg(cg->parent));
	int err;

	assert(!cg->tg);
	if (!tg)
		return -ENOMEM;
	err = scx_group_new(tg);
	if (err) {
		cgroup_free_tg(tg);
		return err;
	}
	cg->tg = tg;
	cg->giver = running_user();
	cgroup_reset_clamps(cg);
	if (cg->dentry)
		task_group_set_name(tg, cg->dentry->name);
	settle_all(cg);
	return 0;
}

void cgroup_detach_cpu(struct cgroup *cg)
{
	struct task_group *tg = cg->tg;

	assert(mutex_is_held(&cgroup_mutex));
	if (!tg)
		return;
	cg->tg = NULL;
	settle_all(cg);
	scx_group_gone(tg);
	cgroup_free_tg(tg);
	cgroup_forget_files(cg);
}

/* --- the tree ------------------------------------------------------------------------- */

struct cgroup *cgroup_get(struct cgroup *cg)
{
	ref_get(&cg->refs);
	return cg;
}

void cgroup_put(struct cgroup *cg)
{
	if (ref_put(&cg->refs)) {
		debug_assert(!cg->nr_members && !cg->tg);
		kfree(cg);
	}
}

struct cgroup *cgroup_next(struct cgroup *cg, struct cgroup *top)
{
	debug_assert(mutex_is_held(&cgroup_mutex));
	if (!list_empty(&cg->children))
		return list_first(&cg->children, struct cgroup, sibling);
	for (; cg != top; cg = cg->parent)
		if (cg->sibling.next != &cg->parent->children)
			return list_entry(cg->sibling.next, struct cgroup, sibling);
	return NULL;
}

static void count_descendants(struct cgroup *parent, int n)
{
	debug_assert(mutex_is_held(&cgroup_mutex));
	for (; parent; parent = parent->parent)
		parent->nr_descendants += (u32)n;
}

static int attach(struct cgroup *cg)
{
	debug_assert(!cg->tg);
	debug_assert(mutex_is_held(&cgroup_mutex));
	if (cg->hierarchy == HIERARCHY_TUNE)
		return cgroup_attach_tune(cg);
	if (cg->hierarchy == HIERARCHY_V1 || cg->parent->cpu_for_children)
		return cgroup_attach_cpu(cg);
	return 0;
}

static void detach(struct cgroup *cg)
{
	debug_assert(mutex_is_held(&cgroup_mutex));
	cgroup_detach_cpu(cg);
	cgroup_detach_tune(cg);
}

struct cgroup *cgroup_create(struct cgroup *parent, int *err)
{
	struct cgroup *cg = kzalloc(sizeof(*cg));

	assert(mutex_is_held(&cgroup_mutex));
	*err = -ENOMEM;
	if (!cg)
		return NULL;
	cg->hierarchy = parent->hierarchy;
	cg->refs = 1;
	cg->parent = parent;
	cg->domain = cg;
	cg->maker = running_user();
	cg->max_depth = cg->max_descendants = CGROUP_NO_LIMIT;
	list_init(&cg->children);
	list_init(&cg->files);
	list_init(&cg->members);
	*err = attach(cg);
	if (*err) {
		kfree(cg);
		return NULL;
	}
	list_add_tail(&parent->children, &cg->sibling);
	count_descendants(parent, 1);
	return cg;
}

/* Past members of @cg have used @u more. */
static void add_past(struct cgroup *cg, struct cgroup_usage u)
{
	assert(spin_is_held(&proc_tree_lock));
	cg->past_user_ns += u.user_ns;
	cg->past_system_ns += u.system_ns;
}

int cgroup_remove(struct cgroup *cg)
{
	struct cgroup *parent = cg->parent;
	bool busy;

	assert(mutex_is_held(&cgroup_mutex));
	if (!parent || !list_empty(&cg->children))
		return -EBUSY;
	/* Only a move or a member's fork adds members, so an empty group stays empty here. */
	spin_lock(&proc_tree_lock);
	busy = cg->nr_members;
	if (!busy)
		add_past(parent, (struct cgroup_usage){ cg->past_user_ns, cg->past_system_ns });
	spin_unlock(&proc_tree_lock);
	if (busy)
		return -EBUSY;
	detach(cg);
	parent->nr_threaded_children -= cgroup_is_threaded(cg);
	list_del(&cg->sibling);
	count_descendants(parent, -1);
	WRITE_ONCE(cg->dead, true);
	cgroup_forget_files(cg);
	cgroup_put(cg);
	return 0;
}

/* --- members: proc_tree_lock held ----------------------------------------------------- */

static void count_inside(struct cgroup *cg, int n)
{
	debug_assert(spin_is_held(&proc_tree_lock));
	for (cg->nr_members += (u32)n; cg; cg = cg->parent)
		cg->nr_inside += (u32)n;
}

static void enter(struct thread *t, struct cgroup *cg)
{
	struct cgroup_member *m = &t->member[cg->hierarchy];

	debug_assert(!m->group);
	assert(spin_is_held(&proc_tree_lock));
	m->group = cg;
	list_add_tail(&cg->members, &m->link);
	count_inside(cg, 1);
}

/* The clock of another CPU may be a little behind, so the difference is at least 0. */
static u64 since(u64 now, u64 then)
{
	return now > then ? now - then : 0;
}

/* CPU time that @t has used since it joined its group. */
static struct cgroup_usage member_usage(struct thread *t, const struct cgroup_member *m)
{
	struct usage u = thread_usage(t);

	debug_assert(spin_is_held(&proc_tree_lock));
	return (struct cgroup_usage){ since(u.user_ns, m->joined_user_ns),
				      since(u.system_ns, m->joined_system_ns) };
}

/* The root's usage is the machine's and v1 shows none, so nothing is measured for them. */
static bool is_measured(const struct cgroup *cg)
{
	return cg->hierarchy == HIERARCHY_V2 && !cgroup_is_root(cg);
}

static void quit(struct thread *t, enum hierarchy_id h)
{
	struct cgroup_member *m = &t->member[h];
	struct cgroup *cg = m->group;

	debug_assert(cg);
	assert(spin_is_held(&proc_tree_lock));
	if (is_measured(cg))
		add_past(cg, member_usage(t, m));
	list_del(&m->link);
	count_inside(cg, -1);
	m->group = NULL;
}

void cgroup_join(struct thread *t)
{
	bool kernel = thread_has(t, THREAD_KERNEL);

	assert(spin_is_held(&proc_tree_lock));
	for (unsigned h = 0; h < cgroup_nr_hierarchies(); h++)
		enter(t, kernel ? &cgroup_roots[h] : current->member[h].group);
	if (unlikely(autogroup_was_on))
		cgroup_settle(t);
}

void cgroup_leave(struct thread *t)
{
	assert(spin_is_held(&proc_tree_lock));
	for (unsigned h = 0; h < cgroup_nr_hierarchies(); h++)
		quit(t, h);
	cgroup_settle(t);
}

static void move_thread(struct thread *t, struct cgroup *cg)
{
	struct cgroup_member *m = &t->member[cg->hierarchy];

	assert(spin_is_held(&proc_tree_lock));
	if (!m->group || m->group == cg)
		return;
	quit(t, cg->hierarchy);
	if (is_measured(cg)) {
		struct usage u = thread_usage(t);

		m->joined_user_ns = u.user_ns;
		m->joined_system_ns = u.system_ns;
	}
	enter(t, cg);
	cgroup_settle(t);
}

int cgroup_move(struct thread *t, bool process, struct cgroup *cg)
{
	struct thread *each;
	int err = 0;

	assert(mutex_is_held(&cgroup_mutex));
	spin_lock(&proc_tree_lock);
	list_for_each(each, &t->proc->threads, proc_link)
		if (!err && (process || each == t))
			err = scx_prepare_move(&each->task, wanted_tg(each, cg));
	list_for_each(each, &t->proc->threads, proc_link)
		if (err)
			scx_cancel_move(&each->task, wanted_tg(each, cg));
		else if (process || each == t)
			move_thread(each, cg);
	spin_unlock(&proc_tree_lock);
	return err;
}

/* --- questions ------------------------------------------------------------------------ */

struct cgroup *cgroup_of(const struct thread *t, enum hierarchy_id h)
{
	return READ_ONCE(t->member[h].group);
}

bool cgroup_is_populated(const struct cgroup *cg)
{
	return READ_ONCE(cg->nr_inside);
}

struct cgroup_usage cgroup_usage(struct cgroup *top)
{
	struct cgroup_usage sum = { 0 };
	struct thread *t;

	assert(mutex_is_held(&cgroup_mutex));
	if (cgroup_is_root(top)) {
		struct cpu_usage all = machine_usage();

		return (struct cgroup_usage){ all.user_ns, all.system_ns };
	}
	for (struct cgroup *cg = top; cg; cg = cgroup_next(cg, top)) {
		spin_lock(&proc_tree_lock);
		sum.user_ns += cg->past_user_ns;
		sum.system_ns += cg->past_system_ns;
		list_for_each(t, &cg->members, member[cg->hierarchy].link) {
			struct cgroup_usage u = member_usage(t, &t->member[cg->hierarchy]);

			sum.user_ns += u.user_ns;
			sum.system_ns += u.system_ns;
		}
		spin_unlock(&proc_tree_lock);
	}
	return sum;
}
