/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control groups from the inside, where a program cannot look: memory comes back, the groups of the
 * scheduler and of kernel/cgroup agree while threads move under load, and two accounts of the same
 * time agree.
 */
#include "kernel/cgroup/internal.h"

#include "kernel/fs/vfs.h"
#include "kernel/kernel.h"
#include "kernel/mm/frame.h"
#include "kernel/mm/kasan.h"
#include "kernel/mm/mm.h"
#include "kernel/time/time.h"
#include "lib/errno.h"
#include "lib/fmt.h"
#include "lib/prng.h"
#include "lib/string.h"

#define V1_MOUNT "/selftest"
#define V2_MOUNT "/sys/fs/cgroup"

static int make_dir(const char *name)
{
	return path_mknod(AT_FDCWD, name, S_IFDIR | 0755, 0, NULL);
}

static int remove_dir(const char *name)
{
	return path_unlink(AT_FDCWD, name, true);
}

/* Mount v1, or unmount it, which gives v2 the controller. */
static bool enter_v1(void)
{
	struct path at;
	int err = make_dir(V1_MOUNT) ?: path_lookup(AT_FDCWD, V1_MOUNT, 0, &at);

	if (err)
		return false;
	err = mount_add(&cgroup_type, "cgroup", &at, 0, "cpu");
	path_put(&at);
	return !err;
}

static bool leave_v1(void)
{
	struct path at;
	int err = path_lookup(AT_FDCWD, V1_MOUNT, 0, &at);

	if (err)
		return false;
	err = mount_remove(&at, false);
	path_put(&at);
	return !err && !remove_dir(V1_MOUNT);
}

/* The group of the directory @name, which stays while nobody removes it; NULL. */
static struct cgroup *group_of(const char *name)
{
	struct path p;
	struct cgroup *cg;

	if (path_lookup(AT_FDCWD, name, WALK_DIR, &p))
		return NULL;
	cg = p.dentry->inode->private;
	path_put(&p);
	return cg;
}

static void move(struct thread *t, struct cgroup *cg)
{
	mutex_lock(&cgroup_mutex);
	cgroup_move(t, false, cg);
	mutex_unlock(&cgroup_mutex);
}

/* --- memory ------------------------------------------------------------------------- */

#define NR_GROUPS 1000

static int make_and_remove_many(void)
{
	char name[48];
	int err = 0;

	for (int i = 0; i < NR_GROUPS && !err; i++) {
		snprintf(name, sizeof(name), V1_MOUNT "/g%d", i);
		err = make_dir(name);
	}
	for (int i = 0; i < NR_GROUPS && !err; i++) {
		snprintf(name, sizeof(name), V1_MOUNT "/g%d", i);
		err = remove_dir(name);
	}
	return err;
}

/* Memory that the second round needs beyond the first can only be a leak. */
SELFTEST(cgroup_memory_comes_back)
{
	struct superblock *sb = cgroup_roots[HIERARCHY_V1].dentry->inode->sb;
	u64 inodes = sb->nr_inodes, after_one, after_four;

	SELFTEST_CHECK(enter_v1() && !make_and_remove_many());
	after_one = page_nr_free();
	for (int i = 0; i < 3; i++)
		SELFTEST_CHECK(!make_and_remove_many());
	after_four = page_nr_free();
	SELFTEST_CHECK(sb->nr_inodes == inodes);
	/* A group is two kilobytes and more: 1000 leaked ones would be 500 pages each time. */
	SELFTEST_CHECK(after_four + 100 + KASAN_KEEPS_PAGES > after_one);
	SELFTEST_CHECK(!cgroup_roots[HIERARCHY_V1].nr_descendants && leave_v1());
	return 0;
}

/* Memory that is taken so that others get none. Each piece begins with a link to the next. */
struct piece {
	struct piece *next;
	unsigned order; /* of pages */
};

static struct {
	struct piece *pages, *stacks;
} hoard;

static void take_all_memory(void)
{
	struct piece *p;
	u64 pa;

	hoard.pages = hoard.stacks = NULL;
	for (unsigned order = NR_ORDERS; order--;) {
		while ((pa = page_alloc(order))) {
			p = phys_to_virt(pa);
			*p = (struct piece){ hoard.pages, order };
			hoard.pages = p;
		}
	}
	for (; (p = kstack_alloc()); hoard.stacks = p)
		p->next = hoard.stacks;
}

static void give_it_back(void)
{
	struct piece *p;

	while ((p = hoard.pages)) {
		hoard.pages = p->next;
		page_free(virt_to_phys(p), p->order);
	}
	while ((p = hoard.stacks)) {
		hoard.stacks = p->next;
		kstack_free(p);
	}
}

