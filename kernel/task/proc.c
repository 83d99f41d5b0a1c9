/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Processes: the family tree, process groups and sessions.
 *
 *	proc_alloc -> fork.c fills it in -> proc_publish ... all threads end: zombie ... proc_unlink
 *
 * References: one from publication until it is reaped, one for each of its threads' structures, one
 * for each holder of a pointer.
 *
 * Locking: proc_tree_lock guards the tree, groups, sessions and everybody's list of threads; not
 * from interrupts. A process's sig_lock nests inside.
 */
#include "kernel/cgroup/cgroup.h"
#include "kernel/contract.h"
#include "kernel/fs/vfs.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/ref.h"
#include "kernel/task/account.h"
#include "kernel/task/signal.h"
#include "kernel/task/task.h"
#include "kernel/time/time.h"
#include "lib/string.h"

struct spinlock proc_tree_lock = SPINLOCK_INIT("proc_tree");
struct list all_procs = LIST_INIT(all_procs);
struct proc *init_proc;
static struct kmem_cache *proc_cache;

struct proc kernel_proc = {
	.refs = 1,
	.threads = LIST_INIT(kernel_proc.threads),
	.children = LIST_INIT(kernel_proc.children),
	.sibling = LIST_INIT(kernel_proc.sibling),
	.all_link = LIST_INIT(kernel_proc.all_link),
	.child_wait = WAITQ_INIT(kernel_proc.child_wait),
	.sig_lock = SPINLOCK_INIT("sig"),
	.pending = { .queue = LIST_INIT(kernel_proc.pending.queue) },
	.rlimit = { [0 ... NR_RLIMITS - 1] = { RLIM_INFINITY, RLIM_INFINITY } },
};

/* Limits of process 1, as on Linux; the rest of kernel_proc's limits are infinite. */
static void set_default_limits(struct rlimit *limit)
{
	limit[RLIMIT_STACK].cur = 8 << 20;
	limit[RLIMIT_CORE].cur = 0;
	/* One user leaves room for others. */
	limit[RLIMIT_NPROC] = (struct rlimit){ threads_max / 2, threads_max / 2 };
	limit[RLIMIT_NOFILE] = (struct rlimit){ 1024, 4096 };
	limit[RLIMIT_MEMLOCK] = (struct rlimit){ 8 << 20, 8 << 20 };
	limit[RLIMIT_SIGPENDING] = (struct rlimit){ threads_max, threads_max };
	limit[RLIMIT_MSGQUEUE] = (struct rlimit){ 819200, 819200 };
	limit[RLIMIT_NICE] = limit[RLIMIT_RTPRIO] = (struct rlimit){ 0, 0 };
}

void proc_init(void)
{
	proc_cache = kmem_cache_create("proc", sizeof(struct proc), 16);
	set_default_limits(kernel_proc.rlimit);
}

/* proc_alloc() clears what is above these two, and copies them from the parent. */
STATIC_ASSERT(offsetof(struct proc, action) ==
		      offsetof(struct proc, rlimit) + sizeof(((struct proc *)0)->rlimit),
	      "rlimit and action are the last two");

struct proc *proc_alloc(struct proc *parent)
{
	struct proc *p = kmem_cache_alloc(proc_cache);

	debug_assert(may_sleep());
	if (!p)
		return NULL;
	memset(p, 0, offsetof(struct proc, rlimit));
	p->refs = 1;
	list_init(&p->threads);
	list_init(&p->children);
	list_init(&p->sibling);
	list_init(&p->all_link);
	list_init(&p->pending.queue);
	waitq_init(&p->child_wait, "child_wait");
	spin_lock_init(&p->sig_lock, "sig");
	memcpy(p->rlimit, parent->rlimit, sizeof(p->rlimit));
	unsigned long flags = spin_lock_irqsave(&parent->sig_lock);
	memcpy(p->action, parent->action, sizeof(p->action));
	spin_unlock_irqrestore(&parent->sig_lock, flags);
	p->oom_score_adj = parent->oom_score_adj;
	p->start_ns = clock_ns();
	return p;
}

struct proc *proc_get(struct proc *p)
{
	ref_get(&p->refs);
	return p;
}

void proc_put(struct proc *p)
{
	if (ref_put(&p->refs)) {
		debug_assert(!p->nr_threads && list_empty(&p->children));
		debug_assert(list_empty(&p->child_wait.waiters));
		kmem_cache_free(proc_cache, p);
	}
}

struct proc *proc_find(int pid)
{
	spin_lock(&proc_tree_lock);
	struct thread *t = pid_thread(pid);
	struct proc *p = t && t->proc->pid == pid ? proc_get(t->proc) : NULL;

	spin_unlock(&proc_tree_lock);
	return p;
}

/* --- resources --------------------------------------------------------------------- */

/* One of @p's resources, referenced before its owner can drop it. */
#define GET_RESOURCE(p, member, get)                                                               \
	({                                                                                         \
		spin_lock(&proc_tree_lock);                                                        \
		__typeof__((p)->member) r_ = (p)->member ? get((p)->member) : NULL;                \
		spin_unlock(&proc_tree_lock);                                                      \
		r_;                                                                                \
	})

struct mm *proc_mm_get(struct proc *p)
{
	return GET_RESOURCE(p, mm, mm_get);
}

struct file *proc_exe_get(struct proc *p)
{
	return GET_RESOURCE(p, exe, file_get);
}

