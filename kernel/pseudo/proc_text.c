/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contents of the files of /proc/PID. Formats are those of Linux 6.1 (proc(5)), because ps, top
 * and libnuma read them. Values of other processes are read under their locks where they could be
 * torn, else without.
 */
#include "kernel/pseudo/procfs.h"

#include "kernel/base/inject.h"
#include "kernel/cgroup/cgroup.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/time/time.h"
#include "kernel/tty/tty.h"
#include "lib/signal.h"
#include "lib/string.h"

/* The process's memory; NULL for kernel threads and the dead. */
static struct mm *mm_of(const struct pid_ref *r)
{
	return proc_mm_get(r->proc);
}

static u64 pages_to_kb(u64 pages)
{
	return pages << (PAGE_SHIFT - 10);
}

/* --- stat and status ------------------------------------------------------------------ */

struct state {
	char letter;
	const char *name;
};

static struct state state_of(const struct pid_ref *r)
{
	static const struct {
		u32 bits;
		struct state state;
	} table[] = {
		{ TASK_DEAD, { 'X', "dead" } },
		{ TASK_STOPPED, { 'T', "stopped" } },
		{ TASK_TRACED, { 't', "tracing stop" } },
		{ TASK_NOLOAD, { 'I', "idle" } },
		{ TASK_UNINTERRUPTIBLE, { 'D', "disk sleep" } },
		{ TASK_INTERRUPTIBLE, { 'S', "sleeping" } },
	};
	u32 state = READ_ONCE(r->thread->task.state);

	if (READ_ONCE(r->proc->zombie) || (state & TASK_DEAD))
		return (struct state){ 'Z', "zombie" };
	for (unsigned i = 0; i < ARRAY_SIZE(table); i++)
		if (state & table[i].bits)
			return table[i].state;
	return (struct state){ 'R', "running" };
}

/* The values for stat and status that must be read under locks. */
struct snapshot {
	int tgid, ppid, pgid, sid, tty_nr, tpgid;
	unsigned nr_threads;
	struct usage usage, reaped;
	sigset_t pending, shared_pending, blocked, ignored, caught;
};

static void take_family(const struct pid_ref *r, struct snapshot *s)
{
	const struct proc *p = r->proc;

	spin_lock(&proc_tree_lock);
	s->tgid = is_kernel_thread(r) ? r->thread->tid : p->pid;
	s->ppid = p->parent ? p->parent->pid : 0;
	s->pgid = p->pgid;
	s->sid = p->sid;
	s->tty_nr = p->tty ? TTY_DEV : 0;
	s->tpgid = p->tty ? tty_foreground(p->tty) : -1;
	s->nr_threads = is_kernel_thread(r) ? 1 : p->nr_threads;
	s->reaped = p->reaped;
	spin_unlock(&proc_tree_lock);
}

static void take_signals(const struct pid_ref *r, struct snapshot *s)
{
	struct proc *p = r->proc;
	unsigned long flags = spin_lock_irqsave(&p->sig_lock);

	s->pending = r->thread->pending.set;
	s->shared_pending = p->pending.set;
	s->blocked = r->thread->blocked;
	s->ignored = s->caught = 0;
	for (int sig = 1; sig <= NSIG; sig++) {
		u64 handler = p->action[sig - 1].handler;

		if (handler == 1) /* SIG_IGN */
			s->ignored |= SIGMASK(sig);
		else if (handler)
			s->caught |= SIGMASK(sig);
	}
	spin_unlock_irqrestore(&p->sig_lock, flags);
}

static void take_snapshot(const struct pid_ref *r, struct snapshot *s)
{
	take_family(r, s);
	take_signals(r, s);
	if (r->is_thread || is_kernel_thread(r))
		s->usage = thread_usage(r->thread);
	else
		s->usage = proc_usage(r->proc);
}

/*
 * Append @n numbers, each after a space. Formatted by hand for speed: ps and top read 50 numbers
 * for every process.
 */