/* The result of writing the number @value into v1's file @name. */
static int put(struct cgroup *cg, const char *name, u64 value)
{
	int err = -ENOENT;

	mutex_lock(&cgroup_mutex);
	for (unsigned i = 0; i < nr_cgroup_fdl_files; i++) {
		const struct cgroup_file *f = &cgroup_fdl_files[i];

		if ((f->flags & CGF_V1) && f->set && !strcmp(f->name, name))
			err = f->set(cg, value);
	}
	mutex_unlock(&cgroup_mutex);
	return err;
}

static struct task_group_params params_of(const struct cgroup *cg)
{
	struct task_group_params p;

	task_group_params(cg->tg, &p);
	return p;
}

/*
 * Without memory there is no new group and no guarantee (its thread needs a stack); existing groups
 * keep their values.
 */
SELFTEST(cgroup_without_memory)
{
	struct cpumask all = current->task.allowed, here = cpumask_of(current->task.cpu);
	int group_err, guarantee_err;
	struct cgroup *cg;
	u64 guaranteed;

	SELFTEST_CHECK(enter_v1() && !make_dir(V1_MOUNT "/g"));
	SELFTEST_CHECK((cg = group_of(V1_MOUNT "/g")));
	/* The stacks in reserve are this CPU's. */
	with_irqs_off(sched_set_affinity(machine, &current->task, &here));
	take_all_memory();
	guarantee_err = put(cg, "cpu.guaranteed_shares", 512);
	guaranteed = params_of(cg).guaranteed_shares;
	group_err = make_dir(V1_MOUNT "/g/h");
	give_it_back();
	with_irqs_off(sched_set_affinity(machine, &current->task, &all));
	SELFTEST_CHECK(guarantee_err == -ENOMEM && !guaranteed && group_err == -ENOMEM);
	SELFTEST_CHECK(!make_dir(V1_MOUNT "/g/h") && !remove_dir(V1_MOUNT "/g/h"));
	SELFTEST_CHECK(!put(cg, "cpu.guaranteed_shares", 512) &&
		       params_of(cg).guaranteed_shares == 512);
	SELFTEST_CHECK(!remove_dir(V1_MOUNT "/g") && leave_v1());
	return 0;
}

/* --- members ------------------------------------------------------------------------ */

#define NR_SPINNERS 6

static struct spinners {
	u32 stop, awake;
	struct thread *thread[NR_SPINNERS];
	u64 turns[NR_SPINNERS];
} spinners;

static void spin(void *turns)
{
	for (u64 n = 0; !READ_ONCE(spinners.stop); n++) {
		WRITE_ONCE(*(u64 *)turns, n);
		/* Asleep some of the time, so that moves meet every state. */
		if (!READ_ONCE(spinners.awake) && clock_ns() % (4 * NS_PER_MS) < NS_PER_MS)
			sleep_until(clock_ns() + 100 * NS_PER_US, 0);
		arch_cpu_relax();
	}
}

static bool start_spinners(void)
{
	spinners.stop = spinners.awake = 0;
	for (int i = 0; i < NR_SPINNERS; i++) {
		spinners.thread[i] = kthread_create("spinner", spin, &spinners.turns[i]);
		if (!spinners.thread[i])
			return false;
		thread_get(spinners.thread[i]);
	}
	return true;
}

static bool spinners_have_left(void)
{
	for (int i = 0; i < NR_SPINNERS; i++)
		if (cgroup_of(spinners.thread[i], HIERARCHY_V1))
			return false;
	return true;
}

static void stop_spinners(void)
{
	WRITE_ONCE(spinners.stop, 1);
	while (!spinners_have_left())
		sleep_until(clock_ns() + NS_PER_MS, 0);
}

/* Spinner @nr does not sleep from now on. */
static void keep_awake(int nr)
{
	u64 turns = READ_ONCE(spinners.turns[nr]);

	WRITE_ONCE(spinners.awake, 1);
	while (READ_ONCE(spinners.turns[nr]) < turns + 2)
		sleep_until(clock_ns() + NS_PER_MS, 0);
}

static void forget_spinners(void)
{
	for (int i = 0; i < NR_SPINNERS; i++)
		thread_put(spinners.thread[i]);
}

static unsigned sum_of_members(struct cgroup *top)
{
	unsigned sum = 0;

	for (struct cgroup *cg = top; cg; cg = cgroup_next(cg, top))
		sum += cg->nr_members;
	return sum;
}

