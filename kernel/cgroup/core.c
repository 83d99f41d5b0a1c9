/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files that every control group has: its members, and v2's about the tree.
 *
 * Members are listed in order of their numbers, each once, as v1 does: a bit map of all numbers
 * sorts them and drops repetitions in one pass. A number written to a file names a thread, or a
 * process by its first thread; 0 is the writer.
 */
#include "kernel/cgroup/internal.h"
#include "kernel/fs/vfs.h"
#include "kernel/kernel.h"
#include "kernel/task/signal.h"
#include "lib/errno.h"
#include "lib/fmt.h"
#include "lib/signal.h"
#include "lib/string.h"

/* --- members -------------------------------------------------------------------------- */

static u64 numbers[PID_MAX / 64]; /* guarded by: cgroup_mutex */
STATIC_ASSERT(PID_MAX % 64 == 0, "whole words of numbers");

/* Each kernel thread is shown as a process of its own, as everywhere. */
static int number_of(const struct thread *t, bool process)
{
	return process && !thread_has(t, THREAD_KERNEL) ? t->proc->pid : t->tid;
}

static void collect_members(const struct cgroup *cg, bool process)
{
	struct thread *t;

	debug_assert(mutex_is_held(&cgroup_mutex));
	spin_lock(&proc_tree_lock);
	list_for_each(t, &cg->members, member[cg->hierarchy].link) {
		int n = number_of(t, process);

		numbers[n / 64] |= BIT(n % 64);
	}
	spin_unlock(&proc_tree_lock);
}

static size_t print_numbers(char *buf, size_t size)
{
	struct text t = text_of(buf, size);

	debug_assert(mutex_is_held(&cgroup_mutex));
	for (unsigned word = 0; word < ARRAY_SIZE(numbers); word++)
		for (u64 bits = numbers[word]; bits; bits &= bits - 1)
			text_add(&t, "%d\n", (int)(word * 64) + __builtin_ctzll(bits));
	return t.len;
}

static size_t show_threads(struct cgroup *cg, char *buf, size_t size)
{
	memset(numbers, 0, sizeof(numbers));
	collect_members(cg, false);
	return print_numbers(buf, size);
}

/* A threaded domain also lists the processes whose threads are in the threaded groups below it. */
static size_t show_processes(struct cgroup *top, char *buf, size_t size)
{
	memset(numbers, 0, sizeof(numbers));
	for (struct cgroup *cg = top; cg; cg = cgroup_next(cg, top))
		if (cg->domain == top)
			collect_members(cg, true);
	return print_numbers(buf, size);
}

static int may_show_processes(struct cgroup *cg)
{
	return cgroup_is_threaded(cg) ? -EOPNOTSUPP : 0;
}

/* The thread that @text names, with a reference; or NULL, with -errno in *err. */
static struct thread *thread_named(char *text, size_t len, int *err)
{
	struct thread *t;
	s64 number;

	text = cgroup_strip(text, &len);
	*err = -EINVAL;
	if (parse_s64(text, len, &number) || number < 0 || number > INT32_MAX)
		return NULL;
	t = number ? thread_find((int)number) : thread_get(current);
	*err = -ESRCH;
	if (t && thread_has(t, THREAD_KERNEL)) {
		thread_put(t);
		*err = -EINVAL;
		return NULL;
	}
	return t;
}

/* The lowest group that has both in it. */
static struct cgroup *common_ancestor(struct cgroup *a, const struct cgroup *b)
{
	debug_assert(a->hierarchy == b->hierarchy);
	for (;; a = a->parent)
		for (const struct cgroup *up = b; up; up = up->parent)
			if (up == a)
				return a;
}

/*
 * May @c take a thread from one group to the other? A move changes what the groups below their
 * common ancestor get, and cgroup.procs of the ancestor says who may do that. 0, -EACCES, -ENOMEM.
 */
static int may_move_within(const struct cred *c, struct cgroup *from, struct cgroup *to)
{
	static const char name[] = "cgroup.procs";
	struct inode *procs = cgroup_file(common_ancestor(from, to), name, strlen(name));

	if (procs == INODE_LACKS)
		return -ENOMEM;
	int err = inode_permission_of(c, procs, MAY_WRITE);

	inode_put(procs);
	return err;
}

/* v2 asks about groups, v1 about threads: one's own, or all of them for user 0. */
static int may_move(const struct cred *c, const struct thread *t, struct cgroup *to)
{
	const struct ids *user = &t->cred.user;
	u32 uid = c->user.effective;

	debug_assert(mutex_is_held(&cgroup_mutex));
	if (to->hierarchy == HIERARCHY_V2)
		return may_move_within(c, cgroup_of(t, HIERARCHY_V2) ?: to, to);
	return !uid || uid == user->real || uid == user->saved ? 0 : -EACCES;
}

static int move_member(struct cgroup *cg, char *text, size_t len, const struct cred *opener,
		       bool process)
{
	int err;
	struct thread *t = thread_named(text, len, &err);

	debug_assert(mutex_is_held(&cgroup_mutex));
	if (!t)
		return err;
	err = may_move(opener, t, cg) ?: cgroup_check_move(t, process, cg);
	if (!err)
		err = cgroup_move(t, process, cg);
	thread_put(t);
	return err;
}

static int move_thread(struct cgroup *cg, char *text, size_t len, const struct cred *opener)
{
	return move_member(cg, text, len, opener, false);
}

static int move_process(struct cgroup *cg, char *text, size_t len, const struct cred *opener)
{
	return move_member(cg, text, len, opener, true);
}

/*
 * A child that is being forked meanwhile does not escape. Either it is found here, or its parent
 * finds the signal before the child becomes visible: both happen under proc_tree_lock.
 */