static void add_numbers(struct text *t, const s64 *v, unsigned n)
{
	char digits[24], *end = digits + sizeof(digits);

	for (; n--; v++) {
		u64 left = *v < 0 ? 0 - (u64)*v : (u64)*v;
		char *at = end;

		do
			*--at = (char)('0' + left % 10);
		while (left /= 10);
		if (*v < 0)
			*--at = '-';
		*--at = ' ';
		if (t->len + (size_t)(end - at) < t->size)
			memcpy(t->buf + t->len, at, (size_t)(end - at));
		t->len += (size_t)(end - at);
	}
}

#define ADD_NUMBERS(t, ...)                                                                        \
	do {                                                                                       \
		const s64 v_[] = { __VA_ARGS__ };                                                  \
		add_numbers(t, v_, ARRAY_SIZE(v_));                                                \
	} while (0)
#define TICKS(ns)  ((s64)((ns) / USER_TICK_NS))
#define LOW31(set) ((s64)((set)&0x7fffffff))

static size_t show_stat(void *arg, char *buf, size_t size)
{
	struct pid_ref *r = arg;
	const struct task *task = &r->thread->task;
	struct text t = text_of(buf, size);
	struct mm *mm = mm_of(r);
	static const struct mm no_mm, hidden = { .code_start = 1, .code_end = 1 };
	bool may_look = cred_may_look(r->thread);
	const struct mm *m = mm ?: &no_mm, *at = mm && !may_look ? &hidden : m;
	struct snapshot s;

	take_snapshot(r, &s);
	text_add(&t, "%d (%s) %c", r->thread->tid, task->comm, state_of(r).letter);
	/* 4 ppid .. 13 cmajflt */
	ADD_NUMBERS(&t, s.ppid, s.pgid, s.sid, s.tty_nr, s.tpgid,
		    is_kernel_thread(r) ? 0x200000 : 0x400000, (s64)s.usage.min_flt,
		    (s64)s.reaped.min_flt, (s64)s.usage.maj_flt, (s64)s.reaped.maj_flt);
	/* 14 utime .. 24 rss */
	ADD_NUMBERS(&t, TICKS(s.usage.user_ns), TICKS(s.usage.system_ns), TICKS(s.reaped.user_ns),
		    TICKS(s.reaped.system_ns), sched_task_prio(task) - 100,
		    READ_ONCE(task->static_prio) - 120, s.nr_threads, 0, TICKS(r->thread->start_ns),
		    (s64)pages_to_kb(READ_ONCE(m->total_vm)) * 1024, (s64)READ_ONCE(m->rss));
	text_add(&t, " %lu", READ_ONCE(r->proc->rlimit[RLIMIT_RSS].cur));
	/* 26 startcode .. 37 cnswap */
	ADD_NUMBERS(&t, (s64)at->code_start, (s64)at->code_end, (s64)at->stack_start, 0, 0,
		    LOW31(s.pending), LOW31(s.blocked), LOW31(s.ignored), LOW31(s.caught),
		    READ_ONCE(task->state) != TASK_RUNNING, 0, 0);
	/* 38 exit_signal .. 52 exit_code */
	ADD_NUMBERS(&t, r->is_thread ? -1 : READ_ONCE(r->proc->exit_signal), READ_ONCE(task->cpu),
		    READ_ONCE(task->rt_priority), READ_ONCE(task->policy), 0, 0, 0,
		    (s64)at->data_start, (s64)at->data_end, (s64)at->brk_start, (s64)at->arg_start,
		    (s64)at->arg_end, (s64)at->env_start, (s64)at->env_end,
		    may_look ? READ_ONCE(r->proc->exit_code) : 0);
	text_add(&t, "\n");
	if (mm)
		mm_put(mm);
	return t.len;
}

