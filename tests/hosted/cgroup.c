/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tree of control groups of v2, through its directories and files (kernel/cgroup/). The threads
 * that are moved are none that run. The model is cgroup_model.c.
 *
 * Of several threads none mounts v1. A file that is used while another removes its group may answer
 * that it is gone, or that it is empty. A move of a thread that ends meanwhile may do nothing.
 */
#include "cgroup.h"

#include "kernel/cgroup/internal.h"
#include "kernel/fs/vfs.h"
#include "kernel/kernel.h"
#include "kernel/pseudo/engine.h"
#include "lib/errno.h"
#include "lib/fmt.h"
#include "lib/string.h"
#include "libc.h"
#include "queue.h"

static const u8 parents[GROUPS] = GROUP_PARENTS;
static const char *const names[GROUPS] = GROUP_NAMES;
const u32 cgroup_weights[4] = { 100, 1, 10000, 200 },
	  cgroup_quotas_us[4] = { 0, 1000, 50000, 400000 };

static const char *const op_names[] = { "mkdir",   "rmdir",    "procs",	 "threads",	"enable",
					"disable", "threaded", "depth",	 "descendants", "weight",
					"quota",   "read",     "hold",	 "use",		"exit",
					"born",	   "run",      "placed", "claim",	"release",
					NULL };
static const char *const files[NR_TEXTS] = { "cgroup.procs",
					     "cgroup.threads",
					     "cgroup.controllers",
					     "cgroup.subtree_control",
					     "cgroup.type",
					     "cgroup.events",
					     "cgroup.stat",
					     "cgroup.max.depth",
					     "cgroup.max.descendants",
					     "cpu.weight",
					     "cpu.max",
					     "cpu.stat" };

struct subject {
	struct thread thread;
	u64 ran_ms;
};

static struct subject subjects[NR_TIDS];
static struct proc procs[NR_TIDS / 2];

struct tree {
	unsigned claims;
	struct file *hand[NR_FIBERS];
};

/* --- the threads that are members ------------------------------------------------------------ */

struct thread *thread_get(struct thread *t)
{
	return t;
}

void thread_put(struct thread *t)
{
	(void)t;
}

/* The first thread of a process keeps its number when it has ended. */
struct thread *thread_find(int tid)
{
	unsigned i = (unsigned)(tid - FIRST_TID);

	return i < NR_TIDS && (i % 2 == 0 || cgroup_of(&subjects[i].thread, HIERARCHY_V2))
		       ? &subjects[i].thread
		       : NULL;
}

struct usage thread_usage(struct thread *t)
{
	const struct subject *s = container_of(t, struct subject, thread);

	return (struct usage){ .user_ns = s->ran_ms * 1000000 };
}

static bool has_ended(unsigned i)
{
	return !subjects[i].thread.member[HIERARCHY_V2].group;
}

/* As a child of @parent; NULL: in the roots. Who is born again has used nothing yet. */
static void join(unsigned i, const struct subject *parent)
{
	struct thread *t = &subjects[i].thread;

	subjects[i].ran_ms = 0;
	for (unsigned h = 0; h < cgroup_nr_hierarchies(); h++)
		current->member[h].group =
			parent ? parent->thread.member[h].group : &cgroup_roots[h];
	list_add_tail(&t->proc->threads, &t->proc_link);
	cgroup_join(t);
	hosted_group_inherit(&t->task, parent ? parent->thread.task.group : NULL);
}

static void leave(unsigned i)
{
	list_del(&subjects[i].thread.proc_link);
	cgroup_leave(&subjects[i].thread);
}

static long begin_or_end(unsigned i, enum cgroup_op op)
{
	long ret = 0;

	spin_lock(&proc_tree_lock);
	if (op == CG_BORN && (!has_ended(i) || has_ended(i ^ 1)))
		ret = -EINVAL;
	else if (op == CG_BORN)
		join(i, &subjects[i ^ 1]);
	else if (has_ended(i))
		ret = -ESRCH;
	else if (op == CG_RUN)
		subjects[i].ran_ms++;
	else
		leave(i);
	spin_unlock(&proc_tree_lock);
	return ret;
}

static void make_subjects(void)
{
	memset(subjects, 0, sizeof(subjects));
	memset(procs, 0, sizeof(procs));
	spin_lock(&proc_tree_lock);
	for (unsigned i = 0; i < NR_TIDS; i++) {
		struct proc *p = &procs[i / 2];

		if (i % 2 == 0) {
			list_init(&p->threads);
			p->pid = (int)(FIRST_TID + i);
		}
		subjects[i].thread.proc = p;
		subjects[i].thread.tid = (int)(FIRST_TID + i);
		join(i, NULL);
	}
	spin_unlock(&proc_tree_lock);
}

/* --- directories and files -------------------------------------------------------------------- */

/* The directory of @g, with a reference; NULL: there is none. */
static struct dentry *dir_of(unsigned g)
{
	struct dentry *root = cgroup_roots[HIERARCHY_V2].dentry, *parent, *d;

