/*
 * Control groups from the inside: what a program cannot see. That memory comes back, that the
 * scheduler's groups and ours agree while threads move under load, and that two accounts of the
 * same time say the same.
 */
#include "kernel/fs/cgroup.h"

#include "kernel/fs/vfs.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/time/time.h"
#include "lib/fmt.h"
#include "lib/string.h"

#define V1_MOUNT "/sys/fs/cgroup/cpu"

static int make_dir(const char *name)
{
	return path_mknod(AT_FDCWD, name, S_IFDIR | 0755, 0, NULL);
}

static int remove_dir(const char *name)
{
	return path_unlink(AT_FDCWD, name, true);
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

#define NR_GROUPS 300

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

/* What the second time needs beyond the first can only be a leak. */
SELFTEST(cgroup_memory_comes_back)
{
	struct superblock *sb = cgroup_roots[HIERARCHY_V1].dentry->inode->sb;
	u64 inodes = sb->nr_inodes, after_one, after_ten;

	SELFTEST_CHECK(!make_and_remove_many());
	after_one = page_nr_free();
	for (int i = 0; i < 9; i++)
		SELFTEST_CHECK(!make_and_remove_many());
	after_ten = page_nr_free();
	SELFTEST_CHECK(sb->nr_inodes == inodes);
	/* A group is two kilobytes and more: 300 leaked ones would be 150 pages each time. */
	SELFTEST_CHECK(after_ten + 100 > after_one);
	SELFTEST_CHECK(!cgroup_roots[HIERARCHY_V1].nr_descendants);
	return 0;
}

/* --- members ------------------------------------------------------------------------ */

#define NR_SPINNERS 6

static struct spinners {
	u32 stop;
	struct thread *thread[NR_SPINNERS];
} spinners;

static void spin(void *unused)
{
	(void)unused;
	while (!READ_ONCE(spinners.stop)) {
		/* Asleep some of the time, so that moves meet every state. */
		if (clock_ns() % (4 * NS_PER_MS) < NS_PER_MS)
			sleep_until(clock_ns() + 100 * NS_PER_US, 0);
		arch_cpu_relax();
	}
}

static bool start_spinners(void)
{
	spinners.stop = 0;
	for (int i = 0; i < NR_SPINNERS; i++) {
		spinners.thread[i] = kthread_create("spinner", spin, NULL);
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

		good &= sched_group_of(&spinners.thread[i]->task) == (cg ? cg->tg : NULL);
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
	unsigned before = cgroup_roots[HIERARCHY_V1].nr_inside;

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
	/* They end where they are; whoever leaves is the root's for the rest of its way. */
	stop_spinners();
	SELFTEST_CHECK(is_consistent() && cgroup_roots[HIERARCHY_V1].nr_inside == before);
	SELFTEST_CHECK(!remove_dir(names[2]) && !remove_dir(names[1]) && !remove_dir(names[3]));
	forget_spinners();
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
 * The threads' time while they were members is the time that the scheduler charged to the group,
 * but for what passes within the moves in and out, when the one account is open already.
 */
static bool usage_agrees(struct cgroup *cg, struct thread *t)
{
	struct sched_group_stat stat;
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
	with_irqs_off(sched_group_stat(machine, cg->tg, &stat));
	return ours <= stat.usage_ns + moving && stat.usage_ns <= ours + moving;
}

/* Members that were there before the controller count in its group, and after it in the root. */
static bool controller_takes_members(struct cgroup *cg, struct thread *t)
{
	bool before, with, after;

	move(t, cg);
	before = !sched_group_of(&t->task);
	with = !enable_cpu(true) && cg->tg && sched_group_of(&t->task) == cg->tg;
	after = !enable_cpu(false) && !cg->tg && !sched_group_of(&t->task);
	move(t, &cgroup_roots[HIERARCHY_V2]);
	return before && with && after;
}

static int check_v2(void)
{
	struct cgroup *cg;
	bool taken, agrees;

	SELFTEST_CHECK(!make_dir("/selftest/g") && (cg = group_of("/selftest/g")));
	SELFTEST_CHECK(start_spinners());
	taken = controller_takes_members(cg, spinners.thread[1]);
	agrees = !enable_cpu(true) && usage_agrees(cg, spinners.thread[0]);
	stop_spinners();
	forget_spinners();
	SELFTEST_CHECK(taken && agrees);
	SELFTEST_CHECK(!remove_dir("/selftest/g") && !enable_cpu(false));
	return 0;
}

/* v1 gives the controller up for the length of the test. */
SELFTEST(cgroup_v2)
{
	struct path v1, at, v2;
	int failed;

	SELFTEST_CHECK(!path_lookup(AT_FDCWD, V1_MOUNT, WALK_FOLLOW, &v1));
	SELFTEST_CHECK(!mount_remove(&v1, false));
	path_put(&v1);
	SELFTEST_CHECK(!make_dir("/selftest") && !path_lookup(AT_FDCWD, "/selftest", 0, &at));
	SELFTEST_CHECK(!mount_add(&cgroup2_type, "none", &at, 0, ""));
	failed = check_v2();
	SELFTEST_CHECK(!path_lookup(AT_FDCWD, "/selftest", 0, &v2) && !mount_remove(&v2, false));
	path_put(&v2);
	path_put(&at);
	SELFTEST_CHECK(!remove_dir("/selftest"));
	SELFTEST_CHECK(!path_lookup(AT_FDCWD, V1_MOUNT, 0, &at));
	SELFTEST_CHECK(!mount_add(&cgroup_type, "cgroup", &at, 0, "cpu"));
	path_put(&at);
	return failed;
}