static void add_memory(struct text *t, struct mm *mm)
{
	const struct {
		const char *name;
		u64 pages;
	} lines[] = {
		{ "VmPeak", mm_peak_vm(mm) },
		{ "VmSize", mm->total_vm },
		{ "VmLck", mm_locked_pages(mm) },
		{ "VmPin", 0 },
		{ "VmHWM", mm_peak_rss(mm) },
		{ "VmRSS", mm->rss },
		{ "VmData", (mm->brk - mm->brk_start) >> PAGE_SHIFT },
		{ "VmExe", (mm->code_end - mm->code_start) >> PAGE_SHIFT },
		{ "VmSwap", 0 },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(lines); i++)
		text_add(t, "%s:\t%8lu kB\n", lines[i].name, pages_to_kb(lines[i].pages));
}

static void add_signals(struct text *t, const struct snapshot *s, const struct cred *c)
{
	const struct {
		const char *name;
		u64 set;
	} lines[] = {
		{ "SigPnd", s->pending },   { "ShdPnd", s->shared_pending },
		{ "SigBlk", s->blocked },   { "SigIgn", s->ignored },
		{ "SigCgt", s->caught },    { "CapInh", c->inheritable },
		{ "CapPrm", c->permitted }, { "CapEff", c->effective },
		{ "CapBnd", c->bounding },  { "CapAmb", c->ambient },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(lines); i++)
		text_add(t, "%s:\t%016lx\n", lines[i].name, lines[i].set);
}

static void add_placement(struct text *t, const struct thread *thread)
{
	text_add(t, "Cpus_allowed:\t");
	text_add_cpumask(t, &thread->task.allowed);
	text_add(t, "\nCpus_allowed_list:\t");
	text_add_cpulist(t, &thread->task.allowed);
	text_add(t, "\nMems_allowed:\t1\nMems_allowed_list:\t0\n");
	text_add(t, "voluntary_ctxt_switches:\t%lu\nnonvoluntary_ctxt_switches:\t%lu\n",
		 thread->task.nr_voluntary, thread->task.nr_involuntary);
}

static void add_owner(struct text *t, const struct cred *c, unsigned nr_fds)
{
	const struct ids *u = &c->user, *g = &c->group;

	text_add(t, "Uid:\t%u\t%u\t%u\t%u\n", u->real, u->effective, u->saved, u->fs);
	text_add(t, "Gid:\t%u\t%u\t%u\t%u\n", g->real, g->effective, g->saved, g->fs);
	text_add(t, "FDSize:\t%u\nGroups:\t", nr_fds);
	for (u32 i = 0; i < c->nr_groups; i++)
		text_add(t, "%u ", c->groups[i]);
	text_add(t, "\n");
}

static size_t show_status(void *arg, char *buf, size_t size)
{
	struct pid_ref *r = arg;
	struct text t = text_of(buf, size);
	struct mm *mm = mm_of(r);
	struct state state = state_of(r);
	const struct cred *c = &r->thread->cred;
	struct snapshot s;

	take_snapshot(r, &s);
	text_add(&t, "Name:\t%s\nUmask:\t%04o\nState:\t%c (%s)\n", r->thread->task.comm,
		 proc_umask(r->proc), state.letter, state.name);
	text_add(&t, "Tgid:\t%d\nNgid:\t0\nPid:\t%d\nPPid:\t%d\nTracerPid:\t0\n", s.tgid,
		 r->thread->tid, s.ppid);
	add_owner(&t, c, proc_fd_slots(r->proc));
	text_add(&t, "NStgid:\t%d\nNSpid:\t%d\nNSpgid:\t%d\nNSsid:\t%d\n", s.tgid, r->thread->tid,
		 s.pgid, s.sid);
	if (mm)
		add_memory(&t, mm);
	text_add(&t, "Threads:\t%u\n", s.nr_threads);
	add_signals(&t, &s, c);
	text_add(&t, "NoNewPrivs:\t%d\nSeccomp:\t0\n", c->no_new_privs);
	add_placement(&t, r->thread);
	if (mm)
		mm_put(mm);
	return t.len;
}