/* Do all counts agree, and the scheduler with them? */
static bool is_consistent(void)
{
	struct cgroup *root = &cgroup_roots[HIERARCHY_V1];
	bool good = true;

	mutex_lock(&cgroup_mutex);
	spin_lock(&proc_tree_lock);
	for (struct cgroup *cg = root; cg; cg = cgroup_next(cg, root))
		good &= cg->nr_inside == sum_of_members(cg);
	for (int i = 0; i < NR_SPINNERS; i++) {
		struct cgroup *cg = spinners.thread[i]->member[HIERARCHY_V1].group;

		good &= task_group_of(&spinners.thread[i]->task) == (cg ? cg->tg : NULL);
	}
	spin_unlock(&proc_tree_lock);
	mutex_unlock(&cgroup_mutex);
	return good;
}

SELFTEST(cgroup_moves_under_load)
{
	static const char *const names[] = { V1_MOUNT, V1_MOUNT "/a", V1_MOUNT "/a/b",
					     V1_MOUNT "/c" };
	struct cgroup *groups[ARRAY_SIZE(names)];

	SELFTEST_CHECK(enter_v1());
	for (unsigned i = 1; i < ARRAY_SIZE(names); i++)
		SELFTEST_CHECK(!make_dir(names[i]));
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		SELFTEST_CHECK((groups[i] = group_of(names[i])));
	SELFTEST_CHECK(start_spinners());
	for (unsigned round = 0; round < 400; round++) {
		move(spinners.thread[round % NR_SPINNERS], groups[round / 5 % ARRAY_SIZE(names)]);
		if (round % 20 == 0)
			SELFTEST_CHECK(is_consistent());
		if (round % 50 == 0)
			sleep_until(clock_ns() + NS_PER_MS, 0);
	}
	/*
	 * They end in their groups; a thread that has left counts in the root for the rest of its
	 * life.
	 */
	stop_spinners();
	SELFTEST_CHECK(is_consistent() && !groups[1]->nr_inside && !groups[3]->nr_inside);
	SELFTEST_CHECK(!remove_dir(names[2]) && !remove_dir(names[1]) && !remove_dir(names[3]));
	SELFTEST_CHECK(leave_v1());
	forget_spinners();
	return 0;
}

/* --- deadlines and guarantees -------------------------------------------------------- */

static bool flip(struct cgroup *cg, struct prng *prng)
{
	static const u64 periods_us[] = { 0, 0, 50, 200, 5000, 100000 };
	static const u64 shares[] = { 0, 1, 512, 1024, 262144 };
	u64 rr_ns = periods_us[prng_below(prng, ARRAY_SIZE(periods_us))] * NS_PER_US;

	return !put(cg, "cpu.deadline_wakeup", 0) && !put(cg, "cpu.deadline_rr", rr_ns) &&
	       !put(cg, "cpu.deadline_wakeup", prng_below(prng, 2) ? rr_ns / 2 : 0) &&
	       !put(cg, "cpu.guaranteed_shares", shares[prng_below(prng, ARRAY_SIZE(shares))]);
}

/* The directory goes, with what was written there, and comes again; not while it has members. */
static bool replace_group(const char *name, struct cgroup **cg)
{
	bool busy = (*cg)->nr_members;
	int err = remove_dir(name);

	if (busy || err)
		return busy && err == -EBUSY;
	return !make_dir(name) && (*cg = group_of(name));
}

static bool swap(const char *policy)
{
	int err;

	with_irqs_off(err = sched_fair_swap(machine, policy, arch_cpu_id()));
	return !err;
}

static unsigned nr_policies(void)
{
	unsigned nr = 0;

	while (sched_fair_name(nr))
		nr++;
	return nr;
}

/* Change something, let members go on for a moment, and check every invariant of the scheduler. */
static bool disturb(struct cgroup **groups, const char *removable, struct prng *prng)
{
	struct cgroup **last = &groups[3];
	bool good = true;

	switch (prng_below(prng, 8)) {
	case 0:
		good = replace_group(removable, last);
		break;
	case 1:
		good = swap(sched_fair_name((unsigned)prng_below(prng, nr_policies())));
		break;
	case 2:
	case 3:
		move(spinners.thread[prng_below(prng, NR_SPINNERS)], groups[prng_below(prng, 4)]);
		break;
	default:
		good = swap("fdl") && flip(groups[1 + prng_below(prng, 3)], prng);
		break;
	}
	with_irqs_off(sched_check(machine));
	sleep_until(clock_ns() + 200 * NS_PER_US, 0);
	with_irqs_off(sched_check(machine));
	return good;
}

static struct task_group_fdl_stat fdl_stat(const struct cgroup *cg)
{
	struct task_group_fdl_stat stat;

	with_irqs_off(task_group_fdl_stat(machine, cg->tg, &stat));
	return stat;
}