	if (!g)
		return dentry_get(root);
	parent = dir_of(parents[g]);
	if (!parent)
		return NULL;
	spin_lock(&tree_lock);
	d = dentry_find(parent, names[g], strlen(names[g]));
	if (d)
		dentry_get(d);
	spin_unlock(&tree_lock);
	dentry_put(parent);
	return d;
}

static long make_or_remove(unsigned g, enum cgroup_op op)
{
	struct dentry *dir = dir_of(parents[g]);
	long ret = -ENOENT;

	if (!g && dir)
		ret = op == CG_MKDIR ? -EEXIST : -EBUSY;
	else if (dir && op == CG_MKDIR)
		ret = cgroup2_type.mkdir(dir, names[g], strlen(names[g]), S_IFDIR | 0755);
	else if (dir)
		ret = cgroup2_type.remove(dir, names[g], strlen(names[g]), true);
	dentry_put(dir);
	return ret;
}

/* NULL and -errno in *err. */
static struct file *open_file(unsigned g, const char *name, long *err)
{
	struct dentry *dir = dir_of(g);
	struct inode *i = dir ? dir->inode->iops->lookup(dir->inode, name, strlen(name)) : NULL;
	struct file *f = NULL;
	int failed = i == INODE_LACKS ? -ENOMEM : -ENOENT;

	if (i == INODE_LACKS)
		i = NULL;
	if (i)
		f = file_create(i, NULL, O_RDWR, &failed);
	inode_put(i);
	dentry_put(dir);
	*err = failed;
	return f;
}

static long write_file(unsigned g, const char *name, const char *text)
{
	u64 pos = 0;
	long ret;
	struct file *f = open_file(g, name, &ret);

	if (!f)
		return ret;
	ret = f->ops->write(f, text, strlen(text), &pos);
	file_put(f);
	return min(ret, 0l);
}

static long write_number(unsigned g, const char *name, const char *format, unsigned value)
{
	char text[16];

	fmt_snprintf(text, sizeof(text), format, value);
	return write_file(g, name, text);
}

static struct answer read_open(struct file *f)
{
	struct answer answer = { 0 };
	u8 text[CGROUP_TEXT];
	u64 pos = 0;

	answer.value = f->ops->read(f, text, sizeof(text), &pos);
	answer.digest = queue_digest(text, answer.value);
	return answer;
}

static struct answer read_file(unsigned g, const char *name)
{
	struct answer answer = { 0 };
	struct file *f = open_file(g, name, &answer.value);

	if (!f)
		return answer;
	answer = read_open(f);
	file_put(f);
	return answer;
}

static long hold(struct tree *o, unsigned nr, unsigned g)
{
	long ret = 0;
	struct file *f = open_file(g, files[TEXT_TYPE], &ret);

	if (!f)
		return ret;
	file_put(o->hand[nr]);
	o->hand[nr] = f;
	return 0;
}

/* --- the object ------------------------------------------------------------------------------ */

/* The roots are there from the boot on. */
static void boot(void)
{
	static bool booted;

	if (booted)
		return;
	booted = true;
	memory_of_boot(true);
	cgroup_init();
	memory_of_boot(false);
}

/* The root @root is as at the boot again. */
static void reset_root(struct cgroup *root)
{
	mutex_lock(&cgroup_mutex);
	cgroup_disable_cpu(root);
	root->max_depth = CGROUP_MAX_DEPTH;
	root->max_descendants = CGROUP_NO_LIMIT;
	root->dead = true;
	cgroup_forget_files(root);
	root->dead = false;
	mutex_unlock(&cgroup_mutex);
}

static struct superblock *v1(void)
{
	return cgroup_roots[HIERARCHY_V1].dentry->inode->sb;
}

static void destroy(void *object)
{
	struct tree *o = object;

	for (unsigned i = 0; i < NR_FIBERS; i++)
		file_put(o->hand[i]);
	spin_lock(&proc_tree_lock);
	for (unsigned i = 0; i < NR_TIDS; i++)
		if (!has_ended(i))
			leave(i);
	spin_unlock(&proc_tree_lock);
	for (unsigned g = GROUPS; --g;)
		make_or_remove(g, CG_RMDIR);
	for (; o->claims; o->claims--)
		superblock_put(v1());
	reset_root(&cgroup_roots[HIERARCHY_V1]);
	reset_root(&cgroup_roots[HIERARCHY_V2]);
	free(o);
}

/* For several threads there are the groups a and c at first. */
static void *create(unsigned nr_threads)
{
	struct tree *o = calloc(1, sizeof(struct tree));

	boot();
	make_subjects();
	if (nr_threads == 1 || (!make_or_remove(1, CG_MKDIR) && !make_or_remove(3, CG_MKDIR)))
		return o;
	destroy(o);
	return NULL;
}

static const struct range ranges[ARRAY_SIZE(op_names)] = {
	[CG_MKDIR... CG_RELEASE] = { 0, GROUPS *NR_TEXTS - 1 },
};

