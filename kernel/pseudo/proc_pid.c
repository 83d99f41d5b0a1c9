/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /proc/PID: what a process and its threads are doing.
 *
 * Nothing here is kept: a walk into /proc/17/stat makes an inode for each step and drops it when
 * the file is closed. An inode holds references to its process and thread, so that their structures
 * stay. Every read checks again that the thread still exists (-ESRCH if not), and so does every
 * listing (-ENOENT). /proc/TID works for every thread, kernel threads too; listings show processes
 * and kernel threads.
 *
 * Inode numbers: the thread's number and the entry's place in the table, above those of the
 * permanent files.
 */
#include "kernel/contract.h"
#include "kernel/pseudo/procfs.h"

#include "kernel/mm/mm.h"
#include "lib/string.h"

/* --- references ----------------------------------------------------------------------- */

struct kind { /* of an entry of /proc/PID */
	const char *name;
	u32 mode; /* with the type */
	const struct file_ops *fops;
	const struct inode_ops *iops;
};

static bool is_alive(const struct pid_ref *r)
{
	struct thread *t = thread_find(r->thread->tid);
	bool alive = t == r->thread;

	if (t)
		thread_put(t);
	return alive;
}

static void pid_inode_release(struct inode *i)
{
	struct pid_ref *r = i->private;

	if (!r)
		return;
	thread_put(r->thread);
	proc_put(r->proc);
	kfree(r);
}

/* 0, or -EACCES if the running thread may not look into the process. */
static int guard(const struct pid_ref *r)
{
	return cred_may_look(r->thread) ? 0 : -EACCES;
}

static u64 inode_number(const struct thread *t, bool is_thread, unsigned index)
{
	return 1ull << 40 | (u64)is_thread << 39 | (u64)t->tid << 16 | index;
}

/*
 * The owner is the thread's user; user 0 if even others of that user may not look, but for
 * directories that all may read. To a process its own directory of descriptors is always open.
 */
static void set_owner(struct inode *i, const struct thread *t)
{
	bool public = i->mode == (S_IFDIR | 0555);
	const struct cred *c = public || !cred_is_secret(t->proc) ? &t->cred : &root_cred;

	i->uid = c->user.effective;
	i->gid = c->group.effective;
	if (!public && S_ISDIR(i->mode) && t->proc == current->proc)
		i->uid = current->cred.user.fs;
}

/* An inode of @kind about @thread, numbered by @index within it, or INODE_LACKS. */
static struct inode *make_inode(struct superblock *sb, const struct kind *kind,
				struct thread *thread, bool is_thread, unsigned index)
{
	struct inode *i = inode_create(sb, kind->mode);
	struct pid_ref *r = kzalloc(sizeof(*r));

	if (!i || !r) {
		inode_put(i);
		kfree(r);
		return INODE_LACKS;
	}
	r->thread = thread_get(thread);
	r->proc = proc_get(thread->proc);
	r->is_thread = is_thread;
	i->private = r;
	i->nlink = 1;
	set_owner(i, thread);
	i->ino = inode_number(thread, is_thread, index);
	i->iops = kind->iops;
	i->fops = kind->fops;
	return i;
}

/* --- text files ----------------------------------------------------------------------- */

static int text_guard(const struct pid_ref *r)
{
	return r->text->access == FOR_ALL || r->text->access == OWN ? 0 : guard(r);
}

/* Anybody may open the files that are for the process itself. */
static int own_guard(const struct pid_ref *r)
{
	return r->text->access != OWN || r->proc == current->proc || capable(CAP_SYS_NICE) ? 0
											   : -EPERM;
}

static long text_read(struct file *f, void *user_buf, size_t n, u64 *pos)
{
	struct pid_ref *r = f->inode->private;

	if (!is_alive(r))
		return -ESRCH;
	return text_guard(r) ?: own_guard(r) ?: pseudo_read(f, user_buf, n, pos, r->text->show, r);
}