/* No spinner was forgotten: each gets to the end of a turn that began just now. */
static bool all_spinners_run(void)
{
	const u64 limit = clock_ns() + 20 * NS_PER_SEC;

	for (int i = 0; i < NR_SPINNERS; i++) {
		u64 before = READ_ONCE(spinners.turns[i]);

		while (READ_ONCE(spinners.turns[i]) < before + 2) {
			if (clock_ns() > limit)
				return false;
			sleep_until(clock_ns() + NS_PER_MS, 0);
		}
	}
	return true;
}

SELFTEST(cgroup_deadlines_flip_under_load)
{
	static const char *const names[] = { V1_MOUNT, V1_MOUNT "/a", V1_MOUNT "/a/b",
					     V1_MOUNT "/c" };
	const char *policy = sched_fair_current(machine);
	struct cgroup *groups[ARRAY_SIZE(names)];
	struct prng prng;

	SELFTEST_CHECK(enter_v1());
	prng_seed(&prng, 4);
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		SELFTEST_CHECK((!i || !make_dir(names[i])) && (groups[i] = group_of(names[i])));
	SELFTEST_CHECK(start_spinners());
	for (unsigned i = 0; i < NR_SPINNERS; i++)
		move(spinners.thread[i], groups[i % 4]);
	for (unsigned round = 0; round < 250; round++)
		SELFTEST_CHECK(disturb(groups, names[3], &prng));
	SELFTEST_CHECK(fdl_stat(groups[1]).nr_dl_picks && fdl_stat(groups[1]).max_gap_ns);
	SELFTEST_CHECK(is_consistent() && all_spinners_run());
	stop_spinners();
	forget_spinners();
	SELFTEST_CHECK(!remove_dir(names[2]) && !remove_dir(names[1]) && !remove_dir(names[3]));
	SELFTEST_CHECK(leave_v1());
	SELFTEST_CHECK(!fdl_stat(&cgroup_roots[HIERARCHY_V1]).overcommit && swap(policy));
	return 0;
}

/* --- time --------------------------------------------------------------------------- */

static u64 group_usage_ns(struct cgroup *cg)
{
	struct cgroup_usage u;

	mutex_lock(&cgroup_mutex);
	u = cgroup_usage(cg);
	mutex_unlock(&cgroup_mutex);
	return u.user_ns + u.system_ns;
}

static int enable_cpu(bool on)
{
	struct cgroup *root = &cgroup_roots[HIERARCHY_V2];
	int err;

	mutex_lock(&cgroup_mutex);
	err = on ? cgroup_enable_cpu(root) : cgroup_disable_cpu(root);
	mutex_unlock(&cgroup_mutex);
	return err;
}

/*
 * The time of the threads while they were members equals the time that the scheduler charged to the
 * group, except for the moves in and out, when only one of the two accounts is open. The thread
 * must not sleep: until its CPU has found another, its group may be charged, but the thread is not.
 */
static bool usage_agrees(struct cgroup *cg, struct thread *t)
{
	struct task_group_stat stat;
	u64 before = group_usage_ns(cg), start = clock_ns(), moving, ours;

	move(t, cg);
	moving = clock_ns() - start;
	do
		sleep_until(clock_ns() + 10 * NS_PER_MS, 0);
	while (group_usage_ns(cg) == before);
	start = clock_ns();
	move(t, &cgroup_roots[HIERARCHY_V2]);
	moving += clock_ns() - start;
	ours = group_usage_ns(cg) - before;
	with_irqs_off(task_group_stat(machine, cg->tg, &stat));
	return ours <= stat.usage_ns + moving && stat.usage_ns <= ours + moving;
}

/* Members that were there before the controller count in its group, and after it in the root. */
static bool controller_takes_members(struct cgroup *cg, struct thread *t)
{
	bool before, with, after;

	move(t, cg);
	before = !task_group_of(&t->task);
	with = !enable_cpu(true) && cg->tg && task_group_of(&t->task) == cg->tg;
	after = !enable_cpu(false) && !cg->tg && !task_group_of(&t->task);
	move(t, &cgroup_roots[HIERARCHY_V2]);
	return before && with && after;
}

SELFTEST(cgroup_v2)
{
	struct cgroup *cg;
	bool taken, agrees;

	SELFTEST_CHECK(!make_dir(V2_MOUNT "/g") && (cg = group_of(V2_MOUNT "/g")));
	SELFTEST_CHECK(start_spinners());
	taken = controller_takes_members(cg, spinners.thread[1]);
	keep_awake(0);
	agrees = !enable_cpu(true) && usage_agrees(cg, spinners.thread[0]);
	stop_spinners();
	forget_spinners();
	SELFTEST_CHECK(taken && agrees);
	SELFTEST_CHECK(!remove_dir(V2_MOUNT "/g") && !enable_cpu(false));
	return 0;
}
