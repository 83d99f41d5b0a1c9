/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Autogroup: each session competes for CPU time as one group, whatever the number of its threads.
 *
 * setsid(2) gives a session a number and a nice value. The group of the scheduler that goes with
 * them is made when autogroup is switched on, or by setsid while it is on. So a machine on which it
 * was never on has no such groups. Threads whose control group counts in the root are members
 * (cgroup_settle() decides). What the kernel starts by itself, process 1 for instance, is in
 * no session's group until it calls setsid.
 *
 * A switch moves nobody: who forks, is moved, or begins a session afterwards follows it. This is so
 * on Linux, too.
 *
 * Locking: cgroup_mutex guards the list, nice values, and the switch; proc_tree_lock guards
 * proc.autogroup and what cgroup_settle() reads. A process refers to its session's group until its
 * last thread begins to end, and has none afterwards.
 *
 * Reference: sched(7), "The autogroup feature"; Linux 6.1 for errors and their order.
 */
#include "kernel/cgroup/internal.h"
#include "kernel/scx/group.h"

#include "kernel/contract.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/pseudo/pseudo.h"
#include "kernel/ref.h"
#include "kernel/time/time.h"
#include "lib/errno.h"
#include "lib/fmt.h"
#include "lib/string.h"

struct autogroup {
	GUARDED(atomic);
	u32 refs; /* one for each process of the session, and for readers */
	GUARDED(constant);
	u32 id;
	GUARDED(cgroup_mutex, "readers of files: one word");
	int nice;
	GUARDED(proc_tree_lock, "one word");
	struct task_group *tg; /* NULL: never on, or no memory */
	GUARDED(cgroup_mutex);
	struct list link;
};

/* Unprivileged writers of nice values, all together, get one turn in this time. */
#define NICE_PAUSE_NS (100 * NS_PER_MS)

static struct list sessions = LIST_INIT(sessions);
static u32 last_id;
static u64 next_nice_ns;
static bool is_on;

bool autogroup_was_on;

struct task_group *autogroup_tg(const struct proc *p)
{
	assert(spin_is_held(&proc_tree_lock));
	return is_on && p->autogroup ? p->autogroup->tg : NULL;
}

/* --- life ----------------------------------------------------------------------------- */

static void set_weight(struct autogroup *ag)
{
	debug_assert(mutex_is_held(&cgroup_mutex));
	if (ag->tg)
		with_irqs_off(task_group_set_shares(machine, ag->tg, sched_nice_weight(ag->nice)));
}

/* Give @ag its group of the scheduler, if it has none: 0 or -ENOMEM. */
static int attach(struct autogroup *ag)
{
	struct task_group *tg;
	char name[20];

	assert(mutex_is_held(&cgroup_mutex));
	if (ag->tg)
		return 0;
	/* As for control groups: the last memory is not spent on groups. */
	tg = page_is_short() ? NULL : cgroup_make_tg(NULL);
	if (!tg)
		return -ENOMEM;
	snprintf(name, sizeof(name), "autogroup-%u", ag->id);
	task_group_set_name(tg, name);
	scx_group_hide(tg);
	spin_lock(&proc_tree_lock);
	ag->tg = tg;
	spin_unlock(&proc_tree_lock);
	set_weight(ag);
	return 0;
}

/* NULL: no memory. A session that only the scheduler's group is missing of counts in the root. */
static struct autogroup *create(void)
{
	struct autogroup *ag = kzalloc(sizeof(*ag));

	if (!ag)
		return NULL;
	ag->refs = 1;
	mutex_lock(&cgroup_mutex);
	ag->id = ++last_id;
	list_add_tail(&sessions, &ag->link);
	if (is_on)
		attach(ag);
	mutex_unlock(&cgroup_mutex);
	return ag;
}

struct autogroup *autogroup_get(struct autogroup *ag)
{
	if (ag)
		ref_get(&ag->refs);
	return ag;
}

static void put(struct autogroup *ag)
{
	if (!ag || !ref_put(&ag->refs))
		return;
	mutex_lock(&cgroup_mutex);
	debug_assert(!list_empty(&ag->link));
	list_del(&ag->link);
	cgroup_free_tg(ag->tg);
	mutex_unlock(&cgroup_mutex);
	kfree(ag);
}