static size_t show_statm(void *arg, char *buf, size_t size)
{
	struct mm *mm = mm_of(arg);
	size_t len;

	if (!mm)
		return (size_t)snprintf(buf, size, "0 0 0 0 0 0 0\n");
	len = (size_t)snprintf(buf, size, "%lu %lu 0 %lu 0 %lu 0\n", mm->total_vm, mm->rss,
			       (mm->code_end - mm->code_start) >> PAGE_SHIFT,
			       (mm->brk - mm->brk_start) >> PAGE_SHIFT);
	mm_put(mm);
	return len;
}

/* --- scheduling ----------------------------------------------------------------------- */

static size_t show_sched(void *arg, char *buf, size_t size)
{
	struct pid_ref *r = arg;
	struct text t = text_of(buf, size);

	text_add(&t, "%s (%d, #threads: %u)\n", r->thread->task.comm, r->thread->tid,
		 is_kernel_thread(r) ? 1 : r->proc->nr_threads);
	text_add(&t, "-------------------------------------------------------------------\n");
	with_irqs_off(t.len +=
		      sched_dump_task(machine, &r->thread->task, t.len < size ? buf + t.len : NULL,
				      t.len < size ? size - t.len : 0));
	return t.len;
}

static size_t show_schedstat(void *arg, char *buf, size_t size)
{
	struct task *task = &((struct pid_ref *)arg)->thread->task;
	unsigned long flags = arch_irq_save();
	u64 run_ns = sched_task_runtime(machine, task);

	arch_irq_restore(flags);
	return (size_t)snprintf(buf, size, "%lu %lu %lu\n", run_ns, task->wait_sum,
				task->nr_slices);
}

static size_t show_slack(void *arg, char *buf, size_t size)
{
	return (size_t)snprintf(buf, size, "%lu\n",
				((struct pid_ref *)arg)->thread->timer_slack_ns);
}

static long store_slack(void *arg, const char *text, size_t len)
{
	struct thread *t = ((struct pid_ref *)arg)->thread;
	u64 ns;
	int err = parse_u64(text, len, &ns);

	if (err)
		return err;
	t->timer_slack_ns = ns ? ns : t->default_timer_slack_ns;
	return (long)len;
}

/* --- names and memory ----------------------------------------------------------------- */

static size_t show_comm(void *arg, char *buf, size_t size)
{
	return (size_t)snprintf(buf, size, "%s\n", ((struct pid_ref *)arg)->thread->task.comm);
}

/* Only threads of the same process may write it. */
static long store_comm(void *arg, const char *text, size_t len)
{
	struct pid_ref *r = arg;
	char comm[COMM_LEN] = "";

	if (r->proc != current->proc)
		return -EINVAL;
	memcpy(comm, text, min(len, sizeof(comm) - 1));
	memcpy(r->thread->task.comm, comm, sizeof(comm));
	return (long)len;
}

/* Copy at most @size bytes of [start, end) of the process's memory. Returns end - start. */
static size_t copy_range(struct mm *mm, u64 start, u64 end, char *buf, size_t size)
{
	size_t len = end > start ? min(end - start, 128 * 1024ul) : 0;

	return len < size ? mm_access(mm, start, buf, len, false) : len;
}

static size_t show_cmdline(void *arg, char *buf, size_t size)
{
	struct mm *mm = mm_of(arg);
	size_t len = 0;

	if (mm) {
		len = copy_range(mm, mm->arg_start, mm->arg_end, buf, size);
		mm_put(mm);
	}
	return len;
}

static size_t show_environ(void *arg, char *buf, size_t size)
{
	struct mm *mm = mm_of(arg);
	size_t len = 0;

	if (mm) {
		len = copy_range(mm, mm->env_start, mm->env_end, buf, size);
		mm_put(mm);
	}
	return len;
}