/* @look, which looks at one of @p's resources; @none if there is none. */
#define LOOK_AT(p, member, look, none)                                                             \
	({                                                                                         \
		spin_lock(&proc_tree_lock);                                                        \
		__typeof__(look) r_ = (p)->member ? (look) : (none);                               \
		spin_unlock(&proc_tree_lock);                                                      \
		r_;                                                                                \
	})

struct file *proc_file_get(struct proc *p, int fd)
{
	return LOOK_AT(p, files, files_lookup(p->files, fd), NULL);
}

int proc_next_fd(struct proc *p, int fd)
{
	return LOOK_AT(p, files, files_next(p->files, fd), -1);
}

bool proc_fd_cloexec(struct proc *p, int fd)
{
	return LOOK_AT(p, files, files_cloexec(p->files, fd), 0) > 0;
}

unsigned proc_fd_slots(struct proc *p)
{
	return LOOK_AT(p, files, files_size(p->files), 0u);
}

u32 proc_umask(struct proc *p)
{
	return LOOK_AT(p, fs, READ_ONCE(p->fs->umask), 0u);
}

bool proc_place(struct proc *p, bool root, struct path *out)
{
	return LOOK_AT(p, fs, fs_context_place(p->fs, root, out), false);
}

int proc_unshare(bool place)
{
	struct proc *p = current->proc;
	struct files *files = p->files, *own_files;
	struct fs_context *fs = p->fs, *own_fs;

	assert(p->nr_threads == 1);
	own_files = files_are_shared(files) ? files_fork(files) : files_get(files);
	own_fs = place && fs_context_is_shared(fs) ? fs_context_fork(fs) : fs_context_get(fs);
	if (!own_files || !own_fs) {
		files_put(own_files);
		fs_context_put(own_fs);
		return -ENOMEM;
	}
	spin_lock(&proc_tree_lock);
	p->files = own_files;
	p->fs = own_fs;
	spin_unlock(&proc_tree_lock);
	files_put(files);
	fs_context_put(fs);
	return 0;
}

void proc_release_resources(struct proc *p)
{
	might_sleep();
	spin_lock(&proc_tree_lock);
	struct mm *mm = p->mm;
	struct files *files = p->files;
	struct fs_context *fs = p->fs;
	struct file *exe = p->exe;

	if (mm)
		p->exited.max_rss = max(p->exited.max_rss, mm_peak_rss(mm));
	p->mm = NULL;
	p->files = NULL;
	p->fs = NULL;
	p->exe = NULL;
	spin_unlock(&proc_tree_lock);
	if (files)
		files_put(files);
	if (fs)
		fs_context_put(fs);
	if (exe)
		file_put(exe);
	if (mm)
		mm_put(mm);
}

/* --- the tree: all with proc_tree_lock held --------------------------------------- */

void proc_set_group(struct proc *p, int pgid, int sid)
{
	debug_assert(pgid > 0 && sid > 0);
	assert_held(&proc_tree_lock);
	pid_use(pgid);
	pid_use(sid);
	if (p->pgid) {
		pid_release(p->pgid);
		pid_release(p->sid);
	}
	p->pgid = pgid;
	p->sid = sid;
}

void proc_publish(struct proc *p, struct proc *parent)
{
	debug_assert(p->pid > 0 && list_empty(&p->sibling));
	assert_held(&proc_tree_lock);
	p->parent = parent;
	p->ppid = parent->pid;
	p->tty = parent->tty;
	p->autogroup = autogroup_get(current->proc->autogroup);
	/* Process 1 and what the kernel starts by itself begin sessions of their own. */
	proc_set_group(p, parent->pgid ?: p->pid, parent->sid ?: p->pid);
	list_add_tail(&parent->children, &p->sibling);
	list_add_tail(&all_procs, &p->all_link);
}

void proc_unlink(struct proc *p)
{
	debug_assert(p->zombie && !p->nr_threads && list_empty(&p->children));
	assert_held(&proc_tree_lock);
	list_del(&p->sibling);
	list_del(&p->all_link);
	pid_release(p->pgid);
	pid_release(p->sid);
	unsigned long flags = spin_lock_irqsave(&p->sig_lock);
	list_del(&p->leader->proc_link);
	spin_unlock_irqrestore(&p->sig_lock, flags);
	pid_set_thread(p->pid, NULL);
	pid_release(p->pid);
	account_give(p->leader->account, RES_THREADS, 1);
}

/* --- groups ------------------------------------------------------------------------- */

bool proc_ties_group(const struct proc *p)
{
	const struct proc *parent = p->parent;

	debug_assert(spin_is_held(&proc_tree_lock));
	return !p->zombie && parent != init_proc && parent->pgid != p->pgid &&
	       parent->sid == p->sid;
}

bool proc_group_is_orphaned(int pgid)
{
	bool tied = false;
	struct proc *p;

	spin_lock(&proc_tree_lock);
	list_for_each(p, &all_procs, all_link)
		tied |= p->pgid == pgid && proc_ties_group(p);
	spin_unlock(&proc_tree_lock);
	return !tied;
}

bool proc_group_exists(int pgid, int sid)
{
	struct proc *p;

	assert_held(&proc_tree_lock);
	list_for_each(p, &all_procs, all_link)
		if (p->pgid == pgid && p->sid == sid)
			return true;
	return false;
}