static void kill_members(const struct cgroup *cg)
{
	struct thread *t;

	debug_assert(mutex_is_held(&cgroup_mutex));
	spin_lock(&proc_tree_lock);
	list_for_each(t, &cg->members, member[cg->hierarchy].link)
		if (!thread_has(t, THREAD_KERNEL))
			signal_send_proc(t->proc, SIGKILL, NULL);
	spin_unlock(&proc_tree_lock);
}

static int store_kill(struct cgroup *top, char *text, size_t len)
{
	s64 value;
	int err;

	text = cgroup_strip(text, &len);
	err = parse_s64(text, len, &value);
	if (err)
		return err;
	if (value != 1)
		return -ERANGE;
	if (cgroup_is_threaded(top))
		return -EOPNOTSUPP;
	for (struct cgroup *cg = top; cg; cg = cgroup_next(cg, top))
		kill_members(cg);
	return 0;
}

/* --- v2's files about the tree -------------------------------------------------------- */

static size_t show_controllers(struct cgroup *cg, char *buf, size_t size)
{
	return (size_t)snprintf(buf, size, cgroup_has_cpu_to_give(cg) ? "cpu\n" : "");
}

static size_t show_subtree_control(struct cgroup *cg, char *buf, size_t size)
{
	return (size_t)snprintf(buf, size, cg->cpu_for_children ? "cpu\n" : "");
}

/* "+cpu" or "-cpu", any number of them between blanks; the last one counts. */
static int store_subtree_control(struct cgroup *cg, char *text, size_t len)
{
	bool enable = cg->cpu_for_children;
	char *end, *word = cgroup_strip(text, &len);

	for (; *word; word = end) {
		end = strchr(word, ' ') ?: word + strlen(word);
		if (end - word == 4 && (*word == '+' || *word == '-') &&
		    !memcmp(word + 1, "cpu", 3))
			enable = *word == '+';
		else if (end != word)
			return -EINVAL;
		end += *end == ' ';
	}
	return enable ? cgroup_enable_cpu(cg) : cgroup_disable_cpu(cg);
}

static size_t show_type(struct cgroup *cg, char *buf, size_t size)
{
	return (size_t)snprintf(buf, size, "%s\n", cgroup_type_name(cg));
}

static int store_type(struct cgroup *cg, char *text, size_t len)
{
	text = cgroup_strip(text, &len);
	return strcmp(text, "threaded") ? -EINVAL : cgroup_make_threaded(cg);
}

/* "frozen" is always 0: groups cannot be frozen. */
static size_t show_events(struct cgroup *cg, char *buf, size_t size)
{
	return (size_t)snprintf(buf, size, "populated %d\nfrozen 0\n", cgroup_is_populated(cg));
}

/* nr_dying_descendants is always 0: a removed group is gone at once. */
static size_t show_stat(struct cgroup *cg, char *buf, size_t size)
{
	return (size_t)snprintf(buf, size, "nr_descendants %u\nnr_dying_descendants 0\n",
				cg->nr_descendants);
}

static size_t show_limit(s32 limit, char *buf, size_t size)
{
	return (size_t)(limit == CGROUP_NO_LIMIT ? snprintf(buf, size, "max\n")
						 : snprintf(buf, size, "%d\n", limit));
}

static int store_limit(char *text, size_t len, s32 *limit)
{
	s64 value = CGROUP_NO_LIMIT;
	int err = 0;

	text = cgroup_strip(text, &len);
	if (strcmp(text, "max"))
		err = parse_s64(text, len, &value);
	if (err)
		return err;
	if (value < 0 || value > INT32_MAX)
		return -ERANGE;
	*limit = (s32)value;
	return 0;
}

static size_t show_max_depth(struct cgroup *cg, char *buf, size_t size)
{
	return show_limit(cg->max_depth, buf, size);
}

static int store_max_depth(struct cgroup *cg, char *text, size_t len)
{
	return store_limit(text, len, &cg->max_depth);
}

static size_t show_max_descendants(struct cgroup *cg, char *buf, size_t size)
{
	return show_limit(cg->max_descendants, buf, size);
}

static int store_max_descendants(struct cgroup *cg, char *text, size_t len)
{
	return store_limit(text, len, &cg->max_descendants);
}

/* --- the table ------------------------------------------------------------------------ */

#define V2_ALL (CGF_V2 | CGF_ROOT | CGF_CHILD)

/* clang-format off */
const struct cgroup_file cgroup_core_files[] = {
	{ "cgroup.procs", CGF_ALL, .show = show_processes, .move = move_process,
	  .may_read = may_show_processes },
	{ "tasks", CGF_V1 | CGF_ROOT | CGF_CHILD, .show = show_threads, .move = move_thread },
	{ "cgroup.threads", V2_ALL, .show = show_threads, .move = move_thread },
	{ "cgroup.controllers", V2_ALL, .show = show_controllers },
	{ "cgroup.subtree_control", V2_ALL, .show = show_subtree_control,
	  .store = store_subtree_control },
	{ "cgroup.stat", V2_ALL, .show = show_stat },
	{ "cgroup.max.depth", V2_ALL, .show = show_max_depth, .store = store_max_depth },
	{ "cgroup.max.descendants", V2_ALL, .show = show_max_descendants,
	  .store = store_max_descendants },
	{ "cgroup.type", CGF_V2 | CGF_CHILD, .show = show_type, .store = store_type },
	{ "cgroup.events", CGF_V2 | CGF_CHILD, .show = show_events },
	{ "cgroup.kill", CGF_V2 | CGF_CHILD, .store = store_kill },
};
/* clang-format on */
const unsigned nr_cgroup_core_files = ARRAY_SIZE(cgroup_core_files);