/* Asked when it is opened, and once more when it is read: the process may be another by then. */
static int text_open(struct inode *i, struct file *f)
{
	(void)f;
	return text_guard(i->private);
}

static long text_write(struct file *f, const void *user_buf, size_t n, u64 *pos)
{
	struct pid_ref *r = f->inode->private;

	(void)pos;
	if (!r->text->store)
		return -EINVAL;
	if (!is_alive(r))
		return -ESRCH;
	return own_guard(r) ?: pseudo_write(f, user_buf, n, r->text->store, r);
}

static long text_truncate(struct inode *i, u64 size)
{
	(void)i, (void)size;
	return 0;
}

static const struct file_ops text_ops = {
	.read = text_read,
	.write = text_write,
	.open = text_open,
	.truncate = text_truncate,
	.release = pseudo_release,
};
static const struct inode_ops text_iops = { .release = pid_inode_release };
static const struct kind text_kind = { "", S_IFREG, &text_ops, &text_iops };

static u32 text_mode(const struct pid_text *text)
{
	if (text->store)
		return S_IFREG | (text->access == OWN ? 0666 : 0644);
	return S_IFREG | (text->access == HIDDEN ? 0400 : 0444);
}

/* --- links ---------------------------------------------------------------------------- */

static int follow_exe(struct inode *link, struct path *target)
{
	const struct pid_ref *r = link->private;
	int err = guard(r);
	struct file *exe = err ? NULL : proc_exe_get(r->proc);

	if (!exe)
		return err ?: -ENOENT;
	*target = exe->path;
	path_get(target);
	file_put(exe);
	return 0;
}

static int follow_place(struct inode *link, struct path *target, bool root)
{
	const struct pid_ref *r = link->private;
	int err = guard(r);

	if (err)
		return err;
	return proc_place(r->proc, root, target) ? 0 : -ENOENT;
}

static int follow_cwd(struct inode *link, struct path *target)
{
	return follow_place(link, target, false);
}

static int follow_root(struct inode *link, struct path *target)
{
	return follow_place(link, target, true);
}

static struct file *file_of(struct inode *link)
{
	struct pid_ref *r = link->private;

	return proc_file_get(r->proc, r->fd);
}

/* A pipe or socket has no name: one is made, for this walk. */
static int follow_fd(struct inode *link, struct path *target)
{
	int err = guard(link->private);
	struct file *f = err ? NULL : file_of(link);

	if (!f)
		return err ?: -ENOENT;
	if (f->path.dentry) {
		*target = f->path;
		path_get(target);
	} else {
		fs_context_root(target);
		dentry_put(target->dentry);
		target->dentry = dentry_create(NULL, "", 0, inode_get(f->inode));
		if (!target->dentry) {
			target->dentry = dentry_get(target->mnt->sb->root);
			path_put(target);
			err = -ENOMEM;
		}
	}
	file_put(f);
	return err;
}

static const char *nameless_type(u32 mode)
{
	return S_ISFIFO(mode) ? "pipe" : S_ISSOCK(mode) ? "socket" : "anon_inode";
}

static int fd_link_text(struct inode *link, char *buf, size_t size)
{
	int err = guard(link->private), len = err ?: -ENOENT;
	struct file *f = err ? NULL : file_of(link);

	if (f && !f->path.dentry)
		len = snprintf(buf, size, "%s:[%lu]", nameless_type(f->inode->mode), f->inode->ino);
	file_put(f);
	return len;
}

static const struct inode_ops exe_ops = { .follow = follow_exe, .release = pid_inode_release };
static const struct inode_ops cwd_ops = { .follow = follow_cwd, .release = pid_inode_release };
static const struct inode_ops root_ops = { .follow = follow_root, .release = pid_inode_release };
static const struct inode_ops fd_link_ops = {
	.follow = follow_fd,
	.link_text = fd_link_text,
	.release = pid_inode_release,
};

/* --- listings of numbers -------------------------------------------------------------- */

#define BATCH 64

/*
 * The smallest numbers >= from, sorted. Each batch of 64 entries costs one pass over an unsorted
 * list.
 */