/* @p's threads leave its group, which may end then, for that of @ag, whose reference is given. */
static void replace(struct proc *p, struct autogroup *ag)
{
	struct autogroup *old;
	struct thread *t;

	debug_assert(may_sleep());
	spin_lock(&proc_tree_lock);
	old = p->autogroup;
	p->autogroup = ag;
	if (unlikely(autogroup_was_on))
		list_for_each(t, &p->threads, proc_link)
			cgroup_settle(t);
	spin_unlock(&proc_tree_lock);
	put(old);
}

void autogroup_begin_session(struct proc *p)
{
	debug_assert(may_sleep());
	replace(p, create());
}

void autogroup_leave(struct proc *p)
{
	debug_assert(may_sleep());
	if (p->autogroup)
		replace(p, NULL);
}

/* --- /proc/PID/autogroup -------------------------------------------------------------- */

static struct autogroup *get_of(struct proc *p)
{
	spin_lock(&proc_tree_lock);
	struct autogroup *ag = autogroup_get(p->autogroup);

	spin_unlock(&proc_tree_lock);
	return ag;
}

size_t autogroup_print(struct proc *p, char *buf, size_t size)
{
	struct autogroup *ag = get_of(p);
	int len = 0;

	if (ag)
		len = snprintf(buf, size, "/autogroup-%u nice %d\n", ag->id, READ_ONCE(ag->nice));
	put(ag);
	return (size_t)len;
}

/* The writer's turn, if nobody has just had one. */
static bool take_turn(void)
{
	u64 now = clock_ns();

	assert(mutex_is_held(&cgroup_mutex));
	if (now < next_nice_ns && !capable(CAP_SYS_ADMIN))
		return false;
	next_nice_ns = now + NICE_PAUSE_NS;
	return true;
}

static int set_nice(struct autogroup *ag, int nice)
{
	assert(mutex_is_held(&cgroup_mutex));
	if (!take_turn())
		return -EAGAIN;
	if (!ag)
		return -EINVAL;
	WRITE_ONCE(ag->nice, nice);
	set_weight(ag);
	return 0;
}

int autogroup_set_nice(struct proc *p, s64 nice)
{
	struct autogroup *ag;
	int err;

	if (!nice_is_valid(nice))
		return -EINVAL;
	if (nice < 0 && !cred_may_nice(current, (int)nice))
		return -EPERM;
	ag = get_of(p);
	mutex_lock(&cgroup_mutex);
	err = set_nice(ag, (int)nice);
	mutex_unlock(&cgroup_mutex);
	put(ag);
	return err;
}

/* --- the switch ----------------------------------------------------------------------- */

/* 0, or -ENOMEM: nothing is switched. */
static int turn(bool on)
{
	struct autogroup *ag;

	assert(mutex_is_held(&cgroup_mutex));
	list_for_each(ag, &sessions, link)
		if (on && attach(ag))
			return -ENOMEM;
	spin_lock(&proc_tree_lock);
	autogroup_was_on |= on;
	is_on = on;
	spin_unlock(&proc_tree_lock);
	return 0;
}

static size_t show_switch(void *arg, char *buf, size_t size)
{
	(void)arg;
	return (size_t)snprintf(buf, size, "%d\n", READ_ONCE(is_on));
}

static long store_switch(void *arg, const char *text, size_t len)
{
	bool on;
	int err = parse_bool(text, len, &on);

	(void)arg;
	if (err)
		return err;
	mutex_lock(&cgroup_mutex);
	err = turn(on);
	mutex_unlock(&cgroup_mutex);
	return err ?: (long)len;
}

static int autogroup_init(void)
{
	static const struct pseudo_file file = { .name = "kernel/sched_autogroup_enabled",
						 .mode = 0644,
						 .show = show_switch,
						 .store = store_switch };

	autogroup_was_on = is_on = cmdline_get("autogroup") && !cmdline_get("noautogroup");
	return proc_sys_add(&file);
}
INITCALL(autogroup_init);