static size_t show_maps(void *arg, char *buf, size_t size)
{
	struct mm *mm = mm_of(arg);
	size_t len = 0;

	if (mm) {
		len = mm_print_maps(mm, buf, size);
		mm_put(mm);
	}
	return len;
}

static size_t show_oom_score_adj(void *arg, char *buf, size_t size)
{
	return (size_t)snprintf(buf, size, "%d\n",
				(int)((struct pid_ref *)arg)->proc->oom_score_adj);
}

static long store_oom_score_adj(void *arg, const char *text, size_t len)
{
	s64 value;
	int err = parse_s64(text, len, &value);

	if (err)
		return err;
	if (value < -1000 || value > 1000)
		return -EINVAL;
	if (value < (s32)((struct pid_ref *)arg)->proc->oom_score_adj && !capable(CAP_SYS_RESOURCE))
		return -EACCES;
	((struct pid_ref *)arg)->proc->oom_score_adj = (u32)value;
	return (long)len;
}

static size_t show_mounts(void *arg, char *buf, size_t size)
{
	(void)arg;
	return mount_print(buf, size);
}

/* Always 0: the kernel does not record where a thread sleeps. */
static size_t show_wchan(void *arg, char *buf, size_t size)
{
	(void)arg;
	return (size_t)snprintf(buf, size, "0");
}

static size_t show_cgroup(void *arg, char *buf, size_t size)
{
	return cgroup_print_thread(((struct pid_ref *)arg)->thread, buf, size);
}

static size_t show_autogroup(void *arg, char *buf, size_t size)
{
	return autogroup_print(((struct pid_ref *)arg)->proc, buf, size);
}

static long store_autogroup(void *arg, const char *text, size_t len)
{
	struct proc *p = ((struct pid_ref *)arg)->proc;
	s64 nice;
	int err = parse_s64(text, len, &nice) ?: autogroup_set_nice(p, nice);

	return err ?: (long)len;
}

/* Debug builds have these, too. */
#define TEXTS_OF_DEBUG_0
#define TEXTS_OF_DEBUG_1                                                                           \
	{ "fail-nth", show_fail_nth, store_fail_nth, FOR_ALL },                                    \
		{ "make-it-fail", show_make_it_fail, store_make_it_fail, FOR_ALL },
#define PASTE(a, b)	a##b
#define TEXTS_OF(debug) PASTE(TEXTS_OF_DEBUG_, debug)

const struct pid_text pid_texts[] = {
	{ "stat", show_stat, NULL, FOR_ALL },
	{ "status", show_status, NULL, FOR_ALL },
	{ "statm", show_statm, NULL, FOR_ALL },
	{ "comm", show_comm, store_comm, FOR_ALL },
	{ "cmdline", show_cmdline, NULL, FOR_ALL },
	{ "environ", show_environ, NULL, HIDDEN },
	{ "maps", show_maps, NULL, GUARDED },
	{ "sched", show_sched, NULL, FOR_ALL },
	{ "schedstat", show_schedstat, NULL, FOR_ALL },
	{ "wchan", show_wchan, NULL, FOR_ALL },
	{ "cgroup", show_cgroup, NULL, FOR_ALL },
	{ "mounts", show_mounts, NULL, FOR_ALL },
	{ "mountinfo", show_mountinfo, NULL, FOR_ALL },
	{ "limits", show_limits, NULL, FOR_ALL },
	{ "io", show_io, NULL, HIDDEN },
	{ "oom_score", show_oom_score, NULL, FOR_ALL },
	{ "oom_score_adj", show_oom_score_adj, store_oom_score_adj, FOR_ALL },
	{ "timerslack_ns", show_slack, store_slack, OWN },
	TEXTS_OF(DEBUG){ "autogroup", show_autogroup, store_autogroup,
			 FOR_ALL }, /* last: not in task/TID */
};
const unsigned nr_pid_texts = ARRAY_SIZE(pid_texts);