struct numbers {
	int from, nr;
	int n[BATCH];
};

static void numbers_add(struct numbers *b, int n)
{
	int i;

	debug_assert(b->nr <= BATCH);
	if (n < b->from || (b->nr == BATCH && n > b->n[BATCH - 1]))
		return;
	i = b->nr < BATCH ? b->nr++ : BATCH - 1;
	for (; i > 0 && b->n[i - 1] > n; i--)
		b->n[i] = b->n[i - 1];
	b->n[i] = n;
}

static void collect_processes(struct numbers *b, const struct pid_ref *unused)
{
	struct thread *t;
	struct proc *p;

	(void)unused;
	spin_lock(&proc_tree_lock);
	list_for_each(p, &all_procs, all_link)
		if (p->pid)
			numbers_add(b, p->pid);
	list_for_each(t, &kernel_proc.threads, proc_link)
		if (t->tid)
			numbers_add(b, t->tid);
	spin_unlock(&proc_tree_lock);
}

static void collect_threads(struct numbers *b, const struct pid_ref *r)
{
	struct thread *t;

	if (is_kernel_thread(r)) {
		numbers_add(b, r->thread->tid);
		return;
	}
	spin_lock(&proc_tree_lock);
	list_for_each(t, &r->proc->threads, proc_link)
		numbers_add(b, t->tid);
	spin_unlock(&proc_tree_lock);
}

static void collect_fds(struct numbers *b, const struct pid_ref *r)
{
	for (int fd = b->from; b->nr < BATCH && (fd = proc_next_fd(r->proc, fd)) >= 0; fd++)
		numbers_add(b, fd);
}

/* Emit what @collect finds, at positions @base + number. */
static int list_numbers(struct file *f, emit_fn emit, void *arg, u64 base, unsigned type,
			void (*collect)(struct numbers *b, const struct pid_ref *r))
{
	u64 from = f->pos > base ? f->pos - base : 0;
	struct numbers b = { .from = (int)min(from, (u64)INT32_MAX) };
	char name[12];

	do {
		b.nr = 0;
		collect(&b, f->inode->private);
		for (int i = 0; i < b.nr; i++) {
			debug_assert(b.n[i] >= b.from);
			snprintf(name, sizeof(name), "%d", b.n[i]);
			if (emit(arg, name, 1ull << 40 | (u64)b.n[i] << 16, type,
				 base + (u64)b.n[i] + 1))
				return 1;
			b.from = b.n[i] + 1;
		}
	} while (b.nr == BATCH);
	return 0;
}

int proc_pid_readdir(struct file *f, emit_fn emit, void *arg, u64 base)
{
	if (f->pos < base - 1 && emit(arg, "self", base - 2, DT_OF_MODE(S_IFLNK), base - 1))
		return 1;
	if (f->pos < base && emit(arg, "thread-self", base - 1, DT_OF_MODE(S_IFLNK), base))
		return 1;
	return list_numbers(f, emit, arg, base, DT_OF_MODE(S_IFDIR), collect_processes);
}

static int read_task_dir(struct file *f, emit_fn emit, void *arg)
{
	if (!is_alive(f->inode->private))
		return -ENOENT;
	if (dentry_emit_dots(f, emit, arg))
		return 1;
	return list_numbers(f, emit, arg, 2, DT_OF_MODE(S_IFDIR), collect_threads);
}

static int read_fds(struct file *f, emit_fn emit, void *arg, u32 type)
{
	if (!is_alive(f->inode->private))
		return -ENOENT;
	if (dentry_emit_dots(f, emit, arg))
		return 1;
	return list_numbers(f, emit, arg, 2, type, collect_fds);
}

static int read_fd_dir(struct file *f, emit_fn emit, void *arg)
{
	return read_fds(f, emit, arg, DT_OF_MODE(S_IFLNK));
}

static int read_fdinfo_dir(struct file *f, emit_fn emit, void *arg)
{
	return read_fds(f, emit, arg, DT_OF_MODE(S_IFREG));
}