static struct call draw(struct prng *random, bool alone)
{
	static const u8 often[] = { CG_MKDIR,  CG_MKDIR,  CG_MKDIR,   CG_MKDIR,	      CG_RMDIR,
				    CG_PROCS,  CG_PROCS,  CG_THREADS, CG_THREADS,     CG_ENABLE,
				    CG_ENABLE, CG_ENABLE, CG_DISABLE, CG_THREADED,    CG_THREADED,
				    CG_READ,   CG_READ,	  CG_READ,    CG_HOLD,	      CG_USE,
				    CG_EXIT,   CG_BORN,	  CG_RUN,     CG_PLACED,      CG_PLACED,
				    CG_WEIGHT, CG_QUOTA,  CG_DEPTH,   CG_DESCENDANTS, CG_CLAIM,
				    CG_RELEASE };
	static const u8 few[] = { 0, 1, 3, 5 };
	struct call call = { .op = often[prng_below(random, ARRAY_SIZE(often) - (alone ? 0 : 2))] };

	/* Beside others the groups are few: the root, a, c in it and e in that. */
	call.n = alone ? prng_below(random, GROUPS) : few[prng_below(random, ARRAY_SIZE(few))];
	call.n += GROUPS * prng_below(random, NR_TEXTS);
	return call;
}

static long claim(struct tree *o)
{
	int err;

	if (!cgroup_type.get(&cgroup_type, "", &err))
		return err;
	o->claims++;
	return 0;
}

static long release(struct tree *o)
{
	if (!o->claims)
		return 0;
	o->claims--;
	superblock_put(v1());
	return 0;
}

/* The letter of the scheduler's group that thread @i is in. */
static long placed(unsigned i)
{
	struct task_group *tg;
	char name = 0;

	spin_lock(&proc_tree_lock);
	tg = task_group_of(&subjects[i].thread.task);
	if (tg)
		name = *hosted_group_name(tg);
	spin_unlock(&proc_tree_lock);
	return name;
}

static long set_limit(unsigned g, const char *name, unsigned value)
{
	return value == NO_MAXIMUM ? write_file(g, name, "max\n")
				   : write_number(g, name, "%u", value);
}

static long change(unsigned g, enum cgroup_op op, unsigned arg)
{
	switch (op) {
	case CG_PROCS:
		return write_number(g, files[TEXT_PROCS], "%u\n",
				    FIRST_TID + arg % NR_TIDS / 2 * 2);
	case CG_THREADS:
		return write_number(g, files[TEXT_THREADS], "%u", FIRST_TID + arg % NR_TIDS);
	case CG_ENABLE:
		return write_file(g, files[TEXT_SUBTREE], "+cpu");
	case CG_DISABLE:
		return write_file(g, files[TEXT_SUBTREE], "+cpu -cpu\n");
	case CG_THREADED:
		return write_file(g, files[TEXT_TYPE], "threaded\n");
	case CG_DEPTH:
		return set_limit(g, files[TEXT_DEPTH], arg % 4);
	case CG_DESCENDANTS:
		return set_limit(g, files[TEXT_DESCENDANTS], arg % 4);
	case CG_WEIGHT:
		return write_number(g, files[TEXT_WEIGHT], "%u", cgroup_weights[arg % 4]);
	default:
		return write_number(g, files[TEXT_QUOTA], arg % 4 ? "%u" : "max",
				    cgroup_quotas_us[arg % 4]);
	}
}

static struct answer perform(void *object, unsigned nr, unsigned id, const struct call *call)
{
	struct tree *o = object;
	unsigned g = cgroup_group(call), arg = cgroup_arg(call);
	struct answer answer = { 0 };

	(void)id;
	user_memory_is(USER_PRESENT, 0);
	if (call->op == CG_READ)
		return read_file(g, files[arg % NR_TEXTS]);
	if (call->op == CG_USE && o->hand[nr])
		return read_open(o->hand[nr]);
	if (call->op <= CG_RMDIR)
		answer.value = make_or_remove(g, call->op);
	else if (call->op < CG_READ)
		answer.value = change(g, call->op, arg);
	else if (call->op == CG_HOLD)
		answer.value = hold(o, nr, g);
	else if (call->op == CG_USE)
		answer.value = -EBADF;
	else if (call->op <= CG_RUN)
		answer.value = begin_or_end(arg % NR_TIDS, call->op);
	else if (call->op == CG_PLACED)
		answer.value = placed(arg % NR_TIDS);
	else
		answer.value = call->op == CG_CLAIM ? claim(o) : release(o);
	return answer;
}

static const char *const known[] = {
	"mkdir:1 mkdir:2 enable:0 read:55 read:56",		 /* also when memory is short */
	"mkdir:1 mkdir:3 procs:3 run:0 procs:0 rmdir:3 read:67", /* the time that c used */
	"mkdir:5 / rmdir:3",
	"procs:3 / rmdir:3",
	NULL,
};

DEFINE_OBJECT_BESIDE(cgroup,
		     "$each(cgroup_roots[0].children, \"struct cgroup.sibling\"); "
		     "$each(cgroup_roots[1].children, \"struct cgroup.sibling\")",
		     .known = known);