/* --- directories ---------------------------------------------------------------------- */

/* The value of @name if all of it is a number, else -1. */
static int parse_number(const char *name, size_t len)
{
	const char *end = name + len;
	u64 n;

	if (len > 1 && name[0] == '0')
		return -1;
	return read_decimal(&name, end, INT32_MAX, &n) && name == end ? (int)n : -1;
}

static size_t show_fdinfo(void *ref, char *buf, size_t size)
{
	struct pid_ref *r = ref;
	u32 cloexec = proc_fd_cloexec(r->proc, r->fd) ? O_CLOEXEC : 0;
	struct file *f = proc_file_get(r->proc, r->fd);
	int len;

	if (!f)
		return 0;
	len = snprintf(buf, size, "pos:\t%lu\nflags:\t0%o\nmnt_id:\t%u\nino:\t%lu\n",
		       READ_ONCE(f->pos), f->flags | O_LARGEFILE | cloexec,
		       f->path.mnt ? f->path.mnt->id : 0, f->inode->ino);
	file_put(f);
	return (size_t)len;
}

static const struct pid_text fdinfo_text = { "", show_fdinfo, NULL, GUARDED };

static const struct kind fd_link_kind = { "", S_IFLNK, NULL, &fd_link_ops };
static const struct kind fdinfo_kind = { "", S_IFREG | 0444, &text_ops, &text_iops };

/* The entry @name of @dir, which is fd/ (@kind: a link) or fdinfo/. */
static struct inode *lookup_number(struct inode *dir, const char *name, size_t len,
				   const struct kind *kind, unsigned first)
{
	const struct pid_ref *r = dir->private;
	int fd = parse_number(name, len);
	struct file *f = fd < 0 ? NULL : proc_file_get(r->proc, fd);
	struct inode *i;

	if (!f)
		return NULL;
	i = make_inode(dir->sb, kind, r->thread, r->is_thread, first + (unsigned)fd);
	if (i != INODE_LACKS) {
		((struct pid_ref *)i->private)->fd = fd;
		if (S_ISLNK(i->mode)) /* how the file is open */
			i->mode |= (f->mode & FILE_READ ? 0500u : 0) |
				   (f->mode & FILE_WRITE ? 0300u : 0);
	}
	file_put(f);
	return i;
}

static struct inode *lookup_fd(struct inode *dir, const char *name, size_t len)
{
	return lookup_number(dir, name, len, &fd_link_kind, 0x1000);
}

static struct inode *lookup_fdinfo(struct inode *dir, const char *name, size_t len)
{
	struct inode *i;

	if (guard(dir->private))
		return INODE_DENIED;
	i = lookup_number(dir, name, len, &fdinfo_kind, 0x8000);
	if (i && i != INODE_LACKS)
		((struct pid_ref *)i->private)->text = &fdinfo_text;
	return i;
}

/* All may see that there is such a directory. */
static int open_fdinfo_dir(struct inode *i, struct file *f)
{
	(void)f;
	return guard(i->private);
}

/* task/TID has the same special entries except `task`, and looks them up in the same table. */
static struct inode *lookup_entry(struct inode *dir, const char *name, size_t len);
static int read_pid_dir(struct file *f, emit_fn emit, void *arg);

static const struct inode_ops pid_dir_iops = {
	.lookup = lookup_entry,
	.release = pid_inode_release,
};
static const struct file_ops pid_dir_ops = { .readdir = read_pid_dir };
static const struct kind pid_dir_kind = { "", S_IFDIR | 0555, &pid_dir_ops, &pid_dir_iops };

static struct inode *lookup_task(struct inode *dir, const char *name, size_t len)
{
	const struct pid_ref *r = dir->private;
	int tid = parse_number(name, len);
	struct thread *t = tid > 0 ? thread_find(tid) : NULL;
	struct inode *i = is_alive(r) ? NULL : INODE_ENDED;

	if (!t)
		return i;
	if (is_kernel_thread(r) ? t == r->thread : t->proc == r->proc)
		i = make_inode(dir->sb, &pid_dir_kind, t, true, 0);
	thread_put(t);
	return i;
}

struct inode *proc_pid_lookup(struct superblock *sb, const char *name, size_t len)
{
	int tid = parse_number(name, len);
	struct thread *t = tid > 0 ? thread_find(tid) : NULL;
	struct inode *i;

	debug_assert(may_sleep());
	if (!t)
		return NULL;
	i = make_inode(sb, &pid_dir_kind, t, false, 0);
	thread_put(t);
	return i;
}

static const struct inode_ops fd_dir_iops = { .lookup = lookup_fd, .release = pid_inode_release };
static const struct inode_ops fdinfo_iops = {
	.lookup = lookup_fdinfo,
	.release = pid_inode_release,
};
static const struct inode_ops task_dir_iops = {
	.lookup = lookup_task,
	.release = pid_inode_release,
};
static const struct file_ops fd_dir_ops = { .readdir = read_fd_dir };
static const struct file_ops fdinfo_ops = { .open = open_fdinfo_dir, .readdir = read_fdinfo_dir };
static const struct file_ops task_dir_ops = { .readdir = read_task_dir };

static const struct kind specials[] = {
	{ "task", S_IFDIR | 0555, &task_dir_ops, &task_dir_iops }, /* first: not in task/TID */
	{ "fd", S_IFDIR | 0500, &fd_dir_ops, &fd_dir_iops },
	{ "fdinfo", S_IFDIR | 0555, &fdinfo_ops, &fdinfo_iops },
	{ "exe", S_IFLNK | 0777, NULL, &exe_ops },
	{ "cwd", S_IFLNK | 0777, NULL, &cwd_ops },
	{ "root", S_IFLNK | 0777, NULL, &root_ops },
};
#define NR_SPECIALS ARRAY_SIZE(specials)

/* The first and the last entry are not in task/TID. */
static unsigned nr_entries(const struct pid_ref *r)
{
	return NR_SPECIALS + nr_pid_texts - r->is_thread;
}

static const char *entry_name(unsigned index)
{
	return index < NR_SPECIALS ? specials[index].name : pid_texts[index - NR_SPECIALS].name;
}

static struct inode *make_entry(struct inode *dir, unsigned index)
{
	const struct pid_ref *r = dir->private;
	const struct kind *kind = index < NR_SPECIALS ? &specials[index] : &text_kind;
	struct inode *i = make_inode(dir->sb, kind, r->thread, r->is_thread, index + 1);

	debug_assert(index < nr_entries(r));
	if (i != INODE_LACKS && kind == &text_kind) {
		((struct pid_ref *)i->private)->text = &pid_texts[index - NR_SPECIALS];
		i->mode = text_mode(&pid_texts[index - NR_SPECIALS]);
	}
	return i;
}

static struct inode *lookup_entry(struct inode *dir, const char *name, size_t len)
{
	const struct pid_ref *r = dir->private;

	if (!is_alive(r))
		return r->is_thread ? NULL : INODE_ENDED;
	for (unsigned i = r->is_thread; i < nr_entries(r); i++)
		if (strlen(entry_name(i)) == len && !memcmp(entry_name(i), name, len))
			return make_entry(dir, i);
	return NULL;
}

/* Entry i is at position i + 2. */
static int read_pid_dir(struct file *f, emit_fn emit, void *arg)
{
	const struct pid_ref *r = f->inode->private;
	u64 first = f->pos > 2 ? f->pos - 2 : r->is_thread;

	if (!is_alive(r))
		return -ENOENT;
	if (dentry_emit_dots(f, emit, arg))
		return 1;
	for (unsigned i = (unsigned)min(first, (u64)nr_entries(r)); i < nr_entries(r); i++) {
		u32 mode = i < NR_SPECIALS ? specials[i].mode : S_IFREG;

		if (emit(arg, entry_name(i), f->inode->ino + i + 1, DT_OF_MODE(mode), i + 3))
			return 1;
	}
	return 0;
}
